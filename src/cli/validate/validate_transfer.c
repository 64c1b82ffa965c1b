/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Check 4 of a validation, and 8 of one with a report: copies in each direction, of several sizes, whose contents are compared and whose speed is
 * measured. See validate.h.
 *
 * With two devices the sides are the data device and the model device; with one device they are the host and the
 * device. A copy must transfer every byte and leave the bytes after it unchanged.
 *
 * Memory: each side owns its buffer; the host arrays for filling and comparing belong to the check.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "cli/validate/validate.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"

#define TAIL         64 /* bytes after a copy that must remain unchanged */
#define BULK_REPEATS 9  /* of the largest copy */
#define TINY_REPEATS 101

static const size_t sizes[] = {64, 4096, 65540, (size_t)1 << 20, (size_t)16 << 20};
#define SIZES (sizeof sizes / sizeof sizes[0])

/* One end of a copy. */
struct side {
    const char *name;
    struct mx_device *device; /* NULL: the host */
    struct mx_stream *stream; /* of the device */
    struct mx_buffer *buffer;
    unsigned char *host; /* of a side without device: memory that the other side copies from fastest */
};

struct rig {
    struct side sides[2];
    unsigned char *sent, *got; /* [most + TAIL] */
    size_t most;               /* the largest copy that there is room for */
};

/* ---- sides ---- */

static int side_open(struct side *side, const struct side *other, size_t bytes)
{
    int rc = 0;
    if (side->device == NULL) return mx_host_alloc(other->device, "validation", bytes, (void **)&side->host);
    MX_TRY(mx_stream_create(side->device, "validation", &side->stream));
    MX_TRY(mx_buffer_create(side->device, "validation", bytes, &side->buffer));
out:
    return rc;
}

static void side_close(struct side *side, const struct side *other)
{
    mx_stream_release(side->stream);
    mx_buffer_release(side->buffer);
    if (side->host != NULL) mx_host_release(other->device, side->host);
}

static int side_put(const struct side *side, const unsigned char *from, size_t bytes)
{
    if (side->device == NULL) {
        memcpy(side->host, from, bytes);
        return 0;
    }
    const int rc = mx_copy_upload(side->stream, mx_slice_at(side->buffer, 0), from, bytes);
    return rc < 0 ? rc : mx_stream_sync(side->stream);
}

static int side_get(const struct side *side, unsigned char *to, size_t bytes)
{
    if (side->device == NULL) {
        memcpy(to, side->host, bytes);
        return 0;
    }
    const int rc = mx_copy_download(side->stream, to, mx_slice_at(side->buffer, 0), bytes);
    return rc < 0 ? rc : mx_stream_sync(side->stream);
}

/* The copy itself, complete when this returns; on the stream of the side that sends, as in the pipeline. */
static int move(const struct side *from, const struct side *to, size_t bytes)
{
    int rc = 0;
    struct mx_stream *const stream = from->device != NULL ? from->stream : to->stream;
    if (from->device == NULL)
        MX_TRY(mx_copy_upload(stream, mx_slice_at(to->buffer, 0), from->host, bytes));
    else if (to->device == NULL)
        MX_TRY(mx_copy_download(stream, to->host, mx_slice_at(from->buffer, 0), bytes));
    else
        MX_TRY(mx_copy_slices(stream, mx_slice_at(to->buffer, 0), mx_slice_at(from->buffer, 0), bytes));
    MX_TRY(mx_stream_sync(stream));
out:
    return rc;
}

/* ---- contents ---- */

static int contents_check(const struct rig *rig, const struct side *from, const struct side *to, size_t bytes)
{
    int rc = 0;
    const size_t whole = bytes + TAIL;
    const uint64_t stream = (uint64_t)bytes << 1 | (from == &rig->sides[1]);
    for (size_t i = 0; i < whole; i += 16) {
        uint32_t block[4];
        mx_philox(MX_VALIDATE_SEED, stream, i / 16, block);
        memcpy(rig->sent + i, block, whole - i < 16 ? whole - i : 16);
    }
    /* What is there before differs everywhere from what is sent. */
    for (size_t i = 0; i < whole; i++) rig->got[i] = (unsigned char)~rig->sent[i];
    MX_TRY(side_put(from, rig->sent, bytes));
    MX_TRY(side_put(to, rig->got, whole));
    MX_TRY(move(from, to, bytes));
    memset(rig->got, 0, whole);
    MX_TRY(side_get(to, rig->got, whole));
    for (size_t i = 0; i < whole; i++) {
        const unsigned char wanted = i < bytes ? rig->sent[i] : (unsigned char)~rig->sent[i];
        if (rig->got[i] == wanted) continue;
        MX_RAISE(MX_ERR_DEVICE,
                 "do not train on this pair: update the driver, or choose other devices ('myxtts devices' lists them)",
                 "a copy of %zu bytes from %s to %s is wrong at byte %zu: %02x instead of %02x", bytes, from->name,
                 to->name, i, rig->got[i], wanted);
    }
out:
    return rc;
}

/* ---- speed ---- */

