/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The registry: names, selection and renumbering, missing devices, the states of backends, how the CPU is split, and
 * the choice of kernels.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/processor.h"
#include "base/thread/pool.h"
#include "device/cpu/cpu.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"
#include "support/fake_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mx_backend *const fake_only[] = {&mx_fake_backend, NULL};

static void test_names(void **state)
{
    (void)state;
    char backend[16];
    int index;
    assert_int_equal(mx_device_name_parse("cuda:2", backend, &index), 0);
    assert_string_equal(backend, "cuda");
    assert_int_equal(index, 2);
    assert_int_equal(mx_device_name_parse("opencl:0", backend, &index), 0);
    assert_string_equal(backend, "opencl");
    assert_int_equal(mx_device_name_parse("fifteenletters:9999", backend, &index), 0);
    static const char *const wrong[] = {"",
                                        ":",
                                        "cpu",
                                        "cpu:",
                                        ":0",
                                        "cpu:-1",
                                        "cpu:+1",
                                        "cpu:1x",
                                        "CPU:0",
                                        "cpu 0",
                                        "cpu: 0",
                                        "cpu:0x1",
                                        "cpu:0 ",
                                        "c\npu:0",
                                        "0",
                                        "cpu:10000",
                                        "cpu:99999999999999999999",
                                        "abcdefghijklmnop:0",
                                        NULL};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(mx_device_name_parse(wrong[i], backend, &index), MX_ERR_USAGE);
        assert_non_null(strstr(mx_error_last()->hint, "cpu:0"));
        assert_null(strchr(mx_error_last()->message, '\n'));
    }
}

static void test_renumbering(void **state)
{
    (void)state;
    struct mx_registry *registry;
    struct mx_device *data, *model;
    mx_fake_configure(&(struct mx_fake_options){.device_count = 3});
    const struct mx_registry_options options = {.devices = {"fake:2", "fake:0"}, .device_count = 2};
    assert_int_equal(mx_registry_open(fake_only, &options, &registry), 0);
    assert_int_equal(mx_registry_device_count(registry), 2);
    assert_int_equal(mx_registry_device(registry, 0)->index, 2);
    assert_int_equal(mx_registry_device(registry, 1)->index, 0);
    assert_int_equal(mx_registry_find(registry, "fake:2"), 0);
    assert_int_equal(mx_registry_find(registry, "fake:0"), 1);
    assert_int_equal(mx_registry_find(registry, "fake:1"), MX_ERR_NO_DEVICE); /* there, but not chosen */
    assert_non_null(strstr(mx_error_last()->message, "not chosen"));
    assert_int_equal(mx_registry_find(registry, "fake:7"), MX_ERR_NO_DEVICE);
    assert_int_equal(mx_registry_find(registry, "cuda:0"), MX_ERR_NO_DEVICE);
    assert_int_equal(mx_registry_find(registry, "fake"), MX_ERR_USAGE);
    assert_int_equal(mx_registry_device_open(registry, 0, 0, &data), 0);
    assert_int_equal(mx_registry_device_open(registry, 1, 0, &model), 0);
    assert_string_equal(mx_device_name(data), "fake:2");
    assert_string_equal(mx_device_logical(data), "GPU:0");
    assert_int_equal(mx_device_logical_index(data), 0);
    assert_string_equal(mx_device_name(model), "fake:0");
    assert_string_equal(mx_device_logical(model), "GPU:1");
    struct mx_device *none;
    assert_int_equal(mx_registry_device_open(registry, 2, 0, &none), MX_ERR_ARGUMENT);
    assert_int_equal(mx_registry_device_open(registry, -1, 0, &none), MX_ERR_ARGUMENT);
    assert_null(none);
    mx_device_close(model);
    mx_device_close(data);
    mx_registry_close(registry);
    mx_registry_close(NULL);
}

/* Opening `names` must fail with `code`, the message must hold `message`, the hint `hint`. */
static void refused(const struct mx_backend *const *backends, const char *first, const char *second, int code,
                    const char *message, const char *hint)
{
    struct mx_registry *registry;
    const struct mx_registry_options options = {.devices = {first, second}, .device_count = second ? 2 : 1};
    assert_int_equal(mx_registry_open(backends, &options, &registry), code);
    assert_null(registry);
    assert_non_null(strstr(mx_error_last()->message, message));
    assert_non_null(strstr(mx_error_last()->hint, hint));
}

