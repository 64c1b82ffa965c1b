/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between Persian text and espeak-ng 1.51, which reads plain words from its dictionary well, but with vowel signs
 *
 *   - speaks the word "tashdid" where a vowel sign stands before the shadda, which is the order of Unicode (مُعَلِّم);
 *   - drops a final silent he, or says it as h (مَدرِسه → madres, خانِه → xɑneh);
 *   - reads damma and vav as "ov" (خُوب → xovb);
 *   - does not know the small alef (رحمٰن);
 *   - doubles an ezafe that it has guessed already (برایِ → barɑjee), leaves it without its glide after a silent he
 *     (خانهِ → xɑneːe) and sometimes puts the stress on it (یکِ → jekˈe).
 *
 * So vowel signs are rewritten to forms that it reads correctly, and the ezafe is removed from the word and its sound
 * added after the phonemes of the word. All words of a clause are asked for together, because short words lose their
 * stress in a clause; they are asked for one by one only if the answer has a different number of words.
 *
 * Memory: buffers on the stack; sinks made here are released here.
 */
#include <string.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "text/internal.h"
#include "text/persian/persian.h"

#define POINTS_MOST MX_WORD_BYTES /* rewriting never makes a word longer */

/* espeak-ng takes each kaf at the end of a word for a suffix and reads the rest again: its time grows with the square of
 * the length. No word comes near these; what does is cut, or loses letters that say nothing more. */
#define WORD_BYTES 64
#define KAFS_MOST  2

enum letter {
    ALEF = 0x627,
    ALEF_MADDA = 0x622,
    KHE = 0x62e,
    DAL = 0x62f,
    RE = 0x631,
    SHIN = 0x634,
    KAF = 0x6a9,
    HE = 0x647,
    VAV = 0x648,
    YE = 0x6cc,
    FATHA = 0x64e,
    DAMMA = 0x64f,
    KASRA = MX_KASRA,
    SHADDA = MX_SHADDA,
    SMALL_ALEF = 0x670
};

enum ezafe { NO_EZAFE, EZAFE, EZAFE_AFTER_HE, AND_AS_O /* not an ezafe: «وُ», the "and" that is only a vowel */ };

struct word {
    uint32_t points[POINTS_MOST]; /* as espeak-ng should read it, without the ezafe */
    size_t count;
    enum ezafe ezafe;
    int failure; /* 0 or MX_ERR_NO_MEMORY */
};

/* ---- rewriting a word ---- */

static void push(struct word *word, uint32_t point)
{
    if (word->count < POINTS_MOST) word->points[word->count++] = point;
}

static bool ends_with(const struct word *word, uint32_t before_last, uint32_t last)
{
    return word->count >= 2 && word->points[word->count - 2] == before_last && word->points[word->count - 1] == last;
}

static bool has_signs(const struct word *word)
{
    for (size_t i = 0; i < word->count; i++) {
        if (mx_text_is_vowel_sign(word->points[i])) return true;
    }
    return false;
}

/* Takes the ezafe off the end: a kasra, or «ی» after a half-space after he. A shadda may follow the kasra. */
static void take_ezafe(struct word *word)
{
    if (word->count >= 2 && word->points[word->count - 1] == KASRA) {
        word->count--;
        word->ezafe = EZAFE;
    } else if (word->count >= 3 && ends_with(word, KASRA, SHADDA)) {
        word->points[--word->count - 1] = SHADDA;
        word->ezafe = EZAFE;
    }
    if (word->count >= 4 && ends_with(word, MX_ZWNJ, YE) && word->points[word->count - 3] == HE) {
        word->count -= 2;
        word->ezafe = EZAFE_AFTER_HE;
    }
}

