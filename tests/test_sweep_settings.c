/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failure sweeps (sweep/sweep.h) of settings: reading a file and overrides, the settings of a run, writing them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "run/settings.h"
#include "support/recording.h"
#include "sweep/sweep.h"

struct place {
    char *folder, *file, *copy;
};

static const char *const overrides[] = {"training.batch_size=3", "vocoder.size=small"};

/* What is in force, as a file, which is written to `copy`. */
static int settings_keep(struct mx_settings *settings, const char *copy, uint64_t *result)
{
    int rc = 0;
    char *text = NULL;
    MX_TRY(mx_settings_complete(settings));
    text = mx_config_format(&mx_settings_schema, settings);
    if (text == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_file_write_atomic(copy, text, strlen(text)));
    *result = sweep_hash(0, text, strlen(text));
out:
    mx_free(text);
    mx_config_release(&mx_settings_schema, settings);
    return rc;
}

static int settings_read(void *context, uint64_t *result)
{
    const struct place *const place = context;
    struct mx_settings settings;
    const int rc = mx_settings_read(place->file, overrides, 2, &settings);
    return rc < 0 ? rc : settings_keep(&settings, place->copy, result);
}

static int settings_resume(void *context, uint64_t *result)
{
    const struct place *const place = context;
    struct mx_settings settings;
    const int rc = mx_settings_resume(place->folder, overrides, 1, &settings);
    return rc < 0 ? rc : settings_keep(&settings, place->copy, result);
}

static void reset(void *context)
{
    const struct place *const place = context;
    file_put_text(place->folder, "copy.yaml", "old: 1\n");
}

static void test_settings(void **state)
{
    struct place place = {.folder = folder_make()};
    (void)state;
    place.file = mx_format("%s/config.yaml", place.folder);
    place.copy = mx_format("%s/copy.yaml", place.folder);
    folder_add(place.folder, "voice");
    file_put_text(place.folder, "config.yaml",
                  "# a comment\ndata:\n  train_data: corpus\ntraining:\n  epochs: 3\n"
                  "vocoder:\n  from: voice\n");
    sweep_run(&(struct sweep){
        .name = "read settings", .context = &place, .run = settings_read, .folder = place.folder, .reset = reset});
    sweep_run(&(struct sweep){.name = "settings of a run",
                              .context = &place,
                              .run = settings_resume,
                              .folder = place.folder,
                              .reset = reset});
    mx_free(place.file);
    mx_free(place.copy);
    folder_remove(place.folder);
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
