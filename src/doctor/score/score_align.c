/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Paths through one sound and one text, see score_align.h.
 */
#include "doctor/score/score_align.h"

#include <math.h>
#include <string.h>

#include "align/codes.h"
#include "base/alloc.h"
#include "features/recipe.h"
#include "myxtts/error.h"

#define BETWEEN_PENALTY 12.0f /* of a frame that a token between words explains: many sound like the end of a word */
#define NEVER           1e6f  /* nats that no path pays */
#define BEAM            1e7f  /* every path is followed: rows are short */
#define MEMORY_BYTES    ((size_t)64 << 20)

/* Nats. Chosen with `build/doctor_rates` (results in score.h): higher values find less, lower ones flag more correct
 * rows. */
#define OTHER_BELOW  4.2f  /* nats that a frame of other sound is below the usual score */
#define OTHER_ENTER  40.0f /* the first such frame, in addition */
#define SKIP_WORD    40.0f /* of the first word that is left out */
#define SKIP_SHORT   15.0f /* less for each token that it has below SHORT_TOKENS */
#define SHORT_TOKENS 5
#define SKIP_MORE    2.0f /* of every word that is left out */

/* One search. */
struct search {
    const struct mx_doctor_frames *sound;
    const struct mx_align_text *text;
    const float *means;
    int32_t bands;
    float *scores;         /* [frames, tokens] */
    float *silences;       /* [frames, words + 1]: of the gaps */
    float *skip_first;     /* [words] */
    int32_t *first, *last; /* [words] */
    float *gains;          /* [frames]: of the path, above the best code; NAN: not in a word */
    int32_t *columns;      /* (optional) [frames] */
    float penalty;         /* of a frame of other sound */
};

void mx_doctor_frames_judge(struct mx_doctor_frames *sound, const struct mx_doctor_codes *codes)
{
    const int32_t bands = sound->recipe->bands;
    for (int32_t f = 0; f < sound->frames; f++) {
        const float *const m = sound->mel + (size_t)f * (size_t)bands;
        float quiet = -INFINITY, other = -INFINITY;
        for (int32_t k = 0; k < MX_DOCTOR_QUIETS; k++)
            quiet = fmaxf(quiet, mx_align_code_score(m, codes->quiet + (size_t)k * (size_t)bands, bands));
        for (int32_t k = 0; k < MX_DOCTOR_CODES; k++)
            other = fmaxf(other, mx_align_code_score(m, codes->speech + (size_t)k * (size_t)bands, bands));
        sound->quiet[f] = quiet;
        sound->other[f] = fmaxf(other, quiet);
    }
}

/* ---- scoring ---- */

static int block_score(void *context, const struct mx_align_block *b)
{
    const struct search *const s = context;
    const size_t width = (size_t)(b->column_end - b->column_begin), gaps = (size_t)(b->word_end - b->word_begin) + 1;
    for (int32_t i = 0; i < b->frames; i++) {
        const size_t frame = (size_t)b->frame + (size_t)i;
        const float *const row = s->scores + frame * (size_t)s->text->token_count;
        const float *const silence = s->silences + frame * ((size_t)s->text->word_count + 1);
        if (width > 0) memcpy(b->columns + (size_t)i * width, row + b->column_begin, width * sizeof *row);
        memcpy(b->silence + (size_t)i * gaps, silence + b->word_begin, gaps * sizeof *silence);
        b->other[i] = s->sound->other[frame] - s->penalty;
    }
    return 0;
}

static void frame_visit(void *context, int64_t frame, int32_t word, int32_t column)
{
    struct search *const s = context;
    const float gain =
        s->scores[(size_t)frame * (size_t)s->text->token_count + (size_t)column] - s->sound->other[frame];
    s->gains[frame] = gain;
    (void)word;
    if (s->columns != NULL) s->columns[frame] = column;
}

/* Short words are often reduced in speech, so skipping them costs more. */
static float skip_cost(int32_t tokens)
{
    return SKIP_WORD + (tokens < SHORT_TOKENS ? SKIP_SHORT * (float)(SHORT_TOKENS - tokens) : 0);
}

