/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The audio reader: all kinds of files and rates give the same sound; trimming and level; what is refused and why.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "corpus/audio/audio.h"
#include "myxtts/error.h"
#include "support/recording.h"

#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PI 3.14159265358979323846

static int setup(void **state)
{
    *state = folder_make();
    return 0;
}

static int teardown(void **state)
{
    folder_remove(*state);
    return 0;
}

/* One load with a reader of its own; samples are the caller's to free. */
struct loaded {
    int rc;
    float *samples;
    size_t count;
    struct mx_audio_report report;
};

static struct loaded load_with(const char *folder, const char *name, const struct mx_audio_options *options)
{
    char path[4096];
    const float *samples;
    struct mx_audio_reader *reader;
    struct loaded loaded = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mx_audio_reader_create(&reader), 0);
    loaded.rc = mx_audio_load(reader, path, options, &samples, &loaded.count, &loaded.report);
    if (loaded.rc == 0) {
        loaded.samples = malloc(loaded.count * sizeof samples[0]);
        memcpy(loaded.samples, samples, loaded.count * sizeof samples[0]);
    }
    mx_audio_reader_destroy(reader);
    return loaded;
}

static struct loaded load(const char *folder, const char *name)
{
    const struct mx_audio_options options = MX_AUDIO_OPTIONS_DEFAULT;
    return load_with(folder, name, &options);
}

static void refused(const char *folder, const char *name, enum mx_reject reject, const char *words)
{
    const struct loaded loaded = load(folder, name);
    assert_int_equal(loaded.rc, MX_ERR_DATA);
    assert_string_equal(mx_reject_name(loaded.report.reject), mx_reject_name(reject));
    if (strstr(loaded.report.detail, words) == NULL) fail_msg("%s: \"%s\"", name, loaded.report.detail);
    assert_non_null(strstr(mx_error_last()->message, name));
    assert_true(mx_error_last()->hint[0] != '\0');
    free(loaded.samples); /* none: for the eyes of the analyser */
}

/* Amplitude of one frequency, by its Fourier sum over the middle of the signal under a Hann window. */
static double amplitude_at(const struct loaded *loaded, double hertz)
{
    const size_t skip = loaded->count / 8, count = loaded->count - 2 * skip;
    double re = 0, im = 0, weight = 0;
    for (size_t i = 0; i < count; i++) {
        const double window = 0.5 - 0.5 * cos(2 * PI * (double)i / (double)count);
        const double phase = 2 * PI * hertz * (double)i / MX_AUDIO_RATE_DEFAULT;
        re += window * (double)loaded->samples[skip + i] * cos(phase);
        im -= window * (double)loaded->samples[skip + i] * sin(phase);
        weight += window;
    }
    return 2 * sqrt(re * re + im * im) / weight;
}

static double rms_of(const struct loaded *loaded)
{
    double sum = 0;
    for (size_t i = 0; i < loaded->count; i++) sum += (double)loaded->samples[i] * (double)loaded->samples[i];
    return sqrt(sum / (double)loaded->count);
}

static double peak_of(const struct loaded *loaded)
{
    double peak = 0;
    for (size_t i = 0; i < loaded->count; i++) peak = fmax(peak, fabs((double)loaded->samples[i]));
    return peak;
}

/* ---- kinds of files ---- */

