/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts inspect: shows the contents of a checkpoint, a voice file, or any safetensors file.
 *
 * The file is checked as for training, then described: where the run was, its model and data, and for each tensor its
 * type, shape, range and whether all numbers are finite.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/string.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/json_tree.h"
#include "myxtts/error.h"
#include "text/vocabulary.h"

#define SPEAKERS_SHOWN  8
#define SHAPE_BYTES     96
#define VOCODER_UPDATES "vocoder.updates" /* among the trainer's texts: see run/state.c */

struct values {
    bool json, all, config;
};

static const struct mx_option options[] = {
    {MX_OPTION_FLAG(struct values, json, "json", "Print everything as one JSON object instead of tables.")},
    {MX_OPTION_FLAG(struct values, all, "all",
                    "Also list the averaged weights and the optimizer state, not only the weights.")},
    {MX_OPTION_FLAG(struct values, config, "config", "Print only the settings of the run.")},
};

static const struct mx_example examples[] = {
    {"myxtts inspect runs/ann", "describes the newest checkpoint of a run"},
    {"myxtts inspect runs/ann/checkpoints/best.safetensors --json", "prints the best checkpoint as JSON"},
    {"myxtts inspect runs/ann --config > ann.yaml", "recovers the settings of a run"},
    {"myxtts inspect ann.voice.safetensors", "describes a voice file: name, licence, speakers, precision"},
};

/* ---- numbers of a tensor ---- */

struct summary {
    uint64_t count, not_finite;
    double least, most, mean; /* of the finite ones; 0 when there are none */
};

/* IEEE 754 half precision. */
static double half_read(uint16_t bits)
{
    const int exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 0x1F) return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 0x400, exponent - 25));
}

/* The tensor may stand at any byte. */
static double element_read(enum mx_dtype dtype, const unsigned char *at)
{
#define READ(type, expression)                                                                                         \
    do {                                                                                                               \
        type value;                                                                                                    \
        memcpy(&value, at, sizeof value);                                                                              \
        return (double)(expression);                                                                                   \
    } while (0)
    switch (dtype) {
    case MX_DTYPE_F64:
        READ(double, value);
    case MX_DTYPE_F32:
        READ(float, value);
    case MX_DTYPE_F16:
        READ(uint16_t, half_read(value));
    case MX_DTYPE_BF16:
        READ(uint16_t, mx_tensor_widen(value));
    case MX_DTYPE_I64:
        READ(int64_t, value);
    case MX_DTYPE_I32:
        READ(int32_t, value);
    case MX_DTYPE_I16:
        READ(int16_t, value);
    case MX_DTYPE_I8:
        READ(int8_t, value);
    case MX_DTYPE_U64:
        READ(uint64_t, value);
    case MX_DTYPE_U32:
        READ(uint32_t, value);
    case MX_DTYPE_U16:
        READ(uint16_t, value);
    case MX_DTYPE_U8:
    case MX_DTYPE_BOOL:
        READ(uint8_t, value);
    case MX_DTYPE_COUNT:
        break;
    }
#undef READ
    return (double)NAN;
}

static struct summary tensor_summarise(const struct mx_tensor *tensor)
{
    struct summary s = {0};
    double sum = 0;
    const size_t width = mx_dtype_bytes(tensor->dtype);
    const unsigned char *const data = tensor->data;
    s.count = tensor->bytes / width;
    for (uint64_t i = 0; i < s.count; i++) {
        const double value = element_read(tensor->dtype, data + i * width);
        if (!isfinite(value)) {
            s.not_finite++;
            continue;
        }
        const bool first = i == s.not_finite;
        if (first || value < s.least) s.least = value;
        if (first || value > s.most) s.most = value;
        sum += value;
    }
    if (s.count > s.not_finite) s.mean = sum / (double)(s.count - s.not_finite);
    return s;
}

/* ---- output ---- */

struct inspection {
    struct mx_checkpoint *checkpoint;
    const struct mx_checkpoint_state *state; /* NULL: some other file */
    const struct mx_safetensors *file;
    struct mx_vocabulary *vocabulary;
    struct summary *summaries; /* of each tensor */
    struct mx_arena arena;     /* of what is printed */
    uint64_t bytes;            /* of the file */
    uint64_t tensors[MX_CHECKPOINT_GROUPS], numbers[MX_CHECKPOINT_GROUPS], not_finite[MX_CHECKPOINT_GROUPS];
    uint64_t parameters[MX_CHECKPOINT_PARTS]; /* numbers of the weights */
};

