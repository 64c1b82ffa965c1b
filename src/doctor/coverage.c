/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What of a language a corpus says, compared with a reference; see coverage.h. The symbols are counted in
 * coverage_units.c.
 */
#include "doctor/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/robust.h"
#include "base/string.h"
#include "demo/sentences.h"
#include "doctor/coverage_internal.h"
#include "myxtts/error.h"

#define USUAL_RATE     12.0 /* sounds a second of a calm reader */
#define LANGUAGE_SHARE 0.01 /* of the good rows; a few foreign sentences are not to be completed to a language */

struct work {
    struct mx_doctor_coverage *coverage;
    struct mx_row_options row;
    struct mx_row_reader *reader;
    struct mx_progress *progress;
    uint32_t text_sentences; /* of the text file, so far */
};

/* ---- the corpus ---- */

/* Counts the good rows of a language, and learns how fast they are spoken. */
static int rows_count(const struct mx_check_report *report, struct mx_doctor_language *language)
{
    int rc = 0;
    size_t known = 0;
    double *const rates = mx_alloc(language->rows, sizeof *rates);
    if (rates == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < report->manifest->utterance_count; i++) {
        const struct mx_check_row *const row = &report->list[i];
        if (row->reject != MX_REJECT_NONE || row->language != language->language) continue;
        MX_TRY(mx_doctor_sentences_count(language->sentences, row->symbols, row->symbol_count));
        if (row->sounds >= MX_RATE_SOUNDS && row->seconds_used > 0)
            rates[known++] = (double)row->sounds / row->seconds_used;
    }
    mx_robust_sort(rates, known);
    language->sound_rate = known > 0 ? mx_robust_median(rates, known) : USUAL_RATE;
    language->sounds = language->sentences->sound_total;
out:
    mx_free(rates);
    return rc;
}

static int language_compare(const void *left, const void *right)
{
    const struct mx_doctor_language *const a = left, *const b = right;
    if (a->rows != b->rows) return a->rows > b->rows ? -1 : 1;
    return (int)a->language - (int)b->language;
}

static int languages_choose(const struct mx_check_report *report, enum mx_tokens_mode mode,
                            struct mx_doctor_coverage *coverage)
{
    int rc = 0;
    coverage->languages = mx_alloc(MX_LANGUAGE_COUNT, sizeof *coverage->languages);
    if (coverage->languages == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        if (report->languages[i] == 0 || report->languages[i] < LANGUAGE_SHARE * report->good) continue;
        coverage->languages[coverage->language_count++] =
            (struct mx_doctor_language){.language = (enum mx_language_id)i, .rows = report->languages[i]};
    }
    qsort(coverage->languages, coverage->language_count, sizeof *coverage->languages, language_compare);
    for (uint32_t i = 0; i < coverage->language_count; i++) {
        MX_TRY(mx_doctor_sentences_create(mode, &coverage->languages[i].sentences));
        MX_TRY(rows_count(report, &coverage->languages[i]));
    }
out:
    return rc;
}

/* ---- the reference ---- */

/* Reads a sentence as a row of the corpus would be; one that such a row would be rejected for is left out. */
static int sentence_read(struct work *work, struct mx_doctor_language *language,
                         const struct mx_doctor_sentence *sentence)
{
    int rc = 0;
    struct mx_row row;
    const struct mx_utterance utterance = {
        .id = "", .text = sentence->text, .language = mx_language_get(language->language)->code};
    mx_progress_add(work->progress, 1);
    MX_TRY(mx_row_load_text(work->reader, &utterance, &row));
    if (row.reject != MX_REJECT_NONE) goto out;
    MX_TRY(mx_doctor_sentences_add(language->sentences, sentence, row.symbols, row.symbol_count));
    language->reference++;
    if (sentence->own)
        language->grammar = true;
    else
        language->from_text++;
out:
    return rc;
}

/* The language whose sentences a language can be read with: itself, or the same in another country. */
static enum mx_language_id grammar_of(enum mx_language_id language)
{
    const struct mx_language_rules *const rules = mx_language_get(language)->rules;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (mx_sentences_count((enum mx_language_id)i) > 0 && mx_language_get((enum mx_language_id)i)->rules == rules)
            return (enum mx_language_id)i;
    return language;
}

static uint32_t grammar_count(enum mx_language_id language)
{
    const uint32_t count = mx_sentences_count(grammar_of(language));
    return count < MX_DOCTOR_GRAMMAR_SENTENCES ? count : MX_DOCTOR_GRAMMAR_SENTENCES;
}

