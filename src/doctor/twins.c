/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Twins among the rows; see twins.h.
 *
 * Fingerprints are compared by their correlation. So that not every row is compared with every other, each fingerprint
 * gets a few keys: the signs of its products with random vectors of +1 and -1. Fingerprints that correlate well have most
 * signs in common and share at least one key almost always; others rarely do. Only rows that are no twin of an earlier one
 * are kept under their keys, so any number of copies costs one comparison each; and of the rows under one key only a
 * limited number is compared, so that the time never grows with the square of the rows.
 */
#include "doctor/twins.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"

#define SIZE          MX_DOCTOR_PRINT_SIZE
#define KEYS          24
#define BITS_LEAST    8
#define BITS_MOST     20
#define LOOKS         64   /* rows under one key */
#define ALIKE         0.95 /* correlation */
#define LENGTH_SHARE  0.04 /* by which the lengths may differ */
#define LENGTH_MORE   0.03 /* seconds by which they may differ in addition */
#define SECONDS_LEAST 0.3  /* shorter sounds resemble each other */
#define TEXTS_LEAST   2    /* other rows with the same text */
#define NONE          UINT32_MAX

/* ---- keys ---- */

/* Rows by key: chains from the row that was added last. */
struct twins {
    const struct mx_check_report *report;
    const struct mx_doctor_sound *sounds;
    int bits;
    int8_t (*signs)[SIZE]; /* [KEYS · bits] */
    uint32_t *heads;       /* [KEYS, 2^bits] */
    uint32_t *next;        /* [rows, KEYS] */
    uint32_t *seen;        /* [rows]: the row, plus one, that was last compared with it */
    float *norms;          /* [rows] */
};

static void twins_close(struct twins *t)
{
    mx_free(t->signs);
    mx_free(t->heads);
    mx_free(t->next);
    mx_free(t->seen);
    mx_free(t->norms);
}

static int twins_open(struct twins *t)
{
    const uint32_t rows = t->report->manifest->utterance_count;
    t->bits = BITS_LEAST;
    while (t->bits < BITS_MOST && (1u << t->bits) < rows) t->bits++;
    const size_t heads = (size_t)KEYS << t->bits;
    t->signs = mx_alloc((size_t)(KEYS * t->bits), sizeof *t->signs);
    t->heads = mx_alloc(heads, sizeof *t->heads);
    t->next = mx_alloc((size_t)rows * KEYS, sizeof *t->next);
    t->seen = mx_alloc(rows, sizeof *t->seen);
    t->norms = mx_alloc(rows, sizeof *t->norms);
    if (t->signs == NULL || t->heads == NULL || t->next == NULL || t->seen == NULL || t->norms == NULL)
        return MX_ERR_NO_MEMORY;
    memset(t->heads, 0xff, heads * sizeof *t->heads);
    for (int i = 0; i < KEYS * t->bits; i++)
        for (uint32_t k = 0; k < SIZE; k++) t->signs[i][k] = mx_rng_u32(1, (uint64_t)i, k / 32) >> k % 32 & 1 ? 1 : -1;
    return 0;
}

static int32_t product(const int8_t *a, const int8_t *b)
{
    int32_t sum = 0;
    for (size_t k = 0; k < SIZE; k++) sum += a[k] * b[k];
    return sum;
}

static uint32_t *head_of(const struct twins *t, const int8_t *print, int key)
{
    uint32_t code = 0;
    for (int i = 0; i < t->bits; i++) code = code << 1 | (product(print, t->signs[key * t->bits + i]) > 0);
    return &t->heads[((size_t)key << t->bits) + code];
}

/* ---- sounds ---- */

static double alike(const struct twins *t, uint32_t a, uint32_t b)
{
    const struct mx_doctor_sound *const x = &t->sounds[a], *const y = &t->sounds[b];
    const double longer = fmax(x->print_seconds, y->print_seconds);
    if (fabs(x->print_seconds - y->print_seconds) > LENGTH_SHARE * longer + LENGTH_MORE) return 0;
    return product(x->print, y->print) / ((double)t->norms[a] * (double)t->norms[b]);
}

/* The earlier row that sounds most like this one, or NONE; without one, this row is kept under its keys. */
static uint32_t twin_find(struct twins *t, uint32_t row)
{
    uint32_t *heads[KEYS], best = NONE;
    double most = ALIKE;
    const int8_t *const print = t->sounds[row].print;
    for (int key = 0; key < KEYS; key++) {
        int looks = 0;
        heads[key] = head_of(t, print, key);
        for (uint32_t other = *heads[key]; other != NONE && looks < LOOKS;
             other = t->next[(size_t)other * KEYS + (size_t)key]) {
            looks++;
            if (t->seen[other] == row + 1) continue;
            t->seen[other] = row + 1;
            const double found = alike(t, row, other);
            if (found < most) continue;
            most = found;
            best = other;
        }
        if (best != NONE) return best;
    }
    for (int key = 0; key < KEYS; key++) {
        t->next[(size_t)row * KEYS + (size_t)key] = *heads[key];
        *heads[key] = row;
    }
    return NONE;
}

