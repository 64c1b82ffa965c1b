/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sampler, by properties over many random corpora, worlds and limits: every utterance exactly once an epoch over
 * all ranks, equal steps, limits kept, batches that depend on nothing but (seed, epoch, rank, world), similar lengths
 * together, another order in every epoch.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
// clang-format on

#include "base/alloc.h"
#include "base/rng.h"
#include "corpus/balance.h"
#include "corpus/sampler.h"
#include "myxtts/error.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CASES     300
#define COUNT_MAX 700
#define WORLD_MAX 9
#define LONGEST   2000

/* A random corpus with random limits. Names are not the positions, to see that they are kept apart. */
struct setting {
    struct mx_sampler_options options; /* rank 0 */
    uint32_t count;
    uint32_t items[COUNT_MAX], frames[COUNT_MAX];
};

static uint32_t draw(uint32_t number, uint32_t index, uint32_t bound)
{
    return (uint32_t)mx_rng_below(77, number, index, bound);
}

static void setting_draw(struct setting *setting, uint32_t number)
{
    setting->count = 1 + draw(number, 0, number % 5 == 0 ? 20 : COUNT_MAX);
    setting->options = (struct mx_sampler_options){.seed = number * 31ull, .world = 1 + draw(number, 1, WORLD_MAX)};
    const uint32_t kind = draw(number, 2, 3);
    if (kind != 1) setting->options.batch_size = 1 + draw(number, 3, 40);
    if (kind != 0) setting->options.frame_budget = LONGEST + draw(number, 4, 30000);
    for (uint32_t i = 0; i < setting->count; i++) {
        setting->items[i] = 1000 + i * 3;
        setting->frames[i] = 1 + draw(number, 10 + i, number % 7 == 0 ? 2 : LONGEST);
    }
}

static struct mx_sampler *open_rank(const struct setting *setting, uint32_t rank)
{
    struct mx_sampler *sampler;
    struct mx_sampler_options options = setting->options;
    options.rank = rank;
    assert_int_equal(mx_sampler_create(&options, setting->items, setting->frames, setting->count, &sampler), 0);
    return sampler;
}

static uint64_t frames_of(const struct setting *setting, const struct mx_sampler_batch *batch)
{
    uint64_t frames = 0;
    for (uint32_t i = 0; i < batch->count; i++) frames += setting->frames[(batch->items[i] - 1000) / 3];
    return frames;
}

/* ---- exactly once, equal steps, limits ---- */

static void epoch_check(const struct setting *setting, struct mx_sampler *const *ranks, uint32_t epoch)
{
    uint32_t seen[COUNT_MAX] = {0};
    const uint32_t world = setting->options.world;
    for (uint32_t rank = 0; rank < world; rank++) mx_sampler_select(ranks[rank], epoch);
    const uint32_t steps = mx_sampler_steps(ranks[0]);
    assert_true(steps > 0);
    uint32_t empty = 0;
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t least = UINT32_MAX, most = 0, total = 0;
        uint64_t frames = 0;
        for (uint32_t rank = 0; rank < world; rank++) {
            assert_int_equal(mx_sampler_steps(ranks[rank]), steps);
            const struct mx_sampler_batch batch = mx_sampler_get(ranks[rank], step);
            if (setting->options.batch_size > 0) assert_true(batch.count <= setting->options.batch_size);
            if (setting->options.frame_budget > 0) assert_true(batch.frames <= setting->options.frame_budget);
            assert_true(batch.frames == frames_of(setting, &batch));
            for (uint32_t i = 0; i < batch.count; i++) seen[(batch.items[i] - 1000) / 3]++;
            least = batch.count < least ? batch.count : least;
            most = batch.count > most ? batch.count : most;
            total += batch.count;
            frames += batch.frames;
        }
        for (uint32_t rank = 0; rank < world; rank++) {
            assert_int_equal(mx_sampler_get(ranks[rank], step).step_count, total);
            assert_true(mx_sampler_get(ranks[rank], step).step_frames == frames);
        }
        assert_true(total > 0);
        assert_true(most - least <= 1);
        empty += least == 0;
    }
    for (uint32_t i = 0; i < setting->count; i++) assert_int_equal(seen[i], 1);
    /* Empty batches in one step at most, and only where it cannot be helped. */
    assert_true(empty <= 1 || setting->options.batch_size == 1);
    if (setting->options.frame_budget == 0 && setting->options.batch_size > 1 && setting->count >= world)
        assert_int_equal(empty, 0);
}

