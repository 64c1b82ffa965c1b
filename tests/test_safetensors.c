/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Safetensors: what is written is read back, the bytes are the format's, and no damaged or hostile file gets through.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/format/safetensors.h"
#include "myxtts/error.h"

static char folder[64], path[96];

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/myxtts-tensors-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/file.safetensors", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static const float numbers[6] = {1, 2, 3, 4, 5, 6};
static const int64_t wide[2] = {-1, INT64_MIN};
static const uint8_t odd[3] = {7, 8, 9};

static const struct mx_tensor tensors[] = {
    {.name = "mel", .dtype = MX_DTYPE_F32, .rank = 2, .shape = {2, 3}, .data = numbers},
    {.name = "a \"quoted\\\" name", .dtype = MX_DTYPE_I64, .rank = 1, .shape = {2}, .data = wide, .bytes = 16},
    {.name = "empty", .dtype = MX_DTYPE_BF16, .rank = 3, .shape = {4, 0, 5}},
    {.name = "گام", .dtype = MX_DTYPE_U8, .rank = 1, .shape = {3}, .data = odd},
    {.name = "one", .dtype = MX_DTYPE_F32, .data = numbers},
};
static const struct mx_metadata metadata[] = {{"recipe", "mx"}, {"note", "line\n\"two\"\t\\ سلام"}, {"empty", ""}};
#define TENSORS  (sizeof tensors / sizeof *tensors)
#define METADATA (sizeof metadata / sizeof *metadata)

static void there_and_back(void **state)
{
    (void)state;
    struct mx_safetensors *file = NULL;
    assert_int_equal(mx_safetensors_write(path, tensors, TENSORS, metadata, METADATA), 0);
    if (mx_safetensors_open(path, &file) < 0) fail_msg("%s", mx_error_last()->message);
    assert_int_equal(mx_safetensors_count(file), TENSORS);
    for (size_t i = 0; i < TENSORS; i++) {
        const struct mx_tensor *found = mx_safetensors_find(file, tensors[i].name);
        assert_non_null(found);
        assert_int_equal(found->dtype, tensors[i].dtype);
        assert_int_equal(found->rank, tensors[i].rank);
        uint64_t bytes = mx_dtype_bytes(found->dtype);
        for (int k = 0; k < found->rank; k++) {
            assert_int_equal(found->shape[k], tensors[i].shape[k]);
            bytes *= found->shape[k];
        }
        assert_int_equal(found->bytes, bytes);
        if (bytes > 0) assert_memory_equal(found->data, tensors[i].data, bytes);
    }
    assert_string_equal(mx_safetensors_at(file, 0)->name, "mel");
    assert_null(mx_safetensors_at(file, TENSORS));
    assert_null(mx_safetensors_find(file, "me"));
    assert_int_equal(mx_safetensors_metadata_count(file), METADATA);
    for (size_t i = 0; i < METADATA; i++) {
        assert_string_equal(mx_safetensors_metadata(file, metadata[i].key), metadata[i].text);
        assert_string_equal(mx_safetensors_metadata_at(file, i)->key, metadata[i].key);
    }
    assert_null(mx_safetensors_metadata(file, "nothing"));
    mx_safetensors_close(file);
}

/* The bytes by hand: whoever reads the format's definition finds the same. */
static void bytes_are_the_formats(void **state)
{
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"k\":\"v\"},\"x\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]}}";
    static const int16_t values[] = {0x0102, -2};
    const struct mx_tensor x = {.name = "x", .dtype = MX_DTYPE_I16, .rank = 1, .shape = {2}, .data = values};
    const struct mx_metadata k = {"k", "v"};
    char *data = NULL;
    size_t bytes = 0;
    assert_int_equal(mx_safetensors_write(path, &x, 1, &k, 1), 0);
    assert_int_equal(mx_file_read(path, 1000, &data, &bytes), 0);
    const size_t padded = (8 + sizeof header - 1 + 63) / 64 * 64;
    assert_int_equal(bytes, padded + 4);
    assert_int_equal((unsigned char)data[0], padded - 8);
    for (int i = 1; i < 8; i++) assert_int_equal(data[i], 0);
    assert_memory_equal(data + 8, header, sizeof header - 1);
    for (size_t i = 8 + sizeof header - 1; i < padded; i++) assert_int_equal(data[i], ' ');
    assert_memory_equal(data + padded, values, 4);
    mx_free(data);
}

