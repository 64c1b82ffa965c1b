/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whose turn it is, see service_internal.h. Everything here is called with the lock of the service held.
 */
#include "serve/service_internal.h"

#define SOON_S     0.5 /* seconds of sound: a reader with less will soon have nothing to read */
#define NEW_IN_ROW 7   /* pieces of new texts in a row, while others wait */

static bool job_soon(const struct mx_service_job *job)
{
    return (double)job->ahead < SOON_S * job->engine->facts.rate;
}

bool mx_service_job_ready(const struct mx_service_job *job)
{
    return job->item_count > 0 && job->error.code == 0 &&
           (double)job->ahead < MX_SERVICE_AHEAD_S * job->engine->facts.rate;
}

/* Does a come before b? Both are new, or neither is. */
static bool job_before(const struct mx_service_job *a, const struct mx_service_job *b)
{
    const bool soon_a = job_soon(a), soon_b = job_soon(b);
    return soon_a != soon_b ? soon_a : a->turn < b->turn;
}

struct mx_service_job *mx_service_turn(const struct mx_service *s, const struct mx_service_engine *engine,
                                       enum mx_service_asked asked)
{
    struct mx_service_job *first = NULL, *other = NULL;
    for (struct mx_service_job *job = s->jobs; job != NULL; job = job->next) {
        if (!mx_service_job_ready(job) || (engine != NULL && job->engine != engine)) continue;
        if (asked == MX_SERVICE_SOUNDING ? !job->sounding : job->busy > 0) continue;
        struct mx_service_job **const best = job->begun ? &other : &first;
        if (*best == NULL || job_before(job, *best)) *best = job;
    }
    if (asked == MX_SERVICE_NEW) return first;
    if (first != NULL && other != NULL) return s->new_in_row < NEW_IN_ROW ? first : other;
    return first != NULL ? first : other;
}

void mx_service_turn_end(struct mx_service_job *job)
{
    struct mx_service *const s = job->service;
    s->new_in_row = job->begun ? 0 : s->new_in_row + (s->new_in_row < NEW_IN_ROW); /* it may run for years */
    job->begun = true;
    job->turn = ++s->turns;
}

int mx_service_new_count(const struct mx_service *s)
{
    int count = 0;
    for (const struct mx_service_job *job = s->jobs; job != NULL; job = job->next)
        count += !job->begun && mx_service_job_ready(job);
    return count;
}
