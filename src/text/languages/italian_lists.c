/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lists of Italian written forms (forms.h): units, currencies, abbreviations.
 */
#include "text/forms/forms_units.h"
#include "text/languages/italian.h"

/* Several items per line. */
/* clang-format off */
static const struct mx_form_item endings[] = {
    {"°", "masculine", 0}, {"º", "masculine", 0}, {"ª", "feminine", 0}, {"a", "feminine", 0}, {"o", "masculine", 0}, {".º", "masculine", 0}, {".ª", "feminine", 0}, {"ᵒ", "masculine", 0}, {"ᵃ", "feminine", 0}, {"esimo", "masculine", 0}, {"esima", "feminine", 0}, {0}};
static const struct mx_form_item months[] = {{"sett", "9", 0}, {"genn", "1", 0}, {"febbr", "2", 0}, {0}};
static const struct mx_form_item zones[] = {{"utc", "u t c", 0}, {"gmt", "g m t", 0}, {"cet", "c e t", 0}, {"cest", "c e s t", 0}, {"est", "e s t", 0}, {0}};
static const struct mx_form_item eras[] = {{"a.C.", "avanti Cristo", 0}, {"a. C.", "avanti Cristo", 0}, {"d.C.", "dopo Cristo", 0}, {"d. C.", "dopo Cristo", 0}, {0}};
static const struct mx_form_item scales[] = {
    {"mila", "mila", "masculine"}, {"milione", "milione", "masculine"}, {"milioni", "milioni", "masculine"}, {"miliardo", "miliardo", "masculine"}, {"miliardi", "miliardi", "masculine"}, {"bilione", "bilione", "masculine"}, {"bilioni", "bilioni", "masculine"},
    {"mln", "milione|milioni", "masculine"}, {"mld", "miliardo|miliardi", "masculine"}, {"mila", "mila", 0}, {0}};
static const struct mx_form_item currencies[] = {
    {"€", "euro", "masculine"}, {"euro", "euro", "masculine"}, {"eur", "euro", "masculine"}, {"$", "dollaro|dollari", "masculine"}, {"US$", "dollaro statunitense|dollari statunitensi", "masculine"}, {"£", "sterlina|sterline", "feminine"}, {"¥", "yen", "masculine"}, {"₽", "rublo|rubli", "masculine"}, {"₹", "rupia|rupie", "feminine"},
    {"₩", "won", "masculine"}, {"₺", "lira turca|lire turche", "feminine"}, {"₪", "shekel", "masculine"}, {"₿", "bitcoin", "masculine"}, {"Fr.", "franco|franchi", "masculine"}, {"CHF", "franco svizzero|franchi svizzeri", "masculine"}, {"L.", "lira|lire", "feminine"}, {"₴", "grivnia|grivnie", "feminine"}, {"¢", "centesimo|centesimi", "masculine"}, {"cent", "centesimo|centesimi", "masculine"}, {0}};
static const struct mx_form_item minors[] = {
    {"€", "centesimo|centesimi", "masculine"}, {"euro", "centesimo|centesimi", "masculine"}, {"eur", "centesimo|centesimi", "masculine"}, {"EUR", "centesimo|centesimi", "masculine"}, {"$", "centesimo|centesimi", "masculine"}, {"US$", "centesimo|centesimi", "masculine"}, {"USD", "centesimo|centesimi", "masculine"}, {"£", "penny", "masculine"}, {"GBP", "penny", "masculine"},
    {"CHF", "centesimo|centesimi", "masculine"}, {"Fr.", "centesimo|centesimi", "masculine"}, {"₽", "copeco|copechi", "masculine"}, {0}};
static const struct mx_form_item codes[] = {MX_FORM_CODES("feminine", "feminine", "feminine", "feminine", "masculine", "feminine"), {0}};
static const struct mx_form_item numbered[] = {
    {"n.", "numero", 0}, {"n°", "numero", 0}, {"nº", "numero", 0}, {"nn.", "numeri", 0}, {"num.", "numero", 0}, {"nr.", "numero", 0}, {"#", "numero", 0}, {"p.", "pagina", 0}, {"pp.", "pagine", 0}, {"pag.", "pagina", 0}, {"pagg.", "pagine", 0}, {"art.", "articolo", 0}, {"artt.", "articoli", 0}, {"cap.", "capitolo", 0}, {"vol.", "volume", 0}, {"fig.", "figura", 0}, {"tab.", "tabella", 0}, {"co.", "comma", 0}, {"par.", "paragrafo", 0}, {"§", "paragrafo", 0}, {"int.", "interno", 0},
    {"ca.", "circa", 0}, {"≈", "circa", 0}, {"~", "circa", 0}, {"±", "più o meno", 0}, {"<", "minore di", 0}, {">", "maggiore di", 0}, {"≤", "al massimo", 0}, {"≥", "almeno", 0}, {0}};
