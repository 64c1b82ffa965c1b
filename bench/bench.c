/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options, measuring in turns, table and JSON of the benches.
 */
#include "bench.h"

#include <cjson/cJSON.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread/pool.h"
#include "myxtts/error.h"

#define ROUNDS_MAX 32
#define NAME_WIDTH 48
#define LINE       "  %-*s %8s %-7s %8s   %-24s %8s %6s %5s  %s\n"

void bench_die(const char *what)
{
    const struct mx_error *error = mx_error_last();
    fprintf(stderr, "%s%s%s\n", what, error->code ? ": " : "", error->code ? error->message : "");
    if (error->code && error->hint[0]) fprintf(stderr, "hint: %s\n", error->hint);
    exit(3);
}

void *bench_alloc(size_t bytes)
{
    void *ptr = mx_alloc_aligned(bytes, 64);
    if (!ptr) bench_die("no memory for the bench");
    return ptr;
}

/* ---- options ---- */

static void usage(FILE *to, const char *name, const char *about)
{
    fprintf(to,
            "bench_%s: %s\n\n"
            "  --quick         a short subset, a few seconds\n"
            "  --filter TEXT   only rows whose name contains TEXT\n"
            "  --json PATH     where the numbers go (default: bench/%s.json next to the program)\n"
            "  --strict        exit with 1 when a bar does not hold\n",
            name, about, name);
}

static void __attribute__((noreturn)) cannot_write(const struct bench *bench)
{
    fprintf(stderr, "cannot write %s; give another place with --json\n", bench->json);
    exit(2);
}

static void default_json(struct bench *bench)
{
    char folder[3072];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    char *slash = NULL;
    if (length > 0) {
        folder[length] = 0;
        slash = strrchr(folder, '/');
    }
    if (slash)
        *slash = 0;
    else
        strcpy(folder, ".");
    snprintf(bench->json, sizeof bench->json, "%s/bench", folder);
    mkdir(bench->json, 0777); /* there already, or the write fails and says so */
    snprintf(bench->json, sizeof bench->json, "%s/bench/%s.json", folder, bench->name);
}

void bench_start(struct bench *bench, const char *name, const char *about, int argc, char **argv)
{
    *bench = (struct bench){.name = name};
    default_json(bench);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--help") == 0) {
            usage(stdout, name, about);
            exit(0);
        } else if (strcmp(argv[i], "--quick") == 0) {
            bench->quick = true;
        } else if (strcmp(argv[i], "--strict") == 0) {
            bench->strict = true;
        } else if (strcmp(argv[i], "--filter") == 0 && value) {
            bench->filter = argv[++i];
        } else if (strcmp(argv[i], "--json") == 0 && value) {
            snprintf(bench->json, sizeof bench->json, "%s", argv[++i]);
        } else {
            fprintf(stderr, "bench_%s: '%s' is not an option or lacks its value\n\n", name, argv[i]);
            usage(stderr, name, about);
            exit(1);
        }
    }
    FILE *file = fopen(bench->json, "a"); /* not after minutes of measuring */
    if (!file) cannot_write(bench);
    fclose(file);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf(LINE, NAME_WIDTH, "", "best", "", "median", "peer", "", "ratio", "bar", "");
}

bool bench_wanted(const struct bench *bench, const char *name)
{
    return !bench->filter || strstr(name, bench->filter);
}

void bench_section(const struct bench *bench, const char *title)
{
    if (!bench->filter) printf("%s\n", title);
}

/* ---- measuring ---- */

static double sample(const struct bench_job *job, int64_t repeats)
{
    const uint64_t start = mx_clock_ns();
    job->run(job->context, repeats);
    const uint64_t ns = mx_clock_ns() - start;
    return job->work * (double)repeats / (double)(ns ? ns : 1);
}

/* The time of one repeat, the better of two; also warms caches and clocks. */
static double single_ns(const struct bench_job *job)
{
    const double first = job->work / sample(job, 1), second = job->work / sample(job, 1);
    return first < second ? first : second;
}

