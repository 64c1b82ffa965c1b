/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page of a run and what it is made of: run.json, series of long and damaged metrics, pictures and sounds, texts
 * that try to be HTML, and the pictures of an utterance. Browsers look at the page in `make test-browser`.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "corpus/reject.h"
#include "myxtts/error.h"
#include "observe/json.h"
#include "observe/page/page.h"
#include "observe/pictures.h"
#include "observe/run.h"

static char folder[] = "/tmp/myxtts-page-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* A folder below the test's own. */
static char *folder_make(const char *name)
{
    char *const path = mx_format("%s/%s", folder, name);
    assert_non_null(path);
    assert_int_equal(mkdir(path, 0777), 0);
    return path;
}

static void file_put(const char *run, const char *name, const void *data, size_t bytes)
{
    char *const path = mx_format("%s/%s", run, name);
    assert_int_equal(mx_file_write_atomic(path, data, bytes), 0);
    mx_free(path);
}

/* ---- run.json ---- */

static struct mx_run a_run(void)
{
    static const struct mx_model_size size = {"tiny", 192, 2, 4, 4, 768};
    static uint32_t left_out[MX_REJECT_COUNT];
    static const struct mx_run_sample samples[] = {{"row-1", "He said \"</script><b>\" & left."}, {"row-2", "سلام"}};
    static const struct mx_span spans[] = {{MX_STAGE_LOAD, 1, 7, 5000000, 9000000, 1000000, 3000000},
                                           {MX_STAGE_TRAIN, 0, 7, 10000000, 30000000, 20000000, 0}};
    static const struct mx_advice advice[] = {{MX_ADVICE_LOAD, MX_CAUSE_DATA, false, 0.34, "loading is 34 %",
                                               "4 load workers → 7", "بارگذاری ۳۴٪ است", "`--num-workers 7`"}};
    left_out[MX_REJECT_TOO_SHORT] = 3;
    struct mx_run run = {.state = MX_RUN_INTERRUPTED,
                         .started = 1700000000,
                         .first_step = 100,
                         .step = 250,
                         .steps = 800,
                         .folder = "/data/my runs/it's",
                         .size = &size,
                         .parameters = 7000000,
                         .batch_size = 16,
                         .grad_accum = 2,
                         .seed = 1,
                         .level = "enhanced",
                         .learning_rate = 1e-3,
                         .corpus = "/data/corpus",
                         .training = 90,
                         .validation = 10,
                         .speakers = 2,
                         .symbols = 52,
                         .seconds = 3600,
                         .left_out = left_out,
                         .mode = "Multi-GPU Mode",
                         .fallback = "",
                         .overlap = true,
                         .devices = {{.name = "cpu:0", .logical = "GPU:0", .description = "one"},
                                     {.name = "cpu:1", .logical = "GPU:1", .description = "two"}},
                         .device_count = 2,
                         .has_flow = true,
                         .workers = 3,
                         .advice = advice,
                         .advice_count = 1,
                         .has_best = true,
                         .best_step = 200,
                         .best_mel_db = 5.5,
                         .samples = samples,
                         .sample_count = 2,
                         .spans = spans,
                         .span_count = 2};
    run.flow.wall_ns = 1000;
    run.flow.model_busy_ns = 950;
    run.flow.data_busy_ns = 500;
    run.flow.transfer_ns = 100;
    run.flow.transfer_hidden_ns = 75;
    mx_tally_add(&run.flow.step_ns, 2e6);
    run.devices[1].memory.limit_bytes = 1000;
    run.devices[1].memory.current_bytes = 600;
    run.devices[1].memory.owner_count = 2;
    run.devices[1].memory.owners[0] = (struct mx_budget_owner){.name = "parameters", .current_bytes = 600};
    run.devices[1].memory.owners[1] = (struct mx_budget_owner){.name = "slots", .current_bytes = 50, .host = true};
    return run;
}

