/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sentences of the advice. Terminals show them in English; for the page of a run (observe/page/page.h) the Persian ones
 * come from the catalogue (base/catalogue.h).
 *
 * In a sentence, "{0}" is the first value as a whole number, "{1.2}" the second with two decimals, and "{0s}" an "s"
 * unless the first value is shown as 1. In Persian, text between `…` is for a terminal and keeps Latin digits; all
 * other numbers get Persian digits.
 */
#ifndef MX_PIPELINE_ADVICE_WORDS_H
#define MX_PIPELINE_ADVICE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum mx_advice_sentence {
    MX_SAY_READING,
    MX_SAY_READ_WORKERS,
    MX_SAY_READ_DISK,
    MX_SAY_READ_CACHE,
    MX_SAY_READ_PACK,
    MX_SAY_READ_TOO,
    MX_SAY_LOAD,
    MX_SAY_LOAD_HIDDEN,
    MX_SAY_LOAD_WAITED,
    MX_SAY_WORKERS_SHARED,
    MX_SAY_WORKERS,
    MX_SAY_LOAD_AHEAD,
    MX_SAY_TRANSFER,
    MX_SAY_TRANSFER_HIDDEN,
    MX_SAY_NO_PATH,
    MX_SAY_COPY_LONG,
    MX_SAY_COPY_LATE,
    MX_SAY_DATA,
    MX_SAY_DATA_HIDDEN,
    MX_SAY_CORES,
    MX_SAY_FASTER_DATA,
    MX_SAY_UNEVEN,
    MX_SAY_VARIATION,
    MX_SAY_WAITED_TRANSFER,
    MX_SAY_FURTHER_AHEAD,
    MX_SAY_DIRECT_PATH,
    MX_SAY_WAITED_DATA,
    MX_SAY_PROCESS_SLOW,
    MX_SAY_MEMORY_DATA,
    MX_SAY_MEMORY_MODEL,
    MX_SAY_TRAINING_VARIES,
    MX_SAY_BETWEEN_STEPS,
    MX_SAY_COUNT
};

/* Never NULL. */
const char *mx_advice_sentence(enum mx_advice_sentence sentence, bool persian);

/* Appends the sentence with its values to the text in `out`; parts that do not fit are left out. */
void mx_advice_format(char *out, size_t bytes, enum mx_advice_sentence sentence, bool persian, const double *values);

#endif
