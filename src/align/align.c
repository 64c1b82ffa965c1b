/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The search, see align.h.
 *
 * State after frame f: a score for each column of a word, for the silence and the other sound of each gap. From them
 * follow, in the same frame and without a frame of their own,
 *
 *     arrive[g] = max(silence[g], other[g], last column of word g - 1)
 *     skip[g]   = max(arrive[g - 1] - skip_first, skip[g - 1]) - skip_more        word g - 1 was left out
 *     ready[g]  = max(arrive[g], skip[g])                                         whatever comes next can begin
 *
 * and with the scores of the next frame
 *
 *     first column of word g = max(itself, ready[g]) + score, other columns = max(itself, the one before) + score
 *     silence[g] = ready[g] + score,   other[g] = max(itself, ready[g] - other_enter) + score
 *
 * Scores are relative to the best of their frame, so that they stay small. Each decision is a few bits of a byte. Every
 * living state also knows its root: the state that its path had at the last checkpoint. Once all roots are one, the path
 * up to there is certain: it is read out, its decisions are freed, and the current frame becomes the checkpoint.
 */
#include "align/align.h"

#include "align/align_internal.h"
#include "base/alloc.h"
#include "myxtts/error.h"

#define NEVER   (-1e30f)
#define DEAD    (-1e29f) /* scores below this belong to no path */
#define AHEAD   16       /* words that a path may advance within a block, without leaving any out */
#define NO_ROOT INT32_MIN

/* A place on a path: a column (kind MX_ALIGN_FROM_WORD), or the silence or other sound of a gap. As a root: */
static int32_t root_of(int kind, int32_t at)
{
    return kind == MX_ALIGN_FROM_WORD ? at : kind == MX_ALIGN_FROM_SILENCE ? -1 - 2 * at : -2 - 2 * at;
}

static int root_kind(int32_t root, int32_t *at)
{
    if (root >= 0) {
        *at = root;
        return MX_ALIGN_FROM_WORD;
    }
    *at = (-1 - root) / 2;
    return (-1 - root) % 2 == 0 ? MX_ALIGN_FROM_SILENCE : MX_ALIGN_FROM_OTHER;
}

/* ---- memory ---- */

static int search_open(struct mx_align_search *s)
{
    const size_t columns = (size_t)s->lattice->columns + 1, gaps = (size_t)s->lattice->words + 2;
    const size_t count = 4 * columns + 8 * gaps;
    float *at = mx_alloc(count, sizeof *at);
    if (at == NULL) return MX_ERR_NO_MEMORY;
    s->memory = at;
    for (size_t i = 0; i < count; i++) at[i] = NEVER;
    struct mx_align_layer *const layers[] = {&s->columns, &s->silence, &s->other, &s->skip, &s->ready};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const size_t size = i == 0 ? columns : gaps;
        layers[i]->score = at;
        layers[i]->root = (int32_t *)(void *)(at + size);
        at += 2 * size;
    }
    s->before = at;
    s->before_root = (int32_t *)(void *)(at + columns);
    return 0;
}

static void search_close(struct mx_align_search *s)
{
    while (s->oldest != NULL) {
        struct mx_align_record *const next = s->oldest->next;
        mx_free(s->oldest);
        s->oldest = next;
    }
    mx_free(s->score_columns);
    mx_free(s->score_silence);
    mx_free(s->score_other);
    mx_free(s->memory);
}

static int scores_reserve(struct mx_align_search *s, size_t columns, size_t gaps)
{
    if (s->score_other == NULL) s->score_other = mx_alloc(MX_ALIGN_BLOCK, sizeof *s->score_other);
    if (s->score_other == NULL) return MX_ERR_NO_MEMORY;
    const size_t size = MX_ALIGN_BLOCK * sizeof(float);
    const int rc = mx_grow(&s->score_columns, &s->column_room, columns, size);
    return rc < 0 ? rc : mx_grow(&s->score_silence, &s->gap_room, gaps, size);
}