static void empty_file(void **state)
{
    (void)state;
    struct mx_safetensors *file = NULL;
    assert_int_equal(mx_safetensors_write(path, NULL, 0, NULL, 0), 0);
    assert_int_equal(mx_safetensors_open(path, &file), 0);
    assert_int_equal(mx_safetensors_count(file), 0);
    assert_null(mx_safetensors_find(file, "x"));
    mx_safetensors_close(file);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    const struct mx_tensor wrong[] = {
        {.name = NULL, .dtype = MX_DTYPE_F32, .data = numbers},
        {.name = "", .dtype = MX_DTYPE_F32, .data = numbers},
        {.name = "__metadata__", .dtype = MX_DTYPE_F32, .data = numbers},
        {.name = "new\nline", .dtype = MX_DTYPE_F32, .data = numbers},
        {.name = "\xff", .dtype = MX_DTYPE_F32, .data = numbers},
        {.name = "no data", .dtype = MX_DTYPE_F32, .rank = 1, .shape = {2}},
        {.name = "bytes", .dtype = MX_DTYPE_F32, .rank = 1, .shape = {2}, .data = numbers, .bytes = 4},
        {.name = "rank", .dtype = MX_DTYPE_F32, .rank = 9, .data = numbers},
        {.name = "type", .dtype = MX_DTYPE_COUNT, .data = numbers},
        {.name = "shape", .dtype = MX_DTYPE_F32, .rank = 2, .shape = {UINT64_MAX, 2}, .data = numbers},
    };
    const struct mx_tensor twice[] = {tensors[0], tensors[4], tensors[0]};
    const struct mx_metadata doubled[] = {metadata[0], metadata[0]}, none[] = {{"key", NULL}}, bad[] = {{"k", "\xc0"}};
    unlink(path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mx_error_clear();
        assert_int_equal(mx_safetensors_write(path, &wrong[i], 1, NULL, 0), MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
    }
    assert_int_equal(mx_safetensors_write(path, twice, 3, NULL, 0), MX_ERR_ARGUMENT);
    assert_int_equal(mx_safetensors_write(path, tensors, 1, doubled, 2), MX_ERR_ARGUMENT);
    assert_int_equal(mx_safetensors_write(path, tensors, 1, none, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_safetensors_write(path, tensors, 1, bad, 1), MX_ERR_ARGUMENT);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(mx_safetensors_write("/nowhere/at/all", tensors, 1, NULL, 0), MX_ERR_IO);
}

/* ---- hostile files ---- */

/* Parses a file of this header followed by `data_bytes` zeros, from memory of exactly that size. */
static int parse(const char *header, size_t data_bytes)
{
    const size_t length = strlen(header), bytes = 8 + length + data_bytes;
    uint8_t *data = mx_alloc(bytes, 1);
    struct mx_safetensors *file = NULL;
    assert_non_null(data);
    for (int i = 0; i < 8; i++) data[i] = (uint8_t)((uint64_t)length >> 8 * i);
    memcpy(data + 8, header, length);
    const int rc = mx_safetensors_parse("hostile", data, bytes, &file);
    assert_true((rc == 0) == (file != NULL));
    mx_safetensors_close(file);
    mx_free(data);
    return rc;
}

#define ONE(dtype, shape, offsets) "{\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define PART(name, offsets)        "\"" name "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" offsets "}"

static void hostile_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data_bytes;
    } cases[] = {
        {"", 0},
        {"[]", 0},
        {" {}", 0},
        {"{", 0},
        {"{} x", 0},
        {"{}{}", 0},
        {"{}\t", 0},
        {"{\"x\":1}", 0},
        {"{}", 4}, /* data of nobody */
        {ONE("F31", "[1]", "[0,4]"), 4},
        {ONE("F32", "[1]", "[0,4]"), 3},
        {ONE("F32", "[1]", "[0,4]"), 5},
        {ONE("F32", "[1]", "[0,8]"), 8},
        {ONE("F32", "[1]", "[4,8]"), 8}, /* a gap */
        {ONE("F32", "[1]", "[4,0]"), 4},
        {ONE("F32", "[1]", "[0]"), 4},
        {ONE("F32", "[1]", "[0,4,4]"), 4},
        {ONE("F32", "[1]", "[-4,0]"), 4},
        {ONE("F32", "[1]", "[0,4.5]"), 4},
        {ONE("F32", "[1]", "\"0,4\""), 4},
        {ONE("F32", "[1.5]", "[0,6]"), 6},
        {ONE("F32", "[-1]", "[0,4]"), 4},
        {ONE("F32", "[1e400]", "[0,4]"), 4},
        {ONE("F32", "[9007199254740993]", "[0,4]"), 4},
        {ONE("F32", "[4294967296,4294967296,4]", "[0,0]"), 0}, /* the product is 0 in 64 bits */
        {ONE("F32", "[4611686018427387904,4]", "[0,0]"), 0},
        {ONE("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4},
        {ONE("F32", "1", "[0,4]"), 4},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4},
        {"{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1}}", 4},
        {"{\"x\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}}", 4},
        {"{" PART("x", "[0,4]") "," PART("x", "[4,8]") "}", 8},         /* one name twice */
        {"{" PART("x", "[0,4]") "," PART("y", "[0,4]") "}", 4},         /* one place twice */
        {"{" PART("x", "[0,4]") "," PART("y", "[2,6]") "}", 6},         /* overlap */
        {"{" PART("x", "[0,4]") "," PART("x\\u0000y", "[4,8]") "}", 8}, /* a name with a zero */
        {"{\"__metadata__\":[]}", 0},
        {"{\"__metadata__\":{\"k\":1}}", 0},
        {"{\"__metadata__\":{\"k\":\"a\",\"k\":\"b\"}}", 0},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0},
        {"{\"__metadata__\":{\"k\":\"\xff\"}}", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mx_error_clear();
        if (parse(cases[i].header, cases[i].data_bytes) != MX_ERR_FORMAT)
            fail_msg("not refused: %s with %zu bytes", cases[i].header, cases[i].data_bytes);
        assert_true(strstr(mx_error_last()->message, "hostile") != NULL && mx_error_last()->hint[0] != 0);
    }
    /* And what is allowed. */
    assert_int_equal(parse("{}   ", 0), 0);
    assert_int_equal(parse(ONE("F32", "[1]", "[0,4]"), 4), 0);
    assert_int_equal(parse(ONE("F32", "[]", "[0,4]"), 4), 0);
    assert_int_equal(parse(ONE("F32", "[0]", "[0,0]"), 0), 0);
    assert_int_equal(parse("{" PART("y", "[4,8]") "," PART("x", "[0,4]") "}", 8), 0);
    assert_int_equal(parse("{" PART("x\\\\u0000", "[0,4]") "}", 4), 0); /* a backslash and u0000, no zero */
}

static void lengths_are_not_believed(void **state)
{
    (void)state;
    struct mx_safetensors *file = NULL;
    uint8_t data[16] = {0};
    for (size_t bytes = 0; bytes < 8; bytes++)
        assert_int_equal(mx_safetensors_parse("x", data, bytes, &file), MX_ERR_FORMAT);
    static const uint64_t lengths[] = {0, 1, 9, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, UINT64_C(17) << 20};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int k = 0; k < 8; k++) data[k] = (uint8_t)(lengths[i] >> 8 * k);
        assert_int_equal(mx_safetensors_parse("x", data, sizeof data, &file), MX_ERR_FORMAT);
        assert_null(file);
    }
}

