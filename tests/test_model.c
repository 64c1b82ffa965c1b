/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The model as a whole: it learns one batch by heart and can then speak it; an utterance's results do not depend on
 * what else is in the batch; the same bits come out twice, with one worker and with all, with checkpointing and
 * without; no step allocates; what does not fit is refused. (Its gradient: test_model_grad.)
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "support/model_rig.h"

/* ---- learning ---- */

static void overfits_one_batch(void **state)
{
    (void)state;
    enum { STEPS = 500 };
    struct mx_model_config config = rig_config();
    struct rig rig;
    struct batch batch;
    config.size.width = 48;
    config.size.hidden = 192;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    batch_make(&batch, &config, 0.02f);
    rig_load(&rig, batch.utterances, RIG_BATCH);
    const struct mx_model_losses start = rig_teach(&rig, 0);
    for (int i = 0; i < STEPS; i++) {
        const float warm = (float)(i + 1) / 20, cool = 0.5f + 0.5f * cosf(3.14159f * (float)i / STEPS);
        rig_update(&rig, 4e-3f * (warm < 1 ? warm : 1) * cool);
        rig_teach(&rig, 0);
    }
    const struct mx_model_losses end = rig_evaluate(&rig);
    /* What learning by heart must come to at least: a part that does not learn stays where it was. No bound of
     * rounding. */
    for (int k = 0; k < MX_MODEL_LOSSES; k++)
        if (!(end.values[k] < 0.1 * start.values[k]))
            fail_msg("loss %d went from %g to %g only", k, start.values[k], end.values[k]);
    if (!(end.total < 0.05 * start.total)) fail_msg("the loss went from %g to %g only", start.total, end.total);

    /* The durations that were found are the true ones (except for neighbours that are the same symbol, whose border nobody
     * can know), and those that the model speaks by itself are nearly the same. */
    struct mx_speech speech;
    float *found = rig_download(&rig, mx_model_view(rig.model).durations, rig.batch.tokens.rows);
    assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, NULL, &speech), 0);
    for (int s = 0, all = 0; s < RIG_BATCH; s++) {
        const struct utterance *u = &batch.utterances[s];
        int32_t found_end = 0, true_end = 0;
        for (int t = 0; t < u->tokens; t++, all++) {
            int32_t duration;
            memcpy(&duration, &found[all], sizeof duration);
            found_end += duration;
            true_end += u->durations[t];
            if (t + 1 < u->tokens && u->ids[t] == u->ids[t + 1]) continue;
            if (found_end != true_end) fail_msg("token %d of %d ends at %d instead of %d", t, s, found_end, true_end);
            assert_true(abs(speech.durations[all] - duration) <= 1);
        }
    }
    mx_free(found);
    batch_release(&batch);
    rig_close(&rig);
}

/* ---- batches ---- */

/* Runs the batch and keeps what belongs to its sequences. */
struct outcome {
    float *mel, *voices, *spoken;
    int64_t frames, spoken_frames;
    int32_t spoken_offsets[RIG_BATCH + 1];
    struct mx_model_losses losses[RIG_BATCH];
};

static void outcome_take(struct outcome *o, struct rig *rig, const struct utterance *utterances, int count)
{
    const struct mx_model_config *config = mx_model_config(rig->model);
    struct mx_speech speech;
    rig_load(rig, utterances, count);
    rig_evaluate(rig);
    o->frames = rig->batch.frames.rows;
    o->mel = rig_download(rig, mx_model_view(rig->model).mel, o->frames * config->bands);
    o->voices = rig_download(rig, mx_model_view(rig->model).voices, count * config->size.width);
    for (int s = 0; s < count; s++) o->losses[s] = rig_losses_of(rig, s, &utterances[s]);
    assert_int_equal(mx_model_synthesize(rig->model, rig->stream, rig_parameters(rig), &rig->batch, NULL, &speech), 0);
    memcpy(o->spoken_offsets, speech.frame_offsets, ((size_t)count + 1) * sizeof *o->spoken_offsets);
    o->spoken_frames = speech.frames.rows;
    o->spoken = rig_download(rig, speech.mel, o->spoken_frames * config->bands);
}

static void outcome_release(struct outcome *o)
{
    mx_free(o->mel);
    mx_free(o->voices);
    mx_free(o->spoken);
}

