/* SPDX-License-Identifier: GPL-3.0-or-later
 *
The output folder: its rows and its lists (cut.h). Rows are written as they are added, the lists at the
 * end.
 *
 * Memory: a folder owns its texts. Closing it without mx_cut_folder_finish removes what was written.
 */
#ifndef MX_CUT_FOLDER_H
#define MX_CUT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

struct mx_cut_folder {
    char *path;
    bool made, finished; /* the folder itself is new; all lists are written */
    struct mx_string metadata, cut, left_out, names, pieces;
    size_t rows, left, pipes;
    bool languages;           /* its rows have a column of languages */
    double shortest, longest; /* seconds of its rows */
    /* Of a folder with the pieces of long rows (corpus/pieces.h), set by its maker: how they are cut, and for the rows
     * to come the key of the row that they are pieces of and the time that their files get. */
    const char *how; /* NULL: there is no list of pieces */
    uint64_t origin;
    int64_t time_ns;
};

/* Creates the folder, or uses an empty one; MX_ERR_DATA if it has files. */
int mx_cut_folder_open(struct mx_cut_folder *folder, const char *path);

/* A row: its samples, its text (which is written with one blank for any run of blanks), where it is from. */
struct mx_cut_folder_row {
    const int16_t *samples;
    size_t count;
    int rate;
    const char *text;
    size_t text_length;
    const char *file;
    double begin, end, score;
    const char *speaker;  /* NULL: there is no column of speakers */
    const char *language; /* NULL in all rows: there is no column of languages; "": to be detected */
    bool whole;           /* copied unchanged: it has no score */
};
int mx_cut_folder_row(struct mx_cut_folder *folder, const struct mx_cut_folder_row *row);
/* Something that is in no row. text_length 0: sound without a text. */
int mx_cut_folder_left(struct mx_cut_folder *folder, const char *file, double begin, double end, const char *reason,
                       const char *text, size_t text_length);
/* A long row that cannot be cut. */
int mx_cut_folder_refuse(struct mx_cut_folder *folder, const char *file, const char *reason, const char *text);
int mx_cut_folder_finish(struct mx_cut_folder *folder);
void mx_cut_folder_close(struct mx_cut_folder *folder);

#endif
