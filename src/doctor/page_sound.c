/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recordings as pictures and sound for the doctor's page, see page_internal.h. The sound is MP3, which every browser plays
 * and which is small enough for hundreds of rows in one file; without an encoder for it, WAV.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "corpus/audio/audio.h"
#include "doctor/page.h"
#include "doctor/page_internal.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "observe/json.h"
#include "observe/pictures.h"
#include "speech/encode.h"
#include "speech/runtime.h"

#define SECONDS_MAX 600.0 /* the check decided already what is too long */
#define LEVELS      63

struct mx_doctor_artist {
    struct mx_runtime runtime;
    struct mx_audio_reader *reader;
};

int mx_doctor_artist_create(struct mx_doctor_artist **out)
{
    int rc = 0;
    struct mx_doctor_artist *const artist = mx_alloc(1, sizeof *artist);
    *out = NULL;
    if (artist == NULL) return MX_ERR_NO_MEMORY;
    MX_TRY(mx_audio_reader_create(&artist->reader));
    MX_TRY(mx_runtime_open(&artist->runtime, NULL, 0, "page"));
    *out = artist;
out:
    if (rc < 0) mx_doctor_artist_destroy(artist);
    return rc;
}

void mx_doctor_artist_destroy(struct mx_doctor_artist *artist)
{
    if (artist == NULL) return;
    mx_runtime_close(&artist->runtime);
    mx_audio_reader_destroy(artist->reader);
    mx_free(artist);
}

/* ---- pictures ---- */

/* 0 … 1 as a sign of base64. */
static char sign_of(double value)
{
    static const char signs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return signs[value <= 0 || isnan(value) ? 0 : value >= 1 ? LEVELS : (int)lround(value * LEVELS)];
}

static int mel_compute(struct mx_doctor_artist *artist, const float *samples, size_t count, float **mel,
                       int64_t *frames)
{
    int rc = 0;
    const int32_t offsets[] = {0, (int32_t)count};
    const struct mx_extract_options room = {
        .samples_max = (int64_t)count, .utterances_max = 1, .no_pitch = true, .owner = "page"};
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    struct mx_extract_features features;
    struct mx_extract *extract = NULL;
    MX_TRY(mx_extract_create(artist->runtime.device, &room, &extract));
    MX_TRY(mx_extract_submit(extract, artist->runtime.stream, &batch, &features));
    *frames = features.frames.rows;
    *mel = mx_alloc((size_t)*frames * (size_t)MX_RECIPE_DEFAULT->bands, sizeof **mel);
    if (*mel == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_extract_read(extract, artist->runtime.stream, *mel, NULL, NULL));
out:
    if (rc < 0) (void)mx_stream_sync(artist->runtime.stream); /* the extractor must not be in use */
    mx_extract_destroy(extract);
    return rc;
}

/* The loudest frame of each column, so that a click is seen. */
static void mel_draw(const float *mel, int64_t frames, int64_t columns, char *out)
{
    const int32_t bands = MX_RECIPE_DEFAULT->bands;
    for (int64_t x = 0; x < columns; x++) {
        const int64_t begin = x * frames / columns, end = (x + 1) * frames / columns;
        for (int32_t band = 0; band < bands; band++) {
            float most = mel[begin * bands + band];
            for (int64_t f = begin + 1; f < end; f++) most = fmaxf(most, mel[f * bands + band]);
            *out++ = sign_of((double)((most - MX_PICTURES_QUIETEST) / (MX_PICTURES_LOUDEST - MX_PICTURES_QUIETEST)));
        }
    }
    *out = '\0';
}

static void wave_draw(const float *samples, size_t count, int64_t columns, double peak, char *out)
{
    for (int64_t x = 0; x < columns; x++) {
        const size_t begin = (size_t)x * count / (size_t)columns, end = (size_t)(x + 1) * count / (size_t)columns;
        float low = begin < count ? samples[begin] : 0, high = low;
        for (size_t i = begin; i < end; i++) {
            low = fminf(low, samples[i]);
            high = fmaxf(high, samples[i]);
        }
        *out++ = sign_of(0.5 + 0.5 * (double)low / peak);
        *out++ = sign_of(0.5 + 0.5 * (double)high / peak);
    }
    *out = '\0';
}

static int pictures_put(struct mx_doctor_artist *artist, const float *samples, size_t count, double peak,
                        struct mx_string *out)
{
    int rc = 0;
    float *mel = NULL;
    char *signs = NULL;
    int64_t frames = 0;
    const size_t bands = (size_t)MX_RECIPE_DEFAULT->bands;
    MX_TRY(mel_compute(artist, samples, count, &mel, &frames));
    const int64_t columns = frames < MX_DOCTOR_PAGE_BOUNDS ? frames : MX_DOCTOR_PAGE_BOUNDS;
    signs = mx_alloc((size_t)columns * bands + 1, 1);
    if (signs == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_json_count(out, "columns", columns);
    mx_json_count(out, "bands", (int64_t)bands);
    wave_draw(samples, count, columns, peak, signs);
    mx_json_string(out, "wave", signs);
    mel_draw(mel, frames, columns, signs);
    mx_json_string(out, "mel", signs);
    mx_json_number(out, "peak", peak);
out:
    mx_free(mel);
    mx_free(signs);
    return rc;
}

/* ---- sound ---- */

static int sound_encode(const float *samples, size_t count, enum mx_encode_format format, struct mx_string *out)
{
    int rc = 0;
    size_t bytes;
    struct mx_encode *encode = NULL;
    const int rate = mx_encode_rate(format, MX_AUDIO_RATE_DEFAULT);
    MX_TRY(mx_encode_open(format, MX_AUDIO_RATE_DEFAULT, rate, (int64_t)count, &encode));
    MX_TRY(mx_encode_write(encode, samples, count));
    MX_TRY(mx_encode_finish(encode));
    const char *const data = mx_encode_bytes(encode, &bytes);
    mx_json_data(out, "audio", mx_encode_types[format], data, bytes);
out:
    mx_encode_close(encode);
    return rc;
}

int mx_doctor_artist_draw(struct mx_doctor_artist *artist, const char *path, struct mx_string *out)
{
    int rc = 0;
    struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    struct mx_audio_report report;
    const float *samples;
    size_t count;
    reading.seconds_min = 0.05;
    reading.seconds_max = SECONDS_MAX;
    reading.trim_db = 0;
    reading.level_db = 0;
    reading.clipped_share = 1;
    rc = mx_audio_load(artist->reader, path, &reading, &samples, &count, &report);
    if (rc == MX_ERR_DATA) { /* it was changed in the meantime */
        mx_error_clear();
        mx_json_null(out, "audio");
        return 0;
    }
    if (rc < 0) return rc;
    MX_TRY(pictures_put(artist, samples, count, report.peak, out));
    rc = sound_encode(samples, count, MX_ENCODE_MP3, out);
    if (rc == MX_ERR_UNSUPPORTED) {
        mx_error_clear();
        rc = sound_encode(samples, count, MX_ENCODE_WAV, out);
    }
out:
    return rc;
}
