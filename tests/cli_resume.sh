#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The way from recordings to speech, with the program given as $1, as short as it can be: a run, the same run resumed
# in its middle (bit for bit), and a sentence spoken. cli_train.sh and cli_synth.sh look closer; this one is also for
# processors that are emulated.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

tones corpus 8
args=("${small[@]}" --device cpu:0 --save-every 2 --seed 5)
done_with train --train-data corpus --output whole "${args[@]}" --steps 4
cp -r whole parts
rm parts/checkpoints/step-00000004* # as if it had been killed before
done_with train --resume parts
check "it goes on in the middle" grep -q 'after step 2 of 4' stderr
check "weights, optimizer and state are the same bit for bit" \
    cmp whole/checkpoints/step-00000004.safetensors parts/checkpoints/step-00000004.safetensors
sed -i 's/"state":"done"/"state":"training"/' parts/run.json # as if it had been killed after its last checkpoint
done_with train --resume parts
check "nothing is left to do" grep -q 'nothing is left to do' stderr
check "and run.json says that the run is done" grep -q '"state":"done"' parts/run.json
done_with synth --checkpoint whole --device cpu:0 --text 'The tone number a.' --output spoken.wav
check "a sentence is spoken" test "$(stat -c %s spoken.wav)" -gt 1000
check "as a WAV file" test "$(head -c 4 spoken.wav)" = RIFF

finish
