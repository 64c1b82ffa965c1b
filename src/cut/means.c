/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Means and products on the device, see means.h.
 */
#include "cut/means.h"

#include <string.h>

#include "align/adapt.h"
#include "align/align.h"
#include "align/codes.h"
#include "align/encoder.h"
#include "align/metric.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "myxtts/error.h"

#define OWNER       "cut"
#define REFERENCES  4    /* parts of the sound that its speaker embedding is computed from */
#define SHIFT       0.6  /* measured: scripts/bench/cut.sh, voices that the base knows and others */
#define PRODUCTS    8192 /* frames that the metric is learned from */
#define PROGRESS_NS UINT64_C(2000000000)

/* Rows u as the metric needs them, R⁻ᵀR⁻¹u, with -½|R⁻¹u|²; on the host and on the device. */
struct table {
    struct mx_buffer *rows, *bias;
    float *host_rows, *host_bias;
    int32_t count;
};

struct mx_cut_means {
    struct mx_voice *voice;
    const struct mx_align_text *text;
    struct mx_stream *stream;
    struct mx_align_encoder *encoder;
    float *means; /* [tokens, bands] on the host */
    struct mx_align_metric metric;
    struct table tokens, codes;
    struct mx_buffer *mel, *scores; /* operands of products; they grow */
    int64_t mel_room, score_room;   /* floats */
};

static size_t bands(const struct mx_cut_means *m)
{
    return (size_t)mx_voice_recipe(m->voice)->bands;
}

/* ---- tables ---- */

static void table_release(struct table *table)
{
    mx_buffer_release(table->rows);
    mx_buffer_release(table->bias);
    mx_free(table->host_rows);
    mx_free(table->host_bias);
    *table = (struct table){0};
}

/* From rows that are whitened. */
static int table_build(struct mx_cut_means *m, struct table *table, const float *rows, int32_t count)
{
    struct mx_device *const device = m->voice->runtime.device;
    const size_t bytes = (size_t)count * bands(m) * sizeof *rows, bias_bytes = (size_t)count * sizeof *rows;
    int rc = 0;
    table_release(table);
    table->host_rows = mx_alloc((size_t)count * bands(m), sizeof *rows);
    table->host_bias = mx_alloc((size_t)count, sizeof *rows);
    if (table->host_rows == NULL || table->host_bias == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t b = 0; b < bands(m); b++) {
            const double value = (double)rows[(size_t)i * bands(m) + b];
            sum += value * value;
        }
        table->host_bias[i] = (float)(-0.5 * sum);
    }
    mx_align_metric_turn(&m->metric, rows, (size_t)count, table->host_rows);
    MX_TRY(mx_buffer_create(device, OWNER, bytes, &table->rows));
    MX_TRY(mx_buffer_create(device, OWNER, bias_bytes, &table->bias));
    MX_TRY(mx_copy_upload(m->stream, mx_slice_at(table->rows, 0), table->host_rows, bytes));
    MX_TRY(mx_copy_upload(m->stream, mx_slice_at(table->bias, 0), table->host_bias, bias_bytes));
    MX_TRY(mx_stream_sync(m->stream));
    table->count = count;
out:
    return rc;
}

/* The table of the tokens, from their means. */
static int tokens_build(struct mx_cut_means *m)
{
    const size_t count = (size_t)m->text->token_count;
    float *const rows = mx_alloc(count * bands(m), sizeof *rows);
    if (rows == NULL) return MX_ERR_NO_MEMORY;
    mx_align_metric_whiten(&m->metric, m->means, count, rows);
    const int rc = table_build(m, &m->tokens, rows, m->text->token_count);
    mx_free(rows);
    return rc;
}

static int operand_reserve(struct mx_cut_means *m, struct mx_buffer **buffer, int64_t *room, int64_t floats)
{
    if (floats <= *room) return 0;
    mx_buffer_release(*buffer);
    *buffer = NULL;
    *room = 0;
    const int rc =
        mx_buffer_create(m->voice->runtime.device, OWNER, (size_t)(floats + floats / 2) * sizeof(float), buffer);
    if (rc == 0) *room = floats + floats / 2;
    return rc;
}

