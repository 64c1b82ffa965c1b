/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for the lines of metrics.jsonl that the page of a run is made of (observe/page_series.c), which may
 * be cut off, edited or of another version: whatever the bytes are, the page gets JSON of bounded size that cannot end
 * its script. Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <cJSON.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "observe/page.h"
#include "observe/page_work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mx_text text = {0};
    mx_text_append(&text, "{");
    check(mx_page_series((const char *)data, size, &text) == 0);
    mx_text_append(&text, "}");
    check(text.failure == 0 && memchr(text.data, '<', text.length) == NULL);
    cJSON *const tree = cJSON_ParseWithLength(text.data, text.length);
    check(tree != NULL);
    const cJSON *const series = cJSON_GetObjectItemCaseSensitive(tree, "series"), *column;
    const cJSON *const steps = cJSON_GetObjectItemCaseSensitive(series, "step");
    check(cJSON_IsObject(series) && cJSON_GetArraySize(steps) <= MX_PAGE_POINTS);
    cJSON_ArrayForEach(column, series) check(cJSON_GetArraySize(column) == cJSON_GetArraySize(steps));
    cJSON_Delete(tree);
    mx_text_release(&text);
    return 0;
}
