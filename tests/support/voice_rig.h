/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A voice in a file, for tests of what speaks with voices: a small network of random weights that has learned English
 * in small letters, without a vocoder. It says nothing, but does so as a trained one does.
 *
 * Memory: the path belongs to the caller, who removes its folder with voice_rig_remove.
 */
#ifndef MX_TESTS_SUPPORT_VOICE_RIG_H
#define MX_TESTS_SUPPORT_VOICE_RIG_H

#include <stdint.h>

#define VOICE_RIG_FRAMES 3 /* of a token, about */
#define VOICE_RIG_RATE   22050

/* A checkpoint in a folder of its own; other seeds make other voices. Failures end the test. */
char *voice_rig_make(uint64_t seed);
void voice_rig_remove(char *path);

#endif
