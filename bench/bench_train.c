/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The speed of training: mel frames per second of whole steps (batch from the
 * loader, forward, alignment, backward, clipping, AdamW, averaged weights) of
 * the model `tiny`, by the real trainer on a packed corpus of features, on one
 * core and on two; beside the same model on the same batches with as many
 * threads in PyTorch, and as a share of this machine's multiply-add peak,
 * counted in the model's nominal operations (train_corpus.h).
 *
 * A round is one epoch. Rounds are run in turns: the peak, ours, the peak
 * again, then each of the peers, and the rows compare medians over the rounds.
 * The first round of each warms up and is not counted. PyTorch is written in
 * three ways (scripts/bench/peers/torch_train.py); its alignment, which has no
 * operation of its own there, is timed by itself and the ratio given without
 * it, too (ours always with it).
 *
 * That it is the same model is shown, not said: some steps without dropout from
 * our initial weights must have our losses and our norms of the gradient. They
 * are small steps: at the usual rate the first updates throw the untrained model
 * so far that rounding decides where it lands. At CHECK_RATE losses still move
 * by some per cent, so that a wrong update shows (SPEED.md has how much).
 *
 * The steps of the rounds after the first take no memory, neither from the host
 * nor from the budget of the device; and with a smaller model the resident
 * memory of the process after 1,050 steps is that after 50.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread/pool.h"
#include "bench.h"
#include "myxtts/budget.h"
#include "myxtts/registry.h"
#include "peak.h"
#include "peer.h"
#include "train_corpus.h"

#define BATCH_SIZE  16
#define BATCHES     3 /* of a round */
#define ROUNDS      6 /* the first warms up */
#define CHECK_STEPS 3
#define CHECK_RATE  1e-5
#define CHECK_MOST  1e-3 /* relative difference of losses and of norms */
#define THREADS_MAX 2
/* Least ratios to PyTorch as people write it, and to the same with shifted rows for convolutions. */
#define EAGER_BAR   2.0
#define SHIFTED_BAR 1.8
/* Least shares of the peak on one core and on more; wider vectors wait more for everything that is no product. */
#define PEAK_BAR_ONE  (peak_vector_bytes() <= 32 ? 0.85 : 0.80)
#define PEAK_BAR_MORE (peak_vector_bytes() <= 32 ? 0.78 : 0.72)
#define PEAK_NS       20e6 /* of a sample, at most */
#define PEAK_SAMPLES  4
#define PIECE_FLOPS   (2.0 * 4000 * 192 * 768) /* of the peak in step: the product of a feed-forward layer */
#define PIECES        32
#define FLAT_FROM     50
#define FLAT_STEPS    1000
#define FLAT_MOST_KIB 64
#define FRAME_UNIT    "frame/s"

/* One device with its peak. */
struct unit {
    struct mx_registry *registry;
    struct mx_device *device;
    struct peak peak;
    struct bench_job fma, step;
    int64_t fma_repeats; /* of a sample */
    int cores[THREADS_MAX], count;
};

enum way { EAGER, SHIFTED, COMPILED, WAYS };
static const struct {
    const char *mode, *label;
} ways[WAYS] = {{"eager", "PyTorch eager"}, {"shifted", "PyTorch, conv by shifts"}, {"compiled", "torch.compile"}};

/* Rates of the rounds that count. */
struct series {
    double rates[ROUNDS];
    int count;
};

struct training {
    struct bench *bench;
    struct train_corpus corpus;
    struct train_batch batches[ROUNDS][BATCHES];
    int rounds;
    uint64_t allocations; /* of all steps but each trainer's first */
    int64_t steps;        /* that were looked at for that */
};

/* ---- devices ---- */

