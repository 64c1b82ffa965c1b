/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts of long recordings: plain text, subtitles and TextGrids, good and bad ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cut/script.h"
#include "myxtts/error.h"

static struct mx_cut_script script;

static void parse(enum mx_cut_script_kind kind, size_t parts, const char *data, size_t bytes)
{
    assert_int_equal(mx_cut_script_parse(&script, "t", data, bytes), 0);
    assert_int_equal(script.kind, kind);
    assert_int_equal(script.part_count, parts);
}

static void expect_part(size_t i, const char *text, double from, double until)
{
    const struct mx_align_part *const p = &script.parts[i];
    assert_int_equal(p->end - p->begin, strlen(text));
    assert_memory_equal(script.source + p->begin, text, strlen(text));
    assert_true(p->from > from - 1e-9 && p->from < from + 1e-9);
    assert_true(p->until > until - 1e-9 && p->until < until + 1e-9);
}

static void refuse(int code, const char *words, const char *data, size_t bytes)
{
    assert_int_equal(mx_cut_script_parse(&script, "file", data, bytes), code);
    if (strstr(mx_error_last()->message, words) == NULL)
        fail_msg("'%s' instead of %s", mx_error_last()->message, words);
    assert_true(mx_error_last()->hint[0] != '\0');
    assert_null(script.source);
    mx_error_clear();
}

#define PARSE(kind, parts, text)  parse(kind, parts, text, sizeof text - 1)
#define REFUSE(code, words, text) refuse(code, words, text, sizeof text - 1)

static void plain(void **state)
{
    (void)state;
    PARSE(MX_CUT_SCRIPT_PLAIN, 1, "\xef\xbb\xbfOne.\n\nTwo --> three.\n");
    expect_part(0, "One.\n\nTwo --> three.\n", 0, 0);
    mx_cut_script_release(&script);
    REFUSE(MX_ERR_DATA, "empty", " \n\t ");
    REFUSE(MX_ERR_DATA, "UTF-8", "caf\xe9");
    REFUSE(MX_ERR_DATA, "zero byte", "a\0b");
}

static void subtitles(void **state)
{
    (void)state;
    PARSE(MX_CUT_SCRIPT_SRT, 2,
          "1\r\n00:00:01,500 --> 00:00:03,000\r\n<i>Good</i> morning,\r\n{\\an8}Ann &amp; Bob.\r\n\r\n"
          "2\n01:00:04,000 --> 01:00:05,250\nBye < now.\n\n3\n01:00:06,000 --> 01:00:07,000\n\n");
    expect_part(0, "Good morning, Ann & Bob.", 1.5, 3);
    expect_part(1, "Bye < now.", 3604, 3605.25);
    mx_cut_script_release(&script);
    PARSE(MX_CUT_SCRIPT_VTT, 1,
          "WEBVTT - title\n\nNOTE a remark\n\nname\n00:01.000 --> 00:02.000 align:start\n<v Ann>Hello.</v>\n");
    expect_part(0, "Hello.", 1, 2);
    mx_cut_script_release(&script);
    REFUSE(MX_ERR_FORMAT, "line 7", "WEBVTT\n\n00:01.000 --> 00:02.000\na\n00:99.000 --> x\n\n00:03 --> y\n");
    REFUSE(MX_ERR_FORMAT, "line 2: the times of the cue run backwards", "1\n00:00:05,000 --> 00:00:03,000\na\n");
    REFUSE(MX_ERR_FORMAT, "line 5: the times of the cue run backwards",
           "00:00:05,000 --> 00:00:06,000\na\n\n2\n00:00:01,000 --> 00:00:02,000\nb\n");
    REFUSE(MX_ERR_FORMAT, "no cue with text", "WEBVTT\n\n");
}

#define HEAD "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n"

