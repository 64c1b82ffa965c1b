/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of a checkpoint as metadata, and the hash over a file.
 *
 * One table of members drives writing and reading, so neither can forget one. Numbers are written so that they read
 * back bit for bit, and are read strictly: anything that this writer would not have written is damage.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/format/cjson.h"
#include "base/string.h"
#include "checkpoint/internal.h"
#include "myxtts/error.h"
#include "text/vocabulary.h"

#define QUOTED_BYTES  96
#define METRIC_PREFIX "metric."
#define EXTRA_PREFIX  "state."
#define VOCABULARY    "vocabulary"
#define FIXED_ITEMS   5 /* format, version, program, speakers, speaker_languages */
#define LANGUAGES     "speaker_languages"

enum kind { KIND_COUNT, KIND_INT32, KIND_BOOL, KIND_FLOAT, KIND_WEIGHT, KIND_DOUBLE, KIND_TEXT };

struct member {
    const char *key;
    enum kind kind;
    size_t offset;
};

#define MEMBER(kind, ctype, name, path)                                                                                \
    {                                                                                                                  \
        name, kind,                                                                                                    \
            _Generic(&((struct mx_checkpoint_state *)0)->path, ctype                                                   \
                     : offsetof(struct mx_checkpoint_state, path))                                                     \
    }
#define COUNT(name, path)    MEMBER(KIND_COUNT, uint64_t *, name, path)
#define INT32(name, path)    MEMBER(KIND_INT32, int32_t *, name, path)
#define BOOLEAN(name, path)  MEMBER(KIND_BOOL, bool *, name, path)
#define FLOATING(name, path) MEMBER(KIND_FLOAT, float *, name, path)
#define WEIGHT(name, path)   MEMBER(KIND_WEIGHT, float *, name, path) /* may be missing: 0 */
#define DOUBLE(name, path)   MEMBER(KIND_DOUBLE, double *, name, path)
#define TEXT(name, path)     MEMBER(KIND_TEXT, const char **, name, path)

static const struct member members[] = {
    COUNT("step", step),
    COUNT("epoch", epoch),
    COUNT("step_in_epoch", step_in_epoch),
    COUNT("pass", pass),
    COUNT("seed", seed),
    COUNT("data_fingerprint", data_fingerprint),
    BOOLEAN("has_best", has_best),
    DOUBLE("best", best),
    COUNT("best_step", best_step),
    TEXT("config", config),
    TEXT("model.size", model.size.name),
    INT32("model.width", model.size.width),
    INT32("model.heads", model.size.heads),
    INT32("model.encoder_blocks", model.size.encoder_blocks),
    INT32("model.decoder_blocks", model.size.decoder_blocks),
    INT32("model.hidden", model.size.hidden),
    INT32("model.vocabulary", model.vocabulary),
    INT32("model.languages", model.languages),
    INT32("model.bands", model.bands),
    FLOATING("model.dropout", model.dropout),
    FLOATING("model.diagonal", model.diagonal),
    BOOLEAN("model.checkpoint", model.recompute_blocks),
#define X(NAME, key, over, weight, words) WEIGHT("model.weight." #key, model.weights.key),
    MX_LOSS_LIST(X)
#undef X
        TEXT(VOCABULARY, vocabulary),
    TEXT("vocoder.size", vocoder.size.name),
    INT32("vocoder.width", vocoder.size.width),
    INT32("vocoder.blocks", vocoder.size.blocks),
    INT32("vocoder.hidden", vocoder.size.hidden),
#define X(NAME, key, weight, words) WEIGHT("vocoder.weight." #key, vocoder.weights.key),
    MX_VOCODER_LOSS_LIST(X)
#undef X
        DOUBLE("normaliser.mel_mean", normaliser.mel_mean),
    DOUBLE("normaliser.mel_deviation", normaliser.mel_deviation),
    DOUBLE("normaliser.energy_mean", normaliser.energy_mean),
    DOUBLE("normaliser.energy_deviation", normaliser.energy_deviation),
    DOUBLE("normaliser.pitch_mean", normaliser.pitch_mean),
    DOUBLE("normaliser.pitch_deviation", normaliser.pitch_deviation),
    TEXT("voice.name", voice_name),
    TEXT("voice.licence", voice_licence),
    TEXT("voice.attribution", voice_attribution),
    TEXT("recipe", recipe),
    TEXT("recipe_hash", recipe_hash),
    COUNT("cleaner_version", cleaner_version),
    COUNT("audio_version", audio_version),
};
#define MEMBER_COUNT (sizeof members / sizeof *members)

