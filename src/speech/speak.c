/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The engine: pieces of tokens are laid out as a batch of the network, as many as fit; their mel stays on the device,
 * where sound is made of one piece at a time. The length of speech is known only once it is spoken: a batch that turns
 * out too long is halved and spoken again.
 */
#include "speech/speak.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "features/extract.h"
#include "myxtts/error.h"

#define OWNER "speech"

#define WARM_TOKENS 100
#define WARM_PIECES 64
#define WARM_FRAMES 1024

/* What is kept of a piece for its sound. */
struct said {
    uint64_t seed;
    float volume;
    int64_t before, after; /* samples of silence */
    bool coloured;         /* it has one of the colours */
};

struct mx_speak {
    struct mx_speak_voice voice;
    struct mx_recipe recipe;
    struct mx_model_capacity capacity;
    int32_t bands, width;
    struct mx_sound *sound;
    bool parts;                       /* a sound can be made in parts */
    struct mx_extract *references_of; /* recordings up to voice.reference_samples; NULL: none */
    struct mx_buffer *buffer;
    struct mx_model_batch batch; /* its slices are in the buffer */
    struct mx_slice voices;      /* [capacity.sequences, width], in the buffer */
    /* what is uploaded: pieces of `block`, from mx_host_alloc */
    void *block;
    float *reference;                           /* [reference_room, bands] */
    float *vectors;                             /* [capacity.sequences, width] */
    int32_t *ids, *languages;                   /* [capacity.tokens], [capacity.sequences] */
    int32_t *token_offsets, *reference_offsets; /* [capacity.sequences + 1] */
    /* of each sequence of the batch */
    struct mx_speech_options *how;
    struct said *said;
    float *colours; /* [capacity.sequences, bands] */
    /* what was spoken last */
    int32_t spoken; /* pieces */
    struct mx_speech speech;
    struct {
        int32_t piece;               /* -1: none */
        struct mx_speak_length left; /* samples that were not written; of the sound, not made */
        const float *part;           /* of its sound, not yet written */
        int64_t part_left;           /* number of samples at `part` */
    } now;                           /* whose samples are asked for */
};

static int voice_check(const struct mx_speak_voice *voice, const struct mx_recipe *recipe)
{
    const struct mx_model_config *const config = mx_model_config(voice->model);
    if (config->bands != recipe->bands)
        return MX_FAIL(MX_ERR_CONFIG, "take recipe and network from the same checkpoint",
                       "the network makes %d bands, the recipe has %d", (int)config->bands, (int)recipe->bands);
    if ((size_t)config->vocabulary != mx_vocabulary_size(voice->vocabulary) ||
        (size_t)config->languages < mx_vocabulary_languages(voice->vocabulary))
        return MX_FAIL(MX_ERR_CONFIG, "take vocabulary and network from the same checkpoint",
                       "the network knows %d tokens and %d languages, the vocabulary has %zu and %zu",
                       (int)config->vocabulary, (int)config->languages, mx_vocabulary_size(voice->vocabulary),
                       mx_vocabulary_languages(voice->vocabulary));
    if (!isfinite(voice->normaliser.pitch_mean) || !(voice->normaliser.pitch_deviation > 0))
        return MX_FAIL(MX_ERR_CONFIG, "take the normaliser from the checkpoint",
                       "a pitch cannot have the mean %g and the deviation %g", voice->normaliser.pitch_mean,
                       voice->normaliser.pitch_deviation);
    return 0;
}

/* ---- memory: counted and taken by the same functions ---- */

static struct mx_sound_options sound_options(const struct mx_model_capacity *capacity, const struct mx_recipe *recipe,
                                             const struct mx_speak_sound *sound)
{
    struct mx_sound_options options = MX_SOUND_OPTIONS_DEFAULT;
    options.recipe = recipe;
    options.vocoder = sound->vocoder;
    options.parameters = sound->vocoder_parameters;
    options.frozen = sound->vocoder_frozen;
    options.rounds = sound->rounds;
    options.projections = sound->projections;
    options.predicted = true;
    options.frames_max = capacity->longest_frames;
    options.utterances_max = 1;
    options.stream = sound->parts && sound->vocoder != NULL;
    return options;
}

