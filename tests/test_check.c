/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows and the check of a corpus: the judgement of a row, and a report that does not depend on the number of workers.
 * Symbols are characters here, so that nothing depends on libespeak-ng.
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
#include "corpus/check.h"
#include "myxtts/error.h"
#include "support/recording.h"

#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 40

static const struct tone voice = {.rate = 16000,
                                  .channels = 1,
                                  .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                                  .hertz = 200,
                                  .height = 0.3,
                                  .seconds = 2};

/* A Piper folder of ROWS rows by two speakers, each recording a little longer than the last; three rows are bad. */
static int setup(void **state)
{
    char *const folder = folder_make(), name[32], text[ROWS * 80];
    size_t used = 0;
    folder_add(folder, "wavs");
    for (int i = 0; i < ROWS; i++) {
        struct tone tone = voice;
        tone.seconds = i == 7 ? 0.1 : 1.5 + 0.02 * i;
        snprintf(name, sizeof name, "wavs/r%02d.wav", i);
        if (i != 20) tone_write(folder, name, &tone);
        used += (size_t)snprintf(text + used, sizeof text - used, "r%02d|%s|%s\n", i, i % 4 == 0 ? "zoe" : "ann",
                                 i == 30 ? "The text holds 字 here." : "A sentence of nine words is said by a tone.");
    }
    file_put_text(folder, "metadata.csv", text);
    *state = folder;
    return 0;
}

static int teardown(void **state)
{
    folder_remove(*state);
    return 0;
}

static struct mx_check_options chars_options(void)
{
    struct mx_check_options options = MX_CHECK_OPTIONS_DEFAULT;
    options.row.tokens = MX_TOKENS_CHARS;
    return options;
}

/* ---- rows ---- */

static enum mx_language_id row_is_in(const char *folder, const char *text, const char *language,
                                     const struct mx_row_options *options, enum mx_reject reject, const char *words)
{
    char audio[4096];
    struct mx_row row;
    struct mx_row_reader *reader;
    snprintf(audio, sizeof audio, "%s/wavs/r00.wav", folder);
    const struct mx_utterance utterance = {
        .id = "r00", .audio = audio, .text = text, .language = language, .speaker_name = "zoe"};
    assert_int_equal(mx_row_reader_create(options, &reader), 0);
    assert_int_equal(mx_row_load(reader, &utterance, &row), 0);
    if (row.reject != reject || strstr(row.detail, words) == NULL)
        fail_msg("%s: %s, \"%s\"", text, mx_reject_name(row.reject), row.detail);
    if (reject == MX_REJECT_NONE) {
        assert_true(row.symbol_count > 0 && row.sample_count > MX_AUDIO_RATE_DEFAULT);
        assert_true(row.characters <= strlen(row.spoken));
    } else {
        assert_null(row.samples);
        assert_null(row.symbols);
    }
    mx_row_reader_destroy(reader);
    return row.language;
}

static void row_is(const char *folder, const char *text, const struct mx_row_options *options, enum mx_reject reject,
                   const char *words)
{
    row_is_in(folder, text, NULL, options, reject, words);
}

/* A language that the row names is used without looking at the text; one for all rows wins. */
static void test_languages_of_rows(void **state)
{
    struct mx_row_options options = chars_options().row;
    assert_int_equal(row_is_in(*state, "El gato come.", "es", &options, MX_REJECT_NONE, ""), MX_LANGUAGE_ES);
    assert_int_equal(row_is_in(*state, "El gato come.", "", &options, MX_REJECT_NONE, ""), MX_LANGUAGE_EN);
    row_is_in(*state, "A good sentence.", "atlantic", &options, MX_REJECT_UNKNOWN_LANGUAGE, "atlantic");
    options.language = MX_LANGUAGE_EN;
    assert_int_equal(row_is_in(*state, "A good sentence.", "atlantic", &options, MX_REJECT_NONE, ""), MX_LANGUAGE_EN);
}

