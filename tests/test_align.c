/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The alignment search against all alignments there are, on small cases; ties, too few frames, long sequences, numbers
 * that are none, and offsets that make no sense. (Random shapes against the reference, batches, workers and arguments:
 * test_ops_*.)
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "myxtts/error.h"
#include "ops/case.h"

#define N 3 /* bands */

struct problem {
    int sequences;
    int32_t tokens[8], frames[8]; /* of each sequence */
    float *mean, *mel;            /* [all tokens, N], [all frames, N] */
    float diagonal;
};

static struct op_cpu cpu;
static struct mx_stream *stream;

static int setup(void **state)
{
    (void)state;
    if (op_cpu_open(&cpu, 1, 0) < 0) return -1;
    return mx_stream_create(cpu.device, "align", &stream);
}

static int teardown(void **state)
{
    (void)state;
    mx_stream_release(stream);
    op_cpu_close(&cpu);
    return 0;
}

static struct mx_buffer *buffer_of(const void *from, int64_t words)
{
    struct mx_buffer *buffer = NULL;
    assert_int_equal(mx_buffer_create(cpu.device, "align", (size_t)words * 4 + 4, &buffer), 0);
    if (from && words) {
        assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 0), from, (size_t)words * 4), 0);
        assert_int_equal(mx_stream_sync(stream), 0);
    }
    return buffer;
}

/* Runs the operation; durations [all tokens] are the caller's. Returns what the stream says. */
static int run(const struct problem *p, int32_t *durations)
{
    enum { MEAN, MEL, TOKENS, FRAMES, DURATIONS, LOGS, WORK, BUFFERS };
    struct mx_buffer *b[BUFFERS];
    int32_t tokens[9] = {0}, frames[9] = {0}, most_tokens = 0, most_frames = 0;
    for (int s = 0; s < p->sequences; s++) {
        tokens[s + 1] = tokens[s] + p->tokens[s];
        frames[s + 1] = frames[s] + p->frames[s];
        most_tokens = p->tokens[s] > most_tokens ? p->tokens[s] : most_tokens;
        most_frames = p->frames[s] > most_frames ? p->frames[s] : most_frames;
    }
    const int32_t all = tokens[p->sequences], rows = frames[p->sequences];
    b[MEAN] = buffer_of(p->mean, (int64_t)all * N);
    b[MEL] = buffer_of(p->mel, (int64_t)rows * N);
    b[TOKENS] = buffer_of(tokens, p->sequences + 1);
    b[FRAMES] = buffer_of(frames, p->sequences + 1);
    b[DURATIONS] = buffer_of(NULL, all);
    b[LOGS] = buffer_of(NULL, all);
    b[WORK] = buffer_of(NULL, MX_ALIGN_WORK(all, most_tokens, rows));
    struct mx_stream *own = NULL; /* a failure sticks to it */
    assert_int_equal(mx_stream_create(cpu.device, "own", &own), 0);
    const struct mx_align_args args = {.mean = {b[MEAN], 0},
                                       .mel = {b[MEL], 0},
                                       .tokens = {{b[TOKENS], 0}, p->sequences, all, most_tokens},
                                       .frames = {{b[FRAMES], 0}, p->sequences, rows, most_frames},
                                       .durations = {b[DURATIONS], 0},
                                       .logs = {b[LOGS], 0},
                                       .work = {b[WORK], 0},
                                       .n = N,
                                       .diagonal = p->diagonal};
    assert_int_equal(mx_align(own, &args), 0);
    int rc = mx_stream_sync(own);
    if (rc == 0) {
        assert_int_equal(mx_copy_download(own, durations, args.durations, (size_t)all * 4), 0);
        rc = mx_stream_sync(own);
    }
    mx_stream_release(own);
    for (int i = 0; i < BUFFERS; i++) mx_buffer_release(b[i]);
    return rc;
}

/* One sequence for the brute force. */
struct shape {
    const float *mean, *mel;
    int tokens, frames;
    double diagonal;
};

