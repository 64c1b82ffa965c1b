/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kinds of Persian words; see persian_words.h. Each list is one text with blanks around its words.
 */
#include "text/persian/persian_words.h"

#include <string.h>

#define WORD_MOST 64 /* bytes of a word that is looked up; longer ones are in no list */
#define ZWNJ      "\xe2\x80\x8c"

static const struct {
    uint32_t kinds;
    const char *words;
} lists[] = {
    {MX_PERSIAN_STOP,
     " از به با در بر تا بی جز مگر را و که یا اما ولی لیکن بلکه چون زیرا اگر گرچه هرچند وقتی هنگامی پس سپس نیز هم نه "
     "آری "
     "بله خیر آیا مبادا شاید باید نباید حتما حتماً لطفا لطفاً فقط تنها هنوز همیشه هرگز اکنون حالا الان امروز دیروز فردا "
     "امشب دیشب امسال پارسال اینجا آنجا کجا کی چرا چگونه چطور چقدر چیست کیست کجاست اینجاست آنجاست خیلی بسیار کمی اندکی "
     "دیگر باز دوباره ناگهان معمولا معمولاً اغلب گاهی البته یعنی مثلا مثلاً تقریبا تقریباً کاملا کاملاً واقعا واقعاً اصلا "
     "اصلاً زود دیر آهسته بیرون پایین همین‌طور بنابراین درباره‌اش "
     "چیزی "
     "کسی "
     "هیچ‌کس "
     "همدیگر "
     "یکدیگر "
     "یکی "
     "چنین "
     "چنان "
     "ای "
     "جلوی روی "
     "توی لای برای سوی ببخشید خواهش گویا انگار وگرنه تند عقب "
     "همه‌جا "},
    {MX_PERSIAN_NOUN, " مردم شدت کندو گردش داده خواندنی کارت دلم راهت "},
    {MX_PERSIAN_PRONOUN,
     " من تو او وی ما شما ایشان آن‌ها آنها آنان اینها این‌ها اینان "
     "خود "
     "خویش "
     "خودم "
     "خودت "
     "خودش "
     "خودمان "
     "خودتان خودشان مرا تورا "},
    {MX_PERSIAN_POINTER, " این آن همین همان هر هیچ چه چند کدام فلان نخستین اولین آخرین دومین بهترین بدترین یک "},
    {MX_PERSIAN_NUMBER,
     " یک دو سه چهار پنج شش هفت هشت نه ده یازده دوازده سیزده چهارده پانزده شانزده هفده هجده نوزده بیست سی "
     "چهل پنجاه شصت هفتاد هشتاد نود صد دویست سیصد چهارصد پانصد ششصد هفتصد هشتصد نهصد هزار میلیون "
     "میلیارد صفر نیم چند چندین "},
    {MX_PERSIAN_ORDINAL | MX_PERSIAN_ADJECTIVE,
     " اول دوم سوم چهارم پنجم ششم هفتم هشتم نهم دهم بیستم آخر بعد قبل بعدی قبلی "
     "آینده گذشته پیش نخست یکم "},
    {MX_PERSIAN_LINK | MX_PERSIAN_PLACE, " زیر پشت کنار میان بین نزد بدون مثل مانند همانند طبق علیه همراه داخل خارج "
                                         "وسط دور اطراف حدود طی ظرف سراسر نزدیک "
                                         "درباره مقابل برابر بابت "},
    {MX_PERSIAN_LINK, " خاطر دلیل علت سبب وسیله سمت جهت تمام همه بیشتر اکثر صاحب اهل انواع پایان عدم ضمن قبال غیر ضد "},
    {MX_PERSIAN_LINK | MX_PERSIAN_PREDICATE,
     " منتظر خواستار عاشق وارد موافق مخالف مشغول مواظب مراقب دچار دارای شامل متعلق نگران مایل قادر حاضر بلد حاکم "},
    {MX_PERSIAN_ADJECTIVE,
     " خوب بد بزرگ کوچک بلند کوتاه سرد گرم داغ خنک تازه قدیم کهنه نو جوان پیر زیبا زشت سفید سیاه قرمز سرخ سبز زرد آبی "
     "کبود "
     "خاکستری سنگین سبک سخت آسان ساده مشکل شلوغ خلوت خالی پر تمیز کثیف گران ارزان مهم اصلی فرعی جدید قوی ضعیف خوشمزه "
     "تلخ "
     "شیرین شور ترش تاریک روشن باز بسته آرام تنبل زرنگ مهربان فقیر ثروتمند یتیم خسته بیمار سالم زنده مرده دراز پهن تنگ "
     "گشاد راست چپ کج صاف خیس خشک لازم مفید مضر ممکن راضی خوشحال غمگین عصبانی خوشبخت بدبخت تنها غریب غریبه دقیق کافی "
     "شدید "
     "طولانی عمیق گرد تیز کند نرم محکم زیاد کم بیش خراب درست غلط گم پیدا آزاد تعطیل رایگان غایب رایج سریع طلایی خواب "
     "بیدار "
     "مشهور معروف خاص عام مختلف متفاوت پیروز ویران تماشایی دیدنی "
     "غم‌انگیز "
     "لغزنده "
     "طاقت‌فرسا "
     "خبردار "
     "فراوان "
     "شگفت‌زده "
     "درخشان پرسرعت خاموش باستان مسن قفل مشغول عجیب ترسناک خطرناک قشنگ ناراحت نگران آماده "
     "دوست‌داشتنی "
     "سرخوش "
     "کامل "
     "ناقص صحیح کوچک‌تر بزرگ‌تر بهتر بدتر بیشتر کمتر بالا پایین "
     "نزدیک "
     "پررنگ "
     "کم‌رنگ "
     "بدمزه "
     "شفاف "
     "مرطوب "
     "نازک "
     "کلفت "
     "چاق لاغر باهوش نادان شجاع ترسو مؤدب صورتی بنفش نارنجی "
     "قهوه‌ای "
     "مدرن "
     "مناسب "
     "نامناسب "
     "موفق "
     "مجرم "
     "بی‌گناه "
     "گناهکار "
     "ماهر حرفه‌ای ثابت متغیر مستقیم مشترک ویژه متوسط "},
    {MX_PERSIAN_LAST_YE | MX_PERSIAN_ADJECTIVE,
     " ملی قدیمی جهانی سنتی ایرانی تهرانی خارجی داخلی محلی شرقی غربی شمالی جنوبی مرکزی آبی اصلی فرعی انسانی علمی فنی "
     "هنری "
     "ادبی تاریخی سیاسی اقتصادی اجتماعی فرهنگی مذهبی اسلامی نظامی پزشکی قلبی روحی روانی جسمی مالی بانکی شخصی عمومی "
     "خصوصی دولتی رسمی صنعتی کشاورزی نفتی برقی دائمی فوری ضروری طبیعی مصنوعی بعدی قبلی کنونی فعلی ابتدایی نهایی عادی "
     "معمولی واقعی باستانی تحصیلی درسی ریاضی آموزشی ورزشی زندگانی زمینی هوایی دریایی شهری روستایی خانگی فارسی انگلیسی "
     "عربی "
     "فرانسوی آلمانی روسی چینی امروزی شیمیایی فیزیکی قانونی حقوقی زخمی جنگی چوبی آهنی سنگی کاغذی ابری بارانی آفتابی "
     "خالی "},
    {MX_PERSIAN_LAST_YE,
     " تاکسی ورودی خروجی روزنامه‌نگاری حقیقی زندگی بازی سادگی "
     "موسیقی "
     "ماهی "
     "مربی "
     "گوشی "
     "چای "
     "رأی "
     "رای "
     "سبزی "
     "شادی "
     "دوستی "
     "آزادی "
     "زیبایی دارایی باتری نشانی مرخصی آلودگی "
     "بیماری نقاشی رانندگی کودکی تاریکی روشنایی دشمنی همکاری برتری قهرمانی بستنی صندلی کشتی قاضی شاکی کرسی "
     "معماری فناوری آشپزی خیاطی مهربانی دانایی توانایی نادانی سلامتی زیبایی "
     "تازگی "
     "خستگی شهرداری فرمانداری استانداری نخست‌وزیری ریاست‌جمهوری "
     "جدایی "
     "تنهایی "
     "رسیدگی "
     "ایستادگی "
     "آمادگی "
     "وابستگی "
     "همسایگی خانوادگی نمایندگی بی‌کاری بیکاری طولانی تلفنی ایمنی "
     "قاضی "
     "مشتری "
     "بخاری "
     "شوخی "
     "پیروزی "
     "نگرانی "
     "آشنایی "
     "راهنمایی وحشی "
     "پری نی شیمی قوطی طوطی گاری سینی معنی لیلی "},
    {MX_PERSIAN_ACTION,
     " کار تصمیم صحبت نگاه فکر بازی زندگی درس استفاده کمک شروع آغاز پایان ادامه تمام حرکت پرواز سفر خرید فروش کوچ رشد "
     "تغییر "
     "افزایش کاهش اعلام بررسی تصویب منتشر اضافه مخلوط تنظیم ذخیره شارژ سرخ باز بسته خاموش روشن پاک پر خالی آماده "
     "مراقبت "
     "مصاحبه سخنرانی تشکر شکایت اعتراض موافقت مخالفت پرداخت دریافت امضا استخدام لغو احضار ثبت مهاجرت تقویت مطرح برگزار "
     "برپا "
     "افتتاح خبر نشان دست گوش جواب پاسخ سؤال سوال اجازه قول دستور پیشنهاد فشار طول راه سر پیدا گم جشن گریه خنده لبخند "
     "پارس "
     "فریاد داد آواز رقص شنا ورزش تمرین استراحت درد سرد گرم شکست پیروز بخش آتش چادر پر تکان توضیح آموزش یاد فراموش "
     "دوست "
     "عوض ویران آزاد زخمی بیدار حل چاپ ترجمه تکرار قطع وصل حمل نصب حذف کشف اختراع طرح رأی حمله دفاع رنگ گوش نماز دعا "
     "شکر "
     "مهر عجله تلاش سعی عادت ازدواج طلاق دعوت قبول رد نابود غرق سوار پیاده وارد خارج پاره جمع تقسیم ضرب واقع جاری صادر "
     "جایزه خواب پست سبک خوب نامه چای غذا نان میوه آب روزه قسم امتحان نقش نیاز احتیاج علاقه اعتماد وجود قرار تأیید "
     "تایید توصیه سفارش جریمه حمایت پوست خرد ترک رها متوقف محدود محکوم متهم دستگیر بازداشت تعطیل قفل انجام اجرا ارائه "
     "ارسال انتخاب معرفی منتقل جبران تهدید تحریم محاصره آزمایش مشاهده مقایسه محاسبه تهیه تولید ساخت مصرف صادر وضع "
     "اشاره ابراز بیان پیش‌بینی احساس درک لمس بغل بوس صدا پرتاب "
     "شلیک "
     "بیمه "
     "ضبط "
     "پخش "
     "نقل "
     "اثبات "
     "رعایت "
     "حفظ "
     "غلبه "
     "مطالعه "
     "تدریس تحصیل "},
    {MX_PERSIAN_PERSON,
     " سرباز پلیس آشپز باغبان کارگر فروشنده پیرمرد پیرزن خبرنگار دکتر پزشک پرستار معلم دانشجو "
     "دانش‌آموز شکارچی خلبان "
     "کشاورز ماهیگیر قاضی وکیل مهندس نویسنده شاعر خواننده بازیگر نقاش داور مربی "
     "دروازه‌بان "
     "دونده "
     "چوپان پادشاه شاه ملکه "
     "کودک بچه مرد زن پسرک دخترک مأمور مامور خریدار فروشنده روباه کلاغ خرگوش شیر گرگ سگ گربه اسب "
     "کبوتر دولت مجلس دادگاه "
     "قهرمان مسافر استاد رئیس‌جمهور مادربزرگ پدربزرگ مادر پدر "
     "خواهر "
     "برادر "
     "سیل "
     "سیلاب "
     "زلزله "
     "طوفان "
     "باران باد آتش "},
    {MX_PERSIAN_NAME,
     " علی رضا مریم محمد حسین حسن فاطمه زهرا سارا مینا مهدی امیر احمد محمود ناصر کامران بابک آرش کاوه رستم سهراب نرگس "
     "لیلا شیرین فرهاد مجید سعید حمید رحیم کریم جواد هادی تهران اصفهان شیراز تبریز مشهد اهواز رشت قم کرمان یزد ایران "
     "عراق "
     "ترکیه آلمان فرانسه ژاپن چین روسیه آمریکا اروپا آسیا آفریقا اینشتین کارون دماوند "
     "زاینده‌رود "},
    {MX_PERSIAN_MEASURE | MX_PERSIAN_TIME, " روز شب هفته ماه سال ساعت دقیقه ثانیه قرن بار صبح عصر وقت لحظه "},
    {MX_PERSIAN_MEASURE, " لیوان قاشق کیلو عدد نفر دانه شاخه قرص تا جلد فنجان متر گرم لیتر بسته تکه برگ درجه کیلومتر "
                         "سانتی‌متر "
                         "تن تومان ریال دلار یورو هزار میلیون میلیارد درصد مرتبه دفعه جفت رأس "},
    {MX_PERSIAN_COUNTED, " سال ساعت شماره صفحه فصل طبقه قرن کلاس خط عدد درس ماده بند کانال نسخه پلاک "},
    {MX_PERSIAN_BODY,
     " کشور دانشگاه کارخانه منطقه تیم شرکت مجلس شهر روستا مدرسه اداره بانک دولت جهان ایران تهران بیمارستان "
     "مسابقه کلاس سال روزنامه بخش "},
    {MX_PERSIAN_VERB | MX_PERSIAN_COPULA,
     " است نیست هست بود نبود شد نشد شود نشود باشد نباشد هستم هستی هستیم هستید هستند نیستم نیستی نیستیم نیستید نیستند "
     "بودم "
     "بودی بودیم بودید بودند نبودم نبودند شدم شدی شدیم شدید شدند نشدند شوند شوم شده "
     "شده‌است "
     "شده‌اند "
     "بوده "
     "باشم "
     "باشی "
     "باشیم باشید "
     "باشند باش نباش نباشید می" ZWNJ "شود می" ZWNJ "شوند نمی" ZWNJ "شود می" ZWNJ "شد می" ZWNJ "شدند مانده ماند "},
    {MX_PERSIAN_VERB,
     " خواهم خواهی خواهد خواهیم خواهید خواهند نخواهد نخواهند دارم داری دارد داریم دارید دارند ندارم ندارد ندارند "
     "داشت داشتم داشتند نداشت کند کنم کنی کنیم کنید کنند کن نکن نکنید نکند بده بدهید دهد دهند دهم دهید "
     "یافت یافتند بزنید بزن بخر برو بیا بیاید بروید بگو بگویید بخور بخورید بخورد بریزید ببندید ببند بکشید "
     "بپوش بنویس بنویسید بشویید بمانید بمالید ببارد بیاورید بفرست بفرستید بخوان بخوانید ببین ببینید "
     "بردار بردارید بگیر بگیرید بگذار بگذارید بنشین بنشینید بایست ایستاد می" ZWNJ "باشد باد "},
};

