/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The speaker: items of tokens are laid out as a batch of the network, as many as fit; their mel goes straight to the
 * maker of sound on the same device; the sounds are joined on the host. The length of speech is known only once it is
 * spoken: a batch that turns out too long is halved and spoken again.
 */
#include "speech/speak.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "features/extract.h"
#include "myxtts/error.h"

#define OWNER "speech"

struct mx_speak {
    struct mx_speak_voice voice;
    struct mx_recipe recipe;
    struct mx_model_capacity capacity;
    int32_t bands;
    struct mx_sound *sound;
    struct mx_extract *references_of; /* recordings up to voice.reference_samples; NULL: none */
    struct mx_buffer *buffer;
    struct mx_model_batch batch; /* its slices lie in the buffer */
    /* what is uploaded: pieces of `block`, from mx_host_alloc */
    void *block;
    float *references;                          /* [capacity.references, bands] */
    int32_t *ids, *languages;                   /* [capacity.tokens], [capacity.sequences] */
    int32_t *token_offsets, *reference_offsets; /* [capacity.sequences + 1] */
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
    options.rounds = sound->rounds;
    options.projections = sound->projections;
    options.predicted = true;
    options.seed = sound->seed;
    options.frames_max = capacity->frames;
    options.utterances_max = capacity->sequences;
    return options;
}

/* Speaking needs no frames of the batch. */
static void batch_place(struct mx_layout *layout, const struct mx_model_config *config,
                        const struct mx_model_capacity *capacity, struct mx_model_batch *batch)
{
    struct mx_model_capacity small = *capacity;
    small.frames = small.longest_frames = 1;
    mx_model_batch_place(layout, config, &small, batch);
}

static size_t block_bytes(const struct mx_model_capacity *capacity, int32_t bands)
{
    const size_t sequences = (size_t)capacity->sequences, tokens = (size_t)capacity->tokens;
    return ((size_t)capacity->references * (size_t)bands + tokens + 3 * sequences + 2) * 4;
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
    batch_place(&layout, config, &full, &batch);
    *out = (struct mx_speak_memory_plan){.waveform = plan.device_bytes,
                                         .waveform_host = plan.host_bytes,
                                         .speech = layout.offset_bytes,
                                         .speech_host = block_bytes(&full, config->bands)};
    if (reference_samples == 0) return 0;
    out->speech += mx_extract_bytes(&reference);
    out->speech_host += mx_extract_host_bytes(&reference);
    return 0;
}

static int host_open(struct mx_speak *s)
{
    const size_t sequences = (size_t)s->capacity.sequences, tokens = (size_t)s->capacity.tokens;
    const size_t mel = (size_t)s->capacity.references * (size_t)s->bands;
    const int rc = mx_host_alloc(s->voice.device, OWNER, block_bytes(&s->capacity, s->bands), &s->block);
    if (rc < 0) return rc;
    s->references = s->block;
    s->ids = (int32_t *)(void *)(s->references + mel);
    s->languages = s->ids + tokens;
    s->token_offsets = s->languages + sequences;
    s->reference_offsets = s->token_offsets + sequences + 1;
    return 0;
}

static int batch_open(struct mx_speak *s)
{
    struct mx_layout layout = {0};
    batch_place(&layout, mx_model_config(s->voice.model), &s->capacity, &s->batch);
    const int rc = mx_buffer_create(s->voice.device, OWNER, layout.offset_bytes, &s->buffer);
    if (rc < 0) return rc;
    layout = (struct mx_layout){.buffer = s->buffer};
    batch_place(&layout, mx_model_config(s->voice.model), &s->capacity, &s->batch);
    return 0;
}

int mx_speak_create(const struct mx_speak_voice *voice, const struct mx_speak_sound *sound, struct mx_speak **out)
{
    int rc = 0;
    *out = NULL;
    struct mx_speak *s = mx_alloc(1, sizeof *s);
    if (s == NULL) return MX_ERR_NO_MEMORY;
    s->voice = *voice;
    s->recipe = voice->recipe != NULL ? *voice->recipe : mx_recipe_default;
    s->voice.recipe = &s->recipe;
    s->capacity = *mx_model_capacity(voice->model);
    s->bands = s->recipe.bands;
    MX_TRY(voice_check(voice, &s->recipe));
    struct mx_sound_options options = sound_options(&s->capacity, &s->recipe, sound);
    options.mean = voice->normaliser.mel_mean;
    options.deviation = voice->normaliser.mel_deviation;
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
    mx_speak_destroy(s);
    return rc;
}

