/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The end of a sentence in raw text that is still growing, for texts that come piece by piece. The search remembers how
 * far it has come, so each byte is looked at a few times, however the text is divided; and it decides within a few times
 * MX_SERVICE_SENTENCE_LONGEST bytes, whatever they are.
 *
 * Memory: none; the search is in the caller's struct.
 */
#ifndef MX_SERVE_SERVICE_SENTENCE_H
#define MX_SERVE_SERVICE_SENTENCE_H

#include <stdbool.h>
#include <stddef.h>

#define MX_SERVICE_SENTENCE_LONGEST 600 /* bytes: a longer sentence is cut at its last clause or word */

/* The search for the end of the sentence that begins at text[0]: {0} before the first call for it. */
struct mx_service_sentence {
    size_t at;             /* no sentence ends before; every character up to here is known */
    size_t lines;          /* newlines among the blanks before `at` */
    bool mark, wide, stop; /* the character before `at` is a mark that may end it; which needs no blank; is a . */
    size_t run, run_end;   /* the last series of marks and closing brackets */
    size_t blanks_end, run_lines; /* the end of the blanks after it, and the newlines among these */
    size_t looked;                /* characters looked at so far, for tests */
};

/* Returns the bytes of the first sentence, including the blanks after it, and the usual pause after it in *pause_ms; 0
 * if its end is not known yet: call it again with the same text and more after it. The result does not depend on how
 * the text grew: more text after a sentence that was found never changes it. */
size_t mx_service_sentence(struct mx_service_sentence *search, const char *text, size_t length, double *pause_ms);

#endif
