/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dashboard: the page of a run (page.h), live in a browser while the run trains, served over HTTP by this machine.
 *
 *     /                          the page
 *     /events?after=STEP         server-sent events, as page.h describes them
 *     /metrics.jsonl             the file as it is now
 *     /samples/step-N/NNN.wav    and .png: the samples of an evaluation; target.png … (pictures.h)
 *     /samples/recorded/NNN.wav  the recordings of the same texts
 *
 * It only reads files of the run folder, in its own thread with the lowest priority there is, and knows nothing about
 * the trainer: the training loop neither waits for it nor sends it anything. Whatever happens to it, training
 * continues. At most MX_DASHBOARD_CLIENTS are served at a time; further ones get the status 503. The
 * data kept for them is bounded (dashboard_log.h), clients that do not read are dropped, and what they receive is
 * paced, so with more clients each gets updates less often, at the same total load.
 *
 * Read-only: GET and HEAD. Requested names never become part of a path: they are compared with the names above, and
 * numbers in them are parsed and printed again. On any address but a loopback one a token is required, as ?token=, as
 * "Authorization: Bearer", or as the cookie that comes with the page, which then takes it out of its address;
 * without a token only requests for a loopback name are answered, so that no web page can
 * reach the dashboard through a host name of its own.
 *
 * Memory: everything belongs to the dashboard; mx_dashboard_close ends its thread first.
 */
#ifndef MX_OBSERVE_DASHBOARD_H
#define MX_OBSERVE_DASHBOARD_H

#include <stdint.h>

#include "observe/page/page.h"

#define MX_DASHBOARD_ADDRESS "127.0.0.1:6007"
#define MX_DASHBOARD_CLIENTS 200

struct mx_dashboard;

struct mx_dashboard_options {
    const char *address; /* "ADDRESS:PORT", "[ADDRESS]:PORT", ":PORT" or "PORT"; port 0: any that is free */
    const char *token;   /* NULL: none */
    enum mx_words language;
    int patience_ms; /* a client that reads nothing for this long is dropped; 0: 20 s */
};

/* Binds the port. MX_ERR_USAGE: the address or the token is invalid; MX_ERR_IO: the port is not available;
 * MX_ERR_UNSUPPORTED: built without libmicrohttpd. */
int mx_dashboard_open(const struct mx_dashboard_options *options, struct mx_dashboard **out);
/* Serves the run in this folder until the dashboard is closed. */
int mx_dashboard_start(struct mx_dashboard *dashboard, const char *run);
void mx_dashboard_close(struct mx_dashboard *dashboard); /* NULL is fine */

int mx_dashboard_port(const struct mx_dashboard *dashboard);
const char *mx_dashboard_url(const struct mx_dashboard *dashboard); /* "http://127.0.0.1:6007/" */

#endif
