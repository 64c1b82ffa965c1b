/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sound of a vocoder as a graph for other runtimes (its form: test_export.c). With MX_EXPORT_FOLDER set, the graphs
 * and what our own code makes of the same inputs are left there for scripts/test/onnx_check.py (`make test-onnx`).
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "export/noise.h"
#include "export/sound.h"
#include "export/source.h"
#include "myxtts/error.h"
#include "ops/case.h"
#include "support/export_rig.h"
#include "vocoder/path.h"
#include "vocoder/sound.h"
#include "vocoder/sound_numbers.h"

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

enum { OUTPUTS = MX_VOCODER_CLASSES + 1 };

static const struct mx_onnx_dimension frames_dimension[] = {{"frames", 0}};

/* ---- the pitch path ---- */

/* Logits of a voice that glides, jumps by octaves, is unsure of itself and pauses, for longer and shorter than the path
 * bridges. */
static void logits_make(float *logits, int frames, uint64_t seed)
{
    for (int t = 0; t < frames; t++) {
        const double glide = 90 + 60 * sin(0.07 * t + (double)seed) + 8 * sin(0.9 * t);
        const bool silent = (t + (int)seed) % 37 < 5 || (t > 60 && t < 85);
        const float sure = 2 + 2 * mx_rng_uniform(seed, 3, (uint64_t)t);
        for (int i = 0; i < MX_VOCODER_CLASSES; i++) {
            const double off = i - glide, octave = i - glide - 65;
            logits[t * OUTPUTS + i] = sure * (float)(exp(-off * off / 18) + 0.9 * exp(-octave * octave / 18)) * 2 +
                                      0.5f * mx_rng_normal(seed, 4, (uint64_t)(t * OUTPUTS + i));
        }
        logits[t * OUTPUTS + MX_VOCODER_CLASSES] = silent ? 9.0f : 1.0f;
    }
}

static void path(void **state)
{
    (void)state;
    enum { FRAMES = 140, CASES = 6 };
    static const int lengths[CASES] = {FRAMES, 2, 9, 26, 60, 139};
    static float logits[FRAMES * OUTPUTS], hz[FRAMES], gate[FRAMES], phase[FRAMES];
    struct mx_onnx onnx = {0};
    struct export_file file = export_file_open("path");
    for (int i = 0; i < CASES; i++) {
        struct mx_path p;
        logits_make(logits, lengths[i], (uint64_t)i);
        mx_path_begin(&p, MX_RECIPE_DEFAULT, (struct mx_path_track){.hz = hz, .gate = gate, .phase = phase});
        mx_path_push(&p, logits, lengths[i]);
        mx_path_end(&p);
        export_case_begin(&file);
        export_case_floats(&file, "logits", logits, lengths[i] * OUTPUTS);
        export_case_floats(&file, "hz", hz, lengths[i]);
        export_case_floats(&file, "gate", gate, lengths[i]);
        export_case_floats(&file, "phase", phase, lengths[i]);
        export_case_end(&file);
    }
    const struct mx_onnx_value in = mx_onnx_input(
        &onnx, "logits", MX_ONNX_FLOAT, (const struct mx_onnx_dimension[]){{"frames", 0}, {NULL, OUTPUTS}}, 2);
    const struct mx_export_track track = mx_export_path(&onnx, MX_RECIPE_DEFAULT, in);
    mx_onnx_output(&onnx, track.hz, "hz", MX_ONNX_FLOAT, frames_dimension, 1);
    mx_onnx_output(&onnx, track.gate, "gate", MX_ONNX_FLOAT, frames_dimension, 1);
    mx_onnx_output(&onnx, track.phase, "phase", MX_ONNX_FLOAT, frames_dimension, 1);
    export_file_close(&file, &onnx);
    mx_onnx_release(&onnx);
}

/* ---- noise ---- */

/* Within the table of the graph, at its end, and beyond it. */
static void noise(void **state)
{
    (void)state;
    enum { HOP = 256, CASES = 4 };
    static const int lengths[CASES] = {2, MX_EXPORT_NOISE_FRAMES + 1, MX_EXPORT_NOISE_FRAMES + 2, 1500};
    static float row[HOP];
    const uint64_t seed = 0x123456789ABCDEF1;
    struct mx_onnx onnx = {0};
    struct export_file file = export_file_open("noise");
    assert_int_equal(MX_RECIPE_DEFAULT->hop, HOP);
    for (int i = 0; i < CASES; i++) {
        export_case_begin(&file);
        export_case_number(&file, "frames", lengths[i]);
        for (int64_t at = 0; at < HOP; at++) {
            const int64_t stream = mx_sound_noise_stream(lengths[i] - 2); /* after the last frame but one */
            const uint32_t word = mx_rng_u32(seed, (uint64_t)stream, (uint64_t)at);
            const double uniform = ((double)(word >> 8) + 0.5) * 0x1p-23 - 1;
            row[at] = (float)((double)mx_sound_noise_gain(MX_RECIPE_DEFAULT) *
                              (1 + (double)MX_SOUND_NOISE_TO_ONE * (sqrt(3) * uniform)));
        }
        export_case_floats(&file, "last", row, HOP);
        export_case_end(&file);
    }
    const struct mx_onnx_value frames = mx_onnx_input(&onnx, "frames", MX_ONNX_INT64, NULL, 0);
    mx_onnx_output(&onnx, mx_export_noise(&onnx, MX_RECIPE_DEFAULT, seed, frames), "noise", MX_ONNX_FLOAT,
                   (const struct mx_onnx_dimension[]){{"samples", 0}}, 1);
    export_file_close(&file, &onnx);
    mx_onnx_release(&onnx);
}

/* ---- the whole ---- */

#define FRAMES_MAX 60