/* A vowel and a shadda become a doubled letter and the vowel; the small alef becomes a letter. */
static void double_letters(struct word *word)
{
    struct word out = {.ezafe = word->ezafe};
    for (size_t i = 0; i < word->count; i++) {
        const uint32_t point = word->points[i];
        const uint32_t next = i + 1 < word->count ? word->points[i + 1] : 0;
        if (mx_text_is_vowel_sign(point) && point != SHADDA && next == SHADDA && out.count > 0) {
            push(&out, out.points[out.count - 1]);
            push(&out, point);
            i++;
        } else {
            push(&out, point == SMALL_ALEF ? ALEF : point);
        }
    }
    *word = out;
}

/* Damma and vav: u (خُوب), o at the end (تُو), and o after khe where the vav is silent (خُود, خُوردن, خُوش). */
static void settle_vav(struct word *word)
{
    struct word out = {.ezafe = word->ezafe};
    for (size_t i = 0; i < word->count; i++) {
        const uint32_t next = i + 1 < word->count ? word->points[i + 1] : 0;
        const uint32_t after = i + 2 < word->count ? word->points[i + 2] : 0;
        if (word->points[i] != DAMMA || next != VAV || mx_text_is_vowel_sign(after) || after == ALEF) {
            push(&out, word->points[i]);
            continue;
        }
        const bool after_khe = out.count > 0 && out.points[out.count - 1] == KHE;
        const bool silent = after_khe && (after == DAL || after == RE || after == SHIN);
        push(&out, silent || after == 0 ? DAMMA : VAV);
        i++;
    }
    *word = out;
}

static void put_word(const struct word *word, struct mx_text_sink *out)
{
    for (size_t i = 0; i < word->count; i++) mx_text_sink_point(out, word->points[i]);
}

/* Whether the word without its vowel signs, which the dictionary may know, ends in h (توجه, راه) or not (خانه). */
static bool ends_in_h(struct word *word, void (*ask)(const char *text, struct mx_text_sink *out))
{
    struct mx_text_sink question = {0}, answer = {0};
    for (size_t i = 0; i < word->count; i++) {
        if (!mx_text_is_vowel_sign(word->points[i])) mx_text_sink_point(&question, word->points[i]);
    }
    const char *text = mx_text_sink_text(&question);
    if (text) ask(text, &answer);
    if (question.failure || answer.failure) word->failure = MX_ERR_NO_MEMORY;
    const bool h = answer.length > 0 && answer.data[answer.length - 1] == 'h';
    mx_text_sink_release(&question);
    mx_text_sink_release(&answer);
    return h;
}

/* The he at the end of a word with vowel signs: where it is silent only the vowel before it stays. */
static void settle_he(struct word *word, void (*ask)(const char *text, struct mx_text_sink *out))
{
    if (word->count < 3 || word->points[word->count - 1] != HE || !has_signs(word)) return;
    const uint32_t before = word->points[word->count - 2];
    const bool has_vowel = before == KASRA || before == FATHA;
    if (!has_vowel && before != SHADDA && !mx_persian_ends_in_silent_he(word->points, word->count)) return;
    if (mx_text_is_vowel_sign(before) && !has_vowel && before != SHADDA) return; /* نُه */
    if (ends_in_h(word, ask)) return;
    if (has_vowel) {
        word->count--; /* خانِه */
    } else {
        word->points[word->count - 1] = KASRA; /* مَدرِسه */
    }
}

static bool ends_in_kafs(const struct word *word)
{
    size_t count = 0;
    while (count < word->count && word->points[word->count - 1 - count] == KAF) count++;
    return count >= KAFS_MOST;
}

static void read_word(const char *text, size_t length, void (*ask)(const char *text, struct mx_text_sink *out),
                      struct word *word)
{
    *word = (struct word){.count = 0};
    for (size_t at = 0; at < length;) {
        uint32_t point;
        at += mx_utf8_decode(text + at, &point);
        if (point != KAF || !ends_in_kafs(word)) push(word, point);
    }
    if (word->count == 0 || !mx_text_is_arabic(word->points[0])) return;
    if (word->count == 2 && word->points[0] == VAV && word->points[1] == DAMMA) {
        word->count = 1;
        word->ezafe = AND_AS_O;
        return;
    }
    take_ezafe(word);
    double_letters(word);
    settle_vav(word);
    settle_he(word, ask);
}