static void test_rows(void **state)
{
    struct mx_row_options options = chars_options().row;
    row_is(*state, "A good sentence.", &options, MX_REJECT_NONE, "");
    row_is(*state, "جمله‌ی خوبی است.", &options, MX_REJECT_NONE, "");
    row_is(*state, "He paid $20 in 1984.", &options, MX_REJECT_NONE, "");
    row_is(*state, "...", &options, MX_REJECT_EMPTY_TEXT, "nothing");
    row_is(*state, "字字字字", &options, MX_REJECT_UNKNOWN_LANGUAGE, "");
    row_is(*state, "I like 字 too.", &options, MX_REJECT_UNKNOWN_SYMBOL, "'字' (U+5B57)");
    row_is(*state, "O", &options, MX_REJECT_SPEAKING_RATE, "1 sounds in 1.5");
    row_is(*state,
           "A very long text that nobody at all could ever manage to read aloud in one and a half seconds only.",
           &options, MX_REJECT_SPEAKING_RATE, "believable");
    options.language = MX_LANGUAGE_EN; /* then it need not be found by its script */
    row_is(*state, "...", &options, MX_REJECT_EMPTY_TEXT, "nothing");
    options.rate.least = 0;
    row_is(*state, "O", &options, MX_REJECT_NONE, "");
    options.audio.seconds_min = 5;
    row_is(*state, "A good sentence.", &options, MX_REJECT_TOO_SHORT, "at least 5 s");
    options.rate.most = 0;
    struct mx_row_reader *reader;
    assert_int_equal(mx_row_reader_create(&options, &reader), MX_ERR_ARGUMENT);
    options.audio.seconds_max = -1;
    assert_int_equal(mx_row_reader_create(&options, &reader), MX_ERR_ARGUMENT);
}

/* Rates of a corpus whose reader says `middle` sounds a second, more or less. */
static void rates_fill(double *rates, size_t count, double middle)
{
    for (size_t i = 0; i < count; i++) rates[i] = middle * (0.8 + 0.4 * (double)(i * 7 % count) / (double)count);
}

static void test_rates(void **state)
{
    double rates[200];
    (void)state;
    /* Nothing to learn from few rows, or from rows without a length. */
    rates_fill(rates, MX_RATE_ROWS - 1, 12);
    struct mx_rate rate = mx_rate_learn(rates, MX_RATE_ROWS - 1);
    assert_true(rate.least == 2.0 && rate.most == 30.0);
    memset(rates, 0, sizeof rates);
    rates_fill(rates, MX_RATE_ROWS - 1, 12);
    rate = mx_rate_learn(rates, 200);
    assert_true(rate.least == 2.0 && rate.most == 30.0);
    /* A slow reader and a fast one; a tenth of the rows are wrong, and do not matter. */
    static const double middles[] = {1.5, 12, 40};
    for (size_t i = 0; i < 3; i++) {
        rates_fill(rates, 200, middles[i]);
        for (size_t k = 0; k < 10; k++) rates[k] = middles[i] / 50;
        for (size_t k = 10; k < 20; k++) rates[k] = middles[i] * 50;
        rate = mx_rate_learn(rates, 200);
        assert_true(rate.least < middles[i] / 3 && rate.least > middles[i] / 8);
        assert_true((rate.most > middles[i] * 2.4 && rate.most < middles[i] * 8) || rate.most == 100);
        assert_true(mx_rate_fits(&rate, (size_t)(middles[i] * 6), 6));
        assert_false(mx_rate_fits(&rate, (size_t)(middles[i] * 6 / 10), 6));
        assert_false(mx_rate_fits(&rate, (size_t)(middles[i] * 60), 6) && middles[i] < 40);
    }
    /* The order does not matter, and one row more changes nothing. */
    rates_fill(rates, 199, 12);
    const struct mx_rate before = mx_rate_learn(rates, 199);
    rates_fill(rates, 199, 12);
    for (size_t i = 0; i < 99; i++) {
        const double one = rates[i];
        rates[i] = rates[198 - i];
        rates[198 - i] = one;
    }
    rates[199] = 12.1;
    rate = mx_rate_learn(rates, 200);
    assert_true(rate.least == before.least && rate.most == before.most);
    /* A letter with its pause is believable, as slow as it looks. */
    assert_true(mx_rate_fits(&rate, 1, 0.87));
    /* What is spoken: phonemes without stress, length and blanks; letters without marks and the half-space. */
    assert_int_equal(
        mx_rate_sounds((const uint32_t[]){0x02C8, 'd', 0x028C, 'b', ' ', 0x02CC, 'j', 'u', 0x02D0, '.'}, 10), 5);
    assert_int_equal(mx_rate_sounds((const uint32_t[]){0x0645, 0x06CC, 0x200C, 0x0631, 0x064E, 0x0645, 0x060C}, 7), 4);
}

