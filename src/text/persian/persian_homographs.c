/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Persian words that are written alike and said differently: «مرد» is mard, a man, or mord, died. A reading is chosen by
 * the words around it and by its place; otherwise the word is left to espeak-ng, whose reading is the usual one.
 */
#include <string.h>

#include "text/persian/persian.h"
#include "text/persian/persian_words.h"

enum place {
    ANYWHERE,
    AT_END,      /* of the clause, or before a conjunction, with words before it, where a verb stands */
    BEFORE_VERB, /* «شکر کرد» */
    WITH_EZAFE,
};

static const struct reading {
    const char *word, *vowels;
    enum place place;
    const char *near; /* one of these words is in the clause; NULL: none is needed */
    const char *not_near;
} readings[] = {
    {"مرد", "مُرد", AT_END, NULL, " این آن یک "},
    {"گل", "گِل", ANYWHERE,
     " کفش کفش‌های کاه کوزه چکمه باران خشت دیوار سفال لجن ",
     " سرخ رز بوی باغبان شاخه "},
    {"کرم", "کِرم", ANYWHERE, " ابریشم سیب برگ خاک خاکی میوه دندان ماهیگیری پروانه ", NULL},
    {"کرم", "کِرِم", ANYWHERE,
     " پوست صورت دست آفتاب بزنید بمالید مرطوب‌کننده مالید بستنی "
     "کاکائو ",
     NULL},
    {"شکر", "شُکر", ANYWHERE, " خدا خدای خداوند پروردگار الهی ", " چای قند قاشق "},
    {"سر", "سِر", ANYWHERE, " راز اسرار پنهان فاش نگه‌دار ", " درد پیچ "},
    {"پر", "پَر", ANYWHERE, " پرنده کبوتر گنجشک بال بالش مرغ طاووس ", " از "},
    {"مهر", "مُهر", BEFORE_VERB, NULL, " ماه بیست اول دهم "},
    {"مهر", "مُهر", ANYWHERE, " نامه پاکت شرکت امضا اداره پاسپورت گذرنامه سند ", " ماه مادر "},
    {"دم", "دُم", ANYWHERE, " سگ گربه روباه اسب گاو موش شیر ماهی تکان خروس ", NULL},
    {"سبک", "سَبک", ANYWHERE,
     " شاعر نویسنده هنر هنری نقاش نقاشی معماری شعر موسیقی قدیم زندگی نوشتن "
     "می‌نویسد ",
     " چمدان کیف "},
    {"کشت", "کِشت", WITH_EZAFE, NULL, NULL},
    {"کشت", "کِشت", ANYWHERE, " گندم برنج زمین کشاورز کشاورزی محصول زیر ", " دشمن "},
    {"گرد", "گِرد", ANYWHERE, " میز زمین دایره شکل کره صورت توپ ", " خاک سفیدی "},
    {"مسکن", "مُسَکِّن", ANYWHERE, " درد قرص دکتر دارو پزشک سردرد خورد خوردم داروی ", " وزارت وام مشکل قیمت "},
    {"ببر", "بِبَر", AT_END, NULL, NULL},
    {"کند", "کُند", ANYWHERE, " چاقو اینترنت سرعت قیچی حرکت ", NULL},
    {"کند", "کَند", ANYWHERE, " زمین چاه گودال کلنگ بیل خاک چاهی قبر پوست ", NULL},
    {"ملک", "مَلِک", ANYWHERE, " پادشاه شاه ", NULL},
    {"عالم", "عالِم", ANYWHERE, " دین دانشمند فقیه علم ", NULL},
    {"پست", "پَست", ANYWHERE, " فرومایه رذل نامرد آدم ", NULL},
    {"شش", "شُش", ANYWHERE, " ریه نفس تنفس سیگار قلب کبد ", NULL},
    {"قسم", "قِسم", ANYWHERE, " نوع دو چند ", " خوردم خورد خدا "},
    {"جرم", "جِرم", ANYWHERE, " دندان سیاره ستاره کیلوگرم حجم گرم چگالی ", NULL},
    {"سحر", "سِحر", ANYWHERE, " جادو جادوگر طلسم ", NULL},
    {"نفس", "نَفس", ANYWHERE, " اماره شیطان عزت اعتماد ", NULL},
    {"کره", "کَره", ANYWHERE, " نان صبحانه مربا پنیر عسل تخم‌مرغ ", NULL},
    {"محرم", "مُحَرَّم", ANYWHERE, " ماه عاشورا عزاداری صفر ", NULL},
    {"تنگ", "تُنگ", ANYWHERE, " ماهی بلور آب شربت ", " کوچه لباس "},
};

static bool is_word(const struct mx_persian_mark *word, const char *text)
{
    return word->length == strlen(text) && !memcmp(word->text, text, word->length);
}

static bool any_of(const struct mx_persian_mark *words, size_t count, size_t but, const char *list)
{
    for (size_t i = 0; i < count; i++)
        if (i != but && mx_persian_listed(list, words[i].text, words[i].length)) return true;
    return false;
}

static bool fits(const struct reading *reading, const struct mx_persian_mark *words, size_t count, size_t i)
{
    const uint32_t next = i + 1 < count ? words[i + 1].kinds : 0;
    switch (reading->place) {
    case ANYWHERE:
        break;
    case AT_END:
        if (i == 0 ||
            (i + 1 < count && !mx_persian_listed(" و که تا ولی اما ", words[i + 1].text, words[i + 1].length)))
            return false;
        break;
    case BEFORE_VERB:
        if ((next & (MX_PERSIAN_VERB | MX_PERSIAN_PAST)) == 0 || (next & MX_PERSIAN_COPULA)) return false;
        break;
    case WITH_EZAFE:
        if (!words[i].ezafe) return false;
        break;
    }
    if (reading->near != NULL && !any_of(words, count, i, reading->near)) return false;
    return reading->not_near == NULL || !any_of(words, count, i, reading->not_near);
}

const char *mx_persian_homograph(const struct mx_persian_mark *words, size_t count, size_t i)
{
    for (size_t r = 0; r < sizeof readings / sizeof *readings; r++)
        if (is_word(&words[i], readings[r].word) && fits(&readings[r], words, count, i)) return readings[r].vowels;
    return NULL;
}
