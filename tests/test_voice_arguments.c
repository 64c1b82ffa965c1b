/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the C API says to arguments that cannot be: MX_ERR_ARGUMENT, for each pointer that is NULL, each count without
 * its pointer, and each size that is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "support/recording.h"
#include "support/voice_rig.h"

static void refused(int rc)
{
    assert_int_equal(rc, MX_ERR_ARGUMENT);
    assert_true(mx_error_last()->message[0] != '\0' && mx_error_last()->hint[0] != '\0');
    mx_error_clear();
}

static void test_no_voice(void **state)
{
    struct mx_voice *voice = (struct mx_voice *)state;
    struct mx_speaker *speaker = (struct mx_speaker *)state;
    struct mx_voice_options wrong = {.size = 1};
    refused(mx_voice_open(NULL, NULL, &voice));
    assert_null(voice);
    refused(mx_voice_open("x", NULL, NULL));
    refused(mx_voice_open_memory(NULL, 100, NULL, &voice));
    assert_null(voice);
    refused(mx_voice_open("x", &wrong, &voice));
    wrong.size = (size_t)-1;
    refused(mx_voice_open("x", &wrong, &voice));
    wrong.size = 1 << 20;
    refused(mx_voice_open("x", &wrong, &voice));
    mx_voice_close(NULL);
    assert_string_equal(mx_voice_name(NULL), "");
    assert_string_equal(mx_voice_licence(NULL), "");
    assert_string_equal(mx_voice_attribution(NULL), "");
    assert_int_equal(mx_voice_rate(NULL), 0);
    assert_int_equal(mx_voice_languages(NULL), 0);
    assert_null(mx_voice_language(NULL, 0));
    assert_int_equal(mx_voice_speakers(NULL), 0);
    assert_null(mx_voice_speaker(NULL, 0));
    refused(mx_speaker_create(NULL, &speaker));
    assert_null(speaker);
}

static void test_no_speaker(void **state)
{
    const struct mx_sound_chunk *chunk = NULL;
    (void)state;
    refused(mx_speaker_begin(NULL, "a", 1, NULL));
    refused(mx_speaker_next(NULL, &chunk));
    assert_non_null(chunk);
    assert_int_equal(chunk->count, 0);
    assert_string_equal(chunk->text, "");
    mx_speaker_cancel(NULL);
    mx_speaker_destroy(NULL);
    assert_int_equal(mx_speaker_warnings(NULL), 0);
    assert_null(mx_speaker_warning(NULL, 0));
    assert_int_equal(mx_speaker_report(NULL)->samples, 0);
}

static void test_speaking(void **state)
{
    const struct mx_log_options quiet = {.level = MX_LOG_SILENT};
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    const struct mx_sound_chunk *chunk;
    char *const folder = folder_make();
    (void)state;
    assert_int_equal(mx_log_configure(&quiet), 0);
    char *const run = voice_rig_make(folder, "voice", 5, true);
    assert_int_equal(mx_voice_open(run, NULL, &voice), 0);
    refused(mx_speaker_create(voice, NULL));
    assert_int_equal(mx_speaker_create(voice, &speaker), 0);
    refused(mx_speaker_begin(speaker, NULL, 0, NULL));
    refused(mx_speaker_begin(speaker, NULL, 5, NULL));
    how.references_count = 5;
    refused(mx_speaker_begin(speaker, "a", 1, &how));
    how.references_count = 0;
    how.reference_count = 1000;
    refused(mx_speaker_begin(speaker, "a", 1, &how));
    how.reference_count = 0;
    how.size = 3;
    refused(mx_speaker_begin(speaker, "a", 1, &how));
    how.size = 1 << 24;
    refused(mx_speaker_begin(speaker, "a", 1, &how));
    refused(mx_speaker_next(speaker, NULL));
    assert_int_equal(mx_speaker_next(speaker, &chunk), 0); /* nothing was begun */
    assert_int_equal(mx_speaker_begin(speaker, "Hello.", 6, NULL), 0);
    assert_int_equal(mx_speaker_next(speaker, &chunk), 1); /* and it speaks as before */
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
    mx_free(run);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_voice),
        cmocka_unit_test(test_no_speaker),
        cmocka_unit_test(test_speaking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
