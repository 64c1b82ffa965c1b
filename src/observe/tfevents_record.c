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

/* ---- records ---- */

static void little(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

struct record {
    size_t begin;
};

static struct record record_begin(struct mx_protobuf *out, double time, int64_t step)
{
    const struct record record = {out->length};
    mx_protobuf_fixed(out, 0, 8); /* the header, filled in at the end */
    mx_protobuf_fixed(out, 0, HEADER_BYTES - 8);
    mx_protobuf_double(out, 1, time);
    if (step != 0) mx_protobuf_int(out, 2, step);
    return record;
}

static void record_end(struct mx_protobuf *out, struct record record)
{
    if (out->failure == 0) {
        uint8_t *const header = out->data + record.begin, *const data = header + HEADER_BYTES;
        const size_t bytes = out->length - record.begin - HEADER_BYTES;
        little(header, bytes, 8);
        little(header + 8, masked(header, 8), 4);
        mx_protobuf_fixed(out, masked(data, bytes), 4);
    }
    if (out->failure != 0) out->length = record.begin;
}

/* One event with one summary of one value, up to its tag. */
struct value {
    struct record record;
    size_t summary, value;
};

static struct value value_begin(struct mx_protobuf *out, const struct mx_tfevent_key *place)
{
    struct value v = {.record = record_begin(out, place->time, place->step)};
    v.summary = mx_protobuf_begin(out, 5);
    v.value = mx_protobuf_begin(out, 1);
    mx_protobuf_string(out, 1, place->tag);
    return v;
}

static void value_end(struct mx_protobuf *out, struct value v)
{
    mx_protobuf_end(out, v.value);
    mx_protobuf_end(out, v.summary);
    record_end(out, v.record);
}

void mx_tfevent_version(struct mx_protobuf *out, double time)
{
    const struct record record = record_begin(out, time, 0);
    mx_protobuf_string(out, 3, "brain.Event:2");
    record_end(out, record);
}

void mx_tfevent_start(struct mx_protobuf *out, double time, int64_t step)
{
    const struct record record = record_begin(out, time, step);
    const size_t log = mx_protobuf_begin(out, 7);
    mx_protobuf_int(out, 1, 1);
    mx_protobuf_end(out, log);
    record_end(out, record);
}

void mx_tfevent_scalars(struct mx_protobuf *out, double time, int64_t step, const struct mx_tfevent_scalar *scalars,
                        size_t count)
{
    const struct record record = record_begin(out, time, step);
    const size_t summary = mx_protobuf_begin(out, 5);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(scalars[i].value)) continue;
        const size_t value = mx_protobuf_begin(out, 1);
        mx_protobuf_string(out, 1, scalars[i].tag);
        mx_protobuf_float(out, 2, (float)scalars[i].value);
        mx_protobuf_end(out, value);
    }
    mx_protobuf_end(out, summary);
    record_end(out, record);
}

void mx_tfevent_image(struct mx_protobuf *out, const struct mx_tfevent_key *place, int width, int height,
                      const void *png, size_t bytes)
{
    const struct value value = value_begin(out, place);
    const size_t image = mx_protobuf_begin(out, 4);
    mx_protobuf_int(out, 1, height);
    mx_protobuf_int(out, 2, width);
    mx_protobuf_int(out, 3, 3);
    mx_protobuf_bytes(out, 4, png, bytes);
    mx_protobuf_end(out, image);
    value_end(out, value);
}

void mx_tfevent_audio(struct mx_protobuf *out, const struct mx_tfevent_key *place, int rate, int64_t frames,
                      const void *wav, size_t bytes)
{
    const struct value value = value_begin(out, place);
    const size_t audio = mx_protobuf_begin(out, 6);
    mx_protobuf_float(out, 1, (float)rate);
    mx_protobuf_int(out, 2, 1);
    mx_protobuf_int(out, 3, frames);
    mx_protobuf_bytes(out, 4, wav, bytes);
    mx_protobuf_string(out, 5, "audio/wav");
    mx_protobuf_end(out, audio);
    value_end(out, value);
}

void mx_tfevent_text(struct mx_protobuf *out, const struct mx_tfevent_key *place, const char *text)
{
    const struct value value = value_begin(out, place);
    const size_t tensor = mx_protobuf_begin(out, 8);
    mx_protobuf_int(out, 1, 7);
    const size_t shape = mx_protobuf_begin(out, 2), dim = mx_protobuf_begin(out, 2);
    mx_protobuf_int(out, 1, 1);
    mx_protobuf_end(out, dim);
    mx_protobuf_end(out, shape);
    mx_protobuf_string(out, 8, text);
    mx_protobuf_end(out, tensor);
    const size_t metadata = mx_protobuf_begin(out, 9), plugin = mx_protobuf_begin(out, 1);
    mx_protobuf_string(out, 1, "text");
    mx_protobuf_end(out, plugin);
    mx_protobuf_int(out, 4, 2);
    mx_protobuf_end(out, metadata);
    value_end(out, value);
}
