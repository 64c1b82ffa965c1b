/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A corpus for measuring, see profile.h: a folder in the layout of LJSpeech whose voice is a hum with harmonics, a
 * wandering pitch, syllables and some noise, so that features and alignment have as much work as with speech. Lengths
 * are spread evenly around 250 mel frames, from half of that to half as much again, with one character for every five
 * frames, as in recordings of read speech. A function of the seed only.
 *
 * Memory: the folder, below TMPDIR or /tmp, is the caller's until mx_profile_corpus_remove.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/rng.h"
#include "cli/profile/profile.h"
#include "features/recipe.h"
#include "myxtts/error.h"
#include "speech/wav.h"

#define FRAMES_MIDDLE    250
#define FRAMES_PER_TOKEN (250.0 / 49.0)
#define PERIOD           2048 /* samples of one period of the hum */
#define HARMONICS        12
#define HEIGHT           0.2f
#define NOISE            0.004f

enum random_stream { STREAM_LENGTH, STREAM_LETTER, STREAM_PITCH, STREAM_NOISE };

static int64_t frames_of(uint64_t seed, int64_t row, bool equal)
{
    if (equal) return FRAMES_MIDDLE;
    return FRAMES_MIDDLE / 2 + (int64_t)mx_rng_below(seed, STREAM_LENGTH, (uint64_t)row, FRAMES_MIDDLE + 1);
}

static void period_compute(float period[PERIOD])
{
    for (int i = 0; i < PERIOD; i++) {
        period[i] = 0;
        for (int k = 1; k <= HARMONICS; k++)
            period[i] += HEIGHT / (float)k * (float)sin(2 * M_PI * k * (double)i / PERIOD);
    }
}

/* The hum: its pitch wanders by a fifth around that of the recording, four syllables a second. */
static void sound_compute(uint64_t seed, int64_t row, const float period[PERIOD], float *samples, int64_t count)
{
    const double rate = MX_RECIPE_DEFAULT->rate;
    const double base = 100 + 120 * (double)mx_rng_uniform(seed, STREAM_PITCH, (uint64_t)row);
    double phase = 0;
    for (int64_t i = 0; i < count; i++) {
        const double t = (double)i / rate;
        const double hertz = base * (1 + 0.2 * sin(2 * M_PI * 0.7 * t));
        const float loud = 0.65f + 0.35f * (float)sin(2 * M_PI * 4 * t);
        const float noise = mx_rng_uniform(seed, STREAM_NOISE + (uint64_t)row, (uint64_t)i) - 0.5f;
        samples[i] = loud * period[(int)phase] + NOISE * noise;
        phase += hertz * PERIOD / rate;
        if (phase >= PERIOD) phase -= PERIOD;
    }
}

/* Words of two syllables, as many characters as the recording is long. */
static void line_append(struct mx_string *manifest, uint64_t seed, int64_t row, int64_t frames)
{
    static const char consonants[] = "bdfklmnprstvz", vowels[] = "aeiou";
    const int characters = (int)((double)frames / FRAMES_PER_TOKEN) - 2; /* and a beginning and an end */
    char text[128] = "";
    for (int i = 0; i < characters && i < (int)sizeof text - 1; i++) {
        const char *const letters = i % 2 == 0 ? consonants : vowels;
        const uint64_t pick = mx_rng_below(seed, STREAM_LETTER, (uint64_t)(row * 256 + i), strlen(letters));
        text[i] = i % 5 == 4 && i + 1 < characters ? ' ' : letters[pick];
    }
    mx_string_append(manifest, "row-%06" PRId64 "|%s|%s\n", row, text, text);
}

static int recordings_write(const char *folder, int64_t rows, bool equal, uint64_t seed, struct mx_string *manifest)
{
    int rc = 0;
    char path[320];
    float period[PERIOD];
    float *samples = mx_alloc((size_t)(2 * FRAMES_MIDDLE) * (size_t)MX_RECIPE_DEFAULT->hop, sizeof *samples);
    if (samples == NULL) return MX_ERR_NO_MEMORY;
    period_compute(period);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t frames = frames_of(seed, row, equal), count = frames * MX_RECIPE_DEFAULT->hop;
        sound_compute(seed, row, period, samples, count);
        snprintf(path, sizeof path, "%s/wavs/row-%06" PRId64 ".wav", folder, row);
        MX_TRY(mx_wav_write(path, samples, (size_t)count, MX_RECIPE_DEFAULT->rate, MX_WAV_PCM16));
        line_append(manifest, seed, row, frames);
    }
    rc = manifest->failure;
out:
    mx_free(samples);
    return rc;
}

int mx_profile_corpus_write(struct mx_profile_corpus *corpus, int64_t rows, bool equal, uint64_t seed)
{
    int rc = 0;
    char path[320];
    struct mx_string manifest = {0};
    const char *const base = getenv("TMPDIR");
    const int length = snprintf(corpus->folder, sizeof corpus->folder, "%s/myxtts-profile-XXXXXX",
                                base != NULL && base[0] != '\0' ? base : "/tmp");
    if (length >= (int)sizeof corpus->folder || mkdtemp(corpus->folder) == NULL) {
        corpus->folder[0] = '\0';
        MX_RAISE(MX_ERR_IO, "name a folder that can be written to in TMPDIR, or give '--train-data DIR'",
                 "cannot make a folder for the corpus: %s", strerror(errno));
    }
    snprintf(path, sizeof path, "%s/wavs", corpus->folder);
    if (mkdir(path, 0777) != 0)
        MX_RAISE(MX_ERR_IO, "name a folder that can be written to in TMPDIR", "cannot make %s: %s", path,
                 strerror(errno));
    MX_TRY(recordings_write(corpus->folder, rows, equal, seed, &manifest));
    snprintf(path, sizeof path, "%s/metadata.csv", corpus->folder);
    MX_TRY(mx_file_write_atomic(path, manifest.data, manifest.length));
out:
    mx_string_release(&manifest);
    return rc;
}

void mx_profile_corpus_remove(struct mx_profile_corpus *corpus)
{
    if (corpus->folder[0] == '\0') return;
    (void)mx_file_remove_folder(corpus->folder);
    corpus->folder[0] = '\0';
}
