/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A packed corpus of six rows for tests: its plan, its rows, a folder for it, and writing it.
 *
 * Memory: the fixture owns its texts and the folder, until packed_teardown; bytes of files are the caller's to free.
 */
#ifndef MX_TESTS_PACKED_ROWS_H
#define MX_TESTS_PACKED_ROWS_H

#include "corpus/packed.h"

#define ROWS        6
#define LIMIT       ((size_t)1 << 24)
#define BROKEN      3    /* a rejected row */
#define SAMPLES_MAX 4000 /* of a row */

struct fixture {
    char *folder, *path, *part;
};

/* Of a cmocka test. */
int packed_setup(void **state);
int packed_teardown(void **state);

extern const uint64_t packed_keys[ROWS];
struct mx_packed_plan plan_of(enum mx_packed_kind kind);

/* What row `row` holds. */
uint32_t samples_of(uint32_t row);
float sample_of(uint32_t row, uint32_t i);
uint32_t frames_of(uint32_t row);

void row_append(struct mx_packed_writer *writer, uint32_t row);
struct mx_packed_writer *writer_open(const struct fixture *fixture, enum mx_packed_kind kind,
                                     enum mx_packed_resume resume);
/* Writes the missing rows, finishes and hands out the bytes. */
char *file_make(const struct fixture *fixture, enum mx_packed_kind kind, enum mx_packed_resume resume, size_t *bytes);

#endif
