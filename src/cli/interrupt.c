/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See interrupt.h. The flag is the only thing that the handler touches.
 */
#include "cli/interrupt.h"

#include <stdbool.h>

static atomic_bool stop;
static const int signals[2] = {SIGINT, SIGTERM};

static void on_signal(int number)
{
    (void)number;
    atomic_store(&stop, true);
}

atomic_bool *mx_interrupt_watch(struct mx_interrupt *interrupt)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++) sigaction(signals[i], &action, &interrupt->before[i]);
    return &stop;
}

void mx_interrupt_leave(const struct mx_interrupt *interrupt)
{
    for (int i = 0; i < 2; i++) sigaction(signals[i], &interrupt->before[i], NULL);
}
