/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The budget: limits, accounts, statistics, JSON, and the leak detector.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT UINT64_C(1000000)

static struct mx_budget *create(uint64_t limit_bytes)
{
    struct mx_budget *budget;
    assert_int_equal(mx_budget_create("cpu:0", limit_bytes, &budget), 0);
    return budget;
}

static void test_bytes_text(void **state)
{
    (void)state;
    char text[MX_BYTES_TEXT_BYTES];
    assert_string_equal(mx_bytes_text(0, text), "0 B");
    assert_string_equal(mx_bytes_text(1023, text), "1023 B");
    assert_string_equal(mx_bytes_text(1536, text), "1.50 KiB");
    assert_string_equal(mx_bytes_text(UINT64_C(12) << 20, text), "12.0 MiB");
    assert_string_equal(mx_bytes_text(UINT64_C(500) << 30, text), "500 GiB");
    assert_string_equal(mx_bytes_text(UINT64_MAX, text), "16.0 EiB");
}

static void compared(uint64_t need, uint64_t have, const char *need_words, const char *have_words)
{
    char a[MX_BYTES_TEXT_BYTES], b[MX_BYTES_TEXT_BYTES];
    mx_bytes_compare(need, have, a, b);
    assert_string_equal(a, need_words);
    assert_string_equal(b, have_words);
}

static void test_needs_are_rounded_up_and_rooms_down(void **state)
{
    (void)state;
    const uint64_t mib = UINT64_C(1) << 20;
    compared(255 * mib + 1, 255 * mib - 1, "256 MiB", "254 MiB");
    compared(255 * mib, 255 * mib, "255 MiB", "255 MiB"); /* it fits */
    compared(255 * mib + 2, 255 * mib + 1, "256 MiB", "255 MiB");
    compared(255 * mib, 255 * mib - 1, "255 MiB", "254 MiB");
    compared(UINT64_C(3) << 30, (UINT64_C(3) << 30) - 1, "3.00 GiB", "2.99 GiB");
    compared(1000, 999, "1000 B", "999 B");
    compared(1025, 1024, "1.01 KiB", "1.00 KiB");
    compared(0, 0, "0 B", "0 B");
    compared(UINT64_MAX, UINT64_MAX - 1, "16.0 EiB", "15.9 EiB");
    compared((100 << 20) + 300, (100 << 20) + 299, "101 MiB", "100 MiB");
    assert_int_equal(mx_bytes_mib(0), 0);
    assert_int_equal(mx_bytes_mib(1), 1);
    assert_int_equal(mx_bytes_mib(mib), 1);
    assert_int_equal(mx_bytes_mib(mib + 1), 2);
    assert_int_equal(mx_bytes_mib(UINT64_MAX), UINT64_C(1) << 44);
}

/* Whatever the two are, the words of the larger one are not those of the smaller one. */
static void test_words_differ_as_sizes_do(void **state)
{
    (void)state;
    char need[MX_BYTES_TEXT_BYTES], have[MX_BYTES_TEXT_BYTES];
    for (int shift = 0; shift < 63; shift++)
        for (uint64_t low = 0; low < 40; low++)
            for (uint64_t more = 1; more < 4; more++) {
                const uint64_t size = (UINT64_C(1) << shift) + low * ((UINT64_C(1) << shift) / 40);
                mx_bytes_compare(size + more, size, need, have);
                assert_string_not_equal(need, have);
            }
}

