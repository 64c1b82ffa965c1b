/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Manifests: the list of recordings and texts of a corpus folder, in the usual formats.
 *
 *     ljspeech  id|text or id|raw|normalised (the normalised column is used), audio in wavs/ or wav/
 *     piper     id|speaker|text, audio in wav/ or wavs/
 *     coqui     a header line names the columns: audio_file|text[|speaker_name][|language][|…]; other columns are
 *               ignored. language: a code or name of text/language.h; empty: detected from the text
 *     tsv       tabs between columns, which a header line names: path, audio_file, file, audio or id; text, sentence or
 *               transcript; optionally speaker or client_id, language or locale; other columns are ignored
 *     csv       the same with commas; a field in '"' may have commas, and '""' in it is one '"'
 *     filelist  path|text[|speaker], path|speaker|text or path|raw|normalised; paths are absolute or relative to the
 *               list or to the folder above it
 *
 * One row a line, UTF-8. Except in csv there is no quoting: '"' is an ordinary character, '|' always separates. A byte
 * order mark, CRLF and blank lines are tolerated. The format is detected from the content (header, columns and their values) and is logged.
 * In a folder these files are looked for: metadata_train.csv with metadata_eval.csv (the validation rows),
 * metadata.csv, metadata_train.csv alone, train.txt with val.txt, and finally the only other *.csv, *.tsv or
 * *.txt that looks like a manifest.
 *
 * Audio is found by id or path with its own extension, or else with one of wav flac ogg opus mp3; the folder and
 * extension of the last file found are tried first.
 *
 * With `sounds` a corpus needs no texts: of a folder all sound files are taken, those of its subfolders, too, whether it
 * has a manifest or not; of a manifest file only the recordings. Names that begin with '.' are skipped. The id of a file
 * is its path below the folder.
 *
 * Decisions of people about rows (decisions.h) are applied here, from `decisions` or else from decisions.tsv beside each
 * manifest: a dropped row becomes a problem with MX_REJECT_DROPPED, whatever else is wrong with it; a fixed one has the
 * new text. In a folder of sounds, a file is meant by its path or by the id that it would have in a manifest.
 *
 * A bad row never stops the reading: it is recorded as a problem with its line and its reason.
 *
 * Memory: everything belongs to the manifest; mx_manifest_close releases it. It does not change after opening, so any
 * thread may use it.
 */
#ifndef MX_CORPUS_MANIFEST_H
#define MX_CORPUS_MANIFEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "corpus/manifest/decisions.h"
#include "corpus/reject.h"

#define MX_MANIFEST_LIMIT_BYTES ((size_t)256 << 20) /* of one manifest file */
#define MX_MANIFEST_SOURCES     2                   /* the rows of training and those of validation */

/* X(identifier, name): MX_MANIFEST_<identifier>. AUTO is an option only, an open manifest has one of the others. */
#define MX_MANIFEST_FORMAT_LIST(X)                                                                                     \
    X(AUTO, "auto")                                                                                                    \
    X(LJSPEECH, "ljspeech")                                                                                            \
    X(PIPER, "piper")                                                                                                  \
    X(COQUI, "coqui")                                                                                                  \
    X(FILELIST, "filelist")                                                                                            \
    X(TSV, "tsv")                                                                                                      \
    X(CSV, "csv")

enum mx_manifest_format {
#define X(identifier, name) MX_MANIFEST_##identifier,
    MX_MANIFEST_FORMAT_LIST(X)
#undef X
        MX_MANIFEST_FORMAT_COUNT
};

struct mx_manifest_options {
    enum mx_manifest_format format; /* AUTO: by content */
    uint64_t seed;                  /* of the split */
    double validation_fraction;     /* 0 … 0.5 of the rows; used when no file names the validation rows */
    const char *validation;         /* NULL, or the folder or file that holds the validation rows (--val-data) */
    bool sounds;                    /* texts are neither needed nor read */
    bool quiet;                     /* nothing is logged: it will be opened again */
    bool undecided;                 /* decisions are neither read nor applied */
    const char *decisions;          /* file of decisions about all rows; NULL: decisions.tsv beside each manifest */
    const char *pieces;             /* NULL, or the folder of the pieces of its long rows (pieces.h) */
    const atomic_bool *stop;        /* NULL, or set to true to end the reading with MX_ERR_INTERRUPTED */
};

