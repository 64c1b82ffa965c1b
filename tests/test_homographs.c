/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * English words that are written alike: the reading that a sentence means reaches the phonemes. The sentences are our own;
 * how often readings are right in sentences of others is measured by bench_homographs and bench_text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "text/english/homographs.h"
#include "text/reading.h"

static struct mx_phonemizer *phonemizer;

static const char *phonemes_of(const struct mx_reading *reading, enum mx_language_id language, const char *text,
                               struct mx_arena *arena)
{
    char *words, *phonemes;
    assert_int_equal(mx_reading_text(reading, language, text, strlen(text), arena, &words, NULL), 0);
    assert_int_equal(mx_reading_phonemes(reading, phonemizer, language, words, arena, &phonemes), 0);
    return phonemes;
}

/* A sentence, and sounds that its phonemes have. */
static const char *const sentences[][2] = {
    {"I read it yesterday.", "ɹˈɛd"},
    {"I read a book every day.", "ɹˈiːd"},
    {"Have you read this?", "ɹˈɛd"},
    {"I will read it to you.", "ɹˈiːd"},
    {"She can read and write.", "ɹˈiːd"},
    {"He had read the letter before.", "ɹˈɛd"},
    {"It was read by millions of people.", "ɹˈɛd"},
    {"Did you read the news?", "ɹˈiːd"},
    {"I'd already read it.", "ɹˈɛd"},
    {"Read the manual first.", "ɹˈiːd"},
    {"They lead the country.", "lˈiːd"},
    {"The pipes were made of lead.", "lˈɛd"},
    {"He was exposed to lead poisoning.", "lˈɛd"},
    {"This will lead to problems.", "lˈiːd"},
    {"I live here.", "lˈɪv"},
    {"We live in London.", "lˈɪv"},
    {"It's a live broadcast.", "lˈaɪv"},
    {"The band's live album sold well.", "lˈaɪv"},
    {"Where do you live?", "lˈɪv"},
    {"They'd live there if they could.", "lˈɪv"},
    {"Please close the door.", "klˈoʊz"},
    {"Close the window!", "klˈoʊz"},
    {"The school is close to the station.", "klˈoʊs"},
    {"It's close to midnight.", "klˈoʊs"},
    {"They had to close the factory.", "klˈoʊz"},
    {"He's a close friend of mine.", "klˈoʊs"},
    {"I use it every day.", "jˈuːz"},
    {"It is of no use.", "jˈuːs"},
    {"What is the use of it?", "jˈuːs"},
    {"You can use my phone.", "jˈuːz"},
    {"The use of force is forbidden.", "jˈuːs"},
    {"It has many uses.", "jˈuːsᵻz"},
    {"She uses a pencil.", "jˈuːzᵻz"},
    {"We record every call.", "ɹᵻkˈoːɹd"},
    {"She broke the world record.", "ɹˈɛkɚd"},
    {"They want to record a new album.", "ɹᵻkˈoːɹd"},
    {"The record's sleeve was torn.", "ɹˈɛkɚdz"},
    {"The records show that he paid.", "ɹˈɛkɚdz"},
    {"He records his own music.", "ɹᵻkˈoːɹdz"},
    {"It's a close-up of the record.", "klˈoʊs"},
    {"I object to the plan.", "ɑːbdʒˈɛkt|əbdʒˈɛkt"},
    {"A strange object fell from the sky.", "ˈɑːbdʒᵻkt"},
    {"The desert is dry.", "dˈɛzɚt"},
    {"They gave her a present.", "pɹˈɛzənt"},
    {"Let me present my friend.", "pɹɪzˈɛnt"},
    {"The wind is strong today.", "wˈɪnd"},
    {"The wound healed slowly.", "wˈuːnd"},
    {"A tear rolled down her cheek.", "tˈɪɹ"},
    {"Don't tear the paper.", "tˈɛɹ"},
    {"Prices increase every year.", "ɪŋkɹˈiːs"},
    {"There was an increase in prices.", "ˈɪŋkɹiːs"},
    {"We must conduct an experiment.", "kəndˈʌkt"},
    {"You need a permit to fish here.", "pˈɜːmɪt"},
    {"They will not permit it.", "pɚmˈɪt"},
    {"The project was a success.", "pɹˈɑːdʒɛkt"},
    {"He refuses to pay.", "ɹᵻfjˈuːzᵻz"},
    {"It took a minute.", "mˈɪnɪt"},
    {"Please install the update.", "ˈʌpdeɪt"},
    {"We update the page every week.", "ʌpdˈeɪt"},
    {"The two rooms are separate.", "sˈɛpɚɹət"},
    {"We separate the eggs.", "sˈɛpɚɹˌeɪt"},
    {"Could you estimate the cost?", "ˈɛstᵻmˌeɪt"},
    {"That was only an estimate.", "ˈɛstᵻmət"},
    {"She moved to Reading in England.", "ɹˈɛdɪŋ"},
    {"I like reading books.", "ɹˈiːdɪŋ"},
    {"He plays the bass guitar.", "bˈeɪs"},
    {"He speaks Polish well.", "pˈoʊlɪʃ"},
    {"My house is small.", "hˈaʊs"},
    {"I graduate next year.", "ɡɹˈædʒuːˌeɪt"},
    {"I have no excuse.", "ɛkskjˈuːs"},
    {"Excuse me, please.", "ɛkskjˈuːz"},
};

