/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings, totals, faults, and the list of all living objects.
 */
#include "inside.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FAULTS_BYTES 4096

static const char *const setting_names[] = {
#define X(name, value) #name,
    DOUBLE_SETTINGS(X)
#undef X
};
static const long setting_defaults[] = {
#define X(name, value) value,
    DOUBLE_SETTINGS(X)
#undef X
};
static const char *const total_names[] = {
#define X(name) #name,
    DOUBLE_TOTALS(X)
#undef X
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static union {
    struct settings by_name;
    atomic_long all[COUNT(setting_names)];
} values;
static pthread_once_t once = PTHREAD_ONCE_INIT;
struct totals totals;

/* ---- settings ---- */

static void settings_read(void)
{
    for (size_t i = 0; i < COUNT(setting_names); i++) {
        char variable[64] = "CUDA_DOUBLE_";
        size_t at = strlen(variable);
        for (const char *c = setting_names[i]; *c; c++) variable[at++] = (char)toupper((unsigned char)*c);
        const char *const given = getenv(variable);
        atomic_store(&values.all[i], given ? strtol(given, NULL, 10) : setting_defaults[i]);
    }
}

struct settings *settings(void)
{
    pthread_once(&once, settings_read);
    return &values.by_name;
}

bool strikes(atomic_long *setting)
{
    long left = atomic_load(setting);
    while (left > 0 && !atomic_compare_exchange_weak(setting, &left, left - 1)) continue;
    return left == 1;
}

bool lanes_backwards(void)
{
    return settings()->backwards != 0;
}

static atomic_long *total_at(size_t i)
{
    return (atomic_long *)&totals + i;
}

int double_set(const char *name, long value)
{
    settings();
    for (size_t i = 0; i < COUNT(setting_names); i++) {
        if (strcmp(name, setting_names[i]) != 0) continue;
        atomic_store(&values.all[i], value);
        return 0;
    }
    return -1;
}

long double_get(const char *name)
{
    settings();
    for (size_t i = 0; i < COUNT(setting_names); i++)
        if (strcmp(name, setting_names[i]) == 0) return atomic_load(&values.all[i]);
    for (size_t i = 0; i < COUNT(total_names); i++)
        if (strcmp(name, total_names[i]) == 0) return atomic_load(total_at(i));
    return -1;
}

/* ---- faults ---- */

/* Protects fault_text. */
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static char fault_text[FAULTS_BYTES], fault_given[FAULTS_BYTES];

CUresult fault(CUresult code, const char *fmt, ...)
{
    char line[256];
    va_list list;
    va_start(list, fmt);
    vsnprintf(line, sizeof line, fmt, list);
    va_end(list);
    atomic_fetch_add(&totals.faults, 1);
    pthread_mutex_lock(&fault_lock);
    const size_t at = strlen(fault_text);
    snprintf(fault_text + at, sizeof fault_text - at, "%s\n", line);
    pthread_mutex_unlock(&fault_lock);
    return code;
}

const char *double_faults(void)
{
    pthread_mutex_lock(&fault_lock);
    memcpy(fault_given, fault_text, sizeof fault_given);
    pthread_mutex_unlock(&fault_lock);
    return fault_given;
}

void double_reset(void)
{
    settings();
    settings_read();
    for (atomic_long *total = &totals.launches; total < total_at(COUNT(total_names)); total++) atomic_store(total, 0);
    pthread_mutex_lock(&fault_lock);
    fault_text[0] = '\0';
    pthread_mutex_unlock(&fault_lock);
}

/* At the end of the process, for tests of programs. */
__attribute__((destructor)) static void report_write(void)
{
    const char *const path = getenv("CUDA_DOUBLE_REPORT");
    FILE *const file = path && *path ? fopen(path, "w") : NULL;
    if (!file) return;
    for (size_t i = 0; i < COUNT(total_names); i++) fprintf(file, "%s %ld\n", total_names[i], atomic_load(total_at(i)));
    fputs(fault_text, file);
    fclose(file);
}

/* ---- objects ---- */

/* Protects the list. */
static pthread_mutex_t object_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;

static atomic_long *object_total(enum object_kind kind)
{
    switch (kind) {
    case CONTEXT:
        return &totals.contexts;
    case STREAM:
        return &totals.streams;
    case EVENT:
        return &totals.events;
    case MODULE:
        return &totals.modules;
    case GRAPH:
    case EXEC:
        return &totals.graphs;
    default:
        return &totals.handles;
    }
}

void object_add(struct object *object, enum object_kind kind, struct context *context)
{
    object->kind = kind;
    object->context = context;
    object->prev = NULL;
    pthread_mutex_lock(&object_lock);
    object->next = objects;
    if (objects) objects->prev = object;
    objects = object;
    pthread_mutex_unlock(&object_lock);
    if (kind != FUNCTION) atomic_fetch_add(object_total(kind), 1);
}

void object_remove(struct object *object)
{
    pthread_mutex_lock(&object_lock);
    if (object->prev) object->prev->next = object->next;
    if (object->next) object->next->prev = object->prev;
    if (objects == object) objects = object->next;
    pthread_mutex_unlock(&object_lock);
    if (object->kind != FUNCTION) atomic_fetch_sub(object_total(object->kind), 1);
}

bool object_is(const void *handle, enum object_kind kind, const char *call)
{
    pthread_mutex_lock(&object_lock);
    const struct object *object = objects;
    while (object && (const void *)object != handle) object = object->next;
    const bool fits = object && object->kind == kind;
    pthread_mutex_unlock(&object_lock);
    if (!fits) fault(0, "%s: a handle that is not alive, or of another kind", call);
    return fits;
}

struct object *object_left(const struct context *context, enum object_kind kind)
{
    pthread_mutex_lock(&object_lock);
    struct object *object = objects;
    while (object && (object->context != context || object->kind != kind)) object = object->next;
    pthread_mutex_unlock(&object_lock);
    return object;
}

/* ---- time ---- */

uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

void pause_us(long us)
{
    if (us <= 0) return;
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&time, NULL);
}
