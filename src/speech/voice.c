/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An opened voice, see myxtts/voice.h and voice_internal.h: opening, facts, and engines that speak with it.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "speech/voice_internal.h"

#define PIECE_TOKENS  600  /* room for a piece in a batch with others */
#define PIECE_FRAMES  1200 /* about 14 seconds */
#define LONGEST_PIECE 4    /* length factor for a piece that is alone in its batch */

#define OPTIONS_MOST 4096 /* bytes: no version of a struct of options comes near */

int mx_voice_options_copy(void *own, size_t own_size, const void *given, const char *name)
{
    const unsigned char *const bytes = given;
    size_t size;
    if (given == NULL) return 0;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > OPTIONS_MOST) { /* more would be read from beyond the caller's struct */
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "struct %s says that it has %zu bytes", name, size);
        return mx_error_hint("set its member size to sizeof(struct %s)", name);
    }
    for (size_t i = own_size; i < size; i++)
        if (bytes[i] != 0) {
            MX_FAIL(MX_ERR_UNSUPPORTED, NULL, "struct %s has a member that this library does not know", name);
            return mx_error_hint("this library knows its first %zu bytes: leave the rest 0, or use a newer library",
                                 own_size);
        }
    memcpy(own, given, size < own_size ? size : own_size);
    return 0;
}

/* ---- opening ---- */

static int weights_load(struct mx_voice *v)
{
    int rc = 0;
    const size_t bytes = (size_t)v->table->floats * sizeof(float);
    float *const host = mx_alloc(1, bytes);
    if (host == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_checkpoint_load_average(v->checkpoint, v->table, host));
    MX_TRY(mx_buffer_create(v->runtime.device, "parameters", bytes, &v->weights));
    MX_TRY(mx_copy_upload(v->runtime.stream, mx_slice_at(v->weights, 0), host, bytes));
    MX_TRY(mx_stream_sync(v->runtime.stream));
out:
    mx_free(host);
    return rc;
}

/* The last part of a path, without its ending. */
static int name_build(struct mx_voice *v, const char *path)
{
    static const char *const endings[] = {".voice.safetensors", ".safetensors"};
    size_t end = strlen(path), begin;
    while (end > 1 && path[end - 1] == '/') end--;
    for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--) {
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t length = strlen(endings[i]);
        if (end - begin <= length || memcmp(path + end - length, endings[i], length) != 0) continue;
        end -= length;
        break;
    }
    v->name = mx_strndup(path + begin, end - begin);
    return v->name == NULL ? MX_ERR_NO_MEMORY : 0;
}

static int languages_list(struct mx_voice *v)
{
    const size_t count = mx_vocabulary_languages(v->vocabulary);
    v->languages = mx_alloc(count, sizeof *v->languages);
    if (v->languages == NULL) return MX_ERR_NO_MEMORY;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const int number = mx_vocabulary_language(v->vocabulary, (enum mx_language_id)i);
        if (number >= 0) v->languages[number] = mx_language_get((enum mx_language_id)i)->code;
    }
    return 0;
}

static struct mx_speak_sound sound_of(const struct mx_voice *v)
{
    return (struct mx_speak_sound){.vocoder = v->vocoder.loaded ? &v->vocoder.config : NULL,
                                   .vocoder_parameters = mx_slice_at(v->vocoder.weights, 0),
                                   .rounds = v->rounds,
                                   .projections = v->projections,
                                   .parts = true};
}

/* Options of the sound are refused when the voice is opened, not when it first speaks. */
static int sound_check(const struct mx_voice *v)
{
    const struct mx_model_capacity room = mx_voice_room(1);
    const struct mx_speak_sound sound = sound_of(v);
    struct mx_speak_memory_plan plan;
    return mx_speak_memory_plan(&mx_checkpoint_state(v->checkpoint)->model, &room, mx_voice_recipe(v), &sound, 0,
                                &plan);
}

/* How the options count: 0 is what is usual. */
static int usual_or(int value)
{
    return value == 0 ? MX_SOUND_USUAL : value == MX_VOICE_NONE ? 0 : value;
}

/* How the voice reads texts: as it was trained, with the words of a lexicon before its own. */
static int reading_settle(struct mx_voice *v, const char *path)
{
    int rc = 0;
    struct mx_lexicon *lexicon = NULL;
    if (mx_vocabulary_cleaner(v->vocabulary) > MX_TEXT_CLEANER_VERSION)
        mx_warn(
            "%s was trained by a newer program, which reads some texts in another way (version %d of the rules; this "
            "program has %d)",
            mx_checkpoint_path(v->checkpoint), mx_vocabulary_cleaner(v->vocabulary), MX_TEXT_CLEANER_VERSION);
    if (path == NULL) return 0;
    MX_TRY(mx_lexicon_open(path, &lexicon));
    MX_TRY(mx_vocabulary_check_lexicon(v->vocabulary, lexicon));
    MX_TRY(mx_vocabulary_add_lexicon(v->vocabulary, lexicon));
out:
    mx_lexicon_destroy(lexicon);
    return rc;
}