/* Sequence `sa` of a, whose frames begin at `frame`, is sequence `sb` of b, bit for bit. */
static void same_sequence(const struct mx_model_config *config, const struct outcome *a, int sa, int64_t frame_a,
                          const struct outcome *b, int sb, int64_t frame_b, const struct utterance *u)
{
    const int64_t spoken = a->spoken_offsets[sa + 1] - a->spoken_offsets[sa];
    rig_same_words(a->mel + frame_a * config->bands, b->mel + frame_b * config->bands,
                   (int64_t)u->frames * config->bands, "mel");
    rig_same_words(a->voices + sa * config->size.width, b->voices + sb * config->size.width, config->size.width,
                   "voice");
    assert_int_equal(spoken, b->spoken_offsets[sb + 1] - b->spoken_offsets[sb]);
    rig_same_words(a->spoken + (int64_t)a->spoken_offsets[sa] * config->bands,
                   b->spoken + (int64_t)b->spoken_offsets[sb] * config->bands, spoken * config->bands, "speech");
    assert_memory_equal(&a->losses[sa], &b->losses[sb], sizeof a->losses[sa]);
}

/* Listening alone makes the vectors that speaking makes of the same references. */
static void listening_makes_the_same_voices(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    struct rig rig;
    struct batch batch;
    rig_open(&rig, &config, MX_MODEL_SPEAK, 1, true);
    batch_make(&batch, &config, 0.3f);
    rig_load(&rig, batch.utterances, RIG_BATCH);
    struct mx_speech speech;
    const int64_t count = (int64_t)RIG_BATCH * config.size.width;
    assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, NULL, &speech), 0);
    const struct mx_slice voices = mx_model_view(rig.model).voices;
    float *const spoken = rig_download(&rig, voices, count);
    assert_int_equal(mx_fill(rig.stream, &(struct mx_fill_args){.x = voices, .count = count, .value = 7}), 0);
    rig.batch.tokens = (struct mx_ragged){0}; /* they are not looked at */
    assert_int_equal(mx_model_listen(rig.model, rig.stream, rig_parameters(&rig), &rig.batch), 0);
    float *const heard = rig_download(&rig, voices, count);
    rig_same_words(spoken, heard, count, "voice");
    rig.batch.references.rows = mx_model_capacity(rig.model)->references + 1;
    assert_int_equal(mx_model_listen(rig.model, rig.stream, rig_parameters(&rig), &rig.batch), MX_ERR_ARGUMENT);
    rig.batch.references.count = 0;
    assert_int_equal(mx_model_listen(rig.model, rig.stream, rig_parameters(&rig), &rig.batch), MX_ERR_ARGUMENT);
    mx_free(spoken);
    mx_free(heard);
    batch_release(&batch);
    rig_close(&rig);
}

/* Vectors that were made of references say what the references say; and each sequence has its own options. */
static void voices_instead_of_references(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    const int64_t width = config.size.width;
    struct mx_speech_options options[RIG_BATCH];
    struct rig rig;
    struct batch batch;
    struct outcome whole;
    struct mx_speech speech;
    struct mx_buffer *voices;
    const size_t bytes = (size_t)(RIG_BATCH * width) * sizeof(float);
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, true);
    batch_make(&batch, &config, 0.3f);
    outcome_take(&whole, &rig, batch.utterances, RIG_BATCH);
    assert_int_equal(mx_buffer_create(rig.cpu.device, "test", bytes, &voices), 0);
    assert_int_equal(mx_copy_upload(rig.stream, mx_slice_at(voices, 0), whole.voices, bytes), 0);
    rig.batch.voices = mx_slice_at(voices, 0);
    rig.batch.references = (struct mx_ragged){0};
    for (int s = 0; s < RIG_BATCH; s++) options[s] = MX_SPEECH_OPTIONS_DEFAULT;
    options[1].pitch_shift = 0.5f;
    options[1].energy_scale = 0.5f;
    assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, options, &speech), 0);
    float *const mel = rig_download(&rig, speech.mel, speech.frames.rows * (int64_t)config.bands);
    for (int s = 0; s < RIG_BATCH; s++) {
        const int32_t *const now = speech.frame_offsets + s, *const before = whole.spoken_offsets + s;
        const int64_t count = (int64_t)(before[1] - before[0]) * config.bands;
        const float *const a = mel + (int64_t)now[0] * config.bands;
        const float *const b = whole.spoken + (int64_t)before[0] * config.bands;
        assert_int_equal(now[1] - now[0], before[1] - before[0]);
        if (s == 1)
            assert_true(memcmp(a, b, (size_t)count * sizeof *a) != 0);
        else
            rig_same_words(a, b, count, "speech");
    }
    mx_free(mel);
    mx_buffer_release(voices);
    outcome_release(&whole);
    batch_release(&batch);
    rig_close(&rig);
}

