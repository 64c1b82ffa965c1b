/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a recording sounds: noise, bandwidth, hum, reverberation, level, noise around the speech, silence inside, and a
 * fingerprint (doctor/twins.h). A meter listens to the rows of a check (corpus/check.h) while their samples are in memory,
 * on the threads of the check; it measures the recording as it is in the file, before silence is trimmed and the level is
 * set. Judging comes after the check, when all rows are known: what is usual for a speaker decides about level, bandwidth
 * and pauses.
 *
 * Accuracy, by `build/sound_rates MANIFEST`: each fault was added to 5 % of the rows, drawn by chance. Humans: 1,628
 * prompts of three speakers from the packages asterisk-core-sounds-{en,it,ru}-g722, as `make voices` converts them: 16 kHz
 * material, half of it shorter than 1.3 seconds and most of it without any pause. Synthetic: `myxtts corpus demo`, 1,000 rows
 * of flite (en, 3 voices) and 400 of espeak-ng (fa). Levels are relative to the speech.
 *
 *                                                  humans               flite              espeak-ng
 *     fault                  named              found   others      found   others      found   others
 *     white noise, -15 dB    noisy              100 %    0.7 %      100 %    0.0 %      100 %    0.0 %
 *     white noise, -10 dB    noisy              100 %    0.8 %      100 %    0.0 %      100 %    0.0 %
 *     low-pass, 3.7 kHz      narrow             100 %    0.1 %      100 %    0.0 %      100 %    0.0 %
 *     low-pass, 5.4 kHz      narrow             100 %    0.1 %      100 %    0.0 %      100 %    0.0 %
 *     0.1 % clipped          clipped             90 %    0.0 %      100 %    0.0 %      100 %    0.0 %
 *     offset of 1.5 or 2 %   offset             100 %    0.0 %      100 %    0.0 %      100 %    0.0 %
 *     hum, -30 dB            hum                 36 %    0.7 %       98 %    0.2 %      100 %    0.0 %
 *     hum, -40 dB            hum                 10 %    0.6 %       71 %    0.2 %      100 %    0.0 %
 *     room of 0.6 s          reverberant         89 %    1.5 %       90 %    0.1 %       89 %    0.3 %
 *     room of 0.9 s          reverberant         90 %    1.4 %       92 %    0.1 %      100 %    0.3 %
 *     level, -12 dB          level               99 %    0.1 %      100 %    0.0 %      100 %    0.0 %
 *     click before, 20 ms    noise-before        98 %    0.1 %      100 %    0.1 %      100 %    0.0 %
 *     breath before, 0.35 s  noise-before        92 %    0.1 %      100 %    0.1 %      100 %    0.0 %
 *     click after, 20 ms     noise-after         96 %    0.3 %      100 %    0.3 %      100 %    0.0 %
 *     rustle after, 0.5 s    noise-after         87 %    0.3 %      100 %    0.3 %      100 %    0.0 %
 *     pause of 1.5 s         silence-inside      96 %    0.0 %      100 %    0.0 %      100 %    0.0 %
 *     copy, filtered, noisy  same-sound          92 %    0.4 %       96 %    0.0 %       94 %    0.0 %
 *
 * "others" are untouched rows that are named; some of them deserve it (there are copies among the prompts). Hum needs a
 * pause of 0.2 s; without one, only a strong tone at 50 or 60 Hz itself is heard. The limits were chosen by looking at the
 * English and Italian prompts and the demo corpora, so other corpora may fare worse.
 *
 * It costs 11 seconds of one processor for 13.4 hours in 10,000 rows, in addition to 5.6 for the check itself (AMD EPYC with AVX2,
 * 22,050 Hz WAV, `build/sound_rates MANIFEST 0`).
 *
 * Numbers do not depend on the number of workers. A row that was not heard (the check refused it) has seconds 0.
 *
 * Memory: the meter owns the sounds; they are valid until it is destroyed.
 */
#ifndef MX_DOCTOR_SOUND_H
#define MX_DOCTOR_SOUND_H

#include <stdint.h>

#include "corpus/check.h"
#include "doctor/finding.h"

#define MX_DOCTOR_DB_MAX      99.0 /* stands for more than that: digital silence */
#define MX_DOCTOR_PRINT_TIMES 24   /* equal parts of the speech in a fingerprint */
#define MX_DOCTOR_PRINT_BANDS 8    /* bands of each part */
#define MX_DOCTOR_PRINT_SIZE  (MX_DOCTOR_PRINT_TIMES * MX_DOCTOR_PRINT_BANDS)

/* Times are seconds from the beginning of the file. */
struct mx_doctor_sound {
    double seconds;        /* of the whole recording; 0: not heard */
    int rate;              /* of the file, Hz: at most half of it can be heard */
    double above_noise_db; /* speech above the background; at most MX_DOCTOR_DB_MAX */
    double bandwidth_hz;   /* above this there is only noise */
    double edge_db;        /* how much the loudest sounds fall off within a few hundred Hz at that frequency: a
                                         filter cuts, a voice fades */
    int64_t clipped;       /* samples in runs at full scale */
    double offset;         /* mean of the samples, 1: full scale */
    double hum_hz;         /* 50 or 60, the stronger one; 0: there is no quiet part to look for it */
    double hum_db;         /* the strongest of its harmonics above the sound beside it, in quiet parts */
    double hum_level_db;   /* of all its harmonics together, re full scale */
    double decay_seconds;  /* reverberation: time to fall by 60 dB, an estimate; 0: no free decay to measure */
    double level_db;       /* RMS of the sounding windows, re full scale */
    double speech_begin, speech_end;  /* the first and the last clear vowel, with what may belong to their words */
    double noise_before, noise_after; /* seconds of sound before and after that */
    double silence, silence_at;       /* seconds of the longest silence inside the speech, and where it begins */
    double print_seconds;             /* of the sound that the fingerprint is of */
    int8_t print[MX_DOCTOR_PRINT_SIZE];
};

struct mx_doctor_meter;

int mx_doctor_meter_create(struct mx_doctor_meter **out);
void mx_doctor_meter_destroy(struct mx_doctor_meter *meter); /* NULL is fine */

/* Put it into the options of a check; the meter must outlive the check. For a caller with listeners of its own: begin and
 * hear may be called from one that does the same for others. */
struct mx_check_listener mx_doctor_meter_listener(struct mx_doctor_meter *meter);

/* [utterances of the manifest], after a check; NULL before. */
const struct mx_doctor_sound *mx_doctor_meter_sounds(const struct mx_doctor_meter *meter);

/* What is usual in the corpus: medians over the good rows (0 without any). */
struct mx_doctor_sound_summary {
    uint32_t rows;
    double above_noise_db, bandwidth_hz, level_db, decay_seconds, offset;
    double bandwidth_best_hz; /* a tenth of the rows reaches this */
    uint32_t decay_rows;      /* with a known decay */
};

int mx_doctor_sounds_summarise(const struct mx_check_report *report, const struct mx_doctor_sound *sounds,
                               struct mx_doctor_sound_summary *summary);

/* Names the good rows that sound worse than a voice should be trained on. */
int mx_doctor_sounds_judge(const struct mx_check_report *report, const struct mx_doctor_sound *sounds,
                           struct mx_doctor_findings *findings);

#endif
