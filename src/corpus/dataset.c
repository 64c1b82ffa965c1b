/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The list of utterances and how they are loaded; see dataset.h. The part for folders is in dataset_folder.c.
 */
#include "corpus/dataset.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format/cjson.h"
#include "base/string.h"
#include "corpus/audio/audio.h"
#include "corpus/dataset_internal.h"
#include "corpus/pieces.h"
#include "myxtts/error.h"

/* ---- the list ---- */

/* The split by seed over the whole list, or the one that the manifest named. */
static int list_split(struct mx_dataset *dataset, const struct mx_manifest_options *options)
{
    int rc = 0;
    const char **const ids = mx_alloc(dataset->count, sizeof *ids);
    bool *const chosen = mx_alloc(dataset->count, sizeof *chosen);
    if (ids == NULL || chosen == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < dataset->count; i++) ids[i] = dataset->list[i].id;
    MX_TRY(mx_manifest_split(options->seed, options->validation_fraction, ids, dataset->count, chosen));
    for (uint32_t i = 0; i < dataset->count; i++) dataset->list[i].validation = chosen[i];
out:
    mx_free(ids);
    mx_free(chosen);
    return rc;
}

/* Is the length of a row of a packed file, which may have been prepared with other limits, within the current limits? */
static enum mx_reject length_judge(const struct mx_dataset *dataset, uint32_t samples)
{
    const double seconds = (double)samples / dataset->rate;
    if (seconds > dataset->seconds_max) return MX_REJECT_TOO_LONG;
    return seconds < dataset->seconds_min ? MX_REJECT_TOO_SHORT : MX_REJECT_NONE;
}

/* The list from the index of a packed file: of its good rows, or (from_folder) of all that a folder would list. */
static int list_packed(struct mx_dataset *dataset, const struct mx_dataset_options *options, bool from_folder)
{
    int rc = 0;
    const struct mx_packed_header *const header = mx_packed_header(dataset->packed);
    dataset->list = mx_alloc(header->record_count, sizeof *dataset->list);
    if (dataset->list == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_dataset_rejects_open(dataset));
    for (uint32_t row = 0; row < header->record_count; row++) {
        const struct mx_packed_record *const record = mx_packed_record(dataset->packed, row);
        dataset->rejects[row] = (uint8_t)record->reject;
        if (!from_folder && record->reject == 0)
            dataset->rejects[row] = (uint8_t)length_judge(dataset, record->samples);
        if (from_folder ? record->samples_bound == 0 : dataset->rejects[row] != 0) continue;
        dataset->list[dataset->count++] =
            (struct mx_dataset_utterance){.id = mx_packed_id(dataset->packed, row),
                                          .row = row,
                                          .samples = from_folder ? record->samples_bound : record->samples,
                                          .frames = record->frames,
                                          .tokens = record->token_count,
                                          .speaker = record->speaker,
                                          .language = record->language,
                                          .validation = (record->flags & MX_PACKED_VALIDATION) != 0};
    }
    if (!dataset->listed) MX_TRY(list_split(dataset, &options->manifest));
out:
    return rc;
}

/* Recipe and kind of split, from the metadata. */
static int metadata_read(struct mx_dataset *dataset)
{
    int rc = 0;
    size_t bytes = 0;
    const char *const text = mx_packed_metadata(dataset->packed, &bytes);
    cJSON *root = NULL;
    MX_TRY(mx_cjson_parse(text, bytes, NULL, &root));
    const cJSON *const options = cJSON_GetObjectItemCaseSensitive(root, "options");
    const cJSON *const validation = cJSON_GetObjectItemCaseSensitive(root, "validation");
    const char *const recipe = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(options, "recipe"));
    const char *const hash = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(options, "recipe_hash"));
    const char *const rate = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(options, "rate"));
    int64_t hz = MX_AUDIO_RATE_DEFAULT;
    dataset->textless = cJSON_HasObjectItem(options, "texts");
    if (recipe == NULL || hash == NULL || !cJSON_IsString(validation) ||
        (rate != NULL &&
         (mx_string_parse_int64(rate, &hz) != MX_STRING_NUMBER || hz < MX_AUDIO_RATE_MIN || hz > MX_AUDIO_RATE_MAX)))
        MX_RAISE(MX_ERR_FORMAT, "make it again with 'myxtts prepare'",
                 "the metadata of the packed corpus is incomplete");
    dataset->listed = strcmp(validation->valuestring, "listed") == 0;
    dataset->rate = (int)hz;
    dataset->recipe = mx_strdup(recipe);
    dataset->recipe_hash = mx_strdup(hash);
    if (dataset->recipe == NULL || dataset->recipe_hash == NULL) MX_TRY(MX_ERR_NO_MEMORY);
