/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stage of `prepare --features`: mel, energy and pitch on CPU devices, one core for each worker. It belongs here
 * because the corpus must not know about features, which come after it in the flow.
 *
 * Memory: the stage owns the devices; it must outlive the preparation and is released once.
 */
#ifndef MX_RUN_FEATURE_STAGE_H
#define MX_RUN_FEATURE_STAGE_H

#include "corpus/packed/pack_spec.h"
#include "features/recipe.h"

struct mx_feature_stage;

/* For recordings of at most `seconds_max`; workers 0: one for each core. */
int mx_feature_stage_create(int workers, const struct mx_recipe *recipe, double seconds_max,
                            struct mx_feature_stage **out);
void mx_feature_stage_destroy(struct mx_feature_stage *stage); /* NULL is fine */
const struct mx_prepare_stage *mx_feature_stage_get(const struct mx_feature_stage *stage);

#endif
