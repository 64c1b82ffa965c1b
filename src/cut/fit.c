/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The voice's means and the scores of frames, see fit.h.
 */
#include "cut/fit.h"

#include <math.h>
#include <string.h>

#include "align/codes.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "base/robust.h"
#include "cut/means.h"
#include "myxtts/error.h"

#define CODES        64
#define QUIETS       4
#define QUIET_FRAMES 4096 /* of the sound that the means of silence are estimated from */
#define CHUNK        2048 /* frames that are compared with the codes at once */
#define PROGRESS_NS  UINT64_C(2000000000)

/* Nats. Measured with the base voice on recordings with ground truth (scripts/bench/cut.sh). First search: frames of the
 * right words score about 3 below the best code, forced ones 6 and more. */
#define OTHER_PENALTY   5.5f   /* of a frame of other sound */
#define OTHER_ENTER     100.0f /* of the first frame of other sound, in addition */
#define BETWEEN_PENALTY 8.0f /* of a frame that a token between words explains: their means are near the mean of all */
#define SKIP_SENTENCE   120.0f /* the first word of a sentence that is left out */
#define SKIP_WORD       250.0f /* any other word, unless the one before it is left out, too */
#define SKIP_MORE       6.0f   /* every word that is left out; with less, the search drifts into words from elsewhere */
#define BEAM            1800.0f /* a missing page, about 280 words, must stay within it */
#define MEMORY_BYTES    ((size_t)256 << 20)

/* The second search. */
#define NEAR           40   /* words around those of the first search; 20 are too few where that drifted */
#define BELIEVED_LEAST 4000 /* frames of words that fit, 46 s; with fewer, the speaker is not known well enough */
#define BELIEVED_BELOW 2.5  /* nats a frame: a word that is further below the median does not fit */
#define OTHER_BELOW    3.5  /* nats that a frame of other sound is below those words */
#define UNLIKE         2.5  /* times as far from all codes as those words' frames are from their means: an exception */

struct mx_cut_fit {
    struct mx_voice *voice;
    const struct mx_align_text *text;
    const struct mx_align_part *parts;
    const struct mx_cut_sound *sound;
    const atomic_bool *stop;
    struct mx_cut_means *means;
    float *skip_first;     /* of the words */
    int32_t *first, *last; /* columns of the words */
    float *other, *quiet;  /* [frames]: best of the codes, best of the silences */
    double *sums;          /* of the words: differences to `other` */
    int32_t *counts;       /* frames of each word */
    int32_t *columns;      /* [frames]: of the path; -1: none */
    float *squares;        /* [frames]: ½|m|² by the metric; only in the second search */
    float penalty, unlike; /* of a frame of other sound; of one that is like no code, where ½|m|² is the best score */
    struct mx_progress *progress;
    uint64_t reported;
};

/* ---- codes ---- */

/* Frames whose level is near that of the noise, and far below that of speech, evenly spread; rows [QUIET_FRAMES, bands]. */
static size_t quiet_collect(const struct mx_cut_sound *s, size_t bands, float *rows)
{
    const double by_noise = s->noise * 2, by_speech = s->speech * 1e-2,
                 most = by_noise < by_speech ? by_noise : by_speech;
    int64_t count = 0;
    size_t taken = 0;
    for (int pass = 0; pass < 2; pass++) {
        const int64_t step = pass == 0 ? 1 : count / QUIET_FRAMES + 1;
        int64_t seen = 0;
        for (int64_t f = 0; f < s->frames; f++) {
            if ((double)mx_cut_sound_level(s, f * s->recipe->hop) > most) continue;
            if (pass == 1 && seen % step == 0 && taken < QUIET_FRAMES)
                memcpy(rows + taken++ * bands, s->mel + (size_t)f * bands, bands * sizeof *rows);
            seen++;
        }
        count = seen;
    }
    return taken;
}

/* other[] and quiet[] of all frames. */
static int frames_score(struct mx_cut_fit *fit, const float *codes)
{
    const struct mx_cut_sound *const s = fit->sound;
    const size_t bands = (size_t)fit->sound->recipe->bands;
    float *const scores = mx_alloc((size_t)CHUNK * (CODES + QUIETS), sizeof *scores);
    int rc = 0;
    if (scores == NULL) return MX_ERR_NO_MEMORY;
    MX_TRY(mx_cut_means_codes(fit->means, codes, CODES + QUIETS));
    for (int64_t f = 0; f < s->frames; f += CHUNK) {
        const int32_t count = s->frames - f < CHUNK ? (int32_t)(s->frames - f) : CHUNK;
        MX_TRY(mx_cut_means_score_codes(fit->means, s->mel + (size_t)f * bands, count, scores));
        for (int32_t i = 0; i < count; i++) {
            const float *const row = scores + (size_t)i * (CODES + QUIETS);
            float other = row[0], quiet = row[CODES];
            for (int32_t k = 1; k < CODES; k++) other = row[k] > other ? row[k] : other;
            for (int32_t k = 1; k < QUIETS; k++) quiet = row[CODES + k] > quiet ? row[CODES + k] : quiet;
            fit->other[f + i] = quiet > other ? quiet : other;
            fit->quiet[f + i] = quiet;
        }
    }
out:
    mx_free(scores);
    return rc;
}

