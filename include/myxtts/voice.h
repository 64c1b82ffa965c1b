/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speech for other programs: open a trained voice, give it a text, take the sound as it is made.
 *
 *     struct mx_voice *voice = NULL;
 *     struct mx_speaker *speaker = NULL;
 *     const struct mx_sound_chunk *chunk;
 *     const char *const text = "Good morning. The train leaves at nine.";
 *     int rc = mx_voice_open("my.voice.safetensors", NULL, &voice);
 *     if (rc == 0) rc = mx_speaker_create(voice, &speaker);
 *     if (rc == 0) rc = mx_speaker_begin(speaker, text, strlen(text), NULL);
 *     while (rc >= 0 && (rc = mx_speaker_next(speaker, &chunk)) > 0)
 *         play(chunk->samples, chunk->count, chunk->rate);
 *     if (rc < 0) fprintf(stderr, "%s\n", mx_error_last()->message);
 *     mx_speaker_destroy(speaker);
 *     mx_voice_close(voice);
 *
 * The text is split into pieces of about a sentence. The first piece is spoken alone, so its sound comes early; long
 * pieces leave in several chunks. The chunks joined together are the whole speech, pauses included. The same voice,
 * text, options and seed give the same samples, bit for bit, on the same device.
 *
 * Errors: functions that can fail return a negative code of enum mx_error_code; mx_error_last() has a message and a hint
 * for the calling thread. Nothing is printed, and no function ends the program. A failed allocation is an error as well.
 *
 * NULL for a voice, a speaker, a text or the place of a result is MX_ERR_ARGUMENT, unless it is said to be fine; functions
 * that cannot fail return "", 0 or NULL then, and an empty report. A pointer that is NULL beside a count that is not 0 is
 * MX_ERR_ARGUMENT, too, and so is a struct whose size cannot be.
 *
 * Threads: any number of threads may use one voice. A speaker holds the state of one speech and belongs to one thread at
 * a time; only mx_speaker_cancel may be called by any thread at any time. Several speakers of a voice speak at once and
 * share its weights.
 *
 * Versions: a struct that the caller fills begins with its own size, so a program that was built with an older header
 * keeps working. A newer program may set members that this library does not know: that is an error unless they are 0.
 * Structs that the library fills are returned by pointer and may grow at their end.
 *
 * Memory: what a create or open function returns belongs to the caller, who passes it to the matching destroy or close
 * function. Speakers must be destroyed before their voice is closed. Strings and samples that are returned belong to the
 * voice or the speaker.
 */
#ifndef MYXTTS_VOICE_H
#define MYXTTS_VOICE_H

#include <stddef.h>
#include <stdint.h>

#include "myxtts/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the voice ---- */

struct mx_voice;

#define MX_VOICE_NONE (-1) /* no rounds, or no projections */

/* {.size = sizeof(struct mx_voice_options)} has the default of each. Strings are copied. */
struct mx_voice_options {
    size_t size;
    const char *device;  /* as `myxtts devices` names them; NULL: "cpu:0" */
    const char *vocoder; /* NULL: that of the voice, or Griffin-Lim if it has none; "griffin-lim"; or the path of a run,
                            checkpoint or voice file, or the name of an installed one, whose vocoder to use */
    int cpu_devices;     /* number of devices that the processor is split into; 0: one */
    int rounds;          /* of the vocoder; 0: as many as usual; MX_VOICE_NONE: none */
    int projections;     /* of the vocoder; 0: as many as usual; MX_VOICE_NONE: none */
    const char
        *lexicon; /* path of a file that says how words are pronounced, in addition to those that the voice knows and
                            before them; NULL: none */
};

/* `path` is a voice file, a checkpoint or a run folder; if there is no such path, it is the name of an installed voice, as
 * `myxtts voices` lists them. `options` may be NULL. On failure *out is NULL. */
int mx_voice_open(const char *path, const struct mx_voice_options *options, struct mx_voice **out);
/* The same from the bytes of a voice file or checkpoint. They are borrowed until mx_voice_close. */
int mx_voice_open_memory(const void *bytes, size_t count, const struct mx_voice_options *options,
                         struct mx_voice **out);
void mx_voice_close(struct mx_voice *voice); /* NULL is fine */

/* Never NULL; "" where the voice does not say. Valid until the voice is closed. */
const char *mx_voice_name(const struct mx_voice *voice); /* given to it, or made from its path */
const char *mx_voice_licence(const struct mx_voice *voice);
const char *mx_voice_attribution(const struct mx_voice *voice);
int mx_voice_rate(const struct mx_voice *voice); /* samples per second of all its sound */
/* Codes of the languages it speaks: "en", "fa" … NULL if there is none with this number. */
size_t mx_voice_languages(const struct mx_voice *voice);
const char *mx_voice_language(const struct mx_voice *voice, size_t number);
/* Names of the speakers it learned from. The first speaks if none is chosen and none speaks the language. */
size_t mx_voice_speakers(const struct mx_voice *voice);
const char *mx_voice_speaker(const struct mx_voice *voice, size_t number);

/* ---- speaking ---- */

struct mx_speaker;

/* A recording of a person to sound like: a sound file, or mono samples. This struct will not grow. */
struct mx_reference {
    const char *file; /* its path; NULL: the samples */
    const float *samples;
    size_t count;
    int rate; /* samples per second, 4000 to 384000 */
};