/* A 440 Hz tone must come out as one of 1 s at the target level, whatever it was stored as. */
static void tone_is_good(const char *folder, const char *name, const struct tone *tone, double tolerance)
{
    const double wanted = sqrt(2) * pow(10, -23.0 / 20);
    tone_write(folder, name, tone);
    const struct loaded loaded = load(folder, name);
    if (loaded.rc != 0) fail_msg("%s: %s", name, loaded.report.detail);
    assert_int_equal(loaded.report.rate, tone->rate);
    assert_int_equal(loaded.report.channels, tone->channels);
    assert_true(loaded.report.format[0] != '\0');
    if (fabs(loaded.report.seconds - 1) > 0.06 || fabs((double)loaded.count / MX_AUDIO_RATE_DEFAULT - 1) > 0.06)
        fail_msg("%s: %g s, %zu samples", name, loaded.report.seconds, loaded.count);
    const double found = amplitude_at(&loaded, 440);
    if (fabs(found - wanted) > tolerance * wanted) fail_msg("%s: amplitude %g instead of %g", name, found, wanted);
    /* Nothing elsewhere: neither neighbours nor images of a rate taken for another. */
    static const double others[] = {220, 403, 478, 880, 3000, 9000};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (amplitude_at(&loaded, others[i]) > tolerance * wanted) fail_msg("%s: something at %g Hz", name, others[i]);
    free(loaded.samples);
}

