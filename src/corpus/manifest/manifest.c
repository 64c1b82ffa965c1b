/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Manifests: finding the files in a folder, opening, speakers and the split; see manifest.h.
 */
#include "corpus/manifest/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/string.h"
#include "corpus/manifest/manifest_internal.h"
#include "corpus/packed/packed.h"
#include "corpus/pieces.h"
#include "myxtts/error.h"

#define QUOTED_BYTES  300
#define PEEK_BYTES    65536u                 /* of a file whose name says nothing */
#define CANDIDATE_MAX 8                      /* files of that kind that a message names */
#define SPLIT_STREAM  UINT64_C(0x73706c6974) /* keeps the draws of the split apart from other uses of the seed */

/* ---- names ---- */

static const char *const format_names[MX_MANIFEST_FORMAT_COUNT] = {
#define X(identifier, name) name,
    MX_MANIFEST_FORMAT_LIST(X)
#undef X
};

const char *mx_manifest_format_name(enum mx_manifest_format format)
{
    return (size_t)format < MX_MANIFEST_FORMAT_COUNT ? format_names[format] : "unknown";
}

int mx_manifest_format_parse(const char *text, enum mx_manifest_format *out)
{
    char quoted[QUOTED_BYTES];
    for (int i = 0; i < MX_MANIFEST_FORMAT_COUNT; i++) {
        if (strcasecmp(text, format_names[i]) != 0) continue;
        *out = (enum mx_manifest_format)i;
        return 0;
    }
    return MX_FAIL(MX_ERR_CONFIG, "choose auto, ljspeech, piper, coqui or filelist", "unknown manifest format %s",
                   mx_string_quote(quoted, sizeof quoted, text));
}

/* ---- the split ---- */

struct lot {
    uint64_t key;
    const char *id;
    uint32_t index;
};

static int lot_compare(const void *left, const void *right)
{
    const struct lot *const a = left, *const b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return strcmp(a->id, b->id);
}

static uint64_t lot_key(uint64_t seed, const char *id)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    uint32_t block[4];
    for (; *id != '\0'; id++) hash = (hash ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
    mx_philox(seed, SPLIT_STREAM, hash, block);
    return (uint64_t)block[1] << 32 | block[0];
}

static bool fraction_good(double fraction)
{
    return fraction >= 0 && fraction <= 0.5;
}

static int fraction_fail(double fraction)
{
    return MX_FAIL(MX_ERR_ARGUMENT, "0.05 keeps one row in twenty for validation",
                   "the share of validation rows is %g; it must be from 0 to 0.5", fraction);
}

int mx_manifest_split(uint64_t seed, double fraction, const char *const *ids, uint32_t count, bool *out)
{
    if (!fraction_good(fraction)) return fraction_fail(fraction);
    memset(out, 0, count * sizeof out[0]);
    uint32_t chosen = (uint32_t)lround((double)count * fraction);
    if (chosen == 0 && fraction > 0) chosen = 1;
    if (fraction == 0 || count < 2) return 0; /* a single row is needed for training */
    struct lot *const lots = mx_alloc(count, sizeof lots[0]);
    if (lots == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) lots[i] = (struct lot){lot_key(seed, ids[i]), ids[i], i};
    qsort(lots, count, sizeof lots[0], lot_compare);
    for (uint32_t i = 0; i < chosen; i++) out[lots[i].index] = true;
    mx_free(lots);
    return 0;
}

static int split_apply(struct mx_manifest *manifest, const struct mx_manifest_options *options)
{
    int rc = 0;
    const uint32_t count = manifest->utterance_count;
    const char **const ids = mx_alloc(count, sizeof ids[0]);
    bool *const chosen = mx_alloc(count, sizeof chosen[0]);
    if (ids == NULL || chosen == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < count; i++) ids[i] = manifest->utterances[i].id;
    MX_TRY(mx_manifest_split(options->seed, options->validation_fraction, ids, count, chosen));
    for (uint32_t i = 0; i < count; i++) manifest->utterances[i].validation = chosen[i];
out:
    mx_free(ids);
    mx_free(chosen);
    return rc;
}

/* ---- speakers ---- */

static int name_compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int speakers_number(struct mx_manifest *manifest)
{
    const uint32_t count = manifest->utterance_count;
    const char **const names = mx_alloc(count, sizeof names[0]);
    if (names == NULL) return MX_ERR_NO_MEMORY;
    manifest->speakers = names;
    /* Neighbours mostly share their speaker, which keeps the sort of a usual corpus tiny. */
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *const name = manifest->utterances[i].speaker_name;
        if (used == 0 || strcmp(names[used - 1], name) != 0) names[used++] = name;
    }
    qsort(names, used, sizeof names[0], name_compare);
    for (uint32_t i = 0; i < used; i++)
        if (i == 0 || strcmp(names[i], names[manifest->speaker_count - 1]) != 0)
            names[manifest->speaker_count++] = names[i];
    for (uint32_t i = 0; i < count; i++) {
        struct mx_utterance *const utterance = &manifest->utterances[i];
        const char **const found =
            bsearch(&utterance->speaker_name, names, manifest->speaker_count, sizeof names[0], name_compare);
        utterance->speaker = (uint32_t)(found - names);
    }
    return 0;
}

