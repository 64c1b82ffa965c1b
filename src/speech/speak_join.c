/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A whole text as one sound, see speak.h: the pieces of the text, as many at a time as fit, joined on the host with
 * pauses between them.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "speech/speak.h"
#include "speech/speak_internal.h"
#include "speech/split.h"

#define BATCH 64 /* pieces that are offered to the network at once */

static int options_check(const struct mx_speak_options *o)
{
    if (o->language != MX_SPEAK_DETECT && (o->language < 0 || o->language >= MX_LANGUAGE_COUNT))
        return MX_FAIL(MX_ERR_ARGUMENT, "use a number from mx_language_parse", "there is no language number %d",
                       o->language);
    if (!(o->speed >= 0.25 && o->speed <= 4))
        return MX_FAIL(MX_ERR_ARGUMENT, "0.25 to 4; 1 is the speed of the recordings", "a speed of %g is impossible",
                       o->speed);
    if (!(fabs(o->pitch_semitones) <= 24))
        return MX_FAIL(MX_ERR_ARGUMENT, "-24 to 24; 0 is the pitch of the voice",
                       "the pitch cannot be shifted by %g semitones", o->pitch_semitones);
    return 0;
}

/* ---- joining ---- */

struct joined {
    float *audio;
    size_t count, capacity;
};

/* Room for `more` samples behind the others, which are counted in. */
static float *joined_grow(struct joined *j, size_t more)
{
    if (j->count + more > j->capacity) {
        const size_t capacity = j->count + more > 2 * j->capacity ? j->count + more : 2 * j->capacity;
        float *const grown = mx_realloc(j->audio, capacity, sizeof *grown);
        if (grown == NULL) return NULL;
        j->audio = grown;
        j->capacity = capacity;
    }
    j->count += more;
    return j->audio + j->count - more;
}

/* The sound of a piece, and the pause after it. */
static int piece_join(struct joined *j, struct mx_speak *s, int32_t piece, double pause_ms)
{
    const int rate = mx_speak_voice(s)->recipe->rate;
    const size_t pause = (size_t)llround(pause_ms * rate / 1000);
    float *to;
    const float *audio;
    int64_t count;
    int rc = 0;
    MX_TRY(mx_speak_sound_begin(s, piece));
    MX_TRY(mx_speak_sound_next(s, mx_speak_samples(s, piece), &audio, &count)); /* more than there are frames: all */
    to = joined_grow(j, (size_t)count + pause);
    if (to == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (count > 0) memcpy(to, audio, (size_t)count * sizeof *to);
    for (size_t i = 0; i < pause; i++) to[(size_t)count + i] = 0;
out:
    return rc;
}

static double seconds_since(uint64_t start_ns)
{
    return (double)(mx_clock_ns() - start_ns) * 1e-9;
}

/* Speaks all items of the script into `joined`, with the voice [width]. */
static int script_speak(struct mx_speak *s, const struct mx_speak_script *script,
                        const struct mx_speak_options *options, const float *voice, struct joined *joined,
                        struct mx_speak_result *result)
{
    struct mx_speak_piece pieces[BATCH];
    int rc = 0;
    if (options->tell != NULL) options->tell(options->context, 0, script->count);
    for (size_t at = 0; at < script->count;) {
        const struct mx_speak_item *const items = script->items + at;
        int32_t count = script->count - at < BATCH ? (int32_t)(script->count - at) : BATCH;
        for (int32_t i = 0; i < count; i++)
            pieces[i] = (struct mx_speak_piece){.tokens = items[i].tokens,
                                                .count = items[i].count,
                                                .language = items[i].language,
                                                .speed = options->speed,
                                                .pitch_semitones = options->pitch_semitones,
                                                .voice = voice,
                                                .seed = options->seed};
        uint64_t start = mx_clock_ns();
        MX_TRY(mx_speak_pieces(s, pieces, &count));
        result->model_seconds += seconds_since(start);
        start = mx_clock_ns();
        for (int32_t i = 0; i < count; i++) MX_TRY(piece_join(joined, s, i, items[i].pause_ms / options->speed));
        result->waveform_seconds += seconds_since(start);
        at += (size_t)count;
        if (options->tell != NULL) options->tell(options->context, at, script->count);
    }
out:
    return rc;
}

static void unknown_warn(const struct mx_unknown_count *unknown)
{
    char name[MX_SYMBOL_NAME_BYTES];
    if (unknown->count == 0) return;
    mx_warn("the voice never learned %zu symbol%s left out; the first is %s", unknown->count,
            unknown->count == 1 ? " of the text, which is" : "s of the text, which are",
            mx_symbol_name(unknown->first, name));
}

int mx_speak_text(struct mx_speak *s, const char *text, size_t length, const struct mx_speak_options *options,
                  struct mx_speak_result *result)
{
    const struct mx_speak_voice *const voice = mx_speak_voice(s);
    const struct mx_speak_scribe scribe = {.vocabulary = voice->vocabulary,
                                           .language = options->language,
                                           .limit_characters = options->piece_characters ? options->piece_characters
                                                                                         : MX_SPLIT_CHARACTERS,
                                           .longest_tokens = (size_t)mx_model_capacity(voice->model)->longest_tokens};
    const uint64_t start = mx_clock_ns();
    struct mx_speak_script script = {0};
    struct joined joined = {0};
    float *vector = NULL;
    int rc = 0;
    *result = (struct mx_speak_result){0};
    MX_TRY(options_check(options));
    vector = mx_alloc((size_t)mx_model_config(voice->model)->size.width, sizeof *vector);
    if (vector == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_speak_vector(s, options->reference, options->reference_frames, vector));
    MX_TRY(mx_speak_script_make(&scribe, text, length, &script));
    unknown_warn(&script.unknown);
    result->text_seconds = seconds_since(start);
    MX_TRY(script_speak(s, &script, options, vector, &joined, result));
    result->audio = joined.audio;
    result->count = joined.count;
    joined = (struct joined){0};
    result->paragraphs = script.paragraphs;
    result->pieces = script.count;
    result->tokens = script.tokens;
    result->unknown = script.unknown;
    result->seconds = (double)result->count / voice->recipe->rate;
    if (result->count > 0) result->real_time_factor = seconds_since(start) / result->seconds;
out:
    if (rc < 0) *result = (struct mx_speak_result){0};
    mx_free(joined.audio);
    mx_free(vector);
    mx_speak_script_release(&script);
    return rc;
}

void mx_speak_result_release(struct mx_speak_result *result)
{
    mx_free(result->audio);
    *result = (struct mx_speak_result){0};
}
