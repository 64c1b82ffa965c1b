/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The doctor's page and its list of suspects, from findings that are made up here: texts that try to be HTML, pictures and
 * sound of a recording, a recording that is gone, words for every kind of finding. Browsers look at the page in
 * `make test-browser`.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "doctor/page.h"
#include "doctor/page_internal.h"
#include "myxtts/error.h"
#include "speech/wav.h"

#define HOSTILE "</script><img src=x onerror=alert(1)> & \"it\" \xE2\x80\xAE"
#define ESCAPED "</script><img src=x onerror=alert(1)> & \"it\" \\xe2\\x80\\xae" /* in a list that terminals show */
#define SECONDS 2
#define RATE    22050

static char folder[] = "/tmp/myxtts-doctor-XXXXXX";

static int setup(void **state)
{
    float *const samples = mx_alloc((size_t)SECONDS * RATE, sizeof *samples);
    (void)state;
    if (mkdtemp(folder) == NULL || samples == NULL) return 1;
    for (int i = 0; i < SECONDS * RATE; i++) samples[i] = 0.5f * (float)sin(0.1 * i);
    char *const one = mx_format("%s/one.wav", folder), *const two = mx_format("%s/two.wav", folder);
    const int rc = mx_wav_write(one, samples, SECONDS * RATE, RATE, MX_WAV_PCM16) < 0 ||
                   mx_wav_write(two, samples, SECONDS * RATE, RATE, MX_WAV_PCM16) < 0;
    mx_free(one);
    mx_free(two);
    mx_free(samples);
    return rc;
}

static int teardown(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* Two rows, each with a finding; the voice found two words in the first. */
static void doctor_make(struct mx_doctor *doctor, struct mx_doctor_word words[2], struct mx_doctor_score scores[2],
                        struct mx_doctor_sound sounds[2], struct mx_doctor_suspect suspects[2])
{
    static const char manifest[] = "one.wav|" HOSTILE "|ann\ntwo.wav|Good morning.|ben\n";
    *doctor = (struct mx_doctor){0};
    assert_int_equal(
        mx_manifest_parse(folder, "list.txt", manifest, sizeof manifest - 1, NULL, &doctor->report.manifest), 0);
    assert_int_equal(doctor->report.manifest->utterance_count, 2);
    doctor->report.list = mx_alloc(2, sizeof *doctor->report.list);
    assert_non_null(doctor->report.list);
    for (int i = 0; i < 2; i++)
        doctor->report.list[i] =
            (struct mx_check_row){.seconds = SECONDS, .seconds_used = 1.5, .trimmed_begin = 0.25, .trimmed_end = 0.25};
    doctor->report.rows = doctor->report.good = 2;
    words[0] = (struct mx_doctor_word){0, 9, true, 0.5f, 1.0f};
    words[1] = (struct mx_doctor_word){9, 13, false, 1.0f, 1.0f};
    scores[0] = (struct mx_doctor_score){.score = 1.5, .words = words, .word_count = 2};
    scores[1] = (struct mx_doctor_score){.unscored = MX_DOCTOR_UNSCORED_LANGUAGE};
    doctor->scores = (struct mx_doctor_scores){.voice = (char *)(uintptr_t) "base", .rows = scores, .count = 2};
    doctor->sounds = sounds;
    suspects[0] = (struct mx_doctor_suspect){.row = 1, .badness = 3, .first = 2, .count = 1};
    suspects[1] = (struct mx_doctor_suspect){.row = 0, .badness = 2, .first = 0, .count = 2};
    doctor->suspects = suspects;
    doctor->suspect_count = 2;
    const struct mx_doctor_finding findings[] = {
        {0, MX_DOCTOR_FINDING_SAME_SOUND, 2, 0, 0, (char *)(uintptr_t) "a\tb" HOSTILE},
        {0, MX_DOCTOR_FINDING_NOISY, 1.5, 12.4, 20, NULL},
        {1, MX_DOCTOR_FINDING_REVERBERANT, 3, 1.234, 0.6, NULL}};
    for (size_t i = 0; i < 3; i++) assert_int_equal(mx_doctor_findings_add(&doctor->findings, &findings[i]), 0);
}

static void doctor_free(struct mx_doctor *doctor)
{
    mx_doctor_findings_release(&doctor->findings);
    mx_check_release(&doctor->report);
}

static size_t times(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) count++;
    return count;
}

