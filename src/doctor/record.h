/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sentences to record next: those that give a corpus most of the sounds and pairs that it lacks (coverage.h).
 *
 * They are chosen greedily from the sentences of the reference. The worth of a sentence is what its sounds and pairs
 * add where there are not enough: an occurrence of something that the corpus has c times is worth 1 / (1 + c) until there
 * are enough, times the square root of how often the reference has it, so that frequent sounds come first, but not
 * exclusively. A sound is worth four times as much as a pair. The highest worth per second of recording wins; of
 * equals, the earlier one. Then its sounds count as recorded, so that the next sentence is chosen for what is still
 * missing. The list ends early when no sentence adds anything.
 *
 * A sentence is never one that a good row has, and never one with digits or signs, which people read differently. It
 * takes 3 to 12 seconds to speak; others are worth a quarter, and those beyond 15 seconds nothing.
 *
 * The choice is a pure function of the coverage.
 *
 * Memory: a list owns its texts; names are those of the coverage, which must outlive it.
 */
#ifndef MX_DOCTOR_RECORD_H
#define MX_DOCTOR_RECORD_H

#include "doctor/coverage.h"

#define MX_DOCTOR_RECORD_SECONDS_MIN 3.0
#define MX_DOCTOR_RECORD_SECONDS_MAX 12.0

/* What a sentence adds. */
struct mx_doctor_gain {
    const struct mx_doctor_unit *unit;
    bool pair;
    uint32_t times;  /* in the sentence */
    uint64_t before; /* in the corpus and the sentences chosen before */
};

struct mx_doctor_record {
    enum mx_language_id language;
    char *text;                   /* to be read, one line */
    double seconds;               /* as this corpus is spoken, about */
    bool own;                     /* of our grammar, not of the text file */
    struct mx_doctor_gain *gains; /* sounds first; of each the rarest first */
    uint32_t gain_count;
};

struct mx_doctor_records {
    struct mx_doctor_record *items; /* language after language, in the order of the choice */
    uint32_t count;
};

/* At most `count` sentences for each language. *out needs no release after a failure. */
int mx_doctor_record_choose(const struct mx_doctor_coverage *coverage, uint32_t count, struct mx_doctor_records *out);
void mx_doctor_records_release(struct mx_doctor_records *records);

#endif
