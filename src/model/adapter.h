/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * LoRA adapters: frozen matrices plus a trained product of two narrow ones (model/parameters.h).
 *
 *     W' = W + A·B          once at the beginning of each pass, for all matrices that are adapted
 *     dB += (x·A)ᵀ·dy       where the gradient of W would be: two narrow products each, with x and dy as they are
 *     dA += xᵀ·(dy·Bᵀ)
 *
 * The pass reads W' wherever it would read W, so layers, epilogues, mixed precision and packed sequences know nothing of
 * adapters, and every backend runs them with the operations it has. The other way, y = x·W + (x·A)·B with narrow products
 * beside each wide one in both directions, would need the same memory per row, more products, and another form of every
 * epilogue; computing the gradient of W' first and that of A and B from it would cost what training W costs. What this way
 * costs is a second copy of the matrices, and reading and writing them once for each pass.
 *
 * Memory: the caller's; a pass has places for W' and for the narrow rows.
 */
#ifndef MX_MODEL_ADAPTER_H
#define MX_MODEL_ADAPTER_H

#include "model/layer.h"

/* Computes all W' of a pass. */
int mx_adapters_merge(const struct mx_pass *pass);

/* The same on the host, for one matrix of `count` numbers and `out` columns: weight += A·B. */
void mx_adapter_add(float *weight, int64_t count, int64_t out, const float *a, const float *b, int64_t rank);

#endif
