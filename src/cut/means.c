/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Means and products on the device, see means.h.
 */
#include "cut/means.h"

#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "cut/align.h"
#include "myxtts/error.h"

#define OWNER       "cut"
#define SEQUENCES   32
#define TOKENS      4096
#define REFERENCES  4   /* parts of the sound that its speaker is heard in */
#define SHIFT       0.6 /* measured: scripts/bench_cut.sh, voices that the base knows and others */
#define PROGRESS_NS UINT64_C(2000000000)

/* Rows on the device with -½ of their squares. */
struct table {
    struct mx_buffer *rows, *bias;
    int32_t count;
};

struct mx_cut_means {
    struct mx_voice *voice;
    const struct mx_cut_text *text;
    struct mx_stream *stream;
    struct mx_model *model;
    struct mx_model_capacity room;
    struct mx_buffer *block; /* of a batch */
    struct mx_model_batch batch;
    struct mx_slice voices;
    float *vector;
    float *means; /* [tokens, bands] on the host */
    struct table tokens, codes;
    struct mx_buffer *mel, *scores; /* operands of products; they grow */
    int64_t mel_room, score_room;   /* floats */
};

static size_t bands(void)
{
    return (size_t)mx_recipe_default.bands;
}

/* ---- tables ---- */

static void table_release(struct table *table)
{
    mx_buffer_release(table->rows);
    mx_buffer_release(table->bias);
    *table = (struct table){0};
}

static int table_make(struct mx_cut_means *m, struct table *table, const float *rows, int32_t count)
{
    struct mx_device *const device = m->voice->place.device;
    float *const bias = mx_alloc((size_t)count, sizeof *bias);
    int rc = 0;
    if (bias == NULL) return MX_ERR_NO_MEMORY;
    table_release(table);
    for (int32_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t b = 0; b < bands(); b++) {
            const double value = (double)rows[(size_t)i * bands() + b];
            sum += value * value;
        }
        bias[i] = (float)(-0.5 * sum);
    }
    MX_TRY(mx_buffer_create(device, OWNER, (size_t)count * bands() * sizeof *rows, &table->rows));
    MX_TRY(mx_buffer_create(device, OWNER, (size_t)count * sizeof *bias, &table->bias));
    MX_TRY(mx_copy_upload(m->stream, mx_slice_at(table->rows, 0), rows, (size_t)count * bands() * sizeof *rows));
    MX_TRY(mx_copy_upload(m->stream, mx_slice_at(table->bias, 0), bias, (size_t)count * sizeof *bias));
    MX_TRY(mx_stream_sync(m->stream));
    table->count = count;
out:
    mx_free(bias);
    return rc;
}

static int operand_reserve(struct mx_cut_means *m, struct mx_buffer **buffer, int64_t *room, int64_t floats)
{
    if (floats <= *room) return 0;
    mx_buffer_release(*buffer);
    *buffer = NULL;
    *room = 0;
    const int rc =
        mx_buffer_create(m->voice->place.device, OWNER, (size_t)(floats + floats / 2) * sizeof(float), buffer);
    if (rc == 0) *room = floats + floats / 2;
    return rc;
}

