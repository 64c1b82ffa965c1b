/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Configuration: tables, defaults, names and values (see config.h). The YAML reader is config_yaml.c, the writer
 * config_write.c.
 *
 * Memory: a TEXT field's string belongs to the root; binding replaces and frees it.
 */
#include "base/config/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config/config_bind.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"

/* ---- walking ---- */

int mx_config_each(const struct mx_config_schema *schema,
                   int (*visit)(void *context, const struct mx_config_section *section,
                                const struct mx_config_field *field),
                   void *context)
{
    for (size_t s = 0; s < schema->count; s++)
        for (size_t f = 0; f < schema->sections[s].count; f++) {
            const int result = visit(context, &schema->sections[s], &schema->sections[s].fields[f]);
            if (result != 0) return result;
        }
    return 0;
}

static void *member_at(void *root, const struct mx_config_section *section, const struct mx_config_field *field)
{
    return (char *)root + section->offset + field->offset;
}

static const struct mx_config_section *section_find(const struct mx_config_schema *schema, const char *name)
{
    for (size_t s = 0; s < schema->count; s++)
        if (strcmp(schema->sections[s].name, name) == 0) return &schema->sections[s];
    return NULL;
}

/* Does the former name `alias` of a field in `section` mean section_name and key? */
static bool alias_matches(const char *alias, const struct mx_config_section *section, const char *section_name,
                          const char *key)
{
    const char *const dot = strchr(alias, '.');
    if (dot == NULL) return strcmp(section->name, section_name) == 0 && strcmp(alias, key) == 0;
    const size_t length = (size_t)(dot - alias);
    return strlen(section_name) == length && strncmp(alias, section_name, length) == 0 && strcmp(dot + 1, key) == 0;
}

bool mx_config_section_known(const struct mx_config_schema *schema, const char *name)
{
    if (section_find(schema, name) != NULL) return true;
    const size_t length = strlen(name);
    for (size_t s = 0; s < schema->count; s++)
        for (size_t f = 0; f < schema->sections[s].count; f++) {
            const char *const *alias = schema->sections[s].fields[f].aliases;
            for (; alias != NULL && *alias != NULL; alias++)
                if (strncmp(*alias, name, length) == 0 && (*alias)[length] == '.') return true;
        }
    return false;
}

const struct mx_config_field *mx_config_lookup(const struct mx_config_schema *schema,
                                               const struct mx_config_where *where, const char *section_name,
                                               const char *key, const struct mx_config_section **section)
{
    *section = section_find(schema, section_name);
    for (size_t f = 0; *section != NULL && f < (*section)->count; f++)
        if (strcmp((*section)->fields[f].key, key) == 0) return &(*section)->fields[f];
    for (size_t s = 0; s < schema->count; s++)
        for (size_t f = 0; f < schema->sections[s].count; f++) {
            const struct mx_config_section *const home = &schema->sections[s];
            const struct mx_config_field *const field = &home->fields[f];
            for (const char *const *alias = field->aliases; alias != NULL && *alias != NULL; alias++) {
                char place[MX_CONFIG_WHERE_BYTES];
                if (!alias_matches(*alias, home, section_name, key)) continue;
                if (where != NULL)
                    mx_warn("%s: '%s.%s' is a former name, write '%s.%s'", mx_config_where_text(where, place),
                            section_name, key, home->name, field->key);
                *section = home;
                return field;
            }
        }
    return NULL;
}

const struct mx_config_field *mx_config_find(const struct mx_config_schema *schema, const char *name,
                                             const struct mx_config_section **section)
{
    const struct mx_config_section *found = NULL;
    char section_name[MX_CONFIG_QUOTED_BYTES];
    const char *const dot = strchr(name, '.');
    if (dot == NULL || (size_t)(dot - name) >= sizeof section_name) return NULL;
    memcpy(section_name, name, (size_t)(dot - name));
    section_name[dot - name] = '\0';
    const struct mx_config_field *const field = mx_config_lookup(schema, NULL, section_name, dot + 1, &found);
    if (section != NULL) *section = field == NULL ? NULL : found;
    return field;
}

/* ---- messages ---- */