/* With its checkpoint open. */
static int voice_fill(struct mx_voice *v, const struct mx_voice_options *o)
{
    int rc = 0;
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    MX_TRY(mx_checkpoint_recipe_check(v->checkpoint));
    if (state->vocoder_alone)
        MX_RAISE(MX_ERR_DATA,
                 "name a run of 'myxtts train' with '--part both' or '--part acoustic'; '--vocoder' takes "
                 "this one",
                 "%s is a vocoder alone: it has no network that reads texts", mx_checkpoint_path(v->checkpoint));
    if (o->rounds < MX_VOICE_NONE || o->projections < MX_VOICE_NONE)
        MX_RAISE(MX_ERR_ARGUMENT, "0 is usual, MX_VOICE_NONE (-1) is none",
                 "%d rounds and %d projections are not possible", o->rounds, o->projections);
    v->rounds = usual_or(o->rounds);
    v->projections = usual_or(o->projections);
    MX_TRY(mx_vocabulary_read(state->vocabulary, strlen(state->vocabulary), &v->vocabulary));
    MX_TRY(reading_settle(v, o->lexicon));
    MX_TRY(languages_list(v));
    v->kept = mx_alloc(state->speaker_count > 0 ? state->speaker_count : 1, sizeof *v->kept);
    if (v->kept == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_runtime_open(&v->runtime, o->device, o->cpu_devices, "voice"));
    MX_TRY(mx_model_parameters_create(&state->model, NULL, &v->table));
    MX_TRY(weights_load(v));
    MX_TRY(mx_runtime_vocoder_open(&v->vocoder, &v->runtime, o->vocoder, v->checkpoint));
    MX_TRY(sound_check(v));
out:
    return rc;
}

/* From memory if `bytes` is not NULL. */
static int voice_open(const char *path, const void *bytes, size_t count, const struct mx_voice_options *options,
                      struct mx_voice **out)
{
    int rc = 0;
    struct mx_voice_options o = {.size = sizeof o};
    if (out == NULL) return MX_FAIL(MX_ERR_ARGUMENT, "pass a place for the voice", "there is no place for the voice");
    *out = NULL;
    struct mx_voice *v = mx_alloc(1, sizeof *v);
    if (v == NULL) return MX_ERR_NO_MEMORY;
    if (path == NULL) MX_RAISE(MX_ERR_ARGUMENT, "give a voice file, a checkpoint or a run folder", "there is no path");
    MX_TRY(mx_voice_options_copy(&o, sizeof o, options, "mx_voice_options"));
    if (pthread_mutex_init(&v->lock, NULL) != 0) MX_RAISE(MX_ERR_INTERNAL, NULL, "cannot create a lock");
    v->locking = true;
    if (bytes != NULL)
        MX_TRY(mx_checkpoint_open_memory(path, bytes, count, NULL, &v->checkpoint));
    else
        MX_TRY(
            mx_checkpoint_open(path, &(struct mx_checkpoint_options){.named = true, .speaks = true}, &v->checkpoint));
    MX_TRY(name_build(v, bytes != NULL ? "" : path));
    MX_TRY(voice_fill(v, &o));
    *out = v;
    v = NULL;
out:
    mx_voice_close(v);
    return rc;
}

int mx_voice_open(const char *path, const struct mx_voice_options *options, struct mx_voice **out)
{
    return voice_open(path, NULL, 0, options, out);
}

int mx_voice_open_memory(const void *bytes, size_t count, const struct mx_voice_options *options, struct mx_voice **out)
{
    if (bytes == NULL && count > 0) {
        if (out != NULL) *out = NULL;
        return MX_FAIL(MX_ERR_ARGUMENT, "pass the bytes of a voice file", "NULL cannot have %zu bytes", count);
    }
    return voice_open("voice in memory", bytes != NULL ? bytes : "", count, options, out);
}

