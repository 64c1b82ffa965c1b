/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Draws the random augmentation of an utterance, and changes its speed.
 *
 * Random numbers: the block (epoch as seed, AUGMENT as stream, sample as index) names a stream for the utterance; the
 * run's seed with that stream gives all its numbers, where the number i depends on its use, so that switching an option
 * on or off does not change what the others draw. The noise has its own stream.
 */
#include "features/augment.h"

#include <math.h>
#include <soxr.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"

#define AUGMENT UINT64_C(0x6175676D656E7400) /* "augment" */

enum use { USE_GAIN, USE_NOISE, USE_SNR, USE_SPEED, USE_MASKS = 16 };

static int refuse(const char *what, const char *range)
{
    return MX_FAIL(MX_ERR_ARGUMENT, range, "augmentation: %s is out of range", what);
}

int mx_augment_check(const struct mx_augment_options *o)
{
    if (!(o->gain_db >= 0 && o->gain_db <= 24)) return refuse("the change of gain", "0 to 24 dB");
    if (!(o->noise_share >= 0 && o->noise_share <= 1)) return refuse("the share of noisy utterances", "0 to 1");
    if (!(o->snr_min_db >= -10 && o->snr_min_db <= o->snr_max_db && o->snr_max_db <= 100))
        return refuse("the signal-to-noise ratio", "-10 to 100 dB, the smaller one first");
    if (!(o->speed >= 0 && o->speed <= 0.5)) return refuse("the change of speed", "0 to 0.5");
    if (o->band_masks < 0 || o->band_masks > MX_AUGMENT_MASKS || o->time_masks < 0 || o->time_masks > MX_AUGMENT_MASKS)
        return refuse("the number of masks", "0 to 4 of either kind");
    if (o->band_width_max < 0 || o->band_width_max > 512) return refuse("the width of a mask", "0 to 512 bands");
    if (!(o->time_share_max >= 0 && o->time_share_max <= 0.5)) return refuse("the length of a mask", "0 to 0.5");
    return 0;
}

bool mx_augment_active(const struct mx_augment_options *o)
{
    return o->gain_db > 0 || o->noise_share > 0 || o->speed > 0 || mx_augment_span_count(o) > 0;
}

int mx_augment_span_count(const struct mx_augment_options *o)
{
    return (o->band_width_max > 0 ? o->band_masks : 0) + (o->time_share_max > 0 ? o->time_masks : 0);
}

void mx_augment_draw(const struct mx_augment_options *o, uint64_t seed, uint64_t epoch, uint64_t sample, int bands,
                     struct mx_augment_draw *out)
{
    uint32_t name[4];
    mx_philox(epoch, AUGMENT, sample, name);
    const uint64_t stream = (uint64_t)name[1] << 32 | name[0];
    *out = (struct mx_augment_draw){.stream = (uint64_t)name[3] << 32 | name[2]};
    const double gain = 2 * (double)mx_rng_uniform(seed, stream, USE_GAIN) - 1;
    const double speed = 2 * (double)mx_rng_uniform(seed, stream, USE_SPEED) - 1;
    out->gain = (float)pow(10, gain * o->gain_db / 20);
    out->speed = exp(speed * log1p(o->speed));
    if ((double)mx_rng_uniform(seed, stream, USE_NOISE) < o->noise_share) {
        const double part = (double)mx_rng_uniform(seed, stream, USE_SNR);
        out->noise_ratio = (float)pow(10, -(o->snr_min_db + part * (o->snr_max_db - o->snr_min_db)) / 20);
    }
    for (int i = 0; i < 2 * MX_AUGMENT_MASKS; i++) {
        const bool time = i >= MX_AUGMENT_MASKS;
        const int number = time ? i - MX_AUGMENT_MASKS : i;
        const double most =
            time ? o->time_share_max : (double)(o->band_width_max < bands ? o->band_width_max : bands - 1);
        if (number >= (time ? o->time_masks : o->band_masks) || !(most > 0)) continue;
        const double size = most * (double)mx_rng_uniform(seed, stream, USE_MASKS + 2 * (uint64_t)i);
        const double whole = time ? 1 : (double)bands;
        const double place = (whole - size) * (double)mx_rng_uniform(seed, stream, USE_MASKS + 2 * (uint64_t)i + 1);
        out->masks[out->mask_count].time = time;
        out->masks[out->mask_count].place = (float)place;
        out->masks[out->mask_count++].size = (float)size;
    }
}

void mx_augment_spans(const struct mx_augment_draw *draw, int64_t frames, int bands, int count, int32_t (*spans)[4])
{
    for (int i = 0; i < count; i++) {
        spans[i][0] = spans[i][1] = spans[i][2] = spans[i][3] = 0;
        if (i >= draw->mask_count) continue;
        const bool time = draw->masks[i].time;
        const double scale = time ? (double)frames : 1;
        const int32_t first = (int32_t)lround((double)draw->masks[i].place * scale);
        const int32_t size = (int32_t)lround((double)draw->masks[i].size * scale);
        spans[i][0] = time ? first : 0;
        spans[i][1] = time ? size : (int32_t)frames;
        spans[i][2] = time ? 0 : first;
        spans[i][3] = time ? bands : size;
    }
}

/* ---- speed ---- */

size_t mx_augment_resampled(size_t count, double speed)
{
    return (size_t)llround((double)count / speed);
}

int mx_augment_resample_to(const float *samples, size_t count, double speed, float *out)
{
    size_t used = 0, made = 0;
    if (!(speed >= 0.5 && speed <= 2))
        return MX_FAIL(MX_ERR_ARGUMENT, "speeds go from 0.5 to 2", "a speed of %g is not possible", speed);
    const size_t wanted = mx_augment_resampled(count, speed);
    const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    const soxr_runtime_spec_t threads = soxr_runtime_spec(1);
    const soxr_error_t failed =
        soxr_oneshot(speed, 1, 1, samples, count, &used, out, wanted, &made, NULL, &quality, &threads);
    if (failed != NULL)
        return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs", "cannot resample %zu samples: %s", count, failed);
    for (; made < wanted; made++) out[made] = 0; /* what soxr did not fill, a sample at most, is silence */
    return 0;
}

int mx_augment_resample(const float *samples, size_t count, double speed, float **out, size_t *out_count)
{
    const size_t wanted = speed > 0 ? mx_augment_resampled(count, speed) : 0;
    *out = NULL;
    *out_count = 0;
    float *const result = mx_alloc(wanted + 1, sizeof *result);
    if (result == NULL) return MX_ERR_NO_MEMORY;
    const int rc = mx_augment_resample_to(samples, count, speed, result);
    if (rc < 0) {
        mx_free(result);
        return rc;
    }
    *out = result;
    *out_count = wanted;
    return 0;
}
