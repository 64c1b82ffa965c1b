/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A whole text as one sound, see speak.h: the pieces of the text, as many at a time as fit, joined on the host with
 * pauses between them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "speech/speak.h"

#define BATCH 64 /* pieces that are offered to the network at once */

/* ---- joining ---- */

struct joined {
    float *audio;
    size_t count, capacity;
};

/* Room for `more` samples behind the others, which are counted in. */
static float *joined_grow(struct joined *j, size_t more)
{
    if (MX_GROW(j->audio, j->capacity, j->count + more) < 0) return NULL;
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

/* ---- speaking ---- */

/* All items of a script. */
struct collected {
    struct mx_arena arena; /* of the tokens */
    struct mx_speak_item *items;
    size_t count, capacity;
};

static int items_collect(struct mx_speak_script *script, struct collected *c)
{
    struct mx_speak_item item;
    int rc = 0;
    while ((rc = mx_speak_script_next(script, &item)) > 0) {
        if (MX_GROW(c->items, c->capacity, c->count + 1) < 0) return MX_ERR_NO_MEMORY;
        int32_t *const tokens = mx_arena_alloc(&c->arena, (size_t)item.count, sizeof *tokens);
        if (tokens == NULL) return MX_ERR_NO_MEMORY;
        memcpy(tokens, item.tokens, (size_t)item.count * sizeof *tokens);
        item.tokens = tokens;
        c->items[c->count++] = item;
    }
    return rc;
}

/* Speaks all items of the script into `joined`, with the voice [width]. */
static int script_speak(struct mx_speak *s, const struct collected *script, const struct mx_speak_options *options,
                        const float *voice, struct joined *joined, struct mx_speak_result *result)
{
    struct mx_speak_piece pieces[BATCH];
    int rc = 0;
    for (size_t at = 0; at < script->count;) {
        const struct mx_speak_item *const items = script->items + at;
        int32_t count = script->count - at < BATCH ? (int32_t)(script->count - at) : BATCH;
        for (int32_t i = 0; i < count; i++)
            pieces[i] = (struct mx_speak_piece){.tokens = items[i].tokens,
                                                .count = items[i].count,
                                                .language = items[i].language,
                                                .speed = items[i].speed,
                                                .pitch_semitones = items[i].pitch_semitones,
                                                .voice = voice,
                                                .seed = options->seed};
        uint64_t start = mx_clock_ns();
        MX_TRY(mx_speak_pieces(s, pieces, &count));
        result->model_seconds += seconds_since(start);
        start = mx_clock_ns();
        for (int32_t i = 0; i < count; i++) MX_TRY(piece_join(joined, s, i, items[i].pause_ms));
        result->waveform_seconds += seconds_since(start);
        at += (size_t)count;
    }
out:
    return rc;
}

char *mx_speak_unknown_text(const struct mx_unknown_count *unknown, char out[MX_SPEAK_UNKNOWN_BYTES])
{
    char name[MX_SYMBOL_NAME_BYTES];
    snprintf(out, MX_SPEAK_UNKNOWN_BYTES, "the voice never learned %zu symbol%s left out; the first is %s",
             unknown->count, unknown->count == 1 ? " of the text, which is" : "s of the text, which are",
             mx_symbol_name(unknown->first, name));
    return out;
}

int mx_speak_text(struct mx_speak *s, const char *text, size_t length, const struct mx_speak_options *options,
                  struct mx_speak_result *result)
{
    const struct mx_speak_voice *const voice = mx_speak_voice(s);
    const struct mx_speak_script_options how = {.vocabulary = voice->vocabulary,
                                                .language = options->language,
                                                .piece_characters = options->piece_characters,
                                                .longest_tokens =
                                                    (size_t)mx_model_capacity(voice->model)->longest_tokens,
                                                .speed = options->speed,
                                                .pitch_semitones = options->pitch_semitones,
                                                .volume = 1,
                                                .pause_scale = 1};
    const uint64_t start = mx_clock_ns();
    struct mx_speak_script *script = NULL;
    struct collected collected = {0};
    struct joined joined = {0};
    float *vector = NULL;
    char warning[MX_SPEAK_UNKNOWN_BYTES];
    int rc = 0;
    *result = (struct mx_speak_result){0};
    mx_arena_init(&collected.arena, 0);
    vector = mx_alloc((size_t)mx_model_config(voice->model)->size.width, sizeof *vector);
    if (vector == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (options->reference != NULL) MX_TRY(mx_speak_vector(s, options->reference, options->reference_frames, vector));
    MX_TRY(mx_speak_script_open(&how, text, length, &script));
    MX_TRY(items_collect(script, &collected));
    const struct mx_speak_script_counts counts = mx_speak_script_counts(script);
    if (counts.unknown.count > 0) mx_warn("%s", mx_speak_unknown_text(&counts.unknown, warning));
    result->text_seconds = seconds_since(start);
    MX_TRY(script_speak(s, &collected, options, vector, &joined, result));
    result->audio = joined.audio;
    result->count = joined.count;
    joined = (struct joined){0};
    result->paragraphs = counts.paragraphs;
    result->pieces = counts.items;
    result->tokens = counts.tokens;
    result->unknown = counts.unknown;
    result->seconds = (double)result->count / voice->recipe->rate;
    if (result->count > 0) result->real_time_factor = seconds_since(start) / result->seconds;
out:
    if (rc < 0) *result = (struct mx_speak_result){0};
    mx_free(joined.audio);
    mx_free(vector);
    mx_speak_script_close(script);
    mx_free(collected.items);
    mx_arena_release(&collected.arena);
    return rc;
}

void mx_speak_result_release(struct mx_speak_result *result)
{
    mx_free(result->audio);
    *result = (struct mx_speak_result){0};
}
