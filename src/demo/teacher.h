/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The synthetic teachers of demo corpora: installed speech programs that read a sentence into a WAV file.
 *
 * English is read by flite (voices slt, rms, awb), Persian by espeak-ng (fa and two of its variants). The programs are
 * looked up in PATH and started without a shell. Their exit codes do not say whether they could write the file or knew
 * the voice, so mx_teacher_check checks voices beforehand and the caller checks files afterwards.
 *
 * Memory: only constant strings are returned. Any thread may call.
 */
#ifndef MX_DEMO_TEACHER_H
#define MX_DEMO_TEACHER_H

#include <stdatomic.h>
#include <stdint.h>

#include "demo/sentences.h"

#define MX_TEACHER_SPEAKERS 3 /* voices of each language */

const char *mx_teacher_program(enum mx_language_id language);                   /* "flite" */
const char *mx_teacher_speaker(enum mx_language_id language, unsigned speaker); /* name in manifests: "slt" */
const char *mx_teacher_voice(enum mx_language_id language, unsigned speaker);   /* what the program calls it */

/* Checks that the program is installed and has the voices of the first `speakers` speakers. */
int mx_teacher_check(enum mx_language_id language, unsigned speakers);

struct mx_teacher_job {
    enum mx_language_id language;
    unsigned speaker;        /* below MX_TEACHER_SPEAKERS */
    const char *text;        /* one line of UTF-8 */
    const char *path;        /* the WAV file to write */
    uint64_t limit_ns;       /* longer is MX_ERR_TIMEOUT */
    const atomic_bool *stop; /* NULL, or set to true to end the work with MX_ERR_INTERRUPTED */
};

/* Reads one sentence into a file. If the program fails, MX_ERR_IO gives the first line of its output. */
int mx_teacher_speak(const struct mx_teacher_job *job);

#endif
