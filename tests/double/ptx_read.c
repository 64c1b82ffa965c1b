/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Instructions and declarations of a PTX module, see ptx_words.h. Functions are put in place of their calls, so that an
 * entry is one list of instructions.
 */
#include "ptx_words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- declarations ---- */

/* [.align N] .TYPE NAME[COUNT]: the bytes; the name is in r->variable. */
size_t reader_variable_read(struct reader *r, size_t *align)
{
    *align = 1;
    while (r->word[0] == '.') {
        if (reader_took(r, ".align")) {
            *align = (size_t)reader_number(r);
        } else if (reader_took(r, ".b8") || reader_took(r, ".u8")) {
            snprintf(r->variable, WORD_BYTES, "%s", r->word);
            reader_next(r);
            size_t bytes = 1;
            if (reader_took(r, "[")) {
                bytes = (size_t)reader_number(r);
                reader_want(r, "]");
            }
            return bytes;
        } else {
            reader_wrong(r, "unknown variable '%s'", r->word);
        }
    }
    reader_wrong(r, "a variable without a type");
}

static void variable_add(struct reader *r, uint64_t value)
{
    struct name name = {.kind = ADDRESS, .count = -1, .width = 8, .value = value};
    memcpy(name.text, r->variable, WORD_BYTES);
    ADD(r->names, name);
}

uint64_t reader_place_in(size_t *total, size_t align, size_t bytes)
{
    const size_t at = (*total + align - 1) / align * align;
    *total = at + bytes;
    return at;
}

static void registers_declare(struct reader *r)
{
    const int width = reader_width_of(r, r->word + 1);
    do {
        reader_next(r);
        struct name name = {.kind = REGISTER, .count = -1, .width = width};
        snprintf(name.text, WORD_BYTES, "%s", r->word);
        reader_next(r);
        if (reader_took(r, "<")) {
            name.count = (int)reader_number(r);
            reader_want(r, ">");
        }
        name.at = (int)r->entry->register_bytes;
        for (int i = 0; i < (name.count < 0 ? 1 : name.count); i++) reader_register_make(r, reader_letter_of(width));
        ADD(r->names, name);
    } while (reader_is(r, ","));
    reader_want(r, ";");
}

/* ".param" has been read: a parameter of a call. */
static void parameter_declare(struct reader *r)
{
    while (r->word[0] == '.') {
        const bool align = reader_is(r, ".align");
        reader_next(r);
        if (align) reader_number(r);
    }
    reader_name_add(r, PARAMETER, -1, 0, r->storages++, 0);
    reader_next(r);
    if (reader_took(r, "[")) {
        reader_number(r);
        reader_want(r, "]");
    }
    reader_want(r, ";");
}

static void directive(struct reader *r)
{
    size_t align;
    if (reader_took(r, ".reg")) {
        registers_declare(r);
    } else if (reader_took(r, ".shared")) {
        const size_t bytes = reader_variable_read(r, &align);
        variable_add(r, reader_place_in(&r->entry->shared_bytes, align, bytes));
        reader_want(r, ";");
    } else if (reader_took(r, ".local")) {
        const size_t bytes = reader_variable_read(r, &align);
        variable_add(r, reader_place_in(&r->entry->local_bytes, align, bytes));
        reader_want(r, ";");
    } else if (reader_took(r, ".param")) {
        parameter_declare(r);
    } else if (reader_is(r, ".pragma")) { /* advice for ptxas */
        while (!reader_is(r, ";")) reader_next(r);
        reader_next(r);
    } else {
        reader_wrong(r, "unknown directive '%s'", r->word);
    }
}

/* ---- instructions ---- */

void reader_append(struct reader *r, struct ptx_instruction in)
{
    ADD(r->code, in);
}

static bool row_fits(const struct ptx_operation *row, const struct operand *operands, int count)
{
    const char *const arrow = strchr(row->shape, '<');
    if ((int)strlen(row->shape) - 1 != count) return false;
    for (int i = 0; i < count; i++) {
        const bool result = i < (int)(arrow - row->shape);
        const char letter = row->shape[result ? i : i + 1];
        if (operands[i].kind == '_' ? !result : operands[i].immediate ? result : operands[i].kind != letter)
            return false;
    }
    return true;
}

