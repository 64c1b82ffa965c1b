/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dashboard (observe/dashboard.h) of a training run: its options and its start.
 *
 * The address is a setting, so a resumed run has it again. The token is none: settings are written into the run folder
 * and shown on the page. It comes from the command line, or from MYXTTS_DASHBOARD_TOKEN, which other users of the
 * machine cannot see.
 */
#ifndef MX_CLI_TRAIN_DASHBOARD_H
#define MX_CLI_TRAIN_DASHBOARD_H

#include "cli/train_job.h"
#include "observe/dashboard.h"

/* Elements of the table of a command whose struct has `const char *dashboard, *dashboard_token`. */
#define MX_DASHBOARD_OPTIONS(object)                                                                                   \
    {MX_OPTION_STRING(object, dashboard, "dashboard", "[ADDR:PORT]", "none; alone: " MX_DASHBOARD_ADDRESS,             \
                      "Show the run live in a browser. 'off' overrides the setting."),                                 \
     .implied = MX_DASHBOARD_ADDRESS},                                                                                 \
    {                                                                                                                  \
        MX_OPTION_STRING(object, dashboard_token, "dashboard-token", "TOKEN", "$MYXTTS_DASHBOARD_TOKEN",               \
                         "What a browser must send, as ?token=TOKEN, to see the run. Needed on addresses other than "  \
                         "loopback ones.")                                                                             \
    }

/* Serves the run of `job`, which has its folder, and says where; *out is NULL where no dashboard is wanted, and in
 * ranks other than 0. `token`: of the command line, NULL: none. */
int mx_train_dashboard_open(const struct mx_train_job *job, const char *token, struct mx_dashboard **out);

#endif
