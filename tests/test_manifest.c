/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Manifests: every form, what is tolerated, what is reported with its line, the files of a folder, the split.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/log.h"
#include "corpus/manifest/manifest.h"
#include "myxtts/error.h"
#include "support/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAVS 12 /* wavs/a.wav … wavs/l.wav exist in every folder of these tests */

static int setup(void **state)
{
    *state = letters_make(WAVS);
    return 0;
}

static int teardown(void **state)
{
    letters_remove(*state);
    return 0;
}

static struct mx_manifest *parse(const char *root, const char *text)
{
    struct mx_manifest *manifest;
    assert_int_equal(mx_manifest_parse(root, "metadata.csv", text, strlen(text), NULL, &manifest), 0);
    assert_int_equal(manifest->source_count, 1);
    assert_int_equal(manifest->rows, manifest->utterance_count + manifest->rejected);
    return manifest;
}

/* Row `index` must be (id, text, speaker, line). */
static void row_is(const struct mx_manifest *manifest, uint32_t index, const char *id, const char *text,
                   const char *speaker, uint32_t line)
{
    assert_true(index < manifest->utterance_count);
    const struct mx_utterance *const row = &manifest->utterances[index];
    assert_string_equal(row->id, id);
    assert_string_equal(row->text, text);
    assert_string_equal(row->speaker_name, speaker);
    assert_string_equal(manifest->speakers[row->speaker], speaker);
    assert_int_equal(row->line, line);
    assert_int_equal(row->audio_bytes, strlen("not read here"));
    assert_true(row->audio_mtime_ns > 0);
}

