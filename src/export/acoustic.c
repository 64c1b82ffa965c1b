/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The acoustic network as nodes, see acoustic.h. The functions stand in the order of the files of src/model that they
 * follow: blocks, encoder, predictors, synthesis, decoder.
 */
#include "export/acoustic.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define FRAMES_MAX  1e6   /* of one token, as in src/model/synthesize.c */
#define ROTARY_BASE 10000 /* as in src/model/model.c */
#define PART_BYTES  32

/* ---- blocks ---- */

/* Cosines and sines of the rotary angles of `rows` positions, [rows, head width/2] each. The angles are made and reduced
 * in double precision: in single precision, those of late positions would be wrong in the fourth digit. */
struct rotary {
    struct mx_onnx_value cosines, sines;
};

static struct rotary rotary_build(const struct mx_export *e, struct mx_onnx_value rows, int64_t head_width)
{
    struct mx_onnx *const o = e->onnx;
    const double turn = 2 * acos(-1);
    const int64_t half = head_width / 2;
    double *const frequencies = mx_alloc((size_t)half, sizeof *frequencies);
    if (frequencies == NULL) {
        o->graph.failure = MX_ERR_NO_MEMORY;
        return (struct rotary){0};
    }
    for (int64_t i = 0; i < half; i++) frequencies[i] = pow(ROTARY_BASE, -2.0 * (double)i / (double)head_width);
    const struct mx_onnx_value rates =
        mx_onnx_tensor(o, NULL, MX_ONNX_DOUBLE, (const int64_t[]){1, half}, 2, frequencies);
    mx_free(frequencies);
    const struct mx_onnx_value position = mx_export_cast(o, mx_export_range(o, rows), MX_ONNX_DOUBLE);
    const struct mx_onnx_value angle = MX_ONNX(o, "Mul", mx_export_unsqueeze(o, position, 1), rates);
    const struct mx_onnx_value turns = MX_ONNX(o, "Floor", MX_ONNX(o, "Div", angle, mx_onnx_double(o, turn)));
    const struct mx_onnx_value whole = MX_ONNX(o, "Mul", turns, mx_onnx_double(o, turn));
    const struct mx_onnx_value rest = mx_export_cast(o, MX_ONNX(o, "Sub", angle, whole), MX_ONNX_FLOAT);
    return (struct rotary){.cosines = MX_ONNX(o, "Cos", rest), .sines = MX_ONNX(o, "Sin", rest)};
}

/* x [heads, rows, head width]: its halves turned. */
static struct mx_onnx_value rotate(struct mx_onnx *o, const struct rotary *r, struct mx_onnx_value x, int64_t half)
{
    struct mx_onnx_value part[2];
    mx_onnx_add(o,
                &(struct mx_onnx_node){
                    .type = "Split", .in = {x, MX_ONNX_LIST(o, half, half)}, .attributes = {MX_ONNX_A_INT("axis", 2)}},
                part, 2);
    const struct mx_onnx_value uc = MX_ONNX(o, "Mul", part[0], r->cosines), vs = MX_ONNX(o, "Mul", part[1], r->sines);
    const struct mx_onnx_value us = MX_ONNX(o, "Mul", part[0], r->sines), vc = MX_ONNX(o, "Mul", part[1], r->cosines);
    const struct mx_onnx_value first = MX_ONNX(o, "Sub", uc, vs), second = MX_ONNX(o, "Add", vc, us);
    return MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 2)), first, second);
}

/* [rows, W] → [heads, rows, head width] */
static struct mx_onnx_value heads_apart(struct mx_onnx *o, struct mx_onnx_value x, int64_t heads, int64_t head_width)
{
    const struct mx_onnx_value shaped = MX_ONNX(o, "Reshape", x, MX_ONNX_LIST(o, -1, heads, head_width));
    return MX_ONNX_WITH(o, "Transpose", (MX_ONNX_A_INTS("perm", 1, 0, 2)), shaped);
}