/* ---- the sound of the ezafe ---- */

static bool is_stress(uint32_t point)
{
    return point == 0x2c8 || point == 0x2cc;
}

/* Phonemes as code points, without stress marks; returns how many. */
static size_t bare(const char *phonemes, size_t length, uint32_t *out, size_t capacity)
{
    size_t count = 0;
    for (size_t at = 0; at < length && count < capacity;) {
        uint32_t point;
        at += mx_utf8_decode(phonemes + at, &point);
        if (!is_stress(point)) out[count++] = point;
    }
    return count;
}

/* Whether the phonemes end in "e" with a stress mark right before it. */
static bool stress_on_ezafe(const char *phonemes, size_t length)
{
    return length >= 3 && phonemes[length - 1] == 'e' && (unsigned char)phonemes[length - 3] == 0xcb &&
           ((unsigned char)phonemes[length - 2] == 0x88 || (unsigned char)phonemes[length - 2] == 0x8c);
}

#define PHONEMES_MOST 512

/* The sound of the ezafe after a word with these sounds; NULL after a consonant. */
static const char *ezafe_sound(const struct word *word, const uint32_t *sounds, size_t count)
{
    const uint32_t end = word->points[word->count - 1];
    size_t letters = word->count;
    while (letters > 0 && mx_text_is_vowel_sign(word->points[letters - 1])) letters--;
    const uint32_t last = letters > 0 ? word->points[letters - 1] : 0;
    const uint32_t before = letters > 1 ? word->points[letters - 2] : 0;
    const uint32_t sound = count > 0 ? sounds[count - 1] : 0, sound_before = count > 1 ? sounds[count - 2] : 0;
    const bool is_long = sound == 0x2d0; /* ː */
    const uint32_t vowel = is_long ? sound_before : sound;
    if (word->ezafe == EZAFE_AFTER_HE || end == KASRA || end == FATHA) return "je";
    switch (last) {
    case HE:
        return vowel == 'e' || vowel == 'a' ? "je" : NULL;
    case YE:
        if (before == ALEF || before == ALEF_MADDA || before == VAV) {
            return sound == 'e' && sound_before == 'j' ? "" : "e"; /* it guesses the ezafe of «های» itself */
        }
        return vowel == 0x251 /* ɑ: موسی */ ? "je" : "e";
    case ALEF:
    case ALEF_MADDA:
        return "je";
    case VAV:
        if (vowel == 'u' || (vowel == 'o' && !is_long)) return "je"; /* رادیو */
        return vowel == 'o' ? "e" : NULL;                            /* نو is now; گاو ends in v */
    default:
        return NULL;
    }
}

static void put_bytes(const char *phonemes, size_t length, struct mx_text_sink *out)
{
    for (size_t at = 0; at < length;) {
        uint32_t point;
        at += mx_utf8_decode(phonemes + at, &point);
        mx_text_sink_point(out, point);
    }
}

/* Writes the phonemes of a word that has an ezafe; `phonemes` are those of the word without it. */
static void put_with_ezafe(const struct word *word, const char *phonemes, size_t length,
                           void (*ask)(const char *text, struct mx_text_sink *out), struct mx_text_sink *out)
{
    uint32_t sounds[PHONEMES_MOST], own[PHONEMES_MOST];
    const size_t count = bare(phonemes, length, sounds, PHONEMES_MOST);
    const char *ending = ezafe_sound(word, sounds, count);
    if (ending) {
        put_bytes(phonemes, length, out);
        mx_text_sink_put(out, ending);
        return;
    }
    /* Its own reading has the better stress (ketˈɑbe, not kˈetɑbe), where it says what it should. */
    struct mx_text_sink question = {0}, answer = {0};
    put_word(word, &question);
    mx_text_sink_point(&question, KASRA);
    const char *text = mx_text_sink_text(&question);
    if (text) ask(text, &answer);
    const size_t own_count = bare(answer.data, answer.length, own, PHONEMES_MOST);
    if (own_count == count + 1 && own[count] == 'e' && !memcmp(own, sounds, count * sizeof *own) &&
        !stress_on_ezafe(answer.data, answer.length)) {
        put_bytes(answer.data, answer.length, out);
    } else {
        put_bytes(phonemes, length, out);
        mx_text_sink_put(out, "e");
    }
    if (question.failure || answer.failure) out->failure = MX_ERR_NO_MEMORY;
    mx_text_sink_release(&question);
    mx_text_sink_release(&answer);
}