static int record_open(struct mx_align_search *s, int64_t frame, int32_t frames, struct mx_align_record **out)
{
    const struct mx_align_lattice *const l = s->lattice;
    const bool any = s->word_end > s->word_begin;
    const int32_t column_begin = any ? l->first[s->word_begin] : 0, column_end = any ? l->last[s->word_end - 1] : 0;
    const size_t columns = (size_t)(column_end - column_begin), gaps = (size_t)(s->word_end - s->word_begin) + 1;
    const size_t bytes = sizeof(struct mx_align_record) + (size_t)frames * (columns + gaps);
    struct mx_align_record *const r = mx_alloc(1, bytes);
    if (r == NULL) return MX_ERR_NO_MEMORY;
    *r = (struct mx_align_record){.before = s->newest,
                                  .frame = frame,
                                  .frames = frames,
                                  .word_begin = s->word_begin,
                                  .word_end = s->word_end,
                                  .column_begin = column_begin,
                                  .column_end = column_end,
                                  .bytes = bytes,
                                  .columns = (uint8_t *)(r + 1)};
    r->gaps = r->columns + (size_t)frames * columns;
    if (s->newest != NULL) s->newest->next = r;
    if (s->oldest == NULL) s->oldest = r;
    s->newest = r;
    s->bytes += bytes;
    *out = r;
    return 0;
}

/* ---- one frame ---- */

/* arrive, skip and ready of a frame; `decisions` of its gaps. */
static void gaps_settle(struct mx_align_search *s, uint8_t *decisions)
{
    const struct mx_align_costs *const c = s->costs;
    float skip = NEVER;
    int32_t skip_root = NO_ROOT;
    for (int32_t g = s->word_begin; g <= s->word_end; g++) {
        uint8_t how = MX_ALIGN_FROM_SILENCE;
        float arrive = s->silence.score[g];
        int32_t root = s->silence.root[g];
        if (s->other.score[g] > arrive) {
            arrive = s->other.score[g];
            root = s->other.root[g];
            how = MX_ALIGN_FROM_OTHER;
        }
        if (g > s->word_begin) {
            const int32_t last = s->lattice->last[g - 1] - 1;
            if (s->columns.score[last] > arrive) {
                arrive = s->columns.score[last];
                root = s->columns.root[last];
                how = MX_ALIGN_FROM_WORD;
            }
        }
        s->skip.score[g] = skip;
        s->skip.root[g] = skip_root;
        const bool by_skip = skip > arrive;
        s->ready.score[g] = by_skip ? skip : arrive;
        s->ready.root[g] = by_skip ? skip_root : root;
        uint8_t *const mine = &decisions[g - s->word_begin];
        *mine =
            (uint8_t)((*mine & (MX_ALIGN_OTHER_STAYS | MX_ALIGN_SKIP_CHAIN)) | how | (by_skip ? MX_ALIGN_BY_SKIP : 0));
        /* what the next gap has if word g is left out */
        const float start = g < s->lattice->words ? arrive - s->lattice->skip_first[g] : NEVER, on = skip;
        const bool chain = on > start;
        if (g < s->word_end) mine[1] = (uint8_t)((mine[1] & ~MX_ALIGN_SKIP_CHAIN) | (chain ? MX_ALIGN_SKIP_CHAIN : 0));
        skip = (chain ? on : start) - c->skip_more;
        if (!chain) skip_root = root;
        if (skip < DEAD) skip = NEVER;
    }
}

/* Advances `count` columns, from themselves or from `before`. Written so that compilers vectorise it: a branch
 * on scores would be mispredicted half of the time. */
static void columns_step(int32_t count, const float *restrict score, const float *restrict before,
                         const int32_t *restrict before_root, float *restrict own, int32_t *restrict root,
                         uint8_t *restrict decisions)
{
    for (int32_t i = 0; i < count; i++) {
        const float from = before[i], self = own[i];
        const int32_t moves = -(int32_t)(from > self);
        own[i] = (from > self ? from : self) + score[i];
        root[i] = (before_root[i] & moves) | (root[i] & ~moves);
        decisions[i] = (uint8_t)(moves & 1);
    }
}

#define LANES 16

