/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts prepare DIR --output FILE: makes a packed corpus, which training opens at once.
 *
 * An interrupt (Ctrl-C) or SIGTERM ends the work with exit code 4 and keeps all finished rows; a kill keeps them, too,
 * but without that exit code. The same command continues the work.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/corpus/corpus_options.h"
#include "corpus/prepare.h"
#include "cut/long.h"
#include "myxtts/error.h"
#include "run/feature_stage.h"
#include "run/interrupt.h"

struct values {
    struct mx_corpus_values corpus;
    const char *output, *recipe;
    const char *cut_long, *cut_voice;
    bool features, allow_rejects, force;
};

static const char *const switches[] = {"on", "off", NULL};
#define CUT_SUFFIX ".cut" /* of the folder of pieces */

static const struct mx_option options[] = {
    {MX_OPTION_STRING(struct values, output, "output", "FILE", NULL, "Packed corpus to write. Required."),
     .letter = 'o', .former = "out"},
    {MX_OPTION_FLAG(struct values, features, "features",
                    "Store mel, energy and pitch instead of audio. Training then cannot augment the sound.")},
    MX_CORPUS_OPTIONS(struct values),
    {MX_OPTION_CHOICE(
        struct values, cut_long, "cut-long", "on|off", switches, "on",
        "Cut recordings that are longer than '--max-seconds' at pauses, each piece with its part of the text; "
        "what cannot be cut is rejected.")},
    {MX_OPTION_STRING(
        struct values, cut_voice, "cut-voice", "VOICE", "the installed base voice",
        "Voice that finds the words of long recordings: an installed voice, or a run folder, checkpoint or "
        "voice file.")},
    MX_RECIPE_OPTION(struct values),
    {MX_OPTION_FLAG(struct values, allow_rejects, "allow-rejects",
                    "Continue even if more than 5 % of the rows are rejected.")},
    {MX_OPTION_FLAG(struct values, force, "force", "Start over even if the file is up to date or partly written.")},
};

static const struct mx_example examples[] = {
    {"myxtts prepare my-corpus --output my-corpus.pack", "decodes and resamples all recordings into one file"},
    {"myxtts prepare my-corpus --output my-corpus.pack", "run again: reports that the file is up to date"},
    {"myxtts prepare my-corpus --output my-features.pack --features", "stores features instead of audio"},
    {"myxtts prepare my-corpus -o wide.pack --recipe mx-mel-24k-100", "for a voice with 24,000 samples per second"},
};

/* ---- the report ---- */

static void report_print(const char *file, const struct mx_prepare_report *report, const struct mx_cut_long_report *cut)
{
    const double elapsed = (double)report->elapsed_ns * 1e-9;
    printf("%s%s\n", file, report->up_to_date ? " is up to date" : "");
    printf("  rows       %" PRIu32 ": %" PRIu32 " good, %" PRIu32 " rejected\n", report->rows, report->good,
           report->rejected);
    if (cut->cut > 0)
        printf("  cut        %" PRIu32 " of %" PRIu32 " long rows, into %" PRIu32 " rows; they are in %s" CUT_SUFFIX
               "\n",
               cut->cut, cut->rows, cut->pieces, file);
    for (int i = 1; i < MX_REJECT_COUNT; i++)
        if (report->reasons[i] > 0)
            printf("  %8" PRIu32 " %-16s %s\n", report->reasons[i], mx_reject_name((enum mx_reject)i),
                   mx_reject_text((enum mx_reject)i));
    const double unit = report->seconds < 3600 ? 60 : 3600; /* of time */
    printf("  audio      %.2f %s, %" PRIu32 " speaker%s, %zu tokens in the vocabulary\n", report->seconds / unit,
           unit > 60 ? "h" : "min", report->speakers, report->speakers == 1 ? "" : "s", report->tokens);
    printf("  file       %.1f MB\n", (double)report->bytes / 1e6);
    if (report->up_to_date) return;
    printf("  time       %.1f s with %d worker%s", elapsed, report->workers, report->workers == 1 ? "" : "s");
    if (report->kept > 0) printf("; %" PRIu32 " rows were kept from before", report->kept);
    printf("\n");
    if (report->rejected > 0) printf("The rejected rows are listed in %s" MX_PREPARE_REJECTS_SUFFIX "\n", file);
}