const char *mx_config_where_text(const struct mx_config_where *where, char out[MX_CONFIG_WHERE_BYTES])
{
    /* The end of a long path says more than its beginning. Control characters would break the one-line message. */
    const size_t most = MX_CONFIG_WHERE_BYTES - 24, length = strlen(where->source);
    size_t skip = length > most ? length - most : 0;
    while (skip > 0 && ((unsigned char)where->source[skip] & 0xC0) == 0x80) skip++;
    int used = snprintf(out, MX_CONFIG_WHERE_BYTES, "%s%s", skip > 0 ? "..." : "", where->source + skip);
    for (int i = 0; i < used; i++)
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7F) out[i] = '?';
    if (where->line > 0) snprintf(out + used, (size_t)(MX_CONFIG_WHERE_BYTES - used), ":%d", where->line);
    return out;
}

/* "a, b, c" from the names of an array of structs whose first member is the name, cut with "..." to fit. */
static void names_join(char *out, size_t size, const void *array, size_t count, size_t stride)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *const name = *(const char *const *)((const char *)array + i * stride);
        const size_t need = strlen(name) + (i > 0 ? 2 : 0);
        if (used + need + 6 > size) {
            snprintf(out + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", name);
    }
}

/* The first section that has this key, or NULL. */
static const struct mx_config_section *section_of_key(const struct mx_config_schema *schema, const char *key)
{
    for (size_t s = 0; s < schema->count; s++)
        for (size_t f = 0; f < schema->sections[s].count; f++)
            if (strcmp(schema->sections[s].fields[f].key, key) == 0) return &schema->sections[s];
    return NULL;
}

int mx_config_section_fail(const struct mx_config_schema *schema, const struct mx_config_where *where, const char *name)
{
    char place[MX_CONFIG_WHERE_BYTES], quoted[MX_CONFIG_QUOTED_BYTES], known[300];
    struct mx_string_nearest nearest;
    mx_string_nearest_start(&nearest, name);
    for (size_t s = 0; s < schema->count; s++) mx_string_nearest_offer(&nearest, schema->sections[s].name);
    MX_FAIL(MX_ERR_CONFIG, NULL, "%s: unknown section %s", mx_config_where_text(where, place),
            mx_string_quote(quoted, sizeof quoted, name));
    const struct mx_config_section *const home = section_of_key(schema, name);
    if (home != NULL) return mx_error_hint("'%s' is a key of section '%s'", name, home->name);
    if (mx_string_nearest_best(&nearest) != NULL)
        return mx_error_hint("did you mean '%s'?", mx_string_nearest_best(&nearest));
    names_join(known, sizeof known, schema->sections, schema->count, sizeof schema->sections[0]);
    return mx_error_hint("known sections: %s", known);
}

int mx_config_key_fail(const struct mx_config_schema *schema, const struct mx_config_where *where,
                       const char *section_name, const char *key)
{
    char place[MX_CONFIG_WHERE_BYTES], quoted[MX_CONFIG_QUOTED_BYTES], known[300];
    const struct mx_config_section *const section = section_find(schema, section_name);
    struct mx_string_nearest nearest;
    mx_string_nearest_start(&nearest, key);
    for (size_t f = 0; section != NULL && f < section->count; f++)
        mx_string_nearest_offer(&nearest, section->fields[f].key);
    MX_FAIL(MX_ERR_CONFIG, NULL, "%s: unknown key %s in section '%s'", mx_config_where_text(where, place),
            mx_string_quote(quoted, sizeof quoted, key), section_name);
    /* The right key in the wrong section is suggested before a similar key in this one. */
    const struct mx_config_section *const home = section_of_key(schema, key);
    if (home != NULL) return mx_error_hint("'%s' is a key of section '%s'", key, home->name);
    if (mx_string_nearest_best(&nearest) != NULL)
        return mx_error_hint("did you mean '%s'?", mx_string_nearest_best(&nearest));
    if (section == NULL || section->count == 0)
        names_join(known, sizeof known, schema->sections, schema->count, sizeof schema->sections[0]);
    else
        names_join(known, sizeof known, section->fields, section->count, sizeof section->fields[0]);
    return mx_error_hint("known %s: %s", section == NULL || section->count == 0 ? "sections" : "keys", known);
}

