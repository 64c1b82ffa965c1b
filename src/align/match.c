/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Comparing symbols: what each written word contributed to a spoken unit (the cheapest way to change the words, spoken
 * alone, into the unit), and which known symbol sounds most like an unknown one.
 */
#include <string.h>

#include "align/text.h"
#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"

enum { KEEP, CHANGE, DROP, INSERT };

static bool is_between(uint32_t symbol)
{
    return symbol == ' ' || (symbol < 0x80 && strchr(",.!?;:-", (int)symbol) != NULL && symbol != 0);
}

/* Symbols of the words one after the other with a blank between them, and the word of each (-1: the blank). */
struct joined {
    uint32_t *codes;
    int32_t *owners;
    size_t count;
};

static int join(const struct mx_align_match *m, struct joined *out)
{
    size_t count = 0;
    for (size_t w = 0; w < m->word_count; w++) count += m->words[w].count + 1;
    out->codes = mx_alloc(count + 1, sizeof *out->codes);
    out->owners = mx_alloc(count + 1, sizeof *out->owners);
    if (out->codes == NULL || out->owners == NULL) return MX_ERR_NO_MEMORY;
    for (size_t w = 0; w < m->word_count; w++) {
        if (out->count > 0) {
            out->codes[out->count] = ' ';
            out->owners[out->count++] = -1;
        }
        for (size_t i = 0; i < m->words[w].count; i++) {
            out->codes[out->count] = m->words[w].codes[i];
            out->owners[out->count++] = (int32_t)w;
        }
    }
    return 0;
}

static uint16_t change_cost(uint32_t a, uint32_t b)
{
    return a == b ? 0 : is_between(a) != is_between(b) ? 5 : 3;
}

/* Fills the table of the cheapest ways: rows are the joined words, columns the unit. */
static void table_fill(const struct joined *from, struct mx_symbols to, uint16_t *row, uint8_t *ways)
{
    const size_t width = to.count + 1;
    for (size_t j = 0; j < width; j++) {
        row[j] = (uint16_t)(2 * j);
        ways[j] = INSERT;
    }
    for (size_t i = 1; i <= from->count; i++) {
        uint16_t diagonal = row[0];
        row[0] = (uint16_t)(2 * i);
        ways[i * width] = DROP;
        for (size_t j = 1; j < width; j++) {
            const uint16_t change = change_cost(from->codes[i - 1], to.codes[j - 1]);
            uint16_t best = (uint16_t)(diagonal + change);
            uint8_t way = change == 0 ? KEEP : CHANGE;
            if (row[j] + 2 < best) {
                best = (uint16_t)(row[j] + 2);
                way = DROP;
            }
            if (row[j - 1] + 2 < best) {
                best = (uint16_t)(row[j - 1] + 2);
                way = INSERT;
            }
            diagonal = row[j];
            row[j] = best;
            ways[i * width + j] = way;
        }
    }
}

/* Inserted symbols belong to the word before them; what is between words to none, unless a word continues after it. */
static void owners_complete(struct mx_symbols unit, int32_t *owners)
{
    int32_t word = -1;
    for (size_t j = 0; j < unit.count; j++) {
        if (owners[j] >= 0)
            word = owners[j];
        else if (!is_between(unit.codes[j]) && word >= 0)
            owners[j] = word;
        if (is_between(unit.codes[j])) {
            size_t k = j + 1;
            while (k < unit.count && is_between(unit.codes[k])) k++;
            owners[j] = k < unit.count && word >= 0 && owners[k] == word ? word : -1;
        }
    }
    for (size_t j = unit.count; j-- > 0;) /* inserted before the first word */
        if (owners[j] < 0 && !is_between(unit.codes[j]) && j + 1 < unit.count) owners[j] = owners[j + 1];
}

int mx_align_match_owners(const struct mx_align_match *m, int32_t *owners)
{
    struct joined from = {0};
    uint16_t *row = NULL;
    uint8_t *ways = NULL;
    int rc = 0;
    MX_TRY(join(m, &from));
    const size_t width = m->unit.count + 1;
    if (from.count > 10000 || width > 10000)
        MX_RAISE(MX_ERR_DATA, "put blanks between its words", "a sentence has %zu sounds", width);
    row = mx_alloc(width, sizeof *row);
    ways = mx_alloc((from.count + 1) * width, sizeof *ways);
    if (row == NULL || ways == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    table_fill(&from, m->unit, row, ways);
    for (size_t j = 0; j < m->unit.count; j++) owners[j] = -1;
    for (size_t i = from.count, j = m->unit.count; i > 0 || j > 0;) {
        const uint8_t way = ways[i * width + j];
        if (way == INSERT) {
            j--;
        } else if (way == DROP) {
            i--;
        } else {
            owners[--j] = from.owners[--i];
        }
    }
    owners_complete(m->unit, owners);
out:
    mx_free(from.codes);
    mx_free(from.owners);
    mx_free(row);
    mx_free(ways);
    return rc;
}

/* ---- sounds that are alike ---- */

/* Letters of the IPA, and others that espeak-ng writes, that sound alike; the nearest stand together. */
static const char *const groups[] = {
    "iɪyʏɨʉjıї",  "eɛøœəɘɜɝɚɐæ", "aɑæɐʌɒäɶ", "oɔɒɤʌɵö", "uʊɯʉɯwʍü", "pbɓʙ",     "tdʈɖɗʦ",
    "kɡgɟcqɢɠʛʔ", "mɱn",         "nŋɲɳɴm",   "fvɸβʋⱱw", "θðszʂʐ",   "szʃʒʂʐɕʑ", "ʃʒʂʐɕʑszç",
    "xɣχʁhɦħʕç",  "hɦħxʕʔ",      "rɾɹɻʀʁɽɺ", "lɫɭʎɬɮʟ", "jʝɥʎi",    "wʍʋuɥv",   "ʔʕʡʢh",
};

int32_t mx_align_nearest_symbol(const struct mx_vocabulary *vocabulary, uint32_t symbol)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        int32_t found = -1;
        bool member = false;
        for (const char *at = groups[i]; *at != 0;) {
            uint32_t code;
            at += mx_utf8_decode(at, &code);
            member |= code == symbol;
            if (found < 0) found = mx_vocabulary_find(vocabulary, code);
        }
        if (member && found >= 0) return found;
    }
    return -1;
}