static void problem_is(const struct mx_manifest *manifest, uint32_t index, uint32_t line, enum mx_reject reject,
                       const char *words)
{
    assert_true(index < manifest->problem_count);
    const struct mx_manifest_problem *const problem = &manifest->problems[index];
    assert_int_equal(problem->line, line);
    assert_string_equal(mx_reject_name(problem->reject), mx_reject_name(reject));
    if (strstr(problem->message, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", problem->message, words);
}

/* ---- forms ---- */

static void test_forms(void **state)
{
    static const struct {
        const char *text, *columns;
        enum mx_manifest_format format;
        const char *first_id, *first_text, *first_speaker;
    } cases[] = {
        {"a|Hello there\nb|Good day", "id|text", MX_MANIFEST_LJSPEECH, "a", "Hello there", "default"},
        {"a|Dr. Lee came|Doctor Lee came\nb|At 9 he|At nine he", "id|raw|normalised", MX_MANIFEST_LJSPEECH, "a",
         "Doctor Lee came", "default"},
        {"a|yes|yes\nb|no|no\nc|3|three", "id|raw|normalised", MX_MANIFEST_LJSPEECH, "a", "yes", "default"},
        {"a|slt|Hello there\nb|rms|Good day to you", "id|speaker|text", MX_MANIFEST_PIPER, "a", "Hello there", "slt"},
        {"a|A. Smith|yes it is\nb|A. Smith|no it is not\nc|B. Jones|why is that\nd|A. Smith|it was so\n"
         "e|B. Jones|was it so\nf|A. Smith|it will be\ng|B. Jones|it could be\nh|A. Smith|it had been",
         "id|speaker|text", MX_MANIFEST_PIPER, "a", "yes it is", "A. Smith"},
        {"audio_file|text|speaker_name\nwavs/a.wav|Hello there|ann\nwavs/b.wav|Good day|bob",
         "audio_file|text|speaker_name", MX_MANIFEST_COQUI, "wavs/a", "Hello there", "ann"},
        {"audio_file|language|text\nwavs/a.wav|es|Hola\nwavs/b.wav||Good day", "audio_file|language|text",
         MX_MANIFEST_COQUI, "wavs/a", "Hola", "default"},
        {"text|emotion_name|Audio_File\nHello there|happy|wavs/a.wav", "text|emotion_name|Audio_File",
         MX_MANIFEST_COQUI, "wavs/a", "Hello there", "default"},
        {"wavs/a.wav|Hello there\nwavs/b.wav|Good day", "path|text", MX_MANIFEST_FILELIST, "wavs/a", "Hello there",
         "default"},
        {"./wavs/a.wav|Hello there|7\nwavs/b.wav|Good day to you|8", "path|text|speaker", MX_MANIFEST_FILELIST,
         "wavs/a", "Hello there", "7"},
        {"wavs/a.wav|7|Hello there\nwavs/b.wav|8|Good day to you", "path|speaker|text", MX_MANIFEST_FILELIST, "wavs/a",
         "Hello there", "7"},
        {"wavs/a.wav|At 9 he|At nine he\nwavs/b.wav|In 10 days|In ten days", "path|raw|normalised",
         MX_MANIFEST_FILELIST, "wavs/a", "At nine he", "default"},
        {"a.wav|Hello there\nb.wav|Good day", "path|text", MX_MANIFEST_FILELIST, "a", "Hello there", "default"},
        {"client_id\tpath\tsentence\tlocale\nann\twavs/a.wav\tHello, there\ten\nbob\tb.wav\tGood day\ten",
         "client_id|path|sentence|locale", MX_MANIFEST_TSV, "wavs/a", "Hello, there", "ann"},
        {"id,text\na,Hello there\nb,Good day", "id,text", MX_MANIFEST_CSV, "a", "Hello there", "default"},
        {"file_name,transcription,speaker\n\"wavs/a.wav\", \"She said \"\"hi, you\"\"\" ,ann\nb.wav,Good day,bob",
         "file_name,transcription,speaker", MX_MANIFEST_CSV, "wavs/a", "She said \"hi, you\"", "ann"},
        {"path,text,id\nb,one,a\n", "path,text,id", MX_MANIFEST_CSV, "b", "one", "default"},
        {"id,text\na,\"Hello\" he said\n", "id,text", MX_MANIFEST_CSV, "a", "\"Hello\" he said", "default"},
        /* These are not headers with commas or tabs. */
        {"a|path, text, speaker\nb|Good day", "id|text", MX_MANIFEST_LJSPEECH, "a", "path, text, speaker", "default"},
        {"a|Good\tday\nb|path\ttext", "id|text", MX_MANIFEST_LJSPEECH, "a", "Good\tday", "default"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mx_manifest *const manifest = parse(*state, cases[i].text);
        assert_string_equal(manifest->sources[0].columns, cases[i].columns);
        assert_string_equal(mx_manifest_format_name(manifest->sources[0].format),
                            mx_manifest_format_name(cases[i].format));
        assert_int_equal(manifest->rejected, 0);
        row_is(manifest, 0, cases[i].first_id, cases[i].first_text, cases[i].first_speaker,
               cases[i].format == MX_MANIFEST_COQUI || cases[i].format == MX_MANIFEST_TSV ||
                       cases[i].format == MX_MANIFEST_CSV
                   ? 2
                   : 1);
        mx_manifest_close(manifest);
    }
}

static void test_forced_format(void **state)
{
    struct mx_manifest_options options = MX_MANIFEST_OPTIONS_DEFAULT;
    struct mx_manifest *manifest;
    const char *const text = "a|slt|Hello there\nb|rms|Good day";
    options.format = MX_MANIFEST_LJSPEECH;
    assert_int_equal(mx_manifest_parse(*state, "m", text, strlen(text), &options, &manifest), 0);
    assert_string_equal(manifest->sources[0].columns, "id|raw|normalised");
    row_is(manifest, 0, "a", "Hello there", "default", 1);
    mx_manifest_close(manifest);
    options.format = MX_MANIFEST_COQUI;
    assert_int_equal(mx_manifest_parse(*state, "m", text, strlen(text), &options, &manifest), MX_ERR_DATA);
    assert_null(manifest);
    assert_non_null(strstr(mx_error_last()->message, "header"));
    enum mx_manifest_format format;
    assert_int_equal(mx_manifest_format_parse("Piper", &format), 0);
    assert_int_equal(format, MX_MANIFEST_PIPER);
    assert_int_equal(mx_manifest_format_parse("xml", &format), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->hint, "filelist"));
}

static void test_tolerated(void **state)
{
    struct mx_manifest *manifest = parse(*state, "\xef\xbb\xbf"
                                                 "a| Hello there \r\n\r\n   \nb|سلام، دنیا\r\n\nc|last");
    assert_int_equal(manifest->rows, 3);
    assert_int_equal(manifest->problem_count, 0);
    row_is(manifest, 0, "a", "Hello there", "default", 1);
    row_is(manifest, 1, "b", "سلام، دنیا", "default", 4);
    row_is(manifest, 2, "c", "last", "default", 6);
    mx_manifest_close(manifest);
    /* A row of two columns among rows of three has its raw text only; and so has one with an empty third column. */
    manifest = parse(*state, "a|At 9 he|At nine he\nb|Good day\nc|In 10 d|In ten d\nd|A raw one|");
    assert_int_equal(manifest->utterance_count, 4);
    row_is(manifest, 1, "b", "Good day", "default", 2);
    row_is(manifest, 3, "d", "A raw one", "default", 4);
    problem_is(manifest, 0, 2, MX_REJECT_NONE, "raw");
    problem_is(manifest, 1, 4, MX_REJECT_NONE, "raw");
    assert_int_equal(manifest->rejected, 0);
    mx_manifest_close(manifest);
}

/* ---- what is wrong is reported with its line ---- */

static void test_bad_rows(void **state)
{
    static const char text[] = "a|Hello there\n"             /* 1 */
                               "b|Good|day\n"                /* 2: stray bar */
                               "c\n"                         /* 3: one column */
                               "d|\n"                        /* 4: no text */
                               "|no id\n"                    /* 5 */
                               "a|Again\n"                   /* 6: duplicate id */
                               "zz|no such file\n"           /* 7 */
                               "e|caf\xe9 au lait\n"         /* 8: Latin-1 */
                               "f|a stray \" here\n"         /* 9: note */
                               "g|\"all of it\"\n"           /* 10: note */
                               "h|he said \"so\" twice\n"    /* 11: nothing to say */
                               "i|zero \0 byte\n"            /* 12 */
                               "j|over|ten|columns|here|\n"  /* 13 */
                               "wavs/a.wav|the first again"; /* 14: duplicate recording, though by a path */
    struct mx_manifest *manifest;
    assert_int_equal(mx_manifest_parse(*state, "m", text, sizeof text - 1, NULL, &manifest), 0);
    assert_int_equal(manifest->rows, 14);
    assert_int_equal(manifest->utterance_count, 4);
    assert_int_equal(manifest->rejected, 10);
    assert_int_equal(manifest->problem_count, 12);
    problem_is(manifest, 0, 2, MX_REJECT_BAD_LINE, "a stray '|'");
    assert_string_equal(manifest->problems[0].id, "b");
    problem_is(manifest, 1, 3, MX_REJECT_BAD_LINE, "1 column where id|text has 2");
    problem_is(manifest, 2, 4, MX_REJECT_EMPTY_TEXT, "empty");
    problem_is(manifest, 3, 5, MX_REJECT_BAD_LINE, "first column");
    problem_is(manifest, 4, 6, MX_REJECT_DUPLICATE_ID, "line 1 has the same id");
    problem_is(manifest, 5, 7, MX_REJECT_MISSING_FILE, "'zz'");
    problem_is(manifest, 6, 8, MX_REJECT_INVALID_UTF8, "byte 6 of the line, 0xE9");
    problem_is(manifest, 7, 9, MX_REJECT_NONE, "stray '\"'");
    problem_is(manifest, 8, 10, MX_REJECT_NONE, "whole text");
    problem_is(manifest, 9, 12, MX_REJECT_BAD_LINE, "zero byte");
    problem_is(manifest, 10, 13, MX_REJECT_BAD_LINE, "6 columns");
    problem_is(manifest, 11, 14, MX_REJECT_DUPLICATE_ID, "line 1 has the same recording");
    row_is(manifest, 1, "f", "a stray \" here", "default", 9);
    row_is(manifest, 3, "h", "he said \"so\" twice", "default", 11);
    mx_manifest_close(manifest);
    manifest = parse(*state, "wavs/a.wav|one\n./wavs/b.wav|two\nc.wav|three\na.wav|one again");
    assert_int_equal(manifest->rejected, 1);
    problem_is(manifest, 0, 4, MX_REJECT_DUPLICATE_ID, "line 1 has the same recording");
    mx_manifest_close(manifest);
}

static void test_hundred_broken_lines(void **state)
{
    char *const text = malloc(100 * 64);
    size_t used = 0;
    for (int i = 0; i < 100; i++) used += (size_t)sprintf(text + used, i == 50 ? "a|good\n" : "broken %d\n", i);
    struct mx_manifest *const manifest = parse(*state, text);
    assert_int_equal(manifest->utterance_count, 1);
    assert_int_equal(manifest->rejected, 99);
    for (uint32_t i = 0; i < 99; i++) problem_is(manifest, i, i < 50 ? i + 1 : i + 2, MX_REJECT_BAD_LINE, "1 column");
    mx_manifest_close(manifest);
    free(text);
}

static void test_no_manifest(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
        const char *words;
    } cases[] = {
        {"", 0, "is empty"},
        {"\n  \r\n\n", 6, "is empty"},
        {"\xef\xbb\xbf", 3, "is empty"},
        {"no columns\nat all\n", 18, "none of its lines has columns"},
        {"\xff\xfe"
         "a\0|\0b\0",
         8, "UTF-16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mx_manifest *manifest = (void *)1;
        assert_int_equal(mx_manifest_parse(*state, "m", cases[i].text, cases[i].bytes, NULL, &manifest), MX_ERR_DATA);
        assert_null(manifest);
        assert_non_null(strstr(mx_error_last()->message, cases[i].words));
        assert_true(mx_error_last()->hint[0] != '\0');
    }
}

/* ---- audio files and folders ---- */

static void test_extensions(void **state)
{
    const char *const folder = *state;
    file_put_text(folder, "wavs/x1.flac", "not read here");
    file_put_text(folder, "wavs/x2.ogg", "not read here");
    file_put_text(folder, "wavs/x3.opus", "not read here");
    file_put_text(folder, "wavs/x4.mp3", "not read here");
    file_put_text(folder, "wavs/x5.WAV", "not read here");
    folder_add(folder, "wavs/x6.wav"); /* a folder is no recording */
    struct mx_manifest *manifest = parse(folder, "a|t t\nx1|t t\nx2|t t\nx3|t t\nx4|t t\nx5|t t\nx6|t t\nb|t t");
    assert_int_equal(manifest->utterance_count, 7);
    problem_is(manifest, 0, 7, MX_REJECT_MISSING_FILE, "'x6'");
    assert_non_null(strstr(manifest->utterances[4].audio, "/wavs/x4.mp3"));
    assert_non_null(strstr(manifest->utterances[6].audio, "/wavs/b.wav"));
    mx_manifest_close(manifest);
    /* A list may name .wav where the files were compressed since; absolute paths are taken as they are. */
    char text[4096];
    snprintf(text, sizeof text, "wavs/x1.wav|t t\n%s/wavs/b.wav|t t\nwavs/none.wav|t t", folder);
    manifest = parse(folder, text);
    assert_int_equal(manifest->utterance_count, 2);
    assert_string_equal(manifest->utterances[0].id, "wavs/x1");
    assert_string_equal(manifest->utterances[1].id, "wavs/b");
    mx_manifest_close(manifest);
}

/* Opens the folder of the test; the caller closes. */
static struct mx_manifest *open_folder(const char *path, const struct mx_manifest_options *options)
{
    struct mx_manifest *manifest;
    const int rc = mx_manifest_open(path, options, &manifest);
    if (rc < 0) fail_msg("%s", mx_error_last()->message);
    return manifest;
}

static void open_fails(const char *path, int code, const char *words)
{
    struct mx_manifest *manifest = (void *)1;
    assert_int_equal(mx_manifest_open(path, NULL, &manifest), code);
    assert_null(manifest);
    if (strstr(mx_error_last()->message, words) == NULL) fail_msg("%s", mx_error_last()->message);
    assert_true(mx_error_last()->hint[0] != '\0');
}

static void test_folder(void **state)
{
    const char *const folder = *state;
    char path[4096];
    open_fails(folder, MX_ERR_NOT_FOUND, "there is no manifest in the folder");
    snprintf(path, sizeof path, "%s/none", folder);
    open_fails(path, MX_ERR_NOT_FOUND, "there is no folder or file");
    /* The only file that looks like one. */
    file_put_text(folder, "README.txt", "This folder holds recordings.\nThey are read by nobody.\n");
    file_put_text(folder, "list.txt", "wavs/a.wav|Hello there\nwavs/b.wav|Good day\n");
    struct mx_manifest *manifest = open_folder(folder, NULL);
    assert_int_equal(manifest->sources[0].format, MX_MANIFEST_FILELIST);
    assert_non_null(strstr(manifest->sources[0].path, "/list.txt"));
    assert_true(manifest->sources[0].mtime_ns > 0);
    mx_manifest_close(manifest);
    file_put_text(folder, "other.csv", "a|Hello there\nb|Good day\n");
    open_fails(folder, MX_ERR_DATA, "list.txt, other.csv");
    /* Known names go before. */
    file_put_text(folder, "metadata_train.csv", "a|Hello there\nb|Good day\nc|How are you\n");
    manifest = open_folder(folder, NULL);
    assert_int_equal(manifest->source_count, 1);
    assert_int_equal(manifest->utterance_count, 3);
    mx_manifest_close(manifest);
    file_put_text(folder, "metadata.csv", "a|Hello there\nb|Good day\n");
    snprintf(path, sizeof path, "%s/", folder);
    manifest = open_folder(path, NULL);
    assert_int_equal(manifest->utterance_count, 2);
    mx_manifest_close(manifest);
    file_put_text(folder, "metadata_eval.csv", "d|Who are you\na|Hello there\n");
    manifest = open_folder(folder, NULL);
    assert_int_equal(manifest->source_count, 2);
    assert_int_equal(manifest->utterance_count, 4);
    assert_int_equal(manifest->rows, 5);
    problem_is(manifest, 0, 2, MX_REJECT_DUPLICATE_ID, "line 1 of"); /* a row for training must not be in both */
    assert_int_equal(manifest->problems[0].source, 1);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(manifest->utterances[i].validation, i == 3);
    mx_manifest_close(manifest);
    /* A file by its name, and validation rows by theirs. */
    struct mx_manifest_options options = MX_MANIFEST_OPTIONS_DEFAULT;
    char validation[4096];
    snprintf(path, sizeof path, "%s/metadata.csv", folder);
    snprintf(validation, sizeof validation, "%s/metadata_eval.csv", folder);
    options.validation = validation;
    manifest = open_folder(path, &options);
    assert_int_equal(manifest->utterance_count, 3);
    assert_false(manifest->utterances[0].validation || manifest->utterances[1].validation);
    assert_true(manifest->utterances[2].validation);
    mx_manifest_close(manifest);
}

static void test_piper_folder(void **state)
{
    const char *const folder = *state;
    char path[4096];
    folder_add(folder, "piper");
    folder_add(folder, "piper/wav");
    file_put_text(folder, "piper/wav/a.wav", "not read here");
    file_put_text(folder, "piper/metadata.csv", "a|Hello there\n");
    snprintf(path, sizeof path, "%s/piper", folder);
    struct mx_manifest *const manifest = open_folder(path, NULL);
    assert_int_equal(manifest->sources[0].format, MX_MANIFEST_PIPER);
    assert_false(manifest->utterances[0].validation); /* a single row is for training */
    row_is(manifest, 0, "a", "Hello there", "default", 1);
    mx_manifest_close(manifest);
}

static void test_speakers(void **state)
{
    struct mx_manifest *const manifest =
        parse(*state, "a|zoe|it is so\nb|ann|it is not\nc|zoe|it was so\nd|mia|it was not\ne||it will be");
    assert_int_equal(manifest->speaker_count, 4);
    assert_string_equal(manifest->speakers[0], "ann");
    assert_string_equal(manifest->speakers[1], "default"); /* the empty one */
    assert_string_equal(manifest->speakers[2], "mia");
    assert_string_equal(manifest->speakers[3], "zoe");
    assert_int_equal(manifest->utterances[2].speaker, 3);
    mx_manifest_close(manifest);
}

/* ---- the split ---- */

#define IDS 1000

static void test_split(void **state)
{
    (void)state;
    static char names[IDS][16];
    const char *ids[IDS], *backwards[IDS];
    bool first[IDS], second[IDS];
    uint32_t chosen = 0, shared = 0;
    for (uint32_t i = 0; i < IDS; i++) {
        snprintf(names[i], sizeof names[i], "LJ001-%04u", i);
        ids[i] = backwards[IDS - 1 - i] = names[i];
    }
    assert_int_equal(mx_manifest_split(7, 0.05, ids, IDS, first), 0);
    for (uint32_t i = 0; i < IDS; i++) chosen += first[i];
    assert_int_equal(chosen, 50);
    /* The order of the rows does not matter, and the choice is the same in every build on every machine. */
    assert_int_equal(mx_manifest_split(7, 0.05, backwards, IDS, second), 0);
    for (uint32_t i = 0; i < IDS; i++) assert_int_equal(first[i], second[IDS - 1 - i]);
    uint32_t earliest = 0;
    while (!first[earliest]) earliest++;
    assert_int_equal(earliest, 3);
    /* Another seed chooses others. */
    assert_int_equal(mx_manifest_split(8, 0.05, ids, IDS, second), 0);
    for (uint32_t i = 0; i < IDS; i++) shared += first[i] && second[i];
    assert_in_range(shared, 0, 12);
    /* Fewer rows: those that are left keep their places in the draw. */
    assert_int_equal(mx_manifest_split(7, 0.05, ids, IDS / 2, second), 0);
    uint32_t lost = 0, gained = 0;
    for (uint32_t i = 0; i < IDS / 2; i++) {
        lost += first[i] && !second[i];
        gained += second[i] && !first[i];
    }
    assert_true(lost == 0 || gained == 0);
    assert_int_equal(mx_manifest_split(7, 0.05, ids, 2, second), 0);
    assert_int_equal(second[0] + second[1], 1);
    assert_int_equal(mx_manifest_split(7, 0.05, ids, 1, second), 0);
    assert_false(second[0]);
    assert_int_equal(mx_manifest_split(7, 0, ids, IDS, second), 0);
    for (uint32_t i = 0; i < IDS; i++) assert_false(second[i]);
    assert_int_equal(mx_manifest_split(7, 0.6, ids, IDS, second), MX_ERR_ARGUMENT);
    assert_int_equal(mx_manifest_split(7, -0.1, ids, IDS, second), MX_ERR_ARGUMENT);
}

/* ---- out of memory at every place ---- */

static void test_memory(void **state)
{
    static const char text[] = "a|zoe|it is so\nb|ann|it is not\nbroken\nzz|ann|it is missing\nc|zoe|a stray \" here";
    struct mx_manifest *manifest;
    int rc = MX_ERR_NO_MEMORY;
    for (uint64_t nth = 1; rc != 0; nth++) {
        assert_true(nth < 200);
        mx_alloc_fail_at(nth);
        rc = mx_manifest_parse(*state, "m", text, sizeof text - 1, NULL, &manifest);
        mx_alloc_fail_at(0);
        assert_true(rc == 0 || rc == MX_ERR_NO_MEMORY);
    }
    assert_int_equal(manifest->utterance_count, 3);
    mx_manifest_close(manifest);
    mx_manifest_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forced_format, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tolerated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hundred_broken_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_manifest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_extensions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_piper_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_speakers, setup, teardown),
        cmocka_unit_test(test_split),
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}
