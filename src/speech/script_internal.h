/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/speech/script*.c and src/speech/ssml: a text as spans, before it is turned into items.
 *
 * A span is text that is read together: a paragraph of plain text; in SSML the text between two changes of how it is
 * spoken. Spans are made when a script is opened; their text is normalised when its turn comes.
 *
 * Memory: everything lies in the arena of the script.
 */
#ifndef MX_SPEECH_SCRIPT_INTERNAL_H
#define MX_SPEECH_SCRIPT_INTERNAL_H

#include "myxtts/error.h"
#include "speech/script.h"
#include "speech/split.h"

#define MX_SPEAK_WARNINGS 16 /* the last one counts those that are left out */

/* What ends between two spans, the stronger last. */
enum mx_speak_rank { MX_SPEAK_RANK_WORDS, MX_SPEAK_RANK_LINE, MX_SPEAK_RANK_SENTENCE, MX_SPEAK_RANK_PARAGRAPH };

/* What lies between two spans. */
struct mx_speak_gap {
    enum mx_speak_rank rank;
    bool given;      /* by <break> or an ellipsis: then its silence replaces the usual one */
    double exact_ms; /* its length regardless of speed */
    double usual_ms; /* its length as a pause that speed and pause_scale change */
};

/* Sounds that SSML gives. In the text of a span a word stands for each: the prefix of the span, then its number in
 * letters. The prefix is in no other word of the text. */
#define MX_SPEAK_SOUND_PREFIX 5
#define MX_SPEAK_SOUND_DIGITS 4
struct mx_speak_sounds {
    const char *ipa;
    const char *text; /* whose sounds they are */
};

struct mx_speak_span {
    const char *text;
    size_t length;
    enum mx_language_id language;
    int32_t language_number; /* in the vocabulary */
    double speed, pitch_semitones, volume;
    const char *speaker;
    struct mx_speak_gap gap; /* before it */
    size_t source_begin, source_length;
    const struct mx_speak_sounds *sounds;
    size_t sound_count;
    char sound_prefix[MX_SPEAK_SOUND_PREFIX];
};

struct mx_speak_script_slot {
    struct mx_arena arena; /* of its tokens and text */
    struct mx_speak_item item;
    struct mx_speak_gap gap;         /* before it */
    char mark;                       /* the last one of its text, or 0 */
    struct mx_unknown_count unknown; /* up to it */
};

/* Pieces that come next. A piece with too many tokens is split again: its pieces are the next level. */
struct mx_speak_script_level {
    struct mx_split_piece *pieces;
    size_t count, at;
    size_t limit; /* characters */
};

struct mx_speak_script {
    struct mx_speak_script_options options;
    struct mx_pauses pauses; /* with the factor in the options */
    struct mx_arena arena;   /* of the text and the spans */
    struct mx_speak_span *spans;
    size_t span_count, span_capacity;
    struct mx_speak_gap tail; /* after the last span */
    const char *warnings[MX_SPEAK_WARNINGS];
    size_t warning_count, warnings_more; /* more: left out */

    /* while items are made */
    struct mx_phonemizer *phonemizer; /* NULL: characters */
    struct mx_arena paragraph;        /* of the pieces of the current span */
    size_t span_next;
    size_t bytes_left; /* of the spans from span_next on */
    struct mx_speak_script_level levels[8 * sizeof(size_t)];
    size_t depth;
    struct mx_speak_gap gap; /* since the last item that was made */
    struct mx_unknown_count unknown;
    struct mx_speak_script_slot slots[2]; /* the item of the caller and the one after it */
    int turn;                             /* the slot of the latter */
    int ahead;                            /* 1: it is there; 0: there are no more; negative: `failure` */
    bool started;
    size_t made, made_bytes; /* items, and the bytes of the spans they came from */
    struct mx_error failure;
    struct mx_speak_script_counts counts;
};

/* Adds a span, whose strings must lie in the arena of the script. It becomes several where it has an ellipsis. */
int mx_speak_span_add(struct mx_speak_script *script, struct mx_speak_span span);
void mx_speak_gap_merge(struct mx_speak_gap *gap, const struct mx_speak_gap *more);
/* Adds a warning, unless there is the same one. */
int mx_speak_script_warn(struct mx_speak_script *script, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A language of the voice for text in this language: itself, or the only one with the same letters. Negative: none. */
int mx_speak_language_known(const struct mx_vocabulary *vocabulary, enum mx_language_id language);
/* The language of a text: the one asked for, or that of its letters. MX_ERR_CONFIG if the voice never learned it. */
int mx_speak_language_find(const struct mx_speak_script_options *options, const char *text, size_t length,
                           enum mx_language_id *language, int32_t *number);
/* The symbols of a piece of the span, and its text for people, both in the arena. */
int mx_speak_sounds_symbols(const struct mx_speak_span *span, const struct mx_reading *reading,
                            struct mx_phonemizer *phonemizer, const char *piece, struct mx_arena *arena,
                            struct mx_symbols *symbols, char **text);

#endif
