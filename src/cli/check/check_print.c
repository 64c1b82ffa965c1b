/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report of `myxtts check` on the terminal: rows, reasons, durations, speakers, symbols; see check_report.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/string.h"
#include "cli/check/check_report.h"

#define SPEAKERS_SHOWN 20
#define BAR_COLUMNS    40
#define SYMBOL_COLUMNS 5

static void histogram_print(const char *title, const char *unit, const struct mx_histogram *histogram, int digits)
{
    uint64_t most = 1;
    uint32_t first = 0;
    while (first + 1 < histogram->bins && histogram->counts[first] == 0) first++;
    for (uint32_t i = 0; i < histogram->bins; i++)
        if (histogram->counts[i] > most) most = histogram->counts[i];
    printf("\n%s, %s: from %.*f to %.*f, mean %.1f\n", title, unit, digits, histogram->least, digits, histogram->most,
           histogram->mean);
    for (uint32_t i = first; i < histogram->bins; i++) {
        const uint64_t count = histogram->counts[i];
        const int columns = (int)((count * BAR_COLUMNS + most - 1) / most); /* a single row is seen too */
        printf("  %6.*f … %-6.*f %8" PRIu64 " %.*s\n", histogram->width < 1 ? 1 : 0, i * histogram->width,
               histogram->width < 1 ? 1 : 0, (i + 1) * histogram->width, count, columns,
               "########################################");
    }
}

static void reasons_print(const struct mx_check_report *report)
{
    printf("\nRejected rows by reason\n");
    for (int i = 1; i < MX_REJECT_COUNT; i++)
        if (report->reasons[i] > 0)
            printf("  %8" PRIu32 "  %-16s %s\n", report->reasons[i], mx_reject_name((enum mx_reject)i),
                   mx_reject_text((enum mx_reject)i));
    if (report->reasons[MX_REJECT_TOO_LONG] > 0)
        printf("  Those that are too long (%" PRIu32
               ") can be cut at pauses: 'prepare' and 'train' do so ('--cut-long')\n",
               report->reasons[MX_REJECT_TOO_LONG]);
}

static void speakers_print(const struct mx_check_report *report, const struct mx_doctor_people *people)
{
    const bool several = report->speaker_count > 1;
    char plain[MX_COMMAND_PLAIN_BYTES];
    printf("\nSpeakers: %" PRIu32 "\n", report->speaker_count);
    if (several) printf("  %28s  an epoch has each row, with data.balance=speaker and =root:\n", "");
    for (uint32_t i = 0; i < report->speaker_count && i < SPEAKERS_SHOWN; i++) {
        const struct mx_check_speaker *const speaker = &report->speakers[i];
        printf("  %8" PRIu32 " rows %8.1f min  ", speaker->rows, speaker->seconds / 60);
        if (several)
            printf("%6.2f and %5.2f times  ", speaker->times[MX_BALANCE_SPEAKER], speaker->times[MX_BALANCE_ROOT]);
        if (i < people->count && people->list[i].pitch_middle > 0)
            printf("%4.0f to %3.0f Hz  ", people->list[i].pitch_low, people->list[i].pitch_high);
        printf("%s\n", mx_string_plain(plain, sizeof plain, speaker->name));
    }
    if (report->speaker_count > SPEAKERS_SHOWN)
        printf("  … and %" PRIu32 " more; --json lists all\n", report->speaker_count - SPEAKERS_SHOWN);
}

void mx_command_check_print(const struct mx_command_check_report *full)
{
    const struct mx_check_report *const report = &full->doctor->report;
    char name[MX_SYMBOL_NAME_BYTES], plain[MX_COMMAND_PLAIN_BYTES];
    printf("%s\n", mx_string_plain(plain, sizeof plain, full->path));
    for (uint32_t i = 0; i < report->manifest->source_count; i++) {
        const struct mx_manifest_source *const source = &report->manifest->sources[i];
        printf("  manifest   %s: %s (%s), %" PRIu32 " rows\n", mx_string_plain(plain, sizeof plain, source->path),
               mx_manifest_format_name(source->format), source->columns, source->rows);
    }
    printf("  rows       %" PRIu32 ": %" PRIu32 " good, %" PRIu32 " rejected (%.1f %%)\n", report->rows, report->good,
           report->rejected, 100.0 * report->rejected / (report->rows == 0 ? 1 : report->rows));
    const double unit = report->seconds < 3600 ? 60 : 3600; /* of time */
    printf("  audio      %.2f %s, %.2f without the silence at the ends\n", report->seconds / unit,
           unit > 60 ? "h" : "min", report->seconds_used / unit);
    printf("  rate       from %.1f to %.1f sounds a second are believable\n", report->rate.least, report->rate.most);
    printf("  split      %" PRIu32 " rows for training, %" PRIu32 " for validation\n", report->training,
           report->validation);
    printf("  languages ");
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (report->languages[i] > 0)
            printf(" %s %" PRIu32, mx_language_get((enum mx_language_id)i)->name, report->languages[i]);
    printf("%s\n", report->good == 0 ? " none" : "");
    if (report->rejected > 0) reasons_print(report);
    if (report->good > 0) {
        histogram_print("Duration", "seconds", &report->durations, 1);
        histogram_print("Text", "characters", &report->lengths, 0);
        speakers_print(report, &full->doctor->people);
        printf("\nSymbols: %" PRIu32 "\n", report->symbol_count);
        for (uint32_t i = 0; i < report->symbol_count; i++) {
            printf("  %s %-8" PRIu64, mx_symbol_name(report->symbols[i].code, name), report->symbols[i].count);
            if (i % SYMBOL_COLUMNS == SYMBOL_COLUMNS - 1 || i + 1 == report->symbol_count) printf("\n");
        }
    }
    mx_command_check_print_doctor(full);
}