static void test_exactly_once(void **state)
{
    (void)state;
    static struct setting setting;
    for (uint32_t number = 0; number < CASES; number++) {
        struct mx_sampler *ranks[WORLD_MAX] = {NULL};
        setting_draw(&setting, number);
        for (uint32_t rank = 0; rank < setting.options.world; rank++) ranks[rank] = open_rank(&setting, rank);
        for (uint32_t epoch = 0; epoch < 3; epoch++) epoch_check(&setting, ranks, epoch * 1000003u);
        for (uint32_t rank = 0; rank < setting.options.world; rank++) mx_sampler_destroy(ranks[rank]);
    }
}

/* ---- purity ---- */

/* Whatever was asked before, in whatever order: (epoch, step) has one answer. */
static void test_pure(void **state)
{
    (void)state;
    static struct setting setting;
    for (uint32_t number = 0; number < CASES; number += 5) {
        setting_draw(&setting, number);
        const uint32_t rank = draw(number, 5, setting.options.world), epoch = draw(number, 6, 100);
        struct mx_sampler *const walker = open_rank(&setting, rank), *const jumper = open_rank(&setting, rank);
        for (uint32_t before = 0; before <= epoch % 4; before++) mx_sampler_select(walker, before);
        mx_sampler_select(walker, epoch);
        mx_sampler_select(jumper, epoch);
        assert_int_equal(mx_sampler_epoch(jumper), epoch);
        const uint32_t steps = mx_sampler_steps(walker);
        assert_int_equal(mx_sampler_steps(jumper), steps);
        for (uint32_t i = 0; i < steps; i++) mx_sampler_get(walker, i);
        for (uint32_t i = steps; i-- > 0;) {
            const struct mx_sampler_batch a = mx_sampler_get(walker, i), b = mx_sampler_get(jumper, i);
            assert_int_equal(a.count, b.count);
            assert_memory_equal(a.items, b.items, a.count * sizeof *a.items);
        }
        mx_sampler_destroy(walker);
        mx_sampler_destroy(jumper);
    }
}

/* How many of the utterances stand at the same place in two epochs or with two seeds. */
static uint32_t same_places(struct mx_sampler *a, struct mx_sampler *b)
{
    uint32_t same = 0;
    for (uint32_t step = 0; step < mx_sampler_steps(a) && step < mx_sampler_steps(b); step++) {
        const struct mx_sampler_batch one = mx_sampler_get(a, step), two = mx_sampler_get(b, step);
        for (uint32_t i = 0; i < one.count && i < two.count; i++) same += one.items[i] == two.items[i];
    }
    return same;
}

static void test_epochs_and_seeds_differ(void **state)
{
    (void)state;
    static struct setting setting;
    setting_draw(&setting, 1);
    setting.count = COUNT_MAX;
    setting.options = (struct mx_sampler_options){.seed = 5, .world = 1, .batch_size = 16};
    for (uint32_t i = 0; i < COUNT_MAX; i++) {
        setting.items[i] = 1000 + i * 3;
        setting.frames[i] = 100 + draw(9, i, 900);
    }
    struct mx_sampler *const first = open_rank(&setting, 0), *const second = open_rank(&setting, 0);
    assert_int_equal(same_places(first, second), COUNT_MAX);
    mx_sampler_select(second, 1);
    assert_true(same_places(first, second) < COUNT_MAX / 20);
    mx_sampler_destroy(second);
    setting.options.seed = 6;
    struct mx_sampler *const other = open_rank(&setting, 0);
    assert_true(same_places(first, other) < COUNT_MAX / 20);
    mx_sampler_destroy(first);
    mx_sampler_destroy(other);
}

