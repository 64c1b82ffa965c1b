/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which sounds and pairs a corpus lacks, and the sentences that add them. Most cases use characters as symbols, so that
 * what must come out can be said exactly and nothing depends on libespeak-ng.
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
#include "base/string.h"
#include "demo/sentences.h"
#include "doctor/coverage.h"
#include "doctor/record.h"
#include "myxtts/error.h"
#include "support/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a report without recordings ---- */

struct corpus {
    struct mx_manifest manifest;
    struct mx_check_report report;
    struct mx_row_options row;
};

/* Good rows with these texts, read as `row` says, at ten sounds a second. */
static void corpus_make(struct corpus *corpus, const char *const *texts, uint32_t count, enum mx_language_id language)
{
    struct mx_row_reader *reader;
    struct mx_row row;
    struct mx_check_report *const report = &corpus->report;
    corpus->manifest.utterance_count = count;
    report->manifest = &corpus->manifest;
    report->good = count;
    report->languages[language] = count;
    report->list = mx_alloc(count, sizeof *report->list);
    assert_int_equal(mx_row_reader_create(&corpus->row, &reader), 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct mx_utterance utterance = {.text = texts[i], .language = mx_language_get(language)->code};
        struct mx_check_row *const kept = &report->list[i];
        assert_int_equal(mx_row_load_text(reader, &utterance, &row), 0);
        assert_int_equal(row.reject, MX_REJECT_NONE);
        *kept = (struct mx_check_row){.language = language,
                                      .sounds = row.sounds,
                                      .seconds_used = (double)row.sounds / 10,
                                      .symbol_count = row.symbol_count,
                                      .symbols = mx_alloc(row.symbol_count, sizeof *row.symbols)};
        memcpy(kept->symbols, row.symbols, row.symbol_count * sizeof *row.symbols);
    }
    mx_row_reader_destroy(reader);
}

static void corpus_release(struct corpus *corpus)
{
    for (uint32_t i = 0; i < corpus->manifest.utterance_count; i++) mx_free(corpus->report.list[i].symbols);
    mx_free(corpus->report.list);
}

static struct corpus corpus_chars(void)
{
    struct corpus corpus = {.row = MX_ROW_OPTIONS_DEFAULT};
    corpus.row.tokens = MX_TOKENS_CHARS;
    return corpus;
}

static void make(const struct corpus *corpus, const char *text, struct mx_doctor_coverage *out)
{
    if (mx_doctor_coverage_compute(&corpus->report, &corpus->row, text, out) < 0)
        fail_msg("%s", mx_error_last()->message);
}

static const struct mx_doctor_unit *find(const struct mx_doctor_units *units, const char *name)
{
    for (uint32_t i = 0; i < units->count; i++)
        if (strcmp(units->items[i].name, name) == 0) return &units->items[i];
    return NULL;
}

/* ---- counting ---- */

/* Pairs across words and at pauses, marks with their sound, no stress. Spanish has no sentences of ours. */
static void test_counts(void **state)
{
    static const char *const texts[] = {"Ba ab, ba.", "Ab"};
    static const struct {
        const char *name;
        uint64_t count;
    } pairs[] = {{"# b", 2}, {"b a", 2}, {"a a", 1}, {"a b", 2}, {"b #", 2}, {"a #", 1}, {"# a", 1}};
    struct corpus corpus = corpus_chars();
    struct mx_doctor_coverage coverage;
    (void)state;
    corpus_make(&corpus, texts, 2, MX_LANGUAGE_ES);
    make(&corpus, NULL, &coverage);
    assert_int_equal(coverage.language_count, 1);
    const struct mx_doctor_language *const language = &coverage.languages[0];
    assert_int_equal(language->language, MX_LANGUAGE_ES);
    assert_int_equal(language->rows, 2);
    assert_int_equal(language->sounds, 8);
    assert_int_equal(language->reference, 0); /* nothing is known about what is missing */
    assert_false(language->grammar);
    assert_int_equal(language->single.count, 2);
    assert_int_equal(language->single.missing, 0);
    assert_int_equal(language->single.rare, 2);
    assert_int_equal(find(&language->single, "a")->count, 4);
    assert_int_equal(find(&language->single, "b")->count, 4);
    assert_int_equal(language->pair.count, sizeof pairs / sizeof pairs[0]);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct mx_doctor_unit *const unit = find(&language->pair, pairs[i].name);
        assert_non_null(unit);
        assert_int_equal(unit->count, pairs[i].count);
        assert_true(unit->expected == 0);
        assert_int_equal(unit->supply, MX_DOCTOR_RARE);
    }
    struct mx_doctor_records records;
    assert_int_equal(mx_doctor_record_choose(&coverage, 20, &records), 0);
    assert_int_equal(records.count, 0);
    mx_doctor_records_release(&records);
    mx_doctor_coverage_release(&coverage);
    corpus_release(&corpus);
}

