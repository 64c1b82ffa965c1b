/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts plan: predicts the time of a step on many ranks, from a measured profile (profile.h) and two numbers about the
 * network; dist/predict.h has the arithmetic.
 *
 * JSON of --json, one object. Times are milliseconds, sizes bytes:
 *
 *     "format": "myxtts plan", "version": 1
 *     "profile": {"step_ms", "train_ms", "backward_ms", "update_ms", "variation", "data_ms", "utterances",
 *                 "gradient_bytes", "bucket_bytes", "buckets" (whose times were measured), "carry_ns_per_byte"}
 *     "network": {"bandwidth" (bytes a second), "latency_us"}
 *     "global_batch" (0: as many utterances a rank as measured)
 *     "ranks": [{"ranks", "step_ms", "efficiency", "speed", "compute_ms", "stragglers_ms", "sums_ms", "exposed_ms",
 *                "carry_ms", "agreements_ms", "data_wait_ms", "bytes_sent", "buckets",
 *                "way": "ring"|"tree"|"none", "limit"}]
 *     "least_efficiency", "largest_useful", "limit" (what holds up one rank more)
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "cli/command.h"
#include "dist/predict.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"

#define RANKS_DEFAULT      "1,2,8,64,512,1024"
#define RANKS_LISTED       64
#define EFFICIENCY_DEFAULT 0.5
#define PROFILE_BYTES_MAX  (64 << 20)

struct values {
    const char *profile, *ranks, *bandwidth, *latency, *efficiency;
    int64_t global_batch;
    bool json;
};

static const struct mx_option options[] = {
    {MX_OPTION_STRING(struct values, profile, "profile", "FILE", NULL,
                      "Profile of one rank, written by 'myxtts profile --json FILE'. Required.")},
    {MX_OPTION_STRING(struct values, ranks, "ranks", "N,N,...", RANKS_DEFAULT, "Numbers of ranks to predict.")},
    {MX_OPTION_STRING(struct values, bandwidth, "bandwidth", "GB/S", NULL,
                      "Gigabytes per second that a rank can send while it receives as much: a tenth to an eighth of "
                      "the Gbit/s of its network card, divided among the ranks of a machine. Required.")},
    {MX_OPTION_STRING(
        struct values, latency, "latency", "US", NULL,
        "Time of a small message in microseconds: about 1 with InfiniBand, 20 to 50 with TCP. Required.")},
    {MX_OPTION_INT(
        struct values, global_batch, "global-batch", "N", 1, INT64_C(1) << 30, "the profile's batch for each rank",
        "Divide N utterances per step among all ranks, instead of giving each rank a batch of the profile's size.")},
    {MX_OPTION_STRING(struct values, efficiency, "least-efficiency", "SHARE", "0.5",
                      "Minimum efficiency at which additional ranks still count as useful.")},
    {MX_OPTION_FLAG(struct values, json, "json", "Print one JSON object instead of the table.")},
};

static const struct mx_example examples[] = {
    {"myxtts profile --train-data my-corpus --json one.json", "measures one rank"},
    {"myxtts plan --profile one.json --bandwidth 1.25 --latency 30", "predicts the speed with 10 Gbit/s Ethernet"},
    {"myxtts plan --profile one.json --bandwidth 24 --latency 2 --ranks 8,64,512",
     "predicts the speed with 200 Gbit/s InfiniBand"},
    {"myxtts plan --profile one.json --bandwidth 1.25 --latency 30 --global-batch 256",
     "predicts the speed of steps of 256 utterances in total"},
};

/* ---- what the user gave ---- */

