/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/corpus/manifest: lines and fields, the format of a manifest, and the
 * location of its audio.
 *
 * Memory: nothing here owns any; strings are pieces of the manifest's arena or of the caller's buffers.
 */
#ifndef MX_CORPUS_MANIFEST_INTERNAL_H
#define MX_CORPUS_MANIFEST_INTERNAL_H

#include "corpus/manifest/manifest.h"

/* ---- lines and fields (manifest_detect.c) ---- */
#define MX_MANIFEST_FIELDS 32 /* fields that are read; further ones are only counted */

struct mx_manifest_span {
    const char *at;
    size_t length;
};

/* Takes the next line from data[*at … bytes), without its line end. False at the end. */
bool mx_manifest_line_next(const char *data, size_t bytes, size_t *at, struct mx_manifest_span *line);
/* Splits a line at every separator ('|', a tab or ',') and removes blanks around the fields. Between commas a field may be
 * in '"': the span is what stands between them, with '""' as it is written. Returns the number of fields. */
size_t mx_manifest_line_split(struct mx_manifest_span line, char separator,
                              struct mx_manifest_span fields[MX_MANIFEST_FIELDS]);
bool mx_manifest_line_blank(struct mx_manifest_span line);

/* ---- the format (manifest_detect.c) ---- */
#define MX_MANIFEST_NO_COLUMN SIZE_MAX

/* Which column holds what. */
struct mx_manifest_shape {
    enum mx_manifest_format format;
    const char *columns;              /* in words; constant or in the arena */
    char separator;                   /* of the columns */
    bool header;                      /* the first line names the columns */
    size_t audio, text, raw, speaker; /* raw: taken where the text column is missing or empty; or NO_COLUMN */
    size_t language;
    size_t fields_min, fields_max;
};

/* Detects the format from the content; a format other than AUTO is taken as given. MX_ERR_DATA if the text is not a
 * manifest. `name` is for messages. `wav_folder`: the audio is in wav/, not in wavs/. */
int mx_manifest_detect(const char *name, struct mx_manifest_span text, enum mx_manifest_format format, bool wav_folder,
                       struct mx_arena *arena, struct mx_manifest_shape *out);
/* Whether the first `bytes` of a file look like a manifest at all, for files whose name says nothing. */
bool mx_manifest_plausible(const char *data, size_t bytes);

/* Length of `path` without one of the known audio extensions (in any case); `length` if it has none. */
size_t mx_manifest_stem(const char *path, size_t length);

/* ---- rows (manifest_rows.c) ---- */
struct mx_manifest_seen {
    struct mx_manifest_seen_entry *entries;
    size_t capacity, count;
};

/* State shared while all sources of a manifest are read; {0} at the start. */
struct mx_manifest_state {
    bool sounds;             /* texts are not needed */
    bool quiet;              /* nothing is logged */
    bool undecided;          /* decisions are neither read nor applied */
    const atomic_bool *stop; /* NULL: never */
    struct mx_manifest_seen ids, recordings;
    size_t utterance_capacity, problem_capacity;
    bool *decided[MX_MANIFEST_SOURCES]; /* which decisions found their row; NULL: none, or those of an earlier source */
};
void mx_manifest_state_release(struct mx_manifest_state *state);
/* MX_ERR_INTERRUPTED if the reading is to end; `path` is what is being read. Asked for every line and every file. */
int mx_manifest_stopped(const struct mx_manifest_state *state, const char *path);

/* Reads the rows of one source into the manifest; sets everything but the index of the speaker. `text` stays in use, is
 * modified (fields become strings) and must have one spare byte at its end. */
int mx_manifest_rows(struct mx_manifest *manifest, struct mx_manifest_state *state, uint32_t source,
                     const struct mx_manifest_shape *shape, struct mx_manifest_span text, bool validation);
/* Appends a row, or something that must be reported about one; the message is copied. */
int mx_manifest_utterance_add(struct mx_manifest *manifest, struct mx_manifest_state *state,
                              const struct mx_utterance *utterance);
int mx_manifest_problem_add(struct mx_manifest *manifest, struct mx_manifest_state *state,
                            const struct mx_manifest_problem *problem);
/* Whether there is a folder `folder`/`name`. */
bool mx_manifest_has_folder(const char *folder, const char *name);

#define MX_MANIFEST_ROWS_MAX 10000000u /* of one source */

/* ---- decisions (manifest_decisions.c) ---- */

/* Opens the decisions about the rows of a source: `path`, or if NULL decisions.tsv in its root, if there is one. */
int mx_manifest_decisions_open(struct mx_manifest *manifest, struct mx_manifest_state *state, uint32_t source,
                               const char *path);
/* The decision about a row; sets *text if it is to be another one. */
enum mx_decision_kind mx_manifest_decide(struct mx_manifest *manifest, struct mx_manifest_state *state, uint32_t source,
                                         const char *id, const char **text);
/* Applies the decisions about pieces of long rows (pieces.h), which have ids of their own. */
int mx_manifest_decide_pieces(struct mx_manifest *manifest, struct mx_manifest_state *state);
/* Appends a row that is dropped: its source, line and id. */
int mx_manifest_drop(struct mx_manifest *manifest, struct mx_manifest_state *state, const struct mx_utterance *row);
/* Counts and logs what was decided, when all sources are read. */
int mx_manifest_decisions_log(struct mx_manifest *manifest, const struct mx_manifest_state *state);
void mx_manifest_decisions_close(struct mx_manifest *manifest);

/* ---- sounds (manifest_sounds.c) ---- */

/* Adds all sound files below the root of a source; sets everything but the index of the speaker. MX_ERR_NOT_FOUND if
 * there is none. */
int mx_manifest_sounds(struct mx_manifest *manifest, struct mx_manifest_state *state, uint32_t source, bool validation);

#endif
