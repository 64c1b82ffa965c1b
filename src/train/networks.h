/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The networks that a trainer can train (network.h): the acoustic network of model/ and the network of vocoder/.
 */
#ifndef MX_TRAIN_NETWORKS_H
#define MX_TRAIN_NETWORKS_H

#include "model/model.h"
#include "train/network.h"
#include "vocoder/vocoder.h"

/* ---- the acoustic network (network_acoustic.c) ---- */

struct mx_acoustic_options {
    struct mx_network_options base;
    struct mx_model_config config;
    struct mx_model_capacity capacity;
};

struct mx_acoustic_options mx_acoustic_options(const struct mx_model_config *config,
                                               const struct mx_model_capacity *capacity);
/* The model of a network made from such options, for everything else that it can do. */
struct mx_model *mx_acoustic_model(struct mx_network *network);

/* ---- the vocoder (network_vocoder.c) ---- */

struct mx_vocoding_options {
    struct mx_network_options base;
    struct mx_vocoder_config config;
    struct mx_vocoder_capacity capacity; /* of the segments of a batch */
};

struct mx_vocoding_options mx_vocoding_options(const struct mx_vocoder_config *config,
                                               const struct mx_vocoder_capacity *capacity);
struct mx_vocoder *mx_vocoding_vocoder(struct mx_network *network);

#endif