/* ---- clauses ---- */

/* The next word of a clause, from *at on; false at the end. A hyphen separates words as a space does. */
static bool next_word(const char *clause, size_t *at, void (*ask)(const char *text, struct mx_text_sink *out),
                      struct word *word)
{
    do {
        *at += strspn(clause + *at, " -");
        size_t length = strcspn(clause + *at, " -");
        if (length == 0) return false;
        if (length > WORD_BYTES)
            for (length = WORD_BYTES; ((unsigned char)clause[*at + length] & 0xc0) == 0x80;) length--;
        read_word(clause + *at, length, ask, word);
        *at += length;
    } while (word->count == 0);
    return true;
}

static size_t count_words(const char *phonemes, size_t length)
{
    size_t words = 0;
    for (size_t i = 0; i < length; i++) words += phonemes[i] != ' ' && (i == 0 || phonemes[i - 1] == ' ');
    return words;
}

static void marked_spell(const char *clause, void (*ask)(const char *text, struct mx_text_sink *out),
                         struct mx_text_sink *out)
{
    struct mx_text_sink question = {0}, answer = {0};
    struct word word;
    size_t at = 0, words = 0, start = 0;
    while (next_word(clause, &at, ask, &word)) {
        mx_text_sink_blank(&question);
        put_word(&word, &question);
        if (word.failure) out->failure = word.failure;
        words++;
    }
    const char *text = mx_text_sink_text(&question);
    if (text && words > 0) ask(text, &answer);
    const char *phonemes = mx_text_sink_text(&answer);
    const bool together = phonemes && count_words(phonemes, answer.length) == words;
    at = 0;
    while (phonemes && next_word(clause, &at, ask, &word)) {
        if (!together) {
            question.length = answer.length = start = 0;
            put_word(&word, &question);
            text = mx_text_sink_text(&question);
            if (text) ask(text, &answer);
            phonemes = mx_text_sink_text(&answer);
            if (!phonemes) break;
        }
        const size_t length = together ? strcspn(phonemes + start, " ") : answer.length;
        mx_text_sink_blank(out);
        if (word.failure) out->failure = word.failure;
        if (word.ezafe == NO_EZAFE) {
            put_bytes(phonemes + start, length, out);
        } else if (word.ezafe == AND_AS_O) {
            mx_text_sink_put(out, "o");
        } else {
            put_with_ezafe(&word, phonemes + start, length, ask, out);
        }
        start += length + 1;
    }
    if (question.failure || answer.failure) out->failure = MX_ERR_NO_MEMORY;
    mx_text_sink_release(&question);
    mx_text_sink_release(&answer);
}

void mx_persian_spell(int cleaner, const char *clause, void (*ask)(const char *text, struct mx_text_sink *out),
                      struct mx_text_sink *out)
{
    struct mx_text_sink marked = {0};
    if (cleaner < 2) {
        marked_spell(clause, ask, out);
        return;
    }
    mx_persian_mark_clause(clause, &marked);
    const char *const text = mx_text_sink_text(&marked);
    if (text != NULL) marked_spell(text, ask, out);
    if (marked.failure) out->failure = marked.failure;
    mx_text_sink_release(&marked);
}
