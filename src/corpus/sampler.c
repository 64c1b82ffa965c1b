/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of training, see sampler.h.
 *
 * The table of an epoch is `items`, in the order (step, rank), with the bounds of each batch in `bounds`, so that batch
 * (step, rank) is items[bounds[step * world + rank] … bounds[step * world + rank + 1]). First the sorted utterances are
 * cut into steps (`cuts`); then the steps are placed in shuffled order. With `whole` the table is that of a single
 * rank, and a rank's run of a step is computed on request.
 */
#include "corpus/sampler.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"

/* Streams of the generator: the upper half is the use, the lower half is the epoch. */
#define STREAM_LENGTHS (UINT64_C(0x53414D50) << 32)
#define STREAM_STEPS   (UINT64_C(0x53414D51) << 32)
#define STREAM_DEAL    (UINT64_C(0x53414D52) << 32)
#define STREAM_COPIES  (UINT64_C(0x53414D53) << 32)
#define STREAM_OFFSET  (UINT64_C(0x53414D54) << 32)

/* Lengths vary by a factor of 0.9 … 1.1, in units of 2^-20. */
#define SPREAD_LEAST UINT64_C(943718)
#define SPREAD_RANGE UINT64_C(209716)

/* Sorted by `key`; equal ones, which equal lengths with equal factors can give, by a second random number. */
struct ticket {
    uint64_t key;
    uint32_t tie;
    uint32_t item; /* position in the caller's list */
};

struct mx_sampler {
    struct mx_sampler_options options;
    uint32_t count, epoch, steps;
    uint32_t *names, *frames;         /* as the caller gave them */
    struct ticket *tickets, *scratch; /* the sort needs both */
    uint32_t *cuts;                   /* of the sorted order: step s is cuts[s] … cuts[s + 1] */
    uint32_t *shuffle;                /* step number → number of the cut */
    uint32_t *items, *bounds;         /* the table, see above */
    uint64_t *sums;                   /* frames of each batch; while cutting, of each rank */
    uint64_t *step_sums;              /* frames of each step */
    double *times;                    /* [count]; NULL: every utterance once */
    uint32_t *places; /* [count], with `times`: the utterances in the order in which copies are counted */
    uint64_t *ahead;  /* [count + 1], with `whole`: frames of all items before this one in the table */
};

/* Ranks that the table has batches for. */
static uint32_t world_of(const struct mx_sampler *sampler)
{
    return sampler->options.whole ? 1 : sampler->options.world;
}

static bool before(const struct ticket *a, const struct ticket *b)
{
    if (a->key != b->key) return a->key < b->key;
    return a->tie != b->tie ? a->tie < b->tie : a->item < b->item;
}

/* Merge sort from the bottom up; not qsort, which takes memory. The result is in sampler->tickets. */
static void tickets_sort(struct mx_sampler *sampler)
{
    const size_t count = sampler->count;
    for (size_t width = 1; width < count; width *= 2) {
        const struct ticket *const from = sampler->tickets;
        struct ticket *const to = sampler->scratch;
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            const size_t middle = begin + width < count ? begin + width : count;
            const size_t end = middle + width < count ? middle + width : count;
            size_t left = begin, right = middle;
            for (size_t at = begin; at < end; at++) {
                const bool take_left = left < middle && (right == end || !before(&from[right], &from[left]));
                to[at] = take_left ? from[left++] : from[right++];
            }
        }
        sampler->scratch = sampler->tickets;
        sampler->tickets = to;
    }
}

/* The ticket with this number goes to an utterance. */
static void ticket_assign(struct mx_sampler *sampler, uint32_t ticket, uint32_t item)
{
    uint32_t random[4];
    mx_philox(sampler->options.seed, STREAM_LENGTHS | sampler->epoch, ticket, random);
    const uint64_t factor = SPREAD_LEAST + ((uint64_t)random[0] * SPREAD_RANGE >> 32);
    sampler->tickets[ticket] = (struct ticket){.key = sampler->frames[item] * factor, .tie = random[1], .item = item};
}

/* By `times`: the utterances stand in random order on a line, each as long as its number of times. `count` marks at a
 * distance of 1, from a random beginning on, hit each of them once more or once less than its length says. */
