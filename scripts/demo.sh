#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What this version can show: the devices of the machine and the speed of the operations that training is made of.
#
#     scripts/demo.sh build

set -euo pipefail

folder="$1"

title()
{
    printf '\n── %s\n\n' "$1"
}

title "The devices of this machine ($folder/myxtts devices)"
"$folder/myxtts" devices

title "The same cores as two devices, one to prepare data and one to train ($folder/myxtts devices --cpu-devices 2)"
"$folder/myxtts" devices --cpu-devices 2

title "How fast the operations of the model run here ($folder/bench_ops --quick)"
"$folder/bench_ops" --quick

title "Not there yet"
cat <<'TEXT'
This version has the ground floor only: devices, memory budgets and the operations with their gradients on
the CPU. It does not read recordings, train or speak yet.
TEXT
