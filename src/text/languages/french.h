/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/languages: the lists of the written forms of French (french_lists.c).
 */
#ifndef MX_TEXT_FRENCH_H
#define MX_TEXT_FRENCH_H

#include "text/forms/forms.h"

extern const struct mx_form_list mx_french_lists[];

#endif