static void copies_draw(struct mx_sampler *sampler)
{
    const uint64_t seed = sampler->options.seed;
    uint32_t random[4], ticket = 0;
    double end = 0;
    for (uint32_t i = 0; i < sampler->count; i++) sampler->places[i] = i;
    mx_rng_shuffle_u32(seed, STREAM_COPIES | sampler->epoch, sampler->places, sampler->count);
    mx_philox(seed, STREAM_OFFSET | sampler->epoch, 0, random);
    const double first = random[0] * 0x1p-32;
    for (uint32_t i = 0; i < sampler->count; i++) {
        end += sampler->times[sampler->places[i]];
        /* The sum may miss `count` by its rounding: the last one that is drawn at all takes what is left. */
        while (ticket < sampler->count && ticket + first < end) ticket_assign(sampler, ticket++, sampler->places[i]);
    }
    const uint32_t last = ticket > 0 ? sampler->tickets[ticket - 1].item : sampler->places[0];
    while (ticket < sampler->count) ticket_assign(sampler, ticket++, last);
}

static void tickets_draw(struct mx_sampler *sampler)
{
    if (sampler->times != NULL)
        copies_draw(sampler);
    else
        for (uint32_t i = 0; i < sampler->count; i++) ticket_assign(sampler, i, i);
    tickets_sort(sampler);
}

/* Which of `world` ranks gets item number `card` of a deal back and forth: 0, 1, 2, 2, 1, 0, 0, 1, 2 … */
static uint32_t deal(uint32_t card, uint32_t world)
{
    const uint32_t round = card / world, place = card % world;
    return round % 2 == 0 ? place : world - 1 - place;
}

/* Steps of equal size. */
static void cut_evenly(struct mx_sampler *sampler)
{
    const uint64_t most = (uint64_t)sampler->options.batch_size * world_of(sampler), count = sampler->count;
    const uint64_t steps = (count + most - 1) / most;
    for (uint64_t step = 0; step <= steps; step++) sampler->cuts[step] = (uint32_t)(count * step / steps);
    sampler->steps = (uint32_t)steps;
}

/* Steps as long as the limits allow. A step ends when the next utterance does not fit into the batch that it would be
 * dealt to; every step but the last has one for each rank at least, even if that alone is more than the budget. */
static void cut_by_budget(struct mx_sampler *sampler, uint64_t budget)
{
    const uint32_t world = world_of(sampler), size = sampler->options.batch_size;
    uint32_t step = 0, card = 0;
    for (uint32_t i = 0; i < sampler->count; i++) {
        const uint64_t frames = sampler->frames[sampler->tickets[i].item];
        uint32_t hand = deal(card, world);
        const bool begins =
            i == 0 || (size > 0 && card / world >= size) || (card >= world && sampler->sums[hand] + frames > budget);
        if (begins) {
            sampler->cuts[step++] = i;
            card = 0;
            hand = 0;
        }
        sampler->sums[hand] = frames + (card < world ? 0 : sampler->sums[hand]);
        card++;
    }
    sampler->cuts[step] = sampler->count;
    /* The last step takes what it lacks from the one before, if that can spare it. */
    if (step >= 2 && card < world && sampler->count - sampler->cuts[step - 2] >= 2 * world)
        sampler->cuts[step - 1] = sampler->count - world;
    sampler->steps = step;
}

/* Cuts with the smallest budget that gives at most `steps` steps, and returns it; `budget` must be enough for that. A
 * larger budget never gives more steps, so halving finds it. */
static uint64_t cut_least(struct mx_sampler *sampler, uint32_t steps, uint64_t budget)
{
    uint64_t least = 1;
    while (least < budget) {
        const uint64_t middle = least + (budget - least) / 2;
        cut_by_budget(sampler, middle);
        if (sampler->steps <= steps)
            budget = middle;
        else
            least = middle + 1;
    }
    cut_by_budget(sampler, budget);
    return budget;
}

