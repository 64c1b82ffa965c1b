/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the name of an installed voice means, see installed.h.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "checkpoint/installed.h"
#include "checkpoint/voice_file.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 192
#define NAMES_SHOWN  24 /* in a hint */

static bool speaks(const struct mx_installed_voice *voice)
{
    return voice->state != NULL && !voice->hidden && !voice->state->vocoder_alone;
}

/* The file of a name; NULL: there is none. */
static const struct mx_installed_voice *file_find(const struct mx_installed *list, const char *name, size_t length)
{
    for (size_t i = 0; i < list->count; i++)
        if (!list->voices[i].hidden && strlen(list->voices[i].name) == length &&
            memcmp(list->voices[i].name, name, length) == 0)
            return &list->voices[i];
    return NULL;
}

static bool speaker_find(const struct mx_checkpoint_state *state, const char *name, size_t *speaker)
{
    for (size_t i = 0; i < state->speaker_count; i++)
        if (strcmp(state->speakers[i], name) == 0) {
            *speaker = i;
            return true;
        }
    return false;
}

/* ---- failures ---- */

/* Adds what is installed: files and, with `speakers`, their speakers. */
static int names_append(struct mx_string *text, const struct mx_installed *list, bool speakers)
{
    size_t shown = 0, more = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct mx_installed_voice *const voice = &list->voices[i];
        if (voice->hidden || voice->state == NULL || (speakers && !speaks(voice))) continue;
        const size_t own = speakers ? voice->state->speaker_count : 0;
        for (size_t k = 0; k <= own; k++) {
            const char *const name = k == 0 ? voice->name : voice->state->speakers[k - 1];
            if (k > 0 && name[0] == '\0') continue;
            if (shown >= NAMES_SHOWN) {
                more++;
                continue;
            }
            mx_string_append(text, "%s", shown++ > 0 ? ", " : "");
            mx_string_append_plain(text, name);
        }
    }
    if (more > 0) mx_string_append(text, " and %zu more", more);
    return shown > 0;
}

/* MX_ERR_NOT_FOUND, with a hint that lists what is there. */
static int unknown_fail(const struct mx_installed *list, const char *name, bool speakers)
{
    char quoted[QUOTED_BYTES];
    struct mx_string hint = {0};
    mx_string_append(&hint, "installed are: ");
    const bool some = names_append(&hint, list, speakers);
    const int rc = MX_FAIL(MX_ERR_NOT_FOUND,
                           "no voice is installed; 'myxtts voices' says where they are looked for and how to get one",
                           speakers ? "no installed voice or speaker has the name %s"
                                    : "there is no file or folder %s, and no installed voice of that name",
                           mx_string_quote(quoted, sizeof quoted, name));
    if (some && hint.failure == 0) mx_error_hint("%s; 'myxtts voices' lists them", hint.data);
    mx_string_release(&hint);
    return rc;
}

/* The speakers of that name, and the file if there is one, as exact names. */
static int several_fail(const struct mx_installed *list, const char *name)
{
    size_t speaker, shown = 0;
    char quoted[QUOTED_BYTES];
    struct mx_string hint = {0};
    mx_string_append(&hint, "say which one: ");
    if (file_find(list, name, strlen(name)) != NULL) mx_string_append(&hint, "'%s/' (the file)", name), shown++;
    for (size_t i = 0; i < list->count; i++)
        if (speaks(&list->voices[i]) && speaker_find(list->voices[i].state, name, &speaker))
            mx_string_append(&hint, "%s'%s/%s'", shown++ > 0 ? ", " : "", list->voices[i].name, name);
    const int rc = MX_FAIL(MX_ERR_USAGE, "say which one; 'myxtts voices' lists them",
                           "the name %s means several installed voices", mx_string_quote(quoted, sizeof quoted, name));
    if (hint.failure == 0) mx_error_hint("%s", hint.data);
    mx_string_release(&hint);
    return rc;
}

