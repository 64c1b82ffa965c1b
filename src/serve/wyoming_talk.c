/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The exchange on one Wyoming connection; see wyoming.h. One thread does all of it. While it waits for sound it polls
 * the socket now and then: often while text is still coming, because that text is what makes the sound.
 *
 * Memory: a talk is on the stack of its thread, and ends its job whatever happens.
 */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "serve/service.h"
#include "serve/wyoming_event.h"
#include "serve/wyoming_internal.h"

#define TEXT_MS       5                 /* between two polls of the socket while text arrives */
#define GONE_MS       50                /* otherwise: polls whether the client is still connected */
#define LINGER_MS     500               /* for a client to read the error before the connection is closed */
#define LINGER_MAX    ((size_t)1 << 20) /* bytes from it that are discarded meanwhile */
#define READ_BYTES    4096
#define CHUNKS        8                  /* that are sent at once, at most */
#define ESCAPED       6                  /* bytes of a byte of text in JSON, at most: \u0020 */
#define AROUND        ((size_t)16 << 10) /* bytes of an event, in addition to its text */
#define SOUND_SAMPLES ((size_t)CHUNKS * MX_WYOMING_CHUNK_SAMPLES)

/* In addition to the codes of myxtts/error.h: the client has disconnected, and the session ends without a message. */
#define GONE (-1000)

struct talk {
    struct mx_wyoming_shared *shared;
    int socket;
    atomic_uint_fast64_t *idle_ns;
    struct mx_wyoming_parser parser;
    char in[READ_BYTES];
    size_t in_at, in_used;
    uint64_t event_ns; /* when the last event was complete, or sound was sent */
    uint64_t begun_ns; /* when the incomplete event began; 0: there is none */
    struct mx_service_job *job;
    bool streaming, finished; /* of the job: text comes piece by piece; no more comes */
    bool ssml;                /* of the job: the text has tags, so bad data is an error */
    bool started;             /* audio-start was sent */
    float sound[SOUND_SAMPLES];
    size_t sound_count;
};

/* ---- the socket ---- */

static bool stopped(const struct talk *t)
{
    return atomic_load_explicit(&t->shared->stop, memory_order_relaxed);
}

/* Sends everything within the time limit of the server. */
static int bytes_send(struct mx_wyoming_shared *shared, int socket, const char *bytes, size_t count)
{
    const uint64_t end = mx_clock_ns() + (uint64_t)shared->patience_ms * MX_NS_PER_MS;
    while (count > 0) {
        const ssize_t done = send(socket, bytes, count, MSG_NOSIGNAL);
        if (done > 0) {
            bytes += done;
            count -= (size_t)done;
            continue;
        }
        if (done < 0 && errno != EAGAIN && errno != EINTR) return GONE;
        const uint64_t now = mx_clock_ns();
        if (now >= end) {
            atomic_fetch_add(&shared->failed, 1);
            mx_debug("wyoming: a client does not read, and was left");
            return GONE;
        }
        struct pollfd ready = {.fd = socket, .events = POLLOUT};
        (void)poll(&ready, 1, (int)((end - now) / MX_NS_PER_MS) + 1);
    }
    return 0;
}

/* Sends what was written, and releases it. */
static int text_send(struct mx_wyoming_shared *shared, int socket, struct mx_string *text)
{
    const int rc = text->failure < 0 ? text->failure : bytes_send(shared, socket, text->data, text->length);
    mx_string_release(text);
    return rc;
}

static int event_send(struct talk *t, const char *type)
{
    struct mx_string text = {0};
    mx_wyoming_write(&text, type, NULL);
    return text_send(t->shared, t->socket, &text);
}

/* Closing a connection with unread bytes would take back what was sent: so first says that this is the end, and lets
 * the client read it. */