/* Symbols as espeak-ng gives them, without espeak-ng. */
static void test_marks(void **state)
{
    static const uint32_t symbols[] = {0x2C8, 'i', 0x2D0, 't', 0x2B2, ' ', 'i', 0x303,
                                       '5',   '-', 't',   ' ', '-',   ' ', 'i'};
    static const char *const names[] = {"iː", "tʲ", "i\u03035", "t", "i"};
    static const char *const pairs[] = {"# iː", "iː tʲ", "tʲ i\u03035", "i\u03035 t", "t #", "# i", "i #"};
    struct mx_manifest manifest = {.utterance_count = 1};
    struct mx_check_row row = {.language = MX_LANGUAGE_VI,
                               .symbols = (uint32_t *)(uintptr_t)symbols,
                               .symbol_count = sizeof symbols / sizeof *symbols};
    const struct mx_check_report report = {
        .manifest = &manifest, .list = &row, .good = 1, .languages[MX_LANGUAGE_VI] = 1};
    struct mx_row_options options = MX_ROW_OPTIONS_DEFAULT;
    struct mx_doctor_coverage coverage;
    (void)state;
    if (!mx_phonemizer_available()) skip();
    assert_int_equal(mx_doctor_coverage_compute(&report, &options, NULL, &coverage), 0);
    const struct mx_doctor_language *const language = &coverage.languages[0];
    assert_int_equal(language->single.count, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_non_null(find(&language->single, names[i]));
    assert_int_equal(language->pair.count, sizeof pairs / sizeof *pairs);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) assert_non_null(find(&language->pair, pairs[i]));
    mx_doctor_coverage_release(&coverage);
}

/* ---- a text file ---- */

static const char list[] = "\xef\xbb\xbf"
                           "Uno zorro veloz.\nDos gatos negros duermen. Tres perros?\n\nuna línea sin punto\n"
                           "Son 25 casas.\n";
static const char wrapped[] = "El zorro veloz corre\npor el campo verde. Dos gatos\nnegros duermen en\nla casa. Y "
                              "nada\nmás pasa hoy.\n\nOtro párrafo sin punto\n";

static void reference_is(const char *folder, const struct corpus *corpus, const char *text, uint32_t count)
{
    char path[4096];
    struct mx_doctor_coverage coverage;
    snprintf(path, sizeof path, "%s/text.txt", folder);
    file_put_text(folder, "text.txt", text);
    make(corpus, path, &coverage);
    assert_int_equal(coverage.languages[0].reference, count);
    assert_int_equal(coverage.languages[0].from_text, count);
    mx_doctor_coverage_release(&coverage);
}

