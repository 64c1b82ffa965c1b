/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the bytes of a request ask for: the parsers of the HTTP interfaces, without any HTTP. Whatever the bytes are, a
 * request comes out that the service can take, or a problem that names the field and says what is right.
 *
 * Both interfaces accept fields that they do not know. Beyond their own, both understand: language (a code), speaker (a
 * name), pitch (semitones, -24 … 24), volume (0 … 10), pause_scale (0 … 10), seed, ssml (true: the text is SSML),
 * sample_rate (of the answer, 8000 … 48000). A field that is null counts as absent.
 *
 * Memory: a request owns its strings, except those of the service; release it also after a problem.
 */
#ifndef MX_SERVE_HTTP_REQUEST_H
#define MX_SERVE_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "serve/service.h"
#include "speech/encode.h"

#define MX_HTTP_SPEED_LEAST 0.25
#define MX_HTTP_SPEED_MOST  4.0

struct mx_http_speech {
    char *text;
    size_t length;
    struct mx_service_text options;
    char *language; /* that options.language points to */
    enum mx_encode_format format;
    int rate;          /* of the answer */
    bool events;       /* as server-sent events */
    bool whole;        /* in one piece with its true length, when all of it is spoken */
    bool instructions; /* there are some, which no voice can follow */
};

struct mx_http_problem {
    unsigned status;
    const char *type, *code, *param; /* param NULL: none */
    char message[1024];
};

/* Sets the problem and returns false. */
bool mx_http_problem_set(struct mx_http_problem *problem, unsigned status, const char *code, const char *param,
                         const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The problem that a failure of the service is, from the current error of this thread. */
bool mx_http_problem_from_error(struct mx_http_problem *problem, int code);
/* The server ends: logs how many failures the log left out, if any. */
void mx_http_problem_log_end(void);

/* The body of POST /v1/audio/speech. */
bool mx_openai_parse(const struct mx_service *service, const char *body, size_t bytes, struct mx_http_speech *out,
                     struct mx_http_problem *problem);
/* The body of POST /synthesize. `type` is its Content-Type or NULL: JSON if the type or a body that begins with '{' indicates it,
 * otherwise the text itself, whose other fields `find` knows (those of the query). */
bool mx_piper_parse(const struct mx_service *service, const char *type, const char *body, size_t bytes,
                    const char *(*find)(void *context, const char *key), void *context, struct mx_http_speech *out,
                    struct mx_http_problem *problem);
void mx_http_speech_release(struct mx_http_speech *speech);

/* ---- fields of a JSON body, for the parsers ---- */

struct cJSON;

/* The body as an object. The caller deletes the tree. */
bool mx_http_json_parse(const char *body, size_t bytes, struct cJSON **tree, struct mx_http_problem *problem);
/* Each leaves *out as it is if the field is absent or null. Strings belong to the tree. */
bool mx_http_field_string(const struct cJSON *tree, const char *key, const char **out, struct mx_http_problem *problem);
bool mx_http_field_number(const struct cJSON *tree, const char *key, double low, double high, double *out,
                          struct mx_http_problem *problem);
bool mx_http_field_truth(const struct cJSON *tree, const char *key, bool *out, struct mx_http_problem *problem);

/* What both interfaces have in common: the fields listed above. `speaker`, if not NULL, is a name that the client gave
 * and is looked up; otherwise the speaker that is set already stays. */
bool mx_http_speech_common(const struct mx_service *service, const struct cJSON *tree, struct mx_http_speech *speech,
                           struct mx_http_problem *problem);
/* The voice `name`, and the speaker if the name includes one. */
bool mx_http_speech_voice(const struct mx_service *service, const char *name, struct mx_http_speech *speech,
                          struct mx_http_problem *problem);
bool mx_http_speech_speaker(const struct mx_service *service, const char *name, struct mx_http_speech *speech,
                            struct mx_http_problem *problem);
/* Copies the text; too long or empty ones are problems. */
bool mx_http_speech_text(const struct mx_service *service, const char *text, size_t length, const char *param,
                         struct mx_http_speech *speech, struct mx_http_problem *problem);

#endif
