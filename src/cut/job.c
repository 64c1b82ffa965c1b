/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One text with its recordings, from the files to the rows of a folder; see job.h.
 */
#include "cut/job.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/robust.h"
#include "cut/doubt.h"
#include "cut/pauses.h"
#include "myxtts/error.h"

#define OTHER_LEAST   0.3  /* seconds of sound in no word that are worth a line */
#define SHARE_LEAST   0.55 /* of the words or of the sound that must become rows */
#define SLOW          2.0  /* times the median time of a token: a word that takes longer is stretched */
#define SLOW_MOST     0.06 /* share of stretched words: right texts have up to 3 %, wrong ones 11 % and more */
#define SLOW_FEW      0.5  /* added over the square root of their number, since few words vary more */
#define SLOW_WORDS    50   /* of fewer, nothing is known */
#define SCORE_BELOW   2.5  /* nats a frame that a row may be below the median */
#define SPREADS_BELOW 7.0  /* times the median deviation, if that is more */
#define PROGRESS_NS   UINT64_C(2000000000)

void mx_cut_job_release(struct mx_cut_job *w)
{
    mx_cut_rows_release(&w->rows);
    mx_free(w->heard);
    w->heard = NULL;
    mx_align_path_release(&w->path);
    mx_cut_fit_destroy(w->fit);
    w->fit = NULL;
    mx_cut_sound_close(&w->sound);
    mx_align_text_release(&w->text);
    mx_cut_script_release(&w->script);
}

/* ---- log ---- */

static void text_log(const struct mx_cut_job *w)
{
    const struct mx_align_text *const t = &w->text;
    char name[MX_SYMBOL_NAME_BYTES];
    if (!t->language_known)
        mx_warn("the voice never heard %s: its words are found by the phonemes that are nearest to its own",
                mx_language_get(t->language)->name);
    if (t->replaced.count > 0)
        mx_warn("%zu sounds of the text are unknown to the voice, the first is %s: the nearest ones stand in",
                t->replaced.count, mx_symbol_name(t->replaced.first, name));
    if (t->unknown.count > 0)
        mx_warn("%zu symbols of the text are unknown to the voice, the first is %s: they are passed over",
                t->unknown.count, mx_symbol_name(t->unknown.first, name));
}

static void sound_log(const struct mx_cut_job *w)
{
    for (size_t i = 0; i < w->sound.count; i++)
        if (w->sound.recordings[i].damage[0] != '\0')
            mx_warn("%s: %s; what comes before is cut", w->sound.recordings[i].path, w->sound.recordings[i].damage);
}

/* ---- rows and lists ---- */

/* Where a sample is: the file, and the seconds in it. */
static const char *place_of(const struct mx_cut_job *w, int64_t sample, double *seconds)
{
    const struct mx_cut_recording *const r = &w->sound.recordings[mx_cut_sound_find(&w->sound, sample)];
    *seconds = mx_cut_sound_seconds(&w->sound, sample - r->begin);
    return r->path;
}

static double row_score(const struct mx_cut_job *w, int32_t first, int32_t last)
{
    double sum = 0;
    int64_t frames = 0;
    for (int32_t i = first; i < last; i++) {
        const int64_t own = w->path.end[i] - w->path.begin[i];
        sum += mx_cut_fit_score(w->fit, i) * (double)own;
        frames += own;
    }
    return frames > 0 ? sum / (double)frames : 0;
}

static const char *text_of(const struct mx_cut_job *w, int32_t first, int32_t last, size_t *length)
{
    *length = w->text.words[last - 1].end - w->text.words[first].begin;
    return w->text.source + w->text.words[first].begin;
}

