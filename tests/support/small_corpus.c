/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A small corpus of tones, see small_corpus.h.
 */
#include "support/small_corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sndfile.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/string.h"
#include "support/recording.h"

void small_corpus_make(const char *folder, uint32_t rows, unsigned faults)
{
    struct mx_string manifest = {0};
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
        mx_string_append(&manifest, "row-%02u|Tone %c, low.|tone %c, low.\n", row, 'a' + (int)(row % 26),
                         'a' + (int)(row % 26));
    }
    file_put_text(folder, "metadata.csv", manifest.data);
    mx_string_release(&manifest);
}

struct mx_prepare_options small_corpus_packing(const char *folder, const char *file)
{
    struct mx_prepare_options options = MX_PREPARE_OPTIONS_DEFAULT;
    options.corpus = folder;
    options.file = file;
    options.row.tokens = MX_TOKENS_CHARS;
    options.workers = 2;
    return options;
}

struct mx_dataset_options small_corpus_opening(const char *path, const char *cache)
{
    struct mx_dataset_options options = MX_DATASET_OPTIONS_DEFAULT;
    options.path = path;
    options.cache = cache;
    options.row.tokens = MX_TOKENS_CHARS;
    options.workers = 2;
    return options;
}

struct mx_dataset_reader *small_corpus_reader(struct mx_dataset *dataset)
{
    struct mx_dataset_reader *reader;
    assert_int_equal(mx_dataset_reader_create(dataset, &reader), 0);
    return reader;
}

int small_place_make(void **state)
{
    struct small_place *const place = mx_alloc(1, sizeof *place);
    place->folder = folder_make();
    folder_add(place->folder, "corpus");
    place->corpus = mx_format("%s/corpus", place->folder);
    place->file = mx_format("%s/made.pack", place->folder);
    place->part = mx_format("%s.part", place->file);
    place->rejects = mx_format("%s.rejects.tsv", place->file);
    place->cache = mx_format("%s/cache.pack", place->folder);
    place->cache_part = mx_format("%s.part", place->cache);
    *state = place;
    return 0;
}

int small_place_remove(void **state)
{
    struct small_place *const place = *state;
    folder_remove(place->folder);
    mx_free(place->corpus);
    mx_free(place->file);
    mx_free(place->part);
    mx_free(place->rejects);
    mx_free(place->cache);
    mx_free(place->cache_part);
    mx_free(place);
    return 0;
}
