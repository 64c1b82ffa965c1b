/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See interrupt.h. The flag and the time of the first signal are the only things that the handler touches.
 */
#include "cli/interrupt.h"

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define IMPATIENCE_NS 1000000000u /* a signal that follows faster is the same wish, sent twice */

static atomic_bool stop;
static _Atomic uint64_t first_ns;
static const int signals[2] = {SIGINT, SIGTERM};

static void on_signal(int number)
{
    const uint64_t now_ns = mx_clock_ns(); /* clock_gettime, which a handler may call */
    if (!atomic_load(&stop)) {
        atomic_store(&first_ns, now_ns);
        atomic_store(&stop, true);
    } else if (now_ns - atomic_load(&first_ns) >= IMPATIENCE_NS) {
        signal(number, SIG_DFL);
        raise(number); /* comes when the handler returns */
    }
}

atomic_bool *mx_interrupt_watch(struct mx_interrupt *interrupt)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < 2; i++) sigaddset(&action.sa_mask, signals[i]); /* one at a time */
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++) sigaction(signals[i], &action, &interrupt->before[i]);
    return &stop;
}

void mx_interrupt_leave(const struct mx_interrupt *interrupt)
{
    for (int i = 0; i < 2; i++) sigaction(signals[i], &interrupt->before[i], NULL);
}