static int grammar_read(struct work *work, struct mx_doctor_language *language)
{
    int rc = 0;
    struct mx_sentence made;
    const uint32_t count = grammar_count(language->language);
    for (uint32_t i = 0; i < count; i++) {
        MX_TRY(mx_sentences_get(grammar_of(language->language), 0, i, &made));
        const struct mx_doctor_sentence sentence = {.text = made.spoken, .own = true, .candidate = true};
        MX_TRY(sentence_read(work, language, &sentence));
    }
out:
    return rc;
}

/* Letters of the text that the script of a language has. */
static size_t letters_of(const char *text, enum mx_language_id language)
{
    size_t count = 0;
    for (uint32_t code; *text != '\0';) {
        text += mx_utf8_decode(text, &code);
        count += mx_script_has(mx_language_get(language)->script, code);
    }
    return count;
}

/* The language of a sentence among those of the corpus, by its script; NULL: none, or it may be several. */
static struct mx_doctor_language *language_of(struct mx_doctor_coverage *coverage, const char *text)
{
    struct mx_doctor_language *best = NULL;
    enum mx_language_id detected;
    size_t most = 0;
    bool several = false;
    const bool known = mx_text_detect(text, strlen(text), &detected) == 0;
    mx_error_clear();
    for (uint32_t i = 0; i < coverage->language_count; i++) {
        struct mx_doctor_language *const one = &coverage->languages[i];
        const size_t letters = letters_of(text, one->language);
        if (known && one->language == detected) return one;
        if (letters < most || letters == 0) continue;
        several = letters == most;
        most = letters;
        best = one;
    }
    return several ? NULL : best;
}

/* Whether everybody reads a sentence alike: words of the language only, no digits, no signs. */
static bool is_plain(const char *text, enum mx_language_id language)
{
    for (uint32_t code; *text != '\0';) {
        text += mx_utf8_decode(text, &code);
        if (code < 0x80 && strchr("@#%&*_/\\[](){}|", (int)code) != NULL) return false;
        switch (utf8proc_category((utf8proc_int32_t)code)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LO:
            if (!mx_script_has(mx_language_get(language)->script, code)) return false;
            break;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO:
        case UTF8PROC_CATEGORY_SM:
        case UTF8PROC_CATEGORY_SC:
        case UTF8PROC_CATEGORY_SK:
        case UTF8PROC_CATEGORY_SO:
            return false;
        default:
            break;
        }
    }
    return true;
}

static int sentence_add(void *context, const char *text, size_t length)
{
    struct work *const work = context;
    (void)length;
    if (work->text_sentences == MX_DOCTOR_TEXT_SENTENCES) {
        work->coverage->text_beyond++;
        return 0;
    }
    work->text_sentences++;
    struct mx_doctor_language *const language = language_of(work->coverage, text);
    if (language == NULL) {
        work->coverage->text_foreign++;
        return 0;
    }
    const struct mx_doctor_sentence sentence = {.text = text, .candidate = is_plain(text, language->language)};
    return sentence_read(work, language, &sentence);
}

static int text_count(void *context, const char *text, size_t length)
{
    uint64_t *const count = context;
    (void)text;
    (void)length;
    if (*count < MX_DOCTOR_TEXT_SENTENCES) ++*count;
    return 0;
}

/* Reads the sentences of the grammars and of the text. */
static int reference_read(struct work *work, const char *text, size_t length)
{
    int rc = 0;
    uint64_t total = 0;
    struct mx_doctor_coverage *const coverage = work->coverage;
    MX_TRY(mx_doctor_text_sentences(text, length, text_count, &total));
    for (uint32_t i = 0; i < coverage->language_count; i++) total += grammar_count(coverage->languages[i].language);
    MX_TRY(mx_progress_start(
        &(struct mx_progress_options){.title = "Reading the language", .unit = "sentences", .total = total},
        &work->progress));
    for (uint32_t i = 0; i < coverage->language_count; i++) MX_TRY(grammar_read(work, &coverage->languages[i]));
    MX_TRY(mx_doctor_text_sentences(text, length, sentence_add, work));
out:
    mx_progress_finish(work->progress);
    return rc;
}

/* ---- the judgement ---- */

struct judged {
    struct mx_doctor_unit unit;
    uint32_t tally;
};

static int judged_compare(const void *left, const void *right)
{
    const struct mx_doctor_unit *const a = &((const struct judged *)left)->unit;
    const struct mx_doctor_unit *const b = &((const struct judged *)right)->unit;
    if (a->supply != b->supply) return a->supply < b->supply ? -1 : 1;
    if (a->expected != b->expected) return a->expected > b->expected ? -1 : 1;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return strcmp(a->name, b->name);
}

