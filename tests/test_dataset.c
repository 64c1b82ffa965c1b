/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Datasets: a packed file and the folder give the same utterances bit by bit, whatever the state of the cache; rows
 * that cannot be used, damaged records, other vocabularies, many threads.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread/pool.h"
#include "corpus/audio/audio.h"
#include "corpus/dataset.h"
#include "corpus/prepare.h"
#include "myxtts/error.h"
#include "support/packed_rows.h"
#include "support/recording.h"
#include "support/small_corpus.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS   20
#define SILENT 2 /* the row with nothing to hear */
#define LIMIT  ((size_t)1 << 24)

static int setup(void **state)
{
    small_place_make(state);
    const struct small_place *const place = *state;
    const struct mx_prepare_options options = small_corpus_packing(place->corpus, place->file);
    struct mx_prepare_report report;
    small_corpus_make(place->corpus, ROWS, SMALL_SILENT);
    const int rc = mx_prepare_run(&options, &report);
    mx_prepare_release(&report);
    return rc;
}

static struct mx_dataset *dataset_open(const char *path, const char *cache)
{
    struct mx_dataset *dataset;
    const struct mx_dataset_options options = small_corpus_opening(path, cache);
    assert_int_equal(mx_dataset_open(&options, &dataset), 0);
    return dataset;
}

/* The utterance of the packed file with this id; it must be there. */
static uint32_t find(const struct mx_dataset *dataset, const char *id)
{
    for (uint32_t i = 0; i < mx_dataset_count(dataset); i++)
        if (strcmp(mx_dataset_utterance(dataset, i)->id, id) == 0) return i;
    fail_msg("no utterance %s", id);
    return 0;
}

/* Loads utterance `index` of `dataset` and compares it with that of the packed file. */
static void load_and_compare(struct mx_dataset_reader *reader, const struct mx_dataset *dataset, uint32_t index,
                             struct mx_dataset_reader *packed_reader, const struct mx_dataset *packed)
{
    struct mx_dataset_item item, wanted;
    const struct mx_dataset_utterance *const utterance = mx_dataset_utterance(dataset, index);
    const int rc = mx_dataset_load(reader, index, &item);
    if (utterance->row == SILENT) {
        assert_int_equal(rc, MX_ERR_DATA);
        assert_int_equal(item.reject, MX_REJECT_SILENT);
        assert_non_null(strstr(mx_error_last()->message, "'row-02' cannot be used (silent)"));
        return;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(mx_dataset_load(packed_reader, find(packed, utterance->id), &wanted), 0);
    assert_string_equal(item.id, utterance->id);
    assert_int_equal(item.sample_count, wanted.sample_count);
    assert_true(item.sample_count <= utterance->samples);
    assert_memory_equal(item.samples, wanted.samples, item.sample_count * sizeof(float));
    assert_int_equal(item.token_count, wanted.token_count);
    assert_int_equal(item.token_count, utterance->tokens);
    assert_memory_equal(item.tokens, wanted.tokens, item.token_count * sizeof(int32_t));
    assert_int_equal(item.tokens[0], MX_TOKEN_BOS);
    assert_int_equal(item.tokens[item.token_count - 1], MX_TOKEN_EOS);
    assert_string_equal(item.text, wanted.text);
    assert_string_equal(item.spoken, wanted.spoken);
}

/* ---- the states of a folder ---- */

static void test_folder_and_packed_agree(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset *const packed = dataset_open(place->file, NULL);
    struct mx_dataset_reader *const packed_reader = small_corpus_reader(packed);
    assert_int_equal(mx_dataset_count(packed), ROWS - 1);
    assert_int_equal(mx_dataset_cached(packed), ROWS - 1);
    assert_int_equal(mx_dataset_kind(packed), MX_PACKED_AUDIO);
    assert_null(mx_dataset_tensor(packed, 0));
    assert_string_equal(mx_dataset_recipe(packed), "none");
    assert_int_equal(mx_dataset_speaker_count(packed), 1);
    assert_string_equal(mx_dataset_speaker(packed, 0), MX_MANIFEST_SPEAKER);

    struct mx_dataset *dataset = dataset_open(place->corpus, NULL); /* no cache */
    struct mx_dataset_reader *reader = small_corpus_reader(dataset);
    const uint64_t fingerprint = mx_dataset_fingerprint(dataset);
    assert_int_equal(mx_dataset_count(dataset), ROWS);
    assert_true(fingerprint != mx_dataset_fingerprint(packed));
    assert_int_equal(mx_vocabulary_size(mx_dataset_vocabulary(dataset)),
                     mx_vocabulary_size(mx_dataset_vocabulary(packed)));
    for (uint32_t i = 0; i < ROWS; i++) load_and_compare(reader, dataset, i, packed_reader, packed);
    assert_int_equal(mx_dataset_cached(dataset), 0);
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);