static float best_of(const float *values, int32_t count)
{
    float lanes[LANES], best = NEVER;
    int32_t i = 0;
    for (int32_t k = 0; k < LANES; k++) lanes[k] = NEVER;
    for (; i + LANES <= count; i += LANES)
        for (int32_t k = 0; k < LANES; k++) lanes[k] = values[i + k] > lanes[k] ? values[i + k] : lanes[k];
    for (int32_t k = 0; k < LANES; k++) best = lanes[k] > best ? lanes[k] : best;
    for (; i < count; i++) best = values[i] > best ? values[i] : best;
    return best;
}

/* What each column may begin from: the one before it, or the gap before its word; between words: nothing. */
static void before_fill(struct mx_align_search *s, int32_t begin, int32_t end)
{
    const struct mx_align_lattice *const l = s->lattice;
    for (int32_t i = end - 1; i > begin; i--) {
        s->before[i] = s->columns.score[i - 1];
        s->before_root[i] = s->columns.root[i - 1];
    }
    for (int32_t w = s->word_begin; w < s->word_end; w++) {
        s->before[l->first[w]] = s->ready.score[w];
        s->before_root[l->first[w]] = s->ready.root[w];
        const int32_t next = w + 1 < s->word_end ? l->first[w + 1] : end;
        for (int32_t i = l->last[w]; i < next; i++) s->before[i] = NEVER;
    }
}

static float frame_step(struct mx_align_search *s, const struct mx_align_block *block, struct mx_align_record *r,
                        int32_t row)
{
    const int32_t gaps = r->word_end - r->word_begin + 1, width = r->column_end - r->column_begin;
    const float *const silence = block->silence + (size_t)row * (size_t)gaps;
    uint8_t *const decisions = mx_align_gap_decisions(r, r->frame + row);
    float best = NEVER;
    if (width > 0) {
        before_fill(s, r->column_begin, r->column_end);
        columns_step(width, block->columns + (size_t)row * (size_t)width, s->before + r->column_begin,
                     s->before_root + r->column_begin, s->columns.score + r->column_begin,
                     s->columns.root + r->column_begin, r->columns + (size_t)row * (size_t)width);
        best = best_of(s->columns.score + r->column_begin, width);
    }
    for (int32_t k = 0; k < gaps; k++) {
        const int32_t g = r->word_begin + k;
        const float enter = s->ready.score[g] - s->costs->other_enter;
        const bool stays = s->other.score[g] >= enter;
        s->other.score[g] = (stays ? s->other.score[g] : enter) + block->other[row];
        if (!stays) s->other.root[g] = s->ready.root[g];
        s->silence.score[g] = s->ready.score[g] + silence[k];
        s->silence.root[g] = s->ready.root[g];
        decisions[k] = stays ? MX_ALIGN_OTHER_STAYS : 0;
        best = s->other.score[g] > best ? s->other.score[g] : best;
        best = s->silence.score[g] > best ? s->silence.score[g] : best;
    }
    return best;
}

/* Scores relative to the best, and nothing more than the beam below it. */
static void layer_prune(struct mx_align_layer *layer, int32_t begin, int32_t end, float best, float beam)
{
    float *restrict const score = layer->score;
    for (int32_t i = begin; i < end; i++) {
        const float value = score[i] - best;
        score[i] = value < -beam ? NEVER : value;
    }
}

static void frame_prune(struct mx_align_search *s, const struct mx_align_record *r, float best)
{
    const float beam = s->costs->beam;
    layer_prune(&s->columns, r->column_begin, r->column_end, best, beam);
    layer_prune(&s->silence, r->word_begin, r->word_end + 1, best, beam);
    layer_prune(&s->other, r->word_begin, r->word_end + 1, best, beam);
}

/* ---- the window ---- */

static bool gap_lives(const struct mx_align_search *s, int32_t g)
{
    return s->silence.score[g] > DEAD || s->other.score[g] > DEAD;
}

static bool word_lives(const struct mx_align_search *s, int32_t w)
{
    if (gap_lives(s, w)) return true;
    for (int32_t i = s->lattice->first[w]; i < s->lattice->last[w]; i++)
        if (s->columns.score[i] > DEAD) return true;
    return false;
}

