/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Duplicate rows: the same sound under another name (also after another encoding, at another level, with more
 * or less silence around it), and the same text many times from one speaker.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_DOCTOR_TWINS_H
#define MX_DOCTOR_TWINS_H

#include "doctor/sound/sound.h"

/* Adds SAME_SOUND and SAME_TEXT. Of duplicates with the same text the first is not reported; of those with different texts, both
 * are, since one of the texts is wrong. */
int mx_doctor_twins_judge(const struct mx_check_report *report, const struct mx_doctor_sound *sounds,
                          struct mx_doctor_findings *findings);

#endif
