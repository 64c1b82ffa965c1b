/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * word_errors SAID HEARD: two texts, line by line: how many words of the first must be replaced, left out or added to
 * become the second. Prints "errors words rate-in-percent", the sums over all lines; the rate is that of all words
 * together, not a mean of lines.
 *
 * Words are runs of letters, digits and apostrophes in ASCII; everything else parts them, and the case does not count.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define WORDS_MAX 1024 /* of a line */

static int is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '\'';
}

/* Cuts `line` into words in place; returns how many. */
static int words_cut(char *line, char *words[WORDS_MAX])
{
    int count = 0;
    for (char *at = line; *at != '\0' && count < WORDS_MAX;) {
        while (*at != '\0' && !is_letter(*at)) at++;
        if (*at == '\0') break;
        words[count++] = at;
        for (; is_letter(*at); at++) *at = (char)tolower((unsigned char)*at);
        if (*at != '\0') *at++ = '\0';
    }
    return count;
}

static int least(int a, int b, int c)
{
    const int d = a < b ? a : b;
    return d < c ? d : c;
}

/* Levenshtein's distance, over words. */
static int distance(char *const *said, int said_count, char *const *heard, int heard_count)
{
    static int row[WORDS_MAX + 1];
    for (int j = 0; j <= heard_count; j++) row[j] = j;
    for (int i = 1; i <= said_count; i++) {
        int across = row[0]; /* of the row before, one to the left */
        row[0] = i;
        for (int j = 1; j <= heard_count; j++) {
            const int replaced = across + (strcmp(said[i - 1], heard[j - 1]) != 0);
            across = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, replaced);
        }
    }
    return row[heard_count];
}

int main(int argc, char **argv)
{
    static char *said_words[WORDS_MAX], *heard_words[WORDS_MAX];
    char *said = NULL, *heard = NULL;
    size_t said_bytes = 0, heard_bytes = 0;
    long errors = 0, words = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: word_errors SAID HEARD\n");
        return 1;
    }
    FILE *const a = fopen(argv[1], "r"), *const b = fopen(argv[2], "r");
    if (a == NULL || b == NULL) {
        perror(a == NULL ? argv[1] : argv[2]);
        return 2;
    }
    for (;;) {
        const ssize_t one = getline(&said, &said_bytes, a), other = getline(&heard, &heard_bytes, b);
        if ((one < 0) != (other < 0)) {
            fprintf(stderr, "word_errors: %s has more lines than the other\n", one < 0 ? argv[2] : argv[1]);
            return 2;
        }
        if (one < 0) break;
        const int said_count = words_cut(said, said_words), heard_count = words_cut(heard, heard_words);
        errors += distance(said_words, said_count, heard_words, heard_count);
        words += said_count;
    }
    free(said);
    free(heard);
    fclose(a);
    fclose(b);
    if (words == 0) {
        fprintf(stderr, "word_errors: %s has no words\n", argv[1]);
        return 2;
    }
    printf("%ld %ld %.1f\n", errors, words, 100.0 * (double)errors / (double)words);
    return 0;
}
