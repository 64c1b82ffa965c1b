/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts features: writes what the network gets from one recording, as a file of tensors and as a picture.
 *
 * The recording takes the same path as in training: the corpus's reader (resampled, trimmed, levelled), then mel,
 * energy and pitch on a device.
 *
 * File: safetensors with mel [frames, bands], energy [frames] and pitch [frames], float32; metadata recipe,
 * recipe_hash, recipe_text, rate, hop and source (the name of the recording).
 *
 * Picture: the mel with its low bands at the bottom, below it the energy, below that the pitch (65 to 500 Hz, a gap
 * where unvoiced). Lines every second; in the last panel also at every 100 Hz.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format/canvas.h"
#include "base/format/safetensors.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/corpus/corpus_options.h"
#include "corpus/audio/audio.h"
#include "features/extract.h"
#include "features/statistics.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"

struct values {
    const char *output, *png, *device, *recipe;
};

static const struct mx_option options[] = {
    {MX_OPTION_STRING(struct values, output, "output", "FILE", NULL, "Write the features to this safetensors file."),
     .letter = 'o'},
    {MX_OPTION_STRING(struct values, png, "png", "FILE", NULL, "Write a picture of the features to this PNG file.")},
    {MX_OPTION_STRING(struct values, device, "device", "NAME", "cpu:0", "Device that computes the features.")},
    MX_RECIPE_OPTION(struct values),
};

static const struct mx_example examples[] = {
    {"myxtts features speech.wav --output speech.safetensors", "writes mel, energy and pitch of a recording"},
    {"myxtts features speech.wav -o speech.safetensors --png speech.png", "also draws a picture of them"},
};

/* Everything about one recording. */
struct recording {
    const char *path;
    const struct mx_recipe *recipe;
    struct mx_audio_report report;
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct mx_audio_reader *reader;
    struct mx_extract *extract;
    int64_t frames;
    float *mel, *energy, *pitch; /* one block; mel owns it */
};

