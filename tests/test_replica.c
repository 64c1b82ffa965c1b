/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Replicas by themselves: buckets cover the gradient once and are reported when they are final, the gradients of two parts
 * of a batch add up to those of the whole, and two halves of an update are the whole update.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/rng.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"
#include "support/cores.h"
#include "train/feed/device_batch.h"
#include "train/network.h"
#include "train/replica.h"

#define SEQUENCES 5
#define BANDS     80
#define LONGEST   40

static struct {
    struct mx_registry *registry;
    struct mx_device *devices[2];
    struct mx_stream *stream; /* of the first one */
} it;

static const struct mx_model_size small = {"test", 24, 2, 2, 2, 32};
static const struct mx_model_capacity room = {.sequences = SEQUENCES,
                                              .tokens = SEQUENCES * LONGEST,
                                              .frames = SEQUENCES * LONGEST,
                                              .references = SEQUENCES * LONGEST};

static struct mx_network_options network;

static int group_open(void **state)
{
    (void)state;
    two_cores_or_exit();
    const struct mx_model_config config = mx_model_config_default(&small, 20, 2);
    network = mx_network_acoustic(&config, &room);
    const struct mx_registry_options options = {.cpu_devices = 2, .devices = {"cpu:0", "cpu:1"}, .device_count = 2};
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    if (mx_registry_open(NULL, &options, &it.registry) < 0) return -1;
    for (int i = 0; i < 2; i++)
        if (mx_registry_device_open(it.registry, i, 0, &it.devices[i]) < 0) return -1;
    return mx_stream_create(it.devices[0], "test", &it.stream);
}

static int group_close(void **state)
{
    (void)state;
    mx_stream_release(it.stream);
    mx_device_close(it.devices[0]);
    mx_device_close(it.devices[1]);
    mx_registry_close(it.registry);
    return 0;
}

static struct mx_replica_options options_of(int device)
{
    struct mx_replica_options o = {.device = it.devices[device], .network = &network, .passes = 1};
    struct mx_network_memory memory;
    assert_int_equal(network.calls->memory_plan(&network, &memory), 0);
    o.room.count = memory.floats;
    return o;
}

static struct mx_replica *replica_make(const struct mx_replica_options *o)
{
    struct mx_replica *replica;
    if (mx_replica_create(o, &replica) < 0) fail_msg("%s", mx_error_last()->message);
    const int64_t floats = replica->floats;
    float *const initial = mx_alloc((size_t)floats, sizeof *initial);
    mx_parameters_init(mx_network_parameters(replica->network), 3, initial);
    assert_int_equal(mx_replica_begin(replica, initial), 0);
    mx_free(initial);
    return replica;
}

/* ---- a batch ---- */

static void values_fill(struct mx_slice to, int64_t count, uint64_t stream)
{
    float *const values = (float *)(void *)((char *)mx_buffer_host(to.buffer) + to.offset_bytes);
    for (int64_t i = 0; i < count; i++) values[i] = mx_rng_normal(11, stream, (uint64_t)i);
}

static void words_fill(struct mx_slice to, int64_t count, uint64_t stream, uint64_t below)
{
    int32_t *const values = (int32_t *)(void *)((char *)mx_buffer_host(to.buffer) + to.offset_bytes);
    for (int64_t i = 0; i < count; i++) values[i] = (int32_t)mx_rng_below(11, stream, (uint64_t)i, below);
}

/* Made up, on the first device. */
static struct mx_device_batch *device_batch_make(void)
{
    const struct mx_device_batch_options options = {.capacity = room, .offsets = true, .owner = "batch"};
    int32_t tokens[SEQUENCES + 1] = {0}, frames[SEQUENCES + 1] = {0}, references[SEQUENCES + 1] = {0};
    uint32_t utterances[SEQUENCES];
    struct mx_device_batch *on_device;
    for (int i = 0; i < SEQUENCES; i++) {
        utterances[i] = 100 + (uint32_t)i;
        tokens[i + 1] = tokens[i] + 3 + i;
        frames[i + 1] = frames[i] + 9 + 5 * i;
        references[i + 1] = references[i] + (i == 2 ? 0 : 7 + i);
    }
    struct mx_host_batch host = {.count = SEQUENCES,
                                 .left_out = 2,
                                 .utterances = utterances,
                                 .tokens = tokens[SEQUENCES],
                                 .frames = frames[SEQUENCES],
                                 .references = references[SEQUENCES],
                                 .longest_tokens = 3 + SEQUENCES - 1,
                                 .longest_frames = 9 + 5 * (SEQUENCES - 1),
                                 .longest_reference = 7 + SEQUENCES - 1,
                                 .token_offsets = tokens,
                                 .frame_offsets = frames,
                                 .reference_offsets = references};
    assert_int_equal(mx_device_batch_create(it.devices[0], &options, &on_device), 0);
    mx_device_batch_lay(on_device, &host);
    const struct mx_model_batch *const b = &on_device->batch;
    const int32_t *const kinds[3] = {tokens, frames, references};
    const struct mx_slice places[3] = {b->tokens.offsets, b->frames.offsets, b->references.offsets};
    for (int k = 0; k < 3; k++)
        memcpy((char *)mx_buffer_host(places[k].buffer) + places[k].offset_bytes, kinds[k], sizeof tokens);
    words_fill(b->token_ids, host.tokens, 1, 20);
    words_fill(b->languages, SEQUENCES, 2, 2);
    values_fill(b->reference_mel, (int64_t)host.references * BANDS, 3);
    values_fill(b->mel, (int64_t)host.frames * BANDS, 4);
    values_fill(b->pitch, host.frames, 5);
    values_fill(b->energy, host.frames, 6);
    return on_device;
}

