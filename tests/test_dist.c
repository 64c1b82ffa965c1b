/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ranks of a run. Alone: what the environment says about the launcher, how cores are divided, what is refused. As
 * one of several processes, with the name of a part as its argument (tests/mpi_group.sh starts it so):
 *
 *     group    all calls of the comm, compared with what the sums must be
 *     same     bits of sums whose order matters, one line for the first rank
 *     differ   rank 1 has another corpus
 *     fail     rank 1 ends with an error of its own
 *     hang     the trainer of rank 1 makes no progress
 *     gone     rank 1 ends without a word
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread/pool.h"
#include "dist/dist.h"
#include "dist/launch.h"
#include "myxtts/registry.h"

/* ---- alone ---- */

static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK",
                                        "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"};

static int environment_clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) unsetenv(variables[i]);
    return 0;
}

static void test_started_alone(void **state)
{
    struct mx_launch launch;
    struct mx_dist *dist = (struct mx_dist *)(void *)&launch;
    (void)state;
    assert_false(mx_launch_find(&launch));
    assert_int_equal(launch.size, 1);
    assert_int_equal(mx_dist_open(&(struct mx_dist_options){.timeout_s = 10, .command = "x"}, &dist), 0);
    assert_null(dist);
    assert_null(mx_dist_comm(dist));
    assert_int_equal(mx_dist_local_size(dist), 1);
    assert_int_equal(mx_dist_compare(dist, &(struct mx_dist_item){"x", 1, "y"}, 1), 0);
    assert_int_equal(mx_dist_fail(dist, MX_ERR_DATA), MX_ERR_DATA);
    assert_int_equal(mx_dist_spans(dist, NULL, 0), 0);
    mx_dist_tick(dist);
    mx_dist_close(dist);
}

static void test_started_by_a_launcher(void **state)
{
    struct mx_launch launch;
    (void)state;
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    assert_false(mx_launch_find(&launch)); /* a job script: no rank of a step */
    setenv("SLURM_PROCID", "3", 1);
    assert_true(mx_launch_find(&launch));
    assert_string_equal(launch.launcher, "srun of Slurm");
    assert_int_equal(launch.size, 4);
    assert_int_equal(launch.rank, 3);
    setenv("PMI_SIZE", "2", 1);
    setenv("PMI_RANK", "1", 1);
    assert_true(mx_launch_find(&launch));
    assert_string_equal(launch.launcher, "mpiexec of MPICH");
    assert_int_equal(launch.size, 2);
    setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    assert_true(mx_launch_find(&launch));
    assert_string_equal(launch.launcher, "mpirun of Open MPI");
    assert_int_equal(launch.size, 8);
    setenv("OMPI_COMM_WORLD_RANK", "8", 1); /* cannot be */
    assert_true(mx_launch_find(&launch));
    assert_string_equal(launch.launcher, "mpiexec of MPICH");
    setenv("OMPI_COMM_WORLD_RANK", "zero", 1);
    setenv("PMI_SIZE", "0", 1);
    setenv("SLURM_PROCID", "-1", 1);
    assert_false(mx_launch_find(&launch));
}

static void test_one_process_of_a_launcher_is_alone(void **state)
{
    struct mx_dist *dist = NULL;
    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    assert_int_equal(mx_dist_open(&(struct mx_dist_options){.timeout_s = 10, .command = "x"}, &dist), 0);
    assert_null(dist);
}

static void test_without_mpi_several_are_refused(void **state)
{
    struct mx_dist *dist = NULL;
    (void)state;
    if (mx_dist_supported() != NULL) skip();
    setenv("PMI_SIZE", "2", 1);
    setenv("PMI_RANK", "0", 1);
    assert_int_equal(mx_dist_open(&(struct mx_dist_options){.timeout_s = 10, .command = "myxtts train"}, &dist),
                     MX_ERR_UNSUPPORTED);
    assert_non_null(strstr(mx_error_last()->message, "built without MPI"));
    assert_non_null(strstr(mx_error_last()->hint, "libopenmpi-dev"));
    assert_non_null(strstr(mx_error_last()->hint, "'myxtts train'"));
}

