/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The two passes over the rows of a spec: first all texts, for the vocabulary; then each row is turned into its record.
 * See pack_spec.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/string.h"
#include "base/thread/pool.h"
#include "corpus/audio/audio.h"
#include "corpus/packed/pack_spec_internal.h"
#include "myxtts/error.h"

#define GRAIN 16 /* rows that a worker takes at a time */
#define CODES UINT32_C(0x110000)

/* ---- texts ---- */

/* The symbols of a row until the vocabulary is known. */
struct symbols {
    struct mx_symbols of;
    enum mx_language_id language;
};

struct pass {
    struct mx_pack_spec *spec;
    struct symbols *symbols;
    double *rates;                  /* sounds a second of each row; 0: nothing to learn from */
    struct mx_row_reader **readers; /* one for each worker */
    struct mx_first_error failure;
};

static int text_keep(struct pass *pass, const struct mx_row *row, uint32_t index, struct mx_arena *arena)
{
    struct mx_pack_spec_text *const text = &pass->spec->texts[index];
    text->reject = row->reject;
    text->sounds = (uint32_t)row->sounds;
    text->spoken = mx_arena_strdup(arena, row->spoken);
    text->detail = mx_arena_strdup(arena, row->detail);
    if (text->spoken == NULL || text->detail == NULL) return MX_ERR_NO_MEMORY;
    if (row->reject != MX_REJECT_NONE) return 0;
    uint32_t *const codes = mx_arena_alloc(arena, row->symbol_count, sizeof *codes);
    if (codes == NULL) return MX_ERR_NO_MEMORY;
    memcpy(codes, row->symbols, row->symbol_count * sizeof *codes);
    pass->symbols[index] = (struct symbols){{codes, row->symbol_count}, row->language};
    return 0;
}

static void texts_read(void *context, int64_t begin, int64_t end, int worker)
{
    struct pass *const pass = context;
    struct mx_row row;
    for (int64_t i = begin; i < end && !mx_first_error_failed(&pass->failure); i++) {
        int rc = mx_row_load_text(pass->readers[worker], &pass->spec->manifest->utterances[i], &row);
        if (rc >= 0) rc = text_keep(pass, &row, (uint32_t)i, &pass->spec->arenas[worker]);
        if (rc >= 0 && row.reject == MX_REJECT_NONE)
            pass->rates[i] =
                mx_row_rate(&pass->spec->row, row.sounds, mx_audio_promised(pass->spec->manifest->utterances[i].audio));
        if (rc < 0) mx_first_error_keep(&pass->failure);
    }
}

/* All symbols and languages that occur, in the order of their numbers; so the order of rows does not matter. */
static int vocabulary_collect(struct mx_pack_spec *spec, const struct symbols *symbols)
{
    int rc = 0;
    uint32_t count = 0;
    bool languages[MX_LANGUAGE_COUNT] = {false};
    uint32_t *const codes = mx_alloc(MX_VOCABULARY_LIMIT, sizeof *codes);
    uint8_t *const seen = mx_alloc(CODES / 8, 1);
    if (codes == NULL || seen == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t row = 0; row < spec->manifest->utterance_count; row++) {
        if (spec->texts[row].reject != MX_REJECT_NONE) continue;
        languages[symbols[row].language] = true;
        for (size_t i = 0; i < symbols[row].of.count; i++) {
            const uint32_t code = symbols[row].of.codes[i];
            seen[code / 8] = (uint8_t)(seen[code / 8] | 1u << code % 8);
        }
    }
    for (uint32_t code = 0; code < CODES; code++) {
        if ((seen[code / 8] & 1u << code % 8) == 0) continue;
        if (count == MX_VOCABULARY_LIMIT - MX_TOKEN_FIRST)
            MX_RAISE(MX_ERR_DATA, "check the texts: 'myxtts check' lists their symbols",
                     "the texts hold more than %d different symbols", MX_VOCABULARY_LIMIT - MX_TOKEN_FIRST);
        codes[count++] = code;
    }
    MX_TRY(mx_vocabulary_create(spec->row.tokens, &spec->vocabulary));
    MX_TRY(mx_vocabulary_add(spec->vocabulary, codes, count));
    MX_TRY(mx_vocabulary_add_lexicon(spec->vocabulary, spec->row.lexicon));
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (languages[i]) MX_TRY(mx_vocabulary_add_language(spec->vocabulary, (enum mx_language_id)i));
out:
    mx_free(codes);
    mx_free(seen);
    return rc;
}

/* A copy of the vocabulary that was given, since that is only borrowed. */
static int vocabulary_copy(struct mx_pack_spec *spec)
{
    int rc = 0;
    char *json = NULL;
    MX_TRY(mx_vocabulary_write(spec->row.vocabulary, &json));
    MX_TRY(mx_vocabulary_read(json, strlen(json), &spec->vocabulary));
out:
    mx_free(json);
    return rc;
}

