/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See interrupt.h. The handler touches only the flag and the time of the first signal; whatever is deferred belongs to
 * the thread that reads the command line.
 */
#include "run/interrupt.h"

#include "base/clock.h"

#include <stdint.h>

#define IMPATIENCE_NS 1000000000u /* a signal that follows faster is the same wish, sent twice */

static atomic_bool stop;
static _Atomic uint64_t first_ns;
static bool deferred;                /* mx_interrupt_pipe_defer was called */
static struct sigaction pipe_before; /* the action for SIGPIPE before that */
static const int signals[MX_INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

static void on_signal(int number)
{
    const uint64_t now_ns = mx_clock_ns(); /* clock_gettime, which a handler may call */
    if (!atomic_load(&stop)) {
        atomic_store(&first_ns, now_ns);
        atomic_store(&stop, true);
    } else if (number != SIGPIPE && now_ns - atomic_load(&first_ns) >= IMPATIENCE_NS) {
        signal(number, SIG_DFL);
        raise(number); /* comes when the handler returns */
    }
}

void mx_interrupt_pipe_defer(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    deferred = sigaction(SIGPIPE, &ignore, &pipe_before) == 0;
}

atomic_bool *mx_interrupt_watch(struct mx_interrupt *interrupt, bool pipe)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < MX_INTERRUPTS; i++) sigaddset(&action.sa_mask, signals[i]); /* one at a time */
    atomic_store(&stop, false);
    for (int i = 0; i < MX_INTERRUPTS; i++) {
        struct sigaction *const before = &interrupt->before[i];
        sigaction(signals[i], NULL, before);
        const bool ignored = (signals[i] == SIGPIPE && deferred ? &pipe_before : before)->sa_handler == SIG_IGN;
        const bool stays = (signals[i] == SIGHUP && ignored) || (signals[i] == SIGPIPE && (ignored || !pipe));
        interrupt->since[i] = stays ? *before : action;
        if (!stays) sigaction(signals[i], &action, NULL);
    }
    return &stop;
}

void mx_interrupt_renew(const struct mx_interrupt *interrupt)
{
    struct sigaction now;
    for (int i = 0; i < MX_INTERRUPTS; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != interrupt->since[i].sa_handler)
            sigaction(signals[i], &interrupt->since[i], NULL);
}

void mx_interrupt_restore(const struct mx_interrupt *interrupt)
{
    for (int i = 0; i < MX_INTERRUPTS; i++) sigaction(signals[i], &interrupt->before[i], NULL);
}
