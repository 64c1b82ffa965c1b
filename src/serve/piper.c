/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interface of Piper's HTTP server:
 *
 *     POST /synthesize, /   {"text", "voice", "speaker", "speaker_id", "length_scale", "noise_scale", "noise_w_scale"}
 *                           or, as older versions have it, the text itself; the other fields may stand in the query then
 *     GET  /voices, /info
 *
 * `text` alone is required. The answer is one WAV file with its true length, as Piper's clients expect it; with
 * "stream": true the same samples are sent as they are made. length_scale is one divided by the speed. The two noise
 * scales are accepted and change nothing: these voices have no such noise.
 *
 * Memory: the texts belong to the caller.
 */
#include <cjson/cJSON.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "serve/http_lists.h"

static bool speaker_set(const struct mx_service *service, const cJSON *tree, struct mx_http_speech *out,
                        struct mx_http_problem *problem)
{
    const struct mx_service_voice *const voice = mx_service_voice(service, out->options.voice);
    double number = -1;
    const double most = voice->speaker_count > 0 ? (double)voice->speaker_count - 1 : 0;
    if (!mx_http_field_number(tree, "speaker_id", 0, most, &number, problem)) return false;
    if (number >= 0 && voice->speaker_count > 0) out->options.speaker = voice->speakers[(size_t)number];
    return true;
}

static bool tree_read(const struct mx_service *service, const cJSON *tree, struct mx_http_speech *out,
                      struct mx_http_problem *problem)
{
    const char *voice = NULL;
    double scale = 1, unused = 0;
    bool stream = false;
    if (!mx_http_field_string(tree, "voice", &voice, problem) || !mx_http_speech_voice(service, voice, out, problem) ||
        !mx_http_field_number(tree, "length_scale", 1 / MX_HTTP_SPEED_MOST, 1 / MX_HTTP_SPEED_LEAST, &scale, problem) ||
        !mx_http_field_number(tree, "noise_scale", 0, 10, &unused, problem) ||
        !mx_http_field_number(tree, "noise_w_scale", 0, 10, &unused, problem) ||
        !mx_http_field_truth(tree, "stream", &stream, problem) || !mx_http_speech_common(service, tree, out, problem) ||
        !speaker_set(service, tree, out, problem))
        return false;
    out->options.speed = 1 / scale;
    out->whole = !stream;
    return true;
}

/* The fields of a query as a tree: numbers where numbers are expected. */
static cJSON *query_tree(const char *(*find)(void *context, const char *key), void *context)
{
    static const char *const strings[] = {"voice", "speaker", "language"};
    static const char *const numbers[] = {"speaker_id", "length_scale", "noise_scale", "noise_w_scale", "pitch",
                                          "volume",     "pause_scale",  "seed",        "sample_rate"};
    static const char *const truths[] = {"ssml", "stream"};
    cJSON *const tree = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        const char *const value = find(context, strings[i]);
        if (value != NULL) cJSON_AddStringToObject(tree, strings[i], value);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const char *const value = find(context, numbers[i]);
        double number;
        if (value == NULL) continue;
        if (mx_string_parse_double(value, &number) == MX_STRING_NUMBER)
            cJSON_AddNumberToObject(tree, numbers[i], number);
        else
            cJSON_AddStringToObject(tree, numbers[i], value); /* becomes the problem */
    }
    for (size_t i = 0; i < sizeof truths / sizeof truths[0]; i++) {
        const char *const value = find(context, truths[i]);
        if (value == NULL) continue;
        if (strcmp(value, "true") == 0 || strcmp(value, "1") == 0)
            cJSON_AddTrueToObject(tree, truths[i]);
        else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)
            cJSON_AddFalseToObject(tree, truths[i]);
        else
            cJSON_AddStringToObject(tree, truths[i], value);
    }
    return tree;
}

