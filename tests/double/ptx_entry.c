/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Entries and variables of a PTX module, and the module as a whole; see ptx.h.
 *
 * Memory: the module owns its entries, their instructions and its variables.
 */
#include "ptx_words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- entries ---- */

static void entry_parameters(struct reader *r)
{
    int count = 0;
    reader_want(r, "(");
    while (!reader_took(r, ")")) {
        if (reader_took(r, ",")) continue;
        int width = 0;
        reader_want(r, ".param");
        while (r->word[0] == '.') {
            const bool align = reader_is(r, ".align"), pointer = reader_is(r, ".ptr");
            if (!align && !pointer) width = reader_width_of(r, r->word + 1);
            reader_next(r);
            if (align) reader_number(r);
        }
        if (width < 2 || count == (int)sizeof r->entry->parameters - 1) reader_wrong(r, "a parameter of another kind");
        r->entry->parameters[count++] = (uint8_t)width;
        reader_name_add(r, PARAMETER, -1, 0, r->storages++, 0);
        reader_next(r);
    }
}

/* The parameters' registers, which need to know the number of lanes. */
static void entry_given(struct reader *r)
{
    for (int i = 0; r->entry->parameters[i] != 0; i++) {
        const int width = r->entry->parameters[i];
        const int at = reader_given_make(r, PTX_PARAMETER, reader_letter_of(width), (uint64_t)i);
        ADD(r->parts, (struct part){.storage = r->names.items[i].at, .offset = 0, .width = width, .at = at});
    }
}

static void jumps_close(struct reader *r)
{
    const int line = r->line;
    for (int i = 0; i < r->jumps.count; i++) {
        const struct jump *const jump = &r->jumps.items[i];
        int k = 0;
        while (k < r->labels.count &&
               (r->labels.items[k].call != jump->call || strcmp(r->labels.items[k].text, jump->text) != 0))
            k++;
        r->line = jump->line;
        if (k == r->labels.count) reader_wrong(r, "label '%s' is not there", jump->text);
        r->code.items[jump->at].target = r->labels.items[k].at;
    }
    r->line = line;
}

static void entry_read(struct reader *r)
{
    struct ptx_entry entry = {.name = strdup(r->word), .line = r->line};
    ADD(r->entries, entry);
    r->entry = &r->entries.items[r->entries.count - 1];
    r->code.count = r->given.count = r->names.count = r->parts.count = r->labels.count = r->jumps.count = 0;
    r->visible = r->storages = r->calls = r->call = r->deep = 0;
    reader_next(r);
    if (reader_is(r, "(")) entry_parameters(r);
    while (r->word[0] == '.') {
        const bool lanes = reader_is(r, ".maxntid") || reader_is(r, ".reqntid");
        if (!lanes && !reader_is(r, ".minnctapersm")) reader_wrong(r, "unknown directive '%s'", r->word);
        reader_next(r);
        long product = reader_number(r);
        while (reader_took(r, ",")) product *= reader_number(r);
        if (lanes) r->entry->lanes = (int)product;
    }
    if (r->entry->lanes < 1 || r->entry->lanes > PTX_LANES_MAX)
        reader_wrong(r, "%s has %d lanes; from 1 to %d are possible", r->entry->name, r->entry->lanes, PTX_LANES_MAX);
    entry_given(r);
    reader_want(r, "{");
    reader_body_read(r);
    reader_append(r, (struct ptx_instruction){.kind = PTX_END, .guard = -1, .line = r->line});
    jumps_close(r);
    if (r->entry->shared_bytes > PTX_SHARED_MAX)
        reader_wrong(r, "%s takes %zu bytes of shared memory; a group has %d", r->entry->name, r->entry->shared_bytes,
                     PTX_SHARED_MAX);
    r->entry->count = r->code.count;
    r->entry->code = malloc((size_t)r->code.count * sizeof *r->entry->code);
    memcpy(r->entry->code, r->code.items, (size_t)r->code.count * sizeof *r->entry->code);
    r->entry->given_count = r->given.count;
    r->entry->given = malloc(((size_t)r->given.count + 1) * sizeof *r->entry->given);
    if (r->given.count > 0) memcpy(r->entry->given, r->given.items, (size_t)r->given.count * sizeof *r->given.items);
}

