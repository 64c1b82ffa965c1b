#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Measures how auto-tuning copes with a slow disk: training from a folder without a cache where each opening of a .wav takes 20,
# 60 and 200 ms longer (scripts/bench/slow_disk.c), on two CPU devices of one core each and on two devices of the CUDA double
# (tests/double), whose kernels are C.
#
#     scripts/bench/disk.sh build
#
# Automatic and fixed numbers of load workers take turns, ROUNDS times. A figure is the median over the rounds of the steps
# per second from step 41 on. Bar: automatic reaches at least 0.9 of the best fixed number of the same rounds, so it has
# arrived there within 40 steps. In a last run the disk becomes slow after step 500; bar: the log names the additional
# workers within 20 steps, and again 0.9 of the best fixed number from 40 steps later on. "Waited" is the share of
# the time in which the model waited for data: where it hardly did, the rest of a difference is what else the machine does.
# The numbers are in BUILD/bench/disk.json. Environment variables, with defaults:
#
#     ROUNDS=3
#     DELAYS="20 60 200"         milliseconds
#     WORKERS="2 4 8 16 32"      the fixed numbers
#     STEPS=140                  of a run
#     DEVICES="cpu cuda"

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
. "$here/../tell.sh"
. "$here/../../tests/support/tones.sh"

program="$(realpath "$1/myxtts")" double="$(realpath "$1")/libcuda_double.so" result="$1/bench/disk.json"
rounds="${ROUNDS:-3}" steps="${STEPS:-140}"
read -ra delays <<<"${DELAYS:-20 60 200}"
read -ra fixed <<<"${WORKERS:-2 4 8 16 32}"
read -ra devices <<<"${DEVICES:-cpu cuda}"
bar=0.9 settled=40 late=500 answer=20

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$1/bench"
cc -std=c17 -O2 -fPIC -shared -o "$work/slow.so" "$here/slow_disk.c" -ldl
# Two recordings and two references make a batch, and the networks are of a size with which a step takes long enough for
# 32 workers to hide reads of 200 ms. The double is slow: its recordings are shorter.
tones "$work/cpu" 48
# shellcheck disable=SC2016 # Perl has its own variables
tone_corpus "$work/cuda" 48 '$count = 4000 + 250 * ($row % 4); $loud = 9000;
    $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * ($row % 10); $text = ($row % 2 ? "low" : "high") . "|Tone $letter."'
common=(train "${small[@]}" --batch-size 2 --set data.min_seconds=0.2 --set data.caching=false
    --set data.validation_fraction=0 --set training.samples=0 --eval-every 0 --set training.report=off --seed 3)
export MYXTTS_CUDA_DRIVER=$double MYXTTS_CUDA_NVRTC=$double MYXTTS_CUDA_CUBLAS=$double MYXTTS_CUDA_NVML=$double
export MYXTTS_CACHE=$work/cache

# devices_of KIND: the flags
devices_of()
{
    case "$1" in
    cpu) echo --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1 --set model.width=192 --set model.hidden=640 ;;
    cuda) echo --backend cuda --data-gpu 0 --model-gpu 1 ;;
    esac
}

# one NAME KIND MS STEPS FROM [FLAGS...]: a run, slow from when the file FROM is there
one()
{
    local name="$1" kind="$2" ms="$3" count="$4" from="$5" flags
    shift 5
    read -ra flags <<<"$(devices_of "$kind")"
    LD_PRELOAD="$work/slow.so" SLOW_DISK_MS="$ms" SLOW_DISK_FROM="$from" "$program" "${common[@]}" \
        --train-data "$work/$kind" "${flags[@]}" --steps "$count" --output "$work/$name" "$@" >"$work/$name.log" 2>&1 || { cat "$work/$name.log"; exit 1; }
}

# Training begins with metrics.jsonl: the corpus was looked at before, with a disk as fast as it is.
for kind in "${devices[@]}"; do
    for ms in "${delays[@]}"; do
        title "$kind, $ms ms for each .wav"
        for ((round = 1; round <= rounds; round++)); do
            for workers in 0 "${fixed[@]}"; do
                name="$kind-$ms-$workers-$round"
                one "$name" "$kind" "$ms" "$steps" "$work/$name/metrics.jsonl" --num-workers "$workers"
            done
        done
    done
    title "$kind, a disk that becomes slow after step $late"
    name="$kind-late"
    one "$name" "$kind" 60 $((late + 2 * settled + 60)) "$work/$name.slow" --num-workers 0 &
    child=$!
    until [[ -e $work/$name/metrics.jsonl ]] && (($(grep -c loss_z "$work/$name/metrics.jsonl") >= late)); do
        kill -0 "$child" 2>/dev/null || break
        sleep 0.02
    done
    grep -c loss_z "$work/$name/metrics.jsonl" >"$work/$name.slow"
    wait "$child"
    for workers in "${fixed[@]}"; do
        one "$name-$workers" "$kind" 60 "$steps" "$work/$name-$workers/metrics.jsonl" --num-workers "$workers"
    done
