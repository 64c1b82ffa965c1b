/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A small vocoder's network on a device with everything around it that a trainer would have, and made-up segments to
 * train it on, for all tests of it.
 *
 * A segment is a pure function of its seed: random mel, pitch with unvoiced frames, and magnitudes and short mel that a
 * network can learn from the mel.
 *
 * Memory: a rig owns device, vocoder and buffers; segments are plain values. Failures end the test.
 */
#ifndef MX_TESTS_SUPPORT_VOCODER_RIG_H
#define MX_TESTS_SUPPORT_VOCODER_RIG_H

#include "support/model_rig.h"
#include "vocoder/vocoder.h"

#define SEGMENT_FRAMES_MAX 24
#define SEGMENT_BANDS      8
#define SEGMENT_BINS       65
#define SEGMENTS           4 /* of a usual batch: one of them is a single frame */
#define SEGMENTS_MAX       8

struct segment {
    int32_t frames;
    float mel[SEGMENT_FRAMES_MAX * SEGMENT_BANDS];
    float target[SEGMENT_FRAMES_MAX * SEGMENT_BINS];
    float pitch[SEGMENT_FRAMES_MAX];
    float burst[SEGMENT_FRAMES_MAX * MX_VOCODER_BURST];
};

struct segment segment_make(uint64_t seed, int32_t frames);
/* Always the same ones. */
void segments_make(struct segment segments[SEGMENTS]);

struct vocoder_rig {
    struct rig base; /* without a model: device, stream, weights; its functions for these work here as well */
    struct mx_vocoder *vocoder;
    struct mx_vocoder_batch batch;
    float losses[MX_VOCODER_LOSSES * SEGMENTS_MAX];
};

/* Width 16, 2 blocks, hidden 40, 8 bands, 65 bins. */
struct mx_vocoder_config vocoder_rig_config(void);
struct mx_vocoder_capacity vocoder_rig_capacity(void);
/* As rig_open and rig_open_on. */
void vocoder_rig_open(struct vocoder_rig *rig, const struct mx_vocoder_config *config, enum mx_model_purpose purpose,
                      int devices, bool stirred);
void vocoder_rig_open_on(struct vocoder_rig *rig, struct op_cpu opened, const struct mx_vocoder_config *config,
                         enum mx_model_purpose purpose, bool stirred);
void vocoder_rig_close(struct vocoder_rig *rig);
/* Uploads the segments as the rig's batch; waits. */
void vocoder_rig_load(struct vocoder_rig *rig, const struct segment *segments, int count);
/* Clears the gradients, runs one pass, waits; returns the losses of the batch. */
struct mx_vocoder_losses vocoder_rig_teach(struct vocoder_rig *rig);
struct mx_vocoder_losses vocoder_rig_evaluate(struct vocoder_rig *rig);

#endif
