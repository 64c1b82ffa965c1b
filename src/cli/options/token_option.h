/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The token of a server, from a flag, a file or the environment. Other users of the machine see what a flag says in the
 * list of processes, so all pages show the file.
 */
#ifndef MX_CLI_TOKEN_OPTION_H
#define MX_CLI_TOKEN_OPTION_H

/* *out is NULL if there is none, otherwise the caller's. `flag` is the name of both flags: "token" for --token and
 * --token-file. `variable` of the environment counts if neither was given; NULL: none does. MX_ERR_USAGE: both flags. */
int mx_token_option_read(const char *flag, const char *token, const char *file, const char *variable, char **out);

#endif
