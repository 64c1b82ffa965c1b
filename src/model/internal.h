/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of src/model and private to them: the memory of a model, one pass through it, and its parts. The
 * layers they are made of: model/layer.h.
 *
 * Shapes are written as [rows, width]; T: tokens, F: frames, R: reference frames, S: sequences, W: width, B: bands.
 * "dX" is the gradient of the weighted loss with respect to X. Gradients of parameters are always accumulated. The
 * activations are slices of one buffer at fixed offsets, large enough for the capacity.
 */
#ifndef MX_MODEL_INTERNAL_H
#define MX_MODEL_INTERNAL_H

#include "model/layer.h"
#include "model/model.h"

/* ---- memory ---- */

/* The activations that one block keeps for its backward pass. */
struct mx_block_memory {
    /* bf16 in mixed precision: normed1, normed2, pre, hidden. */
    struct mx_slice normed1, stats1; /* [rows, W], [rows, 2] */
    struct mx_slice qkv;             /* [rows, 3W]: queries and keys after rotation, values */
    struct mx_slice attended, lse;   /* [rows, W], [heads, rows] */
    struct mx_slice middle;          /* [rows, W]: the residual stream between the two halves */
    struct mx_slice normed2, stats2; /* [rows, W], [rows, 2] */
    struct mx_slice pre, hidden; /* [rows, H]: before and after GELU; pre is absent when there is no backward pass */
};

struct mx_stack_memory {
    struct mx_slice x[MX_MODEL_BLOCKS_MAX + 1]; /* [rows, W]: the input of each block, then the output of the last */
    struct mx_block_memory blocks[MX_MODEL_BLOCKS_MAX]; /* with recompute_blocks all share the same memory */
};

struct mx_speaker_encoder_memory {
    struct mx_slice pre[3], act[3], normed[3], stats[3]; /* [R, W], stats [R, 2] */
    struct mx_slice score, share;                        /* [R] */
    struct mx_slice vector;                              /* [S, W] */
    struct mx_slice encoder_row, decoder_row;            /* [S, W]: added to every row of the sequence */
    struct mx_slice dvector, drow, dscore;               /* [S, W], [S, W], [R] */
};

struct mx_predictor_memory {
    struct mx_slice act[2], normed[2], stats[2]; /* [T, W], stats [T, 2] */
    struct mx_slice out, dout;                   /* [T] */
};

struct mx_memory {
    struct mx_slice rotary; /* [positions, head width] */
    struct mx_speaker_encoder_memory speaker;
    struct mx_stack_memory encoder, decoder;
    struct mx_slice states, states_stats; /* [T, W], [T, 2]: the encoder's output */
    struct mx_slice dstates;              /* [T, W] */
    struct mx_slice means, dmeans;        /* [T, B] */
    struct mx_slice align_work;
    struct mx_slice durations, ends;        /* int32 [T], [T + 1] */
    struct mx_slice targets[MX_PREDICTORS]; /* [T]: the targets of the predictors */
    struct mx_slice spread, dspread;        /* [F, B]: each frame's mean */
    struct mx_predictor_memory predictors[MX_PREDICTORS];
    struct mx_slice shift;                /* [T]: for moving pitch and energy in synthesis */
    struct mx_slice tokens;               /* [T, W]: states with pitch and energy, ready to be expanded */
    struct mx_slice normed, normed_stats; /* [F, W] (bf16 in mixed precision), [F, 2] */
    struct mx_slice mel, dmel;            /* [F, B] */
    struct mx_slice frame_offsets;        /* int32 [S + 1]: for synthesis */
    struct mx_slice losses;               /* [MX_MODEL_LOSSES, S] */
    /* Used by the backward pass only: two gradients of rows, a wide one, and one for the attention. */
    struct mx_slice d, e;  /* [most rows, W] */
    struct mx_slice wide;  /* [most rows, max(H, 4W)] */
    struct mx_slice delta; /* [heads, most rows] */
    /* With adapters: the matrices that have one, merged, and the narrow rows between its two halves. */
    struct mx_slice merged, low, dlow; /* [adapted floats], [most rows, rank] */
};

/* Where memory is carved out of, and for what. */
struct mx_placing {
    struct mx_layout *layout;
    const struct mx_model_config *config;
    const struct mx_model_capacity *capacity;
    bool backward, mixed;
};

/* [rows, width]: floats; what is bf16 in mixed precision; only what the backward pass needs. */
struct mx_slice mx_memory_reserve(const struct mx_placing *place, int64_t rows, int64_t width);
struct mx_slice mx_memory_narrow(const struct mx_placing *place, int64_t rows, int64_t width);
struct mx_slice mx_memory_keep(const struct mx_placing *place, int64_t rows, int64_t width);
void mx_memory_stack(const struct mx_placing *place, struct mx_stack_memory *memory, int blocks, int64_t rows);

/* Carves everything out of `layout`. */
void mx_memory_place(struct mx_memory *memory, struct mx_layout *layout, const struct mx_model_config *config,
                     const struct mx_parameters *table, const struct mx_model_capacity *capacity,
                     enum mx_model_purpose purpose);

#define MX_MEL_MODULES_MAX 2

/* How far back gradients must go, from what learns: whatever lies below the last thing that learns is left out. */
struct mx_reach {
    bool speaker;                     /* to the vector's own layers */
    bool encoder_input, encoder;      /* to tokens, language and vector; to anything of the encoder's states */
    bool decoder_input;               /* to states, pitch, energy and vector */
    bool modules[MX_MEL_MODULES_MAX]; /* to the mel module or one before it */
    bool aligner, predictors[MX_PREDICTORS];
    int32_t encoder_block, decoder_block; /* the lowest blocks; the number of blocks: none */
};

