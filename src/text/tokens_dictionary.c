/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The words in a dictionary of espeak-ng, PATH/LANGUAGE_dict: those whose pronunciation its rules alone would get wrong or
 * that have a stress of their own, which are mostly frequent ones. Of its bytes, only those that are needed here are
 * described:
 *
 *     int32    number of lists: 1024, the hash values of words
 *     int32    offset of the rules: the lists end before it
 *     lists    entries, ended by one zero byte
 *     entry    uint8 its length with this byte; uint8 flags and length of the word: bits 0–5 the length in bytes, bit 6 the
 *              letters are packed, bit 7 there are no phonemes; the word; and what the program knows about it
 *     packed   six bits a letter from the highest bit on, 1 … 26 for a … z in languages with Latin letters; 0: the end
 *
 * Words that are not packed have signs, or letters of other scripts. Letters other than a … z are packed by tables of
 * espeak-ng that the file does not have: words with them are left out.
 *
 * Memory: the words are appended to the caller's string.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "text/internal.h"
#include "text/tokens.h"

#ifdef MX_HAVE_ESPEAK
#define FILE_MAX    ((size_t)64 << 20)
#define LISTS       1024
#define LETTERS_MAX 84 /* 63 bytes of six bits */

struct dictionary {
    const unsigned char *at, *end;
    struct mx_string *out;
    size_t words;
};

/* The letters of a packed word; false: one of them is not a … z. */
static bool letters_unpack(const unsigned char *packed, size_t bytes, char out[LETTERS_MAX + 1])
{
    size_t count = 0;
    for (size_t bit = 0; bit + 6 <= 8 * bytes; bit += 6) {
        const unsigned pair = (unsigned)packed[bit / 8] << 8 | (bit / 8 + 1 < bytes ? packed[bit / 8 + 1] : 0u);
        const unsigned letter = pair >> (10 - bit % 8) & 63;
        if (letter == 0) break;
        if (letter > 26) return false;
        out[count++] = (char)('a' + letter - 1);
    }
    out[count] = '\0';
    return count > 1; /* letters alone are in the lexicon anyway */
}

/* One entry, or the end of a list; false: the file is no dictionary. */
static bool entry_read(struct dictionary *d, size_t *lists)
{
    char word[LETTERS_MAX + 1];
    const size_t length = d->at[0];
    if (length == 0) {
        ++*lists;
        d->at++;
        return true;
    }
    if (length < 2 || length > (size_t)(d->end - d->at) || (d->at[1] & 0x3fu) + 2 > length) return false;
    if (d->at[1] & 0x40) {
        if (letters_unpack(d->at + 2, d->at[1] & 0x3fu, word)) {
            mx_string_append(d->out, "%s\n", word);
            d->words++;
        }
    }
    d->at += length;
    return true;
}

int mx_phonemizer_words(enum mx_language_id language, struct mx_string *out, size_t *words)
{
    int rc = 0;
    const char *folder = NULL;
    char *data = NULL, *path = NULL;
    size_t bytes = 0, lists = 0;
    const struct mx_language *const known = mx_language_get(language);
    struct dictionary d = {.out = out};
    *words = 0;
    if (known->script != mx_language_get(MX_LANGUAGE_EN)->script) return 0;
    MX_TRY(mx_phonemizer_folder(&folder));
    path = mx_format("%s/%.*s_dict", folder, (int)strcspn(known->voice, "-"), known->voice);
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    rc = mx_file_read(path, FILE_MAX, &data, &bytes);
    if (rc == MX_ERR_NOT_FOUND) { /* the dictionary of Norwegian, nb, is no_dict: only its voice file shows that */
        mx_error_clear();
        rc = 0;
        goto out;
    }
    MX_TRY(rc);
    d.at = (const unsigned char *)data + 8;
    d.end = (const unsigned char *)data + bytes;
    if (bytes > 8)
        while (d.at < d.end && lists < LISTS && entry_read(&d, &lists)) {
        }
    if (lists < LISTS)
        MX_RAISE(MX_ERR_FORMAT, "give a list of words with '--words FILE'",
                 "%s is no dictionary of espeak-ng that is known", path);
    *words = d.words;
    rc = out->failure;
out:
    mx_free(path);
    mx_free(data);
    return rc;
}
#else
int mx_phonemizer_words(enum mx_language_id language, struct mx_string *out, size_t *words)
{
    (void)language, (void)out;
    *words = 0;
    return 0;
}
#endif
