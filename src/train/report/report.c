/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of metrics and their values, see report.h. Owns no memory.
 */
#include "train/report/report.h"

/* A row: the metric of this name in the structs of report.h, and the members of struct mx_metric. */
#define STEP(member, ...)       [MX_STEP_METRIC_AT(member)] = {.key = #member, __VA_ARGS__}
#define EVALUATION(member, ...) [MX_EVALUATION_METRIC_AT(member)] = {.key = #member, __VA_ARGS__}

const struct mx_metric mx_step_metric_table[MX_STEP_METRICS] = {
    STEP(step, .type = MX_METRIC_COUNT, .rule = MX_METRIC_LAST),
    STEP(epoch, .type = MX_METRIC_COUNT, .rule = MX_METRIC_LAST, .tag = "training/epoch"),
    STEP(loss, .rule = MX_METRIC_MEAN, .tag = "loss/total"),
#define X(NAME, name, over, weight, words) STEP(name, .tag = "loss/" #name, .rule = MX_METRIC_MEAN, .loss = true),
    // clang-format off
    MX_LOSS_LIST(X) // clang-format on
#undef X
    STEP(lr, .rule = MX_METRIC_MEAN, .tag = "training/learning_rate", .label = "lr", .chart = "rate"),
    STEP(grad_norm, .rule = MX_METRIC_HIGHEST, .tag = "training/grad_norm", .label = "gradient", .chart = "gradient"),
    STEP(vocoder_loss, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_MEAN, .tag = "vocoder/loss",
         .label = "vocoder", .chart = "loss"),
    STEP(vocoder_magnitude, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_MEAN, .tag = "vocoder/magnitude",
         .chart = "loss"),
    STEP(vocoder_pitch, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_MEAN, .tag = "vocoder/pitch",
         .chart = "loss"),
    STEP(vocoder_burst, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_MEAN, .tag = "vocoder/burst",
         .chart = "loss"),
    STEP(vocoder_lr, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_MEAN, .tag = "vocoder/learning_rate",
         .chart = "rate"),
    STEP(vocoder_grad_norm, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_HIGHEST, .tag = "vocoder/grad_norm",
         .chart = "gradient"),
    STEP(vocoder_frames, .type = MX_METRIC_COUNT, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_SUM),
    STEP(vocoder_skipped, .type = MX_METRIC_FLAG, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_SUM),
    STEP(utterances, .type = MX_METRIC_COUNT, .rule = MX_METRIC_SUM),
    STEP(left_out, .type = MX_METRIC_COUNT, .rule = MX_METRIC_SUM),
    STEP(tokens, .type = MX_METRIC_COUNT),
    STEP(frames, .type = MX_METRIC_COUNT, .rule = MX_METRIC_SUM),
    STEP(share, .presence = MX_METRIC_OPTIONAL),
    STEP(shared_frames, .type = MX_METRIC_COUNT, .presence = MX_METRIC_OPTIONAL),
    STEP(skipped, .type = MX_METRIC_FLAG, .rule = MX_METRIC_SUM),
    STEP(loss_z, .rule = MX_METRIC_UNSEEN),
    STEP(grad_z, .rule = MX_METRIC_UNSEEN),
    STEP(step_ms, .type = MX_METRIC_MS, .rule = MX_METRIC_MEAN, .tag = "speed/step_ms", .chart = "time"),
    STEP(data_wait_ms, .type = MX_METRIC_MS, .rule = MX_METRIC_MEAN, .tag = "speed/data_wait_ms", .chart = "time"),
    STEP(vocoder_ms, .type = MX_METRIC_MS, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_MEAN,
         .tag = "speed/vocoder_ms", .chart = "time"),
    STEP(frames_per_s, .type = MX_METRIC_SPEED, .rule = MX_METRIC_MEAN, .tag = "speed/frames_per_s", .chart = "speed"),
    STEP(data_busy, .type = MX_METRIC_SHARE, .rule = MX_METRIC_MEAN, .tag = "devices/data_busy"),
    STEP(model_busy, .type = MX_METRIC_SHARE, .rule = MX_METRIC_MEAN, .tag = "devices/model_busy"),
    STEP(data_wait, .type = MX_METRIC_SHARE, .rule = MX_METRIC_MEAN, .tag = "devices/data_wait"),
    STEP(transfer, .type = MX_METRIC_SHARE, .rule = MX_METRIC_MEAN, .tag = "devices/transfer"),
    STEP(transfer_hidden, .type = MX_METRIC_SHARE, .rule = MX_METRIC_MEAN, .tag = "devices/transfer_hidden"),
    STEP(load_cpu_ms, .type = MX_METRIC_MS, .presence = MX_METRIC_MEASURED, .rule = MX_METRIC_MEAN,
         .tag = "stages/load_cpu_ms", .chart = "time"),
    STEP(load_blocked_ms, .type = MX_METRIC_MS, .presence = MX_METRIC_MEASURED, .rule = MX_METRIC_MEAN,
         .tag = "stages/load_blocked_ms", .chart = "time"),
    STEP(process_cpu_ms, .type = MX_METRIC_MS, .presence = MX_METRIC_MEASURED, .tag = "stages/process_cpu_ms"),
    STEP(process_blocked_ms, .type = MX_METRIC_MS, .presence = MX_METRIC_MEASURED, .tag = "stages/process_blocked_ms"),
    STEP(transfer_cpu_ms, .type = MX_METRIC_MS, .presence = MX_METRIC_OPTIONAL, .tag = "stages/transfer_cpu_ms"),
    STEP(transfer_blocked_ms, .type = MX_METRIC_MS, .presence = MX_METRIC_OPTIONAL,
         .tag = "stages/transfer_blocked_ms"),
    STEP(train_cpu_ms, .type = MX_METRIC_MS, .presence = MX_METRIC_MEASURED, .tag = "stages/train_cpu_ms"),
    STEP(train_blocked_ms, .type = MX_METRIC_MS, .presence = MX_METRIC_MEASURED, .tag = "stages/train_blocked_ms"),
    STEP(load_workers, .type = MX_METRIC_COUNT, .rule = MX_METRIC_LAST, .tag = "queues/load_workers"),
    STEP(loaded, .type = MX_METRIC_COUNT, .rule = MX_METRIC_MEAN, .tag = "queues/loaded"),
    STEP(prepared, .type = MX_METRIC_COUNT, .rule = MX_METRIC_MEAN, .tag = "queues/prepared"),
    STEP(arrived, .type = MX_METRIC_COUNT, .rule = MX_METRIC_MEAN, .tag = "queues/arrived"),
    STEP(loaded_limit, .type = MX_METRIC_COUNT, .rule = MX_METRIC_LAST),
    STEP(prepared_limit, .type = MX_METRIC_COUNT, .rule = MX_METRIC_LAST),
    STEP(arrived_limit, .type = MX_METRIC_COUNT, .rule = MX_METRIC_LAST),
    STEP(data_bytes, .type = MX_METRIC_BYTES, .rule = MX_METRIC_HIGHEST, .tag = "memory/data_MiB"),
    STEP(model_bytes, .type = MX_METRIC_BYTES, .rule = MX_METRIC_HIGHEST, .tag = "memory/model_MiB"),
    STEP(data_limit_bytes, .type = MX_METRIC_BYTES, .rule = MX_METRIC_LAST, .tag = "memory/data_limit_MiB"),
    STEP(model_limit_bytes, .type = MX_METRIC_BYTES, .rule = MX_METRIC_LAST, .tag = "memory/model_limit_MiB"),
    STEP(variation, .type = MX_METRIC_SHARE),
    STEP(data_driver_busy, .type = MX_METRIC_SHARE, .presence = MX_METRIC_OPTIONAL, .tag = "devices/data_driver_busy"),
    STEP(data_driver_bytes, .type = MX_METRIC_BYTES, .presence = MX_METRIC_OPTIONAL, .tag = "memory/data_driver_MiB"),
    STEP(model_driver_busy, .type = MX_METRIC_SHARE, .presence = MX_METRIC_OPTIONAL,
         .tag = "devices/model_driver_busy"),
    STEP(model_driver_bytes, .type = MX_METRIC_BYTES, .presence = MX_METRIC_OPTIONAL, .tag = "memory/model_driver_MiB"),
    STEP(leak_bytes, .type = MX_METRIC_LEAK, .presence = MX_METRIC_OPTIONAL),
    STEP(steps, .type = MX_METRIC_COUNT, .presence = MX_METRIC_OPTIONAL, .rule = MX_METRIC_LAST),
    STEP(time, .type = MX_METRIC_COUNT, .rule = MX_METRIC_LAST),
};

