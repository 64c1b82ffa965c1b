/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lists of Spanish written forms (forms.h): units, currencies, abbreviations.
 */
#include "text/forms/forms_units.h"
#include "text/languages/spanish.h"

/* Several items per line. */
/* clang-format off */
static const struct mx_form_item endings[] = {
    {".ª", "feminine", 0}, {"ª", "feminine", 0}, {".a", "feminine", 0}, {".º", "masculine", 0}, {"º", "masculine", 0}, {".°", "masculine", 0},
    {".ᵉʳ", "masculine-short", 0}, {"ᵉʳ", "masculine-short", 0}, {".er", "masculine-short", 0}, {"er", "masculine-short", 0},
    {"ra", "feminine", 0}, {"da", "feminine", 0}, {"ta", "feminine", 0}, {"ma", "feminine", 0}, {"va", "feminine", 0}, {"na", "feminine", 0},
    {"ro", "masculine", 0}, {"do", "masculine", 0}, {"to", "masculine", 0}, {"mo", "masculine", 0}, {"vo", "masculine", 0}, {"no", "masculine", 0},
    {".ᵒ", "masculine", 0}, {"ᵒ", "masculine", 0}, {".ᵃ", "feminine", 0}, {0}};
static const struct mx_form_item months[] = {{"sept", "9", 0}, {"set", "9", 0}, {"setiembre", "9", 0}, {0}};
static const struct mx_form_item halves[] = {
    {"a.m.", "a", 0}, {"a.m", "a", 0}, {"am", "a", 0}, {"a. m.", "a", 0}, {"p.m.", "p", 0}, {"p.m", "p", 0}, {"pm", "p", 0}, {"p. m.", "p", 0}, {0}};
static const struct mx_form_item zones[] = {
    {"est", "e s t", 0}, {"pst", "p s t", 0}, {"cst", "c s t", 0}, {"mst", "m s t", 0}, {"utc", "u t c", 0}, {"gmt", "g m t", 0}, {"cet", "c e t", 0}, {"cest", "c e s t", 0}, {0}};
static const struct mx_form_item eras[] = {
    {"a. c.", "antes de Cristo", 0}, {"a.c.", "antes de Cristo", 0}, {"a. de c.", "antes de Cristo", 0}, {"d. c.", "después de Cristo", 0},
    {"d.c.", "después de Cristo", 0}, {"d. de c.", "después de Cristo", 0}, {0}};
static const struct mx_form_item scales[] = {
    {"mil", "mil", 0}, {"mil millones", "mil millones", "masculine"}, {"millón", "millón", "masculine"}, {"millones", "millones", "masculine"},
    {"billón", "billón", "masculine"}, {"billones", "billones", "masculine"}, {"trillón", "trillón", "masculine"}, {"trillones", "trillones", "masculine"},
    {"mill.", "millón|millones", "masculine"}, {"mdd", "millones de dólares", "masculine"}, {0}};
static const struct mx_form_item currencies[] = {
    {"$", "dólar|dólares", "masculine"}, {"us$", "dólar estadounidense|dólares estadounidenses", "masculine"}, {"€", "euro|euros", "masculine"},
    {"mex$", "peso mexicano|pesos mexicanos", "masculine"}, {"ar$", "peso argentino|pesos argentinos", "masculine"}, {"r$", "real|reales", "masculine"},
    {"£", "libra|libras", "feminine"}, {"¥", "yen|yenes", "masculine"}, {"₡", "colón|colones", "masculine"}, {"₧", "peseta|pesetas", "feminine"},
    {"pta", "peseta|pesetas", "feminine"}, {"ptas", "peseta|pesetas", "feminine"}, {"₩", "won", "masculine"}, {"₽", "rublo|rublos", "masculine"},
    {"₹", "rupia|rupias", "feminine"}, {"rs", "rupia|rupias", "feminine"}, {"₺", "lira|liras", "feminine"}, {"₱", "peso|pesos", "masculine"}, {"₲", "guaraní|guaraníes", "masculine"},
    {"₪", "séquel|séqueles", "masculine"}, {"₿", "bitcoin|bitcoins", "masculine"}, {"kr", "corona|coronas", "feminine"}, {"fr", "franco|francos", "masculine"},
    {"fr.", "franco|francos", "masculine"}, {"s/", "sol|soles", "masculine"}, {"bs", "bolívar|bolívares", "masculine"}, {"¢", "centavo|centavos", "masculine"}, {"₴", "grivna|grivnas", "feminine"}, {"฿", "baht", "masculine"}, {"₫", "dong", "masculine"}, {0}};