static void test_accounts(void **state)
{
    (void)state;
    struct mx_budget_stats stats;
    struct mx_budget *const budget = create(LIMIT);
    assert_int_equal(mx_budget_limit(budget), LIMIT);
    assert_int_equal(mx_budget_charge(budget, "small", 100, false), 0);
    assert_int_equal(mx_budget_charge(budget, "large", 500, false), 0);
    assert_int_equal(mx_budget_charge(budget, "large", 300, false), 0);
    assert_int_equal(mx_budget_charge(budget, "large", 50, true), 0); /* the host side is another account */
    mx_budget_credit(budget, "large", 500, false);
    assert_int_equal(mx_budget_available(budget), LIMIT - 400);
    mx_budget_stats(budget, &stats);
    assert_string_equal(stats.device, "cpu:0");
    assert_int_equal(stats.limit_bytes, LIMIT);
    assert_int_equal(stats.current_bytes, 400);
    assert_int_equal(stats.peak_bytes, 900);
    assert_int_equal(stats.host_bytes, 50);
    assert_int_equal(stats.host_peak_bytes, 50);
    assert_int_equal(stats.live_count, 3);
    assert_int_equal(stats.total_count, 4);
    assert_int_equal(stats.refused_count, 0);
    assert_int_equal(stats.owner_count, 3);
    assert_string_equal(stats.owners[0].name, "large"); /* largest first */
    assert_false(stats.owners[0].host);
    assert_int_equal(stats.owners[0].current_bytes, 300);
    assert_int_equal(stats.owners[0].peak_bytes, 800);
    assert_int_equal(stats.owners[0].live_count, 1);
    assert_int_equal(stats.owners[0].total_count, 2);
    assert_string_equal(stats.owners[1].name, "small");
    assert_true(stats.owners[2].host);
    mx_budget_destroy(budget);
    mx_budget_destroy(NULL);
}

static void test_limit(void **state)
{
    (void)state;
    struct mx_budget_stats stats;
    struct mx_budget *const budget = create(1000);
    assert_int_equal(mx_budget_charge(budget, "parameters", 600, false), 0);
    assert_int_equal(mx_budget_charge(budget, "slots", 100, false), 0);
    assert_int_equal(mx_budget_charge(budget, "scratch", 301, false), MX_ERR_BUDGET);
    const struct mx_error *const error = mx_error_last();
    assert_non_null(strstr(error->message, "cpu:0"));
    assert_non_null(strstr(error->message, "\"scratch\""));
    assert_non_null(strstr(error->message, "301"));         /* asked */
    assert_non_null(strstr(error->message, "700"));         /* used */
    assert_non_null(strstr(error->message, "1000"));        /* limit */
    assert_non_null(strstr(error->hint, "\"parameters\"")); /* the largest */
    assert_non_null(strstr(error->hint, "300"));            /* what would fit */
    assert_int_equal(mx_budget_charge(budget, "scratch", UINT64_MAX, false), MX_ERR_BUDGET);
    assert_int_equal(mx_budget_charge(budget, "scratch", 300, false), 0); /* exactly */
    assert_int_equal(mx_budget_charge(budget, "more", 1, false), MX_ERR_BUDGET);
    assert_int_equal(mx_budget_charge(budget, "host", 5000, true), 0); /* host memory has no limit here */
    assert_int_equal(mx_budget_charge(budget, "host", UINT64_MAX, true),
                     MX_ERR_NO_MEMORY); /* except for absurd sizes */
    mx_budget_stats(budget, &stats);
    assert_int_equal(stats.refused_count, 4);
    assert_int_equal(stats.owner_count, 4); /* a refusal opens no account */

    assert_int_equal(mx_budget_set_limit(budget, 999), MX_ERR_BUDGET);
    assert_non_null(strstr(mx_error_last()->hint, "\"parameters\""));
    assert_int_equal(mx_budget_limit(budget), 1000);
    assert_int_equal(mx_budget_set_limit(budget, 1001), 0);
    assert_int_equal(mx_budget_charge(budget, "more", 1, false), 0);
    assert_int_equal(mx_budget_available(budget), 0);
    mx_budget_destroy(budget);
}

static void test_owners(void **state)
{
    (void)state;
    char name[64];
    struct mx_budget *const budget = create(LIMIT);
    assert_int_equal(mx_budget_charge(budget, NULL, 1, false), MX_ERR_ARGUMENT);
    assert_int_equal(mx_budget_charge(budget, "", 1, false), MX_ERR_ARGUMENT);
    memset(name, 'x', sizeof name);
    name[MX_BUDGET_OWNER_BYTES] = '\0';
    assert_int_equal(mx_budget_charge(budget, name, 1, false), MX_ERR_ARGUMENT);
    name[MX_BUDGET_OWNER_BYTES - 1] = '\0';
    assert_int_equal(mx_budget_charge(budget, name, 1, false), 0);
    for (int i = 1; i < MX_BUDGET_OWNERS; i++) {
        snprintf(name, sizeof name, "owner %d", i);
        assert_int_equal(mx_budget_charge(budget, name, 1, false), 0);
    }
    assert_int_equal(mx_budget_charge(budget, "one too many", 1, false), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->message, "one too many"));
    assert_int_equal(mx_budget_charge(budget, "owner 1", 1, false), 0);
    mx_budget_destroy(budget);
}

