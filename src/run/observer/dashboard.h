/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dashboard (observe/dashboard.h) of a training run.
 *
 * The address is a setting, so a resumed run has it again. The token is not: settings are written into the run folder
 * and shown on the page. It comes from the command line, or from MYXTTS_DASHBOARD_TOKEN, which other users of the
 * machine cannot see.
 */
#ifndef MX_RUN_DASHBOARD_H
#define MX_RUN_DASHBOARD_H

#include "observe/dashboard.h"
#include "run/job.h"

/* Serves the run of `job`, which has its folder, and logs the address; *out is NULL if no dashboard is wanted, and in
 * ranks other than 0. `token`: from the command line, NULL: none. */
int mx_job_dashboard_open(const struct mx_job *job, const char *token, struct mx_dashboard **out);

#endif