/* ---- similar lengths ---- */

/* Frames that padding every batch to its longest utterance would waste, as a share. */
static double padding(const struct setting *setting, struct mx_sampler *sampler)
{
    uint64_t used = 0, padded = 0;
    for (uint32_t step = 0; step < mx_sampler_steps(sampler); step++) {
        const struct mx_sampler_batch batch = mx_sampler_get(sampler, step);
        uint64_t longest = 0;
        for (uint32_t i = 0; i < batch.count; i++) {
            const uint64_t frames = setting->frames[(batch.items[i] - 1000) / 3];
            longest = frames > longest ? frames : longest;
        }
        used += batch.frames;
        padded += longest * batch.count;
    }
    return 1.0 - (double)used / (double)padded;
}

static void test_similar_lengths(void **state)
{
    (void)state;
    static struct setting setting;
    setting.count = COUNT_MAX;
    for (uint32_t i = 0; i < COUNT_MAX; i++) {
        setting.items[i] = 1000 + i * 3;
        setting.frames[i] = 100 + draw(3, i, 900); /* batches at random would waste 43 % */
    }
    for (uint32_t kind = 0; kind < 2; kind++) {
        setting.options = (struct mx_sampler_options){
            .world = 2, .batch_size = kind == 0 ? 16 : 0, .frame_budget = kind == 0 ? 0 : 16 * 550};
        for (uint32_t epoch = 0; epoch < 5; epoch++) {
            uint64_t apart = 0, total = 0;
            struct mx_sampler *const ranks[] = {open_rank(&setting, 0), open_rank(&setting, 1)};
            for (int rank = 0; rank < 2; rank++) {
                mx_sampler_select(ranks[rank], epoch);
                assert_true(padding(&setting, ranks[rank]) < 0.15);
            }
            /* The ranks of one step have nearly equal work, so that they do not wait for each other. */
            for (uint32_t step = 0; step < mx_sampler_steps(ranks[0]); step++) {
                const uint64_t a = mx_sampler_get(ranks[0], step).frames, b = mx_sampler_get(ranks[1], step).frames;
                apart += a > b ? a - b : b - a;
                total += a + b;
            }
            assert_true((double)apart < 0.05 * (double)total);
            mx_sampler_destroy(ranks[0]);
            mx_sampler_destroy(ranks[1]);
        }
    }
}

/* Short utterances must not all come first: the order of steps is shuffled. */
static void test_steps_are_shuffled(void **state)
{
    (void)state;
    static struct setting setting;
    setting.count = COUNT_MAX;
    setting.options = (struct mx_sampler_options){.world = 1, .batch_size = 10};
    for (uint32_t i = 0; i < COUNT_MAX; i++) {
        setting.items[i] = 1000 + i * 3;
        setting.frames[i] = 100 + i;
    }
    struct mx_sampler *const sampler = open_rank(&setting, 0);
    uint32_t rising = 0;
    const uint32_t steps = mx_sampler_steps(sampler);
    assert_int_equal(steps, COUNT_MAX / 10);
    for (uint32_t step = 1; step < steps; step++)
        rising += mx_sampler_get(sampler, step).frames > mx_sampler_get(sampler, step - 1).frames;
    assert_in_range(rising, steps / 4, steps * 3 / 4);
    mx_sampler_destroy(sampler);
}

/* ---- refusals and memory ---- */

