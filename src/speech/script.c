/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From raw text to items of tokens, one after the other: a span of text is normalised and split when its turn comes, a
 * piece becomes tokens when it is needed. One item is made ahead of the one that is returned, because the pause between
 * them depends on both. See script.h for who owns what.
 */
#include "speech/script.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "base/utf8.h"
#include "speech/script_internal.h"
#include "speech/ssml/ssml.h"
#include "text/tokens.h"

/* ---- opening ---- */

static int options_check(const struct mx_speak_script_options *o)
{
    if (o->language != MX_SPEAK_DETECT && (o->language < 0 || o->language >= MX_LANGUAGE_COUNT))
        return MX_FAIL(MX_ERR_ARGUMENT, "use a number from mx_language_parse", "there is no language number %d",
                       o->language);
    if (!(o->speed >= MX_SPEAK_SCRIPT_SPEED_LEAST && o->speed <= MX_SPEAK_SCRIPT_SPEED_MOST))
        return MX_FAIL(MX_ERR_ARGUMENT, "0.25 to 4; 1 is the speed of the recordings", "a speed of %g is impossible",
                       o->speed);
    if (!(fabs(o->pitch_semitones) <= MX_SPEAK_SCRIPT_SEMITONES))
        return MX_FAIL(MX_ERR_ARGUMENT, "-24 to 24; 0 is the pitch of the voice",
                       "the pitch cannot be shifted by %g semitones", o->pitch_semitones);
    if (!(o->volume >= 0 && o->volume <= MX_SPEAK_SCRIPT_VOLUME_MOST))
        return MX_FAIL(MX_ERR_ARGUMENT, "0 to 4; 1 is the volume of the voice", "a volume of %g is impossible",
                       o->volume);
    if (!(o->pause_scale >= 0 && o->pause_scale <= MX_SPEAK_SCRIPT_PAUSES_MOST))
        return MX_FAIL(MX_ERR_ARGUMENT, "0 to 10; 1 leaves the pauses as they are",
                       "pauses cannot be %g times as long as usual", o->pause_scale);
    if (o->piece_characters != 0 && o->piece_characters < MX_SPLIT_LEAST) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "pieces of at most %zu characters are too short to be spoken",
                o->piece_characters);
        return mx_error_hint("give at least %d", MX_SPLIT_LEAST);
    }
    return 0;
}

/* The first language of the vocabulary: for text that has no letters of its own to tell by. */
static enum mx_language_id language_first(const struct mx_vocabulary *vocabulary)
{
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (mx_vocabulary_language(vocabulary, (enum mx_language_id)i) >= 0) return (enum mx_language_id)i;
    return (enum mx_language_id)0;
}

/* The only language of the vocabulary with this script; otherwise `found`, to be refused: a Spanish voice reads Latin
 * letters as Spanish, a voice of Spanish and French needs the language. */
static enum mx_language_id language_of_script(const struct mx_vocabulary *vocabulary, enum mx_language_id found)
{
    enum mx_language_id only = found;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const enum mx_language_id language = (enum mx_language_id)i;
        if (mx_vocabulary_language(vocabulary, language) < 0) continue;
        if (mx_language_get(language)->script != mx_language_get(found)->script) continue;
        if (only != found) return found;
        only = language;
    }
    return only;
}

int mx_speak_language_known(const struct mx_vocabulary *vocabulary, enum mx_language_id language)
{
    if (mx_vocabulary_language(vocabulary, language) < 0) language = language_of_script(vocabulary, language);
    return mx_vocabulary_language(vocabulary, language) < 0 ? -1 : (int)language;
}

/* After a refused language: all that the voice knows, and how to read the text as the first of them. */
static int languages_hint(const struct mx_vocabulary *vocabulary)
{
    struct mx_string list = {0};
    size_t count = 0;
    const struct mx_language *const first = mx_language_get(language_first(vocabulary));
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (mx_vocabulary_language(vocabulary, (enum mx_language_id)i) >= 0)
            mx_string_append(&list, "%s%s", count++ > 0 ? ", " : "", mx_language_get((enum mx_language_id)i)->name);
    const int rc = mx_error_hint("it speaks %s: give it text in %s, or read this text as such with --language %s",
                                 list.failure == 0 ? list.data : first->name,
                                 count > 1 ? "one of these languages" : "that language", first->code);
    mx_string_release(&list);
    return rc;
}

