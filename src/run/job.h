/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A training run as `myxtts train` makes it: settings, run folder, devices, corpus, trainer and checkpoints together.
 *
 * Run folder:
 *
 *     myxtts.lock      folder.h
 *     config.yaml      the resolved settings
 *     log.txt          everything from info on, with times, from the start of the program
 *     metrics.jsonl    train/metrics.h
 *     checkpoints/     checkpoint/checkpoint.h
 *     run.json         observe/run.h
 *     samples/         step-N/000.wav …: samples of the voice at an evaluation, and 000.png … their mels;
 *                      step-N/target.png …: observe/pictures.h;
 *                      recorded/000.wav …: the recordings of these texts
 *     tensorboard/     observe/tfevents.h, unless it is off
 *     report.html      observe/page.h, when a run has ended
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
#include "base/string.h"
#include "checkpoint/checkpoint.h"
#include "dist/dist.h"
#include "pipeline/advice.h"
#include "run/device_pair.h"
#include "run/folder.h"
#include "run/settings.h"
#include "speech/speaker.h"
#include "train/metrics.h"
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

/* Where `training.auto_stop` is (auto_stop.c). */
struct mx_auto_stop {
    bool known;   /* there was an evaluation … */
    double value; /* … and this is the last one that was clearly better than those before … */
    int64_t step; /* … from this step */
    int64_t from; /* the learning rate falls since this step, because nothing was gained any more; 0: not yet … */
    int64_t end;  /* … and this is the last step */
};

