/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * resynth [-v VOCODER] [-r ROUNDS] [-p PROJECTIONS] [-s SIGMA] [-w] FOLDER FILE.wav...: each recording becomes log-mel
 * and sound again, FOLDER/FILE.wav, with the vocoder of a run or checkpoint or, without -v, by Griffin and Lim's
 * algorithm. What is lost on this way no network can win back: it is the ceiling of bench-speech. Rounds and projections
 * are those of `myxtts synth` unless given. -s smooths the mel in time by a Gaussian of SIGMA frames, since networks
 * predict smooth mel. Standard output: seconds of sound, and the CPU seconds from mel to sound, which other work on the
 * machine does not change.
 *
 * Recordings are read as training reads them: resampled, trimmed, levelled; with -w neither trimmed nor levelled, so
 * that the result lies on the recording.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "corpus/audio/audio.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "speech/runtime.h"
#include "speech/wav.h"

#define SECONDS_MAX 60

struct wanted {
    const char *vocoder;
    int rounds, projections;
    double sigma;
    bool whole;
};

struct maker {
    struct mx_runtime runtime;
    struct mx_runtime_vocoder vocoder;
    struct mx_audio_reader *reader;
    struct mx_extract *extract;
    struct mx_sound *sound;
    float *mel, *smooth; /* [frames of SECONDS_MAX, bands] */
    struct mx_buffer *smoothed;
    double seconds, work_seconds;
};

static int maker_open(struct maker *m, const struct wanted *wanted)
{
    int rc = 0;
    const struct mx_extract_options room = {
        .samples_max = (int64_t)SECONDS_MAX * MX_RECIPE_DEFAULT->rate, .utterances_max = 1, .no_pitch = true};
    struct mx_sound_options sound = MX_SOUND_OPTIONS_DEFAULT;
    sound.rounds = wanted->rounds;
    sound.projections = wanted->projections;
    sound.frames_max = mx_recipe_frames(MX_RECIPE_DEFAULT, room.samples_max);
    sound.utterances_max = 1;
    const size_t floats = (size_t)sound.frames_max * (size_t)MX_RECIPE_DEFAULT->bands;
    m->mel = mx_alloc(floats, sizeof *m->mel);
    m->smooth = mx_alloc(floats, sizeof *m->smooth);
    if (m->mel == NULL || m->smooth == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_runtime_open(&m->runtime, NULL, 0, "resynth"));
    MX_TRY(mx_runtime_vocoder_open(&m->vocoder, &m->runtime, wanted->vocoder, NULL));
    sound.vocoder = m->vocoder.loaded ? &m->vocoder.config : NULL;
    sound.parameters = mx_slice_at(m->vocoder.weights, 0);
    MX_TRY(mx_audio_reader_create(&m->reader));
    MX_TRY(mx_extract_create(m->runtime.device, &room, &m->extract));
    MX_TRY(mx_sound_create(m->runtime.device, m->runtime.stream, &sound, &m->sound));
    MX_TRY(mx_buffer_create(m->runtime.device, "resynth", floats * sizeof *m->mel, &m->smoothed));
out:
    return rc;
}

static void maker_close(struct maker *m)
{
    if (m->runtime.stream != NULL) (void)mx_stream_sync(m->runtime.stream); /* something may be under way */
    mx_buffer_release(m->smoothed);
    mx_free(m->smooth);
    mx_free(m->mel);
    mx_sound_destroy(m->sound);
    mx_extract_destroy(m->extract);
    mx_audio_reader_destroy(m->reader);
    mx_runtime_vocoder_close(&m->vocoder);
    mx_runtime_close(&m->runtime);
}

