/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From flags to settings, see pipeline_options.h.
 */
#include "cli/pipeline_options.h"

#include <string.h>

const char *const mx_pipeline_backends[] = {"auto",
#define X(identifier, name) name,
                                            MX_BACKEND_LIST(X)
#undef X
                                                NULL};
const char *const mx_pipeline_switch[] = {"on", "off", NULL};
const char *const mx_pipeline_sharing[] = {"auto", "on", "off", NULL};

/* ---- flags ---- */

/* A way to name devices on the command line leaves nothing of another one that a file (or a run) had. Two ways on one
 * command line stay both, to be refused together. */
static void ways_clear(const struct mx_pipeline_flags *f, struct mx_settings_pipeline *p)
{
    const bool one = f->device != NULL, numbers = f->data_gpu != NULL || f->model_gpu != NULL;
    const bool names = f->data_device != NULL || f->model_device != NULL;
    if (!one && !numbers && !names) return;
    if (!one) p->device[0] = '\0';
    if (!numbers) p->data_gpu = p->model_gpu = -1;
    if (!names) p->data_device[0] = p->model_device[0] = '\0';
}

int mx_pipeline_flags_apply(const struct mx_pipeline_flags *f, struct mx_settings *settings)
{
    const char *const tune = f->auto_tune == NULL ? NULL : strcmp(f->auto_tune, "on") == 0 ? "true" : "false";
    const struct {
        const char *flag, *key, *value;
    } list[] = {
        {"backend", "pipeline.backend", f->backend},
        {"device", "pipeline.device", f->device},
        {"data-gpu", "pipeline.data_gpu", f->data_gpu},
        {"model-gpu", "pipeline.model_gpu", f->model_gpu},
        {"data-device", "pipeline.data_device", f->data_device},
        {"model-device", "pipeline.model_device", f->model_device},
        {"cpu-devices", "device.cpu_devices", f->cpu_devices},
        {"opencl-split", "device.opencl_split", f->opencl_split},
        {"allow-single", "pipeline.allow_single", f->allow_single ? "true" : NULL},
        {"buffer-size", "pipeline.buffer_size", f->buffer_size},
        {"prefetch-buffer-size", "pipeline.prefetch_buffer_size", f->prefetch_buffer_size},
        {"num-workers", "data.num_workers", f->num_workers},
        {"model-start-delay", "pipeline.model_start_delay", f->model_start_delay},
        {"auto-tune", "pipeline.auto_tune", tune},
        {"share-work", "pipeline.share_work", f->share_work},
        {"shares", "pipeline.shares", f->shares},
        {"enable-memory-isolation", "pipeline.memory_isolation", f->memory_isolation ? "true" : NULL},
        {"data-gpu-memory", "device.data_memory_mb", f->data_gpu_memory},
        {"model-gpu-memory", "device.model_memory_mb", f->model_gpu_memory},
        {"enable-static-shapes", "pipeline.static_shapes", f->static_shapes ? "true" : NULL},
    };
    ways_clear(f, &settings->pipeline);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (list[i].value == NULL) continue;
        const int rc = mx_settings_flag(settings, list[i].flag, list[i].key, list[i].value);
        if (rc < 0) return rc;
    }
    return 0;
}
