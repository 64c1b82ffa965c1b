/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checking a corpus: every row is read and judged (row.h) on all cores; the report has the counts and lists.
 *
 * The report does not depend on the number of workers: rows are in the order of the manifest, and sums are computed in
 * that order.
 *
 * rejects.tsv: UTF-8, one header line, one line for each rejected row in the order of the manifest, fields separated by
 * a tab, tabs and line ends inside a field replaced by a blank, other control bytes and invalid UTF-8 by \xNN:
 *
 *     manifest  line  id  reason  file  detail
 *
 * where reason is a short name from reject.h and file is "" for rows whose manifest line was already bad.
 *
 * Memory: everything belongs to the report; mx_check_release frees it.
 */
#ifndef MX_CORPUS_CHECK_H
#define MX_CORPUS_CHECK_H

#include <stdint.h>

#include "corpus/balance.h"
#include "corpus/manifest/manifest.h"
#include "corpus/row.h"

#define MX_CHECK_WORKERS_MAX 256

/* Hears every row that can be used, while its samples are in memory. Calls come from several threads at once, each with
 * its own number from 0 to MX_CHECK_WORKERS_MAX - 1, in no order. `begin` (may be NULL) comes before all of them, from the
 * thread of the check, when the number of utterances is known. A negative result ends the check. */
struct mx_check_listener {
    int (*begin)(void *context, uint32_t utterances);
    int (*hear)(void *context, int worker, uint32_t utterance, const struct mx_row *row);
    void *context;
};

struct mx_check_options {
    struct mx_manifest_options manifest;
    struct mx_row_options row;
    int workers;                       /* 0: one for each core */
    struct mx_check_listener listener; /* (optional) */
};

#define MX_CHECK_OPTIONS_DEFAULT                                                                                       \
    ((struct mx_check_options){.manifest = MX_MANIFEST_OPTIONS_DEFAULT, .row = MX_ROW_OPTIONS_DEFAULT})

/* Bin i counts values from i * width on, below (i + 1) * width; the last bin holds the largest value too. */
#define MX_HISTOGRAM_BINS 20
struct mx_histogram {
    double width; /* 1, 2 or 5 times a power of ten */
    uint32_t bins;
    uint64_t counts[MX_HISTOGRAM_BINS];
    double least, most, mean; /* of the values; 0 without any */
};

/* One rejected row. */
struct mx_check_reject {
    uint32_t source, line; /* as in the manifest */
    enum mx_reject reason;
    const char *id, *audio; /* the manifest's; audio "" if the line was bad */
    char *detail;
};

struct mx_check_speaker {
    const char *name;               /* the manifest's */
    uint32_t rows;                  /* good ones */
    double seconds;                 /* of them, trimmed */
    double times[MX_BALANCE_COUNT]; /* how often an epoch has each of them, for each data.balance */
};

struct mx_check_symbol {
    uint32_t code;
    uint64_t count; /* in good rows */
};

/* An utterance of the manifest, good or rejected. */
struct mx_check_row {
    enum mx_reject reject;
    enum mx_language_id language;
    uint32_t characters;               /* of the normalised text without blanks */
    double seconds, seconds_used;      /* of the recording, as it is and trimmed */
    double trimmed_begin, trimmed_end; /* seconds of silence at its ends that are not used */
    uint32_t *symbols;                 /* of the spoken text, [symbol_count]; NULL if it was not read that far */
    size_t symbol_count, sounds;       /* all, and those that are spoken */
};

struct mx_check_report {
    struct mx_manifest *manifest;
    struct mx_check_row *list;     /* [manifest->utterance_count] */
    uint32_t rows, good, rejected; /* rows = good + rejected */
    uint32_t reasons[MX_REJECT_COUNT];
    struct mx_check_reject *rejects;
    uint32_t training, validation; /* good rows of each */
    double seconds;                /* of good recordings, untrimmed */
    double seconds_used;           /* of good recordings, trimmed */
    struct mx_histogram durations; /* good rows, seconds trimmed */
    struct mx_histogram lengths;   /* good rows, characters of the normalised text without blanks */
    struct mx_check_speaker *speakers;
    uint32_t speaker_count;
    uint32_t languages[MX_LANGUAGE_COUNT]; /* good rows of each */
    struct mx_check_symbol *symbols;       /* most frequent first */
    uint32_t symbol_count;
    struct mx_rate rate; /* sounds a second that are believed */
};

/* Opens the corpus and reads every row. Bad rows are not a failure. *report needs no release after a failure. */
int mx_check_run(const char *path, const struct mx_check_options *options, struct mx_check_report *report);
void mx_check_release(struct mx_check_report *report);

/* Finds a row by manifest and line, as the list gives them. */
void mx_check_sort_rejects(struct mx_check_reject *rejects, uint32_t count);
/* Writes rejects.tsv, atomically, with the rejected rows of one or several reports; also when there are none, so that an
 * older file does not mislead. */
int mx_check_write_rejects(const struct mx_check_report *reports, int count, const char *path);

/* Fills a histogram from `count` values ≥ 0. */
void mx_histogram_fill(struct mx_histogram *histogram, const double *values, uint32_t count);

#endif
