/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The results of `myxtts eval`: in total, by speaker, by language, row by row; as a table or as JSON:
 *
 *     {"checkpoint": FILE, "step": N, "corpus": PATH, "vocoder": NAME, "elapsed_seconds": S, "looked_at": N, SUMS,
 *      "speakers": [{"name": …, SUMS}], "languages": [{"name": "en", SUMS}],
 *      "rows": [{"id", "speaker", "language", "outcome": "spoken" | "unusable" | "too-long", "why",
 *                "frames", "spoken_frames", "mel_db", "duration_error", "pitch_error_semitones"}],
 *      "left_out": [{"id", "why"}]}
 *
 * where NAME is what made the sound that was compared (null: the predicted mel was compared), and SUMS are "spoken", "unusable", "too_long", "seconds" (of recordings compared), "mel_db", "duration_error",
 * "pitch_error_semitones"; means over what was spoken, pitch over voiced frames, null where there is none. `left_out`
 * lists rows of the corpus that are known to be unusable without decoding them; they are not evaluated.
 *
 * Memory: a report owns its arrays; voice, dataset and path are borrowed.
 */
#ifndef MX_CLI_EVAL_REPORT_H
#define MX_CLI_EVAL_REPORT_H

#include "corpus/dataset.h"
#include "speech/voice_internal.h"
#include "train/listen.h"

struct mx_eval_row {
    uint32_t utterance;
    struct mx_spoken spoken;
};

struct mx_eval_report {
    const struct mx_voice *voice;
    const struct mx_dataset *dataset;
    const char *path;    /* of the corpus */
    const char *vocoder; /* what made the sound; NULL: the predicted mel is compared */
    double elapsed_seconds;
    struct mx_eval_row *rows; /* [capacity], in the order of the corpus */
    uint32_t count, capacity;
    struct mx_spoken_sums all;
    struct mx_spoken_sums *speakers;                    /* [speakers of the dataset] */
    struct mx_spoken_sums languages[MX_LANGUAGE_COUNT]; /* by enum mx_language_id */
};

/* Room for `capacity` rows. */
int mx_eval_report_open(struct mx_eval_report *report, const struct mx_voice *voice, const struct mx_dataset *dataset,
                        const char *path, uint32_t capacity);
void mx_eval_report_release(struct mx_eval_report *report);
int mx_eval_report_add(struct mx_eval_report *report, uint32_t utterance, const struct mx_spoken *one);

void mx_eval_report_print(const struct mx_eval_report *report);                 /* to standard output */
int mx_eval_report_json(const struct mx_eval_report *report, const char *path); /* "-": standard output */

#endif
