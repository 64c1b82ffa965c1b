/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The recipe: exactly how sound becomes features. It has a name and a hash, which are stored in every file of features
 * and in every checkpoint; training, synthesis and packed corpora refuse to mix different recipes.
 *
 * mel: frames as in myxtts/ops.h (centred, reflected), a periodic Hann window of fft_size, magnitudes, triangular bands
 * evenly spaced on Slaney's mel scale (linear to 1,000 Hz at 66⅔ Hz a step, from there on 27 steps for each factor of
 * 6.4) with equal areas (2/width in Hz), natural logarithm of at least `floor`. This is librosa's melspectrogram with
 * power 1 and its default bands, and, except for the padding, the recipe of HiFi-GAN and similar vocoders.
 * energy and pitch: as in myxtts/ops.h.
 *
 * Memory: a recipe is a plain value. Tables belong to the code that made them.
 */
#ifndef MX_FEATURES_RECIPE_H
#define MX_FEATURES_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mx_recipe {
    char name[32];
    int32_t rate; /* samples a second */
    int32_t fft_size, hop, bands;
    float low_hz, high_hz; /* of the bands together */
    float floor;
    float pitch_low_hz, pitch_high_hz;
    float pitch_silence, pitch_threshold, pitch_octave, pitch_jump, pitch_change;
};

/* "mx-mel-22k-80" */
extern const struct mx_recipe mx_recipe_default;

/* MX_ERR_ARGUMENT unless the tables can be made and the operations accept them. */
int mx_recipe_check(const struct mx_recipe *recipe);

#define MX_RECIPE_TEXT_BYTES 512
/* Everything in the recipe but its name, in one line: two recipes that differ in anything have different texts. */
void mx_recipe_text(const struct mx_recipe *recipe, char out[MX_RECIPE_TEXT_BYTES]);
/* XXH64 (seed 0) of that text. */
uint64_t mx_recipe_hash(const struct mx_recipe *recipe);
#define MX_RECIPE_HASH_BYTES 17
const char *mx_recipe_hash_text(const struct mx_recipe *recipe, char out[MX_RECIPE_HASH_BYTES]); /* 16 digits */
/* Whether this is the text of the hash of mx_recipe_default, the recipe that the program computes. */
bool mx_recipe_is_default(const char *hash_text);

/* Frames of an utterance; 0 samples have none. */
int64_t mx_recipe_frames(const struct mx_recipe *recipe, int64_t samples);
/* The largest number of frames that this many samples in this many utterances can have. */
int64_t mx_recipe_frames_most(const struct mx_recipe *recipe, int64_t samples, int64_t utterances);

/* The tables of the operations mel and pitch, laid out as myxtts/ops.h says. */
struct mx_recipe_tables {
    float *data; /* [count] */
    size_t count;
    int32_t weights;
};

int mx_recipe_tables_make(const struct mx_recipe *recipe, struct mx_recipe_tables *tables);
/* Makes the table `places` of the operation mel_project from finished tables: each bin lies between the two bands whose
 * centres of gravity are nearest below and above it; below the first centre and above the last, both are that band.
 * Bands without a bin have no centre. out [3 · (fft_size/2 + 1)]. MX_ERR_ARGUMENT if no band has a bin. */
int mx_recipe_places_build(const struct mx_recipe *recipe, const struct mx_recipe_tables *tables, float *out);
void mx_recipe_tables_release(struct mx_recipe_tables *tables);

/* Slaney's scale: Hz → mel steps, and back. */
double mx_recipe_mel_from_hz(double hz);
double mx_recipe_hz_from_mel(double mel);

#endif
