#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Speaks a text with the base voice of the source tree, and plays it if there is a loudspeaker. Nothing is trained.
#
#     scripts/voices/say.sh check            is there a voice to speak with? before anything is built
#     scripts/voices/say.sh speak build      speaks with the program in build/
#
# TEXT is the text, VOICE an installed voice or speaker ('myxtts voices' lists them), OUTPUT the WAV file (say.wav beside
# the program).

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/tell.sh
. "$here/../tell.sh"
voices="$(cd "$here/../.." && pwd)/voices"
text="${TEXT:-Good morning.}" voice="${VOICE:-}"

case "$1" in
check)
    # A voice that the user names may be installed elsewhere: the program looks for it.
    [[ -n $voice || -e $voices/base.voice.safetensors ]] || {
        printf 'say: %s is missing: this copy of the source tree has no voice to speak with\n' "$voices/base.voice.safetensors" >&2
        printf "  hint: 'make demo' trains a small voice in under 10 minutes, 'make voices' the base voice in hours\n" >&2
        exit 2
    }
    ;;
speak)
    program="$2/myxtts" output="${OUTPUT:-$2/say.wav}"
    command=("$program" synth ${voice:+--voice "$voice"} --text "$text")
    export MYXTTS_VOICES="$voices${MYXTTS_VOICES:+:$MYXTTS_VOICES}" # also for a build folder that is elsewhere
    run "${command[@]}" --output "$output"
    if compgen -G '/dev/snd/pcmC*p' >/dev/null; then
        run "${command[@]}" --play || printf 'it could not be played; the file has the speech\n' >&2
    fi
    printf '%s\n' "$output"
    ;;
*)
    printf 'say: "%s" is neither check nor speak\n' "$1" >&2
    exit 1
    ;;
esac
