/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The two-device pipeline on two CPU devices of one core each, measured by `myxtts profile --json`: what it gains, and
 * how near it comes to what is possible.
 *
 * Three workloads, all on corpora that are made up:
 *
 *     balanced   augmentation on, nothing cached, and a network whose training takes about as long as loading and
 *                processing a batch: its hidden width is found by measuring. `--compare` runs it in all modes.
 *     fast data  no augmentation, equally long recordings and a larger network: the data side has time to spare.
 *     sharing    packed features and the same network: preparing a batch takes next to no time, and the data device
 *                trains, too. Compared by mel frames per second with a program that has one core for everything, and
 *                with what the machine gives: two such programs at the same time, by themselves and as if each of their
 *                steps waited for the slower of the two.
 *
 * "One device" is one of the two: so ratios are per core. Costs of stages alone are those of a run without overlap,
 * between the others (cli/profile/profile_compare.c). The figures of each run are kept as JSON next to the bench's own.
 *
 * Memory: results of the program are cJSON trees, released by main.
 */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread/pool.h"
#include "bench.h"
#include "myxtts/pipeline.h"
#include "myxtts/registry.h"
#include "train_corpus.h"

#define PATH_BYTES      4096
#define JSON_LIMIT      (1 << 20)
#define ARGUMENTS       48
#define HIDDEN_FIRST    128
#define HIDDEN_UNIT     16 /* widths are multiples of this, as those of real networks are */
#define HIDDEN_LEAST    16
#define HIDDEN_MOST     2048
#define SHARING_ROUNDS  9
#define SHARING_BATCH   16
#define SHARING_BATCHES 8 /* of an epoch */
#define FAST_ROUNDS     5
#define DATA_SHARE      0.93 /* of the time of training that the data side should need: about as much, and never more */

extern char **environ;

#define ANY_CORE (-1)
#define PAIR     "--cpu-devices 2 --data-gpu 0 --model-gpu 1"
#define FAST_NETWORK                                                                                                   \
    "--set model.width=128 --set model.heads=2 --set model.hidden=512 --set model.encoder_blocks=1 --set "             \
    "model.decoder_blocks=2"

/* A program and a folder for its results. */
struct profiler {
    char program[PATH_BYTES], folder[PATH_BYTES];
};

static void profiler_find(struct profiler *out, const char *json)
{
    char self[PATH_BYTES], copy[PATH_BYTES];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) bench_die("cannot tell where this program is");
    self[length] = '\0';
    snprintf(copy, sizeof copy, "%s", json);
    if (snprintf(out->program, sizeof out->program, "%s/myxtts", dirname(self)) >= PATH_BYTES ||
        snprintf(out->folder, sizeof out->folder, "%s", dirname(copy)) >= PATH_BYTES)
        bench_die("the path of this program is too long");
    if (access(out->program, X_OK) != 0) bench_die("there is no program 'myxtts' next to this one; run 'make build'");
}

/* A run of `myxtts profile` that is under way, and the file of its figures. */
struct profiling {
    pid_t child;
    char path[PATH_BYTES + 64];
};

/* Begins `myxtts profile` on these devices with these arguments (words, separated by single spaces); all of the program
 * stays on `core`. */
