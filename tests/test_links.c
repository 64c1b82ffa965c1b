/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a run writes into its folder is not written through a symbolic link that somebody left there: log, metrics, event
 * files, and the folders of samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "observe/tfevents.h"
#include "support/recording.h"
#include "train/report/metrics.h"

static void refused(int rc)
{
    assert_int_equal(rc, MX_ERR_IO);
    assert_non_null(strstr(mx_error_last()->message, "symbolic link"));
    assert_non_null(strstr(mx_error_last()->hint, "remove the link"));
    mx_error_clear();
}

static void test_log(void **state)
{
    struct stat info;
    char *const folder = folder_make();
    char *const path = mx_format("%s/log.txt", folder), *const other = mx_format("%s/other.txt", folder);
    (void)state;
    assert_int_equal(symlink("other.txt", path), 0);
    assert_int_equal(mx_log_hold(), 0);
    refused(mx_log_keep(path));
    assert_int_equal(stat(other, &info), -1); /* nothing was made where the link leads */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mx_log_keep(path), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(mx_log_configure(NULL), 0);
    mx_free(path);
    mx_free(other);
    folder_remove(folder);
}

static void test_folders(void **state)
{
    struct stat info;
    char *const folder = folder_make();
    char *const run = mx_format("%s/run", folder), *const link = mx_format("%s/link", folder);
    char *const samples = mx_format("%s/samples", run), *const wavs = mx_format("%s/one/two", run);
    char *const file = mx_format("%s/file", run);
    (void)state;
    assert_int_equal(mx_file_make_folder(folder, "run"), 0);
    assert_int_equal(symlink("run", link), 0);
    assert_int_equal(mx_file_make_folder(link, "one/two"), 0); /* the run folder itself may be a link */
    assert_int_equal(mx_file_make_folder(run, "one/two"), 0);  /* and it is there already */
    assert_true(stat(wavs, &info) == 0 && S_ISDIR(info.st_mode));
    assert_int_equal(symlink("one", samples), 0);
    refused(mx_file_make_folder(run, "samples/step-00000001"));
    refused(mx_file_make_folder(run, "samples"));
    assert_int_equal(unlink(samples), 0);
    assert_int_equal(symlink("nowhere", samples), 0);
    refused(mx_file_make_folder(run, "samples/step-00000001"));
    assert_int_equal(mx_file_write_atomic(file, "a", 1), 0);
    assert_int_equal(mx_file_make_folder(run, "file"), MX_ERR_IO);
    assert_int_equal(mx_file_make_folder(run, "file/below"), MX_ERR_IO);
    mx_error_clear();
    mx_free(run);
    mx_free(link);
    mx_free(samples);
    mx_free(wavs);
    mx_free(file);
    folder_remove(folder);
}

static void test_metrics(void **state)
{
    static const char kept[] = "{\"step\":1}\nand what does not belong to a run\n";
    struct mx_metrics *metrics;
    char *data;
    size_t bytes;
    char *const folder = folder_make();
    char *const path = mx_format("%s/metrics.jsonl", folder), *const other = mx_format("%s/other", folder);
    (void)state;
    assert_int_equal(mx_file_write_atomic(other, kept, sizeof kept - 1), 0);
    assert_int_equal(symlink("other", path), 0);
    assert_int_equal(mx_metrics_open(path, 0, &metrics), 0); /* with a warning: training would continue */
    mx_metrics_close(metrics);
    assert_int_equal(mx_file_read(other, 1000, &data, &bytes), 0);
    assert_string_equal(data, kept); /* not cut, as a file of a run that goes on after step 0 would be */
    mx_free(data);
    mx_free(path);
    mx_free(other);
    folder_remove(folder);
}

static void test_events(void **state)
{
    struct mx_tfevents *events;
    char *const folder = folder_make();
    char *const path = mx_format("%s/tensorboard", folder);
    (void)state;
    assert_int_equal(symlink(".", path), 0);
    refused(mx_tfevents_open(path, 0, 0, &events));
    assert_null(events);
    mx_free(path);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_log), cmocka_unit_test(test_folders),
                                       cmocka_unit_test(test_metrics), cmocka_unit_test(test_events)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