/* ---- names with an answer ---- */

const struct mx_config_answer *mx_config_answer_find(const struct mx_config_schema *schema, const char *section_name,
                                                     const char *key)
{
    for (size_t i = 0; i < schema->answer_count; i++) {
        const char *const name = schema->answers[i].name, *const dot = strchr(name, '.');
        const size_t length = dot == NULL ? 0 : (size_t)(dot - name);
        if (dot == NULL ? strcmp(name, key) == 0
                        : strlen(section_name) == length && strncmp(name, section_name, length) == 0 &&
                              strcmp(dot + 1, key) == 0)
            return &schema->answers[i];
    }
    return NULL;
}

/* Is `text` the value `accepted`, however it is written? */
static bool answer_accepts(const char *accepted, const char *text)
{
    bool wanted, given;
    double number, real;
    if (mx_string_parse_bool(accepted, &wanted)) return mx_string_parse_bool(text, &given) && given == wanted;
    if (mx_string_parse_double(accepted, &number) == MX_STRING_NUMBER)
        return mx_string_parse_double(text, &real) == MX_STRING_NUMBER && real == number;
    return strcmp(accepted, text) == 0;
}

int mx_config_answer_apply(const struct mx_config_where *where, const struct mx_config_answer *answer,
                           const char *section_name, const char *key, const char *text)
{
    char place[MX_CONFIG_WHERE_BYTES], quoted[MX_CONFIG_QUOTED_BYTES];
    mx_config_where_text(where, place);
    if (answer->accepted != NULL && answer_accepts(answer->accepted, text)) {
        mx_info("%s: '%s.%s' changes nothing: %s", place, section_name, key, answer->reason);
        return 0;
    }
    MX_FAIL(MX_ERR_CONFIG, NULL, "%s: '%s.%s' cannot be %s: %s", place, section_name, key,
            mx_string_quote(quoted, sizeof quoted, text), answer->reason);
    if (answer->accepted == NULL) return mx_error_hint("leave '%s' out", key);
    return mx_error_hint("leave '%s' out, or write '%s'", key, answer->accepted);
}

/* ---- what a field takes ---- */

static size_t choice_count(const struct mx_config_choice *choices)
{
    size_t count = 0;
    while (choices[count].name != NULL) count++;
    return count;
}

enum phrase { BOOL, INT, DOUBLE_RANGED, DOUBLE, STRING, TEXT, ENUM, LIMITS };

const char *const mx_config_phrases[] = {
    [BOOL] = "true or false",
    [INT] = "a whole number from {0} to {1}",
    [DOUBLE_RANGED] = "a number from {0} to {1}",
    [DOUBLE] = "a number",
    [STRING] = "text of at most {0} bytes",
    [TEXT] = "text",
    [ENUM] = "one of: {0}",
    [LIMITS] = MX_CONFIG_LIMITS,
    NULL,
};

int mx_config_expects(const struct mx_config_field *field, enum mx_words language, struct mx_string *out)
{
    char low[MX_STRING_DOUBLE_BYTES] = "", high[MX_STRING_DOUBLE_BYTES] = "", names[200] = "";
    enum phrase phrase = TEXT;
    switch (field->type) {
    case MX_CONFIG_TYPE_BOOL:
        phrase = BOOL;
        break;
    case MX_CONFIG_TYPE_INT:
        phrase = INT;
        snprintf(low, sizeof low, "%" PRId64, field->int_min);
        snprintf(high, sizeof high, "%" PRId64, field->int_max);
        break;
    case MX_CONFIG_TYPE_DOUBLE:
        phrase = field->ranged ? DOUBLE_RANGED : DOUBLE;
        mx_string_from_double(field->double_min, low);
        mx_string_from_double(field->double_max, high);
        break;
    case MX_CONFIG_TYPE_STRING:
        phrase = STRING;
        snprintf(low, sizeof low, "%zu", field->size - 1);
        break;
    case MX_CONFIG_TYPE_TEXT:
        break;
    case MX_CONFIG_TYPE_ENUM:
        phrase = ENUM;
        names_join(names, sizeof names, field->choices, choice_count(field->choices), sizeof field->choices[0]);
        break;
    }
    mx_catalogue_format(out, language, mx_config_phrases[phrase],
                        (const char *const[]){phrase == ENUM ? names : low, high});
    if (field->unit != NULL) mx_string_append(out, " %s", mx_catalogue_find(language, field->unit));
    return out->failure;
}