    /* A cache that fills in two runs; the list is the same at all times. */
    for (int run = 0; run < 4; run++) {
        static const uint32_t before[] = {0, ROWS / 2, ROWS, ROWS};
        dataset = dataset_open(place->corpus, place->cache);
        reader = small_corpus_reader(dataset);
        assert_int_equal(mx_dataset_cached(dataset), before[run]);
        assert_true(mx_dataset_fingerprint(dataset) == fingerprint);
        const uint32_t count = run == 0 ? ROWS / 2 : ROWS;
        for (int epoch = 0; epoch < 2; epoch++) /* backwards: the order of the records is another one */
            for (uint32_t i = count; i-- > 0;) load_and_compare(reader, dataset, i, packed_reader, packed);
        mx_dataset_reader_destroy(reader);
        mx_dataset_close(dataset);
        assert_int_equal(access(place->cache, F_OK), run == 0 ? -1 : 0);
        assert_int_equal(access(place->cache_part, F_OK), run == 0 ? 0 : -1);
    }
    /* A finished cache can be trained from like any packed file. */
    dataset = dataset_open(place->cache, NULL);
    assert_true(mx_dataset_fingerprint(dataset) == mx_dataset_fingerprint(packed));
    mx_dataset_close(dataset);
    mx_dataset_reader_destroy(packed_reader);
    mx_dataset_close(packed);
}

/* A file that `prepare` made serves as the cache; one that is out of date does not. */
static void test_prepared_file_as_cache(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset *dataset = dataset_open(place->corpus, place->file);
    assert_int_equal(mx_dataset_cached(dataset), ROWS);
    mx_dataset_close(dataset);
    char *const wav = mx_format("%s/wavs/row-05.wav", place->corpus);
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, wav, times, 0), 0);
    mx_free(wav);
    dataset = dataset_open(place->corpus, place->file);
    assert_int_equal(mx_dataset_cached(dataset), 0);
    mx_dataset_close(dataset);
}

/* A run that goes on gives the vocabulary that its cache was made with; another one rebuilds the cache. And whoever
 * leaves the cache to others does not write one. */
static void test_cache_of_the_given_vocabulary(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset *const own = dataset_open(place->corpus, place->file);
    struct mx_dataset_options options = small_corpus_opening(place->corpus, place->file);
    struct mx_dataset *dataset = NULL;
    options.row.vocabulary = mx_dataset_vocabulary(own);
    assert_int_equal(mx_dataset_open(&options, &dataset), 0);
    assert_int_equal(mx_dataset_cached(dataset), ROWS);
    mx_dataset_close(dataset);

    char *json = NULL;
    struct mx_vocabulary *other = NULL;
    assert_int_equal(mx_vocabulary_write(options.row.vocabulary, &json), 0);
    assert_int_equal(mx_vocabulary_read(json, strlen(json), &other), 0);
    assert_int_equal(mx_vocabulary_add(other, (const uint32_t[]){0x263a}, 1), 0);
    options.row.vocabulary = other;
    options.cache_others = true;
    assert_int_equal(mx_dataset_open(&options, &dataset), 0);
    assert_int_equal(mx_dataset_cached(dataset), 0);
    mx_dataset_close(dataset);
    assert_int_equal(access(place->part, F_OK), -1);
    mx_vocabulary_destroy(other);
    mx_free(json);
    mx_dataset_close(own);
}

