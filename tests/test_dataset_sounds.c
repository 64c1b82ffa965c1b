/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A corpus of sounds: folders without texts, with files of all kinds in subfolders; what cannot be used; the cache; and
 * folders, manifests and packed files that do have texts.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/log.h"
#include "corpus/dataset.h"
#include "corpus/prepare.h"
#include "myxtts/error.h"
#include "support/recording.h"
#include "support/small_corpus.h"

#include <sndfile.h>
#include <string.h>
#include <unistd.h>

#define ROWS 12

static struct mx_dataset_options opening(const char *path, const char *cache)
{
    struct mx_dataset_options options = MX_DATASET_OPTIONS_DEFAULT;
    options.path = path;
    options.cache = cache;
    options.sounds = true;
    options.workers = 2;
    return options;
}

static struct mx_dataset *sounds_open(const char *path, const char *cache)
{
    struct mx_dataset *dataset;
    const struct mx_dataset_options options = opening(path, cache);
    if (mx_dataset_open(&options, &dataset) < 0) fail_msg("%s", mx_error_last()->message);
    return dataset;
}

static void refused(const struct mx_dataset_options *options, int error, const char *words, const char *hint)
{
    struct mx_dataset *dataset;
    assert_int_equal(mx_dataset_open(options, &dataset), error);
    assert_null(dataset);
    if (strstr(mx_error_last()->message, words) == NULL) fail_msg("%s", mx_error_last()->message);
    if (strstr(mx_error_last()->hint, hint) == NULL) fail_msg("%s", mx_error_last()->hint);
}

static void tone_put(const char *folder, const char *name, int format, double hertz, double seconds)
{
    tone_write(folder, name,
               &(struct tone){
                   .rate = 22050, .channels = 1, .format = format, .hertz = hertz, .height = 0.3, .seconds = seconds});
}

/* The good ones in byte order of their paths. */
static const char *const names[] = {"b/c/deep.flac", "b/two.wav", "late.ogg", "one.WAV"};
#define GOOD (sizeof names / sizeof names[0])

