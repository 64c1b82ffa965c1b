/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The CPU backend: its vtable, what it finds on the machine, and its memory.
 *
 * The cores this process may use are split evenly into logical devices of neighbouring cores. Each of them sees all of
 * the machine's memory (or the control group's share) as its own; their budgets keep them apart.
 *
 * Memory: the state lives from open to close. Buffers below 2 MiB come from the checked allocator, larger ones are
 * mapped: huge pages, and each page lies near the core that touches it first.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "device/cpu/cpu.h"
#include "device/host_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#define ALIGNMENT      64
#define HUGE_BYTES     ((size_t)2 << 20)
#define TEXT_MAX_BYTES ((size_t)4 << 20) /* of /proc/cpuinfo, which grows with the cores */

/* ---- what the machine has ---- */

static void model_read(char *out, size_t size)
{
    char *text = NULL;
    size_t bytes;
    struct utsname machine;
    bool found = mx_file_read("/proc/cpuinfo", TEXT_MAX_BYTES, &text, &bytes) == 0 &&
                 (mx_host_line_value(text, "model name", out, size) || mx_host_line_value(text, "Model", out, size));
    mx_free(text);
    if (found) return;
    snprintf(out, size, "%.40s CPU", uname(&machine) == 0 ? machine.machine : "unknown");
}

/* The NUMA node of a core; 0 where the kernel knows of none. */
static int core_node(int core)
{
    char path[80];
    for (int node = 0; node < 64; node++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/node%d", core, node);
        if (access(path, F_OK) == 0) return node;
    }
    return 0;
}

/* ---- open, close, devices ---- */

static void state_close(void *context)
{
    struct mx_cpu_state *const state = context;
    mx_free(state->cores);
    mx_free(state);
}

static int state_open(const struct mx_registry_options *options, void **out)
{
    int rc = 0;
    struct mx_cpu_state *const state = mx_alloc(1, sizeof *state);
    if (!state) return MX_ERR_NO_MEMORY;
    MX_TRY(mx_cpu_kernels_choose(getenv("MYXTTS_ISA"), &state->kernels));
    MX_TRY(mx_cpu_bf16_choose(state->kernels, getenv("MYXTTS_BF16"), &state->bf16, state->bf16_lack,
                              sizeof state->bf16_lack));
    MX_TRY(state->core_count = mx_thread_cores(NULL, 0));
    state->cores = mx_alloc((size_t)state->core_count, sizeof *state->cores);
    if (!state->cores) {
        rc = MX_ERR_NO_MEMORY;
        goto out;
    }
    MX_TRY(mx_thread_cores(state->cores, state->core_count));
    state->device_count = options->cpu_devices ? options->cpu_devices : 1;
    if (state->device_count < 1 || state->device_count > state->core_count) {
        MX_FAIL(MX_ERR_USAGE, NULL, "%d CPU devices asked for, but this process may use %d core%s",
                options->cpu_devices, state->core_count, state->core_count == 1 ? "" : "s");
        rc = mx_error_hint("each CPU device needs a core of its own: choose 1 to %d", state->core_count);
        goto out;
    }
    state->memory_bytes = mx_host_memory_bytes();
    model_read(state->model, sizeof state->model);
    mx_error_clear(); /* a file of /proc that is not there is no error */
    *out = state;
    rc = 0;
out:
    if (rc < 0) state_close(state);
    return rc;
}

static int state_device_count(void *state)
{
    return ((const struct mx_cpu_state *)state)->device_count;
}

/* "core 3", "cores 0-3", "cores 0-1, 8-9" */
static void cores_text(const int *cores, int count, char *out, size_t size)
{
    size_t length = (size_t)snprintf(out, size, count == 1 ? "core " : "cores ");
    for (int i = 0, last; i < count && length < size; i = last + 1) {
        for (last = i; last + 1 < count && cores[last + 1] == cores[last] + 1;) last++;
        length += (size_t)snprintf(out + length, size - length, "%s%d", i ? ", " : "", cores[i]);
        if (last > i && length < size) length += (size_t)snprintf(out + length, size - length, "-%d", cores[last]);
    }
}

