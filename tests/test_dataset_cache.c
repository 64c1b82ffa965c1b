/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cache of a folder when a run ends in its first epoch: the next one goes on with what is in it, wherever it was
 * cut off and whoever gives the vocabulary now, and never uses a record that is torn.
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
#include "corpus/dataset.h"
#include "myxtts/error.h"
#include "support/packed_rows.h"
#include "support/recording.h"
#include "support/small_corpus.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS   8
#define BEGUN  5 /* rows that the first run has loaded */
#define SILENT 2 /* the row with nothing to hear */
#define LIMIT  ((size_t)1 << 24)

static int setup(void **state)
{
    const int rc = small_place_make(state);
    const struct small_place *const place = *state;
    small_corpus_make(place->corpus, ROWS, SMALL_SILENT);
    return rc;
}

static struct mx_dataset *dataset_open(const struct small_place *place, const struct mx_vocabulary *vocabulary,
                                       bool cached)
{
    struct mx_dataset *dataset;
    struct mx_dataset_options options = small_corpus_opening(place->corpus, cached ? place->cache : NULL);
    options.row.vocabulary = vocabulary;
    assert_int_equal(mx_dataset_open(&options, &dataset), 0);
    return dataset;
}

/* Loads the first `count` utterances in order, each once, and closes. */
static void cache_fill(const struct small_place *place, const struct mx_vocabulary *vocabulary, uint32_t kept,
                       uint32_t count)
{
    struct mx_dataset_item item;
    struct mx_dataset *const dataset = dataset_open(place, vocabulary, true);
    assert_int_equal(mx_dataset_cached(dataset), kept);
    struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(mx_dataset_load(reader, i, &item),
                         mx_dataset_utterance(dataset, i)->row == SILENT ? MX_ERR_DATA : 0);
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
}

static void assert_cache(const struct small_place *place, const char *whole, size_t bytes)
{
    char *data;
    size_t found;
    assert_int_equal(mx_file_read(place->cache, LIMIT, &data, &found), 0);
    assert_int_equal(found, bytes);
    assert_memory_equal(data, whole, bytes);
    mx_free(data);
}

/* A run that ended in its first epoch goes on with the cache that it had begun, although it now gives the vocabulary of
 * its checkpoint, wherever the journal was cut off; the cache becomes the one of an uninterrupted run, bit for bit.
 * (Without a header there is nothing to go on with: then it says that its vocabulary was given.) */
static void test_begun_cache_goes_on(void **state)
{
    const struct small_place *const place = *state;
    char *whole, *journal;
    size_t bytes, journal_bytes, ends[BEGUN];
    struct mx_packed_file *packed;
    struct mx_dataset *const own = dataset_open(place, NULL, false);
    const struct mx_vocabulary *const vocabulary = mx_dataset_vocabulary(own);
    cache_fill(place, NULL, 0, ROWS);
    assert_int_equal(mx_file_read(place->cache, LIMIT, &whole, &bytes), 0);
    assert_int_equal(mx_packed_open(place->cache, &packed), 0);
    for (uint32_t i = 0; i < BEGUN; i++) {
        const struct mx_packed_record *const record = mx_packed_record(packed, mx_dataset_utterance(own, i)->row);
        ends[i] = (size_t)(record->payload_offset + record->payload_bytes);
    }
    mx_packed_close(packed);
    assert_int_equal(unlink(place->cache), 0);
    cache_fill(place, NULL, 0, BEGUN);
    assert_int_equal(mx_file_read(place->cache_part, LIMIT, &journal, &journal_bytes), 0);
    assert_int_equal(journal_bytes, ends[BEGUN - 1]);
    for (uint32_t kept = 0; kept <= BEGUN; kept++)
        for (int cut = 0; cut < 3; cut++) { /* just not whole, whole, with the beginning of the next */
            if ((kept == 0 && cut < 1) || (kept == BEGUN && cut == 2)) continue;
            const size_t length = (kept == 0 ? 0 : ends[kept - 1]) + (size_t)cut * 100 - 100;
            file_put(place->folder, "cache.pack.part", journal, length);
            cache_fill(place, vocabulary, cut == 0 ? kept - 1 : kept, ROWS);
            if (length < sizeof(struct mx_packed_header))
                packed_check(place->cache);
            else
                assert_cache(place, whole, bytes);
            cache_fill(place, vocabulary, ROWS, 0);
            assert_int_equal(unlink(place->cache), 0);
        }
    mx_free(journal);
    mx_free(whole);
    mx_dataset_close(own);
}

/* The same when a record is there in length only, as after a power cut, and nobody reads it before the cache ends. */
static void test_torn_record_is_decoded_again(void **state)
{
    const struct small_place *const place = *state;
    char *journal;
    size_t bytes;
    struct mx_dataset *const own = dataset_open(place, NULL, false);
    cache_fill(place, NULL, 0, ROWS - 1);
    assert_int_equal(mx_file_read(place->cache_part, LIMIT, &journal, &bytes), 0);
    memset(journal + bytes - 2048, 0, 2048);
    file_put(place->folder, "cache.pack.part", journal, bytes);
    struct mx_dataset *const dataset = dataset_open(place, mx_dataset_vocabulary(own), true);
    struct mx_dataset_item item;
    struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
    assert_int_equal(mx_dataset_load(reader, ROWS - 1, &item), 0); /* the only one that is missing */
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
    packed_check(place->cache);
    mx_free(journal);
    mx_dataset_close(own);
}

/* A recording has changed since the cache was begun. What the corpus's own vocabulary is may have changed with it, so
 * the cache is started over where a vocabulary is given; where none is, all other rows are kept. */
static void test_begun_cache_of_a_changed_corpus(void **state)
{
    const struct small_place *const place = *state;
    char *journal;
    size_t bytes;
    struct mx_dataset *const own = dataset_open(place, NULL, false);
    cache_fill(place, NULL, 0, BEGUN);
    assert_int_equal(mx_file_read(place->cache_part, LIMIT, &journal, &bytes), 0);
    char *const wav = mx_format("%s/wavs/row-%02d.wav", place->corpus, 1);
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, wav, times, 0), 0);
    cache_fill(place, mx_dataset_vocabulary(own), 0, BEGUN);
    cache_fill(place, mx_dataset_vocabulary(own), BEGUN, 0); /* and that one goes on again */
    file_put(place->folder, "cache.pack.part", journal, bytes);
    cache_fill(place, NULL, BEGUN - 1, 0);
    mx_free(journal);
    mx_free(wav);
    mx_dataset_close(own);
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, small_place_remove)
    const struct CMUnitTest tests[] = {
        TEST(test_begun_cache_goes_on),
        TEST(test_torn_record_is_decoded_again),
        TEST(test_begun_cache_of_a_changed_corpus),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
