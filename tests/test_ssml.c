/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * SSML: what is read, how, with which pauses and warnings; what is refused, and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "speech/script.h"
#include "speech/ssml/ssml.h"
#include "text/say_as.h"
#include "text/text.h"

struct rig {
    struct mx_vocabulary *vocabulary;
    struct mx_speak_script_options options;
};

static struct mx_vocabulary *vocabulary_make(enum mx_tokens_mode mode)
{
    struct mx_vocabulary *vocabulary;
    assert_int_equal(mx_vocabulary_create(mode, &vocabulary), 0);
    for (uint32_t point = ' '; point < 0x700; point++)
        if (point < 0x7f || point >= 0xa0) /* espeak-ng says ɡ, never g */
            if (point != 'g' || mode == MX_TOKENS_CHARS) assert_int_equal(mx_vocabulary_add(vocabulary, &point, 1), 0);
    assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_EN), 0);
    assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_FA), 0);
    return vocabulary;
}

static int setup(void **state)
{
    static struct rig rig;
    rig.vocabulary = vocabulary_make(MX_TOKENS_CHARS);
    rig.options = MX_SPEAK_SCRIPT_OPTIONS_DEFAULT;
    rig.options.vocabulary = rig.vocabulary;
    rig.options.ssml = true;
    rig.options.voice_hz = 100;
    *state = &rig;
    return 0;
}

static int teardown(void **state)
{
    mx_vocabulary_destroy(((struct rig *)*state)->vocabulary);
    return 0;
}

/* The script as one line: "text {what is not usual} [pause]" for each item, then the warnings. */
static void show(struct mx_speak_script *script, struct mx_string *out)
{
    struct mx_speak_item item;
    int rc;
    while ((rc = mx_speak_script_next(script, &item)) > 0) {
        if (item.before_ms > 0) mx_string_append(out, "[%g] ", item.before_ms);
        mx_string_append(out, "%s", item.text);
        if (item.language != 0) mx_string_append(out, " {language %d}", (int)item.language);
        if (item.speed != 1) mx_string_append(out, " {speed %.4g}", item.speed);
        if (item.pitch_semitones != 0) mx_string_append(out, " {pitch %.4g}", item.pitch_semitones);
        if (item.volume != 1) mx_string_append(out, " {volume %.4g}", item.volume);
        if (item.speaker != NULL) mx_string_append(out, " {speaker %s}", item.speaker);
        mx_string_append(out, " [%.4g] ", item.pause_ms);
    }
    assert_int_equal(rc, 0);
    for (size_t i = 0; mx_speak_script_warning(script, i) != NULL; i++)
        mx_string_append(out, "! %s ", mx_speak_script_warning(script, i));
    if (out->length > 0) out->data[--out->length] = 0;
}

static void reads(const struct mx_speak_script_options *options, const char *ssml, const char *expected)
{
    struct mx_speak_script *script;
    struct mx_string shown = {0};
    if (mx_speak_script_open(options, ssml, strlen(ssml), &script) < 0)
        fail_msg("%s: %s", ssml, mx_error_last()->message);
    show(script, &shown);
    assert_string_equal(shown.length > 0 ? shown.data : "", expected);
    mx_string_release(&shown);
    mx_speak_script_close(script);
}

static void refuses(const struct mx_speak_script_options *options, const char *ssml, int code, const char *message)
{
    struct mx_speak_script *script;
    assert_int_equal(mx_speak_script_open(options, ssml, strlen(ssml), &script), code);
    assert_null(script);
    assert_string_equal(mx_error_last()->message, message);
    assert_true(mx_error_last()->hint[0] != 0);
}

/* ---- structure and pauses ---- */

