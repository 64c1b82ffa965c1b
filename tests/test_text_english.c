/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The English cleaner: written text and what is said, then languages, detection, and input that is not text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "support/cleaner.h"
#include "text/text.h"

/* clang-format off: one case per line */
static const struct cleaner_case cases[] = {
    {"0", "zero"},
    {"7", "seven"},
    {"13", "thirteen"},
    {"42", "forty-two"},
    {"100", "one hundred"},
    {"123", "one hundred twenty-three"},
    {"1,234", "one thousand two hundred thirty-four"},
    {"1000000", "one million"},
    {"1,000,000", "one million"},
    {"999999999999999", "nine hundred ninety-nine trillion nine hundred ninety-nine billion nine hundred ninety-nine "
                        "million nine hundred ninety-nine thousand nine hundred ninety-nine"},
    {"1000000000000000", "one quadrillion"},
    {"12345678901234567890",
     "one two three four five six seven eight nine zero one two three four five six seven eight nine zero"},
    {"3.14", "three point one four"},
    {"0.5", "zero point five"},
    {".5", "point five"},
    {"-5", "minus five"},
    {"-3.2", "minus three point two"},
    {"−40", "minus forty"},
    {"007", "zero zero seven"},
    {"1st", "first"},
    {"2nd 3rd 4th", "second third fourth"},
    {"22nd", "twenty-second"},
    {"101st", "one hundred first"},
    {"12th", "twelfth"},
    {"1,000th", "one thousandth"},
    {"nine 10ths", "nine tenths"},
    {"1984", "nineteen eighty-four"},
    {"2005", "two thousand five"},
    {"2000", "two thousand"},
    {"1900", "nineteen hundred"},
    {"1905", "nineteen oh five"},
    {"2010", "twenty ten"},
    {"2024", "twenty twenty-four"},
    {"1066", "one thousand sixty-six"},
    {"in 1066", "in ten sixty-six"},
    {"1900s", "nineteen hundreds"},
    {"1990s", "nineteen nineties"},
    {"the '90s", "the nineties"},
    {"the 80s", "the eighties"},
    {"2010s", "twenty tens"},
    {"1939-1945", "nineteen thirty-nine to nineteen forty-five"},
    {"$3.50", "three dollars and fifty cents"},
    {"$1", "one dollar"},
    {"$0.99", "ninety-nine cents"},
    {"$1.01", "one dollar and one cent"},
    {"£5", "five pounds"},
    {"£2.20", "two pounds and twenty pence"},
    {"€10", "ten euros"},
    {"¥500", "five hundred yen"},
    {"$2 million", "two million dollars"},
    {"$2.5 billion", "two point five billion dollars"},
    {"$5k", "five thousand dollars"},
    {"$1,234.56", "one thousand two hundred thirty-four dollars and fifty-six cents"},
    {"5 dollars", "five dollars"},
    {"-$5", "minus five dollars"},
    {"$5-$10", "five dollars to ten dollars"},
    {"50¢", "fifty cents"},
    {"Jan. 3, 1999", "january third, nineteen ninety-nine"},
    {"January 3rd, 1999", "january third, nineteen ninety-nine"},
    {"March 2020", "march twenty twenty"},
    {"3 March 2020", "the third of march twenty twenty"},
    {"the 4th of July", "the fourth of july"},
    {"1999-01-03", "january third, nineteen ninety-nine"},
    {"12/25/1999", "december twenty-fifth, nineteen ninety-nine"},
    {"25/12/99", "december twenty-fifth, nineteen ninety-nine"},
    {"Dec 25", "december twenty-fifth"},
    {"May I go?", "may i go?"},
    {"May 5", "may fifth"},
    {"Sept. 11", "september eleventh"},
    {"It was Jan. when we met.", "it was january when we met."},
    {"5:30 pm", "five thirty p m"},
    {"17:05", "seventeen oh five"},
    {"5:00", "five o'clock"},
    {"5:00 PM", "five p m"},
    {"12:00", "twelve o'clock"},
    {"17:00", "seventeen hundred"},
    {"9:05 a.m.", "nine oh five ay m."},
    {"at 5 p.m. Monday", "at five p m monday"},
    {"at 5 p.m. He left.", "at five p m. he left."},
    {"1:02:03", "one oh two and three seconds"},
    {"3:1", "three to one"},
    {"50%", "fifty percent"},
    {"3.5 %", "three point five percent"},
    {"100 percent", "one hundred percent"},
    {"1/2", "one half"},
    {"3/4", "three quarters"},
    {"1/3", "one third"},
    {"2/3", "two thirds"},
    {"3 1/2", "three and a half"},
    {"3½", "three and a half"},
    {"5/8", "five eighths"},
    {"24/7", "twenty-four seven"},
    {"1/100", "one one hundredth"},
    {"5 km", "five kilometers"},
    {"1 km", "one kilometer"},
    {"10 kg", "ten kilograms"},
    {"3 °C", "three degrees celsius"},
    {"-5°C", "minus five degrees celsius"},
    {"90°", "ninety degrees"},
    {"60 mph", "sixty miles per hour"},
    {"100 km/h", "one hundred kilometers per hour"},
    {"5 m²", "five square meters"},
    {"2.5 GHz", "two point five gigahertz"},
    {"16 GB", "sixteen gigabytes"},
    {"6 ft", "six feet"},
    {"Mr. Smith", "mister smith"},
    {"Mrs. Jones and Ms. Lee", "missus jones and miz lee"},
    {"Mr Smith", "mister smith"},
    {"Dr. Brown", "doctor brown"},
    {"St. John", "saint john"},
    {"Baker St.", "baker street."},
    {"He lives on Baker St. He is old.", "he lives on baker street. he is old."},
    {"etc.", "et cetera."},
    {"apples, etc., and pears", "apples, et cetera, and pears"},
    {"e.g. this", "for example this"},
    {"i.e. that", "that is that"},
    {"cats vs. dogs", "cats versus dogs"},
    {"No. 5", "number five"},
    {"He said no.", "he said no."},
    {"tobacco.", "tobacco."},
    {"Tobacco. More tobacco.", "tobacco. more tobacco."},
    {"Acme Inc.", "acme incorporated."},
    {"Prof. X", "professor x"},
    {"John Smith Jr.", "john smith junior."},
    {"NASA", "nasa"},
    {"U.S.A.", "u s ay."},
    {"FBI", "f b i"},
    {"the FBI's agents", "the f b i's agents"},
    {"USA today", "u s ay today"},
    {"CDs", "c d's"},
    {"the U.S. Army", "the u s army"},
    {"UNESCO", "unesco"},
    {"TV", "t v"},
    {"the CIA and the BBC", "the c i ay and the b b c"},
    {"IBM", "i b m"},
    {"HTML", "h t m l"},
    {"PLEASE GIVE IT TO US NOW", "please give it to us now"},
    {"Ph.D.", "p h d."},
    {"AT&T", "ay t and t"},
    {"R&D", "r and d"},
    {"Henry VIII", "henry the eighth"},
    {"Elizabeth I was queen", "elizabeth the first was queen"},
    {"Chapter IV", "chapter four"},
    {"World War II", "world war two"},
    {"Louis XIV", "louis the fourteenth"},
    {"Malcolm X", "malcolm x"},
    {"555-1234", "five five five, one two three four"},
    {"(555) 123-4567", "five five five, one two three, four five six seven"},
    {"555-123-4567", "five five five, one two three, four five six seven"},
    {"+1 555 123 4567", "plus one, five five five, one two three, four five six seven"},
    {"1-800-555-0199", "one, eight zero zero, five five five, zero one nine nine"},
    {"+44 20 7946 0958", "plus four four, two zero, seven nine four six, zero nine five eight"},
    {"rock & roll", "rock and roll"},
    {"user@example.com", "user at example dot com"},
    {"#5", "number five"},
    {"#winning", "hashtag winning"},
    {"“Hello,” she said.", "hello, she said."},
    {"it’s", "it's"},
    {"don't", "don't"},
    {"dogs'", "dogs"},
    {"'tis", "tis"},
    {"rock 'n' roll", "rock and roll"},
    {"wait—what?", "wait - what?"},
    {"well - no", "well - no"},
    {"mother-in-law", "mother-in-law"},
    {"20-year-old", "twenty-year-old"},
    {"COVID-19", "covid nineteen"},
    {"MP3", "m p three"},
    {"A4 paper", "ay four paper"},
    {"F-16", "f sixteen"},
    {"B2B", "b two b"},
    {"What?!", "what?"},
    {"Wow!!!", "wow!"},
    {"Hmm...", "hmm."},
    {"Wait…", "wait."},
    {"a , b", "a, b"},
    {"(aside) text (more).", "aside, text, more."},
    {"[note]", "note"},
    {"https://www.example.com/path", "w w w dot example dot com slash path"},
    {"version 1.2.3", "version one point two point three"},
    {"and/or", "and or"},
    {"he/she", "he slash she"},
    {"J. R. R. Tolkien", "j r r tolkien"},
    {"J.R.R. Tolkien", "j r r tolkien"},
    {"2 + 2 = 4", "two plus two equals four"},
    {"5 × 3", "five times three"},
    {"naïve café", "naïve café"},
    {"Ünïcödé", "ünïcödé"},
    {"😀 smile", "smile"},
    {"...", ""},
    {"I", "i"},
    {"I am A. J. Smith.", "i am ay j smith."},
    {"Plan B.", "plan b."},
    {"a.m.", "ay m."},
    {"pp. 3-5", "pages three to five"},
    {"Vol. 2", "volume two"},
    {"the 1st of May, 2001", "the first of may, two thousand one"},
    {"on the 3rd March", "on the third of march"},
    {"10-15", "ten to fifteen"},
    {"$10-15", "ten dollars to fifteen"},
    {"10%-20%", "ten percent to twenty percent"},
    {"1,2,3", "one, two, three"},
    {"1.", "one."},
    {"He is 5. She is 6.", "he is five. she is six."},
    {"5,000 people", "five thousand people"},
    {"100,000,000,000", "one hundred billion"},
    {"10 m", "ten meters"},
    {"ﬁne", "fine"},
    {"Ａ１", "ay one"},
    {"Dr. and Mrs. Smith", "doctor and missus smith"},
    {"Mr. & Mrs. Smith", "mister and missus smith"},
    {"Call 555-1234 at 5:30 p.m.", "call five five five, one two three four at five thirty p m."},
    {"The U.S. spent $2.5 million on Jan. 3, 1999.",
     "the u s spent two point five million dollars on january third, nineteen ninety-nine."},
    {"The meeting is on Friday, May 5, 2023, at 10:15 a.m. in Room 12.",
     "the meeting is on friday, may fifth, twenty twenty-three, at ten fifteen ay m in room twelve."},
    {"She was born on 4 July 1976 in St. Louis.",
     "she was born on the fourth of july nineteen seventy-six in saint louis."},
    {"He scored 9.75 out of 10.", "he scored nine point seven five out of ten."},
    {"Only 1/3 of the 3,500 voters came.", "only one third of the three thousand five hundred voters came."},
    {"It costs £1.", "it costs one pound."},
    {"A 10% tip on $20 is $2.", "a ten percent tip on twenty dollars is two dollars."},
    {"Dr. Smith works at NASA, not the FBI.", "doctor smith works at nasa, not the f b i."},
    {"He owes me five bucks!!", "he owes me five bucks!"},
    {"Are you sure?\?", "are you sure?"},
    {"\"Stop!\" he cried.", "stop! he cried."},
    {"Is 2 > 1?", "is two greater than one?"},
    {"The temperature fell to -12 °F.", "the temperature fell to minus twelve degrees fahrenheit."},
    {"His Ph.D. thesis, vol. 2, p. 17, cites Brown et al.",
     "his p h d thesis, volume two, page seventeen, cites brown et al."},
    {"It weighs 1.5 lbs.", "it weighs one point five pounds."},
    {"I saw it in the 2nd half.", "i saw it in the second half."},
    {"Queen Elizabeth II opened Parliament.", "queen elizabeth the second opened parliament."},
    {"In part I agree with you.", "in part i agree with you."},
    {"MR. SMITH WENT TO WASHINGTON", "mister smith went to washington"},
    {"The BBC's news at 18:00", "the b b c's news at eighteen hundred"},
    {"the year 2000", "the year two thousand"},
    {"between 1990 and 1999", "between nineteen ninety and nineteen ninety-nine"},
    {"from 10 to 20", "from ten to twenty"},
    {"1,000,001", "one million one"},
    {"No, I don't.", "no, i don't."},
    {"Ave Maria", "ave maria"},
    {"He lives at 12 Oak Ave.", "he lives at twelve oak avenue."},
    {"Fifth Ave. is long.", "fifth avenue is long."},
    {"Co. policy", "company policy"},
    {"Smith & Co. is closed.", "smith and company is closed."},
    {"Gen. Lee and Col. Mustard", "general lee and colonel mustard"},
    {"a general", "a general"},
    {"Lt. Dan", "lieutenant dan"},
    {"Nov. is cold", "november is cold"},
    {"2.5 m", "two point five meters"},
    {"12 MHz", "twelve megahertz"},
    {"5 ms", "five milliseconds"},
    {"100 W", "one hundred watts"},
    {"220 V", "two hundred twenty volts"},
    {"1 lb", "one pound"},
    {"1 °C", "one degree celsius"},
    {"3 h", "three hours"},
    {"45 min", "forty-five minutes"},
    {"USD", "u s d"},
    {"100 USD", "one hundred u s dollars"},
    {"€2.50", "two euros and fifty cents"},
    {"£0.01", "one penny"},
    {"$1 billion", "one billion dollars"},
    {"$0", "zero dollars"},
    {"$0.00", "zero dollars"},
    {"$100k", "one hundred thousand dollars"},
    {"$3.5", "three point five dollars"},
    {"30 June", "the thirtieth of june"},
    {"June 30th", "june thirtieth"},
    {"1/1/2000", "january first, two thousand"},
    {"1999/12/31", "december thirty-first, nineteen ninety-nine"},
    {"13:45:09", "thirteen forty-five and nine seconds"},
    {"24:00", "twenty-four hundred"},
    {"7 pm", "seven p m"},
    {"12am", "twelve ay m"},
    {"noon", "noon"},
    {"100%", "one hundred percent"},
    {".25", "point two five"},
    {"-0.5", "minus zero point five"},
    {"+5", "plus five"},
    {"(5)", "five"},
    {"10th", "tenth"},
    {"11th", "eleventh"},
    {"13th", "thirteenth"},
    {"20th", "twentieth"},
    {"30th", "thirtieth"},
    {"100th", "one hundredth"},
    {"1000th", "one thousandth"},
    {"112th", "one hundred twelfth"},
    {"www.test.org", "w w w dot test dot org"},
    {"C#", "c hash"},
    {"etc", "et cetera"},
    {"Hello   world", "hello world"},
    {"tab\tand space", "tab and space"},
};
/* clang-format on */

