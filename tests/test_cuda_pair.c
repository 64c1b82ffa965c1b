/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two CUDA devices (the double, tests/double) train both networks from sound for ten steps, beside two devices of the
 * CPU that do the same: features on the first, the model on the second; through the host or from device to device, as
 * single launches or as graphs, shared or not, in fp32 and with products of bf16 numbers. And a voice says a sentence on
 * both. With CUDA_DOUBLE_PTX=1 all of it is done by what the real NVRTC makes of the kernels (`make test-ptx`).
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "support/cuda.h"
#include "support/recording.h"
#include "support/training_rig.h"
#include "support/voice_rig.h"

#define STEPS     10
#define ALLOWED   1e-3   /* of a loss */
#define HALF      0x1p-7 /* the same with bf16 numbers, where several factors in a row are each rounded by 2^-9 */
#define RATE      1e-3
#define HALF_RATE 1e-4 /* which keeps the weights near: test_cuda_train compares longer ways state by state */
#define SHARES    "0:0.5,3:0,5:0.45"
#define SOUND_MAX (8 * 22050)

enum { ACOUSTIC, VOCODER, NETWORKS };
struct losses {
    double of[NETWORKS][STEPS];
};

static struct mx_trainer_options options_of(struct mx_device *data, struct mx_device *model, bool mixed)
{
    struct mx_trainer_options o = training_flow(training_options(TRAINING_SOUND), true, 1, 2);
    o.device = model;
    o.flow.data_device = data;
    o.model.mixed = mixed;
    o.optimizer.schedule.peak = mixed ? HALF_RATE : RATE;
    o.validation_limit = 0;
    o.batch_size = 2; /* the double is slow */
    o.with_vocoder = true;
    o.vocoder = (struct mx_trainer_vocoder){.size = {"tiny", 16, 1, 32},
                                            .weights = mx_vocoder_loss_weights_default,
                                            .mixed = mixed,
                                            .segments = {.count = 2, .frames = 16, .augment = 0.67},
                                            .predicted_from = 6,
                                            .predicted_share = 0.5,
                                            .optimizer = {.schedule = {.peak = mixed ? HALF_RATE : RATE,
                                                                       .floor = 0.1,
                                                                       .warmup = 2,
                                                                       .steps = 60,
                                                                       .cycles = 1,
                                                                       .cycle_decay = 1},
                                                          .grad_clip = 2,
                                                          .beta1 = 0.9,
                                                          .beta2 = 0.99,
                                                          .epsilon = 1e-9,
                                                          .weight_decay = 0.01,
                                                          .ema_decay = 0.9}};
    return o;
}

static struct losses losses_of(const struct mx_trainer_options *o)
{
    struct losses out;
    struct mx_trainer_report report;
    struct mx_trainer *const trainer = training_start(o, NULL, NULL);
    for (int i = 0; i < STEPS; i++) {
        training_step(trainer, &report);
        out.of[ACOUSTIC][i] = report.losses.total;
        out.of[VOCODER][i] = report.vocoder.losses.total;
        assert_true((report.shared_frames > 0) ==
                    (o->flow.share == MX_SHARE_ON && mx_shares_at(&o->flow.shares, i) > 0));
    }
    mx_trainer_destroy(trainer);
    return out;
}

static void compare(const struct losses *here, const struct losses *there, double allowed)
{
    double most[NETWORKS] = {0};
    for (int n = 0; n < NETWORKS; n++) {
        for (int i = 0; i < STEPS; i++) {
            const double apart = fabs(here->of[n][i] - there->of[n][i]) / fabs(here->of[n][i]);
            if (!(apart <= allowed))
                fail_msg("%s, step %d: the loss is %.7g on the CPU and %.7g on CUDA",
                         n == ACOUSTIC ? "acoustic network" : "vocoder", i + 1, here->of[n][i], there->of[n][i]);
            most[n] = fmax(most[n], apart);
        }
        assert_true(here->of[n][STEPS - 1] < here->of[n][0]); /* it learns */
    }
    print_message("losses of %d steps: apart by up to %.1e (acoustic network) and %.1e (vocoder)\n", STEPS,
                  most[ACOUSTIC], most[VOCODER]);
}