int mx_speak_language_find(const struct mx_speak_script_options *options, const char *text, size_t length,
                           enum mx_language_id *language, int32_t *number)
{
    const struct mx_vocabulary *const vocabulary = options->vocabulary;
    const bool preferred = options->preferred != MX_SPEAK_DETECT;
    if (options->language != MX_SPEAK_DETECT)
        *language = (enum mx_language_id)options->language;
    else if (mx_text_detect(text, length, language) < 0) {
        *language = preferred ? (enum mx_language_id)options->preferred : language_first(vocabulary);
        mx_error_clear(); /* there are no letters */
    } else if (preferred &&
               mx_language_get((enum mx_language_id)options->preferred)->script == mx_language_get(*language)->script)
        *language = (enum mx_language_id)options->preferred;
    else if (mx_vocabulary_language(vocabulary, *language) < 0)
        *language = language_of_script(vocabulary, *language);
    *number = mx_vocabulary_language(vocabulary, *language);
    if (*number >= 0) return 0;
    MX_FAIL(MX_ERR_CONFIG, NULL, "this voice never learned to speak %s", mx_language_get(*language)->name);
    return languages_hint(vocabulary);
}

void mx_speak_gap_merge(struct mx_speak_gap *gap, const struct mx_speak_gap *more)
{
    if (more->rank > gap->rank) gap->rank = more->rank;
    gap->given |= more->given;
    gap->exact_ms += more->exact_ms;
    gap->usual_ms += more->usual_ms;
}

static int span_push(struct mx_speak_script *s, const struct mx_speak_span *span)
{
    if (MX_GROW(s->spans, s->span_capacity, s->span_count + 1) < 0) return MX_ERR_NO_MEMORY;
    s->spans[s->span_count++] = *span;
    s->bytes_left += span->length;
    return 0;
}

/* The length of a pause: what was asked for, or the usual one. */
static double pause_of(const struct mx_speak_script *s, enum mx_pauses_kind kind)
{
    static const double usual[MX_PAUSES_KINDS] = {
        [MX_PAUSES_PARAGRAPH] = MX_SPLIT_PARAGRAPH_MS, [MX_PAUSES_ELLIPSIS] = MX_SPLIT_ELLIPSIS_MS};
    if (s->pauses.ms[kind] >= 0) return s->pauses.ms[kind];
    return kind == MX_PAUSES_SENTENCE ? mx_split_pause_ms('.')
           : kind == MX_PAUSES_DASH   ? mx_split_pause_ms('-')
                                      : usual[kind];
}

int mx_speak_span_add(struct mx_speak_script *s, struct mx_speak_span span)
{
    size_t left = span.length;
    const char *const words_end = span.text + mx_split_words_end(span.text, left);
    int rc = 0;
    while (left > 0) {
        const size_t words = (size_t)(words_end - span.text);
        span.length = mx_split_ellipsis(span.text, words);
        if (span.length == words) span.length = left;
        MX_TRY(span_push(s, &span));
        left -= span.length;
        span.text += span.length;
        span.gap = (struct mx_speak_gap){.given = true, .usual_ms = pause_of(s, MX_PAUSES_ELLIPSIS)};
    }
out:
    return rc;
}

/* A paragraph is a span, or each of its lines is, if lines are to end with a pause. */
static int paragraph_add(struct mx_speak_script *s, struct mx_speak_span span)
{
    const char *const end = span.text + span.length;
    int rc = 0;
    if (s->pauses.ms[MX_PAUSES_LINE] < 0) return mx_speak_span_add(s, span);
    while (span.text < end) {
        const char *const newline = memchr(span.text, '\n', (size_t)(end - span.text));
        span.length = (size_t)((newline != NULL ? newline + 1 : end) - span.text);
        MX_TRY(mx_speak_span_add(s, span));
        span.text += span.length;
        span.gap = (struct mx_speak_gap){.rank = MX_SPEAK_RANK_LINE};
    }
out:
    return rc;
}

/* Every paragraph is a span. */
static int plain_read(struct mx_speak_script *s, const char *text, size_t length)
{
    size_t at = 0, begin, count;
    int rc = 0;
    const char *const copy = mx_arena_strndup(&s->arena, text, length);
    if (copy == NULL) return MX_ERR_NO_MEMORY;
    while (mx_split_paragraph(copy, length, &at, &begin, &count)) {
        struct mx_speak_span span = {.text = copy + begin,
                                     .length = count,
                                     .speed = s->options.speed,
                                     .pitch_semitones = s->options.pitch_semitones,
                                     .volume = s->options.volume,
                                     .gap = {.rank = MX_SPEAK_RANK_PARAGRAPH},
                                     .source_begin = begin,
                                     .source_length = count};
        rc = mx_text_check(span.text, count);
        if (rc == 0) rc = mx_speak_language_find(&s->options, span.text, count, &span.language, &span.language_number);
        if (rc < 0) return mx_error_wrap("text from byte %zu on", begin);
        MX_TRY(paragraph_add(s, span));
    }
out:
    return rc;
}

