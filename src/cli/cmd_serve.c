/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts serve: speaks for other programs, over HTTP and the Wyoming protocol, until a signal ends it.
 */
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/string.h"
#include "checkpoint/installed.h"
#include "checkpoint/voice_file.h"
#include "cli/command.h"
#include "cli/headings.h"
#include "cli/options/shared_options.h"
#include "cli/options/token_option.h"
#include "myxtts/error.h"
#include "run/interrupt.h"
#include "serve/http.h"
#include "serve/service.h"
#include "serve/wyoming.h"
#include "vocoder/sound.h"

#define OFF        "off"
#define ENDING     ".voice.safetensors"
#define TICK_NS    UINT64_C(50000000)
#define TICK_MS    50
#define VOICES_MAX 64

struct values {
    const char *listen, *wyoming, *token, *token_file, *device, *vocoder, *lexicon, *company_ms;
    struct mx_option_list allow_hosts, allow_origins;
    bool insecure;
    int64_t batch, workers, queue, max_text, max_seconds, whole_memory, connections, connections_per_address,
        drain_seconds, cpu_devices;
};

static const struct values start = {.listen = MX_HTTP_ADDRESS,
                                    .batch = MX_SERVICE_BATCH,
                                    .queue = 64,
                                    .max_text = 65536,
                                    .max_seconds = MX_SERVICE_SECONDS,
                                    .whole_memory = MX_HTTP_WHOLE_MIB,
                                    .connections = MX_HTTP_CONNECTIONS,
                                    .connections_per_address = MX_HTTP_PER_ADDRESS,
                                    .drain_seconds = 60};

