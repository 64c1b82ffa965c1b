/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/corpus/plan*.c: what a plan is made of. See plan.h for who owns what.
 */
#ifndef MX_CORPUS_PLAN_WORK_H
#define MX_CORPUS_PLAN_WORK_H

#include "corpus/plan.h"

#define MX_PLAN_OPTIONS 24

/* An option as it stands in the metadata. */
struct mx_plan_option {
    const char *name;
    char value[72];
};

struct mx_plan {
    const struct mx_manifest *manifest;
    const struct mx_prepare_stage *stage; /* NULL: audio */
    struct mx_row_options row;
    struct mx_plan_option options[MX_PLAN_OPTIONS];
    uint32_t option_count;
    uint64_t *keys;
    struct mx_packed_plan packed;
    /* Filled by mx_plan_texts. */
    struct mx_plan_text *texts;
    struct mx_vocabulary *vocabulary;
    char *metadata, *other_metadata; /* see struct mx_packed_plan */
    struct mx_arena *arenas;         /* one for each worker that read texts */
    int arena_count;
};

/* Sets metadata of the packed plan, and the other ones if the vocabulary was given; it must be there. */
int mx_plan_describe(struct mx_plan *plan);

#endif
