/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Free-running evaluation: an utterance is actually spoken, along the same path as `myxtts synth` up to the mel, with
 * the voice of another utterance of its speaker, and compared with its recording after the best time alignment (dtw.h).
 * The trainer uses it between steps and `myxtts eval` for any corpus, so both give the same numbers.
 *
 * Units: mel distance in decibels (mean over bands and the pairs of the alignment), duration as |spoken - real|/real,
 * pitch in semitones over the frames whose recording is voiced.
 *
 * Memory: a listener allocates a little host memory when it is created and none later; the objects it works with are
 * borrowed and must outlive it. Threads: one at a time, the one that uses the stream.
 */
#ifndef MX_TRAIN_LISTEN_H
#define MX_TRAIN_LISTEN_H

#include "model/model.h"
#include "train/feed/batch.h"
#include "train/feed/host_batch.h"

/* References are always those of one epoch that training never reaches, so that evaluations are comparable. */
#define MX_LISTEN_EPOCH UINT32_MAX

/* The objects to speak with and the utterances to speak; all borrowed, and idle between two calls. */
struct mx_listener_options {
    const struct mx_batch_source *source;
    struct mx_dataset_reader *reader; /* of the source's dataset */
    struct mx_host_batch *host;       /* of the source, with room for every utterance that will be spoken */
    struct mx_batch_builder *batch;   /* builds the device batch of `host` */
    struct mx_stream *stream;
    struct mx_model *model; /* its capacity limits the length of speech */
    struct mx_slice weights;
    struct mx_slice voice; /* (optional) [width]: the vector that speaks, instead of another utterance of the speaker */
    /* (optional) Compares the sound of the speech: gets the normalised mel [frames, bands] on the device and writes the
     * normalised mel of its sound, with as many frames, to `heard` on the host. NULL: the mel itself is compared. */
    int (*hear)(void *context, struct mx_slice mel, int32_t frames, float *heard);
    void *context;
};

struct mx_listener;

int mx_listener_create(const struct mx_listener_options *options, struct mx_listener **out);
void mx_listener_destroy(struct mx_listener *listener); /* NULL is fine */

enum mx_spoken_outcome {
    MX_SPOKEN,          /* spoken and compared */
    MX_SPOKEN_UNUSABLE, /* the row is unusable: see `why` */
    MX_SPOKEN_TOO_LONG, /* the speech would exceed the model's capacity; happens early in training */
};

struct mx_spoken {
    enum mx_spoken_outcome outcome;
    const char *why;       /* static; "" unless unusable */
    int32_t real, spoken;  /* frames */
    double mel_db;         /* mean distance of mel bands, in decibels */
    double duration_error; /* |spoken - real|/real */
    double pitch_sum;      /* semitones, summed over `voiced` frames */
    uint64_t voiced;       /* voiced frames of the recording, each counted as often as the alignment uses it */
};

/* Speaks utterance `index` of the dataset. A damaged packed file is an error, as is anything that the model refuses
 * except the length. */
int mx_listener_speak(struct mx_listener *listener, uint32_t index, struct mx_spoken *out);

/* Results of several utterances; {0} is none. A mean is NAN if there is nothing to average. */
struct mx_spoken_sums {
    uint32_t spoken, unusable, too_long;
    uint64_t real, voiced; /* frames */
    double mel_db, duration_error, pitch;
};
void mx_spoken_add(struct mx_spoken_sums *sums, const struct mx_spoken *one);
double mx_spoken_mel_db(const struct mx_spoken_sums *sums);
double mx_spoken_duration_error(const struct mx_spoken_sums *sums);
double mx_spoken_pitch_error(const struct mx_spoken_sums *sums); /* every voiced frame has the same weight */

#endif
