/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C API (myxtts/voice.h) with voices of random weights (support/voice_rig.h): a simple loop loses nothing, chunks are
 * the parts of what the engine says of the whole text, threads do not disturb each other, and bad options are refused.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sndfile.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "corpus/audio/audio.h"
#include "speech/speaker.h"
#include "speech/voice_internal.h"
#include "support/cores.h"
#include "support/recording.h"
#include "support/voice_rig.h"

#define RATE     22050
#define FILE_MAX ((size_t)1 << 24)

static const char story[] =
    "Hello, world. This is a sentence that is much longer than the first one, so that its sound "
    "has several parts, and then it ends.\n\nA second paragraph? Yes! And one more piece.";

struct fixture {
    char *folder, *vocoder, *plain, *tone; /* runs with and without a vocoder; a recording */
    struct mx_voice *voice;                /* of the first */
    struct mx_speaker *speaker;
};

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

static const struct mx_voice_options quick = {.size = sizeof quick, .rounds = 2};

static int setup(void **state)
{
    static struct fixture f;
    const struct mx_log_options quiet = {.level = MX_LOG_SILENT};
    if (mx_log_configure(&quiet) < 0) return -1;
    f.folder = folder_make();
    f.vocoder = voice_rig_make(f.folder, "speaks", 5, true);
    f.plain = voice_rig_make(f.folder, "plain", 6, false);
    tone_write(f.folder, "tone.wav",
               &(struct tone){.rate = 16000,
                              .channels = 1,
                              .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                              .hertz = 200,
                              .height = 0.3,
                              .seconds = 1.5});
    f.tone = mx_format("%s/tone.wav", f.folder);
    must(mx_voice_open(f.vocoder, &quick, &f.voice));
    must(mx_speaker_create(f.voice, &f.speaker));
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *const f = *state;
    mx_speaker_destroy(f->speaker);
    mx_voice_close(f->voice);
    mx_free(f->vocoder);
    mx_free(f->plain);
    mx_free(f->tone);
    folder_remove(f->folder);
    return 0;
}

/* ---- speeches ---- */

struct speech {
    float *samples;
    size_t count, chunks;
};

/* What any program would do; returns what the last call returned. */
static int speech_take(struct mx_speaker *speaker, struct speech *out)
{
    const struct mx_sound_chunk *chunk;
    int rc;
    *out = (struct speech){0};
    while ((rc = mx_speaker_next(speaker, &chunk)) > 0) {
        out->samples = realloc(out->samples, (out->count + chunk->count) * sizeof *out->samples);
        memcpy(out->samples + out->count, chunk->samples, chunk->count * sizeof *out->samples);
        out->count += chunk->count;
        out->chunks++;
    }
    return rc;
}

static struct speech say(struct mx_speaker *speaker, const char *text, const struct mx_speaking *how)
{
    struct speech speech;
    must(mx_speaker_begin(speaker, text, strlen(text), how));
    must(speech_take(speaker, &speech));
    return speech;
}

static void same(const struct speech *a, const float *samples, size_t count)
{
    assert_int_equal(a->count, count);
    assert_memory_equal(a->samples, samples, count * sizeof *samples);
}

static bool differs(const struct speech *a, const struct speech *b)
{
    return a->count != b->count || memcmp(a->samples, b->samples, a->count * sizeof *a->samples) != 0;
}

/* What an engine says to the whole text with a vector (NULL: that of the first speaker). */
static void expect_whole(struct mx_voice *voice, const struct speech *speech, const struct mx_speak_script_options *how,
                         const float *vector, uint64_t seed)
{
    const struct mx_model_capacity room = mx_voice_room(3);
    struct mx_speak_script *script;
    struct mx_speaker *speaker;
    struct mx_speak *speak;
    float *samples;
    size_t count;
    if (vector == NULL) must(mx_voice_vector(voice, NULL, &vector));
    must(mx_voice_speak_create(voice, &room, &speak));
    must(mx_speaker_create_on(speak, &speaker));
    struct mx_speak_script_options options = mx_speak_script_options_of(speak);
    if (how != NULL) {
        options.speed = how->speed;
        options.pitch_semitones = how->pitch_semitones;
    }
    must(mx_speak_script_open(&options, story, strlen(story), &script));
    mx_speaker_begin_script(speaker, script, vector, seed);
    must(mx_speaker_rest(speaker, &samples, &count));
    same(speech, samples, count);
    mx_free(samples);
    mx_speaker_destroy(speaker);
    mx_speak_destroy(speak);
}