static void folder_fill(const char *folder)
{
    folder_add(folder, "b");
    folder_add(folder, "b/c");
    folder_add(folder, ".hidden");
    tone_put(folder, "one.WAV", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 200, 1);
    tone_put(folder, "b/two.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 300, 1.5);
    tone_put(folder, "b/c/deep.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 400, 2);
    tone_put(folder, "late.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 500, 1.2);
    tone_put(folder, ".hidden/no.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 500, 1.2);
    file_put_text(folder, "b/notes.txt", "a|text\nb|text\n");
}

static void test_folder(void **state)
{
    const struct small_place *const place = *state;
    folder_fill(place->corpus);
    struct mx_dataset *dataset = sounds_open(place->corpus, NULL);
    const uint64_t fingerprint = mx_dataset_fingerprint(dataset);
    const struct mx_dataset_prints prints = mx_dataset_prints(dataset);
    assert_int_equal(mx_dataset_count(dataset), GOOD);
    assert_int_equal(mx_dataset_rejected(dataset), 0);
    assert_true(mx_dataset_is_folder(dataset));
    uint32_t validation = 0;
    for (uint32_t i = 0; i < GOOD; i++) {
        const struct mx_dataset_utterance *const one = mx_dataset_utterance(dataset, i);
        assert_string_equal(one->id, names[i]);
        validation += one->validation;
    }
    assert_int_equal(validation, 1);
    /* Lengths as they are, the same bits whether the cache has them or not, and the same list. */
    static const double seconds[GOOD] = {2, 1.5, 1.2, 1};
    float *samples[GOOD];
    struct mx_dataset_item item;
    struct mx_dataset_reader *reader = small_corpus_reader(dataset);
    for (uint32_t i = 0; i < GOOD; i++) {
        assert_int_equal(mx_dataset_load(reader, i, &item), 0);
        assert_in_range(item.sample_count, (uint32_t)(22050 * (seconds[i] - 0.1)), (uint32_t)(22050 * seconds[i]) + 1);
        samples[i] = mx_alloc(item.sample_count, sizeof(float));
        memcpy(samples[i], item.samples, item.sample_count * sizeof(float));
        assert_string_equal(item.text, "");
    }
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
    for (int run = 0; run < 2; run++) {
        dataset = sounds_open(place->corpus, place->cache);
        assert_int_equal(mx_dataset_cached(dataset), run == 0 ? 0 : GOOD);
        assert_true(mx_dataset_fingerprint(dataset) == fingerprint);
        assert_true(mx_dataset_prints(dataset).recordings == prints.recordings);
        assert_true(mx_dataset_prints(dataset).recipe == prints.recipe);
        reader = small_corpus_reader(dataset);
        for (uint32_t i = 0; i < GOOD; i++) {
            assert_int_equal(mx_dataset_load(reader, i, &item), 0);
            assert_memory_equal(item.samples, samples[i], item.sample_count * sizeof(float));
        }
        assert_true(mx_dataset_contents(dataset) != 0);
        mx_dataset_reader_destroy(reader);
        mx_dataset_close(dataset);
        assert_int_equal(access(place->cache, F_OK), 0); /* finished */
    }
    /* The finished cache is a corpus of its own, but has nothing to read aloud. */
    dataset = sounds_open(place->cache, NULL);
    assert_int_equal(mx_dataset_count(dataset), GOOD);
    mx_dataset_close(dataset);
    struct mx_dataset_options other = opening(place->cache, NULL);
    other.sounds = false;
    refused(&other, MX_ERR_DATA, "has no texts", "--part vocoder");
    for (uint32_t i = 0; i < GOOD; i++) mx_free(samples[i]);
}

static void test_what_cannot_be_used(void **state)
{
    const struct small_place *const place = *state;
    folder_fill(place->corpus);
    char *const loop = mx_format("%s/b/up", place->corpus), *const gone = mx_format("%s/gone.wav", place->corpus);
    assert_int_equal(symlink("..", loop), 0); /* does not end in a circle */
    assert_int_equal(symlink("nowhere", gone), 0);
    tone_put(place->corpus, "long.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 200, 25);
    tone_put(place->corpus, "short.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 200, 0.1);
    file_put_text(place->corpus, "damaged.mp3", "not a sound");
    file_put_text(place->corpus, "\xff.wav", "not a name");
    struct mx_dataset *const dataset = sounds_open(place->corpus, NULL);
    uint32_t counts[MX_REJECT_COUNT];
    struct mx_dataset_reader *const reader = small_corpus_reader(dataset);
    struct mx_dataset_item item;
    for (uint32_t i = 0; i < mx_dataset_count(dataset); i++) { /* some show only when they are read */
        const int rc = mx_dataset_load(reader, i, &item);
        assert_true(rc == 0 || (rc == MX_ERR_DATA && item.reject != MX_REJECT_NONE));
    }
    mx_dataset_reject_counts(dataset, counts);
    assert_int_equal(mx_dataset_rows(dataset), GOOD + 5);
    assert_int_equal(mx_dataset_rejected(dataset), 5);
    assert_int_equal(counts[MX_REJECT_TOO_LONG], 1);
    assert_int_equal(counts[MX_REJECT_TOO_SHORT], 1);
    assert_int_equal(counts[MX_REJECT_INVALID_UTF8], 1);
    assert_int_equal(mx_dataset_rejects_write(dataset, place->rejects), 0);
    mx_dataset_reader_destroy(reader);
    mx_dataset_close(dataset);
    mx_free(loop);
    mx_free(gone);
}

static void test_nothing_to_hear(void **state)
{
    const struct small_place *const place = *state;
    struct mx_dataset_options options = opening(place->corpus, NULL);
    refused(&options, MX_ERR_NOT_FOUND, "there is no sound file in the folder", "wav, flac, ogg, opus or mp3");
    tone_put(place->corpus, "long.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 200, 25);
    refused(&options, MX_ERR_DATA, "none of the 1 sound files", "data.max_seconds");
    options.row.audio.seconds_max = 30; /* as the hint says */
    struct mx_dataset *dataset;
    assert_int_equal(mx_dataset_open(&options, &dataset), 0);
    mx_dataset_close(dataset);
    char *const damaged = mx_format("%s/damaged", place->folder);
    folder_add(place->folder, "damaged");
    file_put_text(damaged, "one.wav", "not a sound");
    options.path = damaged;
    refused(&options, MX_ERR_DATA, "'one.wav'", "a player can play");
    mx_free(damaged);
    options.path = "/nowhere";
    refused(&options, MX_ERR_NOT_FOUND, "there is no folder or file", "check the path");
}

/* Texts of a corpus are ignored, even if they are missing. */
static void test_corpus_with_texts(void **state)
{
    const struct small_place *const place = *state;
    struct mx_prepare_report report;
    small_corpus_make(place->corpus, ROWS, 0);
    const struct mx_prepare_options packing = small_corpus_packing(place->corpus, place->file);
    assert_int_equal(mx_prepare_run(&packing, &report), 0);
    mx_prepare_release(&report);
    file_put_text(place->corpus, "metadata.csv", "row-00|\nrow-01|\nrow-02|\x21\n");
    char *const list = mx_format("%s/metadata.csv", place->corpus);
    struct mx_dataset *const folder = sounds_open(place->corpus, NULL), *const rows = sounds_open(list, NULL);
    struct mx_dataset *const packed = sounds_open(place->file, NULL);
    assert_int_equal(mx_dataset_count(folder), ROWS);
    assert_string_equal(mx_dataset_utterance(folder, 0)->id, "wavs/row-00.wav");
    assert_int_equal(mx_dataset_count(rows), 3);
    assert_int_equal(mx_dataset_rejected(rows), 0);
    assert_int_equal(mx_dataset_count(packed), ROWS);
    struct mx_dataset *const all[] = {folder, rows, packed};
    struct mx_dataset_item item;
    uint32_t length = 0;
    for (int i = 0; i < 3; i++) { /* the same recording in all of them */
        struct mx_dataset_reader *const reader = small_corpus_reader(all[i]);
        assert_int_equal(mx_dataset_load(reader, 1, &item), 0);
        if (i > 0) assert_int_equal(item.sample_count, length);
        length = item.sample_count;
        mx_dataset_reader_destroy(reader);
        mx_dataset_close(all[i]);
    }
    mx_free(list);
}

static void test_validation_folder(void **state)
{
    const struct small_place *const place = *state;
    folder_fill(place->corpus);
    char *const apart = mx_format("%s/apart", place->folder);
    folder_add(place->folder, "apart");
    tone_put(apart, "one.WAV", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 250, 1);
    struct mx_dataset_options options = opening(place->corpus, NULL);
    options.manifest.validation = apart;
    struct mx_dataset *dataset;
    assert_int_equal(mx_dataset_open(&options, &dataset), 0);
    assert_int_equal(mx_dataset_count(dataset), GOOD + 1);
    for (uint32_t i = 0; i <= GOOD; i++) assert_int_equal(mx_dataset_utterance(dataset, i)->validation, i == GOOD);
    mx_dataset_close(dataset);
    mx_free(apart);
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
#define TEST(name) cmocka_unit_test_setup_teardown(name, small_place_make, small_place_remove)
    const struct CMUnitTest tests[] = {
        TEST(test_folder),
        TEST(test_what_cannot_be_used),
        TEST(test_nothing_to_hear),
        TEST(test_corpus_with_texts),
        TEST(test_validation_folder),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
