/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The prediction, see predict.h.
 */
#include "dist/predict.h"

#include <math.h>

#include "myxtts/error.h"

#define AGREEMENTS  2    /* of a step: counts before the backward pass, losses after it */
#define HARDLY      0.02 /* a negligible share of the computing */
#define RANKS_TRIED 4096 /* one by one; beyond, by eighths of powers of two: efficiency changes slowly there */

const char *mx_predict_limit_name(enum mx_predict_limit limit)
{
    static const char *const names[MX_PREDICT_LIMITS] = {"compute",  "data",       "bandwidth", "latency",
                                                         "carrying", "stragglers", "batch"};
    return names[limit];
}

static int buckets_check(const struct mx_predict_input *in, const char *hint)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < in->bucket_count; i++) {
        const struct mx_predict_bucket *const b = &in->buckets[i];
        if (b->bytes < 0 || !(b->lead_ms >= 0) || b->lead_ms > in->train_ms * 1.001)
            return MX_FAIL(MX_ERR_ARGUMENT, hint,
                           "a bucket of %lld bytes that is final %g ms before the end of a backward pass is impossible",
                           (long long)b->bytes, b->lead_ms);
        bytes += b->bytes;
    }
    if (in->bucket_count == 0 || bytes == in->gradient_bytes) return 0;
    return MX_FAIL(MX_ERR_ARGUMENT, hint, "buckets of %lld bytes do not make up %lld bytes of gradients",
                   (long long)bytes, (long long)in->gradient_bytes);
}

int mx_predict_check(const struct mx_predict_input *in)
{
    const char *const hint = "take a profile of a whole run: 'myxtts profile --json FILE'";
    if (!(in->step_ms > 0) || !(in->train_ms > 0) || !isfinite(in->step_ms) || !isfinite(in->train_ms))
        return MX_FAIL(MX_ERR_ARGUMENT, hint, "a step of %g ms with %g ms of training is impossible", in->step_ms,
                       in->train_ms);
    if (!(in->backward_ms >= 0) || !(in->update_ms >= 0) || in->backward_ms + in->update_ms > in->train_ms * 1.001)
        return MX_FAIL(MX_ERR_ARGUMENT, hint,
                       "a backward pass of %g ms and an update of %g ms do not fit into %g ms of training",
                       in->backward_ms, in->update_ms, in->train_ms);
    if (!(in->variation >= 0) || !(in->data_ms >= 0) || in->utterances < 1 || in->gradient_bytes < 0 ||
        in->bucket_bytes < 1 || in->bucket_count < 0 || !(in->carry_ns_per_byte >= 0) || in->global_batch < 0)
        return MX_FAIL(MX_ERR_ARGUMENT, hint, "the profile has a number below 0, or a step without utterances");
    if (!(in->bandwidth > 0) || !isfinite(in->bandwidth) || !(in->latency_ms >= 0) || !isfinite(in->latency_ms))
        return MX_FAIL(MX_ERR_ARGUMENT, "10 Gbit/s are 1.25 GB/s; messages take 1 to 50 microseconds",
                       "a network of %g bytes per second with %g ms per message is impossible", in->bandwidth,
                       in->latency_ms);
    return buckets_check(in, hint);
}

static double rounds_of(int64_t ranks)
{
    return ceil(log2((double)ranks));
}

static bool power_of_two(int64_t ranks)
{
    return (ranks & (ranks - 1)) == 0;
}

/* How many deviations the largest of N normal numbers lies above their mean, on average. The integral of the mean of a
 * maximum, ∫ x d(Φ(x)^N) = X - ∫ Φ(x)^N dx over [-X, X], since Φ(-X)^N is nothing there for N ≥ 2. */
static double largest_of(int64_t ranks)
{
    const double edge = 9, width = 1.0 / 32;
    double area = 0;
    if (ranks == 1) return 0;
    for (double x = -edge + width / 2; x < edge; x += width)
        area += width * pow(0.5 * erfc(-x / sqrt(2)), (double)ranks);
    return edge - area;
}

/* The parts of the time that the sum of one bucket takes. */
struct cost {
    double latency_ms, bytes_ms;
    bool tree;
};

/* Of a byte that is sent: no network is faster than the core that feeds it. */
static double byte_ms(const struct mx_predict_input *in)
{
    return fmax(1e3 / in->bandwidth, in->carry_ns_per_byte * 1e-6);
}

static struct cost sum_cost(const struct mx_predict_input *in, int64_t ranks, double bytes)
{
    const double n = (double)ranks, wire_ms = bytes * byte_ms(in), rounds = rounds_of(ranks);
    struct cost ring = {.latency_ms = 2 * (n - 1) * in->latency_ms, .bytes_ms = 2 * (n - 1) / n * wire_ms};
    struct cost tree = {.latency_ms = 2 * rounds * in->latency_ms, .bytes_ms = ring.bytes_ms, .tree = true};
    if (ranks == 1) return (struct cost){.tree = false};
    if (!power_of_two(ranks)) tree.bytes_ms += 2 * wire_ms;
    return tree.latency_ms + tree.bytes_ms < ring.latency_ms + ring.bytes_ms ? tree : ring;
}