/* ---- opening ---- */

/* Which files a folder or path means; names are pieces of the manifest's arena. */
struct choice {
    const char *root;
    const char *files[MX_MANIFEST_SOURCES]; /* whole paths: training, validation */
    uint32_t count;
};

static bool file_exists(const char *folder, const char *name)
{
    struct stat status;
    char path[4096];
    const int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    return size > 0 && (size_t)size < sizeof path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static const char *arena_join(struct mx_arena *arena, const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *const path = mx_arena_alloc(arena, size, 1);
    if (path != NULL) snprintf(path, size, "%s/%s", folder, name);
    return path;
}

/* Whether the beginning of a file looks like a manifest; unreadable ones do not. */
static bool file_plausible(const char *path, char *buffer)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0) return false;
    ssize_t got = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? read(fd, buffer, PEEK_BYTES) : 0;
    close(fd);
    if (got <= 0) return false;
    const char *const end = memrchr(buffer, '\n', (size_t)got);
    if ((size_t)got == PEEK_BYTES && end != NULL) got = end - buffer;
    return mx_manifest_plausible(buffer, (size_t)got);
}

static bool has_list_extension(const char *name)
{
    const char *const dot = strrchr(name, '.');
    return dot != NULL && dot != name &&
           (strcasecmp(dot, ".csv") == 0 || strcasecmp(dot, ".txt") == 0 ||
            (strcasecmp(dot, ".tsv") == 0 && strcmp(name, MX_DECISIONS_NAME) != 0));
}

/* Looks for the only file in `root` that looks like a manifest; *found stays NULL if there is none. */
static int folder_search(struct mx_arena *arena, const char *root, const char **found)
{
    int rc = 0;
    char quoted[QUOTED_BYTES], names[CANDIDATE_MAX * 64] = "";
    size_t count = 0;
    char *const buffer = mx_alloc(PEEK_BYTES, 1);
    struct dirent **entries = NULL;
    int entry_count = 0;
    if (buffer == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    entry_count = scandir(root, &entries, NULL, alphasort);
    if (entry_count < 0)
        MX_RAISE(MX_ERR_IO, "check the permissions of the folder", "cannot list the folder %s: %s",
                 mx_string_quote(quoted, sizeof quoted, root), strerror(errno));
    for (int i = 0; i < entry_count; i++) {
        if (!has_list_extension(entries[i]->d_name)) continue;
        const char *const path = arena_join(arena, root, entries[i]->d_name);
        if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        if (!file_plausible(path, buffer)) continue;
        *found = path;
        if (count++ < CANDIDATE_MAX) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%.60s", used > 0 ? ", " : "", entries[i]->d_name);
        }
    }
    if (count > 1)
        MX_RAISE(MX_ERR_DATA, "name the file instead of the folder, or call it metadata.csv",
                 "the folder %s has several files that could be the manifest: %s",
                 mx_string_quote(quoted, sizeof quoted, root), names);
out:
    for (int i = 0; i < entry_count; i++) free(entries[i]); /* scandir's own */
    free(entries);
    mx_free(buffer);
    return rc;
}

static int folder_choose(struct mx_arena *arena, const char *root, struct choice *choice)
{
    static const char *const known[][MX_MANIFEST_SOURCES] = {{"metadata_train.csv", "metadata_eval.csv"},
                                                             {"metadata.csv", NULL},
                                                             {"metadata_train.csv", NULL},
                                                             {"train.txt", "val.txt"}};
    char quoted[QUOTED_BYTES];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!file_exists(root, known[i][0]) || (known[i][1] != NULL && !file_exists(root, known[i][1]))) continue;
        choice->count = known[i][1] == NULL ? 1 : 2;
        for (uint32_t j = 0; j < choice->count; j++) {
            choice->files[j] = arena_join(arena, root, known[i][j]);
            if (choice->files[j] == NULL) return MX_ERR_NO_MEMORY;
        }
        if (i == 0 && file_exists(root, "metadata.csv"))
            mx_info("metadata.csv is ignored because metadata_train.csv and metadata_eval.csv exist");
        return 0;
    }
    const int rc = folder_search(arena, root, &choice->files[0]);
    if (rc < 0) return rc;
    choice->count = 1;
    if (choice->files[0] != NULL) return 0;
    return MX_FAIL(MX_ERR_NOT_FOUND,
                   "put metadata.csv there, one line id|text for each recording wavs/id.wav, or name the manifest file",
                   "there is no manifest in the folder %s", mx_string_quote(quoted, sizeof quoted, root));
}

