/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The registry; see myxtts/registry.h.
 *
 * Memory: the registry owns the states of the backends it has opened and one array of device descriptions. Devices
 * opened from it belong to the caller and must be closed before it.
 */
#include "myxtts/registry.h"

#include "base/alloc.h"
#include "base/string.h"
#include "device/backend.h"

#include <stdio.h>
#include <string.h>

#define BACKENDS_MAX 8 /* compiled in and merely known, together */
#define INDEX_MAX    9999

extern const struct mx_backend mx_cpu_backend;
extern const struct mx_backend mx_cuda_backend;
#if defined(MX_HAVE_OPENCL)
extern const struct mx_backend mx_opencl_backend;
#endif

const struct mx_backend *const mx_backends[] = {
    &mx_cpu_backend,
#if defined(MX_HAVE_OPENCL)
    &mx_opencl_backend,
#endif
    &mx_cuda_backend,
    NULL,
};
const struct mx_backend *const mx_backends_cpu[] = {&mx_cpu_backend, NULL};

/* Backends that users ask for; for those that are not in the table in use, these texts are shown. */
static const struct {
    const char *name, *reason, *hint;
} known[] = {
    {"opencl", "OpenCL is not part of this build", "'make build' installs opencl-headers and builds it in"},
    {"cuda", "CUDA was not looked for", "leave the choice of backends to the program"},
};

struct entry {
    const struct mx_backend *backend; /* NULL: not part of this build */
    bool open;
    void *state;
    struct mx_backend_status status;
};

struct mx_registry {
    struct entry entries[BACKENDS_MAX];
    int entry_count;
    struct mx_device_info *devices; /* in logical order */
    bool plain_names;               /* of opened devices */
    int device_count;
};

int mx_device_name_parse(const char *text, char backend[16], int *index)
{
    char quoted[48];
    const char *const colon = text ? strchr(text, ':') : NULL;
    const size_t length = colon ? (size_t)(colon - text) : 0;
    int64_t number = -1;
    bool good = length > 0 && length < 16 && colon[1] >= '0' && colon[1] <= '9';
    for (size_t i = 0; good && i < length; i++) good = text[i] >= 'a' && text[i] <= 'z';
    for (const char *c = colon; good && *++c;) good = *c >= '0' && *c <= '9';
    good = good && mx_string_parse_int64(colon + 1, &number) == MX_STRING_NUMBER && number <= INDEX_MAX;
    if (!good) {
        return MX_FAIL(MX_ERR_USAGE, "write the backend, a colon and a number: cpu:0, cuda:1",
                       "%s is not the name of a device", mx_string_quote(quoted, sizeof quoted, text ? text : ""));
    }
    memcpy(backend, text, length);
    backend[length] = '\0';
    *index = (int)number;
    return 0;
}

bool mx_backend_is_cpu(const char *name)
{
    for (const struct mx_backend *const *b = mx_backends; *b; b++) {
        if (strcmp((*b)->name, name) == 0) return (*b)->is_cpu;
    }
    return false;
}

/* The number of the backend called `name`, or -1. */
static int entry_find(const struct mx_registry *registry, const char *name)
{
    for (int i = 0; i < registry->entry_count; i++) {
        if (strcmp(registry->entries[i].status.name, name) == 0) return i;
    }
    return -1;
}

static int entry_add(struct mx_registry *registry, const struct mx_backend *backend, const char *name,
                     const char *reason, const char *hint)
{
    if (registry->entry_count == BACKENDS_MAX) {
        return MX_FAIL(MX_ERR_INTERNAL, NULL, "more than %d backends", BACKENDS_MAX);
    }
    struct entry *const entry = &registry->entries[registry->entry_count++];
    entry->backend = backend;
    entry->status.name = name;
    entry->status.compiled = backend != NULL;
    if (backend) {
        entry->status.order = backend->order;
        entry->status.gpus_only = backend->gpus_only;
        entry->status.is_cpu = backend->is_cpu;
    }
    snprintf(entry->status.reason, sizeof entry->status.reason, "%s", reason);
    snprintf(entry->status.hint, sizeof entry->status.hint, "%s", hint);
    return 0;
}

/* Starts a backend. One that cannot start or has no devices becomes a status and is no error, unless the reason lies in
 * the options or in this machine's memory: those are the caller's to mend. */