static void test_text(void **state)
{
    static const char *const texts[] = {"la casa es negra y el gato negro"};
    char *const folder = folder_make();
    char path[4096];
    struct corpus corpus = corpus_chars();
    struct mx_doctor_coverage coverage;
    struct mx_doctor_records records;
    (void)state;
    snprintf(path, sizeof path, "%s/text.txt", folder);
    corpus_make(&corpus, texts, 1, MX_LANGUAGE_ES);
    reference_is(folder, &corpus, list, 5);
    reference_is(folder, &corpus, wrapped, 4);
    reference_is(folder, &corpus, "", 0);
    reference_is(folder, &corpus, "Здесь ничего.\n", 0);
    /* Missing and rare, and what is chosen. */
    file_put_text(folder, "text.txt",
                  "Kayak, kakapo, kraken y kamala son de karate.\nLa casa es negra y el gato negro.\n"
                  "Un taxi con 20 kilos.\nLa gata es negra y es la casa negra.\nЗдесь ничего.\n");
    make(&corpus, path, &coverage);
    const struct mx_doctor_language *const language = &coverage.languages[0];
    assert_int_equal(coverage.text_foreign, 1);
    assert_int_equal(language->reference, 4);
    const struct mx_doctor_unit *const k = find(&language->single, "k");
    assert_non_null(k);
    assert_int_equal(k->supply, MX_DOCTOR_MISSING);
    assert_true(k->expected > 1);
    assert_int_equal(find(&language->single, "a")->supply, MX_DOCTOR_RARE);
    assert_ptr_equal(&language->single.items[0], k); /* the most expected of the missing ones */
    assert_int_equal(mx_doctor_record_choose(&coverage, 20, &records), 0);
    assert_int_equal(records.count, 2); /* not the row that is there, nor the one with digits */
    assert_string_equal(records.items[0].text, "Kayak, kakapo, kraken y kamala son de karate.");
    assert_false(records.items[0].own);
    assert_true(records.items[0].seconds > 3.4 && records.items[0].seconds < 3.6); /* ten sounds a second */
    assert_string_equal(records.items[0].gains[0].unit->name, "k");
    assert_int_equal(records.items[0].gains[0].times, 8);
    assert_int_equal(records.items[0].gains[0].before, 0);
    assert_string_equal(records.items[1].text, "La gata es negra y es la casa negra.");
    mx_doctor_records_release(&records);
    mx_doctor_coverage_release(&coverage);
    static char many[(MX_DOCTOR_TEXT_SENTENCES + 3) * 4 + 1];
    for (size_t i = 0; i < MX_DOCTOR_TEXT_SENTENCES + 3; i++) memcpy(many + 4 * i, "a b\n", 4);
    file_put_text(folder, "text.txt", many);
    make(&corpus, path, &coverage);
    assert_int_equal(coverage.languages[0].from_text, MX_DOCTOR_TEXT_SENTENCES);
    assert_int_equal(coverage.text_beyond, 3);
    mx_doctor_coverage_release(&coverage);
    file_put(folder, "text.txt", "caf\xe9", 4);
    assert_int_equal(mx_doctor_coverage_compute(&corpus.report, &corpus.row, path, &coverage), MX_ERR_DATA);
    assert_null(coverage.languages);
    snprintf(path, sizeof path, "%s/none.txt", folder);
    assert_int_equal(mx_doctor_coverage_compute(&corpus.report, &corpus.row, path, &coverage), MX_ERR_NOT_FOUND);
    corpus_release(&corpus);
    folder_remove(folder);
}

/* Of two languages with one script it is not known which a sentence is in, unless the script is taken for one of them. */
static void test_two_languages(void **state)
{
    static const char *const texts[] = {"la casa es negra", "la maison est noire", "дом чёрный стоит"};
    static const enum mx_language_id languages[] = {MX_LANGUAGE_ES, MX_LANGUAGE_FR, MX_LANGUAGE_RU};
    char *const folder = folder_make();
    char path[4096];
    struct corpus corpus = corpus_chars();
    struct mx_doctor_coverage coverage;
    (void)state;
    snprintf(path, sizeof path, "%s/text.txt", folder);
    file_put_text(folder, "text.txt", "Una casa.\nЧёрный кот.\n...\n");
    corpus_make(&corpus, texts, 3, MX_LANGUAGE_RU);
    for (int i = 0; i < 3; i++) corpus.report.list[i].language = languages[i];
    corpus.report.languages[MX_LANGUAGE_ES] = corpus.report.languages[MX_LANGUAGE_FR] =
        corpus.report.languages[MX_LANGUAGE_RU] = 1;
    make(&corpus, path, &coverage);
    assert_int_equal(coverage.language_count, 3);
    assert_int_equal(coverage.text_foreign, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(coverage.languages[i].language, languages[i]);
        assert_int_equal(coverage.languages[i].from_text, i == 2);
    }
    mx_doctor_coverage_release(&coverage);
    corpus_release(&corpus);
    folder_remove(folder);
}

