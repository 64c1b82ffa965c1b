/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports as trees of cJSON, which takes NULL without harm: failures are counted and looked at once, at the end.
 *
 * Memory: the tree belongs to the caller.
 */
#ifndef MX_CLI_JSON_TREE_H
#define MX_CLI_JSON_TREE_H

#include <cjson/cJSON.h>

/* Counts what could not be made. */
static inline void mx_command_json_check(const void *item, int *failures)
{
    if (item == NULL) ++*failures;
}

/* A new object at the end of an array; NULL, counted as a failure, without memory. */
static inline cJSON *mx_command_json_element(cJSON *array, int *failures)
{
    cJSON *const object = cJSON_CreateObject();
    if (object != NULL && cJSON_AddItemToArray(array, object)) return object;
    cJSON_Delete(object);
    ++*failures;
    return NULL;
}

#endif