static void test_cases(void **state)
{
    (void)state;
    cleaner_says(MX_LANGUAGE_EN, 2, cases, sizeof cases / sizeof *cases);
}

static void test_stable(void **state)
{
    (void)state;
    cleaner_is_stable(MX_LANGUAGE_EN, 2, cases, sizeof cases / sizeof *cases);
}

static void test_languages(void **state)
{
    (void)state;
    enum mx_language_id language;
    assert_int_equal(mx_language_parse("en", &language), 0);
    assert_int_equal(language, MX_LANGUAGE_EN);
    assert_int_equal(mx_language_parse("Persian", &language), 0);
    assert_int_equal(language, MX_LANGUAGE_FA);
    assert_string_equal(mx_language_get(MX_LANGUAGE_FA)->code, "fa");
    assert_string_equal(mx_language_get(MX_LANGUAGE_EN)->voice, "en-us");
    assert_int_equal(mx_language_get(MX_LANGUAGE_FA)->script->direction, MX_DIRECTION_RIGHT_TO_LEFT);
    assert_int_equal(mx_language_parse("xx", &language), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->message, "'xx'"));
    assert_non_null(strstr(mx_error_last()->hint, "en (English), fa (Persian)"));
}

static enum mx_language_id detect(const char *text)
{
    enum mx_language_id language = MX_LANGUAGE_COUNT;
    assert_int_equal(mx_text_detect(text, strlen(text), &language), 0);
    return language;
}

