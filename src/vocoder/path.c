/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pitch path, see path.h. The best class before each class is found in three passes over the classes instead of a
 * pass for each: the cost of a step grows evenly up to a limit, so the best origin below, the best one above and the
 * best of all at the cost of the limit are all there is.
 */
#include "vocoder/path.h"

#include <math.h>
#include <string.h>

enum { CLASSES = MX_VOCODER_CLASSES, RING = MX_PATH_AHEAD + 1 };

void mx_path_begin(struct mx_path *p, const struct mx_recipe *recipe, struct mx_path_track track)
{
    p->track = track;
    p->rate = recipe->rate;
    p->hop = recipe->hop;
    p->centre = mx_path_centre(recipe);
    p->pushed = p->chosen = p->measured = p->ready = 0;
    p->voiced = -1;
    p->voiced_log = p->last_log = p->phase = 0;
    memset(p->score, 0, sizeof p->score);
}

/* ---- the classes ---- */

/* q and v of a frame; gain[i] = v ln(q[i] + MX_PATH_LEAST). */
static void classes_weigh(struct mx_path *p, int slot, const float *logits, int32_t gain[CLASSES])
{
    double power[CLASSES], sum = 0;
    float top =
        -INFINITY; /* not a double: gcc 12 for aarch64 crashes where it vectorises a maximum of widened numbers */
    for (int i = 0; i < CLASSES; i++) top = fmaxf(top, logits[i]);
    const double highest = (double)top;
    for (int i = 0; i < CLASSES; i++) {
        power[i] = exp((double)logits[i] - highest);
        sum += power[i];
    }
    const double certain = 1 / (1 + exp((double)logits[CLASSES] - highest) / sum);
    p->certain[slot] = (float)certain;
    for (int i = 0; i < CLASSES; i++) {
        const double q = power[i] / sum, value = certain * log(q + MX_PATH_LEAST);
        p->share[slot][i] = (float)q;
        gain[i] = value == value ? (int32_t)lrint(value * MX_PATH_UNIT) : 0; /* not a number: the sound will say so */
    }
}

/* One step of the Viterbi search. score: of the previous frame, becomes that of arriving at each class; from: the class
 * before each. */
static void steps_score(int32_t score[CLASSES], uint8_t from[CLASSES])
{
    int32_t above[CLASSES];
    uint8_t above_from[CLASSES];
    int best = 0;
    for (int i = 0; i < CLASSES; i++) {
        above[i] = score[i];
        above_from[i] = from[i] = (uint8_t)i;
        if (score[i] > score[best]) best = i;
    }
    const int32_t any = score[best] - MX_PATH_STEPS * MX_PATH_STEP;
    for (int i = CLASSES - 2; i >= 0; i--)
        if (above[i + 1] - MX_PATH_STEP > above[i]) {
            above[i] = above[i + 1] - MX_PATH_STEP;
            above_from[i] = above_from[i + 1];
        }
    for (int i = 1; i < CLASSES; i++)
        if (score[i - 1] - MX_PATH_STEP >= score[i]) {
            score[i] = score[i - 1] - MX_PATH_STEP;
            from[i] = from[i - 1];
        }
    for (int i = 0; i < CLASSES; i++) {
        if (above[i] > score[i]) {
            score[i] = above[i];
            from[i] = above_from[i];
        }
        if (any > score[i] || (any == score[i] && best < from[i])) {
            score[i] = any;
            from[i] = (uint8_t)best;
        }
    }
}

static int highest_score(const int32_t score[CLASSES])
{
    int best = 0;
    for (int i = 1; i < CLASSES; i++)
        if (score[i] > score[best]) best = i;
    return best;
}

