/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The choice of devices and mode, see mode.h.
 */
#include "run/devices/mode.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "myxtts/error.h"

#define BACKEND_BYTES 16

const char *mx_mode_name(const struct mx_mode_choice *choice)
{
    if (choice->mode == MX_MODE_MULTI) return choice->plain ? "Two-Device Mode" : "Multi-GPU Mode";
    return choice->plain ? "Single-Device Buffered Mode" : "Single-GPU Buffered Mode";
}

/* ---- what the user gave ---- */

static bool said(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static bool backend_said(const struct mx_mode_request *r)
{
    return said(r->backend) && strcmp(r->backend, "auto") != 0;
}

static bool by_index(const struct mx_mode_request *r)
{
    return r->data_gpu >= 0 || r->model_gpu >= 0;
}

static bool by_name(const struct mx_mode_request *r)
{
    return said(r->data_device) || said(r->model_device);
}

/* The words with which a role was given: "--data-gpu 0", "--model-device cpu:1"; or only the option, if it was not. */
static const char *words_of(const struct mx_mode_request *r, enum mx_device_role role, char out[64])
{
    const char *const who = role == MX_ROLE_DATA ? "data" : "model";
    const char *const name = role == MX_ROLE_DATA ? r->data_device : r->model_device;
    const int index = role == MX_ROLE_DATA ? r->data_gpu : r->model_gpu;
    if (by_name(r))
        snprintf(out, 64, "--%s-device%s%.40s", who, said(name) ? " " : "", said(name) ? name : "");
    else if (index >= 0)
        snprintf(out, 64, "--%s-gpu %d", who, index);
    else
        snprintf(out, 64, "--%s-gpu", who);
    return out;
}

static bool role_said(const struct mx_mode_request *r, enum mx_device_role role)
{
    return role == MX_ROLE_DATA ? r->data_gpu >= 0 || said(r->data_device) : r->model_gpu >= 0 || said(r->model_device);
}

/* ---- hints: the devices there are, and a command line that would work ---- */

struct list {
    char text[MX_ERROR_HINT_BYTES];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void list_add(struct list *list, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(list->text + list->length, sizeof list->text - list->length, format, arguments);
    va_end(arguments);
    if (more > 0) list->length += (size_t)more;
    if (list->length >= sizeof list->text) list->length = sizeof list->text - 1;
}

static bool of_backend(const struct mx_device_info *info, const char *backend, bool gpu)
{
    return strcmp(info->backend, backend) == 0 && (!gpu || info->kind == MX_DEVICE_GPU);
}

static int backend_count(const struct mx_registry *all, const char *backend, bool gpu)
{
    int count = 0;
    for (int i = 0; i < mx_registry_device_count(all); i++)
        count += of_backend(mx_registry_device(all, i), backend, gpu);
    return count;
}

static bool has(const struct mx_registry *all, const char *backend, int index, bool gpu)
{
    for (int i = 0; i < mx_registry_device_count(all); i++) {
        const struct mx_device_info *const info = mx_registry_device(all, i);
        if (of_backend(info, backend, gpu) && info->index == index) return true;
    }
    return false;
}

/* ---- backends ---- */

/* The one at this place of the order; false: the registry has none. */
static bool backend_at(const struct mx_registry *all, int order, struct mx_backend_status *out)
{
    for (int i = 0; i < mx_registry_backend_count(all); i++) {
        mx_registry_backend(all, i, out);
        if ((int)out->order == order) return true;
    }
    return false;
}

static bool backend_named(const struct mx_registry *all, const char *name, struct mx_backend_status *out)
{
    for (int i = 0; i < mx_registry_backend_count(all); i++) {
        mx_registry_backend(all, i, out);
        if (strcmp(out->name, name) == 0) return true;
    }
    return false;
}

/* The one whose devices are the cores of this machine. */
static bool cpu_find(const struct mx_registry *all, struct mx_backend_status *out)
{
    for (int i = 0; i < mx_registry_backend_count(all); i++) {
        mx_registry_backend(all, i, out);
        if (out->is_cpu) return true;
    }
    return false;
}

static bool is_cpu(const struct mx_registry *all, const char *backend)
{
    struct mx_backend_status status;
    return backend_named(all, backend, &status) && status.is_cpu;
}

static int cores_count(const struct mx_registry *all)
{
    int cores = 0;
    for (int i = 0; i < mx_registry_device_count(all); i++) {
        const struct mx_device_info *const info = mx_registry_device(all, i);
        if (is_cpu(all, info->backend)) cores += info->compute_units;
    }
    return cores;
}

/* The best device of a backend, after those that others take: 1 if there is one, 0 if it has none at all, -1 if all are
 * taken. */
static int best_of(const struct mx_mode_request *r, const struct mx_registry *all, const char *backend, bool gpu,
                   char out[MX_MODE_NAME_BYTES])
{
    int passed = 0;
    for (int i = 0; i < mx_registry_device_count(all); i++) {
        const struct mx_device_info *const info = mx_registry_device(all, i);
        if (!of_backend(info, backend, gpu)) continue;
        if (!is_cpu(all, backend) && passed++ < r->passed) continue;
        snprintf(out, MX_MODE_NAME_BYTES, "%s:%d", info->backend, info->index);
        return 1;
    }
    return passed > 0 ? -1 : 0;
}

/* The best device there is, of the requested backend if any; false: there is none. */
static bool best_find(const struct mx_mode_request *r, const struct mx_registry *all, char out[MX_MODE_NAME_BYTES])
{
    struct mx_backend_status status;
    if (backend_said(r)) return best_of(r, all, r->backend, false, out) > 0;
    for (int order = 1; order < MX_BACKEND_ORDERS; order++) {
        if (!backend_at(all, order, &status)) continue;
        const int found = best_of(r, all, status.name, status.gpus_only, out);
        if (found != 0) return found > 0; /* all taken: another kind would be a silent fallback */
    }
    return false;
}

/* The first backend with two GPUs or more (`least` 2), or with any (1); false: there is none. */
static bool gpus_find(const struct mx_registry *all, int least, struct mx_backend_status *out)
{
    for (int order = 1; order < MX_BACKEND_ORDERS; order++)
        if (backend_at(all, order, out) && !out->is_cpu && backend_count(all, out->name, true) >= least) return true;
    return false;
}

/* Two devices of `backend` for a command line: what the user said where it is right, otherwise the first ones. */
static bool pair_find(const struct mx_mode_request *r, const struct mx_registry *all, const char *backend, bool gpu,
                      int pair[2])
{
    pair[0] = r->data_gpu >= 0 && has(all, backend, r->data_gpu, gpu) ? r->data_gpu : -1;
    pair[1] = r->model_gpu >= 0 && r->model_gpu != pair[0] && has(all, backend, r->model_gpu, gpu) ? r->model_gpu : -1;
    for (int role = 0; role < 2; role++)
        for (int i = 0; pair[role] < 0 && i < mx_registry_device_count(all); i++) {
            const struct mx_device_info *const info = mx_registry_device(all, i);
            if (of_backend(info, backend, gpu) && info->index != pair[1 - role]) pair[role] = info->index;
        }
    return pair[0] >= 0 && pair[1] >= 0;
}

static void pair_add(struct list *list, const struct mx_mode_request *r, const struct mx_registry *all,
                     const char *backend, const int pair[2], int cpu_devices)
{
    list_add(list, "'%s", said(r->command) ? r->command : "myxtts train");
    if (!by_name(r)) list_add(list, " --backend %s", backend);
    if (is_cpu(all, backend)) list_add(list, " --cpu-devices %d", cpu_devices);
    if (by_name(r))
        list_add(list, " --data-device %s:%d --model-device %s:%d'", backend, pair[0], backend, pair[1]);
    else
        list_add(list, " --data-gpu %d --model-gpu %d'", pair[0], pair[1]);
}

/* A command line that trains on two devices here; false: no two can be had. */
static bool command_add(struct list *list, const struct mx_mode_request *r, const struct mx_registry *all)
{
    struct mx_backend_status gpus, cpu;
    int pair[2];
    const bool has_cpu = cpu_find(all, &cpu);
    const int now = has_cpu ? backend_count(all, cpu.name, false) : 0;
    if (backend_said(r) && pair_find(r, all, r->backend, false, pair)) {
        pair_add(list, r, all, r->backend, pair, now);
        return true;
    }
    if (gpus_find(all, 2, &gpus) && pair_find(r, all, gpus.name, true, pair)) {
        pair_add(list, r, all, gpus.name, pair, now);
        return true;
    }
    if (!has_cpu || cores_count(all) < 2) return false;
    if (!pair_find(r, all, cpu.name, false, pair)) pair[0] = 0, pair[1] = 1;
    pair_add(list, r, all, cpu.name, pair, now > 2 ? now : 2);
    return true;
}

static void devices_add(struct list *list, const struct mx_registry *all)
{
    const int count = mx_registry_device_count(all), most = 12;
    list_add(list, count == 0 ? "there are no devices here" : "devices here: ");
    for (int i = 0; i < count && i < most; i++) {
        const struct mx_device_info *const info = mx_registry_device(all, i);
        list_add(list, "%s%s:%d", i > 0 ? ", " : "", info->backend, info->index);
    }
    if (count > most) list_add(list, " and %d more", count - most);
}

/* The device that '--allow-single' would choose; false: it would be of no use. The current error stays. */
static bool single_find(const struct mx_mode_request *r, const struct mx_registry *all, char out[MX_MODE_NAME_BYTES])
{
    const struct mx_error kept = *mx_error_last();
    struct mx_mode_choice choice;
    struct mx_mode_request allowed = *r;
    allowed.allow_single = true;
    const bool found = mx_mode_find(&allowed, all, &choice) == 0;
    if (found) memcpy(out, choice.names[0], sizeof choice.names[0]);
    mx_error_restore(&kept);
    return found;
}

/* Replaces the hint of the current error: devices, `advice` (may be NULL), and what would work, on two devices or (in
 * questions of one) on one. */
static int hint_build(const struct mx_mode_request *r, const struct mx_registry *all, bool multi, const char *advice)
{
    struct list list = {.length = 0};
    char best[MX_MODE_NAME_BYTES];
    const struct mx_mode_request anything = {.backend = NULL};
    devices_add(&list, all);
    if (said(advice)) list_add(&list, "; %s", advice);
    /* A GPU is better than two halves of the processor. */
    const bool single = multi && !r->allow_single && single_find(r, all, best);
    const bool gpu = single && strncmp(best, "cpu:", 4) != 0;
    if (gpu) list_add(&list, "; '--allow-single' does everything on %s", best);
    if (multi) {
        list_add(&list, gpu ? "; this would work, too: " : "; this would work: ");
        if (!command_add(&list, r, all))
            list_add(&list, "'%s' without a data and a model device", said(r->command) ? r->command : "myxtts train");
        if (single && !gpu) list_add(&list, "; '--allow-single' would do everything on %s", best);
    } else if (best_find(&anything, all, best)) {
        list_add(&list, "; this would work: '%s --device %s'", said(r->command) ? r->command : "myxtts train", best);
    }
    return mx_error_hint("%s", list.text);
}

/* ---- from the command line alone ---- */

static int contradictions_check(const struct mx_mode_request *r)
{
    char backend[BACKEND_BYTES], data[64], model[64];
    int rc = 0, index;
    const char *const names[] = {r->device, r->data_device, r->model_device};
    const char *const advice = "choose one way to name the devices";
    if (said(r->device) && (by_index(r) || by_name(r)))
        MX_RAISE(MX_ERR_USAGE, advice, "'--device %s' does everything on one device: '%s' contradicts it", r->device,
                 words_of(r, role_said(r, MX_ROLE_DATA) ? MX_ROLE_DATA : MX_ROLE_MODEL, data));
    if (by_index(r) && by_name(r))
        MX_RAISE(MX_ERR_USAGE, advice,
                 "'--data-gpu' and '--model-gpu' (numbers) cannot be mixed with '--data-device' and '--model-device' "
                 "(names)");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!said(names[i])) continue;
        MX_TRY(mx_device_name_parse(names[i], backend, &index));
        if (backend_said(r) && strcmp(backend, r->backend) != 0)
            MX_RAISE(MX_ERR_USAGE, advice, "'--backend %s' contradicts the device %s", r->backend, names[i]);
    }
    const bool both = role_said(r, MX_ROLE_DATA) && role_said(r, MX_ROLE_MODEL);
    if ((by_index(r) || by_name(r)) && !both && !r->allow_single) {
        const enum mx_device_role given = role_said(r, MX_ROLE_DATA) ? MX_ROLE_DATA : MX_ROLE_MODEL;
        const enum mx_device_role missing = given == MX_ROLE_DATA ? MX_ROLE_MODEL : MX_ROLE_DATA;
        MX_RAISE(MX_ERR_USAGE, advice,
                 "❌ Multi-GPU Mode needs a data and a model device: '%s' names one, '%s' names none",
                 words_of(r, given, data), words_of(r, missing, model));
    }
    const bool same = by_index(r) ? r->data_gpu == r->model_gpu : both && strcmp(r->data_device, r->model_device) == 0;
    if (both && same && !r->allow_single)
        MX_RAISE(MX_ERR_USAGE, advice, "❌ Multi-GPU Mode needs two different devices: '%s' and '%s' are the same",
                 words_of(r, MX_ROLE_DATA, data), words_of(r, MX_ROLE_MODEL, model));
out:
    return rc;
}

