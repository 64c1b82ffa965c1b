/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The length of a recording by its header; see audio_probe.h. No memory is kept.
 */
#include "corpus/audio_probe.h"

#include <math.h>
#include <string.h>

#include "corpus/audio_internal.h"
#include "myxtts/error.h"

/* The resampler rounds, and the number of its samples may differ from the quotient by a few. */
#define MARGIN 64

double mx_audio_promised(const char *path)
{
    struct mx_audio_file file;
    struct mx_audio_report report = {0};
    if (mx_audio_file_open(path, &file, &report) == MX_REJECT_NONE) sf_close(file.handle);
    return report.seconds_promised;
}

int mx_audio_probe(struct mx_audio_reader *reader, const char *path, const struct mx_audio_options *options,
                   double seconds_plain, uint32_t *bound, struct mx_audio_report *report)
{
    struct mx_audio_file file;
    const float *samples = NULL;
    size_t count = 0;
    memset(report, 0, sizeof *report);
    *bound = 0;
    if (mx_audio_file_open(path, &file, report) != MX_REJECT_NONE) return 0;
    const double seconds = (double)file.info.frames / file.info.samplerate;
    sf_close(file.handle);
    if (file.info.frames > 0 && seconds >= options->seconds_min && seconds <= seconds_plain) {
        *bound = (uint32_t)ceil(seconds * MX_AUDIO_RATE) + MARGIN;
        return 0;
    }
    const int rc = mx_audio_load(reader, path, options, &samples, &count, report);
    if (rc == 0) *bound = (uint32_t)count;
    return report->reject != MX_REJECT_NONE ? 0 : rc;
}
