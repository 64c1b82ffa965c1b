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
 * The recipes that the program knows are one table, mx_recipes: another one is a row of it. A run chooses one
 * (data.recipe), and its packed corpora, checkpoints, voices and exports keep it.
 *
 * Memory: a recipe is a plain value; those of the table live as long as the program. Tables of numbers belong to the
 * code that made them.
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

/* X(IDENTIFIER, name, words, members …)
 *
 *     IDENTIFIER  MX_RECIPE_IDENTIFIER: its place in mx_recipes
 *     name        in settings and files; it never changes, and neither do the members
 *     words       for help
 *
 * The first one is the default. Files are compared by the hash of the members. */
#define MX_RECIPE_LIST(X)                                                                                              \
    X(MEL_22K_80, "mx-mel-22k-80", "22,050 Hz, 80 bands up to 8,000 Hz", .rate = 22050, .fft_size = 1024, .hop = 256,  \
      .bands = 80, .high_hz = 8000, MX_RECIPE_COMMON)                                                                  \
    X(MEL_24K_100, "mx-mel-24k-100", "24,000 Hz, 100 bands up to 12,000 Hz", .rate = 24000, .fft_size = 1024,          \
      .hop = 256, .bands = 100, .high_hz = 12000, MX_RECIPE_COMMON)                                                    \
    X(MEL_44K_100, "mx-mel-44k-100", "44,100 Hz, 100 bands up to 22,050 Hz", .rate = 44100, .fft_size = 2048,          \
      .hop = 512, .bands = 100, .high_hz = 22050, MX_RECIPE_COMMON)
#define MX_RECIPE_COMMON                                                                                               \
    .floor = 1e-5f, .pitch_low_hz = 65, .pitch_high_hz = 500, .pitch_silence = 2e-3f, .pitch_threshold = 0.4f,         \
    .pitch_octave = 0.02f, .pitch_jump = 0.4f, .pitch_change = 0.1f

enum mx_recipe_id {
#define X(identifier, name, words, ...) MX_RECIPE_##identifier,
    MX_RECIPE_LIST(X)
#undef X
        MX_RECIPES
};

extern const struct mx_recipe mx_recipes[MX_RECIPES];
#define MX_RECIPE_DEFAULT (&mx_recipes[0])
extern const char *const mx_recipe_names[MX_RECIPES + 1]; /* NULL-terminated */
/* The recipe of options that name none. */
static inline const struct mx_recipe *mx_recipe_or_default(const struct mx_recipe *recipe)
{
    return recipe != NULL ? recipe : MX_RECIPE_DEFAULT;
}

/* The one with this name, NULL: the default; NULL if there is none. */
const struct mx_recipe *mx_recipe_find(const char *name);
/* The one with the hash of which this is the text; NULL if there is none. */
const struct mx_recipe *mx_recipe_find_hash(const char *hash_text);

/* MX_ERR_ARGUMENT unless the tables can be made and the operations accept them. */
int mx_recipe_check(const struct mx_recipe *recipe);

#define MX_RECIPE_TEXT_BYTES 512
/* Everything in the recipe but its name, in one line: two recipes that differ in anything have different texts. */
void mx_recipe_text(const struct mx_recipe *recipe, char out[MX_RECIPE_TEXT_BYTES]);
/* XXH64 (seed 0) of that text. */
uint64_t mx_recipe_hash(const struct mx_recipe *recipe);
#define MX_RECIPE_HASH_BYTES 17
const char *mx_recipe_hash_text(const struct mx_recipe *recipe, char out[MX_RECIPE_HASH_BYTES]); /* 16 digits */

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

int mx_recipe_tables_build(const struct mx_recipe *recipe, struct mx_recipe_tables *tables);
/* Makes the table `places` of the operation mel_project from finished tables: each bin lies between the two bands whose
 * centres of gravity are nearest below and above it; below the first centre and above the last, both are that band.
 * Bands without a bin have no centre. out [3 · (fft_size/2 + 1)]. MX_ERR_ARGUMENT if no band has a bin. */
int mx_recipe_places_build(const struct mx_recipe *recipe, const struct mx_recipe_tables *tables, float *out);
void mx_recipe_tables_release(struct mx_recipe_tables *tables);

/* Slaney's scale: Hz → mel steps, and back. */
double mx_recipe_mel_from_hz(double hz);
double mx_recipe_hz_from_mel(double mel);

#endif
