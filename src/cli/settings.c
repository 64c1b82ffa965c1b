/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of the whole program, see settings.h. The tables below are all there is to add for a new key.
 */
#include "cli/settings.h"

#include "base/error.h"

/* The names of these limits on the command line of the program that this one succeeds. */
static const char *const data_memory_names[] = {"data_gpu_memory", NULL};
static const char *const model_memory_names[] = {"model_gpu_memory", NULL};

#define MEMORY_MOST_MB (INT64_C(1) << 30) /* a pebibyte: more is a slip of the keyboard */

static const struct mx_config_field device_fields[] = {
    {MX_CONFIG_INT(
        struct mx_settings_device, cpu_devices, 1, MX_SETTINGS_CPU_DEVICES_MAX, "1", NULL,
        "Logical CPU devices that the cores are split into. Two let the data and the model device work side by "
        "side on a machine without a GPU.")},
    {MX_CONFIG_INT(struct mx_settings_device, data_memory_mb, 0, MEMORY_MOST_MB, "0", "MiB",
                   "Memory limit of the data device. 0 takes the recommended share of the device's memory."),
     .aliases = data_memory_names},
    {MX_CONFIG_INT(struct mx_settings_device, model_memory_mb, 0, MEMORY_MOST_MB, "0", "MiB",
                   "Memory limit of the model device. 0 takes the recommended share of the device's memory."),
     .aliases = model_memory_names},
};

static const struct mx_config_section sections[] = {
    {.name = "device",
     .help = "The devices that do the work, and how much of their memory each role may take.",
     .fields = device_fields,
     .count = sizeof device_fields / sizeof device_fields[0],
     .offset = offsetof(struct mx_settings, device)},
};

const struct mx_config_schema mx_settings_schema = {
    .title = "MyXTTS settings. Every key is written out here; a line that is removed takes its default.",
    .sections = sections,
    .count = sizeof sections / sizeof sections[0],
};

int mx_settings_read(const char *config, const struct mx_option_list *set, struct mx_settings *out)
{
    int rc = mx_config_defaults(&mx_settings_schema, out);
    if (rc < 0) return rc;
    if (config != NULL) MX_TRY(mx_config_load(&mx_settings_schema, out, config));
    for (size_t i = 0; i < set->count; i++) MX_TRY(mx_config_set(&mx_settings_schema, out, set->items[i]));
out:
    if (rc < 0) mx_config_release(&mx_settings_schema, out);
    return rc;
}
