/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts devices: lists the devices, their properties, how close they are to each other, and the missing backends.
 *
 * JSON (--json), one object:
 *   devices   [{device, backend, index, name, kind, memory_bytes, compute_units, bf16, bf16_missing, bf16_by,
 *               bf16_fast, bf16_slow, products, products_missing, kernels, kernels_why, pci_bus, numa_node, cores,
 *               data_limit_bytes, data_limit_set, model_limit_bytes, model_limit_set}]
 *   topology  {matrix: [[word, …], …] in the order of devices, words: {word: meaning}}
 *   backends  [{name, compiled, available, device_count, reason, hint}]
 *
 * Memory: a listing borrows its device descriptions from the registry, which it owns with the topology.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/json_tree.h"
#include "cli/options/setting_flags.h"
#include "cli/options/shared_options.h"
#include "device/topology.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"
#include "run/settings.h"

#define LINK_COUNT (MX_LINK_UNKNOWN + 1)

struct values {
    bool json;
    struct mx_option_settings flags;
    const char *config;
    struct mx_option_list set;
};

static const struct mx_option options[] = {
    {MX_OPTION_FLAG(struct values, json, "json", "Print one JSON object instead of tables.")},
    {MX_OPTION_SETTING(struct values, flags, device.cpu_devices)},
    MX_SETTINGS_OPTIONS(struct values),
};

static const struct mx_example examples[] = {
    {"myxtts devices", "shows everything"},
    {"myxtts devices --cpu-devices 2", "shows the two halves of the cores as separate devices"},
    {"myxtts devices cpu:0 --json", "prints one device as JSON"},
    {"myxtts devices --set device.data_memory_mb=2048", "shows the memory limits if the data device gets 2 GiB"},
};

/* What one run shows. */
struct listing {
    struct mx_registry *registry;
    struct mx_topology *topology;
    const struct mx_settings_device *settings;
    const struct mx_device_info **devices; /* the requested ones, or all */
    size_t count;
    bool chosen; /* devices were requested by name */
};

/* ---- gathering ---- */

static int device_add(struct listing *listing, const char *name)
{
    char backend[16];
    int number = 0;
    int rc = mx_device_name_parse(name, backend, &number);
    if (rc < 0) return rc;
    const int index = mx_registry_find(listing->registry, name);
    if (index < 0) return index;
    const struct mx_device_info *const info = mx_registry_device(listing->registry, index);
    for (size_t i = 0; i < listing->count; i++)
        if (listing->devices[i] == info) return 0; /* named twice, shown once */
    listing->devices[listing->count++] = info;
    return 0;
}

static int listing_open(const struct mx_option_list *names, const struct mx_settings_device *settings,
                        struct listing *listing)
{
    int rc = 0;
    /* Everything is opened even if names are given, so that an error can list what there is. */
    const struct mx_registry_options wanted = {.cpu_devices = (int)settings->cpu_devices};
    *listing = (struct listing){.settings = settings, .chosen = names->count > 0};
    MX_TRY(mx_registry_open(NULL, &wanted, &listing->registry));
    MX_TRY(mx_topology_open(&listing->topology));
    const int all = mx_registry_device_count(listing->registry);
    listing->devices = mx_alloc((size_t)all, sizeof(const struct mx_device_info *));
    if (listing->devices == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < names->count; i++) MX_TRY(device_add(listing, names->items[i]));
    for (int i = 0; !listing->chosen && i < all; i++)
        listing->devices[listing->count++] = mx_registry_device(listing->registry, i);
out:
    return rc;
}

static void listing_close(struct listing *listing)
{
    mx_free(listing->devices);
    mx_topology_close(listing->topology);
    mx_registry_close(listing->registry);
}

/* The limit that a role would get on this device. */
static uint64_t limit_bytes(const struct listing *listing, const struct mx_device_info *info, enum mx_device_role role,
                            bool *set)
{
    const int64_t mb = role == MX_ROLE_DATA ? listing->settings->data_memory_mb : listing->settings->model_memory_mb;
    *set = mb > 0;
    return *set ? (uint64_t)mb << 20 : mx_budget_recommended(info->memory_bytes, role);
}

static void limits_check(const struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        for (int role = MX_ROLE_DATA; role <= MX_ROLE_MODEL; role++) {
            bool set = false;
            const struct mx_device_info *const info = listing->devices[i];
            if (limit_bytes(listing, info, (enum mx_device_role)role, &set) > info->memory_bytes && set)
                mx_warn("device.%s is more than %s:%d has", role == MX_ROLE_DATA ? "data_memory_mb" : "model_memory_mb",
                        info->backend, info->index);
        }
}