/* The name of a role's device; "" if it was not said or its backend is not. */
static void name_of(const struct mx_mode_request *r, enum mx_device_role role, const char *backend,
                    char out[MX_MODE_NAME_BYTES])
{
    const char *const name = role == MX_ROLE_DATA ? r->data_device : r->model_device;
    const int index = role == MX_ROLE_DATA ? r->data_gpu : r->model_gpu;
    out[0] = '\0';
    if (said(name))
        snprintf(out, MX_MODE_NAME_BYTES, "%s", name);
    else if (index >= 0 && backend != NULL)
        snprintf(out, MX_MODE_NAME_BYTES, "%.15s:%d", backend, index);
}

int mx_mode_select(const struct mx_mode_request *r, struct mx_mode_choice *out)
{
    *out = (struct mx_mode_choice){.mode = MX_MODE_SINGLE};
    const int rc = contradictions_check(r);
    if (rc < 0) return rc;
    if (said(r->device)) {
        snprintf(out->names[0], sizeof out->names[0], "%s", r->device);
        out->count = 1;
        return 0;
    }
    if (!by_index(r) && !by_name(r)) {
        out->best = true;
        return 0;
    }
    const char *const backend = backend_said(r) ? r->backend : NULL;
    name_of(r, MX_ROLE_DATA, backend, out->names[0]);
    name_of(r, MX_ROLE_MODEL, backend, out->names[1]);
    if (out->names[0][0] == '\0' || out->names[1][0] == '\0' || strcmp(out->names[0], out->names[1]) == 0) return 0;
    out->mode = MX_MODE_MULTI;
    out->count = 2;
    return 0;
}

