/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Saves and restores the process's signal handlers around calls into drivers that install their own.
 *
 * LLVM, which comes with the OpenCL driver PoCL, installs handlers for a dozen signals when it first compiles. When one
 * of these signals arrives, even one that was ignored (SIGHUP under nohup), LLVM restores the handlers it had found for
 * all of them, and so removes handlers that were installed later. Therefore anything a driver changes is undone when it
 * returns.
 *
 * Memory: all in the caller's struct. The actions belong to the process: no other thread may change them between save
 * and restore.
 */
#ifndef MX_BASE_SIGNALS_H
#define MX_BASE_SIGNALS_H

#include <signal.h>

#define MX_SIGNALS 32 /* 1 to 31: those with names */

struct mx_signals {
    struct sigaction actions[MX_SIGNALS];
};

void mx_signals_save(struct mx_signals *signals);
void mx_signals_restore(const struct mx_signals *signals); /* unchanged actions are not touched */

#endif