static void test_cores_are_divided(void **state)
{
    (void)state;
    for (int count = 1; count <= 130; count++)
        for (int sharers = 1; sharers <= 140; sharers++) {
            int next = 0;
            for (int place = 0; place < sharers; place++) {
                const struct mx_launch_part part = mx_launch_cores(count, place, sharers);
                assert_true(part.number >= 1 && part.first >= 0 && part.first + part.number <= count);
                if (count < sharers) continue;
                assert_int_equal(part.first, next); /* each core belongs to one */
                next += part.number;
                assert_true(part.number <= (count + sharers - 1) / sharers);
            }
            if (count >= sharers) assert_int_equal(next, count);
        }
}

static void test_the_program_has_a_hash(void **state)
{
    (void)state;
    if (access("/proc/self/exe", R_OK) != 0) {
        print_message("skipped: a program finds itself in /proc, which is not mounted\n");
        skip();
    }
    assert_true(mx_dist_program_hash() != 0);
    assert_true(mx_dist_program_hash() == mx_dist_program_hash());
}

/* ---- as one of several ---- */

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            mx_warn("rank %d: line %d: %s is not so", (int)mx_comm_rank(comm), __LINE__, #condition);                  \
            (void)mx_dist_fail(dist, MX_FAIL(MX_ERR_INTERNAL, NULL, "a check failed"));                                \
        }                                                                                                              \
    } while (0)

struct floats {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct mx_buffer *buffer;
    struct mx_event *event;
    float *values;
};

static int floats_open(struct floats *f, int64_t count)
{
    int rc = 0;
    MX_TRY(mx_registry_open(mx_backends_cpu, &(struct mx_registry_options){.cpu_devices = 1}, &f->registry));
    MX_TRY(mx_registry_device_open(f->registry, 0, 0, &f->device));
    MX_TRY(mx_stream_create(f->device, "test", &f->stream));
    MX_TRY(mx_event_create(f->device, &f->event));
    MX_TRY(mx_buffer_create(f->device, "test", (size_t)count * sizeof(float), &f->buffer));
    f->values = mx_buffer_host(f->buffer);
out:
    return rc;
}

static void floats_close(struct floats *f)
{
    mx_buffer_release(f->buffer);
    mx_event_release(f->event);
    mx_stream_release(f->stream);
    mx_device_close(f->device);
    mx_registry_close(f->registry);
}

/* Sums of buckets of all kinds of lengths, several at a time; whole numbers, so that every order gives the same. */
static void group_sums(struct mx_dist *dist, struct floats *f, int64_t most)
{
    static const int64_t lengths[] = {1, 2, 3, 7, 64, 1000, 4099, 100003};
    struct mx_comm *const comm = mx_dist_comm(dist);
    const int32_t rank = comm->rank, size = comm->size;
    for (int round = 0; round < 3; round++) {
        int64_t at = 0;
        for (int64_t i = 0; i < most; i++) f->values[i] = (float)((i % 1000) + rank * (round + 1));
        CHECK(mx_event_record(f->event, f->stream) == 0);
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            CHECK(comm->calls->sum_begin(comm, mx_slice_at(f->buffer, (size_t)at * sizeof(float)), lengths[k],
                                         f->event) == 0);
            at += lengths[k];
        }
        /* One that is longer than a bucket, without an event. */
        CHECK(comm->calls->sum_begin(comm, mx_slice_at(f->buffer, (size_t)at * sizeof(float)), most - at, NULL) == 0);
        CHECK(comm->calls->sum_finish(comm, f->stream) == 0);
        const float ranks = (float)(size * (size - 1) / 2 * (round + 1));
        for (int64_t i = 0; i < most; i++) CHECK(f->values[i] == (float)((i % 1000) * size) + ranks);
    }
}

