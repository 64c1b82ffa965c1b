/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Graphs for other runtimes: a small ONNX file byte by byte; the acoustic network as a graph, whose every value is made
 * before it is used, and only once; what is refused.
 *
 * Whether a graph computes what our network does is for a runtime to say: with MX_EXPORT_FOLDER set, the graph and what
 * our network says to some sequences of symbols are left there, and scripts/test/onnx_check.py compares (`make test-onnx`).
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "export/acoustic.h"
#include "export/onnx.h"
#include "myxtts/error.h"
#include "support/export_rig.h"
#include "support/model_rig.h"

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* ---- bytes ---- */

static void model_byte_by_byte(void **state)
{
    (void)state;
    const struct mx_onnx_value absent = {.name = ""};
    struct mx_onnx onnx = {0};
    const struct mx_onnx_value x =
        mx_onnx_input(&onnx, "x", MX_ONNX_FLOAT, (const struct mx_onnx_dimension[]){{.number = 2}, {"n", 0}}, 2);
    const struct mx_onnx_value list = MX_ONNX_LIST(&onnx, 1, -1);
    const struct mx_onnx_value y = MX_ONNX_WITH(
        &onnx, "Op", (MX_ONNX_A_INT("axis", 3), MX_ONNX_A_REAL("e", 0.5), MX_ONNX_A_INTS("p", 1, 0)), x, absent, list);
    mx_onnx_output(&onnx, y, "y", MX_ONNX_INT64, NULL, 0);
    mx_onnx_metadata(&onnx, "k", "v");
    static const uint8_t graph[] = {
        0x5A, 0x14,                                                             /* input, 20 bytes */
        0x0A, 0x01, 'x',  0x12, 0x0F, 0x0A, 0x0D, 0x08, 0x01,                   /* x: tensor of floats */
        0x12, 0x09, 0x0A, 0x02, 0x08, 0x02, 0x0A, 0x03, 0x12, 0x01, 'n',        /* [2, n] */
        0x2A, 0x1A, 0x08, 0x02, 0x10, 0x07, 0x42, 0x02, 'v',  '0',  0x4A, 0x10, /* initialiser v0: int64 [2] */
        1,    0,    0,    0,    0,    0,    0,    0,    255,  255,  255,  255,  255,  255, 255, 255, /* 1, -1 */
        0x0A, 0x37, 0x0A, 0x01, 'x',  0x0A, 0x00, 0x0A, 0x02, 'v',  '0',               /* node: x, absent, v0 */
        0x12, 0x02, 'v',  '1',  0x22, 0x02, 'O',  'p',                                 /* → v1 by Op */
        0x2A, 0x0B, 0x0A, 0x04, 'a',  'x',  'i',  's',  0x18, 0x03, 0xA0, 0x01, 0x02,  /* axis = 3 */
        0x2A, 0x0B, 0x0A, 0x01, 'e',  0x15, 0x00, 0x00, 0x00, 0x3F, 0xA0, 0x01, 0x01,  /* e = 0.5 */
        0x2A, 0x0A, 0x0A, 0x01, 'p',  0x40, 0x01, 0x40, 0x00, 0xA0, 0x01, 0x07,        /* p = 1, 0 */
        0x0A, 0x11, 0x0A, 0x02, 'v',  '1',  0x12, 0x01, 'y',                           /* node: v1 → y, */
        0x22, 0x08, 'I',  'd',  'e',  'n',  't',  'i',  't',  'y',                     /* unchanged */
        0x62, 0x0B, 0x0A, 0x01, 'y',  0x12, 0x06, 0x0A, 0x04, 0x08, 0x07, 0x12, 0x00}; /* output y: int64, a scalar */
    assert_int_equal(onnx.graph.failure, 0);
    assert_int_equal(onnx.graph.length, sizeof graph);
    assert_memory_equal(onnx.graph.data, graph, sizeof graph);

    char *const path = export_path_of("bytes.onnx"), *data;
    size_t bytes;
    must(mx_onnx_write(&onnx, path));
    must(mx_file_read(path, 1 << 20, &data, &bytes));
    /* IR version 8, myxtts and its version, opset 17; the graph with its name; the metadata. */
    static const uint8_t head[] = {0x08, 0x08, 0x12, 0x06, 'm', 'y', 'x', 't', 't', 's', 0x1A};
    static const uint8_t opset[] = {0x42, 0x02, 0x10, 0x11, 0x3A};
    static const uint8_t tail[] = {0x72, 0x06, 0x0A, 0x01, 'k', 0x12, 0x01, 'v'};
    const size_t version = strlen(MX_VERSION), name = 8, all = sizeof graph + name;
    const uint8_t *at = (const uint8_t *)data;
    assert_memory_equal(at, head, sizeof head);
    at += sizeof head;
    assert_int_equal(*at++, version);
    assert_memory_equal(at, MX_VERSION, version);
    at += version;
    assert_memory_equal(at, opset, sizeof opset);
    at += sizeof opset;
    assert_int_equal(*at++, (all & 127) | 128);
    assert_int_equal(*at++, all >> 7);
    assert_memory_equal(at, "\x12\x06myxtts", name);
    assert_memory_equal(at + name, graph, sizeof graph);
    assert_memory_equal(at + all, tail, sizeof tail);
    assert_ptr_equal(at + all + sizeof tail, (const uint8_t *)data + bytes);
    mx_free(data);
    export_path_done(path);
    mx_onnx_release(&onnx);
}

