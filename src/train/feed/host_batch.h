/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One batch on the host: from a list of utterances to packed arrays that can be sent to a device.
 *
 * A batch source knows where utterances come from, which other utterances of the same speaker may serve as reference,
 * and how features are normalised. A host batch has room for one batch; filling it allocates nothing. Any number of
 * threads may fill host batches of one source at the same time, each with its own reader.
 *
 * The reference of an utterance is a crop of another utterance of the same speaker: from the training data if there is
 * one, otherwise any other, otherwise the utterance itself. The choice and the position of the crop are a pure function
 * of (seed, epoch, utterance), so neither the number of threads nor a resume changes them.
 *
 * With augmentation (features/augment.h) the speed changes here, of the utterance and its reference alike, because it
 * changes the voice; the other random choices are stored beside the audio for the device. An utterance that would end
 * up with fewer frames than tokens keeps its speed.
 *
 * The segments for the vocoder (segment.h) are drawn when all utterances are there. A batch of crops has a sequence for
 * each crop, with one segment; it has neither tokens nor references, so the rules below about them do not apply.
 *
 * Unusable rows (corpus/dataset.h) are left out and counted. An utterance with fewer frames than tokens cannot be
 * aligned and is left out, too.
 *
 * Memory: a host batch owns one block of host memory from which copies to the device are fast. The dataset is borrowed
 * and must outlive the source, and the source must outlive its host batches.
 */
#ifndef MX_TRAIN_HOST_BATCH_H
#define MX_TRAIN_HOST_BATCH_H

#include <stdatomic.h>

#include "corpus/dataset.h"
#include "features/augment.h"
#include "features/normaliser.h"
#include "model/memory_plan.h"
#include "myxtts/device.h"
#include "train/feed/segment.h"

struct mx_batch_source;

struct mx_batch_source_options {
    struct mx_dataset *dataset;
    const struct mx_recipe *recipe;  /* NULL: the default; borrowed */
    struct mx_normaliser normaliser; /* for features; audio is normalised on the device */
    uint64_t seed;
    double reference_seconds; /* longest crop */
    struct mx_segment_options segments;
};

int mx_batch_source_create(const struct mx_batch_source_options *options, struct mx_batch_source **out);
void mx_batch_source_destroy(struct mx_batch_source *source); /* NULL is fine */
struct mx_dataset *mx_batch_source_dataset(const struct mx_batch_source *source);
const struct mx_recipe *mx_batch_source_recipe(const struct mx_batch_source *source);
const struct mx_normaliser *mx_batch_source_normaliser(const struct mx_batch_source *source);
/* Frames of an utterance, exact or an upper bound: see corpus/dataset.h. */
uint32_t mx_batch_source_frames(const struct mx_batch_source *source, uint32_t utterance);
/* The utterance that serves as reference; `attempt` 1, 2, … if the earlier choices were unusable. */
uint32_t mx_batch_source_reference(const struct mx_batch_source *source, uint32_t epoch, uint32_t utterance,
                                   uint32_t attempt);

/* With crops (segment.h): how many crops of an utterance belong to an epoch, as many as it takes to cover it once, and
 * the number of the first. Numbers of crops take the place of utterances in samplers and in mx_host_batch_fill. */
uint32_t mx_batch_source_crops(const struct mx_batch_source *source, uint32_t utterance, uint32_t *first);

/* The upper limits of a batch with at most `batch_size` (0: no limit) of these utterances and at most `frame_budget`
 * (0: no limit) frames. Of crops only their number counts. */
struct mx_host_batch_capacity {
    const struct mx_recipe *recipe; /* of the frames; NULL: the default */
    struct mx_model_capacity model;
    int64_t samples, reference_samples; /* of all utterances together; 0 for precomputed features */
};

int mx_batch_source_capacity(const struct mx_batch_source *source, const uint32_t *utterances, uint32_t count,
                             uint32_t batch_size, uint64_t frame_budget, struct mx_host_batch_capacity *out);
/* Adds room for utterances that may become longer by the factor 1 + `speed`. */
int mx_host_batch_capacity_stretch(struct mx_host_batch_capacity *capacity, double speed);
/* Rounds up to fixed sizes: 64 frames, 16 tokens, the samples of 64 frames. */
int mx_host_batch_capacity_round(struct mx_host_batch_capacity *capacity);

struct mx_host_batch {
    /* which batch it is, as the sampler counts */
    uint32_t epoch, step;
    /* contents */
    int32_t count;        /* utterances; 0 if none was usable */
    int32_t left_out;     /* unusable utterances of the batch */
    uint32_t *utterances; /* [count] */
    int32_t tokens, frames, references, longest_tokens, longest_frames, longest_reference;
    int32_t *token_offsets, *frame_offsets, *reference_offsets; /* [count + 1] */
    int32_t *token_ids;                                         /* [tokens] */
    int32_t *languages;                                         /* [count] */
    float *audio, *reference_audio;                             /* packed samples; NULL for features */
    int32_t *sample_offsets, *reference_sample_offsets;         /* [count + 1] */
    float *mel, *energy, *pitch, *reference_mel;                /* normalised; NULL for audio */
    struct mx_augment_draw *draws;                              /* [count]; NULL: no augmentation */
    struct mx_segment *segments;                                /* [segment_count]; NULL: there are never any */
    int32_t segment_count;
    /* For a watcher while the batch is being filled; NULL: none. Filling checks `cancel` before each recording and
     * stores the current utterance in `at`. */
    const atomic_bool *cancel;
    atomic_uint *at;
    /* internal */
    const struct mx_augment_options *augment;
    struct mx_host_batch_capacity capacity;
    struct mx_device *device;
    void *block;
    const struct mx_batch_source *source;
};

/* Allocates host memory for batches to be sent to `device`. */
int mx_host_batch_create(const struct mx_batch_source *source, struct mx_device *device,
                         const struct mx_host_batch_capacity *capacity, struct mx_host_batch **out);
void mx_host_batch_destroy(struct mx_host_batch *batch); /* NULL is fine */
uint64_t mx_host_batch_bytes(const struct mx_batch_source *source, const struct mx_host_batch_capacity *capacity);
/* Augments batches according to `how` (borrowed) from now on: a pure function of seed, epoch and utterance. */
int mx_host_batch_augment(struct mx_host_batch *batch, const struct mx_augment_options *how);

/* Loads a batch of these utterances, or crops. Unusable rows are not an error; a damaged packed file is. MX_ERR_INTERRUPTED if it was cancelled: the
 * batch is then incomplete. */
int mx_host_batch_fill(struct mx_host_batch *batch, struct mx_dataset_reader *reader, uint32_t epoch, uint32_t step,
                       const uint32_t *utterances, uint32_t count);

#endif
