/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * sound_rates MANIFEST [SHARE]: how often the doctor's meter (doctor/sound/sound.h, doctor/twins.h) is right, on real recordings.
 * Each fault is added, at a strength that happens, to a share of the good rows drawn by chance (0.05), and the corpus is
 * judged again: how many of those rows are named for it, and how many of the untouched ones. First come the quantiles of
 * the measures of the untouched rows, and what is named among them. With the environment variable SOUND_RATES_LIST, each of
 * those is listed; with SOUND_RATES_VALUES, the quantiles of spoiled rows are, too.
 *
 * sound_rates MANIFEST 0: only how long a check takes without and with the meter, and the judgement after it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/robust.h"
#include "doctor/sound/sound.h"
#include "doctor/twins.h"
#include "myxtts/error.h"

#define RATE     ((double)MX_AUDIO_RATE_DEFAULT)
#define TAPS     301
#define MORE_MAX (4 * MX_AUDIO_RATE_DEFAULT) /* samples that a fault may add */

struct recording {
    float *samples;
    size_t count;
};

struct bench {
    struct mx_check_report report;
    struct mx_doctor_meter *meter;
    struct mx_audio_reader *reader;
    struct mx_doctor_sound *clean, *sounds;     /* [utterances] */
    struct recording *recordings;               /* [utterances]; count 0: rejected */
    enum { UNTOUCHED, SPOILED, COPIED } * part; /* of each utterance; what is copied is found as a twin, too */
    float *work, *other;                        /* the recording that is being spoiled */
    size_t count;
};

static uint64_t drawn;

static double draw(double least, double most)
{
    return least + (most - least) * (double)mx_rng_uniform(5, 1, drawn++);
}

static double noise(void)
{
    return (double)mx_rng_normal(5, 2, drawn++);
}

/* ---- faults ---- */

static double speech_power(const struct bench *b)
{
    double sum = 0, loud = 0;
    size_t used = 0;
    for (size_t i = 0; i < b->count; i++) sum += (double)b->work[i] * (double)b->work[i];
    const double mean = sum / (double)b->count;
    for (size_t w = 0; w + 220 <= b->count; w += 220) {
        double power = 0;
        for (size_t i = w; i < w + 220; i++) power += (double)b->work[i] * (double)b->work[i] / 220;
        if (power < mean / 10) continue;
        loud += power;
        used++;
    }
    return loud / (double)(used > 0 ? used : 1);
}

static void spoil_noise(struct bench *b, double below_db)
{
    const double height = sqrt(speech_power(b)) * pow(10, -below_db / 20);
    for (size_t i = 0; i < b->count; i++) b->work[i] += (float)(height * noise());
}

/* A filter of TAPS coefficients. */
static void spoil_filter(struct bench *b, double hz)
{
    double taps[TAPS], sum = 0;
    for (int i = 0; i < TAPS; i++) {
        const double at = i - TAPS / 2, x = 2 * M_PI * hz / RATE * at;
        taps[i] = (at == 0 ? 1 : sin(x) / x) * (0.5 + 0.5 * cos(2 * M_PI * at / TAPS));
        sum += taps[i];
    }
    memcpy(b->other, b->work, b->count * sizeof *b->work);
    for (size_t i = 0; i < b->count; i++) {
        double out = 0;
        for (size_t k = 0; k < TAPS; k++) {
            const size_t at = i + TAPS / 2 - k;
            if (at < b->count) out += taps[k] / sum * (double)b->other[at];
        }
        b->work[i] = (float)(out + noise() / 32768 / 3.5); /* 16 bits */
    }
}

static void spoil_clip(struct bench *b, double share)
{
    double *const sorted = mx_alloc(b->count, sizeof *sorted);
    for (size_t i = 0; sorted != NULL && i < b->count; i++) sorted[i] = fabs((double)b->work[i]);
    if (sorted == NULL) return;
    mx_robust_sort(sorted, b->count);
    const double gain = 1 / sorted[b->count - 1 - (size_t)(share * (double)b->count)];
    mx_free(sorted);
    for (size_t i = 0; i < b->count; i++) b->work[i] = (float)fmin(fmax(gain * (double)b->work[i], -1), 1);
}

