/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * TensorBoard's event files: the checksum, records byte by byte, files read back by a parser of their own, what a
 * resumed run says, and a disk that is full. The real TensorBoard reads them in `make test-tensorboard`.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "observe/tfevents.h"

/* ---- the checksum ---- */

static void crc_of_rfc_3720(void **state)
{
    (void)state;
    uint8_t data[48];
    /* Appendix B.4 of the RFC. */
    memset(data, 0, 32);
    assert_int_equal(mx_tfevent_crc(data, 32), 0x8A9136AA);
    memset(data, 0xFF, 32);
    assert_int_equal(mx_tfevent_crc(data, 32), 0x62A8AB43);
    for (int i = 0; i < 32; i++) data[i] = (uint8_t)i;
    assert_int_equal(mx_tfevent_crc(data, 32), 0x46DD794E);
    for (int i = 0; i < 32; i++) data[i] = (uint8_t)(31 - i);
    assert_int_equal(mx_tfevent_crc(data, 32), 0x113FDB5C);
    static const uint8_t command[48] = {
        0x01, 0xC0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, 0x28, [40] = 0x02};
    assert_int_equal(mx_tfevent_crc(command, sizeof command), 0xD9963A56);
    assert_int_equal(mx_tfevent_crc("", 0), 0);
    assert_int_equal(mx_tfevent_crc("123456789", 9), 0xE3069283);
}

/* ---- golden ---- */

static void records_byte_by_byte(void **state)
{
    (void)state;
    struct mx_protobuf bytes = {0};
    mx_tfevent_version(&bytes, 1.0);
    static const uint8_t version[] = {
        24,   0,    0,    0,    0,   0,   0,   0,                                        /* length */
        0xA3, 0x7F, 0x4B, 0x22,                                                          /* masked CRC of it */
        0x09, 0,    0,    0,    0,   0,   0,   0xF0, 0x3F,                               /* 1: wall_time 1.0 */
        0x1A, 13,   'b',  'r',  'a', 'i', 'n', '.',  'E',  'v', 'e', 'n', 't', ':', '2', /* 3: file_version */
    };
    assert_int_equal(bytes.length, sizeof version + 4);
    assert_memory_equal(bytes.data, version, sizeof version);
    bytes.length = 0;
    const struct mx_tfevent_scalar scalars[] = {{"a", 0.5}, {"left out", NAN}, {"bc", -2}};
    mx_tfevent_scalars(&bytes, 2.0, 300, scalars, 3);
    static const uint8_t event[] = {
        0x09, 0,    0,    0, 0,   0,    0,    0, 0x40,             /* wall_time 2.0 */
        0x10, 0xAC, 0x02,                                          /* 2: step 300 */
        0x2A, 21,                                                  /* 5: summary */
        0x0A, 8,    0x0A, 1, 'a', 0x15, 0,    0, 0,    0x3F,       /* 1: value {1: tag, 2: simple_value 0.5} */
        0x0A, 9,    0x0A, 2, 'b', 'c',  0x15, 0, 0,    0,    0xC0, /* the same: -2 */
    };
    assert_int_equal(bytes.length, 12 + sizeof event + 4);
    assert_memory_equal(bytes.data + 12, event, sizeof event);
    mx_protobuf_release(&bytes);
}

/* ---- a parser ---- */

struct field {
    unsigned number, wire;
    uint64_t value;      /* of wire types 0, 1 and 5 */
    const uint8_t *data; /* of type 2 */
    size_t bytes;
};

static uint64_t little(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        assert_true(*at < end);
        const uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    fail_msg("a varint of more than ten bytes");
    return 0;
}

static bool field_next(const uint8_t **at, const uint8_t *end, struct field *out)
{
    if (*at == end) return false;
    const uint64_t key = varint(at, end);
    *out = (struct field){.number = (unsigned)(key >> 3), .wire = (unsigned)(key & 7)};
    if (out->wire == 0) {
        out->value = varint(at, end);
    } else if (out->wire == 2) {
        out->bytes = varint(at, end);
        out->data = *at;
        assert_true(out->bytes <= (size_t)(end - *at));
        *at += out->bytes;
    } else {
        const int bytes = out->wire == 1 ? 8 : 4;
        assert_true(out->wire == 1 || out->wire == 5);
        assert_true(end - *at >= bytes);
        out->value = little(*at, bytes);
        *at += bytes;
    }
    return true;
}

static double as_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double as_float(uint64_t bits)
{
    const uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return (double)value;
}

