/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations on elements that do not see each other: one lane, one element (dropout: one block of four random words).
 */
MX_KERNEL(MX_WIDE)
mx_activation(MX_ARG(const float, x), MX_ARG(float, y), mx_long count, int act)
{
    MX_USE(const float, x);
    MX_USE(float, y);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i < count) y[i] = mx_activate(act, x[i]);
}

MX_KERNEL(MX_WIDE)
mx_activation_grad(MX_ARG(const float, dy), MX_ARG(const float, x), MX_ARG(float, dx), mx_long count, int act)
{
    MX_USE(const float, dy);
    MX_USE(const float, x);
    MX_USE(float, dx);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i >= count) return;
    if (act == 2)
        dx[i] = dy[i] * mx_gelu_grad(x[i]);
    else
        dx[i] = act == 1 && !(x[i] > 0.0f) ? 0.0f : dy[i];
}

MX_KERNEL(MX_WIDE)
mx_residual_add(MX_ARG(const float, a), MX_ARG(const float, b), MX_ARG(float, y), mx_long count, float factor)
{
    MX_USE(const float, a);
    MX_USE(const float, b);
    MX_USE(float, y);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i < count) y[i] = a[i] + factor * b[i];
}

/* Lane i: elements 4i … 4i+3. */
MX_KERNEL(MX_WIDE)
mx_dropout(MX_ARG(const float, x), MX_ARG(float, y), MX_ARG(const float, residual), mx_long count, mx_uint threshold,
           float factor, mx_ulong seed, mx_ulong stream, mx_ulong index)
{
    MX_USE(const float, x);
    MX_USE(float, y);
    MX_USE(const float, residual);
    const mx_long first = (MX_INDEX * MX_WIDE + MX_LANE) * 4;
    mx_uint word[4];
    if (first >= count) return;
    mx_philox(seed, stream, (index + (mx_ulong)first) / 4, word);
    for (int j = 0; j < 4; j++) {
        const mx_long i = first + j;
        if (i >= count) return;
        const float kept = word[j] >= threshold ? x[i] * factor : 0.0f;
        y[i] = residual ? kept + residual[i] : kept;
    }
}

MX_KERNEL(MX_WIDE)
mx_scale(MX_ARG(float, x), mx_long count, float factor)
{
    MX_USE(float, x);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i < count) x[i] *= factor;
}

MX_KERNEL(MX_WIDE)
mx_fill(MX_ARG(mx_uint, x), mx_long count, mx_uint bits)
{
    MX_USE(mx_uint, x);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i < count) x[i] = bits;
}

/* y = magnitude · u/|u|, u = now + momentum · (now - before); lane i: complex number i. */
MX_KERNEL(MX_WIDE)
mx_griffin_step(MX_ARG(const float, now), MX_ARG(const float, before), MX_ARG(float, y), MX_ARG(const float, magnitude),
                mx_long count, float momentum)
{
    MX_USE(const float, now);
    MX_USE(const float, before);
    MX_USE(float, y);
    MX_USE(const float, magnitude);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i >= count) return;
    float re = now[2 * i], im = now[2 * i + 1];
    if (before) {
        re += momentum * (re - before[2 * i]);
        im += momentum * (im - before[2 * i + 1]);
    }
    const float square = re * re + im * im, m = magnitude[i];
    const float least = 7.8886091e-31f; /* 2^-100 */
    const float factor = m / MX_SQRT(square < least ? least : square);
    y[2 * i] = square < least ? m : re * factor;
    y[2 * i + 1] = square < least ? 0.0f : im * factor;
}

/* See struct mx_adamw_args; everything that is the same for all parameters comes ready from the host. */
MX_KERNEL(MX_WIDE)
mx_adamw(MX_ARG(float, p), MX_ARG(const float, g), MX_ARG(float, m), MX_ARG(float, v), MX_ARG(const float, norm),
         MX_ARG(float, ema), mx_long count, mx_long decayed, float take1, float take2, float rate, float root_scale,
         float eps, float ema_take, float shrink)
{
    MX_USE(float, p);
    MX_USE(const float, g);
    MX_USE(float, m);
    MX_USE(float, v);
    MX_USE(const float, norm);
    MX_USE(float, ema);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i >= count || !(norm[2] > 0.0f)) return; /* something was not finite: nothing may reach the weights */
    const float gradient = g[i] * norm[1];
    const float mean = m[i] + take1 * (gradient - m[i]), square = v[i] + take2 * (gradient * gradient - v[i]);
    const float fresh =
        p[i] * (i < decayed ? shrink : 1.0f) - rate * mean / (MX_SQRT(square) * root_scale + eps);
    m[i] = mean;
    v[i] = square;
    p[i] = fresh;
    if (ema) ema[i] += ema_take * (fresh - ema[i]);
}

/* table [positions, half, 2]; lane i: one pair. */
MX_KERNEL(MX_WIDE)
mx_rotary_table(MX_ARG(float, table), mx_long count, int half_width, float base)
{
    MX_USE(float, table);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i >= count) return;
    float turned[2];
    mx_double_turn(base, (int)(i % half_width), half_width, (int)(i / half_width), turned);
    table[2 * i] = turned[0];
    table[2 * i + 1] = turned[1];
}
