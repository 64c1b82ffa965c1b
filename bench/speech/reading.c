/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * reading LANGUAGE: how a voice that reads phonemes reads the lines of standard input. Prints a line for each: the text
 * after the cleaners, '|', and its phonemes as `myxtts synth` gets them.
 *
 * Memory: an arena for each line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "text/text.h"
#include "text/tokens.h"

static int line_read(struct mx_phonemizer *phonemizer, enum mx_language_id language, const char *line, size_t length)
{
    struct mx_arena arena;
    char *normal, *phonemes;
    int rc = 0;
    mx_arena_init(&arena, 0);
    MX_TRY(mx_text_normalise(language, line, length, &arena, &normal, NULL));
    MX_TRY(mx_phonemizer_run(phonemizer, language, normal, &arena, &phonemes));
    printf("%s|%s\n", normal, phonemes);
out:
    mx_arena_release(&arena);
    return rc;
}

int main(int argc, char **argv)
{
    struct mx_phonemizer *phonemizer;
    enum mx_language_id language;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int rc = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: reading LANGUAGE <TEXT\n");
        return 1;
    }
    MX_TRY(mx_language_parse(argv[1], &language));
    MX_TRY(mx_phonemizer_get(&phonemizer));
    while ((length = getline(&line, &room, stdin)) >= 0)
        MX_TRY(line_read(phonemizer, language, line, strcspn(line, "\n")));
out:
    free(line);
    if (rc < 0) fprintf(stderr, "reading: %s\n", mx_error_last()->message);
    return rc < 0 ? 2 : 0;
}
