/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options that several commands share, as elements of option tables: for settings and for a voice.
 */
#ifndef MX_CLI_SHARED_OPTIONS_H
#define MX_CLI_SHARED_OPTIONS_H

#include "cli/options/options.h"
#include "run/settings.h"

/* Table elements for a command with settings, whose struct has `const char *config` and `struct mx_option_list set`. */
#define MX_SETTINGS_OPTIONS(object)                                                                                    \
    {MX_OPTION_STRING(object, config, "config", "FILE", NULL, "Read settings from this YAML file."), .letter = 'c'},   \
    {                                                                                                                  \
        MX_OPTION_LIST(object, set, "set", "SECTION.KEY=VALUE", "Set one setting, after the file is read.")            \
    }

/* Table elements for a command that opens a voice, whose struct has `checkpoint`, `device` and `cpu_devices`. `end`: the
 * end of the help, if the option is required. */
#define MX_VOICE_OPTION_CHECKPOINT(object, usual, end)                                                                 \
    {                                                                                                                  \
        MX_OPTION_STRING(object, checkpoint, "checkpoint", "RUN_OR_FILE", usual,                                       \
                         "Run folder (for its newest checkpoint), checkpoint or voice file, or the name of an "        \
                         "installed voice." end),                                                                      \
            .letter = 'c'                                                                                              \
    }
#define MX_VOICE_OPTION_LEXICON(object)                                                                                \
    {                                                                                                                  \
        MX_OPTION_STRING(object, lexicon, "lexicon", "FILE", NULL,                                                     \
                         "File that says how words are pronounced, before the words that the voice knows itself.")     \
    }
#define MX_VOICE_OPTIONS_DEVICE(object)                                                                                \
    {MX_OPTION_STRING(object, device, "device", "NAME", "cpu:0", "Device that runs the network.")},                    \
    {                                                                                                                  \
        MX_OPTION_INT(object, cpu_devices, "cpu-devices", "N", 1, MX_SETTINGS_CPU_DEVICES_MAX, "1",                    \
                      "Split the CPU cores into N logical devices.")                                                   \
    }

#endif