static void spoil_offset(struct bench *b, double offset)
{
    for (size_t i = 0; i < b->count; i++) b->work[i] += (float)offset;
}

static void spoil_hum(struct bench *b, double below_db)
{
    const double height = sqrt(2 * speech_power(b)) * pow(10, -below_db / 20), hz = draw(49.9, 50.1),
                 phase = draw(0, 6);
    for (size_t i = 0; i < b->count; i++) {
        const double angle = 2 * M_PI * hz * (double)i / RATE;
        b->work[i] += (float)(height * (0.7 * sin(angle + phase) + 0.5 * sin(2 * angle) + 0.4 * sin(3 * angle + 1)));
    }
}

static void spoil_level(struct bench *b, double db)
{
    for (size_t i = 0; i < b->count; i++) b->work[i] *= (float)pow(10, db / 20);
}

/* A room: noise that dies away after the direct sound, with the same total power. */
static void spoil_room(struct bench *b, double seconds)
{
    const size_t length = (size_t)(seconds * RATE * 0.8);
    float *const room = mx_alloc(length, sizeof *room);
    double energy = 0;
    if (room == NULL) return;
    for (size_t i = 0; i < length; i++) {
        room[i] = (float)(noise() * pow(10, -3 * (double)i / RATE / seconds));
        energy += (double)room[i] * (double)room[i];
    }
    for (size_t i = 0; i < length; i++) room[i] *= (float)(1 / sqrt(energy));
    spoil_level(b, -6); /* so that nothing is clipped */
    const size_t all = b->count + length;
    memset(b->other, 0, all * sizeof *b->other);
    memcpy(b->other, b->work, b->count * sizeof *b->work);
    for (size_t i = 0; i < b->count; i++) {
        const float x = b->work[i];
        float *const to = b->other + i + (size_t)(0.002 * RATE);
        for (size_t k = 0; k + (size_t)(0.002 * RATE) < length; k++) to[k] += x * room[k];
    }
    memcpy(b->work, b->other, all * sizeof *b->work);
    b->count = all;
    mx_free(room);
}

/* The RMS of the quietest 20 ms, without their mean. */
static double background(const struct bench *b)
{
    double least = 1;
    for (size_t w = 0; w + 441 <= b->count; w += 441) {
        double power = 0, mean = 0;
        for (size_t i = w; i < w + 441; i++) {
            power += (double)b->work[i] * (double)b->work[i] / 441;
            mean += (double)b->work[i] / 441;
        }
        least = fmin(least, fmax(power - mean * mean, 0));
    }
    return sqrt(least);
}

/* More of the background at one end, `seconds`, with something in it: `length` seconds, so far below the speech. */
static void spoil_end(struct bench *b, bool before, double seconds, double length, double below_db)
{
    const double height = sqrt(speech_power(b)) * pow(10, -below_db / 20), at = draw(0.05, seconds - length - 0.3);
    const size_t more = (size_t)(seconds * RATE), from = (size_t)(at * RATE), size = (size_t)(length * RATE);
    const double quiet = background(b);
    for (size_t i = 0; i < more; i++) {
        const double in = i >= from && i < from + size ? sin(M_PI * (double)(i - from) / (double)size) : 0;
        b->other[before ? i : more - 1 - i] = (float)(quiet * noise() + height * in * noise());
    }
    memmove(b->work + (before ? more : 0), b->work, b->count * sizeof *b->work);
    memcpy(b->work + (before ? 0 : b->count), b->other, more * sizeof *b->work);
    b->count += more;
}

/* A pause at the quietest place of the middle. */
static void spoil_pause(struct bench *b, double seconds)
{
    const size_t more = (size_t)(seconds * RATE), size = 1102;
    size_t place = b->count / 2;
    double least = INFINITY;
    for (size_t w = b->count / 3; w + size <= b->count * 2 / 3; w += size / 4) {
        double power = 0;
        for (size_t i = w; i < w + size; i++) power += (double)b->work[i] * (double)b->work[i];
        if (power >= least) continue;
        least = power;
        place = w;
    }
    const double quiet = background(b);
    memmove(b->work + place + more, b->work + place, (b->count - place) * sizeof *b->work);
    for (size_t i = 0; i < more; i++) b->work[place + i] = (float)(quiet * noise());
    b->count += more;
}

