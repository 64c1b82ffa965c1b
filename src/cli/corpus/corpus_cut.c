/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts corpus cut: options → mx_cut_run → what it prints.
 */
#include "cli/corpus/corpus_cut.h"

#include <inttypes.h>
#include <stdio.h>

#include "align/text.h"
#include "base/log.h"
#include "checkpoint/installed.h"
#include "cut/cut.h"
#include "myxtts/error.h"
#include "run/interrupt.h"

#define HINT "see 'myxtts corpus --help'"

static void report_print(const struct mx_cut_options *o, const struct mx_cut_report *r)
{
    printf("%s: %zu rows, %.1f minutes of %.1f; %" PRId32 " of %" PRId32 " words\n", o->folder, r->rows,
           r->seconds_rows / 60, r->seconds / 60, r->words_rows, r->words);
    if (r->whole > 0) printf("%zu of the rows were short enough and are taken whole\n", r->whole);
    if (r->refused > 0) printf("%zu rows could not be used; the messages above name them\n", r->refused);
    if (r->words_missing > 0) printf("%" PRId32 " words are missing in the sound\n", r->words_missing);
    if (r->words_unfit > 0)
        printf("%" PRId32 " words are left out because they do not fit the sound\n", r->words_unfit);
    if (r->seconds_other >= 1) printf("%.1f s of the sound are not in the text\n", r->seconds_other);
    if (r->pipes > 0) printf("%zu signs '|' of the text are left out: in a corpus they separate columns\n", r->pipes);
    if (r->left > 0) printf("%s/left_out.tsv lists what is left out and why, in %zu lines\n", o->folder, r->left);
}

int mx_corpus_cut(const struct mx_corpus_cut_values *values, const char *const *sounds, size_t count)
{
    struct mx_cut_options wanted = {.sounds = sounds,
                                    .sound_count = count,
                                    .text = values->text,
                                    .voice = values->voice != NULL ? values->voice : MX_INSTALLED_BASE,
                                    .folder = values->output,
                                    .device = values->device,
                                    .cpu_devices = (int)values->cpu_devices,
                                    .language = MX_ALIGN_DETECT};
    struct mx_interrupt interrupt;
    struct mx_cut_report report;
    enum mx_language_id language;
    int rc = 0;
    if (values->text == NULL) MX_RAISE(MX_ERR_USAGE, HINT, "'--text FILE' is missing");
    if (values->output == NULL) MX_RAISE(MX_ERR_USAGE, HINT, "'--output DIR' is missing");
    if (values->language != NULL) {
        MX_TRY(mx_language_parse(values->language, &language));
        wanted.language = (int)language;
    }
    wanted.stop = mx_interrupt_watch(&interrupt, false);
    rc = mx_cut_run(&wanted, &report);
    mx_interrupt_restore(&interrupt);
    if (rc >= 0) report_print(&wanted, &report);
out:
    return rc;
}
