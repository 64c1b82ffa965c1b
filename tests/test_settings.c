/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings that depend on others or on when a run began, and the ranges of the vocoder's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "run/settings.h"
#include "support/recording.h"

static struct mx_settings settings_of(const char *const *set, size_t count)
{
    struct mx_settings settings;
    if (mx_settings_read(NULL, set, count, &settings) < 0) fail_msg("%s", mx_error_last()->message);
    return settings;
}

static void test_ranges(void **state)
{
    (void)state;
    static const char *const good[] = {
        "vocoder.rounds=0",   "vocoder.rounds=1000",       "vocoder.projections=0",     "vocoder.projections=100",
        "vocoder.segments=1", "vocoder.segments=1024",     "vocoder.segment_frames=16", "vocoder.segment_frames=1024",
        "vocoder.augment=0",  "vocoder.predicted_share=1", "training.part=vocoder",     "training.part=acoustic"};
    static const char *const bad[] = {"vocoder.rounds=-1",         "vocoder.rounds=1001",
                                      "vocoder.projections=-1",    "vocoder.projections=101",
                                      "vocoder.segments=0",        "vocoder.segments=1025",
                                      "vocoder.segment_frames=15", "vocoder.segment_frames=1025",
                                      "vocoder.augment=1.1",       "vocoder.predicted_share=-0.1",
                                      "vocoder.learning_rate=nan", "vocoder.ema_decay=1",
                                      "training.part=text"};
    struct mx_settings settings;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        settings = settings_of(&good[i], 1);
        mx_config_release(&mx_settings_schema, &settings);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (mx_settings_read(NULL, &bad[i], 1, &settings) != MX_ERR_CONFIG) fail_msg("%s was taken", bad[i]);
}

/* A vocoder that comes from elsewhere is left alone unless a rate is given. */
static void test_learning_rate(void **state)
{
    (void)state;
    static const char *const sets[][2] = {{"vocoder.size=small", "training.seed=1"},
                                          {"vocoder.from=run", "training.seed=1"},
                                          {"vocoder.from=run", "vocoder.learning_rate=0.0002"},
                                          {"vocoder.learning_rate=0", "training.seed=1"}};
    static const double rates[] = {1e-3, 0, 2e-4, 0};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct mx_settings settings = settings_of(sets[i], 2);
        mx_settings_resolve(&settings);
        assert_true(settings.vocoder.learning_rate == rates[i]);
        assert_int_equal(settings.training.part, MX_SETTINGS_PART_BOTH);
        mx_config_release(&mx_settings_schema, &settings);
    }
}

static void test_paths(void **state)
{
    (void)state;
    char before[4096];
    char *const folder = folder_make();
    assert_non_null(getcwd(before, sizeof before));
    folder_add(folder, "voice");
    assert_int_equal(chdir(folder), 0);
    struct mx_settings settings = settings_of((const char *const[]){"vocoder.from=voice"}, 1);
    assert_int_equal(mx_settings_complete(&settings), 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(settings.vocoder.from[0], '/');
    assert_int_equal(access(settings.vocoder.from, F_OK), 0);
    mx_config_release(&mx_settings_schema, &settings);
    folder_remove(folder);
}

/* A run whose file knows no parts is one of the acoustic network; a file that is written now says what it is. */
static void test_runs_from_before(void **state)
{
    (void)state;
    char *const folder = folder_make();
    struct mx_settings settings;
    file_put_text(folder, "config.yaml", "data:\n  train_data: corpus\ntraining:\n  batch_size: 3\n");
    assert_int_equal(mx_settings_resume(folder, NULL, 0, &settings), 0);
    assert_int_equal(settings.training.part, MX_SETTINGS_PART_ACOUSTIC);
    assert_int_equal(settings.training.batch_size, 3);
    mx_config_release(&mx_settings_schema, &settings);
    for (int part = MX_SETTINGS_PART_BOTH; part <= MX_SETTINGS_PART_VOCODER; part++) {
        settings = settings_of((const char *const[]){"data.train_data=corpus"}, 1);
        settings.training.part = (enum mx_settings_part)part;
        char *const text = mx_config_format(&mx_settings_schema, &settings);
        assert_non_null(text);
        file_put_text(folder, "config.yaml", text);
        mx_free(text);
        mx_config_release(&mx_settings_schema, &settings);
        assert_int_equal(mx_settings_resume(folder, NULL, 0, &settings), 0);
        assert_int_equal(settings.training.part, part);
        mx_config_release(&mx_settings_schema, &settings);
    }
    /* A file that is lost, and no checkpoint that has it. */
    file_put_text(folder, "config.yaml", "training: [");
    assert_true(mx_settings_resume(folder, NULL, 0, &settings) < 0);
    folder_remove(folder);
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_learning_rate),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_runs_from_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
