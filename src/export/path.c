/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The path through the classes of pitch as nodes, see source.h. The functions follow src/vocoder/path.c.
 */
#include <math.h>

#include "base/alloc.h"
#include "export/source.h"
#include "myxtts/error.h"
#include "vocoder/path.h"

enum { CLASSES = MX_VOCODER_CLASSES };

static const struct mx_onnx_dimension per_class[] = {{NULL, CLASSES}};

/* ---- the search ---- */

/* The cost of going from a class (column) to a class (row), negative: double [CLASSES, CLASSES] */
static struct mx_onnx_value costs_build(struct mx_onnx *o)
{
    double *const costs = mx_alloc((size_t)CLASSES * CLASSES, sizeof *costs);
    if (costs == NULL) {
        o->graph.failure = MX_ERR_NO_MEMORY;
        return (struct mx_onnx_value){.name = ""};
    }
    for (int to = 0; to < CLASSES; to++)
        for (int from = 0; from < CLASSES; from++) {
            const int steps = to > from ? to - from : from - to;
            costs[to * CLASSES + from] = -(double)MX_PATH_STEP * (steps < MX_PATH_STEPS ? steps : MX_PATH_STEPS);
        }
    const struct mx_onnx_value table =
        mx_onnx_tensor(o, NULL, MX_ONNX_DOUBLE, (const int64_t[]){CLASSES, CLASSES}, 2, costs);
    mx_free(costs);
    return table;
}

/* gains double [F, CLASSES] → out[0]: scores of the best paths to each class, double [F, CLASSES]; out[1]: the classes
 * before, int64 [F, CLASSES] */
static void steps_build(struct mx_onnx *o, struct mx_onnx_value gains, struct mx_onnx_value out[2])
{
    struct mx_onnx body = {.prefix = "step"};
    struct mx_onnx_value results[3];
    double nothing[CLASSES] = {0};
    const struct mx_onnx_value score = mx_onnx_input(&body, "step_score", MX_ONNX_DOUBLE, per_class, 1);
    const struct mx_onnx_value gain = mx_onnx_input(&body, "step_gain", MX_ONNX_DOUBLE, per_class, 1);
    const struct mx_onnx_value arriving =
        MX_ONNX(&body, "Add", costs_build(&body), mx_export_unsqueeze(&body, score, 0)); /* [to, from] */
    const struct mx_onnx_value best =
        MX_ONNX_WITH(&body, "ReduceMax", (MX_ONNX_A_INTS("axes", 1), MX_ONNX_A_INT("keepdims", 0)), arriving);
    const struct mx_onnx_value from = /* of equal ones the lowest */
        MX_ONNX_WITH(&body, "ArgMax", (MX_ONNX_A_INT("axis", 1), MX_ONNX_A_INT("keepdims", 0)), arriving);
    const struct mx_onnx_value now = MX_ONNX(&body, "Add", best, gain);
    mx_onnx_output(&body, now, "step_next", MX_ONNX_DOUBLE, per_class, 1);
    mx_onnx_output(&body, now, "step_scores", MX_ONNX_DOUBLE, per_class, 1);
    mx_onnx_output(&body, from, "step_from", MX_ONNX_INT64, per_class, 1);
    const struct mx_onnx_value start = mx_onnx_tensor(o, NULL, MX_ONNX_DOUBLE, (const int64_t[]){CLASSES}, 1, nothing);
    mx_onnx_add(
        o,
        &(struct mx_onnx_node){.type = "Scan",
                               .in = {start, gains},
                               .attributes = {MX_ONNX_A_GRAPH("body", &body), MX_ONNX_A_INT("num_scan_inputs", 1)}},
        results, 3);
    out[0] = results[1];
    out[1] = results[2];
    mx_onnx_release(&body);
}

