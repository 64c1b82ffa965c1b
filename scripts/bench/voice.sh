# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
#
# For speech.sh and sound.sh: trainings that fill a given time, and what a recogniser and DNSMOS say about
# the result. The caller sets `program` (myxtts), `tools` (the folder of word_errors) and `python` (with the judges).

# step_undisturbed METRICS.jsonl: seconds of a mean step at the speed in frames that the fastest quarter of the steps reach.
# Other work on the machine makes steps slower, never faster, and the first ones touch memory for the first time.
step_undisturbed()
{
    sed -n 's/.*"frames":\([0-9]*\),.*"step_ms":\([0-9.e+-]*\)[,}].*/\1 \2/p' "$1" | tail -n +4 | awk '$1 > 0 { print $2 / $1, $1 }' | sort -g |
        awk '{ ms[NR] = $1; frames += $2 } END { printf "%.4f", NR ? ms[int((NR + 3) / 4)] * frames / NR / 1000 : 0 }'
}

# speed_measure DATA RUN STEPS FLAGS…: trains that many steps and sets step_seconds
speed_measure()
{
    local data="$1" to="$2.speed" count="$3"
    shift 3
    rm -rf "$to"
    mkdir -p "$(dirname "$to")"
    run "$program" train --train-data "$data" --output "$to" --steps "$count" --epochs 1000000 --eval-every 0 \
        --set training.eval_utterances=1 --set training.samples=0 "$@"
    step_seconds=$(step_undisturbed "$to/metrics.jsonl")
    rm -rf "$to"
}

# steps_in MINUTES: how many fill the time at step_seconds each
steps_in()
{
    awk -v minutes="$1" -v seconds="$step_seconds" 'BEGIN { n = int(0.97 * 60 * minutes / seconds); print n < 1 ? 1 : n }'
}

# train_minutes DATA RUN MINUTES FLAGS…: trains from nothing. Sets steps to those that fill the time at step_seconds each:
# other work on the machine makes the training longer, but neither shorter in steps nor worse.
train_minutes()
{
    local data="$1" to="$2" minutes="$3"
    shift 3
    rm -rf "$to"
    mkdir -p "$(dirname "$to")"
    steps=$(steps_in "$minutes")
    printf '%s s per step: %s steps in %s minutes\n' "$step_seconds" "$steps" "$minutes"
    run "$program" train --train-data "$data" --output "$to" --steps "$steps" --epochs 1000000 --eval-every 0 --save-every 1000 \
        --set training.samples=0 "$@"
}

# recognise IDS.csv FOLDER SAID HEARD: what is heard in FOLDER/ID.wav of every ID before the first '|' of a line,
# compared with the lines of SAID; sets `found` to "errors words rate".
recognise()
{
    local id sound="$4.wav"
    : >"$4"
    while IFS='|' read -r id _; do
        sox "$2/$id.wav" -r 16000 -c 1 -b 16 "$sound"
        pocketsphinx_continuous -infile "$sound" -logfn /dev/null </dev/null | tr '\n' ' ' >>"$4"
        printf '\n' >>"$4"
    done <"$1"
    rm -f "$sound"
    found=$("$tools/word_errors" "$3" "$4")
}

# overall IDS.csv FOLDER [RECORDINGS]: mean DNSMOS (overall) of the same files, or nothing where the judge is not
# installed. With RECORDINGS, each file gets the level and the silence at both ends of RECORDINGS/ID.wav first.
overall()
{
    local id files=() like=()
    while IFS='|' read -r id _; do files+=("$2/$id.wav"); done <"$1"
    (($# < 3)) || like=(--like "$3")
    "$python" "$(dirname "${BASH_SOURCE[0]}")/peers/sound_overall.py" "${like[@]}" "${files[@]}" 2>/dev/null || true
}

verdict()
{
    if awk "BEGIN { exit !($1) }"; then printf 'held'; else printf 'missed'; fi
}