static void alone_as_in_a_batch(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    struct rig rig;
    struct batch batch;
    struct outcome whole, alone;
    int64_t frame = 0;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, true);
    batch_make(&batch, &config, 0.3f);
    outcome_take(&whole, &rig, batch.utterances, RIG_BATCH);
    for (int s = 0; s < RIG_BATCH; s++) {
        outcome_take(&alone, &rig, &batch.utterances[s], 1);
        same_sequence(&config, &whole, s, frame, &alone, 0, 0, &batch.utterances[s]);
        frame += batch.utterances[s].frames;
        outcome_release(&alone);
    }
    outcome_release(&whole);
    batch_release(&batch);
    rig_close(&rig);
}

/* Everything about one utterance becomes NaN or another token; its neighbours do not notice. */
static void nothing_leaks_to_neighbours(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    struct rig rig;
    struct batch batch;
    struct outcome clean, spoiled;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, true);
    batch_make(&batch, &config, 0.3f);
    outcome_take(&clean, &rig, batch.utterances, RIG_BATCH);
    struct utterance *u = &batch.utterances[1];
    for (int i = 0; i < u->frames * config.bands; i++) u->mel[i] = NAN;
    for (int i = 0; i < u->frames; i++) u->pitch[i] = u->energy[i] = NAN;
    for (int t = 0; t < u->tokens; t++) u->ids[t] = (u->ids[t] + 1) % RIG_SYMBOLS;
    for (int i = 0; i < u->references * config.bands; i++) u->reference[i] += 1;
    u->language = 1 - u->language;
    outcome_take(&spoiled, &rig, batch.utterances, RIG_BATCH);
    assert_true(isnan(spoiled.losses[1].total)); /* it was read at all */
    int64_t frame = 0;
    for (int s = 0; s < RIG_BATCH; s++) {
        if (s != 1) same_sequence(&config, &clean, s, frame, &spoiled, s, frame, &batch.utterances[s]);
        frame += batch.utterances[s].frames;
    }
    outcome_release(&spoiled);
    outcome_release(&clean);
    batch_release(&batch);
    rig_close(&rig);
}

/* Token order, language and reference each change what is said. */
static void every_input_counts(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    struct rig rig;
    struct utterance u;
    struct outcome first, other;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, true);
    for (int what = 0; what < 3; what++) {
        utterance_make(&u, &config, 70, 0, 0.3f);
        u.ids[0] = 3;
        u.ids[1] = 4;
        outcome_take(&first, &rig, &u, 1);
        if (what == 0) {
            u.ids[0] = 4;
            u.ids[1] = 3;
        } else if (what == 1) {
            u.language = 1 - u.language;
        } else {
            for (int i = 0; i < u.references * config.bands; i++) u.reference[i] = -u.reference[i];
        }
        outcome_take(&other, &rig, &u, 1);
        assert_memory_not_equal(first.mel, other.mel, (size_t)u.frames * (size_t)config.bands * sizeof(float));
        outcome_release(&other);
        outcome_release(&first);
        utterance_release(&u);
    }
    rig_close(&rig);
}

/* ---- bits ---- */

static void same_bits_again(void **state)
{
    (void)state;
    rig_same_bits(rig_config());
}

static void dropout_follows_the_step(void **state)
{
    (void)state;
    struct mx_model_config config = rig_config();
    struct rig rig;
    struct batch batch;
    config.dropout = 0.2f;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, true);
    batch_make(&batch, &config, 0.3f);
    rig_load(&rig, batch.utterances, RIG_BATCH);
    const double one = rig_teach(&rig, 1).total, two = rig_teach(&rig, 2).total, again = rig_teach(&rig, 1).total;
    const double none = rig_evaluate(&rig).total;
    assert_true(one == again && one != two && none != one && none != two);
    batch_release(&batch);
    rig_close(&rig);
}

