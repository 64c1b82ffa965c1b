#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A recipe other than the default, with the program given as $1, from the corpus to the sound: training, resuming, a voice
# file, an adapter, packed corpora, export, server and evaluation have its rate, and what has another recipe is refused.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/serve.sh
. "$here/support/serve.sh"
one_core

fixture voice old # of the default recipe
tones tones 8
wide=mx-mel-24k-100
text='The tone number a.'

# rate FILE: samples per second of a WAV file.
rate() { od -An -t u4 -j 24 -N 4 "$1" | tr -d ' '; }
# has RATE FILE...
has() {
    local wanted=$1 file
    shift
    for file; do [ "$(rate "$file")" = "$wanted" ] || return 1; done
}
# small_train OUTPUT ARGUMENTS...: a few steps.
small_train() { "$program" train --output "$1" "${small[@]}" --part both "${@:2}"; }
# metrics RUN: without times.
metrics() { sed 's/,"step_ms":.*/}/' "$1/metrics.jsonl"; }

# ---- training, and the same in two parts ----
check "training" small_train run --train-data tones --recipe $wide --steps 4 --eval-every 2 --set training.samples=1
check "the run keeps its recipe" grep -q "recipe: $wide" run/config.yaml
check "the rate of samples and voices" has 24000 run/samples/recorded/*.wav run/samples/step-*/*.wav run/voices/*.wav
check "the first half" small_train halves --train-data tones --recipe $wide --steps 4 --eval-every 2 \
    --set training.samples=1 --set training.save_every=2
rm halves/checkpoints/step-00000004.safetensors
done_with train --resume halves
check "resumed, it is the same" cmp <(metrics run) <(metrics halves)
check "the checkpoint names it" grep -q "recipe  *$wide" <("$program" inspect run)

# ---- speaking ----
done_with synth --checkpoint run --text "$text" --output run.wav
done_with export run --precision fp32 --any-speaker --output run.voice.safetensors
done_with synth --checkpoint run.voice.safetensors --text "$text" --output file.wav
check "the voice file speaks like the run" cmp run.wav file.wav
done_with synth --checkpoint run --text "$text" --speaker-wav tones/wavs/row-003.wav --output person.wav
done_with vocode tones/wavs/row-003.wav --vocoder run --output copy.wav
done_with vocode tones/wavs/row-003.wav --recipe mx-mel-44k-100 --output wider.wav
check "the rate of what is spoken" has 24000 run.wav file.wav person.wav copy.wav
check "Griffin-Lim takes any recipe" has 44100 wider.wav
done_with synth --checkpoint old --text "$text" --output old.wav
check "a voice of the default recipe has its own" has 22050 old.wav
done_with eval --checkpoint run --data tones
done_with export run --format piper --output piper
check "Piper gets the rate" grep -q '"sample_rate":[[:space:]]*24000' piper/voice.onnx.json
done_with export run --format sherpa --output sherpa
check "sherpa-onnx gets the rate" grep -qa 'sample_rate.\{1,4\}24000' sherpa/voice.onnx
serve run old --listen 127.0.0.1:0 --wyoming 127.0.0.1:0 || exit 1
check "the server names both rates" test "$(grep -c "voice '\(run\|old\)'.*\(24000\|22050\) Hz" server)" = 2
for name in run old; do
    curl -s -o "served-$name.wav" "http://127.0.0.1:$http/v1/audio/speech" -H 'Content-Type: application/json' \
        -d "{\"input\": \"$text\", \"voice\": \"$name\", \"response_format\": \"wav\"}"
done
served 0
check "served with its rate" has 24000 served-run.wav
check "and beside it the other" has 22050 served-old.wav

# ---- what goes on with it ----
check "new weights take its recipe" small_train more --train-data tones --init-from run.voice.safetensors --steps 1
check "so does an adapter" "$program" train --train-data tones --output adapted --init-from run.voice.safetensors \
    --adapter-rank 2 --set data.tokens=chars --batch-size 4 --steps 1 --part acoustic
done_with export adapted --adapter --output adapted.voice.safetensors
done_with synth --checkpoint adapted.voice.safetensors --text "$text" --output adapted.wav
check "the rate of the adapted voice" has 24000 adapted.wav
done_with prepare tones --tokens chars --recipe $wide --output wide.pack
done_with prepare tones --tokens chars --recipe $wide --features --output wide-features.pack
done_with prepare tones --tokens chars --output narrow.pack
check "a packed corpus" small_train packed --train-data wide.pack --recipe $wide --steps 1
check "its features" "$program" train --train-data wide-features.pack --output features "${small[@]}" --recipe $wide --steps 1

# ---- refusals ----
refused 1 "option '--recipe'" 'mx-mel-22k-80, mx-mel-24k-100' train --train-data tones --output r0 --recipe mx-mel-8k
refused 1 "the recipe $wide, not of mx-mel-22k-80" "omit '--recipe': a run" train --resume run --recipe mx-mel-22k-80
refused 1 "the recipe $wide, not of mx-mel-22k-80" "or start without '--init-from'" train --train-data tones --output r1 \
    --init-from run --recipe mx-mel-22k-80
refused 2 "the recipe mx-mel-22k-80, the run has $wide" "'--recipe mx-mel-22k-80'" train --train-data tones --output r2 \
    "${small[@]}" --part both --recipe $wide --vocoder old
refused 2 '22050 samples per second, but the recipe mx-mel-24k-100 needs 24000' "'--recipe mx-mel-22k-80'" train \
    --train-data narrow.pack --output r3 "${small[@]}" --recipe $wide
refused 2 "the recipe $wide" "prepare the corpus again with '--recipe mx-mel-22k-80'" train --train-data wide-features.pack \
    --output r4 "${small[@]}"
refused 2 'have 22050 samples per second, but those of training have 24000' "same '--recipe'" train --train-data wide.pack \
    --val-data narrow.pack --output r5 "${small[@]}" --recipe $wide
refused 2 'needs 24000' "'--recipe $wide'" eval --checkpoint run --data narrow.pack
refused 1 'the vocoder was trained for the recipe' 'take a vocoder of that recipe' synth --checkpoint run --vocoder old \
    --text "$text" --output r.wav
check "refusals leave no folder" not ls -d r[0-5]
finish