static void layer_clear(struct mx_align_layer *layer, int32_t begin, int32_t end)
{
    for (int32_t i = begin; i < end; i++) layer->score[i] = NEVER;
}

/* At most `wanted`, and what may be spoken in block `block`. */
static int32_t words_until(const struct mx_align_lattice *l, int64_t block, int64_t wanted)
{
    const int32_t most = l->until != NULL ? l->until[block] : l->words;
    return wanted < most ? (int32_t)wanted : most;
}

/* The first surviving word that may be spoken in block `block`; if there is none, the first survivor. */
static int32_t window_begin(const struct mx_align_search *s, int64_t block)
{
    const int32_t least = s->lattice->from != NULL ? s->lattice->from[block] : 0;
    int32_t first = s->word_begin, allowed;
    while (first < s->word_end && !word_lives(s, first)) first++;
    if (first >= least || least > s->word_end) return first;
    for (allowed = least; allowed < s->word_end && !word_lives(s, allowed); allowed++) {
    }
    return allowed < s->word_end || gap_lives(s, s->word_end) ? allowed : first;
}

/* From the first word that lives to the last that a path can reach within block `block`, which is the next. */
static void window_move(struct mx_align_search *s, int64_t block)
{
    const struct mx_align_lattice *const l = s->lattice;
    const struct mx_align_costs *const c = s->costs;
    const int32_t begin = window_begin(s, block);
    int32_t end = s->word_end;
    if (begin > s->word_begin) {
        layer_clear(&s->columns, l->first[s->word_begin], begin < l->words ? l->first[begin] : l->columns);
        layer_clear(&s->silence, s->word_begin, begin);
        layer_clear(&s->other, s->word_begin, begin);
        layer_clear(&s->ready, s->word_begin, begin);
    }
    /* the last gap that is ready within the beam, or would be if more words were left out */
    int32_t reach = begin;
    float left = NEVER;
    for (int32_t g = begin; g <= end; g++) {
        const float skipping = s->ready.score[g] + c->beam - (g < l->words ? l->skip_first[g] : 0);
        if (s->ready.score[g] + c->beam >= 0 || (g < end && word_lives(s, g))) reach = g;
        if (skipping > left) left = skipping;
        left -= c->skip_more;
    }
    const int32_t more = left > 0 ? (int32_t)(left / c->skip_more) : 0;
    const int64_t wanted = (int64_t)(left > 0 ? end + more : reach) + AHEAD;
    end = words_until(l, block, wanted);
    if (end < s->word_end) { /* nothing lives there */
        layer_clear(&s->columns, end > 0 ? l->last[end - 1] : 0, l->last[s->word_end - 1]);
        layer_clear(&s->silence, end + 1, s->word_end + 1);
        layer_clear(&s->other, end + 1, s->word_end + 1);
        layer_clear(&s->ready, end + 1, s->word_end + 1);
    }
    s->word_begin = begin;
    s->word_end = end;
}

/* ---- agreement ---- */

/* Calls `each` for every surviving state of the window; stops when it returns false. */
static bool states_walk(struct mx_align_search *s,
                        bool (*each)(struct mx_align_search *s, struct mx_align_layer *layer, int kind, int32_t at,
                                     void *context),
                        void *context)
{
    const struct mx_align_lattice *const l = s->lattice;
    for (int32_t g = s->word_begin; g <= s->word_end; g++) {
        if (s->silence.score[g] > DEAD && !each(s, &s->silence, MX_ALIGN_FROM_SILENCE, g, context)) return false;
        if (s->other.score[g] > DEAD && !each(s, &s->other, MX_ALIGN_FROM_OTHER, g, context)) return false;
        for (int32_t i = g < s->word_end ? l->first[g] : 0; g < s->word_end && i < l->last[g]; i++)
            if (s->columns.score[i] > DEAD && !each(s, &s->columns, MX_ALIGN_FROM_WORD, i, context)) return false;
    }
    return true;
}

struct ballot {
    int32_t root;
    float best;
};

