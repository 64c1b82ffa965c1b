/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lists of German written forms (forms.h): units, currencies, abbreviations.
 */
#include "text/forms/forms_units.h"
#include "text/languages/german.h"

/* Several items per line. */
/* clang-format off */
static const struct mx_form_item endings[] = {
    {"te", "e", 0}, {"ste", "e", 0}, {"ten", "n", 0}, {"sten", "n", 0}, {"ter", "r", 0}, {"ster", "r", 0},
    {"tes", "s", 0}, {"stes", "s", 0}, {"tem", "m", 0}, {"stem", "m", 0}, {0}};
static const struct mx_form_item months[] = {{"sept", "9", 0}, {"mrz", "3", 0}, {"jän", "1", 0}, {"jänner", "1", 0}, {0}};
static const struct mx_form_item zones[] = {
    {"MEZ", "m e z", 0}, {"MESZ", "m e s z", 0}, {"UTC", "u t c", 0}, {"GMT", "g m t", 0}, {"CET", "c e t", 0},
    {"CEST", "c e s t", 0}, {"EST", "e s t", 0}, {"PST", "p s t", 0}, {0}};
static const struct mx_form_item eras[] = {
    {"v. Chr.", "vor Christus", 0}, {"v.Chr.", "vor Christus", 0}, {"n. Chr.", "nach Christus", 0},
    {"n.Chr.", "nach Christus", 0}, {"v. u. Z.", "vor unserer Zeitrechnung", 0}, {0}};
static const struct mx_form_item scales[] = {
    {"tausend", "tausend", "neuter"}, {"tsd.", "tausend", "neuter"}, {"million", "Million", "feminine"},
    {"millionen", "Millionen", "feminine"}, {"mio.", "Million|Millionen", "feminine"},
    {"mio", "Million|Millionen", "feminine"}, {"milliarde", "Milliarde", "feminine"},
    {"milliarden", "Milliarden", "feminine"}, {"mrd.", "Milliarde|Milliarden", "feminine"},
    {"mrd", "Milliarde|Milliarden", "feminine"}, {"billion", "Billion", "feminine"},
    {"billionen", "Billionen", "feminine"}, {"bio.", "Billion|Billionen", "feminine"},
    {"billiarden", "Billiarden", "feminine"}, {"trillionen", "Trillionen", "feminine"}, {0}};
static const struct mx_form_item currencies[] = {
    {"$", "Dollar", "masculine"}, {"US$", "US-Dollar", "masculine"}, {"€", "Euro", "masculine"},
    {"£", "Pfund", "neuter"}, {"¥", "Yen", "masculine"}, {"₽", "Rubel", "masculine"}, {"₹", "Rupie|Rupien", "feminine"},
    {"₩", "Won", "masculine"}, {"₺", "Lira", "feminine"}, {"₪", "Schekel", "masculine"}, {"₿", "Bitcoin", "masculine"},
    {"₴", "Hrywnja", "feminine"}, {"₫", "Dong", "masculine"}, {"฿", "Baht", "masculine"}, {"zł", "Złoty", "masculine"},
    {"Kč", "Krone|Kronen", "feminine"}, {"CHF", "Schweizer Franken", "masculine"}, {"Fr.", "Franken", "masculine"},
    {"sFr.", "Schweizer Franken", "masculine"}, {"EUR", "Euro", "masculine"}, {"A$", "australische Dollar", 0},
    {"C$", "kanadische Dollar", 0}, {"euro", "Euro", "masculine"}, {"dollar", "Dollar", "masculine"},
    {"DM", "Mark", "feminine"}, {"ct", "Cent", "masculine"}, {"¢", "Cent", "masculine"},
    {"cent", "Cent", "masculine"}, {0}};
static const struct mx_form_item minors[] = {
    {"$", "Cent", "masculine"}, {"US$", "Cent", "masculine"}, {"€", "Cent", "masculine"}, {"EUR", "Cent", "masculine"},
    {"euro", "Cent", "masculine"}, {"dollar", "Cent", "masculine"}, {"£", "Penny|Pence", "masculine"},
    {"CHF", "Rappen", "masculine"}, {"Fr.", "Rappen", "masculine"}, {"sFr.", "Rappen", "masculine"},
    {"₽", "Kopeke|Kopeken", "feminine"}, {"DM", "Pfennig", "masculine"}, {"zł", "Groschen", "masculine"},
    {"USD", "Cent", "masculine"}, {"GBP", "Penny|Pence", "masculine"}, {0}};
