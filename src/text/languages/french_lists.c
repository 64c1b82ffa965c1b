/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lists of French written forms (forms.h): units, currencies, abbreviations.
 */
#include "text/forms/forms_units.h"
#include "text/languages/french.h"

/* Several items per line. */
/* clang-format off */
#define MASCULINE(written) {written, "masculine", 0}
#define FEMININE(written)  {written, "feminine", 0}
static const struct mx_form_item endings[] = {
    MASCULINE("er"), MASCULINE("ᵉʳ"), FEMININE("re"), FEMININE("ère"), FEMININE("ʳᵉ"), MASCULINE("e"), MASCULINE("ᵉ"), MASCULINE("ème"), MASCULINE("eme"), MASCULINE("ième"),
    MASCULINE("ᵉᵐᵉ"), MASCULINE("nd"), FEMININE("nde"), {"ers", "masculine-plural", 0}, {"res", "feminine-plural", 0}, {"es", "masculine-plural", 0}, {"èmes", "masculine-plural", 0}, {"emes", "masculine-plural", 0}, {0}};
static const struct mx_form_item romans[] = {{"e", "", 0}, {"ᵉ", "", 0}, {"ème", "", 0}, {"er", "", 0}, {"ᵉʳ", "", 0}, {"re", "", 0}, {"es", "", 0}, {0}};
static const struct mx_form_item months[] = {{"janv", "1", 0}, {"fev", "2", 0}, {"fevrier", "2", 0}, {"avr", "4", 0}, {"juil", "7", 0}, {"aout", "8", 0}, {"sept", "9", 0}, {"oct", "10", 0}, {"nov", "11", 0}, {"dec", "12", 0}, {0}};
static const struct mx_form_item zones[] = {{"utc", "u t c", 0}, {"gmt", "g m t", 0}, {"cet", "c e t", 0}, {"cest", "c e s t", 0}, {"est", "e s t", 0}, {"hnec", "h n e c", 0}, {0}};
static const struct mx_form_item eras[] = {
    {"av. J.-C.", "avant Jésus-Christ", 0}, {"avant J.-C.", "avant Jésus-Christ", 0}, {"apr. J.-C.", "après Jésus-Christ", 0}, {"ap. J.-C.", "après Jésus-Christ", 0}, {"après J.-C.", "après Jésus-Christ", 0}, {"av. JC", "avant Jésus-Christ", 0}, {0}};
static const struct mx_form_item scales[] = {
    {"million", "million", "masculine"}, {"millions", "millions", "masculine"}, {"milliard", "milliard", "masculine"}, {"milliards", "milliards", "masculine"}, {"billion", "billion", "masculine"}, {"billions", "billions", "masculine"},
    {"mio", "million|millions", "masculine"}, {"md", "milliard|milliards", "masculine"}, {"mds", "milliard|milliards", "masculine"}, {0}};
static const struct mx_form_item currencies[] = {
    {"€", "euro|euros", "masculine"}, {"euro", "euro", "masculine"}, {"euros", "euros", "masculine"}, {"$", "dollar|dollars", "masculine"}, {"US$", "dollar américain|dollars américains", "masculine"}, {"$ US", "dollar américain|dollars américains", "masculine"}, {"$US", "dollar américain|dollars américains", "masculine"}, {"$ CA", "dollar canadien|dollars canadiens", "masculine"}, {"CA$", "dollar canadien|dollars canadiens", "masculine"},
    {"£", "livre|livres", "feminine"}, {"¥", "yen|yens", "masculine"}, {"₽", "rouble|roubles", "masculine"}, {"₹", "roupie|roupies", "feminine"}, {"₩", "won|wons", "masculine"}, {"₺", "livre turque|livres turques", "feminine"}, {"₪", "shekel|shekels", "masculine"}, {"₿", "bitcoin|bitcoins", "masculine"},
    {"F", "franc|francs", "masculine"}, {"FF", "franc|francs", "masculine"}, {"Fr.", "franc|francs", "masculine"}, {"FCFA", "franc CFA|francs CFA", "masculine"}, {"CHF", "franc suisse|francs suisses", "masculine"}, {"¢", "centime|centimes", "masculine"}, {"cts", "centime|centimes", "masculine"}, {"₴", "hryvnia|hryvnias", "feminine"}, {0}};
