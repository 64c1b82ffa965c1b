/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A Viterbi search through the classes of pitch that the vocoder's network predicts, for one pitch, gate and phase for each frame. Plain C on
 * the host, frame after frame, with a bounded look-ahead: a frame depends on all frames before it and on at most
 * MX_PATH_REACH after it, so the result does not depend on how the frames arrive.
 *
 * With q the probabilities of the classes of pitch among themselves and v that of being voiced, the path goes through
 * the classes that maximise Σ_t (v ln(q + 1e-6)) - 0.15 · (steps between neighbouring frames, of which at most 40
 * count). The class of frame t is that of the best path up to frame t + MX_PATH_AHEAD. Scores are whole numbers of 2^-20,
 * so that the path is exactly the best one whatever the order of sums; of equal ones the lower class wins. The pitch is
 * the mean of ln Hz over the classes within 4 of the path, weighted by q. A frame is voiced where v > ½. Through
 * unvoiced frames ln Hz is interpolated; where no voiced frame lies within MX_PATH_GAP frames ahead, the last pitch
 * stays (MX_PATH_HZ if there was none).
 *
 * The recipe's pitch (operation pitch) compares the first W samples of a frame with those a period later, so it is the
 * pitch at (W + period)/2 of the frame, before its centre: at 200 Hz by 115 samples, nearly half a hop. The track has
 * ln Hz interpolated from there to the centre of the frame; otherwise pulses of a gliding voice are out of step with
 * the magnitudes. The phase is the integral of the pitch, linear between frames, in double.
 *
 * Memory: a path is a plain struct and owns nothing; it writes to its caller's arrays.
 */
#ifndef MX_VOCODER_PATH_H
#define MX_VOCODER_PATH_H

#include <math.h>
#include <stdint.h>

#include "features/recipe.h"
#include "vocoder/config.h"

/* Frames of look-ahead. Of 15,764 voiced frames of a human voice 3 have another class than on the best path through the
 * whole utterance; with 16 frames 9 have, with 8 frames 44. */
#define MX_PATH_AHEAD 24
#define MX_PATH_GAP   8
#define MX_PATH_REACH (MX_PATH_AHEAD + MX_PATH_GAP + 1)
#define MX_PATH_HZ    150.0f

/* The search, for others that do the same. */
#define MX_PATH_UNIT       1048576.0 /* scores are whole numbers of 1/MX_PATH_UNIT */
#define MX_PATH_STEP       157286    /* 0.15: a step of one class */
#define MX_PATH_STEPS      40        /* more cost no more */
#define MX_PATH_LEAST      1e-6      /* of q, before its logarithm is taken */
#define MX_PATH_NEIGHBOURS 4

/* Samples from the middle of W to the centre of a frame. */
static inline double mx_path_centre(const struct mx_recipe *recipe)
{
    return (ceil((double)recipe->rate / (double)recipe->pitch_low_hz) + 1) / 2;
}

/* What the source of a sound needs of each frame (operation harmonics). */
struct mx_path_track {
    float *hz;    /* > 0 everywhere */
    float *gate;  /* 1 voiced, 0 unvoiced */
    float *phase; /* turns */
};

struct mx_path {
    struct mx_path_track track;
    double rate, hop;
    double centre;     /* mx_path_centre */
    int64_t pushed;    /* frames whose logits are known */
    int64_t chosen;    /* frames whose class is chosen */
    int64_t measured;  /* frames whose measured pitch is known, also where it is interpolated */
    int64_t ready;     /* frames that are complete in the track */
    int64_t voiced;    /* the last measured frame that is voiced; -1: none yet */
    double voiced_log; /* ln Hz of that frame */
    double last_log;   /* ln Hz of the last measured frame */
    double phase;
    int32_t score[MX_VOCODER_CLASSES]; /* of the best path to each class, less that to the best class */
    /* of the last frames, frame t at t % (MX_PATH_AHEAD + 1) */
    uint8_t from[MX_PATH_AHEAD + 1][MX_VOCODER_CLASSES]; /* the class before, on the best path */
    float share[MX_PATH_AHEAD + 1][MX_VOCODER_CLASSES];  /* q */
    float certain[MX_PATH_AHEAD + 1];                    /* v */
};

/* Begins an utterance; the track has room for its frames. */
void mx_path_begin(struct mx_path *path, const struct mx_recipe *recipe, struct mx_path_track track);
/* Adds the logits [rows, MX_VOCODER_CLASSES + 1] of the next frames, and completes all frames that it can. */
void mx_path_push(struct mx_path *path, const float *logits, int64_t rows);
/* Ends the utterance: completes the remaining frames. */
void mx_path_end(struct mx_path *path);

#endif
