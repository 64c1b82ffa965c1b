/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of `myxtts check`: the report on the terminal (check_print.c, check_print_doctor.c) and as JSON (check_json.c,
 * check_json_doctor.c).
 *
 * Memory: everything is borrowed.
 */
#ifndef MX_CLI_CHECK_REPORT_H
#define MX_CLI_CHECK_REPORT_H

#include "doctor/doctor.h"

struct cJSON;

#define MX_COMMAND_PLAIN_BYTES 4200 /* a path or a name on the terminal */

struct mx_command_check_report {
    const char *path; /* of the corpus, as given */
    const struct mx_doctor *doctor;
    const char *rejects, *suspects; /* paths of the lists */
};

void mx_command_check_print(const struct mx_command_check_report *report);
int mx_command_check_json(const struct mx_command_check_report *report);

/* The parts that are the doctor's. */
void mx_command_check_print_doctor(const struct mx_command_check_report *report);
void mx_command_check_json_doctor(struct cJSON *root, const struct mx_command_check_report *report, int *failures);

#endif
