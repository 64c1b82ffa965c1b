/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the dashboard costs the training: the time of a step while MX_DASHBOARD_CLIENTS clients watch, next to that of
 * runs without a dashboard.
 *
 * The program beside this one trains three times the same, on one CPU device that has all cores, on utterances that are
 * all alike: without a dashboard, with one that all clients are connected to, and without one again. Only one of the
 * three is at work at a time; the others are stopped, and they take turns of little more than a second, because other
 * users of a machine change its speed within seconds. In each round the run in the middle is compared with the two
 * around it; these two beside each other are the noise, and stand beside the result. A step that was stopped on the
 * way does not count. All others of a turn do, so whatever the dashboard does to some of them is in their mean; of the
 * rounds the middle half counts.
 *
 * Where a machine varies by more than the bar, one more figure tells: how long threads of a run were ready to work and
 * had no core, because something else had it (the kernel counts that, and what other users of the machine take is not
 * in it). That is the way in which a dashboard can hold up a step.
 *
 * In real life clients are on other machines. Here they are a process of the lowest priority, SCHED_IDLE, whose own
 * time is shown; it must be seen that each of them got news, so that none was starved. The time that the dashboard's
 * thread takes is known to the nanosecond: what it takes of a core bounds what a step can lose. In the end the clients
 * ask for all of metrics.jsonl again and again, as nobody should, and only that time is looked at.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sndfile.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

#define ROWS        64
#define SECONDS     2.5
#define MOST        2.0 /* percent */
#define ROUNDS      24
#define STEPS_LEAST 4
#define STEPS_MAX   4096 /* of a turn */
#define TURN_NS     (MX_NS_PER_S * 13 / 10)
#define FILES_NS    (3 * MX_NS_PER_S)
#define ARRIVE_NS   (30 * MX_NS_PER_S)

enum load { LOAD_EVENTS, LOAD_FILES, LOAD_PAGE };
enum run { RUN_BEFORE, RUN_WATCHED, RUN_AFTER, RUNS };

struct training {
    int port; /* of its dashboard; 0: it has none */
    pid_t process;
    struct mx_follow *follow;
    struct mx_view view;
    double steps_ms[STEPS_MAX]; /* of the turn */
    int count;
    bool counting;
    char thread[96];     /* of the dashboard, in /proc */
    double core_waits_s; /* in all turns: time of threads that were ready to work, without a core */
    double turns_s;      /* length of these turns */
};

/* What each client got, in bytes, shared with their process. */
static _Atomic uint64_t *got;

/* ---- the run ---- */

