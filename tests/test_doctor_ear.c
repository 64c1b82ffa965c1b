/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The doctor's meter in a check: the same sounds on any number of workers.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <sndfile.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "doctor/sound/sound.h"
#include "support/babble.h"
#include "support/recording.h"

#define ROWS 20
#define RATE MX_AUDIO_RATE_DEFAULT

static void sounds_take(const char *folder, int workers, struct mx_doctor_sound *out)
{
    struct mx_check_report report;
    struct mx_doctor_meter *meter;
    struct mx_check_options options = MX_CHECK_OPTIONS_DEFAULT;
    options.row.tokens = MX_TOKENS_CHARS;
    options.workers = workers;
    assert_int_equal(mx_doctor_meter_create(&meter), 0);
    assert_null(mx_doctor_meter_sounds(meter));
    options.listener = mx_doctor_meter_listener(meter);
    assert_int_equal(mx_check_run(folder, &options, &report), 0);
    assert_int_equal(report.manifest->utterance_count, ROWS);
    memcpy(out, mx_doctor_meter_sounds(meter), ROWS * sizeof *out);
    mx_check_release(&report);
    mx_doctor_meter_destroy(meter);
}

static void test_workers(void **state)
{
    char *const folder = folder_make(), path[4096], text[ROWS * 80];
    static struct mx_doctor_sound one[ROWS], many[ROWS];
    size_t used = 0;
    (void)state;
    folder_add(folder, "wavs");
    for (uint32_t i = 0; i < ROWS; i++) {
        struct babble babble = babble_make(i, RATE);
        SF_INFO info = {.samplerate = RATE, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
        snprintf(path, sizeof path, "%s/wavs/r%02u.wav", folder, i);
        if (i == 5) babble.count = 1000; /* too short, so the check refuses it */
        SNDFILE *const file = sf_open(path, SFM_WRITE, &info);
        assert_non_null(file);
        assert_int_equal(sf_writef_float(file, babble.samples, (sf_count_t)babble.count), babble.count);
        sf_close(file);
        babble_release(&babble);
        used += (size_t)snprintf(text + used, sizeof text - used, "r%02u|Nobody can say what is babbled here.\n", i);
    }
    file_put_text(folder, "metadata.csv", text);
    sounds_take(folder, 1, one);
    sounds_take(folder, 5, many);
    assert_memory_equal(one, many, sizeof one);
    assert_true(one[5].seconds == 0 && one[4].seconds > 0);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}