static const struct mx_form_item units[] = {
    {"km/s", "chilometro per secondo|chilometri per secondo", "masculine"},
    MX_FORM_SI_UNITS,
    {"sec", "@second", 0}, {"sec.", "@second", 0}, {"min.", "@minute", 0}, {"gg", "@day", 0}, {"gg.", "@day", 0}, {"mq", "@square-meter", 0}, {"kmq", "@square-kilometer", 0}, {"mc", "@cubic-meter", 0}, {"lt", "@liter", 0}, {"lt.", "@liter", 0}, {"gr", "@gram", 0}, {"gr.", "@gram", 0}, {"kg.", "@kilogram", 0}, {"q", "quintale|quintali", "masculine"}, {"hg", "etto|etti", "masculine"}, {"km/ora", "@kilometer-per-hour", 0},
    {"cv", "cavallo|cavalli", "masculine"}, {"ab.", "abitante|abitanti", "masculine"}, {"dB", "decibel", "masculine"}, {"giri/min", "giro al minuto|giri al minuto", "masculine"}, {"kV", "kilovolt", "masculine"}, {"mV", "millivolt", "masculine"}, {"cucch.", "cucchiaio|cucchiai", "masculine"}, {"pz", "pezzo|pezzi", "masculine"}, {"pz.", "pezzo|pezzi", "masculine"}, {"%", "per cento", "masculine"}, {"‰", "per mille", "masculine"}, {0}};
static const struct mx_form_item signs[] = {
    {">=", "maggiore o uguale a", 0}, {"<=", "minore o uguale a", 0}, {"!=", "diverso da", 0}, {"==", "uguale", 0}, {"->", "freccia", 0}, {"=>", "freccia", 0},
    {"%", "per cento", 0}, {"‰", "per mille", 0}, {"&", "e", 0}, {"+", "più", 0}, {"=", "uguale", 0}, {"<", "minore di", 0}, {">", "maggiore di", 0}, {"×", "per", 0}, {"÷", "diviso", 0}, {"±", "più o meno", 0}, {"≈", "circa", 0}, {"≠", "diverso da", 0}, {"≤", "minore o uguale a", 0}, {"≥", "maggiore o uguale a", 0}, {"√", "radice di", 0}, {"∞", "infinito", 0}, {"π", "pi greco", 0}, {"°", "gradi", 0}, {"§", "paragrafo", 0},
    {"€", "euro", 0}, {"$", "dollari", 0}, {"£", "sterline", 0}, {"¥", "yen", 0}, {"@", "chiocciola", 0}, {"©", "copyright", 0}, {"®", "marchio registrato", 0}, {"™", "marchio", 0}, {"→", "freccia", 0}, {"²", "al quadrato", 0}, {"³", "al cubo", 0}, {"m²", "metri quadrati", 0}, {"α", "alfa", 0}, {"β", "beta", 0}, {"γ", "gamma", 0}, {"δ", "delta", 0}, {"Δ", "delta", 0}, {"λ", "lambda", 0}, {"σ", "sigma", 0}, {"ω", "omega", 0}, {"Ω", "ohm", 0}, {"∑", "somma", 0}, {"µ", "micro", 0}, {0}};