static int inspection_open(struct inspection *in, const char *path)
{
    int rc = 0;
    const char *name;
    struct stat status;
    const struct mx_checkpoint_options any = {.foreign = true, .named = true};
    MX_TRY(mx_checkpoint_open(path, &any, &in->checkpoint));
    in->state = mx_checkpoint_state(in->checkpoint);
    in->file = mx_checkpoint_tensors(in->checkpoint);
    if (stat(mx_checkpoint_path(in->checkpoint), &status) == 0) in->bytes = (uint64_t)status.st_size;
    if (in->state != NULL && !in->state->vocoder_alone)
        MX_TRY(mx_vocabulary_read(in->state->vocabulary, strlen(in->state->vocabulary), &in->vocabulary));
    const size_t count = mx_safetensors_count(in->file);
    in->summaries = mx_alloc(count, sizeof *in->summaries);
    if (in->summaries == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < count; i++) {
        const struct mx_tensor *const tensor = mx_safetensors_at(in->file, i);
        const enum mx_checkpoint_group group = mx_checkpoint_group_of(tensor->name, &name);
        in->summaries[i] = tensor_summarise(tensor);
        if (in->state != NULL && in->state->voice && mx_checkpoint_part_of(name) == MX_CHECKPOINT_VECTORS) continue;
        in->tensors[group]++;
        in->numbers[group] += in->summaries[i].count;
        in->not_finite[group] += in->summaries[i].not_finite;
        if (group == MX_CHECKPOINT_WEIGHTS) in->parameters[mx_checkpoint_part_of(name)] += in->summaries[i].count;
    }
out:
    return rc;
}

static void inspection_close(struct inspection *in)
{
    mx_arena_release(&in->arena);
    mx_free(in->summaries);
    mx_vocabulary_destroy(in->vocabulary);
    mx_checkpoint_close(in->checkpoint);
}

/* ---- as text ---- */

/* Without control characters, C1 too: a file from elsewhere must not inject terminal escapes. */
static const char *safe(struct inspection *in, const char *text)
{
    char *const copy = mx_arena_strdup(&in->arena, text);
    if (copy == NULL) return "?";
    for (size_t at = 0, end = strlen(copy); at < end;) {
        const size_t step = mx_string_printable(copy + at, end - at);
        if (step == 0) copy[at] = '?';
        at += step == 0 ? 1 : step;
    }
    return copy;
}

/* The network that makes mel, and what it was trained on. */
static void model_print(struct inspection *in)
{
    const struct mx_checkpoint_state *const s = in->state;
    const struct mx_model_size *const size = &s->model.size;
    printf("  model       %s: %" PRIu64 " parameters; width %d, %d heads, %d + %d blocks of %d\n", safe(in, size->name),
           in->parameters[MX_CHECKPOINT_ACOUSTIC], size->width, size->heads, size->encoder_blocks, size->decoder_blocks,
           size->hidden);
    printf("  vocabulary  %zu tokens (%s), languages", mx_vocabulary_size(in->vocabulary),
           mx_tokens_mode_name(mx_vocabulary_mode(in->vocabulary)));
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (mx_vocabulary_language(in->vocabulary, (enum mx_language_id)i) >= 0)
            printf(" %s", mx_language_get((enum mx_language_id)i)->code);
    const size_t words = mx_lexicon_count(mx_vocabulary_reading(in->vocabulary)->lexicon);
    if (words > 0) printf("\n  lexicon     %zu word%s", words, words == 1 ? "" : "s");
    printf("\n  speakers    %zu:", s->speaker_count);
    for (size_t i = 0; i < s->speaker_count && i < SPEAKERS_SHOWN; i++)
        printf("%s %s", i > 0 ? "," : "", safe(in, s->speakers[i]));
    printf("%s\n", s->speaker_count > SPEAKERS_SHOWN ? ", …; --json lists all" : "");
}

static void vocoder_print(struct inspection *in)
{
    const struct mx_vocoder_size *const size = &in->state->vocoder.size;
    printf("  vocoder     %s: %" PRIu64 " parameters; width %d, %d blocks of %d", safe(in, size->name),
           in->parameters[MX_CHECKPOINT_VOCODER], size->width, size->blocks, size->hidden);
    const char *const updates = mx_checkpoint_extra(in->state, VOCODER_UPDATES);
    if (updates != NULL) printf("; updated %s times", safe(in, updates));
    printf("\n");
}

