/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts voices: lists the installed voices (checkpoint/installed.h), with a command for each speaker that speaks.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "checkpoint/installed.h"
#include "cli/command.h"
#include "cli/json_tree.h"
#include "myxtts/error.h"
#include "text/sample.h"
#include "text/vocabulary.h"

#define SAFE_BYTES 512

struct values {
    bool json;
};

static const struct mx_option options[] = {
    {MX_OPTION_FLAG(struct values, json, "json", "Print the list as one JSON object.")},
};

static const struct mx_example examples[] = {
    {"myxtts voices", "lists voices and speakers, each with a command to try it"},
    {"MYXTTS_VOICES=my-voices myxtts voices", "looks in the folder my-voices, too"},
    {"myxtts synth --voice en-allison --text 'Good morning.' --output morning.wav", "speaks with one of them"},
};

/* ---- speakers ---- */

/* The speakers that can be listed: a voice without names has one, that of the file. */
static size_t speakers_of(const struct mx_checkpoint_state *state)
{
    return state->speaker_count > 0 ? state->speaker_count : 1;
}

static const char *speaker_name(const struct mx_checkpoint_state *state, size_t number)
{
    return number < state->speaker_count ? state->speakers[number] : "";
}

/* The language of a speaker; NULL: it is not known. */
static const struct mx_language *speaker_language(const struct mx_checkpoint_state *state, size_t number,
                                                  enum mx_language_id *id)
{
    const char *const code = mx_checkpoint_speaker_language(state, number);
    if (code == NULL) return NULL;
    if (mx_language_parse(code, id) == 0) return mx_language_get(*id);
    mx_error_clear(); /* a code of a newer version */
    return NULL;
}

/* The value of '--voice' for a speaker: the name alone, if it is unique. */
static int call_append(struct mx_string *out, const struct mx_installed *list, const struct mx_installed_voice *voice,
                       size_t number)
{
    struct mx_installed_choice choice;
    const char *const name = speaker_name(voice->state, number);
    const bool alone = name[0] != '\0' && strchr(name, '/') == NULL && mx_installed_find(list, name, &choice) == 0 &&
                       choice.voice == voice && (choice.by_speaker || voice->state->speaker_count == 1);
    mx_error_clear();
    if (alone) return mx_string_append(out, "%s", name);
    return mx_string_append(out, "%s/%s", voice->name, name);
}

/* The first language of a voice. */
static int first_language(const struct mx_checkpoint_state *state, enum mx_language_id *out)
{
    struct mx_vocabulary *vocabulary = NULL;
    const int rc = mx_vocabulary_read(state->vocabulary, strlen(state->vocabulary), &vocabulary);
    if (rc < 0) return rc;
    int id = 0;
    while (id < MX_LANGUAGE_COUNT - 1 && mx_vocabulary_language(vocabulary, (enum mx_language_id)id) != 0) id++;
    *out = (enum mx_language_id)id;
    mx_vocabulary_destroy(vocabulary);
    return 0;
}

/* A command that speaks with a speaker; nothing where there is no sentence in its language. Of a speaker whose language is
 * not known, it names one that the voice has. */
static int command_format(struct mx_string *out, const struct mx_installed *list,
                          const struct mx_installed_voice *voice, size_t number)
{
    int rc = 0;
    enum mx_language_id id;
    struct mx_string call = {0};
    const bool known = speaker_language(voice->state, number, &id) != NULL;
    if (!known) MX_TRY(first_language(voice->state, &id));
    const char *const sample = mx_language_sample(id);
    if (sample == NULL) return 0;
    MX_TRY(call_append(&call, list, voice, number));
    mx_string_append(out, "myxtts synth --voice ");
    mx_string_append_shell(out, call.data);
    if (!known) mx_string_append(out, " --language %s", mx_language_get(id)->code);
    mx_string_append(out, " --text ");
    mx_string_append_shell(out, sample);
    mx_string_append(out, " --output ");
    for (char *c = call.data; *c != '\0'; c++)
        if (*c == '/') *c = '-';
    mx_string_append(&call, ".wav");
    mx_string_append_shell(out, call.data);
    rc = out->failure;
out:
    mx_string_release(&call);
    return rc;
}

/* ---- text ---- */

