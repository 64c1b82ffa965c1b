/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The list of findings and their words; see finding.h.
 */
#include "doctor/finding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

static const struct kind {
    const char *name, *text;
    int digits;
} kinds[] = {
#define X(identifier, name, digits, text) {name, text, digits},
    MX_DOCTOR_FINDING_LIST(X)
#undef X
};

int mx_doctor_findings_add(struct mx_doctor_findings *findings, const struct mx_doctor_finding *finding)
{
    if (MX_GROW(findings->items, findings->room, findings->count + 1) < 0) return MX_ERR_NO_MEMORY;
    char *const text = mx_strdup(finding->text == NULL ? "" : finding->text);
    if (text == NULL) return MX_ERR_NO_MEMORY;
    findings->items[findings->count] = *finding;
    findings->items[findings->count++].text = text;
    return 0;
}

static int finding_compare(const void *left, const void *right)
{
    const struct mx_doctor_finding *const a = left, *const b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->badness != b->badness) return a->badness > b->badness ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

void mx_doctor_findings_sort(struct mx_doctor_findings *findings)
{
    if (findings->count > 0) qsort(findings->items, findings->count, sizeof *findings->items, finding_compare);
}

void mx_doctor_findings_release(struct mx_doctor_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) mx_free((void *)(uintptr_t)findings->items[i].text);
    mx_free(findings->items);
    *findings = (struct mx_doctor_findings){0};
}

const char *mx_doctor_finding_name(enum mx_doctor_finding_kind kind)
{
    return kinds[kind].name;
}

const char *mx_doctor_finding_template(enum mx_doctor_finding_kind kind)
{
    return kinds[kind].text;
}

void mx_doctor_finding_numbers(const struct mx_doctor_finding *finding, char value[MX_DOCTOR_NUMBER_BYTES],
                               char limit[MX_DOCTOR_NUMBER_BYTES])
{
    snprintf(value, MX_DOCTOR_NUMBER_BYTES, "%.*f", kinds[finding->kind].digits, finding->value);
    snprintf(limit, MX_DOCTOR_NUMBER_BYTES, "%.*f", kinds[finding->kind].digits, finding->limit);
}

int mx_doctor_finding_format(struct mx_string *out, enum mx_words language, const struct mx_doctor_finding *finding)
{
    char value[MX_DOCTOR_NUMBER_BYTES], limit[MX_DOCTOR_NUMBER_BYTES];
    mx_doctor_finding_numbers(finding, value, limit);
    return mx_catalogue_format(out, language, kinds[finding->kind].text,
                               (const char *const[]){value, limit, finding->text});
}
