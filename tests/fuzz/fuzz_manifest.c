/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for manifests: any bytes as a manifest file, in every format; what comes out must be whole. Built
 * with clang -fsanitize=fuzzer,address,undefined.
 */
#include <string.h>

#include "base/string.h"
#include "corpus/manifest/manifest.h"
#include "fuzz.h"
#include "myxtts/error.h"

static void check_text(const char *text)
{
    check(text != NULL);
    check(mx_utf8_check(text, strlen(text)) == strlen(text));
    check(strchr(text, '\n') == NULL);
}

static void check_manifest(const struct mx_manifest *manifest, size_t bytes)
{
    uint32_t rejected = 0, line = 0;
    check(manifest->source_count == 1 && manifest->sources[0].format != MX_MANIFEST_AUTO);
    check_text(manifest->sources[0].columns);
    check(manifest->rows == manifest->utterance_count + manifest->rejected && manifest->rows <= bytes);
    for (uint32_t i = 0; i < manifest->problem_count; i++) {
        const struct mx_manifest_problem *const problem = &manifest->problems[i];
        check(problem->line >= line && problem->line >= 1);
        line = problem->line;
        check_text(problem->id);
        check(problem->message[0] != '\0');
        rejected += problem->reject != MX_REJECT_NONE;
    }
    check(rejected == manifest->rejected);
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        const struct mx_utterance *const row = &manifest->utterances[i];
        check_text(row->id);
        check_text(row->text);
        check(row->id[0] != '\0' && row->text[0] != '\0' && row->audio[0] != '\0');
        check(strcmp(manifest->speakers[row->speaker], row->speaker_name) == 0);
        check(i == 0 || row->line > manifest->utterances[i - 1].line);
    }
    for (uint32_t i = 1; i < manifest->speaker_count; i++)
        check(strcmp(manifest->speakers[i - 1], manifest->speakers[i]) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mx_manifest *manifest;
    struct mx_manifest_options options = MX_MANIFEST_OPTIONS_DEFAULT;
    if (size == 0) return 0;
    /* The first byte chooses the format, the rest is the file. Rows whose first column names an ordinary file of the
     * current folder become utterances. */
    options.format = (enum mx_manifest_format)(data[0] % MX_MANIFEST_FORMAT_COUNT);
    const int rc = mx_manifest_parse(".", "metadata.csv", (const char *)data + 1, size - 1, &options, &manifest);
    check(rc == 0 || (rc == MX_ERR_DATA && manifest == NULL && mx_error_last()->hint[0] != '\0'));
    if (rc == 0) check_manifest(manifest, size - 1);
    mx_manifest_close(manifest);
    return 0;
}