static bool same_root(struct mx_align_search *s, struct mx_align_layer *layer, int kind, int32_t at, void *context)
{
    struct ballot *const b = context;
    (void)s;
    (void)kind;
    if (b->root == NO_ROOT) b->root = layer->root[at];
    return b->root == layer->root[at];
}

static bool best_root(struct mx_align_search *s, struct mx_align_layer *layer, int kind, int32_t at, void *context)
{
    struct ballot *const b = context;
    (void)s;
    (void)kind;
    if (layer->score[at] > b->best) *b = (struct ballot){layer->root[at], layer->score[at]};
    return true;
}

static bool others_die(struct mx_align_search *s, struct mx_align_layer *layer, int kind, int32_t at, void *context)
{
    (void)s;
    (void)kind;
    if (layer->root[at] != ((const struct ballot *)context)->root) layer->score[at] = NEVER;
    return true;
}

static bool root_self(struct mx_align_search *s, struct mx_align_layer *layer, int kind, int32_t at, void *context)
{
    (void)s;
    (void)context;
    layer->root[at] = root_of(kind, at);
    return true;
}

/* Frees the decisions that the path no longer needs: the record of frame `read` is kept. */
static void records_free(struct mx_align_search *s)
{
    while (s->oldest->next != NULL && s->oldest->next->frame <= s->read) {
        struct mx_align_record *const old = s->oldest;
        s->oldest = old->next;
        s->oldest->before = NULL;
        s->bytes -= old->bytes;
        mx_free(old);
    }
}

/* Makes the current frame the checkpoint. */
static void checkpoint_set(struct mx_align_search *s, int64_t frame)
{
    states_walk(s, root_self, NULL);
    s->checkpoint = frame;
    gaps_settle(s, mx_align_gap_decisions(s->newest, frame)); /* the same decisions; with the new roots */
}

/* After frame `frame`, the last of a block. */
static int agreement_seek(struct mx_align_search *s, int64_t frame)
{
    struct ballot ballot = {NO_ROOT, NEVER};
    int32_t at;
    int rc = 0;
    if (!states_walk(s, same_root, &ballot)) {
        if (s->bytes < s->costs->memory_bytes) return 0;
        ballot = (struct ballot){NO_ROOT, NEVER};
        states_walk(s, best_root, &ballot);
        states_walk(s, others_die, &ballot);
        gaps_settle(s, mx_align_gap_decisions(s->newest, frame));
        s->path->forced++;
    }
    if (s->checkpoint >= 0 && ballot.root != NO_ROOT) {
        const int kind = root_kind(ballot.root, &at);
        MX_TRY(mx_align_read(s, s->checkpoint, kind, at));
        s->read = s->checkpoint;
        records_free(s);
        if (s->scorer->agreed != NULL) MX_TRY(s->scorer->agreed(s->scorer->context, s->read + 1));
    }
    checkpoint_set(s, frame);
out:
    return rc;
}

/* ---- the whole ---- */

/* Before the first frame: gap 0 is ready, and the others if words are left out. */
static int start(struct mx_align_search *s)
{
    struct mx_align_record *r;
    int rc = 0;
    s->read = s->checkpoint = -1;
    s->silence.score[0] = 0;
    s->silence.root[0] = root_of(MX_ALIGN_FROM_SILENCE, 0);
    const int64_t reach = (int64_t)(s->costs->beam / s->costs->skip_more) + AHEAD;
    s->word_end = words_until(s->lattice, 0, reach);
    MX_TRY(record_open(s, -1, 1, &r));
    gaps_settle(s, mx_align_gap_decisions(r, -1));
out:
    return rc;
}

