/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Computes mel, energy and pitch from packed audio on a device.
 *
 * An extractor has a fixed capacity and owns all buffers that a batch needs, allocated once and charged to one budget
 * owner; a batch then allocates nothing. It holds one batch at a time: for several batches in flight, use several
 * extractors (each slot of the pipeline has one).
 *
 * A batch is submitted to a stream of the device: upload, noise (with augmentation), mel and energy, pitch, masks. A
 * caller that also needs the mel without masks leaves those to mx_extract_mask. The features stay on the device, packed,
 * until the next batch; mx_extract_read copies them to the host. The features of an utterance do not depend on the rest
 * of the batch.
 *
 * Threads: only the thread that uses the stream may use the extractor.
 */
#ifndef MX_FEATURES_EXTRACT_H
#define MX_FEATURES_EXTRACT_H

#include <stdbool.h>

#include "features/augment.h"
#include "features/recipe.h"
#include "myxtts/device.h"
#include "myxtts/ops.h"

struct mx_extract;

struct mx_extract_options {
    const struct mx_recipe *recipe; /* NULL: the default; copied */
    int64_t samples_max;            /* of all utterances of a batch together */
    int32_t utterances_max;
    bool no_pitch;     /* do not compute pitch; it then costs no time and no memory */
    bool no_mel;       /* each batch names the place of its mel: none is allocated */
    int span_max;      /* masks of an utterance (mx_augment_span_count); 0: no masks */
    const char *owner; /* owner in the budget; NULL: "features". Borrowed */
};

/* The parts of a batch that are on the device after mx_extract_submit. */
struct mx_extract_features {
    struct mx_ragged frames;
    struct mx_slice mel;    /* [frames.rows, bands] */
    struct mx_slice energy; /* [frames.rows] */
    struct mx_slice pitch;  /* [frames.rows]; {0} without pitch */
};

/* A batch on the host; nothing in it may change until the stream has finished the work. */
struct mx_extract_batch {
    const float *audio;                  /* packed samples */
    const int32_t *offsets;              /* [count + 1] into audio, first 0 */
    int32_t count;                       /* utterances */
    const struct mx_augment_draw *draws; /* [count], or NULL: no augmentation */
    uint64_t seed;                       /* of the noise */
    struct mx_slice mel;                 /* where mel goes, with no_mel: room for [frames, bands] */
    bool unmasked;                       /* no masks until mx_extract_mask */
};

int mx_extract_create(struct mx_device *device, const struct mx_extract_options *options, struct mx_extract **out);
/* Does not wait: the stream must have finished the last batch. NULL is fine. */
void mx_extract_destroy(struct mx_extract *extract);

/* Bytes of device memory that an extractor of these options takes, for plans. */
uint64_t mx_extract_bytes(const struct mx_extract_options *options);
/* Host memory for what is uploaded in addition to the audio. */
uint64_t mx_extract_host_bytes(const struct mx_extract_options *options);

/* From the next batch on, mel becomes (ln … - mean)/deviation; initially 0 and 1. Masked places are then set to 0. */
int mx_extract_normalise(struct mx_extract *extract, double mean, double deviation);

/* MX_ERR_ARGUMENT if the batch is larger than the capacity. The last batch must be finished. */
int mx_extract_submit(struct mx_extract *extract, struct mx_stream *stream, const struct mx_extract_batch *batch,
                      struct mx_extract_features *features);

/* Masks the mel of the last batch, which was submitted `unmasked`. */
int mx_extract_mask(struct mx_extract *extract, struct mx_stream *stream, const struct mx_extract_batch *batch);

/* Chosen frames of the last batch. */
struct mx_extract_pick {
    struct mx_ragged out;   /* the rows of each segment of frames */
    struct mx_slice places; /* int32 [out.count, 2]: utterance and first frame of each */
};
/* y [out.rows, fft_size/2 + 1] = ln(|X| + least) of the sound that the features are from. */
int mx_extract_magnitudes(struct mx_extract *extract, struct mx_stream *stream, const struct mx_extract_pick *pick,
                          float least, struct mx_slice y);

/* The packed sound of the last batch, on the device, with the noise of its augmentation. */
struct mx_slice mx_extract_audio(const struct mx_extract *extract);

/* Copies the requested (not NULL) features of the last batch to the host and waits for them: mel [frames, bands],
 * energy and pitch [frames]. */
int mx_extract_read(struct mx_extract *extract, struct mx_stream *stream, float *mel, float *energy, float *pitch);
/* Frame offsets of the last batch, [count + 1]. */
const int32_t *mx_extract_frames(const struct mx_extract *extract);

#endif
