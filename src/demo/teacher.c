/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs the speech programs, see teacher.h.
 */
#include "demo/teacher.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/process.h"
#include "myxtts/error.h"

#define CHECK_LIMIT_NS (UINT64_C(20) * 1000 * 1000 * 1000)
#define ARGUMENTS_MAX  8

struct voice {
    const char *speaker, *voice;
    const char *listed; /* the word of the program's list that shows it is there */
};

/* How to list the voices of a program, and how to make it speak. */
struct teacher {
    const char *program, *package;
    const char *data;                 /* package of its voices, where that is another one; otherwise NULL */
    const char *list[2];              /* arguments that make it list its voices; the second may be NULL */
    const char *speak[ARGUMENTS_MAX]; /* arguments that make it speak: VOICE, TEXT and PATH are filled in */
    struct voice voices[MX_TEACHER_SPEAKERS];
};

static const char VOICE[] = "", TEXT[] = "", PATH[] = ""; /* distinguished by their addresses */

static const struct teacher flite_english = {
    .program = "flite",
    .package = "flite",
    .list = {"-lv", NULL},
    .speak = {"-voice", VOICE, "-t", TEXT, "-o", PATH},
    .voices = {{"slt", "slt", "slt"}, {"rms", "rms", "rms"}, {"awb", "awb", "awb"}},
};

static const struct teacher espeak_persian = {
    .program = "espeak-ng",
    .package = "espeak-ng",
    .data = "espeak-ng-data",
    .list = {"--voices=fa", "--voices=variant"},
    .speak = {"-v", VOICE, "-b1", "-w", PATH, "--", TEXT},
    .voices = {{"m0", "fa", "fa"}, {"f2", "fa+f2", "!v/f2"}, {"m3", "fa+m3", "!v/m3"}},
};

/* Of a language of MX_DEMO_LANGUAGE_LIST; others have no sentences to read. */
static const struct teacher *const teachers[MX_LANGUAGE_COUNT] = {
#define X(identifier, code, data, teacher) [MX_LANGUAGE_##identifier] = &teacher,
    MX_DEMO_LANGUAGE_LIST(X)
#undef X
};

const char *mx_teacher_program(enum mx_language_id language)
{
    return teachers[language]->program;
}

const char *mx_teacher_speaker(enum mx_language_id language, unsigned speaker)
{
    return teachers[language]->voices[speaker].speaker;
}

const char *mx_teacher_voice(enum mx_language_id language, unsigned speaker)
{
    return teachers[language]->voices[speaker].voice;
}

/* Runs the program to its end; *child, which the caller destroys, owns *output. */
static int child_run(const struct teacher *teacher, const char *const *argv, uint64_t limit_ns, const atomic_bool *stop,
                     struct mx_process **child, const char **output)
{
    char title[64], hint[64];
    const struct mx_process_options options = {.argv = argv, .title = title, .hint = hint, .together = true};
    const struct mx_process_wait wait = {.limit_ns = limit_ns, .stop = stop};
    int rc = 0;
    snprintf(title, sizeof title, "the speech program '%s'", teacher->program);
    snprintf(hint, sizeof hint, "install it: apt install %s", teacher->package);
    MX_TRY(mx_process_start(&options, child));
    MX_TRY(mx_process_finish(*child, &wait, output));
out:
    return rc;
}

/* ---- checking and speaking ---- */

static bool word_listed(const char *text, const char *word)
{
    const size_t length = strlen(word);
    while (*text != '\0') {
        text += strspn(text, " \t\r\n");
        const size_t here = strcspn(text, " \t\r\n");
        if (here == length && memcmp(text, word, length) == 0) return true;
        text += here;
    }
    return false;
}

int mx_teacher_check(enum mx_language_id language, unsigned speakers)
{
    const struct teacher *const teacher = teachers[language];
    bool found[MX_TEACHER_SPEAKERS] = {false};
    for (int i = 0; i < 2 && teacher->list[i] != NULL; i++) {
        struct mx_process *child = NULL;
        const char *output;
        const char *const argv[] = {teacher->program, teacher->list[i], NULL};
        const int rc = child_run(teacher, argv, CHECK_LIMIT_NS, NULL, &child, &output);
        for (unsigned v = 0; rc >= 0 && v < MX_TEACHER_SPEAKERS; v++)
            found[v] = found[v] || word_listed(output, teacher->voices[v].listed);
        mx_process_destroy(child);
        if (rc < 0) return rc;
    }
    for (unsigned v = 0; v < speakers; v++)
        if (!found[v]) {
            MX_FAIL(MX_ERR_NOT_FOUND, NULL, "the speech program '%s' has no voice '%s'", teacher->program,
                    teacher->voices[v].voice);
            return mx_error_hint("install the packaged program, which has it: apt install --reinstall %s%s%s",
                                 teacher->package, teacher->data != NULL ? " " : "",
                                 teacher->data != NULL ? teacher->data : "");
        }
    return 0;
}

int mx_teacher_speak(const struct mx_teacher_job *job)
{
    const struct teacher *const teacher = teachers[job->language];
    struct mx_process *child = NULL;
    const char *arguments[ARGUMENTS_MAX + 2] = {teacher->program};
    for (int i = 0; i < ARGUMENTS_MAX && teacher->speak[i] != NULL; i++) {
        const char *const word = teacher->speak[i];
        arguments[i + 1] = word == VOICE  ? teacher->voices[job->speaker].voice
                           : word == TEXT ? job->text
                           : word == PATH ? job->path
                                          : word;
    }
    const int rc = child_run(teacher, arguments, job->limit_ns, job->stop, &child, NULL);
    mx_process_destroy(child);
    return rc;
}
