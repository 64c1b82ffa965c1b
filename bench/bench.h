/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What all benches share: options, measuring several things side by side, the table and the JSON file.
 *
 * Clocks drift on shared machines, so things that are compared are measured in turns: every round runs one sample of
 * each job, and each job's best sample is its rate. Each job also has its median, printed so that a noisy run shows;
 * a bench of few long samples compares the medians instead (`medians`). Where the machine disturbs every sample, as it
 * does on several cores of a shared one, the rounds are compared one by one, and the median of their ratios counts
 * (bench_report_paired).
 *
 * The JSON file (<folder of the program>/bench/NAME.json, or --json PATH) is a list of
 *   {"name", "value", "unit", "peer", "peer_value", "ratio", "bar", "most", "holds"};
 * ratio is value/peer_value, or that of rounds compared one by one; peer… and ratio are null without a peer; bar is the least ratio, most the largest value
 * that is allowed, both null where there is none, and then holds is null, too.
 *
 * Memory: a struct bench belongs to main; bench_finish releases it. Running out of memory ends the program.
 */
#ifndef MX_BENCH_BENCH_H
#define MX_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_row {
    char name[96], peer[40];
    const char *unit;
    double value, best, median;
    double peer_value; /* 0: no peer */
    double paired;     /* the ratio, if rounds were compared one by one; 0: value / peer_value */
    bool noisy;        /* a median far below its best: the machine was busy with something else */
    double bar;        /* least ratio; 0: no bar */
    bool limited;      /* the bar is `most` instead */
    double most;       /* largest value */
};

struct bench {
    const char *name;
    bool quick;   /* --quick: few rows, short samples */
    bool strict;  /* --strict: a bar that does not hold makes the exit code 1 */
    bool medians; /* rows compare medians, not best samples; set after bench_start */
    const char *filter;
    char json[4096];
    struct bench_row *rows;
    int count;
};

/* Something that can be repeated. */
struct bench_job {
    void (*run)(void *context, int64_t repeats); /* returns when the work is done */
    void *context;
    double work; /* of one repeat: operations or bytes */
    /* results, in units of 10⁹ work per second */
    double best, median;
    double paired; /* median over all rounds of its rate as a share of that of the first job in the same round */
};

/* Reads the options; on --help or a mistake prints and exits (0 or 1). */
void bench_start(struct bench *bench, const char *name, const char *about, int argc, char **argv);
/* Whether a row of that name is asked for (--filter: any part of the name). */
bool bench_wanted(const struct bench *bench, const char *name);

/* Measures the jobs in turns. The calling thread is pinned to `core` meanwhile (-1: not). */
void bench_measure(const struct bench *bench, struct bench_job *jobs, int count, int core);

double bench_median(double *values, int count); /* puts them in order; count > 0 */

/* Adds and prints a row: `job` next to `peer` (NULL: none) with a bar for their ratio (0: none). */
void bench_report(struct bench *bench, const char *name, const char *unit, const struct bench_job *job,
                  const char *peer_name, const struct bench_job *peer, double bar);
/* The same for the first job of a measurement as the peer, round by round: what disturbs both counts for neither. */
void bench_report_paired(struct bench *bench, const char *name, const char *unit, const struct bench_job *job,
                         const char *peer_name, const struct bench_job *peer, double bar);
/* Adds and prints a row whose value may be `most` at most. */
void bench_limit(struct bench *bench, const char *name, const char *unit, double value, double most);
void bench_section(const struct bench *bench, const char *title);

/* Writes the JSON file, prints the verdict, releases, and returns the exit code. */
int bench_finish(struct bench *bench);

/* Prints the message with the current error of the library, if any, and exits with 3. */
void bench_die(const char *what) __attribute__((noreturn));
void *bench_alloc(size_t bytes); /* zeroed, 64-byte aligned; free with mx_free */

#endif