static const cJSON *at(const cJSON *tree, const char *path)
{
    char word[64];
    while (*path != '\0') {
        const size_t bytes = strcspn(path, "/");
        snprintf(word, sizeof word, "%.*s", (int)bytes, path);
        tree =
            cJSON_IsArray(tree) ? cJSON_GetArrayItem(tree, atoi(word)) : cJSON_GetObjectItemCaseSensitive(tree, word);
        if (tree == NULL) fail_msg("'%s' is missing", path);
        path += bytes + (path[bytes] == '/');
    }
    return tree;
}

static double number_at(const cJSON *tree, const char *path)
{
    const cJSON *const item = at(tree, path);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static const char *text_at(const cJSON *tree, const char *path)
{
    const cJSON *const item = at(tree, path);
    assert_true(cJSON_IsString(item));
    return item->valuestring;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-5 * fmax(1, fabs(want)))) fail_msg("%g instead of %g", got, want);
}

static void run_json(void **state)
{
    (void)state;
    struct mx_string text = {0};
    const struct mx_run run = a_run();
    assert_int_equal(mx_run_text(&run, &text), 0);
    cJSON *const tree = cJSON_ParseWithLength(text.data, text.length);
    assert_non_null(tree);
    assert_string_equal(text_at(tree, "state"), "interrupted");
    assert_string_equal(text_at(tree, "resume"), "myxtts train --resume '/data/my runs/it'\\''s'");
    near(number_at(tree, "corpus/left_out/too-short"), 3);
    assert_int_equal(cJSON_GetArraySize(at(tree, "corpus/left_out")), 1);
    assert_string_equal(text_at(tree, "devices/0/role"), "data");
    assert_string_equal(text_at(tree, "devices/1/role"), "model");
    near(number_at(tree, "devices/1/owners/parameters"), 600);
    assert_int_equal(cJSON_GetArraySize(at(tree, "devices/1/owners")), 1); /* memory of the host is not the device's */
    near(number_at(tree, "flow/model_busy"), 0.95);
    near(number_at(tree, "flow/transfer_overlap"), 0.75);
    assert_null(cJSON_GetObjectItemCaseSensitive(at(tree, "flow"),
                                                 "transfer_hidden")); /* a share of all time, in the metrics */
    near(number_at(tree, "flow/step_ms/mean"), 2);
    assert_string_equal(text_at(tree, "advice/0/remedy"), "4 load workers → 7");
    assert_string_equal(text_at(tree, "advice/0/finding_fa"), "بارگذاری ۳۴٪ است");
    assert_string_equal(text_at(tree, "advice/0/remedy_fa"), "`--num-workers 7`");
    assert_string_equal(text_at(tree, "samples/0/text"), "He said \"</script><b>\" & left.");
    assert_string_equal(text_at(tree, "samples/1/text"), "سلام");
    assert_int_equal(number_at(tree, "spans/1/3"), 5000); /* from the first one on, in microseconds */
    assert_null(strstr(text.data, "</"));
    cJSON_Delete(tree);
    mx_string_release(&text);
}

static void words_of_a_shell(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"/plain/run-1", "/plain/run-1"}, {"", "''"},
                                           {"two words", "'two words'"},     {"a'b", "'a'\\''b'"},
                                           {"$(reboot)", "'$(reboot)'"},     {"~", "'~'"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mx_string text = {0};
        mx_run_quote(&text, cases[i][0]);
        assert_string_equal(text.data, cases[i][1]);
        mx_string_release(&text);
    }
}

