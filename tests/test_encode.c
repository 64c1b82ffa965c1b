/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streaming encoders: what is decoded again is the sound that was put in, in every format; the bytes do not depend on how
 * the sound was cut; they leave while it is being made; and running out of memory is an error.
 */
#include <math.h>
#include <setjmp.h>
#include <sndfile.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "speech/encode.h"

#define RATE  22050
#define COUNT 50001

static float samples[COUNT];

/* Speech-like enough: some tones that come and go, nowhere above 0.8. */
static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        const double t = (double)i / RATE;
        samples[i] = (float)(0.3 * sin(2 * M_PI * 180 * t) * (1 + sin(2 * M_PI * 3 * t)) +
                             0.2 * sin(2 * M_PI * (700 + 200 * t) * t));
    }
    return 0;
}

struct bytes {
    char *data;
    size_t count;
    size_t before_end; /* that had left when half of the sound was there */
};

static void take(struct mx_encode *encode, struct bytes *bytes)
{
    size_t count;
    const char *const data = mx_encode_bytes(encode, &count);
    bytes->data = mx_realloc(bytes->data, bytes->count + count + 1, 1);
    assert_non_null(bytes->data);
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

/* seed 0: in one piece; otherwise in pieces of random lengths. */
static struct bytes encode_all(enum mx_encode_format format, int to, uint64_t seed)
{
    struct bytes bytes = {0};
    struct mx_encode *encode;
    uint64_t drawn = 0;
    assert_int_equal(mx_encode_open(format, RATE, to, -1, &encode), 0);
    for (size_t at = 0; at < COUNT;) {
        size_t n = seed == 0 ? COUNT : (size_t)mx_rng_below(seed, 0, drawn++, seed == 1 ? 30 : 3000);
        if (n > COUNT - at) n = COUNT - at;
        assert_int_equal(mx_encode_write(encode, samples + at, n), 0);
        at += n;
        if (seed != 2 || mx_rng_below(seed, 0, drawn++, 2) == 0)
            take(encode, &bytes); /* bytes that nobody takes are kept */
        if (at < COUNT / 2) bytes.before_end = bytes.count;
    }
    assert_int_equal(mx_encode_finish(encode), 0);
    take(encode, &bytes);
    take(encode, &bytes); /* nothing twice */
    mx_encode_close(encode);
    return bytes;
}

/* Decodes the bytes of a file; returns the number of samples. */
static size_t decode(const struct bytes *bytes, float *out, size_t room, int *rate)
{
    char path[] = "/tmp/myxtts-encode-XXXXXX";
    SF_INFO info = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes->data, bytes->count), bytes->count);
    lseek(fd, 0, SEEK_SET);
    SNDFILE *const file = sf_open_fd(fd, SFM_READ, &info, SF_TRUE);
    if (file == NULL) fail_msg("libsndfile cannot read it: %s", sf_strerror(NULL));
    assert_int_equal(info.channels, 1);
    const sf_count_t got = sf_readf_float(file, out, (sf_count_t)room);
    *rate = info.samplerate;
    sf_close(file);
    unlink(path);
    return (size_t)got;
}

static int16_t whole(float x)
{
    int16_t out;
    mx_samples_pcm16(&x, 1, &out);
    return out;
}

/* wav, pcm and flac carry the same 16-bit samples, exactly those that were put in. */
static void exact(void **state)
{
    static float back[2 * COUNT];
    (void)state;
    for (int format = MX_ENCODE_WAV; format <= MX_ENCODE_FLAC; format++) {
        struct bytes bytes = encode_all((enum mx_encode_format)format, RATE, 3);
        int rate = RATE;
        size_t got = COUNT;
        if (format == MX_ENCODE_PCM) {
            assert_int_equal(bytes.count, 2 * COUNT);
            for (int i = 0; i < COUNT; i++) {
                const unsigned char *const pair = (const unsigned char *)bytes.data + 2 * i;
                back[i] = (float)(int16_t)(pair[0] | pair[1] << 8) / 32768;
            }
        } else {
            got = decode(&bytes, back, 2 * COUNT, &rate);
        }
        assert_int_equal(rate, RATE);
        assert_int_equal(got, COUNT);
        for (int i = 0; i < COUNT; i++) assert_int_equal((int)(32768 * back[i]), whole(samples[i]));
        mx_free(bytes.data);
    }
}

/* How much of `back` is not the sound `wanted`, in dB below it, at the delay that fits best. */
static double difference_db(const float *back, size_t got, const double *wanted, size_t count, int *best)
{
    double least = INFINITY;
    for (int delay = 0; delay < 4000; delay++) {
        double signal = 0, error = 0;
        for (size_t i = 2000; i < count && i + (size_t)delay < got; i += 7) {
            const double d = back[i + (size_t)delay] - wanted[i];
            signal += wanted[i] * wanted[i];
            error += d * d;
        }
        if (error / signal >= least) continue;
        least = error / signal;
        *best = delay;
    }
    return -10 * log10(least);
}

