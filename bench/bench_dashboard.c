/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the dashboard costs the training: the time of a step while nobody watches, next to that while
 * MX_DASHBOARD_CLIENTS clients do, in one run and in turns, so that whatever else the machine does meets both.
 *
 * The program beside this one trains, on one CPU device that has all cores, on utterances that are all alike. The
 * clients are a process of their own with the lowest priority, because in real life they are on other machines. In one
 * third of the turns there are none, which shows how much the machine itself varies; in the next one they read events,
 * as pages do; in the last one they ask for all of metrics.jsonl again and again, as nobody should.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sndfile.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "features/recipe.h"
#include "observe/dashboard.h"
#include "observe/follow.h"
#include "observe/monitor_view.h"

#define ROWS      64
#define SECONDS   2.5
#define MOST      2.0 /* percent */
#define TURNS_MAX 64
#define SETTLE_NS (3 * NS_PER_S / 2)
#define NS_PER_S  UINT64_C(1000000000)

enum load { LOAD_NONE, LOAD_EVENTS, LOAD_FILES, LOADS };

struct training {
    char folder[64];
    int port;
    pid_t process;
    struct mx_follow *follow;
    struct mx_view view;
    double sum_ms, count; /* of the turn */
    bool counting;
};

/* What the clients got, shared with their process. */
static struct {
    _Atomic uint64_t bytes;
} * got;

/* ---- the run ---- */

static void corpus_write(const char *folder)
{
    char path[128];
    const sf_count_t count = (sf_count_t)(SECONDS * mx_recipe_default.rate);
    float *const samples = bench_alloc((size_t)count * sizeof *samples);
    for (sf_count_t i = 0; i < count; i++)
        samples[i] = 0.3f * (float)sin(2 * M_PI * 220 * (double)i / mx_recipe_default.rate);
    snprintf(path, sizeof path, "%s/metadata.csv", folder);
    FILE *const list = fopen(path, "w");
    if (list == NULL) bench_die("cannot write the corpus of the bench");
    for (int row = 0; row < ROWS; row++) {
        SF_INFO info = {
            .samplerate = mx_recipe_default.rate, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
        fprintf(list, "row-%03d|A tone that is as long as all the other ones.\n", row);
        snprintf(path, sizeof path, "%s/row-%03d.wav", folder, row);
        SNDFILE *const file = sf_open(path, SFM_WRITE, &info);
        if (file == NULL || sf_writef_float(file, samples, count) != count || sf_close(file) != 0)
            bench_die("cannot write a recording of the bench");
    }
    if (fclose(list) != 0) bench_die("cannot write the corpus of the bench");
    mx_free(samples);
}

static int port_free(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0 || bind(s, (struct sockaddr *)&address, length) != 0 ||
        getsockname(s, (struct sockaddr *)&address, &length) != 0)
        bench_die("there is no free port");
    close(s);
    return ntohs(address.sin_port);
}

static void program_path(char *out, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", out, size - 16);
    if (length < 0) bench_die("cannot find the program");
    out[length] = '\0';
    strcpy(strrchr(out, '/') + 1, "myxtts");
}

static void training_start(struct training *t)
{
    char program[4096], corpus[96], run[96], address[32], metrics[128];
    program_path(program, sizeof program);
    snprintf(corpus, sizeof corpus, "%s", t->folder);
    snprintf(run, sizeof run, "%s/run", t->folder);
    t->port = port_free();
    snprintf(address, sizeof address, "127.0.0.1:%d", t->port);
    t->process = fork();
    if (t->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* however the bench ends */
        execl(program, "myxtts", "train", "--quiet", "--train-data", corpus, "--output", run, "--device", "cpu:0",
              "--batch-size", "4", "--epochs", "1000000", "--save-every", "1000000000", "--eval-every", "0", "--set",
              "data.tokens=chars", "--set", "training.samples=0", "--set", "training.report=off", "--tensorboard",
              "off", "--dashboard", address, (char *)NULL);
        _exit(127);
    }
    if (t->process < 0) bench_die("cannot start the training");
    snprintf(metrics, sizeof metrics, "%s/run/metrics.jsonl", t->folder);
    if (mx_follow_open(metrics, &t->follow) < 0) bench_die("cannot follow the run");
    mx_view_clear(&t->view);
}