bool mx_piper_parse(const struct mx_service *service, const char *type, const char *body, size_t bytes,
                    const char *(*find)(void *context, const char *key), void *context, struct mx_http_speech *out,
                    struct mx_http_problem *problem)
{
    cJSON *tree = NULL;
    bool good;
    size_t blanks = 0;
    *out = (struct mx_http_speech){.options = MX_SERVICE_TEXT_DEFAULT, .format = MX_ENCODE_WAV};
    while (blanks < bytes && body[blanks] != '\0' && strchr(" \t\r\n", body[blanks]) != NULL) blanks++;
    const bool plain = type != NULL && strncasecmp(type, "text/plain", 10) == 0;
    if ((type != NULL && strcasestr(type, "json") != NULL) || (!plain && blanks < bytes && body[blanks] == '{')) {
        const char *text = NULL;
        good = mx_http_json_parse(body, bytes, &tree, problem) && mx_http_field_string(tree, "text", &text, problem);
        if (good && text == NULL)
            good = mx_http_problem_set(problem, 400, "missing_required_parameter", "text", "'text' is missing");
        good = good && tree_read(service, tree, out, problem) && text != NULL &&
               mx_http_speech_text(service, text, strlen(text), "text", out, problem);
    } else {
        const size_t valid = mx_utf8_check(body, bytes);
        tree = query_tree(find, context);
        if (valid < bytes || memchr(body, '\0', bytes) != NULL)
            good = mx_http_problem_set(problem, 400, "invalid_value", "text", "the text must be UTF-8 without zeros");
        else
            good = tree_read(service, tree, out, problem) &&
                   mx_http_speech_text(service, body, bytes, "text", out, problem);
    }
    cJSON_Delete(tree);
    return good;
}

/* ---- lists ---- */

/* What Piper's file of a voice would say, as far as clients read it. */
static cJSON *voice_build(const struct mx_service_voice *voice)
{
    cJSON *const out = cJSON_CreateObject();
    cJSON_AddStringToObject(out, "dataset", voice->name);
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(out, "audio"), "sample_rate", voice->rate);
    cJSON_AddStringToObject(cJSON_AddObjectToObject(out, "espeak"), "voice",
                            voice->language_count > 0 ? voice->languages[0] : "");
    cJSON_AddStringToObject(cJSON_AddObjectToObject(out, "language"), "code",
                            voice->language_count > 0 ? voice->languages[0] : "");
    cJSON_AddItemToObject(out, "languages", mx_http_json_strings(voice->languages, voice->language_count));
    cJSON_AddNumberToObject(out, "num_speakers", voice->speaker_count > 0 ? (double)voice->speaker_count : 1);
    cJSON *const numbers = cJSON_AddObjectToObject(out, "speaker_id_map");
    for (size_t i = 0; i < voice->speaker_count; i++) cJSON_AddNumberToObject(numbers, voice->speakers[i], (double)i);
    cJSON *const codes = cJSON_AddObjectToObject(out, "speaker_languages");
    for (size_t i = 0; i < voice->speaker_count; i++)
        cJSON_AddStringToObject(codes, voice->speakers[i], voice->speaker_languages[i]);
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(out, "inference"), "length_scale", 1);
    return out;
}

char *mx_piper_voices(const struct mx_service *service)
{
    cJSON *const answer = cJSON_CreateObject();
    for (size_t i = 0; i < mx_service_voice_count(service); i++) {
        const struct mx_service_voice *const voice = mx_service_voice(service, i);
        cJSON_AddItemToObject(answer, voice->id, voice_build(voice));
    }
    return mx_http_json_print(answer);
}

char *mx_piper_info(const struct mx_service *service)
{
    const struct mx_service_voice *const voice = mx_service_voice(service, 0);
    cJSON *const answer = cJSON_CreateObject(), *const info = cJSON_AddObjectToObject(answer, "voice");
    cJSON_AddStringToObject(info, "name", voice->id);
    cJSON_AddStringToObject(info, "language", voice->language_count > 0 ? voice->languages[0] : "");
    cJSON_AddNumberToObject(info, "num_speakers", voice->speaker_count > 0 ? (double)voice->speaker_count : 1);
    cJSON_AddNullToObject(answer, "last"); /* texts of other clients are private */
    return mx_http_json_print(answer);
}