/* How the weights are stored. */
static const char *precision_of(const struct inspection *in)
{
    const char *name;
    for (size_t i = 0; i < mx_safetensors_count(in->file); i++) {
        const struct mx_tensor *const tensor = mx_safetensors_at(in->file, i);
        (void)mx_checkpoint_group_of(tensor->name, &name);
        if (mx_checkpoint_part_of(name) != MX_CHECKPOINT_VECTORS && tensor->dtype == MX_DTYPE_BF16) return "bf16";
    }
    return "fp32";
}

static uint64_t vectors_count(const struct inspection *in)
{
    uint64_t count = 0;
    for (size_t i = 0; i < mx_safetensors_count(in->file); i++)
        count += mx_checkpoint_part_of(mx_safetensors_at(in->file, i)->name) == MX_CHECKPOINT_VECTORS;
    return count;
}

/* What a voice file says of itself. */
static void voice_print(struct inspection *in)
{
    const struct mx_checkpoint_state *const s = in->state;
    printf("  voice       %s\n", safe(in, s->voice_name));
    printf("  licence     %s\n", s->voice_licence[0] != '\0' ? safe(in, s->voice_licence) : "not stated");
    printf("  attribution %s\n", s->voice_attribution[0] != '\0' ? safe(in, s->voice_attribution) : "not stated");
    printf("  precision   %s\n", precision_of(in));
    printf("  run         step %" PRIu64 ", seed %" PRIu64 "\n", s->step, s->seed);
}

/* The hash by which adapters know the file, and the base of one that has adapters. */
static void base_print(struct inspection *in, const struct mx_checkpoint_state *s)
{
    const char *const hash = mx_checkpoint_file_hash(in->checkpoint);
    const char *const base = mx_checkpoint_extra(s, MX_CHECKPOINT_BASE_HASH);
    const char *const name = mx_checkpoint_extra(s, MX_CHECKPOINT_BASE_NAME);
    if (hash != NULL) printf("  hash        %s\n", hash);
    if (base == NULL) return;
    printf("  adapters    on %s, hash %s", name != NULL ? safe(in, name) : "?", base);
    printf("%s\n", s->voice ? ", from which everything else comes" : "");
}

static void state_print(struct inspection *in)
{
    const struct mx_checkpoint_state *const s = in->state;
    const char *const program = mx_safetensors_metadata(in->file, "program");
    if (s->voice)
        voice_print(in);
    else
        printf("  run         step %" PRIu64 ", epoch %" PRIu64 " at its batch %" PRIu64 ", seed %" PRIu64 "\n",
               s->step, s->epoch, s->step_in_epoch, s->seed);
    if (s->has_best) printf("  best        %.6g at step %" PRIu64 "\n", s->best, s->best_step);
    for (size_t i = 0; i < s->metric_count; i++)
        printf("  %-11s %s %.6g\n", i == 0 ? "evaluation" : "", safe(in, s->metrics[i].name), s->metrics[i].value);
    if (!s->vocoder_alone) model_print(in);
    if (s->voice)
        printf("              the file keeps the voice of %" PRIu64 " of them%s\n", vectors_count(in),
               mx_checkpoint_listens(in->checkpoint) ? "" : " and cannot imitate others");
    if (s->has_vocoder) vocoder_print(in);
    if (s->voice && !s->has_vocoder) printf("  vocoder     none: Griffin-Lim makes the sound\n");
    printf("  recipe      %s (%s)\n", safe(in, s->recipe), s->recipe_hash);
    printf("  normaliser  mel %.4f ± %.4f, energy %.4f ± %.4f, pitch %.2f ± %.2f Hz\n", s->normaliser.mel_mean,
           s->normaliser.mel_deviation, s->normaliser.energy_mean, s->normaliser.energy_deviation,
           s->normaliser.pitch_mean, s->normaliser.pitch_deviation);
    printf("  written by  myxtts %s, text cleaner %" PRIu64 ", audio reader %" PRIu64 "\n",
           program != NULL ? safe(in, program) : "?", s->cleaner_version, s->audio_version);
    base_print(in, s);
}

