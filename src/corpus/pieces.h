/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces: recordings that were cut because they are too long to train on. Whoever cuts them (cut/long.h; the corpus knows
 * no voices) leaves a folder with the pieces and a list of them; a manifest that is opened with this folder has the
 * pieces in the place of each row that was cut.
 *
 * FOLDER/pieces.tsv: UTF-8, lines of fields between tabs. The first line is
 *
 *     myxtts-pieces  1  HOW                      how they were cut, as the program that cut them describes it
 *
 * and each of the others, in the order of the manifest,
 *
 *     ROW  wavs/NAME.wav  text                   a piece of the row whose key, 16 hexadecimal digits, is ROW
 *     ROW  ""             reason                 a row that could not be cut: it stays as it is
 *
 * A piece has speaker, language, source and line of its row, and its part (training or validation) if the corpus names the
 * rows for validation; otherwise it is drawn like any row. Its id is ID#1, ID#2 …, about which people may decide, too
 * (decisions.h). Rows that have changed since they were cut, and rows that the list does not have, stay as they are.
 *
 * Memory: a list owns its text; what a manifest takes from it is copied.
 */
#ifndef MX_CORPUS_PIECES_H
#define MX_CORPUS_PIECES_H

#include "corpus/manifest/manifest.h"

#define MX_PIECES_LIST "pieces.tsv"
#define MX_PIECES_HEAD "myxtts-pieces\t1\t"

struct mx_piece {
    uint64_t row;     /* the key of a row */
    const char *file; /* below the folder; "": the row could not be cut */
    const char *text; /* of the piece; without a file, the reason */
};

struct mx_pieces {
    char *data;
    const char *how;
    struct mx_piece *list;
    size_t count;
};

/* MX_ERR_NOT_FOUND without a list, MX_ERR_FORMAT for one that cannot be read. */
int mx_pieces_read(const char *folder, struct mx_pieces *pieces);
void mx_pieces_release(struct mx_pieces *pieces); /* {0} is fine */

/* The key of a row: a hash of its id, text, language, speaker and source, and of size and time of its recording. */
uint64_t mx_pieces_key(const struct mx_utterance *utterance);

/* How many bytes of the id of a piece are the id of its row; 0: it has not the form of one. */
size_t mx_pieces_row(const char *id);

/* Puts the pieces of a folder into a manifest whose rows were read; without a list it stays as it is. */
int mx_pieces_apply(struct mx_manifest *manifest, const char *folder);

#endif