static void test_damaged_journal(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset *const packed = dataset_open(place->file, NULL);
    struct mx_dataset_reader *const packed_reader = small_corpus_reader(packed);
    struct mx_dataset *dataset = dataset_open(place->corpus, place->cache);
    struct mx_dataset_reader *reader = small_corpus_reader(dataset);
    for (uint32_t i = 0; i < 8; i++) load_and_compare(reader, dataset, i, packed_reader, packed);
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
    char *data;
    size_t bytes;
    assert_int_equal(mx_file_read(place->cache_part, LIMIT, &data, &bytes), 0);
    data[bytes - 300] ^= 1; /* in the samples of the last record */
    file_put(place->folder, "cache.pack.part", data, bytes);
    mx_free(data);
    dataset = dataset_open(place->corpus, place->cache);
    reader = small_corpus_reader(dataset);
    assert_int_equal(mx_dataset_cached(dataset), 8);
    for (uint32_t i = 0; i < ROWS; i++) load_and_compare(reader, dataset, i, packed_reader, packed);
    assert_int_equal(mx_dataset_cached(dataset), ROWS);
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
    mx_dataset_reader_destroy(packed_reader);
    mx_dataset_close(packed);
}

static void test_cache_that_cannot_be_written(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset_item item;
    char *const nowhere = mx_format("%s/missing/cache.pack", place->folder);
    struct mx_dataset *const dataset = dataset_open(place->corpus, nowhere);
    struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
    for (int epoch = 0; epoch < 2; epoch++) assert_int_equal(mx_dataset_load(reader, 0, &item), 0);
    assert_int_equal(mx_dataset_cached(dataset), 0);
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
    mx_free(nowhere);
}

static void test_changed_while_open(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset_item item;
    struct mx_dataset *const dataset = dataset_open(place->corpus, place->cache);
    struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
    const struct tone tone = {22050, 1, 0x10002, 200, 0.2, 0.9, 0, 0};
    tone_write(place->corpus, "wavs/row-07.wav", &tone);
    assert_int_equal(mx_dataset_load(reader, 7, &item), MX_ERR_DATA);
    assert_int_equal(item.reject, MX_REJECT_NONE);
    assert_non_null(strstr(mx_error_last()->message, "was changed while"));
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
}

/* ---- packed files ---- */

static void test_damaged_record(void **state)
{
    const struct small_place *const place = *state;
    struct mx_packed_file *packed;
    struct mx_dataset_item item;
    char *data;
    size_t bytes;
    assert_int_equal(mx_packed_open(place->file, &packed), 0);
    const uint64_t offset = mx_packed_record(packed, 9)->payload_offset;
    mx_packed_close(packed);
    assert_int_equal(mx_file_read(place->file, LIMIT, &data, &bytes), 0);
    data[offset + 2000] ^= 8;
    file_put(place->folder, "made.pack", data, bytes);
    mx_free(data);
    struct mx_dataset *const dataset = dataset_open(place->file, NULL);
    struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
    const uint32_t index = find(dataset, "row-09");
    for (uint32_t i = 0; i < mx_dataset_count(dataset); i++)
        assert_int_equal(mx_dataset_load(reader, i, &item), i == index ? MX_ERR_FORMAT : 0);
    assert_int_equal(mx_dataset_load(reader, index, &item), MX_ERR_FORMAT);
    assert_non_null(strstr(mx_error_last()->message, "record 9 ('row-09')"));
    assert_int_equal(mx_dataset_load(reader, ROWS, &item), MX_ERR_ARGUMENT);
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
}

static struct mx_vocabulary *vocabulary_of(const char *json)
{
    struct mx_vocabulary *vocabulary;
    assert_int_equal(mx_vocabulary_read(json, strlen(json), &vocabulary), 0);
    return vocabulary;
}