static void unit_open(struct unit *unit, int all, int cores)
{
    const struct mx_registry_options options = {.cpu_devices = all / cores};
    *unit = (struct unit){.count = cores};
    if (mx_registry_open(mx_backends_cpu, &options, &unit->registry) < 0) bench_die("cannot open the registry");
    const int found = mx_registry_find(unit->registry, "cpu:0");
    if (found < 0 || mx_registry_device_open(unit->registry, found, 0, &unit->device) < 0)
        bench_die("cannot open a CPU device");
    const struct mx_device_info *const info = mx_device_info(unit->device);
    if (info->compute_units != cores) bench_die("the device has another number of cores");
    memcpy(unit->cores, info->cores, (size_t)cores * sizeof *unit->cores);
    peak_open(&unit->peak, unit->cores, cores);
    unit->fma = peak_fma_job(&unit->peak);
    unit->step = peak_step_job(&unit->peak, PIECE_FLOPS);
    unit->fma_repeats = 1;
}

static void unit_close(struct unit *unit)
{
    peak_close(&unit->peak);
    mx_device_close(unit->device);
    mx_registry_close(unit->registry);
}

static uint64_t fma_ns(const struct unit *unit)
{
    const uint64_t begin = mx_clock_ns();
    unit->fma.run(unit->fma.context, unit->fma_repeats);
    return mx_clock_ns() - begin;
}

/* GFLOP/s of the peak: the best of a few samples, lest a disturbed one flatters
 * us. The first call finds out how many repeats a sample takes. */