/* As many repeats as fill a sample. */
static int64_t fitting_repeats(const struct bench_job *job, double sample_ns)
{
    int64_t repeats = 1;
    for (;;) {
        const double ns = job->work * (double)repeats / sample(job, repeats);
        if (ns >= 0.9 * sample_ns) return repeats;
        const double more = sample_ns / (ns + 1);
        repeats = more > 8 ? repeats * 8 : (int64_t)((double)repeats * more) + 1;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

void bench_measure(const struct bench *bench, struct bench_job *jobs, int count, int core)
{
    enum { JOBS_MAX = 4 };
    static double rates[JOBS_MAX][ROUNDS_MAX];
    int64_t repeats[JOBS_MAX];
    double sample_ns = bench->quick ? 3e6 : 10e6;
    const int rounds = bench->quick ? 5 : 16;
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (count > JOBS_MAX || mx_thread_pin(core) < 0) bench_die("cannot measure");
    /* Samples of the same length for all: the shorter ones would meet fewer disturbances. */
    for (int j = 0; j < count; j++)
        if (single_ns(&jobs[j]) > sample_ns) sample_ns = single_ns(&jobs[j]);
    for (int j = 0; j < count; j++) repeats[j] = fitting_repeats(&jobs[j], sample_ns);
    for (int round = 0; round < rounds; round++)
        for (int j = 0; j < count; j++) rates[j][round] = sample(&jobs[j], repeats[j]);
    for (int j = 0; j < count; j++) {
        double shares[ROUNDS_MAX];
        for (int round = 0; round < rounds; round++) shares[round] = rates[j][round] / rates[0][round];
        jobs[j].paired = bench_median(shares, rounds);
    }
    for (int j = 0; j < count; j++) {
        qsort(rates[j], (size_t)rounds, sizeof rates[j][0], compare_doubles);
        jobs[j].best = rates[j][rounds - 1];
        jobs[j].median = rates[j][rounds / 2];
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/* ---- table and file ---- */

static bool row_barred(const struct bench_row *row)
{
    return row->limited || row->bar > 0;
}

static double row_ratio(const struct bench_row *row)
{
    return row->paired > 0 ? row->paired : row->value / row->peer_value;
}

static bool row_holds(const struct bench_row *row)
{
    return row->limited ? row->value <= row->most : row_ratio(row) >= row->bar;
}

/* Bytes of UTF-8 that take no column of their own; printf counts bytes. */
static int hidden_bytes(const char *text)
{
    int count = 0;
    for (; *text; text++) count += ((unsigned char)*text & 0xC0) == 0x80;
    return count;
}

static void row_print(const struct bench_row *row)
{
    char value[24], median[24] = "", peer[24] = "", ratio[16] = "", bar[24] = "", verdict[24];
    snprintf(verdict, sizeof verdict, "%s%s",
             !row_barred(row) ? ""
             : row_holds(row) ? "ok"
             : row->limited   ? "ABOVE"
                              : "BELOW",
             row->noisy ? " (noisy)" : "");
    snprintf(value, sizeof value, row->limited ? "%.2g" : "%.1f", row->best);
    if (!row->limited) snprintf(median, sizeof median, "%.1f", row->median);
    if (row->peer_value > 0) {
        snprintf(peer, sizeof peer, "%.1f", row->peer_value);
        snprintf(ratio, sizeof ratio, "%.2f", row_ratio(row));
    }
    if (row->bar > 0) snprintf(bar, sizeof bar, "%.2f", row->bar);
    if (row->limited) snprintf(bar, sizeof bar, "<= %g", row->most);
    printf(LINE, NAME_WIDTH + hidden_bytes(row->name), row->name, value, row->unit, median, row->peer, peer, ratio, bar,
           verdict);
}

static bool noisy(const struct bench_job *job)
{
    return job->median < 0.8 * job->best;
}

static void row_add(struct bench *bench, const char *name, const char *peer, const struct bench_row *row)
{
    struct bench_row *const rows = mx_realloc(bench->rows, (size_t)bench->count + 1, sizeof *rows);
    if (!rows) bench_die("no memory for the table");
    bench->rows = rows;
    struct bench_row *const added = &rows[bench->count++];
    *added = *row;
    snprintf(added->name, sizeof added->name, "%s", name);
    snprintf(added->peer, sizeof added->peer, "%s", peer);
    row_print(added);
}

static double rate_of(const struct bench *bench, const struct bench_job *job)
{
    return bench->medians ? job->median : job->best;
}

void bench_report(struct bench *bench, const char *name, const char *unit, const struct bench_job *job,
                  const char *peer_name, const struct bench_job *peer, double bar)
{
    const struct bench_row row = {.unit = unit,
                                  .value = rate_of(bench, job),
                                  .best = job->best,
                                  .median = job->median,
                                  .peer_value = peer ? rate_of(bench, peer) : 0,
                                  .noisy = noisy(job) || (peer && noisy(peer)),
                                  .bar = peer ? bar : 0};
    row_add(bench, name, peer ? peer_name : "", &row);
}

void bench_report_paired(struct bench *bench, const char *name, const char *unit, const struct bench_job *job,
                         const char *peer_name, const struct bench_job *peer, double bar)
{
    const struct bench_row row = {.unit = unit,
                                  .value = job->median,
                                  .best = job->best,
                                  .median = job->median,
                                  .peer_value = peer->median,
                                  .paired = job->paired,
                                  .noisy = noisy(job) || noisy(peer),
                                  .bar = bar};
    row_add(bench, name, peer_name, &row);
}

void bench_limit(struct bench *bench, const char *name, const char *unit, double value, double most)
{
    const struct bench_row row = {.unit = unit, .value = value, .best = value, .limited = true, .most = most};
    row_add(bench, name, "", &row);
}

static cJSON *row_json(const struct bench_row *row)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "name", row->name);
    cJSON_AddNumberToObject(item, "value", row->value);
    cJSON_AddStringToObject(item, "unit", row->unit);
    if (row->peer_value > 0) {
        cJSON_AddStringToObject(item, "peer", row->peer);
        cJSON_AddNumberToObject(item, "peer_value", row->peer_value);
        cJSON_AddNumberToObject(item, "ratio", row_ratio(row));
    } else {
        cJSON_AddNullToObject(item, "peer");
        cJSON_AddNullToObject(item, "peer_value");
        cJSON_AddNullToObject(item, "ratio");
    }
    if (row->bar > 0)
        cJSON_AddNumberToObject(item, "bar", row->bar);
    else
        cJSON_AddNullToObject(item, "bar");
    if (row->limited)
        cJSON_AddNumberToObject(item, "most", row->most);
    else
        cJSON_AddNullToObject(item, "most");
    if (row_barred(row))
        cJSON_AddBoolToObject(item, "holds", row_holds(row));
    else
        cJSON_AddNullToObject(item, "holds");
    return item;
}

static void write_json(const struct bench *bench)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < bench->count; i++) cJSON_AddItemToArray(list, row_json(&bench->rows[i]));
    char *text = cJSON_Print(list);
    FILE *file = fopen(bench->json, "w");
    if (!text || !file || fprintf(file, "%s\n", text) < 0 || fclose(file) != 0) cannot_write(bench);
    cJSON_free(text);
    cJSON_Delete(list);
}

int bench_finish(struct bench *bench)
{
    int bars = 0, held = 0;
    for (int i = 0; i < bench->count; i++) {
        bars += row_barred(&bench->rows[i]);
        held += row_barred(&bench->rows[i]) && row_holds(&bench->rows[i]);
    }
    write_json(bench);
    printf("%d rows, %d of %d bars hold; %s\n", bench->count, held, bars, bench->json);
    mx_free(bench->rows);
    bench->rows = NULL;
    return bench->strict && held < bars ? 1 : 0;
}