static void test_vocabulary(void **state)
{
    struct mx_row_options options = chars_options().row;
    struct mx_vocabulary *vocabulary;
    uint32_t symbols[27] = {' '};
    for (uint32_t i = 1; i < 27; i++) symbols[i] = 'a' + i - 1;
    assert_int_equal(mx_vocabulary_create(MX_TOKENS_CHARS, &vocabulary), 0);
    assert_int_equal(mx_vocabulary_add(vocabulary, symbols, 27), 0);
    options.vocabulary = vocabulary;
    row_is(*state, "No stop at the end", &options, MX_REJECT_NONE, "");
    row_is(*state, "A stop at the end.", &options, MX_REJECT_UNKNOWN_SYMBOL, "'.' (U+002E) is not in the vocabulary");
    mx_vocabulary_destroy(vocabulary);
}

/* ---- the whole corpus ---- */

static void test_report(void **state)
{
    struct mx_check_report report;
    const struct mx_check_options options = chars_options();
    assert_int_equal(mx_check_run(*state, &options, &report), 0);
    assert_int_equal(report.rows, ROWS);
    assert_int_equal(report.good, ROWS - 3);
    assert_int_equal(report.rejected, 3);
    assert_int_equal(report.rejects[0].line, 8);
    assert_int_equal(report.rejects[0].reason, MX_REJECT_TOO_SHORT);
    assert_string_equal(report.rejects[0].id, "r07");
    assert_non_null(strstr(report.rejects[0].audio, "wavs/r07.wav"));
    assert_int_equal(report.rejects[1].line, 21);
    assert_int_equal(report.rejects[1].reason, MX_REJECT_MISSING_FILE);
    assert_int_equal(report.rejects[2].line, 31);
    assert_int_equal(report.rejects[2].reason, MX_REJECT_UNKNOWN_SYMBOL);
    assert_int_equal(report.reasons[MX_REJECT_TOO_SHORT], 1);
    assert_int_equal(report.training, ROWS - 3 - 2);
    assert_int_equal(report.validation, 2);
    assert_int_equal(report.languages[MX_LANGUAGE_EN], ROWS - 3);
    assert_int_equal(report.speaker_count, 2);
    assert_string_equal(report.speakers[1].name, "zoe");
    assert_int_equal(report.speakers[1].rows, 9); /* ten rows, and one of them is the missing one */
    for (int b = 0; b < MX_BALANCE_COUNT; b++)
        assert_true(fabs(report.speakers[0].rows * report.speakers[0].times[b] + 9 * report.speakers[1].times[b] -
                         report.good) < 1e-9);
    assert_true(fabs(report.speakers[1].times[MX_BALANCE_SPEAKER] - report.good / 2.0 / 9) < 1e-12);
    assert_true(fabs(report.speakers[0].seconds + report.speakers[1].seconds - report.seconds_used) < 1e-6);
    assert_int_equal(report.durations.bins, 12);
    assert_true(report.durations.width == 0.2);
    assert_true(fabs(report.durations.least - 1.5) < 0.02 && fabs(report.durations.most - 2.28) < 0.02);
    /* "a sentence of nine words is said by a tone." without blanks has 34 characters. */
    assert_true(report.lengths.least == 34 && report.lengths.most == 34 && report.lengths.mean == 34);
    assert_int_equal(report.symbols[0].code, ' ');
    assert_int_equal(report.symbols[0].count, 9 * (ROWS - 3));
    uint64_t symbols = 0;
    for (uint32_t i = 0; i < report.symbol_count; i++) symbols += report.symbols[i].count;
    assert_int_equal(symbols, (34 + 9) * (ROWS - 3));
    mx_check_release(&report);
}

