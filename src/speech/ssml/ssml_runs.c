/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs of SSML text, and the spans that are made of them; see ssml_internal.h.
 *
 * Sounds (<phoneme>) stand in the middle of sentences, so their place must survive cleaning and splitting: a word that
 * the paragraph does not have, such as "qxzjaaaab", stands for them until the piece becomes tokens (script_sounds.c).
 */
#include <string.h>

#include "speech/ssml/ssml_internal.h"
#include "text/say_as.h"
#include "text/text.h"

static bool gap_empty(const struct mx_speak_gap *gap)
{
    return gap->rank == MX_SPEAK_RANK_WORDS && !gap->given;
}

static bool style_same(const struct mx_ssml_style *a, const struct mx_ssml_style *b)
{
    return a->language == b->language && a->speed == b->speed && a->pitch_semitones == b->pitch_semitones &&
           a->volume == b->volume &&
           (a->speaker == b->speaker || (a->speaker && b->speaker && !strcmp(a->speaker, b->speaker)));
}

static int part_push(struct mx_ssml_runs *r, struct mx_ssml_part part)
{
    if (MX_GROW(r->parts, r->part_capacity, r->part_count + 1) < 0) return MX_ERR_NO_MEMORY;
    r->parts[r->part_count++] = part;
    r->runs[r->run_count - 1].part_count++;
    return 0;
}

static int run_push(struct mx_ssml_runs *r, struct mx_ssml_run run)
{
    if (MX_GROW(r->runs, r->run_capacity, r->run_count + 1) < 0) return MX_ERR_NO_MEMORY;
    r->runs[r->run_count++] = run;
    return 0;
}

/* Appends text as a run. Text with the properties of the last run continues it. */
static int text_push(struct mx_ssml_runs *r, struct mx_ssml_part part, const char *text, size_t length)
{
    int rc = 0;
    struct mx_ssml_run *const run = &r->runs[r->run_count - 1];
    struct mx_ssml_part *const last = run->part_count > 0 ? &r->parts[r->part_count - 1] : NULL;
    if (last != NULL && last->say_as == part.say_as && last->format == part.format && last->ipa == part.ipa) {
        last->length += length;
    } else {
        part.begin = r->text.length;
        part.length = length;
        MX_TRY(part_push(r, part));
    }
    if (length > 0) MX_TRY(mx_string_append(&r->text, "%.*s", (int)length, text));
out:
    return rc;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Bytes of punctuation at the beginning that belongs to the word before it. */
static size_t marks_length(const char *text, size_t length)
{
    static const char *const marks[] = {".", ",", "!", "?", ";", ":", ")", "،", "؛", "؟", "…", "”", "»"};
    size_t at = 0;
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < sizeof marks / sizeof *marks && !found; i++) {
            const size_t bytes = strlen(marks[i]);
            found = bytes <= length - at && !memcmp(text + at, marks[i], bytes);
            if (found) at += bytes;
        }
    }
    return at;
}

int mx_ssml_runs_add(struct mx_ssml_runs *r, const struct mx_ssml_style *style, struct mx_ssml_part part,
                     const char *text, size_t length, size_t source_begin, size_t source_end)
{
    const struct mx_ssml_part plain = {0};
    const bool reading = part.say_as != NULL || part.ipa != NULL;
    int rc = 0;
    if (!r->open) {
        /* A full stop after </prosody> ends the sentence in it. */
        if (r->run_count > 0 && gap_empty(&r->gap) && !r->blank && !reading) {
            const size_t marks = marks_length(text, length);
            if (marks > 0) MX_TRY(text_push(r, plain, text, marks));
            text += marks;
            length -= marks;
            source_begin += marks;
        }
        while (length > 0 && !reading && is_blank(*text)) {
            r->blank = true;
            source_begin++;
            text++;
            length--;
        }
        if (length == 0 && !reading) goto out;
        if (r->run_count > 0 && gap_empty(&r->gap) && style_same(&r->runs[r->run_count - 1].style, style)) {
            if (r->blank) MX_TRY(text_push(r, plain, " ", 1));
        } else {
            MX_TRY(run_push(
                r, (struct mx_ssml_run){
                       .style = *style, .gap = r->gap, .part_first = r->part_count, .source_begin = source_begin}));
            r->gap = (struct mx_speak_gap){0};
        }
        r->open = true;
        r->blank = false;
    }
    MX_TRY(text_push(r, part, text, length));
    r->runs[r->run_count - 1].source_end = source_end;
out:
    return rc;
}