static void limit_choose(struct mx_predict_step *out, double latency_share)
{
    const double parts[MX_PREDICT_LIMITS] = {[MX_PREDICT_COMPUTE] = HARDLY * out->compute_ms,
                                             [MX_PREDICT_DATA] = out->data_wait_ms,
                                             [MX_PREDICT_BANDWIDTH] = out->exposed_ms * (1 - latency_share),
                                             [MX_PREDICT_LATENCY] = out->exposed_ms * latency_share + out->agree_ms,
                                             [MX_PREDICT_CARRYING] = out->carry_ms,
                                             [MX_PREDICT_STRAGGLERS] = out->straggle_ms};
    out->limit = MX_PREDICT_COMPUTE;
    for (int i = 1; i < MX_PREDICT_BATCH; i++)
        if (parts[i] > parts[out->limit]) out->limit = (enum mx_predict_limit)i;
}

static int64_t bucket_count(const struct mx_predict_input *in)
{
    return in->bucket_count > 0 ? in->bucket_count : (in->gradient_bytes + in->bucket_bytes - 1) / in->bucket_bytes;
}

/* Bucket `i`, as it was measured or as it would be if all came evenly. */
static struct mx_predict_bucket bucket_at(const struct mx_predict_input *in, int64_t i)
{
    if (in->bucket_count > 0) return in->buckets[i];
    const int64_t count = bucket_count(in), rest = in->gradient_bytes - i * in->bucket_bytes;
    return (struct mx_predict_bucket){.bytes = rest < in->bucket_bytes ? rest : in->bucket_bytes,
                                      .lead_ms = in->backward_ms * (double)(count - 1 - i) / (double)count};
}

struct mx_predict_step mx_predict_step(const struct mx_predict_input *in, int64_t ranks)
{
    struct mx_predict_step out = {.ranks = ranks};
    /* What a rank has to do, in steps of the profile. The fullest rank counts: utterances are not cut. */
    const double own =
        in->global_batch > 0 ? ceil((double)in->global_batch / (double)ranks) / (double)in->utterances : 1.0;
    const double work = in->global_batch > 0 ? (double)in->global_batch / (double)in->utterances : (double)ranks;
    const double before_ms = (in->train_ms - in->update_ms) * own;
    const double slowest = in->variation * largest_of(ranks);
    double latency_ms = 0, done_ms = 0, tree_bytes = 0, bytes_sent = 0;
    out.compute_ms = before_ms + in->update_ms;
    out.straggle_ms = before_ms * slowest;
    out.buckets = bucket_count(in);
    for (int64_t i = 0; i < out.buckets && ranks > 1; i++) {
        const struct mx_predict_bucket bucket = bucket_at(in, i);
        const double bytes = (double)bucket.bytes;
        const struct cost cost = sum_cost(in, ranks, bytes);
        done_ms = fmax(done_ms, before_ms - bucket.lead_ms * own) + cost.latency_ms + cost.bytes_ms;
        out.sum_ms += cost.latency_ms + cost.bytes_ms;
        latency_ms += cost.latency_ms;
        bytes_sent += cost.bytes_ms / byte_ms(in);
        if (cost.tree) tree_bytes += bytes;
    }
    out.tree = 2 * tree_bytes > (double)in->gradient_bytes;
    out.bytes_sent = llround(bytes_sent);
    out.exposed_ms = fmax(0, done_ms - before_ms);
    out.agree_ms = AGREEMENTS * 2 * rounds_of(ranks) * in->latency_ms;
    const double hidden = out.sum_ms > 0 ? fmax(0, 1 - out.exposed_ms / out.sum_ms) : 0;
    out.carry_ms = bytes_sent * in->carry_ns_per_byte * 1e-6 * hidden;
    const double busy_ms = out.compute_ms + out.carry_ms + out.straggle_ms + out.exposed_ms + out.agree_ms;
    out.data_wait_ms = fmax(0, in->data_ms * own - busy_ms);
    out.step_ms = busy_ms + out.data_wait_ms;
    /* One rank of the profile did one of its steps in step_ms; the rest of that time stays the same. */
    const double alone_ms = fmax(in->train_ms, in->data_ms), rest_ms = fmax(0, in->step_ms - alone_ms);
    out.step_ms += rest_ms;
    out.speed = work * in->step_ms / out.step_ms;
    out.efficiency = out.speed / (double)ranks;
    limit_choose(&out, out.sum_ms > 0 ? latency_ms / out.sum_ms : 0);
    if (in->global_batch > 0 && own * (double)in->utterances * (double)ranks >= 2.0 * (double)in->global_batch)
        out.limit = MX_PREDICT_BATCH;
    return out;
}

int64_t mx_predict_useful(const struct mx_predict_input *in, double efficiency)
{
    int64_t useful = 1;
    for (int64_t n = 2; n <= MX_PREDICT_RANKS_MAX;) {
        if (mx_predict_step(in, n).efficiency >= efficiency) useful = n;
        const int64_t octave = (int64_t)1 << (int64_t)floor(log2((double)n));
        n += n < RANKS_TRIED ? 1 : octave / 8;
    }
    return useful;
}