static const struct mx_form_item codes[] = {MX_FORM_CODES("neuter", "feminine", "feminine", "feminine", "masculine", "feminine"), {0}};
static const struct mx_form_item numbered[] = {
    {"nr.", "Nummer", 0}, {"nr", "Nummer", 0}, {"#", "Nummer", 0}, {"S.", "Seite", 0}, {"kap.", "Kapitel", 0}, {"§", "Paragraf", 0},
    {"§§", "Paragrafen", 0}, {"abb.", "Abbildung", 0}, {"tab.", "Tabelle", 0}, {"bd.", "Band", 0}, {"art.", "Artikel", 0},
    {"abs.", "Absatz", 0}, {"hausnr.", "Hausnummer", 0}, {"zi.", "Zimmer", 0}, {"Z.", "Zeile", 0}, {"vol.", "Volumen", 0}, {"ver.", "Version", 0}, {"≈", "ungefähr", 0}, {"~", "ungefähr", 0}, {"±", "plus minus", 0}, {"ø", "Durchschnitt", 0},
    {"<", "kleiner als", 0}, {">", "größer als", 0}, {"≤", "höchstens", 0}, {"≥", "mindestens", 0}, {0}};
static const struct mx_form_item units[] = {
    MX_FORM_SI_UNITS,
    {"mv", "Millivolt", "masculine"}, {"kV", "Kilovolt", "masculine"}, {"std.", "@hour", 0}, {"std", "@hour", 0}, {"min.", "@minute", 0},
    {"sek.", "@second", 0}, {"sek", "@second", 0}, {"sec", "@second", 0}, {"mio. km", "Millionen Kilometer", 0},
    {"qm", "@square-meter", 0}, {"qkm", "@square-kilometer", 0}, {"cbm", "@cubic-meter", 0}, {"ccm", "@cubic-centimeter", 0},
    {"EL", "Esslöffel", "masculine"}, {"TL", "Teelöffel", "masculine"}, {"pkg.", "Päckchen", "neuter"},
    {"pck.", "Päckchen", "neuter"}, {"stk.", "Stück", "neuter"}, {"st.", "Stück", "neuter"}, {"pr.", "Prise|Prisen", "feminine"},
    {"ps", "PS", 0}, {"zt.", "Zentner", 0}, {"pfd.", "Pfund", "neuter"}, {"jh.", "Jahrhundert|Jahrhunderte", "neuter"},
    {"J.", "Jahre", 0}, {"Pkt.", "Punkt|Punkte", "masculine"}, {"dB", "Dezibel", "neuter"}, {"U/min", "Umdrehung pro Minute|Umdrehungen pro Minute", "feminine"},
    {"%", "Prozent", "neuter"}, {"‰", "Promille", "neuter"}, {"%-ig", "prozentig", 0}, {"Mo.", "Monat|Monate", "masculine"},
    {"Wo.", "Woche|Wochen", "feminine"}, {0}};
static const struct mx_form_item signs[] = {
    {">=", "größer gleich", 0}, {"<=", "kleiner gleich", 0}, {"!=", "ungleich", 0}, {"==", "gleich", 0}, {"->", "Pfeil", 0}, {"=>", "Pfeil", 0},
    {"%", "Prozent", 0}, {"‰", "Promille", 0}, {"&", "und", 0}, {"+", "plus", 0}, {"=", "gleich", 0}, {"<", "kleiner als", 0},
    {">", "größer als", 0}, {"×", "mal", 0}, {"÷", "geteilt durch", 0}, {"±", "plus minus", 0}, {"≈", "ungefähr", 0},
    {"≠", "ungleich", 0}, {"≤", "kleiner gleich", 0}, {"≥", "größer gleich", 0}, {"√", "Wurzel aus", 0}, {"∞", "unendlich", 0},
    {"π", "Pi", 0}, {"°", "Grad", 0}, {"§", "Paragraf", 0}, {"§§", "Paragrafen", 0}, {"€", "Euro", 0}, {"$", "Dollar", 0},
    {"£", "Pfund", 0}, {"¥", "Yen", 0}, {"@", "at", 0}, {"©", "Copyright", 0}, {"®", "eingetragene Marke", 0}, {"™", "Marke", 0},
    {"→", "Pfeil", 0}, {"Ø", "Durchmesser", 0}, {"²", "hoch zwei", 0}, {"³", "hoch drei", 0}, {"m²", "Quadratmeter", 0}, {"µ", "Mikro", 0},
    {"∑", "Summe", 0}, {"∂", "partiell", 0}, {"∈", "Element von", 0}, {"∀", "für alle", 0}, {"α", "Alpha", 0}, {"β", "Beta", 0},
    {"γ", "Gamma", 0}, {"δ", "Delta", 0}, {"λ", "Lambda", 0}, {"σ", "Sigma", 0}, {"ω", "Omega", 0}, {"Δ", "Delta", 0}, {"Ω", "Ohm", 0}, {0}};
