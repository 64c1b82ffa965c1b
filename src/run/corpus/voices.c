/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a run keeps of its speakers, see corpus.h: one recording of each for the run folder (the training utterance whose
 * length is closest to five seconds, enough to recognise a voice), and their languages.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "corpus/audio/audio.h"
#include "myxtts/error.h"
#include "run/corpus/corpus.h"
#include "run/job.h"
#include "speech/wav.h"

#define SECONDS 5.0

/* The best utterance of a speaker that comes after `worse` in the order of preference; false if there is none. */
static bool candidate_next(const struct mx_dataset *dataset, uint32_t speaker, double worse, uint32_t *out,
                           double *distance)
{
    bool found = false;
    for (uint32_t i = 0; i < mx_dataset_count(dataset); i++) {
        const struct mx_dataset_utterance *const u = mx_dataset_utterance(dataset, i);
        const double off = fabs(u->samples / (double)mx_dataset_rate(dataset) - SECONDS);
        if (u->speaker != speaker || u->validation || off <= worse || (found && off >= *distance)) continue;
        found = true;
        *out = i;
        *distance = off;
    }
    return found;
}

/* The first candidate that can be loaded. */
static int voice_write(const struct mx_job *job, struct mx_dataset_reader *reader, uint32_t speaker)
{
    double distance = -1;
    uint32_t utterance;
    while (candidate_next(job->dataset, speaker, distance, &utterance, &distance)) {
        struct mx_dataset_item item;
        int rc = mx_dataset_load(reader, utterance, &item);
        if (rc < 0 && item.reject != MX_REJECT_NONE) continue;
        if (rc < 0) return rc;
        char *const path = mx_format("%s/" MX_CHECKPOINT_RECORDING, job->run, (size_t)speaker);
        if (path == NULL) return MX_ERR_NO_MEMORY;
        rc = mx_wav_write(path, item.samples, item.sample_count, mx_dataset_rate(job->dataset), MX_WAV_PCM16);
        mx_free(path);
        return rc;
    }
    return 0;
}

int mx_job_speaker_languages(struct mx_job *job, const struct mx_vocabulary *words)
{
    const size_t speakers = mx_dataset_speaker_count(job->dataset), languages = mx_vocabulary_languages(words);
    uint32_t *const counts = mx_alloc(speakers * languages + 1, sizeof *counts);
    job->names.languages = mx_alloc(speakers, sizeof *job->names.languages);
    if (counts == NULL || job->names.languages == NULL) {
        mx_free(counts);
        return MX_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < mx_dataset_count(job->dataset); i++) {
        const struct mx_dataset_utterance *const u = mx_dataset_utterance(job->dataset, i);
        if (!u->validation && u->speaker < speakers && u->language < languages)
            counts[u->speaker * languages + u->language]++;
    }
    for (size_t i = 0; i < speakers; i++) {
        const uint32_t *const own = counts + i * languages;
        size_t most = 0;
        for (size_t k = 1; k < languages; k++)
            if (own[k] > own[most]) most = k;
        job->names.languages[i] = "";
        for (int id = 0; languages > 0 && own[most] > 0 && id < MX_LANGUAGE_COUNT; id++)
            if (mx_vocabulary_language(words, (enum mx_language_id)id) == (int)most)
                job->names.languages[i] = mx_language_get((enum mx_language_id)id)->code;
    }
    mx_free(counts);
    return 0;
}

int mx_job_voices(struct mx_job *job)
{
    int rc = 0;
    struct mx_dataset_reader *reader = NULL;
    if (mx_dataset_kind(job->dataset) != MX_PACKED_AUDIO) return 0;
    MX_TRY(mx_file_make_folder(job->run, "voices"));
    MX_TRY(mx_dataset_reader_create(job->dataset, &reader));
    for (uint32_t i = 0; i < mx_dataset_speaker_count(job->dataset); i++) MX_TRY(voice_write(job, reader, i));
out:
    mx_dataset_reader_destroy(reader);
    return rc;
}