/* The tones of fill() at another rate, as they would have been made there. */
static void lossy(void **state)
{
    static float back[4 * COUNT];
    static double wanted[4 * COUNT];
    const struct {
        enum mx_encode_format format;
        int to, decoded;
        double least_db;
        int delay_max;
    } cases[] = {{MX_ENCODE_MP3, RATE, RATE, 12, 1800},  {MX_ENCODE_MP3, 24000, 24000, 12, 1800},
                 {MX_ENCODE_OPUS, 24000, 24000, 12, 40}, {MX_ENCODE_OPUS, 48000, 48000, 12, 40},
                 {MX_ENCODE_WAV, 24000, 24000, 60, 1},   {MX_ENCODE_FLAC, 16000, 16000, 60, 1},
                 {MX_ENCODE_MP3, 16000, 16000, 12, 1800}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct bytes bytes = encode_all(cases[c].format, cases[c].to, 3);
        int rate, delay = 0;
        const size_t got = decode(&bytes, back, 4 * COUNT, &rate);
        const size_t count = (size_t)((double)COUNT * cases[c].decoded / RATE);
        for (size_t i = 0; i < count; i++) {
            const double t = (double)i / cases[c].decoded;
            wanted[i] =
                0.3 * sin(2 * M_PI * 180 * t) * (1 + sin(2 * M_PI * 3 * t)) + 0.2 * sin(2 * M_PI * (700 + 200 * t) * t);
        }
        assert_int_equal(rate, cases[c].decoded);
        const double db = difference_db(back, got, wanted, count - 100, &delay);
        print_message("%s at %d Hz: %.1f dB, %d samples late, %zu bytes, %zu of %zu samples\n",
                      mx_encode_names[cases[c].format], cases[c].to, db, delay, bytes.count, got, count);
        assert_true(db > cases[c].least_db);
        assert_true(delay <= cases[c].delay_max); /* no frame of silence at the beginning */
        assert_true(got + 2 >= count && got <= count + 4000);
        mx_free(bytes.data);
    }
}

static void cuts_do_not_matter(void **state)
{
    static float first[4 * COUNT], second[4 * COUNT];
    (void)state;
    for (int format = 0; format < MX_ENCODE_FORMATS; format++) {
        const int rates[] = {mx_encode_rate((enum mx_encode_format)format, RATE), 24000};
        for (int r = 0; r < 2; r++) {
            struct bytes one = encode_all((enum mx_encode_format)format, rates[r], 0);
            for (uint64_t seed = 1; seed <= 3; seed++) {
                struct bytes other = encode_all((enum mx_encode_format)format, rates[r], seed);
                assert_int_equal(other.count, one.count);
                if (format == MX_ENCODE_OPUS) { /* the serial number of the stream is another one */
                    int rate;
                    const size_t count = decode(&one, first, 4 * COUNT, &rate);
                    assert_int_equal(decode(&other, second, 4 * COUNT, &rate), count);
                    assert_memory_equal(first, second, count * sizeof first[0]);
                } else {
                    assert_memory_equal(other.data, one.data, one.count);
                }
                if (seed != 2) assert_true(other.before_end > one.count / 4); /* it does not keep it for the end */
                mx_free(other.data);
            }
            mx_free(one.data);
        }
    }
}

static void header(void **state)
{
    static const unsigned char open_sizes[] = {0xff, 0xff, 0xff, 0xff};
    unsigned char out[MX_ENCODE_WAV_HEADER];
    static float back[10];
    int rate;
    (void)state;
    struct bytes bytes = encode_all(MX_ENCODE_WAV, RATE, 0);
    assert_memory_equal(bytes.data + 4, open_sizes, 4);
    assert_memory_equal(bytes.data + 40, open_sizes, 4);
    mx_free(bytes.data);
    mx_encode_wav_header(out, RATE, 3);
    char file[MX_ENCODE_WAV_HEADER + 6] = {0};
    memcpy(file, out, sizeof out);
    assert_int_equal(file[4], 36 + 6);
    bytes = (struct bytes){.data = file, .count = sizeof file};
    assert_int_equal(decode(&bytes, back, 10, &rate), 3);
    assert_int_equal(rate, RATE);
}

/* Louder than full scale: bent, not wrapped around; as the other writers of 16-bit samples do it. */
static void loud(void **state)
{
    const float loud[] = {2, -2, 1, -1, 0.95f, 0};
    int16_t wanted[6];
    struct mx_encode *encode;
    size_t count;
    (void)state;
    mx_samples_pcm16(loud, 6, wanted);
    assert_true(wanted[0] > wanted[2] && wanted[2] > wanted[4] && wanted[4] > 29000 && abs(wanted[0] + wanted[1]) <= 1);
    assert_int_equal(mx_encode_open(MX_ENCODE_PCM, RATE, RATE, -1, &encode), 0);
    assert_int_equal(mx_encode_write(encode, loud, 6), 0);
    assert_int_equal(mx_encode_finish(encode), 0);
    const unsigned char *const bytes = (const unsigned char *)mx_encode_bytes(encode, &count);
    assert_int_equal(count, 12);
    for (int i = 0; i < 6; i++) assert_int_equal((int16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8), wanted[i]);
    mx_encode_close(encode);
}