static const struct mx_form_item minors[] = {
    {"€", "centime|centimes", "masculine"}, {"euro", "centime|centimes", "masculine"}, {"euros", "centime|centimes", "masculine"}, {"EUR", "centime|centimes", "masculine"}, {"$", "cent|cents", "masculine"}, {"US$", "cent|cents", "masculine"}, {"$ US", "cent|cents", "masculine"}, {"$US", "cent|cents", "masculine"}, {"$ CA", "cent|cents", "masculine"}, {"CA$", "cent|cents", "masculine"}, {"USD", "cent|cents", "masculine"}, {"CAD", "cent|cents", "masculine"},
    {"£", "penny|pence", "masculine"}, {"GBP", "penny|pence", "masculine"}, {"F", "centime|centimes", "masculine"}, {"FF", "centime|centimes", "masculine"}, {"Fr.", "centime|centimes", "masculine"}, {"CHF", "centime|centimes", "masculine"}, {"₽", "kopeck|kopecks", "masculine"}, {"₹", "paisa|paisas", "masculine"}, {0}};
static const struct mx_form_item codes[] = {MX_FORM_CODES("feminine", "feminine", "feminine", "feminine", "masculine", "feminine"), {0}};
static const struct mx_form_item numbered[] = {
    {"n°", "numéro", 0}, {"nº", "numéro", 0}, {"nᵒ", "numéro", 0}, {"n°s", "numéros", 0}, {"no.", "numéro", 0}, {"#", "numéro", 0}, {"p.", "page", 0}, {"pp.", "pages", 0}, {"art.", "article", 0}, {"chap.", "chapitre", 0}, {"fig.", "figure", 0}, {"vol.", "volume", 0}, {"t.", "tome", 0}, {"al.", "alinéa", 0}, {"§", "paragraphe", 0}, {"env.", "environ", 0}, {"≈", "environ", 0}, {"~", "environ", 0}, {"±", "plus ou moins", 0}, {"<", "inférieur à", 0}, {">", "supérieur à", 0}, {"≤", "au plus", 0}, {"≥", "au moins", 0}, {0}};
static const struct mx_form_item units[] = {
    MX_FORM_SI_UNITS,
    {"sec", "@second", 0}, {"sec.", "@second", 0}, {"mn", "@minute", 0}, {"min.", "@minute", 0}, {"hrs", "@hour", 0}, {"j", "@day", 0}, {"Go", "gigaoctet|gigaoctets", "masculine"}, {"Mo", "mégaoctet|mégaoctets", "masculine"}, {"Ko", "kilooctet|kilooctets", "masculine"}, {"ko", "kilooctet|kilooctets", "masculine"}, {"To", "téraoctet|téraoctets", "masculine"}, {"Mo/s", "mégaoctet par seconde|mégaoctets par seconde", "masculine"}, {"Go/s", "gigaoctet par seconde|gigaoctets par seconde", "masculine"},
    {"c. à s.", "cuillère à soupe|cuillères à soupe", "feminine"}, {"c. à c.", "cuillère à café|cuillères à café", "feminine"}, {"cs", "cuillère à soupe|cuillères à soupe", "feminine"}, {"cc", "cuillère à café|cuillères à café", "feminine"}, {"c. à café", "cuillère à café|cuillères à café", "feminine"}, {"c. à soupe", "cuillère à soupe|cuillères à soupe", "feminine"}, {"hab.", "habitant|habitants", "masculine"}, {"ch", "cheval|chevaux", "masculine"}, {"dB", "décibel|décibels", "masculine"}, {"tr/min", "tour par minute|tours par minute", "masculine"}, {"kV", "kilovolt|kilovolts", "masculine"}, {"mV", "millivolt|millivolts", "masculine"}, {"q", "quintal|quintaux", "masculine"}, {"pers.", "personne|personnes", "feminine"}, {"%", "pour cent", "masculine"}, {"‰", "pour mille", "masculine"}, {0}};