static void corpus_write(const char *folder)
{
    char path[128];
    const sf_count_t count = (sf_count_t)(SECONDS * MX_RECIPE_DEFAULT->rate);
    float *const samples = bench_alloc((size_t)count * sizeof *samples);
    for (sf_count_t i = 0; i < count; i++)
        samples[i] = 0.3f * (float)sin(2 * M_PI * 220 * (double)i / MX_RECIPE_DEFAULT->rate);
    snprintf(path, sizeof path, "%s/metadata.csv", folder);
    FILE *const list = fopen(path, "w");
    if (list == NULL) bench_die("cannot write the corpus of the bench");
    for (int row = 0; row < ROWS; row++) {
        SF_INFO info = {
            .samplerate = MX_RECIPE_DEFAULT->rate, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
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

static void line_take(void *context, char *text, size_t length)
{
    struct training *const t = context;
    const int64_t before = t->view.steps_seen;
    mx_view_line(&t->view, text, length);
    if (t->view.steps_seen == before || !t->counting || t->count == STEPS_MAX) return;
    t->steps_ms[t->count++] = t->view.step.step_ms;
}

static void training_look(struct training *t)
{
    const struct mx_follow_sink sink = {t, line_take, NULL};
    if (waitpid(t->process, NULL, WNOHANG) != 0) bench_die("the training has ended");
    if (mx_follow_read(t->follow, SIZE_MAX, &sink) < 0) bench_die("cannot follow the run");
}

/* Returns when it has tuned itself, and is stopped. */
static void training_start(struct training *t, const char *corpus, enum run number)
{
    char program[4096], run[96], address[32] = "off", metrics[128];
    program_path(program, sizeof program);
    snprintf(run, sizeof run, "%s/run-%d", corpus, (int)number);
    t->port = number == RUN_WATCHED ? port_free() : 0;
    if (t->port > 0) snprintf(address, sizeof address, "127.0.0.1:%d", t->port);
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
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", run);
    if (mx_follow_open(metrics, &t->follow) < 0) bench_die("cannot follow the run");
    mx_view_clear(&t->view);
    while (t->view.steps_seen < 20) {
        mx_clock_sleep_ns(MX_NS_PER_S / 10);
        training_look(t);
    }
    kill(t->process, SIGSTOP);
}

static int number_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The mean without the quarter of the least and that of the largest values. */
static double middle_mean(double *values, int count)
{
    const int cut = count / 4;
    double sum = 0;
    qsort(values, (size_t)count, sizeof *values, number_compare);
    for (int i = cut; i < count - cut; i++) sum += values[i];
    return sum / (count - 2 * cut);
}

/* Of the thread or process of a folder of /proc, so far: CPU time, or time that it was ready and had no core. 0: it
 * is not there. */
static double cpu_seconds(const char *folder, bool waiting)
{
    char path[128];
    uint64_t worked_ns = 0, waited_ns = 0;
    snprintf(path, sizeof path, "%s/schedstat", folder);
    FILE *const file = fopen(path, "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%" SCNu64 " %" SCNu64, &worked_ns, &waited_ns) != 2)
        bench_die("the kernel does not tell what threads take");
    fclose(file);
    return (double)(waiting ? waited_ns : worked_ns) * 1e-9;
}

/* All threads of the run together, without that of its dashboard. */
static double core_waits(const struct training *t)
{
    char path[96];
    double sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)t->process);
    DIR *const list = opendir(path);
    if (list == NULL) bench_die("cannot look at the threads of the training");
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        snprintf(path, sizeof path, "/proc/%d/task/%.16s", (int)t->process, entry->d_name);
        if (entry->d_name[0] != '.' && strcmp(path, t->thread) != 0) sum += cpu_seconds(path, true);
    }
    closedir(list);
    return sum;
}

/* The folder of the dashboard's thread in /proc. */
static void thread_find(struct training *t)
{
    char path[96], name[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)t->process);
    DIR *const list = opendir(path);
    if (list == NULL) bench_die("cannot look at the threads of the training");
    for (const struct dirent *entry = readdir(list); entry != NULL && t->thread[0] == '\0'; entry = readdir(list)) {
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/comm", (int)t->process, entry->d_name);
        FILE *const file = fopen(path, "r");
        if (file == NULL) continue;
        if (fgets(name, sizeof name, file) != NULL && strcmp(name, "dashboard\n") == 0)
            snprintf(t->thread, sizeof t->thread, "/proc/%d/task/%.16s", (int)t->process, entry->d_name);
        fclose(file);
    }
    closedir(list);
    if (t->thread[0] == '\0') bench_die("the training has no dashboard");
}

/* Lets the run work for a turn: the mean time of the steps that began and ended in it. */
static double turn_run(struct training *t)
{
    double sum = 0;
    training_look(t); /* what ended before does not count */
    t->count = 0;
    t->counting = true;
    const double waited = core_waits(t);
    const uint64_t begin = mx_clock_ns();
    kill(t->process, SIGCONT);
    mx_clock_sleep_ns(TURN_NS);
    for (training_look(t); t->count < STEPS_LEAST; training_look(t)) {
        if (mx_clock_ns() - begin > ARRIVE_NS) bench_die("the steps are too slow for this bench");
        mx_clock_sleep_ns(MX_NS_PER_S / 10);
    }
    kill(t->process, SIGSTOP);
    t->turns_s += (double)(mx_clock_ns() - begin) * 1e-9;
    mx_clock_sleep_ns(MX_NS_PER_S / 50); /* until all its threads have stopped */
    t->core_waits_s += core_waits(t) - waited;
    training_look(t);
    t->counting = false;
    for (int i = 1; i < t->count; i++) sum += t->steps_ms[i]; /* the first one was stopped on the way */
    return sum / (t->count - 1);
}

/* ---- the clients ---- */

