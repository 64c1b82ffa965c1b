/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The folder of a cut corpus, see folder.h.
 */
#include "cut/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "corpus/pieces.h"
#include "myxtts/error.h"
#include "speech/wav.h"

#define STEM_BYTES 80 /* of the name of a file in an id */

/* MX_ERR_DATA if there is anything in it. */
static int empty_check(const char *path)
{
    DIR *const dir = opendir(path);
    const struct dirent *entry;
    int rc = 0;
    if (dir == NULL) return MX_FAIL(MX_ERR_IO, "name a folder", "cannot open %s: %s", path, strerror(errno));
    while (rc == 0 && (rc = mx_file_list_next(dir, path, &entry)) == 0 && entry != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = MX_FAIL(MX_ERR_DATA, "name a new folder with '--output'", "the folder %s is not empty", path);
    closedir(dir);
    return rc;
}

int mx_cut_folder_open(struct mx_cut_folder *f, const char *path)
{
    char *wavs = NULL;
    int rc = 0;
    *f = (struct mx_cut_folder){0};
    f->path = mx_strdup(path);
    wavs = mx_format("%s/wavs", path);
    if (f->path == NULL || wavs == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    f->made = mkdir(path, 0777) == 0;
    if (!f->made && errno != EEXIST)
        MX_RAISE(MX_ERR_IO, "make the folder above it first", "cannot make the folder %s: %s", path, strerror(errno));
    if (!f->made) MX_TRY(empty_check(path));
    if (mkdir(wavs, 0777) != 0)
        MX_RAISE(MX_ERR_IO, "check its permissions", "cannot make the folder %s: %s", wavs, strerror(errno));
out:
    mx_free(wavs);
    if (rc < 0) {
        mx_free(f->path);
        if (f->made) rmdir(path);
        *f = (struct mx_cut_folder){0};
    }
    return rc;
}

/* The text in one line, without signs that separate columns. */
static void text_append(struct mx_cut_folder *f, struct mx_string *to, const char *text, size_t length, char column)
{
    bool blank = false, any = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == column && column == '|') f->pipes++;
        if (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r') || text[i] == column) {
            blank = any;
            continue;
        }
        if (blank) mx_string_append(to, " ");
        mx_string_append(to, "%c", text[i]);
        blank = false;
        any = true;
    }
}

/* The last part of a path without its ending, as the beginning of an id. A manifest is UTF-8, whatever names of files
 * are: other bytes are replaced, and no character is cut in two. */
static void stem_append(struct mx_string *to, const char *path)
{
    const char *const slash = strrchr(path, '/'), *const name = slash != NULL ? slash + 1 : path;
    const char *const dot = strrchr(name, '.');
    const size_t length = dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name);
    for (size_t i = 0, bytes; i < length; i += bytes) {
        const char c = name[i];
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
        const size_t whole = plain ? 1 : (unsigned char)c >= 0x80 ? mx_string_printable(name + i, length - i) : 0;
        bytes = whole > 0 ? whole : 1;
        if (i + bytes > STEM_BYTES) break;
        mx_string_append(to, "%.*s", (int)bytes, whole > 0 ? name + i : "_");
    }
}

/* The line of a row in the manifest; see corpus/manifest/manifest.h for the forms. */
static void metadata_append(struct mx_cut_folder *f, const struct mx_cut_folder_row *row, const char *id)
{
    struct mx_string *const to = &f->metadata;
    const char *const speaker = row->speaker != NULL ? row->speaker : "";
    f->languages = row->language != NULL;
    if (f->languages)
        mx_string_append(to, "wavs/%s.wav|", id);
    else
        mx_string_append(to, "%s|", id);
    if (!f->languages && row->speaker != NULL) {
        text_append(f, to, speaker, strlen(speaker), '|');
        mx_string_append(to, "|");
    }
    text_append(f, to, row->text, row->text_length, '|');
    if (f->languages) {
        mx_string_append(to, "|");
        text_append(f, to, speaker, strlen(speaker), '|');
        mx_string_append(to, "|%s", row->language);
    }
    mx_string_append(to, "\n");
}

/* The line of a piece; its file gets the time of the recording it was cut from, so a folder that is cut again is the
 * same. */
static int piece_append(struct mx_cut_folder *f, const struct mx_cut_folder_row *row, const char *id, const char *path)
{
    const struct timespec time = {.tv_sec = (time_t)(f->time_ns / 1000000000),
                                  .tv_nsec = (long)(f->time_ns % 1000000000)};
    const struct timespec times[] = {time, time};
    if (utimensat(AT_FDCWD, path, times, 0) != 0)
        return MX_FAIL(MX_ERR_IO, "check its permissions", "cannot set the time of %s: %s", path, strerror(errno));
    mx_string_append(&f->pieces, "%016" PRIx64 "\twavs/%s.wav\t", f->origin, id);
    text_append(f, &f->pieces, row->text, row->text_length, '\t');
    return mx_string_append(&f->pieces, "\n");
}