static void structure(void **state)
{
    const struct mx_speak_script_options *const o = &((struct rig *)*state)->options;
    reads(o, "<speak>Hello, &lt;world&gt; &amp; all.  One\n\n two?</speak>",
          "Hello, world and all. [350] One two? [0]");
    reads(o, "<speak><p>One.</p><p>Two</p>three<p><s>Four</s><s>Five!</s> six</p></speak>",
          "One. [600] Two [600] three [600] Four [350] Five! [350] six [0]");
    reads(o, "<speak><paragraph><sentence>One</sentence><sentence>Two</sentence></paragraph></speak>",
          "One [350] Two [0]");
    reads(o, "<speak/>", "");
    /* Without its root. */
    reads(o, "", "");
    reads(o, "One <break time='1s'/> two.", "One [1000] two. [0]");
    reads(o, " <p>One</p> <!-- two --> <html>three</html>",
          "One [600] three [0] ! SSML that is not understood was skipped, its text is read: <html>");
    reads(o, "<speak> <p> </p> ... <s/> </speak>", "");
    reads(o,
          "<?xml version='1.0' encoding='utf-8'?><!DOCTYPE speak PUBLIC '-//W3C//DTD SYNTHESIS 1.0//EN' 'x.dtd'>"
          "<speak version='1.1' xmlns='http://www.w3.org/2001/10/synthesis'><!-- no --><metadata>No</metadata><w>Yes"
          "</w></speak>",
          "Yes [0]");
    reads(o, "<speak><![CDATA[a < b]]></speak>", "a less than b [0]");
}

static void breaks(void **state)
{
    struct mx_speak_script_options o = ((struct rig *)*state)->options;
    reads(&o, "<speak>One<break time='750ms'/>two. <break time='1.5s'/> Three<break time='0s'/>four</speak>",
          "One [750] two. [1500] Three [0] four [0]");
    reads(&o, "<speak><break time='1s'/>One<break time='100ms'/><break time='200ms'/>two<break time='2s'/></speak>",
          "[1000] One [300] two [2000]");
    reads(&o,
          "<speak>a<break/>b<break strength='none'/>c<break strength='x-weak'/>d<break strength='weak'/>e"
          "<break strength='strong'/>f<break strength='x-strong'/>g</speak>",
          "a [250] b [0] c [40] d [130] e [350] f [600] g [0]");
    reads(&o, "<speak><p>One.</p><break time='50ms'/><p>Two.</p></speak>", "One. [50] Two. [0]");
    reads(&o, "<speak>a<break time='9s'/><break time='9s'/>b<break time='long'/>c<break strength='odd'/>d</speak>",
          "a [1e+04] b [250] c [250] d [0] ! line 1: a break in milliseconds of 9000 is limited to 1000 "
          "! line 1: time of <break> cannot be 'long' and is skipped "
          "! line 1: strength of <break> cannot be 'odd' and is skipped");
    reads(&o, "<speak><break time='1s'/></speak>", "! there are no words, so no <break> is made");
    /* Milliseconds are those of the clock; strengths are usual pauses. */
    o.speed = 2;
    o.pause_scale = 3;
    reads(&o, "<speak>a<break time='200ms'/>b<break/>c. d</speak>",
          "a {speed 2} [200] b {speed 2} [375] c. {speed 2} [525] d {speed 2} [0]");
}

/* ---- prosody, voices, languages ---- */

