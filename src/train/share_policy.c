/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Work sharing: lists of shares, division of batches, and balance, see share_policy.h.
 */
#include "train/share_policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "myxtts/error.h"

#define CHANGE_LEAST 0.01
#define CHANGE_EARLY 0.05 /* least change while fewer than STEPS_EARLY steps were measured, */
#define STEPS_EARLY  8    /* whose spread says little, too */
#define ERRORS_LEAST 3    /* standard errors of the median that a change must exceed */
#define EVERY        512  /* steps, after the first points */
#define STEPS_LEAST  2    /* with one share before anything follows from their times */

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
    if (colon == NULL || mx_string_parse_int64(copy, &point.step) != MX_STRING_NUMBER ||
        mx_string_parse_double(colon + 1, &point.share) != MX_STRING_NUMBER)
        return MX_FAIL(MX_ERR_USAGE, "write STEP:SHARE pairs separated by commas: 0:0.5,15:0.47",
                       "'%s' is not a point in a list of shares", word);
    if (!(point.share >= 0 && point.share <= 1) || point.step < 0)
        return MX_FAIL(MX_ERR_USAGE, "shares are parts of a batch: 0 to 1", "'%s' is not a valid share", word);
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
        char share[MX_STRING_DOUBLE_BYTES];
        mx_string_from_double(shares->points[i].share, share);
        const int more = snprintf(out + length, MX_SHARES_TEXT_BYTES - length, "%s%lld:%s", i > 0 ? "," : "",
                                  (long long)shares->points[i].step, share);
        if (more > 0) length += (size_t)more;
    }
}

/* ---- whether work is shared at all ---- */

static enum mx_share_obstacle obstacle_of(const struct mx_share_setup *s)
{
    if (!s->two_devices) return MX_SHARE_ONE_DEVICE;
    if (s->ranks) return MX_SHARE_RANKS;
    if (s->unable) return MX_SHARE_UNABLE;
    return s->no_room ? MX_SHARE_NO_ROOM : MX_SHARE_NO_OBSTACLE;
}

struct mx_share_choice mx_share_choose(const struct mx_share_setup *setup)
{
    const enum mx_share_obstacle obstacle = obstacle_of(setup);
    if (setup->asked == MX_SHARE_OFF || obstacle == MX_SHARE_NO_OBSTACLE)
        return (struct mx_share_choice){.mode = setup->asked};
    if (setup->asked == MX_SHARE_AUTO) return (struct mx_share_choice){MX_SHARE_OFF, obstacle, false};
    return (struct mx_share_choice){MX_SHARE_ON, obstacle, obstacle != MX_SHARE_NO_ROOM};
}

int mx_share_refuse(enum mx_share_obstacle obstacle, const char *device)
{
    if (obstacle == MX_SHARE_RANKS)
        return MX_FAIL(MX_ERR_CONFIG, "use '--share-work off', and start one more rank for the data device",
                       "work is shared either between two devices or among ranks");
    return MX_FAIL(MX_ERR_CONFIG,
                   "name a data and a model device ('--data-gpu 0 --model-gpu 1'), or share no work "
                   "('--share-work off')",
                   "work can only be shared between two devices, but there is only one, %s", device);
}

/* ---- dividing ---- */

struct mx_share_part mx_share_split(const int32_t *offsets, int32_t sequences, double wanted, int64_t most)
{
    struct mx_share_part best = {0};
    double best_distance = fabs(wanted);
    for (int32_t count = 1; count <= sequences; count++)
        for (int32_t first = 0; first + count <= sequences; first++) {
            const int64_t frames = (int64_t)offsets[first + count] - offsets[first];
            const double distance = fabs((double)frames - wanted);
            if (frames > most || distance >= best_distance) continue;
            best = (struct mx_share_part){first, count};
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

/* Sorts them. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double mx_share_balance(const struct mx_share_meter *m, double present, double most)
{
    double sorted[MX_SHARE_WINDOW];
    const size_t count = (size_t)(m->balances < MX_SHARE_WINDOW ? m->balances : MX_SHARE_WINDOW);
    if (count == 0) return present;
    memcpy(sorted, m->balance, count * sizeof *sorted);
    const double middle = median_of(sorted, count);
    for (size_t i = 0; i < count; i++) sorted[i] = fabs(sorted[i] - middle);
    /* Of normally distributed values, 1.4826 times the median distance from their median is the deviation, and that of
     * the median itself is larger than the mean's by √(π/2). */
    const double error = 1.4826 * 1.2533 * median_of(sorted, count) / sqrt((double)count);
    const double least = fmax(count < STEPS_EARLY ? CHANGE_EARLY : CHANGE_LEAST, ERRORS_LEAST * error);
    const double share = fmin(round(1000 * middle) / 1000, most); /* three digits make the list short */
    return fabs(share - present) < least ? present : share;
}

/* ---- deciding ---- */

double mx_share_guess(double speed, double idle, double most)
{
    const double free = idle * speed;
    return fmin(round(1000 * free / (1 + free)) / 1000, most);
}

struct mx_share_decision mx_share_decide(const struct mx_share_case *c)
{
    const struct mx_share_meter *const m = c->meter;
    struct mx_share_decision d = {.share = c->share};
    if (m->steps < STEPS_LEAST || m->step_ns == 0) return d;
    if (c->share == 0) {
        const double share = mx_share_guess(c->speed, c->idle, c->most);
        if (c->mode == MX_SHARE_AUTO && share >= MX_SHARE_LEAST)
            d = (struct mx_share_decision){MX_SHARE_BEGIN, share, 0};
        return d;
    }
    if (c->alone_ns > 0) d.gain = c->alone_ns * (double)(m->own_frames + m->other_frames) / (double)m->step_ns;
    if (c->mode == MX_SHARE_AUTO && d.gain > 0 && d.gain < MX_SHARE_GAIN) {
        d.verdict = MX_SHARE_END;
        d.share = 0;
        return d;
    }
    d.share = mx_share_balance(m, c->share, c->most);
    if (d.share != c->share) d.verdict = MX_SHARE_CHANGE;
    return d;
}
