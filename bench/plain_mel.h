/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plain way to a log-mel, as a peer: libsndfile, then FFTW one frame at a time, with the recipe's own window and
 * bands. Nothing is left undone for speed (a measured plan, only the weights that are not 0), nothing clever is done.
 *
 * Memory: one struct, made and released by the two functions. One thread at a time.
 */
#ifndef MX_BENCH_PLAIN_MEL_H
#define MX_BENCH_PLAIN_MEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "features/recipe.h"

struct plain_mel;

struct plain_mel *plain_mel_open(const struct mx_recipe *recipe, size_t samples_max); /* NULL: built without FFTW */
void plain_mel_close(struct plain_mel *plain);

/* mel [frames, bands] of the samples; owned by `plain`, until the next call. */
const float *plain_mel_run(struct plain_mel *plain, const float *samples, size_t count);
/* The same of a file. Ends the program when it cannot be read. */
const float *plain_mel_file(struct plain_mel *plain, const char *path);

#endif