/* Each allocation fails once: an error, and nothing is lost. */
static void test_memory(void **state)
{
    static const char *const texts[] = {"la casa es negra"};
    char *const folder = folder_make();
    char path[4096];
    struct corpus corpus = corpus_chars();
    int rc = MX_ERR_NO_MEMORY;
    (void)state;
    snprintf(path, sizeof path, "%s/text.txt", folder);
    file_put_text(folder, "text.txt", list);
    corpus_make(&corpus, texts, 1, MX_LANGUAGE_ES);
    for (uint64_t nth = 1; rc < 0; nth++) {
        struct mx_doctor_coverage coverage;
        struct mx_doctor_records records = {0};
        mx_alloc_fail_at(nth);
        rc = mx_doctor_coverage_compute(&corpus.report, &corpus.row, path, &coverage);
        if (rc == 0) rc = mx_doctor_record_choose(&coverage, 3, &records);
        mx_alloc_fail_at(0);
        assert_true(rc == 0 || rc == MX_ERR_NO_MEMORY);
        if (rc == 0) assert_int_equal(records.count, 3);
        mx_doctor_records_release(&records);
        mx_doctor_coverage_release(&coverage);
        mx_error_clear();
    }
    corpus_release(&corpus);
    folder_remove(folder);
}

/* ---- our own sentences ---- */

/* What chosen sentences give: kinds of units that the corpus lacks and they have. */
static size_t gained(const struct mx_doctor_records *records)
{
    size_t count = 0;
    for (uint32_t i = 0; i < records->count; i++)
        for (uint32_t k = 0; k < records->items[i].gain_count; k++) count += records->items[i].gains[k].before == 0;
    return count;
}

/* Chosen sentences keep what they promise, and add far more than any others. */
static void test_choice(void **state)
{
    enum { ROWS = 30, CHOSEN = 10 };
    static struct mx_sentence sentences[ROWS];
    const char *texts[ROWS];
    struct corpus corpus = corpus_chars();
    struct mx_doctor_coverage coverage, more;
    struct mx_doctor_records records, again;
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) {
        assert_int_equal(mx_sentences_get(MX_LANGUAGE_EN, 0, i, &sentences[i]), 0);
        texts[i] = sentences[i].spoken;
    }
    corpus_make(&corpus, texts, ROWS - CHOSEN, MX_LANGUAGE_EN);
    make(&corpus, NULL, &coverage);
    const struct mx_doctor_language *const language = &coverage.languages[0];
    assert_true(language->grammar);
    assert_int_equal(language->reference, MX_DOCTOR_GRAMMAR_SENTENCES);
    assert_true(language->pair.missing > 0 && language->pair.rare > 0);
    for (uint32_t i = 1; i < language->pair.count; i++)
        assert_true(language->pair.items[i - 1].supply <= language->pair.items[i].supply);
    assert_int_equal(mx_doctor_record_choose(&coverage, CHOSEN, &records), 0);
    assert_int_equal(mx_doctor_record_choose(&coverage, CHOSEN + 5, &again), 0);
    assert_int_equal(records.count, CHOSEN);
    for (uint32_t i = 0; i < CHOSEN; i++) {
        const struct mx_doctor_record *const one = &records.items[i];
        assert_string_equal(one->text, again.items[i].text);
        assert_true(one->own && one->gain_count > 0);
        assert_true(one->seconds >= MX_DOCTOR_RECORD_SECONDS_MIN && one->seconds <= MX_DOCTOR_RECORD_SECONDS_MAX);
        for (uint32_t k = 0; k < ROWS - CHOSEN; k++) assert_string_not_equal(one->text, texts[k]);
        texts[ROWS - CHOSEN + i] = one->text;
    }
    corpus_release(&corpus);
    /* When they are recorded, as many kinds are no longer missing as was promised. */
    corpus_make(&corpus, texts, ROWS, MX_LANGUAGE_EN);
    make(&corpus, NULL, &more);
    const uint32_t before = language->single.missing + language->pair.missing;
    const uint32_t after = more.languages[0].single.missing + more.languages[0].pair.missing;
    assert_int_equal(before - after, gained(&records));
    corpus_release(&corpus);
    for (uint32_t i = ROWS - CHOSEN; i < ROWS; i++) texts[i] = sentences[i].spoken;
    mx_doctor_coverage_release(&more);
    corpus_make(&corpus, texts, ROWS, MX_LANGUAGE_EN); /* any ten others */
    make(&corpus, NULL, &more);
    const uint32_t any = more.languages[0].single.missing + more.languages[0].pair.missing;
    assert_true(before - after > 2 * (before - any));
    mx_doctor_records_release(&records);
    mx_doctor_records_release(&again);
    mx_doctor_coverage_release(&more);
    mx_doctor_coverage_release(&coverage);
    corpus_release(&corpus);
}

