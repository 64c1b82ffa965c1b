/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Predicts the time of a step that many ranks share, from the measurements of one rank and the bytes that a step must
 * move. Arithmetic only: it measures nothing, and knows only two numbers about a network.
 *
 * The model. A rank computes its batches. While the backward pass of the last one runs, gradients become final bucket
 * by bucket, at the measured times, or evenly over the pass if those are not known. One channel sums the buckets over
 * all ranks, one after the other:
 *
 *     ring   2(N-1) messages of S/N bytes:        2(N-1)(latency + S/(N·bandwidth))
 *     tree   halves and doubles, ⌈log2 N⌉ rounds
 *            each way, S bytes in all each way:   2⌈log2 N⌉·latency + 2(N-1)/N·S/bandwidth
 *
 * whichever is faster for the bucket; with two ranks both are one exchange of halves and one of results. If the number
 * of ranks is not a power of two, a tree costs two more messages of S bytes, to fold the others in. Sums that are not
 * complete when the backward pass ends are waited for; then the weights are updated. Twice per step the ranks agree on
 * a handful of numbers (a tree without bytes). All wait for the slowest: of N ranks whose times vary with deviation d
 * at equal work, the slowest takes longer by d times the expected maximum of N normal numbers (0.56 for two, 3.2 for
 * 1024). Cores that train also carry bytes: each byte sent while the backward pass runs takes carry_ns_per_byte from
 * it; bytes that are waited for are carried by cores that are otherwise idle; and nothing is sent faster than a core
 * can carry it. A step is never shorter than the preparation of its data.
 *
 * It cannot know: whether ranks are slower together than one alone (they share memory, caches and power, and machines
 * have other users); the core time per byte on this network, for which it uses a figure from another machine
 * (MX_PREDICT_CARRY_NS); links that several ranks share; and bursts that a switch passes faster.
 *
 * Memory: plain values.
 */
#ifndef MX_DIST_PREDICT_H
#define MX_DIST_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#define MX_PREDICT_RANKS_MAX (INT64_C(1) << 20)
/* Nanoseconds of a core per byte that is sent, received and added up over TCP, if nothing better is known: SPEED.md,
 * "Ranks". */
#define MX_PREDICT_CARRY_NS 1.1

/* A part of the gradient that is summed at once. */
struct mx_predict_bucket {
    int64_t bytes;
    double lead_ms; /* from when it becomes final to the end of the backward pass */
};

/* The measurements of one rank running alone, and the network between the ranks. Times are in milliseconds. */
struct mx_predict_input {
    double step_ms;     /* a whole step; > 0 */
    double train_ms;    /* its computing part: all batches, forward, backward and update; > 0 */
    double backward_ms; /* of train_ms, the backward pass of the last batch */
    double update_ms;   /* of train_ms, what follows once all gradients are final */
    double variation;   /* deviation of the time per frame, as a share of its mean */
    double data_ms;     /* the longest stage of preparing a step's data; 0: not known */
    int64_t utterances; /* per step; ≥ 1 */
    int64_t gradient_bytes;
    int64_t bucket_bytes;                    /* ≥ 1 */
    const struct mx_predict_bucket *buckets; /* [bucket_count], in the order in which they become final; borrowed */
    int64_t bucket_count;                    /* 0: not measured; all have bucket_bytes and are evenly spaced in time */
    double carry_ns_per_byte;                /* time of a training core per byte sent; 0: other cores carry */
    double bandwidth;                        /* bytes per second that a rank sends while receiving as many; > 0 */
    double latency_ms;                       /* of one message; ≥ 0 */
    /* Utterances of a step over all ranks; 0: each rank has as many as were measured. */
    int64_t global_batch;
};

/* What makes the step longer than the computing of one rank: the largest contribution. */
enum mx_predict_limit {
    MX_PREDICT_COMPUTE,    /* nothing significant */
    MX_PREDICT_DATA,       /* a rank waits for its own data */
    MX_PREDICT_BANDWIDTH,  /* bytes of gradients */
    MX_PREDICT_LATENCY,    /* number of messages */
    MX_PREDICT_CARRYING,   /* the cores that train also carry the bytes */
    MX_PREDICT_STRAGGLERS, /* waiting for the slowest */
    MX_PREDICT_BATCH,      /* a shared batch has fewer utterances than there are ranks */
    MX_PREDICT_LIMITS
};

const char *mx_predict_limit_name(enum mx_predict_limit limit); /* "bandwidth" */

struct mx_predict_step {
    int64_t ranks;
    double step_ms;
    double compute_ms;   /* of a rank */
    double straggle_ms;  /* waiting for the slowest */
    double sum_ms;       /* all sums of a step, hidden or not */
    double exposed_ms;   /* the part of them that is waited for */
    double carry_ms;     /* taken from computing for the other part */
    double agree_ms;     /* the small agreements */
    double data_wait_ms; /* waiting for the data of a rank */
    int64_t buckets;
    int64_t bytes_sent; /* by each rank per step */
    bool tree;          /* faster than the ring for most of the bytes */
    double speed;       /* work per second, in ranks of the measured step */
    double efficiency;  /* speed/ranks */
    enum mx_predict_limit limit;
};

/* MX_ERR_ARGUMENT naming the impossible value. */
int mx_predict_check(const struct mx_predict_input *input);
/* `ranks` 1 … MX_PREDICT_RANKS_MAX. The input must have been checked. */
struct mx_predict_step mx_predict_step(const struct mx_predict_input *input, int64_t ranks);
/* The largest number of ranks with at least this efficiency (0 … 1); at least 1. */
int64_t mx_predict_useful(const struct mx_predict_input *input, double efficiency);

#endif