static void run(struct mx_replica *replica, const struct mx_device_batch *part, const struct mx_device_batch *whole)
{
    const struct mx_network_pass pass = {.batch = part, .whole = network.calls->count(whole), .seed = 5, .number = 9};
    assert_int_equal(mx_replica_clear(replica), 0);
    if (part->count > 0)
        assert_int_equal(mx_replica_run(replica, 0, &pass, true), 0);
    else
        assert_int_equal(mx_replica_pause(replica), 0);
    if (mx_stream_sync(replica->stream) < 0) fail_msg("%s", mx_error_last()->message);
}

/* How far two arrays are apart, in relation to their size. */
static double apart(const float *a, const float *b, int64_t count)
{
    double off = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        const double d = (double)a[i] - (double)b[i];
        off += d * d;
        size += (double)a[i] * (double)a[i];
    }
    assert_true(size > 0);
    return sqrt(off / size);
}

static const float *host_of(const struct mx_buffer *buffer)
{
    return mx_buffer_host(buffer);
}

/* ---- buckets ---- */

static void test_buckets_cover_everything_once(void **state)
{
    (void)state;
    static const int64_t decayed[] = {0,
                                      16,
                                      MX_BUCKET_SMALL,
                                      MX_BUCKET_FLOATS + 16,
                                      3 * MX_BUCKET_FLOATS - 16,
                                      MX_BUCKET_TAIL,
                                      MX_BUCKET_TAIL + 16,
                                      MX_BUCKET_TAIL + 2 * MX_BUCKET_FLOATS + 48};
    for (size_t i = 0; i < sizeof decayed / sizeof *decayed; i++)
        for (int64_t rest = 0; rest <= 32; rest += 32) {
            const struct mx_parameters table = {
                .decayed = decayed[i], .floats = decayed[i] + rest, .learned = decayed[i] + rest};
            const int32_t count = mx_bucket_count(&table);
            int64_t from = decayed[i], sum = 0;
            for (int32_t k = 0; k < count; k++) {
                const struct mx_bucket bucket = mx_bucket_at(&table, k);
                assert_true(bucket.count > 0);
                assert_true(bucket.count <= (bucket.first < MX_BUCKET_TAIL ? MX_BUCKET_SMALL : MX_BUCKET_FLOATS));
                sum += bucket.count;
                if (bucket.first == decayed[i] && rest > 0 && k == count - 1) continue; /* the others, at the end */
                assert_int_equal(bucket.first + bucket.count, from);
                from = bucket.first;
            }
            assert_int_equal(sum, table.floats);
            assert_int_equal(from, 0);
        }
}

struct told {
    struct mx_replica *replica;
    const struct mx_parameters *table;
    int64_t from[64];
    int count;
    float *copies; /* of the whole gradient, when each was told */
};

/* What is reported as final, as it is when the stream has come so far. */
static int told_ready(void *context, int64_t from)
{
    struct told *const told = context;
    const size_t floats = (size_t)told->table->floats;
    assert_true(told->count < 64);
    told->from[told->count] = from;
    return mx_copy_download(told->replica->stream, told->copies + (size_t)told->count++ * floats,
                            mx_slice_at(told->replica->gradients, 0), floats * sizeof(float));
}

