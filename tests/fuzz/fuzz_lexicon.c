/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for lexicons: any bytes as a file; one that is accepted must survive its own text, and change a text
 * without breaking it. Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <string.h>

#include "base/string.h"
#include "fuzz.h"
#include "text/reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mx_lexicon *lexicon = NULL, *again = NULL;
    struct mx_arena arena;
    if (mx_lexicon_parse("fuzz", (const char *)data, size, &lexicon) < 0) return 0;
    const char *const text = mx_lexicon_text(lexicon);
    check(mx_lexicon_parse("again", text, strlen(text), &again) == 0);
    check(mx_lexicon_same(lexicon, again));
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < mx_lexicon_count(lexicon); i++) {
        const struct mx_reading reading = {.lexicon = lexicon};
        const struct mx_lexicon_entry *const entry = mx_lexicon_entry(lexicon, i);
        char *spoken, *plain;
        check(mx_reading_text(&reading, entry->language, text, strlen(text), &arena, &spoken, NULL) == 0);
        check(mx_reading_plain(&reading, spoken, &arena, &plain) == 0);
        check(mx_utf8_check(plain, strlen(plain)) == strlen(plain));
        if (i > 8) break;
    }
    mx_arena_release(&arena);
    mx_lexicon_destroy(again);
    mx_lexicon_destroy(lexicon);
    return 0;
}
