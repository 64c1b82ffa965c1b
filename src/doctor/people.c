/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speakers by their embeddings and pitches, see people.h.
 */
#include "doctor/people.h"

#include <math.h>

#include "base/alloc.h"
#include "base/robust.h"
#include "doctor/by_speaker.h"
#include "myxtts/error.h"

#define ROWS_LEAST    8   /* of a speaker whose voice is known */
#define SECONDS_LEAST 0.5 /* of a row that is judged */
#define AWAY_SPEAKER  3.0 /* times the median distance from its speaker */
#define NEARER        0.6 /* times its own distance, at most, to another speaker: it is by that one */
#define AWAY_VOICE    5.0 /* times the median distance: it is by an unknown speaker */

/* ---- pitch ---- */

/* The pitch below which a share of the voiced frames is. */
static double pitch_of(const uint32_t *bins, uint64_t all, double share)
{
    uint64_t sum = 0;
    for (int i = 0; i < MX_DOCTOR_PITCH_BINS; i++) {
        sum += bins[i];
        if ((double)sum >= share * (double)all && sum > 0)
            return MX_DOCTOR_PITCH_LEAST * pow(MX_DOCTOR_PITCH_STEP, i + 0.5);
    }
    return 0;
}

int mx_doctor_people_compute(const struct mx_check_report *report, const struct mx_doctor_scores *scores,
                             struct mx_doctor_people *out)
{
    *out = (struct mx_doctor_people){.count = report->speaker_count};
    out->list = mx_alloc(report->speaker_count, sizeof *out->list);
    if (out->list == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t s = 0; s < out->count; s++) {
        struct mx_doctor_person *const person = &out->list[s];
        const uint32_t *const bins = scores->pitch[s];
        person->name = report->speakers[s].name;
        for (int i = 0; i < MX_DOCTOR_PITCH_BINS; i++) person->voiced += bins[i];
        person->pitch_low = pitch_of(bins, person->voiced, 0.05);
        person->pitch_middle = pitch_of(bins, person->voiced, 0.5);
        person->pitch_high = pitch_of(bins, person->voiced, 0.95);
    }
    return 0;
}

void mx_doctor_people_release(struct mx_doctor_people *people)
{
    mx_free(people->list);
    *people = (struct mx_doctor_people){0};
}

/* ---- embeddings ---- */

/* The cloud of the vectors of a speaker. */
struct cloud {
    double *sum; /* [width] */
    uint32_t rows;
    double usual; /* the median distance of its rows from the mean of the others */
};

struct clouds {
    const struct mx_check_report *report;
    const struct mx_doctor_scores *scores;
    struct cloud *list; /* one for each speaker */
    double *sums;       /* that they point into */
    double *distances;  /* [utterances]: each from the mean of the other rows of its speaker; negative: unknown */
};

static const float *vector_of(const struct clouds *c, uint32_t row)
{
    return c->scores->vectors + (size_t)row * (size_t)c->scores->width;
}

static struct cloud *cloud_of(const struct clouds *c, uint32_t row)
{
    return &c->list[c->report->manifest->utterances[row].speaker];
}

/* Rows without a sound have the vector 0. */
static bool is_heard(const struct clouds *c, uint32_t row)
{
    const float *const v = vector_of(c, row);
    if (c->report->list[row].reject != MX_REJECT_NONE || c->report->list[row].seconds_used < SECONDS_LEAST)
        return false;
    for (int32_t k = 0; k < c->scores->width; k++)
        if (v[k] < 0 || v[k] > 0) return true;
    return false;
}

/* From the mean of a cloud, without the row itself if it is its own. */
static double distance_of(const struct clouds *c, uint32_t row, const struct cloud *cloud)
{
    const float *const v = vector_of(c, row);
    const bool own = cloud == cloud_of(c, row);
    double sum = 0;
    for (int32_t k = 0; k < c->scores->width; k++) {
        const double mean = (cloud->sum[k] - (own ? (double)v[k] : 0)) / (cloud->rows - own);
        sum += ((double)v[k] - mean) * ((double)v[k] - mean);
    }
    return sqrt(sum);
}

static bool is_measured(const void *context, uint32_t row)
{
    const struct clouds *const c = context;
    return c->distances[row] >= 0;
}

