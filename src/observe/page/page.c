/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page of a run, see page.h: the frame in HTML, and the data that page.js draws.
 */
#include "observe/page/page.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/catalogue.h"
#include "base/file.h"
#include "myxtts/error.h"
#include "observe/json.h"
#include "observe/page/page_internal.h"
#include "observe/run.h"

#define TEXT_MAX ((size_t)4 << 20) /* of run.json and config.yaml */

/* RUN/NAME; *data stays NULL if there is no such file, or nothing in it can be used. */
static int file_find(const char *run, const char *name, size_t limit, char **data, size_t *bytes)
{
    char *const path = mx_format("%s/%s", run, name);
    *data = NULL;
    *bytes = 0;
    if (path == NULL) return MX_ERR_NO_MEMORY;
    int rc = mx_file_read(path, limit, data, bytes);
    mx_free(path);
    if (rc != MX_ERR_NOT_FOUND) return rc;
    mx_error_clear();
    return 0;
}

/* metrics.jsonl, open; NULL if there is none. */
static int metrics_open(const char *run, FILE **out)
{
    int rc = 0;
    struct stat status;
    char *const path = mx_format("%s/metrics.jsonl", run);
    *out = NULL;
    if (path == NULL) return MX_ERR_NO_MEMORY;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) goto out;
    if (fd < 0) MX_RAISE(MX_ERR_IO, "check that it may be read", "cannot open %s: %s", path, strerror(errno));
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        MX_RAISE(MX_ERR_IO, "check what created it", "%s is not an ordinary file", path);
    *out = fdopen(fd, "r");
    if (*out == NULL) MX_RAISE(MX_ERR_NO_MEMORY, NULL, "no memory to read %s", path);
out:
    if (fd >= 0 && *out == NULL) close(fd);
    mx_free(path);
    return rc;
}

/* run.json is written atomically, but may have been edited: only valid JSON reaches the page. */
static void run_put(const char *data, size_t bytes, struct mx_string *out)
{
    cJSON *const tree = data == NULL ? NULL : cJSON_ParseWithLength(data, bytes);
    char *const text = cJSON_IsObject(tree) ? cJSON_PrintUnformatted(tree) : NULL;
    if (text == NULL)
        mx_json_null(out, "run");
    else
        mx_json_raw(out, "run", text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(tree);
}

/* The last part of the folder's path, the whole of it made absolute first, so that "." has a name. */
static int name_put(const char *run, struct mx_string *out)
{
    char *const whole = realpath(run, NULL);
    const char *const path = whole != NULL ? whole : run, *const slash = strrchr(path, '/');
    mx_json_string(out, "name", slash != NULL && slash[1] != '\0' ? slash + 1 : path);
    free(whole);
    return out->failure;
}

static const char *word_find(const struct mx_page_word *word, enum mx_words language)
{
    char context[64];
    snprintf(context, sizeof context, "page %s", word->key);
    return mx_catalogue_find_in(language, context, word->english);
}

static void words_put(struct mx_string *out)
{
    mx_json_begin(out, "words", '{');
    for (int language = 0; mx_words_codes[language] != NULL; language++) {
        mx_json_begin(out, mx_words_codes[language], '{');
        for (const struct mx_page_word *word = mx_page_words; word->key != NULL; word++)
            mx_json_string(out, word->key, word_find(word, (enum mx_words)language));
        mx_json_end(out, '}');
    }
    mx_json_end(out, '}');
}

const char *mx_page_word_get(enum mx_words language, const char *key)
{
    const struct mx_page_word *word = mx_page_words;
    while (word->key != NULL && strcmp(word->key, key) != 0) word++;
    return word->key == NULL ? "" : word_find(word, language);
}

static int data_put(const struct mx_page_options *options, struct mx_string *out)
{
    int rc = 0;
    FILE *metrics = NULL;
    char *run = NULL, *config = NULL;
    size_t run_bytes, config_bytes;
    MX_TRY(metrics_open(options->run, &metrics));
    MX_TRY(file_find(options->run, MX_RUN_FILE, TEXT_MAX, &run, &run_bytes));
    MX_TRY(file_find(options->run, "config.yaml", TEXT_MAX, &config, &config_bytes));
    if (metrics == NULL && run == NULL)
        MX_RAISE(MX_ERR_NOT_FOUND, "give the folder that 'myxtts train --output' made",
                 "%s is not a run: it has neither metrics.jsonl nor " MX_RUN_FILE, options->run);
    mx_string_append(out, "{");
    mx_json_string(out, "format", "myxtts page");
    mx_json_count(out, "version", 1);
    mx_json_string(out, "language", mx_words_codes[options->language]);
    mx_json_truth(out, "live", options->live);
    MX_TRY(name_put(options->run, out));
    mx_json_count(out, "written", (int64_t)time(NULL));
    words_put(out);
    mx_page_metrics(out);
    run_put(run, run_bytes, out);
    if (config != NULL)
        mx_json_bytes(out, "config", config, config_bytes);
    else
        mx_json_null(out, "config");
    if (metrics == NULL) metrics = fopen("/dev/null", "re"); /* no lines */
    if (metrics == NULL) MX_RAISE(MX_ERR_IO, NULL, "cannot open /dev/null: %s", strerror(errno));
    MX_TRY(mx_page_series(metrics, out));
    MX_TRY(mx_page_media(options->run, out));
    mx_string_append(out, "}");
    rc = out->failure;
out:
    if (metrics != NULL) fclose(metrics);
    mx_free(run);
    mx_free(config);
    return rc;
}

void mx_page_frame_begin(struct mx_string *out, const struct mx_page_frame *frame)
{
    const bool persian = frame->language == MX_WORDS_PERSIAN;
    mx_string_append(out,
                     "<!DOCTYPE html>\n<html lang=\"%s\" dir=\"%s\"%s>\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     /* Even if the data were malicious, nothing can be loaded from elsewhere. */
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                     "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; media-src data:%s\">\n"
                     "<title>MyXTTS</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n%s</style>\n"
                     "</head>\n<body>\n<main id=\"page\"></main>\n<noscript>%s</noscript>\n"
                     "<script type=\"application/json\" id=\"%s\">",
                     mx_words_codes[frame->language], persian ? "rtl" : "ltr", frame->live ? " data-live" : "",
                     frame->connects ? "; connect-src 'self'" : "", frame->style,
                     mx_page_word_get(frame->language, "no_script"), frame->data);
}

void mx_page_frame_end(struct mx_string *out, const char *script)
{
    mx_string_append(out, "</script>\n<script>\n%s</script>\n</body>\n</html>\n", script);
}

int mx_page_write(const struct mx_page_options *options, struct mx_string *out)
{
    mx_page_frame_begin(out, &(struct mx_page_frame){.language = options->language,
                                                     .live = options->live,
                                                     .connects = true,
                                                     .style = (const char *)mx_page_style,
                                                     .data = "run"});
    const int rc = data_put(options, out);
    if (rc < 0) return rc;
    mx_page_frame_end(out, (const char *)mx_page_script);
    return out->failure;
}

int mx_page_save(const struct mx_page_options *options, const char *path)
{
    struct mx_string text = {0};
    int rc = mx_page_write(options, &text);
    if (rc == 0) rc = mx_file_write_atomic(path, text.data, text.length);
    mx_string_release(&text);
    return rc;
}