static void prosody(void **state)
{
    struct mx_speak_script_options o = ((struct rig *)*state)->options;
    reads(&o,
          "<speak>Hello <prosody rate='slow' pitch='+2st'>dear <prosody rate='50%' volume='-6dB'>world</prosody>"
          "</prosody>. Next.</speak>",
          "Hello [40] dear {speed 0.75} {pitch 2} [53.33] world. {speed 0.375} {pitch 2} {volume 0.5012} [933.3] Next. "
          "[0]");
    static const struct {
        const char *attribute, *shown;
    } values[] = {
        {"rate='x-slow'", " {speed 0.5}"},      {"rate='medium'", ""},
        {"rate='fast'", " {speed 1.35}"},       {"rate='x-fast'", " {speed 2}"},
        {"rate='1.2'", " {speed 1.2}"},         {"rate='+20%'", " {speed 1.2}"},
        {"rate='-10%'", " {speed 0.9}"},        {"rate='default'", ""},
        {"pitch='x-low'", " {pitch -8}"},       {"pitch='low'", " {pitch -4}"},
        {"pitch='high'", " {pitch 4}"},         {"pitch='x-high'", " {pitch 8}"},
        {"pitch='-1.5st'", " {pitch -1.5}"},    {"pitch='+100%'", " {pitch 12}"},
        {"pitch='-50%'", " {pitch -12}"},       {"pitch='200Hz'", " {pitch 12}"},
        {"pitch='+100Hz'", " {pitch 12}"},      {"pitch='-50Hz'", " {pitch -12}"},
        {"volume='silent'", " {volume 0}"},     {"volume='x-soft'", " {volume 0.2512}"},
        {"volume='soft'", " {volume 0.5012}"},  {"volume='loud'", " {volume 1.413}"},
        {"volume='x-loud'", " {volume 1.995}"}, {"volume='50'", " {volume 0.5}"},
        {"volume='+10'", " {volume 1.1}"},      {"volume='-25%'", " {volume 0.75}"},
        {"volume='+6dB'", " {volume 1.995}"},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char ssml[128], expected[128];
        snprintf(ssml, sizeof ssml, "<speak><prosody %s>a</prosody></speak>", values[i].attribute);
        snprintf(expected, sizeof expected, "a%s [0]", values[i].shown);
        reads(&o, ssml, expected);
    }
    /* Without a meaning: named, and nothing changes. */
    static const char *const wrong[][2] = {
        {"rate", "quick"},  {"rate", "-120%"},   {"rate", "+2"},   {"rate", ""},      {"pitch", "2st"},
        {"pitch", "-100%"}, {"pitch", "-200Hz"}, {"pitch", "+st"}, {"volume", "big"}, {"volume", "3 sones"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char ssml[128], expected[160];
        snprintf(ssml, sizeof ssml, "<speak>\n<prosody %s='%s'>a</prosody></speak>", wrong[i][0], wrong[i][1]);
        snprintf(expected, sizeof expected, "a [0] ! line 2: %s of <prosody> cannot be '%s' and is skipped",
                 wrong[i][0], wrong[i][1]);
        reads(&o, ssml, expected);
    }
    reads(&o,
          "<speak><prosody rate='900%' pitch='+99st' volume='+60dB'>b</prosody><prosody rate='0%'>c</prosody></speak>",
          "b {speed 4} {pitch 24} {volume 4} [10] c {speed 0.25} [0] ! line 1: a speed of 9 is limited to 4 "
          "! line 1: a pitch in semitones of 99 is limited to 24 ! line 1: a volume of 1000 is limited to 4 "
          "! line 1: a speed of 0 is limited to 0.25");
    /* With the caller's options. */
    o.speed = 2;
    o.pitch_semitones = -1;
    o.volume = 0.5;
    reads(&o, "<speak>a <prosody rate='150%' pitch='+3st' volume='50'>b</prosody></speak>",
          "a {speed 2} {pitch -1} {volume 0.5} [20] b {speed 3} {pitch 2} {volume 0.25} [0]");
    o.voice_hz = 0;
    reads(&o, "<speak><prosody pitch='+10Hz'>b</prosody></speak>",
          "b {speed 2} {pitch -1} {volume 0.5} [0] ! line 1: pitch of <prosody> cannot be '+10Hz' and is skipped");
}

static void voices(void **state)
{
    struct mx_speak_script_options o = ((struct rig *)*state)->options;
    reads(&o, "<speak>One <voice name='ann'>two <voice name='bob'>three</voice> four</voice>, five</speak>",
          "One [40] two {speaker ann} [40] three {speaker bob} [40] four, {speaker ann} [130] five [0]");
    reads(&o,
          "<speak xml:lang='en-US'>Hello <lang xml:lang='fa-IR'>سلام</lang> <voice xml:lang='fa'>12</voice></speak>",
          "Hello [40] سلام دوازده {language 1} [0]");
    reads(&o, "<speak>سلام <prosody rate='fast'>دنیا</prosody>؟ <s xml:lang='en'>ok 5</s> ۵</speak>",
          "سلام {language 1} [40] دنیا? {language 1} {speed 1.35} [259.3] ok five [350] پنج {language 1} [0]");
    reads(&o, "<speak><lang xml:lang='de'>Hallo</lang> <lang xml:lang='tlh'>x</lang></speak>",
          "Hallo [40] x [0] ! line 1: German is read as English, which this voice speaks "
          "! line 1: xml:lang of <lang> cannot be 'tlh' and is skipped");
    refuses(&o, "<speak>\n <lang xml:lang='ru'>x</lang></speak>", MX_ERR_CONFIG,
            "SSML, line 2, column 2: this voice never learned to speak Russian");
    refuses(&o, "<speak>Привет</speak>", MX_ERR_CONFIG,
            "text from byte 7 on: this voice never learned to speak Russian");
    /* The document knows better than the caller. */
    o.language = MX_LANGUAGE_FA;
    reads(&o, "<speak>5 <lang xml:lang='en'>5</lang></speak>", "پنج {language 1} [40] five [0]");
}

/* ---- readings ---- */

static void readings(void **state)
{
    const struct mx_speak_script_options *const o = &((struct rig *)*state)->options;
    reads(o,
          "<speak>Read <say-as interpret-as='characters'>aB-5m</say-as>, <sub alias='World Wide Web'>WWW</sub>!"
          " In<say-as interpret-as='number'>1999</say-as>.</speak>",
          "Read A B dash five m, World Wide Web! [350] In one thousand nine hundred and ninety-nine. [0]");
    reads(o, "<speak><say-as interpret-as='expletive'>oh</say-as> <say-as>1</say-as></speak>",
          "oh one [0] ! line 1: interpret-as of <say-as> cannot be '' and is skipped "
          "! 'oh' cannot be read as \"expletive\" in English and is read as usual");
    reads(o, "<speak>A <sub>b</sub> <sub alias='c'>d <prosody rate='fast'>e</prosody></sub></speak>",
          "a b c [0] ! line 1: alias of <sub> cannot be '' and is skipped");
    reads(o, "<speak><say-as interpret-as='ordinal'>۳</say-as> بار</speak>", "سوم بار {language 1} [0]");
    reads(
        o, "<speak>I say <phoneme ph='x'>tomato</phoneme>, you <phoneme ph='y'>potato</phoneme>.</speak>",
        "I say tomato, you potato. [0] ! this voice was trained with characters, so <phoneme> is skipped and its text "
        "is read");
}

static void says_as(void **state)
{
    (void)state;
    static const struct {
        enum mx_language_id language;
        const char *kind, *format, *text, *said; /* NULL: not understood */
    } cases[] = {
        {MX_LANGUAGE_EN, "characters", NULL, " aBc ", "A B c"},
        {MX_LANGUAGE_EN, "spell-out", NULL, "A1 m.2", "A one, m dot two"},
        {MX_LANGUAGE_EN, "verbatim", NULL, "é&", "é and"},
        {MX_LANGUAGE_EN, "characters", NULL, "", ""},
        {MX_LANGUAGE_EN, "digits", NULL, "gate 42", "gate four two"},
        {MX_LANGUAGE_EN, "cardinal", NULL, "1999", "one thousand nine hundred and ninety-nine"},
        {MX_LANGUAGE_EN, "cardinal", NULL, "-1 234.5", "minus one thousand two hundred and thirty-four point five"},
        {MX_LANGUAGE_EN, "cardinal", NULL, "many", NULL},
        {MX_LANGUAGE_EN, "cardinal", NULL, "12345678901234567", NULL},
        {MX_LANGUAGE_EN, "ordinal", NULL, "122", "one hundred twenty-second"},
        {MX_LANGUAGE_EN, "ordinal", NULL, "1.5", NULL},
        {MX_LANGUAGE_EN, "date", "mdy", "3/5/24", "March fifth, twenty twenty-four"},
        {MX_LANGUAGE_EN, "date", "dmy", "3.5.1999", "May third, nineteen ninety-nine"},
        {MX_LANGUAGE_EN, "date", "ydm", "1999-3-5", "May third, nineteen ninety-nine"},
        {MX_LANGUAGE_EN, "date", "dmy", "3/13/1999", NULL},
        {MX_LANGUAGE_EN, "date", "dmy", "3/1", NULL},
        {MX_LANGUAGE_EN, "date", "dmy", "1/2/3/4", NULL},
        {MX_LANGUAGE_EN, "date", "my", "3/1999", NULL},
        {MX_LANGUAGE_EN, "date", NULL, "3/5/1999", "March fifth, nineteen ninety-nine"},
        {MX_LANGUAGE_EN, "time", "hms24", "17h45", "seventeen forty-five"},
        {MX_LANGUAGE_EN, "telephone", NULL, "+1 (555) 123-4567",
         "plus one, five five five, one two three, four five six seven"},
        {MX_LANGUAGE_EN, "telephone", NULL, "-", NULL},
        {MX_LANGUAGE_EN, "currency", NULL, "$5", "five dollars"},
        {MX_LANGUAGE_EN, "name", NULL, "x", NULL},
        {MX_LANGUAGE_FA, "characters", NULL, "وب ۵", "واو ب, پنج"},
        {MX_LANGUAGE_FA, "cardinal", NULL, "۱۹۹۹", "هزار و نهصد و نود و نه"},
        {MX_LANGUAGE_FA, "ordinal", NULL, "۱۲", "دوازدهم"},
        {MX_LANGUAGE_FA, "date", "dmy", "۱۲/۷/۰۳", "دوازدهمِ مهرِ هزار و چهارصد و سه"},
        {MX_LANGUAGE_FA, "telephone", NULL, "۰۲۱-۸۸", "صفر دو یک, هشت هشت"},
        {MX_LANGUAGE_DE, "characters", NULL, "aB5", "a B fünf"},
        {MX_LANGUAGE_DE, "ordinal", NULL, "5", NULL},
        {MX_LANGUAGE_DE, "date", "dmy", "5.3.1999", NULL},
    };
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *said, *normalised;
        const int rc = mx_text_say_as(cases[i].language, cases[i].kind, cases[i].format, cases[i].text,
                                      strlen(cases[i].text), &arena, &said);
        assert_int_equal(rc, cases[i].said != NULL);
        if (rc == 0) {
            assert_null(said);
            continue;
        }
        assert_int_equal(mx_text_normalise(cases[i].language, said, strlen(said), &arena, &normalised, NULL), 0);
        assert_string_equal(normalised, cases[i].said);
    }
    mx_arena_release(&arena);
}