static int product(struct mx_cut_means *m, const struct table *table, const float *mel, int32_t frames, int32_t begin,
                   int32_t end, float *out)
{
    const int64_t n = end - begin;
    int rc = 0;
    MX_TRY(operand_reserve(m, &m->mel, &m->mel_room, (int64_t)frames * (int64_t)bands()));
    MX_TRY(operand_reserve(m, &m->scores, &m->score_room, (int64_t)frames * n));
    MX_TRY(mx_copy_upload(m->stream, mx_slice_at(m->mel, 0), mel, (size_t)frames * bands() * sizeof *mel));
    MX_TRY(mx_matmul(m->stream, &(struct mx_matmul_args){
                                    .a = mx_slice_at(m->mel, 0),
                                    .b = mx_slice_at(table->rows, (size_t)begin * bands() * sizeof *mel),
                                    .c = mx_slice_at(m->scores, 0),
                                    .m = frames,
                                    .n = n,
                                    .k = (int64_t)bands(),
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
    return table_make(m, &m->codes, codes, count);
}

int mx_cut_means_score_codes(struct mx_cut_means *m, const float *mel, int32_t frames, float *out)
{
    return product(m, &m->codes, mel, frames, 0, m->codes.count, out);
}

const float *mx_cut_means_of(const struct mx_cut_means *m, int32_t token)
{
    return m->means + (size_t)token * bands();
}

size_t mx_cut_means_sample(const struct mx_cut_means *m, float *rows, size_t room)
{
    const size_t all = (size_t)m->text->token_count, count = all < room ? all : room;
    for (size_t i = 0; i < count; i++)
        memcpy(rows + i * bands(), m->means + i * all / count * bands(), bands() * sizeof *rows);
    return count;
}

/* ---- whose voice ---- */

/* The parts of the sound, of as many frames as a reference may have, with the most speech in each quarter of it. */
static int64_t part_choose(const struct mx_cut_sound *s, int64_t begin, int64_t end, int64_t length)
{
    const int64_t step = length / 4 > 0 ? length / 4 : 1;
    int64_t best = begin, most = -1;
    for (int64_t at = begin; at + length <= end; at += step) {
        int64_t loud = 0;
        for (int64_t f = at; f < at + length; f += 4)
            loud += (double)mx_cut_sound_level(s, f * mx_recipe_default.hop) > s->speech / 30;
        if (loud <= most) continue;
        most = loud;
        best = at;
    }
    return best;
}

/* The mean of the vectors of a few parts of the sound; 0 for a voice that cannot listen. */
static int vector_make(struct mx_cut_means *m, const struct mx_cut_sound *sound)
{
    const size_t width = (size_t)mx_checkpoint_state(m->voice->checkpoint)->model.size.width;
    const struct mx_model_capacity room = mx_voice_room(1);
    const struct mx_speak_sound none = MX_SPEAK_SOUND_DEFAULT; /* no sound is made */
    const int64_t length = sound->frames < MX_VOICE_REFERENCE_FRAMES ? sound->frames : MX_VOICE_REFERENCE_FRAMES;
    struct mx_speak *speak = NULL;
    float *one = NULL;
    int rc = 0;
    m->vector = mx_alloc(width, sizeof *m->vector);
    one = mx_alloc(width, sizeof *one);
    if (m->vector == NULL || one == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (!mx_checkpoint_listens(m->voice->checkpoint)) goto out;
    MX_TRY(mx_voice_engine_create(m->voice, &room, &none, &speak));
    for (int i = 0; i < REFERENCES; i++) {
        const int64_t begin = sound->frames * i / REFERENCES, end = sound->frames * (i + 1) / REFERENCES;
        int64_t at = part_choose(sound, begin, end, length);
        if (at + length > sound->frames) at = sound->frames - length;
        MX_TRY(mx_speak_vector(speak, sound->mel + (size_t)at * bands(), (int32_t)length, one));
        for (size_t w = 0; w < width; w++) m->vector[w] += one[w] / REFERENCES;
    }
out:
    mx_free(one);
    mx_speak_destroy(speak);
    return rc;
}

/* ---- the network ---- */

static int network_open(struct mx_cut_means *m)
{
    const struct mx_model_config *const config = &mx_checkpoint_state(m->voice->checkpoint)->model;
    int32_t longest = 2;
    struct mx_layout layout = {0};
    int rc = 0;
    for (int32_t u = 0; u < m->text->unit_count; u++) {
        const int32_t own = m->text->units[u].last - m->text->units[u].first;
        longest = own > longest ? own : longest;
    }
    m->room = (struct mx_model_capacity){.sequences = SEQUENCES,
                                         .tokens = longest > TOKENS ? longest : TOKENS,
                                         .frames = 16,
                                         .references = 16,
                                         .longest_tokens = longest,
                                         .longest_frames = 16};
    MX_TRY(mx_voice_model_create(m->voice, m->stream, &m->room, &m->model));
    for (int pass = 0; pass < 2; pass++) {
        mx_model_batch_place(&layout, config, &m->room, &m->batch);
        m->voices = mx_layout_take(&layout, (int64_t)SEQUENCES * config->size.width);
        m->batch.mel = mx_layout_take(&layout, (int64_t)m->room.tokens * config->bands); /* means */
        if (pass == 1) break;
        MX_TRY(mx_buffer_create(m->voice->place.device, OWNER, layout.offset_bytes, &m->block));
        layout = (struct mx_layout){.buffer = m->block};
    }
out:
    return rc;
}

/* What is sent for a batch of units. */
struct sending {
    int32_t offsets[SEQUENCES + 1], languages[SEQUENCES];
    float *voices;
};

/* The units from `first` on that fit; returns how many. */
static int32_t batch_fill(const struct mx_cut_means *m, int32_t first, struct sending *s, int32_t *longest)
{
    int32_t count = 0;
    *longest = 0;
    s->offsets[0] = 0;
    while (count < SEQUENCES && first + count < m->text->unit_count) {
        const struct mx_cut_unit *const unit = &m->text->units[first + count];
        const int32_t own = unit->last - unit->first;
        if (s->offsets[count] + own > m->room.tokens) break;
        s->languages[count] = m->text->language_number;
        s->offsets[count + 1] = s->offsets[count] + own;
        *longest = own > *longest ? own : *longest;
        count++;
    }
    return count;
}

static int batch_run(struct mx_cut_means *m, int32_t first, const struct sending *s, int32_t count, int32_t longest)
{
    struct mx_model_batch *const b = &m->batch;
    const size_t width = (size_t)mx_checkpoint_state(m->voice->checkpoint)->model.size.width;
    const int32_t rows = s->offsets[count], token = m->text->units[first].first;
    int rc = 0;
    b->tokens = (struct mx_ragged){.offsets = b->tokens.offsets, .count = count, .rows = rows, .max_rows = longest};
    b->voices = m->voices;
    MX_TRY(mx_copy_upload(m->stream, b->tokens.offsets, s->offsets, ((size_t)count + 1) * 4));
    MX_TRY(mx_copy_upload(m->stream, b->languages, s->languages, (size_t)count * 4));
    MX_TRY(mx_copy_upload(m->stream, b->token_ids, m->text->tokens + token, (size_t)rows * 4));
    MX_TRY(mx_copy_upload(m->stream, b->voices, s->voices, (size_t)count * width * 4));
    MX_TRY(mx_model_means(m->model, m->stream, mx_slice_at(m->voice->weights, 0), b, b->mel));
    MX_TRY(mx_copy_download(m->stream, m->means + (size_t)token * bands(), b->mel,
                            (size_t)rows * bands() * sizeof *m->means));
    MX_TRY(mx_stream_sync(m->stream));
out:
    return rc;
}

/* A microphone and a voice that the network never heard colour all sounds alike: the means are moved towards the mean
 * frame of the speech in the sound. Not by all of the difference, since every token counts once, however long it sounds. */
static int means_shift(struct mx_cut_means *m, const struct mx_cut_sound *s)
{
    const size_t count = bands();
    double *const by = mx_alloc(2 * count, sizeof *by), *const heard = by + count;
    int64_t frames = 0, tokens = 0;
    if (by == NULL) return MX_ERR_NO_MEMORY;
    for (int64_t f = 0; f < s->frames; f++) {
        if ((double)mx_cut_sound_level(s, f * mx_recipe_default.hop) <= s->speech / 30) continue;
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

static int means_make(struct mx_cut_means *m, const struct mx_cut_sound *sound, const atomic_bool *stop)
{
    const size_t width = (size_t)mx_checkpoint_state(m->voice->checkpoint)->model.size.width;
    const struct mx_progress_options line = {.title = "Reading the text",
                                             .unit = "sentences",
                                             .total = (uint64_t)m->text->unit_count,
                                             .delay_ns = PROGRESS_NS};
    struct mx_progress *progress = NULL;
    struct sending s;
    int rc = 0;
    s.voices = mx_alloc(SEQUENCES * width, sizeof *s.voices);
    m->means = mx_alloc((size_t)m->text->token_count * bands(), sizeof *m->means);
    if (s.voices == NULL || m->means == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < SEQUENCES; i++) memcpy(s.voices + i * width, m->vector, width * sizeof *m->vector);
    MX_TRY(mx_progress_start(&line, &progress));
    for (int32_t first = 0, count; first < m->text->unit_count; first += count) {
        int32_t longest;
        count = batch_fill(m, first, &s, &longest);
        MX_TRY(batch_run(m, first, &s, count, longest));
        mx_progress_add(progress, (uint64_t)count);
        if (stop != NULL && atomic_load(stop))
            MX_RAISE(MX_ERR_INTERRUPTED, NULL, "interrupted while the text was read");
    }
    MX_TRY(means_shift(m, sound));
    MX_TRY(table_make(m, &m->tokens, m->means, m->text->token_count));
out:
    mx_progress_finish(progress);
    mx_free(s.voices);
    return rc;
}

int mx_cut_means_create(struct mx_voice *voice, const struct mx_cut_text *text, const struct mx_cut_sound *sound,
                        const atomic_bool *stop, struct mx_cut_means **out)
{
    struct mx_cut_means *m = mx_alloc(1, sizeof *m);
    int rc = 0;
    *out = NULL;
    if (m == NULL) return MX_ERR_NO_MEMORY;
    m->voice = voice;
    m->text = text;
    MX_TRY(mx_stream_create(voice->place.device, OWNER, &m->stream));
    MX_TRY(vector_make(m, sound));
    MX_TRY(network_open(m));
    MX_TRY(means_make(m, sound, stop));
    *out = m;
    m = NULL;
out:
    mx_cut_means_destroy(m);
    return rc;
}

void mx_cut_means_destroy(struct mx_cut_means *m)
{
    if (m == NULL) return;
    if (m->stream != NULL) (void)mx_stream_sync(m->stream);
    mx_model_destroy(m->model);
    table_release(&m->tokens);
    table_release(&m->codes);
    mx_buffer_release(m->block);
    mx_buffer_release(m->mel);
    mx_buffer_release(m->scores);
    mx_stream_release(m->stream);
    mx_free(m->vector);
    mx_free(m->means);
    mx_free(m);
}