/* ---- with the devices in view ---- */

/* MX_ERR_NO_DEVICE if the requested backend cannot be used. */
static int backend_check(const struct mx_mode_request *r, const struct mx_registry *all)
{
    struct mx_backend_status status;
    const bool multi = by_index(r);
    if (!backend_said(r)) return 0;
    if (!backend_named(all, r->backend, &status)) {
        MX_FAIL(MX_ERR_NO_DEVICE, NULL, "there is no backend '%s'", r->backend);
        return hint_build(r, all, multi, NULL);
    }
    if (status.available) return 0;
    MX_FAIL(MX_ERR_NO_DEVICE, NULL, "backend %s is not available: %s", r->backend, status.reason);
    return hint_build(r, all, multi, status.hint);
}

/* The backend that indices refer to: the requested one, or the first with a GPU. NULL: there is no GPU. */
static const char *backend_of_indices(const struct mx_mode_request *r, const struct mx_registry *all)
{
    struct mx_backend_status status;
    if (backend_said(r)) return r->backend;
    return gpus_find(all, 1, &status) ? status.name : NULL;
}

/* Why the other backends have no GPU: " (cuda: …; opencl: …)", or "". *left_out: there are some that cannot be used. */
static void reasons_add(struct list *list, const struct mx_registry *all, bool *left_out)
{
    struct mx_backend_status status;
    bool any = false;
    *left_out = false;
    for (int order = 1; order < MX_BACKEND_ORDERS; order++) {
        if (!backend_at(all, order, &status) || status.is_cpu) continue;
        *left_out = *left_out || status.left_out[0] != '\0';
        if (status.reason[0] == '\0') continue;
        list_add(list, "%s%s: %s", any ? "; " : " (", status.name, status.reason);
        any = true;
    }
    if (any) list_add(list, ")");
}