/* Sounds stand where their text stood, with the marks around them. */
static void phonemes(void **state)
{
    if (!mx_phonemizer_available()) skip();
    static const struct {
        const char *ssml, *sounds, *text;
    } cases[] = {
        {"<speak>I say <phoneme alphabet='ipa' ph='tə.ˈmeɪ.toʊ'>tomato</phoneme>, you go: <phoneme ph=\"g'o:\"/> - "
         "no.</speak>",
         "aɪ sˈeɪ təˈmeɪtoʊ, juː ɡˈoʊ: ɡˈoː - nˈoʊ.", "I say tomato, you go:  - no."},
        {"<speak><phoneme ph='a b'>x</phoneme><phoneme ph='c'>y</phoneme></speak>", "a bc", "xy"},
        /* A word like those that stand for sounds. */
        {"<speak>qxzja <phoneme ph='ab'>x</phoneme></speak>", NULL, "qxzja x"},
    };
    struct mx_speak_script_options o = ((struct rig *)*state)->options;
    struct mx_vocabulary *const vocabulary = vocabulary_make(MX_TOKENS_PHONEMES);
    struct mx_speak_script *script;
    struct mx_speak_item item;
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    o.vocabulary = vocabulary;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mx_symbols symbols;
        assert_int_equal(mx_speak_script_open(&o, cases[i].ssml, strlen(cases[i].ssml), &script), 0);
        assert_int_equal(mx_speak_script_next(script, &item), 1);
        assert_string_equal(item.text, cases[i].text);
        if (cases[i].sounds != NULL) {
            assert_int_equal(
                mx_tokens_from_text(MX_TOKENS_CHARS, NULL, MX_LANGUAGE_EN, cases[i].sounds, &arena, &symbols), 0);
            assert_int_equal((size_t)item.count, symbols.count + 2);
            assert_memory_equal(item.symbols + 1, symbols.codes, symbols.count * sizeof *symbols.codes);
        }
        assert_int_equal(mx_speak_script_next(script, &item), 0);
        assert_int_equal(mx_speak_script_counts(script).unknown.count, 0);
        mx_speak_script_close(script);
    }
    reads(&o, "<speak><phoneme alphabet='x-sampa' ph='a'>ok</phoneme> <phoneme>yes</phoneme></speak>",
          "ok yes [0] ! line 1: alphabet of <phoneme> cannot be 'x-sampa' and is skipped "
          "! line 1: ph of <phoneme> cannot be '' and is skipped");
    /* Symbols that the voice never learned are left out and counted. */
    static const char unknown[] = "<speak><phoneme ph='aꟸb'>x</phoneme></speak>";
    assert_int_equal(mx_speak_script_open(&o, unknown, strlen(unknown), &script), 0);
    assert_int_equal(mx_speak_script_next(script, &item), 1);
    assert_int_equal(item.count, 4);
    assert_int_equal(mx_speak_script_counts(script).unknown.first, 0xa7f8);
    mx_speak_script_close(script);
    mx_arena_release(&arena);
    mx_vocabulary_destroy(vocabulary);
}

