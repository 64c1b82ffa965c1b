/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page of a run: one self-contained HTML file that needs neither a network nor other files. `myxtts report` writes
 * it, training writes it at its end, and the dashboard serves the same page live.
 *
 * It holds the style (page.css), the drawing (page.js) and the data of the run:
 *
 *     <html lang="en" data-live>                              data-live: only of a live page
 *     <script type="application/json" id="run">{…}</script>   '<', '>' and '&' in it stand as \u003c …
 *
 *     "format": "myxtts page", "version": 1, "language": "en" | "fa", "live": bool, "name": of the folder
 *     "written": seconds since 1970
 *     "words": {"en": {KEY: TEXT}, "fa": {KEY: TEXT}}: the texts of the page (page_words.c); #en or #fa in the address
 *         chooses another language than the page's own
 *     "metrics": [{"key", "rule", "chart", "percent"}]: the metrics that the page knows (train/report/report.h): how several
 *         values of a series become one, and the chart that shows it
 *     "run": run.json (run.h), null if there is none
 *     "config": the text of config.yaml, null if there is none
 *     "series": {"step": [...], "loss": [...], ...}: the steps of metrics.jsonl, one array for each key. Of a long run
 *         one value stands for `per` steps, by the rule of the metric
 *     "per": steps that one value of the series stands for
 *     "evaluations": [{"step", "loss", …}]: those of metrics.jsonl with their step, evenly chosen if there are many
 *     "leaks": [{"step", "owner", "bytes"}]
 *     "damaged": lines of metrics.jsonl that could not be read
 *     "pictures": [{"step", "target", "prediction", "difference", "alignment"}], each a data: address or null
 *     "sounds": [{"step", "number", "audio"}], first, middle and newest evaluation; data: addresses
 *     "recordings": [{"number", "audio"}]: what the samples should sound like
 *
 * Live: page.js opens `new EventSource("events?after=STEP")`, with the page's own query before `after`; a token
 * in the query is taken out of the address first, because a cookie holds it.
 * Messages without a name are lines of metrics.jsonl, unchanged; the server sends those of steps later than STEP first,
 * then new ones as they come. Duplicates are ignored. A message named "run" holds run.json, which is sent when it has
 * changed. mxPage.add(record) and mxPage.run(object) accept the same from a script. After a record of an evaluation the
 * page requests its own address once more, for new pictures and sounds.
 *
 * Memory: the page is built in the caller's string. Files of the run are read whole, one after the other; missing files
 * and files that are too large (MX_PAGE_FILE_MAX) are left out. Safe while the run is active, from any thread.
 */
#ifndef MX_OBSERVE_PAGE_H
#define MX_OBSERVE_PAGE_H

#include <stdbool.h>

#include "base/catalogue.h"
#include "base/string.h"

struct mx_page_options {
    const char *run; /* folder */
    enum mx_words language;
    bool live;
};

#define MX_PAGE_POINTS   1200               /* most values of a series */
#define MX_PAGE_FILE_MAX ((size_t)32 << 20) /* bytes of a picture or a sound */

/* The texts of pages, in English; ends with a NULL key. The catalogue has the Persian of each, in the context
 * "page KEY". */
struct mx_page_word {
    const char *key, *english;
};
extern const struct mx_page_word mx_page_words[];
/* The text with this key in a language, for other pages that say the same; "" if there is none. */
const char *mx_page_word_get(enum mx_words language, const char *key);

/* What pages have in common: one self-contained file whose data stand in a script element. */
struct mx_page_frame {
    enum mx_words language;
    bool live;         /* it follows a run */
    bool connects;     /* it may ask the server that it comes from */
    const char *style; /* CSS */
    const char *data;  /* id of the script element */
};
/* Appends everything before the data, and everything after them with the script that shows them. */
void mx_page_frame_begin(struct mx_string *out, const struct mx_page_frame *frame);
void mx_page_frame_end(struct mx_string *out, const char *script);

/* Appends the page to `out`. MX_ERR_NOT_FOUND with a hint if the folder holds neither metrics.jsonl nor run.json. */
int mx_page_write(const struct mx_page_options *options, struct mx_string *out);
/* Writes the page to a file, which is replaced as a whole. */
int mx_page_save(const struct mx_page_options *options, const char *path);

#endif