/* Past stems; with endings they are verbs, with he participles. */
static const char ambiguous[] =
    " خرید ساخت شکست برد برداشت پرداخت نشست بست کند کشت مرد پخت گشت گذشت سوخت شناخت یافت خواند سرود "
    "دوخت خورد پرید ";
static const char past[] = " کرد گفت رفت آمد داد زد گرفت خورد دید شنید خواند نوشت ساخت خرید فروخت برد آورد گذاشت "
                           "برداشت نشست ایستاد خوابید دوید "
                           "افتاد شکست بست کشید ریخت پرسید رسید ماند خواست توانست دانست شناخت فهمید یافت بخشید لرزاند "
                           "کند کشت مرد سوخت پخت شست "
                           "پوشید دوخت انداخت پرداخت فرستاد برگشت گذشت پیچید بارید تابید وزید خندید ترسید گریخت چید "
                           "سپرد آموخت آویخت بود شد داشت "
                           "نهاد سرود ستود آفرید پذیرفت گشت رویید لغزید پرید جهید چرخید ";
/* Present stems; with ب or ن before them and endings after them they are verbs. */
static const char present[] =
    " کن کش ریز بند نویس خوان گیر گذار خر فروش رو گو گوی بین ده زن خور پز شوی مال پوش دار ساز شکن بر آور "
    "انداز فرست خواه توان دان شناس نشین ایست خواب دو ترس پرس رس مان کوب چین بخش بار تاب لرز چرخان پرداز "
    "شو گرد باز کار سوز دوز شنو فهم پذیر خند ";