/* ---- the acoustic network ---- */

#define VOICES 2

static const float speeds[] = {1, 0.37f, 2.5f};

/* What our network says to the rig's one utterance. */
static void case_put(struct export_file *file, struct rig *rig, const struct utterance *u, int voice, float speed)
{
    struct mx_speech speech;
    struct mx_speech_options options = MX_SPEECH_OPTIONS_DEFAULT;
    options.speed = speed;
    must(mx_model_synthesize(rig->model, rig->stream, rig_parameters(rig), &rig->batch, &options, &speech));
    const int64_t count = (int64_t)speech.frames.rows * mx_model_config(rig->model)->bands;
    float *const mel = rig_download(rig, speech.mel, count);
    export_case_begin(file);
    export_case_number(file, "voice", voice);
    export_case_number(file, "slower", 1 / (double)speed);
    export_case_ints(file, "tokens", u->ids, u->tokens);
    export_case_ints(file, "durations", speech.durations, u->tokens);
    export_case_floats(file, "mel", mel, count);
    export_case_end(file);
    mx_free(mel);
}

/* The graph with its ends: "tokens", "voice", "slower" → "mel", "durations". */
static void graph_make(struct mx_onnx *onnx, const struct rig *rig, const float *weights,
                       const struct mx_export_speech *speech)
{
    const struct mx_export e = {.onnx = onnx, .table = rig->table, .weights = weights};
    struct mx_export_acoustic_inputs in = {0};
    in.tokens = mx_onnx_input(onnx, "tokens", MX_ONNX_INT64, (const struct mx_onnx_dimension[]){{"tokens", 0}}, 1);
    if (speech->speakers > 1)
        in.speaker = mx_onnx_input(onnx, "voice", MX_ONNX_INT64, (const struct mx_onnx_dimension[]){{NULL, 1}}, 1);
    in.slower = mx_onnx_input(onnx, "slower", MX_ONNX_FLOAT, NULL, 0);
    const struct mx_export_acoustic_outputs out = mx_export_acoustic(&e, speech, &in);
    mx_onnx_output(onnx, out.mel, "mel", MX_ONNX_FLOAT,
                   (const struct mx_onnx_dimension[]){{"frames", 0}, {NULL, speech->config->bands}}, 2);
    mx_onnx_output(onnx, out.durations, "durations", MX_ONNX_INT64, (const struct mx_onnx_dimension[]){{"tokens", 0}},
                   1);
}

