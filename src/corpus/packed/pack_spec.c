/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys, options and metadata on which a packed corpus depends, and the changes in them; see pack_spec.h.
 */
#include "corpus/packed/pack_spec.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/format/cjson.h"
#include "corpus/packed/pack_spec_internal.h"
#include "myxtts/error.h"

#define CHANGES_SHOWN 8 /* more are only counted */

/* The option that names the vocabulary, and its values. */
#define VOCABULARY "vocabulary"
#define OWN        "own"
#define GIVEN      "given %016" PRIx64

/* The option that names the lexicon; there is none without one. */
#define LEXICON "lexicon"

/* ---- keys and options ---- */

/* The path of a recording without the folder of its manifest or of the pieces, so that a corpus or a run may be moved or
 * named differently. */
static const char *path_below(const char *path, const char *root)
{
    const size_t length = strlen(root);
    if (length == 0 || strncmp(path, root, length) != 0) return path;
    if (path[length] != '/' && root[length - 1] != '/') return path;
    path += length;
    while (*path == '/') path++;
    return path;
}

static void key_text(XXH3_state_t *state, const char *text)
{
    XXH3_64bits_update(state, text, strlen(text) + 1); /* with the zero: "ab" "c" is not "a" "bc" */
}

static uint64_t key_of(const struct mx_manifest *manifest, const struct mx_utterance *utterance, XXH3_state_t *state)
{
    const uint64_t numbers[] = {utterance->audio_bytes, (uint64_t)utterance->audio_mtime_ns, utterance->source};
    XXH3_64bits_reset(state);
    key_text(state, utterance->id);
    key_text(state, utterance->text);
    if (utterance->language != NULL) key_text(state, utterance->language);
    key_text(state, manifest->speakers[utterance->speaker]);
    const char *path = path_below(utterance->audio, manifest->sources[utterance->source].root);
    if (manifest->pieces != NULL && path == utterance->audio) path = path_below(path, manifest->pieces);
    key_text(state, path);
    XXH3_64bits_update(state, numbers, sizeof numbers);
    return XXH3_64bits_digest(state);
}

static void __attribute__((format(printf, 3, 4)))
option_add(struct mx_pack_spec *spec, const char *name, const char *fmt, ...)
{
    struct mx_pack_spec_option *const option = &spec->options[spec->option_count++];
    va_list list;
    va_start(list, fmt);
    option->name = name;
    vsnprintf(option->value, sizeof option->value, fmt, list);
    va_end(list);
}

static void option_number(struct mx_pack_spec *spec, const char *name, double value)
{
    char text[MX_STRING_DOUBLE_BYTES];
    double back = 0;
    snprintf(text, sizeof text, "%g", value); /* in the form that people write, where that is exact */
    if (mx_string_parse_double(text, &back) != MX_STRING_NUMBER || back != value) mx_string_from_double(value, text);
    option_add(spec, name, "%s", text);
}

static int options_fill(struct mx_pack_spec *spec)
{
    int rc = 0;
    char *json = NULL;
    const struct mx_row_options *const row = &spec->row;
    const struct mx_audio_options *const audio = &row->audio;
    const bool detect = row->language == MX_ROW_LANGUAGE_DETECT;
    option_add(spec, "kind", "%s", spec->stage == NULL ? "audio" : "features");
    option_add(spec, "recipe", "%s", spec->stage == NULL ? "none" : spec->stage->recipe);
    option_add(spec, "recipe_hash", "%s", spec->stage == NULL ? "none" : spec->stage->recipe_hash);
    option_add(spec, "rate", "%d", audio->rate);
    option_add(spec, "audio_version", "%d", MX_AUDIO_VERSION);
    option_number(spec, "seconds_min", audio->seconds_min);
    option_number(spec, "seconds_max", audio->seconds_max);
    option_number(spec, "trim_db", audio->trim_db);
    option_number(spec, "margin_seconds", audio->margin_seconds);
    option_number(spec, "level_db", audio->level_db);
    option_number(spec, "peak_db", audio->peak_db);
    option_number(spec, "silent_db", audio->silent_db);
    option_number(spec, "clipped_share", audio->clipped_share);
    option_add(spec, "tokens", "%s", mx_tokens_mode_name(row->tokens));
    const struct mx_reading reading = mx_row_reading(row);
    option_add(spec, "cleaner_version", "%d", reading.cleaner);
    if (mx_lexicon_count(reading.lexicon) > 0)
        option_add(spec, LEXICON, "%016" PRIx64, mx_lexicon_hash(reading.lexicon));
    option_add(spec, "language", "%s", detect ? "detected" : mx_language_get((enum mx_language_id)row->language)->code);
    option_add(spec, "rate_version", "%d", MX_RATE_VERSION);
    if (row->sounds) option_add(spec, "texts", "none");
    if (row->vocabulary == NULL) {
        option_add(spec, VOCABULARY, OWN);
    } else {
        MX_TRY(mx_vocabulary_write(row->vocabulary, &json));
        option_add(spec, VOCABULARY, GIVEN, mx_packed_hash(json, strlen(json)));
    }
out:
    mx_free(json);
    return rc;
}

