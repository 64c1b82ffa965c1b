/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of the whole program: the struct that configuration files, --set and the commands share.
 *
 * Memory: the caller owns the struct and releases it with mx_config_release(&mx_settings_schema, …).
 */
#ifndef MX_CLI_SETTINGS_H
#define MX_CLI_SETTINGS_H

#include <stdint.h>

#include "base/config.h"
#include "cli/options.h"

#define MX_SETTINGS_CPU_DEVICES_MAX 1024

/* Section device. */
struct mx_settings_device {
    int64_t cpu_devices;
    int64_t data_memory_mb;  /* 0: the recommended limit */
    int64_t model_memory_mb; /* 0: the recommended limit */
};

struct mx_settings {
    struct mx_settings_device device;
};

extern const struct mx_config_schema mx_settings_schema;

/* Options that commands with settings share: the members of two options, in braces, over a struct that has a
 * `const char *config` and a `struct mx_option_list set`. */
#define MX_SETTINGS_OPTION_CONFIG(object)                                                                              \
    MX_OPTION_STRING(object, config, "config", "FILE", NULL, "Read settings from this YAML file."), .letter = 'c'
#define MX_SETTINGS_OPTION_SET(object)                                                                                 \
    MX_OPTION_LIST(object, set, "set", "SECTION.KEY=VALUE", "Override one setting, after the file is read.")

/* Defaults, then the file (NULL: none), then the overrides. On failure there is nothing to release. */
int mx_settings_read(const char *config, const struct mx_option_list *set, struct mx_settings *out);

#endif
