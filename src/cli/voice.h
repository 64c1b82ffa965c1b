/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trained voice as commands use it: a checkpoint, its vocabulary, a device, and the network with its averaged weights
 * there.
 *
 * Memory: a voice owns everything that it opened; mx_voice_close releases it, also after a failure. {0} is closed.
 */
#ifndef MX_CLI_VOICE_H
#define MX_CLI_VOICE_H

#include "checkpoint/checkpoint.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "text/vocabulary.h"
#include "model/model.h"
#include "myxtts/registry.h"

/* Options of a command that opens a voice, over a struct that has `checkpoint`, `device` and `cpu_devices`: elements of
 * its table. */
#define MX_VOICE_OPTION_CHECKPOINT(object)                                                                             \
    {                                                                                                                  \
        MX_OPTION_STRING(object, checkpoint, "checkpoint", "RUN_OR_FILE", NULL,                                        \
                         "Run folder (its newest checkpoint) or checkpoint file. Must be given."),                     \
            .letter = 'c'                                                                                              \
    }
#define MX_VOICE_OPTIONS_DEVICE(object)                                                                                \
    {MX_OPTION_STRING(object, device, "device", "NAME", "cpu:0", "The device that speaks.")},                          \
    {                                                                                                                  \
        MX_OPTION_INT(object, cpu_devices, "cpu-devices", "N", 1, MX_SETTINGS_CPU_DEVICES_MAX, "1",                    \
                      "Logical CPU devices that the cores are split into.")                                            \
    }

struct mx_voice {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct mx_checkpoint *checkpoint;
    struct mx_vocabulary *vocabulary;
    struct mx_model *model;
    struct mx_buffer *weights;
};

/* Opens checkpoint (run folder or file) and device (NULL: cpu:0; cpu_devices 0: one); refuses a checkpoint of another
 * recipe. */
int mx_voice_open(struct mx_voice *voice, const char *checkpoint, const char *device, int64_t cpu_devices);
/* Makes the network, for speaking within `room`, and loads the averaged weights, if the checkpoint has them. */
int mx_voice_load(struct mx_voice *voice, const struct mx_model_capacity *room);
void mx_voice_close(struct mx_voice *voice);

#endif