/* ---- text ---- */

#define TABLE_COLUMNS 7

/* Columns of a text on the screen, counting each character as one. */
static size_t text_columns(const char *text)
{
    size_t columns = 0;
    for (; *text != '\0'; text++) columns += ((unsigned char)*text & 0xC0) != 0x80;
    return columns;
}

static void bytes_text(uint64_t bytes, bool marked, char *out, size_t size)
{
    snprintf(out, size, "%.1f GiB%s", (double)bytes / (double)(UINT64_C(1) << 30), marked ? "*" : "");
}

struct table_row {
    char cells[TABLE_COLUMNS][160];
};

static void row_fill(const struct listing *listing, const struct mx_device_info *info, struct table_row *row)
{
    bool set = false;
    uint64_t bytes;
    const size_t size = sizeof row->cells[0];
    snprintf(row->cells[0], size, "%s:%d", info->backend, info->index);
    snprintf(row->cells[1], size, "%s", info->name);
    bytes_text(info->memory_bytes, false, row->cells[2], size);
    snprintf(row->cells[3], size, "%d %s%s", info->compute_units, info->kind == MX_DEVICE_CPU ? "core" : "unit",
             info->compute_units == 1 ? "" : "s");
    snprintf(row->cells[4], size, "fp32%s%s%s%s%s%s", info->caps.bf16_multiply ? ", bf16" : "",
             info->bf16_by[0] != '\0' ? " (" : "", info->bf16_by, info->bf16_by[0] != '\0' ? ")" : "",
             info->products[0] != '\0' ? " by " : "", info->products);
    bytes = limit_bytes(listing, info, MX_ROLE_DATA, &set);
    bytes_text(bytes, set, row->cells[5], size);
    bytes = limit_bytes(listing, info, MX_ROLE_MODEL, &set);
    bytes_text(bytes, set, row->cells[6], size);
}

static int devices_append(const struct listing *listing, struct mx_string *out)
{
    int rc = 0;
    size_t width[TABLE_COLUMNS] = {0};
    struct table_row *const rows = mx_alloc(listing->count + 1, sizeof *rows);
    if (rows == NULL) return MX_ERR_NO_MEMORY;
    static const char *const titles[TABLE_COLUMNS] = {"device",     "name",       "memory",     "size",
                                                      "multiplies", "data limit", "model limit"};
    for (int c = 0; c < TABLE_COLUMNS; c++) snprintf(rows[0].cells[c], sizeof rows[0].cells[c], "%s", titles[c]);
    for (size_t i = 0; i < listing->count; i++) row_fill(listing, listing->devices[i], &rows[i + 1]);
    for (size_t i = 0; i <= listing->count; i++)
        for (int c = 0; c < TABLE_COLUMNS; c++) {
            const size_t columns = text_columns(rows[i].cells[c]);
            if (columns > width[c]) width[c] = columns;
        }
    mx_string_append(out, "Devices\n");
    for (size_t i = 0; i <= listing->count; i++) {
        for (int c = 0; c < TABLE_COLUMNS; c++) {
            const size_t gap = c + 1 < TABLE_COLUMNS ? width[c] - text_columns(rows[i].cells[c]) : 0;
            mx_string_append(out, "  %s%*s", rows[i].cells[c], (int)gap, "");
        }
        mx_string_append(out, "\n");
    }
    if (listing->settings->data_memory_mb > 0 || listing->settings->model_memory_mb > 0)
        mx_string_append(out, "  * from the settings; other limits are recommendations\n");
    else
        mx_string_append(out,
                         "  limits are recommendations; device.data_memory_mb and device.model_memory_mb set them\n");
    for (size_t i = 0; i < listing->count; i++) {
        const struct mx_device_info *const info = listing->devices[i];
        if (info->kernels[0] != '\0' && (i == 0 || strcmp(listing->devices[i - 1]->backend, info->backend) != 0))
            mx_string_append(out, "  %s runs the kernels for %s: %s\n", info->backend, info->kernels,
                             info->kernels_why);
        if (info->products_missing[0] != '\0')
            mx_string_append(out, "  %s:%d could multiply faster: %s\n", info->backend, info->index,
                             info->products_missing);
        if (info->bf16_slow[0] != '\0')
            mx_string_append(out, "  %s:%d saves memory with bf16, but no time: %s\n", info->backend, info->index,
                             info->bf16_slow);
    }
    rc = out->failure;
    mx_free(rows);
    return rc;
}

