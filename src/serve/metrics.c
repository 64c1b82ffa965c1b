/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The counters of the service and the HTTP server in Prometheus' text format, version 0.0.4.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/string.h"
#include "serve/http_lists.h"

static void head(struct mx_string *out, const char *name, const char *type, const char *help)
{
    mx_string_append(out, "# HELP myxtts_%s %s\n# TYPE myxtts_%s %s\n", name, help, name, type);
}

static void count(struct mx_string *out, const char *name, uint64_t value, const char *help)
{
    head(out, name, "counter", help);
    mx_string_append(out, "myxtts_%s %" PRIu64 "\n", name, value);
}

static void gauge(struct mx_string *out, const char *name, uint64_t value, const char *help)
{
    head(out, name, "gauge", help);
    mx_string_append(out, "myxtts_%s %" PRIu64 "\n", name, value);
}

static void seconds(struct mx_string *out, const char *name, double value, const char *help)
{
    head(out, name, "counter", help);
    mx_string_append(out, "myxtts_%s %.9g\n", name, value);
}

/* Classes are cumulative in this format. */
static void first_sound(struct mx_string *out, const struct mx_service_counts *counts)
{
    static const char name[] = "first_sound_seconds";
    uint64_t sum = 0;
    head(out, name, "histogram", "Time from the text to its first sound.");
    for (int i = 0; i < MX_SERVICE_FIRST_CLASSES; i++) {
        sum += counts->first_sound[i];
        mx_string_append(out, "myxtts_%s_bucket{le=\"%.9g\"} %" PRIu64 "\n", name, mx_service_first_limits[i], sum);
    }
    sum += counts->first_sound[MX_SERVICE_FIRST_CLASSES];
    mx_string_append(out,
                     "myxtts_%s_bucket{le=\"+Inf\"} %" PRIu64 "\nmyxtts_%s_sum %.9g\nmyxtts_%s_count %" PRIu64 "\n",
                     name, sum, name, counts->first_sound_seconds, name, sum);
}

char *mx_prometheus_write(const struct mx_service_counts *service, const struct mx_http_counts *http)
{
    struct mx_string out = {0};
    head(&out, "build_info", "gauge", "The version of the program.");
    mx_string_append(&out, "myxtts_build_info{version=\"" MX_VERSION "\"} 1\n");
    count(&out, "texts_total", service->jobs, "Texts that the service began to speak.");
    head(&out, "texts_ended_total", "counter", "Texts by how they ended.");
    mx_string_append(&out, "myxtts_texts_ended_total{how=\"finished\"} %" PRIu64 "\n", service->finished);
    mx_string_append(&out, "myxtts_texts_ended_total{how=\"failed\"} %" PRIu64 "\n", service->failed);
    mx_string_append(&out, "myxtts_texts_ended_total{how=\"cancelled\"} %" PRIu64 "\n", service->cancelled);
    count(&out, "texts_refused_total", service->refused, "Texts that were refused because the queue was full.");
    gauge(&out, "texts_active", service->active, "Texts that are spoken or wait now.");
    gauge(&out, "texts_waiting", service->waiting, "Texts without any sound yet.");
    count(&out, "pieces_total", service->pieces, "Pieces of text that the networks spoke.");
    count(&out, "batches_total", service->batches, "Batches of pieces; pieces per batch is the gain of company.");
    count(&out, "characters_total", service->characters, "Characters of text.");
    count(&out, "tokens_total", service->tokens, "Symbols that were spoken.");
    count(&out, "unknown_symbols_total", service->unknown, "Symbols left out because no voice learned them.");
    seconds(&out, "sound_seconds_total", service->sound_seconds, "Sound that was made.");
    seconds(&out, "work_seconds_total", service->work_seconds, "Time that the networks worked.");
    first_sound(&out, service);
    count(&out, "http_connections_total", http->connections, "HTTP connections that were accepted.");
    gauge(&out, "http_connections_active", http->active, "HTTP connections now.");
    count(&out, "http_connections_refused_total", http->refused, "HTTP connections above a limit.");
    count(&out, "http_connections_displaced_total", http->displaced,
          "Idle HTTP connections that were closed for a new one.");
    count(&out, "http_connections_slow_total", http->slow,
          "HTTP connections that were closed because of a time limit.");
    count(&out, "http_requests_total", http->requests, "HTTP requests that were complete.");
    count(&out, "http_requests_failed_total", http->failed, "HTTP requests that were answered with an error.");
    count(&out, "http_requests_abandoned_total", http->gone, "HTTP requests whose client left before the end.");
    if (out.failure != 0) mx_string_release(&out);
    return out.data;
}
