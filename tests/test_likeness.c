/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Likeness (speech/likeness.h): what a recording sounds like is measured, the base voice finds out how a person differs
 * from what it says, and says it that way; a recording that is too short leaves all as it is.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/log.h"
#include "speech/reference.h"
#include "speech/voice_internal.h"
#include "support/recording.h"
#include "support/voice_rig.h"

#define BANDS     80
#define RATE      22050
#define DEVIATION 2.0 /* of the mel of the first test */

static const char text[] =
    "The children are playing in the garden behind the house. My brother lives in a small village. "
    "Please enter your account number now.";

struct speech {
    float samples[30 * RATE];
    size_t count;
};

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

static int setup(void **state)
{
    (void)state;
    must(mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT}));
    return 0;
}

/* ---- measuring ---- */

/* Of four frames two are voiced and three are loud. */
static void measured(void **state)
{
    static float mel[4 * BANDS];
    float pitch[] = {110, 0, 220, 0};
    const struct mx_heard heard = {.mel = mel, .pitch = pitch, .frames = 4};
    struct mx_timbre timbre = {0};
    (void)state;
    for (int b = 0; b < BANDS; b++) {
        mel[0 * BANDS + b] = 1;
        mel[1 * BANDS + b] = 0;
        mel[2 * BANDS + b] = b % 2 == 0 ? 0.5f : 0.25f;
        mel[3 * BANDS + b] = -1; /* 2 · 2 nats below the loudest: quiet */
    }
    must(mx_timbre_add(&timbre, &heard, BANDS, DEVIATION));
    must(mx_timbre_add(&timbre, &heard, BANDS, DEVIATION));
    assert_int_equal(timbre.voiced, 4);
    assert_int_equal(timbre.loud, 6);
    assert_true(fabs(timbre.semitones[2] - 12 * log2(110)) < 1e-6 && fabs(timbre.semitones[1] - 12 * log2(220)) < 1e-6);
    for (int b = 0; b < BANDS; b++) assert_true(fabs(timbre.bands[b] - (b % 2 == 0 ? 3.0 : 2.5)) < 1e-6);
    mx_timbre_release(&timbre);
    assert_null(timbre.bands);
}

/* ---- the base voice ---- */

static void say(struct mx_speaker *speaker, const struct mx_speaking *how, struct speech *speech)
{
    const struct mx_sound_chunk *chunk;
    int rc;
    speech->count = 0;
    must(mx_speaker_begin(speaker, text, strlen(text), how));
    while ((rc = mx_speaker_next(speaker, &chunk)) > 0) {
        assert_true(speech->count + chunk->count <= sizeof speech->samples / sizeof *speech->samples);
        memcpy(speech->samples + speech->count, chunk->samples, chunk->count * sizeof *chunk->samples);
        speech->count += chunk->count;
    }
    must(rc);
}

/* What speech of the voice sounds like; *vector: [width] of who speaks. */
static void listen(struct mx_speak *speak, const struct speech *speech, float *vector, struct mx_timbre *timbre)
{
    const struct mx_reference all = {.samples = speech->samples, .count = speech->count, .rate = RATE};
    must(mx_reference_listen(speak, &all, 1, vector, timbre, NULL));
}

static double pitch_mean(const struct mx_timbre *timbre)
{
    double sum = 0;
    for (size_t i = 0; i < timbre->voiced; i++) sum += timbre->semitones[i];
    return sum / (double)timbre->voiced;
}

/* A person who speaks like a speaker of the voice, but brighter and four semitones lower, is found to do so. */
static void found(void **state)
{
    static struct speech speech;
    static float vector[4096], colour[BANDS], more[BANDS];
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    struct mx_speak *speak;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    struct mx_timbre person = {0};
    struct mx_speak_likeness likeness, half;
    const struct mx_model_capacity room = mx_voice_room(1);
    (void)state;
    must(mx_voice_open("base", NULL, &voice));
    must(mx_speaker_create(voice, &speaker));
    must(mx_voice_speak_create(voice, &room, &speak));
    how.speaker = "en-allison";
    how.language = "en";
    how.pitch_semitones = -4;
    say(speaker, &how, &speech);
    float before = 0; /* brighter: what changes from sample to sample gets louder */
    for (size_t i = 0; i < speech.count; i++) {
        const float now = speech.samples[i];
        speech.samples[i] = now - 0.8f * before;
        before = now;
    }
    listen(speak, &speech, vector, &person);
    const float *own;
    must(mx_voice_vector(voice, "en-allison", &own));
    const int32_t english = mx_vocabulary_language(voice->vocabulary, MX_LANGUAGE_EN);
    const double deviation = mx_speak_voice(speak)->normaliser.mel_deviation;
    must(mx_likeness_find(speak, &person, own, english, 1, colour, &likeness));
    if (!(fabs(likeness.semitones + 4) < 1.5)) fail_msg("%g semitones", likeness.semitones);
    /* |1 - 0.8 z| is 0.2 at 0 Hz and 1.8 at half the rate, so it rises by 13 dB up to 4 kHz (band 60 of 80) and on. */
    const double rise = deviation * 20 / log(10) * (double)(colour[60] - colour[5]);
    if (!(rise > 8 && rise < 20)) fail_msg("the colour rises by %g dB", rise);
    assert_true(mx_likeness_db(&likeness, BANDS, deviation) > 2);
    must(mx_likeness_find(speak, &person, own, english, 0.5, more, &half));
    assert_true(fabs(half.semitones - likeness.semitones / 2) < 1e-9);
    for (int b = 0; b < BANDS; b++) assert_true(fabsf(more[b] - colour[b] / 2) < 1e-5f);
    mx_timbre_release(&person);
    mx_speak_destroy(speak);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
}

