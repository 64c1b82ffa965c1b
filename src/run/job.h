/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A training run as `myxtts train` has it: settings, run folder, devices, corpus, trainer and checkpoints together.
 *
 * Run folder:
 *
 *     myxtts.lock      folder.h
 *     config.yaml      the resolved settings
 *     log.txt          everything from info on, with times, from the start of the program
 *     metrics.jsonl    train/metrics.h
 *     checkpoints/     checkpoint/checkpoint.h
 *     run.json         observe/run.h
 *     samples/         step-N/000.wav …: what the voice says at an evaluation, and 000.png … its mel;
 *                      step-N/target.png …: observe/pictures.h;
 *                      recorded/000.wav …: the recordings of these texts
 *     tensorboard/     observe/tfevents.h, unless it is off
 *     report.html      observe/page.h, when a run has ended
 *     voices/          one recording of each speaker, by number, from which `myxtts synth` takes the voice
 *     corpus.pack      decoded recordings of a folder (corpus/dataset.h), unless caching is off
 *     rejects.tsv      rows that are left out, and why (corpus/check.h); only if there are any
 *
 * Memory: a job owns everything that it opened; mx_job_close releases it, also after a failure.
 */
#ifndef MX_RUN_JOB_H
#define MX_RUN_JOB_H

#include <inttypes.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/string.h"
#include "checkpoint/checkpoint.h"
#include "dist/dist.h"
#include "run/device_pair.h"
#include "run/folder.h"
#include "run/settings.h"
#include "speech/speak.h"
#include "train/metrics.h"
#include "train/trainer.h"

/* Of a run folder. */
#define MX_JOB_REJECTS  "rejects.tsv"
#define MX_JOB_VOICE    "voices/%03zu.wav"
#define MX_JOB_SAMPLES  "samples/step-%08" PRId64
#define MX_JOB_RECORDED "samples/recorded/%03" PRId64 ".wav"

/* What the command line says besides settings; strings are borrowed. */
struct mx_job_request {
    const char *output;    /* run folder of a new run */
    const char *resume;    /* run folder to go on with */
    const char *init_from; /* checkpoint or any safetensors file: its weights only */
    bool partial;          /* of init_from: what fits */
    bool size_said;        /* the size of the network was given on the command line */
    const char *command;   /* how command lines in hints begin; NULL: "myxtts train" */
    const char *accum;     /* how they set the batches of a step; NULL: "--grad-accum " */
    /* Shows only such messages from now on, in ranks but 0; NULL: all are shown. */
    int (*quieten)(enum mx_log_level level);
    /* What the command needs of each device besides training; 0: nothing. */
    uint64_t data_bytes, model_bytes;
};

struct mx_job {
    struct mx_job_request request;
    struct mx_settings settings; /* resolved; the caller's to release */
    char *run;                   /* the folder; NULL: none (dry run) */
    struct mx_job_folder folder; /* the same, as its writer has it: rank 0 */
    struct mx_device_pair devices;
    struct mx_device *device;         /* of the pair, the one that trains */
    struct mx_checkpoint *origin;     /* of resume and init_from */
    struct mx_vocabulary *vocabulary; /* of the origin; NULL: the corpus has its own */
    struct mx_dist *dist;             /* the ranks of the run; NULL: this process alone (ranks.h) */
    struct mx_dataset *dataset;
    bool list_version_1; /* of its list, since the run began with that; struct mx_dataset_options */
    uint64_t contents;   /* of its recordings when the checkpoint was made that the run goes on from; 0: not known */
    uint32_t rejected;   /* its rows that cannot be used, as far as it was said */
    struct mx_trainer_options options;
    struct mx_trainer_memory_plan plan;
    int64_t steps; /* the last one of the run */
    struct mx_trainer *trainer;
    struct mx_metrics *metrics;
    struct mx_job_observer *observer;        /* while it runs; observer.h */
    struct mx_progress *progress;            /* while it runs: the status line */
    struct mx_speak *speak;                  /* of samples; NULL: none are spoken */
    struct mx_extract *pictures;             /* of their sounds, the same */
    struct mx_dataset_reader *sample_reader; /* of their recordings */
    float *host;                             /* [4, floats]: arrays on their way to or from a checkpoint */
    char *words;                             /* vocabulary as JSON */
    const char **speakers;
    /* The best evaluation so far, and the last one. */
    bool has_best, evaluated;
    double best;
    uint64_t best_step;
    struct mx_trainer_evaluation evaluation;
    bool evaluation_due;     /* that of the last step is not complete: the run ends before it */
    const atomic_bool *stop; /* while it runs: set by a signal */
    int64_t saved_step;      /* of the newest checkpoint; 0: there is none */
    uint64_t save_again_ns;  /* the last one could not be saved: when to try again; 0: it could */
};

/* Opens devices, origin and corpus and makes the plan; takes no large memory. job->settings and job->request are set.
 * Devices that are open already stay. A run folder is made or found unless `dry`. */
