/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tests of the option tables. The parser is part of the program, not of the library, so its source is included here.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "cli/headings.c"
#include "cli/options/options.c"
#include "cli/options/setting_flags.c"

struct own {
    bool json, verbose;
    int64_t count;
    const char *config, *color;
    struct mx_option_list set;
    struct mx_option_settings flags;
};

struct shared {
    bool help;
    const char *level;
};

static const char *const colors[] = {"red", "green", "blue", NULL};
static const char *const levels[] = {"info", "error", NULL};

static const struct mx_option own_options[] = {
    {MX_OPTION_FLAG(struct own, json, "json", "Print JSON.")},
    {MX_OPTION_FLAG(struct own, verbose, "verbose", "Say more."), .letter = 'v'},
    {MX_OPTION_INT(struct own, count, "cpu-devices", "N", -3, 64, "1", "How many."), .letter = 'n'},
    {MX_OPTION_STRING(struct own, config, "config", "FILE", NULL, "The file."), .letter = 'c'},
    {MX_OPTION_CHOICE(struct own, color, "color", "COLOR", colors, "red", "The colour.")},
    {MX_OPTION_LIST(struct own, set, "set", "SECTION.KEY=VALUE-OF-IT", "An override.")},
    {MX_OPTION_SETTING(struct own, flags, training.batch_size), .fallback = "four of them"},
    {MX_OPTION_SETTING(struct own, flags, training.dashboard)},
    {MX_OPTION_SETTING(struct own, flags, pipeline)},
};
static const struct mx_option shared_options[] = {
    {MX_OPTION_FLAG(struct shared, help, "help", "Show this page."), .letter = 'h'},
    {MX_OPTION_CHOICE(struct shared, level, "log-level", "LEVEL", levels, "info", "Level.")},
};
static const struct mx_example examples[] = {{"myxtts test --json", "prints JSON"}};
static const struct mx_option_page page = {
    .command = "myxtts test",
    .operands = "[NAME...]",
    .operand_max = 2,
    .summary = "try the options",
    .description =
        "First paragraph that is long enough to be wrapped because it has more than ninety-six columns in it.\n"
        "Second one.",
    .examples = examples,
    .example_count = 1,
};

static struct own own;
static struct shared shared;
static struct mx_option_list operands;
static int used;

static int parse_with(bool stop, int count, const char *const *arguments)
{
    char *argv[MX_OPTION_LIST_MAX + 16];
    const struct mx_option_group groups[MX_OPTION_GROUPS] = {
        {"Options", own_options, sizeof own_options / sizeof own_options[0], &own},
        {"All commands", shared_options, sizeof shared_options / sizeof shared_options[0], &shared}};
    own = (struct own){0};
    shared = (struct shared){0};
    operands = (struct mx_option_list){.count = 0};
    mx_error_clear();
    assert_true(count <= MX_OPTION_LIST_MAX + 16);
    memcpy(argv, arguments, (size_t)count * sizeof argv[0]);
    return mx_options_parse(&page, groups, (struct mx_arguments){count, argv}, stop, &operands, &used);
}

#define PARSE(...)                                                                                                     \
    parse_with(false, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})
#define PARSE_STOP(...)                                                                                                \
    parse_with(true, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

static void assert_usage(int rc, const char *message, const char *hint)
{
    const struct mx_error *const error = mx_error_last();
    assert_int_equal(rc, MX_ERR_USAGE);
    assert_int_equal(mx_error_exit_code(rc), 1);
    if (strstr(error->message, message) == NULL) fail_msg("\"%s\" is not in \"%s\"", message, error->message);
    if (strstr(error->hint, hint) == NULL) fail_msg("\"%s\" is not in hint \"%s\"", hint, error->hint);
}

static void test_good(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--json", "a", "--cpu-devices", "0x10", "--config=x=y", "--set", "a.b=1", "--log-level",
                           "error", "--set=c.d=2", "b"),
                     0);
    assert_true(own.json && !own.verbose && own.count == 16);
    assert_string_equal(own.config, "x=y");
    assert_int_equal(own.set.count, 2);
    assert_string_equal(own.set.items[0], "a.b=1");
    assert_string_equal(own.set.items[1], "c.d=2");
    assert_string_equal(shared.level, "error");
    assert_int_equal(operands.count, 2);
    assert_string_equal(operands.items[1], "b");
    assert_int_equal(used, 11);
    /* letters, negative numbers, the last one wins, an empty value, a lone dash */
    assert_int_equal(PARSE("-v", "-n-3", "-c", "", "-n", "-2", "--color=blue", "-"), 0);
    assert_true(own.verbose && own.count == -2);
    assert_string_equal(own.config, "");
    assert_string_equal(own.color, "blue");
    assert_string_equal(operands.items[0], "-");
    /* after "--" everything is an operand */
    assert_int_equal(PARSE("--", "--json", "-v"), 0);
    assert_false(own.json);
    assert_int_equal(operands.count, 2);
    /* the first operand ends the parse */
    assert_int_equal(PARSE_STOP("-v", "devices", "--bad"), 0);
    assert_int_equal(used, 1);
    assert_int_equal(operands.count, 0);
    assert_int_equal(parse_with(false, 0, (const char *[]){""}), 0);
}