/* Through the API: the voice comes nearer to the pitch of the recording, says by how much, and does the same again. */
static void spoken(void **state)
{
    static struct speech recording, plain, alike, again;
    static float vector[4096];
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    struct mx_speak *speak;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    struct mx_timbre timbres[3] = {{0}};
    const struct mx_model_capacity room = mx_voice_room(1);
    (void)state;
    must(mx_voice_open("base", NULL, &voice));
    must(mx_speaker_create(voice, &speaker));
    must(mx_voice_speak_create(voice, &room, &speak));
    how.speaker = "en-slt";
    how.language = "en";
    how.pitch_semitones = 6;
    say(speaker, &how, &recording);
    const struct mx_reference person = {.samples = recording.samples, .count = recording.count, .rate = RATE};
    how = (struct mx_speaking)MX_SPEAKING_DEFAULT;
    how.language = "en";
    how.references = &person;
    how.references_count = 1;
    how.likeness = 0;
    say(speaker, &how, &plain);
    assert_true(mx_speaker_report(speaker)->reference_semitones == 0);
    how.likeness = 1;
    say(speaker, &how, &alike);
    const struct mx_speaking_report report = *mx_speaker_report(speaker);
    assert_true(report.reference_colour_db > 0.1 && report.reference_work_seconds > 0);
    listen(speak, &recording, vector, &timbres[0]);
    listen(speak, &plain, vector, &timbres[1]);
    listen(speak, &alike, vector, &timbres[2]);
    const double far = fabs(pitch_mean(&timbres[1]) - pitch_mean(&timbres[0]));
    const double near = fabs(pitch_mean(&timbres[2]) - pitch_mean(&timbres[0]));
    if (!(near < 1.5 && near <= far + 0.5)) fail_msg("%g semitones off, %g without likeness", near, far);
    say(speaker, &how, &again);
    assert_int_equal(again.count, alike.count);
    assert_memory_equal(again.samples, alike.samples, alike.count * sizeof *alike.samples);
    assert_true(mx_speaker_report(speaker)->reference_semitones == report.reference_semitones);
    assert_true(mx_speaker_report(speaker)->reference_work_seconds == 0); /* it remembers */
    for (int i = 0; i < 3; i++) mx_timbre_release(&timbres[i]);
    mx_speak_destroy(speak);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
}

/* ---- nothing to be found ---- */

/* A recording of ten frames is too short to tell. */
static void nothing(void **state)
{
    static float vector[4096], colour[BANDS], mel[10 * BANDS], pitch[10];
    struct mx_voice *voice;
    struct mx_speak *speak;
    struct mx_speak_likeness likeness;
    struct mx_timbre brief = {0};
    const struct mx_model_capacity room = mx_voice_room(1);
    char *const folder = folder_make(), *const run = voice_rig_make(folder, "run", 5, false);
    (void)state;
    for (int i = 0; i < 10; i++) pitch[i] = 200;
    for (int b = 0; b < BANDS; b++) colour[b] = 1;
    must(mx_timbre_add(&brief, &(struct mx_heard){.mel = mel, .pitch = pitch, .frames = 10}, BANDS, DEVIATION));
    must(mx_voice_open(run, NULL, &voice));
    must(mx_voice_speak_create(voice, &room, &speak));
    must(mx_likeness_find(speak, &brief, vector, 0, 1, colour, &likeness));
    assert_true(likeness.semitones == 0 && likeness.colour == colour);
    for (int b = 0; b < BANDS; b++) assert_true(colour[b] == 0);
    mx_timbre_release(&brief);
    mx_speak_destroy(speak);
    mx_voice_close(voice);
    mx_free(run);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured),
        cmocka_unit_test(found),
        cmocka_unit_test(spoken),
        cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