static int search_open(struct search *s, bool forced)
{
    const size_t words = (size_t)s->text->word_count, tokens = (size_t)s->text->token_count;
    const size_t frames = (size_t)s->sound->frames, bands = (size_t)s->bands;
    s->scores = mx_alloc(frames * tokens, sizeof *s->scores);
    s->skip_first = mx_alloc(words, sizeof *s->skip_first);
    s->first = mx_alloc(words, sizeof *s->first);
    s->last = mx_alloc(words, sizeof *s->last);
    s->gains = mx_alloc(frames, sizeof *s->gains);
    s->silences = mx_alloc(frames * (words + 1), sizeof *s->silences);
    if (s->silences == NULL || s->scores == NULL || s->skip_first == NULL || s->first == NULL || s->last == NULL ||
        s->gains == NULL)
        return MX_ERR_NO_MEMORY;
    for (size_t w = 0; w < words; w++) {
        s->first[w] = s->text->words[w].first;
        s->last[w] = s->text->words[w].last;
        s->skip_first[w] = forced ? NEVER : skip_cost(s->last[w] - s->first[w]);
    }
    for (size_t f = 0; f < frames; f++) {
        s->gains[f] = NAN;
        for (size_t t = 0; t < tokens; t++)
            s->scores[f * tokens + t] =
                mx_align_code_score(s->sound->mel + f * bands, s->means + t * bands, (int32_t)bands);
    }
    for (size_t f = 0; f < frames; f++)
        for (size_t g = 0; g <= words; g++) {
            float best = s->sound->quiet[f];
            const size_t end = g < words ? (size_t)s->first[g] : tokens;
            for (size_t t = g > 0 ? (size_t)s->last[g - 1] : 0; t < end; t++)
                best = fmaxf(best, s->scores[f * tokens + t] - BETWEEN_PENALTY);
            s->silences[f * (words + 1) + g] = best;
        }
    for (size_t f = 0; s->columns != NULL && f < frames; f++) s->columns[f] = -1;
    return 0;
}

static void search_close(struct search *s)
{
    mx_free(s->scores);
    mx_free(s->skip_first);
    mx_free(s->first);
    mx_free(s->last);
    mx_free(s->gains);
    mx_free(s->silences);
}

static int search_run(struct search *s, bool forced, struct mx_align_path *path)
{
    const struct mx_align_lattice lattice = {.words = s->text->word_count,
                                             .columns = s->text->token_count,
                                             .first = s->first,
                                             .last = s->last,
                                             .skip_first = s->skip_first,
                                             .frames = s->sound->frames};
    const struct mx_align_costs costs = {.other_enter = forced ? NEVER : OTHER_ENTER,
                                         .skip_more = forced ? NEVER : SKIP_MORE,
                                         .beam = BEAM,
                                         .memory_bytes = MEMORY_BYTES};
    const struct mx_align_scorer scorer = {.score = block_score, .context = s, .visit = frame_visit};
    return mx_align_run(&lattice, &costs, &scorer, path);
}

/* All frames of a path that has every word: those in no word are silence of the gap where they are. */
static double score_sum(const struct search *s, const struct mx_align_path *path)
{
    const int32_t words = s->text->word_count;
    int32_t gap = 0;
    double sum = 0;
    for (int32_t f = 0; f < s->sound->frames; f++) {
        while (gap < words && path->begin[gap] <= f) gap++;
        const float silence = s->silences[(size_t)f * ((size_t)words + 1) + (size_t)gap];
        sum += (double)(isnan(s->gains[f]) ? silence - s->sound->other[f] : s->gains[f]);
    }
    return sum;
}

int mx_doctor_align_all(const struct mx_doctor_frames *sound, const struct mx_doctor_reading *reading, double *score,
                        int32_t *columns)
{
    struct search s = {.sound = sound,
                       .text = reading->text,
                       .means = reading->means,
                       .bands = sound->recipe->bands,
                       .columns = columns};
    struct mx_align_path path = {0};
    int rc = 0;
    MX_TRY(search_open(&s, true));
    MX_TRY(search_run(&s, true, &path));
    *score = fmax(score_sum(&s, &path) / sound->frames, MX_DOCTOR_SCORE_WORST);
    for (int32_t w = 0; w < reading->text->word_count; w++)
        if (path.begin[w] < 0) *score = MX_DOCTOR_SCORE_WORST;
    if (path.other_count > 0) *score = MX_DOCTOR_SCORE_WORST;
out:
    mx_align_path_release(&path);
    search_close(&s);
    return rc;
}

int mx_doctor_align_some(const struct mx_doctor_frames *sound, const struct mx_doctor_reading *reading, double usual,
                         struct mx_align_path *path, double *heard)
{
    struct search s = {.sound = sound,
                       .text = reading->text,
                       .means = reading->means,
                       .bands = sound->recipe->bands,
                       .penalty = (float)(OTHER_BELOW - fmin(usual, 0))};
    int64_t frames = 0;
    int rc = 0;
    *heard = 0;
    MX_TRY(search_open(&s, false));
    MX_TRY(search_run(&s, false, path));
    for (int32_t f = 0; f < sound->frames; f++) {
        if (isnan(s.gains[f])) continue;
        *heard += (double)s.gains[f];
        frames++;
    }
    if (frames > 0) *heard /= (double)frames;
out:
    search_close(&s);
    return rc;
}