static void a_loop_loses_nothing(void **state)
{
    struct fixture *const f = *state;
    struct mx_speak_script_options whole = MX_SPEAK_SCRIPT_OPTIONS_DEFAULT;
    struct speech speech = say(f->speaker, story, NULL);
    assert_true(speech.chunks > 5); /* more than pieces */
    expect_whole(f->voice, &speech, NULL, NULL, 0);
    assert_int_equal(mx_speaker_report(f->speaker)->samples, speech.count);
    assert_int_equal(mx_speaker_report(f->speaker)->pieces, 5);
    assert_int_equal(mx_speaker_report(f->speaker)->pieces_done, 5);
    assert_int_equal(mx_speaker_report(f->speaker)->paragraphs, 2);
    free(speech.samples);
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    how.speed = whole.speed = 1.3;
    how.pitch_semitones = whole.pitch_semitones = -4;
    how.seed = 77;
    how.language = "en";
    speech = say(f->speaker, story, &how);
    expect_whole(f->voice, &speech, &whole, NULL, 77);
    free(speech.samples);
}

static void griffin_lim_too(void **state)
{
    struct fixture *const f = *state;
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    must(mx_voice_open(f->plain, &quick, &voice));
    must(mx_speaker_create(voice, &speaker));
    struct speech speech = say(speaker, story, NULL);
    expect_whole(voice, &speech, NULL, NULL, 0);
    free(speech.samples);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
}

/* Chunks say which part of the text they are, and their phonemes: this voice reads letters, so joined they are the
 * text. */
