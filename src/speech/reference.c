/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Listening to recordings of a person, see reference.h.
 */
#include "speech/reference.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "corpus/audio/audio.h"
#include "myxtts/error.h"
#include "speech/hear.h"
#include "speech/reference_check.h"
#include "speech/voice_internal.h"

#define SECONDS_GOOD  5.0   /* with less, a warning */
#define QUIET_DB      -50.0 /* level of speech below which a recording is called quiet */
#define CLIPPED_SHARE 1e-4  /* of the samples; from 1e-3 on the reader refuses the recording */

/* What can be wrong with a recording that is used nevertheless. */
enum problem { QUIET, CLIPPED, NOISY, PROBLEMS };

/* How many recordings have a problem, and the words for the first of them. */
struct tally {
    size_t count;
    char text[256];
};

/* What is gathered while all recordings are listened to. */
struct listening {
    struct mx_speak *speak;
    struct mx_audio_reader *reader;
    double *sum; /* [width], of the vectors times their frames */
    float *part; /* [width] */
    int32_t width;
    int64_t frames;
    bool checked;
    struct mx_timbre *timbre; /* NULL: not wanted */
    struct mx_reference_frames voiced;
    struct tally tallies[PROBLEMS];
    double seconds;
};

/* ---- reading ---- */

static const char *advice(enum mx_reject reject)
{
    switch (reject) {
    case MX_REJECT_TOO_SHORT:
        return "record one person for at least 5 seconds";
    case MX_REJECT_TOO_LONG:
        return "cut it: 'sox LONG.wav SHORT.wav trim 0 60' keeps the first minute";
    case MX_REJECT_SILENT:
        return "record again, louder or closer to the microphone";
    case MX_REJECT_CLIPPED:
        return "record again with a lower input level: more samples than 1 in 1,000 are cut off at full scale";
    default:
        return "give a sound file that plays: WAV, FLAC, Ogg or MP3";
    }
}

static const struct mx_recipe *recipe_of(const struct listening *l)
{
    return mx_speak_voice(l->speak)->recipe;
}

static int recording_read(struct listening *l, const struct mx_reference *r, const float **samples, size_t *count,
                          struct mx_audio_report *report)
{
    struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    char quoted[256];
    reading.seconds_max = MX_REFERENCE_SECONDS_MAX;
    reading.rate = recipe_of(l)->rate;
    *report = (struct mx_audio_report){0};
    if (r->file == NULL && r->samples == NULL)
        return MX_FAIL(MX_ERR_ARGUMENT, "set file or samples of each struct mx_reference",
                       "a reference is neither a file nor samples");
    if (r->file != NULL && r->samples != NULL)
        return MX_FAIL(MX_ERR_ARGUMENT, "set one of file and samples of each struct mx_reference",
                       "a reference is both a file and samples");
    const int rc = r->file != NULL ? mx_audio_load(l->reader, r->file, &reading, samples, count, report)
                                   : mx_audio_process(l->reader, "the reference", r->samples, r->count, r->rate,
                                                      &reading, samples, count, report);
    if (rc == MX_ERR_DATA && report->error != 0) /* it is not the recording that is bad */
        return MX_FAIL(report->error == ENOMEM ? MX_ERR_NO_MEMORY : MX_ERR_IO, "check the disk, then try again",
                       "%s: %s", mx_string_quote(quoted, sizeof quoted, r->file), report->detail);
    return rc == MX_ERR_DATA && report->reject != MX_REJECT_NONE ? mx_error_hint("%s", advice(report->reject)) : rc;
}

/* ---- problems ---- */

/* `format` is the rest of the message, after the name of the recording. */
__attribute__((format(printf, 4, 5))) static void problem(struct listening *l, enum problem which,
                                                          const struct mx_reference *r, const char *format, ...)
{
    struct tally *const t = &l->tallies[which];
    char quoted[96];
    va_list list;
    if (t->count++ > 0) return;
    const int used = snprintf(t->text, sizeof t->text, "%s ",
                              r->file != NULL ? mx_string_quote(quoted, sizeof quoted, r->file) : "the reference");
    va_start(list, format);
    vsnprintf(t->text + used, sizeof t->text - (size_t)used, format, list);
    va_end(list);
}

static int recording_check(struct listening *l, const struct mx_reference *r, const float *samples, size_t count,
                           const struct mx_audio_report *report)
{
    double above;
    const double level = 20 * log10(report->rms > 0 ? report->rms : 1e-9);
    const double all = (double)report->frames * (report->channels > 0 ? report->channels : 1);
    const int rc = mx_reference_above_noise(samples, count, recipe_of(l)->rate, &above);
    if (rc < 0) return rc;
    if (level < QUIET_DB)
        problem(l, QUIET, r,
                "is nearly silent, its speech has %.0f dB: record again, louder or closer to the microphone", level);
    if ((double)report->clipped > CLIPPED_SHARE * all)
        problem(l, CLIPPED, r,
                "is clipped, %lld samples are cut off at full scale: record again with a lower input level",
                (long long)report->clipped);
    if (above < MX_REFERENCE_NOISY_DB)
        problem(l, NOISY, r,
                "is noisy, its speech is only %.0f dB above the background, which becomes part of the voice: "
                "record again in a quiet room",
                above);
    return 0;
}

