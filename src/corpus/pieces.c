/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The list of pieces, and a manifest with them; see pieces.h.
 */
#include "corpus/pieces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"

#define LIST_LIMIT_BYTES ((size_t)256 << 20)
#define KEY_DIGITS       16
#define MADE_AGAIN       "'myxtts prepare', or 'myxtts train --resume' of the run, makes it again"

/* ---- the list ---- */

/* Ends the field at *at with a zero and returns it; *at is then after it. */
static char *field_next(char **at, char end)
{
    char *const field = *at, *const stop = strchr(field, end);
    if (stop == NULL) return NULL;
    *stop = '\0';
    *at = stop + 1;
    return field;
}

static bool piece_read(char **at, struct mx_piece *piece)
{
    char *rest = NULL;
    const char *const key = field_next(at, '\t');
    piece->file = key != NULL ? field_next(at, '\t') : NULL;
    piece->text = piece->file != NULL ? field_next(at, '\n') : NULL;
    if (piece->text == NULL || strlen(key) != KEY_DIGITS) return false;
    piece->row = strtoull(key, &rest, 16);
    return *rest == '\0';
}

int mx_pieces_read(const char *folder, struct mx_pieces *pieces)
{
    int rc = 0;
    size_t bytes = 0, lines = 0;
    char *at, quoted[300];
    char *const path = mx_format("%s/" MX_PIECES_LIST, folder);
    *pieces = (struct mx_pieces){0};
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_file_read(path, LIST_LIMIT_BYTES, &pieces->data, &bytes));
    mx_string_quote(quoted, sizeof quoted, path);
    for (size_t i = 0; i < bytes; i++) lines += pieces->data[i] == '\n';
    const size_t head = strlen(MX_PIECES_HEAD);
    if (bytes < head || memcmp(pieces->data, MX_PIECES_HEAD, head) != 0 || lines == 0 || strlen(pieces->data) != bytes)
        MX_RAISE(MX_ERR_FORMAT, MADE_AGAIN, "%s is not a list of pieces", quoted);
    pieces->list = mx_alloc(lines, sizeof *pieces->list);
    if (pieces->list == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    at = pieces->data + head;
    pieces->how = field_next(&at, '\n');
    for (; *at != '\0'; pieces->count++)
        if (!piece_read(&at, &pieces->list[pieces->count]))
            MX_RAISE(MX_ERR_FORMAT, MADE_AGAIN, "line %zu of %s is damaged", pieces->count + 2, quoted);
out:
    mx_free(path);
    if (rc < 0) mx_pieces_release(pieces);
    return rc;
}

void mx_pieces_release(struct mx_pieces *pieces)
{
    mx_free(pieces->data);
    mx_free(pieces->list);
    *pieces = (struct mx_pieces){0};
}

uint64_t mx_pieces_key(const struct mx_utterance *u)
{
    const char *const texts[] = {u->id, u->text, u->language != NULL ? u->language : "", u->speaker_name};
    const uint64_t numbers[] = {u->audio_bytes, (uint64_t)u->audio_mtime_ns, u->source};
    uint64_t key = XXH3_64bits(numbers, sizeof numbers);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        key = XXH3_64bits_withSeed(texts[i], strlen(texts[i]), key);
    return key;
}

size_t mx_pieces_row(const char *id)
{
    const char *const sign = strrchr(id, '#');
    const bool piece = sign != NULL && sign[1] != '\0' && sign[1 + strspn(sign + 1, "0123456789")] == '\0';
    return piece ? (size_t)(sign - id) : 0;
}

/* ---- a manifest with pieces ---- */

/* The pieces of a row, which follow each other in the list: [first, last). */
struct group {
    uint64_t row;
    size_t first, last;
};

static int group_compare(const void *left, const void *right)
{
    const struct group *const a = left, *const b = right;
    return (a->row > b->row) - (a->row < b->row);
}