/* Frames of the longest reference; 0 in `wanted`: an even share. */
static int32_t reference_room(const struct mx_model_capacity *capacity, int32_t wanted)
{
    const int32_t share = capacity->references / capacity->sequences;
    if (wanted == 0) return share;
    return wanted < capacity->references ? wanted : capacity->references;
}

/* Speaking needs no frames of the batch, and one reference at a time. */
static void batch_place(struct mx_layout *layout, const struct mx_model_config *config,
                        const struct mx_model_capacity *capacity, int32_t room, struct mx_model_batch *batch,
                        struct mx_slice *voices)
{
    struct mx_model_capacity small = *capacity;
    small.frames = small.longest_frames = 1;
    small.references = room;
    mx_model_batch_place(layout, config, &small, batch);
    *voices = mx_layout_reserve(layout, (int64_t)capacity->sequences * config->size.width);
}

static size_t block_bytes(const struct mx_model_config *config, const struct mx_model_capacity *capacity, int32_t room)
{
    const size_t sequences = (size_t)capacity->sequences, tokens = (size_t)capacity->tokens;
    const size_t vectors = sequences * (size_t)config->size.width;
    return ((size_t)room * (size_t)config->bands + vectors + tokens + 3 * sequences + 2) * 4;
}

static struct mx_extract_options reference_options(const struct mx_recipe *recipe, size_t count)
{
    return (struct mx_extract_options){
        .recipe = recipe, .samples_max = (int64_t)count, .utterances_max = 1, .no_pitch = true, .owner = OWNER};
}

int mx_speak_memory_plan(const struct mx_model_config *config, const struct mx_model_capacity *capacity,
                         const struct mx_recipe *recipe, const struct mx_speak_sound *sound, uint32_t reference_samples,
                         struct mx_speak_memory_plan *out)
{
    struct mx_slice voices;
    const struct mx_extract_options reference = reference_options(recipe, reference_samples);
    struct mx_model_capacity full;
    struct mx_layout layout = {0};
    struct mx_model_batch batch;
    struct mx_sound_memory_plan plan;
    int rc = mx_model_capacity_check(capacity, &full);
    if (rc < 0) return rc;
    const struct mx_sound_options options = sound_options(&full, recipe, sound);
    rc = mx_sound_memory_plan(&options, &plan);
    if (rc < 0) return rc;
    const int32_t room = reference_room(&full, 0);
    batch_place(&layout, config, &full, room, &batch, &voices);
    *out = (struct mx_speak_memory_plan){.waveform = plan.device_bytes,
                                         .waveform_host = plan.host_bytes,
                                         .speech = layout.offset_bytes,
                                         .speech_host = block_bytes(config, &full, room)};
    if (reference_samples == 0) return 0;
    out->speech += mx_extract_bytes(&reference);
    out->speech_host += mx_extract_host_bytes(&reference);
    return 0;
}

static int32_t own_room(const struct mx_speak *s)
{
    return reference_room(&s->capacity, s->voice.reference_frames);
}

static int host_open(struct mx_speak *s)
{
    const size_t sequences = (size_t)s->capacity.sequences, tokens = (size_t)s->capacity.tokens;
    const size_t bytes = block_bytes(mx_model_config(s->voice.model), &s->capacity, own_room(s));
    const int rc = mx_host_alloc(s->voice.device, OWNER, bytes, &s->block);
    if (rc < 0) return rc;
    s->reference = s->block;
    s->vectors = s->reference + (size_t)own_room(s) * (size_t)s->bands;
    s->ids = (int32_t *)(void *)(s->vectors + sequences * (size_t)s->width);
    s->languages = s->ids + tokens;
    s->token_offsets = s->languages + sequences;
    s->reference_offsets = s->token_offsets + sequences + 1;
    s->how = mx_alloc(sequences, sizeof *s->how);
    s->said = mx_alloc(sequences, sizeof *s->said);
    s->colours = mx_alloc(sequences * (size_t)s->bands, sizeof *s->colours);
    if (s->how == NULL || s->said == NULL || s->colours == NULL) return MX_ERR_NO_MEMORY;
    return 0;
}

