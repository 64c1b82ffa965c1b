/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A folder of checkpoints: what stays and what goes, which one is the newest, and that no way of dying while saving
 * loses the last one that was saved.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "myxtts/error.h"
#include "support/checkpoint_rig.h"
#include "support/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT ((size_t)1 << 24)
#define KILLS 50

static const struct mx_checkpoint_keep keep_all = {0};

/* The newest of the folder must be whole; its step. */
static uint64_t newest(struct checkpoint_rig *rig)
{
    struct mx_checkpoint *checkpoint = NULL;
    if (mx_checkpoint_open(rig->folder, NULL, &checkpoint) < 0) fail_msg("%s", mx_error_last()->message);
    assert_true(checkpoint_rig_is_whole(rig, checkpoint));
    const uint64_t step = mx_checkpoint_state(checkpoint)->step;
    mx_checkpoint_close(checkpoint);
    return step;
}

static size_t entries(const struct checkpoint_rig *rig, const char *part)
{
    size_t count = 0;
    DIR *const stream = opendir(rig->folder);
    assert_non_null(stream);
    for (const struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (entry->d_name[0] != '.' && strstr(entry->d_name, part) != NULL) count++;
    closedir(stream);
    return count;
}

static bool has_step(const struct checkpoint_rig *rig, uint64_t step)
{
    char *const path = checkpoint_rig_path(rig, step);
    const bool there = access(path, F_OK) == 0;
    mx_free(path);
    return there;
}

/* Changes one byte in the middle of the data. */
static void damage(const struct checkpoint_rig *rig, uint64_t step)
{
    char *const path = checkpoint_rig_path(rig, step);
    struct stat status;
    unsigned char byte;
    const int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(pread(fd, &byte, 1, status.st_size * 3 / 4), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, status.st_size * 3 / 4), 1);
    close(fd);
    mx_free(path);
}

/* ---- what stays ---- */

