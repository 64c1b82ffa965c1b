/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Persian words of the page of flags and settings, see reference.h. A new command or section of the settings has a line
 * in mx_reference_persian; without one its English summary is shown. Owns no memory.
 */
#include "cli/reference.h"

#include <string.h>

/* clang-format 14 breaks lines of Persian words at odd places, and not twice at the same. */
/* clang-format off */

const struct mx_reference_words mx_reference_words_persian = {
    .title = "همهٔ دستورها، گزینه‌ها و تنظیم‌ها",
    .intro =
        "این صفحه را `make docs` از روی جدول‌های خود برنامه می‌نویسد؛ توضیح گزینه‌ها و کلیدها همان جمله‌های انگلیسی "
        "است که `myxtts COMMAND --help` و `myxtts config` نشان می‌دهند، تا هر دو همیشه یکی باشند. گزینه‌های بلند "
        "کامل نوشته می‌شوند، به شکل ‎`--name value` یا ‎`--name=value`؛ گزینه‌ها و آرگومان‌های دیگر می‌توانند قاطی "
        "باشند و ‎`--`‎ پایان گزینه‌هاست.",
    .commands = "دستورها",
    .command_column = "دستور",
    .effect_column = "کار آن",
    .usage = "شکل کلی:",
    .flag_columns = "| flag | default | meaning |\n|---|---|---|\n",
    .examples = "نمونه‌ها:",
    .globals = "گزینه‌های همهٔ دستورها",
    .globals_intro = "این گزینه‌ها می‌توانند پیش از نام دستور یا پس از آن بیایند.",
    .settings = "تنظیم‌ها",
    .settings_intro =
        "کلیدهای یک پروندهٔ YAML برای ‎`--config`؛ هر کدام را با ‎`--set SECTION.KEY=VALUE` هم می‌توان داد. در پرونده "
        "فقط کلیدهایی لازم‌اند که با پیش‌فرض فرق دارند؛ `myxtts config --output my.yaml` پرونده‌ای با همهٔ آن‌ها "
        "می‌نویسد. نام‌های پیشین هم فهمیده می‌شوند، با هشداری که نام کنونی را می‌گوید. کلیدی که نیست خطاست؛ شمارهٔ "
        "سطر و نزدیک‌ترین کلید درست هم گفته می‌شود.",
    .key_columns = "| key | default | takes | meaning |\n|---|---|---|---|\n",
    .answers = "کلیدهایی که فقط پاسخ دارند",
    .answers_intro =
        "آنچه این کلیدهای پرونده‌های پیشین می‌خواهند این‌جا همیشه برقرار است. مقداری که در جدول آمده پذیرفته می‌شود "
        "و گزارش می‌گوید چرا چیزی عوض نمی‌شود؛ هر مقدار دیگری با ذکر دلیل رد می‌شود.",
    .answer_columns = "| key | accepted | because |\n|---|---|---|\n",
    .variables = "متغیرهای محیطی",
    .variable_columns = "| variable | meaning |\n|---|---|\n",
    .exits = "کدهای خروج",
    .exit_columns = "| code | meaning |\n|---|---|\n",
};

const char *mx_reference_persian(const char *name)
{
    static const struct {
        const char *name, *words;
    } list[] = {
        {"check", "همهٔ سطرهای یک مجموعه را می‌خواند و می‌گوید کدام‌ها به کار نمی‌آیند و چرا."},
        {"completion", "کامل‌کنندهٔ فرمان برای bash یا zsh می‌نویسد."},
        {"config", "تنظیمات را وارسی می‌کند و نشان می‌دهد که در پایان چه می‌شوند."},
        {"corpus", "با یک گویندهٔ ساختگی مجموعه‌ای برای آزمایش می‌سازد."},
        {"devices", "دستگاه‌های این ماشین و چگونگی اتصالشان را نشان می‌دهد."},
        {"eval", "متن‌های یک مجموعه را می‌گوید و با ضبط‌های آن مقایسه می‌کند."},
        {"features", "آنچه را شبکه از یک ضبط می‌بیند نشان می‌دهد."},
        {"inspect", "درون یک نقطهٔ ذخیره را نشان می‌دهد."},
        {"monitor", "یک آموزش در حال اجرا یا تمام‌شده را در پایانه نشان می‌دهد."},
        {"plan", "می‌گوید آموزش روی چند ماشین چگونه پخش می‌شود."},
        {"prepare", "از یک مجموعه یک پروندهٔ فشرده می‌سازد که آموزش بی‌درنگ بازش می‌کند."},
        {"profile", "اندازه می‌گیرد که زمان آموزش کجا می‌رود و چه چیز آن را تغییر می‌دهد."},
        {"reference", "همین صفحه یا صفحهٔ راهنمای man را از روی جدول‌های برنامه می‌نویسد."},
        {"report", "گزارش یک آموزش را در یک صفحهٔ HTML می‌نویسد."},
        {"synth", "با یک صدای آموزش‌دیده متنی را می‌گوید."},
        {"train", "از روی ضبط‌ها یک صدا آموزش می‌دهد."},
        {"validate", "می‌آزماید که دستگاه‌ها، سقف‌ها، انتقال، خط لوله و آموزش این‌جا درست کار می‌کنند."},
        {"device", "دستگاه‌هایی که کار را انجام می‌دهند و سهم هر نقش از حافظهٔ آن‌ها."},
        {"pipeline", "دسته‌های داده چگونه به مدل می‌رسند: از کدام دستگاه‌ها و چند دسته هم‌زمان."},
        {"model", "خود شبکه."},
        {"data", "چیزهایی که از آن‌ها یاد می‌گیرد."},
        {"training", "چگونه یاد می‌گیرد."},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (strcmp(list[i].name, name) == 0) return list[i].words;
    return NULL;
}
