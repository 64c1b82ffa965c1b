/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How much arithmetic a training step is: for plans and benchmarks.
 *
 * Nominal operations: two for each multiply-add of all products, convolutions and attentions, forward and (twice that)
 * backward; the backward pass of a product whose input needs no gradient, or whose weights are frozen, counts once. Norms, activations, the alignment
 * and the optimizer count nothing. Owns no memory.
 */
#ifndef MX_MODEL_WORK_H
#define MX_MODEL_WORK_H

#include "model/parameters.h"
#include "model/sizes.h"

/* What a step trains on. */
struct mx_model_work {
    double sequences;
    double tokens, frames, references; /* rows, of all sequences together */
    double token_pairs, frame_pairs;   /* the squares of each sequence's tokens and frames, added up */
};

double mx_model_flops(const struct mx_parameters *table, const struct mx_model_config *config,
                      const struct mx_model_work *work);

/* Of one parameter that `rows` rows are multiplied by; 0 for those that are only added or looked up. */
double mx_parameter_flops(const struct mx_parameter *parameter, double rows, bool input_is_free);

#endif
