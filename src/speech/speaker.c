/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A speaker, see myxtts/voice.h: a script of the text, an engine, and the chunk that is being handed out.
 *
 * Items of the script are taken in groups that share a pass of the network: the first alone, because somebody waits for
 * it, then two, then as many as there is room for. Their sound leaves in parts, the first of a text in small ones.
 *
 * Memory: a speaker owns its engine (unless it was created on one), its script, and copies of the items of a group (in
 * an arena that each group resets). Chunks lie in its buffer. Allocation happens when a group is taken, not when its
 * sound is made.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "myxtts/error.h"
#include "speech/reference.h"
#include "speech/script.h"
#include "speech/speaker.h"
#include "speech/voice_internal.h"

#define GROUP        4   /* most pieces at once */
#define FRAMES_FIRST 32  /* of the first part of a text, then twice as many each time */
#define FRAMES_MOST  256 /* up to this number: the parts overlap, so small ones cost more */

/* How a person is imitated in a language. */
struct imitation {
    bool known;
    struct mx_speak_likeness likeness;
};

struct mx_speaker {
    struct mx_voice *voice; /* NULL: it was created on an engine */
    struct mx_speak *speak; /* the engine; borrowed */
    struct mx_recipe recipe;
    int32_t width, bands, languages; /* of the network */
    atomic_bool cancelled;
    /* the text */
    struct mx_speak_script *script; /* NULL: nothing is spoken */
    uint64_t seed;
    const float *chosen;              /* the vector of whom the caller chose; NULL: no particular voice */
    float *own;                       /* [width]: that of a reference */
    float *imitated;                  /* [width]: that of the reference that `timbre` and `imitations` belong to */
    struct mx_reference_report heard; /* about the references */
    struct mx_timbre timbre;          /* what the references sound like */
    double likeness;                  /* the share of the likeness that is wanted */
    struct imitation *imitations;     /* [languages of the voice] */
    float *colours;                   /* [languages of the voice, bands]: of these */
    const char *no_recording;
    char unknown[MX_SPEAK_UNKNOWN_BYTES];
    struct mx_speaking_report report;
    struct mx_error failure; /* code 0: none */
    /* the group */
    struct mx_arena arena;
    struct mx_speak_item items[GROUP];   /* copied */
    struct mx_speak_piece pieces[GROUP]; /* what the network makes of the items */
    int32_t held, first, spoken;         /* how many there are; of them [first, first + spoken) are in the engine */
    int32_t groups;                      /* taken so far: the first ones are small */
    /* the piece whose sound leaves */
    int32_t at; /* of those in the engine */
    bool begun;
    int64_t left_at; /* samples of it that have left */
    int64_t frames;  /* of the next part */
    struct mx_phoneme_time *phonemes;
    char (*names)[MX_SYMBOL_UTF8_BYTES];
    size_t phoneme_count, phoneme_at;
    struct mx_sound_chunk chunk;
    float *buffer;
    size_t room; /* samples */
};

static double seconds_since(uint64_t start_ns)
{
    return (double)(mx_clock_ns() - start_ns) * 1e-9;
}

/* ---- creating ---- */

/* Everything but the engine. */
static int speaker_create(struct mx_speaker **out)
{
    struct mx_speaker *const s = *out = mx_alloc(1, sizeof *s);
    if (s == NULL) return MX_ERR_NO_MEMORY;
    mx_arena_init(&s->arena, 0);
    atomic_init(&s->cancelled, false);
    return 0;
}