static void no_step_allocates(void **state)
{
    (void)state;
    struct mx_model_config config = rig_config();
    struct rig rig;
    struct batch batch;
    struct mx_speech speech;
    config.dropout = 0.1f;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    batch_make(&batch, &config, 0.1f);
    rig_load(&rig, batch.utterances, RIG_BATCH);
    rig_teach(&rig, 0);
    rig_update(&rig, 1e-3f);
    const uint64_t before = mx_alloc_count();
    for (uint64_t i = 0; i < 5; i++) {
        rig_teach(&rig, i);
        rig_update(&rig, 1e-3f);
        assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, NULL, &speech),
                         0);
    }
    assert_int_equal(mx_alloc_count(), before);
    batch_release(&batch);
    rig_close(&rig);
}

/* ---- speaking ---- */

/* A model that was made for speaking alone says the same as one that trains. */
static void speaks_the_same_with_less_memory(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    float *said[2] = {NULL, NULL};
    int64_t frames[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        struct batch batch;
        struct mx_speech speech;
        rig_open(&rig, &config, i ? MX_MODEL_SPEAK : MX_MODEL_TRAIN, 1, true);
        batch_make(&batch, &config, 0.1f);
        rig_load(&rig, batch.utterances, RIG_BATCH);
        assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, NULL, &speech),
                         0);
        frames[i] = speech.frames.rows;
        said[i] = rig_download(&rig, speech.mel, frames[i] * config.bands);
        if (i) {
            assert_int_equal(mx_model_evaluate(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, NULL),
                             MX_ERR_ARGUMENT);
            assert_non_null(strstr(mx_error_last()->message, "speaking"));
        }
        batch_release(&batch);
        rig_close(&rig);
    }
    assert_int_equal(frames[0], frames[1]);
    rig_same_words(said[0], said[1], frames[0] * config.bands, "speech");
    mx_free(said[0]);
    mx_free(said[1]);
}

/* Sets the bias of the duration predictor, with weights 0: every token is to last `frames` frames. */
static void fix_durations(struct rig *rig, float frames)
{
    const struct mx_parameter *weight = mx_parameters_find(rig->table, "predictor.duration.out.weight");
    const struct mx_parameter *of_bias = mx_parameters_find(rig->table, "predictor.duration.out.bias");
    const float bias = log1pf(frames), zeros[16] = {0};
    rig_upload(rig, mx_slice_at(rig->flat[0], (size_t)weight->at * 4), zeros, 16);
    rig_upload(rig, mx_slice_at(rig->flat[0], (size_t)of_bias->at * 4), &bias, 1);
}

static void durations_add_up(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    struct rig rig;
    struct utterance u;
    struct mx_speech speech;
    struct mx_speech_options options = MX_SPEECH_OPTIONS_DEFAULT;
    rig_open(&rig, &config, MX_MODEL_SPEAK, 1, false);
    utterance_make(&u, &config, 3, 0, 0.1f);
    rig_load(&rig, &u, 1);
    fix_durations(&rig, 2.4f);
    static const float speeds[] = {1, 2, 0.8f};
    for (int i = 0; i < 3; i++) {
        options.speed = speeds[i];
        assert_int_equal(
            mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, &options, &speech), 0);
        const double wanted = 2.4 * u.tokens / (double)speeds[i];
        assert_true(fabs(speech.frames.rows - wanted) <= 0.51); /* a whole number of frames is within a half */
        assert_int_equal(speech.frame_offsets[1], speech.frames.rows);
        assert_int_equal(mx_stream_sync(rig.stream), 0);
    }
    /* Not shorter than a frame for each token, however fast. */
    options.speed = 1000;
    assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, &options, &speech),
                     0);
    assert_int_equal(speech.frames.rows, u.tokens);
    /* Longer than the memory, or no number at all: refused, and the model lives on. */
    options.speed = 1e-3f;
    assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, &options, &speech),
                     MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->hint, "capacity"));
    options.speed = 0;
    assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, &options, &speech),
                     MX_ERR_ARGUMENT);
    options.speed = 1;
    fix_durations(&rig, NAN);
    assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, &options, &speech),
                     MX_ERR_DATA);
    utterance_release(&u);
    rig_close(&rig);
}

