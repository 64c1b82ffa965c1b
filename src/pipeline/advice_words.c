/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sentences of advice, see advice_words.h. Nothing is allocated.
 */
#include "pipeline/advice_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/catalogue.h"

static const char *const sentences[MX_SAY_COUNT] = {
    [MX_SAY_READING] = "waiting for the disk takes {0.1} of the {1.1} ms of a load",
    [MX_SAY_READ_WORKERS] = "{0} load worker{0s} → {1} read more recordings at the same time (--num-workers {1})",
    [MX_SAY_READ_DISK] = "a faster disk would help more than another load worker ({0} now)",
    [MX_SAY_READ_CACHE] = "; or keep what was decoded for the next epochs (--set data.caching=true)",
    [MX_SAY_READ_PACK] = "; or pack the corpus into one file and train on that: ",
    [MX_SAY_READ_TOO] = "the advice about reading applies here, too",
    [MX_SAY_LOAD] = "loading is {0} % of the work of a batch ({1.1} of {2.1} ms)",
    [MX_SAY_LOAD_HIDDEN] = ", hidden behind the other stages: process waited {0.1} % of the time for it",
    [MX_SAY_LOAD_WAITED] = ": process waited {0} % of the time for it, and the model {1} %",
    [MX_SAY_WORKERS_SHARED] =
        "{0} load worker{0s} → {1} would hide it, but they share the {2} core{2s} of the data device: pack the "
        "corpus first (myxtts prepare), so that loading costs less, or give that device more cores",
    [MX_SAY_WORKERS] = "{0} load worker{0s} → {1} would hide it (--num-workers {1})",
    [MX_SAY_LOAD_AHEAD] =
        "{0} worker{0s} would be enough on average, but a load takes {1.1} to {2.1} ms: {3} → {4} batches loaded "
        "ahead would even that out (--prefetch-buffer-size {4})",
    [MX_SAY_TRANSFER] =
        "transfer is {0} % of the work of a batch ({1.1} of {2.1} ms), {3} % of it while the model trains",
    [MX_SAY_TRANSFER_HIDDEN] = ": hidden",
    [MX_SAY_NO_PATH] =
        "the devices have no direct path, so copies go through the host: choose two under one PCIe switch (PIX in "
        "myxtts devices)",
    [MX_SAY_COPY_LONG] =
        "a copy takes {0.1}x as long as training on it and cannot hide behind it: a larger model or a faster path "
        "between the devices would",
    [MX_SAY_COPY_LATE] =
        "a copy ({0.1} ms) fits behind training ({1.1} ms) but comes late: the data device should be further ahead "
        "than {2} batch{2es} (--buffer-size {3})",
    [MX_SAY_DATA] =
        "the data device is {0} % busy, {1.1} ms a batch, and training takes {2.1} ms: the model waited {3.1} %",
    [MX_SAY_DATA_HIDDEN] =
        "the data device is {0} % busy, {1.1} ms a batch, and training takes {2.1} ms, hidden: the model waited "
        "{3.1} %",
    [MX_SAY_CORES] = "{0} core{0s} → {1} for the data device would keep up ({2.1}x the work), or less augmentation",
    [MX_SAY_FASTER_DATA] =
        "a data device {0.1}x as fast would keep up: exchange the two devices, or use less augmentation",
    [MX_SAY_UNEVEN] =
        "it keeps up on average ({0.2}x of training), so its batches are uneven: more than {1} prepared ahead "
        "would even them out (--buffer-size {2})",
    [MX_SAY_VARIATION] = "step times vary by {0} %: {1.1} ± {2.1} ms, from {3.1} to {4.1} ms",
    [MX_SAY_WAITED_TRANSFER] = "the model waited {0} % of the time, mostly for transfer: ",
    [MX_SAY_FURTHER_AHEAD] = "the data device should be further ahead than {0} batch{0es} (--buffer-size {1})",
    [MX_SAY_DIRECT_PATH] = "choose devices with a direct path (PIX in myxtts devices)",
    [MX_SAY_WAITED_DATA] = "the model waited {0} % of the time for data: ",
    [MX_SAY_PROCESS_SLOW] =
        "processing takes {0.1} ms a batch, training {1.1} ms; less augmentation or a faster data device",
    [MX_SAY_MEMORY_DATA] = "memory is {0} % of its limit: a smaller batch, or a higher --data-gpu-memory",
    [MX_SAY_MEMORY_MODEL] = "memory is {0} % of its limit: a smaller batch, or a higher --model-gpu-memory",
    [MX_SAY_TRAINING_VARIES] =
        "training itself varies by {0} % ({1.1} to {2.1} ms a batch): make all batches equal work, as they are "
        "by default (--set training.batch_frames=-1), or see what else this machine does",
    [MX_SAY_BETWEEN_STEPS] =
        "training a batch varies by {0} % only: the time goes between steps; see what else this machine does",
};

const char *mx_advice_sentence(enum mx_advice_sentence sentence, bool persian)
{
    return mx_catalogue_find(persian ? MX_WORDS_PERSIAN : MX_WORDS_ENGLISH, sentences[sentence]);
}

/* ---- filling in ---- */

struct writer {
    char *out;
    size_t bytes, used;
    bool full;
};

/* A piece as a whole, so that no letter is cut; nothing comes after one that did not fit. */
static void put(struct writer *w, const char *text, size_t length)
{
    w->full = w->full || length >= w->bytes - w->used;
    if (w->full) return;
    memcpy(w->out + w->used, text, length);
    w->used += length;
    w->out[w->used] = '\0';
}

/* U+06F0 to U+06F9 and the Persian decimal sign, U+066B. */
static void put_persian(struct writer *w, const char *number)
{
    for (; *number != '\0'; number++) {
        const char digit[2] = {'\xDB', (char)(0xB0 + (*number - '0'))};
        if (isdigit((unsigned char)*number))
            put(w, digit, sizeof digit);
        else if (*number == '.')
            put(w, "\u066B", 2);
        else
            put(w, number, 1);
    }
}

void mx_advice_format(char *out, size_t bytes, enum mx_advice_sentence sentence, bool persian, const double *values)
{
    struct writer w = {.out = out, .bytes = bytes, .used = strlen(out)};
    bool command = false;
    for (const char *at = mx_advice_sentence(sentence, persian); *at != '\0';) {
        const size_t plain = strcspn(at, "{`");
        put(&w, at, plain);
        at += plain;
        if (*at == '`') {
            command = !command;
            put(&w, at++, 1);
        } else if (*at == '{') {
            const char *const end = strchr(at, '}'), *ending = at + 2;
            const double value = values[at[1] - '0'];
            int places = 0;
            if (*ending == '.') {
                places = ending[1] - '0';
                ending += 2;
            }
            char number[64];
            snprintf(number, sizeof number, "%.*f", places, value);
            if (ending < end)
                put(&w, ending, strcmp(number, "1") == 0 ? 0 : (size_t)(end - ending));
            else if (persian && !command)
                put_persian(&w, number);
            else
                put(&w, number, strlen(number));
            at = end + 1;
        }
    }
}