/* The field `number` of a message; it must be there. */
static struct field field_find(const uint8_t *data, size_t bytes, unsigned number)
{
    const uint8_t *at = data;
    struct field field;
    while (field_next(&at, data + bytes, &field))
        if (field.number == number) return field;
    fail_msg("field %u is missing", number);
    return field;
}

struct event {
    double time;
    int64_t step;
    struct field version, summary, session;
};

static uint32_t masked(const uint8_t *data, size_t bytes)
{
    const uint32_t crc = mx_tfevent_crc(data, bytes);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/* Takes the next record of a file; false at its end. Everything that can be wrong with it fails the test. */
static bool event_next(const uint8_t **at, const uint8_t *end, struct event *out)
{
    struct field field;
    *out = (struct event){0};
    if (*at == end) return false;
    assert_true(end - *at >= 16);
    const uint64_t bytes = little(*at, 8);
    assert_true(bytes <= (uint64_t)(end - *at) - 16);
    assert_int_equal(little(*at + 8, 4), masked(*at, 8));
    const uint8_t *data = *at + 12, *const data_end = data + bytes;
    assert_int_equal(little(data_end, 4), masked(data, bytes));
    *at = data_end + 4;
    while (field_next(&data, data_end, &field)) {
        if (field.number == 1) out->time = as_double(field.value);
        if (field.number == 2) out->step = (int64_t)field.value;
        if (field.number == 3) out->version = field;
        if (field.number == 5) out->summary = field;
        if (field.number == 7) out->session = field;
    }
    return true;
}

/* ---- files ---- */

static char folder[] = "/tmp/myxtts-events-XXXXXX", *tensorboard;

static int setup(void **state)
{
    (void)state;
    tensorboard = mkdtemp(folder) == NULL ? NULL : mx_format("%s/tensorboard", folder);
    return tensorboard == NULL;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    mx_free(tensorboard);
    return system(command);
}

static char *file_of(struct mx_tfevents *events)
{
    return mx_strdup(mx_tfevents_path(events));
}

static uint8_t *file_load(const char *path, size_t *bytes)
{
    char *data;
    assert_int_equal(mx_file_read(path, (size_t)1 << 30, &data, bytes), 0);
    return (uint8_t *)data;
}

static void bytes_write(const char *path, const void *data, size_t bytes)
{
    assert_int_equal(mx_file_write_atomic(path, data, bytes), 0);
}

static void a_file_is_read_back(void **state)
{
    (void)state;
    struct mx_tfevents *events;
    struct event event;
    size_t bytes;
    char *const png = mx_format("%s/a.png", folder), *const wav = mx_format("%s/a.wav", folder);
    uint8_t picture[64] = {137, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0, 13,
                           'I', 'H', 'D', 'R', 0,  0,  1,  44, 0, 0, 0, 80};
    uint8_t sound[44 + 600] = {'R', 'I', 'F', 'F', [24] = 0x22, 0x56, [32] = 2};
    bytes_write(png, picture, sizeof picture);
    bytes_write(wav, sound, sizeof sound);
    assert_int_equal(mx_tfevents_open(tensorboard, 0, 0, &events), 0);
    char *const path = file_of(events);
    for (int64_t step = 1; step <= 3000; step++) {
        const struct mx_tfevent_scalar scalars[] = {{"loss/total", 10.0 / (double)step}, {"speed/step_ms", 100}};
        mx_tfevents_scalars(events, step, scalars, 2);
    }
    mx_tfevents_png(events, 3000, "mel/target", png);
    mx_tfevents_wav(events, 3000, "spoken/000", wav);
    mx_tfevents_png(events, 3000, "missing", "/nonexistent/a.png"); /* passed over */
    mx_tfevents_text(events, 3000, "config", "training:\n  steps: 3000\n");
    mx_tfevents_close(events);

    uint8_t *const data = file_load(path, &bytes);
    const uint8_t *at = data, *const end = data + bytes;
    assert_true(event_next(&at, end, &event));
    assert_int_equal(event.version.bytes, 13);
    assert_memory_equal(event.version.data, "brain.Event:2", 13);
    assert_true(event_next(&at, end, &event)); /* the start: nothing from step 1 on counts any more */
    assert_int_equal(event.step, 1);
    assert_int_equal(field_find(event.session.data, event.session.bytes, 1).value, 1);
    for (int64_t step = 1; step <= 3000; step++) {
        assert_true(event_next(&at, end, &event));
        assert_int_equal(event.step, step);
        assert_true(event.time > 1.6e9);
        const struct field value = field_find(event.summary.data, event.summary.bytes, 1);
        const struct field tag = field_find(value.data, value.bytes, 1);
        assert_int_equal(tag.bytes, 10);
        assert_memory_equal(tag.data, "loss/total", 10);
        assert_true(as_float(field_find(value.data, value.bytes, 2).value) == (double)(float)(10.0 / (double)step));
    }
    assert_true(event_next(&at, end, &event));
    struct field value = field_find(event.summary.data, event.summary.bytes, 1);
    const struct field image = field_find(value.data, value.bytes, 4);
    assert_int_equal(field_find(image.data, image.bytes, 1).value, 80);
    assert_int_equal(field_find(image.data, image.bytes, 2).value, 300);
    assert_int_equal(field_find(image.data, image.bytes, 3).value, 3);
    assert_int_equal(field_find(image.data, image.bytes, 4).bytes, sizeof picture);
    assert_memory_equal(field_find(image.data, image.bytes, 4).data, picture, sizeof picture);
    assert_true(event_next(&at, end, &event));
    value = field_find(event.summary.data, event.summary.bytes, 1);
    const struct field audio = field_find(value.data, value.bytes, 6);
    assert_true(as_float(field_find(audio.data, audio.bytes, 1).value) == 22050);
    assert_int_equal(field_find(audio.data, audio.bytes, 2).value, 1);
    assert_int_equal(field_find(audio.data, audio.bytes, 3).value, 300);
    assert_memory_equal(field_find(audio.data, audio.bytes, 4).data, sound, sizeof sound);
    assert_memory_equal(field_find(audio.data, audio.bytes, 5).data, "audio/wav", 9);
    assert_true(event_next(&at, end, &event));
    value = field_find(event.summary.data, event.summary.bytes, 1);
    const struct field tensor = field_find(value.data, value.bytes, 8), meta = field_find(value.data, value.bytes, 9);
    assert_int_equal(field_find(tensor.data, tensor.bytes, 1).value, 7);
    assert_memory_equal(field_find(tensor.data, tensor.bytes, 8).data, "training:\n  steps: 3000\n", 24);
    const struct field plugin = field_find(meta.data, meta.bytes, 1);
    assert_memory_equal(field_find(plugin.data, plugin.bytes, 1).data, "text", 4);
    assert_int_equal(field_find(meta.data, meta.bytes, 4).value, 2);
    assert_false(event_next(&at, end, &event));
    mx_free(data);
    mx_free(path);
    mx_free(png);
    mx_free(wav);
}

/* Each start has a file of its own, later ones by name, that says from where on it counts. */
static void starts_have_files_of_their_own(void **state)
{
    (void)state;
    struct mx_tfevents *events;
    struct event event;
    char *paths[3];
    size_t bytes;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mx_tfevents_open(tensorboard, 500, 0, &events), 0);
        paths[i] = file_of(events);
        mx_tfevents_close(events);
        if (i > 0) assert_true(strcmp(paths[i - 1], paths[i]) < 0);
    }
    uint8_t *const data = file_load(paths[2], &bytes);
    const uint8_t *at = data;
    assert_true(event_next(&at, data + bytes, &event));
    assert_true(event_next(&at, data + bytes, &event));
    assert_int_equal(event.step, 501);
    mx_free(data);
    for (int i = 0; i < 3; i++) mx_free(paths[i]);
}

