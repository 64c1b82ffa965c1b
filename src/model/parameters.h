/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of a network's parameters: names, shapes, initialisation, weight decay. Allocation, initialisation,
 * optimizer and checkpoints are driven by it. Each network describes its parts in lists (model/model_parameters.h is the
 * acoustic network's), from which the table is built together with the positions that its layers use.
 *
 * All parameters lie in one flat float32 buffer:
 *
 *     decayed | not decayed | frozen and adapted | frozen
 *
 * Parameters that learn come first: the decayed ones, as the optimizer requires, then all others; after them those that
 * are frozen (struct mx_learning); each group in the order of the table. Gradients, moments and averaged weights are
 * buffers of the same layout that end where the frozen ones begin. So whatever sums, measures, updates or sends a range
 * of these buffers has nothing to skip. Every parameter begins at a multiple of MX_PARAMETER_ALIGNMENT floats; the floats
 * in the gaps are always 0.
 *
 * An adapter teaches a frozen matrix of products something small: of W [in, out] (a convolution's [taps, in, out] counts as
 * [taps · in, out]) it adds the product of two narrow matrices, W + A·B, with A [in, rank] and B [rank, out], which are
 * parameters of their own, after W in the table. B begins with 0, so at first nothing is added. See model/adapter.h.
 *
 * After the gradients there is room for those that an operation always computes (of layer norms and of convolutions by
 * column) when their parameters are frozen: `discard` floats that are never read.
 *
 * The initial value of a parameter depends only on the seed and the parameter's name, so adding a parameter or more
 * blocks elsewhere does not change it.
 *
 * Memory: a table owns its entries. It is constant once created, so threads may share it. Patterns are borrowed.
 */
#ifndef MX_MODEL_PARAMETERS_H
#define MX_MODEL_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#define MX_PARAMETER_ALIGNMENT  16 /* floats */
#define MX_PARAMETER_NAME_BYTES 64
#define MX_PARAMETER_WEIGHT     ".weight"    /* suffix of a matrix's name */
#define MX_PARAMETER_ADAPTER_A  ".adapter_a" /* suffixes of its adapter's two factors */
#define MX_PARAMETER_ADAPTER_B  ".adapter_b"

/* Which parameters of a network learn. All zero: all of them. */
struct mx_learning {
    const char *freeze;   /* patterns of names that are frozen, separated by commas or blanks; `*` stands for any
                           characters, `?` for one, `[ab]` for one of these. NULL: none. Borrowed */
    int32_t adapter_rank; /* of adapters; nothing but them learns then, and matrices that match a pattern of `freeze`
                             get none. 0: none */
    bool tables;          /* with adapters, the tables of tokens and languages learn, too: they have new rows */
};

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
    bool frozen; /* it does not learn */
    int adapter; /* the entry that is its A; B is the next one. 0: it is not adapted */
    int adapts;  /* of A and B: the entry that is adapted; others: -1 */
};

struct mx_parameters {
    struct mx_parameter *entries; /* [count], in the order of the lists */
    int count;
    int64_t elements; /* in all parameters: "7.0 M parameters" */
    int64_t floats;   /* in the flat buffer, gaps included */
    int64_t decayed;  /* floats at the start of the buffer that learn and are decayed */
    int64_t learned;  /* floats at the start of the buffer that learn */
    int64_t adapted;  /* floats after those that are adapted */
    int64_t discard;  /* floats after the learned ones in a buffer of gradients */
    int64_t learning; /* the number of elements that learn */
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
    bool adapts; /* its products may have adapters */
};

/* One line of a list X(member, name, dimensions, initialisation, weight decay) as a struct mx_parameter_line, and the
 * member of the struct of positions that belongs to it. */
#define MX_PARAMETER_LINE(member, name, d0, d1, d2, init, decay)   {name, {d0, d1, d2}, MX_INIT_##init, decay},
#define MX_PARAMETER_MEMBER(member, name, d0, d1, d2, init, decay) int64_t member;

/* A table of the parameters of all parts, in their order. `learning` NULL: everything learns. */
int mx_parameters_create(const struct mx_parameter_part *parts, int count, const struct mx_learning *learning,
                         struct mx_parameters **out);
void mx_parameters_destroy(struct mx_parameters *table); /* NULL is fine */

/* ---- using it ---- */

/* Where the gradients that are final begin, in [0, decayed], when those of all decayed parameters from the one at `at` on
 * are: `at` itself, or, if that one is frozen, where the next one of the table that learns lies. */
int64_t mx_parameters_mark(const struct mx_parameters *table, int64_t at);
/* Does a parameter learn whose name begins with `prefix`? */
bool mx_parameters_learn(const struct mx_parameters *table, const char *prefix);
/* Does one of the patterns match the name? (learning.c; `learning` NULL: no.) */
bool mx_learning_frozen(const struct mx_learning *learning, const char *name);
/* MX_ERR_CONFIG if one of the patterns matches no parameter of any of the tables, with the names closest to it. */
int mx_learning_check(const struct mx_learning *learning, const struct mx_parameters *const *tables, int count);
/* The parameter at this place of the flat buffer. */
const struct mx_parameter *mx_parameters_at(const struct mx_parameters *table, int64_t at);
/* NULL if no parameter has that name. */
const struct mx_parameter *mx_parameters_find(const struct mx_parameters *table, const char *name);
/* Writes the initial values to flat[table->floats] on the host. */
void mx_parameters_init(const struct mx_parameters *table, uint64_t seed, float *flat);

#endif
