/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The corpus of a run that begins with another network, in that one's words: its vocabulary and languages stay what they
 * are, and what only the corpus has is appended. See corpus.h.
 *
 * A packed corpus knows its symbols. Of a folder the texts are read with the vocabulary that there is; only if some are
 * left out for their symbols or language, they are read again to learn which symbols these are.
 *
 * Memory: the vocabulary and the dataset are the job's.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "corpus/packed/packed.h"
#include "myxtts/error.h"
#include "run/corpus/corpus.h"
#include "run/job.h"

/* Logs what was added, and that it is not trained yet. */
static void added_log(const struct mx_job *job, const uint32_t *symbols, size_t count, const bool *languages)
{
    struct mx_string text = {0};
    char name[MX_SYMBOL_NAME_BYTES];
    size_t more = 0;
    for (size_t i = 0; i < count; i++)
        mx_string_append(&text, "%s%s", i > 0 ? ", " : "", mx_symbol_name(symbols[i], name));
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) more += languages[i];
    if (count > 0 && text.failure == 0)
        mx_info("%s does not know %zu symbol%s of the corpus, which it has to learn: %s",
                mx_checkpoint_path(job->origin), count, count == 1 ? "" : "s", text.data);
    mx_string_release(&text);
    text = (struct mx_string){0};
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (languages[i])
            mx_string_append(&text, "%s%s", text.data != NULL && text.data[0] != '\0' ? ", " : "",
                             mx_language_get((enum mx_language_id)i)->name);
    if (more > 0 && text.failure == 0)
        mx_info("%s does not know %zu language%s of the corpus, which it has to learn: %s",
                mx_checkpoint_path(job->origin), more, more == 1 ? "" : "s", text.data);
    mx_string_release(&text);
}

/* Adds to the job's vocabulary what only the corpus's own has. */
static int vocabulary_grow(struct mx_job *job, const struct mx_vocabulary *own)
{
    int rc = 0;
    size_t count = 0;
    bool languages[MX_LANGUAGE_COUNT] = {false};
    const size_t size = mx_vocabulary_size(own);
    uint32_t *const symbols = mx_alloc(size, sizeof *symbols);
    if (symbols == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t token = MX_TOKEN_FIRST; token < size; token++) {
        const uint32_t symbol = mx_vocabulary_symbol(own, (int32_t)token);
        if (mx_vocabulary_find(job->vocabulary, symbol) < 0) symbols[count++] = symbol;
    }
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        languages[i] = mx_vocabulary_language(own, (enum mx_language_id)i) >= 0 &&
                       mx_vocabulary_language(job->vocabulary, (enum mx_language_id)i) < 0;
    if (mx_vocabulary_mode(own) != mx_vocabulary_mode(job->vocabulary)) goto out; /* which opening will refuse */
    MX_TRY(mx_vocabulary_add(job->vocabulary, symbols, count));
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (languages[i]) MX_TRY(mx_vocabulary_add_language(job->vocabulary, (enum mx_language_id)i));
    added_log(job, symbols, count, languages);
out:
    mx_free(symbols);
    return rc;
}

/* Reads the corpus in its own words, and adds them. */
static int words_learn(struct mx_job *job, struct mx_dataset_options options)
{
    int rc = 0;
    struct mx_dataset *own = NULL;
    options.row.vocabulary = NULL;
    options.cache = NULL;
    MX_TRY(mx_dataset_open(&options, &own));
    MX_TRY(vocabulary_grow(job, mx_dataset_vocabulary(own)));
out:
    mx_dataset_close(own);
    return rc;
}

int mx_job_dataset_open(struct mx_job *job, const struct mx_dataset_options *options)
{
    int rc = 0;
    uint32_t counts[MX_REJECT_COUNT];
    const bool grows = job->vocabulary != NULL && job->request.resume == NULL && !options->sounds;
    const char *const validation = options->manifest.validation;
    bool packed, packed_validation = false;
    MX_TRY(mx_packed_detect(options->path, &packed));
    if (validation != NULL) MX_TRY(mx_packed_detect(validation, &packed_validation));
    packed = packed || packed_validation;
    if (grows && packed) MX_TRY(words_learn(job, *options));
    rc = mx_dataset_open(options, &job->dataset);
    if (rc == MX_ERR_DATA && grows && !packed) { /* perhaps the network knows the symbols of no row at all */
        mx_error_clear();
        MX_TRY(words_learn(job, *options)); /* says what is wrong if it is something else */
        MX_TRY(mx_dataset_open(options, &job->dataset));
        goto out;
    }
    MX_TRY(rc);
    if (!grows || packed) goto out;
    mx_dataset_reject_counts(job->dataset, counts);
    if (counts[MX_REJECT_UNKNOWN_SYMBOL] + counts[MX_REJECT_UNKNOWN_LANGUAGE] == 0) goto out;
    mx_dataset_close(job->dataset);
    job->dataset = NULL;
    MX_TRY(words_learn(job, *options));
    MX_TRY(mx_dataset_open(options, &job->dataset));
out:
    return rc;
}
