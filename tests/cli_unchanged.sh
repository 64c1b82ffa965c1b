#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A command that is refused, or that finds nothing left to do, changes no file of a run: `myxtts train --resume`, with the
# program given as $1. And the flags that its hints name continue the run.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

# contents DIR: the names and contents of all files
contents() {
    (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}
# unchanged "what"
unchanged() {
    check "$1: nothing is changed" test "$(contents run)" = "$before"
}
# the words between the first quotation marks of a line of standard error
# suggested PATTERN
suggested() {
    sed -n "/$1/s/[^']*'\([^']*\)'.*/\1/p" stderr
}

tones corpus 6
done_with train --train-data corpus --output run "${small[@]}" --device cpu:0 --steps 5 --epochs 4 --seed 5
rm run/corpus.pack # a run that continues begins it again
before=$(contents run)

# ---- refused ----
refused 1 'the run has made 5 steps and cannot end after 2' "'--steps 6' or more continues it" train --resume run --steps 2
unchanged "fewer steps"
refused 1 'the run has made 5 steps and cannot end after 2' "'--steps 6 --epochs 3' or more" train --resume run --epochs 1
unchanged "fewer epochs"
read -ra flags <<<"$(suggested hint:)"
refused 1 'cannot end after 1' "'--steps 6 --epochs [0-9]*' or more" train --resume run --grad-accum 8
unchanged "fewer steps an epoch"
refused 1 'cannot end after 2' "'--steps 6' or more" train --resume run --steps 2 --dry-run
unchanged "a dry run"
refused 3 'of the limit of 1.00 MiB' 'would fit' train --resume run --steps 8 --model-gpu-memory 1
unchanged "too little memory"

# ---- nothing left ----
done_with train --resume run
check "it says so" grep -q "^step 5 was the last one: nothing is left to do; '--steps 6' or more continues$" stderr
check "and where the run is" grep -qx 'run: step 5 of 5' stdout
unchanged "a run that is over"
done_with train --resume run --lr 1e-4 --steps 5 --set training.save_every=7
unchanged "other settings"

# ---- what the hints say ----
cp -r run again
done_with train --resume again "${flags[@]}"
check "${flags[*]} continues" grep -qx 'again: step 6 of 6' stdout
cp -r run again-2
done_with train --resume run
read -ra flags <<<"$(suggested nothing)"
done_with train --resume again-2 "${flags[@]}"
check "${flags[*]} continues, too" grep -qx 'again-2: step 6 of 6' stdout
check "the cache is there again" test -s again-2/corpus.pack

finish
