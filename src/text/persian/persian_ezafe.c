/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ezafe that Persian does not write: «کتاب من» is said ketɑbe man. Marks the words of a clause that have one: a kasra,
 * or «ی» with a half-space after a silent he. Homographs get their vowels (persian_homographs.c).
 *
 * Rules over kinds of words (persian_words.h), word by word from the beginning: a noun has an ezafe before a noun, an
 * adjective or a pronoun, unless what follows belongs to the verb, or says something about a subject that is complete.
 * Then chains that would leave the verb without a subject or an object are divided. What a text marks itself is kept.
 * tests/test_persian_ezafe.c measures it.
 *
 * Memory: words on the stack; only the sink allocates.
 */
#include <string.h>

#include "base/string.h"
#include "text/persian/persian.h"
#include "text/persian/persian_words.h"

#define WORDS_MOST (MX_CLAUSE_BYTES / 2)
#define ZWNJ_YE    "\xe2\x80\x8cی"
#define KASRA_UTF8 "\xd9\x90"

#define NOMINAL_NOT (MX_PERSIAN_STOP | MX_PERSIAN_VERB)

struct clause {
    struct mx_persian_mark words[WORDS_MOST];
    size_t count;
};

static uint32_t kinds_at(const struct clause *c, size_t i)
{
    return i < c->count ? c->words[i].kinds : 0;
}

static bool is(const struct clause *c, size_t i, const char *list)
{
    return i < c->count && mx_persian_listed(list, c->words[i].text, c->words[i].length);
}

/* A past stem is a verb at the end of the clause, and a participle before a copula. */
static bool is_verb(const struct clause *c, size_t i)
{
    const uint32_t kinds = kinds_at(c, i);
    if (kinds & MX_PERSIAN_VERB) return true;
    const bool end = i + 1 == c->count || is(c, i + 1, " و که تا ولی اما ");
    if (kinds & MX_PERSIAN_PAST) return i > 0 && end;
    if (kinds & MX_PERSIAN_PART)
        return end ? i > 0 && i + 1 == c->count : (kinds_at(c, i + 1) & MX_PERSIAN_COPULA) != 0;
    return false;
}

/* کردن, شدن, دادن …: verbs that make one together with a noun. */
static bool is_light(const struct clause *c, size_t i)
{
    static const char *const stems[] = {"کرد",  "کن",   "شد",  "شو",   "داد",   "ده",    "گرفت", "گیر", "زد",
                                        "زن",   "داشت", "دار", "خورد", "یافت",  "کشید",  "کش",   "بود", "است",
                                        "نیست", "باش",  "هست", "ماند", "گذاشت", "خواند", "خوان", "آمد", "رسید"};
    if (i >= c->count) return false;
    const char *word = c->words[i].text;
    if (!strncmp(word, "نمی\xe2\x80\x8c", 9))
        word += 9;
    else if (!strncmp(word, "می\xe2\x80\x8c", 7))
        word += 7;
    for (size_t k = 0; k < sizeof stems / sizeof *stems; k++) {
        const size_t bytes = strlen(stems[k]);
        if (!strncmp(word, stems[k], bytes)) return true;
        if ((!strncmp(word, "ن", 2) || !strncmp(word, "ب", 2)) && !strncmp(word + 2, stems[k], bytes)) return true;
    }
    return false;
}

/* Adjectives that name a kind, «ملی», and are seldom said about a subject. */
static bool is_relational(const struct clause *c, size_t i)
{
    const uint32_t both = MX_PERSIAN_LAST_YE | MX_PERSIAN_ADJECTIVE;
    return (kinds_at(c, i) & both) == both &&
           !is(c, i, " آبی خالی طولانی عادی معمولی ضروری فوری واقعی طبیعی قدیمی بعدی قبلی ابری بارانی آفتابی ");
}

/* Whether word i belongs to the verb after it: «تصمیم گرفت», «آبی است», «پر از آب است». */
static bool is_predicate(const struct clause *c, size_t i)
{
    const uint32_t kinds = kinds_at(c, i);
    if (is(c, i,
           " پر خالی سرشار دور نزدیک بزرگ‌تر کوچک‌تر بهتر بیشتر "
           "کمتر ") &&
        is(c, i + 1, " از به "))
        return true;
    if (!is_verb(c, i + 1) || (kinds & MX_PERSIAN_INDEFINITE)) return false;
    if ((kinds & (MX_PERSIAN_ACTION | MX_PERSIAN_PART)) && is_light(c, i + 1)) return true;
    if ((kinds & MX_PERSIAN_ADJECTIVE) && (kinds_at(c, i + 1) & MX_PERSIAN_COPULA)) return !is_relational(c, i);
    return (kinds & MX_PERSIAN_PREDICATE) != 0;
}