static void spoil_noise15(struct bench *b)
{
    spoil_noise(b, 15);
}
static void spoil_noise10(struct bench *b)
{
    spoil_noise(b, 10);
}
static void spoil_narrow4(struct bench *b)
{
    spoil_filter(b, 3700);
}
static void spoil_narrow55(struct bench *b)
{
    spoil_filter(b, 5400);
}
static void spoil_clipped(struct bench *b)
{
    spoil_clip(b, 0.001);
}
static void spoil_offset2(struct bench *b)
{
    spoil_offset(b, draw(0, 1) < 0.5 ? 0.02 : -0.015);
}
static void spoil_hum30(struct bench *b)
{
    spoil_hum(b, 30);
}
static void spoil_hum40(struct bench *b)
{
    spoil_hum(b, 40);
}
static void spoil_room6(struct bench *b)
{
    spoil_room(b, 0.6);
}
static void spoil_room9(struct bench *b)
{
    spoil_room(b, 0.9);
}
static void spoil_quiet(struct bench *b)
{
    spoil_level(b, -12);
}
static void spoil_click_before(struct bench *b)
{
    spoil_end(b, true, 0.8, 0.02, 12);
}
static void spoil_breath_before(struct bench *b)
{
    spoil_end(b, true, 1.0, 0.35, 25);
}
static void spoil_click_after(struct bench *b)
{
    spoil_end(b, false, 0.8, 0.02, 12);
}
static void spoil_rustle_after(struct bench *b)
{
    spoil_end(b, false, 1.2, 0.5, 25);
}
static void spoil_pause15(struct bench *b)
{
    spoil_pause(b, 1.5);
}

/* The recording of another row, louder, with a few filters, less silence and a little noise. */
static void spoil_copy(struct bench *b)
{
    const size_t less = (size_t)(draw(0, 0.03) * RATE);
    memmove(b->work, b->work + less, (b->count - less) * sizeof *b->work);
    b->count -= less;
    spoil_filter(b, 6500);
    spoil_level(b, draw(-6, 3));
    spoil_noise(b, 40);
}

/* ---- measuring ---- */

static int measure(struct bench *b, uint32_t row)
{
    int rc = 0;
    struct mx_row heard = {0};
    struct mx_audio_options options = MX_AUDIO_OPTIONS_DEFAULT;
    const struct mx_check_listener listener = mx_doctor_meter_listener(b->meter);
    options.clipped_share = 1; /* chance decides how many come three in a row */
    options.seconds_max = 600;
    MX_TRY(mx_audio_process(b->reader, "row", b->work, b->count, MX_AUDIO_RATE_DEFAULT, &options, &heard.samples,
                            &heard.sample_count, &heard.audio));
    heard.whole = mx_audio_whole(b->reader, &heard.whole_count);
    MX_TRY(listener.hear(listener.context, 0, row, &heard));
    b->sounds[row] = mx_doctor_meter_sounds(b->meter)[row];
out:
    return rc;
}

static void work_take(struct bench *b, uint32_t row)
{
    b->count = b->recordings[row].count;
    memcpy(b->work, b->recordings[row].samples, b->count * sizeof *b->work);
}

static void value_tell(const struct bench *b, const char *what, size_t offset, double factor)
{
    uint32_t count = 0;
    double *const values = mx_alloc(b->report.manifest->utterance_count, sizeof *values);
    for (uint32_t i = 0; values != NULL && i < b->report.manifest->utterance_count; i++)
        if (b->recordings[i].count > 0 && b->sounds[i].seconds > 0 && b->part[i] == SPOILED)
            memcpy(&values[count++], (const char *)&b->sounds[i] + offset, sizeof *values);
    if (count > 0) {
        mx_robust_sort(values, count);
        printf("    %-14s", what);
        for (int i = 0; i <= 8; i++) {
            static const double shares[] = {0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1};
            printf(" %8.2f", factor * values[(size_t)(shares[i] * (count - 1))]);
        }
        printf("\n");
    }
    mx_free(values);
}

