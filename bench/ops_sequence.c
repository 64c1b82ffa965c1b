/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations between tokens and frames (durations_scan, expand, segment_mean, attentive_pool, align, sequence_loss) and
 * from mels to sound (mel_inverse, spectrum, griffin_step, overlap_add, mel_project, harmonics, texture, excite), at the shapes
 * of a batch: 8 utterances of 500 frames and 100 tokens. There are no bars for them.
 *
 * Bytes of a row are those of all its arrays, each read or written once. Flops are nominal: of the alignment two for
 * each token, frame and band (its search is not counted), of a transform 2.5 · n · log2 n, of mel_inverse four for each
 * weight and iteration, of mel_project two for each weight and twelve for each bin (an exponential) in a round, of
 * harmonics one for each harmonic that the sum replaces.
 */
#include "ops_sequence.h"

#include <math.h>

#include "base/alloc.h"
#include "features/recipe.h"

#define TOKENS            100 /* of a sequence */
#define ALL_TOKENS        (SEQUENCES * TOKENS)
#define WIDTH             192
#define BANDS             80
#define ITERATIONS        20 /* of mel_inverse, as vocoder/sound_start.c asks for */
#define PROJECTION_ROUNDS 2  /* of mel_project, likewise */

/* Durations of LENGTH/TOKENS frames each, and where they end. */
static struct mx_slice durations_make(struct unit *unit)
{
    int32_t durations[ALL_TOKENS];
    for (int i = 0; i < ALL_TOKENS; i++) durations[i] = LENGTH / TOKENS;
    return words(unit, durations, ALL_TOKENS);
}

static struct mx_slice ends_make(struct unit *unit)
{
    int32_t ends[ALL_TOKENS + 1];
    for (int i = 0; i <= ALL_TOKENS; i++) ends[i] = i * (LENGTH / TOKENS);
    return words(unit, ends, ALL_TOKENS + 1);
}

static void rows_expand(struct bench *bench, struct unit *unit)
{
    const struct mx_slice ends = ends_make(unit), x = noise(unit, ALL_TOKENS * WIDTH), y = noise(unit, ROWS * WIDTH);
    const struct mx_slice durations = durations_make(unit), pitch = noise(unit, ROWS), mean = noise(unit, ALL_TOKENS);
    const struct mx_expand_args expand = {
        .x = x, .ends = ends, .y = y, .segments = ALL_TOKENS, .rows = ROWS, .n = WIDTH};
    const struct mx_expand_grad_args grad = {
        .dy = y, .ends = ends, .dx = x, .segments = ALL_TOKENS, .rows = ROWS, .n = WIDTH};
    const struct mx_segment_mean_args segment = {
        .x = pitch, .ends = ends, .y = mean, .segments = ALL_TOKENS, .rows = ROWS, .n = 1};
    const struct mx_durations_scan_args scan = {
        .durations = durations, .ends = floats(unit, ALL_TOKENS + 1, 0), .count = ALL_TOKENS};
    row_bytes(bench, unit, "durations_scan 800", MX_OP_durations_scan, &scan, 2 * ALL_TOKENS);
    row_bytes(bench, unit, "expand 800→4000×192", MX_OP_expand, &expand, (ALL_TOKENS + ROWS) * WIDTH);
    row_bytes(bench, unit, "expand_grad 4000→800×192", MX_OP_expand_grad, &grad, (ALL_TOKENS + ROWS) * WIDTH);
    row_bytes(bench, unit, "segment_mean 4000→800×1", MX_OP_segment_mean, &segment, ALL_TOKENS + ROWS);
    unit_clear(unit);
}

