#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Checks the TensorBoard event files of a run: trains a small run that is killed and resumed, and reads it with the real
# TensorBoard (from PyPI, installed once in the build folder): scripts/test/tensorboard_check.py.
#
#     scripts/test/tensorboard.sh build

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
build="$(realpath "${1:?usage: scripts/test/tensorboard.sh BUILD}")"
# shellcheck source=tests/support/tones.sh
. "$here/../../tests/support/tones.sh"

"$here/../build/peers.sh" "$build/venv" tensorboard
if ! "$build/venv/bin/python" -c 'import tensorboard' 2>/dev/null; then
    printf 'test-tensorboard: TensorBoard could not be installed; see %s\n' "$build/venv.log" >&2
    exit 1
fi

folder="$(mktemp -d)"
server=
cleanup()
{
    [[ -z $server ]] || kill "$server" 2>/dev/null || :
    rm -rf "$folder"
}
trap cleanup EXIT
cd "$folder"
tones corpus 40

# A run that dies between two checkpoints has told of steps that its continuation makes once more.
"$build/myxtts" train --quiet --train-data corpus --output run "${small[@]}" --steps 400 --epochs 1000 --save-every 4 \
    --eval-every 6 --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1 &
training=$!
until [[ -e run/metrics.jsonl && $(grep -c '"loss_z"' run/metrics.jsonl) -ge 10 && -e run/checkpoints/step-00000008.safetensors ]]; do
    kill -0 "$training"
    sleep 0.05
done
kill -KILL "$training"
wait "$training" 2>/dev/null || :
last=$(tail -n 1 run/metrics.jsonl | grep -o '^{"step":[0-9]*' | grep -o '[0-9]*$')
"$build/myxtts" train --quiet --resume run --steps $((last + 14))
printf 'killed after step %d, resumed, %d event files\n' "$last" "$(find run/tensorboard -type f | wc -l)"

"$build/venv/bin/tensorboard" --logdir run --port 0 --host 127.0.0.1 --reload_interval 2 >server.log 2>&1 &
server=$!
for _ in $(seq 1 300); do
    address=$(grep -o 'http://127.0.0.1:[0-9]*' server.log | head -n 1 || :)
    [[ -z $address ]] || break
    sleep 0.2
done
[[ -n $address ]] || { cat server.log >&2; exit 1; }
"$build/venv/bin/python" "$here/tensorboard_check.py" run "$address"
