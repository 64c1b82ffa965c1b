/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Voices as files, see voice.h.
 */
#include "export/voice.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "export/lexicon.h"
#include "export/neighbours.h"
#include "export/symbols.h"
#include "myxtts/error.h"
#include "speech/speak.h"

const char *const mx_export_formats[MX_EXPORT_FORMATS + 1] = {
#define X(identifier, name) name,
    MX_EXPORT_FORMAT_LIST(X)
#undef X
};

/* ---- the graph ---- */

/* audio [samples]: from and to silence, as in src/speech/speak.c. */
static struct mx_onnx_value fade(struct mx_onnx *o, const struct mx_recipe *recipe, struct mx_onnx_value audio)
{
    const double length = floor(MX_SPEAK_FADE_MS * recipe->rate / 1000 + 0.5);
    const struct mx_onnx_value count = mx_export_rows(o, audio);
    const struct mx_onnx_value place = mx_export_range(o, count);
    const struct mx_onnx_value last = MX_ONNX(o, "Sub", count, mx_onnx_int(o, 1));
    const struct mx_onnx_value nearest = MX_ONNX(o, "Min", place, MX_ONNX(o, "Sub", last, place));
    const struct mx_onnx_value distance =
        MX_ONNX(o, "Add", mx_export_cast(o, nearest, MX_ONNX_FLOAT), mx_onnx_real(o, 0.5));
    const struct mx_onnx_value gain =
        MX_ONNX(o, "Min", MX_ONNX(o, "Div", distance, mx_onnx_real(o, length)), mx_onnx_real(o, 1));
    return MX_ONNX(o, "Mul", audio, gain);
}

/* durations int64 [tokens] at their places among the ids: float [1, ids] */
static struct mx_onnx_value durations_spread(struct mx_onnx *o, struct mx_onnx_value row,
                                             const struct mx_export_reading *reading, struct mx_onnx_value durations)
{
    const struct mx_onnx_value zero = MX_ONNX_LIST(o, 0);
    const struct mx_onnx_value none = MX_ONNX(o, "Expand", zero, MX_ONNX(o, "Shape", row));
    const struct mx_onnx_value all =
        MX_ONNX_WITH(o, "ScatterElements", (MX_ONNX_A_INT("axis", 0), MX_ONNX_A_TEXT("reduction", "add")), none,
                     reading->places, durations);
    return mx_export_unsqueeze(o, mx_export_cast(o, all, MX_ONNX_FLOAT), 0);
}

static void graph_build(struct mx_onnx *o, const struct mx_export_voice *v, const struct mx_export_symbols *symbols)
{
    const struct mx_export acoustic = {.onnx = o, .table = v->table, .weights = v->weights};
    const struct mx_export vocoder = {.onnx = o, .table = v->vocoder_table, .weights = v->vocoder_weights};
    const struct mx_onnx_dimension one[] = {{NULL, 1}}, ids[] = {{NULL, 1}, {"ids", 0}};
    struct mx_export_acoustic_inputs in = {.speaker = {.name = ""}};
    const struct mx_onnx_value input = mx_onnx_input(o, "input", MX_ONNX_INT64, ids, 2);
    (void)mx_onnx_input(o, "input_lengths", MX_ONNX_INT64, one, 1);
    const struct mx_onnx_value scales =
        mx_onnx_input(o, "scales", MX_ONNX_FLOAT, (const struct mx_onnx_dimension[]){{NULL, 3}}, 1);
    if (v->speech.speakers > 1) in.speaker = mx_onnx_input(o, "sid", MX_ONNX_INT64, one, 1);
    const struct mx_onnx_value row = mx_export_squeeze(o, input, 0);
    const struct mx_export_reading reading = mx_export_symbols_read(o, symbols, row);
    in.tokens = reading.tokens;
    in.slower = MX_ONNX(o, "Gather", scales, mx_onnx_int(o, 1));
    const struct mx_export_acoustic_outputs spoken = mx_export_acoustic(&acoustic, &v->speech, &in);
    const struct mx_onnx_value audio = mx_export_sound(&vocoder, &v->sound, spoken.mel, spoken.frames);
    const struct mx_onnx_value faded = fade(o, &v->sound.config->recipe, audio);
    const struct mx_onnx_value output = MX_ONNX(o, "Reshape", faded, MX_ONNX_LIST(o, 1, 1, 1, -1));
    mx_onnx_output(o, output, "output", MX_ONNX_FLOAT,
                   (const struct mx_onnx_dimension[]){{NULL, 1}, {NULL, 1}, {NULL, 1}, {"samples", 0}}, 4);
    mx_onnx_output(o, durations_spread(o, row, &reading, spoken.durations), "durations", MX_ONNX_FLOAT, ids, 2);
}

