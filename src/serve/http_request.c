/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What requests have in common, see http_request.h.
 */
#include "serve/http_request.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/format/cjson.h"
#include "base/net/log_rate.h"
#include "base/string.h"
#include "myxtts/error.h"

#define SEED_MAX 9007199254740991.0 /* up to here a JSON number is exact */

/* ---- problems ---- */

static const char *type_of(unsigned status)
{
    return status == 429 ? "rate_limit_error" : status < 500 ? "invalid_request_error" : "server_error";
}

bool mx_http_problem_set(struct mx_http_problem *problem, unsigned status, const char *code, const char *param,
                         const char *fmt, ...)
{
    va_list arguments;
    *problem = (struct mx_http_problem){.status = status, .type = type_of(status), .code = code, .param = param};
    va_start(arguments, fmt);
    vsnprintf(problem->message, sizeof problem->message, fmt, arguments);
    va_end(arguments);
    /* It becomes JSON: characters that were cut in two, or came from a query, must not break it. */
    const size_t length = strlen(problem->message);
    for (size_t at = 0; (at += mx_utf8_check(problem->message + at, length - at)) < length;) problem->message[at] = '?';
    return false;
}

static struct mx_log_rate failures = MX_LOG_RATE_INIT;

bool mx_http_problem_from_error(struct mx_http_problem *problem, int code)
{
    const struct mx_error *const error = mx_error_last();
    switch (code) {
    case MX_ERR_USAGE:
    case MX_ERR_CONFIG:
    case MX_ERR_ARGUMENT:
    case MX_ERR_DATA:
    case MX_ERR_FORMAT:
    case MX_ERR_NOT_FOUND:
    case MX_ERR_UNSUPPORTED:
        return mx_http_problem_set(problem, 400, "invalid_value", NULL, "%s%s%s", error->message,
                                   error->hint[0] != '\0' ? ": " : "", error->hint);
    case MX_ERR_BUDGET:
        return mx_http_problem_set(problem, 429, "rate_limit_exceeded", NULL,
                                   "too many texts are being spoken already: try again later");
    case MX_ERR_CLOSED:
    case MX_ERR_INTERRUPTED:
        return mx_http_problem_set(problem, 503, "server_stopping", NULL, "the server is stopping: try again later");
    case MX_ERR_NO_MEMORY:
        return mx_http_problem_set(problem, 503, "out_of_memory", NULL, "the server is out of memory: try again later");
    default: /* what happened, and in which file, is for the log alone */
        mx_log_rate_write(&failures, MX_LOG_WARN, "http: a request failed: %s", error->message);
        return mx_http_problem_set(problem, 500, "synthesis_failed", NULL,
                                   "the text could not be spoken; the log of the server says why");
    }
}

void mx_http_problem_log_end(void)
{
    mx_log_rate_end(&failures, "HTTP requests that failed");
}

/* ---- JSON ---- */

/* cJSON would end a string at an escaped zero, and the rest of the text would be lost without a word. */
static bool has_zero(const char *body, size_t bytes)
{
    if (memchr(body, '\0', bytes) != NULL) return true;
    for (size_t i = 0; i + 1 < bytes; i++) {
        if (body[i] != '\\') continue;
        i++;
        if (body[i] == 'u' && i + 4 < bytes && memcmp(body + i + 1, "0000", 4) == 0) return true;
    }
    return false;
}