/* Before what they belong to: their full stop never ends a sentence. */
static const struct mx_form_item titles[] = {
    {"dr.", "Doktor", 0}, {"prof.", "Professor", 0}, {"hr.", "Herr", 0}, {"hrn.", "Herrn", 0}, {"fr.", "Frau", 0}, {"Ms.", "Miss", 0},
    {"Mr.", "Mister", 0}, {"Mrs.", "Misses", 0}, {"st.", "Sankt", 0}, {"dipl.-ing.", "Diplomingenieur", 0}, {"ing.", "Ingenieur", 0},
    {"mag.", "Magister", 0}, {"z. B.", "zum Beispiel", 0}, {"z.B.", "zum Beispiel", 0}, {"z. b.", "zum Beispiel", 0}, {"d. h.", "das heißt", 0},
    {"d.h.", "das heißt", 0}, {"u. a.", "unter anderem", 0}, {"u.a.", "unter anderem", 0}, {"i. d. R.", "in der Regel", 0},
    {"i.d.R.", "in der Regel", 0}, {"bzw.", "beziehungsweise", 0}, {"ca.", "zirka", 0}, {"sog.", "sogenannte", 0}, {"inkl.", "inklusive", 0},
    {"exkl.", "exklusive", 0}, {"zzgl.", "zuzüglich", 0}, {"abzgl.", "abzüglich", 0}, {"evtl.", "eventuell", 0}, {"ggf.", "gegebenenfalls", 0},
    {"vgl.", "vergleiche", 0}, {"geb.", "geboren", 0}, {"gest.", "gestorben", 0}, {"max.", "maximal", 0}, {"mind.", "mindestens", 0},
    {"allg.", "allgemein", 0}, {"bspw.", "beispielsweise", 0}, {"insb.", "insbesondere", 0}, {"o. g.", "oben genannt", 0},
    {"s. o.", "siehe oben", 0}, {"s. u.", "siehe unten", 0}, {"u. U.", "unter Umständen", 0}, {"v. a.", "vor allem", 0},
    {"m. E.", "meines Erachtens", 0}, {"z. T.", "zum Teil", 0}, {"z.T.", "zum Teil", 0}, {"z. Z.", "zurzeit", 0}, {"zzt.", "zurzeit", 0},
    {"i. A.", "im Auftrag", 0}, {"lt.", "laut", 0}, {"gem.", "gemäß", 0}, {"einschl.", "einschließlich", 0}, {"betr.", "betrifft", 0},
    {"tägl.", "täglich", 0}, {"jährl.", "jährlich", 0}, {"mtl.", "monatlich", 0}, {"etw.", "etwas", 0}, {"jmd.", "jemand", 0},
    {"hl.", "heilige", 0}, {"gegr.", "gegründet", 0}, {"Nr.", "Nummer", 0}, {"vs.", "versus", 0}, {"Abt.", "Abteilung", 0}, {"Tel.", "Telefon", 0}, {"dt.", "deutsch", 0}, {"engl.", "englisch", 0}, {"ehem.", "ehemals", 0}, {"p. a.", "pro Jahr", 0}, {"Bhf.", "Bahnhof", 0}, {"Hbf.", "Hauptbahnhof", 0}, {"Hbf", "Hauptbahnhof", 0}, {0}};