void mx_speak_destroy(struct mx_speak *s)
{
    if (s == NULL) return;
    mx_sound_destroy(s->sound);
    mx_extract_destroy(s->references_of);
    mx_buffer_release(s->buffer);
    if (s->block != NULL) mx_host_release(s->voice.device, s->block);
    mx_free(s);
}

/* ---- references ---- */

/* Every sequence of a batch has the reference of its own. */
static int32_t reference_room(const struct mx_speak *s)
{
    return s->capacity.references / s->capacity.sequences;
}

int mx_speak_reference(struct mx_speak *s, const float *samples, size_t count, float **mel, int32_t *frames)
{
    const int32_t offsets[] = {0, (int32_t)count}, room = reference_room(s);
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

/* ---- a batch of items ---- */

static int options_check(const struct mx_speak *s, const struct mx_speak_options *o)
{
    if (o->language != MX_SPEAK_DETECT && (o->language < 0 || o->language >= MX_LANGUAGE_COUNT))
        return MX_FAIL(MX_ERR_ARGUMENT, "use a number from mx_language_parse", "there is no language number %d",
                       o->language);
    if (!(o->speed >= 0.25 && o->speed <= 4))
        return MX_FAIL(MX_ERR_ARGUMENT, "0.25 to 4; 1 is the speed of the recordings", "a speed of %g is impossible",
                       o->speed);
    if (!(fabs(o->pitch_semitones) <= 24))
        return MX_FAIL(MX_ERR_ARGUMENT, "-24 to 24; 0 is the pitch of the voice",
                       "the pitch cannot be shifted by %g semitones", o->pitch_semitones);
    if (o->reference != NULL && (o->reference_frames < 1 || o->reference_frames > reference_room(s))) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "a reference of %d frames cannot be used", (int)o->reference_frames);
        return mx_error_hint("1 to %d; mx_speak_reference makes one that fits", (int)reference_room(s));
    }
    return 0;
}

/* How many items from the first on go into one batch. */
static int32_t items_fit(const struct mx_speak *s, const struct mx_speak_item *items, size_t count)
{
    int64_t tokens = 0;
    int32_t n = 0;
    while ((size_t)n < count && n < s->capacity.sequences && tokens + items[n].count <= s->capacity.tokens)
        tokens += items[n++].count;
    return n;
}

/* Lays `count` items out as the batch and sends it. The host's arrays stay until the network has waited. */
static int batch_send(struct mx_speak *s, const struct mx_speak_item *items, int32_t count,
                      const struct mx_speak_options *options)
{
    struct mx_model_batch *const b = &s->batch;
    struct mx_stream *const stream = s->voice.stream;
    const int32_t rows = options->reference != NULL ? options->reference_frames : 0;
    const size_t row_bytes = (size_t)s->bands * sizeof *s->references;
    int32_t longest = 0;
    int rc = 0;
    s->token_offsets[0] = s->reference_offsets[0] = 0;
    for (int32_t i = 0; i < count; i++) {
        memcpy(s->ids + s->token_offsets[i], items[i].tokens, (size_t)items[i].count * sizeof *s->ids);
        if (rows > 0)
            memcpy(s->references + (size_t)(i * rows) * (size_t)s->bands, options->reference, (size_t)rows * row_bytes);
        s->token_offsets[i + 1] = s->token_offsets[i] + items[i].count;
        s->reference_offsets[i + 1] = s->reference_offsets[i] + rows;
        s->languages[i] = items[i].language;
        if (items[i].count > longest) longest = items[i].count;
    }
    b->tokens.count = b->frames.count = b->references.count = count;
    b->tokens.rows = s->token_offsets[count];
    b->tokens.max_rows = longest;
    b->references.rows = s->reference_offsets[count];
    b->references.max_rows = rows;
    const size_t offsets_bytes = ((size_t)count + 1) * 4;
    MX_TRY(mx_copy_upload(stream, b->tokens.offsets, s->token_offsets, offsets_bytes));
    MX_TRY(mx_copy_upload(stream, b->references.offsets, s->reference_offsets, offsets_bytes));
    MX_TRY(mx_copy_upload(stream, b->token_ids, s->ids, (size_t)b->tokens.rows * 4));
    MX_TRY(mx_copy_upload(stream, b->languages, s->languages, (size_t)count * 4));
    if (b->references.rows > 0)
        MX_TRY(mx_copy_upload(stream, b->reference_mel, s->references, (size_t)b->references.rows * row_bytes));
out:
    return rc;
}

