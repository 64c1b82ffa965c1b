/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Showing how a text is read; see synth_phonemes.h. The pieces come from the same script that a voice speaks.
 */
#include "cli/synth/synth_phonemes.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "checkpoint/checkpoint.h"
#include "myxtts/error.h"
#include "speech/speak.h"
#include "speech/voice_internal.h"
#include "text/vocabulary.h"

#define SYMBOLS_END 0x2d00 /* no phonemes from there on */

/* Without a voice: every symbol of the language, or of all languages that can be detected. */
static int vocabulary_build(int language, struct mx_vocabulary **out)
{
    int rc = 0;
    bool asked[MX_LANGUAGE_COUNT] = {false};
    size_t count = 0;
    uint32_t *const symbols = mx_alloc(SYMBOLS_END, sizeof *symbols);
    if (symbols == NULL) return MX_ERR_NO_MEMORY;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        asked[i] = language == MX_SPEAK_DETECT ? mx_language_detected((enum mx_language_id)i) : i == language;
    for (uint32_t point = ' '; point < SYMBOLS_END; point++) {
        bool speaks = false;
        for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
            speaks |= asked[i] && mx_language_speaks((enum mx_language_id)i, point);
        if (speaks) symbols[count++] = point;
    }
    MX_TRY(mx_vocabulary_create(MX_TOKENS_PHONEMES, out));
    MX_TRY(mx_vocabulary_add(*out, symbols, count));
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (asked[i]) MX_TRY(mx_vocabulary_add_language(*out, (enum mx_language_id)i));
out:
    mx_free(symbols);
    return rc;
}

/* Also chooses the language as the voice would. */
static int vocabulary_load(const char *path, const char *text, size_t length, const char *speaker,
                           struct mx_speak_script_options *how, struct mx_vocabulary **out)
{
    struct mx_checkpoint *checkpoint = NULL;
    int rc = 0;
    MX_TRY(mx_checkpoint_open(path, &(struct mx_checkpoint_options){.named = true, .speaks = true}, &checkpoint));
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(checkpoint);
    if (state == NULL || state->vocoder_alone)
        MX_RAISE(MX_ERR_DATA, "name a run that has learned to read, or leave '--checkpoint' out",
                 "%s has no network that reads texts", path);
    MX_TRY(mx_vocabulary_read(state->vocabulary, strlen(state->vocabulary), out));
    how->vocabulary = *out;
    mx_voice_suit(state, how->ssml ? NULL : text, length, &speaker, how);
out:
    mx_checkpoint_close(checkpoint);
    return rc;
}

/* With every control character as a blank. */
static void text_print(const char *title, const char *text, size_t length)
{
    printf("%-10s", title);
    for (size_t at = 0; at < length;) {
        const size_t step = mx_string_printable(text + at, length - at);
        if (step > 0)
            printf("%.*s", (int)step, text + at);
        else
            putchar(' ');
        at += step > 0 ? step : 1;
    }
    putchar('\n');
}

static void item_print(const struct mx_speak_item *item, enum mx_tokens_mode mode)
{
    text_print("words", item->text, strlen(item->text));
    printf("%-10s", mode == MX_TOKENS_PHONEMES ? "phonemes" : "symbols");
    for (int32_t i = 0; i < item->count; i++) {
        char utf8[MX_SYMBOL_UTF8_BYTES];
        if (item->symbols[i] == 0) continue;
        mx_symbol_utf8(item->symbols[i], utf8);
        printf("%s", utf8);
    }
    printf("\n%-10s%.0f ms\n", "pause", item->pause_ms);
}

static int items_print(struct mx_speak_script *script, enum mx_tokens_mode mode, const char *text)
{
    struct mx_speak_item item;
    size_t paragraph = SIZE_MAX, items = 0;
    int rc;
    while ((rc = mx_speak_script_next(script, &item)) > 0) {
        if (item.source_begin != paragraph) {
            size_t length = item.source_length;
            while (length > 0 && strchr(" \t\r\n", text[item.source_begin + length - 1]) != NULL) length--;
            if (items > 0) putchar('\n');
            text_print("text", text + item.source_begin, length);
        }
        paragraph = item.source_begin;
        items++;
        item_print(&item, mode);
    }
    if (rc < 0) return rc;
    for (size_t i = 0; mx_speak_script_warning(script, i) != NULL; i++)
        mx_warn("%s", mx_speak_script_warning(script, i));
    const struct mx_unknown_count unknown = mx_speak_script_counts(script).unknown;
    char warning[MX_SPEAK_UNKNOWN_BYTES];
    if (unknown.count > 0) mx_warn("%s", mx_speak_unknown_text(&unknown, warning));
    if (items > 0) return 0;
    return MX_FAIL(MX_ERR_DATA, "give a text with words or numbers", "nothing in the text can be spoken");
}

int mx_synth_phonemes_show(const struct mx_synth_phonemes *o, const char *text, size_t length)
{
    struct mx_vocabulary *vocabulary = NULL;
    struct mx_lexicon *lexicon = NULL;
    struct mx_speak_script *script = NULL;
    struct mx_speak_script_options how = MX_SPEAK_SCRIPT_OPTIONS_DEFAULT;
    enum mx_language_id language;
    struct mx_pauses pauses;
    int rc = 0;
    MX_TRY(mx_pauses_parse(o->how->pauses, &pauses));
    how.pauses = &pauses;
    if (o->how->language != NULL) {
        MX_TRY(mx_language_parse(o->how->language, &language));
        how.language = (int)language;
    }
    if (o->lexicon != NULL) MX_TRY(mx_lexicon_open(o->lexicon, &lexicon));
    how.ssml = o->how->ssml != 0;
    MX_TRY(o->checkpoint != NULL ? vocabulary_load(o->checkpoint, text, length, o->how->speaker, &how, &vocabulary)
                                 : vocabulary_build(how.language, &vocabulary));
    if (o->checkpoint != NULL) MX_TRY(mx_vocabulary_check_lexicon(vocabulary, lexicon));
    MX_TRY(mx_vocabulary_add_lexicon(vocabulary, lexicon));
    how.vocabulary = vocabulary;
    how.speed = o->how->speed;
    how.pitch_semitones = o->how->pitch_semitones;
    how.volume = o->how->volume;
    how.pause_scale = o->how->pause_scale;
    MX_TRY(mx_speak_script_open(&how, text, length, &script));
    MX_TRY(items_print(script, mx_vocabulary_mode(vocabulary), text));
out:
    mx_speak_script_close(script);
    mx_lexicon_destroy(lexicon);
    mx_vocabulary_destroy(vocabulary);
    return rc;
}