/* `sounds`: a folder stands for itself. */
static int path_choose(struct mx_arena *arena, const char *path, bool sounds, struct choice *choice)
{
    bool packed;
    struct stat status;
    char quoted[QUOTED_BYTES];
    mx_string_quote(quoted, sizeof quoted, path);
    *choice = (struct choice){0};
    if (stat(path, &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return MX_FAIL(MX_ERR_NOT_FOUND, "check the path; relative paths start at the current folder",
                           "there is no folder or file %s", quoted);
        return MX_FAIL(MX_ERR_IO, "check the permissions", "cannot look at %s: %s", quoted, strerror(errno));
    }
    size_t length = strlen(path);
    if (S_ISDIR(status.st_mode)) {
        while (length > 1 && path[length - 1] == '/') length--;
        choice->root = mx_arena_strndup(arena, path, length);
        if (choice->root == NULL) return MX_ERR_NO_MEMORY;
        if (!sounds) return folder_choose(arena, choice->root, choice);
        choice->files[0] = choice->root;
        choice->count = 1;
        return 0;
    }
    if (mx_manifest_stem(path, length) < length && !sounds)
        return MX_FAIL(MX_ERR_DATA,
                       "name the folder with the recordings and their metadata.csv, one line id|text for each; "
                       "'myxtts train --part vocoder --train-data DIR' needs no texts",
                       "%s is a single recording, not a corpus", quoted);
    const int rc = mx_packed_detect(path, &packed);
    if (rc < 0) return rc;
    if (packed)
        return MX_FAIL(MX_ERR_DATA, "name the folder or the manifest file that it was made of",
                       "%s is a packed corpus, which has no manifest", quoted);
    const char *const slash = strrchr(path, '/');
    choice->root = slash == NULL ? "." : mx_arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
    choice->files[0] = mx_arena_strdup(arena, path);
    choice->count = 1;
    return choice->root == NULL || choice->files[0] == NULL ? MX_ERR_NO_MEMORY : 0;
}

/* A source that is to be read. */
struct source {
    const char *root, *path;
    enum mx_manifest_format format;
    bool validation;
    const char *decisions; /* NULL: those beside it */
};

/* Reads one source from memory. Its path and root are kept, `data` is copied. */
static int source_read(struct mx_manifest *manifest, struct mx_manifest_state *state, const struct source *from,
                       const char *data, size_t bytes)
{
    int rc = 0;
    struct mx_manifest_shape shape;
    const uint32_t index = manifest->source_count;
    struct mx_manifest_source *const source = &manifest->sources[index];
    const uint32_t problems = manifest->problem_count, rejected = manifest->rejected;
    const bool wav_folder = mx_manifest_has_folder(from->root, "wav") && !mx_manifest_has_folder(from->root, "wavs");
    char *const copy = mx_arena_alloc(&manifest->arena, bytes + 1, 1);
    if (copy == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    memcpy(copy, data, bytes);
    const size_t mark = bytes >= 3 && memcmp(copy, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const struct mx_manifest_span text = {copy + mark, bytes - mark};
    MX_TRY(mx_manifest_detect(from->path, text, from->format, wav_folder, &manifest->arena, &shape));
    *source = (struct mx_manifest_source){
        .path = from->path, .root = from->root, .format = shape.format, .columns = shape.columns, .bytes = bytes};
    manifest->source_count++;
    MX_TRY(mx_manifest_decisions_open(manifest, state, index, from->decisions));
    MX_TRY(mx_manifest_rows(manifest, state, index, &shape, text, from->validation));
    if (!state->quiet)
        mx_info("manifest %s: format %s (%s), %" PRIu32 " rows, %" PRIu32 " of them rejected, %" PRIu32 " notes",
                from->path, mx_manifest_format_name(shape.format), shape.columns, source->rows,
                manifest->rejected - rejected, manifest->problem_count - problems - (manifest->rejected - rejected));
out:
    return rc;
}

/* A folder of sounds. */
static int sounds_open(struct mx_manifest *manifest, struct mx_manifest_state *state, const struct source *from)
{
    const uint32_t index = manifest->source_count++;
    struct mx_manifest_source *const source = &manifest->sources[index];
    *source = (struct mx_manifest_source){
        .path = from->path, .root = from->root, .format = MX_MANIFEST_FILELIST, .columns = "path"};
    int rc = mx_manifest_decisions_open(manifest, state, index, from->decisions);
    if (rc == 0) rc = mx_manifest_sounds(manifest, state, index, from->validation);
    if (rc == 0 && !state->quiet) mx_info("folder %s: %" PRIu32 " sound files", from->path, source->rows);
    return rc;
}

static int source_open(struct mx_manifest *manifest, struct mx_manifest_state *state, const struct source *from)
{
    int rc = 0;
    if (from->path == from->root) return sounds_open(manifest, state, from);
    char *data = NULL;
    size_t bytes = 0;
    struct stat status;
    MX_TRY(mx_file_read(from->path, MX_MANIFEST_LIMIT_BYTES, &data, &bytes));
    MX_TRY(source_read(manifest, state, from, data, bytes));
    if (stat(from->path, &status) == 0)
        manifest->sources[manifest->source_count - 1].mtime_ns =
            (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
out:
    mx_free(data);
    return rc;
}

static int manifest_create(struct mx_manifest **out)
{
    struct mx_manifest *const manifest = mx_alloc(1, sizeof *manifest);
    if (manifest == NULL) return MX_ERR_NO_MEMORY;
    mx_arena_init(&manifest->arena, 0);
    *out = manifest;
    return 0;
}

/* Ends the opening: numbers the speakers, and splits unless a source was for validation. */
static int manifest_finish(struct mx_manifest *manifest, const struct mx_manifest_state *state,
                           const struct mx_manifest_options *options)
{
    int rc = 0;
    MX_TRY(mx_manifest_decisions_log(manifest, state));
    MX_TRY(speakers_number(manifest));
    if (manifest->source_count == 1) MX_TRY(split_apply(manifest, options));
out:
    return rc;
}

int mx_manifest_open(const char *path, const struct mx_manifest_options *options, struct mx_manifest **out)
{
    int rc = 0;
    struct mx_manifest *manifest = NULL;
    struct mx_manifest_state state = {.sounds = options != NULL && options->sounds,
                                      .quiet = options != NULL && options->quiet,
                                      .undecided = options != NULL && options->undecided,
                                      .stop = options != NULL ? options->stop : NULL};
    struct choice training, validation = {0};
    const struct mx_manifest_options defaults = MX_MANIFEST_OPTIONS_DEFAULT;
    if (options == NULL) options = &defaults;
    *out = NULL;
    if (!fraction_good(options->validation_fraction)) return fraction_fail(options->validation_fraction);
    MX_TRY(manifest_create(&manifest));
    MX_TRY(path_choose(&manifest->arena, path, state.sounds, &training));
    if (options->validation != NULL)
        MX_TRY(path_choose(&manifest->arena, options->validation, state.sounds, &validation));
    const char *const decisions = options->decisions;
    MX_TRY(source_open(manifest, &state,
                       &(struct source){training.root, training.files[0], options->format, false, decisions}));
    if (options->validation != NULL)
        MX_TRY(source_open(manifest, &state,
                           &(struct source){validation.root, validation.files[0], MX_MANIFEST_AUTO, true, decisions}));
    else if (training.count == 2)
        MX_TRY(source_open(manifest, &state,
                           &(struct source){training.root, training.files[1], options->format, true, decisions}));
    if (options->pieces != NULL && !state.sounds) MX_TRY(mx_pieces_apply(manifest, options->pieces));
    if (manifest->pieces != NULL) MX_TRY(mx_manifest_decide_pieces(manifest, &state));
    MX_TRY(manifest_finish(manifest, &state, options));
    *out = manifest;
    manifest = NULL;
out:
    mx_manifest_state_release(&state);
    mx_manifest_close(manifest);
    return rc;
}

int mx_manifest_parse(const char *root, const char *name, const char *data, size_t bytes,
                      const struct mx_manifest_options *options, struct mx_manifest **out)
{
    int rc = 0;
    struct mx_manifest *manifest = NULL;
    struct mx_manifest_state state = {0};
    const struct mx_manifest_options defaults = MX_MANIFEST_OPTIONS_DEFAULT;
    if (options == NULL) options = &defaults;
    *out = NULL;
    if (!fraction_good(options->validation_fraction)) return fraction_fail(options->validation_fraction);
    MX_TRY(manifest_create(&manifest));
    const char *const kept_root = mx_arena_strdup(&manifest->arena, root);
    const char *const path = arena_join(&manifest->arena, root, name);
    if (kept_root == NULL || path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const struct source source = {kept_root, path, options->format, false, options->decisions};
    MX_TRY(source_read(manifest, &state, &source, data, bytes));
    MX_TRY(manifest_finish(manifest, &state, options));
    *out = manifest;
    manifest = NULL;
out:
    mx_manifest_state_release(&state);
    mx_manifest_close(manifest);
    return rc;
}

void mx_manifest_close(struct mx_manifest *manifest)
{
    if (manifest == NULL) return;
    mx_free(manifest->utterances);
    mx_free(manifest->problems);
    mx_free((void *)manifest->speakers);
    mx_manifest_decisions_close(manifest);
    mx_arena_release(&manifest->arena);
    mx_free(manifest);
}