static int topology_append(const struct listing *listing, struct mx_string *out)
{
    bool seen[LINK_COUNT] = {false};
    char name[32];
    mx_string_append(out, "\nTopology\n  %-10s", "");
    for (size_t i = 0; i < listing->count; i++) {
        snprintf(name, sizeof name, "%s:%d", listing->devices[i]->backend, listing->devices[i]->index);
        mx_string_append(out, i + 1 < listing->count ? " %-10s" : " %s", name);
    }
    mx_string_append(out, "\n");
    for (size_t i = 0; i < listing->count; i++) {
        snprintf(name, sizeof name, "%s:%d", listing->devices[i]->backend, listing->devices[i]->index);
        mx_string_append(out, "  %-10s", name);
        for (size_t j = 0; j < listing->count; j++) {
            const enum mx_topology_link link =
                mx_topology_between(listing->topology, listing->devices[i], listing->devices[j]);
            seen[link] = true;
            mx_string_append(out, j + 1 < listing->count ? " %-10s" : " %s", mx_topology_word(link));
        }
        mx_string_append(out, "\n");
    }
    for (int link = 0; link < LINK_COUNT; link++)
        if (seen[link])
            mx_string_append(out, "  %-5s %s\n", mx_topology_word((enum mx_topology_link)link),
                             mx_topology_meaning((enum mx_topology_link)link));
    return out->failure;
}

/* One line for all that are missing: most machines have no GPU, and that is nothing to worry about. */
static int backends_append(const struct listing *listing, struct mx_string *out)
{
    bool any = false;
    for (int i = 0; i < mx_registry_backend_count(listing->registry); i++) {
        struct mx_backend_status status;
        mx_registry_backend(listing->registry, i, &status);
        if (status.available) continue;
        mx_string_append(out, "%s%s: %s", any ? "; " : "\nNot available: ", status.name, status.reason);
        if (status.hint[0] != '\0') mx_string_append(out, " (%s)", status.hint);
        any = true;
    }
    if (any) mx_string_append(out, "\n");
    return out->failure;
}

static int text_print(const struct listing *listing)
{
    int rc = 0;
    struct mx_string out = {0};
    if (listing->count == 0) mx_string_append(&out, "There is no device.\n");
    if (listing->count > 0) {
        MX_TRY(devices_append(listing, &out));
        MX_TRY(topology_append(listing, &out));
    }
    if (!listing->chosen) MX_TRY(backends_append(listing, &out));
    MX_TRY(out.failure);
    fputs(out.data, stdout);
out:
    mx_string_release(&out);
    return rc;
}

/* ---- JSON ---- */

static cJSON *array_add(cJSON *parent, const char *name, int *failures)
{
    cJSON *const array = cJSON_AddArrayToObject(parent, name);
    mx_command_json_check(array, failures);
    return array;
}

static cJSON *element_add(cJSON *array, cJSON *element, int *failures)
{
    if (element == NULL || !cJSON_AddItemToArray(array, element)) {
        cJSON_Delete(element);
        ++*failures;
        return NULL;
    }
    return element;
}

static void device_json(const struct listing *listing, const struct mx_device_info *info, cJSON *array, int *failures)
{
    static const char *const kinds[] = {[MX_DEVICE_CPU] = "cpu", [MX_DEVICE_GPU] = "gpu", [MX_DEVICE_OTHER] = "other"};
    bool data_set = false, model_set = false;
    const uint64_t data = limit_bytes(listing, info, MX_ROLE_DATA, &data_set);
    const uint64_t model = limit_bytes(listing, info, MX_ROLE_MODEL, &model_set);
    char name[32];
    cJSON *const object = element_add(array, cJSON_CreateObject(), failures);
    snprintf(name, sizeof name, "%s:%d", info->backend, info->index);
    mx_command_json_check(cJSON_AddStringToObject(object, "device", name), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "backend", info->backend), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "index", info->index), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "name", info->name), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "kind", kinds[info->kind]), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "memory_bytes", (double)info->memory_bytes), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "compute_units", info->compute_units), failures);
    mx_command_json_check(cJSON_AddBoolToObject(object, "bf16", info->caps.bf16_multiply), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "bf16_missing", info->bf16_missing), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "bf16_by", info->bf16_by), failures);
    mx_command_json_check(cJSON_AddBoolToObject(object, "bf16_fast", info->caps.bf16_fast), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "bf16_slow", info->bf16_slow), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "products", info->products), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "products_missing", info->products_missing), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "kernels", info->kernels), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "kernels_why", info->kernels_why), failures);
    mx_command_json_check(cJSON_AddStringToObject(object, "pci_bus", info->pci_bus), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "numa_node", info->numa_node), failures);
    cJSON *const cores = array_add(object, "cores", failures);
    const int most = (int)(sizeof info->cores / sizeof info->cores[0]);
    for (int i = 0; info->kind == MX_DEVICE_CPU && i < info->compute_units && i < most; i++)
        element_add(cores, cJSON_CreateNumber(info->cores[i]), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "data_limit_bytes", (double)data), failures);
    mx_command_json_check(cJSON_AddBoolToObject(object, "data_limit_set", data_set), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "model_limit_bytes", (double)model), failures);
    mx_command_json_check(cJSON_AddBoolToObject(object, "model_limit_set", model_set), failures);
}