static int number_parse(const char *flag, const char *text, double least, double most, const char *hint, double *out)
{
    char quoted[96];
    if (text == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--%s' is missing", flag);
    if (mx_string_parse_double(text, out) == MX_STRING_NUMBER && *out >= least && *out <= most) return 0;
    return MX_FAIL(MX_ERR_USAGE, hint, "'--%s' needs a number from %g to %g, not %s", flag, least, most,
                   mx_string_quote(quoted, sizeof quoted, text));
}

/* "1,2,8" */
static int ranks_parse(const char *text, int64_t ranks[RANKS_LISTED], int *count)
{
    char word[32], quoted[96];
    for (*count = 0; *count < RANKS_LISTED;) {
        const size_t length = strcspn(text, ",");
        const bool fits = length < sizeof word;
        snprintf(word, sizeof word, "%.*s", fits ? (int)length : 0, text);
        if (!fits || mx_string_parse_int64(word, &ranks[*count]) != MX_STRING_NUMBER || ranks[*count] < 1 ||
            ranks[*count] > MX_PREDICT_RANKS_MAX)
            return MX_FAIL(MX_ERR_USAGE, "write them as '--ranks " RANKS_DEFAULT "'",
                           "'--ranks' needs numbers from 1 to %lld, separated by commas, not %s",
                           (long long)MX_PREDICT_RANKS_MAX, mx_string_quote(quoted, sizeof quoted, text));
        (*count)++;
        if (text[length] == '\0') return 0;
        text += length + 1;
    }
    return MX_FAIL(MX_ERR_USAGE, "look at them in several calls", "'--ranks' has more than %d numbers", RANKS_LISTED);
}

/* ---- the profile ---- */

/* A number of the profile by its path, "stages.train.mean". */
static int field(const char *file, const cJSON *root, const char *path, double *out)
{
    const cJSON *at = root;
    char word[64];
    for (const char *rest = path; at != NULL && *rest != '\0';) {
        const size_t length = strcspn(rest, ".");
        snprintf(word, sizeof word, "%.*s", (int)length, rest);
        at = cJSON_GetObjectItemCaseSensitive(at, word);
        rest += length + (rest[length] == '.');
    }
    if (!cJSON_IsNumber(at))
        return MX_FAIL(MX_ERR_FORMAT, "measure again with this version: 'myxtts profile --json FILE'",
                       "%s has no number '%s'", file, path);
    *out = at->valuedouble;
    return 0;
}

/* When each bucket was final. Devices that do not report it have none in their profiles. */
static int buckets_use(const char *file, const cJSON *list, struct mx_predict_input *in)
{
    int rc = 0, count = 0;
    const cJSON *item;
    struct mx_predict_bucket *buckets = NULL;
    if (cJSON_GetArraySize(list) == 0) return 0;
    buckets = mx_alloc((size_t)cJSON_GetArraySize(list), sizeof *buckets);
    if (buckets == NULL) return MX_ERR_NO_MEMORY;
    cJSON_ArrayForEach(item, list)
    {
        double bytes;
        MX_TRY(field(file, item, "bytes", &bytes));
        MX_TRY(field(file, item, "lead_ms", &buckets[count].lead_ms));
        if (!(bytes >= 0 && bytes < 1e15)) bytes = -1; /* is refused with all that cannot be */
        buckets[count++].bytes = (int64_t)bytes;
    }
    in->buckets = buckets;
    in->bucket_count = count;
    buckets = NULL;
out:
    mx_free(buckets);
    return rc;
}

static int profile_use(const char *file, const cJSON *root, struct mx_predict_input *in)
{
    int rc = 0;
    double accum, waits, steps, wall, bytes, bucket, utterances;
    const cJSON *const format = cJSON_GetObjectItemCaseSensitive(root, "format");
    if (!cJSON_IsString(format) || strcmp(format->valuestring, "myxtts profile") != 0)
        MX_RAISE(MX_ERR_FORMAT, "'myxtts profile --json FILE' writes one", "%s is not a profile", file);
    MX_TRY(field(file, root, "work.grad_accum", &accum));
    MX_TRY(field(file, root, "steps", &steps));
    MX_TRY(field(file, root, "wall_ms", &wall));
    MX_TRY(field(file, root, "stages.train.mean", &in->train_ms));
    MX_TRY(field(file, root, "step.frame_variation", &in->variation));
    MX_TRY(field(file, root, "idle.model_waits_for_data", &waits));
    MX_TRY(field(file, root, "plan.gradient_bytes", &bytes));
    MX_TRY(field(file, root, "plan.bucket_bytes", &bucket));
    MX_TRY(field(file, root, "plan.utterances", &utterances));
    MX_TRY(field(file, root, "plan.backward_ms", &in->backward_ms));
    MX_TRY(field(file, root, "plan.update_ms", &in->update_ms));
    if (!(steps >= 1) || !(bytes >= 0 && bytes < 1e15) || !(bucket >= 1 && bucket < 1e15) ||
        !(utterances >= 1 && utterances < 1e9))
        MX_RAISE(MX_ERR_FORMAT, "measure again: 'myxtts profile --json FILE'", "%s has impossible numbers", file);
    in->step_ms = wall / steps;
    in->train_ms *= accum;
    in->data_ms = fmin(in->step_ms, in->train_ms + waits * in->step_ms);
    in->gradient_bytes = (int64_t)bytes;
    in->bucket_bytes = (int64_t)bucket;
    in->utterances = (int64_t)(utterances + 0.5);
    const cJSON *const plan = cJSON_GetObjectItemCaseSensitive(root, "plan");
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(plan, "host_cores"))) in->carry_ns_per_byte = MX_PREDICT_CARRY_NS;
    MX_TRY(buckets_use(file, cJSON_GetObjectItemCaseSensitive(plan, "buckets"), in));
