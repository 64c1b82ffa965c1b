/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/speech/speak*.c: a text as a list of items to speak.
 *
 * Memory: a script owns its items and their tokens; {0} is empty and valid.
 */
#ifndef MX_SPEECH_SPEAK_INTERNAL_H
#define MX_SPEECH_SPEAK_INTERNAL_H

#include "text/vocabulary.h"

struct mx_speak_item {
    const int32_t *tokens;
    int32_t count;
    int32_t language; /* its number in the vocabulary */
    double pause_ms;  /* after it */
};

struct mx_speak_script {
    struct mx_arena arena; /* of the tokens */
    struct mx_speak_item *items;
    size_t count, capacity;
    size_t paragraphs, tokens;
    struct mx_unknown_count unknown;
};

/* The constants while a script is made. */
struct mx_speak_scribe {
    const struct mx_vocabulary *vocabulary;
    int language; /* or MX_SPEAK_DETECT */
    size_t limit_characters;
    size_t longest_tokens; /* of an item */
};

int mx_speak_script_make(const struct mx_speak_scribe *scribe, const char *text, size_t length,
                         struct mx_speak_script *script);
void mx_speak_script_release(struct mx_speak_script *script);

#endif
