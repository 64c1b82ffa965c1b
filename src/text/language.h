/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The languages: one table for all code that depends on a language.
 *
 * A language is one line of MX_LANGUAGE_LIST. The line names its script (letters, digits and punctuation of its own are
 * those of the script, language.c) and its rules: how written text becomes spoken text, and how that becomes phonemes.
 * GERMAN, SPANISH, FRENCH, ITALIAN and RUSSIAN have written forms of their own (forms.h) and are PLAIN otherwise. PLAIN keeps the letters of the language and leaves numbers and signs to espeak-ng; TONAL is the same for languages
 * whose tones espeak-ng writes as digits, DOTLESS for those whose small I is ı. English and Persian have their own
 * rules (english.c, persian.c). The list has every language of espeak-ng 1.51. A new language needs one line here and
 * nothing else.
 *
 * The order of the list is the order in which a corpus numbers its languages: append, never reorder.
 *
 * Memory: the table is constant.
 */
#ifndef MX_TEXT_LANGUAGE_H
#define MX_TEXT_LANGUAGE_H

#include <stdbool.h>
#include <stdint.h>

/* X(identifier, code of at most 7 bytes, English name, voice of espeak-ng, script, rules): MX_LANGUAGE_<identifier>. */
#define MX_LANGUAGE_LIST(X)                                                                                            \
    X(EN, "en", "English", "en-us", LATIN, ENGLISH)                                                                    \
    X(FA, "fa", "Persian", "fa", ARABIC, PERSIAN)                                                                      \
    X(ES, "es", "Spanish", "es", LATIN, SPANISH)                                                                       \
    X(FR, "fr", "French", "fr", LATIN, FRENCH)                                                                         \
    X(DE, "de", "German", "de", LATIN, GERMAN)                                                                         \
    X(IT, "it", "Italian", "it", LATIN, ITALIAN)                                                                       \
    X(RU, "ru", "Russian", "ru", CYRILLIC, RUSSIAN)                                                                    \
    X(AF, "af", "Afrikaans", "af", LATIN, PLAIN)                                                                       \
    X(AM, "am", "Amharic", "am", ETHIOPIC, PLAIN)                                                                      \
    X(AN, "an", "Aragonese", "an", LATIN, PLAIN)                                                                       \
    X(AR, "ar", "Arabic", "ar", ARABIC, PLAIN)                                                                         \
    X(AS, "as", "Assamese", "as", BENGALI, PLAIN)                                                                      \
    X(AZ, "az", "Azerbaijani", "az", LATIN, DOTLESS)                                                                   \
    X(BA, "ba", "Bashkir", "ba", CYRILLIC, PLAIN)                                                                      \
    X(BE, "be", "Belarusian", "be", CYRILLIC, PLAIN)                                                                   \
    X(BG, "bg", "Bulgarian", "bg", CYRILLIC, PLAIN)                                                                    \
    X(BN, "bn", "Bengali", "bn", BENGALI, PLAIN)                                                                       \
    X(BPY, "bpy", "Bishnupriya Manipuri", "bpy", BENGALI, PLAIN)                                                       \
    X(BS, "bs", "Bosnian", "bs", LATIN, PLAIN)                                                                         \
    X(CA, "ca", "Catalan", "ca", LATIN, PLAIN)                                                                         \
    X(CHR, "chr", "Cherokee", "chr", CHEROKEE, PLAIN)                                                                  \
    X(ZH, "zh", "Mandarin", "cmn-latn-pinyin", HAN, TONAL)                                                             \
    X(CS, "cs", "Czech", "cs", LATIN, PLAIN)                                                                           \
    X(CV, "cv", "Chuvash", "cv", CYRILLIC, PLAIN)                                                                      \
    X(CY, "cy", "Welsh", "cy", LATIN, PLAIN)                                                                           \
    X(DA, "da", "Danish", "da", LATIN, PLAIN)                                                                          \
    X(EL, "el", "Greek", "el", GREEK, PLAIN)                                                                           \
    X(EN_029, "en-029", "Caribbean English", "en-029", LATIN, ENGLISH)                                                 \
    X(EN_GB, "en-gb", "British English", "en", LATIN, ENGLISH)                                                         \
    X(EN_GB_LA, "en-gbla", "Lancaster English", "en-gb-x-gbclan", LATIN, ENGLISH)                                      \
    X(EN_GB_RP, "en-gbrp", "Received Pronunciation", "en-gb-x-rp", LATIN, ENGLISH)                                     \
    X(EN_GB_SC, "en-gbsc", "Scottish English", "en-gb-scotland", LATIN, ENGLISH)                                       \
    X(EN_GB_WM, "en-gbwm", "West Midlands English", "en-gb-x-gbcwmd", LATIN, ENGLISH)                                  \
    X(EN_NYC, "en-nyc", "New York English", "en-us-nyc", LATIN, ENGLISH)                                               \
    X(EO, "eo", "Esperanto", "eo", LATIN, PLAIN)                                                                       \
    X(ES_419, "es-419", "Latin American Spanish", "es-419", LATIN, SPANISH)                                            \
    X(ET, "et", "Estonian", "et", LATIN, PLAIN)                                                                        \
    X(EU, "eu", "Basque", "eu", LATIN, PLAIN)                                                                          \
    X(FA_LATN, "fa-latn", "Romanised Persian", "fa-latn", LATIN, PLAIN)                                                \
    X(FI, "fi", "Finnish", "fi", LATIN, PLAIN)                                                                         \
    X(FR_BE, "fr-be", "Belgian French", "fr-be", LATIN, FRENCH)                                                        \
    X(FR_CH, "fr-ch", "Swiss French", "fr-ch", LATIN, FRENCH)                                                          \
    X(GA, "ga", "Irish", "ga", LATIN, PLAIN)                                                                           \
    X(GD, "gd", "Scottish Gaelic", "gd", LATIN, PLAIN)                                                                 \
    X(GN, "gn", "Guarani", "gn", LATIN, PLAIN)                                                                         \
    X(GRC, "grc", "Ancient Greek", "grc", GREEK, PLAIN)                                                                \
    X(GU, "gu", "Gujarati", "gu", GUJARATI, PLAIN)                                                                     \
    X(HAK, "hak", "Hakka", "hak", LATIN, TONAL)                                                                        \
    X(HAW, "haw", "Hawaiian", "haw", LATIN, PLAIN)                                                                     \
    X(HE, "he", "Hebrew", "he", HEBREW, PLAIN)                                                                         \
    X(HI, "hi", "Hindi", "hi", DEVANAGARI, PLAIN)                                                                      \
    X(HR, "hr", "Croatian", "hr", LATIN, PLAIN)                                                                        \
    X(HT, "ht", "Haitian Creole", "ht", LATIN, PLAIN)                                                                  \
    X(HU, "hu", "Hungarian", "hu", LATIN, PLAIN)                                                                       \
    X(HY, "hy", "Armenian", "hy", ARMENIAN, PLAIN)                                                                     \
    X(HYW, "hyw", "Western Armenian", "hyw", ARMENIAN, PLAIN)                                                          \
    X(IA, "ia", "Interlingua", "ia", LATIN, PLAIN)                                                                     \
    X(ID, "id", "Indonesian", "id", LATIN, PLAIN)                                                                      \
    X(IO, "io", "Ido", "io", LATIN, PLAIN)                                                                             \
    X(IS, "is", "Icelandic", "is", LATIN, PLAIN)                                                                       \
    X(JA, "ja", "Japanese", "ja", JAPANESE, PLAIN)                                                                     \
    X(JBO, "jbo", "Lojban", "jbo", LATIN, PLAIN)                                                                       \
    X(KA, "ka", "Georgian", "ka", GEORGIAN, PLAIN)                                                                     \
    X(KK, "kk", "Kazakh", "kk", CYRILLIC, PLAIN)                                                                       \
    X(KL, "kl", "Greenlandic", "kl", LATIN, PLAIN)                                                                     \
    X(KN, "kn", "Kannada", "kn", KANNADA, PLAIN)                                                                       \
    X(KO, "ko", "Korean", "ko", HANGUL, PLAIN)                                                                         \
    X(KOK, "kok", "Konkani", "kok", DEVANAGARI, PLAIN)                                                                 \
    X(KU, "ku", "Kurdish", "ku", LATIN, PLAIN)                                                                         \
    X(KY, "ky", "Kyrgyz", "ky", CYRILLIC, PLAIN)                                                                       \
    X(LA, "la", "Latin", "la", LATIN, PLAIN)                                                                           \
    X(LB, "lb", "Luxembourgish", "lb", LATIN, PLAIN)                                                                   \
    X(LFN, "lfn", "Lingua Franca Nova", "lfn", LATIN, PLAIN)                                                           \
    X(LT, "lt", "Lithuanian", "lt", LATIN, PLAIN)                                                                      \
    X(LTG, "ltg", "Latgalian", "ltg", LATIN, PLAIN)                                                                    \
    X(LV, "lv", "Latvian", "lv", LATIN, PLAIN)                                                                         \
    X(MI, "mi", "Maori", "mi", LATIN, PLAIN)                                                                           \
    X(MK, "mk", "Macedonian", "mk", CYRILLIC, PLAIN)                                                                   \
    X(ML, "ml", "Malayalam", "ml", MALAYALAM, PLAIN)                                                                   \
    X(MR, "mr", "Marathi", "mr", DEVANAGARI, PLAIN)                                                                    \
    X(MS, "ms", "Malay", "ms", LATIN, PLAIN)                                                                           \
    X(MT, "mt", "Maltese", "mt", LATIN, PLAIN)                                                                         \
    X(MY, "my", "Burmese", "my", MYANMAR, TONAL)                                                                       \
    X(NB, "nb", "Norwegian", "nb", LATIN, PLAIN)                                                                       \
    X(NCI, "nci", "Nahuatl", "nci", LATIN, PLAIN)                                                                      \
    X(NE, "ne", "Nepali", "ne", DEVANAGARI, PLAIN)                                                                     \
    X(NL, "nl", "Dutch", "nl", LATIN, PLAIN)                                                                           \
    X(NOG, "nog", "Nogai", "nog", CYRILLIC, PLAIN)                                                                     \
    X(OM, "om", "Oromo", "om", LATIN, PLAIN)                                                                           \
    X(OR, "or", "Oriya", "or", ORIYA, PLAIN)                                                                           \
    X(PA, "pa", "Punjabi", "pa", GURMUKHI, PLAIN)                                                                      \
    X(PAP, "pap", "Papiamento", "pap", LATIN, PLAIN)                                                                   \
    X(PIQD, "piqd", "Klingon", "piqd", LATIN, PLAIN)                                                                   \
    X(PL, "pl", "Polish", "pl", LATIN, PLAIN)                                                                          \
    X(PT, "pt", "Portuguese", "pt", LATIN, PLAIN)                                                                      \
    X(PT_BR, "pt-br", "Brazilian Portuguese", "pt-br", LATIN, PLAIN)                                                   \
    X(PY, "py", "Pyash", "py", LATIN, PLAIN)                                                                           \
    X(QDB, "qdb", "Lang Belta", "qdb", LATIN, PLAIN)                                                                   \
    X(QU, "qu", "Quechua", "qu", LATIN, PLAIN)                                                                         \
    X(QUC, "quc", "K'iche'", "quc", LATIN, PLAIN)                                                                      \
    X(QYA, "qya", "Quenya", "qya", LATIN, PLAIN)                                                                       \
    X(RO, "ro", "Romanian", "ro", LATIN, PLAIN)                                                                        \
    X(RU_LV, "ru-lv", "Latvian Russian", "ru-lv", CYRILLIC, RUSSIAN)                                                   \
    X(SD, "sd", "Sindhi", "sd", ARABIC, PLAIN)                                                                         \
    X(SHN, "shn", "Shan", "shn", MYANMAR, TONAL)                                                                       \
    X(SI, "si", "Sinhala", "si", SINHALA, PLAIN)                                                                       \
    X(SJN, "sjn", "Sindarin", "sjn", LATIN, PLAIN)                                                                     \
    X(SK, "sk", "Slovak", "sk", LATIN, PLAIN)                                                                          \
    X(SL, "sl", "Slovenian", "sl", LATIN, PLAIN)                                                                       \
    X(SMJ, "smj", "Lule Sami", "smj", LATIN, PLAIN)                                                                    \
    X(SQ, "sq", "Albanian", "sq", LATIN, PLAIN)                                                                        \
    X(SR, "sr", "Serbian", "sr", CYRILLIC, PLAIN)                                                                      \
    X(SV, "sv", "Swedish", "sv", LATIN, PLAIN)                                                                         \
    X(SW, "sw", "Swahili", "sw", LATIN, PLAIN)                                                                         \
    X(TA, "ta", "Tamil", "ta", TAMIL, PLAIN)                                                                           \
    X(TE, "te", "Telugu", "te", TELUGU, PLAIN)                                                                         \
    X(TH, "th", "Thai", "th", THAI, TONAL)                                                                             \
    X(TK, "tk", "Turkmen", "tk", LATIN, PLAIN)                                                                         \
    X(TN, "tn", "Setswana", "tn", LATIN, PLAIN)                                                                        \
    X(TR, "tr", "Turkish", "tr", LATIN, DOTLESS)                                                                       \
    X(TT, "tt", "Tatar", "tt", CYRILLIC, PLAIN)                                                                        \
    X(UG, "ug", "Uyghur", "ug", ARABIC, PLAIN)                                                                         \
    X(UK, "uk", "Ukrainian", "uk", CYRILLIC, PLAIN)                                                                    \
    X(UR, "ur", "Urdu", "ur", ARABIC, PLAIN)                                                                           \
    X(UZ, "uz", "Uzbek", "uz", LATIN, PLAIN)                                                                           \
    X(VI, "vi", "Vietnamese", "vi", LATIN, TONAL)                                                                      \
    X(VI_C, "vi-c", "Central Vietnamese", "vi-vn-x-central", LATIN, TONAL)                                             \
    X(VI_S, "vi-s", "Southern Vietnamese", "vi-vn-x-south", LATIN, TONAL)                                              \
    X(YUE, "yue", "Cantonese", "yue", HAN, TONAL)