static void test_refusals(void **state)
{
    (void)state;
    static const double negative[] = {1, -1, 3}, too_many[] = {1, 2, 3};
    static const struct {
        struct mx_sampler_options options;
        uint32_t count;
        int code;
        const char *words;
    } cases[] = {
        {{.world = 1, .batch_size = 4}, 0, MX_ERR_ARGUMENT, "0 utterances"},
        {{.world = 0, .batch_size = 4}, 3, MX_ERR_ARGUMENT, "rank 0 of 0"},
        {{.world = 2, .rank = 2, .batch_size = 4}, 3, MX_ERR_ARGUMENT, "rank 2 of 2"},
        {{.world = 1}, 3, MX_ERR_ARGUMENT, "no limit"},
        {{.world = 1, .frame_budget = 29}, 3, MX_ERR_DATA, "utterance 9 has 30 frames, more than the 29"},
        {{.world = 1, .batch_size = 4, .times = negative}, 3, MX_ERR_ARGUMENT, "utterance 8 cannot"},
        {{.world = 1, .batch_size = 4, .times = too_many}, 3, MX_ERR_ARGUMENT, "6 times in all"},
    };
    const uint32_t items[] = {7, 8, 9}, frames[] = {10, 20, 30};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mx_sampler *sampler = (struct mx_sampler *)state;
        assert_int_equal(mx_sampler_create(&cases[i].options, items, frames, cases[i].count, &sampler), cases[i].code);
        assert_null(sampler);
        assert_non_null(strstr(mx_error_last()->message, cases[i].words));
        assert_true(mx_error_last()->hint[0] != '\0');
    }
}

/* Three speakers with 400, 40 and 4 utterances. */
static void test_times_are_kept(void **state)
{
    (void)state;
    enum { COUNT = 444, EPOCHS = 200 };
    static uint32_t items[COUNT], frames[COUNT], seen[COUNT];
    static double times[COUNT];
    const uint32_t rows[] = {400, 40, 4};
    double of_speaker[3];
    for (int balance = 0; balance < MX_BALANCE_COUNT; balance++) {
        struct mx_sampler_options options = {.seed = 5, .world = 1, .batch_size = 16, .times = times};
        struct mx_sampler *sampler, *again;
        mx_balance_times((enum mx_balance)balance, rows, 3, of_speaker);
        for (uint32_t i = 0; i < COUNT; i++) {
            items[i] = i;
            frames[i] = 50 + draw(9, i, 400);
            times[i] = of_speaker[i < 400 ? 0 : i < 440 ? 1 : 2];
            seen[i] = 0;
        }
        assert_int_equal(mx_sampler_create(&options, items, frames, COUNT, &sampler), 0);
        assert_int_equal(mx_sampler_create(&options, items, frames, COUNT, &again), 0);
        for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
            uint32_t all = 0, in_epoch[COUNT] = {0};
            mx_sampler_select(sampler, epoch);
            for (uint32_t step = 0; step < mx_sampler_steps(sampler); step++) {
                const struct mx_sampler_batch batch = mx_sampler_get(sampler, step);
                all += batch.count;
                for (uint32_t k = 0; k < batch.count; k++) in_epoch[batch.items[k]]++;
            }
            assert_int_equal(all, COUNT);
            for (uint32_t i = 0; i < COUNT; i++) {
                assert_true(in_epoch[i] >= floor(times[i] - 1e-9) && in_epoch[i] <= ceil(times[i] + 1e-9));
                seen[i] += in_epoch[i];
            }
        }
        for (uint32_t i = 0; i < COUNT; i++) { /* six deviations of a mean of that many draws of 0 or 1 */
            const double part = times[i] - floor(times[i]), deviation = sqrt(part * (1 - part) / EPOCHS);
            assert_true(fabs(seen[i] / (double)EPOCHS - times[i]) <= 6 * deviation + 1e-6);
        }
        mx_sampler_select(again, EPOCHS - 1);
        const struct mx_sampler_batch a = mx_sampler_get(sampler, 3), b = mx_sampler_get(again, 3);
        assert_int_equal(a.count, b.count);
        assert_memory_equal(a.items, b.items, a.count * sizeof *a.items);
        mx_sampler_destroy(again);
        mx_sampler_destroy(sampler);
    }
}

