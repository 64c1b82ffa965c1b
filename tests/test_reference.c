/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recordings to sound like (speech/reference.h): several of them count by their length, a long one counts whole, those
 * that cannot be used are refused with what to do, and what makes the voice worse is reported.
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
#include "base/rng.h"
#include "speech/reference.h"
#include "speech/reference_check.h"
#include "speech/voice_internal.h"
#include "support/cores.h"
#include "support/recording.h"
#include "support/voice_rig.h"

#define RATE     22050
#define SYLLABLE (RATE / 7)
#define WIDTH    4096 /* more than the network has */

struct fixture {
    char *folder, *run;
    struct mx_voice *voice;
    struct mx_speak *speak;
};

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

static int setup(void **state)
{
    static struct fixture f;
    const struct mx_model_capacity room = mx_voice_room(1);
    must(mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT}));
    f.folder = folder_make();
    f.run = voice_rig_make(f.folder, "run", 5, false);
    must(mx_voice_open(f.run, NULL, &f.voice));
    must(mx_voice_speak_create(f.voice, &room, &f.speak));
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *const f = *state;
    mx_speak_destroy(f->speak);
    mx_voice_close(f->voice);
    mx_free(f->run);
    folder_remove(f->folder);
    return 0;
}

/* ---- voices ---- */

/* Vowels of a person: harmonics of a pitch that moves, with formants that move, in syllables with pauses. */
struct person {
    double hertz, tube; /* the mean pitch; a factor of the formants */
};

static const struct person ann = {210, 1.15}, bob = {110, 0.9};

static void person_add(float *to, size_t from, size_t count, const struct person *p, uint64_t seed)
{
    double phase = 0;
    for (size_t i = from; i < from + count; i++) {
        const size_t syllable = i / SYLLABLE;
        const double in = (double)(i % SYLLABLE) / SYLLABLE;
        double x[4]; /* between the numbers of this syllable and those of the next */
        for (uint64_t k = 0; k < 4; k++)
            x[k] = (1 - in) * (double)mx_rng_uniform(seed, k, syllable) +
                   in * (double)mx_rng_uniform(seed, k, syllable + 1);
        const double hertz = p->hertz * (0.8 + 0.4 * x[0]), width = 100 + 300 * x[3];
        const double first = p->tube * (300 + 600 * x[1]), second = p->tube * (1000 + 1400 * x[2]);
        const double loud = syllable % 8 < 7 ? 0.3 + 0.7 * sin(M_PI * in) : 0;
        double sum = 0;
        phase += 2 * M_PI * hertz / RATE;
        for (int h = 1; h < 15; h++) {
            const double at = h * hertz;
            const double a = exp(-pow((at - first) / width, 2)) + 0.5 * exp(-pow((at - second) / width, 2)) + 0.02;
            sum += a * sin(h * phase);
        }
        to[i] = (float)(0.1 * loud * sum) + (float)(1e-4 + 3e-3 * loud) * mx_rng_normal(seed, 9, i);
    }
}

static float *person_make(double seconds, const struct person *p, uint64_t seed, size_t *count)
{
    *count = (size_t)(seconds * RATE);
    float *const samples = mx_alloc(*count, sizeof *samples);
    assert_non_null(samples);
    person_add(samples, 0, *count, p, seed);
    return samples;
}

static struct mx_reference reference(const float *samples, size_t count)
{
    return (struct mx_reference){.samples = samples, .count = count, .rate = RATE};
}

static bool warned(const struct mx_reference_report *report, const char *words)
{
    for (size_t i = 0; i < report->count; i++)
        if (strstr(report->warnings[i], words) != NULL) return true;
    return false;
}

/* ---- listening ---- */

static void several(void **state)
{
    struct fixture *const f = *state;
    static float one[WIDTH], other[WIDTH], both[WIDTH], twice[WIDTH];
    struct mx_reference_report report, second;
    const size_t width = (size_t)mx_checkpoint_state(f->voice->checkpoint)->model.size.width;
    size_t counts[2];
    float *const a = person_make(3, &ann, 1, &counts[0]), *const b = person_make(6, &ann, 2, &counts[1]);
    const struct mx_reference list[] = {reference(a, counts[0]), reference(b, counts[1]), reference(a, counts[0])};
    assert_true(width <= WIDTH);
    must(mx_reference_listen(f->speak, &list[0], 1, one, NULL, &report));
    must(mx_reference_listen(f->speak, &list[1], 1, other, NULL, &second));
    assert_true(fabs(report.seconds - 3) < 0.3 && fabs(second.seconds - 6) < 0.3);
    assert_memory_not_equal(one, other, width * sizeof *one);
    must(mx_reference_listen(f->speak, list, 2, both, NULL, &report));
    assert_true(fabs(report.seconds - 9) < 0.6);
    double wanted = 0, far = 0; /* one third of the way */
    for (size_t i = 0; i < width; i++) {
        wanted += fabs((double)both[i] - ((double)one[i] + 2 * (double)other[i]) / 3);
        far += fabs((double)one[i] - (double)other[i]);
    }
    assert_true(wanted < 0.03 * far);
    const struct mx_reference same[] = {list[0], list[2]};
    must(mx_reference_listen(f->speak, same, 2, twice, NULL, NULL));
    assert_memory_equal(one, twice, width * sizeof *one);
    mx_free(a);
    mx_free(b);
}