/* qkv [rows, 3W] → [rows, W] */
static struct mx_onnx_value attend(const struct mx_export *e, const struct mx_model_size *size, const struct rotary *r,
                                   struct mx_onnx_value qkv)
{
    struct mx_onnx *const o = e->onnx;
    const int64_t w = size->width, d = w / size->heads;
    struct mx_onnx_value part[3];
    mx_onnx_add(o,
                &(struct mx_onnx_node){
                    .type = "Split", .in = {qkv, MX_ONNX_LIST(o, w, w, w)}, .attributes = {MX_ONNX_A_INT("axis", 1)}},
                part, 3);
    for (int i = 0; i < 3; i++) part[i] = heads_apart(o, part[i], size->heads, d);
    const struct mx_onnx_value q = rotate(o, r, part[0], d / 2), k = rotate(o, r, part[1], d / 2);
    const struct mx_onnx_value scaled = MX_ONNX(o, "Mul", q, mx_onnx_real(o, 1 / sqrt((double)d)));
    const struct mx_onnx_value columns = MX_ONNX_WITH(o, "Transpose", (MX_ONNX_A_INTS("perm", 0, 2, 1)), k);
    const struct mx_onnx_value score = MX_ONNX(o, "MatMul", scaled, columns);
    const struct mx_onnx_value share = MX_ONNX_WITH(o, "Softmax", (MX_ONNX_A_INT("axis", -1)), score);
    const struct mx_onnx_value mixed = MX_ONNX(o, "MatMul", share, part[2]);
    const struct mx_onnx_value together = MX_ONNX_WITH(o, "Transpose", (MX_ONNX_A_INTS("perm", 1, 0, 2)), mixed);
    return MX_ONNX(o, "Reshape", together, MX_ONNX_LIST(o, -1, w));
}

static struct mx_onnx_value block(const struct mx_export *e, const struct mx_model_size *size, const char *part,
                                  const struct rotary *r, struct mx_onnx_value x)
{
    struct mx_onnx *const o = e->onnx;
    const struct mx_onnx_value qkv = mx_export_linear(e, part, "attention.qkv", mx_export_norm(e, part, "norm1", x));
    const struct mx_onnx_value attended = mx_export_linear(e, part, "attention.out", attend(e, size, r, qkv));
    const struct mx_onnx_value middle = MX_ONNX(o, "Add", x, attended);
    const struct mx_onnx_value up =
        mx_export_conv(e, part, "feed_forward.up", mx_export_norm(e, part, "norm2", middle), false);
    const struct mx_onnx_value down = mx_export_linear(e, part, "feed_forward.down", mx_export_gelu(o, up));
    return MX_ONNX(o, "Add", middle, down);
}

/* The blocks of `stack` and its last norm. */
static struct mx_onnx_value stack(const struct mx_export *e, const struct mx_model_size *size, const char *name,
                                  int32_t blocks, struct mx_onnx_value x)
{
    char part[PART_BYTES];
    const struct rotary r = rotary_build(e, mx_export_rows(e->onnx, x), size->width / size->heads);
    for (int32_t i = 0; i < blocks; i++) {
        (void)snprintf(part, sizeof part, "%s.block.%d", name, (int)i);
        x = block(e, size, part, &r, x);
    }
    return mx_export_norm(e, name, "norm", x);
}

/* ---- voices ---- */

/* vectors · speaker.NAME.weight, and `add` [width] (NULL: nothing) on each row: the constant [speakers, width]. */
static struct mx_onnx_value voice_rows(const struct mx_export *e, const struct mx_export_speech *speech,
                                       const char *name, const float *add)
{
    const int64_t w = speech->config->size.width, speakers = speech->speakers;
    const struct mx_parameter *p;
    const float *const weight = mx_export_values(e, "speaker", name, &p);
    struct mx_onnx_value constant = {0};
    if (weight == NULL) return constant;
    float *const rows = mx_alloc((size_t)(speakers * w), sizeof *rows);
    if (rows == NULL) {
        e->onnx->graph.failure = MX_ERR_NO_MEMORY;
        return constant;
    }
    for (int64_t s = 0; s < speakers; s++)
        for (int64_t c = 0; c < w; c++) {
            double sum = add != NULL ? (double)add[c] : 0;
            for (int64_t k = 0; k < w; k++) sum += (double)speech->vectors[s * w + k] * (double)weight[k * w + c];
            rows[s * w + c] = (float)sum;
        }
    constant = mx_onnx_tensor(e->onnx, NULL, MX_ONNX_FLOAT, (const int64_t[]){speakers, w}, 2, rows);
    mx_free(rows);
    return constant;
}

