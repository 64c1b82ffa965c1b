/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From flags to settings: applies the flags of settings that were given (options.h).
 *
 * Memory: values point into argv; nothing here owns any.
 */
#ifndef MX_CLI_SETTING_FLAGS_H
#define MX_CLI_SETTING_FLAGS_H

#include "cli/options/options.h"

/* Table elements for a command that opens the devices of a training run: everything about devices and the flow of
 * batches. Its struct has a `struct mx_option_settings flags`. */
#define MX_OPTION_FLOW(object)                                                                                         \
    {MX_OPTION_SETTING(object, flags, pipeline)}, {MX_OPTION_SETTING(object, flags, device)},                          \
    {                                                                                                                  \
        MX_OPTION_SETTING(object, flags, data.num_workers)                                                             \
    }

/* The value given to the flag of "section.key"; NULL: it was not given. */
const char *mx_setting_flags_given(const struct mx_option_settings *flags, const char *setting);

/* Writes the given flags into the settings, in the order of the command line. Flags that name devices replace the other
 * ways of naming them that the settings came with. */
int mx_setting_flags_apply(const struct mx_option_settings *flags, struct mx_settings *settings);

#endif