static int batch_open(struct mx_speak *s)
{
    struct mx_layout layout = {0};
    const struct mx_model_config *const config = mx_model_config(s->voice.model);
    batch_place(&layout, config, &s->capacity, own_room(s), &s->batch, &s->voices);
    const int rc = mx_buffer_create(s->voice.device, OWNER, layout.offset_bytes, &s->buffer);
    if (rc < 0) return rc;
    layout = (struct mx_layout){.buffer = s->buffer};
    batch_place(&layout, config, &s->capacity, own_room(s), &s->batch, &s->voices);
    return 0;
}

int mx_speak_create(const struct mx_speak_voice *voice, const struct mx_speak_sound *sound, struct mx_speak **out)
{
    int rc = 0;
    *out = NULL;
    struct mx_speak *s = mx_alloc(1, sizeof *s);
    if (s == NULL) return MX_ERR_NO_MEMORY;
    s->voice = *voice;
    s->recipe = *mx_recipe_or_default(voice->recipe);
    s->voice.recipe = &s->recipe;
    s->capacity = *mx_model_capacity(voice->model);
    s->bands = s->recipe.bands;
    s->width = mx_model_config(voice->model)->size.width;
    s->now.piece = -1;
    MX_TRY(voice_check(voice, &s->recipe));
    struct mx_sound_options options = sound_options(&s->capacity, &s->recipe, sound);
    options.mean = voice->normaliser.mel_mean;
    options.deviation = voice->normaliser.mel_deviation;
    s->parts = options.stream;
    MX_TRY(mx_sound_create(voice->device, voice->stream, &options, &s->sound));
    MX_TRY(host_open(s));
    MX_TRY(batch_open(s));
    if (voice->reference_samples > 0) {
        const struct mx_extract_options reference = reference_options(&s->recipe, voice->reference_samples);
        MX_TRY(mx_extract_create(voice->device, &reference, &s->references_of));
    }
    *out = s;
    s = NULL;
out:
    if (s != NULL) s->voice.owned = false; /* they are still the caller's */
    mx_speak_destroy(s);
    return rc;
}

void mx_speak_destroy(struct mx_speak *s)
{
    if (s == NULL) return;
    if (s->voice.owned) (void)mx_stream_sync(s->voice.stream); /* something may be under way */
    mx_sound_destroy(s->sound);
    mx_extract_destroy(s->references_of);
    mx_buffer_release(s->buffer);
    if (s->block != NULL) mx_host_release(s->voice.device, s->block);
    mx_free(s->how);
    mx_free(s->said);
    mx_free(s->colours);
    if (s->voice.owned) {
        mx_model_destroy(s->voice.model);
        mx_stream_release(s->voice.stream);
    }
    mx_free(s);
}

const struct mx_speak_voice *mx_speak_voice(const struct mx_speak *s)
{
    return &s->voice;
}

/* ---- references ---- */

