/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading safetensors files. Nothing in the file is trusted, see safetensors.h.
 *
 * The header is parsed by cJSON, which is lenient; what it lets through (a second value after the first, duplicate
 * keys, numbers that are not whole) is checked here. cJSON's tree lives as long as the file: names and texts point into
 * it.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/format/cjson.h"
#include "base/format/safetensors.h"
#include "base/string.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 96
#define WHOLE_MAX    0x1p53 /* up to here every whole number has its own double */

struct mx_safetensors {
    void *mapping; /* NULL: the bytes are the caller's */
    size_t mapping_bytes;
    cJSON *header;
    struct mx_tensor *tensors, **by_name;
    size_t count;
    struct mx_metadata *metadata;
    size_t metadata_count;
};

/* What is being read, for messages. */
struct reading {
    const char *source;
    const uint8_t *data; /* after the header */
    uint64_t bytes;
};

static int damaged(const struct reading *reading, const char *what)
{
    char quoted[QUOTED_BYTES];
    return MX_FAIL(MX_ERR_FORMAT, "the file is damaged, incomplete or no safetensors file: get it again", "%s: %s",
                   mx_string_quote(quoted, sizeof quoted, reading->source), what);
}

static int tensor_damaged(const struct reading *reading, const char *name, const char *what)
{
    char quoted[QUOTED_BYTES], name_quoted[QUOTED_BYTES];
    return MX_FAIL(MX_ERR_FORMAT, "the file is damaged, incomplete or no safetensors file: get it again",
                   "%s: tensor %s %s", mx_string_quote(quoted, sizeof quoted, reading->source),
                   mx_string_quote(name_quoted, sizeof name_quoted, name), what);
}

/* ---- the header ---- */

static bool whole_number(const cJSON *item, uint64_t *out)
{
    if (!cJSON_IsNumber(item)) return false;
    const double value = item->valuedouble;
    if (!(value >= 0 && value <= WHOLE_MAX) || value != (double)(uint64_t)value) return false;
    *out = (uint64_t)value;
    return true;
}

static bool dtype_find(const cJSON *item, enum mx_dtype *out)
{
    const char *const name = cJSON_GetStringValue(item);
    if (name == NULL) return false;
    for (int i = 0; i < MX_DTYPE_COUNT; i++)
        if (strcmp(name, mx_dtype_name((enum mx_dtype)i)) == 0) {
            *out = (enum mx_dtype)i;
            return true;
        }
    return false;
}

/* The three members of a tensor, each exactly once and no others. False, with the error set, if they are not. */
static bool members_find(const struct reading *reading, const cJSON *item, const cJSON *found[3])
{
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    const char *wrong = cJSON_IsObject(item) ? NULL : "is no object";
    found[0] = found[1] = found[2] = NULL;
    for (const cJSON *member = item->child; wrong == NULL && member != NULL; member = member->next) {
        int which = 0;
        while (which < 3 && strcmp(names[which], member->string) != 0) which++;
        if (which == 3)
            wrong = "has a member that the format does not know";
        else if (found[which] != NULL)
            wrong = "has a member twice";
        else
            found[which] = member;
    }
    if (wrong == NULL && found[0] != NULL && found[1] != NULL && found[2] != NULL) return true;
    tensor_damaged(reading, item->string, wrong != NULL ? wrong : "lacks dtype, shape or data_offsets");
    return false;
}

static int tensor_read(const struct reading *reading, const cJSON *item, struct mx_tensor *tensor)
{
    const cJSON *found[3];
    uint64_t elements = 1, range[2];
    int count = 0;
    if (!members_find(reading, item, found)) return mx_error_last()->code;
    *tensor = (struct mx_tensor){.name = item->string};
    if (!dtype_find(found[0], &tensor->dtype)) return tensor_damaged(reading, item->string, "has an unknown dtype");
    if (!cJSON_IsArray(found[1]) || !cJSON_IsArray(found[2]))
        return tensor_damaged(reading, item->string, "has a shape or data_offsets that is not a list");
    for (const cJSON *size = found[1]->child; size != NULL; size = size->next) {
        if (tensor->rank == MX_SAFETENSORS_RANK)
            return tensor_damaged(reading, item->string, "has more than 8 dimensions");
        uint64_t *const to = &tensor->shape[tensor->rank++];
        if (!whole_number(size, to) || __builtin_mul_overflow(elements, *to, &elements))
            return tensor_damaged(reading, item->string, "has an impossible shape");
    }
    for (const cJSON *edge = found[2]->child; edge != NULL; edge = edge->next)
        if (count == 2 || !whole_number(edge, &range[count++]))
            return tensor_damaged(reading, item->string, "has impossible data_offsets");
    if (count != 2 || range[0] > range[1] || range[1] > reading->bytes)
        return tensor_damaged(reading, item->string, "lies outside the data");
    if (__builtin_mul_overflow(elements, (uint64_t)mx_dtype_bytes(tensor->dtype), &tensor->bytes) ||
        tensor->bytes != range[1] - range[0])
        return tensor_damaged(reading, item->string, "has a shape that does not fit its data_offsets");
    tensor->data = reading->data + range[0];
    return 0;
}