static const struct mx_form_item minors[] = {
    {"$", "centavo|centavos", "masculine"}, {"us$", "centavo|centavos", "masculine"}, {"mex$", "centavo|centavos", "masculine"}, {"ar$", "centavo|centavos", "masculine"},
    {"€", "céntimo|céntimos", "masculine"}, {"eur", "céntimo|céntimos", "masculine"}, {"usd", "centavo|centavos", "masculine"}, {"£", "penique|peniques", "masculine"},
    {"gbp", "penique|peniques", "masculine"}, {"¥", "centavo|centavos", "masculine"}, {"₡", "céntimo|céntimos", "masculine"}, {"₧", "céntimo|céntimos", "masculine"},
    {"r$", "centavo|centavos", "masculine"}, {"fr", "céntimo|céntimos", "masculine"}, {"₽", "kopek|kopeks", "masculine"}, {"₹", "paisa|paisas", "feminine"}, {"s/", "céntimo|céntimos", "masculine"},
    {"mxn", "centavo|centavos", "masculine"}, {"chf", "céntimo|céntimos", "masculine"}, {"rs", "paisa|paisas", "feminine"}, {"kr", "öre", "masculine"}, {0}};
/* In small letters, which take any case; those of America in full. */
static const struct mx_form_item codes[] = {
    {"usd", "dólar|dólares", "masculine"}, {"eur", "euro|euros", "masculine"}, {"gbp", "libra|libras", "feminine"}, {"jpy", "yen|yenes", "masculine"},
    {"chf", "$CHF", "masculine"}, {"cny", "$CNY", "masculine"}, {"rub", "rublo|rublos", "masculine"}, {"cad", "$CAD", "masculine"}, {"aud", "$AUD", "masculine"},
    {"nzd", "$NZD", "masculine"}, {"hkd", "dólar de Hong Kong|dólares de Hong Kong", "masculine"}, {"sgd", "$SGD", "masculine"}, {"ttd", "$TTD", "masculine"}, {"jmd", "$JMD", "masculine"},
    {"bzd", "$BZD", "masculine"}, {"bbd", "$BBD", "masculine"}, {"mxn", "$MXN", "masculine"}, {"ars", "$ARS", "masculine"}, {"clp", "$CLP", "masculine"},
    {"cop", "$COP", "masculine"}, {"uyu", "$UYU", "masculine"}, {"dop", "$DOP", "masculine"}, {"cup", "$CUP", "masculine"}, {"pen", "$PEN", "masculine"},
    {"brl", "$BRL", "masculine"}, {"crc", "$CRC", "masculine"}, {"gtq", "quetzal|quetzales", "masculine"}, {"hnl", "lempira|lempiras", "masculine"},
    {"nio", "córdoba|córdobas", "masculine"}, {"pab", "balboa|balboas", "masculine"}, {"bob", "$BOB", "masculine"}, {"ves", "$VES", "masculine"}, {"vef", "bolívar|bolívares", "masculine"},
    {"pyg", "guaraní|guaraníes", "masculine"}, {"htg", "gourde|gourdes", "masculine"}, {"svc", "colón|colones", "masculine"}, {"sek", "$SEK", "feminine"}, {"nok", "$NOK", "feminine"},
    {"dkk", "$DKK", "feminine"}, {"czk", "$CZK", "feminine"}, {"inr", "$INR", "feminine"}, {"TRY", "$TRY", "feminine"}, {"pln", "$PLN", "masculine"}, {"huf", "$HUF", "masculine"},
    {"krw", "$KRW", "masculine"}, {"ils", "$ILS", "masculine"}, {"zar", "$ZAR", "masculine"}, {"mad", "$MAD", "masculine"}, {"btc", "bitcoin|bitcoins", "masculine"}, {0}};
static const struct mx_form_item numbered[] = {
    {"n.º", "número", 0}, {"n.°", "número", 0}, {"nº", "número", 0}, {"n°", "número", 0}, {"núm.", "número", 0}, {"núms.", "números", 0}, {"nro.", "número", 0}, {"#", "número", 0},
    {"pág.", "página", 0}, {"págs.", "páginas", 0}, {"p.", "página", 0}, {"pp.", "páginas", 0}, {"art.", "artículo", 0}, {"arts.", "artículos", 0}, {"cap.", "capítulo", 0},
    {"vol.", "volumen", 0}, {"fig.", "figura", 0}, {"ed.", "edición", 0}, {"§", "sección", 0}, {"km", "kilómetro", 0},
    {"aprox.", "aproximadamente", 0}, {"≈", "aproximadamente", 0}, {"~", "aproximadamente", 0}, {"±", "más menos", 0}, {"<", "menor que", 0}, {">", "mayor que", 0}, {"≤", "menor o igual que", 0}, {"≥", "mayor o igual que", 0}, {0}};
