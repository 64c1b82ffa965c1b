/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Work sharing: lists of shares, division of batches, and balance, see share.h.
 */
#include "train/share.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "myxtts/error.h"

#define CHANGE_LEAST 0.02
#define EVERY        512 /* steps, after the first points */

/* ---- lists ---- */

double mx_shares_at(const struct mx_shares *shares, int64_t step)
{
    double share = 0;
    for (int32_t i = 0; i < shares->count && shares->points[i].step <= step; i++) share = shares->points[i].share;
    return share;
}

bool mx_shares_add(struct mx_shares *shares, int64_t step, double share)
{
    if (shares->count > 0 && shares->points[shares->count - 1].step == step) shares->count--;
    if (shares->count == MX_SHARE_POINTS) return false;
    shares->points[shares->count++] = (struct mx_share_point){step, share};
    return true;
}

static int point_parse(const char *word, struct mx_shares *out)
{
    char copy[64], *const colon = snprintf(copy, sizeof copy, "%s", word) < (int)sizeof copy ? strchr(copy, ':') : NULL;
    struct mx_share_point point = {0};
    if (colon != NULL) *colon = '\0';
    if (colon == NULL || mx_text_parse_int64(copy, &point.step) != MX_TEXT_NUMBER ||
        mx_text_parse_double(colon + 1, &point.share) != MX_TEXT_NUMBER)
        return MX_FAIL(MX_ERR_USAGE, "write STEP:SHARE, with commas between: 0:0.5,15:0.47",
                       "'%s' is no point of a list of shares", word);
    if (!(point.share >= 0 && point.share <= 1) || point.step < 0)
        return MX_FAIL(MX_ERR_USAGE, "shares are parts of a batch: 0 to 1", "'%s' cannot be a share", word);
    if (out->count > 0 && out->points[out->count - 1].step >= point.step)
        return MX_FAIL(MX_ERR_USAGE, "write them in the order of their steps", "step %lld comes after step %lld",
                       (long long)point.step, (long long)out->points[out->count - 1].step);
    if (!mx_shares_add(out, point.step, point.share))
        return MX_FAIL(MX_ERR_USAGE, "leave some out", "a list of shares has at most %d points", MX_SHARE_POINTS);
    return 0;
}

int mx_shares_parse(const char *text, struct mx_shares *out)
{
    char word[64];
    *out = (struct mx_shares){0};
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        const int rc = point_parse(word, out);
        if (rc < 0) return rc;
        text += length;
        if (*text == ',') text++;
    }
    return 0;
}

void mx_shares_format(const struct mx_shares *shares, char out[MX_SHARES_TEXT_BYTES])
{
    size_t length = 0;
    out[0] = '\0';
    for (int32_t i = 0; i < shares->count; i++) {
        char share[MX_TEXT_DOUBLE_BYTES];
        mx_text_from_double(shares->points[i].share, share);
        const int more = snprintf(out + length, MX_SHARES_TEXT_BYTES - length, "%s%lld:%s", i > 0 ? "," : "",
                                  (long long)shares->points[i].step, share);
        if (more > 0) length += (size_t)more;
    }
}

/* ---- dividing ---- */

struct mx_share_part mx_share_split(const int32_t *offsets, int32_t sequences, double wanted, int64_t most)
{
    struct mx_share_part best = {0};
    double best_distance = fabs(wanted);
    for (int32_t count = 1; count <= sequences; count++)
        for (int end = 0; end < 2; end++) {
            const int64_t frames = end ? (int64_t)offsets[sequences] - offsets[sequences - count] : offsets[count];
            const double distance = fabs((double)frames - wanted);
            if (frames > most || distance >= best_distance) continue;
            best = (struct mx_share_part){count, end == 1};
            best_distance = distance;
        }
    return best;
}

/* ---- measuring ---- */

void mx_share_meter_add(struct mx_share_meter *m, uint64_t own_ns, int64_t own_frames, uint64_t other_ns,
                        int64_t other_frames, uint64_t step_ns)
{
    m->steps++;
    m->own_ns += own_ns;
    m->other_ns += other_ns;
    m->step_ns += step_ns;
    m->own_frames += own_frames;
    m->other_frames += other_frames;
    if (own_frames == 0 || other_frames == 0 || own_ns == 0 || other_ns == 0) return;
    const double own = (double)own_ns / (double)own_frames, other = (double)other_ns / (double)other_frames;
    m->balance[m->balances++ % MX_SHARE_WINDOW] = own / (own + other);
}

bool mx_share_due(int64_t step)
{
    return step == 4 || step == 12 || step == 28 || step == 60 || (step > 0 && step % EVERY == 0);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double mx_share_balance(const struct mx_share_meter *m, double present, double most)
{
    double sorted[MX_SHARE_WINDOW];
    const size_t count = (size_t)(m->balances < MX_SHARE_WINDOW ? m->balances : MX_SHARE_WINDOW);
    if (count == 0) return present;
    memcpy(sorted, m->balance, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    const double middle = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    const double share = fmin(round(1000 * middle) / 1000, most); /* three digits make the list short */
    return fabs(share - present) < CHANGE_LEAST ? present : share;
}
