/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads SSML with expat: elements change how the text in them is spoken, and text goes to the runs (ssml_runs.c). See
 * ssml.h for the language and script_internal.h for who owns what. expat's own memory is released before return.
 */
#include "speech/ssml/ssml.h"

#include <expat.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "speech/ssml/ssml_internal.h"

#define HINT_XML       "close every tag; in text write &amp; for & and &lt; for <"
#define HINT_SPEAK     "put the text between <speak> and </speak>"
#define HINT_CHARACTER "write the character itself"
#define ROOT           "<speak>"
#define ROOT_END       "</speak>"
#define NAMES_MOST     12 /* of skipped tags in the warning */

/* X(identifier, name) */
#define ELEMENTS(X)                                                                                                    \
    X(SPEAK, "speak")                                                                                                  \
    X(P, "p")                                                                                                          \
    X(PARAGRAPH, "paragraph")                                                                                          \
    X(S, "s")                                                                                                          \
    X(SENTENCE, "sentence")                                                                                            \
    X(BREAK, "break")                                                                                                  \
    X(PROSODY, "prosody")                                                                                              \
    X(SAY_AS, "say-as")                                                                                                \
    X(SUB, "sub")                                                                                                      \
    X(PHONEME, "phoneme")                                                                                              \
    X(VOICE, "voice")                                                                                                  \
    X(LANG, "lang")                                                                                                    \
    X(W, "w")                                                                                                          \
    X(TOKEN, "token")                                                                                                  \
    X(METADATA, "metadata")                                                                                            \
    X(DESC, "desc")

enum element {
#define X(identifier, name) ELEMENT_##identifier,
    ELEMENTS(X)
#undef X
        ELEMENT_UNKNOWN
};

struct frame {
    enum element element;
    struct mx_ssml_style style; /* outside it */
};

struct reader {
    struct mx_speak_script *script;
    XML_Parser parser;
    size_t added; /* bytes of <speak>, if the document has none; they stand before it in its first line */
    int failure;  /* of a handler: the parser was stopped */
    struct frame frames[MX_SSML_DEPTH];
    size_t depth;
    struct mx_ssml_style style;
    struct mx_ssml_runs runs;
    struct mx_ssml_part part; /* how the text of <say-as> and <phoneme> is read */
    size_t inside; /* the depth of <say-as>, <sub>, <phoneme>, <metadata> or <desc> around the text; 0: none */
    bool silent;   /* their text is not read */
    char *skipped[NAMES_MOST];
    size_t skipped_count, skipped_more;
};

static unsigned long line_now(const struct reader *r)
{
    return (unsigned long)XML_GetCurrentLineNumber(r->parser);
}

static void stop(struct reader *r, int rc)
{
    if (rc >= 0 || r->failure < 0) return;
    r->failure = rc;
    (void)XML_StopParser(r->parser, XML_FALSE);
}

/* An error at the current place. */
static int place_fail(const struct reader *r, int code, const char *hint, const char *message)
{
    const unsigned long column = (unsigned long)XML_GetCurrentColumnNumber(r->parser) + 1;
    return MX_FAIL(code, hint, "SSML, line %lu, column %lu: %s", line_now(r),
                   column - (line_now(r) == 1 ? r->added : 0), message);
}

/* ---- what is not understood ---- */

static int skipped_add(struct reader *r, const char *element, const char *attribute)
{
    char name[80], plain[80];
    if (attribute != NULL)
        (void)snprintf(name, sizeof name, "%.32s of <%.32s>", attribute, element);
    else
        (void)snprintf(name, sizeof name, "<%.32s>", element);
    mx_string_plain(plain, sizeof plain, name);
    for (size_t i = 0; i < r->skipped_count; i++)
        if (!strcmp(r->skipped[i], plain)) return 0;
    if (r->skipped_count == NAMES_MOST) {
        r->skipped_more++;
        return 0;
    }
    char *const copy = mx_arena_strdup(&r->script->arena, plain);
    if (copy == NULL) return MX_ERR_NO_MEMORY;
    r->skipped[r->skipped_count++] = copy;
    return 0;
}

