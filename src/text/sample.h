/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A short greeting in each of many languages, to try a voice with.
 */
#ifndef MX_TEXT_SAMPLE_H
#define MX_TEXT_SAMPLE_H

#include "text/language.h"

/* Static text; NULL: there is none in this language. */
const char *mx_language_sample(enum mx_language_id language);

#endif