static void test_wrong_credit(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    FILE *const stream = open_memstream(&text, &bytes);
    const struct mx_log_options log = {.level = MX_LOG_INFO, .stream = stream, .no_color = true};
    struct mx_budget *const budget = create(LIMIT);
    assert_int_equal(mx_log_configure(&log), 0);
    assert_int_equal(mx_budget_charge(budget, "a", 10, false), 0);
    mx_budget_credit(budget, "a", 11, false);
    mx_budget_credit(budget, "a", 10, true);
    assert_int_equal(mx_budget_available(budget), LIMIT - 10);
    mx_budget_credit(budget, "a", 10, false);
    mx_budget_credit(budget, "a", 0, false);
    assert_int_equal(mx_budget_available(budget), LIMIT);
    assert_int_equal(mx_log_configure(NULL), 0);
    fclose(stream);
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    assert_int_equal(lines, 3);
    assert_non_null(strstr(text, "gave back 11 bytes"));
    free(text);
    mx_budget_destroy(budget);
}

static void test_json(void **state)
{
    (void)state;
    struct mx_budget *const budget = create(LIMIT);
    assert_int_equal(mx_budget_charge(budget, "a \"b\"\\\n", 123, false), 0);
    assert_int_equal(mx_budget_charge(budget, "staging", 7, true), 0);
    char *const text = mx_budget_json(budget);
    assert_non_null(text);
    cJSON *const json = cJSON_Parse(text);
    assert_non_null(json);
    assert_string_equal(cJSON_GetObjectItem(json, "device")->valuestring, "cpu:0");
    assert_true(cJSON_GetObjectItem(json, "limit_bytes")->valuedouble == (double)LIMIT);
    assert_true(cJSON_GetObjectItem(json, "current_bytes")->valuedouble == 123);
    assert_true(cJSON_GetObjectItem(json, "host_bytes")->valuedouble == 7);
    const cJSON *const owners = cJSON_GetObjectItem(json, "owners");
    assert_int_equal(cJSON_GetArraySize(owners), 2);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(owners, 0), "name")->valuestring, "a \"b\"\\\n");
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(cJSON_GetArrayItem(owners, 0), "host")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(cJSON_GetArrayItem(owners, 1), "host")));
    cJSON_Delete(json);
    mx_free(text);
    uint64_t n = 0;
    for (bool failed = true; failed;) { /* every allocation fails once */
        mx_alloc_fail_at(++n);
        char *const again = mx_budget_json(budget);
        failed = again == NULL;
        if (failed) assert_int_equal(mx_error_last()->code, MX_ERR_NO_MEMORY);
        mx_free(again);
    }
    mx_alloc_fail_at(0);
    assert_true(n > 1);
    mx_budget_destroy(budget);
}

/* Memory that goes up and down the same way every step is no leak, whatever the swing. */
static void test_watch_steady(void **state)
{
    (void)state;
    char owner[MX_BUDGET_OWNER_BYTES];
    uint64_t growth;
    struct mx_budget *const budget = create(LIMIT);
    for (int step = 0; step < 300; step++) {
        const bool up = step % 2 == 0;
        if (up)
            assert_int_equal(mx_budget_charge(budget, "swing", 1000, false), 0);
        else
            mx_budget_credit(budget, "swing", 1000, false);
        assert_false(mx_budget_watch(budget, 0, owner, &growth));
    }
    mx_budget_destroy(budget);
}

