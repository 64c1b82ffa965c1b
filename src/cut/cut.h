/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Long recordings and their text → a corpus of short ones: a folder in the layout of LJSpeech.
 *
 *     metadata.csv   id|text, or id|speaker|text if the rows of a manifest name several speakers, or with the header
 *                    audio_file|text|speaker_name|language if a row of a manifest names its language: the text of a row
 *                    is a part of the given text, with one blank for any run of blanks
 *     wavs/ID.wav    mono, 16 bits, at the rate of the voice
 *     cut.tsv        row, file, begin, end (seconds in that file), score, after a line that names the columns
 *     left_out.tsv   file, begin, end, reason, text: words that are in no row, and sound that is in no word
 *
 * The score of a row is its log-likelihood ratio, in nats a frame, against speech in any order: above 0, its words explain
 * the sound better.
 *
 * Memory: everything is borrowed during the call.
 */
#ifndef MX_CUT_CUT_H
#define MX_CUT_CUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_CUT_TEXT_LIMIT ((size_t)64 << 20) /* bytes of a text */

struct mx_cut_options {
    const char *const *sounds;
    size_t sound_count;
    const char *text;        /* file: plain text, SRT, VTT or TextGrid */
    const char *folder;      /* to create; an existing empty one is fine */
    const char *voice;       /* run folder, checkpoint or voice file */
    const char *device;      /* NULL: cpu:0 */
    int cpu_devices;         /* 0: one */
    int language;            /* an enum mx_language_id, of all rows of a manifest, too; or MX_ALIGN_DETECT */
    const atomic_bool *stop; /* (optional) polled: true ends the work with MX_ERR_INTERRUPTED */
};

struct mx_cut_report {
    size_t rows, whole; /* written; of those, copied whole from a manifest */
    size_t refused;     /* rows of a manifest that could not be cut or read: the log names them */
    double seconds, seconds_rows, seconds_other; /* of all sound, of the rows, of sound that is in no word */
    int32_t words, words_rows, words_missing;    /* of the text, in rows, missing in the sound */
    int32_t words_unfit;                         /* in rows that were left out because the text does not fit */
    size_t left;                                 /* lines of left_out.tsv */
    size_t pipes;                                /* signs | of the text, which a row cannot have */
};

/* MX_ERR_DATA if the folder has files, if the text cannot be read, or if it does not belong to the sound; then no
 * rows are written. */
int mx_cut_run(const struct mx_cut_options *options, struct mx_cut_report *report);

#endif
