/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/doctor/sound: the recording that one worker of a check listens to, and the measures.
 *
 * Windows are 5 ms long. Their levels are those of the differences between neighbouring samples, which hum, rumble and
 * offsets hardly reach: they distinguish sound from quiet. Sums run in eight lanes, so that the compiler may
 * use vectors without changing any result.
 *
 * Memory: a hearing owns its buffers, which only grow. One thread uses it at a time.
 */
#ifndef MX_DOCTOR_SOUND_INTERNAL_H
#define MX_DOCTOR_SOUND_INTERNAL_H

#include <stddef.h>

#include "doctor/sound/sound.h"
#include "features/extract.h"
#include "speech/runtime.h"

#define MX_HEARING_RATE    MX_AUDIO_RATE_DEFAULT /* of what it listens to, whatever a voice will be trained at */
#define MX_HEARING_WINDOW  110                   /* samples: 5 ms */
#define MX_HEARING_WINDOWS ((double)MX_HEARING_RATE / MX_HEARING_WINDOW) /* a second */
#define MX_HEARING_LOW     8      /* for hum and voice, every 8th sample of the low frequencies is enough */
#define MX_HEARING_LEAST   -120.0 /* dB: nothing at all */

struct mx_doctor_hearing {
    float *samples; /* [count]: as in the file, with the mean removed */
    size_t count, room;
    float *low; /* [low_count]: means of MX_HEARING_LOW samples */
    size_t low_count;
    double *powers, *means;   /* [windows]: of the samples */
    double *levels, *scratch; /* [windows]: dB of their differences, smoothed; for sorting */
    size_t windows;
    double quiet_db, floor_db,
        loud_db; /* levels that a fiftieth and a tenth of the windows are below, a twentieth above */
    size_t speech_begin, speech_end; /* windows */
    struct mx_runtime runtime;       /* opened with the extractor */
    struct mx_extract *extract;      /* for `extract_room` samples; NULL: none yet */
    size_t extract_room;
    float *mel; /* [frames, MX_HEARING_BANDS], natural logarithms */
    size_t frames;
};

/* ---- sound_time.c ---- */
/* Fills what follows from the samples; needs room for all of it. */
void mx_doctor_hearing_windows(struct mx_doctor_hearing *h);
void mx_doctor_hearing_decay(struct mx_doctor_hearing *h, struct mx_doctor_sound *sound);
void mx_doctor_hearing_speech(struct mx_doctor_hearing *h, struct mx_doctor_sound *sound); /* needs the decay */

/* ---- sound_hum.c ---- */
/* Waves of the frequencies that hum is looked for at; made once for all workers. */
struct mx_doctor_waves;
int mx_doctor_waves_create(struct mx_doctor_waves **out);
void mx_doctor_waves_destroy(struct mx_doctor_waves *waves); /* NULL is fine */
void mx_doctor_hearing_hum(struct mx_doctor_hearing *h, const struct mx_doctor_waves *waves,
                           struct mx_doctor_sound *sound);

/* ---- sound_spectrum.c ---- */
#define MX_HEARING_BANDS 96
/* `number` of the worker: which core it prefers. */
int mx_doctor_hearing_spectrum(struct mx_doctor_hearing *h, int number, struct mx_doctor_sound *sound);

#endif
