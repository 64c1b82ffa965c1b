/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One sound and one text: how well they fit, and where the words are.
 *
 * Frames score as in cut/fit.h. The score of a pair is that of the best path with all words in order and only silence
 * between them, compared with speech in any order: every frame counts by how far its column or silence is
 * above the best code. The words are then found on a second path, which may leave words out and may have other sound.
 *
 * Memory: everything is borrowed except a path, which is released with mx_align_path_release.
 */
#ifndef MX_DOCTOR_SCORE_ALIGN_H
#define MX_DOCTOR_SCORE_ALIGN_H

#include "align/align.h"
#include "align/text.h"

/* Means that stand for all speech and for silence. */
struct mx_doctor_codes {
    const float *speech, *quiet; /* [MX_DOCTOR_CODES, bands], [MX_DOCTOR_QUIETS, bands] */
};
#define MX_DOCTOR_CODES  64
#define MX_DOCTOR_QUIETS 4

/* The frames of a recording. */
struct mx_doctor_frames {
    const struct mx_recipe *recipe;
    const float *mel; /* [frames, bands] */
    int32_t frames;
    float *other, *quiet; /* [frames]: scores of the best code of all, and of silence */
};

/* Fills other and quiet. */
void mx_doctor_frames_judge(struct mx_doctor_frames *sound, const struct mx_doctor_codes *codes);

#define MX_DOCTOR_SCORE_WORST -50.0

/* A text with the means of its tokens, [token_count, bands]. */
struct mx_doctor_reading {
    const struct mx_align_text *text;
    const float *means;
};

/* How well the pair fits, nats a frame; MX_DOCTOR_SCORE_WORST if the sound has fewer frames than the text has tokens. With
 * `columns` [frames], also the token of each frame; -1: silence. */
int mx_doctor_align_all(const struct mx_doctor_frames *sound, const struct mx_doctor_reading *reading, double *score,
                        int32_t *columns);
/* Words that are heard, and other sound. `usual`: the score of a pair that fits, by which other sound is recognised.
 * *heard: how well the words explain their own frames, nats a frame; 0 if there are none. */
int mx_doctor_align_some(const struct mx_doctor_frames *sound, const struct mx_doctor_reading *reading, double usual,
                         struct mx_align_path *path, double *heard);

#endif
