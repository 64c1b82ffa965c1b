/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How well written text is read, measured with cases that other people wrote.
 *
 * --data FOLDER (../shared/data) has tn/LANGUAGE.tsv: kind, written form, and what is said for it, several ways of saying
 * it joined by "~". A case holds if our words, or the phonemes of our reading, equal those of one of the ways. Case,
 * punctuation, spaces and stress are not compared. And homographs/train.tsv with homographs/wordids.tsv: sentences of
 * which one word has several readings; a case holds if what we say for that word is most like the reading it should have
 * (homograph.c). --wrong lists the cases that do not hold.
 *
 * Memory: an arena for each case; the files stay until the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "bench.h"
#include "homograph.h"
#include "myxtts/error.h"
#include "text/tokens.h"

#define FILE_MOST   (64u << 20)
#define KINDS_MOST  32
#define EVERY       20   /* of the sentences with homographs; --quick: every 200th */
#define WRONG_MOST  10.0 /* percent; English and homographs 5 */
#define MILLIS_MOST 1.0

static const char *const languages[] = {"en", "de", "es", "fr", "it", "ru"};

struct kind {
    char name[24];
    int cases, right;
};

struct unit {
    struct bench bench;
    const char *data;
    bool wrong;
    struct mx_phonemizer *phonemizer;
    double seconds; /* spent reading */
    int sentences;
};

