/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decisions of people (decisions.h) about the rows of a manifest: which file applies to a source, the decision about a
 * row while it is read, and the messages about all of them at the end.
 *
 * Memory: the manifest owns the decisions; which of them were used is known only while the manifest is being read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/string.h"
#include "corpus/manifest/manifest_internal.h"
#include "corpus/pieces.h"
#include "myxtts/error.h"

#define SHOWN        3 /* unknown ids that are named */
#define QUOTED_BYTES 300

int mx_manifest_decisions_open(struct mx_manifest *manifest, struct mx_manifest_state *state, uint32_t source,
                               const char *path)
{
    int rc = 0;
    char *beside = NULL;
    struct mx_decisions **const decisions = &manifest->decisions[source];
    if (state->undecided) return 0;
    if (path != NULL && source > 0) { /* one file for all sources */
        *decisions = manifest->decisions[0];
        return 0;
    }
    if (path == NULL) {
        beside = mx_format("%s/" MX_DECISIONS_NAME, manifest->sources[source].root);
        if (beside == NULL) return MX_ERR_NO_MEMORY;
        for (uint32_t i = 0; i < source; i++)
            if (strcmp(manifest->sources[i].root, manifest->sources[source].root) == 0) {
                *decisions = manifest->decisions[i];
                goto out;
            }
    }
    rc = mx_decisions_open(path != NULL ? path : beside, decisions);
    if (rc == MX_ERR_NOT_FOUND && path == NULL) {
        mx_error_clear();
        rc = 0;
        goto out;
    }
    MX_TRY(rc);
    state->decided[source] = mx_alloc(mx_decisions_count(*decisions), sizeof(bool));
    if (state->decided[source] == NULL) MX_TRY(MX_ERR_NO_MEMORY);
out:
    mx_free(beside);
    return rc;
}

/* A file in a folder of sounds is named by its path. A corpus with texts has other ids for the same files: the path
 * without its extension, or also without wavs/ (see mx_manifest_open's formats). */
static const struct mx_decision *sound_find(const struct mx_decisions *decisions, const char *path)
{
    static const char *const folders[] = {"wavs/", "wav/"};
    const size_t length = strlen(path), stem = mx_manifest_stem(path, length);
    const struct mx_decision *found = mx_decisions_find(decisions, path, length);
    if (found == NULL) found = mx_decisions_find(decisions, path, stem);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && found == NULL; i++) {
        const size_t skip = strlen(folders[i]);
        if (strncmp(path, folders[i], skip) == 0) found = mx_decisions_find(decisions, path + skip, stem - skip);
    }
    return found;
}

enum mx_decision_kind mx_manifest_decide(struct mx_manifest *manifest, struct mx_manifest_state *state, uint32_t source,
                                         const char *id, const char **text)
{
    const struct mx_decisions *const decisions = manifest->decisions[source];
    const bool folder = manifest->sources[source].path == manifest->sources[source].root;
    const struct mx_decision *const found =
        folder ? sound_find(decisions, id) : mx_decisions_find(decisions, id, strlen(id));
    if (found == NULL) return MX_DECISION_NONE;
    for (uint32_t i = 0; i <= source; i++)
        if (manifest->decisions[i] == decisions && state->decided[i] != NULL)
            state->decided[i][found - mx_decisions_at(decisions, 0)] = true;
    if (found->kind == MX_DECISION_FIX && !state->sounds) *text = found->text;
    return found->kind;
}

int mx_manifest_drop(struct mx_manifest *manifest, struct mx_manifest_state *state, const struct mx_utterance *row)
{
    char message[QUOTED_BYTES + 32], quoted[QUOTED_BYTES];
    const struct mx_manifest_problem dropped = {row->source, row->line, MX_REJECT_DROPPED, row->id, message};
    snprintf(message, sizeof message, "as decided in %s",
             mx_string_quote(quoted, sizeof quoted, mx_decisions_path(manifest->decisions[row->source])));
    manifest->dropped++;
    return mx_manifest_problem_add(manifest, state, &dropped);
}

