/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Wyoming server: its port, threads and limits; see wyoming.h. The exchange on a connection is in wyoming_talk.c.
 */
#include "serve/wyoming.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/net/listen.h"
#include "base/thread/pool.h"
#include "myxtts/error.h"
#include "serve/wyoming_internal.h"

#define CONNECTIONS     64
#define PER_ADDRESS     32
#define PATIENCE_MS     20000
#define IDLE_MS         120000
#define CONNECTIONS_MAX 4096
#define SPARE           32         /* places of connections that end and of their threads, above the limit */
#define SEND_BYTES      (64 << 10) /* that the system may hold for a client; it takes twice as much: three seconds */
#define PAUSE_NS        UINT64_C(50000000) /* when the system has no descriptor or thread for a client */

enum state {
    FREE,
    TALKING,
    ENDED, /* its thread waits to be joined */
};

struct connection {
    struct mx_wyoming *server;
    enum state state;
    int socket;     /* -1: none */
    bool displaced; /* TALKING, but shut down for a new one: it does not count */
    unsigned char address[16];
    atomic_uint_fast64_t idle_ns; /* since when it is idle (mx_wyoming_talk) */
    pthread_t thread;
};

/* Invariants under `lock`: `active` connections are TALKING; the socket of a connection is open exactly while it is
 * TALKING, so the holder of the lock may shut it down; a connection becomes ENDED only by its own thread, as the last
 * thing it does, and FREE only by the thread that has joined it. `counts` is read and written under it, too. */
struct mx_wyoming {
    struct mx_wyoming_shared shared;
    struct mx_listen_socket listener;
    int wake; /* readable: the server stops */
    pthread_t thread;
    bool started;
    int most, per_address; /* connections */
    pthread_mutex_t lock;
    struct connection *connections;
    size_t connection_count;
    struct mx_wyoming_counts counts;
};

/* ---- connections ---- */

/* What counts as one address: that of IPv4, or a /64 network of IPv6, which one machine can have all of. */
static void address_copy(const struct sockaddr_storage *from, unsigned char out[16])
{
    const struct sockaddr_in6 *const v6 = (const struct sockaddr_in6 *)(const void *)from;
    memset(out, 0, 16);
    if (from->ss_family == AF_INET) {
        memcpy(out + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
        out[10] = out[11] = 0xFF; /* as IPv6 writes it */
    } else if (from->ss_family == AF_INET6) {
        memcpy(out, &v6->sin6_addr, IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) ? 16 : 8);
    }
}

static void *talk(void *context)
{
    struct connection *const c = context;
    struct mx_wyoming *const w = c->server;
    mx_wyoming_talk(&w->shared, c->socket, &c->idle_ns);
    pthread_mutex_lock(&w->lock);
    close(c->socket);
    c->socket = -1;
    c->state = ENDED;
    w->counts.active--;
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Shuts down the connection that has been idle for longest, of the address or of all (NULL); false: none is idle. With the
 * lock held. */
static bool displace(struct mx_wyoming *w, const unsigned char address[16])
{
    struct connection *oldest = NULL;
    uint64_t oldest_ns = 0;
    for (size_t i = 0; i < w->connection_count; i++) {
        struct connection *const c = &w->connections[i];
        const uint64_t since = atomic_load(&c->idle_ns);
        if (c->state != TALKING || c->displaced || since == 0) continue;
        if (address != NULL && memcmp(c->address, address, sizeof c->address) != 0) continue;
        if (oldest != NULL && since >= oldest_ns) continue;
        oldest = c;
        oldest_ns = since;
    }
    if (oldest == NULL) return false;
    oldest->displaced = true;
    w->counts.displaced++;
    (void)shutdown(oldest->socket, SHUT_RDWR);
    return true;
}

/* A free place, after joining the threads that have ended; NULL with the reason if there is none for this address. Above
 * a limit, an idle connection makes room. */
static struct connection *place_find(struct mx_wyoming *w, const unsigned char address[16], const char **why)
{
    struct connection *found = NULL;
    int all = 0, same = 0;
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < w->connection_count; i++) {
        struct connection *const c = &w->connections[i];
        if (c->state == ENDED) {
            pthread_join(c->thread, NULL); /* it has released the lock, or is about to: it waits for nothing */
            c->state = FREE;
        }
        if (c->state == FREE && found == NULL) found = c;
        if (c->state != TALKING || c->displaced) continue;
        all++;
        same += memcmp(c->address, address, sizeof c->address) == 0;
    }
    const bool crowded = same >= w->per_address, full = found == NULL || all >= w->most;
    bool refused = found == NULL;
    if (found != NULL && (crowded || full)) refused = !displace(w, crowded ? address : NULL);
    pthread_mutex_unlock(&w->lock);
    *why = !refused  ? NULL
           : crowded ? "your address has as many connections as it may have; try again later"
                     : "the server has as many connections as it takes; try again later";
    return refused ? NULL : found;
}

