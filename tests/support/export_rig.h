/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What tests of exported graphs share: a folder for graphs and for cases, which are inputs with the results of our own
 * code, one JSON object a line; and a reader that checks the form of a graph.
 *
 * The folder is that in MX_EXPORT_FOLDER, for scripts/test/onnx_check.py, or one that is removed at the end.
 *
 * Memory: a file belongs to its test until export_file_close. Failures end the test.
 */
#ifndef MX_TESTS_SUPPORT_EXPORT_RIG_H
#define MX_TESTS_SUPPORT_EXPORT_RIG_H

#include <stdbool.h>
#include <stdio.h>

#include "export/onnx.h"

/* Set-up and tear-down of a group of tests. */
int export_folder_open(void **state);
int export_folder_close(void **state);

/* The path of a file in the folder; export_path_done removes the file, unless it is to be kept, and the path. */
char *export_path_of(const char *name);
void export_path_done(char *path);

/* NAME.onnx and NAME.jsonl */
struct export_file {
    char *graph_path, *cases_path;
    FILE *cases;
    bool first; /* member of a case */
};

struct export_file export_file_open(const char *name);
void export_case_begin(struct export_file *file);
void export_case_number(struct export_file *file, const char *key, double value);
void export_case_floats(struct export_file *file, const char *key, const float *values, int64_t count);
void export_case_ints(struct export_file *file, const char *key, const int32_t *values, int64_t count);
void export_case_end(struct export_file *file);
/* Checks the graph and writes it. */
void export_file_close(struct export_file *file, const struct mx_onnx *onnx);

/* Every input of a node is made before it, and no name is made twice. Returns the number of nodes. */
size_t export_graph_check(const struct mx_onnx *onnx);

#endif
