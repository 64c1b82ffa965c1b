/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of all commands and the schema of settings fit together: every element of a table leads to options, names
 * are unique, and train has every flag that the schema has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/command.h"

#define NAMES_MAX 256

/* The options of a command and those of the whole program. */
static size_t names_of(const struct mx_command *command, const char *names[NAMES_MAX])
{
    size_t used = 0, global_count = 0;
    struct mx_option option;
    const struct mx_option *const globals = mx_command_globals(&global_count);
    struct mx_option_walk walks[] = {{command->options, command->option_count, 0, 0}, {globals, global_count, 0, 0}};
    for (int i = 0; i < 2; i++)
        while (mx_option_next(&walks[i], &option)) {
            if (option.help == NULL || option.help[0] == '\0') fail_msg("--%s has no help", option.name);
            assert_true(used < NAMES_MAX);
            names[used++] = option.name;
        }
    return used;
}

static void test_tables(void **state)
{
    (void)state;
    size_t count = 0;
    const struct mx_command *const *const commands = mx_command_all(&count);
    for (size_t c = 0; c < count; c++) {
        const char *names[NAMES_MAX];
        const size_t used = names_of(commands[c], names);
        for (size_t i = 0; i < used; i++)
            for (size_t j = i + 1; j < used; j++)
                if (strcmp(names[i], names[j]) == 0) fail_msg("%s has --%s twice", commands[c]->name, names[i]);
        for (size_t i = 0; i < commands[c]->option_count; i++) {
            struct mx_option option;
            struct mx_option_walk walk = {&commands[c]->options[i], 1, 0, 0};
            if (!mx_option_next(&walk, &option))
                fail_msg("%s: '%s' has no flag", commands[c]->name, commands[c]->options[i].setting);
        }
    }
}

struct look {
    const char *names[NAMES_MAX]; /* of train's options */
    size_t count, flags;
};

static int flag_look(void *context, const struct mx_config_section *section, const struct mx_config_field *field)
{
    struct look *const look = context;
    bool found = field->flag == NULL;
    for (size_t i = 0; !found && i < look->count; i++) found = strcmp(look->names[i], field->flag) == 0;
    if (!found) fail_msg("train has no --%s for %s.%s", field->flag, section->name, field->key);
    look->flags += field->flag != NULL;
    return 0;
}

static void test_train(void **state)
{
    (void)state;
    struct look look = {.flags = 0};
    look.count = names_of(&mx_command_train, look.names);
    assert_int_equal(mx_config_each(&mx_settings_schema, flag_look, &look), 0);
    assert_true(look.flags >= 40 && look.flags <= MX_OPTION_SETTINGS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_train),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
