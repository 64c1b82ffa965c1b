/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the sound of a reference says about its quality, for speech/reference.h: how far speech is above the background,
 * and whether parts of it come from different people.
 *
 * People: the voiced frames of all recordings, one after the other, as 12 cepstra of the mel and the pitch, are divided
 * in two at many places. If one Gaussian for both sides (of up to 400 frames each) is much less likely than one for each
 * side, the sides differ by more than the same person's words do: ½(N ln|S| − Na ln|Sa| − Nb ln|Sb|), divided by what is
 * usual for one person, is 1 or more at some place. At least 130 voiced frames a side are needed, which are about 3
 * seconds of speech; shorter references are not checked.
 *
 * How often that is right, on the corpus of `make voices` (4 people and 6 synthetic voices; references joined from separate
 * prompts, half of one person and half of another), by `build/reference_rates`:
 *
 *     seconds   false alarms   two people noticed      noise below speech, dB   called noisy
 *           6        2.7 %              83.7 %                    none, 40, 30       1.5 %
 *           8        1.2 %              88.2 %                              20       6.8 %
 *          12        2.7 %              96.3 %                          15, 10       100 %
 *          20        3.2 %              97.0 %
 *
 * Memory: the lists of frames grow and belong to the struct; mx_reference_frames_release frees them.
 */
#ifndef MX_SPEECH_REFERENCE_CHECK_H
#define MX_SPEECH_REFERENCE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#define MX_REFERENCE_NOISY_DB 20.0
#define MX_REFERENCE_TRAITS   13 /* of a frame: 12 cepstra, and the pitch in semitones */

/* How far the level of speech (mean power of the louder half) is above the background (a twentieth of the sound is
 * quieter), in windows of 20 ms. Sound without any pause seems noisy; complete silence below it gives infinity. */
int mx_reference_above_noise(const float *samples, size_t count, int32_t rate, double *db);
/* The same of the powers of its windows, which are sorted. Too short to tell: infinity. */
double mx_reference_powers_above_noise(double *powers, size_t count);

/* Voiced frames of recordings of, hopefully, one person. {0} is empty. */
struct mx_reference_frames {
    float *traits; /* [count, MX_REFERENCE_TRAITS] */
    size_t count, room;
};

/* Appends the voiced frames of a recording: mel [frames, bands] in any scale that is the logarithm times something, pitch
 * [frames] in Hz, 0 where unvoiced. `scale` makes the mel a natural logarithm (up to a constant). */
int mx_reference_frames_add(struct mx_reference_frames *f, const float *mel, double scale, const float *pitch,
                            int32_t frames, int32_t bands);
void mx_reference_frames_release(struct mx_reference_frames *f);

/* How much the frames differ before and after the place where they differ most, *place: from 1 on, they seem to be of
 * different people. 0 if there are too few. */
double mx_reference_difference(const struct mx_reference_frames *f, size_t *place);

/* The mean pitch (of semitones) in Hz of frames [begin, end). */
double mx_reference_pitch(const struct mx_reference_frames *f, size_t begin, size_t end);

#endif
