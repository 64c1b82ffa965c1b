/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Modes: every way to name devices, every refusal with its hint, and the fallback that has to be allowed, over made-up
 * machines. The backends here only list devices; nothing is opened on them, except in the last test, on the fake
 * backend.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "device/backend.h"
#include "myxtts/error.h"
#include "run/devices/mode.h"
#include "support/fake_backend.h"

#include <stdio.h>
#include <string.h>

/* ---- made-up machines ---- */

/* What the backends find. opencl_cpus come before opencl_gpus, as PoCL does on many machines. */
static struct {
    int cuda, opencl_cpus, opencl_gpus, cores;
    int starts; /* of any backend */
} machine;

static int gpus_open(const struct mx_registry_options *options, void **state)
{
    (void)options;
    machine.starts++;
    *state = NULL;
    if (machine.cuda < 0) return MX_FAIL(MX_ERR_NO_DEVICE, "install an NVIDIA driver", "libcuda.so.1 cannot be loaded");
    return 0;
}

static int other_open(const struct mx_registry_options *options, void **state)
{
    (void)options;
    machine.starts++;
    *state = NULL;
    return 0;
}

static int cpu_split; /* logical CPU devices of the registry that was opened last */

static int cpu_open(const struct mx_registry_options *options, void **state)
{
    machine.starts++;
    *state = NULL;
    cpu_split = options->cpu_devices > 0 ? options->cpu_devices : 1;
    if (cpu_split > machine.cores)
        return MX_FAIL(MX_ERR_USAGE, "at most one for each core", "%d CPU devices of %d cores", cpu_split,
                       machine.cores);
    return 0;
}

static void nothing_close(void *state)
{
    (void)state;
}

static int cuda_count(void *state)
{
    (void)state;
    return machine.cuda;
}

static int opencl_count(void *state)
{
    (void)state;
    return machine.opencl_cpus + machine.opencl_gpus;
}

static int cpu_count(void *state)
{
    (void)state;
    return cpu_split;
}

static int info_make(const char *backend, int index, enum mx_device_kind kind, int units, struct mx_device_info *out)
{
    *out = (struct mx_device_info){.index = index, .kind = kind, .compute_units = units, .memory_bytes = 1 << 30};
    snprintf(out->backend, sizeof out->backend, "%s", backend);
    snprintf(out->name, sizeof out->name, "Made-up %s %d", backend, index);
    return 0;
}

static int cuda_info(void *state, int index, struct mx_device_info *out)
{
    (void)state;
    return info_make("cuda", index, MX_DEVICE_GPU, 80, out);
}

static int opencl_info(void *state, int index, struct mx_device_info *out)
{
    (void)state;
    return info_make("opencl", index, index < machine.opencl_cpus ? MX_DEVICE_CPU : MX_DEVICE_GPU, 8, out);
}

static int cpu_info(void *state, int index, struct mx_device_info *out)
{
    (void)state;
    return info_make("cpu", index, MX_DEVICE_CPU, machine.cores / cpu_split, out);
}

static const struct mx_backend cuda_backend = {.name = "cuda",
                                               .order = MX_BACKEND_CUDA,
                                               .requires = "an NVIDIA driver",
                                               .open = gpus_open,
                                               .close = nothing_close,
                                               .device_count = cuda_count,
                                               .device_info = cuda_info};
static const struct mx_backend opencl_backend = {.name = "opencl",
                                                 .order = MX_BACKEND_OPENCL,
                                                 .gpus_only = true,
                                                 .requires = "an OpenCL driver",
                                                 .open = other_open,
                                                 .close = nothing_close,
                                                 .device_count = opencl_count,
                                                 .device_info = opencl_info};
static const struct mx_backend cpu_backend = {.name = "cpu",
                                              .order = MX_BACKEND_CPU,
                                              .is_cpu = true,
                                              .requires = "more logical devices: '--cpu-devices'",
                                              .open = cpu_open,
                                              .close = nothing_close,
                                              .device_count = cpu_count,
                                              .device_info = cpu_info};
static const struct mx_backend *const backends[] = {&cpu_backend, &opencl_backend, &cuda_backend, NULL};

static void machine_set(int cuda, int opencl_cpus, int opencl_gpus, int cores)
{
    machine.cuda = cuda;
    machine.opencl_cpus = opencl_cpus;
    machine.opencl_gpus = opencl_gpus;
    machine.cores = cores;
    machine.starts = 0;
}

/* A request in which nothing is said. */
static struct mx_mode_request request(void)
{
    return (struct mx_mode_request){.command = "myxtts train", .data_gpu = -1, .model_gpu = -1, .cpu_devices = 1};
}