static int codes_compute(struct mx_cut_fit *fit)
{
    const size_t bands = (size_t)fit->sound->recipe->bands;
    float *const rows = mx_alloc(QUIET_FRAMES * bands, sizeof *rows);
    float *const codes = mx_alloc((CODES + QUIETS) * bands, sizeof *codes);
    size_t count;
    int rc = 0;
    if (rows == NULL || codes == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    count = mx_cut_means_sample(fit->means, rows, QUIET_FRAMES);
    MX_TRY(mx_align_codes_learn(rows, count, (int32_t)bands, codes, CODES));
    count = quiet_collect(fit->sound, bands, rows);
    if (count == 0) { /* nothing in it is quiet: as quiet as can be */
        const struct mx_normaliser *const n = &mx_checkpoint_state(fit->voice->checkpoint)->normaliser;
        for (size_t b = 0; b < bands; b++)
            rows[b] = (float)((log((double)fit->sound->recipe->floor) - n->mel_mean) / n->mel_deviation);
        count = 1;
    }
    MX_TRY(mx_cut_means_whiten(fit->means, rows, count));
    MX_TRY(mx_align_codes_learn(rows, count, (int32_t)bands, codes + CODES * bands, QUIETS));
    MX_TRY(frames_score(fit, codes));
out:
    mx_free(rows);
    mx_free(codes);
    return rc;
}

/* ---- creating ---- */

int mx_cut_fit_create(struct mx_voice *voice, const struct mx_align_text *text, const struct mx_align_part *parts,
                      const struct mx_cut_sound *sound, const atomic_bool *stop, struct mx_cut_fit **out)
{
    const size_t words = (size_t)text->word_count, frames = (size_t)sound->frames;
    struct mx_cut_fit *fit = mx_alloc(1, sizeof *fit);
    int rc = 0;
    *out = NULL;
    if (fit == NULL) return MX_ERR_NO_MEMORY;
    fit->voice = voice;
    fit->text = text;
    fit->parts = parts;
    fit->sound = sound;
    fit->stop = stop;
    fit->skip_first = mx_alloc(words, sizeof *fit->skip_first);
    fit->first = mx_alloc(words, sizeof *fit->first);
    fit->last = mx_alloc(words, sizeof *fit->last);
    fit->other = mx_alloc(frames, sizeof *fit->other);
    fit->quiet = mx_alloc(frames, sizeof *fit->quiet);
    fit->sums = mx_alloc(words, sizeof *fit->sums);
    fit->counts = mx_alloc(words, sizeof *fit->counts);
    fit->columns = mx_alloc(frames, sizeof *fit->columns);
    fit->squares = mx_alloc(frames, sizeof *fit->squares);
    if (fit->skip_first == NULL || fit->first == NULL || fit->last == NULL || fit->other == NULL ||
        fit->quiet == NULL || fit->sums == NULL || fit->counts == NULL || fit->columns == NULL || fit->squares == NULL)
        MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t w = 0; w < words; w++) {
        fit->first[w] = text->words[w].first;
        fit->last[w] = text->words[w].last;
        fit->skip_first[w] = w == 0 || text->words[w - 1].after >= MX_ALIGN_BREAK_SENTENCE ? SKIP_SENTENCE : SKIP_WORD;
    }
    MX_TRY(mx_cut_means_create(voice, text, sound, stop, &fit->means));
    MX_TRY(codes_compute(fit));
    *out = fit;
    fit = NULL;
out:
    mx_cut_fit_destroy(fit);
    return rc;
}

void mx_cut_fit_destroy(struct mx_cut_fit *fit)
{
    if (fit == NULL) return;
    mx_cut_means_destroy(fit->means);
    mx_free(fit->skip_first);
    mx_free(fit->first);
    mx_free(fit->last);
    mx_free(fit->other);
    mx_free(fit->quiet);
    mx_free(fit->sums);
    mx_free(fit->counts);
    mx_free(fit->columns);
    mx_free(fit->squares);
    mx_free(fit);
}

/* ---- scoring ---- */

#define ANCHOR_SLACK   1.0  /* seconds by which given times may be wrong */
#define ANCHOR_PENALTY 20.f /* of a frame outside them */

