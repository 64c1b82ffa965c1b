/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writes mono WAV files with libsndfile.
 *
 * Level: sound is stored unchanged, unless its highest sample exceeds MX_WAV_PEAK: then all of it is attenuated by one
 * factor, so that nothing is clipped. mx_wav_gain returns that factor, so that callers who join sounds can use one for
 * all.
 *
 * A file is written under a temporary name next to it, flushed and renamed: a reader sees the old file or the new one.
 * The path "-" is standard output, which must not be a terminal.
 *
 * Memory: nothing is kept. A file is first assembled in memory.
 */
#ifndef MX_SPEECH_WAV_H
#define MX_SPEECH_WAV_H

#include <stddef.h>

#define MX_WAV_PEAK 0.98f /* relative to full scale */

enum mx_wav_format {
    MX_WAV_PCM16, /* 16-bit integers */
    MX_WAV_FLOAT, /* 32-bit floating point: not rounded */
};

/* 1, or less if the highest sample requires it. */
float mx_wav_gain(const float *samples, size_t count);

/* MX_ERR_DATA for samples that are not finite, MX_ERR_ARGUMENT for a sound too long for the format (4 GiB) or an
 * impossible rate, MX_ERR_IO with the system's reason. */
int mx_wav_write(const char *path, const float *samples, size_t count, int rate, enum mx_wav_format format);

#endif