bool mx_http_json_parse(const char *body, size_t bytes, struct cJSON **tree, struct mx_http_problem *problem)
{
    const char *end = NULL;
    *tree = NULL;
    const size_t valid = mx_utf8_check(body, bytes);
    if (valid < bytes)
        return mx_http_problem_set(problem, 400, "invalid_json", NULL, "byte %zu of the body is not UTF-8", valid);
    if (has_zero(body, bytes))
        return mx_http_problem_set(problem, 400, "invalid_json", NULL, "the body contains a zero character");
    if (mx_cjson_parse(body, bytes, &end, tree) < 0) return mx_http_problem_from_error(problem, MX_ERR_NO_MEMORY);
    if (*tree == NULL) {
        const size_t at = end != NULL && end >= body && end <= body + bytes ? (size_t)(end - body) : 0;
        return mx_http_problem_set(problem, 400, "invalid_json", NULL, "the body is not JSON: see byte %zu", at);
    }
    while (end < body + bytes && strchr(" \t\r\n", *end) != NULL) end++;
    if (end != body + bytes || !cJSON_IsObject(*tree)) {
        cJSON_Delete(*tree);
        *tree = NULL;
        return mx_http_problem_set(problem, 400, "invalid_json", NULL, "the body must be one JSON object");
    }
    return true;
}

static const cJSON *field(const cJSON *tree, const char *key)
{
    const cJSON *const found = cJSON_GetObjectItemCaseSensitive(tree, key);
    return found == NULL || cJSON_IsNull(found) ? NULL : found;
}

bool mx_http_field_string(const cJSON *tree, const char *key, const char **out, struct mx_http_problem *problem)
{
    const cJSON *const found = field(tree, key);
    if (found == NULL) return true;
    if (!cJSON_IsString(found))
        return mx_http_problem_set(problem, 400, "invalid_type", key, "'%s' must be a string", key);
    *out = found->valuestring;
    return true;
}

bool mx_http_field_number(const cJSON *tree, const char *key, double low, double high, double *out,
                          struct mx_http_problem *problem)
{
    const cJSON *const found = field(tree, key);
    if (found == NULL) return true;
    if (!cJSON_IsNumber(found))
        return mx_http_problem_set(problem, 400, "invalid_type", key, "'%s' must be a number", key);
    if (!(found->valuedouble >= low && found->valuedouble <= high))
        return mx_http_problem_set(problem, 400, "invalid_value", key, "'%s' must be %.15g to %.15g", key, low, high);
    *out = found->valuedouble;
    return true;
}

bool mx_http_field_truth(const cJSON *tree, const char *key, bool *out, struct mx_http_problem *problem)
{
    const cJSON *const found = field(tree, key);
    if (found == NULL) return true;
    if (!cJSON_IsBool(found))
        return mx_http_problem_set(problem, 400, "invalid_type", key, "'%s' must be true or false", key);
    *out = cJSON_IsTrue(found);
    return true;
}

/* ---- what both interfaces understand ---- */

bool mx_http_speech_voice(const struct mx_service *service, const char *name, struct mx_http_speech *speech,
                          struct mx_http_problem *problem)
{
    const int rc = mx_service_find(service, name, &speech->options.voice, &speech->options.speaker);
    if (rc == 0) return true;
    mx_http_problem_from_error(problem, rc);
    problem->param = "voice";
    return false;
}

bool mx_http_speech_speaker(const struct mx_service *service, const char *name, struct mx_http_speech *speech,
                            struct mx_http_problem *problem)
{
    char quoted[96];
    struct mx_string known = {0};
    const struct mx_service_voice *const voice = mx_service_voice(service, speech->options.voice);
    for (size_t i = 0; i < voice->speaker_count; i++) {
        if (strcmp(voice->speakers[i], name) == 0) {
            speech->options.speaker = voice->speakers[i];
            mx_string_release(&known);
            return true;
        }
        if (known.length < 600) mx_string_append(&known, "%s%s", i > 0 ? ", " : "", voice->speakers[i]);
    }
    mx_http_problem_set(problem, 400, "invalid_value", "speaker", "the voice '%s' has no speaker %s; %s%s", voice->id,
                        mx_string_quote(quoted, sizeof quoted, name),
                        known.length > 0 ? "its speakers: " : "it has no names for speakers",
                        known.data != NULL ? known.data : "");
    mx_string_release(&known);
    return false;
}

