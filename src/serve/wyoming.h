/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Wyoming server: the voices of a service for Home Assistant and other programs that speak the Wyoming protocol,
 * over TCP.
 *
 *     describe                                         → info
 *     ping                                             → pong
 *     synthesize {text, voice, text_format}            → audio-start, audio-chunk …, audio-stop
 *     synthesize-start {voice, text_format},
 *     synthesize-chunk {text} …, synthesize-stop       → the same, while text still comes; then synthesize-stopped
 *
 * A `synthesize` between synthesize-start and synthesize-stop repeats the whole text for servers that do not stream,
 * and is ignored. Unknown events are ignored, as the protocol wants it. Requests of one connection are answered one
 * after the other. A request that fails is answered with an `error` event, and then the connection is closed: clients
 * such as Home Assistant wait for the end of the sound and do not look at errors. A client that closes the connection,
 * or its sending half, while it is spoken to has gone: its text is not spoken any further.
 *
 * Wyoming has no password: who can connect can have texts spoken. So on any address but a loopback one the server
 * starts only if it is asked to be insecure. Web pages cannot use it, as they could an HTTP server on this machine: a
 * browser begins with an HTTP request, which is no event, and the connection is closed.
 *
 * Bounded: connections, connections of one address, bytes of an event, the time for an event to come or to be taken,
 * and the time without any event. A new connection above a limit displaces the one that has been idle for longest, which
 * has no text to be spoken. One thread accepts, and each connection has a thread; the server owns and joins them.
 *
 * Memory: a server owns its threads and connections; the service is borrowed and must outlive it.
 */
#ifndef MX_SERVE_WYOMING_H
#define MX_SERVE_WYOMING_H

#include <stdbool.h>
#include <stdint.h>

#define MX_WYOMING_ADDRESS "127.0.0.1:10200"

struct mx_service;
struct mx_wyoming;

struct mx_wyoming_options {
    const char *address;         /* "ADDRESS:PORT", "[ADDRESS]:PORT", ":PORT" or "PORT"; port 0: any that is free */
    bool insecure;               /* other machines may connect */
    int connections;             /* at a time; 0: 64 */
    int connections_per_address; /* 0: 32 */
    int patience_ms;             /* for an event to be complete, or to be taken by the client; 0: 20 s */
    int idle_ms;                 /* without an event, unless sound is sent; 0: 120 s */
};

/* Listens, and answers from now on. MX_ERR_USAGE: the address is invalid, or not a loopback address; MX_ERR_IO: the port
 * is not available. */
int mx_wyoming_open(const struct mx_wyoming_options *options, struct mx_service *service, struct mx_wyoming **out);
/* Ends all connections at once. To let texts be spoken to their end, first mx_service_drain and mx_service_wait. NULL is
 * fine. */
void mx_wyoming_close(struct mx_wyoming *wyoming);

int mx_wyoming_port(const struct mx_wyoming *wyoming);
const char *mx_wyoming_name(const struct mx_wyoming *wyoming); /* "127.0.0.1:10200" */

struct mx_wyoming_counts {
    uint64_t connections; /* that were accepted */
    uint64_t active;      /* now */
    uint64_t refused;     /* because there were too many */
    uint64_t displaced;   /* idle ones that were closed for a new one */
    uint64_t requests;    /* texts */
    uint64_t failed;      /* connections that ended with an error event or a time-out */
};
void mx_wyoming_counts_read(struct mx_wyoming *wyoming, struct mx_wyoming_counts *out);

#endif