static int block_run(struct mx_align_search *s, int64_t frame, int32_t frames)
{
    struct mx_align_record *r;
    int rc = 0;
    MX_TRY(record_open(s, frame, frames, &r));
    MX_TRY(scores_reserve(s, (size_t)(r->column_end - r->column_begin), (size_t)(r->word_end - r->word_begin) + 1));
    const struct mx_align_block block = {.frame = frame,
                                         .frames = frames,
                                         .word_begin = r->word_begin,
                                         .word_end = r->word_end,
                                         .column_begin = r->column_begin,
                                         .column_end = r->column_end,
                                         .columns = s->score_columns,
                                         .silence = s->score_silence,
                                         .other = s->score_other};
    MX_TRY(s->scorer->score(s->scorer->context, &block));
    for (int32_t row = 0; row < frames; row++) {
        const float best = frame_step(s, &block, r, row);
        if (!(best > DEAD)) /* no path would survive, and pruned ones must not be read */
            MX_RAISE(MX_ERR_DATA, "is the voice damaged? choose another one with '--voice'",
                     "the voice cannot hear the sound: at frame %lld it gives no scores", (long long)(frame + row));
        frame_prune(s, r, best);
        gaps_settle(s, mx_align_gap_decisions(r, frame + row));
    }
out:
    return rc;
}

/* Where the path ends: at a gap, with the words after it left out. If no gap is ready, the sound ends inside a word: at
 * its column. */
static int end_choose(const struct mx_align_search *s, int *kind, int32_t *at)
{
    const struct mx_align_lattice *const l = s->lattice;
    const struct mx_align_record *const r = s->newest;
    const int32_t words = l->words, last = s->word_end;
    int32_t best = -1;
    float most = NEVER;
    for (int32_t g = s->word_begin; g <= last; g++) {
        const int32_t rest = words - g;
        const float cost = rest > 0 ? l->skip_first[g] + s->costs->skip_more * (float)rest : 0;
        if (s->ready.score[g] > DEAD && s->ready.score[g] - cost > most) {
            most = s->ready.score[g] - cost;
            best = g;
        }
    }
    if (best >= 0) {
        *kind = mx_align_ready(r, l->frames - 1, best, l, at);
        return 0;
    }
    *kind = MX_ALIGN_FROM_WORD;
    for (int32_t w = s->word_begin; w < last; w++)
        for (int32_t i = l->first[w]; i < l->last[w]; i++)
            if (s->columns.score[i] > most) {
                most = s->columns.score[i];
                best = *at = i;
            }
    return best >= 0 ? 0 : MX_FAIL(MX_ERR_DATA, "choose another voice with '--voice'", "no word ends with the sound");
}

int mx_align_run(const struct mx_align_lattice *lattice, const struct mx_align_costs *costs,
                 const struct mx_align_scorer *scorer, struct mx_align_path *path)
{
    struct mx_align_search s = {.lattice = lattice, .costs = costs, .scorer = scorer, .path = path};
    int32_t at = 0;
    int rc = 0;
    *path = (struct mx_align_path){0};
    path->begin = mx_alloc((size_t)lattice->words + 1, sizeof *path->begin);
    path->end = mx_alloc((size_t)lattice->words + 1, sizeof *path->end);
    if (path->begin == NULL || path->end == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t w = 0; w < lattice->words; w++) path->begin[w] = path->end[w] = -1;
    MX_TRY(search_open(&s));
    MX_TRY(start(&s));
    for (int64_t frame = 0; frame < lattice->frames; frame += MX_ALIGN_BLOCK) {
        const int64_t left = lattice->frames - frame;
        const int32_t frames = left < MX_ALIGN_BLOCK ? (int32_t)left : MX_ALIGN_BLOCK;
        MX_TRY(block_run(&s, frame, frames));
        MX_TRY(agreement_seek(&s, frame + frames - 1));
        if (frame + frames < lattice->frames) window_move(&s, frame / MX_ALIGN_BLOCK + 1);
    }
    if (lattice->frames > 0) {
        int kind;
        MX_TRY(end_choose(&s, &kind, &at));
        MX_TRY(mx_align_read(&s, lattice->frames - 1, kind, at));
        if (scorer->agreed != NULL) MX_TRY(scorer->agreed(scorer->context, lattice->frames));
    }
out:
    search_close(&s);
    if (rc < 0) mx_align_path_release(path);
    return rc;
}

void mx_align_path_release(struct mx_align_path *path)
{
    mx_free(path->begin);
    mx_free(path->end);
    mx_free(path->other);
    *path = (struct mx_align_path){0};
}