static void test_watch_every_step(void **state)
{
    (void)state;
    char owner[MX_BUDGET_OWNER_BYTES] = "";
    uint64_t growth = 0;
    struct mx_budget *const budget = create(LIMIT);
    assert_int_equal(mx_budget_charge(budget, "steady", 500000, false), 0);
    for (int step = 0; step < 200; step++) {
        assert_int_equal(mx_budget_charge(budget, "slow", 1, false), 0);
        assert_int_equal(mx_budget_charge(budget, "leaky", 3, true), 0);
        /* 64 steps that are each higher than the one before need 65; then it is reported once. */
        const bool told = mx_budget_watch(budget, LIMIT, owner, &growth);
        assert_int_equal(told, step == MX_BUDGET_WINDOW);
    }
    assert_string_equal(owner, "leaky");
    assert_int_equal(growth, 3 * (MX_BUDGET_WINDOW - 1));
    /* The episode ends, and another one is reported again. */
    int told = 0;
    assert_false(mx_budget_watch(budget, LIMIT, owner, &growth));
    for (int step = 0; step < 200; step++) {
        assert_int_equal(mx_budget_charge(budget, "slow", 1, false), 0);
        told += mx_budget_watch(budget, LIMIT, owner, &growth);
    }
    assert_int_equal(told, 1);
    assert_string_equal(owner, "slow");
    mx_budget_destroy(budget);
}

/* Other work on the same device that needs more is not a leak, if the watch is notified when it begins. */
static void test_watch_restart(void **state)
{
    (void)state;
    for (int told_so = 0; told_so < 2; told_so++) {
        char owner[MX_BUDGET_OWNER_BYTES];
        uint64_t growth;
        int told = 0;
        struct mx_budget *const budget = create(LIMIT);
        for (int work = 0; work < 2; work++) {
            assert_int_equal(mx_budget_charge(budget, "slots", 10000, false), 0);
            if (told_so) mx_budget_watch_restart(budget);
            for (int step = 0; step < 2 * MX_BUDGET_WINDOW; step++)
                told += mx_budget_watch(budget, 500, owner, &growth);
        }
        assert_int_equal(told, told_so ? 0 : 1);
        mx_budget_destroy(budget);
    }
}

/* Growth in jumps, with ups and downs: seen by halves of the window, and only beyond the slack. */
static void test_watch_halves(void **state)
{
    (void)state;
    for (int slack = 0; slack < 2; slack++) {
        char owner[MX_BUDGET_OWNER_BYTES] = "";
        uint64_t growth = 0;
        int told = 0;
        struct mx_budget *const budget = create(LIMIT);
        for (int step = 0; step < 256; step++) {
            if (step % 16 == 0) assert_int_equal(mx_budget_charge(budget, "jumps", 1000, false), 0);
            if (step % 2 == 0)
                assert_int_equal(mx_budget_charge(budget, "swing", 300, false), 0);
            else
                mx_budget_credit(budget, "swing", 300, false);
            told += mx_budget_watch(budget, slack ? 4000 : 500, owner, &growth);
        }
        assert_int_equal(told, slack ? 0 : 1);
        if (!slack) assert_string_equal(owner, "jumps");
        mx_budget_destroy(budget);
    }
}

static void test_recommended(void **state)
{
    (void)state;
    assert_int_equal(mx_budget_recommended(1000000, MX_ROLE_DATA), 330000);
    assert_int_equal(mx_budget_recommended(1000000, MX_ROLE_MODEL), 670000);
}

static void *hammer(void *context)
{
    struct mx_budget *const budget = context;
    for (int i = 0; i < 2000; i++) {
        if (mx_budget_charge(budget, i % 2 ? "odd" : "even", 400, false) == 0) {
            mx_budget_credit(budget, i % 2 ? "odd" : "even", 400, false);
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    struct mx_budget_stats stats;
    struct mx_budget *const budget = create(1000);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, hammer, budget), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    mx_budget_stats(budget, &stats);
    assert_int_equal(stats.current_bytes, 0);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.total_count + stats.refused_count, 8000);
    assert_true(stats.peak_bytes <= 1000);
    mx_budget_destroy(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_text),
        cmocka_unit_test(test_needs_are_rounded_up_and_rooms_down),
        cmocka_unit_test(test_words_differ_as_sizes_do),
        cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_wrong_credit),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_watch_steady),
        cmocka_unit_test(test_watch_every_step),
        cmocka_unit_test(test_watch_halves),
        cmocka_unit_test(test_watch_restart),
        cmocka_unit_test(test_recommended),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