static void test_workers(void **state)
{
    char path[2][4096], *data[2];
    size_t bytes[2];
    struct mx_check_report report[2];
    for (int i = 0; i < 2; i++) {
        struct mx_check_options options = chars_options();
        options.workers = i == 0 ? 1 : 4;
        assert_int_equal(mx_check_run(*state, &options, &report[i]), 0);
        snprintf(path[i], sizeof path[i], "%s/rejects%d.tsv", (char *)*state, i);
        assert_int_equal(mx_check_write_rejects(&report[i], 1, path[i]), 0);
        assert_int_equal(mx_file_read(path[i], 1 << 20, &data[i], &bytes[i]), 0);
    }
    assert_string_equal(data[0], data[1]);
    assert_non_null(strstr(data[0], "\t8\tr07\ttoo-short\t"));
    assert_int_equal(report[0].symbol_count, report[1].symbol_count);
    assert_memory_equal(report[0].symbols, report[1].symbols, report[0].symbol_count * sizeof report[0].symbols[0]);
    assert_memory_equal(&report[0].durations, &report[1].durations, sizeof report[0].durations);
    assert_true(report[0].seconds == report[1].seconds && report[0].seconds_used == report[1].seconds_used);
    for (int i = 0; i < 2; i++) {
        mx_check_release(&report[i]);
        mx_free(data[i]);
    }
}

static void test_failures(void **state)
{
    struct mx_check_report report;
    struct mx_check_options options = chars_options();
    options.row.audio.seconds_max = 0;
    assert_int_equal(mx_check_run(*state, &options, &report), MX_ERR_ARGUMENT);
    assert_null(report.manifest);
    options = chars_options();
    options.workers = 2;
    int rc = MX_ERR_NO_MEMORY;
    for (uint64_t nth = 1; rc != 0; nth += nth < 120 ? 1 : 37) { /* also where workers are */
        assert_true(nth < 5000);
        mx_alloc_fail_at(nth);
        rc = mx_check_run(*state, &options, &report);
        mx_alloc_fail_at(0);
        assert_true(rc == 0 || rc == MX_ERR_NO_MEMORY);
    }
    mx_check_release(&report);
}

static void test_histogram(void **state)
{
    (void)state;
    struct mx_histogram histogram;
    double values[] = {0, 0.99, 1, 19.99};
    mx_histogram_fill(&histogram, values, 0);
    assert_int_equal(histogram.bins, 0);
    mx_histogram_fill(&histogram, values, 4);
    assert_true(histogram.width == 1 && histogram.least == 0 && histogram.most == 19.99);
    assert_int_equal(histogram.bins, 20);
    assert_int_equal(histogram.counts[0], 2);
    assert_int_equal(histogram.counts[1], 1);
    assert_int_equal(histogram.counts[19], 1);
    values[3] = 20;
    mx_histogram_fill(&histogram, values, 4);
    assert_true(histogram.width == 2);
    values[3] = 123456;
    mx_histogram_fill(&histogram, values, 4);
    assert_true(histogram.width == 10000);
    assert_int_equal(histogram.bins, 13);
    assert_int_equal(histogram.counts[0], 3);
}

/* ---- interrupts ---- */

static void stopped(int rc, const char *where)
{
    assert_int_equal(rc, MX_ERR_INTERRUPTED);
    assert_non_null(strstr(mx_error_last()->message, where));
    mx_error_clear();
}

/* Already while the manifest is read, which takes long for one of millions of rows, or with a slow disk. */
static void test_interrupt(void **state)
{
    const atomic_bool stop = true;
    struct mx_check_options options = chars_options();
    struct mx_check_report report;
    struct mx_manifest *manifest;
    options.manifest.stop = &stop;
    stopped(mx_check_run(*state, &options, &report), "metadata.csv");
    options.manifest.sounds = true;
    stopped(mx_manifest_open(*state, &options.manifest, &manifest), "was read");
    assert_null(manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_interrupt, setup, teardown),
        cmocka_unit_test(test_rates),
        cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_languages_of_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_vocabulary, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report, setup, teardown),
        cmocka_unit_test_setup_teardown(test_workers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
        cmocka_unit_test(test_histogram),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}
