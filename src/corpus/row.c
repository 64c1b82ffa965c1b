/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One row of a corpus: text, recording and the decision whether it is used; see row.h.
 */
#include "corpus/row.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "base/utf8.h"
#include "myxtts/error.h"

struct mx_row_reader {
    struct mx_row_options options;
    struct mx_audio_reader *audio;
    struct mx_phonemizer *phonemizer; /* NULL in mode chars */
    struct mx_reading reading;
    struct mx_arena arena;
    const char *spoken; /* of the row that is being loaded: with code points for words of the lexicon */
};

struct mx_reading mx_row_reading(const struct mx_row_options *options)
{
    if (options->vocabulary != NULL) return *mx_vocabulary_reading(options->vocabulary);
    return (struct mx_reading){.cleaner = MX_TEXT_CLEANER_VERSION, .lexicon = options->lexicon};
}

int mx_row_reader_create(const struct mx_row_options *options, struct mx_row_reader **out)
{
    int rc = 0;
    struct mx_row_reader *reader = NULL;
    *out = NULL;
    MX_TRY(mx_audio_options_check(&options->audio));
    if (!(options->rate.least >= 0 && options->rate.most > options->rate.least))
        MX_RAISE(MX_ERR_ARGUMENT, "the minimum must be below the maximum",
                 "sounds per second from %g to %g is not a valid range", options->rate.least, options->rate.most);
    reader = mx_alloc(1, sizeof *reader);
    if (reader == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    reader->options = *options;
    reader->reading = mx_row_reading(options);
    mx_arena_init(&reader->arena, 0);
    MX_TRY(mx_audio_reader_create(&reader->audio));
    if (options->tokens == MX_TOKENS_PHONEMES) MX_TRY(mx_phonemizer_get(&reader->phonemizer));
    *out = reader;
    reader = NULL;
out:
    mx_row_reader_destroy(reader);
    return rc;
}

void mx_row_reader_destroy(struct mx_row_reader *reader)
{
    if (reader == NULL) return;
    mx_audio_reader_destroy(reader->audio);
    mx_arena_release(&reader->arena);
    mx_free(reader);
}

/* ---- the judgement ---- */

static void __attribute__((format(printf, 3, 4)))
row_refuse(struct mx_row *row, enum mx_reject reject, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    vsnprintf(row->detail, sizeof row->detail, fmt, list);
    va_end(list);
    mx_utf8_trim(row->detail);
    row->reject = reject;
}

/* Only ASCII signs: the language is not what is unknown. */
static bool is_mute(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= 0x80 || isalnum((unsigned char)*text)) return false;
    return true;
}

/* The language of the whole corpus, of the row, or of the script of its text. */
static int row_language(const struct mx_row_reader *reader, const struct mx_utterance *utterance, struct mx_row *row)
{
    if (reader->options.language != MX_ROW_LANGUAGE_DETECT) {
        row->language = (enum mx_language_id)reader->options.language;
        return 0;
    }
    const bool named = utterance->language != NULL && utterance->language[0] != '\0';
    const int rc = named ? mx_language_parse(utterance->language, &row->language)
                         : mx_text_detect(utterance->text, strlen(utterance->text), &row->language);
    if (rc == 0 || (rc != MX_ERR_DATA && !named)) return rc;
    if (is_mute(utterance->text))
        row_refuse(row, MX_REJECT_EMPTY_TEXT, "nothing of the text can be spoken");
    else
        row_refuse(row, MX_REJECT_UNKNOWN_LANGUAGE, "%s", mx_error_last()->message);
    return 0;
}

static int row_text(struct mx_row_reader *reader, const struct mx_utterance *utterance, struct mx_row *row)
{
    char *spoken = NULL, *plain = NULL, name[MX_SYMBOL_NAME_BYTES];
    const size_t length = strlen(utterance->text);
    int rc = row_language(reader, utterance, row);
    if (rc < 0 || row->reject != MX_REJECT_NONE) return rc;
    rc = mx_reading_text(&reader->reading, row->language, utterance->text, length, &reader->arena, &spoken, NULL);
    if (rc == MX_ERR_DATA) {
        row_refuse(row, MX_REJECT_INVALID_UTF8, "%s", mx_error_last()->message);
        return 0;
    }
    if (rc < 0) return rc;
    reader->spoken = spoken;
    rc = mx_reading_plain(&reader->reading, spoken, &reader->arena, &plain);
    if (rc < 0) return rc;
    row->spoken = plain;
    for (const char *at = spoken; *at != '\0';) {
        uint32_t code;
        at += mx_utf8_decode(at, &code);
        row->characters += code != ' ';
        if (mx_lexicon_find(reader->reading.lexicon, code) != NULL) continue;
        if (row->reject == MX_REJECT_NONE && !mx_language_writes(row->language, code))
            row_refuse(row, MX_REJECT_UNKNOWN_SYMBOL, "the text holds %s, which is no letter of a known language",
                       mx_symbol_name(code, name));
    }
    if (row->characters == 0) row_refuse(row, MX_REJECT_EMPTY_TEXT, "nothing of the text can be spoken");
    return 0;
}

