/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See vocoder_rig.h.
 */
#include "support/vocoder_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "myxtts/error.h"

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* ---- segments ---- */

enum stream { MEL = 1, PITCH, VOICED, NOISE, BURST };

struct segment segment_make(uint64_t seed, int32_t frames)
{
    struct segment s = {.frames = frames};
    for (int32_t i = 0; i < frames * SEGMENT_BANDS; i++) s.mel[i] = mx_rng_normal(seed, MEL, (uint64_t)i);
    for (int32_t f = 0; f < frames; f++) {
        const float *const mel = s.mel + f * SEGMENT_BANDS;
        /* From below the lowest class to above the highest. */
        const bool voiced = mx_rng_below(seed, VOICED, (uint64_t)f, 3) > 0;
        s.pitch[f] = voiced ? 50 * expf(2.5f * (float)mx_rng_below(seed, PITCH, (uint64_t)f, 1000) / 1000) : 0;
        for (int32_t k = 0; k < SEGMENT_BINS; k++)
            s.target[f * SEGMENT_BINS + k] = mel[k * SEGMENT_BANDS / SEGMENT_BINS] -
                                             mel[(k + 3) % SEGMENT_BANDS] * 0.3f - 4 +
                                             0.1f * mx_rng_normal(seed, NOISE, (uint64_t)(f * SEGMENT_BINS + k));
        for (int32_t k = 0; k < MX_VOCODER_BURST; k++)
            s.burst[f * MX_VOCODER_BURST + k] =
                mel[k % SEGMENT_BANDS] - 3 + 0.1f * mx_rng_normal(seed, BURST, (uint64_t)(f * MX_VOCODER_BURST + k));
    }
    return s;
}

void segments_make(struct segment segments[SEGMENTS])
{
    static const int32_t frames[SEGMENTS] = {9, 1, SEGMENT_FRAMES_MAX, 5};
    for (int i = 0; i < SEGMENTS; i++) segments[i] = segment_make(30 + (uint64_t)i, frames[i]);
}

/* ---- the rig ---- */

struct mx_vocoder_config vocoder_rig_config(void)
{
    const struct mx_vocoder_size size = {.name = "test", .width = 16, .blocks = 2, .hidden = 40};
    struct mx_vocoder_config config = mx_vocoder_config_default(&size, -4.5f, 2);
    config.recipe.bands = SEGMENT_BANDS;
    config.recipe.fft_size = 2 * (SEGMENT_BINS - 1);
    config.recipe.hop = 32;
    config.recipe.high_hz = (float)config.recipe.rate / 2;
    config.recipe.pitch_low_hz = 500; /* a period must be shorter than a frame */
    config.recipe.pitch_high_hz = 2000;
    return config;
}

struct mx_vocoder_capacity vocoder_rig_capacity(void)
{
    return (struct mx_vocoder_capacity){
        .sequences = SEGMENTS_MAX, .frames = SEGMENTS_MAX * SEGMENT_FRAMES_MAX, .longest_frames = SEGMENT_FRAMES_MAX};
}

void vocoder_rig_open(struct vocoder_rig *rig, const struct mx_vocoder_config *config, enum mx_model_purpose purpose,
                      int devices, bool stirred)
{
    struct op_cpu cpu;
    must(op_cpu_open(&cpu, devices, 0));
    vocoder_rig_open_on(rig, cpu, config, purpose, stirred);
}

static void vocoder_run(struct rig *base, uint64_t step, double *values)
{
    struct vocoder_rig *const rig = (struct vocoder_rig *)(void *)base; /* its first member */
    (void)step;
    const struct mx_vocoder_losses losses = vocoder_rig_teach(rig);
    memcpy(values, losses.values, sizeof losses.values);
}

void vocoder_rig_open_on(struct vocoder_rig *rig, struct op_cpu opened, const struct mx_vocoder_config *config,
                         enum mx_model_purpose purpose, bool stirred)
{
    const struct mx_vocoder_capacity capacity = vocoder_rig_capacity();
    struct rig *const base = &rig->base;
    struct mx_layout layout = {0};
    *rig = (struct vocoder_rig){.base = {.cpu = opened, .run = vocoder_run, .kinds = MX_VOCODER_LOSSES}};
    must(mx_stream_create(base->cpu.device, "vocoder", &base->stream));
    must(mx_vocoder_create(base->cpu.device, base->stream, config, &capacity, purpose, &rig->vocoder));
    rig_weights_open(base, mx_vocoder_parameters(rig->vocoder), stirred);
    mx_vocoder_batch_place(&layout, config, &capacity, &rig->batch);
    must(mx_buffer_create(base->cpu.device, "batch", layout.offset_bytes, &base->room));
}

void vocoder_rig_close(struct vocoder_rig *rig)
{
    mx_vocoder_destroy(rig->vocoder);
    rig_close(&rig->base);
}

void vocoder_rig_load(struct vocoder_rig *rig, const struct segment *segments, int count)
{
    const struct mx_vocoder_capacity capacity = vocoder_rig_capacity();
    struct mx_layout layout = {.buffer = rig->base.room};
    struct mx_vocoder_batch *const b = &rig->batch;
    int32_t ends[SEGMENTS_MAX + 1] = {0};
    mx_vocoder_batch_place(&layout, mx_vocoder_config(rig->vocoder), &capacity, b);
    for (int s = 0; s < count; s++) {
        const struct segment *const from = &segments[s];
        const size_t at = (size_t)ends[s] * sizeof(float);
        rig_upload(&rig->base, mx_slice_at(b->mel.buffer, b->mel.offset_bytes + at * SEGMENT_BANDS), from->mel,
                   from->frames * SEGMENT_BANDS);
        rig_upload(&rig->base, mx_slice_at(b->target.buffer, b->target.offset_bytes + at * SEGMENT_BINS), from->target,
                   from->frames * SEGMENT_BINS);
        rig_upload(&rig->base, mx_slice_at(b->pitch.buffer, b->pitch.offset_bytes + at), from->pitch, from->frames);
        rig_upload(&rig->base, mx_slice_at(b->burst.buffer, b->burst.offset_bytes + at * MX_VOCODER_BURST), from->burst,
                   from->frames * MX_VOCODER_BURST);
        ends[s + 1] = ends[s] + from->frames;
        if (from->frames > b->frames.max_rows) b->frames.max_rows = from->frames;
    }
    b->frames.count = count;
    b->frames.rows = ends[count];
    rig_upload(&rig->base, b->frames.offsets, ends, count + 1);
}

static struct mx_vocoder_losses finish(struct vocoder_rig *rig)
{
    must(mx_stream_sync(rig->base.stream));
    return mx_vocoder_losses_of(mx_vocoder_config(rig->vocoder), rig->losses, rig->batch.frames.count, -1,
                                rig->batch.frames.rows);
}

struct mx_vocoder_losses vocoder_rig_teach(struct vocoder_rig *rig)
{
    const struct mx_fill_args clear = {.x = rig_gradients(&rig->base), .count = rig->base.table->floats};
    must(mx_fill(rig->base.stream, &clear));
    must(mx_vocoder_forward_backward(rig->vocoder, rig->base.stream, rig_parameters(&rig->base),
                                     rig_gradients(&rig->base), &rig->batch, NULL, rig->losses));
    return finish(rig);
}

struct mx_vocoder_losses vocoder_rig_evaluate(struct vocoder_rig *rig)
{
    must(mx_vocoder_evaluate(rig->vocoder, rig->base.stream, rig_parameters(&rig->base), &rig->batch, rig->losses));
    return finish(rig);
}
