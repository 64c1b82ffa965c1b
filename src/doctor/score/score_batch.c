/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Hearing and reading rows, see score_batch.h.
 */
#include "doctor/score/score_batch.h"

#include <math.h>
#include <string.h>

#include "align/adapt.h"
#include "align/codes.h"
#include "base/alloc.h"
#include "base/robust.h"
#include "checkpoint/installed.h"
#include "myxtts/error.h"

#define OWNER         "doctor"
#define LISTEN_FRAMES 520 /* of a row for its speaker embedding: 6 seconds, from its middle */
#define ADAPT_ROUNDS  2
#define SECONDS_OFF   0.025 /* two windows of trimming: the check may have read it at another rate */
#define ADAPT_BELOW   2.5   /* nats a frame: a row that is further below the median is not used for its speaker */
#define SAMPLE_ROWS   4096  /* means, or quiet frames, that codes are learned from */

/* ---- the session ---- */

/* Samples of the longest batch. */
static int64_t samples_most(const struct mx_check_report *report, int rate)
{
    double most = MX_DOCTOR_BATCH_SECONDS;
    for (uint32_t i = 0; i < report->manifest->utterance_count; i++)
        most = fmax(most, report->list[i].reject == MX_REJECT_NONE ? report->list[i].seconds_used : 0);
    return (int64_t)((most + 1) * rate);
}

static int readers_open(struct mx_doctor_session *session, const struct mx_row_options *row, int workers)
{
    const struct mx_pool_options options = {.name = "doctor", .workers = workers};
    int rc = 0;
    session->readers = mx_alloc((size_t)workers, sizeof *session->readers);
    if (session->readers == NULL) return MX_ERR_NO_MEMORY;
    session->workers = workers;
    for (int i = 0; i < workers; i++) MX_TRY(mx_row_reader_create(row, &session->readers[i]));
    MX_TRY(mx_pool_create(&options, &session->pool));
out:
    return rc;
}

int mx_doctor_session_open(struct mx_doctor_session *session, const struct mx_check_report *report,
                           const struct mx_row_options *row, const struct mx_doctor_scores_options *options)
{
    const struct mx_voice_options how = {.size = sizeof how, .device = options->device};
    int workers = options->workers, rc = 0;
    if (workers <= 0) workers = mx_thread_cores(NULL, 0);
    struct mx_row_options reading = *row;
    reading.rate = report->rate; /* what the check learned and judged by */
    *session = (struct mx_doctor_session){.report = report, .stop = options->stop};
    MX_TRY(mx_voice_open(options->voice != NULL ? options->voice : MX_INSTALLED_BASE, &how, &session->voice));
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(session->voice->checkpoint);
    session->recipe = mx_voice_recipe(session->voice);
    session->bands = (size_t)session->recipe->bands;
    reading.audio.rate = session->recipe->rate;
    const struct mx_extract_options extract = {.recipe = session->recipe,
                                               .samples_max = samples_most(report, session->recipe->rate),
                                               .utterances_max = MX_DOCTOR_BATCH_ROWS,
                                               .owner = OWNER};
    session->width = (size_t)state->model.size.width;
    MX_TRY(mx_stream_create(session->voice->runtime.device, OWNER, &session->stream));
    MX_TRY(mx_extract_create(session->voice->runtime.device, &extract, &session->extract));
    MX_TRY(mx_extract_normalise(session->extract, state->normaliser.mel_mean, state->normaliser.mel_deviation));
    MX_TRY(mx_align_encoder_create(session->voice, session->stream, MX_DOCTOR_TOKENS_MOST, &session->encoder));
    MX_TRY(readers_open(session, &reading, workers));
out:
    if (rc < 0) mx_doctor_session_close(session);
    return rc;
}

void mx_doctor_session_close(struct mx_doctor_session *session)
{
    mx_pool_destroy(session->pool);
    for (int i = 0; i < session->workers; i++) mx_row_reader_destroy(session->readers[i]);
    mx_free(session->readers);
    if (session->stream != NULL) (void)mx_stream_sync(session->stream);
    mx_align_encoder_destroy(session->encoder);
    mx_extract_destroy(session->extract);
    mx_stream_release(session->stream);
    mx_voice_close(session->voice);
    *session = (struct mx_doctor_session){0};
}

