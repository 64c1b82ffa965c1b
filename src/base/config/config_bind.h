/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internals of the configuration that the file reader and the override reader share. Callers use config.h.
 *
 * Nothing here owns memory, except that binding a TEXT field replaces the string that the root owns.
 */
#ifndef MX_BASE_CONFIG_BIND_H
#define MX_BASE_CONFIG_BIND_H

#include "base/config/config.h"

#define MX_CONFIG_QUOTED_BYTES 96                   /* room for a user's word in a message */
#define MX_CONFIG_LIMITS       "({0}; default {1})" /* the comment below the help of a field */

/* Where a value was written, for messages. */
struct mx_config_where {
    const char *source; /* file name, or "--set section.key=value" */
    int line;           /* from 1; 0: the source has no lines */
    const char *flag;   /* set if the value came from this flag; the two above then have no meaning; else NULL */
};

/* "file.yaml:12" or "--set a.b=c", cut at the front if it is too long. */
#define MX_CONFIG_WHERE_BYTES 200
const char *mx_config_where_text(const struct mx_config_where *where, char out[MX_CONFIG_WHERE_BYTES]);

/* True if `name` is a section, or stands before the dot in a former name. */
bool mx_config_section_known(const struct mx_config_schema *schema, const char *name);
/* MX_ERR_CONFIG: no such section, with the nearest one. */
int mx_config_section_fail(const struct mx_config_schema *schema, const struct mx_config_where *where,
                           const char *name);
/* The field that section and key name, former names included (those are logged as warnings when `where` is given);
 * NULL without an error if there is none. */
const struct mx_config_field *mx_config_lookup(const struct mx_config_schema *schema,
                                               const struct mx_config_where *where, const char *section_name,
                                               const char *key, const struct mx_config_section **section);
/* The answer to a name that no field has; NULL if there is none. */
const struct mx_config_answer *mx_config_answer_find(const struct mx_config_schema *schema, const char *section_name,
                                                     const char *key);
/* Logs the answer to this value, or MX_ERR_CONFIG with the reason. */
int mx_config_answer_apply(const struct mx_config_where *where, const struct mx_config_answer *answer,
                           const char *section_name, const char *key, const char *text);
/* MX_ERR_CONFIG: no such key in this section, with the nearest one or the section it belongs to. */
int mx_config_key_fail(const struct mx_config_schema *schema, const struct mx_config_where *where,
                       const char *section_name, const char *key);

/* How a value was written. */
enum mx_config_style {
    MX_CONFIG_PLAIN,   /* in a file, without quotes */
    MX_CONFIG_QUOTED,  /* in a file, with quotes or as a block: always a string */
    MX_CONFIG_LITERAL, /* an override or a default: a string for string fields, a plain value for others */
};
/* Checks `text` and stores it in the field. */
int mx_config_bind(const struct mx_config_where *where, const struct mx_config_section *section,
                   const struct mx_config_field *field, void *root, const char *text, enum mx_config_style style);

#endif
