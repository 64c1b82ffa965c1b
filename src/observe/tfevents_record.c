/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Records of event files, see tfevents_record.h.
 */
#include "observe/tfevents_record.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define HEADER_BYTES 12
#define MASK_DELTA   0xA282EAD8u

enum wire { VARINT = 0, EIGHT_BYTES = 1, BYTES = 2, FOUR_BYTES = 5 };

void mx_tfevent_bytes_release(struct mx_tfevent_bytes *bytes)
{
    mx_free(bytes->data);
    *bytes = (struct mx_tfevent_bytes){0};
}

/* ---- CRC-32C ---- */

uint32_t mx_tfevent_crc(const void *data, size_t bytes)
{
    /* Four bits at a time: the remainders of 0 … 15. */
    static const uint32_t rest[16] = {0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3,
                                      0x61C69362, 0x7198540D, 0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9,
                                      0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75};
    uint32_t crc = 0xFFFFFFFF;
    for (const uint8_t *at = data, *const end = at + bytes; at < end; at++) {
        crc ^= *at;
        crc = crc >> 4 ^ rest[crc & 15];
        crc = crc >> 4 ^ rest[crc & 15];
    }
    return crc ^ 0xFFFFFFFF;
}

static uint32_t masked(const void *data, size_t bytes)
{
    const uint32_t crc = mx_tfevent_crc(data, bytes);
    return (crc >> 15 | crc << 17) + MASK_DELTA;
}

/* ---- bytes ---- */

/* Room for so many more; false: there is none, and the failure is noted. */
static bool room(struct mx_tfevent_bytes *out, size_t bytes)
{
    if (out->failure != 0) return false;
    if (out->capacity - out->length >= bytes) return true;
    const size_t capacity = 2 * (out->length + bytes);
    uint8_t *const grown = mx_realloc(out->data, capacity, 1);
    if (grown == NULL) {
        out->failure = MX_ERR_NO_MEMORY;
        return false;
    }
    out->data = grown;
    out->capacity = capacity;
    return true;
}

