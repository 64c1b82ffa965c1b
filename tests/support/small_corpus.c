/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A small corpus of tones, see small_corpus.h.
 */
#include "support/small_corpus.h"

#include <sndfile.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "support/recording.h"

void small_corpus_make(const char *folder, uint32_t rows, unsigned faults)
{
    struct mx_text manifest = {0};
    folder_add(folder, "wavs");
    for (uint32_t row = 0; row < rows; row++) {
        char name[32];
        snprintf(name, sizeof name, "wavs/row-%02u.wav", row);
        const struct tone tone = {.rate = row % 2 == 0 ? 22050 : 16000,
                                  .channels = 1,
                                  .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                                  .hertz = 110.0 + 20.0 * row,
                                  .height = row == 2 && (faults & SMALL_SILENT) != 0 ? 0.0 : 0.3,
                                  .seconds = 0.6 + 0.07 * (row * 7 % 11),
                                  .silence_before = 0.1,
                                  .silence_after = 0.05 * (row % 3)};
        if (row != 4 || (faults & SMALL_MISSING) == 0) tone_write(folder, name, &tone);
        mx_text_append(&manifest, "row-%02u|Tone %c, low.|tone %c, low.\n", row, 'a' + (int)(row % 26),
                       'a' + (int)(row % 26));
    }
    file_put_text(folder, "metadata.csv", manifest.data);
    mx_text_release(&manifest);
}