static double cost(const struct shape *p, int token, int frame)
{
    const double off = (frame + 0.5) * p->tokens / p->frames - (token + 0.5);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        const double d = (double)p->mean[token * N + i] - (double)p->mel[frame * N + i];
        sum += d * d;
    }
    return sum / 2 + p->diagonal * off * off;
}

/* The cheapest way to give the frames from `frame` on to the tokens from `token` on, each at least one, by trying all.
 */
static double cheapest(const struct shape *p, int token, int frame)
{
    double best = INFINITY, sum = 0;
    if (token == p->tokens) return frame == p->frames ? 0 : INFINITY;
    for (int end = frame + 1; end <= p->frames; end++) {
        sum += cost(p, token, end - 1);
        best = fmin(best, sum + cheapest(p, token + 1, end));
    }
    return best;
}

static double cost_of(const struct shape *p, const int32_t *durations)
{
    double sum = 0;
    for (int t = 0, f = 0; t < p->tokens; t++)
        for (int d = 0; d < durations[t]; d++, f++) sum += cost(p, t, f);
    return sum;
}

static void fill(float *values, int64_t count, uint64_t seed, uint64_t which)
{
    for (int64_t i = 0; i < count; i++) values[i] = mx_rng_normal(seed, which, (uint64_t)i);
}

/* Every shape up to 6 tokens and 9 frames, several at a time. */
static void equals_brute_force(void **state)
{
    (void)state;
    static float mean[8 * 6 * N], mel[8 * 9 * N];
    struct problem p = {.mean = mean, .mel = mel};
    uint64_t seed = 0;
    for (int tokens = 1; tokens <= 6; tokens++) {
        for (int frames = tokens; frames <= 9; frames += 1) {
            int32_t durations[8 * 6];
            p.sequences = 5;
            p.diagonal = frames % 2 ? 0.3f : 0;
            for (int s = 0; s < p.sequences; s++) {
                p.tokens[s] = tokens;
                p.frames[s] = frames;
            }
            fill(mean, p.sequences * tokens * N, ++seed, 1);
            fill(mel, p.sequences * frames * N, seed, 2);
            assert_int_equal(run(&p, durations), 0);
            for (int s = 0; s < p.sequences; s++) {
                const struct shape shape = {mean + s * tokens * N, mel + s * frames * N, tokens, frames,
                                            (double)p.diagonal};
                int sum = 0;
                for (int t = 0; t < tokens; t++) {
                    assert_true(durations[s * tokens + t] >= 1);
                    sum += durations[s * tokens + t];
                }
                assert_int_equal(sum, frames);
                const double best = cheapest(&shape, 0, 0);
                const double found = cost_of(&shape, durations + s * tokens);
                /* Both costs are exact; the search took for cheaper what rounding made so, of either of the two. */
                if (fabs(found - best) > 2 * mx_op_rounding(16, 2, frames) * best)
                    fail_msg("%d tokens, %d frames: found %g, there is %g", tokens, frames, found, best);
            }
        }
    }
}

/* Means that differ by less than the squares of the mel frames are rounded by, as in the first steps of training: the
 * search still finds the best way, not one that chance has chosen. */
static void little_differences_count(void **state)
{
    (void)state;
    enum { TOKENS = 5, FRAMES = 9 };
    float mean[TOKENS * N], mel[FRAMES * N];
    int32_t durations[TOKENS];
    const struct problem p = {.sequences = 1, .tokens = {TOKENS}, .frames = {FRAMES}, .mean = mean, .mel = mel};
    const struct shape shape = {mean, mel, TOKENS, FRAMES, 0};
    for (uint64_t seed = 0; seed < 20; seed++) {
        fill(mean, TOKENS * N, seed, 1);
        fill(mel, FRAMES * N, seed, 2);
        for (int i = 0; i < TOKENS * N; i++) mean[i] *= 1e-5f;
        for (int i = 0; i < FRAMES * N; i++) mel[i] *= 10;
        assert_int_equal(run(&p, durations), 0);
        const double best = cheapest(&shape, 0, 0), found = cost_of(&shape, durations);
        /* ways differ by 1e-4 or so; both costs, some 10⁴, are sums in double, good to 1e-11 */
        if (fabs(found - best) > 1e-8)
            fail_msg("seed %d: found a way that costs %g more than the best", (int)seed, found - best);
    }
}

