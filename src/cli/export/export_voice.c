/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writes a voice file, see export_voice.h.
 */
#include "cli/export/export_voice.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "run/settings.h"
#include "text/language.h"
#include "text/vocabulary.h"

/* The last part of a path. */
static const char *file_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool ends_in(const char *path, const char *ending)
{
    const char *const name = file_name(path);
    const size_t length = strlen(name), end = strlen(ending);
    return length > end && strcmp(name + length - end, ending) == 0;
}

bool mx_command_voice_named(const char *path)
{
    return ends_in(path, MX_CHECKPOINT_VOICE_SUFFIX);
}

bool mx_command_vocoder_named(const char *path)
{
    return ends_in(path, MX_CHECKPOINT_SUFFIX);
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
    static const char *const own[] = {"data.train_data", "data.val_data", "data.lexicon",      "data.decisions",
                                      "data.cut_voice",  "vocoder.from",  "training.dashboard"};
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

/* Where the number of a speaker is, by name; MX_ERR_USAGE if there is none. */
static int speaker_find(const struct mx_checkpoint_state *state, const char *name, size_t length, size_t *out)
{
    for (*out = 0; *out < state->speaker_count; ++*out)
        if (strlen(state->speakers[*out]) == length && memcmp(state->speakers[*out], name, length) == 0) return 0;
    return MX_FAIL(MX_ERR_USAGE, "'myxtts inspect' lists the speakers of a run", "the voice has no speaker '%.*s'",
                   (int)length, name);
}

/* The code of a language that the voice has. */
static int language_find(const struct mx_checkpoint_state *state, const char *text, const char **code)
{
    int rc = 0;
    enum mx_language_id id;
    struct mx_vocabulary *vocabulary = NULL;
    MX_TRY(mx_language_parse(text, &id));
    MX_TRY(mx_vocabulary_read(state->vocabulary, strlen(state->vocabulary), &vocabulary));
    if (mx_vocabulary_language(vocabulary, id) < 0)
        MX_RAISE(MX_ERR_USAGE, "'myxtts inspect' lists the languages of a voice", "the voice never learned %s",
                 mx_language_get(id)->name);
    *code = mx_language_get(id)->code;
out:
    mx_vocabulary_destroy(vocabulary);
    return rc;
}

/* The languages of the speakers: those of the checkpoint, and in place of them what was given. *out is the caller's; NULL:
 * none are known. */
static int languages_build(const struct mx_checkpoint_state *state, const struct mx_option_list *given,
                           const char ***out)
{
    int rc = 0;
    const char **list = NULL;
    size_t speaker;
    *out = NULL;
    if (state->speaker_languages == NULL && (given == NULL || given->count == 0)) return 0;
    list = mx_alloc(state->speaker_count, sizeof *list);
    if (list == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < state->speaker_count; i++)
        list[i] = state->speaker_languages != NULL ? state->speaker_languages[i] : "";
    for (size_t i = 0; given != NULL && i < given->count; i++) {
        const char *const equals = strrchr(given->items[i], '=');
        if (equals == NULL)
            MX_RAISE(MX_ERR_USAGE, "write '--speaker-language NAME=LANGUAGE'", "'--speaker-language %s' has no '='",
                     given->items[i]);
        MX_TRY(speaker_find(state, given->items[i], (size_t)(equals - given->items[i]), &speaker));
        MX_TRY(language_find(state, equals + 1, &list[speaker]));
    }
    *out = list;
    list = NULL;
out:
    mx_free(list);
    return rc;
}

static double file_megabytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (double)status.st_size / 1e6 : 0;
}

static void written_log(const struct mx_checkpoint_voice *voice, const char *path)
{
    const size_t speakers = voice->vector_count;
    const char *const base = mx_checkpoint_extra(voice->state, MX_CHECKPOINT_BASE_NAME);
    if (voice->adapter != NULL) {
        mx_info("%s: %s, %s, %zu speaker%s, an adapter of %.2f MB; it needs its base, %s (hash %s)", path,
                voice->state->voice_name, voice->precision == MX_DTYPE_BF16 ? "bf16" : "fp32", speakers,
                speakers == 1 ? "" : "s", file_megabytes(path), base,
                mx_checkpoint_extra(voice->state, MX_CHECKPOINT_BASE_HASH));
        return;
    }
    mx_info("%s: %s, %s, %zu %sspeaker%s, %s, %.1f MB", path, voice->state->voice_name,
            voice->precision == MX_DTYPE_BF16 ? "bf16" : "fp32", speakers, voice->fixed ? "fixed " : "",
            speakers == 1 ? "" : "s", voice->state->has_vocoder ? "with a vocoder" : "no vocoder: Griffin-Lim speaks",
            file_megabytes(path));
}

