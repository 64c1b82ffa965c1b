/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks 1 and 2 of a validation: which backends and devices there are, whether the requested ones can be opened under
 * their numbers, whether their memory limits hold, and how close they are to each other. See validate.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/validate/validate.h"
#include "device/topology.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"

#define TAKEN_BYTES ((uint64_t)1 << 20) /* of an allocation that must go through */

bool mx_validate_asks_two(const struct mx_settings *settings)
{
    const struct mx_settings_pipeline *const p = &settings->pipeline;
    return p->data_gpu >= 0 || p->model_gpu >= 0 || p->data_device[0] != '\0' || p->model_device[0] != '\0';
}

/* ---- 1: prerequisites ---- */

/* Is this backend the one of a device name such as "cuda:1"? */
static bool names_backend(const char *device, const char *backend)
{
    const size_t length = strlen(backend);
    return strncmp(device, backend, length) == 0 && device[length] == ':';
}

static bool backend_wanted(const struct mx_settings *s, const char *backend)
{
    const struct mx_settings_pipeline *const p = &s->pipeline;
    return strcmp(mx_settings_backend_name(p->backend), backend) == 0 || names_backend(p->device, backend) ||
           names_backend(p->data_device, backend) || names_backend(p->model_device, backend);
}

static void backend_json(struct mx_validate_report *r, cJSON *list, const struct mx_backend_status *status)
{
    cJSON *const object = mx_validate_element(r, list);
    mx_validate_text(r, object, "name", status->name);
    mx_validate_flag(r, object, "available", status->available);
    mx_validate_number(r, object, "device_count", status->device_count);
    mx_validate_text(r, object, "reason", status->reason);
    mx_validate_text(r, object, "hint", status->hint);
}

static void devices_report(struct mx_validate_report *r, const struct mx_registry *registry, const char *backend)
{
    char size[MX_BYTES_TEXT_BYTES];
    for (int i = 0; i < mx_registry_device_count(registry); i++) {
        const struct mx_device_info *const info = mx_registry_device(registry, i);
        if (strcmp(info->backend, backend) != 0) continue;
        mx_validate_report_add(r, MX_FINDING_PASS, NULL, "%s:%d: %s, %s%s%s%s%s", info->backend, info->index,
                               info->name, mx_bytes_text(info->memory_bytes, size),
                               info->bf16_by[0] != '\0' ? ", bf16 by " : "", info->bf16_by,
                               info->products[0] != '\0' ? ", products by " : "", info->products);
        if (info->products_missing[0] != '\0')
            mx_validate_report_add(r, MX_FINDING_NOTE, "it would multiply matrices faster", "%s:%d: %s", info->backend,
                                   info->index, info->products_missing);
    }
}

int mx_validate_prerequisites(struct mx_validate *v)
{
    int rc = 0;
    struct mx_registry *registry = NULL;
    struct mx_backend_status status, missing = {0};
    struct mx_validate_report *const r = &v->report;
    const struct mx_settings *const s = &v->job.settings;
    const struct mx_registry_options everything = {.cpu_devices = (int)s->device.cpu_devices};
    MX_TRY(mx_registry_open(NULL, &everything, &registry));
    const int count = mx_registry_device_count(registry);
    cJSON *const list = mx_validate_array(r, NULL, "backends");
    mx_validate_number(r, NULL, "device_count", count);
    mx_validate_flag(r, NULL, "pci_topology", mx_topology_knows_pci());
    for (int i = 0; i < mx_registry_backend_count(registry); i++) {
        mx_registry_backend(registry, i, &status);
        backend_json(r, list, &status);
        if (status.available) {
            mx_validate_report_add(r, MX_FINDING_PASS, NULL, "backend %s works (%d device%s detected)", status.name,
                                   status.device_count, status.device_count == 1 ? "" : "s");
            devices_report(r, registry, status.name);
        } else if (backend_wanted(s, status.name)) {
            missing = status;
        } else {
            mx_validate_report_add(r, MX_FINDING_NOTE, status.hint,
                                   "backend %s is not needed here and not available: %s", status.name, status.reason);
        }
    }
    if (!mx_topology_knows_pci())
        mx_validate_report_add(r, MX_FINDING_NOTE, "a build with hwloc (package libhwloc-dev) can",
                               "cannot determine how close devices on the PCI bus are to each other");
    if (missing.name != NULL)
        MX_RAISE(MX_ERR_NO_DEVICE, missing.hint, "backend %s was asked for and is not available: %s", missing.name,
                 missing.reason);
    if (count == 0) MX_RAISE(MX_ERR_NO_DEVICE, "see 'myxtts devices'", "there is no device at all");
out:
    mx_registry_close(registry);
    return rc;
}

