/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How the arithmetic of a step divides between the networks, before any step is made. Owns no memory.
 */
#include "model/work.h"

#include "myxtts/error.h"
#include "train/trainer_internal.h"

/* The work of a mean batch of an epoch in which every utterance is drawn once. */
static struct mx_model_work acoustic_work(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape)
{
    struct mx_model_work w = {0};
    const double batches = mx_sampler_steps(shape->sampler);
    const struct mx_recipe *const recipe = mx_recipe_or_default(o->recipe);
    const double crop = o->reference_seconds * recipe->rate / recipe->hop;
    for (uint32_t i = 0; i < shape->training_count; i++) {
        const double frames = mx_batch_source_frames(shape->source, shape->training[i]);
        const double tokens = mx_dataset_utterance(o->dataset, shape->training[i])->tokens;
        w.tokens += tokens / batches;
        w.frames += frames / batches;
        w.references += (frames < crop ? frames : crop) / batches;
        w.token_pairs += tokens * tokens / batches;
        w.frame_pairs += frames * frames / batches;
    }
    w.sequences = shape->training_count / batches;
    return w;
}

int mx_trainer_vocoder_share(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape, double *share)
{
    int rc = 0;
    struct mx_parameters *model = NULL, *vocoder = NULL;
    double own = 0;
    *share = o->vocoder_alone ? 1 : 0;
    if (o->vocoder_alone || !mx_trainer_trains(o, MX_PART_VOCODER)) return 0;
    const struct mx_model_work work = acoustic_work(o, shape);
    MX_TRY(mx_model_parameters_create(&o->model, NULL, &model));
    MX_TRY(mx_vocoder_parameters_create(&shape->vocoder.vocoder, &vocoder));
    for (int i = 0; i < vocoder->count; i++) /* the first product is one of data */
        own += mx_parameter_flops(&vocoder->entries[i], shape->vocoder.vocoder_capacity.frames, i == 0);
    *share = own / (own + mx_model_flops(model, &o->model, &work));
out:
    mx_parameters_destroy(model);
    mx_parameters_destroy(vocoder);
    return rc;
}