/* What the state of any exported file is: texts as given, and nothing of a run. *name and *config are the caller's. */
static int state_build(const struct mx_command_voice *v, const char *path, const char *ending,
                       struct mx_checkpoint_state *state, char **name, char **config)
{
    int rc = 0;
    *state = *mx_checkpoint_state(v->checkpoint);
    MX_TRY(line_check("name", v->name));
    MX_TRY(line_check("licence", v->licence));
    MX_TRY(line_check("attribution", v->attribution));
    const char *const file = file_name(path);
    *name = mx_format("%.*s", (int)(strlen(file) - strlen(ending)), file);
    if (*name == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(line_check("output", *name));
    MX_TRY(config_reduce(v->checkpoint, config));
    state->voice_name = chosen(v->name, state->voice_name, *name);
    state->voice_licence = chosen(v->licence, state->voice_licence, "");
    state->voice_attribution = chosen(v->attribution, state->voice_attribution, "");
    state->voice = true;
    state->config = *config;
    state->metric_count = state->extra_count = 0;
    state->epoch = state->step_in_epoch = state->pass = state->data_fingerprint = state->best_step = 0;
    state->has_best = false;
    state->best = 0;
    state->has_vocoder = v->vocoder.table != NULL;
    if (state->has_vocoder) state->vocoder = *v->vocoder_config;
out:
    return rc;
}

/* The texts that name the base of a run with adapters. MX_ERR_USAGE if it has none, or if its base is not all that it
 * speaks with. */
static int base_find(const struct mx_checkpoint *checkpoint, struct mx_metadata out[2])
{
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(checkpoint);
    const char *const hash = mx_checkpoint_extra(state, MX_CHECKPOINT_BASE_HASH);
    const char *const name = mx_checkpoint_extra(state, MX_CHECKPOINT_BASE_NAME);
    struct mx_settings settings;
    if (state->voice && hash != NULL)
        return MX_FAIL(MX_ERR_USAGE, "copy the file; without '--adapter' a whole voice is written",
                       "%s is an adapter already", mx_checkpoint_path(checkpoint));
    if (hash == NULL || name == NULL)
        return MX_FAIL(MX_ERR_USAGE, "export it without '--adapter'; '--adapter-rank 8' trains adapters",
                       "%s has no adapters", mx_checkpoint_path(checkpoint));
    int rc = mx_config_defaults(&mx_settings_schema, &settings);
    if (rc < 0) return rc;
    rc = mx_config_load_text(&mx_settings_schema, &settings, mx_checkpoint_path(checkpoint), state->config,
                             strlen(state->config));
    const bool other = rc >= 0 && settings.vocoder.from[0] != '\0';
    mx_config_release(&mx_settings_schema, &settings);
    if (other)
        return MX_FAIL(MX_ERR_USAGE, "export it without '--adapter'",
                       "the vocoder of the run is not that of its base: an adapter cannot name both");
    out[0] = (struct mx_metadata){MX_CHECKPOINT_BASE_HASH, hash};
    out[1] = (struct mx_metadata){MX_CHECKPOINT_BASE_NAME, name};
    return rc;
}

int mx_command_voice_write(const struct mx_command_voice *v, const char *path)
{
    int rc = 0;
    char *config = NULL, *name = NULL, *vocabulary = NULL;
    const char **languages = NULL;
    struct mx_checkpoint_state state;
    struct mx_metadata base[2];
    MX_TRY(state_build(v, path, MX_CHECKPOINT_VOICE_SUFFIX, &state, &name, &config));
    MX_TRY(mx_vocabulary_write(v->vocabulary, &vocabulary));
    state.vocabulary = vocabulary;
    MX_TRY(languages_build(&state, v->languages, &languages));
    state.speaker_languages = languages;
    if (v->adapter) {
        MX_TRY(base_find(v->checkpoint, base));
        state.extras = base;
        state.extra_count = 2;
    }
    const struct mx_checkpoint_voice voice = {.state = &state,
                                              .acoustic = v->acoustic,
                                              .vocoder = v->vocoder,
                                              .vectors = v->vectors,
                                              .vector_count = v->vector_count,
                                              .fixed = v->fixed || !mx_checkpoint_listens(v->checkpoint),
                                              .adapter = v->adapter ? v->checkpoint : NULL,
                                              .precision = v->precision};
    MX_TRY(mx_checkpoint_voice_write(path, &voice));
    written_log(&voice, path);
out:
    mx_free(languages);
    mx_free(vocabulary);
    mx_free(config);
    mx_free(name);
    return rc;
}

int mx_command_vocoder_write(const struct mx_command_voice *v, const char *path)
{
    int rc = 0;
    char *config = NULL, *name = NULL;
    struct mx_checkpoint_state state;
    MX_TRY(state_build(v, path, MX_CHECKPOINT_SUFFIX, &state, &name, &config));
    /* The name in the file of a voice is that of the voice. */
    if (v->name == NULL && !mx_checkpoint_state(v->checkpoint)->vocoder_alone) state.voice_name = name;
    state.vocoder_alone = true;
    const struct mx_checkpoint_voice voice = {.state = &state, .vocoder = v->vocoder, .precision = v->precision};
    MX_TRY(mx_checkpoint_voice_write(path, &voice));
    mx_info("%s: %s, %s, a vocoder alone, %.1f MB", path, state.voice_name,
            voice.precision == MX_DTYPE_BF16 ? "bf16" : "fp32", file_megabytes(path));
out:
    mx_free(config);
    mx_free(name);
    return rc;
}