static int metadata_read(const struct reading *reading, struct mx_safetensors *file, const cJSON *object)
{
    if (file->metadata != NULL) return damaged(reading, "the header has __metadata__ twice");
    if (!cJSON_IsObject(object)) return damaged(reading, "__metadata__ is not an object");
    const size_t count = (size_t)cJSON_GetArraySize(object);
    if (count > MX_SAFETENSORS_METADATA_MAX) return damaged(reading, "__metadata__ has more than 4096 keys");
    file->metadata = mx_alloc(count + 1, sizeof *file->metadata);
    if (file->metadata == NULL) return MX_ERR_NO_MEMORY;
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        if (!cJSON_IsString(item)) return damaged(reading, "__metadata__ has a value that is not text");
        if (mx_safetensors_metadata(file, item->string) != NULL)
            return damaged(reading, "__metadata__ has a key twice");
        file->metadata[file->metadata_count++] = (struct mx_metadata){item->string, item->valuestring};
    }
    return 0;
}

static int place_compare(const void *a, const void *b)
{
    const struct mx_tensor *const x = a, *const y = b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1; /* empty ones before what begins at the same place */
    return strcmp(x->name, y->name);
}

static int name_compare(const void *a, const void *b)
{
    return strcmp((*(const struct mx_tensor *const *)a)->name, (*(const struct mx_tensor *const *)b)->name);
}

/* Sorts the tensors by place and by name; refuses gaps, overlap and doubled names. */
static int tensors_order(const struct reading *reading, struct mx_safetensors *file)
{
    const uint8_t *at = reading->data;
    qsort(file->tensors, file->count, sizeof *file->tensors, place_compare);
    for (size_t i = 0; i < file->count; i++) {
        if (file->tensors[i].data != at)
            return tensor_damaged(reading, file->tensors[i].name,
                                  "overlaps another tensor, or there is a gap before it");
        at += file->tensors[i].bytes;
        file->by_name[i] = &file->tensors[i];
    }
    if (at != reading->data + reading->bytes) return damaged(reading, "there is data that belongs to no tensor");
    qsort(file->by_name, file->count, sizeof *file->by_name, name_compare);
    for (size_t i = 1; i < file->count; i++)
        if (strcmp(file->by_name[i - 1]->name, file->by_name[i]->name) == 0)
            return tensor_damaged(reading, file->by_name[i]->name, "is there twice");
    return 0;
}

static int header_read(const struct reading *reading, struct mx_safetensors *file)
{
    int rc = 0;
    const size_t most = (size_t)cJSON_GetArraySize(file->header);
    if (most > MX_SAFETENSORS_COUNT_MAX) return damaged(reading, "the header names too many tensors");
    file->tensors = mx_alloc(most + 1, sizeof *file->tensors);
    file->by_name = mx_alloc(most + 1, sizeof *file->by_name);
    if (file->tensors == NULL || file->by_name == NULL) return MX_ERR_NO_MEMORY;
    for (const cJSON *item = file->header->child; item != NULL && rc == 0; item = item->next) {
        if (strcmp(item->string, "__metadata__") == 0)
            rc = metadata_read(reading, file, item);
        else
            rc = tensor_read(reading, item, &file->tensors[file->count++]);
    }
    return rc < 0 ? rc : tensors_order(reading, file);
}

/* cJSON ends keys and texts at a zero byte; the escape that makes one would let two names look alike. */
static bool has_zero_escape(const char *text, size_t length)
{
    for (size_t i = 0; i + 6 <= length; i++) {
        if (text[i] != '\\') continue;
        if (memcmp(text + i, "\\u0000", 6) == 0) return true;
        i++; /* what is escaped does not escape */
    }
    return false;
}

