/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Emoji by their names; see forms.h. The frequent ones have their names in each language, as CLDR has them or shorter; in
 * English the others have their name in Unicode, elsewhere they are left out and counted. One of several equal ones is
 * said; joiners and variants are not there any more, and colours of skin are passed over. Nothing here takes memory.
 */
#include <string.h>

#include "text/forms/forms.h"

#define RUN_MOST 64 /* points of equal emoji that count as one */

struct emoji {
    uint32_t point;
    const char *names[MX_EMOJI_COLUMNS]; /* in the order of enum mx_emoji_column */
};

/* In the order of the code points: emoji_find searches by halves. */
/* clang-format off: one emoji per line */
static const struct emoji emoji[] = {
    {0x2600, {"sun", "Sonne", "sol", "soleil", "sole", "солнце"}},
    {0x2614,
     {"umbrella with rain", "Regenschirm im Regen", "paraguas con lluvia", "parapluie sous la pluie",
      "ombrello con la pioggia", "зонтик под дождем"}},
    {0x2615, {"hot beverage", "Heißgetränk", "bebida caliente", "boisson chaude", "bevanda calda", "горячий напиток"}},
    {0x2639,
     {"frowning face", "düsteres Gesicht", "cara con el ceño fruncido", "visage mécontent", "faccina imbronciata",
      "грустное лицо"}},
    {0x263a,
     {"smiling face", "lächelndes Gesicht", "cara sonriente", "visage souriant", "faccina sorridente", "улыбка"}},
    {0x2660, {"spade", "Pik", "pica", "pique", "picche", "пики"}},
    {0x2665, {"heart", "Herz", "corazón", "cœur", "cuore", "сердце"}},
    {0x26a0, {"warning", "Warnung", "advertencia", "attention", "attenzione", "внимание"}},
    {0x26a1, {"high voltage", "Hochspannung", "alto voltaje", "haute tension", "alta tensione", "высокое напряжение"}},
    {0x26bd,
     {"soccer ball", "Fußball", "balón de fútbol", "ballon de football", "pallone da calcio", "футбольный мяч"}},
    {0x2705, {"check mark", "Häkchen", "marca de verificación", "coche", "segno di spunta", "галочка"}},
    {0x2708, {"airplane", "Flugzeug", "avión", "avion", "aeroplano", "самолёт"}},
    {0x2714, {"check mark", "Häkchen", "marca de verificación", "coche", "segno di spunta", "галочка"}},
    {0x2728, {"sparkles", "Glitzer", "chispas", "étincelles", "scintille", "сверкание"}},
    {0x274c, {"cross mark", "Kreuzzeichen", "marca de cruz", "croix", "croce", "крестик"}},
    {0x2753,
     {"question mark", "Fragezeichen", "interrogación", "point d'interrogation", "punto interrogativo",
      "вопросительный знак"}},
    {0x2757,
     {"exclamation mark", "Ausrufezeichen", "exclamación", "point d'exclamation", "punto esclamativo",
      "восклицательный знак"}},
    {0x2764, {"red heart", "rotes Herz", "corazón rojo", "cœur rouge", "cuore rosso", "красное сердце"}},
    {0x2b50, {"star", "Stern", "estrella", "étoile", "stella", "звезда"}},
    {0x1f308, {"rainbow", "Regenbogen", "arcoíris", "arc-en-ciel", "arcobaleno", "радуга"}},
    {0x1f30d, {"globe", "Globus", "globo terráqueo", "globe", "globo", "глобус"}},
    {0x1f339, {"rose", "Rose", "rosa", "rose", "rosa", "роза"}},
    {0x1f355, {"pizza", "Pizza", "pizza", "pizza", "pizza", "пицца"}},
    {0x1f37a, {"beer mug", "Bierkrug", "jarra de cerveza", "chope", "boccale di birra", "кружка пива"}},
    {0x1f37b,
     {"clinking beer mugs", "Bierkrüge", "jarras brindando", "chopes de bière", "boccali di birra", "две кружки пива"}},
    {0x1f381, {"wrapped gift", "Geschenk", "regalo", "cadeau", "regalo", "подарок"}},
    {0x1f382,
     {"birthday cake", "Geburtstagskuchen", "tarta de cumpleaños", "gâteau d'anniversaire", "torta di compleanno",
      "торт"}},
    {0x1f384,
     {"Christmas tree", "Weihnachtsbaum", "árbol de Navidad", "sapin de Noël", "albero di Natale", "новогодняя ёлка"}},
    {0x1f389, {"party popper", "Konfettibombe", "cañón de confeti", "cotillons", "spara coriandoli", "хлопушка"}},
    {0x1f3b5, {"musical note", "Musiknote", "nota musical", "note de musique", "nota musicale", "нота"}},
    {0x1f3c6, {"trophy", "Pokal", "trofeo", "trophée", "coppa", "кубок"}},
    {0x1f3e0, {"house", "Haus", "casa", "maison", "casa", "дом"}},
    {0x1f431, {"cat face", "Katzengesicht", "cara de gato", "tête de chat", "muso di gatto", "морда кошки"}},
    {0x1f436, {"dog face", "Hundegesicht", "cara de perro", "tête de chien", "muso di cane", "морда собаки"}},
    {0x1f440, {"eyes", "Augen", "ojos", "yeux", "occhi", "глаза"}},
    {0x1f44b,
     {"waving hand", "winkende Hand", "mano saludando", "signe de la main", "mano che saluta", "машущая рука"}},
    {0x1f44c, {"OK hand", "Okay-Zeichen", "señal de aprobación", "okay", "mano che fa okay", "жест окей"}},
    {0x1f44d,
     {"thumbs up", "Daumen hoch", "pulgar hacia arriba", "pouce vers le haut", "pollice in su", "большой палец вверх"}},
    {0x1f44e,
     {"thumbs down", "Daumen runter", "pulgar hacia abajo", "pouce vers le bas", "pollice verso",
      "большой палец вниз"}},
    {0x1f44f,
     {"clapping hands", "klatschende Hände", "manos aplaudiendo", "applaudissements", "mani che applaudono",
      "аплодисменты"}},
    {0x1f480, {"skull", "Totenkopf", "calavera", "crâne", "teschio", "череп"}},
    {0x1f494, {"broken heart", "gebrochenes Herz", "corazón roto", "cœur brisé", "cuore infranto", "разбитое сердце"}},
    {0x1f495, {"two hearts", "zwei Herzen", "dos corazones", "deux cœurs", "due cuori", "два сердца"}},
    {0x1f499, {"blue heart", "blaues Herz", "corazón azul", "cœur bleu", "cuore azzurro", "синее сердце"}},
    {0x1f49a, {"green heart", "grünes Herz", "corazón verde", "cœur vert", "cuore verde", "зелёное сердце"}},
    {0x1f4a1, {"light bulb", "Glühbirne", "bombilla", "ampoule", "lampadina", "лампочка"}},
    {0x1f4a9, {"pile of poo", "Kothaufen", "caca con ojos", "tas de crotte", "cacca", "какашка"}},
    {0x1f4aa, {"flexed biceps", "angespannter Bizeps", "bíceps flexionado", "biceps contracté", "bicipite", "бицепс"}},
    {0x1f4af, {"hundred points", "hundert Punkte", "cien puntos", "cent points", "cento punti", "сто баллов"}},
    {0x1f4c5, {"calendar", "Kalender", "calendario", "calendrier", "calendario", "календарь"}},
    {0x1f4de,
     {"telephone receiver", "Telefonhörer", "auricular de teléfono", "combiné téléphonique", "cornetta",
      "телефонная трубка"}},
    {0x1f4e7, {"e-mail", "E-Mail", "correo electrónico", "e-mail", "e-mail", "электронная почта"}},
    {0x1f4f7, {"camera", "Fotoapparat", "cámara de fotos", "appareil photo", "fotocamera", "фотоаппарат"}},
    {0x1f525, {"fire", "Feuer", "fuego", "feu", "fuoco", "огонь"}},
    {0x1f600,
     {"grinning face", "grinsendes Gesicht", "cara sonriendo", "visage rieur", "faccina con un gran sorriso",
      "широко улыбается"}},
    {0x1f601,
     {"beaming face", "strahlendes Gesicht", "cara radiante", "visage souriant aux yeux rieurs", "faccina raggiante",
      "сияет от радости"}},
    {0x1f602,
     {"face with tears of joy", "Gesicht mit Freudentränen", "cara llorando de risa", "visage riant aux larmes",
      "faccina con lacrime di gioia", "смеётся до слёз"}},
    {0x1f603,
     {"grinning face with big eyes", "grinsendes Gesicht", "cara sonriendo", "visage souriant",
      "faccina con un gran sorriso", "широко улыбается"}},
    {0x1f604,
     {"grinning face with smiling eyes", "grinsendes Gesicht", "cara sonriendo", "visage très souriant",
      "faccina con occhi sorridenti", "широко улыбается"}},
    {0x1f605,
     {"grinning face with sweat", "grinsendes Gesicht mit Schweißtropfen", "cara sonriendo con sudor",
      "visage souriant avec une goutte de sueur", "faccina sudata", "смеётся в поту"}},
    {0x1f606,
     {"laughing face", "lachendes Gesicht", "cara riendo", "visage rieur aux yeux plissés", "faccina che ride",
      "хохочет"}},
    {0x1f609,
     {"winking face", "zwinkerndes Gesicht", "cara guiñando el ojo", "clin d'œil", "faccina che fa l'occhiolino",
      "подмигивает"}},
    {0x1f60a,
     {"smiling face with smiling eyes", "lächelndes Gesicht", "cara feliz con ojos sonrientes",
      "visage souriant aux yeux rieurs", "faccina con occhi sorridenti", "смущенно улыбается"}},
    {0x1f60d,
     {"smiling face with heart-eyes", "lächelndes Gesicht mit herzförmigen Augen", "cara sonriendo con ojos de corazón",
      "visage souriant aux yeux en forme de cœur", "faccina con sguardo innamorato", "влюбленный взгляд"}},
    {0x1f60e,
     {"smiling face with sunglasses", "Gesicht mit Sonnenbrille", "cara sonriendo con gafas de sol",
      "visage avec lunettes de soleil", "faccina con occhiali da sole", "в тёмных очках"}},
    {0x1f614,
     {"pensive face", "nachdenkliches Gesicht", "cara pensativa", "visage pensif", "faccina pensierosa",
      "задумчивость"}},
    {0x1f618,
     {"face blowing a kiss", "Kuss zuwerfendes Gesicht", "cara lanzando un beso", "visage envoyant un bisou",
      "faccina che manda un bacio", "воздушный поцелуй"}},
    {0x1f621,
     {"enraged face", "schmollendes Gesicht", "cara cabreada", "visage boudeur", "faccina arrabbiata",
      "сильно злится"}},
    {0x1f622,
     {"crying face", "weinendes Gesicht", "cara llorando", "visage qui pleure", "faccina che piange", "плачет"}},
    {0x1f62d,
     {"loudly crying face", "heulendes Gesicht", "cara llorando fuerte", "visage qui pleure à chaudes larmes",
      "faccina disperata", "рыдает"}},
    {0x1f631,
     {"face screaming in fear", "vor Angst schreiendes Gesicht", "cara gritando de miedo", "visage qui hurle de peur",
      "faccina terrorizzata", "кричит от ужаса"}},
    {0x1f642,
     {"slightly smiling face", "leicht lächelndes Gesicht", "cara sonriendo ligeramente",
      "visage avec un léger sourire", "faccina con sorriso accennato", "слегка улыбается"}},
    {0x1f644,
     {"face with rolling eyes", "Augen verdrehendes Gesicht", "cara con ojos en blanco", "visage roulant des yeux",
      "faccina con occhi al cielo", "закатывает глаза"}},
    {0x1f64f,
     {"folded hands", "zusammengelegte Handflächen", "manos en oración", "mains en prière", "mani giunte",
      "сложенные руки"}},
    {0x1f680, {"rocket", "Rakete", "cohete", "fusée", "razzo", "ракета"}},
    {0x1f697, {"car", "Auto", "coche", "voiture", "auto", "автомобиль"}},
    {0x1f914,
     {"thinking face", "nachdenkendes Gesicht", "cara pensativa", "visage en pleine réflexion", "faccina concentrata",
      "в раздумьях"}},
    {0x1f917,
     {"hugging face", "Gesicht mit umarmenden Händen", "cara con manos abrazando", "visage qui fait un câlin",
      "faccina che abbraccia", "обнимает"}},
    {0x1f923,
     {"rolling on the floor laughing", "sich vor Lachen wälzendes Gesicht", "cara revolviéndose de la risa",
      "se rouler par terre de rire", "ridere a crepapelle", "катается от смеха"}},
    {0x1f970,
     {"smiling face with hearts", "lächelndes Gesicht mit Herzen", "cara sonriendo con corazones",
      "visage souriant avec cœurs", "faccina con cuoricini", "улыбка с сердечками"}},
};
/* clang-format on */

