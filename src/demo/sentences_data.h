/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The data that the sentence files of each language provide and sentences.c reads. Not for other callers. Constant data
 * only.
 *
 * Base sentences and templates may hold pairs [written|spoken]: "[Dr.|Doctor] Lee". Templates also hold slots:
 *
 *     {name}    a word of the list `name`; two slots of one list in one template never take the same word
 *     {a name}  the same with the article a or an before it (English); no word of such a list may begin with a vowel
 *               letter that is not a vowel sound, or the other way round ("hour", "unicorn")
 *     {+name}   the same with the ezafe that joins it to the next word (Persian)
 *
 * The words of a list are in one string, separated by '/'. The first letter of a sentence is capitalised.
 */
#ifndef MX_DEMO_SENTENCES_DATA_H
#define MX_DEMO_SENTENCES_DATA_H

struct mx_sentence_list {
    const char *name;
    const char *words; /* "first/second/third", all different */
};

/* A template gives this many sentences for a seed; a test checks that each template has at least as many combinations.
 */
#define MX_SENTENCES_PER_TEMPLATE 160u

extern const char *const mx_sentences_english[];
extern const unsigned mx_sentences_english_count;
extern const struct mx_sentence_list mx_sentences_english_lists[];
extern const unsigned mx_sentences_english_list_count;
extern const char *const mx_sentences_english_templates[];
extern const unsigned mx_sentences_english_template_count;

extern const char *const mx_sentences_persian[];
extern const unsigned mx_sentences_persian_count;
extern const struct mx_sentence_list mx_sentences_persian_lists[];
extern const unsigned mx_sentences_persian_list_count;
extern const char *const mx_sentences_persian_templates[];
extern const unsigned mx_sentences_persian_template_count;

#endif