int mx_safetensors_parse(const char *source, const void *data, size_t bytes, struct mx_safetensors **out)
{
    int rc = 0;
    const uint8_t *const raw = data;
    const char *end = NULL;
    uint64_t length = 0;
    struct reading reading = {.source = source};
    struct mx_safetensors *file = NULL;
    *out = NULL;
    if (bytes < 8) return damaged(&reading, "it has fewer than 8 bytes");
    for (int i = 0; i < 8; i++) length |= (uint64_t)raw[i] << 8 * i;
    if (length > MX_SAFETENSORS_HEADER_MAX) return damaged(&reading, "its header would have more than 16 MiB");
    if (length > bytes - 8) return damaged(&reading, "it ends within its header");
    const char *const text = (const char *)raw + 8;
    reading.data = raw + 8 + length;
    reading.bytes = bytes - 8 - length;
    if (length < 2 || text[0] != '{') return damaged(&reading, "its header does not begin with {");
    if (mx_utf8_check(text, (size_t)length) != length || memchr(text, 0, (size_t)length) != NULL ||
        has_zero_escape(text, (size_t)length))
        return damaged(&reading, "its header is not UTF-8, or has a zero character");
    file = mx_alloc(1, sizeof *file);
    if (file == NULL) return MX_ERR_NO_MEMORY;
    MX_TRY(mx_cjson_parse(text, (size_t)length, &end, &file->header));
    if (!cJSON_IsObject(file->header)) MX_TRY(damaged(&reading, "its header is no JSON object"));
    for (; end < text + length; end++)
        if (*end != ' ') MX_TRY(damaged(&reading, "something follows the JSON object of its header"));
    MX_TRY(header_read(&reading, file));
    *out = file;
    file = NULL;
out:
    mx_safetensors_close(file);
    return rc;
}

/* ---- files ---- */

int mx_safetensors_open(const char *path, struct mx_safetensors **out)
{
    int rc = 0, fd = -1;
    char quoted[QUOTED_BYTES];
    struct stat status;
    struct mx_safetensors *file = NULL;
    void *mapping = MAP_FAILED;
    *out = NULL;
    mx_string_quote(quoted, sizeof quoted, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused without waiting for its writer */
    if (fd < 0)
        MX_RAISE(errno == ENOENT ? MX_ERR_NOT_FOUND : MX_ERR_IO, "check the path and its permissions",
                 "cannot open %s: %s", quoted, strerror(errno));
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        MX_RAISE(MX_ERR_IO, "name an ordinary file", "%s is not an ordinary file", quoted);
    const size_t bytes = (size_t)status.st_size;
    if (bytes < 8) MX_TRY(damaged(&(struct reading){.source = path}, "it has fewer than 8 bytes"));
    mapping = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping == MAP_FAILED) MX_RAISE(MX_ERR_IO, "free some memory", "cannot map %s: %s", quoted, strerror(errno));
    rc = mx_safetensors_parse(path, mapping, bytes, &file);
    if (file == NULL) goto out;
    file->mapping = mapping;
    file->mapping_bytes = bytes;
    mapping = MAP_FAILED;
    *out = file;
out:
    if (mapping != MAP_FAILED) munmap(mapping, (size_t)status.st_size);
    if (fd >= 0) close(fd);
    return rc;
}

void mx_safetensors_close(struct mx_safetensors *file)
{
    if (file == NULL) return;
    cJSON_Delete(file->header);
    mx_free(file->tensors);
    mx_free(file->by_name);
    mx_free(file->metadata);
    if (file->mapping != NULL) munmap(file->mapping, file->mapping_bytes);
    mx_free(file);
}

/* ---- handing out ---- */

size_t mx_safetensors_count(const struct mx_safetensors *file)
{
    return file->count;
}

const struct mx_tensor *mx_safetensors_at(const struct mx_safetensors *file, size_t index)
{
    return index < file->count ? &file->tensors[index] : NULL;
}

const struct mx_tensor *mx_safetensors_find(const struct mx_safetensors *file, const char *name)
{
    const struct mx_tensor key = {.name = name}, *const at = &key;
    struct mx_tensor *const *const found =
        bsearch(&at, file->by_name, file->count, sizeof *file->by_name, name_compare);
    return found != NULL ? *found : NULL;
}

size_t mx_safetensors_metadata_count(const struct mx_safetensors *file)
{
    return file->metadata_count;
}

const struct mx_metadata *mx_safetensors_metadata_at(const struct mx_safetensors *file, size_t index)
{
    return index < file->metadata_count ? &file->metadata[index] : NULL;
}

const char *mx_safetensors_metadata(const struct mx_safetensors *file, const char *key)
{
    for (size_t i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0) return file->metadata[i].text;
    return NULL;
}
