/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Configuration: the writer. Every section and key, with help, range, choices and default as comments.
 *
 * What is written reads back as the same bits: doubles in their shortest exact form, strings always in double quotes
 * with escapes for everything that YAML does not take literally.
 *
 * Memory: the text is built in a struct mx_string and handed to the caller.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config/config.h"
#include "base/config/config_bind.h"
#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"

#define LINE_COLUMNS 100

static void comment_append(struct mx_string *out, const char *prefix, const char *sentence)
{
    mx_string_append(out, "%s", prefix);
    mx_string_append_wrapped(out, sentence, strlen(prefix), LINE_COLUMNS, prefix);
    mx_string_append(out, "\n");
}

/* Characters that YAML lets stand in a double-quoted text, apart from the quote and the backslash. Line breaks of any
 * kind are escaped, because YAML folds them. */
static bool stands_plain(uint32_t code)
{
    if (code == 0x2028 || code == 0x2029) return false;
    return (code >= 0x20 && code <= 0x7E) || (code >= 0xA0 && code <= 0xD7FF) ||
           (code >= 0xE000 && code <= 0xFFFD && code != 0xFEFF) || code >= 0x10000;
}

static int string_append(struct mx_string *out, const char *text, const struct mx_config_section *section,
                         const struct mx_config_field *field)
{
    const size_t length = strlen(text);
    if (mx_utf8_check(text, length) != length)
        return MX_FAIL(MX_ERR_CONFIG, "use names in UTF-8", "'%s.%s' is not valid UTF-8 and cannot be written",
                       section->name, field->key);
    mx_string_append(out, "\"");
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        const size_t step = mx_utf8_decode(text + at, &code);
        if (code == '"' || code == '\\')
            mx_string_append(out, "\\%c", (int)code);
        else if (code == '\n')
            mx_string_append(out, "\\n");
        else if (code == '\t')
            mx_string_append(out, "\\t");
        else if (stands_plain(code))
            mx_string_append(out, "%.*s", (int)step, text + at);
        else
            mx_string_append(out, code < 0x100 ? "\\x%02" PRIX32 : "\\u%04" PRIX32, code);
        at += step;
    }
    return mx_string_append(out, "\"");
}

static int enum_append(struct mx_string *out, int value, const struct mx_config_section *section,
                       const struct mx_config_field *field)
{
    for (const struct mx_config_choice *choice = field->choices; choice->name != NULL; choice++)
        if (choice->value == value) return mx_string_append(out, "%s", choice->name);
    return MX_FAIL(MX_ERR_INTERNAL, "this is a mistake in the program: please report it",
                   "'%s.%s' holds %d, which is not one of its choices", section->name, field->key, value);
}

static int value_append(struct mx_string *out, const void *member, const struct mx_config_section *section,
                        const struct mx_config_field *field)
{
    char number[MX_STRING_DOUBLE_BYTES];
    switch (field->type) {
    case MX_CONFIG_TYPE_BOOL:
        return mx_string_append(out, "%s", *(const bool *)member ? "true" : "false");
    case MX_CONFIG_TYPE_INT:
        return mx_string_append(out, "%" PRId64, *(const int64_t *)member);
    case MX_CONFIG_TYPE_DOUBLE:
        mx_string_from_double(*(const double *)member, number);
        break;
    case MX_CONFIG_TYPE_STRING:
        return string_append(out, member, section, field);
    case MX_CONFIG_TYPE_TEXT:
        return string_append(out, *(char *const *)member, section, field);
    case MX_CONFIG_TYPE_ENUM:
        return enum_append(out, *(const int *)member, section, field);
    }
    return mx_string_append(out, "%s", number);
}

static int field_append(struct mx_string *out, enum mx_words language, const void *root,
                        const struct mx_config_section *section, const struct mx_config_field *field)
{
    int rc = 0;
    struct mx_string expects = {0}, limits = {0};
    comment_append(out, "  # ", mx_catalogue_find(language, field->help));
    for (const struct mx_config_choice *c = field->choices; c != NULL && c->name != NULL; c++) {
        if (c->help == NULL) continue;
        mx_string_append(out, "  #   %s: ", c->name);
        mx_string_append_wrapped(out, mx_catalogue_find(language, c->help), strlen(c->name) + 8, LINE_COLUMNS,
                                 "  #     ");
        mx_string_append(out, "\n");
    }
    MX_TRY(mx_config_expects(field, language, &expects));
    MX_TRY(mx_catalogue_format(
        &limits, language, MX_CONFIG_LIMITS,
        (const char *const[]){expects.data, field->fallback[0] == '\0' ? "\"\"" : field->fallback}));
    comment_append(out, "  # ", limits.data);
    mx_string_append(out, "  %s: ", field->key);
    MX_TRY(value_append(out, (const char *)root + section->offset + field->offset, section, field));
    MX_TRY(mx_string_append(out, "\n"));
out:
    mx_string_release(&expects);
    mx_string_release(&limits);
    return rc;
}

static int schema_append(struct mx_string *out, enum mx_words language, const struct mx_config_schema *schema,
                         const void *root)
{
    int rc = 0;
    comment_append(out, "# ", mx_catalogue_find(language, schema->title));
    for (size_t s = 0; s < schema->count; s++) {
        const struct mx_config_section *const section = &schema->sections[s];
        mx_string_append(out, "\n");
        comment_append(out, "# ", mx_catalogue_find(language, section->help));
        mx_string_append(out, "%s:\n", section->name);
        for (size_t f = 0; f < section->count; f++)
            MX_TRY(field_append(out, language, root, section, &section->fields[f]));
    }
    rc = out->failure;
out:
    return rc;
}

char *mx_config_format_in(const struct mx_config_schema *schema, const void *root, enum mx_words language)
{
    struct mx_string out = {0};
    if (schema_append(&out, language, schema, root) < 0) {
        mx_string_release(&out);
        return NULL;
    }
    return out.data;
}

char *mx_config_format(const struct mx_config_schema *schema, const void *root)
{
    return mx_config_format_in(schema, root, MX_WORDS_ENGLISH);
}

int mx_config_write(const struct mx_config_schema *schema, const void *root, const char *path)
{
    char *const text = mx_config_format(schema, root);
    if (text == NULL) return mx_error_last()->code;
    const int rc = mx_file_write_atomic(path, text, strlen(text));
    mx_free(text);
    return rc;
}
