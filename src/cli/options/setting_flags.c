/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From flags to settings, see setting_flags.h. Owns no memory.
 */
#include "cli/options/setting_flags.h"

#include <string.h>

const char *mx_setting_flags_given(const struct mx_option_settings *flags, const char *setting)
{
    const struct mx_config_field *const field = mx_config_find(&mx_settings_schema, setting, NULL);
    for (size_t i = 0; i < flags->count; i++)
        if (flags->items[i].field == field) return flags->items[i].text;
    return NULL;
}

/* A way to name devices on the command line leaves nothing of another one that a file (or a run) had. Two ways on one
 * command line stay both, to be refused together. */
static void ways_clear(const struct mx_option_settings *flags, struct mx_settings_pipeline *p)
{
    const bool one = mx_setting_flags_given(flags, "pipeline.device") != NULL;
    const bool numbers = mx_setting_flags_given(flags, "pipeline.data_gpu") != NULL ||
                         mx_setting_flags_given(flags, "pipeline.model_gpu") != NULL;
    const bool names = mx_setting_flags_given(flags, "pipeline.data_device") != NULL ||
                       mx_setting_flags_given(flags, "pipeline.model_device") != NULL;
    if (!one && !numbers && !names) return;
    if (!one) p->device[0] = '\0';
    if (!numbers) p->data_gpu = p->model_gpu = -1;
    if (!names) p->data_device[0] = p->model_device[0] = '\0';
}

int mx_setting_flags_apply(const struct mx_option_settings *flags, struct mx_settings *settings)
{
    int rc = 0;
    ways_clear(flags, &settings->pipeline);
    for (size_t i = 0; rc == 0 && i < flags->count; i++)
        rc = mx_config_set_flag(flags->items[i].section, flags->items[i].field, settings, flags->items[i].text);
    return rc;
}