int mx_speak_reference(struct mx_speak *s, const float *samples, size_t count, float **mel, int32_t *frames)
{
    const int32_t offsets[] = {0, (int32_t)count}, room = own_room(s);
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    const struct mx_extract_options options = reference_options(&s->recipe, count);
    struct mx_extract_features features;
    struct mx_extract *own = NULL, *extract = count <= s->voice.reference_samples ? s->references_of : NULL;
    int rc = 0;
    *mel = NULL;
    *frames = 0;
    if (count == 0 || count > INT32_MAX)
        return MX_FAIL(MX_ERR_ARGUMENT, "a few seconds of one person's speech are enough",
                       "a reference of %zu samples cannot be used", count);
    if (room == 0)
        return MX_FAIL(MX_ERR_ARGUMENT, "make the network with a capacity for references",
                       "the network has no room for a reference");
    if (extract == NULL) {
        MX_TRY(mx_extract_create(s->voice.device, &options, &own));
        extract = own;
    }
    MX_TRY(mx_extract_normalise(extract, s->voice.normaliser.mel_mean, s->voice.normaliser.mel_deviation));
    MX_TRY(mx_extract_submit(extract, s->voice.stream, &batch, &features));
    *mel = mx_alloc((size_t)features.frames.rows * (size_t)s->bands, sizeof **mel);
    if (*mel == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_extract_read(extract, s->voice.stream, *mel, NULL, NULL));
    *frames = features.frames.rows;
    if (*frames > room) { /* speech is in the middle */
        memmove(*mel, *mel + (size_t)((*frames - room) / 2) * (size_t)s->bands,
                (size_t)room * (size_t)s->bands * sizeof **mel);
        *frames = room;
    }
out:
    mx_extract_destroy(own);
    if (rc < 0) {
        mx_free(*mel);
        *mel = NULL;
    }
    return rc;
}

int mx_speak_vector(struct mx_speak *s, const float *reference, int32_t rows, float *vector)
{
    struct mx_model_batch *const b = &s->batch;
    struct mx_stream *const stream = s->voice.stream;
    const size_t bytes = (size_t)s->width * sizeof *vector;
    const size_t mel_bytes = (size_t)rows * (size_t)s->bands * sizeof *reference;
    int rc = 0;
    if (rows < 1 || rows > own_room(s)) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "a reference of %d frames cannot be used", (int)rows);
        return mx_error_hint("1 to %d; mx_speak_reference makes one that fits", (int)own_room(s));
    }
    s->spoken = 0;
    s->now.piece = -1;
    memcpy(s->reference, reference, mel_bytes);
    s->reference_offsets[0] = 0;
    s->reference_offsets[1] = rows;
    b->references = (struct mx_ragged){.offsets = b->references.offsets, .count = 1, .rows = rows, .max_rows = rows};
    MX_TRY(mx_copy_upload(stream, b->references.offsets, s->reference_offsets, 2 * sizeof *s->reference_offsets));
    MX_TRY(mx_copy_upload(stream, b->reference_mel, s->reference, mel_bytes));
    MX_TRY(mx_model_listen(s->voice.model, stream, s->voice.parameters, b));
    MX_TRY(mx_copy_download(stream, vector, mx_model_view(s->voice.model).voices, bytes));
    MX_TRY(mx_stream_sync(stream));
out:
    if (rc < 0) (void)mx_stream_sync(stream); /* the copies must be done with the host's arrays */
    return rc;
}

/* ---- pieces ---- */

struct mx_speak_piece mx_speak_piece_of(const struct mx_speak_item *item, const float *voice, uint64_t seed)
{
    return (struct mx_speak_piece){.tokens = item->tokens,
                                   .count = item->count,
                                   .language = item->language,
                                   .speed = item->speed,
                                   .pitch_semitones = item->pitch_semitones,
                                   .volume = item->volume,
                                   .before_ms = item->before_ms,
                                   .pause_ms = item->pause_ms,
                                   .voice = voice,
                                   .seed = seed};
}

struct mx_speak_script_options mx_speak_script_options_of(const struct mx_speak *s)
{
    struct mx_speak_script_options how = MX_SPEAK_SCRIPT_OPTIONS_DEFAULT;
    how.vocabulary = s->voice.vocabulary;
    how.longest_tokens = (size_t)s->capacity.longest_tokens;
    how.voice_hz = s->voice.normaliser.pitch_mean;
    return how;
}