/* ---- values ---- */

/* What a value is being bound to; keeps the failing branches short. */
struct binding {
    const struct mx_config_where *where;
    const struct mx_config_section *section;
    const struct mx_config_field *field;
    const char *text;
    enum mx_config_style style;
};

static int value_fail(const struct binding *b, const char *problem, const char *advice)
{
    char place[MX_CONFIG_WHERE_BYTES], quoted[MX_CONFIG_QUOTED_BYTES], name[MX_CONFIG_QUOTED_BYTES];
    struct mx_string expects = {0};
    int rc = mx_config_expects(b->field, MX_WORDS_ENGLISH, &expects);
    if (rc < 0) goto out;
    mx_string_quote(quoted, sizeof quoted, b->text);
    if (b->where->flag != NULL)
        MX_FAIL(MX_ERR_USAGE, NULL, "option '--%s' is %s, which is %s", b->where->flag, quoted, problem);
    else
        MX_FAIL(MX_ERR_CONFIG, NULL, "%s: '%s.%s' is %s, which is %s", mx_config_where_text(b->where, place),
                b->section->name, b->field->key, quoted, problem);
    snprintf(name, sizeof name, "'%s.%s' takes", b->section->name, b->field->key);
    rc = mx_error_hint("%s%s%s %s (default %s)", advice,
                       advice[0] == '\0'             ? ""
                       : strchr(advice, '?') == NULL ? "; "
                                                     : " ",
                       b->where->flag != NULL ? name : "expected", expects.data, b->field->fallback);
out:
    mx_string_release(&expects);
    return rc;
}

/* Why is this not a number? Advice for the commonest reasons. */
static const char *number_advice(const struct binding *b)
{
    if (b->style == MX_CONFIG_QUOTED) return "remove the quotes";
    if (strchr(b->text, '_') != NULL || strchr(b->text, ',') != NULL) return "write the digits without '_' or ','";
    if (strchr(b->text, ' ') != NULL || strpbrk(b->text, "kKmMgG%") != NULL) return "write the number alone";
    return "";
}

static int int_bind(const struct binding *b, int64_t *out)
{
    int64_t value = 0;
    double real = 0;
    char advice[64];
    const enum mx_string_number result =
        b->style == MX_CONFIG_QUOTED ? MX_STRING_SYNTAX : mx_string_parse_int64(b->text, &value);
    if (result == MX_STRING_TOO_BIG) return value_fail(b, "out of range", "");
    if (result == MX_STRING_SYNTAX) {
        if (b->style != MX_CONFIG_QUOTED && mx_string_parse_double(b->text, &real) == MX_STRING_NUMBER &&
            real == trunc(real) && fabs(real) < 1e15) {
            snprintf(advice, sizeof advice, "write it out as %" PRId64, (int64_t)real);
            return value_fail(b, "not a whole number", advice);
        }
        return value_fail(b, "not a whole number", number_advice(b));
    }
    if (value < b->field->int_min || value > b->field->int_max) return value_fail(b, "out of range", "");
    *out = value;
    return 0;
}

static int double_bind(const struct binding *b, double *out)
{
    double value = 0;
    const enum mx_string_number result =
        b->style == MX_CONFIG_QUOTED ? MX_STRING_SYNTAX : mx_string_parse_double(b->text, &value);
    if (result == MX_STRING_SYNTAX) return value_fail(b, "not a number", number_advice(b));
    if (result == MX_STRING_TOO_BIG) return value_fail(b, "beyond what a double can hold", "");
    /* Written so that nan fails. */
    if (b->field->ranged && !(isfinite(value) && value >= b->field->double_min && value <= b->field->double_max))
        return value_fail(b, isfinite(value) ? "out of range" : "not a finite number", "");
    *out = value;
    return 0;
}

