/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Praat's TextGrid: the long text format ("xmin = 0.5", 'text = "word"') and the short one (the values alone). Both are a
 * stream of numbers, strings in double quotes ("" is a quote) and flags in angle brackets, between words that only
 * explain: the reader takes the values and leaves the words.
 *
 *     "ooTextFile" "TextGrid" xmin xmax <exists> tiers, then for each tier
 *     "IntervalTier" "name" xmin xmax intervals, then for each interval: xmin xmax "text"
 *     "TextTier" "name" xmin xmax points, then for each point: time "text"
 *
 * Memory: the text is borrowed and UTF-8 (script.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "cut/script.h"
#include "myxtts/error.h"

struct grid {
    const char *name, *data;
    size_t bytes, at, line;
};

static int damaged(const struct grid *g, const char *what)
{
    return MX_FAIL(MX_ERR_FORMAT, "save it again in Praat as a text file", "%s, line %zu: %s", g->name, g->line + 1,
                   what);
}

/* ---- values ---- */

enum value { END, NUMBER, STRING, FLAG };

static bool is_number_at(const char *at, size_t left)
{
    return left > 0 && ((*at >= '0' && *at <= '9') || (*at == '-' && left > 1 && at[1] >= '0' && at[1] <= '9'));
}

/* Skips words, which may have numbers in brackets: "intervals [1]:". */
static void words_skip(struct grid *g)
{
    while (g->at < g->bytes) {
        const char c = g->data[g->at];
        const bool fresh = g->at == 0 || strchr(" \t\r\n", g->data[g->at - 1]) != NULL;
        if (c == '"' || c == '<' || (fresh && is_number_at(g->data + g->at, g->bytes - g->at))) return;
        if (c == '[') {
            while (g->at < g->bytes && g->data[g->at] != ']' && g->data[g->at] != '\n') g->at++;
            continue;
        }
        g->line += c == '\n';
        g->at++;
    }
}

static double number_parse(struct grid *g)
{
    char digits[64];
    size_t length = 0;
    while (g->at < g->bytes && strchr(" \t\r\n", g->data[g->at]) == NULL) {
        if (length + 1 < sizeof digits) digits[length++] = g->data[g->at];
        g->at++;
    }
    digits[length] = '\0';
    double value = -1;
    return mx_string_parse_double(digits, &value) == MX_STRING_NUMBER ? value : -1;
}

/* The string at the quote, with "" as ". */
static bool string_parse(struct grid *g, struct mx_string *out)
{
    for (g->at++; g->at < g->bytes; g->at++) {
        const char c = g->data[g->at];
        g->line += c == '\n';
        if (c == '"') {
            if (g->at + 1 >= g->bytes || g->data[g->at + 1] != '"') {
                g->at++;
                return true;
            }
            g->at++;
        }
        mx_string_append(out, "%c", c);
    }
    return false;
}

static enum value next(struct grid *g, double *number, struct mx_string *text)
{
    words_skip(g);
    if (g->at >= g->bytes) return END;
    const char c = g->data[g->at];
    mx_string_release(text);
    if (c == '"') return string_parse(g, text) ? STRING : END;
    if (c == '<') {
        while (g->at < g->bytes && g->data[g->at] != '>' && g->data[g->at] != '\n') g->at++;
        if (g->at < g->bytes && g->data[g->at] == '>') g->at++;
        return FLAG;
    }
    *number = number_parse(g);
    return NUMBER;
}

/* ---- tiers ---- */

static int number_next(struct grid *g, double *number, struct mx_string *text)
{
    return next(g, number, text) == NUMBER ? 0 : damaged(g, "a number is missing");
}

static int string_next(struct grid *g, struct mx_string *text)
{
    double number;
    if (next(g, &number, text) != STRING) return damaged(g, "a text in quotes is missing");
    return text->failure;
}

/* The intervals or points of a tier; those of an interval tier become parts if `take`. */
static int tier_read(struct mx_cut_script *s, struct grid *g, bool intervals, bool take)
{
    struct mx_string text = {0};
    double number, count, from, until, last = 0;
    int rc = 0;
    MX_TRY(string_next(g, &text)); /* the name */
    MX_TRY(number_next(g, &number, &text));
    MX_TRY(number_next(g, &number, &text));
    MX_TRY(number_next(g, &count, &text));
    for (double i = 0; i < count; i++) {
        MX_TRY(number_next(g, &from, &text));
        until = from;
        if (intervals) MX_TRY(number_next(g, &until, &text));
        MX_TRY(string_next(g, &text));
        if (!intervals || !take) continue;
        if (from < last || until < from) MX_TRY(damaged(g, "the times of an interval run backwards"));
        last = from;
        if (text.length > 0) MX_TRY(mx_cut_script_add(s, text.data, text.length, from, until));
    }
out:
    mx_string_release(&text);
    return rc;
}

static int grid_read(struct mx_cut_script *s, struct grid *g)
{
    struct mx_string text = {0};
    double number, tiers;
    int rc = 0;
    MX_TRY(string_next(g, &text));
    MX_TRY(string_next(g, &text));
    if (text.data == NULL || strcmp(text.data, "TextGrid") != 0) MX_TRY(damaged(g, "it is no TextGrid"));
    MX_TRY(number_next(g, &number, &text));
    MX_TRY(number_next(g, &number, &text));
    if (next(g, &number, &text) != FLAG) MX_TRY(damaged(g, "it does not say whether it has tiers"));
    MX_TRY(number_next(g, &tiers, &text));
    for (double i = 0; i < tiers && s->part_count == 0; i++) {
        MX_TRY(string_next(g, &text));
        const bool intervals = text.data != NULL && strcmp(text.data, "IntervalTier") == 0;
        MX_TRY(tier_read(s, g, intervals, true));
    }
    if (s->part_count == 0) MX_TRY(damaged(g, "no interval tier has text"));
out:
    mx_string_release(&text);
    return rc;
}

int mx_cut_script_textgrid(struct mx_cut_script *s, const char *name, const char *data, size_t bytes)
{
    struct grid g = {.name = name, .data = data, .bytes = bytes};
    return grid_read(s, &g);
}