static int left_write(struct mx_cut_job *w, int32_t first, int32_t last, const char *reason)
{
    size_t length;
    double begin = 0, end = 0;
    int32_t heard = first;
    const char *const text = text_of(w, first, last, &length);
    /* missing words are where the last word before them ended */
    while (heard < last && w->heard[heard].begin < 0) heard++;
    if (heard < last) {
        const char *const file = place_of(w, w->heard[heard].begin, &begin);
        end = begin + mx_cut_sound_seconds(&w->sound, w->heard[last - 1].end - w->heard[heard].begin);
        return mx_cut_folder_left(&w->folder, file, begin, end, reason, text, length);
    }
    for (heard = first; heard > 0 && w->heard[heard - 1].begin < 0; heard--) {
    }
    const char *const file = place_of(w, heard > 0 ? w->heard[heard - 1].end : 0, &begin);
    return mx_cut_folder_left(&w->folder, file, begin, begin, reason, text, length);
}

static int lists_write(struct mx_cut_job *w)
{
    static const char *const reasons[] = {[MX_CUT_LEFT_MISSING] = "missing in the sound",
                                          [MX_CUT_LEFT_BROKEN] = "the text does not fit the sound",
                                          [MX_CUT_LEFT_NO_PAUSE] = "no pause to cut at",
                                          [MX_CUT_LEFT_SHORT] = "shorter than a row"};
    const int64_t hop = w->sound.recipe->hop;
    int rc = 0;
    for (size_t i = 0; i < w->rows.left_count; i++) {
        const struct mx_cut_left *const left = &w->rows.left[i];
        MX_TRY(left_write(w, left->first, left->last, reasons[left->reason]));
    }
    for (size_t i = 0; i < w->path.other_count; i++) {
        const int64_t begin = w->path.other[i].begin * hop, end = w->path.other[i].end * hop;
        double from;
        w->report.seconds_other += mx_cut_sound_seconds(&w->sound, end - begin);
        if (mx_cut_sound_seconds(&w->sound, end - begin) < OTHER_LEAST) continue;
        const char *const file = place_of(w, begin, &from);
        MX_TRY(mx_cut_folder_left(&w->folder, file, from, from + mx_cut_sound_seconds(&w->sound, end - begin),
                                  "not in the text", "", 0));
    }
out:
    return rc;
}

static int row_write(struct mx_cut_job *w, const struct mx_cut_row *row)
{
    const struct mx_cut_sound *const s = &w->sound;
    const struct mx_cut_recording *const r = &s->recordings[mx_cut_sound_find(s, w->heard[row->first].begin)];
    const int64_t last = r->begin + r->samples;
    const int64_t begin = row->begin < r->begin ? r->begin : row->begin, end = row->end > last ? last : row->end;
    struct mx_cut_folder_row out = {.samples = s->samples + begin,
                                    .speaker = w->speaker,
                                    .language = w->language,
                                    .count = (size_t)(end - begin),
                                    .rate = s->recipe->rate,
                                    .file = r->path,
                                    .begin = mx_cut_sound_seconds(&w->sound, begin - r->begin),
                                    .end = mx_cut_sound_seconds(&w->sound, end - r->begin),
                                    .score = row_score(w, row->first, row->last)};
    out.text = text_of(w, row->first, row->last, &out.text_length);
    if (out.score < w->score_least) {
        w->report.words_unfit += row->last - row->first;
        return left_write(w, row->first, row->last, "the text does not fit the sound");
    }
    w->report.seconds_rows += mx_cut_sound_seconds(&w->sound, end - begin);
    w->report.words_rows += row->last - row->first;
    return mx_cut_folder_row(&w->folder, &out);
}

static int rows_write(struct mx_cut_job *w)
{
    const struct mx_progress_options line = {
        .title = "Writing", .unit = "rows", .total = w->rows.row_count, .delay_ns = PROGRESS_NS};
    struct mx_progress *progress = NULL;
    int rc = 0;
    MX_TRY(mx_progress_start(&line, &progress));
    for (size_t i = 0; i < w->rows.row_count; i++) {
        MX_TRY(row_write(w, &w->rows.rows[i]));
        mx_progress_add(progress, 1);
        if (w->stop != NULL && atomic_load(w->stop))
            MX_RAISE(MX_ERR_INTERRUPTED, NULL, "interrupted while rows were written");
    }
out:
    mx_progress_finish(progress);
    return rc;
}

