/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Check 7 of a validation with a report: every operation on each device beside the CPU backend, on the random cases of
 * the tests (device/op_case.h) and within their bounds. See validate.h.
 *
 * Memory: cases and results exist one at a time; the CPU device that is compared with belongs to the check.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/progress.h"
#include "cli/validate/validate.h"
#include "device/op_case.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"

#define USUAL_CASES 4
#define LARGE_CASES 1 /* beyond the blocks of any kernel */
#define BF16_CASES  2 /* of operations that multiply bf16 numbers, on devices that can */
#define SHAPE_BYTES 256
#define FAULT_BYTES sizeof((struct mx_error *)0)->message

/* One device beside the CPU. */
struct bench {
    struct mx_validate *v;
    struct mx_device *cpu, *device;
    struct mx_op_forward forward; /* on the CPU */
    struct mx_progress *progress;
    const atomic_bool *stop;
    int operations, cases, wrong;
    double most; /* of all distances, as a share of the bound */
    enum mx_op most_op;
    char fault[FAULT_BYTES]; /* of the first operation that is wrong */
};

/* What came of the cases of one operation. */
struct outcome {
    int cases;
    double most, bound;
    const char *where;
    uint64_t device_ns, cpu_ns;
    char fault[FAULT_BYTES]; /* "": none */
};

/* "m 3, n 17, k 24" */
static void shape_text(const struct mx_op_case *c, char out[SHAPE_BYTES])
{
    size_t length = 0;
    out[0] = '\0';
    for (int i = 0; i < c->dim_count && length < SHAPE_BYTES; i++) {
        int64_t value = 0;
        int32_t narrow;
        memcpy(&value, c->args + c->dims[i].at, c->dims[i].bytes == 4 ? 0 : 8);
        memcpy(&narrow, c->args + c->dims[i].at, 4);
        if (c->dims[i].bytes == 4) value = narrow;
        length += (size_t)snprintf(out + length, SHAPE_BYTES - length, "%s%s %" PRId64, i > 0 ? ", " : "",
                                   c->dims[i].name, value);
    }
    snprintf(out + strlen(out), SHAPE_BYTES - strlen(out), "%s", c->plan.bf16 ? "; bf16" : "");
}

/* A failure of the device or a result that is too far off stands in `out`; the return value is about memory and the CPU. */
static int case_run(struct bench *b, enum mx_op op, uint64_t seed, struct mx_op_plan plan, cJSON *shapes,
                    struct outcome *out)
{
    int rc = 0;
    struct mx_op_case c;
    struct mx_op_result here = {.count = 0}, there = {.count = 0};
    const char *where = "", *far = NULL;
    char shape[SHAPE_BYTES];
    rc = mx_op_case_make(&c, op, seed, plan, &b->forward);
    if (rc < 0) return rc;
    const uint64_t begin = mx_clock_ns();
    MX_TRY(mx_op_case_run(&c, b->cpu, &here));
    const uint64_t middle = mx_clock_ns();
    const int failed = mx_op_case_run(&c, b->device, &there);
    out->device_ns += mx_clock_ns() - middle;
    out->cpu_ns += middle - begin;
    out->cases++;
    shape_text(&c, shape);
    cJSON *const item = cJSON_CreateString(shape);
    if (!cJSON_AddItemToArray(shapes, item)) {
        cJSON_Delete(item);
        b->v->report.json_failures++;
    }
    if (failed == 0) {
        const double distance = mx_op_result_distance(&c, &here, &there, &where);
        if (distance >= out->most) {
            out->most = distance;
            out->where = where;
            out->bound = mx_op_bound(&c);
        }
        far = mx_op_result_far(&c, &here, &there);
    }
    if (out->fault[0] == '\0' && (failed < 0 || far != NULL))
        snprintf(out->fault, sizeof out->fault, "%s", failed < 0 ? mx_error_last()->message : far);
    mx_error_clear();
out:
    mx_op_result_release(&here);
    mx_op_result_release(&there);
    mx_op_case_release(&c);
    return rc;
}