static void keeps_last_every_and_best(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    for (uint64_t step = 1; step <= 11; step++) {
        const struct mx_checkpoint_keep keep = {.last = 2, .every = 4, .best = step == 2 || step == 6};
        assert_int_equal(checkpoint_rig_save(rig, step, &keep), 0);
        assert_int_equal(newest(rig), step);
    }
    for (uint64_t step = 1; step <= 11; step++) assert_int_equal(has_step(rig, step), step % 4 == 0 || step >= 10);
    char *const best = mx_format("%s/" MX_CHECKPOINT_BEST, rig->folder);
    assert_int_equal(mx_checkpoint_open(best, NULL, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_state(checkpoint)->step, 6);
    assert_true(checkpoint_rig_is_whole(rig, checkpoint));
    mx_checkpoint_close(checkpoint);
    assert_int_equal(entries(rig, ""), 5); /* 4, 8, 10, 11 and the best */
    mx_free(best);
}

static void keeps_all_or_one(void **state)
{
    struct checkpoint_rig *const rig = *state;
    for (uint64_t step = 5; step <= 8; step++) assert_int_equal(checkpoint_rig_save(rig, step, &keep_all), 0);
    assert_int_equal(entries(rig, ""), 4);
    assert_int_equal(checkpoint_rig_save(rig, 100000000, &(struct mx_checkpoint_keep){.last = 1}), 0);
    assert_int_equal(entries(rig, ""), 1);
    assert_true(checkpoint_rig_exists(rig, "step-100000000.safetensors"));
    assert_int_equal(newest(rig), 100000000); /* nine digits come after eight */
    assert_int_equal(checkpoint_rig_save(rig, 5, &(struct mx_checkpoint_keep){.last = -1}), MX_ERR_ARGUMENT);
}

/* What a killed process left goes; what is not ours stays, however much it looks like it. */
static void touches_only_its_own(void **state)
{
    static const char *const leftovers[] = {"step-00000003.safetensors.4711-0.tmp", "best.safetensors.4711-3.tmp",
                                            "best.safetensors.link.tmp"};
    static const char *const others[] = {"step-3.safetensors",         "step-00000001.safetensors.bak",
                                         "step-00000001.safetensors~", "notes.tmp",
                                         "other.safetensors.1-1.tmp",  "step-000000001.safetensors",
                                         "step-+0000001.safetensors",  "step-99999999999999999999.safetensors",
                                         "step-00000001x.safetensors"};
    struct checkpoint_rig *const rig = *state;
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++) file_put_text(rig->folder, leftovers[i], "x");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) file_put_text(rig->folder, others[i], "x");
    assert_int_equal(checkpoint_rig_save(rig, 3, &(struct mx_checkpoint_keep){.last = 1, .best = true}), 0);
    assert_int_equal(checkpoint_rig_save(rig, 4, &(struct mx_checkpoint_keep){.last = 1}), 0);
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++)
        assert_false(checkpoint_rig_exists(rig, leftovers[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_true(checkpoint_rig_exists(rig, others[i]));
    assert_int_equal(newest(rig), 4);
}

/* The run went on from step 2: its future of before is not its newest checkpoint any more, and is not lost. */
static void abandons_another_future(void **state)
{
    struct checkpoint_rig *const rig = *state;
    for (uint64_t step = 2; step <= 6; step += 2) assert_int_equal(checkpoint_rig_save(rig, step, &keep_all), 0);
    assert_int_equal(checkpoint_rig_save(rig, 3, &(struct mx_checkpoint_keep){.last = 1}), 0);
    assert_int_equal(newest(rig), 3);
    assert_true(checkpoint_rig_exists(rig, "step-00000004.safetensors.abandoned"));
    assert_true(checkpoint_rig_exists(rig, "step-00000006.safetensors.abandoned"));
    assert_int_equal(entries(rig, ""), 3);
}

/* ---- which one is taken ---- */

static void finds_the_newest(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    assert_int_equal(mx_checkpoint_open(rig->folder, NULL, &checkpoint), MX_ERR_NOT_FOUND);
    assert_non_null(strstr(mx_error_last()->message, "no checkpoint"));
    char *const run = rig->folder;
    folder_add(run, MX_CHECKPOINT_FOLDER);
    rig->folder = mx_format("%s/" MX_CHECKPOINT_FOLDER, run);
    assert_int_equal(mx_checkpoint_open(run, NULL, &checkpoint), MX_ERR_NOT_FOUND);
    assert_int_equal(checkpoint_rig_save(rig, 9, &keep_all), 0);
    assert_int_equal(checkpoint_rig_save(rig, 10, &keep_all), 0);
    assert_int_equal(newest(rig), 10);
    assert_int_equal(mx_checkpoint_open(run, NULL, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_state(checkpoint)->step, 10);
    mx_checkpoint_close(checkpoint);
    mx_free(rig->folder);
    rig->folder = run;
}

static void damaged_newest_is_named(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    const struct mx_checkpoint_options previous = {.previous = true};
    for (uint64_t step = 1; step <= 4; step++) assert_int_equal(checkpoint_rig_save(rig, step, &keep_all), 0);
    damage(rig, 4);
    damage(rig, 3);
    assert_int_equal(mx_checkpoint_open(rig->folder, NULL, &checkpoint), MX_ERR_FORMAT);
    assert_null(checkpoint);
    assert_non_null(strstr(mx_error_last()->message, "step-00000004.safetensors"));
    assert_non_null(strstr(mx_error_last()->message, "do not match its hash"));
    assert_non_null(strstr(mx_error_last()->hint, "step-00000002.safetensors"));

    assert_int_equal(mx_checkpoint_open(rig->folder, &previous, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_state(checkpoint)->step, 2);
    assert_true(checkpoint_rig_is_whole(rig, checkpoint));
    mx_checkpoint_close(checkpoint);

    damage(rig, 2); /* the oldest is the last resort */
    assert_int_equal(mx_checkpoint_open(rig->folder, &previous, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_state(checkpoint)->step, 1);
    mx_checkpoint_close(checkpoint);

    checkpoint = NULL;
    damage(rig, 1);
    assert_int_equal(mx_checkpoint_open(rig->folder, &previous, &checkpoint), MX_ERR_FORMAT);
    assert_null(checkpoint);
    assert_non_null(strstr(mx_error_last()->message, "step-00000004.safetensors"));
    assert_non_null(strstr(mx_error_last()->hint, "no older checkpoint"));
}

/* A number that is none, in one tensor: loading it is refused by its name, and who needs the whole gets the one before.
 */
static void not_finite_is_named(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    const struct mx_checkpoint_options finite = {.finite = true}, previous = {.finite = true, .previous = true};
    const struct mx_parameter *const spoiled = &rig->table->entries[3];
    char name[MX_PARAMETER_NAME_BYTES + 16];
    snprintf(name, sizeof name, "'moment2.%s'", spoiled->name);
    assert_int_equal(checkpoint_rig_save(rig, 1, &keep_all), 0);
    checkpoint_rig_fill(rig, 2);
    rig->groups[MX_CHECKPOINT_STATES + MX_STATE_MOMENT2][spoiled->at + 1] = NAN;
    const struct mx_checkpoint_source source = {rig->table,
                                                {rig->groups[0], rig->groups[1], rig->groups[2], rig->groups[3]}};
    assert_int_equal(mx_checkpoint_save(rig->folder, &rig->state, &source, 1, &keep_all), 0);

    assert_int_equal(mx_checkpoint_open(rig->folder, NULL, &checkpoint), 0); /* to look at it */
    const size_t bytes = (size_t)rig->table->floats * sizeof(float);
    float *const into = mx_alloc(2, bytes), *const zeros = mx_alloc(2, bytes);
    const struct mx_checkpoint_target weights = {{into}};
    const struct mx_checkpoint_target both = {
        {into, [MX_CHECKPOINT_STATES + MX_STATE_MOMENT2] = into + rig->table->floats}};
    assert_int_equal(mx_checkpoint_load(checkpoint, rig->table, &both, false, NULL), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, name));
    assert_non_null(strstr(mx_error_last()->message, "at index 1"));
    assert_memory_equal(into, zeros, 2 * bytes);
    assert_int_equal(mx_checkpoint_load(checkpoint, rig->table, &weights, false, NULL), 0);
    mx_free(into);
    mx_free(zeros);
    mx_checkpoint_close(checkpoint);

    checkpoint = NULL;
    assert_int_equal(mx_checkpoint_open(rig->folder, &finite, &checkpoint), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, name));
    assert_non_null(strstr(mx_error_last()->hint, "step-00000001.safetensors"));
    assert_int_equal(mx_checkpoint_open(rig->folder, &previous, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_state(checkpoint)->step, 1);
    mx_checkpoint_close(checkpoint);
}

/* ---- saving that fails ---- */

static void another_process_is_noticed(void **state)
{
    struct checkpoint_rig *const rig = *state;
    assert_int_equal(checkpoint_rig_save(rig, 1, &keep_all), 0);
    const int fd = open(rig->folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(checkpoint_rig_save(rig, 2, &keep_all), MX_ERR_IO);
    assert_non_null(strstr(mx_error_last()->message, "another process"));
    assert_int_equal(newest(rig), 1);
    close(fd);
    assert_int_equal(checkpoint_rig_save(rig, 2, &keep_all), 0);
}

static void missing_folder_is_an_error(void **state)
{
    struct checkpoint_rig *const rig = *state;
    char *const real = rig->folder;
    rig->folder = mx_format("%s/nowhere", real);
    assert_int_equal(checkpoint_rig_save(rig, 1, &keep_all), MX_ERR_NOT_FOUND);
    mx_free(rig->folder);
    rig->folder = real;
}

static size_t file_size(const struct checkpoint_rig *rig, uint64_t step)
{
    struct stat status;
    char *const path = checkpoint_rig_path(rig, step);
    assert_int_equal(stat(path, &status), 0);
    mx_free(path);
    return (size_t)status.st_size;
}

/* A child that saves `step` and may write `limit` bytes into a file. `fatal`: the signal ends it in the middle of the
 * write. Its wait status. */
static int save_limited(struct checkpoint_rig *rig, uint64_t step, size_t limit, bool fatal)
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit files = {limit, limit}, cores = {0, 0};
        signal(SIGXFSZ, fatal ? SIG_DFL : SIG_IGN);
        setrlimit(RLIMIT_CORE, &cores);
        setrlimit(RLIMIT_FSIZE, &files);
        _exit(checkpoint_rig_save(rig, step, &(struct mx_checkpoint_keep){.last = 1, .best = true}) == MX_ERR_IO ? 7
                                                                                                                 : 8);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* The disk is full after a number of bytes: an error, and nothing else has happened. */
static void full_disk_changes_nothing(void **state)
{
    struct checkpoint_rig *const rig = *state;
    assert_int_equal(checkpoint_rig_save(rig, 1, &(struct mx_checkpoint_keep){.last = 1, .best = true}), 0);
    const size_t bytes = file_size(rig, 1);
    for (size_t i = 0; i <= 8; i++) {
        const int status = save_limited(rig, 2, i * (bytes - 1) / 8, false);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 7);
        assert_int_equal(entries(rig, ""), 2);
        assert_int_equal(newest(rig), 1);
    }
}

/* The process dies at a byte of our choice; the next one clears up. */
static void death_while_writing_changes_nothing(void **state)
{
    struct checkpoint_rig *const rig = *state;
    assert_int_equal(checkpoint_rig_save(rig, 1, &(struct mx_checkpoint_keep){.last = 1, .best = true}), 0);
    const size_t bytes = file_size(rig, 1);
    for (size_t i = 0; i <= 8; i++) {
        const int status = save_limited(rig, 2, i * (bytes - 1) / 8, true);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGXFSZ);
        assert_int_equal(entries(rig, ".tmp"), i + 1);
        assert_int_equal(newest(rig), 1);
    }
    assert_int_equal(checkpoint_rig_save(rig, 2, &(struct mx_checkpoint_keep){.last = 1, .best = true}), 0);
    assert_int_equal(entries(rig, ""), 2);
    assert_int_equal(newest(rig), 2);
}

/* ---- kill -9 ---- */

/* The child: saves step after step for ever and tells each one that is done. */
static void save_for_ever(struct checkpoint_rig *rig, uint64_t step, int report)
{
    for (;; step++) {
        const struct mx_checkpoint_keep keep = {.last = 2, .every = 40, .best = step % 3 == 0};
        if (checkpoint_rig_save(rig, step, &keep) < 0) _exit(1);
        if (write(report, &step, sizeof step) != sizeof step) _exit(1);
    }
}

static void survives_kills(void **state)
{
    struct checkpoint_rig *const rig = *state;
    uint64_t done = 0; /* the last step that a child said was saved */
    size_t saves = 0;
    char *const best = mx_format("%s/" MX_CHECKPOINT_BEST, rig->folder);
    for (uint64_t round = 0; round < KILLS; round++) {
        int ends[2], status;
        uint64_t step;
        const uint64_t next = round == 0 ? 1 : newest(rig) + 1;
        assert_int_equal(pipe(ends), 0);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(ends[0]);
            save_for_ever(rig, next, ends[1]);
        }
        close(ends[1]);
        /* The first child gets to save once, so that there is something to lose; then any moment is as good. */
        if (round == 0) {
            assert_int_equal(read(ends[0], &step, sizeof step), sizeof step);
            done = step;
            saves++;
        }
        const struct timespec pause = {.tv_nsec = (long)mx_rng_below(11, 1, round, 15000000)};
        nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status)); /* it did not fail before */
        while (read(ends[0], &step, sizeof step) == sizeof step) {
            assert_true(step > done);
            done = step;
            saves++;
        }
        close(ends[0]);

        const uint64_t found = newest(rig); /* whole, in every bit */
        assert_true(found == done || found == done + 1);
        done = found;
        struct mx_checkpoint *checkpoint = NULL;
        if (found >= 3) {
            assert_int_equal(mx_checkpoint_open(best, NULL, &checkpoint), 0);
            assert_true(checkpoint_rig_is_whole(rig, checkpoint));
            const uint64_t best_step = mx_checkpoint_state(checkpoint)->step;
            assert_true(best_step == found - found % 3 || (best_step == found + 1 && best_step % 3 == 0));
            mx_checkpoint_close(checkpoint);
        }
    }
    assert_true(saves > 0);
    assert_int_equal(checkpoint_rig_save(rig, done + 1, &(struct mx_checkpoint_keep){.last = 1}), 0);
    assert_int_equal(entries(rig, ".tmp"), 0);
    mx_free(best);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, checkpoint_rig_setup, checkpoint_rig_teardown)
    const struct CMUnitTest tests[] = {
        TEST(keeps_last_every_and_best),
        TEST(keeps_all_or_one),
        TEST(touches_only_its_own),
        TEST(abandons_another_future),
        TEST(finds_the_newest),
        TEST(damaged_newest_is_named),
        TEST(not_finite_is_named),
        TEST(another_process_is_noticed),
        TEST(missing_folder_is_an_error),
        TEST(full_disk_changes_nothing),
        TEST(death_while_writing_changes_nothing),
        TEST(survives_kills),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}
