/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Phonemes from libespeak-ng: the one instance of the process, clauses and punctuation, and what is removed from its
 * output.
 *
 * espeak-ng drops punctuation, so the text is split at it and each clause is sent separately; the mark goes between the
 * answers. Its own limits (300 words, 160 bytes a word) are never reached, because long clauses and words are cut
 * before.
 *
 * Memory: everything taken inside is released inside; the result is a piece of the caller's arena.
 */
#include "text/tokens.h"

#include <string.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "text/reading.h"

#ifdef MX_HAVE_ESPEAK

#include <espeak-ng/speak_lib.h>
#include <pthread.h>

#include "base/utf8.h"
#include "text/internal.h"
#include "text/tokens_sounds.h"

#define MARKS ",.!?;:" /* punctuation of normalised text */

/* Lock invariant: `lock` is held during every call into libespeak-ng and whenever a member of `instance` is read or
 * written. No other lock is taken while it is held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct mx_phonemizer {
    bool started;
    bool phonemes; /* it takes phonemes between [[ and ]] */
    int voice;     /* the language whose voice is set, -1: none */
};

static struct mx_phonemizer instance = {.voice = -1};

bool mx_phonemizer_available(void)
{
    return true;
}

/* Lets texts have phonemes in them: a flag of what is spoken, which espeak-ng keeps for the texts after it. With the lock
 * held. */
static void phonemes_allow(void)
{
    static const char probe[] = "[[r'Ed]]";
    const void *rest = probe;
    if (espeak_SetVoiceByName("en-us") != EE_OK) return;
    espeak_Synth(" ", 2, 0, POS_CHARACTER, 0, espeakCHARS_UTF8 | espeakPHONEMES, NULL, NULL);
    const char *const heard = espeak_TextToPhonemes(&rest, espeakCHARS_UTF8, 2);
    instance.phonemes = heard != NULL && strstr(heard, "ɹˈɛd") != NULL;
}

int mx_phonemizer_get(struct mx_phonemizer **out)
{
    int rc = 0;
    *out = NULL;
    pthread_mutex_lock(&lock);
    if (!instance.started) {
        if (espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, NULL, espeakINITIALIZE_DONT_EXIT) < 0) {
            MX_RAISE(MX_ERR_NOT_FOUND, "install the package espeak-ng-data, or use --tokens chars",
                     "espeak-ng cannot start: its data is missing or unreadable");
        }
        instance.started = true;
        phonemes_allow();
    }
    *out = &instance;
out:
    pthread_mutex_unlock(&lock);
    return rc;
}

int mx_phonemizer_folder(const char **out)
{
    struct mx_phonemizer *phonemizer;
    const int rc = mx_phonemizer_get(&phonemizer);
    if (rc < 0) return rc;
    pthread_mutex_lock(&lock);
    (void)espeak_Info(out);
    pthread_mutex_unlock(&lock);
    return 0;
}

/* Copies IPA to the sink without what is not IPA: marks of a change of language such as "(en)", and whatever else of
 * ASCII is no letter (the Persian q is called "q1", a pause "_"), except digits that are tones. */
static void clean(const char *phonemes, bool tones, struct mx_text_sink *out)
{
    while (*phonemes) {
        uint32_t point;
        if (*phonemes == '(') {
            const size_t inside = strcspn(phonemes, ")");
            phonemes += inside + (phonemes[inside] == ')');
            continue;
        }
        phonemes += mx_utf8_decode(phonemes, &point);
        if (point == ' ' || point == '\n') {
            mx_text_sink_blank(out);
        } else if (point >= 0x80 || mx_text_is_letter(point) || (tones && mx_text_is_digit(point))) {
            mx_text_sink_point(out, point);
        }
    }
}

/* With the lock held and the voice set. */
static void ask(const char *text, struct mx_text_sink *out)
{
    const bool tones = mx_language_get((enum mx_language_id)instance.voice)->rules->tones;
    const void *rest = text;
    while (rest) {
        const char *phonemes = espeak_TextToPhonemes(&rest, espeakCHARS_UTF8, 2);
        if (phonemes && mx_utf8_check(phonemes, strlen(phonemes)) == strlen(phonemes)) clean(phonemes, tones, out);
        mx_text_sink_blank(out);
    }
}

/* With the lock held. */
static int set_voice(enum mx_language_id language)
{
    if (instance.voice == (int)language) return 0;
    const char *voice = mx_language_get(language)->voice;
    instance.voice = -1;
    if (espeak_SetVoiceByName(voice) != EE_OK) {
        return MX_FAIL(MX_ERR_NOT_FOUND, "install the package espeak-ng-data, or use --tokens chars",
                       "espeak-ng has no voice \"%s\" for %s", voice, mx_language_get(language)->name);
    }
    instance.voice = (int)language;
    return 0;
}

