/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/align/align*.c: the state of a search, whose equations are in align.c, and the decisions that it has made,
 * from which a path is read.
 *
 * Memory: align.c opens and closes all of it; records are freed as soon as the path is read beyond them.
 */
#ifndef MX_ALIGN_ALIGN_INTERNAL_H
#define MX_ALIGN_ALIGN_INTERNAL_H

#include "align/align.h"

/* The bits of a decision about a gap. */
enum {
    MX_ALIGN_FROM_SILENCE = 0,
    MX_ALIGN_FROM_OTHER = 1,
    MX_ALIGN_FROM_WORD = 2,
    MX_ALIGN_FROM_MASK = 3,
    MX_ALIGN_BY_SKIP = 4,
    MX_ALIGN_SKIP_CHAIN = 8,
    MX_ALIGN_OTHER_STAYS = 16
};

/* The decisions of a block. Row r is frame `frame` + r. */
struct mx_align_record {
    struct mx_align_record *next, *before;
    int64_t frame;
    int32_t frames;
    int32_t word_begin, word_end, column_begin, column_end;
    size_t bytes;
    uint8_t *columns, *gaps; /* allocated with the struct, after it */
};

/* Scores and roots of one kind of state. */
struct mx_align_layer {
    float *score;
    int32_t *root;
};

struct mx_align_search {
    const struct mx_align_lattice *lattice;
    const struct mx_align_costs *costs;
    const struct mx_align_scorer *scorer;
    struct mx_align_path *path;
    struct mx_align_layer columns, silence, other, skip, ready; /* by column, and by gap */
    float *before;        /* [columns]: the score from which each column may begin */
    int32_t *before_root; /* [columns]: the root of that score */
    float *score_columns, *score_silence, *score_other;
    size_t column_room, gap_room;            /* of the scores of a block */
    int32_t word_begin, word_end;            /* the window */
    struct mx_align_record *oldest, *newest; /* decisions; the oldest holds the frame of the last reading, too */
    int64_t checkpoint, read; /* frame of the roots, and up to which the path is read; -1: before the first */
    size_t bytes;             /* of the decisions */
    void *memory;
};

/* The decisions about the gaps of a frame. */
static inline uint8_t *mx_align_gap_decisions(const struct mx_align_record *r, int64_t frame)
{
    return r->gaps + (size_t)(frame - r->frame) * ((size_t)(r->word_end - r->word_begin) + 1);
}

/* The place at `frame` from which gap g was ready; returns its kind. */
int mx_align_ready(const struct mx_align_record *r, int64_t frame, int32_t g, const struct mx_align_lattice *l,
                   int32_t *at);
/* Reads the path that is at place `at` (of a kind) after frame `to`, back to the frame of the last reading. */
int mx_align_read(struct mx_align_search *s, int64_t to, int kind, int32_t at);

#endif
