/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The HTTP server through its own door: its answers, and its errors. The service is http/service.c.
 */
#include <setjmp.h>
#include <sndfile.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "http/client.h"
#include "http/service.h"
#include "myxtts/voice.h"
#include "serve/http.h"
#include "serve/service.h"
#include "speech/encode.h"

/* Decodes a file; returns the number of samples. */
static size_t decode(const char *bytes, size_t count, short *out, size_t room, int *rate)
{
    char path[] = "/tmp/myxtts-http-XXXXXX";
    SF_INFO info = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    lseek(fd, 0, SEEK_SET);
    SNDFILE *const file = sf_open_fd(fd, SFM_READ, &info, SF_TRUE);
    if (file == NULL) fail_msg("libsndfile cannot read it: %s", sf_strerror(NULL));
    const sf_count_t got = sf_readf_short(file, out, (sf_count_t)room);
    *rate = info.samplerate;
    sf_close(file);
    unlink(path);
    return (size_t)got;
}

static int16_t sample_at(size_t voice, size_t i)
{
    const float x = sound_at(voice, i);
    int16_t out;
    mx_samples_pcm16(&x, 1, &out);
    return out;
}

static void sounds(void **state)
{
    static short back[200000];
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    const char *const text = "Hello there, this is a sentence.";
    const size_t all = strlen(text) * PER_BYTE;
    char body[256];
    int rate;
    (void)state;
    for (int format = 0; format < MX_ENCODE_FORMATS; format++) {
        const char *const name = mx_encode_names[format];
        const bool exact = format <= MX_ENCODE_FLAC;
        snprintf(body, sizeof body,
                 "{\"model\":\"tts-1\",\"voice\":{\"id\":\"beta\"},\"input\":\"%s\",\"response_format\":\"%s\","
                 "\"extra\":[1]%s}",
                 text, name, format == MX_ENCODE_PCM ? ",\"sample_rate\":22050" : "");
        struct answer a = speak(http, body);
        assert_int_equal(a.status, 200);
        assert_true(a.whole);
        assert_non_null(strstr(a.head, "X-Accel-Buffering: no"));
        assert_non_null(
            strstr(a.head, format == MX_ENCODE_PCM ? "Content-Type: audio/pcm;rate=22050" : mx_encode_types[format]));
        size_t got = a.bytes / 2;
        if (format == MX_ENCODE_PCM) {
            memcpy(back, a.body, a.bytes);
            rate = RATE;
        } else {
            got = decode(a.body, a.bytes, back, 200000, &rate);
        }
        assert_int_equal(rate, mx_encode_rate((enum mx_encode_format)format, RATE));
        if (exact) {
            assert_int_equal(got, all);
            for (size_t i = 0; i < all; i++) assert_int_equal(back[i], sample_at(1, i));
        } else {
            const size_t wanted = all * (size_t)rate / RATE;
            assert_true(got >= wanted && got <= wanted + 3000);
        }
        answer_release(&a);
    }
    /* The usual format and the rate of pcm are those of OpenAI. */
    struct answer a = speak(http, "{\"input\":\"Hello\"}");
    assert_non_null(strstr(a.head, "Content-Type: audio/mpeg"));
    answer_release(&a);
    a = speak(http, "{\"input\":\"Hello\",\"response_format\":\"pcm\"}");
    assert_non_null(strstr(a.head, "Content-Type: audio/pcm;rate=24000"));
    assert_true(llabs((long long)a.bytes / 2 - 5 * PER_BYTE * 24000 / RATE) <= 2);
    answer_release(&a);
    /* Piper: one file with its true length; streamed, it is the same sound. */
    snprintf(body, sizeof body, "{\"text\":\"%s\",\"voice\":\"beta\",\"speaker_id\":1,\"length_scale\":2}", text);
    a = ask(http, "POST", "/synthesize", NULL, body);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.head, "Content-Length: "));
    assert_int_equal(a.bytes, 44 + 4 * all);
    uint32_t bytes;
    memcpy(&bytes, a.body + 40, 4);
    assert_int_equal(bytes, 4 * all);
    memcpy(&bytes, a.body + 4, 4);
    assert_int_equal(bytes, 36 + 4 * all);
    assert_string_equal(last_asked().speaker, "bob");
    struct answer b = ask(http, "POST", "/?voice=beta&speaker=anna&length_scale=2&stream=true&language=fa",
                          "Content-Type: text/plain\r\n", text);
    assert_int_equal(b.status, 200);
    assert_non_null(strstr(b.head, "Transfer-Encoding: chunked"));
    assert_int_equal(b.bytes, a.bytes);
    assert_memory_equal(a.body + 44, b.body + 44, a.bytes - 44);
    assert_string_equal(last_asked().speaker, "anna");
    assert_string_equal(last_asked().language, "fa");
    answer_release(&a);
    answer_release(&b);
    active_wait(0);
    mx_http_close(http);
}

