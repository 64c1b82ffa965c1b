/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Choosing sentences to record; see record.h.
 *
 * What a sentence adds only becomes less while others are chosen, so its worth from before is a bound: the sentence with
 * the highest bound is evaluated again, and if it is still the best, it is chosen. That is the same choice as looking at
 * all of them each time.
 */
#include "doctor/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "doctor/coverage_internal.h"
#include "myxtts/error.h"

#define SOUND_WEIGHT  4.0
#define OVERHEAD      4.0  /* seconds that a recording takes in addition to the speech */
#define SECONDS_LIMIT 15.0 /* longer ones are hard to read in one go */
#define LENGTH_WEIGHT 0.25 /* outside of the wanted lengths */

/* A sentence with an upper bound of its worth. */
struct bid {
    double worth;
    uint32_t sentence;
};

struct choice {
    const struct mx_doctor_language *language;
    const struct mx_doctor_sentences *set;
    uint64_t *counts; /* [units] of corpus and chosen sentences */
    uint64_t *needs;  /* [units]: how many are enough; 0: not needed */
    struct bid *heap; /* the best on top */
    uint32_t bids;
};

static const struct mx_doctor_unit *unit_of(const struct choice *choice, uint32_t unit)
{
    const struct mx_doctor_tally *const tally = &choice->set->tallies[unit];
    return &(tally->pair ? choice->language->pair.items : choice->language->single.items)[tally->place];
}

/* ---- worth ---- */

static double seconds_of(const struct choice *choice, const struct mx_doctor_sentence *sentence)
{
    return sentence->sounds / choice->language->sound_rate;
}

static double worth_of(const struct choice *choice, const struct mx_doctor_sentence *sentence)
{
    const double seconds = seconds_of(choice, sentence);
    double sum = 0;
    if (seconds > SECONDS_LIMIT) return 0;
    for (uint32_t i = 0; i < sentence->use_count; i++) {
        const struct mx_doctor_use *const use = &sentence->uses[i];
        const struct mx_doctor_tally *const tally = &choice->set->tallies[use->unit];
        const double weight = sqrt((double)tally->reference) * (tally->pair ? 1 : SOUND_WEIGHT);
        uint64_t count = choice->counts[use->unit];
        for (uint32_t k = 0; k < use->times && count < choice->needs[use->unit]; k++) sum += weight / (double)++count;
    }
    const bool usual = seconds >= MX_DOCTOR_RECORD_SECONDS_MIN && seconds <= MX_DOCTOR_RECORD_SECONDS_MAX;
    return sum / (seconds + OVERHEAD) * (usual ? 1 : LENGTH_WEIGHT);
}

/* ---- the heap ---- */

static bool bid_better(const struct bid *a, const struct bid *b)
{
    return a->worth > b->worth || (a->worth == b->worth && a->sentence < b->sentence);
}

static void heap_sink(struct choice *choice, uint32_t at)
{
    for (;;) {
        uint32_t best = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < choice->bids; child++)
            if (bid_better(&choice->heap[child], &choice->heap[best])) best = child;
        if (best == at) return;
        const struct bid moved = choice->heap[at];
        choice->heap[at] = choice->heap[best];
        choice->heap[best] = moved;
        at = best;
    }
}

static void heap_pop(struct choice *choice)
{
    choice->heap[0] = choice->heap[--choice->bids];
    heap_sink(choice, 0);
}

/* Candidates that the corpus does not have, the first of those with the same words. */
static int heap_build(struct choice *choice)
{
    int rc = 0;
    uint32_t number;
    struct mx_doctor_map seen = {0};
    for (uint32_t i = 0; i < choice->set->count; i++) {
        const struct mx_doctor_sentence *const sentence = &choice->set->items[i];
        const uint32_t before = seen.count;
        if (!sentence->candidate || mx_doctor_map_has(&choice->set->prints, sentence->print)) continue;
        MX_TRY(mx_doctor_map_number(&seen, sentence->print, &number));
        if (seen.count == before) continue;
        choice->heap[choice->bids++] = (struct bid){worth_of(choice, sentence), i};
    }
    for (uint32_t i = choice->bids / 2; i-- > 0;) heap_sink(choice, i);
out:
    mx_free(seen.entries);
    return rc;
}

/* Pops the best sentence from the heap; NULL: none adds anything. */
static const struct mx_doctor_sentence *heap_best(struct choice *choice)
{
    while (choice->bids > 0) {
        struct bid *const top = &choice->heap[0];
        const struct mx_doctor_sentence *const sentence = &choice->set->items[top->sentence];
        const struct bid now = {worth_of(choice, sentence), top->sentence};
        if (now.worth <= 0) {
            heap_pop(choice);
        } else if (now.worth < top->worth) {
            *top = now;
            heap_sink(choice, 0);
        } else {
            heap_pop(choice);
            return sentence;
        }
    }
    return NULL;
}

