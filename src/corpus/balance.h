/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How often the utterances of each speaker are drawn. A corpus of several speakers is rarely even: without balance, one
 * who spoke for an hour is heard sixty times as often as one who spoke for a minute.
 *
 *     utterance   every utterance once in each epoch
 *     speaker     every speaker equally often
 *     root        every speaker by the square root of the number of utterances: between the two
 *
 * The number of utterances in an epoch stays the same. corpus/sampler.h draws by the numbers that are computed here.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_CORPUS_BALANCE_H
#define MX_CORPUS_BALANCE_H

#include <stdint.h>

/* X(identifier, name): MX_BALANCE_<identifier>. */
#define MX_BALANCE_LIST(X)                                                                                             \
    X(UTTERANCE, "utterance")                                                                                          \
    X(SPEAKER, "speaker")                                                                                              \
    X(ROOT, "root")

enum mx_balance {
#define X(identifier, name) MX_BALANCE_##identifier,
    MX_BALANCE_LIST(X)
#undef X
        MX_BALANCE_COUNT
};

/* rows[s] is the number of utterances of speaker s. times[s] becomes the mean number of times that one of them is drawn
 * in an epoch: 1 for all with MX_BALANCE_UTTERANCE, 0 for a speaker without any. Σ rows · times = Σ rows. */
void mx_balance_times(enum mx_balance balance, const uint32_t *rows, uint32_t speakers, double *times);

#endif
