/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sentences to try a voice with, see sample.h. No quotation marks, so that they can be pasted into a shell.
 */
#include "text/sample.h"

#include <stddef.h>

#define ENGLISH "Good morning. How are you today?"
#define SPANISH "Buenos días. ¿Cómo está usted hoy?"
#define FRENCH  "Bonjour. Comment allez-vous ?"

static const char *const samples[MX_LANGUAGE_COUNT] = {
    [MX_LANGUAGE_EN] = ENGLISH,
    [MX_LANGUAGE_EN_029] = ENGLISH,
    [MX_LANGUAGE_EN_GB] = ENGLISH,
    [MX_LANGUAGE_EN_GB_LA] = ENGLISH,
    [MX_LANGUAGE_EN_GB_RP] = ENGLISH,
    [MX_LANGUAGE_EN_GB_SC] = ENGLISH,
    [MX_LANGUAGE_EN_GB_WM] = ENGLISH,
    [MX_LANGUAGE_EN_NYC] = ENGLISH,
    [MX_LANGUAGE_FA] = "صبح بخیر. امروز حال شما چطور است؟",
    [MX_LANGUAGE_ES] = SPANISH,
    [MX_LANGUAGE_ES_419] = SPANISH,
    [MX_LANGUAGE_FR] = FRENCH,
    [MX_LANGUAGE_FR_BE] = FRENCH,
    [MX_LANGUAGE_FR_CH] = FRENCH,
    [MX_LANGUAGE_DE] = "Guten Morgen. Wie geht es Ihnen heute?",
    [MX_LANGUAGE_IT] = "Buongiorno. Come sta oggi?",
    [MX_LANGUAGE_RU] = "Доброе утро. Как ваши дела?",
    [MX_LANGUAGE_AR] = "صباح الخير. كيف حالك اليوم؟",
    [MX_LANGUAGE_CA] = "Bon dia. Com està avui?",
    [MX_LANGUAGE_CS] = "Dobré ráno. Jak se máte?",
    [MX_LANGUAGE_DA] = "Godmorgen. Hvordan har du det i dag?",
    [MX_LANGUAGE_EL] = "Καλημέρα. Τι κάνετε σήμερα;",
    [MX_LANGUAGE_EO] = "Bonan matenon. Kiel vi fartas hodiaŭ?",
    [MX_LANGUAGE_FI] = "Hyvää huomenta. Mitä kuuluu?",
    [MX_LANGUAGE_HU] = "Jó reggelt. Hogy van ma?",
    [MX_LANGUAGE_NB] = "God morgen. Hvordan har du det i dag?",
    [MX_LANGUAGE_NL] = "Goedemorgen. Hoe gaat het met u?",
    [MX_LANGUAGE_PL] = "Dzień dobry. Jak się pan ma?",
    [MX_LANGUAGE_PT] = "Bom dia. Como está hoje?",
    [MX_LANGUAGE_RO] = "Bună dimineața. Ce mai faceți?",
    [MX_LANGUAGE_SV] = "God morgon. Hur mår du i dag?",
    [MX_LANGUAGE_TR] = "Günaydın. Bugün nasılsınız?",
    [MX_LANGUAGE_UK] = "Доброго ранку. Як ваші справи?",
};

const char *mx_language_sample(enum mx_language_id language)
{
    return samples[language];
}