/* ---- what is skipped or refused ---- */

static void skipped(void **state)
{
    const struct mx_speak_script_options *const o = &((struct rig *)*state)->options;
    reads(
        o,
        "<speak>a <emphasis level='strong'>b <audio src='/etc/passwd'>c</audio></emphasis><mark name='m'/> "
        "<emphasis>d</emphasis> <prosody contour='x' duration='1s'>e</prosody> <voice gender='male'>f</voice></speak>",
        "A b c d e f [0] ! SSML that is not understood was skipped, its text is read: <emphasis>, <audio>, <mark>, "
        "contour of <prosody>, duration of <prosody>, gender of <voice>");
    /* One warning, however many; and not too many warnings. */
    struct mx_string text = {0}, shown = {0};
    struct mx_speak_script *script;
    mx_string_append(&text, "<speak>");
    for (int i = 0; i < 40; i++) mx_string_append(&text, "<t%d>a</t%d>\n<prosody rate='r%d'>b</prosody>", i, i, i);
    mx_string_append(&text, "</speak>");
    assert_int_equal(mx_speak_script_open(o, text.data, text.length, &script), 0);
    show(script, &shown);
    assert_non_null(strstr(shown.data, "! line 2: rate of <prosody> cannot be 'r0' and is skipped"));
    assert_non_null(strstr(shown.data, "! 26 more warnings of this kind"));
    assert_string_equal(mx_speak_script_warning(script, 15), "26 more warnings of this kind");
    assert_null(mx_speak_script_warning(script, 16));
    mx_speak_script_close(script);
    mx_string_release(&text);
    mx_string_release(&shown);
}

