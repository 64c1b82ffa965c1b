/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the doctor found, on the terminal: short, since lists, JSON and page have all of it; see check_report.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/string.h"
#include "cli/check/check_report.h"

#define SUSPECTS_SHOWN 10
#define UNITS_SHOWN    16

static void sound_print(const struct mx_doctor *doctor)
{
    const struct mx_doctor_sound_summary *const s = &doctor->summary;
    if (s->rows == 0) return;
    printf("\nSound, usually\n");
    printf("  speech     %.0f dB above the background, up to %.0f Hz\n", s->above_noise_db, s->bandwidth_hz);
    printf("  level      %.1f dB, %.1f dB between quiet and loud rows\n", s->level_db, doctor->level_spread_db);
    if (s->decay_rows > 0) printf("  echo       sound dies away in %.2f s\n", s->decay_seconds);
}

/* One row with all of its findings. */
static void suspect_print(const struct mx_doctor *doctor, const struct mx_doctor_suspect *suspect)
{
    char plain[MX_COMMAND_PLAIN_BYTES];
    printf("  %s: ", mx_string_plain(plain, sizeof plain, doctor->report.manifest->utterances[suspect->row].id));
    for (size_t i = 0; i < suspect->count; i++) {
        struct mx_string words = {0};
        if (mx_doctor_finding_format(&words, MX_WORDS_ENGLISH, &doctor->findings.items[suspect->first + i]) == 0)
            printf("%s%s", i > 0 ? "; " : "", mx_string_plain(plain, sizeof plain, words.data));
        mx_string_release(&words);
    }
    printf("\n");
}

static void suspects_print(const struct mx_doctor *doctor)
{
    char plain[MX_COMMAND_PLAIN_BYTES];
    const char *const why = mx_doctor_judge_text(doctor->judge);
    printf("\nSuspect rows: %" PRIu32 "\n", doctor->suspect_count);
    if (why != NULL)
        printf("  %s\n", why);
    else
        printf("  The voice %s judged whether texts and recordings belong together, in %" PRIu32 " rows.\n",
               mx_string_plain(plain, sizeof plain, doctor->scores.voice), doctor->scores.scored);
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (doctor->scores.unscored_languages[i] > 0)
            printf("  It does not know %s: %" PRIu32 " rows were not judged.\n",
                   mx_language_get((enum mx_language_id)i)->name, doctor->scores.unscored_languages[i]);
    for (int i = 0; i < MX_DOCTOR_FINDING_COUNT; i++)
        if (doctor->kinds[i] > 0)
            printf("  %8" PRIu32 "  %s\n", doctor->kinds[i], mx_doctor_finding_name((enum mx_doctor_finding_kind)i));
    if (doctor->suspect_count > 0) printf("The worst of them\n");
    for (uint32_t i = 0; i < doctor->suspect_count && i < SUSPECTS_SHOWN; i++)
        suspect_print(doctor, &doctor->suspects[i]);
}

/* The missing or the rare ones: [begin, end). */
static void units_print(const char *title, const struct mx_doctor_units *units, uint32_t begin, uint32_t end)
{
    if (begin == end) return;
    printf("  %-14s", title);
    for (uint32_t i = begin; i < end && i - begin < UNITS_SHOWN; i++)
        printf("%s%s", i > begin ? ", " : " ", units->items[i].name);
    printf(end - begin > UNITS_SHOWN ? " … and %" PRIu32 " more\n" : "\n", end - begin - UNITS_SHOWN);
}

static void coverage_print(const struct mx_doctor *doctor)
{
    for (uint32_t i = 0; i < doctor->coverage.language_count; i++) {
        const struct mx_doctor_language *const l = &doctor->coverage.languages[i];
        const struct mx_doctor_units *const one = &l->single, *const two = &l->pair;
        printf("\nSounds of %s: %" PRIu32 ", and %" PRIu32 " pairs", mx_language_get(l->language)->name, one->count,
               two->count);
        if (l->reference == 0) {
            printf("; what is missing is not known: '--text FILE' gives sentences of the language\n");
            continue;
        }
        printf("; missing: %" PRIu32 " and %" PRIu32 ", rare: %" PRIu32 " and %" PRIu32 "\n", one->missing,
               two->missing, one->rare, two->rare);
        units_print("missing", one, 0, one->missing);
        units_print("rare", one, one->missing, one->missing + one->rare);
        units_print("missing pairs", two, 0, two->missing);
        units_print("rare pairs", two, two->missing, two->missing + two->rare);
    }
}

static void records_print(const struct mx_doctor_records *records)
{
    char plain[MX_COMMAND_PLAIN_BYTES];
    if (records->count == 0) return;
    printf("\nSentences to record next\n");
    for (uint32_t i = 0; i < records->count; i++)
        printf("  %s\n", mx_string_plain(plain, sizeof plain, records->items[i].text));
}

void mx_command_check_print_doctor(const struct mx_command_check_report *report)
{
    const struct mx_doctor *const doctor = report->doctor;
    char plain[MX_COMMAND_PLAIN_BYTES];
    sound_print(doctor);
    coverage_print(doctor);
    records_print(&doctor->records);
    suspects_print(doctor);
    if (doctor->suspect_count > 0)
        printf("All suspect rows are listed in %s\n", mx_string_plain(plain, sizeof plain, report->suspects));
}
