/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A device to make speech or sound on, with a stream of its own, and what turns mel into sound there.
 *
 * Memory: both structs own what they opened; closing them is fine after a failure, too. {0} is closed.
 */
#ifndef MX_SPEECH_RUNTIME_H
#define MX_SPEECH_RUNTIME_H

#include "checkpoint/checkpoint.h"
#include "myxtts/registry.h"
#include "vocoder/sound.h"

struct mx_runtime {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
};

/* device NULL: cpu:0; cpu_devices 0: one. `stream` names the stream in traces. */
int mx_runtime_open(struct mx_runtime *runtime, const char *device, int64_t cpu_devices, const char *stream);
void mx_runtime_close(struct mx_runtime *runtime); /* waits for the stream first */

/* A vocoder with its averaged weights on a device, or Griffin–Lim. */
struct mx_runtime_vocoder {
    bool loaded; /* false: Griffin–Lim, which needs nothing, and has no other member */
    const struct mx_recipe *recipe;
    struct mx_vocoder_config config;
    struct mx_buffer *weights;
};

/* `name`: MX_SOUND_GRIFFIN_LIM, or the run folder or checkpoint whose vocoder to use; NULL: the vocoder of the
 * checkpoint `own` (NULL: there is none), or Griffin–Lim if it has none.
 * MX_ERR_USAGE if there is nothing under that name; MX_ERR_DATA if it has no vocoder, or one for another recipe, or one
 * whose weights are not finite. */
int mx_runtime_vocoder_open(struct mx_runtime_vocoder *vocoder, const struct mx_runtime *runtime, const char *name,
                            const struct mx_checkpoint *own);
void mx_runtime_vocoder_close(struct mx_runtime_vocoder *vocoder);

#endif
