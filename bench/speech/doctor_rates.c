/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * doctor_rates MANIFEST FOLDER [VOICE]: how often the doctor (doctor/score/score.h, doctor/people.h) is right about rows whose
 * text or sound was damaged in known ways.
 *
 * A tenth of the rows of the manifest that have 3 words and 1 to 10 seconds are damaged, in turn: two rows that are near
 * each other exchange their texts; a word of 3 letters or more is missing in the text, or added to it from another row;
 * the recording of another row is appended; the second half of the recording is missing; the recording and its text are
 * those of another speaker (if there are several). The damaged corpus is written to FOLDER, checked and scored; five
 * times, with other rows each time. Prints how many of each kind were suspected, by which findings, how many undamaged
 * rows were, and the processor time. FOLDER/rows-N.tsv have all rows: damage, why there is no score, score, deviations,
 * seconds, id, text, score of the words that are heard, findings.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/string.h"
#include "corpus/audio/audio.h"
#include "corpus/check.h"
#include "corpus/manifest/manifest.h"
#include "doctor/people.h"
#include "doctor/score/score.h"
#include "myxtts/error.h"
#include "speech/wav.h"

#define ROUNDS 5  /* with other rows each time */
#define NEAR   8  /* rows that texts are exchanged over */
#define EVERY  10 /* rows of which one is damaged */

enum damage { NONE, SWAPPED, REMOVED, ADDED, JOINED, HALVED, REPLACED, DAMAGES };

static const char *const names[] = {"undamaged",          "text of another row", "word missing in text",
                                    "word added to text", "two recordings",      "half of the recording",
                                    "another speaker"};

struct tally {
    uint32_t rows, rejected, suspected, kinds[MX_DOCTOR_FINDING_COUNT];
};

struct bench {
    const struct mx_manifest *manifest;
    struct mx_audio_reader *reader;
    const char *folder;
    enum damage *damages; /* [utterances] */
    const char **texts;   /* [utterances]; may be those of other rows */
    FILE *list;
    uint32_t round;
    struct tally tallies[DAMAGES]; /* of all rounds, as the rest */
    double seconds, check_seconds, score_seconds;
    uint32_t rows, scored;
};

static uint64_t drawn; /* numbers so far */

static uint32_t draw(uint32_t below)
{
    return (uint32_t)mx_rng_below(1, 1, drawn++, below);
}

/* ---- damaging ---- */

static size_t words_count(const char *text)
{
    size_t count = 0;
    for (const char *at = text; *at != '\0';) {
        at += strspn(at, " ");
        if (*at != '\0') count++;
        at += strcspn(at, " ");
    }
    return count;
}

/* Word `index` of a text. */
static const char *word_at(const char *text, size_t index, size_t *length)
{
    const char *at = text + strspn(text, " ");
    for (; index > 0; index--) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    *length = strcspn(at, " ");
    return at;
}

/* A word of 3 bytes or more, if there is one. */
static const char *word_draw(const char *text, size_t *length)
{
    const char *word = NULL;
    for (int i = 0; i < 20; i++) {
        word = word_at(text, draw((uint32_t)words_count(text)), length);
        if (*length >= 3) break;
    }
    return word;
}

static bool is_fit(const struct mx_utterance *u)
{
    return words_count(u->text) >= 3 && mx_audio_promised(u->audio) >= 1 && mx_audio_promised(u->audio) <= 10;
}

/* Another row of the same speaker, or of another one. */
static const struct mx_utterance *other_draw(const struct bench *b, const struct mx_utterance *u, bool same)
{
    for (int i = 0; i < 10000; i++) {
        const struct mx_utterance *const o = &b->manifest->utterances[draw(b->manifest->utterance_count)];
        if (o != u && is_fit(o) && (o->speaker == u->speaker) == same && strcmp(o->text, u->text) != 0) return o;
    }
    return NULL;
}

