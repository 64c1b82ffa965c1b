/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by wyoming.c (port, threads, limits) and wyoming_talk.c (what is said on one connection). No other file
 * includes it.
 */
#ifndef MX_SERVE_WYOMING_INTERNAL_H
#define MX_SERVE_WYOMING_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/log_rate.h"

struct mx_service;

/* What all connections of a server share. */
struct mx_wyoming_shared {
    struct mx_service *service;
    char *info; /* the event, whole */
    size_t info_bytes;
    int patience_ms, idle_ms;
    atomic_bool stop;
    atomic_uint_fast64_t requests, failed;
    struct mx_log_rate nothing, warnings; /* texts without words; what was left out of texts */
};

/* ---- wyoming_talk.c ---- */
/* Makes the info event from the voices of the service. */
int mx_wyoming_info_build(struct mx_wyoming_shared *shared);
/* Answers the client until it goes, fails, says nothing for too long, or the server stops. `socket` does not block and
 * stays open. *idle_ns is since when the client has given no text to be spoken, or 0. */
void mx_wyoming_talk(struct mx_wyoming_shared *shared, int socket, atomic_uint_fast64_t *idle_ns);
/* Sends an error event to a client that gets nothing else. */
void mx_wyoming_refuse(int socket, const char *text, const char *code);

#endif
