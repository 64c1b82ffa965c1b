/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Free-running judgement: an utterance is really spoken, by the path that `myxtts synth` takes up to the mel, with the
 * voice of another utterance of its speaker, and compared with its recording after the best time alignment (dtw.h).
 * The trainer asks here between steps, `myxtts eval` for any corpus: the same numbers for both.
 *
 * Units: mel distance in decibels (mean over bands and the pairs of the alignment), duration as |spoken - real|/real,
 * pitch in semitones over the frames whose recording is voiced.
 *
 * Memory: a listener takes a little host memory at the start and none later; the parts it works with are borrowed and
 * must outlive it. Threads: one at a time, the one that uses the stream.
 */
#ifndef MX_TRAIN_LISTEN_H
#define MX_TRAIN_LISTEN_H

#include "model/model.h"
#include "train/batch.h"
#include "train/host_batch.h"

/* References are always those of one epoch, which training never comes to, so that evaluations can be compared. */
#define MX_LISTEN_EPOCH UINT32_MAX

/* What speaks and what is spoken; borrowed. Between two calls nothing of it is in use. */
struct mx_listener_options {
    const struct mx_batch_source *source;
    struct mx_dataset_reader *reader; /* of the source's dataset */
    struct mx_host_batch *host;       /* of the source, with room for any utterance that is asked for … */
    struct mx_batch *batch;           /* … and so has this one */
    struct mx_stream *stream;
    struct mx_model *model; /* its capacity bounds how long speech may become */
    struct mx_slice weights;
};

struct mx_listener;

int mx_listener_create(const struct mx_listener_options *options, struct mx_listener **out);
void mx_listener_destroy(struct mx_listener *listener); /* NULL is fine */

enum mx_spoken_outcome {
    MX_SPOKEN,          /* and compared */
    MX_SPOKEN_UNUSABLE, /* the row cannot be used: `why` */
    MX_SPOKEN_TOO_LONG, /* it would have become longer than the model has room for: early in training */
};

struct mx_spoken {
    enum mx_spoken_outcome outcome;
    const char *why;       /* static; "" unless unusable */
    int32_t real, spoken;  /* frames */
    double mel_db;         /* mean distance of mel bands, in decibels */
    double duration_error; /* |spoken - real|/real */
    double pitch_sum;      /* semitones, over the voiced frames … */
    uint64_t voiced;       /* … of the recording, as often as the alignment meets them */
};

/* Speaks utterance `index` of the dataset. Damage of a packed file is a failure, and so is whatever the model refuses
 * except the length. */
int mx_listener_speak(struct mx_listener *listener, uint32_t index, struct mx_spoken *out);

/* Several together; {0} is none. Means are NAN where there is nothing to take them of. */
struct mx_spoken_sums {
    uint32_t spoken, unusable, too_long;
    uint64_t real, voiced; /* frames */
    double mel_db, duration_error, pitch;
};
void mx_spoken_add(struct mx_spoken_sums *sums, const struct mx_spoken *one);
double mx_spoken_mel_db(const struct mx_spoken_sums *sums);
double mx_spoken_duration_error(const struct mx_spoken_sums *sums);
double mx_spoken_pitch_error(const struct mx_spoken_sums *sums); /* of all voiced frames alike */

#endif