static void test_memory(void **state)
{
    (void)state;
    static struct setting setting;
    setting_draw(&setting, 42);
    struct mx_sampler *sampler = NULL;
    for (uint64_t nth = 1;; nth++) {
        assert_true(nth < 100);
        mx_alloc_fail_at(nth);
        const int rc = mx_sampler_create(&setting.options, setting.items, setting.frames, setting.count, &sampler);
        mx_alloc_fail_at(0);
        if (rc == 0) break;
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
        assert_null(sampler);
    }
    const uint64_t before = mx_alloc_count();
    for (uint32_t epoch = 0; epoch < 5; epoch++) {
        mx_sampler_select(sampler, epoch);
        for (uint32_t step = 0; step < mx_sampler_steps(sampler); step++) mx_sampler_get(sampler, step);
    }
    assert_int_equal(mx_alloc_count(), before);
    mx_sampler_destroy(sampler);
}

/* With `whole` the batches of a step, end to end, are the step of one rank alone, whatever the number of ranks. */
static void test_whole_steps_do_not_depend_on_the_ranks(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < CASES; number++) {
        struct setting setting;
        struct mx_sampler *alone, *rank;
        setting_draw(&setting, number);
        const uint32_t world = setting.options.world, epoch = draw(number, 7, 50);
        setting.options.even = number % 2 == 1 && setting.options.frame_budget > 0;
        setting.options.whole = true;
        if (setting.options.even) setting.options.frame_budget /= 2; /* some are longer */
        struct mx_sampler_options one = setting.options;
        one.world = 1;
        one.whole = one.even;
        assert_int_equal(mx_sampler_create(&one, setting.items, setting.frames, setting.count, &alone), 0);
        mx_sampler_select(alone, epoch);
        uint32_t at[COUNT_MAX] = {0}; /* of each step: utterances so far */
        for (uint32_t r = 0; r < world; r++) {
            rank = open_rank(&setting, r);
            mx_sampler_select(rank, epoch);
            assert_int_equal(mx_sampler_steps(rank), mx_sampler_steps(alone));
            for (uint32_t step = 0; step < mx_sampler_steps(alone); step++) {
                const struct mx_sampler_batch all = mx_sampler_get(alone, step), own = mx_sampler_get(rank, step);
                uint64_t frames = 0;
                assert_int_equal(own.step_count, all.count);
                assert_int_equal(own.step_frames, all.frames);
                assert_true(own.count >= all.count / world && own.count <= all.count / world + 1);
                assert_memory_equal(own.items, all.items + at[step], own.count * sizeof *own.items);
                for (uint32_t i = 0; i < own.count; i++) frames += setting.frames[(own.items[i] - 1000) / 3];
                assert_int_equal(own.frames, frames);
                at[step] += own.count;
                if (r == world - 1) assert_int_equal(at[step], all.count);
            }
            mx_sampler_destroy(rank);
        }
        mx_sampler_destroy(alone);
    }
}

/* ---- even steps ---- */

/* Lengths as people record them: many short ones, a few twenty times as long. */
static void human_draw(struct setting *setting, uint32_t number)
{
    setting->count = 300 + draw(number, 0, COUNT_MAX - 300);
    setting->options = (struct mx_sampler_options){.seed = number, .world = 1, .whole = true, .even = true};
    for (uint32_t i = 0; i < setting->count; i++) {
        const uint32_t bits = 6 + draw(number, 2 * i + 10, 4) * draw(number, 2 * i + 11, 5) / 3;
        setting->items[i] = 1000 + i * 3;
        setting->frames[i] = (1u << bits) + draw(number, 5000 + i, 1u << bits);
        if (setting->frames[i] > LONGEST) setting->frames[i] = LONGEST;
    }
}