/* ---- names ---- */

/* The voice must be one that speaks. */
static int voice_check(const struct mx_installed_voice *voice)
{
    if (voice->fault != NULL)
        return MX_FAIL(MX_ERR_FORMAT, "get it again, or remove it", "the installed voice cannot be used: %s",
                       voice->fault);
    if (voice->state->vocoder_alone)
        return MX_FAIL(MX_ERR_USAGE, "give it to '--vocoder'",
                       "%s is a vocoder alone: it has no network that reads texts", voice->path);
    return 0;
}

/* FILE/SPEAKER, or FILE/ */
static int exact_find(const struct mx_installed *list, const char *name, size_t length,
                      struct mx_installed_choice *choice)
{
    char quoted[QUOTED_BYTES];
    const char *const speaker = name + length + 1;
    choice->voice = file_find(list, name, length);
    if (choice->voice == NULL) return unknown_fail(list, name, true);
    const int rc = voice_check(choice->voice);
    if (rc < 0 || speaker[0] == '\0') return rc;
    choice->by_speaker = speaker_find(choice->voice->state, speaker, &choice->speaker);
    if (choice->by_speaker) return 0;
    MX_FAIL(MX_ERR_NOT_FOUND, NULL, "the voice '%s' has no speaker %s", choice->voice->name,
            mx_string_quote(quoted, sizeof quoted, speaker));
    return mx_error_hint("'myxtts voices' lists its speakers");
}

int mx_installed_find(const struct mx_installed *list, const char *name, struct mx_installed_choice *choice)
{
    size_t speaker = 0, found = 0;
    const char *const slash = strchr(name, '/');
    *choice = (struct mx_installed_choice){0};
    if (slash != NULL) return exact_find(list, name, (size_t)(slash - name), choice);
    const struct mx_installed_voice *const file = file_find(list, name, strlen(name));
    for (size_t i = 0; i < list->count; i++) {
        if (!speaks(&list->voices[i]) || &list->voices[i] == file ||
            !speaker_find(list->voices[i].state, name, &speaker))
            continue;
        *choice = (struct mx_installed_choice){&list->voices[i], true, speaker};
        found++;
    }
    if (found + (file != NULL) > 1) return several_fail(list, name);
    if (found == 1) return 0;
    if (file == NULL) return unknown_fail(list, name, true);
    choice->voice = file;
    return voice_check(file);
}

/* Where a path is accepted, the name of a file is, too; a speaker must be named elsewhere. */
static int path_find(const struct mx_installed *list, const char *name, const char **path)
{
    size_t speaker;
    const struct mx_installed_voice *const file = file_find(list, name, strlen(name));
    if (file != NULL) {
        *path = file->path;
        return 0;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!speaks(&list->voices[i]) || !speaker_find(list->voices[i].state, name, &speaker)) continue;
        MX_FAIL(MX_ERR_NOT_FOUND, NULL, "'%s' is a speaker of the installed voice '%s', not a voice", name,
                list->voices[i].name);
        return mx_error_hint("give '%s' here; 'myxtts synth --voice %s' speaks with this speaker", list->voices[i].name,
                             name);
    }
    return unknown_fail(list, name, false);
}

bool mx_installed_possible(const char *name)
{
    const size_t length = strlen(name), end = strlen(MX_CHECKPOINT_SUFFIX);
    return length > 0 && strchr(name, '/') == NULL &&
           (length < end || strcmp(name + length - end, MX_CHECKPOINT_SUFFIX) != 0);
}

int mx_installed_path(const char *name, char **path)
{
    int rc = 0;
    const char *found = NULL;
    struct mx_installed list = {0};
    *path = NULL;
    MX_TRY(mx_installed_list(&list));
    MX_TRY(path_find(&list, name, &found));
    *path = mx_strdup(found);
    if (*path == NULL) rc = MX_ERR_NO_MEMORY;
out:
    mx_installed_release(&list);
    return rc;
}
