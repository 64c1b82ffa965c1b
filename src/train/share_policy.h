/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Work sharing: which part of each batch the data device trains on, and how that part follows the measured speeds.
 *
 * The share is the part of a step's frames, 0 … 1, that goes to the data device's replica. It is given by a list of
 * (step, share) pairs, each valid from its step until the next pair; the same list gives the same run, bit for bit, on
 * the same devices. The data device gets one contiguous run of sequences of each batch. Which ones is a pure function
 * of the batch, the share, and what the earlier batches of the same step gave (mx_share_split).
 *
 * Unless a list is given, shares are measured: after the steps 4, 12, 28 and 60 of a run and then after every multiple
 * of 512, from the times both devices took since the last change, so that both will finish at the same time. Changes
 * below 1 % of the batch (5 % while fewer than 8 steps were measured) are not made, nor changes that the spread of the
 * measured steps explains, and never more than MX_SHARE_POINTS. A change takes effect a few steps later, with the first
 * batch that cannot have been divided yet. With MX_SHARE_AUTO the share is 0, and the data device only prepares
 * batches, until it has been idle for long enough at one of these points; the share returns to 0, for good, if steps
 * did not become faster.
 *
 * Memory: plain values only.
 */
#ifndef MX_TRAIN_SHARE_POLICY_H
#define MX_TRAIN_SHARE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_SHARE_POINTS 64
#define MX_SHARE_MOST   0.75 /* of a batch, if memory allows: the model device is usually the faster one */

/* How work is shared. */
enum mx_share_mode {
    MX_SHARE_OFF,
    MX_SHARE_ON,
    MX_SHARE_AUTO, /* begins without sharing; shares if the data device is idle enough and it proves faster */
};

struct mx_share_point {
    int64_t step; /* from this step on: 0 is the first of the run */
    double share;
};

/* Steps rise from point to point; before the first point the share is 0. */
struct mx_shares {
    int32_t count;
    struct mx_share_point points[MX_SHARE_POINTS];
};

double mx_shares_at(const struct mx_shares *shares, int64_t step);
/* Adds a point or replaces the one of the same step; false if there are too many. */
bool mx_shares_add(struct mx_shares *shares, int64_t step, double share);

/* "0:0.5,15:0.47"; "" has no points. MX_ERR_USAGE naming what cannot be read. */
int mx_shares_parse(const char *text, struct mx_shares *out);
#define MX_SHARES_TEXT_BYTES 4096
void mx_shares_format(const struct mx_shares *shares, char out[MX_SHARES_TEXT_BYTES]);

/* ---- whether work is shared at all ---- */

/* The facts that decide it. Assume the best (false) for what is not known yet. */
struct mx_share_setup {
    enum mx_share_mode asked;
    bool two_devices; /* one for data and another one for the model */
    bool ranks;       /* there are other processes, which share each step already */
    bool unable;      /* the data device cannot compute what the model needs */
    bool no_room;     /* the data device has no memory for the smallest part of a batch */
};

enum mx_share_obstacle {
    MX_SHARE_NO_OBSTACLE,
    MX_SHARE_ONE_DEVICE,
    MX_SHARE_RANKS,
    MX_SHARE_UNABLE,
    MX_SHARE_NO_ROOM,
};

struct mx_share_choice {
    enum mx_share_mode mode; /* the result */
    enum mx_share_obstacle obstacle;
    bool refused; /* asked for, but impossible. Lack of memory is refused together with all else that does not fit */
};

/* A pure function. The first obstacle in the order of the enum counts; without one the request is granted. An obstacle
 * turns MX_SHARE_AUTO off. */
struct mx_share_choice mx_share_choose(const struct mx_share_setup *setup);
/* Sets the error of a choice refused because of MX_SHARE_ONE_DEVICE (the device is `device`) or MX_SHARE_RANKS. */
int mx_share_refuse(enum mx_share_obstacle obstacle, const char *device);

/* ---- dividing a batch ---- */

/* The data device's sequences: first … first + count - 1. */
struct mx_share_part {
    int32_t first, count;
};

/* The part whose frames come closest to `wanted`, with at most `most` frames; among equally close parts the one with
 * the fewest sequences, and among these the first. `offsets` [sequences + 1] are those of the frames. Parts may begin
 * anywhere, because parts at the start or end of the batch come closer only by luck, and the slower device determines
 * the time. */
struct mx_share_part mx_share_split(const int32_t *offsets, int32_t sequences, double wanted, int64_t most);

/* ---- measuring ---- */

#define MX_SHARE_WINDOW 32 /* newest steps that a balance is computed from */

/* The work of both devices since the last change. */
struct mx_share_meter {
    int64_t steps;
    uint64_t own_ns, other_ns, step_ns; /* of the model device's parts, of the data device's parts, of whole steps */
    int64_t own_frames, other_frames;
    double balance[MX_SHARE_WINDOW]; /* the share that would have been right, for the newest steps where both trained */
    int64_t balances;
};

void mx_share_meter_add(struct mx_share_meter *meter, uint64_t own_ns, int64_t own_frames, uint64_t other_ns,
                        int64_t other_frames, uint64_t step_ns);

/* Is a change allowed after this step (1: the first)? */
bool mx_share_due(int64_t step);

/* The share with which both devices would have finished at the same time, at most `most`. It is the median of the
 * newest steps, because a step in which something else kept one device busy says nothing. Returns the present share if
 * that is not known or the change is too small: less than three standard errors of that median may be chance. */
double mx_share_balance(const struct mx_share_meter *meter, double present, double most);

/* ---- deciding ---- */

#define MX_SHARE_LEAST 0.1  /* of a batch: less is not worth a second replica */
#define MX_SHARE_GAIN  1.03 /* of speed, at least: less may be noise */

/* The share of a device with `speed` times the model device's speed that is idle for `idle` of the time. */
double mx_share_guess(double speed, double idle, double most);

/* The facts at a point where a change is allowed. */
struct mx_share_case {
    enum mx_share_mode mode;
    double share, most;                 /* the present share, and the limit */
    double speed, idle;                 /* as for mx_share_guess; used only while nothing is shared */
    double alone_ns;                    /* time of a step per frame while nothing was shared; 0: not measured */
    const struct mx_share_meter *meter; /* the steps with the present share */
};

enum mx_share_verdict {
    MX_SHARE_KEEP,
    MX_SHARE_BEGIN,  /* nothing was shared; from now on something is */
    MX_SHARE_CHANGE, /* another share */
    MX_SHARE_END,    /* steps did not become faster: 0 from now on, for good */
};

struct mx_share_decision {
    enum mx_share_verdict verdict;
    double share; /* from now on */
    double gain;  /* how much faster sharing made the steps; 0: not known */
};

/* A pure function: the same times make the same decision. */
struct mx_share_decision mx_share_decide(const struct mx_share_case *what);

#endif