/* Whether a clause ends at `text`: at a mark, unless it stands inside a number or a word (3,14 or example.com). */
static bool clause_ends(const char *text)
{
    return !*text || (strchr(MARKS, *text) && (!text[1] || text[1] == ' ' || strchr(MARKS, text[1])));
}

/* Bytes of the clause at `text`: up to punctuation, a free-standing dash or the end, but no more than fit. A clause
 * that must be cut is cut between words, a word that must be cut between characters. */
static size_t clause_length(const char *text)
{
    size_t end = 0, last_space = 0, word = 0;
    while (!clause_ends(text + end)) {
        if (text[end] == ' ') {
            last_space = end;
            word = 0;
            if (text[end + 1] == '-' && (text[end + 2] == ' ' || !text[end + 2])) return end;
        }
        const size_t bytes = mx_utf8_sequence(text + end, 4);
        if (word + bytes > MX_WORD_BYTES) return end;
        if (end + bytes >= MX_CLAUSE_BYTES) return last_space ? last_space : end;
        if (text[end] != ' ') word += bytes;
        end += bytes;
    }
    return end;
}

int mx_reading_phonemes(const struct mx_reading *reading, struct mx_phonemizer *phonemizer,
                        enum mx_language_id language, const char *text, struct mx_arena *arena, char **out)
{
    int rc = 0;
    const struct mx_tokens_speller speller = {.rules = mx_language_get(language)->rules,
                                              .cleaner = mx_reading_cleaner(reading),
                                              .lexicon = reading != NULL ? reading->lexicon : NULL,
                                              .ask = ask};
    struct mx_text_sink sink = {0};
    const size_t length = strlen(text), valid = mx_utf8_check(text, length);
    *out = NULL;
    if (valid < length) {
        return MX_FAIL(MX_ERR_DATA, "normalise the text first", "invalid UTF-8 at byte %zu (0x%02X)", valid,
                       (unsigned)(unsigned char)text[valid]);
    }
    if (!phonemizer) return MX_FAIL(MX_ERR_ARGUMENT, NULL, "phonemes were requested without a phonemizer");
    pthread_mutex_lock(&lock);
    MX_TRY(set_voice(language));
    if (instance.phonemes && speller.rules->mark != NULL) {
        char *marked;
        MX_TRY(speller.rules->mark(speller.cleaner, text, arena, &marked));
        text = marked;
    }
    while (*text && !sink.failure) {
        char clause[MX_CLAUSE_BYTES];
        const size_t bytes = clause_length(text);
        memcpy(clause, text, bytes);
        clause[bytes] = 0;
        for (char *at = clause; *at; at++)
            if (*at == '[') *at = ' '; /* phonemes are ours alone to write */
        if (bytes > 0) mx_tokens_spell(&speller, clause, &sink);
        mx_text_sink_blank(&sink);
        text += bytes;
        if (!strncmp(text, " - ", 3)) {
            mx_text_sink_mark(&sink, '-');
            text += 3;
        } else if (*text && clause_ends(text)) {
            mx_text_sink_mark(&sink, *text);
            text++;
        } else if (bytes == 0 && *text) {
            text++; /* a space at the beginning */
        }
    }
    mx_text_sink_finish(&sink);
    const char *phonemes = mx_text_sink_text(&sink);
    if (phonemes) *out = mx_arena_strndup(arena, phonemes, sink.length);
    if (!*out) rc = MX_ERR_NO_MEMORY;
out:
    pthread_mutex_unlock(&lock);
    mx_text_sink_release(&sink);
    return rc;
}

#else

bool mx_phonemizer_available(void)
{
    return false;
}

int mx_phonemizer_get(struct mx_phonemizer **out)
{
    *out = NULL;
    return MX_FAIL(MX_ERR_UNSUPPORTED, "install libespeak-ng-dev and build again, or use --tokens chars",
                   "this program was built without espeak-ng and cannot make phonemes");
}

int mx_reading_phonemes(const struct mx_reading *reading, struct mx_phonemizer *phonemizer,
                        enum mx_language_id language, const char *text, struct mx_arena *arena, char **out)
{
    (void)reading;
    (void)phonemizer;
    (void)language;
    (void)text;
    (void)arena;
    *out = NULL;
    return MX_FAIL(MX_ERR_UNSUPPORTED, "install libespeak-ng-dev and build again, or use --tokens chars",
                   "this program was built without espeak-ng and cannot make phonemes");
}

#endif