#define TELL(field, factor) value_tell(b, #field, offsetof(struct mx_doctor_sound, field), factor)
static void values_tell(const struct bench *b)
{
    TELL(above_noise_db, 1);
    TELL(bandwidth_hz, 1);
    TELL(edge_db, 1);
    TELL(offset, 100);
    TELL(hum_db, 1);
    TELL(hum_level_db, 1);
    TELL(decay_seconds, 1);
    TELL(level_db, 1);
    TELL(noise_before, 1);
    TELL(noise_after, 1);
    TELL(silence, 1);
}

static int judge(struct bench *b, uint32_t counts[2][MX_DOCTOR_FINDING_COUNT], bool list)
{
    int rc = 0;
    struct mx_doctor_findings findings = {0};
    memset(counts, 0, 2 * sizeof counts[0]);
    MX_TRY(mx_doctor_sounds_judge(&b->report, b->sounds, &findings));
    MX_TRY(mx_doctor_twins_judge(&b->report, b->sounds, &findings));
    for (size_t i = 0; i < findings.count; i++) {
        struct mx_string text = {0};
        const struct mx_doctor_finding *const f = &findings.items[i];
        if (b->part[f->row] != COPIED) counts[b->part[f->row]][f->kind]++;
        if (list) MX_TRY(mx_doctor_finding_format(&text, MX_WORDS_ENGLISH, f));
        if (list) printf("  %s: %s\n", b->report.manifest->utterances[f->row].id, text.data);
        mx_string_release(&text);
    }
out:
    mx_doctor_findings_release(&findings);
    return rc;
}

/* An untouched row, to be put in the place of row i. */
static uint32_t copied_row(struct bench *b, uint32_t i)
{
    uint32_t from;
    do from = (uint32_t)draw(0, b->report.manifest->utterance_count - 1);
    while (from == i || b->recordings[from].count == 0 || b->part[from] == SPOILED);
    b->part[from] = COPIED;
    return from;
}

static int fault_measure(struct bench *b, const char *what, void (*spoil)(struct bench *),
                         enum mx_doctor_finding_kind kind, double share)
{
    int rc = 0;
    uint32_t counts[2][MX_DOCTOR_FINDING_COUNT], rows[2] = {0};
    const uint32_t all = b->report.manifest->utterance_count;
    memcpy(b->sounds, b->clean, all * sizeof *b->sounds);
    for (uint32_t i = 0; i < all; i++)
        b->part[i] = b->recordings[i].count > 0 && draw(0, 1) < share ? SPOILED : UNTOUCHED;
    for (uint32_t i = 0; i < all; i++) {
        if (b->recordings[i].count > 0 && b->part[i] != COPIED) rows[b->part[i]]++;
        if (b->part[i] != SPOILED) continue;
        uint32_t from = i;
        if (spoil == spoil_copy) from = copied_row(b, i);
        work_take(b, from);
        spoil(b);
        MX_TRY(measure(b, i));
    }
    MX_TRY(judge(b, counts, false));
    printf("%-16s %-15s found %4u of %4u, %5.1f %%   false %4u of %5u, %4.1f %%   also:", what,
           mx_doctor_finding_name(kind), counts[1][kind], rows[1], 100.0 * counts[1][kind] / rows[1], counts[0][kind],
           rows[0], 100.0 * counts[0][kind] / rows[0]);
    for (int k = 0; k < MX_DOCTOR_FINDING_COUNT; k++)
        if (k != (int)kind && counts[1][k] * 20 > rows[1])
            printf(" %s %u", mx_doctor_finding_name((enum mx_doctor_finding_kind)k), counts[1][k]);
    printf("\n");
    if (getenv("SOUND_RATES_VALUES") != NULL) values_tell(b);
out:
    return rc;
}

/* ---- the corpus ---- */