/* Where a run is; a voice is nowhere. */
static bool member_of_run(const char *key)
{
    static const char *const keys[] = {"epoch",    "step_in_epoch", "pass",     "data_fingerprint",
                                       "has_best", "best",          "best_step"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0) return true;
    return false;
}

/* Does a state of this kind, with or without these networks, have the member? */
static bool member_there(const struct member *member, const struct mx_checkpoint_state *state)
{
    if (strncmp(member->key, "voice.", strlen("voice.")) == 0) return state->voice;
    if (state->voice && member_of_run(member->key)) return false;
    if (strncmp(member->key, "vocoder.", strlen("vocoder.")) == 0) return state->has_vocoder;
    const bool acoustic = strncmp(member->key, "model.", strlen("model.")) == 0 || strcmp(member->key, VOCABULARY) == 0;
    return !acoustic || !state->vocoder_alone;
}

/* ---- what a state must be ---- */

static bool normaliser_good(const struct mx_normaliser *n)
{
    return isfinite(n->mel_mean) && isfinite(n->energy_mean) && isfinite(n->pitch_mean) && isfinite(n->mel_deviation) &&
           isfinite(n->energy_deviation) && isfinite(n->pitch_deviation) && n->mel_deviation > 0 &&
           n->energy_deviation > 0 && n->pitch_deviation > 0;
}

