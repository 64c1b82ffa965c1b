/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/speech/ssml: a document while it is read.
 *
 * Text is collected as runs: text that is spoken in one way. The runs of a paragraph become spans of the script when it
 * ends, because only then its language is known.
 *
 * Memory: names and values that outlive an element lie in the arena of the script; the rest belongs to the reader.
 */
#ifndef MX_SPEECH_SSML_INTERNAL_H
#define MX_SPEECH_SSML_INTERNAL_H

#include "base/string.h"
#include "speech/script_internal.h"
#include "speech/ssml/ssml.h"

/* How text is spoken. Numbers include the options of the caller. */
struct mx_ssml_style {
    int language; /* MX_SPEAK_DETECT: the caller's, or by the letters */
    double speed, pitch_semitones, volume;
    const char *speaker;
};

/* A part of a run: text of the paragraph, perhaps with its own way of reading. */
struct mx_ssml_part {
    size_t begin, length;        /* in the text of the paragraph */
    const char *say_as, *format; /* or NULL */
    const char *ipa;             /* or NULL */
};

struct mx_ssml_run {
    struct mx_ssml_style style;
    struct mx_speak_gap gap; /* before it */
    size_t part_first, part_count;
    size_t source_begin, source_end;
};

struct mx_ssml_runs {
    struct mx_speak_script *script;
    struct mx_string text; /* of the paragraph, decoded */
    struct mx_ssml_part *parts;
    size_t part_count, part_capacity;
    struct mx_ssml_run *runs;
    size_t run_count, run_capacity;
    struct mx_speak_gap gap; /* since the last run */
    bool open;               /* the last run may continue */
    bool blank;              /* a blank came while no run was open */
};

/* Adds text that is spoken like this. `part` has only what is not NULL for every part of it: say_as, format and ipa. */
int mx_ssml_runs_add(struct mx_ssml_runs *runs, const struct mx_ssml_style *style, struct mx_ssml_part part,
                     const char *text, size_t length, size_t source_begin, size_t source_end);
/* What follows is spoken in another way, or after a pause. */
void mx_ssml_runs_break(struct mx_ssml_runs *runs, const struct mx_speak_gap *gap);
/* Makes spans of all runs. */
int mx_ssml_runs_flush(struct mx_ssml_runs *runs);
void mx_ssml_runs_release(struct mx_ssml_runs *runs);

/* Values of attributes. False: the value has no meaning, nothing was changed. */
bool mx_ssml_rate(const char *value, double *speed);
bool mx_ssml_pitch(const char *value, double voice_hz, double *semitones);
bool mx_ssml_volume(const char *value, double *volume);
bool mx_ssml_time(const char *value, double *ms);
bool mx_ssml_strength(const char *value, double *usual_ms);

#endif
