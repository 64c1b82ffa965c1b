/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loudspeaker: plays mono sound through ALSA's device "default" while the caller makes more of it.
 *
 * A thread hands the sound to ALSA; up to half a minute waits for it, then mx_player_add waits. A build without ALSA and
 * a machine without a sound device are errors of mx_player_open.
 *
 * Memory: a player owns its thread, its blocks of sound and the device; mx_player_close ends and releases all of them.
 */
#ifndef MX_CLI_PLAYER_H
#define MX_CLI_PLAYER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mx_player;

/* Once *stop is true, the sound ends within a tenth of a second and mx_player_add and mx_player_finish return
 * MX_ERR_INTERRUPTED. `stop` is borrowed. MX_ERR_UNSUPPORTED: no ALSA in this build; MX_ERR_NO_DEVICE: it cannot play
 * here. */
int mx_player_open(int rate, const atomic_bool *stop, struct mx_player **out);
/* Copies the samples, which have the least significant byte first, as in a WAV file. An error of the device appears in one of the later calls. */
int mx_player_add(struct mx_player *player, const int16_t *samples, size_t count);
/* Waits until everything has been played. */
int mx_player_finish(struct mx_player *player);
/* How often the device ran out of sound before it was finished. After mx_player_finish. */
uint64_t mx_player_gaps(const struct mx_player *player);
/* Without mx_player_finish the sound ends at once. NULL is fine. */
void mx_player_close(struct mx_player *player);

#endif
