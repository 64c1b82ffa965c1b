/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/languages: the lists of the written forms of German (german_lists.c).
 */
#ifndef MX_TEXT_GERMAN_H
#define MX_TEXT_GERMAN_H

#include "text/forms/forms.h"

extern const struct mx_form_list mx_german_lists[];

#endif
