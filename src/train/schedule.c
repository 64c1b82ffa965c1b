/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The learning rate, see schedule.h.
 */
#include "train/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "myxtts/error.h"

#define PI 3.14159265358979323846

static const struct mx_level_settings levels[] = {
#define X(id, title, top, warm, low, turns, down, clip, decay, ema, drop, words)                                       \
    {.name = (title),                                                                                                  \
     .help = (words),                                                                                                  \
     .peak = (top),                                                                                                    \
     .floor = (low),                                                                                                   \
     .cycle_decay = (down),                                                                                            \
     .warmup = (warm),                                                                                                 \
     .cycles = (turns),                                                                                                \
     .grad_clip = (clip),                                                                                              \
     .weight_decay = (decay),                                                                                          \
     .ema_decay = (ema),                                                                                               \
     .dropout = (drop)},
    MX_LEVEL_LIST(X)
#undef X
};

const struct mx_level_settings *mx_level_settings(enum mx_level level)
{
    return &levels[level];
}

/* Is the value in (0, most]? False for NaN. */
static bool within(double value, double most)
{
    return value > 0 && value <= most;
}

int mx_schedule_check(const struct mx_schedule *s)
{
    if (!within(s->peak, 1))
        return MX_FAIL(MX_ERR_CONFIG, "1e-3 is a good start", "the learning rate %g is not in 0 … 1", s->peak);
    if (!within(s->floor, 1) || !within(s->cycle_decay, 1))
        return MX_FAIL(MX_ERR_CONFIG, "both are shares of a rate: more than 0 and at most 1",
                       "the learning rate cannot have a floor of %g and a cycle decay of %g", s->floor, s->cycle_decay);
    if (s->peak * s->floor < 1e-30)
        return MX_FAIL(MX_ERR_CONFIG, "raise one of the two",
                       "a learning rate of %g with a floor of %g becomes too small to train with", s->peak, s->floor);
    if (s->warmup < 0 || s->steps < 1 || s->cycles < 1)
        return MX_FAIL(MX_ERR_CONFIG, "there must be at least one step and one cycle",
                       "a schedule of %lld steps, %lld of them warm-up, in %d cycles is impossible",
                       (long long)s->steps, (long long)s->warmup, (int)s->cycles);
    return 0;
}

/* Falls quickly at first and leaves time at low rates. `done`: the part of the fall that is over, 0 to 1. */
static double fall(double from, double low, double done)
{
    return low + (from - low) * (1 - sqrt(done));
}

/* As planned. */
static double planned_rate(const struct mx_schedule *s, int64_t step)
{
    const double low = s->peak * s->floor;
    if (step < s->warmup) return s->peak * ((double)step + 1) / (double)s->warmup;
    if (step >= s->steps) return low;
    if (s->hold > 0) { /* hold ≤ steps */
        if (step < s->hold) return s->peak;
        return fall(s->peak, low, (double)(step - s->hold) / (double)(s->steps - s->hold));
    }
    /* Here warmup ≤ step < steps, so the length is at least 1. */
    const double cycle = (double)(s->steps - s->warmup) / s->cycles;
    const double done = (double)(step - s->warmup) / cycle;
    const double turn = fmin(floor(done), s->cycles - 1);
    const double top = fmax(s->peak * pow(s->cycle_decay, turn), low);
    return low + (top - low) * 0.5 * (1 + cos(PI * fmin(done - turn, 1)));
}

double mx_schedule_rate(const struct mx_schedule *s, int64_t step)
{
    if (step < 0) step = 0;
    if (s->fall == 0 || step < s->fall) return planned_rate(s, step);
    const double from = planned_rate(s, s->fall), low = fmin(from, s->peak * s->floor);
    return step < s->fall_end ? fall(from, low, (double)(step - s->fall) / (double)(s->fall_end - s->fall)) : low;
}
