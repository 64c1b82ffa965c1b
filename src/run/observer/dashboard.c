/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dashboard of a training run, see dashboard.h.
 */
#include "run/observer/dashboard.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "myxtts/error.h"
#include "run/ranks.h"

int mx_job_dashboard_open(const struct mx_job *job, const char *token, struct mx_dashboard **out)
{
    int rc = 0;
    struct mx_dashboard *dashboard = NULL;
    const struct mx_settings_training *const t = &job->settings.training;
    const char *const hidden = getenv("MYXTTS_DASHBOARD_TOKEN");
    const bool wanted = t->dashboard[0] != '\0' && strcmp(t->dashboard, "off") != 0;
    *out = NULL;
    if (!wanted && token != NULL)
        return MX_FAIL(MX_ERR_USAGE, "add '--dashboard ADDR:PORT'", "'--dashboard-token' is given without a dashboard");
    if (!wanted || !mx_job_ranks_first(job)) return 0;
    const struct mx_dashboard_options options = {.address = t->dashboard,
                                                 .token = token != NULL                       ? token
                                                          : hidden != NULL && *hidden != '\0' ? hidden
                                                                                              : NULL,
                                                 .language = mx_settings_report_language(&job->settings)};
    MX_TRY(mx_dashboard_open(&options, &dashboard));
    MX_TRY(mx_dashboard_start(dashboard, job->run));
    mx_info("dashboard: %s%s", mx_dashboard_url(dashboard), options.token != NULL ? "?token=TOKEN" : "");
    *out = dashboard;
    dashboard = NULL;
out:
    mx_dashboard_close(dashboard);
    return rc;
}