done

# shellcheck disable=SC2016 # Perl has its own variables
perl -MJSON::PP -MList::Util=max,sum -e '
    my ($work, $result, $rounds, $bar, $settled, $answer, $delays, $fixed, $devices) = @ARGV;
    my (%out, $missed);
    sub steps_of { open(my $f, "<", "$work/$_[0]/metrics.jsonl") or die "$_[0]: $!"; grep { exists $_->{loss} } map { decode_json($_) } <$f> }
    sub speed { my ($name, $from) = @_; my @ms = map { $_->{step_ms} } grep { $_->{step} > $from } steps_of($name); 1000 * @ms / sum(@ms) }
    sub waited { my ($name) = @_; my @s = grep { $_->{step} > $settled } steps_of($name); 100 * sum(map { $_->{data_wait_ms} } @s) / sum(map { $_->{step_ms} } @s) }
    sub median { my @s = sort { $a <=> $b } @_; @s % 2 ? $s[$#s / 2] : ($s[@s / 2 - 1] + $s[@s / 2]) / 2 }
    printf("%-6s %6s %10s %8s %9s %10s %8s %9s %7s   %s\n", "device", "ms", "automatic", "workers", "waited", "best fixed", "workers", "waited", "ratio", "bar");
    for my $kind (split(" ", $devices)) {
        for my $ms (split(" ", $delays)) {
            my %of = map { my $w = $_; $w => median(map { speed("$kind-$ms-$w-$_", $settled) } 1 .. $rounds) } 0, split(" ", $fixed);
            my ($best) = sort { $of{$b} <=> $of{$a} } split(" ", $fixed);
            my $used = median(map { (steps_of("$kind-$ms-0-$_"))[-1]{load_workers} } 1 .. $rounds);
            my $ratio = $of{0} / $of{$best};
            $missed++ if $ratio < $bar;
            my %wait = map { my $w = $_; $w => median(map { waited("$kind-$ms-$w-$_") } 1 .. $rounds) } 0, $best;
            printf("%-6s %6d %8.2f/s %8d %7.1f %% %8.2f/s %8d %7.1f %% %7.2f   %s\n", $kind, $ms, $of{0}, $used, $wait{0}, $of{$best}, $best, $wait{$best}, $ratio, $ratio < $bar ? "MISSED" : "held");
            $out{$kind}{$ms} = {steps_per_s => \%of, waited_percent => \%wait, ratio => $ratio, workers => $used};
        }
        my $at = do { open(my $f, "<", "$work/$kind-late.slow") or die $!; <$f> + 0 };
        my @late = steps_of("$kind-late");
        my ($first) = grep { $_->{step} > $at && $_->{load_workers} > $late[$at - 1]{load_workers} } @late;
        my $logged = `grep -c "reading waits for the disk" "$work/$kind-late.log"` + 0;
        my $took = $first ? $first->{step} - $at : "never";
        my $good = $first && $took <= $answer && $logged > 0;
        my $best = max(map { speed("$kind-late-$_", $settled) } split(" ", $fixed));
        my $ratio = speed("$kind-late", $at + $settled) / $best;
        $missed++ unless $good && $ratio >= $bar;
        printf("%-6s slow after step %d: answered %s steps later, with %d workers at the end; %.2f of the best fixed number   %s\n", $kind,
            $at, $took, $late[-1]{load_workers}, $ratio, $good && $ratio >= $bar ? "held" : "MISSED");
        $out{$kind}{late} = {step => $at, answered => $took, ratio => $ratio, workers => $late[-1]{load_workers}};
    }
    open(my $f, ">", $result) or die "$result: $!";
    print $f JSON::PP->new->canonical->pretty->encode(\%out);
    exit($missed ? 1 : 0);' "$work" "$result" "$rounds" "$bar" "$settled" "$answer" "${delays[*]}" "${fixed[*]}" "${devices[*]}"
