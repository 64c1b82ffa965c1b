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

static const struct mx_level_settings levels[MX_LEVEL_COUNT] = {
    [MX_LEVEL_BASIC] = {.peak = 5e-4,
                        .warmup = 500,
                        .floor = 0.1,
                        .cycles = 1,
                        .cycle_decay = 1.0,
                        .grad_clip = 1.0,
                        .weight_decay = 0.01,
                        .ema_decay = 0.999,
                        .dropout = 0.1},
    [MX_LEVEL_ENHANCED] = {.peak = 1e-3,
                           .warmup = 200,
                           .floor = 0.02,
                           .cycles = 1,
                           .cycle_decay = 1.0,
                           .grad_clip = 1.0,
                           .weight_decay = 0.01,
                           .ema_decay = 0.999,
                           .dropout = 0.1},
    [MX_LEVEL_PLATEAU_BREAKER] = {.peak = 1e-3,
                                  .warmup = 200,
                                  .floor = 0.02,
                                  .cycles = 4,
                                  .cycle_decay = 0.7,
                                  .grad_clip = 0.5,
                                  .weight_decay = 0.05,
                                  .ema_decay = 0.9995,
                                  .dropout = 0.15},
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