/* Letters, marks on them and digits of a text, in small letters. */
static char *folded(struct mx_arena *arena, const char *text, bool phonemes)
{
    struct mx_string out = {0};
    while (*text) {
        uint32_t point;
        text += mx_utf8_decode(text, &point);
        const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
        const bool stress = point == 0x2c8 || point == 0x2cc;
        if (category > UTF8PROC_CATEGORY_NO || category == 0 || (phonemes && stress)) continue;
        utf8proc_uint8_t bytes[5] = {0};
        utf8proc_encode_char(utf8proc_tolower((utf8proc_int32_t)point), bytes);
        if (mx_string_append(&out, "%s", (const char *)bytes) < 0) bench_die("no memory");
    }
    char *const kept = mx_arena_strdup(arena, out.length > 0 ? out.data : "");
    mx_string_release(&out);
    if (kept == NULL) bench_die("no memory");
    return kept;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_text(struct unit *u, enum mx_language_id language, const char *text, struct mx_arena *arena,
                      char **words, char **phonemes)
{
    const double begin = now();
    if (mx_text_normalise(language, text, strlen(text), arena, words, NULL) < 0) bench_die(text);
    u->seconds += now() - begin;
    u->sentences++;
    if (mx_phonemizer_run(u->phonemizer, language, *words, arena, phonemes) < 0) bench_die(text);
}

static bool case_holds(struct unit *u, enum mx_language_id language, const char *written, char *ways, char **words)
{
    struct mx_arena arena;
    char *phonemes, *state = NULL, *kept = NULL;
    bool holds = false;
    mx_arena_init(&arena, 0);
    read_text(u, language, written, &arena, words, &phonemes);
    for (char *way = strtok_r(ways, "~", &state); way != NULL && !holds; way = strtok_r(NULL, "~", &state)) {
        char *said, *sounds;
        read_text(u, language, way, &arena, &said, &sounds);
        holds = !strcmp(folded(&arena, *words, false), folded(&arena, way, false)) ||
                !strcmp(folded(&arena, phonemes, true), folded(&arena, sounds, true));
    }
    kept = mx_strdup(*words);
    if (kept == NULL) bench_die("no memory");
    mx_arena_release(&arena);
    *words = kept;
    return holds;
}

static struct kind *kind_of(struct kind *kinds, int *count, const char *name)
{
    int i = 0;
    while (i < *count && strcmp(kinds[i].name, name) != 0) i++;
    if (i == KINDS_MOST) bench_die("too many kinds of cases");
    if (i == *count) {
        kinds[i] = (struct kind){.cases = 0};
        snprintf(kinds[i].name, sizeof kinds[i].name, "%s", name);
        (*count)++;
    }
    return &kinds[i];
}

/* Reads a file of the folder; NULL, with a message, if it is not there. */
static char *file_of(const struct unit *u, const char *name, const char *what)
{
    char path[4096], *text;
    size_t length;
    snprintf(path, sizeof path, "%s/%s", u->data, name);
    if (mx_file_read(path, FILE_MOST, &text, &length) == 0) return text;
    printf("  %s is not there: %s\n", path, what);
    return NULL;
}

static void forms_measure(struct unit *u, const char *code)
{
    struct kind kinds[KINDS_MOST];
    enum mx_language_id language;
    char name[32], *next = NULL;
    int count = 0, cases = 0, right = 0;
    snprintf(name, sizeof name, "tn/%s.tsv", code);
    if (!bench_wanted(&u->bench, code)) return;
    char *const list = file_of(u, name,
                               "cases of a text normaliser, lines of kind<TAB>written<TAB>said, for example from the "
                               "tests of github.com/NVIDIA/NeMo-text-processing");
    if (list == NULL || mx_language_parse(code, &language) < 0) return;
    for (char *line = strtok_r(list, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next)) {
        char *state = NULL, *words;
        const char *const title = strtok_r(line, "\t", &state), *const written = strtok_r(NULL, "\t", &state);
        char *const ways = strtok_r(NULL, "\t", &state);
        if (ways == NULL) continue;
        char *const shown = mx_strdup(ways);
        struct kind *const kind = kind_of(kinds, &count, title);
        const bool holds = case_holds(u, language, written, ways, &words);
        if (u->wrong && !holds) printf("%s\t%s\t%s\t%s\t%s\n", code, title, written, shown, words);
        kind->cases++;
        kind->right += holds;
        cases++;
        right += holds;
        mx_free(words);
        mx_free(shown);
    }
    for (int i = 0; i < count; i++)
        printf("  %s %-14s %4d of %4d\n", code, kinds[i].name, kinds[i].right, kinds[i].cases);
    printf("  %s %-14s %4d of %4d, %.1f %%\n", code, "all", right, cases, 100.0 * right / (cases > 0 ? cases : 1));
    snprintf(name, sizeof name, "%s: read otherwise", code);
    bench_limit(&u->bench, name, "%", 100.0 * (cases - right) / (cases > 0 ? cases : 1),
                !strcmp(code, "en") ? WRONG_MOST / 2 : WRONG_MOST);
    mx_free(list);
}

static void homographs_measure(struct unit *u)
{
    struct homographs *table;
    struct homograph_case one;
    char *next = NULL;
    int cases = 0, right = 0, line_number = 0;
    const char *const what =
        "the Wikipedia Homograph Data of Google, github.com/google-research-datasets/WikipediaHomographData";
    if (!bench_wanted(&u->bench, "homographs")) return;
    char *const readings = file_of(u, "homographs/wordids.tsv", what);
    char *const list = readings == NULL ? NULL : file_of(u, "homographs/train.tsv", what);
    if (list == NULL) {
        mx_free(readings);
        return;
    }
    table = homographs_read(readings);
    for (char *line = strtok_r(list, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next)) {
        struct mx_arena arena;
        char *words, *phonemes;
        if (line_number++ % (u->bench.quick ? EVERY * 10 : EVERY) != 1 || !homograph_case_read(line, &one)) continue;
        mx_arena_init(&arena, 0);
        read_text(u, MX_LANGUAGE_EN, one.sentence, &arena, &words, &phonemes);
        const char *const said = homograph_said(table, &one, phonemes);
        const bool holds = said != NULL && !strcmp(said, one.reading);
        if (u->wrong && !holds) printf("homograph\t%s\t%s\t%s\n", one.reading, one.sentence, said ? said : "?");
        cases++;
        right += holds;
        mx_arena_release(&arena);
    }
    printf("  homographs %d of %d, %.1f %%\n", right, cases, 100.0 * right / (cases > 0 ? cases : 1));
    bench_limit(&u->bench, "homographs: read otherwise", "%", 100.0 * (cases - right) / (cases > 0 ? cases : 1),
                WRONG_MOST / 2);
    homographs_release(table);
    mx_free(list);
    mx_free(readings);
}

/* Takes the options of this bench out of the arguments. */
static int options_take(struct unit *u, int argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--wrong"))
            u->wrong = true;
        else if (!strcmp(argv[i], "--data") && i + 1 < argc)
            u->data = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    return kept;
}

int main(int argc, char **argv)
{
    struct unit u = {.data = "../shared/data"};
    argc = options_take(&u, argc, argv);
    bench_start(&u.bench, "text",
                "how well written text is read (--data FOLDER has the cases, --wrong lists what is wrong)", argc, argv);
    if (mx_phonemizer_get(&u.phonemizer) < 0) bench_die("phonemes are compared");
    bench_section(&u.bench, "written forms");
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) forms_measure(&u, languages[i]);
    bench_section(&u.bench, "homographs");
    homographs_measure(&u);
    if (u.sentences > 0)
        bench_limit(&u.bench, "reading, without phonemes", "ms a sentence", u.seconds * 1e3 / u.sentences, MILLIS_MOST);
    return bench_finish(&u.bench);
}
