/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pictures and sounds of a run for its page, see page.h: read from
 *
 *     samples/recorded/000.wav …           the recordings whose texts are spoken
 *     samples/step-00000500/000.wav …      the same texts, spoken by the voice
 *     samples/step-00000500/target.png, prediction.png, difference.png, alignment.png
 *
 * A page should be small enough to mail and to read on a phone: of many evaluations it shows a few, always including
 * the first and the newest.
 */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"
#include "observe/json.h"
#include "observe/page/page.h"
#include "observe/page/page_internal.h"

#define SOUND_STEPS   3 /* evaluations whose samples can be heard */
#define SOUND_NUMBERS 4 /* samples of each, at most */
#define PICTURE_STEPS 4
#define FOLDER        "step-%08" PRId64

/* Steps that have a folder below samples/, in order. */
struct steps {
    int64_t *list;
    size_t count, capacity;
};

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int steps_find(const char *samples, struct steps *steps)
{
    int rc = 0;
    DIR *const list = opendir(samples);
    if (list == NULL) return 0; /* a run without samples */
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        int64_t step;
        if (strncmp(entry->d_name, "step-", 5) != 0) continue;
        const char *digits = entry->d_name + 5 + strspn(entry->d_name + 5, "0");
        if (mx_string_parse_int64(*digits == '\0' ? "0" : digits, &step) != MX_STRING_NUMBER || step < 0) continue;
        MX_TRY(MX_GROW(steps->list, steps->capacity, steps->count + 1));
        steps->list[steps->count++] = step;
    }
    if (steps->count > 0) qsort(steps->list, steps->count, sizeof *steps->list, by_number);
out:
    closedir(list);
    return rc;
}

static bool file_exists(const char *samples, int64_t step, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" FOLDER "/%s", samples, step, name);
    return access(path, R_OK) == 0;
}

/* Keeps the steps that have this file, and of those at most `most`: first, newest, and evenly between. */
static void steps_keep(const char *samples, struct steps *steps, const char *name, size_t most)
{
    size_t have = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (file_exists(samples, steps->list[i], name)) steps->list[have++] = steps->list[i];
    steps->count = have < most ? have : most;
    for (size_t i = 0; i < steps->count && have > most; i++) steps->list[i] = steps->list[i * (have - 1) / (most - 1)];
}

/* The file as a data: address; null if it is not there or cannot be read. */
static void file_put(struct mx_string *out, const char *key, const char *type, const char *path)
{
    char *data = NULL;
    size_t bytes = 0;
    const int rc = mx_file_read(path, MX_PAGE_FILE_MAX, &data, &bytes);
    if (rc < 0) {
        if (rc == MX_ERR_NO_MEMORY && out->failure == 0) out->failure = rc;
        if (rc != MX_ERR_NO_MEMORY) mx_error_clear();
        mx_json_null(out, key);
        return;
    }
    mx_json_data(out, key, type, data, bytes);
    mx_free(data);
}

static int pictures_put(const char *samples, const struct steps *steps, struct mx_string *out)
{
    static const char *const names[] = {"target", "prediction", "difference", "alignment"};
    mx_json_begin(out, "pictures", '[');
    for (size_t i = 0; i < steps->count; i++) {
        mx_json_begin(out, NULL, '{');
        mx_json_count(out, "step", steps->list[i]);
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            char path[PATH_MAX];
            snprintf(path, sizeof path, "%s/" FOLDER "/%s.png", samples, steps->list[i], names[k]);
            file_put(out, names[k], "image/png", path);
        }
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
    return out->failure;
}

/* samples/FOLDER/NUMBER.wav, with the step unless it is negative: a recording. */
static bool sound_put(const char *samples, const char *folder, int64_t step, int number, struct mx_string *out)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%03d.wav", samples, folder, number);
    if (access(path, R_OK) != 0) return false;
    mx_json_begin(out, NULL, '{');
    if (step >= 0) mx_json_count(out, "step", step);
    mx_json_count(out, "number", number);
    file_put(out, "audio", "audio/wav", path);
    mx_json_end(out, '}');
    return true;
}

static void sounds_put(const char *samples, const struct steps *steps, struct mx_string *out)
{
    mx_json_begin(out, "sounds", '[');
    for (size_t i = 0; i < steps->count; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, FOLDER, steps->list[i]);
        for (int n = 0; n < SOUND_NUMBERS; n++) sound_put(samples, folder, steps->list[i], n, out);
    }
    mx_json_end(out, ']');
    mx_json_begin(out, "recordings", '[');
    for (int n = 0; n < SOUND_NUMBERS; n++)
        if (!sound_put(samples, "recorded", -1, n, out)) break;
    mx_json_end(out, ']');
}

int mx_page_media(const char *run, struct mx_string *out)
{
    int rc = 0;
    struct steps pictures = {0}, sounds = {0};
    char *const samples = mx_format("%s/samples", run);
    if (samples == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(steps_find(samples, &pictures));
    MX_TRY(steps_find(samples, &sounds));
    steps_keep(samples, &pictures, "prediction.png", PICTURE_STEPS);
    steps_keep(samples, &sounds, "000.wav", SOUND_STEPS);
    MX_TRY(pictures_put(samples, &pictures, out));
    sounds_put(samples, &sounds, out);
    rc = out->failure;
out:
    mx_free(samples);
    mx_free(pictures.list);
    mx_free(sounds.list);
    return rc;
}