/* ---- 2: placement ---- */

/* The device has the requested name, and the number that it was assigned. */
static int mapping_check(const struct mx_validate *v, const struct mx_device *device, int number)
{
    char logical[16];
    const struct mx_mode_choice *const choice = &v->job.devices.choice;
    const char *const asked = choice->names[number];
    snprintf(logical, sizeof logical, "%s%d", choice->plain ? "device " : "GPU:", number);
    if (strcmp(mx_device_name(device), asked) == 0 && strcmp(mx_device_logical(device), logical) == 0) return 0;
    return MX_FAIL(MX_ERR_DEVICE, "this is a fault of the program: please report it",
                   "%s was asked for as %s, but %s "
                   "was opened as %s",
                   asked, logical, mx_device_name(device), mx_device_logical(device));
}

static uint64_t used_of(const struct mx_device *device, uint64_t *refused)
{
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(device), &stats);
    if (refused != NULL) *refused = stats.refused_count;
    return stats.current_bytes;
}

/* One byte more than what is left must be refused, and by the limit; what is below it is taken, counted there and not
 * on the other device, and given back. */
static int limit_check(struct mx_validate *v, struct mx_device *device, const struct mx_device *other, const char *role,
                       cJSON *list)
{
    int rc = 0;
    char limit_text[MX_BYTES_TEXT_BYTES], left_text[MX_BYTES_TEXT_BYTES];
    const char *const fault = "this is a fault of the program: please report it";
    struct mx_buffer *buffer = NULL;
    struct mx_budget *const budget = mx_device_budget(device);
    const uint64_t limit = mx_budget_limit(budget), left = mx_budget_available(budget);
    const uint64_t taken = left < TAKEN_BYTES ? left : TAKEN_BYTES;
    uint64_t refused_before, refused;
    const uint64_t before = used_of(device, &refused_before);
    const uint64_t beside = other != NULL ? used_of(other, NULL) : 0;
    cJSON *const object = mx_validate_element(&v->report, list);
    mx_bytes_text(limit, limit_text);
    mx_validate_text(&v->report, object, "role", role);
    mx_validate_text(&v->report, object, "device", mx_device_name(device));
    mx_validate_text(&v->report, object, "logical", mx_device_logical(device));
    mx_validate_text(&v->report, object, "name", mx_device_info(device)->name);
    mx_validate_number(&v->report, object, "limit_bytes", (double)limit);
    rc = mx_buffer_create(device, "validation", (size_t)left + 1, &buffer);
    (void)used_of(device, &refused);
    if (rc == 0)
        MX_RAISE(MX_ERR_DEVICE, fault,
                 "the limit of %s on %s does not hold: %" PRIu64 " bytes were given where %" PRIu64 " are left",
                 limit_text, mx_device_logical(device), left + 1, left);
    if (rc != MX_ERR_BUDGET) MX_TRY(mx_error_wrap("memory of %s", mx_device_logical(device)));
    if (refused != refused_before + 1 || used_of(device, NULL) != before)
        MX_RAISE(MX_ERR_DEVICE, fault, "%s miscounts what it refuses", mx_device_logical(device));
    mx_error_clear();
    mx_validate_number(&v->report, object, "refused_bytes", (double)left + 1);
    if (taken > 0) MX_TRY(mx_buffer_create(device, "validation", (size_t)taken, &buffer));
    if (used_of(device, NULL) != before + taken || (other != NULL && used_of(other, NULL) != beside))
        MX_RAISE(MX_ERR_DEVICE, fault, "%" PRIu64 " bytes of %s are not counted where they are", taken,
                 mx_device_logical(device));
    mx_validate_number(&v->report, object, "taken_bytes", (double)taken);
    mx_validate_report_add(&v->report, MX_FINDING_PASS, NULL,
                           "Memory limit of %s enforced: %s; one byte more than the %s left was refused",
                           mx_device_logical(device), limit_text, mx_bytes_text(left, left_text));
    rc = 0;
out:
    mx_buffer_release(buffer);
    return rc;
}

