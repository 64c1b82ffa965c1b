#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Validation rows from elsewhere (--val-data), with the program given as $1: a folder or a packed corpus beside a folder
# or a packed corpus gives the same rows and the same losses; what does not exist, or does not fit, is an error.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

# losses RUN: of all evaluations
losses() {
    grep -o '"evaluation":{"utterances":[0-9]*,"loss":[^,]*' "$1/metrics.jsonl"
}

tones corpus 8
# Two rows of the same speakers and one of another, who says a letter that training has not; a recording is missing.
tones held 4
sed -i '1s/high/other/; 1s/The tone/Quiet tone/' held/metadata.csv
sed -i 's/^row-/held-/' held/metadata.csv
for wav in held/wavs/row-*; do mv "$wav" "${wav/row-/held-}"; done
rm held/wavs/held-003.wav
for part in corpus held; do done_with prepare "$part" -o "$part.pack" --tokens chars --allow-rejects; done
base=(--device cpu:0 "${small[@]}" --set training.samples=0 --seed 3)

# ---- all four combinations ----
for train in corpus corpus.pack; do
    for held in held held.pack; do
        done_with train --train-data $train --val-data $held "${base[@]}" --dry-run --allow-rejects
        check "$train with $held: rows" grep -q '^Data: 8 utterances to train on, 3 for validation$' stdout
        done_with train --train-data $train --val-data $held "${base[@]}" --steps 4 --eval-every 2 --allow-rejects --output "$train-$held"
        check "$train with $held: config.yaml has it" grep -q "val_data: .*/$held\"\?$" "$train-$held/config.yaml"
        [ $held = held.pack ] || # where it is not any more
            check "$train with $held: what is left out is listed" grep -q 'held/metadata.csv.*held-003.*missing' "$train-$held/rejects.tsv"
        # Of two folders the new letter has another number, and thus other weights to begin with.
        [ $train-$held = corpus-held ] ||
            check "$train with $held: the same losses" test "$(losses "$train-$held")" = "$(losses corpus-held.pack)"
    done
done
check "there are losses" test "$(losses corpus-held.pack | wc -l)" -eq 2
check "the speakers are those of both" grep -q 'high, low, other' <("$program" inspect corpus.pack-held.pack)

# ---- a run goes on, and is judged by them ----
for run in corpus.pack-held corpus-held.pack; do
    cp -r $run again
    rm again/checkpoints/step-00000004* # as if it had been killed before
    done_with train --resume again
    check "$run goes on to the same bits" cmp $run/checkpoints/step-00000004.safetensors again/checkpoints/step-00000004.safetensors
    check "$run: the corpus is the same" test "$(grep -c changed stderr)" -eq 0
    rm -r again
done

# ---- errors ----
for train in corpus corpus.pack; do
    refused 2 "there is no folder or file 'nothing'" 'check the path' train --train-data $train --val-data nothing "${base[@]}" \
        --steps 2 --output none
done
check "nothing is left of them" test ! -e none
done_with prepare held -o features.pack --tokens chars --allow-rejects --features
refused 2 "features.pack' hold precomputed features, but those of training hold sound" 'prepare both alike' \
    train --train-data corpus --val-data features.pack "${base[@]}" --steps 2 --output none
done_with prepare held -o phonemes.pack --allow-rejects
refused 2 "phonemes.pack' holds phonemes, but the vocabulary is made of" "'--tokens'" \
    train --train-data corpus --val-data phonemes.pack "${base[@]}" --steps 2 --output none
for command in check "prepare -o none.pack"; do
    read -ra words <<<"$command"
    refused 2 "'held.pack' is a packed corpus, which has no manifest" 'name the folder' "${words[@]}" corpus --val-data held.pack
done

finish
