/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/corpus/audio: opening an untrusted file, and processing its samples.
 *
 * Functions that return an enum mx_reject write report->reject and report->detail through mx_audio_refuse.
 */
#ifndef MX_CORPUS_AUDIO_INTERNAL_H
#define MX_CORPUS_AUDIO_INTERNAL_H

#include <sndfile.h>

#include "corpus/audio/audio.h"

enum mx_reject mx_audio_refuse(struct mx_audio_report *report, enum mx_reject reject, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- opening (audio_file.c) ---- */
struct mx_audio_file {
    SNDFILE *handle;     /* NULL: the sound is in memory */
    const float *memory; /* the samples not read yet, if the sound is in memory */
    size_t left;         /* number of samples at `memory` */
    SF_INFO info;
    float full_scale; /* a sample of at least this size may be a clipped one */
};

/* Opens a file if its header is plausible; on refusal nothing is open. */
enum mx_reject mx_audio_file_open(const char *path, struct mx_audio_file *file, struct mx_audio_report *report);
/* What is wrong with the header of a WAV file, for `size` bytes in all; NONE for files of any other kind. */
enum mx_reject mx_audio_wav_check(int fd, uint64_t size, struct mx_audio_report *report);

/* ---- trimming and level (audio_level.c) ---- */
/* Samples of a window of 10 ms. */
static inline size_t mx_audio_window(int rate)
{
    return (size_t)rate / 100;
}

/* The largest absolute value of a sample; not finite if any sample is not. */
float mx_audio_peak(const float *samples, size_t count);

/* The part of the samples that is used. */
struct mx_audio_part {
    size_t begin, length;
};

/* Removes the mean, finds the sound, judges the length and sets the level, all in place. levels has room for
 * count / mx_audio_window(options->rate) + 1 values. */
enum mx_reject mx_audio_level(float *samples, size_t count, double *levels, const struct mx_audio_options *options,
                              struct mx_audio_part *part, struct mx_audio_report *report);

#endif
