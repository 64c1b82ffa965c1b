/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `myxtts validate`: is this machine ready to train with the given flags? Numbered checks that do the real work on the
 * real devices: prerequisites and placement (validate_devices.c), the model and one training step (validate_model.c),
 * transfer (validate_transfer.c), the pipeline with made-up work (validate_pipeline.c). validate_report.c prints and
 * collects the findings. With --report three more measure what somebody else may want to know about the machine: every
 * operation beside the CPU (validate_operations.c), copies from and to the host (validate_transfer.c), and some steps of
 * training in each mode (validate_training.c); validate_machine.c describes the machine, and validate_page.c writes
 * the file.
 *
 * A check reports its findings line by line; it fails by returning an error, whose message and hint become its last
 * line. A check whose devices or corpus are missing because an earlier one failed is skipped.
 *
 * JSON of --json, one object. Sizes are bytes, times microseconds unless the name says otherwise, shares 0 … 1:
 *
 *     "format": "myxtts validation", "version": 1
 *     "written": seconds since 1970
 *     "mode": "Multi-GPU Mode" (run/devices/mode.h has the others), "passed": bool, "exit_code"
 *     "total", "failed", "skipped": checks; "warnings": lines
 *     "machine": {"program", "system", "processor", "cores", "memory_bytes", "devices": [{"device", "name", "driver",
 *                 "memory_bytes", "units"}]}
 *     "checks": [{"number", "title", "status": "pass"|"warning"|"fail"|"skipped", "seconds",
 *                 "lines": [{"status": "pass"|"note"|"warning"|"fail", "text", "hint"}], "values": {…}}]
 *
 *     values of 1   "backends": [{"name", "available", "device_count", "reason", "hint"}], "device_count",
 *                   "pci_topology"
 *               2   "devices": [{"role": "data"|"model"|"both", "device", "logical", "name", "limit_bytes",
 *                   "refused_bytes", "taken_bytes"}], "topology", "topology_slow" (two devices)
 *               3   "size", "parameters", "planned_bytes", "model_device_bytes", "data_device_bytes"
 *               4   "peer", "directions": [{"from", "to", "sizes": [bytes …], "bandwidth_bytes", "bandwidth_gb_s",
 *                   "latency_bytes", "latency_us"}]
 *               5   "batches", "process_repeats", "train_repeats", "sequential_ms", "pipelined_ms", "speed_up",
 *                   "data_ms", "train_ms", "together_ms" (at work with overlap: loading, processing and moving;
 *                   training; both), "overlap" (the last by the lesser of the other two), "in_order", "equal"
 *               6   "utterances", "frames", "loss", "reference_loss", "grad_norm", "step_ms", "reference_step_ms",
 *                   "weights", "different", "largest_difference", "moved", "difference_share", "exact"
 *
 *               7   "devices": [{"device", "logical", "operations": [{"name", "shapes": [text …], "cases", "share" (of
 *                   the bound, the largest difference; null: not finite), "bound", "output", "ms", "cpu_ms", "fault"}]}]
 *               8   "directions" as in 4
 *               9   "modes": [{"name", "two_devices", "steps", "step_ms", "least_ms", "most_ms", "frames_per_s",
 *                   "data_busy" (two devices), "model_busy", "model_waits"}]
 *
 * The file of --report has the same object; a page has it as "report" in <script type="application/json"
 * id="validation">, beside "language" and "words" (validate_page.c), with '<', '>' and '&' as \u003c …
 *
 * Memory: a validation owns its job (devices, dataset) and the folder of its corpus; the report owns its JSON.
 */
#ifndef MX_CLI_VALIDATE_H
#define MX_CLI_VALIDATE_H

#include <cjson/cJSON.h>

#include "cli/profile/profile.h"
#include "run/job.h"

/* ---- the report (validate_report.c) ---- */

enum mx_finding { MX_FINDING_PASS, MX_FINDING_NOTE, MX_FINDING_WARNING, MX_FINDING_FAIL, MX_FINDINGS };