static int skipped_warn(struct reader *r)
{
    struct mx_string names = {0};
    int rc = 0;
    if (r->skipped_count == 0) return 0;
    for (size_t i = 0; i < r->skipped_count; i++)
        MX_TRY(mx_string_append(&names, "%s%s", i > 0 ? ", " : "", r->skipped[i]));
    if (r->skipped_more > 0) MX_TRY(mx_string_append(&names, " and %zu more", r->skipped_more));
    MX_TRY(
        mx_speak_script_warn(r->script, "SSML that is not understood was skipped, its text is read: %s", names.data));
out:
    mx_string_release(&names);
    return rc;
}

static int value_warn(struct reader *r, const char *element, const char *attribute, const char *value)
{
    char quoted[64];
    return mx_speak_script_warn(r->script, "line %lu: %s of <%s> cannot be %s and is skipped", line_now(r), attribute,
                                element, mx_string_quote(quoted, sizeof quoted, value));
}

/* ---- elements ---- */

static const char *attribute_find(const char *const *attributes, const char *name)
{
    for (; attributes[0] != NULL; attributes += 2)
        if (!strcmp(attributes[0], name)) return attributes[1];
    return NULL;
}

static int language_set(struct reader *r, const char *element, const char *value)
{
    char code[32];
    enum mx_language_id language;
    const size_t length = strlen(value);
    if (length > 0 && length < sizeof code) {
        strcpy(code, value);
        for (char *end = code + length; end != NULL; end = strrchr(code, '-')) { /* en-US, en */
            *end = 0;
            if (mx_language_parse(code, &language) < 0) {
                mx_error_clear();
                continue;
            }
            const int known = mx_speak_language_known(r->script->options.vocabulary, language);
            if (known >= 0) {
                r->style.language = known;
                if (known == (int)language) return 0;
                return mx_speak_script_warn(r->script, "line %lu: %s is read as %s, which this voice speaks",
                                            line_now(r), mx_language_get(language)->name,
                                            mx_language_get((enum mx_language_id)known)->name);
            }
            char message[96];
            (void)snprintf(message, sizeof message, "this voice never learned to speak %s",
                           mx_language_get(language)->name);
            return place_fail(r, MX_ERR_CONFIG, "leave xml:lang out, or use a voice that speaks this language",
                              message);
        }
    }
    return value_warn(r, element, "xml:lang", value);
}

/* Limits a number of the style to what a voice can do. */
static int limit(struct reader *r, const char *what, double least, double most, double *value)
{
    const double limited = fmin(fmax(*value, least), most);
    if (limited == *value) return 0;
    const double asked = *value;
    *value = limited;
    return mx_speak_script_warn(r->script, "line %lu: %s of %g is limited to %g", line_now(r), what, asked, limited);
}

static int prosody_begin(struct reader *r, const char *const *attributes)
{
    int rc = 0;
    for (; attributes[0] != NULL; attributes += 2) {
        const char *const name = attributes[0], *const value = attributes[1];
        bool known = true;
        if (!strcmp(name, "rate"))
            known = mx_ssml_rate(value, &r->style.speed);
        else if (!strcmp(name, "pitch"))
            known = mx_ssml_pitch(value, r->script->options.voice_hz, &r->style.pitch_semitones);
        else if (!strcmp(name, "volume"))
            known = mx_ssml_volume(value, &r->style.volume);
        else
            MX_TRY(skipped_add(r, "prosody", name));
        if (!known) MX_TRY(value_warn(r, "prosody", name, value));
    }
    MX_TRY(limit(r, "a speed", MX_SPEAK_SCRIPT_SPEED_LEAST, MX_SPEAK_SCRIPT_SPEED_MOST, &r->style.speed));
    MX_TRY(limit(r, "a pitch in semitones", -MX_SPEAK_SCRIPT_SEMITONES, MX_SPEAK_SCRIPT_SEMITONES,
                 &r->style.pitch_semitones));
    MX_TRY(limit(r, "a volume", 0, MX_SPEAK_SCRIPT_VOLUME_MOST, &r->style.volume));
    mx_ssml_runs_break(&r->runs, NULL);
out:
    return rc;
}