static bool has_sounds(const char *phonemes, const char *ways)
{
    while (*ways) {
        char way[64];
        const size_t length = strcspn(ways, "|");
        memcpy(way, ways, length);
        way[length] = 0;
        if (strstr(phonemes, way) != NULL) return true;
        ways += length + (ways[length] == '|');
    }
    return false;
}

static void test_sentences(void **state)
{
    (void)state;
    struct mx_arena arena;
    int wrong = 0;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        const char *const said = phonemes_of(NULL, MX_LANGUAGE_EN, sentences[i][0], &arena);
        if (has_sounds(said, sentences[i][1])) continue;
        print_message("%s: %s, not %s\n", sentences[i][0], said, sentences[i][1]);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    mx_arena_release(&arena);
}

/* Every reading of every word is one word for espeak-ng, with the sounds of no other reading. */
static void test_sounds(void **state)
{
    (void)state;
    struct mx_arena arena;
    const struct mx_homograph *word, *before = NULL;
    mx_arena_init(&arena, 0);
    for (size_t n = 0; (word = mx_homograph_at(n)) != NULL; n++) {
        char sounds[MX_HOMOGRAPH_SOUNDS];
        assert_true(before == NULL || strcmp(before->word, word->word) < 0);
        assert_ptr_equal(mx_homograph_find(word->word), word);
        assert_non_null(word->readings[1].name);
        for (uint32_t i = 0; i < MX_HOMOGRAPH_READINGS && word->readings[i].name != NULL; i++) {
            const uint32_t point = MX_HOMOGRAPH_FIRST + 8 * (uint32_t)n + i;
            assert_in_range(mx_homograph_sounds(point + 4, true, sounds), 7, sizeof sounds - 1);
            for (uint32_t k = 0; k < i; k++)
                assert_string_not_equal(word->readings[i].sounds, word->readings[k].sounds);
        }
        before = word;
    }
    assert_null(mx_homograph_find("homograph"));
    mx_arena_release(&arena);
}

static void test_versions(void **state)
{
    (void)state;
    static const struct mx_reading third = {.cleaner = 3};
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    const char *const text = "The pipes were made of lead.";
    assert_non_null(strstr(phonemes_of(&third, MX_LANGUAGE_EN, text, &arena), "lˈiːd"));
    assert_non_null(strstr(phonemes_of(NULL, MX_LANGUAGE_EN, text, &arena), "lˈɛd"));
    assert_non_null(strstr(phonemes_of(NULL, MX_LANGUAGE_EN_GB, "the combine harvester", &arena), "kˈɒmbaɪn"));
    /* Brackets in a text are no phonemes. */
    char *phonemes;
    assert_int_equal(mx_reading_phonemes(NULL, phonemizer, MX_LANGUAGE_DE, "[[r'Ed]]", &arena, &phonemes), 0);
    assert_null(strstr(phonemes, "ɹˈɛd"));
    mx_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_sounds),
        cmocka_unit_test(test_versions),
    };
    if (!mx_phonemizer_available()) return 0;
    if (mx_phonemizer_get(&phonemizer) < 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