/* Numbers of another vocabulary, by which a model was trained. */
static void test_vocabularies(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset *dataset;
    struct mx_dataset_item item, own_item;
    char json[1024], symbols[512] = "";
    struct mx_dataset *const own = dataset_open(place->file, NULL);
    struct mx_dataset_reader *const own_reader = small_corpus_reader(own);
    for (int letter = 'z'; letter >= 'a'; letter--)
        snprintf(symbols + strlen(symbols), sizeof symbols - strlen(symbols), "\"%c\",", letter);
    char head[96];
    snprintf(head, sizeof head, "{\"format\":\"myxtts-vocabulary\",\"version\":1,\"mode\":\"chars\",\"cleaner\":%d,",
             MX_TEXT_CLEANER_VERSION);
    snprintf(json, sizeof json, "%s\"languages\":[\"fa\",\"en\"],\"symbols\":[%s\" \",\",\",\".\"]}", head, symbols);
    struct mx_dataset_options options = small_corpus_opening(place->file, NULL);
    struct mx_vocabulary *vocabulary = vocabulary_of(json);
    options.row.vocabulary = vocabulary;
    assert_int_equal(mx_dataset_open(&options, &dataset), 0);
    struct mx_dataset_reader *reader = small_corpus_reader(dataset);
    for (uint32_t i = 0; i < mx_dataset_count(dataset); i++) {
        assert_int_equal(mx_dataset_load(reader, i, &item), 0);
        assert_int_equal(mx_dataset_load(own_reader, i, &own_item), 0);
        assert_int_equal(item.language, 1);
        assert_int_equal(mx_dataset_utterance(dataset, i)->language, 1);
        assert_int_equal(item.token_count, own_item.token_count);
        assert_int_equal(item.tokens[0], MX_TOKEN_BOS);
        assert_int_equal(item.tokens[item.token_count - 1], MX_TOKEN_EOS);
        for (uint32_t k = 1; k + 1 < item.token_count; k++)
            assert_int_equal(mx_vocabulary_symbol(vocabulary, item.tokens[k]),
                             mx_vocabulary_symbol(mx_dataset_vocabulary(own), own_item.tokens[k]));
    }
    assert_int_equal(mx_vocabulary_size(mx_dataset_vocabulary(dataset)), mx_vocabulary_size(vocabulary));
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
    mx_vocabulary_destroy(vocabulary);

    static const struct {
        const char *rest, *words;
    } cases[] = {
        {"\"languages\":[\"en\"],\"symbols\":[\"t\",\"o\"]}", "has the symbol"},
        {"\"languages\":[\"fa\"],\"symbols\":[%s\" \",\",\",\".\"]}", "has texts in English"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(json, sizeof json, "%s", head);
        const size_t used = strlen(json);
        const char *const gap = strstr(cases[i].rest, "%s");
        if (gap == NULL)
            snprintf(json + used, sizeof json - used, "%s", cases[i].rest);
        else
            snprintf(json + used, sizeof json - used, "%.*s%s%s", (int)(gap - cases[i].rest), cases[i].rest, symbols,
                     gap + 2);
        vocabulary = vocabulary_of(json);
        options.row.vocabulary = vocabulary;
        assert_int_equal(mx_dataset_open(&options, &dataset), MX_ERR_DATA);
        assert_non_null(strstr(mx_error_last()->message, cases[i].words));
        mx_vocabulary_destroy(vocabulary);
    }
    mx_dataset_reader_destroy(own_reader);
    mx_dataset_close(own);
}

static void test_names_rows_that_are_not_in_the_list(void **state)
{
    const struct small_place *const place = *state;
    const char *id;
    enum mx_reject reject;
    uint32_t row = 0;
    struct mx_dataset *dataset = dataset_open(place->file, NULL);
    assert_true(mx_dataset_left_out(dataset, &row, &id, &reject));
    assert_string_equal(id, "row-02");
    assert_int_equal(reject, MX_REJECT_SILENT);
    assert_false(mx_dataset_left_out(dataset, &row, &id, &reject));
    mx_dataset_close(dataset);
    /* A folder tells what texts and headers tell: that a recording is silent comes out later. */
    char *const recording = mx_format("%s/wavs/row-%02d.wav", place->corpus, ROWS - 1);
    assert_int_equal(unlink(recording), 0);
    mx_free(recording);
    dataset = dataset_open(place->corpus, NULL);
    row = 0;
    assert_true(mx_dataset_left_out(dataset, &row, &id, &reject));
    assert_string_equal(id, "row-19");
    assert_int_equal(reject, MX_REJECT_MISSING_FILE);
    assert_false(mx_dataset_left_out(dataset, &row, &id, &reject));
    mx_dataset_close(dataset);
}

static void test_split(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset *dataset, *other;
    struct mx_dataset_options options = small_corpus_opening(place->file, NULL);
    options.manifest.validation_fraction = 0.2;
    uint32_t chosen = 0, same = 0;
    assert_int_equal(mx_dataset_open(&options, &dataset), 0);
    options.manifest.seed = 99;
    assert_int_equal(mx_dataset_open(&options, &other), 0);
    for (uint32_t i = 0; i < ROWS - 1; i++) {
        chosen += mx_dataset_utterance(dataset, i)->validation;
        same += mx_dataset_utterance(dataset, i)->validation == mx_dataset_utterance(other, i)->validation;
    }
    assert_int_equal(chosen, 4); /* of 19, rounded */
    assert_true(same < ROWS - 1);
    mx_dataset_close(dataset);
    mx_dataset_close(other);
}

/* ---- threads ---- */

#define THREADS 4
struct crowd {
    struct mx_dataset *dataset, *packed;
    atomic_int wrong;
};

static void crowd_load(void *context, int worker)
{
    struct crowd *const crowd = context;
    struct mx_dataset_reader *reader = NULL, *wanted_reader = NULL;
    struct mx_dataset_item item, wanted;
    if (mx_dataset_reader_create(crowd->dataset, &reader) < 0 ||
        mx_dataset_reader_create(crowd->packed, &wanted_reader) < 0) {
        atomic_fetch_add(&crowd->wrong, 1);
        return;
    }
    for (uint32_t turn = 0; turn < 3 * ROWS; turn++) {
        const uint32_t i = (turn * 7 + (uint32_t)worker * 5) % ROWS;
        const uint32_t row = mx_dataset_utterance(crowd->dataset, i)->row;
        const int rc = mx_dataset_load(reader, i, &item);
        if (row == SILENT) {
            if (rc != MX_ERR_DATA) atomic_fetch_add(&crowd->wrong, 1);
            continue;
        }
        const uint32_t packed_index = row > SILENT ? i - 1 : i;
        if (rc != 0 || mx_dataset_load(wanted_reader, packed_index, &wanted) != 0 ||
            item.sample_count != wanted.sample_count ||
            memcmp(item.samples, wanted.samples, item.sample_count * sizeof(float)) != 0)
            atomic_fetch_add(&crowd->wrong, 1);
    }
    mx_dataset_reader_destroy(reader);
    mx_dataset_reader_destroy(wanted_reader);
}

static void test_threads(void **state)
{
    const struct small_place *const place = *state;
    struct mx_pool *pool;
    struct crowd crowd = {.dataset = dataset_open(place->corpus, place->cache),
                          .packed = dataset_open(place->file, NULL)};
    assert_int_equal(mx_pool_create(&(struct mx_pool_options){.name = "crowd", .workers = THREADS}, &pool), 0);
    mx_pool_run(pool, crowd_load, &crowd);
    mx_pool_destroy(pool);
    assert_int_equal(atomic_load(&crowd.wrong), 0);
    assert_int_equal(mx_dataset_cached(crowd.dataset), ROWS);
    mx_dataset_close(crowd.dataset);
    mx_dataset_close(crowd.packed);
    packed_check(place->cache);
}

static void test_loop_takes_no_memory(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset_item item;
    struct mx_dataset *const dataset = dataset_open(place->file, NULL);
    struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
    for (uint32_t i = 0; i < mx_dataset_count(dataset); i++) assert_int_equal(mx_dataset_load(reader, i, &item), 0);
    const uint64_t before = mx_alloc_count();
    for (uint32_t i = 0; i < mx_dataset_count(dataset); i++) assert_int_equal(mx_dataset_load(reader, i, &item), 0);
    assert_int_equal(mx_alloc_count(), before);
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
}

/* ---- lengths, rejected rows, fingerprints ---- */

/* Rows that are too long are in no list, of a folder as of a packed file that was made with other limits. */
static void test_lengths(void **state)
{
    const struct small_place *const place = *state;
    const char *const paths[] = {place->file, place->corpus};
    struct mx_dataset *const exact = dataset_open(place->file, NULL);
    uint32_t longest = 0, shorter = 0;
    for (uint32_t i = 0; i < mx_dataset_count(exact); i++)
        if (mx_dataset_utterance(exact, i)->samples > longest) longest = mx_dataset_utterance(exact, i)->samples;
    const double limit = 0.8 * longest / MX_AUDIO_RATE_DEFAULT;
    for (uint32_t i = 0; i < mx_dataset_count(exact); i++)
        shorter += mx_dataset_utterance(exact, i)->samples <= limit * MX_AUDIO_RATE_DEFAULT;
    assert_true(shorter > 0 && shorter < mx_dataset_count(exact));
    for (int folder = 0; folder < 2; folder++) {
        struct mx_dataset *some;
        struct mx_dataset_options options = small_corpus_opening(paths[folder], NULL);
        uint32_t counts[MX_REJECT_COUNT], good = 0;
        options.row.audio.seconds_max = limit;
        assert_int_equal(mx_dataset_open(&options, &some), 0);
        for (uint32_t i = 0; i < mx_dataset_count(some); i++) {
            const struct mx_dataset_utterance *const one = mx_dataset_utterance(some, i);
            if (one->row == SILENT) continue;
            assert_true(mx_dataset_utterance(exact, find(exact, one->id))->samples <= limit * MX_AUDIO_RATE_DEFAULT);
            good++;
        }
        assert_int_equal(good, shorter);
        mx_dataset_reject_counts(some, counts);
        assert_int_equal(counts[MX_REJECT_TOO_LONG], ROWS - 1 - shorter);
        assert_int_equal(mx_dataset_rows(some), ROWS);
        assert_int_equal(mx_dataset_is_folder(some), folder == 1);
        mx_dataset_close(some);
    }
    mx_dataset_close(exact);
}

/* A row that turns out to be unusable is counted once, and listed with what the reader found. */
static void test_rejected_rows(void **state)
{
    const struct small_place *const place = *state;
    for (int cached = 0; cached < 3; cached++) { /* no cache, one that grows, one that is finished */
        char *list;
        size_t bytes;
        struct mx_dataset_item item;
        struct mx_dataset *const dataset = dataset_open(place->corpus, cached > 0 ? place->cache : NULL);
        struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
        assert_int_equal(mx_dataset_rows(dataset), ROWS);
        assert_int_equal(mx_dataset_rejected(dataset), cached == 2);
        for (int epoch = 0; epoch < 2; epoch++)
            for (uint32_t i = 0; i < ROWS; i++) (void)mx_dataset_load(reader, i, &item);
        assert_int_equal(mx_dataset_rejected(dataset), 1);
        assert_int_equal(mx_dataset_rejects_write(dataset, place->rejects), 0);
        assert_int_equal(mx_file_read(place->rejects, LIMIT, &list, &bytes), 0);
        assert_non_null(strstr(list, "\t3\trow-02\tsilent\t"));
        assert_null(strstr(list, mx_reject_text(MX_REJECT_SILENT))); /* but its own words */
        mx_free(list);
        mx_dataset_reader_destroy(reader);
        mx_dataset_close(dataset);
    }
}

/* What is read is remembered: a recording whose content changes under the same size and time cannot be loaded any more. */
static void test_contents(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset_item item;
    struct stat before;
    uint64_t first = 0;
    char path[4096], away[4096];
    for (int cached = 0; cached < 4; cached++) { /* no cache, twice one that grows, and when it is finished */
        struct mx_dataset *const dataset = dataset_open(place->corpus, cached > 0 ? place->cache : NULL);
        struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
        for (uint32_t i = 0; i < ROWS; i++) {
            assert_int_equal(mx_dataset_contents(dataset), 0);
            (void)mx_dataset_load(reader, cached == 2 ? i : ROWS - 1 - i, &item);
        }
        if (cached == 0) first = mx_dataset_contents(dataset);
        assert_true(first != 0 && mx_dataset_contents(dataset) == first);
        mx_dataset_reader_destroy(reader);
        mx_dataset_close(dataset);
    }
    struct mx_dataset *const dataset = dataset_open(place->corpus, NULL);
    struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
    /* One that is away for a while holds what it held. */
    for (uint32_t i = 0; i < ROWS; i++) (void)mx_dataset_load(reader, i, &item);
    const uint32_t rejected = mx_dataset_rejected(dataset);
    snprintf(path, sizeof path, "%s/wavs/row-04.wav", place->corpus);
    snprintf(away, sizeof away, "%s/away.wav", place->corpus);
    assert_int_equal(rename(path, away), 0);
    assert_true(mx_dataset_load(reader, 4, &item) < 0);
    assert_int_equal(rename(away, path), 0);
    assert_int_equal(mx_dataset_rejected(dataset), rejected + 1);
    assert_true(mx_dataset_contents(dataset) == first);
    snprintf(path, sizeof path, "%s/wavs/row-03.wav", place->corpus);
    assert_int_equal(mx_dataset_load(reader, 3, &item), 0);
    assert_int_equal(stat(path, &before), 0);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\1\2\3\4\5\6\7\10", 8, 4000), 8);
    close(fd);
    assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){before.st_atim, before.st_mtim}, 0), 0);
    assert_int_equal(mx_dataset_load(reader, 3, &item), MX_ERR_DATA);
    assert_int_equal(item.reject, MX_REJECT_NONE); /* so nobody leaves it out without a word */
    assert_non_null(strstr(mx_error_last()->message, "'row-03' holds something else"));
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
}

