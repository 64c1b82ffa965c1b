/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Distinguishes wrong texts from bad recordings. The sound of a row that fits its text badly is compared with the texts of other
 * rows of its batch: its neighbours in the manifest, and those with about as many tokens. A right text is much better than
 * those, however bad the recording is; a wrong one is not.
 */
#ifndef MX_DOCTOR_SCORE_RIVALS_H
#define MX_DOCTOR_SCORE_RIVALS_H

#include "doctor/score/score_batch.h"

/* Sets better and better_by of the rows of the batch that fit badly. */
int mx_doctor_rivals_compare(struct mx_doctor_session *session, const struct mx_doctor_batch *batch,
                             struct mx_doctor_scores *scores);

#endif
