/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a sound begins with: magnitudes and a first sound, as Griffin–Lim and as a vocoder make them.
 *
 * The network runs on one piece of an utterance at a time, with as many frames beside it as its convolutions reach, so
 * each frame has what it would have in the whole. The noise of the source is a stream of its own between each two
 * frames, so a window of an utterance has the same noise as the whole.
 */
#include <math.h>

#include "myxtts/error.h"
#include "myxtts/ops.h"
#include "vocoder/internal.h"
#include "vocoder/sound_internal.h"

#define MEL_ITERATIONS 20 /* of mel_inverse: bands are then within a percent */
/* Noise in the phases, beside harmonics of 0 dB: growing evenly with the frequency. */
#define NOISE_LOW_DB  -30.0
#define NOISE_HIGH_DB 0.0
#define NOISE_HIGH_HZ 8000.0

static int noise_compute(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b)
{
    const struct mx_slice audio = mx_sound_piece(s, MX_SOUND_AUDIO);
    int rc = 0;
    MX_TRY(mx_fill(stream, &(struct mx_fill_args){.x = audio, .count = b->samples.rows, .value = 1}));
    MX_TRY(mx_noise(stream, &(struct mx_noise_args){.x = audio,
                                                    .y = audio,
                                                    .samples = b->blocks,
                                                    .levels = mx_sound_piece(s, MX_SOUND_NOISE_LEVELS),
                                                    .streams = mx_sound_piece(s, MX_SOUND_NOISE_STREAMS),
                                                    .seed = s->options.seed}));
out:
    return rc;
}

/* ---- Griffin–Lim ---- */

/* The magnitudes, and noise. */
static int griffin_start(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b)
{
    const struct mx_recipe *const r = &s->recipe;
    int rc = 0;
    MX_TRY(mx_mel_inverse(stream, &(struct mx_mel_inverse_args){.mel = b->mel,
                                                                .tables = mx_sound_piece(s, MX_SOUND_TABLES),
                                                                .magnitude = mx_sound_piece(s, MX_SOUND_MAGNITUDE),
                                                                .rows = b->frames.rows,
                                                                .fft_size = r->fft_size,
                                                                .bands = r->bands,
                                                                .weights = s->bands.tables.weights,
                                                                .iterations = MEL_ITERATIONS,
                                                                .mean = (float)s->options.mean,
                                                                .deviation = (float)s->options.deviation}));
    MX_TRY(noise_compute(s, stream, b));
out:
    return rc;
}

/* The first spectrum is that of noise: the second round must not overshoot from there. */
const struct mx_sound_kind mx_sound_griffin_lim = {.rounds = MX_SOUND_GRIFFIN_ROUNDS,
                                                   .projections = MX_SOUND_GRIFFIN_PROJECTIONS,
                                                   .predicted_projections = MX_SOUND_GRIFFIN_PROJECTIONS,
                                                   .predicted_contrast = MX_SOUND_SPOKEN_CONTRAST,
                                                   .least_rounds = 1,
                                                   .steady = 2,
                                                   .start = griffin_start};

/* ---- the vocoder ---- */

int32_t mx_sound_reach(const struct mx_vocoder_config *config)
{
    return MX_VOCODER_TAPS / 2 * (1 + config->size.blocks);
}

void mx_sound_gain_fill(const struct mx_recipe *recipe, float *gain)
{
    for (int32_t k = 0; k <= recipe->fft_size / 2; k++) {
        const double hz = (double)k * recipe->rate / recipe->fft_size;
        const double db = NOISE_LOW_DB + (NOISE_HIGH_DB - NOISE_LOW_DB) * fmin(1, hz / NOISE_HIGH_HZ);
        gain[k] = (float)pow(10, db / 20);
    }
}

/* Of the short frames that belong to frames [from, to), whose prediction begins at `burst`. Those before the sound are
 * left out. A single frame has one more after it, because the sound is half a hop long: the last one stands for it. */
static int shorts_copy(const struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_utterance *u,
                       int64_t from, int64_t to, struct mx_slice burst)
{
    enum { PARTS = MX_VOCODER_BURST_PARTS, BANDS = MX_VOCODER_BURST_BANDS, BEFORE = MX_VOCODER_BURST_BEFORE };
    const int64_t skip = from == 0 ? BEFORE : 0, count = PARTS * (to - from) - skip;
    const int64_t needed = mx_recipe_frames(&s->short_recipe, mx_sound_samples(&s->recipe, u->frames));
    int rc = 0;
    MX_TRY(mx_copy_slices(stream, mx_sound_behind(u->short_mel, PARTS * from + skip - BEFORE, BANDS),
                          mx_sound_behind(burst, skip, BANDS), (size_t)(count * BANDS) * 4));
    for (int64_t row = count; u->frames == 1 && row < needed; row++)
        MX_TRY(mx_copy_slices(stream, mx_sound_behind(u->short_mel, row, BANDS),
                              mx_sound_behind(burst, PARTS - 1, BANDS), BANDS * 4));
out:
    return rc;
}