static void profile_begin(const struct profiler *profiler, const char *name, int core, const char *devices,
                          const char *arguments, struct profiling *out)
{
    char words[1024], option[] = "--json", *argv[ARGUMENTS], *rest;
    int count = 0;
    snprintf(out->path, sizeof out->path, "%s/profile-%s.json", profiler->folder, name);
    snprintf(words, sizeof words, "myxtts -q profile --backend cpu %s %s", devices, arguments);
    for (char *word = strtok_r(words, " ", &rest); word != NULL && count < ARGUMENTS - 3;
         word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    argv[count++] = option;
    argv[count++] = out->path;
    argv[count] = NULL;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    cpu_set_t cores; /* a program may use those of the thread that starts it */
    if (sched_getaffinity(0, sizeof cores, &cores) != 0 || mx_thread_pin(core) < 0)
        bench_die("a core of this machine cannot be chosen");
    if (posix_spawn(&out->child, profiler->program, &quiet, NULL, argv, environ) != 0)
        bench_die("'myxtts profile' cannot be started");
    if (sched_setaffinity(0, sizeof cores, &cores) != 0) bench_die("this bench cannot leave a core again");
    posix_spawn_file_actions_destroy(&quiet);
}

/* Waits for its end and reads what it measured. */
static cJSON *profile_end(const struct profiling *profiling)
{
    char *text;
    int status = 0;
    size_t bytes;
    if (waitpid(profiling->child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_die("'myxtts profile' failed");
    if (mx_file_read(profiling->path, JSON_LIMIT, &text, &bytes) < 0) bench_die("cannot read what was measured");
    cJSON *const json = cJSON_ParseWithLength(text, bytes);
    if (json == NULL) bench_die("what was measured is no JSON");
    mx_free(text);
    return json;
}

static cJSON *profile(const struct profiler *profiler, const char *name, const char *arguments)
{
    struct profiling profiling;
    profile_begin(profiler, name, ANY_CORE, PAIR, arguments, &profiling);
    return profile_end(&profiling);
}

/* The number at a path of names: "step.variation". */
static double number_at(const cJSON *json, const char *path)
{
    char copy[192], *rest;
    snprintf(copy, sizeof copy, "%s", path);
    for (const char *name = strtok_r(copy, ".", &rest); name != NULL; name = strtok_r(NULL, ".", &rest))
        json = cJSON_GetObjectItemCaseSensitive(json, name);
    if (!cJSON_IsNumber(json)) bench_die("a figure is missing in what was measured");
    return json->valuedouble;
}

/* ---- the balanced workload ---- */

static void balanced_arguments(char *out, size_t bytes, int hidden, const char *more)
{
    snprintf(out, bytes,
             "--batch-size 8 --augment --set model.width=96 --set model.heads=2 --set model.encoder_blocks=1 --set "
             "model.decoder_blocks=1 --set model.hidden=%d %s",
             hidden, more);
}

/* Times of the data side and of training, each alone, for a hidden width. */
static void costs_measure(const struct profiler *profiler, int hidden, const char *steps, double *data, double *train)
{
    char arguments[512], more[128];
    snprintf(more, sizeof more, "--num-steps %s --warmup-steps 8 --set pipeline.overlap=false", steps);
    balanced_arguments(arguments, sizeof arguments, hidden, more);
    cJSON *const json = profile(profiler, "costs", arguments);
    *data = number_at(json, "stages.load.mean") + number_at(json, "stages.process.mean") +
            number_at(json, "stages.transfer.mean");
    *train = number_at(json, "stages.train.mean");
    cJSON_Delete(json);
}

static int hidden_round(double hidden)
{
    const double units = ceil(hidden / HIDDEN_UNIT) * HIDDEN_UNIT;
    return units < HIDDEN_LEAST ? HIDDEN_LEAST : units > HIDDEN_MOST ? HIDDEN_MOST : (int)units;
}

/* The hidden width with which training takes 1/DATA_SHARE of the data side's time: it grows evenly with the width. */
static int hidden_find(const struct profiler *profiler, const char *steps)
{
    double data[2], train[2];
    const int first = HIDDEN_FIRST, second = 4 * HIDDEN_FIRST;
    costs_measure(profiler, first, steps, &data[0], &train[0]);
    costs_measure(profiler, second, steps, &data[1], &train[1]);
    const double slope = (train[1] - train[0]) / (second - first);
    if (slope <= 0) bench_die("a wider network was no slower: the machine is too busy to measure on");
    int hidden = hidden_round(first + ((data[0] + data[1]) / 2 / DATA_SHARE - train[0]) / slope);
    costs_measure(profiler, hidden, steps, &data[0], &train[0]); /* it does not grow quite evenly: once more */
    hidden = hidden_round(hidden + (data[0] / DATA_SHARE - train[0]) / slope);
    return hidden;
}

/* Steps per second of a mode, as a job of the table; the best and the median of its rounds. */
static struct bench_job mode_job(const cJSON *mode)
{
    const cJSON *round;
    struct bench_job job = {.median = 1e3 / number_at(mode, "step_ms")};
    cJSON_ArrayForEach(round, cJSON_GetObjectItemCaseSensitive(mode, "step_ms_rounds"))
    {
        if (1e3 / round->valuedouble > job.best) job.best = 1e3 / round->valuedouble;
    }
    return job;
}

static void bench_balanced(struct bench *bench, const struct profiler *profiler)
{
    char arguments[512], name[96];
    const int hidden = hidden_find(profiler, bench->quick ? "8" : "24");
    balanced_arguments(arguments, sizeof arguments, hidden,
                       bench->quick ? "--compare --num-steps 36" : "--compare --num-steps 216");
    cJSON *const json = profile(profiler, "balanced", arguments);
    const cJSON *const compare = cJSON_GetObjectItemCaseSensitive(json, "compare");
    const cJSON *const modes = cJSON_GetObjectItemCaseSensitive(compare, "modes"), *mode;
    snprintf(name, sizeof name, "balanced: load %.1f, process %.1f, transfer %.1f, train %.1f ms",
             number_at(compare, "stages.load"), number_at(compare, "stages.process"),
             number_at(compare, "stages.transfer"), number_at(compare, "stages.train"));
    bench_section(bench, name);
    const struct bench_job plain = mode_job(cJSON_GetArrayItem(modes, 0));
    cJSON_ArrayForEach(mode, modes)
    {
        const bool two = number_at(mode, "devices") > 1, overlap = number_at(mode, "buffer") > 0;
        const bool sharing = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(mode, "sharing"));
        struct bench_job job = mode_job(mode), peer = plain;
        if (mode == cJSON_GetArrayItem(modes, 0)) continue;
        peer.median = job.median / number_at(mode, "speed"); /* within each round, then the median */
        bench_report(bench, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(mode, "name")), "steps/s", &job,
                     "one device, unbuffered", &peer,
                     !overlap || sharing ? 0
                     : two               ? 1.85
                                         : 1.0);
    }
    bench_limit(bench, "two devices: step above the largest stage alone", "%",
                100 * (number_at(compare, "pipelined_ratio") - 1), 5);
    cJSON_ArrayForEach(mode, modes)
    {
        if (number_at(mode, "devices") > 1 || number_at(mode, "buffer") == 0) continue;
        snprintf(name, sizeof name, "%s: step above the compute limit",
                 cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(mode, "name")));
        bench_limit(bench, name, "%", 100 * (number_at(mode, "compute_ratio") - 1), 3);
    }
    cJSON_Delete(json);
}