static void little(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static void fixed_put(struct mx_tfevent_bytes *out, uint64_t value, int bytes)
{
    if (!room(out, (size_t)bytes)) return;
    little(out->data + out->length, value, bytes);
    out->length += (size_t)bytes;
}

static void varint_put(struct mx_tfevent_bytes *out, uint64_t value)
{
    for (; value >= 128; value >>= 7) fixed_put(out, (value & 127) | 128, 1);
    fixed_put(out, value, 1);
}

static void key_put(struct mx_tfevent_bytes *out, unsigned field, enum wire type)
{
    varint_put(out, field << 3 | (unsigned)type);
}

/* ---- fields ---- */

static void int_put(struct mx_tfevent_bytes *out, unsigned field, int64_t value)
{
    key_put(out, field, VARINT);
    varint_put(out, (uint64_t)value);
}

static void float_put(struct mx_tfevent_bytes *out, unsigned field, double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    key_put(out, field, FOUR_BYTES);
    fixed_put(out, bits, 4);
}

static void double_put(struct mx_tfevent_bytes *out, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    key_put(out, field, EIGHT_BYTES);
    fixed_put(out, bits, 8);
}

static void bytes_put(struct mx_tfevent_bytes *out, unsigned field, const void *data, size_t bytes)
{
    key_put(out, field, BYTES);
    varint_put(out, bytes);
    if (bytes == 0 || !room(out, bytes)) return;
    memcpy(out->data + out->length, data, bytes);
    out->length += bytes;
}

static void string_put(struct mx_tfevent_bytes *out, unsigned field, const char *text)
{
    bytes_put(out, field, text, strlen(text));
}

/* A message inside of another one: its fields come between begin and end. */
static size_t message_begin(struct mx_tfevent_bytes *out, unsigned field)
{
    key_put(out, field, BYTES);
    return out->length;
}

/* Its length is known only now: the fields move up to make room for it. */
static void message_end(struct mx_tfevent_bytes *out, size_t begin)
{
    if (out->failure != 0) return;
    const size_t bytes = out->length - begin;
    varint_put(out, bytes); /* behind the fields, for now */
    if (out->failure != 0) return;
    const size_t prefix = out->length - begin - bytes;
    uint8_t number[10];
    memcpy(number, out->data + begin + bytes, prefix);
    memmove(out->data + begin + prefix, out->data + begin, bytes);
    memcpy(out->data + begin, number, prefix);
}

/* ---- records ---- */

struct record {
    size_t begin;
};

static struct record record_begin(struct mx_tfevent_bytes *out, double time, int64_t step)
{
    const struct record record = {out->length};
    fixed_put(out, 0, 8); /* the header, filled in at the end */
    fixed_put(out, 0, HEADER_BYTES - 8);
    double_put(out, 1, time);
    if (step != 0) int_put(out, 2, step);
    return record;
}

static void record_end(struct mx_tfevent_bytes *out, struct record record)
{
    if (out->failure == 0) {
        uint8_t *const header = out->data + record.begin, *const data = header + HEADER_BYTES;
        const size_t bytes = out->length - record.begin - HEADER_BYTES;
        little(header, bytes, 8);
        little(header + 8, masked(header, 8), 4);
        fixed_put(out, masked(data, bytes), 4);
    }
    if (out->failure != 0) out->length = record.begin;
}

/* One event with one summary of one value, up to its tag. */
struct value {
    struct record record;
    size_t summary, value;
};

static struct value value_begin(struct mx_tfevent_bytes *out, const struct mx_tfevent_place *place)
{
    struct value v = {.record = record_begin(out, place->time, place->step)};
    v.summary = message_begin(out, 5);
    v.value = message_begin(out, 1);
    string_put(out, 1, place->tag);
    return v;
}

static void value_end(struct mx_tfevent_bytes *out, struct value v)
{
    message_end(out, v.value);
    message_end(out, v.summary);
    record_end(out, v.record);
}

void mx_tfevent_version(struct mx_tfevent_bytes *out, double time)
{
    const struct record record = record_begin(out, time, 0);
    string_put(out, 3, "brain.Event:2");
    record_end(out, record);
}

void mx_tfevent_start(struct mx_tfevent_bytes *out, double time, int64_t step)
{
    const struct record record = record_begin(out, time, step);
    const size_t log = message_begin(out, 7);
    int_put(out, 1, 1);
    message_end(out, log);
    record_end(out, record);
}

void mx_tfevent_scalars(struct mx_tfevent_bytes *out, double time, int64_t step,
                        const struct mx_tfevent_scalar *scalars, size_t count)
{
    const struct record record = record_begin(out, time, step);
    const size_t summary = message_begin(out, 5);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(scalars[i].value)) continue;
        const size_t value = message_begin(out, 1);
        string_put(out, 1, scalars[i].tag);
        float_put(out, 2, scalars[i].value);
        message_end(out, value);
    }
    message_end(out, summary);
    record_end(out, record);
}

void mx_tfevent_image(struct mx_tfevent_bytes *out, const struct mx_tfevent_place *place, int width, int height,
                      const void *png, size_t bytes)
{
    const struct value value = value_begin(out, place);
    const size_t image = message_begin(out, 4);
    int_put(out, 1, height);
    int_put(out, 2, width);
    int_put(out, 3, 3);
    bytes_put(out, 4, png, bytes);
    message_end(out, image);
    value_end(out, value);
}

void mx_tfevent_audio(struct mx_tfevent_bytes *out, const struct mx_tfevent_place *place, int rate, int64_t frames,
                      const void *wav, size_t bytes)
{
    const struct value value = value_begin(out, place);
    const size_t audio = message_begin(out, 6);
    float_put(out, 1, rate);
    int_put(out, 2, 1);
    int_put(out, 3, frames);
    bytes_put(out, 4, wav, bytes);
    string_put(out, 5, "audio/wav");
    message_end(out, audio);
    value_end(out, value);
}

void mx_tfevent_text(struct mx_tfevent_bytes *out, const struct mx_tfevent_place *place, const char *text)
{
    const struct value value = value_begin(out, place);
    const size_t tensor = message_begin(out, 8);
    int_put(out, 1, 7);
    const size_t shape = message_begin(out, 2), dim = message_begin(out, 2);
    int_put(out, 1, 1);
    message_end(out, dim);
    message_end(out, shape);
    string_put(out, 8, text);
    message_end(out, tensor);
    const size_t metadata = message_begin(out, 9), plugin = message_begin(out, 1);
    string_put(out, 1, "text");
    message_end(out, plugin);
    int_put(out, 4, 2);
    message_end(out, metadata);
    value_end(out, value);
}
