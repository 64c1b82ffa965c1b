/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/: units and currencies that are written alike in many languages, as items for the lists "unit" and
 * "code" (forms.h). ICU has their words in every language.
 */
#ifndef MX_TEXT_FORMS_UNITS_H
#define MX_TEXT_FORMS_UNITS_H

/* clang-format off: several items per line */
#define MX_FORM_SI_UNITS                                                                                               \
    {"km", "@kilometer", 0}, {"m", "@meter", 0}, {"cm", "@centimeter", 0}, {"mm", "@millimeter", 0},                   \
        {"dm", "@decimeter", 0}, {"µm", "@micrometer", 0}, {"μm", "@micrometer", 0}, {"nm", "@nanometer", 0},          \
        {"km²", "@square-kilometer", 0}, {"m²", "@square-meter", 0}, {"cm²", "@square-centimeter", 0},                 \
        {"km2", "@square-kilometer", 0}, {"m2", "@square-meter", 0}, {"cm2", "@square-centimeter", 0},                 \
        {"mm²", "@square-millimeter", 0}, {"mm2", "@square-millimeter", 0}, {"m³", "@cubic-meter", 0},                 \
        {"m3", "@cubic-meter", 0}, {"cm³", "@cubic-centimeter", 0}, {"cm3", "@cubic-centimeter", 0},                   \
        {"km³", "@cubic-kilometer", 0}, {"ha", "@hectare", 0}, {"l", "@liter", 0}, {"L", "@liter", 0},                 \
        {"ml", "@milliliter", 0}, {"mL", "@milliliter", 0}, {"cl", "@centiliter", 0}, {"dl", "@deciliter", 0},         \
        {"hl", "@hectoliter", 0}, {"kg", "@kilogram", 0}, {"g", "@gram", 0}, {"mg", "@milligram", 0},                  \
        {"µg", "@microgram", 0}, {"μg", "@microgram", 0}, {"t", "@tonne", 0}, {"h", "@hour", 0},                       \
        {"min", "@minute", 0}, {"s", "@second", 0}, {"ms", "@millisecond", 0}, {"µs", "@microsecond", 0},              \
        {"ns", "@nanosecond", 0}, {"km/h", "@kilometer-per-hour", 0}, {"kmh", "@kilometer-per-hour", 0},               \
        {"m/s", "@meter-per-second", 0}, {"m/s²", "@meter-per-square-second", 0}, {"mph", "@mile-per-hour", 0},        \
        {"Hz", "@hertz", 0}, {"kHz", "@kilohertz", 0}, {"MHz", "@megahertz", 0}, {"GHz", "@gigahertz", 0},             \
        {"kB", "@kilobyte", 0}, {"KB", "@kilobyte", 0}, {"MB", "@megabyte", 0}, {"GB", "@gigabyte", 0},                \
        {"TB", "@terabyte", 0}, {"PB", "@petabyte", 0}, {"kbit", "@kilobit", 0}, {"Mbit", "@megabit", 0},              \
        {"Gbit", "@gigabit", 0}, {"Mbit/s", "@megabit-per-second", 0}, {"Mbps", "@megabit-per-second", 0},             \
        {"MB/s", "@megabyte-per-second", 0}, {"GB/s", "@gigabyte-per-second", 0},                                      \
        {"Gbit/s", "@gigabit-per-second", 0}, {"W", "@watt", 0}, {"kW", "@kilowatt", 0}, {"MW", "@megawatt", 0},       \
        {"GW", "@gigawatt", 0}, {"mW", "@milliwatt", 0}, {"kWh", "@kilowatt-hour", 0}, {"V", "@volt", 0},              \
        {"A", "@ampere", 0}, {"mA", "@milliampere", 0}, {"Ω", "@ohm", 0}, {"J", "@joule", 0}, {"kJ", "@kilojoule", 0}, \
        {"cal", "@calorie", 0}, {"kcal", "@kilocalorie", 0}, {"N", "@newton", 0}, {"Pa", "@pascal", 0},                \
        {"hPa", "@hectopascal", 0}, {"kPa", "@kilopascal", 0}, {"MPa", "@megapascal", 0}, {"bar", "@bar", 0},          \
        {"°C", "@celsius", 0}, {"° C", "@celsius", 0}, {"º C", "@celsius", 0}, {"ºC", "@celsius", 0},                  \
        {"° c", "@celsius", 0}, {"°F", "@fahrenheit", 0}, {"° F", "@fahrenheit", 0}, {"°", "@degree", 0},              \
        {"K", "@kelvin", 0}, {"lm", "@lumen", 0}, {"lx", "@lux", 0}, {"px", "@pixel", 0}, {"MP", "@megapixel", 0},     \
        {"ft", "@foot", 0}, {"mi", "@mile", 0}, {"yd", "@yard", 0}, {"lb", "@pound", 0}, {"lbs", "@pound", 0},         \
        {"oz", "@ounce", 0}, {"kn", "@knot", 0},                                                                       \
    {                                                                                                                  \
        "ct", "@carat", 0                                                                                              \
    }

/* Genders of what they are called differ between languages. */
#define MX_FORM_CODES(pound, crown, rupee, lira, yen, gryvna)                                                          \
    {"USD", "$USD", "masculine"}, {"EUR", "$EUR", "masculine"}, {"GBP", "$GBP", pound}, {"JPY", "$JPY", yen},          \
        {"CHF", "$CHF", "masculine"}, {"CNY", "$CNY", "masculine"}, {"RUB", "$RUB", "masculine"},                      \
        {"CAD", "$CAD", "masculine"}, {"AUD", "$AUD", "masculine"}, {"NZD", "$NZD", "masculine"},                      \
        {"HKD", "$HKD", "masculine"}, {"SGD", "$SGD", "masculine"}, {"SEK", "$SEK", crown}, {"NOK", "$NOK", crown},    \
        {"DKK", "$DKK", crown}, {"CZK", "$CZK", crown}, {"ISK", "$ISK", crown}, {"INR", "$INR", rupee},                \
        {"TRY", "$TRY", lira}, {"PLN", "$PLN", "masculine"}, {"HUF", "$HUF", "masculine"}, {"UAH", "$UAH", gryvna},    \
        {"KRW", "$KRW", "masculine"}, {"THB", "$THB", "masculine"}, {"ILS", "$ILS", "masculine"},                      \
        {"AED", "$AED", "masculine"}, {"SAR", "$SAR", "masculine"}, {"IRR", "$IRR", "masculine"},                      \
        {"BRL", "$BRL", "masculine"}, {"MXN", "$MXN", "masculine"}, {"ARS", "$ARS", "masculine"},                      \
        {"CLP", "$CLP", "masculine"}, {"COP", "$COP", "masculine"}, {"PEN", "$PEN", "masculine"},                      \
        {"ZAR", "$ZAR", "masculine"}, {"EGP", "$EGP", pound}, {"KZT", "$KZT", "masculine"},                            \
    {                                                                                                                  \
        "BTC", "bitcoin", "masculine"                                                                                  \
    }
/* clang-format on */

#endif