static int product(struct mx_cut_means *m, const struct table *table, const float *mel, int32_t frames, int32_t begin,
                   int32_t end, float *out)
{
    const int64_t n = end - begin;
    int rc = 0;
    MX_TRY(operand_reserve(m, &m->mel, &m->mel_room, (int64_t)frames * (int64_t)bands(m)));
    MX_TRY(operand_reserve(m, &m->scores, &m->score_room, (int64_t)frames * n));
    MX_TRY(mx_copy_upload(m->stream, mx_slice_at(m->mel, 0), mel, (size_t)frames * bands(m) * sizeof *mel));
    MX_TRY(mx_matmul(m->stream, &(struct mx_matmul_args){
                                    .a = mx_slice_at(m->mel, 0),
                                    .b = mx_slice_at(table->rows, (size_t)begin * bands(m) * sizeof *mel),
                                    .c = mx_slice_at(m->scores, 0),
                                    .m = frames,
                                    .n = n,
                                    .k = (int64_t)bands(m),
                                    .transpose_b = true,
                                    .epilogue = {.bias = mx_slice_at(table->bias, (size_t)begin * sizeof(float))}}));
    MX_TRY(mx_copy_download(m->stream, out, mx_slice_at(m->scores, 0), (size_t)frames * (size_t)n * sizeof *out));
    MX_TRY(mx_stream_sync(m->stream));
out:
    return rc;
}

int mx_cut_means_score(struct mx_cut_means *m, const float *mel, int32_t frames, int32_t begin, int32_t end, float *out)
{
    return product(m, &m->tokens, mel, frames, begin, end, out);
}

int mx_cut_means_codes(struct mx_cut_means *m, const float *codes, int32_t count)
{
    return table_build(m, &m->codes, codes, count);
}

int mx_cut_means_score_codes(struct mx_cut_means *m, const float *mel, int32_t frames, float *out)
{
    return product(m, &m->codes, mel, frames, 0, m->codes.count, out);
}

float mx_cut_means_frame(const struct mx_cut_means *m, const float *mel, int32_t token)
{
    return m->tokens.host_bias[token] +
           mx_align_code_product(mel, m->tokens.host_rows + (size_t)token * bands(m), (int32_t)bands(m));
}

int mx_cut_means_whiten(const struct mx_cut_means *m, float *rows, size_t count)
{
    float *const copy = mx_alloc(count * bands(m), sizeof *copy);
    if (copy == NULL) return MX_ERR_NO_MEMORY;
    memcpy(copy, rows, count * bands(m) * sizeof *copy);
    mx_align_metric_whiten(&m->metric, copy, count, rows);
    mx_free(copy);
    return 0;
}

int mx_cut_means_squares(const struct mx_cut_means *m, const float *mel, int32_t frames, float *out)
{
    float *const rows = mx_alloc((size_t)frames * bands(m), sizeof *rows);
    if (rows == NULL) return MX_ERR_NO_MEMORY;
    mx_align_metric_whiten(&m->metric, mel, (size_t)frames, rows);
    for (int32_t i = 0; i < frames; i++) {
        const float *const row = rows + (size_t)i * bands(m);
        out[i] = 0.5f * mx_align_code_product(row, row, (int32_t)bands(m));
    }
    mx_free(rows);
    return 0;
}

size_t mx_cut_means_sample(const struct mx_cut_means *m, float *rows, size_t room)
{
    const size_t all = (size_t)m->text->token_count, count = all < room ? all : room;
    for (size_t i = 0; i < count; i++)
        mx_align_metric_whiten(&m->metric, m->means + i * all / count * bands(m), 1, rows + i * bands(m));
    return count;
}

/* ---- adapting ---- */

/* Learns the metric from the differences that remain, of some of the frames, evenly spread. */
static int metric_learn(struct mx_cut_means *m, const struct mx_cut_sound *s, const int32_t *columns)
{
    const size_t count = bands(m);
    double *const products = mx_alloc((count + 1) * count, sizeof *products), *const own = products + count * count;
    int64_t found = 0, seen = 0, frames = 0;
    if (products == NULL) return MX_ERR_NO_MEMORY;
    for (int64_t f = 0; f < s->frames; f++) found += columns[f] >= 0;
    const int64_t step = found / PRODUCTS + 1;
    for (int64_t f = 0; f < s->frames; f++) {
        if (columns[f] < 0 || seen++ % step != 0) continue;
        const float *const mel = s->mel + (size_t)f * count, *const mean = m->means + (size_t)columns[f] * count;
        for (size_t i = 0; i < count; i++) own[i] = (double)(mel[i] - mean[i]);
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k <= i; k++) products[i * count + k] += own[i] * own[k];
        frames++;
    }
    const int rc = mx_align_metric_learn(&m->metric, products, frames, m->means, (size_t)m->text->token_count);
    mx_free(products);
    return rc;
}

