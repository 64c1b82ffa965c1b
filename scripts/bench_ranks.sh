#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What a second rank is worth: one process on one core beside two processes on one core each, with the same batch for
# each of them (weak scaling).
#
#     scripts/bench_ranks.sh build
#
# The two talk through shared memory, and through TCP between two network namespaces whose link is shaped to 10 and to 1
# Gbit/s; that part needs root, ip and tc, and is left out without them. Bar: 1.85 times the frames a second of one.
# 'myxtts plan' predicts the step of two from the profile of one, and is compared with what was measured. The traces of
# rank 0, with the sums of gradients beside the training that hides them, are in BUILD/bench/ranks-*.trace; the numbers in
# BUILD/bench/ranks.json. Environment, with defaults:
#
#     STEPS=12              that are measured, of each run
#     BATCH=16              utterances of a rank
#     LATENCY=100           microseconds of a message, for the prediction: the thread that carries them sleeps in between
#     LINKS="10 1"          Gbit/s; "": shared memory alone

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/tell.sh"

program="$(realpath "$1/myxtts")" folder="$1/bench" result="$1/bench/ranks.json"
steps="${STEPS:-12}" batch="${BATCH:-16}" latency="${LATENCY:-100}" links="${LINKS-10 1}"
bar=1.85
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
common=(profile --backend cpu --batch-size "$batch" --equal-lengths --num-steps "$steps" --warmup-steps 3 --auto-tune off
    --buffer-size 4)
near=mxranks-a far=mxranks-b work=

leave()
{
    ip netns del $near 2>/dev/null || true
    ip netns del $far 2>/dev/null || true
    rm -rf "$work"
}

# value FILE PATH: a number of a JSON file, plan.sums_ms
value()
{
    perl -MJSON::PP -e 'local $/; open(F, "<:raw", $ARGV[0]); my $r = decode_json(<F>); $r = /^\d+$/ ? $r->[$_] : $r->{$_}
        for split(/\./, $ARGV[1]); print $r' "$1" "$2"
}

# two NAME [LAUNCHER-OPTIONS...]: two ranks
two()
{
    local name="$1"
    shift
    run "${enter[@]}" mpirun -n 2 --bind-to "$bind" "$@" "$program" "${common[@]}" --batch-per-rank --json "$folder/ranks-$name.json" \
        --trace "$folder/ranks-$name.trace" >"$work/$name.log" 2>&1 || { cat "$work/$name.log"; exit 1; }
}

# link GBIT: two name spaces joined by a link of so many Gbit/s
link()
{
    ip netns del $near 2>/dev/null || true
    ip netns del $far 2>/dev/null || true
    ip netns add $near
    ip netns add $far
    ip link add mxa netns $near type veth peer name mxb netns $far
    local name
    for name in "$near mxa 1" "$far mxb 2"; do
        read -r space device number <<<"$name"
        ip -n "$space" addr add "10.77.0.$number/24" dev "$device"
        ip -n "$space" link set "$device" up
        ip -n "$space" link set lo up
        tc -n "$space" qdisc add dev "$device" root tbf rate "${1}gbit" burst 2mb latency 50ms
    done
    # What mpirun takes for ssh: enters the other name space, under another name of the machine.
    cat >"$work/enter" <<SCRIPT
#!/bin/sh
shift
exec ip netns exec $far unshare --uts sh -c "hostname far-rank; \$*"
SCRIPT
    chmod +x "$work/enter"
}

[[ -x $program ]] || { echo "bench_ranks: $program is not there" >&2; exit 1; }
if ! command -v mpirun >/dev/null || ! ldd "$program" | grep -q libmpi; then
    echo "bench_ranks: needs a build with Open MPI and its mpirun: apt-get install libopenmpi-dev openmpi-bin" >&2
    exit 1
fi
mkdir -p "$folder"
work=$(mktemp -d)
trap leave EXIT
enter=()
rows=()

title "one rank on one core"
run taskset -c 0 "$program" "${common[@]}" --json "$folder/ranks-one.json" >"$work/one.log" 2>&1 || { cat "$work/one.log"; exit 1; }
single=$(value "$folder/ranks-one.json" frames_per_s)
printf '%.0f frames/s\n' "$single"

title "two ranks, shared memory"
bind=core
two shared
rows+=("shared:0")
for gbit in $links; do
    if [[ $(id -u) -ne 0 ]] || ! command -v ip >/dev/null || ! command -v tc >/dev/null; then
        echo "the links need root, ip and tc: left out"
        break
    fi
    title "two ranks, TCP at $gbit Gbit/s between two network namespaces"
    link "$gbit"
    enter=(ip netns exec $near)
    bind=none # the name spaces are one machine after all: its ranks divide the cores
    two "tcp$gbit" --host 10.77.0.1,10.77.0.2 --mca plm_rsh_agent "$work/enter" --mca pml ob1 --mca btl tcp,self \
        --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24
    rows+=("tcp$gbit:$gbit")
done

title "what the second rank is worth"
printf '%-10s %12s %8s %10s %11s %11s %13s\n' link 'frames/s' times 'step ms' 'sums ms' 'waited ms' 'predicted ms'
{
    printf '{"bar": %s, "batch": %s, "steps": %s, "one_frames_per_s": %s, "two": [' "$bar" "$batch" "$steps" "$single"
    separator=
    for row in "${rows[@]}"; do
        name="${row%%:*}" gbit="${row##*:}"
        file="$folder/ranks-$name.json"
        speed=$(value "$file" frames_per_s) step=$(value "$file" step.mean)
        sums=$(value "$file" plan.sums_ms) waited=$(value "$file" plan.sums_waited_ms)
        predicted=null
        if [[ $gbit != 0 ]]; then
            "$program" plan --profile "$folder/ranks-one.json" --ranks 2 --bandwidth "$(perl -e "print $gbit / 8")" --latency "$latency" \
                --json >"$work/plan.json"
            predicted=$(value "$work/plan.json" ranks.0.step_ms)
        fi
        times=$(perl -e "printf '%.3f', $speed / $single")
        printf '%-10s %12.0f %7sx %10.1f %11.1f %11.1f %13s\n' "$name" "$speed" "$times" "$step" "$sums" "$waited" \
            "$([[ $predicted == null ]] && echo - || printf '%.1f' "$predicted")" >&2
        printf '%s{"link": "%s", "frames_per_s": %s, "times": %s, "step_ms": %s, "sums_ms": %s, "waited_ms": %s, "predicted_ms": %s}' \
            "$separator" "$name" "$speed" "$times" "$step" "$sums" "$waited" "$predicted"
        separator=', '
    done
    printf ']}\n'
} >"$result"
perl -MJSON::PP -e 'local $/; open(F, "<:raw", $ARGV[0]); my $r = decode_json(<F>); my $bad = grep { $_->{times} < $r->{bar} } @{$r->{two}};
    printf("\nbar: %.2fx; %s\nall figures: %s\n", $r->{bar}, $bad ? "MISSED by $bad of " . @{$r->{two}} : "held by all", $ARGV[0])' "$result"
