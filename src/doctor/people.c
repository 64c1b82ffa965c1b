/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speakers by what was heard of them, see people.h.
 */
#include "doctor/people.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

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

int mx_doctor_people_make(const struct mx_check_report *report, const struct mx_doctor_scores *scores,
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
int mx_doctor_people_judge(const struct mx_check_report *report, const struct mx_doctor_scores *scores,
                           struct mx_doctor_findings *findings)
{
    (void)findings;
    (void)report;
    (void)scores;
    return 0;
}