int mx_speak_script_open(const struct mx_speak_script_options *options, const char *text, size_t length,
                         struct mx_speak_script **out)
{
    int rc = 0;
    *out = NULL;
    struct mx_speak_script *s = mx_alloc(1, sizeof *s);
    if (s == NULL) return MX_ERR_NO_MEMORY;
    s->options = *options;
    mx_pauses_init(&s->pauses);
    if (options->pauses != NULL) s->pauses = *options->pauses;
    s->options.pauses = NULL;
    s->options.pause_scale *= s->pauses.factor;
    if (s->options.piece_characters == 0) s->options.piece_characters = MX_SPLIT_CHARACTERS;
    mx_arena_init(&s->arena, 0);
    mx_arena_init(&s->paragraph, 0);
    for (int i = 0; i < 2; i++) mx_arena_init(&s->slots[i].arena, 0);
    MX_TRY(options_check(options));
    MX_TRY(options->ssml ? mx_ssml_read(s, text, length) : plain_read(s, text, length));
    if (mx_vocabulary_mode(options->vocabulary) == MX_TOKENS_PHONEMES && s->span_count > 0)
        MX_TRY(mx_phonemizer_get(&s->phonemizer));
    *out = s;
    s = NULL;
out:
    mx_speak_script_close(s);
    return rc;
}

void mx_speak_script_close(struct mx_speak_script *s)
{
    if (s == NULL) return;
    for (int i = 0; i < 2; i++) mx_arena_release(&s->slots[i].arena);
    mx_arena_release(&s->paragraph);
    mx_arena_release(&s->arena);
    mx_free(s->spans);
    mx_free(s);
}

/* ---- making items ---- */

/* The span whose pieces are being spoken. */
static const struct mx_speak_span *span_now(const struct mx_speak_script *s)
{
    return &s->spans[s->span_next - 1];
}

static int level_push(struct mx_speak_script *s, const char *text, size_t limit)
{
    struct mx_speak_script_level level = {.limit = limit};
    const int rc = mx_split_text(text, limit, &s->paragraph, &level.pieces, &level.count);
    if (rc == 0) s->levels[s->depth++] = level;
    return rc;
}

/* The same for text that is divided at its dashes. */
static int level_push_dashes(struct mx_speak_script *s, char *text)
{
    const size_t limit = s->options.piece_characters;
    struct mx_speak_script_level all = {.limit = limit};
    int rc = 0;
    all.pieces = mx_arena_alloc(&s->paragraph, strlen(text) + 1, sizeof *all.pieces); /* each has a character */
    if (all.pieces == NULL) return MX_ERR_NO_MEMORY;
    while (text != NULL) {
        struct mx_split_piece *pieces;
        size_t count;
        char *const dash = strstr(text, " - ");
        if (dash != NULL) *dash = 0;
        MX_TRY(mx_split_text(text, limit, &s->paragraph, &pieces, &count));
        if (count > 0) memcpy(all.pieces + all.count, pieces, count * sizeof *pieces);
        all.count += count;
        if (dash != NULL && all.count > 0) all.pieces[all.count - 1].mark = '-';
        text = dash != NULL ? dash + 3 : NULL;
    }
    s->levels[s->depth++] = all;
out:
    return rc;
}

static int span_begin(struct mx_speak_script *s)
{
    const struct mx_speak_span *const span = &s->spans[s->span_next++];
    char *normalised;
    int rc = 0;
    mx_speak_gap_merge(&s->gap, &span->gap);
    s->bytes_left -= span->length;
    s->made_bytes += span->length;
    mx_arena_reset(&s->paragraph);
    MX_TRY(mx_reading_text(mx_vocabulary_reading(s->options.vocabulary), span->language, span->text, span->length,
                           &s->paragraph, &normalised, NULL));
    if (s->pauses.ms[MX_PAUSES_DASH] >= 0)
        MX_TRY(level_push_dashes(s, normalised));
    else
        MX_TRY(level_push(s, normalised, s->options.piece_characters));
out:
    return rc;
}

