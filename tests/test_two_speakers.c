/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Voices are learned from references: a very small network is trained on two synthetic speakers who say the same texts,
 * one deep and dark, one high and bright. Then each text is spoken with a recording of either of them as reference. The
 * pitch and the mel must be those of the speaker of the reference, by a margin, and exchanging the references must
 * exchange the voices: the text cannot carry them, since both speakers said it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "support/cores.h"
#include "support/recording.h"
#include "support/training_rig.h"
#include "train/dtw.h"
#include "train/feed/batch.h"

#define RATE              22050
#define SPEAKERS          2
#define TEXTS             8
#define LETTERS           6 /* of a text */
#define LETTER_SECONDS    0.15
#define REFERENCE_SECONDS 0.6 /* shorter than any recording, so that all references have the same length */
#define STEPS             240
#define SEED              5
#define FRAMES_MAX        400

/* A speaker: the pitch, how much higher than written the resonances lie, and how fast the overtones fade. */
static const struct {
    const char *name;
    double pitch_hz, resonance, fade;
} speakers[SPEAKERS] = {{"bright", 230, 1.3, 0.5}, {"deep", 110, 0.8, 1.2}};

static const char letters[] = "aeioumn";
static const double resonances_hz[] = {800, 550, 350, 600, 400, 300, 1000};

static struct mx_trainer *trainer;

/* ---- the corpus ---- */

static int letter_at(int text, int place)
{
    return (text * 5 + place * (text % 3 + 2) + place * place) % (int)(sizeof letters - 1);
}

/* A text as its speaker says it: for each letter, overtones with a resonance. */
static void recording_make(const char *folder, int speaker, int text)
{
    enum { COUNT = (int)(LETTERS * LETTER_SECONDS * RATE) };
    static int16_t samples[COUNT];
    char name[48];
    double phase = 0;
    for (int i = 0; i < COUNT; i++) {
        const int place = (int)(i / (LETTER_SECONDS * RATE));
        const double hz = speakers[speaker].pitch_hz * (1 + 0.03 * sin(i * 2e-4 + text));
        const double peak = resonances_hz[letter_at(text, place)] * speakers[speaker].resonance;
        double value = 0;
        phase += 2 * M_PI * hz / RATE;
        for (int k = 1; k * hz < 5000; k++) {
            const double off = (k * hz - peak) / 200;
            value += sin(k * phase) * (pow(k, -speakers[speaker].fade) * 0.2 + exp(-off * off));
        }
        samples[i] = (int16_t)lround(2500 * value);
    }
    snprintf(name, sizeof name, "wavs/%s-%d.wav", speakers[speaker].name, text);
    wav_lie(folder, name, RATE, 2 * COUNT, samples, COUNT);
}

static void corpus_make(const char *folder)
{
    struct mx_string manifest = {0};
    folder_add(folder, "wavs");
    for (int speaker = 0; speaker < SPEAKERS; speaker++)
        for (int text = 0; text < TEXTS; text++) {
            recording_make(folder, speaker, text);
            mx_string_append(&manifest, "%s-%d|%s|", speakers[speaker].name, text, speakers[speaker].name);
            for (int i = 0; i < LETTERS; i++) mx_string_append(&manifest, "%c", letters[letter_at(text, i)]);
            mx_string_append(&manifest, "\n");
        }
    file_put_text(folder, "metadata.csv", manifest.data);
    mx_string_release(&manifest);
}

/* Utterance of a speaker and a text. */
static uint32_t utterance_of(int speaker, int text)
{
    char id[32];
    snprintf(id, sizeof id, "%s-%d", speakers[speaker].name, text);
    for (uint32_t i = 0; i < mx_dataset_count(training.recordings); i++)
        if (strcmp(mx_dataset_utterance(training.recordings, i)->id, id) == 0) return i;
    fail_msg("no utterance %s", id);
    return 0;
}

/* ---- training ---- */

static void train(void)
{
    static const struct mx_model_size small = {"test", 32, 2, 1, 1, 64};
    struct mx_trainer_options o = training_flow(training_options_of(training.recordings), false, 1, 2);
    struct mx_trainer_report report;
    o.model = mx_model_config_default(&small, o.model.vocabulary, o.model.languages);
    o.model.dropout = 0;
    o.optimizer.schedule =
        (struct mx_schedule){.peak = 2e-3, .floor = 0.05, .warmup = 10, .steps = STEPS, .cycles = 1, .cycle_decay = 1};
    o.seed = SEED;
    o.batch_size = 8;
    o.reference_seconds = REFERENCE_SECONDS;
    o.optimizer.weight_decay = 0;
    o.optimizer.ema_decay = 0.95;
    trainer = training_start(&o, NULL, NULL);
    for (int i = 0; i < STEPS; i++) training_step(trainer, &report);
}