/* Bytes of all files in the folder of events, and how many there are. */
static uint64_t folder_bytes(int *count)
{
    uint64_t sum = 0;
    struct stat status;
    DIR *const list = opendir(tensorboard);
    assert_non_null(list);
    *count = 0;
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (strncmp(entry->d_name, "events.", 7) != 0) continue;
        assert_int_equal(fstatat(dirfd(list), entry->d_name, &status, 0), 0);
        sum += (uint64_t)status.st_size;
        ++*count;
    }
    closedir(list);
    return sum;
}

/* With a limit the oldest files go, of this start and of earlier ones; the newest events stay, whole. */
static void a_limit_holds(void **state)
{
    (void)state;
    enum { LIMIT = 64 << 10, STEPS = 4000 };
    struct mx_tfevents *events;
    struct event event;
    const struct mx_tfevent_scalar scalar = {"loss/total", 1};
    int count;
    size_t bytes;
    char *const mine = mx_format("%s/notes.txt", tensorboard);
    assert_int_equal(mx_tfevents_open(tensorboard, 0, 0, &events), 0); /* an earlier start, without a limit */
    char *const first = file_of(events);
    for (int64_t step = 1; step <= STEPS; step++) mx_tfevents_scalars(events, step, &scalar, 1);
    mx_tfevents_close(events);
    bytes_write(mine, "mine", 4);
    assert_true(folder_bytes(&count) > LIMIT);
    assert_int_equal(mx_tfevents_open(tensorboard, STEPS, LIMIT, &events), 0);
    assert_int_not_equal(access(first, F_OK), 0);
    for (int64_t step = STEPS + 1; step <= 2 * STEPS; step++) {
        mx_tfevents_scalars(events, step, &scalar, 1);
        if (step % 100 == 0) mx_tfevents_flush(events);
        assert_true(folder_bytes(&count) <= LIMIT);
    }
    assert_true(count > 2 && count < 8);
    mx_tfevents_flush(events); /* another file may begin here */
    mx_tfevents_scalars(events, 2 * STEPS + 1, &scalar, 1);
    mx_tfevents_flush(events);
    char *const last = file_of(events);
    mx_tfevents_close(events);
    uint8_t *const data = file_load(last, &bytes);
    const uint8_t *at = data;
    int64_t step = 0;
    while (event_next(&at, data + bytes, &event)) step = event.step > step ? event.step : step;
    assert_true(at == data + bytes);
    assert_int_equal(step, 2 * STEPS + 1);
    assert_int_equal(access(mine, F_OK), 0);
    mx_free(data);
    mx_free(first);
    mx_free(last);
    mx_free(mine);
}

