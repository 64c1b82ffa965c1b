/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A whole voice as files for other programs: one ONNX graph from symbols to samples that Piper and sherpa-onnx run
 * unchanged, and the other files that each of the two needs.
 *
 *     voice.onnx        both. Inputs: input int64 [1, ids], input_lengths int64 [1] (not used), scales float [3] (the
 *                       second multiplies the durations; the others are not used, since our speech has no randomness),
 *                       with several speakers sid int64 [1]. Outputs: output float [1, 1, 1, samples], durations float
 *                       [1, ids] (frames of each id). Metadata: what sherpa-onnx reads
 *     voice.onnx.json   Piper: rate, espeak voice, ids of symbols, speakers
 *     tokens.txt        sherpa-onnx: ids of symbols
 *     lexicon.txt       sherpa-onnx from 2.0 on, voices that read phonemes: the phonemes of words
 *
 * The sound of a text is what `myxtts synth` makes of the same symbols: the same durations, and samples that differ by
 * rounding only.
 *
 * Memory: everything is borrowed during the call; nothing is kept.
 */
#ifndef MX_EXPORT_VOICE_H
#define MX_EXPORT_VOICE_H

#include "export/acoustic.h"
#include "export/sound.h"
#include "text/vocabulary.h"

#define MX_EXPORT_GRAPH   "voice.onnx"
#define MX_EXPORT_CONFIG  "voice.onnx.json"
#define MX_EXPORT_TOKENS  "tokens.txt"
#define MX_EXPORT_LEXICON "lexicon.txt"

/* X(identifier, name): MX_EXPORT_<identifier>. */
#define MX_EXPORT_FORMAT_LIST(X)                                                                                       \
    X(PIPER, "piper")                                                                                                  \
    X(SHERPA, "sherpa")

enum mx_export_format {
#define X(identifier, name) MX_EXPORT_##identifier,
    MX_EXPORT_FORMAT_LIST(X)
#undef X
        MX_EXPORT_FORMATS
};

extern const char *const mx_export_formats[MX_EXPORT_FORMATS + 1]; /* "piper" …, then NULL */

struct mx_export_voice {
    /* the acoustic network */
    struct mx_export_speech speech;
    const struct mx_parameters *table;
    const float *weights;
    /* the vocoder */
    struct mx_export_sound sound;
    const struct mx_parameters *vocoder_table;
    const float *vocoder_weights;
    /* the text */
    const struct mx_vocabulary *vocabulary;
    enum mx_language_id language;
    const char *const *speakers; /* names, speech.speakers of them */
    const char *words;           /* text whose words go into lexicon.txt; NULL: there is no such file */
};

struct mx_export_report {
    size_t symbols; /* ids */
    size_t words;   /* in lexicon.txt */
    size_t bytes;   /* of the graph */
};

/* Writes the files of the format into `folder`, which exists. MX_ERR_UNSUPPORTED if the voice has a symbol that those
 * programs cannot send. `report` may be NULL. */
int mx_export_voice_write(const struct mx_export_voice *voice, enum mx_export_format format, const char *folder,
                          struct mx_export_report *report);

#endif
