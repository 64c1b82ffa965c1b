/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tests of the configuration: defaults, YAML, every kind of wrong file, overrides, writing and reading back.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/config/config.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/string.h"
#include "myxtts/error.h"

enum precision { PRECISION_FP32 = 5, PRECISION_BF16 = 9, PRECISION_OFF = -1 };

struct train {
    int64_t batch_size, big;
    double learning_rate, any;
    bool shuffle;
    enum precision precision;
};

struct paths {
    char name[8];
    char *folder;
    char *note;
};

struct root {
    int before; /* sections do not begin at 0 */
    struct train train;
    struct paths paths;
};

static const struct mx_config_choice precisions[] = {{"fp32", PRECISION_FP32, "exact"},
                                                     {"bf16", PRECISION_BF16, "half the memory"},
                                                     {"off", PRECISION_OFF, NULL},
                                                     {NULL, 0, NULL}};
static const char *const batch_names[] = {"bs", "training.batch", NULL};

static const struct mx_config_field train_fields[] = {
    {MX_CONFIG_INT(struct train, batch_size, 1, 4096, "32", "utterances", "Utterances in one step."),
     .aliases = batch_names},
    {MX_CONFIG_INT(struct train, big, INT64_MIN, INT64_MAX, "0", NULL, "Any whole number.")},
    {MX_CONFIG_DOUBLE(struct train, learning_rate, 0, 1, "1e-4", NULL, "Peak learning rate.")},
    {MX_CONFIG_DOUBLE_ANY(struct train, any, ".inf", "dB", "Any number.")},
    {MX_CONFIG_BOOL(struct train, shuffle, "true", "Shuffle the data.")},
    {MX_CONFIG_ENUM(struct train, precision, enum precision, precisions, "fp32", "Number format.")},
};
static const struct mx_config_field path_fields[] = {
    {MX_CONFIG_STRING(struct paths, name, "run", "Name of the run.")},
    {MX_CONFIG_TEXT(struct paths, folder, "",
                    "Where the recordings are. A long sentence makes the comment of this "
                    "field so long that it has to be wrapped onto a second line.")},
    {MX_CONFIG_TEXT(struct paths, note, "none", "A remark.")},
};
static const struct mx_config_section sections[] = {
    {"train", "How training goes.", train_fields, sizeof train_fields / sizeof train_fields[0],
     offsetof(struct root, train)},
    {"paths", "Where things are.", path_fields, sizeof path_fields / sizeof path_fields[0],
     offsetof(struct root, paths)},
};
static const struct mx_config_answer answers[] = {
    {"fused", "true", "all passes are always fused"},
    {"train.depth", "3", "the depth is always 3"},
    {"paths.engine", "native", "there is one engine"},
    {"train.magic", NULL, "there is no magic here"},
};
static const struct mx_config_schema schema = {.title = "A test.",
                                               .sections = sections,
                                               .count = sizeof sections / sizeof sections[0],
                                               .answers = answers,
                                               .answer_count = sizeof answers / sizeof answers[0]};

static int root_make(void **state)
{
    static struct root root;
    memset(&root, 0xA5, sizeof root); /* defaults must not rely on zeros */
    *state = &root;
    return mx_config_defaults(&schema, &root);
}

static int root_release(void **state)
{
    mx_config_release(&schema, *state);
    return 0;
}

static int load(void *root, const char *text)
{
    mx_error_clear();
    return mx_config_load_text(&schema, root, "a.yaml", text, strlen(text));
}

/* The message and the hint must contain these words. */
static void assert_error(int rc, int code, const char *message, const char *hint)
{
    const struct mx_error *const error = mx_error_last();
    assert_int_equal(rc, code);
    assert_int_equal(error->code, code);
    if (strstr(error->message, message) == NULL) fail_msg("\"%s\" is not in \"%s\"", message, error->message);
    if (strstr(error->hint, hint) == NULL) fail_msg("\"%s\" is not in hint \"%s\"", hint, error->hint);
    assert_true(error->hint[0] != '\0');
    assert_null(strchr(error->message, '\n'));
}