static void test_even_steps(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 40; number++) {
        static struct setting setting;
        struct mx_sampler *sampler = NULL;
        uint64_t budget = 0, longest = 0, total = 0;
        human_draw(&setting, number);
        const uint32_t size = 8 + draw(number, 1, 25), steps = (setting.count + size - 1) / size;
        for (uint32_t i = 0; i < setting.count; i++) {
            total += setting.frames[i];
            longest = setting.frames[i] > longest ? setting.frames[i] : longest;
        }
        setting.options.batch_size = 4 * size;
        assert_int_equal(mx_sampler_budget(&setting.options, setting.frames, setting.count, steps, &budget), 0);
        /* The smallest one: with one frame less there would be more steps. */
        setting.options.frame_budget = budget - 1;
        sampler = open_rank(&setting, 0);
        assert_true(mx_sampler_steps(sampler) > steps);
        mx_sampler_destroy(sampler);
        setting.options.frame_budget = budget;
        sampler = open_rank(&setting, 0);
        assert_true(mx_sampler_steps(sampler) <= steps);
        for (uint32_t epoch = 0; epoch < 4; epoch++) {
            mx_sampler_select(sampler, epoch);
            uint64_t most = 0, sum = 0;
            uint32_t seen = 0;
            const uint32_t now = mx_sampler_steps(sampler);
            assert_true(now + 2 >= steps && now <= steps + 2);
            for (uint32_t step = 0; step < now; step++) {
                const struct mx_sampler_batch batch = mx_sampler_get(sampler, step);
                assert_true(batch.count == 1 || batch.frames <= budget);
                assert_true(batch.count <= 4 * size);
                most = batch.frames > most ? batch.frames : most;
                sum += batch.frames;
                seen += batch.count;
            }
            assert_int_equal(seen, setting.count);
            assert_true(sum == total);
            /* Cut at will, no step would need more than the mean and one utterance. */
            assert_true(most <= total / now + longest + 1);
        }
        mx_sampler_destroy(sampler);
    }
}

/* Steps of equal frames where steps of equal counts are not. */
static void test_even_steps_are_even(void **state)
{
    (void)state;
    static struct setting setting;
    double variation[2];
    uint64_t budget = 0;
    human_draw(&setting, 7);
    for (int even = 0; even < 2; even++) {
        setting.options.even = even;
        setting.options.frame_budget = 0;
        setting.options.batch_size = even ? 64 : 16;
        if (even)
            assert_int_equal(
                mx_sampler_budget(&setting.options, setting.frames, setting.count, (setting.count + 15) / 16, &budget),
                0);
        setting.options.frame_budget = budget;
        struct mx_sampler *const sampler = open_rank(&setting, 0);
        const uint32_t steps = mx_sampler_steps(sampler);
        double sum = 0, squares = 0;
        for (uint32_t step = 0; step < steps; step++) {
            const double frames = (double)mx_sampler_get(sampler, step).frames;
            sum += frames;
            squares += frames * frames;
        }
        variation[even] = sqrt(squares / steps - (sum / steps) * (sum / steps)) / (sum / steps);
        mx_sampler_destroy(sampler);
    }
    assert_true(variation[0] > 0.6);
    assert_true(variation[1] < 0.1);
}

/* A budget below every length makes each utterance a batch; one that cannot be had is refused. */
static void test_even_limits(void **state)
{
    (void)state;
    static struct setting setting;
    uint64_t budget = 0;
    human_draw(&setting, 3);
    setting.options.frame_budget = 1;
    struct mx_sampler *sampler = open_rank(&setting, 0);
    assert_int_equal(mx_sampler_steps(sampler), setting.count);
    mx_sampler_destroy(sampler);
    setting.options.batch_size = 2;
    assert_int_equal(mx_sampler_budget(&setting.options, setting.frames, setting.count, 3, &budget), MX_ERR_ARGUMENT);
    setting.options.world = 2;
    setting.options.whole = false;
    assert_int_equal(mx_sampler_create(&setting.options, setting.items, setting.frames, setting.count, &sampler),
                     MX_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_steps_do_not_depend_on_the_ranks),
        cmocka_unit_test(test_exactly_once),
        cmocka_unit_test(test_pure),
        cmocka_unit_test(test_epochs_and_seeds_differ),
        cmocka_unit_test(test_similar_lengths),
        cmocka_unit_test(test_steps_are_shuffled),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_times_are_kept),
        cmocka_unit_test(test_even_steps),
        cmocka_unit_test(test_even_steps_are_even),
        cmocka_unit_test(test_even_limits),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