static void computation(struct reader *r, const char *name, struct ptx_instruction in)
{
    struct operand operands[OPERANDS_MAX];
    const int count = reader_operands_read(r, operands);
    bool known = false;
    const struct ptx_operation *row = ptx_operations;
    for (; row->name; row++) {
        if (strcmp(row->name, name) != 0) continue;
        known = true;
        if (row_fits(row, operands, count)) break;
    }
    if (!row->name) {
        r->line = in.line;
        reader_wrong(r, known ? "operands that '%s' does not have" : "unknown instruction '%s'", name);
    }
    const int results = (int)(strchr(row->shape, '<') - row->shape);
    for (int i = 0; i < count; i++) {
        const bool result = i < results;
        const int at = reader_operand_as(r, &operands[i], row->shape[result ? i : i + 1], result);
        if (at < 0) reader_wrong(r, "an operand of '%s' has another width", name);
        (result ? in.to : in.from)[result ? i : i - results] = at;
    }
    in.kind = PTX_WORK;
    in.work = row->work;
    reader_append(r, in);
}

/* "[NAME+OFFSET]" of a parameter: its register. */
static int parameter_read(struct reader *r, int width)
{
    int index, offset = 0;
    reader_want(r, "[");
    const struct name *const n = reader_name_find(r, r->word, &index);
    if (!n || n->kind != PARAMETER) reader_wrong(r, "'%s' is not a parameter", r->word);
    const int storage = n->at;
    reader_next(r);
    if (reader_took(r, "+")) offset = (int)reader_number(r);
    reader_want(r, "]");
    return reader_part_of(r, storage, offset, width);
}

/* What moves a value of `width` bytes to a register of `wide`; NULL: nothing does. */
static ptx_work *mover(int width, int wide, bool is_signed)
{
    char name[24];
    if (width == wide)
        snprintf(name, sizeof name, "mov.b%d", 8 * width);
    else
        snprintf(name, sizeof name, "cvt.%c%d.%c%d", "us"[is_signed], 8 * wide, "us"[is_signed], 8 * width);
    const struct ptx_operation *row = ptx_operations;
    while (row->name && strcmp(row->name, name) != 0) row++;
    return row->work;
}

/* "[REGISTER+OFFSET]" */
static void address_read(struct reader *r, struct ptx_instruction *in)
{
    reader_want(r, "[");
    const struct operand base = reader_operand_read(r);
    in->from[0] = reader_operand_as(r, &base, 'l', false);
    if (in->from[0] < 0) reader_wrong(r, "an address of other than 64 bits");
    if (reader_took(r, "+")) in->offset = reader_number(r);
    reader_want(r, "]");
}

static int value_read(struct reader *r, int width, bool result)
{
    const struct operand value = reader_operand_read(r);
    const int at = reader_operand_as(r, &value, reader_letter_of(width), result);
    if (at < 0) reader_wrong(r, "a value that is not of %d bytes", width);
    return at;
}

/* One value, or several in braces. Their registers may be wider than what is in memory. */
static void values_read(struct reader *r, struct ptx_instruction *in, bool result)
{
    if (in->elements > 1) reader_want(r, "{");
    for (int i = 0; i < in->elements; i++) {
        if (i > 0) reader_want(r, ",");
        const struct operand value = reader_operand_read(r);
        const char letter = value.immediate || value.kind == '_' ? reader_letter_of(in->width) : value.kind;
        in->to[i] = reader_operand_as(r, &value, letter, result);
        in->wide[i] = (uint8_t)reader_width_of_letter(letter);
        if (in->to[i] < 0 || letter == 'p' || in->wide[i] < in->width)
            reader_wrong(r, "a value that does not have %d bytes", in->width);
    }
    if (in->elements > 1) reader_want(r, "}");
}

static void move_parameter(struct reader *r, struct ptx_instruction in, bool load)
{
    int wide = in.width;
    if (load) {
        const struct operand value = reader_operand_read(r);
        wide = value.immediate ? 0 : reader_width_of_letter(value.kind);
        in.to[0] = value.at;
        reader_want(r, ",");
        in.from[0] = parameter_read(r, in.width);
    } else {
        in.to[0] = parameter_read(r, in.width);
        reader_want(r, ",");
        in.from[0] = value_read(r, in.width, false);
    }
    reader_want(r, ";");
    in.kind = PTX_WORK;
    in.work = mover(in.width, wide, in.is_signed);
    if (!in.work) reader_wrong(r, "a parameter of %d bytes in a register of %d", in.width, wide);
    reader_append(r, in);
}

