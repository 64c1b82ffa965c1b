/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decisions about rows: the file, what is refused with its line, and what a manifest of each format makes of them.
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
#include <string.h>

#define HEADER "id\tdecision\ttext\tnote\n"
#define WAVS   6 /* wavs/a.wav … wavs/f.wav */

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

/* ---- the file ---- */

static struct mx_decisions *parse(const char *text)
{
    struct mx_decisions *decisions;
    if (mx_decisions_parse("d.tsv", text, strlen(text), &decisions) < 0) fail_msg("%s", mx_error_last()->message);
    return decisions;
}

static void test_file(void **state)
{
    (void)state;
    struct mx_decisions *decisions = parse("\xef\xbb\xbf"
                                           "id\tdecision\ttext\tnote\r\n\r\n"
                                           "wavs/b\tdrop\t\ttoo loud\r\n"
                                           " a \tFix\t At nine | he says \"so\". \t\n"
                                           "ab\tkeep\n");
    assert_int_equal(mx_decisions_count(decisions), 3);
    assert_string_equal(mx_decisions_path(decisions), "d.tsv");
    const struct mx_decision *const drop = mx_decisions_at(decisions, 0),
                                    *const fix = mx_decisions_find(decisions, "ax", 1),
                                    *const keep = mx_decisions_find(decisions, "ab", 2);
    assert_string_equal(drop->id, "wavs/b");
    assert_int_equal(drop->kind, MX_DECISION_DROP);
    assert_string_equal(drop->text, "");
    assert_string_equal(drop->note, "too loud");
    assert_int_equal(drop->line, 3);
    assert_non_null(fix);
    assert_int_equal(fix->kind, MX_DECISION_FIX);
    assert_string_equal(fix->text, "At nine | he says \"so\".");
    assert_non_null(keep);
    assert_int_equal(keep->kind, MX_DECISION_KEEP);
    assert_string_equal(keep->note, "");
    assert_ptr_equal(mx_decisions_find(decisions, "wavs/b", 6), drop);
    assert_null(mx_decisions_find(decisions, "wavs/b", 5));
    assert_null(mx_decisions_find(decisions, "abc", 3));
    assert_null(mx_decisions_find(decisions, "", 0));
    mx_decisions_close(decisions);
    decisions = parse(HEADER);
    assert_int_equal(mx_decisions_count(decisions), 0);
    assert_null(mx_decisions_find(decisions, "a", 1));
    mx_decisions_close(decisions);
    decisions = parse("");
    assert_int_equal(mx_decisions_count(decisions), 0);
    mx_decisions_close(decisions);
    assert_int_equal(mx_decisions_count(NULL), 0);
    assert_null(mx_decisions_find(NULL, "a", 1));
    mx_decisions_close(NULL);
}