out:
    return rc;
}

static int profile_read(const char *file, struct mx_predict_input *in)
{
    int rc = 0;
    char *text = NULL;
    size_t bytes = 0;
    cJSON *root = NULL;
    if (file == NULL)
        return MX_FAIL(MX_ERR_USAGE, "measure one with 'myxtts profile --json FILE'", "'--profile FILE' is missing");
    MX_TRY(mx_file_read(file, PROFILE_BYTES_MAX, &text, &bytes));
    root = cJSON_ParseWithLength(text, bytes);
    if (root == NULL)
        MX_RAISE(MX_ERR_FORMAT, "'myxtts profile --json FILE' writes such a file", "%s is not JSON", file);
    MX_TRY(profile_use(file, root, in));
out:
    cJSON_Delete(root);
    mx_free(text);
    return rc;
}

/* ---- the table ---- */

static const char *way(const struct mx_predict_step *s)
{
    return s->ranks == 1 ? "none" : s->tree ? "tree" : "ring";
}

/* What to do about a limit. */
static const char *remedy(enum mx_predict_limit limit)
{
    switch (limit) {
    case MX_PREDICT_DATA:
        return "the data of a rank is late: pack the corpus ('myxtts prepare'), or more load workers";
    case MX_PREDICT_BANDWIDTH:
        return "larger batches a rank, or '--grad-accum', move the same bytes for more work; a faster network helps";
    case MX_PREDICT_LATENCY:
        return "larger batches a rank, or a network with less latency, help";
    case MX_PREDICT_CARRYING:
        return "the cores that train also carry the gradients: larger batches a rank, or '--grad-accum', move the same "
               "bytes for more work; fewer ranks with more cores each move less";
    case MX_PREDICT_STRAGGLERS:
        return "all wait for the slowest rank: leave the machines to this run alone";
    case MX_PREDICT_BATCH:
        return "there are more ranks than half the utterances of a step: a larger batch helps";
    default:
        return "nothing holds the ranks up to speak of";
    }
}