/* Fewer than two devices of a backend, or of all of them (NULL). */
static void too_few(const struct mx_registry *all, const char *backend, int count, const char *kind, struct list *why)
{
    struct list reasons = {.length = 0};
    struct mx_backend_status status;
    bool left_out = false;
    list_add(why, "❌ Multi-GPU requires at least 2 GPUs: ");
    if (backend == NULL) {
        reasons_add(&reasons, all, &left_out);
        list_add(why, "%s%s", left_out ? "none that is here can be used" : "there is none here", reasons.text);
        return;
    }
    list_add(why, "backend %s has %d %s%s", backend, count, kind, count == 1 ? "" : "s");
    if (backend_named(all, backend, &status) && status.left_out[0] != '\0')
        list_add(why, " that can be used; left out: %s", status.left_out);
}

/* Why the pair cannot be had, into `why`: an empty text means that it can. */
static void pair_check(const struct mx_mode_request *r, const struct mx_registry *all, const char *backend,
                       const struct mx_mode_choice *c, struct list *why)
{
    char words[64];
    const bool gpu = !backend_said(r);
    const char *const kind = gpu ? "GPU" : "device";
    const int count = backend == NULL ? 0 : backend_count(all, backend, gpu);
    if (by_index(r) && count < 2) {
        too_few(all, backend, count, kind, why);
        return;
    }
    for (int role = 0; role < 2; role++) {
        char of[BACKEND_BYTES];
        int index = 0;
        if (c->names[role][0] == '\0' || mx_device_name_parse(c->names[role], of, &index) < 0) continue;
        if (has(all, of, index, by_index(r) && gpu)) continue;
        words_of(r, role == 0 ? MX_ROLE_DATA : MX_ROLE_MODEL, words);
        const int there = backend_count(all, of, by_index(r) && gpu);
        if (mx_registry_device_count(all) < 2)
            list_add(why, "❌ Multi-GPU requires at least 2 GPUs: there is 1 device here, and '%s' is not it", words);
        else
            list_add(why, "❌ Insufficient GPUs for Multi-GPU Mode: '%s' does not exist, %s has %d %s%s", words, of,
                     there, by_index(r) ? kind : "device", there == 1 ? "" : "s");
        return;
    }
    if (c->names[0][0] == '\0' || c->names[1][0] == '\0')
        list_add(why, "only '%s' is given",
                 words_of(r, role_said(r, MX_ROLE_DATA) ? MX_ROLE_DATA : MX_ROLE_MODEL, words));
    else if (strcmp(c->names[0], c->names[1]) == 0)
        list_add(why, "data and model device are both %s", c->names[0]);
}

