/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocoder's network: it computes what a plain implementation does; a segment's results do not depend on what else is
 * in the batch; the same bits come out twice and with one worker; it learns; its memory is what was planned, and no step
 * allocates; mixed precision and OpenCL find the same losses and gradients; what is impossible is refused. (Its
 * gradient: test_vocoder_grad.)
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "support/opencl.h"
#include "support/rounding.h"
#include "support/vocoder_plain.h"
#include "support/vocoder_rig.h"

#define OUTPUTS (MX_VOCODER_CLASSES + 1)

/* ---- configurations ---- */

static void sizes_have_the_stated_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t parameters;
    } expected[] = {{"small", 570466}, {"large", 2717666}};
    assert_int_equal(mx_vocoder_size_count(), 2);
    for (int i = 0; i < 2; i++) {
        struct mx_parameters *table;
        const struct mx_vocoder_config config = mx_vocoder_config_default(mx_vocoder_size_at(i), -5, 2);
        assert_string_equal(config.size.name, expected[i].name);
        assert_int_equal(mx_vocoder_parameters_create(&config, &table), 0);
        assert_int_equal(table->elements, expected[i].parameters);
        for (int k = 0; k < table->count; k++) {
            const struct mx_parameter *const p = &table->entries[k];
            assert_int_equal(strncmp(p->name, "vocoder.", 8), 0);
            assert_int_equal(p->decay, p->rank > 1);
            assert_ptr_equal(mx_parameters_find(table, p->name), p); /* no name twice */
        }
        const struct mx_parameter *const down = mx_parameters_find(table, "vocoder.block.0.down.weight");
        assert_true(fabs(down->deviation - 1 / (sqrt(config.size.hidden) * config.size.blocks)) < 1e-12);
        assert_true(mx_parameters_find(table, "vocoder.magnitude.weight")->deviation == 0.02);
        mx_parameters_destroy(table);
    }
    assert_null(mx_vocoder_size_find("medium"));
    assert_int_equal(mx_error_last()->code, MX_ERR_USAGE);
    assert_non_null(strstr(mx_error_last()->hint, "small, large"));
}

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    const struct mx_vocoder_config good = mx_vocoder_config_default(mx_vocoder_size_find("small"), -5, 2);
    const struct mx_vocoder_capacity room = {.sequences = 8, .frames = 512};
    struct mx_vocoder_config bad[11];
    struct mx_vocoder_capacity small[4] = {room, room, room, room};
    struct mx_model_memory_plan plan;
    for (int i = 0; i < 11; i++) bad[i] = good;
    bad[0].size.width = 0;
    bad[1].size.blocks = 0;
    bad[2].size.blocks = MX_VOCODER_BLOCKS_MAX + 1;
    bad[3].size.hidden = 0;
    bad[4].mel_deviation = 0;
    bad[5].mel_mean = NAN;
    bad[6].weights.magnitude = -1;
    bad[7].weights.pitch = INFINITY;
    bad[8].recipe.fft_size = 1000;
    bad[9].recipe.hop = 254; /* four short frames must fit */
    bad[10].recipe.fft_size = 64;
    bad[10].recipe.hop = 16;
    bad[10].recipe.pitch_low_hz = 1000; /* the recipe itself is possible, that of short frames is not */
    bad[10].recipe.pitch_high_hz = 2000;
    assert_int_equal(mx_recipe_check(&bad[10].recipe), 0);
    assert_int_equal(mx_vocoder_memory_plan(&good, &room, MX_MODEL_TRAIN, &plan), 0);
    for (int i = 0; i < 11; i++) {
        mx_error_clear();
        assert_int_equal(mx_vocoder_memory_plan(&bad[i], &room, MX_MODEL_TRAIN, &plan),
                         i < 8 ? MX_ERR_CONFIG : MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
    }
    small[0].sequences = 0;
    small[1].frames = 0;
    small[2].longest_frames = 513;
    small[3].longest_frames = -1;
    for (int i = 0; i < 4; i++) {
        mx_error_clear();
        assert_int_equal(mx_vocoder_memory_plan(&good, &small[i], MX_MODEL_TRAIN, &plan), MX_ERR_ARGUMENT);
        assert_non_null(strstr(mx_error_last()->message, "vocoder capacity"));
    }
}