static void test_wrong(void **state)
{
    (void)state;
    assert_usage(PARSE("--jsno"), "unknown option '--jsno'", "did you mean '--json'?");
    assert_usage(PARSE("--jso"), "unknown option '--jso'", "did you mean '--json'?"); /* no abbreviations */
    assert_usage(PARSE("--cpu"), "unknown option '--cpu'", "did you mean '--cpu-devices'?");
    assert_usage(PARSE("--cpu_devices=3"), "unknown option '--cpu_devices=3'", "did you mean '--cpu-devices'?");
    assert_usage(PARSE("-json"), "unknown option '-json'", "did you mean '--json'?");
    assert_usage(PARSE("--wavelength"), "unknown option '--wavelength'", "'myxtts test --help' lists all options");
    assert_usage(PARSE("---"), "unknown option '---'", "--help");
    assert_usage(PARSE("--=3"), "unknown option '--=3'", "--help");
    assert_usage(PARSE("-x"), "unknown option '-x'", "--help");
    assert_usage(PARSE("--a\nb"), "unknown option '--a\\x0ab'", "--help");
    assert_usage(PARSE("--loglevel", "x"), "unknown option '--loglevel'", "'--log-level'"); /* of the other group */
    assert_usage(PARSE("--config"), "option '--config' needs a value", "write '--config FILE'");
    assert_usage(PARSE("--config", "--json"), "option '--config' needs a value", "write '--config FILE'");
    assert_usage(PARSE("-n"), "option '--cpu-devices' needs a value", "write '--cpu-devices N'");
    assert_usage(PARSE("--json=yes"), "option '--json' takes no value", "alone");
    assert_usage(PARSE("-vh"), "option '--verbose' takes no value", "a dash of its own");
    static const char *const words[] = {"two", "", "1.5", "1_0", "3x", " 3"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_usage(PARSE("--cpu-devices", words[i]), "which is not a whole number", "from -3 to 64");
    static const char *const far[] = {"65", "-4", "100000", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++)
        assert_usage(PARSE("--cpu-devices", far[i]), "which is out of range", "from -3 to 64");
    assert_true(own.count == 0);
    assert_usage(PARSE("--color", "gren"), "which is not one of its choices",
                 "did you mean 'green'? choices: red, green");
    assert_usage(PARSE("--color", "x"), "which is not one of its choices", "choices: red, green, blue");
    assert_usage(PARSE("a", "b", "c"), "at most 2 arguments, and 'c' is one more", "--help");
    const char *many[MX_OPTION_LIST_MAX + 1];
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) many[i] = "--set=a.b=c";
    assert_usage(parse_with(false, MX_OPTION_LIST_MAX + 1, many), "option '--set' is given more than 4096 times",
                 "fewer");
    assert_int_equal(own.set.count, MX_OPTION_LIST_MAX);
    /* What stood before the mistake was read. */
    assert_usage(PARSE("--log-level", "error", "--bad"), "unknown option", "--help");
    assert_string_equal(shared.level, "error");
    assert_int_equal(used, 2);
}

