/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See homograph.h. The phonemes of the table and those of espeak-ng are written differently, so both are folded to one
 * coarse alphabet before they are compared.
 */
#include "homograph.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "bench.h"

#define READINGS_MOST 512
#define SOUNDS_MOST   64
#define SENTENCE_MOST 4096

struct sounds {
    uint32_t of[SOUNDS_MOST];
    size_t count;
};

struct reading {
    const char *word, *id;
    struct sounds sounds;
};

struct homographs {
    struct reading readings[READINGS_MOST];
    size_t count;
};

/* One sound for those that the two alphabets do not tell apart; 0: left out. Stress becomes '1'. */
static uint32_t fold(uint32_t point)
{
    static const struct {
        uint32_t from, to;
    } folds[] = {{0x2c8, '1'},   {0x2cc, 0},     {0x2d0, 0},     {' ', 0},        {'.', 0},        {0x279, 'r'},
                 {'g', 0x261},   {0x250, 0x259}, {0x28c, 0x259}, {0x1d7b, 0x26a}, {'i', 0x26a},    {0x25c, 0x259},
                 {0x25a, 0x259}, {0x25d, 0x259}, {0x251, 'a'},   {0x252, 'a'},    {0x254, 'a'},    {0x27e, 't'},
                 {0x28a, 'u'},   {0x329, 0},     {'e', 0x25b},   {0x26b, 'l'},    {0x1d4a, 0x259}, {'o', 'a'}};
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        if (folds[i].from == point) return folds[i].to;
    return point;
}

static bool is_vowel(uint32_t point)
{
    return point == 'a' || point == 'u' || point == 'O' || point == 0x259 || point == 0x26a || point == 0x25b ||
           point == 0xe6;
}

/* Stress stands before the vowel, as espeak-ng writes it; the table has it before the syllable. */
static size_t folded(const char *text, uint32_t *out, size_t room)
{
    size_t count = 0;
    bool stressed = false;
    while (*text && count + 1 < room) {
        uint32_t point;
        text += mx_utf8_decode(text, &point);
        if (point == 'o' && !strncmp(text, "ʊ", 2)) { /* nothing else distinguishes the readings of "row" */
            point = 'O';
        } else if ((point == 0x2a4 || point == 0x2a7) && count + 3 < room) { /* ʤ and ʧ are two sounds for espeak-ng */
            out[count++] = point == 0x2a4 ? 'd' : 't';
            point = point == 0x2a4 ? 0x292 : 0x283;
        }
        point = fold(point);
        if (point == '1' || point == '\'') {
            stressed = true;
        } else if (point != 0 && point != '"' && point != ',') {
            if (stressed && is_vowel(point)) {
                out[count++] = '1';
                stressed = false;
            }
            out[count++] = point;
        }
    }
    return count;
}

/* A field of a line whose fields stand in double quotes, between tabs; "" inside is one quote. */
static char *field_next(char **at)
{
    char *from = *at, *to;
    if (from == NULL) return NULL;
    *at = strchr(from, '\t');
    if (*at != NULL) *(*at)++ = 0;
    if (*from != '"') return from;
    to = ++from;
    for (const char *c = from; *c && !(c[0] == '"' && c[1] != '"'); c++) {
        *to++ = *c;
        c += *c == '"';
    }
    *to = 0;
    return from;
}

struct homographs *homographs_read(char *text)
{
    struct homographs *const table = mx_alloc(1, sizeof *table);
    char *next = NULL;
    if (table == NULL) bench_die("no memory");
    strtok_r(text, "\n", &next); /* the titles of the columns */
    for (char *line = strtok_r(NULL, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next)) {
        struct reading *const reading = &table->readings[table->count];
        reading->word = field_next(&line);
        reading->id = field_next(&line);
        field_next(&line);
        const char *const sounds = field_next(&line);
        if (sounds == NULL || table->count + 1 == READINGS_MOST) bench_die("the readings of homographs are damaged");
        reading->sounds.count = folded(sounds, reading->sounds.of, SOUNDS_MOST);
        table->count++;
    }
    return table;
}

void homographs_release(struct homographs *table)
{
    mx_free(table);
}

int homograph_case_read(char *line, struct homograph_case *out)
{
    out->word = field_next(&line);
    out->reading = field_next(&line);
    out->sentence = field_next(&line);
    const char *const start = field_next(&line);
    if (start == NULL || *start < '0' || *start > '9') return 0;
    out->start = (size_t)strtoul(start, NULL, 10);
    return 1;
}

/* The least number of sounds to change, add or leave out between the reading and any stretch of `said`, from its sound
 * `from` to its sound `to`. */
static size_t distance(const struct sounds *reading, const uint32_t *said, size_t from, size_t to)
{
    size_t row[SOUNDS_MOST + 1], best = SIZE_MAX;
    for (size_t i = 0; i <= reading->count; i++) row[i] = i;
    for (size_t at = from; at < to; at++) {
        size_t corner = row[0];
        for (size_t i = 1; i <= reading->count; i++) {
            const size_t changed = corner + (reading->of[i - 1] != said[at]);
            corner = row[i];
            const size_t added = (row[i] < row[i - 1] ? row[i] : row[i - 1]) + 1;
            row[i] = changed < added ? changed : added;
        }
        if (row[reading->count] < best) best = row[reading->count];
    }
    return best;
}

const char *homograph_said(const struct homographs *table, const struct homograph_case *one, const char *phonemes)
{
    uint32_t said[SENTENCE_MOST];
    const size_t count = folded(phonemes, said, SENTENCE_MOST), length = strlen(one->sentence);
    /* Around the place that the word has in the sentence: numbers before it may have become many words. */
    const size_t middle = length == 0 ? 0 : count * (one->start + strlen(one->word) / 2) / length;
    const size_t reach = 14 + count / 10;
    const char *best = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->readings[i].word, one->word) != 0) continue;
        const size_t d = distance(&table->readings[i].sounds, said, middle > reach ? middle - reach : 0,
                                  middle + reach < count ? middle + reach : count);
        if (d == least) best = NULL;
        if (d < least) {
            best = table->readings[i].id;
            least = d;
        }
    }
    return best;
}