out:
    cJSON_Delete(root);
    return rc;
}

/* ---- a vocabulary of the caller ---- */

int mx_dataset_tokens_check(const struct mx_vocabulary *own, const struct mx_vocabulary *wanted, const char *name)
{
    char quoted[300];
    mx_string_quote(quoted, sizeof quoted, name);
    if (mx_vocabulary_mode(own) != mx_vocabulary_mode(wanted))
        return MX_FAIL(MX_ERR_DATA, "prepare the corpus with the model's '--tokens'",
                       "the packed corpus %s holds %s, but the vocabulary is made of %s", quoted,
                       mx_tokens_mode_name(mx_vocabulary_mode(own)), mx_tokens_mode_name(mx_vocabulary_mode(wanted)));
    if (mx_vocabulary_cleaner(own) != mx_vocabulary_cleaner(wanted))
        return MX_FAIL(MX_ERR_DATA, "prepare the packed corpora again with this version",
                       "the corpus %s has texts of version %d, but the vocabulary has version %d", quoted,
                       mx_vocabulary_cleaner(own), mx_vocabulary_cleaner(wanted));
    return 0;
}

/* Maps the token numbers of the packed file to those of the requested vocabulary. */
static int tokens_map(struct mx_dataset *dataset, const struct mx_vocabulary *wanted, const char *path)
{
    int rc = 0;
    char name[MX_SYMBOL_NAME_BYTES];
    const struct mx_vocabulary *const own = mx_packed_vocabulary(dataset->packed);
    const size_t size = mx_vocabulary_size(own);
    MX_TRY(mx_dataset_tokens_check(own, wanted, path));
    dataset->token_map = mx_alloc(size, sizeof *dataset->token_map);
    if (dataset->token_map == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t token = 0; token < size; token++) {
        const uint32_t symbol = mx_vocabulary_symbol(own, (int32_t)token);
        dataset->token_map[token] = token < MX_TOKEN_FIRST ? (int32_t)token : mx_vocabulary_find(wanted, symbol);
        if (dataset->token_map[token] < 0)
            MX_RAISE(MX_ERR_DATA,
                     "use a corpus of the same language; of its folder, named instead of the packed file, only rows "
                     "with such symbols are left out",
                     "the packed corpus has the symbol %s, which is not in the vocabulary",
                     mx_symbol_name(symbol, name));
    }
    for (int language = 0; language < MX_LANGUAGE_COUNT; language++) {
        const int from = mx_vocabulary_language(own, (enum mx_language_id)language);
        const int to = mx_vocabulary_language(wanted, (enum mx_language_id)language);
        if (from < 0) continue;
        if (to < 0)
            MX_RAISE(MX_ERR_DATA, "use a corpus of the same language, or train a new model",
                     "the packed corpus has texts in %s, which is not in the vocabulary",
                     mx_language_get((enum mx_language_id)language)->name);
        dataset->language_map[from] = (uint32_t)to;
    }
    for (uint32_t i = 0; i < dataset->count; i++)
        dataset->list[i].language = dataset->language_map[dataset->list[i].language];
out:
    return rc;
}

static int vocabulary_copy(struct mx_dataset *dataset, const struct mx_vocabulary *source)
{
    char *json = NULL;
    int rc = mx_vocabulary_write(source, &json);
    if (rc >= 0) rc = mx_vocabulary_read(json, strlen(json), &dataset->vocabulary);
    mx_free(json);
    return rc;
}

/* ---- opening ---- */

/* What comes from a packed file, whether it is the corpus itself or the cache of a folder. */
static int packed_use(struct mx_dataset *dataset, const struct mx_dataset_options *options, bool from_folder)
{
    int rc = 0;
    const struct mx_vocabulary *const wanted = options->row.vocabulary;
    dataset->header = *mx_packed_header(dataset->packed);
    MX_TRY(metadata_read(dataset));
    MX_TRY(list_packed(dataset, options, from_folder));
    if (wanted != NULL && !from_folder) MX_TRY(tokens_map(dataset, wanted, options->path));
    MX_TRY(vocabulary_copy(dataset, wanted != NULL && !from_folder ? wanted : mx_packed_vocabulary(dataset->packed)));
out:
    return rc;
}

