/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Wrong arguments are refused before anything is queued, with a message that names the operation and a hint; wrong data
 * fails the stream with a message. Driven by the operands and sizes of the random cases, so that no operation is left
 * out.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "ops/case.h"
#include "ops/each.h"

#define CASES 20

struct fixture {
    struct op_cpu cpu, foreign;
    struct mx_stream *stream;
    struct mx_buffer *elsewhere; /* large enough for anything, on the other device */
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (op_cpu_open(&fixture.cpu, 1, 0) < 0 || op_cpu_open(&fixture.foreign, 1, 0) < 0) return -1;
    if (mx_buffer_create(fixture.foreign.device, "elsewhere", 16 << 20, &fixture.elsewhere) < 0) return -1;
    return mx_stream_create(fixture.cpu.device, "arguments", &fixture.stream);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    mx_stream_release(fixture->stream);
    mx_buffer_release(fixture->elsewhere);
    op_cpu_close(&fixture->foreign);
    op_cpu_close(&fixture->cpu);
    return 0;
}

/* Both the check and the submit refuse, and the message says whose argument it is. */
static void refused(struct fixture *fixture, enum mx_op op, const void *args, const char *what)
{
    mx_error_clear();
    if (mx_op_check(fixture->cpu.device, op, args) != MX_ERR_ARGUMENT)
        fail_msg("%s: %s was not refused", mx_op_name(op), what);
    if (!strstr(mx_error_last()->message, mx_op_name(op)) || mx_error_last()->hint[0] == 0)
        fail_msg("%s: %s gives a poor message: '%s', hint '%s'", mx_op_name(op), what, mx_error_last()->message,
                 mx_error_last()->hint);
    assert_int_equal(mx_op_submit(fixture->stream, op, args), MX_ERR_ARGUMENT);
    assert_int_equal(mx_stream_sync(fixture->stream), 0); /* the stream lives on */
}

/* The placed arguments with one slice replaced. */
static void refuse_slice(struct fixture *fixture, const struct mx_op_case *c, const struct mx_op_placed *placed,
                         const struct mx_op_tensor *tensor, struct mx_slice slice, const char *what)
{
    alignas(16) unsigned char args[MX_OP_ARGS_MAX];
    char text[96];
    memcpy(args, placed->args, sizeof args);
    memcpy(args + tensor->slice_at, &slice, sizeof slice);
    snprintf(text, sizeof text, "'%s' %s", tensor->name, what);
    refused(fixture, c->op, args, text);
}

static void refuse_slices(struct fixture *fixture, const struct mx_op_case *c, const struct mx_op_placed *placed)
{
    for (int i = 0; i < c->tensor_count; i++) {
        const struct mx_op_tensor *tensor = &c->tensors[i];
        const size_t size = c->storages[tensor->storage].type == MX_OP_BF16 ? 2 : 4, need = (size_t)tensor->need * size;
        struct mx_slice good;
        memcpy(&good, placed->args + tensor->slice_at, sizeof good);
        const size_t end = mx_buffer_bytes(good.buffer);
        if (!tensor->optional) refuse_slice(fixture, c, placed, tensor, (struct mx_slice){0}, "missing");
        refuse_slice(fixture, c, placed, tensor, (struct mx_slice){fixture->elsewhere, 0}, "of another device");
        refuse_slice(fixture, c, placed, tensor, (struct mx_slice){good.buffer, good.offset_bytes + 2}, "unaligned");
        refuse_slice(fixture, c, placed, tensor, (struct mx_slice){good.buffer, SIZE_MAX - 3}, "far outside");
        refuse_slice(fixture, c, placed, tensor, (struct mx_slice){good.buffer, end + 4}, "past the end of its buffer");
        if (need >= 4)
            refuse_slice(fixture, c, placed, tensor, (struct mx_slice){good.buffer, end - (need + 3) / 4 * 4 + 4},
                         "one element outside");
    }
}