/* They may end a sentence. */
static const struct mx_form_item abbreviations[] = {
    {"usw.", "und so weiter", 0}, {"usf.", "und so fort", 0}, {"etc.", "et cetera", 0}, {"u. Ä.", "und Ähnliches", 0}, {"o. Ä.", "oder Ähnliches", 0},
    {"Jh.", "Jahrhundert", 0}, {"Str.", "Straße", 0}, {"Mio.", "Millionen", 0}, {"Mrd.", "Milliarden", 0},
    {"Tsd.", "Tausend", 0}, {"MwSt.", "Mehrwertsteuer", 0}, {"Std.", "Stunden", 0}, {"Min.", "Minuten", 0}, {"Sek.", "Sekunden", 0},
    {"u. v. m.", "und vieles mehr", 0}, {"u.v.m.", "und vieles mehr", 0}, {"n. Chr.", "nach Christus", 0}, {"v. Chr.", "vor Christus", 0},
    {"e. V.", "eingetragener Verein", 0}, {"e.V.", "eingetragener Verein", 0}, {"m. W.", "meines Wissens", 0}, {"a. D.", "außer Dienst", 0},
    {"a. M.", "am Main", 0}, {"i. R.", "im Ruhestand", 0}, {"Aufl.", "Auflage", 0}, {"Hrsg.", "Herausgeber", 0}, {"Mo.–Fr.", "Montag bis Freitag", 0},
    {"Mo–Fr", "Montag bis Freitag", 0}, {"Mo.-Fr.", "Montag bis Freitag", 0}, {"Mo-Fr", "Montag bis Freitag", 0}, {0}};
static const struct mx_form_item days[] = {
    {"Mo", "Montag", 0}, {"Di", "Dienstag", 0}, {"Mi", "Mittwoch", 0}, {"Do", "Donnerstag", 0}, {"Fr", "Freitag", 0},
    {"Sa", "Samstag", 0}, {"So", "Sonntag", 0}, {"Mo.", "Montag", 0}, {"Di.", "Dienstag", 0}, {"Mi.", "Mittwoch", 0},
    {"Do.", "Donnerstag", 0}, {"Fr.", "Freitag", 0}, {"Sa.", "Samstag", 0}, {"So.", "Sonntag", 0}, {0}};
static const struct mx_form_item net[] = {
    {"@", "at", 0}, {".", "Punkt", 0}, {"_", "Unterstrich", 0}, {"-", "Bindestrich", 0}, {"/", "Slash", 0}, {":", "Doppelpunkt", 0},
    {"?", "Fragezeichen", 0}, {"&", "und", 0}, {"=", "Gleichheitszeichen", 0}, {"%", "Prozent", 0}, {"#", "Raute", 0}, {"~", "Tilde", 0},
    {"+", "plus", 0}, {"..", "Punkt", 0}, {"v", "Version", 0}, {"per", "pro", 0}, {0}};
static const struct mx_form_item networds[] = {{"jpg", "Jot Peg", 0}, {"gmail", "g mail", 0}, {"www", "w w w", 0}, {0}};
static const struct mx_form_item chapters[] = {
    {"Kapitel", "Kapitel", 0}, {"Teil", "Teil", 0}, {"Band", "Band", 0}, {"Akt", "Akt", 0}, {"Klasse", "Klasse", 0}, {"Artikel", "Artikel", 0},
    {"Stufe", "Stufe", 0}, {"Typ", "Typ", 0}, {"Phase", "Phase", 0}, {"Weltkrieg", "Weltkrieg", 0}, {"Hartz", "Hartz", 0}, {0}};
static const struct mx_form_item phonewords[] = {{"telefon", "", 0}, {"handy", "", 0}, {"fax", "", 0}, {"mobil", "", 0}, {"telefonnummer", "", 0}, {"handynummer", "", 0}, {0}};
static const struct mx_form_item dated[] = {{"am", "", 0}, {"vom", "", 0}, {"bis", "", 0}, {"zum", "", 0}, {"ab", "", 0}, {"den", "", 0}, {"dem", "", 0}, {0}};
/* clang-format on */

const struct mx_form_list mx_german_lists[] = {{"ending", endings},
                                               {"months", months},
                                               {"zone", zones},
                                               {"era", eras},
                                               {"scale", scales},
                                               {"currency", currencies},
                                               {"minor", minors},
                                               {"code", codes},
                                               {"numbered", numbered},
                                               {"unit", units},
                                               {"sign", signs},
                                               {"title", titles},
                                               {"abbreviation", abbreviations},
                                               {"dayname", days},
                                               {"net", net},
                                               {"netword", networds},
                                               {"chapter", chapters},
                                               {"phoneword", phonewords},
                                               {"dated", dated},
                                               {"power", mx_form_powers},
                                               {NULL, NULL}};