/* Splits a piece that has too many tokens again, at half the limit. */
static int piece_halve(struct mx_speak_script *s, const struct mx_split_piece *piece)
{
    const size_t limit = s->levels[s->depth - 1].limit / 2;
    if (limit < MX_SPLIT_LEAST) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "the network has no room for a piece of %d characters", MX_SPLIT_LEAST);
        return mx_error_hint("it has room for %zu tokens in one sentence: create it with room for more",
                             s->options.longest_tokens);
    }
    const int rc = level_push(s, piece->text, limit);
    if (rc < 0) return rc;
    const struct mx_speak_script_level *const level = &s->levels[s->depth - 1];
    if (level->count > 0) level->pieces[level->count - 1].mark = piece->mark; /* a dash is no part of the text */
    return 0;
}

/* The tokens of a piece, in the slot. */
static int piece_encode(struct mx_speak_script *s, const struct mx_split_piece *piece,
                        struct mx_speak_script_slot *slot, struct mx_tokens *tokens)
{
    const struct mx_vocabulary *const vocabulary = s->options.vocabulary;
    const struct mx_reading *const reading = mx_vocabulary_reading(vocabulary);
    const struct mx_speak_span *const span = span_now(s);
    struct mx_symbols symbols;
    char *text;
    int rc = 0;
    mx_arena_reset(&slot->arena);
    if (span->sound_count > 0) {
        MX_TRY(mx_speak_sounds_symbols(span, reading, s->phonemizer, piece->text, &slot->arena, &symbols, &text));
    } else {
        MX_TRY(mx_reading_plain(reading, piece->text, &slot->arena, &text));
        MX_TRY(mx_reading_symbols(reading, mx_vocabulary_mode(vocabulary), s->phonemizer, span->language, piece->text,
                                  &slot->arena, &symbols));
    }
    slot->item.text = text;
    MX_TRY(mx_vocabulary_encode(vocabulary, symbols, MX_UNKNOWN_SKIP, &slot->arena, tokens, &s->unknown));
out:
    return rc;
}

static int slot_fill(struct mx_speak_script *s, const struct mx_split_piece *piece, struct mx_tokens tokens,
                     struct mx_speak_script_slot *slot)
{
    const struct mx_speak_span *const span = span_now(s);
    const char *const text = slot->item.text;
    uint32_t *const symbols = mx_arena_alloc(&slot->arena, tokens.count, sizeof *symbols);
    if (symbols == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < tokens.count; i++)
        symbols[i] = mx_vocabulary_symbol(s->options.vocabulary, tokens.numbers[i]);
    slot->item = (struct mx_speak_item){.tokens = tokens.numbers,
                                        .symbols = symbols,
                                        .count = (int32_t)tokens.count,
                                        .language = span->language_number,
                                        .speed = span->speed,
                                        .pitch_semitones = span->pitch_semitones,
                                        .volume = span->volume,
                                        .speaker = span->speaker,
                                        .text = text,
                                        .source_begin = span->source_begin,
                                        .source_length = span->source_length};
    slot->mark = piece->mark;
    slot->gap = s->gap;
    slot->unknown = s->unknown;
    s->gap = (struct mx_speak_gap){0};
    s->made++;
    return 0;
}

/* The next item into the slot: 1; 0: there are no more. */
static int slot_next(struct mx_speak_script *s, struct mx_speak_script_slot *slot)
{
    int rc = 0;
    for (;;) {
        if (s->depth == 0) {
            if (s->span_next == s->span_count) return 0;
            MX_TRY(span_begin(s));
            continue;
        }
        struct mx_speak_script_level *const level = &s->levels[s->depth - 1];
        if (level->at == level->count) {
            s->depth--;
            continue;
        }
        const struct mx_split_piece *const piece = &level->pieces[level->at++];
        const struct mx_unknown_count before = s->unknown;
        struct mx_tokens tokens;
        MX_TRY(piece_encode(s, piece, slot, &tokens));
        if (s->options.longest_tokens > 0 && tokens.count > s->options.longest_tokens) {
            s->unknown = before;
            MX_TRY(piece_halve(s, piece));
        } else if (tokens.count > 2) { /* otherwise only BOS and EOS: it has no known symbols */
            MX_TRY(slot_fill(s, piece, tokens, slot));
            return 1;
        }
    }
out:
    return mx_error_wrap("text from byte %zu on", span_now(s)->source_begin);
}

static void ahead_fill(struct mx_speak_script *s)
{
    s->ahead = slot_next(s, &s->slots[s->turn]);
    if (s->ahead < 0) s->failure = *mx_error_last();
}

static double gap_given_ms(const struct mx_speak_script *s, const struct mx_speak_gap *gap, double speed)
{
    return gap->given ? gap->exact_ms + gap->usual_ms * s->options.pause_scale / speed : 0;
}

