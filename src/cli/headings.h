/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The headings under which help and reference show the options of a command.
 */
#ifndef MX_CLI_HEADINGS_H
#define MX_CLI_HEADINGS_H

#include "cli/options/options.h"

/* Ends with a title of NULL. */
struct mx_option_heading {
    const char *title;
    const char *names; /* of its options, separated by single blanks */
};

extern const struct mx_option_heading mx_headings_train[], mx_headings_profile[], mx_headings_synth[],
    mx_headings_serve[];
extern const char *const mx_heading_expert; /* the last heading, of all others */

/* How many headings a page has: 1, MX_OPTIONS_OWN, if it has no table. */
size_t mx_headings_count(const struct mx_option_page *page);
const char *mx_headings_title(const struct mx_option_page *page, size_t number);
/* The next option of a walk that stands under this heading; false at the end. */
bool mx_headings_next(const struct mx_option_page *page, size_t number, struct mx_option_walk *walk,
                      struct mx_option *out);

#endif
