/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of a manifest: each becomes an utterance or a problem with its line.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/string.h"
#include "corpus/manifest/manifest_internal.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 200
#define PATH_BYTES   4096

/* ---- which ids and recordings were seen ---- */

/* Open addressing, never more than half full; grows by doubling. */
struct mx_manifest_seen_entry {
    const char *key; /* NULL: free */
    const char *root;
    uint64_t hash;
    uint32_t source, line;
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static struct mx_manifest_seen_entry *seen_slot(const struct mx_manifest_seen *seen,
                                                const struct mx_manifest_seen_entry *wanted)
{
    size_t at = wanted->hash & (seen->capacity - 1);
    for (;; at = (at + 1) & (seen->capacity - 1)) {
        struct mx_manifest_seen_entry *const entry = &seen->entries[at];
        if (entry->key == NULL) return entry;
        if (entry->hash == wanted->hash && strcmp(entry->key, wanted->key) == 0 &&
            strcmp(entry->root, wanted->root) == 0)
            return entry;
    }
}

/* *before: the entry that was there already, or NULL and the new one is in. Strings are borrowed. */
static int seen_add(struct mx_manifest_seen *seen, const char *root, const char *key, uint32_t source, uint32_t line,
                    const struct mx_manifest_seen_entry **before)
{
    const struct mx_manifest_seen_entry wanted = {
        key, root, hash_text(hash_text(UINT64_C(0xcbf29ce484222325), root), key), source, line};
    if (seen->count * 2 >= seen->capacity) {
        struct mx_manifest_seen grown = {.capacity = seen->capacity == 0 ? 1024 : seen->capacity * 2,
                                         .count = seen->count};
        grown.entries = mx_alloc(grown.capacity, sizeof grown.entries[0]);
        if (grown.entries == NULL) return MX_ERR_NO_MEMORY;
        for (size_t i = 0; i < seen->capacity; i++)
            if (seen->entries[i].key != NULL) *seen_slot(&grown, &seen->entries[i]) = seen->entries[i];
        mx_free(seen->entries);
        *seen = grown;
    }
    struct mx_manifest_seen_entry *const slot = seen_slot(seen, &wanted);
    *before = slot->key == NULL ? NULL : slot;
    if (slot->key != NULL) return 0;
    *slot = wanted;
    seen->count++;
    return 0;
}

/* ---- where the audio is ---- */

static const char *const extensions[] = {"wav", "flac", "ogg", "opus", "mp3", "WAV"};
#define EXTENSION_COUNT (sizeof extensions / sizeof extensions[0])
static const char *const id_folders[] = {"wavs/", "wav/", ""};
static const char *const path_folders[] = {"", "../", "wavs/", "wav/", "clips/"};

struct finder {
    const char *root; /* "" for the folder of the file system itself */
    const char *const *folders;
    size_t folder_count;
    size_t folder, extension; /* where the last one was; extension EXTENSION_COUNT: as it is written */
};

static bool is_file(const char *path, struct stat *status)
{
    return stat(path, status) == 0 && S_ISREG(status->st_mode);
}

/* Tries one place; `extension` EXTENSION_COUNT takes the name as it is written. */
static bool finder_try(const struct finder *finder, const char *name, size_t folder, size_t extension,
                       char out[PATH_BYTES], struct stat *status)
{
    const size_t length = strlen(name), stem = mx_manifest_stem(name, length);
    const bool as_is = extension == EXTENSION_COUNT;
    if (as_is && stem == length) return false; /* an id needs an extension */
    const bool absolute = name[0] == '/';
    if (absolute && folder != 0) return false;
    const int size = snprintf(out, PATH_BYTES, "%s%s%s%.*s%s%s", absolute ? "" : finder->root, absolute ? "" : "/",
                              absolute ? "" : finder->folders[folder], (int)(as_is ? length : stem), name,
                              as_is ? "" : ".", as_is ? "" : extensions[extension]);
    return size > 0 && size < PATH_BYTES && is_file(out, status);
}

static bool finder_search(struct finder *finder, const char *name, char out[PATH_BYTES], struct stat *status)
{
    if (finder_try(finder, name, finder->folder, finder->extension, out, status)) return true;
    for (size_t folder = 0; folder < finder->folder_count; folder++) {
        for (size_t i = 0; i <= EXTENSION_COUNT; i++) {
            const size_t extension = i == 0 ? EXTENSION_COUNT : i - 1; /* as it is written comes first */
            if (!finder_try(finder, name, folder, extension, out, status)) continue;
            finder->folder = folder;
            finder->extension = extension;
            return true;
        }
    }
    return false;
}

bool mx_manifest_has_folder(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    struct stat status;
    const int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    return size > 0 && size < PATH_BYTES && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ---- growing arrays ---- */

struct rows {
    struct mx_manifest *manifest;
    const struct mx_manifest_shape *shape;
    struct finder finder;
    struct mx_manifest_state *state;
    uint32_t source, line;
    bool validation;
};

int mx_manifest_problem_add(struct mx_manifest *manifest, struct mx_manifest_state *state,
                            const struct mx_manifest_problem *problem)
{
    const size_t count = manifest->problem_count;
    if (MX_GROW(manifest->problems, state->problem_capacity, count + 1) < 0) return MX_ERR_NO_MEMORY;
    struct mx_manifest_problem *const own = &manifest->problems[count];
    *own = *problem;
    own->message = mx_arena_strdup(&manifest->arena, problem->message);
    if (own->message == NULL) return MX_ERR_NO_MEMORY;
    manifest->problem_count++;
    if (problem->reject != MX_REJECT_NONE) manifest->rejected++;
    return 0;
}

int mx_manifest_utterance_add(struct mx_manifest *manifest, struct mx_manifest_state *state,
                              const struct mx_utterance *utterance)
{
    const size_t needed = (size_t)manifest->utterance_count + 1;
    if (MX_GROW(manifest->utterances, state->utterance_capacity, needed) < 0) return MX_ERR_NO_MEMORY;
    manifest->utterances[manifest->utterance_count++] = *utterance;
    return 0;
}

static int problem_add(struct rows *rows, enum mx_reject reject, const char *id, const char *message)
{
    const struct mx_manifest_problem problem = {rows->source, rows->line, reject, id, message};
    return mx_manifest_problem_add(rows->manifest, rows->state, &problem);
}

/* ---- one row ---- */

/* The id of a row whose first column is a path: the path below the root, without its extension. */
static const char *id_of_path(struct rows *rows, const char *path)
{
    const size_t root = strlen(rows->finder.root);
    while (strncmp(path, "./", 2) == 0) path += 2;
    if (strncmp(path, rows->finder.root, root) == 0 && path[root] == '/') path += root + 1;
    return mx_arena_strndup(&rows->manifest->arena, path, mx_manifest_stem(path, strlen(path)));
}

/* Quotes to which a CSV reader would give a special meaning are reported, and kept. */
static int quotes_note(struct rows *rows, const char *id, const char *text)
{
    size_t quotes = 0;
    const size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) quotes += text[i] == '"';
    if (quotes % 2 != 0)
        return problem_add(rows, MX_REJECT_NONE, id,
                           "a stray '\"' in the text, kept as it is: manifests have no quoting");
    if (length > 1 && text[0] == '"' && text[length - 1] == '"')
        return problem_add(rows, MX_REJECT_NONE, id,
                           "the whole text is in '\"', kept as they are: manifests have no quoting");
    return 0;
}

/* A span of the manifest's own bytes becomes a string: the byte after it is a separator or a blank. */
static const char *span_string(struct mx_manifest_span span)
{
    char *const at = (char *)(uintptr_t)span.at;
    at[span.length] = '\0';
    return at;
}

/* The same of a field; in one that was in quotes, two of them are one. */
static const char *field_string(const struct rows *rows, struct mx_manifest_span line, struct mx_manifest_span field)
{
    const char *before = field.at;
    while (before > line.at && (before[-1] == ' ' || before[-1] == '\t')) before--;
    if (rows->shape->separator != ',' || before == line.at || before[-1] != '"') return span_string(field);
    char *const text = (char *)(uintptr_t)field.at;
    size_t length = 0;
    for (size_t i = 0; i < field.length; i++) {
        text[length++] = field.at[i];
        if (field.at[i] == '"' && i + 1 < field.length && field.at[i + 1] == '"') i++;
    }
    return span_string((struct mx_manifest_span){text, length});
}

/* What a manifest may have only once: `key` below `root`, called `what` in messages. */
struct unique {
    const char *root, *key, *what;
};

static int duplicate_check(struct rows *rows, struct mx_manifest_seen *seen, const struct unique *unique,
                           const char *id, bool *good)
{
    const struct mx_manifest_seen_entry *before;
    char message[QUOTED_BYTES + PATH_BYTES];
    const int rc = seen_add(seen, unique->root, unique->key, rows->source, rows->line, &before);
    if (rc < 0 || before == NULL) return rc;
    *good = false;
    if (before->source == rows->source)
        snprintf(message, sizeof message, "line %" PRIu32 " has the same %s", before->line, unique->what);
    else
        snprintf(message, sizeof message, "line %" PRIu32 " of %s has the same %s", before->line,
                 rows->manifest->sources[before->source].path, unique->what);
    return problem_add(rows, MX_REJECT_DUPLICATE_ID, id, message);
}

/* Finds the recording of a row whose columns are good. */
static int row_locate(struct rows *rows, const char *audio, struct mx_utterance *utterance, bool *good)
{
    char path[PATH_BYTES], message[2 * QUOTED_BYTES + 64], quoted[QUOTED_BYTES];
    struct stat status;
    if (!finder_search(&rows->finder, audio, path, &status)) {
        *good = false;
        const bool by_id = rows->finder.folders == id_folders;
        snprintf(message, sizeof message, "no audio file %s%s%s", mx_string_quote(quoted, sizeof quoted, audio),
                 by_id ? " in wavs/ or wav/" : "",
                 mx_manifest_stem(audio, strlen(audio)) < strlen(audio) ? "" : " (wav, flac, ogg, opus, mp3)");
        return problem_add(rows, MX_REJECT_MISSING_FILE, utterance->id, message);
    }
    utterance->audio = mx_arena_strdup(&rows->manifest->arena, path);
    if (utterance->audio == NULL) return MX_ERR_NO_MEMORY;
    utterance->audio_bytes = (uint64_t)status.st_size;
    utterance->audio_mtime_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    const struct unique recording = {"", utterance->audio, "recording"};
    return duplicate_check(rows, &rows->state->recordings, &recording, utterance->id, good);
}

/* Sets decision and text of a row that people decided about. True: it is dropped. */
static bool decision_apply(struct rows *rows, struct mx_utterance *utterance)
{
    utterance->decision =
        mx_manifest_decide(rows->manifest, rows->state, rows->source, utterance->id, &utterance->text);
    return utterance->decision == MX_DECISION_DROP;
}

/* One row, whose line is UTF-8. */
static int row_read(struct rows *rows, struct mx_manifest_span line)
{
    int rc = 0;
    bool good = true;
    char message[QUOTED_BYTES];
    struct mx_manifest_span fields[MX_MANIFEST_FIELDS];
    const struct mx_manifest_shape *const shape = rows->shape;
    const size_t count = mx_manifest_line_split(line, shape->separator, fields);
    if (count < shape->fields_min || count > shape->fields_max) {
        snprintf(message, sizeof message, "%zu column%s where %s has %zu%s", count, count == 1 ? "" : "s",
                 shape->columns, shape->fields_max,
                 count <= shape->fields_max ? ""
                 : shape->separator == '|'  ? ": a stray '|' in the text?"
                                            : ": a stray separator in the text?");
        return problem_add(rows, MX_REJECT_BAD_LINE, count > 1 ? span_string(fields[0]) : "", message);
    }
    struct mx_utterance utterance = {
        .source = rows->source, .line = rows->line, .validation = rows->validation, .id = "", .text = ""};
    const char *const audio = field_string(rows, line, fields[shape->audio]);
    utterance.id = rows->finder.folders == id_folders ? audio : id_of_path(rows, audio);
    if (utterance.id == NULL) return MX_ERR_NO_MEMORY;
    if (audio[0] == '\0') return problem_add(rows, MX_REJECT_BAD_LINE, "", "the first column is empty");
    if (decision_apply(rows, &utterance)) return mx_manifest_drop(rows->manifest, rows->state, &utterance);
    const bool fixed = utterance.text[0] != '\0';
    const bool has_text = shape->text < count && fields[shape->text].length > 0;
    if (!fixed && has_text)
        utterance.text = field_string(rows, line, fields[shape->text]);
    else if (!fixed && shape->raw < count)
        utterance.text = span_string(fields[shape->raw]);
    if (rows->state->sounds)
        utterance.text = "";
    else if (utterance.text[0] == '\0')
        return problem_add(rows, MX_REJECT_EMPTY_TEXT, utterance.id, "the text is empty");
    const struct unique id = {rows->finder.root, utterance.id, "id"};
    MX_TRY(duplicate_check(rows, &rows->state->ids, &id, utterance.id, &good));
    if (!good) goto out;
    MX_TRY(row_locate(rows, audio, &utterance, &good));
    if (!good) goto out;
    if (!fixed && !has_text && !rows->state->sounds)
        MX_TRY(problem_add(rows, MX_REJECT_NONE, utterance.id,
                           "there is no normalised text; the raw one of column 2 is used"));
    if (shape->separator != ',') MX_TRY(quotes_note(rows, utterance.id, utterance.text));
    utterance.speaker_name = MX_MANIFEST_SPEAKER;
    if (shape->speaker < count && fields[shape->speaker].length > 0)
        utterance.speaker_name = field_string(rows, line, fields[shape->speaker]);
    if (shape->language < count) utterance.language = field_string(rows, line, fields[shape->language]);
    MX_TRY(mx_manifest_utterance_add(rows->manifest, rows->state, &utterance));
out:
    return rc;
}

/* A line that is not text at all is reported with the place of the fault. */
static int line_read(struct rows *rows, struct mx_manifest_span line)
{
    char message[QUOTED_BYTES];
    const size_t fault = mx_utf8_check(line.at, line.length);
    if (fault < line.length) {
        snprintf(message, sizeof message, "byte %zu of the line, 0x%02X, is not UTF-8", fault + 1,
                 (unsigned char)line.at[fault]);
        return problem_add(rows, MX_REJECT_INVALID_UTF8, "", message);
    }
    if (memchr(line.at, '\0', line.length) != NULL)
        return problem_add(rows, MX_REJECT_BAD_LINE, "", "the line holds a zero byte");
    return row_read(rows, line);
}

void mx_manifest_state_release(struct mx_manifest_state *state)
{
    mx_free(state->ids.entries);
    mx_free(state->recordings.entries);
    for (int i = 0; i < MX_MANIFEST_SOURCES; i++) mx_free(state->decided[i]);
    *state = (struct mx_manifest_state){0};
}

int mx_manifest_stopped(const struct mx_manifest_state *state, const char *path)
{
    char quoted[QUOTED_BYTES];
    if (state->stop == NULL || !atomic_load_explicit(state->stop, memory_order_relaxed)) return 0;
    return MX_FAIL(MX_ERR_INTERRUPTED, "start the command again", "interrupted while %s was read",
                   mx_string_quote(quoted, sizeof quoted, path));
}

int mx_manifest_rows(struct mx_manifest *manifest, struct mx_manifest_state *state, uint32_t source,
                     const struct mx_manifest_shape *shape, struct mx_manifest_span text, bool validation)
{
    int rc = 0;
    size_t at = 0;
    struct mx_manifest_span line;
    bool header = shape->header;
    const bool by_id = shape->format == MX_MANIFEST_LJSPEECH || shape->format == MX_MANIFEST_PIPER;
    struct mx_manifest_source *const from = &manifest->sources[source];
    struct rows rows = {
        .manifest = manifest, .shape = shape, .state = state, .source = source, .validation = validation};
    rows.finder = (struct finder){.root = from->root,
                                  .folders = by_id ? id_folders : path_folders,
                                  .folder_count = by_id ? sizeof id_folders / sizeof id_folders[0]
                                                        : sizeof path_folders / sizeof path_folders[0],
                                  .extension = EXTENSION_COUNT};
    while (mx_manifest_line_next(text.at, text.length, &at, &line)) {
        rows.line++;
        MX_TRY(mx_manifest_stopped(state, from->path));
        if (mx_manifest_line_blank(line)) continue;
        if (header) {
            header = false;
            continue;
        }
        if (from->rows == MX_MANIFEST_ROWS_MAX)
            MX_RAISE(MX_ERR_DATA, "check that it is the right file", "%s has more than %u rows", from->path,
                     MX_MANIFEST_ROWS_MAX);
        from->rows++;
        MX_TRY(line_read(&rows, line));
    }
    manifest->rows += from->rows;
out:
    return rc;
}
