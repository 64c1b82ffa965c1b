/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of commands that read a corpus row by row: how to interpret its manifest and its rows.
 *
 * Memory: the values are strings of the command line and belong to it.
 */
#ifndef MX_CLI_CORPUS_OPTIONS_H
#define MX_CLI_CORPUS_OPTIONS_H

#include "cli/options/options.h"
#include "corpus/manifest/manifest.h"
#include "corpus/row.h"
#include "features/recipe.h"

struct mx_corpus_values {
    const char *format, *language, *tokens, *lexicon, *decisions, *min_seconds, *max_seconds, *validation;
    int64_t workers;
};

extern const char *const mx_manifest_format_names[]; /* NULL-terminated, as the next */
extern const char *const mx_tokens_names[];

/* Options for the table of a command whose struct `object` has a struct mx_corpus_values named corpus. */
#define MX_CORPUS_OPTIONS(object)                                                                                      \
    {MX_OPTION_STRING(object, corpus.language, "language", "LANGUAGE", "detected from the script of each text",        \
                      "Language of all texts: en, fa, es, fr, de, it, ru or any other language of espeak-ng.")},       \
        {MX_OPTION_CHOICE(object, corpus.tokens, "tokens", "KIND", mx_tokens_names, "phonemes",                        \
                          "Symbols that the network reads: phonemes from espeak-ng, or the characters themselves.")},  \
        {MX_OPTION_STRING(object, corpus.lexicon, "lexicon", "FILE", NULL,                                             \
                          "File that says how words are pronounced.")},                                                \
        {MX_OPTION_STRING(object, corpus.decisions, "decisions", "FILE", "decisions.tsv beside the manifest",          \
                          "File that says which rows are dropped, which have another text, and which are good.")},     \
        {MX_OPTION_STRING(object, corpus.min_seconds, "min-seconds", "S", "0.4",                                       \
                          "Reject recordings that are shorter than this after silence at both ends is trimmed.")},     \
        {MX_OPTION_STRING(object, corpus.max_seconds, "max-seconds", "S", "20",                                        \
                          "Reject recordings that are longer than this after silence at both ends is trimmed.")},      \
        {MX_OPTION_CHOICE(object, corpus.format, "format", "FORMAT", mx_manifest_format_names, "auto",                 \
                          "Format of the manifest; auto detects it from the content.")},                               \
        {MX_OPTION_STRING(object, corpus.validation, "val-data", "PATH", "5 % of the rows",                            \
                          "Folder or manifest file of the validation rows.")},                                         \
    {                                                                                                                  \
        MX_OPTION_INT(object, corpus.workers, "workers", "N", 1, 256, "one per core",                                  \
                      "Number of rows read in parallel.")                                                              \
    }

/* For commands whose struct `object` has a string recipe, which mx_recipe_find takes. */
#define MX_RECIPE_OPTION_OR(object, usual)                                                                             \
    {                                                                                                                  \
        MX_OPTION_CHOICE(object, recipe, "recipe", "NAME", mx_recipe_names, usual,                                     \
                         "Recipe of the features: samples per second and bands of the mel.")                           \
    }
#define MX_RECIPE_OPTION(object) MX_RECIPE_OPTION_OR(object, "mx-mel-22k-80")

/* Copies the given options into those of manifest and rows; others stay unchanged. *workers is 0 for all cores. *lexicon
 * is that of the rows, NULL without one; the caller destroys it after the last use of the rows. */
int mx_corpus_values_read(const struct mx_corpus_values *values, struct mx_manifest_options *manifest,
                          struct mx_row_options *row, int *workers, struct mx_lexicon **lexicon);

#endif
