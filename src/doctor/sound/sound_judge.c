/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which sounds are named as suspect, and what is usual in a corpus; see sound.h.
 *
 * Limits that any recording should keep are fixed numbers below. Level, bandwidth and pauses are compared with the other
 * rows of the speaker; a speaker of few rows is compared with the whole corpus.
 */
#include <math.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/robust.h"
#include "doctor/by_speaker.h"
#include "doctor/sound/sound.h"
#include "myxtts/error.h"
#include "speech/reference_check.h"

#define ROWS_LEAST     10   /* of a speaker, to know what is usual */
#define CLIPPED_LEAST  3    /* samples */
#define OFFSET_PERCENT 1.0  /* of full scale */
#define HUM_DB         12.0 /* above the neighbouring frequencies */
#define HUM_BELOW_DB   46.0 /* below the speech, at most: further down it is inaudible */
#define DECAY_SECONDS  0.45
#define LEVEL_DB       6.0 /* from the usual level, at least */
#define LEVEL_TIMES    4.0 /* deviations from it, at least */
#define NOISE_SECONDS  0.02
#define SILENCE_LEAST  1.0  /* seconds more than usual, at least */
#define SILENCE_TIMES  6.0  /* deviations more than usual, at least */
#define NARROW_SHARE   0.75 /* of the usual bandwidth, if a filter cuts there */
#define NARROW_EDGE_DB 18.0 /* fall-off that shows a filter; a voice may fade without one */
#define NARROW_FADE    0.45 /* of the usual bandwidth: the lowest to which a voice may fade */

/* Typical values of a speaker, or of a corpus. */
struct usual {
    struct mx_robust level, bandwidth, silence;
};

static double level_of(const struct mx_doctor_sound *sound)
{
    return sound->level_db;
}

static double bandwidth_of(const struct mx_doctor_sound *sound)
{
    return sound->bandwidth_hz;
}

static double silence_of(const struct mx_doctor_sound *sound)
{
    return sound->silence;
}

static double noise_of(const struct mx_doctor_sound *sound)
{
    return sound->above_noise_db;
}

static double offset_of(const struct mx_doctor_sound *sound)
{
    return fabs(sound->offset);
}

static double decay_of(const struct mx_doctor_sound *sound)
{
    return sound->decay_seconds;
}

/* The rows that were measured. */
struct heard {
    const struct mx_check_report *report;
    const struct mx_doctor_sound *sounds;
    struct mx_doctor_by_speaker by;
    double *values; /* room for one value of each row */
};

static bool is_heard(const void *context, uint32_t row)
{
    const struct heard *const heard = context;
    return heard->report->list[row].reject == MX_REJECT_NONE && heard->sounds[row].seconds > 0;
}

static void heard_release(struct heard *heard)
{
    mx_doctor_by_speaker_release(&heard->by);
    mx_free(heard->values);
}

static int heard_init(struct heard *heard)
{
    heard->values = mx_alloc(heard->report->manifest->utterance_count, sizeof *heard->values);
    if (heard->values == NULL) return MX_ERR_NO_MEMORY;
    return mx_doctor_by_speaker_build(heard->report->manifest, is_heard, heard, &heard->by);
}

/* The values of rows[begin … end), positive ones only if `positive`, into heard->values; returns how many. */
static uint32_t values_collect(const struct heard *heard, uint32_t begin, uint32_t end,
                               double (*value)(const struct mx_doctor_sound *), bool positive)
{
    uint32_t count = 0;
    for (uint32_t i = begin; i < end; i++) {
        heard->values[count] = value(&heard->sounds[heard->by.rows[i]]);
        if (!positive || heard->values[count] > 0) count++;
    }
    return count;
}

static struct usual usual_compute(const struct heard *heard, uint32_t begin, uint32_t end)
{
    struct usual usual;
    usual.level = mx_robust_of(heard->values, values_collect(heard, begin, end, level_of, false));
    usual.bandwidth = mx_robust_of(heard->values, values_collect(heard, begin, end, bandwidth_of, false));
    usual.silence = mx_robust_of(heard->values, values_collect(heard, begin, end, silence_of, false));
    return usual;
}

/* ---- judging ---- */

/* Where findings go, and of which row they are. */
struct judge {
    struct mx_doctor_findings *findings;
    uint32_t row;
};

static int name(const struct judge *judge, enum mx_doctor_finding_kind kind, double badness, double value, double limit,
                const char *text)
{
    return mx_doctor_findings_add(judge->findings, &(struct mx_doctor_finding){.row = judge->row,
                                                                               .kind = kind,
                                                                               .badness = fmax(badness, 1),
                                                                               .value = value,
                                                                               .limit = limit,
                                                                               .text = text});
}