static int piece_check(const struct mx_speak *s, const struct mx_speak_piece *p)
{
    const struct mx_model_config *const config = mx_model_config(s->voice.model);
    if (!(p->speed >= MX_SPEAK_SCRIPT_SPEED_LEAST && p->speed <= MX_SPEAK_SCRIPT_SPEED_MOST))
        return MX_FAIL(MX_ERR_ARGUMENT, "1 is the speed of the recordings", "a speed of %g is impossible", p->speed);
    if (!(fabs(p->pitch_semitones) <= MX_SPEAK_SCRIPT_SEMITONES))
        return MX_FAIL(MX_ERR_ARGUMENT, "0 is the pitch of the voice", "the pitch cannot be shifted by %g semitones",
                       p->pitch_semitones);
    if (p->language < 0 || p->language >= config->languages)
        return MX_FAIL(MX_ERR_ARGUMENT, "take the number from the vocabulary of the voice",
                       "the network knows no language number %d", (int)p->language);
    if (p->count < 1 || p->count > s->capacity.longest_tokens) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "a piece of %d tokens cannot be spoken", (int)p->count);
        return mx_error_hint("1 to %d are possible: split the text", (int)s->capacity.longest_tokens);
    }
    for (int32_t i = 0; i < p->count; i++)
        if (p->tokens[i] < 0 || p->tokens[i] >= config->vocabulary)
            return MX_FAIL(MX_ERR_ARGUMENT, "encode the text with the vocabulary of the voice",
                           "the network knows no token %d", (int)p->tokens[i]);
    return 0;
}

/* How many pieces from the first on go into one batch. */
static int32_t pieces_fit(const struct mx_speak *s, const struct mx_speak_piece *pieces, int32_t count)
{
    int64_t tokens = 0;
    int32_t n = 0;
    while (n < count && n < s->capacity.sequences && tokens + pieces[n].count <= s->capacity.tokens)
        tokens += pieces[n++].count;
    return n;
}

static struct mx_speech_options speech_options(const struct mx_speak *s, const struct mx_speak_piece *p)
{
    struct mx_speech_options how = MX_SPEECH_OPTIONS_DEFAULT;
    const double higher = p->pitch_semitones + (p->likeness != NULL ? p->likeness->semitones : 0);
    const double ratio = exp2(higher / 12);
    /* (ratio · (p · deviation + mean) - mean)/deviation */
    how.speed = (float)p->speed;
    how.pitch_scale = (float)ratio;
    how.pitch_shift = (float)((ratio - 1) * s->voice.normaliser.pitch_mean / s->voice.normaliser.pitch_deviation);
    return how;
}

static int64_t samples_of(const struct mx_speak *s, double ms)
{
    return llround(ms * s->recipe.rate / 1000);
}

/* Lays `count` pieces out as the batch and sends it. The host's arrays stay until the network has waited. */
static int pieces_send(struct mx_speak *s, const struct mx_speak_piece *pieces, int32_t count)
{
    struct mx_model_batch *const b = &s->batch;
    struct mx_stream *const stream = s->voice.stream;
    const size_t width = (size_t)s->width;
    int32_t longest = 0;
    int rc = 0;
    s->token_offsets[0] = 0;
    for (int32_t i = 0; i < count; i++) {
        const struct mx_speak_piece *const p = &pieces[i];
        float *const vector = s->vectors + (size_t)i * width;
        memcpy(s->ids + s->token_offsets[i], p->tokens, (size_t)p->count * sizeof *s->ids);
        s->token_offsets[i + 1] = s->token_offsets[i] + p->count;
        s->languages[i] = p->language;
        s->how[i] = speech_options(s, p);
        s->said[i] = (struct said){.seed = p->seed,
                                   .volume = (float)p->volume,
                                   .before = samples_of(s, p->before_ms),
                                   .after = samples_of(s, p->pause_ms),
                                   .coloured = p->likeness != NULL};
        if (s->said[i].coloured)
            memcpy(s->colours + (size_t)i * (size_t)s->bands, p->likeness->colour,
                   (size_t)s->bands * sizeof *s->colours);
        if (p->voice != NULL)
            memcpy(vector, p->voice, width * sizeof *vector);
        else
            memset(vector, 0, width * sizeof *vector);
        if (p->count > longest) longest = p->count;
    }
    b->tokens.count = count;
    b->tokens.rows = s->token_offsets[count];
    b->tokens.max_rows = longest;
    b->voices = s->voices;
    MX_TRY(mx_copy_upload(stream, b->tokens.offsets, s->token_offsets, ((size_t)count + 1) * 4));
    MX_TRY(mx_copy_upload(stream, b->token_ids, s->ids, (size_t)b->tokens.rows * 4));
    MX_TRY(mx_copy_upload(stream, b->languages, s->languages, (size_t)count * 4));
    MX_TRY(mx_copy_upload(stream, b->voices, s->vectors, (size_t)count * width * sizeof *s->vectors));
out:
    return rc;
}

