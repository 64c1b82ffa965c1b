/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for files of decisions: any bytes; a file that is accepted has one whole decision about each id, which
 * is found by it, and a refusal names the line. Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <string.h>

#include "base/string.h"
#include "corpus/manifest/decisions.h"
#include "fuzz.h"
#include "myxtts/error.h"

static void check_text(const char *text)
{
    check(mx_utf8_check(text, strlen(text)) == strlen(text));
    check(strpbrk(text, "\t\n") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mx_decisions *decisions;
    const int rc = mx_decisions_parse("fuzz", (const char *)data, size, &decisions);
    check(rc == 0 || (rc == MX_ERR_DATA && decisions == NULL));
    if (rc < 0) {
        check(strncmp(mx_error_last()->message, "fuzz:", 5) == 0 && mx_error_last()->hint[0] != '\0');
        return 0;
    }
    uint32_t line = 0;
    for (uint32_t i = 0; i < mx_decisions_count(decisions); i++) {
        const struct mx_decision *const one = mx_decisions_at(decisions, i);
        check(one->line > line);
        line = one->line;
        check(one->kind > MX_DECISION_NONE && one->kind < MX_DECISION_COUNT);
        check((one->kind == MX_DECISION_FIX) == (one->text[0] != '\0'));
        check(one->id[0] != '\0' && mx_decisions_find(decisions, one->id, strlen(one->id)) == one);
        check_text(one->id);
        check_text(one->text);
        check_text(one->note);
    }
    mx_decisions_close(decisions);
    return 0;
}
