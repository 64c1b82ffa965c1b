/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The features as the network sees them: mel, energy and pitch in standard deviations from their mean over the training
 * data.
 *
 *     mel, energy   (x - mean)/deviation
 *     pitch         (x - mean)/deviation where voiced, with mean and deviation of voiced frames; 0 where unvoiced
 *
 * One mean and one deviation each, for all bands and speakers. They are measured once, before the first step, and are
 * part of every checkpoint: a voice that continues training or speaks uses the values of its checkpoint.
 *
 * Memory: plain values; measuring releases all memory that it allocates.
 */
#ifndef MX_FEATURES_NORMALISER_H
#define MX_FEATURES_NORMALISER_H

#include <stddef.h>
#include <stdint.h>

#include "corpus/dataset.h"
#include "features/recipe.h"
#include "myxtts/device.h"

struct mx_normaliser {
    double mel_mean, mel_deviation;
    double energy_mean, energy_deviation;
    double pitch_mean, pitch_deviation;
};

/* A corpus with more utterances than this is measured on this many of them, evenly spread. */
#define MX_NORMALISER_UTTERANCES 1000

/* Measures the utterances of the dataset that are not for validation; features of audio are computed on `device` by
 * the recipe, to which the dataset is suited (mx_recipe_dataset_check).
 * Unusable rows are skipped; MX_ERR_DATA if none is left. */
int mx_normaliser_measure(struct mx_dataset *dataset, const struct mx_recipe *recipe, struct mx_device *device,
                          struct mx_normaliser *out);

/* Device bytes that it takes meanwhile. */
uint64_t mx_normaliser_bytes(const struct mx_dataset *dataset, const struct mx_recipe *recipe);

/* In place, on the host. */
void mx_normaliser_mel(const struct mx_normaliser *normaliser, float *values, size_t count);
void mx_normaliser_energy(const struct mx_normaliser *normaliser, float *values, size_t count);
void mx_normaliser_pitch(const struct mx_normaliser *normaliser, float *values, size_t count);

/* MX_ERR_DATA, with the recipe that would do, unless the samples or features of a dataset are those of the recipe. */
int mx_recipe_dataset_check(const struct mx_recipe *recipe, const struct mx_dataset *dataset);

/* The tensors of a dataset of features: mel, energy and pitch of the recipe. */
struct mx_feature_tensors {
    uint32_t mel, energy, pitch;
};
/* MX_ERR_DATA if one is missing or was made by another recipe. */
int mx_feature_tensors_find(const struct mx_dataset *dataset, const struct mx_recipe *recipe,
                            struct mx_feature_tensors *out);

#endif