/* The network has room for 12 seconds; the end of a longer recording counts, too. */
static void long_ones(void **state)
{
    struct fixture *const f = *state;
    static float first[WIDTH], second[WIDTH];
    const size_t width = (size_t)mx_checkpoint_state(f->voice->checkpoint)->model.size.width;
    size_t count;
    float *const samples = person_make(16, &ann, 3, &count);
    const struct mx_reference whole = reference(samples, count);
    struct mx_reference_report report;
    must(mx_reference_listen(f->speak, &whole, 1, first, NULL, &report));
    assert_true(report.seconds > 15);
    person_add(samples, count - RATE, RATE, &bob, 4);
    must(mx_reference_listen(f->speak, &whole, 1, second, NULL, NULL));
    assert_memory_not_equal(first, second, width * sizeof *first);
    mx_free(samples);
}

/* ---- refusals ---- */

static void refused(struct fixture *f, const struct mx_reference *r, size_t count, int code, const char *words,
                    const char *hint)
{
    static float vector[WIDTH];
    struct mx_reference_report report;
    assert_int_equal(mx_reference_listen(f->speak, r, count, vector, NULL, &report), code);
    if (strstr(mx_error_last()->message, words) == NULL || strstr(mx_error_last()->hint, hint) == NULL)
        fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

static void refusals(void **state)
{
    struct fixture *const f = *state;
    size_t count;
    float *const samples = person_make(2, &ann, 5, &count), *const quiet = person_make(2, &ann, 5, &count);
    float *const clipped = person_make(2, &ann, 5, &count), *const endless = mx_alloc(130 * RATE, sizeof *endless);
    const struct mx_reference good = reference(samples, count), many[MX_REFERENCES_MAX + 1] = {good};
    assert_non_null(endless);
    for (size_t i = 0; i < 130 * RATE; i++) endless[i] = samples[i % count];
    for (size_t i = 0; i < count; i++) {
        quiet[i] *= 1e-3f;
        clipped[i] = fminf(1, fmaxf(-1, 20 * clipped[i]));
    }
    const struct mx_reference cases[] = {
        reference(samples, RATE / 5),      reference(quiet, count), reference(clipped, count),
        reference(endless, 130 * RATE),    {.file = "missing.wav"}, {0},
        {.file = "a", .samples = samples},
    };
    refused(f, &cases[0], 1, MX_ERR_DATA, "at least 0.4 s", "5 seconds");
    refused(f, &cases[1], 1, MX_ERR_DATA, "dB", "louder");
    refused(f, &cases[2], 1, MX_ERR_DATA, "clipped", "lower input level");
    refused(f, &cases[3], 1, MX_ERR_DATA, "at most 120 s", "trim 0 60");
    refused(f, &cases[4], 1, MX_ERR_DATA, "missing.wav", "sound file");
    refused(f, &cases[5], 1, MX_ERR_ARGUMENT, "neither", "file or samples");
    refused(f, &cases[6], 1, MX_ERR_ARGUMENT, "both", "one of");
    refused(f, many, MX_REFERENCES_MAX + 1, MX_ERR_ARGUMENT, "65 references", "64");
    refused(f, many, 0, MX_ERR_ARGUMENT, "0 references", "1 to 64");
    const struct mx_reference second[] = {good, cases[1]};
    refused(f, second, 2, MX_ERR_DATA, "dB", "louder"); /* one bad recording is not left out silently */
    mx_free(samples);
    mx_free(quiet);
    mx_free(clipped);
    mx_free(endless);
}

/* ---- warnings ---- */

static void expect(struct fixture *f, const struct mx_reference *r, size_t count, const char *words)
{
    static float vector[WIDTH];
    struct mx_reference_report report;
    must(mx_reference_listen(f->speak, r, count, vector, NULL, &report));
    if (words == NULL ? report.count > 0 : report.count != 1 || !warned(&report, words))
        fail_msg("%zu warnings, the first: %s; wanted: %s", report.count, report.count > 0 ? report.warnings[0] : "",
                 words != NULL ? words : "none");
}

static void warnings(void **state)
{
    struct fixture *const f = *state;
    size_t count, half;
    float *const good = person_make(10, &ann, 6, &count), *const bad = person_make(10, &ann, 6, &count);
    float *const other = person_make(5, &bob, 7, &half);
    const struct mx_reference fine = reference(good, count), worse = reference(bad, count);
    expect(f, &fine, 1, NULL);
    const struct mx_reference brief = reference(good, 2 * RATE);
    expect(f, &brief, 1, "s of the voice to sound like");
    for (size_t i = 0; i < count; i++) bad[i] = good[i] + 0.02f * mx_rng_normal(8, 1, i);
    expect(f, &worse, 1, "is noisy");
    const struct mx_reference both[] = {worse, worse};
    expect(f, both, 2, "(2 of the 2 recordings are like that)");
    for (size_t i = 0; i < count; i++) bad[i] = 0.02f * good[i];
    expect(f, &worse, 1, "is nearly silent");
    memcpy(bad, good, count * sizeof *bad);
    for (size_t i = 0; i < 50; i++) bad[RATE + i] = 1;
    expect(f, &worse, 1, "is clipped, 50 samples");
    /* Another person, in the same recording and in another one. */
    memcpy(bad, good, count * sizeof *bad);
    memcpy(bad + count - half, other, half * sizeof *bad);
    expect(f, &worse, 1, "more than one voice");
    const struct mx_reference two[] = {reference(good, half), reference(other, half)};
    expect(f, two, 2, "more than one voice");
    mx_free(good);
    mx_free(bad);
    mx_free(other);
}

/* Through the API: the report, and the order of the warnings. */
static void spoken(void **state)
{
    struct fixture *const f = *state;
    struct mx_speaker *speaker;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    const struct mx_sound_chunk *chunk;
    size_t count;
    float *const samples = person_make(2, &ann, 9, &count);
    const struct mx_reference list[] = {reference(samples, count)};
    must(mx_speaker_create(f->voice, &speaker));
    how.references = list;
    how.references_count = 1;
    must(mx_speaker_begin(speaker, "a \xe2\x82\xac", 5, &how));
    while (mx_speaker_next(speaker, &chunk) > 0) {
    }
    assert_true(fabs(mx_speaker_report(speaker)->reference_seconds - 2) < 0.3);
    assert_int_equal(mx_speaker_report(speaker)->reference_warnings, 1);
    assert_non_null(strstr(mx_speaker_warning(speaker, 0), "s of the voice to sound like"));
    how.references_count = 0;
    assert_int_equal(mx_speaker_begin(speaker, "a", 1, &how), MX_ERR_ARGUMENT);
    how.references_count = 1;
    how.reference_file = "x.wav";
    assert_int_equal(mx_speaker_begin(speaker, "a", 1, &how), MX_ERR_ARGUMENT);
    must(mx_speaker_begin(speaker, "a", 1, NULL));
    assert_int_equal(mx_speaker_report(speaker)->reference_warnings, 0);
    mx_speaker_destroy(speaker);
    mx_free(samples);
}

/* ---- the checks alone ---- */

static void too_few_frames(void **state)
{
    struct mx_reference_frames frames = {0};
    float mel[200 * 80], pitch[200];
    size_t place;
    (void)state;
    for (int i = 0; i < 200 * 80; i++) mel[i] = mx_rng_normal(1, 1, (uint64_t)i);
    for (int i = 0; i < 200; i++) pitch[i] = i % 2 ? 100.0f : 0;
    must(mx_reference_frames_add(&frames, mel, 1, pitch, 200, 80));
    assert_int_equal(frames.count, 100); /* the voiced ones */
    assert_true(fabs(mx_reference_pitch(&frames, 0, 100) - 100) < 1e-3);
    assert_true(mx_reference_difference(&frames, &place) <= 0);
    mx_reference_frames_release(&frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several),  cmocka_unit_test(long_ones), cmocka_unit_test(refusals),
        cmocka_unit_test(warnings), cmocka_unit_test(spoken),    cmocka_unit_test(too_few_frames),
    };
    one_core();
    return cmocka_run_group_tests(tests, setup, teardown);
}