static void refuse_sizes(struct fixture *fixture, const struct mx_op_case *c, const struct mx_op_placed *placed)
{
    static const int64_t absurd[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 62, (int64_t)1 << 41};
    static const int32_t absurd32[] = {-1, INT32_MIN, INT32_MAX, INT32_MAX - 1, 1 << 30};
    for (int d = 0; d < c->dim_count; d++) {
        const struct mx_op_dim *dim = &c->dims[d];
        for (int i = 0; i < 5; i++) {
            alignas(16) unsigned char args[MX_OP_ARGS_MAX];
            char text[96];
            memcpy(args, placed->args, sizeof args);
            if (dim->bytes == 8)
                memcpy(args + dim->at, &absurd[i], 8);
            else
                memcpy(args + dim->at, &absurd32[i], 4);
            snprintf(text, sizeof text, "'%s' = %lld", dim->name,
                     dim->bytes == 8 ? (long long)absurd[i] : (long long)absurd32[i]);
            refused(fixture, c->op, args, text);
        }
    }
}

static void refuse(struct fixture *fixture, enum mx_op op)
{
    for (uint64_t seed = 0; seed < CASES; seed++) {
        struct mx_op_case c;
        struct mx_op_placed placed;
        op_case_make(&c, op, seed, (struct mx_op_plan){.size = MX_OP_USUAL});
        assert_int_equal(mx_op_case_place(&c, fixture->stream, &placed), 0);
        assert_int_equal(mx_op_check(fixture->cpu.device, op, placed.args), 0);
        refuse_slices(fixture, &c, &placed);
        refuse_sizes(fixture, &c, &placed);
        mx_op_placed_release(&placed);
        mx_op_case_release(&c);
    }
}

#define OP_TEST refuse
OP_TESTS_DEFINE

/* ---- arguments that are no sizes ---- */

/* Submits a tiny case of `op` after `spoil` changed its arguments. */
static void refuse_spoiled(struct fixture *fixture, enum mx_op op, void (*spoil)(void *args), const char *what)
{
    struct mx_op_case c;
    struct mx_op_placed placed;
    op_case_make(&c, op, 3, (struct mx_op_plan){.size = MX_OP_TINY, .plain = true});
    assert_int_equal(mx_op_case_place(&c, fixture->stream, &placed), 0);
    spoil(placed.args);
    refused(fixture, op, placed.args, what);
    mx_op_placed_release(&placed);
    mx_op_case_release(&c);
}

#define SPOIL(name, op, change)                                                                                        \
    static void spoil_##name(void *args)                                                                               \
    {                                                                                                                  \
        struct mx_##op##_args *a = args;                                                                               \
        change;                                                                                                        \
    }
SPOIL(rate_one, dropout, a->rate = 1)
SPOIL(rate_negative, dropout, a->rate = -0.1f)
SPOIL(rate_nan, dropout, a->rate = NAN)
SPOIL(index_odd, dropout, a->index = 6)
SPOIL(taps_even, conv1d, a->taps = 2)
SPOIL(taps_zero, conv1d, a->taps = 0)
SPOIL(taps_nine, conv1d_grad_weight, a->taps = 9)
SPOIL(taps_four, conv1d_grad_input, a->taps = 4)
SPOIL(depthwise_even, depthwise, a->taps = 4)
SPOIL(depthwise_many, depthwise_grad, a->taps = MX_DEPTHWISE_TAPS_MAX + 2)
SPOIL(act, activation, memset(&a->act, 0x11, sizeof a->act))
SPOIL(act_grad_act, activation_grad, memset(&a->act, 0x11, sizeof a->act))
SPOIL(epilogue_act, matmul, memset(&a->epilogue.act, 0x11, sizeof a->epilogue.act))
SPOIL(epilogue_pre, matmul, (a->epilogue.act = MX_ACT_GELU, a->epilogue.act_grad = true))
SPOIL(epilogue_bias, matmul,
      (a->epilogue.act = MX_ACT_GELU, a->epilogue.act_grad = true, a->epilogue.pre = a->c, a->epilogue.bias = a->b))