/* ---- fast data ---- */

/* Neighbours on the machine only ever add to these figures, so the least of the rounds counts. On a machine that others
 * share, the same work takes now more and now less time whatever feeds it: so the variation also stands beside that of
 * training with nothing else at work, in the same rounds. */
static void bench_fast_data(struct bench *bench, const struct profiler *profiler)
{
    char arguments[512], name[160];
    double idle = 1, waits = 1, variation = HUGE_VAL, alone = HUGE_VAL, stages[MX_STAGES] = {0};
    for (int round = 0; round < FAST_ROUNDS; round++)
        for (int overlap = 0; overlap < 2; overlap++) {
            snprintf(arguments, sizeof arguments,
                     "--batch-size 8 --equal-lengths " FAST_NETWORK " --num-steps %s --set pipeline.overlap=%s",
                     bench->quick ? "20" : "60", overlap ? "true" : "false");
            cJSON *const json = profile(profiler, "fast-data", arguments);
            for (int k = 0; k < MX_STAGES; k++) {
                snprintf(name, sizeof name, "stages.%s.mean", mx_stage_name((enum mx_stage)k));
                if (overlap) stages[k] += number_at(json, name) / FAST_ROUNDS;
            }
            if (overlap) {
                idle = fmin(idle, number_at(json, "idle.model"));
                waits = fmin(waits, number_at(json, "idle.model_waits_for_data"));
                variation = fmin(variation, number_at(json, "step.variation"));
            } else
                alone = fmin(alone, number_at(json, "stages.train.deviation") / number_at(json, "stages.train.mean"));
            cJSON_Delete(json);
        }
    snprintf(name, sizeof name, "fast data: load %.1f, process %.1f, transfer %.1f, train %.1f ms",
             stages[MX_STAGE_LOAD], stages[MX_STAGE_PROCESS], stages[MX_STAGE_TRANSFER], stages[MX_STAGE_TRAIN]);
    bench_section(bench, name);
    bench_limit(bench, "model device idle", "%", 100 * idle, 3);
    bench_limit(bench, "model device waits for data", "%", 100 * waits, 1);
    bench_limit(bench, "variation of the step time, equal batches", "%", 100 * variation, 5);
    bench_limit(bench, "the same above training with nothing else at work", "%", 100 * fmax(0, variation - alone), 1);
}