static const struct emoji *emoji_find(uint32_t point)
{
    size_t low = 0, high = sizeof emoji / sizeof *emoji;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (emoji[middle].point == point) return &emoji[middle];
        if (emoji[middle].point < point)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool is_picture(uint32_t point)
{
    return (point >= 0x1f300 && point <= 0x1faff) || (point >= 0x2600 && point <= 0x27bf);
}

static bool is_skin(uint32_t point)
{
    return point >= 0x1f3fb && point <= 0x1f3ff;
}

size_t mx_form_emoji_take(const struct mx_form_match *match)
{
    char name[MX_ICU_WORDS];
    const uint32_t point = mx_form_point(match, match->begin);
    size_t end = match->begin;
    if (!is_picture(point) || is_skin(point)) return 0;
    if (emoji_find(point) == NULL && (match->forms->emoji != MX_EMOJI_ENGLISH || !mx_icu_point_name(point, name)))
        return 0;
    while (end < match->begin + RUN_MOST && (mx_form_point(match, end) == point || is_skin(mx_form_point(match, end))))
        end++;
    return end;
}

void mx_form_emoji_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char name[MX_ICU_WORDS];
    const uint32_t point = mx_form_point(match, match->begin);
    const struct emoji *const found = emoji_find(point);
    size_t before = out->count;
    while (before > 0 && out->data[before - 1] == ' ') before--;
    if (before > 0 && mx_text_is_letter(out->data[before - 1])) mx_form_mark(out, ',');
    if (found != NULL)
        mx_form_put(out, found->names[match->forms->emoji]);
    else if (mx_icu_point_name(point, name))
        mx_form_put(out, name);
    if (match->end < match->count) mx_form_mark(out, ',');
}