static void test_what_is_told_to_be_final_is(void **state)
{
    (void)state;
    const struct mx_replica_options o = options_of(0);
    struct mx_replica *const replica = replica_make(&o);
    struct mx_device_batch *const on_device = device_batch_make();
    const struct mx_parameters *const table = mx_network_parameters(replica->network);
    struct told told = {.replica = replica, .table = table};
    told.copies = mx_alloc(64 * (size_t)table->floats, sizeof(float));
    const struct mx_network_pass pass = {
        .batch = on_device, .seed = 5, .number = 9, .ready = told_ready, .context = &told};
    assert_int_equal(mx_replica_clear(replica), 0);
    assert_int_equal(mx_replica_run(replica, 0, &pass, false), 0);
    assert_int_equal(mx_stream_sync(replica->stream), 0);
    const float *const last = host_of(replica->gradients);
    assert_true(told.count >= small.encoder_blocks + small.decoder_blocks + 2);
    assert_int_equal(told.from[told.count - 1], 0);
    for (int i = 0; i < told.count; i++) {
        const float *const then = told.copies + (size_t)i * (size_t)table->floats;
        assert_true(i == 0 || told.from[i] <= told.from[i - 1]);
        assert_memory_equal(then + told.from[i], last + told.from[i],
                            (size_t)(table->decayed - told.from[i]) * sizeof(float));
    }
    /* It is not told too late either: something changes between the first and the last time. */
    assert_true(memcmp(told.copies, last, (size_t)table->floats * sizeof(float)) != 0);
    mx_free(told.copies);
    mx_device_batch_destroy(on_device);
    mx_replica_destroy(replica);
}

static void test_events_of_buckets_complete_with_or_without_a_batch(void **state)
{
    (void)state;
    struct mx_replica_options o = options_of(0);
    o.buckets = true;
    struct mx_replica *const replica = replica_make(&o);
    struct mx_device_batch *const on_device = device_batch_make(), empty = {0};
    assert_int_equal(replica->bucket_count, mx_bucket_count(mx_network_parameters(replica->network)));
    uint64_t before = 0;
    for (int round = 0; round < 3; round++) {
        run(replica, round == 1 ? &empty : on_device, on_device);
        for (int32_t i = 0; i < replica->bucket_count; i++) {
            assert_true(mx_event_done(replica->ready[i]));
            assert_true(mx_event_time_ns(replica->ready[i]) > before);
        }
        before = mx_replica_end_ns(replica);
        assert_true(before >= mx_replica_begin_ns(replica));
    }
    mx_device_batch_destroy(on_device);
    mx_replica_destroy(replica);
}

/* ---- parts ---- */

static void test_parts_add_up_to_the_whole(void **state)
{
    (void)state;
    struct mx_replica_options o = options_of(0);
    struct mx_replica *const whole = replica_make(&o);
    const int64_t floats = whole->floats, half = floats / 2 / 16 * 16;
    o.shared = true;
    o.device = it.devices[1];
    struct mx_replica *const first = replica_make(&o);
    first->range.count = half;
    o = options_of(0);
    o.shared = true;
    o.room = (struct mx_range){half, floats - half};
    struct mx_replica *const second = replica_make(&o);
    struct mx_device_batch *const all = device_batch_make(), *to, *twin;
    const struct mx_device_batch_options parts = {.capacity = room, .offsets = true, .owner = "parts"};
    assert_int_equal(mx_device_batch_create(it.devices[1], &parts, &to), 0);
    assert_int_equal(mx_device_batch_create(it.devices[0], &parts, &twin), 0);
    to->twin = twin;
    run(whole, all, all);
    for (int32_t count = 0; count <= SEQUENCES; count++)
        for (int32_t at = 0; at + count <= SEQUENCES; at++) {
            assert_int_equal(mx_device_batch_divide(it.stream, all, to, (struct mx_share_part){at, count}), 0);
            assert_int_equal(mx_stream_sync(it.stream), 0);
            assert_int_equal(to->count, SEQUENCES - count);
            assert_int_equal(twin->count, count);
            assert_int_equal(to->left_out, 2);
            for (int32_t i = 0; i < count; i++) assert_int_equal(twin->utterances[i], 100 + at + i);
            run(first, to, all);
            run(second, twin, all);
            /* Rows are the same to the bit in any batch; sums over them differ by a random walk of as many roundings as
             * there are frames, of which six deviations are allowed (see device/cases/op_bound.c). */
            const double bound = 6 * sqrt((double)room.frames) * 0x1p-24;
            assert_int_equal(mx_replica_add(first, second), 0);
            assert_int_equal(mx_replica_add(second, first), 0);
            assert_int_equal(mx_stream_sync(first->stream), 0);
            assert_int_equal(mx_stream_sync(second->stream), 0);
            assert_true(apart(host_of(whole->gradients), host_of(first->gradients), half) <= bound);
            assert_true(apart(host_of(whole->gradients) + half, host_of(second->gradients) + half, floats - half) <=
                        bound);
            /* The losses of each sequence are what they are alone. */
            for (int32_t s = 0; s < SEQUENCES; s++) {
                const bool other = s >= at && s < at + count;
                const struct mx_replica *const owner = other ? second : first;
                const int32_t own = other ? count : SEQUENCES - count;
                const int32_t place = other ? s - at : s < at ? s : s - count;
                for (int k = 0; k < MX_MODEL_LOSSES; k++)
                    assert_true(mx_replica_losses(owner, 0)[k * own + place] ==
                                mx_replica_losses(whole, 0)[k * SEQUENCES + s]);
            }
        }
    mx_device_batch_destroy(all);
    mx_device_batch_destroy(to);
    mx_device_batch_destroy(twin);
    mx_replica_destroy(whole);
    mx_replica_destroy(first);
    mx_replica_destroy(second);
}