static void broken(void **state)
{
    const struct mx_speak_script_options *const o = &((struct rig *)*state)->options;
    refuses(o, "<speak>Hello</speek>", MX_ERR_DATA, "SSML, line 1, column 15: mismatched tag");
    refuses(o, "<speak>\n\n سلام & </speak>", MX_ERR_DATA, "SSML, line 3, column 8: not well-formed (invalid token)");
    refuses(o, "<speak>a", MX_ERR_DATA, "SSML, line 1, column 9: no element found");
    refuses(o, "<?xml version='1.0'?>", MX_ERR_DATA, "SSML, line 1, column 22: no element found");
    refuses(o, "<!-- x --><html>a</html>", MX_ERR_DATA,
            "SSML, line 1, column 11: the root of an SSML document is <speak>");
    refuses(o, "a & b", MX_ERR_DATA, "SSML, line 1, column 4: not well-formed (invalid token)");
    refuses(o, "a\nb <p>c", MX_ERR_DATA, "SSML, line 2, column 9: mismatched tag");
    refuses(o, "a</speak>", MX_ERR_DATA, "SSML, line 1, column 11: not well-formed (invalid token)");
    refuses(o, "<speak>a\xff</speak>", MX_ERR_DATA, "SSML, line 1, column 9: not well-formed (invalid token)");
    refuses(o, "<speak>&nbsp;</speak>", MX_ERR_DATA, "SSML, line 1, column 8: undefined entity");
    refuses(o, "<!DOCTYPE speak SYSTEM 'x.dtd'><speak>&nbsp;</speak>", MX_ERR_DATA,
            "SSML, line 1, column 39: the entity &nbsp; is unknown");
    refuses(o, "<speak/><speak/>", MX_ERR_DATA, "SSML, line 1, column 9: junk after document element");
    /* No entities of its own, whether they grow or read files. */
    refuses(o, "<!DOCTYPE speak [<!ENTITY a 'ha'>\n<!ENTITY b '&a;&a;'>]><speak>&b;</speak>", MX_ERR_DATA,
            "SSML, line 1, column 29: a document must not declare entities");
    refuses(o, "<!DOCTYPE speak [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><speak>&f;</speak>", MX_ERR_DATA,
            "SSML, line 1, column 56: a document must not declare entities");
    refuses(o, "<!DOCTYPE speak [<!ENTITY % p SYSTEM 'http://x/'> %p;]><speak>a</speak>", MX_ERR_DATA,
            "SSML, line 1, column 49: a document must not declare entities");
    /* Depth. */
    struct mx_string text = {0};
    mx_string_append(&text, "<speak>");
    for (int i = 1; i < MX_SSML_DEPTH; i++) mx_string_append(&text, "<w>");
    mx_string_append(&text, "deep");
    for (int i = 1; i < MX_SSML_DEPTH; i++) mx_string_append(&text, "</w>");
    mx_string_append(&text, "</speak>");
    reads(o, text.data, "deep [0]");
    text.length = 0;
    mx_string_append(&text, "<speak>");
    for (int i = 0; i < 100000; i++) mx_string_append(&text, "<w>");
    refuses(o, text.data, MX_ERR_DATA, "SSML, line 1, column 197: tags are nested too deeply");
    mx_string_release(&text);
}

