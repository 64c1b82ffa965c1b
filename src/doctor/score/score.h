/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How well the text of each row of a corpus explains its sound, by a trained voice: scores, words in the sound, and what
 * is suspicious about them.
 *
 * The good rows of a check are read again, in batches of one speaker. The voice listens to a batch (the vector of its
 * speaker), its encoder reads the texts and predicts a mean mel frame for each token, and a Viterbi search through frames
 * and tokens (align/align.h, with the scores of cut/fit.h) finds which word is where, which words are not spoken, and which
 * sound belongs to no word. The means are then adapted to the frames aligned with them, twice, so speakers whom the voice
 * never heard are judged as well as those whom it was trained on. Rows that fit badly are compared with the texts of
 * other rows.
 *
 * Accuracy, by `build/doctor_rates MANIFEST FOLDER` with the base voice, a tenth of the rows damaged, five
 * times; the share of the rows of each kind that have any finding, in percent:
 *
 *                              1636 human prompts,   250 sentences of flite's kal16,
 *                              en, fr, it            a voice that the base never heard
 *     undamaged                 2.9                   0.7
 *     texts exchanged          98.4                   100
 *       … another row is named    78                    94
 *     word missing in text     61.5                  30.0     words of 3 letters or more
 *     word added to text       75.4                  75.0     the same
 *     two recordings            100                   100
 *     half of the recording    98.3                   100
 *
 * The prompts are the Debian packages asterisk-core-sounds-{en,fr,it}-g722; the base was trained on all but 60 of them. Of
 * their 54 rows that are undamaged and suspected at least once, the texts of about 20 are visibly wrong (notes in brackets
 * that are not spoken, "*" that is). If all texts are those of the next row (kal16), 69 % of the rows have a finding.
 *
 * The limits were chosen on the English prompts and on kal16, so other corpora may do worse; the base knows the people of
 * the prompts, and kal16 is synthetic.
 *
 * Speed: 190 to 234 times as fast as the sound is long in processor time (two cores of a Zen 3; the same command),
 * decoding and the check included, so 13 hours should take 200 to 250 s of it, half of that on two cores.
 *
 * Memory: scores own everything they hold; mx_doctor_scores_release frees it.
 */
#ifndef MX_DOCTOR_SCORE_H
#define MX_DOCTOR_SCORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corpus/check.h"
#include "doctor/finding.h"

/* Why a row has no score. */
enum mx_doctor_unscored {
    MX_DOCTOR_SCORED,
    MX_DOCTOR_UNSCORED_REJECTED, /* the check rejects it */
    MX_DOCTOR_UNSCORED_LANGUAGE, /* the voice never heard its language */
    MX_DOCTOR_UNSCORED_TEXT,     /* the voice cannot say enough of its text */
    MX_DOCTOR_UNSCORED_SOUND,    /* its recording has changed since the check */
};

/* A written word of a row. */
struct mx_doctor_word {
    uint32_t begin, end; /* bytes of the text as written */
    bool heard;
    float from, until; /* seconds in the used (trimmed) sound; of a word that is not spoken, where it would be */
};

/* Sound that belongs to no word, seconds in the used sound. */
struct mx_doctor_span {
    float from, until;
};

struct mx_doctor_score {
    enum mx_doctor_unscored unscored;
    double score; /* nats a frame: how much better (above 0) the text explains the sound than speech in any order */
    double deviations; /* how far below the median of its speaker's rows, in robust deviations; negative: above */
    double heard;      /* the same for the words that are heard, in their own frames only */
    double usual;      /* the median score of the rows of its batch */
    struct mx_doctor_word *words;
    size_t word_count;
    struct mx_doctor_span *other;
    size_t other_count;
    int64_t better;   /* the row whose text explains the sound clearly better; -1: none was found */
    double better_by; /* nats a frame by which the best other text is better; -INFINITY: none was tried */
};

/* Counts of voiced frames by pitch: bin i holds MX_DOCTOR_PITCH_LEAST · MX_DOCTOR_PITCH_STEP^i Hz and more. */
#define MX_DOCTOR_PITCH_BINS  300
#define MX_DOCTOR_PITCH_LEAST 50.0
#define MX_DOCTOR_PITCH_STEP  1.01

struct mx_doctor_scores {
    char *voice;                  /* its name */
    struct mx_doctor_score *rows; /* [utterances of the manifest] */
    uint32_t count, scored;
    uint32_t unscored_languages[MX_LANGUAGE_COUNT]; /* rows without a score because of their language */
    /* for people.h */
    int32_t width;  /* 0: the voice cannot listen */
    float *vectors; /* [utterances, width]: the speaker heard in each row; 0 where it was not read */
    uint32_t (*pitch)[MX_DOCTOR_PITCH_BINS]; /* [speakers of the manifest] */
};

struct mx_doctor_scores_options {
    const char *voice;       /* path or name of an installed voice; NULL: "base" */
    const char *device;      /* NULL: cpu:0 */
    int workers;             /* 0: one for each core */
    const atomic_bool *stop; /* (optional) polled: true ends the work with MX_ERR_INTERRUPTED */
};

/* How many good rows of a report have a language that the voice heard. */
struct mx_doctor_fit {
    uint32_t known, unknown;
};
/* Without opening a device. The default voice is worth using if `known` is not 0. Errors as mx_checkpoint_open. */
int mx_doctor_voice_fit(const char *voice, const struct mx_check_report *report, struct mx_doctor_fit *out);

/* Scores every good row of the report, which must have been made with `row`. Bad rows are not a failure. *out needs no
 * release after a failure. */
int mx_doctor_scores_compute(const struct mx_check_report *report, const struct mx_row_options *row,
                             const struct mx_doctor_scores_options *options, struct mx_doctor_scores *out);
void mx_doctor_scores_release(struct mx_doctor_scores *scores);

/* Adds the findings TEXT_MISMATCH, MISSING_WORDS, EXTRA_SOUND and OTHER_ROW. */
int mx_doctor_scores_judge(const struct mx_check_report *report, const struct mx_doctor_scores *scores,
                           struct mx_doctor_findings *findings);

#endif