/* Hz at the class of a frame: the mean of the classes near it. */
static float frame_hz(const float share[CLASSES], int class)
{
    const double low = log((double)MX_VOCODER_LOW_HZ), width = log((double)MX_VOCODER_HIGH_HZ) - low;
    const int first = class > MX_PATH_NEIGHBOURS ? class - MX_PATH_NEIGHBOURS : 0;
    const int last = class + MX_PATH_NEIGHBOURS < CLASSES ? class + MX_PATH_NEIGHBOURS : CLASSES - 1;
    double sum = 0, weights = 0;
    for (int i = first; i <= last; i++) {
        const double weight = (double)share[i] + 1e-9;
        sum += weight * i;
        weights += weight;
    }
    const double at = sum / weights;
    return (float)exp(low + width * (at == at ? at : class) / (CLASSES - 1));
}

/* Chooses the class of the next frame, from the best path up to the last frame that is known. */
static void class_choose(struct mx_path *p)
{
    const int64_t frame = p->chosen++;
    const int slot = (int)(frame % RING);
    int class = highest_score(p->score);
    for (int64_t t = p->pushed - 1; t > frame; t--) class = p->from[t % RING][class];
    p->track.gate[frame] = p->certain[slot] > 0.5f ? 1.0f : 0.0f;
    p->track.hz[frame] = frame_hz(p->share[slot], class);
}

/* ---- pitch and phase ---- */

/* Moves the pitch of frame `ready` from where it was measured to the frame's centre, and completes the frame. `here` and
 * `next` are ln Hz as measured in this frame and in the next one. */
static void frame_complete(struct mx_path *p, double here, double next)
{
    const int64_t t = p->ready++;
    float *const hz = p->track.hz;
    const double late = (p->centre - p->rate / (2 * exp(here))) / p->hop;
    hz[t] = (float)exp(here + fmin(fmax(late, 0), 1) * (next - here));
    if (t > 0) p->phase += p->hop / p->rate * ((double)hz[t - 1] + (double)hz[t]) / 2;
    p->phase -= floor(p->phase);
    p->track.phase[t] = (float)p->phase;
}

/* ln Hz of an unvoiced frame; frames up to `chosen` may be read. */
static double gap_fill(const struct mx_path *p, int64_t t)
{
    const float *const gate = p->track.gate;
    int64_t next = t + 1;
    while (next < p->chosen && next <= t + MX_PATH_GAP && gate[next] == 0) next++;
    const bool there = next < p->chosen && next <= t + MX_PATH_GAP;
    const double to = there ? log((double)p->track.hz[next]) : 0;
    if (p->voiced >= 0 && there)
        return p->voiced_log + (to - p->voiced_log) * (double)(t - p->voiced) / (double)(next - p->voiced);
    return there ? to : p->voiced >= 0 ? p->voiced_log : log((double)MX_PATH_HZ);
}

/* Finds the measured pitch of the next frame, which completes the frame before it. */
static void frame_measured(struct mx_path *p)
{
    const int64_t t = p->measured++;
    const bool voiced = p->track.gate[t] != 0;
    const double here = voiced ? log((double)p->track.hz[t]) : gap_fill(p, t);
    if (voiced) {
        p->voiced = t;
        p->voiced_log = here;
    }
    if (t > 0) frame_complete(p, p->last_log, here);
    p->last_log = here;
}

void mx_path_push(struct mx_path *p, const float *logits, int64_t rows)
{
    int32_t gain[CLASSES];
    for (int64_t row = 0; row < rows; row++) {
        const int slot = (int)(p->pushed % RING);
        classes_weigh(p, slot, logits + row * (CLASSES + 1), gain);
        steps_score(p->score, p->from[slot]);
        for (int i = 0; i < CLASSES; i++) p->score[i] += gain[i];
        const int32_t best = p->score[highest_score(p->score)];
        for (int i = 0; i < CLASSES; i++) p->score[i] -= best;
        p->pushed++;
        if (p->pushed > MX_PATH_AHEAD) class_choose(p);
        if (p->chosen - p->measured > MX_PATH_GAP) frame_measured(p);
    }
}

void mx_path_end(struct mx_path *p)
{
    while (p->chosen < p->pushed) class_choose(p);
    while (p->measured < p->pushed) frame_measured(p);
    if (p->ready < p->pushed) frame_complete(p, p->last_log, p->last_log);
}