/* Cut anywhere, or with any one bit turned, a file is refused or still sound; never a crash (under the sanitizers). */
static void damaged_files(void **state)
{
    (void)state;
    char *data = NULL;
    size_t bytes = 0;
    struct mx_safetensors *file = NULL;
    assert_int_equal(mx_safetensors_write(path, tensors, TENSORS, metadata, METADATA), 0);
    assert_int_equal(mx_file_read(path, 10000, &data, &bytes), 0);
    for (size_t cut = 0; cut < bytes; cut++) {
        char *part = mx_alloc(cut + 1, 1);
        assert_non_null(part);
        memcpy(part, data, cut);
        assert_int_equal(mx_safetensors_parse("cut", part, cut, &file), MX_ERR_FORMAT);
        mx_free(part);
    }
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        data[bit / 8] ^= (char)(1 << bit % 8);
        if (mx_safetensors_parse("bit", data, bytes, &file) == 0) {
            for (size_t i = 0; i < mx_safetensors_count(file); i++) {
                const struct mx_tensor *t = mx_safetensors_at(file, i);
                assert_true((const char *)t->data >= data && (const char *)t->data + t->bytes <= data + bytes);
            }
            mx_safetensors_close(file);
        } else {
            assert_null(file);
        }
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
    mx_free(data);
}

static void files_that_are_none(void **state)
{
    (void)state;
    struct mx_safetensors *file = NULL;
    char none[96];
    snprintf(none, sizeof none, "%s/none", folder);
    assert_int_equal(mx_safetensors_open(none, &file), MX_ERR_NOT_FOUND);
    assert_int_equal(mx_safetensors_open(folder, &file), MX_ERR_IO);
    assert_int_equal(mx_file_write_atomic(path, "", 0), 0);
    assert_int_equal(mx_safetensors_open(path, &file), MX_ERR_FORMAT);
    assert_null(file);
}

static void without_memory(void **state)
{
    (void)state;
    struct mx_safetensors *file = NULL;
    assert_int_equal(mx_safetensors_write(path, tensors, TENSORS, metadata, METADATA), 0);
    for (uint64_t nth = 1; nth < 12; nth++) {
        mx_alloc_fail_at(nth);
        const int rc = mx_safetensors_open(path, &file);
        mx_alloc_fail_at(nth);
        const int written = mx_safetensors_write(path, tensors, TENSORS, metadata, METADATA);
        mx_alloc_fail_at(0);
        assert_true(rc == 0 || (rc == MX_ERR_NO_MEMORY && file == NULL));
        assert_true(written == 0 || written == MX_ERR_NO_MEMORY);
        mx_safetensors_close(file);
        file = NULL;
    }
    assert_int_equal(mx_safetensors_open(path, &file), 0);
    mx_safetensors_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(bytes_are_the_formats),
        cmocka_unit_test(empty_file),
        cmocka_unit_test(what_cannot_be_written_is_refused),
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test(lengths_are_not_believed),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
