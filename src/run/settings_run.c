/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of one run, see settings.h: those of a resumed run, and what is decided before any run begins.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "myxtts/error.h"
#include "run/settings.h"

/* Defaults for the file of a run: those of new settings that change what an older run trains are as it was then. */
static int run_defaults(struct mx_settings *settings)
{
    const int rc = mx_config_defaults(&mx_settings_schema, settings);
    settings->training.part = MX_SETTINGS_PART_ACOUSTIC;
    settings->training.batch_frames = 0;
    return rc;
}

/* The settings of the run are lost, which is the current error: the newest checkpoint that can be opened has them, too.
 */
static int settings_rescue(const char *run, struct mx_settings *settings)
{
    int rc = 0;
    const struct mx_error lost = *mx_error_last();
    const struct mx_checkpoint_options how = {.previous = true};
    struct mx_checkpoint *newest = NULL;
    char *const folder = mx_format("%s/" MX_CHECKPOINT_FOLDER, run);
    if (folder == NULL) return MX_ERR_NO_MEMORY;
    MX_TRY(run_defaults(settings));
    if (mx_checkpoint_open(folder, &how, &newest) < 0) MX_TRY(mx_error_restore(&lost));
    const char *const text = mx_checkpoint_state(newest)->config;
    MX_TRY(mx_config_load_text(&mx_settings_schema, settings, mx_checkpoint_path(newest), text, strlen(text)));
    mx_warn("%s; the settings are taken from %s", lost.message, mx_checkpoint_path(newest));
    mx_error_clear();
out:
    if (rc < 0) mx_config_release(&mx_settings_schema, settings);
    mx_checkpoint_close(newest);
    mx_free(folder);
    return rc;
}

/* On failure there is nothing to release. */
static int settings_load(const char *path, struct mx_settings *settings)
{
    const int rc = mx_config_load(&mx_settings_schema, settings, path);
    if (rc < 0) mx_config_release(&mx_settings_schema, settings);
    return rc;
}

/* Has the folder anything of a run? */
static bool run_there(const char *folder)
{
    bool there = false;
    static const char *const parts[] = {"config.yaml", "checkpoints", "log.txt"};
    for (size_t i = 0; !there && i < sizeof parts / sizeof parts[0]; i++) {
        char *const path = mx_format("%s/%s", folder, parts[i]);
        there = path == NULL || access(path, F_OK) == 0; /* without memory, the next call fails */
        mx_free(path);
    }
    return there;
}

int mx_settings_resume(const char *run, const char *const *set, size_t count, struct mx_settings *out)
{
    struct stat status;
    if (stat(run, &status) == 0 && !S_ISDIR(status.st_mode)) {
        MX_FAIL(MX_ERR_USAGE, NULL, "%s is a file, and a run continues from its folder", run);
        return mx_error_hint("name the folder of the run, or start a new run with the weights of the file: "
                             "'--init-from %s' with '--train-data' and '--output' instead of '--resume'",
                             run);
    }
    if (stat(run, &status) == 0 && !run_there(run)) {
        MX_FAIL(MX_ERR_USAGE, NULL, "%s is no run: it has neither config.yaml nor checkpoints", run);
        return mx_error_hint("'--resume' names the folder that '--output' made; recordings to train on are given as "
                             "'--train-data %s' with '--output DIR'",
                             run);
    }
    char *const path = mx_format("%s/config.yaml", run);
    if (path == NULL) return MX_ERR_NO_MEMORY;
    int rc = run_defaults(out);
    if (rc >= 0) rc = settings_load(path, out);
    if (rc >= 0 && out->data.train_data[0] == '\0') { /* every run has that */
        rc = MX_FAIL(MX_ERR_CONFIG, "restore the file", "%s does not name the training data", path);
        mx_config_release(&mx_settings_schema, out);
    }
    mx_free(path);
    if (rc < 0) rc = settings_rescue(run, out);
    if (rc < 0) return rc;
    for (size_t i = 0; i < count; i++) MX_TRY(mx_config_set(&mx_settings_schema, out, set[i]));
out:
    if (rc < 0) mx_config_release(&mx_settings_schema, out);
    return rc;
}

/* A path that still names the same thing from another folder. What does not exist stays as it is. */
static int path_settle(char **path)
{
    if ((*path)[0] == '\0') return 0;
    char *const whole = realpath(*path, NULL);
    if (whole == NULL) return 0;
    char *const copy = mx_strdup(whole);
    free(whole);
    if (copy == NULL) return MX_ERR_NO_MEMORY;
    mx_free(*path);
    *path = copy;
    return 0;
}

int mx_settings_complete(struct mx_settings *settings)
{
    int rc = 0;
    MX_TRY(path_settle(&settings->data.train_data));
    MX_TRY(path_settle(&settings->data.val_data));
    MX_TRY(path_settle(&settings->data.lexicon));
    MX_TRY(path_settle(&settings->data.decisions));
    MX_TRY(path_settle(&settings->data.cut_voice));
    MX_TRY(path_settle(&settings->vocoder.from));
    mx_settings_resolve(settings);
out:
    return rc;
}

bool mx_settings_size_said(const char *const *set, size_t count)
{
    static const char *const keys[] = {"model.size",           "model.width",          "model.heads",
                                       "model.encoder_blocks", "model.decoder_blocks", "model.hidden"};
    bool said = false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            const size_t length = strlen(keys[k]);
            said = said || (strncmp(set[i], keys[k], length) == 0 && set[i][length] == '=');
        }
    return said;
}
