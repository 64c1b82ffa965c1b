#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# examples/train_tiny.c ($2) beside the program ($1): the example learns, what it trains is bit for bit what `myxtts train`
# trains with the same settings, and either goes on with, and speaks, what the other saved.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
example=$(realpath "${2:?usage: bash example_train_tiny.sh PROGRAM EXAMPLE}")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

# tiny EXIT-CODE ARGUMENTS...: the example must end with it.
tiny() {
    local wanted=$1
    shift
    "$example" "$@" >stdout 2>stderr
    code=$?
    check "the example with '$*': exit code $code instead of $wanted" test "$code" -eq "$wanted"
}

# The metrics of a run without the times.
metrics() {
    sed 's/,"step_ms":.*/}/' "$1/metrics.jsonl"
}

source=$here/../examples/train_tiny.c
check "the example is short" test "$(wc -l <"$source")" -lt 150
check "it sees public headers alone" bash -c '! grep "#include [<\"][a-z]*/" "$1" | grep -v "<myxtts/\|<sys/"' - "$source"

tones tones 14

# ---- refusals ----
tiny 1 tones
check "usage" grep -q 'CORPUS RUN STEPS' stderr
tiny 2 none run 40
check "a missing corpus is named" grep -q 'cannot find none' stderr
tiny 1 tones run many
check "a wrong number is named" grep -q 'training.steps' stderr
check "a refusal leaves no folder" test ! -e run
mkdir others && echo text >others/file.txt
tiny 1 tones others 40
check "what it is not is named" grep -q 'others is no run' stderr
check "a folder of other files stays as it is" test "$(ls others)" = file.txt

# ---- a whole run, beside the same of the program ----
tiny 0 tones run 40
check "the loss fell" grep -q '^loss [0-9.]* over the first 20 steps, [0-9.]* over the last$' stdout
check "two evaluations" test "$(grep -c 'validation loss [0-9]' stdout)" -eq 2
check "nothing was said but warnings" test ! -s stderr
for file in config.yaml log.txt report.html checkpoints/best.safetensors samples/step-00000040/000.wav; do
    check "$file is there" test -s "run/$file"
done
check "the run is done" grep -q '"state":"done"' run/run.json
done_with train --train-data tones --output same "${small[@]}" --part both --epochs 100000 --steps 40 --set training.warmup_steps=5 \
    --save-every 20 --eval-every 20
check "40 steps in the metrics" test "$(grep -c '"loss_z"' run/metrics.jsonl)" -eq 40
check "the program trains the same, bit for bit" diff <(metrics run) <(metrics same)

# ---- a signal: what was learned is saved ----
"$example" tones stopped 100000 >stdout 2>stderr &
for _ in $(seq 1 3000); do
    grep -q '"loss_z"' stopped/metrics.jsonl 2>/dev/null && break
    sleep 0.02
done
kill $!
wait $!
code=$?
check "interrupted: exit code $code" test "$code" -eq 4
check "it says so" grep -q 'everything is saved' stderr
check "run.json says so" grep -q '"state":"interrupted"' stopped/run.json
made=$(grep -c '"loss_z"' stopped/metrics.jsonl)
done_with train --resume stopped --steps $((made + 2))
check "not a step is lost" test "$(grep -c '"loss_z"' stopped/metrics.jsonl)" -eq $((made + 2))

# ---- each goes on with what the other saved ----
done_with synth --checkpoint run --text 'The tone number b.' --output b.wav
check "the voice speaks" test "$(wc -c <b.wav)" -gt 1000
done_with train --resume run --steps 44
check "the program goes on" grep -q '^run: step 44 of 44$' stdout
tiny 0 tones run 48
check "and so does the example" test "$(grep -c '"loss_z"' run/metrics.jsonl)" -eq 48
tiny 0 tones run 48
check "until nothing is left to do" grep -q 'nothing is left to do' stdout

finish
