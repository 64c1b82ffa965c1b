/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trimming and levelling of one recording; the rules are in audio.h.
 */
#include <math.h>
#include <string.h>

#include "corpus/audio/audio_internal.h"

static double from_db(double db)
{
    return pow(10.0, db / 20.0);
}

/* Sums run in eight lanes, so that the compiler may use vectors without changing any result. */
#define LANES 8

static double sum_of(const float *samples, size_t count)
{
    double lanes[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t k = 0; k < LANES; k++) lanes[k] += (double)samples[i + k];
    for (; i < count; i++) sum += (double)samples[i];
    for (size_t k = 0; k < LANES; k++) sum += lanes[k];
    return sum;
}

static double energy_of(const float *samples, size_t count)
{
    double lanes[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t k = 0; k < LANES; k++) lanes[k] += (double)samples[i + k] * (double)samples[i + k];
    for (; i < count; i++) sum += (double)samples[i] * (double)samples[i];
    for (size_t k = 0; k < LANES; k++) sum += lanes[k];
    return sum;
}

float mx_audio_peak(const float *samples, size_t count)
{
    /* Without their sign the bits of floats are ordered as the numbers are, infinity and NaN last; and a maximum of
     * integers is something that compilers turn into vectors. */
    uint32_t most = 0;
    float peak;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &samples[i], sizeof bits);
        bits &= 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    memcpy(&peak, &most, sizeof peak);
    return peak;
}

/* Subtracts the mean, *offset, and returns the highest sample that is left. */
static float centre(float *samples, size_t count, double *offset)
{
    const float mean = (float)(sum_of(samples, count) / (double)count);
    *offset = (double)mean;
    for (size_t i = 0; i < count; i++) samples[i] -= mean;
    return mx_audio_peak(samples, count);
}

struct sound {
    size_t begin, end; /* samples, margins not included */
    double rms;        /* of the windows that sound */
};

/* count ≥ 1, and not all samples are 0. */
static struct sound sound_find(const float *samples, size_t count, double *levels,
                               const struct mx_audio_options *options)
{
    const double trim_db = options->trim_db;
    const size_t window = mx_audio_window(options->rate);
    const size_t windows = (count + window - 1) / window;
    double loudest = 0, energy = 0;
    size_t first = windows, last = 0, sounding = 0; /* sounding: samples */
    for (size_t i = 0; i < windows; i++) {
        const size_t begin = i * window;
        const size_t size = count - begin < window ? count - begin : window;
        /* A last window that is cut short counts with its full length: a single sample is no sound. */
        levels[i] = energy_of(samples + begin, size) / (double)window;
        if (levels[i] > loudest) loudest = levels[i];
    }
    const double least = trim_db == 0 ? 0 : loudest * pow(10.0, -trim_db / 10.0);
    for (size_t i = 0; i < windows; i++) {
        if (levels[i] < least) continue;
        if (first == windows) first = i;
        last = i;
        energy += levels[i] * (double)window;
        sounding += i + 1 < windows ? window : count - i * window;
    }
    const size_t end = (last + 1) * window;
    return (struct sound){first * window, end < count ? end : count, sqrt(energy / (double)sounding)};
}

enum mx_reject mx_audio_level(float *samples, size_t count, double *levels, const struct mx_audio_options *options,
                              struct mx_audio_part *part, struct mx_audio_report *report)
{
    const double rate = options->rate;
    const float peak = centre(samples, count, &report->offset);
    if ((double)peak <= from_db(options->silent_db))
        return peak > 0
                   ? mx_audio_refuse(report, MX_REJECT_SILENT, "the loudest sample is at %.0f dB; at least %.0f dB",
                                     20 * log10((double)peak), options->silent_db)
                   : mx_audio_refuse(report, MX_REJECT_SILENT, "all samples are equal");
    const struct sound sound = sound_find(samples, count, levels, options);
    const size_t margin = (size_t)(options->margin_seconds * rate);
    const size_t from = sound.begin > margin ? sound.begin - margin : 0;
    const size_t to = count - sound.end > margin ? sound.end + margin : count;
    report->rms = sound.rms;
    report->trimmed_begin = (double)from / rate;
    report->trimmed_end = (double)(count - to) / rate;
    report->seconds_used = (double)(to - from) / rate;
    if (report->seconds_used < options->seconds_min)
        return mx_audio_refuse(report, MX_REJECT_TOO_SHORT, "%.2f s without the silence at its ends; at least %g s",
                               report->seconds_used, options->seconds_min);
    if (report->seconds_used > options->seconds_max)
        return mx_audio_refuse(report, MX_REJECT_TOO_LONG, "%.1f s without the silence at its ends; at most %g s",
                               report->seconds_used, options->seconds_max);
    report->gain = 1;
    if (options->level_db != 0) {
        const double wanted = from_db(options->level_db) / sound.rms, most = from_db(options->peak_db) / (double)peak;
        report->gain = wanted < most ? wanted : most;
        const float gain = (float)report->gain;
        for (size_t i = from; i < to; i++) samples[i] *= gain;
    }
    *part = (struct mx_audio_part){from, to - from};
    return MX_REJECT_NONE;
}

double mx_audio_usual_gain(const struct mx_audio_report *report)
{
    return report->rms > 0 ? from_db(MX_AUDIO_OPTIONS_DEFAULT.level_db) / report->rms : 1;
}
