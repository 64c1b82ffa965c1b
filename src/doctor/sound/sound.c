/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The meter: one hearing for each worker of a check, and the sounds of all rows; see sound.h.
 */
#include "doctor/sound/sound.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "doctor/sound/sound_internal.h"
#include "myxtts/error.h"
#include "speech/reference_check.h"

#define NOTHING     1e-13 /* a power: -130 dB, less than rounding makes */
#define BELIEVED_DB 14.0

struct mx_doctor_meter {
    struct mx_doctor_sound *sounds; /* [count] */
    uint32_t count;
    struct mx_doctor_waves *waves;
    struct mx_doctor_hearing
        *hearings[MX_CHECK_WORKERS_MAX]; /* each made and used by its worker alone; NULL: not yet */
};

int mx_doctor_meter_create(struct mx_doctor_meter **out)
{
    int rc = 0;
    struct mx_doctor_meter *meter = mx_alloc(1, sizeof *meter);
    *out = NULL;
    if (meter == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_doctor_waves_create(&meter->waves));
    *out = meter;
    meter = NULL;
out:
    mx_doctor_meter_destroy(meter);
    return rc;
}

static void hearing_destroy(struct mx_doctor_hearing *h)
{
    if (h == NULL) return;
    if (h->runtime.stream != NULL) (void)mx_stream_sync(h->runtime.stream); /* the extractor must not be in use */
    mx_extract_destroy(h->extract);
    mx_runtime_close(&h->runtime);
    mx_free(h->samples);
    mx_free(h->low);
    mx_free(h->powers);
    mx_free(h->mel);
    mx_free(h);
}

void mx_doctor_meter_destroy(struct mx_doctor_meter *meter)
{
    if (meter == NULL) return;
    for (int i = 0; i < MX_CHECK_WORKERS_MAX; i++) hearing_destroy(meter->hearings[i]);
    mx_doctor_waves_destroy(meter->waves);
    mx_free(meter->sounds);
    mx_free(meter);
}

/* Room for recordings of `count` samples, and for all that is computed from them; what was there is lost. */
static int hearing_reserve(struct mx_doctor_hearing *h, size_t count)
{
    if (count <= h->room) return 0;
    const size_t room = count + count / 2, windows = room / MX_HEARING_WINDOW + 1;
    mx_free(h->samples);
    mx_free(h->low);
    mx_free(h->powers);
    h->room = 0;
    h->samples = mx_alloc(room, sizeof *h->samples);
    h->low = mx_alloc(room / MX_HEARING_LOW + 1, sizeof *h->low);
    h->powers = mx_alloc(4 * windows, sizeof *h->powers);
    if (h->samples == NULL || h->low == NULL || h->powers == NULL) return MX_ERR_NO_MEMORY;
    h->means = h->powers + windows;
    h->levels = h->means + windows;
    h->scratch = h->levels + windows;
    h->room = room;
    return 0;
}

/* The recording as it was before its level was set. */
static int hearing_load(struct mx_doctor_hearing *h, const struct mx_row *row)
{
    const size_t begin = (size_t)(row->samples - row->whole), end = begin + row->sample_count;
    const float back = (float)(1 / row->audio.gain);
    const int rc = hearing_reserve(h, row->whole_count);
    if (rc < 0) return rc;
    h->count = row->whole_count;
    memcpy(h->samples, row->whole, begin * sizeof *h->samples);
    for (size_t i = begin; i < end; i++) h->samples[i] = row->whole[i] * back;
    memcpy(h->samples + end, row->whole + end, (h->count - end) * sizeof *h->samples);
    return 0;
}

/* Windows of 20 ms, as references are judged by; but without their means, since what changes so slowly is not heard.
 * A recording that was filled up with digital silence is as noisy as before, so that does not count as its background. But
 * then there may be no other pause, and soft speech passes for noise: only what no clean speech comes down to is believed. */
static double above_noise(struct mx_doctor_hearing *h)
{
    size_t count = 0;
    for (size_t i = 0; i + 4 <= h->windows; i += 4) {
        const double *const p = &h->powers[i], *const m = &h->means[i];
        const double mean = (m[0] + m[1] + m[2] + m[3]) / 4, power = (p[0] + p[1] + p[2] + p[3]) / 4 - mean * mean;
        if (power > NOTHING) h->scratch[count++] = power;
    }
    const bool filled = count < h->windows / 4 * 19 / 20;
    const double above = mx_reference_powers_above_noise(h->scratch, count);
    return filled && above > BELIEVED_DB ? MX_DOCTOR_DB_MAX : fmin(above, MX_DOCTOR_DB_MAX);
}

static int meter_listen(void *context, int worker, uint32_t utterance, const struct mx_row *row)
{
    int rc = 0;
    struct mx_doctor_meter *const meter = context;
    struct mx_doctor_hearing **const place = &meter->hearings[worker];
    struct mx_doctor_sound sound = {.rate = row->audio.rate,
                                    .clipped = row->audio.clipped,
                                    .offset = row->audio.offset,
                                    .level_db = 20 * log10(row->audio.rms)};
    if (*place == NULL) *place = mx_alloc(1, sizeof **place);
    struct mx_doctor_hearing *const h = *place;
    if (h == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(hearing_load(h, row));
    sound.seconds = (double)h->count / MX_HEARING_RATE;
    mx_doctor_hearing_windows(h);
    sound.above_noise_db = above_noise(h);
    mx_doctor_hearing_decay(h, &sound);
    mx_doctor_hearing_speech(h, &sound);
    mx_doctor_hearing_hum(h, meter->waves, &sound);
    MX_TRY(mx_doctor_hearing_spectrum(h, worker, &sound));
    meter->sounds[utterance] = sound;
out:
    return rc;
}

static int meter_begin(void *context, uint32_t utterances)
{
    struct mx_doctor_meter *const meter = context;
    mx_free(meter->sounds);
    meter->sounds = mx_alloc(utterances, sizeof *meter->sounds);
    meter->count = utterances;
    return meter->sounds == NULL ? MX_ERR_NO_MEMORY : 0;
}

struct mx_check_listener mx_doctor_meter_listener(struct mx_doctor_meter *meter)
{
    return (struct mx_check_listener){.begin = meter_begin, .hear = meter_listen, .context = meter};
}

const struct mx_doctor_sound *mx_doctor_meter_sounds(const struct mx_doctor_meter *meter)
{
    return meter->sounds;
}