static int state_device_info(void *context, int index, struct mx_device_info *out)
{
    const struct mx_cpu_state *const state = context;
    const int first = mx_cpu_first_core(state, index), count = mx_cpu_first_core(state, index + 1) - first;
    const int *const cores = state->cores + first;
    char where[60];
    memset(out, 0, sizeof *out);
    snprintf(out->backend, sizeof out->backend, "cpu");
    out->index = index;
    cores_text(cores, count, where, sizeof where);
    snprintf(out->name, sizeof out->name, "%s, %s", state->model, where);
    out->kind = MX_DEVICE_CPU;
    out->memory_bytes = state->memory_bytes;
    out->compute_units = count;
    out->numa_node = core_node(cores[0]);
    for (int i = 0; i < count; i++) {
        if (i < (int)(sizeof out->cores / sizeof *out->cores)) out->cores[i] = cores[i];
        if (core_node(cores[i]) != out->numa_node) out->numa_node = -1; /* on several */
    }
    /* Copies run on the device's own cores, between its other work: they do not overlap it. */
    out->caps = (struct mx_device_caps){.host_visible = true, .peer_copy = true, .event_times = true};
    mx_cpu_kernels_describe(state->kernels, getenv("MYXTTS_ISA"), out);
    mx_cpu_bf16_describe(state->bf16, state->bf16_lack, out);
    return 0;
}

/* ---- memory ---- */

int mx_cpu_memory_acquire(size_t bytes, void **out)
{
    if (bytes < HUGE_BYTES) {
        *out = mx_alloc_aligned(bytes, ALIGNMENT);
        return *out ? 0 : MX_ERR_NO_MEMORY;
    }
    /* Mapped with room to begin at a multiple of a huge page; what sticks out is given back. */
    void *base = MAP_FAILED;
    const size_t whole = (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
    if (bytes <= PTRDIFF_MAX - 2 * HUGE_BYTES) {
        base = mmap(NULL, whole + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (base == MAP_FAILED) {
        return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs, or lower the sizes",
                       "cannot allocate %zu bytes of memory", bytes);
    }
    const size_t before = (HUGE_BYTES - (uintptr_t)base % HUGE_BYTES) % HUGE_BYTES;
    char *const start = (char *)base + before;
    if (before > 0) munmap(base, before);
    if (before < HUGE_BYTES) munmap(start + whole, HUGE_BYTES - before);
    madvise(start, whole, MADV_HUGEPAGE); /* where the kernel does not, small pages do */
    *out = start;
    return 0;
}

void mx_cpu_memory_release(void *ptr, size_t bytes)
{
    if (bytes < HUGE_BYTES) {
        mx_free(ptr);
    } else if (ptr) {
        munmap(ptr, (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
    }
}

static int buffer_create(struct mx_buffer *buffer)
{
    return mx_cpu_memory_acquire(buffer->bytes, &buffer->host);
}

static void buffer_release(struct mx_buffer *buffer)
{
    mx_cpu_memory_release(buffer->host, buffer->bytes);
}

static bool can_peer(const struct mx_device *from, const struct mx_device *to)
{
    return from->backend == to->backend; /* one memory */
}

const struct mx_backend mx_cpu_backend = {
    .name = "cpu",
    .order = MX_BACKEND_CPU,
    .is_cpu = true,
    .requires = "--cpu-devices N splits the cores into N devices",
    .open = state_open,
    .close = state_close,
    .device_count = state_device_count,
    .device_info = state_device_info,
    .device_open = mx_cpu_device_open,
    .device_close = mx_cpu_device_close,
    .buffer_create = buffer_create,
    .buffer_release = buffer_release,
    .stream_create = mx_cpu_stream_create,
    .stream_release = mx_cpu_stream_release,
    .stream_sync = mx_cpu_stream_sync,
    .stream_wait = mx_cpu_stream_wait,
    .event_create = mx_cpu_event_create,
    .event_release = mx_cpu_event_release,
    .event_record = mx_cpu_event_record,
    .event_sync = mx_cpu_event_sync,
    .event_done = mx_cpu_event_done,
    .event_time_ns = mx_cpu_event_time_ns,
    .copy_upload = mx_cpu_copy_upload,
    .copy_download = mx_cpu_copy_download,
    .copy_slices = mx_cpu_copy_slices,
    .can_peer = can_peer,
    .submit = mx_cpu_submit,
};
