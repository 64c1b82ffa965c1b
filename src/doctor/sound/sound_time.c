/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Timing: levels of windows, where speech begins and ends, noise around it, silence inside it, and how sound
 * dies away; see sound.h.
 *
 * Speech begins with the first clear vowel: at least 70 ms of periodic sound at nearly full level. What sounds before it
 * without a pause belongs to its word, but no more than a consonant can take; the rest is noise (a click, a breath, a
 * chair). The same holds after the last one.
 *
 * Reverberation is estimated from free decays: where the level falls by 14 dB or more without rising again, the straight
 * line through the fall says how long 60 dB would take. Two falls are needed, or one that is long and straight. A voice
 * that fades makes a fall slower and never faster than the room allows, so the faster falls of a recording show the room.
 * This is no measured reverberation time: it needs pauses in which the sound falls freely, knows no frequencies, and for a
 * dry room it gives what voices do, about a tenth of a second.
 */
#include <math.h>
#include <stdbool.h>

#include "base/number.h"
#include "base/robust.h"
#include "doctor/sound/sound_internal.h"

#define LANES 8

/* ---- levels ---- */

/* Power and mean of a window, and the power of the differences of its samples, from the one before it on. */
static void window_measure(const float *x, bool first, double *power, double *mean, double *bright)
{
    float plain[LANES] = {0}, total[LANES] = {0}, steps[LANES] = {0};
    double sums[3] = {0};
    size_t i = first ? 1 : 0;
    for (; i + LANES <= MX_HEARING_WINDOW; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            const float step = x[i + k] - (x - 1)[i + k];
            plain[k] += x[i + k] * x[i + k];
            total[k] += x[i + k];
            steps[k] += step * step;
        }
    for (; i < MX_HEARING_WINDOW; i++) {
        const float step = x[i] - (x - 1)[i];
        plain[0] += x[i] * x[i];
        total[0] += x[i];
        steps[0] += step * step;
    }
    for (size_t k = 0; k < LANES; k++) {
        sums[0] += (double)plain[k];
        sums[1] += (double)total[k];
        sums[2] += (double)steps[k];
    }
    *power = sums[0] / MX_HEARING_WINDOW;
    *mean = sums[1] / MX_HEARING_WINDOW;
    *bright = sums[2] / MX_HEARING_WINDOW;
}

void mx_doctor_hearing_windows(struct mx_doctor_hearing *h)
{
    const size_t count = h->count / MX_HEARING_WINDOW;
    h->windows = count;
    h->low_count = h->count / MX_HEARING_LOW;
    for (size_t i = 0; i < h->low_count; i++) {
        const float *const x = &h->samples[i * MX_HEARING_LOW];
        h->low[i] = (((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]))) * (1.0f / MX_HEARING_LOW);
    }
    for (size_t w = 0; w < count; w++)
        window_measure(h->samples + w * MX_HEARING_WINDOW, w == 0, &h->powers[w], &h->means[w], &h->scratch[w]);
    for (size_t w = 0; w < count; w++) {
        const size_t from = w > 0 ? w - 1 : 0, to = w + 1 < count ? w + 1 : w;
        double sum = 0;
        for (size_t i = from; i <= to; i++) sum += h->scratch[i];
        h->levels[w] = fmax(10 * log10(sum / (double)(to - from + 1) + 1e-30), MX_HEARING_LEAST);
    }
    h->quiet_db = h->floor_db = h->loud_db = MX_HEARING_LEAST;
    if (count == 0) return;
    for (size_t w = 0; w < count; w++) h->scratch[w] = h->levels[w];
    mx_robust_sort(h->scratch, count);
    h->quiet_db = h->scratch[count / 50];
    h->floor_db = h->scratch[count / 10];
    h->loud_db = h->scratch[count - 1 - count / 20];
}

/* ---- vowels ---- */

#define VOICE_SIZE 88   /* low samples, 32 ms */
#define LAG_LEAST  7    /* the shortest period: 394 Hz */
#define LAG_MOST   42   /* the longest period: 66 Hz */
#define VOICED     0.6  /* a correlation */
#define VOWEL_RUN  4    /* steps of 10 ms */
#define VOWEL_DB   20.0 /* below loud */

