/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/languages: the lists of the written forms of Spanish (spanish_lists.c).
 */
#ifndef MX_TEXT_SPANISH_H
#define MX_TEXT_SPANISH_H

#include "text/forms/forms.h"

extern const struct mx_form_list mx_spanish_lists[];

#endif
