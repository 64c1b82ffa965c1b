/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Forced alignment of a text with a long recording: a Viterbi search with a beam through frames and words, from the
 * beginning to the end, in bounded memory.
 *
 * Words have columns: the tokens of all words in order, with the tokens between words (blanks, punctuation, ends of
 * sentences) where they stand. Gap g is the place before word g; the last gap is after the last word. A path spends each
 * frame in one of
 *
 *     a column of a word    in order, each at least one frame, from the first column of the word to its last
 *     silence of a gap      what the gap may sound like if nobody speaks
 *     other sound of a gap  anything; entering it costs `other_enter`
 *
 * and may leave words out without spending a frame: the first in a row costs its `skip_first`, every one `skip_more`. The
 * caller scores frames; the scores of one frame may share any offset. The path of the highest sum is found, except that
 * paths more than `beam` below the best are pruned.
 *
 * Backpointers are kept until all surviving paths agree on them (usually after a few seconds). If they take more than
 * `memory_bytes`, the paths that disagree with the best one are pruned.
 *
 * Memory: a path owns its arrays. Everything else is borrowed during the call.
 */
#ifndef MX_ALIGN_ALIGN_H
#define MX_ALIGN_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_ALIGN_BLOCK 64 /* frames that are scored at once, at most */

/* Column `first[w]` … `last[w]` - 1 belong to word w; last[w] ≤ first[w + 1]. */
struct mx_align_lattice {
    int32_t words, columns;
    const int32_t *first, *last; /* [words] */
    const float *skip_first;     /* [words]: cost of leaving it out if the word before it is not */
    int64_t frames;
    /* (optional) [blocks of MX_ALIGN_BLOCK frames]: only paths through the words [from, until) are followed in a block.
     * Neither decreases, and the words of neighbouring blocks overlap. */
    const int32_t *from, *until;
};

struct mx_align_costs {
    float other_enter, skip_more, beam;
    size_t memory_bytes;
};

/* The scores of some frames for the words [word_begin, word_end) and the gaps word_begin … word_end. */
struct mx_align_block {
    int64_t frame;
    int32_t frames;
    int32_t word_begin, word_end;
    int32_t column_begin, column_end; /* first[word_begin] … last[word_end - 1]; empty without words */
    float *columns;                   /* out: [frames, column_end - column_begin] */
    float *silence;                   /* out: [frames, word_end - word_begin + 1] */
    float *other;                     /* out: [frames] */
};

struct mx_align_scorer {
    int (*score)(void *context, const struct mx_align_block *block);
    void *context;
    /* (optional) The path is certain up to this frame. A negative return value stops the search. */
    int (*agreed)(void *context, int64_t frames);
    /* (optional) A frame of the path that is in a column of a word; last frame first, within what was agreed on. */
    void (*visit)(void *context, int64_t frame, int32_t word, int32_t column);
};

/* Frames [begin, end). */
struct mx_align_span {
    int64_t begin, end;
    int32_t gap;
};

struct mx_align_path {
    int64_t *begin, *end;        /* [words]: the frames of each; -1: left out */
    struct mx_align_span *other; /* sound that belongs to no word, in order */
    size_t other_count, other_capacity;
    int64_t forced; /* times that a decision was forced by the memory limit */
};

/* A sound that ends inside a word has the beginning of that word. MX_ERR_DATA if the scores of a frame are not finite. */
int mx_align_run(const struct mx_align_lattice *lattice, const struct mx_align_costs *costs,
                 const struct mx_align_scorer *scorer, struct mx_align_path *path);
void mx_align_path_release(struct mx_align_path *path);

#endif