static int entry_open(struct entry *entry, const struct mx_registry_options *options)
{
    struct mx_backend_status *const status = &entry->status;
    if (entry->open || !entry->backend) return 0;
    const int rc = entry->backend->open(options, &entry->state);
    if (rc < 0) {
        const struct mx_error *const error = mx_error_last();
        snprintf(status->reason, sizeof status->reason, "%s", error->message);
        snprintf(status->hint, sizeof status->hint, "%s",
                 error->hint[0] || !entry->backend->requires ? error->hint : entry->backend->requires);
        if (rc == MX_ERR_DEVICE) snprintf(status->left_out, sizeof status->left_out, "%s", status->reason);
        return rc == MX_ERR_USAGE || rc == MX_ERR_NO_MEMORY ? rc : 0;
    }
    entry->open = true;
    status->device_count = entry->backend->device_count(entry->state);
    status->available = status->device_count > 0;
    if (entry->backend->left_out)
        snprintf(status->left_out, sizeof status->left_out, "%s", entry->backend->left_out(entry->state));
    status->reason[0] = status->hint[0] = '\0';
    if (!status->available) {
        snprintf(status->reason, sizeof status->reason, "no devices found");
        snprintf(status->hint, sizeof status->hint, "%s", entry->backend->requires ? entry->backend->requires : "");
    }
    return 0;
}

/* Replaces the current error's hint by the devices there are: all of the backends that are open. */
static int hint_devices(const struct mx_registry *registry, const char *more)
{
    char list[256] = "";
    size_t length = 0;
    for (int i = 0; i < registry->entry_count; i++) {
        const struct mx_backend_status *const status = &registry->entries[i].status;
        for (int d = 0; d < status->device_count && length + 32 < sizeof list; d++) {
            length +=
                (size_t)snprintf(list + length, sizeof list - length, "%s%s:%d", length ? ", " : "", status->name, d);
        }
    }
    return mx_error_hint("%s%s%s%s", length ? "devices here: " : "there are no devices here", list, *more ? "; " : "",
                         more);
}

/* MX_ERR_NO_DEVICE for a name whose backend is not there. */
static int backend_missing(const struct mx_registry *registry, const char *device, const char *backend)
{
    const int found = entry_find(registry, backend);
    if (found >= 0) {
        const struct entry *const entry = &registry->entries[found];
        MX_FAIL(MX_ERR_NO_DEVICE, NULL, "no device %s: %s", device, entry->status.reason);
        return hint_devices(registry, entry->status.hint);
    }
    struct mx_string_nearest nearest;
    mx_string_nearest_start(&nearest, backend);
    for (int i = 0; i < registry->entry_count; i++) mx_string_nearest_offer(&nearest, registry->entries[i].status.name);
    const char *const best = mx_string_nearest_best(&nearest);
    char more[64] = "";
    if (best) snprintf(more, sizeof more, "did you mean %s?", best);
    MX_FAIL(MX_ERR_NO_DEVICE, NULL, "no device %s: there is no backend \"%s\"", device, backend);
    return hint_devices(registry, more);
}

static int index_missing(const struct mx_registry *registry, const char *device, const struct entry *entry)
{
    const int count = entry->status.device_count;
    MX_FAIL(MX_ERR_NO_DEVICE, NULL, "no device %s: backend %s has %d device%s", device, entry->status.name, count,
            count == 1 ? "" : "s");
    return hint_devices(registry, entry->backend->requires ? entry->backend->requires : "");
}

/* Parses the whole selection before anything is initialised. */
static int selection_parse(const struct mx_registry_options *options, char backends[][16], int *indices)
{
    int rc = 0;
    if (options->device_count < 0 || options->device_count > MX_SELECTION_MAX) {
        MX_RAISE(MX_ERR_USAGE, "name fewer devices", "%d devices chosen, the most is %d", options->device_count,
                 MX_SELECTION_MAX);
    }
    for (int i = 0; i < options->device_count; i++) {
        MX_TRY(mx_device_name_parse(options->devices[i], backends[i], &indices[i]));
        for (int j = 0; j < i; j++) {
            if (strcmp(backends[i], backends[j]) == 0 && indices[i] == indices[j]) {
                MX_RAISE(MX_ERR_USAGE, "name each device once; to do everything on one device, name only that one",
                         "device %s is chosen twice", options->devices[i]);
            }
        }
    }
out:
    return rc;
}

/* Fills registry->devices with the selection, in its order. Only backends that are named are started; when one
 * is missing the others are too, because the message lists what is there. */
static int select_named(struct mx_registry *registry, const struct mx_registry_options *options, char backends[][16],
                        const int *indices)
{
    int rc = 0;
    for (int i = 0; i < options->device_count; i++) {
        const int found = entry_find(registry, backends[i]);
        struct entry *const entry = found >= 0 ? &registry->entries[found] : NULL;
        if (entry) MX_TRY(entry_open(entry, options));
        if (!entry || indices[i] >= entry->status.device_count) {
            for (int other = 0; other < registry->entry_count; other++) {
                MX_TRY(entry_open(&registry->entries[other], options));
            }
            rc = entry && entry->status.available ? index_missing(registry, options->devices[i], entry)
                                                  : backend_missing(registry, options->devices[i], backends[i]);
            goto out;
        }
        MX_TRY(entry->backend->device_info(entry->state, indices[i], &registry->devices[i]));
        registry->device_count++;
    }
out:
    return rc;
}

