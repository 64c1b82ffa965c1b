/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writes a voice file, see export_voice.h.
 */
#include "cli/export_voice.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "run/settings.h"

/* The last part of a path. */
static const char *file_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool mx_command_voice_named(const char *path)
{
    const char *const name = file_name(path);
    const size_t length = strlen(name), end = strlen(MX_CHECKPOINT_VOICE_SUFFIX);
    return length > end && strcmp(name + length - end, MX_CHECKPOINT_VOICE_SUFFIX) == 0;
}

/* MX_ERR_USAGE unless it is one line of text that any program can show. */
static int line_check(const char *option, const char *text)
{
    const size_t length = text != NULL ? strlen(text) : 0;
    for (size_t at = 0, step; at < length; at += step) {
        step = mx_string_printable(text + at, length - at);
        if (step == 0)
            return MX_FAIL(MX_ERR_USAGE, "write it as one line of UTF-8 text",
                           "option '--%s' has a control character or is not UTF-8", option);
    }
    return 0;
}

/* The settings of the run without what says something about the machine: names of files and folders, and the address
 * of the dashboard. The caller frees *out. */
static int config_reduce(const struct mx_checkpoint *checkpoint, char **out)
{
    static const char *const own[] = {"data.train_data", "data.val_data", "vocoder.from", "training.dashboard"};
    const char *const text = mx_checkpoint_state(checkpoint)->config;
    struct mx_settings settings;
    int rc = mx_config_defaults(&mx_settings_schema, &settings);
    if (rc < 0) return rc;
    rc = mx_config_load_text(&mx_settings_schema, &settings, mx_checkpoint_path(checkpoint), text, strlen(text));
    for (size_t i = 0; i < sizeof own / sizeof *own && rc >= 0; i++) rc = mx_settings_put(&settings, own[i], "");
    *out = rc >= 0 ? mx_config_format(&mx_settings_schema, &settings) : NULL;
    if (rc >= 0 && *out == NULL) rc = MX_ERR_NO_MEMORY;
    mx_config_release(&mx_settings_schema, &settings);
    return rc;
}

/* The first text that is there. */
static const char *chosen(const char *given, const char *before, const char *usual)
{
    if (given != NULL) return given;
    return before != NULL && before[0] != '\0' ? before : usual;
}

static void written_say(const struct mx_checkpoint_voice *voice, const char *path)
{
    struct stat status;
    const size_t speakers = voice->vector_count;
    const double bytes = stat(path, &status) == 0 ? (double)status.st_size : 0;
    mx_info("%s: %s, %s, %zu %sspeaker%s, %s, %.1f MB", path, voice->state->voice_name,
            voice->precision == MX_DTYPE_BF16 ? "bf16" : "fp32", speakers, voice->fixed ? "fixed " : "",
            speakers == 1 ? "" : "s", voice->state->has_vocoder ? "with a vocoder" : "no vocoder: Griffin-Lim speaks",
            bytes / 1e6);
}

int mx_command_voice_write(const struct mx_command_voice *v, const char *path)
{
    int rc = 0;
    char *config = NULL, *name = NULL;
    struct mx_checkpoint_state state = *mx_checkpoint_state(v->checkpoint);
    MX_TRY(line_check("name", v->name));
    MX_TRY(line_check("licence", v->licence));
    MX_TRY(line_check("attribution", v->attribution));
    const char *const file = file_name(path);
    name = mx_format("%.*s", (int)(strlen(file) - strlen(MX_CHECKPOINT_VOICE_SUFFIX)), file);
    if (name == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(line_check("output", name));
    MX_TRY(config_reduce(v->checkpoint, &config));
    state.voice_name = chosen(v->name, state.voice_name, name);
    state.voice_licence = chosen(v->licence, state.voice_licence, "");
    state.voice_attribution = chosen(v->attribution, state.voice_attribution, "");
    state.voice = true;
    state.config = config;
    state.metric_count = state.extra_count = 0;
    state.epoch = state.step_in_epoch = state.pass = state.data_fingerprint = state.best_step = 0;
    state.has_best = false;
    state.best = 0;
    state.has_vocoder = v->vocoder.table != NULL;
    if (state.has_vocoder) state.vocoder = *v->vocoder_config;
    const struct mx_checkpoint_voice voice = {.state = &state,
                                              .acoustic = v->acoustic,
                                              .vocoder = v->vocoder,
                                              .vectors = v->vectors,
                                              .vector_count = v->vector_count,
                                              .fixed = v->fixed || !mx_checkpoint_listens(v->checkpoint),
                                              .precision = v->precision};
    MX_TRY(mx_checkpoint_voice_write(path, &voice));
    written_say(&voice, path);
out:
    mx_free(config);
    mx_free(name);
    return rc;
}
