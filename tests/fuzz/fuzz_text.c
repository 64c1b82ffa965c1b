/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for text: any bytes through detection, the cleaner of each language and the symbols of characters; what comes out
 * must be clean. Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <string.h>

#include "base/string.h"
#include "fuzz.h"
#include "text/internal.h"
#include "text/text.h"
#include "text/vocabulary.h"

/* UTF-8, single spaces between words, no blank at the ends, nothing of ASCII but letters and the kept punctuation;
 * languages without their own rules also keep the digits and signs that espeak-ng reads. */
static void check_clean(const char *text, size_t input_bytes, bool own_rules)
{
    const size_t length = strlen(text);
    check(mx_utf8_check(text, length) == length);
    check(length <= 64 * input_bytes + 64); /* the longest words for one digit or sign are shorter than that */
    check(length == 0 || (text[0] != ' ' && text[length - 1] != ' '));
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        check(byte >= 0x80 || letter || strchr(own_rules ? " ,.!?;:-'" : " ,.!?;:-'0123456789%&+=@#$/<>", byte));
        check(byte != ' ' || text[i + 1] != ' ');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct mx_arena arena;
    enum mx_language_id language;
    struct mx_vocabulary *vocabulary = NULL;
    mx_arena_init(&arena, 0);
    (void)mx_text_detect(text, size, &language);
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        char *spoken;
        struct mx_symbols symbols;
        struct mx_tokens tokens;
        if (mx_text_normalise((enum mx_language_id)i, text, size, &arena, &spoken, NULL) < 0) break;
        check_clean(spoken, size, mx_language_get((enum mx_language_id)i)->rules->own);
        check(mx_tokens_from_text(MX_TOKENS_CHARS, NULL, (enum mx_language_id)i, spoken, &arena, &symbols) == 0);
        check(mx_vocabulary_create(MX_TOKENS_CHARS, &vocabulary) == 0);
        check(mx_vocabulary_add(vocabulary, symbols.codes, symbols.count) == 0);
        check(mx_vocabulary_encode(vocabulary, symbols, MX_UNKNOWN_REFUSE, &arena, &tokens, NULL) == 0);
        check(tokens.count == symbols.count + 2);
        mx_vocabulary_destroy(vocabulary);
    }
    if (mx_vocabulary_read(text, size, &vocabulary) == 0) mx_vocabulary_destroy(vocabulary);
    mx_arena_release(&arena);
    return 0;
}
