/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Configuration: the YAML reader (see config.h for the subset of YAML that is accepted).
 *
 * The events of libyaml are bound to fields as they arrive: root mapping, section mappings, scalars. Nothing nests
 * deeper, so nothing recurses and no document tree is built; aliases are refused when they are seen, so nothing can
 * expand.
 *
 * Memory: the reader owns the libyaml parser, the current event and the table of lines; all are released at the end of
 * one load.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/config/config_bind.h"
#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"

struct reader {
    const struct mx_config_schema *schema;
    void *root;
    const char *source;
    const char *text;
    size_t length;
    yaml_parser_t parser;
    yaml_event_t event; /* type YAML_NO_EVENT when there is none */
    int *lines;         /* first line of each section, then of each field in schema order; 0: not seen yet */
};

static int line_of(size_t zero_based)
{
    return zero_based >= INT_MAX ? INT_MAX : (int)zero_based + 1;
}

static int line_at_offset(const char *text, size_t offset)
{
    size_t line = 0;
    for (size_t i = 0; i < offset; i++) line += text[i] == '\n';
    return line_of(line);
}

static struct mx_config_where where_here(const struct reader *r)
{
    return (struct mx_config_where){.source = r->source, .line = line_of(r->event.start_mark.line)};
}

/* MX_ERR_CONFIG at the given line. */
static int fail_at(const struct reader *r, int line, const char *problem, const char *hint)
{
    char place[MX_CONFIG_WHERE_BYTES];
    const struct mx_config_where where = {.source = r->source, .line = line};
    return MX_FAIL(MX_ERR_CONFIG, hint, "%s: %s", mx_config_where_text(&where, place), problem);
}

/* ---- syntax ---- */

static bool line_has_leading_tab(const struct reader *r, size_t line)
{
    const char *at = r->text, *const end = r->text + r->length;
    for (; line > 0 && at < end; at++) line -= *at == '\n';
    for (; at < end && (*at == ' ' || *at == '\t'); at++)
        if (*at == '\t') return true;
    return false;
}

static int syntax_fail(const struct reader *r)
{
    char problem[160];
    const char *hint = "check the indentation and the quotes near this line";
    const char *const reason = r->parser.problem == NULL ? "unreadable" : r->parser.problem;
    snprintf(problem, sizeof problem, "not valid YAML: %s", reason);
    if (r->parser.error == YAML_MEMORY_ERROR)
        return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs", "out of memory while reading '%s'", r->source);
    if (r->parser.error == YAML_READER_ERROR) {
        const size_t offset = r->parser.problem_offset < r->length ? r->parser.problem_offset : r->length;
        return fail_at(r, line_at_offset(r->text, offset), problem, "remove the control character; save as plain text");
    }
    if (line_has_leading_tab(r, r->parser.problem_mark.line))
        hint = "indent with spaces, not tabs";
    else if (strstr(reason, "mapping values") != NULL)
        hint = "check the indentation, and put quotes around a value that contains ': '";
    else if (strstr(reason, "expected ':'") != NULL)
        hint = "write 'key: value', with a space after the colon";
    return fail_at(r, line_of(r->parser.problem_mark.line), problem, hint);
}

/* The next event, with what no event of ours may carry refused. */
static int advance(struct reader *r)
{
    yaml_event_delete(&r->event);
    r->event.type = YAML_NO_EVENT;
    if (!yaml_parser_parse(&r->parser, &r->event)) return syntax_fail(r);
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        anchor = r->event.data.scalar.anchor;
        tag = r->event.data.scalar.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = r->event.data.mapping_start.anchor;
        tag = r->event.data.mapping_start.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = r->event.data.sequence_start.anchor;
        tag = r->event.data.sequence_start.tag;
        break;
    case YAML_ALIAS_EVENT:
        anchor = r->event.data.alias.anchor;
        break;
    default:
        break;
    }
    if (anchor != NULL)
        return fail_at(r, where_here(r).line, "anchors (&name) and aliases (*name) are not supported",
                       "write the value out; quote a text that begins with '&' or '*'");
    if (tag != NULL)
        return fail_at(r, where_here(r).line, "tags (!name) are not supported",
                       "write the plain value; quote a text that begins with '!'");
    return 0;
}

/* The text of a scalar event, which ends at its first zero byte only if that is its end. */
static int scalar_text(const struct reader *r, const char **text)
{
    *text = (const char *)r->event.data.scalar.value;
    if (strlen(*text) != r->event.data.scalar.length)
        return fail_at(r, where_here(r).line, "a text contains a zero byte", "remove the \\0 or \\x00");
    return 0;
}