static void rows_pool(struct bench *bench, struct unit *unit)
{
    const struct mx_ragged rows = packed(unit);
    const struct mx_slice x = noise(unit, ROWS * WIDTH), y = noise(unit, SEQUENCES * WIDTH), w = noise(unit, ROWS);
    const struct mx_slice score = noise(unit, ROWS), dx = floats(unit, ROWS * WIDTH, 0);
    const struct mx_attentive_pool_args pool = {.x = x, .score = score, .y = y, .w = w, .rows = rows, .n = WIDTH};
    const struct mx_attentive_pool_grad_args grad = {
        .dy = y, .x = x, .y = y, .w = w, .dx = dx, .dscore = score, .rows = rows, .n = WIDTH};
    row_bytes(bench, unit, "attentive_pool 8×500×192", MX_OP_attentive_pool, &pool, ROWS * WIDTH);
    row_bytes(bench, unit, "attentive_pool_grad 8×500×192", MX_OP_attentive_pool_grad, &grad, 2 * ROWS * WIDTH);
    unit_clear(unit);
}

static void rows_align(struct bench *bench, struct unit *unit)
{
    const struct mx_ragged frames = packed(unit), tokens = packed_by(unit, TOKENS);
    const struct mx_slice mel = noise(unit, ROWS * BANDS), spread = floats(unit, ROWS * BANDS, 0.5f);
    const struct mx_align_args align = {.mean = noise(unit, ALL_TOKENS * BANDS),
                                        .mel = mel,
                                        .tokens = tokens,
                                        .frames = frames,
                                        .durations = floats(unit, ALL_TOKENS, 0),
                                        .work = floats(unit, MX_ALIGN_WORK(ALL_TOKENS, TOKENS, ROWS), 0),
                                        .n = BANDS,
                                        .diagonal = 0.01f};
    const struct mx_sequence_loss_args loss = {.prediction = spread,
                                               .target = mel,
                                               .values = floats(unit, SEQUENCES, 0),
                                               .dprediction = floats(unit, ROWS * BANDS, 0),
                                               .rows = frames,
                                               .n = BANDS,
                                               .scale = 1,
                                               .factor = 1,
                                               .kind = MX_LOSS_L1};
    row_flops(bench, unit, "align 8×100×500, 80 bands", MX_OP_align, &align, 2.0 * SEQUENCES * TOKENS * LENGTH * BANDS);
    row_bytes(bench, unit, "sequence_loss 8×500×80", MX_OP_sequence_loss, &loss, 3 * ROWS * BANDS);
    unit_clear(unit);
}