static void json_is_always_json(void **state)
{
    (void)state;
    struct mx_string text = {0};
    mx_string_append(&text, "{");
    mx_json_string(&text, "a", "tab\t \"quote\" \\ \x01 <i>&amp; \xC3\xA9 \xFF\xC3 end");
    mx_json_number(&text, "b", NAN);
    mx_json_number(&text, "c", -1.5e-7);
    mx_json_string(&text, "d", NULL);
    mx_json_data(&text, "e", "x/y", "abcd", 4);
    mx_json_raw(&text, "f", "[\"</script>\"]", 13);
    mx_json_end(&text, '}');
    cJSON *const tree = cJSON_Parse(text.data);
    assert_non_null(tree);
    assert_string_equal(text_at(tree, "a"), "tab\t \"quote\" \\ \x01 <i>&amp; \xC3\xA9 \xEF\xBF\xBD\xEF\xBF\xBD end");
    assert_true(cJSON_IsNull(at(tree, "b")));
    near(number_at(tree, "c") * 1e7, -1.5);
    assert_string_equal(text_at(tree, "e"), "data:x/y;base64,YWJjZA==");
    assert_string_equal(text_at(tree, "f/0"), "</script>");
    assert_null(strchr(text.data, '<'));
    cJSON_Delete(tree);
    mx_string_release(&text);
}

/* ---- pages ---- */

struct page {
    struct mx_string text;
    cJSON *data;
};

static struct page page_of(const char *run, enum mx_words language)
{
    struct page page = {0};
    static const char begin[] = "<script type=\"application/json\" id=\"run\">";
    assert_int_equal(mx_page_write(&(struct mx_page_options){.run = run, .language = language}, &page.text), 0);
    const char *const from = strstr(page.text.data, begin);
    assert_non_null(from);
    const char *const to = strstr(from, "</script>");
    assert_non_null(to);
    page.data = cJSON_ParseWithLength(from + sizeof begin - 1, (size_t)(to - from) - sizeof begin + 1);
    assert_non_null(page.data);
    return page;
}

static void page_release(struct page *page)
{
    cJSON_Delete(page->data);
    mx_string_release(&page->text);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word)) count++;
    return count;
}

/* A line of metrics as training writes it. */
static void step_put(struct mx_string *out, int step, double loss)
{
    mx_string_append(
        out,
        "{\"step\":%d,\"epoch\":%d,\"loss\":%.17g,\"mel\":0.5,\"lr\":0.001,\"grad_norm\":%d.5,"
        "\"utterances\":16,\"left_out\":1,\"skipped\":%s,\"step_ms\":100.5,\"data_busy\":0.25,\"transfer\":"
        "0.125,\"model_bytes\":123456789012,\"time\":%d}\n",
        step, step / 100, loss, step % 7, step % 10 == 0 ? "true" : "false", 1700000000 + step);
}

static void a_whole_run(void **state)
{
    (void)state;
    char *const run = folder_make("<img src=x onerror=alert(1)>");
    struct mx_string metrics = {0};
    struct mx_run facts = a_run();
    char *const json = mx_format("%s/run.json", run);
    for (int step = 1; step <= 20; step++) step_put(&metrics, step, 1.0 / step);
    mx_string_append(&metrics,
                     "{\"step\":20,\"evaluation\":{\"utterances\":4,\"loss\":1.25,\"spoken\":4,\"mel_db\":6.5,"
                     "\"duration_error\":0.1,\"pitch_semitones\":null}}\n");
    file_put(run, "metrics.jsonl", metrics.data, metrics.length);
    assert_int_equal(mx_run_write(&facts, json), 0);
    file_put(run, "config.yaml", "a: </script>\n", 13);
    struct page page = page_of(run, MX_WORDS_PERSIAN);
    assert_string_equal(text_at(page.data, "name"), "<img src=x onerror=alert(1)>");
    assert_string_equal(text_at(page.data, "language"), "fa");
    /* Texts of both languages: the reader may switch. */
    assert_string_equal(text_at(page.data, "words/en/state done"), "done");
    assert_string_not_equal(text_at(page.data, "words/fa/state done"), "done");
    assert_string_equal(text_at(page.data, "config"), "a: </script>\n");
    assert_string_equal(text_at(page.data, "run/samples/0/text"), "He said \"</script><b>\" & left.");
    assert_int_equal(cJSON_GetArraySize(at(page.data, "series/step")), 20);
    near(number_at(page.data, "series/loss/3"), 0.25);
    near(number_at(page.data, "series/skipped/9"), 1);
    near(number_at(page.data, "series/time/19"), 1700000020);
    near(number_at(page.data, "series/model_bytes/0"), 123456789012);
    near(number_at(page.data, "per"), 1);
    near(number_at(page.data, "evaluations/0/step"), 20);
    near(number_at(page.data, "evaluations/0/mel_db"), 6.5);
    assert_true(cJSON_IsNull(at(page.data, "evaluations/0/pitch_semitones")));
    near(number_at(page.data, "damaged"), 0);
    /* Nothing of the run can end its script, and nothing can be loaded. */
    assert_int_equal(count_of(page.text.data, "</script"), 2);
    assert_int_equal(count_of(page.text.data, "<img"), 0);
    assert_int_equal(count_of(page.text.data, "default-src 'none'"), 1);
    assert_int_equal(count_of(page.text.data, "<html lang=\"fa\" dir=\"rtl\">"), 1);
    for (const char *link = page.text.data; (link = strstr(link, "http")) != NULL; link += 4)
        if (strncmp(link, "http-equiv", 10) != 0 && strncmp(link, "http://www.w3.org/2000/svg", 26) != 0)
            fail_msg("the page names an address: %.60s", link);
    page_release(&page);
    struct mx_string live = {0};
    assert_int_equal(mx_page_write(&(struct mx_page_options){.run = run, .live = true}, &live), 0);
    assert_int_equal(count_of(live.data, "<html lang=\"en\" dir=\"ltr\" data-live>"), 1);
    mx_string_release(&live);
    mx_string_release(&metrics);
    mx_free(json);
    mx_free(run);
}

