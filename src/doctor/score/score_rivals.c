/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Comparing sounds with the texts of other rows, see score_rivals.h.
 */
#include "doctor/score/score_rivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "myxtts/error.h"

#define NEIGHBOURS  10   /* rows before and after it that a row is compared with */
#define ALIKE       20   /* rows of about the same length that a row is compared with */
#define ROWS_MOST   24   /* rows of a batch that are compared: the worst */
#define BELOW_USUAL 1.5  /* nats a frame below the median of the batch: such rows are compared */
#define LOW         -4.5 /* so are rows below this score: matching rows of unheard people score from -4 to -1.5 */
#define CLEARLY     1.5  /* nats a frame by which another text must be better */
#define FITS        1.5  /* nats a frame that this text may be below the median */

struct comparing {
    const struct mx_doctor_batch *batch;
    struct mx_doctor_scores *scores;
    uint32_t rows[MX_DOCTOR_BATCH_ROWS]; /* of the batch, the worst first */
    struct mx_first_error failure;
};

/* A row whose text may be tried, and how far its length is from the wanted one. */
struct candidate {
    uint32_t row;
    int32_t apart;
};

static int candidate_compare(const void *a, const void *b)
{
    const struct candidate *const x = a, *const y = b;
    if (x->apart != y->apart) return x->apart < y->apart ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Rows of the batch whose texts row `i` is compared with. */
static size_t candidates_choose(const struct mx_doctor_batch *b, uint32_t i, struct candidate *out)
{
    const struct mx_doctor_batch_row *const own = &b->rows[i];
    size_t count = 0, near = 0;
    for (uint32_t k = 0; k < b->count; k++) {
        const struct mx_doctor_batch_row *const h = &b->rows[k];
        if (k == i || h->unscored != MX_DOCTOR_SCORED || strcmp(h->text.source, own->text.source) == 0) continue;
        const bool neighbour = (k > i ? k - i : i - k) <= NEIGHBOURS;
        near += neighbour;
        out[count++] = (struct candidate){k, neighbour ? -1 : abs(h->text.token_count - own->text.token_count)};
    }
    qsort(out, count, sizeof *out, candidate_compare);
    return count < near + ALIKE ? count : near + ALIKE;
}

static int row_compare(const struct comparing *c, uint32_t i)
{
    struct candidate candidates[MX_DOCTOR_BATCH_ROWS];
    const struct mx_doctor_batch_row *const h = &c->batch->rows[i];
    struct mx_doctor_score *const result = &c->scores->rows[h->row];
    const size_t count = candidates_choose(c->batch, i, candidates);
    double best = -INFINITY;
    uint32_t best_row = 0;
    for (size_t k = 0; k < count; k++) {
        const struct mx_doctor_batch_row *const other = &c->batch->rows[candidates[k].row];
        const struct mx_doctor_reading reading = {.text = &other->text, .means = other->means};
        double score;
        const int rc = mx_doctor_align_all(&h->sound, &reading, &score, NULL);
        if (rc < 0) return rc;
        if (score <= best) continue;
        best = score;
        best_row = other->row;
    }
    if (best == -INFINITY) return 0;
    result->better_by = best - h->score;
    if (result->better_by >= CLEARLY && best >= c->batch->usual - FITS && best >= LOW) result->better = best_row;
    return 0;
}

static void rows_compare(void *context, int64_t begin, int64_t end, int worker)
{
    struct comparing *const c = context;
    (void)worker;
    for (int64_t i = begin; i < end && !mx_first_error_failed(&c->failure); i++)
        if (row_compare(c, c->rows[i]) < 0) mx_first_error_keep(&c->failure);
}

int mx_doctor_rivals_compare(struct mx_doctor_session *session, const struct mx_doctor_batch *b,
                             struct mx_doctor_scores *scores)
{
    struct comparing c = {.batch = b, .scores = scores};
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct mx_doctor_batch_row *const h = &b->rows[i];
        if (h->unscored != MX_DOCTOR_SCORED || (h->score >= b->usual - BELOW_USUAL && h->score >= LOW)) continue;
        uint32_t at = count++;
        for (; at > 0 && b->rows[c.rows[at - 1]].score > h->score; at--) c.rows[at] = c.rows[at - 1];
        c.rows[at] = i;
    }
    mx_pool_for(session->pool, count < ROWS_MOST ? count : ROWS_MOST, 1, rows_compare, &c);
    return mx_first_error_raise(&c.failure);
}
