/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Graphs for other runtimes: a small ONNX file byte by byte; the acoustic network as a graph, whose every value is made
 * before it is used, and only once; what is refused.
 *
 * Whether a graph computes what our network does is for a runtime to say: with MX_EXPORT_FOLDER set, the graph and what
 * our network says to some sequences of symbols are left there, and scripts/test_onnx.py compares (`make test-onnx`).
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "export/acoustic.h"
#include "export/onnx.h"
#include "myxtts/error.h"
#include "support/model_rig.h"

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* Where files go: the folder that was asked for, or one that is removed at the end. */
static char folder[] = "/tmp/myxtts-export-XXXXXX";
static const char *kept;

static int folder_open(void **state)
{
    (void)state;
    kept = getenv("MX_EXPORT_FOLDER");
    return kept != NULL || mkdtemp(folder) != NULL ? 0 : -1;
}

static int folder_close(void **state)
{
    (void)state;
    return kept != NULL ? 0 : rmdir(folder);
}

/* The caller frees. */
static char *path_of(const char *name)
{
    char *const path = mx_format("%s/%s", kept != NULL ? kept : folder, name);
    assert_non_null(path);
    return path;
}

static void path_done(char *path)
{
    if (kept == NULL) assert_int_equal(unlink(path), 0);
    mx_free(path);
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
        0x0A, 0x11, 0x0A, 0x02, 'v',  '1',  0x12, 0x01, 'y',                           /* node: v1 → y … */
        0x22, 0x08, 'I',  'd',  'e',  'n',  't',  'i',  't',  'y',                     /* … unchanged */
        0x62, 0x0B, 0x0A, 0x01, 'y',  0x12, 0x06, 0x0A, 0x04, 0x08, 0x07, 0x12, 0x00}; /* output y: int64, a scalar */
    assert_int_equal(onnx.graph.failure, 0);
    assert_int_equal(onnx.graph.length, sizeof graph);
    assert_memory_equal(onnx.graph.data, graph, sizeof graph);

    char *const path = path_of("bytes.onnx"), *data;
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
    path_done(path);
    mx_onnx_release(&onnx);
}

/* ---- reading a graph ---- */

/* One field of a message. */
struct field {
    unsigned number;
    const uint8_t *data; /* of a field with a length */
    size_t bytes;
};

static uint64_t varint_read(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        assert_true(*at < end);
        const uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    fail_msg("a number does not end");
    return 0;
}

static bool field_next(const uint8_t **at, const uint8_t *end, struct field *field)
{
    if (*at == end) return false;
    const uint64_t key = varint_read(at, end);
    *field = (struct field){.number = (unsigned)(key >> 3)};
    switch (key & 7) {
    case 0:
        (void)varint_read(at, end);
        break;
    case 2:
        field->bytes = (size_t)varint_read(at, end);
        field->data = *at;
        assert_true(field->bytes <= (size_t)(end - *at));
        *at += field->bytes;
        break;
    case 5:
        assert_true(end - *at >= 4);
        *at += 4;
        break;
    default:
        fail_msg("a field has type %d", (int)(key & 7));
    }
    return true;
}

/* The names of a graph's values, in the order in which they are made. */
struct names {
    char (*list)[MX_ONNX_NAME_BYTES];
    size_t count, capacity;
};

static bool names_have(const struct names *names, const struct field *field)
{
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->list[i]) == field->bytes && memcmp(names->list[i], field->data, field->bytes) == 0)
            return true;
    return false;
}

static void names_add(struct names *names, const struct field *field)
{
    if (names_have(names, field)) fail_msg("'%.*s' is made twice", (int)field->bytes, (const char *)field->data);
    assert_true(field->bytes > 0 && field->bytes < MX_ONNX_NAME_BYTES);
    if (names->count == names->capacity) {
        names->capacity = names->capacity == 0 ? 64 : 2 * names->capacity;
        names->list = mx_realloc(names->list, names->capacity, sizeof *names->list);
        assert_non_null(names->list);
    }
    memcpy(names->list[names->count], field->data, field->bytes);
    names->list[names->count++][field->bytes] = 0;
}

