/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sounds for tests, and their features on a CPU device of all cores.
 *
 * sound_voice and sound_chirp are what scripts/test/make_golden.py computes too: change both or neither.
 *
 * Memory: arrays come from mx_alloc and are the caller's. Any failure ends the process.
 */
#ifndef MX_TESTS_SOUND_H
#define MX_TESTS_SOUND_H

#include <stdint.h>

#include "features/extract.h"
#include "ops/case.h"

#define SOUND_RATE 22050

float *sound_voice(int64_t count); /* ten harmonics of a rising pitch from 140 Hz on, and some noise */
float *sound_chirp(int64_t count); /* from 200 Hz upwards by 24 kHz a second, and some noise */
float *sound_noise(int64_t count, float level, uint64_t seed); /* normal, of that deviation */
/* `harmonics` sines from number `first` on, each 1/number as high; the pitch goes evenly in octaves from `from_hz` to
 * `to_hz`. */
float *sound_glide(int64_t count, double from_hz, double to_hz, int first, int harmonics, float level);
/* The pitch of that at sample `at`. */
double sound_glide_hz(int64_t count, double from_hz, double to_hz, int64_t at);

/* Features of one utterance. */
struct sound_features {
    int64_t frames;
    float *mel, *energy, *pitch;
};
void sound_features(struct mx_device *device, const float *samples, int64_t count, struct sound_features *out);
void sound_features_release(struct sound_features *features);

#endif