static void test_bad_lines(void **state)
{
    static const struct {
        const char *text;
        size_t bytes; /* 0: up to its end */
        const char *words, *hint;
    } cases[] = {
        {"a\tdrop\n", 0, "d.tsv:1: the header line is missing", "id, decision, text, note"},
        {"id|decision\n", 0, "d.tsv:1: the header line is missing", "tabs"},
        {HEADER "a\tdrop\n\nb\tremove\n", 0, "d.tsv:4: 'remove' is no decision", "keep, drop or fix"},
        {HEADER "a\n", 0, "d.tsv:2: '' is no decision", "keep, drop or fix"},
        {HEADER "\tdrop\n", 0, "d.tsv:2: there is no id", "id of a row"},
        {HEADER "a\tfix\t  \t\n", 0, "d.tsv:2: fix needs a text", "'drop'"},
        {HEADER "a\tkeep\tOther words\n", 0, "d.tsv:2: keep does not take a text", "'fix'"},
        {HEADER "a\tdrop\t\t\tmore\n", 0, "d.tsv:2: the line has more than 4 fields", "one tab each"},
        {HEADER "a\tdrop\nb\tkeep\na\tkeep\n", 0, "d.tsv:4: line 2 decides about 'a', too", "one of the two"},
        {HEADER "a\tfix\tcaf\xe9\n", 0, "d.tsv:2: byte 10 of the line, 0xE9, is not UTF-8", "UTF-8"},
        {HEADER "a\tfix\tno\0pe\n", sizeof HEADER "a\tfix\tno\0pe\n" - 1, "d.tsv:2: the line holds a zero byte",
         "text"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mx_decisions *decisions = (void *)1;
        const size_t bytes = cases[i].bytes > 0 ? cases[i].bytes : strlen(cases[i].text);
        assert_int_equal(mx_decisions_parse("d.tsv", cases[i].text, bytes, &decisions), MX_ERR_DATA);
        assert_null(decisions);
        if (strstr(mx_error_last()->message, cases[i].words) == NULL)
            fail_msg("case %zu: %s", i, mx_error_last()->message);
        if (strstr(mx_error_last()->hint, cases[i].hint) == NULL) fail_msg("case %zu: %s", i, mx_error_last()->hint);
    }
}

/* ---- in a manifest ---- */

static struct mx_manifest *open_path(const char *path, const struct mx_manifest_options *options)
{
    struct mx_manifest *manifest;
    if (mx_manifest_open(path, options, &manifest) < 0) fail_msg("%s", mx_error_last()->message);
    assert_int_equal(manifest->rows, manifest->utterance_count + manifest->rejected);
    return manifest;
}

/* One manifest of each format says the same; the ids of the last two are paths. */
static void test_formats(void **state)
{
    static const struct {
        const char *manifest, *before; /* `before`: that an id begins with */
    } cases[] = {
        {"a|One here\nb|Two here\nc|Three here\nd|\n", ""},
        {"a|At 1|At one\nb|At 2|At two\nc|At 3|At three\nd||\n", ""},
        {"a|ann|One here\nb|zoe|Two here\nc|ann|Three here\nd|ann|\n", ""},
        {"audio_file|text\nwavs/a.wav|One here\nwavs/b.wav|Two here\nwavs/c.wav|Three here\nwavs/d.wav|\n", "wavs/"},
        {"wavs/a.wav|One here\n./wavs/b.wav|Two here\nwavs/c.wav|Three here\nwavs/d.wav|\n", "wavs/"},
    };
    const char *const folder = *state;
    char text[400];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const at = cases[i].before;
        file_put_text(folder, "metadata.csv", cases[i].manifest);
        snprintf(text, sizeof text, HEADER "%sb\tdrop\n%sd\tfix\tFour here\n%sc\tkeep\t\tfine\n%snone\tdrop\n", at, at,
                 at, at);
        file_put_text(folder, "decisions.tsv", text);
        struct mx_manifest *const manifest = open_path(folder, NULL);
        assert_int_equal(manifest->rows, 4);
        assert_int_equal(manifest->utterance_count, 3);
        assert_int_equal(manifest->dropped, 1);
        assert_int_equal(manifest->fixed, 1);
        assert_int_equal(manifest->kept, 1);
        assert_int_equal(mx_decisions_count(manifest->decisions[0]), 4);
        assert_int_equal(manifest->problem_count, 1);
        assert_int_equal(manifest->problems[0].reject, MX_REJECT_DROPPED);
        assert_non_null(strstr(manifest->problems[0].message, "decisions.tsv"));
        const struct mx_utterance *const rows = manifest->utterances;
        assert_int_equal(rows[0].decision, MX_DECISION_NONE);
        assert_int_equal(rows[1].decision, MX_DECISION_KEEP);
        assert_int_equal(rows[2].decision, MX_DECISION_FIX);
        assert_string_equal(rows[2].text, "Four here"); /* even though the line has none */
        assert_non_null(strstr(rows[1].text, "hree"));
        mx_manifest_close(manifest);
    }
}

/* A row that is dropped may have any other fault: then it counts as none. */
static void test_faults(void **state)
{
    const char *const folder = *state;
    file_put_text(folder, "metadata.csv", "a|One here\nb|\nzz|No file\nc|Three here\nc|Three again\n");
    file_put_text(folder, "decisions.tsv", HEADER "b\tdrop\nzz\tdrop\nc\tdrop\n");
    struct mx_manifest *manifest = open_path(folder, NULL);
    assert_int_equal(manifest->utterance_count, 1);
    assert_int_equal(manifest->rejected, 4);
    assert_int_equal(manifest->dropped, 4);
    mx_manifest_close(manifest);
    assert_true(mx_rejected_share(4, 4, 5) == 0);
    assert_true(mx_rejected_share(3, 1, 4) == 0.5);
    assert_true(mx_rejected_share(0, 0, 0) == 0);
    assert_string_equal(mx_reject_name(MX_REJECT_DROPPED), "dropped");
    /* A bad file ends the opening. */
    file_put_text(folder, "decisions.tsv", HEADER "b\tgone\n");
    assert_int_equal(mx_manifest_open(folder, NULL, &manifest), MX_ERR_DATA);
    assert_null(manifest);
    assert_non_null(strstr(mx_error_last()->message, "decisions.tsv:2:"));
}