static void test_help(void **state)
{
    (void)state;
    struct mx_string text = {0};
    const struct mx_option_group groups[MX_OPTION_GROUPS] = {
        {"Options", own_options, sizeof own_options / sizeof own_options[0], &own},
        {"All commands", shared_options, sizeof shared_options / sizeof shared_options[0], &shared}};
    assert_int_equal(mx_options_help(&page, groups, MX_WORDS_ENGLISH, &text), 0);
    assert_non_null(
        strstr(text.data, "myxtts test: try the options\n\nUsage: myxtts test [OPTIONS] [NAME...]\n\nFirst"));
    assert_non_null(strstr(text.data, "\nSecond one.\n\nOptions:\n"));
    assert_non_null(strstr(text.data, "      --json               Print JSON.\n"));
    assert_non_null(strstr(text.data, "  -n, --cpu-devices N      How many. From -3 to 64. Default: 1.\n"));
    assert_non_null(strstr(text.data, "The colour. One of: red, green, blue. Default: red.\n"));
    assert_non_null(
        strstr(text.data, "--set SECTION.KEY=VALUE-OF-IT\n                           An override. May be repeated.\n"));
    assert_non_null(strstr(text.data, "\nAll commands:\n  -h, --help"));
    assert_non_null(strstr(text.data, "\nExamples:\n  myxtts test --json\n      prints JSON\n"));
    for (const char *line = text.data; *line != '\0'; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= 96);
    /* flags of settings: words of the schema, and the table's own before those; wherever lines end */
    char *to = text.data;
    for (const char *from = text.data; *from != '\0'; from++)
        if (!(isspace((unsigned char)from[0]) && isspace((unsigned char)from[1]))) *to++ = *from == '\n' ? ' ' : *from;
    *to = '\0';
    assert_non_null(strstr(text.data, "From 0 to 65536 utterances. Default: four of them. "));
    assert_non_null(strstr(text.data, "From 0 to 86400 seconds. Default: 2. "));
    assert_non_null(strstr(text.data, "One of: on, off. Default: on. "));
    assert_non_null(strstr(text.data, "--data-gpu N Number")); /* and other flags by their names as flags */
    assert_non_null(strstr(text.data, "With --model-gpu: Multi-GPU Mode."));
    assert_non_null(strstr(text.data, "One of: auto, cuda, opencl, cpu. Default: auto. "));
    mx_string_release(&text);
    bool done = false;
    for (uint64_t nth = 1; !done; nth++) {
        mx_alloc_fail_at(nth);
        const int rc = mx_options_help(&page, groups, MX_WORDS_ENGLISH, &text);
        mx_alloc_fail_at(0);
        done = rc == 0;
        if (!done) assert_int_equal(rc, MX_ERR_NO_MEMORY);
        mx_string_release(&text);
    }
}

/* ---- flags of settings ---- */

static void test_settings(void **state)
{
    (void)state;
    struct mx_settings settings;
    /* in the order of the line; a repeated one counts where it stood last */
    assert_int_equal(PARSE("--batch-size", "3", "--auto-tune=off", "--backend", "cpu", "--batch-size=5",
                           "--allow-single", "--data-gpu", "-1", "--shares="),
                     0);
    assert_int_equal(own.flags.count, 6);
    static const char *const keys[] = {"auto_tune", "backend", "batch_size", "allow_single", "data_gpu", "shares"};
    static const char *const texts[] = {"false", "cpu", "5", "true", "-1", ""};
    for (size_t i = 0; i < own.flags.count; i++) {
        assert_string_equal(own.flags.items[i].field->key, keys[i]);
        assert_string_equal(own.flags.items[i].text, texts[i]);
    }
    assert_string_equal(mx_setting_flags_given(&own.flags, "training.batch_size"), "5");
    assert_null(mx_setting_flags_given(&own.flags, "pipeline.device"));
    assert_int_equal(mx_settings_read(NULL, NULL, 0, &settings), 0);
    assert_int_equal(mx_setting_flags_apply(&own.flags, &settings), 0);
    assert_true(settings.training.batch_size == 5 && !settings.pipeline.auto_tune && settings.pipeline.allow_single);
    assert_int_equal(settings.pipeline.backend, MX_SETTINGS_BACKEND_CPU);
    /* a way to name devices replaces the others */
    assert_int_equal(mx_settings_put(&settings, "pipeline.device", "cpu:0"), 0);
    assert_int_equal(PARSE("--model-gpu", "2"), 0);
    assert_int_equal(mx_setting_flags_apply(&own.flags, &settings), 0);
    assert_string_equal(settings.pipeline.device, "");
    assert_true(settings.pipeline.model_gpu == 2 && settings.pipeline.data_gpu == -1);
    assert_int_equal(PARSE("--model-device", "cpu:1"), 0);
    assert_int_equal(mx_setting_flags_apply(&own.flags, &settings), 0);
    assert_string_equal(settings.pipeline.model_device, "cpu:1");
    assert_true(settings.pipeline.model_gpu == -1);
    mx_config_release(&mx_settings_schema, &settings);
    /* a value that may be left out */
    assert_int_equal(PARSE("--dashboard", "--json"), 0);
    assert_string_equal(mx_setting_flags_given(&own.flags, "training.dashboard"), "127.0.0.1:6007");
    assert_int_equal(PARSE("--dashboard", "off"), 0);
    assert_string_equal(mx_setting_flags_given(&own.flags, "training.dashboard"), "off");
}