/* ---- memory ---- */

static uint64_t charged(struct mx_device *device)
{
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(device), &stats);
    return stats.current_bytes;
}

static void memory_is_what_was_planned(void **state)
{
    (void)state;
    struct mx_model_memory_plan plan[2];
    const struct mx_vocoder_capacity room = vocoder_rig_capacity();
    struct mx_vocoder_config config = vocoder_rig_config();
    struct vocoder_rig rig;
    struct mx_layout layout = {0};
    struct mx_vocoder_batch batch;
    vocoder_rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    mx_vocoder_batch_place(&layout, &config, &room, &batch);
    for (int speak = 0; speak < 2; speak++) {
        const enum mx_model_purpose purpose = speak ? MX_MODEL_SPEAK : MX_MODEL_TRAIN;
        struct mx_vocoder *vocoder;
        const uint64_t before = charged(rig.base.cpu.device);
        assert_int_equal(mx_vocoder_memory_plan(&config, &room, purpose, &plan[speak]), 0);
        assert_int_equal(mx_vocoder_create(rig.base.cpu.device, rig.base.stream, &config, &room, purpose, &vocoder), 0);
        assert_int_equal(charged(rig.base.cpu.device) - before, plan[speak].activations_bytes);
        mx_vocoder_destroy(vocoder);
        assert_int_equal(charged(rig.base.cpu.device), before);
        assert_int_equal(plan[speak].batch_bytes, layout.offset_bytes);
        assert_int_equal(plan[speak].parameters, rig.base.table->elements);
        assert_int_equal(plan[speak].parameters_bytes, 4 * rig.base.table->floats);
    }
    assert_true(plan[0].gradients_bytes == plan[0].parameters_bytes && plan[0].ema_bytes == plan[0].parameters_bytes);
    assert_true(plan[1].gradients_bytes + plan[1].ema_bytes == 0);
    assert_true(plan[1].activations_bytes < plan[0].activations_bytes / 2);
    vocoder_rig_close(&rig);
}

static void creation_that_fails_leaves_nothing(void **state)
{
    (void)state;
    const struct mx_vocoder_config config = vocoder_rig_config();
    const struct mx_vocoder_capacity room = vocoder_rig_capacity();
    struct mx_vocoder *vocoder = NULL;
    struct vocoder_rig rig;
    vocoder_rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    for (uint64_t nth = 1;; nth++) {
        mx_alloc_fail_at(nth);
        const int rc =
            mx_vocoder_create(rig.base.cpu.device, rig.base.stream, &config, &room, MX_MODEL_TRAIN, &vocoder);
        mx_alloc_fail_at(0);
        if (rc == 0) {
            assert_true(nth > 4);
            break;
        }
        assert_null(vocoder);
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
        assert_true(nth < 100);
    }
    mx_vocoder_destroy(vocoder);
    vocoder_rig_close(&rig);
}

/* ---- what it computes ---- */

/* The largest difference of the numbers, as `bound` allows it; NaN is never near. */
static void near(const float *got, const double *expected, int64_t count, double bound, const char *what)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - expected[i]) <= bound))
            fail_msg("%s %lld is %.9g instead of %.9g, more than %.3g apart", what, (long long)i, (double)got[i],
                     expected[i], bound);
}

/* How far moving the weights by what rounding comes to moves the results of the plain implementation: the two may be
 * twice that apart (support/rounding.h), and a rounding of the result itself. */
