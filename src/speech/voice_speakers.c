/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The speakers of an opened voice, see voice_internal.h: a name becomes the vector that the
 * voice file keeps of that speaker, or that the network makes, once, of the recording that the run folder keeps.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "corpus/audio.h"
#include "myxtts/error.h"
#include "speech/voice_internal.h"

/* The mel of a recording, a file or (path NULL) samples, as the network wants it. *mel is the caller's. */
static int recording_listen(struct mx_speak *speak, const char *path, const struct mx_voice_recording *r, float **mel,
                            int32_t *frames)
{
    int rc = 0;
    const struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    struct mx_audio_reader *reader = NULL;
    struct mx_audio_report report;
    const float *samples;
    size_t count;
    MX_TRY(mx_audio_reader_create(&reader));
    if (path != NULL)
        MX_TRY(mx_audio_load(reader, path, &reading, &samples, &count, &report));
    else
        MX_TRY(
            mx_audio_take(reader, "the reference", r->samples, r->count, r->rate, &reading, &samples, &count, &report));
    MX_TRY(mx_speak_reference(speak, samples, count, mel, frames));
out:
    mx_audio_reader_destroy(reader);
    return rc;
}

int mx_voice_listen(struct mx_speak *speak, const struct mx_voice_recording *recording, float *vector)
{
    int rc = 0;
    float *mel = NULL;
    int32_t frames;
    MX_TRY(recording_listen(speak, recording->path, recording, &mel, &frames));
    MX_TRY(mx_speak_vector(speak, mel, frames, vector));
out:
    mx_free(mel);
    return rc;
}

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
    MX_TRY(mx_voice_listen(speak, &(struct mx_voice_recording){.path = path}, vector));
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