/* The data of a page as a tree. */
static cJSON *data_of(const char *page)
{
    static const char head[] = "id=\"doctor\">";
    const char *const begin = strstr(page, head);
    assert_non_null(begin);
    const char *const end = strstr(begin, "</script>");
    assert_non_null(end);
    cJSON *const tree = cJSON_ParseWithLength(begin + sizeof head - 1, (size_t)(end - begin) - sizeof head + 1);
    assert_non_null(tree);
    return tree;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    assert_non_null(text);
    return text;
}

static double number_of(const cJSON *object, const char *name)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(object, name));
}

static void rows_check(const cJSON *rows)
{
    const cJSON *const bad = cJSON_GetArrayItem(rows, 0), *const hostile = cJSON_GetArrayItem(rows, 1);
    assert_int_equal(cJSON_GetArraySize(rows), 2);
    assert_string_equal(text_of(bad, "id"), "two");
    assert_string_equal(text_of(hostile, "text"), HOSTILE);
    const int columns = (int)number_of(hostile, "columns"), bands = (int)number_of(hostile, "bands");
    assert_in_range(columns, 100, MX_DOCTOR_PAGE_BOUNDS);
    assert_int_equal(strlen(text_of(hostile, "wave")), 2 * columns);
    assert_int_equal(strlen(text_of(hostile, "mel")), bands * columns);
    assert_memory_equal(text_of(hostile, "audio"), "data:audio/", 11);
    assert_float_equal(number_of(hostile, "peak"), 0.5, 0.01);
    const cJSON *const words = cJSON_GetObjectItem(hostile, "words"), *const word = cJSON_GetArrayItem(words, 0);
    assert_int_equal(cJSON_GetArraySize(words), 2);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(word, 0)), "</script>");
    assert_float_equal(cJSON_GetNumberValue(cJSON_GetArrayItem(word, 1)), 0.75, 1e-6); /* after what is trimmed */
    assert_true(cJSON_IsFalse(cJSON_GetArrayItem(cJSON_GetArrayItem(words, 1), 3)));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(bad, "score")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(bad, "words")), 0);
    const cJSON *const findings = cJSON_GetObjectItem(hostile, "findings"), *const noisy =
                                                                                cJSON_GetArrayItem(findings, 1);
    assert_string_equal(text_of(noisy, "kind"), "noisy");
    assert_string_equal(text_of(noisy, "value"), "12");
}

/* Whatever a text says, the page has one end of its data and one of its script. */
static void test_page(void **state)
{
    struct mx_doctor doctor;
    struct mx_doctor_word words[2];
    struct mx_doctor_score scores[2];
    struct mx_doctor_sound sounds[2] = {{0}};
    struct mx_doctor_suspect suspects[2];
    const struct mx_doctor_page_options options = {MX_WORDS_PERSIAN, "suspects.tsv", "rejects.tsv", NULL};
    struct mx_string page = {0};
    (void)state;
    doctor_make(&doctor, words, scores, sounds, suspects);
    assert_int_equal(mx_doctor_page_write(&doctor, &options, &page), 0);
    assert_int_equal(times(page.data, "</script>"), 2);
    assert_int_equal(times(page.data, "<img"), 0);
    cJSON *const tree = data_of(page.data);
    assert_string_equal(text_of(tree, "language"), "fa");
    assert_string_equal(text_of(tree, "voice"), "base");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(tree, "voice_note")));
    rows_check(cJSON_GetObjectItem(tree, "rows"));
    cJSON_Delete(tree);
    mx_string_release(&page);
    doctor_free(&doctor);
}

