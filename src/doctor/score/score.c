/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scoring all rows of a corpus, batch by batch; see score.h.
 */
#include "doctor/score/score.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "checkpoint/installed.h"
#include "doctor/by_speaker.h"
#include "doctor/score/score_batch.h"
#include "doctor/score/score_internal.h"
#include "doctor/score/score_rivals.h"
#include "myxtts/error.h"

#define PROGRESS_NS UINT64_C(2000000000)

struct work {
    const struct mx_check_report *report;
    struct mx_doctor_scores *scores;
    struct mx_doctor_session session;
    struct mx_doctor_batch batch;
    struct mx_progress *progress;
    struct mx_doctor_by_speaker good;
    struct mx_first_error failure;
};

/* ---- which voice ---- */

int mx_doctor_voice_fit(const char *voice, const struct mx_check_report *report, struct mx_doctor_fit *out)
{
    const struct mx_checkpoint_options options = {.speaks = true, .named = true};
    struct mx_checkpoint *checkpoint = NULL;
    struct mx_vocabulary *vocabulary = NULL;
    int rc = 0;
    *out = (struct mx_doctor_fit){0};
    MX_TRY(mx_checkpoint_open(voice != NULL ? voice : MX_INSTALLED_BASE, &options, &checkpoint));
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(checkpoint);
    if (state->vocoder_alone)
        MX_RAISE(MX_ERR_DATA, "choose a voice: 'myxtts voices' lists them", "%s is a vocoder and reads no texts",
                 mx_checkpoint_path(checkpoint));
    MX_TRY(mx_vocabulary_read(state->vocabulary, strlen(state->vocabulary), &vocabulary));
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const bool known = mx_vocabulary_language(vocabulary, (enum mx_language_id)i) >= 0;
        *(known ? &out->known : &out->unknown) += report->languages[i];
    }
out:
    mx_vocabulary_destroy(vocabulary);
    mx_checkpoint_close(checkpoint);
    return rc;
}

/* ---- one row ---- */

static int words_keep(const struct mx_doctor_batch_row *h, const struct mx_align_path *path,
                      struct mx_doctor_score *score)
{
    const float second = (float)h->sound.recipe->hop / (float)h->sound.recipe->rate;
    const size_t words = (size_t)h->text.word_count;
    float at = 0;
    score->words = mx_alloc(words, sizeof *score->words);
    score->other = mx_alloc(path->other_count, sizeof *score->other);
    if (score->words == NULL || score->other == NULL) return MX_ERR_NO_MEMORY;
    for (size_t w = 0; w < words; w++) {
        const bool heard = path->begin[w] >= 0;
        if (heard) at = (float)path->begin[w] * second;
        score->words[w] = (struct mx_doctor_word){.begin = (uint32_t)h->text.words[w].begin,
                                                  .end = (uint32_t)h->text.words[w].end,
                                                  .heard = heard,
                                                  .from = at,
                                                  .until = heard ? (float)path->end[w] * second : at};
        at = score->words[w].until;
    }
    score->word_count = words;
    for (size_t i = 0; i < path->other_count; i++)
        score->other[i] =
            (struct mx_doctor_span){(float)path->other[i].begin * second, (float)path->other[i].end * second};
    score->other_count = path->other_count;
    return 0;
}

static int row_score(const struct mx_doctor_batch_row *h, double usual, struct mx_doctor_score *score)
{
    const struct mx_doctor_reading reading = {.text = &h->text, .means = h->means};
    struct mx_align_path path = {0};
    int rc = 0;
    score->score = h->score;
    score->usual = usual;
    MX_TRY(mx_doctor_align_some(&h->sound, &reading, usual, &path, &score->heard));
    MX_TRY(words_keep(h, &path, score));
out:
    mx_align_path_release(&path);
    return rc;
}

static void rows_score(void *context, int64_t begin, int64_t end, int worker)
{
    struct work *const w = context;
    (void)worker;
    for (int64_t i = begin; i < end && !mx_first_error_failed(&w->failure); i++) {
        const struct mx_doctor_batch_row *const h = &w->batch.rows[i];
        if (h->unscored == MX_DOCTOR_SCORED && row_score(h, w->batch.usual, &w->scores->rows[h->row]) < 0)
            mx_first_error_keep(&w->failure);
    }
}

/* ---- people ---- */

static void pitch_count(struct work *w, const struct mx_doctor_batch_row *h)
{
    uint32_t *const bins = w->scores->pitch[w->report->manifest->utterances[h->row].speaker];
    const double step = log(MX_DOCTOR_PITCH_STEP);
    for (int32_t f = 0; f < h->sound.frames; f++) {
        if (!(h->pitch[f] > 0)) continue;
        const double at = log((double)h->pitch[f] / MX_DOCTOR_PITCH_LEAST) / step;
        bins[at < 0 ? 0 : at >= MX_DOCTOR_PITCH_BINS ? MX_DOCTOR_PITCH_BINS - 1 : (size_t)at]++;
    }
}