/* ---- sharing ---- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

/* The share that is found while both devices are measured: its last point. */
static double share_find(const struct profiler *profiler, const char *arguments)
{
    char words[768];
    snprintf(words, sizeof words, "%s --batch-size %d --share-work on --warmup-steps 15 --num-steps 50", arguments,
             SHARING_BATCH);
    cJSON *const json = profile(profiler, "sharing-first", words);
    const char *const list = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "shares"));
    const char *const last = list != NULL ? strrchr(list, ':') : NULL;
    if (last == NULL) bench_die("nothing was shared");
    const double share = strtod(last + 1, NULL);
    cJSON_Delete(json);
    return share;
}

/* Mel frames per second of two programs that ran at the same time on the same batches: by themselves, and if both had
 * waited after each step until the other one is done. */
static void speeds_of_two(const struct profiling profilings[2], double *apart, double *together)
{
    double frames = 0, waited_ms = 0;
    cJSON *const first = profile_end(&profilings[0]), *const second = profile_end(&profilings[1]);
    const cJSON *const a = cJSON_GetObjectItemCaseSensitive(first, "step");
    const cJSON *const b = cJSON_GetObjectItemCaseSensitive(second, "step");
    const cJSON *other = cJSON_GetObjectItemCaseSensitive(b, "times_ms"), *own;
    const double speeds[2] = {number_at(first, "frames_per_s"), number_at(second, "frames_per_s")};
    other = other != NULL ? other->child : NULL;
    cJSON_ArrayForEach(own, cJSON_GetObjectItemCaseSensitive(a, "times_ms"))
    {
        if (other == NULL) bench_die("one of two equal runs has fewer steps");
        frames += (speeds[0] * own->valuedouble + speeds[1] * other->valuedouble) * 1e-3;
        waited_ms += fmax(own->valuedouble, other->valuedouble);
        other = other->next;
    }
    *apart = speeds[0] + speeds[1];
    *together = frames / waited_ms * 1e3;
    cJSON_Delete(first);
    cJSON_Delete(second);
}

static double speed_of_one(const struct profiling *profiling)
{
    cJSON *const json = profile_end(profiling);
    const double speed = number_at(json, "frames_per_s");
    cJSON_Delete(json);
    return speed;
}

static void sharing_report(struct bench *bench, const char *name, const double *speeds, const char *peer_name,
                           const double *peers, int rounds, double bar)
{
    double ratios[SHARING_ROUNDS], sorted[2][SHARING_ROUNDS];
    for (int i = 0; i < rounds; i++) ratios[i] = speeds[i] / peers[i];
    memcpy(sorted[0], speeds, (size_t)rounds * sizeof *speeds);
    memcpy(sorted[1], peers, (size_t)rounds * sizeof *peers);
    struct bench_job job = {.median = median_of(sorted[0], rounds)}, peer = {.median = median_of(sorted[1], rounds)};
    job.best = sorted[0][rounds - 1];
    peer.best = sorted[1][rounds - 1];
    peer.median = job.median / median_of(ratios, rounds); /* within each round, then the median */
    bench_report(bench, name, "frames/s", &job, peer_name, &peer, bar);
}