/* British English is read with the sentences of English; a few rows of another language are no language. */
static void test_languages(void **state)
{
    enum { ROWS = 201 };
    static const char *const text[] = {"the same words again and again"};
    const char *texts[ROWS];
    struct corpus corpus = corpus_chars();
    struct mx_doctor_coverage coverage;
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) texts[i] = text[0];
    corpus_make(&corpus, texts, ROWS, MX_LANGUAGE_EN_GB);
    corpus.report.languages[MX_LANGUAGE_EN_GB]--;
    corpus.report.languages[MX_LANGUAGE_DE]++;
    corpus.report.list[0].language = MX_LANGUAGE_DE;
    make(&corpus, NULL, &coverage);
    assert_int_equal(coverage.language_count, 1);
    assert_int_equal(coverage.languages[0].rows, ROWS - 1);
    assert_true(coverage.languages[0].grammar);
    assert_int_equal(find(&coverage.languages[0].single, "z")->supply, MX_DOCTOR_MISSING);
    assert_int_equal(find(&coverage.languages[0].single, "a")->supply, MX_DOCTOR_ENOUGH);
    /* There are 200 of "w" followed by "o", so it is enough; "t" is there 200 times, too, but far below its share. */
    assert_int_equal(find(&coverage.languages[0].pair, "w o")->supply, MX_DOCTOR_ENOUGH);
    assert_int_equal(find(&coverage.languages[0].single, "t")->count, ROWS - 1);
    assert_int_equal(find(&coverage.languages[0].single, "t")->supply, MX_DOCTOR_ENOUGH);
    mx_doctor_coverage_release(&coverage);
    corpus_release(&corpus);
}

/* The phonemes of English and Persian: each of the grammar's own sentences is read, and what is missing is named. */
static void test_phonemes(void **state)
{
    static const char *const english[] = {"The cat sat on the mat, and the dog ran to the barn."};
    static const char *const persian[] = {"سلام، حال شما خوب است؟"};
    struct mx_doctor_coverage coverage;
    struct mx_doctor_records records;
    (void)state;
    if (!mx_phonemizer_available()) skip();
    for (int i = 0; i < 2; i++) {
        struct corpus corpus = {.row = MX_ROW_OPTIONS_DEFAULT};
        corpus_make(&corpus, i == 0 ? english : persian, 1, i == 0 ? MX_LANGUAGE_EN : MX_LANGUAGE_FA);
        make(&corpus, NULL, &coverage);
        const struct mx_doctor_language *const language = &coverage.languages[0];
        assert_true(language->reference > MX_DOCTOR_GRAMMAR_SENTENCES * 9 / 10);
        const struct mx_doctor_unit *const unit = find(&language->single, "ʒ");
        assert_non_null(unit);
        assert_int_equal(unit->supply, MX_DOCTOR_MISSING);
        assert_int_equal(mx_doctor_record_choose(&coverage, 3, &records), 0);
        assert_int_equal(records.count, 3);
        mx_doctor_records_release(&records);
        mx_doctor_coverage_release(&coverage);
        corpus_release(&corpus);
    }
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),        cmocka_unit_test(test_marks),    cmocka_unit_test(test_text),
        cmocka_unit_test(test_two_languages), cmocka_unit_test(test_memory),   cmocka_unit_test(test_choice),
        cmocka_unit_test(test_languages),     cmocka_unit_test(test_phonemes),
    };
    return cmocka_run_group_tests_name("doctor_coverage", tests, NULL, NULL);
}
