/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The work before the first word: CPU milliseconds of the client's thread from its text to the first piece that the
 * network can speak, for texts of 64 KB that are made to be slow to read. Prints a line "milliseconds name" for each.
 *
 *     first_word VOICE
 *
 * Each text comes in one part and streaming, as over Wyoming; and, streaming, one byte at a time. The figure is the
 * least of three runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "myxtts/error.h"
#include "serve/service.h"

#define BYTES 65536
#define RUNS  3
#define ROOM  4096

enum how { WHOLE, STREAMING, BYTEWISE };

static void die(const char *what)
{
    fprintf(stderr, "first_word: %s: %s\n", what, mx_error_last()->message);
    exit(1);
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* The unit again and again, up to BYTES, and the end in the last of them. */
static void text_fill(char *text, const char *unit, const char *end)
{
    const size_t length = strlen(unit), last = strlen(end);
    for (size_t at = 0; at < BYTES; at += length) memcpy(text + at, unit, length < BYTES - at ? length : BYTES - at);
    size_t at = BYTES - last;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80) text[--at] = ' ';
    memcpy(text + BYTES - last, end, last);
}

/* Nothing may be left to read for others, so the sound is not waited for. */
static double run(struct mx_service *service, const char *text, enum how how)
{
    struct mx_service_text options = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    float samples[ROOM];
    size_t count;
    options.streaming = how != WHOLE;
    const double start = cpu_ms();
    if (mx_service_begin(service, &options, &job) < 0) die("cannot begin");
    const size_t part = how == BYTEWISE ? 1 : BYTES;
    for (size_t at = 0; at < BYTES; at += part) {
        if (mx_service_add(job, text + at, part) < 0) die("cannot add");
        if (how == BYTEWISE) (void)mx_service_read(job, samples, 1, &count, 0);
    }
    if (mx_service_finish(job) < 0 && mx_error_last()->code != MX_ERR_DATA) die("cannot finish");
    (void)mx_service_read(job, samples, ROOM, &count, 0);
    const double spent = cpu_ms() - start;
    mx_service_end(job);
    mx_error_clear();
    return spent;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *unit, *end;
    } texts[] = {
        {"dots", ".", ""},
        {"dots, then a word", ".", "word"},
        {"blanks", " ", "word"},
        {"empty lines", "\n", "word"},
        {"ellipses and commas", "...,", "word"},
        {"ellipses between letters", "a... ", "word"},
        {"full stops and brackets", ".)", "word"},
        {"one word", "a", ""},
        {"letters", "a ", "."},
        {"initials", "A. ", "."},
        {"abbreviations", "Dr. ", "."},
        {"digits", "7", ""},
        {"numbers", "1,234.5 ", "."},
        {"groups", "1,", "."},
        {"letters and digits", "A1", "."},
        {"dates", "1/2/2003 ", "."},
        {"money", "$3.5m ", "."},
        {"years", "1999-", "."},
        {"ordinals", "31st ", "."},
        {"Roman numerals", "XIV ", "."},
        {"addresses", "a@b.c/", "."},
        {"slashes", "/", "word"},
        {"hyphens", "a-", "word"},
        {"dashes", "a - ", "word"},
        {"apostrophes", "'", "word"},
        {"accents", "e\u0301", "."},
        {"marks", "\u0301", "word"},
        {"pictures", "\U0001f600", "word"},
        {"Persian letters", "\u0627", "."},
        {"Persian words", "\u06a9\u062a\u0627\u0628 \u0645\u0646 ", "."},
        {"Persian letters that may be suffixes", "\u06a9", "."},
        {"Persian syllables", "\u06a9\u0645", "."},
        {"Persian and Korean letters", "\u0627\u00d7\uac00", "."},
        {"Persian digits", "\u06f7", "."},
        {"Persian half-spaces", "\u06a9\u200c", "."},
        {"Chinese full stops", "\u3002", "word"},
        {"sentences", "The morning train was late. ", "."},
    };
    static const char *const ways[] = {"", ", streaming", ", byte by byte"};
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    struct mx_service *service;
    if (argc != 2) {
        fprintf(stderr, "usage: first_word VOICE\n");
        return 1;
    }
    char *const text = malloc(BYTES);
    options.voices = (const char *const *)(argv + 1);
    options.voice_count = 1;
    if (text == NULL || mx_service_open(&options, &service) < 0) die("cannot open the voice");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        text_fill(text, texts[i].unit, texts[i].end);
        for (int how = WHOLE; how <= BYTEWISE; how++) {
            double best = 1e9;
            for (int k = 0; k < RUNS; k++) {
                const double spent = run(service, text, (enum how)how);
                if (spent < best) best = spent;
            }
            printf("%.2f %s%s\n", best, texts[i].name, ways[how]);
            fflush(stdout);
        }
    }
    mx_service_close(service);
    free(text);
    return 0;
}