/* Of equal ways the one that stays with the token, looking back from the end: early tokens are short. */
static void ties_stay(void **state)
{
    (void)state;
    float zeros[10 * N] = {0};
    const struct problem p = {.sequences = 1, .tokens = {4}, .frames = {10}, .mean = zeros, .mel = zeros};
    static const int32_t expected[] = {1, 1, 1, 7};
    int32_t durations[4];
    assert_int_equal(run(&p, durations), 0);
    assert_memory_equal(durations, expected, sizeof expected);
}

/* Tokens that are all alike, as at the beginning of training: the diagonal makes the alignment even. */
static void flat_start(void **state)
{
    (void)state;
    float zeros[20 * N] = {0};
    const struct problem p = {
        .sequences = 2, .tokens = {4, 3}, .frames = {12, 8}, .mean = zeros, .mel = zeros, .diagonal = 0.01f};
    static const int32_t expected[] = {3, 3, 3, 3, 3, 2, 3};
    int32_t durations[7];
    assert_int_equal(run(&p, durations), 0);
    assert_memory_equal(durations, expected, sizeof expected);
}

static void fewer_frames_than_tokens(void **state)
{
    (void)state;
    float values[12 * N];
    fill(values, 12 * N, 1, 1);
    const struct problem p = {.sequences = 3, .tokens = {5, 3, 2}, .frames = {2, 0, 2}, .mean = values, .mel = values};
    static const int32_t expected[] = {0, 0, 1, 0, 1, 0, 0, 0, 1, 1};
    int32_t durations[10];
    assert_int_equal(run(&p, durations), 0);
    assert_memory_equal(durations, expected, sizeof expected);
}

/* 400 tokens of known durations: the ways' bits reach over many words. */
static void long_sequence(void **state)
{
    (void)state;
    enum { TOKENS = 400, MOST = 5 };
    static float mean[TOKENS * N], mel[TOKENS * MOST * N];
    static int32_t expected[TOKENS], durations[TOKENS];
    struct problem p = {.sequences = 1, .tokens = {TOKENS}, .mean = mean, .mel = mel};
    fill(mean, TOKENS * N, 3, 1);
    for (int t = 0; t < TOKENS; t++) {
        expected[t] = 1 + (int32_t)mx_rng_below(3, 2, (uint64_t)t, MOST);
        for (int d = 0; d < expected[t]; d++, p.frames[0]++)
            memcpy(mel + p.frames[0] * N, mean + t * N, N * sizeof *mel);
    }
    assert_int_equal(run(&p, durations), 0);
    assert_memory_equal(durations, expected, sizeof expected);
}

/* Means that are no numbers still give durations that fit, so that nothing after them breaks. */
static void not_a_number(void **state)
{
    (void)state;
    float values[12 * N];
    int32_t durations[5];
    for (int i = 0; i < 12 * N; i++) values[i] = NAN;
    const struct problem p = {.sequences = 1, .tokens = {5}, .frames = {12}, .mean = values, .mel = values};
    int32_t sum = 0;
    assert_int_equal(run(&p, durations), 0);
    for (int t = 0; t < 5; t++) {
        assert_true(durations[t] >= 1);
        sum += durations[t];
    }
    assert_int_equal(sum, 12);
}

static void frames_without_tokens_fail(void **state)
{
    (void)state;
    float values[8 * N] = {0};
    int32_t durations[8];
    const struct problem none = {.sequences = 2, .tokens = {2, 0}, .frames = {3, 1}, .mean = values, .mel = values};
    assert_int_equal(run(&none, durations), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "align"));
    const struct problem back = {
        .sequences = 3, .tokens = {4, -2, 2}, .frames = {4, 2, 2}, .mean = values, .mel = values};
    assert_int_equal(run(&back, durations), MX_ERR_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(little_differences_count),
        cmocka_unit_test(ties_stay),
        cmocka_unit_test(flat_start),
        cmocka_unit_test(fewer_frames_than_tokens),
        cmocka_unit_test(long_sequence),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(frames_without_tokens_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
