/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finding the likeness of a person, see likeness.h.
 */
#include "speech/likeness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/robust.h"
#include "myxtts/error.h"
#include "text/sample.h"

#define NUMBERS "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12."
#define QUIET   3.454 /* nats below the loudest frame of a recording, 30 dB: what is quieter is not counted */
#define SMOOTH  3     /* neighbours on each side: what is narrower is a harmonic, not a colour */

/* ---- timbre ---- */

/* Half the logarithm of the power of a frame [bands], up to a constant. */
static double level_of(const float *mel, int32_t bands, double deviation)
{
    double sum = 0;
    for (int32_t b = 0; b < bands; b++) sum += exp(2 * deviation * (double)mel[b]);
    return 0.5 * log(sum);
}

int mx_timbre_add(struct mx_timbre *t, const struct mx_heard *heard, int32_t bands, double deviation)
{
    double loudest = -INFINITY;
    if (t->bands == NULL) t->bands = mx_alloc((size_t)bands, sizeof *t->bands);
    if (t->bands == NULL || MX_GROW(t->semitones, t->voiced_room, t->voiced + (size_t)heard->frames) < 0)
        return MX_ERR_NO_MEMORY;
    for (int32_t f = 0; f < heard->frames; f++)
        loudest = fmax(loudest, level_of(heard->mel + (size_t)f * (size_t)bands, bands, deviation));
    for (int32_t f = 0; f < heard->frames; f++) {
        const float *const mel = heard->mel + (size_t)f * (size_t)bands;
        if (heard->pitch[f] > 0) t->semitones[t->voiced++] = 12 * log2((double)heard->pitch[f]);
        if (level_of(mel, bands, deviation) < loudest - QUIET) continue;
        t->loud++;
        for (int32_t b = 0; b < bands; b++) t->bands[b] += (double)mel[b];
    }
    return 0;
}

static bool timbre_known(const struct mx_timbre *t)
{
    return t->voiced >= MX_LIKENESS_FRAMES && t->loud >= MX_LIKENESS_FRAMES;
}

/* The mean of a band in nats, up to a constant. */
static double band_of(const struct mx_timbre *t, int32_t band, double deviation)
{
    return deviation * t->bands[band] / (double)t->loud;
}

void mx_timbre_release(struct mx_timbre *t)
{
    mx_free(t->bands);
    mx_free(t->semitones);
    *t = (struct mx_timbre){0};
}

/* The median pitch in semitones. Sorts them in place. */
static double pitch_of(const struct mx_timbre *t)
{
    mx_robust_sort(t->semitones, t->voiced);
    return mx_robust_median(t->semitones, t->voiced);
}

/* ---- the passage ---- */

static int passage_open(const struct mx_speak *speak, int32_t language, struct mx_speak_script **out)
{
    struct mx_speak_script_options how = mx_speak_script_options_of(speak);
    const enum mx_language_id id = mx_vocabulary_language_at(how.vocabulary, (size_t)language);
    const char *const greeting = mx_language_sample(id);
    char text[256];
    const int length = snprintf(text, sizeof text, "%s " NUMBERS, greeting != NULL ? greeting : "");
    how.language = (int)id;
    return mx_speak_script_open(&how, text, (size_t)length, out);
}

/* Synthesises a piece and measures the result. */
static int piece_hear(struct mx_speak *speak, const struct mx_speak_piece *piece, struct mx_timbre *timbre)
{
    int rc = 0;
    int32_t count = 1;
    float *audio = NULL;
    struct mx_heard heard = {0};
    const struct mx_speak_voice *const voice = mx_speak_voice(speak);
    MX_TRY(mx_speak_pieces(speak, piece, &count));
    size_t samples = (size_t)mx_speak_samples(speak, 0);
    audio = mx_alloc(samples, sizeof *audio);
    if (audio == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_speak_sound_begin(speak, 0));
    MX_TRY(mx_speak_sound_next(speak, (int64_t)samples, audio, samples, &samples)); /* more than frames: all */
    if (samples == 0) goto out;
    MX_TRY(mx_hear(voice, audio, samples, true, &heard));
    MX_TRY(mx_timbre_add(timbre, &heard, mx_model_config(voice->model)->bands, voice->normaliser.mel_deviation));
out:
    mx_heard_release(&heard);
    mx_free(audio);
    return rc;
}

