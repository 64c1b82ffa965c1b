/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A manifest with the pieces of its long rows: order, ids, decisions about pieces, what stays as it is, and lists that are
 * damaged.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "corpus/pieces.h"
#include "myxtts/error.h"

static char folder[] = "/tmp/test_pieces_XXXXXX";

static void file_write(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mx_file_write_atomic(path, text, strlen(text)), 0);
}

static struct mx_manifest *manifest_open(const char *pieces, int wanted)
{
    struct mx_manifest *manifest = NULL;
    struct mx_manifest_options options = MX_MANIFEST_OPTIONS_DEFAULT;
    options.format = MX_MANIFEST_PIPER;
    options.pieces = pieces;
    assert_int_equal(mx_manifest_open(folder, &options, &manifest), wanted);
    return manifest;
}

static int setup(void **state)
{
    char path[200];
    static const char *const folders[] = {"wavs", "cut", "cut/wavs"};
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
        if (mkdir(path, 0777) != 0) return -1;
    }
    file_write("metadata.csv", "a|x|One.\nb|y|Two. Three.\nc|x|Four.\nd|y|Five.\n");
    for (const char *id = "abcd"; *id != '\0'; id++) {
        snprintf(path, sizeof path, "wavs/%c.wav", *id);
        file_write(path, id);
    }
    file_write("cut/wavs/b-1.wav", "first");
    file_write("cut/wavs/b-2.wav", "second one");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return mx_file_remove_folder(folder);
}

/* The folder of pieces, and the keys of the rows. */
static char pieces[200];
static uint64_t keys[4];

static void keys_find(void)
{
    snprintf(pieces, sizeof pieces, "%s/cut", folder);
    struct mx_manifest *const plain = manifest_open(NULL, 0);
    assert_int_equal(plain->utterance_count, 4);
    for (int i = 0; i < 4; i++) keys[i] = mx_pieces_key(&plain->utterances[i]);
    mx_manifest_close(plain);
}

static void test_apply(void **state)
{
    char list[600];
    static const char *const ids[] = {"a", "b#1", "b#2", "c", "d"};
    (void)state;
    keys_find();
    snprintf(list, sizeof list,
             MX_PIECES_HEAD "somehow\n%016" PRIx64 "\twavs/b-1.wav\tTwo.\n%016" PRIx64
                            "\twavs/b-2.wav\tThree.\n%016" PRIx64
                            "\t\tno pause\n0123456789abcdef\twavs/gone.wav\tgone\n",
             keys[1], keys[1], keys[3]);
    file_write("cut/pieces.tsv", list);
    struct mx_manifest *const m = manifest_open(pieces, 0);
    assert_int_equal(m->utterance_count, 5);
    assert_int_equal(m->rows, 5);
    for (int i = 0; i < 5; i++) assert_string_equal(m->utterances[i].id, ids[i]);
    assert_string_equal(m->utterances[1].text, "Two.");
    assert_string_equal(m->utterances[2].text, "Three.");
    assert_string_equal(m->utterances[2].speaker_name, "y");
    assert_int_equal(m->utterances[2].speaker, m->utterances[4].speaker);
    assert_int_equal(m->utterances[2].line, 2);
    assert_int_equal(m->utterances[2].audio_bytes, 10);
    mx_manifest_close(m);
}

/* Decisions about pieces, by their ids; one about their row is made before it is cut. */
static void test_decided(void **state)
{
    (void)state;
    file_write("decisions.tsv", "id\tdecision\ttext\nb#1\tfix\tZwei.\nb#2\tdrop\nd\tkeep\nb#3\tdrop\n");
    struct mx_manifest *m = manifest_open(pieces, 0);
    assert_int_equal(m->utterance_count, 4);
    assert_int_equal(m->rows, 5);
    assert_int_equal(m->rejected, 1);
    assert_int_equal(m->dropped, 1);
    assert_int_equal(m->fixed, 1);
    assert_int_equal(m->kept, 1);
    assert_string_equal(m->utterances[1].id, "b#1");
    assert_string_equal(m->utterances[1].text, "Zwei.");
    assert_string_equal(m->utterances[2].id, "c");
    assert_string_equal(m->problems[0].id, "b#2");
    assert_int_equal(m->problems[0].line, 2);
    assert_int_equal(m->problems[0].reject, MX_REJECT_DROPPED);
    mx_manifest_close(m);
    file_write("decisions.tsv", "id\tdecision\nb\tkeep\n");
    m = manifest_open(pieces, 0);
    assert_int_equal(m->utterance_count, 5);
    assert_int_equal(m->utterances[2].decision, MX_DECISION_KEEP);
    assert_int_equal(m->kept, 1); /* a row, of two pieces */
    mx_manifest_close(m);
    file_write("decisions.tsv", "id\tdecision\nb\tdrop\nb#1\tdrop\n");
    m = manifest_open(pieces, 0);
    assert_int_equal(m->utterance_count, 3);
    assert_int_equal(m->dropped, 1);
    mx_manifest_close(m);
    file_write("decisions.tsv", "id\tdecision\n");
}

static void test_ids(void **state)
{
    (void)state;
    assert_int_equal(mx_pieces_row("b#1"), 1);
    assert_int_equal(mx_pieces_row("a#b#12"), 3);
    static const char *const others[] = {"", "b", "b#", "#1", "b#x", "b#1x"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_int_equal(mx_pieces_row(others[i]), 0);
}

/* A row that was changed since is not cut. */
static void test_changed(void **state)
{
    (void)state;
    file_write("wavs/b.wav", "longer");
    struct mx_manifest *const m = manifest_open(pieces, 0);
    assert_int_equal(m->utterance_count, 4);
    mx_manifest_close(m);
    file_write("cut/pieces.tsv", MX_PIECES_HEAD "somehow\n");
    mx_manifest_close(manifest_open(pieces, 0));
}

static void test_damaged(void **state)
{
    struct mx_pieces list;
    char gone[200];
    static const char *const bad[] = {"",
                                      "something\n",
                                      MX_PIECES_HEAD,
                                      MX_PIECES_HEAD "how\nno key\tx\ty\n",
                                      MX_PIECES_HEAD "how\n0123456789abcdef\tx\n",
                                      MX_PIECES_HEAD "how\n0123456789abcdef\tx\ty"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        file_write("cut/pieces.tsv", bad[i]);
        assert_int_equal(mx_pieces_read(pieces, &list), MX_ERR_FORMAT);
        assert_true(mx_error_last()->hint[0] != '\0');
    }
    snprintf(gone, sizeof gone, "%s/nowhere", folder);
    assert_int_equal(mx_pieces_read(gone, &list), MX_ERR_NOT_FOUND);
    mx_manifest_close(manifest_open(gone, 0)); /* nothing was cut */
    keys_find();
    char missing[200];
    snprintf(missing, sizeof missing, MX_PIECES_HEAD "how\n%016" PRIx64 "\twavs/none.wav\ttext\n", keys[1]);
    file_write("cut/pieces.tsv", missing);
    assert_null(manifest_open(pieces, MX_ERR_NOT_FOUND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_apply), cmocka_unit_test(test_decided),
                                       cmocka_unit_test(test_ids), cmocka_unit_test(test_changed),
                                       cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
