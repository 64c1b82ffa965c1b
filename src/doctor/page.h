/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The doctor's page: one self-contained HTML file on which people look at the suspect rows of a corpus, listen, and decide.
 * `myxtts check --html` writes it.
 *
 * It holds the style (page.css), the drawing (page_row.js, page.js) and the data:
 *
 *     <script type="application/json" id="doctor">{…}</script>   '<', '>' and '&' in it stand as \u003c …
 *
 *     "format": "myxtts doctor", "version": 1, "language": "en" | "fa", "name": of the corpus, "program", "written"
 *     "key": under which the browser keeps decisions: one of the manifest and of the decisions that are known
 *     "words": {KEY: TEXT}: the texts of the page, in its language (page_words.c)
 *     "count", "seconds", "suspects", "rejected": rows of the manifest, seconds of the good ones …
 *     "voice": its name or null; "voice_note": why no voice judged, or null
 *     "sound": [{"name", "value", "digits"}]: typical values
 *     "kinds": [{"name", "rows"}], "reasons": [{"name", "rows"}]
 *     "speakers": [{"name", "rows", "seconds", "pitch": [low, middle, high] or null}]
 *     "coverage": [{"language", "known": whether there is a reference, "numbers": [sounds, missing, rare, pairs, missing, rare],
 *         "sounds": [{"name", "count"}], "pairs": [{"name", "count"}]}]: the missing and rare ones
 *     "record": [{"text", "seconds", "fills": [NAME]}]
 *     "decisions": [{"id", "decision", "text", "note"}]: those that the check knew
 *     "decisions_file", "suspects_file", "rejects_file": paths
 *     "rows": the worst suspects, at most MX_DOCTOR_PAGE_ROWS: {"number", "id", "speaker", "text", "badness", "score",
 *         "findings": [{"kind", "value", "limit", "text"}], "seconds", "used": [begin, end], "peak",
 *         "words": [[TEXT, from, until, heard]], "other": [[from, until]], "columns", "bands", "wave", "mel", "audio"};
 *         times are seconds of the file. "columns" and what follows come from page_sound.c; "audio" is null if the
 *         recording could not be read again
 *
 * The page loads nothing from elsewhere and sends nothing. The page saves decisions.tsv (corpus/manifest/decisions.h) as a download.
 *
 * Memory: the page is built in memory and written in one piece.
 */
#ifndef MX_DOCTOR_PAGE_H
#define MX_DOCTOR_PAGE_H

#include "base/catalogue.h"
#include "doctor/doctor.h"

#define MX_DOCTOR_PAGE_ROWS   200 /* rows with picture and sound: 10 MB if they have 3 seconds each */
#define MX_DOCTOR_PAGE_LIST   60  /* rare sounds, and rare pairs, of each language */
#define MX_DOCTOR_PAGE_BOUNDS 600 /* columns of a picture at most */

struct mx_doctor_page_options {
    enum mx_words language;
    const char *suspects, *rejects; /* paths of the lists, to be named */
    const atomic_bool *stop;        /* (optional) polled between rows: if set, the remaining rows have no sound */
};

/* The texts of the page, in English; ends with a NULL key. The catalogue has the Persian of each, in the context
 * "doctor KEY". */
struct mx_doctor_page_word {
    const char *key, *english;
};
extern const struct mx_doctor_page_word mx_doctor_page_words[];

/* Appends the page to `out`. Reads the recordings of its rows again, with a progress bar. */
int mx_doctor_page_write(const struct mx_doctor *doctor, const struct mx_doctor_page_options *options,
                         struct mx_string *out);
/* Writes the page to a file, which is replaced as a whole. */
int mx_doctor_page_save(const struct mx_doctor *doctor, const struct mx_doctor_page_options *options, const char *path);

#endif
