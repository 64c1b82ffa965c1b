/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for the sentences of a growing text (serve/service_sentence.h): any bytes, that come all at once or in
 * small parts, must be cut into the same sentences with the same pauses. Built with clang
 * -fsanitize=fuzzer,address,undefined.
 *
 * The first byte is the size of the parts.
 */
#include <string.h>

#include "fuzz.h"
#include "serve/service_sentence.h"

#define SENTENCES 256

struct cut {
    size_t ends[SENTENCES], count;
    double pauses_ms[SENTENCES];
};

/* What is there is a block of its own each time, so that reading on is noticed. */
static void text_cut(const char *text, size_t size, size_t part, struct cut *out)
{
    struct mx_service_sentence search = {0};
    size_t begin = 0, length = 0;
    out->count = 0;
    while (length < size) {
        length += part < size - length ? part : size - length;
        for (;;) {
            char *const grown = malloc(length - begin);
            double pause_ms = -1;
            check(grown != NULL);
            memcpy(grown, text + begin, length - begin);
            const size_t bytes = mx_service_sentence(&search, grown, length - begin, &pause_ms);
            free(grown);
            if (bytes == 0) break;
            check(bytes <= length - begin && pause_ms >= 0 && pause_ms < 60000);
            begin += bytes;
            search = (struct mx_service_sentence){0};
            if (out->count == SENTENCES) return;
            out->ends[out->count] = begin;
            out->pauses_ms[out->count++] = pause_ms;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cut whole, parts;
    if (size == 0) return 0;
    const char *const text = (const char *)data + 1;
    text_cut(text, size - 1, size, &whole);
    text_cut(text, size - 1, 1 + data[0] % 32, &parts);
    check(whole.count == parts.count);
    for (size_t i = 0; i < whole.count; i++)
        check(whole.ends[i] == parts.ends[i] && whole.pauses_ms[i] == parts.pauses_ms[i]);
    return 0;
}