static bool has_object(const struct clause *c, size_t from)
{
    for (size_t i = from; i < c->count; i++)
        if (is(c, i, " را ")) return true;
    return false;
}

/* Where the part of the clause that word i belongs to begins: after a verb or a conjunction. */
static size_t part_begin(const struct clause *c, size_t i)
{
    while (i > 0 && !is_verb(c, i - 1) && !is(c, i - 1, " و که یا ولی اما اگر وقتی لطفا لطفاً چون ")) i--;
    return i;
}

static bool is_preposition(const struct clause *c, size_t i)
{
    return is(c, i, " از به در با بر برای روی توی جلوی بالای تا بی سوی ") || (kinds_at(c, i) & MX_PERSIAN_PLACE) != 0;
}

/* Whether a subject ends with word i, which begins its part: what follows is about something else. */
static bool subject_ends(const struct clause *c, size_t i)
{
    const uint32_t kinds = kinds_at(c, i), next = kinds_at(c, i + 1);
    const uint32_t belongs = MX_PERSIAN_BODY | MX_PERSIAN_PRONOUN | MX_PERSIAN_ADJECTIVE;
    size_t begin = part_begin(c, i);
    if ((kinds_at(c, begin) & MX_PERSIAN_TIME) && is(c, begin + 1, " گذشته آینده بعد قبل ")) begin += 2;
    if (i != begin) return false;
    if (is(c, i + 1, " تمام همه ") && (kinds_at(c, i + 2) & MX_PERSIAN_TIME)) return true;
    if ((kinds & MX_PERSIAN_PERSON) == 0) {
        const bool people = c->words[i].length > 8 && !memcmp(c->words[i].text + c->words[i].length - 4, "ان", 4);
        if (!people || (next & belongs) != 0) return false;
        return has_object(c, i + 1) || (kinds_at(c, i + 2) & MX_PERSIAN_INDEFINITE) != 0;
    }
    if (next & (belongs | MX_PERSIAN_NAME)) return false;
    return has_object(c, i + 1) || is_verb(c, i + 2) ||
           (is_verb(c, i + 3) && !(kinds_at(c, i + 2) & MX_PERSIAN_ADJECTIVE));
}

/* «در» that is a door: «درِ اتاق را», «قفلِ در». */
static bool is_door(const struct clause *c, size_t i)
{
    if (!is(c, i, " در ")) return false;
    if (i > 0 && is(c, i - 1, " دم قفل پشت جلوی لای کلید دستگیره زنگ ")) return true;
    return i == part_begin(c, i) && is(c, i + 2, " را ");
}

/* A letter that stands for itself: «حرف ب», «الف ب پ». */
static bool is_letter(const struct clause *c, size_t i)
{
    uint32_t point;
    if (i >= c->count || is(c, i, " و ")) return false;
    const bool alone = mx_utf8_decode(c->words[i].text, &point) == c->words[i].length && mx_text_is_arabic(point);
    return is(c, i, " الف ") || alone;
}

/* Whether a word can have an ezafe at all. */
static bool can_have(const struct clause *c, size_t i)
{
    const uint32_t kinds = kinds_at(c, i);
    if (is_door(c, i)) return true;
    if (kinds & (NOMINAL_NOT | MX_PERSIAN_PRONOUN | MX_PERSIAN_OWNED | MX_PERSIAN_WRITTEN | MX_PERSIAN_INDEFINITE))
        return false;
    if (is_verb(c, i) || is_letter(c, i)) return false;
    if ((kinds & MX_PERSIAN_POINTER) && !(kinds & MX_PERSIAN_NUMBER)) return false;
    if (kinds & MX_PERSIAN_NUMBER) { /* «هشتِ صبح», «بیستِ مهر», «صفحهٔ دهِ کتاب» */
        if (i > 0 && is(c, i - 1, " صفحه فصل طبقه خط شماره ")) return true;
        return is(c, i + 1,
                  " صبح ظهر شب عصر بعدازظهر فروردین اردیبهشت خرداد تیر مرداد شهریور مهر آبان آذر دی بهمن اسفند ");
    }
    if (kinds & MX_PERSIAN_NAME) return (kinds_at(c, i + 1) & MX_PERSIAN_ADJECTIVE) != 0 && !is_predicate(c, i + 1);
    if (i > 0 && (kinds & MX_PERSIAN_MEASURE) && (kinds_at(c, i - 1) & MX_PERSIAN_NUMBER)) return false;
    if (i > 0 && (kinds & MX_PERSIAN_TIME) &&
        (is(c, i - 1, " هر همه چند ") || (is(c, i - 2, " هر ") && !is(c, i, " ساعت "))))
        return false;
    if (i > 0 && (kinds_at(c, i - 1) & MX_PERSIAN_TIME) && is(c, i, " گذشته آینده بعد قبل پیش ")) return false;
    if (is(c, i, " همه ") && (is(c, i + 1, " جا ") || (i > 0 && is(c, i - 1, " این ")))) return false;
    return !is(c, i, " پیش بعد قبل بعدی قبلی ");
}

