/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The speakers of a corpus: the range of their pitch, and rows that sound like somebody else.
 *
 * A row is compared by its speaker embedding, from the voice's speaker encoder: with the mean of the other rows of its
 * speaker, and with the means of the other speakers. It is suspect if it is at least 3 times as far from its own speaker as
 * half of the rows are, and clearly nearer to another one (OTHER_SPEAKER); or 5 times as far, and not near to anyone
 * (OTHER_VOICE). Speakers need 8 rows of half a second or more.
 *
 * Accuracy, by `build/doctor_rates MANIFEST FOLDER` with the base voice, five times:
 *
 *     801 rows of 7 speakers: of 3 humans, of flite's slt, rms, awb, and of its kal16, unseen by the base
 *         by another speaker: 36 of 40 recognised; OTHER_SPEAKER in 0 of 3641 undamaged rows, OTHER_VOICE in 11
 *     1636 prompts of the 3 humans (see score.h)
 *         by another speaker: 39 of 60 recognised; OTHER_SPEAKER in 0 of 7514 undamaged rows, OTHER_VOICE in 13
 *
 * Those with OTHER_VOICE are, in several of the five runs, three human recordings that are at least 14 times as far away
 * as others, and one of awb (5.4 times). Nearly all rows that are not recognised are exchanged between the two women,
 * whose vectors are near each other: people with similar voices cannot be distinguished.
 *
 * Memory: people own their list; mx_doctor_people_release frees it. Names belong to the manifest of the report.
 */
#ifndef MX_DOCTOR_PEOPLE_H
#define MX_DOCTOR_PEOPLE_H

#include "doctor/score/score.h"

/* One for each speaker of the report, in its order. */
struct mx_doctor_person {
    const char *name;
    uint64_t voiced;                            /* frames */
    double pitch_low, pitch_middle, pitch_high; /* Hz: 5 %, 50 % and 95 % of the voiced frames are lower; 0: unknown */
};

struct mx_doctor_people {
    struct mx_doctor_person *list; /* [report->speaker_count] */
    uint32_t count;
};

/* From the embeddings and pitches that were measured while the rows were scored. */
int mx_doctor_people_compute(const struct mx_check_report *report, const struct mx_doctor_scores *scores,
                             struct mx_doctor_people *out);
void mx_doctor_people_release(struct mx_doctor_people *people);

/* Adds the findings OTHER_SPEAKER (nearer to another speaker of the corpus) and OTHER_VOICE (far from all other rows of
 * its speaker, and from the other speakers, too). */
int mx_doctor_people_judge(const struct mx_check_report *report, const struct mx_doctor_scores *scores,
                           struct mx_doctor_findings *findings);

#endif
