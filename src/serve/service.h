/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The service: speaks the texts of many clients at once with one or more voices. The protocols (HTTP, Wyoming) stand on
 * it and know nothing of networks; the service knows nothing of protocols.
 *
 * A client's text is a job: begin, add text (once, or piece by piece as it comes), finish, read sound until the end,
 * end. The thread that reads also turns text into tokens; the workers of the service run the networks, and put pieces of
 * different jobs into one batch. What a job sounds like depends on its text, options and seed alone, bit for bit:
 * not on the other jobs, nor on how its text was divided among the calls of mx_service_add, nor on time.
 *
 * Memory: a service owns its voices, threads and counters. A job belongs to the caller until mx_service_end; end all
 * jobs before the service is closed. A job that is not read holds a bounded amount of sound, and the networks work for
 * others meanwhile.
 * Threads: all functions may be called from any thread. Of one job, one thread may add text while another one reads.
 */
#ifndef MX_SERVE_SERVICE_H
#define MX_SERVE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mx_service;
struct mx_service_job;

struct mx_service_options {
    const char *const *voices; /* run folders, checkpoints or voice files; at least one */
    size_t voice_count;
    const char *device;  /* NULL: the processor */
    int64_t cpu_devices; /* with `device`: 0 is one */
    int workers;         /* batches at once; the cores of the processor are divided among them. 0: two, if there are two
                            cores, batch_max is not 1 and `device` is NULL; otherwise one */
    const char *vocoder; /* of all voices; NULL: each voice's own (speech/runtime.h) */
    const char *lexicon; /* file with words of all voices (text/lexicon.h), before their own; NULL: none */
    int batch_max;       /* pieces that the network speaks at once, 1 … MX_SERVICE_BATCH_LIMIT */
    double company_ms;   /* how long a piece waits at most for others to share its batch; 0: not at all */
    int queue_max;       /* jobs with text at once, spoken or waiting; one more is refused */
    size_t text_max;     /* bytes of text in one job */
    double seconds_max;  /* seconds of sound of one job: pauses take no text */
};

#define MX_SERVICE_BATCH_LIMIT     64
#define MX_SERVICE_WORKERS_MAX     16
#define MX_SERVICE_BATCH           8                          /* default batch */
#define MX_SERVICE_COMPANY_MS      3                          /* default wait for other sentences */
#define MX_SERVICE_SECONDS         7200                       /* of a text: 64 KB are about 75 minutes */
#define MX_SERVICE_DIGITS(number)  MX_SERVICE_DIGITS_(number) /* for help pages */
#define MX_SERVICE_DIGITS_(number) #number
#define MX_SERVICE_OPTIONS_DEFAULT                                                                                     \
    ((struct mx_service_options){.batch_max = MX_SERVICE_BATCH,                                                        \
                                 .company_ms = MX_SERVICE_COMPANY_MS,                                                  \
                                 .queue_max = 64,                                                                      \
                                 .text_max = 65536,                                                                    \
                                 .seconds_max = MX_SERVICE_SECONDS})

/* Opens the voices and starts the workers. */
int mx_service_open(const struct mx_service_options *options, struct mx_service **out);
/* From now on no job begins (MX_ERR_CLOSED); those that have begun are spoken to their end. */
void mx_service_drain(struct mx_service *service);
/* Makes every job fail with MX_ERR_INTERRUPTED as soon as possible: for a program that must end now. Drains, too. */
void mx_service_stop(struct mx_service *service);
/* Waits until there is no job: 0, or MX_ERR_TIMEOUT. */
int mx_service_wait(struct mx_service *service, int timeout_ms);
/* NULL is fine. Every job has ended. */
void mx_service_close(struct mx_service *service);

/* ---- voices ---- */

struct mx_service_voice {         /* strings stay valid until the service is closed */
    const char *id;               /* unique; made of the name or the path: letters, digits, '-', '_', '.' */
    const char *name;             /* for people */
    const char *const *languages; /* codes: "en" */
    size_t language_count;
    const char *const *speakers;          /* empty: the voice has no names for its speakers */
    const char *const *speaker_languages; /* the code of each, "" if it is not known */
    size_t speaker_count;
    int rate;                          /* samples per second */
    const char *licence, *attribution; /* "" if unknown */
};

size_t mx_service_voice_count(const struct mx_service *service);
const struct mx_service_voice *mx_service_voice(const struct mx_service *service, size_t voice);

/* Finds the voice that a client means: an id, a name, ID/SPEAKER, or a speaker of any voice (the first that has one).
 * NULL, "" and the names that clients of OpenAI send without being asked (alloy …, tts-1 …) are the first voice.
 * *speaker is NULL, or a string of the service. MX_ERR_NOT_FOUND lists the voices in its hint. */
