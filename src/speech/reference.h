/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recordings of a person to sound like: read, checked, and turned into the vector that the network speaks with.
 *
 * Each recording is read like one of a corpus (corpus/audio/audio.h: silence at the ends trimmed, level set), but may be longer.
 * The network listens to it in parts of at most MX_VOICE_REFERENCE_FRAMES; the vector is the mean of all parts of all
 * recordings, each weighted by its frames, so every second counts the same and nothing is left out.
 *
 * What makes a recording useless is an error: silence, clipping, less than 0.4 s. What makes the voice worse is a warning:
 * too little speech, a quiet or noisy recording, parts that sound like different people. The checks look at the sound, not
 * at the network, so they do not depend on what a voice has learned. How often they are right: reference_check.h.
 *
 * Memory: a report is a plain value. Nothing else is kept.
 */
#ifndef MX_SPEECH_REFERENCE_H
#define MX_SPEECH_REFERENCE_H

#include "myxtts/voice.h"
#include "speech/likeness.h"
#include "speech/speak.h"

#define MX_REFERENCES_MAX        64    /* recordings of one person */
#define MX_REFERENCE_SECONDS_MAX 120.0 /* of one recording */

#define MX_REFERENCE_WARNINGS 5 /* too little; quiet, clipped or noisy recordings; several voices */

struct mx_reference_report {
    double seconds; /* of all recordings, without silence at their ends */
    size_t count;   /* warnings */
    char warnings[MX_REFERENCE_WARNINGS][320];
};

/* The vector [width] of a person, of `count` ≥ 1 recordings, made by an engine of the voice. `timbre` (optional) gets
 * what they sound like. With a report, the recordings are checked. MX_ERR_DATA for a recording that cannot be used,
 * with its name, the reason and what to do; MX_ERR_ARGUMENT for a reference that is neither a file nor samples. */
int mx_reference_listen(struct mx_speak *speak, const struct mx_reference *references, size_t count, float *vector,
                        struct mx_timbre *timbre, struct mx_reference_report *report);

#endif