static enum mx_doctor_supply supply_of(const struct mx_doctor_language *language, const struct mx_doctor_tally *tally,
                                       double expected)
{
    const uint32_t least = 1 + language->reference / 1000;
    const bool known = tally->sentences >= (least < MX_DOCTOR_KNOWN ? least : MX_DOCTOR_KNOWN);
    const uint64_t enough = tally->pair ? MX_DOCTOR_PAIR_ENOUGH : MX_DOCTOR_SOUND_ENOUGH;
    if (language->reference > 0 && !known && (tally->pair || tally->count == 0)) return MX_DOCTOR_UNJUDGED;
    if (tally->count == 0) return MX_DOCTOR_MISSING;
    const bool rare = tally->count < enough || (double)tally->count < MX_DOCTOR_SHARE_LOW * expected;
    return rare ? MX_DOCTOR_RARE : MX_DOCTOR_ENOUGH;
}

/* The units of one kind, sorted, with their names. */
static int units_judge(struct mx_doctor_language *language, bool pair, struct mx_doctor_units *out)
{
    int rc = 0;
    struct mx_doctor_sentences *const set = language->sentences;
    const double total = (double)(pair ? set->pair_total : set->sound_total);
    const double reference = (double)(pair ? set->reference_pairs : set->reference_sounds);
    struct judged *const list = mx_alloc(set->units.count, sizeof *list);
    out->items = mx_alloc(set->units.count, sizeof *out->items);
    if (list == NULL || out->items == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < set->units.count; i++) {
        const struct mx_doctor_tally *const tally = &set->tallies[i];
        if (tally->pair != pair) continue;
        const char *name = set->names[tally->left];
        if (pair) {
            const size_t size = strlen(name) + strlen(set->names[tally->right]) + 2;
            char *const both = mx_arena_alloc(&set->arena, size, 1);
            if (both == NULL) MX_TRY(MX_ERR_NO_MEMORY);
            snprintf(both, size, "%s %s", name, set->names[tally->right]);
            name = both;
        }
        const double expected = reference > 0 ? total * (double)tally->reference / reference : 0;
        const enum mx_doctor_supply supply = supply_of(language, tally, expected);
        list[out->count++] = (struct judged){{name, tally->count, expected, supply}, i};
        out->missing += supply == MX_DOCTOR_MISSING;
        out->rare += supply == MX_DOCTOR_RARE;
    }
    qsort(list, out->count, sizeof *list, judged_compare);
    for (uint32_t i = 0; i < out->count; i++) {
        out->items[i] = list[i].unit;
        set->tallies[list[i].tally].place = i;
    }
out:
    mx_free(list);
    return rc;
}

/* ---- the whole ---- */

static int text_open(const char *path, char **text, size_t *length)
{
    int rc = 0;
    MX_TRY(mx_file_read(path, MX_TEXT_LIMIT_BYTES, text, length));
    rc = mx_text_check(*text, *length);
    if (rc < 0) rc = mx_error_wrap("%s", path);
out:
    return rc;
}

int mx_doctor_text_check(const char *path)
{
    char *text = NULL;
    size_t length;
    const int rc = text_open(path, &text, &length);
    mx_free(text);
    return rc;
}

int mx_doctor_coverage_compute(const struct mx_check_report *report, const struct mx_row_options *row, const char *text,
                               struct mx_doctor_coverage *out)
{
    int rc = 0;
    char *content = NULL;
    size_t length = 0;
    struct work work = {.coverage = out, .row = *row};
    *out = (struct mx_doctor_coverage){0};
    work.row.language = MX_ROW_LANGUAGE_DETECT; /* each sentence names its own */
    if (text != NULL) MX_TRY(text_open(text, &content, &length));
    const size_t mark = length >= 3 && memcmp(content, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    MX_TRY(languages_choose(report, row->tokens, out));
    MX_TRY(mx_row_reader_create(&work.row, &work.reader));
    MX_TRY(reference_read(&work, content == NULL ? "" : content + mark, length - mark));
    for (uint32_t i = 0; i < out->language_count; i++) {
        MX_TRY(units_judge(&out->languages[i], false, &out->languages[i].single));
        MX_TRY(units_judge(&out->languages[i], true, &out->languages[i].pair));
    }
out:
    mx_row_reader_destroy(work.reader);
    mx_free(content);
    if (rc < 0) mx_doctor_coverage_release(out);
    return rc;
}

void mx_doctor_coverage_release(struct mx_doctor_coverage *coverage)
{
    for (uint32_t i = 0; i < coverage->language_count; i++) {
        struct mx_doctor_language *const language = &coverage->languages[i];
        mx_free(language->single.items);
        mx_free(language->pair.items);
        mx_doctor_sentences_destroy(language->sentences);
    }
    mx_free(coverage->languages);
    *coverage = (struct mx_doctor_coverage){0};
}
