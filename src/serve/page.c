/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page of the HTTP server, see page.h: its words and its frame. Owns no memory.
 */
#include "serve/page.h"

#include <cjson/cJSON.h>
#include <stdio.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define SAMPLE 0

const struct mx_serve_word mx_serve_words[] = {
    [SAMPLE] = {"sample", "Good morning. The train leaves at nine, and the weather will be fine."},
    {"title", "Speak"},
    {"text", "Text"},
    {"voice", "Voice"},
    {"speaker", "Speaker"},
    {"language", "Language"},
    {"automatic", "automatic"},
    {"speed", "Speed"},
    {"times", "{0}×"},
    {"listen", "Listen"},
    {"stop", "Stop"},
    {"format", "Format"},
    {"download", "Download"},
    {"token", "Token"},
    {"token_needed", "This server needs a token. Enter the one that it was started with."},
    {"waiting", "Waiting for the first sound"},
    {"speaking", "Speaking: {0} s so far, first sound after {1} ms"},
    {"done", "{0} s of speech, first sound after {1} ms"},
    {"stopped", "Stopped."},
    {"saved", "Downloaded: {0} KB"},
    {"empty", "Type a text first."},
    {"failed", "That did not work: {0}"},
    {"unreachable", "The server does not answer."},
    {"no_voices", "The server has no voices."},
    {"licence", "Licence: {0}"},
    {"other", "فارسی"},
    {"no_script", "This page needs JavaScript: please allow it."},
    {NULL, NULL},
};

static const char *word_find(const struct mx_serve_word *word, enum mx_words language)
{
    char context[64];
    snprintf(context, sizeof context, "speak %s", word->key);
    return mx_catalogue_find_in(language, context, word->english);
}

int mx_serve_page_write(enum mx_words language, struct mx_string *out)
{
    const bool persian = language == MX_WORDS_PERSIAN;
    const struct mx_serve_word *word = mx_serve_words;
    cJSON *const words = cJSON_CreateObject();
    for (; word->key != NULL; word++) cJSON_AddStringToObject(words, word->key, word_find(word, language));
    cJSON_AddStringToObject(words, "sample_en", mx_serve_words[SAMPLE].english); /* for voices without this language */
    char *const text = cJSON_PrintUnformatted(words);
    cJSON_Delete(words);
    if (text == NULL) return mx_alloc_failed("the page");
    mx_string_append(
        out,
        "<!DOCTYPE html>\n<html lang=\"%s\" dir=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>MyXTTS</title>\n"
        "<link rel=\"icon\" href=\"data:,\">\n<style>\n%s</style>\n</head>\n<body>\n"
        "<main id=\"page\"></main>\n<noscript>%s</noscript>\n"
        "<script type=\"application/json\" id=\"words\">%s</script>\n<script>\n%s</script>\n</body>\n</html>\n",
        mx_words_codes[language], persian ? "rtl" : "ltr", (const char *)mx_serve_page_style,
        word_find(word - 1, language), text, (const char *)mx_serve_page_script);
    cJSON_free(text);
    return out->failure;
}
