/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Advice: which stage is the bottleneck, by how much, and what would change that; computed from measurements.
 *
 * Limits: reading (loads that mostly wait for a disk) and loading more than 20 % of the work of a batch, transfer more
 * than 15 %, the data device more than 80 % busy, step times that vary by more than 30 %. A stage that is above its limit but for which the model does not wait is
 * hidden: worth knowing, but not a bottleneck.
 */
#ifndef MX_PIPELINE_ADVICE_H
#define MX_PIPELINE_ADVICE_H

#include "myxtts/pipeline.h"

#define MX_ADVICE_LOAD_LIMIT     0.20
#define MX_ADVICE_TRANSFER_LIMIT 0.15
#define MX_ADVICE_DATA_LIMIT     0.80
#define MX_ADVICE_WAIT_LOW       0.01 /* share of time that the model may wait; below it a stage counts as hidden */
#define MX_ADVICE_WAIT_HIGH      0.10 /* waits above this share explain varying steps */
#define MX_ADVICE_MEMORY_LIMIT   0.95
#define MX_ADVICE_BLOCKED_LIMIT  0.5 /* share of a load that waits for the disk: then it is reading, not loading */

enum mx_advice_kind {
    MX_ADVICE_READING,
    MX_ADVICE_LOAD,
    MX_ADVICE_TRANSFER,
    MX_ADVICE_DATA_DEVICE,
    MX_ADVICE_VARIATION,
    MX_ADVICE_KINDS
};
/* What was measured as its cause. */
enum mx_advice_cause { MX_CAUSE_DATA, MX_CAUSE_TRANSFER, MX_CAUSE_COMPUTE, MX_CAUSE_MEMORY };

/* "reading", "load", "transfer", "data device", "variation" */
const char *mx_advice_kind_name(enum mx_advice_kind kind);
const char *mx_advice_cause_name(enum mx_advice_cause cause); /* "data" … */

struct mx_advice {
    enum mx_advice_kind kind;
    enum mx_advice_cause cause;
    bool hidden;       /* above its limit, but the model does not wait for it */
    double share;      /* what was compared with the limit */
    char finding[256]; /* "loading is 34 % of the work of a batch (12.3 of 36.2 ms), and process waited 31 % …" */
    char remedy[768];  /* "4 load workers → 7 would hide it (--num-workers 7)"; "" if hidden */
    char finding_persian[512], remedy_persian[1280]; /* the same; text for a terminal is between `…` */
};

struct mx_advice_input {
    struct mx_pipeline_stats stats;
    struct mx_pipeline_levels levels;
    bool two_devices;
    bool load_on_data;  /* load workers run on the data device's cores */
    int32_t data_cores; /* number of the data device's cores; 0: it is not a CPU */
    bool peer;          /* direct copies between the devices */
    double memory[2];   /* share of its limit that each device uses; 0: no limit */
    /* What the pipeline does not know about the corpus; its owner may fill it in. */
    const char *pack; /* the command that packs it, for a shell; NULL: it is packed, or nothing is known */
    bool uncached;    /* each recording is decoded again in every epoch */
};

#define MX_ADVICE_PACK_BYTES 320 /* of the command that packs the corpus, at most */

/* Reports everything above its limit, at most one of each kind. Returns how many. A pure function. */
int32_t mx_advice_find(const struct mx_advice_input *input, struct mx_advice out[MX_ADVICE_KINDS]);
/* Collects the figures of a pipeline since its start or the last reset of its statistics. */
void mx_pipeline_advice_input(struct mx_pipeline *pipeline, struct mx_advice_input *out);

#endif