/* The billion laughs: refused at the first declaration. */
static void laughs(void **state)
{
    const struct mx_speak_script_options *const o = &((struct rig *)*state)->options;
    struct mx_string text = {0};
    mx_string_append(&text, "<!DOCTYPE speak [<!ENTITY l0 'ha'>");
    for (int i = 1; i < 10; i++) {
        mx_string_append(&text, "<!ENTITY l%d '", i);
        for (int k = 0; k < 10; k++) mx_string_append(&text, "&l%d;", i - 1);
        mx_string_append(&text, "'>");
    }
    mx_string_append(&text, "]><speak>&l9;</speak>");
    refuses(o, text.data, MX_ERR_DATA, "SSML, line 1, column 30: a document must not declare entities");
    mx_string_release(&text);
}

static void sources(void **state)
{
    const struct mx_speak_script_options *const o = &((struct rig *)*state)->options;
    static const char ssml[] = "<speak>One <prosody rate='fast'>two &amp; three</prosody><p> four</p></speak>";
    static const char *const want[] = {"One ", "two &amp; three", "four"};
    struct mx_speak_script *script;
    struct mx_speak_item item;
    assert_int_equal(mx_speak_script_open(o, ssml, strlen(ssml), &script), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(mx_speak_script_next(script, &item), 1);
        assert_int_equal(item.source_length, strlen(want[i]));
        assert_memory_equal(ssml + item.source_begin, want[i], item.source_length);
    }
    mx_speak_script_close(script);
    assert_int_equal(mx_speak_script_open(o, "One", 3, &script), 0);
    assert_int_equal(mx_speak_script_next(script, &item), 1);
    assert_true(item.source_begin == 0 && item.source_length == 3);
    mx_speak_script_close(script);
}

