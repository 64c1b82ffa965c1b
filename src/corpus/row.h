/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One complete row of a corpus: its recording (audio.h), its text as spoken (text/text.h), its symbols (text/tokens.h),
 * and the decision whether it can be used. `check` and `prepare` both use this code, so that they agree on every row.
 *
* In addition to what the audio reader refuses, a row is rejected if its text belongs to no known language, if nothing in it
 * can be spoken, if it holds an unknown symbol, or if the number of sounds per second shows that text and recording do
 * not belong together (rate.h). Seconds are those after trimming.
 *
 * Known symbols are those of `vocabulary`, if one is given. Without one, the normalised text may hold what its language
 * writes (text/language.h), and phonemes must be letters and marks of the IPA, or tones; in both, the punctuation that
 * text/text.h leaves.
 *
 * Memory: a reader owns all buffers, which only grow. One thread uses a reader at a time. The results of mx_row_load
 * belong to the reader and are valid until its next load.
 */
#ifndef MX_CORPUS_ROW_H
#define MX_CORPUS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corpus/audio/audio.h"
#include "corpus/manifest/manifest.h"
#include "corpus/rate.h"
#include "corpus/reject.h"
#include "text/text.h"
#include "text/tokens.h"
#include "text/vocabulary.h"

#define MX_ROW_LANGUAGE_DETECT (-1)

struct mx_row_options {
    struct mx_audio_options audio;
    int language; /* one of enum mx_language_id, or MX_ROW_LANGUAGE_DETECT: as the row says, or by the script of its text */
    enum mx_tokens_mode tokens;
    bool sounds;                            /* rows have no texts: see pack_spec.h */
    struct mx_rate rate;                    /* plausible range, learned from the whole corpus (mx_row_rate) */
    const struct mx_vocabulary *vocabulary; /* NULL: see above; borrowed. It also says how texts are read */
    const struct mx_lexicon *lexicon; /* used if there is no vocabulary, by the newest rules; NULL: none; borrowed */
};

#define MX_ROW_OPTIONS_DEFAULT                                                                                         \
    ((struct mx_row_options){.audio = MX_AUDIO_OPTIONS_DEFAULT,                                                        \
                             .language = MX_ROW_LANGUAGE_DETECT,                                                       \
                             .tokens = MX_TOKENS_PHONEMES,                                                             \
                             .rate = MX_RATE_DEFAULT})

/* How rows with these options read their texts. */
struct mx_reading mx_row_reading(const struct mx_row_options *options);

struct mx_row {
    enum mx_reject reject;
    char detail[192]; /* why, in words with numbers; "" for a good row */
    struct mx_audio_report audio;
    const float *samples; /* at the rate of the options, trimmed and levelled; NULL unless the row is good */
    size_t sample_count;
    const float *whole; /* the recording that `samples` lie in, with its silence; only they are levelled: divide them by
                           audio.gain to have it as it was (without its mean, audio.offset). NULL unless the row is good */
    size_t whole_count;
    enum mx_language_id language;
    const char *spoken;      /* the normalised text; "" when it was not reached */
    size_t characters;       /* of `spoken`, without blanks */
    const uint32_t *symbols; /* of the spoken text; NULL unless the row is good */
    size_t symbol_count;
    size_t sounds; /* symbols that are spoken */
};

struct mx_row_reader;

/* Starts libespeak-ng if the options need it; its failures are reported here. The options are copied. */
int mx_row_reader_create(const struct mx_row_options *options, struct mx_row_reader **out);
void mx_row_reader_destroy(struct mx_row_reader *reader); /* NULL is fine */

/* 0 for good rows and for rejected ones (see row->reject). Negative: not the row's fault (out of memory, phonemes
 * cannot be made at all). */
int mx_row_load(struct mx_row_reader *reader, const struct mx_utterance *utterance, struct mx_row *row);

/* The two halves of mx_row_load, for callers that need the texts of all rows before their recordings (for a vocabulary)
 * and no phonemes later. The first opens no recording; symbols are set if the text is good. The second needs only
 * `sounds` and a `reject` of NONE in `row`; it adds the recording and the decision about it and leaves the rest
 * unchanged. */
int mx_row_load_text(struct mx_row_reader *reader, const struct mx_utterance *utterance, struct mx_row *row);
int mx_row_load_audio(struct mx_row_reader *reader, const struct mx_utterance *utterance, struct mx_row *row);

/* Sounds per second of a row whose text is good, by the length that its header gives, for learning the range of a
 * corpus; 0 if that length says nothing. */
double mx_row_rate(const struct mx_row_options *options, size_t sounds, double seconds_promised);
/* Applies only the check of the range, for callers that learned it after the row was loaded. */
void mx_row_judge_rate(const struct mx_rate *rate, struct mx_row *row);

#endif
