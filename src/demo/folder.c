/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The folder of a demo corpus, see folder.h; its files are described in demo.h.
 */
#include "demo/folder.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/format/cjson.h"
#include "base/string.h"
#include "myxtts/error.h"

#define MARKER             "demo.json"
#define MARKER_FORMAT      "myxtts demo corpus"
#define MARKER_VERSION     1
#define MARKER_LIMIT_BYTES 65536
#define WAV_LIMIT_BYTES    (16u << 20)
#define WAV_SECONDS_MIN    0.3
#define WAV_SECONDS_MAX    60.0
#define WAV_PEAK_MIN       512 /* of 32,768: silence and mere noise are no speech */
#define QUOTED_BYTES       300
/* What one sentence takes on the disk: hardly any needs less, most need more. */
#define SENTENCE_BYTES_MIN 40000u

/* ---- recordings ---- */

static uint32_t little32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t little16(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static int wav_peak(const unsigned char *samples, size_t count)
{
    int peak = 0;
    for (size_t i = 0; i < count; i++) {
        const int value = (int16_t)little16(samples + 2 * i), size = value < 0 ? -value : value;
        if (size > peak) peak = size;
    }
    return peak;
}

/* What is wrong with the bytes of a WAV file, or NULL. */
static const char *wav_fault(const unsigned char *data, size_t bytes, double *seconds)
{
    uint32_t rate = 0;
    if (bytes < 12 || memcmp(data, "RIFF", 4) != 0 || memcmp(data + 8, "WAVE", 4) != 0) return "it is no WAV file";
    if ((size_t)little32(data + 4) + 8 != bytes) return "its header names another size";
    for (size_t at = 12; at + 8 <= bytes;) {
        const size_t size = little32(data + at + 4), body = at + 8;
        if (size > bytes - body) return "it is cut off";
        if (memcmp(data + at, "fmt ", 4) == 0 && size >= 16) {
            if (little16(data + body) != 1 || little16(data + body + 2) != 1 || little16(data + body + 14) != 16)
                return "it is not 16-bit mono";
            rate = little32(data + body + 4);
        } else if (memcmp(data + at, "data", 4) == 0) {
            if (rate < 8000 || rate > 48000) return "its sample rate is strange";
            const size_t samples = size / 2;
            *seconds = (double)samples / (double)rate;
            if (*seconds < WAV_SECONDS_MIN || *seconds > WAV_SECONDS_MAX) return "its length is strange";
            return wav_peak(data + body, samples) < WAV_PEAK_MIN ? "it is silent" : NULL;
        }
        at = body + size + (size & 1);
    }
    return "it holds no audio";
}

int mx_demo_wav_check(const char *path, double *seconds, uint64_t *bytes)
{
    char *data = NULL, quoted[QUOTED_BYTES];
    size_t size = 0;
    int rc = mx_file_read(path, WAV_LIMIT_BYTES, &data, &size);
    if (rc < 0) return rc;
    const char *const fault = wav_fault((const unsigned char *)data, size, seconds);
    if (fault != NULL)
        rc = MX_FAIL(MX_ERR_FORMAT, NULL, "%s is not usable: %s", mx_string_quote(quoted, sizeof quoted, path), fault);
    *bytes = size;
    mx_free(data);
    return rc;
}

int mx_demo_space_check(const char *folder, uint64_t needed_bytes)
{
    struct statvfs space;
    char quoted[QUOTED_BYTES];
    if (statvfs(folder, &space) != 0) return 0; /* then the write itself will fail if it is full */
    const uint64_t free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    if (free_bytes >= needed_bytes) return 0;
    return MX_FAIL(MX_ERR_IO, "free some space, choose another folder or a smaller count; finished files are kept",
                   "the disk of %s is full: %.1f MB are free, at least %.1f MB are needed",
                   mx_string_quote(quoted, sizeof quoted, folder), (double)free_bytes / 1e6,
                   (double)needed_bytes / 1e6);
}

/* ---- demo.json ---- */

static int marker_write(const struct mx_demo_options *options, uint64_t texts_hash)
{
    int rc = 0;
    char number[32], *path = NULL, *json = NULL;
    struct mx_string text = {0};
    cJSON *const root = cJSON_CreateObject();
    bool whole = cJSON_AddStringToObject(root, "format", MARKER_FORMAT) != NULL;
    whole = cJSON_AddNumberToObject(root, "version", MARKER_VERSION) != NULL && whole;
    whole = cJSON_AddStringToObject(root, "language", mx_language_get(options->language)->code) != NULL && whole;
    whole = cJSON_AddNumberToObject(root, "count", options->count) != NULL && whole;
    whole = cJSON_AddNumberToObject(root, "speakers", options->speakers) != NULL && whole;
    snprintf(number, sizeof number, "%" PRIu64, options->seed);
    whole = cJSON_AddStringToObject(root, "seed", number) != NULL && whole;
    whole = cJSON_AddStringToObject(root, "teacher", mx_teacher_program(options->language)) != NULL && whole;
    snprintf(number, sizeof number, "%016" PRIx64, texts_hash);
    whole = cJSON_AddStringToObject(root, "texts", number) != NULL && whole;
    json = whole ? cJSON_Print(root) : NULL;
    if (json == NULL) MX_TRY(mx_alloc_failed(MARKER));
    path = mx_format("%s/" MARKER, options->folder);
    mx_string_append(&text, "%s\n", json);
    if (path == NULL || text.failure != 0) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_file_write_atomic(path, text.data, text.length));
out:
    cJSON_Delete(root);
    cJSON_free(json);
    mx_string_release(&text);
    mx_free(path);
    return rc;
}

