/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recognisers as children; see recogniser.h.
 */
#include "transcribe/recogniser.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/string.h"
#include "myxtts/error.h"

#define PLACE "{}"

struct mx_recogniser {
    char *script; /* the command for sh, with "$1" in place of PLACE */
    bool per_file;
    struct mx_process_wait wait;
    struct mx_process *process; /* of the last file, or the one that keeps running; NULL: none */
    struct mx_string text;
};

int mx_recogniser_create(const struct mx_recogniser_options *options, struct mx_recogniser **out)
{
    struct mx_string script = {0};
    struct mx_recogniser *r = NULL;
    int rc = 0;
    *out = NULL;
    if (options->command[strspn(options->command, " \t\r\n")] == '\0')
        MX_RAISE(MX_ERR_USAGE, "name a program that prints the text of a sound file, such as 'my-recogniser {}'",
                 "the command of the recogniser is empty");
    r = mx_alloc(1, sizeof *r);
    if (r == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    r->wait = (struct mx_process_wait){.limit_ns = options->limit_ns, .stop = options->stop};
    const char *from = options->command;
    for (const char *place; (place = strstr(from, PLACE)) != NULL; from = place + strlen(PLACE)) {
        mx_string_append(&script, "%.*s\"$1\"", (int)(place - from), from);
        r->per_file = true;
    }
    MX_TRY(mx_string_append(&script, "%s", from));
    r->script = script.data;
    script.data = NULL;
    *out = r;
    r = NULL;
out:
    mx_string_release(&script);
    mx_recogniser_destroy(r);
    return rc;
}

static void process_end(struct mx_recogniser *r)
{
    mx_process_destroy(r->process);
    r->process = NULL;
}

void mx_recogniser_destroy(struct mx_recogniser *recogniser)
{
    if (recogniser == NULL) return;
    process_end(recogniser);
    mx_string_release(&recogniser->text);
    mx_free(recogniser->script);
    mx_free(recogniser);
}

static int process_start(struct mx_recogniser *r, const char *path)
{
    const char *const argv[] = {"sh", "-c", r->script, "sh", path, NULL};
    const struct mx_process_options options = {.argv = argv, .title = "the recogniser", .input = !r->per_file};
    return mx_process_start(&options, &r->process);
}

/* The words of the output in one line. */
static int text_keep(struct mx_recogniser *r, const char *output)
{
    const size_t length = strlen(output);
    if (mx_utf8_check(output, length) < length)
        return MX_FAIL(MX_ERR_DATA, "make it print UTF-8 (LC_ALL=C.UTF-8)",
                       "the recogniser printed text that is not UTF-8");
    r->text.length = 0;
    mx_string_append(&r->text, "%s", "");
    for (const char *at = output; *at != '\0';) {
        const char *const begin = at + strspn(at, " \t\r\n\v\f");
        const size_t word = strcspn(begin, " \t\r\n\v\f");
        if (word > 0) mx_string_append(&r->text, "%s%.*s", r->text.length > 0 ? " " : "", (int)word, begin);
        at = begin + word;
    }
    return r->text.failure;
}

static int run_once(struct mx_recogniser *r, const char *path)
{
    const char *output;
    int rc = 0;
    MX_TRY(process_start(r, path));
    MX_TRY(mx_process_finish(r->process, &r->wait, &output));
    MX_TRY(text_keep(r, output));
out:
    process_end(r);
    return rc;
}

/* The process has ended although a line was expected. */
static int ended_fail(struct mx_recogniser *r)
{
    const int rc = mx_process_finish(r->process, &r->wait, NULL);
    if (rc < 0) return rc;
    return MX_FAIL(MX_ERR_IO,
                   "write {} for the path if it takes one file per call; otherwise it must print a line for each",
                   "the recogniser ended without a line for the file");
}

static int ask(struct mx_recogniser *r, const char *path)
{
    const char *line;
    int rc = 0;
    if (strchr(path, '\n') != NULL)
        MX_RAISE(MX_ERR_DATA, "rename the file", "the path has a line end, which a list of paths cannot have");
    if (r->process == NULL) MX_TRY(process_start(r, ""));
    rc = mx_process_write(r->process, path, strlen(path), &r->wait);
    if (rc >= 0) rc = mx_process_write(r->process, "\n", 1, &r->wait);
    if (rc == MX_ERR_CLOSED) MX_TRY(ended_fail(r));
    MX_TRY(rc);
    rc = mx_process_line(r->process, &r->wait, &line);
    if (rc == 0) MX_TRY(ended_fail(r));
    MX_TRY(rc);
    MX_TRY(text_keep(r, line));
out:
    if (rc < 0) process_end(r); /* what it would print next might belong to this file */
    return rc;
}

int mx_recogniser_run(struct mx_recogniser *recogniser, const char *path, const char **text)
{
    const int rc = recogniser->per_file ? run_once(recogniser, path) : ask(recogniser, path);
    *text = rc < 0 ? "" : recogniser->text.data;
    return rc < 0 ? rc : 0;
}