static int recording_keep(void *context, int worker, uint32_t utterance, const struct mx_row *row)
{
    struct bench *const b = context;
    struct recording *const r = &b->recordings[utterance];
    (void)worker;
    r->samples = mx_alloc(row->whole_count, sizeof *r->samples);
    if (r->samples == NULL) return MX_ERR_NO_MEMORY;
    r->count = row->whole_count;
    const size_t begin = (size_t)(row->samples - row->whole);
    for (size_t i = 0; i < r->count; i++)
        r->samples[i] = i - begin < row->sample_count ? row->whole[i] / (float)row->audio.gain : row->whole[i];
    return 0;
}

static int recordings_begin(void *context, uint32_t utterances)
{
    struct bench *const b = context;
    b->recordings = mx_alloc(utterances, sizeof *b->recordings);
    return b->recordings == NULL ? MX_ERR_NO_MEMORY : 0;
}

static int bench_open(struct bench *b, const char *path)
{
    int rc = 0;
    size_t longest = 0;
    uint32_t counts[2][MX_DOCTOR_FINDING_COUNT];
    struct mx_check_options options = MX_CHECK_OPTIONS_DEFAULT;
    options.listener = (struct mx_check_listener){recordings_begin, recording_keep, b};
    MX_TRY(mx_check_run(path, &options, &b->report));
    MX_TRY(mx_doctor_meter_create(&b->meter));
    MX_TRY(mx_audio_reader_create(&b->reader));
    const uint32_t all = b->report.manifest->utterance_count;
    for (uint32_t i = 0; i < all; i++) {
        if (b->report.list[i].reject != MX_REJECT_NONE)
            b->recordings[i].count = 0; /* by the rate, after it was heard */
        if (b->recordings[i].count > longest) longest = b->recordings[i].count;
    }
    b->work = mx_alloc(longest + MORE_MAX, sizeof *b->work);
    b->other = mx_alloc(longest + MORE_MAX, sizeof *b->other);
    b->sounds = mx_alloc(all, sizeof *b->sounds);
    b->clean = mx_alloc(all, sizeof *b->clean);
    b->part = mx_alloc(all, sizeof *b->part);
    if (b->work == NULL || b->other == NULL || b->sounds == NULL || b->clean == NULL || b->part == NULL)
        MX_TRY(MX_ERR_NO_MEMORY);
    const struct mx_check_listener listener = mx_doctor_meter_listener(b->meter);
    MX_TRY(listener.begin(listener.context, all));
    for (uint32_t i = 0; i < all; i++) {
        if (b->recordings[i].count == 0) continue;
        b->part[i] = SPOILED;
        work_take(b, i);
        MX_TRY(measure(b, i));
    }
    memcpy(b->clean, b->sounds, all * sizeof *b->clean);
    printf("%u good rows of %u speakers; untouched: least, 1 %%, 5 %%, 25 %%, 50 %%, 75 %%, 95 %%, 99 %%, most\n",
           b->report.good, b->report.speaker_count);
    values_tell(b);
    MX_TRY(judge(b, counts, getenv("SOUND_RATES_LIST") != NULL));
    printf("named untouched:");
    for (int k = 0; k < MX_DOCTOR_FINDING_COUNT; k++)
        if (counts[1][k] > 0) printf(" %s %u", mx_doctor_finding_name((enum mx_doctor_finding_kind)k), counts[1][k]);
    printf("\n");
out:
    return rc;
}

static void bench_close(struct bench *b)
{
    for (uint32_t i = 0; b->recordings != NULL && b->report.manifest != NULL && i < b->report.manifest->utterance_count;
         i++)
        mx_free(b->recordings[i].samples);
    mx_free(b->recordings);
    mx_free(b->work);
    mx_free(b->other);
    mx_free(b->sounds);
    mx_free(b->clean);
    mx_free(b->part);
    mx_doctor_meter_destroy(b->meter);
    mx_audio_reader_destroy(b->reader);
    mx_check_release(&b->report);
}

/* ---- time ---- */

static void time_tell(const char *what, const struct timespec since[2])
{
    struct timespec now[2];
    clock_gettime(CLOCK_MONOTONIC, &now[0]);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now[1]);
    printf("%-12s", what);
    for (int i = 0; i < 2; i++)
        printf(" %7.2f s%s",
               (double)(now[i].tv_sec - since[i].tv_sec) + 1e-9 * (double)(now[i].tv_nsec - since[i].tv_nsec),
               i == 0 ? "," : " of processors\n");
}

