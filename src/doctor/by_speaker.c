/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows by speaker, see by_speaker.h.
 */
#include "doctor/by_speaker.h"

#include "base/alloc.h"
#include "myxtts/error.h"

int mx_doctor_by_speaker_build(const struct mx_manifest *manifest, bool (*takes)(const void *context, uint32_t row),
                               const void *context, struct mx_doctor_by_speaker *out)
{
    const uint32_t rows = manifest->utterance_count, speakers = manifest->speaker_count;
    out->count = 0;
    out->rows = mx_alloc(rows, sizeof *out->rows);
    out->first = mx_alloc((size_t)speakers + 2, sizeof *out->first);
    if (out->rows == NULL || out->first == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < rows; i++) /* two places on, so that first[s + 1] is right after filling */
        if (takes(context, i)) out->first[manifest->utterances[i].speaker + 2]++;
    for (uint32_t s = 2; s < speakers + 2; s++) out->first[s] += out->first[s - 1];
    for (uint32_t i = 0; i < rows; i++)
        if (takes(context, i)) out->rows[out->first[manifest->utterances[i].speaker + 1]++] = i;
    out->count = out->first[speakers];
    return 0;
}

void mx_doctor_by_speaker_release(struct mx_doctor_by_speaker *by)
{
    mx_free(by->rows);
    mx_free(by->first);
    *by = (struct mx_doctor_by_speaker){0};
}
