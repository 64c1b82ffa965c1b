/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See service_rig.h.
 */
#include "support/service_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "support/recording.h"
#include "support/voice_rig.h"

const char *const service_rig_texts[SERVICE_RIG_TEXTS] = {
    "A short one.", "Two sentences, of which this is one. And this is the other!",
    "Is this a question? Yes, it is: a question of some length, with a clause; and another, then an end.",
    "First paragraph. With two sentences.\n\nSecond paragraph.",
    "One. Two. Three. Four. Five. Six. Seven. Eight. Nine. Ten."};

struct mx_service *service_rig_service(const struct service_rig *rig, int batch, double company_ms, int queue)
{
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    const char *const voices[] = {rig->run, rig->plain};
    struct mx_service *service;
    options.voices = voices;
    options.voice_count = 2;
    options.vocoder = NULL;
    options.batch_max = batch;
    options.company_ms = company_ms;
    options.queue_max = queue;
    assert_int_equal(mx_service_open(&options, &service), 0);
    return service;
}

float *service_rig_api(const char *path, const char *text, const struct mx_speaking *how, size_t *count)
{
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    const struct mx_sound_chunk *chunk;
    float *all = NULL;
    int rc;
    *count = 0;
    assert_int_equal(mx_voice_open(path, NULL, &voice), 0);
    assert_int_equal(mx_speaker_create(voice, &speaker), 0);
    assert_int_equal(mx_speaker_begin(speaker, text, strlen(text), how), 0);
    while ((rc = mx_speaker_next(speaker, &chunk)) > 0) {
        all = mx_realloc(all, *count + chunk->count, sizeof *all);
        assert_non_null(all);
        memcpy(all + *count, chunk->samples, chunk->count * sizeof *all);
        *count += chunk->count;
    }
    assert_int_equal(rc, 0);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
    return all;
}

int service_rig_open(void **state)
{
    static struct service_rig rig;
    const struct mx_log_options quiet = {.level = MX_LOG_SILENT};
    if (mx_log_configure(&quiet) < 0) return -1;
    rig.folder = folder_make();
    rig.run = voice_rig_make(rig.folder, "first", 5, true);
    rig.plain = voice_rig_make(rig.folder, "second", 6, false);
    for (size_t i = 0; i < SERVICE_RIG_TEXTS; i++)
        rig.wanted[i] = service_rig_api(rig.run, service_rig_texts[i], NULL, &rig.counts[i]);
    rig.service = service_rig_service(&rig, 4, 5, SERVICE_RIG_PLACES);
    *state = &rig;
    return 0;
}

int service_rig_close(void **state)
{
    struct service_rig *const rig = *state;
    mx_service_close(rig->service);
    for (size_t i = 0; i < SERVICE_RIG_TEXTS; i++) mx_free(rig->wanted[i]);
    mx_free(rig->run);
    mx_free(rig->plain);
    folder_remove(rig->folder);
    return 0;
}

struct sound service_rig_read(struct mx_service_job *job, size_t room)
{
    struct sound sound = {0};
    size_t count;
    do {
        sound.samples = realloc(sound.samples, (sound.count + room) * sizeof *sound.samples);
        sound.rc = mx_service_read(job, sound.samples + sound.count, room, &count, 1000);
        sound.count += count;
    } while (sound.rc > 0 || sound.rc == MX_ERR_TIMEOUT);
    return sound;
}

struct sound service_rig_say(struct mx_service *service, const char *text, const struct mx_service_text *how)
{
    const struct mx_service_text usual = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    struct sound sound = {.rc = mx_service_begin(service, how != NULL ? how : &usual, &job)};
    if (sound.rc < 0) return sound;
    if ((sound.rc = mx_service_add(job, text, strlen(text))) == 0) sound.rc = mx_service_finish(job);
    if (sound.rc == 0) sound = service_rig_read(job, 3000);
    mx_service_end(job);
    return sound;
}

bool service_rig_wanted(const struct service_rig *rig, size_t text, const struct sound *sound)
{
    return sound->rc == 0 && sound->count == rig->counts[text] &&
           memcmp(sound->samples, rig->wanted[text], sound->count * sizeof(float)) == 0;
}
