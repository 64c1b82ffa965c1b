/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Children with pipes; see process.h. All waiting is one poll on the two outputs (and the input while writing), so that
 * a child that prints much while it is written to blocks neither side.
 */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/string.h"
#include "myxtts/error.h"

#define OUTPUT_BYTES  ((size_t)1 << 20)
#define MESSAGE_BYTES 1024
#define POLL_MS       50 /* how often the clock and `stop` are polled while a child runs */
#define END_MS        1  /* the same when its outputs are closed: it is about to end */

struct mx_process {
    char *title;
    pid_t pid;  /* 0: it has ended, with `status` */
    int status; /* as waitpid gives it */
    int input;  /* a socket, whose writes raise no SIGPIPE; -1: closed */
    int output; /* -1: closed, as the next */
    int messages;
    char *text;                      /* [OUTPUT_BYTES + 1] output that was read, zero-terminated */
    size_t begin, length;            /* of `text`: what was not returned yet */
    bool dropped;                    /* more output than fits */
    char message[MESSAGE_BYTES + 1]; /* the last bytes of the messages, zero-terminated */
    size_t message_length;
};

/* ---- start ---- */

/* The pipes of a new child: ours and its ends. */
struct ends {
    int input[2], output[2], messages[2];
};

static void ends_close(int *ends)
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
    ends[0] = ends[1] = -1;
}

static int ends_open(const struct mx_process_options *options, struct ends *e)
{
    const char *const hint = "raise the limit of open files (ulimit -n)";
    int rc = 0;
    if (pipe2(e->output, O_CLOEXEC) < 0) MX_RAISE(MX_ERR_IO, hint, "cannot make a pipe: %s", strerror(errno));
    if (!options->together && pipe2(e->messages, O_CLOEXEC) < 0)
        MX_RAISE(MX_ERR_IO, hint, "cannot make a pipe: %s", strerror(errno));
    if (options->input && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e->input) < 0)
        MX_RAISE(MX_ERR_IO, hint, "cannot make a pipe: %s", strerror(errno));
    const int ours[] = {e->input[0], e->output[0], e->messages[0]};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (ours[i] >= 0 && fcntl(ours[i], F_SETFL, O_NONBLOCK) < 0)
            MX_RAISE(MX_ERR_IO, NULL, "cannot set up a pipe: %s", strerror(errno));
out:
    return rc;
}

