/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The range of plausible speaking rates, see rate.h. Owns no memory.
 */
#include "corpus/rate.h"

#include <math.h>

#include "base/robust.h"

#define DEVIATIONS 6.0 /* of a normal distribution, either way */
#define FACTOR     3.5 /* the range is at least this wide, either way */
#define FACTOR_MAX 6.0 /* and at most this wide */
#define STEP       1.1
/* Limits of the learned range. */
#define LEAST_EVER 0.25
#define MOST_EVER  100.0

bool mx_rate_is_sound(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } silent[] = {{0, '@'},         {0x00A0, 0x00BF}, {0x02B9, 0x02DF}, {0x02E5, 0x02FF}, {0x0300, 0x036F},
                  {0x0600, 0x061F}, {0x0640, 0x0640}, {0x064B, 0x065F}, {0x0670, 0x0670}, {0x06D4, 0x06D4},
                  {0x06D6, 0x06ED}, {0x2000, 0x206F}, {0x2191, 0x2193}};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (code >= silent[i].first && code <= silent[i].last) return false;
    return true;
}

size_t mx_rate_sounds(const uint32_t *symbols, size_t count)
{
    size_t sounds = 0;
    for (size_t i = 0; i < count; i++) sounds += mx_rate_is_sound(symbols[i]);
    return sounds;
}

struct mx_rate mx_rate_learn(double *rates, size_t count)
{
    struct mx_rate rate = MX_RATE_DEFAULT;
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (rates[i] > 0 && isfinite(rates[i])) rates[used++] = log(rates[i]);
    if (used < MX_RATE_ROWS) return rate;
    const struct mx_robust usual = mx_robust_of(rates, used);
    const double reach = fmin(fmax(DEVIATIONS * usual.deviation, log(FACTOR)), log(FACTOR_MAX));
    rate.least = fmax(LEAST_EVER, pow(STEP, floor((usual.middle - reach) / log(STEP))));
    rate.most = fmin(MOST_EVER, pow(STEP, ceil((usual.middle + reach) / log(STEP))));
    return rate;
}

bool mx_rate_fits(const struct mx_rate *rate, size_t sounds, double seconds)
{
    return (double)sounds >= rate->least * (seconds - MX_RATE_PAUSE_SECONDS) && (double)sounds <= rate->most * seconds;
}
