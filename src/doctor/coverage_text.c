/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sentences of a text file: of a list with one a line, or of running text; see coverage_internal.h.
 *
 * Memory: a sentence is put together in a buffer that lives while the text is read.
 */
#include <string.h>

#include "align/text.h"
#include "base/string.h"
#include "doctor/coverage_internal.h"
#include "myxtts/error.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == '\f' || byte == '\v';
}

/* The next word from *at on; false: there is none. *lines: line ends before it. */
static bool word_next(const char *text, size_t length, size_t *at, size_t *begin, size_t *lines)
{
    *lines = 0;
    for (; *at < length && is_blank(text[*at]); ++*at) *lines += text[*at] == '\n';
    *begin = *at;
    while (*at < length && !is_blank(text[*at])) ++*at;
    return *at > *begin;
}

static bool ends_sentence(const char *text, size_t length, size_t begin, size_t end)
{
    size_t next = end;
    while (next < length && is_blank(text[next])) next++;
    return mx_align_word_break(text + begin, end - begin, next < length ? text[next] : '\0') >= MX_ALIGN_BREAK_SENTENCE;
}

/* Whether lines are wrapped at a width, not at ends of sentences: most end in the middle of one, and sentences end in the
 * middle of lines. */
static bool is_wrapped(const char *text, size_t length)
{
    size_t at = 0, begin, lines, inner = 0, whole = 0, broken = 0;
    bool ended = true, first = true;
    while (word_next(text, length, &at, &begin, &lines)) {
        if (lines == 0 && !first) inner += ended;
        if (lines == 1) *(ended ? &whole : &broken) += 1;
        ended = ends_sentence(text, length, begin, at);
        first = false;
    }
    return broken > whole && inner * 10 > broken;
}

int mx_doctor_text_sentences(const char *text, size_t length,
                             int (*take)(void *context, const char *sentence, size_t length), void *context)
{
    int rc = 0;
    size_t at = 0, begin, lines;
    struct mx_string sentence = {0};
    const bool wrapped = is_wrapped(text, length);
    bool ended = false;
    while (word_next(text, length, &at, &begin, &lines)) {
        if (sentence.length > 0 && (ended || lines > (wrapped ? 1 : 0))) {
            MX_TRY(take(context, sentence.data, sentence.length));
            sentence.length = 0;
        }
        MX_TRY(mx_string_append(&sentence, "%s%.*s", sentence.length > 0 ? " " : "", (int)(at - begin), text + begin));
        ended = ends_sentence(text, length, begin, at);
    }
    if (sentence.length > 0) MX_TRY(take(context, sentence.data, sentence.length));
out:
    mx_string_release(&sentence);
    return rc;
}
