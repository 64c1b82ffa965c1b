/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The learning rate of each step: a warm-up, then a cosine down to a floor, where it stays.
 *
 * The rate is a pure function of the step, so a resumed run continues exactly. It is finite and positive for every
 * int64_t step; after the last planned step it is the floor. With several cycles the cosine restarts that many times,
 * each time from a lower peak, which helps a run that has stopped improving too early.
 *
 * A run whose length is decided while it runs holds the peak instead, until the step at which its end is known, and
 * falls to the floor from there; cycles then have no effect. A run that turns out to have time for fewer steps than
 * planned follows its schedule until that is known, and falls to the floor from the rate it has reached.
 *
 * Plain values only: nothing is allocated.
 */
#ifndef MX_TRAIN_SCHEDULE_H
#define MX_TRAIN_SCHEDULE_H

#include <stdint.h>

struct mx_schedule {
    double peak;        /* highest rate; > 0 */
    double floor;       /* lowest rate after the warm-up, as a share of the peak; > 0 … 1 */
    int64_t warmup;     /* steps; 0: none */
    int64_t steps;      /* planned, warm-up included; ≥ 1 */
    int64_t hold;       /* > 0: the peak stays until this step, as above; ≤ steps */
    int64_t fall;       /* > 0: from this step on the rate falls, whatever it is */
    int64_t fall_end;   /* the rate is at the floor from this step on; > fall */
    int32_t cycles;     /* ≥ 1 */
    double cycle_decay; /* peak of each cycle as a share of the previous one's; > 0 … 1 */
};

/* MX_ERR_CONFIG naming the first impossible value. */
int mx_schedule_check(const struct mx_schedule *schedule);
/* The rate of step 0, 1, 2 … */
double mx_schedule_rate(const struct mx_schedule *schedule, int64_t step);

/* ---- named settings ---- */

enum mx_level {
    MX_LEVEL_BASIC,           /* half the usual rate and a high floor */
    MX_LEVEL_ENHANCED,        /* one long cosine from the full rate */
    MX_LEVEL_PLATEAU_BREAKER, /* four cosines, each from a lower peak, with tighter clipping and more decay */
    MX_LEVEL_COUNT
};

/* The values that a level stands for; its name is a choice of training.optimization_level (run/settings.c). */
struct mx_level_settings {
    double peak, floor, cycle_decay;
    int64_t warmup;
    int32_t cycles;
    double grad_clip, weight_decay, ema_decay, dropout;
};

const struct mx_level_settings *mx_level_settings(enum mx_level level);

#endif
