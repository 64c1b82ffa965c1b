/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A small corpus of tones for tests, in the layout of LJSpeech: ids row-00, row-01 … with texts that fit the lengths,
 * so that every row is good unless it is asked to be bad.
 */
#ifndef MX_TESTS_SMALL_CORPUS_H
#define MX_TESTS_SMALL_CORPUS_H

#include <stdint.h>

#define SMALL_SILENT  1u /* the third recording is silent */
#define SMALL_MISSING 2u /* the recording of the fifth row is missing */

/* Makes wavs/ and metadata.csv below `folder`; rows at most 100. */
void small_corpus_make(const char *folder, uint32_t rows, unsigned faults);

#endif