static int topology_check(struct mx_validate *v)
{
    struct mx_validate_report *const r = &v->report;
    enum mx_topology_link link;
    char words[MX_DEVICE_PAIR_TOPOLOGY_BYTES];
    const char *remedy = NULL;
    const int rc = mx_device_pair_topology(&v->job.devices, &link, words, &remedy);
    if (rc < 0) return rc;
    mx_validate_text(r, NULL, "topology", mx_topology_word(link));
    mx_validate_flag(r, NULL, "topology_slow", mx_topology_slow(link));
    mx_validate_report_add(r,
                           remedy != NULL            ? MX_FINDING_WARNING
                           : link == MX_LINK_UNKNOWN ? MX_FINDING_NOTE
                                                     : MX_FINDING_PASS,
                           remedy, "%s", words);
    return 0;
}

int mx_validate_placement(struct mx_validate *v)
{
    int rc = 0;
    struct mx_validate_report *const r = &v->report;
    struct mx_device_pair *const pair = &v->job.devices;
    MX_TRY(mx_device_pair_open(&v->job.settings, v->job.request.command, pair));
    cJSON *const list = mx_validate_array(r, NULL, "devices");
    if (mx_validate_multi(v)) {
        MX_TRY(mapping_check(v, pair->data, 0));
        MX_TRY(mapping_check(v, pair->model, 1));
        if (!pair->choice.plain)
            mx_validate_report_add(r, MX_FINDING_PASS, NULL, "GPU indices valid: data_gpu=%d (%s), model_gpu=%d (%s)",
                                   mx_device_info(pair->data)->index, mx_device_name(pair->data),
                                   mx_device_info(pair->model)->index, mx_device_name(pair->model));
        mx_validate_report_add(r, MX_FINDING_PASS, NULL, "Set %sdevices: %s is %s now, %s is %s",
                               pair->choice.plain ? "" : "visible ", mx_device_name(pair->data),
                               mx_device_logical(pair->data), mx_device_name(pair->model),
                               mx_device_logical(pair->model));
        MX_TRY(limit_check(v, pair->data, pair->model, "data", list));
        MX_TRY(limit_check(v, pair->model, pair->data, "model", list));
        MX_TRY(topology_check(v));
    } else {
        MX_TRY(mapping_check(v, pair->model, 0));
        if (pair->choice.fallback[0] != '\0')
            mx_validate_report_add(r, MX_FINDING_WARNING, NULL, "%s: %s",
                                   pair->choice.best ? "The CPU instead of a GPU that cannot be used"
                                                     : "One device instead of two",
                                   pair->choice.fallback);
        mx_validate_report_add(r, MX_FINDING_PASS, NULL, "%s%s is %s now, for data and model",
                               mx_device_name(pair->model), pair->choice.best ? ", the best there is," : "",
                               mx_device_logical(pair->model));
        MX_TRY(limit_check(v, pair->model, NULL, "both", list));
        mx_validate_report_add(r, MX_FINDING_NOTE, NULL, "%s has one device: there is no topology to check",
                               mx_mode_name(&pair->choice));
    }
out:
    return rc;
}