struct mx_model {
    struct mx_model_config config;
    struct mx_model_capacity capacity;
    enum mx_model_purpose purpose;
    bool mixed; /* products in bf16: the configuration asks for them and the model is for training */
    struct mx_device *device;
    struct mx_parameters *parameters;
    struct mx_model_at at; /* positions of the parameters */
    struct mx_reach reach;
    struct mx_slice frozen; /* mx_model_frozen_set */
    struct mx_buffer *activations;
    struct mx_memory memory;
    /* The host side of synthesis, from mx_host_alloc. */
    void *staging;
    float *logs;            /* [T] */
    int32_t *token_offsets; /* [S + 1] */
    int32_t *durations;     /* [T] */
    int32_t *frame_offsets; /* [S + 1] */
};

/* ---- one pass ---- */

struct mx_model_pass {
    struct mx_pass base;
    const struct mx_model *model;
    const struct mx_model_batch *batch;
    float dropout; /* 0 unless training */
    uint64_t seed, step;
};

/* What every pass through a model has. */
struct mx_pass mx_model_pass_base(const struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters);

/* Identifies each place where dropout is applied; a stack uses two numbers per block, a predictor one per layer. */
enum mx_site { MX_SITE_ENCODER = 0x100, MX_SITE_DECODER = 0x200, MX_SITE_PREDICTORS = 0x300 };

/* ---- dropout (dropout.c) ---- */

/* y = dropout(x) + residual (optional) over [rows, W], with the random numbers of `site`. The gradient is the same. */
int mx_dropout_run(const struct mx_model_pass *pass, uint64_t site, struct mx_slice x, struct mx_slice y,
                   struct mx_slice residual, int64_t rows);

/* ---- stacks of blocks (block.c) ---- */

struct mx_stack {
    const struct mx_block_at *at;
    const struct mx_stack_memory *memory;
    int32_t blocks, lowest; /* the backward pass ends with the lowest */
    struct mx_ragged rows;
    uint64_t site;
};

/* memory->x[0] → memory->x[blocks] */
int mx_stack_forward(const struct mx_model_pass *pass, const struct mx_stack *stack);
/* Turns the gradient of x[blocks] in model->memory.d into that of x[lowest]. */
int mx_stack_backward(const struct mx_model_pass *pass, const struct mx_stack *stack);

/* ---- parts ---- */

int mx_model_speaker_forward(
    const struct mx_model_pass *pass); /* reference mel → speaker.vector, .encoder_row, .decoder_row */
/* Adds the gradient of encoder_row (`encoder` true) or decoder_row, read from speaker.drow, to that of the vector. Call
 * it for the decoder first. */
int mx_model_speaker_row_backward(const struct mx_model_pass *pass, bool encoder);
int mx_model_speaker_backward(const struct mx_model_pass *pass); /* speaker.dvector → parameters */

int mx_encoder_forward(const struct mx_model_pass *pass);  /* tokens, languages, encoder_row → states */
int mx_encoder_backward(const struct mx_model_pass *pass); /* dstates → parameters, speaker.dvector */

int mx_aligner_forward(const struct mx_model_pass *pass);  /* states, mel → means, durations, ends, targets, spread */
int mx_aligner_backward(const struct mx_model_pass *pass); /* dspread → parameters, dstates += */

int mx_predictor_forward(const struct mx_model_pass *pass, enum mx_predictor which); /* states → out */
int mx_predictor_backward(const struct mx_model_pass *pass,
                          enum mx_predictor which); /* dout → parameters, dstates += */
/* Forward: states, pitch [T], energy [T] → tokens. Backward: the gradient of tokens, in dstates, to the parameters; it
 * is also the gradient of the states. */
int mx_variance_forward(const struct mx_model_pass *pass, struct mx_slice pitch, struct mx_slice energy);
int mx_variance_backward(const struct mx_model_pass *pass, struct mx_slice pitch, struct mx_slice energy);

/* What makes frames of mel out of tokens: the modules of mel_modules.c, one after the other. The first turns tokens, ends
 * and decoder_row into mel; each further one, a finish, works on mel in place. On the way back a finish turns dmel into
 * the gradient of what it was given, in place, and the first turns it into dstates and speaker.dvector. */
struct mx_mel_module {
    const char *prefix;                                                      /* "decoder.": of its parameters */
    void (*place)(const struct mx_placing *place, struct mx_memory *memory); /* its own memory, not mel and dmel */
    int (*forward)(const struct mx_model_pass *pass);
    int (*backward)(const struct mx_model_pass *pass);
};

extern const struct mx_mel_module *const mx_mel_modules[MX_MEL_MODULES_MAX + 1]; /* ends with NULL */
extern const struct mx_mel_module mx_decoder_module;                             /* decoder.c */

int mx_mel_forward(const struct mx_model_pass *pass);
int mx_mel_backward(const struct mx_model_pass *pass); /* as far as the reach of the model says */

/* Writes the values into losses; with `backward` also fills dmel, dspread and predictors[].dout. */
int mx_losses_forward(const struct mx_model_pass *pass, bool backward);

/* Whether the model has room for the references of this many sequences. */
int mx_model_references_check(const struct mx_model *model, const struct mx_model_batch *batch, int32_t sequences);
int mx_model_batch_check(const struct mx_model *model, const struct mx_model_batch *batch, bool speaking);

#endif
