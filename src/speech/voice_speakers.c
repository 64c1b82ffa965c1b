/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The speakers of an opened voice, see voice_internal.h: a name becomes the vector that the
 * voice file keeps of that speaker, or that the network makes, once, of the recording that the run folder keeps.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "speech/reference.h"
#include "speech/script_internal.h"
#include "speech/voice_internal.h"
#include "text/language.h"

/* The vector of the recording that the run folder keeps of a speaker; *found: there is one. */
static int recording_vector(struct mx_voice *v, size_t number, float *vector, bool *found)
{
    int rc = 0;
    struct mx_speak *speak = NULL;
    char *path = NULL;
    const struct mx_model_capacity room = mx_voice_room(1);
    const struct mx_speak_sound none = MX_SPEAK_SOUND_DEFAULT; /* no sound is made */
    MX_TRY(mx_checkpoint_recording(v->checkpoint, number, &path));
    *found = path != NULL;
    if (path == NULL) return 0;
    MX_TRY(mx_voice_engine_create(v, &room, &none, &speak));
    MX_TRY(mx_reference_listen(speak, &(struct mx_reference){.file = path}, 1, vector, NULL, NULL));
out:
    mx_free(path);
    mx_speak_destroy(speak);
    return rc;
}

/* Fills an entry of `kept`; the lock is held. A voice file has the vector, a run folder a recording. */
static int kept_fill(struct mx_voice *v, size_t number)
{
    bool found = true;
    float *const vector = mx_alloc((size_t)mx_checkpoint_state(v->checkpoint)->model.size.width, sizeof *vector);
    if (vector == NULL) return MX_ERR_NO_MEMORY;
    int rc = mx_checkpoint_vector(v->checkpoint, number, vector);
    if (rc == MX_ERR_NOT_FOUND) {
        mx_error_clear();
        rc = recording_vector(v, number, vector, &found);
    }
    if (rc < 0 || !found) mx_free(vector);
    if (rc >= 0) v->kept[number] = (struct mx_voice_kept){.known = true, .vector = found ? vector : NULL};
    return rc;
}

int mx_voice_vector_of(struct mx_voice *v, size_t number, const float **vector)
{
    int rc = 0;
    pthread_mutex_lock(&v->lock);
    if (!v->kept[number].known) rc = kept_fill(v, number);
    *vector = v->kept[number].vector;
    pthread_mutex_unlock(&v->lock);
    return rc;
}

/* The language that a speaker spoke, or the only one of the voice; otherwise, and if the voice cannot speak it,
 * MX_SPEAK_DETECT. As mx_checkpoint_speaker_language, without reading the vocabulary again for each text. */
static int language_of(const struct mx_checkpoint_state *state, size_t number, const struct mx_vocabulary *vocabulary)
{
    const char *const code = state->speaker_languages != NULL ? state->speaker_languages[number] : "";
    const bool only = mx_vocabulary_languages(vocabulary) == 1;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        if (mx_vocabulary_language(vocabulary, (enum mx_language_id)i) < 0) continue;
        if (code[0] == '\0' ? only : !strcmp(code, mx_language_get((enum mx_language_id)i)->code)) return i;
    }
    return MX_SPEAK_DETECT;
}

void mx_voice_suit(const struct mx_checkpoint_state *state, const char *text, size_t length, const char **speaker,
                   struct mx_speak_script_options *how)
{
    enum mx_language_id found;
    int32_t number;
    size_t chosen = 0;
    int wanted = how->language;
    how->preferred = MX_SPEAK_DETECT;
    if (wanted == MX_SPEAK_DETECT && *speaker == NULL && text != NULL) {
        if (mx_speak_language_find(how, text, length, &found, &number) < 0) {
            mx_error_clear(); /* the script says so */
            return;
        }
        wanted = (int)found;
    }
    if (*speaker != NULL)
        while (chosen < state->speaker_count && strcmp(state->speakers[chosen], *speaker) != 0) chosen++;
    else if (wanted != MX_SPEAK_DETECT)
        while (chosen < state->speaker_count && language_of(state, chosen, how->vocabulary) != wanted) chosen++;
    if (chosen >= state->speaker_count && *speaker == NULL) chosen = 0; /* nobody spoke it */
    if (chosen >= state->speaker_count) return;
    how->preferred = language_of(state, chosen, how->vocabulary);
    if (chosen > 0) *speaker = state->speakers[chosen];
}

int mx_voice_vector(struct mx_voice *v, const char *speaker, const float **vector)
{
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    size_t number = 0;
    char quoted[96];
    *vector = NULL;
    while (speaker != NULL && number < state->speaker_count && strcmp(state->speakers[number], speaker) != 0) number++;
    if (number >= state->speaker_count && speaker != NULL) {
        MX_FAIL(MX_ERR_NOT_FOUND, NULL, "the voice has no speaker %s", mx_string_quote(quoted, sizeof quoted, speaker));
        return mx_error_hint("it learned from %zu speakers, the first is '%s'; 'myxtts inspect' lists them",
                             state->speaker_count, state->speaker_count > 0 ? state->speakers[0] : "");
    }
    const int rc = mx_voice_vector_of(v, number, vector);
    if (rc < 0 || *vector != NULL || speaker == NULL) return rc;
    return MX_FAIL(MX_ERR_NOT_FOUND, "give a recording of the speaker as the reference ('--speaker-wav' of synth)",
                   "the voice keeps no recording of %s", mx_string_quote(quoted, sizeof quoted, speaker));
}