static bool hash_good(const char *text)
{
    return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

/* The network and its words. */
static int model_check(const struct mx_checkpoint_state *state, const char **wrong)
{
    struct mx_vocabulary *vocabulary = NULL;
    int rc = mx_model_config_check(&state->model);
    if (rc >= 0) rc = mx_vocabulary_read(state->vocabulary, strlen(state->vocabulary), &vocabulary);
    if (rc < 0) return rc;
    if (mx_vocabulary_size(vocabulary) != (size_t)state->model.vocabulary)
        *wrong = "the model has another number of tokens than the vocabulary";
    else if (mx_vocabulary_languages(vocabulary) > (size_t)state->model.languages)
        *wrong = "the vocabulary has more languages than the model";
    mx_vocabulary_destroy(vocabulary);
    return 0;
}

/* What of a vocoder's configuration is in a file does not depend on the rest of it. */
static int vocoder_check(const struct mx_checkpoint_state *state)
{
    struct mx_vocoder_config config = mx_vocoder_config_default(&state->vocoder.size, 0, 1);
    config.weights = state->vocoder.weights;
    return mx_vocoder_config_check(&config);
}

/* What is impossible about the rest; NULL: nothing. */
static const char *fault_of(const struct mx_checkpoint_state *state)
{
    if (state->vocoder_alone && !state->has_vocoder) return "there is neither an acoustic network nor a vocoder";
    if (!normaliser_good(&state->normaliser)) return "a mean or deviation of the features is impossible";
    if (!hash_good(state->recipe_hash)) return "the hash of the recipe is none";
    if (state->step > INT64_MAX || state->epoch > UINT32_MAX || state->step_in_epoch > UINT32_MAX)
        return "no run can be so far";
    if (!isfinite(state->best) || (!state->has_best && (state->best != 0 || state->best_step != 0)))
        return "the best value is impossible";
    if (state->best_step > state->step) return "the best value is of a step that was not made yet";
    if (state->metric_count > MX_CHECKPOINT_LIST || state->extra_count > MX_CHECKPOINT_LIST)
        return "there are too many metrics or texts";
    return NULL;
}

/* The same for what is to be saved and for what was read: `code` is MX_ERR_ARGUMENT or MX_ERR_FORMAT. All strings of
 * the table are there. */
static int state_check(const struct mx_checkpoint_state *state, int code, const char *source)
{
    int rc = 0;
    const char *wrong = NULL;
    if (!state->vocoder_alone) rc = model_check(state, &wrong);
    if (rc >= 0 && state->has_vocoder) rc = vocoder_check(state);
    if (rc < 0) {
        const struct mx_error why = *mx_error_last();
        if (why.code == MX_ERR_NO_MEMORY) return rc;
        return MX_FAIL(code, "it cannot be used: take another checkpoint", "%s: %s", source, why.message);
    }
    if (wrong == NULL) wrong = fault_of(state);
    return wrong == NULL ? 0 : MX_FAIL(code, "it cannot be used: take another checkpoint", "%s: %s", source, wrong);
}

/* ---- writing ---- */

static const char *arena_join(struct mx_arena *arena, const char *prefix, const char *name)
{
    const size_t length = strlen(prefix) + strlen(name) + 1;
    char *const joined = mx_arena_alloc(arena, length, 1);
    if (joined != NULL) snprintf(joined, length, "%s%s", prefix, name);
    return joined;
}

/* The text of a member; NULL with MX_ERR_NO_MEMORY. */
static const char *member_write(const struct mx_checkpoint_state *state, const struct member *member,
                                struct mx_arena *arena)
{
    const char *const at = (const char *)state + member->offset;
    char text[MX_STRING_DOUBLE_BYTES];
    switch (member->kind) {
    case KIND_TEXT:
        return *(const char *const *)(const void *)at; /* borrowed like the state itself */
    case KIND_COUNT:
        snprintf(text, sizeof text, "%" PRIu64, *(const uint64_t *)(const void *)at);
        break;
    case KIND_INT32:
        snprintf(text, sizeof text, "%" PRId32, *(const int32_t *)(const void *)at);
        break;
    case KIND_BOOL:
        snprintf(text, sizeof text, "%s", *(const bool *)at ? "true" : "false");
        break;
    case KIND_FLOAT:
    case KIND_WEIGHT:
        mx_string_from_double((double)*(const float *)(const void *)at, text);
        break;
    case KIND_DOUBLE:
        mx_string_from_double(*(const double *)(const void *)at, text);
        break;
    }
    return mx_arena_strdup(arena, text);
}

/* Names or languages of the speakers as a JSON list. */
static int speakers_write(const char *const *texts, size_t count, const char *what, struct mx_arena *arena,
                          const char **out)
{
    int rc = 0;
    char *json = NULL;
    cJSON *const list = cJSON_CreateArray();
    if (list == NULL) MX_TRY(mx_alloc_failed("the list of speakers"));
    for (size_t i = 0; i < count; i++) {
        const char *const name = texts[i];
        if (name == NULL || mx_utf8_check(name, strlen(name)) != strlen(name))
            MX_RAISE(MX_ERR_ARGUMENT, "name speakers in UTF-8", "the %s of speaker %zu is not valid text", what, i);
        if (!cJSON_AddItemToArray(list, cJSON_CreateString(name))) MX_TRY(mx_alloc_failed("the list of speakers"));
    }
    json = cJSON_PrintUnformatted(list);
    if (json == NULL) MX_TRY(mx_alloc_failed("the list of speakers"));
    *out = mx_arena_strdup(arena, json);
    if (*out == NULL) rc = MX_ERR_NO_MEMORY;
out:
    cJSON_free(json);
    cJSON_Delete(list);
    return rc;
}

int mx_checkpoint_state_write(const struct mx_checkpoint_state *state, struct mx_arena *arena,
                              struct mx_metadata **items, size_t *count)
{
    int rc = 0;
    size_t used = 0;
    char number[MX_STRING_DOUBLE_BYTES];
    const char *speakers = NULL, *languages = NULL;
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (members[i].kind == KIND_TEXT && member_there(&members[i], state) &&
            *(const char *const *)(const void *)((const char *)state + members[i].offset) == NULL)
            return MX_FAIL(MX_ERR_ARGUMENT, "fill it in", "the state to save has no '%s'", members[i].key);
    for (size_t i = 0; i < state->metric_count; i++)
        if (state->metrics[i].name == NULL)
            return MX_FAIL(MX_ERR_ARGUMENT, "name it", "metric %zu of the state to save has no name", i);
    for (size_t i = 0; i < state->extra_count; i++)
        if (state->extras[i].key == NULL || state->extras[i].text == NULL)
            return MX_FAIL(MX_ERR_ARGUMENT, "fill it in", "text %zu of the state to save has no key or no text", i);
    MX_TRY(state_check(state, MX_ERR_ARGUMENT, "the state to save"));
    if (!state->vocoder_alone) MX_TRY(speakers_write(state->speakers, state->speaker_count, "name", arena, &speakers));
    if (!state->vocoder_alone && state->speaker_languages != NULL)
        MX_TRY(speakers_write(state->speaker_languages, state->speaker_count, "language", arena, &languages));
    struct mx_metadata *const list =
        mx_arena_alloc(arena, FIXED_ITEMS + MEMBER_COUNT + state->metric_count + state->extra_count + 1, sizeof *list);
    if (list == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const bool adapter = state->voice && mx_checkpoint_extra(state, MX_CHECKPOINT_BASE_HASH) != NULL;
    snprintf(number, sizeof number, "%d",
             adapter        ? MX_CHECKPOINT_ADAPTER_VERSION
             : state->voice ? MX_CHECKPOINT_VOICE_VERSION
                            : MX_CHECKPOINT_VERSION);
    list[used++] = (struct mx_metadata){"format", state->voice ? MX_CHECKPOINT_VOICE_FORMAT : MX_CHECKPOINT_FORMAT};
    list[used++] = (struct mx_metadata){"version", mx_arena_strdup(arena, number)};
    list[used++] = (struct mx_metadata){"program", MX_VERSION};
    if (!state->vocoder_alone) list[used++] = (struct mx_metadata){"speakers", speakers};
    if (languages != NULL) list[used++] = (struct mx_metadata){LANGUAGES, languages};
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (member_there(&members[i], state))
            list[used++] = (struct mx_metadata){members[i].key, member_write(state, &members[i], arena)};
    for (size_t i = 0; i < state->metric_count; i++) {
        mx_string_from_double(state->metrics[i].value, number);
        list[used++] = (struct mx_metadata){arena_join(arena, METRIC_PREFIX, state->metrics[i].name),
                                            mx_arena_strdup(arena, number)};
    }
    for (size_t i = 0; i < state->extra_count; i++)
        list[used++] =
            (struct mx_metadata){arena_join(arena, EXTRA_PREFIX, state->extras[i].key), state->extras[i].text};
    for (size_t i = 0; i < used; i++)
        if (list[i].key == NULL || list[i].text == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    *items = list;
    *count = used;
out:
    return rc;
}

/* ---- reading ---- */

static int wrong_text(const char *source, const char *key, const char *what)
{
    char quoted[QUOTED_BYTES];
    return MX_FAIL(MX_ERR_FORMAT, "the file was not written by this program, or was changed: take another checkpoint",
                   "%s: its metadata %s %s", source, mx_string_quote(quoted, sizeof quoted, key), what);
}

/* Digits only, without zeros in front. */
static bool count_read(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0')) return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

static bool double_read(const char *text, double *out)
{
    return mx_string_parse_double(text, out) == MX_STRING_NUMBER;
}

static bool member_read(const char *text, const struct member *member, struct mx_checkpoint_state *state)
{
    void *const at = (char *)state + member->offset;
    uint64_t count = 0;
    double value = 0;
    switch (member->kind) {
    case KIND_TEXT:
        *(const char **)at = text;
        return true;
    case KIND_COUNT:
        return count_read(text, at);
    case KIND_INT32: /* all of them are counts */
        if (!count_read(text, &count) || count > INT32_MAX) return false;
        *(int32_t *)at = (int32_t)count;
        return true;
    case KIND_BOOL:
        *(bool *)at = strcmp(text, "true") == 0;
        return *(bool *)at || strcmp(text, "false") == 0;
    case KIND_FLOAT:
    case KIND_WEIGHT:
        if (!double_read(text, &value) || (double)(float)value != value) return false;
        *(float *)at = (float)value;
        return true;
    case KIND_DOUBLE:
        return double_read(text, at);
    }
    return false;
}

/* A JSON list of texts, the value of `key`. */
static int list_read(const char *text, const char *key, const char *source, struct mx_arena *arena,
                     const char *const **out, size_t *count)
{
    int rc = 0;
    size_t used = 0;
    const char *end = NULL;
    cJSON *list = NULL;
    MX_TRY(mx_cjson_parse(text, strlen(text), &end, &list));
    if (!cJSON_IsArray(list) || end[strspn(end, " \t\r\n")] != '\0') MX_TRY(wrong_text(source, key, "is no JSON list"));
    const char **const texts = mx_arena_alloc(arena, (size_t)cJSON_GetArraySize(list), sizeof *texts);
    if (texts == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        if (!cJSON_IsString(item)) MX_TRY(wrong_text(source, key, "has an element that is no text"));
        texts[used] = mx_arena_strdup(arena, item->valuestring);
        if (texts[used++] == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    *out = texts;
    *count = used;
out:
    cJSON_Delete(list);
    return rc;
}

static int speakers_read(const struct mx_safetensors *file, const char *source, struct mx_arena *arena,
                         struct mx_checkpoint_state *state)
{
    int rc = 0;
    size_t languages = 0;
    const char *const names = mx_safetensors_metadata(file, "speakers");
    const char *const codes = mx_safetensors_metadata(file, LANGUAGES);
    if (names == NULL) return wrong_text(source, "speakers", "is missing");
    MX_TRY(list_read(names, "speakers", source, arena, &state->speakers, &state->speaker_count));
    if (codes == NULL) return 0;
    MX_TRY(list_read(codes, LANGUAGES, source, arena, &state->speaker_languages, &languages));
    if (languages != state->speaker_count)
        MX_TRY(wrong_text(source, LANGUAGES, "is not as long as the list of speakers"));
out:
    return rc;
}

/* Metrics and the trainer's texts, in the order of the file. */
static int lists_read(const struct mx_safetensors *file, const char *source, struct mx_arena *arena,
                      struct mx_checkpoint_state *state)
{
    const size_t count = mx_safetensors_metadata_count(file);
    struct mx_checkpoint_metric *const metrics = mx_arena_alloc(arena, count, sizeof *metrics);
    struct mx_metadata *const extras = mx_arena_alloc(arena, count, sizeof *extras);
    if (metrics == NULL || extras == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct mx_metadata *const item = mx_safetensors_metadata_at(file, i);
        if (strncmp(item->key, METRIC_PREFIX, strlen(METRIC_PREFIX)) == 0) {
            struct mx_checkpoint_metric *const metric = &metrics[state->metric_count++];
            metric->name = item->key + strlen(METRIC_PREFIX);
            if (!double_read(item->text, &metric->value)) return wrong_text(source, item->key, "is no number");
        } else if (strncmp(item->key, EXTRA_PREFIX, strlen(EXTRA_PREFIX)) == 0) {
            extras[state->extra_count++] = (struct mx_metadata){item->key + strlen(EXTRA_PREFIX), item->text};
        }
    }
    state->metrics = metrics;
    state->extras = extras;
    return 0;
}

int mx_checkpoint_state_read(const struct mx_safetensors *file, const char *source, bool voice, struct mx_arena *arena,
                             struct mx_checkpoint_state *state)
{
    int rc = 0;
    *state = (struct mx_checkpoint_state){.voice = voice,
                                          .has_vocoder = mx_safetensors_metadata(file, "vocoder.width") != NULL};
    state->vocoder_alone = state->has_vocoder && mx_safetensors_metadata(file, VOCABULARY) == NULL;
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (!member_there(&members[i], state)) continue;
        const char *const text = mx_safetensors_metadata(file, members[i].key);
        if (text == NULL && members[i].kind == KIND_WEIGHT) continue; /* trained before there was such a loss */
        if (text == NULL) return wrong_text(source, members[i].key, "is missing");
        if (!member_read(text, &members[i], state)) return wrong_text(source, members[i].key, "is not what it must be");
    }
    state->vocoder.recipe = *mx_recipe_or_default(mx_recipe_find_hash(state->recipe_hash));
    state->vocoder.mel_mean = (float)state->normaliser.mel_mean;
    state->vocoder.mel_deviation = (float)state->normaliser.mel_deviation;
    if (!state->vocoder_alone) MX_TRY(speakers_read(file, source, arena, state));
    MX_TRY(lists_read(file, source, arena, state));
    MX_TRY(state_check(state, MX_ERR_FORMAT, source));
out:
    return rc;
}

const char *mx_checkpoint_extra(const struct mx_checkpoint_state *state, const char *key)
{
    for (size_t i = 0; i < state->extra_count; i++)
        if (strcmp(state->extras[i].key, key) == 0) return state->extras[i].text;
    return NULL;
}

/* ---- the hash ---- */

uint64_t mx_checkpoint_hash(const struct mx_tensor *tensor)
{
    uint64_t head[3 + MX_SAFETENSORS_RANK] = {XXH3_64bits(tensor->name, strlen(tensor->name)), (uint64_t)tensor->dtype,
                                              (uint64_t)tensor->rank};
    uint64_t elements = 1;
    for (int i = 0; i < tensor->rank; i++) {
        head[3 + i] = tensor->shape[i];
        elements *= tensor->shape[i];
    }
    return XXH3_64bits_withSeed(tensor->data, (size_t)elements * mx_dtype_bytes(tensor->dtype),
                                XXH3_64bits(head, sizeof head));
}

uint64_t mx_checkpoint_hash_text(const struct mx_metadata *metadata)
{
    return XXH3_64bits_withSeed(metadata->text, strlen(metadata->text),
                                XXH3_64bits(metadata->key, strlen(metadata->key)));
}

void mx_checkpoint_hash_format(uint64_t hash, char out[MX_CHECKPOINT_HASH_BYTES])
{
    snprintf(out, MX_CHECKPOINT_HASH_BYTES, "%016" PRIx64, hash);
}

int mx_checkpoint_hash_add(struct mx_arena *arena, const struct mx_tensor *tensors, size_t tensor_count,
                           struct mx_metadata *metadata, size_t *metadata_count)
{
    uint64_t sum = 0;
    char *const text = mx_arena_alloc(arena, MX_CHECKPOINT_HASH_BYTES, 1);
    if (text == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < tensor_count; i++) sum += mx_checkpoint_hash(&tensors[i]);
    for (size_t i = 0; i < *metadata_count; i++) sum += mx_checkpoint_hash_text(&metadata[i]);
    mx_checkpoint_hash_format(sum, text);
    metadata[(*metadata_count)++] = (struct mx_metadata){"hash", text};
    return 0;
}
