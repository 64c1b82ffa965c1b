/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * SSML, the Speech Synthesis Markup Language of the W3C: what of it is understood, and what the words mean.
 *
 *     <speak xml:lang="">                   the root, which may be left out; xml:lang also on p, s,
 *                                           voice and lang
 *     <p> <s>                               a paragraph, a sentence, with the pause that follows one
 *     <break time="750ms|1.5s"/>            silence of that length, at most 10 s, instead of the usual pause
 *     <break strength="NAME"/>              none 0, x-weak 40, weak 130, medium 250, strong 350, x-strong 600 ms, at the
 *                                           current speed; <break/> is medium
 *     <prosody rate="" pitch="" volume="">  see below; nested ones multiply
 *     <say-as interpret-as="" format="">    text/say_as.h
 *     <sub alias="">                        the alias is read instead of the text
 *     <phoneme alphabet="ipa" ph="">        these sounds instead of the text; a voice of characters reads the text
 *     <voice name="" xml:lang="">           another speaker of the voice
 *     <lang xml:lang="">                    another language of the voice
 *     <w> <token>                           words; no effect
 *     <metadata> <desc>                     not read
 *
 *     rate    x-slow 0.5, slow 0.75, medium 1, fast 1.35, x-fast 2; a factor (1.2); percent of the usual speed (80%) or
 *             more and less of it (+20%, -10%)
 *     pitch   x-low -8, low -4, medium 0, high +4, x-high +8 semitones; +2st; +10%, -10%; +15Hz; 180Hz as the mean
 *     volume  silent 0, x-soft -12, soft -6, medium 0, loud +3, x-loud +6 dB; +6dB; 0 … 100 (100 is the usual one); more
 *             and less of it (+10, -10%)
 *
 * `default` is the same as medium. A speed outside 0.25 … 4, a pitch beyond 24 semitones and a volume beyond 4 are
 * limited with a warning, together with the options of the caller. Other tags and attributes are skipped with one
 * warning that names them; the text in them is read. Blank lines mean nothing.
 *
 * Broken XML is MX_ERR_DATA with line and column. A document cannot declare entities, and nothing outside it is read.
 * Tags are nested at most MX_SSML_DEPTH deep.
 *
 * Memory: see script_internal.h.
 */
#ifndef MX_SPEECH_SSML_H
#define MX_SPEECH_SSML_H

#include "speech/script.h"

#define MX_SSML_DEPTH      64
#define MX_SSML_BREAK_MOST 10000.0 /* ms in one place */

/* Reads a document as the spans of a script that has its options and nothing else. */
int mx_ssml_read(struct mx_speak_script *script, const char *text, size_t length);

#endif