/* Every field reaches the service. */
static void fields(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    (void)state;
    struct answer a =
        speak(http, "{\"input\":\"<s>a</s>\",\"voice\":\"alloy\",\"model\":\"beta\",\"speaker\":\"bob\",\"speed\":2,"
                    "\"language\":\"en-US\",\"pitch\":-3,\"volume\":0.5,\"pause_scale\":2,\"seed\":77,"
                    "\"ssml\":true,\"instructions\":\"whisper\",\"response_format\":null}");
    assert_int_equal(a.status, 200);
    struct mx_service_text last = last_asked().text;
    assert_int_equal(last.voice, 1);
    assert_string_equal(last_asked().speaker, "bob");
    assert_string_equal(last_asked().language, "en");
    assert_true(last.speed == 2 && last.pitch_semitones == -3 && last.volume == 0.5 && last.pause_scale == 2);
    assert_true(last.seed == 77 && last.ssml && !last.streaming);
    answer_release(&a);
    a = speak(http, "{\"input\":\"a\",\"voice\":\"alpha\",\"model\":\"beta\"}"); /* the voice counts, if it is one */
    last = last_asked().text;
    assert_int_equal(last.voice, 0);
    answer_release(&a);
    a = speak(http, "{\"input\":\"a ☃\",\"response_format\":\"pcm\"}");
    assert_non_null(strstr(a.head, "X-Warning: left out: %E2%98%83"));
    answer_release(&a);
    mx_http_close(http);
}

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *const at = strchr(digits, c);
    return c != '\0' && at != NULL ? (int)(at - digits) : -1;
}

static void events(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    char *joined = calloc(1, 1000000), *at;
    size_t used = 0, deltas = 0;
    bool done = false;
    (void)state;
    struct answer a = speak(http, "{\"input\":\"Hello there\",\"response_format\":\"wav\",\"stream_format\":\"sse\"}");
    struct answer plain = speak(http, "{\"input\":\"Hello there\",\"response_format\":\"wav\"}");
    assert_non_null(strstr(a.head, "Content-Type: text/event-stream"));
    assert_true(a.whole);
    for (char *event = strtok_r(a.body, "\n", &at); event != NULL; event = strtok_r(NULL, "\n", &at)) {
        assert_memory_equal(event, "data: ", 6);
        assert_false(done);
        cJSON *const tree = cJSON_Parse(event + 6);
        const char *const type = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "type"));
        if (strcmp(type, "speech.audio.delta") == 0) {
            const char *audio = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "audio"));
            assert_int_equal(strlen(audio) % 4, 0);
            for (; *audio != '\0'; audio += 4) {
                int value = 0, count = 3;
                for (int i = 0; i < 4; i++) {
                    const int digit = base64_value(audio[i]);
                    count -= digit < 0;
                    value = value << 6 | (digit < 0 ? 0 : digit);
                }
                for (int i = 0; i < count; i++) joined[used++] = (char)(value >> (16 - 8 * i) & 0xff);
            }
            deltas++;
        } else {
            const cJSON *const usage = cJSON_GetObjectItem(tree, "usage");
            assert_string_equal(type, "speech.audio.done");
            assert_int_equal(cJSON_GetObjectItem(usage, "input_tokens")->valueint, 11);
            assert_int_equal(cJSON_GetObjectItem(usage, "output_tokens")->valueint, (11 * PER_BYTE + 255) / 256);
            assert_int_equal(cJSON_GetObjectItem(usage, "total_tokens")->valueint, 11 + (11 * PER_BYTE + 255) / 256);
            done = true;
        }
        cJSON_Delete(tree);
    }
    assert_true(done && deltas > 1);
    assert_int_equal(used, plain.bytes);
    assert_memory_equal(joined, plain.body, used);
    answer_release(&a);
    answer_release(&plain);
    free(joined);
    mx_http_close(http);
}

/* An error before the first sound has a status; a later one cuts the body off, or is an event. */
static void failures(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    (void)state;
    struct answer a = speak(http, "{\"input\":\"FAIL AT ONCE\"}");
    assert_null(strstr(a.body, "secret")); /* that is for the log */
    expect_error(a, 500, "synthesis_failed", NULL);
    a = speak(http, "{\"input\":\"FAIL later\",\"response_format\":\"wav\"}");
    assert_int_equal(a.status, 200);
    assert_false(a.whole);
    answer_release(&a);
    a = speak(http, "{\"input\":\"FAIL later\",\"response_format\":\"wav\",\"stream_format\":\"sse\"}");
    assert_true(a.whole);
    assert_non_null(strstr(a.body, "speech.audio.delta"));
    assert_non_null(strstr(a.body, "event: error\ndata: {\"error\":{"));
    assert_null(strstr(a.body, "speech.audio.done"));
    answer_release(&a);
    expect_error(ask(http, "POST", "/synthesize", NULL, "{\"text\":\"FAIL later\"}"), 500, "synthesis_failed", NULL);
    active_wait(0);
    struct mx_http_counts counts;
    mx_http_counts_read(http, &counts);
    assert_int_equal(counts.requests, 4);
    mx_http_close(http);
}

int main(void)
{
#ifndef MX_HAVE_MICROHTTPD
    return http_missing();
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sounds),
        cmocka_unit_test(fields),
        cmocka_unit_test(events),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
