/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Former names, see legacy_flags.h. Owns no memory.
 */
#include "cli/options/legacy_flags.h"

#include <stdio.h>

const struct mx_legacy mx_legacy_train[] = {
    {"checkpoint-dir", "'--output DIR' names the folder of the run, which also holds the checkpoints"},
    {"tensorboard-log-dir", "event files go to tensorboard/ in the folder of '--output DIR'"},
    {"reset-training", "a new '--output DIR' is a new run; only '--resume RUN' continues an old one"},
    {"disable-static-shapes", "leave it out: shapes are not fixed unless '--enable-static-shapes' is given"},
    {"pad-to-fixed-length",
     "leave it out: batches are never padded; '--enable-static-shapes' rounds their capacity up"},
    {"max-text-length", "leave it out: texts are never cut"},
    {"max-mel-frames", "recordings are never cut; '--set data.max_seconds=S' leaves longer ones out"},
    {"prefetch-to-gpu", "leave it out: a batch is always on the device before it is trained on"},
    {"no-prefetch-to-gpu", "leave it out: a batch is always on the device before it is trained on"},
    {"download-ljspeech", "download it yourself, then 'myxtts prepare LJSpeech-1.1 --output ljspeech.pack'"},
    {"decoder-strategy", "leave it out: there is one decoder, a parallel one"},
    {"vocoder-type", "leave it out: a vocoder is trained with the voice; '--part acoustic' trains none"},
    {"apply-fast-convergence", "leave it out, or choose '--optimization-level enhanced'"},
    {"enable-evaluation",
     "leave it out: every '--eval-every N' steps, held-out sentences are spoken and compared with their recordings"},
    {"evaluation-interval", "write '--eval-every N'; N counts steps"},
    {"create-optimized-model", "use a smaller '--model-size' to get a smaller network"},
    {"lightweight-config", "use a smaller '--model-size' to get a smaller network"},
    {"compression-target", "use a smaller '--model-size' to get a smaller network"},
    {"use-pretrained-speaker-encoder", "leave it out: the speaker encoder is always trained with the rest"},
    {"disable-pretrained-speaker-encoder", "leave it out: the speaker encoder is always trained with the rest"},
    {"speaker-encoder-path", "leave it out: the speaker encoder is always trained with the rest"},
    {"speaker-encoder-type", "leave it out: the speaker encoder is always trained with the rest"},
    {"freeze-speaker-encoder", "leave it out: the speaker encoder is always trained with the rest"},
    {"unfreeze-speaker-encoder", "leave it out: the speaker encoder is always trained with the rest"},
    {"contrastive-loss-temperature", "leave it out: there is no such loss; MODEL.md lists the losses"},
    {"contrastive-loss-margin", "leave it out: there is no such loss; MODEL.md lists the losses"},
    {"enable-gst", "leave it out: there are no style tokens; the voice comes from a reference recording"},
    {"gst-num-style-tokens", "leave it out: there are no style tokens; the voice comes from a reference recording"},
    {"gst-style-token-dim", "leave it out: there are no style tokens; the voice comes from a reference recording"},
    {"gst-style-embedding-dim", "leave it out: there are no style tokens; the voice comes from a reference recording"},
    {"gst-num-heads", "leave it out: there are no style tokens; the voice comes from a reference recording"},
    {"gst-style-loss-weight", "leave it out: there are no style tokens; the voice comes from a reference recording"},
    {"num-steps", "write '--steps N'; in 'myxtts profile' the flag is '--num-steps'"},
    {"simple-loss",
     "leave it out: losses are in their own units; '--set model.mel_weight=W' and similar settings weight them"},
    {"enable-eager-debug",
     "write '--log-level debug'; '--set pipeline.overlap=false' runs the stages one after another"},
    {NULL, NULL},
};

