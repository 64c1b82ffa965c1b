/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the arguments of the operations that only the vocoder needs must look like; see ops_check.c.
 */
#include "device/ops_walk.h"

DESCRIBE(mel_base)
{
    mel_tables(walk, a->fft_size, a->bands, a->weights);
    dimension(walk, "rows", a->rows);
    finite_number(walk, "mean", a->mean);
    finite_number(walk, "deviation", a->deviation);
    tensor(walk, "mel", a->mel, times(a->rows, a->bands), READ);
    tensor(walk, "tables", a->tables, 3 * (int64_t)a->fft_size + 2 * (int64_t)a->bands + 1 + a->weights, READ);
    tensor(walk, "places", a->places, 3 * ((int64_t)a->fft_size / 2 + 1), READ);
    tensor(walk, "input", a->input, times(a->rows, a->bands), WRITTEN_OPTIONAL);
    tensor(walk, "base", a->base, times(a->rows, (int64_t)a->fft_size / 2 + 1), WRITTEN);
}