/* Why a file that was there is not used, line by line. */
static void changes_log(const char *file, const struct mx_prepare_report *report)
{
    if (report->changes == 0 || report->changed.data == NULL) return;
    mx_info("%s was not up to date and had to be made again:", file);
    for (const char *line = report->changed.data; *line != '\0';) {
        int length = 0;
        while (line[length] != '\n' && line[length] != '\0') length++;
        mx_info("  %.*s", length, line);
        line += length + (line[length] == '\n');
    }
}

/* ---- running ---- */

static int wanted_read(const struct values *values, struct mx_prepare_options *wanted, struct mx_lexicon **lexicon)
{
    int rc = 0;
    MX_TRY(mx_corpus_values_read(&values->corpus, &wanted->manifest, &wanted->row, &wanted->workers, lexicon));
    wanted->row.audio.rate = mx_recipe_find(values->recipe)->rate;
    wanted->force = values->force;
    if (values->allow_rejects) wanted->rejects_max = 1.0;
out:
    return rc;
}

/* Cuts rows that are too long; *folder, which `wanted` then points to, is the caller's to free. */
static int long_cut(const struct values *values, struct mx_prepare_options *wanted, struct mx_cut_long_report *report,
                    char **folder)
{
    int rc = 0;
    const struct mx_cut_long_options long_rows = {.corpus = wanted->corpus,
                                                  .manifest = wanted->manifest,
                                                  .audio = wanted->row.audio,
                                                  .folder = *folder = mx_format("%s" CUT_SUFFIX, wanted->file),
                                                  .voice = values->cut_voice,
                                                  .language = wanted->row.language,
                                                  .workers = wanted->workers,
                                                  .stop = wanted->stop};
    if (*folder == NULL) return MX_ERR_NO_MEMORY;
    if (values->cut_long != NULL && strcmp(values->cut_long, "off") == 0) return 0;
    MX_TRY(mx_cut_long_run(&long_rows, report));
    if (report->cut > 0) wanted->manifest.pieces = *folder;
out:
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    const char *const hint = "see 'myxtts prepare --help'";
    struct mx_interrupt interrupt;
    struct mx_prepare_report report = {0};
    struct mx_cut_long_report cut = {0};
    char *pieces = NULL;
    struct mx_feature_stage *stage = NULL;
    struct mx_lexicon *lexicon = NULL;
    struct mx_prepare_options wanted = MX_PREPARE_OPTIONS_DEFAULT;
    if (operands->count == 0) return MX_FAIL(MX_ERR_USAGE, hint, "name the corpus folder, or its manifest file");
    if (values->output == NULL || values->output[0] == '\0')
        return MX_FAIL(MX_ERR_USAGE, hint, "'--output FILE' is missing");
    wanted.corpus = operands->items[0];
    wanted.file = values->output;
    MX_TRY(wanted_read(values, &wanted, &lexicon));
    if (values->features) {
        MX_TRY(mx_feature_stage_create(wanted.workers, mx_recipe_find(values->recipe), wanted.row.audio.seconds_max,
                                       &stage));
        wanted.stage = mx_feature_stage_get(stage);
    }
    wanted.stop = mx_interrupt_watch(&interrupt, false);
    rc = long_cut(values, &wanted, &cut, &pieces);
    if (rc >= 0) rc = mx_prepare_run(&wanted, &report);
    mx_interrupt_restore(&interrupt);
    changes_log(values->output, &report);
    if (rc >= 0) report_print(values->output, &report, &cut);
out:
    mx_free(pieces);
    mx_prepare_release(&report);
    mx_feature_stage_destroy(stage);
    mx_lexicon_destroy(lexicon);
    return rc;
}

const struct mx_command mx_command_prepare = {
    .name = "prepare",
    .page =
        {
            .command = "myxtts prepare",
            .operands = "DIR",
            .operand_max = 1,
            .summary = "pack a corpus into one file that training opens at once",
            .description =
                "DIR is a corpus folder or its manifest file, in any format that 'myxtts check' reads. All cores "
                "decode the recordings, resample them, trim silence, adjust the level and turn the texts "
                "into tokens. Recordings that are too long are cut at pauses into FILE.cut by a voice that finds the "
                "words of "
                "the text ('--cut-long'). Rows that cannot be used are counted by reason and listed in "
                "FILE.rejects.tsv.\nData is "
                "written to FILE.part and renamed at the end, so FILE is always complete. After an interruption the "
                "same command continues where it stopped. A file that is up to date is left alone; manifest, sizes and "
                "times of the recordings, and options decide that.\nThe exit code is 2 if more than 5 % of the rows "
                "are rejected, unless '--allow-rejects' is given.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