static int group_open(void **state)
{
    (void)state;
    const struct mx_manifest_options manifest = {.format = MX_MANIFEST_PIPER}; /* id|speaker|text; all to train on */
    if (training_open_folder(corpus_make, &manifest) < 0) return -1;
    if (mx_dataset_speaker_count(training.recordings) != SPEAKERS) return -1;
    train();
    return 0;
}

static int group_close(void **state)
{
    mx_trainer_destroy(trainer);
    return training_close(state);
}

/* ---- speaking ---- */

struct sound {
    int32_t frames, tokens;
    double pitch_hz; /* mean of the tokens */
    float mel[FRAMES_MAX * 80];
};

/* What speaks: the parts between a list of utterances and the network. */
struct stage {
    struct mx_batch_source *source;
    struct mx_dataset_reader *reader;
    struct mx_host_batch *host;
    struct mx_batch_builder *batch;
    struct mx_model *model; /* with more room than the trainer's, which is as long as the recordings */
};

static void stage_open(struct stage *s)
{
    uint32_t all[SPEAKERS * TEXTS];
    struct mx_host_batch_capacity capacity;
    const struct mx_trainer_voice voice = mx_trainer_voice(trainer);
    const struct mx_batch_source_options how = {.dataset = training.recordings,
                                                .normaliser = training.normaliser,
                                                .seed = SEED,
                                                .reference_seconds = REFERENCE_SECONDS};
    for (uint32_t i = 0; i < SPEAKERS * TEXTS; i++) all[i] = i;
    assert_int_equal(mx_batch_source_create(&how, &s->source), 0);
    assert_int_equal(mx_batch_source_capacity(s->source, all, SPEAKERS * TEXTS, 2, 0, &capacity), 0);
    const struct mx_batch_builder_options batch = {
        .capacity = capacity, .normaliser = training.normaliser, .own = true};
    assert_int_equal(mx_dataset_reader_create(training.recordings, &s->reader), 0);
    assert_int_equal(mx_host_batch_create(s->source, training.model, &capacity, &s->host), 0);
    assert_int_equal(mx_batch_builder_create(training.model, voice.stream, &batch, &s->batch), 0);
    struct mx_model_capacity room = capacity.model;
    room.longest_frames = FRAMES_MAX;
    room.frames = 2 * FRAMES_MAX;
    assert_int_equal(mx_model_create(training.model, voice.stream, &mx_trainer_options(trainer)->model, &room,
                                     MX_MODEL_SPEAK, &s->model),
                     0);
}

static void stage_close(struct stage *s)
{
    mx_model_destroy(s->model);
    mx_batch_builder_destroy(s->batch);
    mx_host_batch_destroy(s->host);
    mx_dataset_reader_destroy(s->reader);
    mx_batch_source_destroy(s->source);
}

/* The reference of each of the two sequences becomes that of the other. */
static void references_exchange(struct mx_host_batch *host)
{
    const int32_t first = host->reference_sample_offsets[1], both = host->reference_sample_offsets[2];
    assert_int_equal(first, both - first);
    for (int32_t i = 0; i < first; i++) {
        const float kept = host->reference_audio[i];
        host->reference_audio[i] = host->reference_audio[first + i];
        host->reference_audio[first + i] = kept;
    }
}

/* Speaks the texts of two utterances, each with the voice of its own speaker or, exchanged, of the other's. `real` gets
 * the recordings. */
