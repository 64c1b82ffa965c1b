/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Protocol buffer messages, see protobuf.h.
 */
#include "base/format/protobuf.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

enum wire { VARINT = 0, EIGHT_BYTES = 1, LENGTH = 2, FOUR_BYTES = 5 };

void mx_protobuf_release(struct mx_protobuf *out)
{
    mx_free(out->data);
    *out = (struct mx_protobuf){0};
}

/* Room for this many more; false: there is none, and the failure is noted. */
static bool room(struct mx_protobuf *out, size_t bytes)
{
    if (out->failure == 0) out->failure = MX_GROW(out->data, out->capacity, out->length + bytes);
    return out->failure == 0;
}

void mx_protobuf_raw(struct mx_protobuf *out, const void *data, size_t bytes)
{
    if (bytes == 0 || !room(out, bytes)) return;
    memcpy(out->data + out->length, data, bytes);
    out->length += bytes;
}

void mx_protobuf_fixed(struct mx_protobuf *out, uint64_t value, int bytes)
{
    uint8_t little[8];
    for (int i = 0; i < bytes; i++) little[i] = (uint8_t)(value >> 8 * i);
    mx_protobuf_raw(out, little, (size_t)bytes);
}

static void varint_put(struct mx_protobuf *out, uint64_t value)
{
    uint8_t digits[10];
    size_t count = 0;
    for (; value >= 128; value >>= 7) digits[count++] = (uint8_t)((value & 127) | 128);
    digits[count++] = (uint8_t)value;
    mx_protobuf_raw(out, digits, count);
}

static void key_put(struct mx_protobuf *out, unsigned field, enum wire type)
{
    varint_put(out, (uint64_t)field << 3 | (unsigned)type);
}

void mx_protobuf_int(struct mx_protobuf *out, unsigned field, int64_t value)
{
    key_put(out, field, VARINT);
    varint_put(out, (uint64_t)value);
}

void mx_protobuf_float(struct mx_protobuf *out, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    key_put(out, field, FOUR_BYTES);
    mx_protobuf_fixed(out, bits, 4);
}

void mx_protobuf_double(struct mx_protobuf *out, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    key_put(out, field, EIGHT_BYTES);
    mx_protobuf_fixed(out, bits, 8);
}

void mx_protobuf_length(struct mx_protobuf *out, unsigned field, uint64_t bytes)
{
    key_put(out, field, LENGTH);
    varint_put(out, bytes);
}

void mx_protobuf_bytes(struct mx_protobuf *out, unsigned field, const void *data, size_t bytes)
{
    mx_protobuf_length(out, field, bytes);
    mx_protobuf_raw(out, data, bytes);
}

void mx_protobuf_string(struct mx_protobuf *out, unsigned field, const char *text)
{
    mx_protobuf_bytes(out, field, text, strlen(text));
}

size_t mx_protobuf_begin(struct mx_protobuf *out, unsigned field)
{
    key_put(out, field, LENGTH);
    return out->length;
}

/* The length is known only now: the fields move up to make room for it. */
void mx_protobuf_end(struct mx_protobuf *out, size_t begin)
{
    if (out->failure != 0) return;
    const size_t bytes = out->length - begin;
    varint_put(out, bytes); /* after the fields, for now */
    if (out->failure != 0) return;
    const size_t prefix = out->length - begin - bytes;
    uint8_t number[10];
    memcpy(number, out->data + begin + bytes, prefix);
    memmove(out->data + begin + prefix, out->data + begin, bytes);
    memcpy(out->data + begin, number, prefix);
}