SPOIL(loss_kind, sequence_loss, memset(&a->kind, 0x11, sizeof a->kind))
SPOIL(lda, matmul, a->lda = (a->transpose_a ? a->m : a->k) - 1)
SPOIL(ldc, matmul, a->ldc = a->n - 1)
SPOIL(head_odd, rotary, (a->heads = 1, a->head_width = 1))
SPOIL(table_odd, rotary_table, a->head_width = 3)
SPOIL(positions, rotary, a->positions = a->rows.max_rows - 1)
SPOIL(max_rows, attention, a->rows.max_rows = a->rows.rows + 1)
SPOIL(decayed, adamw, a->decayed = a->count + 1)
SPOIL(step, adamw, a->step = 0)
SPOIL(limit, grad_norm, a->limit = -1)
SPOIL(diagonal, align, a->diagonal = -1)
SPOIL(token_count, align, (a->tokens.count--, a->tokens.max_rows = a->tokens.rows))
SPOIL(sequence_loss_kind, sequence_loss, memset(&a->kind, 0x11, sizeof a->kind))
SPOIL(classes, pitch_loss, a->classes = MX_PITCH_CLASSES_MAX + 1)
SPOIL(pitch_range, pitch_loss, a->high_hz = a->low_hz)
SPOIL(fft_size, mel, a->fft_size = 48)
SPOIL(hop, mel, a->hop = a->fft_size + 1)
SPOIL(frame_count, mel, (a->frames.count--, a->frames.max_rows = a->frames.rows))
SPOIL(floor, mel, a->floor = 0)
SPOIL(mean, mel, a->mean = NAN)
SPOIL(magnitude_hop, log_magnitude, a->hop = 0)
SPOIL(magnitude_least, log_magnitude, a->least = 0)
SPOIL(low_hz, pitch, a->low_hz = a->rate / (float)a->fft_size)
SPOIL(high_hz, pitch, a->high_hz = a->rate)
SPOIL(low_high, pitch, a->high_hz = a->low_hz)
SPOIL(change, pitch, a->change = -1)
SPOIL(blur_width, mel_blur, a->n = MX_BLUR_WIDTH_MAX + 1)
SPOIL(iterations, mel_inverse, a->iterations = -1)
SPOIL(momentum, griffin_step, a->momentum = NAN)
SPOIL(least, overlap_add, a->least = 0)
SPOIL(base_deviation, mel_base, a->deviation = NAN)
SPOIL(rounds, mel_project, a->rounds = -1)
SPOIL(project_lower, mel_project, a->lower = -1)
SPOIL(project_raise, mel_project, a->raise = -1)
SPOIL(project_floor, mel_project, a->floor = 0)
SPOIL(harmonics_hop, harmonics, a->hop = 0)
SPOIL(harmonics_rate, harmonics, a->rate = NAN)
SPOIL(harmonics_limit, harmonics, a->limit_hz = a->rate)
SPOIL(harmonics_fade, harmonics, a->fade_hz = 0)
SPOIL(harmonics_fade_all, harmonics, a->fade_hz = 2 * a->limit_hz)
SPOIL(harmonics_level, harmonics, a->level = INFINITY)
SPOIL(texture_reach, texture, a->reach = MX_TEXTURE_REACH_MAX + 1)
SPOIL(texture_colour, texture, a->colour = NAN)
SPOIL(texture_least, texture, a->least = 0)

