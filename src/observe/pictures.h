/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pictures of the network's output for one utterance (train/trainer.h), as PNG files in a folder:
 *
 *     target.png       the mel of the recording, low bands at the bottom, time to the right
 *     prediction.png   the mel of the network, in the same colours
 *     difference.png   how far apart they are: black 0, pale yellow MX_PICTURES_APART or more
 *     alignment.png    for each frame (to the right) how close it is to the expected sound of each token (upwards),
 *                      relative to the closest, which is pale yellow; and in green the token it was assigned to
 *
 * Colours stand for the same values in all pictures of all runs.
 */
#ifndef MX_OBSERVE_PICTURES_H
#define MX_OBSERVE_PICTURES_H

#include "train/trainer.h"

#define MX_PICTURES_QUIETEST -9.0f /* natural logarithm that is black */
#define MX_PICTURES_LOUDEST  2.0f  /* natural logarithm that is pale yellow */
#define MX_PICTURES_APART    3.0f

/* The names of the files without their ending, in the order above. */
#define MX_PICTURES 4
extern const char *const mx_picture_names[MX_PICTURES];

/* Writes them; the folder exists. A picture without frames is not an error: nothing is written. */
int mx_pictures_write(const struct mx_trainer_picture *picture, const char *folder);

#endif