static void test_defaults(void **state)
{
    const struct root *const root = *state;
    assert_true(root->train.batch_size == 32 && root->train.big == 0);
    assert_true(root->train.learning_rate == 1e-4 && isinf(root->train.any));
    assert_true(root->train.shuffle);
    assert_int_equal(root->train.precision, PRECISION_FP32);
    assert_string_equal(root->paths.name, "run");
    assert_string_equal(root->paths.folder, "");
    assert_string_equal(root->paths.note, "none");
}

static void test_bad_default(void **state)
{
    (void)state;
    static const struct mx_config_field fields[] = {
        {MX_CONFIG_TEXT(struct paths, folder, "x", "Freed again.")},
        {MX_CONFIG_STRING(struct paths, name, "longer than eight", "Wrong.")},
    };
    static const struct mx_config_section one[] = {{"paths", "Wrong.", fields, 2, offsetof(struct root, paths)}};
    const struct mx_config_schema wrong = {.title = "Wrong.", .sections = one, .count = 1};
    struct root root;
    assert_error(mx_config_defaults(&wrong, &root), MX_ERR_INTERNAL, "paths.name", "report");
}

static void test_load(void **state)
{
    struct root *const root = *state;
    assert_int_equal(load(root, "# comment\n"
                                "train:\n"
                                "  batch_size: 0x40   # a comment\n"
                                "  learning_rate: 1e-4\n"
                                "  any: -3\n"
                                "  shuffle: False\n"
                                "  precision: off\n"
                                "paths: {name: 2024, folder: \"a b\\n\\u00e9\", note: |\n"
                                "    }\n"),
                     MX_ERR_CONFIG); /* a block cannot stand in braces */
    assert_int_equal(load(root, "train:\n"
                                "  batch_size: 0x40   # a comment\n"
                                "  learning_rate: 2e-4\n"
                                "  any: -3\n"
                                "  shuffle: False\n"
                                "  precision: off\n"
                                "paths: {name: 2024, folder: \"a b\\n\\u00e9\", note: 'it''s'}\n"),
                     0);
    assert_true(root->train.batch_size == 64);
    assert_true(root->train.learning_rate == 2e-4 && root->train.any == -3.0);
    assert_false(root->train.shuffle);
    assert_int_equal(root->train.precision, PRECISION_OFF);
    assert_string_equal(root->paths.name, "2024");
    assert_string_equal(root->paths.folder, "a b\n\xC3\xA9");
    assert_string_equal(root->paths.note, "it's");
    /* What a later file does not name stays. */
    assert_int_equal(load(root, "paths:\n  note: |\n    two\n    lines\n"), 0);
    assert_string_equal(root->paths.note, "two\nlines\n");
    assert_true(root->train.batch_size == 64);
}

/* Nothing, in all its forms, means the defaults. */
static void test_empty(void **state)
{
    static const char *const nothing[] = {"",
                                          "\n\n",
                                          "# only a comment\n",
                                          "---\n",
                                          "---\n...\n",
                                          "{}",
                                          "null\n",
                                          "train:\n",
                                          "train: {}\n",
                                          "train: ~\n",
                                          "train:\npaths:\n  # all commented out\n",
                                          "\xEF\xBB\xBF",
                                          "%YAML 1.2\n---\ntrain:\n"};
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) assert_int_equal(load(*state, nothing[i]), 0);
    test_defaults(state);
    assert_int_equal(load(*state, "\xEF\xBB\xBFtrain:\r\n  batch_size: 3\r\n"), 0);
    assert_true(((struct root *)*state)->train.batch_size == 3);
}