void mx_voice_close(struct mx_voice *v)
{
    if (v == NULL) return;
    if (v->runtime.stream != NULL) (void)mx_stream_sync(v->runtime.stream); /* something may be under way */
    const size_t speakers = v->checkpoint != NULL ? mx_checkpoint_state(v->checkpoint)->speaker_count : 0;
    for (size_t i = 0; v->kept != NULL && i < (speakers > 0 ? speakers : 1); i++) mx_free(v->kept[i].vector);
    mx_free(v->kept);
    mx_free(v->languages);
    mx_free(v->name);
    mx_runtime_vocoder_close(&v->vocoder);
    mx_buffer_release(v->weights);
    mx_parameters_destroy(v->table);
    mx_vocabulary_destroy(v->vocabulary);
    mx_checkpoint_close(v->checkpoint);
    mx_runtime_close(&v->runtime);
    if (v->locking) pthread_mutex_destroy(&v->lock);
    mx_free(v);
}

/* ---- facts ---- */

static const char *text_or(const char *text, const char *other)
{
    return text != NULL && text[0] != '\0' ? text : other;
}

const char *mx_voice_name(const struct mx_voice *v)
{
    return v == NULL ? "" : text_or(mx_checkpoint_state(v->checkpoint)->voice_name, v->name);
}

const char *mx_voice_licence(const struct mx_voice *v)
{
    return v == NULL ? "" : text_or(mx_checkpoint_state(v->checkpoint)->voice_licence, "");
}

const char *mx_voice_attribution(const struct mx_voice *v)
{
    return v == NULL ? "" : text_or(mx_checkpoint_state(v->checkpoint)->voice_attribution, "");
}

const struct mx_recipe *mx_voice_recipe(const struct mx_voice *v)
{
    return mx_checkpoint_recipe(v->checkpoint); /* no unknown recipe can be opened */
}

int mx_voice_rate(const struct mx_voice *v)
{
    return v == NULL ? 0 : mx_voice_recipe(v)->rate;
}

size_t mx_voice_languages(const struct mx_voice *v)
{
    return v == NULL ? 0 : mx_vocabulary_languages(v->vocabulary);
}

const char *mx_voice_language(const struct mx_voice *v, size_t number)
{
    return number < mx_voice_languages(v) ? v->languages[number] : NULL;
}

size_t mx_voice_speakers(const struct mx_voice *v)
{
    return v == NULL ? 0 : mx_checkpoint_state(v->checkpoint)->speaker_count;
}

const char *mx_voice_speaker(const struct mx_voice *v, size_t number)
{
    return number < mx_voice_speakers(v) ? mx_checkpoint_state(v->checkpoint)->speakers[number] : NULL;
}

/* ---- engines ---- */

struct mx_model_capacity mx_voice_room(int32_t pieces)
{
    const int32_t share = pieces > LONGEST_PIECE ? pieces : LONGEST_PIECE;
    return (struct mx_model_capacity){.sequences = pieces,
                                      .tokens = share * PIECE_TOKENS,
                                      .frames = share * PIECE_FRAMES,
                                      .references = MX_VOICE_REFERENCE_FRAMES,
                                      .longest_tokens = 2 * PIECE_TOKENS,
                                      .longest_frames = LONGEST_PIECE * PIECE_FRAMES};
}

int mx_voice_model_create(struct mx_voice *v, struct mx_stream *stream, const struct mx_model_capacity *room,
                          struct mx_model **out)
{
    return mx_model_create(v->runtime.device, stream, &mx_checkpoint_state(v->checkpoint)->model, room, MX_MODEL_SPEAK,
                           out);
}

int mx_voice_engine_create(struct mx_voice *v, const struct mx_model_capacity *room, const struct mx_speak_sound *sound,
                           struct mx_speak **out)
{
    int rc = 0;
    struct mx_speak_voice parts = {.device = v->runtime.device,
                                   .recipe = mx_voice_recipe(v),
                                   .owned = true,
                                   .parameters = mx_slice_at(v->weights, 0),
                                   .vocabulary = v->vocabulary,
                                   .normaliser = mx_checkpoint_state(v->checkpoint)->normaliser,
                                   .reference_frames = MX_VOICE_REFERENCE_FRAMES};
    *out = NULL;
    MX_TRY(mx_stream_create(v->runtime.device, "speak", &parts.stream));
    MX_TRY(mx_voice_model_create(v, parts.stream, room, &parts.model));
    MX_TRY(mx_speak_create(&parts, sound, out));
out:
    if (rc < 0 && parts.stream != NULL) {
        (void)mx_stream_sync(parts.stream);
        mx_model_destroy(parts.model);
        mx_stream_release(parts.stream);
    }
    return rc;
}

int mx_voice_speak_create(struct mx_voice *v, const struct mx_model_capacity *room, struct mx_speak **out)
{
    const struct mx_speak_sound sound = sound_of(v);
    return mx_voice_engine_create(v, room, &sound, out);
}
