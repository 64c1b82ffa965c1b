/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Something like speech; see babble.h.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "support/babble.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"

#define VOWEL_RMS 0.1
#define SEED      77

static uint64_t drawn;

static double hiss(void)
{
    return (double)mx_rng_normal(SEED, 1, drawn++);
}

static double between(uint32_t number, uint64_t index, double least, double most)
{
    return least + (most - least) * (double)mx_rng_uniform(SEED, 100 + number, index);
}

/* ---- the voice ---- */

/* Pulses of a rising pitch, each up and down again, through three resonances. */
static void vowel_add(float *to, size_t count, int rate, double pitch, const double formants[3])
{
    double power = 0, phase = 1, last = 0, past[3][2] = {{0}};
    float *const wave = mx_alloc(count, sizeof *wave);
    assert_non_null(wave);
    for (size_t i = 0; i < count; i++) {
        phase += pitch * (1 + 0.1 * (double)i / (double)count) / rate;
        const double pulse = phase >= 1 ? 1 : 0;
        phase -= pulse;
        for (int f = 0; f < 3; f++) {
            const double close = exp(-M_PI * (80 + 40 * f) / rate),
                         turn = 2 * close * cos(2 * M_PI * formants[f] / rate);
            const double now = pulse - last + turn * past[f][0] - close * close * past[f][1];
            past[f][1] = past[f][0];
            past[f][0] = now;
            wave[i] += (float)(now / (1 + f));
        }
        last = pulse;
        power += (double)wave[i] * (double)wave[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        const double in = fmin(1, (double)i / (0.015 * rate)), out = fmin(1, (double)(count - i) / (0.02 * rate));
        to[i] += (float)(VOWEL_RMS / sqrt(power) * in * out * (double)wave[i]);
    }
    mx_free(wave);
}

static void hiss_add(float *to, size_t count)
{
    double last = hiss();
    for (size_t i = 0; i < count; i++) {
        const double now = hiss();
        to[i] += (float)(0.25 * VOWEL_RMS * sin(M_PI * (double)i / (double)count) * (now - last));
        last = now;
    }
}

struct babble babble_make(uint32_t number, int rate)
{
    const uint32_t syllables = 8 + number % 5;
    struct babble babble = {.rate = rate};
    double seconds = BABBLE_BEGIN;
    drawn = (uint64_t)number << 32;
    babble.samples = mx_alloc((size_t)rate * 8, sizeof *babble.samples);
    assert_non_null(babble.samples);
    for (uint32_t s = 0; s < syllables; s++) {
        const double formants[] = {between(number, 8 * s, 300, 800), between(number, 8 * s + 1, 900, 2200),
                                   between(number, 8 * s + 2, 2400, 3200)};
        const double length = between(number, 8 * s + 3, 0.12, 0.26), pitch = between(number, 8 * s + 4, 105, 150);
        if (s == syllables / 2) {
            babble.pause_at = seconds;
            seconds += BABBLE_PAUSE;
        }
        if (s % 3 == 1) {
            hiss_add(babble.samples + (size_t)(seconds * rate), (size_t)(0.08 * rate));
            seconds += 0.08;
        }
        vowel_add(babble.samples + (size_t)(seconds * rate), (size_t)(length * rate), rate, pitch, formants);
        seconds += length + (s + 1 < syllables ? 0.06 : 0);
    }
    babble.count = (size_t)((seconds + BABBLE_END) * rate);
    for (size_t i = 0; i < babble.count; i++) babble.samples[i] += (float)(VOWEL_RMS * 0.001 * hiss());
    return babble;
}

void babble_release(struct babble *babble)
{
    mx_free(babble->samples);
    *babble = (struct babble){0};
}

/* ---- what may happen to it ---- */

void babble_noise(struct babble *babble, double below_db)
{
    for (size_t i = 0; i < babble->count; i++)
        babble->samples[i] += (float)(VOWEL_RMS * pow(10, -below_db / 20) * hiss());
}

void babble_tone(struct babble *babble, double hz, double below_db)
{
    const double height = sqrt(2) * VOWEL_RMS * pow(10, -below_db / 20);
    for (size_t i = 0; i < babble->count; i++)
        babble->samples[i] += (float)(height * sin(2 * M_PI * hz * (double)i / babble->rate + 1));
}

void babble_scale(struct babble *babble, double factor)
{
    for (size_t i = 0; i < babble->count; i++) babble->samples[i] *= (float)factor;
}

/* Convolves the samples with a response; `early` of its values come before the present. */
static void convolve(struct babble *babble, const float *response, size_t length, size_t early)
{
    float *const out = mx_alloc(babble->count, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < babble->count; i++) {
        const float x = babble->samples[i];
        for (size_t k = i < early ? early - i : 0; k < length && i + k < babble->count + early; k++)
            out[i + k - early] += x * response[k];
    }
    mx_free(babble->samples);
    babble->samples = out;
}

void babble_lowpass(struct babble *babble, double hz)
{
    enum { TAPS = 201 };
    float taps[TAPS];
    double sum = 0;
    for (int i = 0; i < TAPS; i++) {
        const double at = i - TAPS / 2, x = 2 * M_PI * hz / babble->rate * at;
        taps[i] = (float)((at == 0 ? 1 : sin(x) / x) * (0.5 + 0.5 * cos(2 * M_PI * at / TAPS)));
        sum += (double)taps[i];
    }
    for (int i = 0; i < TAPS; i++) taps[i] /= (float)sum;
    convolve(babble, taps, TAPS, TAPS / 2);
}

void babble_room(struct babble *babble, double seconds)
{
    const size_t length = (size_t)(0.6 * seconds * babble->rate);
    double energy = 0;
    float *const room = mx_alloc(length, sizeof *room);
    assert_non_null(room);
    for (size_t i = 30; i < length; i++) {
        room[i] = (float)(hiss() * pow(10, -3 * (double)i / babble->rate / seconds));
        energy += (double)room[i] * (double)room[i];
    }
    for (size_t i = 30; i < length; i++) room[i] /= (float)sqrt(energy);
    room[0] = 1;
    convolve(babble, room, length, 0);
    mx_free(room);
}

void babble_burst(struct babble *babble, double at, double seconds, double below_db)
{
    const size_t begin = (size_t)(at * babble->rate), count = (size_t)(seconds * babble->rate);
    assert_true(begin + count <= babble->count);
    for (size_t i = 0; i < count; i++)
        babble->samples[begin + i] += (float)(VOWEL_RMS * pow(10, -below_db / 20) * hiss());
}

void babble_wait(struct babble *babble, double at, double seconds)
{
    const size_t begin = (size_t)(at * babble->rate), more = (size_t)(seconds * babble->rate);
    float *const longer = mx_realloc(babble->samples, babble->count + more, sizeof *longer);
    assert_non_null(longer);
    memmove(longer + begin + more, longer + begin, (babble->count - begin) * sizeof *longer);
    for (size_t i = 0; i < more; i++) longer[begin + i] = (float)(VOWEL_RMS * 0.001 * hiss());
    babble->samples = longer;
    babble->count += more;
}

void babble_cut(struct babble *babble, double begin, double end)
{
    const size_t first = (size_t)(begin * babble->rate), last = babble->count - (size_t)(end * babble->rate);
    memmove(babble->samples, babble->samples + first, (last - first) * sizeof *babble->samples);
    babble->count = last - first;
}

/* ---- the clinic ---- */

void clinic_open(struct clinic *clinic, uint32_t speakers)
{
    memset(clinic, 0, sizeof *clinic);
    assert_int_equal(mx_doctor_meter_create(&clinic->meter), 0);
    assert_int_equal(mx_audio_reader_create(&clinic->reader), 0);
    const struct mx_check_listener listener = mx_doctor_meter_listener(clinic->meter);
    assert_int_equal(listener.begin(listener.context, CLINIC_ROWS), 0);
    clinic->manifest.utterances = clinic->utterances;
    clinic->manifest.speaker_count = clinic->report.speaker_count = speakers;
    clinic->report.manifest = &clinic->manifest;
    clinic->report.list = clinic->list;
}

void clinic_close(struct clinic *clinic)
{
    mx_doctor_meter_destroy(clinic->meter);
    mx_audio_reader_destroy(clinic->reader);
}

const struct mx_doctor_sound *clinic_hear(struct clinic *clinic, struct babble *babble, uint32_t speaker)
{
    const uint32_t row = clinic->manifest.utterance_count++;
    const struct mx_audio_options options = MX_AUDIO_OPTIONS_DEFAULT;
    const struct mx_check_listener listener = mx_doctor_meter_listener(clinic->meter);
    struct mx_row heard = {0};
    assert_true(row < CLINIC_ROWS);
    snprintf(clinic->ids[row], sizeof clinic->ids[row], "r%u", row % 1000);
    clinic->utterances[row] = (struct mx_utterance){.id = clinic->ids[row], .speaker = speaker};
    clinic->symbols[row][0] = row;
    clinic->list[row] = (struct mx_check_row){.symbols = clinic->symbols[row], .symbol_count = 3};
    assert_int_equal(mx_audio_process(clinic->reader, "babble", babble->samples, babble->count, babble->rate, &options,
                                      &heard.samples, &heard.sample_count, &heard.audio),
                     0);
    heard.whole = mx_audio_whole(clinic->reader, &heard.whole_count);
    assert_int_equal(listener.hear(listener.context, 0, row, &heard), 0);
    babble_release(babble);
    return &mx_doctor_meter_sounds(clinic->meter)[row];
}
