/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for the parsers of HTTP requests (serve/http_request.h): JSON bodies of both interfaces, plain texts
 * with a query, and the header with the token. Whatever the bytes are, there is a request that the service may take (valid
 * UTF-8, numbers in their ranges, a voice, a speaker and a language that exist) or a problem in words.
 * Built with clang -fsanitize=fuzzer,address,undefined.
 *
 * The first byte chooses the parser. A query is the first line of the rest: key=value&key=value.
 */
#include <string.h>

#include "base/net/listen.h"
#include "base/string.h"
#include "fuzz.h"
#include "myxtts/error.h"
#include "serve/http_lists.h"

/* ---- voices, as far as the parsers need a service ---- */

#define TEXT_MAX 2000

static const char *const languages[] = {"en", "fa"}, *const speakers[] = {"anna", "bob"};
static const struct mx_service_voice voices[] = {
    {.id = "one",
     .name = "One",
     .languages = languages,
     .language_count = 1,
     .rate = 22050,
     .licence = "",
     .attribution = ""},
    {.id = "two",
     .name = "Two",
     .languages = languages,
     .language_count = 2,
     .speakers = speakers,
     .speaker_languages = languages,
     .speaker_count = 2,
     .rate = 22050,
     .licence = "",
     .attribution = ""},
};

size_t mx_service_voice_count(const struct mx_service *service)
{
    (void)service;
    return 2;
}

const struct mx_service_voice *mx_service_voice(const struct mx_service *service, size_t voice)
{
    (void)service;
    check(voice < 2);
    return &voices[voice];
}

int mx_service_find(const struct mx_service *service, const char *name, size_t *voice, const char **speaker)
{
    (void)service;
    *speaker = NULL;
    *voice = 0;
    if (name == NULL || name[0] == '\0' || name[0] == 'o') return 0;
    *voice = 1;
    return name[0] == 't' ? 0 : MX_FAIL(MX_ERR_NOT_FOUND, "one or two", "no voice '%.100s'", name);
}

size_t mx_service_text_max(const struct mx_service *service)
{
    (void)service;
    return TEXT_MAX;
}

/* ---- what must hold ---- */

static void check_speech(const struct mx_http_speech *speech)
{
    const struct mx_service_text *const o = &speech->options;
    check(speech->text != NULL && speech->length > 0 && speech->length <= TEXT_MAX);
    check(strlen(speech->text) == speech->length && mx_utf8_check(speech->text, speech->length) == speech->length);
    check(o->voice < 2 && o->speed >= 0.25 && o->speed <= 4 && o->volume >= 0 && o->volume <= 10);
    check(o->pitch_semitones >= -24 && o->pitch_semitones <= 24 && o->pause_scale >= 0 && o->pause_scale <= 10);
    check(o->speaker == NULL || (o->voice == 1 && (o->speaker == speakers[0] || o->speaker == speakers[1])));
    check(o->language == NULL || strcmp(o->language, "en") == 0 || (o->voice == 1 && strcmp(o->language, "fa") == 0));
    check(speech->format < MX_ENCODE_FORMATS && mx_encode_rate(speech->format, speech->rate) == speech->rate);
    check(speech->rate >= MX_ENCODE_RATE_MIN && speech->rate <= MX_ENCODE_RATE_MAX);
}

static void check_problem(const struct mx_http_problem *problem)
{
    check(problem->status >= 400 && problem->status < 600 && problem->message[0] != '\0');
    check(problem->type != NULL && problem->code != NULL);
    check(mx_utf8_check(problem->message, strlen(problem->message)) == strlen(problem->message));
}

struct query {
    char *text; /* key=value, with zeros between */
    size_t bytes;
};

static const char *query_find(void *context, const char *key)
{
    const struct query *const query = context;
    const size_t length = strlen(key);
    for (size_t at = 0; at < query->bytes; at += strlen(query->text + at) + 1)
        if (strncmp(query->text + at, key, length) == 0 && query->text[at + length] == '=')
            return query->text + at + length + 1;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mx_http_speech speech;
    struct mx_http_problem problem;
    if (size == 0) return 0;
    const char *const body = (const char *)data + 1;
    const size_t bytes = size - 1;
    if (data[0] % 4 == 0) {
        char *const header = calloc(bytes + 1, 1);
        check(header != NULL);
        memcpy(header, body, bytes);
        const bool given = mx_listen_token_bearer("0123456789abcdef", header);
        check(!given || strstr(header, "0123456789abcdef") != NULL);
        free(header);
        return 0;
    }
    bool good;
    if (data[0] % 4 == 1) {
        good = mx_openai_parse(NULL, body, bytes, &speech, &problem);
    } else {
        const char *const line = memchr(body, '\n', bytes);
        const size_t first = line != NULL ? (size_t)(line - body) : 0;
        struct query query = {calloc(first + 1, 1), first};
        check(query.text != NULL);
        memcpy(query.text, body, first);
        for (size_t i = 0; i < first; i++)
            if (query.text[i] == '&') query.text[i] = '\0';
        good = mx_piper_parse(NULL, data[0] % 4 == 2 ? "application/json" : NULL, body + first, bytes - first,
                              query_find, &query, &speech, &problem);
        free(query.text);
    }
    if (good)
        check_speech(&speech);
    else
        check_problem(&problem);
    mx_http_speech_release(&speech);
    return 0;
}
