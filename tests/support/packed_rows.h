/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A packed corpus of six rows for tests: its plan, its rows, a folder for it, and writing it. And a check of any
 * packed file.
 *
 * Memory: the fixture owns its texts and the folder, until packed_teardown; bytes of files are the caller's to free.
 */
#ifndef MX_TESTS_PACKED_ROWS_H
#define MX_TESTS_PACKED_ROWS_H

#include "corpus/packed/packed.h"

#define PACKED_ROWS        6
#define PACKED_LIMIT       ((size_t)1 << 24)
#define PACKED_BROKEN      3    /* a rejected row */
#define PACKED_SAMPLES_MAX 4000 /* of a row */

struct packed_place {
    char *folder, *path, *part;
};

/* Of a cmocka test. */
int packed_setup(void **state);
int packed_teardown(void **state);

extern const uint64_t packed_keys[PACKED_ROWS];
struct mx_packed_plan packed_plan(enum mx_packed_kind kind);

/* What row `row` holds. */
uint32_t packed_samples(uint32_t row);
float packed_sample(uint32_t row, uint32_t i);
uint32_t packed_frames(uint32_t row);

/* The record of a row; may fail. */
int packed_encode(const struct mx_packed_header *header, uint32_t row, struct mx_packed_buffer *buffer);
void packed_append(struct mx_packed_writer *writer, uint32_t row);
struct mx_packed_writer *packed_begin(const struct packed_place *fixture, enum mx_packed_kind kind,
                                      enum mx_packed_resume resume);
/* Writes the missing rows, finishes and hands out the bytes. */
char *packed_make(const struct packed_place *fixture, enum mx_packed_kind kind, enum mx_packed_resume resume,
                  size_t *bytes);

/* The file opens, and all of its records are whole. */
void packed_check(const char *path);

#endif