/* The class of every frame, int64 [F]: that of the best path up to MX_PATH_AHEAD frames later, traced back. */
static struct mx_onnx_value classes_choose(struct mx_onnx *o, struct mx_onnx_value gains, struct mx_onnx_value frames)
{
    struct mx_onnx_value search[2], results[1];
    struct mx_onnx body = {.prefix = "back"};
    const struct mx_onnx_dimension each[] = {{"frames", 0}};
    int64_t offsets[MX_PATH_AHEAD];
    for (int i = 0; i < MX_PATH_AHEAD; i++) offsets[i] = MX_PATH_AHEAD - i;
    steps_build(o, gains, search);
    const struct mx_onnx_value from = MX_ONNX(o, "Reshape", search[1], MX_ONNX_LIST(o, -1));
    const struct mx_onnx_value best =
        MX_ONNX_WITH(o, "ArgMax", (MX_ONNX_A_INT("axis", 1), MX_ONNX_A_INT("keepdims", 0)), search[0]);
    const struct mx_onnx_value frame = mx_export_range(o, frames);
    const struct mx_onnx_value last = MX_ONNX(o, "Sub", frames, mx_onnx_int(o, 1));
    const struct mx_onnx_value horizon =
        MX_ONNX(o, "Min", MX_ONNX(o, "Add", frame, mx_onnx_int(o, MX_PATH_AHEAD)), last);
    const struct mx_onnx_value start = MX_ONNX(o, "Gather", best, horizon);
    /* From `offset` frames later to the frame before that, where there is such a frame. */
    const struct mx_onnx_value class = mx_onnx_input(&body, "back_class", MX_ONNX_INT64, each, 1);
    const struct mx_onnx_value offset = mx_onnx_input(&body, "back_offset", MX_ONNX_INT64, NULL, 0);
    const struct mx_onnx_value later = MX_ONNX(&body, "Add", frame, offset);
    const struct mx_onnx_value there = MX_ONNX(&body, "LessOrEqual", later, last);
    const struct mx_onnx_value row =
        MX_ONNX(&body, "Mul", MX_ONNX(&body, "Min", later, last), mx_onnx_int(&body, CLASSES));
    const struct mx_onnx_value before = MX_ONNX(&body, "Gather", from, MX_ONNX(&body, "Add", row, class));
    mx_onnx_output(&body, MX_ONNX(&body, "Where", there, before, class), "back_next", MX_ONNX_INT64, each, 1);
    mx_onnx_add(
        o,
        &(struct mx_onnx_node){.type = "Scan",
                               .in = {start, mx_onnx_list(o, offsets, MX_PATH_AHEAD)},
                               .attributes = {MX_ONNX_A_GRAPH("body", &body), MX_ONNX_A_INT("num_scan_inputs", 1)}},
        results, 1);
    mx_onnx_release(&body);
    return results[0];
}

/* ---- pitch ---- */

/* Hz of each frame, float [F]: the mean of ln Hz near its class, weighted by shares float [F, CLASSES]. */
static struct mx_onnx_value hz_of(struct mx_onnx *o, struct mx_onnx_value shares, struct mx_onnx_value classes)
{
    const double low = log((double)MX_VOCODER_LOW_HZ), width = log((double)MX_VOCODER_HIGH_HZ) - low;
    int64_t offsets[2 * MX_PATH_NEIGHBOURS + 1];
    for (int i = 0; i <= 2 * MX_PATH_NEIGHBOURS; i++) offsets[i] = i - MX_PATH_NEIGHBOURS;
    const struct mx_onnx_value near = MX_ONNX(o, "Add", mx_export_unsqueeze(o, classes, 1),
                                              mx_onnx_list(o, offsets, 2 * MX_PATH_NEIGHBOURS + 1)); /* [F, 9] */
    const struct mx_onnx_value inside =
        MX_ONNX(o, "Min", MX_ONNX(o, "Max", near, mx_onnx_int(o, 0)), mx_onnx_int(o, CLASSES - 1));
    const struct mx_onnx_value real = mx_export_cast(o, MX_ONNX(o, "Equal", near, inside), MX_ONNX_DOUBLE);
    const struct mx_onnx_value share = mx_export_cast(
        o, MX_ONNX_WITH(o, "GatherElements", (MX_ONNX_A_INT("axis", 1)), shares, inside), MX_ONNX_DOUBLE);
    const struct mx_onnx_value weight = MX_ONNX(o, "Mul", MX_ONNX(o, "Add", share, mx_onnx_double(o, 1e-9)), real);
    const struct mx_onnx_value moment = MX_ONNX(o, "Mul", weight, mx_export_cast(o, inside, MX_ONNX_DOUBLE));
    const struct mx_onnx_value axis = MX_ONNX_LIST(o, 1);
    const struct mx_onnx_value sum = MX_ONNX_WITH(o, "ReduceSum", (MX_ONNX_A_INT("keepdims", 0)), moment, axis);
    const struct mx_onnx_value all = MX_ONNX_WITH(o, "ReduceSum", (MX_ONNX_A_INT("keepdims", 0)), weight, axis);
    const struct mx_onnx_value at =
        MX_ONNX(o, "Mul", MX_ONNX(o, "Div", sum, all), mx_onnx_double(o, width / (CLASSES - 1)));
    return mx_export_cast(o, MX_ONNX(o, "Exp", MX_ONNX(o, "Add", at, mx_onnx_double(o, low))), MX_ONNX_FLOAT);
}