/* With its engine: what depends on the network. */
static int speaker_fit(struct mx_speaker *s)
{
    const struct mx_speak_voice *const voice = mx_speak_voice(s->speak);
    const struct mx_model_config *const network = mx_model_config(voice->model);
    const size_t tokens = (size_t)mx_model_capacity(voice->model)->longest_tokens;
    s->recipe = *voice->recipe;
    s->width = network->size.width;
    s->bands = network->bands;
    s->languages = network->languages;
    s->room = (size_t)(FRAMES_MOST * s->recipe.hop);
    s->buffer = mx_alloc(s->room, sizeof *s->buffer);
    s->own = mx_alloc((size_t)s->width, sizeof *s->own);
    s->imitated = mx_alloc((size_t)s->width, sizeof *s->imitated);
    s->imitations = mx_alloc((size_t)s->languages, sizeof *s->imitations);
    s->colours = mx_alloc((size_t)s->languages * (size_t)s->bands, sizeof *s->colours);
    s->phonemes = mx_alloc(tokens, sizeof *s->phonemes);
    s->names = mx_alloc(tokens, sizeof *s->names);
    const bool whole = s->buffer != NULL && s->own != NULL && s->imitated != NULL && s->imitations != NULL &&
                       s->colours != NULL && s->phonemes != NULL && s->names != NULL;
    return whole ? 0 : MX_ERR_NO_MEMORY;
}

int mx_speaker_create_on(struct mx_speak *speak, struct mx_speaker **out)
{
    int rc = speaker_create(out);
    if (rc < 0) return rc;
    (*out)->speak = speak;
    rc = speaker_fit(*out);
    if (rc < 0) {
        mx_speaker_destroy(*out);
        *out = NULL;
    }
    return rc;
}

int mx_speaker_create(struct mx_voice *voice, struct mx_speaker **out)
{
    int rc = 0;
    const struct mx_model_capacity room = mx_voice_room(GROUP);
    if (out == NULL)
        return MX_FAIL(MX_ERR_ARGUMENT, "pass a place for the speaker", "there is no place for the speaker");
    *out = NULL;
    if (voice == NULL) return MX_FAIL(MX_ERR_ARGUMENT, "open a voice first", "there is no voice to speak with");
    struct mx_speaker *s = NULL;
    MX_TRY(speaker_create(&s));
    s->voice = voice;
    MX_TRY(mx_voice_speak_create(voice, &room, &s->speak));
    MX_TRY(speaker_fit(s));
    /* A voice that cannot speak gives the reason when it is used. */
    if (mx_speak_warm(s->speak, 1, 2) < 0) mx_error_clear();
    *out = s;
    s = NULL;
out:
    mx_speaker_destroy(s);
    return rc;
}

void mx_speaker_destroy(struct mx_speaker *s)
{
    if (s == NULL) return;
    mx_speak_script_close(s->script);
    if (s->voice != NULL) mx_speak_destroy(s->speak);
    mx_arena_release(&s->arena);
    mx_free(s->buffer);
    mx_free(s->own);
    mx_free(s->imitated);
    mx_timbre_release(&s->timbre);
    mx_free(s->imitations);
    mx_free(s->colours);
    mx_free(s->phonemes);
    mx_free(s->names);
    mx_free(s);
}

/* ---- beginning ---- */

/* Listens to a person. Whoever was imitated before is imitated in the same way: every line of a file of lines listens to
 * the same recordings. */
static int person_listen(struct mx_speaker *s, const struct mx_reference *references, size_t count, double likeness)
{
    int rc = 0;
    const size_t width = (size_t)s->width;
    struct mx_timbre timbre = {0};
    MX_TRY(mx_checkpoint_listens_check(s->voice->checkpoint, "a reference"));
    MX_TRY(mx_reference_listen(s->speak, references, count, s->own, &timbre, &s->heard));
    if (memcmp(s->own, s->imitated, width * sizeof *s->own) != 0 || timbre.voiced != s->timbre.voiced ||
        likeness != s->likeness)
        memset(s->imitations, 0, (size_t)s->languages * sizeof *s->imitations);
    memcpy(s->imitated, s->own, width * sizeof *s->own);
    s->likeness = likeness;
    mx_timbre_release(&s->timbre);
    s->timbre = timbre;
    timbre = (struct mx_timbre){0};
    s->chosen = s->own;
out:
    mx_timbre_release(&timbre);
    return rc;
}

