/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Installed voices: files that can be called by name. A voice is NAME.voice.safetensors, a vocoder alone
 * NAME.safetensors (voice_file.h), in one of these folders, in this order:
 *
 *     $MYXTTS_VOICES                                              one folder or several, separated by colons
 *     SOURCE/voices                                               if the program runs from its build folder in SOURCE
 *     $XDG_DATA_HOME/myxtts/voices or ~/.local/share/myxtts/voices
 *     PREFIX/share/myxtts/voices                                  if the program is PREFIX/bin/…, or the library PREFIX/lib/…
 *     /usr/share/myxtts/voices
 *
 * The first file of a name is meant; later ones are hidden by it. A name is
 *
 *     base               a file
 *     base/NAME          a speaker of a file
 *     base/              the file, where there is also a speaker 'base' elsewhere
 *     en-allison         a speaker, if only one file has it
 *
 * Memory: the list owns everything it shows. Of the files only the beginning is read; their hash is not checked.
 */
#ifndef MX_CHECKPOINT_INSTALLED_H
#define MX_CHECKPOINT_INSTALLED_H

#include "checkpoint/checkpoint.h"

#define MX_INSTALLED_FOLDERS 16     /* most folders that are searched */
#define MX_INSTALLED_BASE    "base" /* the voice that speaks if none is named */

struct mx_installed_folder {
    const char *path;
    bool there;
};

struct mx_installed_voice {
    const char *name, *path, *folder;
    uint64_t bytes;
    bool hidden;                             /* a folder before has one of this name */
    const char *fault;                       /* why it cannot be used; NULL: it can */
    const struct mx_checkpoint_state *state; /* NULL if it cannot be used */
};

struct mx_installed {
    struct mx_installed_folder folders[MX_INSTALLED_FOLDERS];
    size_t folder_count;
    struct mx_installed_voice *voices; /* by folder, then by name */
    size_t count;
    struct mx_arena *arena;
    struct mx_safetensors **files; /* that the states point into */
};

/* A voice that was asked for by name. */
struct mx_installed_choice {
    const struct mx_installed_voice *voice;
    bool by_speaker; /* the name says which speaker */
    size_t speaker;  /* that speaker, if by_speaker */
};

int mx_installed_list(struct mx_installed *list);
void mx_installed_release(struct mx_installed *list); /* {0} is fine */

/* What a name means. MX_ERR_USAGE if it means several things, with how to be exact; MX_ERR_NOT_FOUND if it means
 * nothing, with the names that are there; MX_ERR_FORMAT if the file cannot be used. */
int mx_installed_find(const struct mx_installed *list, const char *name, struct mx_installed_choice *choice);
/* Could it be the name of a file in such a folder? What looks like a path is none. */
bool mx_installed_possible(const char *name);
/* The path of a file by its name, also of a vocoder; *path is the caller's. MX_ERR_NOT_FOUND as above. */
int mx_installed_path(const char *name, char **path);

#endif