int mx_doctor_session_asked(const struct mx_doctor_session *session)
{
    if (session->stop == NULL || !atomic_load(session->stop)) return 0;
    return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted while rows were scored");
}

/* ---- recordings and texts ---- */

struct loading {
    struct mx_doctor_session *session;
    struct mx_doctor_batch *batch;
    struct mx_first_error failure;
};

static int text_load(const struct mx_doctor_session *session, struct mx_doctor_batch_row *h)
{
    const struct mx_utterance *const u = &session->report->manifest->utterances[h->row];
    const enum mx_language_id language = session->report->list[h->row].language;
    const struct mx_align_part part = {.end = strlen(u->text)};
    if (mx_vocabulary_language(session->voice->vocabulary, language) < 0) {
        h->unscored = MX_DOCTOR_UNSCORED_LANGUAGE;
        return 0;
    }
    const int rc = mx_align_text_read(u->text, &part, 1, (int)language, session->voice->vocabulary, &h->text);
    if (rc == MX_ERR_DATA) {
        mx_error_clear();
        h->unscored = MX_DOCTOR_UNSCORED_TEXT;
        return 0;
    }
    for (int32_t i = 0; rc == 0 && i < h->text.unit_count; i++)
        if (h->text.units[i].last - h->text.units[i].first > MX_DOCTOR_TOKENS_MOST)
            h->unscored = MX_DOCTOR_UNSCORED_TEXT;
    return rc;
}