/* ln Hz, double [F], of hz float [F] at voiced frames (bool [F]); through the others it is interpolated, or the last one
 * stays. */
static struct mx_onnx_value logs_bridge(struct mx_onnx *o, struct mx_onnx_value hz, struct mx_onnx_value voiced,
                                        struct mx_onnx_value frames)
{
    const struct mx_onnx_value zero = mx_onnx_int(o, 0), one = mx_onnx_int(o, 1);
    const struct mx_onnx_value frame = mx_export_range(o, frames);
    const struct mx_onnx_value count = /* voiced frames up to this one */
        MX_ONNX(o, "CumSum", mx_export_cast(o, voiced, MX_ONNX_INT64), zero);
    /* 0, the voiced frames, and one too far away: places count and count + 1 are the one before and the next. */
    const struct mx_onnx_value beyond = MX_ONNX(o, "Add", frames, mx_onnx_int(o, MX_PATH_GAP + 1));
    const struct mx_onnx_value list =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), MX_ONNX_LIST(o, 0), MX_ONNX(o, "Compress", frame, voiced),
                     mx_export_unsqueeze(o, beyond, 0));
    const struct mx_onnx_value before = MX_ONNX(o, "Gather", list, count);
    const struct mx_onnx_value next = MX_ONNX(o, "Gather", list, MX_ONNX(o, "Add", count, one));
    const struct mx_onnx_value has_before = MX_ONNX(o, "Greater", count, zero);
    const struct mx_onnx_value has_next =
        MX_ONNX(o, "LessOrEqual", MX_ONNX(o, "Sub", next, frame), mx_onnx_int(o, MX_PATH_GAP));
    const struct mx_onnx_value logs = MX_ONNX(o, "Log", mx_export_cast(o, hz, MX_ONNX_DOUBLE));
    const struct mx_onnx_value from = MX_ONNX(o, "Gather", logs, before);
    const struct mx_onnx_value to = MX_ONNX(o, "Gather", logs, MX_ONNX(o, "Min", next, MX_ONNX(o, "Sub", frames, one)));
    const struct mx_onnx_value gone = mx_export_cast(o, MX_ONNX(o, "Sub", frame, before), MX_ONNX_DOUBLE);
    const struct mx_onnx_value gap = mx_export_cast(o, MX_ONNX(o, "Sub", next, before), MX_ONNX_DOUBLE);
    const struct mx_onnx_value rise = MX_ONNX(o, "Mul", MX_ONNX(o, "Sub", to, from), MX_ONNX(o, "Div", gone, gap));
    const struct mx_onnx_value between = MX_ONNX(o, "Add", from, rise);
    const struct mx_onnx_value alone =
        MX_ONNX(o, "Where", has_before, from, mx_onnx_double(o, log((double)MX_PATH_HZ)));
    const struct mx_onnx_value arriving = MX_ONNX(o, "Where", has_before, between, to);
    const struct mx_onnx_value unvoiced = MX_ONNX(o, "Where", has_next, arriving, alone);
    return MX_ONNX(o, "Where", voiced, logs, unvoiced);
}