/* ---- all rows ---- */

static bool is_good(const void *context, uint32_t row)
{
    const struct mx_check_report *const report = context;
    return report->list[row].reject == MX_REJECT_NONE;
}

/* The size of the batch that begins with row `first`: rows of one speaker, or of several who have few. */
static uint32_t batch_choose(const struct work *w, uint32_t first)
{
    const struct mx_utterance *const all = w->report->manifest->utterances;
    double seconds = 0;
    uint32_t count = 0;
    while (first + count < w->good.count && count < MX_DOCTOR_BATCH_ROWS) {
        const uint32_t row = w->good.rows[first + count];
        seconds += w->report->list[row].seconds_used;
        if (count > 0 && seconds > MX_DOCTOR_BATCH_SECONDS) break;
        if (count >= MX_DOCTOR_BATCH_ROWS / 2 && all[row].speaker != all[w->good.rows[first + count - 1]].speaker)
            break;
        count++;
    }
    return count;
}

static int batch_score(struct work *w, uint32_t first, uint32_t count)
{
    int rc = 0;
    MX_TRY(mx_doctor_session_asked(&w->session));
    MX_TRY(mx_doctor_batch_listen(&w->session, &w->batch, w->good.rows + first, count));
    MX_TRY(mx_doctor_batch_read(&w->session, &w->batch));
    mx_pool_for(w->session.pool, count, 1, rows_score, w);
    MX_TRY(mx_first_error_raise(&w->failure));
    MX_TRY(mx_doctor_rivals_compare(&w->session, &w->batch, w->scores));
    for (uint32_t i = 0; i < count; i++) {
        const struct mx_doctor_batch_row *const h = &w->batch.rows[i];
        struct mx_doctor_score *const score = &w->scores->rows[h->row];
        score->unscored = h->unscored;
        w->scores->scored += h->unscored == MX_DOCTOR_SCORED;
        if (h->unscored == MX_DOCTOR_UNSCORED_LANGUAGE)
            w->scores->unscored_languages[w->report->list[h->row].language]++;
        pitch_count(w, h);
        memcpy(w->scores->vectors + (size_t)h->row * w->session.width, h->vector, w->session.width * sizeof *h->vector);
    }
out:
    return rc;
}

static int scores_open(struct work *w)
{
    struct mx_doctor_scores *const s = w->scores;
    const struct mx_manifest *const m = w->report->manifest;
    s->count = m->utterance_count;
    s->width = mx_checkpoint_listens(w->session.voice->checkpoint) ? (int32_t)w->session.width : 0;
    s->voice = mx_strdup(mx_voice_name(w->session.voice));
    s->rows = mx_alloc(s->count, sizeof *s->rows);
    s->vectors = mx_alloc((size_t)s->count * w->session.width, sizeof *s->vectors);
    s->pitch = mx_alloc(m->speaker_count, sizeof *s->pitch);
    if (s->voice == NULL || s->rows == NULL || s->vectors == NULL || s->pitch == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < s->count; i++)
        s->rows[i] =
            (struct mx_doctor_score){.unscored = MX_DOCTOR_UNSCORED_REJECTED, .better = -1, .better_by = -INFINITY};
    return mx_doctor_by_speaker_build(m, is_good, w->report, &w->good);
}

int mx_doctor_scores_compute(const struct mx_check_report *report, const struct mx_row_options *row,
                             const struct mx_doctor_scores_options *options, struct mx_doctor_scores *out)
{
    struct mx_progress_options line = {.title = "Scoring", .unit = "rows", .delay_ns = PROGRESS_NS};
    struct work w = {.report = report, .scores = out};
    int rc = 0;
    *out = (struct mx_doctor_scores){0};
    MX_TRY(mx_doctor_session_open(&w.session, report, row, options));
    MX_TRY(scores_open(&w));
    line.total = w.good.count;
    MX_TRY(mx_progress_start(&line, &w.progress));
    for (uint32_t first = 0, count; first < w.good.count; first += count) {
        count = batch_choose(&w, first);
        MX_TRY(batch_score(&w, first, count));
        mx_progress_add(w.progress, count);
    }
    MX_TRY(mx_doctor_scores_deviate(report, out));
out:
    mx_progress_finish(w.progress);
    mx_doctor_batch_release(&w.batch);
    mx_doctor_session_close(&w.session);
    mx_doctor_by_speaker_release(&w.good);
    if (rc < 0) mx_doctor_scores_release(out);
    return rc;
}

void mx_doctor_scores_release(struct mx_doctor_scores *scores)
{
    for (uint32_t i = 0; i < scores->count && scores->rows != NULL; i++) {
        mx_free(scores->rows[i].words);
        mx_free(scores->rows[i].other);
    }
    mx_free(scores->voice);
    mx_free(scores->rows);
    mx_free(scores->vectors);
    mx_free(scores->pitch);
    *scores = (struct mx_doctor_scores){0};
}
