/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Doors of the PTX machine for tests (double.h): faults planted in the PTX that a module is loaded from, and programs
 * of their own.
 *
 * Memory: texts are the caller's.
 */
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Protects `planted`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct double_mutation planted; /* without an entry: none */

void double_mutate(const struct double_mutation *mutation)
{
    pthread_mutex_lock(&lock);
    planted = mutation ? *mutation : (struct double_mutation){0};
    pthread_mutex_unlock(&lock);
}

/* The nth line from `text` on, before `end`, with this in it. */
static const char *line_find(const char *text, const char *end, const char *with, int nth)
{
    for (const char *at = text; (at = strstr(at, with)) && at < end; at++)
        if (--nth == 0) return at;
    return NULL;
}

char *ptx_mutated(const char *text)
{
    pthread_mutex_lock(&lock);
    const struct double_mutation m = planted;
    pthread_mutex_unlock(&lock);
    if (!m.entry) return strdup(text);
    char head[128];
    snprintf(head, sizeof head, ".entry %s(", m.entry);
    const char *const entry = strstr(text, head);
    const char *const next = entry ? strstr(entry + 1, ".entry ") : NULL;
    const char *const end = next ? next : text + strlen(text);
    const char *const line = entry ? line_find(entry, end, m.with, m.nth) : NULL;
    const char *const from = line ? strstr(line, m.from) : NULL;
    if (!from || strcspn(line, "\n") < (size_t)(from - line)) {
        fault(0, "%s: nothing to change: line %d with '%s' has no '%s'", m.entry, m.nth, m.with, m.from);
        return strdup(text);
    }
    const size_t bytes = strlen(text) + strlen(m.to) + 1;
    char *const out = malloc(bytes);
    snprintf(out, bytes, "%.*s%s%s", (int)(from - text), text, m.to, from + strlen(m.from));
    return out;
}

int double_ptx_run(const struct double_program *program, char *error, size_t bytes)
{
    char message[PTX_ERROR_BYTES];
    struct ptx_module *const module = ptx_read(program->text, message);
    const struct ptx_entry *const entry = module ? ptx_entry_find(module, program->entry) : NULL;
    if (module && !entry) snprintf(message, sizeof message, "no entry %s", program->entry);
    bool fine = entry != NULL;
    if (entry) {
        struct ptx_machine *const machine = ptx_open();
        struct ptx_shadow shadow = {.words = calloc(program->bytes / 4 + 1, sizeof *shadow.words),
                                    .written = calloc(program->bytes / 8 + 1, 1)};
        for (size_t i = 0; i < program->written; i++) shadow.written[i / 8] |= (uint8_t)(1u << i % 8);
        const struct ptx_span span = {
            .address = DOUBLE_PROGRAM_ADDRESS, .bytes = program->bytes, .host = program->memory, .shadow = &shadow};
        const uint64_t values[] = {DOUBLE_PROGRAM_ADDRESS};
        const struct ptx_launch launch = {.entry = entry,
                                          .groups = program->groups,
                                          .values = values,
                                          .spans = &span,
                                          .span_count = 1,
                                          .command = ORDER_SLOTS,
                                          .ordered = order_over,
                                          .seed = program->seed,
                                          .bound = program->bound};
        fine = ptx_run(machine, &launch, message);
        free(shadow.words);
        free(shadow.written);
        ptx_close(machine);
    }
    ptx_release(module);
    snprintf(error, bytes, "%s", message);
    return fine ? 0 : -1;
}
