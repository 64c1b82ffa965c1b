/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Clients of a Wyoming server: more of them than it takes, and those that go, do nothing or speak another protocol.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "support/dial.h"
#include "support/wyoming_rig.h"

static void test_queue_full(void **state)
{
    struct wyoming_rig rig = {0};
    struct wyoming_heard h;
    size_t count;
    (void)state;
    wyoming_service_open(&rig, 1, 1000);
    wyoming_rig_open(&rig, NULL);
    /* One that has begun and said nothing holds no place; one with a sentence does. */
    const int silent = wyoming_call(&rig), first = wyoming_call(&rig);
    wyoming_say(silent, "{\"type\":\"synthesize-start\"}\n{\"type\":\"ping\"}\n");
    wyoming_hear_type(silent, &h, "pong");
    wyoming_heard_free(&h);
    wyoming_say(
        first,
        "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"A sentence. And\"}}\n");
    wyoming_hear_type(first, &h, "audio-start");
    wyoming_heard_free(&h);
    const int second = wyoming_call(&rig);
    wyoming_say(second, "{\"type\":\"synthesize\",\"data\":{\"text\":\"a\"}}\n");
    wyoming_expect_error(second, "BUDGET", "try again in ");
    /* The first one goes, and its place is free. */
    close(first);
    close(silent);
    wyoming_wait_idle(&rig, 3);
    const int third = wyoming_call(&rig);
    wyoming_say(third, "{\"type\":\"synthesize\",\"data\":{\"text\":\"a\"}}\n");
    mx_free(wyoming_hear_sound(third, &count));
    /* A service that ends refuses, and says so. */
    mx_service_drain(rig.service);
    wyoming_say(third, "{\"type\":\"synthesize\",\"data\":{\"text\":\"a\"}}\n");
    wyoming_expect_error(third, "CLOSED", "end");
    wyoming_rig_close(&rig);
}

static void test_connections_bounded(void **state)
{
    struct wyoming_rig rig = {.service = wyoming_shared.service};
    const struct mx_wyoming_options few = {.connections = 3, .connections_per_address = 2};
    struct mx_wyoming_counts counts;
    struct wyoming_heard h;
    int s[2];
    (void)state;
    wyoming_rig_open(&rig, &few);
    for (int i = 0; i < 2; i++) {
        s[i] = wyoming_call(&rig);
        wyoming_say(s[i], "{\"type\":\"ping\"}\n");
        wyoming_hear_type(s[i], &h, "pong");
        wyoming_heard_free(&h);
    }
    /* Who only waits makes room for a new one: the oldest of the address. */
    const int third = wyoming_call(&rig);
    wyoming_say(third, "{\"type\":\"ping\"}\n");
    wyoming_hear_type(third, &h, "pong");
    wyoming_heard_free(&h);
    wyoming_hear_nothing(s[0]);
    s[0] = third;
    /* Who has given a text does not. */
    for (int i = 0; i < 2; i++) {
        wyoming_say(s[i],
                    "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"Half a\"}}\n"
                    "{\"type\":\"ping\"}\n");
        wyoming_hear_type(s[i], &h, "pong");
        wyoming_heard_free(&h);
    }
    wyoming_expect_error(wyoming_call(&rig), "BUDGET", "your address");
    do mx_wyoming_counts_read(rig.wyoming, &counts);
    while (counts.active > 2);
    assert_int_equal(counts.connections, 3);
    assert_int_equal(counts.displaced, 1);
    assert_int_equal(counts.active, 2);
    /* One that leaves makes room. */
    close(s[0]);
    do mx_wyoming_counts_read(rig.wyoming, &counts);
    while (counts.active == 2);
    s[0] = wyoming_call(&rig);
    wyoming_say(s[0], "{\"type\":\"ping\"}\n");
    wyoming_hear_type(s[0], &h, "pong");
    wyoming_heard_free(&h);
    mx_wyoming_counts_read(rig.wyoming, &counts);
    assert_int_equal(counts.refused, 1);
    /* Closing it ends the connections. */
    mx_wyoming_close(rig.wyoming);
    wyoming_hear_nothing(s[0]);
    wyoming_hear_nothing(s[1]);
    const struct mx_wyoming_options one = {.connections = 1};
    wyoming_rig_open(&rig, &one);
    s[0] = wyoming_call(&rig);
    wyoming_say(s[0],
                "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"Half a\"}}\n"
                "{\"type\":\"ping\"}\n");
    wyoming_hear_type(s[0], &h, "pong");
    wyoming_heard_free(&h);
    wyoming_expect_error(wyoming_call(&rig), "BUDGET", "the server has");
    close(s[0]);
    mx_wyoming_close(rig.wyoming);
}

