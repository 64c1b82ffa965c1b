#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# How much of a recording is left after mel and sound, judged by programs of others.
#
#     scripts/bench/sound.sh build
#
# Copy synthesis: recordings that were not trained on become mel and sound again,
#   - by Griffin–Lim as librosa has it, from the pseudo-inverse of the mel;
#   - by our Griffin–Lim, the rounds alone and with projections;
#   - by vocoders that `myxtts train --part vocoder` trained on other recordings of the same voice, each from nothing in
#     the minutes of its name;
#   - by vocoders that never heard the voice, trained on the recordings of all other voices together.
# The human voice is also copied from a mel smoothed by one frame, since networks predict smooth mel.
# Judges: PESQ (wide band), STOI, DNSMOS (overall), and the crest of the envelope in voiced frames against the
# recording's (scripts/bench/peers/sound_judge.py, which also has the bars).
# The voices: a woman (prompts of the Debian package asterisk-core-sounds-en-g722; those of 2 seconds or more, the last by
# name, are copied, all others trained on), a man, another man and a woman of flite (rms, awb, slt) and espeak-ng
# (Persian as in 'myxtts corpus demo', and English).
#
# Free-running speech: `myxtts train` learns the human voice from its prompts and their texts, says texts it was not
# trained on with its own vocoder and with Griffin–Lim; DNSMOS and the word errors of a recogniser stand beside those of
# the recordings. DNSMOS depends on level and on silence at the ends, too: the column "alike" has the score of speech that
# was given those of the recordings, and the bar is for that one.
#
# The script prints its results; the numbers are also in BUILD/bench/sound.json, spectrograms of one copy of each kind in
# BUILD/bench/sound.png. Environment variables, with defaults (the trainings take 84 minutes):
#
#     COUNT=20                    recordings of each voice to copy
#     ROUNDS=48                   of Griffin–Lim
#     PROJECTIONS=4               of the rows with projections; "2 4 8" makes one row each
#     VOICES="human rms slt awb espeak espeak-en"
#     SOUND_MINUTES="2 5 10 20"   of training on the human voice; 0: no vocoders. The other voices get the first.
#     UNHEARD_MINUTES=2           of training on all other voices, for each voice; 0: none
#     SPEAK_MINUTES=25            of training the whole voice; 0: no free-running speech
#     SPEED_STEPS=75              steps that measure how long a step takes, which determines the number of steps
#     TRAIN_FLAGS=                more flags for 'myxtts train'

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/tell.sh
. "$here/../tell.sh"
# shellcheck source=scripts/bench/voice.sh
. "$here/voice.sh"

program="$1/myxtts" tools="$1" folder="$1/sound" result="$1/bench/sound.json" python="$1/venv/bin/python"
count="${COUNT:-20}" rounds="${ROUNDS:-48}" unheard="${UNHEARD_MINUTES:-2}" speak_minutes="${SPEAK_MINUTES:-25}" speed_steps="${SPEED_STEPS:-75}"
read -ra projections <<<"${PROJECTIONS:-4}"
read -ra voices <<<"${VOICES:-human rms slt awb espeak espeak-en}"
read -ra minutes <<<"${SOUND_MINUTES:-2 5 10 20}"
read -ra flags <<<"${TRAIN_FLAGS:-}"
prompts=/usr/share/asterisk/sounds/en_US_f_Allison
texts=/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz
least_bytes=16000 # of G.722: 2 seconds
sentences=200     # of each synthetic voice
vocoder_seconds=  # a step of the vocoder; the same for every voice
core=$(taskset -pc $$ | sed 's/.*: *//; s/[,-].*//')

