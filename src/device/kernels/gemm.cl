/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What stands around the products of a library that only knows C (+)= A·B of dense matrices: operands made dense or bf16 before,
 * the epilogue after. For backends that have such a library; a group for each row.
 */

/* y[rows, width] = bf16 of x[row · ldx + i] */
MX_KERNEL(MX_GROUP)
mx_product_cast(MX_ARG(const float, x), MX_ARG(mx_ushort, y), mx_long ldx, int width)
{
    MX_USE(const float, x);
    MX_USE(mx_ushort, y);
    MX_EACH(i, width) y[MX_INDEX * width + i] = mx_to_bf16(x[MX_INDEX * ldx + i]);
}

/* y[rows, taps · width]: rows first … of x[…, width] through the taps, 0 outside the sequence (shape 2 of product.cl).
 * x is fp32 or bf16, and so is y. */
MX_KERNEL(MX_GROUP)
mx_product_taps(MX_ARG(const float, x), MX_ARG(float, y), MX_ARG(const int, bounds), mx_long first, int taps, int width,
                int x_bf16, int y_bf16)
{
    MX_USE(const float, x);
    MX_USE(float, y);
    MX_USE(const int, bounds);
    MX_GLOBAL const mx_ushort *const x_half = (MX_GLOBAL const mx_ushort *)x;
    MX_GLOBAL mx_ushort *const y_half = (MX_GLOBAL mx_ushort *)y;
    const mx_long row = first + MX_INDEX;
    for (int tap = 0; tap < taps; tap++) {
        const mx_long seen = row + tap - taps / 2, to = (MX_INDEX * taps + tap) * width;
        const bool inside = seen >= bounds[2 * row] && seen < bounds[2 * row + 1];
        MX_EACH(i, width)
        {
            float v = 0.0f;
            if (inside) v = x_bf16 ? mx_from_bf16(x_half[seen * width + i]) : x[seen * width + i];
            if (y_bf16)
                y_half[to + i] = mx_to_bf16(v);
            else
                y[to + i] = v;
        }
    }
}

/* The epilogue of myxtts/ops.h: P is z[row · ldz + i], 0 where z is absent; z may be c. c and pre are fp32 or bf16. */
MX_KERNEL(MX_GROUP)
mx_product_epilogue(MX_ARG(const float, z), MX_ARG(float, c), MX_ARG(const float, bias), MX_ARG(float, pre),
                  MX_ARG(const float, residual), int n, mx_long ldz, mx_long ldc, int act, int act_grad, int accumulate,
                  int c_bf16, int pre_bf16)
{
    MX_USE(const float, z);
    MX_USE(float, c);
    MX_USE(const float, bias);
    MX_USE(float, pre);
    MX_USE(const float, residual);
    MX_GLOBAL mx_ushort *const c_half = (MX_GLOBAL mx_ushort *)c;
    MX_GLOBAL mx_ushort *const pre_half = (MX_GLOBAL mx_ushort *)pre;
    const mx_long row = MX_INDEX * ldc;
    MX_EACH(i, n)
    {
        float v = z ? z[MX_INDEX * ldz + i] : 0.0f;
        if (act_grad) {
            v *= mx_slope(act, pre_bf16 ? mx_from_bf16(pre_half[row + i]) : pre[row + i]);
        } else {
            if (bias) v += bias[i];
            if (pre && pre_bf16) pre_half[row + i] = mx_to_bf16(v);
            if (pre && !pre_bf16) pre[row + i] = v;
            v = mx_activate(act, v);
        }
        if (residual) v += residual[row + i];
        if (c_bf16)
            c_half[row + i] = mx_to_bf16(v);
        else
            c[row + i] = accumulate ? c[row + i] + v : v;
    }
}
