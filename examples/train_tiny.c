/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The training loop on one screen, through the public headers: load → take a batch → forward and backward → update →
 * evaluate → save. It trains a very small network on a corpus; with a run folder that exists it goes on with that run.
 *
 *     cc train_tiny.c $(pkg-config --cflags --libs myxtts) -o train_tiny
 *     ./train_tiny my-corpus my-run 60
 *     myxtts synth --checkpoint my-run --text 'Hello.' --output hello.wav
 *     myxtts train --resume my-run --steps 500
 *
 * Ctrl-C saves and ends it. Exit code 0: the loss fell, or the run was over already. The tests run it.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include <myxtts/error.h>
#include <myxtts/train.h>

enum { EVERY = 20 }; /* steps from one evaluation and checkpoint to the next */

static atomic_bool stop;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&stop, true);
}

/* Load: the settings say which corpus, which network and how long; the library opens devices and the run folder, reads
 * the corpus and begins to prepare batches. */
static int run_open(const char *corpus, const char *folder, const char *steps, struct mx_train **out)
{
    char data[4096], count[64];
    struct stat info;
    const char *const settings[] = {data,
                                    count,
                                    "data.tokens=chars", /* needs no phonemes, so any language goes */
                                    "model.width=32",
                                    "model.heads=2",
                                    "model.hidden=64",
                                    "model.encoder_blocks=1",
                                    "model.decoder_blocks=1",
                                    "training.batch_size=4",
                                    "training.epochs=100000", /* training.steps is the limit */
                                    "training.warmup_steps=5"};
    snprintf(data, sizeof data, "data.train_data=%s", corpus);
    snprintf(count, sizeof count, "training.steps=%s", steps);
    struct mx_train_options options = {
        .settings = settings, .setting_count = sizeof settings / sizeof settings[0], .stop = &stop, .quiet = true};
    if (stat(folder, &info) != 0) {
        options.output = folder;
    } else { /* the run has its corpus and its network; only how long it is may change */
        options.resume = folder;
        options.settings = &settings[1];
        options.setting_count = 1;
    }
    return mx_train_open(&options, out);
}

/* Evaluate and save. */
static int progress_keep(struct mx_train *run, int64_t step)
{
    int rc = 0;
    struct mx_train_evaluation e;
    MX_TRY(mx_train_evaluate(run, &e));
    printf("step %" PRId64 ": validation loss %.4f over %" PRIu32 " utterances, spoken %.2f dB from the recordings%s\n",
           step, e.loss, e.utterances, e.mel_db, e.best ? ", the best so far" : "");
    MX_TRY(mx_train_save(run));
out:
    return rc;
}

/* The loop. The loss is the mean over the first and over the last EVERY steps, since that of one batch says little. */
static int train(struct mx_train *run, double *first, double *last, int64_t *made)
{
    int rc = 0;
    struct mx_train_report report;
    double recent[EVERY];
    /* A step takes a batch that is ready, runs it forward and backward, and updates the weights. 1: the run is over. */
    while ((rc = mx_train_step(run, &report)) == 0) {
        recent[(*made)++ % EVERY] = report.loss;
        if (*made <= EVERY) *first += report.loss / EVERY;
        if (report.step % 10 == 0)
            printf("step %" PRId64 " of %" PRId64 ": loss %.4f, learning rate %.2e, %.0f frames/s\n", report.step,
                   report.steps, report.loss, report.learning_rate,
                   (double)report.frames * 1e9 / (double)report.step_ns);
        const bool due = report.step % EVERY == 0 || report.step == report.steps;
        if (due && (rc = progress_keep(run, report.step)) < 0) break;
    }
    if (rc == MX_ERR_INTERRUPTED) { /* no step is under way: what was learned so far is kept */
        MX_TRY(mx_train_save(run));
        MX_RAISE(MX_ERR_INTERRUPTED, "start it again: it goes on", "interrupted; everything is saved");
    }
    for (int64_t i = 0; i < EVERY && *made >= EVERY; i++) *last += recent[i] / EVERY;
out:
    return rc < 0 ? rc : 0;
}

int main(int argc, char **argv)
{
    int rc = 0;
    struct mx_train *run = NULL;
    double first = 0, last = 0;
    int64_t made = 0;
    if (argc != 4) {
        fprintf(stderr, "usage: %s CORPUS RUN STEPS\n", argv[0]);
        return 1;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    MX_TRY(run_open(argv[1], argv[2], argv[3], &run));
    MX_TRY(train(run, &first, &last, &made));
    if (made == 0) printf("%s: nothing is left to do\n", argv[2]);
    if (made >= EVERY) printf("loss %.4f over the first %d steps, %.4f over the last\n", first, EVERY, last);
    if (made >= 2 * EVERY && !(last < first)) MX_RAISE(MX_ERR_DATA, "train for more steps", "nothing was learned");
out:
    if (rc < 0) fprintf(stderr, "error: %s\n  hint: %s\n", mx_error_last()->message, mx_error_last()->hint);
    const int code = mx_error_exit_code(rc);
    mx_train_close(run);
    return code;
}
