/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long the pauses of a text are. As people write them: items with commas between them, a factor or KIND=MILLISECONDS,
 *
 *     1.2                            all pauses are longer by a fifth
 *     paragraph=900,ellipsis=700     these two, in milliseconds; "0.9s" is as good
 *     line=300                       the end of every line is a pause, too
 *     dash=250                       the text is divided at dashes between words, and this is the pause there
 *
 * A kind that is not named has its usual pause: split.h has those of sentences, paragraphs and ellipses; a dash is part of
 * its sentence, which the network speaks as it learned, and the end of a line is a blank. Pauses shrink with the speed of
 * speech, whatever their source; only SSML gives silence in seconds of the clock.
 */
#ifndef MX_SPEECH_PAUSES_H
#define MX_SPEECH_PAUSES_H

#define MX_PAUSES_MOST_MS 60000.0

/* X(identifier, name): MX_PAUSES_<identifier>. */
#define MX_PAUSES_LIST(X)                                                                                              \
    X(SENTENCE, "sentence")                                                                                            \
    X(PARAGRAPH, "paragraph")                                                                                          \
    X(ELLIPSIS, "ellipsis")                                                                                            \
    X(DASH, "dash")                                                                                                    \
    X(LINE, "line")

enum mx_pauses_kind {
#define X(identifier, name) MX_PAUSES_##identifier,
    MX_PAUSES_LIST(X)
#undef X
        MX_PAUSES_KINDS
};

struct mx_pauses {
    double factor;              /* of all pauses, those given in milliseconds, too */
    double ms[MX_PAUSES_KINDS]; /* negative: as usual */
};

/* All as usual, which is also what NULL as text means. */
void mx_pauses_init(struct mx_pauses *pauses);
/* MX_ERR_ARGUMENT names the item that is wrong. */
int mx_pauses_parse(const char *text, struct mx_pauses *out);

#endif