static int client_dial(int port, enum load load, int64_t step)
{
    char request[128], events[64];
    snprintf(events, sizeof events, "/events?after=%" PRId64, step); /* as the page does, which shows what was before */
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
             load == LOAD_EVENTS  ? events
             : load == LOAD_FILES ? "/metrics.jsonl"
                                  : "/");
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0 || connect(s, (const struct sockaddr *)&to, sizeof to) != 0) _exit(1);
    if (send(s, request, strlen(request), MSG_NOSIGNAL) < 0) _exit(1);
    return s;
}

/* How long one client waits for the whole page, in ms: the price of the low priority. */
static double page_fetch(const struct training *t)
{
    static char text[65536];
    const uint64_t begin = mx_clock_ns();
    const int s = client_dial(t->port, LOAD_PAGE, 0);
    ssize_t got_now, all = 0;
    while ((got_now = recv(s, text, sizeof text, 0)) > 0) all += got_now;
    close(s);
    if (got_now < 0 || all < 10000) bench_die("the page cannot be had");
    return (double)(mx_clock_ns() - begin) / 1e6;
}

/* Never returns. */
static void clients_run(int port, enum load load, int64_t step)
{
    static struct pollfd all[MX_DASHBOARD_CLIENTS];
    static char text[65536];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}) != 0) _exit(1);
    for (int i = 0; i < MX_DASHBOARD_CLIENTS; i++) all[i] = (struct pollfd){client_dial(port, load, step), POLLIN, 0};
    for (;;) {
        if (poll(all, MX_DASHBOARD_CLIENTS, -1) < 0) _exit(1);
        for (int i = 0; i < MX_DASHBOARD_CLIENTS; i++) {
            if (all[i].revents == 0) continue;
            const ssize_t bytes = recv(all[i].fd, text, sizeof text, 0);
            if (bytes > 0) {
                atomic_fetch_add(&got[i], (uint64_t)bytes);
            } else {
                close(all[i].fd);
                all[i].fd = client_dial(port, load, step);
            }
        }
    }
}

/* How many clients have more than before, and the bytes of all. */
static int clients_served(const uint64_t before[MX_DASHBOARD_CLIENTS], uint64_t *bytes)
{
    int served = 0;
    *bytes = 0;
    for (int i = 0; i < MX_DASHBOARD_CLIENTS; i++) {
        const uint64_t now = atomic_load(&got[i]);
        served += now > before[i];
        *bytes += now - before[i];
    }
    return served;
}

static void clients_look(uint64_t out[MX_DASHBOARD_CLIENTS])
{
    for (int i = 0; i < MX_DASHBOARD_CLIENTS; i++) out[i] = atomic_load(&got[i]);
}

/* Returns when all of them get something; the run is at work meanwhile. */
static pid_t clients_start(const struct training *t, enum load load)
{
    uint64_t before[MX_DASHBOARD_CLIENTS], bytes;
    clients_look(before);
    kill(t->process, SIGCONT);
    const pid_t process = fork();
    if (process == 0) clients_run(t->port, load, (int64_t)t->view.step.step);
    if (process < 0) bench_die("cannot start the clients");
    const uint64_t end = mx_clock_ns() + ARRIVE_NS;
    while (clients_served(before, &bytes) < MX_DASHBOARD_CLIENTS) {
        if (mx_clock_ns() > end) bench_die("not all clients were served");
        mx_clock_sleep_ns(MX_NS_PER_S / 10);
    }
    return process;
}

static void clients_stop(pid_t process)
{
    int status;
    kill(process, SIGKILL);
    if (waitpid(process, &status, 0) != process || !WIFSIGNALED(status)) bench_die("the clients have ended too soon");
}

/* ---- all together ---- */

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

/* A row, and how far the rounds lie apart. */
static void ratios_tell(struct bench *bench, const char *name, double *ratios, int count, double most)
{
    char spread[96];
    const double more = 100 * (middle_mean(ratios, count) - 1); /* they are in order now */
    if (most > 0)
        bench_limit(bench, name, "% more", more, most);
    else
        plain(bench, name, "% more", more);
    snprintf(spread, sizeof spread, "%s: first quartile", name);
    plain(bench, spread, "% more", 100 * (ratios[count / 4] - 1));
    snprintf(spread, sizeof spread, "%s: third quartile", name);
    plain(bench, spread, "% more", 100 * (ratios[count - 1 - count / 4] - 1));
}