static void table_print(const struct mx_predict_input *in, const int64_t *ranks, int count)
{
    char gradients[MX_BYTES_TEXT_BYTES], sent[MX_BYTES_TEXT_BYTES];
    printf("One rank: %.1f ms a step of %" PRId64
           " utterances; training %.1f ms, including the last backward pass, %.1f ms, and the update, %.1f ms\n",
           in->step_ms, in->utterances, in->train_ms, in->backward_ms, in->update_ms);
    printf("Gradients: %s a step, in %" PRId64 " buckets, summed during the backward pass\n",
           mx_bytes_text((uint64_t)in->gradient_bytes, gradients), mx_predict_step(in, 1).buckets);
    if (in->global_batch > 0)
        printf("Batch: %" PRId64 " utterances a step over all ranks\n\n", in->global_batch);
    else
        printf("Batch: %" PRId64 " utterances a step for each rank\n\n", in->utterances);
    printf("%8s %11s %11s %10s %10s %10s %12s %5s  %s\n", "ranks", "step ms", "efficiency", "speed", "sums ms",
           "waited ms", "sent", "way", "limited by");
    for (int i = 0; i < count; i++) {
        const struct mx_predict_step s = mx_predict_step(in, ranks[i]);
        printf("%8" PRId64 " %11.1f %9.1f %% %9.1fx %10.1f %10.1f %12s %5s  %s\n", s.ranks, s.step_ms,
               100 * s.efficiency, s.speed, s.sum_ms, s.exposed_ms, mx_bytes_text((uint64_t)s.bytes_sent, sent),
               way(&s), mx_predict_limit_name(s.limit));
    }
}

static void useful_print(const struct mx_predict_input *in, double efficiency)
{
    const int64_t useful = mx_predict_useful(in, efficiency);
    if (useful >= MX_PREDICT_RANKS_MAX * 7 / 8) {
        printf("\nLargest useful number of ranks: more than were examined (%" PRId64 ")\n", useful);
        return;
    }
    const enum mx_predict_limit limit = mx_predict_step(in, useful + 1).limit;
    printf("\nLargest useful number of ranks: %" PRId64 " (at %.0f %% efficiency or more); then %s: %s\n", useful,
           100 * efficiency, mx_predict_limit_name(limit), remedy(limit));
}

/* ---- JSON ---- */

static int put(cJSON *object, const char *name, double value)
{
    return cJSON_AddNumberToObject(object, name, value) == NULL;
}

static int step_json(cJSON *list, const struct mx_predict_step *s)
{
    int failures = 0;
    cJSON *const o = cJSON_CreateObject();
    if (o == NULL || !cJSON_AddItemToArray(list, o)) {
        cJSON_Delete(o);
        return 1;
    }
    failures += put(o, "ranks", (double)s->ranks) + put(o, "step_ms", s->step_ms);
    failures += put(o, "efficiency", s->efficiency) + put(o, "speed", s->speed);
    failures += put(o, "compute_ms", s->compute_ms) + put(o, "stragglers_ms", s->straggle_ms);
    failures += put(o, "sums_ms", s->sum_ms) + put(o, "exposed_ms", s->exposed_ms);
    failures += put(o, "carry_ms", s->carry_ms);
    failures += put(o, "agreements_ms", s->agree_ms) + put(o, "data_wait_ms", s->data_wait_ms);
    failures += put(o, "bytes_sent", (double)s->bytes_sent) + put(o, "buckets", (double)s->buckets);
    failures += cJSON_AddStringToObject(o, "way", way(s)) == NULL;
    failures += cJSON_AddStringToObject(o, "limit", mx_predict_limit_name(s->limit)) == NULL;
    return failures;
}