double mx_row_rate(const struct mx_row_options *options, size_t sounds, double seconds_promised)
{
    const bool usable = sounds >= MX_RATE_SOUNDS && seconds_promised >= options->audio.seconds_min &&
                        seconds_promised <= options->audio.seconds_max;
    return usable ? (double)sounds / seconds_promised : 0;
}

void mx_row_judge_rate(const struct mx_rate *rate, struct mx_row *row)
{
    const double seconds = row->audio.seconds_used;
    if (mx_rate_fits(rate, row->sounds, seconds)) return;
    row_refuse(row, MX_REJECT_SPEAKING_RATE, "%zu sounds in %.2f s are %.1f a second; from %.1f to %.1f are believable",
               row->sounds, seconds, (double)row->sounds / seconds, rate->least, rate->most);
}

static int row_symbols(struct mx_row_reader *reader, struct mx_row *row)
{
    char name[MX_SYMBOL_NAME_BYTES];
    struct mx_symbols symbols;
    const struct mx_row_options *const options = &reader->options;
    const int rc = mx_reading_symbols(&reader->reading, options->tokens, reader->phonemizer, row->language,
                                      reader->spoken, &reader->arena, &symbols);
    row->symbol_count = symbols.count;
    if (rc < 0) return rc;
    if (row->symbol_count == 0) {
        row_refuse(row, MX_REJECT_EMPTY_TEXT, "the text has no sounds");
        return 0;
    }
    for (size_t i = 0; i < row->symbol_count; i++) {
        const bool known = options->vocabulary != NULL ? mx_vocabulary_find(options->vocabulary, symbols.codes[i]) >= 0
                           : options->tokens == MX_TOKENS_PHONEMES
                               ? mx_language_speaks(row->language, symbols.codes[i])
                               : true; /* a letter, which was looked at with the text */
        if (known) continue;
        row_refuse(row, MX_REJECT_UNKNOWN_SYMBOL, "%s %s", mx_symbol_name(symbols.codes[i], name),
                   options->vocabulary != NULL ? "is not in the vocabulary" : "is no phoneme");
        return 0;
    }
    row->symbols = symbols.codes;
    row->sounds = mx_rate_sounds(symbols.codes, symbols.count);
    return 0;
}

static void row_start(struct mx_row_reader *reader, struct mx_row *row)
{
    memset(row, 0, sizeof *row);
    row->spoken = "";
    mx_arena_reset(&reader->arena);
}

int mx_row_load_text(struct mx_row_reader *reader, const struct mx_utterance *utterance, struct mx_row *row)
{
    int rc = 0;
    row_start(reader, row);
    MX_TRY(row_text(reader, utterance, row));
    if (row->reject == MX_REJECT_NONE) MX_TRY(row_symbols(reader, row));
out:
    return rc;
}

int mx_row_load_audio(struct mx_row_reader *reader, const struct mx_utterance *utterance, struct mx_row *row)
{
    const float *samples = NULL;
    size_t count = 0;
    const int rc =
        mx_audio_load(reader->audio, utterance->audio, &reader->options.audio, &samples, &count, &row->audio);
    if (row->audio.reject != MX_REJECT_NONE) {
        row_refuse(row, row->audio.reject, "%s", row->audio.detail);
        return 0;
    }
    if (rc < 0) return rc;
    mx_row_judge_rate(&reader->options.rate, row);
    if (row->reject != MX_REJECT_NONE) return 0;
    row->samples = samples;
    row->sample_count = count;
    row->whole = mx_audio_whole(reader->audio, &row->whole_count);
    return 0;
}

int mx_row_load(struct mx_row_reader *reader, const struct mx_utterance *utterance, struct mx_row *row)
{
    int rc = 0;
    row_start(reader, row);
    MX_TRY(row_text(reader, utterance, row));
    if (row->reject == MX_REJECT_NONE) MX_TRY(row_symbols(reader, row));
    if (row->reject == MX_REJECT_NONE) MX_TRY(mx_row_load_audio(reader, utterance, row));
    if (row->reject != MX_REJECT_NONE) row->symbols = NULL;
out:
    return rc;
}
