/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pictures of an utterance, see pictures.h.
 */
#include "observe/pictures.h"

#include <math.h>

#include "base/alloc.h"
#include "base/format/canvas.h"
#include "myxtts/error.h"

#define FRAME_PIXELS 2 /* width of a frame */
#define BAND_PIXELS  3 /* height of a band */
#define WIDTH_MAX    2400
#define HEIGHT_MIN   240 /* of the alignment */
#define BACKGROUND   0x14141C
#define GIVEN        0x3DDC97

const char *const mx_picture_names[MX_PICTURES] = {"target", "prediction", "difference", "alignment"};

static int width_of(int64_t frames)
{
    return frames < WIDTH_MAX / FRAME_PIXELS ? FRAME_PIXELS * (int)frames : WIDTH_MAX;
}

/* The matrix, a column for each frame, as heat; `durations` NULL: without the path of the alignment. */
static int matrix_write(const struct mx_canvas_matrix *matrix, int height, const int32_t *durations, const char *path)
{
    int rc = 0;
    struct mx_canvas canvas = {0};
    const int width = width_of(matrix->columns);
    MX_TRY(mx_canvas_create(&canvas, width, height, BACKGROUND));
    mx_canvas_matrix(&canvas, (struct mx_rectangle){0, 0, width, height}, matrix);
    for (int64_t row = 0, frame = 0; durations != NULL && row < matrix->rows; frame += durations[row++]) {
        const int x = (int)(frame * width / matrix->columns);
        const int end = (int)((frame + durations[row]) * width / matrix->columns);
        const int top = height - (int)((row + 1) * height / matrix->rows);
        const int bottom = height - (int)(row * height / matrix->rows);
        mx_canvas_fill(&canvas, (struct mx_rectangle){x, top, end - x, bottom - top}, GIVEN);
    }
    MX_TRY(mx_canvas_write_png(&canvas, path));
out:
    mx_canvas_release(&canvas);
    return rc;
}

static void difference_find(const struct mx_trainer_picture *p, float *out)
{
    for (int64_t i = 0; i < (int64_t)p->frames * p->bands; i++) out[i] = fabsf(p->prediction[i] - p->target[i]);
}

/* out [frames, tokens]: how much farther the bands are apart, in the mean, than those of the token that is nearest to
 * the frame; as a negative number, so that the nearest is brightest. */
static void nearness_find(const struct mx_trainer_picture *p, float *out)
{
    for (int64_t f = 0; f < p->frames; f++) {
        float *const row = out + f * p->tokens, nearest = INFINITY;
        for (int64_t t = 0; t < p->tokens; t++) {
            row[t] = 0;
            for (int64_t b = 0; b < p->bands; b++)
                row[t] += fabsf(p->target[f * p->bands + b] - p->means[t * p->bands + b]) / (float)p->bands;
            if (row[t] < nearest) nearest = row[t];
        }
        for (int64_t t = 0; t < p->tokens; t++) row[t] = nearest - row[t];
    }
}

static int alignment_height(int32_t tokens)
{
    const int whole = (HEIGHT_MIN + tokens - 1) / tokens; /* pixels of a token */
    return whole * tokens;
}

int mx_pictures_write(const struct mx_trainer_picture *p, const char *folder)
{
    int rc = 0;
    float *work = NULL;
    char *paths[MX_PICTURES] = {0};
    if (p->frames == 0) return 0;
    const int height = BAND_PIXELS * p->bands;
    const int32_t rows = p->bands > p->tokens ? p->bands : p->tokens;
    for (int i = 0; i < MX_PICTURES; i++) {
        paths[i] = mx_format("%s/%s.png", folder, mx_picture_names[i]);
        if (paths[i] == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    work = mx_alloc((size_t)p->frames * (size_t)rows, sizeof *work);
    if (work == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    struct mx_canvas_matrix mel = {p->target, p->frames, p->bands, MX_PICTURES_QUIETEST, MX_PICTURES_LOUDEST};
    const struct mx_canvas_matrix difference = {work, p->frames, p->bands, 0, MX_PICTURES_APART};
    const struct mx_canvas_matrix nearness = {work, p->frames, p->tokens, -MX_PICTURES_APART / 2, 0};
    MX_TRY(matrix_write(&mel, height, NULL, paths[0]));
    mel.values = p->prediction;
    MX_TRY(matrix_write(&mel, height, NULL, paths[1]));
    difference_find(p, work);
    MX_TRY(matrix_write(&difference, height, NULL, paths[2]));
    nearness_find(p, work);
    MX_TRY(matrix_write(&nearness, alignment_height(p->tokens), p->durations, paths[3]));
out:
    for (int i = 0; i < MX_PICTURES; i++) mx_free(paths[i]);
    mx_free(work);
    return rc;
}