static void groups_print(const struct inspection *in)
{
    char title[32] = "weights";
    for (int i = 0; i < MX_CHECKPOINT_GROUPS; i++) {
        if (in->tensors[i] == 0) continue;
        if (i > 0) snprintf(title, sizeof title, "%s*", mx_checkpoint_group_prefix((enum mx_checkpoint_group)i));
        printf("  %-11s %" PRIu64 " tensors, %" PRIu64 " numbers, ", title, in->tensors[i], in->numbers[i]);
        if (in->not_finite[i] == 0)
            printf("all finite\n");
        else
            printf("%" PRIu64 " NOT FINITE\n", in->not_finite[i]);
    }
}

static char *shape_format(char out[SHAPE_BYTES], const struct mx_tensor *tensor)
{
    size_t used = (size_t)snprintf(out, SHAPE_BYTES, "[");
    for (int i = 0; i < tensor->rank && used < SHAPE_BYTES; i++)
        used += (size_t)snprintf(out + used, SHAPE_BYTES - used, "%s%" PRIu64, i > 0 ? ", " : "", tensor->shape[i]);
    if (used < SHAPE_BYTES) snprintf(out + used, SHAPE_BYTES - used, "]");
    return out;
}

static void tensors_print(struct inspection *in, bool all)
{
    const char *rest;
    char shape[SHAPE_BYTES];
    int name_width = 4, shape_width = 5;
    for (int pass = 0; pass < 2; pass++) { /* first the widths, then the table */
        if (pass == 1)
            printf("\n%-*s  %-5s %-*s %12s %12s %12s %10s\n", name_width, "name", "dtype", shape_width, "shape",
                   "least", "most", "mean", "not finite");
        for (size_t i = 0; i < mx_safetensors_count(in->file); i++) {
            const struct mx_tensor *const tensor = mx_safetensors_at(in->file, i);
            const struct summary *const s = &in->summaries[i];
            if (!all && mx_checkpoint_group_of(tensor->name, &rest) != MX_CHECKPOINT_WEIGHTS) continue;
            shape_format(shape, tensor);
            if (pass == 1) {
                printf("%-*s  %-5s %-*s %12.5g %12.5g %12.5g %10" PRIu64 "\n", name_width, safe(in, tensor->name),
                       mx_dtype_name(tensor->dtype), shape_width, shape, s->least, s->most, s->mean, s->not_finite);
                continue;
            }
            if ((int)strlen(tensor->name) > name_width) name_width = (int)strlen(tensor->name);
            if ((int)strlen(shape) > shape_width) shape_width = (int)strlen(shape);
        }
    }
}

static void inspection_print(struct inspection *in, bool all)
{
    printf("%s: %.2f MB%s\n", mx_checkpoint_path(in->checkpoint), (double)in->bytes / 1e6,
           in->state == NULL  ? ", a safetensors file but no checkpoint"
           : in->state->voice ? ", a voice"
                              : "");
    if (in->state != NULL) {
        state_print(in);
        groups_print(in);
    } else {
        for (size_t i = 0; i < mx_safetensors_metadata_count(in->file); i++) {
            const struct mx_metadata *const item = mx_safetensors_metadata_at(in->file, i);
            printf("  %-11s %s\n", safe(in, item->key), safe(in, item->text));
        }
    }
    tensors_print(in, all || in->state == NULL);
}

/* ---- as JSON ---- */

static void json_append(cJSON *array, cJSON *item, int *failures)
{
    if (item != NULL && cJSON_AddItemToArray(array, item)) return;
    cJSON_Delete(item);
    ++*failures;
}

static void json_number(cJSON *object, const char *name, double value, int *failures)
{
    mx_command_json_check(cJSON_AddNumberToObject(object, name, value), failures); /* null where it is not finite */
}

static void json_text(cJSON *object, const char *name, const char *text, int *failures)
{
    mx_command_json_check(cJSON_AddStringToObject(object, name, text), failures);
}

