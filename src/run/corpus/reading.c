/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the advice about reading needs to know of the corpus, see job.h.
 *
 * Memory: the text is built and freed in the call; what remains of it belongs to the caller.
 */
#include <string.h>

#include "corpus/audio/audio.h"
#include "corpus/packed/packed.h"
#include "myxtts/error.h"
#include "run/job.h"

static void option_add(struct mx_string *text, const char *name, const char *value)
{
    mx_string_append(text, " %s ", name);
    mx_string_append_shell(text, value);
}

/* Where a number is not the one that 'myxtts prepare' takes without the option. */
static void number_add(struct mx_string *text, const char *name, double value, double usual)
{
    char digits[MX_STRING_DOUBLE_BYTES];
    if (value == usual) return;
    mx_string_from_double(value, digits);
    option_add(text, name, digits);
}

/* The command that packs the corpus as training reads it. */
static void pack_command(const struct mx_settings_data *d, struct mx_string *text)
{
    struct mx_string file = {0};
    size_t length = strlen(d->train_data);
    while (length > 1 && d->train_data[length - 1] == '/') length--;
    mx_string_append(&file, "%.*s.pack", (int)length, d->train_data);
    mx_string_append(text, "myxtts prepare ");
    mx_string_append_shell(text, d->train_data);
    if (file.data != NULL) option_add(text, "--output", file.data);
    if (strcmp(d->language, "auto") != 0) option_add(text, "--language", d->language);
    if (mx_settings_recipe(d->recipe) != MX_RECIPE_DEFAULT)
        option_add(text, "--recipe", mx_settings_recipe(d->recipe)->name);
    if (d->tokens == MX_TOKENS_CHARS) option_add(text, "--tokens", "chars");
    if (d->lexicon[0] != '\0') option_add(text, "--lexicon", d->lexicon);
    if (d->decisions[0] != '\0') option_add(text, "--decisions", d->decisions);
    if (d->val_data[0] != '\0') option_add(text, "--val-data", d->val_data);
    number_add(text, "--min-seconds", d->min_seconds, MX_AUDIO_OPTIONS_DEFAULT.seconds_min);
    number_add(text, "--max-seconds", d->max_seconds, MX_AUDIO_OPTIONS_DEFAULT.seconds_max);
    if (!d->cut_long) option_add(text, "--cut-long", "off");
    if (d->cut_voice[0] != '\0') option_add(text, "--cut-voice", d->cut_voice);
    if (d->allow_rejects) mx_string_append(text, " --allow-rejects");
    if (file.failure != 0) text->failure = file.failure;
    mx_string_release(&file);
}

void mx_job_advice_corpus(const struct mx_job *job, char pack[MX_ADVICE_PACK_BYTES], struct mx_advice_input *input)
{
    const struct mx_settings_data *const d = &job->settings.data;
    struct mx_string text = {0};
    bool packed;
    if (mx_packed_detect(d->train_data, &packed) < 0)
        mx_error_clear(); /* it is advice, and the run says what is wrong */
    if (packed) return;
    input->uncached = !d->caching;
    input->pack = NULL;
    if (job->settings.training.part == MX_SETTINGS_PART_VOCODER)
        return; /* perhaps it has no texts: nothing packs that */
    pack_command(d, &text);
    if (text.failure == 0 && text.length < MX_ADVICE_PACK_BYTES) {
        memcpy(pack, text.data, text.length + 1);
        input->pack = pack;
    }
    mx_string_release(&text);
}