#define CELSIUS(written) {written, "grado centígrado|grados centígrados", "masculine"}
static const struct mx_form_item units[] = {
    CELSIUS("°C"), CELSIUS("° C"), CELSIUS("º C"), CELSIUS("ºC"), CELSIUS("° c"), CELSIUS("°c"),
    MX_FORM_SI_UNITS,
    {"kph", "@kilometer-per-hour", 0}, {"hz", "@hertz", 0}, {"seg", "@second", 0}, {"seg.", "@second", 0}, {"segs.", "@second", 0}, {"sg", "@second", 0}, {"min.", "@minute", 0}, {"hs", "@hour", 0}, {"hrs", "@hour", 0}, {"hrs.", "@hour", 0},
    {"kgs", "@kilogram", 0}, {"kgs.", "@kilogram", 0}, {"gr", "@gram", 0}, {"gr.", "@gram", 0}, {"grs", "@gram", 0}, {"lts", "@liter", 0}, {"lt", "@liter", 0}, {"mts", "@meter", 0}, {"kms", "@kilometer", 0},
    {"cda.", "cucharada|cucharadas", "feminine"}, {"cdas.", "cucharada|cucharadas", "feminine"}, {"cdta.", "cucharadita|cucharaditas", "feminine"}, {"cdtas.", "cucharadita|cucharaditas", "feminine"},
    {"uds.", "unidad|unidades", "feminine"}, {"ud.", "unidad|unidades", "feminine"}, {"hab.", "habitante|habitantes", "masculine"}, {"cv", "caballo|caballos", "masculine"}, {"dB", "decibelio|decibelios", "masculine"}, {"rpm", "revolución por minuto|revoluciones por minuto", "feminine"},
    {"pulg.", "@inch", 0}, {"d", "@day", 0}, {"mV", "milivoltio|milivoltios", "masculine"}, {"kV", "kilovoltio|kilovoltios", "masculine"}, {0}};
static const struct mx_form_item signs[] = {
    {">=", "mayor o igual que", 0}, {"<=", "menor o igual que", 0}, {"!=", "distinto de", 0}, {"==", "igual a", 0}, {"->", "flecha", 0}, {"=>", "flecha", 0},
    {"%", "por ciento", 0}, {"‰", "por mil", 0}, {"&", "y", 0}, {"+", "más", 0}, {"=", "igual a", 0}, {"<", "menor que", 0}, {">", "mayor que", 0}, {"×", "por", 0}, {"÷", "entre", 0}, {"±", "más menos", 0},
    {"≈", "aproximadamente", 0}, {"≠", "distinto de", 0}, {"≤", "menor o igual que", 0}, {"≥", "mayor o igual que", 0}, {"√", "raíz de", 0}, {"∞", "infinito", 0}, {"π", "pi", 0}, {"°", "grados", 0}, {"§", "sección", 0},
    {"€", "euros", 0}, {"$", "dólares", 0}, {"£", "libras", 0}, {"¥", "yenes", 0}, {"@", "arroba", 0}, {"©", "copyright", 0}, {"®", "marca registrada", 0}, {"™", "marca", 0}, {"→", "flecha", 0}, {"²", "al cuadrado", 0}, {"³", "al cubo", 0},
    {"m²", "metros cuadrados", 0}, {"α", "alfa", 0}, {"β", "beta", 0}, {"γ", "gamma", 0}, {"δ", "delta", 0}, {"Δ", "delta", 0}, {"λ", "lambda", 0}, {"σ", "sigma", 0}, {"ω", "omega", 0}, {"Ω", "ohmios", 0}, {"∑", "suma", 0}, {"µ", "micro", 0}, {0}};