int mx_cut_means_adapt(struct mx_cut_means *m, const struct mx_cut_sound *s, const int32_t *columns)
{
    struct mx_align_adapt adapt = {0};
    int rc = 0;
    MX_TRY(mx_align_adapt_open(&adapt, (size_t)mx_vocabulary_size(m->voice->vocabulary), bands(m)));
    for (int64_t f = 0; f < s->frames; f++)
        if (columns[f] >= 0)
            mx_align_adapt_add(&adapt, m->text->tokens[columns[f]], s->mel + (size_t)f * bands(m),
                               m->means + (size_t)columns[f] * bands(m));
    mx_align_adapt_move(&adapt, m->text->tokens, m->text->token_count, m->means);
    MX_TRY(metric_learn(m, s, columns));
    MX_TRY(tokens_build(m));
out:
    mx_align_adapt_release(&adapt);
    return rc;
}

/* ---- whose voice ---- */

/* Where the `length` frames of [begin, end) with the most speech begin; `begin` if there are fewer. */
static int64_t part_choose(const struct mx_cut_sound *s, int64_t begin, int64_t end, int64_t length)
{
    const int64_t step = length / 4 > 0 ? length / 4 : 1;
    int64_t best = begin, most = -1;
    for (int64_t at = begin; at + length <= end; at += step) {
        int64_t loud = 0;
        for (int64_t f = at; f < at + length; f += 4)
            loud += (double)mx_cut_sound_level(s, f * s->recipe->hop) > s->speech / 30;
        if (loud <= most) continue;
        most = loud;
        best = at;
    }
    return best;
}

/* The mean of the vectors of a few parts of the sound. */
static int vector_compute(struct mx_cut_means *m, const struct mx_cut_sound *sound, float *vector, size_t width)
{
    const int64_t length = sound->frames < MX_VOICE_REFERENCE_FRAMES ? sound->frames : MX_VOICE_REFERENCE_FRAMES;
    struct mx_align_clip hearings[REFERENCES];
    float *const vectors = mx_alloc(REFERENCES * width, sizeof *vectors);
    int rc = 0;
    if (vectors == NULL) return MX_ERR_NO_MEMORY;
    for (int i = 0; i < REFERENCES; i++) {
        const int64_t begin = sound->frames * i / REFERENCES, end = sound->frames * (i + 1) / REFERENCES;
        int64_t at = part_choose(sound, begin, end, length);
        if (at + length > sound->frames) at = sound->frames - length;
        hearings[i] = (struct mx_align_clip){.mel = sound->mel + (size_t)at * bands(m),
                                             .frames = (int32_t)length,
                                             .vector = vectors + (size_t)i * width};
    }
    MX_TRY(mx_align_encoder_listen(m->encoder, hearings, REFERENCES));
    for (int i = 0; i < REFERENCES; i++)
        for (size_t w = 0; w < width; w++) vector[w] += hearings[i].vector[w] / REFERENCES;
out:
    mx_free(vectors);
    return rc;
}

/* ---- the text ---- */

static int32_t longest_of(const struct mx_align_text *text)
{
    int32_t longest = 2;
    for (int32_t u = 0; u < text->unit_count; u++) {
        const int32_t own = text->units[u].last - text->units[u].first;
        longest = own > longest ? own : longest;
    }
    return longest;
}

/* The units from `first` on, as the network reads them. */
static int32_t units_fill(const struct mx_cut_means *m, int32_t first, const float *vector,
                          struct mx_align_sequence *out)
{
    const struct mx_align_text *const t = m->text;
    int32_t count = 0;
    for (; count < MX_ALIGN_ENCODER_SEQUENCES && first + count < t->unit_count; count++) {
        const struct mx_align_unit *const unit = &t->units[first + count];
        out[count] = (struct mx_align_sequence){.tokens = t->tokens + unit->first,
                                                .count = unit->last - unit->first,
                                                .language = t->language_number,
                                                .vector = vector,
                                                .means = m->means + (size_t)unit->first * bands(m)};
    }
    return count;
}

/* An unseen microphone or voice colours all sounds alike: the means are moved towards the mean
 * frame of the speech in the sound. Not by the whole difference, since every token counts once, whatever its duration. */