/* What the thread takes while the clients want files, in percent of a core. */
static double files_measure(struct training *t)
{
    const pid_t clients = clients_start(t, LOAD_FILES);
    const double before = cpu_seconds(t->thread, false);
    mx_clock_sleep_ns(FILES_NS);
    const double after = cpu_seconds(t->thread, false);
    clients_stop(clients);
    return 100 * (after - before) / ((double)FILES_NS * 1e-9);
}

int main(int argc, char **argv)
{
    static struct training runs[RUNS];
    static double watched[ROUNDS], noise[ROUNDS], plain_ms[ROUNDS];
    struct bench bench;
    char folder[] = "/tmp/myxtts-bench-XXXXXX", clients[64];
    uint64_t had[MX_DASHBOARD_CLIENTS], bytes;
    struct training *const t = &runs[RUN_WATCHED];
    bench_start(&bench, "dashboard", "step time of a run that many clients watch, and of runs without a dashboard",
                argc, argv);
    const int rounds = bench.quick ? 3 : ROUNDS;
    got = mmap(NULL, MX_DASHBOARD_CLIENTS * sizeof *got, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED || mkdtemp(folder) == NULL) bench_die("cannot make a folder for the bench");
    corpus_write(folder);
    for (enum run i = 0; i < RUNS; i++) training_start(&runs[i], folder, i);
    thread_find(t);
    kill(t->process, SIGCONT);
    const double page_ms = page_fetch(t);
    const pid_t process = clients_start(t, LOAD_EVENTS);
    kill(t->process, SIGSTOP);
    snprintf(clients, sizeof clients, "/proc/%d", (int)process);
    clients_look(had);
    const double thread = cpu_seconds(t->thread, false), theirs = cpu_seconds(clients, false);
    for (int round = 0; round < rounds; round++) {
        const double before = turn_run(&runs[RUN_BEFORE]), with = turn_run(t), after = turn_run(&runs[RUN_AFTER]);
        watched[round] = 2 * with / (before + after);
        noise[round] = after / before;
        plain_ms[round] = (before + after) / 2;
    }
    const double seconds = t->turns_s;
    const double thread_percent = 100 * (cpu_seconds(t->thread, false) - thread) / seconds;
    const double clients_percent = 100 * (cpu_seconds(clients, false) - theirs) / seconds;
    const int served = clients_served(had, &bytes);
    clients_stop(process);
    bench_section(&bench, "steps");
    plain(&bench, "without a dashboard", "ms", middle_mean(plain_ms, rounds));
    ratios_tell(&bench, "noise: without against without", noise, rounds, 0);
    ratios_tell(&bench, "watched by all clients", watched, rounds, MOST);
    bench_section(&bench, "threads of a run that were ready and had no core, all together");
    const double waits = 100 * (runs[RUN_BEFORE].core_waits_s + runs[RUN_AFTER].core_waits_s) /
                         (runs[RUN_BEFORE].turns_s + runs[RUN_AFTER].turns_s);
    plain(&bench, "without a dashboard", "% of the time", waits);
    plain(&bench, "watched by all clients", "% of the time", 100 * t->core_waits_s / seconds);
    bench_limit(&bench, "what watching adds", "% of the time", 100 * t->core_waits_s / seconds - waits, MOST);
    bench_section(&bench, "the dashboard");
    bench_limit(&bench, "its thread, watched", "% of a core", thread_percent, MOST);
    bench_limit(&bench, "its thread, asked for files", "% of a core", files_measure(t), MOST);
    plain(&bench, "clients that got news", "", served);
    plain(&bench, "what they got", "kB/s", (double)bytes / 1000 / seconds);
    plain(&bench, "the clients themselves", "% of a core", clients_percent);
    plain(&bench, "until one client has the page", "ms", page_ms);
    if (served < MX_DASHBOARD_CLIENTS) bench_die("some clients got nothing");
    for (enum run i = 0; i < RUNS; i++) {
        kill(runs[i].process, SIGKILL);
        waitpid(runs[i].process, NULL, 0);
        mx_follow_close(runs[i].follow);
    }
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return bench_finish(&bench);
}