static const struct mx_form_item titles[] = {
    {"sr.", "señor", 0}, {"sra.", "señora", 0}, {"srta.", "señorita", 0}, {"sres.", "señores", 0}, {"dr.", "doctor", 0}, {"dra.", "doctora", 0}, {"dres.", "doctores", 0}, {"dña.", "doña", 0}, {"d.ª", "doña", 0},
    {"prof.", "profesor", 0}, {"profa.", "profesora", 0}, {"lic.", "licenciado", 0}, {"ing.", "ingeniero", 0}, {"arq.", "arquitecto", 0}, {"gral.", "general", 0}, {"sto.", "santo", 0}, {"sta.", "santa", 0}, {"av.", "avenida", 0}, {"avda.", "avenida", 0},
    {"c/", "calle", 0}, {"pza.", "plaza", 0}, {"pl.", "plaza", 0}, {"p.º", "paseo", 0}, {"c.º", "camino", 0}, {"ctra.", "carretera", 0}, {"dpto.", "departamento", 0}, {"depto.", "departamento", 0}, {"p. ej.", "por ejemplo", 0}, {"p.ej.", "por ejemplo", 0}, {"v. gr.", "verbigracia", 0},
    {"aprox.", "aproximadamente", 0}, {"máx.", "máximo", 0}, {"mín.", "mínimo", 0}, {"núm.", "número", 0}, {"n.º", "número", 0}, {"nº", "número", 0}, {"tel.", "teléfono", 0}, {"tlf.", "teléfono", 0}, {"excmo.", "excelentísimo", 0}, {"excma.", "excelentísima", 0}, {"ilmo.", "ilustrísimo", 0},
    {"cía.", "compañía", 0}, {"vs.", "versus", 0}, {"EE. UU.", "Estados Unidos", 0}, {"EE.UU.", "Estados Unidos", 0}, {"EE UU", "Estados Unidos", 0}, {"EEUU", "Estados Unidos", 0}, {"RR. HH.", "recursos humanos", 0}, {"RR.HH.", "recursos humanos", 0}, {"JJ. OO.", "Juegos Olímpicos", 0}, {"Mons.", "monseñor", 0}, {"S. M.", "Su Majestad", 0}, {"cf.", "confróntese", 0}, {0}};
static const struct mx_form_item abbreviations[] = {
    {"etc.", "etcétera", 0}, {"ud.", "usted", 0}, {"uds.", "ustedes", 0}, {"vd.", "usted", 0}, {"vds.", "ustedes", 0}, {"a. c.", "antes de Cristo", 0}, {"d. c.", "después de Cristo", 0}, {"a. C.", "antes de Cristo", 0}, {"d. C.", "después de Cristo", 0},
    {"izq.", "izquierda", 0}, {"izda.", "izquierda", 0}, {"dcha.", "derecha", 0}, {"s. a.", "sociedad anónima", 0}, {"S.A.", "sociedad anónima", 0}, {"S. L.", "sociedad limitada", 0}, {"S.L.", "sociedad limitada", 0}, {"c. p.", "código postal", 0}, {"q. e. p. d.", "que en paz descanse", 0}, {"incl.", "incluido", 0}, {0}};
static const struct mx_form_item net[] = {
    {"@", "arroba", 0}, {".", "punto", 0}, {"_", "guion bajo", 0}, {"-", "guion", 0}, {"/", "barra", 0}, {":", "dos puntos", 0}, {"?", "signo de interrogación", 0}, {"&", "y", 0}, {"=", "igual", 0}, {"%", "por ciento", 0}, {"#", "almohadilla", 0}, {"~", "virgulilla", 0},
    {"+", "más", 0}, {"..", "punto", 0}, {"v", "versión", 0}, {"per", "por", 0}, {0}};
static const struct mx_form_item letters[] = {{"y", "i griega", 0}, {0}};
static const struct mx_form_item networds[] = {{"www", "w w w", 0}, {"com", "com", 0}, {"jpg", "jota pe ge", 0}, {"org", "org", 0}, {0}};
static const struct mx_form_item chapters[] = {
    {"siglo", "siglo", 0}, {"siglos", "siglos", 0}, {"s.", "siglo", 0}, {"año", "año", 0}, {"capítulo", "capítulo", 0}, {"tomo", "tomo", 0}, {"volumen", "volumen", 0}, {"acto", "acto", 0}, {"fase", "fase", 0}, {"tipo", "tipo", 0}, {"título", "título", 0}, {"libro", "libro", 0}, {"anexo", "anexo", 0}, {"clase", "clase", 0}, {0}};
static const struct mx_form_item phonewords[] = {{"teléfono", "", 0}, {"tel", "", 0}, {"número", "", 0}, {"móvil", "", 0}, {"fax", "", 0}, {"whatsapp", "", 0}, {"celular", "", 0}, {0}};
static const struct mx_form_item dated[] = {{"el", "", 0}, {"del", "", 0}, {"al", "", 0}, {"día", "", 0}, {"desde", "", 0}, {"hasta", "", 0}, {0}};
/* clang-format on */

const struct mx_form_list mx_spanish_lists[] = {{"ending", endings},
                                                {"months", months},
                                                {"half", halves},
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