static const struct mx_form_item titles[] = {
    {"sig.", "signor", 0}, {"sig.ra", "signora", 0}, {"sig.na", "signorina", 0}, {"sigg.", "signori", 0}, {"dott.", "dottor", 0}, {"dott.ssa", "dottoressa", 0}, {"dr.", "dottor", 0}, {"dr.ssa", "dottoressa", 0}, {"prof.", "professor", 0}, {"prof.ssa", "professoressa", 0}, {"avv.", "avvocato", 0}, {"ing.", "ingegner", 0}, {"arch.", "architetto", 0}, {"geom.", "geometra", 0}, {"rag.", "ragionier", 0}, {"on.", "onorevole", 0}, {"sen.", "senatore", 0}, {"gen.", "generale", 0}, {"col.", "colonnello", 0}, {"cap.", "capitano", 0}, {"mons.", "monsignor", 0}, {"egr.", "egregio", 0}, {"gent.ma", "gentilissima", 0}, {"gent.mo", "gentilissimo", 0}, {"spett.", "spettabile", 0}, {"spett.le", "spettabile", 0}, {"dip.", "dipartimento", 0}, {"uff.", "ufficio", 0}, {"min.", "ministero", 0}, {"univ.", "università", 0},
    {"c.so", "corso", 0}, {"p.zza", "piazza", 0}, {"p.za", "piazza", 0}, {"v.le", "viale", 0}, {"str.", "strada", 0}, {"ca.", "circa", 0}, {"cfr.", "confronta", 0}, {"es.", "esempio", 0}, {"ad es.", "ad esempio", 0}, {"p. es.", "per esempio", 0}, {"p.es.", "per esempio", 0}, {"max.", "massimo", 0}, {"n.", "numero", 0}, {"tel.", "telefono", 0}, {"ss.", "santissimi", 0}, {"f.lli", "fratelli", 0}, {"c.a.", "cortese attenzione", 0}, {"vs.", "contro", 0}, {"nr.", "numero", 0}, {"c/o", "presso", 0}, {"rif.", "riferimento", 0}, {"all.", "allegato", 0}, {"ed.", "edizione", 0}, {"lun.", "lunedì", 0}, {"mar.", "martedì", 0}, {"mer.", "mercoledì", 0}, {"gio.", "giovedì", 0}, {"ven.", "venerdì", 0}, {"sab.", "sabato", 0}, {"dom.", "domenica", 0}, {0}};
static const struct mx_form_item abbreviations[] = {
    {"ecc.", "eccetera", 0}, {"etc.", "eccetera", 0}, {"s.p.a.", "società per azioni", 0}, {"s.r.l.", "s r l", 0}, {"a.C.", "avanti Cristo", 0}, {"d.C.", "dopo Cristo", 0}, {"u.s.", "ultimo scorso", 0}, {"c.m.", "corrente mese", 0}, {"N.B.", "nota bene", 0}, {"c.a.p.", "cap", 0}, {"incl.", "incluso", 0}, {0}};
static const struct mx_form_item net[] = {
    {"@", "chiocciola", 0}, {".", "punto", 0}, {"_", "trattino basso", 0}, {"-", "trattino", 0}, {"/", "slash", 0}, {":", "due punti", 0}, {"?", "punto interrogativo", 0}, {"&", "e commerciale", 0}, {"=", "uguale", 0}, {"%", "per cento", 0}, {"#", "cancelletto", 0}, {"~", "tilde", 0}, {"+", "più", 0}, {"..", "punto", 0}, {"v", "versione", 0}, {"per", "al", 0}, {0}};
static const struct mx_form_item networds[] = {{"www", "w w w", 0}, {"com", "com", 0}, {"jpg", "gei peg", 0}, {"gmail", "gi mail", 0}, {"org", "org", 0}, {0}};
static const struct mx_form_item chapters[] = {
    {"capitolo", "capitolo", 0}, {"tomo", "tomo", 0}, {"volume", "volume", 0}, {"atto", "atto", 0}, {"libro", "libro", 0}, {"fase", "fase", 0}, {"tipo", "tipo", 0}, {"titolo", "titolo", 0}, {"parte", "parte", 0}, {"classe", "classe", 0}, {"categoria", "categoria", 0}, {"articolo", "articolo", 0}, {0}};
static const struct mx_form_item phonewords[] = {{"telefono", "", 0}, {"tel", "", 0}, {"numero", "", 0}, {"cellulare", "", 0}, {"fax", "", 0}, {"whatsapp", "", 0}, {0}};
static const struct mx_form_item dated[] = {{"il", "", 0}, {"del", "", 0}, {"al", "", 0}, {"dal", "", 0}, {"lunedì", "", 0}, {"martedì", "", 0}, {"mercoledì", "", 0}, {"giovedì", "", 0}, {"venerdì", "", 0}, {"sabato", "", 0}, {"domenica", "", 0}, {0}};
/* clang-format on */

const struct mx_form_list mx_italian_lists[] = {{"ending", endings},
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
                                                {"net", net},
                                                {"netword", networds},
                                                {"chapter", chapters},
                                                {"phoneword", phonewords},
                                                {"dated", dated},
                                                {"power", mx_form_powers},
                                                {NULL, NULL}};