/* Of all threads. */
static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* smooth = mel [frames, bands] under a Gaussian of `sigma` frames; beyond its ends the mel is reflected. */
static void mel_smooth(const float *mel, float *smooth, int64_t frames, double sigma)
{
    const int64_t bands = MX_RECIPE_DEFAULT->bands, reach = (int64_t)ceil(4 * sigma);
    for (int64_t t = 0; t < frames; t++)
        for (int64_t b = 0; b < bands; b++) {
            double sum = 0, weights = 0;
            for (int64_t d = -reach; d <= reach; d++) {
                int64_t at = t + d;
                while (at < 0 || at >= frames) at = at < 0 ? -at - 1 : 2 * frames - 1 - at;
                const double weight = exp(-0.5 * (double)(d * d) / (sigma * sigma));
                sum += weight * (double)mel[at * bands + b];
                weights += weight;
            }
            smooth[t * bands + b] = (float)(sum / weights);
        }
}

static int file_make(struct maker *m, const char *path, const char *folder, const struct wanted *wanted)
{
    int rc = 0;
    const float *samples;
    size_t count;
    struct mx_audio_report report;
    struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    struct mx_extract_features features;
    struct mx_sound_audio sound;
    const char *const slash = strrchr(path, '/');
    char *const to = mx_format("%s/%s", folder, slash != NULL ? slash + 1 : path);
    if (to == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    reading.seconds_max = SECONDS_MAX;
    if (wanted->whole) reading.trim_db = reading.level_db = 0;
    MX_TRY(mx_audio_load(m->reader, path, &reading, &samples, &count, &report));
    const int32_t offsets[] = {0, (int32_t)count};
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    MX_TRY(mx_extract_submit(m->extract, m->runtime.stream, &batch, &features));
    const int32_t frames[] = {0, features.frames.rows};
    if (wanted->sigma > 0) {
        const size_t floats = (size_t)features.frames.rows * (size_t)MX_RECIPE_DEFAULT->bands;
        MX_TRY(mx_extract_read(m->extract, m->runtime.stream, m->mel, NULL, NULL));
        mel_smooth(m->mel, m->smooth, features.frames.rows, wanted->sigma);
        MX_TRY(mx_copy_upload(m->runtime.stream, mx_slice_at(m->smoothed, 0), m->smooth, floats * sizeof *m->smooth));
        features.mel = mx_slice_at(m->smoothed, 0);
    }
    if (wanted->whole) mx_sound_gain_set(m->sound, mx_audio_usual_gain(&report));
    MX_TRY(mx_stream_sync(m->runtime.stream));
    const double begin = cpu_seconds();
    MX_TRY(mx_sound_compute(m->sound, m->runtime.stream, features.mel, frames, 1, &sound));
    m->work_seconds += cpu_seconds() - begin;
    m->seconds += (double)sound.offsets[1] / MX_RECIPE_DEFAULT->rate;
    MX_TRY(mx_wav_write(to, sound.audio, (size_t)sound.offsets[1], MX_RECIPE_DEFAULT->rate, MX_WAV_PCM16));
out:
    mx_free(to);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = 0, option;
    struct maker maker = {0};
    struct wanted wanted = {.rounds = MX_SOUND_USUAL, .projections = MX_SOUND_USUAL};
    while ((option = getopt(argc, argv, "v:r:p:s:w")) != -1) {
        if (option == 'v') wanted.vocoder = optarg;
        if (option == 'r') wanted.rounds = atoi(optarg);
        if (option == 'p') wanted.projections = atoi(optarg);
        if (option == 's') wanted.sigma = atof(optarg);
        if (option == 'w') wanted.whole = true;
        if (option == '?') return 1;
    }
    if (argc - optind < 2) {
        fprintf(stderr,
                "usage: resynth [-v VOCODER] [-r ROUNDS] [-p PROJECTIONS] [-s SIGMA] [-w] FOLDER FILE.wav...\n");
        return 1;
    }
    MX_TRY(maker_open(&maker, &wanted));
    for (int i = optind + 1; i < argc; i++) MX_TRY(file_make(&maker, argv[i], argv[optind], &wanted));
    printf("%.3f %.4f\n", maker.seconds, maker.work_seconds);
out:
    maker_close(&maker);
    if (rc < 0) fprintf(stderr, "resynth: %s\n", mx_error_last()->message);
    return rc < 0 ? 2 : 0;
}
