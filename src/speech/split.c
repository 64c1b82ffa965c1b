/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Splitting: one walk over the characters of a piece remembers the last place of each rank; at the end of a sentence,
 * or when the limit is reached, the best of them ends the piece and the next one begins there.
 */
#include "speech/split.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/string.h"
#include "myxtts/error.h"

/* Places to cut, the better ones last. */
enum rank { RANK_NONE, RANK_WORD, RANK_COMMA, RANK_CLAUSE, RANK_SENTENCE, RANKS };

struct cut {
    size_t at;         /* bytes: the piece ends here */
    size_t characters; /* before it */
};

double mx_split_pause_ms(char mark)
{
    switch (mark) {
    case '.':
    case '!':
    case '?':
        return 350;
    case ';':
    case ':':
        return 250;
    case '-':
        return 200;
    case ',':
        return 130;
    case ' ':
        return 40;
    default:
        return 0;
    }
}

static bool is_mark(char c)
{
    return c != 0 && strchr(".!?;:-,", c) != NULL;
}

/* What kind of place follows the character at `at`, which is followed by `next` (0 at the end). */
static enum rank rank_behind(const char *text, size_t at, char next)
{
    if (next != ' ' && next != 0) return RANK_NONE;
    switch (text[at]) {
    case '.':
    case '!':
    case '?':
        return RANK_SENTENCE;
    case ';':
    case ':':
        return RANK_CLAUSE;
    case '-': /* " - " is a pause; "well-" the first part of a word */
        return at == 0 || text[at - 1] == ' ' ? RANK_CLAUSE : RANK_WORD;
    case ',':
        return RANK_COMMA;
    case ' ':
        return RANK_NONE;
    default:
        return RANK_WORD;
    }
}

/* Where the piece that begins at text[0] ends. */
static struct cut piece_end(const char *text, size_t length, size_t limit)
{
    struct cut cuts[RANKS] = {{0, 0}}, here = {0, 0};
    while (here.at < length && here.characters < limit) {
        uint32_t code;
        const size_t at = here.at;
        here.at += mx_utf8_decode(text + at, &code);
        here.characters++;
        const enum rank rank = rank_behind(text, at, here.at < length ? text[here.at] : 0);
        cuts[rank] = here;
        if (rank == RANK_SENTENCE) return here;
    }
    if (here.at >= length) return here;
    for (int rank = RANK_CLAUSE; rank > RANK_NONE; rank--)
        if (cuts[rank].characters >= limit / 4) return cuts[rank];
    return cuts[RANK_WORD].at > 0 ? cuts[RANK_WORD] : here;
}

/* Takes blanks and a dash between words from the end of text[0 … length). */
static size_t end_trim(const char *text, size_t length, char *mark)
{
    *mark = 0;
    for (;;) {
        while (length > 0 && text[length - 1] == ' ') length--;
        if (length == 0 || text[length - 1] != '-' || (length > 1 && text[length - 2] != ' ')) break;
        *mark = '-';
        length--;
    }
    if (length > 0 && is_mark(text[length - 1]) && *mark == 0) *mark = text[length - 1];
    return length;
}

static size_t count_characters(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Whether there is anything but blanks and marks. */
static bool has_words(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && !is_mark(text[i])) return true;
    return false;
}

int mx_split_text(const char *text, size_t limit, struct mx_arena *arena, struct mx_split_piece **pieces, size_t *count)
{
    const size_t length = strlen(text);
    struct mx_split_piece *list = NULL;
    size_t used = 0, capacity = 0;
    int rc = 0;
    *pieces = NULL;
    *count = 0;
    if (limit < MX_SPLIT_LEAST) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "pieces of at most %zu characters are too short to be spoken", limit);
        return mx_error_hint("give at least %d", MX_SPLIT_LEAST);
    }
    for (size_t at = 0; at < length;) {
        while (at < length && text[at] == ' ') at++;
        const struct cut cut = piece_end(text + at, length - at, limit);
        struct mx_split_piece piece = {0};
        const size_t bytes = end_trim(text + at, cut.at, &piece.mark);
        if (has_words(text + at, bytes)) {
            piece.text = mx_arena_strndup(arena, text + at, bytes);
            if (piece.text == NULL) MX_TRY(MX_ERR_NO_MEMORY);
            piece.characters = count_characters(text + at, bytes);
            piece.pause_ms = mx_split_pause_ms(piece.mark ? piece.mark : ' ');
            MX_TRY(MX_GROW(list, capacity, used + 1));
            list[used++] = piece;
        }
        at += cut.at;
    }
    if (used > 0) {
        *pieces = mx_arena_alloc(arena, used, sizeof **pieces);
        if (*pieces == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        list[used - 1].pause_ms = 0;
        memcpy(*pieces, list, used * sizeof **pieces);
        *count = used;
    }
out:
    mx_free(list);
    return rc;
}

/* The end of the line that begins at `at`, its newline included; *blank: it has nothing on it. */
static size_t line_end(const char *text, size_t length, size_t at, bool *blank)
{
    *blank = true;
    for (; at < length; at++) {
        if (text[at] == '\n') return at + 1;
        if (text[at] != ' ' && text[at] != '\t' && text[at] != '\r') *blank = false;
    }
    return at;
}

bool mx_split_paragraph(const char *text, size_t length, size_t *at, size_t *begin, size_t *paragraph_length)
{
    bool blank = true;
    size_t next = *at;
    do {
        *begin = next;
        if (next >= length) return false;
        next = line_end(text, length, next, &blank);
    } while (blank);
    while (next < length) {
        const size_t after = line_end(text, length, next, &blank);
        if (blank) break;
        next = after;
    }
    *paragraph_length = next - *begin;
    *at = next;
    return true;
}

/* Bytes of the ellipsis that begins at text[0]; 0: there is none. */
static size_t ellipsis_length(const char *text, size_t length)
{
    static const char sign[] = "…";
    size_t at = 0, end = 0, dots = 0;
    for (;;) {
        while (end > 0 && at < length && text[at] == ' ') at++;
        if (at < length && text[at] == '.') {
            dots++;
            at++;
        } else if (length - at >= sizeof sign - 1 && !memcmp(text + at, sign, sizeof sign - 1)) {
            dots += 3;
            at += sizeof sign - 1;
        } else {
            return dots >= 3 ? end : 0;
        }
        end = at;
    }
}

/* Whether the byte may be part of a word: anything but blanks, punctuation and signs of ASCII. */
static bool is_word_byte(char c)
{
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

size_t mx_split_words_end(const char *text, size_t length)
{
    while (length > 0 && !is_word_byte(text[length - 1])) length--;
    return length;
}

size_t mx_split_ellipsis(const char *text, size_t length)
{
    static const char *const marks[] = {"!", "?", "؟"};
    const size_t words_end = mx_split_words_end(text, length);
    bool words = false;
    for (size_t at = 0; at < words_end;) {
        const size_t bytes = ellipsis_length(text + at, length - at);
        size_t after = at + bytes;
        if (bytes == 0) {
            words |= is_word_byte(text[at++]);
            continue;
        }
        bool marked = false;
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            marked |= length - after >= strlen(marks[i]) && !memcmp(text + after, marks[i], strlen(marks[i]));
        while (after < length && (text[after] == '"' || text[after] == '\'')) after++; /* closing quotes */
        if (after >= words_end) return length;
        if (words && !marked) return after;
        at = after;
    }
    return length;
}