/* The silence between an item and the next one, or the end. */
static double pause_ms(const struct mx_speak_script *s, const struct mx_speak_script_slot *slot)
{
    struct mx_speak_gap gap = s->ahead == 1 ? s->slots[s->turn].gap : s->gap;
    if (s->ahead == 0) mx_speak_gap_merge(&gap, &s->tail);
    if (gap.given || s->ahead == 0) return gap_given_ms(s, &gap, slot->item.speed);
    const char mark = slot->mark ? slot->mark : ' ';
    double usual = strchr(".!?", mark) != NULL ? pause_of(s, MX_PAUSES_SENTENCE)
                   : mark == '-'               ? pause_of(s, MX_PAUSES_DASH)
                                               : mx_split_pause_ms(mark);
    if (gap.rank == MX_SPEAK_RANK_LINE) usual = fmax(usual, pause_of(s, MX_PAUSES_LINE));
    if (gap.rank == MX_SPEAK_RANK_SENTENCE) usual = fmax(usual, pause_of(s, MX_PAUSES_SENTENCE));
    if (gap.rank == MX_SPEAK_RANK_PARAGRAPH) usual = pause_of(s, MX_PAUSES_PARAGRAPH);
    return usual * s->options.pause_scale / slot->item.speed;
}

int mx_speak_script_next(struct mx_speak_script *s, struct mx_speak_item *item)
{
    const bool first = !s->started;
    *item = (struct mx_speak_item){0};
    if (first) ahead_fill(s);
    s->started = true;
    if (s->ahead < 0) return mx_error_restore(&s->failure);
    if (s->ahead == 0) {
        s->counts.unknown = s->unknown;
        return 0;
    }
    struct mx_speak_script_slot *const slot = &s->slots[s->turn];
    s->turn = !s->turn;
    ahead_fill(s); /* if that fails, this item is spoken first */
    if (first) slot->item.before_ms = gap_given_ms(s, &slot->gap, slot->item.speed);
    slot->item.pause_ms = pause_ms(s, slot);
    s->counts.items++;
    s->counts.paragraphs += first || slot->gap.rank == MX_SPEAK_RANK_PARAGRAPH;
    s->counts.tokens += (size_t)slot->item.count;
    s->counts.unknown = s->ahead == 0 ? s->unknown : slot->unknown;
    *item = slot->item;
    return 1;
}

/* ---- facts ---- */

size_t mx_speak_script_pieces(const struct mx_speak_script *s)
{
    size_t pieces = s->made;
    for (size_t i = 0; i < s->depth; i++) pieces += s->levels[i].count - s->levels[i].at;
    const size_t bytes_each = s->made_bytes > 0 && pieces > 0 ? s->made_bytes / pieces : 0;
    const size_t rest = s->bytes_left / (bytes_each > 0 ? bytes_each : MX_SPLIT_CHARACTERS / 2);
    const size_t spans = s->span_count - s->span_next;
    return pieces + (rest > spans ? rest : spans);
}

struct mx_speak_script_counts mx_speak_script_counts(const struct mx_speak_script *s)
{
    return s->counts;
}

char *mx_speak_unknown_text(const struct mx_unknown_count *unknown, char out[MX_SPEAK_UNKNOWN_BYTES])
{
    char name[MX_SYMBOL_NAME_BYTES];
    snprintf(out, MX_SPEAK_UNKNOWN_BYTES, "the voice never learned %zu symbol%s left out; the first is %s",
             unknown->count, unknown->count == 1 ? " of the text, which is" : "s of the text, which are",
             mx_symbol_name(unknown->first, name));
    return out;
}

int mx_speak_script_warn(struct mx_speak_script *s, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    mx_utf8_trim(text);
    for (size_t i = 0; i < s->warning_count; i++)
        if (!strcmp(s->warnings[i], text)) return 0;
    if (s->warning_count >= MX_SPEAK_WARNINGS - 1) {
        s->warnings_more++;
        (void)snprintf(text, sizeof text, "%zu more warnings of this kind", s->warnings_more);
    }
    const size_t place = s->warnings_more > 0 ? MX_SPEAK_WARNINGS - 1 : s->warning_count;
    const char *const copy = mx_arena_strdup(&s->arena, text);
    if (copy == NULL) return MX_ERR_NO_MEMORY;
    s->warnings[place] = copy;
    s->warning_count = place + 1;
    return 0;
}

const char *mx_speak_script_warning(const struct mx_speak_script *s, size_t number)
{
    return number < s->warning_count ? s->warnings[number] : NULL;
}