enum mx_language_id {
#define X(identifier, code, name, voice, script, rules) MX_LANGUAGE_##identifier,
    MX_LANGUAGE_LIST(X)
#undef X
        MX_LANGUAGE_COUNT
};

enum mx_direction { MX_DIRECTION_LEFT_TO_RIGHT, MX_DIRECTION_RIGHT_TO_LEFT };

/* Ranges of code points; the last one has last == 0. */
struct mx_script_range {
    uint32_t first, last;
};

struct mx_script {
    const char *name; /* "Latin" */
    enum mx_direction direction;
    bool detected;     /* a text in it needs no --language: it is the first language of the list that has this script */
    bool joiners;      /* U+200C and U+200D are part of its words */
    uint32_t zeros[2]; /* its own digits 0, each followed by the other nine; 0: none */
    const char *marks; /* its own punctuation, in pairs: a mark, then its meaning among , . ! ? ; : */
    const struct mx_script_range *ranges; /* which letters are its own */
};

struct mx_language_rules; /* text/internal.h */

struct mx_language {
    const char *code;  /* what --language takes: ISO 639, or espeak-ng's own */
    const char *name;  /* in English */
    const char *voice; /* voice of espeak-ng, by its file name */
    const struct mx_script *script;
    const struct mx_language_rules *rules;
};

const struct mx_language *mx_language_get(enum mx_language_id language);
/* Finds a language by code or English name, in any case; otherwise MX_ERR_CONFIG with the list of languages. */
int mx_language_parse(const char *text, enum mx_language_id *out);

/* Whether this language is detected from the script of a text alone (text.h: mx_text_detect). */
bool mx_language_detected(enum mx_language_id language);

/* Whether the code point is a letter of the script. */
bool mx_script_has(const struct mx_script *script, uint32_t point);
/* The value of a digit of the script; -1 if the code point is not one. */
int mx_script_digit(const struct mx_script *script, uint32_t point);
/* Whether normalised text of this language may hold the code point: its letters, Latin and Arabic letters, marks, the
 * punctuation that text.h leaves, and for languages whose numbers espeak-ng reads, digits and signs that it can say. */
bool mx_language_writes(enum mx_language_id language, uint32_t point);
/* Whether phonemes of this language may hold the code point: letters and marks of the IPA, tones, the same punctuation.
 * In some languages espeak-ng also writes letters outside the IPA, such as S or ä, so for languages whose output has
 * not been reviewed (those without their own rules) every letter is accepted. */
bool mx_language_speaks(enum mx_language_id language, uint32_t point);

#endif
