/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for the lines of metrics.jsonl that the page of a run is made of (observe/page/page_series.c), which may
 * be cut off, edited or of another version: whatever the bytes are, the page gets JSON of bounded size that cannot end
 * its script. Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "observe/page/page.h"
#include "observe/page/page_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mx_string text = {0};
    char *const copy = malloc(size + 1); /* fmemopen wants at least one byte */
    check(copy != NULL);
    memcpy(copy, data, size);
    FILE *const file = size > 0 ? fmemopen(copy, size, "r") : fopen("/dev/null", "r");
    check(file != NULL);
    mx_string_append(&text, "{");
    check(mx_page_series(file, &text) == 0);
    fclose(file);
    free(copy);
    mx_string_append(&text, "}");
    check(text.failure == 0 && memchr(text.data, '<', text.length) == NULL);
    cJSON *const tree = cJSON_ParseWithLength(text.data, text.length);
    check(tree != NULL);
    const cJSON *const series = cJSON_GetObjectItemCaseSensitive(tree, "series"), *column;
    const cJSON *const steps = cJSON_GetObjectItemCaseSensitive(series, "step");
    check(cJSON_IsObject(series) && cJSON_GetArraySize(steps) <= MX_PAGE_POINTS);
    cJSON_ArrayForEach(column, series) check(cJSON_GetArraySize(column) == cJSON_GetArraySize(steps));
    cJSON_Delete(tree);
    mx_string_release(&text);
    return 0;
}
