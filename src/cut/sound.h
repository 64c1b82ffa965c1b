/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Long recordings on disk while they are cut: decoded once, in pieces, to mono samples of 16 bits at the rate of the voice, and
 * their mel. Both lie in files without a name in the folder that is being made, mapped into memory: the system keeps as
 * much of them in memory as it has room for.
 *
 * Several recordings follow each other, each padded with silence to a whole number of frames. Frame f is centred on
 * sample f · hop.
 *
 * Memory: a sound owns its files and arrays.
 */
#ifndef MX_CUT_SOUND_H
#define MX_CUT_SOUND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "features/normaliser.h"
#include "features/recipe.h"
#include "myxtts/device.h"

struct mx_cut_recording {
    const char *path;       /* borrowed */
    int64_t begin, samples; /* among those of the sound; without the padding */
    char damage[192];       /* "": it was read to its end */
};

/* A file without a name, mapped. */
struct mx_cut_map {
    int fd;
    void *data;
    size_t bytes;
};

struct mx_cut_sound {
    const struct mx_recipe *recipe; /* of the voice */
    int64_t window;                 /* samples of a level: 10 ms */
    struct mx_cut_recording *recordings;
    size_t count;
    struct mx_cut_map samples_map, mel_map;
    const int16_t *samples;
    int64_t sample_count;
    float *levels; /* mean square of each window, full scale is 1 */
    int64_t level_count;
    double noise, speech; /* levels: of the quietest tenth of the windows, of those that sound */
    double gain, mean;    /* samples become (sample - mean) · gain for the network */
    const float *mel;     /* [frames, bands], normalised */
    int64_t frames;
};

/* Decodes the recordings at the rate of the recipe; the files without a name are made in `folder`. `stop` (optional) is polled.
 * A recording that cannot be read at all is an error; one that is damaged in the middle ends there, with a message. */
int mx_cut_sound_read(struct mx_cut_sound *sound, const struct mx_recipe *recipe, const char *const *paths,
                      size_t count, const char *folder, const atomic_bool *stop);
/* Computes the mel on a device. */
int mx_cut_sound_mel(struct mx_cut_sound *sound, struct mx_device *device, struct mx_stream *stream,
                     const struct mx_normaliser *normaliser, const char *folder, const atomic_bool *stop);
void mx_cut_sound_close(struct mx_cut_sound *sound);

double mx_cut_sound_seconds(const struct mx_cut_sound *sound, int64_t samples);
/* The recording that a sample belongs to. */
size_t mx_cut_sound_find(const struct mx_cut_sound *sound, int64_t sample);
/* The level (mean square) of the window around a sample. */
float mx_cut_sound_level(const struct mx_cut_sound *sound, int64_t sample);

#endif