/* Before «این», «یک», «هر» a noun has an ezafe only where it is not the subject or an object by itself. */
static bool before_pointer(const struct clause *c, size_t i)
{
    if (is(c, i + 1, " هر ") && (kinds_at(c, i + 2) & MX_PERSIAN_TIME)) return false;
    if (is(c, i + 2, " را است بود ")) return false;
    if (kinds_at(c, i) & MX_PERSIAN_LINK) return !is(c, i, " همه ");
    if (!is(c, i + 1, " این آن همین همان یک هر کدام چند ")) return false; /* بلندترین */
    if (i == 0) return !has_object(c, i) && !is(c, i + 1, " یک ");
    return c->words[i - 1].ezafe || is_preposition(c, i - 1) || !is(c, i + 1, " یک ");
}

/* Before what says when: «قطار ساعت هشت», «نتیجه هفته آینده». */
static bool before_time(const struct clause *c, size_t i)
{
    if (i > 0 && is_preposition(c, i - 1)) return false;
    if (is(c, i + 1, " ساعت ") && (kinds_at(c, i + 2) & MX_PERSIAN_NUMBER)) return true;
    return (kinds_at(c, i + 1) & MX_PERSIAN_TIME) && is(c, i + 2, " گذشته آینده بعد قبل پیش ");
}

/* «بوی», «صدای», but not a plural, which may well go on: «شهرهای». */
static bool has_written(const struct clause *c, size_t i)
{
    const struct mx_persian_mark *const word = &c->words[i];
    if (!(word->kinds & MX_PERSIAN_WRITTEN) || word->length < 6) return false;
    return !memcmp(word->text + word->length - 2, "ی", 2) && memcmp(word->text + word->length - 6, "های", 6) != 0;
}

/* Whether word i + 1 begins what a subject has or does: «گزارش تازه‌ای», «بوی خوبی». */
static bool begins_other(const struct clause *c, size_t i)
{
    const uint32_t next = kinds_at(c, i + 1), after = kinds_at(c, i + 2), third = kinds_at(c, i + 3);
    const bool within = i > 0 && is_preposition(c, i - 1) && !(kinds_at(c, i - 1) & MX_PERSIAN_PLACE);
    const uint32_t adjective = MX_PERSIAN_ADJECTIVE, quality = MX_PERSIAN_INDEFINITE | adjective;
    if ((next & MX_PERSIAN_PLACE) && is(c, i + 2, " را ")) return false; /* «فرمِ زیر را» */
    if (next & (MX_PERSIAN_PREDICATE | MX_PERSIAN_PLACE)) return true;
    if (is(c, i + 1, " نیاز احتیاج علاقه اعتماد عادت ") && is(c, i + 2, " به ")) return true;
    if (is(c, i + 1, " همه ") && is(c, i + 2, " جا ")) return true;
    if (within) return false;
    if ((next & MX_PERSIAN_INDEFINITE) &&
        !(next & adjective)) { /* «مردِ مسنی از …», but «سرباز نامه‌ای نوشت» */
        const struct mx_persian_mark *const word = &c->words[i + 1];
        const bool other = word->length > 7 && !memcmp(word->text + word->length - 7, "\xe2\x80\x8cای", 7);
        return other || i != part_begin(c, i) || !is_preposition(c, i + 2);
    }
    if (!(next & adjective) && ((after & quality) == quality || ((after & adjective) && (third & quality) == quality)))
        return true;
    /* a written ezafe begins another noun, where there is one before */
    return i > 0 && c->words[i - 1].ezafe && has_written(c, i + 1);
}