static int speakers_print(const struct mx_installed *list, const struct mx_installed_voice *voice)
{
    int rc = 0;
    const struct mx_checkpoint_state *const state = voice->state;
    int widest = (int)strlen("speaker");
    for (size_t i = 0; i < state->speaker_count; i++)
        if ((int)strlen(state->speakers[i]) > widest) widest = (int)strlen(state->speakers[i]);
    printf("  %-*s  %-10s  to try it\n", widest, "speaker", "language");
    for (size_t i = 0; i < speakers_of(state) && rc == 0; i++) {
        enum mx_language_id id;
        char safe[SAFE_BYTES];
        struct mx_string command = {0};
        const char *const name = speaker_name(state, i);
        const struct mx_language *const language = speaker_language(state, i, &id);
        rc = command_format(&command, list, voice, i);
        if (rc == 0)
            printf("  %-*s  %-10s  %s\n", widest, mx_string_plain(safe, sizeof safe, name[0] != '\0' ? name : "-"),
                   language != NULL ? language->name : "not known",
                   command.length > 0 ? command.data : "(no sample sentence in this language)");
        mx_string_release(&command);
    }
    return rc;
}

static int voice_print(const struct mx_installed *list, const struct mx_installed_voice *voice)
{
    char safe[SAFE_BYTES];
    const struct mx_checkpoint_state *const s = voice->state;
    printf("%s: %.1f MB", voice->name, (double)voice->bytes / 1e6);
    if (s != NULL && s->vocoder_alone) printf(", a vocoder alone, for '--vocoder %s'", voice->name);
    if (s != NULL && !s->vocoder_alone)
        printf(", %zu speaker%s, %s", speakers_of(s), speakers_of(s) == 1 ? "" : "s",
               s->has_vocoder ? "with a vocoder" : "no vocoder: Griffin-Lim speaks");
    printf("\n  file         %s\n", mx_string_plain(safe, sizeof safe, voice->path));
    if (voice->hidden) printf("  hidden       by the file of the same name in a folder that is searched before\n");
    if (voice->fault != NULL) printf("  cannot be used: %s\n", voice->fault);
    if (s == NULL) return 0;
    printf("  licence      %s\n",
           s->voice_licence[0] != '\0' ? mx_string_plain(safe, sizeof safe, s->voice_licence) : "not stated");
    printf("  attribution  %s\n",
           s->voice_attribution[0] != '\0' ? mx_string_plain(safe, sizeof safe, s->voice_attribution) : "not stated");
    return s->vocoder_alone || voice->hidden ? 0 : speakers_print(list, voice);
}

static int list_print(const struct mx_installed *list)
{
    int rc = 0;
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        if (i > 0) putchar('\n');
        rc = voice_print(list, &list->voices[i]);
    }
    return rc;
}

/* ---- JSON ---- */

static int speakers_json(cJSON *root, const struct mx_installed *list, const struct mx_installed_voice *voice,
                         int *failures)
{
    int rc = 0;
    cJSON *const speakers = cJSON_AddArrayToObject(root, "speakers");
    for (size_t i = 0; i < speakers_of(voice->state) && rc == 0; i++) {
        enum mx_language_id id;
        struct mx_string call = {0}, command = {0};
        cJSON *const object = mx_command_json_element(speakers, failures);
        const char *const code = mx_checkpoint_speaker_language(voice->state, i);
        rc = call_append(&call, list, voice, i);
        if (rc == 0) rc = command_format(&command, list, voice, i);
        if (rc == 0) {
            mx_command_json_check(cJSON_AddStringToObject(object, "name", speaker_name(voice->state, i)), failures);
            mx_command_json_check(cJSON_AddStringToObject(object, "voice", call.data), failures);
            mx_command_json_check(code != NULL ? cJSON_AddStringToObject(object, "language", code)
                                               : cJSON_AddNullToObject(object, "language"),
                                  failures);
            const char *const sample = speaker_language(voice->state, i, &id) != NULL ? mx_language_sample(id) : NULL;
            if (sample != NULL) mx_command_json_check(cJSON_AddStringToObject(object, "sample", sample), failures);
            if (command.length > 0)
                mx_command_json_check(cJSON_AddStringToObject(object, "command", command.data), failures);
        }
        mx_string_release(&call);
        mx_string_release(&command);
    }
    return rc;
}