static const struct mx_option options[] = {
    {MX_OPTION_STRING(struct values, listen, "listen", "ADDR:PORT", MX_HTTP_ADDRESS,
                      "Address of the HTTP server; " OFF ": no HTTP. Port 0 takes any free port. An address other than "
                      "loopback needs '--token-file', '--token' or '--insecure'.")},
    {MX_OPTION_STRING(
         struct values, wyoming, "wyoming", "ADDR:PORT", "none; alone: " MX_WYOMING_ADDRESS,
         "Also serve the Wyoming protocol (Home Assistant) at this address. The protocol has no passwords, "
         "so an address other than loopback needs '--insecure'."),
     .implied = MX_WYOMING_ADDRESS},
    {MX_OPTION_STRING(
        struct values, token, "token", "TOKEN", "$MYXTTS_SERVE_TOKEN",
        "Token that HTTP clients must send, as 'Authorization: Bearer TOKEN'; at least 16 characters. Other "
        "users of the machine see it in the list of processes: prefer '--token-file'.")},
    {MX_OPTION_STRING(struct values, token_file, "token-file", "FILE", NULL,
                      "Read the token from the first line of this file.")},
    {MX_OPTION_FLAG(struct values, insecure, "insecure", "Serve anybody who can reach the address, without a token.")},
    {MX_OPTION_LIST(
        struct values, allow_hosts, "allow-host", "NAME",
        "Without a token, also answer requests for this host name. Otherwise only localhost, loopback "
        "addresses and, with '--insecure', addresses in numbers are answered, so that no web page can reach "
        "the server through a name of its own.")},
    {MX_OPTION_LIST(struct values, allow_origins, "allow-origin", "URL",
                    "Without a token, let web pages of this origin use the server, for example http://localhost:3000. "
                    "Otherwise only the server's own page may. With a token, any page that knows it may.")},
    {MX_OPTION_INT(struct values, batch, "batch", "N", 1, MX_SERVICE_BATCH_LIMIT, MX_SERVICE_DIGITS(MX_SERVICE_BATCH),
                   "Maximum number of sentences, from any clients, that the network speaks at once. It does not change "
                   "what a text sounds like. 1: no batching.")},
    {MX_OPTION_INT(struct values, workers, "workers", "N", 1, MX_SERVICE_WORKERS_MAX,
                   "2 on a processor with several cores; 1 with '--batch 1' or '--device'",
                   "Number of batches that are spoken at the same time. The cores of the processor are divided among "
                   "them. Each loads its own copy of the voices.")},
    {MX_OPTION_STRING(struct values, company_ms, "company-ms", "MS", MX_SERVICE_DIGITS(MX_SERVICE_COMPANY_MS),
                      "Maximum time that a sentence waits for sentences of other clients to share its batch. From 0 to "
                      "1000 milliseconds.")},
    {MX_OPTION_INT(
        struct values, queue, "queue", "N", 1, 65536, "64",
        "Maximum number of texts at a time, spoken or waiting. More are refused: HTTP clients get status 429 "
        "with the time after which to try again.")},
    {MX_OPTION_INT(struct values, max_text, "max-text", "BYTES", 1, 1 << 26, "65536",
                   "Maximum length of a text. Longer ones are refused.")},
    {MX_OPTION_INT(
        struct values, max_seconds, "max-seconds", "SECONDS", 1, 1000000, MX_SERVICE_DIGITS(MX_SERVICE_SECONDS),
        "Maximum length of the sound of one text, pauses included. A longer one ends with an error: status 413 "
        "if no sound was sent yet.")},
    {MX_OPTION_INT(
        struct values, whole_memory, "whole-memory", "MIB", 1, 1 << 20, MX_SERVICE_DIGITS(MX_HTTP_WHOLE_MIB),
        "Maximum memory of all answers together that are sent whole, as WAV files to clients of Piper. If there "
        "is no room for another one, it is refused with status 503; one that alone is too large, with 413.")},
    {MX_OPTION_INT(struct values, connections, "connections", "N", 1, 4096, MX_SERVICE_DIGITS(MX_HTTP_CONNECTIONS),
                   "Maximum number of connections at a time, for each protocol.")},
    {MX_OPTION_INT(struct values, connections_per_address, "connections-per-address", "N", 1, 4096,
                   MX_SERVICE_DIGITS(MX_HTTP_PER_ADDRESS), "Maximum number of connections from one address.")},
    {MX_OPTION_INT(struct values, drain_seconds, "drain-seconds", "SECONDS", 0, 86400, "60",
                   "After SIGTERM or Ctrl-C, wait at most this long for the texts that are being spoken.")},
    MX_VOICE_OPTION_LEXICON(struct values),
    {MX_OPTION_STRING(struct values, vocoder, "vocoder", "RUN|FILE|" MX_SOUND_GRIFFIN_LIM,
                      "the vocoder of each voice, if it has one; otherwise " MX_SOUND_GRIFFIN_LIM,
                      "What makes sound from the mel: the vocoder of this run folder, checkpoint, voice file or "
                      "installed voice, or Griffin-Lim, which needs no training.")},
    MX_VOICE_OPTIONS_DEVICE(struct values),
};

static const struct mx_example examples[] = {
    {"myxtts serve", "serves all installed voices"},
    {"myxtts serve base", "serves the installed base voice"},
    {"myxtts serve my.voice.safetensors", "serves a voice to the programs of this machine, and a page to try it at "
                                          "http://127.0.0.1:8080/"},
    {"myxtts serve my-run other.voice.safetensors --wyoming", "serves two voices, also to Home Assistant"},
    {"myxtts serve voices --listen 0.0.0.0:8080 --token-file token.txt",
     "serves all voice files of a folder to other machines that know the token"},
    {"curl http://127.0.0.1:8080/v1/audio/speech -d '{\"input\": \"Good morning.\", \"response_format\": \"wav\"}' "
     "-H 'Content-Type: application/json' -o morning.wav",
     "asks a server for speech"},
};

/* ---- voices ---- */

/* Paths of voices; all strings are owned. */
struct paths {
    char *items[VOICES_MAX];
    size_t count;
};

static void paths_release(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) mx_free(paths->items[i]);
}