static void model_json(cJSON *root, const struct inspection *in, int *failures)
{
    const struct mx_checkpoint_state *const s = in->state;
    cJSON *const model = cJSON_AddObjectToObject(root, "model");
    json_text(model, "size", s->model.size.name, failures);
    json_number(model, "parameters", (double)in->parameters[MX_CHECKPOINT_ACOUSTIC], failures);
    json_number(model, "width", s->model.size.width, failures);
    json_number(model, "heads", s->model.size.heads, failures);
    json_number(model, "encoder_blocks", s->model.size.encoder_blocks, failures);
    json_number(model, "decoder_blocks", s->model.size.decoder_blocks, failures);
    json_number(model, "hidden", s->model.size.hidden, failures);
    json_number(model, "bands", s->model.bands, failures);
    cJSON *const vocabulary = cJSON_Parse(s->vocabulary);
    if (vocabulary == NULL || !cJSON_AddItemToObject(root, "vocabulary", vocabulary)) {
        cJSON_Delete(vocabulary);
        ++*failures;
    }
    cJSON *const speakers = cJSON_AddArrayToObject(root, "speakers");
    for (size_t i = 0; i < s->speaker_count; i++) json_append(speakers, cJSON_CreateString(s->speakers[i]), failures);
    if (s->speaker_languages == NULL) return;
    cJSON *const languages = cJSON_AddArrayToObject(root, "speaker_languages");
    for (size_t i = 0; i < s->speaker_count; i++)
        json_append(languages, cJSON_CreateString(s->speaker_languages[i]), failures);
}

static void vocoder_json(cJSON *root, const struct inspection *in, int *failures)
{
    const struct mx_vocoder_size *const size = &in->state->vocoder.size;
    cJSON *const vocoder = cJSON_AddObjectToObject(root, "vocoder");
    json_text(vocoder, "size", size->name, failures);
    json_number(vocoder, "parameters", (double)in->parameters[MX_CHECKPOINT_VOCODER], failures);
    json_number(vocoder, "width", size->width, failures);
    json_number(vocoder, "blocks", size->blocks, failures);
    json_number(vocoder, "hidden", size->hidden, failures);
}

static void voice_json(cJSON *root, const struct inspection *in, int *failures)
{
    cJSON *const voice = cJSON_AddObjectToObject(root, "voice");
    json_text(voice, "name", in->state->voice_name, failures);
    json_text(voice, "licence", in->state->voice_licence, failures);
    json_text(voice, "attribution", in->state->voice_attribution, failures);
    json_text(voice, "precision", precision_of(in), failures);
    mx_command_json_check(cJSON_AddBoolToObject(voice, "listens", mx_checkpoint_listens(in->checkpoint)), failures);
    json_number(voice, "speakers_kept", (double)vectors_count(in), failures);
}

/* Where a run is. */
static void progress_json(cJSON *root, const struct mx_checkpoint_state *s, int *failures)
{
    char number[32];
    json_number(root, "epoch", (double)s->epoch, failures);
    json_number(root, "step_in_epoch", (double)s->step_in_epoch, failures);
    json_number(root, "pass", (double)s->pass, failures);
    snprintf(number, sizeof number, "%016" PRIx64, s->data_fingerprint);
    json_text(root, "data_fingerprint", number, failures);
    if (s->has_best) {
        json_number(root, "best", s->best, failures);
        json_number(root, "best_step", (double)s->best_step, failures);
    }
    cJSON *const metrics = cJSON_AddObjectToObject(root, "metrics");
    for (size_t i = 0; i < s->metric_count; i++)
        json_number(metrics, s->metrics[i].name, s->metrics[i].value, failures);
    cJSON *const extras = cJSON_AddObjectToObject(root, "state");
    for (size_t i = 0; i < s->extra_count; i++) json_text(extras, s->extras[i].key, s->extras[i].text, failures);
}

/* The metadata unchanged, except that numbers which JSON can hold become numbers, and lists become lists. */
static void state_json(cJSON *root, const struct inspection *in, int *failures)
{
    const struct mx_checkpoint_state *const s = in->state;
    char number[32];
    json_number(root, "step", (double)s->step, failures);
    snprintf(number, sizeof number, "%" PRIu64, s->seed); /* a double does not have this many digits */
    json_text(root, "seed", number, failures);
    if (s->voice)
        voice_json(root, in, failures);
    else
        progress_json(root, s, failures);
    if (!s->vocoder_alone) model_json(root, in, failures);
    if (s->has_vocoder) vocoder_json(root, in, failures);
    cJSON *const normaliser = cJSON_AddObjectToObject(root, "normaliser");
    json_number(normaliser, "mel_mean", s->normaliser.mel_mean, failures);
    json_number(normaliser, "mel_deviation", s->normaliser.mel_deviation, failures);
    json_number(normaliser, "energy_mean", s->normaliser.energy_mean, failures);
    json_number(normaliser, "energy_deviation", s->normaliser.energy_deviation, failures);
    json_number(normaliser, "pitch_mean", s->normaliser.pitch_mean, failures);
    json_number(normaliser, "pitch_deviation", s->normaliser.pitch_deviation, failures);
    json_text(root, "recipe", s->recipe, failures);
    json_text(root, "recipe_hash", s->recipe_hash, failures);
    json_number(root, "cleaner_version", (double)s->cleaner_version, failures);
    json_number(root, "audio_version", (double)s->audio_version, failures);
    json_text(root, "config", s->config, failures);
    json_text(root, "hash", mx_checkpoint_file_hash(in->checkpoint), failures);
    const char *const base = mx_checkpoint_extra(s, MX_CHECKPOINT_BASE_HASH);
    const char *const name = mx_checkpoint_extra(s, MX_CHECKPOINT_BASE_NAME);
    if (base != NULL) json_text(root, "adapter_base", base, failures);
    if (name != NULL) json_text(root, "adapter_base_name", name, failures);
}