/* The marks of the voice, which sherpa-onnx then sends along with the words of its lexicon. */
static void marks_add(struct mx_onnx *o, const struct mx_vocabulary *vocabulary)
{
    char list[2 * sizeof MX_EXPORT_MARKS] = "";
    for (const char *mark = MX_EXPORT_MARKS; *mark != 0; mark++)
        if (mx_vocabulary_find(vocabulary, (uint32_t)*mark) >= 0)
            (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%c", list[0] != 0 ? " " : "", *mark);
    mx_onnx_metadata(o, "punctuation", list);
}

/* What sherpa-onnx reads; Piper ignores it. */
static void metadata_add(struct mx_onnx *o, const struct mx_export_voice *v)
{
    const struct mx_language *const language = mx_language_get(v->language);
    char number[32];
    mx_onnx_metadata(o, "model_type", "vits");
    mx_onnx_metadata(o, "comment", "piper");
    mx_onnx_metadata(o, "language", language->name);
    mx_onnx_metadata(o, "voice", language->voice);
    (void)snprintf(number, sizeof number, "%d", (int)v->speech.speakers);
    mx_onnx_metadata(o, "n_speakers", number);
    (void)snprintf(number, sizeof number, "%d", (int)v->sound.config->recipe.rate);
    mx_onnx_metadata(o, "sample_rate", number);
    mx_onnx_metadata(o, "version", "1");
    marks_add(o, v->vocabulary);
    if (mx_vocabulary_mode(v->vocabulary) == MX_TOKENS_PHONEMES) {
        mx_onnx_metadata(o, "has_espeak", "1");
        return;
    }
    mx_onnx_metadata(o, "has_espeak", "0");
    mx_onnx_metadata(o, "frontend", "characters");
    mx_onnx_metadata(o, "use_eos_bos", "1");
    (void)snprintf(number, sizeof number, "%d", MX_EXPORT_BEGIN);
    mx_onnx_metadata(o, "bos_id", number);
    (void)snprintf(number, sizeof number, "%d", MX_EXPORT_END_OF_TEXT);
    mx_onnx_metadata(o, "eos_id", number);
    mx_onnx_metadata(o, "add_blank", "0");
}

/* ---- beside it ---- */

static const char *const own_spellings[MX_EXPORT_FIRST] = {"_", "^", "$"};

static bool spelling_add(cJSON *map, const char *key, int64_t id)
{
    cJSON *const list = cJSON_AddArrayToObject(map, key);
    cJSON *const number = cJSON_CreateNumber((double)id);
    if (list != NULL && number != NULL && cJSON_AddItemToArray(list, number)) return true;
    cJSON_Delete(number);
    return false;
}

static bool config_fill(cJSON *root, const struct mx_export_voice *v, const struct mx_export_symbols *symbols)
{
    const struct mx_language *const language = mx_language_get(v->language);
    const bool phonemes = mx_vocabulary_mode(v->vocabulary) == MX_TOKENS_PHONEMES;
    cJSON *const audio = cJSON_AddObjectToObject(root, "audio");
    cJSON *const espeak = cJSON_AddObjectToObject(root, "espeak");
    cJSON *const words = cJSON_AddObjectToObject(root, "language");
    cJSON *const inference = cJSON_AddObjectToObject(root, "inference");
    bool whole = audio != NULL && espeak != NULL && words != NULL && inference != NULL &&
                 cJSON_AddNumberToObject(audio, "sample_rate", v->sound.config->recipe.rate) != NULL &&
                 cJSON_AddStringToObject(espeak, "voice", language->voice) != NULL &&
                 cJSON_AddStringToObject(words, "code", language->code) != NULL &&
                 cJSON_AddStringToObject(words, "name_english", language->name) != NULL &&
                 /* Our speech has no randomness, so Piper's two noise scales have no effect. */
                 cJSON_AddNumberToObject(inference, "noise_scale", 0) != NULL &&
                 cJSON_AddNumberToObject(inference, "length_scale", 1) != NULL &&
                 cJSON_AddNumberToObject(inference, "noise_w", 0) != NULL &&
                 cJSON_AddStringToObject(root, "phoneme_type", phonemes ? "espeak" : "text") != NULL &&
                 cJSON_AddNumberToObject(root, "hop_length", v->sound.config->recipe.hop) != NULL &&
                 cJSON_AddNumberToObject(root, "num_symbols", (double)symbols->ids) != NULL &&
                 cJSON_AddNumberToObject(root, "num_speakers", v->speech.speakers) != NULL;
    cJSON *const map = cJSON_AddObjectToObject(root, "phoneme_id_map");
    cJSON *const speakers = cJSON_AddObjectToObject(root, "speaker_id_map");
    whole = whole && map != NULL && speakers != NULL;
    for (int i = 0; whole && i < MX_EXPORT_FIRST; i++) whole = spelling_add(map, own_spellings[i], i);
    for (size_t i = 0; whole && i < symbols->spelling_count; i++) {
        char key[MX_SYMBOL_UTF8_BYTES];
        mx_symbol_utf8(symbols->spellings[i].point, key);
        whole = spelling_add(map, key, symbols->spellings[i].id);
    }
    for (int32_t i = 0; whole && v->speech.speakers > 1 && i < v->speech.speakers; i++)
        whole = cJSON_AddNumberToObject(speakers, v->speakers[i], i) != NULL;
    return whole;
}

static int config_write(const struct mx_export_voice *v, const struct mx_export_symbols *symbols, const char *path)
{
    int rc = 0;
    cJSON *const root = cJSON_CreateObject();
    char *const text = root != NULL && config_fill(root, v, symbols) ? cJSON_Print(root) : NULL;
    if (text == NULL) MX_TRY(mx_alloc_failed(path));
    MX_TRY(mx_file_write_atomic(path, text, strlen(text)));
out:
    cJSON_free(text);
    cJSON_Delete(root);
    return rc;
}

static int tokens_write(const struct mx_export_voice *v, const struct mx_export_symbols *symbols, const char *path)
{
    struct mx_string text = {0};
    int rc = 0;
    for (int i = 0; i < MX_EXPORT_FIRST; i++) (void)mx_string_append(&text, "%s %d\n", own_spellings[i], i);
    for (size_t i = 0; i < symbols->spelling_count; i++) {
        char key[MX_SYMBOL_UTF8_BYTES];
        mx_symbol_utf8(symbols->spellings[i].point, key);
        (void)mx_string_append(&text, "%s %lld\n", key, (long long)symbols->spellings[i].id);
    }
    for (unsigned silent = 0; v->words != NULL && symbols->neighbours && silent < MX_EXPORT_ALWAYS_SILENT; silent++)
        for (int64_t id = silent == 0 ? symbols->article : MX_EXPORT_FIRST; id < symbols->ids; id++) {
            char sign[MX_SYMBOL_UTF8_BYTES];
            mx_symbol_utf8(mx_export_neighbours_sign(symbols, id, silent), sign);
            (void)mx_string_append(&text, "%s %lld\n", sign, (long long)(id + symbols->ids * (int64_t)silent));
        }
    if (v->words != NULL && mx_export_symbols_has_blank(v->vocabulary))
        (void)mx_string_append(&text, MX_EXPORT_BLANK " %lld\n", (long long)symbols->space + 1);
    MX_TRY(text.failure);
    MX_TRY(mx_file_write_atomic(path, text.data, text.length));
out:
    mx_string_release(&text);
    return rc;
}

/* ---- all of it ---- */

/* The files of one format beside the graph. */
static int sherpa_write(const struct mx_export_voice *v, const struct mx_export_symbols *symbols, const char *folder,
                        size_t *words)
{
    int rc = 0;
    char *const tokens = mx_format("%s/" MX_EXPORT_TOKENS, folder);
    char *const lexicon = mx_format("%s/" MX_EXPORT_LEXICON, folder);
    if (tokens == NULL || lexicon == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (v->words != NULL)
        MX_TRY(mx_export_lexicon_write(v->vocabulary, symbols, v->language, v->words, lexicon, words));
    MX_TRY(tokens_write(v, symbols, tokens));
out:
    mx_free(tokens);
    mx_free(lexicon);
    return rc;
}

int mx_export_voice_write(const struct mx_export_voice *v, enum mx_export_format format, const char *folder,
                          struct mx_export_report *report)
{
    int rc = 0;
    struct mx_onnx onnx = {0};
    struct mx_export_symbols symbols = {0};
    size_t words = 0;
    char *const graph = mx_format("%s/" MX_EXPORT_GRAPH, folder), *const config =
                                                                      mx_format("%s/" MX_EXPORT_CONFIG, folder);
    if (graph == NULL || config == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_export_symbols_build(v->vocabulary, &symbols));
    graph_build(&onnx, v, &symbols);
    metadata_add(&onnx, v);
    MX_TRY(format == MX_EXPORT_PIPER ? config_write(v, &symbols, config) : sherpa_write(v, &symbols, folder, &words));
    MX_TRY(mx_onnx_write(&onnx, graph));
    if (report != NULL)
        *report = (struct mx_export_report){.symbols = (size_t)symbols.ids, .words = words, .bytes = onnx.graph.length};
out:
    mx_onnx_release(&onnx);
    mx_export_symbols_release(&symbols);
    mx_free(graph);
    mx_free(config);
    return rc;
}