static int recording_open(struct recording *r, const char *device)
{
    int rc = 0;
    const struct mx_registry_options wanted = {.devices = {device}, .device_count = 1};
    struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    const float *samples;
    size_t count;
    struct mx_extract_features features;
    reading.rate = r->recipe->rate;
    MX_TRY(mx_registry_open(NULL, &wanted, &r->registry));
    MX_TRY(mx_registry_device_open(r->registry, 0, 0, &r->device));
    MX_TRY(mx_stream_create(r->device, "features", &r->stream));
    MX_TRY(mx_audio_reader_create(&r->reader));
    MX_TRY(mx_audio_load(r->reader, r->path, &reading, &samples, &count, &r->report));
    const struct mx_extract_options room = {.recipe = r->recipe, .samples_max = (int64_t)count, .utterances_max = 1};
    const int32_t offsets[] = {0, (int32_t)count};
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    MX_TRY(mx_extract_create(r->device, &room, &r->extract));
    MX_TRY(mx_extract_submit(r->extract, r->stream, &batch, &features));
    r->frames = features.frames.rows;
    r->mel = mx_alloc((size_t)r->frames * ((size_t)r->recipe->bands + 2), sizeof *r->mel);
    if (r->mel == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    r->energy = r->mel + r->frames * r->recipe->bands;
    r->pitch = r->energy + r->frames;
    MX_TRY(mx_extract_read(r->extract, r->stream, r->mel, r->energy, r->pitch));
out:
    return rc;
}

static void recording_close(struct recording *r)
{
    mx_free(r->mel);
    if (r->stream != NULL) (void)mx_stream_sync(r->stream); /* the extractor may be in use after a failure */
    mx_extract_destroy(r->extract);
    mx_audio_reader_destroy(r->reader);
    mx_stream_release(r->stream);
    mx_device_close(r->device);
    mx_registry_close(r->registry);
}

/* ---- the file ---- */

static int tensors_write(const struct recording *r, const char *path)
{
    const struct mx_recipe *const recipe = r->recipe;
    const uint64_t frames = (uint64_t)r->frames;
    const char *const slash = strrchr(r->path, '/');
    char text[MX_RECIPE_TEXT_BYTES], hash[MX_RECIPE_HASH_BYTES], rate[16], hop[16], source[256];
    mx_recipe_text(recipe, text);
    snprintf(rate, sizeof rate, "%" PRId32, recipe->rate);
    snprintf(hop, sizeof hop, "%" PRId32, recipe->hop);
    mx_string_quote(source, sizeof source, slash != NULL ? slash + 1 : r->path); /* a file name need not be text */
    const struct mx_metadata metadata[] = {{"recipe", recipe->name},
                                           {"recipe_hash", mx_recipe_hash_text(recipe, hash)},
                                           {"recipe_text", text},
                                           {"rate", rate},
                                           {"hop", hop},
                                           {"source", source}};
    const struct mx_tensor tensors[] = {
        {.name = "mel", .dtype = MX_DTYPE_F32, .rank = 2, .shape = {frames, (uint64_t)recipe->bands}, .data = r->mel},
        {.name = "energy", .dtype = MX_DTYPE_F32, .rank = 1, .shape = {frames}, .data = r->energy},
        {.name = "pitch", .dtype = MX_DTYPE_F32, .rank = 1, .shape = {frames}, .data = r->pitch}};
    return mx_safetensors_write(path, tensors, sizeof tensors / sizeof tensors[0], metadata,
                                sizeof metadata / sizeof metadata[0]);
}

/* ---- the picture ---- */

#define BACK         0x14141C
#define PANEL        0x20202C
#define LINE         0x3A3A4A
#define ENERGY_LINE  0xFFC98B
#define PITCH_LINE   0x7FD4FF
#define MARGIN       12
#define PANEL_HEIGHT 120
#define WIDTH_MIN    480
#define WIDTH_MAX    4800

static void range_of(const float *values, int64_t count, float *low, float *high)
{
    *low = *high = count > 0 ? values[0] : 0;
    for (int64_t i = 1; i < count; i++) {
        if (values[i] < *low) *low = values[i];
        if (values[i] > *high) *high = values[i];
    }
}

static struct mx_rectangle panel_next(struct mx_canvas *canvas, int *y, int height)
{
    const struct mx_rectangle panel = {MARGIN, *y, canvas->width - 2 * MARGIN, height};
    mx_canvas_fill(canvas, panel, PANEL);
    *y += height + MARGIN;
    return panel;
}

/* A line each second, drawn before the curve. */
static void seconds_draw(struct mx_canvas *canvas, struct mx_rectangle panel, const struct recording *r)
{
    const double per_second = (double)r->recipe->rate / r->recipe->hop * panel.width / (double)r->frames;
    for (int i = 1; (double)i * per_second < panel.width; i++)
        mx_canvas_fill(canvas, (struct mx_rectangle){panel.x + (int)((double)i * per_second), panel.y, 1, panel.height},
                       LINE);
}

static int picture_write(const struct recording *r, const char *path)
{
    int rc = 0, y = MARGIN;
    float low, high;
    struct mx_canvas canvas = {0};
    const struct mx_recipe *const recipe = r->recipe;
    const int64_t wide = 2 * r->frames < WIDTH_MIN ? WIDTH_MIN : 2 * r->frames > WIDTH_MAX ? WIDTH_MAX : 2 * r->frames;
    const int mel_height = 4 * recipe->bands;
    MX_TRY(mx_canvas_create(&canvas, (int)wide + 2 * MARGIN, mel_height + 2 * PANEL_HEIGHT + 4 * MARGIN, BACK));
    struct mx_rectangle panel = panel_next(&canvas, &y, mel_height);
    range_of(r->mel, r->frames * recipe->bands, &low, &high);
    mx_canvas_matrix(&canvas, panel, &(struct mx_canvas_matrix){r->mel, r->frames, recipe->bands, low, high});
    panel = panel_next(&canvas, &y, PANEL_HEIGHT);
    seconds_draw(&canvas, panel, r);
    range_of(r->energy, r->frames, &low, &high);
    mx_canvas_curve(&canvas, panel,
                    &(struct mx_canvas_curve){r->energy, r->frames, low, high > low ? high : low + 1, ENERGY_LINE});
    panel = panel_next(&canvas, &y, PANEL_HEIGHT);
    seconds_draw(&canvas, panel, r);
    for (int hz = 100; (float)hz < recipe->pitch_high_hz; hz += 100) {
        const float part = ((float)hz - recipe->pitch_low_hz) / (recipe->pitch_high_hz - recipe->pitch_low_hz);
        const int at = panel.y + (int)((1 - part) * (float)(panel.height - 1));
        mx_canvas_fill(&canvas, (struct mx_rectangle){panel.x, at, panel.width, 1}, LINE);
    }
    mx_canvas_curve(
        &canvas, panel,
        &(struct mx_canvas_curve){r->pitch, r->frames, recipe->pitch_low_hz, recipe->pitch_high_hz, PITCH_LINE});
    MX_TRY(mx_canvas_write_png(&canvas, path));
out:
    mx_canvas_release(&canvas);
    return rc;
}

/* ---- the command ---- */

static int summary_print(const struct recording *r)
{
    struct mx_statistics mel = {0}, energy = {0}, pitch = {0};
    int rc = mx_statistics_add(&mel, r->mel, (size_t)(r->frames * r->recipe->bands));
    if (rc >= 0) rc = mx_statistics_add(&energy, r->energy, (size_t)r->frames);
    if (rc >= 0) rc = mx_statistics_add_positive(&pitch, r->pitch, (size_t)r->frames);
    if (rc < 0) return rc;
    printf("%s: %.2f s at %d Hz, %.2f s used\n", r->path, r->report.seconds, r->report.rate, r->report.seconds_used);
    printf("  mel     %" PRId64 " frames of %d bands, mean %.2f, deviation %.2f\n", r->frames, (int)r->recipe->bands,
           mx_statistics_mean(&mel), mx_statistics_deviation(&mel));
    printf("  energy  mean %.2f, deviation %.2f\n", mx_statistics_mean(&energy), mx_statistics_deviation(&energy));
    printf("  pitch   %.0f %% voiced", 100.0 * (double)pitch.count / (double)(r->frames > 0 ? r->frames : 1));
    if (pitch.count > 0)
        printf(", mean %.0f Hz, deviation %.0f Hz", mx_statistics_mean(&pitch), mx_statistics_deviation(&pitch));
    printf("\n");
    return 0;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    const char *const hint = "see 'myxtts features --help'";
    struct recording recording = {0};
    if (operands->count == 0) return MX_FAIL(MX_ERR_USAGE, hint, "name the recording to look at");
    if (values->output == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--output FILE' is missing");
    recording.path = operands->items[0];
    recording.recipe = mx_recipe_find(values->recipe);
    MX_TRY(recording_open(&recording, values->device != NULL ? values->device : "cpu:0"));
    MX_TRY(tensors_write(&recording, values->output));
    if (values->png != NULL) MX_TRY(picture_write(&recording, values->png));
    MX_TRY(summary_print(&recording));
out:
    recording_close(&recording);
    return rc;
}

const struct mx_command mx_command_features = {
    .name = "features",
    .page =
        {
            .command = "myxtts features",
            .operands = "FILE",
            .operand_max = 1,
            .summary = "show the features that the network gets from a recording",
            .description =
                "Reads a recording as training would (mono, silence trimmed, level adjusted), "
                "computes mel, energy and pitch on a device and writes them as tensors: mel [frames, bands], "
                "energy [frames] and pitch [frames] in Hz, 0 where unvoiced. '--recipe' "
                "decides about samples per second, frames and bands. A summary goes to standard output.\nThe picture "
                "shows the mel, with energy and "
                "pitch (65 to 500 Hz) below it and a line at each second.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
