/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A batch of rows, prepared for scoring: their mel and pitch, their speaker embeddings, their texts as tokens with mean
 * mel frames, and the codebook that stands for speech in any order. score.c compares them.
 *
 * The recordings are decoded and the texts read on all cores, the rest is done by the device of the voice.
 *
 * Memory: a session owns the voice and what the device needs; a batch owns its arrays and is reused, mx_doctor_batch_release
 * frees it. Report and options are borrowed.
 */
#ifndef MX_DOCTOR_SCORE_BATCH_H
#define MX_DOCTOR_SCORE_BATCH_H

#include "align/encoder.h"
#include "base/thread/pool.h"
#include "doctor/score/score.h"
#include "doctor/score/score_align.h"
#include "features/extract.h"

#define MX_DOCTOR_BATCH_ROWS    96
#define MX_DOCTOR_BATCH_SECONDS 400.0 /* unless a single row has more */
#define MX_DOCTOR_TOKENS_MOST   1200  /* of a sentence: as mx_voice_room */

/* A voice that listens to rows. */
struct mx_doctor_session {
    const struct mx_check_report *report;
    struct mx_voice *voice;
    const struct mx_recipe *recipe; /* of the voice: rows are read at its rate */
    struct mx_stream *stream;
    struct mx_extract *extract;
    struct mx_align_encoder *encoder;
    struct mx_pool *pool;
    struct mx_row_reader **readers; /* one for each worker */
    int workers;
    size_t width, bands;
    const atomic_bool *stop;
};

int mx_doctor_session_open(struct mx_doctor_session *session, const struct mx_check_report *report,
                           const struct mx_row_options *row, const struct mx_doctor_scores_options *options);
void mx_doctor_session_close(struct mx_doctor_session *session);
/* MX_ERR_INTERRUPTED if the work is to stop. */
int mx_doctor_session_asked(const struct mx_doctor_session *session);

/* A row of a batch. */
struct mx_doctor_batch_row {
    uint32_t row; /* in the manifest */
    enum mx_doctor_unscored unscored;
    float *samples;
    size_t count;
    struct mx_align_text text;
    struct mx_doctor_frames sound;
    const float *pitch; /* [sound.frames], Hz; 0: unvoiced */
    float *levels;      /* [sound.frames]: mean squares */
    float *vector;      /* [width]: who is heard */
    float *speaker;     /* [width]: the mean of those of its speaker in the batch */
    float *means;       /* [text.token_count, bands] */
    double score;       /* of the text (score_align.h) */
    int32_t *columns;   /* [sound.frames]: the tokens of the frames; -1: silence */
};

struct mx_doctor_batch {
    struct mx_doctor_batch_row *rows; /* [MX_DOCTOR_BATCH_ROWS] */
    uint32_t count;
    float *audio, *mel, *pitch, *other, *quiet, *vectors, *means; /* that the rows point into */
    size_t audio_room, frame_room, means_room;
    double usual; /* the median of the scores */
    float *codes; /* [MX_DOCTOR_CODES + MX_DOCTOR_QUIETS, bands] */
};

/* Reads rows of the manifest that passed the check: sounds, vectors and texts. */
int mx_doctor_batch_listen(struct mx_doctor_session *session, struct mx_doctor_batch *batch, const uint32_t *rows,
                           uint32_t count);
/* After that: the means of their texts, adapted to the speakers; the codebook; its scores of all frames; and the scores. */
int mx_doctor_batch_read(struct mx_doctor_session *session, struct mx_doctor_batch *batch);
void mx_doctor_batch_release(struct mx_doctor_batch *batch);

#endif
