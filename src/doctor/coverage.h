/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which sounds of a language a corpus covers: how often each sound and each pair of neighbouring sounds occurs in its good rows,
 * and which are missing or rare.
 *
 * A sound is a spoken symbol (a phoneme of espeak-ng, or a letter with tokens=chars) with the marks that belong to it:
 * length (ː), combining marks and small raised letters (ʲ ʰ ʷ), tones. A mark of stress belongs to no sound: stressed and
 * unstressed are the same sound. Diphthongs and affricates are two sounds, as the network reads them, and are found as
 * pairs. Two sounds are a pair if nothing or only a blank is between them: within words and across words, which are
 * spoken as one. Punctuation and both ends of a row are a pause, "#", which makes pairs with its neighbours but is no
 * sound.
 *
 * What a language has and how often comes from a reference, which is read exactly as the rows were: the sentences of
 * demo/sentences.h where there are some (English and Persian), and the sentences of a text file, if one is given. Without
 * either, only what the corpus has is known, and nothing can be reported as missing (`reference` is 0). espeak-ng cannot
 * provide one: its API has no list of the phonemes of a language, and its tables have many that no word of it uses.
 *
 * Missing: the reference has it, the corpus does not. Rare: fewer than MX_DOCTOR_SOUND_ENOUGH or MX_DOCTOR_PAIR_ENOUGH
 * occurrences, or less than a quarter of the number expected from the reference. What the reference has in very few sentences
 * (one, and one more for each thousand that it has, at most MX_DOCTOR_KNOWN) is an accident, and a pair that only the
 * corpus has is one, too: no more of it is requested.
 *
 * Memory: a coverage owns everything in it, also the sentences that were read, for record.h; mx_doctor_coverage_release
 * frees it. It keeps nothing of the report.
 */
#ifndef MX_DOCTOR_COVERAGE_H
#define MX_DOCTOR_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corpus/check.h"

/* θ, one of the rarest sounds of English (0.6 % of the sounds of our sentences), is said 20 times in about five minutes:
 * fewer of a sound are not enough to learn it. How two sounds join is learned from similar pairs, too, so a few suffice. */
#define MX_DOCTOR_SOUND_ENOUGH 20
#define MX_DOCTOR_PAIR_ENOUGH  3
#define MX_DOCTOR_KNOWN        5
#define MX_DOCTOR_SHARE_LOW    0.25

/* Sentences that are read at most: of the grammar of a language, and of a text file (the first ones). */
#define MX_DOCTOR_GRAMMAR_SENTENCES 4000
#define MX_DOCTOR_TEXT_SENTENCES    10000

#define MX_DOCTOR_PAUSE "#"

enum mx_doctor_supply {
    MX_DOCTOR_MISSING,
    MX_DOCTOR_RARE,
    MX_DOCTOR_ENOUGH,
    MX_DOCTOR_UNJUDGED, /* a pair that is an accident of the reference, or that only the corpus has */
};

/* A sound or a pair. */
struct mx_doctor_unit {
    const char *name; /* UTF-8: "θ"; a pair with a blank: "θ ɹ", "# θ" */
    uint64_t count;   /* in the good rows of the language */
    double expected;  /* with the share that it has in the reference; 0 without a reference */
    enum mx_doctor_supply supply;
};

/* Missing ones first, then rare ones, then the others; of these the most expected first. */
struct mx_doctor_units {
    struct mx_doctor_unit *items;
    uint32_t count, missing, rare;
};

struct mx_doctor_language {
    enum mx_language_id language;
    uint32_t rows;      /* good ones */
    uint64_t sounds;    /* in them */
    double sound_rate;  /* sounds a second in the median row; a typical one if no row has any */
    uint32_t reference; /* sentences of the reference; 0: nothing is known about what is missing */
    bool grammar;       /* some of them are ours */
    uint32_t from_text; /* how many come from the text file */
    struct mx_doctor_units single, pair;
    struct mx_doctor_sentences *sentences; /* for record.h */
};

struct mx_doctor_coverage {
    struct mx_doctor_language *languages; /* those of the good rows, most rows first */
    uint32_t language_count;
    /* Sentences of the text file that were not used: in no language of the corpus, or in which of several is not known;
     * and those beyond the limit. */
    uint32_t text_foreign, text_beyond;
};

/* `row` is how the report's rows were read. `text`: NULL, or a text file: one sentence a line, or running text. Reads the
 * reference with a progress bar. *out needs no release after a failure. */
int mx_doctor_coverage_compute(const struct mx_check_report *report, const struct mx_row_options *row, const char *text,
                               struct mx_doctor_coverage *out);
/* Whether that text file can be read, to be checked before work that takes minutes. */
int mx_doctor_text_check(const char *path);
void mx_doctor_coverage_release(struct mx_doctor_coverage *coverage);

#endif
