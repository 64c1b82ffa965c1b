/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The findings of a validation: lines on the terminal while the checks run, and one JSON object at the end. See
 * validate.h.
 *
 * cJSON's functions return NULL when memory runs out and accept NULL, so failures are counted and reported once, by
 * mx_validate_json's caller.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/validate/validate.h"
#include "myxtts/error.h"

#define RULE       "============================================================"
#define LINE_BYTES 1200 /* a message and a hint fit (myxtts/error.h) */

static const char *const marks[MX_FINDINGS] = {"✅", "•", "⚠️ ", "❌"};
static const char *const words[MX_FINDINGS] = {"pass", "note", "warning", "fail"};

static void made(struct mx_validate_report *report, const void *what)
{
    report->json_failures += what == NULL;
}

int mx_validate_report_open(struct mx_validate_report *report, bool silent)
{
    *report = (struct mx_validate_report){.silent = silent, .checks = cJSON_CreateArray()};
    if (report->checks == NULL)
        return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs", "out of memory for the report");
    return 0;
}

void mx_validate_report_close(struct mx_validate_report *report)
{
    cJSON_Delete(report->checks);
    report->checks = NULL;
}

void mx_validate_heading(const struct mx_validate_report *report, const char *text)
{
    if (report->silent) return;
    printf(RULE "\n%s\n" RULE "\n", text);
    fflush(stdout);
}

/* ---- checks and their lines ---- */

void mx_validate_begin(struct mx_validate_report *report, const char *title)
{
    report->number++;
    report->worst = MX_FINDING_PASS;
    report->begin_ns = mx_clock_ns();
    report->check = mx_validate_element(report, report->checks);
    mx_validate_number(report, report->check, "number", report->number);
    mx_validate_text(report, report->check, "title", title);
    report->lines = mx_validate_array(report, report->check, "lines");
    report->value = cJSON_AddObjectToObject(report->check, "values");
    made(report, report->value);
    if (report->silent) return;
    printf("\n%d. %s...\n", report->number, title);
    fflush(stdout); /* messages on the standard error come where they belong */
}

void mx_validate_report_add(struct mx_validate_report *report, enum mx_finding finding, const char *hint,
                            const char *fmt, ...)
{
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, fmt);
    vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    if (hint == NULL) hint = "";
    if (finding > report->worst) report->worst = finding;
    if (finding == MX_FINDING_WARNING) report->warnings++;
    cJSON *const line = mx_validate_element(report, report->lines);
    mx_validate_text(report, line, "status", words[finding]);
    mx_validate_text(report, line, "text", text);
    mx_validate_text(report, line, "hint", hint);
    if (report->silent) return;
    printf("   %s %s\n", marks[finding], text);
    if (hint[0] != '\0') printf("      hint: %s\n", hint);
    fflush(stdout);
}

bool mx_validate_end(struct mx_validate_report *report, int rc)
{
    if (rc < 0) {
        const struct mx_error failure = *mx_error_last();
        if (report->code == 0) report->code = rc;
        report->failed++;
        /* Messages about modes begin with a mark of their own. */
        const char *const message =
            strncmp(failure.message, "❌ ", strlen("❌ ")) == 0 ? failure.message + strlen("❌ ") : failure.message;
        mx_validate_report_add(report, MX_FINDING_FAIL, failure.hint, "%s", message);
        mx_error_clear();
    }
    mx_validate_number(report, report->check, "seconds", (double)(mx_clock_ns() - report->begin_ns) * 1e-9);
    mx_validate_text(report, report->check, "status",
                     words[report->worst == MX_FINDING_NOTE ? MX_FINDING_PASS : report->worst]);
    return rc >= 0;
}

void mx_validate_skip(struct mx_validate_report *report, const char *why)
{
    report->skipped++;
    mx_validate_report_add(report, MX_FINDING_NOTE, NULL, "not tried: %s", why);
    mx_validate_number(report, report->check, "seconds", 0);
    mx_validate_text(report, report->check, "status", "skipped");
}

/* ---- JSON ---- */

static cJSON *target(const struct mx_validate_report *report, cJSON *object)
{
    return object != NULL ? object : report->value;
}

/* JSON has no numbers that are not finite: those become null. */
void mx_validate_number(struct mx_validate_report *report, cJSON *object, const char *name, double value)
{
    cJSON *const at = target(report, object);
    made(report, isfinite(value) ? cJSON_AddNumberToObject(at, name, value) : cJSON_AddNullToObject(at, name));
}

void mx_validate_text(struct mx_validate_report *report, cJSON *object, const char *name, const char *value)
{
    made(report, cJSON_AddStringToObject(target(report, object), name, value));
}

void mx_validate_flag(struct mx_validate_report *report, cJSON *object, const char *name, bool value)
{
    made(report, cJSON_AddBoolToObject(target(report, object), name, value));
}

cJSON *mx_validate_array(struct mx_validate_report *report, cJSON *object, const char *name)
{
    cJSON *const array = cJSON_AddArrayToObject(target(report, object), name);
    made(report, array);
    return array;
}

cJSON *mx_validate_element(struct mx_validate_report *report, cJSON *array)
{
    cJSON *const object = cJSON_CreateObject();
    if (object != NULL && cJSON_AddItemToArray(array, object)) return object;
    cJSON_Delete(object);
    made(report, NULL);
    return NULL;
}

cJSON *mx_validate_json(struct mx_validate *v, const char *mode)
{
    struct mx_validate_report *const report = &v->report;
    cJSON *const root = cJSON_CreateObject();
    if (root == NULL) {
        made(report, root);
        return NULL;
    }
    mx_validate_text(report, root, "format", "myxtts validation");
    mx_validate_number(report, root, "version", 1);
    mx_validate_number(report, root, "written", (double)time(NULL));
    mx_validate_text(report, root, "mode", mode);
    mx_validate_flag(report, root, "passed", report->failed == 0);
    mx_validate_number(report, root, "exit_code", mx_error_exit_code(report->code));
    mx_validate_number(report, root, "total", report->number);
    mx_validate_number(report, root, "failed", report->failed);
    mx_validate_number(report, root, "skipped", report->skipped);
    mx_validate_number(report, root, "warnings", report->warnings);
    mx_validate_machine(v, root);
    if (cJSON_AddItemToObject(root, "checks", report->checks))
        report->checks = NULL; /* the root has it now */
    else
        made(report, NULL);
    return root;
}