/* ".global" has been read. */
static void global_read(struct reader *r)
{
    size_t align, total = (size_t)r->bytes.count;
    const size_t bytes = reader_variable_read(r, &align);
    const size_t at = (size_t)reader_place_in(&total, align, bytes);
    struct name name = {.kind = ADDRESS, .count = -1, .width = 8, .value = PTX_GLOBALS_ADDRESS + at};
    memcpy(name.text, r->variable, WORD_BYTES);
    ADD(r->globals, name);
    while (r->bytes.count < (int)at) ADD(r->bytes, 0);
    if (reader_took(r, "=")) {
        reader_want(r, "{");
        while (!reader_took(r, "}")) {
            ADD(r->bytes, (char)reader_number(r));
            reader_took(r, ",");
        }
    }
    while (r->bytes.count < (int)total) ADD(r->bytes, 0);
    reader_want(r, ";");
}

static void module_read(struct reader *r)
{
    reader_next(r);
    while (r->word[0] != '\0') {
        if (reader_is(r, ".version") || reader_is(r, ".target") || reader_is(r, ".address_size")) {
            const int line = r->line;
            while (r->line == line && r->word[0] != '\0') {
                reader_skip(r);
                if (r->line != line) break;
                reader_next(r);
            }
            reader_next(r);
        } else if (reader_took(r, ".visible")) {
            if (!reader_is(r, ".entry")) reader_wrong(r, "unknown directive '%s'", r->word);
        } else if (reader_took(r, ".entry")) {
            entry_read(r);
        } else if (reader_took(r, ".global")) {
            global_read(r);
        } else if (reader_took(r, ".func")) { /* read where it is called */
            while (!reader_is(r, ";") && !reader_is(r, "{")) reader_next(r);
            int depth = reader_is(r, "{");
            for (reader_next(r); depth > 0; reader_next(r)) {
                depth += reader_is(r, "{") - reader_is(r, "}");
                if (r->word[0] == '\0') reader_wrong(r, "the text ends in a function");
            }
        } else {
            reader_wrong(r, "unknown directive '%s'", r->word);
        }
    }
}

static bool whole_read(struct reader *r)
{
    if (setjmp(r->out) != 0) return false;
    module_read(r);
    return true;
}

struct ptx_module *ptx_read(const char *text, char error[PTX_ERROR_BYTES])
{
    struct reader *const r = calloc(1, sizeof *r);
    struct ptx_module *const module = calloc(1, sizeof *module);
    r->text = r->at = text;
    r->line = 1;
    r->error = error;
    error[0] = '\0';
    const bool whole = whole_read(r);
    module->entries = r->entries.items;
    module->count = r->entries.count;
    for (int i = 0; i < module->count; i++) module->entries[i].module = module;
    module->globals =
        (struct ptx_span){.address = PTX_GLOBALS_ADDRESS, .bytes = (size_t)r->bytes.count, .host = r->bytes.items};
    free(r->globals.items);
    free(r->code.items);
    free(r->given.items);
    free(r->names.items);
    free(r->parts.items);
    free(r->labels.items);
    free(r->jumps.items);
    free(r);
    if (whole) return module;
    ptx_release(module);
    return NULL;
}

void ptx_release(struct ptx_module *module)
{
    if (!module) return;
    for (int i = 0; i < module->count; i++) {
        free(module->entries[i].name);
        free(module->entries[i].code);
        free(module->entries[i].given);
    }
    free(module->entries);
    free(module->globals.host);
    free(module);
}

const struct ptx_entry *ptx_entry_find(const struct ptx_module *module, const char *name)
{
    for (int i = 0; i < module->count; i++)
        if (strcmp(module->entries[i].name, name) == 0) return &module->entries[i];
    return NULL;
}

int ptx_entry_lanes(const struct ptx_entry *entry)
{
    return entry->lanes;
}

const uint8_t *ptx_entry_parameters(const struct ptx_entry *entry)
{
    return entry->parameters;
}
