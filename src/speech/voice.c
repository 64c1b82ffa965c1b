/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An opened voice, see voice.h.
 */
#include "speech/voice.h"

#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

int mx_voice_open(struct mx_voice *v, const char *checkpoint, const char *device, int64_t cpu_devices)
{
    int rc = 0;
    const struct mx_registry_options wanted = {
        .cpu_devices = (int)cpu_devices, .devices = {device != NULL ? device : "cpu:0"}, .device_count = 1};
    MX_TRY(mx_checkpoint_open(checkpoint, NULL, &v->checkpoint));
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    MX_TRY(mx_checkpoint_recipe_check(v->checkpoint));
    if (state->vocoder_alone)
        MX_RAISE(MX_ERR_DATA,
                 "name a run of 'myxtts train' with '--part both' or '--part acoustic'; '--vocoder' takes "
                 "this one",
                 "%s is a vocoder alone: it has no network that reads texts", mx_checkpoint_path(v->checkpoint));
    MX_TRY(mx_vocabulary_read(state->vocabulary, strlen(state->vocabulary), &v->vocabulary));
    MX_TRY(mx_registry_open(NULL, &wanted, &v->registry));
    MX_TRY(mx_registry_device_open(v->registry, 0, 0, &v->device));
    MX_TRY(mx_stream_create(v->device, "speak", &v->stream));
out:
    return rc;
}

static int weights_load(struct mx_voice *v)
{
    int rc = 0;
    const struct mx_parameters *const table = mx_model_parameters(v->model);
    const size_t bytes = (size_t)table->floats * sizeof(float);
    float *const host = mx_alloc(1, bytes);
    if (host == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_checkpoint_load_average(v->checkpoint, table, host));
    MX_TRY(mx_buffer_create(v->device, "parameters", bytes, &v->weights));
    MX_TRY(mx_copy_upload(v->stream, mx_slice_at(v->weights, 0), host, bytes));
    MX_TRY(mx_stream_sync(v->stream));
out:
    mx_free(host);
    return rc;
}

int mx_voice_load(struct mx_voice *v, const struct mx_model_capacity *room)
{
    int rc = 0;
    const struct mx_model_config *const config = &mx_checkpoint_state(v->checkpoint)->model;
    MX_TRY(mx_model_create(v->device, v->stream, config, room, MX_MODEL_SPEAK, &v->model));
    MX_TRY(weights_load(v));
out:
    return rc;
}

void mx_voice_close(struct mx_voice *v)
{
    if (v->stream != NULL) (void)mx_stream_sync(v->stream); /* after a failure something may be under way */
    mx_buffer_release(v->weights);
    mx_model_destroy(v->model);
    mx_vocabulary_destroy(v->vocabulary);
    mx_checkpoint_close(v->checkpoint);
    mx_stream_release(v->stream);
    mx_device_close(v->device);
    mx_registry_close(v->registry);
    *v = (struct mx_voice){0};
}