/* Half of the rows of each speaker are nearer than this. */
static int clouds_usual(struct clouds *c)
{
    int rc = 0;
    struct mx_doctor_by_speaker by = {0};
    double *const sorted = mx_alloc(c->scores->count, sizeof *sorted);
    if (sorted == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_doctor_by_speaker_build(c->report->manifest, is_measured, c, &by));
    for (uint32_t s = 0; s < c->report->manifest->speaker_count; s++) {
        const uint32_t begin = by.first[s], count = by.first[s + 1] - begin;
        for (uint32_t i = 0; i < count; i++) sorted[i] = c->distances[by.rows[begin + i]];
        mx_robust_sort(sorted, count);
        c->list[s].usual = mx_robust_median(sorted, count);
    }
out:
    mx_doctor_by_speaker_release(&by);
    mx_free(sorted);
    return rc;
}

static int clouds_measure(struct clouds *c)
{
    const uint32_t count = c->scores->count;
    for (uint32_t i = 0; i < count; i++) {
        c->distances[i] = -1;
        if (!is_heard(c, i)) continue;
        struct cloud *const own = cloud_of(c, i);
        for (int32_t k = 0; k < c->scores->width; k++) own->sum[k] += (double)vector_of(c, i)[k];
        own->rows++;
    }
    for (uint32_t i = 0; i < count; i++)
        if (cloud_of(c, i)->rows >= ROWS_LEAST && is_heard(c, i)) c->distances[i] = distance_of(c, i, cloud_of(c, i));
    return clouds_usual(c);
}

static int clouds_open(struct clouds *c)
{
    const size_t speakers = c->report->manifest->speaker_count, width = (size_t)c->scores->width;
    c->list = mx_alloc(speakers, sizeof *c->list);
    c->sums = mx_alloc(speakers * width, sizeof *c->sums);
    c->distances = mx_alloc(c->scores->count, sizeof *c->distances);
    if (c->list == NULL || c->sums == NULL || c->distances == NULL) return MX_ERR_NO_MEMORY;
    for (size_t s = 0; s < speakers; s++) c->list[s].sum = c->sums + s * width;
    return clouds_measure(c);
}

static int row_judge(const struct clouds *c, uint32_t row, struct mx_doctor_findings *findings)
{
    const double own = c->distances[row], usual = cloud_of(c, row)->usual, away = usual > 0 ? own / usual : 0;
    uint32_t best = 0;
    double nearest = INFINITY;
    if (own < 0 || away < AWAY_SPEAKER) return 0;
    for (uint32_t s = 0; s < c->report->manifest->speaker_count; s++) {
        if (&c->list[s] == cloud_of(c, row) || c->list[s].rows < ROWS_LEAST) continue;
        const double distance = distance_of(c, row, &c->list[s]);
        if (distance >= nearest) continue;
        nearest = distance;
        best = s;
    }
    struct mx_doctor_finding finding = {.row = row, .kind = MX_DOCTOR_FINDING_OTHER_VOICE};
    if (nearest < NEARER * own) {
        finding.kind = MX_DOCTOR_FINDING_OTHER_SPEAKER;
        finding.value = nearest / own;
        finding.limit = NEARER;
        finding.badness = fmin(2 * NEARER * own / fmax(nearest, 1e-9), 6);
        finding.text = c->report->manifest->speakers[best];
        return mx_doctor_findings_add(findings, &finding);
    }
    if (away < AWAY_VOICE) return 0;
    finding.value = away;
    finding.limit = AWAY_VOICE;
    finding.badness = fmin(away / AWAY_VOICE, 5);
    return mx_doctor_findings_add(findings, &finding);
}

int mx_doctor_people_judge(const struct mx_check_report *report, const struct mx_doctor_scores *scores,
                           struct mx_doctor_findings *findings)
{
    struct clouds c = {.report = report, .scores = scores};
    int rc = 0;
    if (scores->width == 0) return 0;
    MX_TRY(clouds_open(&c));
    for (uint32_t i = 0; i < scores->count; i++) MX_TRY(row_judge(&c, i, findings));
out:
    mx_free(c.list);
    mx_free(c.sums);
    mx_free(c.distances);
    return rc;
}
