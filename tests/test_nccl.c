/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums by NCCL (dist/nccl.h), which is the double here: two members, a thread with a device each, get the same sums in
 * the order of ranks; sums wait for their gradients and do not hold up the caller; what goes wrong is reported with what to
 * do about it. tests/mpi_nccl.sh has the processes.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "dist/nccl.h"
#include "myxtts/error.h"
#include "support/cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOATS 100000 /* more than a piece of the double's */
#define SUMS   3
#define STEPS  2

#define SKIPPED 77

struct member {
    const struct mx_nccl_library *library;
    const ncclUniqueId *id;
    struct mx_device *device;
    int32_t rank, size;
    int rc;
    struct mx_error error;
    float *values; /* [SUMS · FLOATS] */
    struct mx_nccl_span spans[SUMS];
};

static int steps_run(struct member *m, struct mx_nccl *nccl, struct mx_stream *stream, struct mx_buffer *buffer,
                     struct mx_event *const ready[SUMS])
{
    int rc = 0;
    const size_t bytes = SUMS * FLOATS * sizeof *m->values;
    for (int step = 0; step < STEPS; step++) {
        MX_TRY(mx_copy_upload(stream, mx_slice_at(buffer, 0), m->values, bytes));
        for (int i = 0; i < SUMS; i++) {
            MX_TRY(mx_event_record(ready[i], stream));
            MX_TRY(mx_nccl_sum(nccl, mx_slice_at(buffer, (size_t)i * FLOATS * sizeof *m->values), FLOATS, ready[i]));
        }
        MX_TRY(mx_nccl_ready(nccl));
        MX_TRY(mx_nccl_finish(nccl));
        if (mx_nccl_count(nccl) != SUMS) MX_RAISE(MX_ERR_INTERNAL, "", "%d sums", (int)mx_nccl_count(nccl));
        for (int i = 0; i < SUMS; i++) m->spans[i] = mx_nccl_span(nccl, i);
    }
    MX_TRY(mx_copy_download(stream, m->values, mx_slice_at(buffer, 0), bytes));
    MX_TRY(mx_stream_sync(stream));
out:
    return rc;
}

/* One member, from the first to the last; its own thread. */
static void *member_run(void *context)
{
    int rc = 0;
    struct member *const m = context;
    struct mx_nccl *nccl = NULL;
    struct mx_stream *stream = NULL;
    struct mx_buffer *buffer = NULL;
    struct mx_event *ready[SUMS] = {0};
    MX_TRY(mx_stream_create(m->device, "train", &stream));
    MX_TRY(mx_buffer_create(m->device, "gradients", SUMS * FLOATS * sizeof *m->values, &buffer));
    for (int i = 0; i < SUMS; i++) MX_TRY(mx_event_create(m->device, &ready[i]));
    MX_TRY(mx_nccl_open(m->library, m->device, m->id, m->rank, m->size, &nccl));
    MX_TRY(steps_run(m, nccl, stream, buffer, ready));
out:
    if (rc < 0) m->error = *mx_error_last();
    m->rc = rc;
    mx_nccl_close(nccl);
    for (int i = 0; i < SUMS; i++) mx_event_release(ready[i]);
    mx_buffer_release(buffer);
    mx_stream_release(stream);
    return NULL;
}

static float value_of(int rank, int i)
{
    const volatile float value = (rank == 0 ? 0.1f : 1e-7f) * (float)(i % 1000 + 1); /* rounded, not fused */
    return value;
}

static void members_fill(struct member *members, int count)
{
    for (int r = 0; r < count; r++) {
        members[r].values = malloc(SUMS * FLOATS * sizeof(float));
        for (int i = 0; i < SUMS * FLOATS; i++) members[r].values[i] = value_of(r, i);
    }
}