/* [speakers, width] → [1, width] */
static struct mx_onnx_value row_of(struct mx_onnx *o, struct mx_onnx_value rows, struct mx_onnx_value speaker)
{
    return speaker.name[0] != 0 ? MX_ONNX(o, "Gather", rows, speaker) : rows;
}

/* ---- parts ---- */

/* tokens [T] → states [T, W] */
static struct mx_onnx_value encode(const struct mx_export *e, const struct mx_export_speech *speech,
                                   const struct mx_export_acoustic_inputs *in)
{
    struct mx_onnx *const o = e->onnx;
    const struct mx_model_size *const size = &speech->config->size;
    const struct mx_parameter *p;
    const float *const languages = mx_export_values(e, "encoder", "language", &p);
    if (languages == NULL) return (struct mx_onnx_value){0};
    const struct mx_onnx_value rows =
        voice_rows(e, speech, "to_encoder", languages + (int64_t)speech->language * size->width);
    const struct mx_onnx_value symbols = MX_ONNX(o, "Gather", mx_export_weight(e, "encoder", "token"), in->tokens);
    const struct mx_onnx_value scaled = MX_ONNX(o, "Mul", symbols, mx_onnx_real(o, sqrtf((float)size->width)));
    const struct mx_onnx_value x = MX_ONNX(o, "Add", scaled, row_of(o, rows, in->speaker));
    return stack(e, size, "encoder", size->encoder_blocks, x);
}

/* states [T, W] → [T, 1] */
static struct mx_onnx_value predict(const struct mx_export *e, const char *part, struct mx_onnx_value x)
{
    static const char *const convolutions[] = {"conv1", "conv2"}, *const norms[] = {"norm1", "norm2"};
    for (int i = 0; i < 2; i++) {
        const struct mx_onnx_value y = mx_export_conv(e, part, convolutions[i], x, false);
        x = mx_export_norm(e, part, norms[i], MX_ONNX(e->onnx, "Relu", y));
    }
    return mx_export_linear(e, part, "out", x);
}

/* ln(1 + duration) [T, 1] → where each token ends [T] */
static struct mx_onnx_value ends_of(const struct mx_export *e, struct mx_onnx_value logs, struct mx_onnx_value slower)
{
    struct mx_onnx *const o = e->onnx;
    const struct mx_onnx_value log = mx_export_cast(o, mx_export_squeeze(o, logs, 1), MX_ONNX_DOUBLE);
    const struct mx_onnx_value bare = MX_ONNX(o, "Sub", MX_ONNX(o, "Exp", log), mx_onnx_double(o, 1));
    const struct mx_onnx_value wanted =
        MX_ONNX(o, "Min", MX_ONNX(o, "Max", bare, mx_onnx_double(o, 0)), mx_onnx_double(o, FRAMES_MAX));
    const struct mx_onnx_value spoken = MX_ONNX(o, "Mul", wanted, mx_export_cast(o, slower, MX_ONNX_DOUBLE));
    const struct mx_onnx_value sum = MX_ONNX(o, "CumSum", spoken, mx_onnx_int(o, 0));
    const struct mx_onnx_value rounded = MX_ONNX(o, "Floor", MX_ONNX(o, "Add", sum, mx_onnx_double(o, 0.5)));
    const struct mx_onnx_value index = mx_export_cast(o, mx_export_range(o, mx_export_rows(o, log)), MX_ONNX_DOUBLE);
    const struct mx_onnx_value number = MX_ONNX(o, "Add", index, mx_onnx_double(o, 1));
    const struct mx_onnx_value excess = MX_ONNX(o, "Sub", rounded, number);
    /* The running maximum: [i, j] where j ≤ i. */
    const struct mx_onnx_value seen =
        MX_ONNX(o, "LessOrEqual", mx_export_unsqueeze(o, number, 0), mx_export_unsqueeze(o, number, 1));
    const struct mx_onnx_value known =
        MX_ONNX(o, "Where", seen, mx_export_unsqueeze(o, excess, 0), mx_onnx_double(o, 0)); /* 0 changes no maximum */
    const struct mx_onnx_value most =
        MX_ONNX_WITH(o, "ReduceMax", (MX_ONNX_A_INTS("axes", 1), MX_ONNX_A_INT("keepdims", 0)), known);
    const struct mx_onnx_value positive = MX_ONNX(o, "Max", most, mx_onnx_double(o, 0));
    return mx_export_cast(o, MX_ONNX(o, "Add", positive, number), MX_ONNX_INT64);
}