static void textgrids(void **state)
{
    (void)state;
    PARSE(MX_CUT_SCRIPT_TEXTGRID, 2,
          HEAD "xmin = 0\nxmax = 9\ntiers? <exists>\nsize = 2\nitem []:\n    item [1]:\n        class = \"TextTier\"\n"
               "        name = \"bells\"\n        xmin = 0\n        xmax = 9\n        points: size = 1\n"
               "        points [1]:\n            number = 4.5\n            mark = \"ding 7\"\n    item [2]:\n"
               "        class = \"IntervalTier\"\n        name = \"words 1\"\n        xmin = 0\n        xmax = 9\n"
               "        intervals: size = 3\n        intervals [1]:\n            xmin = 0\n            xmax = 1.25\n"
               "            text = \"\"\n        intervals [2]:\n            xmin = 1.25\n            xmax = 3\n"
               "            text = \"She said \"\"no\"\".\"\n        intervals [3]:\n            xmin = 3\n"
               "            xmax = 9\n            text = \"Two\nlines\"\n");
    expect_part(0, "She said \"no\".", 1.25, 3);
    expect_part(1, "Two\nlines", 3, 9);
    mx_cut_script_release(&script);
    PARSE(MX_CUT_SCRIPT_TEXTGRID, 1, HEAD "0\n2\n<exists>\n1\n\"IntervalTier\"\n\"w\"\n0\n2\n1\n0\n2\n\"short\"\n");
    expect_part(0, "short", 0, 2);
    mx_cut_script_release(&script);
    REFUSE(MX_ERR_FORMAT, "number is missing",
           HEAD "0\n2\n<exists>\n1\n\"IntervalTier\"\n\"w\"\n0\n2\n9\n0\n2\n\"a\"\n");
    REFUSE(MX_ERR_FORMAT, "no interval tier", HEAD "0\n2\n<exists>\n1\n\"TextTier\"\n\"w\"\n0\n2\n1\n0\n\"a\"\n");
    REFUSE(MX_ERR_FORMAT, "run backwards", HEAD "0\n2\n<exists>\n1\n\"IntervalTier\"\n\"w\"\n0\n2\n1\n2\n1\n\"a\"\n");
    REFUSE(MX_ERR_FORMAT, "no TextGrid", "File type = \"ooTextFile\"\nObject class = \"Sound 2\"\n");
    REFUSE(MX_ERR_FORMAT, "quotes", HEAD "0\n2\n<exists>\n1\n\"IntervalTier");
}

/* Parses `text` as UTF-16, in both orders, with ب for ~. `part`: of it, in UTF-8. */
static void wide_expect(enum mx_cut_script_kind kind, const char *text, const char *part, double from, double until)
{
    char data[600];
    const size_t length = strlen(text);
    assert_true(2 * length + 2 <= sizeof data);
    for (size_t big = 0; big < 2; big++) {
        data[big] = '\xff';
        data[!big] = '\xfe';
        for (size_t i = 0; i < length; i++) {
            data[2 + 2 * i + big] = text[i] == '~' ? '\x28' : text[i];
            data[2 + 2 * i + !big] = text[i] == '~' ? '\x06' : '\0';
        }
        parse(kind, 1, data, 2 * length + 2);
        expect_part(0, part, from, until);
        mx_cut_script_release(&script);
    }
}

/* UTF-16 is no kind of its own: the content decides. */
static void wide(void **state)
{
    (void)state;
    wide_expect(MX_CUT_SCRIPT_TEXTGRID, HEAD "0\n2\n<exists>\n1\n\"IntervalTier\"\n\"w\"\n0\n2\n1\n0\n2\n\"a~b\"\n",
                "aبb", 0, 2);
    wide_expect(MX_CUT_SCRIPT_PLAIN, "One ~ two.\n", "One ب two.\n", 0, 0);
    wide_expect(MX_CUT_SCRIPT_SRT, "1\r\n00:00:01,500 --> 00:00:03,000\r\nGood ~.\r\n", "Good ب.", 1.5, 3);
    wide_expect(MX_CUT_SCRIPT_VTT, "WEBVTT\n\n00:01.000 --> 00:02.000\n~\n", "ب", 1, 2);
    PARSE(MX_CUT_SCRIPT_PLAIN, 1, "\xff\xfe\x3d\xd8\x00\xde");
    expect_part(0, "\U0001f600", 0, 0);
    mx_cut_script_release(&script);
    REFUSE(MX_ERR_DATA, "empty", "\xff\xfe");
    REFUSE(MX_ERR_FORMAT, "half a character", "\xff\xfe\x41\0\x42");
    REFUSE(MX_ERR_FORMAT, "half a character", "\xff\xfe\x3d\xd8");
    REFUSE(MX_ERR_FORMAT, "half a character",
           "\xff\xfe\x00\xd8"
           "a\0");
    REFUSE(MX_ERR_FORMAT, "zero character", "\xfe\xff\0\0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(subtitles),
        cmocka_unit_test(textgrids),
        cmocka_unit_test(wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