/* Hz at the centres of the frames, float [F], from ln Hz where it was measured, double [F]. */
static struct mx_onnx_value hz_move(struct mx_onnx *o, const struct mx_recipe *recipe, struct mx_onnx_value logs)
{
    const struct mx_onnx_value next =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), mx_export_slice(o, logs, 1, MX_EXPORT_END, 0),
                     mx_export_slice(o, logs, -1, MX_EXPORT_END, 0));
    const struct mx_onnx_value period =
        MX_ONNX(o, "Div", mx_onnx_double(o, recipe->rate / 2.0), MX_ONNX(o, "Exp", logs));
    const struct mx_onnx_value late = MX_ONNX(
        o, "Div", MX_ONNX(o, "Sub", mx_onnx_double(o, mx_path_centre(recipe)), period), mx_onnx_double(o, recipe->hop));
    const struct mx_onnx_value share =
        MX_ONNX(o, "Min", MX_ONNX(o, "Max", late, mx_onnx_double(o, 0)), mx_onnx_double(o, 1));
    const struct mx_onnx_value rise = MX_ONNX(o, "Mul", share, MX_ONNX(o, "Sub", next, logs));
    return mx_export_cast(o, MX_ONNX(o, "Exp", MX_ONNX(o, "Add", logs, rise)), MX_ONNX_FLOAT);
}

/* The integral of the pitch, linear between frames, [F]: the sum is double, but a frame's phase is stored as float. */
static struct mx_onnx_value phase_of(struct mx_onnx *o, const struct mx_recipe *recipe, struct mx_onnx_value hz)
{
    const double seconds = (double)recipe->hop / recipe->rate;
    const struct mx_onnx_value wide = mx_export_cast(o, hz, MX_ONNX_DOUBLE);
    const struct mx_onnx_value pairs =
        MX_ONNX(o, "Add", mx_export_slice(o, wide, 0, -1, 0), mx_export_slice(o, wide, 1, MX_EXPORT_END, 0));
    const struct mx_onnx_value turns = MX_ONNX(o, "Mul", pairs, mx_onnx_double(o, seconds / 2));
    const double nothing = 0;
    const struct mx_onnx_value first = mx_onnx_tensor(o, NULL, MX_ONNX_DOUBLE, (const int64_t[]){1}, 1, &nothing);
    const struct mx_onnx_value sum =
        MX_ONNX(o, "CumSum", MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), first, turns), mx_onnx_int(o, 0));
    return mx_export_cast(o, MX_ONNX(o, "Sub", sum, MX_ONNX(o, "Floor", sum)), MX_ONNX_FLOAT);
}

struct mx_export_track mx_export_path(struct mx_onnx *o, const struct mx_recipe *recipe, struct mx_onnx_value logits)
{
    struct mx_export_track track;
    const struct mx_onnx_value frames = mx_export_rows(o, logits);
    const struct mx_onnx_value wide = mx_export_cast(o, logits, MX_ONNX_DOUBLE);
    const struct mx_onnx_value all = MX_ONNX_WITH(o, "Softmax", (MX_ONNX_A_INT("axis", 1)), wide);
    const struct mx_onnx_value share =
        MX_ONNX_WITH(o, "Softmax", (MX_ONNX_A_INT("axis", 1)), mx_export_slice(o, wide, 0, CLASSES, 1));
    const struct mx_onnx_value certain = /* [F, 1]: that the frame is voiced */
        MX_ONNX(o, "Sub", mx_onnx_double(o, 1), mx_export_slice(o, all, CLASSES, CLASSES + 1, 1));
    const struct mx_onnx_value log = MX_ONNX(o, "Log", MX_ONNX(o, "Add", share, mx_onnx_double(o, MX_PATH_LEAST)));
    const struct mx_onnx_value value =
        MX_ONNX(o, "Mul", MX_ONNX(o, "Mul", log, certain), mx_onnx_double(o, MX_PATH_UNIT));
    const struct mx_onnx_value classes = classes_choose(o, MX_ONNX(o, "Round", value), frames);
    const struct mx_onnx_value hz = hz_of(o, mx_export_cast(o, share, MX_ONNX_FLOAT), classes);
    const struct mx_onnx_value voiced = MX_ONNX(o, "Greater", mx_export_squeeze(o, certain, 1), mx_onnx_double(o, 0.5));
    track.gate = mx_export_cast(o, voiced, MX_ONNX_FLOAT);
    track.hz = hz_move(o, recipe, logs_bridge(o, hz, voiced, frames));
    track.phase = phase_of(o, recipe, track.hz);
    return track;
}
