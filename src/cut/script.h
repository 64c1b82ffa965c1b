/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text of long recordings, from a file: plain text, subtitles (SRT, VTT) or a Praat TextGrid.
 *
 * Plain text is one part. Every cue of subtitles and every labelled interval of a TextGrid is a part that knows when it
 * is spoken. Of cues, tags (<i>, {\an8}), settings, notes and styles are left out; times that run backwards are an error
 * with its line. Of a TextGrid (long or short format) the first interval tier with text is read.
 *
 * Files are UTF-8, or UTF-16 with its mark (as Praat and Windows write it). The kind is recognised by the content: VTT by
 * its first line, a TextGrid by its header, SRT by its first cue.
 *
 * Memory: a script owns its text.
 */
#ifndef MX_CUT_SCRIPT_H
#define MX_CUT_SCRIPT_H

#include "align/text.h"

enum mx_cut_script_kind { MX_CUT_SCRIPT_PLAIN, MX_CUT_SCRIPT_SRT, MX_CUT_SCRIPT_VTT, MX_CUT_SCRIPT_TEXTGRID };

struct mx_cut_script {
    enum mx_cut_script_kind kind;
    char *source; /* valid UTF-8, zero-terminated */
    size_t length;
    struct mx_align_part *parts;
    size_t part_count, part_room;
};

int mx_cut_script_read(struct mx_cut_script *script, const char *path);
/* The same from memory; `name` is for messages. */
int mx_cut_script_parse(struct mx_cut_script *script, const char *name, const char *data, size_t bytes);
void mx_cut_script_release(struct mx_cut_script *script);

/* For the parsers, whose data is UTF-8. Appends text (a line end for each byte that is not text) as a part; blank text is none. */
int mx_cut_script_add(struct mx_cut_script *script, const char *text, size_t length, double from, double until);
int mx_cut_script_textgrid(struct mx_cut_script *script, const char *name, const char *data, size_t bytes);
int mx_cut_script_cues(struct mx_cut_script *script, const char *name, const char *data, size_t bytes);

#endif