/* ld and st, with their suffixes in `name`. */
static void memory(struct reader *r, const char *name, struct ptx_instruction in, bool load)
{
    char words[WORD_BYTES], *keep = NULL;
    bool space = false, parameter = false;
    snprintf(words, sizeof words, "%s", name);
    in.kind = PTX_MEMORY;
    in.elements = 1;
    for (char *word = strtok_r(words, ".", &keep); word; word = strtok_r(NULL, ".", &keep)) {
        if (strcmp(word, "nc") == 0 && load) continue;
        if (strcmp(word, "v2") == 0 || strcmp(word, "v4") == 0) {
            in.elements = word[1] - '0';
        } else if (strcmp(word, "param") == 0) {
            parameter = space = true;
        } else if (strcmp(word, "global") == 0 || strcmp(word, "shared") == 0 || strcmp(word, "local") == 0) {
            in.space = word[0] == 'g' ? PTX_GLOBAL : word[0] == 's' ? PTX_SHARED : PTX_LOCAL;
            space = true;
        } else {
            in.width = reader_width_of(r, word);
            in.is_signed = word[0] == 's';
        }
    }
    if (!space || in.width < 2) reader_wrong(r, "unknown access '%s'", name);
    if (parameter) {
        move_parameter(r, in, load);
        return;
    }
    in.work = load ? ptx_load : ptx_store;
    if (load) {
        values_read(r, &in, true);
        reader_want(r, ",");
        address_read(r, &in);
    } else {
        address_read(r, &in);
        reader_want(r, ",");
        values_read(r, &in, false);
    }
    reader_want(r, ";");
    reader_append(r, in);
}

static void swap(struct reader *r, struct ptx_instruction in)
{
    in.kind = PTX_MEMORY;
    in.space = PTX_GLOBAL;
    in.width = 4;
    in.elements = 1;
    in.work = ptx_swap;
    in.to[0] = value_read(r, 4, true);
    reader_want(r, ",");
    address_read(r, &in);
    for (int i = 1; i <= 2; i++) {
        reader_want(r, ",");
        in.from[i] = value_read(r, 4, false);
    }
    reader_want(r, ";");
    reader_append(r, in);
}

static void branch(struct reader *r, struct ptx_instruction in)
{
    struct jump jump = {.call = r->call, .at = r->code.count, .line = r->line};
    snprintf(jump.text, WORD_BYTES, "%s", r->word);
    reader_next(r);
    reader_want(r, ";");
    in.kind = PTX_BRANCH;
    ADD(r->jumps, jump);
    reader_append(r, in);
}

void reader_body_read(struct reader *r);

/* The text of a function, from the '(' of its parameters; the reader stands there then. */
static void function_find(struct reader *r, const char *name)
{
    r->at = r->text;
    r->line = 1;
    for (reader_next(r); r->word[0] != '\0'; reader_next(r)) {
        if (!reader_is(r, ".func")) continue;
        reader_next(r);
        if (reader_is(r, "("))
            while (!reader_took(r, ")")) reader_next(r);
        if (!reader_took(r, name)) continue;
        const char *const at = r->at;
        const int line = r->line;
        while (!reader_is(r, "{") && !reader_is(r, ";")) reader_next(r);
        if (reader_is(r, ";")) continue; /* only announced */
        r->at = at;
        r->line = line;
        return;
    }
    reader_wrong(r, "function '%s' is called and not there", name);
}

/* Storages of the names in parentheses. */
static int arguments_read(struct reader *r, int out[OPERANDS_MAX])
{
    int count = 0, index;
    reader_want(r, "(");
    while (!reader_took(r, ")")) {
        if (reader_took(r, ",")) continue;
        const struct name *const n = reader_name_find(r, r->word, &index);
        if (!n || n->kind != PARAMETER || count == OPERANDS_MAX) reader_wrong(r, "'%s' is not a parameter", r->word);
        out[count++] = n->at;
        reader_next(r);
    }
    return count;
}

/* Names of the function's parameters, which are storages of the caller. The reader stands at the first word of the list
 * or at '{' if there is none. */
static void formal_names(struct reader *r, const int *storages, int count)
{
    int found = 0;
    for (; !reader_is(r, ")") && !reader_is(r, "{"); reader_next(r)) {
        const bool name = isalpha((unsigned char)r->word[0]) || r->word[0] == '_';
        if (!name) continue;
        if (found == count) reader_wrong(r, "more parameters than arguments");
        reader_name_add(r, PARAMETER, -1, 0, storages[found++], 0);
    }
    if (found != count) reader_wrong(r, "fewer parameters than arguments");
    reader_next(r);
}

