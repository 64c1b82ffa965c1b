/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ezafe and homographs of Persian, measured on tests/golden/persian_ezafe.tsv: sentences of our own, part a looked at
 * while the rules were written, part b not. Prints the table of docs/en/words.md; with a second argument a or b, also the
 * words of that part that are wrong.
 *
 * An ezafe counts where the text does not write it. espeak-ng alone has one where its phonemes end in e (after a silent he
 * in je). A homograph is right if its phonemes are those of the marked word, stress and length aside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "text/persian/persian.h"
#include "text/reading.h"

#define LIST       MX_SOURCE_FOLDER "/tests/golden/persian_ezafe.tsv"
#define WORDS_MOST 64
#define HE_YE      "ه\u200cی"
#define KASRA      "\u0650"

enum system { RULES, ESPEAK, SYSTEMS };

struct score {
    size_t right, wrong, missing; /* ezafe */
    size_t homographs, read_right;
};

static struct score scores[2][SYSTEMS]; /* by part */
static size_t sentences[2];
static char shown; /* the part whose errors are printed, or 0 */

static size_t words_split(char *text, char *words[WORDS_MOST])
{
    char *state = NULL;
    size_t count = 0;
    for (char *word = strtok_r(text, " ", &state); word != NULL; word = strtok_r(NULL, " ", &state))
        words[count++] = word;
    return count;
}

static bool ends(const char *word, const char *ending)
{
    const size_t length = strlen(word), bytes = strlen(ending);
    return length > bytes && !strcmp(word + length - bytes, ending);
}

/* Whether a word of a marked text has an ezafe that the plain word has not. */
static bool is_marked(const char *plain, const char *word)
{
    return ends(word, KASRA) || (ends(word, HE_YE) && !ends(plain, HE_YE));
}

static bool has_vowels(const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i + 2 < length; i++) /* not at the end */
        if ((unsigned char)word[i] == 0xd9 && (unsigned char)word[i + 1] >= 0x8e &&
            (unsigned char)word[i + 1] <= 0x91 && i + 2 < length)
            return true;
    return false;
}

/* Without stress, length and an ezafe. */
static void simplify(char *phonemes)
{
    char *to = phonemes;
    for (const char *from = phonemes; *from;) {
        if (!strncmp(from, "ˈ", 2) || !strncmp(from, "ˌ", 2) || !strncmp(from, "ː", 2))
            from += 2;
        else
            *to++ = *from++;
    }
    *to = 0;
}

static char *phonemes_of(const struct mx_reading *reading, const char *text, struct mx_arena *arena)
{
    struct mx_phonemizer *phonemizer;
    char *spoken, *phonemes;
    assert_int_equal(mx_phonemizer_get(&phonemizer), 0);
    assert_int_equal(mx_reading_text(reading, MX_LANGUAGE_FA, text, strlen(text), arena, &spoken, NULL), 0);
    assert_int_equal(mx_reading_phonemes(reading, phonemizer, MX_LANGUAGE_FA, spoken, arena, &phonemes), 0);
    simplify(phonemes);
    return phonemes;
}

static void ezafe_count(struct score *score, bool wanted, bool got)
{
    score->right += wanted && got;
    score->wrong += !wanted && got;
    score->missing += wanted && !got;
}

static const struct mx_reading espeak = {.cleaner = 1}; /* with its vowel signs read right, and nothing added */

/* Words of a clause: plain, as they should be, as the rules mark them, and the phonemes of espeak-ng alone (NULL: there
 * are not as many words). */
static void clause_compare(char **plain, char **wanted, char **marked, char **sounds, size_t count, int part,
                           struct mx_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        const bool want = is_marked(plain[i], wanted[i]), got = is_marked(plain[i], marked[i]);
        ezafe_count(&scores[part][RULES], want, got);
        const bool he = ends(plain[i], "ه");
        ezafe_count(&scores[part][ESPEAK], want,
                    sounds != NULL && (he ? ends(sounds[i], "eje") : ends(sounds[i], "e") && !ends(plain[i], "ی")));
        if (want != got && shown == 'a' + part)
            printf("    %s: %s\n", want ? "missing" : "wrong", got ? marked[i] : wanted[i]);
        if (!has_vowels(wanted[i])) continue;
        char *const right = phonemes_of(&espeak, wanted[i], arena), *const own = phonemes_of(&espeak, marked[i], arena);
        char *const alone = phonemes_of(&espeak, plain[i], arena);
        const size_t length = strlen(right) - (ends(right, "e") && want);
        scores[part][RULES].homographs++;
        scores[part][ESPEAK].homographs++;
        const bool good = !strncmp(right, own, length);
        scores[part][RULES].read_right += good;
        scores[part][ESPEAK].read_right += !strncmp(right, alone, length);
        if (!good && shown == 'a' + part) printf("    homograph: %s, not %s\n", wanted[i], marked[i]);
    }
}

