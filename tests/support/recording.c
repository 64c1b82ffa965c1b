/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recordings and folders for tests, see recording.h. Anything that goes wrong here ends the test program.
 */
#include "support/recording.h"

#include <ftw.h>
#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

static void must(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "cannot prepare the test: %s\n", what);
    abort();
}

static void path_join(char out[PATH_BYTES], const char *folder, const char *name)
{
    must(snprintf(out, PATH_BYTES, "%s/%s", folder, name) < PATH_BYTES, "path too long");
}

char *folder_make(void)
{
    const char *const parent = getenv("TMPDIR");
    char path[PATH_BYTES];
    path_join(path, parent == NULL ? "/tmp" : parent, "myxtts-test-XXXXXX");
    must(mkdtemp(path) != NULL, "folder");
    return strdup(path);
}

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void folder_remove(char *folder)
{
    nftw(folder, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

void folder_add(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    path_join(path, folder, name);
    must(mkdir(path, 0777) == 0, path);
}

void file_put(const char *folder, const char *name, const void *data, size_t bytes)
{
    char path[PATH_BYTES];
    path_join(path, folder, name);
    FILE *const file = fopen(path, "wb");
    must(file != NULL, path);
    must(fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0, path);
}

void file_put_text(const char *folder, const char *name, const char *text)
{
    file_put(folder, name, text, strlen(text));
}

char *letters_make(int count)
{
    char path[PATH_BYTES], *const around = folder_make();
    folder_add(around, "corpus");
    path_join(path, around, "corpus");
    free(around);
    folder_add(path, "wavs");
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "wavs/%c.wav", 'a' + i);
        file_put_text(path, name, "not read here");
    }
    return strdup(path);
}

void letters_remove(char *folder)
{
    *strrchr(folder, '/') = '\0';
    folder_remove(folder);
}

void tone_write(const char *folder, const char *name, const struct tone *tone)
{
    char path[PATH_BYTES];
    path_join(path, folder, name);
    SF_INFO info = {.samplerate = tone->rate, .channels = tone->channels, .format = tone->format};
    SNDFILE *const file = sf_open(path, SFM_WRITE, &info);
    must(file != NULL, path);
    const size_t before = (size_t)(tone->silence_before * tone->rate), count = (size_t)(tone->seconds * tone->rate);
    const size_t frames = before + count + (size_t)(tone->silence_after * tone->rate);
    const size_t channels = (size_t)tone->channels;
    double *const samples = calloc(frames * channels + 1, sizeof samples[0]);
    must(samples != NULL, "memory");
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < channels; c++)
            samples[(before + i) * channels + c] =
                tone->height * sin(2 * 3.14159265358979323846 * tone->hertz * (double)i / tone->rate);
    must(sf_writef_double(file, samples, (sf_count_t)frames) == (sf_count_t)frames, path);
    must(sf_close(file) == 0, path);
    free(samples);
}

static void put32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> 8 * i);
}

void wav_lie(const char *folder, const char *name, uint32_t rate, uint32_t data_bytes, const int16_t *samples,
             size_t count)
{
    unsigned char *const bytes = calloc(44 + 2 * count, 1);
    must(bytes != NULL, "memory");
    memcpy(bytes, "RIFF....WAVEfmt ....\1\0\1\0........\2\0\20\0data", 40);
    put32(bytes + 4, 36 + data_bytes);
    put32(bytes + 16, 16);
    put32(bytes + 24, rate);
    put32(bytes + 28, 2 * rate);
    put32(bytes + 40, data_bytes);
    for (size_t i = 0; i < count; i++) {
        bytes[44 + 2 * i] = (unsigned char)((uint16_t)samples[i] & 0xff);
        bytes[45 + 2 * i] = (unsigned char)((uint16_t)samples[i] >> 8);
    }
    file_put(folder, name, bytes, 44 + 2 * count);
    free(bytes);
}
