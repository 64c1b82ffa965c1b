/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Splits a text into lines that each become a file, for `myxtts synth --output-dir`.
 *
 * A line "NAME|TEXT", where NAME consists of ASCII letters, digits, '_', '-' and '.' and does not begin with one of the
 * last two, becomes NAME.wav (or has another ending that the caller gives). Any other line becomes NNN.wav, its number in the text with at least three digits, the
 * same number of digits in all names. Blank lines are skipped and counted; each uses up its number.
 *
 * The folder gets a list of the files, list.tsv: a header, then one line each, in the order of the text:
 *
 *     file    seconds    text
 *     001.wav 2.531      Good morning.
 *
 * separated by single tabs; tabs in the text become blanks.
 *
 * Memory: the lines own their names and point into the text, which is borrowed.
 */
#ifndef MX_CLI_SYNTH_LINES_H
#define MX_CLI_SYNTH_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

#define MX_SYNTH_LIST "list.tsv"

struct mx_synth_line {
    const char *name; /* of the file, with its ending */
    const char *text; /* not terminated */
    size_t length;
    size_t number;  /* of the line, from 1 */
    double seconds; /* of speech; filled in by the caller. 0: nothing was spoken */
};

struct mx_synth_lines {
    struct mx_synth_line *lines;
    size_t count;
    size_t blank; /* lines skipped */
    struct mx_arena arena;
};

/* `ending`: of the files, without the dot. MX_ERR_DATA if two lines have the same name, or there is no line at all. */
int mx_synth_lines_read(const char *text, size_t length, const char *ending, struct mx_synth_lines *out);
void mx_synth_lines_release(struct mx_synth_lines *lines);

/* Writes FOLDER/list.tsv with all lines that have been spoken. */
int mx_synth_lines_list(const struct mx_synth_lines *lines, const char *folder);

#endif
