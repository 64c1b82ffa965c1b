/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * resynth ITERATIONS FOLDER FILE.wav...: each recording becomes log-mel and, by Griffin and Lim's algorithm with so
 * many rounds, sound again, FOLDER/FILE.wav. What is lost on this way no network can win back: it is the ceiling of
 * bench-speech. 0 rounds: as many as `myxtts synth` makes.
 *
 * Recordings are read as training reads them: resampled, trimmed, levelled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "corpus/audio.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"
#include "speech/wav.h"
#include "speech/waveform.h"

#define SECONDS_MAX 60

struct maker {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct mx_audio_reader *reader;
    struct mx_extract *extract;
    struct mx_waveform *waveform;
};

static int maker_open(struct maker *m, int iterations)
{
    int rc = 0;
    const struct mx_registry_options wanted = {.devices = {"cpu:0"}, .device_count = 1};
    const struct mx_extract_options room = {
        .samples_max = (int64_t)SECONDS_MAX * mx_recipe_default.rate, .utterances_max = 1, .no_pitch = true};
    struct mx_waveform_options sound = MX_WAVEFORM_OPTIONS_DEFAULT;
    if (iterations > 0) sound.iterations = iterations;
    sound.frames_max = mx_recipe_frames(&mx_recipe_default, room.samples_max);
    sound.utterances_max = 1;
    MX_TRY(mx_registry_open(NULL, &wanted, &m->registry));
    MX_TRY(mx_registry_device_open(m->registry, 0, 0, &m->device));
    MX_TRY(mx_stream_create(m->device, "resynth", &m->stream));
    MX_TRY(mx_audio_reader_create(&m->reader));
    MX_TRY(mx_extract_create(m->device, &room, &m->extract));
    MX_TRY(mx_waveform_create(m->device, &sound, &m->waveform));
out:
    return rc;
}

static void maker_close(struct maker *m)
{
    if (m->stream != NULL) (void)mx_stream_sync(m->stream); /* after a failure something may be under way */
    mx_waveform_destroy(m->waveform);
    mx_extract_destroy(m->extract);
    mx_audio_reader_destroy(m->reader);
    mx_stream_release(m->stream);
    mx_device_close(m->device);
    mx_registry_close(m->registry);
}

static int file_make(struct maker *m, const char *path, const char *folder)
{
    int rc = 0;
    const float *samples;
    size_t count;
    struct mx_audio_report report;
    struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    struct mx_extract_features features;
    struct mx_waveform_sound sound;
    const char *const slash = strrchr(path, '/');
    char *const to = mx_format("%s/%s", folder, slash != NULL ? slash + 1 : path);
    if (to == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    reading.seconds_max = SECONDS_MAX;
    MX_TRY(mx_audio_load(m->reader, path, &reading, &samples, &count, &report));
    const int32_t offsets[] = {0, (int32_t)count};
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    MX_TRY(mx_extract_submit(m->extract, m->stream, &batch, &features));
    const int32_t frames[] = {0, features.frames.rows};
    MX_TRY(mx_waveform_make(m->waveform, m->stream, features.mel, frames, 1, &sound));
    MX_TRY(mx_wav_write(to, sound.audio, (size_t)sound.offsets[1], mx_recipe_default.rate, MX_WAV_PCM16));
out:
    mx_free(to);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = 0;
    struct maker maker = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: resynth ITERATIONS FOLDER FILE.wav...\n");
        return 1;
    }
    MX_TRY(maker_open(&maker, atoi(argv[1])));
    for (int i = 3; i < argc; i++) MX_TRY(file_make(&maker, argv[i], argv[2]));
out:
    maker_close(&maker);
    if (rc < 0) fprintf(stderr, "resynth: %s\n", mx_error_last()->message);
    return rc < 0 ? 2 : 0;
}
