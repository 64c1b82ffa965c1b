/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of score.h share.
 */
#ifndef MX_DOCTOR_SCORE_INTERNAL_H
#define MX_DOCTOR_SCORE_INTERNAL_H

#include "doctor/score/score.h"

/* Sets the deviations of all scored rows from those of their speaker. */
int mx_doctor_scores_deviate(const struct mx_check_report *report, struct mx_doctor_scores *scores);

#endif