static double product(const float *a, const float *b, size_t count)
{
    float lanes[LANES] = {0};
    double sum = 0;
    for (size_t i = 0; i < count; i += LANES)
        for (size_t k = 0; k < LANES; k++) lanes[k] += a[i + k] * b[i + k];
    for (size_t k = 0; k < LANES; k++) sum += (double)lanes[k];
    return sum;
}

/* Whether sound repeats itself from this window on. */
static bool voiced_at(const struct mx_doctor_hearing *h, size_t window)
{
    const size_t begin = window * MX_HEARING_WINDOW / MX_HEARING_LOW;
    if (h->levels[window] < h->loud_db - VOWEL_DB || begin + VOICE_SIZE + LAG_MOST > h->low_count) return false;
    const float *const x = h->low + begin;
    const double energy = product(x, x, VOICE_SIZE);
    for (size_t lag = LAG_LEAST; lag <= LAG_MOST; lag++) {
        const double same = product(x, x + lag, VOICE_SIZE);
        if (same > 0 && same * same > VOICED * VOICED * energy * product(x + lag, x + lag, VOICE_SIZE)) return true;
    }
    return false;
}

/* The first window of the first vowel from an end on, or the number of windows if there is none. Both directions use the even
 * windows, so that both find one or neither does. */
static size_t vowel_find(const struct mx_doctor_hearing *h, bool backwards)
{
    const size_t steps = (h->windows + 1) / 2;
    size_t run = 0;
    for (size_t i = 0; i < steps; i++) {
        const size_t w = 2 * (backwards ? steps - 1 - i : i);
        run = voiced_at(h, w) ? run + 1 : 0;
        if (run == VOWEL_RUN) return backwards ? w + 2 * (VOWEL_RUN - 1) : w - 2 * (VOWEL_RUN - 1);
    }
    return h->windows;
}

/* ---- around the speech ---- */

#define BEFORE_SECONDS 0.35 /* longest consonant onset before a vowel */
#define AFTER_SECONDS  0.40 /* longest consonants after a vowel, with the room's decay */
#define BEFORE_PAUSE   0.12 /* shortest silence outside of a word, before a vowel: closures are shorter */
#define AFTER_PAUSE    0.22 /* the same after a vowel */
#define ABOVE_DB       12.0 /* sound is at least this far above the floor */
#define BELOW_DB       42.0 /* and at most this far below the loud parts */

#define FAINT_DB 40.0 /* below the level of the recording is silence in any case */

static size_t windows_of(double seconds)
{
    return (size_t)(seconds * MX_HEARING_WINDOWS + 0.5);
}

/* How many windows beyond `from` belong to the same word; `step` is the direction, `most` how many there are. */
static size_t word_reach(const struct mx_doctor_hearing *h, size_t from, int step, size_t most, size_t pause,
                         double least)
{
    size_t reach = 0;
    for (size_t i = 1; i <= most && i - reach <= pause; i++)
        if (h->levels[step < 0 ? from - i : from + i] >= least) reach = i;
    return reach;
}

static double sounding(const struct mx_doctor_hearing *h, size_t begin, size_t end, double least)
{
    size_t count = 0;
    for (size_t w = begin; w < end; w++) count += h->levels[w] >= least;
    return (double)count / MX_HEARING_WINDOWS;
}

/* The longest time inside the speech in which nothing is louder than the background, or than any consonant. */
static void silence_find(const struct mx_doctor_hearing *h, struct mx_doctor_sound *sound)
{
    const double faint = pow(10, (sound->level_db - FAINT_DB) / 10);
    const double most = fmin(fmax(h->loud_db - 30, h->floor_db + 8), h->loud_db - 12);
    size_t run = 0, longest = 0, end = 0;
    for (size_t w = h->speech_begin; w < h->speech_end; w++) {
        run = h->levels[w] < most || h->powers[w] < faint ? run + 1 : 0;
        if (run <= longest) continue;
        longest = run;
        end = w + 1;
    }
    sound->silence = (double)longest / MX_HEARING_WINDOWS;
    sound->silence_at = (double)(end - longest) / MX_HEARING_WINDOWS;
}