static void chunks_tell(void **state)
{
    static const char *const texts[] = {"Hello, world.", NULL, "a second paragraph?", "Yes!", "And one more piece."};
    struct fixture *const f = *state;
    const struct mx_sound_chunk *chunk;
    uint64_t samples = 0, piece = 0, last_end = 0;
    char symbols[256] = "", text[256] = "";
    int rc;
    bool open = false;
    must(mx_speaker_begin(f->speaker, story, strlen(story), NULL));
    while ((rc = mx_speaker_next(f->speaker, &chunk)) > 0) {
        assert_int_equal(chunk->begin, samples);
        assert_int_equal(chunk->rate, RATE);
        assert_int_equal(chunk->piece, piece);
        assert_int_equal(chunk->first, !open);
        assert_true(chunk->count > 0);
        assert_string_equal(chunk->language, "en");
        if (texts[piece] != NULL) assert_string_equal(chunk->text, texts[piece]);
        assert_int_equal(chunk->source_begin, piece < 2 ? 0 : strstr(story, "A second") - story);
        for (size_t i = 0; i < chunk->phoneme_count; i++) {
            const struct mx_phoneme_time *const p = &chunk->phonemes[i];
            assert_true(p->begin >= samples && p->begin < samples + chunk->count && p->begin < p->end);
            if (symbols[0] != '\0') assert_int_equal(p->begin, last_end);
            last_end = p->end;
            strcat(symbols, p->symbol);
        }
        strcpy(text, chunk->text);
        samples += chunk->count;
        open = !chunk->last;
        if (!chunk->last) continue;
        assert_int_equal(strcasecmp(symbols, text), 0); /* characters are small */
        assert_true(last_end <= samples);
        symbols[0] = '\0';
        piece++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(piece, 5);
    for (int i = 0; i < 2; i++) { /* and it stays so */
        assert_int_equal(mx_speaker_next(f->speaker, &chunk), 0);
        assert_int_equal(chunk->count, 0);
        assert_int_equal(chunk->phoneme_count, 0);
        assert_string_equal(chunk->text, "");
    }
}

static void volume_and_pauses(void **state)
{
    struct fixture *const f = *state;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    struct speech usual = say(f->speaker, story, &how);
    how.volume = 0.5;
    struct speech quiet = say(f->speaker, story, &how);
    assert_int_equal(quiet.count, usual.count);
    for (size_t i = 0; i < usual.count; i++) assert_true(quiet.samples[i] == 0.5f * usual.samples[i]);
    how.volume = 1;
    how.pause_scale = 0;
    struct speech tight = say(f->speaker, story, &how);
    how.pause_scale = 2;
    struct speech wide = say(f->speaker, story, &how);
    const double once = (double)(usual.count - tight.count), twice = (double)(wide.count - tight.count);
    assert_true(once > 0.5 * RATE && fabs(twice - 2 * once) <= 4);
    free(usual.samples);
    free(quiet.samples);
    free(tight.samples);
    free(wide.samples);
}

static void warns(void **state)
{
    struct fixture *const f = *state;
    struct speech speech = say(f->speaker, "a café", NULL);
    assert_int_equal(mx_speaker_warnings(f->speaker), 2);
    assert_non_null(strstr(mx_speaker_warning(f->speaker, 0), "no recording"));
    assert_non_null(strstr(mx_speaker_warning(f->speaker, 1), "'é' (U+00E9)"));
    assert_null(mx_speaker_warning(f->speaker, 2));
    free(speech.samples);
    speech = say(f->speaker, "...", NULL);
    assert_int_equal(speech.count, 0);
    assert_int_equal(mx_speaker_warnings(f->speaker), 1);
    free(speech.samples);
}

/* ---- whose voice ---- */

static void references(void **state)
{
    struct fixture *const f = *state;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    struct mx_audio_reader *reader;
    struct mx_audio_report report;
    const struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    const struct mx_model_capacity room = mx_voice_room(1);
    const float *samples;
    float *mel, tone[24000], vector[64];
    int32_t frames;
    size_t count;
    struct mx_speak *speak;
    struct speech nobody = say(f->speaker, story, NULL);
    how.reference_file = f->tone;
    how.likeness = 0; /* test_likeness.c has the rest */
    struct speech file = say(f->speaker, story, &how);
    assert_int_equal(mx_speaker_report(f->speaker)->reference_warnings, 2); /* it is short, and a tone has no pauses */
    assert_int_equal(mx_speaker_warnings(f->speaker), 2);
    assert_true(differs(&nobody, &file));
    must(mx_audio_reader_create(&reader));
    must(mx_audio_load(reader, f->tone, &reading, &samples, &count, &report));
    must(mx_voice_speak_create(f->voice, &room, &speak));
    must(mx_speak_reference(speak, samples, count, &mel, &frames));
    must(mx_speak_vector(speak, mel, frames, vector));
    assert_true((size_t)mx_model_config(mx_speak_voice(speak)->model)->size.width <= sizeof vector / sizeof *vector);
    mx_speak_destroy(speak);
    mx_audio_reader_destroy(reader);
    expect_whole(f->voice, &file, NULL, vector, 0);
    mx_free(mel);
    /* The same samples, from memory. */
    SF_INFO info = {0};
    SNDFILE *const handle = sf_open(f->tone, SFM_READ, &info);
    assert_int_equal(sf_readf_float(handle, tone, 24000), 24000);
    sf_close(handle);
    how.reference_file = NULL;
    how.reference = tone;
    how.reference_count = 24000;
    how.reference_rate = 16000;
    struct speech memory = say(f->speaker, story, &how);
    same(&memory, file.samples, file.count);
    free(memory.samples);
    free(file.samples);
    free(nobody.samples);
}

/* Names, with a recording that the run keeps of the second speaker. */
static void speakers(void **state)
{
    struct fixture *const f = *state;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    char *const run = voice_rig_make(f->folder, "recorded", 5, true), *const voices = mx_format("%s/voices", run);
    folder_add(run, "voices");
    tone_write(voices, "001.wav",
               &(struct tone){.rate = RATE,
                              .channels = 1,
                              .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                              .hertz = 300,
                              .height = 0.3,
                              .seconds = 1});
    must(mx_voice_open(run, &quick, &voice));
    must(mx_speaker_create(voice, &speaker));
    assert_int_equal(mx_voice_speakers(voice), 2);
    assert_string_equal(mx_voice_speaker(voice, 0), "ann");
    assert_string_equal(mx_voice_speaker(voice, 1), "bob");
    assert_null(mx_voice_speaker(voice, 2));
    struct speech first = say(speaker, story, NULL);
    how.speaker = "bob";
    struct speech second = say(speaker, story, &how), again = say(speaker, story, &how);
    assert_true(differs(&first, &second));
    same(&again, second.samples, second.count);
    how.speaker = "ann"; /* of whom there is no recording */
    assert_int_equal(mx_speaker_begin(speaker, "a", 1, &how), MX_ERR_NOT_FOUND);
    how.speaker = "nobody";
    assert_int_equal(mx_speaker_begin(speaker, "a", 1, &how), MX_ERR_NOT_FOUND);
    assert_non_null(strstr(mx_error_last()->message, "nobody"));
    free(first.samples);
    free(second.samples);
    free(again.samples);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
    mx_free(voices);
    mx_free(run);
}

static void facts_and_memory(void **state)
{
    struct fixture *const f = *state;
    char *const path = mx_format("%s/checkpoints/step-00000001.safetensors", f->vocoder), *bytes;
    size_t count;
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    assert_string_equal(mx_voice_name(f->voice), "speaks");
    assert_string_equal(mx_voice_licence(f->voice), "");
    assert_string_equal(mx_voice_attribution(f->voice), "");
    assert_int_equal(mx_voice_rate(f->voice), RATE);
    assert_int_equal(mx_voice_languages(f->voice), 1);
    assert_string_equal(mx_voice_language(f->voice, 0), "en");
    assert_null(mx_voice_language(f->voice, 1));
    must(mx_file_read(path, FILE_MAX, &bytes, &count));
    must(mx_voice_open_memory(bytes, count, &quick, &voice));
    must(mx_speaker_create(voice, &speaker));
    struct speech file = say(f->speaker, story, NULL), memory = say(speaker, story, NULL);
    same(&memory, file.samples, file.count);
    free(memory.samples);
    free(file.samples);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
    assert_int_equal(mx_voice_open_memory(bytes, count / 2, &quick, &voice), MX_ERR_FORMAT);
    assert_null(voice);
    mx_free(bytes);
    mx_free(path);
}

/* ---- threads ---- */

struct work {
    struct mx_voice *voice;
    const char *text;
    const struct speech *wanted;
    bool equal;
};

static void *speak_thread(void *context)
{
    struct work *const w = context;
    struct mx_speaker *speaker;
    struct speech speech = {0};
    w->equal = mx_speaker_create(w->voice, &speaker) == 0;
    for (int i = 0; w->equal && i < 3; i++) {
        speech.samples = NULL;
        w->equal = mx_speaker_begin(speaker, w->text, strlen(w->text), NULL) == 0 &&
                   speech_take(speaker, &speech) == 0 && !differs(&speech, w->wanted);
        free(speech.samples);
    }
    mx_speaker_destroy(speaker);
    return NULL;
}

static void threads_speak_at_once(void **state)
{
    struct fixture *const f = *state;
    static const char other[] = "Something else, said by another thread. It has two pieces.";
    struct speech first = say(f->speaker, story, NULL), second = say(f->speaker, other, NULL);
    struct work work[] = {{f->voice, story, &first, false}, {f->voice, other, &second, false}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, speak_thread, &work[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_true(work[0].equal && work[1].equal);
    free(first.samples);
    free(second.samples);
}

static void *cancel_thread(void *context)
{
    mx_speaker_cancel(context);
    return NULL;
}

static void cancelled_by_another_thread(void **state)
{
    struct fixture *const f = *state;
    const struct mx_sound_chunk *chunk;
    pthread_t thread;
    must(mx_speaker_begin(f->speaker, story, strlen(story), NULL));
    assert_int_equal(mx_speaker_next(f->speaker, &chunk), 1);
    assert_int_equal(pthread_create(&thread, NULL, cancel_thread, f->speaker), 0);
    int rc;
    while ((rc = mx_speaker_next(f->speaker, &chunk)) > 0) {
    } /* it may come at any time */
    pthread_join(thread, NULL);
    assert_true(rc == 0 || rc == MX_ERR_INTERRUPTED);
    must(mx_speaker_begin(f->speaker, story, strlen(story), NULL)); /* it is over with the text */
    assert_int_equal(mx_speaker_next(f->speaker, &chunk), 1);
    mx_speaker_cancel(f->speaker);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mx_speaker_next(f->speaker, &chunk), MX_ERR_INTERRUPTED);
        assert_int_equal(chunk->count, 0);
    }
    struct speech speech = say(f->speaker, "And on.", NULL);
    assert_true(speech.count > 0);
    free(speech.samples);
}

/* ---- bad input ---- */

static void sizes_of_structs(void **state)
{
    struct fixture *const f = *state;
    struct {
        struct mx_speaking known;
        char more[8];
    } newer = {.known = MX_SPEAKING_DEFAULT, .more = {0}};
    struct mx_speaking older = MX_SPEAKING_DEFAULT;
    struct mx_voice_options none = {0};
    struct mx_voice *voice;
    struct speech usual = say(f->speaker, story, NULL);
    newer.known.size = sizeof newer;
    struct speech speech = say(f->speaker, story, &newer.known);
    same(&speech, usual.samples, usual.count);
    free(speech.samples);
    newer.more[3] = 1;
    assert_int_equal(mx_speaker_begin(f->speaker, "a", 1, &newer.known), MX_ERR_UNSUPPORTED);
    older.size = offsetof(struct mx_speaking, volume); /* what follows has its default */
    older.volume = NAN;
    older.seed = 99;
    speech = say(f->speaker, story, &older);
    same(&speech, usual.samples, usual.count);
    free(speech.samples);
    older.size = 0;
    assert_int_equal(mx_speaker_begin(f->speaker, "a", 1, &older), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->hint, "sizeof(struct mx_speaking)"));
    assert_int_equal(mx_voice_open(f->vocoder, &none, &voice), MX_ERR_ARGUMENT);
    free(usual.samples);
}