static void tensors_json(cJSON *root, const struct inspection *in, int *failures)
{
    cJSON *const list = cJSON_AddArrayToObject(root, "tensors");
    for (size_t i = 0; i < mx_safetensors_count(in->file); i++) {
        const struct mx_tensor *const tensor = mx_safetensors_at(in->file, i);
        cJSON *const object = cJSON_CreateObject();
        json_text(object, "name", tensor->name, failures);
        json_text(object, "dtype", mx_dtype_name(tensor->dtype), failures);
        cJSON *const shape = cJSON_AddArrayToObject(object, "shape");
        for (int k = 0; k < tensor->rank; k++)
            json_append(shape, cJSON_CreateNumber((double)tensor->shape[k]), failures);
        json_number(object, "least", in->summaries[i].least, failures);
        json_number(object, "most", in->summaries[i].most, failures);
        json_number(object, "mean", in->summaries[i].mean, failures);
        json_number(object, "not_finite", (double)in->summaries[i].not_finite, failures);
        json_append(list, object, failures);
    }
}

static int inspection_json(const struct inspection *in)
{
    int failures = 0;
    cJSON *const root = cJSON_CreateObject();
    json_text(root, "file", mx_checkpoint_path(in->checkpoint), &failures);
    json_number(root, "bytes", (double)in->bytes, &failures);
    mx_command_json_check(cJSON_AddBoolToObject(root, "checkpoint", in->state != NULL && !in->state->voice), &failures);
    if (in->state != NULL) state_json(root, in, &failures);
    tensors_json(root, in, &failures);
    const int rc = mx_command_json(root, failures, NULL);
    cJSON_Delete(root);
    return rc;
}

/* ---- the command ---- */

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    struct inspection in = {0};
    mx_arena_init(&in.arena, 0);
    if (operands->count == 0)
        return MX_FAIL(MX_ERR_USAGE, "see 'myxtts inspect --help'", "name a checkpoint, a voice file or a run folder");
    if (values->config && (values->json || values->all))
        return MX_FAIL(MX_ERR_USAGE, "give it alone", "'--config' prints the configuration and nothing else");
    if (values->json && values->all)
        return MX_FAIL(MX_ERR_USAGE, "leave '--all' out", "'--json' always lists all tensors");
    MX_TRY(inspection_open(&in, operands->items[0]));
    if (values->config && in.state == NULL)
        MX_RAISE(MX_ERR_DATA, "name a checkpoint of 'myxtts train'", "%s has no configuration", operands->items[0]);
    if (values->config)
        fputs(in.state->config, stdout);
    else if (values->json)
        MX_TRY(inspection_json(&in));
    else
        inspection_print(&in, values->all);
out:
    inspection_close(&in);
    return rc;
}

const struct mx_command mx_command_inspect = {
    .name = "inspect",
    .page =
        {
            .command = "myxtts inspect",
            .operands = "FILE|RUN",
            .operand_max = 1,
            .summary = "show the contents of a checkpoint or a voice file",
            .description = "Checks a checkpoint (of a run folder: the newest one) and shows the progress of the run, "
                           "its model, vocabulary, speakers and features, and its tensors with types, shapes, ranges "
                           "and the number of values that are not finite. Of a voice file it shows name, licence, "
                           "attribution and precision instead of the progress. Other safetensors files are shown as "
                           "far as possible. A damaged file is refused, with the reason.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
