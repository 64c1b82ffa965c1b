/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The file of `myxtts validate --report`: the JSON of validate.h, or a page that holds the same JSON. See validate.h.
 *
 * Nothing in it tells who ran it where: paths become "(path)", the names of host and user "(host)" and "(user)", in
 * whatever message they stand.
 *
 * Memory: texts are built in memory and written in one piece.
 */
#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/catalogue.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/validate/validate.h"
#include "myxtts/error.h"
#include "observe/json.h"
#include "observe/page/page.h"

extern const unsigned char mx_validate_page_style[], mx_validate_page_script[];

const struct mx_validate_page_word mx_validate_page_words[] = {
    {"title", "Validation"},
    {"passed", "all checks passed"},
    {"warned", "passed, with warnings"},
    {"failed", "{0} of {1} checks failed"},
    {"send", "If this machine has two GPUs, please send this file to the project: attach it to an issue."},
    {"private", "It names the machine's parts and versions, but no person, host or path."},
    {"machine", "Machine"},
    {"f_mode", "Mode"},
    {"f_program", "Program"},
    {"f_system", "System"},
    {"f_processor", "Processor"},
    {"f_cores", "Cores"},
    {"f_memory", "Memory"},
    {"f_device", "Device {0}"},
    {"f_driver", "driver: {0}"},
    {"f_written", "Written"},
    {"warnings", "Warnings"},
    {"checks", "Checks"},
    {"check 1", "Prerequisites"},
    {"check 2", "Devices and memory limits"},
    {"check 3", "The model on its device"},
    {"check 4", "Copies between the devices"},
    {"check 5", "The pipeline, with made-up work"},
    {"check 6", "A training step, compared with the same step without pipeline"},
    {"check 7", "Every operation, compared with the CPU"},
    {"check 8", "Copies from and to the host"},
    {"check 9", "Twenty training steps in each mode"},
    {"status pass", "passed"},
    {"status warning", "warning"},
    {"status fail", "failed"},
    {"status skipped", "not tried"},
    {"hint", "hint: {0}"},
    {"rates", "Transfer rates"},
    {"r_from", "from"},
    {"r_to", "to"},
    {"r_rate", "GB/s"},
    {"r_latency", "latency, µs"},
    {"training", "Training"},
    {"t_mode", "mode"},
    {"t_step", "step"},
    {"t_range", "least to most"},
    {"t_frames", "mel frames a second"},
    {"t_data", "data device busy"},
    {"t_model", "model device busy"},
    {"t_wait", "model waits for data"},
    {"mode One device", "one device"},
    {"mode Two devices", "two devices"},
    {"operations", "Operations on {0}"},
    {"operations_hint",
     "The largest difference from the CPU, as a share of what rounding may do; above 100 % a result is wrong."},
    {"o_name", "operation"},
    {"o_share", "share of the bound"},
    {"o_output", "output"},
    {"o_bound", "bound"},
    {"o_ms", "time"},
    {"o_shapes", "shapes"},
    {NULL, NULL},
};

/* ---- names ---- */