/* Where the run ends because of `training.max_minutes` (time_limit.c). */
struct mx_job_limit {
    int64_t from; /* the learning rate falls since this step; 0: not yet, or the planned steps fit into the time … */
    int64_t end;  /* … and this is the last step */
    double minutes; /* the limit that both follow from */
    bool estimated; /* in this start */
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
    bool has_pieces;     /* of rows that were too long (long.c); known to the first rank */
    bool list_version_1; /* of its list, because the run began with that; struct mx_dataset_options */
    uint64_t contents;   /* of its recordings, from the checkpoint that the run continues from; 0: not known */
    uint32_t rejected;   /* unusable rows reported so far */
    struct mx_trainer_options options;
    struct mx_trainer_memory_plan plan;
    int64_t steps; /* the last step of the run */
    struct mx_trainer *trainer;
    struct mx_metrics *metrics;
    struct mx_job_observer *observer;        /* while it runs; observer.h */
    struct mx_progress *progress;            /* while it runs: the status line */
    struct mx_speak *speak;                  /* for samples; NULL: none are spoken */
    struct mx_speaker *speaker;              /* on it */
    struct mx_extract *pictures;             /* for the mels of the samples; NULL likewise */
    struct mx_dataset_reader *sample_reader; /* of their recordings */
    float *host; /* arrays of all networks on their way to or from a checkpoint: of each [floats] and [3, learned] */
    char *words; /* the vocabulary as JSON */
    char base_hash[24], base_name[256]; /* of adapters: the file they belong to */
    const char **speakers;
    const char **speaker_languages; /* codes, as in struct mx_checkpoint_state */
    struct mx_job_best best;        /* so far */
    struct mx_auto_stop auto_stop;
    struct mx_job_limit limit;
    bool evaluated; /* and this is the last evaluation: */
    struct mx_trainer_evaluation evaluation;
    bool evaluation_due;     /* the evaluation of the last step is incomplete: the run ends before it */
    const atomic_bool *stop; /* while it runs: set by a signal */
    int64_t saved_step;      /* of the newest checkpoint; 0: there is none */
    int64_t progress_steps;  /* made since this start */
    uint64_t steps_ns,
        vocoder_ns;         /* of the steps of this start but for the first one, and the vocoder's part of them */
    uint64_t save_again_ns; /* when to try again after a failed save; 0: the last one succeeded */
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

/* ---- turn.c: the parts of the loop ---- */
/* One step: takes its batches, runs them forward and backward, updates the weights, and writes the step into
 * metrics.jsonl. As mx_trainer_step. */
int mx_job_step(struct mx_job *job, struct mx_trainer_report *report);
/* Reports a step everywhere except in metrics.jsonl: newly rejected rows, TensorBoard, the status line. MX_ERR_DATA if
 * too many rows of a folder turn out to be unusable. */
int mx_job_step_tell(struct mx_job *job, const struct mx_trainer_report *report);
/* The status line: loss, speed, how busy both devices are, how long the model waited for data, memory. */
void mx_job_status(const struct mx_job *job, const struct mx_trainer_report *report);
/* Evaluates, speaks samples, and reports both. The best evaluation is the one with the smallest free-running distance
 * among those in which every text could be spoken, or of a vocoder alone the one with the smallest loss; *best: this is
 * the best so far. */
int mx_job_evaluate(struct mx_job *job, bool *best);

/* ---- length.c ---- */
/* Chooses the number of steps and the schedules that follow from it. MX_ERR_USAGE if the run is past that number. */
int mx_job_length_choose(struct mx_job *job);
/* Has the run that is to be resumed made all its steps, and evaluated the last one? Then there is nothing to start. */
bool mx_job_length_done(const struct mx_job *job);

/* ---- auto_stop.c ---- */
/* The most steps of a run that ends by itself; a resumed one continues where it was. Needs the plan. MX_ERR_USAGE
 * if it could never end by itself. */
int mx_job_auto_choose(struct mx_job *job);
void mx_job_auto_schedule(struct mx_job *job); /* once the schedules are set as in any other run */
void mx_job_auto_say(const struct mx_job *job);
/* After an evaluation: has it learned what it can? Then the learning rate falls from here on, and job->steps is the
 * last step. */
void mx_job_auto_look(struct mx_job *job);
/* In ranks that do not evaluate: what rank 0 has decided. 0: nothing yet. */
void mx_job_auto_follow(struct mx_job *job, int64_t from, int64_t end);
/* Is it over, and because nothing was gained any more? */
bool mx_job_auto_learned(const struct mx_job *job);
void mx_job_auto_tell(const struct mx_job *job); /* says so, or that the steps were too few for that */

/* ---- time_limit.c ---- */
/* A run that is resumed while its learning rate falls because of this limit goes on so, to the same end. Call it when
 * the schedules are set as in any other run. */
void mx_job_limit_choose(struct mx_job *job);
/* When the loop began, when its first step was made, and now. */
struct mx_job_times {
    uint64_t begin_ns, first_ns, now_ns;
};
/* After `step`: once most of the time is over, estimates the steps for which there is time. If they are fewer than
 * planned, the learning rate falls to its floor with them. */
void mx_job_limit_estimate(struct mx_job *job, int64_t step, const struct mx_job_times *times);
/* In ranks other than the first: what that has found. 0: nothing. */
void mx_job_limit_follow(struct mx_job *job, int64_t from, int64_t end);
/* The time is over before the last of these steps: a run that is resumed has a limit of its own. Was one set? */
bool mx_job_limit_clear(struct mx_job *job);
/* Has it made the last step that there was time for? */
bool mx_job_limit_reached(const struct mx_job *job);

/* ---- memory_plan.c ---- */
/* Plans the memory of job->options. If it does not fit, auto-tuning takes a smaller buffer; otherwise, and unless
 * `dry`, it is refused. */
int mx_job_memory_plan(struct mx_job *job, bool dry);
/* The memory that must fit at once on the data device and on the model device, including their work before, between and
 * after steps; data is 0 on one device. */
struct mx_job_needs {
    uint64_t data, model;
};
int mx_job_memory_needs(const struct mx_job *job, const struct mx_trainer_memory_plan *plan, bool samples,
                        struct mx_job_needs *out);
/* The device that has too little memory for these needs; NULL: none. */
struct mx_device *mx_job_memory_short(const struct mx_job *job, const struct mx_job_needs *needs);
#define MX_JOB_BUFFER_LEAST 2 /* prepared batches: one to train on while the next one is made */
/* Writes the table: every owner on each device, and the device's limit. */
int mx_job_memory_text(const struct mx_job *job, struct mx_string *out);
int mx_job_memory_say(const struct mx_job *job); /* logs the same */

/* ---- remedies.c ---- */
/* 0 if the plan fits. Otherwise MX_ERR_BUDGET, and the hint says what would fit: each remedy has been planned, too. */
int mx_job_memory_check(const struct mx_job *job);

/* ---- samples.c ---- */
/* The memory for speaking samples in addition to the trainer's plan; all 0: none will be spoken. */
struct mx_job_samples_memory {
    struct mx_speak_memory_plan speak;
    uint64_t pictures, pictures_host;
};
int mx_job_samples_memory_plan(const struct mx_job *job, const struct mx_trainer_memory_plan *plan,
                               struct mx_job_samples_memory *out);
/* Prepares for speaking samples, if there will be any. Call it after the trainer is created. */
int mx_job_samples_open(struct mx_job *job);
/* Speaks them into samples/step-N. A failure to write is a warning. MX_ERR_INTERRUPTED if a signal comes. */
int mx_job_samples(struct mx_job *job);
/* Deletes the samples of the oldest evaluations, if there are more than the settings allow. */
void mx_job_samples_tidy(const struct mx_job *job);

/* ---- rejects.c ---- */
/* Lists the unusable rows, if there are more than last time, and logs the reasons. MX_ERR_DATA if a folder has too
 * many. */
int mx_job_rejects(struct mx_job *job);

/* ---- vocoder.c ---- */
/* Opens the checkpoint that vocoder.from names, and refuses parts that the origin does not have. */
int mx_job_vocoder_open(struct mx_job *job);
/* Sets the options of the vocoder; a warning if it cannot be trained. */
int mx_job_vocoder_choose(struct mx_job *job);
bool mx_job_vocoder_there(const struct mx_job *job); /* it comes from a checkpoint: it has learned */
void mx_job_vocoder_steps(struct mx_job *job);       /* its schedule, once the length of the run is known */
void mx_job_vocoder_say(const struct mx_job *job);
/* Says what part of the steps' time it really took, if any of it was measured. */
void mx_job_vocoder_tell(const struct mx_job *job);
/* Loads its weights, if it is not a new one, by way of `arrays`; *whole: with its moments, so its part of the state
 * counts, too. */
int mx_job_vocoder_restore(struct mx_job *job, const struct mx_trainer_arrays *arrays, bool *whole);

/* ---- learning.c ---- */
/* Sets what of each network learns. `vocoder_there`: the run's vocoder has learned before. A vocoder of which nothing
 * learns becomes one that is ready. MX_ERR_CONFIG for patterns that match nothing or leave nothing to learn. */
int mx_job_learning_choose(struct mx_job *job, bool vocoder_there);
/* With adapters: sets the name and hash of their base, from the origin. */
int mx_job_base_choose(struct mx_job *job);
/* Writes both for a checkpoint; returns how many there are. */
size_t mx_job_base_write(const struct mx_job *job, struct mx_metadata *extras);
void mx_job_learning_say(const struct mx_job *job);

/* ---- words.c ---- */
/* Opens the corpus. In a new run with the vocabulary of an origin, symbols and languages of the corpus that it lacks are
 * added to it, named and counted. */
int mx_job_dataset_open(struct mx_job *job, const struct mx_dataset_options *options);

/* ---- long.c ---- */
/* Cuts the rows of the corpus that are too long, as data.cut_long says, and lets `options` know. *folder, which they then
 * point to, is the caller's to free; NULL: there is none. */
int mx_job_long(struct mx_job *job, struct mx_dataset_options *options, char **folder);

/* ---- voices.c ---- */
/* Writes voices/ of a new run. Corpora of features have no sound, so there is nothing to write for them. */
int mx_job_voices(struct mx_job *job);
/* Finds the language that each speaker speaks in most training utterances; `words` numbers the languages. */
int mx_job_speaker_languages(struct mx_job *job, const struct mx_vocabulary *words);

/* ---- state.c ---- */
/* Did the run of a checkpoint have pieces of rows that were too long? Earlier versions did not keep that. */
bool mx_job_state_pieces(const struct mx_checkpoint *checkpoint);
/* Did the run of a checkpoint begin with version 1 of the list of utterances (struct mx_dataset_options)? */
bool mx_job_state_list_1(const struct mx_checkpoint *checkpoint);
/* Steps of equal work of a resumed run: with the batch size it had, batches stay as long as they were. */
void mx_job_state_batch(struct mx_job *job);
/* Is the evaluation of the last step of a checkpoint's run still to be made? */
bool mx_job_state_due(const struct mx_checkpoint *checkpoint);
/* How a time limit lets the run to be resumed end; false: none does. */
bool mx_job_state_limit(const struct mx_job *job, struct mx_job_limit *out);
/* Reads where auto-stop was. */
void mx_job_state_auto(struct mx_job *job);
/* Is the corpus still the one that the resumed run was trained on? If not: MX_ERR_DATA naming what has changed. */
int mx_job_state_compare(const struct mx_job *job);
int mx_job_save(struct mx_job *job, bool best);
/* Once all recordings have been read: warns if their contents differ from those before the run was resumed. */
void mx_job_state_contents(struct mx_job *job);
/* Loads the weights, and for a resumed run everything else, from the origin; *state gets the position of the run. */
int mx_job_restore(struct mx_job *job, struct mx_trainer_state *state);

#endif