static int break_begin(struct reader *r, const char *const *attributes)
{
    struct mx_speak_gap gap = {.given = true};
    const char *const time = attribute_find(attributes, "time"), *strength = attribute_find(attributes, "strength");
    int rc = 0;
    if (time != NULL && mx_ssml_time(time, &gap.exact_ms)) {
        MX_TRY(limit(r, "a break in milliseconds", 0,
                     MX_SSML_BREAK_MOST - fmin(r->runs.gap.exact_ms, MX_SSML_BREAK_MOST), &gap.exact_ms));
    } else {
        if (time != NULL) MX_TRY(value_warn(r, "break", "time", time));
        if (strength != NULL && !mx_ssml_strength(strength, &gap.usual_ms)) {
            MX_TRY(value_warn(r, "break", "strength", strength));
            strength = NULL;
        }
        if (strength == NULL) (void)mx_ssml_strength("medium", &gap.usual_ms);
    }
    mx_ssml_runs_break(&r->runs, &gap);
out:
    return rc;
}

/* A copy of a value that lives as long as the script; NULL stays NULL. */
static int value_keep(struct reader *r, const char *value, const char **out)
{
    *out = value != NULL ? mx_arena_strdup(&r->script->arena, value) : NULL;
    return value != NULL && *out == NULL ? MX_ERR_NO_MEMORY : 0;
}

static size_t place_now(const struct reader *r)
{
    return (size_t)XML_GetCurrentByteIndex(r->parser) - r->added;
}

static size_t place_after(const struct reader *r)
{
    return place_now(r) + (size_t)XML_GetCurrentByteCount(r->parser);
}

static int phoneme_begin(struct reader *r, const char *const *attributes)
{
    const char *const ph = attribute_find(attributes, "ph"), *const alphabet = attribute_find(attributes, "alphabet");
    int rc = 0;
    if (alphabet != NULL && strcmp(alphabet, "ipa") != 0) return value_warn(r, "phoneme", "alphabet", alphabet);
    if (ph == NULL || ph[0] == 0) return value_warn(r, "phoneme", "ph", "");
    if (mx_vocabulary_mode(r->script->options.vocabulary) != MX_TOKENS_PHONEMES)
        return mx_speak_script_warn(r->script,
                                    "this voice was trained with characters, so <phoneme> is skipped and its "
                                    "text is read");
    MX_TRY(value_keep(r, ph, &r->part.ipa));
    MX_TRY(mx_ssml_runs_add(&r->runs, &r->style, r->part, "", 0, place_now(r), place_after(r)));
out:
    return rc;
}

static int say_as_begin(struct reader *r, const char *const *attributes)
{
    const char *const kind = attribute_find(attributes, "interpret-as"), *const format =
                                                                             attribute_find(attributes, "format");
    int rc = 0;
    if (kind == NULL || kind[0] == 0) return value_warn(r, "say-as", "interpret-as", "");
    MX_TRY(value_keep(r, kind, &r->part.say_as));
    MX_TRY(value_keep(r, format, &r->part.format));
out:
    return rc;
}

static int sub_begin(struct reader *r, const char *const *attributes)
{
    const char *const alias = attribute_find(attributes, "alias");
    if (alias == NULL) return value_warn(r, "sub", "alias", "");
    r->silent = true;
    return mx_ssml_runs_add(&r->runs, &r->style, (struct mx_ssml_part){0}, alias, strlen(alias), place_now(r),
                            place_after(r));
}

static int voice_begin(struct reader *r, const char *const *attributes)
{
    int rc = 0;
    for (; attributes[0] != NULL; attributes += 2) {
        if (!strcmp(attributes[0], "name"))
            MX_TRY(value_keep(r, attributes[1], &r->style.speaker));
        else if (strcmp(attributes[0], "xml:lang") != 0)
            MX_TRY(skipped_add(r, "voice", attributes[0]));
    }
    mx_ssml_runs_break(&r->runs, NULL);
out:
    return rc;
}

/* Ends what was before, with the pause of a paragraph or a sentence. */
static int rank_begin(struct reader *r, enum mx_speak_rank rank)
{
    const struct mx_speak_gap gap = {.rank = rank};
    mx_ssml_runs_break(&r->runs, &gap);
    return rank == MX_SPEAK_RANK_PARAGRAPH ? mx_ssml_runs_flush(&r->runs) : 0;
}

