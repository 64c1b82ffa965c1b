/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ctrl-C and SIGTERM for commands that must end in order: the first one sets a flag, another one, a second later or
 * more, ends the program at once, as the system does by default. What comes sooner is the first one again: timeout(1),
 * launchers and terminals send a signal to a process and to its group.
 */
#ifndef MX_CLI_INTERRUPT_H
#define MX_CLI_INTERRUPT_H

#include <signal.h>
#include <stdatomic.h>

/* The actions before mx_interrupt_watch, for mx_interrupt_leave. */
struct mx_interrupt {
    struct sigaction before[2];
};

/* Clears the flag and sets it from now on when a signal comes. The flag belongs to the process. */
atomic_bool *mx_interrupt_watch(struct mx_interrupt *interrupt);
void mx_interrupt_leave(const struct mx_interrupt *interrupt);

#endif