static int texts_encode(struct mx_pack_spec *spec, const struct symbols *symbols)
{
    int rc = 0;
    for (uint32_t row = 0; row < spec->manifest->utterance_count; row++) {
        struct mx_pack_spec_text *const text = &spec->texts[row];
        struct mx_tokens tokens;
        if (text->reject != MX_REJECT_NONE) continue;
        const int language = mx_vocabulary_language(spec->vocabulary, symbols[row].language);
        if (language < 0) {
            text->reject = MX_REJECT_UNKNOWN_LANGUAGE;
            text->detail = "the language of the text is not in the vocabulary";
            continue;
        }
        MX_TRY(mx_vocabulary_encode(spec->vocabulary, symbols[row].of, MX_UNKNOWN_REFUSE, &spec->arenas[0], &tokens,
                                    NULL));
        text->language = (uint32_t)language;
        text->tokens = tokens.numbers;
        text->token_count = (uint32_t)tokens.count;
    }
out:
    return rc;
}

/* Placeholders for the texts of sounds. A record needs tokens and a language to be readable by any version. */
static int texts_fill(struct mx_pack_spec *spec)
{
    int rc = 0;
    static const int32_t nothing[] = {MX_TOKEN_BOS, MX_TOKEN_EOS};
    const uint32_t count = spec->manifest->utterance_count;
    spec->texts = mx_alloc(count, sizeof *spec->texts);
    if (spec->texts == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t row = 0; row < count; row++)
        spec->texts[row] = (struct mx_pack_spec_text){.detail = "", .spoken = "", .tokens = nothing, .token_count = 2};
    MX_TRY(mx_vocabulary_create(spec->row.tokens, &spec->vocabulary));
    MX_TRY(mx_vocabulary_add_language(spec->vocabulary, MX_LANGUAGE_EN));
    spec->row.rate.least = 0; /* without a rate, no row is too fast or too slow */
    MX_TRY(mx_pack_spec_describe(spec));
    spec->packed.vocabulary_size = (uint32_t)mx_vocabulary_size(spec->vocabulary);
out:
    return rc;
}

int mx_pack_spec_texts(struct mx_pack_spec *spec, int workers)
{
    int rc = 0;
    if (spec->row.sounds) return texts_fill(spec);
    struct mx_pool *pool = NULL;
    const uint32_t count = spec->manifest->utterance_count;
    struct pass pass = {.spec = spec};
    spec->texts = mx_alloc(count, sizeof *spec->texts);
    spec->arenas = mx_alloc((size_t)workers, sizeof *spec->arenas);
    pass.symbols = mx_alloc(count, sizeof *pass.symbols);
    pass.rates = mx_alloc(count, sizeof *pass.rates);
    pass.readers = mx_alloc((size_t)workers, sizeof(struct mx_row_reader *));
    if (spec->texts == NULL || spec->arenas == NULL || pass.symbols == NULL || pass.rates == NULL ||
        pass.readers == NULL)
        MX_TRY(MX_ERR_NO_MEMORY);
    for (; spec->arena_count < workers; spec->arena_count++) {
        mx_arena_init(&spec->arenas[spec->arena_count], (size_t)1 << 20);
        MX_TRY(mx_row_reader_create(&spec->row, &pass.readers[spec->arena_count]));
    }
    MX_TRY(mx_pool_create(&(struct mx_pool_options){.name = "texts", .workers = workers}, &pool));
    mx_pool_for(pool, count, GRAIN, texts_read, &pass);
    MX_TRY(mx_first_error_raise(&pass.failure));
    MX_TRY(spec->row.vocabulary != NULL ? vocabulary_copy(spec) : vocabulary_collect(spec, pass.symbols));
    MX_TRY(texts_encode(spec, pass.symbols));
    spec->row.rate = mx_rate_learn(pass.rates, count);
    MX_TRY(mx_pack_spec_describe(spec));
    spec->packed.vocabulary_size = (uint32_t)mx_vocabulary_size(spec->vocabulary);
out:
    mx_pool_destroy(pool);
    for (int i = 0; pass.readers != NULL && i < workers; i++) mx_row_reader_destroy(pass.readers[i]);
    mx_free(pass.readers);
    mx_free(pass.symbols);
    mx_free(pass.rates);
    return rc;
}

const struct mx_pack_spec_text *mx_pack_spec_text(const struct mx_pack_spec *spec, uint32_t row)
{
    return &spec->texts[row];
}

const struct mx_vocabulary *mx_pack_spec_vocabulary(const struct mx_pack_spec *spec)
{
    return spec->vocabulary;
}

const struct mx_packed_plan *mx_pack_spec_packed(const struct mx_pack_spec *spec)
{
    return &spec->packed;
}

/* ---- records ---- */

struct mx_pack_spec_worker {
    const struct mx_pack_spec *spec;
    struct mx_row_reader *reader;
    struct mx_audio_reader *prober;
    void *state; /* of the stage */
};

