#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# How much of a recording is left after mel and Griffin–Lim, judged by programs of others.
#
#     scripts/bench_sound.sh build
#
# Copy synthesis: recordings become mel and sound again, by the rounds alone and with projections, from the true mel and
# (human voice) from a mel smoothed by one frame, as networks predict it. Beside them stands Griffin–Lim as librosa makes
# it, from the pseudo-inverse of the mel. Judges: PESQ (wide band), STOI, DNSMOS (overall), and the crest of the envelope
# in voiced frames against the recording's (bench/peers/sound_judge.py). The voices: a woman (prompts of the Debian
# package asterisk-core-sounds-en-g722, those of 2 seconds or more, the last by name) and the teachers of
# 'myxtts corpus demo', flite in English and espeak-ng in Persian.
# Bar: with projections PESQ is 0.35 above plain Griffin–Lim in the same run, told for both kinds of plain.
#
# Everything is said on the terminal; the numbers are in BUILD/bench/sound.json. Environment, with defaults:
#
#     COUNT=20           recordings of each voice
#     ROUNDS=48          of Griffin–Lim
#     PROJECTIONS=4      of the rows with projections; "2 4 8" makes one row each
#     VOICES="human flite espeak"

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
. "$here/tell.sh"

program="$1/myxtts" tools="$1" folder="$1/sound" result="$1/bench/sound.json" python="$1/venv/bin/python"
count="${COUNT:-20}" rounds="${ROUNDS:-48}"
read -ra projections <<<"${PROJECTIONS:-4}"
read -ra voices <<<"${VOICES:-human flite espeak}"
prompts=/usr/share/asterisk/sounds/en_US_f_Allison
least_bytes=16000 # of G.722: 2 seconds
core=$(taskset -pc $$ | sed 's/.*: *//; s/[,-].*//')

# recordings VOICE: VOICE/recording/*.wav
recordings()
{
    local to="$folder/$1/recording" file made=0
    rm -rf "$to"
    mkdir -p "$to"
    case $1 in
    human)
        while IFS= read -r file && ((made < count)); do
            (($(stat -c %s "$file") >= least_bytes)) || continue
            ffmpeg -v error -f g722 -i "$file" -ar 22050 "$to/$(basename "${file%.g722}").wav" </dev/null
            made=$((made + 1))
        done < <(find "$prompts" -name '*.g722' | LC_ALL=C sort -r)
        ;;
    flite) run "$program" corpus demo "$folder/$1/corpus" --language en --count "$count" ;;
    espeak) run "$program" corpus demo "$folder/$1/corpus" --language fa --count "$count" ;;
    *)
        printf 'bench-sound: there is no voice %s; give human, flite or espeak\n' "$1" >&2
        exit 2
        ;;
    esac
    [[ $1 == human ]] || cp "$folder/$1/corpus/wavs"/*.wav "$to/"
}

# copies VOICE NAME ARGUMENTS…: VOICE/NAME/*.wav on one core; NAME.time has seconds of sound and CPU seconds of work
copies()
{
    local voice="$1" name="$2"
    shift 2
    rm -rf "$folder/$voice/$name"
    mkdir -p "$folder/$voice/$name"
    taskset -c "$core" "$tools/resynth" -w -r "$rounds" "$@" "$folder/$voice/$name" "$folder/$voice/recording"/*.wav \
        >"$folder/$voice/$name.time"
}

"$python" -c 'import librosa, numpy, onnxruntime, pesq, pystoi, scipy, speechmos' 2>/dev/null || {
    printf 'bench-sound: the judges are missing: "scripts/peers.sh %s/venv sound" installs them and tells what fails\n' "$1" >&2
    exit 3
}
mkdir -p "$(dirname "$result")"
for voice in "${voices[@]}"; do
    title "Voice $voice: copies of $count recordings"
    recordings "$voice"
    copies "$voice" plain -p 0
    for p in "${projections[@]}"; do copies "$voice" "projections-$p" -p "$p"; done
    [[ $voice == human ]] || continue
    copies "$voice" smooth-plain -p 0 -s 1
    for p in "${projections[@]}"; do copies "$voice" "smooth-projections-$p" -p "$p" -s 1; done
done

title 'What the judges say'
"$python" "$here/../bench/peers/sound_judge.py" "$folder" "$result" "$rounds" "${voices[@]}"
printf '\nNumbers: %s\n' "$result"