struct mx_validate_report {
    bool silent;                  /* prints no text: JSON goes to the standard output */
    cJSON *checks;                /* array */
    cJSON *check, *lines, *value; /* of the current check */
    int number, failed, skipped, warnings;
    enum mx_finding worst; /* of the current check */
    int code;              /* of the first failure; 0: none */
    uint64_t begin_ns;     /* of the current check */
    int json_failures;
};

int mx_validate_report_open(struct mx_validate_report *report, bool silent);
void mx_validate_report_close(struct mx_validate_report *report);
void mx_validate_heading(const struct mx_validate_report *report, const char *text);

void mx_validate_begin(struct mx_validate_report *report, const char *title);
/* Ends the check with its return value; a failure becomes its last line. True if it did not fail. */
bool mx_validate_end(struct mx_validate_report *report, int rc);
/* Ends the check as one that was not tried. */
void mx_validate_skip(struct mx_validate_report *report, const char *why);
/* One line. `hint` NULL or "": none. */
void mx_validate_report_add(struct mx_validate_report *report, enum mx_finding finding, const char *hint,
                            const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Values of the current check; `object` NULL: those of the check itself. */
void mx_validate_number(struct mx_validate_report *report, cJSON *object, const char *name, double value);
void mx_validate_text(struct mx_validate_report *report, cJSON *object, const char *name, const char *value);
void mx_validate_flag(struct mx_validate_report *report, cJSON *object, const char *name, bool value);
cJSON *mx_validate_array(struct mx_validate_report *report, cJSON *object, const char *name);
cJSON *mx_validate_element(struct mx_validate_report *report, cJSON *array); /* a new object at its end */

struct mx_validate;
/* The JSON object of all that was found, which takes over the checks; NULL without memory. The caller deletes it. */
cJSON *mx_validate_json(struct mx_validate *v, const char *mode);

/* ---- the checks ---- */

#define MX_VALIDATE_COMMAND "myxtts validate"
#define MX_VALIDATE_SEED    1

struct mx_validate {
    struct mx_validate_report report;
    struct mx_job job; /* settings first; devices from check 2 on, dataset, options and plan from check 3 on */
    struct mx_profile_corpus corpus;
    const atomic_bool *stop; /* set by a signal */
    const char *page;        /* file of --report; NULL: none, and six checks */
};

static inline bool mx_validate_multi(const struct mx_validate *v)
{
    return mx_device_pair_multi(&v->job.devices);
}

/* Do the settings ask for two devices? Naming only one of the two counts as well, and is refused later. */
bool mx_validate_asks_two(const struct mx_settings *settings);

int mx_validate_prerequisites(struct mx_validate *v);
int mx_validate_placement(struct mx_validate *v);
int mx_validate_model(struct mx_validate *v);
int mx_validate_transfer(struct mx_validate *v);
int mx_validate_pipeline(struct mx_validate *v);
/* The bytes it needs on each device; data is 0 on one device. */
void mx_validate_pipeline_bytes(const struct mx_device_pair *pair, uint64_t *data, uint64_t *model);
int mx_validate_step(struct mx_validate *v);
int mx_validate_operations(struct mx_validate *v);
int mx_validate_host_transfer(struct mx_validate *v);
int mx_validate_training(struct mx_validate *v);

/* ---- the file of --report ---- */

/* Adds "machine" to the object. */
void mx_validate_machine(struct mx_validate *v, cJSON *root);

/* The texts of the page, in English; ends with a NULL key. The catalogue has the Persian of each, in the context
 * "validation KEY". */
struct mx_validate_page_word {
    const char *key, *english;
};
extern const struct mx_validate_page_word mx_validate_page_words[];

/* Whether a file of this name can be written, and of which kind it would be. */
int mx_validate_page_check(const char *path);
/* Takes paths and the names of host, user and the made-up corpus out of all texts. */
int mx_validate_page_hide(cJSON *root, const char *corpus);
int mx_validate_page_save(const cJSON *root, const char *path);

#endif