/* Of the two requested devices, the one that exists, the model device first; otherwise the best. */
static bool one_find(const struct mx_mode_request *r, const struct mx_registry *all, const struct mx_mode_choice *asked,
                     char out[MX_MODE_NAME_BYTES])
{
    const bool gpu = by_index(r) && !backend_said(r);
    for (int role = 1; role >= 0; role--) {
        char of[BACKEND_BYTES];
        int index = 0;
        if (asked->names[role][0] == '\0' || mx_device_name_parse(asked->names[role], of, &index) < 0) continue;
        if (!has(all, of, index, gpu)) continue;
        snprintf(out, MX_MODE_NAME_BYTES, "%s", asked->names[role]);
        return true;
    }
    return best_find(r, all, out);
}

static int none_fail(const struct mx_mode_request *r, const struct mx_registry *all)
{
    MX_FAIL(MX_ERR_NO_DEVICE, NULL, "there is no device to train on");
    return hint_build(r, all, false, NULL);
}

/* The best device was left to us. If that would be the CPU although a GPU is there that cannot be used, the user decides:
 * MX_ERR_NO_DEVICE with the reason, unless '--allow-single' was given. */
static int best_choose(const struct mx_mode_request *r, const struct mx_registry *all, struct mx_mode_choice *out)
{
    char of[BACKEND_BYTES];
    int index = 0;
    struct mx_backend_status status;
    out->count = 1;
    if (!best_find(r, all, out->names[0])) return none_fail(r, all);
    const int rc = mx_device_name_parse(out->names[0], of, &index);
    if (rc < 0 || backend_said(r) || !is_cpu(all, of)) return rc;
    for (int order = 1; order < MX_BACKEND_ORDERS; order++) {
        if (!backend_at(all, order, &status) || status.is_cpu || status.left_out[0] == '\0') continue;
        if (r->allow_single) {
            snprintf(out->fallback, sizeof out->fallback, "%s", status.left_out);
            return 0;
        }
        MX_FAIL(MX_ERR_NO_DEVICE, NULL, "a GPU is here, but it cannot be used: %s", status.left_out);
        return mx_error_hint("%s; '%s --backend cpu' does without it", status.hint,
                             said(r->command) ? r->command : "myxtts train");
    }
    return 0;
}