static void refusals(void **state)
{
    struct fixture *const f = *state;
    const struct mx_sound_chunk *chunk;
    struct mx_voice *voice;
    const float tone[4000] = {0.5f};
    struct mx_speaking wrong[13];
    static const int codes[] = {MX_ERR_ARGUMENT, MX_ERR_ARGUMENT, MX_ERR_ARGUMENT, MX_ERR_ARGUMENT, MX_ERR_CONFIG,
                                MX_ERR_CONFIG,   MX_ERR_ARGUMENT, MX_ERR_DATA,     MX_ERR_DATA,     MX_ERR_DATA,
                                MX_ERR_DATA,     MX_ERR_ARGUMENT, MX_ERR_ARGUMENT};
    for (int i = 0; i < 13; i++) wrong[i] = (struct mx_speaking)MX_SPEAKING_DEFAULT;
    wrong[0].speed = 0;
    wrong[1].pitch_semitones = NAN;
    wrong[2].volume = -1;
    wrong[3].pause_scale = 11;
    wrong[4].language = "klingon";
    wrong[5].language = "fa"; /* which it never learned */
    wrong[6].speaker = "ann";
    wrong[6].reference_file = f->tone;
    wrong[7].reference_file = "missing.wav";
    wrong[8].reference = tone; /* too short */
    wrong[8].reference_count = 4000;
    wrong[8].reference_rate = RATE;
    wrong[9] = wrong[8];
    wrong[9].reference_rate = 100;
    wrong[10] = wrong[8];
    wrong[10].reference_count = 0;
    wrong[11].likeness = 1.5;
    wrong[12].likeness = NAN;
    for (int i = 0; i < 13; i++) {
        if (mx_speaker_begin(f->speaker, "a", 1, &wrong[i]) != codes[i])
            fail_msg("case %d: %s", i, mx_error_last()->message);
        assert_string_not_equal(mx_error_last()->message, "");
        assert_int_equal(mx_speaker_next(f->speaker, &chunk), 0); /* nothing was begun */
    }
    assert_int_equal(mx_speaker_begin(f->speaker, "a\xff", 2, NULL), MX_ERR_DATA);
    assert_int_equal(mx_voice_open("nowhere", NULL, &voice), MX_ERR_NOT_FOUND);
    assert_null(voice);
    const struct mx_voice_options none = {.size = sizeof none, .rounds = MX_VOICE_NONE};
    assert_int_equal(mx_voice_open(f->plain, &none, &voice), MX_ERR_ARGUMENT); /* Griffin–Lim needs one */
    const struct mx_voice_options device = {.size = sizeof device, .device = "cpu:99"};
    assert_true(mx_voice_open(f->plain, &device, &voice) < 0);
    const struct mx_voice_options less = {.size = sizeof less, .projections = -2};
    assert_int_equal(mx_voice_open(f->vocoder, &less, &voice), MX_ERR_ARGUMENT);
    mx_voice_close(NULL);
    mx_speaker_destroy(NULL);
}