/* Takes over the string. */
static int paths_add(struct paths *paths, char *path)
{
    if (path == NULL) return MX_ERR_NO_MEMORY;
    if (paths->count == VOICES_MAX) {
        mx_free(path);
        MX_FAIL(MX_ERR_USAGE, NULL, "there are more than %d voices", VOICES_MAX);
        return mx_error_hint("start several servers, each with a part of the voices");
    }
    paths->items[paths->count++] = path;
    return 0;
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All voice files of a folder, in the order of their names. */
static int folder_read(const char *folder, struct paths *paths)
{
    int rc = 0;
    const size_t before = paths->count, ending = strlen(ENDING);
    DIR *const dir = opendir(folder);
    if (dir == NULL) return MX_FAIL(MX_ERR_IO, NULL, "cannot read the folder %s: %s", folder, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const size_t length = strlen(entry->d_name);
        if (length <= ending || strcmp(entry->d_name + length - ending, ENDING) != 0) continue;
        MX_TRY(paths_add(paths, mx_format("%s/%s", folder, entry->d_name)));
    }
    qsort(paths->items + before, paths->count - before, sizeof paths->items[0], name_compare);
out:
    closedir(dir);
    return rc;
}

/* Is it a run folder, or one of checkpoints? What is in it is found when it is opened. */
static bool checkpoints_there(const char *folder)
{
    bool there = false;
    DIR *const dir = opendir(folder);
    if (dir == NULL) return true;
    for (const struct dirent *entry; !there && (entry = readdir(dir)) != NULL;)
        there = strcmp(entry->d_name, "checkpoints") == 0 || strstr(entry->d_name, MX_CHECKPOINT_SUFFIX) != NULL;
    closedir(dir);
    return there;
}

/* All voices that are installed, by name; what cannot speak is named and left out. */
static int installed_read(struct paths *paths)
{
    int rc = 0;
    struct mx_installed list;
    MX_TRY(mx_installed_list(&list));
    for (size_t i = 0; i < list.count; i++) {
        const struct mx_installed_voice *const v = &list.voices[i];
        if (v->hidden || (v->fault == NULL && v->state->vocoder_alone)) continue;
        if (v->fault != NULL)
            mx_warn("the installed voice %s is left out: %s", v->path, v->fault);
        else
            MX_TRY(paths_add(paths, mx_strdup(v->path)));
    }
    if (paths->count == 0)
        MX_RAISE(MX_ERR_USAGE,
                 "name a run folder, a checkpoint, a voice file or a folder of these files; 'myxtts voices' says where "
                 "installed voices are looked for",
                 "'myxtts serve' needs a voice, and none is installed");
out:
    mx_installed_release(&list);
    return rc;
}

/* A folder with voice files is all of them; anything else is one voice. */
static int operand_read(const char *operand, struct paths *paths)
{
    int rc = 0;
    struct stat info;
    const size_t before = paths->count;
    if (stat(operand, &info) == 0 && S_ISDIR(info.st_mode)) MX_TRY(folder_read(operand, paths));
    const bool empty =
        paths->count == before && stat(operand, &info) == 0 && S_ISDIR(info.st_mode) && !checkpoints_there(operand);
    if (empty) {
        char quoted[160];
        MX_RAISE(MX_ERR_NOT_FOUND,
                 "put voice files there, NAME" ENDING " ('myxtts export RUN --output NAME" ENDING
                 "'); or name a run folder, or an installed voice: 'myxtts voices' lists them",
                 "the folder %s has neither voice files nor checkpoints",
                 mx_string_quote(quoted, sizeof quoted, operand));
    }
    if (paths->count == before) MX_TRY(paths_add(paths, mx_strdup(operand)));
out:
    return rc;
}

/* ---- systemd ---- */

/* Notifies the service manager, if there is one (sd_notify(3)). Nothing depends on the result. */
static void manager_notify(const char *state)
{
    const char *const path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof address.sun_path) return;
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@') address.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    const socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, length);
    close(fd);
}

/* ---- serving ---- */

