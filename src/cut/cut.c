/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cutting from the files to the folder, see cut.h.
 */
#include "cut/cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/progress.h"
#include "corpus/audio.h"
#include "corpus/manifest.h"
#include "cut/fit.h"
#include "cut/folder.h"
#include "cut/pauses.h"
#include "cut/rows.h"
#include "cut/script.h"
#include "cut/sound.h"
#include "cut/text.h"
#include "myxtts/error.h"

#define OTHER_LEAST   0.3  /* seconds of sound in no word that are worth a line */
#define SHARE_LEAST   0.45 /* of the words or of the sound that must become rows */
#define SCORE_BELOW   1.5  /* nats a frame that a row may be below the median, or … */
#define SPREADS_BELOW 5.0  /* … so many times their median deviation */
#define ROW_MARGIN    0.01 /* seconds that resampling may add to a row */
#define PROGRESS_NS   UINT64_C(2000000000)

struct work {
    const struct mx_cut_options *options;
    struct mx_cut_report *report;
    struct mx_voice *voice;
    struct mx_cut_folder folder;
    struct mx_manifest *manifest;
    const char *speaker;  /* of the rows that are made; NULL: there is no column of speakers */
    const char *language; /* the same: its code, or "" if the row names none */
    /* one text with its recordings; see job_close */
    struct mx_cut_script script;
    struct mx_cut_text text;
    struct mx_cut_sound sound;
    struct mx_cut_fit *fit;
    struct mx_cut_path path;
    struct mx_cut_heard *heard;
    struct mx_cut_rows rows;
    double score_least; /* of a row that is written */
};

static void job_close(struct work *w)
{
    mx_cut_rows_release(&w->rows);
    mx_free(w->heard);
    w->heard = NULL;
    mx_cut_path_release(&w->path);
    mx_cut_fit_destroy(w->fit);
    w->fit = NULL;
    mx_cut_sound_close(&w->sound);
    mx_cut_text_release(&w->text);
    mx_cut_script_release(&w->script);
}

static void work_close(struct work *w)
{
    job_close(w);
    mx_cut_folder_close(&w->folder);
    mx_manifest_close(w->manifest);
    mx_voice_close(w->voice);
}

static double seconds_of(int64_t samples)
{
    return (double)samples / mx_recipe_default.rate;
}

/* ---- what is told ---- */