/* ---- listening ---- */

/* The network listens to the parts of a mel. */
static int mel_listen(struct listening *l, const float *mel, int32_t frames, int32_t bands)
{
    const int32_t parts = (frames + MX_VOICE_REFERENCE_FRAMES - 1) / MX_VOICE_REFERENCE_FRAMES;
    for (int32_t i = 0; i < parts; i++) {
        const int32_t begin = (int32_t)((int64_t)frames * i / parts),
                      end = (int32_t)((int64_t)frames * (i + 1) / parts);
        const int rc = mx_speak_vector(l->speak, mel + (size_t)begin * (size_t)bands, end - begin, l->part);
        if (rc < 0) return rc;
        for (int32_t k = 0; k < l->width; k++) l->sum[k] += (double)(end - begin) * (double)l->part[k];
    }
    l->frames += frames;
    return 0;
}

static int samples_listen(struct listening *l, const float *samples, size_t count)
{
    int rc = 0;
    const struct mx_speak_voice *const voice = mx_speak_voice(l->speak);
    const int32_t bands = mx_model_config(voice->model)->bands;
    struct mx_heard heard = {0};
    MX_TRY(mx_hear(voice, samples, count, l->checked || l->timbre != NULL, &heard));
    if (l->checked)
        MX_TRY(mx_reference_frames_add(&l->voiced, heard.mel, voice->normaliser.mel_deviation, heard.pitch,
                                       heard.frames, bands));
    if (l->timbre != NULL) MX_TRY(mx_timbre_add(l->timbre, &heard, bands, voice->normaliser.mel_deviation));
    MX_TRY(mel_listen(l, heard.mel, heard.frames, bands));
out:
    mx_heard_release(&heard);
    return rc;
}

static int recording_listen(struct listening *l, const struct mx_reference *r)
{
    int rc = 0;
    struct mx_audio_report report;
    const float *samples;
    size_t count;
    MX_TRY(recording_read(l, r, &samples, &count, &report));
    l->seconds += (double)count / recipe_of(l)->rate;
    if (l->checked) MX_TRY(recording_check(l, r, samples, count, &report));
    MX_TRY(samples_listen(l, samples, count));
out:
    return rc;
}

/* ---- the report ---- */

static void report_fill(const struct listening *l, size_t references, struct mx_reference_report *report)
{
    size_t place;
    *report = (struct mx_reference_report){.seconds = l->seconds};
    if (l->seconds < SECONDS_GOOD)
        snprintf(report->warnings[report->count++], sizeof *report->warnings,
                 "there are %.1f s of the voice to sound like: record %.0f s or more of the person, or give several "
                 "recordings",
                 l->seconds, SECONDS_GOOD);
    for (int i = 0; i < PROBLEMS; i++) {
        const struct tally *const t = &l->tallies[i];
        char more[64] = "";
        if (t->count == 0) continue;
        if (t->count > 1)
            snprintf(more, sizeof more, " (%zu of the %zu recordings are like that)", t->count, references);
        snprintf(report->warnings[report->count++], sizeof *report->warnings, "%s%s", t->text, more);
    }
    if (mx_reference_difference(&l->voiced, &place) >= 1)
        snprintf(report->warnings[report->count++], sizeof *report->warnings,
                 "the recordings to sound like seem to have more than one voice (mean pitch %.0f Hz before and %.0f Hz "
                 "after the change): give only one person's speech, recorded with one microphone",
                 mx_reference_pitch(&l->voiced, 0, place), mx_reference_pitch(&l->voiced, place, l->voiced.count));
}

int mx_reference_listen(struct mx_speak *speak, const struct mx_reference *references, size_t count, float *vector,
                        struct mx_timbre *timbre, struct mx_reference_report *report)
{
    int rc = 0;
    struct listening l = {.speak = speak, .checked = report != NULL, .timbre = timbre};
    l.width = mx_model_config(mx_speak_voice(speak)->model)->size.width;
    if (count == 0 || count > MX_REFERENCES_MAX)
        MX_RAISE(MX_ERR_ARGUMENT, "give 1 to 64 recordings of one person", "%zu references cannot be used", count);
    l.sum = mx_alloc((size_t)l.width, sizeof *l.sum);
    l.part = mx_alloc((size_t)l.width, sizeof *l.part);
    if (l.sum == NULL || l.part == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_audio_reader_create(&l.reader));
    for (size_t i = 0; i < count; i++) MX_TRY(recording_listen(&l, &references[i]));
    for (int32_t k = 0; k < l.width; k++) vector[k] = (float)(l.sum[k] / (double)l.frames);
    if (report != NULL) report_fill(&l, count, report);
out:
    mx_audio_reader_destroy(l.reader);
    mx_reference_frames_release(&l.voiced);
    mx_free(l.sum);
    mx_free(l.part);
    return rc;
}
