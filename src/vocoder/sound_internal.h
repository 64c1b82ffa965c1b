/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/vocoder/sound*.c: the instance, its memory, and the steps that batches and streams share.
 */
#ifndef MX_VOCODER_SOUND_INTERNAL_H
#define MX_VOCODER_SOUND_INTERNAL_H

#include "vocoder/path.h"
#include "vocoder/sound.h"
#include "vocoder/sound_numbers.h"

/* Frames that the network processes at once, without their context: its memory does not grow with the sound. */
#define MX_SOUND_PIECE 512

/* The pieces of the device's buffer. LEVEL: log magnitudes of a stream, whose windows have MAGNITUDE; otherwise they
 * are the same. MEANS of the bands of each utterance, COLOUR of all, and MEL: with both. SHORT_…: of the short frames (vocoder/config.h), SHORT_MEL their predicted mel. BLOCKS: offsets of noise, a block of it between each two frames. */
enum mx_sound_piece {
    MX_SOUND_TABLES,
    MX_SOUND_PLACES,
    MX_SOUND_GAIN,
    MX_SOUND_SAMPLES,
    MX_SOUND_FRAMES,
    MX_SOUND_ROWS,
    MX_SOUND_MEANS,
    MX_SOUND_COLOUR,
    MX_SOUND_MEL,
    MX_SOUND_NOISE_LEVELS,
    MX_SOUND_NOISE_STREAMS,
    MX_SOUND_BLOCKS,
    MX_SOUND_HZ,
    MX_SOUND_GATE,
    MX_SOUND_PHASE,
    MX_SOUND_SHORT_TABLES,
    MX_SOUND_SHORT_PLACES,
    MX_SOUND_SHORT_FRAMES,
    MX_SOUND_SHORT_MEL,
    MX_SOUND_AUDIO,
    MX_SOUND_LEVEL,
    MX_SOUND_MAGNITUDE,
    MX_SOUND_FIRST,
    MX_SOUND_SECOND,
    MX_SOUND_WORK,
    MX_SOUND_PIECES
};

struct mx_sound_layout {
    uint64_t at[MX_SOUND_PIECES], bytes;
};

/* Packed utterances, whole or a window of one. */
struct mx_sound_batch {
    struct mx_ragged samples, frames;
    struct mx_ragged blocks; /* of noise, in samples */
    struct mx_slice mel;     /* [frames.rows, bands] */
    /* with a vocoder */
    struct mx_slice level;     /* [frames.rows, bins] */
    struct mx_ragged shorts;   /* short frames */
    struct mx_slice short_mel; /* [shorts.rows, MX_VOCODER_BURST_BANDS] */
    int64_t first;             /* of a window: its first frame in the utterance */
};

/* What differs between Griffin–Lim and the vocoder. */
struct mx_sound_kind {
    int rounds, projections; /* the usual ones */
    double texture;
    int predicted_projections; /* the usual ones for a mel that a network predicted */
    double predicted_contrast;
    int least_rounds;
    int steady; /* the rounds at the beginning that do not overshoot */
    /* From the mel to magnitudes in MAGNITUDE and a first sound in AUDIO. */
    int (*start)(struct mx_sound *sound, struct mx_stream *stream, const struct mx_sound_batch *batch);
};

extern const struct mx_sound_kind mx_sound_griffin_lim, mx_sound_vocoder;

/* Tables of a recipe, on the host. */
struct mx_sound_bands {
    struct mx_recipe_tables tables;
    float *places; /* as mx_recipe_places_build makes them */
};

struct mx_sound {
    struct mx_device *device;
    const struct mx_sound_kind *kind;
    struct mx_recipe recipe;
    struct mx_sound_options options; /* rounds, projections and mean as they are */
    double raised;                   /* the gain that is in the mean */
    bool coloured;                   /* there is a colour */
    struct mx_vocoder_config config;
    struct mx_sound_bands bands;
    struct mx_recipe short_recipe; /* with a vocoder */
    struct mx_sound_bands short_bands;
    struct mx_vocoder *vocoder;
    struct mx_buffer *buffer;
    struct mx_sound_layout layout;
    bool constants_sent;
    /* pieces of `block`, from mx_host_alloc */
    void *block;
    float *audio;               /* [samples of frames_max] */
    float *colour;              /* [bands] */
    float *noise_levels;        /* [blocks, 2] */
    int32_t *noise_streams;     /* [blocks, 2] */
    int32_t *samples, *frames;  /* [utterances_max + 1] */
    int32_t *shorts;            /* [utterances_max + 1]: offsets of short frames */
    int32_t *blocks;            /* [blocks + 1] */
    float *gain;                /* [bins] of the noise, with a vocoder, like all below */
    float *logits;              /* [MX_SOUND_PIECE, classes + 1] */
    int32_t *rows;              /* [2] */
    struct mx_path_track track; /* [frames_max] each */
    struct mx_path path;        /* of the utterance that is being made */
    struct {
        struct mx_slice mel;
        int64_t frames, known, made; /* which are predicted; whose sound is made */
        bool contrasted;             /* mel is that with contrast and colour */
    } stream;
};

static inline struct mx_slice mx_sound_piece(const struct mx_sound *s, enum mx_sound_piece which)
{
    return mx_slice_at(s->buffer, (size_t)s->layout.at[which]);
}

/* `rows` rows of `width` floats further. */
static inline struct mx_slice mx_sound_behind(struct mx_slice slice, int64_t rows, int64_t width)
{
    slice.offset_bytes += (size_t)(rows * width) * sizeof(float);
    return slice;
}

/* ---- sound.c ---- */
/* Lays out `count` utterances whose frames are in s->frames. */
void mx_sound_batch_lay(struct mx_sound *s, int32_t count, struct mx_sound_batch *batch);
/* Everything from the start to the sound in s->audio. */
int mx_sound_run(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *batch);
/* The spectrum of the sound in AUDIO, and the sound of a spectrum, in AUDIO. */
int mx_sound_measure(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *batch,
                     struct mx_slice spectrum);
int mx_sound_overlap(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *batch,
                     struct mx_slice spectrum);
/* Brings a spectrum closer to the mel; `magnitude` (optional) gets its magnitudes then. */
int mx_sound_match(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *batch, int32_t rounds,
                   struct mx_slice spectrum, struct mx_slice magnitude);

/* ---- sound_contrast.c ---- */
/* Replaces *mel, of `count` utterances whose frames are in s->frames, by one with contrast and colour, in MEL. Does
 * nothing without both. Waits. */
int mx_sound_contrast_add(struct mx_sound *s, struct mx_stream *stream, int32_t count, struct mx_slice *mel);

/* ---- sound_start.c ---- */
/* Context frames of the network on each side of a frame. */
int32_t mx_sound_reach(const struct mx_vocoder_config *config);
/* An utterance whose sound is to be made. */
struct mx_sound_utterance {
    struct mx_slice mel;
    int64_t frames;
    struct mx_slice level;     /* [frames, bins] */
    struct mx_slice short_mel; /* [short frames, MX_VOCODER_BURST_BANDS]; one more row is written after them */
};
/* Predicts frames [from, to) of an utterance, at most MX_SOUND_PIECE of them, in order: their log magnitudes go to
 * `level`, their short frames to `short_mel` and their pitch into the path. Waits. */
int mx_sound_predict(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_utterance *utterance,
                     int64_t from, int64_t to);

#endif
