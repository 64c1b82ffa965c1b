/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A speaker, see myxtts/voice.h: a script of the text, an engine, and the chunk that is being handed out.
 *
 * Items of the script are taken in groups that share a pass of the network: the first alone, because somebody waits for
 * it, then two, then as many as there is room for. Their sound leaves in parts, the first of a text in small ones. A
 * piece is: silence before it, its sound, the pause after it; a chunk takes of these what it has room for.
 *
 * Memory: a speaker owns its engine, its script, and copies of the items of a group (in an arena that each group
 * resets). Chunks lie in its buffer. Allocation happens when a group is taken, not when its sound is made.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "myxtts/error.h"
#include "speech/reference.h"
#include "speech/script.h"
#include "speech/voice_internal.h"

#define GROUP        4   /* most pieces at once */
#define FRAMES_FIRST 32  /* of the first part of a text, then twice as many each time … */
#define FRAMES_MOST  256 /* … up to here: the parts overlap, so small ones cost more */

/* An item of the script, copied. */
struct piece {
    struct mx_speak_item item;
    const float *voice;
    const struct mx_speak_likeness *likeness;
};

/* How a person is imitated in a language. */
struct imitation {
    bool known;
    struct mx_speak_likeness likeness;
};

struct mx_speaker {
    struct mx_voice *voice;
    struct mx_speak *speak;
    atomic_bool cancelled;
    /* the text */
    struct mx_speak_script *script; /* NULL: nothing is spoken */
    uint64_t seed;
    const float *chosen;              /* the vector of whom the caller chose; NULL: no particular voice */
    float *own;                       /* [width]: that of a reference … */
    float *imitated;                  /* … and of the one that `timbre` and `imitations` are of */
    struct mx_reference_report heard; /* about the references … */
    struct mx_timbre timbre;          /* … and what they sound like */
    double likeness;                  /* the share of the likeness that is wanted */
    struct imitation *imitations;     /* [languages of the voice] */
    float *colours;                   /* [languages of the voice, bands]: of these */
    const char *no_recording;
    char unknown[MX_SPEAK_UNKNOWN_BYTES];
    struct mx_speaking_report report;
    struct mx_error failure; /* code 0: none */
    /* the group */
    struct mx_arena arena;
    struct piece pieces[GROUP];
    int32_t held, first, spoken; /* how many there are; of them [first, first + spoken) are in the engine */
    int32_t groups;              /* taken so far: the first ones are small */
    /* the piece whose sound leaves */
    int32_t at; /* of those in the engine */
    bool begun;
    int64_t before, after;   /* samples of silence that are left */
    const float *part;       /* of its sound, what was made and … */
    int64_t part_left, left; /* … has not left; and samples that are not made yet */
    int64_t frames;          /* of the next part */
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

static int64_t samples_of(double ms)
{
    return llround(ms * mx_recipe_default.rate / 1000);
}

/* ---- creating ---- */

/* Says something short that nobody hears: the memory of the engine is touched now, so that the first sound of the first
 * text comes as soon as that of any other. A voice that cannot do that will say why when it speaks. */
static void engine_warm(struct mx_speaker *s)
{
    static const int32_t tokens[] = {MX_TOKEN_BOS, MX_TOKEN_EOS};
    const struct mx_speak_piece piece = {.tokens = tokens, .count = 2, .speed = 1};
    const float *audio;
    int64_t samples;
    int32_t count = 1;
    if (mx_speak_pieces(s->speak, &piece, &count) < 0 || mx_speak_sound_begin(s->speak, 0) < 0 ||
        mx_speak_sound_next(s->speak, FRAMES_FIRST, &audio, &samples) < 0)
        mx_error_clear();
}

int mx_speaker_create(struct mx_voice *voice, struct mx_speaker **out)
{
    int rc = 0;
    const struct mx_model_capacity room = mx_voice_room(GROUP);
    if (out == NULL)
        return MX_FAIL(MX_ERR_ARGUMENT, "pass a place for the speaker", "there is no place for the speaker");
    *out = NULL;
    if (voice == NULL) return MX_FAIL(MX_ERR_ARGUMENT, "open a voice first", "there is no voice to speak with");
    struct mx_speaker *s = mx_alloc(1, sizeof *s);
    const struct mx_model_config *const network = &mx_checkpoint_state(voice->checkpoint)->model;
    if (s == NULL) return MX_ERR_NO_MEMORY;
    mx_arena_init(&s->arena, 0);
    atomic_init(&s->cancelled, false);
    s->voice = voice;
    s->room = (size_t)(FRAMES_MOST * mx_recipe_default.hop);
    s->buffer = mx_alloc(s->room, sizeof *s->buffer);
    s->own = mx_alloc((size_t)network->size.width, sizeof *s->own);
    s->imitated = mx_alloc((size_t)network->size.width, sizeof *s->imitated);
    s->imitations = mx_alloc((size_t)network->languages, sizeof *s->imitations);
    s->colours = mx_alloc((size_t)network->languages * (size_t)network->bands, sizeof *s->colours);
    s->phonemes = mx_alloc((size_t)room.longest_tokens, sizeof *s->phonemes);
    s->names = mx_alloc((size_t)room.longest_tokens, sizeof *s->names);
    if (s->buffer == NULL || s->own == NULL || s->imitated == NULL || s->imitations == NULL || s->colours == NULL ||
        s->phonemes == NULL || s->names == NULL)
        MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_voice_speak_create(voice, &room, &s->speak));
    engine_warm(s);
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
    mx_speak_destroy(s->speak);
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
    const struct mx_model_config *const network = &mx_checkpoint_state(s->voice->checkpoint)->model;
    const size_t width = (size_t)network->size.width;
    struct mx_timbre timbre = {0};
    MX_TRY(mx_checkpoint_listens_check(s->voice->checkpoint, "a reference"));
    MX_TRY(mx_reference_listen(s->speak, references, count, s->own, &timbre, &s->heard));
    if (memcmp(s->own, s->imitated, width * sizeof *s->own) != 0 || timbre.voiced != s->timbre.voiced ||
        likeness != s->likeness)
        memset(s->imitations, 0, (size_t)network->languages * sizeof *s->imitations);
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

/* Whose voice it shall be. */
static int voice_choose(struct mx_speaker *s, const struct mx_speaking *o)
{
    const struct mx_reference one = {
        .file = o->reference_file, .samples = o->reference, .count = o->reference_count, .rate = o->reference_rate};
    const bool single = one.file != NULL || one.samples != NULL;
    s->no_recording = NULL;
    s->heard = (struct mx_reference_report){0};
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

static int script_open(struct mx_speaker *s, const char *text, size_t length, const struct mx_speaking *o)
{
    struct mx_speak_script_options how = {.vocabulary = s->voice->vocabulary,
                                          .language = MX_SPEAK_DETECT,
                                          .ssml = o->ssml != 0,
                                          .longest_tokens = (size_t)mx_voice_room(GROUP).longest_tokens,
                                          .speed = o->speed,
                                          .pitch_semitones = o->pitch_semitones,
                                          .volume = o->volume,
                                          .pause_scale = o->pause_scale,
                                          .voice_hz = mx_checkpoint_state(s->voice->checkpoint)->normaliser.pitch_mean};
    enum mx_language_id language;
    struct mx_pauses pauses;
    const int parsed = mx_pauses_parse(o->pauses, &pauses);
    if (parsed < 0) return parsed;
    how.pauses = &pauses;
    if (o->language != NULL) {
        const int rc = mx_language_parse(o->language, &language);
        if (rc < 0) return rc;
        how.language = (int)language;
    }
    return mx_speak_script_open(&how, text, length, &s->script);
}

static int speaker_missing(void)
{
    return MX_FAIL(MX_ERR_ARGUMENT, "create a speaker first", "there is no speaker");
}

int mx_speaker_begin(struct mx_speaker *s, const char *text, size_t length, const struct mx_speaking *options)
{
    int rc = 0;
    struct mx_speaking o = MX_SPEAKING_DEFAULT;
    const uint64_t start = mx_clock_ns();
    if (s == NULL) return speaker_missing();
    mx_speak_script_close(s->script);
    s->script = NULL;
    s->failure.code = 0;
    s->held = s->first = s->spoken = s->groups = s->at = 0;
    s->begun = false;
    s->frames = FRAMES_FIRST;
    s->unknown[0] = '\0';
    s->report = (struct mx_speaking_report){0};
    s->chunk = (struct mx_sound_chunk){.rate = mx_recipe_default.rate, .text = "", .language = ""};
    atomic_store(&s->cancelled, false);
    if (text == NULL) MX_RAISE(MX_ERR_ARGUMENT, "pass a text; \"\" is an empty one", "there is no text");
    MX_TRY(mx_voice_options_take(&o, sizeof o, options, "mx_speaking"));
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
    const int32_t bands = mx_checkpoint_state(s->voice->checkpoint)->model.bands;
    struct imitation *const i = &s->imitations[language];
    *out = NULL;
    if (s->chosen != s->own || s->likeness == 0) return 0;
    if (!i->known) {
        const uint64_t start = mx_clock_ns();
        float *const colour = s->colours + (size_t)language * (size_t)bands;
        const int rc = mx_likeness_find(s->speak, &s->timbre, s->own, language, s->likeness, colour, &i->likeness);
        if (rc < 0) return rc;
        i->known = true;
        s->report.reference_work_seconds += seconds_since(start);
    }
    s->report.reference_semitones = i->likeness.semitones;
    s->report.reference_colour_db =
        mx_likeness_db(&i->likeness, bands, mx_speak_voice(s->speak)->normaliser.mel_deviation);
    *out = &i->likeness;
    return 0;
}

/* The script's next item as piece `i`; 0: there are no more. */
static int piece_take(struct mx_speaker *s, struct piece *p)
{
    const int rc = mx_speak_script_next(s->script, &p->item);
    if (rc <= 0) return rc;
    const size_t count = (size_t)p->item.count;
    p->item.tokens = copy(&s->arena, p->item.tokens, count * sizeof *p->item.tokens);
    p->item.symbols = copy(&s->arena, p->item.symbols, count * sizeof *p->item.symbols);
    p->item.text = mx_arena_strdup(&s->arena, p->item.text);
    if (p->item.tokens == NULL || p->item.symbols == NULL || p->item.text == NULL) return MX_ERR_NO_MEMORY;
    p->voice = s->chosen;
    p->likeness = NULL;
    const int failure = p->item.speaker != NULL ? mx_voice_vector(s->voice, p->item.speaker, &p->voice)
                                                : imitation_of(s, p->item.language, &p->likeness);
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
static int group_take(struct mx_speaker *s)
{
    const int32_t wanted = s->groups >= 2 ? GROUP : 1 + s->groups;
    const uint64_t start = mx_clock_ns();
    const double listened = s->report.reference_work_seconds;
    int rc = 1;
    mx_arena_reset(&s->arena);
    s->held = s->first = s->spoken = 0;
    while (s->held < wanted && (rc = piece_take(s, &s->pieces[s->held])) > 0) s->held++;
    s->groups++;
    report_fill(s);
    s->report.text_seconds += seconds_since(start) - (s->report.reference_work_seconds - listened);
    return rc < 0 ? rc : 0;
}

/* The network speaks the pieces of the group that are left, or those of them that fit. */
static int group_speak(struct mx_speaker *s)
{
    struct mx_speak_piece wanted[GROUP];
    int32_t count = s->held - s->first;
    const uint64_t start = mx_clock_ns();
    for (int32_t i = 0; i < count; i++) {
        const struct piece *const p = &s->pieces[s->first + i];
        wanted[i] = (struct mx_speak_piece){.tokens = p->item.tokens,
                                            .count = p->item.count,
                                            .language = p->item.language,
                                            .speed = p->item.speed,
                                            .pitch_semitones = p->item.pitch_semitones,
                                            .voice = p->voice,
                                            .likeness = p->likeness,
                                            .seed = s->seed};
    }
    const int rc = mx_speak_pieces(s->speak, wanted, &count);
    s->spoken = rc < 0 ? 0 : count;
    s->at = 0;
    s->report.model_seconds += seconds_since(start);
    return rc;
}

/* ---- pieces ---- */

/* Sample of the piece's sound where the frame after `frames` begins: the first one is centred on the first sample. */
static int64_t frame_begin(int64_t frames, int64_t samples)
{
    const int64_t hop = mx_recipe_default.hop, at = frames * hop - hop / 2;
    return at < 0 ? 0 : at < samples ? at : samples;
}

/* The phonemes of the current piece, whose sound begins at sample `begin` of the speech. */
static void phonemes_fill(struct mx_speaker *s, const struct piece *p, uint64_t begin)
{
    const int32_t *const durations = mx_speak_durations(s->speak, s->at);
    const int64_t samples = mx_speak_samples(s->speak, s->at);
    int64_t frames = 0;
    s->phoneme_count = s->phoneme_at = 0;
    for (int32_t t = 0; t < p->item.count; t++) {
        const int64_t from = frame_begin(frames, samples);
        frames += durations[t];
        if (p->item.symbols[t] == 0) continue; /* the ends of the sentence */
        char *const name = s->names[s->phoneme_count];
        mx_symbol_utf8(p->item.symbols[t], name);
        s->phonemes[s->phoneme_count++] = (struct mx_phoneme_time){
            .symbol = name, .begin = begin + (uint64_t)from, .end = begin + (uint64_t)frame_begin(frames, samples)};
    }
}

static int piece_begin(struct mx_speaker *s)
{
    const struct piece *const p = &s->pieces[s->first + s->at];
    const int rc = mx_speak_sound_begin(s->speak, s->at);
    if (rc < 0) return rc;
    s->before = samples_of(p->item.before_ms);
    s->after = samples_of(p->item.pause_ms);
    s->left = mx_speak_samples(s->speak, s->at);
    s->part_left = 0;
    s->begun = true;
    phonemes_fill(s, p, s->report.samples + (uint64_t)s->before);
    s->chunk.piece = s->report.pieces_done;
    s->chunk.text = p->item.text;
    s->chunk.language = s->voice->languages[p->item.language];
    s->chunk.source_begin = p->item.source_begin;
    s->chunk.source_length = p->item.source_length;
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
        if (s->first >= s->held) MX_TRY(group_take(s));
        if (s->held == 0) return 0;
        MX_TRY(group_speak(s));
    }
    MX_TRY(piece_begin(s));
    rc = 1;
out:
    return rc;
}

/* ---- chunks ---- */

static size_t silence_put(float *to, size_t room, int64_t *left)
{
    const size_t count = (size_t)*left < room ? (size_t)*left : room;
    if (count > 0) memset(to, 0, count * sizeof *to);
    *left -= (int64_t)count;
    return count;
}

/* More of the piece's sound. A small part goes out by itself: somebody may be waiting for it. */
static int part_make(struct mx_speaker *s)
{
    const uint64_t start = mx_clock_ns();
    const int rc = mx_speak_sound_next(s->speak, s->frames, &s->part, &s->part_left);
    if (rc < 0) return rc;
    s->left -= s->part_left;
    s->frames = 2 * s->frames < FRAMES_MOST ? 2 * s->frames : FRAMES_MOST;
    s->report.sound_seconds += seconds_since(start);
    return 0;
}

/* Fills the chunk with what the current piece has next. */
static int chunk_fill(struct mx_speaker *s)
{
    int rc = 0;
    const struct piece *const p = &s->pieces[s->first + s->at];
    const int64_t all = mx_speak_samples(s->speak, s->at);
    const bool untouched = s->left == all && s->before == samples_of(p->item.before_ms);
    const float volume = (float)p->item.volume;
    size_t count = silence_put(s->buffer, s->room, &s->before);
    if (s->before == 0 && s->part_left == 0 && s->left > 0) MX_TRY(part_make(s));
    if (s->before == 0 && s->part_left > 0) {
        const size_t more = (size_t)s->part_left < s->room - count ? (size_t)s->part_left : s->room - count;
        for (size_t i = 0; i < more; i++) s->buffer[count + i] = volume * s->part[i];
        s->part += more;
        s->part_left -= (int64_t)more;
        count += more;
    }
    if (s->before == 0 && s->part_left == 0 && s->left == 0)
        count += silence_put(s->buffer + count, s->room - count, &s->after);
    const bool done = s->before == 0 && s->part_left == 0 && s->left == 0 && s->after == 0;
    size_t end = s->phoneme_at;
    while (end < s->phoneme_count && s->phonemes[end].begin < s->report.samples + count) end++;
    s->chunk.samples = s->buffer;
    s->chunk.count = count;
    s->chunk.begin = s->report.samples;
    s->chunk.first = untouched;
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
out:
    return rc;
}

/* The end of the text, or of what can be said of it. */
static void chunk_clear(struct mx_speaker *s)
{
    s->chunk =
        (struct mx_sound_chunk){.begin = s->report.samples, .rate = mx_recipe_default.rate, .text = "", .language = ""};
    s->chunk.samples = s->buffer;
    s->chunk.phonemes = s->phonemes;
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
