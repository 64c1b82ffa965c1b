/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to pack_spec*.c: the parts of a spec. See pack_spec.h for who owns what.
 */
#ifndef MX_CORPUS_PACK_SPEC_INTERNAL_H
#define MX_CORPUS_PACK_SPEC_INTERNAL_H

#include "corpus/packed/pack_spec.h"

#define MX_PACK_SPEC_OPTIONS 24

/* An option as written in the metadata. */
struct mx_pack_spec_option {
    const char *name;
    char value[72];
};

struct mx_pack_spec {
    const struct mx_manifest *manifest;
    const struct mx_prepare_stage *stage; /* NULL: audio */
    struct mx_row_options row;
    struct mx_pack_spec_option options[MX_PACK_SPEC_OPTIONS];
    uint32_t option_count;
    uint64_t *keys;
    struct mx_packed_plan packed;
    /* Filled by mx_pack_spec_texts. */
    struct mx_pack_spec_text *texts;
    struct mx_vocabulary *vocabulary;
    char *metadata, *other_metadata; /* see struct mx_packed_plan */
    struct mx_arena *arenas;         /* one for each worker that read texts */
    int arena_count;
};

/* Sets metadata of the packed spec, and the other ones if the vocabulary was given; it must be there. */
int mx_pack_spec_describe(struct mx_pack_spec *spec);

#endif
