/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page of the HTTP server: type a text, choose voice, speaker, language and speed, listen while it is spoken, and
 * download it. One HTML file in English or Persian without anything from elsewhere; page.js uses OpenAI's interface of
 * the same server (openai.c).
 *
 * Words are translated by the catalogue (base/catalogue.h) with the context "speak KEY".
 */
#ifndef MX_SERVE_PAGE_H
#define MX_SERVE_PAGE_H

#include "base/catalogue.h"

struct mx_serve_word {
    const char *key, *english;
};

/* Ends with {NULL, NULL}. */
extern const struct mx_serve_word mx_serve_words[];

/* The whole page; the caller releases the text. */
int mx_serve_page_write(enum mx_words language, struct mx_string *out);

/* Embedded by the build (cmake/Embed.cmake): a zero follows each. */
extern const unsigned char mx_serve_page_style[], mx_serve_page_script[];

#endif