int mx_speak_pieces(struct mx_speak *s, const struct mx_speak_piece *pieces, int32_t *count)
{
    struct mx_stream *const stream = s->voice.stream;
    int32_t n = pieces_fit(s, pieces, *count);
    int rc = 0;
    s->spoken = 0;
    s->now.piece = -1;
    if (*count < 1)
        return MX_FAIL(MX_ERR_ARGUMENT, "give it 1 piece or more", "%d pieces cannot be spoken", (int)*count);
    for (int32_t i = 0; i < n || i == 0; i++) {
        rc = piece_check(s, &pieces[i]);
        if (rc < 0) return rc;
    }
    for (;; n /= 2) {
        rc = pieces_send(s, pieces, n);
        if (rc == 0)
            rc = mx_model_synthesize(s->voice.model, stream, s->voice.parameters, &s->batch, s->how, &s->speech);
        if (rc == 0) rc = mx_stream_sync(stream);
        if (rc < 0) (void)mx_stream_sync(stream); /* the uploads must be done with the host's arrays */
        if (rc != MX_ERR_ARGUMENT || n == 1) break;
    }
    if (rc < 0) return rc;
    mx_error_clear(); /* of a batch that was too long */
    *count = s->spoken = n;
    return 0;
}

const int32_t *mx_speak_durations(const struct mx_speak *s, int32_t piece)
{
    return s->speech.durations + s->token_offsets[piece];
}

static int32_t piece_frames(const struct mx_speak *s, int32_t piece)
{
    return s->speech.frame_offsets[piece + 1] - s->speech.frame_offsets[piece];
}

struct mx_speak_length mx_speak_length(const struct mx_speak *s, int32_t piece)
{
    return (struct mx_speak_length){.before = s->said[piece].before,
                                    .sound = mx_sound_samples(&s->recipe, piece_frames(s, piece)),
                                    .after = s->said[piece].after};
}

int64_t mx_speak_samples(const struct mx_speak *s, int32_t piece)
{
    const struct mx_speak_length length = mx_speak_length(s, piece);
    return length.before + length.sound + length.after;
}

/* ---- sound ---- */

static struct mx_slice piece_mel(const struct mx_speak *s, int32_t piece)
{
    struct mx_slice mel = s->speech.mel;
    mel.offset_bytes += (size_t)s->speech.frame_offsets[piece] * (size_t)s->bands * sizeof(float);
    return mel;
}

int mx_speak_sound_begin(struct mx_speak *s, int32_t piece)
{
    s->now.piece = -1;
    if (piece < 0 || piece >= s->spoken)
        return MX_FAIL(MX_ERR_ARGUMENT, "speak it with mx_speak_pieces first", "piece %d was not spoken", (int)piece);
    const float *const colour = s->colours + (size_t)piece * (size_t)s->bands;
    mx_sound_seed_set(s->sound, s->said[piece].seed);
    int rc = mx_sound_colour_set(s->sound, s->said[piece].coloured ? colour : NULL);
    if (rc == 0 && s->parts) rc = mx_sound_stream_begin(s->sound, piece_mel(s, piece), piece_frames(s, piece));
    if (rc < 0) return rc;
    s->now.piece = piece;
    s->now.left = mx_speak_length(s, piece);
    s->now.part_left = 0;
    return 0;
}