/* Words outside their known times. */
static void anchors_apply(const struct mx_cut_fit *fit, const struct mx_align_block *b)
{
    const int32_t width = b->column_end - b->column_begin;
    const double second = (double)fit->sound->recipe->rate / fit->sound->recipe->hop;
    for (int32_t w = b->word_begin; w < b->word_end; w++) {
        const struct mx_align_part *const part = &fit->parts[fit->text->words[w].part];
        if (part->until <= 0) continue;
        const double from = (part->from - ANCHOR_SLACK) * second, until = (part->until + ANCHOR_SLACK) * second;
        for (int32_t i = 0; i < b->frames; i++) {
            const double frame = (double)(b->frame + i);
            if (frame >= from && frame <= until) continue;
            float *const row = b->columns + (size_t)i * (size_t)width - b->column_begin;
            for (int32_t c = fit->first[w]; c < fit->last[w]; c++) row[c] -= ANCHOR_PENALTY;
        }
    }
}

static int block_score(void *context, const struct mx_align_block *b)
{
    struct mx_cut_fit *const fit = context;
    const size_t bands = (size_t)fit->sound->recipe->bands;
    const int32_t width = b->column_end - b->column_begin, gaps = b->word_end - b->word_begin + 1;
    int rc = 0;
    if (width > 0)
        MX_TRY(mx_cut_means_score(fit->means, fit->sound->mel + (size_t)b->frame * bands, b->frames, b->column_begin,
                                  b->column_end, b->columns));
    for (int32_t i = 0; i < b->frames; i++) {
        const float *const row = b->columns + (size_t)i * (size_t)width - b->column_begin;
        float *const silence = b->silence + (size_t)i * (size_t)gaps;
        const float quiet = fit->quiet[b->frame + i];
        const float like = fit->other[b->frame + i] - fit->penalty, unlike = fit->squares[b->frame + i] - fit->unlike;
        b->other[i] = unlike > like ? unlike : like;
        silence[0] = silence[gaps - 1] = quiet;
        for (int32_t k = 1; k + 1 < gaps; k++) {
            float best = quiet;
            for (int32_t c = fit->last[b->word_begin + k - 1]; c < fit->first[b->word_begin + k]; c++)
                best = row[c] - BETWEEN_PENALTY > best ? row[c] - BETWEEN_PENALTY : best;
            silence[k] = best;
        }
    }
    anchors_apply(fit, b);
    if (fit->stop != NULL && atomic_load(fit->stop))
        MX_RAISE(MX_ERR_INTERRUPTED, NULL, "interrupted while words were found");
    const uint64_t done = (uint64_t)((b->frame + b->frames) * fit->sound->recipe->hop / fit->sound->recipe->rate);
    mx_progress_add(fit->progress, done - fit->reported);
    fit->reported = done;
out:
    return rc;
}

static void frame_visit(void *context, int64_t frame, int32_t word, int32_t column)
{
    struct mx_cut_fit *const fit = context;
    const size_t bands = (size_t)fit->sound->recipe->bands;
    const float score = mx_cut_means_frame(fit->means, fit->sound->mel + (size_t)frame * bands, column);
    fit->sums[word] += (double)(score - fit->other[frame]);
    fit->counts[word]++;
    fit->columns[frame] = column;
}

/* One search; `from` and `until` as in align/align.h. */
static int search_run(struct mx_cut_fit *fit, const int32_t *from, const int32_t *until, struct mx_align_path *path)
{
    const struct mx_align_lattice lattice = {.words = fit->text->word_count,
                                             .columns = fit->text->token_count,
                                             .first = fit->first,
                                             .last = fit->last,
                                             .skip_first = fit->skip_first,
                                             .frames = fit->sound->frames,
                                             .from = from,
                                             .until = until};
    const struct mx_align_costs costs = {
        .other_enter = OTHER_ENTER, .skip_more = SKIP_MORE, .beam = BEAM, .memory_bytes = MEMORY_BYTES};
    const struct mx_align_scorer scorer = {.score = block_score, .context = fit, .visit = frame_visit};
    const struct mx_progress_options line = {.title = from == NULL ? "Finding words" : "Finding words again",
                                             .unit = "s",
                                             .total = (uint64_t)(fit->sound->sample_count / fit->sound->recipe->rate),
                                             .delay_ns = PROGRESS_NS};
    int rc = 0;
    fit->reported = 0;
    for (int32_t w = 0; w < fit->text->word_count; w++) {
        fit->sums[w] = 0;
        fit->counts[w] = 0;
    }
    for (int64_t f = 0; f < fit->sound->frames; f++) fit->columns[f] = -1;
    MX_TRY(mx_progress_start(&line, &fit->progress));
    MX_TRY(mx_align_run(&lattice, &costs, &scorer, path));
out:
    mx_progress_finish(fit->progress);
    fit->progress = NULL;
    return rc;
}

