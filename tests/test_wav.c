/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * WAV files: what is written is read back, level, refusals, and nothing half-written.
 */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <sndfile.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"
#include "speech/wav.h"
#include "support/recording.h"

#define COUNT 20000
#define RATE  22050

static float samples[COUNT];

/* Reads a file back. */
static void read_back(const char *path, float *out, size_t count, int format)
{
    SF_INFO info = {0};
    SNDFILE *file = sf_open(path, SFM_READ, &info);
    assert_non_null(file);
    assert_int_equal(info.samplerate, RATE);
    assert_int_equal(info.channels, 1);
    assert_int_equal(info.format, SF_FORMAT_WAV | format);
    assert_int_equal(info.frames, count);
    assert_int_equal(sf_readf_float(file, out, (sf_count_t)count), count);
    sf_close(file);
}

static void fill(float height)
{
    for (int i = 0; i < COUNT; i++) samples[i] = height * sinf((float)i * 0.1f) * (i == COUNT / 2 ? 1 : 0.9f);
}

static void round_trip(void **state)
{
    static float back[COUNT];
    char *folder = folder_make(), *path = mx_format("%s/a.wav", folder);
    (void)state;
    fill(0.5f);
    assert_int_equal(mx_wav_write(path, samples, COUNT, RATE, MX_WAV_FLOAT), 0);
    read_back(path, back, COUNT, SF_FORMAT_FLOAT);
    assert_memory_equal(back, samples, sizeof back);
    assert_int_equal(mx_wav_write(path, samples, COUNT, RATE, MX_WAV_PCM16), 0); /* replaces it */
    read_back(path, back, COUNT, SF_FORMAT_PCM_16);
    for (int i = 0; i < COUNT; i++) assert_true(fabsf(back[i] - samples[i]) < 1.1f / 32768);
    assert_int_equal(mx_wav_write(path, samples, 0, RATE, MX_WAV_PCM16), 0);
    read_back(path, back, 0, SF_FORMAT_PCM_16);
    /* The same sound is the same file. */
    char *one, *two;
    size_t one_bytes, two_bytes;
    assert_int_equal(mx_wav_write(path, samples, 100, RATE, MX_WAV_FLOAT), 0);
    assert_int_equal(mx_file_read(path, 1 << 20, &one, &one_bytes), 0);
    assert_int_equal(mx_wav_write(path, samples, 100, RATE, MX_WAV_FLOAT), 0);
    assert_int_equal(mx_file_read(path, 1 << 20, &two, &two_bytes), 0);
    assert_int_equal(one_bytes, two_bytes);
    assert_memory_equal(one, two, one_bytes);
    mx_free(one);
    mx_free(two);
    mx_free(path);
    folder_remove(folder);
}

static void level(void **state)
{
    static float back[COUNT];
    char *folder = folder_make(), *path = mx_format("%s/a.wav", folder);
    (void)state;
    fill(0.5f);
    assert_true(mx_wav_gain(samples, COUNT) == 1);
    assert_true(mx_wav_gain(samples, 0) == 1);
    fill(3);
    const float gain = mx_wav_gain(samples, COUNT);
    assert_true(gain > 0.3f && gain < 0.4f);
    assert_int_equal(mx_wav_write(path, samples, COUNT, RATE, MX_WAV_PCM16), 0);
    read_back(path, back, COUNT, SF_FORMAT_PCM_16);
    float peak = 0;
    for (int i = 0; i < COUNT; i++) {
        peak = fmaxf(peak, fabsf(back[i]));
        assert_true(fabsf(back[i] - gain * samples[i]) < 1.1f / 32768); /* one factor for all: nothing is cut off */
    }
    assert_true(fabsf(peak - MX_WAV_PEAK) < 1e-3f);
    mx_free(path);
    folder_remove(folder);
}

static int entries(const char *folder)
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) count += e->d_name[0] != '.' || e->d_name[1] > '.';
    closedir(dir);
    return count;
}

static void refusals(void **state)
{
    char *folder = folder_make(), *path = mx_format("%s/a.wav", folder), *lost = mx_format("%s/no/a.wav", folder);
    (void)state;
    fill(0.5f);
    assert_int_equal(mx_wav_write(path, samples, 10, 0, MX_WAV_PCM16), MX_ERR_ARGUMENT);
    assert_int_equal(mx_wav_write(path, samples, (size_t)1 << 31, RATE, MX_WAV_PCM16), MX_ERR_ARGUMENT);
    samples[7] = NAN;
    assert_int_equal(mx_wav_write(path, samples, 10, RATE, MX_WAV_PCM16), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "7"));
    samples[7] = INFINITY;
    assert_int_equal(mx_wav_write(path, samples, 10, RATE, MX_WAV_FLOAT), MX_ERR_DATA);
    samples[7] = 0;
    assert_int_equal(entries(folder), 0);
    assert_true(mx_wav_write(lost, samples, 10, RATE, MX_WAV_FLOAT) < 0);
    assert_true(mx_wav_write(folder, samples, 10, RATE, MX_WAV_FLOAT) < 0); /* a folder is no file */
    mx_alloc_fail_at(1);
    assert_int_equal(mx_wav_write(path, samples, 10, RATE, MX_WAV_FLOAT), MX_ERR_NO_MEMORY);
    mx_alloc_fail_at(0);
    assert_int_equal(entries(folder), 0);
    mx_free(lost);
    mx_free(path);
    folder_remove(folder);
}

/* "-" in a process of its own, whose standard output is a file: the same bytes as under a name. */
static void standard_output(void **state)
{
    char *folder = folder_make(), *path = mx_format("%s/a.wav", folder), *named = mx_format("%s/b.wav", folder);
    char *one, *two;
    size_t one_bytes, two_bytes;
    int status;
    (void)state;
    fill(0.5f);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        FILE *file = fopen(path, "w");
        if (!file || dup2(fileno(file), STDOUT_FILENO) < 0) _exit(1);
        _exit(mx_wav_write("-", samples, COUNT, RATE, MX_WAV_PCM16) < 0 ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(mx_wav_write(named, samples, COUNT, RATE, MX_WAV_PCM16), 0);
    assert_int_equal(mx_file_read(path, 1 << 20, &one, &one_bytes), 0);
    assert_int_equal(mx_file_read(named, 1 << 20, &two, &two_bytes), 0);
    assert_int_equal(one_bytes, two_bytes);
    assert_memory_equal(one, two, one_bytes);
    mx_free(one);
    mx_free(two);
    mx_free(named);
    mx_free(path);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(level),
        cmocka_unit_test(refusals),
        cmocka_unit_test(standard_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