static const char *const present_endings[] = {"م", "ی", "د", "یم", "ید", "ند"};
static const char *const perfect[] = {"ه" ZWNJ "ام", "ه" ZWNJ "ای", "ه" ZWNJ "ایم", "ه" ZWNJ "اید", "ه" ZWNJ "اند"};
static const char *const endings[] = {"", "م", "ی", "یم", "ید", "ند"};

bool mx_persian_listed(const char *list, const char *word, size_t length)
{
    char wanted[WORD_MOST + 3];
    if (length == 0 || length > WORD_MOST) return false;
    wanted[0] = ' ';
    memcpy(wanted + 1, word, length);
    wanted[length + 1] = ' ';
    wanted[length + 2] = 0;
    return strstr(list, wanted) != NULL;
}

/* Whether the word ends so, with something before it. */
static bool ends(const char *word, size_t length, const char *ending)
{
    const size_t bytes = strlen(ending);
    return length > bytes && !memcmp(word + length - bytes, ending, bytes);
}

static bool begins(const char *word, size_t length, const char *beginning)
{
    const size_t bytes = strlen(beginning);
    return length > bytes && !memcmp(word, beginning, bytes);
}

static uint32_t verb_kinds(const char *word, size_t length)
{
    if (begins(word, length, "می" ZWNJ) || begins(word, length, "نمی" ZWNJ)) return MX_PERSIAN_VERB;
    if (begins(word, length, "نیا") || begins(word, length, "بیا")) { /* نیامد */
        char long_alef[WORD_MOST + 1] = "آ";
        if (length - 6 + 2 > WORD_MOST) return 0;
        memcpy(long_alef + 2, word + 6, length - 6);
        return verb_kinds(long_alef, length - 4);
    }
    for (size_t i = 0; i < sizeof perfect / sizeof *perfect; i++)
        if (ends(word, length, perfect[i])) /* رفته‌ام */
            return mx_persian_listed(past, word, length - strlen(perfect[i])) ? MX_PERSIAN_VERB : 0;
    for (size_t i = 0; i < sizeof present_endings / sizeof *present_endings && length > 4; i++)
        if ((begins(word, length, "ب") || begins(word, length, "ن")) &&
            ends(word + 2, length - 2, present_endings[i]) &&
            mx_persian_listed(present, word + 2, length - 2 - strlen(present_endings[i])))
            return MX_PERSIAN_VERB; /* بکنید */
    for (int negative = 0; negative < 2; negative++) {
        if (negative && !begins(word, length, "ن")) break;
        const char *const stem = word + 2 * negative;
        const size_t bytes = length - 2 * (size_t)negative;
        if (ends(stem, bytes, "ه") && mx_persian_listed(past, stem, bytes - 2)) return MX_PERSIAN_PART;
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            if (i > 0 && !ends(stem, bytes, endings[i])) continue;
            if (mx_persian_listed(past, stem, bytes - strlen(endings[i])))
                return i == 0 && !negative && mx_persian_listed(ambiguous, stem, bytes) ? MX_PERSIAN_PAST
                                                                                        : MX_PERSIAN_VERB;
        }
    }
    return 0;
}