static void sentence_compare(char *plain, char *wanted, int part, struct mx_arena *arena)
{
    char *texts[2], *state[2] = {NULL, NULL}, *clauses[2];
    char *const given[2] = {plain, wanted};
    if (shown == 'a' + part) printf("%s\n", wanted);
    for (int i = 0; i < 2; i++)
        assert_int_equal(mx_text_normalise(MX_LANGUAGE_FA, given[i], strlen(given[i]), arena, &texts[i], NULL), 0);
    for (int i = 0; i < 2; i++) clauses[i] = strtok_r(texts[i], ",.!?;:", &state[i]);
    while (clauses[0] != NULL && clauses[1] != NULL) {
        char *words[2][WORDS_MOST], *marked[WORDS_MOST], *sounds[WORDS_MOST];
        struct mx_text_sink sink = {0};
        mx_persian_mark_clause(clauses[0] + (clauses[0][0] == ' '), &sink);
        char *const own = mx_arena_strdup(arena, mx_text_sink_text(&sink));
        mx_text_sink_release(&sink);
        char *const said = phonemes_of(&espeak, clauses[0], arena);
        size_t counts[2];
        for (int i = 0; i < 2; i++) counts[i] = words_split(clauses[i], words[i]);
        assert_int_equal(counts[0], counts[1]);
        assert_int_equal(words_split(own, marked), counts[0]);
        const bool aligned = words_split(said, sounds) == counts[0];
        clause_compare(words[0], words[1], marked, aligned ? sounds : NULL, counts[0], part, arena);
        for (int i = 0; i < 2; i++) clauses[i] = strtok_r(NULL, ",.!?;:", &state[i]);
    }
    assert_true(clauses[0] == NULL && clauses[1] == NULL);
    sentences[part]++;
}

static double share(size_t part, size_t rest)
{
    return part + rest == 0 ? 0 : 100.0 * (double)part / (double)(part + rest);
}

static void test_list(void **state)
{
    (void)state;
    static const char *const names[SYSTEMS] = {"our rules", "espeak-ng alone"};
    struct mx_arena arena;
    char *list, *next = NULL;
    size_t length;
    if (!mx_phonemizer_available()) skip();
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_file_read(LIST, 1 << 20, &list, &length), 0);
    for (char *line = strtok_r(list, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next)) {
        char *columns = NULL;
        if (line[0] == '#') continue;
        char *const plain = strtok_r(line, "\t", &columns), *const marked = strtok_r(NULL, "\t", &columns);
        const char *const part = strtok_r(NULL, "\t", &columns);
        assert_true(marked != NULL && part != NULL && (part[0] == 'a' || part[0] == 'b'));
        sentence_compare(plain, marked, part[0] - 'a', &arena);
        mx_arena_reset(&arena);
    }
    mx_free(list);
    mx_arena_release(&arena);
    assert_true(sentences[0] + sentences[1] >= 300);
    for (int part = 0; part < 2; part++) {
        for (int i = 0; i < SYSTEMS; i++) {
            const struct score *const s = &scores[part][i];
            printf("part %c, %3zu sentences, %-15s: ezafe precision %5.1f %%, recall %5.1f %% (of %zu); homographs "
                   "%5.1f %% "
                   "(of %zu)\n",
                   'a' + part, sentences[part], names[i], share(s->right, s->wrong), share(s->right, s->missing),
                   s->right + s->missing, share(s->read_right, s->homographs - s->read_right), s->homographs);
        }
        const struct score *const s = &scores[part][RULES];
        assert_true(share(s->right, s->wrong) >= 90);
        assert_true(share(s->right, s->missing) >= 85);
        assert_true(share(s->read_right, s->homographs - s->read_right) >= 80);
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list)};
    shown = count > 1 ? arguments[1][0] : 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