static void test_wrong_files(void **state)
{
    static const struct {
        const char *text, *message, *hint;
    } cases[] = {
        /* names */
        {"train:\n  batchsize: 3\n", "a.yaml:2: unknown key 'batchsize' in section 'train'",
         "did you mean 'batch_size'?"},
        {"train:\n  wavelength: 3\n", "a.yaml:2: unknown key 'wavelength'", "known keys: batch_size, big"},
        {"train:\n  folder: x\n", "a.yaml:2: unknown key 'folder'", "'folder' is a key of section 'paths'"},
        {"\ntrian:\n  a: 3\n", "a.yaml:2: unknown section 'trian'", "did you mean 'train'?"},
        {"zzz:\n", "a.yaml:1: unknown section 'zzz'", "known sections: train, paths"},
        {"batch_size: 3\n", "a.yaml:1: unknown section 'batch_size'", "a key of section 'train'"},
        {"training:\n  x: 1\n", "a.yaml:2: unknown key 'x' in section 'training'", "known sections"},
        {"train:\n  \"a\\nb\": 3\n", "unknown key 'a\\x0ab'", "known keys"},
        {"<<: 1\n", "unknown section '<<'", "known sections"},
        /* types */
        {"train:\n  batch_size: many\n", "a.yaml:2: 'train.batch_size' is 'many', which is not a whole number",
         "a whole number from 1 to 4096 utterances (default 32)"},
        {"train:\n  batch_size: 1_000\n", "which is not a whole number", "without '_'"},
        {"train:\n  batch_size: 1e3\n", "which is not a whole number", "write it out as 1000"},
        {"train:\n  batch_size: 2.5\n", "which is not a whole number", "expected a whole number"},
        {"train:\n  batch_size: '3'\n", "which is not a whole number", "remove the quotes"},
        {"train:\n  learning_rate: \"1e-4\"\n", "which is not a number", "remove the quotes"},
        {"train:\n  learning_rate: 1,5\n", "which is not a number", "without '_' or ','"},
        {"train:\n  learning_rate: 5 %\n", "which is not a number", "write the number alone"},
        {"train:\n  shuffle: yes\n", "'yes', which is neither true nor false", "expected true or false (default true)"},
        {"train:\n  shuffle: 'true'\n", "which is neither true nor false", "remove the quotes"},
        {"train:\n  precision: bf61\n", "which is not one of the choices",
         "did you mean 'bf16'? expected one of: fp32, bf16, off"},
        {"train:\n  precision: xyz\n", "which is not one of the choices", "one of: fp32, bf16, off (default fp32)"},
        {"train:\n  batch_size: [1, 2]\n", "a.yaml:2: 'train.batch_size' is a list", "expected a whole number"},
        {"train:\n  batch_size: {a: 2}\n", "a.yaml:2: 'train.batch_size' is a mapping", "expected a whole number"},
        {"train:\n  batch_size:\n", "which is no value", "remove the line"},
        {"paths:\n  folder: ~\n", "which is no value", "for an empty text"},
        {"paths:\n  folder: null\n", "which is no value", "for an empty text"},
        /* ranges */
        {"train:\n  batch_size: 0\n", "which is out of range", "from 1 to 4096"},
        {"train:\n  batch_size: 4097\n", "which is out of range", "from 1 to 4096"},
        {"train:\n  batch_size: 99999999999999999999\n", "which is out of range", "from 1 to 4096"},
        {"train:\n  learning_rate: 1.5\n", "which is out of range", "a number from 0.0 to 1.0 (default 1e-4)"},
        {"train:\n  learning_rate: .nan\n", "which is not a finite number", "from 0.0 to 1.0"},
        {"train:\n  learning_rate: inf\n", "which is not a finite number", "from 0.0 to 1.0"},
        {"train:\n  learning_rate: 1e999\n", "which is beyond what a double can hold", "from 0.0 to 1.0"},
        {"paths:\n  name: eight888\n", "which is too long", "text of at most 7 bytes"},
        {"paths:\n  name: \"a\\0b\"\n", "a.yaml:2: a text contains a zero byte", "\\0"},
        /* twice */
        {"train:\n  big: 1\n\n  big: 1\n", "a.yaml:4: key 'train.big' is given twice, first in line 2", "keep one"},
        {"train:\n  bs: 1\n  batch_size: 1\n", "a.yaml:3: key 'train.batch_size' is given twice", "keep one"},
        {"train:\n  big: 1\ntrain:\n  any: 1\n", "a.yaml:3: section 'train' is given twice, first in line 1",
         "keep one"},
        /* structure */
        {"- train\n", "a.yaml:1: the file is not a mapping", "begin with a section"},
        {"hello\n", "a.yaml:1: the file is not a mapping", "begin with a section"},
        {"train: 5\n", "a.yaml:1: section 'train' is '5', not a mapping", "indented"},
        {"train:\n  batch_size:3\n", "a.yaml:2: section 'train' is 'batch_size:3', not a mapping",
         "a space after the colon"},
        {"train:\n  - a\n", "a.yaml:2: section 'train' is a list", "indented"},
        {"? [a]\n: b\n", "a.yaml:1: a section name is a list", "section:"},
        {"train:\n  ? {a: b}\n  : c\n", "a.yaml:2: a key is a list or a mapping", "key: value"},
        {"train:\n---\npaths:\n", "a.yaml:2: the file has more than one document", "'---'"},
        /* what we do not take of YAML */
        {"train: &a\n  big: 1\n", "a.yaml:1: anchors", "write the value out"},
        {"train:\n  big: &a 1\n  any: *a\n", "a.yaml:2: anchors", "write the value out"},
        {"paths:\n  note: *x\n", "a.yaml:2: anchors", "write the value out"},
        {"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\n", "a.yaml:1: unknown section 'a'", "known sections"},
        {"train:\n  big: !!int 3\n", "a.yaml:2: tags", "plain value"},
        {"paths: !x {}\n", "a.yaml:1: tags", "plain value"},
        /* syntax */
        {"train:\n\tbatch_size: 3\n", "a.yaml:2: not valid YAML", "spaces, not tabs"},
        {"train:\n  big: 1\n any: 2\n", "a.yaml:3: not valid YAML", "indentation"},
        {"paths:\n  note: a: b\n", "a.yaml:2: not valid YAML", "quotes around a value"},
        {"train:\n  any: 1\n  batch_size\n", "a.yaml:4: not valid YAML", "a space after the colon"},
        {"paths:\n  note: \"abc\n", "not valid YAML", "quotes"},
        {"train: {big: 1\n", "not valid YAML", "indentation"},
        {"train:\n  big: 1\n  note: \x01\n", "a.yaml:3: not valid YAML: control characters", "control character"},
        /* bytes */
        {"train:\n# caf\xE9\n", "a.yaml:2: the text is not UTF-8", "UTF-8"},
        {"\xFF\xFEt\n", "a.yaml:1: the text is not UTF-8", "UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_error(load(*state, cases[i].text), MX_ERR_CONFIG, cases[i].message, cases[i].hint);
    /* A zero byte in the middle. */
    assert_error(mx_config_load_text(&schema, *state, "a.yaml", "train:\n \0", 9), MX_ERR_CONFIG,
                 "a.yaml:2: ", "control");
    /* Thousands of open brackets do not reach any recursion. */
    static char deep[100000];
    memset(deep, '[', sizeof deep - 1);
    assert_error(load(*state, deep), MX_ERR_CONFIG, "a.yaml:1: the file is not a mapping", "section");
}

static void test_former_names(void **state)
{
    struct root *const root = *state;
    const struct mx_log_options quiet = {.level = MX_LOG_ERROR};
    mx_log_configure(&quiet);
    assert_int_equal(load(root, "train:\n  bs: 5\n"), 0);
    assert_true(root->train.batch_size == 5);
    assert_int_equal(load(root, "training:\n  batch: 6\n"), 0);
    assert_true(root->train.batch_size == 6);
    assert_int_equal(mx_config_set(&schema, root, "training.batch=7"), 0);
    assert_true(root->train.batch_size == 7);
    mx_log_configure(NULL);
    const struct mx_config_section *section = NULL;
    assert_ptr_equal(mx_config_find(&schema, "train.bs", &section), &train_fields[0]);
    assert_ptr_equal(section, &sections[0]);
    assert_ptr_equal(mx_config_find(&schema, "paths.note", NULL), &path_fields[2]);
    assert_null(mx_config_find(&schema, "paths.bs", NULL));
    assert_null(mx_config_find(&schema, "paths", NULL));
}

/* Names that set nothing: accepted with a note, or refused with the reason, in files and in overrides. */
static void test_answers(void **state)
{
    struct root *const root = *state;
    FILE *const log = tmpfile();
    assert_non_null(log);
    const struct mx_log_options options = {.level = MX_LOG_INFO, .stream = log, .no_color = true};
    mx_log_configure(&options);
    assert_int_equal(load(root, "train:\n  fused: true\n  depth: 0x3\n  big: 7\npaths:\n  fused: True\n"), 0);
    assert_true(root->train.big == 7); /* what follows such a name is read, too */
    assert_int_equal(load(root, "paths:\n  engine: \"native\"\n"), 0);
    assert_int_equal(mx_config_set(&schema, root, "paths.engine=native"), 0);
    assert_int_equal(mx_config_set(&schema, root, "train.depth=3.0"), 0);
    mx_log_configure(NULL);
    char said[2048];
    rewind(log);
    said[fread(said, 1, sizeof said - 1, log)] = '\0';
    fclose(log);
    assert_non_null(strstr(said, "a.yaml:2: 'train.fused' changes nothing: all passes are always fused\n"));
    assert_non_null(strstr(said, "a.yaml:6: 'paths.fused' changes nothing"));
    assert_non_null(strstr(said, "--set paths.engine=native: 'paths.engine' changes nothing: there is one engine\n"));

    static const struct {
        const char *text, *message, *hint;
    } wrong[] = {
        {"train:\n  fused: false\n", "a.yaml:2: 'train.fused' cannot be 'false': all passes", "out, or write 'true'"},
        {"train:\n  fused: 1\n", "'train.fused' cannot be '1'", "write 'true'"},
        {"train:\n  depth: 4\n", "'train.depth' cannot be '4': the depth is always 3", "write '3'"},
        {"train:\n  depth: [3]\n", "'train.depth' cannot be 'a list'", "write '3'"},
        {"train:\n  depth: {a: 3}\n", "'train.depth' cannot be 'a mapping'", "write '3'"},
        {"train:\n  magic: true\n", "'train.magic' cannot be 'true': there is no magic here", "leave 'magic' out"},
        {"paths:\n  engine: other\n", "'paths.engine' cannot be 'other'", "write 'native'"},
        {"paths:\n  depth: 3\n", "unknown key 'depth' in section 'paths'", "known keys"},
        {"train:\n  fused: &a true\n", "anchors", "write the value out"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_error(load(root, wrong[i].text), MX_ERR_CONFIG, wrong[i].message, wrong[i].hint);
    assert_error(mx_config_set(&schema, root, "train.magic=1"), MX_ERR_CONFIG, "there is no magic", "leave");
    assert_error(mx_config_set(&schema, root, "nowhere.fused=true"), MX_ERR_CONFIG, "unknown section",
                 "known sections");
}

static void test_set(void **state)
{
    struct root *const root = *state;
    assert_int_equal(mx_config_set(&schema, root, "train.learning_rate=3e-4"), 0);
    assert_true(root->train.learning_rate == 3e-4);
    assert_int_equal(mx_config_set(&schema, root, "paths.folder=/data/a=b.c"), 0);
    assert_string_equal(root->paths.folder, "/data/a=b.c");
    assert_int_equal(mx_config_set(&schema, root, "paths.folder="), 0);
    assert_string_equal(root->paths.folder, "");
    assert_int_equal(mx_config_set(&schema, root, "paths.note=null"), 0);
    assert_string_equal(root->paths.note, "null");
    static const struct {
        const char *text, *message, *hint;
    } cases[] = {
        {"train.batchsize=3", "--set train.batchsize=3: unknown key 'batchsize'", "did you mean 'batch_size'?"},
        {"trian.big=3", "--set trian.big=3: unknown section 'trian'", "did you mean 'train'?"},
        {"train.big=x", "--set train.big=x: 'train.big' is 'x', which is not a whole number",
         "expected a whole number"},
        {"train.big=", "which is not a whole number", "expected a whole number"},
        {"train.batch_size=0", "out of range", "from 1 to 4096"},
        {"train.big", "not an assignment", "section.key=value"},
        {"big=3", "the section of the setting is missing", "train.big=3"},
        {".big=3", "not an assignment", "section.key=value"},
        {"train.=3", "not an assignment", "section.key=value"},
        {"=", "not an assignment", "section.key=value"},
        {"", "not an assignment", "section.key=value"},
        {"train.big = 3", "unknown key 'big '", "did you mean 'big'?"},
        {"paths.note=\xFF", "not valid UTF-8", "expected text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_error(mx_config_set(&schema, root, cases[i].text), MX_ERR_CONFIG, cases[i].message, cases[i].hint);
    assert_true(root->train.big == 0 && root->train.batch_size == 32);
    /* A very long override is cut in the message; the reason still shows. */
    char long_text[3000];
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    memcpy(long_text, "paths.name=", 11);
    assert_error(mx_config_set(&schema, root, long_text), MX_ERR_CONFIG, "which is too long", "at most 7 bytes");
}

static void roots_equal(const struct root *a, const struct root *b)
{
    assert_true(a->train.batch_size == b->train.batch_size && a->train.big == b->train.big);
    assert_memory_equal(&a->train.learning_rate, &b->train.learning_rate, sizeof(double));
    if (isnan(a->train.any))
        assert_true(isnan(b->train.any));
    else
        assert_memory_equal(&a->train.any, &b->train.any, sizeof(double));
    assert_int_equal(a->train.shuffle, b->train.shuffle);
    assert_int_equal(a->train.precision, b->train.precision);
    assert_memory_equal(a->paths.name, b->paths.name, sizeof a->paths.name);
    assert_string_equal(a->paths.folder, b->paths.folder);
    assert_string_equal(a->paths.note, b->paths.note);
}

/* Random valid text of up to 40 characters, from all planes and with all kinds of awkward ones. */
static void random_text(uint64_t stream, char out[200])
{
    static const uint32_t awkward[] = {'"',    '\\',     '\n',  '\r',   '\t',   ' ',    ':',    '#',
                                       0x01,   0x7F,     0x85,  0xA0,   0x2028, 0x2029, 0xFEFF, 0xFFFE,
                                       0xFFFF, 0x10FFFF, 0x627, 0x200C, '\'',   '-',    '%',    '@'};
    size_t used = 0;
    const uint64_t count = mx_rng_below(1, stream, 0, 40);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t code = (uint32_t)mx_rng_below(2, stream, i, 0x10FFFF) + 1;
        const uint64_t kind = mx_rng_below(3, stream, i, 3);
        if (kind == 0) code = awkward[mx_rng_below(4, stream, i, sizeof awkward / sizeof awkward[0])];
        if (kind == 1) code = 1 + code % 0x7F;
        if (code >= 0xD800 && code <= 0xDFFF) code = 'x';
        if (code < 0x80) {
            out[used++] = (char)code;
        } else if (code < 0x800) {
            out[used++] = (char)(0xC0 | code >> 6);
            out[used++] = (char)(0x80 | (code & 0x3F));
        } else {
            if (code < 0x10000) {
                out[used++] = (char)(0xE0 | code >> 12);
            } else {
                out[used++] = (char)(0xF0 | code >> 18);
                out[used++] = (char)(0x80 | (code >> 12 & 0x3F));
            }
            out[used++] = (char)(0x80 | (code >> 6 & 0x3F));
            out[used++] = (char)(0x80 | (code & 0x3F));
        }
    }
    out[used] = '\0';
}

static void test_round_trip(void **state)
{
    struct root *const a = *state;
    struct root b;
    static const double reals[] = {0.0, -0.0, 5e-324, (double)INFINITY, -(double)INFINITY, (double)NAN, 1e300, 0.1};
    assert_int_equal(mx_config_defaults(&schema, &b), 0);
    for (uint64_t i = 0; i < 500; i++) {
        char text[200];
        const uint64_t bits = (uint64_t)mx_rng_u32(5, i, 0) << 32 | mx_rng_u32(5, i, 1);
        a->train.batch_size = 1 + (int64_t)mx_rng_below(5, i, 2, 4096);
        memcpy(&a->train.big, &bits, sizeof bits);
        if (i == 0) a->train.big = INT64_MIN;
        memcpy(&a->train.any, &bits, sizeof bits);
        if (i < sizeof reals / sizeof reals[0]) a->train.any = reals[i];
        a->train.learning_rate = (double)mx_rng_u32(5, i, 3) / 4294967296.0;
        a->train.shuffle = (bits & 1) != 0;
        a->train.precision = (enum precision)precisions[i % 3].value;
        random_text(2 * i, text);
        mx_free(a->paths.folder);
        a->paths.folder = mx_strdup(text);
        random_text(2 * i + 1, text);
        mx_free(a->paths.note);
        a->paths.note = mx_strdup(text);
        memset(a->paths.name, 0, sizeof a->paths.name);
        memcpy(a->paths.name, "\"\\:#\t~'", i % 8);
        char *const written = mx_config_format(&schema, a);
        assert_non_null(written);
        if (load(&b, written) != 0) fail_msg("%s in:\n%s", mx_error_last()->message, written);
        roots_equal(a, &b);
        char *const again = mx_config_format(&schema, &b);
        assert_string_equal(written, again);
        mx_free(again);
        mx_free(written);
    }
    mx_config_release(&schema, &b);
}

static void test_write(void **state)
{
    struct root *const root = *state;
    struct root back;
    char folder[] = "/tmp/mx-test-config-XXXXXX", path[64], *text = NULL;
    size_t length = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out.yaml", folder);
    assert_int_equal(mx_config_write(&schema, root, path), 0);
    assert_int_equal(mx_file_read(path, 100000, &text, &length), 0);
    assert_non_null(strstr(text, "# A test.\n\n# How training goes.\ntrain:\n  # Utterances in one step.\n"
                                 "  # (a whole number from 1 to 4096 utterances; default 32)\n  batch_size: 32\n"));
    assert_non_null(strstr(text, "  #   bf16: half the memory\n"));
    assert_non_null(strstr(text, "  # (one of: fp32, bf16, off; default fp32)\n  precision: fp32\n"));
    assert_non_null(strstr(text, "  learning_rate: 0.0001\n"));
    assert_non_null(strstr(text, "  folder: \"\"\n"));
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *const end = strchr(line, '\n');
        assert_non_null(end);
        assert_true(end - line <= 100);
        line = end + 1;
    }
    mx_free(text);
    assert_int_equal(mx_config_defaults(&schema, &back), 0);
    back.train.batch_size = 77;
    assert_int_equal(mx_config_load(&schema, &back, path), 0);
    roots_equal(root, &back);

    /* What cannot be written leaves the old file alone. */
    root->train.precision = (enum precision)1234;
    assert_error(mx_config_write(&schema, root, path), MX_ERR_INTERNAL, "train.precision", "report");
    root->train.precision = PRECISION_FP32;
    memcpy(root->paths.name, "\xFF", 2);
    assert_error(mx_config_write(&schema, root, path), MX_ERR_CONFIG, "paths.name", "UTF-8");
    assert_int_equal(mx_config_load(&schema, &back, path), 0);
    assert_string_equal(back.paths.name, "run");
    mx_config_release(&schema, &back);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_files(void **state)
{
    char path[] = "/tmp/mx-test-config-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_error(mx_config_load(&schema, *state, "/nonexistent/x.yaml"), MX_ERR_NOT_FOUND, "/nonexistent/x.yaml",
                 "path");
    assert_error(mx_config_load(&schema, *state, "/tmp"), MX_ERR_IO, "'/tmp' is a folder", "file");
    static const char line[] = "# sixteen bytes\n";
    for (int i = 0; i < 65536; i++) assert_int_equal(write(fd, line, 16), 16);
    assert_int_equal(mx_config_load(&schema, *state, path), 0); /* 1 MiB exactly */
    assert_int_equal(write(fd, "\n", 1), 1);
    assert_error(mx_config_load(&schema, *state, path), MX_ERR_CONFIG, ": the file is larger than 1 MiB", "check");
    assert_non_null(strstr(mx_error_last()->message, path));
    close(fd);
    assert_int_equal(unlink(path), 0);
    assert_error(mx_config_load(&schema, *state, "/dev/zero"), MX_ERR_IO, "pipe or a device", "ordinary file");
}

static int count_field(void *context, const struct mx_config_section *section, const struct mx_config_field *field)
{
    assert_true(strlen(section->help) > 0 && strlen(field->help) > 0);
    return ++*(int *)context == 8 ? 17 : 0;
}

static void test_each(void **state)
{
    (void)state;
    int count = 0;
    assert_int_equal(mx_config_each(&schema, count_field, &count), 17); /* the eighth of nine stops the walk */
    assert_int_equal(count, 8);
    assert_int_equal(mx_config_each(&schema, count_field, &count), 0);
    assert_int_equal(count, 17);
    struct mx_string text = {0};
    assert_int_equal(mx_config_expects(&train_fields[3], MX_WORDS_ENGLISH, &text), 0);
    assert_string_equal(text.data, "a number dB");
    mx_string_release(&text);
}

/* Each allocation in turn fails: the error is NO_MEMORY and nothing leaks (the sanitizers tell). */
static void test_no_memory(void **state)
{
    (void)state;
    static const char text[] = "train:\n  big: 3\n  fused: true\npaths:\n  folder: abc\n  note: def\n";
    bool done = false;
    for (uint64_t nth = 1; !done && nth < 100; nth++) {
        struct root root;
        char *written = NULL;
        mx_error_clear();
        mx_alloc_fail_at(nth);
        int rc = mx_config_defaults(&schema, &root);
        const bool made = rc == 0;
        if (rc == 0) rc = mx_config_load_text(&schema, &root, "a.yaml", text, strlen(text));
        if (rc == 0) rc = mx_config_set(&schema, &root, "paths.note=xyz");
        if (rc == 0 && (written = mx_config_format(&schema, &root)) == NULL) rc = mx_error_last()->code;
        mx_alloc_fail_at(0);
        done = rc == 0;
        if (!done) assert_int_equal(rc, MX_ERR_NO_MEMORY);
        if (!done) assert_int_equal(mx_error_last()->code, MX_ERR_NO_MEMORY);
        if (made) mx_config_release(&schema, &root);
        mx_free(written);
        if (done) assert_true(nth > 10);
    }
    assert_true(done);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, root_make, root_release)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(test_defaults),
        cmocka_unit_test(test_bad_default),
        WITH_ROOT(test_load),
        WITH_ROOT(test_empty),
        WITH_ROOT(test_wrong_files),
        WITH_ROOT(test_former_names),
        WITH_ROOT(test_answers),
        WITH_ROOT(test_set),
        WITH_ROOT(test_round_trip),
        WITH_ROOT(test_write),
        WITH_ROOT(test_files),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
