/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for the texts of long recordings: any bytes as plain text, subtitles or a TextGrid; what comes out
 * must be whole. Built with clang -fsanitize=fuzzer,address,undefined.
 */

#include "base/string.h"
#include "cut/script.h"
#include "fuzz.h"
#include "myxtts/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const heads[] = {"", "WEBVTT\n\n", "1\n00:00:01,000 --> 00:00:02,000\n",
                                        "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n"};
    struct mx_cut_script script;
    struct mx_string text = {0};
    if (size == 0) return 0;
    /* The first byte chooses a beginning, so that the parsers are reached at once. */
    mx_string_append(&text, "%s", heads[data[0] % 4]);
    for (size_t i = 1; i < size; i++) mx_string_append(&text, "%c", data[i]);
    const int rc = mx_cut_script_parse(&script, "file", text.length > 0 ? text.data : "", text.length);
    check(rc == 0 || mx_error_last()->hint[0] != '\0');
    if (rc == 0) {
        size_t end = 0;
        check(script.part_count > 0 && script.source[script.length] == '\0');
        check(mx_utf8_check(script.source, script.length) == script.length);
        for (size_t i = 0; i < script.part_count; i++) {
            const struct mx_align_part *const part = &script.parts[i];
            check(part->begin >= end && part->end > part->begin && part->end <= script.length);
            check(part->from >= 0 && part->until >= 0);
            end = part->end;
        }
    }
    mx_cut_script_release(&script);
    mx_string_release(&text);
    return 0;
}
