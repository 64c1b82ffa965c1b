/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run folder with a voice of random weights that reads English letters, for tests that open voices: it says nothing,
 * but everything around it must be right.
 *
 * Memory: the caller frees the path. Failures end the test.
 */
#ifndef MX_TESTS_SUPPORT_VOICE_RIG_H
#define MX_TESTS_SUPPORT_VOICE_RIG_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the run FOLDER/NAME, with or without a vocoder, and returns its path. Another seed is another voice. Its
 * speakers are ann and bob; there is no recording of them. */
char *voice_rig_make(const char *folder, const char *name, uint64_t seed, bool vocoder);

#endif