/* ---- what a sentence adds ---- */

static int gain_compare(const void *left, const void *right)
{
    const struct mx_doctor_gain *const a = left, *const b = right;
    if (a->pair != b->pair) return a->pair ? 1 : -1;
    if (a->before != b->before) return a->before < b->before ? -1 : 1;
    if (a->unit->expected != b->unit->expected) return a->unit->expected > b->unit->expected ? -1 : 1;
    return strcmp(a->unit->name, b->unit->name);
}

static int record_build(struct choice *choice, const struct mx_doctor_sentence *sentence, struct mx_doctor_record *out)
{
    int rc = 0;
    *out = (struct mx_doctor_record){.language = choice->language->language,
                                     .seconds = seconds_of(choice, sentence),
                                     .own = sentence->own,
                                     .text = mx_strdup(sentence->text),
                                     .gains = mx_alloc(sentence->use_count, sizeof *out->gains)};
    if (out->text == NULL || out->gains == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < sentence->use_count; i++) {
        const struct mx_doctor_use *const use = &sentence->uses[i];
        const uint64_t before = choice->counts[use->unit];
        choice->counts[use->unit] += use->times;
        if (before >= choice->needs[use->unit]) continue;
        out->gains[out->gain_count++] = (struct mx_doctor_gain){.unit = unit_of(choice, use->unit),
                                                                .pair = choice->set->tallies[use->unit].pair,
                                                                .times = use->times,
                                                                .before = before};
    }
    qsort(out->gains, out->gain_count, sizeof *out->gains, gain_compare);
out:
    return rc;
}

/* ---- the whole ---- */

static int choice_start(struct choice *choice)
{
    int rc = 0;
    const struct mx_doctor_sentences *const set = choice->set;
    choice->counts = mx_alloc(set->units.count, sizeof *choice->counts);
    choice->needs = mx_alloc(set->units.count, sizeof *choice->needs);
    choice->heap = mx_alloc(set->count, sizeof *choice->heap);
    if (choice->counts == NULL || choice->needs == NULL || choice->heap == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < set->units.count; i++) {
        const struct mx_doctor_unit *const unit = unit_of(choice, i);
        const uint64_t enough = set->tallies[i].pair ? MX_DOCTOR_PAIR_ENOUGH : MX_DOCTOR_SOUND_ENOUGH;
        const uint64_t share = (uint64_t)ceil(MX_DOCTOR_SHARE_LOW * unit->expected);
        choice->counts[i] = unit->count;
        if (unit->supply == MX_DOCTOR_MISSING || unit->supply == MX_DOCTOR_RARE)
            choice->needs[i] = enough > share ? enough : share;
    }
    MX_TRY(heap_build(choice));
out:
    return rc;
}

static int language_choose(const struct mx_doctor_language *language, uint32_t count, struct mx_doctor_records *out)
{
    int rc = 0;
    struct choice choice = {.language = language, .set = language->sentences};
    MX_TRY(choice_start(&choice));
    for (uint32_t i = 0; i < count; i++) {
        const struct mx_doctor_sentence *const sentence = heap_best(&choice);
        if (sentence == NULL) break;
        MX_TRY(record_build(&choice, sentence, &out->items[out->count++]));
    }
out:
    mx_free(choice.counts);
    mx_free(choice.needs);
    mx_free(choice.heap);
    return rc;
}

int mx_doctor_record_choose(const struct mx_doctor_coverage *coverage, uint32_t count, struct mx_doctor_records *out)
{
    int rc = 0;
    size_t most = 0;
    *out = (struct mx_doctor_records){0};
    for (uint32_t i = 0; i < coverage->language_count; i++) {
        const uint32_t there = coverage->languages[i].sentences->count;
        most += there < count ? there : count;
    }
    out->items = mx_alloc(most, sizeof *out->items);
    if (out->items == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < coverage->language_count; i++)
        MX_TRY(language_choose(&coverage->languages[i], count, out));
out:
    if (rc < 0) mx_doctor_records_release(out);
    return rc;
}

void mx_doctor_records_release(struct mx_doctor_records *records)
{
    for (uint32_t i = 0; i < records->count; i++) {
        mx_free(records->items[i].text);
        mx_free(records->items[i].gains);
    }
    mx_free(records->items);
    *records = (struct mx_doctor_records){0};
}
