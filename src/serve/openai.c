/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OpenAI's interface of speech, as https://platform.openai.com/docs/api-reference/audio describes it:
 *
 *     POST /v1/audio/speech  {"input", "voice": "NAME" or {"id":"NAME"}, "model", "response_format", "speed",
 *                             "stream_format": "audio" or "sse", "instructions"}
 *     GET  /v1/models, /v1/models/ID, /v1/audio/voices
 *
 * `input` alone is required. `voice` is an id, a name, ID/SPEAKER or a speaker; names of OpenAI's own voices mean the
 * first voice, or the one that `model` names. Every other model is accepted: it changes nothing. The usual format is mp3;
 * pcm has 24,000 samples per second, which is what clients of OpenAI expect, the others have the rate of the voice if the
 * format can carry it. `instructions` are accepted and ignored. In "usage", input_tokens counts the symbols that were
 * spoken and output_tokens the frames of 256 samples.
 *
 * Memory: the JSON texts belong to the caller.
 */
#include "serve/http_lists.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"

#define PCM_RATE 24000

/* "NAME" or {"id": "NAME"}. */
static bool voice_name(const cJSON *tree, const char **out, struct mx_http_problem *problem)
{
    const cJSON *const voice = cJSON_GetObjectItemCaseSensitive(tree, "voice");
    if (cJSON_IsObject(voice)) return mx_http_field_string(voice, "id", out, problem);
    return mx_http_field_string(tree, "voice", out, problem);
}

static bool voice_set(const struct mx_service *service, const cJSON *tree, struct mx_http_speech *out,
                      struct mx_http_problem *problem)
{
    const char *name = NULL, *model = NULL;
    if (!voice_name(tree, &name, problem) || !mx_http_field_string(tree, "model", &model, problem) ||
        !mx_http_speech_voice(service, name, out, problem))
        return false;
    const struct mx_service_voice *const found = mx_service_voice(service, out->options.voice);
    const bool meant = name != NULL && (strcmp(name, found->id) == 0 || strcmp(name, found->name) == 0);
    if (meant || out->options.voice != 0 || out->options.speaker != NULL || model == NULL) return true;
    for (size_t i = 0; i < mx_service_voice_count(service); i++)
        if (strcmp(mx_service_voice(service, i)->id, model) == 0) out->options.voice = i;
    return true;
}

static bool format_set(const cJSON *tree, struct mx_http_speech *out, struct mx_http_problem *problem)
{
    char quoted[64];
    const char *format = "mp3", *stream = "audio";
    if (!mx_http_field_string(tree, "response_format", &format, problem) ||
        !mx_http_field_string(tree, "stream_format", &stream, problem))
        return false;
    if (!mx_encode_find(format, &out->format))
        return mx_http_problem_set(problem, 400, "invalid_value", "response_format",
                                   "%s is not a format of this server; it has " MX_ENCODE_NAMES,
                                   mx_string_quote(quoted, sizeof quoted, format));
    out->events = strcmp(stream, "sse") == 0;
    if (!out->events && strcmp(stream, "audio") != 0)
        return mx_http_problem_set(problem, 400, "invalid_value", "stream_format",
                                   "'stream_format' must be 'audio' or 'sse', not %s",
                                   mx_string_quote(quoted, sizeof quoted, stream));
    if (out->format == MX_ENCODE_PCM) out->rate = PCM_RATE;
    return true;
}

bool mx_openai_parse(const struct mx_service *service, const char *body, size_t bytes, struct mx_http_speech *out,
                     struct mx_http_problem *problem)
{
    cJSON *tree;
    const char *input = NULL, *instructions = NULL;
    *out = (struct mx_http_speech){.options = MX_SERVICE_TEXT_DEFAULT};
    bool good = mx_http_json_parse(body, bytes, &tree, problem);
    good = good && mx_http_field_string(tree, "input", &input, problem);
    if (good && input == NULL)
        good = mx_http_problem_set(problem, 400, "missing_required_parameter", "input", "'input' is missing");
    good = good && mx_http_field_string(tree, "instructions", &instructions, problem) &&
           mx_http_field_number(tree, "speed", MX_HTTP_SPEED_LEAST, MX_HTTP_SPEED_MOST, &out->options.speed, problem) &&
           format_set(tree, out, problem) && voice_set(service, tree, out, problem) &&
           mx_http_speech_common(service, tree, out, problem) && input != NULL &&
           mx_http_speech_text(service, input, strlen(input), "input", out, problem);
    out->instructions = instructions != NULL && instructions[0] != '\0';
    cJSON_Delete(tree);
    return good;
}

/* ---- lists ---- */