/* The value of `name` as text: strings verbatim, whole numbers in digits, "" for anything else. */
static void marker_value(const cJSON *root, const char *name, char out[64])
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(root, name);
    out[0] = '\0';
    if (cJSON_IsString(item))
        snprintf(out, 64, "%s", item->valuestring);
    else if (cJSON_IsNumber(item))
        snprintf(out, 64, "%.0f", item->valuedouble);
}

/* Whether the marker has the same parameters. */
static int marker_compare(const struct mx_demo_options *options, uint64_t texts_hash, const cJSON *root)
{
    char quoted[QUOTED_BYTES], found[64], wanted[5][64];
    static const char *const names[5] = {"language", "count", "speakers", "seed", "texts"};
    mx_string_quote(quoted, sizeof quoted, options->folder);
    snprintf(wanted[0], sizeof wanted[0], "%s", mx_language_get(options->language)->code);
    snprintf(wanted[1], sizeof wanted[1], "%" PRIu32, options->count);
    snprintf(wanted[2], sizeof wanted[2], "%" PRIu32, options->speakers);
    snprintf(wanted[3], sizeof wanted[3], "%" PRIu64, options->seed);
    snprintf(wanted[4], sizeof wanted[4], "%016" PRIx64, texts_hash);
    marker_value(root, "format", found);
    if (strcmp(found, MARKER_FORMAT) != 0)
        return MX_FAIL(MX_ERR_DATA, "choose a new or an empty folder", "%s holds a " MARKER " of something else",
                       quoted);
    for (int i = 0; i < 5; i++) {
        marker_value(root, names[i], found);
        if (strcmp(found, wanted[i]) == 0) continue;
        if (i == 4)
            return MX_FAIL(MX_ERR_DATA, "choose a new folder, or remove this one first",
                           "the demo corpus in %s was made by a version with other sentences", quoted);
        return MX_FAIL(MX_ERR_DATA, "use the same parameters to complete it, or choose a new folder",
                       "the demo corpus in %s was made with %s %.40s, not %s", quoted, names[i],
                       found[0] == '\0' ? "nothing" : found, wanted[i]);
    }
    return 0;
}

/* *known: there is a marker and it fits. A missing marker is not a failure. */
static int marker_read(const struct mx_demo_options *options, uint64_t texts_hash, bool *known)
{
    int rc = 0;
    char *data = NULL, quoted[QUOTED_BYTES];
    size_t bytes = 0;
    cJSON *root = NULL;
    char *const path = mx_format("%s/" MARKER, options->folder);
    *known = false;
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    rc = mx_file_read(path, MARKER_LIMIT_BYTES, &data, &bytes);
    if (rc == MX_ERR_NOT_FOUND) {
        mx_error_clear();
        rc = 0;
        goto out;
    }
    MX_TRY(rc);
    MX_TRY(mx_cjson_parse(data, bytes, NULL, &root));
    if (root == NULL)
        MX_RAISE(MX_ERR_DATA, "choose a new folder, or remove this one first", "%s is damaged",
                 mx_string_quote(quoted, sizeof quoted, path));
    MX_TRY(marker_compare(options, texts_hash, root));
    *known = true;
out:
    cJSON_Delete(root);
    mx_free(data);
    mx_free(path);
    return rc;
}

/* ---- the folder ---- */

/* Makes `path` and what is missing above it. */
static int folders_create(const char *path)
{
    int rc = 0;
    char quoted[QUOTED_BYTES];
    char *const partial = mx_strdup(path);
    if (partial == NULL) return MX_ERR_NO_MEMORY;
    for (char *at = partial + 1;; at++) {
        if (*at != '/' && *at != '\0') continue;
        const char kept = *at;
        *at = '\0';
        if (mkdir(partial, 0777) != 0 && errno != EEXIST)
            MX_RAISE(MX_ERR_IO, "check that the place exists and may be written to", "cannot make the folder %s: %s",
                     mx_string_quote(quoted, sizeof quoted, partial), strerror(errno));
        *at = kept;
        if (kept == '\0') break;
    }
out:
    mx_free(partial);
    return rc;
}

static bool name_ends(const char *name, const char *suffix)
{
    const size_t length = strlen(name), end = strlen(suffix);
    return length >= end && strcmp(name + length - end, suffix) == 0;
}

/* Names that a killed run may leave: temporary files of mx_file_write_atomic, and unfinished recordings. */
static bool page_leftover(const char *name)
{
    static const char *const pages[] = {MARKER ".", "README.txt.", "metadata.csv."};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strncmp(name, pages[i], strlen(pages[i])) == 0) return name_ends(name, ".tmp");
    return false;
}