const struct mx_metric mx_evaluation_metric_table[MX_EVALUATION_METRICS] = {
    EVALUATION(step, .type = MX_METRIC_COUNT),
    EVALUATION(utterances, .type = MX_METRIC_COUNT),
    EVALUATION(loss, .tag = "validation/total"),
#define X(NAME, name, over, weight, words) EVALUATION(name, .tag = "validation/" #name, .loss = true),
    MX_LOSS_LIST(X)
#undef X
        EVALUATION(spoken, .type = MX_METRIC_COUNT),
    EVALUATION(vocoder_loss, .presence = MX_METRIC_OPTIONAL, .tag = "validation/vocoder_loss"),
    EVALUATION(vocoder_magnitude, .presence = MX_METRIC_OPTIONAL, .tag = "validation/vocoder_magnitude"),
    EVALUATION(vocoder_pitch, .presence = MX_METRIC_OPTIONAL, .tag = "validation/vocoder_pitch"),
    EVALUATION(vocoder_burst, .presence = MX_METRIC_OPTIONAL, .tag = "validation/vocoder_burst"),
    EVALUATION(mel_db, .presence = MX_METRIC_MEASURED, .tag = "spoken/mel_db", .label = "dB from the recordings",
               .chart = "spoken"),
    EVALUATION(duration_error, .presence = MX_METRIC_MEASURED, .tag = "spoken/duration_error", .chart = "spoken",
               .percent = true),
    EVALUATION(pitch_semitones, .presence = MX_METRIC_MEASURED, .tag = "spoken/pitch_semitones", .chart = "spoken"),
};