void mx_sampler_select(struct mx_sampler *sampler, uint32_t epoch)
{
    const uint32_t world = world_of(sampler);
    const uint64_t seed = sampler->options.seed;
    size_t used = 0, batch = 0;
    sampler->epoch = epoch;
    tickets_draw(sampler);
    if (sampler->options.frame_budget > 0)
        cut_by_budget(sampler, sampler->options.frame_budget);
    else
        cut_evenly(sampler);
    if (sampler->options.even) (void)cut_least(sampler, sampler->steps, sampler->options.frame_budget);
    for (uint32_t step = 0; step < sampler->steps; step++) sampler->shuffle[step] = step;
    mx_rng_shuffle_u32(seed, STREAM_STEPS | epoch, sampler->shuffle, sampler->steps);
    for (uint32_t step = 0; step < sampler->steps; step++) {
        const uint32_t cut = sampler->shuffle[step];
        const struct ticket *const cards = sampler->tickets + sampler->cuts[cut];
        const uint32_t count = sampler->cuts[cut + 1] - sampler->cuts[cut];
        /* The first hand has the shortest utterances and, if one is left over, one more: it is another rank each time.
         */
        const uint32_t turn = (uint32_t)mx_rng_below(seed, STREAM_DEAL | epoch, step, world);
        sampler->step_sums[step] = 0;
        for (uint32_t rank = 0; rank < world; rank++, batch++) {
            const uint32_t hand = rank >= turn ? rank - turn : rank + world - turn;
            sampler->bounds[batch] = (uint32_t)used;
            sampler->sums[batch] = 0;
            for (uint64_t round = 0; round * world < count; round++) {
                const uint64_t card = round * world + (round % 2 == 0 ? hand : world - 1 - hand);
                if (card >= count) break;
                const uint32_t item = cards[card].item;
                sampler->sums[batch] += sampler->frames[item];
                sampler->items[used++] = sampler->names[item];
                if (sampler->ahead != NULL) sampler->ahead[used] = sampler->ahead[used - 1] + sampler->frames[item];
            }
            sampler->step_sums[step] += sampler->sums[batch];
        }
    }
    sampler->bounds[batch] = (uint32_t)used;
}

static int options_check(const struct mx_sampler_options *options, const uint32_t *items, const uint32_t *frames,
                         uint32_t count)
{
    if (count == 0 || count > MX_SAMPLER_COUNT_MAX)
        return MX_FAIL(MX_ERR_ARGUMENT, "check that the corpus has usable rows: 'myxtts check'",
                       "cannot make batches of %u utterances", count);
    if (options->world == 0 || options->world > MX_SAMPLER_WORLD_MAX || options->rank >= options->world)
        return MX_FAIL(MX_ERR_ARGUMENT, "ranks are numbered from 0", "rank %u of %u does not exist", options->rank,
                       options->world);
    if (options->batch_size == 0 && options->frame_budget == 0)
        return MX_FAIL(MX_ERR_ARGUMENT, "give a batch size or a frame budget", "a batch has no limit");
    if (options->even && (options->frame_budget == 0 || (options->world > 1 && !options->whole)))
        return MX_FAIL(MX_ERR_ARGUMENT, "give a frame budget, and set 'whole'",
                       "even steps need a frame budget of all ranks together");
    double times = 0;
    for (uint32_t i = 0; options->times != NULL && i < count; i++) {
        if (!(options->times[i] >= 0))
            return MX_FAIL(MX_ERR_ARGUMENT, "use mx_balance_times", "utterance %u cannot be drawn %g times", items[i],
                           options->times[i]);
        times += options->times[i];
    }
    if (options->times != NULL && !(fabs(times - count) <= 1e-6 * count))
        return MX_FAIL(MX_ERR_ARGUMENT, "use mx_balance_times", "%u utterances cannot be drawn %g times in all", count,
                       times);
    for (uint32_t i = 0; options->frame_budget > 0 && !options->even && i < count; i++)
        if (frames[i] > options->frame_budget)
            return MX_FAIL(MX_ERR_DATA, "raise the frame budget, or lower the longest duration of the corpus",
                           "utterance %u has %u frames, more than the %llu of a batch", items[i], frames[i],
                           (unsigned long long)options->frame_budget);
    return 0;
}

