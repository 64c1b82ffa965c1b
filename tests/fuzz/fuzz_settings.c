/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for settings: any bytes as a YAML file, or as one --set, of the settings of the program. What is
 * refused is refused in words; what is accepted is written and read back the same; and settings are valid in either
 * case. Built with clang -fsanitize=fuzzer,address,undefined.
 *
 * An even first byte makes the rest a file, an odd one makes it an assignment.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "fuzz.h"
#include "myxtts/error.h"
#include "run/settings.h"

/* The settings as a file give the same file again. */
static void check_settings(const struct mx_settings *settings)
{
    struct mx_settings again;
    char *const text = mx_config_format(&mx_settings_schema, settings);
    check(text != NULL);
    check(mx_config_defaults(&mx_settings_schema, &again) == 0);
    check(mx_config_load_text(&mx_settings_schema, &again, "again", text, strlen(text)) == 0);
    char *const second = mx_config_format(&mx_settings_schema, &again);
    check(second != NULL && strcmp(text, second) == 0);
    mx_free(text);
    mx_free(second);
    mx_config_release(&mx_settings_schema, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mx_settings settings;
    if (size == 0) return 0;
    char *const text = malloc(size);
    check(text != NULL && mx_config_defaults(&mx_settings_schema, &settings) == 0);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    const int rc = data[0] % 2 == 0 ? mx_config_load_text(&mx_settings_schema, &settings, "fuzz.yaml", text, size - 1)
                                    : mx_config_set(&mx_settings_schema, &settings, text);
    const struct mx_error *const error = mx_error_last();
    check(rc == 0 || (rc < 0 && error->message[0] != '\0' && error->hint[0] != '\0'));
    char *const valid = mx_config_format(&mx_settings_schema, &settings);
    check(valid != NULL);
    mx_free(valid);
    if (rc == 0) check_settings(&settings);
    if (rc == 0 && mx_settings_complete(&settings) == 0) check_settings(&settings);
    mx_config_release(&mx_settings_schema, &settings);
    free(text);
    return 0;
}
