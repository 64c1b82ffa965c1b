/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The script of a text: what is to be spoken, item by item. An item is one piece of text that the network speaks at
 * once, with its tokens, how it is spoken and the silence around it.
 *
 * A script makes its items one after the other: only as much text is normalised and turned into phonemes as the next
 * item needs (and the one after it, because the pause between two items depends on both). So the first item of a long
 * text costs about as much as that of a short one. Opening a script checks the whole text for what makes it unfit:
 * invalid UTF-8, a language that the voice never learned, broken SSML. The items do not depend on when they are taken.
 *
 * Plain text is read paragraph by paragraph: an empty line separates paragraphs, each has one language. With `ssml` the
 * text is an SSML document (ssml.h).
 *
 * Memory: a script copies the text and owns all that it returns. Threads: one at a time for each script; several
 * scripts may be open in several threads.
 */
#ifndef MX_SPEECH_SCRIPT_H
#define MX_SPEECH_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "speech/pauses.h"
#include "text/vocabulary.h"

#define MX_SPEAK_DETECT (-1)

/* What a voice can do; options beyond are refused, SSML beyond is limited to them with a warning. */
#define MX_SPEAK_SCRIPT_SPEED_LEAST 0.25
#define MX_SPEAK_SCRIPT_SPEED_MOST  4.0
#define MX_SPEAK_SCRIPT_SEMITONES   24.0 /* up and down */
#define MX_SPEAK_SCRIPT_VOLUME_MOST 4.0  /* + 12 dB */
#define MX_SPEAK_SCRIPT_PAUSES_MOST 10.0

struct mx_speak_script_options {
    const struct mx_vocabulary *vocabulary; /* of the voice; borrowed */
    int language;                           /* an enum mx_language_id; MX_SPEAK_DETECT: by the letters */
    int preferred; /* where letters decide: of the languages with these letters, this one; MX_SPEAK_DETECT: none */
    bool ssml;
    size_t piece_characters; /* the longest piece; 0: MX_SPLIT_CHARACTERS */
    size_t longest_tokens;   /* that the network has room for in one item; 0: any number */
    double speed;            /* 0.25 … 4: 2 speaks twice as fast, usual pauses too */
    double pitch_semitones;  /* -24 … 24: higher or lower than the voice */
    double volume;           /* 0 … 4: factor of the samples */
    double pause_scale;      /* 0 … 10: factor of the usual pauses, not of those that SSML gives in seconds */
    const struct mx_pauses
        *pauses;     /* lengths of single kinds, and one more factor; NULL: as usual; borrowed while it is
                                       opened */
    double voice_hz; /* mean pitch of the voice, for SSML that gives pitch in Hz; 0: unknown, it is skipped */
};

#define MX_SPEAK_SCRIPT_OPTIONS_DEFAULT                                                                                \
    ((struct mx_speak_script_options){                                                                                 \
        .language = MX_SPEAK_DETECT, .preferred = MX_SPEAK_DETECT, .speed = 1, .volume = 1, .pause_scale = 1})

/* Valid until the next call for the same script. */
struct mx_speak_item {
    const int32_t *tokens;
    const uint32_t *symbols;               /* the code point of each token, 0 for BOS and EOS */
    int32_t count;                         /* of tokens, at least 3 */
    int32_t language;                      /* its number in the vocabulary */
    double speed, pitch_semitones, volume; /* those of the options and of SSML together */
    double before_ms, pause_ms; /* silence before and after it, at the item's speed: nothing is left to be divided */
    const char *speaker;        /* name from SSML; NULL: the caller's */
    const char *text;           /* the piece as it is spoken (text/text.h) */
    size_t source_begin, source_length; /* bytes of the caller's text that it was made from: its paragraph */
};

struct mx_speak_script;

/* MX_ERR_ARGUMENT for options out of range, MX_ERR_DATA for text that is no UTF-8 or broken SSML, MX_ERR_CONFIG for a
 * language that the voice never learned. */
int mx_speak_script_open(const struct mx_speak_script_options *options, const char *text, size_t length,
                         struct mx_speak_script **out);
void mx_speak_script_close(struct mx_speak_script *script); /* NULL is fine */

/* 1: *item is the next item; 0: there are no more, and *item is empty; negative: failed, and so will all further calls.
 * MX_ERR_ARGUMENT if the network has no room for the shortest piece. */
int mx_speak_script_next(struct mx_speak_script *script, struct mx_speak_item *item);

/* How many items there are in all. An estimate from the bytes that are left; exact once the last item was returned. */
size_t mx_speak_script_pieces(const struct mx_speak_script *script);

/* Counts up to the last item returned; paragraphs with nothing to be said do not count. */
struct mx_speak_script_counts {
    size_t items, paragraphs, tokens;
    struct mx_unknown_count unknown; /* symbols that the voice never learned; left out */
};
struct mx_speak_script_counts mx_speak_script_counts(const struct mx_speak_script *script);

/* A warning about symbols that were left out. */
#define MX_SPEAK_UNKNOWN_BYTES 160
char *mx_speak_unknown_text(const struct mx_unknown_count *unknown, char out[MX_SPEAK_UNKNOWN_BYTES]);

/* What a person should know about the text, such as SSML tags that were skipped: sentences without a full stop, all of
 * them known after opening. NULL: there is no warning of this number. */
const char *mx_speak_script_warning(const struct mx_speak_script *script, size_t number);

#endif
