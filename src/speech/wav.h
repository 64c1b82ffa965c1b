/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * WAV files of mono sound, by libsndfile.
 *
 * Level: sound is stored as it is. Only when its highest sample is above MX_WAV_PEAK is all of it made less loud, by
 * one factor, so that nothing is clipped; mx_wav_gain tells that factor, so whoever joins sounds can take one for all.
 *
 * A file is written to a temporary name next to it, flushed and renamed: a reader sees the old file or the new one. The
 * path "-" is the standard output, which must not be a terminal.
 *
 * Memory: nothing is kept. A file is put together in memory first.
 */
#ifndef MX_SPEECH_WAV_H
#define MX_SPEECH_WAV_H

#include <stddef.h>

#define MX_WAV_PEAK 0.98f /* re full scale */

enum mx_wav_format {
    MX_WAV_PCM16, /* whole numbers of 16 bits */
    MX_WAV_FLOAT, /* 32-bit floating point: not rounded */
};

/* 1, or less where the highest sample needs it. */
float mx_wav_gain(const float *samples, size_t count);

/* MX_ERR_DATA for samples that are not finite, MX_ERR_ARGUMENT for a sound too long for the format (4 GiB) or a rate
 * that is none, MX_ERR_IO with the reason of the system. */
int mx_wav_write(const char *path, const float *samples, size_t count, int rate, enum mx_wav_format format);

#endif