/* Opens a voice and speaks with it, while the n-th allocation fails (0: none). */
static int whole_way(const char *path, uint64_t n, struct speech *speech)
{
    struct mx_voice *voice = NULL;
    struct mx_speaker *speaker = NULL;
    *speech = (struct speech){0};
    mx_alloc_fail_at(n);
    int rc = mx_voice_open(path, &quick, &voice);
    if (rc == 0) rc = mx_speaker_create(voice, &speaker);
    if (rc == 0) rc = mx_speaker_begin(speaker, story, strlen(story), NULL);
    if (rc == 0) rc = speech_take(speaker, speech);
    mx_alloc_fail_at(0);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
    return rc;
}

/* Each allocation fails once: that is an error, with nothing left behind. (The memory limit of the system is asked for
 * without one if it cannot be read.) */
static void memory_runs_out(void **state)
{
    struct fixture *const f = *state;
    struct speech wanted, speech;
    int failed = 0, tried = 0;
    const uint64_t before = mx_alloc_count();
    must(whole_way(f->vocoder, 0, &wanted));
    const uint64_t all = mx_alloc_count() - before;
    for (uint64_t n = 1; n <= all; n += 1 + n / 16) {
        const int rc = whole_way(f->vocoder, n, &speech);
        tried++;
        failed += rc == MX_ERR_NO_MEMORY;
        if (rc != MX_ERR_NO_MEMORY && (rc != 0 || differs(&speech, &wanted)))
            fail_msg("allocation %d of %d failed, but the result is %d", (int)n, (int)all, rc);
        free(speech.samples);
    }
    assert_true(tried > 30 && failed > tried * 4 / 5);
    free(wanted.samples);
}

