/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whose sentence is spoken next: jobs made by hand, without networks and threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "serve/service_internal.h"

#define RATE 1000
#define JOBS 40

struct rig {
    struct mx_service service;
    struct mx_service_engine engine;
    struct mx_service_job jobs[JOBS];
    int count;
};

static void rig_open(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    rig->engine.facts.rate = RATE;
}

/* Another client with one sentence ready, as mx_service_begin lists it. */
static struct mx_service_job *job_add(struct rig *rig)
{
    struct mx_service_job *const job = &rig->jobs[rig->count++];
    job->service = &rig->service;
    job->engine = &rig->engine;
    job->item_count = 1;
    job->turn = ++rig->service.turns;
    job->next = rig->service.jobs;
    rig->service.jobs = job;
    return job;
}

/* Its number, after its sentence was spoken and the next one is ready; -1: nobody's turn. */
static int turn(struct rig *rig, enum mx_service_asked asked)
{
    struct mx_service_job *const job = mx_service_turn(&rig->service, NULL, asked);
    if (job == NULL) return -1;
    mx_service_turn_end(job);
    return (int)(job - rig->jobs);
}

/* 32 long texts are spoken in turns; a short one that comes later is the next of all. */
static void test_short_text_beside_long_ones(void **state)
{
    static struct rig rig;
    (void)state;
    rig_open(&rig);
    for (int i = 0; i < 32; i++) mx_service_turn_end(job_add(&rig));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 32; i++) assert_int_equal(turn(&rig, MX_SERVICE_RESTING), i);
    assert_int_equal(mx_service_new_count(&rig.service), 0);
    assert_int_equal(turn(&rig, MX_SERVICE_RESTING), 0);
    job_add(&rig);
    assert_int_equal(mx_service_new_count(&rig.service), 1);
    assert_int_equal(turn(&rig, MX_SERVICE_RESTING), 32);
    for (int i = 1; i < 32; i++) assert_int_equal(turn(&rig, MX_SERVICE_RESTING), i); /* then as before */
    assert_int_equal(turn(&rig, MX_SERVICE_RESTING), 0);
    assert_int_equal(turn(&rig, MX_SERVICE_RESTING), 32); /* and the new one comes after them */
    assert_int_equal(turn(&rig, MX_SERVICE_NEW), -1);
}

/* Even those who are read slowly, and have much sound ahead of their readers, or none, do not come before it. */
static void test_new_before_soon(void **state)
{
    static struct rig rig;
    (void)state;
    rig_open(&rig);
    struct mx_service_job *const ahead = job_add(&rig), *const dry = job_add(&rig);
    for (int i = 0; i < 2; i++) assert_int_equal(turn(&rig, MX_SERVICE_RESTING), i);
    ahead->ahead = RATE;
    job_add(&rig);
    assert_int_equal(turn(&rig, MX_SERVICE_RESTING), 2);
    assert_int_equal(turn(&rig, MX_SERVICE_RESTING), 1); /* would soon have nothing to read */
    dry->ahead = (size_t)(MX_SERVICE_AHEAD_S * RATE);
    rig.jobs[2].item_count = 0;
    assert_int_equal(turn(&rig, MX_SERVICE_RESTING), 0);
    ahead->busy = 1;
    assert_int_equal(turn(&rig, MX_SERVICE_RESTING), -1);
    assert_int_equal(turn(&rig, MX_SERVICE_SOUNDING), -1);
    ahead->sounding = true;
    assert_int_equal(turn(&rig, MX_SERVICE_SOUNDING), 0);
}

/* A flood of new texts: the oldest of them first, and every eighth turn is one of the others. */
static void test_nobody_starves(void **state)
{
    static struct rig rig;
    (void)state;
    rig_open(&rig);
    mx_service_turn_end(job_add(&rig));
    rig.service.new_in_row = 0;
    for (int i = 1; i < JOBS; i++) job_add(&rig);
    for (int i = 1, turns = 0; i < JOBS; turns++) {
        const int number = turn(&rig, MX_SERVICE_RESTING);
        if (turns % 8 == 7)
            assert_true(number < i);
        else
            assert_int_equal(number, i++);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_text_beside_long_ones),
        cmocka_unit_test(test_new_before_soon),
        cmocka_unit_test(test_nobody_starves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
