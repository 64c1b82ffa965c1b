# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154,SC2034
#
# For voices.sh: the parts held-out and amount. Both can be stopped at any moment: a training that was stopped continues,
# and a cell of the table whose numbers are in amount/AMOUNT-WAY.json is not made again. The cell 5-long, with which the bar
# compares 5-base, is not in the table.
#
#     without-SPEAKER/base/    corpus, run and result of a base that never heard the speaker
#     amount/AMOUNT/           recordings of the speaker, AMOUNT minutes of them
#     amount/AMOUNT-WAY/       the run of a cell

# train_resumable DATA RUN MINUTES FLAGS…: trains for MINUTES, also in pieces, and sets steps; RUN/steps has how many there are
# to be, chosen so that they fill the time on this machine as it is now.
train_resumable()
{
    local data="$1" to="$2" minutes="$3"
    shift 3
    if [[ ! -e $to.steps ]]; then
        speed_measure "$data" "$to" "$speed_steps" "$@"
        steps_in "$minutes" >"$to.steps"
    fi
    steps=$(<"$to.steps")
    [[ ! -e $to.done ]] || return 0
    if compgen -G "$to/checkpoints/*.safetensors" >/dev/null; then
        run "$program" train --resume "$to"
    else
        rm -rf "$to"
        run "$program" train --train-data "$data" --output "$to" --steps "$steps" --epochs 1000000 --eval-every 0 --save-every 250 \
            --set training.samples=0 "$@"
    fi
    touch "$to.done"
}

# held_out_corpus: without-SPEAKER/corpus, all rows but those of the speaker
held_out_corpus()
{
    local to="$folder/without-$held_out/corpus"
    mkdir -p "$to"
    ln -sfn "$(realpath "$corpus/wavs")" "$to/wavs"
    awk -F'|' -v name="-${held_out#*-}" 'NR == 1 || substr($3, length($3) - length(name) + 1) != name' "$corpus/metadata_train.csv" >"$to/metadata_train.csv"
    awk -F'|' -v name="-${held_out#*-}" 'NR == 1 || substr($3, length($3) - length(name) + 1) != name' "$corpus/metadata_eval.csv" >"$to/metadata_eval.csv"
}

held_out_part()
{
    local to="$folder/without-$held_out" files=() name
    grep -q "|$held_out|" "$corpus/metadata_eval.csv" || {
        printf 'bench-voices: %s/metadata_eval.csv has no speaker %s; choose another HELD_OUT_SPEAKER\n' "$corpus" "$held_out" >&2
        exit 2
    }
    held_out_corpus
    train_resumable "$to/corpus" "$to/base" "$held_out_minutes" "${base_flags[@]}" "${flags[@]}"
    rm -rf "$to/cloning"
    training_link "$to/cloning"
    for name in "$to/cloning/training"/*-"${held_out#*-}"; do rm -rf "$name"; done
    mapfile -t files < <(awk -F'|' -v s="$held_out" '$3 == s { print $1 }' "$corpus/metadata_eval.csv" | sed "s|^|$corpus/|")
    person_make "$to/cloning/people" "$held_out" "held out of $steps steps" false '' 0 "${files[@]}" || exit 2
    clone "$to/base" "$to/cloning/people/$held_out" "${held_out%%-*}"
    "$python" "$judge" people "$to/cloning" "$to/people.json"
    sed 's/"part": "clone"/"part": "held-out '"$held_out"'"/' "$to/people.json" >"$folder/held-out-$held_out.part.json"
}

# amount_corpus MINUTES: amount/MINUTES, recordings of the speaker in an order that is not that of their names
amount_corpus()
{
    local to="$folder/amount/$1" row seconds=0
    [[ ! -e $to/metadata_train.csv ]] || return 0
    mkdir -p "$to"
    ln -sfn "$(realpath "$corpus/wavs")" "$to/wavs"
    while IFS= read -r row; do
        seconds=$(awk -v sum="$seconds" -v more="$(soxi -D "$corpus/${row%%|*}")" 'BEGIN { print sum + more }')
        printf '%s\n' "$row"
        awk "BEGIN { exit !($seconds >= 60 * $1) }" && break
    done < <(awk -F'|' -v s="$held_out" '$3 == s' "$corpus/metadata_train.csv" | LC_ALL=C sort | shuf --random-source=<(yes)) >"$to/rows"
    awk "BEGIN { exit !($seconds < 60 * $1) }" && printf 'bench-voices: %s has only %.1f minutes of recordings\n' "$held_out" "$(awk "BEGIN { print $seconds / 60 }")"
    { head -n 1 "$corpus/metadata_train.csv" && cat "$to/rows"; } >"$to/metadata_train.csv"
    { head -n 1 "$corpus/metadata_eval.csv" && awk -F'|' -v s="$held_out" '$3 == s' "$corpus/metadata_eval.csv"; } >"$to/metadata_eval.csv"
}

# cell MINUTES WAY: trains and judges one cell, amount/MINUTES-WAY.json
cell()
{
    local to="$folder/amount/$1-$2" more=() minutes alike person="$folder/$held_out"
    case $2 in
    nothing) minutes="${NOTHING_MINUTES:-10}" ;;
    long) minutes="${LONG_MINUTES:-30}" ;;
    base) minutes="${BASE_MINUTES:-5}" more=(--init-from "$folder/without-$held_out/base" --lr 2e-4) ;;
    adapter) minutes="${ADAPTER_MINUTES:-3}" more=(--init-from "$folder/without-$held_out/base" --set training.adapter_rank=8) ;;
    *)
        printf 'bench-voices: there is no way %s; give nothing, base, adapter or long\n' "$2" >&2
        exit 2
        ;;
    esac
    title "$1 minutes of recordings, $2: $minutes minutes of training"
    amount_corpus "$1"
    train_resumable "$folder/amount/$1" "$to" "$minutes" --allow-rejects "${more[@]}" "${flags[@]}"
    rm -rf "$to.said"
    run "$program" synth --checkpoint "$to" --speaker "$held_out" --text-file "$person/lines.txt" --output-dir "$to.said" --quiet
    recognise "$person/lines.txt" "$to.said" "$person/said.txt" "$to.heard.txt"
    alike=$("$python" "$judge" alike "$to.said" "$person/recording")
    printf '{"minutes_of_recordings": %s, "way": "%s", "minutes_of_training": %s, "steps": %s, "word_errors": %s, "words": %s, "word_error_percent": %s, "dnsmos": %s, "similarity": %s}\n' \
        "$1" "$2" "$minutes" "$steps" $found "$(overall "$person/lines.txt" "$to.said")" "$alike" >"$to.json"
}

# field NAME FILE
field()
{
    sed -n 's/.*"'"$1"'": \([0-9.]*\).*/\1/p' "$2"
}

