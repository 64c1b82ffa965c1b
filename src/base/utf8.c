/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * UTF-8 character boundaries; see utf8.h.
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Bytes that a character with this first byte has; 0 for a byte that cannot be the first. */
static size_t sequence_length(unsigned char lead)
{
    if (lead < 0x80) return 1;
    if (lead < 0xc2) return 0; /* a continuation byte, or an overlong form of ASCII */
    if (lead < 0xe0) return 2;
    if (lead < 0xf0) return 3;
    return lead < 0xf5 ? 4 : 0;
}

size_t mx_utf8_sequence(const char *text, size_t length)
{
    if (length == 0) return 0;
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t needed = sequence_length(bytes[0]);
    if (needed <= 1) return needed;
    if (needed > length) return 0;
    uint32_t point = bytes[0] & (0xffu >> (needed + 1));
    for (size_t i = 1; i < needed; i++) {
        if ((bytes[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | (bytes[i] & 0x3f);
    }
    if (needed == 3 && (point < 0x800 || (point >= 0xd800 && point <= 0xdfff))) return 0;
    if (needed == 4 && (point < 0x10000 || point > 0x10ffff)) return 0;
    return needed;
}

void mx_utf8_trim(char *text)
{
    const size_t length = strlen(text);
    size_t start = length;
    for (int back = 0; back < 4 && start > 0; back++) {
        const unsigned char byte = (unsigned char)text[--start];
        if ((byte & 0xc0) == 0x80) continue;
        if (sequence_length(byte) > length - start) text[start] = '\0';
        return;
    }
}
