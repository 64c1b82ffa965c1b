/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Devices and the flow of batches on the command line: what the commands that train share. The flags are settings of
 * the sections pipeline, device and data under the names that users know.
 *
 * Memory: flags point into argv.
 */
#ifndef MX_CLI_PIPELINE_OPTIONS_H
#define MX_CLI_PIPELINE_OPTIONS_H

#include "cli/options.h"
#include "run/settings.h"

/* What the options below fill. */
struct mx_pipeline_flags {
    const char *backend, *device, *data_gpu, *model_gpu, *data_device, *model_device, *cpu_devices;
    const char *opencl_split;
    const char *buffer_size, *prefetch_buffer_size, *model_start_delay, *num_workers, *auto_tune;
    const char *data_gpu_memory, *model_gpu_memory, *share_work, *shares;
    bool memory_isolation, static_shapes, allow_single;
};

extern const char *const mx_pipeline_backends[]; /* choices, NULL-terminated */
extern const char *const mx_pipeline_switch[];   /* on, off */
extern const char *const mx_pipeline_sharing[];  /* auto, on, off */

/* The options of a command whose struct has a `struct mx_pipeline_flags pipeline`: elements of its table. */
#define MX_PIPELINE_OPTIONS(object)                                                                                    \
    {MX_OPTION_STRING(object, pipeline.data_gpu, "data-gpu", "N", "none",                                              \
                      "Number of the device that prepares batches. With '--model-gpu': Multi-GPU Mode. Without "       \
                      "either: Single-GPU Buffered Mode.")},                                                           \
        {MX_OPTION_STRING(object, pipeline.model_gpu, "model-gpu", "N", "none", "Number of the device that trains.")}, \
        {MX_OPTION_CHOICE(object, pipeline.backend, "backend", "NAME", mx_pipeline_backends, "auto",                   \
                          "Which devices the numbers count. auto: GPUs of CUDA, or of OpenCL where CUDA has none.")},  \
        {MX_OPTION_STRING(object, pipeline.data_device, "data-device", "NAME", "none",                                 \
                          "The device that prepares batches, by name: cuda:2, opencl:0, cpu:1.")},                     \
        {MX_OPTION_STRING(object, pipeline.model_device, "model-device", "NAME", "none",                               \
                          "The device that trains, by name.")},                                                        \
        {MX_OPTION_STRING(object, pipeline.device, "device", "NAME", "the best there is",                              \
                          "One device for everything, by name.")},                                                     \
        {MX_OPTION_STRING(object, pipeline.cpu_devices, "cpu-devices", "N", "1",                                       \
                          "Logical CPU devices that the cores are split into.")},                                      \
        {MX_OPTION_STRING(object, pipeline.opencl_split, "opencl-split", "N", "as many as are chosen",                 \
                          "Parts that each OpenCL device of CPU type is split into.")},                                \
        {MX_OPTION_FLAG(object, pipeline.allow_single, "allow-single",                                                 \
                        "Do everything on one device where the two asked for are not there. Otherwise that is an "     \
                        "error.")},                                                                                    \
        {MX_OPTION_STRING(object, pipeline.buffer_size, "buffer-size", "N", "up to 50, tuned",                         \
                          "Prepared batches that wait for the model, from the first step on: 25 for little memory, "   \
                          "50, or 100 for much memory and sources of uneven speed.")},                                 \
        {MX_OPTION_STRING(object, pipeline.prefetch_buffer_size, "prefetch-buffer-size", "N",                          \
                          "up to max(2, min(8, 64/batch size)), tuned",                                                \
                          "Loaded batches that wait for the data device, from the first step on.")},                   \
        {MX_OPTION_STRING(object, pipeline.num_workers, "num-workers", "N", "one for each two cores, then tuned",      \
                          "Threads that load batches.")},                                                              \
        {MX_OPTION_STRING(object, pipeline.model_start_delay, "model-start-delay", "SECONDS", "2.0",                   \
                          "The model starts when its first batch is there; after this time it says what is missing, "  \
                          "and goes on waiting.")},                                                                    \
        {MX_OPTION_CHOICE(object, pipeline.auto_tune, "auto-tune", "on|off", mx_pipeline_switch, "on",                 \
                          "Choose what is not given of --buffer-size, --prefetch-buffer-size and --num-workers by "    \
                          "the stage times, as long as training lasts.")},                                             \
        {MX_OPTION_CHOICE(object, pipeline.share_work, "share-work", "auto|on|off", mx_pipeline_sharing, "off",        \
                          "The data device of Multi-GPU Mode trains on a part of each batch, too, in the time that "   \
                          "preparing batches leaves it. auto: where measured times say that it pays.")},               \
        {MX_OPTION_STRING(object, pipeline.shares, "shares", "LIST", "measured",                                       \
                          "With --share-work: the data device's parts, as STEP:SHARE pairs (0:0.5,15:0.47). The log "  \
                          "of a run tells the list that repeats it.")},                                                \
        {MX_OPTION_FLAG(object, pipeline.memory_isolation, "enable-memory-isolation",                                  \
                        "A hard memory limit for each device: the next two, or 8192 and 16384 MiB.")},                 \
        {MX_OPTION_STRING(object, pipeline.data_gpu_memory, "data-gpu-memory", "MiB", "a third of the device",         \
                          "Memory limit of the data device.")},                                                        \
        {MX_OPTION_STRING(object, pipeline.model_gpu_memory, "model-gpu-memory", "MiB", "two thirds of the device",    \
                          "Memory limit of the model device.")},                                                       \
    {                                                                                                                  \
        MX_OPTION_FLAG(object, pipeline.static_shapes, "enable-static-shapes",                                         \
                       "Round the room for a batch up to fixed sizes.")                                                \
    }

/* Writes what was given into the settings. A way to name devices replaces the others that the settings came with. */
int mx_pipeline_flags_apply(const struct mx_pipeline_flags *flags, struct mx_settings *settings);

#endif
