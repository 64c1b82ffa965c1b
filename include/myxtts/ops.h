/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations: one list that drives the kernels of every backend, the argument check, the gradient test, the
 * cross-backend test and the benchmark.
 *
 * Tensors are row-major float32 unless stated otherwise, given as slices (buffer + byte offset, 4-byte aligned).
 * Sequences are *ragged*: their rows are stored end to end without padding, and struct mx_ragged says where each
 * sequence starts. Shapes are in brackets, with the fastest dimension last. "dX" is the gradient of the loss with
 * respect to X. `accumulate` adds to the destination instead of replacing it. Slices marked (optional) may be {0}.
 * Outputs must not overlap inputs unless the comment allows "in place".
 *
 * Results are deterministic, and on the CPU they do not depend on the number of workers either: every sum has a fixed
 * order. CPU devices take subnormal numbers (below 2^-126) for zero, as operands and as results; OpenCL devices may, CUDA
 * devices do not. Empty inputs (0 rows, empty sequences) are legal everywhere.
 *
 * Submitting: mx_op_submit(stream, MX_OP_MATMUL, &args), or the typed form mx_matmul(stream, &args). Arguments are
 * copied. Wrong arguments (slices outside their buffers, another device's buffers, absurd sizes) are refused with
 * MX_ERR_ARGUMENT before anything is queued.
 */
#ifndef MYXTTS_OPS_H
#define MYXTTS_OPS_H

#include "myxtts/device.h"

/* PAIR: a forward operation `name` and its gradient `name_grad`.
 * SOLO: no gradient operation of its own (it is its own gradient, made of other operations, or never
 * differentiated). */
#define MX_OP_LIST(PAIR, SOLO)                                                                                         \
    SOLO(matmul)                                                                                                       \
    SOLO(bias_grad)                                                                                                    \
    PAIR(layer_norm)                                                                                                   \
    PAIR(activation)                                                                                                   \
    SOLO(residual_add)                                                                                                 \
    PAIR(embedding)                                                                                                    \
    SOLO(rotary_table)                                                                                                 \
    SOLO(rotary)                                                                                                       \
    PAIR(attention)                                                                                                    \
    SOLO(conv1d)                                                                                                       \
    SOLO(conv1d_grad_input)                                                                                            \
    SOLO(conv1d_grad_weight)                                                                                           \
    PAIR(depthwise)                                                                                                    \
    SOLO(dropout)                                                                                                      \
    SOLO(durations_scan)                                                                                               \
    PAIR(expand)                                                                                                       \
    PAIR(segment_mean)                                                                                                 \
    PAIR(attentive_pool)                                                                                               \
    SOLO(align)                                                                                                        \
    SOLO(loss)                                                                                                         \
    SOLO(sequence_loss)                                                                                                \
    SOLO(pitch_loss)                                                                                                   \
    SOLO(grad_norm)                                                                                                    \
    SOLO(adamw)                                                                                                        \
    SOLO(scale)                                                                                                        \
    SOLO(fill)                                                                                                         \
    SOLO(cast)                                                                                                         \
    SOLO(mel)                                                                                                          \
    SOLO(log_magnitude)                                                                                                \
    SOLO(pitch)                                                                                                        \
    SOLO(noise)                                                                                                        \
    SOLO(mask)                                                                                                         \
    SOLO(mel_blur)                                                                                                     \
    SOLO(mel_inverse)                                                                                                  \
    SOLO(mel_base)                                                                                                     \
    SOLO(spectrum)                                                                                                     \
    SOLO(griffin_step)                                                                                                 \
    SOLO(overlap_add)                                                                                                  \
    SOLO(mel_project)                                                                                                  \
    SOLO(harmonics)                                                                                                    \
    SOLO(texture)                                                                                                      \
    SOLO(excite)

enum mx_op {
#define MX_PAIR(name) MX_OP_##name, MX_OP_##name##_grad,
#define MX_SOLO(name) MX_OP_##name,
    MX_OP_LIST(MX_PAIR, MX_SOLO)
#undef MX_PAIR
#undef MX_SOLO
        MX_OP_COUNT
};

/* The place of each sequence in ragged rows: sequence s has rows offsets[s] … offsets[s+1]-1.
 * offsets[0] = 0, offsets[count] = rows; not decreasing. */
struct mx_ragged {
    struct mx_slice offsets; /* int32 [count + 1] */
    int32_t count;           /* sequences */
    int32_t rows;            /* all rows together */
    int32_t max_rows;        /* of the longest sequence */
};

enum mx_activation {
    MX_ACT_NONE,
    MX_ACT_RELU, /* max(x, 0) */
    MX_ACT_GELU, /* x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))) */
};

/* The number format of the factors of a product. */
enum mx_precision {
    MX_PRECISION_F32,
    /* Every element of both operands is rounded to bf16 (to nearest even) before it is multiplied; sums are fp32, and
     * so is the epilogue. Numbers smaller than 2^-126 may count as 0. Only on devices with caps.bf16_multiply; only
     * then may slices that the arguments mark as "_bf16" be stored as bf16, two bytes per element (strides count
     * elements). */
    MX_PRECISION_BF16,
};

/* What happens to a product P before it is stored, in this order; every part is optional.
 *   z = P + bias;  pre = z;  y = act(z);  [grad: y = P · act'(pre), pre is read];  y += residual;  C = y, or C += y. */
struct mx_epilogue {
    struct mx_slice bias; /* [n] */
    enum mx_activation act;
    bool act_grad;            /* multiply by the derivative at `pre` instead of applying the activation; then no bias */
    struct mx_slice pre;      /* [m, n]: written (z, what a backward pass needs) or, with act_grad, read */
    struct mx_slice residual; /* [m, n]: added after the activation; may be C itself */
    bool accumulate;          /* C += */
    bool c_bf16, pre_bf16;    /* C, pre are stored as bf16; with c_bf16 no accumulate, and the residual is not C */
};

/* C[m,n] = epilogue(op(A) · op(B)); op(A) is [m,k], op(B) is [k,n].
 * Gradients of Y = X·W: dX = dY·Wᵀ (transpose_b), dW = Xᵀ·dY (transpose_a). lda, ldb, ldc: floats from
 * row to row as stored; pre and residual have C's. */
struct mx_matmul_args {
    struct mx_slice a; /* [m, k], stored [k, m] with transpose_a */
    struct mx_slice b; /* [k, n], stored [n, k] with transpose_b */
    struct mx_slice c; /* [m, n] */
    int64_t m, n, k;
    int64_t lda, ldb, ldc; /* 0: dense */
    bool transpose_a, transpose_b;
    struct mx_epilogue epilogue;
    enum mx_precision precision;
    bool a_bf16, b_bf16;
};

/* db[n] = (+=) Σ over rows of dy[rows, n]. */
struct mx_bias_grad_args {
    struct mx_slice dy, db;
    int64_t rows, n;
    bool accumulate;
    bool dy_bf16; /* dy is stored as bf16 */
};

/* y = (x - mean)/√(var + eps) · gamma + beta, per row of [rows, n]. stats: [rows, 2] mean and 1/√(var + eps), for the
 * gradient. */
struct mx_layer_norm_args {
    struct mx_slice x, gamma, beta, y, stats;
    int64_t rows, n;
    float eps;
    bool y_bf16; /* y is stored as bf16 */
};

/* dx [rows, n] = (+= with accumulate_dx; in place of dy allowed without it), dgamma and dbeta [n] += always.
 * residual (optional) [rows, n]: added to dx, so that the gradient of the skip connection needs no extra pass. */
struct mx_layer_norm_grad_args {
    struct mx_slice dy, x, gamma, stats, dx, dgamma, dbeta;
    struct mx_slice residual;
    int64_t rows, n;
    bool accumulate_dx;
};

/* y = act(x) over count elements; in place allowed. */
struct mx_activation_args {
    struct mx_slice x, y;
    int64_t count;
    enum mx_activation act;
};

/* dx = dy · act'(x); in place of dy allowed. */
struct mx_activation_grad_args {
    struct mx_slice dy, x, dx;
    int64_t count;
    enum mx_activation act;
};

/* y = a + factor · b over count elements; y may be a or b. Gradient: da = dy, db = factor · dy. */
struct mx_residual_add_args {
    struct mx_slice a, b, y;
    int64_t count;
    float factor;
};

/* y[rows, n] = factor · table[ids[row], :] (+= with accumulate). An id outside [0, vocabulary) fails the stream. */
struct mx_embedding_args {
    struct mx_slice ids; /* int32 [rows] */
    struct mx_slice table, y;
    int64_t rows, n, vocabulary;
    float factor;
    bool accumulate;
};

/* dtable[ids[row], :] += factor · dy[row, :], rows in order. */
struct mx_embedding_grad_args {
    struct mx_slice ids, dy, dtable;
    int64_t rows, n, vocabulary;
    float factor;
};

/* table [positions, head_width/2, 2] = cos, sin of position · base^(-2i/head_width). */
struct mx_rotary_table_args {
    struct mx_slice table;
    int64_t positions, head_width;
    float base; /* 10000 */
};

/* In place: the halves (x[i], x[i + head_width/2]) of each of `heads` heads of each row are rotated by the angle of the
 * row's position in its sequence; inverse rotates back, which is also the gradient. Row r starts at x + r · stride
 * floats. */
struct mx_rotary_args {
    struct mx_slice x, table;
    struct mx_ragged rows;
    int64_t heads, head_width, stride;
    int64_t positions; /* of the table; ≥ rows.max_rows */
    bool inverse;
};

#define MX_ATTENTION_WIDTH_MAX 256 /* widest head */

/* For each sequence and head: out = softmax(q kᵀ · factor) v; every row attends to every row of its own sequence and no
 * other. q, k, v: row r of head h starts at r · stride + h · head_width (so they may be parts of one [rows, 3·width]
 * tensor); out: row stride out_stride. lse [heads, rows]: log Σ exp of each score row, for the gradient. Memory beyond
 * that does not grow with the square of the length. */
struct mx_attention_args {
    struct mx_slice q, k, v, out, lse;
    struct mx_ragged rows;
    int64_t heads, head_width, stride, out_stride;
    float factor; /* 1/√head_width */
};

/* dq, dk, dv (row stride grad_stride) are overwritten. delta [heads, rows] is scratch. */
struct mx_attention_grad_args {
    struct mx_slice q, k, v, out, lse, dout, dq, dk, dv, delta;
    struct mx_ragged rows;
    int64_t heads, head_width, stride, out_stride, grad_stride;
    float factor;
};

/* y[rows, out_width] = epilogue(Σ_tap x[row + tap - taps/2, :] · w[tap]); rows outside the sequence are 0.
 * w: [taps, in_width, out_width]; taps 1, 3, 5 or 7. */
struct mx_conv1d_args {
    struct mx_slice x, w, y;
    struct mx_ragged rows;
    int64_t in_width, out_width;
    int32_t taps;
    struct mx_epilogue epilogue;
    enum mx_precision precision;
    bool x_bf16;
};

/* dx[rows, in_width] = epilogue(Σ_tap dy[row - tap + taps/2, :] · w[tap]ᵀ). */
struct mx_conv1d_grad_input_args {
    struct mx_slice dy, w, dx;
    struct mx_ragged rows;
    int64_t in_width, out_width;
    int32_t taps;
    struct mx_epilogue epilogue;
    enum mx_precision precision;
    bool dy_bf16;
};

/* dw[tap] = (+=) Σ_row x[row + tap - taps/2, :]ᵀ · dy[row, :]. */
struct mx_conv1d_grad_weight_args {
    struct mx_slice x, dy, dw;
    struct mx_ragged rows;
    int64_t in_width, out_width;
    int32_t taps;
    bool accumulate;
    enum mx_precision precision;
    bool x_bf16, dy_bf16;
};

#define MX_DEPTHWISE_TAPS_MAX 15

/* A convolution along the rows, each column by itself:
 *   y[r, i] = bias[i] + Σ_tap w[tap, i] · x[r + tap - taps/2, i], rows outside the own sequence are 0.
 * Offsets that do not cover the rows fail the stream. */
struct mx_depthwise_args {
    struct mx_slice x, y; /* [rows, n] */
    struct mx_slice w;    /* [taps, n] */
    struct mx_slice bias; /* [n] */
    struct mx_ragged rows;
    int64_t n;
    int32_t taps; /* odd, 1 … MX_DEPTHWISE_TAPS_MAX */
};

/* dx[r, i] = Σ_tap w[tap, i] · dy[r - tap + taps/2, i];  dw[tap, i] += Σ_r x[r + tap - taps/2, i] · dy[r, i];
 * dbias[i] += Σ_r dy[r, i]. residual (optional) [rows, n], which may be dx, is added to dx: the gradient of a skip
 * connection. */
struct mx_depthwise_grad_args {
    struct mx_slice dy, x, w, dx, dw, dbias;
    struct mx_slice residual;
    struct mx_ragged rows;
    int64_t n;
    int32_t taps;
};

/* y[i] = x[i]/(1 - rate) where the random word of (seed, stream, index + i) ≥ rate · 2³², else 0; then + residual[i].
 * Its own gradient (on dy, without residual). In place allowed. rate 0: copies (or does nothing in place). */
struct mx_dropout_args {
    struct mx_slice x, y, residual; /* residual (optional) */
    int64_t count;
    float rate;                   /* [0, 1) */
    uint64_t seed, stream, index; /* index: multiple of 4 */
};

/* ends int32 [count + 1]: ends[0] = 0, ends[i + 1] = ends[i] + durations[i]. A negative duration fails the stream. */
struct mx_durations_scan_args {
    struct mx_slice durations; /* int32 [count] */
    struct mx_slice ends;
    int64_t count;
};

/* y[r, :] = (+=) x[s, :] for ends[s] ≤ r < ends[s + 1]: tokens to frames with ends from durations_scan, a vector per
 * sequence to its rows with ends = the offsets of the sequences. */
struct mx_expand_args {
    struct mx_slice x;    /* [segments, n] */
    struct mx_slice ends; /* int32 [segments + 1], not decreasing, ends[segments] = rows */
    struct mx_slice y;    /* [rows, n] */
    int64_t segments, rows, n;
    bool accumulate;
};

/* dx[s, :] = (+=) Σ dy[r, :] over the segment's rows. */
struct mx_expand_grad_args {
    struct mx_slice dy, ends, dx;
    int64_t segments, rows, n;
    bool accumulate;
};

/* y[s, :] = mean of x[r, :] over the segment's rows; 0 for an empty one. With offsets of sequences: mean pooling per
 * sequence. */
struct mx_segment_mean_args {
    struct mx_slice x, ends, y;
    int64_t segments, rows, n;
};

/* dx[r, :] = (+=) dy[s, :]/rows of s. */
struct mx_segment_mean_grad_args {
    struct mx_slice dy, ends, dx;
    int64_t segments, rows, n;
    bool accumulate;
};

/* y[s, :] = Σ_r w[r] x[r, :] with w = softmax of score[r] over the sequence's rows; w [rows] is kept for the gradient.
 */
struct mx_attentive_pool_args {
    struct mx_slice x, score, y, w;
    struct mx_ragged rows;
    int64_t n;
};

/* dx[r, :] = w[r] dy[s, :];  dscore[r] = w[r] (dy[s, :]·x[r, :] - dy[s, :]·y[s, :]). */
struct mx_attentive_pool_grad_args {
    struct mx_slice dy, x, y, w, dx, dscore;
    struct mx_ragged rows;
    int64_t n;
};

/* The monotonic alignment of each sequence's tokens with its frames. Every frame belongs to one token, in order, and
 * every token has at least one frame. Of all such alignments, the result is the one that maximises
 *   Σ_f -½ |mel[f] - mean[t]|² - diagonal · ((f + ½) tokens/frames - (t + ½))²,   t: the token of frame f
 * with f and t counted within the sequence and all totals in double. Of two equal paths to a frame, the one that stays
 * with the token is taken. If a sequence has fewer frames than tokens, the frames are spread evenly instead: the first
 * t of T tokens share the first ⌊t · frames/T⌋ frames. Frames without any token fail the stream. It is never
 * differentiated, because durations are whole numbers.
 *
 * Each sequence takes O(tokens · frames · n) time and one bit of memory per token and frame: */
#define MX_ALIGN_WORK(token_rows, token_max_rows, frame_rows)                                                          \
    (2 * (int64_t)(token_rows) + (int64_t)(frame_rows) * (((int64_t)(token_max_rows) + 31) / 32))

struct mx_align_args {
    struct mx_slice mean, mel; /* [tokens.rows, n], [frames.rows, n] */
    struct mx_ragged tokens, frames;
    struct mx_slice durations; /* int32 [tokens.rows]: frames of each token */
    struct mx_slice logs;      /* (optional) [tokens.rows]: ln(1 + duration) */
    struct mx_slice work;      /* [MX_ALIGN_WORK(tokens.rows, tokens.max_rows, frames.rows)]: scratch */
    int64_t n;
    float diagonal; /* ≥ 0 */
};

enum mx_loss_kind { MX_LOSS_L1, MX_LOSS_L2 }; /* |p - t| and (p - t)² */

/* value[0] = (+=) factor · Σ_r mask[r] Σ_i loss(p[r,i], t[r,i]);  dp [rows, n] = factor · mask[r] · loss'. The sum is
 * computed in double, in a fixed order. The caller includes 1/count in factor. */
struct mx_loss_args {
    struct mx_slice prediction, target; /* [rows, n] */
    struct mx_slice mask;               /* (optional) [rows] */
    struct mx_slice value;              /* float [1] */
    struct mx_slice dprediction;        /* (optional) */
    int64_t rows, n;
    float factor;
    enum mx_loss_kind kind;
    bool accumulate;    /* value += */
    bool accumulate_dp; /* dprediction += */
};

/* values[s] = scale · Σ over the rows r of sequence s, Σ_i loss(p[r,i], t[r,i]);  dp = factor · loss'. Each sum is
 * computed in double, in a fixed order that depends only on the sequence, so that the loss of an utterance does not
 * depend on the rest of the batch. */
struct mx_sequence_loss_args {
    struct mx_slice prediction, target; /* [rows.rows, n] */
    struct mx_slice values;             /* [rows.count] */
    struct mx_slice dprediction;        /* (optional) [rows.rows, n] */
    struct mx_ragged rows;
    int64_t n;
    float scale, factor;
    enum mx_loss_kind kind;
    bool accumulate_dp; /* dprediction += */
};

#define MX_PITCH_CLASSES_MAX 4096

/* How well logits [rows.rows, classes + 1] tell the pitch of each row, of classes from low_hz to high_hz in equal steps
 * of its logarithm, and an entry for "unvoiced" behind them:
 *   values[s] = scale · Σ over the rows r of sequence s, Σ_i label[r,i] · (ln Σ_j e^logits[r,j] - logits[r,i])
 *   dlogits = factor · (softmax(logits[r]) - label[r])
 * The label of a row with pitch ≤ 0 is 1 for "unvoiced"; of another one, with
 *   q = (classes - 1) · ln(pitch/low_hz)/ln(high_hz/low_hz), between 0 and classes - 1,
 * it is e^(-½ (i - q)²) for class i, divided by the sum of these, and 0 for "unvoiced". Each sum over rows is computed
 * in double, in a fixed order that depends only on the sequence. */
struct mx_pitch_loss_args {
    struct mx_slice logits;
    struct mx_slice pitch;   /* [rows.rows] in Hz */
    struct mx_slice values;  /* [rows.count] */
    struct mx_slice dlogits; /* (optional) [rows.rows, classes + 1] */
    struct mx_ragged rows;
    int32_t classes;       /* 1 … MX_PITCH_CLASSES_MAX */
    float low_hz, high_hz; /* high_hz is at least 1 % more */
    float scale, factor;
};

/* result float [4] = {‖g‖₂ · |factor|, the scale that AdamW must apply: factor · min(1, limit/(‖g‖₂ |factor|)), 1 if
 * finite else 0, Σ g² in float}. The sum is computed in double. limit 0: no clipping. If it is not finite, scale and
 * the flag are 0, so that nothing reaches the weights. */
struct mx_grad_norm_args {
    struct mx_slice gradient, result;
    int64_t count;
    float limit, factor; /* factor: 1/accumulated micro-batches */
};

/* Decoupled weight decay (AdamW) over flat buffers of `count` floats; the first `decayed` of them are decayed.
 * norm: result of grad_norm on the same stream; if its finite flag is 0, nothing changes. ema (optional): ema += (1 -
 * ema_decay)(p - ema). Bias corrections use `step` (1, 2, …). */
struct mx_adamw_args {
    struct mx_slice parameter, gradient, moment1, moment2, norm;
    struct mx_slice ema; /* (optional) */
    int64_t count, decayed;
    float lr, beta1, beta2, eps, weight_decay, ema_decay;
    int64_t step;
};

/* x *= factor, in place. */
struct mx_scale_args {
    struct mx_slice x;
    int64_t count;
    float factor;
};

/* x[i] = value (as a float, or as an int32 pattern in `bits`). */
struct mx_fill_args {
    struct mx_slice x;
    int64_t count;
    union {
        float value;
        uint32_t bits;
    };
};

enum mx_cast { MX_CAST_F32_BF16, MX_CAST_BF16_F32, MX_CAST_I32_F32 };

/* y = x in another type; bf16 by rounding to nearest even, NaN stays NaN. */
struct mx_cast_args {
    struct mx_slice x, y;
    int64_t count;
    enum mx_cast kind;
};

/* ---- features of packed audio ----
 * Audio is packed like everything else, with one sample per row. An utterance of n > 0 samples has 1 + n/hop frames, an
 * empty one has none; `frames` says where they are and must agree with `samples` (otherwise the stream fails). Frame f
 * is centred: it consists of the fft_size samples from f · hop - fft_size/2 on. Samples beyond either end are
 * reflections about the first and the last sample (x[-i] = x[i]), repeated as often as a short utterance needs; a
 * single sample is repeated. Each frame depends only on its own samples.
 *
 * tables, made by features/recipe.h; floats and int32 mixed, fft_size = n:
 *   float window [n]
 *   float circle [n, 2]        cos and sin of 2πk/n
 *   int32 first  [bands]       of each band: its first bin
 *   int32 ends   [bands + 1]   its weights have the numbers ends[band] … ends[band + 1] - 1
 *   float weight [weights]     of bins first, first + 1, …
 * A table with bins or weights that do not exist fails the stream. */

/* With X[k] = Σ_i window[i] x[i] e^(-2πjki/n), k = 0 … n/2:
 *   mel [frames, bands] = (ln(max(Σ_k weight · |X[k]|, floor)) - mean) · inverse_deviation
 *   energy [frames]     = ln(max(√(Σ_k |X[k]|²), floor)) */
struct mx_mel_args {
    struct mx_slice audio; /* [samples.rows] */
    struct mx_ragged samples, frames;
    struct mx_slice tables;
    struct mx_slice mel;
    struct mx_slice energy;        /* (optional) */
    int32_t fft_size, hop;         /* fft_size: a power of two, 32 … 4096; hop: 1 … fft_size */
    int32_t bands, weights;        /* bands: 1 … 1024; weights: at most bands · (fft_size/2 + 1) */
    float floor;                   /* ≥ 1e-37 */
    float mean, inverse_deviation; /* 0 and 1: not normalised */
};

/* y [out.rows, fft_size/2 + 1] = ln(|X[k]| + least), X as above, of chosen frames: segment s of `out` has the frames
 * places[s, 1] … of utterance places[s, 0]. A segment that is not within the frames of an utterance fails the stream. */
struct mx_log_magnitude_args {
    struct mx_slice audio; /* [samples.rows] */
    struct mx_ragged samples, out;
    struct mx_slice tables; /* window and circle are enough */
    struct mx_slice places; /* int32 [out.count, 2] */
    struct mx_slice y;
    int32_t fft_size, hop; /* as above */
    float least;           /* ≥ 1e-37 */
};

#define MX_PITCH_CANDIDATES 4
#define MX_PITCH_WORK       (2 * MX_PITCH_CANDIDATES + 1) /* floats of scratch per frame */

/* pitch [frames]: F0 in Hz, 0 where unvoiced. Of the YIN family: with L = ⌈rate/low_hz⌉ + 1 and W = fft_size - L,
 *   d[t]  = Σ_{i<W} (x[i] - x[i + t])²,  t = 0 … L, the products by FFT
 *   d'[t] = t · d[t]/Σ_{0<s≤t} d[s]      (1 where the sum is 0)
 * A local minimum of d' at a whole t from ⌊rate/high_hz⌋ to ⌈rate/low_hz⌉ is a candidate; a parabola through its two
 * neighbours refines its position, which is then clamped to low_hz … high_hz, and its value, which is at least 0. A
 * candidate costs its value plus `octave` for each octave below high_hz; being unvoiced costs `threshold`. Candidates
 * that cost more than threshold + 2 · change are dropped (no path could use them), and the MX_PITCH_CANDIDATES cheapest
 * of a frame are kept; of equal ones, the first. A frame whose first W samples have a root mean square below `silence`
 * has none. Between neighbouring frames, a change of pitch costs `jump` for each octave, and a change of voicing costs
 * `change`. The result is the cheapest path through each utterance, which repairs single octave errors and stray voiced
 * frames. */
struct mx_pitch_args {
    struct mx_slice audio;
    struct mx_ragged samples, frames;
    struct mx_slice tables; /* window and circle are enough */
    struct mx_slice pitch;
    struct mx_slice work;                  /* [frames.rows, MX_PITCH_WORK]: scratch */
    int32_t fft_size, hop;                 /* as above; W must be at least 8 */
    float rate;                            /* samples per second */
    float low_hz, high_hz;                 /* rate/high_hz ≥ 2, low_hz < high_hz */
    float silence;                         /* ≥ 0 */
    float threshold, octave, jump, change; /* ≥ 0 */
};

/* y = gain · (x + ratio · rms(x) · noise) per utterance: white noise of deviation 1, uniformly distributed, at the
 * signal-to-noise ratio 1/ratio². noise[i] = √3 (2u - 1), u = (upper 24 bits of the random word (seed, stream of the
 * utterance, i) + ½)/2²⁴. rms is computed in double. In place allowed. */
struct mx_noise_args {
    struct mx_slice x, y; /* [samples.rows] */
    struct mx_ragged samples;
    struct mx_slice levels;  /* [samples.count, 2]: gain, ratio */
    struct mx_slice streams; /* int32 [samples.count, 2]: lower and upper half of the stream's number */
    uint64_t seed;
};

/* x [rows, n] = value inside rectangles, `spans` of them for each sequence: spans int32 [rows.count, count, 4] = first
 * row (of the sequence), rows, first column, columns. The part outside the sequence is ignored; a length of 0 or less
 * is empty. */
struct mx_mask_args {
    struct mx_slice x;
    struct mx_ragged rows;
    struct mx_slice spans;
    int64_t n, count;
    float value;
};

#define MX_BLUR_REACH     8    /* rows or columns on each side */
#define MX_BLUR_WIDTH_MAX 4096 /* widest row */

/* y [rows, n] = x as a network might predict it: blurred and noisy. levels [rows.count, 3] has for each sequence a
 * deviation over rows, one over columns, and the level of the noise. First over the rows of the sequence,
 *   y[r, i] = Σ_j w[j] x[r + j, i]/Σ_j w[j],  w[j] = e^(-j²/(2 deviation²)),  |j| ≤ min(⌈4 deviation⌉, MX_BLUR_REACH),
 * without the j whose r + j is outside the sequence; then over the columns likewise. A deviation of 0 or less changes
 * nothing. Then + level · noise, the noise of `noise` with index r · n + i, r counted within the sequence. */
struct mx_mel_blur_args {
    struct mx_slice x, y;
    struct mx_ragged rows;
    struct mx_slice levels;
    struct mx_slice streams; /* int32 [rows.count, 2]: lower and upper half of the stream's number */
    int64_t n;               /* at most MX_BLUR_WIDTH_MAX */
    uint64_t seed;
};

/* ---- from features back to audio ----
 * A complex spectrum is [frames, fft_size/2 + 1, 2]: real and imaginary part of each bin. Samples, frames and tables
 * are those of the features above. */

/* magnitude [rows, fft_size/2 + 1] ≥ 0, whose bands are those of mel [rows, bands]: an approximate inverse of the bands
 * of `mel`. With m = e^(mel · deviation + mean), not beyond e^±80, and w the weights, from
 *   a[k] = Σ_b w[b,k] (m[b]/Σ_i w[b,i])/Σ_b w[b,k],
 * a band's level spread over its bins, `iterations` times
 *   a[k] *= Σ_b w[b,k] (m[b]/Σ_i w[b,i] a[i])/Σ_b w[b,k].
 * These Richardson–Lucy steps keep a positive and never increase the Kullback–Leibler divergence of the bands from m,
 * which, like the logarithm, weights ratios and not differences. Bins that are in no band get 0. All weights must be ≥
 * 0, and their sum must be > 0 in each band that has any. */
struct mx_mel_inverse_args {
    struct mx_slice mel, tables, magnitude;
    int64_t rows;
    int32_t fft_size, bands, weights; /* as above */
    int32_t iterations;               /* 0 … 1000 */
    float mean, deviation;
};

/* What the vocoder's network begins with, of mel [rows, bands]. With m = mel · deviation + mean and w the weights:
 *   input [rows, bands] = (m + 5)/2.5
 *   base [rows, fft_size/2 + 1] = v[low] + share · (v[high] - v[low]),  v[b] = m[b] - ln max(Σ_k w[b,k], 1e-37),
 * the logarithms of magnitudes that are level within each band, where bin k lies between two bands. `places` as in
 * mel_project below. It is never differentiated. */
struct mx_mel_base_args {
    struct mx_slice mel, tables;
    struct mx_slice places; /* [3, fft_size/2 + 1] */
    struct mx_slice input;  /* (optional) */
    struct mx_slice base;
    int64_t rows;
    int32_t fft_size, bands, weights; /* as above */
    float mean, deviation;
};

/* spectrum [frames, fft_size/2 + 1, 2] = X of `mel` above. */
struct mx_spectrum_args {
    struct mx_slice audio; /* [samples.rows] */
    struct mx_ragged samples, frames;
    struct mx_slice tables;   /* window and circle are enough */
    struct mx_slice spectrum; /* [frames.rows, fft_size/2 + 1, 2] */
    int32_t fft_size, hop;    /* as above */
};

/* A step of the Griffin–Lim algorithm with momentum: with u = now + momentum · (now - before), complex numbers,
 *   y = magnitude · u/|u|,
 * or magnitude itself where |u|² < 2^-100. Without `before`: u = now. y may be `now` or `before`. */
struct mx_griffin_step_args {
    struct mx_slice now, before, y; /* [count, 2]; before (optional) */
    struct mx_slice magnitude;      /* [count] */
    int64_t count;
    float momentum;
};

/* audio [samples.rows]: the inverse of `spectrum`. With v the inverse transform of each frame (the imaginary parts of
 * bins 0 and fft_size/2 do not count), the weighted mean over the frames of the utterance that cover sample i,
 *   audio[i] = Σ_f window[j] v[f, j]/max(Σ_f window[j]², least),  j = i - f · hop + fft_size/2,
 * which is exact for the spectrum of any audio; for other spectra it is the nearest audio, except for the
 * reflections. */
struct mx_overlap_add_args {
    struct mx_slice spectrum, tables, audio;
    struct mx_ragged samples, frames;
    struct mx_slice work;  /* [frames.rows, fft_size]: scratch */
    int32_t fft_size, hop; /* as above */
    float least;           /* ≥ 1e-30 */
};

/* y [rows, fft_size/2 + 1, 2]: the spectrum with its own phases and magnitudes whose bands come closer to mel [rows,
 * bands]. With t = mel · deviation + mean and w the weights, from D[b] = 0, `rounds` times
 *   D[b] += t[b] - ln max(floor, Σ_k w[b,k] g[k] |spectrum[k]|), but at least -lower and at most raise,
 * then y[k] = g[k] · spectrum[k] and magnitude[k] = g[k] |spectrum[k]|, where
 *   g[k] = e^(D[low] + share · (D[high] - D[low])), not beyond e^±80,
 * as bin k lies between two bands. `places` has the lower band of each bin (int32 [fft_size/2 + 1]), then the higher
 * ones (the same), then the shares (float [fft_size/2 + 1]). y may be `spectrum`. */
struct mx_mel_project_args {
    struct mx_slice spectrum, y, mel, tables;
    struct mx_slice places;    /* [3, fft_size/2 + 1] */
    struct mx_slice magnitude; /* (optional) [rows, fft_size/2 + 1] */
    int64_t rows;
    int32_t fft_size, bands, weights; /* as above */
    int32_t rounds;                   /* 0 … 1000 */
    float lower, raise;               /* ≥ 0 */
    float floor, mean, deviation;     /* floor ≥ 1e-37 */
};

#define MX_HARMONICS_LEAST_HZ 20.0f

/* y [samples.rows]: the harmonics of a pitch. Samples and frames are those of the features above; sample i of an
 * utterance lies j = i - f · hop samples behind its frame f = ⌊i/hop⌋, and between f and f + 1 (the last frame stands
 * for the one behind it, too) f0 and gate are linear. With h the f0 and g the gate at the sample, and its phase in turns
 *   p = phase[f] + j/rate · (f0[f] + j/(2 hop) · (f0[f + 1] - f0[f])),
 *   y = level · g · Σ_{k ≥ 1} w_k cos 2πkp,  w_k = (limit_hz - k h)/fade_hz, not beyond 0 … 1.
 * An f0 counts as at least MX_HARMONICS_LEAST_HZ and at most limit_hz. A sample depends on its two frames alone. */
struct mx_harmonics_args {
    struct mx_slice f0, phase, gate; /* [frames.rows]: Hz, turns, 0 … 1 */
    struct mx_slice y;               /* [samples.rows] */
    struct mx_ragged samples, frames;
    int32_t hop;             /* 1 … 4096 */
    float rate;              /* samples per second, ≤ 1e6 */
    float limit_hz, fade_hz; /* 20 ≤ limit_hz ≤ rate/2, 0 < fade_hz ≤ limit_hz */
    float level;
};

#define MX_TEXTURE_REACH_MAX 64

/* Levels of a spectrum that are too smooth get the texture of the source whose phases they will have. With u = source +
 * gain[k] · noise in bin k, complex numbers, and P[k] = |u|², at least 2^-100,
 *   y [rows, n] = level + colour · ln max(√(P[k]/mean of P), least),
 * where the mean is over the bins within `reach` of k, as far as they exist. So every harmonic stands out from what is
 * between it and the next one, and noise is as uneven as noise is. y may be `level`. */
struct mx_texture_args {
    struct mx_slice source, noise; /* [rows, n, 2] */
    struct mx_slice gain;          /* [n] */
    struct mx_slice level, y;      /* [rows, n] */
    int64_t rows, n;
    int32_t reach; /* 0 … MX_TEXTURE_REACH_MAX */
    float colour;  /* 0 … 1e6 */
    float least;   /* 1e-6 … 1 */
};

/* The first spectrum of a sound: with u = source + gain[k] · noise in bin k, complex numbers,
 *   magnitude [rows, n] = e^level, not beyond e^±80,  y [rows, n, 2] = magnitude · u/|u|,
 * or magnitude itself where |u|² < 2^-100. magnitude may be `level`, y may be `source` or `noise`. */
struct mx_excite_args {
    struct mx_slice source, noise; /* [rows, n, 2] */
    struct mx_slice gain;          /* [n] */
    struct mx_slice level;         /* [rows, n] */
    struct mx_slice magnitude, y;
    int64_t rows, n;
};

const char *mx_op_name(enum mx_op op);
size_t mx_op_args_bytes(enum mx_op op);
#define MX_OP_ARGS_MAX 512 /* no argument struct is larger (asserted at compile time) */

/* Checks `args` against the device: shapes, slices, ranges. MX_ERR_ARGUMENT names the operation and the argument. */
int mx_op_check(const struct mx_device *device, enum mx_op op, const void *args);
/* Calls visit(context, argument name, slice, bytes, written) for every present slice of checked arguments. */
void mx_op_slices(enum mx_op op, const void *args,
                  void (*visit)(void *context, const char *name, struct mx_slice slice, size_t bytes, bool written),
                  void *context);

int mx_op_submit(struct mx_stream *stream, enum mx_op op, const void *args);

#define MX_TYPED(name)                                                                                                 \
    static inline int mx_##name(struct mx_stream *stream, const struct mx_##name##_args *args)                         \
    {                                                                                                                  \
        return mx_op_submit(stream, MX_OP_##name, args);                                                               \
    }
#define MX_PAIR(name) MX_TYPED(name) MX_TYPED(name##_grad)
MX_OP_LIST(MX_PAIR, MX_TYPED)
#undef MX_PAIR
#undef MX_TYPED

#endif