static bool has_ezafe(const struct clause *c, size_t i)
{
    const uint32_t kinds = kinds_at(c, i), next = kinds_at(c, i + 1);
    if (i + 1 >= c->count || !can_have(c, i)) return false;
    if (is(c, i + 1, " خیلی بسیار ")) /* «مردِ بسیار خوبی» */
        return i > 0 && (kinds_at(c, i + 2) & MX_PERSIAN_INDEFINITE) != 0;
    if (is_door(c, i + 1)) return true;
    if (is_letter(c, i + 1)) return is(c, i, " حرف گروه بند کلاس طرح بلوک گزینه نوع سری دسته شعبه ویتامین ");
    if (is(c, i + 1, " امروز دیروز دیشب فردا امشب امسال پارسال همیشه "))
        return is(c, i + 2, " را ") || is(c, i, " مثل مانند جلسه برنامه خبر روزنامه غذای ناهار درس امتحان مسابقه شام ");
    if ((next & NOMINAL_NOT) || is_verb(c, i + 1)) return false;
    if (next & MX_PERSIAN_POINTER) return before_pointer(c, i);
    if (next & MX_PERSIAN_NUMBER) {
        const bool counted = is(c, i + 2, " و ") ? (kinds_at(c, i + 4) & MX_PERSIAN_MEASURE) != 0
                                                 : (kinds_at(c, i + 2) & MX_PERSIAN_MEASURE) != 0;
        return (kinds & MX_PERSIAN_LINK) || ((kinds & MX_PERSIAN_COUNTED) && !(counted && !(kinds & MX_PERSIAN_TIME)));
    }
    if (is(c, i + 1, " پیش ") && kinds_at(c, i + 2) != 0 && !(kinds & MX_PERSIAN_TIME)) return false;
    if (is(c, i, " سال ") && is(c, i + 1, " نو ")) return true;
    if (is_predicate(c, i + 1)) return (kinds & MX_PERSIAN_PLACE) != 0 && !(next & MX_PERSIAN_ADJECTIVE);
    if (kinds & MX_PERSIAN_PLACE) return true;
    if (begins_other(c, i) || before_time(c, i)) return false;
    if (i > 0 && is(c, i - 1, " این آن همین همان ") && !(next & (MX_PERSIAN_ADJECTIVE | MX_PERSIAN_PRONOUN)))
        return false;
    if ((kinds & MX_PERSIAN_ADJECTIVE) && !(kinds & (MX_PERSIAN_LAST_YE | MX_PERSIAN_ORDINAL | MX_PERSIAN_ACTION)) &&
        !(next & (MX_PERSIAN_PRONOUN | MX_PERSIAN_NAME | MX_PERSIAN_BODY | MX_PERSIAN_ADJECTIVE)) &&
        !(i > 0 && c->words[i - 1].ezafe && is_preposition(c, i + 2)))
        return false; /* «سرباز جوان نامه نوشت» */
    return (kinds & MX_PERSIAN_LINK) != 0 || !subject_ends(c, i);
}

/* ---- chains ---- */

/* Verbs that have an object, which may stand right before them. */
static bool is_giving(const struct clause *c, size_t i)
{
    return is(
        c, i,
        " داد دادم دادند می‌دهد زد خورد خوردم خوردیم خوردند می‌خورد "
        "نوشت "
        "نوشتم "
        "خرید "
        "خریدم "
        "خریدیم "
        "ریخت "
        "ریختم "
        "گرفت "
        "گرفتم گرفتیم فرستاد آورد آوردند پخت ساخت ساختند می‌سازد "
        "می‌خرد "
        "می‌آورند ");
}

/* Whether the verb that ends the part has another subject than the speaker or the listener. */
static bool is_third_person(const struct clause *c, size_t from)
{
    size_t i = from;
    while (i + 1 < c->count && !is_verb(c, i)) i++;
    const char *const word = c->words[i].text;
    const size_t length = c->words[i].length;
    static const char *const others[] = {"م", "ی", "ید", "یم", "ن", "ر", "ش"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        const size_t bytes = strlen(others[k]);
        if (length > bytes && !memcmp(word + length - bytes, others[k], bytes)) return false;
    }
    return true;
}

/* A chain of words with ezafe cannot be subject and predicate, subject and object, or a phrase with a preposition and an
 * object: it is divided. `first` is its first word, `last` the one after its last ezafe. */
