/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writes protocol buffer messages as bytes. A message is a sequence of fields; a field is a key, field · 8 + type, and a
 * value: a varint (type 0: seven bits a byte, the lowest first), eight bytes (1), a length and that many bytes (2), or
 * four bytes (5), all little-endian. A message inside another one is a field of type 2.
 *
 * The caller decides about defaults: what is written is written, zeros too. There is no reader, because the program
 * reads no protocol buffers.
 *
 * Memory: fields are appended to the caller's bytes, which grow. A failure is kept in them, and everything after it
 * does nothing, so a writer checks once, at the end. {0} is empty and valid. One owner, one thread at a time.
 */
#ifndef MX_BASE_PROTOBUF_H
#define MX_BASE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct mx_protobuf {
    uint8_t *data;
    size_t length, capacity;
    int failure; /* 0, or the code of the first failure */
};

void mx_protobuf_release(struct mx_protobuf *out);

/* ---- fields ---- */
void mx_protobuf_int(struct mx_protobuf *out, unsigned field, int64_t value); /* int64, int32, bool, enum */
void mx_protobuf_float(struct mx_protobuf *out, unsigned field, float value);
void mx_protobuf_double(struct mx_protobuf *out, unsigned field, double value);
void mx_protobuf_bytes(struct mx_protobuf *out, unsigned field, const void *data, size_t bytes);
void mx_protobuf_string(struct mx_protobuf *out, unsigned field, const char *text);

/* A message inside another one: its fields come between begin and end, and `begin` is what begin returned. */
size_t mx_protobuf_begin(struct mx_protobuf *out, unsigned field);
void mx_protobuf_end(struct mx_protobuf *out, size_t begin);

/* ---- parts of fields, for writers that know the length of a field before its content ---- */
void mx_protobuf_length(struct mx_protobuf *out, unsigned field, uint64_t bytes); /* key and length of a type 2 field */
void mx_protobuf_raw(struct mx_protobuf *out, const void *data, size_t bytes);
void mx_protobuf_fixed(struct mx_protobuf *out, uint64_t value, int bytes); /* the lowest `bytes`, 1 to 8, of value */

#endif
