#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts train --part vocoder, with the program given as $1, on a folder of sounds without texts: what it would need, a
# run that stops and goes on (bit for bit), what is left out, the packed cache, and every refusal.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones corpus 12
mkdir -p sounds/deep/er short empty
cp corpus/wavs/row-00[0-5].wav sounds/deep/er
cp corpus/wavs/row-00[6-9].wav corpus/wavs/row-01?.wav sounds
part=(train --part vocoder --set vocoder.segments=4 --set vocoder.segment_frames=16)

# ---- the dry run ----
done_with "${part[@]}" --train-data sounds --dry-run
check "it counts" grep -qF 'Data: 11 utterances to train on, 1 for validation' stdout
check "it has segments" grep -qF 'of at most 4 segments an epoch' stdout
check "there is no acoustic network" test "$(grep -c 'heads' stdout)" -eq 0
check "nothing is made" test ! -e vocoder-run
done_with train --train-data corpus --set data.tokens=chars --dry-run
check "both have sizes" test "$(grep -c -e '--> chosen' stdout)" -eq 2
done_with train --part acoustic --train-data corpus --set data.tokens=chars --dry-run
check "only the acoustic network" test "$(grep -c -e '--> chosen' stdout)" -eq 1

# ---- refusals ----
refused 2 'there is no sound file' 'wav, flac, ogg, opus or mp3' "${part[@]}" --train-data empty --output r0
refused 2 'none of the 12 sound files' 'data.min_seconds' "${part[@]}" --train-data sounds --output r0 \
    --set data.min_seconds=10
refused 1 'vocoder.rounds' '1000' "${part[@]}" --train-data sounds --output r0 --set vocoder.rounds=1001
refused 1 "option '--part'" 'acoustic' train --part text --train-data sounds --output r0
refused 2 'there is no manifest' 'metadata.csv' train --train-data sounds --output r0
check "a refusal leaves no folder" test ! -e r0

# ---- a run, and the same in two pieces ----
run_of=(--steps 6 --set training.save_every=3 --set training.eval_every=6 --set training.report=off)
done_with "${part[@]}" --train-data sounds --output whole "${run_of[@]}"
check "the losses of the vocoder are there" grep -q '"vocoder_magnitude":0*[0-9]' whole/metrics.jsonl
cp -r whole pieces
rm pieces/checkpoints/*6.safetensors
done_with train --resume pieces
check "the same bits" cmp whole/checkpoints/*6.safetensors pieces/checkpoints/*6.safetensors

# ---- what is left out is named; the cache is a corpus of sounds ----
cp -r sounds more
echo 'not a sound' >more/broken.wav
refused 2 'of 13 rows are rejected' 'allow-rejects' "${part[@]}" --train-data more --output r1 --steps 1
done_with "${part[@]}" --train-data more --output r2 --steps 40 --allow-rejects --set training.eval_every=0
check "it is named" grep -q 'broken.wav' r2/rejects.tsv
check "all are in the cache" test -e r2/corpus.pack
done_with "${part[@]}" --train-data r2/corpus.pack --dry-run
check "the cache has them" grep -qF 'Data: 11 utterances to train on, 1 for validation' stdout
refused 2 'has no texts' "--part vocoder" train --part acoustic --train-data r2/corpus.pack --output r3

finish
