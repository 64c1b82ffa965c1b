/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every language's cleaner must hold for its table of written texts and what is said.
 *
 * Memory: the table is the caller's; nothing is kept.
 */
#ifndef MX_TESTS_SUPPORT_CLEANER_H
#define MX_TESTS_SUPPORT_CLEANER_H

#include <stddef.h>

#include "text/text.h"

struct cleaner_case {
    const char *written, *spoken;
};

/* Each text is said as the table says by that version of the rules. All that is wrong is printed before the test fails. */
void cleaner_says(enum mx_language_id language, int version, const struct cleaner_case *cases, size_t count);

/* What has been cleaned is clean: it does not change when it is cleaned again. */
void cleaner_is_stable(enum mx_language_id language, int version, const struct cleaner_case *cases, size_t count);

/* The text is said so, and the report counts what it did for that. */
void cleaner_reports(enum mx_language_id language, const char *written, const char *spoken,
                     const struct mx_text_report *counts);

/* Every length of every text, cut in the middle of anything: no failure but that of a cut character, no crash. */
void cleaner_takes_prefixes(enum mx_language_id language, const struct cleaner_case *cases, size_t count);

/* Each allocation that the text needs fails once: always the error of no memory. */
void cleaner_without_memory(enum mx_language_id language, const char *text);

#endif