static void linger(int socket)
{
    char waste[READ_BYTES];
    size_t read = 0;
    const uint64_t end = mx_clock_ns() + LINGER_MS * MX_NS_PER_MS;
    (void)shutdown(socket, SHUT_WR);
    for (uint64_t now; (now = mx_clock_ns()) < end && read < LINGER_MAX;) {
        struct pollfd ready = {.fd = socket, .events = POLLIN};
        if (poll(&ready, 1, (int)((end - now) / MX_NS_PER_MS) + 1) < 0 && errno != EINTR) return;
        const ssize_t got = recv(socket, waste, sizeof waste, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return;
        if (got > 0) read += (size_t)got;
    }
}

void mx_wyoming_refuse(int socket, const char *text, const char *code)
{
    char waste[READ_BYTES];
    struct mx_string event = {0};
    mx_wyoming_write_error(&event, text, code);
    /* As much as the system accepts at once: the server does not wait for a client that it does not serve. */
    if (event.failure == 0) (void)send(socket, event.data, event.length, MSG_NOSIGNAL);
    (void)shutdown(socket, SHUT_WR);
    (void)recv(socket, waste, sizeof waste, 0); /* a request that is there already would take the event back */
    mx_string_release(&event);
}

/* Has the client closed the connection or its half of it? */
static bool client_gone(const struct talk *t)
{
    struct pollfd ready = {.fd = t->socket, .events = POLLRDHUP};
    return poll(&ready, 1, 0) > 0;
}

/* Waits for bytes and reads them: 1, 0 if none came in time, or GONE. */
static int bytes_receive(struct talk *t, int wait_ms)
{
    struct pollfd ready = {.fd = t->socket, .events = POLLIN};
    t->in_at = t->in_used = 0;
    if (poll(&ready, 1, wait_ms) <= 0) return 0;
    const ssize_t got = recv(t->socket, t->in, sizeof t->in, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? 0 : GONE;
    if (got == 0) return GONE;
    t->in_used = (size_t)got;
    return 1;
}

/* ---- sound ---- */

static int start_send(struct talk *t)
{
    struct mx_string text = {0};
    if (t->started) return 0;
    t->started = true;
    mx_wyoming_write_start(&text, mx_service_job_rate(t->job));
    return text_send(t->shared, t->socket, &text);
}

/* Sends the sound that is held in whole chunks, and with `rest` what is left, at once. */
static int chunks_send(struct talk *t, bool rest)
{
    int rc = 0;
    char out[CHUNKS * MX_WYOMING_CHUNK_BYTES];
    int16_t samples[MX_WYOMING_CHUNK_SAMPLES];
    size_t at = 0, bytes = 0;
    const size_t least = rest ? 1 : MX_WYOMING_CHUNK_SAMPLES;
    if (t->sound_count < least) return 0;
    MX_TRY(start_send(t));
    while (t->sound_count - at >= least) {
        const size_t left = t->sound_count - at;
        const size_t count = left < MX_WYOMING_CHUNK_SAMPLES ? left : MX_WYOMING_CHUNK_SAMPLES;
        mx_samples_pcm16(t->sound + at, count, samples);
        bytes += mx_wyoming_chunk(out + bytes, mx_service_job_rate(t->job), samples, count);
        at += count;
    }
    t->sound_count -= at;
    memmove(t->sound, t->sound + at, t->sound_count * sizeof *t->sound);
    MX_TRY(bytes_send(t->shared, t->socket, out, bytes));
    t->event_ns = mx_clock_ns();
out:
    return rc;
}

/* The text is spoken. */
static int job_end(struct talk *t)
{
    int rc = 0;
    const char *const warning = mx_service_job_warning(t->job);
    if (*warning != '\0') mx_log_rate_write(&t->shared->warnings, MX_LOG_INFO, "wyoming: %s", warning);
    MX_TRY(chunks_send(t, true));
    MX_TRY(start_send(t));
    MX_TRY(event_send(t, "audio-stop"));
    if (t->streaming) MX_TRY(event_send(t, "synthesize-stopped"));
    mx_service_end(t->job);
    t->job = NULL;
    t->event_ns = mx_clock_ns();
    atomic_store(t->idle_ns, t->event_ns);
out:
    return rc;
}

/* An empty text is not an error in a conversation: the answer has no sound. */
static int nothing_end(struct talk *t)
{
    mx_log_rate_write(&t->shared->nothing, MX_LOG_INFO, "wyoming: %s", mx_error_last()->message);
    mx_error_clear();
    return job_end(t);
}

/* Sends the sound that is there; waits for it, but not so long that a disconnected client goes unnoticed. */
static int sound_pass(struct talk *t)
{
    int rc;
    bool waited = false;
    do { /* all that is there goes out together: each sending wakes the client */
        size_t count;
        const int wait_ms = waited ? 0 : t->finished ? GONE_MS : TEXT_MS;
        rc = mx_service_read(t->job, t->sound + t->sound_count, SOUND_SAMPLES - t->sound_count, &count, wait_ms);
        if (rc == MX_ERR_TIMEOUT) return chunks_send(t, !waited);
        if (rc == MX_ERR_DATA && !t->started && !t->ssml) return nothing_end(t);
        if (rc <= 0) return rc < 0 ? rc : job_end(t);
        t->sound_count += count;
        waited = true;
    } while (t->sound_count < SOUND_SAMPLES);
    return chunks_send(t, false);
}

/* ---- requests ---- */

/* Is `wanted` this language, as Home Assistant ("en"), Piper ("en_US") or a browser ("en-GB") writes it? */
static bool language_same(const char *code, const char *wanted)
{
    const size_t length = strlen(code);
    return strncasecmp(code, wanted, length) == 0 && (wanted[length] == '\0' || strchr("-_", wanted[length]) != NULL);
}

static const char *language_find(const struct mx_service_voice *voice, const char *wanted)
{
    for (size_t i = 0; i < voice->language_count; i++)
        if (language_same(voice->languages[i], wanted)) return voice->languages[i];
    return NULL;
}

/* Which voice, speaker and language the event asks for. */
static int voice_choose(const struct talk *t, const struct mx_wyoming_event *event, struct mx_service_text *out)
{
    int rc = 0;
    const char *name, *speaker, *language;
    struct mx_service *const service = t->shared->service;
    MX_TRY(mx_wyoming_string(event, "voice", "name", &name));
    MX_TRY(mx_wyoming_string(event, "voice", "speaker", &speaker));
    MX_TRY(mx_wyoming_string(event, "voice", "language", &language));
    MX_TRY(mx_service_find(service, name, &out->voice, &out->speaker));
    if (speaker != NULL && *speaker != '\0') out->speaker = speaker;
    if (language == NULL || *language == '\0') goto out;
    if (name == NULL || *name == '\0') /* any voice that speaks it */
        for (size_t i = mx_service_voice_count(service); i-- > 0;)
            if (language_find(mx_service_voice(service, i), language) != NULL) out->voice = i;
    out->language = language_find(mx_service_voice(service, out->voice), language);
    if (out->language == NULL) {
        char quoted[64];
        MX_RAISE(MX_ERR_NOT_FOUND, "leave the language out, or ask for the voices with a 'describe' event",
                 "no voice speaks the language %s", mx_string_quote(quoted, sizeof quoted, language));
    }
out:
    return rc;
}

static int job_begin(struct talk *t, const struct mx_wyoming_event *event, bool streaming)
{
    int rc = 0;
    const char *format;
    struct mx_service_text text = MX_SERVICE_TEXT_DEFAULT;
    MX_TRY(voice_choose(t, event, &text));
    MX_TRY(mx_wyoming_string(event, NULL, "text_format", &format));
    if (format != NULL && strcmp(format, "text") != 0 && strcmp(format, "ssml") != 0) {
        char quoted[64];
        MX_RAISE(MX_ERR_UNSUPPORTED, "send 'text' or 'ssml'", "the text format %s is not known",
                 mx_string_quote(quoted, sizeof quoted, format));
    }
    text.ssml = format != NULL && strcmp(format, "ssml") == 0;
    text.streaming = streaming;
    atomic_fetch_add(&t->shared->requests, 1);
    MX_TRY(mx_service_begin(t->shared->service, &text, &t->job));
    t->streaming = streaming;
    t->ssml = text.ssml;
    t->finished = t->started = false;
    t->sound_count = 0;
out:
    return rc;
}

static int text_add(struct talk *t, const struct mx_wyoming_event *event)
{
    int rc = 0;
    const char *text;
    MX_TRY(mx_wyoming_string(event, NULL, "text", &text));
    if (text == NULL) MX_RAISE(MX_ERR_FORMAT, "send \"text\"", "the event %s has no text", event->type);
    MX_TRY(mx_service_add(t->job, text, strlen(text)));
    if (*text != '\0') atomic_store(t->idle_ns, 0);
out:
    return rc;
}

static int job_finish(struct talk *t)
{
    t->finished = true;
    const int rc = mx_service_finish(t->job);
    return rc == MX_ERR_DATA && !t->ssml ? nothing_end(t) : rc;
}

static int pong(struct talk *t, const struct mx_wyoming_event *event)
{
    int rc = 0;
    const char *text;
    struct mx_string out = {0};
    cJSON *const data = cJSON_CreateObject();
    MX_TRY(mx_wyoming_string(event, NULL, "text", &text));
    if (data == NULL || (text != NULL ? cJSON_AddStringToObject(data, "text", text) == NULL
                                      : cJSON_AddNullToObject(data, "text") == NULL))
        MX_TRY(mx_alloc_failed("an event"));
    mx_wyoming_write(&out, "pong", data);
    MX_TRY(text_send(t->shared, t->socket, &out));
out:
    cJSON_Delete(data);
    return rc;
}

static int stream_fail(const struct mx_wyoming_event *event)
{
    return MX_FAIL(MX_ERR_FORMAT, "begin a stream of text with 'synthesize-start' and end it with 'synthesize-stop'",
                   "the event %s does not fit here", event->type);
}

static int event_handle(struct talk *t, const struct mx_wyoming_event *event)
{
    int rc = 0;
    const char *const type = event->type;
    const bool streaming = t->job != NULL; /* no event is handled while a whole text is spoken */
    if (strcmp(type, "describe") == 0) {
        rc = bytes_send(t->shared, t->socket, t->shared->info, t->shared->info_bytes);
    } else if (strcmp(type, "ping") == 0) {
        rc = pong(t, event);
    } else if (strcmp(type, "synthesize") == 0) {
        if (streaming) return 0; /* the whole text again, for servers that do not stream */
        MX_TRY(job_begin(t, event, false));
        MX_TRY(text_add(t, event));
        MX_TRY(job_finish(t));
    } else if (strcmp(type, "synthesize-start") == 0) {
        if (streaming) return stream_fail(event);
        MX_TRY(job_begin(t, event, true));
    } else if (strcmp(type, "synthesize-chunk") == 0) {
        if (!streaming) return stream_fail(event);
        MX_TRY(text_add(t, event));
    } else if (strcmp(type, "synthesize-stop") == 0) {
        if (!streaming) return stream_fail(event);
        MX_TRY(job_finish(t));
    } else {
        char plain[64];
        mx_debug("wyoming: ignored the event %s", mx_string_plain(plain, sizeof plain, type));
    }
out:
    return rc;
}

/* Handles the events that are there. Those that follow a whole text wait until it is spoken. */
static int events_receive(struct talk *t, int wait_ms)
{
    int rc = 0;
    for (;;) {
        while (t->in_at < t->in_used && (t->job == NULL || !t->finished)) {
            struct mx_wyoming_event event;
            size_t used;
            rc = mx_wyoming_parse(&t->parser, t->in + t->in_at, t->in_used - t->in_at, &used, &event);
            t->in_at += used;
            if (rc < 0) return rc;
            t->begun_ns = mx_wyoming_parser_midway(&t->parser) && t->begun_ns == 0 ? mx_clock_ns() : t->begun_ns;
            if (rc == 0) break;
            t->begun_ns = 0;
            t->event_ns = mx_clock_ns();
            rc = event_handle(t, &event);
            mx_wyoming_event_release(&event);
            if (rc < 0) return rc;
        }
        if (t->job != NULL && t->finished) return 0;
        rc = bytes_receive(t, wait_ms);
        if (rc <= 0) return rc;
        wait_ms = 0;
    }
}

/* How long the next event may still take; MX_ERR_TIMEOUT if it took too long. */
static int time_left(const struct talk *t, int *out_ms)
{
    const uint64_t now = mx_clock_ns();
    const bool midway = t->begun_ns != 0;
    const uint64_t since = midway ? t->begun_ns : t->event_ns;
    const uint64_t most = (uint64_t)(midway ? t->shared->patience_ms : t->shared->idle_ms) * MX_NS_PER_MS;
    if (now - since >= most)
        return MX_FAIL(MX_ERR_TIMEOUT, "connect again", "%s", midway ? "an event did not end" : "no event came");
    *out_ms = (int)((most - (now - since)) / MX_NS_PER_MS) + 1;
    return 0;
}

/* ---- the talk ---- */

static int talk_on(struct talk *t)
{
    int rc = 0, wait_ms = 0;
    while (!stopped(t)) {
        if (t->job == NULL) {
            MX_TRY(time_left(t, &wait_ms));
            MX_TRY(events_receive(t, wait_ms));
        } else if (!t->finished) {
            MX_TRY(time_left(t, &wait_ms));
            MX_TRY(events_receive(t, 0));
        } else if (client_gone(t)) {
            return GONE;
        }
        if (t->job != NULL) MX_TRY(sound_pass(t));
    }
out:
    return rc;
}

static void error_send(struct talk *t, const struct mx_error *error)
{
    struct mx_string words = {0}, event = {0};
    mx_string_append(&words, "%s%s%s", error->message, error->hint[0] != '\0' ? "; " : "", error->hint);
    if (words.failure == 0) mx_wyoming_write_error(&event, words.data, mx_error_name(error->code));
    mx_string_release(&words);
    if (event.failure < 0)
        mx_string_release(&event);
    else if (text_send(t->shared, t->socket, &event) == 0)
        linger(t->socket);
}

void mx_wyoming_talk(struct mx_wyoming_shared *shared, int socket, atomic_uint_fast64_t *idle_ns)
{
    struct talk t = {.shared = shared, .socket = socket, .idle_ns = idle_ns, .event_ns = mx_clock_ns()};
    mx_wyoming_parser_open(&t.parser, ESCAPED * mx_service_text_max(shared->service) + AROUND);
    const int rc = talk_on(&t);
    if (rc < 0 && rc != GONE) {
        const struct mx_error error = *mx_error_last();
        atomic_fetch_add(&shared->failed, 1);
        mx_debug("wyoming: a connection ends: %s", error.message);
        mx_service_end(t.job); /* its place is free before the client hears of it */
        t.job = NULL;
        if (!stopped(&t)) error_send(&t, &error);
    }
    mx_error_clear();
    mx_service_end(t.job);
    mx_wyoming_parser_close(&t.parser);
}

/* ---- info ---- */

/* {"name", "description", "attribution", "installed", "version"}, which every artifact has. */
static cJSON *artifact_add(cJSON *list, const char *name, const char *description, const char *attribution,
                           const char *version)
{
    cJSON *const item = cJSON_CreateObject();
    if (item == NULL || !cJSON_AddItemToArray(list, item)) {
        cJSON_Delete(item);
        return NULL;
    }
    cJSON *const whose = cJSON_AddObjectToObject(item, "attribution");
    const bool whole = whose != NULL && cJSON_AddStringToObject(item, "name", name) != NULL &&
                       cJSON_AddStringToObject(item, "description", description) != NULL &&
                       cJSON_AddTrueToObject(item, "installed") != NULL &&
                       cJSON_AddStringToObject(whose, "name", attribution) != NULL &&
                       cJSON_AddStringToObject(whose, "url", "") != NULL &&
                       (version != NULL ? cJSON_AddStringToObject(item, "version", version)
                                        : cJSON_AddNullToObject(item, "version")) != NULL;
    return whole ? item : NULL;
}

/* A voice with its speakers. */
static bool voice_add(cJSON *list, const struct mx_service_voice *voice)
{
    struct mx_string words = {0};
    mx_string_append_plain(&words, voice->name);
    if (voice->licence[0] != '\0') {
        mx_string_append(&words, " (");
        mx_string_append_plain(&words, voice->licence);
        mx_string_append(&words, ")");
    }
    cJSON *const item = words.failure == 0 ? artifact_add(list, voice->id, words.data, voice->attribution, NULL) : NULL;
    mx_string_release(&words);
    cJSON *const languages = item != NULL ? cJSON_AddArrayToObject(item, "languages") : NULL;
    bool whole = languages != NULL;
    for (size_t i = 0; whole && i < voice->language_count; i++)
        whole = cJSON_AddItemToArray(languages, cJSON_CreateString(voice->languages[i]));
    if (!whole || voice->speaker_count == 0) return whole;
    cJSON *const speakers = cJSON_AddArrayToObject(item, "speakers");
    for (size_t i = 0; speakers != NULL && i < voice->speaker_count; i++) {
        cJSON *const one = cJSON_CreateObject();
        if (one == NULL || !cJSON_AddItemToArray(speakers, one)) {
            cJSON_Delete(one);
            return false;
        }
        if (cJSON_AddStringToObject(one, "name", voice->speakers[i]) == NULL) return false;
    }
    return speakers != NULL;
}

/* The speakers of a voice of several languages once more, as voices of one language each: a client that looks for voices of
 * a language finds who speaks it. */
static bool speakers_add(cJSON *list, const struct mx_service_voice *voice)
{
    bool whole = true;
    for (size_t i = 0; whole && voice->language_count > 1 && voice->speaker_count > 1 && i < voice->speaker_count;
         i++) {
        struct mx_string name = {0};
        if (voice->speaker_languages[i][0] == '\0') continue;
        mx_string_append(&name, "%s/%s", voice->id, voice->speakers[i]);
        cJSON *const item =
            name.failure == 0 ? artifact_add(list, name.data, voice->speakers[i], voice->attribution, NULL) : NULL;
        cJSON *const languages = item != NULL ? cJSON_AddArrayToObject(item, "languages") : NULL;
        whole = languages != NULL && cJSON_AddItemToArray(languages, cJSON_CreateString(voice->speaker_languages[i]));
        mx_string_release(&name);
    }
    return whole;
}

int mx_wyoming_info_build(struct mx_wyoming_shared *shared)
{
    /* Older clients expect every kind of service to be there. */
    static const char *const others[] = {"asr", "handle", "intent", "wake", "mic", "snd"};
    int rc = 0;
    struct mx_string out = {0};
    cJSON *const root = cJSON_CreateObject();
    cJSON *const list = root != NULL ? cJSON_AddArrayToObject(root, "tts") : NULL;
    cJSON *const program =
        list != NULL ? artifact_add(list, "myxtts", "Voices trained with MyXTTS", "MyXTTS", MX_VERSION) : NULL;
    cJSON *const voices = program != NULL ? cJSON_AddArrayToObject(program, "voices") : NULL;
    bool whole = voices != NULL && cJSON_AddTrueToObject(program, "supports_synthesize_streaming") != NULL;
    for (size_t i = 0; whole && i < mx_service_voice_count(shared->service); i++)
        whole = voice_add(voices, mx_service_voice(shared->service, i)) &&
                speakers_add(voices, mx_service_voice(shared->service, i));
    for (size_t i = 0; whole && i < sizeof others / sizeof others[0]; i++)
        whole = cJSON_AddArrayToObject(root, others[i]) != NULL;
    if (!whole) MX_TRY(mx_alloc_failed("the list of voices"));
    mx_wyoming_write(&out, "info", root);
    MX_TRY(out.failure);
    shared->info = out.data;
    shared->info_bytes = out.length;
out:
    if (rc < 0) mx_string_release(&out);
    cJSON_Delete(root);
    return rc;
}