/* A recording that is gone, and no voice. */
static void test_without(void **state)
{
    struct mx_doctor doctor;
    struct mx_doctor_word words[2];
    struct mx_doctor_score scores[2];
    struct mx_doctor_sound sounds[2] = {{0}};
    struct mx_doctor_suspect suspects[2];
    const struct mx_doctor_page_options options = {MX_WORDS_ENGLISH, "suspects.tsv", "rejects.tsv", NULL};
    struct mx_string page = {0};
    (void)state;
    doctor_make(&doctor, words, scores, sounds, suspects);
    doctor.scores = (struct mx_doctor_scores){0};
    doctor.judge = MX_DOCTOR_NOT_INSTALLED;
    doctor.report.manifest->utterances[0].audio = "/nowhere/one.wav";
    assert_int_equal(mx_doctor_page_write(&doctor, &options, &page), 0);
    cJSON *const tree = data_of(page.data);
    const cJSON *const rows = cJSON_GetObjectItem(tree, "rows");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, 1), "audio")));
    assert_true(cJSON_IsString(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, 0), "audio")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(tree, "voice")));
    assert_string_equal(text_of(tree, "voice_note"), mx_doctor_judge_text(MX_DOCTOR_NOT_INSTALLED));
    cJSON_Delete(tree);
    mx_string_release(&page);
    doctor_free(&doctor);
}

static void test_suspects(void **state)
{
    struct mx_doctor doctor;
    struct mx_doctor_word words[2];
    struct mx_doctor_score scores[2];
    struct mx_doctor_sound sounds[2] = {{0}};
    struct mx_doctor_suspect suspects[2];
    char *data = NULL, *const path = mx_format("%s/suspects.tsv", folder), wanted[2048];
    size_t bytes;
    (void)state;
    doctor_make(&doctor, words, scores, sounds, suspects);
    assert_int_equal(mx_doctor_write_suspects(&doctor, path), 0);
    assert_int_equal(mx_file_read(path, 1 << 20, &data, &bytes), 0);
    snprintf(
        wanted, sizeof wanted,
        "manifest\tline\tid\tspeaker\tkind\tbadness\tvalue\tlimit\tfile\tdetail\n"
        "%s/list.txt\t2\ttwo\tben\treverberant\t3\t1.234\t0.6\t%s/two.wav\tsound dies away in 1.23 s; 0.60 s or less "
        "is good\n"
        "%s/list.txt\t1\tone\tann\tsame-sound\t2\t0\t0\t%s/one.wav\tthe same sound as row a b" ESCAPED "\n"
        "%s/list.txt\t1\tone\tann\tnoisy\t1.5\t12.4\t20\t%s/one.wav\t",
        folder, folder, folder, folder, folder, folder);
    assert_memory_equal(data, wanted, strlen(wanted));
    assert_int_equal(times(data, "\n"), 4);
    mx_free(data);
    mx_free(path);
    doctor_free(&doctor);
}

/* Every kind has a short word for the page and a sentence, in both languages. */
static void test_words(void **state)
{
    (void)state;
    for (int i = 0; i < MX_DOCTOR_FINDING_COUNT; i++) {
        const enum mx_doctor_finding_kind kind = (enum mx_doctor_finding_kind)i;
        const struct mx_doctor_page_word *word = mx_doctor_page_words;
        char key[64];
        snprintf(key, sizeof key, "kind %s", mx_doctor_finding_name(kind));
        while (word->key != NULL && strcmp(word->key, key) != 0) word++;
        assert_non_null(word->key);
        const char *const sentence = mx_doctor_finding_template(kind);
        assert_string_not_equal(mx_catalogue_find(MX_WORDS_PERSIAN, sentence), sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_suspects),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests_name("doctor page", tests, setup, teardown);
}
