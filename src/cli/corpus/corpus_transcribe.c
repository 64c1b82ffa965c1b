/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts corpus transcribe: options → mx_transcribe_run → what it prints.
 */
#include "cli/corpus/corpus_transcribe.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "run/interrupt.h"

#define HINT "see 'myxtts corpus --help'"

static void report_print(const struct mx_transcribe_options *o, const struct mx_transcribe_report *r)
{
    const char *const unjudged = mx_doctor_judge_text(r->judge);
    const uint32_t suspects = r->differ + r->misfit;
    printf("%s: %" PRIu32 " rows from %" PRIu32 " files; %.1f minutes are used\n", o->folder, r->rows, r->files,
           r->seconds / 60);
    if (r->known > 0) printf("%" PRIu32 " files had been recognised before\n", r->known);
    if (r->empty > 0) printf("%" PRIu32 " files have no text: nothing was recognised in them\n", r->empty);
    if (r->failed > 0) printf("%" PRIu32 " files failed; the same command tries them again\n", r->failed);
    if (r->rejected > 0)
        printf("%" PRIu32 " rows cannot be used; 'myxtts check %s' says why\n", r->rejected, o->folder);
    if (r->differ > 0)
        printf("%" PRIu32 " rows are dropped because the recognisers differ in more than %.0f %% of the words\n",
               r->differ, 100 * o->difference);
    if (r->misfit > 0)
        printf("%" PRIu32 " rows are dropped because the voice does not find their text in the sound\n", r->misfit);
    if (suspects > 0) printf("%s/decisions.tsv names them; there you can keep or correct them\n", o->folder);
    if (r->people > 0) printf("%" PRIu32 " rows are as people decided\n", r->people);
    if (r->pipes > 0) printf("%" PRIu32 " signs '|' are left out: in a corpus they separate columns\n", r->pipes);
    if (unjudged != NULL) printf("%s\n", unjudged);
}

static int folder_choose(const char *const *folders, size_t count, const char **out)
{
    char quoted[96];
    if (count == 0) return MX_FAIL(MX_ERR_USAGE, HINT, "name the folder of the recordings");
    if (count > 1)
        return MX_FAIL(MX_ERR_USAGE, HINT, "unexpected argument %s",
                       mx_string_quote(quoted, sizeof quoted, folders[1]));
    *out = folders[0];
    return 0;
}

int mx_corpus_transcribe(const struct mx_corpus_transcribe_values *values, const char *const *folders, size_t count)
{
    struct mx_transcribe_options wanted = {
        .first = values->first,
        .second = values->second,
        .language = MX_ROW_LANGUAGE_DETECT,
        .voice = values->voice,
        .difference = values->difference > 0 ? (double)values->difference / 100 : MX_TRANSCRIBE_DIFFERENCE,
        .limit_seconds = values->limit > 0 ? (double)values->limit : MX_TRANSCRIBE_LIMIT_SECONDS,
        .workers = (int)values->workers,
        .speaker_folders = values->speaker_folders};
    struct mx_interrupt interrupt;
    struct mx_transcribe_report report;
    enum mx_language_id language;
    int rc = 0;
    MX_TRY(folder_choose(folders, count, &wanted.folder));
    if (values->first == NULL)
        MX_RAISE(MX_ERR_USAGE, "name a program that prints the text of a sound file, such as 'my-recogniser {}'",
                 "'--recogniser COMMAND' is missing");
    if (values->second == NULL && values->difference > 0)
        MX_RAISE(MX_ERR_USAGE, "add '--second COMMAND'", "'--difference' needs a second recogniser");
    if (values->language != NULL) {
        MX_TRY(mx_language_parse(values->language, &language));
        wanted.language = (int)language;
    }
    wanted.stop = mx_interrupt_watch(&interrupt, false);
    rc = mx_transcribe_run(&wanted, &report);
    mx_interrupt_restore(&interrupt);
    if (rc >= 0) report_print(&wanted, &report);
out:
    return rc;
}