/* What the driver of a device reports, if anything. */
static double driver_busy(const struct mx_device_load *load)
{
    return load->memory_bytes > 0 ? load->busy : NAN;
}

static double driver_bytes(const struct mx_device_load *load)
{
    return load->memory_bytes > 0 ? (double)load->memory_used_bytes : NAN;
}

/* A non-finite loss of the vocoder has no value either; vocoder_skipped is then true. */
static double vocoder_value(const struct mx_trainer_report *r, double value)
{
    return r->vocoder.frames > 0 ? value : NAN;
}

struct mx_step_metrics mx_step_metrics_of(const struct mx_trainer_report *r)
{
    return (struct mx_step_metrics){
        .step = (double)r->step,
        .epoch = r->epoch,
        .loss = r->losses.total,
#define X(NAME, name, over, weight, words) .name = r->losses.values[MX_LOSS_##NAME],
        MX_LOSS_LIST(X)
#undef X
            .lr = r->rate,
        .grad_norm = r->grad_norm,
        .vocoder_loss = vocoder_value(r, r->vocoder.losses.total),
        .vocoder_magnitude = vocoder_value(r, r->vocoder.losses.values[MX_VOCODER_LOSS_MAGNITUDE]),
        .vocoder_pitch = vocoder_value(r, r->vocoder.losses.values[MX_VOCODER_LOSS_PITCH]),
        .vocoder_burst = vocoder_value(r, r->vocoder.losses.values[MX_VOCODER_LOSS_BURST]),
        .vocoder_lr = vocoder_value(r, r->vocoder.rate),
        .vocoder_grad_norm = vocoder_value(r, r->vocoder.grad_norm),
        .vocoder_frames = vocoder_value(r, (double)r->vocoder.frames),
        .vocoder_skipped = vocoder_value(r, r->vocoder.guard.verdict >= MX_GUARD_SKIPPED),
        .utterances = (double)r->utterances,
        .left_out = (double)r->left_out,
        .tokens = (double)r->tokens,
        .frames = (double)r->frames,
        .share = r->sharing ? r->share : NAN,
        .shared_frames = r->sharing ? (double)r->shared_frames : NAN,
        .skipped = r->guard.verdict >= MX_GUARD_SKIPPED,
        .loss_z = r->guard.loss_z,
        .grad_z = r->guard.norm_z,
        .step_ms = (double)r->step_ns * 1e-6,
        .data_wait_ms = (double)r->wait_ns * 1e-6,
        .vocoder_ms = vocoder_value(r, (double)r->vocoder.busy_ns * 1e-6),
        .frames_per_s = (double)r->frames * 1e9 / (double)(r->step_ns > 0 ? r->step_ns : 1),
        .data_busy = r->flow.data_busy,
        .model_busy = r->flow.model_busy,
        .data_wait = r->flow.data_wait,
        .transfer = r->flow.transfer,
        .transfer_hidden = r->flow.transfer_hidden,
        .load_cpu_ms = r->flow.cpu_ns[MX_STAGE_LOAD] * 1e-6,
        .load_blocked_ms = r->flow.blocked_ns[MX_STAGE_LOAD] * 1e-6,
        .process_cpu_ms = r->flow.cpu_ns[MX_STAGE_PROCESS] * 1e-6,
        .process_blocked_ms = r->flow.blocked_ns[MX_STAGE_PROCESS] * 1e-6,
        .transfer_cpu_ms = r->flow.cpu_ns[MX_STAGE_TRANSFER] * 1e-6,
        .transfer_blocked_ms = r->flow.blocked_ns[MX_STAGE_TRANSFER] * 1e-6,
        .train_cpu_ms = r->flow.cpu_ns[MX_STAGE_TRAIN] * 1e-6,
        .train_blocked_ms = r->flow.blocked_ns[MX_STAGE_TRAIN] * 1e-6,
        .load_workers = r->flow.levels.workers_active,
        .loaded = r->flow.levels.loaded,
        .prepared = r->flow.levels.prepared,
        .arrived = r->flow.levels.arrived,
        .loaded_limit = r->flow.levels.loaded_limit,
        .prepared_limit = r->flow.levels.prepared_limit,
        .arrived_limit = r->flow.levels.arrived_limit,
        .data_bytes = (double)r->flow.data_bytes,
        .model_bytes = (double)r->flow.model_bytes,
        .data_limit_bytes = (double)r->flow.data_limit_bytes,
        .model_limit_bytes = (double)r->flow.model_limit_bytes,
        .variation = r->flow.variation,
        .data_driver_busy = driver_busy(&r->flow.data_load),
        .data_driver_bytes = driver_bytes(&r->flow.data_load),
        .model_driver_busy = driver_busy(&r->flow.model_load),
        .model_driver_bytes = driver_bytes(&r->flow.model_load),
        .leak_bytes = r->flow.leak[0] != '\0' ? (double)r->flow.leak_bytes : NAN,
        .steps = NAN,
        .time = NAN,
    };
}

struct mx_evaluation_metrics mx_evaluation_metrics_of(int64_t step, const struct mx_trainer_evaluation *e)
{
    return (struct mx_evaluation_metrics){
        .step = (double)step,
        .utterances = e->utterances,
        .loss = e->losses.total,
#define X(NAME, name, over, weight, words) .name = e->losses.values[MX_LOSS_##NAME],
        MX_LOSS_LIST(X)
#undef X
            .spoken = e->spoken,
        .vocoder_loss = e->vocoder_frames > 0 ? e->vocoder.total : NAN,
        .vocoder_magnitude = e->vocoder_frames > 0 ? e->vocoder.values[MX_VOCODER_LOSS_MAGNITUDE] : NAN,
        .vocoder_pitch = e->vocoder_frames > 0 ? e->vocoder.values[MX_VOCODER_LOSS_PITCH] : NAN,
        .vocoder_burst = e->vocoder_frames > 0 ? e->vocoder.values[MX_VOCODER_LOSS_BURST] : NAN,
        .mel_db = e->mel_db,
        .duration_error = e->duration_error,
        .pitch_semitones = e->pitch_error,
    };
}
