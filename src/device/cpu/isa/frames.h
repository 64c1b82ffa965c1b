/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Frames of packed audio as myxtts/ops.h defines them, MX_VEC_FLOATS at a time, one per lane, and their transforms.
 *
 * The lanes of a block are neighbouring frames of the batch, whatever utterances they belong to, so that all lanes
 * work; what a lane computes is a function of its own samples, so a frame has the same result in any block. If all
 * samples of a frame lie in the audio they are read in place; if some are reflected, they are first laid out in the
 * worker's scratch.
 *
 * Offsets come from the device's memory and could not be checked earlier: mx_frames_open checks them and fails the
 * stream if they are wrong. All workers must call it, and all must return if it refuses.
 */
#ifndef MX_DEVICE_CPU_ISA_FRAMES_H
#define MX_DEVICE_CPU_ISA_FRAMES_H

#include "device/cpu/isa/fft.h"
#include "device/cpu/kernels.h"

struct mx_frames {
    const float *audio;
    const int32_t *samples, *frames; /* offsets [count + 1] */
    int64_t count, rows;             /* utterances; frames of all of them */
    int64_t size, hop;
};

static inline bool mx_frames_agree(const struct mx_frames *f, int64_t sample_rows)
{
    if (f->samples[0] != 0 || f->frames[0] != 0) return false;
    if (f->samples[f->count] != sample_rows || f->frames[f->count] != f->rows) return false;
    for (int64_t s = 0; s < f->count; s++) {
        const int64_t samples = (int64_t)f->samples[s + 1] - f->samples[s];
        const int64_t frames = (int64_t)f->frames[s + 1] - f->frames[s];
        if (samples < 0 || frames != (samples > 0 ? 1 + samples / f->hop : 0)) return false;
    }
    return true;
}

/* False when the offsets are refused; worker 0 then has failed the stream. */
static inline bool mx_frames_open(struct mx_frames *f, const struct mx_gang *gang, const char *op,
                                  struct mx_slice audio, const struct mx_ragged *samples,
                                  const struct mx_ragged *frames, int32_t size, int32_t hop)
{
    *f = (struct mx_frames){.audio = mx_cpu_ptr(audio),
                            .samples = mx_cpu_ptr(samples->offsets),
                            .frames = mx_cpu_ptr(frames->offsets),
                            .count = samples->count,
                            .rows = frames->rows,
                            .size = size,
                            .hop = hop};
    if (mx_frames_agree(f, samples->rows)) return true;
    if (gang->worker == 0) {
        MX_FAIL(MX_ERR_DATA, "expected offsets that begin with 0 and do not decrease, and 1 + samples/hop frames each",
                "%s: the frames do not fit the samples", op);
        mx_stream_fail(gang->stream);
    }
    return false;
}

/* Writes `count` samples from place `at` on (which may lie outside 0 … n-1) by walking to and fro over x[0 … n). */
static inline void mx_frames_reflect(const float *x, int64_t n, int64_t at, int64_t count, float *out)
{
    if (n == 1) {
        for (int64_t i = 0; i < count; i++) out[i] = x[0];
        return;
    }
    const int64_t period = 2 * (n - 1);
    int64_t place = at % period;
    if (place < 0) place += period;
    int64_t step = 1;
    if (place >= n - 1) {
        place = period - place;
        step = -1;
    }
    for (int64_t i = 0; i < count; i++) {
        out[i] = x[place];
        if (place == 0)
            step = 1;
        else if (place == n - 1)
            step = -1;
        place += step;
    }
}

/* The samples of a frame of utterance s: in place, or laid out in `out` [size]. */
static inline const float *mx_frames_one(const struct mx_frames *f, int64_t s, int64_t frame, float *out)
{
    const float *x = f->audio + f->samples[s];
    const int64_t n = f->samples[s + 1] - f->samples[s], begin = frame * f->hop - f->size / 2;
    if (begin >= 0 && begin + f->size <= n) return x + begin;
    const int64_t head = begin < 0 ? (-begin < f->size ? -begin : f->size) : 0;
    const int64_t inside = n - (begin + head), left = f->size - head;
    const int64_t whole = inside < left ? inside : left;
    mx_frames_reflect(x, n, begin, head, out);
    if (whole > 0) memcpy(out + head, x + begin + head, (size_t)whole * sizeof *out);
    mx_frames_reflect(x, n, begin + head + whole, left - whole, out + head + whole);
    return out;
}

/* source[lane] = the samples of frame row + lane of the batch, for `lanes` frames; lanes beyond them repeat the last.
 * `stage`: MX_VEC_FLOATS · size floats. */
static inline void mx_frames_block(const struct mx_frames *f, int64_t row, int lanes, float *stage,
                                   const float *source[MX_VEC_FLOATS])
{
    int64_t low = 0, high = f->count; /* the utterance of the first frame: the first that ends after it */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (f->frames[middle + 1] <= row)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t s = low;
    for (int lane = 0; lane < lanes; lane++, row++) {
        while (f->frames[s + 1] <= row) s++;
        source[lane] = mx_frames_one(f, s, row - f->frames[s], stage + lane * f->size);
    }
    for (int lane = lanes; lane < MX_VEC_FLOATS; lane++) source[lane] = source[lanes - 1];
}

/* LANES samples from place i on of all lanes, windowed: one vector for each place, with one frame in each lane. */
MX_VEC_INLINE void mx_frames_square(const float *window, const float *const source[MX_VEC_FLOATS], int64_t i,
                                    mx_vf square[MX_VEC_FLOATS])
{
#if MX_VEC_AVX2
    /* Loads put the squares of 4 where they belong: half as many shuffles remain, and one unit does them all. */
#pragma GCC unroll 4
    for (int lane = 0; lane < 4; lane++) {
        square[lane] = mx_vf_load_halves(source[lane] + i, source[lane + 4] + i);
        square[lane + 4] = mx_vf_load_halves(source[lane] + i + 4, source[lane + 4] + i + 4);
    }
    mx_vf_transpose_fours(square);
#else
#pragma GCC unroll 16
    for (int lane = 0; lane < MX_VEC_FLOATS; lane++) square[lane] = mx_vf_load(source[lane] + i);
    mx_vf_transpose(square);
#endif
#pragma GCC unroll 16
    for (int j = 0; j < MX_VEC_FLOATS; j++) square[j] *= window[i + j];
}

/* z: the transform of the windowed samples of all lanes, even samples as real and odd ones as imaginary parts, so of
 * size/2 complex elements, left as mx_fft_run leaves it. The first pass works on what the window has just made: written
 * out in between, it would pass through the first-level cache twice, and fill it. */
static inline void mx_frames_transform(const float *window, int64_t size, const float *const source[MX_VEC_FLOATS],
                                       const float *circle, mx_vf *z)
{
    enum { ELEMENTS = MX_VEC_FLOATS / 2 }; /* complex ones in a square */
    const int64_t n = size / 2, part = n / 8;
    if (n < 64) {
        for (int64_t i = 0; i < size; i += MX_VEC_FLOATS) mx_frames_square(window, source, i, z + i);
        mx_fft_run(z, n, circle, size);
        return;
    }
    for (int64_t j = 0; j < part; j += ELEMENTS) {
        mx_vf square[8][MX_VEC_FLOATS];
        for (int m = 0; m < 8; m++) mx_frames_square(window, source, 2 * (j + m * part), square[m]);
        for (int i = 0; i < ELEMENTS; i++)
            mx_fft_eight(square[0] + 2 * i, ELEMENTS, z + 2 * (j + i), part, j + i, circle, size / n);
    }
    mx_fft_finish(z, n, part, circle, size);
}

#endif