int mx_service_find(const struct mx_service *service, const char *name, size_t *voice, const char **speaker);

/* ---- jobs ---- */

struct mx_service_text {
    size_t voice;
    const char *speaker;  /* NULL: one who speaks the language, or that of the text (mx_voice_suit) */
    const char *language; /* a code; NULL: that of the speaker, or by the script of each paragraph */
    double speed, pitch_semitones, volume, pause_scale;
    uint64_t seed;
    bool ssml;
    bool streaming; /* text comes piece by piece: each sentence is spoken as soon as the next one begins. Otherwise, and
                       with SSML, the text is whole when mx_service_finish is called. */
};

#define MX_SERVICE_TEXT_DEFAULT ((struct mx_service_text){.speed = 1, .volume = 1, .pause_scale = 1})

/* Copies what it needs. A job has a place, of which there are queue_max, from its first sentence on, or from
 * mx_service_finish on if it has a text: if all are taken, that call, mx_service_read or, unless it streams, this one
 * returns MX_ERR_BUDGET; a client may try again after mx_service_retry_seconds. MX_ERR_CLOSED: the service drains.
 * MX_ERR_NOT_FOUND: no such speaker.
 * MX_ERR_ARGUMENT, MX_ERR_CONFIG, MX_ERR_USAGE: a number out of range, a language that the voice does not speak. */
int mx_service_begin(struct mx_service *service, const struct mx_service_text *text, struct mx_service_job **out);
/* MX_ERR_ARGUMENT: more than text_max bytes in all; nothing of this call is spoken then. */
int mx_service_add(struct mx_service_job *job, const char *text, size_t length);
/* There is no more text. May be called twice. MX_ERR_DATA: broken SSML, with line and column, or no text.
 * MX_ERR_BUDGET: there is no place for it. */
int mx_service_finish(struct mx_service_job *job);
/* Waits for sound: at most `room` samples, at the rate of the voice and before any limiter. 1: some; 0: the end (again
 * on later calls); MX_ERR_UNSUPPORTED: more sound than seconds_max; MX_ERR_TIMEOUT: nothing within timeout_ms (0: do not
 * wait, and before there is sound read only the next piece of the text; negative: no limit), try again; any other negative code: the job failed, and will again. */
int mx_service_read(struct mx_service_job *job, float *samples, size_t room, size_t *count, int timeout_ms);
/* Makes mx_service_read return MX_ERR_INTERRUPTED, in whatever thread, and frees the place of the job. */
void mx_service_cancel(struct mx_service_job *job);
/* In any state; no other thread uses the job. NULL is fine. */
void mx_service_end(struct mx_service_job *job);

/* Did it fail because it became more sound than seconds_max? */
bool mx_service_job_too_long(struct mx_service_job *job);
int mx_service_job_rate(const struct mx_service_job *job);
size_t mx_service_job_tokens(struct mx_service_job *job); /* that were spoken so far */
/* What was left out of the text so far, in words ("" if nothing): symbols that the voice never learned, skipped tags.
 * Valid until the next call of a function of this job. */
const char *mx_service_job_warning(struct mx_service_job *job);

/* ---- numbers ---- */

int mx_service_retry_seconds(struct mx_service *service); /* at least 1: when a place should be free */
size_t mx_service_text_max(const struct mx_service *service);

/* Upper limits of the classes of mx_service_counts.first_sound, in seconds; the last class has no limit. */
#define MX_SERVICE_FIRST_CLASSES 12
extern const double mx_service_first_limits[MX_SERVICE_FIRST_CLASSES];

struct mx_service_counts {
    uint64_t jobs;               /* that had a place */
    uint64_t finished;           /* spoken to the end */
    uint64_t failed, cancelled;  /* ended by an error; by the client before the end */
    uint64_t refused;            /* because the queue was full */
    uint64_t active;             /* now */
    uint64_t waiting;            /* of these: no sound yet */
    uint64_t pieces, batches;    /* pieces / batches is the mean batch size */
    uint64_t characters, tokens; /* of text, spoken */
    uint64_t unknown;            /* symbols left out */
    double sound_seconds;        /* made */
    double work_seconds;         /* of the networks */
    uint64_t
        first_sound[MX_SERVICE_FIRST_CLASSES + 1]; /* jobs by the time from finished or first text to first sound */
    double first_sound_seconds;                    /* sum of these times */
};
void mx_service_counts_read(struct mx_service *service, struct mx_service_counts *out);

#endif