static void pitch_and_energy_can_be_moved(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    struct rig rig;
    struct utterance u;
    struct mx_speech speech;
    float *said[3];
    static const struct mx_speech_options options[] = {
        {.speed = 1, .pitch_scale = 1, .energy_scale = 1},
        {.speed = 1, .pitch_scale = 1, .pitch_shift = 0.5f, .energy_scale = 1},
        {.speed = 1, .pitch_scale = 1, .energy_scale = 2}};
    rig_open(&rig, &config, MX_MODEL_SPEAK, 1, true);
    utterance_make(&u, &config, 3, 0, 0.1f);
    rig_load(&rig, &u, 1);
    float *pitch[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, &options[i], &speech), 0);
        said[i] = rig_download(&rig, speech.mel, speech.frames.rows * config.bands);
        pitch[i] = rig_download(&rig, mx_model_view(rig.model).predicted[MX_PREDICT_PITCH], u.tokens);
    }
    const size_t bytes = (size_t)speech.frames.rows * (size_t)config.bands * sizeof(float);
    assert_memory_not_equal(said[0], said[1], bytes);
    assert_memory_not_equal(said[0], said[2], bytes);
    /* Two sums are rounded, that of the model and the difference here. */
    for (int t = 0; t < u.tokens; t++)
        assert_true(fabsf(pitch[1][t] - pitch[0][t] - 0.5f) <= 0x1p-23f * (1 + fabsf(pitch[1][t])));
    for (int i = 0; i < 3; i++) {
        mx_free(said[i]);
        mx_free(pitch[i]);
    }
    utterance_release(&u);
    rig_close(&rig);
}

/* ---- refusals ---- */

static void too_large_a_batch_is_refused(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    struct rig rig;
    struct batch batch;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    batch_make(&batch, &config, 0.1f);
    rig_load(&rig, batch.utterances, RIG_BATCH);
    struct mx_model_batch bad[5];
    for (int i = 0; i < 5; i++) bad[i] = rig.batch;
    bad[0].tokens.count = bad[0].frames.count = bad[0].references.count = RIG_BATCH_MAX + 1;
    bad[1].tokens.rows = RIG_BATCH_MAX * RIG_TOKENS_MAX + 1;
    bad[2].frames.rows = RIG_BATCH_MAX * RIG_FRAMES_MAX + 1;
    bad[3].frames.count--;
    bad[4].tokens.count = bad[4].frames.count = bad[4].references.count = 0;
    for (int i = 0; i < 5; i++) {
        mx_error_clear();
        assert_int_equal(mx_model_evaluate(rig.model, rig.stream, rig_parameters(&rig), &bad[i], NULL),
                         MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
    }
    const struct mx_model_pass_info step = {0};
    assert_int_equal(mx_model_forward_backward(rig.model, rig.stream, rig_parameters(&rig), (struct mx_slice){0},
                                               &rig.batch, &step, NULL),
                     MX_ERR_ARGUMENT);
    rig_evaluate(&rig); /* the stream is unharmed */
    batch_release(&batch);
    rig_close(&rig);
}

/* Over the device's limit, or out of host memory at any point: an error, and nothing is left behind. */
static void creation_that_fails_leaves_nothing(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    const struct mx_model_capacity capacity = {.sequences = 2, .tokens = 20, .frames = 100, .references = 10};
    struct mx_model *model = NULL;
    struct rig rig;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    for (uint64_t nth = 1;; nth++) {
        mx_alloc_fail_at(nth);
        const int rc = mx_model_create(rig.cpu.device, rig.stream, &config, &capacity, MX_MODEL_TRAIN, &model);
        mx_alloc_fail_at(0);
        if (rc == 0) break;
        assert_null(model);
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
        assert_true(nth < 100);
    }
    mx_model_destroy(model);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overfits_one_batch),
        cmocka_unit_test(alone_as_in_a_batch),
        cmocka_unit_test(listening_makes_the_same_voices),
        cmocka_unit_test(voices_instead_of_references),
        cmocka_unit_test(nothing_leaks_to_neighbours),
        cmocka_unit_test(every_input_counts),
        cmocka_unit_test(same_bits_again),
        cmocka_unit_test(dropout_follows_the_step),
        cmocka_unit_test(no_step_allocates),
        cmocka_unit_test(speaks_the_same_with_less_memory),
        cmocka_unit_test(durations_add_up),
        cmocka_unit_test(pitch_and_energy_can_be_moved),
        cmocka_unit_test(too_large_a_batch_is_refused),
        cmocka_unit_test(creation_that_fails_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