/* Selects the speaker. */
static int voice_choose(struct mx_speaker *s, const struct mx_speaking *o)
{
    const struct mx_reference one = {
        .file = o->reference_file, .samples = o->reference, .count = o->reference_count, .rate = o->reference_rate};
    const bool single = one.file != NULL || one.samples != NULL;
    if (!(o->likeness >= 0 && o->likeness <= 1))
        return MX_FAIL(MX_ERR_ARGUMENT, "0 to 1; 1 takes pitch and colour from the recordings, 0 neither",
                       "a likeness of %g is impossible", o->likeness);
    if ((o->references == NULL && o->references_count > 0) || (o->reference == NULL && o->reference_count > 0))
        return MX_FAIL(MX_ERR_ARGUMENT, "set pointer and count together, or neither",
                       "recordings to sound like are counted, but there are none");
    if ((one.file != NULL) + (one.samples != NULL) + (o->references != NULL) + (o->speaker != NULL) > 1)
        return MX_FAIL(MX_ERR_ARGUMENT, "set one of speaker, reference_file, reference and references",
                       "the voice is chosen more than once");
    if (single || o->references != NULL) {
        const int rc = person_listen(s, single ? &one : o->references, single ? 1 : o->references_count, o->likeness);
        s->report.reference_seconds = s->heard.seconds;
        s->report.reference_warnings = s->heard.count;
        return rc;
    }
    const int rc = mx_voice_vector(s->voice, o->speaker, &s->chosen);
    if (rc == 0 && s->chosen == NULL)
        s->no_recording =
            "the voice keeps no recording of its speaker: give one as the reference ('--speaker-wav' of synth)";
    return rc;
}

/* Opens the script, and names the speaker who suits it. */
static int script_open(struct mx_speaker *s, const char *text, size_t length, struct mx_speaking *o)
{
    struct mx_speak_script_options how = mx_speak_script_options_of(s->speak);
    enum mx_language_id language;
    struct mx_pauses pauses;
    const int parsed = mx_pauses_parse(o->pauses, &pauses);
    if (parsed < 0) return parsed;
    how.ssml = o->ssml != 0;
    how.speed = o->speed;
    how.pitch_semitones = o->pitch_semitones;
    how.volume = o->volume;
    how.pause_scale = o->pause_scale;
    how.pauses = &pauses;
    if (o->language != NULL) {
        const int rc = mx_language_parse(o->language, &language);
        if (rc < 0) return rc;
        how.language = (int)language;
    }
    if (o->reference_file == NULL && o->reference == NULL && o->references == NULL)
        mx_voice_suit(mx_checkpoint_state(s->voice->checkpoint), how.ssml ? NULL : text, length, &o->speaker, &how);
    return mx_speak_script_open(&how, text, length, &s->script);
}

static int speaker_missing(void)
{
    return MX_FAIL(MX_ERR_ARGUMENT, "create a speaker first", "there is no speaker");
}

static void chunk_clear(struct mx_speaker *s)
{
    s->chunk = (struct mx_sound_chunk){.samples = s->buffer,
                                       .begin = s->report.samples,
                                       .rate = s->recipe.rate,
                                       .text = "",
                                       .language = "",
                                       .phonemes = s->phonemes};
}

void mx_speaker_begin_script(struct mx_speaker *s, struct mx_speak_script *script, const float *vector, uint64_t seed)
{
    mx_speak_script_close(s->script);
    s->script = script;
    s->chosen = vector;
    s->seed = seed;
    s->no_recording = NULL;
    s->heard = (struct mx_reference_report){0};
    s->failure.code = 0;
    s->held = s->first = s->spoken = s->groups = s->at = 0;
    s->begun = false;
    s->frames = FRAMES_FIRST;
    s->unknown[0] = '\0';
    s->report = (struct mx_speaking_report){0};
    chunk_clear(s);
    atomic_store(&s->cancelled, false);
}

