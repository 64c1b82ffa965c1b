/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of a corpus by speaker, so that work for each speaker visits each row once, however many speakers there
 * are. For src/doctor only.
 *
 * Memory: a list owns its arrays; mx_doctor_by_speaker_release frees them.
 */
#ifndef MX_DOCTOR_BY_SPEAKER_H
#define MX_DOCTOR_BY_SPEAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "corpus/manifest/manifest.h"

struct mx_doctor_by_speaker {
    uint32_t *rows;  /* [count]: those of speaker s, as the manifest has them, are rows[first[s] … first[s + 1]) */
    uint32_t *first; /* [speakers of the manifest + 1] */
    uint32_t count;
};

/* The rows that `takes` wants. To be released also after a failure. */
int mx_doctor_by_speaker_build(const struct mx_manifest *manifest, bool (*takes)(const void *context, uint32_t row),
                               const void *context, struct mx_doctor_by_speaker *out);
void mx_doctor_by_speaker_release(struct mx_doctor_by_speaker *by);

#endif