/* The request must give this mode on these devices; `model` NULL: one device. */
static void gives(struct mx_mode_request r, enum mx_mode mode, const char *data, const char *model)
{
    struct mx_mode_choice choice;
    struct mx_registry *registry;
    mx_error_clear();
    const int rc = mx_mode_open(backends, &r, &choice, &registry);
    if (rc < 0) fail_msg("%s / %s", mx_error_last()->message, mx_error_last()->hint);
    assert_int_equal(choice.mode, mode);
    assert_int_equal(choice.count, model == NULL ? 1 : 2);
    assert_string_equal(choice.names[0], data);
    if (model != NULL) assert_string_equal(choice.names[1], model);
    assert_int_equal(mx_registry_device_count(registry), choice.count);
    for (int i = 0; i < choice.count; i++) {
        char name[32];
        const struct mx_device_info *const info = mx_registry_device(registry, i);
        snprintf(name, sizeof name, "%s:%d", info->backend, info->index);
        assert_string_equal(name, choice.names[i]);
    }
    mx_registry_close(registry);
}

/* The request must be refused with these words in message and hint. */
static void refused(struct mx_mode_request r, int code, const char *message, const char *hint)
{
    struct mx_mode_choice choice;
    struct mx_registry *registry;
    mx_error_clear();
    assert_int_equal(mx_mode_open(backends, &r, &choice, &registry), code);
    assert_null(registry);
    const struct mx_error *const error = mx_error_last();
    if (strstr(error->message, message) == NULL) fail_msg("'%s' is not in '%s'", message, error->message);
    if (strstr(error->hint, hint) == NULL) fail_msg("'%s' is not in '%s'", hint, error->hint);
    if (strstr(error->hint, "devices here: ") == NULL) fail_msg("no devices in '%s'", error->hint);
}

/* ---- tests ---- */

static void test_best(void **state)
{
    (void)state;
    struct mx_mode_request r = request();
    machine_set(2, 1, 1, 4);
    gives(r, MX_MODE_SINGLE, "cuda:0", NULL);
    machine_set(0, 1, 1, 4);
    gives(r, MX_MODE_SINGLE, "opencl:1", NULL); /* the GPU, not the CPU that OpenCL lists first */
    machine_set(-1, 1, 0, 4);
    gives(r, MX_MODE_SINGLE, "cpu:0", NULL);
    struct mx_mode_choice choice;
    struct mx_registry *registry;
    assert_int_equal(mx_mode_open(backends, &r, &choice, &registry), 0);
    assert_true(choice.best);
    assert_string_equal(choice.fallback, "");
    mx_registry_close(registry);
    r.backend = "opencl";
    gives(r, MX_MODE_SINGLE, "opencl:0", NULL); /* asked for: then any kind */
    r.backend = "cpu";
    gives(r, MX_MODE_SINGLE, "cpu:0", NULL);
    r.backend = "auto";
    gives(r, MX_MODE_SINGLE, "cpu:0", NULL);
}

static void test_multi(void **state)
{
    (void)state;
    struct mx_mode_request r = request();
    machine_set(4, 0, 0, 8);
    r.data_gpu = 2;
    r.model_gpu = 3;
    gives(r, MX_MODE_MULTI, "cuda:2", "cuda:3");
    r.data_gpu = 3;
    r.model_gpu = 0;
    gives(r, MX_MODE_MULTI, "cuda:3", "cuda:0");
    machine_set(0, 1, 2, 8);
    r.data_gpu = 2;
    r.model_gpu = 1;
    gives(r, MX_MODE_MULTI, "opencl:2", "opencl:1");
    r.data_gpu = 0;
    r.model_gpu = 1;
    r.backend = "cpu";
    r.cpu_devices = 2;
    gives(r, MX_MODE_MULTI, "cpu:0", "cpu:1");
    r.backend = "opencl"; /* asked for: then also its CPU */
    gives(r, MX_MODE_MULTI, "opencl:0", "opencl:1");
    r = request();
    r.data_device = "cpu:0";
    r.model_device = "opencl:2";
    gives(r, MX_MODE_MULTI, "cpu:0", "opencl:2");
    r.backend = "auto";
    gives(r, MX_MODE_MULTI, "cpu:0", "opencl:2");
}

