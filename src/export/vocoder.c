/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocoder's network as nodes, see vocoder.h.
 */
#include "export/vocoder.h"

#include <stdio.h>

#define PART_BYTES 32

/* [rows, width] → [1, width, rows] */
static struct mx_onnx_value columns_of(struct mx_onnx *o, struct mx_onnx_value x)
{
    return mx_export_unsqueeze(o, mx_export_turn(o, x), 0);
}

static struct mx_onnx_value block(const struct mx_export *e, const char *part, struct mx_onnx_value x)
{
    const struct mx_onnx_value mixed = mx_export_conv(e, part, "depthwise", x, true);
    const struct mx_onnx_value up = mx_export_linear(e, part, "up", mx_export_norm(e, part, "norm", mixed));
    const struct mx_onnx_value down = mx_export_linear(e, part, "down", mx_export_gelu(e->onnx, up));
    return MX_ONNX(e->onnx, "Add", x, down);
}

struct mx_export_vocoder_outputs mx_export_vocoder(const struct mx_export *e, const struct mx_vocoder_config *config,
                                                   const struct mx_export_frames *frames, struct mx_onnx_value mel)
{
    struct mx_onnx *const o = e->onnx;
    struct mx_export_vocoder_outputs out;
    char part[PART_BYTES];
    const struct mx_onnx_value wide = MX_ONNX(o, "Mul", mel, mx_onnx_real(o, (double)config->mel_deviation));
    const struct mx_onnx_value log = MX_ONNX(o, "Add", wide, mx_onnx_real(o, (double)config->mel_mean));
    /* As the operation mel_base does it. */
    const struct mx_onnx_value moved = MX_ONNX(o, "Add", log, mx_onnx_real(o, 5));
    const struct mx_onnx_value input = MX_ONNX(o, "Div", moved, mx_onnx_real(o, 2.5));
    out.mel = columns_of(o, log);
    const struct mx_onnx_value base = mx_export_base(frames, out.mel);
    struct mx_onnx_value x =
        mx_export_norm(e, "vocoder.input", "norm", mx_export_conv(e, "vocoder", "input", input, false));
    for (int32_t i = 0; i < config->size.blocks; i++) {
        (void)snprintf(part, sizeof part, "vocoder.block.%d", (int)i);
        x = block(e, part, x);
    }
    const struct mx_onnx_value normed = mx_export_norm(e, "vocoder", "norm", x);
    out.magnitude = MX_ONNX(o, "Add", base, columns_of(o, mx_export_linear(e, "vocoder", "magnitude", normed)));
    out.logits = mx_export_linear(e, "vocoder", "pitch", normed);
    /* A row for each short frame; those before and after the sound are left out. */
    const struct mx_onnx_value bursts = MX_ONNX(o, "Add", mx_export_linear(e, "vocoder", "burst", normed),
                                                mx_export_linear(e, "vocoder.burst", "mel", input));
    const struct mx_onnx_value rows = MX_ONNX(o, "Reshape", bursts, MX_ONNX_LIST(o, -1, MX_VOCODER_BURST_BANDS));
    out.short_mel = columns_of(
        o, mx_export_slice(o, rows, MX_VOCODER_BURST_BEFORE, MX_VOCODER_BURST_BEFORE + 1 - MX_VOCODER_BURST_PARTS, 0));
    return out;
}
