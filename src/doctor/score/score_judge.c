/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What scores say about rows, see score.h.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/robust.h"
#include "base/string.h"
#include "doctor/by_speaker.h"
#include "doctor/score/score.h"
#include "doctor/score/score_internal.h"
#include "myxtts/error.h"

#define SPEAKER_LEAST 10   /* rows of a speaker with fewer are compared with all rows */
#define SPREAD_LEAST  0.5  /* nats a frame: the smallest robust deviation */
#define DEVIATIONS    4.0  /* from which on a row is suspect */
#define LOW           -6.0 /* scores from which on a row is suspect even if all rows are like that */
#define RIVAL         -1.0 /* nats a frame: if another row's text is no more than this much worse */
#define HEARD_BELOW   2.0  /* nats a frame below the usual score of words that seem to be spoken */
#define MISSING_MOST  0.67 /* share of words that are not spoken: either means that the text is wrong */
#define SHORT         1.5  /* seconds of a short row */
#define EXTRA_SHORT   0.5  /* seconds of other sound that are reported in a short row */
#define EXTRA_LEAST   0.3  /* the same in longer rows */

/* ---- deviations ---- */

static bool is_scored(const void *context, uint32_t row)
{
    const struct mx_doctor_scores *const scores = context;
    return scores->rows[row].unscored == MX_DOCTOR_SCORED;
}

/* Of the scores of some rows; `values` has room for them. */
static struct mx_robust usual_of(const struct mx_doctor_scores *scores, const uint32_t *rows, size_t count,
                                 double *values)
{
    for (size_t i = 0; i < count; i++) values[i] = scores->rows[rows[i]].score;
    return mx_robust_of(values, count);
}

int mx_doctor_scores_deviate(const struct mx_check_report *report, struct mx_doctor_scores *scores)
{
    struct mx_doctor_by_speaker by = {0};
    double *const values = mx_alloc(scores->count, sizeof *values);
    int rc = 0;
    if (values == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_doctor_by_speaker_build(report->manifest, is_scored, scores, &by));
    const struct mx_robust all = usual_of(scores, by.rows, by.count, values);
    for (uint32_t s = 0; s < report->manifest->speaker_count; s++) {
        const uint32_t begin = by.first[s], end = by.first[s + 1];
        const struct mx_robust own =
            end - begin < SPEAKER_LEAST ? all : usual_of(scores, by.rows + begin, end - begin, values);
        for (uint32_t i = begin; i < end; i++) {
            struct mx_doctor_score *const row = &scores->rows[by.rows[i]];
            row->deviations = (own.middle - row->score) / fmax(own.deviation, SPREAD_LEAST);
        }
    }
out:
    mx_doctor_by_speaker_release(&by);
    mx_free(values);
    return rc;
}

/* ---- findings ---- */

/* Words that are not spoken, as written; neighbours in one piece, "…" between pieces. */
static int words_join(const char *text, const struct mx_doctor_score *s, struct mx_string *out)
{
    int rc = 0;
    for (size_t w = 0; w < s->word_count; w++) {
        if (s->words[w].heard) continue;
        const char *const before = out->length == 0 ? "" : !s->words[w - 1].heard ? " " : " … ";
        MX_TRY(mx_string_append(out, "%s%.*s", before, (int)(s->words[w].end - s->words[w].begin),
                                text + s->words[w].begin));
    }
out:
    return rc;
}

static int missing_find(const char *text, const struct mx_doctor_score *s, uint32_t row,
                        struct mx_doctor_findings *findings)
{
    struct mx_string words = {0};
    size_t missing = 0;
    int rc = 0;
    for (size_t w = 0; w < s->word_count; w++) missing += !s->words[w].heard;
    if (missing == 0) return 0;
    MX_TRY(words_join(text, s, &words));
    MX_TRY(mx_doctor_findings_add(
        findings, &(struct mx_doctor_finding){.row = row,
                                              .kind = MX_DOCTOR_FINDING_MISSING_WORDS,
                                              .badness = 1 + 2.0 * (double)missing / (double)s->word_count,
                                              .value = (double)missing,
                                              .text = words.data}));
out:
    mx_string_release(&words);
    return rc;
}

static int extra_find(const struct mx_check_row *checked, const struct mx_doctor_score *s, uint32_t row,
                      struct mx_doctor_findings *findings)
{
    const double seconds = checked->seconds_used, least = seconds < SHORT ? EXTRA_SHORT : EXTRA_LEAST;
    double sum = 0, longest = 0, from = 0;
    for (size_t i = 0; i < s->other_count; i++) {
        const double own = (double)(s->other[i].until - s->other[i].from);
        if (own < least) continue;
        sum += own;
        if (own <= longest) continue;
        longest = own;
        from = (double)s->other[i].from;
    }
    if (sum <= 0) return 0;
    return mx_doctor_findings_add(findings, &(struct mx_doctor_finding){.row = row,
                                                                        .kind = MX_DOCTOR_FINDING_EXTRA_SOUND,
                                                                        .badness = 1 + 2 * sum / seconds,
                                                                        .value = sum,
                                                                        .limit = checked->trimmed_begin + from});
}

/* The text of another recording: it fits badly, other texts fit as well, and the words that seem to be spoken
 * are barely in the sound. Otherwise MISSING_WORDS or EXTRA_SOUND describe it better. */
static bool is_mismatch(const struct mx_doctor_score *s, double seconds)
{
    size_t missing = 0;
    if (s->deviations < DEVIATIONS && s->score > LOW) return false;
    if (s->better_by < RIVAL) return false;
    if (s->better >= 0 && seconds >= SHORT) return true; /* short sounds fit many texts */
    for (size_t w = 0; w < s->word_count; w++) missing += !s->words[w].heard;
    return s->heard < s->usual - HEARD_BELOW || (double)missing > MISSING_MOST * (double)s->word_count;
}

static int mismatch_find(const struct mx_check_report *report, const struct mx_doctor_score *s, uint32_t row,
                         struct mx_doctor_findings *findings)
{
    const double badness = 2 * fmin(fmax(s->deviations / DEVIATIONS, 1), 5);
    int rc = 0;
    MX_TRY(mx_doctor_findings_add(findings, &(struct mx_doctor_finding){.row = row,
                                                                        .kind = MX_DOCTOR_FINDING_TEXT_MISMATCH,
                                                                        .badness = badness,
                                                                        .value = s->score,
                                                                        .limit = s->usual}));
    if (s->better < 0) goto out;
    const char *const id = report->manifest->utterances[s->better].id;
    MX_TRY(mx_doctor_findings_add(findings, &(struct mx_doctor_finding){.row = row,
                                                                        .kind = MX_DOCTOR_FINDING_OTHER_ROW,
                                                                        .badness = badness + 0.5,
                                                                        .value = s->better_by,
                                                                        .text = id}));
out:
    return rc;
}

int mx_doctor_scores_judge(const struct mx_check_report *report, const struct mx_doctor_scores *scores,
                           struct mx_doctor_findings *findings)
{
    int rc = 0;
    for (uint32_t i = 0; i < scores->count; i++) {
        const struct mx_doctor_score *const s = &scores->rows[i];
        const double seconds = report->list[i].seconds_used;
        if (s->unscored != MX_DOCTOR_SCORED) continue;
        if (is_mismatch(s, seconds)) {
            MX_TRY(mismatch_find(report, s, i, findings));
            continue;
        }
        MX_TRY(missing_find(report->manifest->utterances[i].text, s, i, findings));
        MX_TRY(extra_find(&report->list[i], s, i, findings));
    }
out:
    return rc;
}