/* ---- the whole ---- */

/* A row whose score is far below those of the others has the wrong text. */
static int scores_judge(struct mx_cut_job *w)
{
    const size_t count = w->rows.row_count;
    double *const scores = mx_alloc(count + 1, sizeof *scores);
    if (scores == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) scores[i] = row_score(w, w->rows.rows[i].first, w->rows.rows[i].last);
    const struct mx_robust usual = mx_robust_of(scores, count);
    w->score_least = usual.middle - fmax(SCORE_BELOW, SPREADS_BELOW * usual.deviation / MX_ROBUST_SIGMA);
    mx_free(scores);
    return 0;
}

/* The share of the words that are stretched, if they are too many: those of a wrong text are, where they must fill the
 * sound. Otherwise 0. */
static int stretched_share(const struct mx_cut_job *w, double *share)
{
    size_t count = 0, slow = 0;
    double *const times = mx_alloc((size_t)w->text.word_count, sizeof *times);
    if (times == NULL) return MX_ERR_NO_MEMORY;
    for (int32_t i = 0; i < w->text.word_count; i++) {
        const int32_t tokens = w->text.words[i].last - w->text.words[i].first;
        if (w->path.begin[i] >= 0 && tokens > 0) times[count++] = (double)(w->path.end[i] - w->path.begin[i]) / tokens;
    }
    mx_robust_sort(times, count);
    const double usual = mx_robust_median(times, count);
    for (size_t i = 0; i < count; i++) slow += times[i] > SLOW * usual;
    *share = count >= SLOW_WORDS ? (double)slow / (double)count : 0;
    if (*share <= SLOW_MOST + SLOW_FEW / sqrt((double)count)) *share = 0;
    mx_free(times);
    return 0;
}

/* A text of another recording: little of either would become rows, or its words are stretched. */
static int found_check(struct mx_cut_job *w)
{
    double stretched;
    int64_t samples = 0;
    int32_t words = 0, uncut = 0;
    for (size_t i = 0; i < w->rows.left_count; i++)
        if (w->rows.left[i].reason == MX_CUT_LEFT_NO_PAUSE) uncut += w->rows.left[i].last - w->rows.left[i].first;
    for (size_t i = 0; i < w->rows.row_count; i++) {
        words += w->rows.rows[i].last - w->rows.rows[i].first;
        samples += w->rows.rows[i].end - w->rows.rows[i].begin;
    }
    const double found = (double)words / w->text.word_count;
    const double share = (double)samples / (double)w->sound.sample_count;
    if (stretched_share(w, &stretched) < 0) return MX_ERR_NO_MEMORY;
    if (stretched == 0 && (found >= SHARE_LEAST || share >= SHARE_LEAST)) return 0;
    if (uncut > w->text.word_count / 2)
        return MX_FAIL(
            MX_ERR_DATA,
            "rows are cut where nobody speaks for at least 100 ms: is there music or noise in the background?",
            "the sound has no pauses to cut at around %.0f %% of the words", 100.0 * uncut / w->text.word_count);
    if (stretched > 0)
        MX_FAIL(
            MX_ERR_DATA, NULL,
            "the text does not fit the sound: %.0f %% of the words that would be found take more than twice their time",
            100 * stretched);
    else
        MX_FAIL(MX_ERR_DATA, NULL,
                "the text does not fit the sound: only %.0f %% of its words would be found, in %.0f %% of the sound",
                100 * found, 100 * share);
    return mx_error_hint("check that %s is what is said in %s, and in which language ('--language'; it was read as %s)",
                         w->name, w->sound.recordings[0].path, mx_language_get(w->text.language)->name);
}