static int enum_bind(const struct binding *b, int *out)
{
    char advice[128] = "";
    struct mx_string_nearest nearest;
    mx_string_nearest_start(&nearest, b->text);
    for (const struct mx_config_choice *choice = b->field->choices; choice->name != NULL; choice++) {
        if (strcmp(choice->name, b->text) == 0) {
            *out = choice->value;
            return 0;
        }
        mx_string_nearest_offer(&nearest, choice->name);
    }
    if (mx_string_nearest_best(&nearest) != NULL)
        snprintf(advice, sizeof advice, "did you mean '%s'?", mx_string_nearest_best(&nearest));
    return value_fail(b, "not one of the choices", advice);
}

/* A fixed array or an owned string; `root` memory is changed only when all is well. */
static int string_bind(const struct binding *b, void *member)
{
    const size_t length = strlen(b->text);
    if (b->style == MX_CONFIG_LITERAL && mx_utf8_check(b->text, length) != length)
        return value_fail(b, "not valid UTF-8", "");
    if (b->field->type == MX_CONFIG_TYPE_STRING) {
        if (length >= b->field->size) return value_fail(b, "too long", "");
        memset(member, 0, b->field->size); /* no bytes of a longer former value remain */
        memcpy(member, b->text, length);
        return 0;
    }
    char *const copy = mx_strdup(b->text);
    if (copy == NULL) return MX_ERR_NO_MEMORY;
    mx_free(*(char **)member);
    *(char **)member = copy;
    return 0;
}

int mx_config_bind(const struct mx_config_where *where, const struct mx_config_section *section,
                   const struct mx_config_field *field, void *root, const char *text, enum mx_config_style style)
{
    const struct binding b = {where, section, field, text, style};
    void *const member = member_at(root, section, field);
    /* A key with nothing after it, in a file, is more likely an unfinished line than a wish for the empty text. */
    static const char *const nothings[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; style == MX_CONFIG_PLAIN && i < sizeof nothings / sizeof nothings[0]; i++)
        if (strcmp(text, nothings[i]) == 0)
            return value_fail(&b, "no value", "remove the line to use the default, or write \"\" for an empty text");
    switch (field->type) {
    case MX_CONFIG_TYPE_BOOL:
        if (style == MX_CONFIG_QUOTED || !mx_string_parse_bool(text, member))
            return value_fail(&b, "neither true nor false", style == MX_CONFIG_QUOTED ? "remove the quotes" : "");
        return 0;
    case MX_CONFIG_TYPE_INT:
        return int_bind(&b, member);
    case MX_CONFIG_TYPE_DOUBLE:
        return double_bind(&b, member);
    case MX_CONFIG_TYPE_STRING:
    case MX_CONFIG_TYPE_TEXT:
        return string_bind(&b, member);
    case MX_CONFIG_TYPE_ENUM:
        return enum_bind(&b, member);
    }
    return MX_FAIL(MX_ERR_INTERNAL, NULL, "'%s.%s' has unknown type %d", section->name, field->key, (int)field->type);
}

/* ---- defaults, overrides, release ---- */

/* The strings are made NULL first, so that a failure half-way leaves nothing to guess. */
static int text_clear(void *root, const struct mx_config_section *section, const struct mx_config_field *field)
{
    if (field->type == MX_CONFIG_TYPE_TEXT) *(char **)member_at(root, section, field) = NULL;
    return 0;
}

static int text_free(void *root, const struct mx_config_section *section, const struct mx_config_field *field)
{
    if (field->type != MX_CONFIG_TYPE_TEXT) return 0;
    mx_free(*(char **)member_at(root, section, field));
    return text_clear(root, section, field);
}

static int default_bind(void *root, const struct mx_config_section *section, const struct mx_config_field *field)
{
    const struct mx_config_where where = {.source = "default"};
    const int rc = mx_config_bind(&where, section, field, root, field->fallback, MX_CONFIG_LITERAL);
    if (rc == MX_ERR_CONFIG)
        return MX_FAIL(MX_ERR_INTERNAL, "this is a mistake in the program: please report it",
                       "the default of '%s.%s' is refused by its own table", section->name, field->key);
    return rc;
}

