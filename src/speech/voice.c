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
    MX_TRY(mx_checkpoint_open(checkpoint, NULL, &v->checkpoint));
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    MX_TRY(mx_checkpoint_recipe_check(v->checkpoint));
    if (state->vocoder_alone)
        MX_RAISE(MX_ERR_DATA,
                 "name a run of 'myxtts train' with '--part both' or '--part acoustic'; '--vocoder' takes "
                 "this one",
                 "%s is a vocoder alone: it has no network that reads texts", mx_checkpoint_path(v->checkpoint));
    MX_TRY(mx_vocabulary_read(state->vocabulary, strlen(state->vocabulary), &v->vocabulary));
    MX_TRY(mx_place_open(&v->place, device, cpu_devices, "speak"));
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
    MX_TRY(mx_buffer_create(v->place.device, "parameters", bytes, &v->weights));
    MX_TRY(mx_copy_upload(v->place.stream, mx_slice_at(v->weights, 0), host, bytes));
    MX_TRY(mx_stream_sync(v->place.stream));
out:
    mx_free(host);
    return rc;
}

int mx_voice_load(struct mx_voice *v, const struct mx_model_capacity *room)
{
    int rc = 0;
    const struct mx_model_config *const config = &mx_checkpoint_state(v->checkpoint)->model;
    MX_TRY(mx_model_create(v->place.device, v->place.stream, config, room, MX_MODEL_SPEAK, &v->model));
    MX_TRY(weights_load(v));
out:
    return rc;
}

int mx_voice_vocoder(struct mx_voice *v, const char *name)
{
    return mx_place_vocoder_open(&v->vocoder, &v->place, name, v->checkpoint);
}

void mx_voice_close(struct mx_voice *v)
{
    if (v->place.stream != NULL) (void)mx_stream_sync(v->place.stream); /* something may be under way */
    mx_place_vocoder_close(&v->vocoder);
    mx_buffer_release(v->weights);
    mx_model_destroy(v->model);
    mx_vocabulary_destroy(v->vocabulary);
    mx_checkpoint_close(v->checkpoint);
    mx_place_close(&v->place);
    *v = (struct mx_voice){0};
}
