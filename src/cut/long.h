/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of a corpus that are too long to train on, cut on the way into a folder of pieces (corpus/pieces.h), with
 * which its manifest is opened then. The folder has the form of cut.h and the list of pieces in addition.
 *
 * The pieces depend on the corpus, the options and the voice alone; their files have the times of the recordings they
 * were cut from, so a folder that is cut again is the same corpus. A complete folder is used as it is while its
 * rows, their recordings and the options are the same. It gets its name when it is complete; what a killed process left
 * is FOLDER.part and is removed by the next.
 *
 * Memory: everything is borrowed during the call.
 */
#ifndef MX_CUT_LONG_H
#define MX_CUT_LONG_H

#include "corpus/audio/audio.h"
#include "corpus/manifest/manifest.h"
#include "cut/cut.h"

struct mx_cut_long_options {
    const char *corpus; /* folder or manifest */
    struct mx_manifest_options manifest;
    struct mx_audio_options audio; /* rows that are longer than these allow are cut */
    const char *folder;            /* of the pieces */
    const char *voice;             /* NULL: the base voice; if it is not installed, no row is cut */
    int language;                  /* of all rows, an enum mx_language_id, or MX_ALIGN_DETECT */
    bool resumed;                  /* whether rows are cut was decided earlier; an existing list is valid */
    bool had;                      /* if resumed: there were pieces; if they are gone, they are cut again */
    int workers;                   /* 0: one for each core */
    const atomic_bool *stop;       /* (optional) */
    void (*tick)(void *context);   /* (optional) called repeatedly */
    void *context;
};

struct mx_cut_long_report {
    uint32_t rows;                     /* that are too long */
    uint32_t cut;                      /* of those, cut */
    uint32_t pieces;                   /* rows that they were cut into */
    double seconds, shortest, longest; /* of the pieces; 0 for those that existed before */
    bool kept;                         /* they existed before */
};

/* Opens the manifest with `folder` as its pieces afterwards if report->cut > 0. Rows that cannot be cut are named in the
 * log and stay too long. */
int mx_cut_long_run(const struct mx_cut_long_options *options, struct mx_cut_long_report *report);
/* How many rows are longer than the options allow; nothing is cut. */
int mx_cut_long_count(const struct mx_cut_long_options *options, uint32_t *rows);

#endif