/* Devices that were named are bound before any backend starts, and only theirs do. */
static void test_bound_first(void **state)
{
    (void)state;
    struct mx_mode_choice choice;
    struct mx_mode_request r = request();
    machine_set(2, 1, 1, 4);
    r.data_device = "cuda:1";
    r.model_device = "cuda:0";
    assert_int_equal(mx_mode_select(&r, &choice), 0);
    assert_int_equal(choice.count, 2);
    assert_int_equal(choice.mode, MX_MODE_MULTI);
    assert_string_equal(choice.names[0], "cuda:1");
    assert_int_equal(machine.starts, 0);
    gives(r, MX_MODE_MULTI, "cuda:1", "cuda:0");
    assert_int_equal(machine.starts, 1);
    r = request();
    r.backend = "cuda";
    r.data_gpu = 0;
    r.model_gpu = 1;
    assert_int_equal(mx_mode_select(&r, &choice), 0);
    assert_string_equal(choice.names[1], "cuda:1");
    machine.starts = 0;
    gives(r, MX_MODE_MULTI, "cuda:0", "cuda:1");
    assert_int_equal(machine.starts, 1);
    r = request();
    r.device = "cpu:0";
    machine.starts = 0;
    gives(r, MX_MODE_SINGLE, "cpu:0", NULL);
    assert_int_equal(machine.starts, 1);
    r = request(); /* nothing said: only a look can tell */
    assert_int_equal(mx_mode_select(&r, &choice), 0);
    assert_int_equal(choice.count, 0);
}

static void test_contradictions(void **state)
{
    (void)state;
    struct mx_mode_request r = request();
    machine_set(0, 0, 0, 4);
    r.data_gpu = 0;
    refused(r, MX_ERR_USAGE,
            "❌ Multi-GPU Mode needs a data and a model device: '--data-gpu 0' names one, '--model-gpu'",
            "'myxtts train --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1'");
    r = request();
    r.model_gpu = 1;
    refused(r, MX_ERR_USAGE, "'--model-gpu 1' names one, '--data-gpu' names none", "--allow-single");
    r = request();
    r.model_device = "cpu:1";
    refused(r, MX_ERR_USAGE, "'--model-device cpu:1' names one, '--data-device' names none",
            "'myxtts train --cpu-devices 2 --data-device cpu:0 --model-device cpu:1'");
    r = request();
    r.data_gpu = r.model_gpu = 1;
    refused(r, MX_ERR_USAGE, "two different devices: '--data-gpu 1' and '--model-gpu 1' are the same", "cpu:0");
    r = request();
    r.data_device = r.model_device = "cpu:0";
    refused(r, MX_ERR_USAGE, "'--data-device cpu:0' and '--model-device cpu:0' are the same", "--model-device cpu:1");
    r = request();
    r.data_gpu = 0;
    r.model_device = "cpu:1";
    refused(r, MX_ERR_USAGE, "cannot be mixed", "cpu:0");
    r = request();
    r.device = "cpu:0";
    r.data_gpu = 0;
    r.model_gpu = 1;
    refused(r, MX_ERR_USAGE, "'--device cpu:0' does everything on one device: '--data-gpu 0' contradicts it", "cpu:0");
    r = request();
    r.device = "cpu:0";
    r.backend = "cuda";
    refused(r, MX_ERR_USAGE, "'--backend cuda' contradicts the device cpu:0", "cpu:0");
    r = request();
    r.backend = "cuda";
    r.data_device = "cpu:0";
    r.model_device = "cuda:0";
    refused(r, MX_ERR_USAGE, "'--backend cuda' contradicts the device cpu:0", "cpu:0");
    r = request();
    r.device = "gpu";
    refused(r, MX_ERR_USAGE, "'gpu' is not the name of a device", "cpu:0");
    r = request();
    r.allow_single = true; /* allows a fallback, not a contradiction */
    r.data_gpu = 0;
    r.model_device = "cpu:1";
    refused(r, MX_ERR_USAGE, "cannot be mixed", "cpu:0");
}