/* A hundred thousand steps and ten thousand evaluations become a page that can be mailed. */
static void a_long_run(void **state)
{
    (void)state;
    enum { STEPS = 100000 };
    char *const run = folder_make("long");
    struct mx_string metrics = {0};
    for (int step = 1; step <= STEPS; step++) {
        step_put(&metrics, step, (double)step);
        if (step % 10 == 0)
            mx_string_append(&metrics, "{\"step\":%d,\"evaluation\":{\"utterances\":4,\"loss\":%d}}\n", step, step);
    }
    file_put(run, "metrics.jsonl", metrics.data, metrics.length);
    struct page page = page_of(run, MX_WORDS_ENGLISH);
    assert_true(page.text.length < (size_t)2 << 20);
    const int points = cJSON_GetArraySize(at(page.data, "series/step"));
    const int per = (int)number_at(page.data, "per");
    assert_true(points <= MX_PAGE_POINTS && points > MX_PAGE_POINTS / 2);
    assert_int_equal((STEPS + per - 1) / per, points);
    char last[64];
    snprintf(last, sizeof last, "series/step/%d", points - 1);
    near(number_at(page.data, last), STEPS);
    near(number_at(page.data, "series/step/0"), per);
    near(number_at(page.data, "series/loss/0"), (per + 1) / 2.0);  /* the mean */
    near(number_at(page.data, "series/grad_norm/1"), 6.5);         /* the highest */
    near(number_at(page.data, "series/utterances/1"), 16.0 * per); /* the sum */
    const int evaluations = cJSON_GetArraySize(at(page.data, "evaluations"));
    assert_true(evaluations <= 400 && evaluations > 200);
    snprintf(last, sizeof last, "evaluations/%d/step", evaluations - 1);
    near(number_at(page.data, last), STEPS);
    page_release(&page);
    mx_string_release(&metrics);
    mx_free(run);
}

