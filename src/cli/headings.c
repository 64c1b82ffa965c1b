/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which options of a large command stand under which heading (options.h). Owns no memory.
 *
 * The first heading of a table has what people need first: '--help' shows these, '--help all' the others, too. An option
 * that no heading names is for experts.
 */
#include "cli/headings.h"

#include <string.h>

#define FIRST "What people need first"
#define DATA  "Data"

const struct mx_option_heading mx_headings_train[] = {
    {FIRST, "train-data output resume language model-size batch-size epochs max-minutes data-gpu model-gpu dry-run"},
    {DATA, "val-data lexicon decisions cut-long cut-voice allow-rejects augment"},
    {"Devices", "backend device data-device model-device allow-single cpu-devices data-gpu-memory model-gpu-memory "
                "enable-memory-isolation share-work"},
    {"Training", "init-from part steps lr seed mixed-precision adapter-rank freeze vocoder vocoder-lr grad-accum "
                 "optimization-level auto-stop"},
    {"Saving and watching", "save-every eval-every dashboard dashboard-token tensorboard"},
    {"Settings", "config set"},
    {NULL, NULL},
};

const struct mx_option_heading mx_headings_profile[] = {
    {FIRST, "train-data model-size batch-size num-steps data-gpu model-gpu compare json trace"},
    {DATA, "equal-lengths augment num-workers seed"},
    {"Devices", "backend device data-device model-device allow-single cpu-devices data-gpu-memory model-gpu-memory "
                "enable-memory-isolation share-work"},
    {"Training", "part mixed-precision warmup-steps"},
    {"Settings", "config set"},
    {NULL, NULL},
};

const struct mx_option_heading mx_headings_synth[] = {
    {FIRST, "voice checkpoint text text-file output play speaker speaker-wav speed language"},
    {"Text", "ssml lexicon show-phonemes"},
    {"Sound", "pitch volume pauses likeness"},
    {"Files", "output-dir format"},
    {NULL, NULL},
};

const struct mx_option_heading mx_headings_serve[] = {
    {FIRST, "listen wyoming token-file token insecure"},
    {"Limits", "queue max-text connections connections-per-address drain-seconds"},
    {"Voices", "lexicon vocoder"},
    {NULL, NULL},
};

const char *const mx_heading_expert = "For experts";

/* Is `name` one of the words of `names`? */
static bool is_among(const char *name, const char *names)
{
    const size_t length = strlen(name);
    while (*names != '\0') {
        const size_t word = strcspn(names, " ");
        if (word == length && strncmp(names, name, length) == 0) return true;
        names += word + (names[word] == ' ');
    }
    return false;
}

size_t mx_headings_count(const struct mx_option_page *page)
{
    size_t count = 0;
    while (page->headings != NULL && page->headings[count].title != NULL) count++;
    return count + 1;
}

const char *mx_headings_title(const struct mx_option_page *page, size_t number)
{
    if (page->headings == NULL) return MX_OPTIONS_OWN;
    return number + 1 < mx_headings_count(page) ? page->headings[number].title : mx_heading_expert;
}

static size_t heading_of(const struct mx_option_page *page, const char *name)
{
    const size_t experts = mx_headings_count(page) - 1;
    for (size_t i = 0; i < experts; i++)
        if (is_among(name, page->headings[i].names)) return i;
    return experts;
}

bool mx_headings_next(const struct mx_option_page *page, size_t number, struct mx_option_walk *walk,
                      struct mx_option *out)
{
    while (mx_option_next(walk, out))
        if (heading_of(page, out->name) == number) return true;
    return false;
}