static void time_begin(struct timespec since[2])
{
    clock_gettime(CLOCK_MONOTONIC, &since[0]);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &since[1]);
}

static int time_measure(struct bench *b, const char *path)
{
    int rc = 0;
    struct timespec since[2];
    struct mx_doctor_findings findings = {0};
    struct mx_check_options options = MX_CHECK_OPTIONS_DEFAULT;
    time_begin(since);
    MX_TRY(mx_check_run(path, &options, &b->report));
    time_tell("check", since);
    mx_check_release(&b->report);
    MX_TRY(mx_doctor_meter_create(&b->meter));
    options.listener = mx_doctor_meter_listener(b->meter);
    time_begin(since);
    MX_TRY(mx_check_run(path, &options, &b->report));
    time_tell("with the meter", since);
    time_begin(since);
    MX_TRY(mx_doctor_sounds_judge(&b->report, mx_doctor_meter_sounds(b->meter), &findings));
    time_tell("judging", since);
    time_begin(since);
    MX_TRY(mx_doctor_twins_judge(&b->report, mx_doctor_meter_sounds(b->meter), &findings));
    time_tell("twins", since);
    printf("%u rows, %.1f h, %zu findings\n", b->report.rows, b->report.seconds / 3600, findings.count);
out:
    mx_doctor_findings_release(&findings);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        void (*spoil)(struct bench *);
        enum mx_doctor_finding_kind kind;
    } faults[] = {
        {"noise -15 dB", spoil_noise15, MX_DOCTOR_FINDING_NOISY},
        {"noise -10 dB", spoil_noise10, MX_DOCTOR_FINDING_NOISY},
        {"below 3.7 kHz", spoil_narrow4, MX_DOCTOR_FINDING_NARROW},
        {"below 5.4 kHz", spoil_narrow55, MX_DOCTOR_FINDING_NARROW},
        {"clipped 0.1 %", spoil_clipped, MX_DOCTOR_FINDING_CLIPPED},
        {"offset 2 %", spoil_offset2, MX_DOCTOR_FINDING_OFFSET},
        {"hum -30 dB", spoil_hum30, MX_DOCTOR_FINDING_HUM},
        {"hum -40 dB", spoil_hum40, MX_DOCTOR_FINDING_HUM},
        {"room 0.6 s", spoil_room6, MX_DOCTOR_FINDING_REVERBERANT},
        {"room 0.9 s", spoil_room9, MX_DOCTOR_FINDING_REVERBERANT},
        {"level -12 dB", spoil_quiet, MX_DOCTOR_FINDING_LEVEL},
        {"click before", spoil_click_before, MX_DOCTOR_FINDING_NOISE_BEFORE},
        {"breath before", spoil_breath_before, MX_DOCTOR_FINDING_NOISE_BEFORE},
        {"click after", spoil_click_after, MX_DOCTOR_FINDING_NOISE_AFTER},
        {"rustle after", spoil_rustle_after, MX_DOCTOR_FINDING_NOISE_AFTER},
        {"pause 1.5 s", spoil_pause15, MX_DOCTOR_FINDING_SILENCE_INSIDE},
        {"copy", spoil_copy, MX_DOCTOR_FINDING_SAME_SOUND},
    };
    static struct bench bench;
    int rc = 0;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: sound_rates MANIFEST [SHARE]\n");
        return 1;
    }
    const double share = argc > 2 ? atof(argv[2]) : 0.05;
    if (share <= 0) {
        MX_TRY(time_measure(&bench, argv[1]));
        goto out;
    }
    MX_TRY(bench_open(&bench, argv[1]));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        MX_TRY(fault_measure(&bench, faults[i].what, faults[i].spoil, faults[i].kind, share));
out:
    if (rc < 0) fprintf(stderr, "sound_rates: %s\n", mx_error_last()->message);
    bench_close(&bench);
    return rc < 0 ? 2 : 0;
}