static void test_settings_wrong(void **state)
{
    (void)state;
    assert_usage(PARSE("--batch-size", "-3"), "option '--batch-size' is '-3', which is out of range",
                 "from 0 to 65536");
    assert_usage(PARSE("--batch-size", "4x"), "option '--batch-size' is '4x', which is not a whole number", "65536");
    assert_usage(PARSE("--model-start-delay", "soon"), "option '--model-start-delay' is 'soon'", "seconds");
    assert_usage(PARSE("--backend", "cdua"), "which is not one of its choices", "did you mean 'cuda'? choices: auto");
    assert_usage(PARSE("--auto-tune", "true"), "which is not one of its choices", "choices: on, off");
    assert_usage(PARSE("--allow-single=on"), "option '--allow-single' takes no value", "alone");
    assert_usage(PARSE("--data-gpu"), "option '--data-gpu' needs a value", "write '--data-gpu N'");
    assert_usage(PARSE("--data-gpus", "1"), "unknown option '--data-gpus'", "did you mean '--data-gpu'?");
    assert_usage(PARSE("--device", "a name that is longer than any device's"), "which is too long", "31 bytes");
    assert_int_equal(own.flags.count, 0);
    mx_alloc_fail_at(1);
    const int rc = PARSE("--shares", "0:1");
    mx_alloc_fail_at(0);
    assert_int_equal(rc, MX_ERR_NO_MEMORY);
}

/* The line as it was given, without some options. */
static void lined(const char *expected, int count, const char *const *arguments)
{
    char *argv[MX_OPTION_LIST_MAX + 16];
    struct mx_string text = {0};
    static const char *const without[] = {"cpu-devices", "config", "verbose", NULL};
    const struct mx_option_group groups[MX_OPTION_GROUPS] = {
        {"Options", own_options, sizeof own_options / sizeof own_options[0], &own},
        {"All commands", shared_options, sizeof shared_options / sizeof shared_options[0], &shared}};
    memcpy(argv, arguments, (size_t)count * sizeof argv[0]);
    assert_int_equal(mx_options_line(groups, (struct mx_arguments){count, argv}, without, &text), 0);
    assert_string_equal(text.data, expected);
    mx_string_release(&text);
}
#define LINED(expected, ...)                                                                                           \
    lined(expected, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

static void test_line(void **state)
{
    (void)state;
    LINED(" --json a --set a.b=1 --log-level error", "--json", "--cpu-devices", "4", "a", "-n4", "-v", "--set", "a.b=1",
          "-c", "x", "--log-level", "error", "--config=y", "--cpu-devices=2");
    LINED(" --set \"a b\" --set \"it's\" --color=blue", "--set", "a b", "--set", "it's", "--color=blue", "-c", "");
    LINED(" --set 'a\"b' '$x' '\\' '!' 'it'\\''s $5' \"\"", "--set", "a\"b", "$x", "\\", "!", "it's $5", "");
    LINED(" -- -n 4", "-v", "--", "-n", "4");
    LINED(" آوا", "آوا");
    LINED(" --dashboard --json --allow-single --auto-tune off x", "--dashboard", "--json", "--allow-single", "-n", "4",
          "--auto-tune", "off", "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),     cmocka_unit_test(test_wrong),          cmocka_unit_test(test_help),
        cmocka_unit_test(test_settings), cmocka_unit_test(test_settings_wrong), cmocka_unit_test(test_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