void mx_ssml_runs_break(struct mx_ssml_runs *r, const struct mx_speak_gap *gap)
{
    if (r->open && r->text.length > 0 && is_blank(r->text.data[r->text.length - 1])) r->blank = true;
    r->open = false;
    if (gap != NULL) mx_speak_gap_merge(&r->gap, gap);
}

/* ---- spans ---- */

/* Words for sounds begin with these letters and one that makes them differ from all words of the paragraph. */
static int prefix_choose(const struct mx_ssml_runs *r, char prefix[MX_SPEAK_SOUND_PREFIX + 1])
{
    bool sounds = false;
    for (size_t i = 0; i < r->part_count; i++) sounds |= r->parts[i].ipa != NULL;
    strcpy(prefix, "qxzj?");
    if (!sounds) return 0;
    for (int last = 'a'; last <= 'z'; last++) {
        prefix[MX_SPEAK_SOUND_PREFIX - 1] = (char)last;
        if (r->text.length == 0 || strcasestr(r->text.data, prefix) == NULL) return 0;
    }
    return MX_FAIL(MX_ERR_DATA, "leave them out", "the text has all words that begin like qxzja, qxzjb … qxzjz");
}

/* IPA as people write it → symbols of the voice: no syllable marks, : and ' as length and stress, g as ɡ. */
static char *ipa_clean(const struct mx_speak_script *s, const char *ipa, struct mx_arena *arena)
{
    struct mx_string out = {0};
    const struct mx_vocabulary *const v = s->options.vocabulary;
    while (*ipa) {
        uint32_t point;
        const size_t bytes = mx_utf8_decode(ipa, &point);
        const uint32_t symbol = point == 'g' && mx_vocabulary_find(v, 'g') >= 0 ? point : mx_lexicon_ipa(point);
        char utf8[MX_SYMBOL_UTF8_BYTES];
        if (point == ' ' || point == '\t' || point == '\n')
            (void)mx_string_append(&out, out.length > 0 && out.data[out.length - 1] != ' ' ? " " : "");
        else if (symbol >= 0x80 || (symbol >= 'a' && symbol <= 'z') || (symbol >= 'A' && symbol <= 'Z')) {
            mx_symbol_utf8(symbol, utf8);
            (void)mx_string_append(&out, "%s", utf8);
        }
        ipa += bytes;
    }
    while (out.length > 0 && out.data[out.length - 1] == ' ') out.data[--out.length] = 0;
    char *const copy = out.failure ? NULL : mx_arena_strdup(arena, out.length > 0 ? out.data : "");
    mx_string_release(&out);
    return copy;
}

static int sound_add(struct mx_ssml_runs *r, const struct mx_ssml_part *part, const char *prefix,
                     struct mx_speak_span *span, struct mx_speak_sounds *sounds, struct mx_string *text)
{
    struct mx_arena *const arena = &r->script->arena;
    int rc = 0;
    char number[MX_SPEAK_SOUND_DIGITS + 1] = {0};
    size_t rest = span->sound_count;
    for (size_t i = MX_SPEAK_SOUND_DIGITS; i-- > 0; rest /= 26) number[i] = (char)('a' + rest % 26);
    if (rest > 0) return MX_FAIL(MX_ERR_DATA, "divide the text into paragraphs", "too many <phoneme> in one paragraph");
    sounds[span->sound_count] = (struct mx_speak_sounds){
        .ipa = ipa_clean(r->script, part->ipa, arena),
        .text = mx_arena_strndup(arena, r->text.data ? r->text.data + part->begin : "", part->length)};
    if (sounds[span->sound_count].ipa == NULL || sounds[span->sound_count].text == NULL) return MX_ERR_NO_MEMORY;
    span->sound_count++;
    MX_TRY(mx_string_append(text, "%s%s", prefix, number));
out:
    return rc;
}

