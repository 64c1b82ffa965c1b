/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the report of a validation says about the machine: versions and sizes, nothing that names it. See validate.h.
 *
 * Memory: the JSON belongs to the report.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/thread/pool.h"
#include "cli/validate/validate.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"

#define FILE_BYTES ((size_t)1 << 20)

/* What comes after `key` up to the end of its line, without quotes; `other` if the file or the key is not there. */
static void line_find(const char *path, const char *key, const char *other, char *out, size_t size)
{
    char *data = NULL;
    size_t bytes = 0;
    const char *at = NULL;
    if (mx_file_read(path, FILE_BYTES, &data, &bytes) == 0) at = strstr(data, key);
    if (at == NULL) {
        snprintf(out, size, "%s", other);
    } else {
        at += strlen(key);
        at += strspn(at, " \t:=\"");
        snprintf(out, size, "%.*s", (int)strcspn(at, "\"\n"), at);
    }
    mx_free(data);
    mx_error_clear();
}

static void devices_put(struct mx_validate *v, cJSON *machine)
{
    struct mx_validate_report *const r = &v->report;
    struct mx_device *const devices[] = {v->job.devices.data, v->job.devices.model};
    cJSON *const list = mx_validate_array(r, machine, "devices");
    for (int i = mx_validate_multi(v) ? 0 : 1; i < 2; i++) {
        if (devices[i] == NULL) continue;
        const struct mx_device_info *const info = mx_device_info(devices[i]);
        cJSON *const object = mx_validate_element(r, list);
        mx_validate_text(r, object, "device", mx_device_name(devices[i]));
        mx_validate_text(r, object, "name", info->name);
        mx_validate_text(r, object, "driver", info->driver);
        mx_validate_number(r, object, "memory_bytes", (double)info->memory_bytes);
        mx_validate_number(r, object, "units", info->compute_units);
    }
}

void mx_validate_machine(struct mx_validate *v, cJSON *root)
{
    struct utsname system = {0};
    char distribution[128], text[512], processor[128];
    struct mx_validate_report *const r = &v->report;
    cJSON *const machine = cJSON_AddObjectToObject(root, "machine");
    if (machine == NULL) {
        r->json_failures++;
        return;
    }
    (void)uname(&system);
    line_find("/etc/os-release", "PRETTY_NAME", "unknown", distribution, sizeof distribution);
    line_find("/proc/cpuinfo", "model name", system.machine, processor, sizeof processor);
    snprintf(text, sizeof text, "%s, %.64s %.64s, %.64s", distribution, system.sysname, system.release, system.machine);
    mx_validate_text(r, machine, "program", MX_VERSION);
    mx_validate_text(r, machine, "system", text);
    mx_validate_text(r, machine, "processor", processor);
    mx_validate_number(r, machine, "cores", mx_thread_cores(NULL, 0));
    line_find("/proc/meminfo", "MemTotal", "0", text, sizeof text);
    double kilobytes = 0;
    (void)sscanf(text, "%lf", &kilobytes);
    mx_validate_number(r, machine, "memory_bytes", 1024 * kilobytes);
    devices_put(v, machine);
}