/* Every input of a node is made before it, and no name is made twice. Returns the number of nodes. */
static size_t graph_check(const struct mx_onnx *onnx)
{
    const uint8_t *at = onnx->graph.data, *const end = at + onnx->graph.length;
    struct names names = {0};
    struct field outer, inner;
    size_t nodes = 0;
    assert_int_equal(onnx->graph.failure, 0);
    while (field_next(&at, end, &outer)) {
        const uint8_t *in = outer.data, *const over = outer.data + outer.bytes;
        nodes += outer.number == 1;
        while (field_next(&in, over, &inner)) {
            if (outer.number == 1 && inner.number == 1 && inner.bytes > 0 && !names_have(&names, &inner))
                fail_msg("'%.*s' is used before it is made", (int)inner.bytes, (const char *)inner.data);
            if (outer.number == 1 && inner.number == 2) names_add(&names, &inner);
            if (outer.number == 5 && inner.number == 8) names_add(&names, &inner);
            if (outer.number == 11 && inner.number == 1) names_add(&names, &inner);
            if (outer.number == 12 && inner.number == 1) assert_true(names_have(&names, &inner));
        }
    }
    mx_free(names.list);
    return nodes;
}

/* ---- the acoustic network ---- */

#define VOICES 2

static const float speeds[] = {1, 0.37f, 2.5f};

static void list_put(FILE *file, const char *key, const float *values, int64_t count)
{
    (void)fprintf(file, ", \"%s\": [", key);
    for (int64_t i = 0; i < count; i++) (void)fprintf(file, "%s%.9g", i == 0 ? "" : ", ", (double)values[i]);
    (void)fprintf(file, "]");
}

/* What our network says to the rig's one utterance, as a line of JSON. */
static void case_put(FILE *file, struct rig *rig, const struct utterance *u, int voice, float speed)
{
    struct mx_speech speech;
    struct mx_speech_options options = MX_SPEECH_OPTIONS_DEFAULT;
    options.speed = speed;
    must(mx_model_synthesize(rig->model, rig->stream, rig_parameters(rig), &rig->batch, &options, &speech));
    const int64_t count = (int64_t)speech.frames.rows * mx_model_config(rig->model)->bands;
    float *const mel = rig_download(rig, speech.mel, count);
    (void)fprintf(file, "{\"voice\": %d, \"slower\": %.9g, \"tokens\": [", voice, 1 / (double)speed);
    for (int32_t t = 0; t < u->tokens; t++) (void)fprintf(file, "%s%d", t == 0 ? "" : ", ", (int)u->ids[t]);
    (void)fprintf(file, "], \"durations\": [");
    for (int32_t t = 0; t < u->tokens; t++) (void)fprintf(file, "%s%d", t == 0 ? "" : ", ", (int)speech.durations[t]);
    (void)fprintf(file, "]");
    list_put(file, "mel", mel, count);
    (void)fprintf(file, "}\n");
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

    char *const cases = path_of("acoustic.jsonl"), *const path = path_of("acoustic.onnx");
    FILE *const file = fopen(cases, "w");
    assert_non_null(file);
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
            case_put(file, &rig, &utterances[i], voice, speeds[s]);
        if (i < VOICES) {
            float *const vector = rig_download(&rig, mx_model_view(rig.model).voices, width);
            memcpy(vectors + i * width, vector, (size_t)width * sizeof(float));
            mx_free(vector);
        }
    }
    assert_int_equal(fclose(file), 0);

    const struct mx_export_speech speech = {.config = &config, .language = 1, .speakers = VOICES, .vectors = vectors};
    struct mx_onnx onnx = {0}, again = {0};
    graph_make(&onnx, &rig, weights, &speech);
    assert_true(graph_check(&onnx) > 100);
    graph_make(&again, &rig, weights, &speech);
    assert_int_equal(onnx.graph.length, again.graph.length);
    assert_memory_equal(onnx.graph.data, again.graph.data, again.graph.length);
    must(mx_onnx_write(&onnx, path));

    for (int i = 0; i < CASES; i++) utterance_release(&utterances[i]);
    mx_onnx_release(&onnx);
    mx_onnx_release(&again);
    mx_free(weights);
    path_done(cases);
    path_done(path);
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
    char *const path = path_of("refused.onnx");
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
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