static void line_take(void *context, char *text, size_t length)
{
    struct training *const t = context;
    const int64_t before = t->view.steps_seen;
    mx_view_line(&t->view, text, length);
    if (t->view.steps_seen == before || !t->counting) return;
    t->sum_ms += t->view.step.step_ms;
    t->count++;
}

static void training_look(struct training *t)
{
    const struct mx_follow_sink sink = {t, line_take, NULL};
    if (waitpid(t->process, NULL, WNOHANG) != 0) bench_die("the training has ended");
    if (mx_follow_read(t->follow, SIZE_MAX, &sink) < 0) bench_die("cannot follow the run");
}

/* Mean time of the steps that end within the next seconds. */
static double turn_measure(struct training *t, double seconds)
{
    training_look(t); /* what ended before does not count */
    t->sum_ms = t->count = 0;
    t->counting = true;
    for (const uint64_t end = mx_clock_ns() + (uint64_t)(seconds * 1e9); mx_clock_ns() < end;) {
        mx_clock_sleep_ns(NS_PER_S / 5);
        training_look(t);
    }
    t->counting = false;
    if (t->count < 3) bench_die("the steps are too slow for this bench");
    return t->sum_ms / t->count;
}

/* CPU time of the dashboard's thread so far, in seconds. */
static double thread_seconds(const struct training *t)
{
    char path[96], line[512];
    snprintf(path, sizeof path, "/proc/%d/task", (int)t->process);
    DIR *const list = opendir(path);
    if (list == NULL) bench_die("cannot look at the threads of the training");
    double seconds = -1;
    for (const struct dirent *entry = readdir(list); entry != NULL && seconds < 0; entry = readdir(list)) {
        unsigned long user, system;
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/stat", (int)t->process, entry->d_name);
        FILE *const file = fopen(path, "r");
        if (file == NULL) continue;
        if (fgets(line, sizeof line, file) != NULL && strstr(line, "(dashboard)") != NULL &&
            sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) == 2)
            seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
        fclose(file);
    }
    closedir(list);
    if (seconds < 0) bench_die("the training has no dashboard");
    return seconds;
}

/* ---- the clients ---- */

static int client_dial(int port, enum load load, int64_t step)
{
    char request[128];
    if (load == LOAD_EVENTS) /* as the page does, which shows what was before */
        snprintf(request, sizeof request, "GET /events?after=%" PRId64 " HTTP/1.1\r\nHost: localhost\r\n\r\n", step);
    else
        snprintf(request, sizeof request, "GET /metrics.jsonl HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0 || connect(s, (const struct sockaddr *)&to, sizeof to) != 0) _exit(1);
    if (send(s, request, strlen(request), MSG_NOSIGNAL) < 0) _exit(1);
    return s;
}

/* Never returns. */
static void clients_run(int port, enum load load, int64_t step)
{
    static struct pollfd all[MX_DASHBOARD_CLIENTS];
    static char text[65536];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, 19);
    for (int i = 0; i < MX_DASHBOARD_CLIENTS; i++) all[i] = (struct pollfd){client_dial(port, load, step), POLLIN, 0};
    for (;;) {
        if (poll(all, MX_DASHBOARD_CLIENTS, -1) < 0) _exit(1);
        for (int i = 0; i < MX_DASHBOARD_CLIENTS; i++) {
            if (all[i].revents == 0) continue;
            const ssize_t bytes = recv(all[i].fd, text, sizeof text, 0);
            if (bytes > 0) {
                atomic_fetch_add(&got->bytes, (uint64_t)bytes);
            } else {
                close(all[i].fd);
                all[i].fd = client_dial(port, load, step);
            }
        }
    }
}