static int operation_run(struct bench *b, enum mx_op op, cJSON *list)
{
    int rc = 0;
    struct outcome out = {.where = ""};
    struct mx_validate_report *const r = &b->v->report;
    const bool bf16 = mx_op_knows_bf16(op) && mx_device_info(b->device)->caps.bf16_multiply;
    const int count = USUAL_CASES + LARGE_CASES + (bf16 ? BF16_CASES : 0);
    cJSON *const object = mx_validate_element(r, list);
    mx_validate_text(r, object, "name", mx_op_name(op));
    cJSON *const shapes = mx_validate_array(r, object, "shapes");
    for (int i = 0; i < count; i++) {
        const struct mx_op_plan plan = {.size = i >= USUAL_CASES && i < USUAL_CASES + LARGE_CASES ? MX_OP_LARGE
                                                                                                  : MX_OP_USUAL,
                                        .bf16 = i >= USUAL_CASES + LARGE_CASES};
        MX_TRY(case_run(b, op, (uint64_t)i, plan, shapes, &out));
    }
    mx_validate_number(r, object, "cases", out.cases);
    mx_validate_number(r, object, "share", out.most);
    mx_validate_number(r, object, "bound", out.bound);
    mx_validate_text(r, object, "output", out.where);
    mx_validate_number(r, object, "ms", (double)out.device_ns * 1e-6);
    mx_validate_number(r, object, "cpu_ms", (double)out.cpu_ns * 1e-6);
    mx_validate_text(r, object, "fault", out.fault);
    b->operations++;
    b->cases += out.cases;
    if (out.fault[0] != '\0' && b->wrong++ == 0) memcpy(b->fault, out.fault, sizeof b->fault);
    if (out.most > b->most || b->operations == 1) {
        b->most = out.most;
        b->most_op = op;
    }
out:
    return rc;
}

static int device_check(struct bench *b, cJSON *list)
{
    int rc = 0;
    struct mx_validate_report *const r = &b->v->report;
    const char *const logical = mx_device_logical(b->device);
    cJSON *const object = mx_validate_element(r, list);
    mx_validate_text(r, object, "device", mx_device_name(b->device));
    mx_validate_text(r, object, "logical", logical);
    cJSON *const operations = mx_validate_array(r, object, "operations");
    for (int op = 0; op < MX_OP_COUNT; op++) {
        if (atomic_load(b->stop)) MX_RAISE(MX_ERR_INTERRUPTED, NULL, "interrupted while operations were compared");
        mx_progress_note(b->progress, "%s on %s", mx_op_name((enum mx_op)op), logical);
        MX_TRY(operation_run(b, (enum mx_op)op, operations));
        mx_progress_add(b->progress, 1);
    }
    if (b->wrong > 0)
        MX_RAISE(MX_ERR_DEVICE,
                 "do not train on this device: update its driver, or choose another; and please send us the report",
                 "%d of %d operations on %s are not what the CPU computes; the first: %s", b->wrong, b->operations,
                 logical, b->fault);
    if (b->most == 0)
        mx_validate_report_add(r, MX_FINDING_PASS, NULL,
                               "%d operations on %s give the same results as the CPU in %d cases", b->operations,
                               logical, b->cases);
    else
        mx_validate_report_add(
            r, MX_FINDING_PASS, NULL,
            "%d operations on %s agree with the CPU in %d cases: at most %.0f %% of what rounding may do (%s)",
            b->operations, logical, b->cases, 100 * b->most, mx_op_name(b->most_op));
out:
    return rc;
}

int mx_validate_operations(struct mx_validate *v)
{
    int rc = 0, found;
    struct mx_registry *registry = NULL;
    struct mx_device *cpu = NULL;
    struct mx_progress *progress = NULL;
    struct mx_device *const devices[] = {v->job.devices.data, v->job.devices.model};
    const int first = mx_validate_multi(v) ? 0 : 1;
    const struct mx_registry_options options = {.cpu_devices = 1, .devices = {"cpu:0"}, .device_count = 1};
    MX_TRY(mx_registry_open(NULL, &options, &registry));
    found = mx_registry_find(registry, "cpu:0");
    if (found < 0) MX_TRY(found);
    MX_TRY(mx_registry_device_open(registry, found, 0, &cpu));
    cJSON *const list = mx_validate_array(&v->report, NULL, "devices");
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Comparing",
                                                           .unit = "operations",
                                                           .total = (uint64_t)(2 - first) * MX_OP_COUNT},
                             &progress));
    for (int i = first; i < 2; i++) {
        struct bench bench = {.v = v,
                              .cpu = cpu,
                              .device = devices[i],
                              .forward = {cpu, mx_op_forward_on},
                              .progress = progress,
                              .stop = v->stop};
        MX_TRY(device_check(&bench, list));
    }
out:
    mx_progress_finish(progress);
    mx_device_close(cpu);
    mx_registry_close(registry);
    return rc;
}