/* Fills registry->devices with everything there is. */
static int select_all(struct mx_registry *registry)
{
    int rc = 0;
    for (int i = 0; i < registry->entry_count; i++) {
        const struct entry *const entry = &registry->entries[i];
        for (int d = 0; d < entry->status.device_count; d++) {
            MX_TRY(entry->backend->device_info(entry->state, d, &registry->devices[registry->device_count]));
            registry->device_count++;
        }
    }
out:
    return rc;
}

int mx_registry_open(const struct mx_backend *const *backends, const struct mx_registry_options *options,
                     struct mx_registry **out)
{
    int rc = 0;
    char names[MX_SELECTION_MAX][16];
    int indices[MX_SELECTION_MAX];
    const struct mx_registry_options none = {0};
    struct mx_registry *registry = NULL;
    *out = NULL;
    if (!options) options = &none;
    MX_TRY(selection_parse(options, names, indices));
    registry = mx_alloc(1, sizeof *registry);
    if (!registry) {
        rc = MX_ERR_NO_MEMORY;
        goto out;
    }
    registry->plain_names = options->plain_names;
    for (const struct mx_backend *const *b = backends ? backends : mx_backends; *b; b++) {
        MX_TRY(entry_add(registry, *b, (*b)->name, "not asked for", ""));
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (entry_find(registry, known[i].name) >= 0) continue;
        MX_TRY(entry_add(registry, NULL, known[i].name, known[i].reason, known[i].hint));
    }
    int capacity = options->device_count;
    if (capacity == 0) {
        for (int i = 0; i < registry->entry_count; i++) {
            MX_TRY(entry_open(&registry->entries[i], options));
            capacity += registry->entries[i].status.device_count;
        }
    }
    registry->devices = mx_alloc((size_t)capacity, sizeof *registry->devices);
    if (!registry->devices) {
        rc = MX_ERR_NO_MEMORY;
        goto out;
    }
    MX_TRY(options->device_count ? select_named(registry, options, names, indices) : select_all(registry));
    *out = registry;
out:
    if (rc < 0) mx_registry_close(registry);
    return rc;
}

void mx_registry_close(struct mx_registry *registry)
{
    if (!registry) return;
    for (int i = 0; i < registry->entry_count; i++) {
        const struct entry *const entry = &registry->entries[i];
        if (entry->open) entry->backend->close(entry->state);
    }
    mx_free(registry->devices);
    mx_free(registry);
}

int mx_registry_backend_count(const struct mx_registry *registry)
{
    return registry->entry_count;
}

void mx_registry_backend(const struct mx_registry *registry, int index, struct mx_backend_status *out)
{
    *out = registry->entries[index].status;
}

int mx_registry_device_count(const struct mx_registry *registry)
{
    return registry->device_count;
}

const struct mx_device_info *mx_registry_device(const struct mx_registry *registry, int index)
{
    return &registry->devices[index];
}

int mx_registry_find(const struct mx_registry *registry, const char *name)
{
    int rc = 0, index = 0;
    char backend[16];
    MX_TRY(mx_device_name_parse(name, backend, &index));
    for (int i = 0; i < registry->device_count; i++) {
        const struct mx_device_info *const info = &registry->devices[i];
        if (info->index == index && strcmp(info->backend, backend) == 0) return i;
    }
    const int found = entry_find(registry, backend);
    if (found < 0 || !registry->entries[found].status.available) {
        rc = backend_missing(registry, name, backend);
    } else if (index >= registry->entries[found].status.device_count) {
        rc = index_missing(registry, name, &registry->entries[found]);
    } else {
        MX_FAIL(MX_ERR_NO_DEVICE, NULL, "device %s was not chosen", name);
        rc = hint_devices(registry, "choose it when the program starts");
    }
out:
    return rc;
}

int mx_registry_device_open(struct mx_registry *registry, int index, uint64_t limit_bytes, struct mx_device **out)
{
    *out = NULL;
    if (index < 0 || index >= registry->device_count) {
        return MX_FAIL(MX_ERR_ARGUMENT, NULL, "there is no device number %d, only %d", index, registry->device_count);
    }
    const struct mx_device_info *const info = &registry->devices[index];
    const struct entry *const entry = &registry->entries[entry_find(registry, info->backend)];
    const int rc = mx_device_create(entry->backend, entry->state, info, index, limit_bytes, out);
    if (rc == 0 && registry->plain_names) snprintf((*out)->logical, sizeof(*out)->logical, "device %d", index);
    return rc;
}