static int json_print(const struct mx_predict_input *in, const int64_t *ranks, int count, double efficiency)
{
    int failures = 0;
    cJSON *const root = cJSON_CreateObject();
    const int64_t useful = mx_predict_useful(in, efficiency);
    failures += cJSON_AddStringToObject(root, "format", "myxtts plan") == NULL;
    failures += put(root, "version", 1);
    cJSON *const p = cJSON_AddObjectToObject(root, "profile");
    failures += put(p, "step_ms", in->step_ms) + put(p, "train_ms", in->train_ms);
    failures += put(p, "backward_ms", in->backward_ms) + put(p, "update_ms", in->update_ms);
    failures += put(p, "variation", in->variation) + put(p, "data_ms", in->data_ms);
    failures += put(p, "utterances", (double)in->utterances) + put(p, "gradient_bytes", (double)in->gradient_bytes);
    failures += put(p, "bucket_bytes", (double)in->bucket_bytes) + put(p, "buckets", (double)in->bucket_count);
    failures += put(p, "carry_ns_per_byte", in->carry_ns_per_byte);
    cJSON *const n = cJSON_AddObjectToObject(root, "network");
    failures += put(n, "bandwidth", in->bandwidth) + put(n, "latency_us", in->latency_ms * 1e3);
    failures += put(root, "global_batch", (double)in->global_batch);
    cJSON *const list = cJSON_AddArrayToObject(root, "ranks");
    for (int i = 0; i < count; i++) {
        const struct mx_predict_step s = mx_predict_step(in, ranks[i]);
        failures += step_json(list, &s);
    }
    const int64_t next = useful < MX_PREDICT_RANKS_MAX ? useful + 1 : useful;
    failures += put(root, "least_efficiency", efficiency) + put(root, "largest_useful", (double)useful);
    failures += cJSON_AddStringToObject(root, "limit", mx_predict_limit_name(mx_predict_step(in, next).limit)) == NULL;
    const int rc = mx_command_json(root, failures, NULL);
    cJSON_Delete(root);
    return rc;
}

/* ---- running ---- */

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const v = given;
    struct mx_predict_input in = {.global_batch = v->global_batch};
    int64_t ranks[RANKS_LISTED];
    int rc = 0, count;
    double gigabytes, latency_us, efficiency = EFFICIENCY_DEFAULT;
    (void)operands; /* the page takes none, so the parser refused them */
    MX_TRY(ranks_parse(v->ranks != NULL ? v->ranks : RANKS_DEFAULT, ranks, &count));
    MX_TRY(
        number_parse("bandwidth", v->bandwidth, 1e-6, 1e6, "10 Gbit/s are 1.25 GB/s: '--bandwidth 1.25'", &gigabytes));
    MX_TRY(
        number_parse("latency", v->latency, 0, 1e7, "a message over TCP takes 20 to 50: '--latency 30'", &latency_us));
    if (v->efficiency != NULL)
        MX_TRY(number_parse("least-efficiency", v->efficiency, 0.01, 1, "half of it is 0.5", &efficiency));
    MX_TRY(profile_read(v->profile, &in));
    in.bandwidth = gigabytes * 1e9;
    in.latency_ms = latency_us * 1e-3;
    MX_TRY(mx_predict_check(&in));
    if (v->json) {
        MX_TRY(json_print(&in, ranks, count, efficiency));
        goto out;
    }
    table_print(&in, ranks, count);
    useful_print(&in, efficiency);
out:
    mx_free((void *)(uintptr_t)in.buckets);
    return rc;
}

const struct mx_command mx_command_plan = {
    .name = "plan",
    .page =
        {
            .command = "myxtts plan",
            .summary = "predict the speed of training on many ranks from a profile of one",
            .description = "A rank is one process of 'mpirun -n N myxtts train'. In each step every rank computes the "
                           "gradients of its own batches; the gradients are summed over all ranks, in buckets, during "
                           "the backward pass; then all ranks make the same update. This command predicts how long a "
                           "step takes: transfer time by ring or tree at the given bandwidth, minus what the backward "
                           "pass hides, message latency, waiting for the slowest rank, and loading data.\nEfficiency "
                           "is the work done by all ranks divided by the work that the same number of independent "
                           "ranks would do. This is a prediction: if it matters, measure two ranks first and compare.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
