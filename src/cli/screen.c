/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The terminal, see screen.h.
 *
 * Signals that matter here are blocked except while mx_screen_wait waits, so none is lost between checking the flags
 * and waiting. The handlers of those that end the program restore the terminal with write and tcsetattr only, which are
 * safe in handlers, and then let the signal take its default action.
 *
 * Why not ncurses: it could replace this file only. Bars and curves (observe/monitor_draw.c, observe/monitor_curve.c)
 * are text for '--once', logs and tests, too, and ncurses draws neither. This file written with ncursesw 6.4 passed all
 * 81 checks of tests/cli_monitor.sh, wide characters and resizing included, but had 181 lines instead of 210: signals
 * other than SIGINT, SIGTERM and SIGTSTP still need handlers, and colours must be translated. It needs libncursesw and
 * libtinfo (435 KB) and a terminfo entry: with TERM=xterm-kitty, which ncurses-base of Debian 12 does not know, there
 * are only lines, and here the full view. It sends fewer bytes, only what changes: 3.1 instead of 9.2 KB for 3 frames.
 */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "myxtts/error.h"

#define ENTER      "\033[?1049h\033[?25l\033[H\033[2J"
#define LEAVE      "\033[?25h\033[?1049l"
#define HOME       "\033[H"
#define ERASE_LINE "\033[K"
#define ERASE_REST "\033[J"

#define COLUMNS_USUAL 80
#define ROWS_USUAL    24

static const int ending[] = {SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
#define ENDING_COUNT (sizeof ending / sizeof ending[0])
/* Blocked except while waiting; faults cannot be. */
static const int waiting[] = {SIGINT, SIGWINCH, SIGTSTP, SIGCONT, SIGTERM, SIGHUP, SIGQUIT};
#define WAITING_COUNT (sizeof waiting / sizeof waiting[0])

/* Changed by mx_screen_enter and mx_screen_exit with all these signals blocked; handlers only read it. */
static struct {
    volatile sig_atomic_t inside;
    struct termios before, raw;
    sigset_t mask_before, mask_waiting;
    struct sigaction actions[NSIG];
} screen;

static volatile sig_atomic_t resized, interrupted;

static void put(const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t done = write(STDOUT_FILENO, text, length);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return; /* a terminal that is gone shows itself when a key is awaited */
        text += done;
        length -= (size_t)done;
    }
}

static void terminal_restore(void)
{
    put(LEAVE, sizeof LEAVE - 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
}

static void terminal_enter(void)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &screen.raw);
    put(ENTER, sizeof ENTER - 1);
}

/* Lets a signal do what it does by default, now. */
static void by_default(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
    sigemptyset(&only);
    sigaddset(&only, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
}

static void on_end(int number)
{
    if (screen.inside) terminal_restore();
    screen.inside = 0;
    by_default(number);
}

static void on_stop(int number);

static void stop_watch(void)
{
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTSTP, &action, NULL);
}

static void on_stop(int number)
{
    const int saved_errno = errno;
    terminal_restore();
    by_default(number); /* returns when the program continues */
    stop_watch();
    terminal_enter();
    resized = 1;
    errno = saved_errno;
}

static void on_flag(int number)
{
    if (number == SIGINT)
        interrupted = 1;
    else
        resized = 1;
}

static void handler_set(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, &screen.actions[number]);
}

bool mx_screen_possible(void)
{
    const char *const kind = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && kind != NULL && *kind != '\0' && strcmp(kind, "dumb") != 0;
}

int mx_screen_enter(void)
{
    sigset_t mine;
    if (tcgetattr(STDIN_FILENO, &screen.before) != 0)
        return MX_FAIL(MX_ERR_IO, "use '--once'", "the terminal cannot be read: %s", strerror(errno));
    screen.raw = screen.before;
    screen.raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    screen.raw.c_cc[VMIN] = 1;
    screen.raw.c_cc[VTIME] = 0;
    sigemptyset(&mine);
    for (size_t i = 0; i < WAITING_COUNT; i++) sigaddset(&mine, waiting[i]);
    sigprocmask(SIG_BLOCK, &mine, &screen.mask_before);
    screen.mask_waiting = screen.mask_before;
    for (size_t i = 0; i < WAITING_COUNT; i++) sigdelset(&screen.mask_waiting, waiting[i]);
    interrupted = resized = 0;
    for (size_t i = 0; i < ENDING_COUNT; i++) handler_set(ending[i], on_end);
    handler_set(SIGINT, on_flag);
    handler_set(SIGWINCH, on_flag);
    handler_set(SIGCONT, on_flag);
    handler_set(SIGTSTP, on_stop);
    screen.inside = 1;
    terminal_enter();
    return 0;
}

void mx_screen_exit(void)
{
    if (!screen.inside) return;
    terminal_restore();
    screen.inside = 0;
    for (size_t i = 0; i < ENDING_COUNT; i++) sigaction(ending[i], &screen.actions[ending[i]], NULL);
    sigaction(SIGINT, &screen.actions[SIGINT], NULL);
    sigaction(SIGWINCH, &screen.actions[SIGWINCH], NULL);
    sigaction(SIGCONT, &screen.actions[SIGCONT], NULL);
    sigaction(SIGTSTP, &screen.actions[SIGTSTP], NULL);
    sigprocmask(SIG_SETMASK, &screen.mask_before, NULL);
}

void mx_screen_size(int *columns, int *rows)
{
    struct winsize size;
    *columns = COLUMNS_USUAL;
    *rows = ROWS_USUAL;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return;
    if (size.ws_col > 0) *columns = size.ws_col;
    if (size.ws_row > 0) *rows = size.ws_row;
}

void mx_screen_show(const struct mx_string *frame)
{
    struct mx_string whole = {0};
    mx_string_append(&whole, HOME);
    /* No newline after the last line: on the last row it would scroll. */
    const char *at = frame->data != NULL ? frame->data : "";
    while (*at != '\0') {
        const size_t length = strcspn(at, "\n");
        const bool last = at[length] == '\0' || at[length + 1] == '\0';
        mx_string_append(&whole, "%.*s" ERASE_LINE "%s", (int)length, at, last ? "" : "\r\n");
        at += length + (at[length] == '\n' ? 1 : 0);
    }
    mx_string_append(&whole, ERASE_REST);
    if (whole.failure == 0) put(whole.data, whole.length);
    mx_string_release(&whole);
}

enum mx_screen_event mx_screen_wait(uint64_t timeout_ns, char *key)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                                     .tv_nsec = (long)(timeout_ns % 1000000000)};
    const int ready = ppoll(&input, 1, &timeout, &screen.mask_waiting);
    if (interrupted) return MX_SCREEN_END;
    if (resized) {
        resized = 0;
        return MX_SCREEN_RESIZE;
    }
    if (ready <= 0) return ready == 0 || errno == EINTR ? MX_SCREEN_TIME : MX_SCREEN_END;
    return read(STDIN_FILENO, key, 1) == 1 ? MX_SCREEN_KEY : MX_SCREEN_END;
}