static int means_shift(struct mx_cut_means *m, const struct mx_cut_sound *s)
{
    const size_t count = bands(m);
    double *const by = mx_alloc(2 * count, sizeof *by), *const heard = by + count;
    int64_t frames = 0, tokens = 0;
    if (by == NULL) return MX_ERR_NO_MEMORY;
    for (int64_t f = 0; f < s->frames; f++) {
        if ((double)mx_cut_sound_level(s, f * s->recipe->hop) <= s->speech / 30) continue;
        for (size_t b = 0; b < count; b++) heard[b] += (double)s->mel[(size_t)f * count + b];
        frames++;
    }
    for (int32_t w = 0; w < m->text->word_count; w++)
        for (int32_t t = m->text->words[w].first; t < m->text->words[w].last; t++, tokens++)
            for (size_t b = 0; b < count; b++) by[b] += (double)m->means[(size_t)t * count + b];
    for (size_t b = 0; b < count; b++)
        by[b] = frames > 0 && tokens > 0 ? SHIFT * (heard[b] / (double)frames - by[b] / (double)tokens) : 0;
    for (int32_t w = 0; w < m->text->word_count; w++)
        for (int32_t t = m->text->words[w].first; t < m->text->words[w].last; t++)
            for (size_t b = 0; b < count; b++) m->means[(size_t)t * count + b] += (float)by[b];
    mx_free(by);
    return 0;
}

static int means_compute(struct mx_cut_means *m, const struct mx_cut_sound *sound, const float *vector,
                         const atomic_bool *stop)
{
    const struct mx_progress_options line = {.title = "Reading the text",
                                             .unit = "sentences",
                                             .total = (uint64_t)m->text->unit_count,
                                             .delay_ns = PROGRESS_NS};
    struct mx_align_sequence sequences[MX_ALIGN_ENCODER_SEQUENCES];
    struct mx_progress *progress = NULL;
    int rc = 0;
    m->means = mx_alloc((size_t)m->text->token_count * bands(m), sizeof *m->means);
    if (m->means == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_progress_start(&line, &progress));
    for (int32_t first = 0; first < m->text->unit_count;) {
        const int32_t count = units_fill(m, first, vector, sequences);
        const int32_t done = mx_align_encoder_read(m->encoder, sequences, count);
        MX_TRY(done);
        first += done;
        mx_progress_add(progress, (uint64_t)done);
        if (stop != NULL && atomic_load(stop))
            MX_RAISE(MX_ERR_INTERRUPTED, NULL, "interrupted while the text was read");
    }
    MX_TRY(means_shift(m, sound));
    MX_TRY(tokens_build(m));
out:
    mx_progress_finish(progress);
    return rc;
}

int mx_cut_means_create(struct mx_voice *voice, const struct mx_align_text *text, const struct mx_cut_sound *sound,
                        const atomic_bool *stop, struct mx_cut_means **out)
{
    const size_t width = (size_t)mx_checkpoint_state(voice->checkpoint)->model.size.width;
    struct mx_cut_means *m = mx_alloc(1, sizeof *m);
    float *const vector = mx_alloc(width, sizeof *vector);
    int rc = 0;
    *out = NULL;
    if (m == NULL || vector == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    m->voice = voice;
    m->text = text;
    MX_TRY(mx_align_metric_open(&m->metric, bands(m)));
    MX_TRY(mx_stream_create(voice->runtime.device, OWNER, &m->stream));
    MX_TRY(mx_align_encoder_create(voice, m->stream, longest_of(text), &m->encoder));
    MX_TRY(vector_compute(m, sound, vector, width));
    MX_TRY(means_compute(m, sound, vector, stop));
    *out = m;
    m = NULL;
out:
    mx_free(vector);
    mx_cut_means_destroy(m);
    return rc;
}

void mx_cut_means_destroy(struct mx_cut_means *m)
{
    if (m == NULL) return;
    if (m->stream != NULL) (void)mx_stream_sync(m->stream);
    mx_align_encoder_destroy(m->encoder);
    table_release(&m->tokens);
    table_release(&m->codes);
    mx_buffer_release(m->mel);
    mx_buffer_release(m->scores);
    mx_stream_release(m->stream);
    mx_align_metric_release(&m->metric);
    mx_free(m->means);
    mx_free(m);
}