int mx_sound_predict(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_utterance *u, int64_t from,
                     int64_t to)
{
    const int64_t frames = u->frames;
    const int64_t reach = mx_sound_reach(&s->config), classes = MX_VOCODER_CLASSES + 1;
    const int64_t bins = s->recipe.fft_size / 2 + 1;
    const int64_t first = from > reach ? from - reach : 0, last = to + reach < frames ? to + reach : frames;
    const int32_t count = (int32_t)(last - first);
    const struct mx_ragged rows = {
        .offsets = mx_sound_piece(s, MX_SOUND_ROWS), .count = 1, .rows = count, .max_rows = count};
    struct mx_vocoder_view view;
    int rc = 0;
    s->rows[0] = 0;
    s->rows[1] = count;
    MX_TRY(mx_copy_upload(stream, rows.offsets, s->rows, 2 * sizeof *s->rows));
    MX_TRY(mx_vocoder_predict(s->vocoder, stream, s->options.parameters, &rows,
                              mx_sound_behind(u->mel, first, s->recipe.bands), &view));
    MX_TRY(mx_copy_slices(stream, mx_sound_behind(u->level, from, bins),
                          mx_sound_behind(view.magnitude, from - first, bins), (size_t)((to - from) * bins) * 4));
    MX_TRY(shorts_copy(s, stream, u, from, to, mx_sound_behind(view.burst, from - first, MX_VOCODER_BURST)));
    MX_TRY(mx_copy_download(stream, s->logits, mx_sound_behind(view.logits, from - first, classes),
                            (size_t)((to - from) * classes) * 4));
    MX_TRY(mx_stream_sync(stream));
    mx_path_push(&s->path, s->logits, to - from);
out:
    if (rc < 0) (void)mx_stream_sync(stream); /* the copies must be done with the host's arrays */
    return rc;
}

/* The harmonics of the track, in AUDIO. */
static int harmonics_compute(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b)
{
    const struct mx_slice hz = mx_sound_piece(s, MX_SOUND_HZ), gate = mx_sound_piece(s, MX_SOUND_GATE);
    const struct mx_slice phase = mx_sound_piece(s, MX_SOUND_PHASE);
    const size_t bytes = (size_t)b->frames.rows * sizeof(float);
    int rc = 0;
    MX_TRY(mx_copy_upload(stream, hz, s->track.hz + b->first, bytes));
    MX_TRY(mx_copy_upload(stream, gate, s->track.gate + b->first, bytes));
    MX_TRY(mx_copy_upload(stream, phase, s->track.phase + b->first, bytes));
    MX_TRY(mx_harmonics(stream, &(struct mx_harmonics_args){.f0 = hz,
                                                            .phase = phase,
                                                            .gate = gate,
                                                            .y = mx_sound_piece(s, MX_SOUND_AUDIO),
                                                            .samples = b->samples,
                                                            .frames = b->frames,
                                                            .hop = s->recipe.hop,
                                                            .rate = (float)s->recipe.rate,
                                                            .limit_hz = mx_sound_limit_hz(&s->recipe),
                                                            .fade_hz = mx_sound_fade_hz(&s->recipe),
                                                            .level = mx_sound_harmonic_level(&s->recipe)}));
out:
    return rc;
}

static int vocoder_start(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b)
{
    const struct mx_slice first = mx_sound_piece(s, MX_SOUND_FIRST), second = mx_sound_piece(s, MX_SOUND_SECOND);
    const struct mx_slice gain = mx_sound_piece(s, MX_SOUND_GAIN), magnitude = mx_sound_piece(s, MX_SOUND_MAGNITUDE);
    const int64_t bins = s->recipe.fft_size / 2 + 1;
    const bool textured = s->options.texture > 0;
    int rc = 0;
    MX_TRY(harmonics_compute(s, stream, b));
    MX_TRY(mx_sound_measure(s, stream, b, first));
    MX_TRY(noise_compute(s, stream, b));
    MX_TRY(mx_sound_measure(s, stream, b, second));
    if (textured)
        MX_TRY(mx_texture(stream, &(struct mx_texture_args){.source = first,
                                                            .noise = second,
                                                            .gain = gain,
                                                            .level = b->level,
                                                            .y = magnitude,
                                                            .rows = b->frames.rows,
                                                            .n = bins,
                                                            .reach = MX_SOUND_TEXTURE_REACH,
                                                            .colour = (float)s->options.texture,
                                                            .least = MX_SOUND_TEXTURE_LEAST}));
    MX_TRY(mx_excite(stream, &(struct mx_excite_args){.source = first,
                                                      .noise = second,
                                                      .gain = gain,
                                                      .level = textured ? magnitude : b->level,
                                                      .magnitude = magnitude,
                                                      .y = first,
                                                      .rows = b->frames.rows,
                                                      .n = bins}));
    /* If the mel is to be matched in the end, the rounds begin with magnitudes that do. */
    if (s->options.projections > 0) MX_TRY(mx_sound_match(s, stream, b, MX_SOUND_MATCH_ROUNDS, first, magnitude));
    MX_TRY(mx_sound_overlap(s, stream, b, first));
out:
    return rc;
}

const struct mx_sound_kind mx_sound_vocoder = {.rounds = MX_SOUND_VOCODER_ROUNDS,
                                               .projections = MX_SOUND_VOCODER_PROJECTIONS,
                                               .predicted_projections = MX_SOUND_SPOKEN_PROJECTIONS,
                                               .texture = MX_SOUND_VOCODER_TEXTURE,
                                               .predicted_contrast = MX_SOUND_SPOKEN_CONTRAST,
                                               .least_rounds = 0,
                                               .steady = 1,
                                               .start = vocoder_start};
