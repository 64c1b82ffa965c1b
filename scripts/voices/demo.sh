#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# From recordings to a spoken sentence: makes a small corpus with a synthetic teacher, trains a voice on this machine's CPU
# and speaks a sentence that is not in the corpus. If the base voice is installed (voices/ of the source tree), it learns the
# voice of a teacher that it has never heard; otherwise a network learns from nothing.
#
#     scripts/voices/demo.sh build
#
# DEMO_MINUTES limits the training (4 from the base, 6 from nothing), DEMO_COUNT is the number of recordings (150, 500),
# DEMO_STEPS the number of steps (300, 800), DEMO_TEXT the sentence to speak; DEMO_BASE=0 does without the base.

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/tell.sh
. "$here/../tell.sh"

program="$1/myxtts" folder="$1/demo"
voices="$(cd "$here/../.." && pwd)/voices"
text="${DEMO_TEXT:-The morning train was late, so we walked along the river.}"
export MYXTTS_VOICES="$voices${MYXTTS_VOICES:+:$MYXTTS_VOICES}" # also for a build folder that is elsewhere
new=kal16 # a voice of flite that the base has not learned

# The demo corpus again, read by another voice of flite: a folder for 'myxtts train'.
reread()
{
    local from="$1" to="$2" id text done=0 count
    count="$(wc -l <"$from/metadata.csv")"
    mkdir -p "$to/wavs"
    while IFS='|' read -r id text _; do
        [[ -e $to/wavs/$id.wav ]] || {
            flite -voice "$new" -t "$text" -o "$to/wavs/$id.part" </dev/null
            mv "$to/wavs/$id.part" "$to/wavs/$id.wav"
        }
        if [[ -t 2 ]]; then printf '\r%d of %d recordings' $((++done)) "$count" >&2; fi
    done <"$from/metadata.csv"
    if [[ -t 2 ]]; then printf '\n' >&2; fi
    cut -d'|' -f1,2 "$from/metadata.csv" >"$to/metadata.csv.part"
    mv "$to/metadata.csv.part" "$to/metadata.csv"
}

from_base()
{
    local count="${DEMO_COUNT:-150}" minutes="${DEMO_MINUTES:-4}"
    title "Recordings: $count sentences, read by a synthetic teacher ($new of flite) that the base voice does not know"
    run "$program" corpus demo "$folder/sentences-$count" --language en --count "$count"
    reread "$folder/sentences-$count" "$folder/$new-$count"

    title "Teaching the base voice for at most $minutes minutes"
    run "$program" train --train-data "$folder/$new-$count" --output "$folder/run" --init-from base --lr 2e-4 \
        --allow-rejects --steps "${DEMO_STEPS:-300}" --max-minutes "$minutes" --save-every 100 --eval-every 100
}

from_nothing()
{
    local count="${DEMO_COUNT:-500}" minutes="${DEMO_MINUTES:-6}"
    title "Recordings: $count sentences, read by a synthetic teacher (flite)"
    run "$program" corpus demo "$folder/corpus" --language en --count "$count"
    run "$program" prepare "$folder/corpus" --output "$folder/corpus.pack"

    title "Training the smallest network for at most $minutes minutes"
    run "$program" train --train-data "$folder/corpus.pack" --output "$folder/run" --steps "${DEMO_STEPS:-800}" \
        --max-minutes "$minutes" --save-every 200 --eval-every 200
}

mkdir -p "$folder"
title "The devices of this machine"
run "$program" devices
rm -rf "$folder/run"
if [[ ${DEMO_BASE:-1} != 0 && -e $voices/base.voice.safetensors ]]; then from_base; else from_nothing; fi

title "Speaking a sentence that was not among the recordings"
run "$program" synth --checkpoint "$folder/run" --text "$text" --output "$folder/spoken.wav"
run "$program" features "$folder/spoken.wav" --output "$folder/spoken.safetensors" --png "$folder/spoken.png"

title "Done"
printf 'the sentence       %s\n' "$folder/spoken.wav"
printf 'its mel picture    %s\n' "$folder/spoken.png"
printf 'the trained voice  %s\n' "$folder/run"
printf 'about its training %s\n' "$folder/run/report.html"
printf '\nThe teacher is a synthetic voice, too. To use recordings of a person: %s check YOUR_FOLDER\n' "$program"
