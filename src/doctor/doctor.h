/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The whole doctor: checks a corpus (corpus/check.h) and listens to it (sound.h), lets a voice judge whether texts and
 * sounds belong together (score.h) and who speaks (people.h), finds duplicate rows (twins.h) and what
 * the corpus does not cover (coverage.h, record.h), and sorts all findings: a row with any is a suspect.
 *
 * A row that people decided to keep (corpus/manifest/decisions.h) is not a suspect, whatever was found.
 *
 * suspects.tsv: UTF-8, one header line, then one line for each finding of each suspect, the worst row first and in a row
 * the worst finding first. Fields are separated by a tab; inside a field, tabs and line ends are replaced by a blank, other
 * control bytes and invalid UTF-8 by \xNN:
 *
 *     manifest  line  id  speaker  kind  badness  value  limit  file  detail
 *
 * where kind is a short name from finding.h, badness is 1 or more, value and limit are what the kind measures (0 where it
 * measures nothing), and detail is the finding in English words.
 *
 * Interrupted while rows are read, there is nothing to report. Interrupted later, all that is known by then is reported:
 * `interrupted` says that scores, and what comes after them, are missing.
 *
 * Memory: everything belongs to the doctor; mx_doctor_release frees it.
 */
#ifndef MX_DOCTOR_DOCTOR_H
#define MX_DOCTOR_DOCTOR_H

#include <stdatomic.h>

#include "corpus/check.h"
#include "doctor/coverage.h"
#include "doctor/finding.h"
#include "doctor/people.h"
#include "doctor/record.h"
#include "doctor/score/score.h"
#include "doctor/sound/sound.h"

#define MX_DOCTOR_NO_VOICE "none" /* for options.voice: no voice judges */

struct mx_doctor_options {
    struct mx_check_options check; /* its listener is not used */
    const char *voice;             /* file or name; NULL: the installed base, if it knows a language of the rows */
    const char *device;            /* on which the voice listens; NULL: cpu:0 */
    const char *text;              /* NULL, or a text file with more sentences to choose from */
    uint32_t record;               /* sentences to record next, for each language */
    bool rows_only;                /* `coverage` and `records` stay empty */
    const atomic_bool *stop;       /* (optional) polled */
};

/* Whether a voice judged the texts, and why not. */
enum mx_doctor_judge {
    MX_DOCTOR_JUDGED,
    MX_DOCTOR_NOT_ASKED,     /* MX_DOCTOR_NO_VOICE */
    MX_DOCTOR_NOT_INSTALLED, /* no voice was named, and there is no base */
    MX_DOCTOR_NOT_SPOKEN,    /* no voice was named, and the base knows no language of the rows */
    MX_DOCTOR_NOTHING_GOOD,  /* no row can be used */
    MX_DOCTOR_NOT_FINISHED,  /* interrupted */
};

/* A row with findings. */
struct mx_doctor_suspect {
    uint32_t row;
    double badness;      /* of its worst finding */
    size_t first, count; /* among the findings, the worst first */
};

struct mx_doctor {
    struct mx_check_report report;
    struct mx_doctor_meter *meter;
    const struct mx_doctor_sound *sounds; /* [utterances] */
    struct mx_doctor_sound_summary summary;
    double level_spread_db; /* between the levels that a tenth of the good rows is below, and above */
    enum mx_doctor_judge judge;
    struct mx_doctor_scores scores; /* {0} unless judge is MX_DOCTOR_JUDGED, as the next */
    struct mx_doctor_people people;
    struct mx_doctor_coverage coverage;
    struct mx_doctor_records records;
    struct mx_doctor_findings findings;
    struct mx_doctor_suspect *suspects; /* the worst first; of equals, the first row */
    uint32_t suspect_count;
    uint32_t kinds[MX_DOCTOR_FINDING_COUNT]; /* suspects with each kind of finding */
    bool interrupted;
};

/* Opens the corpus at `path` and examines it. Suspects and rejected rows are not failures. *out needs no release after a
 * failure. */
int mx_doctor_examine(const char *path, const struct mx_doctor_options *options, struct mx_doctor *out);
void mx_doctor_release(struct mx_doctor *doctor);

/* NULL if no voice judged the row. */
const struct mx_doctor_score *mx_doctor_score_of(const struct mx_doctor *doctor, uint32_t row);

/* Why no voice judged, in English, for reports and as the key of its translation. NULL: one did. */
const char *mx_doctor_judge_text(enum mx_doctor_judge judge);
const char *mx_doctor_judge_name(enum mx_doctor_judge judge); /* short, for scripts */

/* Writes suspects.tsv, atomically; also without suspects, so that no older file remains. */
int mx_doctor_write_suspects(const struct mx_doctor *doctor, const char *path);

#endif
