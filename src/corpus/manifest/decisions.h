/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decisions of people about rows of a corpus. They lie beside the manifest in decisions.tsv, or in a file that is named,
 * and are applied when the manifest is opened (manifest.h): so `check`, `prepare`, `train` and packed files agree.
 *
 * decisions.tsv: UTF-8, a header line, then one line for each decision, fields separated by a tab:
 *
 *     id  decision  text  note
 *
 * id is that of the manifest. decision is keep, drop or fix. text is what is said in the recording: needed for fix, empty
 * otherwise. note is for people. Both may be missing at the end of a line. A byte order mark, CRLF and blank lines are
 * tolerated. Any other line, and a second decision about an id, is an error with its line number: a file that is read
 * half would train on rows that somebody dropped.
 *
 *     keep   the row is good: the doctor no longer names it
 *     drop   the row is not used (MX_REJECT_DROPPED), which is no fault of the corpus
 *     fix    the row has this text instead of that of the manifest
 *
 * Memory: the list owns all of its strings; mx_decisions_close frees it. It does not change after opening.
 */
#ifndef MX_CORPUS_DECISIONS_H
#define MX_CORPUS_DECISIONS_H

#include <stddef.h>
#include <stdint.h>

#define MX_DECISIONS_NAME        "decisions.tsv"
#define MX_DECISIONS_LIMIT_BYTES ((size_t)256 << 20)

/* X(identifier, name in the file): MX_DECISION_<identifier>. */
#define MX_DECISION_LIST(X)                                                                                            \
    X(NONE, "")                                                                                                        \
    X(KEEP, "keep")                                                                                                    \
    X(DROP, "drop")                                                                                                    \
    X(FIX, "fix")

enum mx_decision_kind {
#define X(identifier, name) MX_DECISION_##identifier,
    MX_DECISION_LIST(X)
#undef X
        MX_DECISION_COUNT
};

struct mx_decision {
    const char *id;
    enum mx_decision_kind kind;
    const char *text; /* of FIX; "" for others */
    const char *note; /* "": none */
    uint32_t line;
};

struct mx_decisions;

/* MX_ERR_NOT_FOUND if there is no file, MX_ERR_DATA for a bad one, with the line. */
int mx_decisions_open(const char *path, struct mx_decisions **out);
/* The same from memory; `name` is for messages, the bytes are copied. */
int mx_decisions_parse(const char *name, const char *data, size_t bytes, struct mx_decisions **out);
void mx_decisions_close(struct mx_decisions *decisions); /* NULL is fine */

const char *mx_decisions_path(const struct mx_decisions *decisions);
/* In the order of the lines. NULL has none. */
uint32_t mx_decisions_count(const struct mx_decisions *decisions);
const struct mx_decision *mx_decisions_at(const struct mx_decisions *decisions, uint32_t index);
/* The decision about an id of `length` bytes; NULL: there is none. */
const struct mx_decision *mx_decisions_find(const struct mx_decisions *decisions, const char *id, size_t length);

const char *mx_decision_name(enum mx_decision_kind kind);

#endif
