/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See export_rig.h.
 */
#include "support/export_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "myxtts/error.h"

static char folder[] = "/tmp/myxtts-export-XXXXXX";
static const char *kept;

int export_folder_open(void **state)
{
    (void)state;
    kept = getenv("MX_EXPORT_FOLDER");
    return kept != NULL || mkdtemp(folder) != NULL ? 0 : -1;
}

int export_folder_close(void **state)
{
    (void)state;
    return kept != NULL ? 0 : rmdir(folder);
}

char *export_path_of(const char *name)
{
    char *const path = mx_format("%s/%s", kept != NULL ? kept : folder, name);
    assert_non_null(path);
    return path;
}

void export_path_done(char *path)
{
    if (kept == NULL) assert_int_equal(unlink(path), 0);
    mx_free(path);
}

/* ---- cases ---- */

struct export_file export_file_open(const char *name)
{
    struct export_file file = {0};
    char with[64];
    (void)snprintf(with, sizeof with, "%s.onnx", name);
    file.graph_path = export_path_of(with);
    (void)snprintf(with, sizeof with, "%s.jsonl", name);
    file.cases_path = export_path_of(with);
    file.cases = fopen(file.cases_path, "w");
    assert_non_null(file.cases);
    return file;
}

void export_case_begin(struct export_file *file)
{
    (void)fputs("{", file->cases);
    file->first = true;
}

static void key_put(struct export_file *file, const char *key)
{
    (void)fprintf(file->cases, "%s\"%s\": ", file->first ? "" : ", ", key);
    file->first = false;
}

void export_case_number(struct export_file *file, const char *key, double value)
{
    key_put(file, key);
    (void)fprintf(file->cases, "%.17g", value);
}

void export_case_floats(struct export_file *file, const char *key, const float *values, int64_t count)
{
    key_put(file, key);
    for (int64_t i = 0; i < count; i++) (void)fprintf(file->cases, "%s%.9g", i == 0 ? "[" : ", ", (double)values[i]);
    (void)fputs("]", file->cases);
}

void export_case_ints(struct export_file *file, const char *key, const int32_t *values, int64_t count)
{
    key_put(file, key);
    for (int64_t i = 0; i < count; i++) (void)fprintf(file->cases, "%s%d", i == 0 ? "[" : ", ", (int)values[i]);
    (void)fputs("]", file->cases);
}

void export_case_end(struct export_file *file)
{
    (void)fputs("}\n", file->cases);
}

void export_file_close(struct export_file *file, const struct mx_onnx *onnx)
{
    assert_int_equal(fclose(file->cases), 0);
    assert_true(export_graph_check(onnx) > 0);
    if (mx_onnx_write(onnx, file->graph_path) < 0) fail_msg("%s", mx_error_last()->message);
    export_path_done(file->graph_path);
    export_path_done(file->cases_path);
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
    if (field->data == NULL || field->bytes == 0 || field->bytes >= MX_ONNX_NAME_BYTES) {
        fail_msg("a name has %zu bytes", field->bytes);
        return; /* never; cmocka does not tell the analyser */
    }
    assert_int_equal(MX_GROW(names->list, names->capacity, names->count + 1), 0);
    memcpy(names->list[names->count], field->data, field->bytes);
    names->list[names->count++][field->bytes] = 0;
}

size_t export_graph_check(const struct mx_onnx *onnx)
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
