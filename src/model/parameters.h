/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of a network's parameters: names, shapes, initialisation, weight decay. Allocation, initialisation,
 * optimizer and checkpoints are driven by it. Each network describes its parts in lists (model/model_parameters.h is the
 * acoustic network's), from which the table is built together with the positions that its layers use.
 *
 * All parameters lie in one flat float32 buffer; gradients, moments and averaged weights have buffers of the same
 * layout. Decayed parameters come first, as the optimizer requires, then all others, each group in the order of the
 * table. Every parameter begins at a multiple of MX_PARAMETER_ALIGNMENT floats; the floats in the gaps are always 0.
 *
 * The initial value of a parameter depends only on the seed and the parameter's name, so adding a parameter or more
 * blocks elsewhere does not change it.
 *
 * Memory: a table owns its entries. It is constant once created, so threads may share it.
 */
#ifndef MX_MODEL_PARAMETERS_H
#define MX_MODEL_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#define MX_PARAMETER_ALIGNMENT  16 /* floats */
#define MX_PARAMETER_NAME_BYTES 64

enum mx_init {
    MX_INIT_ZERO,
    MX_INIT_ONE,
    MX_INIT_FAN_IN,   /* normal, deviation 1/√(product of all dimensions but the last) */
    MX_INIT_RESIDUAL, /* the same, divided by √(2 · blocks of the stack): for outputs added to the residual stream */
    MX_INIT_SHARED,   /* FAN_IN divided by the blocks of the stack */
    MX_INIT_EMBEDDING, /* normal, deviation 1/√(last dimension) */
    MX_INIT_SMALL,     /* normal, deviation 0.02: an output that begins close to its bias */
};

struct mx_parameter {
    char name[MX_PARAMETER_NAME_BYTES]; /* "decoder.block.3.attention.qkv.weight" */
    int rank;                           /* 1 to 3 */
    int64_t shape[3];                   /* the fastest dimension last */
    int64_t count;                      /* product of all dimensions */
    int64_t at;                         /* floats from the start of the flat buffer */
    enum mx_init init;
    double deviation; /* of the initial values; 0 for constants */
    bool decay;
};

struct mx_parameters {
    struct mx_parameter *entries; /* [count], in the order of the lists */
    int count;
    int64_t elements; /* in all parameters: "7.0 M parameters" */
    int64_t floats;   /* in the flat buffer, gaps included */
    int64_t decayed;  /* floats at the start of the buffer that are decayed */
};

/* ---- building a table ---- */

/* One parameter of a part. */
struct mx_parameter_line {
    const char *name; /* "norm1.weight" */
    int64_t shape[3]; /* 0: no such dimension */
    enum mx_init init;
    bool decay;
};

/* A part of a network: its parameters, in order. */
struct mx_parameter_part {
    char name[32]; /* "decoder.block.3" */
    const struct mx_parameter_line *lines;
    int count;
    int64_t *at; /* [count]: receives the position of each, in floats from the start of the flat buffer */
    int blocks;  /* of the stack, for MX_INIT_RESIDUAL and MX_INIT_SHARED; otherwise not used */
};

/* One line of a list X(member, name, dimensions, initialisation, weight decay) as a struct mx_parameter_line, and the
 * member of the struct of positions that belongs to it. */
#define MX_PARAMETER_LINE(member, name, d0, d1, d2, init, decay)   {name, {d0, d1, d2}, MX_INIT_##init, decay},
#define MX_PARAMETER_MEMBER(member, name, d0, d1, d2, init, decay) int64_t member;

/* A table of the parameters of all parts, in their order. */
int mx_parameters_create(const struct mx_parameter_part *parts, int count, struct mx_parameters **out);
void mx_parameters_destroy(struct mx_parameters *table); /* NULL is fine */

/* ---- using it ---- */

/* NULL if no parameter has that name. */
const struct mx_parameter *mx_parameters_find(const struct mx_parameters *table, const char *name);
/* Writes the initial values to flat[table->floats] on the host. */
void mx_parameters_init(const struct mx_parameters *table, uint64_t seed, float *flat);

#endif
