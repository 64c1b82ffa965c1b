/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of commands that make sound from mel: '--vocoder', '--rounds', '--projections'; and the format of
 * the sound that they write.
 */
#ifndef MX_CLI_SOUND_OPTIONS_H
#define MX_CLI_SOUND_OPTIONS_H

#include "cli/options/options.h"
#include "speech/encode.h"
#include "vocoder/sound.h"

/* Table elements for a command whose struct has `const char *vocoder; int64_t rounds, projections` and is initialised
 * with MX_SOUND_VALUES. `usual` says what '--vocoder' is if it is not given; `number` are the usual projections with a
 * vocoder: MX_SOUND_VOCODER_PROJECTIONS or MX_SOUND_SPOKEN_PROJECTIONS. */
#define MX_SOUND_OPTIONS(object, usual, number)                                                                        \
    {MX_OPTION_STRING(object, vocoder, "vocoder", "RUN|FILE|" MX_SOUND_GRIFFIN_LIM, usual,                             \
                      "What makes sound from the mel: the vocoder of this run folder, checkpoint, voice file or "      \
                      "installed voice, or Griffin-Lim, which needs no training.")},                                   \
        {MX_OPTION_INT(object, rounds, "rounds", "N", 0, MX_SOUND_ROUNDS_MAX,                                          \
                       MX_SOUND_DIGITS(MX_SOUND_VOCODER_ROUNDS) " with a vocoder, " MX_SOUND_DIGITS(                   \
                           MX_SOUND_GRIFFIN_ROUNDS) " without",                                                        \
                       "Rounds of Griffin-Lim, which fit the phases to the magnitudes. The time grows with them. "     \
                       "Without a vocoder at least 1.")},                                                              \
    {                                                                                                                  \
        MX_OPTION_INT(                                                                                                 \
            object, projections, "projections", "N", 0, MX_SOUND_PROJECTIONS_MAX,                                      \
            MX_SOUND_DIGITS(number) " with a vocoder, " MX_SOUND_DIGITS(MX_SOUND_GRIFFIN_PROJECTIONS) " without",      \
            "Corrections after the rounds that bring the mel of the sound closer to the one asked for.")               \
    }
#define MX_SOUND_VALUES          .rounds = MX_SOUND_USUAL, .projections = MX_SOUND_USUAL
#define MX_SOUND_DIGITS(number)  MX_SOUND_DIGITS_(number)
#define MX_SOUND_DIGITS_(number) #number

/* MX_ERR_USAGE for '--rounds 0' without a vocoder. */
int mx_command_rounds_check(bool vocoder, int64_t rounds);

/* The formats of files with sound, for '--format'; NULL-terminated. */
extern const char *const mx_command_sound_formats[];
/* In which format to write this file: the one that is given, or that of the name's ending; WAV where neither says anything
 * ("-" or NULL have no ending). MX_ERR_USAGE for an unknown ending, or if the two contradict each other. */
int mx_command_sound_format(const char *path, const char *given, enum mx_encode_format *out);

#endif