int mx_sampler_create(const struct mx_sampler_options *options, const uint32_t *items, const uint32_t *frames,
                      uint32_t count, struct mx_sampler **out)
{
    int rc = 0;
    struct mx_sampler *sampler = NULL;
    *out = NULL;
    MX_TRY(options_check(options, items, frames, count));
    sampler = mx_alloc(1, sizeof *sampler);
    if (sampler == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    sampler->options = *options;
    sampler->count = count;
    /* Every step but the last has at least one utterance a rank (see cut_by_budget), so this many batches are enough.
     */
    const size_t steps = (size_t)count / world_of(sampler) + 1, batches = steps * world_of(sampler);
    sampler->names = mx_alloc(count, sizeof *sampler->names);
    sampler->frames = mx_alloc(count, sizeof *sampler->frames);
    sampler->tickets = mx_alloc(count, sizeof *sampler->tickets);
    sampler->scratch = mx_alloc(count, sizeof *sampler->scratch);
    sampler->cuts = mx_alloc(steps + 1, sizeof *sampler->cuts);
    sampler->shuffle = mx_alloc(steps, sizeof *sampler->shuffle);
    sampler->items = mx_alloc(count, sizeof *sampler->items);
    sampler->bounds = mx_alloc(batches + 1, sizeof *sampler->bounds);
    sampler->sums = mx_alloc(batches, sizeof *sampler->sums);
    sampler->step_sums = mx_alloc(steps, sizeof *sampler->step_sums);
    if (options->times != NULL) {
        sampler->times = mx_alloc(count, sizeof *sampler->times);
        sampler->places = mx_alloc(count, sizeof *sampler->places);
        if (sampler->times == NULL || sampler->places == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        memcpy(sampler->times, options->times, count * sizeof *sampler->times);
    }
    if (options->whole) sampler->ahead = mx_alloc((size_t)count + 1, sizeof *sampler->ahead);
    if (sampler->names == NULL || sampler->frames == NULL || sampler->tickets == NULL || sampler->scratch == NULL ||
        sampler->cuts == NULL || sampler->shuffle == NULL || sampler->items == NULL || sampler->bounds == NULL ||
        sampler->sums == NULL || sampler->step_sums == NULL || (options->whole && sampler->ahead == NULL))
        MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < count; i++) {
        sampler->names[i] = items[i];
        sampler->frames[i] = frames[i];
    }
    mx_sampler_select(sampler, 0);
    *out = sampler;
    sampler = NULL;
out:
    mx_sampler_destroy(sampler);
    return rc;
}

int mx_sampler_budget(const struct mx_sampler_options *options, const uint32_t *frames, uint32_t count, uint32_t steps,
                      uint64_t *budget)
{
    int rc = 0;
    struct mx_sampler *sampler = NULL;
    struct mx_sampler_options all = *options;
    all.frame_budget = 1;
    for (uint32_t i = 0; i < count; i++) all.frame_budget += frames[i];
    /* Copies of a drawn utterance are more than one of each: no epoch has more than `count` of the longest. */
    for (uint32_t i = 0; options->times != NULL && i < count; i++)
        if ((uint64_t)frames[i] * count > all.frame_budget) all.frame_budget = (uint64_t)frames[i] * count;
    MX_TRY(mx_sampler_create(&all, frames, frames, count, &sampler)); /* the names do not matter */
    if (sampler->steps > steps)
        MX_RAISE(MX_ERR_ARGUMENT, "allow more utterances in a batch",
                 "%u utterances with at most %u in a batch do not fit into %u steps", count, options->batch_size,
                 steps);
    *budget = cut_least(sampler, steps, all.frame_budget);
out:
    mx_sampler_destroy(sampler);
    return rc;
}

void mx_sampler_destroy(struct mx_sampler *sampler)
{
    if (sampler == NULL) return;
    mx_free(sampler->names);
    mx_free(sampler->frames);
    mx_free(sampler->tickets);
    mx_free(sampler->scratch);
    mx_free(sampler->cuts);
    mx_free(sampler->shuffle);
    mx_free(sampler->items);
    mx_free(sampler->bounds);
    mx_free(sampler->sums);
    mx_free(sampler->step_sums);
    mx_free(sampler->times);
    mx_free(sampler->places);
    mx_free(sampler->ahead);
    mx_free(sampler);
}

uint32_t mx_sampler_epoch(const struct mx_sampler *sampler)
{
    return sampler->epoch;
}

uint32_t mx_sampler_steps(const struct mx_sampler *sampler)
{
    return sampler->steps;
}

struct mx_sampler_batch mx_sampler_get(const struct mx_sampler *sampler, uint32_t step)
{
    const uint32_t world = sampler->options.world, rank = sampler->options.rank;
    if (sampler->options.whole) {
        const uint32_t begin = sampler->bounds[step], count = sampler->bounds[step + 1] - begin;
        const uint32_t from = begin + (uint32_t)((uint64_t)count * rank / world);
        const uint32_t to = begin + (uint32_t)((uint64_t)count * (rank + 1) / world);
        return (struct mx_sampler_batch){.items = sampler->items + from,
                                         .count = to - from,
                                         .step_count = count,
                                         .frames = sampler->ahead[to] - sampler->ahead[from],
                                         .step_frames = sampler->step_sums[step]};
    }
    const size_t first = (size_t)step * world, own = first + rank;
    return (struct mx_sampler_batch){.items = sampler->items + sampler->bounds[own],
                                     .count = sampler->bounds[own + 1] - sampler->bounds[own],
                                     .step_count = sampler->bounds[first + world] - sampler->bounds[first],
                                     .frames = sampler->sums[own],
                                     .step_frames = sampler->step_sums[step]};
}
