/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Symbols to sounds and pairs, and how often each occurs; see coverage.h for what counts as which.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/string.h"
#include "doctor/coverage_internal.h"
#include "myxtts/error.h"
#include "text/vocabulary.h"

#define SOUND_CODES 8 /* of a sound with its marks; more are left out */
#define SINGLE      ((uint64_t)UINT32_MAX << 32)

/* ---- numbers for keys ---- */

static struct mx_doctor_map_entry *map_place(const struct mx_doctor_map *map, uint64_t key)
{
    size_t at = (size_t)((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (map->capacity - 1);
    while (map->entries[at].number != 0 && map->entries[at].key != key) at = (at + 1) & (map->capacity - 1);
    return &map->entries[at];
}

int mx_doctor_map_number(struct mx_doctor_map *map, uint64_t key, uint32_t *number)
{
    if ((size_t)map->count * 2 >= map->capacity) {
        struct mx_doctor_map grown = {.capacity = map->capacity == 0 ? 256 : map->capacity * 2, .count = map->count};
        grown.entries = mx_alloc(grown.capacity, sizeof grown.entries[0]);
        if (grown.entries == NULL) return MX_ERR_NO_MEMORY;
        for (size_t i = 0; i < map->capacity; i++)
            if (map->entries[i].number != 0) *map_place(&grown, map->entries[i].key) = map->entries[i];
        mx_free(map->entries);
        *map = grown;
    }
    struct mx_doctor_map_entry *const place = map_place(map, key);
    if (place->number == 0) *place = (struct mx_doctor_map_entry){key, ++map->count};
    *number = place->number - 1;
    return 0;
}

bool mx_doctor_map_has(const struct mx_doctor_map *map, uint64_t key)
{
    return map->capacity > 0 && map_place(map, key)->number != 0;
}

/* ---- symbols to sounds ---- */

enum role {
    ROLE_SOUND,
    ROLE_MARK,    /* belongs to the sound before it */
    ROLE_NOTHING, /* stress, blanks, apostrophes */
    ROLE_PAUSE,
    ROLE_BREAK, /* something is said here, but it is not known what: digits among characters */
};

static enum role role_of(enum mx_tokens_mode mode, const uint32_t *symbols, size_t count, size_t at)
{
    const uint32_t code = symbols[at];
    const bool digit = code >= '0' && code <= '9';
    if (code == 0x2C8 || code == 0x2CC || code == ' ' || code == '\'') return ROLE_NOTHING;
    if (code >= 0x2B0 && code <= 0x2B8) return ROLE_MARK; /* ʰ ʷ ʲ */
    if (mx_rate_is_sound(code)) return ROLE_SOUND;
    if (code == '-') /* inside a word it is a part of it */
        return (at == 0 || symbols[at - 1] == ' ') && (at + 1 == count || symbols[at + 1] == ' ') ? ROLE_PAUSE
                                                                                                  : ROLE_NOTHING;
    if (code < 0x80 && strchr(",.!?;:", (int)code) != NULL) return ROLE_PAUSE;
    if (digit) return mode == MX_TOKENS_PHONEMES ? ROLE_MARK : ROLE_BREAK; /* phonemes have tones as digits */
    if (code < 0x80) return ROLE_BREAK;
    return code >= 0x2000 && code <= 0x206F ? ROLE_NOTHING : ROLE_MARK; /* half-spaces; length, tones, signs above */
}

/* The number of a sound, by its code points. */
static int sound_number(struct mx_doctor_sentences *set, const uint32_t *codes, size_t count, uint32_t *number)
{
    int rc = 0;
    char name[SOUND_CODES * MX_SYMBOL_UTF8_BYTES + 1] = "";
    size_t length = 0;
    const uint32_t before = set->sounds.count;
    MX_TRY(mx_doctor_map_number(&set->sounds, XXH3_64bits(codes, count * sizeof *codes), number));
    if (set->sounds.count == before) goto out;
    for (size_t i = 0; i < count; i++) length += mx_symbol_utf8(codes[i], name + length);
    MX_TRY(MX_GROW(set->names, set->name_room, set->sounds.count));
    set->names[*number] = mx_arena_strndup(&set->arena, name, length);
    if (set->names[*number] == NULL) MX_TRY(MX_ERR_NO_MEMORY);
out:
    return rc;
}

static int stream_push(struct mx_doctor_sentences *set, size_t *used, uint32_t value)
{
    const int rc = MX_GROW(set->stream, set->stream_room, *used + 1);
    if (rc == 0) set->stream[(*used)++] = value;
    return rc;
}

/* Writes the sounds of a row to the stream: pauses (0) at both ends and between, UINT32_MAX for a break. */
static int stream_build(struct mx_doctor_sentences *set, const uint32_t *symbols, size_t count, size_t *used)
{
    int rc = 0;
    uint32_t codes[SOUND_CODES], number;
    *used = 0;
    MX_TRY(stream_push(set, used, 0));
    for (size_t i = 0; i < count; i++) {
        const enum role role = role_of(set->mode, symbols, count, i);
        const uint32_t last = set->stream[*used - 1];
        if (role == ROLE_PAUSE && last != 0) MX_TRY(stream_push(set, used, 0));
        if (role == ROLE_BREAK && last != UINT32_MAX) MX_TRY(stream_push(set, used, UINT32_MAX));
        if (role != ROLE_SOUND) continue; /* a mark without a sound before it means nothing */
        size_t length = 0;
        codes[length++] = symbols[i];
        for (; i + 1 < count && role_of(set->mode, symbols, count, i + 1) == ROLE_MARK; i++)
            if (length < SOUND_CODES) codes[length++] = symbols[i + 1];
        MX_TRY(sound_number(set, codes, length, &number));
        MX_TRY(stream_push(set, used, number));
    }
    if (set->stream[*used - 1] != 0) MX_TRY(stream_push(set, used, 0));
out:
    return rc;
}

/* ---- sounds to units ---- */

static int unit_number(struct mx_doctor_sentences *set, uint32_t left, uint32_t right, bool pair, uint32_t *number)
{
    int rc = 0;
    const uint32_t before = set->units.count;
    MX_TRY(mx_doctor_map_number(&set->units, pair ? (uint64_t)left << 32 | right : SINGLE | left, number));
    if (set->units.count == before) goto out;
    MX_TRY(MX_GROW(set->tallies, set->tally_room, set->units.count));
    set->tallies[*number] = (struct mx_doctor_tally){.left = left, .right = right, .pair = pair};
out:
    return rc;
}

static int number_compare(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Replaces the stream by the units of the row in the order of their numbers. *print: a hash of its sounds. */
static int units_build(struct mx_doctor_sentences *set, const uint32_t *symbols, size_t count, size_t *used,
                       uint64_t *print)
{
    int rc = 0;
    uint32_t unit;
    size_t sounds = 0;
    MX_TRY(stream_build(set, symbols, count, &sounds));
    *used = sounds;
    *print = 0;
    for (size_t i = 0; i < sounds; i++) {
        const uint32_t here = set->stream[i], next = i + 1 < sounds ? set->stream[i + 1] : UINT32_MAX;
        if (here == UINT32_MAX) continue;
        if (here != 0) {
            MX_TRY(unit_number(set, here, here, false, &unit));
            MX_TRY(stream_push(set, used, unit));
            *print = XXH3_64bits_withSeed(&here, sizeof here, *print);
        }
        if (next == UINT32_MAX) continue;
        MX_TRY(unit_number(set, here, next, true, &unit));
        MX_TRY(stream_push(set, used, unit));
    }
    *used -= sounds;
    memmove(set->stream, set->stream + sounds, *used * sizeof set->stream[0]);
    qsort(set->stream, *used, sizeof set->stream[0], number_compare);
out:
    return rc;
}

int mx_doctor_sentences_count(struct mx_doctor_sentences *set, const uint32_t *symbols, size_t count)
{
    int rc = 0;
    size_t used = 0;
    uint64_t print;
    uint32_t number;
    MX_TRY(units_build(set, symbols, count, &used, &print));
    MX_TRY(mx_doctor_map_number(&set->prints, print, &number));
    for (size_t i = 0; i < used; i++) {
        struct mx_doctor_tally *const tally = &set->tallies[set->stream[i]];
        tally->count++;
        *(tally->pair ? &set->pair_total : &set->sound_total) += 1;
    }
out:
    return rc;
}

int mx_doctor_sentences_add(struct mx_doctor_sentences *set, const struct mx_doctor_sentence *sentence,
                            const uint32_t *symbols, size_t count)
{
    int rc = 0;
    size_t used = 0;
    struct mx_doctor_sentence made = *sentence;
    made.sounds = (uint32_t)mx_rate_sounds(symbols, count);
    MX_TRY(units_build(set, symbols, count, &used, &made.print));
    made.text = mx_arena_strdup(&set->arena, sentence->text);
    struct mx_doctor_use *const uses = mx_arena_alloc(&set->arena, used, sizeof *uses);
    if (uses == NULL || made.text == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < used; i++) {
        struct mx_doctor_tally *const tally = &set->tallies[set->stream[i]];
        tally->reference++;
        *(tally->pair ? &set->reference_pairs : &set->reference_sounds) += 1;
        if (i == 0 || set->stream[i] != set->stream[i - 1]) {
            uses[made.use_count++].unit = set->stream[i];
            tally->sentences++;
        }
        uses[made.use_count - 1].times++;
    }
    made.uses = uses;
    MX_TRY(MX_GROW(set->items, set->room, (size_t)set->count + 1));
    set->items[set->count++] = made;
out:
    return rc;
}

/* ---- the set ---- */

int mx_doctor_sentences_create(enum mx_tokens_mode mode, struct mx_doctor_sentences **out)
{
    int rc = 0;
    uint32_t pause;
    static const uint32_t code = '#';
    struct mx_doctor_sentences *set = mx_alloc(1, sizeof *set);
    *out = NULL;
    if (set == NULL) return MX_ERR_NO_MEMORY;
    set->mode = mode;
    mx_arena_init(&set->arena, 0);
    MX_TRY(sound_number(set, &code, 1, &pause)); /* the first one: 0 */
    *out = set;
    set = NULL;
out:
    mx_doctor_sentences_destroy(set);
    return rc;
}

void mx_doctor_sentences_destroy(struct mx_doctor_sentences *set)
{
    if (set == NULL) return;
    mx_free(set->sounds.entries);
    mx_free(set->units.entries);
    mx_free(set->prints.entries);
    mx_free((void *)set->names);
    mx_free(set->tallies);
    mx_free(set->items);
    mx_free(set->stream);
    mx_arena_release(&set->arena);
    mx_free(set);
}