static uint32_t listed_kinds(const char *word, size_t length)
{
    uint32_t kinds = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (mx_persian_listed(lists[i].words, word, length)) kinds |= lists[i].kinds;
    return kinds;
}

/* Endings that a word of its own may have, too. */
static uint32_t ending_kinds(const char *word, size_t length)
{
    static const char *const owned[] = {ZWNJ "ام",  ZWNJ "ات", ZWNJ "اش", ZWNJ "مان", ZWNJ "تان",
                                        ZWNJ "شان", "هایم",    "هایت",    "هایش"};
    static const char *const abstract[] = {"گی",    "شناسی", "سازی",  "کاری", "گذاری", "رسانی", "ریزی", "بندی",
                                           "نویسی", "خوانی", "پذیری", "مندی", "شویی",  "فروشی", "داری", "گیری"};
    static const char *const nouns = " کتاب پدر مادر خواهر برادر دوست خانه دست چشم دل پسر دختر کار نام شهر مدرسه اتاق "
                                     "ماشین حال حرف راه زن شوهر همسر عمو "
                                     "منتظر کیف لباس کفش پول فکر خواب درس صدا قلب روح جان همسایه معلم استاد ";
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (ends(word, length, owned[i])) return MX_PERSIAN_OWNED;
    if ((ends(word, length, "م") || ends(word, length, "ت") || ends(word, length, "ش")) &&
        mx_persian_listed(nouns, word, length - 2))
        return MX_PERSIAN_OWNED;
    const uint32_t adjective = MX_PERSIAN_ADJECTIVE;
    if (ends(word, length, ZWNJ "ای")) return MX_PERSIAN_INDEFINITE | (listed_kinds(word, length - 7) & adjective);
    if (ends(word, length, "ای") || ends(word, length, "وی") || ends(word, length, "ا") || ends(word, length, ZWNJ "ی"))
        return MX_PERSIAN_WRITTEN;
    if (ends(word, length, "ترین")) return MX_PERSIAN_POINTER; /* it stands before its noun */
    if (ends(word, length, "تر")) return MX_PERSIAN_ADJECTIVE;
    for (size_t i = 0; i < sizeof abstract / sizeof *abstract; i++)
        if (ends(word, length, abstract[i])) return MX_PERSIAN_LAST_YE;
    if (ends(word, length, "یی") && (listed_kinds(word, length - 4) & adjective))
        return MX_PERSIAN_INDEFINITE | adjective;
    return ends(word, length, "ی") ? MX_PERSIAN_INDEFINITE | (listed_kinds(word, length - 2) & adjective) : 0;
}

uint32_t mx_persian_kinds(const char *word, size_t length)
{
    uint32_t kinds = listed_kinds(word, length);
    if ((kinds & (MX_PERSIAN_STOP | MX_PERSIAN_PRONOUN | MX_PERSIAN_VERB | MX_PERSIAN_NOUN)) == 0)
        kinds |= verb_kinds(word, length);
    if (kinds == 0 || kinds == MX_PERSIAN_LINK) kinds |= ending_kinds(word, length);
    if (ends(word, length, "و") && !mx_persian_listed(" عضو گاو سرو نحو لغو محو جزو عفو ", word, length))
        kinds |= MX_PERSIAN_WRITTEN;
    if (ends(word, length, "ا") && (kinds & MX_PERSIAN_STOP) == 0) kinds |= MX_PERSIAN_WRITTEN;
    if ((kinds & MX_PERSIAN_PERSON) == 0 && (ends(word, length, "ندگان") || ends(word, length, "ان" ZWNJ "شان")))
        kinds |= MX_PERSIAN_PERSON;
    return kinds;
}