/* Fills groups, room for one per piece, in the order of their keys; returns how many there are. */
static size_t groups_find(const struct mx_pieces *pieces, struct group *groups)
{
    size_t count = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        if (count == 0 || groups[count - 1].row != pieces->list[i].row)
            groups[count++] = (struct group){pieces->list[i].row, i, i};
        groups[count - 1].last = i + 1;
    }
    qsort(groups, count, sizeof *groups, group_compare);
    return count;
}

static int piece_add(struct mx_manifest *manifest, const struct mx_utterance *row, const char *folder,
                     const struct mx_piece *piece, size_t number, struct mx_utterance *out)
{
    struct stat status;
    char quoted[300];
    const size_t id_bytes = strlen(row->id) + 24, path_bytes = strlen(folder) + strlen(piece->file) + 2;
    char *const id = mx_arena_alloc(&manifest->arena, id_bytes, 1);
    char *const path = mx_arena_alloc(&manifest->arena, path_bytes, 1);
    *out = *row;
    out->text = mx_arena_strdup(&manifest->arena, piece->text);
    if (id == NULL || path == NULL || out->text == NULL) return MX_ERR_NO_MEMORY;
    snprintf(id, id_bytes, "%s#%zu", row->id, number);
    snprintf(path, path_bytes, "%s/%s", folder, piece->file);
    if (stat(path, &status) != 0)
        return MX_FAIL(MX_ERR_NOT_FOUND, MADE_AGAIN, "a piece of a long recording, %s, is not there: %s",
                       mx_string_quote(quoted, sizeof quoted, path), strerror(errno));
    out->id = id;
    out->audio = path;
    out->audio_bytes = (uint64_t)status.st_size;
    out->audio_mtime_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return 0;
}

static int list_apply(struct mx_manifest *manifest, const char *folder, const struct mx_pieces *pieces)
{
    int rc = 0;
    size_t count = 0;
    const size_t most = (size_t)manifest->utterance_count + pieces->count;
    struct mx_utterance *list = NULL;
    struct group *groups = NULL;
    if (most > UINT32_MAX) MX_RAISE(MX_ERR_DATA, "use fewer rows", "the manifest has too many rows");
    list = mx_alloc(most, sizeof *list);
    groups = mx_alloc(pieces->count, sizeof *groups);
    if (list == NULL || groups == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const size_t group_count = groups_find(pieces, groups);
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        const struct mx_utterance *const row = &manifest->utterances[i];
        const struct group wanted = {.row = mx_pieces_key(row)};
        const struct group *const own = bsearch(&wanted, groups, group_count, sizeof *groups, group_compare);
        if (own == NULL || pieces->list[own->first].file[0] == '\0') {
            list[count++] = *row;
            continue;
        }
        for (size_t p = own->first; p < own->last; p++)
            MX_TRY(piece_add(manifest, row, folder, &pieces->list[p], p - own->first + 1, &list[count++]));
        manifest->sources[row->source].rows += (uint32_t)(own->last - own->first) - 1;
    }
    manifest->rows = manifest->rows - manifest->utterance_count + (uint32_t)count;
    manifest->utterance_count = (uint32_t)count;
    mx_free(manifest->utterances);
    manifest->utterances = list;
    list = NULL;
out:
    mx_free(list);
    mx_free(groups);
    return rc;
}

int mx_pieces_apply(struct mx_manifest *manifest, const char *folder)
{
    int rc = 0;
    struct mx_pieces pieces = {0};
    rc = mx_pieces_read(folder, &pieces);
    if (rc == MX_ERR_NOT_FOUND) {
        mx_error_clear();
        return 0;
    }
    MX_TRY(rc);
    manifest->pieces = mx_arena_strdup(&manifest->arena, folder);
    if (manifest->pieces == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (pieces.count > 0) MX_TRY(list_apply(manifest, manifest->pieces, &pieces));
out:
    mx_pieces_release(&pieces);
    return rc;
}