# row FILE: what the table says about a cell
row()
{
    printf '%10s %7s %7s' "$(field word_error_percent "$1")" "$(field dnsmos "$1")" "$(field similarity "$1")"
}

# table RATE DNSMOS SIMILARITY (of the recordings): prints the cells that are there
table()
{
    local amount way file
    printf '\n  %-26s' 'minutes of recordings'
    for way in "${ways[@]}"; do printf ' %26s' "$way"; done
    printf '\n  %-26s' ''
    for way in "${ways[@]}"; do printf ' %26s' 'words %  DNSMOS  similar'; done
    printf '\n'
    for amount in "${amounts[@]}"; do
        printf '  %-26s' "$amount"
        for way in "${ways[@]}"; do
            file="$folder/amount/$amount-$way.json"
            if [[ -e $file ]]; then
                printf ' %s' "$(row "$file")"
            else
                printf ' %26s' '-'
            fi
        done
        printf '\n'
    done
    printf '  recordings: %s %% of the words, DNSMOS %s, similarity of two recordings %s\n' "$1" "$2" "$3"
}

amount_part()
{
    local amount way cells=() real from="$folder/amount/5-long.json" to="$folder/amount/5-base.json" person="$folder/$held_out" real_rate real_mos
    if ! "$program" config | grep '^  adapter_rank:' >/dev/null; then
        ways=("${ways[@]/adapter/}")
        read -ra ways <<<"${ways[*]}"
        printf 'The program has no adapters (training.adapter_rank): that column is left out\n'
    fi
    [[ " ${ways[*]} " != *' base '* && " ${ways[*]} " != *' adapter '* ]] || need "$folder/without-$held_out/base.done" "run PARTS=held-out first"
    mkdir -p "$folder/amount"
    prompts "$held_out"
    heard recordings "$person/lines.txt" "$person/said.txt" "$person/recording"
    real_rate=$rate real_mos=$mos
    real=$("$python" "$judge" alike "$person/recording" "$person/recording")
    for amount in "${amounts[@]}"; do
        for way in "${ways[@]}"; do
            [[ -e $folder/amount/$amount-$way.json ]] || cell "$amount" "$way"
            table "$real_rate" "$real_mos" "$real"
        done
    done
    if [[ -e $to ]]; then
        [[ -e $from ]] || cell 5 long
        printf '  %-26s %s (%s minutes of training)\n' '5, from nothing for longer' "$(row "$from")" "$(field minutes_of_training "$from")"
        bar '5 minutes of recordings from the base: word errors, points above those of a longer training from nothing' \
            "$(awk "BEGIN { print $(field word_error_percent "$to") - $(field word_error_percent "$from") }")" 0 \
            "$(field word_error_percent "$to") <= $(field word_error_percent "$from")"
        bar '5 minutes of recordings from the base: similarity, of that of real recordings' \
            "$(awk "BEGIN { print $(field similarity "$to") / $real }")" 0.80 "$(field similarity "$to") >= 0.8 * $real"
    fi
    for way in "$folder"/amount/*.json; do cells+=("$(<"$way")"); done
    local IFS=,
    part_write amount "\"speaker\": \"$held_out\", \"recordings\": {\"word_error_percent\": $real_rate, \"dnsmos\": $real_mos, \"similarity\": $real}, \"cells\": [${cells[*]}]"
}