/* ---- updates ---- */

static void test_two_halves_of_an_update_are_the_whole(void **state)
{
    (void)state;
    struct mx_replica_options o = options_of(0);
    struct mx_replica *const whole = replica_make(&o);
    const int64_t floats = whole->floats;
    const struct mx_parameters *const table = mx_network_parameters(whole->network);
    struct mx_device_batch *const on_device = device_batch_make();
    const struct mx_optimizer_options optimizer = {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9, .weight_decay = 0.1};
    struct mx_replica_update update = {.optimizer = &optimizer, .rate = 1e-2, .ema_decay = 0.5, .step = 1};
    run(whole, on_device, on_device);
    assert_int_equal(mx_replica_measure(whole, 1), 0);
    assert_int_equal(mx_replica_update(whole, &update), 0);
    assert_int_equal(mx_stream_sync(whole->stream), 0);
    /* Cut among the decayed parameters, between them and the others, and among the others. */
    const int64_t cuts[] = {0, 160, table->decayed, table->decayed + 16, floats};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct mx_replica *parts[2];
        float *const flat = mx_alloc(3 * (size_t)floats, sizeof *flat), *const same =
                                                                            mx_alloc(3 * (size_t)floats, sizeof *flat);
        for (int r = 0; r < 2; r++) {
            o = options_of(r);
            o.shared = true;
            if (r == 1) o.room = (struct mx_range){cuts[i], floats - cuts[i]};
            parts[r] = replica_make(&o);
            if (r == 0) parts[r]->range.count = cuts[i];
            memcpy(mx_buffer_host(parts[r]->gradients), host_of(whole->gradients), (size_t)floats * sizeof(float));
            memcpy(parts[r]->norm, whole->norm, 4 * sizeof(float));
        }
        update.whole_norm = true;
        for (int r = 0; r < 2; r++) {
            assert_int_equal(mx_replica_update(parts[r], &update), 0);
            assert_int_equal(mx_replica_send(parts[r], parts[1 - r]), 0);
        }
        for (int r = 0; r < 2; r++) assert_int_equal(mx_stream_sync(parts[r]->stream), 0);
        const struct mx_replica_arrays arrays = {flat, {flat + floats, flat + 2 * floats}};
        const struct mx_replica_arrays expected = {same, {same + floats, same + 2 * floats}};
        assert_int_equal(mx_replica_read(whole, &expected), 0);
        for (int r = 0; r < 2; r++) {
            assert_memory_equal(host_of(parts[r]->weights), host_of(whole->weights), (size_t)floats * sizeof(float));
            assert_int_equal(mx_replica_read(parts[r], &arrays), 0);
        }
        assert_memory_equal(flat, same, 3 * (size_t)floats * sizeof(float));
        assert_int_equal(mx_replica_take_average(parts[0], parts[1]), 0);
        assert_int_equal(mx_stream_sync(parts[0]->stream), 0);
        assert_memory_equal(host_of(parts[0]->average), host_of(whole->average), (size_t)floats * sizeof(float));
        /* The second one hands its range back, and the first one has everything. */
        assert_int_equal(mx_replica_send_range(parts[1], parts[0], parts[1]->range), 0);
        assert_int_equal(mx_stream_sync(parts[1]->stream), 0);
        parts[0]->range = parts[0]->options.room;
        memset(flat, 0, 3 * (size_t)floats * sizeof *flat);
        assert_int_equal(mx_replica_read(parts[0], &arrays), 0);
        assert_memory_equal(flat, same, 3 * (size_t)floats * sizeof(float));
        for (int r = 0; r < 2; r++) mx_replica_destroy(parts[r]);
        mx_free(flat);
        mx_free(same);
    }
    mx_device_batch_destroy(on_device);
    mx_replica_destroy(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets_cover_everything_once), cmocka_unit_test(test_what_is_told_to_be_final_is),
        cmocka_unit_test(test_events_of_buckets_complete_with_or_without_a_batch),
        cmocka_unit_test(test_parts_add_up_to_the_whole), cmocka_unit_test(test_two_halves_of_an_update_are_the_whole)};
    return cmocka_run_group_tests(tests, group_open, group_close);
}
