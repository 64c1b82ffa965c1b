/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations (myxtts/ops.h): from features back to sound.
 *
 * A complex spectrum is [frames, fft_size/2 + 1, 2]: real and imaginary part of each bin. Samples, frames and tables
 * are those of myxtts/ops/features.h.
 */
#ifndef MYXTTS_OPS_SOUND_H
#define MYXTTS_OPS_SOUND_H

#include "myxtts/ops/common.h"

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
    int32_t fft_size, bands, weights; /* as for `mel` */
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
    int32_t fft_size, bands, weights; /* as for `mel` */
    float mean, deviation;
};

/* spectrum [frames, fft_size/2 + 1, 2] = X of `mel`. */
struct mx_spectrum_args {
    struct mx_slice audio; /* [samples.rows] */
    struct mx_ragged samples, frames;
    struct mx_slice tables;   /* window and circle are enough */
    struct mx_slice spectrum; /* [frames.rows, fft_size/2 + 1, 2] */
    int32_t fft_size, hop;    /* as for `mel` */
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
    int32_t fft_size, hop; /* as for `mel` */
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
    int32_t fft_size, bands, weights; /* as for `mel` */
    int32_t rounds;                   /* 0 … 1000 */
    float lower, raise;               /* ≥ 0 */
    float floor, mean, deviation;     /* floor ≥ 1e-37 */
};

#define MX_HARMONICS_LEAST_HZ 20.0f

/* y [samples.rows]: the harmonics of a pitch. Sample i of an utterance lies j = i - f · hop samples after its frame
 * f = ⌊i/hop⌋, and between f and f + 1 (the last frame stands for the one after it, too) f0 and gate are linear. With h
 * the f0 and g the gate at the sample, and its phase in turns
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

#endif
