/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A device and its vocoder, see runtime.h.
 */
#include "speech/runtime.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"

int mx_runtime_open(struct mx_runtime *p, const char *device, int64_t cpu_devices, const char *stream)
{
    int rc = 0;
    const struct mx_registry_options wanted = {
        .cpu_devices = (int)cpu_devices, .devices = {device != NULL ? device : "cpu:0"}, .device_count = 1};
    MX_TRY(mx_registry_open(NULL, &wanted, &p->registry));
    MX_TRY(mx_registry_device_open(p->registry, 0, 0, &p->device));
    MX_TRY(mx_stream_create(p->device, stream, &p->stream));
out:
    return rc;
}

void mx_runtime_close(struct mx_runtime *p)
{
    if (p->stream != NULL) (void)mx_stream_sync(p->stream); /* after a failure something may be under way */
    mx_stream_release(p->stream);
    mx_device_close(p->device);
    mx_registry_close(p->registry);
    *p = (struct mx_runtime){0};
}

static int weights_load(struct mx_runtime_vocoder *v, const struct mx_runtime *runtime,
                        const struct mx_checkpoint *checkpoint)
{
    int rc = 0;
    float *host = NULL;
    struct mx_parameters *table = NULL;
    MX_TRY(mx_vocoder_parameters_create(&v->config, &table));
    const size_t bytes = (size_t)table->floats * sizeof *host;
    host = mx_alloc(1, bytes);
    if (host == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_checkpoint_load_average(checkpoint, table, host)); /* refuses what is not finite */
    MX_TRY(mx_buffer_create(runtime->device, "parameters", bytes, &v->weights));
    MX_TRY(mx_copy_upload(runtime->stream, mx_slice_at(v->weights, 0), host, bytes));
    MX_TRY(mx_stream_sync(runtime->stream));
out:
    mx_free(host);
    mx_parameters_destroy(table);
    return rc;
}

int mx_runtime_vocoder_open(struct mx_runtime_vocoder *v, const struct mx_runtime *runtime, const char *name,
                            const struct mx_checkpoint *own)
{
    int rc = 0;
    char quoted[96];
    struct mx_checkpoint *opened = NULL;
    const struct mx_checkpoint *from = own;
    if (name != NULL && strcmp(name, MX_SOUND_GRIFFIN_LIM) == 0) return 0;
    if (name == NULL && (own == NULL || !mx_checkpoint_state(own)->has_vocoder)) return 0;
    if (name != NULL) {
        rc = mx_checkpoint_open(name, &(struct mx_checkpoint_options){.named = true, .speaks = true}, &opened);
        if (rc == MX_ERR_NOT_FOUND && access(name, F_OK) < 0)
            MX_RAISE(MX_ERR_USAGE,
                     "name a run folder, a checkpoint, an installed voice ('myxtts voices' lists them), or "
                     "'" MX_SOUND_GRIFFIN_LIM "'",
                     "option '--vocoder' is %s, which does not exist", mx_string_quote(quoted, sizeof quoted, name));
        MX_TRY(rc);
        from = opened;
    }
    MX_TRY(mx_checkpoint_vocoder_check(from));
    v->config = mx_checkpoint_state(from)->vocoder;
    v->recipe = mx_checkpoint_recipe(from);
    MX_TRY(weights_load(v, runtime, from));
    v->config.size.name = ""; /* it belongs to the checkpoint */
    v->loaded = true;
out:
    mx_checkpoint_close(opened);
    return rc;
}

void mx_runtime_vocoder_close(struct mx_runtime_vocoder *v)
{
    mx_buffer_release(v->weights);
    *v = (struct mx_runtime_vocoder){0};
}