static void voices_log(const struct mx_service *service)
{
    for (size_t i = 0; i < mx_service_voice_count(service); i++) {
        const struct mx_service_voice *const v = mx_service_voice(service, i);
        char languages[256] = "";
        size_t used = 0;
        for (size_t k = 0; k < v->language_count; k++) {
            const size_t length = strlen(v->languages[k]) + (k > 0 ? 2 : 0);
            if (used + length + 8 > sizeof languages) {
                memcpy(languages + used, ", …", sizeof ", …");
                break;
            }
            if (k > 0) memcpy(languages + used, ", ", 2);
            memcpy(languages + used + (k > 0 ? 2 : 0), v->languages[k], strlen(v->languages[k]) + 1);
            used += length;
        }
        mx_info("voice '%s': %s; %zu speaker%s; %d Hz%s%s", v->id, languages, v->speaker_count,
                v->speaker_count == 1 ? "" : "s", v->rate, *v->licence != '\0' ? "; " : "", v->licence);
    }
}

/* Finishes what is being spoken, and sends it, within the time allowed. */
static void drain(struct mx_service *service, struct mx_http *http, const struct values *values)
{
    struct mx_service_counts counts;
    mx_service_counts_read(service, &counts);
    mx_service_drain(service);
    if (http != NULL) mx_http_drain(http);
    manager_notify("STOPPING=1");
    if (counts.active > 0)
        mx_info("finishing %llu text%s; another signal ends the server at once", (unsigned long long)counts.active,
                counts.active == 1 ? "" : "s");
    const uint64_t until = mx_clock_ns() + (uint64_t)values->drain_seconds * UINT64_C(1000000000);
    while (mx_service_wait(service, TICK_MS) < 0 || (http != NULL && mx_http_wait(http, TICK_MS) < 0)) {
        if (mx_clock_ns() < until) continue;
        mx_service_counts_read(service, &counts);
        mx_warn("after %lld seconds %llu texts are not finished: they are cut off", (long long)values->drain_seconds,
                (unsigned long long)counts.active);
        mx_service_stop(service);
        return;
    }
}

static void counts_log(struct mx_service *service)
{
    struct mx_service_counts c;
    mx_service_counts_read(service, &c);
    mx_info("spoke %llu texts (%llu failed, %llu cancelled by their clients, %llu refused): %.1f s of sound in %.1f s "
            "of work, %.2f sentences at once",
            (unsigned long long)c.finished, (unsigned long long)c.failed, (unsigned long long)c.cancelled,
            (unsigned long long)c.refused, c.sound_seconds, c.work_seconds,
            c.batches > 0 ? (double)c.pieces / (double)c.batches : 0.0);
}

/* A server runs for months, and every connection has a thread: without this, the C library keeps a heap for many of them
 * and the garbage of their allocations. Blocks of sound go back to the system when they are freed. */
