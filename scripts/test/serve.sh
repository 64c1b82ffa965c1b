#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Talks to `myxtts serve` with the clients that people use, from PyPI (installed once in the build folder): a small voice of
# two speakers is trained and served, and each client must hear what `myxtts synth` says.
#
#     scripts/test/serve.sh build
#
#   - wyoming, the client of Home Assistant (scripts/test/serve_wyoming.py)
#   - openai, the client of OpenAI, with a token (scripts/test/serve_openai.py)
#
# If no package index can be reached, it fails; with SERVE_OFFLINE=skip it says so and succeeds.

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
build="$(realpath "${1:?usage: scripts/test/serve.sh BUILD}")"
python="$build/venv/bin/python"
# shellcheck source=tests/support/tones.sh
. "$here/../../tests/support/tones.sh"
# shellcheck source=scripts/build/peers_need.sh
. "$here/../build/peers_need.sh"

"$here/../build/peers.sh" "$build/venv" serve
peers_need test-serve "${SERVE_OFFLINE:-}" wyoming openai

folder="$(mktemp -d)" pid=''
leave()
{
    [[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null || true
    rm -rf "$folder"
}
trap leave EXIT
cd "$folder"

text='The tone number e, the tone number b.'
tones corpus 40
"$build/myxtts" train --quiet --train-data corpus --output voice "${small[@]}" --part both --steps 20 --epochs 100
"$build/myxtts" synth --quiet -c voice --text "$text" -o spoken.wav
token=0123456789abcdef
"$build/myxtts" serve voice --listen 127.0.0.1:0 --wyoming 127.0.0.1:0 --token "$token" >serve.log 2>&1 &
pid=$!
for ((turn = 0; turn < 600; turn++)); do
    if ! kill -0 $pid 2>/dev/null || [[ $turn -eq 599 ]]; then
        cat serve.log >&2
        printf 'test-serve: the server did not start\n' >&2
        exit 1
    fi
    if grep -q 'ready;' serve.log; then break; fi
    sleep 0.1
done
http=$(sed -n 's|.*listening on http://.*:\([0-9]*\)/.*|\1|p' serve.log)
wyoming=$(sed -n 's|.*listening on tcp://.*:\([0-9]*\) .*|\1|p' serve.log)

printf 'wyoming\n'
"$python" "$here/serve_wyoming.py" "$wyoming" voice "$text" spoken.wav
printf 'openai\n'
"$python" "$here/serve_openai.py" "$http" voice "$text" spoken.wav "$token"

# It ends when it is asked to, and says that all went well.
kill -TERM $pid
wait $pid || { cat serve.log >&2; printf 'test-serve: the server failed at its end\n' >&2; exit 1; }
pid=''