int mx_job_open(struct mx_job *job, bool dry);
/* Takes the memory and gets everything ready for the next step. The run folder is written to from here on. */
int mx_job_start(struct mx_job *job);
/* After a failure while it trained: the hint also tells how to go on, or that there is nothing to go on from. */
int mx_job_failed(const struct mx_job *job, int code);
void mx_job_close(struct mx_job *job);
uint64_t mx_job_host_bytes(const struct mx_job *job); /* of job->host, by the plan */

/* Steps until the end, a signal or the time limit, saving and evaluating on the way. MX_ERR_INTERRUPTED after a signal,
 * when everything is saved. What cannot be written on the way (full disk) does not end the run; a checkpoint that
 * cannot be written at its end does, with MX_ERR_IO. */
int mx_job_run(struct mx_job *job);

/* ---- turn.c: what the loop is made of ---- */
/* One step: takes its batches, runs them forward and backward, updates the weights, and writes the step into
 * metrics.jsonl. As mx_trainer_step. */
int mx_job_step(struct mx_job *job, struct mx_trainer_report *report);
/* Reports a step that was made, everywhere but in metrics.jsonl: newly rejected rows, TensorBoard, the status line.
 * MX_ERR_DATA when too many rows of a folder turn out to be unusable. */
int mx_job_step_tell(struct mx_job *job, const struct mx_trainer_report *report);
/* The status line: loss, speed, how busy both devices are, how long the model waited for data, memory. */
void mx_job_status(const struct mx_job *job, const struct mx_trainer_report *report);
/* Evaluates, speaks samples, and reports both. The best evaluation is the one with the least free-running distance,
 * among those in which every text could be spoken; *best: this is the best so far. */
int mx_job_evaluate(struct mx_job *job, bool *best);

/* ---- memory_plan.c ---- */
/* Plans the memory of job->options. Where it does not fit, auto-tuning takes a smaller buffer; otherwise, and unless
 * `dry`, it is refused. */
int mx_job_memory_plan(struct mx_job *job, bool dry);
/* What must fit at once on the data device and on the model device, with work of theirs before, between and after
 * steps; data is 0 on one device. */
struct mx_job_needs {
    uint64_t data, model;
};
int mx_job_memory_needs(const struct mx_job *job, const struct mx_trainer_memory_plan *plan, bool samples,
                        struct mx_job_needs *out);
/* The device that has too little for such needs; NULL: none. */
struct mx_device *mx_job_memory_short(const struct mx_job *job, const struct mx_job_needs *needs);
#define MX_JOB_BUFFER_LEAST 2 /* prepared batches: one is trained on while the next one is made */
/* The table: every owner on each device, against its limit. */
int mx_job_memory_text(const struct mx_job *job, struct mx_string *out);
int mx_job_memory_say(const struct mx_job *job); /* the same, into the log */

/* ---- remedies.c ---- */
/* 0 if the plan fits. Otherwise MX_ERR_BUDGET, and the hint has what would fit: each remedy was planned, too. */
int mx_job_memory_check(const struct mx_job *job);

/* ---- samples.c ---- */
/* What speaking samples takes besides the trainer's plan; all 0: none will be spoken. */
struct mx_job_samples_memory {
    struct mx_speak_memory_plan speak;
    uint64_t pictures, pictures_host;
};
int mx_job_samples_memory_plan(const struct mx_job *job, const struct mx_trainer_memory_plan *plan,
                               struct mx_job_samples_memory *out);
/* Gets ready to speak samples, if there will be any. After the trainer was made. */
int mx_job_samples_open(struct mx_job *job);
/* Speaks them into samples/step-N. What cannot be written is a warning. MX_ERR_INTERRUPTED when a signal comes. */
int mx_job_samples(struct mx_job *job);
/* Deletes those of the oldest evaluations, if there are more than the settings say. */
void mx_job_samples_tidy(const struct mx_job *job);

/* ---- rejects.c ---- */
/* Lists the rows that cannot be used, if there are more than the last time, and says why. MX_ERR_DATA when there are
 * too many of a folder. */
int mx_job_rejects(struct mx_job *job);

/* ---- voices.c ---- */
/* Writes voices/ of a new run. Corpora of features have no sound: then there is nothing to write. */
int mx_job_voices(struct mx_job *job);

/* ---- state.c ---- */
/* Was the run of a checkpoint begun with version 1 of the list of utterances (struct mx_dataset_options)? */
bool mx_job_state_list_1(const struct mx_checkpoint *checkpoint);
/* Is the corpus still what the resumed run was trained on? MX_ERR_DATA, saying what has changed, if it is not. */
int mx_job_state_compare(const struct mx_job *job);
int mx_job_save(struct mx_job *job, bool best);
/* Once all recordings were read: says so if they hold something else than before the run was resumed. */
void mx_job_state_contents(struct mx_job *job);
/* Weights, and in a resumed run everything else, from the origin; *state gets where the run was. */
int mx_job_restore(struct mx_job *job, struct mx_trainer_state *state);

#endif
