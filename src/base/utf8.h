/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The little that the base needs to know about UTF-8: where a well-formed character ends, and how to cut text between
 * characters. Nothing is allocated.
 */
#ifndef MX_BASE_UTF8_H
#define MX_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed character at text[0], of which `length` bytes are available: 1 … 4; 0 if there is none (a
 * stray or missing continuation byte, an overlong form, a surrogate, beyond U+10FFFF, or length 0). */
size_t mx_utf8_sequence(const char *text, size_t length);

/* Removes an incomplete character from the end of a string; call it after cutting at a byte limit. */
void mx_utf8_trim(char *text);

#endif
