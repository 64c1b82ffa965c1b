/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the libFuzzer targets share. A target defines LLVMFuzzerTestOneInput and, if it has something to prepare once,
 * fuzz_begin; fuzz.c calls it after it has silenced the log.
 */
#ifndef MX_TESTS_FUZZ_H
#define MX_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) void fuzz_begin(void);

/* What does not hold ends the process, so that libFuzzer saves the input. */
static inline void check(bool holds)
{
    if (!holds) abort();
}

#endif