/* `peer`: as in tests/double/double.h. */
static void follows(long peer, bool graphs, bool shared, bool mixed)
{
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    if (mixed && cuda->get("capability") < 80) skip();
    cuda->set("peer", peer);
    assert_int_equal(cuda_open(&pair, 2), 0);
    struct mx_trainer_options o = options_of(pair.devices[0], pair.devices[1], mixed);
    o.flow.static_shapes = graphs;
    if (shared) {
        o.flow.share = MX_SHARE_ON;
        assert_int_equal(mx_shares_parse(SHARES, &o.flow.shares), 0);
    }
    const struct losses found = losses_of(&o);
    cuda_close(&pair);
    /* The same on the CPU, with bf16 where it has it, too. */
    const bool half = mixed && mx_device_info(training.model)->caps.bf16_multiply;
    o.device = training.model;
    o.flow.data_device = training.data;
    o.model.mixed = o.vocoder.mixed = half;
    const struct losses expected = losses_of(&o);
    compare(&expected, &found, mixed ? HALF : ALLOWED);
    assert_true((cuda->get("peer_copies") > 0) == (peer == 1));
    assert_true((cuda->get("graph_launches") > 0) == graphs);
    if (cuda->get("ptx") != 0) assert_int_equal(cuda->get("executed"), cuda->get("launches"));
    cuda_assert_clean(cuda);
}

static void test_through_the_host(void **state)
{
    (void)state;
    follows(0, false, false, false);
}

static void test_graphs_and_shares(void **state)
{
    (void)state;
    follows(1, true, true, false);
}

static void test_bf16(void **state)
{
    (void)state;
    follows(1, true, false, true);
}

/* ---- speech ---- */

/* A sentence on a device; returns the number of samples. */
static size_t spoken(const char *run, const char *device, float *out)
{
    static const char text[] = "Two devices say it.";
    const struct mx_voice_options options = {.size = sizeof options, .device = device, .rounds = 2};
    const struct mx_sound_chunk *chunk;
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    size_t count = 0;
    if (mx_voice_open(run, &options, &voice) < 0) fail_msg("%s", mx_error_last()->message);
    assert_int_equal(mx_speaker_create(voice, &speaker), 0);
    assert_int_equal(mx_speaker_begin(speaker, text, strlen(text), NULL), 0);
    int rc;
    while ((rc = mx_speaker_next(speaker, &chunk)) == 1) {
        assert_true(count + chunk->count <= SOUND_MAX);
        memcpy(out + count, chunk->samples, chunk->count * sizeof *out);
        count += chunk->count;
    }
    assert_int_equal(rc, 0);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
    return count;
}

static void test_speech(void **state)
{
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    char *const folder = folder_make(), *const run = voice_rig_make(folder, "voice", 5, true);
    float *const here = mx_alloc(SOUND_MAX, sizeof *here), *const there = mx_alloc(SOUND_MAX, sizeof *there);
    const size_t count = spoken(run, "cpu:0", here);
    double apart = 0, sound = 0;
    assert_int_equal(spoken(run, "cuda:0", there), count);
    assert_true(count > 0 && cuda->get("launches") > 0);
    for (size_t i = 0; i < count; i++) {
        apart += ((double)here[i] - (double)there[i]) * ((double)here[i] - (double)there[i]);
        sound += (double)here[i] * (double)here[i];
    }
    print_message("%zu samples: apart by %.1e of the sound\n", count, sqrt(apart / sound));
    assert_true(sound > 0 && sqrt(apart / sound) <= ALLOWED);
    mx_free(here);
    mx_free(there);
    mx_free(run);
    folder_remove(folder);
    cuda_assert_clean(cuda);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_through_the_host),
        cmocka_unit_test(test_graphs_and_shares),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_speech),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, training_open, training_close);
}
