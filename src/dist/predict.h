/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long a step will take when many ranks share it, from what one rank was measured to take and from the bytes that
 * a step must move. Arithmetic only: nothing is measured here, nothing is known of any network but two numbers.
 *
 * The model. A rank computes its batches; while the backward pass of the last one runs, gradients become final bucket
 * by bucket, when they were measured to be, or evenly over its time if that is not known, and each bucket is summed
 * over all ranks by one channel, one bucket after the other:
 *
 *     ring   2(N-1) messages of S/N bytes:        2(N-1)(latency + S/(N·bandwidth))
 *     tree   halves and doubles, ⌈log2 N⌉ rounds
 *            each way, S bytes in all each way:   2⌈log2 N⌉·latency + 2(N-1)/N·S/bandwidth
 *
 * whichever is faster for the bucket; with two ranks both are one exchange of halves and one of results. A number of
 * ranks that is no power of two costs a tree two more messages of S bytes, to fold the others in. What is not done when
 * the backward pass ends is waited for; then the weights are updated. Twice in a step a handful of numbers is agreed on
 * (a tree without bytes). All wait for the slowest: of N ranks whose times vary by the deviation d at equal work, it
 * takes as many d longer as the largest of N normal numbers is large on average (0.56 of two, 3.2 of 1024). Where cores
 * train they also carry: each byte that is sent while the backward pass runs takes carry_ns_per_byte from it; what is
 * waited for is carried by cores that have nothing else to do; nothing is sent faster than a core can carry it. A step
 * is never shorter than the time that making its data takes.
 *
 * It cannot know: whether ranks are slower together than one alone is (memory, caches and power that they share, other
 * users of their machines); what this network takes of a core for a byte, which is a figure of another machine
 * (MX_PREDICT_CARRY_NS); links that several ranks share; and bursts that a switch lets pass faster.
 *
 * Memory: plain values.
 */
#ifndef MX_DIST_PREDICT_H
#define MX_DIST_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#define MX_PREDICT_RANKS_MAX (INT64_C(1) << 20)
/* Nanoseconds of a core for a byte that is sent, received and added up over TCP, where nothing better is known:
 * SPEED.md, "Ranks". */
#define MX_PREDICT_CARRY_NS 1.1

/* A part of the gradient that is summed at once. */
struct mx_predict_bucket {
    int64_t bytes;
    double lead_ms; /* from when it is final to the end of the backward pass */
};

/* What one rank was measured to do, alone, and between what it will do it. Times are milliseconds. */
struct mx_predict_input {
    double step_ms;     /* a whole step; > 0 */
    double train_ms;    /* of it, computing: all batches, forward, backward and update; > 0 … */
    double backward_ms; /* … of it, the backward pass of the last batch … */
    double update_ms;   /* … and what follows when all gradients are there */
    double variation;   /* deviation of the time per frame, as a share of its mean */
    double data_ms;     /* the longest stage that makes the data of a step; 0: not known */
    int64_t utterances; /* of a step; ≥ 1 */
    int64_t gradient_bytes;
    int64_t bucket_bytes;                    /* ≥ 1 */
    const struct mx_predict_bucket *buckets; /* [bucket_count], in the order in which they become final; borrowed … */
    int64_t bucket_count;                    /* … 0: not measured, all have bucket_bytes and come evenly */
    double carry_ns_per_byte;                /* that a rank sends, of a core that trains; 0: others carry */
    double bandwidth;                        /* bytes a second that a rank sends while it receives as many; > 0 */
    double latency_ms;                       /* of one message; ≥ 0 */
    /* Utterances of a step over all ranks; 0: each rank has as many as were measured. */
    int64_t global_batch;
};

/* What makes the step longer than the computing of one rank: the largest of its parts. */
enum mx_predict_limit {
    MX_PREDICT_COMPUTE,    /* nothing does, to speak of */
    MX_PREDICT_DATA,       /* its own data keeps a rank waiting */
    MX_PREDICT_BANDWIDTH,  /* bytes of gradients */
    MX_PREDICT_LATENCY,    /* number of messages */
    MX_PREDICT_CARRYING,   /* the cores that train carry the bytes, too */
    MX_PREDICT_STRAGGLERS, /* waiting for the slowest */
    MX_PREDICT_BATCH,      /* a shared batch has fewer utterances than there are ranks */
    MX_PREDICT_LIMITS
};

const char *mx_predict_limit_name(enum mx_predict_limit limit); /* "bandwidth" */

struct mx_predict_step {
    int64_t ranks;
    double step_ms;
    double compute_ms;   /* of a rank */
    double straggle_ms;  /* for the slowest */
    double sum_ms;       /* all sums of a step, hidden or not … */
    double exposed_ms;   /* … and what of it is waited for */
    double carry_ms;     /* taken from the computing for the rest of it */
    double agree_ms;     /* the small agreements */
    double data_wait_ms; /* for the data of a rank */
    int64_t buckets;
    int64_t bytes_sent; /* by each rank in a step */
    bool tree;          /* is faster than the ring, for most of the bytes */
    double speed;       /* work a second, in ranks of the measured step */
    double efficiency;  /* speed/ranks */
    enum mx_predict_limit limit;
};

/* MX_ERR_ARGUMENT naming what cannot be. */
int mx_predict_check(const struct mx_predict_input *input);
/* `ranks` 1 … MX_PREDICT_RANKS_MAX. The input was checked. */
struct mx_predict_step mx_predict_step(const struct mx_predict_input *input, int64_t ranks);
/* The most ranks that all work with at least this efficiency (0 … 1); at least 1. */
int64_t mx_predict_useful(const struct mx_predict_input *input, double efficiency);

#endif