static void bounds_measure(const struct mx_vocoder_config *config, const struct mx_parameters *table, const float *flat,
                           const struct segment *segment, const struct vocoder_plain *plain, double bounds[4])
{
    const double share = rounding_share(7 * SEGMENT_BANDS, ROUNDING_F32);
    float *const moved = mx_alloc((size_t)table->floats, sizeof *moved);
    assert_non_null(moved);
    for (int i = 0; i < 4; i++) bounds[i] = 0;
    for (uint64_t draw = 0; draw < 4; draw++) {
        struct vocoder_plain other;
        memcpy(moved, flat, (size_t)table->floats * sizeof *moved);
        rounding_move(moved, table->floats, draw, share);
        vocoder_plain_run(config, table, moved, segment, &other);
        for (int i = 0; i < segment->frames * SEGMENT_BINS; i++)
            bounds[0] =
                fmax(bounds[0], 2 * fabs(other.magnitude[i] - plain->magnitude[i]) + share * fabs(plain->magnitude[i]));
        for (int i = 0; i < segment->frames * OUTPUTS; i++)
            bounds[1] = fmax(bounds[1], 2 * fabs(other.logits[i] - plain->logits[i]) + share * fabs(plain->logits[i]));
        for (int i = 0; i < segment->frames * MX_VOCODER_BURST; i++)
            bounds[3] = fmax(bounds[3], 2 * fabs(other.burst[i] - plain->burst[i]) + share * fabs(plain->burst[i]));
        for (int k = 0; k < MX_VOCODER_LOSSES; k++)
            bounds[2] = fmax(bounds[2], 2 * fabs(other.losses[k] - plain->losses[k]) + share * fabs(plain->losses[k]));
    }
    assert_true(bounds[0] < 1e-3 && bounds[1] < 1e-3 &&
                bounds[3] < 1e-3); /* sharp enough to see anything that is wrong */
    mx_free(moved);
}

static void computes_what_the_plain_one_does(void **state)
{
    (void)state;
    static struct segment segments[SEGMENTS];
    const struct mx_vocoder_config config = vocoder_rig_config();
    struct vocoder_rig rig;
    struct vocoder_plain plain;
    double bounds[4], sums[MX_VOCODER_LOSSES] = {0}, allowed = 0;
    int64_t frame = 0;
    vocoder_rig_open(&rig, &config, MX_MODEL_TRAIN, 1, true);
    segments_make(segments);
    vocoder_rig_load(&rig, segments, SEGMENTS);
    const struct mx_vocoder_losses losses = vocoder_rig_evaluate(&rig);
    const int64_t rows = rig.batch.frames.rows;
    const struct mx_vocoder_view view = mx_vocoder_view(rig.vocoder);
    float *const magnitude = rig_download(&rig.base, view.magnitude, rows * SEGMENT_BINS);
    float *const logits = rig_download(&rig.base, view.logits, rows * OUTPUTS);
    float *const burst = rig_download(&rig.base, view.burst, rows * MX_VOCODER_BURST);
    float *const flat = rig_download(&rig.base, rig_parameters(&rig.base), rig.base.table->floats);
    for (int s = 0; s < SEGMENTS; s++) {
        vocoder_plain_run(&config, rig.base.table, flat, &segments[s], &plain);
        bounds_measure(&config, rig.base.table, flat, &segments[s], &plain, bounds);
        near(magnitude + frame * SEGMENT_BINS, plain.magnitude, segments[s].frames * SEGMENT_BINS, bounds[0],
             "magnitude");
        near(logits + frame * OUTPUTS, plain.logits, segments[s].frames * OUTPUTS, bounds[1], "logit");
        near(burst + frame * MX_VOCODER_BURST, plain.burst, segments[s].frames * MX_VOCODER_BURST, bounds[3], "burst");
        for (int k = 0; k < MX_VOCODER_LOSSES; k++) {
            near(&rig.losses[k * SEGMENTS + s], &plain.losses[k], 1, bounds[2], mx_vocoder_loss_keys[k]);
            sums[k] += plain.losses[k];
        }
        allowed += bounds[2];
        frame += segments[s].frames;
    }
    for (int k = 0; k < MX_VOCODER_LOSSES; k++)
        assert_true(fabs(losses.values[k] - sums[k] / (double)rows) <= allowed / (double)rows);
    assert_true(losses.total == losses.values[0] + (double)0.3f * losses.values[1] + 0.5 * losses.values[2]);
    mx_free(magnitude);
    mx_free(logits);
    mx_free(burst);
    mx_free(flat);
    vocoder_rig_close(&rig);
}

/* ---- batches ---- */

struct outcome {
    float *magnitude, *logits, *burst;
    float losses[MX_VOCODER_LOSSES][SEGMENTS];
};