/* Of a whole of `all` samples, those from `at` on: faded towards both ends of the whole. */
static void fade(float *audio, int64_t at, int64_t count, int64_t all, int rate)
{
    const int64_t whole = llround(MX_SPEAK_FADE_MS * rate / 1000), length = whole < all / 2 ? whole : all / 2;
    for (int64_t k = at; k < at + count && k < length; k++) audio[k - at] *= ((float)k + 0.5f) / (float)length;
    for (int64_t k = at > all - length ? at : all - length; k < at + count; k++)
        audio[k - at] *= ((float)(all - 1 - k) + 0.5f) / (float)length;
}

/* Makes the next part of the sound. */
static int part_compute(struct mx_speak *s, int64_t frames)
{
    const int64_t all = mx_speak_length(s, s->now.piece).sound;
    float *made = NULL;
    int64_t count = all;
    int rc = 0;
    if (s->parts) {
        MX_TRY(mx_sound_stream_next(s->sound, s->voice.stream, frames, &made, &count));
    } else {
        const int32_t offsets[] = {0, piece_frames(s, s->now.piece)};
        struct mx_sound_audio whole;
        MX_TRY(mx_sound_compute(s->sound, s->voice.stream, piece_mel(s, s->now.piece), offsets, 1, &whole));
        made = whole.audio;
    }
    if (count < 1 || count > s->now.left.sound)
        MX_RAISE(MX_ERR_INTERNAL, NULL, "a piece has other samples than its network said");
    fade(made, all - s->now.left.sound, count, all, s->recipe.rate);
    s->now.left.sound -= count;
    s->now.part = made;
    s->now.part_left = count;
out:
    return rc;
}

static size_t silence_write(float *to, size_t room, int64_t *left)
{
    const size_t count = (size_t)*left < room ? (size_t)*left : room;
    if (count > 0) memset(to, 0, count * sizeof *to);
    *left -= (int64_t)count;
    return count;
}

int mx_speak_sound_next(struct mx_speak *s, int64_t frames, float *to, size_t room, size_t *count)
{
    struct mx_speak_length *const left = &s->now.left;
    int rc = 0;
    *count = 0;
    if (s->now.piece < 0) return MX_FAIL(MX_ERR_ARGUMENT, "begin it with mx_speak_sound_begin", "no sound was begun");
    size_t n = silence_write(to, room, &left->before);
    if (n < room && s->now.part_left == 0 && left->sound > 0) MX_TRY(part_compute(s, frames));
    if (n < room && s->now.part_left > 0) {
        const size_t more = (size_t)s->now.part_left < room - n ? (size_t)s->now.part_left : room - n;
        const float volume = s->said[s->now.piece].volume;
        for (size_t i = 0; i < more; i++) to[n + i] = volume * s->now.part[i];
        s->now.part += more;
        s->now.part_left -= (int64_t)more;
        n += more;
    }
    if (s->now.part_left == 0 && left->sound == 0) n += silence_write(to + n, room - n, &left->after);
    *count = n;
out:
    return rc;
}

int mx_speak_warm(struct mx_speak *s, int32_t count, int32_t tokens)
{
    int32_t ids[WARM_TOKENS];
    struct mx_speak_piece pieces[WARM_PIECES];
    int rc = 0;
    for (int32_t i = 0; i < tokens; i++)
        ids[i] = i == 0 ? MX_TOKEN_BOS : i < tokens - 1 ? MX_TOKEN_FIRST : MX_TOKEN_EOS;
    for (int32_t i = 0; i < count; i++) pieces[i] = (struct mx_speak_piece){.tokens = ids, .count = tokens, .speed = 1};
    MX_TRY(mx_speak_pieces(s, pieces, &count));
    MX_TRY(mx_speak_sound_begin(s, 0));
    while (s->now.left.sound > 0) MX_TRY(part_compute(s, WARM_FRAMES));
out:
    return rc;
}
