/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations that only the vocoder needs, at the shapes of its step: 8 segments of 64 frames, 128 columns, 80 bands,
 * 513 bins. There are no bars for them.
 *
 * Bytes of a row are those of all its arrays, each read or written once. Flops are nominal: two for each tap and column,
 * of the gradient four (the sums over rows as well), of a transform 2.5 · n · log2 n (the logarithms are not counted),
 * of mel_blur two for each weight (the noise is not counted).
 */
#include "ops_vocoder.h"

#include <math.h>

#include "base/alloc.h"
#include "features/recipe.h"
#include "vocoder/config.h"

#define FRAMES 64 /* of a segment */
#define ALL    (SEQUENCES * FRAMES)
#define WIDTH  128
#define TAPS   7

static void rows_taps(struct bench *bench, struct unit *unit)
{
    const int64_t bands = MX_RECIPE_DEFAULT->bands;
    const struct mx_ragged rows = packed_by(unit, FRAMES);
    const struct mx_slice x = noise(unit, ALL * WIDTH), y = noise(unit, ALL * WIDTH), w = noise(unit, TAPS * WIDTH);
    const struct mx_slice mel = noise(unit, ALL * bands), dense = noise(unit, TAPS * bands * WIDTH);
    const struct mx_slice bias = floats(unit, WIDTH, 0);
    const struct mx_depthwise_args depthwise = {
        .x = x, .y = y, .w = w, .bias = bias, .rows = rows, .n = WIDTH, .taps = TAPS};
    const struct mx_depthwise_grad_args grad = {.dy = y,
                                                .x = x,
                                                .w = w,
                                                .dx = floats(unit, ALL * WIDTH, 0),
                                                .dw = floats(unit, TAPS * WIDTH, 0),
                                                .dbias = bias,
                                                .rows = rows,
                                                .n = WIDTH,
                                                .taps = TAPS};
    const struct mx_conv1d_args conv = {
        .x = mel, .w = dense, .y = y, .rows = rows, .in_width = bands, .out_width = WIDTH, .taps = TAPS};
    const struct mx_conv1d_grad_weight_args to_weight = {
        .x = mel, .dy = y, .dw = dense, .rows = rows, .in_width = bands, .out_width = WIDTH, .taps = TAPS};
    const double flops = 2.0 * ALL * TAPS * WIDTH;
    row_flops(bench, unit, "depthwise 8×64×128, 7 taps", MX_OP_depthwise, &depthwise, flops);
    row_flops(bench, unit, "depthwise_grad 8×64×128, 7 taps", MX_OP_depthwise_grad, &grad, 2 * flops);
    row_flops(bench, unit, "conv1d 7×80→128, 8×64 rows", MX_OP_conv1d, &conv, flops * (double)bands);
    row_flops(bench, unit, "conv1d 7×80→128, 8×64 rows dW", MX_OP_conv1d_grad_weight, &to_weight,
              flops * (double)bands);
    unit_clear(unit);
}

/* Where the segments are: each in the middle of an utterance of LENGTH frames. */
static struct mx_slice segments_make(struct unit *unit)
{
    int32_t places[SEQUENCES][2];
    for (int s = 0; s < SEQUENCES; s++) {
        places[s][0] = s;
        places[s][1] = LENGTH / 2;
    }
    return words(unit, places, 2 * SEQUENCES);
}

static void rows_frames(struct bench *bench, struct unit *unit)
{
    const struct mx_recipe *const r = MX_RECIPE_DEFAULT;
    const int64_t bins = r->fft_size / 2 + 1;
    const struct mx_ragged rows = packed_by(unit, FRAMES), samples = packed_by(unit, LENGTH * r->hop);
    const struct mx_slice mel = noise(unit, ALL * r->bands), out = floats(unit, ALL * bins, 0);
    const struct mx_slice logits = noise(unit, ALL * (MX_VOCODER_CLASSES + 1));
    float levels[SEQUENCES][3], *const places = mx_alloc(3 * (size_t)bins, sizeof *places);
    struct mx_recipe_tables tables;
    if (places == NULL || mx_recipe_tables_build(r, &tables) < 0 || mx_recipe_places_build(r, &tables, places) < 0)
        bench_die("cannot make the tables");
    for (int s = 0; s < SEQUENCES; s++) {
        levels[s][0] = 1.5f;
        levels[s][1] = 0.8f;
        levels[s][2] = 0.15f;
    }
    const struct mx_mel_base_args base = {.mel = mel,
                                          .tables = words(unit, tables.data, (int64_t)tables.count),
                                          .places = words(unit, places, 3 * bins),
                                          .input = floats(unit, ALL * r->bands, 0),
                                          .base = out,
                                          .rows = ALL,
                                          .fft_size = r->fft_size,
                                          .bands = r->bands,
                                          .weights = tables.weights,
                                          .mean = -5,
                                          .deviation = 2};
    const struct mx_pitch_loss_args pitch = {.logits = logits,
                                             .pitch = floats(unit, ALL, 150),
                                             .values = floats(unit, SEQUENCES, 0),
                                             .dlogits = floats(unit, ALL * (MX_VOCODER_CLASSES + 1), 0),
                                             .rows = rows,
                                             .classes = MX_VOCODER_CLASSES,
                                             .low_hz = MX_VOCODER_LOW_HZ,
                                             .high_hz = MX_VOCODER_HIGH_HZ,
                                             .scale = 1,
                                             .factor = 1};
    const struct mx_log_magnitude_args magnitude = {.audio = noise(unit, samples.rows),
                                                    .samples = samples,
                                                    .out = rows,
                                                    .tables = base.tables,
                                                    .places = segments_make(unit),
                                                    .y = out,
                                                    .fft_size = r->fft_size,
                                                    .hop = r->hop,
                                                    .least = MX_VOCODER_LEAST};
    const struct mx_mel_blur_args blur = {.x = mel,
                                          .y = base.input,
                                          .rows = rows,
                                          .levels = words(unit, levels, 3 * SEQUENCES),
                                          .streams = floats(unit, 2 * SEQUENCES, 0),
                                          .n = r->bands};
    const double transforms = ALL * 2.5 * r->fft_size * log2(r->fft_size);
    row_bytes(bench, unit, "mel_base 8×64×80→513", MX_OP_mel_base, &base, ALL * (2 * r->bands + bins));
    row_bytes(bench, unit, "pitch_loss 8×64×193", MX_OP_pitch_loss, &pitch, 2 * ALL * (MX_VOCODER_CLASSES + 1));
    row_flops(bench, unit, "log_magnitude 8×64 frames of 1024", MX_OP_log_magnitude, &magnitude, transforms);
    row_flops(bench, unit, "mel_blur 8×64×80", MX_OP_mel_blur, &blur, ALL * r->bands * 2.0 * (13 + 9));
    mx_recipe_tables_release(&tables);
    mx_free(places);
    unit_clear(unit);
}

void ops_vocoder_rows(struct bench *bench, struct unit *unit)
{
    rows_taps(bench, unit);
    rows_frames(bench, unit);
}