/* The timbre of the passage, spoken with a likeness. */
static int passage_hear(struct mx_speak *speak, const float *vector, int32_t language,
                        const struct mx_speak_likeness *likeness, struct mx_timbre *timbre)
{
    int rc = 0, more;
    struct mx_speak_script *script = NULL;
    struct mx_speak_item item;
    MX_TRY(passage_open(speak, language, &script));
    while ((more = mx_speak_script_next(script, &item)) > 0) {
        struct mx_speak_piece piece = mx_speak_piece_of(&item, vector, 0);
        piece.pause_ms = 0; /* it listens to the sound alone */
        piece.likeness = likeness;
        MX_TRY(piece_hear(speak, &piece, timbre));
    }
    MX_TRY(more);
out:
    mx_speak_script_close(script);
    return rc;
}

/* ---- the likeness ---- */

/* Of a person's pitch above that of the passage. */
static double semitones_limit(double semitones)
{
    return fmax(-MX_LIKENESS_SEMITONES, fmin(MX_LIKENESS_SEMITONES, semitones));
}

/* What brings the mean mel `from` to that of the person, [bands] in nats. `difference` and `sorted` [bands] are room. */
static void colour_find(const struct mx_timbre *person, const struct mx_timbre *from, double deviation, int32_t bands,
                        double *difference, double *sorted, float *colour)
{
    double before = 0, after = 0, last = 0;
    for (int32_t b = 0; b < bands; b++)
        sorted[b] = difference[b] = band_of(person, b, deviation) - band_of(from, b, deviation);
    mx_robust_sort(sorted, (size_t)bands);
    const double middle = mx_robust_median(sorted, (size_t)bands);
    for (int32_t b = 0; b < bands; b++) {
        const double d = difference[b] - middle;
        last = difference[b] = d < -MX_LIKENESS_NATS ? last : d > MX_LIKENESS_NATS ? MX_LIKENESS_NATS : d;
    }
    for (int32_t b = 0; b < bands; b++) {
        const int32_t begin = b > SMOOTH ? b - SMOOTH : 0, end = b + SMOOTH < bands ? b + SMOOTH + 1 : bands;
        double sum = 0;
        for (int32_t k = begin; k < end; k++) sum += difference[k];
        const double mean = sum / (end - begin), was = band_of(from, b, deviation);
        colour[b] = (float)mean;
        before += exp(2 * was);
        after += exp(2 * (was + mean));
    }
    for (int32_t b = 0; b < bands; b++) colour[b] += (float)(0.5 * log(before / after));
}

double mx_likeness_db(const struct mx_speak_likeness *likeness, int32_t bands, double deviation)
{
    double sum = 0;
    for (int32_t b = 0; b < bands; b++) sum += (double)likeness->colour[b] * (double)likeness->colour[b];
    return 20 / log(10) * deviation * sqrt(sum / bands);
}

int mx_likeness_find(struct mx_speak *speak, const struct mx_timbre *person, const float *vector, int32_t language,
                     double share, float *colour, struct mx_speak_likeness *out)
{
    int rc = 0;
    const struct mx_speak_voice *const voice = mx_speak_voice(speak);
    const int32_t bands = mx_model_config(voice->model)->bands;
    const double deviation = voice->normaliser.mel_deviation;
    struct mx_timbre first = {0}, second = {0};
    double *room = NULL;
    *out = (struct mx_speak_likeness){.colour = colour};
    memset(colour, 0, (size_t)bands * sizeof *colour);
    if (!timbre_known(person)) goto out;
    MX_TRY(passage_hear(speak, vector, language, NULL, &first));
    if (!timbre_known(&first)) goto out;
    const double wanted = pitch_of(person);
    struct mx_speak_likeness higher = {.semitones = semitones_limit(wanted - pitch_of(&first)), .colour = colour};
    MX_TRY(passage_hear(speak, vector, language, &higher, &second));
    if (!timbre_known(&second)) goto out;
    room = mx_alloc(2 * (size_t)bands, sizeof *room);
    if (room == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    colour_find(person, &second, deviation, bands, room, room + bands, colour);
    for (int32_t b = 0; b < bands; b++) colour[b] *= (float)(share / deviation);
    out->semitones = share * semitones_limit(higher.semitones + wanted - pitch_of(&second));
out:
    mx_timbre_release(&first);
    mx_timbre_release(&second);
    mx_free(room);
    return rc;
}