int mx_mode_find(const struct mx_mode_request *r, const struct mx_registry *all, struct mx_mode_choice *out)
{
    int rc = 0;
    const char *backend = NULL;
    char one[MX_MODE_NAME_BYTES];
    struct list why = {.length = 0};
    rc = mx_mode_select(r, out);
    if (rc < 0) {
        const bool multi = by_index(r) || by_name(r);
        return hint_build(r, all, multi, NULL);
    }
    if (said(r->device)) {
        rc = mx_registry_find(all, r->device);
        return rc < 0 ? hint_build(r, all, false, NULL) : 0;
    }
    MX_TRY(backend_check(r, all));
    if (out->best) {
        rc = best_choose(r, all, out);
        goto out;
    }
    backend = by_index(r) ? backend_of_indices(r, all) : NULL;
    name_of(r, MX_ROLE_DATA, backend, out->names[0]);
    name_of(r, MX_ROLE_MODEL, backend, out->names[1]);
    pair_check(r, all, backend, out, &why);
    if (why.length == 0) {
        out->mode = MX_MODE_MULTI;
        out->count = 2;
        goto out;
    }
    if (!r->allow_single) {
        MX_FAIL(MX_ERR_NO_DEVICE, NULL, "%s", why.text);
        rc = hint_build(r, all, true, NULL);
        goto out;
    }
    out->mode = MX_MODE_SINGLE;
    out->count = 1;
    const char *const words = strncmp(why.text, "❌ ", strlen("❌ ")) == 0 ? why.text + strlen("❌ ") : why.text;
    snprintf(out->fallback, sizeof out->fallback, "%.*s", (int)sizeof out->fallback - 1, words);
    if (!one_find(r, all, out, one)) {
        rc = none_fail(r, all);
        goto out;
    }
    memcpy(out->names[0], one, sizeof one);
    out->names[1][0] = '\0';
out:
    return rc;
}

/* Opens a registry of the chosen devices. */
static int chosen_open(const struct mx_backend *const *backends, const struct mx_mode_request *r,
                       struct mx_mode_choice *choice, struct mx_registry_options *wanted, struct mx_registry **out)
{
    char backend[BACKEND_BYTES];
    int index;
    choice->plain = !by_index(r);
    wanted->device_count = choice->count;
    for (int i = 0; i < choice->count; i++) {
        const int rc = mx_device_name_parse(choice->names[i], backend, &index);
        if (rc < 0) return rc;
        choice->plain = choice->plain && mx_backend_is_cpu(backend);
        wanted->devices[i] = choice->names[i];
    }
    wanted->plain_names = choice->plain;
    return mx_registry_open(backends, wanted, out);
}

int mx_mode_open(const struct mx_backend *const *backends, const struct mx_mode_request *request,
                 struct mx_mode_choice *choice, struct mx_registry **out)
{
    int rc;
    struct mx_registry *all = NULL;
    struct mx_registry_options wanted = {.cpu_devices = request->cpu_devices};
    const struct mx_registry_options everything = wanted; /* as 'myxtts validate' lists them */
    *out = NULL;
    rc = mx_mode_select(request, choice);
    if (rc == 0 && choice->count > 0) {
        rc = chosen_open(backends, request, choice, &wanted, out);
        if (rc != MX_ERR_NO_DEVICE) return rc;
    }
    /* Something is missing, contradictory or left to the default: only now all devices are listed. */
    const struct mx_error first = *mx_error_last();
    const bool refused = rc < 0;
    rc = mx_registry_open(backends, &everything, &all);
    if (rc < 0) return refused && first.code == MX_ERR_USAGE ? mx_error_restore(&first) : rc;
    rc = mx_mode_find(request, all, choice);
    mx_registry_close(all);
    if (rc < 0) return rc;
    return chosen_open(backends, request, choice, &wanted, out);
}