static void test_detect(void **state)
{
    (void)state;
    enum mx_language_id language;
    assert_int_equal(detect("Hello"), MX_LANGUAGE_EN);
    assert_int_equal(detect("سلام"), MX_LANGUAGE_FA);
    assert_int_equal(detect("ﻛﺘﺎﺏ"), MX_LANGUAGE_FA);
    assert_int_equal(detect("گوگل Google است و خوب است"), MX_LANGUAGE_FA);
    assert_int_equal(detect("The word سلام means hello"), MX_LANGUAGE_EN);
    assert_int_equal(detect("۱۲۳"), MX_LANGUAGE_FA);
    assert_int_equal(detect("123"), MX_LANGUAGE_EN);
    assert_int_equal(mx_text_detect("!?", 2, &language), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->hint, "--language"));
    assert_int_equal(mx_text_detect("", 0, &language), MX_ERR_DATA);
    assert_int_equal(mx_text_detect("ab\xff", 3, &language), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "byte 2"));
}

static void test_not_text(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *message;
    } bad[] = {{"abc\xff", 4, "invalid UTF-8 at byte 3 (0xFF)"},   {"\xc3", 1, "invalid UTF-8 at byte 0"},
               {"a\xed\xa0\x80", 4, "invalid UTF-8 at byte 1"},    {"\xc0\xaf", 2, "invalid UTF-8 at byte 0"},
               {"\xf4\x90\x80\x80", 4, "invalid UTF-8 at byte 0"}, {"ab\0cd", 5, "zero byte in the text at byte 2"}};
    struct mx_arena arena;
    char *spoken;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(mx_text_normalise(MX_LANGUAGE_EN, bad[i].bytes, bad[i].length, &arena, &spoken, NULL),
                         MX_ERR_DATA);
        assert_null(spoken);
        assert_non_null(strstr(mx_error_last()->message, bad[i].message));
        assert_string_not_equal(mx_error_last()->hint, "");
    }
    assert_int_equal(mx_text_normalise(MX_LANGUAGE_COUNT, "a", 1, &arena, &spoken, NULL), MX_ERR_ARGUMENT);
    mx_arena_release(&arena);
}

static void test_report(void **state)
{
    (void)state;
    const struct mx_text_report counts = {
        .controls_dropped = 5, .symbols_dropped = 3, .foreign_letters = 4, .numbers_read = 2};
    cleaner_reports(MX_LANGUAGE_EN,
                    "\xef\xbb\xbf"
                    "a\x01"
                    "b\x7f c\u200b d\u200c e ⌘ ⎈ \u0301 سلام 5 km, Jan. 3",
                    "ab c d e سلام five kilometers, January third", &counts);
}

static void test_prefixes(void **state)
{
    (void)state;
    cleaner_takes_prefixes(MX_LANGUAGE_EN, cases, sizeof cases / sizeof *cases);
}

static void test_no_memory(void **state)
{
    (void)state;
    cleaner_without_memory(MX_LANGUAGE_EN, "On Jan. 3, 1999 Dr. Smith paid $3.50 for 5 km of rope at the FBI.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),    cmocka_unit_test(test_stable),    cmocka_unit_test(test_languages),
        cmocka_unit_test(test_detect),   cmocka_unit_test(test_not_text),  cmocka_unit_test(test_report),
        cmocka_unit_test(test_prefixes), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