static void outcome_take(struct outcome *o, struct vocoder_rig *rig, const struct segment *segments, int count)
{
    vocoder_rig_load(rig, segments, count);
    vocoder_rig_evaluate(rig);
    const struct mx_vocoder_view view = mx_vocoder_view(rig->vocoder);
    o->magnitude = rig_download(&rig->base, view.magnitude, (int64_t)rig->batch.frames.rows * SEGMENT_BINS);
    o->logits = rig_download(&rig->base, view.logits, (int64_t)rig->batch.frames.rows * OUTPUTS);
    o->burst = rig_download(&rig->base, view.burst, (int64_t)rig->batch.frames.rows * MX_VOCODER_BURST);
    for (int k = 0; k < MX_VOCODER_LOSSES; k++)
        for (int s = 0; s < count; s++) o->losses[k][s] = rig->losses[k * count + s];
}

static void outcome_release(struct outcome *o)
{
    mx_free(o->magnitude);
    mx_free(o->logits);
    mx_free(o->burst);
}

/* Segment `sa` of a, whose frames begin at `fa`, is segment `sb` of b, bit for bit. */
static void same_segment(const struct outcome *a, int sa, int64_t fa, const struct outcome *b, int sb, int64_t fb,
                         int32_t frames)
{
    rig_same_words(a->magnitude + fa * SEGMENT_BINS, b->magnitude + fb * SEGMENT_BINS, frames * SEGMENT_BINS,
                   "magnitude");
    rig_same_words(a->logits + fa * OUTPUTS, b->logits + fb * OUTPUTS, frames * OUTPUTS, "logits");
    rig_same_words(a->burst + fa * MX_VOCODER_BURST, b->burst + fb * MX_VOCODER_BURST, frames * MX_VOCODER_BURST,
                   "burst");
    for (int k = 0; k < MX_VOCODER_LOSSES; k++) rig_same_words(&a->losses[k][sa], &b->losses[k][sb], 1, "loss");
}

/* Alone, and beside neighbours that are not numbers. */
static void batches_make_no_difference(const struct mx_vocoder_config *config)
{
    static struct segment segments[SEGMENTS];
    struct vocoder_rig rig;
    struct outcome whole, alone, spoiled;
    int64_t frame = 0;
    vocoder_rig_open(&rig, config, MX_MODEL_TRAIN, 1, true);
    segments_make(segments);
    outcome_take(&whole, &rig, segments, SEGMENTS);
    for (int s = 0; s < SEGMENTS; s++) {
        outcome_take(&alone, &rig, &segments[s], 1);
        same_segment(&whole, s, frame, &alone, 0, 0, segments[s].frames);
        frame += segments[s].frames;
        outcome_release(&alone);
    }
    for (int i = 0; i < segments[2].frames * SEGMENT_BANDS; i++) segments[2].mel[i] = NAN;
    outcome_take(&spoiled, &rig, segments, SEGMENTS);
    frame = 0;
    for (int s = 0; s < SEGMENTS; s++) {
        if (s != 2) same_segment(&whole, s, frame, &spoiled, s, frame, segments[s].frames);
        frame += segments[s].frames;
    }
    assert_true(isnan(spoiled.losses[0][2])); /* it was read at all */
    outcome_release(&spoiled);
    outcome_release(&whole);
    vocoder_rig_close(&rig);
}

static void alone_as_in_a_batch(void **state)
{
    (void)state;
    const struct mx_vocoder_config config = vocoder_rig_config();
    batches_make_no_difference(&config);
}

