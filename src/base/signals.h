/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the process does with signals, kept across calls into drivers that take signals for themselves.
 *
 * LLVM, which the OpenCL driver PoCL brings along, installs handlers for a dozen signals when it first compiles. When
 * one of them comes, even one that was ignored (SIGHUP under nohup), it puts back for all of them what it found when it
 * came, and so takes away handlers that were installed later. So whatever a driver changes is undone when it returns.
 *
 * Memory: all in the caller's struct. The actions belong to the process: no other thread may change them meanwhile.
 */
#ifndef MX_BASE_SIGNALS_H
#define MX_BASE_SIGNALS_H

#include <signal.h>

#define MX_SIGNALS 32 /* 1 to 31: those with names */

struct mx_signals {
    struct sigaction actions[MX_SIGNALS];
};

void mx_signals_save(struct mx_signals *signals);
void mx_signals_restore(const struct mx_signals *signals); /* what is still the same is not touched */

#endif
