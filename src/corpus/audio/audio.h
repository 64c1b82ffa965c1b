/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recordings: whatever libsndfile reads (WAV, FLAC, Ogg Vorbis, Opus, MP3 …) as mono samples at one rate.
 *
 * In this order: channels are averaged; samples are checked (finite, clipping) and resampled by soxr (HQ); the mean is
 * removed; silence at both ends is trimmed; the level is set. Windows of 10 ms whose level (RMS) is at most `trim_db`
 * below the loudest one are sound; everything before the first and after the last of them is silence, of which
 * `margin_seconds` are kept. The gain brings the RMS over the sounding windows to `level_db`, but never raises the
 * highest sample above `peak_db`.
 *
 * A recording is used whole or refused: nothing is ever cut to fit a limit. Headers are not trusted: files are read in
 * blocks, memory grows with what is really decoded, and reading stops as soon as it is clear that the file is too long
 * (more than twice `seconds_max` before trimming).
 *
 * Memory: a reader owns its buffers, which only grow; with files of similar lengths it soon allocates nothing. One
 * thread uses a reader at a time. Samples belong to the reader and are valid until its next load.
 */
#ifndef MX_CORPUS_AUDIO_H
#define MX_CORPUS_AUDIO_H

#include <stddef.h>
#include <stdint.h>

#include "corpus/reject.h"

#define MX_AUDIO_RATE_DEFAULT 22050  /* Hz */
#define MX_AUDIO_RATE_MIN     4000   /* of files */
#define MX_AUDIO_RATE_MAX     384000 /* of files */

/* Part of the hash of every corpus: raise it whenever the same file gives other samples. */
#define MX_AUDIO_VERSION 1

struct mx_audio_options {
    int rate;                        /* Hz, of everything after the reader: that of the recipe of the features */
    double seconds_min, seconds_max; /* after trimming */
    double trim_db;                  /* how far below the loudest window silence begins; 0: no trimming */
    double margin_seconds;           /* silence kept at each end, if there is that much */
    double level_db;                 /* RMS of the sounding windows, re full scale; 0: the level is not changed */
    double peak_db;                  /* highest sample after levelling, re full scale */
    double silent_db;                /* a peak below this is a silent recording */
    double clipped_share;            /* refused when more samples than this share are clipped (runs of 3 or more) */
};

#define MX_AUDIO_OPTIONS_DEFAULT                                                                                       \
    ((struct mx_audio_options){.rate = MX_AUDIO_RATE_DEFAULT,                                                          \
                               .seconds_min = 0.4,                                                                     \
                               .seconds_max = 20.0,                                                                    \
                               .trim_db = 45.0,                                                                        \
                               .margin_seconds = 0.05,                                                                 \
                               .level_db = -23.0,                                                                      \
                               .peak_db = -1.0,                                                                        \
                               .silent_db = -54.0,                                                                     \
                               .clipped_share = 0.001})

/* What was found; filled as far as reading got, also when the file is refused. */
struct mx_audio_report {
    enum mx_reject reject;
    char detail[192];                  /* why, in words with numbers; "" when the file is good */
    int error;                         /* errno of the system that did not give its bytes; 0: they are what is wrong */
    char format[48];                   /* "WAV (Microsoft), Signed 16 bit PCM" */
    int rate, channels;                /* of the file */
    int64_t frames;                    /* of the file, really decoded */
    double seconds_promised;           /* of the file, by its header; 0: not read that far */
    double seconds;                    /* of the file, really decoded */
    double seconds_used;               /* after trimming */
    double trimmed_begin, trimmed_end; /* seconds of silence taken away */
    double peak;                       /* highest sample of the file, 1: full scale */
    double offset;                     /* mean of the samples, which was removed; 1: full scale */
    double rms;                        /* of the sounding windows, before levelling */
    double gain;                       /* factor of the levelling */
    int64_t clipped;                   /* samples in runs of 3 or more at full scale, all channels */
};

struct mx_audio_reader;

int mx_audio_reader_create(struct mx_audio_reader **out);
void mx_audio_reader_destroy(struct mx_audio_reader *reader); /* NULL is fine */

/* MX_ERR_ARGUMENT, with a message for the user, if the options contradict each other. */
int mx_audio_options_check(const struct mx_audio_options *options);

/* Reads `path`. *samples and *count are the result, valid until the next call with this reader. A refused file is
 * MX_ERR_DATA, with report->reject and report->detail set; any other failure (MX_ERR_NO_MEMORY …) is not the file's
 * fault and leaves report->reject NONE. */
int mx_audio_load(struct mx_audio_reader *reader, const char *path, const struct mx_audio_options *options,
                  const float **samples, size_t *count, struct mx_audio_report *report);

/* The same for mono samples in memory, whose name in messages is `name`. */
int mx_audio_process(struct mx_audio_reader *reader, const char *name, const float *input, size_t input_count, int rate,
                     const struct mx_audio_options *options, const float **samples, size_t *count,
                     struct mx_audio_report *report);
/* All samples of the last load, silence included; those that it returned lie within and have the gain of their report,
 * the others have not. */
const float *mx_audio_whole(const struct mx_audio_reader *reader, size_t *count);
/* The factor that would bring a recording, loaded without levelling, to the usual level; peaks are not considered. */
double mx_audio_usual_gain(const struct mx_audio_report *report);

/* ---- long recordings, in pieces: mono, neither trimmed nor levelled, whatever their length ---- */

/* Opens `path`; its samples will come at `rate`. MX_ERR_DATA, with the report filled, for what cannot be read at all.
 * Another load or stream of this reader ends this one. */
int mx_audio_stream_begin(struct mx_audio_reader *reader, const char *path, int rate, struct mx_audio_report *report);
/* The next samples, valid until the next call; *count is 0 at the end. A file that is damaged in the middle ends there:
 * report->reject and report->detail then say so, and the samples before it are good. */
int mx_audio_stream_next(struct mx_audio_reader *reader, const float **samples, size_t *count,
                         struct mx_audio_report *report);
void mx_audio_stream_end(struct mx_audio_reader *reader); /* closes the file; without one it does nothing */

/* ---- how long a recording can be, without decoding it: batches of a folder are planned with this ---- */

/* *bound gets an upper bound of the samples that mx_audio_load will return, or 0 for a recording that it is certain to
 * refuse; report says why. It reads the header; if that gives an impossible length (unknown, none) or more than
 * options->seconds_max, the file is decoded, so a header is never trusted over the audio, and the silence at the ends
 * decides whether a recording is too long. The bound is a pure function of file and options. A negative result is not the file's fault. */
int mx_audio_probe(struct mx_audio_reader *reader, const char *path, const struct mx_audio_options *options,
                   uint32_t *bound, struct mx_audio_report *report);

/* The length given by the header, plausible or not; 0 if it gives none. */
double mx_audio_promised(const char *path);

#endif