static void text_tell(const struct work *w)
{
    const struct mx_cut_text *const t = &w->text;
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

static void sound_tell(const struct work *w)
{
    for (size_t i = 0; i < w->sound.count; i++)
        if (w->sound.recordings[i].damage[0] != '\0')
            mx_warn("%s: %s; what comes before is cut", w->sound.recordings[i].path, w->sound.recordings[i].damage);
}

/* ---- rows and lists ---- */

/* Where a sample is: the file, and the seconds in it. */
static const char *place_of(const struct work *w, int64_t sample, double *seconds)
{
    const struct mx_cut_recording *const r = &w->sound.recordings[mx_cut_sound_find(&w->sound, sample)];
    *seconds = seconds_of(sample - r->begin);
    return r->path;
}

static double row_score(const struct work *w, int32_t first, int32_t last)
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

static const char *text_of(const struct work *w, int32_t first, int32_t last, size_t *length)
{
    *length = w->text.words[last - 1].end - w->text.words[first].begin;
    return w->text.source + w->text.words[first].begin;
}

static int left_write(struct work *w, int32_t first, int32_t last, const char *reason)
{
    size_t length;
    double begin = 0, end = 0;
    int32_t heard = first;
    const char *const text = text_of(w, first, last, &length);
    /* missing words are where the last word before them ended */
    while (heard < last && w->heard[heard].begin < 0) heard++;
    if (heard < last) {
        const char *const file = place_of(w, w->heard[heard].begin, &begin);
        end = begin + seconds_of(w->heard[last - 1].end - w->heard[heard].begin);
        return mx_cut_folder_left(&w->folder, file, begin, end, reason, text, length);
    }
    for (heard = first; heard > 0 && w->heard[heard - 1].begin < 0; heard--) {
    }
    const char *const file = place_of(w, heard > 0 ? w->heard[heard - 1].end : 0, &begin);
    return mx_cut_folder_left(&w->folder, file, begin, begin, reason, text, length);
}

static int lists_write(struct work *w)
{
    static const char *const reasons[] = {[MX_CUT_LEFT_MISSING] = "missing in the sound",
                                          [MX_CUT_LEFT_BROKEN] = "the text does not fit the sound",
                                          [MX_CUT_LEFT_NO_PAUSE] = "no pause to cut at",
                                          [MX_CUT_LEFT_SHORT] = "shorter than a row"};
    const int64_t hop = mx_recipe_default.hop;
    int rc = 0;
    for (size_t i = 0; i < w->rows.left_count; i++) {
        const struct mx_cut_left *const left = &w->rows.left[i];
        MX_TRY(left_write(w, left->first, left->last, reasons[left->reason]));
    }
    for (size_t i = 0; i < w->path.other_count; i++) {
        const int64_t begin = w->path.other[i].begin * hop, end = w->path.other[i].end * hop;
        double from;
        w->report->seconds_other += seconds_of(end - begin);
        if (seconds_of(end - begin) < OTHER_LEAST) continue;
        const char *const file = place_of(w, begin, &from);
        MX_TRY(mx_cut_folder_left(&w->folder, file, from, from + seconds_of(end - begin), "not in the text", "", 0));
    }
out:
    return rc;
}

static int row_write(struct work *w, const struct mx_cut_row *row)
{
    const struct mx_cut_sound *const s = &w->sound;
    const struct mx_cut_recording *const r = &s->recordings[mx_cut_sound_find(s, w->heard[row->first].begin)];
    const int64_t last = r->begin + r->samples;
    const int64_t begin = row->begin < r->begin ? r->begin : row->begin, end = row->end > last ? last : row->end;
    struct mx_cut_folder_row out = {.samples = s->samples + begin,
                                    .speaker = w->speaker,
                                    .language = w->language,
                                    .count = (size_t)(end - begin),
                                    .rate = mx_recipe_default.rate,
                                    .file = r->path,
                                    .begin = seconds_of(begin - r->begin),
                                    .end = seconds_of(end - r->begin),
                                    .score = row_score(w, row->first, row->last)};
    out.text = text_of(w, row->first, row->last, &out.text_length);
    if (out.score < w->score_least) {
        w->report->words_unfit += row->last - row->first;
        return left_write(w, row->first, row->last, "the text does not fit the sound");
    }
    w->report->seconds_rows += seconds_of(end - begin);
    w->report->words_rows += row->last - row->first;
    return mx_cut_folder_row(&w->folder, &out);
}

static int rows_write(struct work *w)
{
    const struct mx_progress_options line = {
        .title = "Writing", .unit = "rows", .total = w->rows.row_count, .delay_ns = PROGRESS_NS};
    struct mx_progress *progress = NULL;
    int rc = 0;
    MX_TRY(mx_progress_start(&line, &progress));
    for (size_t i = 0; i < w->rows.row_count; i++) {
        MX_TRY(row_write(w, &w->rows.rows[i]));
        mx_progress_add(progress, 1);
        if (w->options->stop != NULL && atomic_load(w->options->stop))
            MX_RAISE(MX_ERR_INTERRUPTED, NULL, "interrupted while rows were written");
    }
out:
    mx_progress_finish(progress);
    return rc;
}

/* ---- the whole ---- */

static int double_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A row whose score is far below those of the others has another text than it should. */
static int scores_judge(struct work *w)
{
    const size_t count = w->rows.row_count;
    double *const scores = mx_alloc(count + 1, sizeof *scores);
    if (scores == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) scores[i] = row_score(w, w->rows.rows[i].first, w->rows.rows[i].last);
    qsort(scores, count, sizeof *scores, double_compare);
    const double median = count > 0 ? scores[count / 2] : 0;
    for (size_t i = 0; i < count; i++) scores[i] = fabs(scores[i] - median);
    qsort(scores, count, sizeof *scores, double_compare);
    const double spread = count > 0 ? scores[count / 2] : 0;
    w->score_least = median - fmax(SCORE_BELOW, SPREADS_BELOW * spread);
    mx_free(scores);
    return 0;
}

/* A text that has nothing to do with the sound: hardly anything of either would become rows. */
static int found_check(struct work *w)
{
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
    if (found >= SHARE_LEAST || share >= SHARE_LEAST) return 0;
    if (uncut > w->text.word_count / 2)
        return MX_FAIL(
            MX_ERR_DATA,
            "rows are cut where nobody speaks for at least 100 ms: is there music or noise behind the speech?",
            "the sound has no pauses to cut at around %.0f %% of the words", 100.0 * uncut / w->text.word_count);
    MX_FAIL(MX_ERR_DATA, NULL,
            "the text does not fit the sound: only %.0f %% of its words would be found, in %.0f %% of the sound",
            100 * found, 100 * share);
    return mx_error_hint("check that %s is what is said in %s, and in which language ('--language'; it was read as %s)",
                         w->options->text, w->sound.recordings[0].path, mx_language_get(w->text.language)->name);
}

/* Decodes the recordings of a text, unless they are, and finds its words in them. */
static int job_align(struct work *w, const char *const *sounds, size_t count, int language)
{
    const struct mx_cut_options *const o = w->options;
    int rc = 0;
    MX_TRY(mx_cut_text_read(w->script.source, w->script.parts, w->script.part_count, language, w->voice->vocabulary,
                            &w->text));
    text_tell(w);
    if (w->sound.count == 0) MX_TRY(mx_cut_sound_read(&w->sound, sounds, count, o->folder, o->stop));
    sound_tell(w);
    MX_TRY(mx_cut_sound_mel(&w->sound, w->voice->place.device, w->voice->place.stream,
                            &mx_checkpoint_state(w->voice->checkpoint)->normaliser, o->folder, o->stop));
    MX_TRY(mx_cut_fit_create(w->voice, &w->text, w->script.parts, &w->sound, o->stop, &w->fit));
    MX_TRY(mx_cut_fit_align(w->fit, &w->path));
out:
    return rc;
}

static int job_run(struct work *w, const char *const *sounds, size_t count, int language)
{
    struct mx_cut_report *const r = w->report;
    int rc = 0;
    MX_TRY(job_align(w, sounds, count, language));
    w->heard = mx_alloc((size_t)w->text.word_count, sizeof *w->heard);
    if (w->heard == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_cut_pauses_find(&w->sound, &w->text, &w->path, w->heard);
    MX_TRY(mx_cut_rows_make(w->heard, w->text.word_count, mx_recipe_default.rate, &w->rows));
    MX_TRY(found_check(w));
    MX_TRY(scores_judge(w));
    r->seconds += seconds_of(w->sound.sample_count);
    r->words += w->text.word_count;
    for (int32_t i = 0; i < w->text.word_count; i++) r->words_missing += w->path.begin[i] < 0;
    MX_TRY(rows_write(w));
    MX_TRY(lists_write(w));
out:
    return rc;
}

/* ---- the rows of a manifest ---- */

/* A row that is short enough: its sound, which is read, and its text as they are. */
static int whole_write(struct work *w, const struct mx_utterance *u)
{
    int rc = 0;
    const struct mx_cut_recording *const r = &w->sound.recordings[0];
    if (r->damage[0] != '\0') MX_RAISE(MX_ERR_DATA, "record it again or remove the row", "%s: %s", r->path, r->damage);
    const struct mx_cut_folder_row row = {.samples = w->sound.samples,
                                          .count = (size_t)r->samples,
                                          .rate = mx_recipe_default.rate,
                                          .text = u->text,
                                          .text_length = strlen(u->text),
                                          .file = u->audio,
                                          .end = seconds_of(r->samples),
                                          .speaker = w->speaker,
                                          .language = w->language,
                                          .whole = true};
    MX_TRY(mx_cut_folder_row(&w->folder, &row));
    w->report->whole++;
    w->report->seconds += row.end;
    w->report->seconds_rows += row.end;
out:
    return rc;
}

/* A header may give any length or none, so the samples decide. Of a longer recording that is damaged, what comes before
 * the damage is cut, however short. */
static bool is_short(const struct work *w, const struct mx_utterance *u)
{
    const struct mx_cut_recording *const r = &w->sound.recordings[0];
    if (seconds_of(r->samples) > MX_CUT_ROW_MOST + ROW_MARGIN) return false;
    return r->damage[0] == '\0' || mx_audio_promised(u->audio) <= MX_CUT_ROW_MOST;
}

static bool names_language(const struct mx_utterance *u)
{
    return u->language != NULL && u->language[0] != '\0';
}

/* The language of the command, of the row, or none: *out is MX_CUT_DETECT. MX_ERR_DATA if the row names an unknown one. */
static int utterance_language(const struct work *w, const struct mx_utterance *u, int *out)
{
    enum mx_language_id language;
    *out = w->options->language;
    if (*out != MX_CUT_DETECT || !names_language(u)) return 0;
    if (mx_language_parse(u->language, &language) < 0) return MX_ERR_DATA; /* a fault of the row alone */
    *out = (int)language;
    return 0;
}

static int utterance_cut(struct work *w, const struct mx_utterance *u)
{
    int wanted, rc = 0;
    MX_TRY(utterance_language(w, u, &wanted));
    if (w->language != NULL)
        w->language = wanted != MX_CUT_DETECT ? mx_language_get((enum mx_language_id)wanted)->code : "";
    MX_TRY(mx_cut_sound_read(&w->sound, &u->audio, 1, w->options->folder, w->options->stop));
    if (is_short(w, u)) return whole_write(w, u);
    MX_TRY(mx_cut_script_add(&w->script, u->text, strlen(u->text), 0, 0));
    MX_TRY(job_run(w, &u->audio, 1, wanted));
out:
    return rc;
}

/* Rows that cannot be used are named and counted; the others go on. */
static int manifest_run(struct work *w)
{
    const struct mx_manifest_options how = {.validation_fraction = 0};
    const struct mx_cut_options *const o = w->options;
    int rc = 0;
    MX_TRY(mx_manifest_open(o->text, &how, &w->manifest));
    MX_TRY(mx_cut_folder_open(&w->folder, o->folder));
    w->report->refused = w->manifest->rejected;
    for (uint32_t i = 0; i < w->manifest->problem_count; i++)
        if (w->manifest->problems[i].reject != MX_REJECT_NONE)
            mx_warn("line %u of %s: %s", w->manifest->problems[i].line,
                    w->manifest->sources[w->manifest->problems[i].source].path, w->manifest->problems[i].message);
    for (uint32_t i = 0; i < w->manifest->utterance_count && w->language == NULL; i++)
        if (names_language(&w->manifest->utterances[i])) w->language = "";
    for (uint32_t i = 0; i < w->manifest->utterance_count; i++) {
        const struct mx_utterance *const u = &w->manifest->utterances[i];
        if (w->manifest->speaker_count > 1) w->speaker = u->speaker_name;
        const int failure = utterance_cut(w, u);
        job_close(w);
        if (failure == MX_ERR_DATA || failure == MX_ERR_FORMAT) {
            mx_warn("%s is left out: %s", u->id, mx_error_last()->message);
            MX_TRY(mx_cut_folder_left(&w->folder, u->audio, 0, 0, mx_error_last()->message, u->text, strlen(u->text)));
            mx_error_clear();
            w->report->refused++;
        } else {
            MX_TRY(failure);
        }
    }
    if (w->folder.rows == 0)
        MX_RAISE(MX_ERR_DATA, "the messages above say why; 'myxtts check' says more", "no row of %s can be used",
                 o->text);
out:
    return rc;
}

/* ---- the whole ---- */

static int work_run(struct work *w)
{
    const struct mx_cut_options *const o = w->options;
    const struct mx_voice_options how = {.size = sizeof how, .device = o->device, .cpu_devices = o->cpu_devices};
    int rc = 0;
    if (o->sound_count > 0) MX_TRY(mx_cut_script_read(&w->script, o->text));
    MX_TRY(mx_voice_open(o->voice, &how, &w->voice));
    if (o->sound_count > 0) {
        MX_TRY(mx_cut_folder_open(&w->folder, o->folder));
        MX_TRY(job_run(w, o->sounds, o->sound_count, o->language));
    } else {
        MX_TRY(manifest_run(w));
    }
    MX_TRY(mx_cut_folder_finish(&w->folder));
    w->report->rows = w->folder.rows;
    w->report->left = w->folder.left;
    w->report->pipes = w->folder.pipes;
out:
    return rc;
}

int mx_cut_make(const struct mx_cut_options *options, struct mx_cut_report *report)
{
    struct work w = {.options = options, .report = report};
    *report = (struct mx_cut_report){0};
    const int rc = work_run(&w);
    work_close(&w);
    return rc;
}
