/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Preparing a corpus: from a folder of recordings to one packed file (packed.h), on all cores.
 *
 * Texts come first, because the vocabulary is at the head of the file; then the recordings, each processed by one
 * worker and written in the order of the manifest. So the bytes of the file depend only on the corpus and the options,
 * not on the number of workers or on how often the work was interrupted.
 *
 * Everything is written to FILE.part, a journal. Whatever ends the work (a kill, a full disk, too many rejected rows),
 * the same call continues after the last good record. FILE is replaced at the end by one rename. Rejected rows are
 * listed in FILE.rejects.tsv (its format is described in check.h).
 *
 * Memory: the report owns its text; release it with mx_prepare_release, also after a failure.
 */
#ifndef MX_CORPUS_PREPARE_H
#define MX_CORPUS_PREPARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "corpus/manifest/manifest.h"
#include "corpus/packed/pack_spec.h"

#define MX_PREPARE_REJECTS_SUFFIX ".rejects.tsv"

struct mx_prepare_options {
    const char *corpus; /* folder or manifest */
    const char *file;   /* to be made */
    struct mx_manifest_options manifest;
    struct mx_row_options row;
    const struct mx_prepare_stage *stage; /* NULL: the audio is stored */
    int workers;                          /* 0: one for each core */
    bool force;                           /* make the file again even if it is valid; an old journal is not used */
    double rejects_max;                   /* share of rows that may be rejected; 1: any */
    const atomic_bool *stop;              /* NULL, or set to true to end early with MX_ERR_INTERRUPTED */
};

#define MX_PREPARE_OPTIONS_DEFAULT                                                                                     \
    ((struct mx_prepare_options){                                                                                      \
        .manifest = MX_MANIFEST_OPTIONS_DEFAULT, .row = MX_ROW_OPTIONS_DEFAULT, .rejects_max = MX_REJECTED_SHARE_MAX})

struct mx_prepare_report {
    bool up_to_date;          /* the file was valid: nothing was done */
    int changes;              /* differences from the existing file; 0: there was none */
    struct mx_string changed; /* one line for each of the first */
    uint32_t rows;            /* of the manifest */
    uint32_t kept;            /* rows taken over from an interrupted run */
    uint32_t good, rejected;
    uint32_t reasons[MX_REJECT_COUNT];
    uint32_t speakers;
    size_t tokens;       /* size of the vocabulary */
    double seconds;      /* of good recordings, trimmed */
    uint64_t bytes;      /* of the file */
    int workers;         /* that were used */
    uint64_t elapsed_ns; /* of the whole call */
};

/* MX_ERR_DATA if too many rows, or all, are rejected; the journal is kept and the report is filled. */
int mx_prepare_run(const struct mx_prepare_options *options, struct mx_prepare_report *report);
void mx_prepare_release(struct mx_prepare_report *report);

#endif