static pid_t clients_start(const struct training *t, enum load load)
{
    if (load == LOAD_NONE) return 0;
    const pid_t process = fork();
    if (process == 0) clients_run(t->port, load, (int64_t)t->view.step.step);
    if (process < 0) bench_die("cannot start the clients");
    return process;
}

static void clients_stop(pid_t process)
{
    int status;
    if (process == 0) return;
    kill(process, SIGKILL);
    if (waitpid(process, &status, 0) != process || !WIFSIGNALED(status)) bench_die("the clients have ended too soon");
}

/* ---- all together ---- */

static int number_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, number_compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* A row without a bar. */
static void plain(struct bench *bench, const char *name, const char *unit, double value)
{
    bench_report(bench, name, unit, &(struct bench_job){.best = value, .median = value}, NULL, NULL, 0);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

int main(int argc, char **argv)
{
    static const char *const names[LOADS] = {"nobody", "events", "files"};
    static double ratios[LOADS][TURNS_MAX], busy[LOADS][TURNS_MAX], alone[TURNS_MAX];
    static double bytes[LOADS];
    struct bench bench;
    struct training t = {.folder = "/tmp/myxtts-bench-XXXXXX"};
    bench_start(&bench, "dashboard", "step time while many clients watch, and while nobody does", argc, argv);
    const int turns = bench.quick ? 1 : 5;
    const double seconds = bench.quick ? 2 : 3;
    got = mmap(NULL, sizeof *got, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED || mkdtemp(t.folder) == NULL) bench_die("cannot make a folder for the bench");
    corpus_write(t.folder);
    training_start(&t);
    while (t.view.steps_seen < 20) { /* the first ones tune themselves */
        mx_clock_sleep_ns(NS_PER_S / 10);
        training_look(&t);
    }
    double before = turn_measure(&t, seconds);
    for (int turn = 0; turn < turns; turn++)
        for (enum load load = LOAD_NONE; load < LOADS; load++) {
            const uint64_t had = atomic_load(&got->bytes);
            const pid_t clients = clients_start(&t, load);
            mx_clock_sleep_ns(SETTLE_NS); /* until all are there */
            const double used = thread_seconds(&t), with = turn_measure(&t, seconds);
            busy[load][turn] = 100 * (thread_seconds(&t) - used) / seconds;
            clients_stop(clients);
            if (load != LOAD_NONE && atomic_load(&got->bytes) == had) bench_die("the clients got nothing");
            bytes[load] += (double)(atomic_load(&got->bytes) - had) / turns;
            mx_clock_sleep_ns(SETTLE_NS); /* until all are gone */
            const double after = turn_measure(&t, seconds);
            ratios[load][turn] = 2 * with / (before + after);
            alone[turn] = before = after;
        }
    bench_section(&bench, "step time");
    plain(&bench, "nobody watches", "ms", median(alone, turns));
    for (enum load load = LOAD_NONE; load < LOADS; load++) {
        char name[64];
        const int clients = load == LOAD_NONE ? 0 : MX_DASHBOARD_CLIENTS;
        snprintf(name, sizeof name, "%s: what %d clients get in a turn", names[load], clients);
        plain(&bench, name, "kB", bytes[load] / 1000);
        snprintf(name, sizeof name, "%s: the dashboard's thread", names[load]);
        bench_limit(&bench, name, "% of a core", median(busy[load], turns), MOST);
        snprintf(name, sizeof name, "%s: step with %d clients", names[load], clients);
        const double more = 100 * (median(ratios[load], turns) - 1);
        if (load == LOAD_EVENTS)
            bench_limit(&bench, name, "% more", more, MOST);
        else
            plain(&bench, name, "% more", more); /* clients like these take more of this machine than the dashboard */
    }
    kill(t.process, SIGKILL);
    waitpid(t.process, NULL, 0);
    mx_follow_close(t.follow);
    nftw(t.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return bench_finish(&bench);
}