static int element_begin(struct reader *r, enum element element, const char *name, const char *const *attributes)
{
    int rc = 0;
    switch (element) {
    case ELEMENT_SPEAK:
        if (r->depth > 1) MX_TRY(skipped_add(r, name, NULL));
        break;
    case ELEMENT_P:
    case ELEMENT_PARAGRAPH:
        MX_TRY(rank_begin(r, MX_SPEAK_RANK_PARAGRAPH));
        break;
    case ELEMENT_S:
    case ELEMENT_SENTENCE:
        MX_TRY(rank_begin(r, MX_SPEAK_RANK_SENTENCE));
        break;
    case ELEMENT_BREAK:
        MX_TRY(break_begin(r, attributes));
        break;
    case ELEMENT_PROSODY:
        MX_TRY(prosody_begin(r, attributes));
        break;
    case ELEMENT_SAY_AS:
        MX_TRY(say_as_begin(r, attributes));
        break;
    case ELEMENT_SUB:
        MX_TRY(sub_begin(r, attributes));
        break;
    case ELEMENT_PHONEME:
        MX_TRY(phoneme_begin(r, attributes));
        break;
    case ELEMENT_VOICE:
        MX_TRY(voice_begin(r, attributes));
        break;
    case ELEMENT_LANG:
        mx_ssml_runs_break(&r->runs, NULL);
        break;
    case ELEMENT_METADATA:
    case ELEMENT_DESC:
        r->silent = true;
        break;
    case ELEMENT_W:
    case ELEMENT_TOKEN:
        break;
    case ELEMENT_UNKNOWN:
        MX_TRY(skipped_add(r, name, NULL));
        break;
    }
    const bool reads = element == ELEMENT_SAY_AS || element == ELEMENT_SUB || element == ELEMENT_PHONEME;
    if (reads || element == ELEMENT_METADATA || element == ELEMENT_DESC) r->inside = r->depth;
    const bool changes = element <= ELEMENT_SENTENCE || element == ELEMENT_VOICE || element == ELEMENT_LANG;
    const char *const language = changes ? attribute_find(attributes, "xml:lang") : NULL;
    if (language != NULL) MX_TRY(language_set(r, name, language));
out:
    return rc;
}

/* ---- what expat calls ---- */

static void on_start(void *context, const char *name, const char **attributes)
{
    static const char *const names[] = {
#define X(identifier, text) text,
        ELEMENTS(X)
#undef X
    };
    struct reader *const r = context;
    if (r->failure < 0) return;
    size_t element = 0;
    while (element < ELEMENT_UNKNOWN && strcmp(names[element], name) != 0) element++;
    if (r->depth == 0 && element != ELEMENT_SPEAK) {
        stop(r, place_fail(r, MX_ERR_DATA, HINT_SPEAK, "the root of an SSML document is <speak>"));
        return;
    }
    if (r->depth == MX_SSML_DEPTH) {
        stop(r, place_fail(r, MX_ERR_DATA, "close the tags that are no longer needed", "tags are nested too deeply"));
        return;
    }
    r->frames[r->depth++] = (struct frame){.element = (enum element)element, .style = r->style};
    if (r->inside == 0)
        stop(r, element_begin(r, (enum element)element, name, (const char *const *)attributes));
    else if (!r->silent)
        stop(r, skipped_add(r, name, NULL)); /* nothing has a meaning in there but text */
}

static void on_end(void *context, const char *name)
{
    struct reader *const r = context;
    (void)name;
    if (r->failure < 0) return;
    const struct frame *const frame = &r->frames[--r->depth];
    if (r->inside > r->depth + 1) return;
    if (r->inside == r->depth + 1) {
        r->inside = 0;
        r->silent = false;
        r->part = (struct mx_ssml_part){0};
    }
    r->style = frame->style;
    switch (frame->element) {
    case ELEMENT_P:
    case ELEMENT_PARAGRAPH:
        stop(r, rank_begin(r, MX_SPEAK_RANK_PARAGRAPH));
        break;
    case ELEMENT_S:
    case ELEMENT_SENTENCE:
        stop(r, rank_begin(r, MX_SPEAK_RANK_SENTENCE));
        break;
    case ELEMENT_PROSODY:
    case ELEMENT_VOICE:
    case ELEMENT_LANG:
        mx_ssml_runs_break(&r->runs, NULL);
        break;
    default:
        break;
    }
}

static void on_text(void *context, const char *text, int length)
{
    struct reader *const r = context;
    if (r->failure < 0 || r->silent) return;
    stop(r, mx_ssml_runs_add(&r->runs, &r->style, r->part, text, (size_t)length, place_now(r), place_after(r)));
}