int mx_speak_vector(struct mx_speak *s, const float *reference, int32_t reference_frames, float *vector)
{
    static const int32_t nothing[] = {MX_TOKEN_BOS, MX_TOKEN_EOS};
    const struct mx_speak_item item = {.tokens = nothing, .count = 2};
    struct mx_speak_options options = MX_SPEAK_OPTIONS_DEFAULT;
    const struct mx_speech_options how = MX_SPEECH_OPTIONS_DEFAULT;
    const size_t bytes = (size_t)mx_model_config(s->voice.model)->size.width * sizeof *vector;
    struct mx_speech speech;
    int rc = 0;
    options.reference = reference;
    options.reference_frames = reference_frames;
    MX_TRY(options_check(s, &options));
    MX_TRY(batch_send(s, &item, 1, &options));
    MX_TRY(mx_model_synthesize(s->voice.model, s->voice.stream, s->voice.parameters, &s->batch, &how, &speech));
    MX_TRY(mx_copy_download(s->voice.stream, vector, mx_model_view(s->voice.model).voices, bytes));
    MX_TRY(mx_stream_sync(s->voice.stream));
out:
    if (rc < 0) (void)mx_stream_sync(s->voice.stream); /* the copies must be done with the host's arrays */
    return rc;
}

/* Mel of the first *count items, or of fewer where they turn out too long together; *count tells. */
static int items_synthesize(struct mx_speak *s, const struct mx_speak_item *items, int32_t *count,
                            const struct mx_speak_options *options, struct mx_speech *speech)
{
    struct mx_speech_options how = MX_SPEECH_OPTIONS_DEFAULT;
    const double ratio = exp2(options->pitch_semitones / 12);
    /* (ratio · (p · deviation + mean) - mean)/deviation */
    how.speed = (float)options->speed;
    how.pitch_scale = (float)ratio;
    how.pitch_shift = (float)((ratio - 1) * s->voice.normaliser.pitch_mean / s->voice.normaliser.pitch_deviation);
    for (;; *count /= 2) {
        int rc = batch_send(s, items, *count, options);
        if (rc == 0)
            rc = mx_model_synthesize(s->voice.model, s->voice.stream, s->voice.parameters, &s->batch, &how, speech);
        if (rc < 0) (void)mx_stream_sync(s->voice.stream); /* the uploads must be done with the host's arrays */
        if (rc != MX_ERR_ARGUMENT || *count == 1) return rc;
    }
}

/* ---- joining ---- */

struct joined {
    float *audio;
    size_t count, capacity;
};

/* Room for `more` samples behind the others, which are counted in. */
static float *joined_grow(struct joined *j, size_t more)
{
    if (j->count + more > j->capacity) {
        const size_t capacity = j->count + more > 2 * j->capacity ? j->count + more : 2 * j->capacity;
        float *const grown = mx_realloc(j->audio, capacity, sizeof *grown);
        if (grown == NULL) return NULL;
        j->audio = grown;
        j->capacity = capacity;
    }
    j->count += more;
    return j->audio + j->count - more;
}

/* A sound, faded at both ends, and the pause after it. */
static int joined_add(struct joined *j, const float *sound, size_t count, int rate, double pause_ms)
{
    const size_t pause = (size_t)llround(pause_ms * rate / 1000),
                 whole = (size_t)llround(MX_SPEAK_FADE_MS * rate / 1000);
    const size_t fade = whole < count / 2 ? whole : count / 2;
    float *const to = joined_grow(j, count + pause);
    if (to == NULL) return MX_ERR_NO_MEMORY;
    if (count > 0) memcpy(to, sound, count * sizeof *to);
    for (size_t i = 0; i < fade; i++) {
        const float gain = ((float)i + 0.5f) / (float)fade;
        to[i] *= gain;
        to[count - 1 - i] *= gain;
    }
    for (size_t i = 0; i < pause; i++) to[count + i] = 0;
    return 0;
}

static double seconds_since(uint64_t start_ns)
{
    return (double)(mx_clock_ns() - start_ns) * 1e-9;
}

/* All items of a script. */
struct collected {
    struct mx_arena arena; /* of the tokens */
    struct mx_speak_item *items;
    size_t count, capacity;
};