static void refuse_ranges(void **state)
{
    static const struct {
        enum mx_op op;
        void (*spoil)(void *);
        const char *what;
    } cases[] = {
        {MX_OP_dropout, spoil_rate_one, "rate 1"},
        {MX_OP_dropout, spoil_rate_negative, "a negative rate"},
        {MX_OP_dropout, spoil_rate_nan, "a rate that is no number"},
        {MX_OP_dropout, spoil_index_odd, "an index that is no multiple of 4"},
        {MX_OP_conv1d, spoil_taps_even, "2 taps"},
        {MX_OP_conv1d, spoil_taps_zero, "0 taps"},
        {MX_OP_conv1d_grad_weight, spoil_taps_nine, "9 taps"},
        {MX_OP_conv1d_grad_input, spoil_taps_four, "4 taps"},
        {MX_OP_depthwise, spoil_depthwise_even, "4 taps"},
        {MX_OP_depthwise_grad, spoil_depthwise_many, "17 taps"},
        {MX_OP_activation, spoil_act, "an unknown activation"},
        {MX_OP_activation_grad, spoil_act_grad_act, "an unknown activation"},
        {MX_OP_matmul, spoil_epilogue_act, "an unknown activation in the epilogue"},
        {MX_OP_matmul, spoil_epilogue_pre, "act_grad without pre"},
        {MX_OP_matmul, spoil_epilogue_bias, "act_grad with a bias"},
        {MX_OP_sequence_loss, spoil_loss_kind, "an unknown loss"},
        {MX_OP_matmul, spoil_lda, "rows of A that overlap"},
        {MX_OP_matmul, spoil_ldc, "rows of C that overlap"},
        {MX_OP_rotary, spoil_head_odd, "an odd head width"},
        {MX_OP_rotary_table, spoil_table_odd, "an odd head width"},
        {MX_OP_rotary, spoil_positions, "a table shorter than the longest sequence"},
        {MX_OP_attention, spoil_max_rows, "a sequence longer than all"},
        {MX_OP_adamw, spoil_decayed, "more decayed than there are"},
        {MX_OP_adamw, spoil_step, "step 0"},
        {MX_OP_grad_norm, spoil_limit, "a negative limit"},
        {MX_OP_align, spoil_diagonal, "a negative cost"},
        {MX_OP_align, spoil_token_count, "fewer sequences of tokens than of frames"},
        {MX_OP_sequence_loss, spoil_sequence_loss_kind, "an unknown loss"},
        {MX_OP_pitch_loss, spoil_classes, "more classes than allowed"},
        {MX_OP_pitch_loss, spoil_pitch_range, "an empty range of pitch"},
        {MX_OP_mel, spoil_fft_size, "a transform of no power of two"},
        {MX_OP_mel, spoil_hop, "frames that leave samples out"},
        {MX_OP_mel, spoil_frame_count, "fewer utterances of frames than of samples"},
        {MX_OP_mel, spoil_floor, "a logarithm of 0"},
        {MX_OP_mel, spoil_mean, "a mean that is no number"},
        {MX_OP_log_magnitude, spoil_magnitude_hop, "a hop of 0"},
        {MX_OP_log_magnitude, spoil_magnitude_least, "a logarithm of 0"},
        {MX_OP_pitch, spoil_low_hz, "a period longer than a frame"},
        {MX_OP_pitch, spoil_high_hz, "a period of one sample"},
        {MX_OP_pitch, spoil_low_high, "an empty range of pitch"},
        {MX_OP_pitch, spoil_change, "a negative cost"},
        {MX_OP_mel_blur, spoil_blur_width, "rows that are too wide"},
        {MX_OP_mel_inverse, spoil_iterations, "a negative number of iterations"},
        {MX_OP_griffin_step, spoil_momentum, "a momentum that is no number"},
        {MX_OP_overlap_add, spoil_least, "a division by 0"},
        {MX_OP_mel_base, spoil_base_deviation, "a deviation that is no number"},
        {MX_OP_mel_project, spoil_rounds, "a negative number of rounds"},
        {MX_OP_mel_project, spoil_project_lower, "a negative limit below"},
        {MX_OP_mel_project, spoil_project_raise, "a negative limit above"},
        {MX_OP_mel_project, spoil_project_floor, "a logarithm of 0"},
        {MX_OP_harmonics, spoil_harmonics_hop, "no samples between frames"},
        {MX_OP_harmonics, spoil_harmonics_rate, "a rate that is no number"},
        {MX_OP_harmonics, spoil_harmonics_limit, "harmonics above half the rate"},
        {MX_OP_harmonics, spoil_harmonics_fade, "a division by 0"},
        {MX_OP_harmonics, spoil_harmonics_fade_all, "a fade from below 0 Hz"},
        {MX_OP_harmonics, spoil_harmonics_level, "an infinite level"},
        {MX_OP_texture, spoil_texture_reach, "a reach beyond the largest"},
        {MX_OP_texture, spoil_texture_colour, "a colour that is no number"},
        {MX_OP_texture, spoil_texture_least, "a logarithm of 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_spoiled(*state, cases[i].op, cases[i].spoil, cases[i].what);
}

/* ---- wrong data ---- */

/* The case must fail on its stream, with words of the message, and leave the device usable. */
static void fails(struct fixture *fixture, const struct mx_op_case *c, const char *const words[2])
{
    struct mx_op_result result;
    assert_true(mx_op_case_run(c, fixture->cpu.device, &result) < 0);
    assert_int_not_equal(mx_error_last()->code, MX_ERR_INTERNAL);
    for (int i = 0; i < 2; i++)
        if (!strstr(mx_error_last()->message, words[i]))
            fail_msg("%s: the message '%s' does not say '%s'", mx_op_name(c->op), mx_error_last()->message, words[i]);
    assert_true(mx_error_last()->hint[0] != 0);
}

static void bad_ids(void **state)
{
    static const int32_t offsets[] = {0, -1, 1 << 30, INT32_MIN}; /* 0: the vocabulary itself */
    for (int o = 0; o < 4; o++) {
        for (int grad = 0; grad < 2; grad++) {
            struct mx_op_case c;
            op_case_make(&c, grad ? MX_OP_embedding_grad : MX_OP_embedding, 4,
                         (struct mx_op_plan){.size = MX_OP_LARGE, .plain = true});
            const int64_t vocabulary = grad ? ((struct mx_embedding_grad_args *)(void *)c.args)->vocabulary
                                            : ((struct mx_embedding_args *)(void *)c.args)->vocabulary;
            const int32_t bad = offsets[o] ? offsets[o] : (int32_t)vocabulary;
            char number[16];
            snprintf(number, sizeof number, "%d", bad);
            const char *const words[] = {"embedding", number};
            ((int32_t *)mx_op_case_data(&c, "ids"))[123] = bad;
            fails(*state, &c, words);
            mx_op_case_release(&c);
        }
    }
}

static void bad_durations(void **state)
{
    static const char *const words[] = {"durations_scan", "-3"};
    struct mx_op_case c;
    op_case_make(&c, MX_OP_durations_scan, 4, (struct mx_op_plan){.size = MX_OP_LARGE, .plain = true});
    ((int32_t *)mx_op_case_data(&c, "durations"))[1234] = -3;
    fails(*state, &c, words);
    mx_op_case_release(&c);
}

/* One offset or one entry of a table changed by one: frames that do not fit the samples, samples or rows left out, bins
 * that do not exist. None may be read or written. */
static void bad_audio(void **state)
{
    static const char *const frames[] = {"the frames do not fit the samples", ""};
    static const char *const table[] = {"mel", "bins or weights that do not exist"};
    static const char *const rows[] = {"the sequences do not cover the rows", ""};
    static const struct {
        enum mx_op op;
        const char *tensor, *const *words;
    } cases[] = {{MX_OP_spectrum, "offsets", frames},    {MX_OP_spectrum, "sample_offsets", frames},
                 {MX_OP_overlap_add, "offsets", frames}, {MX_OP_overlap_add, "sample_offsets", frames},
                 {MX_OP_mel, "offsets", frames},         {MX_OP_mel, "sample_offsets", frames},
                 {MX_OP_pitch, "offsets", frames},       {MX_OP_pitch, "sample_offsets", frames},
                 {MX_OP_noise, "offsets", rows},         {MX_OP_mask, "offsets", rows},
                 {MX_OP_sequence_loss, "offsets", rows}, {MX_OP_pitch_loss, "offsets", rows},
                 {MX_OP_mel_blur, "offsets", rows}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int last = 0; last < 2; last++) {
            struct mx_op_case c;
            op_case_make(&c, cases[i].op, 4, (struct mx_op_plan){.size = MX_OP_LARGE, .plain = true});
            ((int32_t *)mx_op_case_data(&c, cases[i].tensor))[last ? c.sequences : 0] += 1 << 20;
            fails(*state, &c, cases[i].words);
            mx_op_case_release(&c);
        }
    for (int entry = 0; entry < 4; entry++) { /* the way back */
        struct mx_op_case c;
        op_case_make(&c, MX_OP_mel_inverse, 4, (struct mx_op_plan){.size = MX_OP_LARGE, .plain = true});
        const struct mx_mel_inverse_args *a = (const void *)c.args;
        int32_t *first = (int32_t *)mx_op_case_data(&c, "tables") + 3 * a->fft_size, *ends = first + a->bands;
        int32_t *const places[] = {&first[0], &first[0], &ends[0], &ends[a->bands]};
        const int32_t values[] = {-1, a->fft_size, -1, a->weights + 1};
        *places[entry] = values[entry];
        fails(*state, &c, table);
        mx_op_case_release(&c);
    }
    for (int entry = 0; entry < 4; entry++) {
        struct mx_op_case c;
        op_case_make(&c, MX_OP_mel_base, 4, (struct mx_op_plan){.size = MX_OP_LARGE, .plain = true});
        const struct mx_mel_base_args *a = (const void *)c.args;
        int32_t *first = (int32_t *)mx_op_case_data(&c, "tables") + 3 * a->fft_size;
        int32_t *low = mx_op_case_data(&c, "places"), *high = low + a->fft_size / 2 + 1;
        int32_t *const places[] = {&first[0], &low[0], &low[3], &high[a->fft_size / 2]};
        const int32_t values[] = {a->fft_size, -1, a->bands, a->bands};
        *places[entry] = values[entry];
        fails(*state, &c, table);
        mx_op_case_release(&c);
    }
    for (int entry = 0; entry < 6; entry++) {
        struct mx_op_case c;
        op_case_make(&c, MX_OP_mel_project, 4, (struct mx_op_plan){.size = MX_OP_LARGE, .plain = true});
        const struct mx_mel_project_args *a = (const void *)c.args;
        int32_t *first = (int32_t *)mx_op_case_data(&c, "tables") + 3 * a->fft_size, *ends = first + a->bands;
        int32_t *low = mx_op_case_data(&c, "places"), *high = low + a->fft_size / 2 + 1;
        int32_t *const places[] = {&first[0], &ends[a->bands], &low[0], &low[3], &high[1], &high[a->fft_size / 2]};
        const int32_t values[] = {-1, a->weights + 1, -1, a->bands, -1, a->bands};
        *places[entry] = values[entry];
        fails(*state, &c, table);
        mx_op_case_release(&c);
    }
    for (int entry = 0; entry < 4; entry++) {
        struct mx_op_case c;
        op_case_make(&c, MX_OP_mel, 4, (struct mx_op_plan){.size = MX_OP_LARGE, .plain = true});
        const struct mx_mel_args *a = (const void *)c.args;
        int32_t *first = (int32_t *)mx_op_case_data(&c, "tables") + 3 * a->fft_size, *ends = first + a->bands;
        int32_t *const places[] = {&first[1], &first[1], &ends[0], &ends[a->bands]};
        const int32_t values[] = {-1, a->fft_size, -1, a->weights + 1};
        *places[entry] = values[entry];
        fails(*state, &c, table);
        mx_op_case_release(&c);
    }
}

/* Segments outside their utterance, utterances that do not exist, offsets that do not cover the rows. */
static void bad_segments(void **state)
{
    static const char *const segment[] = {"log_magnitude: segment 0 is not within an utterance", ""};
    static const char *const rows[] = {"log_magnitude: the sequences do not cover the rows", ""};
    for (int entry = 0; entry < 8; entry++) {
        struct mx_op_case c;
        op_case_make(&c, MX_OP_log_magnitude, 4, (struct mx_op_plan){.size = MX_OP_LARGE, .plain = true});
        const struct mx_log_magnitude_args *a = (const void *)c.args;
        int32_t *places = mx_op_case_data(&c, "places"), *out = mx_op_case_data(&c, "offsets");
        int32_t *samples = mx_op_case_data(&c, "sample_offsets");
        const int32_t n = samples[places[0] + 1] - samples[places[0]], frames = n > 0 ? 1 + n / a->hop : 0;
        int32_t *const at[] = {&places[0], &places[0],         &places[1],  &places[1],
                               &out[0],    &out[a->out.count], &samples[0], &samples[a->samples.count]};
        const int32_t values[] = {-1, a->samples.count, -1, frames - (out[1] - out[0]) + 1,
                                  1,  a->out.rows + 1,  1,  a->samples.rows + 1};
        *at[entry] = values[entry];
        fails(*state, &c, entry < 4 ? segment : rows);
        mx_op_case_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OP_TESTS_LIST cmocka_unit_test(refuse_ranges),
        cmocka_unit_test(bad_ids),
        cmocka_unit_test(bad_durations),
        cmocka_unit_test(bad_audio),
        cmocka_unit_test(bad_segments),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