#define MX_MANIFEST_OPTIONS_DEFAULT ((struct mx_manifest_options){.validation_fraction = 0.05})

/* One usable row: its line was read and its audio file exists (nothing more is known about the audio here). */
struct mx_utterance {
    const char *id;       /* unique within a source; for filelist and coqui the path without its extension */
    const char *audio;    /* path that can be opened */
    const char *text;     /* as written or fixed, not normalised; not blank, valid UTF-8. "" with `sounds` */
    const char *language; /* as written in its column; NULL or "": there is none */
    const char *speaker_name;
    uint32_t speaker;      /* index in speakers[] */
    uint32_t source, line; /* index in sources[], line from 1; of sounds: their number in byte order of the paths */
    bool validation;       /* belongs to the validation rows */
    enum mx_decision_kind decision; /* NONE, KEEP or FIX */
    uint64_t audio_bytes;           /* size of the file */
    int64_t audio_mtime_ns;         /* time of its last change, when the manifest was opened */
};

/* Something about a line that must be reported. */
struct mx_manifest_problem {
    uint32_t source, line;
    enum mx_reject reject; /* NONE: only a note; the row is still used */
    const char *id;        /* "" where the line has none */
    const char *message;   /* one line */
};

struct mx_manifest_source {
    const char *path;               /* the file, or the folder of sounds */
    const char *root;               /* its folder: audio is looked for below it */
    enum mx_manifest_format format; /* never AUTO */
    const char *columns;            /* "id|raw|normalised" */
    uint64_t bytes;
    int64_t mtime_ns;
    uint32_t rows; /* lines that are neither blank nor a header: used ones and rejected ones */
};

struct mx_manifest {
    struct mx_manifest_source sources[MX_MANIFEST_SOURCES];
    uint32_t source_count;
    struct mx_utterance *utterances; /* in the order of the lines; sources one after the other */
    uint32_t utterance_count;
    const char **speakers; /* names in byte order, so that the indices do not depend on the order of rows */
    uint32_t speaker_count;
    struct mx_manifest_problem *problems; /* in the order of the lines */
    uint32_t problem_count;
    uint32_t rejected; /* problems with a reason other than NONE */
    uint32_t rows;     /* utterance_count + rejected */
    uint32_t dropped;  /* those of the rejected that people decided to drop */
    uint32_t fixed, kept;
    struct mx_decisions
        *decisions[MX_MANIFEST_SOURCES]; /* about the rows of each source; may be the same; NULL: none */
    const char *pieces;                  /* the folder of the pieces among the utterances; NULL: there are none */
    struct mx_arena arena;
};

/* Name of the speaker if the manifest has no column for it. */
#define MX_MANIFEST_SPEAKER "default"

/* Opens a folder or a manifest file; options NULL: the defaults. MX_ERR_NOT_FOUND if there is no manifest, MX_ERR_DATA
 * if the file is not a manifest. If all rows are broken, it opens with no utterances: the caller decides. */
int mx_manifest_open(const char *path, const struct mx_manifest_options *options, struct mx_manifest **out);
/* The same from memory, as if it were the file `root`/`name`; the bytes are copied. For tests and fuzzing. */
int mx_manifest_parse(const char *root, const char *name, const char *data, size_t bytes,
                      const struct mx_manifest_options *options, struct mx_manifest **out);
void mx_manifest_close(struct mx_manifest *manifest); /* NULL is fine */

const char *mx_manifest_format_name(enum mx_manifest_format format);
int mx_manifest_format_parse(const char *text, enum mx_manifest_format *out); /* MX_ERR_CONFIG with the list */

/* The seeded split: out[i] says whether id i is for validation. A pure function of the seed, the fraction and the set
 * of ids (their order does not matter): each id gets a number from (seed, id), and the smallest are chosen, round(count
 * × fraction) but at least 1 of two or more. A fraction of 0 chooses none. mx_manifest_open applies it to all its
 * utterances; code that drops rows afterwards calls it again for the remaining ones. */
int mx_manifest_split(uint64_t seed, double fraction, const char *const *ids, uint32_t count, bool *out);

#endif
