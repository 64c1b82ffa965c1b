/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A training run as `myxtts train` makes it: settings, run folder, devices, corpus, trainer and checkpoints together.
 *
 * Run folder:
 *
 *     myxtts.lock      folder.h
 *     config.yaml      the resolved settings
 *     log.txt          everything from info on, with times, from the start of the program
 *     metrics.jsonl    train/report/metrics.h
 *     checkpoints/     checkpoint/checkpoint.h
 *     run.json         observe/run.h
 *     samples/         step-N/000.wav …: samples of the voice at an evaluation, and 000.png … their mels;
 *                      step-N/target.png …: observe/pictures.h;
 *                      recorded/000.wav …: the recordings of these texts
 *     tensorboard/     observe/tfevents.h, unless it is off
 *     report.html      observe/page/page.h, when a run has ended
 *     voices/          one recording of each speaker, by number, from which `myxtts synth` takes the voice
 *     corpus.pack      decoded recordings of a folder (corpus/dataset.h), unless caching is off
 *     rejects.tsv      rows that are left out, and why (corpus/check.h); only if there are any
 *
 * Memory: a job owns everything it opened; mx_job_close releases it, even after a failure.
 */
#ifndef MX_RUN_JOB_H
#define MX_RUN_JOB_H

#include <inttypes.h>
#include <stdatomic.h>

#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "dist/dist.h"
#include "pipeline/advice.h"
#include "run/devices/device_pair.h"
#include "run/folder.h"
#include "run/length.h"
#include "run/networks.h"
#include "run/observer/samples.h"
#include "run/settings.h"
#include "train/report/metrics.h"
#include "train/trainer.h"

/* In a run folder. */
#define MX_JOB_REJECTS  "rejects.tsv"
#define MX_JOB_SAMPLES  "samples/step-%08" PRId64
#define MX_JOB_RECORDED "samples/recorded/%03" PRId64 ".wav"

/* What the command line says in addition to settings; strings are borrowed. */
struct mx_job_request {
    const char *output;    /* run folder of a new run */
    const char *resume;    /* run folder to continue */
    const char *init_from; /* checkpoint or any safetensors file: only its weights are used */
    bool partial;          /* load from init_from what fits */
    bool size_said;        /* the size of the network was given on the command line */
    bool signals;          /* a signal ends the cutting of long rows; otherwise the job's `stop` does */
    const char *command;   /* the beginning of command lines in hints; NULL: "myxtts train" */
    const char *accum;     /* how hints set the batches per step; NULL: "--grad-accum " */
    /* Called in ranks other than 0: show only messages of this level or worse. NULL: all are shown. */
    int (*quieten)(enum mx_log_level level);
    /* What the command needs on each device in addition to training; 0: nothing. */
    uint64_t data_bytes, model_bytes;
};

/* The best evaluation of a run. */
struct mx_job_best {
    bool known;
    double value; /* its free-running distance, in decibels; of a vocoder alone its loss */
    uint64_t step;
};

/* The evaluations of a run. */
struct mx_job_evaluations {
    bool known; /* there was one, and this is the last: */
    struct mx_trainer_evaluation last;
    bool due; /* that of the last step is incomplete: the run ends before it */
};

/* How fast it is in this start. */
struct mx_job_pace {
    int64_t steps;                 /* made */
    uint64_t steps_ns, vocoder_ns; /* of all but the first one, and the vocoder's part of them */
};

/* Its newest checkpoint. */
struct mx_job_saved {
    int64_t step;      /* 0: there is none */
    uint64_t again_ns; /* when to try again after a failed save; 0: the last one succeeded */
};

/* What there is to know of its corpus. */
struct mx_job_corpus {
    bool has_pieces;   /* of rows that were too long (long.c); known to the first rank */
    uint64_t contents; /* of its recordings, from the checkpoint that the run continues from; 0: not known */
    uint32_t rejected; /* unusable rows reported so far */
};

/* What checkpoints name. */
struct mx_job_names {
    char *vocabulary; /* as JSON */
    const char **speakers;
    const char **languages; /* of the speakers: codes, as in struct mx_checkpoint_state */
};

struct mx_job {
    struct mx_job_request request;
    struct mx_settings settings; /* resolved; released by the caller */
    char *run;                   /* the folder; NULL: none (dry run) */
    struct mx_job_folder folder; /* the same for its writer, rank 0 */
    struct mx_device_pair devices;
    struct mx_device *device;             /* the one of the pair that trains */
    struct mx_checkpoint *origin;         /* for resume and init_from */
    struct mx_checkpoint *vocoder_origin; /* that vocoder.from names; NULL: none */
    const struct mx_recipe *recipe;       /* of the features of the run */
    struct mx_lexicon *lexicon;           /* of data.lexicon; NULL: none */
    struct mx_vocabulary *vocabulary;     /* of the origin; NULL: the corpus has its own */
    struct mx_dist *dist;                 /* the ranks of the run; NULL: this process alone (ranks.h) */
    struct mx_dataset *dataset;
    struct mx_job_corpus corpus; /* the same */
    struct mx_trainer_options options;
    struct mx_trainer_memory_plan plan;
    int64_t steps; /* the last step of the run */
    struct mx_trainer *trainer;
    struct mx_metrics *metrics;
    struct mx_job_observer *observer; /* while it runs; observer.h */
    struct mx_progress *progress;     /* while it runs: the status line */
    struct mx_job_speech speech;      /* for samples */
    float *host; /* arrays of all networks on their way to or from a checkpoint: of each [floats] and [3, learned] */
    struct mx_job_names names;
    struct mx_job_base base;
    struct mx_job_best best; /* so far */
    struct mx_auto_stop auto_stop;
    struct mx_job_limit limit;
    struct mx_job_evaluations evaluations;
    const atomic_bool *stop; /* while it runs: set by a signal */
    struct mx_job_saved saved;
    struct mx_job_pace pace;
};

/* Opens devices, origin and corpus and makes the plan; allocates no large memory. job->settings and job->request must
 * be set. Devices that are already open stay open. Creates or finds the run folder unless `dry`. */
int mx_job_open(struct mx_job *job, bool dry);
/* The batches of an epoch in words, once they are planned. */
#define MX_JOB_BATCH_BYTES 192
const char *mx_job_batch_text(const struct mx_job *job, char out[MX_JOB_BATCH_BYTES]);
/* Completes the input of advice with what can be done about a corpus that is read slowly; `pack` is memory for it. */
void mx_job_advice_corpus(const struct mx_job *job, char pack[MX_ADVICE_PACK_BYTES], struct mx_advice_input *input);
/* Allocates the memory and prepares everything for the next step. From here on the run folder is written to. */
int mx_job_start(struct mx_job *job);
/* After a failure during training: adds to the hint how to continue, or that there is nothing to continue from. */
int mx_job_failed(const struct mx_job *job, int code);
void mx_job_close(struct mx_job *job);
uint64_t mx_job_host_bytes(const struct mx_job *job); /* of job->host, by the plan */

/* Makes steps until the end, a signal or the time limit, and saves and evaluates on the way. MX_ERR_INTERRUPTED after a
 * signal, once everything is saved. A failure to write on the way (full disk) does not end the run; a checkpoint that
 * cannot be written at the end does, with MX_ERR_IO. */
int mx_job_run(struct mx_job *job);

#endif