/* How a text is spoken. Begin with MX_SPEAKING_DEFAULT and change what should differ. */
struct mx_speaking {
    size_t size;
    const char
        *language; /* code of the language of the text; NULL: that of the named speaker for letters of its script, else
                             found by the letters of each paragraph */
    const char *speaker; /* one of mx_voice_speaker; NULL: the first who speaks the language, or that of the text */
    /* A person to sound like instead: a sound file, or mono samples; or several recordings, see `references`. */
    const char *reference_file; /* its path; NULL: none */
    const float *reference;     /* NULL: none */
    size_t reference_count;     /* samples */
    int reference_rate;         /* samples per second, 4000 to 384000 */
    int ssml;                   /* 1: the text is SSML; 0: plain text */
    double speed;               /* 0.25 to 4; 2 speaks twice as fast */
    double pitch_semitones;     /* -24 to 24 */
    double volume;              /* factor of the samples, 0 to 4 */
    double pause_scale;         /* factor of the pauses between pieces, 0 to 10; pauses that SSML asks for stay */
    uint64_t seed;              /* of the noise in the sound */
    const char *pauses;         /* pauses of single kinds, with commas between them: "paragraph=900,line=300", in
                                   milliseconds; sentence, paragraph, ellipsis, dash, line. A number is a factor of all,
                                   in addition to pause_scale. NULL: as usual */
    /* Up to 64 recordings of one person to sound like. Each has 0.4 to 120 seconds without silence at the ends; 5 seconds
     * or more in all are good. A silent or clipped one is MX_ERR_DATA; what makes the voice worse (too little speech,
     * noise, several people) is among the warnings. */
    const struct mx_reference *references; /* NULL: none */
    size_t references_count;
    /* 0 to 1. The network alone imitates people whom it never heard badly: pitch and colour (the mean spectrum) of what it
     * says are moved towards those of the recordings, by this share of the way. 0: as the network says it. */
    double likeness;
};

#define MX_SPEAKING_DEFAULT                                                                                            \
    {                                                                                                                  \
        sizeof(struct mx_speaking), NULL, NULL, NULL, NULL, 0, 0, 0, 1.0, 0.0, 1.0, 1.0, 0, NULL, NULL, 0, 1.0         \
    }

/* One phoneme, or character for a voice that reads characters. This struct will not grow. */
struct mx_phoneme_time {
    const char *symbol;  /* UTF-8 */
    uint64_t begin, end; /* samples, counted from the beginning of the speech */
};

/* A part of the speech. */
struct mx_sound_chunk {
    const float *samples; /* 1 is full scale; louder samples are possible, see mx_samples_pcm16 */
    size_t count;
    uint64_t begin; /* samples of the speech before this chunk */
    int rate;
    int first, last;                        /* 1: the piece begins or ends with this chunk */
    uint64_t piece;                         /* number of the piece, from 0 */
    const char *text;                       /* the piece as it is spoken, numbers and abbreviations written out */
    const char *language;                   /* its code */
    size_t source_begin, source_length;     /* bytes of the caller's text that contain the piece */
    const struct mx_phoneme_time *phonemes; /* those that begin in this chunk */
    size_t phoneme_count;
};

/* Takes the memory for one speech at a time. */
int mx_speaker_create(struct mx_voice *voice, struct mx_speaker **out);
void mx_speaker_destroy(struct mx_speaker *speaker); /* NULL is fine */

/* Begins a text of `length` bytes in UTF-8, which is copied; what was being spoken is dropped. `options` may be NULL.
 * MX_ERR_ARGUMENT or MX_ERR_CONFIG for an impossible option, MX_ERR_NOT_FOUND for an unknown speaker, MX_ERR_DATA for
 * broken SSML, with line and column in the message. Problems of later parts of a text appear when they are reached. */
int mx_speaker_begin(struct mx_speaker *speaker, const char *text, size_t length, const struct mx_speaking *options);
/* 1: *chunk is the next part, valid until the next call with this speaker. 0: there is no more, or nothing was begun.
 * Negative: an error, after which the rest of the text is lost. *chunk is never NULL; after 0 and errors it is empty. */
int mx_speaker_next(struct mx_speaker *speaker, const struct mx_sound_chunk **chunk);
/* From any thread: what is being spoken ends. mx_speaker_next returns MX_ERR_INTERRUPTED, as soon as the part that it is
 * making is ready, until the next mx_speaker_begin. */
void mx_speaker_cancel(struct mx_speaker *speaker);

/* What happened so far that the listener should know: recordings to sound like that may not do, symbols the voice never
 * learned, tags that were skipped. One line each. NULL if there is none with this number. Valid until the next begin or next. */
size_t mx_speaker_warnings(const struct mx_speaker *speaker);
const char *mx_speaker_warning(const struct mx_speaker *speaker, size_t number);

/* What was spoken so far since the last mx_speaker_begin. */
struct mx_speaking_report {
    uint64_t pieces_done, pieces; /* `pieces` is an estimate until the last one is spoken */
    uint64_t paragraphs, tokens, samples;
    double text_seconds, model_seconds, sound_seconds; /* of work: text to phonemes, network, sound */
    double reference_seconds;    /* of speech in the recordings to sound like; 0: none were given */
    uint64_t reference_warnings; /* how many of the warnings are about them: the first ones */
    /* By how much the voice was moved towards them, in the language that was spoken last: pitch upwards, and the colour (root
     * mean square over the bands); and the seconds of work that finding it took, in all languages. */
    double reference_semitones, reference_colour_db, reference_work_seconds;
};

const struct mx_speaking_report *mx_speaker_report(const struct mx_speaker *speaker);

/* ---- samples as integers ---- */

/* Samples as 16-bit integers. Up to 0.9 of full scale they are only rounded down; louder ones are bent smoothly and stay
 * below full scale, so speech never wraps or clips hard. Each sample by itself: chunks give what the whole would give. */
void mx_samples_pcm16(const float *samples, size_t count, int16_t *out);
/* The same bending without the rounding. `out` may be `samples`. */
void mx_samples_limit(const float *samples, size_t count, float *out);

#ifdef __cplusplus
}
#endif

#endif