static void pair_speak(const uint32_t utterances[2], bool exchanged, struct sound spoken[2], struct sound real[2])
{
    struct stage s = {0};
    float pitch[2 * (LETTERS + 2)];
    struct mx_speech speech;
    const struct mx_trainer_voice voice = mx_trainer_voice(trainer);
    const size_t row = 80 * sizeof(float);
    stage_open(&s);
    assert_int_equal(mx_host_batch_fill(s.host, s.reader, 1000, 0, utterances, 2), 0);
    assert_int_equal(s.host->count, 2);
    assert_int_equal(s.host->tokens, 2 * (LETTERS + 2)); /* with both ends */
    if (exchanged) references_exchange(s.host);
    assert_int_equal(mx_batch_builder_run(s.batch, voice.stream, s.host, NULL), 0);
    const struct mx_model_batch batch = mx_batch_builder_own(s.batch)->batch;
    for (int i = 0; i < 2; i++) {
        const int32_t from = s.host->frame_offsets[i];
        real[i].frames = s.host->frame_offsets[i + 1] - from;
        assert_true(real[i].frames <= FRAMES_MAX);
        const struct mx_slice mel = {batch.mel.buffer, batch.mel.offset_bytes + (size_t)from * row};
        assert_int_equal(mx_copy_download(voice.stream, real[i].mel, mel, (size_t)real[i].frames * row), 0);
    }
    if (mx_model_synthesize(s.model, voice.stream, voice.average, &batch, NULL, &speech) < 0)
        fail_msg("%s", mx_error_last()->message);
    assert_int_equal(
        mx_copy_download(voice.stream, pitch, mx_model_view(s.model).predicted[MX_PREDICT_PITCH], sizeof pitch), 0);
    for (int i = 0; i < 2; i++) {
        const int32_t from = speech.frame_offsets[i];
        spoken[i].frames = speech.frame_offsets[i + 1] - from;
        assert_true(spoken[i].frames <= FRAMES_MAX);
        const struct mx_slice mel = {speech.mel.buffer, speech.mel.offset_bytes + (size_t)from * row};
        assert_int_equal(mx_copy_download(voice.stream, spoken[i].mel, mel, (size_t)spoken[i].frames * row), 0);
    }
    assert_int_equal(mx_stream_sync(voice.stream), 0);
    for (int i = 0; i < 2; i++) {
        double sum = 0;
        for (int k = 1; k <= LETTERS; k++) sum += (double)pitch[i * (LETTERS + 2) + k];
        spoken[i].pitch_hz = training.normaliser.pitch_mean + training.normaliser.pitch_deviation * sum / LETTERS;
    }
    stage_close(&s);
}

static double mel_distance(const struct sound *a, const struct sound *b)
{
    double cost;
    void *const scratch = mx_alloc(1, mx_dtw_bytes(a->frames, b->frames));
    struct mx_dtw_pair *const pairs = mx_alloc((size_t)(a->frames + b->frames), sizeof *pairs);
    const struct mx_dtw_frames frames = {
        .a = a->mel, .b = b->mel, .a_frames = a->frames, .b_frames = b->frames, .n = 80};
    mx_dtw_walk(&frames, scratch, pairs, &cost);
    mx_free(scratch);
    mx_free(pairs);
    return cost;
}

static double octaves(double a_hz, double b_hz)
{
    return fabs(log2(a_hz / b_hz));
}

/* The voice that a sound has must be that of `speaker`: `real` holds the same text by both. */
static void voice_check(const struct sound *sound, int speaker, const struct sound real[SPEAKERS])
{
    const int other = 1 - speaker;
    const double near = octaves(sound->pitch_hz, speakers[speaker].pitch_hz);
    const double far = octaves(sound->pitch_hz, speakers[other].pitch_hz);
    const double right = mel_distance(sound, &real[speaker]), wrong = mel_distance(sound, &real[other]);
    /* What must be heard, not rounding. */
    if (!(near < 0.2 && far > 0.7)) fail_msg("%.1f Hz for %s", sound->pitch_hz, speakers[speaker].name);
    if (!(right < 0.6 * wrong))
        fail_msg("%s: mel is %.3f off, %.3f from the other", speakers[speaker].name, right, wrong);
}

static void test_reference_tells_the_voice(void **state)
{
    (void)state;
    static struct sound real[SPEAKERS], spoken[SPEAKERS];
    for (int text = 0; text < TEXTS; text++) {
        const uint32_t same[SPEAKERS] = {utterance_of(0, text), utterance_of(1, text)};
        pair_speak(same, false, spoken, real);
        for (int i = 0; i < SPEAKERS; i++) voice_check(&spoken[i], i, real);
    }
}

/* Two texts: one said by the first speaker with the second one's recording as reference, and the other way round. */
static void test_exchanged_references_exchange_the_voices(void **state)
{
    (void)state;
    static struct sound real[2][SPEAKERS], spoken[2], ignored[2];
    for (int text = 0; text < TEXTS; text++) {
        const int texts[2] = {text, (text + 3) % TEXTS};
        const uint32_t crossed[2] = {utterance_of(0, texts[0]), utterance_of(1, texts[1])};
        for (int i = 0; i < 2; i++) {
            const uint32_t both[SPEAKERS] = {utterance_of(0, texts[i]), utterance_of(1, texts[i])};
            pair_speak(both, false, ignored, real[i]);
        }
        pair_speak(crossed, false, spoken, ignored);
        voice_check(&spoken[0], 0, real[0]);
        voice_check(&spoken[1], 1, real[1]);
        pair_speak(crossed, true, spoken, ignored);
        voice_check(&spoken[0], 1, real[0]);
        voice_check(&spoken[1], 0, real[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference_tells_the_voice),
                                       cmocka_unit_test(test_exchanged_references_exchange_the_voices)};
    one_core();
    return cmocka_run_group_tests(tests, group_open, group_close);
}