static int voice_json(cJSON *array, const struct mx_installed *list, const struct mx_installed_voice *voice,
                      int *failures)
{
    const struct mx_checkpoint_state *const s = voice->state;
    cJSON *const root = mx_command_json_element(array, failures);
    mx_command_json_check(cJSON_AddStringToObject(root, "name", voice->name), failures);
    mx_command_json_check(cJSON_AddStringToObject(root, "file", voice->path), failures);
    mx_command_json_check(cJSON_AddStringToObject(root, "folder", voice->folder), failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "bytes", (double)voice->bytes), failures);
    mx_command_json_check(cJSON_AddBoolToObject(root, "hidden", voice->hidden), failures);
    if (voice->fault != NULL) mx_command_json_check(cJSON_AddStringToObject(root, "fault", voice->fault), failures);
    if (s == NULL) return 0;
    mx_command_json_check(cJSON_AddStringToObject(root, "licence", s->voice_licence), failures);
    mx_command_json_check(cJSON_AddStringToObject(root, "attribution", s->voice_attribution), failures);
    mx_command_json_check(cJSON_AddBoolToObject(root, "vocoder", s->has_vocoder), failures);
    mx_command_json_check(cJSON_AddBoolToObject(root, "vocoder_alone", s->vocoder_alone), failures);
    return s->vocoder_alone || voice->hidden ? 0 : speakers_json(root, list, voice, failures);
}

static int list_json(const struct mx_installed *list)
{
    int rc = 0, failures = 0;
    cJSON *const root = cJSON_CreateObject();
    cJSON *const folders = cJSON_AddArrayToObject(root, "folders");
    for (size_t i = 0; i < list->folder_count; i++) {
        cJSON *const object = mx_command_json_element(folders, &failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "path", list->folders[i].path), &failures);
        mx_command_json_check(cJSON_AddBoolToObject(object, "there", list->folders[i].there), &failures);
    }
    cJSON *const voices = cJSON_AddArrayToObject(root, "voices");
    mx_command_json_check(voices, &failures);
    for (size_t i = 0; i < list->count && rc == 0; i++) rc = voice_json(voices, list, &list->voices[i], &failures);
    if (rc == 0) rc = mx_command_json(root, failures, NULL);
    cJSON_Delete(root);
    return rc;
}

/* ---- running ---- */

static int nothing_fail(const struct mx_installed *list)
{
    struct mx_string where = {0};
    for (size_t i = 0; i < list->folder_count; i++)
        mx_string_append(&where, "%s%s%s", i > 0 ? ", " : "", list->folders[i].path,
                         list->folders[i].there ? "" : " (does not exist)");
    const int rc = MX_FAIL(MX_ERR_NOT_FOUND,
                           "in the source tree, 'make voices' trains the base voice; your own voice: mkdir -p "
                           "~/.local/share/myxtts/voices && myxtts export my-run --output "
                           "~/.local/share/myxtts/voices/my.voice.safetensors",
                           "no voice is installed; searched: %s", where.failure == 0 ? where.data : "");
    mx_string_release(&where);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    struct mx_installed list = {0};
    (void)operands; /* the page takes none, so the parser refused them */
    MX_TRY(mx_installed_list(&list));
    MX_TRY(values->json ? list_json(&list) : list_print(&list));
    if (list.count == 0) rc = nothing_fail(&list);
out:
    mx_installed_release(&list);
    return rc;
}

const struct mx_command mx_command_voices = {
    .name = "voices",
    .page =
        {
            .command = "myxtts voices",
            .summary = "list the installed voices",
            .description =
                "Lists the voice files (NAME.voice.safetensors, NAME.safetensors for a vocoder alone) in these "
                "folders: "
                "those of $MYXTTS_VOICES (separated by colons); voices/ of the source tree, for a program in its build "
                "folder; $XDG_DATA_HOME/myxtts/voices or ~/.local/share/myxtts/voices; share/myxtts/voices beside the "
                "program's bin; /usr/share/myxtts/voices. If two files have the same name, the first one is used.\n"
                "For each voice it shows size, file, licence, attribution and the speakers with their languages; each "
                "line ends in a command that speaks. Whatever takes a checkpoint takes the name of an installed voice. "
                "'myxtts synth --voice' also takes the name of a speaker, or FILE/SPEAKER if several voices have a "
                "speaker of that name.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