static const struct mx_form_item signs[] = {
    {">=", "supérieur ou égal à", 0}, {"<=", "inférieur ou égal à", 0}, {"!=", "différent de", 0}, {"==", "égale", 0}, {"->", "flèche", 0}, {"=>", "flèche", 0},
    {"%", "pour cent", 0}, {"‰", "pour mille", 0}, {"&", "et", 0}, {"+", "plus", 0}, {"=", "égale", 0}, {"<", "inférieur à", 0}, {">", "supérieur à", 0}, {"×", "fois", 0}, {"÷", "divisé par", 0}, {"±", "plus ou moins", 0}, {"≈", "environ", 0}, {"≠", "différent de", 0}, {"≤", "inférieur ou égal à", 0}, {"≥", "supérieur ou égal à", 0}, {"√", "racine de", 0}, {"∞", "infini", 0}, {"π", "pi", 0}, {"°", "degrés", 0}, {"§", "paragraphe", 0},
    {"€", "euros", 0}, {"$", "dollars", 0}, {"£", "livres", 0}, {"¥", "yens", 0}, {"@", "arobase", 0}, {"©", "copyright", 0}, {"®", "marque déposée", 0}, {"™", "marque", 0}, {"→", "flèche", 0}, {"²", "au carré", 0}, {"³", "au cube", 0}, {"m²", "mètres carrés", 0}, {"α", "alpha", 0}, {"β", "bêta", 0}, {"γ", "gamma", 0}, {"δ", "delta", 0}, {"Δ", "delta", 0}, {"λ", "lambda", 0}, {"σ", "sigma", 0}, {"ω", "oméga", 0}, {"Ω", "ohms", 0}, {"∑", "somme", 0}, {"µ", "micro", 0}, {0}};
static const struct mx_form_item titles[] = {
    {"M.", "monsieur", 0}, {"MM.", "messieurs", 0}, {"Mme", "madame", 0}, {"Mme.", "madame", 0}, {"Mmes", "mesdames", 0}, {"Mlle", "mademoiselle", 0}, {"Mlle.", "mademoiselle", 0}, {"Mlles", "mesdemoiselles", 0}, {"Mgr", "monseigneur", 0}, {"Me", "maître", 0}, {"Dr", "docteur", 0}, {"Dr.", "docteur", 0}, {"Drs", "docteurs", 0}, {"Pr", "professeur", 0}, {"Pr.", "professeur", 0},
    {"Mᵐᵉ", "madame", 0}, {"Mᵐᵉˢ", "mesdames", 0}, {"Mˡˡᵉ", "mademoiselle", 0}, {"Mˡˡᵉˢ", "mesdemoiselles", 0}, {"Mᵍʳ", "monseigneur", 0}, {"Dʳ", "docteur", 0}, {"Dʳˢ", "docteurs", 0}, {"Dʳᵉ", "docteure", 0}, {"Dʳᵉˢ", "docteures", 0}, {"Pʳ", "professeur", 0}, {"Pʳˢ", "professeurs", 0}, {"Pʳᵉ", "professeure", 0}, {"Pʳᵉˢ", "professeures", 0}, {"Mᵉ", "maître", 0}, {"Mᵉˢ", "maîtres", 0}, {"Cⁱᵉ", "compagnie", 0}, {"Sᵗ", "saint", 0}, {"Sᵗᵉ", "sainte", 0},
    {"St", "saint", 0}, {"Ste", "sainte", 0}, {"St-", "saint ", 0}, {"Ste-", "sainte ", 0}, {"Cie", "compagnie", 0}, {"av.", "avenue", 0}, {"bd", "boulevard", 0}, {"bd.", "boulevard", 0}, {"boul.", "boulevard", 0}, {"pl.", "place", 0}, {"p. ex.", "par exemple", 0}, {"p.ex.", "par exemple", 0}, {"c.-à-d.", "c'est-à-dire", 0}, {"c. -à-d.", "c'est-à-dire", 0}, {"cf.", "confer", 0}, {"env.", "environ", 0}, {"max.", "maximum", 0}, {"min.", "minimum", 0}, {"éd.", "édition", 0}, {"vs", "versus", 0}, {"vs.", "versus", 0}, {"n°", "numéro", 0}, {"tél.", "téléphone", 0}, {"dép.", "département", 0}, {"apt.", "appartement", 0}, {"appt.", "appartement", 0}, {"resp.", "respectivement", 0}, {"svp", "s'il vous plaît", 0}, {"rdv", "rendez-vous", 0}, {"RDV", "rendez-vous", 0}, {"s/", "sur ", 0}, {0}};
