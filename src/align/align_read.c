/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading a path from the decisions of a search, see align_internal.h.
 */
#include <string.h>

#include "align/align_internal.h"
#include "base/alloc.h"
#include "myxtts/error.h"

static int other_push(struct mx_align_path *path, struct mx_align_span span)
{
    if (MX_GROW(path->other, path->other_capacity, path->other_count + 1) < 0) return MX_ERR_NO_MEMORY;
    path->other[path->other_count++] = span;
    return 0;
}

int mx_align_ready(const struct mx_align_record *r, int64_t frame, int32_t g, const struct mx_align_lattice *l,
                   int32_t *at)
{
    const uint8_t *const decisions = mx_align_gap_decisions(r, frame);
    uint8_t how = decisions[g - r->word_begin];
    if (how & MX_ALIGN_BY_SKIP) {
        bool chain = true;
        while (chain) {
            chain = (how & MX_ALIGN_SKIP_CHAIN) != 0;
            g--;
            how = decisions[g - r->word_begin];
        }
    }
    *at = (how & MX_ALIGN_FROM_MASK) == MX_ALIGN_FROM_WORD ? l->last[g - 1] - 1 : g;
    return how & MX_ALIGN_FROM_MASK;
}

/* The word of a column. */
static int32_t word_of(const struct mx_align_lattice *l, int32_t column)
{
    int32_t low = 0, high = l->words - 1;
    while (low < high) {
        const int32_t middle = low + (high - low + 1) / 2;
        if (l->first[middle] <= column)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int mx_align_read(struct mx_align_search *s, int64_t to, int kind, int32_t at)
{
    const struct mx_align_lattice *const l = s->lattice;
    struct mx_align_path *const path = s->path;
    const size_t kept = path->other_count;
    const struct mx_align_record *r = s->newest;
    int rc = 0;
    for (int64_t frame = to; frame > s->read; frame--) {
        while (r->frame > frame) r = r->before;
        const size_t row = (size_t)(frame - r->frame);
        int32_t gap = at;
        bool begins = kind == MX_ALIGN_FROM_SILENCE;
        if (kind == MX_ALIGN_FROM_WORD) {
            const int32_t w = word_of(l, at);
            if (path->end[w] < frame + 1) path->end[w] = frame + 1;
            if (path->begin[w] < 0 || frame < path->begin[w]) path->begin[w] = frame;
            gap = w;
            if (s->scorer->visit != NULL) s->scorer->visit(s->scorer->context, frame, w, at);
            if (r->columns[row * (size_t)(r->column_end - r->column_begin) + (size_t)(at - r->column_begin)]) {
                begins = at == l->first[w];
                if (!begins) at--;
            }
        } else if (kind == MX_ALIGN_FROM_OTHER) {
            struct mx_align_span *const newest = path->other_count > kept ? &path->other[path->other_count - 1] : NULL;
            if (newest != NULL && newest->gap == at && newest->begin == frame + 1)
                newest->begin = frame;
            else
                MX_TRY(other_push(path, (struct mx_align_span){frame, frame + 1, at}));
            begins = !(mx_align_gap_decisions(r, frame)[at - r->word_begin] & MX_ALIGN_OTHER_STAYS);
        }
        if (!begins) continue;
        const struct mx_align_record *const earlier = frame - 1 < r->frame ? r->before : r;
        kind = mx_align_ready(earlier, frame - 1, gap, l, &at);
    }
    for (size_t i = kept, k = path->other_count; i + 1 < k; i++) { /* they came backwards */
        const struct mx_align_span swap = path->other[i];
        path->other[i] = path->other[--k];
        path->other[k] = swap;
    }
    if (kept > 0 && path->other_count > kept && path->other[kept - 1].gap == path->other[kept].gap &&
        path->other[kept - 1].end == path->other[kept].begin) {
        path->other[kept - 1].end = path->other[kept].end;
        memmove(&path->other[kept], &path->other[kept + 1], (path->other_count - kept - 1) * sizeof *path->other);
        path->other_count--;
    }
out:
    return rc;
}
