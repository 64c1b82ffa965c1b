# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # used by the scripts that source this, set by support/cli.sh and support/tones.sh
#
# What the tests of devices and modes share, after support/cli.sh and support/tones.sh: a small corpus of tones, and command
# lines on it. Two CPU devices stand for two GPUs.

# corpus DIR ROWS: tones of 1 to 2 s, with texts that fit.
corpus() {
    # shellcheck disable=SC2016
    tone_corpus "$1" "$2" '$count = 16000 + 2000 * ($row * 7 % 9); $step = 0.06 + 0.002 * ($row % 40);
        $loud = 5000 + 400 * ($row % 10); $text = "Tone number $letter|tone number $letter"'
}

corpus tones 16
base=(train --train-data tones --set training.part=acoustic --set model.width=32 --set model.heads=2 --set model.hidden=64
    --set model.encoder_blocks=1 --set model.decoder_blocks=2 --set data.tokens=chars --set training.samples=0)
dry=("${base[@]}" --batch-size 4 --dry-run)
short=("${base[@]}" --batch-size 4 --steps 3 --seed 3 --eval-every 0)
halves=(--backend cpu --cpu-devices 2)
pair=("${halves[@]}" --data-gpu 0 --model-gpu 1)
# One device, which is half of the cores where there are two: no run needs both cores at the same moment.
one=(--backend cpu --cpu-devices $((cores < 2 ? 1 : 2)))

# said "what" WORDS: on standard error
said() {
    check "$1: says '$2'" grep -qF -- "$2" stderr
}
# The two lines of a refusal and no more: nothing was begun.
alone() {
    check "$1: only the error and its hint" test "$(wc -l <stderr)" -eq 2
}
# Weights and moments of a checkpoint, without its words.
tensors() {
    perl -e 'local $/; open(my $f, "<:raw", $ARGV[0]); my $b = <$f>; print substr($b, 8 + unpack("Q<", $b))' "$1"
}
