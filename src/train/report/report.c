/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of metrics and their values, see report.h. Owns no memory.
 */
#include "train/report/report.h"

const struct mx_metric mx_step_metric_table[MX_STEP_METRICS] = {
#define SHOWN(key, type, presence, rule, value, tag, label, chart, words)                                              \
    {#key, MX_METRIC_##type, MX_METRIC_##presence, MX_METRIC_##rule, tag, label, chart, false, false},
#define PLAIN(key, type, presence, rule, value, tag)                                                                   \
    {#key, MX_METRIC_##type, MX_METRIC_##presence, MX_METRIC_##rule, tag, NULL, NULL, false, false},
#define LOSS(NAME, key, over, weight, words)                                                                           \
    {#key, MX_METRIC_NUMBER, MX_METRIC_ALWAYS, MX_METRIC_MEAN, "loss/" #key, NULL, NULL, false, true},
    MX_STEP_METRIC_LIST(SHOWN, PLAIN, LOSS)
#undef SHOWN
#undef PLAIN
#undef LOSS
};

const struct mx_metric mx_evaluation_metric_table[MX_EVALUATION_METRICS] = {
#define SPOKEN(key, presence, value, tag, label, percent, words)                                                       \
    {#key, MX_METRIC_NUMBER, MX_METRIC_##presence, MX_METRIC_UNSEEN, tag, label, "spoken", percent, false},
#define PLAIN(key, type, presence, value, tag)                                                                         \
    {#key, MX_METRIC_##type, MX_METRIC_##presence, MX_METRIC_UNSEEN, tag, NULL, NULL, false, false},
#define LOSS(NAME, key, over, weight, words)                                                                           \
    {#key, MX_METRIC_NUMBER, MX_METRIC_ALWAYS, MX_METRIC_UNSEEN, "validation/" #key, NULL, NULL, false, true},
    MX_EVALUATION_METRIC_LIST(SPOKEN, PLAIN, LOSS)
#undef SPOKEN
#undef PLAIN
#undef LOSS
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
    return (struct mx_step_metrics){.values = {
#define SHOWN(key, type, presence, rule, value, ...) value,
#define LOSS(NAME, key, over, weight, words)         r->losses.values[MX_LOSS_##NAME],
                                        MX_STEP_METRIC_LIST(SHOWN, SHOWN, LOSS)
#undef SHOWN
#undef LOSS
                                    }};
}

struct mx_evaluation_metrics mx_evaluation_metrics_of(int64_t step, const struct mx_trainer_evaluation *e)
{
    return (struct mx_evaluation_metrics){.values = {
#define SPOKEN(key, presence, value, tag, label, percent, words) value,
#define PLAIN(key, type, presence, value, tag)                   value,
#define LOSS(NAME, key, over, weight, words)                     e->losses.values[MX_LOSS_##NAME],
                                              MX_EVALUATION_METRIC_LIST(SPOKEN, PLAIN, LOSS)
#undef SPOKEN
#undef PLAIN
#undef LOSS
                                          }};
}