char *mx_http_json_print(cJSON *tree)
{
    char *const text = tree != NULL ? cJSON_PrintUnformatted(tree) : NULL;
    char *const copy = text != NULL ? mx_strdup(text) : NULL;
    cJSON_free(text);
    cJSON_Delete(tree);
    return copy;
}

static cJSON *model_build(const char *id, int64_t created)
{
    cJSON *const model = cJSON_CreateObject();
    cJSON_AddStringToObject(model, "id", id);
    cJSON_AddStringToObject(model, "object", "model");
    cJSON_AddNumberToObject(model, "created", (double)created);
    cJSON_AddStringToObject(model, "owned_by", "myxtts");
    return model;
}

/* Clients ask for these without having looked at the list. */
static const char *const aliases[] = {"tts-1", "tts-1-hd", "gpt-4o-mini-tts"};
#define ALIASES (sizeof aliases / sizeof aliases[0])

char *mx_openai_models(const struct mx_service *service, int64_t created)
{
    cJSON *const answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "object", "list");
    cJSON *const list = cJSON_AddArrayToObject(answer, "data");
    for (size_t i = 0; i < mx_service_voice_count(service); i++)
        cJSON_AddItemToArray(list, model_build(mx_service_voice(service, i)->id, created));
    for (size_t i = 0; i < ALIASES; i++) cJSON_AddItemToArray(list, model_build(aliases[i], created));
    return mx_http_json_print(answer);
}

char *mx_openai_model(const struct mx_service *service, const char *id, int64_t created)
{
    bool known = false;
    for (size_t i = 0; i < mx_service_voice_count(service); i++)
        known = known || strcmp(id, mx_service_voice(service, i)->id) == 0;
    for (size_t i = 0; i < ALIASES; i++) known = known || strcmp(id, aliases[i]) == 0;
    return known ? mx_http_json_print(model_build(id, created)) : mx_strdup("");
}

cJSON *mx_http_json_strings(const char *const *strings, size_t count)
{
    cJSON *const list = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) cJSON_AddItemToArray(list, cJSON_CreateString(strings[i]));
    return list;
}

/* A voice, or speaker `number` of it; SIZE_MAX: the voice. */
static cJSON *voice_build(const struct mx_service_voice *voice, size_t number)
{
    const char *const speaker = number == SIZE_MAX ? NULL : voice->speakers[number];
    const char *const *const own = number == SIZE_MAX ? NULL : &voice->speaker_languages[number];
    struct mx_string id = {0}, name = {0};
    cJSON *const out = cJSON_CreateObject();
    mx_string_append(&id, "%s%s%s", voice->id, speaker != NULL ? "/" : "", speaker != NULL ? speaker : "");
    mx_string_append(&name, "%s%s%s", voice->name, speaker != NULL ? ": " : "", speaker != NULL ? speaker : "");
    cJSON_AddStringToObject(out, "id", id.data != NULL ? id.data : "");
    cJSON_AddStringToObject(out, "name", name.data != NULL ? name.data : "");
    cJSON_AddStringToObject(out, "object", "voice");
    if (own != NULL && **own != '\0')
        cJSON_AddItemToObject(out, "languages", mx_http_json_strings(own, 1));
    else
        cJSON_AddItemToObject(out, "languages", mx_http_json_strings(voice->languages, voice->language_count));
    if (speaker == NULL) {
        cJSON_AddItemToObject(out, "speakers", mx_http_json_strings(voice->speakers, voice->speaker_count));
        cJSON_AddItemToObject(out, "speaker_languages",
                              mx_http_json_strings(voice->speaker_languages, voice->speaker_count));
    }
    cJSON_AddNumberToObject(out, "sample_rate", voice->rate);
    cJSON_AddStringToObject(out, "licence", voice->licence);
    cJSON_AddStringToObject(out, "attribution", voice->attribution);
    mx_string_release(&id);
    mx_string_release(&name);
    return out;
}

char *mx_openai_voices(const struct mx_service *service)
{
    cJSON *const answer = cJSON_CreateObject();
    cJSON *const list = cJSON_AddArrayToObject(answer, "voices");
    for (size_t i = 0; i < mx_service_voice_count(service); i++) {
        const struct mx_service_voice *const voice = mx_service_voice(service, i);
        cJSON_AddItemToArray(list, voice_build(voice, SIZE_MAX));
        for (size_t j = 0; voice->speaker_count > 1 && j < voice->speaker_count; j++)
            cJSON_AddItemToArray(list, voice_build(voice, j));
    }
    cJSON_AddStringToObject(answer, "object", "list");
    cJSON_AddItemToObject(answer, "data", cJSON_Duplicate(list, true));
    return mx_http_json_print(answer);
}