/* A mel that changes slowly, normalised. */
static void mel_compute(float *mel, int frames, int bands, uint64_t seed)
{
    for (int t = 0; t < frames; t++)
        for (int b = 0; b < bands; b++)
            mel[t * bands + b] = (float)(sin(0.11 * t + 0.23 * b + (double)seed) - 0.01 * b) +
                                 0.2f * mx_rng_normal(seed, 9, (uint64_t)(t * bands + b));
}

/* Untrained weights, except that the pitch differs from frame to frame, and that the short frames are lowered: some not
 * at all, some as far as possible. */
static float *weights_make(const struct mx_parameters *table)
{
    float *const weights = mx_alloc((size_t)table->floats, sizeof *weights);
    assert_non_null(weights);
    mx_parameters_init(table, 1, weights);
    const struct mx_parameter *const pitch = mx_parameters_find(table, "vocoder.pitch.weight");
    const struct mx_parameter *const bias = mx_parameters_find(table, "vocoder.pitch.bias");
    for (int64_t i = 0; i < pitch->count; i++) weights[pitch->at + i] *= 40;
    weights[bias->at + MX_VOCODER_CLASSES] = 5;
    const struct mx_parameter *const burst = mx_parameters_find(table, "vocoder.burst.weight");
    const struct mx_parameter *const level = mx_parameters_find(table, "vocoder.burst.bias");
    for (int64_t i = 0; i < burst->count; i++) weights[burst->at + i] *= 20;
    for (int64_t i = 0; i < level->count; i++) weights[level->at + i] = -6;
    return weights;
}

/* Sound of a mel that a network predicted, or of that of a recording, with as many projections as usual. */
static void sound_check(const char *name, bool predicted)
{
    enum { CASES = 4 };
    static const int lengths[CASES] = {FRAMES_MAX, 2, 3, 41};
    static float mel[FRAMES_MAX * MX_MODEL_BANDS];
    const struct mx_vocoder_size size = {.name = "test", .width = 32, .blocks = 2, .hidden = 48};
    const struct mx_vocoder_config config = mx_vocoder_config_default(&size, -5, 2.1f);
    struct op_cpu cpu;
    struct mx_stream *stream;
    struct mx_parameters *table;
    struct mx_buffer *parameters, *input;
    struct mx_sound *maker;
    must(op_cpu_open(&cpu, 1, 0));
    must(mx_stream_create(cpu.device, "test", &stream));
    must(mx_vocoder_parameters_create(&config, &table));
    float *const weights = weights_make(table);
    must(mx_buffer_create(cpu.device, "test", (size_t)table->floats * 4, &parameters));
    must(mx_buffer_create(cpu.device, "test", sizeof mel, &input));
    must(mx_copy_upload(stream, mx_slice_at(parameters, 0), weights, (size_t)table->floats * 4));
    struct mx_sound_options options = MX_SOUND_OPTIONS_DEFAULT;
    options.vocoder = &config;
    options.parameters = mx_slice_at(parameters, 0);
    options.mean = (double)config.mel_mean;
    options.deviation = (double)config.mel_deviation;
    options.frames_max = FRAMES_MAX;
    options.utterances_max = 1;
    options.seed = 3;
    options.predicted = predicted;
    must(mx_sound_create(cpu.device, stream, &options, &maker));

    struct export_file file = export_file_open(name);
    for (int i = 0; i < CASES; i++) {
        struct mx_sound_audio made;
        mel_compute(mel, lengths[i], MX_MODEL_BANDS, (uint64_t)i);
        must(mx_copy_upload(stream, mx_slice_at(input, 0), mel, sizeof mel));
        must(mx_sound_compute(maker, stream, mx_slice_at(input, 0), (const int32_t[]){0, lengths[i]}, 1, &made));
        export_case_begin(&file);
        export_case_floats(&file, "mel", mel, (int64_t)lengths[i] * MX_MODEL_BANDS);
        export_case_floats(&file, "audio", made.audio, made.offsets[1]);
        export_case_end(&file);
    }
    struct mx_onnx onnx = {0};
    const struct mx_export e = {.onnx = &onnx, .table = table, .weights = weights};
    const struct mx_export_sound how = {.config = &config,
                                        .rounds = mx_sound_rounds(maker),
                                        .projections = mx_sound_projections(maker),
                                        .texture = mx_sound_texture(maker),
                                        .contrast = mx_sound_contrast(maker),
                                        .momentum = options.momentum,
                                        .seed = options.seed};
    const struct mx_onnx_value in = mx_onnx_input(
        &onnx, "mel", MX_ONNX_FLOAT, (const struct mx_onnx_dimension[]){{"frames", 0}, {NULL, MX_MODEL_BANDS}}, 2);
    const struct mx_onnx_value audio = mx_export_sound(&e, &how, in, mx_export_rows(&onnx, in));
    mx_onnx_output(&onnx, audio, "audio", MX_ONNX_FLOAT, (const struct mx_onnx_dimension[]){{"samples", 0}}, 1);
    export_file_close(&file, &onnx);

    mx_onnx_release(&onnx);
    mx_sound_destroy(maker);
    mx_free(weights);
    mx_parameters_destroy(table);
    mx_buffer_release(parameters);
    mx_buffer_release(input);
    mx_stream_release(stream);
    op_cpu_close(&cpu);
}

static void spoken(void **state)
{
    (void)state;
    sound_check("spoken", true);
}

static void vocoded(void **state)
{
    (void)state;
    sound_check("vocoded", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path),
        cmocka_unit_test(noise),
        cmocka_unit_test(spoken),
        cmocka_unit_test(vocoded),
    };
    return cmocka_run_group_tests(tests, export_folder_open, export_folder_close);
}