static bool same_text(const struct mx_check_row *a, const struct mx_check_row *b)
{
    return a->symbol_count == b->symbol_count &&
           memcmp(a->symbols, b->symbols, a->symbol_count * sizeof *a->symbols) == 0;
}

static int twin_name(const struct twins *t, uint32_t row, uint32_t other, double badness,
                     struct mx_doctor_findings *findings)
{
    return mx_doctor_findings_add(findings,
                                  &(struct mx_doctor_finding){.row = row,
                                                              .kind = MX_DOCTOR_FINDING_SAME_SOUND,
                                                              .badness = badness,
                                                              .value = alike(t, row, other),
                                                              .limit = ALIKE,
                                                              .text = t->report->manifest->utterances[other].id});
}

static int sounds_judge(struct twins *t, struct mx_doctor_findings *findings)
{
    int rc = 0;
    const struct mx_check_report *const report = t->report;
    const uint32_t rows = report->manifest->utterance_count;
    bool *const named = mx_alloc(rows, sizeof *named);
    if (named == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t row = 0; row < rows; row++) {
        t->norms[row] = sqrtf((float)product(t->sounds[row].print, t->sounds[row].print));
        if (report->list[row].reject != MX_REJECT_NONE || t->sounds[row].print_seconds < SECONDS_LEAST ||
            t->norms[row] <= 0)
            continue;
        const uint32_t other = twin_find(t, row);
        if (other == NONE) continue;
        const bool same = same_text(&report->list[row], &report->list[other]);
        MX_TRY(twin_name(t, row, other, same ? 2 : 4, findings));
        if (same || named[other]) continue;
        MX_TRY(twin_name(t, other, row, 4, findings));
        named[other] = true;
    }
out:
    mx_free(named);
    return rc;
}

/* ---- texts ---- */

/* A row with a text, for sorting. */
struct text {
    const struct mx_check_row *row;
    uint32_t speaker, number;
};

static int text_compare(const struct text *a, const struct text *b)
{
    if (a->speaker != b->speaker) return a->speaker < b->speaker ? -1 : 1;
    if (a->row->symbol_count != b->row->symbol_count) return a->row->symbol_count < b->row->symbol_count ? -1 : 1;
    return memcmp(a->row->symbols, b->row->symbols, a->row->symbol_count * sizeof *a->row->symbols);
}

static int text_order(const void *left, const void *right)
{
    const struct text *const a = left, *const b = right;
    const int order = text_compare(a, b);
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

static int texts_judge(const struct mx_check_report *report, struct mx_doctor_findings *findings)
{
    int rc = 0;
    const struct mx_manifest *const manifest = report->manifest;
    size_t count = 0;
    struct text *const texts = mx_alloc(manifest->utterance_count, sizeof *texts);
    if (texts == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < manifest->utterance_count; i++)
        if (report->list[i].reject == MX_REJECT_NONE && report->list[i].symbol_count > 0)
            texts[count++] = (struct text){&report->list[i], manifest->utterances[i].speaker, i};
    if (count > 0) qsort(texts, count, sizeof *texts, text_order);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && text_compare(&texts[begin], &texts[end]) == 0;) end++;
        const size_t others = end - begin - 1;
        for (size_t i = begin + 1; others >= TEXTS_LEAST && i < end; i++)
            MX_TRY(mx_doctor_findings_add(
                findings, &(struct mx_doctor_finding){.row = texts[i].number,
                                                      .kind = MX_DOCTOR_FINDING_SAME_TEXT,
                                                      .badness = 1 + log10((double)others / TEXTS_LEAST),
                                                      .value = (double)others,
                                                      .limit = TEXTS_LEAST,
                                                      .text = manifest->utterances[texts[begin].number].id}));
    }
out:
    mx_free(texts);
    return rc;
}

int mx_doctor_twins_judge(const struct mx_check_report *report, const struct mx_doctor_sound *sounds,
                          struct mx_doctor_findings *findings)
{
    int rc = 0;
    struct twins twins = {.report = report, .sounds = sounds};
    MX_TRY(twins_open(&twins));
    MX_TRY(sounds_judge(&twins, findings));
    MX_TRY(texts_judge(report, findings));
out:
    twins_close(&twins);
    return rc;
}
