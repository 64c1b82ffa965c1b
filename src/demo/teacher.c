/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs the speech programs, see teacher.h.
 *
 * A child gets /dev/null as its input, one pipe for both outputs, an empty signal mask, and its own process group: an
 * interrupt typed at the terminal then reaches only this program, which decides what to do with its children.
 */
#include "demo/teacher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/string.h"
#include "myxtts/error.h"

#define OUTPUT_BYTES   32768 /* the list of variants of espeak-ng is 6 KB */
#define CHECK_LIMIT_NS (UINT64_C(20) * 1000 * 1000 * 1000)
#define ARGUMENTS_MAX  8
#define LOOK_MS        50 /* how often the clock and `stop` are polled while a child runs */

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

/* ---- one child ---- */

/* What a child said, cut to fit; always terminated. */
struct output {
    char text[OUTPUT_BYTES];
    size_t length;
};

static int program_missing(const struct teacher *teacher, int error)
{
    MX_FAIL(error == ENOENT ? MX_ERR_NOT_FOUND : MX_ERR_IO, NULL, "cannot start the speech program '%s': %s",
            teacher->program, strerror(error));
    return mx_error_hint("install it: apt install %s", teacher->package);
}

static int child_start(const struct teacher *teacher, char *const argv[], int output_fd, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return MX_FAIL(MX_ERR_NO_MEMORY, NULL, "cannot prepare a child process: %s", strerror(error));
    error = posix_spawnattr_init(&attributes);
    if (error != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return MX_FAIL(MX_ERR_NO_MEMORY, NULL, "cannot prepare a child process: %s", strerror(error));
    }
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
    if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (error == 0) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (error == 0)
        error = posix_spawnattr_setflags(&attributes,
                                         POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    if (error == 0) error = posix_spawnp(pid, teacher->program, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? 0 : program_missing(teacher, error);
}

/* Takes what there is to read, without waiting; false once the child has closed its outputs. What does not fit is
 * thrown away, so that the child never waits for us. */
static bool output_drain(int fd, struct output *output)
{
    for (;;) {
        char piece[4096];
        const ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 && errno == EAGAIN;
        const size_t space = sizeof output->text - 1 - output->length;
        const size_t kept = (size_t)got < space ? (size_t)got : space;
        memcpy(output->text + output->length, piece, kept);
        output->length += kept;
        output->text[output->length] = '\0';
    }
}

/* A running child and the end of the pipe that it writes to. */
struct child {
    pid_t pid;
    int fd;
};

/* Reads what the child says until it has ended; then *status is its status. On failure it is still running. */
static int child_follow(const struct teacher *teacher, struct child child, uint64_t limit_ns, const atomic_bool *stop,
                        struct output *output, int *status)
{
    const uint64_t start_ns = mx_clock_ns();
    for (bool open = true;;) {
        struct pollfd poller = {.fd = open ? child.fd : -1, .events = POLLIN};
        poll(&poller, 1, open ? LOOK_MS : 1); /* with its outputs closed the child is about to end */
        if (open) open = output_drain(child.fd, output);
        const pid_t ended = waitpid(child.pid, status, WNOHANG);
        if (ended == child.pid) {
            output_drain(child.fd, output);
            return 0;
        }
        if (ended < 0 && errno != EINTR)
            return MX_FAIL(MX_ERR_IO, NULL, "lost the speech program '%s': %s", teacher->program, strerror(errno));
        if (stop != NULL && atomic_load(stop)) return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted");
        if (mx_clock_ns() - start_ns > limit_ns)
            return MX_FAIL(MX_ERR_TIMEOUT, "try the program by hand; is the machine overloaded?",
                           "the speech program '%s' did not finish within %.1f s", teacher->program,
                           (double)limit_ns / 1e9);
    }
}

/* Runs a program to its end. */
static int child_run(const struct teacher *teacher, char *const argv[], uint64_t limit_ns, const atomic_bool *stop,
                     struct output *output)
{
    int rc = 0, ends[2] = {-1, -1}, status = 0;
    pid_t pid = -1;
    output->length = 0;
    output->text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) < 0)
        MX_RAISE(MX_ERR_IO, "raise the limit of open files (ulimit -n)", "cannot make a pipe: %s", strerror(errno));
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) MX_RAISE(MX_ERR_IO, NULL, "cannot set up a pipe: %s", strerror(errno));
    MX_TRY(child_start(teacher, argv, ends[1], &pid));
    close(ends[1]);
    ends[1] = -1;
    rc = child_follow(teacher, (struct child){pid, ends[0]}, limit_ns, stop, output, &status);
    if (rc < 0) {
        kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        goto out;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        char said[200];
        output->text[strcspn(output->text, "\r\n")] = '\0';
        mx_string_quote(said, sizeof said, output->text);
        MX_RAISE(MX_ERR_IO, "try the program by hand", "the speech program '%s' failed (%s %d) and said %s",
                 teacher->program, WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), said);
    }
out:
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
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
        struct output output;
        char *const argv[] = {(char *)teacher->program, (char *)teacher->list[i], NULL};
        const int rc = child_run(teacher, argv, CHECK_LIMIT_NS, NULL, &output);
        if (rc < 0) return rc;
        for (unsigned v = 0; v < MX_TEACHER_SPEAKERS; v++)
            found[v] = found[v] || word_listed(output.text, teacher->voices[v].listed);
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
    struct output output;
    const char *arguments[ARGUMENTS_MAX + 2] = {teacher->program};
    for (int i = 0; i < ARGUMENTS_MAX && teacher->speak[i] != NULL; i++) {
        const char *const word = teacher->speak[i];
        arguments[i + 1] = word == VOICE  ? teacher->voices[job->speaker].voice
                           : word == TEXT ? job->text
                           : word == PATH ? job->path
                                          : word;
    }
    /* posix_spawn does not write to what it is given; its types are older than const. */
    return child_run(teacher, (char *const *)arguments, job->limit_ns, job->stop, &output);
}