static void call_read(struct reader *r)
{
    int results[OPERANDS_MAX], arguments[OPERANDS_MAX], result_count = 0, argument_count = 0;
    char name[WORD_BYTES];
    if (reader_is(r, "(")) {
        result_count = arguments_read(r, results);
        reader_want(r, ",");
    }
    snprintf(name, sizeof name, "%s", r->word);
    reader_next(r);
    if (reader_took(r, ",")) argument_count = arguments_read(r, arguments);
    reader_want(r, ";");
    if (r->deep == CALLS_DEEP) reader_wrong(r, "'%s' calls itself, or too deeply", name);

    const char *const at = r->at;
    const int line = r->line, visible = r->visible, outer = r->call, known = r->names.count;
    char word[WORD_BYTES];
    memcpy(word, r->word, sizeof word);
    function_find(r, name);
    r->visible = known;
    r->call = ++r->calls;
    r->deep++;
    reader_name_add(r, PARAMETER, -1, 0, result_count > 0 ? results[0] : r->storages++, 0);
    snprintf(r->names.items[known].text, WORD_BYTES, "func_retval0");
    reader_next(r); /* the parameters' '(' was the last token of function_find */
    formal_names(r, arguments, argument_count);
    while (!reader_took(r, "{")) reader_next(r);
    reader_body_read(r);
    ADD(r->labels, (struct label){.text = "return", .call = r->call, .at = r->code.count});
    r->deep--;
    r->call = outer;
    r->visible = visible;
    r->names.count = known;
    r->at = at;
    r->line = line;
    memcpy(r->word, word, sizeof word);
}

static void end_read(struct reader *r, struct ptx_instruction in)
{
    reader_want(r, ";");
    if (r->call == 0) {
        in.kind = PTX_END;
        reader_append(r, in);
        return;
    }
    in.kind = PTX_BRANCH;
    ADD(r->jumps, (struct jump){.text = "return", .call = r->call, .at = r->code.count, .line = in.line});
    reader_append(r, in);
}

static void instruction(struct reader *r)
{
    char name[WORD_BYTES];
    struct ptx_instruction in = {.guard = -1, .line = r->line};
    if (reader_took(r, "@")) {
        in.negated = reader_took(r, "!");
        const struct operand guard = reader_operand_read(r);
        in.guard = reader_operand_as(r, &guard, 'p', false);
        if (in.guard < 0) reader_wrong(r, "a guard that is no predicate");
    }
    snprintf(name, sizeof name, "%s", r->word);
    reader_next(r);
    if (strcmp(name, "bra") == 0 || strcmp(name, "bra.uni") == 0) {
        branch(r, in);
    } else if (strcmp(name, "ret") == 0 || strcmp(name, "exit") == 0 || strcmp(name, "ret.uni") == 0) {
        end_read(r, in);
    } else if (strcmp(name, "bar.sync") == 0 || strcmp(name, "barrier.sync") == 0) {
        if (reader_number(r) != 0 || !reader_took(r, ";")) reader_wrong(r, "a barrier of another kind");
        in.kind = PTX_BARRIER;
        reader_append(r, in);
    } else if (strcmp(name, "call.uni") == 0 || strcmp(name, "call") == 0) {
        if (in.guard >= 0) reader_wrong(r, "a call with a guard");
        call_read(r);
    } else if (strncmp(name, "ld.", 3) == 0 || strncmp(name, "st.", 3) == 0) {
        memory(r, name + 3, in, name[0] == 'l');
    } else if (strcmp(name, "atom.global.cas.b32") == 0 || strcmp(name, "atom.relaxed.global.cas.b32") == 0) {
        swap(r, in);
    } else {
        computation(r, name, in);
    }
}

/* Up to the '}' of the '{' that has been read. */
void reader_body_read(struct reader *r)
{
    const int known = r->names.count;
    while (!reader_took(r, "}")) {
        if (r->word[0] == '\0') reader_wrong(r, "the text ends in a function");
        if (reader_took(r, "{")) {
            reader_body_read(r);
        } else if (r->word[0] == '.') {
            directive(r);
        } else {
            const char *const at = r->at;
            const int line = r->line;
            char word[WORD_BYTES];
            memcpy(word, r->word, sizeof word);
            reader_next(r);
            if (reader_took(r, ":")) {
                struct label label = {.call = r->call, .at = r->code.count};
                memcpy(label.text, word, sizeof word);
                ADD(r->labels, label);
                continue;
            }
            r->at = at;
            r->line = line;
            memcpy(r->word, word, sizeof word);
            instruction(r);
        }
    }
    r->names.count = known;
}
