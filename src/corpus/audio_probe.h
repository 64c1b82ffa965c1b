/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long a recording can be, without decoding it: what batches are planned by when a corpus is read from its folder.
 */
#ifndef MX_CORPUS_AUDIO_PROBE_H
#define MX_CORPUS_AUDIO_PROBE_H

#include "corpus/audio.h"

/* *bound gets an upper bound of the samples that mx_audio_load will yield, or 0 for a recording that it refuses for
 * certain; report says why. Asks the header; where that names a length that cannot be (unknown, none) or more than
 * `seconds_plain`, the file is decoded, so a header is never believed against the audio. With options->seconds_max for
 * that, no recording that is too long gets a bound: the silence at its ends decides. The bound is a pure function of
 * file and options. Negative: not the file's fault. */
int mx_audio_probe(struct mx_audio_reader *reader, const char *path, const struct mx_audio_options *options,
                   double seconds_plain, uint32_t *bound, struct mx_audio_report *report);

/* The length that the header names, believable or not; 0 if it names none. */
double mx_audio_promised(const char *path);

#endif
