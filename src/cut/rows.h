/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rules of cutting: which words become a row, and where its sound begins and ends.
 *
 * A row is 1 to 15 seconds of consecutive words. It begins and ends at pauses: at least MX_CUT_PAUSE_LEAST ms that are
 * quiet, or the end of a recording. Up to MX_CUT_MARGIN ms of each pause are kept at each side, half of a shorter pause. Words
 * that are missing in the sound or have a pause inside, other sound that keeps words apart (pauses.h) and the ends of
 * recordings are never inside a row. Dynamic programming finds the cuts of the lowest cost: ends of sentences are better than commas, those better than a pause between
 * words, and rows of 3 to 11 seconds better than shorter or longer ones.
 *
 * Words that fit no row are left out with the reason: no pause near them, or too little sound between two pauses.
 *
 * Memory: rows and left-out words are the caller's to free with mx_free.
 */
#ifndef MX_CUT_ROWS_H
#define MX_CUT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "align/text.h"

#define MX_CUT_ROW_LEAST   1.0 /* seconds, margins included */
#define MX_CUT_ROW_MOST    15.0
#define MX_CUT_MARGIN      100.0 /* ms */
#define MX_CUT_PAUSE_LEAST 100.0 /* ms */

/* A word in the sound; all times in samples. */
struct mx_cut_timing {
    int64_t begin, end;             /* -1: missing in the sound */
    int64_t quiet_begin, quiet_end; /* the pause before it; equal: there is none */
    int64_t still_begin, still_end; /* the pause after it */
    bool edge_before, edge_after;   /* the recording begins before it, ends after it: a place to cut without a pause */
    bool broken;                    /* a pause is inside it: it was found in the wrong place */
    bool apart;                     /* something is between it and the word before: never in the same row */
    enum mx_align_break after;
};

struct mx_cut_row {
    int32_t first, last; /* words [first, last) */
    int64_t begin, end;  /* samples */
};

enum mx_cut_reason {
    MX_CUT_LEFT_MISSING,  /* the word is not in the sound */
    MX_CUT_LEFT_BROKEN,   /* the word was found where it is not */
    MX_CUT_LEFT_NO_PAUSE, /* no pause to cut at */
    MX_CUT_LEFT_SHORT,    /* less than the shortest row between two pauses */
};

struct mx_cut_left {
    int32_t first, last;
    enum mx_cut_reason reason;
};

struct mx_cut_rows {
    struct mx_cut_row *rows;
    size_t row_count, row_room;
    struct mx_cut_left *left;
    size_t left_count, left_room;
};

/* `most`: seconds of the longest row, at most MX_CUT_ROW_MOST. */
int mx_cut_rows_build(const struct mx_cut_timing *words, int32_t count, int rate, double most, struct mx_cut_rows *out);
void mx_cut_rows_release(struct mx_cut_rows *rows);

#endif