/* ---- integers ---- */

static void integers(void **state)
{
    (void)state;
    enum { COUNT = 4001 };
    float samples[COUNT], limited[COUNT];
    int16_t whole[COUNT], parts[COUNT];
    for (int i = 0; i < COUNT; i++) samples[i] = (float)(i - 2000) / 1000;
    mx_samples_pcm16(samples, COUNT, whole);
    mx_samples_limit(samples, COUNT, limited);
    for (int i = 0; i < COUNT; i++) {
        if (fabsf(samples[i]) <= 0.9f) {
            assert_true(limited[i] == samples[i]);
            assert_int_equal(whole[i], (int32_t)lrintf(2147483648.0f * samples[i]) >> 16); /* as in earlier files */
        } else {
            assert_true(fabsf(limited[i]) < 1 && fabsf(limited[i]) < fabsf(samples[i]));
        }
        assert_in_range(whole[i] + whole[COUNT - 1 - i] + 1, 0, 1); /* they are rounded down */
        if (i > 0) assert_true(limited[i] > limited[i - 1]);
    }
    mx_samples_pcm16(samples, 1234, parts);
    mx_samples_pcm16(samples + 1234, COUNT - 1234, parts + 1234);
    assert_memory_equal(parts, whole, sizeof whole);
    const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f};
    mx_samples_pcm16(odd, 4, parts);
    assert_int_equal(parts[0], 0);
    assert_int_equal(parts[1], 32767);
    assert_int_equal(parts[2], -32768);
    assert_int_equal(parts[3], 32767);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_loses_nothing),
        cmocka_unit_test(griffin_lim_too),
        cmocka_unit_test(chunks_tell),
        cmocka_unit_test(volume_and_pauses),
        cmocka_unit_test(warns),
        cmocka_unit_test(references),
        cmocka_unit_test(speakers),
        cmocka_unit_test(facts_and_memory),
        cmocka_unit_test(threads_speak_at_once),
        cmocka_unit_test(cancelled_by_another_thread),
        cmocka_unit_test(sizes_of_structs),
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(integers),
    };
    one_core();
    return cmocka_run_group_tests(tests, setup, teardown);
}