static void client_accept(struct mx_wyoming *w, int socket, const struct sockaddr_storage *from)
{
    const char *why;
    int on = 1, bytes = SEND_BYTES;
    unsigned char address[16];
    address_copy(from, address);
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    struct connection *const c = place_find(w, address, &why);
    if (c == NULL) {
        mx_wyoming_refuse(socket, why, "BUDGET");
        close(socket);
        pthread_mutex_lock(&w->lock);
        w->counts.refused++;
        pthread_mutex_unlock(&w->lock);
        mx_debug("wyoming: a client was refused: %s", why);
        return;
    }
    pthread_mutex_lock(&w->lock);
    c->server = w;
    c->socket = socket;
    c->state = TALKING;
    c->displaced = false;
    atomic_store(&c->idle_ns, mx_clock_ns());
    memcpy(c->address, address, sizeof address);
    w->counts.connections++;
    w->counts.active++;
    const int rc = mx_thread_start(&c->thread, "wyoming/client", -1, talk, c);
    if (rc < 0) {
        mx_warn("wyoming: a client was sent away: %s", mx_error_last()->message);
        mx_error_clear();
        close(socket);
        c->socket = -1;
        c->state = FREE;
        w->counts.active--;
        w->counts.refused++;
    }
    pthread_mutex_unlock(&w->lock);
    if (rc < 0) mx_clock_sleep_ns(PAUSE_NS);
}

static void *accept_all(void *context)
{
    struct mx_wyoming *const w = context;
    while (!atomic_load(&w->shared.stop)) {
        struct pollfd ready[2] = {{.fd = w->listener.socket, .events = POLLIN}, {.fd = w->wake, .events = POLLIN}};
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof from;
        if (poll(ready, 2, -1) < 0 && errno != EINTR) break;
        if ((ready[0].revents & POLLIN) == 0) continue;
        const int socket = accept4(w->listener.socket, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket >= 0)
            client_accept(w, socket, &from);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            mx_clock_sleep_ns(PAUSE_NS); /* the client waits in the queue of the system */
    }
    return NULL;
}

/* ---- the server ---- */

static int options_check(const struct mx_wyoming_options *o)
{
    if (o->connections < 0 || o->connections > CONNECTIONS_MAX || o->connections_per_address < 0)
        return MX_FAIL(MX_ERR_ARGUMENT, "allow at least one, or leave it out",
                       "the number of Wyoming connections is not from 1 to %d", CONNECTIONS_MAX);
    return 0;
}