static int items_collect(struct mx_speak_script *script, struct collected *c)
{
    struct mx_speak_item item;
    int rc = 0;
    while ((rc = mx_speak_script_next(script, &item)) > 0) {
        if (c->count == c->capacity) {
            const size_t more = c->capacity ? 2 * c->capacity : 16;
            struct mx_speak_item *const grown = mx_realloc(c->items, more, sizeof *grown);
            if (grown == NULL) return MX_ERR_NO_MEMORY;
            c->items = grown;
            c->capacity = more;
        }
        int32_t *const tokens = mx_arena_alloc(&c->arena, (size_t)item.count, sizeof *tokens);
        if (tokens == NULL) return MX_ERR_NO_MEMORY;
        memcpy(tokens, item.tokens, (size_t)item.count * sizeof *tokens);
        item.tokens = tokens;
        c->items[c->count++] = item;
    }
    return rc;
}

/* Speaks all items of the script into `joined`. */
static int script_speak(struct mx_speak *s, const struct collected *script, const struct mx_speak_options *options,
                        struct joined *joined, struct mx_speak_result *result)
{
    int rc = 0;
    if (options->tell != NULL) options->tell(options->context, 0, script->count);
    for (size_t at = 0; at < script->count;) {
        const struct mx_speak_item *const items = script->items + at;
        int32_t count = items_fit(s, items, script->count - at);
        struct mx_sound_audio sound = {0};
        struct mx_speech speech = {0};
        uint64_t start = mx_clock_ns();
        MX_TRY(items_synthesize(s, items, &count, options, &speech));
        MX_TRY(mx_stream_sync(s->voice.stream));
        result->model_seconds += seconds_since(start);
        start = mx_clock_ns();
        MX_TRY(mx_sound_make(s->sound, s->voice.stream, speech.mel, speech.frame_offsets, count, &sound));
        for (int32_t i = 0; i < count; i++)
            MX_TRY(joined_add(joined, sound.audio + sound.offsets[i], (size_t)(sound.offsets[i + 1] - sound.offsets[i]),
                              s->recipe.rate, items[i].pause_ms));
        result->waveform_seconds += seconds_since(start);
        at += (size_t)count;
        if (options->tell != NULL) options->tell(options->context, at, script->count);
    }
out:
    return rc;
}

static void unknown_warn(const struct mx_unknown_count *unknown)
{
    char name[MX_SYMBOL_NAME_BYTES];
    if (unknown->count == 0) return;
    mx_warn("the voice never learned %zu symbol%s left out; the first is %s", unknown->count,
            unknown->count == 1 ? " of the text, which is" : "s of the text, which are",
            mx_symbol_name(unknown->first, name));
}

int mx_speak_text(struct mx_speak *s, const char *text, size_t length, const struct mx_speak_options *options,
                  struct mx_speak_result *result)
{
    const struct mx_speak_script_options how = {.vocabulary = s->voice.vocabulary,
                                                .language = options->language,
                                                .piece_characters = options->piece_characters,
                                                .longest_tokens = (size_t)s->capacity.longest_tokens,
                                                .speed = options->speed,
                                                .pitch_semitones = options->pitch_semitones,
                                                .volume = 1,
                                                .pause_scale = 1};
    const uint64_t start = mx_clock_ns();
    struct mx_speak_script *script = NULL;
    struct collected collected = {0};
    struct joined joined = {0};
    int rc = 0;
    *result = (struct mx_speak_result){0};
    mx_arena_init(&collected.arena, 0);
    MX_TRY(options_check(s, options));
    MX_TRY(mx_speak_script_open(&how, text, length, &script));
    MX_TRY(items_collect(script, &collected));
    const struct mx_speak_script_counts counts = mx_speak_script_counts(script);
    unknown_warn(&counts.unknown);
    result->text_seconds = seconds_since(start);
    MX_TRY(script_speak(s, &collected, options, &joined, result));
    result->audio = joined.audio;
    result->count = joined.count;
    joined = (struct joined){0};
    result->paragraphs = counts.paragraphs;
    result->pieces = counts.items;
    result->tokens = counts.tokens;
    result->unknown = counts.unknown;
    result->seconds = (double)result->count / s->recipe.rate;
    if (result->count > 0) result->real_time_factor = seconds_since(start) / result->seconds;
out:
    if (rc < 0) *result = (struct mx_speak_result){0};
    mx_free(joined.audio);
    mx_speak_script_close(script);
    mx_free(collected.items);
    mx_arena_release(&collected.arena);
    return rc;
}

void mx_speak_result_release(struct mx_speak_result *result)
{
    mx_free(result->audio);
    *result = (struct mx_speak_result){0};
}