static void test_missing(void **state)
{
    (void)state;
    mx_fake_configure(NULL);
    refused(fake_only, "fake:2", NULL, MX_ERR_NO_DEVICE, "fake:2", "fake:0, fake:1");
    refused(fake_only, "fake:0", "fake:9", MX_ERR_NO_DEVICE, "fake:9", "fake:0, fake:1");
    setenv("MYXTTS_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1); /* as on a machine without one */
    refused(NULL, "cuda:7", NULL, MX_ERR_NO_DEVICE, "cannot be loaded", "cpu:0");
    refused(NULL, "cpu:0", "cuda:0", MX_ERR_NO_DEVICE, "cuda:0", "cpu:0");
    refused(NULL, "cdua:0", NULL, MX_ERR_NO_DEVICE, "no backend \"cdua\"", "did you mean cuda?");
    refused(NULL, "cpu:1", NULL, MX_ERR_NO_DEVICE, "cpu:1", "--cpu-devices");
    refused(NULL, "gpu", NULL, MX_ERR_USAGE, "gpu", "cpu:0");
    unsetenv("MYXTTS_CUDA_DRIVER");
    refused(fake_only, "fake:0", "fake:0", MX_ERR_USAGE, "twice", "once");
    struct mx_registry *registry;
    assert_int_equal(
        mx_registry_open(NULL, &(struct mx_registry_options){.device_count = MX_SELECTION_MAX + 1}, &registry),
        MX_ERR_USAGE);
}

/* A backend that is there but cannot start, one without devices, and one that must not be touched. */
static int opened;

static int broken_open(const struct mx_registry_options *options, void **out)
{
    (void)options;
    (void)out;
    opened++;
    return MX_FAIL(MX_ERR_DEVICE, NULL, "the driver is on holiday");
}

static int empty_open(const struct mx_registry_options *options, void **out)
{
    (void)options;
    *out = NULL;
    opened++;
    return 0;
}

static void empty_close(void *context)
{
    assert_null(context);
    opened--;
}

static int empty_count(void *context)
{
    assert_null(context);
    return 0;
}

static const struct mx_backend broken = {.name = "broken", .requires = "a driver that works", .open = broken_open};
static const struct mx_backend empty = {.name = "cuda",
                                        .requires = "an NVIDIA card",
                                        .open = empty_open,
                                        .close = empty_close,
                                        .device_count = empty_count};
static const struct mx_backend *const mixed[] = {&broken, &empty, &mx_fake_backend, NULL};

static void test_states(void **state)
{
    (void)state;
    struct mx_registry *registry;
    struct mx_backend_status status;
    mx_fake_configure(NULL);
    opened = 0;
    assert_int_equal(mx_registry_open(mixed, NULL, &registry), 0); /* a listing: nothing missing is an error */
    assert_int_equal(opened, 2);
    assert_int_equal(mx_registry_device_count(registry), 2);
    assert_int_equal(mx_registry_backend_count(registry), 4);
    mx_registry_backend(registry, 0, &status);
    assert_string_equal(status.name, "broken");
    assert_true(status.compiled);
    assert_false(status.available);
    assert_string_equal(status.reason, "the driver is on holiday");
    assert_string_equal(status.hint, "a driver that works");
    mx_registry_backend(registry, 1, &status);
    assert_string_equal(status.name, "cuda"); /* its own entry, not the one of builds without it */
    assert_true(status.compiled);
    assert_false(status.available);
    assert_string_equal(status.hint, "an NVIDIA card");
    mx_registry_backend(registry, 2, &status);
    assert_true(status.available);
    assert_int_equal(status.device_count, 2);
    assert_string_equal(status.reason, "");
    mx_registry_backend(registry, 3, &status);
    assert_string_equal(status.name, "opencl");
    assert_false(status.compiled);
    assert_non_null(strstr(status.reason, "not part of this build"));
    assert_true(status.hint[0] != '\0');
    mx_registry_close(registry);
    assert_int_equal(opened, 1); /* what was opened was closed; `broken` never was */

    /* A selection starts only what it names. */
    opened = 0;
    const struct mx_registry_options options = {.devices = {"fake:1"}, .device_count = 1};
    assert_int_equal(mx_registry_open(mixed, &options, &registry), 0);
    assert_int_equal(opened, 0);
    mx_registry_backend(registry, 0, &status);
    assert_string_equal(status.reason, "not asked for");
    mx_registry_close(registry);
    refused(mixed, "broken:0", NULL, MX_ERR_NO_DEVICE, "the driver is on holiday", "a driver that works");
    refused(mixed, "cuda:0", NULL, MX_ERR_NO_DEVICE, "no devices found", "an NVIDIA card");
}

/* Every backend of the build is one of the list, at the place that its name has there; the CPU comes last. */
static void test_order(void **state)
{
    (void)state;
    static const char *const names[] = {
#define X(identifier, name) [MX_BACKEND_##identifier] = name,
        MX_BACKEND_LIST(X)
#undef X
    };
    struct mx_registry *registry;
    struct mx_backend_status status;
    int count = 0;
    assert_int_equal(mx_registry_open(NULL, NULL, &registry), 0);
    for (int i = 0; i < mx_registry_backend_count(registry); i++) {
        mx_registry_backend(registry, i, &status);
        if (!status.compiled) continue;
        count++;
        assert_in_range(status.order, 1, MX_BACKEND_ORDERS - 1);
        assert_string_equal(status.name, names[status.order]);
        assert_int_equal(status.is_cpu, status.order == MX_BACKEND_ORDERS - 1);
        assert_int_equal(mx_backend_is_cpu(status.name), status.is_cpu);
    }
    mx_registry_close(registry);
    assert_true(count >= 2);
    assert_false(mx_backend_is_cpu("vulkan"));
}

static void test_cpu(void **state)
{
    (void)state;
    struct mx_registry *registry;
    int cores[256];
    const int core_count = mx_thread_cores(cores, 256);
    assert_int_equal(mx_registry_open(mx_backends_cpu, NULL, &registry), 0);
    assert_int_equal(mx_registry_device_count(registry), 1);
    const struct mx_device_info *info = mx_registry_device(registry, 0);
    assert_string_equal(info->backend, "cpu");
    assert_int_equal(info->kind, MX_DEVICE_CPU);
    assert_int_equal(info->compute_units, core_count);
    assert_true(info->memory_bytes > 1u << 20);
    assert_true(info->caps.host_visible);
    assert_non_null(strstr(info->name, core_count == 1 ? "core " : "cores "));
    mx_registry_close(registry);
    for (int count = 1; count <= core_count && count <= 8; count++) {
        int seen = 0;
        assert_int_equal(
            mx_registry_open(mx_backends_cpu, &(struct mx_registry_options){.cpu_devices = count}, &registry), 0);
        assert_int_equal(mx_registry_device_count(registry), count);
        for (int d = 0; d < count; d++) { /* even groups of neighbours that cover all cores */
            info = mx_registry_device(registry, d);
            assert_true(info->compute_units == core_count / count || info->compute_units == core_count / count + 1);
            for (int i = 0; i < info->compute_units && i < 64; i++) assert_int_equal(info->cores[i], cores[seen + i]);
            seen += info->compute_units;
        }
        assert_int_equal(seen, core_count);
        mx_registry_close(registry);
    }
    const int wrong[] = {core_count + 1, -1};
    for (size_t i = 0; i < 2; i++) { /* also when only listing */
        char hint[32];
        const struct mx_registry_options options = {.cpu_devices = wrong[i]};
        assert_int_equal(mx_registry_open(NULL, &options, &registry), MX_ERR_USAGE);
        snprintf(hint, sizeof hint, "choose 1 to %d", core_count);
        assert_non_null(strstr(mx_error_last()->hint, hint));
    }
}

static void test_kernels(void **state)
{
    (void)state;
    const struct mx_cpu_kernels *best, *again;
    struct mx_registry *registry;
    assert_int_equal(mx_cpu_kernels_choose(NULL, &best), 0);
    assert_int_equal(mx_cpu_kernels_choose("", &again), 0);
    assert_ptr_equal(again, best);
    assert_int_equal(mx_cpu_kernels_choose(best->isa, &again), 0);
    assert_ptr_equal(again, best);
    for (int op = 0; op < MX_OP_COUNT; op++) assert_true(best->run[op] != NULL);
    assert_int_equal(mx_cpu_kernels_choose("mmx", &again), MX_ERR_USAGE);
    assert_non_null(strstr(mx_error_last()->message, "\"mmx\""));
    assert_true(strstr(mx_error_last()->hint, best->isa) || strstr(mx_error_last()->message, best->isa));
    setenv("MYXTTS_ISA", "mmx", 1);
    assert_int_equal(mx_registry_open(mx_backends_cpu, NULL, &registry), MX_ERR_USAGE);
    setenv("MYXTTS_ISA", best->isa, 1);
    assert_int_equal(mx_registry_open(mx_backends_cpu, NULL, &registry), 0);
    mx_registry_close(registry);
    unsetenv("MYXTTS_ISA");
}

/* What kernels say of themselves is what they are. */
static void test_kernels_described(void **state)
{
    (void)state;
    const struct mx_cpu_kernels *best;
    struct mx_device_info info = {0};
    char tile[32], names[512];
    assert_int_equal(mx_cpu_kernels_choose(NULL, &best), 0);
    mx_cpu_kernels_describe(best, NULL, &info);
    snprintf(tile, sizeof tile, ", %d×%d tile", best->tile_rows, best->tile_columns);
    assert_non_null(strstr(info.kernels, tile));
    assert_non_null(strstr(info.kernels_why, "the processor has "));
    mx_cpu_kernels_describe(best, best->isa, &info);
    snprintf(names, sizeof names, "MYXTTS_ISA asks for %s;", best->isa);
    assert_non_null(strstr(info.kernels_why, names));
    assert_true(best->tile_columns * 4 % best->vector_bytes == 0);
    /* The program runs, so the processor has all that it needs; and kernels need no less than the program. */
    assert_int_equal(mx_processor_needs & ~mx_processor_has(), 0);
    assert_int_equal(best->needs & ~mx_processor_has(), 0);
    assert_int_equal(mx_processor_needs & ~best->needs, 0);
#if defined(__x86_64__)
    const uint64_t two = UINT64_C(1) << MX_PROCESSOR_FMA | UINT64_C(1) << MX_PROCESSOR_AVX2;
    mx_processor_names(two, names, sizeof names);
    assert_string_equal(names, "FMA, AVX2");
#endif
    mx_processor_names(0, names, sizeof names);
    assert_string_equal(names, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_renumbering),
        cmocka_unit_test(test_missing), cmocka_unit_test(test_states),
        cmocka_unit_test(test_order),   cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_kernels_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