/* The token of each frame, [frames]: how many tokens have ended by then. No two tokens end at the same frame. */
static struct mx_onnx_value token_of_frame(struct mx_onnx *o, struct mx_onnx_value ends, struct mx_onnx_value frames)
{
    const struct mx_onnx_value one = MX_ONNX_LIST(o, 1);
    const struct mx_onnx_value length = MX_ONNX(o, "Add", mx_export_unsqueeze(o, frames, 0), one);
    const struct mx_onnx_value none = MX_ONNX(o, "Expand", MX_ONNX_LIST(o, 0), length);
    const struct mx_onnx_value marks = MX_ONNX(o, "Expand", one, MX_ONNX(o, "Shape", ends));
    const struct mx_onnx_value marked = MX_ONNX(o, "ScatterElements", none, ends, marks);
    return mx_export_slice(o, MX_ONNX(o, "CumSum", marked, mx_onnx_int(o, 0)), 0, -1, 0);
}

/* Frames of expanded tokens [F, W] → mel [F, B]: the modules of model/mel_modules.c. */
static struct mx_onnx_value mel_of(const struct mx_export *e, const struct mx_export_speech *speech,
                                   struct mx_onnx_value x)
{
    const struct mx_model_size *const size = &speech->config->size;
    return mx_export_linear(e, "decoder", "mel", stack(e, size, "decoder", size->decoder_blocks, x));
}

struct mx_export_acoustic_outputs mx_export_acoustic(const struct mx_export *e, const struct mx_export_speech *speech,
                                                     const struct mx_export_acoustic_inputs *in)
{
    struct mx_onnx *const o = e->onnx;
    struct mx_export_acoustic_outputs out;
    const struct mx_onnx_value states = encode(e, speech, in);
    const struct mx_onnx_value logs = predict(e, "predictor.duration", states);
    const struct mx_onnx_value pitch = predict(e, "predictor.pitch", states);
    const struct mx_onnx_value energy = predict(e, "predictor.energy", states);
    const struct mx_onnx_value pitched = mx_export_conv(e, "encoder", "pitch", pitch, false);
    const struct mx_onnx_value energetic = mx_export_conv(e, "encoder", "energy", energy, false);
    const struct mx_onnx_value tokens = MX_ONNX(o, "Add", MX_ONNX(o, "Add", states, pitched), energetic);
    const struct mx_onnx_value ends = ends_of(e, logs, in->slower);
    const struct mx_onnx_value starts =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), MX_ONNX_LIST(o, 0), mx_export_slice(o, ends, 0, -1, 0));
    out.durations = MX_ONNX(o, "Sub", ends, starts);
    out.frames = MX_ONNX(o, "Gather", ends, mx_onnx_int(o, -1));
    const struct mx_onnx_value spread = MX_ONNX(o, "Gather", tokens, token_of_frame(o, ends, out.frames));
    const struct mx_onnx_value rows = voice_rows(e, speech, "to_decoder", NULL);
    const struct mx_onnx_value x = MX_ONNX(o, "Add", spread, row_of(o, rows, in->speaker));
    out.mel = mel_of(e, speech, x);
    return out;
}