static void names_and_rates(void **state)
{
    enum mx_encode_format format;
    struct mx_encode *encode;
    (void)state;
    assert_true(mx_encode_find("opus", &format));
    assert_int_equal(format, MX_ENCODE_OPUS);
    assert_false(mx_encode_find("aac", &format));
    assert_int_equal(mx_encode_rate(MX_ENCODE_OPUS, RATE), 24000);
    assert_int_equal(mx_encode_rate(MX_ENCODE_OPUS, 96000), 48000);
    assert_int_equal(mx_encode_rate(MX_ENCODE_MP3, RATE), RATE);
    assert_int_equal(mx_encode_rate(MX_ENCODE_MP3, 23000), 24000);
    assert_int_equal(mx_encode_rate(MX_ENCODE_WAV, 23000), 23000);
    assert_int_equal(mx_encode_open(MX_ENCODE_OPUS, RATE, RATE, -1, &encode), MX_ERR_ARGUMENT);
    assert_null(encode);
    assert_int_equal(mx_encode_open(MX_ENCODE_WAV, RATE, 96000, -1, &encode), MX_ERR_ARGUMENT);
    assert_int_equal(mx_encode_open(MX_ENCODE_WAV, 0, RATE, -1, &encode), MX_ERR_ARGUMENT);
}

/* A file is complete: its header has the length, and it sounds as the stream does. */
static void whole_files(void **state)
{
    (void)state;
    for (int format = 0; format < MX_ENCODE_FORMATS; format++) {
        static float streamed[4 * COUNT], kept[4 * COUNT];
        char path[64];
        SF_INFO info = {0};
        int rate = 0;
        const int to = mx_encode_rate((enum mx_encode_format)format, RATE);
        if (format == MX_ENCODE_PCM) continue;
        snprintf(path, sizeof path, "/tmp/myxtts-encode-%d.%s", (int)getpid(), mx_encode_names[format]);
        assert_int_equal(mx_encode_file(path, (enum mx_encode_format)format, samples, COUNT, RATE), 0);
        struct bytes stream = encode_all((enum mx_encode_format)format, to, 0);
        const size_t count = decode(&stream, streamed, 4 * COUNT, &rate);
        SNDFILE *const file = sf_open(path, SFM_READ, &info);
        assert_non_null(file);
        assert_int_equal(info.samplerate, rate);
        if (format != MX_ENCODE_MP3) assert_int_equal(info.frames, format == MX_ENCODE_OPUS ? count : COUNT);
        const size_t got = (size_t)sf_readf_float(file, kept, 4 * COUNT);
        assert_in_range(got, COUNT, 2 * COUNT);
        if (format != MX_ENCODE_MP3) assert_memory_equal(kept, streamed, got * sizeof kept[0]);
        sf_close(file);
        unlink(path);
        mx_free(stream.data);
    }
}

static void endings(void **state)
{
    enum mx_encode_format format;
    const char *ending;
    static const struct {
        const char *path;
        enum mx_encode_format format;
    } known[] = {{"a/b.MP3", MX_ENCODE_MP3}, {"x.ogg", MX_ENCODE_OPUS}, {"x.opus", MX_ENCODE_OPUS},
                 {"x.flac", MX_ENCODE_FLAC}, {"a.b/x", MX_ENCODE_WAV},  {".hidden", MX_ENCODE_WAV},
                 {"x.wav", MX_ENCODE_WAV},   {"x.pcm", MX_ENCODE_PCM}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_true(mx_encode_named(known[i].path, &format, &ending));
        assert_int_equal(format, known[i].format);
    }
    assert_false(mx_encode_named("a/x.mp4", &format, &ending));
    assert_string_equal(ending, ".mp4");
}

/* Every allocation fails once: an error each time, and nothing is lost. */
static void no_memory(void **state)
{
    (void)state;
    for (int format = 0; format < MX_ENCODE_FORMATS; format++) {
        int rc = -1;
        for (uint64_t nth = 1; rc != 0; nth++) {
            struct mx_encode *encode = NULL;
            assert_true(nth < 50);
            mx_alloc_fail_at(nth);
            rc = mx_encode_open((enum mx_encode_format)format, RATE, 24000, -1, &encode);
            if (rc == 0) rc = mx_encode_write(encode, samples, 6000);
            if (rc == 0) rc = mx_encode_finish(encode);
            mx_encode_close(encode);
            mx_alloc_fail_at(0);
            assert_true(rc == 0 || rc == MX_ERR_NO_MEMORY);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact),     cmocka_unit_test(lossy),       cmocka_unit_test(cuts_do_not_matter),
        cmocka_unit_test(header),    cmocka_unit_test(loud),        cmocka_unit_test(names_and_rates),
        cmocka_unit_test(no_memory), cmocka_unit_test(whole_files), cmocka_unit_test(endings),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