static int order_by_time(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The median of `repeats` (at most TINY_REPEATS) copies. */
static int time_copy(const struct side *from, const struct side *to, size_t bytes, int repeats, double *ns)
{
    uint64_t times[TINY_REPEATS];
    int rc = move(from, to, bytes);
    for (int i = 0; i < repeats && rc == 0; i++) {
        const uint64_t begin = mx_clock_ns();
        rc = move(from, to, bytes);
        times[i] = mx_clock_ns() - begin;
    }
    if (rc < 0) return rc;
    qsort(times, (size_t)repeats, sizeof times[0], order_by_time);
    *ns = times[repeats / 2] > 0 ? (double)times[repeats / 2] : 1;
    return 0;
}

static int direction_check(struct mx_validate *v, const struct rig *rig, int way, cJSON *list)
{
    int rc = 0, count = 0;
    double bulk_ns, tiny_ns;
    size_t largest = sizes[0];
    struct mx_validate_report *const r = &v->report;
    const struct side *const from = &rig->sides[way], *const to = &rig->sides[1 - way];
    char text[MX_BYTES_TEXT_BYTES];
    cJSON *const object = mx_validate_element(r, list);
    mx_validate_text(r, object, "from", from->name);
    mx_validate_text(r, object, "to", to->name);
    cJSON *const tried = mx_validate_array(r, object, "sizes");
    for (size_t i = 0; i < SIZES && sizes[i] <= rig->most; i++, count++) {
        MX_TRY(contents_check(rig, from, to, sizes[i]));
        largest = sizes[i];
        cJSON *const number = cJSON_CreateNumber((double)sizes[i]);
        if (!cJSON_AddItemToArray(tried, number)) {
            cJSON_Delete(number);
            r->json_failures++;
        }
    }
    MX_TRY(time_copy(from, to, largest, BULK_REPEATS, &bulk_ns));
    MX_TRY(time_copy(from, to, sizes[0], TINY_REPEATS, &tiny_ns));
    mx_validate_number(r, object, "bandwidth_bytes", (double)largest);
    mx_validate_number(r, object, "bandwidth_gb_s", (double)largest / bulk_ns);
    mx_validate_number(r, object, "latency_bytes", (double)sizes[0]);
    mx_validate_number(r, object, "latency_us", tiny_ns * 1e-3);
    mx_validate_report_add(r, MX_FINDING_PASS, NULL,
                           "%s → %s: contents equal in %d sizes up to %s; %.2f GB/s, latency %.1f µs", from->name,
                           to->name, count, mx_bytes_text(largest, text), (double)largest / bulk_ns, tiny_ns * 1e-3);
out:
    return rc;
}

/* ---- the check ---- */

/* Half of what is left on each device may be used; the host has enough. */
static size_t room(const struct rig *rig)
{
    uint64_t least = sizes[SIZES - 1] + TAIL;
    for (int i = 0; i < 2; i++) {
        if (rig->sides[i].device == NULL) continue;
        const uint64_t half = mx_budget_available(mx_device_budget(rig->sides[i].device)) / 2;
        if (half < least) least = half;
    }
    return least > sizes[0] + TAIL ? (size_t)least - TAIL
                                   : sizes[0]; /* where even that is too much, the limit refuses */
}

/* Copies between two sides, one of which may be the host, in both directions. */
static int rig_check(struct mx_validate *v, struct rig *rig, cJSON *list)
{
    int rc = 0;
    rig->most = room(rig);
    rig->sent = mx_alloc(rig->most + TAIL, 1);
    rig->got = mx_alloc(rig->most + TAIL, 1);
    if (rig->sent == NULL || rig->got == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int i = 0; i < 2; i++) MX_TRY(side_open(&rig->sides[i], &rig->sides[1 - i], rig->most + TAIL));
    for (int way = 0; way < 2; way++) MX_TRY(direction_check(v, rig, way, list));
out:
    for (int i = 0; i < 2; i++) side_close(&rig->sides[i], &rig->sides[1 - i]);
    mx_free(rig->sent);
    mx_free(rig->got);
    return rc;
}

int mx_validate_transfer(struct mx_validate *v)
{
    int rc = 0;
    const bool two = mx_validate_multi(v);
    const struct mx_device_pair *const pair = &v->job.devices;
    struct rig rig = {
        .sides = {{.name = two ? mx_device_logical(pair->data) : "host", .device = two ? pair->data : NULL},
                  {.name = mx_device_logical(pair->model), .device = pair->model}}};
    if (two) {
        const bool peer = mx_device_can_peer(pair->data, pair->model);
        mx_validate_flag(&v->report, NULL, "peer", peer);
        mx_validate_report_add(&v->report, MX_FINDING_PASS, NULL, "Copies between the devices are %s",
                               peer ? "direct (peer)" : "staged through the memory of the host");
    } else {
        mx_validate_report_add(&v->report, MX_FINDING_NOTE, NULL,
                               "One device: nothing is copied between devices; copies from "
                               "and to the host are checked");
    }
    MX_TRY(rig_check(v, &rig, mx_validate_array(&v->report, NULL, "directions")));
    mx_validate_report_add(&v->report, MX_FINDING_PASS, NULL, "Data transfer successful");
out:
    return rc;
}

int mx_validate_host_transfer(struct mx_validate *v)
{
    int rc = 0;
    struct mx_device *const devices[] = {v->job.devices.data, v->job.devices.model};
    cJSON *const list = mx_validate_array(&v->report, NULL, "directions");
    if (!mx_validate_multi(v)) {
        mx_validate_report_add(&v->report, MX_FINDING_NOTE, NULL, "One device: check 4 has measured it");
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        struct rig rig = {.sides = {{.name = "host"}, {.name = mx_device_logical(devices[i]), .device = devices[i]}}};
        MX_TRY(rig_check(v, &rig, list));
    }
out:
    return rc;
}
