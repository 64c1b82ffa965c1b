/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Learns which reading of an English homograph a sentence means, and measures how often that is right.
 *
 * --data FOLDER has homographs/train.tsv of the Wikipedia Homograph Data (bench_text.c); bench/homographs.tsv has sentences
 * of our own, which are learned from OWN_WEIGHT times. The measure is a cross-validation: five times, four fifths of the
 * sentences of others are learned from, with all of ours, and the others are read. --write FILE learns from all of them
 * and writes the weights that the program is built with (src/text/english/homographs.h, `make homographs`).
 *
 * What is learned is a logistic regression by AdaGrad with a fixed order of sentences, so two runs write the same bytes.
 * Features that were seen too seldom are left out, and of the weights the largest are kept.
 *
 * Memory: everything lives until the end.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/rng.h"
#include "bench.h"
#include "homograph.h"
#include "myxtts/error.h"
#include "text/english/homographs.h"
#include "text/text.h"

#define FILE_MOST  (64u << 20)
#define FOLDS      5
#define OWN        MX_SOURCE_FOLDER "/bench/homographs.tsv"
#define OWN_WEIGHT 3
#define ROUNDS     30
#define RATE       0.05
#define DECAY      1e-4
#define TABLE      (1u << 23) /* places for keys while learning */
#define KEPT       66000      /* weights in the file */
#define SEEN_WORD  2          /* a feature counts for a word that has at least this number of sentences with it … */
#define SEEN_KIND  3          /* … and for a kind if all words together have this number */
#define WRONG_MOST 5.0
#define BYTES_MOST 300.0

static const char about[] =
    "MyXTTS: weights that choose the readings of English homographs (src/text/english/homographs.h).\n"
    "Learned by 'make homographs' from the train split of the Wikipedia Homograph Data of Google LLC, Apache License "
    "2.0,\n"
    "github.com/google-research-datasets/WikipediaHomographData; see Gorman, Mazovetskiy, Nikolaev (2018), Improving\n"
    "homograph disambiguation with supervised machine learning.\n\n";

struct sentence {
    const struct mx_homograph *word;
    bool plural;
    size_t reading;
    struct mx_homograph_features features;
};

/* A weight while it is learned, and how often its feature was seen. */
struct place {
    uint64_t key; /* 0: free */
    float weight, squares;
    unsigned seen;
};

struct learner {
    struct sentence *sentences;
    size_t count; /* of those of others; `own` more follow them */
    size_t own;
    struct place *places;
    unsigned char *model; /* the file without its text */
    size_t bytes;
};

/* ---- sentences ---- */

/* The place of the occurrence that the line means: homographs are counted in the sentence as it is written. */
static size_t token_find(const struct homograph_case *one, const struct mx_homograph_tokens *tokens, bool *plural)
{
    size_t wanted = 0;
    struct mx_arena arena;
    struct mx_homograph_tokens written;
    mx_arena_init(&arena, 0);
    if (mx_homograph_tokens_read(one->sentence, &arena, &written) < 0) bench_die("no memory");
    for (size_t i = 0; i < written.count && written.of[i].at < one->start; i++)
        wanted += written.of[i].length == strlen(one->word) &&
                  !strncasecmp(one->sentence + written.of[i].at, one->word, written.of[i].length);
    mx_arena_release(&arena);
    for (size_t i = 0; i < tokens->count; i++) {
        if (tokens->of[i].length != strlen(one->word) ||
            strncasecmp(tokens->text + tokens->of[i].at, one->word, tokens->of[i].length) != 0)
            continue;
        if (wanted-- == 0) return mx_homograph_of(tokens, i, plural) != NULL ? i : SIZE_MAX;
    }
    return SIZE_MAX;
}

static bool sentence_read(const struct homograph_case *one, struct sentence *out)
{
    struct mx_arena arena;
    struct mx_homograph_tokens tokens;
    char *text;
    bool read = false;
    out->word = mx_homograph_find(one->word);
    if (out->word == NULL) bench_die(one->word);
    const char *const name = one->reading + strlen(one->word) + (one->reading[strlen(one->word)] == '_');
    for (out->reading = 0; out->reading < MX_HOMOGRAPH_READINGS; out->reading++) {
        const char *const known = out->word->readings[out->reading].name;
        if (known != NULL && !strcmp(known, name)) break;
    }
    if (out->reading == MX_HOMOGRAPH_READINGS) bench_die(one->reading);
    mx_arena_init(&arena, 0);
    if (mx_text_normalise(MX_LANGUAGE_EN, one->sentence, strlen(one->sentence), &arena, &text, NULL) < 0 ||
        mx_homograph_tokens_read(text, &arena, &tokens) < 0)
        bench_die(one->sentence);
    const size_t at = token_find(one, &tokens, &out->plural);
    if (at != SIZE_MAX) {
        mx_homograph_features_collect(&tokens, at, &out->features);
        read = true;
    }
    mx_arena_release(&arena);
    return read;
}

