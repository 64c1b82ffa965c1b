/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Segments, see segment.h.
 */
#include "train/feed/segment.h"

#include "base/rng.h"
#include "myxtts/error.h"

/* Streams of the generator: the upper half is the use, the lower half the epoch. */
#define STREAM_PLACE  (UINT64_C(0x53454730) << 32) /* which frame of the batch chooses the utterance */
#define STREAM_BEGIN  (UINT64_C(0x53454731) << 32)
#define STREAM_CHANCE (UINT64_C(0x53454732) << 32)
#define STREAM_BLUR   (UINT64_C(0x53454733) << 32)
#define STREAM_NOISE  (UINT64_C(0x53454734) << 32)

/* What the values of a block of STREAM_BLUR are for. */
enum { BLUR_WHETHER, BLUR_ROWS, BLUR_COLUMNS, BLUR_NOISE, BLUR_VALUES };

/* Measured on recorded and on predicted mel (MODEL.md): deviations in frames and bands, noise in natural logarithms. */
static const double rows_least = 0.2, rows_most = 1.5, columns_least = 0.1, columns_most = 0.8, noise_most = 0.15;

struct mx_segment_options mx_segments_share(const struct mx_segment_options *whole, int32_t rank, int32_t size)
{
    struct mx_segment_options own = *whole;
    if (whole->crops) { /* the sampler distributes them; the first ranks get more */
        own.count = (whole->count + size - 1) / size;
        return own;
    }
    own.first = (int32_t)((int64_t)whole->count * rank / size);
    own.count = (int32_t)((int64_t)whole->count * (rank + 1) / size) - own.first;
    return own;
}

struct mx_vocoder_capacity mx_segments_capacity(const struct mx_segment_options *o)
{
    return (struct mx_vocoder_capacity){
        .sequences = o->count, .frames = o->count * o->frames, .longest_frames = o->count > 0 ? o->frames : 0};
}

int mx_segments_check(const struct mx_segment_options *o)
{
    if (o->count < 0 || o->count > MX_SEGMENTS_MAX || o->first < 0 || o->first > MX_SEGMENTS_MAX - o->count)
        return MX_FAIL(MX_ERR_CONFIG, "1 to 1024 segments are possible", "a batch cannot have %d segments",
                       (int)o->count);
    if (o->count > 0 && (o->frames < MX_SEGMENT_FRAMES_MIN || o->frames > MX_SEGMENT_FRAMES_MAX))
        return MX_FAIL(MX_ERR_CONFIG, "16 to 1024 frames are possible", "a segment cannot have %d frames",
                       (int)o->frames);
    if (!(o->augment >= 0 && o->augment <= 1))
        return MX_FAIL(MX_ERR_CONFIG, "give a fraction from 0 to 1", "%g of the segments cannot be augmented",
                       o->augment);
    return 0;
}

int64_t mx_segments_begin(uint64_t seed, uint32_t epoch, uint64_t number, int64_t choices)
{
    return (int64_t)mx_rng_below(seed, STREAM_BEGIN | epoch, number, (uint64_t)choices);
}

float mx_segments_chance(uint64_t seed, uint32_t epoch, uint64_t number)
{
    return mx_rng_uniform(seed, STREAM_CHANCE | epoch, number);
}

int32_t mx_segments_draw(const struct mx_segment_options *o, uint64_t seed, uint32_t epoch, uint32_t step,
                         const int32_t *offsets, int32_t sequences, struct mx_segment *out)
{
    const int32_t total = offsets[sequences];
    if (total == 0) return 0;
    for (int32_t i = 0; i < o->count; i++) {
        const uint64_t number = (uint64_t)step * MX_SEGMENTS_MAX + (uint64_t)(o->first + i);
        const int32_t at = (int32_t)mx_rng_below(seed, STREAM_PLACE | epoch, number, (uint64_t)total);
        int32_t low = 0, high = sequences; /* the sequence that this frame belongs to lies in [low, high) */
        while (high - low > 1) {
            const int32_t middle = low + (high - low) / 2;
            if (offsets[middle] <= at)
                low = middle;
            else
                high = middle;
        }
        const int32_t frames = offsets[low + 1] - offsets[low], rows = frames < o->frames ? frames : o->frames;
        const int32_t first = (int32_t)mx_segments_begin(seed, epoch, number, frames - rows + 1);
        out[i] = (struct mx_segment){.sequence = low,
                                     .first = first,
                                     .row = offsets[low] + first,
                                     .rows = rows,
                                     .draw = mx_segments_chance(seed, epoch, number),
                                     .number = number};
    }
    return o->count;
}

struct mx_segment_blur mx_segments_blur(const struct mx_segment_options *o, uint64_t seed, uint32_t epoch,
                                        uint64_t number, double deviation)
{
    double u[BLUR_VALUES];
    uint32_t name[4]; /* the block (epoch as seed, number as index) names the stream of the noise */
    mx_philox(epoch, STREAM_NOISE, number, name);
    struct mx_segment_blur blur = {.stream = (uint64_t)name[1] << 32 | name[0]};
    for (uint64_t i = 0; i < BLUR_VALUES; i++)
        u[i] = (double)mx_rng_uniform(seed, STREAM_BLUR | epoch, number * BLUR_VALUES + i);
    if (u[BLUR_WHETHER] >= o->augment) return blur;
    blur.levels[0] = (float)(rows_least + (rows_most - rows_least) * u[BLUR_ROWS]);
    if (u[BLUR_COLUMNS] >= 0.5) /* the upper half says how much */
        blur.levels[1] = (float)(columns_least + (columns_most - columns_least) * (2 * u[BLUR_COLUMNS] - 1));
    blur.levels[2] = (float)(noise_most * u[BLUR_NOISE] / deviation);
    return blur;
}