/* Decodes the recordings of a text, unless that is done, and finds its words in them. */
static int job_align(struct mx_cut_job *w, const char *const *sounds, size_t count, int language)
{
    int rc = 0;
    MX_TRY(mx_align_text_read(w->script.source, w->script.parts, w->script.part_count, language, w->voice->vocabulary,
                              &w->text));
    text_log(w);
    if (w->sound.count == 0)
        MX_TRY(mx_cut_sound_read(&w->sound, mx_voice_recipe(w->voice), sounds, count, w->folder.path, w->stop));
    sound_log(w);
    MX_TRY(mx_cut_sound_mel(&w->sound, w->voice->runtime.device, w->voice->runtime.stream,
                            &mx_checkpoint_state(w->voice->checkpoint)->normaliser, w->folder.path, w->stop));
    MX_TRY(mx_cut_fit_create(w->voice, &w->text, w->script.parts, &w->sound, w->stop, &w->fit));
    MX_TRY(mx_cut_fit_align(w->fit, &w->path));
out:
    return rc;
}

/* Words that are not where they were found. */
static int words_doubt(struct mx_cut_job *w)
{
    double *const scores = mx_alloc((size_t)w->text.word_count, sizeof *scores);
    const struct mx_cut_doubt doubt = {.text = &w->text,
                                       .heard = w->heard,
                                       .scores = scores,
                                       .rate = w->sound.recipe->rate,
                                       .hop = w->sound.recipe->hop};
    int rc = 0;
    if (scores == NULL) return MX_ERR_NO_MEMORY;
    for (int32_t i = 0; i < w->text.word_count; i++) scores[i] = mx_cut_fit_score(w->fit, i);
    MX_TRY(mx_cut_doubt_squeezed(&doubt, &w->path));
    if (rc > 0) mx_cut_pauses_find(&w->sound, &w->text, &w->path, w->heard);
    MX_TRY(mx_cut_doubt_islands(&doubt, w->heard));
out:
    mx_free(scores);
    return rc;
}

int mx_cut_job_run(struct mx_cut_job *w, const char *const *sounds, size_t count, int language)
{
    struct mx_cut_report *const r = &w->report;
    int rc = 0;
    MX_TRY(job_align(w, sounds, count, language));
    w->heard = mx_alloc((size_t)w->text.word_count, sizeof *w->heard);
    if (w->heard == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_cut_pauses_find(&w->sound, &w->text, &w->path, w->heard);
    MX_TRY(words_doubt(w));
    MX_TRY(mx_cut_rows_build(w->heard, w->text.word_count, w->sound.recipe->rate, w->row_most, &w->rows));
    MX_TRY(found_check(w));
    MX_TRY(scores_judge(w));
    r->seconds += mx_cut_sound_seconds(&w->sound, w->sound.sample_count);
    r->words += w->text.word_count;
    for (int32_t i = 0; i < w->text.word_count; i++) r->words_missing += w->path.begin[i] < 0;
    MX_TRY(rows_write(w));
    MX_TRY(lists_write(w));
out:
    return rc;
}

/* ---- the rows of a manifest ---- */

static bool names_language(const struct mx_utterance *u)
{
    return u->language != NULL && u->language[0] != '\0';
}

void mx_cut_job_columns(struct mx_cut_job *w, const struct mx_manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->utterance_count && w->language == NULL; i++)
        if (names_language(&manifest->utterances[i])) w->language = "";
}

int mx_cut_job_language(struct mx_cut_job *w, int of_all, const struct mx_utterance *u, int *out)
{
    enum mx_language_id language;
    *out = of_all;
    if (of_all == MX_ALIGN_DETECT && names_language(u)) {
        if (mx_language_parse(u->language, &language) < 0) return MX_ERR_DATA; /* a fault of the row alone */
        *out = (int)language;
    }
    if (w->language != NULL)
        w->language = *out != MX_ALIGN_DETECT ? mx_language_get((enum mx_language_id) * out)->code : "";
    return 0;
}

int mx_cut_job_utterance(struct mx_cut_job *w, const struct mx_utterance *u, int language)
{
    int rc = 0;
    MX_TRY(mx_cut_script_add(&w->script, u->text, strlen(u->text), 0, 0));
    MX_TRY(mx_cut_job_run(w, &u->audio, 1, language));
out:
    return rc;
}
