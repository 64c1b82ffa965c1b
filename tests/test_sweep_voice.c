/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failure sweeps (sweep/sweep.h) of a voice: opening and closing it, speaking, speaking like a recording, all through the C API.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sndfile.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/voice.h"
#include "support/cores.h"
#include "support/recording.h"
#include "support/voice_rig.h"
#include "sweep/sweep.h"

#define TEXT "Hm, 2."
#define SSML "<speak>a<break time=\"1ms\"/>b</speak>"

struct place {
    char *folder, *run, *tone;
    struct mx_voice *voice; /* open all the time */
};

static const struct mx_voice_options quick = {.size = sizeof quick, .rounds = 1};

static int speak(struct mx_voice *voice, const char *text, const struct mx_speaking *how, uint64_t *result)
{
    int rc = 0;
    struct mx_speaker *speaker = NULL;
    const struct mx_sound_chunk *chunk;
    MX_TRY(mx_speaker_create(voice, &speaker));
    MX_TRY(mx_speaker_begin(speaker, text, strlen(text), how));
    *result = 0;
    while ((rc = mx_speaker_next(speaker, &chunk)) > 0)
        *result = sweep_hash(*result, chunk->samples, chunk->count * sizeof *chunk->samples);
out:
    mx_speaker_destroy(speaker);
    return rc;
}

static int voice_open(void *context, uint64_t *result)
{
    const struct place *const place = context;
    struct mx_voice *voice = NULL;
    const int rc = mx_voice_open(place->run, &quick, &voice);
    if (rc == 0) *result = sweep_hash(0, mx_voice_speaker(voice, 1), strlen(mx_voice_speaker(voice, 1)));
    mx_voice_close(voice);
    return rc;
}

static int text_speak(void *context, uint64_t *result)
{
    const struct place *const place = context;
    return speak(place->voice, TEXT, NULL, result);
}

static int ssml_speak(void *context, uint64_t *result)
{
    const struct place *const place = context;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    how.ssml = 1;
    return speak(place->voice, SSML, &how, result);
}

static int recording_follow(void *context, uint64_t *result)
{
    const struct place *const place = context;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    how.reference_file = place->tone;
    how.likeness = 0; /* finding it is not another way of failing, but takes all the time */
    return speak(place->voice, "a", &how, result);
}

static int setup(void **state)
{
    static struct place place;
    place.folder = folder_make();
    place.run = voice_rig_make(place.folder, "voice", 5, true);
    tone_write(place.folder, "tone.wav",
               &(struct tone){.rate = 16000,
                              .channels = 1,
                              .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                              .hertz = 200,
                              .height = 0.3,
                              .seconds = 0.6});
    place.tone = mx_format("%s/tone.wav", place.folder);
    *state = &place;
    return mx_voice_open(place.run, &quick, &place.voice);
}

static int teardown(void **state)
{
    struct place *const place = *state;
    mx_voice_close(place->voice);
    mx_free(place->run);
    mx_free(place->tone);
    folder_remove(place->folder);
    return 0;
}

/* The device has a thread for each core. */
static void test_threads(void **state)
{
    sweep_run(&(struct sweep){
        .name = "threads of a voice", .context = *state, .run = voice_open, .without = ~(1u << FAULT_THREAD)});
}

static void test_open(void **state)
{
    sweep_run(&(struct sweep){.name = "open and close a voice", .context = *state, .run = voice_open});
}

static void test_speak(void **state)
{
    sweep_run(&(struct sweep){.name = "speak", .context = *state, .run = text_speak});
}

static void test_ssml(void **state)
{
    sweep_run(&(struct sweep){.name = "speak SSML", .context = *state, .run = ssml_speak});
}

static void test_recording(void **state)
{
    /* libsndfile 1.2 itself crashes in sf_open_fd where memory runs out. */
    sweep_run(&(struct sweep){.name = "speak like a recording",
                              .context = *state,
                              .run = recording_follow,
                              .without = 1u << FAULT_LIBRARY_MEMORY});
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    const struct CMUnitTest several[] = {cmocka_unit_test(test_threads)};
    const struct CMUnitTest one[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_speak),
        cmocka_unit_test(test_ssml),
        cmocka_unit_test(test_recording),
    };
    const int failed = cmocka_run_group_tests_name("on all cores", several, setup, teardown);
    one_core();
    return failed + cmocka_run_group_tests_name("on one core", one, setup, teardown);
}
