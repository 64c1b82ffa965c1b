/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the doctor finds: one list of the things that may spoil a voice, and the findings of a corpus. A finding never
 * removes a row: it marks the row as suspect, and people decide (corpus/manifest/decisions.h).
 *
 * A finding is put into words by the template of its kind, which base/catalogue.h translates: {0} and {1} are its value
 * and limit with the digits of the kind, {2} is its text, which comes from the corpus (words, the id of another row).
 *
 * The short names appear in JSON reports and on the page: append only, change none.
 *
 * Memory: a list owns its findings; mx_doctor_findings_release frees them.
 */
#ifndef MX_DOCTOR_FINDING_H
#define MX_DOCTOR_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/catalogue.h"

/* X(identifier, short name, digits of the numbers, template): MX_DOCTOR_FINDING_<identifier>. */
#define MX_DOCTOR_FINDING_LIST(X)                                                                                      \
    X(TEXT_MISMATCH, "text-mismatch", 1, "the text explains the sound badly: its score is {0}, {1} is usual")          \
    X(MISSING_WORDS, "missing-words", 0, "these words are not heard: {2}")                                             \
    X(EXTRA_SOUND, "extra-sound", 1, "{0} s are heard that the text does not have, the longest part from {1} s on")    \
    X(OTHER_ROW, "other-row", 1, "the sound fits the text of row {2} better")                                          \
    X(NOISY, "noisy", 0, "speech is only {0} dB above the background; {1} dB or more are good")                        \
    X(NARROW, "narrow", 0, "nothing is heard above {0} Hz; the others reach {1} Hz")                                   \
    X(CLIPPED, "clipped", 0, "{0} samples are cut off at full scale")                                                  \
    X(OFFSET, "offset", 1, "the samples are shifted from zero by {0} % of full scale; {1} % is the limit")             \
    X(HUM, "hum", 0, "hum at {2} Hz, {0} dB above its surroundings; {1} dB is the limit")                              \
    X(REVERBERANT, "reverberant", 2, "sound dies away in {0} s; {1} s or less is good")                                \
    X(LEVEL, "level", 1, "the level is {0} dB away from that of the other rows of the speaker")                        \
    X(NOISE_BEFORE, "noise-before", 2, "noise for {0} s before the first word")                                        \
    X(NOISE_AFTER, "noise-after", 2, "noise for {0} s after the last word")                                            \
    X(SILENCE_INSIDE, "silence-inside", 2, "silence of {0} s inside; {1} s is the limit")                              \
    X(SAME_SOUND, "same-sound", 0, "the same sound as row {2}")                                                        \
    X(SAME_TEXT, "same-text", 0, "the same text as {0} other rows, the first is {2}")                                  \
    X(OTHER_SPEAKER, "other-speaker", 2, "sounds more like speaker {2} than like its own")                             \
    X(OTHER_VOICE, "other-voice", 1,                                                                                   \
      "sounds like somebody else: {0} times as far from its speaker as other rows; {1} is the limit")

enum mx_doctor_finding_kind {
#define X(identifier, name, digits, text) MX_DOCTOR_FINDING_##identifier,
    MX_DOCTOR_FINDING_LIST(X)
#undef X
        MX_DOCTOR_FINDING_COUNT
};

struct mx_doctor_finding {
    uint32_t row; /* among the utterances of the manifest */
    enum mx_doctor_finding_kind kind;
    double badness; /* ≥ 1; 1: at the reporting threshold. Kinds are comparable: rows are sorted by it */
    double value, limit;
    const char *text; /* "": none */
};

struct mx_doctor_findings {
    struct mx_doctor_finding *items;
    size_t count, room;
};

/* `text` (may be NULL) is copied. */
int mx_doctor_findings_add(struct mx_doctor_findings *findings, const struct mx_doctor_finding *finding);
/* By row, and within a row the worst first. */
void mx_doctor_findings_sort(struct mx_doctor_findings *findings);
void mx_doctor_findings_release(struct mx_doctor_findings *findings);

const char *mx_doctor_finding_name(enum mx_doctor_finding_kind kind);
/* The template in English, for lists of texts. */
const char *mx_doctor_finding_template(enum mx_doctor_finding_kind kind);
/* Value and limit with the digits of the kind. */
#define MX_DOCTOR_NUMBER_BYTES 32
void mx_doctor_finding_numbers(const struct mx_doctor_finding *finding, char value[MX_DOCTOR_NUMBER_BYTES],
                               char limit[MX_DOCTOR_NUMBER_BYTES]);
/* Appends the finding in words. */
int mx_doctor_finding_format(struct mx_string *out, enum mx_words language, const struct mx_doctor_finding *finding);

#endif
