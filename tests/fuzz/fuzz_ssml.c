/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for scripts: any bytes as SSML and as plain text, for a voice of characters and one of phonemes; what comes out
 * must be items that an engine can speak. Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <math.h>
#include <string.h>

#include "base/string.h"
#include "fuzz.h"
#include "myxtts/error.h"
#include "speech/script.h"
#include "speech/ssml/ssml.h"

#define ROOM 64 /* tokens of an item */

static struct mx_vocabulary *vocabulary_make(enum mx_tokens_mode mode)
{
    struct mx_vocabulary *vocabulary;
    check(mx_vocabulary_create(mode, &vocabulary) == 0);
    for (uint32_t point = ' '; point < 0x700; point++)
        if (point < 0x7f || point >= 0xa0) check(mx_vocabulary_add(vocabulary, &point, 1) == 0);
    check(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_EN) == 0);
    check(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_FA) == 0);
    return vocabulary;
}

static void check_item(const struct mx_speak_script_options *options, const struct mx_speak_item *item, size_t size)
{
    check(item->count > 2 && item->count <= ROOM);
    check(item->tokens[0] == MX_TOKEN_BOS && item->tokens[item->count - 1] == MX_TOKEN_EOS);
    for (int32_t i = 1; i < item->count - 1; i++)
        check(mx_vocabulary_find(options->vocabulary, item->symbols[i]) == item->tokens[i]);
    check(item->language == 0 || item->language == 1);
    check(item->speed >= MX_SPEAK_SCRIPT_SPEED_LEAST && item->speed <= MX_SPEAK_SCRIPT_SPEED_MOST);
    check(fabs(item->pitch_semitones) <= MX_SPEAK_SCRIPT_SEMITONES);
    check(item->volume >= 0 && item->volume <= MX_SPEAK_SCRIPT_VOLUME_MOST);
    check(item->before_ms >= 0 && isfinite(item->before_ms) && item->pause_ms >= 0 && isfinite(item->pause_ms));
    check(mx_utf8_check(item->text, strlen(item->text)) == strlen(item->text));
    check(item->source_begin <= size && item->source_length <= size - item->source_begin);
}

static void read_script(const struct mx_speak_script_options *options, const char *text, size_t size)
{
    struct mx_speak_script *script;
    struct mx_speak_item item;
    const int rc = mx_speak_script_open(options, text, size, &script);
    if (rc < 0) {
        check((rc == MX_ERR_DATA || rc == MX_ERR_CONFIG) && script == NULL && mx_error_last()->hint[0] != 0);
        return;
    }
    int next;
    while ((next = mx_speak_script_next(script, &item)) > 0) check_item(options, &item, size);
    check(next == 0 || next == MX_ERR_ARGUMENT); /* no room for the sounds of a short piece */
    for (size_t i = 0; mx_speak_script_warning(script, i) != NULL; i++) {
        const char *const warning = mx_speak_script_warning(script, i);
        check(mx_utf8_check(warning, strlen(warning)) == strlen(warning));
    }
    mx_speak_script_close(script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mx_vocabulary *vocabularies[2];
    const char *const text = (const char *)data;
    struct mx_string inside = {0};
    if (vocabularies[0] == NULL) {
        vocabularies[0] = vocabulary_make(MX_TOKENS_CHARS);
        vocabularies[1] = vocabulary_make(mx_phonemizer_available() ? MX_TOKENS_PHONEMES : MX_TOKENS_CHARS);
    }
    if (memchr(data, 0, size) == NULL) /* most inputs are no document: as the inside of one, they may be */
        check(mx_string_append(&inside, "<speak>%.*s</speak>", (int)size, text) == 0);
    for (int i = 0; i < 2; i++) {
        struct mx_speak_script_options options = MX_SPEAK_SCRIPT_OPTIONS_DEFAULT;
        options.vocabulary = vocabularies[i];
        options.longest_tokens = ROOM;
        options.voice_hz = 120;
        read_script(&options, text, size);
        options.ssml = true;
        read_script(&options, text, size);
        if (inside.length > 0) read_script(&options, inside.data, inside.length);
    }
    mx_string_release(&inside);
    return 0;
}
