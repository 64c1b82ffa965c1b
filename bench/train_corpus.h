/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What bench_train trains on: a packed corpus of made-up utterances, as `prepare --features` makes one, and its batches
 * as files for a peer.
 *
 * The sound is a hum and the text is syllables; features are smooth noise, since their values do not matter to the
 * speed. Lengths are spread evenly around the middle that DESIGN.md names: 250 frames and 49 tokens, from half of that
 * to half as much again.
 *
 * A batch file is batch-E-S.safetensors (epoch, step) with what a host batch holds (train/feed/host_batch.h): token_offsets,
 * frame_offsets, reference_offsets, token_ids, languages, mel, reference_mel, pitch, energy, all packed and normalised.
 * weights.safetensors holds the initial weights by their names, with the settings of the training as metadata.
 *
 * Memory: the corpus owns its folder below TMPDIR (or /tmp), which train_corpus_close removes with everything in it.
 */
#ifndef MX_BENCH_TRAIN_CORPUS_H
#define MX_BENCH_TRAIN_CORPUS_H

#include "train/trainer.h"

struct train_corpus {
    char folder[256];
    struct mx_dataset *dataset;
    struct mx_normaliser normaliser;
};

void train_corpus_open(struct train_corpus *corpus, struct mx_device *device, int utterances);
void train_corpus_close(struct train_corpus *corpus);

/* What is in one batch, and the floating-point operations of a training step on it. */
struct train_batch {
    int64_t frames, tokens;
    double flops;
};

/* Nominal operations of the model on the batch (model/work.h). */
double train_flops(const struct mx_parameters *table, const struct mx_model_config *config,
                   const struct mx_host_batch *host);

/* Fills out[epochs][steps] with the batches that a trainer with these options takes, and writes them for a peer where
 * that is asked for. Every epoch must have `steps` of them. */
void train_batches_make(const struct train_corpus *corpus, const struct mx_trainer_options *options, int epochs,
                        int steps, bool write, struct train_batch *out);
void train_weights_write(const struct train_corpus *corpus, const struct mx_trainer_options *options);

#endif