int mx_config_defaults(const struct mx_config_schema *schema, void *root)
{
    mx_config_each(schema, text_clear, root);
    const int rc = mx_config_each(schema, default_bind, root);
    if (rc < 0) mx_config_release(schema, root);
    return rc;
}

void mx_config_release(const struct mx_config_schema *schema, void *root)
{
    mx_config_each(schema, text_free, root);
}

/* "batch_size=4": the section is missing; which it is, the key says, or the one that is most like it. */
static int section_missing(const struct mx_config_schema *schema, const struct mx_config_where *where,
                           const char *assignment, const char *equals)
{
    char place[MX_CONFIG_WHERE_BYTES], key[64];
    struct mx_string_nearest nearest;
    snprintf(key, sizeof key, "%.*s", (int)(equals - assignment < 63 ? equals - assignment : 63), assignment);
    mx_string_nearest_start(&nearest, key);
    for (size_t s = 0; s < schema->count; s++)
        for (size_t f = 0; f < schema->sections[s].count; f++)
            mx_string_nearest_offer(&nearest, schema->sections[s].fields[f].key);
    const char *const best = section_of_key(schema, key) != NULL ? key : mx_string_nearest_best(&nearest);
    MX_FAIL(MX_ERR_CONFIG, NULL, "%s: the section of the setting is missing", mx_config_where_text(where, place));
    if (best == NULL) return mx_error_hint("write section.key=value, without spaces around '='");
    return mx_error_hint("did you mean '%s.%s%s'?", section_of_key(schema, best)->name, best, equals);
}

int mx_config_set(const struct mx_config_schema *schema, void *root, const char *assignment)
{
    int rc = 0;
    char place[MX_CONFIG_WHERE_BYTES];
    const struct mx_config_section *section = NULL;
    const struct mx_config_field *field = NULL;
    const char *key = NULL;
    char *names = NULL;
    char *const source = mx_format("--set %s", assignment);
    const struct mx_config_where where = {.source = source};
    if (source == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const char *const equals = strchr(assignment, '=');
    const char *const dot = strchr(assignment, '.');
    if (equals != NULL && equals > assignment && (dot == NULL || dot > equals))
        MX_TRY(section_missing(schema, &where, assignment, equals));
    if (equals == NULL || dot == NULL || dot > equals || dot == assignment || dot + 1 == equals)
        MX_RAISE(MX_ERR_CONFIG, "write section.key=value, without spaces around '='", "%s: not an assignment",
                 mx_config_where_text(&where, place));
    names = mx_strndup(assignment, (size_t)(equals - assignment));
    if (names == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    names[dot - assignment] = '\0';
    key = names + (dot - assignment) + 1;
    if (!mx_config_section_known(schema, names)) MX_TRY(mx_config_section_fail(schema, &where, names));
    field = mx_config_lookup(schema, &where, names, key, &section);
    if (field == NULL) {
        const struct mx_config_answer *const answer = mx_config_answer_find(schema, names, key);
        rc = answer != NULL ? mx_config_answer_apply(&where, answer, names, key, equals + 1)
                            : mx_config_key_fail(schema, &where, names, key);
        goto out;
    }
    MX_TRY(mx_config_bind(&where, section, field, root, equals + 1, MX_CONFIG_LITERAL));
out:
    mx_free(names);
    mx_free(source);
    return rc;
}

int mx_config_set_flag(const struct mx_config_section *section, const struct mx_config_field *field, void *root,
                       const char *text)
{
    const struct mx_config_where where = {.flag = field->flag};
    if (root != NULL) return mx_config_bind(&where, section, field, root, text, MX_CONFIG_LITERAL);
    /* The same into a struct of this one field. */
    const struct mx_config_section alone = {.name = section->name};
    struct mx_config_field copy = *field;
    copy.offset = 0;
    void *const member = mx_alloc(1, field->size);
    if (member == NULL) return MX_ERR_NO_MEMORY;
    const int rc = mx_config_bind(&where, &alone, &copy, member, text, MX_CONFIG_LITERAL);
    text_free(member, &alone, &copy);
    mx_free(member);
    return rc;
}