static int sound_damage(const struct bench *b, const struct mx_utterance *u, const struct mx_utterance *o,
                        enum damage damage, const char *path)
{
    const struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    struct mx_audio_report report;
    const float *samples;
    float *all = NULL;
    size_t count, kept;
    int rc = 0;
    MX_TRY(mx_audio_load(b->reader, u->audio, &reading, &samples, &count, &report));
    kept = damage == HALVED ? count / 2 : count;
    all = mx_alloc(kept, sizeof *all);
    if (all == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    memcpy(all, samples, kept * sizeof *all);
    if (damage == JOINED) {
        MX_TRY(mx_audio_load(b->reader, o->audio, &reading, &samples, &count, &report));
        float *const grown = mx_realloc(all, kept + count, sizeof *all);
        if (grown == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        all = grown;
        memcpy(all + kept, samples, count * sizeof *all);
        kept += count;
    }
    MX_TRY(mx_wav_write(path, all, kept, MX_AUDIO_RATE_DEFAULT, MX_WAV_PCM16));
out:
    mx_free(all);
    return rc;
}

static void row_write(const struct bench *b, const struct mx_utterance *u, const char *audio, const char *text,
                      const char *language)
{
    fprintf(b->list, "%s|%s|%s|%s\n", audio, text, u->speaker_name, language != NULL ? language : "");
}

static int row_damage(const struct bench *b, uint32_t i, enum damage damage)
{
    const struct mx_utterance *const u = &b->manifest->utterances[i];
    const struct mx_utterance *const o = damage == NONE ? NULL : other_draw(b, u, damage != REPLACED);
    const size_t words = words_count(u->text);
    char text[4096], path[512];
    size_t length;
    int rc = 0;
    snprintf(path, sizeof path, "%s/%u.wav", b->folder, i);
    snprintf(text, sizeof text, "%s", u->text);
    if (o == NULL) {
        b->damages[i] = NONE;
        row_write(b, u, u->audio, u->text, u->language);
    } else if (damage == SWAPPED) {
        row_write(b, u, u->audio, b->texts[i], u->language);
    } else if (damage == REMOVED) {
        const char *const word = word_draw(u->text, &length);
        snprintf(text, sizeof text, "%.*s%s", (int)(word - u->text), u->text, word + length);
        row_write(b, u, u->audio, text, u->language);
    } else if (damage == ADDED) {
        const char *const word = word_draw(o->text, &length);
        size_t unused;
        const char *const place = word_at(u->text, draw((uint32_t)words), &unused);
        snprintf(text, sizeof text, "%.*s%.*s %s", (int)(place - u->text), u->text, (int)length, word, place);
        row_write(b, u, u->audio, text, u->language);
    } else if (damage == REPLACED) { /* the other speaker's text goes with the sound */
        MX_TRY(sound_damage(b, o, NULL, damage, path));
        row_write(b, u, path, o->text, o->language);
    } else {
        MX_TRY(sound_damage(b, u, o, damage, path));
        row_write(b, u, path, u->text, u->language);
    }
out:
    return rc;
}

/* Exchanges the text of a row with one of the next rows. */
static void texts_swap(struct bench *b, uint32_t i)
{
    const struct mx_utterance *const all = b->manifest->utterances;
    for (uint32_t k = i + 1 + draw(NEAR), tried = 0; tried < 2 * NEAR && k < b->manifest->utterance_count;
         k++, tried++) {
        if (b->damages[k] != NONE || !is_fit(&all[k]) || strcmp(all[k].text, all[i].text) == 0) continue;
        b->damages[i] = b->damages[k] = SWAPPED;
        b->texts[i] = all[k].text;
        b->texts[k] = all[i].text;
        return;
    }
}

static int corpus_damage(struct bench *b)
{
    uint32_t fit = 0, damaged = 0;
    int rc = 0;
    memset(b->damages, 0, b->manifest->utterance_count * sizeof *b->damages);
    for (uint32_t i = 0; i < b->manifest->utterance_count; i++) {
        if (b->damages[i] != NONE || !is_fit(&b->manifest->utterances[i]) || fit++ % EVERY != b->round % EVERY)
            continue;
        const enum damage next = (enum damage)(1 + damaged++ % (DAMAGES - 1));
        if (next == SWAPPED)
            texts_swap(b, i);
        else
            b->damages[i] = next;
    }
    fprintf(b->list, "audio_file|text|speaker_name|language\n");
    for (uint32_t i = 0; i < b->manifest->utterance_count; i++) {
        MX_TRY(row_damage(b, i, b->damages[i]));
    }
out:
    return rc;
}

/* ---- judging ---- */

/* The row of the manifest that was read from the damaged list; lines begin with 1, the first is the header. */
static uint32_t original(const struct mx_utterance *u)
{
    return u->line - 2;
}

static void rows_write(const struct bench *b, const struct mx_check_report *report,
                       const struct mx_doctor_scores *scores, const struct mx_doctor_findings *findings,
                       const char *path)
{
    FILE *const file = fopen(path, "w");
    struct mx_string said = {0};
    if (file == NULL) return;
    for (uint32_t i = 0; i < report->manifest->utterance_count; i++) {
        const struct mx_doctor_score *const s = &scores->rows[i];
        const struct mx_utterance *const u = &report->manifest->utterances[i];
        fprintf(file, "%d\t%d\t%.3f\t%.2f\t%.2f\t%s\t%s\t%.2f\t", (int)b->damages[original(u)], (int)s->unscored,
                s->score, s->deviations, report->list[i].seconds_used, u->id, u->text, s->heard);
        for (size_t k = 0; k < findings->count; k++) {
            if (findings->items[k].row != i) continue;
            mx_string_release(&said);
            if (mx_doctor_finding_format(&said, MX_WORDS_ENGLISH, &findings->items[k]) < 0) continue;
            fprintf(file, "%s: %s; ", mx_doctor_finding_name(findings->items[k].kind), said.data);
        }
        fprintf(file, "\n");
    }
    mx_string_release(&said);
    fclose(file);
}

static void rows_count(struct bench *b, const struct mx_check_report *report, const struct mx_doctor_findings *findings)
{
    for (uint32_t i = 0; i < report->manifest->utterance_count; i++) {
        struct tally *const t = &b->tallies[b->damages[original(&report->manifest->utterances[i])]];
        bool suspected = false;
        t->rows++;
        t->rejected += report->list[i].reject != MX_REJECT_NONE;
        for (size_t k = 0; k < findings->count; k++) {
            if (findings->items[k].row != i) continue;
            suspected = true;
            t->kinds[findings->items[k].kind]++;
        }
        t->suspected += suspected;
    }
}

static void tell(const struct bench *b)
{
    static const enum mx_doctor_finding_kind shown[] = {MX_DOCTOR_FINDING_TEXT_MISMATCH, MX_DOCTOR_FINDING_OTHER_ROW,
                                                        MX_DOCTOR_FINDING_MISSING_WORDS, MX_DOCTOR_FINDING_EXTRA_SOUND,
                                                        MX_DOCTOR_FINDING_OTHER_SPEAKER, MX_DOCTOR_FINDING_OTHER_VOICE};
    printf("%-22s %5s %9s %9s", "", "rows", "rejected", "suspect");
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) printf(" %13s", mx_doctor_finding_name(shown[k]));
    for (int d = 0; d < DAMAGES; d++) {
        const struct tally *const t = &b->tallies[d];
        const uint32_t left = t->rows - t->rejected;
        if (t->rows == 0) continue;
        printf("\n%-22s %5u %9u %7.1f %%", names[d], t->rows, t->rejected,
               100.0 * t->suspected / (left > 0 ? left : 1));
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) printf(" %13u", t->kinds[shown[k]]);
    }
    printf("\n%u of %u rows scored\n", b->scored, b->rows);
    printf("%.0f s of sound: checked in %.1f s, scored in %.1f s of processor time: %.0f times as fast\n", b->seconds,
           b->check_seconds, b->score_seconds, b->seconds / (b->check_seconds + b->score_seconds));
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int corpus_judge(struct bench *b, const char *list, const char *voice)
{
    const struct mx_doctor_scores_options how = {.voice = voice};
    const struct mx_check_options options = MX_CHECK_OPTIONS_DEFAULT;
    struct mx_check_report report = {0};
    struct mx_doctor_scores scores = {0};
    struct mx_doctor_findings findings = {0};
    char rows[512];
    int rc = 0;
    const double begin = cpu_seconds();
    MX_TRY(mx_check_run(list, &options, &report));
    const double checked = cpu_seconds();
    MX_TRY(mx_doctor_scores_compute(&report, &options.row, &how, &scores));
    MX_TRY(mx_doctor_scores_judge(&report, &scores, &findings));
    MX_TRY(mx_doctor_people_judge(&report, &scores, &findings));
    b->score_seconds += cpu_seconds() - checked;
    b->check_seconds += checked - begin;
    b->seconds += report.seconds_used;
    b->scored += scores.scored;
    b->rows += report.rows;
    rows_count(b, &report, &findings);
    snprintf(rows, sizeof rows, "%s/rows-%u.tsv", b->folder, b->round);
    rows_write(b, &report, &scores, &findings, rows);
out:
    mx_doctor_findings_release(&findings);
    mx_doctor_scores_release(&scores);
    mx_check_release(&report);
    return rc;
}

/* Damages some rows and judges all. */
static int round_run(struct bench *b, const char *voice)
{
    char list[512];
    int rc = 0;
    snprintf(list, sizeof list, "%s/metadata.csv", b->folder);
    b->list = fopen(list, "w");
    if (b->list == NULL) MX_RAISE(MX_ERR_IO, NULL, "cannot write %s", list);
    rc = corpus_damage(b);
    fclose(b->list);
    if (rc == 0) rc = corpus_judge(b, list, voice);
out:
    return rc;
}

int main(int argc, char **argv)
{
    const struct mx_manifest_options options = {.validation_fraction = 0};
    struct mx_manifest *manifest = NULL;
    struct bench b = {0};
    int rc = 0;
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: doctor_rates MANIFEST FOLDER [VOICE]\n");
        return 1;
    }
    MX_TRY(mx_manifest_open(argv[1], &options, &manifest));
    mkdir(argv[2], 0777);
    b = (struct bench){.manifest = manifest, .folder = argv[2]};
    b.damages = mx_alloc(manifest->utterance_count, sizeof *b.damages);
    b.texts = mx_alloc(manifest->utterance_count, sizeof *b.texts);
    if (b.damages == NULL || b.texts == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_audio_reader_create(&b.reader));
    for (; b.round < ROUNDS; b.round++) MX_TRY(round_run(&b, argc > 3 ? argv[3] : NULL));
    tell(&b);
out:
    if (rc < 0) fprintf(stderr, "doctor_rates: %s\n", mx_error_last()->message);
    mx_audio_reader_destroy(b.reader);
    mx_manifest_close(manifest);
    mx_free(b.damages);
    mx_free(b.texts);
    return rc < 0 ? 2 : 0;
}