/* What a crash, a full disk or an editor leaves: whatever can be read is shown, the rest is counted. */
static void a_damaged_run(void **state)
{
    (void)state;
    char *const run = folder_make("damaged");
    static const char metrics[] = "{\"step\":1,\"loss\":2,\"leak\":\"<b>slots\",\"leak_bytes\":4096}\n"
                                  "garbage\n"
                                  "{\"step\":2,\"loss\":}\n"
                                  "{\"step\":null,\"loss\":3}\n"
                                  "{\"loss\":3}\n"
                                  "\n"
                                  "{\"step\":3,\"loss\":null,\"new\":\"from \\\"later\\\" versions\",\"mel\":4}\n"
                                  "{\"step\":4,\"evaluation\":{\"loss\":1,\"<script>\":2}}\n"
                                  "{\"step\":5,\"lo";
    file_put(run, "metrics.jsonl", metrics, sizeof metrics - 1);
    file_put(run, "run.json", "{\"state\":\"tra", 13);
    struct page page = page_of(run, MX_WORDS_ENGLISH);
    assert_int_equal(cJSON_GetArraySize(at(page.data, "series/step")), 2);
    near(number_at(page.data, "series/step/1"), 3);
    assert_true(cJSON_IsNull(at(page.data, "series/loss/1")));
    near(number_at(page.data, "series/mel/1"), 4);
    near(number_at(page.data, "damaged"), 6);
    assert_true(cJSON_IsNull(at(page.data, "run")));
    assert_int_equal(cJSON_GetArraySize(at(page.data, "evaluations")), 1);
    assert_int_equal(cJSON_GetArraySize(at(page.data, "evaluations/0")), 2);
    assert_string_equal(text_at(page.data, "leaks/0/owner"), "<b>slots");
    assert_int_equal(count_of(page.text.data, "<b>"), 0);
    page_release(&page);
    mx_free(run);
}

static void no_run(void **state)
{
    (void)state;
    struct mx_string text = {0};
    char *const run = folder_make("empty");
    assert_int_equal(mx_page_write(&(struct mx_page_options){.run = run}, &text), MX_ERR_NOT_FOUND);
    assert_non_null(strstr(mx_error_last()->hint, "myxtts train"));
    mx_error_clear();
    mx_string_release(&text);
    mx_free(run);
}

/* Of many evaluations the first, the newest and some between can be seen and heard. */
static void pictures_and_sounds(void **state)
{
    (void)state;
    char *const run = folder_make("media"), name[128];
    char command[256];
    file_put(run, "metrics.jsonl", "", 0);
    for (int step = 500; step <= 5000; step += 500) {
        snprintf(command, sizeof command, "mkdir -p '%s/samples/step-%08d'", run, step);
        assert_int_equal(system(command), 0);
        snprintf(name, sizeof name, "samples/step-%08d/000.wav", step);
        file_put(run, name, "WAV", 3);
        snprintf(name, sizeof name, "samples/step-%08d/prediction.png", step);
        if (step <= 4500) file_put(run, name, "PNG", 3);
    }
    snprintf(command, sizeof command, "mkdir -p '%s/samples/recorded' '%s/samples/step-x'", run, run);
    assert_int_equal(system(command), 0);
    file_put(run, "samples/recorded/000.wav", "REC", 3);
    struct page page = page_of(run, MX_WORDS_ENGLISH);
    assert_int_equal(cJSON_GetArraySize(at(page.data, "sounds")), 3);
    near(number_at(page.data, "sounds/0/step"), 500);
    near(number_at(page.data, "sounds/2/step"), 5000);
    assert_string_equal(text_at(page.data, "sounds/2/audio"), "data:audio/wav;base64,V0FW");
    assert_int_equal(cJSON_GetArraySize(at(page.data, "pictures")), 4);
    near(number_at(page.data, "pictures/0/step"), 500);
    near(number_at(page.data, "pictures/3/step"), 4500);
    assert_string_equal(text_at(page.data, "pictures/3/prediction"), "data:image/png;base64,UE5H");
    assert_true(cJSON_IsNull(at(page.data, "pictures/3/target")));
    assert_string_equal(text_at(page.data, "recordings/0/audio"), "data:audio/wav;base64,UkVD");
    page_release(&page);
    mx_free(run);
}