/* One that was made for speaking alone predicts the same as one that trains. */
static void predicts_the_same_with_less_memory(void **state)
{
    (void)state;
    static struct segment segments[SEGMENTS];
    const struct mx_vocoder_config config = vocoder_rig_config();
    float *magnitude[3], *logits[3], *burst[3];
    int64_t rows = 0;
    segments_make(segments);
    for (int i = 0; i < 3; i++) {
        struct vocoder_rig rig;
        struct mx_vocoder_view view;
        vocoder_rig_open(&rig, &config, i < 2 ? MX_MODEL_TRAIN : MX_MODEL_SPEAK, 1, true);
        vocoder_rig_load(&rig, segments, SEGMENTS);
        if (i == 0) {
            vocoder_rig_teach(&rig);
            view = mx_vocoder_view(rig.vocoder);
        } else {
            assert_int_equal(mx_vocoder_predict(rig.vocoder, rig.base.stream, rig_parameters(&rig.base),
                                                &rig.batch.frames, rig.batch.mel, &view),
                             0);
        }
        rows = rig.batch.frames.rows;
        magnitude[i] = rig_download(&rig.base, view.magnitude, rows * SEGMENT_BINS);
        logits[i] = rig_download(&rig.base, view.logits, rows * OUTPUTS);
        burst[i] = rig_download(&rig.base, view.burst, rows * MX_VOCODER_BURST);
        if (i == 2) {
            assert_int_equal(
                mx_vocoder_evaluate(rig.vocoder, rig.base.stream, rig_parameters(&rig.base), &rig.batch, NULL),
                MX_ERR_ARGUMENT);
            assert_non_null(strstr(mx_error_last()->message, "speaking"));
        }
        vocoder_rig_close(&rig);
    }
    for (int i = 1; i < 3; i++) {
        rig_same_words(magnitude[0], magnitude[i], rows * SEGMENT_BINS, "magnitude");
        rig_same_words(logits[0], logits[i], rows * OUTPUTS, "logits");
        rig_same_words(burst[0], burst[i], rows * MX_VOCODER_BURST, "burst");
    }
    for (int i = 0; i < 3; i++) {
        mx_free(magnitude[i]);
        mx_free(logits[i]);
        mx_free(burst[i]);
    }
}

