/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See corpus_options.h.
 */
#include "cli/corpus/corpus_options.h"

#include "base/string.h"
#include "myxtts/error.h"

const char *const mx_manifest_format_names[] = {
#define X(identifier, name) name,
    MX_MANIFEST_FORMAT_LIST(X)
#undef X
        NULL};
const char *const mx_tokens_names[] = {
#define X(identifier, name) name,
    MX_TOKENS_LIST(X)
#undef X
        NULL};

static int seconds_parse(const char *option, const char *text, double *out)
{
    char quoted[96];
    if (text == NULL || mx_string_parse_double(text, out) == MX_STRING_NUMBER) return 0;
    return MX_FAIL(MX_ERR_USAGE, "give seconds, for example 0.5",
                   "option '--%s' has the value %s, which is not a number", option,
                   mx_string_quote(quoted, sizeof quoted, text));
}

int mx_corpus_values_read(const struct mx_corpus_values *values, struct mx_manifest_options *manifest,
                          struct mx_row_options *row, int *workers, struct mx_lexicon **lexicon)
{
    int rc = 0;
    enum mx_language_id language;
    *lexicon = NULL;
    MX_TRY(seconds_parse("min-seconds", values->min_seconds, &row->audio.seconds_min));
    MX_TRY(seconds_parse("max-seconds", values->max_seconds, &row->audio.seconds_max));
    MX_TRY(mx_audio_options_check(&row->audio));
    if (values->language != NULL) {
        MX_TRY(mx_language_parse(values->language, &language));
        row->language = (int)language;
    }
    if (values->tokens != NULL) MX_TRY(mx_tokens_mode_parse(values->tokens, &row->tokens));
    if (values->format != NULL) MX_TRY(mx_manifest_format_parse(values->format, &manifest->format));
    manifest->validation = values->validation;
    manifest->decisions = values->decisions;
    *workers = (int)values->workers;
    if (values->lexicon != NULL) MX_TRY(mx_lexicon_open(values->lexicon, lexicon));
    row->lexicon = *lexicon;
out:
    return rc;
}