/* A line of our own file; it is changed. */
static void own_read(char *line, struct sentence *out)
{
    struct homograph_case one = {.reading = line};
    char *const tab = strchr(line, '\t'), *const from = tab == NULL ? NULL : strchr(tab, '*');
    char *const to = from == NULL ? NULL : strchr(from + 1, '*');
    char word[64] = "";
    if (to == NULL || (size_t)(to - from) > sizeof word) bench_die(line);
    *tab = 0;
    for (size_t i = 0; i < (size_t)(to - from) - 1; i++) word[i] = (char)(from[1 + i] | 0x20);
    memmove(to, to + 1, strlen(to));
    memmove(from, from + 1, strlen(from));
    one.word = word;
    one.sentence = tab + 1;
    one.start = (size_t)(from - one.sentence);
    if (!sentence_read(&one, out)) bench_die(one.sentence);
}

/* ---- learning ---- */

static struct place *place_of(struct learner *l, uint64_t key)
{
    size_t at = (key * 0x9e3779b97f4a7c15u) >> 41;
    while (l->places[at].key != 0 && l->places[at].key != key) at = (at + 1) % TABLE;
    l->places[at].key = key;
    return &l->places[at];
}

/* The place of a feature for a reading; NULL: it has none, or was seen too seldom. */
static struct place *weight_of(struct learner *l, const struct sentence *s, size_t reading, size_t feature, bool kind)
{
    const uint64_t f = s->features.of[feature];
    const uint64_t key = kind ? mx_homograph_kind_key(s->word->readings[reading].kind, f)
                              : mx_homograph_key(s->word, reading, s->plural, f);
    struct place *const place = key == 0 ? NULL : place_of(l, key);
    return place != NULL && place->seen >= (unsigned)(kind ? SEEN_KIND : SEEN_WORD) ? place : NULL;
}

static void features_count(struct learner *l, const struct sentence *s)
{
    for (size_t r = 0; r < MX_HOMOGRAPH_READINGS && s->word->readings[r].name != NULL; r++)
        for (size_t f = 0; f < s->features.count; f++) {
            const uint64_t own = mx_homograph_key(s->word, r, s->plural, s->features.of[f]);
            const uint64_t kind = mx_homograph_kind_key(s->word->readings[r].kind, s->features.of[f]);
            if (own != 0) place_of(l, own)->seen++;
            if (kind != 0) place_of(l, kind)->seen++;
        }
}

static void learn(struct learner *l, const struct sentence *s)
{
    double score[MX_HOMOGRAPH_READINGS], most = -1e30, sum = 0;
    size_t readings = 0;
    for (; readings < MX_HOMOGRAPH_READINGS && s->word->readings[readings].name != NULL; readings++) {
        score[readings] = 0;
        for (size_t f = 0; f < 2 * s->features.count; f++) {
            const struct place *const place = weight_of(l, s, readings, f / 2, f % 2);
            if (place != NULL) score[readings] += (double)place->weight;
        }
        most = fmax(most, score[readings]);
    }
    for (size_t r = 0; r < readings; r++) sum += score[r] = exp(score[r] - most);
    for (size_t r = 0; r < readings; r++) {
        const double error = score[r] / sum - (r == s->reading);
        if (fabs(error) < 1e-3) continue;
        for (size_t f = 0; f < 2 * s->features.count; f++) {
            struct place *const place = weight_of(l, s, r, f / 2, f % 2);
            if (place == NULL) continue;
            const double gradient = error + DECAY * (double)place->weight;
            place->squares += (float)(gradient * gradient);
            place->weight -= (float)(RATE * gradient / sqrt((double)place->squares + 1e-3));
        }
    }
}

/* ---- the file ---- */

static int by_size(const void *a, const void *b)
{
    const struct place *const one = a, *const two = b;
    const float x = fabsf(one->weight), y = fabsf(two->weight);
    if (x != y) return x > y ? -1 : 1;
    return (one->key > two->key) - (one->key < two->key);
}

static int by_key(const void *a, const void *b)
{
    const struct place *const one = a, *const two = b;
    return (one->key > two->key) - (one->key < two->key);
}

static void uint32_put(unsigned char *at, size_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> 8 * i);
}

static void model_make(struct learner *l)
{
    unsigned char *entry = l->model + 4 * (MX_HOMOGRAPH_BUCKETS + 1);
    size_t bucket = 0, written = 0;
    qsort(l->places, TABLE, sizeof *l->places, by_size);
    const float scale = 127 / fabsf(l->places[0].weight);
    qsort(l->places, KEPT, sizeof *l->places, by_key);
    for (size_t i = 0; i < KEPT; i++) {
        const long weight = lrintf(l->places[i].weight * scale);
        if (weight == 0) continue;
        while (bucket <= l->places[i].key >> 16) uint32_put(l->model + 4 * bucket++, written);
        entry[0] = (unsigned char)l->places[i].key;
        entry[1] = (unsigned char)(l->places[i].key >> 8);
        entry[2] = (unsigned char)weight;
        entry += MX_HOMOGRAPH_ENTRY_BYTES;
        written++;
    }
    while (bucket <= MX_HOMOGRAPH_BUCKETS) uint32_put(l->model + 4 * bucket++, written);
    l->bytes = (size_t)(entry - l->model);
}

