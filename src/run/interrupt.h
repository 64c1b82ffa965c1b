/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Signals for commands that must end in order: the first one sets a flag, another one, a second later or more, ends the
 * program at once, as the system does by default. What comes sooner is the first one again: timeout(1), launchers and
 * terminals send a signal to a process and to its group.
 *
 * They are Ctrl-C, SIGTERM and SIGHUP, and, if asked for, SIGPIPE: the reader of what the command tells has gone, as in
 * "| head". Each further message raises that one again, so it never ends the program at once. What was told to be
 * ignored stays ignored: SIGHUP under nohup(1), and SIGPIPE. (Not Ctrl-C: shells ignore it for all that they start in
 * the background, though someone may well want to send it there.)
 */
#ifndef MX_RUN_INTERRUPT_H
#define MX_RUN_INTERRUPT_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MX_INTERRUPTS 4

/* The actions before mx_interrupt_watch, for mx_interrupt_leave, and those since. */
struct mx_interrupt {
    struct sigaction before[MX_INTERRUPTS], since[MX_INTERRUPTS];
};

/* Clears the flag and sets it from now on when a signal comes. The flag belongs to the process. */
atomic_bool *mx_interrupt_watch(struct mx_interrupt *interrupt, bool pipe);
/* From now on SIGPIPE is ignored until mx_interrupt_watch takes it: for the start of a command, when nothing could be
 * saved yet. The next message after that raises it again. */
void mx_interrupt_pipe_defer(void);
/* Puts the actions back, should a library have replaced them meanwhile. */
void mx_interrupt_renew(const struct mx_interrupt *interrupt);
void mx_interrupt_leave(const struct mx_interrupt *interrupt);

#endif
