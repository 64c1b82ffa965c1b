/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocoder also trains on predicted mel: some of its segments get what the acoustic network has just
 * predicted for the same frames. Its durations are those of the aligner, so sound and prediction belong together.
 *
 * Which segments these are follows from the step and their draws, so an interrupted run chooses the same ones. Owns no
 * memory.
 */
#include "myxtts/error.h"
#include "train/trainer_internal.h"

int mx_predicted_mel(const struct mx_trainer *t, const struct mx_device_batch *batch)
{
    const struct mx_trainer_vocoder *const v = &t->options.vocoder;
    const struct mx_trainer_part *const first = &t->parts[0];
    const size_t row_bytes = (size_t)t->options.model.bands * sizeof(float);
    if (first->which != MX_PART_ACOUSTIC || t->state.step < v->predicted_from || batch->count == 0) return 0;
    const struct mx_slice predicted = mx_model_view(first->replicas[0]->network->model).mel;
    int64_t at = 0; /* row of the segment among all of them */
    for (int32_t i = 0; i < batch->segment_count; at += batch->segments[i++].rows) {
        const struct mx_segment *const s = &batch->segments[i];
        struct mx_slice to = batch->vocoder.mel, from = predicted;
        if ((double)s->draw >= v->predicted_share || s->row < 0) continue;
        to.offset_bytes += (size_t)at * row_bytes;
        from.offset_bytes += (size_t)s->row * row_bytes;
        const int rc = mx_copy_slices(t->stream, to, from, (size_t)s->rows * row_bytes);
        if (rc < 0) return rc;
    }
    return 0;
}
