/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes the segments of a batch (segment.h) on the data device: from the features that the extractor has just computed
 * for the batch come their mel, which may be blurred, and their pitch in Hz; from its audio the magnitudes, and the short
 * mel (vocoder/config.h): that one from copies of the sound around each segment, because computing the short frames of
 * the whole batch would take as long as all of its mel.
 *
 * Memory: a maker owns a buffer on the device and a block on the host, both allocated when it is created. It works on
 * one batch at a time.
 */
#ifndef MX_TRAIN_SEGMENT_MAKER_H
#define MX_TRAIN_SEGMENT_MAKER_H

#include "features/extract.h"
#include "train/feed/device_batch.h"

struct mx_segments_maker_options {
    struct mx_segment_options segments; /* count ≥ 1 */
    const struct mx_recipe *recipe;
    uint64_t seed;
    double deviation; /* of the normalised mel */
    const char *owner;
};

struct mx_segments_maker;

int mx_segments_maker_create(struct mx_device *device, const struct mx_segments_maker_options *options,
                             struct mx_segments_maker **out);
void mx_segments_maker_destroy(struct mx_segments_maker *maker); /* its work must be complete; NULL is fine */
uint64_t mx_segments_maker_bytes(const struct mx_segment_options *segments, const struct mx_recipe *recipe);
uint64_t mx_segments_maker_host_bytes(const struct mx_segment_options *segments);

/* Queues everything for the segments of `on_device`, which has been laid out. `features` are those of the extractor's
 * last batch, without masks; `ends` are the offsets of its utterances in samples. The work of the previous call must be
 * complete. */
int mx_segments_maker_run(struct mx_segments_maker *maker, struct mx_stream *stream, struct mx_extract *extract,
                          const struct mx_extract_features *features, const int32_t *ends,
                          const struct mx_device_batch *on_device);

#endif