static void chain_divide(struct clause *c, size_t first, size_t last)
{
    const size_t words = last - first + 1;
    const bool start = first == part_begin(c, first) ||
                       (first == part_begin(c, first) + 1 && (kinds_at(c, first - 1) & MX_PERSIAN_POINTER));
    const bool preposition = first > 0 && is_preposition(c, first - 1);
    size_t keep = words;
    if (is(c, last + 1, " را ")) {
        if (preposition) keep = words / 2 > 0 ? words / 2 : 1;
        const bool quality = (kinds_at(c, last) & (MX_PERSIAN_ADJECTIVE | MX_PERSIAN_PRONOUN)) != 0;
        if (start && words >= 4 && is_third_person(c, last)) keep = words / 2;
        if (start && words == 3 && is_third_person(c, last)) keep = quality ? 1 : 2;
    } else if (kinds_at(c, last + 1) & MX_PERSIAN_COPULA) {
        if (start && words >= 3 && !(kinds_at(c, last) & (MX_PERSIAN_PART | MX_PERSIAN_ACTION)))
            keep = is_relational(c, last) && words == 4 ? words - 1 : words / 2;
    } else if (is_giving(c, last + 1)) {
        const bool quality = (kinds_at(c, last) & MX_PERSIAN_ADJECTIVE) != 0;
        if (start && words >= 3 && !quality && is_third_person(c, last)) keep = 2;
        if (preposition && words == 2 && !quality && !(kinds_at(c, last) & (MX_PERSIAN_NAME | MX_PERSIAN_PRONOUN)))
            keep = 1;
    }
    if (keep < words) c->words[first + keep - 1].ezafe = false;
}

static void chains_divide(struct clause *c)
{
    for (size_t i = 0; i < c->count; i++) {
        size_t last = i;
        while (last < c->count && c->words[last].ezafe) last++;
        if (last > i && last < c->count) chain_divide(c, i, last);
        i = last;
    }
}

/* The word without vowel signs, which is what the lists have. */
static void word_read(const char *text, size_t length, struct mx_persian_mark *word)
{
    *word = (struct mx_persian_mark){.written = text, .written_length = length};
    for (size_t at = 0; at < length;) {
        uint32_t point;
        const size_t bytes = mx_utf8_decode(text + at, &point);
        const bool sign = mx_text_is_vowel_sign(point) && point != 0x64b; /* لطفاً keeps its tanwin */
        if (sign) word->marked = true;
        if (!sign && word->length + bytes < sizeof word->text) {
            memcpy(word->text + word->length, text + at, bytes);
            word->length += bytes;
        }
        at += bytes;
    }
    word->kinds = mx_persian_kinds(word->text, word->length);
    uint32_t first;
    mx_utf8_decode(word->length > 0 ? word->text : " ", &first);
    if (word->length + 5 >= sizeof word->text || !mx_text_is_arabic(first)) word->kinds |= MX_PERSIAN_WRITTEN;
}

static void word_write(const struct mx_persian_mark *word, struct mx_text_sink *out)
{
    const char *const vowels = word->vowels;
    char text[MX_WORD_BYTES * 2 + 8];
    const size_t length = vowels != NULL ? strlen(vowels) : word->written_length;
    if (length >= MX_WORD_BYTES * 2) return; /* words are cut before */
    memcpy(text, vowels != NULL ? vowels : word->written, length);
    text[length] = 0;
    if (word->ezafe) {
        const bool he = length >= 2 && !memcmp(text + length - 2, "ه", 2) && word->silent_he;
        strcat(text, he ? ZWNJ_YE : KASRA_UTF8);
    }
    mx_text_sink_put(out, text);
}

/* Words in h that is heard: راه, ده; after a vowel letter it always is. */
static bool silent_he(const struct mx_persian_mark *word)
{
    uint32_t points[sizeof word->text];
    size_t count = 0;
    for (size_t at = 0; at < word->length;) at += mx_utf8_decode(word->text + at, &points[count++]);
    if (mx_persian_listed(" ده نه مه فرمانده توجه متوجه مشابه شبیه فقیه وجه تنبیه شه ابه سپه گنه ته به که ", word->text,
                          word->length))
        return false;
    if (count >= 4 && points[count - 1] == 0x647 && points[count - 2] == 0x6cc) return true; /* سایه */
    return count >= 3 && mx_persian_ends_in_silent_he(points, count);
}

void mx_persian_mark_clause(const char *text, struct mx_text_sink *out)
{
    struct clause c;
    c.count = 0;
    for (const char *at = text; *at && c.count < WORDS_MOST;) {
        const size_t length = strcspn(at, " ");
        if (length > 0) word_read(at, length, &c.words[c.count++]);
        at += length + (at[length] == ' ');
    }
    for (size_t i = 0; i < c.count; i++) {
        struct mx_persian_mark *const word = &c.words[i];
        if (!word->marked) {
            word->ezafe = has_ezafe(&c, i);
            word->silent_he = silent_he(word);
        }
    }
    chains_divide(&c);
    for (size_t i = 0; i < c.count; i++)
        if (!c.words[i].marked) c.words[i].vowels = mx_persian_homograph(c.words, c.count, i);
    for (size_t i = 0; i < c.count; i++) {
        mx_text_sink_blank(out);
        word_write(&c.words[i], out);
    }
}