static bool is_piece(const struct mx_manifest *manifest, const struct mx_utterance *row)
{
    const size_t length = strlen(manifest->pieces);
    return strncmp(row->audio, manifest->pieces, length) == 0 && row->audio[length] == '/';
}

int mx_manifest_decide_pieces(struct mx_manifest *manifest, struct mx_manifest_state *state)
{
    int rc = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        struct mx_utterance row = manifest->utterances[i];
        const enum mx_decision_kind own = is_piece(manifest, &row)
                                              ? mx_manifest_decide(manifest, state, row.source, row.id, &row.text)
                                              : MX_DECISION_NONE;
        if (own == MX_DECISION_DROP) {
            MX_TRY(mx_manifest_drop(manifest, state, &row));
            continue;
        }
        if (own != MX_DECISION_NONE) row.decision = own;
        manifest->utterances[count++] = row;
    }
    manifest->utterance_count = count;
out:
    return rc;
}

/* Is this the id of a piece of a row that is dropped or, here, not cut? */
static bool piece_known(const struct mx_manifest *manifest, const struct mx_decisions *decisions, const bool *decided,
                        const char *id)
{
    const size_t length = mx_pieces_row(id);
    const struct mx_decision *const whole = length > 0 ? mx_decisions_find(decisions, id, length) : NULL;
    if (length == 0) return false;
    if (whole != NULL && whole->kind == MX_DECISION_DROP) return decided[whole - mx_decisions_at(decisions, 0)];
    if (manifest->pieces != NULL) return false;
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        const char *const other = manifest->utterances[i].id;
        if (strncmp(other, id, length) == 0 && other[length] == '\0') return true;
    }
    return false;
}

/* Decisions about rows that are not there: with another manifest, or after a typing mistake. */
static int unknown_log(const struct mx_manifest *manifest, const struct mx_decisions *decisions, const bool *decided)
{
    char quoted[QUOTED_BYTES];
    struct mx_string names = {0};
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < mx_decisions_count(decisions); i++) {
        if (decided[i] || piece_known(manifest, decisions, decided, mx_decisions_at(decisions, i)->id)) continue;
        if (unknown++ >= SHOWN) continue;
        mx_string_append(&names, "%s%s", unknown > 1 ? ", " : "",
                         mx_string_quote(quoted, sizeof quoted, mx_decisions_at(decisions, i)->id));
    }
    const int rc = names.failure;
    if (rc == 0 && unknown > 0)
        mx_warn("decisions %s: %" PRIu32 " of %" PRIu32 " are about rows that the corpus does not have: %s%s",
                mx_decisions_path(decisions), unknown, mx_decisions_count(decisions), names.data,
                unknown > SHOWN ? ", …" : "");
    mx_string_release(&names);
    return rc;
}

int mx_manifest_decisions_log(struct mx_manifest *manifest, const struct mx_manifest_state *state)
{
    int rc = 0;
    bool any = false;
    for (uint32_t i = 0; i < manifest->source_count; i++) {
        any = any || manifest->decisions[i] != NULL;
        if (state->decided[i] != NULL && !state->quiet)
            MX_TRY(unknown_log(manifest, manifest->decisions[i], state->decided[i]));
    }
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        const struct mx_utterance *const row = &manifest->utterances[i];
        if (i > 0 && row->line == row[-1].line && row->source == row[-1].source && row->decision == row[-1].decision)
            continue; /* another piece of the same row */
        manifest->fixed += row->decision == MX_DECISION_FIX;
        manifest->kept += row->decision == MX_DECISION_KEEP;
    }
    if (any && !state->quiet)
        mx_info("decisions: %" PRIu32 " rows dropped, %" PRIu32 " with another text, %" PRIu32 " kept as good",
                manifest->dropped, manifest->fixed, manifest->kept);
out:
    return rc;
}

void mx_manifest_decisions_close(struct mx_manifest *manifest)
{
    for (uint32_t i = 0; i < MX_MANIFEST_SOURCES; i++) {
        bool shared = false;
        for (uint32_t k = 0; k < i; k++) shared = shared || manifest->decisions[k] == manifest->decisions[i];
        if (!shared) mx_decisions_close(manifest->decisions[i]);
    }
}