# divide VOICE FILE…: the last COUNT become recordings to copy, the others are for training
divide()
{
    local voice="$1"
    shift
    (($# > count)) || {
        printf 'bench-sound: there are %d recordings of %s; COUNT must be smaller\n' $# "$voice" >&2
        exit 2
    }
    ln -f "${@:1:$#-count}" "$folder/data/$voice/"
    ln -f "${@:$#-count+1}" "$folder/copies/$voice/recording/"
}

# recordings VOICE: copies/VOICE/recording/*.wav to copy and data/VOICE/*.wav to train on
recordings()
{
    local to="$folder/all/$1" file name number=0 chosen=() rest=()
    rm -rf "$folder/copies/$1" "$folder/data/$1"
    mkdir -p "$folder/copies/$1/recording" "$folder/data/$1" "$to"
    case $1 in
    human)
        while IFS= read -r file; do
            name="${file#"$prompts"/}" name="${name%.g722}" name="${name//\//_}"
            [[ -e $to/$name.wav ]] || ffmpeg -v error -f g722 -i "$file" -ar 22050 "$to/$name.wav" </dev/null
            if ((${#chosen[@]} < count && $(stat -c %s "$file") >= least_bytes)); then
                chosen+=("$to/$name.wav")
            else
                rest+=("$to/$name.wav")
            fi
        done < <(find "$prompts" -name '*.g722' | LC_ALL=C sort -r)
        divide human "${rest[@]}" "${chosen[@]}"
        ;;
    rms | slt | awb)
        run "$program" corpus demo "$folder/all/en" --language en --count $((3 * sentences)) --speakers 3
        divide "$1" "$folder/all/en/wavs/en-$1"-*.wav
        ;;
    espeak)
        run "$program" corpus demo "$folder/all/fa" --language fa --count "$sentences"
        divide "$1" "$folder/all/fa/wavs"/*.wav
        ;;
    espeak-en)
        run "$program" corpus demo "$folder/all/en" --language en --count $((3 * sentences)) --speakers 3
        while IFS= read -r name; do
            number=$((number + 1))
            file="$to/$(printf '%04d' "$number").wav"
            [[ -e $file ]] || espeak-ng -v en-gb+f4 -w "$file" "$name" </dev/null
        done < <(cut -d '|' -f 3 "$folder/all/en/metadata.csv" | LC_ALL=C sort -u | head -n "$sentences")
        divide "$1" "$to"/*.wav
        ;;
    *)
        printf 'bench-sound: there is no voice %s; give human, rms, slt, awb, espeak or espeak-en\n' "$1" >&2
        exit 2
        ;;
    esac
}

# copies VOICE NAME ARGUMENTS…: copies/VOICE/NAME/*.wav on one core; NAME.time has seconds of sound and CPU seconds of work
copies()
{
    local to="$folder/copies/$1/$2" from="$folder/copies/$1/recording"
    shift 2
    rm -rf "$to"
    mkdir -p "$to"
    taskset -c "$core" "$tools/resynth" -w "$@" "$to" "$from"/*.wav >"$to.time"
}

# vocoder VOICE NAME DATA MINUTES: trains runs/NAME and copies with it
vocoder()
{
    if [[ -z $vocoder_seconds ]]; then
        speed_measure "$3" "$folder/runs/$1-$2" "$speed_steps" --part vocoder "${flags[@]}"
        vocoder_seconds=$step_seconds
    fi
    step_seconds=$vocoder_seconds
    train_minutes "$3" "$folder/runs/$1-$2" "$4" --part vocoder "${flags[@]}"
    copies "$1" "$2" -v "$folder/runs/$1-$2"
    [[ $1 != human ]] || copies "$1" "smooth-$2" -v "$folder/runs/$1-$2" -s 1
}

# free_running: sets `speech` to what is known about free-running speech, as JSON
free_running()
{
    local to="$folder/speech" file name rows=() errors words rate mos alike
    rm -rf "$to"
    mkdir -p "$to/seen" "$to/unseen" "$to/vocoder" "$to/griffin-lim"
    # Notes in brackets and texts without a letter (tones) are left out. The recordings that are copied are unseen here, too.
    zcat "$texts" | awk -v all="$folder/all/human/" -v copied="$folder/copies/human/recording/" -v to="$to/" '
        function exists(path, line) { if ((getline line < path) < 0) return 0; close(path); return 1 }
        match($0, /^[^:; ]+: /) {
            name = substr($0, 1, RLENGTH - 2)
            text = substr($0, RLENGTH + 1)
            gsub(/\//, "_", name)
            gsub(/[|]/, " ", text)
            if (text ~ /[][]/ || text !~ /[A-Za-z]/ || !exists(all name ".wav")) next
            print name "|" text > (to (exists(copied name ".wav") ? "unseen" : "seen") "/metadata.csv")
        }'
    for name in seen unseen; do ln -sfn "$(realpath "$folder/all/human")" "$to/$name/wavs"; done
    cut -d '|' -f 2 "$to/unseen/metadata.csv" >"$to/said.txt"
    speed_measure "$to/seen" "$to/run" "$speed_steps" "${flags[@]}"
    train_minutes "$to/seen" "$to/run" "$speak_minutes" "${flags[@]}"
    run "$program" synth --checkpoint "$to/run" --text-file "$to/unseen/metadata.csv" --output-dir "$to/vocoder"
    run "$program" synth --checkpoint "$to/run" --text-file "$to/unseen/metadata.csv" --output-dir "$to/griffin-lim" \
        --vocoder griffin-lim
    printf '\n  %-32s %8s %8s %16s %9s\n' "free-running, $steps steps" 'DNSMOS' 'alike' 'word errors' 'rate'
    for name in recording vocoder griffin-lim; do
        file="$to/$name"
        [[ $name != recording ]] || file="$folder/all/human"
        mos=$(overall "$to/unseen/metadata.csv" "$file")
        alike=$(overall "$to/unseen/metadata.csv" "$file" "$folder/all/human")
        recognise "$to/unseen/metadata.csv" "$file" "$to/said.txt" "$to/heard-$name.txt"
        read -r errors words rate <<<"$found"
        printf '  %-32s %8s %8s %6s of %-6s %7s %%\n' "$name" "$mos" "$alike" "$errors" "$words" "$rate"
        rows+=("\"$name\": {\"dnsmos\": $mos, \"dnsmos_alike\": $alike, \"word_errors\": $errors, \"words\": $words, \"word_error_percent\": $rate}")
    done
    speech=$(printf '{"minutes": %s, "steps": %s, "step_seconds": %s, %s, %s, %s}' "$speak_minutes" "$steps" "$step_seconds" "${rows[@]}")
}

"$python" -c 'import librosa, numpy, onnxruntime, pesq, pystoi, scipy, speechmos' 2>/dev/null || {
    printf 'bench-sound: the judges are missing: "scripts/build/peers.sh %s/venv sound" installs them and says what fails\n' "$1" >&2
    exit 3
}
mkdir -p "$(dirname "$result")" "$folder/data"
for voice in "${voices[@]}"; do recordings "$voice"; done
for voice in "${voices[@]}"; do
    title "Voice $voice: copies of $count recordings"
    copies "$voice" plain -r "$rounds" -p 0
    for p in "${projections[@]}"; do copies "$voice" "projections-$p" -r "$rounds" -p "$p"; done
    if [[ $voice == human ]]; then
        copies "$voice" smooth-plain -r "$rounds" -p 0 -s 1
        for p in "${projections[@]}"; do copies "$voice" "smooth-projections-$p" -r "$rounds" -p "$p" -s 1; done
    fi
    for m in "${minutes[@]}"; do
        [[ $m != 0 ]] || continue
        [[ $voice == human || $m == "${minutes[0]}" ]] || continue
        title "Voice $voice: a vocoder in $m minutes"
        vocoder "$voice" "vocoder-$m" "$folder/data/$voice" "$m"
    done
    if [[ $unheard != 0 ]] && ((${#voices[@]} > 1)); then
        title "Voice $voice: a vocoder that hears all other voices for $unheard minutes"
        rm -rf "$folder/data/others"
        mkdir -p "$folder/data/others"
        for other in "${voices[@]}"; do
            [[ $other == "$voice" ]] || cp -rl "$folder/data/$other" "$folder/data/others/"
        done
        vocoder "$voice" unheard "$folder/data/others" "$unheard"
    fi
done
speech=null
if [[ $speak_minutes != 0 ]]; then
    title "The human voice speaks after $speak_minutes minutes"
    free_running
fi

title 'What the judges say'
"$python" "$here/peers/sound_judge.py" "$folder/copies" "$result" "$rounds" "$speech" "${voices[@]}"
printf '\nNumbers: %s\nSpectrograms: %s\n' "$result" "${result%.json}.png"