/* What any recording should keep. */
static int judge_alone(const struct judge *judge, const struct mx_doctor_sound *s)
{
    int rc = 0;
    const double offset = 100 * fabs(s->offset), noisy = MX_REFERENCE_NOISY_DB;
    if (s->above_noise_db < noisy)
        MX_TRY(name(judge, MX_DOCTOR_FINDING_NOISY, 1 + (noisy - s->above_noise_db) / 5, s->above_noise_db, noisy, ""));
    if (s->clipped >= CLIPPED_LEAST)
        MX_TRY(name(judge, MX_DOCTOR_FINDING_CLIPPED, 1 + log10((double)s->clipped / CLIPPED_LEAST), (double)s->clipped,
                    CLIPPED_LEAST, ""));
    if (offset > OFFSET_PERCENT)
        MX_TRY(name(judge, MX_DOCTOR_FINDING_OFFSET, offset / OFFSET_PERCENT, offset, OFFSET_PERCENT, ""));
    if (s->hum_db > HUM_DB && s->hum_level_db > s->level_db - HUM_BELOW_DB)
        MX_TRY(name(judge, MX_DOCTOR_FINDING_HUM, 1 + (s->hum_level_db - s->level_db + HUM_BELOW_DB) / 10, s->hum_db,
                    HUM_DB, s->hum_hz < 55 ? "50" : "60"));
    if (s->decay_seconds > DECAY_SECONDS)
        MX_TRY(name(judge, MX_DOCTOR_FINDING_REVERBERANT, s->decay_seconds / DECAY_SECONDS, s->decay_seconds,
                    DECAY_SECONDS, ""));
    if (s->noise_before > NOISE_SECONDS)
        MX_TRY(name(judge, MX_DOCTOR_FINDING_NOISE_BEFORE, 1 + s->noise_before, s->noise_before, NOISE_SECONDS, ""));
    if (s->noise_after > NOISE_SECONDS)
        MX_TRY(name(judge, MX_DOCTOR_FINDING_NOISE_AFTER, 1 + s->noise_after, s->noise_after, NOISE_SECONDS, ""));
out:
    return rc;
}

/* What differs from the other rows. */
static int judge_beside(const struct judge *judge, const struct mx_doctor_sound *s, const struct usual *usual,
                        double corpus_hz)
{
    int rc = 0;
    const double away = fabs(s->level_db - usual->level.middle);
    const double level = fmax(LEVEL_DB, LEVEL_TIMES * usual->level.deviation);
    const double silence = fmax(SILENCE_LEAST, usual->silence.middle + SILENCE_TIMES * usual->silence.deviation);
    const double others = fmax(usual->bandwidth.middle, corpus_hz);
    const bool clear = s->above_noise_db > 1.5 * MX_REFERENCE_NOISY_DB; /* noise hides what fades */
    const double share = s->edge_db >= NARROW_EDGE_DB ? NARROW_SHARE : clear ? NARROW_FADE : 0;
    if (away > level) MX_TRY(name(judge, MX_DOCTOR_FINDING_LEVEL, away / level, away, level, ""));
    if (s->silence > silence)
        MX_TRY(name(judge, MX_DOCTOR_FINDING_SILENCE_INSIDE, s->silence / silence, s->silence, silence, ""));
    if (s->bandwidth_hz < share * others)
        MX_TRY(name(judge, MX_DOCTOR_FINDING_NARROW, share * others / s->bandwidth_hz, s->bandwidth_hz, others, ""));
out:
    return rc;
}

int mx_doctor_sounds_judge(const struct mx_check_report *report, const struct mx_doctor_sound *sounds,
                           struct mx_doctor_findings *findings)
{
    int rc = 0;
    struct heard heard = {.report = report, .sounds = sounds};
    MX_TRY(heard_init(&heard));
    const struct usual corpus = usual_compute(&heard, 0, heard.by.count);
    for (uint32_t s = 0; s < report->speaker_count; s++) {
        const uint32_t begin = heard.by.first[s], end = heard.by.first[s + 1];
        const struct usual usual = end - begin < ROWS_LEAST ? corpus : usual_compute(&heard, begin, end);
        for (uint32_t i = begin; i < end; i++) {
            const struct judge judge = {findings, heard.by.rows[i]};
            MX_TRY(judge_alone(&judge, &sounds[heard.by.rows[i]]));
            MX_TRY(judge_beside(&judge, &sounds[heard.by.rows[i]], &usual, corpus.bandwidth.middle));
        }
    }
out:
    heard_release(&heard);
    return rc;
}

/* ---- the corpus ---- */

int mx_doctor_sounds_summarise(const struct mx_check_report *report, const struct mx_doctor_sound *sounds,
                               struct mx_doctor_sound_summary *summary)
{
    int rc = 0;
    struct heard heard = {.report = report, .sounds = sounds};
    *summary = (struct mx_doctor_sound_summary){0};
    MX_TRY(heard_init(&heard));
    summary->rows = heard.by.count;
    struct {
        double (*value)(const struct mx_doctor_sound *);
        double *to;
    } const medians[] = {{noise_of, &summary->above_noise_db},
                         {level_of, &summary->level_db},
                         {offset_of, &summary->offset},
                         {bandwidth_of, &summary->bandwidth_hz},
                         {decay_of, &summary->decay_seconds}};
    for (size_t i = 0; i < sizeof medians / sizeof *medians; i++) {
        const bool known = medians[i].value == decay_of;
        const uint32_t count = values_collect(&heard, 0, heard.by.count, medians[i].value, known);
        mx_robust_sort(heard.values, count);
        *medians[i].to = mx_robust_median(heard.values, count);
        if (known) summary->decay_rows = count;
        if (medians[i].value == bandwidth_of && count > 0)
            summary->bandwidth_best_hz = heard.values[count - 1 - count / 10];
    }
out:
    heard_release(&heard);
    return rc;
}
