/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where the sound of `myxtts synth` goes: a file in a format of speech/encode.h, standard output, the
 * loudspeaker, or several of them.
 *
 * A file is written at the end, in one piece and under a temporary name first: a reader sees the old file or the new one.
 * Standard output gets the sound as it is made. The header comes first, when the length is not known yet: if standard
 * output is a WAV file, the header is corrected at the end; in a pipe its two lengths are 0xFFFFFFFF, as ffmpeg writes
 * them, which means "up to the end of the stream" to ffmpeg, SoX and aplay.
 *
 * Memory: an output owns its encoder and its player. A file is assembled in memory.
 */
#ifndef MX_CLI_SYNTH_OUTPUT_H
#define MX_CLI_SYNTH_OUTPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "speech/encode.h"

struct mx_synth_output;

struct mx_synth_output_options {
    const char *file;             /* "-": standard output; NULL: none. Borrowed */
    enum mx_encode_format format; /* of the file */
    bool play;
    int rate;
    const atomic_bool *stop; /* needed to play: once it is true, the sound ends (cli/synth/player.h). Borrowed */
};

/* Opens the loudspeaker, and refuses a terminal as standard output; nothing is written yet. */
int mx_synth_output_open(const struct mx_synth_output_options *options, struct mx_synth_output **out);
/* MX_ERR_DATA for samples that are not finite, or more than a WAV file can hold (4 GiB). */
int mx_synth_output_add(struct mx_synth_output *output, const float *samples, size_t count);
/* Writes the file, or corrects the header; waits until everything has been played. */
int mx_synth_output_finish(struct mx_synth_output *output);
uint64_t mx_synth_output_samples(const struct mx_synth_output *output); /* added so far */
uint64_t mx_synth_output_gaps(const struct mx_synth_output *output);    /* in what was played */
/* Without mx_synth_output_finish no file is written and the sound ends at once. NULL is fine. */
void mx_synth_output_close(struct mx_synth_output *output);

#endif
