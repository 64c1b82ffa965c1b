/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The voices of the speakers of a checkpoint: a voice file keeps a vector of each; the run folder of a checkpoint keeps
 * a recording (written by src/run/corpus/voices.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/string.h"
#include "checkpoint/internal.h"
#include "myxtts/error.h"
#include "text/language.h"
#include "text/vocabulary.h"

#define QUOTED_BYTES 192

/* The number of the speaker in the name of a tensor; false if it is no such name. */
static bool number_read(const char *name, size_t *out)
{
    size_t value = 0;
    const char *at = name + strlen(MX_CHECKPOINT_VECTOR_PREFIX);
    if (*at == '\0' || (*at == '0' && at[1] != '\0') || strlen(at) > 9) return false;
    for (; *at >= '0' && *at <= '9'; at++) value = 10 * value + (size_t)(*at - '0');
    *out = value;
    return *at == '\0';
}

/* What is impossible about the vector of a speaker; NULL: nothing. */
static const char *fault_of(const struct mx_checkpoint_state *state, const struct mx_tensor *tensor)
{
    size_t speaker, at;
    const size_t speakers = state->speaker_count > 0 ? state->speaker_count : 1;
    if (!number_read(tensor->name, &speaker) || speaker >= speakers) return "belongs to no speaker of the voice";
    if (tensor->dtype != MX_DTYPE_F32 || tensor->rank != 1 || tensor->shape[0] != (uint64_t)state->model.size.width)
        return "does not fit the network";
    return mx_tensor_finite(tensor, &at) ? NULL : "has a number that is not finite";
}

int mx_checkpoint_vectors_check(const struct mx_checkpoint *checkpoint, const char *source)
{
    char quoted[QUOTED_BYTES];
    for (size_t i = 0; i < mx_safetensors_count(checkpoint->file); i++) {
        const struct mx_tensor *const tensor = mx_safetensors_at(checkpoint->file, i);
        if (mx_checkpoint_part_of(tensor->name) != MX_CHECKPOINT_VECTORS) continue;
        const char *const wrong = fault_of(&checkpoint->state, tensor);
        if (wrong != NULL)
            return MX_FAIL(MX_ERR_FORMAT, NULL, "%s: tensor %s %s", source,
                           mx_string_quote(quoted, sizeof quoted, tensor->name), wrong);
    }
    return 0;
}

int mx_checkpoint_vector(const struct mx_checkpoint *checkpoint, size_t speaker, float *vector)
{
    char name[sizeof MX_CHECKPOINT_VECTOR_PREFIX + 24], quoted[QUOTED_BYTES];
    snprintf(name, sizeof name, MX_CHECKPOINT_VECTOR_PREFIX "%zu", speaker);
    const struct mx_tensor *const tensor =
        checkpoint->has_state && checkpoint->state.voice ? mx_safetensors_find(checkpoint->file, name) : NULL;
    if (tensor == NULL)
        return MX_FAIL(MX_ERR_NOT_FOUND, "give a recording of the speaker", "%s keeps no voice of speaker %zu",
                       mx_string_quote(quoted, sizeof quoted, checkpoint->path), speaker);
    mx_tensor_floats(tensor, vector);
    return 0;
}

/* Of the part `speaker`, the two projections of the vector are for speaking (src/model/speaker.c). */
bool mx_checkpoint_listening(const char *parameter)
{
    static const char part[] = "speaker.", speaking[] = "speaker.to_";
    return strncmp(parameter, part, strlen(part)) == 0 && strncmp(parameter, speaking, strlen(speaking)) != 0;
}

bool mx_checkpoint_listens(const struct mx_checkpoint *checkpoint)
{
    if (!checkpoint->has_state || !checkpoint->state.voice) return true;
    for (size_t i = 0; i < mx_safetensors_count(checkpoint->file); i++)
        if (mx_checkpoint_listening(mx_safetensors_at(checkpoint->file, i)->name)) return true;
    return checkpoint->base != NULL && mx_checkpoint_listens(checkpoint->base);
}

int mx_checkpoint_listens_check(const struct mx_checkpoint *checkpoint, const char *what)
{
    char quoted[QUOTED_BYTES];
    if (mx_checkpoint_listens(checkpoint)) return 0;
    return MX_FAIL(
        MX_ERR_DATA,
        "use the run, or a voice file that was exported without '--fixed-speakers' (in bf16 with one speaker: "
        "with '--any-speaker')",
        "%s cannot listen to recordings, which %s needs", mx_string_quote(quoted, sizeof quoted, checkpoint->path),
        what);
}

/* The code of the only language of a vocabulary; NULL if it has several. */
static const char *only_language(const char *json)
{
    struct mx_vocabulary *vocabulary = NULL;
    const char *code = NULL;
    if (mx_vocabulary_read(json, strlen(json), &vocabulary) < 0) {
        mx_error_clear();
        return NULL;
    }
    for (int i = 0; mx_vocabulary_languages(vocabulary) == 1 && i < MX_LANGUAGE_COUNT && code == NULL; i++)
        if (mx_vocabulary_language(vocabulary, (enum mx_language_id)i) == 0)
            code = mx_language_get((enum mx_language_id)i)->code;
    mx_vocabulary_destroy(vocabulary);
    return code;
}

const char *mx_checkpoint_speaker_language(const struct mx_checkpoint_state *state, size_t speaker)
{
    if (state->vocoder_alone) return NULL;
    const char *const stored =
        state->speaker_languages != NULL && speaker < state->speaker_count ? state->speaker_languages[speaker] : "";
    return stored[0] != '\0' ? stored : only_language(state->vocabulary);
}

int mx_checkpoint_recording(const struct mx_checkpoint *checkpoint, size_t speaker, char **path)
{
    const char *const file = checkpoint->path;
    /* RUN/checkpoints/step-….safetensors → RUN */
    const char *slash = strrchr(file, '/');
    *path = NULL;
    if (slash == NULL || slash == file || checkpoint->in_memory || (checkpoint->has_state && checkpoint->state.voice))
        return 0;
    do slash--;
    while (slash > file && *slash != '/');
    const int length = *slash == '/' ? (int)(slash - file) : 0;
    *path = length > 0 ? mx_format("%.*s/" MX_CHECKPOINT_RECORDING, length, file, speaker)
                       : mx_format(MX_CHECKPOINT_RECORDING, speaker);
    if (*path == NULL) return MX_ERR_NO_MEMORY;
    if (access(*path, R_OK) == 0) return 0;
    mx_free(*path);
    *path = NULL;
    return 0;
}