static const struct mx_form_item abbreviations[] = {
    {"etc.", "et cetera", 0}, {"J.-C.", "Jésus-Christ", 0}, {"S.A.", "s a", 0}, {"s. d.", "sans date", 0}, {"N.B.", "nota bene", 0}, {"P.-S.", "post-scriptum", 0}, {"É.-U.", "États-Unis", 0}, {"hab.", "habitants", 0}, {"incl.", "inclus", 0}, {"lun.", "lundi", 0}, {"mar.", "mardi", 0}, {"mer.", "mercredi", 0}, {"jeu.", "jeudi", 0}, {"ven.", "vendredi", 0}, {"sam.", "samedi", 0}, {"dim.", "dimanche", 0}, {0}};
static const struct mx_form_item net[] = {
    {"@", "arobase", 0}, {".", "point", 0}, {"_", "tiret bas", 0}, {"-", "tiret", 0}, {"/", "barre oblique", 0}, {":", "deux points", 0}, {"?", "point d'interrogation", 0}, {"&", "et", 0}, {"=", "égale", 0}, {"%", "pour cent", 0}, {"#", "dièse", 0}, {"~", "tilde", 0}, {"+", "plus", 0}, {"..", "point", 0}, {"v", "version", 0}, {"per", "par", 0}, {0}};
static const struct mx_form_item letters[] = {{"y", "i grec", 0}, {0}};
static const struct mx_form_item networds[] = {{"www", "w w w", 0}, {"com", "com", 0}, {"jpg", "j peg", 0}, {"gmail", "g mail", 0}, {"org", "org", 0}, {0}};
static const struct mx_form_item chapters[] = {
    {"chapitre", "chapitre", 0}, {"tome", "tome", 0}, {"volume", "volume", 0}, {"acte", "acte", 0}, {"livre", "livre", 0}, {"phase", "phase", 0}, {"type", "type", 0}, {"titre", "titre", 0}, {"annexe", "annexe", 0}, {"partie", "partie", 0}, {"classe", "classe", 0}, {"catégorie", "catégorie", 0}, {"article", "article", 0}, {"paris", "Paris", 0}, {0}};
static const struct mx_form_item phonewords[] = {{"téléphone", "", 0}, {"tél", "", 0}, {"numéro", "", 0}, {"portable", "", 0}, {"fax", "", 0}, {"mobile", "", 0}, {0}};
static const struct mx_form_item dated[] = {{"le", "", 0}, {"du", "", 0}, {"au", "", 0}, {"lundi", "", 0}, {"mardi", "", 0}, {"mercredi", "", 0}, {"jeudi", "", 0}, {"vendredi", "", 0}, {"samedi", "", 0}, {"dimanche", "", 0}, {0}};
/* clang-format on */

const struct mx_form_list mx_french_lists[] = {{"ending", endings},
                                               {"romanending", romans},
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
                                               {"letter", letters},
                                               {"netword", networds},
                                               {"chapter", chapters},
                                               {"phoneword", phonewords},
                                               {"dated", dated},
                                               {"power", mx_form_powers},
                                               {NULL, NULL}};
