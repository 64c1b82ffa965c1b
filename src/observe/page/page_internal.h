/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of the page. For src/observe only.
 */
#ifndef MX_OBSERVE_PAGE_INTERNAL_H
#define MX_OBSERVE_PAGE_INTERNAL_H

#include <stdio.h>

#include "base/string.h"

/* page_series.c: "series", "per", "evaluations", "leaks" and "damaged" of page.h from metrics.jsonl, which is read
 * three times from its beginning, piece by piece. */
int mx_page_series(FILE *metrics, struct mx_string *out);

/* page_series.c: "metrics" of page.h, from the lists of train/report/report.h. */
void mx_page_metrics(struct mx_string *out);

/* page_media.c: "pictures", "sounds" and "recordings" from the folder samples/ of the run. */
int mx_page_media(const char *run, struct mx_string *out);

/* Made from page.css and page*.js when the program is built (cmake/Embed.cmake). A zero byte follows. */
extern const unsigned char mx_page_style[], mx_page_script[];
extern const size_t mx_page_style_bytes, mx_page_script_bytes;

#endif