int mx_speaker_begin(struct mx_speaker *s, const char *text, size_t length, const struct mx_speaking *options)
{
    int rc = 0;
    struct mx_speaking o = MX_SPEAKING_DEFAULT;
    const uint64_t start = mx_clock_ns();
    if (s == NULL) return speaker_missing();
    mx_speaker_begin_script(s, NULL, NULL, 0);
    if (text == NULL) MX_RAISE(MX_ERR_ARGUMENT, "pass a text; \"\" is an empty one", "there is no text");
    MX_TRY(mx_voice_options_copy(&o, sizeof o, options, "mx_speaking"));
    s->seed = o.seed;
    MX_TRY(script_open(s, text, length, &o));
    s->report.text_seconds = seconds_since(start);
    MX_TRY(voice_choose(s, &o));
out:
    if (rc < 0) {
        mx_speak_script_close(s->script);
        s->script = NULL;
    }
    return rc;
}

/* ---- groups ---- */

static void *copy(struct mx_arena *arena, const void *from, size_t bytes)
{
    void *const to = mx_arena_alloc(arena, bytes, 1);
    if (to != NULL) memcpy(to, from, bytes);
    return to;
}

/* How the person that was heard is imitated in a language; NULL: as the network does it. The first time takes a while:
 * the voice says a few words and listens to itself. */
static int imitation_of(struct mx_speaker *s, int32_t language, const struct mx_speak_likeness **out)
{
    struct imitation *const i = &s->imitations[language];
    *out = NULL;
    if (s->chosen != s->own || s->likeness == 0) return 0;
    if (!i->known) {
        const uint64_t start = mx_clock_ns();
        float *const colour = s->colours + (size_t)language * (size_t)s->bands;
        const int rc = mx_likeness_find(s->speak, &s->timbre, s->own, language, s->likeness, colour, &i->likeness);
        if (rc < 0) return rc;
        i->known = true;
        s->report.reference_work_seconds += seconds_since(start);
    }
    s->report.reference_semitones = i->likeness.semitones;
    s->report.reference_colour_db =
        mx_likeness_db(&i->likeness, s->bands, mx_speak_voice(s->speak)->normaliser.mel_deviation);
    *out = &i->likeness;
    return 0;
}

/* The script's next item as item and piece `i` of the group; 0: there are no more. */
static int piece_next(struct mx_speaker *s, int32_t i)
{
    struct mx_speak_item *const item = &s->items[i];
    struct mx_speak_piece *const piece = &s->pieces[i];
    const int rc = mx_speak_script_next(s->script, item);
    if (rc <= 0) return rc;
    item->tokens = copy(&s->arena, item->tokens, (size_t)item->count * sizeof *item->tokens);
    item->symbols = copy(&s->arena, item->symbols, (size_t)item->count * sizeof *item->symbols);
    item->text = mx_arena_strdup(&s->arena, item->text);
    if (item->tokens == NULL || item->symbols == NULL || item->text == NULL) return MX_ERR_NO_MEMORY;
    *piece = mx_speak_piece_of(item, s->chosen, s->seed);
    const int failure = item->speaker != NULL ? mx_voice_vector(s->voice, item->speaker, &piece->voice)
                                              : imitation_of(s, item->language, &piece->likeness);
    return failure < 0 ? failure : 1;
}

static void report_fill(struct mx_speaker *s)
{
    const struct mx_speak_script_counts counts = mx_speak_script_counts(s->script);
    s->report.pieces = mx_speak_script_pieces(s->script);
    s->report.paragraphs = counts.paragraphs;
    s->report.tokens = counts.tokens;
    if (counts.unknown.count > 0) mx_speak_unknown_text(&counts.unknown, s->unknown);
}

/* Takes the next items of the script; held is 0 at its end. */
static int group_next(struct mx_speaker *s)
{
    const int32_t wanted = s->groups >= 2 ? GROUP : 1 + s->groups;
    const uint64_t start = mx_clock_ns();
    const double listened = s->report.reference_work_seconds;
    int rc = 1;
    mx_arena_reset(&s->arena);
    s->held = s->first = s->spoken = 0;
    while (s->held < wanted && (rc = piece_next(s, s->held)) > 0) s->held++;
    s->groups++;
    report_fill(s);
    s->report.text_seconds += seconds_since(start) - (s->report.reference_work_seconds - listened);
    return rc < 0 ? rc : 0;
}