static double peak_sample(struct unit *unit)
{
    cpu_set_t allowed;
    uint64_t least;
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (mx_thread_pin(unit->cores[0]) < 0) bench_die("cannot pin a thread");
    while ((double)(least = fma_ns(unit)) < PEAK_NS / 2) unit->fma_repeats *= 2;
    for (int i = 1; i < PEAK_SAMPLES; i++) {
        const uint64_t ns = fma_ns(unit);
        if (ns < least) least = ns;
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
    return unit->fma.work * (double)unit->fma_repeats / (double)least;
}

/* GFLOP/s of the peak in step (peak.h): all pieces, not the best, since training meets the same disturbances. */
static double step_sample(struct unit *unit)
{
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (mx_thread_pin(unit->cores[0]) < 0) bench_die("cannot pin a thread");
    const uint64_t begin = mx_clock_ns();
    unit->step.run(unit->step.context, PIECES);
    const uint64_t ns = mx_clock_ns() - begin;
    sched_setaffinity(0, sizeof allowed, &allowed);
    return unit->step.work * PIECES / (double)ns;
}

/* ---- rates ---- */

static void series_add(struct series *series, double rate)
{
    series->rates[series->count++] = rate;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct bench_job series_job(const struct series *series)
{
    struct series sorted = *series;
    qsort(sorted.rates, (size_t)sorted.count, sizeof *sorted.rates, compare_doubles);
    return (struct bench_job){.best = sorted.rates[sorted.count - 1], .median = sorted.rates[sorted.count / 2]};
}

/* ---- ours ---- */

static struct mx_trainer_options options_make(const struct training *training, struct mx_device *device)
{
    const struct mx_level_settings *const usual = mx_level_settings(MX_LEVEL_ENHANCED);
    const struct mx_vocabulary *const words = mx_dataset_vocabulary(training->corpus.dataset);
    const struct mx_model_size *const size = mx_model_size_find("tiny");
    if (size == NULL) bench_die("there is no such model");
    struct mx_trainer_options options = {.device = device,
                                         .dataset = training->corpus.dataset,
                                         .model = mx_model_config_default(size, (int32_t)mx_vocabulary_size(words),
                                                                          (int32_t)mx_vocabulary_languages(words)),
                                         .normaliser = training->corpus.normaliser,
                                         .optimizer.schedule = {.peak = usual->peak,
                                                                .floor = 1,
                                                                .steps = 1,
                                                                .cycles = 1,
                                                                .cycle_decay = 1}, /* a constant rate */
                                         .guard = MX_GUARD_OPTIONS_DEFAULT,
                                         .seed = 1,
                                         .batch_size = BATCH_SIZE,
                                         .grad_accum = 1,
                                         .workers = 1,
                                         .prefetch = 2,
                                         .reference_seconds = 1.2,
                                         .optimizer.grad_clip = usual->grad_clip,
                                         .optimizer.beta1 = 0.9,
                                         .optimizer.beta2 = 0.98,
                                         .optimizer.epsilon = 1e-9,
                                         .optimizer.weight_decay = usual->weight_decay,
                                         .optimizer.ema_decay = usual->ema_decay,
                                         .validation_limit = 1};
    return options;
}

static struct mx_trainer *trainer_open(const struct mx_trainer_options *options)
{
    struct mx_trainer *trainer = NULL;
    if (mx_trainer_create(options, &trainer) < 0 || mx_trainer_start(trainer, NULL) < 0)
        bench_die("cannot start training");
    return trainer;
}

static void step_make(struct mx_trainer *trainer, struct mx_trainer_report *report)
{
    if (mx_trainer_step(trainer, report) < 0) bench_die("a step failed");
    if (report->guard.verdict > MX_GUARD_SPIKE) bench_die("a step was left out");
}

/* Memory taken so far: from the host, and from the device's budget. */
static uint64_t taken(struct mx_device *device)
{
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(device), &stats);
    return mx_alloc_count() + stats.total_count;
}

/* One epoch; returns its seconds. The batches must be those that the peers
 * have. */
static double round_make(struct training *training, const struct unit *unit, struct mx_trainer *trainer, int round)
{
    uint64_t ns = 0;
    for (int i = 0; i < BATCHES; i++) {
        struct mx_trainer_report report;
        const uint64_t before = taken(unit->device);
        step_make(trainer, &report);
        if (round > 0 || i > 0) {
            training->allocations += taken(unit->device) - before;
            training->steps++;
        }
        const struct train_batch *const batch = &training->batches[round][i];
        if (report.frames != batch->frames || report.tokens != batch->tokens) bench_die("it is not the same batch");
        ns += report.step_ns;
    }
    return (double)ns * 1e-9;
}

/* ---- peers ---- */

static void peer_begin(const struct training *training, const struct unit *unit, enum way way, struct peer *peer,
                       char *about, size_t about_bytes)
{
    char cores[THREADS_MAX * 12] = "";
    for (int i = 0; i < unit->count; i++)
        snprintf(cores + strlen(cores), sizeof cores - strlen(cores), "%s%d", i > 0 ? "," : "", unit->cores[i]);
    (void)peer_open(peer, ways[way].label, "torch_train.py",
                    (const char *const[3]){training->corpus.folder, cores, ways[way].mode}, about, about_bytes);
}

/* Frames per second of a round, with and without the alignment. */
static bool peer_round(const struct training *training, struct peer *peer, int round, double *rate, double *rate_less)
{
    char line[64], answer[128];
    double seconds, align_seconds;
    long long frames, expected = 0;
    for (int i = 0; i < BATCHES; i++) expected += training->batches[round][i].frames;
    snprintf(line, sizeof line, "ROUND %d %d", round, BATCHES);
    if (!peer_ask(peer, line, "ROUND", answer, sizeof answer)) return false;
    if (sscanf(answer, "%lf %lf %lld", &seconds, &align_seconds, &frames) != 3 || frames != expected)
        bench_die("PyTorch answers something else");
    *rate = (double)frames / seconds;
    *rate_less = (double)frames / (seconds - align_seconds);
    return true;
}

/* ---- rows ---- */

/* Some steps without dropout, ours and PyTorch's. */
static void bench_same(struct training *training, struct unit *unit)
{
    static const char *const name = "losses and gradients of ours and PyTorch, relative difference";
    struct peer peer;
    char about[64], line[32], answer[512];
    const char *at = answer;
    double most = 0;
    if (training->bench->quick || !bench_wanted(training->bench, name)) return;
    peer_begin(training, unit, EAGER, &peer, about, sizeof about);
    snprintf(line, sizeof line, "CHECK %d %g", CHECK_STEPS, CHECK_RATE);
    if (!peer_is_open(&peer) || !peer_ask(&peer, line, "STEPS", answer, sizeof answer)) return;
    struct mx_trainer_options options = options_make(training, unit->device);
    options.model.dropout = 0;
    options.optimizer.schedule.peak = CHECK_RATE;
    struct mx_trainer *const trainer = trainer_open(&options);
    for (int i = 0; i < CHECK_STEPS; i++) {
        struct mx_trainer_report report;
        int length = 0;
        double loss, norm;
        step_make(trainer, &report);
        if (sscanf(at, "%lf %lf%n", &loss, &norm, &length) != 2) bench_die("PyTorch answers something else");
        at += length;
        most = fmax(most, fabs(loss - report.losses.total) / report.losses.total);
        most = fmax(most, fabs(norm - report.grad_norm) / report.grad_norm);
        printf("  step %d: loss %.6f, gradient %.6f; in PyTorch %s %.6f and %.6f\n", i + 1, report.losses.total,
               report.grad_norm, about, loss, norm);
    }
    mx_trainer_destroy(trainer);
    peer_close(&peer);
    bench_limit(training->bench, name, "", most, CHECK_MOST);
}

struct results {
    struct series ours, flops, peak, step, shares, peers[WAYS], less[WAYS];
};

static void rounds_make(struct training *training, struct unit *unit, struct mx_trainer *trainer,
                        struct peer peers[WAYS], struct results *results)
{
    for (int round = 0; round < training->rounds; round++) {
        double frames = 0, flops = 0, rate, less;
        for (int i = 0; i < BATCHES; i++) {
            frames += (double)training->batches[round][i].frames;
            flops += training->batches[round][i].flops;
        }
        const double before = peak_sample(unit), step_before = step_sample(unit);
        const double seconds = round_make(training, unit, trainer, round);
        const double step = (step_before + step_sample(unit)) / 2, after = peak_sample(unit);
        if (round > 0) {
            series_add(&results->ours, frames / seconds);
            series_add(&results->flops, flops / seconds * 1e-9);
            series_add(&results->peak, (before + after) / 2);
            series_add(&results->step, step);
            series_add(&results->shares, flops / seconds * 1e-9 / step);
        }
        for (int way = 0; way < WAYS; way++) {
            if (!peer_is_open(&peers[way]) || !peer_round(training, &peers[way], round, &rate, &less) || round == 0)
                continue;
            series_add(&results->peers[way], rate);
            series_add(&results->less[way], less);
        }
    }
}

static void bench_steps(struct training *training, struct unit *unit)
{
    char name[64], label[64], about[64];
    struct peer peers[WAYS] = {{0}};
    struct results results = {0};
    cpu_set_t allowed;
    snprintf(name, sizeof name, "training step, %d core%s", unit->count, unit->count > 1 ? "s" : "");
    if (!bench_wanted(training->bench, name)) return;
    bench_section(training->bench, mx_device_info(unit->device)->name);
    for (int way = 0; way < WAYS && !training->bench->quick; way++)
        peer_begin(training, unit, (enum way)way, &peers[way], about, sizeof about);
    /* One core means one core: the thread that asks for steps and the loader's
     * share it with the device's worker. */
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (unit->count == 1 && mx_thread_pin(unit->cores[0]) < 0) bench_die("cannot pin a thread");
    const struct mx_trainer_options options = options_make(training, unit->device);
    struct mx_trainer *const trainer = trainer_open(&options);
    rounds_make(training, unit, trainer, peers, &results);
    mx_trainer_destroy(trainer);
    sched_setaffinity(0, sizeof allowed, &allowed);
    struct bench_job flops = series_job(&results.flops);
    const struct bench_job ours = series_job(&results.ours), peak = series_job(&results.peak);
    const struct bench_job step = series_job(&results.step);
    flops.paired = series_job(&results.shares).median;
    for (int way = 0; way < WAYS; way++) {
        peer_close(&peers[way]);
        if (results.peers[way].count == 0) continue;
        const struct bench_job whole = series_job(&results.peers[way]), less = series_job(&results.less[way]);
        bench_report(training->bench, name, FRAME_UNIT, &ours, ways[way].label, &whole,
                     way == EAGER     ? EAGER_BAR
                     : way == SHIFTED ? SHIFTED_BAR
                                      : 0);
        if (way != EAGER) continue;
        snprintf(label, sizeof label, "%s - align", ways[way].label);
        bench_report(training->bench, name, FRAME_UNIT, &ours, label, &less, 0);
    }
    if (results.peers[EAGER].count == 0) bench_report(training->bench, name, FRAME_UNIT, &ours, NULL, NULL, 0);
    strcat(name, ", nominal");
    if (unit->count > 1)
        bench_report_paired(training->bench, name, "GFLOP/s", &flops, "FMA peak in step", &step, PEAK_BAR_MORE);
    bench_report(training->bench, name, "GFLOP/s", &flops, "FMA peak", &peak, unit->count == 1 ? PEAK_BAR_ONE : 0);
}

/* ---- memory ---- */

static double resident_kib(void)
{
    long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) bench_die("cannot read /proc/self/statm");
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static void bench_resident(struct training *training, struct unit *unit)
{
    static const char *const name = "resident memory, growth over 1,000 steps";
    static const struct mx_model_size small = {"small", 64, 2, 1, 1, 128};
    struct mx_trainer_options options = options_make(training, unit->device);
    struct mx_trainer_report report;
    double before = 0;
    if (training->bench->quick || !bench_wanted(training->bench, name)) return;
    options.model.size = small;
    options.batch_size = 4;
    struct mx_trainer *const trainer = trainer_open(&options);
    for (int i = 0; i < FLAT_FROM + FLAT_STEPS; i++) {
        const uint64_t count = taken(unit->device);
        if (i == FLAT_FROM) before = resident_kib();
        step_make(trainer, &report);
        if (i == 0) continue;
        training->allocations += taken(unit->device) - count;
        training->steps++;
    }
    const double growth = resident_kib() - before;
    mx_trainer_destroy(trainer);
    bench_limit(training->bench, name, "KiB", growth, FLAT_MOST_KIB);
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    struct bench bench;
    struct training training = {.bench = &bench};
    struct unit units[THREADS_MAX];
    bench_start(&bench, "train", "mel frames per second of a whole training step, beside PyTorch", argc, argv);
    bench.medians = true;
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    training.rounds = bench.quick ? 2 : ROUNDS;
    const int all = mx_thread_cores(NULL, 0), most = all < THREADS_MAX ? all : THREADS_MAX;
    for (int i = 0; i < most; i++) unit_open(&units[i], all, i + 1);
    struct unit *const widest = &units[most - 1];
    train_corpus_open(&training.corpus, widest->device, BATCH_SIZE * BATCHES);
    const struct mx_trainer_options options = options_make(&training, widest->device);
    train_batches_make(&training.corpus, &options, training.rounds, BATCHES, !bench.quick, training.batches[0]);
    train_weights_write(&training.corpus, &options);
    bench_same(&training, widest);
    for (int i = 0; i < most; i++) bench_steps(&training, &units[i]);
    bench_resident(&training, widest);
    if (training.steps > 0)
        bench_limit(&bench, "allocations of all steps but the first", "", (double)training.allocations, 0);
    train_corpus_close(&training.corpus);
    for (int i = 0; i < most; i++) unit_close(&units[i]);
    return bench_finish(&bench);
}