static bool prints_equal(struct mx_dataset_prints a, struct mx_dataset_prints b)
{
    return a.texts == b.texts && a.recordings == b.recordings && a.recipe == b.recipe;
}

/* The data of the list has a hash, the same whatever the cache holds; each change shows where it belongs. */
static void test_prints(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset_item item;
    struct mx_dataset_prints first = {0};
    for (int run = 0; run < 3; run++) {
        struct mx_dataset *const dataset = dataset_open(place->corpus, place->cache);
        struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
        if (run == 0) first = mx_dataset_prints(dataset);
        assert_true(prints_equal(mx_dataset_prints(dataset), first));
        for (uint32_t i = 0; i < (run == 0 ? ROWS / 2 : ROWS); i++) (void)mx_dataset_load(reader, i, &item);
        mx_dataset_reader_destroy(reader);
        mx_dataset_close(dataset);
    }
    struct mx_dataset *dataset = dataset_open(place->file, NULL);
    const struct mx_dataset_prints packed = mx_dataset_prints(dataset);
    mx_dataset_close(dataset);
    /* The time of a recording. */
    char path[4096];
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    snprintf(path, sizeof path, "%s/wavs/row-03.wav", place->corpus);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    dataset = dataset_open(place->corpus, NULL);
    const struct mx_dataset_prints touched = mx_dataset_prints(dataset);
    mx_dataset_close(dataset);
    assert_true(touched.recordings != first.recordings && touched.texts == first.texts);
    assert_true(touched.recipe == first.recipe);
    /* Two letters of a text change places: as many tokens as before, of the same vocabulary. */
    char *list;
    size_t bytes;
    snprintf(path, sizeof path, "%s/metadata.csv", place->corpus);
    assert_int_equal(mx_file_read(path, LIMIT, &list, &bytes), 0);
    char *const word = strstr(list, "tone");
    assert_non_null(word);
    memcpy(word, "noet", 4);
    assert_int_equal(mx_file_write_atomic(path, list, bytes), 0);
    mx_free(list);
    dataset = dataset_open(place->corpus, NULL);
    const struct mx_dataset_prints changed = mx_dataset_prints(dataset);
    mx_dataset_close(dataset);
    assert_true(changed.texts != touched.texts && changed.recordings == touched.recordings);
    /* A packed file is the same when it is made again of the same contents, whatever the times; not of other texts. */
    for (int text = 1; text >= 0; text--) {
        struct mx_prepare_options options = small_corpus_packing(place->corpus, place->file);
        struct mx_prepare_report report;
        if (text == 0) {
            assert_int_equal(mx_file_read(path, LIMIT, &list, &bytes), 0);
            memcpy(strstr(list, "noet"), "tone", 4);
            assert_int_equal(mx_file_write_atomic(path, list, bytes), 0);
            mx_free(list);
        }
        options.force = true;
        assert_int_equal(mx_prepare_run(&options, &report), 0);
        mx_prepare_release(&report);
        dataset = dataset_open(place->file, NULL);
        assert_int_equal(prints_equal(mx_dataset_prints(dataset), packed), text == 0);
        mx_dataset_close(dataset);
    }
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, small_place_remove)
    const struct CMUnitTest tests[] = {
        TEST(test_folder_and_packed_agree),
        TEST(test_prepared_file_as_cache),
        TEST(test_cache_of_the_given_vocabulary),
        TEST(test_damaged_journal),
        TEST(test_cache_that_cannot_be_written),
        TEST(test_changed_while_open),
        TEST(test_damaged_record),
        TEST(test_vocabularies),
        TEST(test_names_rows_that_are_not_in_the_list),
        TEST(test_split),
        TEST(test_lengths),
        TEST(test_rejected_rows),
        TEST(test_contents),
        TEST(test_prints),
        TEST(test_threads),
        TEST(test_loop_takes_no_memory),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