static bool recording_leftover(const char *name)
{
    return name_ends(name, ".part");
}

/* Counts what a folder holds apart from leftovers, which are removed if asked. `first` (may be NULL) gets one name. */
static int folder_count(const char *folder, bool (*leftover)(const char *), bool remove, uint32_t *count,
                        char first[256])
{
    int rc = 0;
    char quoted[QUOTED_BYTES];
    DIR *const dir = opendir(folder);
    *count = 0;
    if (dir == NULL)
        MX_RAISE(MX_ERR_IO, "check the permissions of the folder", "cannot read the folder %s: %s",
                 mx_string_quote(quoted, sizeof quoted, folder), strerror(errno));
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (leftover(entry->d_name)) {
            if (remove) unlinkat(dirfd(dir), entry->d_name, 0);
            continue;
        }
        if (first != NULL && *count == 0) snprintf(first, 256, "%s", entry->d_name);
        ++*count;
    }
out:
    if (dir != NULL) closedir(dir);
    return rc;
}

static int folder_lock(const char *folder, int *lock)
{
    char quoted[QUOTED_BYTES];
    mx_string_quote(quoted, sizeof quoted, folder);
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0)
        return MX_FAIL(MX_ERR_IO, "check the path and its permissions", "cannot open the folder %s: %s", quoted,
                       strerror(errno));
    if (flock(*lock, LOCK_EX | LOCK_NB) != 0)
        return MX_FAIL(MX_ERR_IO, "wait until the other program is done", "another program is working in %s", quoted);
    return 0;
}

static int readme_write(const struct mx_demo_options *options)
{
    int rc = 0;
    struct mx_string text = {0};
    const char *const program = mx_teacher_program(options->language);
    const bool several = options->speakers > 1;
    char *const path = mx_format("%s/README.txt", options->folder);
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_string_append(&text,
                     "A demo corpus for MyXTTS: %" PRIu32 " %s sentences.\n\n"
                     "Nobody was recorded for this. The voice%s a synthetic teacher: the program %s\n"
                     "read every sentence. A model trained on this folder learns to imitate that\n"
                     "program; it shows that training works, not how good a voice can be.\n\n",
                     options->count, mx_language_get(options->language)->name, several ? "s are" : " is", program);
    for (uint32_t i = 0; i < options->speakers; i++)
        mx_string_append(&text, "    speaker %-6s %s, voice %s\n", mx_teacher_speaker(options->language, i), program,
                         mx_teacher_voice(options->language, i));
    mx_string_append(&text, "\nmetadata.csv  %s\n",
                     several ? "id|speaker|text" : "id|text as written|text as spoken, in words");
    mx_string_append(&text, "wavs/         id.wav, 16-bit mono, as the program wrote it\n"
                            "demo.json     the parameters; the same command completes an unfinished folder\n\n");
    mx_string_append(
        &text, "myxtts corpus demo DIR --language %s --count %" PRIu32 " --speakers %" PRIu32 " --seed %" PRIu64 "\n",
        mx_language_get(options->language)->code, options->count, options->speakers, options->seed);
    MX_TRY(text.failure);
    MX_TRY(mx_file_write_atomic(path, text.data, text.length));
out:
    mx_string_release(&text);
    mx_free(path);
    return rc;
}

int mx_demo_folder_open(const struct mx_demo_options *options, uint64_t texts_hash, int *lock)
{
    int rc = 0;
    bool known = false;
    uint32_t entries = 0;
    char first[256], quoted[QUOTED_BYTES], name[96], *wavs = NULL;
    *lock = -1;
    if (options->folder[0] == '\0')
        MX_RAISE(MX_ERR_ARGUMENT, "name a folder to make", "the name of the folder is empty");
    MX_TRY(folders_create(options->folder));
    MX_TRY(folder_lock(options->folder, lock));
    MX_TRY(marker_read(options, texts_hash, &known));
    if (!known) {
        MX_TRY(folder_count(options->folder, page_leftover, false, &entries, first));
        if (entries > 0)
            MX_RAISE(MX_ERR_DATA, "choose a new or an empty folder; nothing was changed",
                     "%s is not a demo corpus: it holds %s", mx_string_quote(quoted, sizeof quoted, options->folder),
                     mx_string_quote(name, sizeof name, first));
    }
    wavs = mx_format("%s/wavs", options->folder);
    if (wavs == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (!known) MX_TRY(marker_write(options, texts_hash));
    MX_TRY(folder_count(options->folder, page_leftover, true, &entries, NULL)); /* from here on the folder is ours */
    MX_TRY(folders_create(wavs));
    MX_TRY(readme_write(options));
    MX_TRY(folder_count(wavs, recording_leftover, true, &entries, NULL));
    if (entries < options->count)
        MX_TRY(mx_demo_space_check(options->folder, (uint64_t)(options->count - entries) * SENTENCE_BYTES_MIN));
out:
    if (rc < 0 && *lock >= 0) {
        close(*lock);
        *lock = -1;
    }
    mx_free(wavs);
    return rc;
}