/* In addition to the bar: what the two cores give to two programs that have nothing to do with each other, with half a batch
 * each. A machine whose memory is too slow for both, or that others use, shows there. And devices that share each step
 * wait for the slower one: where the speeds of the cores vary by themselves, that alone costs, and no program that
 * trains in step can do better. */
static void bench_sharing(struct bench *bench, const struct profiler *profiler)
{
    const struct mx_registry_options options = {.devices = {"cpu:0"}, .device_count = 1};
    char common[512], arguments[768], shared[1024], half[768], name[96];
    double one[SHARING_ROUNDS], apart[SHARING_ROUNDS], together[SHARING_ROUNDS], both[SHARING_ROUNDS];
    const int rounds = bench->quick ? 3 : SHARING_ROUNDS;
    int cores[2];
    struct mx_registry *registry;
    struct mx_device *device;
    struct train_corpus corpus;
    struct profiling run[2];
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    (void)mx_thread_cores(cores, 2); /* there are two: main asked */
    if (mx_registry_open(NULL, &options, &registry) < 0 || mx_registry_device_open(registry, 0, 0, &device) < 0)
        bench_die("there is no device to make the corpus with");
    train_corpus_open(&corpus, device, SHARING_BATCH * SHARING_BATCHES);
    snprintf(common, sizeof common,
             "--train-data %s/corpus.packed --auto-tune off --buffer-size 4 --set data.tokens=chars "
             "--set data.validation_fraction=0 " FAST_NETWORK,
             corpus.folder);
    /* Whole epochs, so that all runs have the same utterances. */
    snprintf(arguments, sizeof arguments, "%s --batch-size %d --warmup-steps %d --num-steps %d", common, SHARING_BATCH,
             SHARING_BATCHES, 2 * SHARING_BATCHES);
    snprintf(half, sizeof half, "%s --batch-size %d --warmup-steps %d --num-steps %d", common, SHARING_BATCH / 2,
             2 * SHARING_BATCHES, 2 * SHARING_BATCHES);
    const double share = share_find(profiler, common);
    snprintf(shared, sizeof shared, "%s --share-work on --shares 0:%g", arguments, share);
    snprintf(name, sizeof name, "sharing: packed features, %d a batch, %.1f %% of it on the data device", SHARING_BATCH,
             100 * share);
    bench_section(bench, name);
    for (int round = 0; round < rounds; round++) {
        profile_begin(profiler, "sharing-one", cores[1], "--device cpu:0", arguments, &run[0]);
        one[round] = speed_of_one(&run[0]);
        profile_begin(profiler, "sharing", ANY_CORE, PAIR, shared, &run[0]);
        both[round] = speed_of_one(&run[0]);
        profile_begin(profiler, "sharing-first-core", cores[0], "--device cpu:0", half, &run[0]);
        profile_begin(profiler, "sharing-second-core", cores[1], "--device cpu:0", half, &run[1]);
        speeds_of_two(run, &apart[round], &together[round]);
    }
    sharing_report(bench, "two devices that share the work", both, "one device", one, rounds, 1.85);
    sharing_report(bench, "two runs at the same time, half a batch each", apart, "one device", one, rounds, 0);
    sharing_report(bench, "the same if each step waited for the slower", together, "one device", one, rounds, 0);
    sharing_report(bench, "two devices that share the work", both, "two runs in step", together, rounds, 0);
    train_corpus_close(&corpus);
    mx_device_close(device);
    mx_registry_close(registry);
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct profiler profiler;
    bench_start(&bench, "pipeline", "two devices of one core each beside one, by 'myxtts profile'", argc, argv);
    bench.medians = true;
    if (mx_thread_cores(NULL, 0) < 2) bench_die("two devices need two cores");
    profiler_find(&profiler, bench.json);
    if (bench_wanted(&bench, "balanced")) bench_balanced(&bench, &profiler);
    if (bench_wanted(&bench, "fast data")) bench_fast_data(&bench, &profiler);
    if (bench_wanted(&bench, "sharing")) bench_sharing(&bench, &profiler);
    return bench_finish(&bench);
}