static void a_folder_that_cannot_be_made_is_refused(void **state)
{
    (void)state;
    struct mx_tfevents *events;
    char *const file = mx_format("%s/file", folder), *const below = mx_format("%s/file/tensorboard", folder);
    bytes_write(file, "x", 1);
    assert_int_equal(mx_tfevents_open(below, 0, 0, &events), MX_ERR_IO);
    assert_null(events);
    assert_non_null(strstr(mx_error_last()->hint, "--tensorboard off"));
    mx_error_clear();
    mx_free(file);
    mx_free(below);
}

/* What does not fit on the disk is a warning, once; what is in the file stays readable, and when there is room again it
 * goes on. */
static void a_full_disk_is_a_warning(void **state)
{
    (void)state;
    struct mx_tfevents *events;
    struct event event;
    struct rlimit before, small;
    const struct mx_tfevent_scalar scalar = {"loss/total", 1};
    char *text = NULL;
    size_t length, bytes;
    FILE *const sink = open_memstream(&text, &length);
    assert_int_equal(mx_log_configure(&(struct mx_log_options){.stream = sink, .level = MX_LOG_WARN}), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(mx_tfevents_open(tensorboard, 0, 0, &events), 0);
    char *const path = file_of(events);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 300;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int64_t step = 1; step <= 50; step++) {
        mx_tfevents_scalars(events, step, &scalar, 1);
        if (step % 10 == 0) mx_tfevents_flush(events);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    mx_tfevents_scalars(events, 51, &scalar, 1);
    mx_tfevents_close(events);
    assert_int_equal(mx_log_configure(NULL), 0);
    fclose(sink);
    const char *const warning = strstr(text, "TensorBoard will not see all of this run");
    assert_non_null(warning);
    assert_null(strstr(warning + 1, "TensorBoard will not see"));
    free(text);

    uint8_t *const data = file_load(path, &bytes);
    const uint8_t *at = data;
    int64_t last = 0, count = 0;
    while (event_next(&at, data + bytes, &event)) {
        last = event.step;
        count++;
    }
    assert_int_equal(last, 51);
    assert_true(count < 50);
    mx_free(data);
    mx_free(path);
}

/* Whichever allocation fails, a file holds whole records and nothing crashes. */
static void memory_may_be_out(void **state)
{
    (void)state;
    struct mx_protobuf bytes = {0};
    struct event event;
    static const char large[200000];
    const struct mx_tfevent_key place = {2, 3, "tag"};
    for (uint64_t nth = 1; nth <= 3; nth++) {
        mx_tfevent_version(&bytes, 1);
        mx_alloc_fail_at(nth);
        mx_tfevent_image(&bytes, &place, 1, 1, large, sizeof large);
        mx_tfevent_text(&bytes, &place, "text");
        mx_alloc_fail_at(0);
        const uint8_t *at = bytes.data;
        while (event_next(&at, bytes.data + bytes.length, &event)) assert_true(event.time > 0);
        if (nth == 1) assert_int_equal(bytes.failure, MX_ERR_NO_MEMORY);
        mx_protobuf_release(&bytes);
        mx_error_clear();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_of_rfc_3720),
        cmocka_unit_test(records_byte_by_byte),
        cmocka_unit_test(a_file_is_read_back),
        cmocka_unit_test(starts_have_files_of_their_own),
        cmocka_unit_test(a_limit_holds),
        cmocka_unit_test(a_folder_that_cannot_be_made_is_refused),
        cmocka_unit_test(a_full_disk_is_a_warning),
        cmocka_unit_test(memory_may_be_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