static void memory_settle(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 4);
    (void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

static int serve(const struct values *values, const struct mx_service_options *how, const char *token)
{
    int rc = 0;
    struct mx_service *service = NULL;
    struct mx_http *http = NULL;
    struct mx_wyoming *wyoming = NULL;
    struct mx_interrupt interrupt;
    const atomic_bool *const stop = mx_interrupt_watch(&interrupt, false);
    const struct mx_http_options web = {.address = values->listen,
                                        .token = token,
                                        .insecure = values->insecure,
                                        .allow_hosts = values->allow_hosts.items,
                                        .allow_host_count = values->allow_hosts.count,
                                        .allow_origins = values->allow_origins.items,
                                        .allow_origin_count = values->allow_origins.count,
                                        .whole_max = (size_t)values->whole_memory << 20,
                                        .connections = (int)values->connections,
                                        .connections_per_address = (int)values->connections_per_address};
    const struct mx_wyoming_options other = {.address = values->wyoming,
                                             .insecure = values->insecure,
                                             .connections = (int)values->connections,
                                             .connections_per_address = (int)values->connections_per_address};
    memory_settle();
    MX_TRY(mx_service_open(how, &service));
    mx_interrupt_renew(&interrupt); /* drivers replace handlers */
    voices_log(service);
    if (strcmp(values->listen, OFF) != 0) MX_TRY(mx_http_open(&web, service, &http));
    if (values->wyoming != NULL) MX_TRY(mx_wyoming_open(&other, service, &wyoming));
    if (http != NULL) mx_info("listening on %s", mx_http_url(http));
    if (wyoming != NULL) mx_info("listening on tcp://%s (Wyoming)", mx_wyoming_name(wyoming));
    mx_info("ready; Ctrl-C or SIGTERM finishes what is being spoken and ends the server");
    manager_notify("READY=1");
    while (!atomic_load(stop)) mx_clock_sleep_ns(TICK_NS);
    drain(service, http, values);
out:
    mx_wyoming_close(wyoming);
    mx_http_close(http);
    if (service != NULL && rc == 0) counts_log(service);
    mx_service_close(service);
    mx_interrupt_restore(&interrupt);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    struct paths paths = {0};
    char *token = NULL;
    struct mx_service_options how = MX_SERVICE_OPTIONS_DEFAULT;
    if (strcmp(values->listen, OFF) == 0 && values->wyoming == NULL)
        return MX_FAIL(MX_ERR_USAGE, "add '--wyoming' or leave out '--listen " OFF "'",
                       "the server would listen nowhere");
    how.device = values->device;
    how.cpu_devices = values->cpu_devices;
    how.vocoder = values->vocoder;
    how.lexicon = values->lexicon;
    how.batch_max = (int)values->batch;
    how.workers = (int)values->workers;
    how.queue_max = (int)values->queue;
    how.text_max = (size_t)values->max_text;
    how.seconds_max = (double)values->max_seconds;
    if (values->company_ms != NULL && mx_string_parse_double(values->company_ms, &how.company_ms) != MX_STRING_NUMBER) {
        char quoted[96];
        return MX_FAIL(MX_ERR_USAGE, "give a number of milliseconds, for example 3",
                       "option '--company-ms' has the value %s, which is not a number",
                       mx_string_quote(quoted, sizeof quoted, values->company_ms));
    }
    MX_TRY(mx_token_option_read("token", values->token, values->token_file, "MYXTTS_SERVE_TOKEN", &token));
    if (operands->count == 0) MX_TRY(installed_read(&paths));
    for (size_t i = 0; i < operands->count; i++) MX_TRY(operand_read(operands->items[i], &paths));
    how.voices = (const char *const *)paths.items;
    how.voice_count = paths.count;
    MX_TRY(serve(values, &how, token));
out:
    paths_release(&paths);
    mx_free(token);
    return rc;
}

const struct mx_command mx_command_serve = {
    .name = "serve",
    .page =
        {
            .command = "myxtts serve",
            .operands = "[VOICE...]",
            .operand_max = MX_OPTION_LIST_MAX,
            .summary = "speak for other programs: OpenAI's, Piper's and Home Assistant's protocols",
            .description =
                "Opens voices (run folders, checkpoints, voice files of 'myxtts export', folders of voice files, or "
                "installed voices by name; without any, all installed voices) and "
                "speaks what clients ask for, sentence by sentence, as soon as each is made. Sentences of several "
                "clients share a batch of the network; what a text sounds like does not depend on that.\n"
                "HTTP: POST /v1/audio/speech, GET /v1/models and /v1/audio/voices (as OpenAI's), POST /synthesize and "
                "GET /voices (as Piper's), GET /health and /metrics (Prometheus), and at / a page to try the voices. "
                "Wyoming: what Home Assistant uses.\n"
                "The server listens on this machine alone unless '--listen' or '--wyoming' name another address. It "
                "never opens a file that a client names. SIGTERM or Ctrl-C finishes what is being spoken; another "
                "signal, at least a second later, ends the server at once.",
            MX_PAGE_EXAMPLES(examples),
            .headings = mx_headings_serve,
            .former = mx_legacy_serve,
        },
    MX_COMMAND_WORK(options, struct values, run),
    .values = &start,
};