/* The text of a run as the cleaner is to read it. */
static int run_compose(struct mx_ssml_runs *r, const struct mx_ssml_run *run, const char *prefix,
                       struct mx_speak_span *span, struct mx_string *text)
{
    struct mx_arena *const arena = &r->script->arena;
    struct mx_speak_sounds *sounds = NULL;
    size_t count = 0;
    int rc = 0;
    for (size_t i = 0; i < run->part_count; i++) count += r->parts[run->part_first + i].ipa != NULL;
    if (count > 0) {
        sounds = mx_arena_alloc(arena, count, sizeof *sounds);
        if (sounds == NULL) return MX_ERR_NO_MEMORY;
        span->sounds = sounds;
        memcpy(span->sound_prefix, prefix, MX_SPEAK_SOUND_PREFIX);
    }
    for (size_t i = 0; i < run->part_count; i++) {
        const struct mx_ssml_part *const part = &r->parts[run->part_first + i];
        const char *const own = r->text.data != NULL ? r->text.data + part->begin : "";
        char *said = NULL;
        if (part->ipa != NULL) {
            MX_TRY(sound_add(r, part, prefix, span, sounds, text));
            continue;
        }
        if (part->say_as != NULL) {
            MX_TRY(mx_text_say_as(span->language, part->say_as, part->format, own, part->length, arena, &said));
            char quoted[48];
            struct mx_string cut = {0};
            MX_TRY(mx_string_append(&cut, "%.*s", (int)part->length, own));
            if (said == NULL)
                rc = mx_speak_script_warn(r->script, "%s cannot be read as \"%s%s%s\" in %s and is read as usual",
                                          mx_string_quote(quoted, sizeof quoted, cut.length ? cut.data : ""),
                                          part->say_as, part->format ? ", format " : "",
                                          part->format ? part->format : "", mx_language_get(span->language)->name);
            mx_string_release(&cut);
            MX_TRY(rc);
        }
        if (said != NULL)
            MX_TRY(mx_string_append(text, " %s ", said));
        else if (part->length > 0)
            MX_TRY(mx_string_append(text, "%.*s", (int)part->length, own));
    }
out:
    return rc < 0 ? rc : 0;
}

/* The language of the runs that do not say theirs. */
static int language_find(const struct mx_ssml_runs *r, enum mx_language_id *language, int32_t *number)
{
    struct mx_string text = {0};
    size_t unsaid = 0;
    int rc = 0;
    *number = -1;
    for (size_t i = 0; i < r->run_count; i++) {
        const struct mx_ssml_run *const run = &r->runs[i];
        if (run->style.language != MX_SPEAK_DETECT) continue;
        unsaid++;
        for (size_t k = 0; k < run->part_count; k++) {
            const struct mx_ssml_part *const part = &r->parts[run->part_first + k];
            if (part->length > 0)
                MX_TRY(mx_string_append(&text, "%.*s ", (int)part->length, r->text.data + part->begin));
        }
    }
    if (unsaid > 0)
        MX_TRY(
            mx_speak_language_find(&r->script->options, text.length ? text.data : "", text.length, language, number));
out:
    mx_string_release(&text);
    return rc;
}

int mx_ssml_runs_flush(struct mx_ssml_runs *r)
{
    struct mx_speak_script *const s = r->script;
    char prefix[MX_SPEAK_SOUND_PREFIX + 1];
    struct mx_string text = {0};
    enum mx_language_id language = (enum mx_language_id)0;
    int32_t number;
    int rc = 0;
    MX_TRY(prefix_choose(r, prefix));
    rc = language_find(r, &language, &number);
    if (rc < 0) MX_TRY(mx_error_wrap("text from byte %zu on", r->runs[0].source_begin));
    for (size_t i = 0; i < r->run_count; i++) {
        const struct mx_ssml_run *const run = &r->runs[i];
        const bool own = run->style.language != MX_SPEAK_DETECT;
        struct mx_speak_span span = {.language = own ? (enum mx_language_id)run->style.language : language,
                                     .speed = run->style.speed,
                                     .pitch_semitones = run->style.pitch_semitones,
                                     .volume = run->style.volume,
                                     .speaker = run->style.speaker,
                                     .gap = run->gap,
                                     .source_begin = run->source_begin,
                                     .source_length = run->source_end - run->source_begin};
        span.language_number = mx_vocabulary_language(s->options.vocabulary, span.language);
        text.length = 0;
        MX_TRY(run_compose(r, run, prefix, &span, &text));
        if (text.length == 0) {
            mx_speak_gap_merge(i + 1 < r->run_count ? &r->runs[i + 1].gap : &r->gap, &span.gap);
            continue;
        }
        span.length = text.length;
        span.text = mx_arena_strndup(&s->arena, text.data, text.length);
        if (span.text == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        MX_TRY(mx_speak_span_add(s, span));
    }
    r->run_count = r->part_count = r->text.length = 0;
    r->open = r->blank = false;
out:
    mx_string_release(&text);
    return rc;
}

void mx_ssml_runs_release(struct mx_ssml_runs *r)
{
    mx_string_release(&r->text);
    mx_free(r->parts);
    mx_free(r->runs);
}