static void on_entity(void *context, const XML_Char *name, int is_parameter, const XML_Char *value, int length,
                      const XML_Char *base, const XML_Char *system, const XML_Char *public, const XML_Char *notation)
{
    struct reader *const r = context;
    (void)name, (void)is_parameter, (void)value, (void)length, (void)base, (void)system, (void)public, (void)notation;
    if (r->failure < 0) return;
    stop(r, place_fail(r, MX_ERR_DATA, "write the text itself", "a document must not declare entities"));
}

/* An entity of a document type that is not read. */
static void on_skipped(void *context, const XML_Char *name, int is_parameter)
{
    struct reader *const r = context;
    char message[128], plain[64];
    if (r->failure < 0 || is_parameter) return;
    (void)snprintf(message, sizeof message, "the entity &%s; is unknown", mx_string_plain(plain, sizeof plain, name));
    stop(r, place_fail(r, MX_ERR_DATA, HINT_CHARACTER, message));
}

static void *memory_alloc(size_t bytes)
{
    return mx_alloc(1, bytes);
}

static void *memory_grow(void *memory, size_t bytes)
{
    return mx_realloc(memory, bytes, 1);
}

/* Text without a root: neither <speak> nor what may stand before it begins it. */
static bool is_fragment(const char *text, size_t length)
{
    static const char *const starts[] = {"<speak", "<?", "<!"};
    size_t at = length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (at < length && strchr(" \t\r\n", text[at]) != NULL && text[at] != 0) at++;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (length - at >= strlen(starts[i]) && !memcmp(text + at, starts[i], strlen(starts[i]))) return false;
    return true;
}

static int document_parse(struct reader *r, const char *text, size_t length)
{
    int rc = 0;
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_start, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetEntityDeclHandler(r->parser, on_entity);
    XML_SetSkippedEntityHandler(r->parser, on_skipped);
    bool done;
    if (is_fragment(text, length)) {
        r->added = strlen(ROOT);
        done = XML_Parse(r->parser, ROOT, (int)r->added, XML_FALSE) == XML_STATUS_OK &&
               XML_Parse(r->parser, text, (int)length, XML_FALSE) == XML_STATUS_OK &&
               XML_Parse(r->parser, ROOT_END, (int)strlen(ROOT_END), XML_TRUE) == XML_STATUS_OK;
    } else {
        done = XML_Parse(r->parser, text, (int)length, XML_TRUE) == XML_STATUS_OK;
    }
    MX_TRY(r->failure);
    if (!done) {
        const enum XML_Error error = XML_GetErrorCode(r->parser);
        if (error == XML_ERROR_NO_MEMORY) return MX_ERR_NO_MEMORY;
        const char *const hint = error == XML_ERROR_UNDEFINED_ENTITY ? HINT_CHARACTER : HINT_XML;
        return place_fail(r, MX_ERR_DATA, hint, XML_ErrorString(error));
    }
    MX_TRY(mx_ssml_runs_flush(&r->runs));
    r->script->tail = r->runs.gap;
    if (r->script->span_count == 0 && r->runs.gap.given)
        MX_TRY(mx_speak_script_warn(r->script, "there are no words, so no <break> is made"));
    MX_TRY(skipped_warn(r));
out:
    return rc;
}

int mx_ssml_read(struct mx_speak_script *script, const char *text, size_t length)
{
    const XML_Memory_Handling_Suite memory = {memory_alloc, memory_grow, mx_free};
    int rc = 0;
    if (length > MX_TEXT_LIMIT_BYTES)
        return MX_FAIL(MX_ERR_DATA, "divide it", "an SSML document of %zu bytes; the limit is %zu", length,
                       MX_TEXT_LIMIT_BYTES);
    struct reader *const r = mx_alloc(1, sizeof *r);
    if (r == NULL) return MX_ERR_NO_MEMORY;
    r->script = r->runs.script = script;
    r->style = (struct mx_ssml_style){.language = MX_SPEAK_DETECT,
                                      .speed = script->options.speed,
                                      .pitch_semitones = script->options.pitch_semitones,
                                      .volume = script->options.volume};
    r->parser = XML_ParserCreate_MM("UTF-8", &memory, NULL);
    if (r->parser == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(document_parse(r, text, length));
out:
    if (r->parser != NULL) XML_ParserFree(r->parser);
    mx_ssml_runs_release(&r->runs);
    mx_free(r);
    return rc;
}