static void rows_sound(struct bench *bench, struct unit *unit)
{
    const struct mx_recipe *const r = MX_RECIPE_DEFAULT;
    const int64_t bins = r->fft_size / 2 + 1;
    const double transforms = ROWS * 2.5 * r->fft_size * log2(r->fft_size);
    struct mx_recipe_tables made;
    if (mx_recipe_tables_build(r, &made) < 0) bench_die("cannot make the tables");
    const struct mx_slice tables = words(unit, made.data, (int64_t)made.count);
    float *const places_of = mx_alloc(3 * (size_t)bins, sizeof *places_of);
    if (places_of == NULL || mx_recipe_places_build(r, &made, places_of) < 0) bench_die("cannot make the places");
    const struct mx_slice places = words(unit, places_of, 3 * bins);
    mx_free(places_of);
    const int32_t weights = made.weights;
    mx_recipe_tables_release(&made);
    const struct mx_ragged frames = packed(unit), samples = packed_by(unit, (LENGTH - 1) * r->hop);
    const struct mx_slice audio = noise(unit, samples.rows), magnitude = floats(unit, ROWS * bins, 1);
    const struct mx_slice now = noise(unit, 2 * ROWS * bins), before = noise(unit, 2 * ROWS * bins);
    const struct mx_mel_inverse_args inverse = {.mel = noise(unit, ROWS * r->bands),
                                                .tables = tables,
                                                .magnitude = magnitude,
                                                .rows = ROWS,
                                                .fft_size = r->fft_size,
                                                .bands = r->bands,
                                                .weights = weights,
                                                .iterations = ITERATIONS,
                                                .mean = -5,
                                                .deviation = 2};
    const struct mx_spectrum_args spectrum = {.audio = audio,
                                              .samples = samples,
                                              .frames = frames,
                                              .tables = tables,
                                              .spectrum = now,
                                              .fft_size = r->fft_size,
                                              .hop = r->hop};
    const struct mx_griffin_step_args step = {
        .now = now, .before = before, .y = before, .magnitude = magnitude, .count = ROWS * bins, .momentum = 0.99f};
    const struct mx_overlap_add_args overlap = {.spectrum = now,
                                                .tables = tables,
                                                .audio = audio,
                                                .samples = samples,
                                                .frames = frames,
                                                .work = floats(unit, (int64_t)ROWS * r->fft_size, 0),
                                                .fft_size = r->fft_size,
                                                .hop = r->hop,
                                                .least = 1e-4f};
    const struct mx_mel_project_args project = {.spectrum = now,
                                                .y = now,
                                                .mel = inverse.mel,
                                                .tables = tables,
                                                .places = places,
                                                .rows = ROWS,
                                                .fft_size = r->fft_size,
                                                .bands = r->bands,
                                                .weights = weights,
                                                .rounds = PROJECTION_ROUNDS,
                                                .lower = 2,
                                                .raise = 2,
                                                .floor = r->floor,
                                                .mean = -5,
                                                .deviation = 2};
    const struct mx_harmonics_args harmonics = {.f0 = floats(unit, ROWS, 120),
                                                .phase = floats(unit, ROWS, 0.25f),
                                                .gate = floats(unit, ROWS, 1),
                                                .y = audio,
                                                .samples = samples,
                                                .frames = frames,
                                                .hop = r->hop,
                                                .rate = (float)r->rate,
                                                .limit_hz = 9500,
                                                .fade_hz = 300,
                                                .level = 1.0f / 256};
    const struct mx_excite_args excite = {.source = now,
                                          .noise = before,
                                          .gain = floats(unit, bins, 0.1f),
                                          .level = floats(unit, ROWS * bins, 0),
                                          .magnitude = magnitude,
                                          .y = now,
                                          .rows = ROWS,
                                          .n = bins};
    const struct mx_texture_args texture = {.source = now,
                                            .noise = before,
                                            .gain = excite.gain,
                                            .level = excite.level,
                                            .y = magnitude,
                                            .rows = ROWS,
                                            .n = bins,
                                            .reach = 12,
                                            .colour = 0.6f,
                                            .least = 0.1f};
    row_flops(bench, unit, "mel_inverse 4000×80→513", MX_OP_mel_inverse, &inverse,
              4.0 * ROWS * (double)weights * ITERATIONS);
    row_flops(bench, unit, "spectrum 8×500 frames of 1024", MX_OP_spectrum, &spectrum, transforms);
    row_bytes(bench, unit, "griffin_step 4000×513", MX_OP_griffin_step, &step, 7 * ROWS * bins);
    row_flops(bench, unit, "overlap_add 8×500 frames of 1024", MX_OP_overlap_add, &overlap, transforms);
    row_flops(bench, unit, "mel_project 4000×513, 80 bands", MX_OP_mel_project, &project,
              ROWS * PROJECTION_ROUNDS * (2.0 * (double)weights + 12.0 * (double)bins));
    row_flops(bench, unit, "harmonics 8×500 frames of 120 Hz", MX_OP_harmonics, &harmonics, 79.0 * samples.rows);
    row_flops(bench, unit, "texture 4000×513, 25 bins", MX_OP_texture, &texture, 48.0 * ROWS * (double)bins);
    row_bytes(bench, unit, "excite 4000×513", MX_OP_excite, &excite, 8 * ROWS * bins);
    unit_clear(unit);
}

void ops_sequence_rows(struct bench *bench, struct unit *unit)
{
    rows_expand(bench, unit);
    rows_pool(bench, unit);
    rows_align(bench, unit);
    rows_sound(bench, unit);
}