int mx_wyoming_open(const struct mx_wyoming_options *options, struct mx_service *service, struct mx_wyoming **out)
{
    static const struct mx_listen_use use = {"the Wyoming server", "--wyoming", MX_WYOMING_ADDRESS};
    int rc = 0;
    struct mx_listen_address address;
    *out = NULL;
    struct mx_wyoming *w = mx_alloc(1, sizeof *w);
    if (w == NULL) return MX_ERR_NO_MEMORY;
    pthread_mutex_init(&w->lock, NULL);
    w->shared.nothing = w->shared.warnings = (struct mx_log_rate)MX_LOG_RATE_INIT;
    w->listener.socket = w->wake = -1;
    MX_TRY(options_check(options));
    w->shared.service = service;
    w->shared.patience_ms = options->patience_ms > 0 ? options->patience_ms : PATIENCE_MS;
    w->shared.idle_ms = options->idle_ms > 0 ? options->idle_ms : IDLE_MS;
    w->per_address = options->connections_per_address > 0 ? options->connections_per_address : PER_ADDRESS;
    atomic_init(&w->shared.stop, false);
    atomic_init(&w->shared.requests, 0);
    atomic_init(&w->shared.failed, 0);
    MX_TRY(mx_listen_resolve(&use, options->address, &address));
    if (!address.loopback && !options->insecure)
        MX_RAISE(MX_ERR_USAGE,
                 "add '--insecure' if everyone who can reach it may have texts spoken (a token protects HTTP only), or "
                 "stay on 127.0.0.1",
                 "Wyoming has no password, and the server on %s would speak for everyone who can reach that address",
                 address.host);
    w->most = options->connections > 0 ? options->connections : CONNECTIONS;
    w->connection_count = (size_t)w->most + SPARE;
    w->connections = mx_alloc(w->connection_count, sizeof *w->connections);
    if (w->connections == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < w->connection_count; i++) w->connections[i].socket = -1;
    MX_TRY(mx_wyoming_info_build(&w->shared));
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->wake < 0)
        MX_RAISE(MX_ERR_IO, "check the limits of the system (ulimit -n)", "cannot start the Wyoming server: %s",
                 strerror(errno));
    MX_TRY(mx_listen_open(&use, &address, &w->listener));
    MX_TRY(mx_thread_start(&w->thread, "wyoming", -1, accept_all, w));
    w->started = true;
    *out = w;
    w = NULL;
out:
    mx_wyoming_close(w);
    return rc;
}

void mx_wyoming_close(struct mx_wyoming *w)
{
    if (w == NULL) return;
    atomic_store(&w->shared.stop, true);
    if (w->started) {
        const uint64_t one = 1;
        while (write(w->wake, &one, sizeof one) < 0 && errno == EINTR) {
        }
        pthread_join(w->thread, NULL);
    }
    if (w->listener.socket >= 0) close(w->listener.socket);
    if (w->wake >= 0) close(w->wake);
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; w->connections != NULL && i < w->connection_count; i++)
        if (w->connections[i].state == TALKING) (void)shutdown(w->connections[i].socket, SHUT_RDWR);
    pthread_mutex_unlock(&w->lock);
    /* Only this thread is left to join them, so a state other than FREE stays until it does. */
    for (size_t i = 0; w->connections != NULL && i < w->connection_count; i++) {
        pthread_mutex_lock(&w->lock);
        const bool used = w->connections[i].state != FREE;
        pthread_mutex_unlock(&w->lock);
        if (used) pthread_join(w->connections[i].thread, NULL);
    }
    mx_log_rate_end(&w->shared.nothing, "Wyoming texts without words");
    mx_log_rate_end(&w->shared.warnings, "what was left out of Wyoming texts");
    pthread_mutex_destroy(&w->lock);
    mx_free(w->connections);
    mx_free(w->shared.info);
    mx_free(w);
}

int mx_wyoming_port(const struct mx_wyoming *w)
{
    return w->listener.port;
}

const char *mx_wyoming_name(const struct mx_wyoming *w)
{
    return w->listener.name;
}

void mx_wyoming_counts_read(struct mx_wyoming *w, struct mx_wyoming_counts *out)
{
    pthread_mutex_lock(&w->lock);
    *out = w->counts;
    pthread_mutex_unlock(&w->lock);
    out->requests = atomic_load(&w->shared.requests);
    out->failed = atomic_load(&w->shared.failed);
}