static void test_missing(void **state)
{
    (void)state;
    struct mx_mode_request r = request();
    r.data_gpu = 0;
    r.model_gpu = 1;
    machine_set(-1, 0, 0, 4);
    refused(r, MX_ERR_NO_DEVICE, "❌ Multi-GPU requires at least 2 GPUs: there is none here",
            "devices here: cpu:0; this would work: 'myxtts train --backend cpu --cpu-devices 2 --data-gpu 0 "
            "--model-gpu 1'; '--allow-single' would do everything on cpu:0");
    machine_set(-1, 0, 0, 1); /* one core: there is no second device to be had */
    refused(r, MX_ERR_NO_DEVICE, "at least 2 GPUs", "'myxtts train' without a data and a model device");
    machine_set(1, 0, 0, 4);
    refused(r, MX_ERR_NO_DEVICE, "❌ Multi-GPU requires at least 2 GPUs: backend cuda has 1 GPU",
            "devices here: cpu:0, cuda:0");
    machine_set(0, 2, 0, 4); /* the CPUs of OpenCL are no GPUs */
    refused(r, MX_ERR_NO_DEVICE, "at least 2 GPUs: there is none here", "opencl:1");
    machine_set(3, 0, 0, 4);
    r.model_gpu = 5;
    refused(r, MX_ERR_NO_DEVICE,
            "❌ Insufficient GPUs for Multi-GPU Mode: '--model-gpu 5' does not exist, cuda has 3 GPUs",
            "'myxtts train --backend cuda --data-gpu 0 --model-gpu 1'");
    r.data_gpu = 9;
    r.model_gpu = 2;
    refused(r, MX_ERR_NO_DEVICE, "'--data-gpu 9' does not exist", "--data-gpu 0 --model-gpu 2'");
    r = request();
    r.backend = "cpu";
    r.data_gpu = 0;
    r.model_gpu = 1;
    refused(r, MX_ERR_NO_DEVICE, "❌ Multi-GPU requires at least 2 GPUs: backend cpu has 1 device",
            "'myxtts train --backend cuda --data-gpu 0 --model-gpu 1'");
    machine_set(0, 0, 0, 4);
    refused(r, MX_ERR_NO_DEVICE, "backend cpu has 1 device", "--backend cpu --cpu-devices 2");
    r.cpu_devices = 3;
    r.model_gpu = 3;
    refused(r, MX_ERR_NO_DEVICE, "'--model-gpu 3' does not exist, cpu has 3 devices", "--cpu-devices 3 --data-gpu 0");
    r = request();
    r.data_device = "cpu:0";
    r.model_device = "cpu:1";
    refused(r, MX_ERR_NO_DEVICE, "at least 2 GPUs: there is 1 device here, and '--model-device cpu:1' is not it",
            "'myxtts train --cpu-devices 2 --data-device cpu:0 --model-device cpu:1'");
    machine_set(1, 0, 0, 4);
    r.data_device = "cuda:0";
    r.model_device = "cuda:1";
    refused(r, MX_ERR_NO_DEVICE,
            "Insufficient GPUs for Multi-GPU Mode: '--model-device cuda:1' does not exist, cuda has 1",
            "--data-device cpu:0 --model-device cpu:1");
    r = request();
    r.device = "cuda:3";
    refused(r, MX_ERR_NO_DEVICE, "cuda:3", "'myxtts train --device cuda:0'");
    r = request();
    r.cpu_devices = 64;
    struct mx_mode_choice choice;
    struct mx_registry *registry;
    assert_int_equal(mx_mode_open(backends, &r, &choice, &registry), MX_ERR_USAGE);
    assert_non_null(strstr(mx_error_last()->message, "64 CPU devices"));
    assert_null(registry);
}

static void test_backends(void **state)
{
    (void)state;
    struct mx_mode_request r = request();
    machine_set(-1, 0, 0, 4);
    r.backend = "cuda";
    refused(r, MX_ERR_NO_DEVICE, "backend cuda is not available: libcuda.so.1 cannot be loaded",
            "install an NVIDIA driver; this would work: 'myxtts train --device cpu:0'");
    r.data_gpu = 0;
    r.model_gpu = 1;
    refused(r, MX_ERR_NO_DEVICE, "backend cuda is not available", "--backend cpu --cpu-devices 2");
    r.allow_single = true; /* one device instead of two, but not another backend */
    refused(r, MX_ERR_NO_DEVICE, "backend cuda is not available", "--backend cpu --cpu-devices 2");
    r = request();
    r.backend = "opencl";
    refused(r, MX_ERR_NO_DEVICE, "backend opencl is not available: no devices found", "an OpenCL driver");
    r.backend = "vulkan";
    refused(r, MX_ERR_NO_DEVICE, "there is no backend 'vulkan'", "cpu:0");
    r = request();
    r.data_device = "cdua:0";
    r.model_device = "cpu:0";
    refused(r, MX_ERR_NO_DEVICE, "'--data-device cdua:0' is not it", "cpu:0");
}

/* The fallback: only where it is allowed, on the device that is there, with the reason. */
static void falls_back(struct mx_mode_request r, const char *device, const char *reason)
{
    struct mx_mode_choice choice;
    struct mx_registry *registry;
    r.allow_single = true;
    gives(r, MX_MODE_SINGLE, device, NULL);
    assert_int_equal(mx_mode_open(backends, &r, &choice, &registry), 0);
    if (strstr(choice.fallback, reason) == NULL) fail_msg("'%s' is not in '%s'", reason, choice.fallback);
    assert_null(strstr(choice.fallback, "❌"));
    mx_registry_close(registry);
}