void mx_doctor_hearing_speech(struct mx_doctor_hearing *h, struct mx_doctor_sound *sound)
{
    const double least = fmax(h->floor_db + ABOVE_DB, h->loud_db - BELOW_DB);
    const size_t first = vowel_find(h, false), last = vowel_find(h, true);
    h->speech_begin = 0;
    h->speech_end = h->windows;
    sound->speech_end = sound->seconds;
    if (first == h->windows) return; /* no vowel, as in a whisper: all of it may be speech */
    const size_t before = mx_least(first, windows_of(BEFORE_SECONDS));
    const size_t after = mx_least(h->windows - 1 - last, windows_of(AFTER_SECONDS + sound->decay_seconds));
    h->speech_begin = first - word_reach(h, first, -1, before, windows_of(BEFORE_PAUSE), least);
    h->speech_end = last + 1 + word_reach(h, last, 1, after, windows_of(AFTER_PAUSE), least);
    sound->speech_begin = (double)h->speech_begin / MX_HEARING_WINDOWS;
    sound->speech_end = (double)h->speech_end / MX_HEARING_WINDOWS;
    sound->noise_before = sounding(h, 0, h->speech_begin, least);
    sound->noise_after = sounding(h, h->speech_end, h->windows, least);
    silence_find(h, sound);
}

/* ---- reverberation ---- */

#define DECAYS_MOST   256
#define DECAYS_LEAST  2 /* one is enough if it is long and straight, because voices seldom fade like that: */
#define STRAIGHT_DB   20.0
#define STRAIGHT_OFF  1.5  /* dB */
#define DECAY_DB      14.0 /* the least fall */
#define DECAY_SKIP    5.0  /* dB at the beginning, which are still the voice's */
#define DECAY_ABOVE   10.0 /* dB above the quietest windows, where a fall ends */
#define DECAY_DEPTH   40.0 /* dB below the loud windows, where it ends if that is earlier (digital silence) */
#define DECAY_PAUSE   14   /* windows without a new minimum, which end a fall */
#define DECAY_RISE    6.0  /* dB above the minimum, which end it, too: a room's sound is not smooth */
#define DECAY_QUARTER 4    /* a quarter of the falls is faster than the one that counts */

struct fall {
    double seconds; /* for 60 dB, by the straight line through it; 0: it rises */
    double db;      /* of the line from end to end */
    double off_db;  /* how far the levels are from the line, RMS */
};

static struct fall fall_measure(const double *levels, size_t begin, size_t end)
{
    const double n = (double)(end - begin), middle = (n - 1) / 2;
    double mean = 0, up = 0, down = 0, off = 0;
    for (size_t w = begin; w < end; w++) mean += levels[w] / n;
    for (size_t w = begin; w < end; w++) {
        const double at = (double)(w - begin) - middle;
        up += at * (levels[w] - mean);
        down += at * at;
    }
    const double slope = up / down; /* dB a window */
    for (size_t w = begin; w < end; w++) off += pow(levels[w] - mean - slope * ((double)(w - begin) - middle), 2) / n;
    return (struct fall){slope < 0 ? -60 / (slope * MX_HEARING_WINDOWS) : 0, -slope * (n - 1), sqrt(off)};
}

void mx_doctor_hearing_decay(struct mx_doctor_hearing *h, struct mx_doctor_sound *sound)
{
    const double *const levels = h->levels, least = fmax(h->quiet_db + DECAY_ABOVE, h->loud_db - DECAY_DEPTH);
    double found[DECAYS_MOST];
    size_t count = 0;
    bool straight = false;
    for (size_t peak = 0; peak + 1 < h->windows && count < DECAYS_MOST;) {
        size_t low = peak;
        if (levels[peak] < h->loud_db - DECAY_DB || levels[peak + 1] >= levels[peak]) {
            peak++;
            continue;
        }
        for (size_t w = peak + 1;
             w < h->windows && w - low <= DECAY_PAUSE && levels[w] >= least && levels[w] < levels[low] + DECAY_RISE;
             w++)
            if (levels[w] < levels[low]) low = w;
        size_t begin = peak;
        while (begin < low && levels[begin] > levels[peak] - DECAY_SKIP) begin++;
        if (low - begin >= 4 && levels[begin] - levels[low] >= DECAY_DB - DECAY_SKIP) {
            const struct fall fall = fall_measure(levels, begin, low + 1);
            straight = straight || (fall.db >= STRAIGHT_DB && fall.off_db <= STRAIGHT_OFF);
            if (fall.seconds > 0) found[count++] = fall.seconds;
        }
        peak = low > peak ? low : peak + 1;
    }
    if (count == 0 || (count < DECAYS_LEAST && !straight)) return;
    mx_robust_sort(found, count);
    sound->decay_seconds = found[count / DECAY_QUARTER];
}
