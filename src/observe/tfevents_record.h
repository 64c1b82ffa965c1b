/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Records of TensorBoard's event files as bytes. Written by hand: there is no C library for them, and they need only
 * five small protocol buffer messages, for which a code generator in the build would be too much.
 *
 * A file is a sequence of records (TFRecord), all numbers little-endian:
 *
 *     8 bytes   length of the data
 *     4 bytes   masked CRC-32C of those 8 bytes
 *     n bytes   data: one Event
 *     4 bytes   masked CRC-32C of the data
 *
 * masked(c) = (c rotated right by 15 bits) + 0xA282EAD8, modulo 2^32. CRC-32C is that of RFC 3720: polynomial
 * 0x1EDC6F41, reflected, begins and ends inverted.
 *
 * Messages (base/format/protobuf.h):
 *
 *     Event     1 wall_time double (seconds since 1970), 2 step int64, 3 file_version string, 5 summary Summary,
 *               7 session_log SessionLog
 *     Summary   1 value Value, repeated
 *     Value     1 tag string, 2 simple_value float, 4 image Image, 6 audio Audio, 8 tensor TensorProto,
 *               9 metadata SummaryMetadata
 *     Image     1 height, 2 width, 3 colorspace (3: RGB) int32, 4 encoded_image_string bytes (PNG)
 *     Audio     1 sample_rate float, 2 num_channels, 3 length_frames int64, 4 encoded_audio_string bytes (WAV),
 *               5 content_type string
 *     TensorProto       1 dtype (7: string), 2 tensor_shape {2 dim {1 size}}, 8 string_val bytes
 *     SummaryMetadata   1 plugin_data {1 plugin_name string}, 4 data_class (2: tensor)
 *     SessionLog        1 status (1: START)
 *
 * The first event of a file has file_version "brain.Event:2". An event with session_log START says that what earlier
 * files have for this and later steps is no longer valid: that is how a resumed run is marked.
 *
 * Memory: records are appended to the caller's bytes, which grow. A failure is kept in them, and a record that did not
 * fit completely is not there.
 */
#ifndef MX_OBSERVE_TFEVENTS_RECORD_H
#define MX_OBSERVE_TFEVENTS_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/format/protobuf.h"

struct mx_tfevent_scalar {
    const char *tag;
    double value; /* left out if it is not finite */
};

void mx_tfevent_version(struct mx_protobuf *out, double time);
void mx_tfevent_start(struct mx_protobuf *out, double time, int64_t step);
void mx_tfevent_scalars(struct mx_protobuf *out, double time, int64_t step, const struct mx_tfevent_scalar *scalars,
                        size_t count);

/* Where one value is shown. */
struct mx_tfevent_key {
    double time;
    int64_t step;
    const char *tag;
};

void mx_tfevent_image(struct mx_protobuf *out, const struct mx_tfevent_key *place, int width, int height,
                      const void *png, size_t bytes);
void mx_tfevent_audio(struct mx_protobuf *out, const struct mx_tfevent_key *place, int rate, int64_t frames,
                      const void *wav, size_t bytes);
void mx_tfevent_text(struct mx_protobuf *out, const struct mx_tfevent_key *place, const char *text);

uint32_t mx_tfevent_crc(const void *data, size_t bytes); /* not masked */

#endif
