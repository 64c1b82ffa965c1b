/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for what a checkpoint or a voice file says: a good one in which the texts of up to two keys are
 * replaced by any bytes, read as if its hash were right. It is refused as damaged, or it can be written again and says
 * the same.
 * Built with clang -fsanitize=fuzzer,address,undefined.
 *
 * Input: the number of a key (from 128 on: of a voice file), a zero-terminated text, the number of another key, the rest is its text. (The bytes of
 * the file itself are the business of fuzz_safetensors.)
 */
#include <string.h>

#include "base/string.h"
#include "checkpoint/internal.h"
#include "fuzz.h"
#include "myxtts/error.h"

static const char *const speakers[] = {"ann", "bob"};
static const struct mx_checkpoint_metric metrics[] = {{"mel", 0.5}};
static const struct mx_metadata extras[] = {{"guard", "1 2 3"}};
static const struct mx_checkpoint_state example = {
    .step = 100,
    .epoch = 3,
    .step_in_epoch = 7,
    .pass = 100,
    .seed = 1,
    .data_fingerprint = 1,
    .has_best = true,
    .best = 0.5,
    .best_step = 90,
    .metrics = metrics,
    .metric_count = 1,
    .extras = extras,
    .extra_count = 1,
    .config = "model:\n  size: tiny\n",
    .model = {.size = {"tiny", 12, 2, 1, 1, 20}, .vocabulary = 4, .languages = 1, .bands = 5},
    .vocabulary = "{\"format\":\"myxtts-vocabulary\",\"version\":1,\"mode\":\"chars\",\"cleaner\":1,"
                  "\"languages\":[\"en\"],\"symbols\":[\" \",\"a\"]}",
    .speakers = speakers,
    .speaker_count = 2,
    .normaliser = {-5, 2, 1, 0.5, 180, 40},
    .recipe = "mx-mel-22k-80",
    .recipe_hash = "0123456789abcdef",
    .cleaner_version = 1,
    .audio_version = 1,
};

static void json_append(struct mx_string *out, const char *text)
{
    mx_string_append(out, "\"");
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == '"' || byte == '\\')
            mx_string_append(out, "\\u%04x", byte);
        else
            mx_string_append(out, "%c", byte);
    }
    mx_string_append(out, "\"");
}

/* A file without tensors that says these words. */
static int file_parse(const struct mx_metadata *items, size_t count, struct mx_string *header, unsigned char **bytes,
                      struct mx_safetensors **out)
{
    mx_string_append(header, "{\"__metadata__\":{");
    for (size_t i = 0; i < count; i++) {
        mx_string_append(header, "%s", i > 0 ? "," : "");
        json_append(header, items[i].key);
        mx_string_append(header, ":");
        json_append(header, items[i].text);
    }
    mx_string_append(header, "}}");
    *bytes = malloc(8 + header->length);
    check(header->failure == 0 && *bytes != NULL);
    for (int i = 0; i < 8; i++) (*bytes)[i] = (unsigned char)((uint64_t)header->length >> 8 * i);
    memcpy(*bytes + 8, header->data, header->length);
    return mx_safetensors_parse("fuzz", *bytes, 8 + header->length, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mx_arena arena;
    struct mx_metadata *items, *again;
    size_t count, again_count;
    struct mx_string header = {0};
    unsigned char *bytes = NULL;
    struct mx_safetensors *file = NULL;
    struct mx_checkpoint_state state;
    if (size < 2) return 0;
    const bool voice = data[0] >= 0x80;
    struct mx_checkpoint_state good = example;
    if (voice) {
        good.voice = true;
        good.voice_name = "Ann";
        good.voice_licence = "CC-BY-4.0";
        good.voice_attribution = "";
        good.metric_count = good.extra_count = 0;
        good.has_best = false;
        good.best = 0;
        good.best_step = 0;
    }
    mx_arena_init(&arena, 0);
    check(mx_checkpoint_state_write(&good, &arena, &items, &count) == 0);
    char *const input = mx_arena_alloc(&arena, size + 1, 1); /* with a zero at the end */
    check(input != NULL);
    memcpy(input, data, size);
    const size_t end = 1 + strlen(input + 1); /* of the first text */
    items[(data[0] & 0x7F) % count].text = input + 1;
    if (end + 1 < size) items[data[end + 1] % count].text = input + end + 2;
    if (file_parse(items, count, &header, &bytes, &file) == 0) {
        const int rc = mx_checkpoint_state_read(file, "fuzz", voice, &arena, &state);
        check(rc == 0 || rc == MX_ERR_FORMAT);
        if (rc == 0) {
            check(mx_checkpoint_state_write(&state, &arena, &again, &again_count) == 0 && again_count == count);
            for (size_t i = 0; i < again_count; i++) /* as numbers have several forms, only the keys and our words */
                check(strcmp(again[i].key, items[i].key) == 0);
            check(strcmp(state.config, mx_safetensors_metadata(file, "config")) == 0);
            check(state.voice == voice &&
                  (!voice || strcmp(state.voice_name, mx_safetensors_metadata(file, "voice.name")) == 0));
            check(state.best_step <= state.step && state.normaliser.mel_deviation > 0);
        }
    } else {
        check(mx_error_last()->code == MX_ERR_FORMAT); /* the text was not UTF-8 */
    }
    mx_safetensors_close(file);
    free(bytes);
    mx_string_release(&header);
    mx_arena_release(&arena);
    return 0;
}