int mx_cut_folder_row(struct mx_cut_folder *f, const struct mx_cut_folder_row *row)
{
    char *path = NULL;
    float *samples = NULL;
    struct mx_string id = {0};
    int rc = 0;
    stem_append(&id, row->file);
    MX_TRY(mx_string_append(&id, "-%05zu", f->rows + 1));
    path = mx_format("%s/wavs/%s.wav", f->path, id.data);
    samples = mx_alloc(row->count, sizeof *samples);
    if (path == NULL || samples == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < row->count; i++) samples[i] = (float)row->samples[i] * (1.0f / 32768.0f);
    MX_TRY(mx_wav_write(path, samples, row->count, row->rate, MX_WAV_PCM16));
    const double seconds = (double)row->count / row->rate;
    if (f->rows == 0 || seconds < f->shortest) f->shortest = seconds;
    if (f->rows == 0 || seconds > f->longest) f->longest = seconds;
    f->rows++;
    mx_string_append(&f->names, "%s\n", id.data);
    metadata_append(f, row, id.data);
    if (f->how != NULL) MX_TRY(piece_append(f, row, id.data, path));
    mx_string_append(&f->cut, "%s\t", id.data);
    text_append(f, &f->cut, row->file, strlen(row->file), '\t');
    mx_string_append(&f->cut, "\t%.3f\t%.3f\t", row->begin, row->end);
    if (!row->whole) mx_string_append(&f->cut, "%.2f", row->score);
    mx_string_append(&f->cut, "\n");
    MX_TRY(f->metadata.failure);
    MX_TRY(f->cut.failure);
    MX_TRY(f->names.failure);
out:
    mx_string_release(&id);
    mx_free(path);
    mx_free(samples);
    return rc;
}

int mx_cut_folder_left(struct mx_cut_folder *f, const char *file, double begin, double end, const char *reason,
                       const char *text, size_t text_length)
{
    f->left++;
    text_append(f, &f->left_out, file, strlen(file), '\t');
    mx_string_append(&f->left_out, "\t%.3f\t%.3f\t", begin, end);
    text_append(f, &f->left_out, reason, strlen(reason), '\t');
    mx_string_append(&f->left_out, "\t");
    text_append(f, &f->left_out, text, text_length, '\t');
    mx_string_append(&f->left_out, "\n");
    return f->left_out.failure;
}

int mx_cut_folder_refuse(struct mx_cut_folder *f, const char *file, const char *reason, const char *text)
{
    mx_string_append(&f->pieces, "%016" PRIx64 "\t\t", f->origin);
    text_append(f, &f->pieces, reason, strlen(reason), '\t');
    mx_string_append(&f->pieces, "\n");
    const int rc = mx_cut_folder_left(f, file, 0, 0, reason, text, strlen(text));
    return rc < 0 ? rc : f->pieces.failure;
}

static int list_write(const struct mx_cut_folder *f, const char *name, const char *head, const struct mx_string *lines)
{
    char *const path = mx_format("%s/%s", f->path, name);
    const struct mx_file_part parts[] = {{head, strlen(head)}, {lines->data, lines->length}};
    if (path == NULL) return MX_ERR_NO_MEMORY;
    const int rc = mx_file_write_parts(path, parts, lines->length > 0 ? 2 : 1);
    mx_free(path);
    return rc;
}

int mx_cut_folder_finish(struct mx_cut_folder *f)
{
    int rc = 0;
    char *const head = f->how != NULL ? mx_format(MX_PIECES_HEAD "%s\n", f->how) : NULL;
    MX_TRY(list_write(f, "left_out.tsv", "file\tbegin\tend\treason\ttext\n", &f->left_out));
    MX_TRY(list_write(f, "cut.tsv", "row\tfile\tbegin\tend\tscore\n", &f->cut));
    MX_TRY(list_write(f, "metadata.csv", f->languages ? "audio_file|text|speaker_name|language\n" : "", &f->metadata));
    if (f->how != NULL) MX_TRY(head == NULL ? MX_ERR_NO_MEMORY : list_write(f, MX_PIECES_LIST, head, &f->pieces));
    f->finished = true;
out:
    mx_free(head);
    return rc;
}

/* Removes what an unfinished folder has. */
static void all_remove(struct mx_cut_folder *f)
{
    static const char *const lists[] = {"left_out.tsv", "cut.tsv", "metadata.csv", MX_PIECES_LIST, "wavs"};
    for (char *name = f->names.data, *end; name != NULL && (end = strchr(name, '\n')) != NULL; name = end + 1) {
        *end = '\0';
        char *const path = mx_format("%s/wavs/%s.wav", f->path, name);
        if (path != NULL) unlink(path);
        mx_free(path);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char *const path = mx_format("%s/%s", f->path, lists[i]);
        if (path != NULL) remove(path);
        mx_free(path);
    }
    if (f->made) rmdir(f->path);
}

void mx_cut_folder_close(struct mx_cut_folder *f)
{
    if (f->path != NULL && !f->finished) all_remove(f);
    mx_string_release(&f->metadata);
    mx_string_release(&f->cut);
    mx_string_release(&f->left_out);
    mx_string_release(&f->names);
    mx_string_release(&f->pieces);
    mx_free(f->path);
    *f = (struct mx_cut_folder){0};
}
