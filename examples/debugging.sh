#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Is it my corpus, my settings or the machine? Each step below answers one of these questions. recipe.sh explains the
# arguments and variables. The corpus must have the layout of LJSpeech (metadata.csv, wavs/).
# shellcheck source=examples/recipe.sh
. "$(dirname "$(realpath "$0")")/recipe.sh"
train=(train --train-data "$corpus" --device cpu:0 "${extra[@]}")

say "Settings: the value of every setting"
run config --set training.batch_size=8 --output "$folder/settings.yaml"

say "Corpus: rejects.tsv lists every unusable row with its reason"
run check "$corpus" --rejects "$folder/rejects.tsv"

say "One recording as the network sees it"
recording=$(find -L "$corpus" -name '*.wav' | sort | head -1)
run features "$recording" --output "$folder/one.safetensors" --png "$folder/one.png"

say "Learning: train on eight utterances again and again. If the loss does not fall here, it will not fall anywhere"
{ grep -m 8 . "$corpus/metadata.csv"; } >"$folder/eight.csv"
ln -sfn "$(realpath "$corpus/wavs")" "$folder/wavs"
run train --train-data "$folder/eight.csv" --output "$folder/eight" --device cpu:0 --steps "$steps" --batch-size 8 \
    --set data.validation_fraction=0 --set training.samples=0 "${extra[@]}"
first=$(head -1 "$folder/eight/metrics.jsonl" | grep -o '"mel":[0-9.e-]*')
last=$(grep -v evaluation "$folder/eight/metrics.jsonl" | tail -1 | grep -o '"mel":[0-9.e-]*')
printf 'mel loss: %s at first, %s after %s steps\n' "${first#*:}" "${last#*:}" "$steps"

say "Machine: the same steps without overlap must give the same weights, bit for bit"
run "${train[@]}" --output "$folder/overlapped" --steps 4
run "${train[@]}" --output "$folder/plain" --steps 4 --set pipeline.overlap=false
for name in overlapped plain; do
    "$MYXTTS" inspect "$folder/$name" --json | grep -E '"(min|max|mean)"' | cksum >"$folder/$name.sum"
done
cmp "$folder/overlapped.sum" "$folder/plain.sum"
echo "equal"

say "Logs: all internal details"
run "${train[@]}" --output "$folder/loud" --steps 2 --log-level debug --log-file "$folder/debug.log" --log-format json
say "Checkpoint: is any value not finite?"
run inspect "$folder/eight"