static int options_hash(const struct mx_pack_spec *spec, uint64_t *out)
{
    struct mx_string text = {0};
    for (uint32_t i = 0; i < spec->option_count; i++)
        mx_string_append(&text, "%s=%s\n", spec->options[i].name, spec->options[i].value);
    const int rc = text.failure;
    if (rc == 0) *out = mx_packed_hash(text.data, text.length);
    mx_string_release(&text);
    return rc;
}

uint64_t mx_pack_spec_recipe_hash(const struct mx_pack_spec *spec)
{
    static const char *const names[] = {
        "kind",    "recipe", "recipe_hash",     "rate",     "audio_version", "trim_db", "margin_seconds", "level_db",
        "peak_db", "tokens", "cleaner_version", "language", LEXICON};
    uint64_t hash = 1;
    for (uint32_t i = 0; i < spec->option_count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(spec->options[i].name, names[k]) == 0)
                hash = XXH3_64bits_withSeed(spec->options[i].value, strlen(spec->options[i].value), hash);
    return hash;
}

int mx_pack_spec_create(const struct mx_manifest *manifest, const struct mx_row_options *options,
                        const struct mx_prepare_stage *stage, struct mx_pack_spec **out)
{
    int rc = 0;
    uint64_t hash = 0;
    XXH3_state_t *state = NULL;
    struct mx_pack_spec *spec = mx_alloc(1, sizeof *spec);
    *out = NULL;
    if (spec == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    spec->manifest = manifest;
    spec->row = *options;
    spec->stage = stage;
    spec->keys = mx_alloc(manifest->utterance_count, sizeof *spec->keys);
    state = XXH3_createState();
    if (spec->keys == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (state == NULL) MX_TRY(mx_alloc_failed("the keys of rows"));
    for (uint32_t row = 0; row < manifest->utterance_count; row++)
        spec->keys[row] = key_of(manifest, &manifest->utterances[row], state);
    MX_TRY(options_fill(spec));
    MX_TRY(options_hash(spec, &hash));
    spec->packed = (struct mx_packed_plan){
        .kind = stage == NULL ? MX_PACKED_AUDIO : MX_PACKED_FEATURES,
        .tensors = stage == NULL ? NULL : stage->tensors,
        .tensor_count = stage == NULL ? 0 : stage->tensor_count,
        .record_count = manifest->utterance_count,
        .keys = spec->keys,
        .options_hash = hash,
        .source_hash = mx_packed_hash(spec->keys, manifest->utterance_count * sizeof *spec->keys),
    };
    *out = spec;
    spec = NULL;
out:
    XXH3_freeState(state);
    mx_pack_spec_destroy(spec);
    return rc;
}

void mx_pack_spec_destroy(struct mx_pack_spec *spec)
{
    if (spec == NULL) return;
    for (int i = 0; i < spec->arena_count; i++) mx_arena_release(&spec->arenas[i]);
    mx_free(spec->arenas);
    mx_free(spec->texts);
    mx_free(spec->keys);
    mx_free(spec->metadata);
    mx_free(spec->other_metadata);
    mx_vocabulary_destroy(spec->vocabulary);
    mx_free(spec);
}

/* ---- metadata ---- */

static const char *name_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool manifest_describe(cJSON *root, const struct mx_manifest *manifest)
{
    cJSON *const list = cJSON_AddArrayToObject(root, "manifest");
    bool whole = list != NULL;
    for (uint32_t i = 0; whole && i < manifest->source_count; i++) {
        const struct mx_manifest_source *const source = &manifest->sources[i];
        cJSON *const item = cJSON_CreateObject();
        whole = cJSON_AddItemToArray(list, item);
        whole = whole && cJSON_AddStringToObject(item, "name", name_of(source->path)) != NULL;
        whole = whole && cJSON_AddStringToObject(item, "format", mx_manifest_format_name(source->format)) != NULL;
        whole = whole && cJSON_AddStringToObject(item, "columns", source->columns) != NULL;
    }
    return whole;
}

/* As JSON text. */
static int metadata_write(const struct mx_pack_spec *spec, char **out)
{
    int rc = 0;
    char *json = NULL, *text = NULL;
    cJSON *vocabulary = NULL;
    const struct mx_manifest *const manifest = spec->manifest;
    cJSON *const root = cJSON_CreateObject();
    MX_TRY(mx_vocabulary_write(spec->vocabulary, &json));
    MX_TRY(mx_cjson_parse(json, strlen(json), NULL, &vocabulary));
    bool whole = cJSON_AddStringToObject(root, "format", "myxtts-packed") != NULL;
    cJSON *const options = cJSON_AddObjectToObject(root, "options");
    for (uint32_t i = 0; whole && i < spec->option_count; i++)
        whole = cJSON_AddStringToObject(options, spec->options[i].name, spec->options[i].value) != NULL;
    cJSON *const speakers = cJSON_AddArrayToObject(root, "speakers");
    for (uint32_t i = 0; whole && i < manifest->speaker_count; i++)
        whole = cJSON_AddItemToArray(speakers, cJSON_CreateString(manifest->speakers[i]));
    whole = whole && manifest_describe(root, manifest);
    whole =
        whole && cJSON_AddStringToObject(root, "validation", manifest->source_count > 1 ? "listed" : "seeded") != NULL;
    const double rate[] = {spec->row.rate.least, spec->row.rate.most};
    whole = whole && cJSON_AddItemToObject(root, "speaking_rate", cJSON_CreateDoubleArray(rate, 2));
    if (whole && cJSON_AddItemToObject(root, "vocabulary", vocabulary))
        vocabulary = NULL;
    else
        whole = false;
    text = whole ? cJSON_PrintUnformatted(root) : NULL;
    if (text == NULL) MX_TRY(mx_alloc_failed("the metadata of a packed corpus"));
    *out = mx_strdup(text);
    if (*out == NULL) MX_TRY(MX_ERR_NO_MEMORY);
out:
    cJSON_Delete(root);
    cJSON_Delete(vocabulary);
    cJSON_free(text);
    mx_free(json);
    return rc;
}

/* A resumed run passes the vocabulary that it had made of the corpus itself: the rows are the same with it, so a
 * journal that the run began without it is continued. */
static int own_describe(struct mx_pack_spec *spec)
{
    int rc = 0;
    struct mx_pack_spec own = *spec; /* all but the option is borrowed */
    for (uint32_t i = 0; i < own.option_count; i++)
        if (strcmp(own.options[i].name, VOCABULARY) == 0)
            snprintf(own.options[i].value, sizeof own.options[i].value, OWN);
    MX_TRY(options_hash(&own, &spec->packed.other_options_hash));
    MX_TRY(metadata_write(&own, &spec->other_metadata));
    spec->packed.other_metadata = spec->other_metadata;
out:
    return rc;
}

int mx_pack_spec_describe(struct mx_pack_spec *spec)
{
    int rc = 0;
    MX_TRY(metadata_write(spec, &spec->metadata));
    spec->packed.metadata = spec->metadata;
    if (spec->row.vocabulary != NULL) MX_TRY(own_describe(spec));
out:
    return rc;
}

/* ---- what changed ---- */

struct changes {
    struct mx_string *text; /* NULL: only counted */
    int count;
};

static void __attribute__((format(printf, 2, 3))) change_add(struct changes *changes, const char *fmt, ...)
{
    char line[400];
    va_list list;
    va_start(list, fmt);
    vsnprintf(line, sizeof line, fmt, list);
    va_end(list);
    if (changes->text != NULL && changes->count < CHANGES_SHOWN) mx_string_append(changes->text, "%s\n", line);
    changes->count++;
}

/* Rows that were numbered by the corpus's own vocabulary are what they would be if that one were given, as it is to a
 * resumed run. */
static bool own_is_given(const struct mx_packed_file *packed, const struct mx_pack_spec_option *option,
                         const char *value)
{
    char given[64];
    char *json = NULL;
    bool same = false;
    if (strcmp(option->name, VOCABULARY) != 0 || strcmp(value, OWN) != 0) return false;
    if (mx_vocabulary_write(mx_packed_vocabulary(packed), &json) == 0) {
        snprintf(given, sizeof given, GIVEN, mx_packed_hash(json, strlen(json)));
        same = strcmp(given, option->value) == 0;
    } else {
        mx_error_clear();
    }
    mx_free(json);
    return same;
}

static void options_compare(const struct mx_pack_spec *spec, const struct mx_packed_file *packed,
                            struct changes *changes)
{
    size_t bytes = 0;
    const char *const metadata = mx_packed_metadata(packed, &bytes);
    if (mx_packed_header(packed)->options_hash == spec->packed.options_hash) return;
    int different = 0;
    cJSON *const root = cJSON_ParseWithLength(metadata, bytes);
    const cJSON *const options = cJSON_GetObjectItemCaseSensitive(root, "options");
    for (uint32_t i = 0; i < spec->option_count; i++) {
        const struct mx_pack_spec_option *const option = &spec->options[i];
        const cJSON *const found = cJSON_GetObjectItemCaseSensitive(options, option->name);
        const char *const value = cJSON_IsString(found) ? found->valuestring : "missing";
        if (strcmp(value, option->value) == 0) continue;
        different++;
        if (!own_is_given(packed, option, value))
            change_add(changes, "%s was %.72s and is %s", option->name, value, option->value);
    }
    if (mx_lexicon_count(mx_row_reading(&spec->row).lexicon) == 0 && cJSON_HasObjectItem(options, LEXICON)) {
        different++;
        change_add(changes, "it was made with a lexicon and there is none now");
    }
    cJSON_Delete(root);
    if (different == 0) change_add(changes, "it was made with other options");
}

static void row_compare(const struct mx_pack_spec *spec, const struct mx_packed_file *packed, uint32_t row,
                        struct changes *changes)
{
    char id[96];
    const struct mx_packed_record *const record = mx_packed_record(packed, row);
    const struct mx_utterance *const utterance = &spec->manifest->utterances[row];
    mx_string_quote(id, sizeof id, utterance->id);
    if (record->source_bytes != utterance->audio_bytes)
        change_add(changes, "the recording of %s has %" PRIu64 " bytes and had %" PRIu64, id, utterance->audio_bytes,
                   record->source_bytes);
    else if (record->source_mtime_ns != utterance->audio_mtime_ns)
        change_add(changes, "the recording of %s was written again", id);
    else
        change_add(changes, "the text, the speaker or the path of %s is another one", id);
}

int mx_pack_spec_compare(const struct mx_pack_spec *spec, const struct mx_packed_file *packed,
                         struct mx_string *changes)
{
    struct changes found = {.text = changes};
    const struct mx_packed_header *const header = mx_packed_header(packed);
    const struct mx_manifest *const manifest = spec->manifest;
    options_compare(spec, packed, &found);
    if (header->record_count != manifest->utterance_count)
        change_add(&found, "the manifest has %u rows and had %u", manifest->utterance_count, header->record_count);
    for (uint32_t row = 0; row < manifest->utterance_count && row < header->record_count; row++) {
        if (mx_packed_record(packed, row)->key == spec->keys[row]) continue;
        if (strcmp(mx_packed_id(packed, row), manifest->utterances[row].id) != 0) {
            char now[96], then[96];
            change_add(&found, "row %u is %s and was %s; those after it are not compared", row + 1,
                       mx_string_quote(now, sizeof now, manifest->utterances[row].id),
                       mx_string_quote(then, sizeof then, mx_packed_id(packed, row)));
            break;
        }
        row_compare(spec, packed, row, &found);
    }
    if (changes != NULL && found.count > CHANGES_SHOWN)
        mx_string_append(changes, "and %d more\n", found.count - CHANGES_SHOWN);
    return found.count;
}
