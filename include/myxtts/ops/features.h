/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations (myxtts/ops.h): sound to mel, energy, pitch and magnitudes, and augmentation.
 *
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
 * A table with bins or weights that do not exist fails the stream.
 */
#ifndef MYXTTS_OPS_FEATURES_H
#define MYXTTS_OPS_FEATURES_H

#include "myxtts/ops/common.h"

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

#endif