const struct mx_legacy mx_legacy_synth[] = {
    {"checkpoint-dir", "write '--checkpoint RUN'"},
    {"config", "leave it out: the checkpoint has its own settings"},
    {"model-size", "leave it out: the checkpoint has it"},
    {"reference-audio", "write '--speaker-wav FILE'"},
    {"multiple-reference-audios", "write '--speaker-wav FILE' once for each of them"},
    {"clone-voice", "write '--speaker-wav FILE'"},
    {"speaker-id", "write '--speaker NAME'"},
    {"list-speakers", "'myxtts inspect RUN' lists the speakers"},
    {"speaking-rate", "write '--speed FACTOR'"},
    {"temperature", "leave it out: the network always speaks a text in the same way"},
    {"voice-cloning-temperature", "leave it out: the network always speaks a text in the same way"},
    {"max-length", "leave it out: the length follows from the text"},
    {"vocoder-type", "leave it out: a voice speaks with its own vocoder; '--vocoder' chooses another"},
    {"decoder-strategy", "leave it out: there is one decoder, a parallel one"},
    {"emotion", "leave it out: there are no style tokens; '--pitch' and '--speed' change the manner of speaking"},
    {"style-weights", "leave it out: there are no style tokens; '--pitch' and '--speed' change the manner of speaking"},
    {"prosody-reference",
     "leave it out: there are no style tokens; '--pitch' and '--speed' change the manner of speaking"},
    {"detect-language", "leave it out: the language follows from the script of each paragraph"},
    {"dataset-path", "leave it out: the checkpoint has its own vocabulary"},
    {"save-mel", "'myxtts features FILE --output MEL' computes the mel of a synthesised file"},
    {"evaluate-output", "'myxtts eval' compares synthesis with recordings"},
    {"evaluation-output", "write 'myxtts eval --checkpoint RUN --data DIR --json FILE'"},
    {"voice-conditioning-strength", "write '--likeness FACTOR', from 0 to 1"},
    {"enable-voice-interpolation", "leave it out: voices are not mixed; '--speaker-wav FILE' names one"},
    {"voice-similarity-threshold", "leave it out: no recording is refused because of its voice"},
    {"list-style-tokens", "leave it out: there are no style tokens; the voice comes from a reference recording"},
    {"use-pretrained-speaker-encoder", "leave it out: the speaker encoder is in the checkpoint"},
    {"speaker-encoder-type", "leave it out: the speaker encoder is in the checkpoint"},
    {"supported-languages", "leave it out: every language of espeak-ng is supported; '--language NAME' chooses one"},
    {"enable-phone-normalization", "leave it out: texts are always normalised as in training"},
    {"optimized-inference", "leave it out: the network always speaks in one pass"},
    {"lightweight-model", "leave it out: the checkpoint has the size; train with a smaller '--model-size' instead"},
    {"quality-mode", "leave it out: there is one quality"},
    {"speaker-audio", "write '--speaker-wav FILE'"},
    {"use-gpu", "write '--device NAME'; 'myxtts devices' lists them"},
    {"top-p", "leave it out: the network always speaks a text in the same way"},
    {"verbose", "write '--log-level debug'"},
    {"benchmark", "every synthesis reports its real-time factor at the end"},
    {NULL, NULL},
};

const struct mx_legacy mx_legacy_serve[] = {
    {"port", "write '--listen 127.0.0.1:PORT'"},
    {"host", "write '--listen ADDRESS:PORT'"},
    {"address", "write '--listen ADDRESS:PORT'"},
    {"uri", "write '--wyoming ADDRESS:PORT'"},
    {"voice", "write the name alone: 'myxtts serve NAME'"},
    {"model", "write the name alone: 'myxtts serve NAME'"},
    {"checkpoint", "write the path alone: 'myxtts serve RUN'"},
    {"api-key", "write '--token-file FILE'"},
    {NULL, NULL},
};

const struct mx_legacy mx_legacy_commands[] = {
    {"create-config", "write 'myxtts config --output FILE'"},
    {"synthesize", "write 'myxtts synth'"},
    {"clone-voice", "write 'myxtts synth --speaker-wav FILE'"},
    {"dataset-info", "write 'myxtts check DIR'"},
    {"benchmark", "write 'myxtts profile'"},
    {NULL, NULL},
};

/* Scripts, and the unit tests and examples that the documents of that program name, without folder and ending. */
const struct mx_legacy mx_legacy_scripts[] = {
    {"train_main", "write 'myxtts train' with the same flags"},
    {"train_programmatic", "write 'myxtts train --config FILE'; 'myxtts config --output FILE' writes such a file"},
    {"memory_isolated_training", "write 'myxtts train --enable-memory-isolation' with the flags of your run"},
    {"gpu_pipeline_example", "'myxtts train --help' ends with examples"},
    {"inference_main", "write 'myxtts synth'"},
    {"fixed_inference", "write 'myxtts synth'"},
    {"validate_dual_gpu_pipeline", "write 'myxtts validate --data-gpu 0 --model-gpu 1'"},
    {"validate_memory_isolation", "write 'myxtts validate --data-gpu 0 --model-gpu 1 --enable-memory-isolation'"},
    {"validate_multi_gpu_fix", "write 'myxtts validate --data-gpu 0 --model-gpu 1'"},
    {"validate_gpu_pipeline", "write 'myxtts validate'"},
    {"validate_gpu_optimization", "write 'myxtts validate'"},
    {"test_dual_gpu_device_placement", "write 'myxtts validate --data-gpu 0 --model-gpu 1'"},
    {"test_intelligent_gpu_pipeline", "write 'myxtts validate --data-gpu 0 --model-gpu 1'"},
    {"test_memory_isolation", "write 'myxtts validate --data-gpu 0 --model-gpu 1 --enable-memory-isolation'"},
    {"dual_gpu_bottleneck_profiler", "write 'myxtts profile --data-gpu 0 --model-gpu 1'"},
    {"training_step_profiler", "write 'myxtts profile'"},
    {"benchmark_hyperparameters", "write 'myxtts profile --compare'"},
    {"memory_optimizer", "write 'myxtts train --dry-run' with the flags of your run: it reports what fits"},
    {NULL, NULL},
};

const char *mx_legacy_command(const char *word)
{
    char name[64];
    const char *const slash = strrchr(word, '/'), *base = slash == NULL ? word : slash + 1;
    if (strncmp(base, "tests.", strlen("tests.")) == 0) base += strlen("tests."); /* as python -m unittest takes them */
    const size_t length = strcspn(base, ".");
    const char *const ending = base + length;
    if (length >= sizeof name || (ending[0] != '\0' && strcmp(ending, ".py") != 0 && strcmp(ending, ".sh") != 0))
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, base);
    const char *const instead = mx_legacy_find(mx_legacy_commands, name);
    return instead != NULL ? instead : mx_legacy_find(mx_legacy_scripts, name);
}