/* The network speaks the pieces of the group that are left, or those of them that fit. */
static int group_speak(struct mx_speaker *s)
{
    int32_t count = s->held - s->first;
    const uint64_t start = mx_clock_ns();
    const int rc = mx_speak_pieces(s->speak, s->pieces + s->first, &count);
    s->spoken = rc < 0 ? 0 : count;
    s->at = 0;
    s->report.model_seconds += seconds_since(start);
    return rc;
}

/* ---- pieces ---- */

/* Sample of the piece's sound where the frame after `frames` begins: the first one is centred on the first sample. */
static int64_t frame_begin(int64_t hop, int64_t frames, int64_t samples)
{
    const int64_t at = frames * hop - hop / 2;
    return at < 0 ? 0 : at < samples ? at : samples;
}

/* The phonemes of the current piece, whose item it is. */
static void phonemes_fill(struct mx_speaker *s, const struct mx_speak_item *item)
{
    const int32_t *const durations = mx_speak_durations(s->speak, s->at);
    const struct mx_speak_length length = mx_speak_length(s->speak, s->at);
    const uint64_t begin = s->report.samples + (uint64_t)length.before;
    int64_t frames = 0;
    s->phoneme_count = s->phoneme_at = 0;
    for (int32_t t = 0; t < item->count; t++) {
        const int64_t from = frame_begin(s->recipe.hop, frames, length.sound);
        frames += durations[t];
        const int64_t to = frame_begin(s->recipe.hop, frames, length.sound);
        if (item->symbols[t] == 0) continue; /* the ends of the sentence */
        char *const name = s->names[s->phoneme_count];
        mx_symbol_utf8(item->symbols[t], name);
        s->phonemes[s->phoneme_count++] =
            (struct mx_phoneme_time){.symbol = name, .begin = begin + (uint64_t)from, .end = begin + (uint64_t)to};
    }
}

static int piece_begin(struct mx_speaker *s)
{
    const struct mx_speak_item *const item = &s->items[s->first + s->at];
    const struct mx_vocabulary *const vocabulary = mx_speak_voice(s->speak)->vocabulary;
    const int rc = mx_speak_sound_begin(s->speak, s->at);
    if (rc < 0) return rc;
    s->left_at = 0;
    s->begun = true;
    phonemes_fill(s, item);
    s->chunk.piece = s->report.pieces_done;
    s->chunk.text = item->text;
    s->chunk.language = mx_language_get(mx_vocabulary_language_at(vocabulary, (size_t)item->language))->code;
    s->chunk.source_begin = item->source_begin;
    s->chunk.source_length = item->source_length;
    return 0;
}

/* Makes sure that there is a piece whose sound can leave. 1: there is; 0: the text is spoken. */
static int piece_ready(struct mx_speaker *s)
{
    int rc = 0;
    if (s->begun) return 1;
    if (s->at >= s->spoken) {
        s->first += s->spoken;
        s->spoken = 0;
        if (s->first >= s->held) MX_TRY(group_next(s));
        if (s->held == 0) return 0;
        MX_TRY(group_speak(s));
    }
    MX_TRY(piece_begin(s));
    rc = 1;
out:
    return rc;
}

/* ---- chunks ---- */