static void test_allow_single(void **state)
{
    (void)state;
    struct mx_mode_request r = request();
    r.data_gpu = 0;
    r.model_gpu = 1;
    machine_set(-1, 0, 0, 2);
    falls_back(r, "cpu:0", "requires at least 2 GPUs: there is none here");
    machine_set(1, 0, 0, 2);
    falls_back(r, "cuda:0", "backend cuda has 1 GPU");
    machine_set(3, 0, 0, 2);
    r.model_gpu = 7;
    falls_back(r, "cuda:0", "'--model-gpu 7' does not exist");
    r.data_gpu = 7;
    r.model_gpu = 2;
    falls_back(r, "cuda:2", "'--data-gpu 7' does not exist");
    r = request();
    r.model_gpu = 1;
    falls_back(r, "cuda:1", "only '--model-gpu 1' is given");
    r.data_gpu = 1;
    falls_back(r, "cuda:1", "data and model device are both cuda:1");
    r = request();
    r.data_device = "cpu:0";
    r.model_device = "cpu:1";
    falls_back(r, "cpu:0", "'--model-device cpu:1' does not exist");
    r = request(); /* where both are there, nothing falls back */
    r.data_gpu = 0;
    r.model_gpu = 1;
    r.allow_single = true;
    gives(r, MX_MODE_MULTI, "cuda:0", "cuda:1");
}

/* What was chosen can be opened and has its new numbers. */
static void test_renumbering(void **state)
{
    (void)state;
    static const struct mx_backend *const fakes[] = {&mx_fake_backend, NULL};
    struct mx_mode_choice choice;
    struct mx_registry *registry;
    struct mx_device *data, *model;
    struct mx_mode_request r = request();
    mx_fake_configure(&(struct mx_fake_options){.device_count = 4});
    r.backend = "fake";
    r.data_gpu = 2;
    r.model_gpu = 3;
    assert_int_equal(mx_mode_open(fakes, &r, &choice, &registry), 0);
    assert_int_equal(choice.mode, MX_MODE_MULTI);
    assert_int_equal(mx_registry_device_open(registry, 0, 0, &data), 0);
    assert_int_equal(mx_registry_device_open(registry, 1, 0, &model), 0);
    assert_string_equal(mx_device_name(data), "fake:2");
    assert_string_equal(mx_device_logical(data), "GPU:0");
    assert_string_equal(mx_device_name(model), "fake:3");
    assert_string_equal(mx_device_logical(model), "GPU:1");
    mx_device_close(data);
    mx_device_close(model);
    mx_registry_close(registry);
    assert_string_equal(mx_mode_name(&choice), "Multi-GPU Mode");
    choice.mode = MX_MODE_SINGLE;
    assert_string_equal(mx_mode_name(&choice), "Single-GPU Buffered Mode");
}

/* Cores are not called GPUs, unless somebody put them in their place by number. */
static void test_plain_names(void **state)
{
    (void)state;
    struct mx_mode_choice choice;
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_mode_request r = request();
    r.device = "cpu:0";
    assert_int_equal(mx_mode_open(mx_backends_cpu, &r, &choice, &registry), 0);
    assert_int_equal(mx_registry_device_open(registry, 0, 0, &device), 0);
    assert_true(choice.plain);
    assert_string_equal(mx_device_logical(device), "device 0");
    assert_string_equal(mx_mode_name(&choice), "Single-Device Buffered Mode");
    mx_device_close(device);
    mx_registry_close(registry);
    choice.mode = MX_MODE_MULTI;
    assert_string_equal(mx_mode_name(&choice), "Two-Device Mode");
    r.device = NULL;
    r.backend = "cpu";
    r.data_gpu = 0;
    r.model_gpu = 1;
    r.allow_single = true; /* this machine may have one core */
    assert_int_equal(mx_mode_open(mx_backends_cpu, &r, &choice, &registry), 0);
    assert_false(choice.plain);
    mx_registry_close(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best),           cmocka_unit_test(test_multi),       cmocka_unit_test(test_bound_first),
        cmocka_unit_test(test_contradictions), cmocka_unit_test(test_missing),     cmocka_unit_test(test_backends),
        cmocka_unit_test(test_allow_single),   cmocka_unit_test(test_renumbering), cmocka_unit_test(test_plain_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