/* The documents on the pages are read without a warning. */
static void pages(void **state)
{
    static const char *const files[] = {MX_SOURCE_FOLDER "/docs/en/ssml.md", MX_SOURCE_FOLDER "/docs/fa/ssml.md"};
    if (!mx_phonemizer_available()) skip();
    struct mx_speak_script_options o = ((struct rig *)*state)->options;
    struct mx_vocabulary *const vocabulary = vocabulary_make(MX_TOKENS_PHONEMES);
    o.vocabulary = vocabulary;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        static char page[1 << 16];
        FILE *const file = fopen(files[i], "rb");
        assert_non_null(file);
        page[fread(page, 1, sizeof page - 1, file)] = 0;
        fclose(file);
        size_t documents = 0;
        for (char *at = page; (at = strstr(at, "```xml\n")) != NULL; documents++) {
            struct mx_speak_script *script;
            struct mx_speak_item item;
            at += strlen("```xml\n");
            const size_t length = (size_t)(strstr(at, "```") - at);
            if (mx_speak_script_open(&o, at, length, &script) < 0)
                fail_msg("%s: %s", files[i], mx_error_last()->message);
            while (mx_speak_script_next(script, &item) > 0) continue;
            assert_null(mx_speak_script_warning(script, 0));
            assert_true(mx_speak_script_counts(script).items >= 4);
            assert_int_equal(mx_speak_script_counts(script).unknown.count, 0);
            mx_speak_script_close(script);
        }
        assert_true(documents > 0);
    }
    mx_vocabulary_destroy(vocabulary);
}

static void no_memory(void **state)
{
    const struct mx_speak_script_options *const o = &((struct rig *)*state)->options;
    static const char ssml[] = "<speak>One <prosody rate='fast'>two</prosody>. <say-as interpret-as='digits'>5</say-as>"
                               "<x/><voice name='v'>three</voice><p>four <sub alias='five'>x</sub></p></speak>";
    int failures = 0;
    for (uint64_t nth = 1;; nth++) {
        struct mx_speak_script *script = NULL;
        struct mx_speak_item item;
        mx_alloc_fail_at(nth);
        int rc = mx_speak_script_open(o, ssml, strlen(ssml), &script);
        while (rc >= 0 && (rc = mx_speak_script_next(script, &item)) > 0) continue;
        mx_alloc_fail_at(0);
        mx_speak_script_close(script);
        if (rc == 0) break;
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
        failures++;
    }
    assert_true(failures > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structure), cmocka_unit_test(breaks),  cmocka_unit_test(prosody),  cmocka_unit_test(voices),
        cmocka_unit_test(readings),  cmocka_unit_test(says_as), cmocka_unit_test(phonemes), cmocka_unit_test(skipped),
        cmocka_unit_test(broken),    cmocka_unit_test(laughs),  cmocka_unit_test(sources),  cmocka_unit_test(pages),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