static bool scalar_is_plain(const struct reader *r)
{
    return r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool scalar_is_null(const struct reader *r)
{
    const char *const text = (const char *)r->event.data.scalar.value;
    return scalar_is_plain(r) && (text[0] == '\0' || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0);
}

/* ---- structure ---- */

static int seen_once(struct reader *r, size_t slot, const char *what, const char *section, const char *key)
{
    char problem[256];
    const int line = where_here(r).line;
    if (r->lines[slot] != 0) {
        snprintf(problem, sizeof problem, "%s '%s%s%s' is given twice, first in line %d", what, section,
                 key[0] == '\0' ? "" : ".", key, r->lines[slot]);
        return fail_at(r, line, problem, "keep one of the two");
    }
    r->lines[slot] = line;
    return 0;
}

static size_t field_slot(const struct reader *r, const struct mx_config_section *section,
                         const struct mx_config_field *field)
{
    size_t slot = r->schema->count;
    for (const struct mx_config_section *s = r->schema->sections; s != section; s++) slot += s->count;
    return slot + (size_t)(field - section->fields);
}

/* Current event: the value of a field. */
static int value_read(struct reader *r, const struct mx_config_section *section, const struct mx_config_field *field)
{
    char problem[256];
    const char *text = NULL;
    int rc = 0;
    if (r->event.type != YAML_SCALAR_EVENT) {
        struct mx_string hint = {0};
        mx_string_append(&hint, "expected ");
        mx_config_expects(field, MX_WORDS_ENGLISH, &hint);
        rc = mx_string_append(&hint, " (default %s)", field->fallback);
        snprintf(problem, sizeof problem, "'%s.%s' is a %s, not a single value", section->name, field->key,
                 r->event.type == YAML_SEQUENCE_START_EVENT ? "list" : "mapping");
        if (rc == 0) rc = fail_at(r, where_here(r).line, problem, hint.data);
        mx_string_release(&hint);
        return rc;
    }
    rc = scalar_text(r, &text);
    if (rc < 0) return rc;
    const struct mx_config_where where = where_here(r);
    return mx_config_bind(&where, section, field, r->root, text,
                          scalar_is_plain(r) ? MX_CONFIG_PLAIN : MX_CONFIG_QUOTED);
}

/* Current event: a key that no field has, at `where`. Ends on its value. */
static int unknown_read(struct reader *r, const struct mx_config_where *where, const char *name, const char *key)
{
    int rc = 0;
    const char *text = NULL;
    const struct mx_config_answer *const answer = mx_config_answer_find(r->schema, name, key);
    if (answer == NULL) return mx_config_key_fail(r->schema, where, name, key);
    char *const copy = mx_strdup(key); /* the next event takes the key away */
    if (copy == NULL) return MX_ERR_NO_MEMORY;
    MX_TRY(advance(r));
    if (r->event.type != YAML_SCALAR_EVENT) {
        rc = mx_config_answer_apply(where, answer, name, copy,
                                    r->event.type == YAML_SEQUENCE_START_EVENT ? "a list" : "a mapping");
        goto out;
    }
    MX_TRY(scalar_text(r, &text));
    MX_TRY(mx_config_answer_apply(where, answer, name, copy, text));
out:
    mx_free(copy);
    return rc;
}

/* Current event: start of a section's mapping. Ends on the end of that mapping. `name` outlives the events. */
static int section_read(struct reader *r, const char *name)
{
    int rc = 0;
    for (;;) {
        const struct mx_config_section *section = NULL;
        const struct mx_config_field *field = NULL;
        const char *key = NULL;
        MX_TRY(advance(r));
        if (r->event.type == YAML_MAPPING_END_EVENT) break;
        if (r->event.type != YAML_SCALAR_EVENT) {
            rc = fail_at(r, where_here(r).line, "a key is a list or a mapping", "write 'key: value'");
            goto out;
        }
        MX_TRY(scalar_text(r, &key));
        const struct mx_config_where where = where_here(r);
        field = mx_config_lookup(r->schema, &where, name, key, &section);
        if (field == NULL) {
            MX_TRY(unknown_read(r, &where, name, key));
            continue;
        }
        MX_TRY(seen_once(r, field_slot(r, section, field), "key", section->name, field->key));
        MX_TRY(advance(r));
        MX_TRY(value_read(r, section, field));
    }
out:
    return rc;
}

/* Current event: start of the root mapping. Ends on its end. */
static int root_read(struct reader *r)
{
    int rc = 0;
    char *name = NULL;
    for (;;) {
        const char *key = NULL;
        char problem[200], quoted[MX_CONFIG_QUOTED_BYTES];
        MX_TRY(advance(r));
        if (r->event.type == YAML_MAPPING_END_EVENT) break;
        if (r->event.type != YAML_SCALAR_EVENT) {
            rc = fail_at(r, where_here(r).line, "a section name is a list or a mapping", "write 'section:'");
            goto out;
        }
        MX_TRY(scalar_text(r, &key));
        const struct mx_config_where where = where_here(r);
        if (!mx_config_section_known(r->schema, key)) MX_TRY(mx_config_section_fail(r->schema, &where, key));
        mx_free(name);
        name = mx_strdup(key);
        if (name == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        for (size_t s = 0; s < r->schema->count; s++)
            if (strcmp(r->schema->sections[s].name, name) == 0) MX_TRY(seen_once(r, s, "section", name, ""));
        MX_TRY(advance(r));
        if (r->event.type == YAML_SCALAR_EVENT && scalar_is_null(r)) continue; /* all its lines are comments */
        if (r->event.type != YAML_MAPPING_START_EVENT) {
            const bool list = r->event.type == YAML_SEQUENCE_START_EVENT;
            snprintf(problem, sizeof problem, "section '%s' is %s, not a mapping", name,
                     list ? "a list"
                          : mx_string_quote(quoted, sizeof quoted, (const char *)r->event.data.scalar.value));
            rc = fail_at(r, where_here(r).line, problem,
                         "write its keys below it, indented: 'key: value' with a space after the colon");
            goto out;
        }
        MX_TRY(section_read(r, name));
    }
out:
    mx_free(name);
    return rc;
}

/* The whole stream: nothing, or one document that is nothing or a mapping. */
static int stream_read(struct reader *r)
{
    int rc = 0;
    MX_TRY(advance(r)); /* stream start */
    MX_TRY(advance(r));
    if (r->event.type == YAML_STREAM_END_EVENT) goto out;
    MX_TRY(advance(r)); /* past the document start */
    if (r->event.type == YAML_MAPPING_START_EVENT) {
        MX_TRY(root_read(r));
    } else if (r->event.type != YAML_SCALAR_EVENT || !scalar_is_null(r)) {
        rc = fail_at(r, where_here(r).line, "the file is not a mapping of sections",
                     "begin with a section name and a colon, and indent its keys below it");
        goto out;
    }
    MX_TRY(advance(r)); /* document end */
    MX_TRY(advance(r));
    if (r->event.type != YAML_STREAM_END_EVENT)
        rc = fail_at(r, where_here(r).line, "the file has more than one document",
                     "remove the '---' line, or keep each document in a file of its own");
out:
    return rc;
}

static int too_large(const struct reader *r)
{
    return fail_at(r, 0, "the file is larger than 1 MiB", "check that it is the configuration file that you meant");
}

int mx_config_load_text(const struct mx_config_schema *schema, void *root, const char *source, const char *text,
                        size_t length)
{
    int rc = 0;
    bool parser_made = false;
    size_t slots = schema->count;
    /* A byte order mark is allowed and means nothing. */
    const size_t skip = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    struct reader r = {.schema = schema, .root = root, .source = source, .text = text + skip, .length = length - skip};
    if (length > MX_CONFIG_FILE_LIMIT_BYTES) MX_TRY(too_large(&r));
    const size_t good = mx_utf8_check(r.text, r.length);
    if (good != r.length)
        MX_TRY(fail_at(&r, line_at_offset(r.text, good), "the text is not UTF-8", "save the file as UTF-8"));
    for (size_t s = 0; s < schema->count; s++) slots += schema->sections[s].count;
    r.lines = mx_alloc(slots, sizeof *r.lines);
    if (r.lines == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (!yaml_parser_initialize(&r.parser)) MX_TRY(syntax_fail(&r));
    parser_made = true;
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.text, r.length);
    MX_TRY(stream_read(&r));
out:
    yaml_event_delete(&r.event);
    if (parser_made) yaml_parser_delete(&r.parser);
    mx_free(r.lines);
    return rc;
}

int mx_config_load(const struct mx_config_schema *schema, void *root, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    const struct reader nameless = {.source = path};
    int rc = mx_file_read(path, MX_CONFIG_FILE_LIMIT_BYTES, &text, &length);
    if (rc == MX_ERR_DATA) return too_large(&nameless);
    if (rc < 0) return rc;
    rc = mx_config_load_text(schema, root, path, text, length);
    mx_free(text);
    return rc;
}
