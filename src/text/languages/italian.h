/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/languages: the lists of the written forms of Italian (italian_lists.c).
 */
#ifndef MX_TEXT_ITALIAN_H
#define MX_TEXT_ITALIAN_H

#include "text/forms/forms.h"

extern const struct mx_form_list mx_italian_lists[];

#endif