static void acoustic_network(void **state)
{
    (void)state;
    enum { CASES = 6 };
    const struct mx_model_config config = rig_config();
    const int64_t width = config.size.width;
    struct rig rig;
    struct utterance utterances[CASES];
    float vectors[VOICES * 16];
    rig_open(&rig, &config, MX_MODEL_SPEAK, 1, true);
    float *const weights = rig_download(&rig, rig_parameters(&rig), rig.table->floats);
    /* Untrained durations are all below 1: about three frames a token are worth rounding. */
    weights[mx_parameters_find(rig.table, "predictor.duration.out.bias")->at] += 1.4f;
    rig_upload(&rig, rig_parameters(&rig), weights, rig.table->floats);

    struct export_file file = export_file_open("acoustic");
    for (int i = 0; i < CASES; i++) {
        const int voice = i % VOICES;
        utterance_make(&utterances[i], &config, 40 + (uint64_t)i, voice, 0);
        utterances[i].language = 1;
        if (i >= VOICES) { /* all utterances of a voice have one reference */
            struct utterance *const first = &utterances[voice];
            mx_free(utterances[i].reference);
            utterances[i].references = first->references;
            utterances[i].reference = mx_alloc((size_t)(first->references * config.bands), sizeof(float));
            assert_non_null(utterances[i].reference);
            memcpy(utterances[i].reference, first->reference,
                   (size_t)(first->references * config.bands) * sizeof(float));
        }
        rig_load(&rig, &utterances[i], 1);
        for (size_t s = 0; s < sizeof speeds / sizeof *speeds; s++)
            case_put(&file, &rig, &utterances[i], voice, speeds[s]);
        if (i < VOICES) {
            float *const vector = rig_download(&rig, mx_model_view(rig.model).voices, width);
            memcpy(vectors + i * width, vector, (size_t)width * sizeof(float));
            mx_free(vector);
        }
    }

    const struct mx_export_speech speech = {.config = &config, .language = 1, .speakers = VOICES, .vectors = vectors};
    struct mx_onnx onnx = {0}, again = {0};
    graph_make(&onnx, &rig, weights, &speech);
    assert_true(export_graph_check(&onnx) > 100);
    graph_make(&again, &rig, weights, &speech);
    assert_int_equal(onnx.graph.length, again.graph.length);
    assert_memory_equal(onnx.graph.data, again.graph.data, again.graph.length);
    export_file_close(&file, &onnx);

    for (int i = 0; i < CASES; i++) utterance_release(&utterances[i]);
    mx_onnx_release(&onnx);
    mx_onnx_release(&again);
    mx_free(weights);
    rig_close(&rig);
}

/* A table of another network lacks blocks, and the first one missing is named; memory that runs out is reported. */
static void refused(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    struct mx_model_config larger = config;
    struct rig rig;
    static const float vector[16];
    rig_open(&rig, &config, MX_MODEL_SPEAK, 1, false);
    float *const weights = rig_download(&rig, rig_parameters(&rig), rig.table->floats);
    struct mx_export_speech speech = {.config = &larger, .speakers = 1, .vectors = vector};
    struct mx_onnx onnx = {0};
    char *const path = export_path_of("refused.onnx");
    larger.size.encoder_blocks = 2;
    graph_make(&onnx, &rig, weights, &speech);
    assert_int_equal(mx_onnx_write(&onnx, path), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->message, "'encoder.block.1.norm1.weight'"));
    assert_int_equal(access(path, F_OK), -1);
    mx_onnx_release(&onnx);

    speech.config = &config;
    for (uint64_t nth = 1; nth < 1000; nth++) {
        mx_alloc_fail_at(nth);
        graph_make(&onnx, &rig, weights, &speech);
        const int rc = onnx.graph.failure;
        mx_alloc_fail_at(0);
        mx_onnx_release(&onnx);
        mx_error_clear();
        if (rc == 0) {
            assert_true(nth > 3);
            break;
        }
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
    }
    mx_free(weights);
    mx_free(path);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_byte_by_byte),
        cmocka_unit_test(acoustic_network),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, export_folder_open, export_folder_close);
}