static int row_load(const struct mx_doctor_session *session, int worker, struct mx_doctor_batch_row *h)
{
    const struct mx_utterance *const u = &session->report->manifest->utterances[h->row];
    struct mx_row row = {.sounds = session->report->list[h->row].sounds};
    int rc = 0;
    MX_TRY(text_load(session, h));
    MX_TRY(mx_row_load_audio(session->readers[worker], u, &row));
    const double seconds = (double)row.sample_count / session->recipe->rate;
    if (row.reject != MX_REJECT_NONE || fabs(seconds - session->report->list[h->row].seconds_used) > SECONDS_OFF) {
        h->unscored = MX_DOCTOR_UNSCORED_SOUND;
        goto out;
    }
    h->samples = mx_alloc(row.sample_count, sizeof *h->samples);
    if (h->samples == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    memcpy(h->samples, row.samples, row.sample_count * sizeof *h->samples);
    h->count = row.sample_count;
out:
    return rc;
}

static void rows_load(void *context, int64_t begin, int64_t end, int worker)
{
    struct loading *const l = context;
    for (int64_t i = begin; i < end && !mx_first_error_failed(&l->failure); i++)
        if (row_load(l->session, worker, &l->batch->rows[i]) < 0) mx_first_error_keep(&l->failure);
}

/* ---- the device ---- */

static void heard_clear(struct mx_doctor_batch_row *h)
{
    mx_align_text_release(&h->text);
    mx_free(h->samples);
    mx_free(h->levels);
    mx_free(h->columns);
    *h = (struct mx_doctor_batch_row){0};
}

static int floats_reserve(float **array, size_t *room, size_t count)
{
    if (count <= *room) return 0;
    mx_free(*array);
    *array = mx_alloc(count + count / 2, sizeof **array);
    *room = *array == NULL ? 0 : count + count / 2;
    return *array == NULL ? MX_ERR_NO_MEMORY : 0;
}

static int frames_reserve(struct mx_doctor_batch *b, size_t frames, size_t bands)
{
    size_t rooms[4] = {0};
    if (frames <= b->frame_room) return 0;
    float **const arrays[] = {&b->mel, &b->pitch, &b->other, &b->quiet};
    b->frame_room = 0;
    for (size_t i = 0; i < 4; i++) {
        const int rc = floats_reserve(arrays[i], &rooms[i], frames * (i == 0 ? bands : 1));
        if (rc < 0) return rc;
    }
    b->frame_room = frames;
    return 0;
}

/* Level of each frame, which is centred on its sample. */
static int levels_measure(struct mx_doctor_batch_row *h, int64_t hop)
{
    h->levels = mx_alloc((size_t)h->sound.frames + 1, sizeof *h->levels);
    if (h->levels == NULL) return MX_ERR_NO_MEMORY;
    for (int32_t f = 0; f < h->sound.frames; f++) {
        const int64_t from = f * hop - hop / 2, until = from + hop;
        const int64_t begin = from > 0 ? from : 0, end = until < (int64_t)h->count ? until : (int64_t)h->count;
        double sum = 0;
        for (int64_t i = begin; i < end; i++) sum += (double)h->samples[i] * (double)h->samples[i];
        h->levels[f] = end > begin ? (float)(sum / (double)(end - begin)) : 0;
    }
    return 0;
}

/* Mel and pitch of all rows; rows that could not be read have no frames. */
static int features_compute(struct mx_doctor_session *session, struct mx_doctor_batch *b)
{
    int32_t offsets[MX_DOCTOR_BATCH_ROWS + 1] = {0}, count = 0;
    struct mx_extract_features features;
    size_t samples = 0;
    int rc = 0;
    for (uint32_t i = 0; i < b->count; i++) samples += b->rows[i].count;
    if (samples == 0) return 0;
    MX_TRY(floats_reserve(&b->audio, &b->audio_room, samples));
    for (uint32_t i = 0; i < b->count; i++) {
        struct mx_doctor_batch_row *const h = &b->rows[i];
        if (h->count == 0) continue;
        memcpy(b->audio + offsets[count], h->samples, h->count * sizeof *h->samples);
        offsets[count + 1] = offsets[count] + (int32_t)h->count;
        count++;
    }
    const struct mx_extract_batch batch = {.audio = b->audio, .offsets = offsets, .count = count};
    MX_TRY(mx_extract_submit(session->extract, session->stream, &batch, &features));
    MX_TRY(frames_reserve(b, (size_t)features.frames.rows, session->bands));
    MX_TRY(mx_extract_read(session->extract, session->stream, b->mel, NULL, b->pitch));
    const int32_t *frames = mx_extract_frames(session->extract);
    for (uint32_t i = 0; i < b->count; i++) {
        struct mx_doctor_batch_row *const h = &b->rows[i];
        if (h->count == 0) continue;
        h->sound = (struct mx_doctor_frames){.recipe = session->recipe,
                                             .mel = b->mel + (size_t)frames[0] * session->bands,
                                             .frames = frames[1] - frames[0],
                                             .other = b->other + frames[0],
                                             .quiet = b->quiet + frames[0]};
        h->pitch = b->pitch + frames[0];
        MX_TRY(levels_measure(h, session->recipe->hop));
        frames++;
    }
out:
    if (rc < 0) (void)mx_stream_sync(session->stream);
    return rc;
}

/* The speaker embedding of each row, and its mean over the rows of each speaker. */
static int vectors_compute(struct mx_doctor_session *session, struct mx_doctor_batch *b)
{
    const struct mx_utterance *const all = session->report->manifest->utterances;
    struct mx_align_clip hearings[MX_DOCTOR_BATCH_ROWS];
    int32_t count = 0;
    int rc = 0;
    memset(b->vectors, 0, 2 * MX_DOCTOR_BATCH_ROWS * session->width * sizeof *b->vectors);
    for (uint32_t i = 0; i < b->count; i++) {
        struct mx_doctor_batch_row *const h = &b->rows[i];
        h->vector = b->vectors + (size_t)i * session->width;
        h->speaker = b->vectors + (MX_DOCTOR_BATCH_ROWS + (size_t)i) * session->width;
        if (h->sound.frames == 0) continue;
        const int32_t frames = h->sound.frames < LISTEN_FRAMES ? h->sound.frames : LISTEN_FRAMES;
        hearings[count++] =
            (struct mx_align_clip){.mel = h->sound.mel + (size_t)((h->sound.frames - frames) / 2) * session->bands,
                                   .frames = frames,
                                   .vector = h->vector};
    }
    MX_TRY(mx_align_encoder_listen(session->encoder, hearings, count));
    for (uint32_t i = 0; i < b->count; i++) {
        double weight = 0;
        for (uint32_t k = 0; k < b->count; k++)
            if (all[b->rows[k].row].speaker == all[b->rows[i].row].speaker) weight += b->rows[k].sound.frames;
        for (uint32_t k = 0; k < b->count && weight > 0; k++) {
            if (all[b->rows[k].row].speaker != all[b->rows[i].row].speaker) continue;
            const float share = (float)(b->rows[k].sound.frames / weight);
            for (size_t w = 0; w < session->width; w++) b->rows[i].speaker[w] += share * b->rows[k].vector[w];
        }
    }
out:
    return rc;
}

int mx_doctor_batch_listen(struct mx_doctor_session *session, struct mx_doctor_batch *b, const uint32_t *rows,
                           uint32_t count)
{
    struct loading loading = {.session = session, .batch = b};
    int rc = 0;
    if (b->rows == NULL) {
        b->rows = mx_alloc(MX_DOCTOR_BATCH_ROWS, sizeof *b->rows);
        b->vectors = mx_alloc(2 * MX_DOCTOR_BATCH_ROWS * session->width, sizeof *b->vectors);
        b->codes = mx_alloc((MX_DOCTOR_CODES + MX_DOCTOR_QUIETS) * session->bands, sizeof *b->codes);
        if (b->rows == NULL || b->vectors == NULL || b->codes == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    for (uint32_t i = 0; i < b->count; i++) heard_clear(&b->rows[i]);
    b->count = count;
    for (uint32_t i = 0; i < count; i++) b->rows[i].row = rows[i];
    mx_pool_for(session->pool, count, 1, rows_load, &loading);
    MX_TRY(mx_first_error_raise(&loading.failure));
    MX_TRY(features_compute(session, b));
    MX_TRY(vectors_compute(session, b));
out:
    return rc;
}

/* ---- means and codes ---- */

static int sequences_read(struct mx_doctor_session *session, const struct mx_align_sequence *sequences, int32_t count)
{
    for (int32_t first = 0; first < count;) {
        const int32_t done = mx_align_encoder_read(session->encoder, sequences + first, count - first);
        if (done < 0) return done;
        first += done;
    }
    return 0;
}

static int means_compute(struct mx_doctor_session *session, struct mx_doctor_batch *b, size_t *tokens)
{
    struct mx_align_sequence *sequences = NULL;
    int32_t units = 0, count = 0;
    size_t at = 0;
    int rc = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct mx_doctor_batch_row *const h = &b->rows[i];
        if (h->unscored != MX_DOCTOR_SCORED) continue;
        at += (size_t)h->text.token_count;
        units += h->text.unit_count;
    }
    *tokens = at;
    if (at == 0) return 0;
    MX_TRY(floats_reserve(&b->means, &b->means_room, at * session->bands));
    sequences = mx_alloc((size_t)units, sizeof *sequences);
    if (sequences == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    at = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        struct mx_doctor_batch_row *const h = &b->rows[i];
        if (h->unscored != MX_DOCTOR_SCORED) continue;
        h->means = b->means + at * session->bands;
        at += (size_t)h->text.token_count;
        for (int32_t u = 0; u < h->text.unit_count; u++)
            sequences[count++] =
                (struct mx_align_sequence){.tokens = h->text.tokens + h->text.units[u].first,
                                           .count = h->text.units[u].last - h->text.units[u].first,
                                           .language = h->text.language_number,
                                           .vector = h->speaker,
                                           .means = h->means + (size_t)h->text.units[u].first * session->bands};
    }
    MX_TRY(sequences_read(session, sequences, count));
out:
    mx_free(sequences);
    return rc;
}

/* ---- adapting means ---- */

/* Adds the frames of a row that are in words. */
static void row_add(const struct mx_doctor_batch_row *h, struct mx_align_adapt *adapt)
{
    for (int32_t f = 0; f < h->sound.frames; f++)
        if (h->columns[f] >= 0)
            mx_align_adapt_add(adapt, h->text.tokens[h->columns[f]], h->sound.mel + (size_t)f * adapt->bands,
                               h->means + (size_t)h->columns[f] * adapt->bands);
}

/* Moves the means of all texts towards the sound of each speaker, as far as its rows have frames of a token. Rows whose
 * text does not fit are not used. */
static int means_adapt(const struct mx_doctor_session *session, struct mx_doctor_batch *b)
{
    const struct mx_utterance *const all = session->report->manifest->utterances;
    struct mx_align_adapt adapt = {0};
    int rc = 0;
    MX_TRY(mx_align_adapt_open(&adapt, (size_t)mx_vocabulary_size(session->voice->vocabulary), session->bands));
    for (uint32_t first = 0, end; first < b->count; first = end) {
        const uint32_t speaker = all[b->rows[first].row].speaker;
        mx_align_adapt_clear(&adapt);
        for (end = first; end < b->count && all[b->rows[end].row].speaker == speaker; end++)
            if (b->rows[end].unscored == MX_DOCTOR_SCORED && b->rows[end].score > b->usual - ADAPT_BELOW)
                row_add(&b->rows[end], &adapt);
        for (uint32_t i = first; i < end; i++)
            if (b->rows[i].unscored == MX_DOCTOR_SCORED)
                mx_align_adapt_move(&adapt, b->rows[i].text.tokens, b->rows[i].text.token_count, b->rows[i].means);
    }
out:
    mx_align_adapt_release(&adapt);
    return rc;
}

/* The level below which a frame is quiet: near that of the noise, and far below that of speech (as cut/fit.c has it). */
static int quiet_level(const struct mx_doctor_batch *b, double *level, size_t *frames)
{
    size_t count = 0;
    double sum = 0;
    for (uint32_t i = 0; i < b->count; i++) count += (size_t)b->rows[i].sound.frames;
    *frames = count;
    double *const sorted = mx_alloc(count + 1, sizeof *sorted);
    if (sorted == NULL) return MX_ERR_NO_MEMORY;
    count = 0;
    for (uint32_t i = 0; i < b->count; i++)
        for (int32_t f = 0; f < b->rows[i].sound.frames; f++) sorted[count++] = (double)b->rows[i].levels[f];
    mx_robust_sort(sorted, count);
    for (size_t i = count / 2; i < count; i++) sum += sorted[i] / (double)(count - count / 2);
    *level = fmin(2 * sorted[count / 20], 1e-2 * sum);
    mx_free(sorted);
    return 0;
}

/* Quiet frames of the batch, evenly spread, to rows [SAMPLE_ROWS, bands]. */
static int quiet_collect(const struct mx_doctor_session *session, const struct mx_doctor_batch *b, float *rows,
                         size_t *taken)
{
    double level;
    size_t count, seen = 0, quiet = 0;
    const int rc = quiet_level(b, &level, &count);
    if (rc < 0) return rc;
    *taken = 0;
    for (int pass = 0; pass < 2; pass++) {
        const size_t step = quiet / SAMPLE_ROWS + 1;
        seen = 0;
        for (uint32_t i = 0; i < b->count; i++) {
            const struct mx_doctor_frames *const s = &b->rows[i].sound;
            for (int32_t f = 0; f < s->frames; f++) {
                if ((double)b->rows[i].levels[f] > level) continue;
                if (pass == 1 && seen % step == 0 && *taken < SAMPLE_ROWS)
                    memcpy(rows + (*taken)++ * session->bands, s->mel + (size_t)f * session->bands,
                           session->bands * sizeof *rows);
                seen++;
            }
        }
        quiet = seen;
    }
    return 0;
}

static int codes_compute(const struct mx_doctor_session *session, struct mx_doctor_batch *b, size_t tokens)
{
    const struct mx_normaliser *const n = &mx_checkpoint_state(session->voice->checkpoint)->normaliser;
    const size_t count = tokens < SAMPLE_ROWS ? tokens : SAMPLE_ROWS;
    float *const rows = mx_alloc(SAMPLE_ROWS * session->bands, sizeof *rows);
    size_t quiet;
    int rc = 0;
    if (rows == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        memcpy(rows + i * session->bands, b->means + i * tokens / count * session->bands,
               session->bands * sizeof *rows);
    MX_TRY(mx_align_codes_learn(rows, count, (int32_t)session->bands, b->codes, MX_DOCTOR_CODES));
    MX_TRY(quiet_collect(session, b, rows, &quiet));
    if (quiet == 0) { /* nothing in it is quiet: as quiet as can be */
        for (size_t k = 0; k < session->bands; k++)
            rows[k] = (float)((log((double)session->recipe->floor) - n->mel_mean) / n->mel_deviation);
        quiet = 1;
    }
    MX_TRY(mx_align_codes_learn(rows, quiet, (int32_t)session->bands, b->codes + MX_DOCTOR_CODES * session->bands,
                                MX_DOCTOR_QUIETS));
out:
    mx_free(rows);
    return rc;
}

struct judging {
    struct mx_doctor_batch *batch;
    size_t bands;
    struct mx_first_error failure;
};

static int row_judge(struct mx_doctor_batch_row *h, const struct mx_doctor_codes *codes)
{
    const struct mx_doctor_reading reading = {.text = &h->text, .means = h->means};
    mx_doctor_frames_judge(&h->sound, codes);
    if (h->unscored != MX_DOCTOR_SCORED) return 0;
    if (h->columns == NULL) h->columns = mx_alloc((size_t)h->sound.frames, sizeof *h->columns);
    if (h->columns == NULL) return MX_ERR_NO_MEMORY;
    return mx_doctor_align_all(&h->sound, &reading, &h->score, h->columns);
}

static void rows_judge(void *context, int64_t begin, int64_t end, int worker)
{
    struct judging *const j = context;
    const struct mx_doctor_codes codes = {.speech = j->batch->codes,
                                          .quiet = j->batch->codes + MX_DOCTOR_CODES * j->bands};
    (void)worker;
    for (int64_t i = begin; i < end && !mx_first_error_failed(&j->failure); i++)
        if (row_judge(&j->batch->rows[i], &codes) < 0) mx_first_error_keep(&j->failure);
}

/* Codes, scores, and their median. */
static int batch_judge(struct mx_doctor_session *session, struct mx_doctor_batch *b, size_t tokens)
{
    struct judging judging = {.batch = b, .bands = session->bands};
    double scores[MX_DOCTOR_BATCH_ROWS];
    size_t count = 0;
    int rc = 0;
    MX_TRY(codes_compute(session, b, tokens));
    mx_pool_for(session->pool, b->count, 1, rows_judge, &judging);
    MX_TRY(mx_first_error_raise(&judging.failure));
    for (uint32_t i = 0; i < b->count; i++)
        if (b->rows[i].unscored == MX_DOCTOR_SCORED) scores[count++] = b->rows[i].score;
    mx_robust_sort(scores, count);
    b->usual = mx_robust_median(scores, count);
out:
    return rc;
}

int mx_doctor_batch_read(struct mx_doctor_session *session, struct mx_doctor_batch *b)
{
    size_t tokens;
    int rc = 0;
    MX_TRY(means_compute(session, b, &tokens));
    if (tokens == 0) goto out;
    MX_TRY(batch_judge(session, b, tokens));
    for (int i = 0; i < ADAPT_ROUNDS; i++) {
        MX_TRY(means_adapt(session, b));
        MX_TRY(batch_judge(session, b, tokens));
    }
out:
    return rc;
}

void mx_doctor_batch_release(struct mx_doctor_batch *b)
{
    for (uint32_t i = 0; i < b->count; i++) heard_clear(&b->rows[i]);
    mx_free(b->rows);
    mx_free(b->audio);
    mx_free(b->mel);
    mx_free(b->pitch);
    mx_free(b->other);
    mx_free(b->quiet);
    mx_free(b->vectors);
    mx_free(b->means);
    mx_free(b->codes);
    *b = (struct mx_doctor_batch){0};
}