static bool language_set(const struct mx_service *service, const char *name, struct mx_http_speech *speech,
                         struct mx_http_problem *problem)
{
    char quoted[96], known[256] = "";
    const struct mx_service_voice *const voice = mx_service_voice(service, speech->options.voice);
    const size_t length = strcspn(name, "-_"); /* en-US is en */
    for (size_t i = 0; i < voice->language_count; i++) {
        const char *const code = voice->languages[i];
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", code);
        if (strcasecmp(code, name) != 0 && (strlen(code) != length || strncasecmp(code, name, length) != 0)) continue;
        speech->language = mx_strdup(code);
        speech->options.language = speech->language;
        return speech->language != NULL || mx_http_problem_from_error(problem, MX_ERR_NO_MEMORY);
    }
    return mx_http_problem_set(problem, 400, "invalid_value", "language",
                               "the voice '%s' does not speak %s; it speaks: %s", voice->id,
                               mx_string_quote(quoted, sizeof quoted, name), known);
}

bool mx_http_speech_common(const struct mx_service *service, const cJSON *tree, struct mx_http_speech *speech,
                           struct mx_http_problem *problem)
{
    const char *speaker = NULL, *language = NULL;
    double seed = 0, rate = 0;
    struct mx_service_text *const options = &speech->options;
    if (!mx_http_field_string(tree, "speaker", &speaker, problem) ||
        !mx_http_field_string(tree, "language", &language, problem) ||
        !mx_http_field_number(tree, "pitch", -24, 24, &options->pitch_semitones, problem) ||
        !mx_http_field_number(tree, "volume", 0, 10, &options->volume, problem) ||
        !mx_http_field_number(tree, "pause_scale", 0, 10, &options->pause_scale, problem) ||
        !mx_http_field_number(tree, "seed", 0, SEED_MAX, &seed, problem) ||
        !mx_http_field_truth(tree, "ssml", &options->ssml, problem) ||
        !mx_http_field_number(tree, "sample_rate", MX_ENCODE_RATE_MIN, MX_ENCODE_RATE_MAX, &rate, problem))
        return false;
    options->seed = (uint64_t)seed;
    if (rate > 0) speech->rate = (int)rate;
    if (speaker != NULL && speaker[0] != '\0' && !mx_http_speech_speaker(service, speaker, speech, problem))
        return false;
    if (language != NULL && language[0] != '\0' && !language_set(service, language, speech, problem)) return false;
    if (speech->rate == 0) speech->rate = mx_service_voice(service, options->voice)->rate;
    const int possible = mx_encode_rate(speech->format, speech->rate);
    if (rate > 0 && possible != speech->rate)
        return mx_http_problem_set(problem, 400, "invalid_value", "sample_rate",
                                   "%s cannot have %d samples per second; %d is possible",
                                   mx_encode_names[speech->format], speech->rate, possible);
    speech->rate = possible;
    return true;
}

bool mx_http_speech_text(const struct mx_service *service, const char *text, size_t length, const char *param,
                         struct mx_http_speech *speech, struct mx_http_problem *problem)
{
    const size_t most = mx_service_text_max(service);
    while (length > 0 && strchr(" \t\r\n", *text) != NULL) {
        text++;
        length--;
    }
    if (length == 0) return mx_http_problem_set(problem, 400, "empty_string", param, "'%s' has no text", param);
    if (length > most)
        return mx_http_problem_set(problem, 400, "string_above_max_length", param,
                                   "'%s' has %zu bytes; this server speaks at most %zu at a time", param, length, most);
    speech->text = mx_strndup(text, length);
    speech->length = length;
    return speech->text != NULL || mx_http_problem_from_error(problem, MX_ERR_NO_MEMORY);
}

void mx_http_speech_release(struct mx_http_speech *speech)
{
    mx_free(speech->text);
    mx_free(speech->language);
    *speech = (struct mx_http_speech){0};
}
