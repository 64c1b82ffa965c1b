/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How far apart two right programs may be that round differently, measured where they are compared.
 *
 * No bound here stands for a processor. Two backends whose sums are rounded in another order compute what one of them
 * would with weights that are a little different: a sum of k terms errs by a random walk of k roundings, as if its
 * terms had been moved by some √k of them. So the weights of the one are moved by that much, up and down at random, and
 * what comes out then tells how much of it reaches a loss or a gradient: more where the computation is badly
 * conditioned, very much where a unit stands at the edge of being off or two alignments are equally good. Each of two
 * programs may err that far: twice of it is allowed.
 *
 * One move may miss an edge that the other program fell over. So moves are made until one has gone as far, and only
 * when many have not, the programs differ. Edges are rare, something wrong is not: at least half of what is compared
 * must have been compared sharply (rounding_require).
 *
 * Memory: nothing is kept. Failures end the test.
 */
#ifndef MX_TESTS_SUPPORT_ROUNDING_H
#define MX_TESTS_SUPPORT_ROUNDING_H

#include "support/model_rig.h"

/* The largest relative error of one rounding. */
#define ROUNDING_F32  0x1p-24
#define ROUNDING_BF16 0x1p-8

/* What was compared so far: losses and gradients of single parameters. */
struct rounding_seen {
    double sharpness; /* the largest bound that tells something, as a share of what is compared; the caller's choice */
    int compared, sharp;
    double loss_far, gradient_far; /* largest share of its bound that a difference was */
};

/* Multiplies each value by 1 + share or 1 - share, a pure function of (draw, place). */
void rounding_move(float *values, int64_t count, uint64_t draw, double share);
/* By how much weights are moved that stand for sums of `terms` terms: two deviations of what that many roundings of
 * either sign come to. */
double rounding_share(int64_t terms, double unit);
/* The longest sum of a pass with this batch: through three taps, or over the rows to the gradient of a weight. */
int64_t rounding_terms(const struct rig *rig);

/* One pass with dropout step `step` on both, with the weights of `here`: each loss, and the gradient of each parameter
 * (its distance against its own length). `share`: how far weights are moved. Afterwards `here` is as after rig_teach.
 */
void rounding_compare(struct rig *here, struct rig *there, uint64_t step, double share, struct rounding_seen *seen);
/* Fails unless half of all comparisons were sharp. */
void rounding_require(const struct rounding_seen *seen);

#endif
