/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A matrix product between operation and launches: lower_product.c makes it from an operation, and lower_gemm.c turns
 * it into library calls if the backend has a library for products. Only for those two files.
 */
#ifndef MX_DEVICE_KERNELS_PRODUCT_H
#define MX_DEVICE_KERNELS_PRODUCT_H

#include "device/kernels/launch.h"

/* The layouts of A and B: the shapes of product.cl. */
enum { MX_A_ROWS, MX_A_COLUMNS, MX_A_TAPS, MX_A_TAPS_COLUMNS };
enum { MX_B_ROWS, MX_B_COLUMNS, MX_B_BLOCKS };

struct mx_product {
    struct mx_slice a, b, c,
        bounds; /* bounds: int32 [rows, 2] for A_TAPS…: first row of each row's sequence, and end */
    int64_t m, n, k, lda, ldb, ldc;
    int a_shape, b_shape;
    int64_t taps, width;         /* A_TAPS… */
    int64_t b_width, b_jump;     /* B_BLOCKS */
    bool bf16;                   /* MX_PRECISION_BF16 */
    bool a_bf16, b_bf16;         /* stored as such; only with bf16 */
    struct mx_epilogue epilogue; /* c_bf16, pre_bf16 only with bf16 */
};

/* With launcher->gemm and launcher->work; m and n are not 0. */
int mx_lower_gemm(struct mx_launcher *launcher, const struct mx_product *p);

#endif