static void part_group(struct mx_dist *dist)
{
    struct floats f = {0};
    struct mx_comm *const comm = mx_dist_comm(dist);
    const int32_t rank = comm->rank, size = comm->size;
    const int64_t most = MX_BUCKET_FLOATS * 2 + 5;
    double values[3] = {rank, 1, 0.5 * rank};
    char text[70000];
    CHECK(floats_open(&f, most) == 0);
    CHECK(mx_dist_local_size(dist) == size && mx_dist_local_rank(dist) == rank && mx_dist_hosts(dist) == 1);
    group_sums(dist, &f, most);
    CHECK(mx_comm_add(comm, values, 3) == 0);
    CHECK(values[0] == size * (size - 1) / 2 && values[1] == size && values[2] == 0.25 * size * (size - 1));
    for (int32_t root = 0; root < size; root++) {
        memset(text, rank == root ? 'a' + root : '-', sizeof text);
        CHECK(mx_comm_broadcast(comm, text, sizeof text, root) == 0);
        CHECK(text[0] == 'a' + root && text[sizeof text - 1] == 'a' + root);
    }
    CHECK(mx_comm_broadcast(comm, text, 0, 0) == 0);
    for (int i = 0; i < 20; i++) CHECK(mx_comm_barrier(comm) == 0);
    CHECK(mx_dist_compare(dist, &(struct mx_dist_item){"the number is", 7, "count again"}, 1) == 0);
    struct mx_dist_span spans[64];
    const uint32_t kept = mx_dist_spans(dist, spans, 64);
    CHECK(kept == 16); /* of 27 */
    for (uint32_t i = 0; i < kept; i++) CHECK(spans[i].begin_ns <= spans[i].end_ns && spans[i].number >= 9);
    /* As many cores as are left when all share. */
    const int cores = mx_thread_cores(NULL, 0);
    double sums[1] = {cores};
    CHECK(mx_comm_add(comm, sums, 1) == 0);
    if (rank == 0) printf("cores %d\n", (int)sums[0]);
    floats_close(&f);
}

static void part_same(struct mx_dist *dist)
{
    struct floats f = {0};
    struct mx_comm *const comm = mx_dist_comm(dist);
    const int64_t most = 50000;
    CHECK(floats_open(&f, most) == 0);
    for (int64_t i = 0; i < most; i++) f.values[i] = 1.0F / (float)(i + 1 + comm->rank * 7919);
    CHECK(comm->calls->sum_begin(comm, mx_slice_at(f.buffer, 0), most, NULL) == 0);
    CHECK(comm->calls->sum_finish(comm, f.stream) == 0);
    const uint64_t hash = XXH3_64bits(f.values, (size_t)most * sizeof(float));
    /* The same bits everywhere. */
    CHECK(mx_dist_compare(dist, &(struct mx_dist_item){"the sum is", hash, ""}, 1) == 0);
    if (comm->rank == 0) printf("sum %016llx\n", (unsigned long long)hash);
    floats_close(&f);
}

static void part_end(struct mx_dist *dist, const char *part)
{
    struct mx_comm *const comm = mx_dist_comm(dist);
    const int32_t rank = comm->rank;
    CHECK(mx_comm_barrier(comm) == 0);
    if (strcmp(part, "differ") == 0) {
        const struct mx_dist_item items[] = {{"the program is", 1, "a"},
                                             {"its corpus is", rank == 1 ? 2 : 3, "copy the corpus to all machines"}};
        const int rc = mx_dist_compare(dist, items, 2);
        if (rc < 0) (void)mx_dist_fail(dist, rc);
    } else if (rank == 1 && strcmp(part, "fail") == 0) {
        (void)mx_dist_fail(dist, MX_FAIL(MX_ERR_NO_MEMORY, "take smaller batches", "no memory is left"));
    } else if (rank == 1 && strcmp(part, "hang") == 0) {
        for (;;) mx_clock_sleep_ns(1000000000);
    } else if (rank == 1 && strcmp(part, "gone") == 0) {
        kill(getpid(), SIGKILL);
    }
    CHECK(mx_comm_barrier(comm) == 0); /* waits for rank 1 in vain */
}

static int member(const char *part)
{
    struct mx_dist *dist = NULL;
    const struct mx_dist_options options = {
        .timeout_s = strcmp(part, "hang") == 0 ? 2 : 60, .command = "x", .divide_cores = true, .spans = 16};
    if (mx_dist_open(&options, &dist) < 0) {
        mx_log_error();
        return 1;
    }
    if (dist == NULL) return 1;
    if (strcmp(part, "group") == 0)
        part_group(dist);
    else if (strcmp(part, "same") == 0)
        part_same(dist);
    else
        part_end(dist, part);
    mx_dist_close(dist);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2) return member(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_started_alone, environment_clear),
        cmocka_unit_test_setup(test_started_by_a_launcher, environment_clear),
        cmocka_unit_test_setup(test_one_process_of_a_launcher_is_alone, environment_clear),
        cmocka_unit_test_setup(test_without_mpi_several_are_refused, environment_clear),
        cmocka_unit_test(test_cores_are_divided),
        cmocka_unit_test(test_the_program_has_a_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