static int child_spawn(const struct mx_process_options *options, const struct ends *e, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    error = e->input[1] >= 0 ? posix_spawn_file_actions_adddup2(&actions, e->input[1], STDIN_FILENO)
                             : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, e->output[1], STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, options->together ? e->output[1] : e->messages[1],
                                                 STDERR_FILENO);
    if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (error == 0) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (error == 0)
        error = posix_spawnattr_setflags(&attributes,
                                         POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    /* posix_spawn does not write to what it is given; its types are older than const. */
    if (error == 0)
        error = posix_spawnp(pid, options->argv[0], &actions, &attributes, (char *const *)options->argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int mx_process_start(const struct mx_process_options *options, struct mx_process **out)
{
    struct ends e = {{-1, -1}, {-1, -1}, {-1, -1}};
    struct mx_process *p = NULL;
    int rc = 0, error;
    *out = NULL;
    if ((p = mx_alloc(1, sizeof *p)) == NULL) return MX_ERR_NO_MEMORY;
    p->input = p->output = p->messages = -1;
    p->title = mx_strdup(options->title);
    p->text = mx_alloc(OUTPUT_BYTES + 1, 1);
    if (p->title == NULL || p->text == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(ends_open(options, &e));
    error = child_spawn(options, &e, &p->pid);
    if (error != 0) {
        p->pid = 0;
        MX_RAISE(error == ENOENT   ? MX_ERR_NOT_FOUND
                 : error == ENOMEM ? MX_ERR_NO_MEMORY
                                   : MX_ERR_IO,
                 options->hint, "cannot start %s: %s", options->title, strerror(error));
    }
    p->input = e.input[0];
    p->output = e.output[0];
    p->messages = e.messages[0];
    e.input[0] = e.output[0] = e.messages[0] = -1;
    *out = p;
    p = NULL;
out:
    ends_close(e.input);
    ends_close(e.output);
    ends_close(e.messages);
    mx_process_destroy(p);
    return rc;
}

static void end_close(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

void mx_process_destroy(struct mx_process *process)
{
    if (process == NULL) return;
    if (process->pid > 0) {
        kill(-process->pid, SIGKILL);
        while (waitpid(process->pid, &process->status, 0) < 0 && errno == EINTR) {
        }
    }
    end_close(&process->input);
    end_close(&process->output);
    end_close(&process->messages);
    mx_free(process->title);
    mx_free(process->text);
    mx_free(process);
}

/* ---- reading ---- */

/* Reads what there is, without waiting, and closes the end of a pipe that has no writer any more. */
static void pipe_drain(int *fd, void (*keep)(struct mx_process *p, const char *piece, size_t bytes),
                       struct mx_process *p)
{
    while (*fd >= 0) {
        char piece[4096];
        const ssize_t got = read(*fd, piece, sizeof piece);
        if (got > 0)
            keep(p, piece, (size_t)got);
        else if (got == 0 || (errno != EINTR && errno != EAGAIN))
            end_close(fd);
        else if (errno == EAGAIN)
            return;
    }
}

static void output_keep(struct mx_process *p, const char *piece, size_t bytes)
{
    if (p->dropped) return; /* what follows a gap is not part of the line before it */
    if (p->begin > 0 && p->length + bytes > OUTPUT_BYTES) {
        memmove(p->text, p->text + p->begin, p->length - p->begin);
        p->length -= p->begin;
        p->begin = 0;
    }
    const size_t space = OUTPUT_BYTES - p->length, kept = bytes < space ? bytes : space;
    memcpy(p->text + p->length, piece, kept);
    p->length += kept;
    p->text[p->length] = '\0';
    p->dropped = kept < bytes;
}

static void message_keep(struct mx_process *p, const char *piece, size_t bytes)
{
    if (bytes > MESSAGE_BYTES) {
        piece += bytes - MESSAGE_BYTES;
        bytes = MESSAGE_BYTES;
    }
    if (p->message_length + bytes > MESSAGE_BYTES) {
        const size_t gone = p->message_length + bytes - MESSAGE_BYTES;
        memmove(p->message, p->message + gone, p->message_length - gone);
        p->message_length -= gone;
    }
    memcpy(p->message + p->message_length, piece, bytes);
    p->message_length += bytes;
    p->message[p->message_length] = '\0';
}

/* Waits a moment for any of the pipes; `writing`: for the input, too. */
static int pipes_poll(struct mx_process *p, const struct mx_process_wait *wait, uint64_t start_ns, bool writing)
{
    struct pollfd list[] = {{.fd = p->output, .events = POLLIN},
                            {.fd = p->messages, .events = POLLIN},
                            {.fd = writing ? p->input : -1, .events = POLLOUT}};
    const bool open = p->output >= 0 || p->messages >= 0;
    if (wait->stop != NULL && atomic_load(wait->stop)) return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted");
    if (mx_clock_ns() - start_ns > wait->limit_ns)
        return MX_FAIL(MX_ERR_TIMEOUT, "try the program by hand; is the machine overloaded?",
                       "%s did not finish within %.1f s", p->title, (double)wait->limit_ns / 1e9);
    poll(list, 3, open || writing ? POLL_MS : END_MS);
    pipe_drain(&p->output, output_keep, p);
    pipe_drain(&p->messages, message_keep, p);
    return 0;
}

int mx_process_line(struct mx_process *process, const struct mx_process_wait *wait, const char **line)
{
    const uint64_t start_ns = mx_clock_ns();
    for (;;) {
        char *const begin = process->text + process->begin;
        char *const end = memchr(begin, '\n', process->length - process->begin);
        if (end != NULL || (process->output < 0 && process->begin < process->length && !process->dropped)) {
            const size_t bytes = end != NULL ? (size_t)(end - begin) : process->length - process->begin;
            begin[bytes] = '\0';
            if (bytes > 0 && begin[bytes - 1] == '\r') begin[bytes - 1] = '\0';
            process->begin += bytes + (end != NULL);
            *line = begin;
            return 1;
        }
        if (process->dropped)
            return MX_FAIL(MX_ERR_DATA, "try the program by hand", "%s printed more than a megabyte without a line end",
                           process->title);
        if (process->output < 0) return 0;
        const int rc = pipes_poll(process, wait, start_ns, false);
        if (rc < 0) return rc;
    }
}

/* ---- writing ---- */

int mx_process_write(struct mx_process *process, const char *bytes, size_t count, const struct mx_process_wait *wait)
{
    const uint64_t start_ns = mx_clock_ns();
    while (count > 0) {
        const ssize_t put = process->input < 0 ? -1 : send(process->input, bytes, count, MSG_NOSIGNAL);
        if (put >= 0) {
            bytes += put;
            count -= (size_t)put;
        } else if (process->input < 0 || (errno != EAGAIN && errno != EINTR)) {
            return MX_FAIL(MX_ERR_CLOSED, "try the program by hand", "%s does not read its input any more",
                           process->title);
        } else {
            const int rc = pipes_poll(process, wait, start_ns, true);
            if (rc < 0) return rc;
        }
    }
    return 0;
}

/* ---- end ---- */

const char *mx_process_message(struct mx_process *process)
{
    size_t length = process->message_length;
    while (length > 0 && (process->message[length - 1] == '\n' || process->message[length - 1] == '\r')) length--;
    process->message[length] = '\0';
    process->message_length = length;
    const char *const newline = strrchr(process->message, '\n');
    return newline != NULL ? newline + 1 : process->message;
}

int mx_process_finish(struct mx_process *process, const struct mx_process_wait *wait, const char **output)
{
    const uint64_t start_ns = mx_clock_ns();
    char said[200];
    end_close(&process->input);
    while (process->pid > 0) {
        const int rc = pipes_poll(process, wait, start_ns, false);
        if (rc < 0) return rc;
        const pid_t ended = waitpid(process->pid, &process->status, WNOHANG);
        if (ended < 0 && errno != EINTR) {
            process->pid = 0;
            return MX_FAIL(MX_ERR_IO, NULL, "lost %s: %s", process->title, strerror(errno));
        }
        if (ended == process->pid) process->pid = 0;
    }
    pipe_drain(&process->output, output_keep, process);
    pipe_drain(&process->messages, message_keep, process);
    if (output != NULL) *output = process->text + process->begin;
    if (WIFEXITED(process->status) && WEXITSTATUS(process->status) == 0) return 0;
    const char *message = mx_process_message(process);
    if (*message == '\0') { /* both outputs are one, or the reason is there */
        process->text[process->begin + strcspn(process->text + process->begin, "\r\n")] = '\0';
        message = process->text + process->begin;
    }
    return MX_FAIL(MX_ERR_IO, "try the program by hand", "%s failed (%s %d) and said %s", process->title,
                   WIFSIGNALED(process->status) ? "signal" : "exit code",
                   WIFSIGNALED(process->status) ? WTERMSIG(process->status) : WEXITSTATUS(process->status),
                   mx_string_quote(said, sizeof said, message));
}