int mx_pack_spec_worker_create(const struct mx_pack_spec *spec, int number, struct mx_pack_spec_worker **out)
{
    int rc = 0;
    struct mx_row_options options = spec->row;
    struct mx_pack_spec_worker *worker = mx_alloc(1, sizeof *worker);
    *out = NULL;
    if (worker == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    worker->spec = spec;
    options.tokens = MX_TOKENS_CHARS; /* the texts are known: no phonemes are asked for from here on */
    MX_TRY(mx_row_reader_create(&options, &worker->reader));
    MX_TRY(mx_audio_reader_create(&worker->prober));
    if (spec->stage != NULL) MX_TRY(spec->stage->start(spec->stage->context, number, &worker->state));
    *out = worker;
    worker = NULL;
out:
    mx_pack_spec_worker_destroy(worker);
    return rc;
}

void mx_pack_spec_worker_destroy(struct mx_pack_spec_worker *worker)
{
    if (worker == NULL) return;
    if (worker->state != NULL) worker->spec->stage->end(worker->state);
    mx_row_reader_destroy(worker->reader);
    mx_audio_reader_destroy(worker->prober);
    mx_free(worker);
}

/* A recording that is written while it is read must not come under the key of the old one. */
static int unchanged(const struct mx_utterance *utterance)
{
    struct stat status;
    char quoted[300];
    if (stat(utterance->audio, &status) != 0) return 0; /* the reader reports it */
    const int64_t time_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    if ((uint64_t)status.st_size == utterance->audio_bytes && time_ns == utterance->audio_mtime_ns) return 0;
    return MX_FAIL(MX_ERR_DATA, "start again when the corpus no longer changes",
                   "the recording %s was changed while the corpus was being read",
                   mx_string_quote(quoted, sizeof quoted, utterance->audio));
}

/* Fills view and head with the recording; *row says if it was refused. */
static int recording_load(struct mx_pack_spec_worker *worker, uint32_t index, const uint32_t *bound, struct mx_row *row,
                          struct mx_packed_record *head, struct mx_packed_view *view)
{
    int rc = 0;
    const struct mx_pack_spec *const spec = worker->spec;
    const struct mx_utterance *const utterance = &spec->manifest->utterances[index];
    if (bound != NULL) {
        head->samples_bound = *bound;
    } else {
        MX_TRY(mx_audio_probe(worker->prober, utterance->audio, &spec->row.audio, &head->samples_bound, &row->audio));
        if (head->samples_bound == 0) {
            row->reject = row->audio.reject;
            memcpy(row->detail, row->audio.detail, sizeof row->detail);
            goto out;
        }
    }
    row->sounds = spec->texts[index].sounds;
    MX_TRY(mx_row_load_audio(worker->reader, utterance, row));
    if (row->reject == MX_REJECT_NONE && row->sample_count > head->samples_bound) {
        row->reject = MX_REJECT_LYING_HEADER;
        snprintf(row->detail, sizeof row->detail, "there are %zu samples where the header promises %u",
                 row->sample_count, head->samples_bound);
    }
    if (row->reject != MX_REJECT_NONE) goto out;
    head->samples = (uint32_t)row->sample_count;
    view->samples = row->samples;
    if (spec->stage != NULL)
        MX_TRY(spec->stage->run(worker->state, row->samples, row->sample_count, &head->frames, view->tensors));
out:
    return rc;
}

int mx_pack_spec_record(struct mx_pack_spec_worker *worker, uint32_t index, const uint32_t *bound,
                        const struct mx_packed_header *header, struct mx_packed_buffer *buffer)
{
    int rc = 0;
    struct mx_row row;
    const struct mx_pack_spec *const spec = worker->spec;
    const struct mx_utterance *const utterance = &spec->manifest->utterances[index];
    const struct mx_pack_spec_text *const text = &spec->texts[index];
    struct mx_packed_record head = {
        .row = index,
        .key = spec->keys[index],
        .source_bytes = utterance->audio_bytes,
        .source_mtime_ns = utterance->audio_mtime_ns,
        .reject = text->reject,
        .flags = utterance->validation && spec->manifest->source_count > 1 ? MX_PACKED_VALIDATION : 0,
        .source = utterance->source,
        .line = utterance->line,
        .speaker = utterance->speaker,
        .language = text->language,
        .token_count = text->token_count};
    struct mx_packed_view view = {.id = utterance->id,
                                  .text = utterance->text,
                                  .spoken = text->spoken,
                                  .detail = text->detail,
                                  .tokens = text->tokens};
    memset(&row, 0, sizeof row);
    if (head.reject == MX_REJECT_NONE) {
        MX_TRY(unchanged(utterance));
        rc = recording_load(worker, index, bound, &row, &head, &view);
        if (rc < 0) {
            char id[96];
            rc = mx_error_wrap("row %s", mx_string_quote(id, sizeof id, utterance->id));
            goto out;
        }
        head.reject = row.reject;
        if (row.reject != MX_REJECT_NONE) view.detail = row.detail;
    }
    MX_TRY(mx_packed_encode(header, &head, &view, buffer));
out:
    return rc;
}