static void test_formats(void **state)
{
    static const struct {
        const char *name;
        int format, rate;
        double tolerance;
    } cases[] = {
        {"u8.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 22050, 0.02},
        {"16.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 22050, 0.002},
        {"24.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 22050, 0.002},
        {"32.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_32, 22050, 0.002},
        {"float.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 22050, 0.002},
        {"double.wav", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 22050, 0.002},
        {"ulaw.wav", SF_FORMAT_WAV | SF_FORMAT_ULAW, 22050, 0.02},
        {"alaw.wav", SF_FORMAT_WAV | SF_FORMAT_ALAW, 22050, 0.02},
        {"wavex.wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 22050, 0.002},
        {"rf64.wav", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 22050, 0.002},
        {"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 44100, 0.002},
        {"a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 0.03},
        {"a.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 48000, 0.05},
        {"a.mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 44100, 0.05},
        {"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 22050, 0.002},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tone tone = {
            .rate = cases[i].rate, .channels = 1, .format = cases[i].format, .hertz = 440, .height = 0.4, .seconds = 1};
        tone_is_good(*state, cases[i].name, &tone, cases[i].tolerance);
    }
}

static void test_rates_and_channels(void **state)
{
    static const int rates[] = {8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 192000};
    char name[32];
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        snprintf(name, sizeof name, "rate%d.wav", rates[i]);
        const struct tone tone = {.rate = rates[i],
                                  .channels = 1 + (int)(i % 2),
                                  .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                                  .hertz = 440,
                                  .height = 0.4,
                                  .seconds = 1};
        tone_is_good(*state, name, &tone, 0.003);
    }
    static const int channels[] = {2, 3, 6, 300};
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        snprintf(name, sizeof name, "channels%d.wav", channels[i]);
        const struct tone tone = {.rate = 22050,
                                  .channels = channels[i],
                                  .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                                  .hertz = 440,
                                  .height = 0.4,
                                  .seconds = 1};
        tone_is_good(*state, name, &tone, 0.003);
    }
}

/* A tone above half of the target rate must vanish, not come back as another one. */
static void test_no_aliases(void **state)
{
    const struct mx_audio_options options = {
        .rate = MX_AUDIO_RATE_DEFAULT, .seconds_min = 0.4, .seconds_max = 20, .silent_db = -140, .clipped_share = 1};
    struct tone tone = {.rate = 48000,
                        .channels = 1,
                        .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
                        .hertz = 15000,
                        .height = 0.5,
                        .seconds = 1};
    tone_write(*state, "high.wav", &tone);
    const struct loaded loaded = load_with(*state, "high.wav", &options);
    assert_int_equal(loaded.rc, 0);
    assert_true(amplitude_at(&loaded, 22050 - 15000) < 1e-4);
    free(loaded.samples);
}

/* ---- trimming and level ---- */

/* The same reader gives one file at any rate, one after the other. */
static void test_rates(void **state)
{
    static const int rates[] = {24000, 44100, 16000, MX_AUDIO_RATE_DEFAULT, 24000};
    const struct tone tone = {.rate = 44100,
                              .channels = 1,
                              .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
                              .hertz = 1000,
                              .height = 0.5,
                              .seconds = 1};
    struct mx_audio_options options = MX_AUDIO_OPTIONS_DEFAULT;
    struct mx_audio_reader *reader = NULL;
    struct mx_audio_report report;
    const float *samples;
    char path[512];
    size_t count;
    uint32_t bound;
    tone_write(*state, "rates.wav", &tone);
    snprintf(path, sizeof path, "%s/rates.wav", (const char *)*state);
    assert_int_equal(mx_audio_reader_create(&reader), 0);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        options.rate = rates[i];
        assert_int_equal(mx_audio_load(reader, path, &options, &samples, &count, &report), 0);
        assert_true(llabs((long long)count - rates[i]) <= 1);
        assert_true(fabs(report.seconds_used - 1) < 0.001);
        assert_int_equal(mx_audio_probe(reader, path, &options, &bound, &report), 0);
        assert_true(bound >= count && bound < count + 128);
    }
    mx_audio_reader_destroy(reader);
}

static void test_trim(void **state)
{
    const struct tone tone = {.rate = 44100,
                              .channels = 1,
                              .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                              .hertz = 300,
                              .height = 0.3,
                              .seconds = 1,
                              .silence_before = 0.7,
                              .silence_after = 1.1};
    tone_write(*state, "trim.wav", &tone);
    struct loaded loaded = load(*state, "trim.wav");
    assert_int_equal(loaded.rc, 0);
    assert_true(fabs(loaded.report.seconds - 2.8) < 0.001);
    assert_true(fabs(loaded.report.trimmed_begin - 0.65) < 0.011);
    assert_true(fabs(loaded.report.trimmed_end - 1.05) < 0.011);
    assert_true(fabs(loaded.report.seconds_used - 1.1) < 0.022);
    assert_true(fabs((double)loaded.count / MX_AUDIO_RATE_DEFAULT - loaded.report.seconds_used) < 1e-9);
    /* All of the tone is there, and 50 ms of silence before it. */
    for (size_t i = 0; i < 800; i++) assert_true(fabsf(loaded.samples[i]) < 0.001f);
    assert_true(fabs(loaded.report.rms * loaded.report.gain - pow(10, -23.0 / 20)) < 0.002);
    free(loaded.samples);
    /* Without trimming and levelling the file comes as it is. */
    const struct mx_audio_options plain = {
        .rate = MX_AUDIO_RATE_DEFAULT, .seconds_min = 0.4, .seconds_max = 20, .silent_db = -54, .clipped_share = 1};
    loaded = load_with(*state, "trim.wav", &plain);
    assert_int_equal(loaded.rc, 0);
    assert_true(llabs((long long)loaded.count - (long long)(2.8 * MX_AUDIO_RATE_DEFAULT)) <= 1);
    assert_true(fabs(peak_of(&loaded) - 0.3) < 0.005);
    assert_true(loaded.report.gain == 1);
    free(loaded.samples);
}

static void test_level(void **state)
{
    static const double heights[] = {0.01, 0.1, 0.5, 0.99};
    for (size_t i = 0; i < sizeof heights / sizeof heights[0]; i++) {
        const struct tone tone = {.rate = 22050,
                                  .channels = 1,
                                  .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                                  .hertz = 300,
                                  .height = heights[i],
                                  .seconds = 1};
        tone_write(*state, "level.wav", &tone);
        const struct loaded loaded = load(*state, "level.wav");
        assert_int_equal(loaded.rc, 0);
        assert_true(fabs(20 * log10(rms_of(&loaded)) + 23) < 0.1);
        assert_true(fabs(loaded.report.peak - heights[i]) < 0.001);
        free(loaded.samples);
    }
    /* Short pulses: the peak is the limit, not the level. */
    int16_t samples[22050] = {0};
    for (size_t i = 0; i < 22050; i += 200) samples[i] = 20000;
    wav_lie(*state, "pulses.wav", 22050, sizeof samples, samples, 22050);
    const struct loaded loaded = load(*state, "pulses.wav");
    assert_int_equal(loaded.rc, 0);
    assert_true(fabs(20 * log10(peak_of(&loaded)) + 1) < 0.01);
    assert_true(20 * log10(rms_of(&loaded)) < -23.5);
    free(loaded.samples);
}

/* A constant offset is no sound: it is removed, and does not hide silence. */
static void test_offset(void **state)
{
    int16_t *const samples = malloc(44100 * sizeof samples[0]);
    for (size_t i = 0; i < 44100; i++)
        samples[i] = (int16_t)(8000 + (i >= 11025 && i < 33075 ? 4000 * sin(0.1 * (double)i) : 0));
    wav_lie(*state, "offset.wav", 22050, 88200, samples, 44100);
    const struct loaded loaded = load(*state, "offset.wav");
    assert_int_equal(loaded.rc, 0);
    assert_true(fabs(loaded.report.seconds_used - 1.1) < 0.03);
    double sum = 0;
    for (size_t i = 0; i < loaded.count; i++) sum += (double)loaded.samples[i];
    assert_true(fabs(sum / (double)loaded.count) < 0.001);
    free(loaded.samples);
    free(samples);
}

/* ---- what is refused ---- */

static void test_bad_files(void **state)
{
    const char *const folder = *state;
    int16_t *const samples = malloc(44100 * sizeof samples[0]);
    for (size_t i = 0; i < 44100; i++) samples[i] = (int16_t)(8000 * sin(0.1 * (double)i));
    refused(folder, "none.wav", MX_REJECT_MISSING_FILE, "no such file");
    file_put_text(folder, "empty.wav", "");
    refused(folder, "empty.wav", MX_REJECT_UNREADABLE, "empty");
    file_put_text(folder, "text.wav", "These are words.\nMany of them.\n");
    refused(folder, "text.wav", MX_REJECT_UNREADABLE, "text, not audio");
    file_put(folder, "rubbish.wav", "\1\2\3\0\0\0\7", 7);
    refused(folder, "rubbish.wav", MX_REJECT_UNREADABLE, "no audio file");
    file_put(folder, "head.wav", "RIFF\x24\0\0\0WAVEfmt ", 16);
    refused(folder, "head.wav", MX_REJECT_UNREADABLE, "begins like a WAV file");
    file_put(folder, "head.flac", "fLaC\0\0\0\x22", 8);
    refused(folder, "head.flac", MX_REJECT_UNREADABLE, "begins like a FLAC file");
    folder_add(folder, "folder.wav");
    refused(folder, "folder.wav", MX_REJECT_UNREADABLE, "not an ordinary file");
    char pipe[4096];
    snprintf(pipe, sizeof pipe, "%s/pipe.wav", folder);
    assert_int_equal(mkfifo(pipe, 0666), 0); /* reading it would wait for ever */
    refused(folder, "pipe.wav", MX_REJECT_UNREADABLE, "not an ordinary file");

    wav_lie(folder, "zero.wav", 0, 88200, samples, 44100);
    refused(folder, "zero.wav", MX_REJECT_ABSURD_RATE, "0 Hz");
    wav_lie(folder, "mega.wav", 1000000, 88200, samples, 44100);
    refused(folder, "mega.wav", MX_REJECT_ABSURD_RATE, "1000000 Hz");
    wav_lie(folder, "more.wav", 22050, 882000, samples, 44100);
    refused(folder, "more.wav", MX_REJECT_LYING_HEADER, "promises 20.00 s of audio, the file holds 2.00 s");
    wav_lie(folder, "huge.wav", 22050, 0x70000000, samples, 44100);
    refused(folder, "huge.wav", MX_REJECT_LYING_HEADER, "the file holds 2.00 s");
    wav_lie(folder, "less.wav", 22050, 2000, samples, 44100);
    refused(folder, "less.wav", MX_REJECT_LYING_HEADER, "1.95 s more follow");
    wav_lie(folder, "nothing.wav", 22050, 0, samples, 44100);
    refused(folder, "nothing.wav", MX_REJECT_LYING_HEADER, "promises 0.00 s");
    wav_lie(folder, "none-at-all.wav", 22050, 0, samples, 0);
    refused(folder, "none-at-all.wav", MX_REJECT_UNREADABLE, "no samples");
    /* Programs that write to a pipe do not know the size; that is no lie. */
    wav_lie(folder, "piped.wav", 22050, 0xFFFFFFFF, samples, 44100);
    const struct loaded piped = load(folder, "piped.wav");
    assert_int_equal(piped.rc, 0);
    assert_int_equal(piped.report.frames, 44100);
    free(piped.samples);

    wav_lie(folder, "short.wav", 22050, 4410, samples, 2205);
    refused(folder, "short.wav", MX_REJECT_TOO_SHORT, "0.10 s");
    memset(samples, 0, 88200);
    wav_lie(folder, "silent.wav", 22050, 88200, samples, 44100);
    refused(folder, "silent.wav", MX_REJECT_SILENT, "equal");
    for (size_t i = 0; i < 44100; i++) samples[i] = (int16_t)(20 * sin(0.1 * (double)i));
    wav_lie(folder, "faint.wav", 22050, 88200, samples, 44100);
    refused(folder, "faint.wav", MX_REJECT_SILENT, "at -65 dB");
    free(samples);
}

static void test_samples(void **state)
{
    const char *const folder = *state;
    char path[4096];
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    float *const samples = malloc(44100 * sizeof samples[0]);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < 44100; i++) samples[i] = (float)(0.3 * sin(0.1 * (double)i));
        samples[33075] = (float)bad[k];
        SF_INFO info = {.samplerate = 22050, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
        snprintf(path, sizeof path, "%s/nan.wav", folder);
        SNDFILE *const file = sf_open(path, SFM_WRITE, &info);
        assert_non_null(file);
        assert_int_equal(sf_writef_float(file, samples, 44100), 44100);
        sf_close(file);
        refused(folder, "nan.wav", MX_REJECT_NOT_FINITE, k == 0 ? "1.500 s is not a number" : "1.500 s is infinite");
    }
    /* A loud sine cut at full scale is clipped; one that just touches it is not. */
    int16_t *const whole = malloc(44100 * sizeof whole[0]);
    for (size_t i = 0; i < 44100; i++) {
        const double value = 40000 * sin(0.1 * (double)i);
        whole[i] = (int16_t)fmax(-32768, fmin(32767, value));
    }
    wav_lie(folder, "clipped.wav", 22050, 88200, whole, 44100);
    refused(folder, "clipped.wav", MX_REJECT_CLIPPED, "are clipped");
    for (size_t i = 0; i < 44100; i++) whole[i] = (int16_t)lrint(32767 * sin(0.5 * (double)i));
    wav_lie(folder, "loud.wav", 22050, 88200, whole, 44100);
    const struct loaded loud = load(folder, "loud.wav");
    assert_int_equal(loud.rc, 0);
    assert_int_equal(loud.report.clipped, 0);
    free(loud.samples);
    free(whole);
    free(samples);
}

/* Too long is too long, whatever it takes to know it: a file of 3 hours is not decoded to its end. */
static void test_long(void **state)
{
    const char *const folder = *state;
    struct tone tone = {.rate = 8000,
                        .channels = 1,
                        .format = SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                        .hertz = 300,
                        .height = 0.3,
                        .seconds = 21};
    tone_write(folder, "21.flac", &tone);
    refused(folder, "21.flac", MX_REJECT_TOO_LONG, "21.0 s");
    tone.seconds = 19;
    tone.silence_before = 3;
    tone_write(folder, "22.flac", &tone); /* only its silence is too long */
    const struct loaded loaded = load(folder, "22.flac");
    assert_int_equal(loaded.rc, 0);
    assert_true(fabs(loaded.report.seconds_used - 19.05) < 0.02);
    free(loaded.samples);
    tone.seconds = 3 * 3600;
    tone.hertz = 0;
    tone_write(folder, "hours.flac", &tone);
    const struct loaded hours = load(folder, "hours.flac");
    assert_int_equal(hours.report.reject, MX_REJECT_TOO_LONG);
    assert_non_null(strstr(hours.report.detail, "10803.0 s"));
    assert_in_range(hours.report.frames, 40 * 8000, 45 * 8000);
    free(hours.samples);
    /* A file that is cut off. */
    char path[4096];
    snprintf(path, sizeof path, "%s/21.flac", folder);
    FILE *const file = fopen(path, "rb");
    char *const bytes = malloc(20000);
    assert_int_equal(fread(bytes, 1, 20000, file), 20000);
    fclose(file);
    file_put(folder, "cut.flac", bytes, 20000);
    const struct loaded cut = load(folder, "cut.flac");
    assert_true(cut.report.reject == MX_REJECT_LYING_HEADER || cut.report.reject == MX_REJECT_UNREADABLE);
    free(cut.samples);
    free(bytes);
}

/* ---- one reader for many files ---- */

static void test_reuse(void **state)
{
    char path[3][4096];
    static const int rates[] = {48000, 22050, 16000};
    struct loaded alone[3];
    struct mx_audio_report report;
    struct mx_audio_reader *reader;
    const struct mx_audio_options options = MX_AUDIO_OPTIONS_DEFAULT;
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.wav", i);
        const struct tone tone = {.rate = rates[i],
                                  .channels = 1,
                                  .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                                  .hertz = 250 + 100 * i,
                                  .height = 0.3,
                                  .seconds = 1 + i};
        tone_write(*state, name, &tone);
        snprintf(path[i], sizeof path[i], "%s/%s", (char *)*state, name);
        alone[i] = load(*state, name);
        assert_int_equal(alone[i].rc, 0);
    }
    assert_int_equal(mx_audio_reader_create(&reader), 0);
    uint64_t allocations = 0;
    for (int turn = 0; turn < 12; turn++) {
        const int i = turn % 6 / 2; /* each file twice in a row, so that the resampler is used again */
        const float *samples;
        size_t count;
        if (turn == 6) allocations = mx_alloc_count();
        assert_int_equal(mx_audio_load(reader, path[i], &options, &samples, &count, &report), 0);
        assert_int_equal(count, alone[i].count);
        assert_memory_equal(samples, alone[i].samples, count * sizeof samples[0]);
    }
    assert_int_equal(mx_alloc_count(), allocations);
    mx_audio_reader_destroy(reader);
    for (int i = 0; i < 3; i++) free(alone[i].samples);
    /* Memory that is missing is not the file's fault. */
    for (uint64_t nth = 1; nth <= 2; nth++) {
        const float *samples;
        size_t count;
        assert_int_equal(mx_audio_reader_create(&reader), 0);
        mx_alloc_fail_at(nth);
        assert_int_equal(mx_audio_load(reader, path[0], &options, &samples, &count, &report), MX_ERR_NO_MEMORY);
        mx_alloc_fail_at(0);
        assert_int_equal(report.reject, MX_REJECT_NONE);
        mx_audio_reader_destroy(reader);
    }
}

static void test_options(void **state)
{
    (void)state;
    struct mx_audio_options options = MX_AUDIO_OPTIONS_DEFAULT;
    assert_int_equal(mx_audio_options_check(&options), 0);
    options.seconds_min = 30;
    assert_int_equal(mx_audio_options_check(&options), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->message, "not below the maximum"));
    options = MX_AUDIO_OPTIONS_DEFAULT;
    options.seconds_max = NAN;
    assert_int_equal(mx_audio_options_check(&options), MX_ERR_ARGUMENT);
    options = MX_AUDIO_OPTIONS_DEFAULT;
    options.level_db = 3;
    assert_int_equal(mx_audio_options_check(&options), MX_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_formats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rates_and_channels, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_aliases, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_trim, setup, teardown),
        cmocka_unit_test_setup_teardown(test_level, setup, teardown),
        cmocka_unit_test_setup_teardown(test_offset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_samples, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reuse, setup, teardown),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
