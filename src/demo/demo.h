/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Demo corpora: a folder in the layout of LJSpeech in which a synthetic teacher (teacher.h) reads the sentences of this
 * project (sentences.h).
 *
 *     DIR/demo.json      what the folder was made from; written first, compared when the folder is met again
 *     DIR/README.txt     says plainly that the voice is synthetic, and which program it is
 *     DIR/wavs/ID.wav    one file per sentence, 16-bit mono; a file under its final name is whole
 *     DIR/metadata.csv   one speaker: ID|written|spoken (LJSpeech); more: ID|speaker|spoken (Piper; the names of
 *                        speakers hold no spaces). Lists only files that exist; written last.
 *
 * demo.json is one object: {"format": "myxtts demo corpus", "version": 1, "language": "en", "count": N, "speakers": K,
 * "seed": "S", "teacher": "flite", "texts": hash of all rows, 16 hexadecimal digits}. Seed and hash are strings because
 * JSON numbers hold only 53 bits.
 *
 * Row i of a corpus with several speakers: of every 20 sentences a speaker reads, one is read by all speakers, the
 * others only by that speaker. Speakers take turns, so that every prefix of the corpus is balanced.
 *
 * A run may end at any moment (failure, stop, kill -9); the next run with the same parameters keeps all good files and
 * makes the missing ones. Two programs cannot work in one folder at a time (flock on the folder).
 */
#ifndef MX_DEMO_DEMO_H
#define MX_DEMO_DEMO_H

#include <stdatomic.h>
#include <stdint.h>

#include "demo/sentences.h"
#include "demo/teacher.h"

struct mx_demo_options {
    const char *folder; /* created if missing; otherwise empty, or from an earlier run with the same parameters */
    enum mx_language_id language;
    uint32_t count;    /* sentences in all; at least one for each speaker */
    uint32_t speakers; /* 1 … MX_TEACHER_SPEAKERS */
    uint64_t seed;
    int workers;             /* speech programs that run at the same time; 0: one per core */
    const atomic_bool *stop; /* NULL, or set to true to end early with MX_ERR_INTERRUPTED and a consistent folder */
};

struct mx_demo_report {
    uint32_t made, kept; /* files read now, files of earlier runs */
    double seconds;      /* of audio in all of them */
    uint64_t bytes;
};

/* The largest `count` for which there are enough different sentences. */
uint32_t mx_demo_count_max(enum mx_language_id language, uint32_t speakers);

/* Makes or completes the folder. *report is filled on failure too, with the state of the folder. */
int mx_demo_write(const struct mx_demo_options *options, struct mx_demo_report *report);

#endif