/* A named file is used instead, for all sources; one beside each manifest only for its own rows. */
static void test_runtimes(void **state)
{
    const char *const folder = *state;
    char named[4096], other[4096];
    struct mx_manifest_options options = MX_MANIFEST_OPTIONS_DEFAULT;
    folder_add(folder, "val");
    folder_add(folder, "val/wavs");
    file_put_text(folder, "val/wavs/a.wav", "not read here");
    file_put_text(folder, "val/wavs/b.wav", "not read here");
    file_put_text(folder, "metadata.csv", "a|One here\nb|Two here\nc|Three here\n");
    file_put_text(folder, "val/metadata.csv", "a|One there\nb|Two there\n");
    file_put_text(folder, "decisions.tsv", HEADER "b\tdrop\n");
    file_put_text(folder, "named.tsv", HEADER "a\tfix\tUno\n");
    snprintf(other, sizeof other, "%s/val", folder);
    snprintf(named, sizeof named, "%s/named.tsv", folder);
    options.validation = other;
    struct mx_manifest *manifest = open_path(folder, &options);
    assert_int_equal(manifest->utterance_count, 4); /* b is still there for validation */
    assert_int_equal(manifest->dropped, 1);
    assert_null(manifest->decisions[1]);
    mx_manifest_close(manifest);
    options.decisions = named;
    manifest = open_path(folder, &options);
    assert_int_equal(manifest->utterance_count, 5);
    assert_int_equal(manifest->fixed, 2);
    assert_string_equal(manifest->utterances[3].text, "Uno");
    assert_ptr_equal(manifest->decisions[0], manifest->decisions[1]);
    mx_manifest_close(manifest);
    snprintf(named, sizeof named, "%s/nowhere.tsv", folder);
    assert_int_equal(mx_manifest_open(folder, &options, &manifest), MX_ERR_NOT_FOUND);
    /* Both sources in one folder have one file. */
    options = MX_MANIFEST_OPTIONS_DEFAULT;
    file_put_text(folder, "metadata_train.csv", "a|One here\nb|Two here\n");
    file_put_text(folder, "metadata_eval.csv", "c|Three here\nd|Four here\n");
    file_put_text(folder, "decisions.tsv", HEADER "b\tdrop\nd\tdrop\n");
    manifest = open_path(folder, &options);
    assert_int_equal(manifest->source_count, 2);
    assert_int_equal(manifest->utterance_count, 2);
    assert_int_equal(manifest->dropped, 2);
    assert_ptr_equal(manifest->decisions[0], manifest->decisions[1]);
    mx_manifest_close(manifest);
}

/* Sounds without texts are meant by their path, or by the id that a manifest gives them. */
static void test_sounds(void **state)
{
    static const char *const ids[] = {"wavs/b.wav", "wavs/b", "b"};
    const struct mx_manifest_options options = {.sounds = true};
    const char *const folder = *state;
    char text[100];
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        snprintf(text, sizeof text, HEADER "%s\tdrop\na\tfix\tOther words\n", ids[i]);
        file_put_text(folder, "decisions.tsv", text);
        struct mx_manifest *const manifest = open_path(folder, &options);
        assert_int_equal(manifest->utterance_count, WAVS - 1);
        assert_int_equal(manifest->dropped, 1);
        assert_string_equal(manifest->utterances[0].text, "");
        assert_string_equal(manifest->utterances[1].id, "wavs/c.wav");
        mx_manifest_close(manifest);
    }
}

/* Each allocation fails once: an error, and nothing is lost. */
static void test_memory(void **state)
{
    const char *const folder = *state;
    file_put_text(folder, "metadata.csv", "a|One here\nb|Two here\nc|Three here\n");
    file_put_text(folder, "decisions.tsv", HEADER "b\tdrop\nc\tfix\tDrei\nd\tkeep\n");
    for (uint64_t nth = 1;; nth++) {
        struct mx_manifest *manifest = NULL;
        mx_alloc_fail_at(nth);
        const int rc = mx_manifest_open(folder, NULL, &manifest);
        mx_alloc_fail_at(0);
        mx_manifest_close(manifest);
        if (rc == 0) return;
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
        assert_null(manifest);
        mx_error_clear();
    }
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test_setup_teardown(test_formats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_runtimes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
    };
    return cmocka_run_group_tests_name("decisions", tests, NULL, NULL);
}
