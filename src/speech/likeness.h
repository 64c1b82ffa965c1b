/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Likeness: what the network's vector of a person misses, and recordings tell without any network.
 *
 * A network that has heard few people hears in a new one mostly somebody it knows. Two things of a person can be measured
 * and added to what it says, whatever it has learned: the pitch (median of voiced frames, in semitones) and the colour
 * (mean of each band of the mel over frames that are not quiet). Both are measured in the person's recordings and in a
 * passage that the voice says with the person's vector, in the language that is to be spoken: a greeting and the numbers
 * from one to twelve, which every language has. The differences are the likeness. The pitch is set first, and the colour
 * measured with it.
 *
 *     semitones = median pitch of the person - that of the passage             within ± MX_LIKENESS_SEMITONES
 *     colour    = mean mel of the person - that of the passage, smoothed over neighbouring bands, then shifted so
 *                 that the passage stays as loud as it is
 *
 * No two voices differ by more than MX_LIKENESS_NATS in a band as recordings do that have nothing there (those of a
 * telephone above 4 kHz): such a band gets the colour of its lower neighbour. SPEED.md ("Voices") has what it does.
 *
 * Memory: a timbre owns its list; mx_timbre_release frees it. Sums run in the order of the frames.
 */
#ifndef MX_SPEECH_LIKENESS_H
#define MX_SPEECH_LIKENESS_H

#include "speech/hear.h"
#include "speech/speak.h"

#define MX_LIKENESS_SEMITONES 14.0
#define MX_LIKENESS_NATS      2.5 /* of the magnitude: 22 dB */
#define MX_LIKENESS_FRAMES    40  /* half a second: with fewer that are voiced, or loud, there is no likeness */

/* Pitch and colour of recordings of one person. {0} is empty. */
struct mx_timbre {
    double *semitones; /* [voiced]: of each voiced frame */
    size_t voiced, voiced_room;
    double *bands; /* [bands]: sums of the normalised mel over `loud` frames */
    size_t loud;   /* number of loud frames */
};

/* Adds a recording that was heard with its pitch. `deviation`: that of the normalised mel. */
int mx_timbre_add(struct mx_timbre *timbre, const struct mx_heard *heard, int32_t bands, double deviation);
void mx_timbre_release(struct mx_timbre *timbre);

/* The likeness of a person, whose vector [width] is `vector`, in a language (its number in the vocabulary), times `share`,
 * 0 … 1. `colour` [bands] is the caller's, and *out points to it. The engine must make sound, and what it spoke last is lost.
 * All is 0 if there are too few frames to tell, in the recordings or in what the voice says. Waits. */
int mx_likeness_find(struct mx_speak *speak, const struct mx_timbre *person, const float *vector, int32_t language,
                     double share, float *colour, struct mx_speak_likeness *out);

/* How far the colour moves the bands, in decibels: the root of the mean square. */
double mx_likeness_db(const struct mx_speak_likeness *likeness, int32_t bands, double deviation);

#endif
