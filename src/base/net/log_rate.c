/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Messages at a bounded rate, see log_rate.h.
 */
#include "base/net/log_rate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/utf8.h"

#define SPAN_NS (MX_LOG_RATE_S * UINT64_C(1000000000))

bool mx_log_rate_pass(struct mx_log_rate *rate, uint64_t now_ns, uint64_t *left_out)
{
    pthread_mutex_lock(&rate->lock);
    if (rate->begun_ns == 0 || now_ns - rate->begun_ns >= SPAN_NS) {
        rate->begun_ns = now_ns;
        rate->lines = 0;
    }
    const bool pass = rate->lines < MX_LOG_RATE_LINES;
    rate->lines += pass;
    *left_out = rate->left_out;
    rate->left_out = pass ? 0 : rate->left_out + 1;
    pthread_mutex_unlock(&rate->lock);
    return pass;
}

void mx_log_rate_write(struct mx_log_rate *rate, enum mx_log_level level, const char *fmt, ...)
{
    char text[1024];
    uint64_t left_out;
    va_list arguments;
    if (!mx_log_enabled(level) || !mx_log_rate_pass(rate, mx_clock_ns(), &left_out)) return;
    va_start(arguments, fmt);
    (void)vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    mx_utf8_trim(text);
    if (left_out > 0)
        mx_log_write(level, "%s (%" PRIu64 " messages of this kind before it were left out)", text, left_out);
    else
        mx_log_write(level, "%s", text);
}

void mx_log_rate_end(struct mx_log_rate *rate, const char *kind)
{
    pthread_mutex_lock(&rate->lock);
    const uint64_t left_out = rate->left_out;
    rate->left_out = 0;
    pthread_mutex_unlock(&rate->lock);
    if (left_out > 0) mx_info("%" PRIu64 " messages about %s were left out", left_out, kind);
}