/* Two members on two devices; the library is the double's. */
static void sums_of_two(void **state)
{
    struct cuda_pair pair;
    struct mx_nccl_library library;
    ncclUniqueId id;
    pthread_t threads[2];
    char text[MX_NCCL_VERSION_BYTES];
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    assert_int_equal(cuda_open(&pair, 2), 0);
    assert_int_equal(mx_nccl_load(&library), 0);
    assert_string_equal(mx_nccl_version(library.version, text), "2.28.9");
    assert_string_equal(mx_nccl_version(2804, text), "2.8.4");
    assert_int_equal(mx_nccl_id(&library, &id), 0);
    struct member members[2] = {{&library, &id, pair.devices[0], 0, 2, 0, {0}, NULL, {{0}}},
                                {&library, &id, pair.devices[1], 1, 2, 0, {0}, NULL, {{0}}}};
    members_fill(members, 2);
    for (int r = 0; r < 2; r++) assert_int_equal(pthread_create(&threads[r], NULL, member_run, &members[r]), 0);
    for (int r = 0; r < 2; r++) pthread_join(threads[r], NULL);
    for (int r = 0; r < 2; r++) {
        if (members[r].rc < 0) fail_msg("rank %d: %s", r, members[r].error.message);
        for (int i = 0; i < SUMS * FLOATS; i++)
            if (members[r].values[i] != value_of(0, i) + value_of(1, i)) fail_msg("float %d of rank %d", i, r);
        for (int i = 0; i < SUMS; i++) {
            assert_int_equal(members[r].spans[i].bytes, FLOATS * sizeof(float));
            assert_true(members[r].spans[i].begin_ns > 0);
            assert_true(members[r].spans[i].begin_ns <= members[r].spans[i].end_ns);
        }
        free(members[r].values);
    }
    assert_int_equal(cuda->get("sums"), 2 * STEPS * SUMS);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* A member that is alone finds `setting` struck at its second sum. */
static void struck(const char *setting, const char *words, const char *hint)
{
    struct cuda_pair pair;
    struct mx_nccl_library library;
    ncclUniqueId id;
    const struct cuda_double *const cuda = cuda_double_use("");
    assert_int_equal(cuda_open(&pair, 1), 0);
    assert_int_equal(mx_nccl_load(&library), 0);
    assert_int_equal(mx_nccl_id(&library, &id), 0);
    struct member member = {&library, &id, pair.devices[0], 0, 1, 0, {0}, NULL, {{0}}};
    members_fill(&member, 1);
    assert_int_equal(cuda->set(setting, 2), 0);
    member_run(&member);
    assert_int_equal(member.rc, MX_ERR_DEVICE);
    if (strstr(member.error.message, words) == NULL) fail_msg("%s", member.error.message);
    if (strstr(member.error.hint, hint) == NULL) fail_msg("%s", member.error.hint);
    free(member.values);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

static void failures(void **state)
{
    (void)state;
    struck("fail_sum", "NCCL: summing gradients failed: unhandled system error", "NCCL_SOCKET_IFNAME");
    /* It would never end by itself. */
    struck("broken_sum", "NCCL: summing gradients failed: remote process exited", "MYXTTS_SUMS=ring");
}

static void missing(void **state)
{
    struct mx_nccl_library library;
    (void)state;
    setenv("MYXTTS_CUDA_NCCL", "/nonexistent/libnccl.so.2", 1);
    assert_int_equal(mx_nccl_load(&library), MX_ERR_UNSUPPORTED);
    assert_non_null(
        strstr(mx_error_last()->message, "/nonexistent/libnccl.so.2, which MYXTTS_CUDA_NCCL names, cannot be loaded"));
    cuda_double_use("_old");
    assert_int_equal(mx_nccl_load(&library), MX_ERR_UNSUPPORTED);
    assert_non_null(strstr(mx_error_last()->message, "has no ncclCommGetAsyncError: it is older than NCCL 2.4"));
    assert_non_null(strstr(mx_error_last()->hint, "libnccl2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_two),
        cmocka_unit_test(failures),
        cmocka_unit_test(missing),
    };
    if (access("/dev/shm", W_OK) != 0) {
        fprintf(stderr, "skipped: the double of NCCL needs shared memory (/dev/shm)\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
