/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of the doctor's page. For src/doctor only.
 */
#ifndef MX_DOCTOR_PAGE_INTERNAL_H
#define MX_DOCTOR_PAGE_INTERNAL_H

#include "base/string.h"

/* page_sound.c: recordings as pictures and sound for a page. */
struct mx_doctor_artist;

int mx_doctor_artist_create(struct mx_doctor_artist **out);
void mx_doctor_artist_destroy(struct mx_doctor_artist *artist); /* NULL is fine */

/* Appends "columns", "bands", "wave", "mel", "peak" and "audio" of the recording, as it is in its file: nothing trimmed,
 * no level set. A picture has "columns" columns, each of the same time. "mel" has for each the values of "bands" bands,
 * lowest first, "wave" its lowest and its highest sample; a value is one sign of base64 (A: 0 … /: 63), from
 * MX_PICTURES_QUIETEST to MX_PICTURES_LOUDEST, and from minus to plus the "peak", which is a share of full scale. "audio"
 * is a data: address, null if the recording cannot be read any more. */
int mx_doctor_artist_draw(struct mx_doctor_artist *artist, const char *path, struct mx_string *out);

/* Made from page.css and page*.js when the program is built (cmake/Embed.cmake). A zero byte follows. */
extern const unsigned char mx_doctor_page_style[], mx_doctor_page_script[];

#endif