static void too_large_a_batch_is_refused(void **state)
{
    (void)state;
    static struct segment segments[SEGMENTS];
    const struct mx_vocoder_config config = vocoder_rig_config();
    struct vocoder_rig rig;
    vocoder_rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    segments_make(segments);
    vocoder_rig_load(&rig, segments, SEGMENTS);
    struct mx_vocoder_batch bad[4] = {rig.batch, rig.batch, rig.batch, rig.batch};
    bad[0].frames.count = 0;
    bad[1].frames.count = SEGMENTS_MAX + 1;
    bad[2].frames.rows = SEGMENTS_MAX * SEGMENT_FRAMES_MAX + 1;
    bad[3].frames.max_rows = SEGMENT_FRAMES_MAX + 1;
    for (int i = 0; i < 4; i++) {
        mx_error_clear();
        assert_int_equal(mx_vocoder_evaluate(rig.vocoder, rig.base.stream, rig_parameters(&rig.base), &bad[i], NULL),
                         MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
        assert_int_equal(mx_vocoder_predict(rig.vocoder, rig.base.stream, rig_parameters(&rig.base), &bad[i].frames,
                                            bad[i].mel, NULL),
                         MX_ERR_ARGUMENT);
    }
    assert_int_equal(mx_vocoder_forward_backward(rig.vocoder, rig.base.stream, rig_parameters(&rig.base),
                                                 (struct mx_slice){0}, &rig.batch, NULL, NULL),
                     MX_ERR_ARGUMENT);
    vocoder_rig_evaluate(&rig); /* the stream is unharmed */
    vocoder_rig_close(&rig);
}

/* ---- training ---- */

static void update(struct vocoder_rig *rig, int step)
{
    enum { WARM_UP = 10 };
    rig_update(&rig->base, 5e-3f * (step < WARM_UP ? (float)(step + 1) / WARM_UP : 1));
}

/* Learning by heart: a part that does not learn stays where it was. The lowest that the pitch can come to is the
 * entropy of its labels, about 1.42 nats in voiced frames. No bounds of rounding. */
static void learns(const struct mx_vocoder_config *config)
{
    static struct segment segments[SEGMENTS];
    struct vocoder_rig rig;
    vocoder_rig_open(&rig, config, MX_MODEL_TRAIN, 1, false);
    segments_make(segments);
    vocoder_rig_load(&rig, segments, SEGMENTS);
    const struct mx_vocoder_losses start = vocoder_rig_teach(&rig);
    assert_true(fabs(start.values[MX_VOCODER_LOSS_PITCH] - log(OUTPUTS)) < 0.1); /* it begins without an opinion */
    for (int i = 0; i < 300; i++) {
        update(&rig, i);
        vocoder_rig_teach(&rig);
    }
    const struct mx_vocoder_losses end = vocoder_rig_evaluate(&rig);
    if (!(end.values[MX_VOCODER_LOSS_MAGNITUDE] < 0.25 * start.values[MX_VOCODER_LOSS_MAGNITUDE]) ||
        !(end.values[MX_VOCODER_LOSS_PITCH] < 0.4 * start.values[MX_VOCODER_LOSS_PITCH]))
        fail_msg("the losses went from %g, %g to %g, %g only", start.values[0], start.values[1], end.values[0],
                 end.values[1]);
    vocoder_rig_close(&rig);
}

static void learns_by_heart(void **state)
{
    (void)state;
    struct mx_vocoder_config config = vocoder_rig_config();
    config.size.width = 32;
    config.size.hidden = 96;
    learns(&config);
}

/* Three steps from the beginning; returns the parameters. */
static float *trained(const struct mx_vocoder_config *config, int devices, int64_t *floats)
{
    static struct segment segments[SEGMENTS];
    struct vocoder_rig rig;
    vocoder_rig_open(&rig, config, MX_MODEL_TRAIN, devices, true);
    segments_make(segments);
    vocoder_rig_load(&rig, segments, SEGMENTS);
    for (int i = 0; i < 3; i++) {
        vocoder_rig_teach(&rig);
        update(&rig, i);
    }
    *floats = rig.base.table->floats;
    float *const parameters = rig_download(&rig.base, rig_parameters(&rig.base), *floats);
    vocoder_rig_close(&rig);
    return parameters;
}

static void bits_are_the_same(const struct mx_vocoder_config *config)
{
    int64_t floats;
    float *const first = trained(config, 1, &floats), *const again = trained(config, 1, &floats);
    float *const alone = trained(config, op_cpu_cores(), &floats);
    rig_same_words(first, again, floats, "a second run");
    rig_same_words(first, alone, floats, "a run with one worker");
    mx_free(first);
    mx_free(again);
    mx_free(alone);
}

static void same_bits_again(void **state)
{
    (void)state;
    const struct mx_vocoder_config config = vocoder_rig_config();
    bits_are_the_same(&config);
}

static void no_step_allocates(void **state)
{
    (void)state;
    static struct segment segments[SEGMENTS];
    const struct mx_vocoder_config config = vocoder_rig_config();
    struct vocoder_rig rig;
    vocoder_rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    segments_make(segments);
    vocoder_rig_load(&rig, segments, SEGMENTS);
    vocoder_rig_teach(&rig);
    update(&rig, 0);
    const uint64_t before = mx_alloc_count();
    for (int i = 1; i < 5; i++) {
        vocoder_rig_teach(&rig);
        update(&rig, i);
        assert_int_equal(mx_vocoder_predict(rig.vocoder, rig.base.stream, rig_parameters(&rig.base), &rig.batch.frames,
                                            rig.batch.mel, NULL),
                         0);
    }
    assert_int_equal(mx_stream_sync(rig.base.stream), 0);
    assert_int_equal(mx_alloc_count(), before);
    vocoder_rig_close(&rig);
}

/* ---- other arithmetic ---- */

#define STATES      4 /* of a run on the CPU in fp32 in which both are compared */
#define STATE_STEPS 5 /* steps from one state to the next */

/* In the same states both find the same losses and gradients, within what rounding does there. */
static void follow(struct vocoder_rig *here, struct vocoder_rig *there, double share, double sharpness)
{
    static struct segment segments[SEGMENTS];
    struct rounding_seen seen = {.sharpness = sharpness};
    double first = 0, last = 0;
    segments_make(segments);
    vocoder_rig_load(here, segments, SEGMENTS);
    vocoder_rig_load(there, segments, SEGMENTS);
    for (int step = 0; step < STATES * STATE_STEPS; step++) {
        if (step % STATE_STEPS == 0) rounding_compare(&here->base, &there->base, (uint64_t)step, share, &seen);
        last = vocoder_rig_teach(here).total;
        if (step == 0) first = last;
        update(here, step);
    }
    assert_true(last < first); /* it learns: the states differ */
    rounding_require(&seen);
    assert_true(seen.loss_far > 0 && seen.gradient_far > 0); /* it is another arithmetic */
}

static void opencl_agrees(void **state)
{
    (void)state;
    static struct vocoder_rig here, there;
    const struct mx_vocoder_config config = vocoder_rig_config();
    struct opencl_pair pair;
    if (!opencl_available()) skip();
    assert_int_equal(opencl_open(&pair, 1), 0);
    vocoder_rig_open(&here, &config, MX_MODEL_TRAIN, 1, true);
    vocoder_rig_open_on(&there, (struct op_cpu){.registry = pair.registry, .device = pair.devices[0]}, &config,
                        MX_MODEL_TRAIN, true);
    follow(&here, &there, rounding_share(7 * SEGMENT_BANDS, ROUNDING_F32), 0.01);
    vocoder_rig_close(&here);
    vocoder_rig_close(&there);
}

static struct mx_vocoder_config mixed_config(void)
{
    struct mx_vocoder_config config = vocoder_rig_config();
    struct op_cpu cpu;
    assert_int_equal(op_cpu_open(&cpu, 1, 0), 0);
    const bool has_bf16 = mx_device_info(cpu.device)->caps.bf16_multiply;
    op_cpu_close(&cpu);
    if (!has_bf16) skip();
    config.mixed = true;
    return config;
}

static void mixed_precision_agrees(void **state)
{
    (void)state;
    static struct vocoder_rig here, there;
    const struct mx_vocoder_config mixed = mixed_config(), config = vocoder_rig_config();
    vocoder_rig_open(&here, &config, MX_MODEL_TRAIN, 1, true);
    vocoder_rig_open(&there, &mixed, MX_MODEL_TRAIN, 1, true);
    follow(&here, &there, ROUNDING_BF16, 0.5);
    vocoder_rig_close(&here);
    vocoder_rig_close(&there);
}

static void mixed_precision_keeps_the_promises(void **state)
{
    (void)state;
    struct mx_vocoder_config config = mixed_config();
    const struct mx_vocoder_capacity room = vocoder_rig_capacity();
    struct mx_model_memory_plan plan[2][2];
    batches_make_no_difference(&config);
    bits_are_the_same(&config);
    for (int i = 0; i < 2; i++) {
        config.mixed = i == 1;
        assert_int_equal(mx_vocoder_memory_plan(&config, &room, MX_MODEL_TRAIN, &plan[i][0]), 0);
        assert_int_equal(mx_vocoder_memory_plan(&config, &room, MX_MODEL_SPEAK, &plan[i][1]), 0);
    }
    assert_true(plan[1][0].activations_bytes < plan[0][0].activations_bytes);
    assert_true(plan[1][1].activations_bytes == plan[0][1].activations_bytes); /* predicting stays fp32 */
    config.size.width = 32;
    config.size.hidden = 96;
    learns(&config);
}

static void mixed_precision_is_refused_without_bf16(void **state)
{
    (void)state;
    struct mx_vocoder_config config = vocoder_rig_config();
    const struct mx_vocoder_capacity room = vocoder_rig_capacity();
    struct mx_vocoder *vocoder = NULL;
    struct vocoder_rig rig;
    setenv("MYXTTS_BF16", "off", 1);
    vocoder_rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    unsetenv("MYXTTS_BF16");
    config.mixed = true;
    assert_int_equal(mx_vocoder_create(rig.base.cpu.device, rig.base.stream, &config, &room, MX_MODEL_TRAIN, &vocoder),
                     MX_ERR_UNSUPPORTED);
    assert_null(vocoder);
    assert_non_null(strstr(mx_error_last()->message, "bf16"));
    assert_int_equal(mx_vocoder_create(rig.base.cpu.device, rig.base.stream, &config, &room, MX_MODEL_SPEAK, &vocoder),
                     0);
    mx_vocoder_destroy(vocoder);
    vocoder_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_the_stated_counts),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(memory_is_what_was_planned),
        cmocka_unit_test(creation_that_fails_leaves_nothing),
        cmocka_unit_test(computes_what_the_plain_one_does),
        cmocka_unit_test(alone_as_in_a_batch),
        cmocka_unit_test(predicts_the_same_with_less_memory),
        cmocka_unit_test(too_large_a_batch_is_refused),
        cmocka_unit_test(learns_by_heart),
        cmocka_unit_test(same_bits_again),
        cmocka_unit_test(no_step_allocates),
        cmocka_unit_test(opencl_agrees),
        cmocka_unit_test(mixed_precision_agrees),
        cmocka_unit_test(mixed_precision_keeps_the_promises),
        cmocka_unit_test(mixed_precision_is_refused_without_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
