/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Manifest and decisions of a transcribed folder; see corpus.h.
 */
#include "transcribe/corpus.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "corpus/manifest/decisions.h"
#include "myxtts/error.h"

#define NOTE "transcribe: " /* our decisions; those of people have other notes */

static bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

int mx_transcribe_corpus_open(const char *folder, bool speaker_folders, struct mx_transcribe_corpus *out)
{
    char *const table = mx_format("%s/" MX_TRANSCRIPTS_NAME, folder);
    char quoted[300];
    int rc = 0;
    *out = (struct mx_transcribe_corpus){.speaker_folders = speaker_folders,
                                         .manifest = mx_format("%s/metadata.csv", folder),
                                         .decisions = mx_format("%s/" MX_DECISIONS_NAME, folder),
                                         .trial = mx_format("%s/.transcribe.csv", folder)};
    if (table == NULL || out->manifest == NULL || out->decisions == NULL || out->trial == NULL)
        MX_TRY(MX_ERR_NO_MEMORY);
    if (exists(out->manifest) && !exists(table))
        MX_RAISE(MX_ERR_DATA, "its recordings have texts; move it away to have them recognised",
                 "there is a manifest already, %s", mx_string_quote(quoted, sizeof quoted, out->manifest));
out:
    mx_free(table);
    if (rc < 0) mx_transcribe_corpus_close(out);
    return rc;
}

void mx_transcribe_corpus_close(struct mx_transcribe_corpus *corpus)
{
    if (corpus->rows != NULL) unlink(corpus->trial);
    mx_free(corpus->manifest);
    mx_free(corpus->decisions);
    mx_free(corpus->trial);
    mx_free(corpus->rows);
    mx_string_release(&corpus->metadata);
    *corpus = (struct mx_transcribe_corpus){0};
}

/* A field of the manifest, whose columns are separated by '|'. */
static void field_append(struct mx_transcribe_corpus *c, const char *text, size_t length, char end)
{
    for (size_t i = 0; i < length; i++) {
        c->pipes += text[i] == '|';
        mx_string_append(&c->metadata, "%c", text[i] == '|' ? ' ' : text[i]);
    }
    mx_string_append(&c->metadata, "%c", end);
}

static int row_append(struct mx_transcribe_corpus *c, const struct mx_transcript *item)
{
    const char *const file = item->file->id, *const slash = strchr(file, '/');
    char quoted[300];
    if (strpbrk(file, "|\r\n") != NULL)
        return MX_FAIL(MX_ERR_DATA, "rename it", "the file %s has a sign in its name that a manifest cannot have",
                       mx_string_quote(quoted, sizeof quoted, file));
    field_append(c, file, strlen(file), '|');
    field_append(c, item->text, strlen(item->text), c->speaker_folders ? '|' : '\n');
    if (!c->speaker_folders) return 0;
    if (slash == NULL)
        return MX_FAIL(
            MX_ERR_DATA, "move it into a folder with the name of its speaker, or leave out '--speaker-folders'",
            "the file %s is in no folder that names its speaker", mx_string_quote(quoted, sizeof quoted, file));
    field_append(c, file, (size_t)(slash - file), '\n');
    return 0;
}

int mx_transcribe_corpus_try(struct mx_transcribe_corpus *corpus, struct mx_transcripts *table)
{
    const uint32_t count = mx_transcripts_count(table);
    int rc = 0;
    corpus->table = table;
    corpus->rows = mx_alloc(count, sizeof *corpus->rows);
    if (corpus->rows == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_string_append(&corpus->metadata, "audio_file|text%s\n", corpus->speaker_folders ? "|speaker_name" : "");
    for (uint32_t i = 0; i < count; i++) {
        if (mx_transcripts_at(table, i)->state != MX_TRANSCRIPT_GOOD) continue;
        MX_TRY(row_append(corpus, mx_transcripts_at(table, i)));
        corpus->rows[corpus->row_count++] = i;
    }
    MX_TRY(corpus->metadata.failure);
    MX_TRY(mx_file_write_atomic(corpus->trial, corpus->metadata.data, corpus->metadata.length));
out:
    return rc;
}

struct mx_transcript *mx_transcribe_corpus_row(const struct mx_transcribe_corpus *corpus,
                                               const struct mx_utterance *row)
{
    return mx_transcripts_at(corpus->table, corpus->rows[row->line - 2]); /* line 1 is the header */
}

/* ---- decisions ---- */

/* The id that the manifest gives a file: its path without the extension. */
static size_t id_length(const char *file)
{
    const char *const dot = strrchr(file, '.'), *const slash = strrchr(file, '/');
    return dot != NULL && (slash == NULL || dot > slash) ? (size_t)(dot - file) : strlen(file);
}

static bool is_ours(const struct mx_decision *decision)
{
    return strncmp(decision->note, NOTE, strlen(NOTE)) == 0;
}

static int decisions_write(struct mx_transcribe_corpus *c)
{
    struct mx_decisions *before = NULL;
    struct mx_string text = {0};
    uint32_t lines = 0;
    int rc = mx_decisions_open(c->decisions, &before);
    if (rc == MX_ERR_NOT_FOUND) {
        mx_error_clear();
        rc = 0;
    }
    MX_TRY(rc);
    mx_string_append(&text, "id\tdecision\ttext\tnote\n");
    for (uint32_t i = 0; i < mx_decisions_count(before); i++) {
        const struct mx_decision *const d = mx_decisions_at(before, i);
        if (is_ours(d)) continue;
        mx_string_append(&text, "%s\t%s\t%s\t%s\n", d->id, mx_decision_name(d->kind), d->text, d->note);
        lines++;
    }
    for (uint32_t i = 0; i < c->row_count; i++) {
        const struct mx_transcript *const item = mx_transcripts_at(c->table, c->rows[i]);
        const size_t length = id_length(item->file->id);
        const struct mx_decision *const decided = mx_decisions_find(before, item->file->id, length);
        const bool people = decided != NULL && !is_ours(decided);
        c->people += people;
        if (item->suspect == NULL || people) continue;
        mx_string_append(&text, "%.*s\tdrop\t\t" NOTE, (int)length, item->file->id);
        mx_string_append_field(&text, item->suspect, '\n');
        lines++;
    }
    MX_TRY(text.failure);
    if (lines > 0 || before != NULL) MX_TRY(mx_file_write_atomic(c->decisions, text.data, text.length));
out:
    mx_decisions_close(before);
    mx_string_release(&text);
    return rc;
}

int mx_transcribe_corpus_finish(struct mx_transcribe_corpus *corpus)
{
    int rc = 0;
    MX_TRY(decisions_write(corpus));
    MX_TRY(mx_file_write_atomic(corpus->manifest, corpus->metadata.data, corpus->metadata.length));
out:
    return rc;
}