/* ---- the second search ---- */

/* The words that may be in each block: from the last that ended before it to the first that begins after it, and those
 * near them. */
static void near_find(const struct mx_cut_fit *fit, const struct mx_align_path *path, int32_t *from, int32_t *until)
{
    const int32_t words = fit->text->word_count;
    int32_t before = 0, after = 0;
    for (int64_t frame = 0, block = 0; frame < fit->sound->frames; frame += MX_ALIGN_BLOCK, block++) {
        for (int32_t w = before; w < words && path->end[w] <= frame; w++)
            if (path->end[w] >= 0) before = w;
        while (after < words && path->begin[after] < frame + MX_ALIGN_BLOCK) after++;
        from[block] = before > NEAR ? before - NEAR : 0;
        until[block] = after < words - NEAR ? after + NEAR : words;
    }
}

/* Discards the columns of words that do not fit: they carry no information about the speaker. */
static int columns_believe(struct mx_cut_fit *fit, int64_t *believed)
{
    const int32_t words = fit->text->word_count;
    double *const values = mx_alloc((size_t)words + 1, sizeof *values);
    size_t count = 0;
    int32_t w = words - 1;
    if (values == NULL) return MX_ERR_NO_MEMORY;
    for (int32_t i = 0; i < words; i++)
        if (fit->counts[i] > 0) values[count++] = mx_cut_fit_score(fit, i);
    mx_robust_sort(values, count);
    const double least = mx_robust_median(values, count) - BELIEVED_BELOW;
    mx_free(values);
    *believed = 0;
    for (int64_t f = fit->sound->frames - 1; f >= 0; f--) {
        if (fit->columns[f] < 0) continue;
        while (fit->columns[f] < fit->first[w]) w--;
        if (mx_cut_fit_score(fit, w) < least) fit->columns[f] = -1;
        *believed += fit->columns[f] >= 0;
    }
    return 0;
}

/* What frames of words that fit score, below the best code, and how far they are from their means: both depend on how well
 * the voice knows the speaker. */
static int usual_learn(struct mx_cut_fit *fit, int64_t believed)
{
    const struct mx_cut_sound *const s = fit->sound;
    const size_t bands = (size_t)fit->sound->recipe->bands;
    double gains = 0, distances = 0;
    int rc = 0;
    for (int64_t f = 0; f < s->frames; f += CHUNK) {
        const int32_t count = s->frames - f < CHUNK ? (int32_t)(s->frames - f) : CHUNK;
        MX_TRY(mx_cut_means_squares(fit->means, s->mel + (size_t)f * bands, count, fit->squares + f));
    }
    for (int64_t f = 0; f < s->frames; f++) {
        if (fit->columns[f] < 0) continue;
        const float score = mx_cut_means_frame(fit->means, s->mel + (size_t)f * bands, fit->columns[f]);
        gains += (double)(score - fit->other[f]);
        distances += (double)(fit->squares[f] - score);
    }
    fit->penalty = (float)(OTHER_BELOW - gains / (double)believed);
    fit->unlike = (float)(UNLIKE * distances / (double)believed);
out:
    return rc;
}

/* Adapts the means to the speaker along the path of the first search, and searches near that path. */
static int search_again(struct mx_cut_fit *fit, struct mx_align_path *path)
{
    const size_t blocks = (size_t)(fit->sound->frames / MX_ALIGN_BLOCK) + 1;
    int32_t *const from = mx_alloc(2 * blocks, sizeof *from);
    int64_t believed;
    int rc = 0;
    if (from == NULL) return MX_ERR_NO_MEMORY;
    int32_t *const until = from + blocks;
    MX_TRY(columns_believe(fit, &believed));
    if (believed < BELIEVED_LEAST) goto out;
    near_find(fit, path, from, until);
    mx_align_path_release(path);
    MX_TRY(mx_cut_means_adapt(fit->means, fit->sound, fit->columns));
    MX_TRY(codes_compute(fit));
    MX_TRY(usual_learn(fit, believed));
    MX_TRY(search_run(fit, from, until, path));
out:
    mx_free(from);
    return rc;
}

int mx_cut_fit_align(struct mx_cut_fit *fit, struct mx_align_path *path)
{
    int rc = 0;
    fit->penalty = OTHER_PENALTY;
    fit->unlike = INFINITY;
    MX_TRY(search_run(fit, NULL, NULL, path));
    MX_TRY(search_again(fit, path));
out:
    if (rc < 0) mx_align_path_release(path);
    return rc;
}

double mx_cut_fit_score(const struct mx_cut_fit *fit, int32_t word)
{
    return fit->counts[word] > 0 ? fit->sums[word] / fit->counts[word] : 0;
}