static int folder_use(struct mx_dataset *dataset, const struct mx_dataset_options *options)
{
    int rc = 0;
    MX_TRY(mx_dataset_folder_open(dataset, options));
    if (dataset->packed != NULL) {
        MX_TRY(packed_use(dataset, options, true));
        goto out;
    }
    dataset->recipe = mx_strdup("none");
    dataset->recipe_hash = mx_strdup("none");
    if (dataset->recipe == NULL || dataset->recipe_hash == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (!dataset->listed) MX_TRY(list_split(dataset, &options->manifest));
    MX_TRY(vocabulary_copy(dataset, mx_pack_spec_vocabulary(dataset->spec)));
out:
    return rc;
}

/* Is a text a part of the whole, ignoring blanks? */
static bool text_within(const char *part, const char *whole)
{
    for (; *whole != '\0'; whole++) {
        const char *p = part, *w = whole;
        for (;;) {
            p += strspn(p, " \t");
            w += strspn(w, " \t");
            if (*p == '\0') return true;
            if (*p != *w) break;
            p++;
            w++;
        }
    }
    return false;
}

/* Does a row of a packed file agree with the decisions about it, or if it is a piece (pieces.h) about its row? */
static int row_decided(const struct mx_dataset *dataset, const struct mx_decisions *decisions, uint32_t row,
                       struct mx_packed_buffer *buffer, const struct mx_decision **broken)
{
    struct mx_packed_view view;
    const char *const name = mx_packed_id(dataset->packed, row);
    const struct mx_decision *const own = mx_decisions_find(decisions, name, strlen(name));
    const size_t length = own == NULL ? mx_pieces_row(name) : 0;
    const struct mx_decision *const made = length > 0 ? mx_decisions_find(decisions, name, length) : own;
    bool done = made == NULL || made->kind == MX_DECISION_KEEP;
    *broken = NULL;
    if (!done && made->kind == MX_DECISION_FIX && dataset->textless) done = true;
    if (!done && made->kind == MX_DECISION_FIX) {
        const int rc = mx_packed_get(dataset->packed, row, buffer, &view);
        if (rc < 0) return rc;
        done = length > 0 ? text_within(view.text, made->text) : strcmp(view.text, made->text) == 0;
    }
    if (!done) *broken = made;
    return 0;
}

/* Was a packed file made with the decisions that are wanted? A row that is dropped must not be there, one that is fixed
 * must have its new text. What else is in the file of decisions makes no difference. */
static int packed_decided(const struct mx_dataset *dataset, const struct mx_dataset_options *options)
{
    int rc = 0;
    char quoted[300], id[96];
    struct mx_packed_buffer buffer = {0};
    struct mx_decisions *decisions = NULL;
    if (options->manifest.decisions == NULL) return 0;
    MX_TRY(mx_decisions_open(options->manifest.decisions, &decisions));
    for (uint32_t row = 0; row < mx_packed_header(dataset->packed)->record_count; row++) {
        const char *const name = mx_packed_id(dataset->packed, row);
        const struct mx_decision *broken;
        MX_TRY(row_decided(dataset, decisions, row, &buffer, &broken));
        if (broken != NULL)
            MX_RAISE(MX_ERR_DATA,
                     "make it again with 'myxtts prepare', which takes the same '--decisions FILE', or omit "
                     "'--decisions': it has those that it was made with",
                     "the packed corpus %s was not made with the decisions %s: row %s is not %s",
                     mx_string_quote(quoted, sizeof quoted, options->path), options->manifest.decisions,
                     mx_string_quote(id, sizeof id, name), broken->kind == MX_DECISION_FIX ? "fixed" : "dropped");
    }
out:
    mx_packed_buffer_release(&buffer);
    mx_decisions_close(decisions);
    return rc;
}

/* Can a packed file be used for what is wanted? */
static int packed_suits(const struct mx_dataset *dataset, const struct mx_dataset_options *options)
{
    char quoted[300];
    mx_string_quote(quoted, sizeof quoted, options->path);
    if (dataset->textless && !options->sounds)
        return MX_FAIL(MX_ERR_DATA, "it can train a vocoder: '--part vocoder'", "the packed corpus %s has no texts",
                       quoted);
    if (options->row.lexicon != NULL && options->row.vocabulary == NULL &&
        !mx_lexicon_same(options->row.lexicon, mx_dataset_lexicon(dataset)))
        return MX_FAIL(MX_ERR_DATA, "make it again with 'myxtts prepare --lexicon FILE'",
                       "the packed corpus %s was not made with the lexicon %s", quoted,
                       mx_lexicon_name(options->row.lexicon));
    if (options->sounds && dataset->header.kind == MX_PACKED_FEATURES)
        return MX_FAIL(MX_ERR_DATA, "prepare the corpus without '--features', or name its folder",
                       "the packed corpus %s has no sound: it holds precomputed features", quoted);
    return 0;
}

/* The options as all parts of a corpus without texts see them: nothing about texts makes a difference. */
static struct mx_dataset_options options_settle(const struct mx_dataset_options *options)
{
    struct mx_dataset_options own = *options;
    own.manifest.sounds = own.row.sounds = options->sounds;
    if (!options->sounds) return own;
    own.row.language = MX_ROW_LANGUAGE_DETECT;
    own.row.tokens = MX_TOKENS_CHARS;
    own.row.vocabulary = NULL;
    own.row.lexicon = NULL;
    return own;
}

/* Not a single row can be used. */
static int none_fail(const struct mx_dataset *dataset, const struct mx_dataset_options *options)
{
    char quoted[300], first[96];
    const char *id;
    enum mx_reject reject;
    uint32_t row = 0;
    mx_string_quote(quoted, sizeof quoted, options->path);
    if (!options->sounds || !mx_dataset_left_out(dataset, &row, &id, &reject))
        return MX_FAIL(MX_ERR_DATA, "run 'myxtts check' to see why", "no row of the corpus %s can be used", quoted);
    MX_FAIL(MX_ERR_DATA, NULL, "none of the %u sound files of %s can be used; the first one, %s: %s",
            (unsigned)mx_dataset_rows(dataset), quoted, mx_string_quote(first, sizeof first, id),
            mx_reject_text(reject));
    if (reject != MX_REJECT_TOO_LONG && reject != MX_REJECT_TOO_SHORT)
        return mx_error_hint("give it recordings that a player can play: wav, flac, ogg, opus or mp3");
    return mx_error_hint("recordings from %g to %g seconds are used; '--set data.min_seconds=S' and '--set "
                         "data.max_seconds=S' change that",
                         dataset->seconds_min, dataset->seconds_max);
}

/* With settled options. */
static int dataset_open(const struct mx_dataset_options *options, struct mx_dataset **out)
{
    int rc = 0;
    bool packed;
    struct mx_dataset *dataset = mx_alloc(1, sizeof *dataset);
    *out = NULL;
    if (dataset == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    pthread_mutex_init(&dataset->reject_lock, NULL);
    dataset->rate = options->row.audio.rate;
    dataset->seconds_min = options->row.audio.seconds_min;
    dataset->seconds_max = options->row.audio.seconds_max;
    MX_TRY(mx_packed_detect(options->path, &packed));
    if (packed) {
        MX_TRY(mx_packed_open(options->path, &dataset->packed));
        MX_TRY(packed_use(dataset, options, false));
        MX_TRY(packed_suits(dataset, options));
        MX_TRY(packed_decided(dataset, options));
    } else {
        MX_TRY(folder_use(dataset, options));
    }
    if (dataset->count == 0) MX_TRY(none_fail(dataset, options));
    mx_dataset_rejects_start(dataset);
    if (dataset->manifest != NULL) {
        dataset->contents = mx_alloc(mx_dataset_rows_of(dataset), sizeof *dataset->contents);
        if (dataset->contents == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    *out = dataset;
    dataset = NULL;
out:
    mx_dataset_close(dataset);
    return rc;
}

int mx_dataset_open(const struct mx_dataset_options *options, struct mx_dataset **out)
{
    int rc = 0;
    struct mx_dataset *dataset = NULL;
    struct mx_dataset_options settled = options_settle(options);
    bool held;
    *out = NULL;
    MX_TRY(mx_dataset_held_wanted(&settled, &held));
    if (held) {
        settled.manifest.validation = NULL;
        settled.manifest.validation_fraction = 0;
    }
    MX_TRY(dataset_open(&settled, &dataset));
    settled.manifest = options->manifest;
    if (held) MX_TRY(mx_dataset_held_open(dataset, &settled));
    *out = dataset;
    dataset = NULL;
out:
    mx_dataset_close(dataset);
    return rc;
}

void mx_dataset_close(struct mx_dataset *dataset)
{
    if (dataset == NULL) return;
    mx_dataset_held_close(dataset);
    if (dataset->packed != NULL || dataset->manifest != NULL) mx_dataset_rejects_close(dataset);
    pthread_mutex_destroy(&dataset->reject_lock);
    mx_dataset_folder_close(dataset);
    mx_packed_close(dataset->packed);
    mx_vocabulary_destroy(dataset->vocabulary);
    mx_free(dataset->list);
    mx_free(dataset->token_map);
    mx_free(dataset->contents);
    mx_free(dataset->recipe);
    mx_free(dataset->recipe_hash);
    mx_free(dataset);
}

/* ---- asking ---- */

uint32_t mx_dataset_count(const struct mx_dataset *dataset)
{
    return dataset->count + (dataset->held != NULL ? dataset->held->count : 0);
}

const struct mx_dataset_utterance *mx_dataset_utterance(const struct mx_dataset *dataset, uint32_t index)
{
    return index < dataset->count ? &dataset->list[index] : &dataset->held->list[index - dataset->count];
}

const struct mx_vocabulary *mx_dataset_vocabulary(const struct mx_dataset *dataset)
{
    return dataset->vocabulary;
}

const struct mx_lexicon *mx_dataset_lexicon(const struct mx_dataset *dataset)
{
    const struct mx_vocabulary *const own =
        dataset->packed != NULL ? mx_packed_vocabulary(dataset->packed) : dataset->vocabulary;
    return mx_vocabulary_reading(own)->lexicon;
}

/* Without those of rows from elsewhere. */
static uint32_t own_speakers(const struct mx_dataset *dataset)
{
    return dataset->packed != NULL ? mx_packed_speaker_count(dataset->packed) : dataset->manifest->speaker_count;
}

uint32_t mx_dataset_speaker_count(const struct mx_dataset *dataset)
{
    return own_speakers(dataset) + dataset->held_new_count;
}

const char *mx_dataset_speaker(const struct mx_dataset *dataset, uint32_t speaker)
{
    const uint32_t own = own_speakers(dataset);
    if (speaker >= own) return dataset->held_new[speaker - own];
    return dataset->packed != NULL ? mx_packed_speaker(dataset->packed, speaker) : dataset->manifest->speakers[speaker];
}

enum mx_packed_kind mx_dataset_kind(const struct mx_dataset *dataset)
{
    return (enum mx_packed_kind)dataset->header.kind;
}

const struct mx_packed_tensor *mx_dataset_tensor(const struct mx_dataset *dataset, uint32_t i)
{
    return i < dataset->header.tensor_count ? &dataset->header.tensors[i] : NULL;
}

int mx_dataset_rate(const struct mx_dataset *dataset)
{
    return dataset->rate;
}

const char *mx_dataset_recipe(const struct mx_dataset *dataset)
{
    return dataset->recipe;
}

const char *mx_dataset_recipe_hash(const struct mx_dataset *dataset)
{
    return dataset->recipe_hash;
}

bool mx_dataset_left_out(const struct mx_dataset *dataset, uint32_t *row, const char **id, enum mx_reject *reject)
{
    const bool packed = dataset->packed != NULL;
    const struct mx_manifest *const manifest = dataset->manifest;
    const uint32_t rows = packed ? mx_packed_header(dataset->packed)->record_count : manifest->utterance_count;
    uint32_t at = 0; /* the list stands in the order of the rows */
    for (; *row < rows; (*row)++) {
        while (at < dataset->count && dataset->list[at].row < *row) at++;
        const bool listed = at < dataset->count && dataset->list[at].row == *row;
        if (!listed && dataset->rejects[*row] != MX_REJECT_NONE) break;
    }
    if (*row < rows) {
        *id = packed ? mx_packed_id(dataset->packed, *row) : manifest->utterances[*row].id;
        *reject = (enum mx_reject)dataset->rejects[*row];
        (*row)++;
        return true;
    }
    /* The lines of the manifest that did not become rows follow the rows. */
    for (; manifest != NULL && *row - rows < manifest->problem_count; (*row)++) {
        const struct mx_manifest_problem *const problem = &manifest->problems[*row - rows];
        if (problem->reject == MX_REJECT_NONE) continue;
        *id = problem->id;
        *reject = problem->reject;
        (*row)++;
        return true;
    }
    const uint32_t own = rows + (manifest != NULL ? manifest->problem_count : 0);
    uint32_t other = *row - own;
    const bool found = dataset->held != NULL && mx_dataset_left_out(dataset->held, &other, id, reject);
    *row = own + other;
    return found;
}

bool mx_dataset_is_folder(const struct mx_dataset *dataset)
{
    return dataset->manifest != NULL || (dataset->held != NULL && dataset->held->manifest != NULL);
}

/* ---- loading ---- */

int mx_dataset_reader_create(struct mx_dataset *dataset, struct mx_dataset_reader **out)
{
    int rc = 0;
    struct mx_dataset_reader *reader = mx_alloc(1, sizeof *reader);
    *out = NULL;
    if (reader == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    reader->dataset = dataset;
    if (dataset->spec != NULL && dataset->packed == NULL)
        MX_TRY(mx_pack_spec_worker_create(dataset->spec, 0, &reader->worker));
    if (dataset->packed != NULL) MX_TRY(mx_packed_buffer_reserve(&reader->buffer, mx_packed_largest(dataset->packed)));
    if (dataset->held != NULL) MX_TRY(mx_dataset_reader_create(dataset->held, &reader->held));
    *out = reader;
    reader = NULL;
out:
    mx_dataset_reader_destroy(reader);
    return rc;
}

void mx_dataset_reader_destroy(struct mx_dataset_reader *reader)
{
    if (reader == NULL) return;
    mx_dataset_reader_destroy(reader->held);
    mx_pack_spec_worker_destroy(reader->worker);
    mx_packed_buffer_release(&reader->buffer);
    mx_packed_buffer_release(&reader->floats);
    mx_packed_buffer_release(&reader->numbers);
    mx_free(reader);
}

/* The item from a record that is known to be good. */
static int item_fill(struct mx_dataset_reader *reader, const struct mx_packed_record *record,
                     const struct mx_packed_view *view, struct mx_dataset_item *item)
{
    int rc = 0;
    const struct mx_dataset *const dataset = reader->dataset;
    *item = (struct mx_dataset_item){.frames = record->frames,
                                     .tokens = view->tokens,
                                     .token_count = record->token_count,
                                     .speaker = record->speaker,
                                     .language = record->language,
                                     .id = view->id,
                                     .text = view->text,
                                     .spoken = view->spoken,
                                     .reject = (enum mx_reject)record->reject};
    if (record->reject != 0) {
        char id[96];
        mx_dataset_reject_note(reader->dataset, record->row, item->reject, view->id, view->detail);
        return MX_FAIL(MX_ERR_DATA, "'myxtts check' lists all rows of the corpus that cannot be used",
                       "row %s cannot be used (%s): %s", mx_string_quote(id, sizeof id, view->id),
                       mx_reject_name(item->reject), view->detail);
    }
    if (dataset->token_map != NULL) {
        MX_TRY(mx_packed_buffer_reserve(&reader->numbers, record->token_count * sizeof(int32_t)));
        int32_t *const numbers = (int32_t *)(void *)reader->numbers.data;
        for (uint32_t i = 0; i < record->token_count; i++) numbers[i] = dataset->token_map[view->tokens[i]];
        item->tokens = numbers;
        item->language = dataset->language_map[record->language];
    }
    if (dataset->header.kind == MX_PACKED_AUDIO) {
        MX_TRY(mx_packed_buffer_reserve(&reader->floats, record->samples * sizeof(float)));
        float *const samples = (float *)(void *)reader->floats.data;
        mx_packed_samples(record, view, samples);
        item->samples = samples;
        item->sample_count = record->samples;
    }
    memcpy(item->tensors, view->tensors, sizeof item->tensors);
out:
    return rc;
}

int mx_dataset_load(struct mx_dataset_reader *reader, uint32_t index, struct mx_dataset_item *item)
{
    int rc = 0;
    struct mx_dataset *const dataset = reader->dataset;
    struct mx_packed_record record;
    struct mx_packed_view view;
    const uint32_t all = mx_dataset_count(dataset);
    *item = (struct mx_dataset_item){0};
    if (index >= all) MX_RAISE(MX_ERR_ARGUMENT, NULL, "utterance %u does not exist: there are %u", index, all);
    if (index >= dataset->count) return mx_dataset_held_load(reader, index - dataset->count, item);
    const uint32_t row = dataset->list[index].row;
    if (dataset->packed != NULL) {
        MX_TRY(mx_packed_get(dataset->packed, row, &reader->buffer, &view));
        record = *mx_packed_record(dataset->packed, row);
    } else {
        MX_TRY(mx_dataset_folder_load(reader, index, &record, &view));
    }
    MX_TRY(item_fill(reader, &record, &view, item));
    if (dataset->contents != NULL) MX_TRY(mx_dataset_contents_note(dataset, row, record.payload_hash, view.id));
out:
    return rc;
}