int mx_validate_page_check(const char *path)
{
    int rc = 0;
    struct stat info;
    char *folder = NULL;
    const char *const dot = strrchr(path, '.'), *const slash = strrchr(path, '/');
    const char *const ending = dot == NULL || (slash != NULL && dot < slash) ? "" : dot;
    if (strcmp(ending, ".html") != 0 && strcmp(ending, ".json") != 0)
        MX_RAISE(MX_ERR_USAGE, "give a name that ends with .html (a page for people, with the JSON inside) or .json",
                 "'--report %s' does not say what to write", path);
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        MX_RAISE(MX_ERR_USAGE, "give the name of a file, for example '--report report.html'", "'%s' is not a file",
                 path);
    folder = slash == NULL ? mx_strdup(".") : mx_strndup(path, (size_t)(slash - path) + 1);
    if (folder == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (access(folder, W_OK | X_OK) != 0)
        MX_RAISE(MX_ERR_IO, "name a file in a folder that exists and may be written", "cannot write %s: %s", path,
                 strerror(errno));
out:
    mx_free(folder);
    return rc;
}

/* ---- private data ---- */

struct secret {
    const char *text, *instead;
};

static bool word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Appends the text without paths: what begins with a slash where a word may begin, up to where a word ends. */
static void paths_hide(const char *text, struct mx_string *out)
{
    char before = ' ';
    while (*text != '\0') {
        const bool begins = *text == '/' && (text[1] == '/' || word_byte(text[1]) || text[1] == '.') &&
                            strchr(" '\"(=:,", before) != NULL;
        const size_t length = begins ? strcspn(text, " '\",;()") : 1;
        if (begins)
            mx_string_append(out, "(path)");
        else
            mx_string_append(out, "%c", *text);
        before = text[length - 1];
        text += length;
    }
}

/* The text in which the secret does not stand as a word of its own. */
static void word_hide(const char *text, const struct secret *secret, struct mx_string *out)
{
    const size_t length = strlen(secret->text);
    for (const char *at = text; *at != '\0';) {
        const bool hit = length > 0 && strncmp(at, secret->text, length) == 0 && (at == text || !word_byte(at[-1])) &&
                         !word_byte(at[length]);
        if (hit)
            mx_string_append(out, "%s", secret->instead);
        else
            mx_string_append(out, "%c", *at);
        at += hit ? length : 1;
    }
}

static int text_hide(cJSON *item, const struct secret *secrets)
{
    struct mx_string text = {0};
    mx_string_append(&text, "%s", "");
    paths_hide(item->valuestring, &text);
    for (const struct secret *secret = secrets; secret->text != NULL; secret++) {
        struct mx_string without = {0};
        mx_string_append(&without, "%s", "");
        word_hide(text.data, secret, &without);
        if (text.failure < 0) without.failure = text.failure;
        mx_string_release(&text);
        text = without;
    }
    int rc = text.failure;
    if (rc == 0 && cJSON_SetValuestring(item, text.data) == NULL) rc = MX_ERR_NO_MEMORY;
    mx_string_release(&text);
    return rc;
}

static int tree_hide(cJSON *item, const struct secret *secrets)
{
    int rc = 0;
    for (; item != NULL && rc == 0; item = item->next) {
        if (cJSON_IsString(item)) rc = text_hide(item, secrets);
        if (rc == 0 && item->child != NULL) rc = tree_hide(item->child, secrets);
    }
    return rc;
}

int mx_validate_page_hide(cJSON *root, const char *corpus)
{
    char host[256] = "";
    const struct passwd *const user = getpwuid(getuid());
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    const struct secret secrets[] = {
        {corpus, "(path)"}, {host, "(host)"}, {user != NULL ? user->pw_name : "", "(user)"}, {NULL, NULL}};
    return tree_hide(root, secrets);
}

/* ---- the page ---- */

static void words_put(struct mx_string *out)
{
    static const char *const borrowed[] = {"language", "hours", "minutes", "seconds", "ms",  "percent", "comma",
                                           "footer",   "B 0",   "B 1",     "B 2",     "B 3", "B 4"};
    char context[64];
    mx_json_begin(out, "words", '{');
    for (int language = 0; mx_words_codes[language] != NULL; language++) {
        mx_json_begin(out, mx_words_codes[language], '{');
        for (const struct mx_validate_page_word *word = mx_validate_page_words; word->key != NULL; word++) {
            snprintf(context, sizeof context, "validation %s", word->key);
            mx_json_string(out, word->key, mx_catalogue_find_in((enum mx_words)language, context, word->english));
        }
        for (size_t i = 0; i < sizeof borrowed / sizeof *borrowed; i++)
            mx_json_string(out, borrowed[i], mx_page_word_get((enum mx_words)language, borrowed[i]));
        mx_json_end(out, '}');
    }
    mx_json_end(out, '}');
}

static int page_write(const cJSON *root, enum mx_words language, struct mx_string *out)
{
    char *const json = cJSON_PrintUnformatted(root);
    if (json == NULL) return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs", "out of memory for the report");
    mx_page_frame_begin(out, &(struct mx_page_frame){.language = language,
                                                     .style = (const char *)mx_validate_page_style,
                                                     .data = "validation"});
    mx_string_append(out, "{");
    mx_json_string(out, "language", mx_words_codes[language]);
    words_put(out);
    mx_json_raw(out, "report", json, strlen(json));
    mx_string_append(out, "}");
    mx_page_frame_end(out, (const char *)mx_validate_page_script);
    cJSON_free(json);
    return out->failure;
}

int mx_validate_page_save(const cJSON *root, const char *path)
{
    struct mx_string text = {0};
    const size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) return mx_command_json(root, 0, path);
    int rc = page_write(root, mx_catalogue_language(), &text);
    if (rc == 0) rc = mx_file_write_atomic(path, text.data, text.length);
    mx_string_release(&text);
    return rc;
}
