/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Signals for commands that must end in order: the first signal sets a flag; another one, at least a second later, ends
 * the program at once, as the system does by default. A signal that comes sooner counts as the first one again:
 * timeout(1), launchers and terminals send a signal both to a process and to its group.
 *
 * They are Ctrl-C, SIGTERM and SIGHUP and, if requested, SIGPIPE: the reader of the command's output has gone, as in
 * "| head". Each further message raises SIGPIPE again, so it never ends the program at once. Signals that were set to
 * be ignored stay ignored: SIGHUP under nohup(1), and SIGPIPE. (Not Ctrl-C: shells ignore it for everything they start
 * in the background, though someone may well want to send it there.)
 */
#ifndef MX_RUN_INTERRUPT_H
#define MX_RUN_INTERRUPT_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MX_INTERRUPTS 4

/* The actions before mx_interrupt_watch, for mx_interrupt_restore, and those since. */
struct mx_interrupt {
    struct sigaction before[MX_INTERRUPTS], since[MX_INTERRUPTS];
};

/* Clears the flag; from now on a signal sets it. The flag belongs to the process. */
atomic_bool *mx_interrupt_watch(struct mx_interrupt *interrupt, bool pipe);
/* Ignores SIGPIPE until mx_interrupt_watch takes it: for the start of a command, when there is nothing to save yet. The
 * next message after that raises it again. */
void mx_interrupt_pipe_defer(void);
/* Restores the actions in case a library has replaced them meanwhile. */
void mx_interrupt_renew(const struct mx_interrupt *interrupt);
void mx_interrupt_restore(const struct mx_interrupt *interrupt);

#endif
