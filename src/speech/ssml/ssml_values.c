/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values of SSML attributes as numbers; ssml.h lists the forms. Nothing is allocated.
 */
#include <math.h>
#include <string.h>

#include "speech/ssml/ssml_internal.h"

struct named {
    const char *name;
    double value;
};

static bool named_find(const struct named *list, size_t count, const char *name, double *out)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name)) {
            *out = list[i].value;
            return true;
        }
    return false;
}
#define NAMED(list, name, out) named_find(list, sizeof(list) / sizeof *(list), name, out)

/* A number with a unit: "+10%". `sign` is '+', '-' or 0. */
struct quantity {
    double number; /* with its sign */
    char sign;
    const char *unit; /* the rest of the value */
};

static bool quantity_read(const char *value, struct quantity *out)
{
    char digits[32];
    const size_t signs = value[0] == '+' || value[0] == '-';
    const size_t length = signs + strspn(value + signs, "0123456789.");
    if (length == signs || length >= sizeof digits) return false;
    memcpy(digits, value, length);
    digits[length] = 0;
    out->sign = signs ? value[0] : 0;
    out->unit = value + length + strspn(value + length, " ");
    return mx_string_parse_double(digits, &out->number) == MX_STRING_NUMBER;
}

bool mx_ssml_rate(const char *value, double *speed)
{
    static const struct named names[] = {{"x-slow", 0.5}, {"slow", 0.75}, {"medium", 1},
                                         {"default", 1},  {"fast", 1.35}, {"x-fast", 2}};
    struct quantity q;
    double factor;
    if (!NAMED(names, value, &factor)) {
        if (!quantity_read(value, &q)) return false;
        if (!strcmp(q.unit, "%"))
            factor = (q.sign ? 100 + q.number : q.number) / 100;
        else if (!q.unit[0] && !q.sign)
            factor = q.number;
        else
            return false;
    }
    if (factor < 0) return false;
    *speed *= factor;
    return true;
}

bool mx_ssml_pitch(const char *value, double voice_hz, double *semitones)
{
    static const struct named names[] = {{"x-low", -8},  {"low", -4}, {"medium", 0},
                                         {"default", 0}, {"high", 4}, {"x-high", 8}};
    struct quantity q;
    double more;
    if (NAMED(names, value, &more)) {
        *semitones += more;
        return true;
    }
    if (!quantity_read(value, &q)) return false;
    if (!strcmp(q.unit, "Hz")) {
        if (!(voice_hz > 0)) return false;
        const double hz = q.sign ? voice_hz * exp2(*semitones / 12) + q.number : q.number;
        if (!(hz > 0)) return false;
        *semitones = 12 * log2(hz / voice_hz);
        return true;
    }
    if (!q.sign && q.number != 0) return false;
    if (!strcmp(q.unit, "st"))
        *semitones += q.number;
    else if (!strcmp(q.unit, "%") && q.number > -100)
        *semitones += 12 * log2(1 + q.number / 100);
    else
        return false;
    return true;
}

static double decibels(double db)
{
    return pow(10, db / 20);
}

bool mx_ssml_volume(const char *value, double *volume)
{
    static const struct named names[] = {{"x-soft", -12}, {"soft", -6}, {"medium", 0},
                                         {"default", 0},  {"loud", 3},  {"x-loud", 6}};
    struct quantity q;
    double factor;
    if (!strcmp(value, "silent")) {
        factor = 0;
    } else if (NAMED(names, value, &factor)) {
        factor = decibels(factor);
    } else {
        if (!quantity_read(value, &q)) return false;
        if (!strcmp(q.unit, "dB"))
            factor = decibels(q.number);
        else if (!strcmp(q.unit, "%") || !q.unit[0])
            factor = (q.sign ? 100 + q.number : q.number) / 100;
        else
            return false;
        factor = fmax(factor, 0);
    }
    *volume *= factor;
    return true;
}

bool mx_ssml_time(const char *value, double *ms)
{
    struct quantity q;
    if (!quantity_read(value, &q) || q.number < 0) return false;
    if (!strcmp(q.unit, "ms"))
        *ms = q.number;
    else if (!strcmp(q.unit, "s"))
        *ms = 1000 * q.number;
    else
        return false;
    return true;
}

bool mx_ssml_strength(const char *value, double *usual_ms)
{
    static const struct {
        const char *name;
        char mark; /* whose pause it is; 0: none, '\n': that of a paragraph */
    } names[] = {{"none", 0}, {"x-weak", ' '}, {"weak", ','}, {"medium", ';'}, {"strong", '.'}, {"x-strong", '\n'}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, value) != 0) continue;
        *usual_ms = names[i].mark == '\n' ? MX_SPLIT_PARAGRAPH_MS : mx_split_pause_ms(names[i].mark);
        return true;
    }
    return false;
}