static void topology_json(const struct listing *listing, cJSON *root, int *failures)
{
    bool seen[LINK_COUNT] = {false};
    cJSON *const topology = cJSON_AddObjectToObject(root, "topology");
    mx_command_json_check(topology, failures);
    cJSON *const matrix = array_add(topology, "matrix", failures);
    for (size_t i = 0; i < listing->count; i++) {
        cJSON *const row = element_add(matrix, cJSON_CreateArray(), failures);
        for (size_t j = 0; j < listing->count; j++) {
            const enum mx_topology_link link =
                mx_topology_between(listing->topology, listing->devices[i], listing->devices[j]);
            seen[link] = true;
            element_add(row, cJSON_CreateString(mx_topology_word(link)), failures);
        }
    }
    cJSON *const words = cJSON_AddObjectToObject(topology, "words");
    mx_command_json_check(words, failures);
    for (int link = 0; link < LINK_COUNT; link++)
        if (seen[link])
            mx_command_json_check(cJSON_AddStringToObject(words, mx_topology_word((enum mx_topology_link)link),
                                                          mx_topology_meaning((enum mx_topology_link)link)),
                                  failures);
}

static void backends_json(const struct listing *listing, cJSON *root, int *failures)
{
    cJSON *const array = array_add(root, "backends", failures);
    for (int i = 0; i < mx_registry_backend_count(listing->registry); i++) {
        struct mx_backend_status status;
        mx_registry_backend(listing->registry, i, &status);
        cJSON *const object = element_add(array, cJSON_CreateObject(), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "name", status.name), failures);
        mx_command_json_check(cJSON_AddBoolToObject(object, "compiled", status.compiled), failures);
        mx_command_json_check(cJSON_AddBoolToObject(object, "available", status.available), failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "device_count", status.device_count), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "reason", status.reason), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "hint", status.hint), failures);
    }
}

static int json_print(const struct listing *listing)
{
    int rc = 0, failures = 0;
    char *text = NULL;
    cJSON *const root = cJSON_CreateObject();
    cJSON *const devices = array_add(root, "devices", &failures);
    for (size_t i = 0; i < listing->count; i++) device_json(listing, listing->devices[i], devices, &failures);
    topology_json(listing, root, &failures);
    backends_json(listing, root, &failures);
    text = failures == 0 ? cJSON_Print(root) : NULL;
    if (text == NULL) MX_RAISE(MX_ERR_NO_MEMORY, "close other programs", "out of memory for the list of devices");
    puts(text);
out:
    cJSON_free(text);
    cJSON_Delete(root);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    struct mx_settings settings;
    struct listing listing = {0};
    int rc = mx_settings_read(values->config, values->set.items, values->set.count, &settings);
    if (rc < 0) return rc;
    MX_TRY(mx_setting_flags_apply(&values->flags, &settings));
    MX_TRY(listing_open(operands, &settings.device, &listing));
    limits_check(&listing);
    MX_TRY(values->json ? json_print(&listing) : text_print(&listing));
out:
    listing_close(&listing);
    mx_config_release(&mx_settings_schema, &settings);
    return rc;
}

const struct mx_command mx_command_devices = {
    .name = "devices",
    .page =
        {
            .command = "myxtts devices",
            .operands = "[DEVICE...]",
            .operand_max = MX_OPTION_LIST_MAX,
            .summary = "show the devices of this machine and how they are connected",
            .description = "Lists each device with its memory, its cores or compute units, how it multiplies bf16 "
                           "numbers, and the memory limits that it would get as data device and as model device. Then "
                           "it shows how closely each pair of devices is connected, in the terms of 'nvidia-smi topo "
                           "-m', and which backends are missing, why, and how to add them.\nIf names such as cpu:0 are "
                           "given, only those devices are shown; an unknown name is an error with exit code 3.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