/* Learns from the sentences of all folds but one; FOLDS: from all. */
static void learn_all(struct learner *l, size_t but)
{
    uint32_t count = 0;
    uint32_t *const order = mx_alloc(l->count + OWN_WEIGHT * l->own, sizeof *order);
    if (order == NULL) bench_die("no memory");
    memset(l->places, 0, TABLE * sizeof *l->places);
    for (uint32_t i = 0; i < l->count; i++)
        if (i % FOLDS != but) order[count++] = i;
    for (uint32_t i = 0; i < OWN_WEIGHT * l->own; i++) order[count++] = (uint32_t)l->count + i / OWN_WEIGHT;
    for (size_t i = 0; i < count; i++) features_count(l, &l->sentences[order[i]]);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        mx_rng_shuffle_u32(34, round, order, count);
        for (size_t i = 0; i < count; i++) learn(l, &l->sentences[order[i]]);
    }
    mx_free(order);
    model_make(l);
}

static void measure(struct learner *l, struct bench *bench)
{
    size_t right = 0;
    for (size_t fold = 0; fold < FOLDS; fold++) {
        struct mx_homograph_model model;
        learn_all(l, fold);
        mx_homograph_model_open(l->model, &model);
        for (size_t i = fold; i < l->count; i += FOLDS) {
            const struct sentence *const s = &l->sentences[i];
            right += mx_homograph_choose(&model, s->word, s->plural, &s->features) == s->reading;
        }
    }
    printf("  %zu of %zu, %.2f %%\n", right, l->count, 100.0 * (double)right / (double)l->count);
    bench_limit(bench, "readings that are wrong", "%", 100.0 * (double)(l->count - right) / (double)l->count,
                WRONG_MOST);
    bench_limit(bench, "weights", "KB", (double)l->bytes / 1e3, BYTES_MOST);
}

static void model_write(struct learner *l, const char *path)
{
    learn_all(l, FOLDS);
    FILE *const file = fopen(path, "wb");
    if (file == NULL || fwrite(about, 1, strlen(about), file) != strlen(about) ||
        fwrite(l->model, 1, l->bytes, file) != l->bytes || fclose(file) != 0)
        bench_die(path);
    printf("  %s: %zu bytes\n", path, strlen(about) + l->bytes);
}

/* Reads the sentences of others from `list` and our own. */
static void sentences_read(struct learner *l, char *list)
{
    char *own, *next = NULL;
    size_t length, lines = 0;
    struct homograph_case one;
    if (mx_file_read(OWN, FILE_MOST, &own, &length) < 0) bench_die(OWN);
    for (const char *at = list; *at; at++) lines += *at == '\n';
    for (const char *at = own; *at; at++) l->own += *at == '\n';
    l->sentences = mx_alloc(lines + l->own + 1, sizeof *l->sentences);
    if (l->sentences == NULL) bench_die("no memory");
    strtok_r(list, "\n", &next); /* the titles of the columns */
    for (char *line = strtok_r(NULL, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next))
        l->count += homograph_case_read(line, &one) && sentence_read(&one, &l->sentences[l->count]);
    l->own = 0;
    for (char *line = strtok_r(own, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next))
        if (line[0] != '#') own_read(line, &l->sentences[l->count + l->own++]);
    printf("  %zu of %zu sentences have their word as a whole; %zu are our own\n", l->count, lines - 1, l->own);
    mx_free(own);
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct learner l = {.count = 0};
    const char *data = "../shared/data", *output = NULL;
    char path[4096], *list;
    size_t length;
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--data") && i + 1 < argc)
            data = argv[++i];
        else if (!strcmp(argv[i], "--write") && i + 1 < argc)
            output = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    bench_start(&bench, "homographs",
                "readings of homographs (--data FOLDER has sentences, --write FILE writes weights)", kept, argv);
    snprintf(path, sizeof path, "%s/homographs/train.tsv", data);
    if (mx_file_read(path, FILE_MOST, &list, &length) < 0) {
        printf("  %s is not there: the Wikipedia Homograph Data of Google, "
               "github.com/google-research-datasets/WikipediaHomographData\n",
               path);
        return output != NULL ? 1 : bench_finish(&bench);
    }
    sentences_read(&l, list);
    l.places = mx_alloc(TABLE, sizeof *l.places);
    l.model = mx_alloc(4 * (MX_HOMOGRAPH_BUCKETS + 1) + KEPT * MX_HOMOGRAPH_ENTRY_BYTES, 1);
    if (l.places == NULL || l.model == NULL) bench_die("no memory");
    bench_section(&bench, "five-fold cross-validation");
    if (output == NULL) measure(&l, &bench);
    if (output != NULL) model_write(&l, output);
    mx_free(l.model);
    mx_free(l.places);
    mx_free(l.sentences);
    mx_free(list);
    return bench_finish(&bench);
}