/* Fills the chunk with what the current piece has next. A small part goes out by itself: somebody may be waiting. */
static int chunk_fill(struct mx_speaker *s)
{
    const uint64_t start = mx_clock_ns();
    const struct mx_speak_length length = mx_speak_length(s->speak, s->at);
    const int64_t from = s->left_at, sound_end = length.before + length.sound;
    size_t count;
    const int rc = mx_speak_sound_next(s->speak, s->frames, s->buffer, s->room, &count);
    if (rc < 0) return rc;
    s->report.sound_seconds += seconds_since(start);
    s->left_at += (int64_t)count;
    if (s->left_at > length.before && from < sound_end)
        s->frames = 2 * s->frames < FRAMES_MOST ? 2 * s->frames : FRAMES_MOST;
    const bool done = s->left_at == sound_end + length.after;
    size_t end = s->phoneme_at;
    while (end < s->phoneme_count && s->phonemes[end].begin < s->report.samples + count) end++;
    s->chunk.samples = s->buffer;
    s->chunk.count = count;
    s->chunk.begin = s->report.samples;
    s->chunk.first = from == 0;
    s->chunk.last = done;
    s->chunk.phonemes = s->phonemes + s->phoneme_at;
    s->chunk.phoneme_count = end - s->phoneme_at;
    s->phoneme_at = end;
    s->report.samples += count;
    if (done) {
        s->begun = false;
        s->at++;
        s->report.pieces_done++;
    }
    return 0;
}

int mx_speaker_next(struct mx_speaker *s, const struct mx_sound_chunk **chunk)
{
    static const struct mx_sound_chunk nothing = {.text = "", .language = ""};
    int rc = 0;
    if (chunk == NULL) return MX_FAIL(MX_ERR_ARGUMENT, "pass a place for the chunk", "there is no place for the sound");
    *chunk = s != NULL ? &s->chunk : &nothing;
    if (s == NULL) return speaker_missing();
    if (s->script == NULL || s->failure.code != 0) {
        chunk_clear(s);
        return s->failure.code != 0 ? mx_error_restore(&s->failure) : 0;
    }
    if (atomic_load(&s->cancelled)) MX_RAISE(MX_ERR_INTERRUPTED, NULL, "the speech was cancelled");
    rc = piece_ready(s);
    if (rc <= 0) goto out;
    if (atomic_load(&s->cancelled)) MX_RAISE(MX_ERR_INTERRUPTED, NULL, "the speech was cancelled");
    MX_TRY(chunk_fill(s));
    return 1;
out:
    chunk_clear(s);
    if (rc < 0) {
        s->failure = *mx_error_last();
        s->failure.code = rc;
    }
    return rc;
}

int mx_speaker_rest(struct mx_speaker *s, float **samples, size_t *count)
{
    const struct mx_sound_chunk *chunk;
    float *all = NULL;
    size_t room = 0;
    int rc;
    *samples = NULL;
    *count = 0;
    while ((rc = mx_speaker_next(s, &chunk)) > 0) {
        MX_TRY(MX_GROW(all, room, *count + chunk->count));
        if (chunk->count > 0) memcpy(all + *count, chunk->samples, chunk->count * sizeof *all);
        *count += chunk->count;
    }
    if (rc == 0) *samples = all;
out:
    if (rc < 0) {
        mx_free(all);
        *count = 0;
    }
    return rc;
}

void mx_speaker_cancel(struct mx_speaker *s)
{
    if (s != NULL) atomic_store(&s->cancelled, true);
}

/* ---- what happened ---- */

/* In this order, so that a warning keeps its number while more of the text is read. */
const char *mx_speaker_warning(const struct mx_speaker *s, size_t number)
{
    size_t of_script = 0;
    if (s == NULL || s->script == NULL) return NULL;
    if (number < s->heard.count) return s->heard.warnings[number];
    number -= s->heard.count;
    if (s->no_recording != NULL && number-- == 0) return s->no_recording;
    while (mx_speak_script_warning(s->script, of_script) != NULL) of_script++;
    if (number < of_script) return mx_speak_script_warning(s->script, number);
    return number == of_script && s->unknown[0] != '\0' ? s->unknown : NULL;
}

size_t mx_speaker_warnings(const struct mx_speaker *s)
{
    size_t count = 0;
    while (mx_speaker_warning(s, count) != NULL) count++;
    return count;
}

const struct mx_speaking_report *mx_speaker_report(const struct mx_speaker *s)
{
    static const struct mx_speaking_report none;
    return s == NULL ? &none : &s->report;
}