/* Whichever allocation fails: a failure or a whole page, never half of one that says it is whole. */
static void memory_may_be_out(void **state)
{
    (void)state;
    char *const run = mx_format("%s/media", folder);
    int failed = 0;
    for (uint64_t nth = 1; nth < 400; nth++) {
        struct mx_string text = {0};
        mx_alloc_fail_at(nth);
        const int rc = mx_page_write(&(struct mx_page_options){.run = run}, &text);
        mx_alloc_fail_at(0);
        if (rc < 0) {
            failed++;
            assert_int_equal(rc, MX_ERR_NO_MEMORY);
        } else {
            assert_int_equal(count_of(text.data, "data:audio/wav;base64,V0FW"), 3);
            assert_int_equal(count_of(text.data, "</html>"), 1);
        }
        mx_string_release(&text);
        mx_error_clear();
    }
    assert_true(failed > 5);
    mx_free(run);
}

/* ---- the pictures of an utterance ---- */

static uint8_t *png_load(const char *folder_path, const char *name, int *width, int *height)
{
    char *const path = mx_format("%s/%s.png", folder_path, name);
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_int_not_equal(png_image_begin_read_from_file(&image, path), 0);
    image.format = PNG_FORMAT_RGB;
    uint8_t *const pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_int_not_equal(png_image_finish_read(&image, NULL, pixels, 0, NULL), 0);
    *width = (int)image.width;
    *height = (int)image.height;
    mx_free(path);
    return pixels;
}

static uint32_t pixel(const uint8_t *pixels, int width, int x, int y)
{
    const uint8_t *const p = pixels + 3 * (y * width + x);
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static void pictures_of_an_utterance(void **state)
{
    (void)state;
    enum { FRAMES = 30, TOKENS = 3, BANDS = 80 };
    static float target[FRAMES * BANDS], prediction[FRAMES * BANDS], means[TOKENS * BANDS];
    static const int32_t durations[TOKENS] = {5, 15, 10};
    char *const to = folder_make("pictures");
    int width, height;
    for (int i = 0; i < FRAMES * BANDS; i++) {
        target[i] = -9;
        prediction[i] = i < FRAMES * BANDS / 2 ? -9 : 2; /* right in the first half, as wrong as can be in the second */
    }
    const struct mx_trainer_picture picture = {.frames = FRAMES,
                                               .tokens = TOKENS,
                                               .bands = BANDS,
                                               .target = target,
                                               .prediction = prediction,
                                               .means = means,
                                               .durations = durations};
    assert_int_equal(mx_pictures_write(&picture, to), 0);
    uint8_t *pixels = png_load(to, "target", &width, &height);
    assert_int_equal(width, 60);
    assert_int_equal(height, 240);
    assert_int_equal(pixel(pixels, width, 0, 0), 0x000C2F);
    free(pixels);
    pixels = png_load(to, "difference", &width, &height);
    assert_int_equal(pixel(pixels, width, 2, 100), 0x000C2F);
    assert_int_equal(pixel(pixels, width, 58, 100), 0xFFF3CF);
    free(pixels);
    /* The path climbs: the first token at the bottom on the left, the last one at the top on the right. */
    pixels = png_load(to, "alignment", &width, &height);
    assert_int_equal(height % TOKENS, 0);
    assert_int_equal(pixel(pixels, width, 0, height - 1), 0x3DDC97);
    assert_int_equal(pixel(pixels, width, 9, height - 1), 0x3DDC97);
    assert_int_not_equal(pixel(pixels, width, 10, height - 1), 0x3DDC97);
    assert_int_equal(pixel(pixels, width, 10, height / 2), 0x3DDC97);
    assert_int_equal(pixel(pixels, width, width - 1, 0), 0x3DDC97);
    assert_int_not_equal(pixel(pixels, width, 0, 0), 0x3DDC97);
    free(pixels);
    assert_int_equal(mx_pictures_write(&(struct mx_trainer_picture){0}, "/nonexistent"), 0);
    mx_free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_json),
        cmocka_unit_test(words_of_a_shell),
        cmocka_unit_test(json_is_always_json),
        cmocka_unit_test(a_whole_run),
        cmocka_unit_test(a_long_run),
        cmocka_unit_test(a_damaged_run),
        cmocka_unit_test(no_run),
        cmocka_unit_test(pictures_and_sounds),
        cmocka_unit_test(memory_may_be_out),
        cmocka_unit_test(pictures_of_an_utterance),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
