/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dropout. Its random numbers are a function of the seed, the pass, the place in the network and the row's place in its
 * whole batch, so that they are the same however a batch is divided. Owns no memory.
 */
#include "model/internal.h"
#include "myxtts/error.h"

/* The run's seed also orders batches and initialises parameters: dropout has numbers of its own. */
#define DROPOUT_SEED UINT64_C(0x64726f706f757421)

/* Rows [from, to) of the arrays, of which row `from` is row `place` of the whole batch. */
static int dropout_rows(const struct mx_model_pass *pass, uint64_t site, const struct mx_slice arrays[3], int64_t from,
                        int64_t to, int64_t place)
{
    const int64_t width = pass->model->config.size.width;
    const uint64_t index = (uint64_t)(place * width);
    struct mx_slice own[3] = {arrays[0], arrays[1], arrays[2]};
    for (int i = 0; i < 3; i++) own[i].offset_bytes += (size_t)(from * width) * sizeof(float);
    if (arrays[2].buffer == NULL) own[2] = arrays[2];
    return mx_dropout(pass->base.stream, &(struct mx_dropout_args){.x = own[0],
                                                                   .y = own[1],
                                                                   .residual = own[2],
                                                                   .count = (to - from) * width,
                                                                   .rate = pass->dropout,
                                                                   .seed = pass->seed ^ DROPOUT_SEED,
                                                                   .stream = pass->step << 16 | site,
                                                                   .index = (index + 3) & ~UINT64_C(3)});
}

int mx_dropout_run(const struct mx_model_pass *pass, uint64_t site, struct mx_slice x, struct mx_slice y,
                   struct mx_slice residual, int64_t rows)
{
    int rc = 0;
    const struct mx_model_batch *const b = pass->batch;
    const bool frames = site >= MX_SITE_DECODER && site < MX_SITE_PREDICTORS; /* rows of all others are tokens */
    const int64_t first = frames ? b->first_frame : b->first_token;
    const int64_t gap = frames ? b->gap_frames : b->gap_tokens, at = frames ? b->gap_frame : b->gap_token;
    const int64_t cut = gap > 0 && at < rows ? at : rows;
    const struct mx_slice arrays[3] = {x, y, residual};
    MX_TRY(dropout_rows(pass, site, arrays, 0, cut, first));
    if (cut < rows) MX_TRY(dropout_rows(pass, site, arrays, cut, rows, first + cut + gap));
out:
    return rc;
}
