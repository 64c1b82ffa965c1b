/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What reads the text of a PTX module: ptx_words.c its words, names and operands, ptx_read.c instructions, ptx_entry.c
 * entries and the whole module.
 *
 * Whatever is not known ends the reading: reader_wrong jumps to `out`. Lists belong to the reader, and go with it.
 */
#ifndef MX_TESTS_DOUBLE_PTX_WORDS_H
#define MX_TESTS_DOUBLE_PTX_WORDS_H

#include "ptx_inside.h"

#include <setjmp.h>

#define WORD_BYTES   160
#define OPERANDS_MAX 8
#define CALLS_DEEP   8

enum name_kind { REGISTER, ADDRESS, PARAMETER };
struct name {
    char text[WORD_BYTES];
    enum name_kind kind;
    int count; /* of registers NAME0, NAME1 …; -1: the name itself */
    int width;
    int at;         /* register; number of a parameter's storage */
    uint64_t value; /* of an address */
};
/* A part of a parameter: a register. */
struct part {
    int storage, offset, width, at;
};
struct label {
    char text[WORD_BYTES];
    int call; /* the call whose body it belongs to */
    int at;
};
struct jump {
    char text[WORD_BYTES];
    int call, at, line;
};
struct operand {
    bool immediate;
    uint64_t bits;
    char kind; /* 'f', 'd' or 'i' of an immediate, otherwise the width: p, h, w or l */
    int at;
};

/* A growing list. */
#define LIST(type)                                                                                                     \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        int count, room;                                                                                               \
    }
#define ADD(list, ...)                                                                                                 \
    do {                                                                                                               \
        if ((list).count == (list).room) {                                                                             \
            (list).room = (list).room ? 2 * (list).room : 64;                                                          \
            (list).items = realloc((list).items, (size_t)(list).room * sizeof *(list).items);                          \
        }                                                                                                              \
        (list).items[(list).count++] = __VA_ARGS__;                                                                    \
    } while (0)

struct reader {
    const char *text, *at;
    int line;
    char word[WORD_BYTES];     /* the token; "" at the end */
    char variable[WORD_BYTES]; /* the name that variable_read has read */
    char *error;
    jmp_buf out; /* where errors go */
    LIST(struct ptx_entry) entries;
    LIST(struct name) globals;
    LIST(char) bytes; /* of variables of the module */
    /* Of the entry. */
    struct ptx_entry *entry;
    LIST(struct ptx_instruction) code;
    LIST(struct ptx_given) given;
    LIST(struct name) names;
    LIST(struct part) parts;
    LIST(struct label) labels;
    LIST(struct jump) jumps;
    int visible; /* names from here on belong to the function that is read */
    int storages, calls, call, deep;
};

/* An error with the current line. */
void reader_wrong(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
void reader_skip(struct reader *r);
void reader_next(struct reader *r);
bool reader_is(const struct reader *r, const char *word);
bool reader_took(struct reader *r, const char *word);
void reader_want(struct reader *r, const char *word);
long reader_number(struct reader *r);
int reader_width_of(struct reader *r, const char *type);
char reader_letter_of(int width);
int reader_width_of_letter(char letter);
int reader_register_make(struct reader *r, char letter);
int reader_given_make(struct reader *r, enum ptx_source source, char letter, uint64_t value);
struct name *reader_name_find(struct reader *r, const char *text, int *index);
void reader_name_add(struct reader *r, enum name_kind kind, int count, int width, int at, uint64_t value);
int reader_part_of(struct reader *r, int storage, int offset, int width);
struct operand reader_operand_read(struct reader *r);
int reader_operands_read(struct reader *r, struct operand out[OPERANDS_MAX]);
int reader_operand_as(struct reader *r, const struct operand *o, char letter, bool result);
size_t reader_variable_read(struct reader *r, size_t *align);
uint64_t reader_place_in(size_t *total, size_t align, size_t bytes);
void reader_append(struct reader *r, struct ptx_instruction in);
void reader_body_read(struct reader *r);

#endif
