/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See export_words.h.
 */
#include "cli/export/export_words.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "demo/sentences.h"
#include "myxtts/error.h"
#include "text/tokens.h"

#define SENTENCES_MAX 4000u /* further ones have no further words */

int mx_command_words_find(enum mx_language_id language, char **words)
{
    int rc = 0;
    size_t known = 0;
    struct mx_string text = {0};
    struct mx_sentence sentence;
    const char *const name = mx_language_get(language)->name;
    const uint32_t all = mx_sentences_count(language), count = all < SENTENCES_MAX ? all : SENTENCES_MAX;
    for (uint32_t i = 0; i < count; i++) {
        MX_TRY(mx_sentences_get(language, 0, i, &sentence));
        MX_TRY(mx_string_append(&text, "%s\n", sentence.spoken));
    }
    MX_TRY(mx_phonemizer_words(language, &text, &known));
    if (text.length == 0) {
        MX_FAIL(
            MX_ERR_USAGE, NULL,
            "sherpa-onnx 2.0 and later says only words that are in its lexicon, and there is no list of words of %s",
            name);
        MX_TRY(mx_error_hint("add '--words FILE', where FILE is a long text or a list of words of %s", name));
    }
    mx_warn("without '--words' the lexicon has frequent words of %s: %u sentences of this program and %zu words of "
            "espeak-ng's dictionary; sherpa-onnx leaves out all others, so give your texts with '--words FILE'",
            name, (unsigned)count, known);
    *words = text.data;
    text.data = NULL;
out:
    if (rc < 0) mx_string_release(&text);
    return rc;
}
