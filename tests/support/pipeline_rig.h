/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A pipeline over small numbers, for tests: each batch is sixteen words that follow from the seed and its number. They
 * are drawn, "loaded" with delays, uploaded, copied to the model device and downloaded by a caller that checks order
 * and contents. A slot that is used again too early, a batch that is lost, repeated or overtaken shows as wrong
 * contents.
 */
#ifndef MX_TESTS_SUPPORT_PIPELINE_RIG_H
#define MX_TESTS_SUPPORT_PIPELINE_RIG_H

#include "myxtts/error.h"
#include "myxtts/pipeline.h"
#include "myxtts/registry.h"

#define PIPELINE_RIG_SLOTS   8
#define PIPELINE_RIG_WORDS   16
#define PIPELINE_RIG_BATCHES 64 /* of a run, at most */

struct pipeline_rig_slot {
    uint64_t number;
    uint32_t words[PIPELINE_RIG_WORDS]; /* host slots */
    struct mx_buffer *buffer;           /* data and model slots */
    atomic_int users;                   /* host slots: 1 while a worker fills it */
};

/* Devices and slots; made once, used for many runs. */
struct pipeline_rig {
    struct mx_registry *registry;
    struct mx_device *devices[2];
    struct mx_pipeline *pipeline; /* of pipeline_rig_begin */
    struct mx_stream *stream;     /* the stream that takes batches from the pipeline */
    struct pipeline_rig_slot host[PIPELINE_RIG_SLOTS], data[PIPELINE_RIG_SLOTS], model[PIPELINE_RIG_SLOTS];
    void *host_slots[PIPELINE_RIG_SLOTS], *data_slots[PIPELINE_RIG_SLOTS], *model_slots[PIPELINE_RIG_SLOTS];
};

struct pipeline_rig_run {
    uint64_t seed;
    bool one_device;
    struct mx_pipeline_options options; /* rings, workers, held, modes; devices, slots and work are filled in, but a
                                         * load of the test's own is kept */
    uint64_t batches;                   /* before the end of the data */
    uint64_t stop_after;                /* the caller leaves after this number of batches; 0: at the end */
    uint32_t delay_us;                  /* a load takes 0 … delay_us */
    int fail_stage;                     /* enum mx_stage, or -1 for draw, or MX_STAGES for none */
    uint64_t fail_at;                   /* the batch at which fail_stage fails */
    int full_stage;                     /* the same, but as a device that has no memory left tells it */
    void (*each)(struct mx_pipeline *pipeline, uint64_t number, void *context); /* (optional) before each give */
    void *context;

    /* what came of it: */
    struct pipeline_rig *rig;
    uint64_t delivered; /* in order, with the right contents */
    uint64_t drawn;
    int rc;                /* of the last take: 1 at the end */
    int again;             /* of one more take */
    struct mx_error error; /* of it */
    char trouble[160];     /* "": none. What must never happen */
    atomic_bool loading_together;
    struct mx_pipeline_stats stats;
    uint64_t allocations; /* between the first take and the last give */
};

/* `backends` NULL: two CPU devices. */
void pipeline_rig_open(struct pipeline_rig *rig, const struct mx_backend *const *backends);
/* The first two devices of these. */
void pipeline_rig_open_on(struct pipeline_rig *rig, const struct mx_backend *const *backends,
                          const struct mx_registry_options *options);
void pipeline_rig_close(struct pipeline_rig *rig);

/* Without failures, on two devices; the rings have the usual sizes. */
struct pipeline_rig_run pipeline_rig_plain(uint64_t seed, uint64_t batches);
/* The smallest rings there may be. The seed decides about one device or two, sequential or not. */
struct pipeline_rig_run pipeline_rig_smallest(uint64_t seed, uint64_t batches);

/* A pipeline from create to destroy. */
void pipeline_rig_go(struct pipeline_rig *rig, struct pipeline_rig_run *run);

/* For tests that create or take themselves: the options of the run, complete. */
void pipeline_rig_options(struct pipeline_rig *rig, struct pipeline_rig_run *run, struct mx_pipeline_options *out);
/* For tests that take themselves: creates the pipeline of the run, until the rig is closed. */
void pipeline_rig_begin(struct pipeline_rig *rig, struct pipeline_rig_run *run);
/* The load of all runs, for loads that do something else as well. Their context is the run. */
int pipeline_rig_load(void *context, int worker, uint64_t number, void *host_slot, const atomic_bool *cancel);
/* After all `batches` were given, with spans for each stage of each: what the meters of the begun pipeline tell fits
 * together, and the memory of both devices, which are `backend`:0 and :1, has the slots. */
void pipeline_rig_figures(const struct pipeline_rig *rig, uint32_t batches, const char *backend);

#endif
