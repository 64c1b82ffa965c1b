/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts config: checks settings and shows the result.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/options/shared_options.h"
#include "myxtts/error.h"
#include "run/settings.h"

struct values {
    const char *config;
    struct mx_option_list set;
    const char *output;
};

static const struct mx_option options[] = {
    MX_SETTINGS_OPTIONS(struct values),
    {MX_OPTION_STRING(
         struct values, output, "output", "FILE", "standard output",
         "Write the resolved settings to this file. An existing file is only replaced if everything succeeded."),
     .letter = 'o'},
};

static const struct mx_example examples[] = {
    {"myxtts config", "shows every setting with its default, range and meaning"},
    {"myxtts config --config my.yaml", "checks my.yaml and shows the resolved settings"},
    {"myxtts config --set device.cpu_devices=2 --output my.yaml", "writes a complete settings file to start from"},
};

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    struct mx_settings settings;
    char *text = NULL;
    (void)operands; /* the page takes none, so the parser refused them */
    int rc = mx_settings_read(values->config, values->set.items, values->set.count, &settings);
    if (rc < 0) return rc;
    text = mx_config_format_in(&mx_settings_schema, &settings, mx_catalogue_language());
    if (text == NULL) MX_TRY(mx_error_last()->code);
    if (values->output != NULL) {
        MX_TRY(mx_file_write_atomic(values->output, text, strlen(text)));
        mx_info("settings written to %s", values->output);
        goto out;
    }
    fputs(text, stdout);
out:
    mx_free(text);
    mx_config_release(&mx_settings_schema, &settings);
    return rc;
}

const struct mx_command mx_command_config = {
    .name = "config",
    .page =
        {
            .command = "myxtts config",
            .summary = "check settings and show the resolved values",
            .description = "Takes the defaults, then the settings file, then each --set in order, checks the result "
                           "and prints it as a commented YAML file. That file can be used as it is: reading it back "
                           "gives the same settings.\nAn unknown key or a bad value is reported with file, line and "
                           "the nearest correct name, and the exit code is 1.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
