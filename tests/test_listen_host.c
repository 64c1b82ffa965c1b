/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The headers Host and Origin: which requests are for this machine, and which come from a page of the server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/net/listen_host.h"

static void test_local(void **state)
{
    static const char *const good[] = {"localhost", "LOCALHOST:8080", "localhost:1",
                                       "127.0.0.1", "127.0.0.1:8080", "127.255.3.4:80",
                                       "[::1]",     "[::1]:8080",     "[0:0:0:0:0:0:0:1]"};
    static const char *const bad[] = {"",
                                      ":8080",
                                      "evil.example",
                                      "localhost.evil.example",
                                      "localhost:",
                                      "localhost:80:80",
                                      "localhost:80x",
                                      "localhost:123456",
                                      "localhost/",
                                      " localhost",
                                      "127.evil.example",
                                      "127.0.0.1.evil.example",
                                      "127.0.0.1.5",
                                      "128.0.0.1",
                                      "0.0.0.0",
                                      "192.168.1.5:8080",
                                      "[::1",
                                      "[]",
                                      "[::1].evil.example",
                                      "[::2]",
                                      "::1",
                                      "[::1]x"};
    char endless[1000];
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!mx_listen_host_local(good[i])) fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (mx_listen_host_local(bad[i])) fail_msg("accepted: %s", bad[i]);
    memset(endless, '1', sizeof endless);
    endless[sizeof endless - 1] = '\0';
    assert_false(mx_listen_host_local(endless));
    assert_false(mx_listen_host_number(endless));
    assert_false(mx_listen_host_valid(endless));
}

static void test_others(void **state)
{
    static const char *const names[] = {"speech.lan", "box"};
    (void)state;
    assert_true(mx_listen_host_number("192.168.1.5:8080"));
    assert_true(mx_listen_host_number("[fe80::1]:8080"));
    assert_false(mx_listen_host_number("192.168.1.5.evil.example"));
    assert_false(mx_listen_host_number("speech.lan"));
    assert_true(mx_listen_host_among("Speech.LAN:8080", names, 2));
    assert_true(mx_listen_host_among("box", names, 2));
    assert_false(mx_listen_host_among("box.evil.example", names, 2));
    assert_false(mx_listen_host_among("box", names, 0));
    assert_true(mx_listen_host_valid("speech.lan"));
    assert_true(mx_listen_host_valid("[fe80::1]"));
    assert_false(mx_listen_host_valid("speech.lan:80"));
    assert_false(mx_listen_host_valid("http://speech.lan"));
    assert_false(mx_listen_host_valid(""));
}

static void test_origins(void **state)
{
    static const char *const origins[] = {"https://app.example", "http://localhost:3000"};
    (void)state;
    assert_true(mx_listen_origin_same("http://localhost:8080", "localhost:8080"));
    assert_true(mx_listen_origin_same("https://Speech.lan", "speech.lan"));
    assert_false(mx_listen_origin_same("http://localhost:8081", "localhost:8080"));
    assert_false(mx_listen_origin_same("http://evil.example", "localhost:8080"));
    assert_false(mx_listen_origin_same("null", "localhost:8080"));
    assert_false(mx_listen_origin_same("https://", ""));
    assert_true(mx_listen_origin_among("https://app.example", origins, 2));
    assert_false(mx_listen_origin_among("https://app.example.evil", origins, 2));
    assert_false(mx_listen_origin_among("http://app.example", origins, 2));
    assert_true(mx_listen_origin_valid("https://app.example"));
    assert_true(mx_listen_origin_valid("http://localhost:3000"));
    assert_false(mx_listen_origin_valid("https://app.example/"));
    assert_false(mx_listen_origin_valid("app.example"));
    assert_false(mx_listen_origin_valid("*"));
    assert_false(mx_listen_origin_valid("https://"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_local), cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_origins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