/* ---- clients that go, or do nothing ---- */

static void test_vanishing(void **state)
{
    struct wyoming_rig rig = {0};
    struct mx_service_counts counts;
    struct wyoming_heard h;
    (void)state;
    wyoming_service_open(&rig, 64, 65536);
    wyoming_rig_open(&rig, NULL);
    char *const text = wyoming_repeat("{\"type\":\"synthesize\",\"data\":{\"text\":\"", "Hello there. ", 40, "\"}}\n");
    /* The client disconnects after its first sound, */
    int s = wyoming_call(&rig);
    wyoming_say(s, text);
    wyoming_hear_type(s, &h, "audio-start");
    wyoming_heard_free(&h);
    close(s);
    wyoming_wait_idle(&rig, 1);
    /* while text is still expected, */
    s = wyoming_call(&rig);
    wyoming_say(s, "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"Hel\"}}\n");
    close(s);
    wyoming_wait_idle(&rig, 2);
    /* and in the middle of an event. */
    s = wyoming_call(&rig);
    wyoming_say(s, "{\"type\":\"synthesize\",\"data_length\":100}\n{\"te");
    close(s);
    wyoming_wait_idle(&rig, 3);
    mx_service_counts_read(rig.service, &counts);
    assert_int_equal(counts.active, 0);
    assert_int_equal(counts.cancelled, 1); /* the second one had no sentence, and so no place */
    mx_free(text);
    wyoming_rig_close(&rig);
}

/* A browser that is made to connect cannot speak the protocol: its request is no event. */
static void test_browser_is_refused(void **state)
{
    struct wyoming_rig rig = {.service = wyoming_shared.service};
    struct mx_wyoming_counts counts;
    (void)state;
    wyoming_rig_open(&rig, NULL);
    const int s = wyoming_call(&rig);
    wyoming_say(s, "POST / HTTP/1.1\r\nHost: localhost:10200\r\nContent-Length: 44\r\n\r\n"
                   "{\"type\":\"synthesize\",\"data\":{\"text\":\"a\"}}\n");
    wyoming_expect_error(s, "FORMAT", "JSON");
    mx_wyoming_counts_read(rig.wyoming, &counts);
    assert_int_equal(counts.requests, 0);
    mx_wyoming_close(rig.wyoming);
}

static void test_patience(void **state)
{
    struct wyoming_rig rig = {.service = wyoming_shared.service};
    const struct mx_wyoming_options hasty = {.patience_ms = 50, .idle_ms = 100};
    struct mx_wyoming_counts counts;
    (void)state;
    wyoming_rig_open(&rig, &hasty);
    int s = wyoming_call(&rig);
    wyoming_say(s, "{\"type\":\"syn");
    wyoming_expect_error(s, "TIMEOUT", "did not end");
    wyoming_expect_error(wyoming_call(&rig), "TIMEOUT", "no event came");
    s = wyoming_call(&rig);
    wyoming_say(s, "{\"type\":\"synthesize-start\"}\n");
    wyoming_expect_error(s, "TIMEOUT", "no event came");
    /* One that does not read: far more sound than the system keeps for it. */
    char *const text = wyoming_repeat("{\"type\":\"synthesize\",\"data\":{\"text\":\"", "Hello there. ", 40, "\"}}\n");
    s = dial_small(mx_wyoming_port(rig.wyoming), 4096);
    wyoming_say(s, text);
    wyoming_wait_idle(&rig, 4);
    close(s);
    mx_wyoming_counts_read(rig.wyoming, &counts);
    assert_int_equal(counts.failed, 4);
    assert_int_equal(counts.requests, 2);
    mx_free(text);
    mx_wyoming_close(rig.wyoming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_full), cmocka_unit_test(test_connections_bounded),
        cmocka_unit_test(test_vanishing),  cmocka_unit_test(test_browser_is_refused),
        cmocka_unit_test(test_patience),
    };
    return cmocka_run_group_tests(tests, wyoming_setup, wyoming_teardown);
}
