#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Measures the gain of a second rank: compares one process on one core with two processes on one core each, with the same
# batch for each process (weak scaling). The corpus is packed with features, so that data is cheap, as on many machines.
#
#     scripts/bench/ranks.sh build
#
# The two ranks communicate through shared memory, and through TCP between two network namespaces whose link is shaped to 10
# and to 1 Gbit/s; the TCP part needs root, ip and tc, and is skipped without them. Bar: 1.85 times the frames per second of
# one rank. Two rows are for comparison. 'apart' is two unrelated processes, one on each core: what the machine itself gives.
# 'in step' is what these two would give if each waited for the other in every step (the mean of the longer of their two
# times): the limit for any program that shares steps on this machine. The column 'of limit' is relative to 'in step'.
#
# All cases take turns, ROUNDS times. A figure is the median over the rounds of the ratio to the single rank of the same
# round, which is measured at the start and at the end of the round. 'myxtts plan' predicts the step of two ranks from the
# profile of one, and the prediction is compared with the measurement. The traces of rank 0, with the sums of gradients
# next to the training that hides them, are in BUILD/bench/ranks-*.trace. 'hidden' is the share of the time of these sums
# in which training waited neither for them nor for the other rank; 'carry' is the CPU time that they took meanwhile. The
# numbers are in BUILD/bench/ranks.json. Environment variables, with defaults:
#
#     ROUNDS=5
#     STEPS=7               measured steps per run
#     BATCH=16              utterances per rank
#     LATENCY=100           microseconds per message, for the prediction: the thread that carries messages sleeps in between
#     LINKS="10 1"          Gbit/s; "": only shared memory

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tell.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/support/tones.sh"

program="$(realpath "$1/myxtts")" folder="$1/bench" result="$1/bench/ranks.json"
rounds="${ROUNDS:-5}" steps="${STEPS:-7}" batch="${BATCH:-16}" latency="${LATENCY:-100}"
read -ra links <<<"${LINKS-10 1}"
bar=1.85
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
near=mxranks-a far=mxranks-b work=

leave()
{
    ip netns del $near 2>/dev/null || true
    ip netns del $far 2>/dev/null || true
    rm -rf "$work"
}

# one CORE FILE: a rank by itself
one()
{
    taskset -c "$1" "$program" "${common[@]}" --json "$2" >"$2.log" 2>&1 || { cat "$2.log"; exit 1; }
}

# two NAME ROUND [LAUNCHER-OPTIONS...]: two ranks
two()
{
    local name="$1" file="$work/$1-$2.json"
    shift 2
    run "${enter[@]}" mpirun -n 2 --bind-to "$bind" "$@" "$program" "${common[@]}" --batch-per-rank --json "$file" \
        --trace "$file.trace" >"$file.log" 2>&1 || { cat "$file.log"; exit 1; }
    cp "$file.trace" "$folder/ranks-$name.trace"
}

# link GBIT: two name spaces joined by a link of GBIT Gbit/s
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

[[ -x $program ]] || { echo "bench_ranks: $program does not exist: make build" >&2; exit 1; }
if ! command -v mpirun >/dev/null || [[ $(ldd "$program") != *libmpi* ]]; then
    echo "bench_ranks: needs a build with Open MPI and its mpirun: apt-get install libopenmpi-dev openmpi-bin" >&2
    exit 1
fi
mkdir -p "$folder"
work=$(mktemp -d)
trap leave EXIT
cores=$(perl -e 'my ($s) = `taskset -cp $$` =~ /: (.*)/; print join(" ", (map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } split(/,/, $s))[0, 1])')
read -r first second <<<"$cores"
# 3 s and 60 symbols each
# shellcheck disable=SC2016 # Perl has its own variables
tone_corpus "$work/corpus" 64 '$count = 46800; $loud = 9000; $step = 0.03 + 0.002 * $row;
    $text = ($row % 2 ? "low" : "high") . "|The tone number $letter is one of many for a measurement."'
"$program" prepare "$work/corpus" --output "$work/corpus.pack" --features --tokens chars >"$work/prepare.log" 2>&1 ||
    { cat "$work/prepare.log"; exit 1; }
common=(profile --train-data "$work/corpus.pack" --set data.validation_fraction=0 --backend cpu --batch-size "$batch"
    --num-steps "$steps" --warmup-steps 2 --auto-tune off --buffer-size 4)
if [[ ${#links[@]} -gt 0 ]] && { [[ $(id -u) -ne 0 ]] || ! command -v ip >/dev/null || ! command -v tc >/dev/null; }; then
    echo "skipping TCP: it needs root, ip and tc"
    links=()
fi

for ((round = 1; round <= rounds; round++)); do
    title "round $round of $rounds: one rank, two that know nothing of each other, two ranks"
    one "$first" "$work/one-$round.json"
    one "$first" "$work/apart-$round.json" &
    one "$second" "$work/other-$round.json"
    wait $!
    enter=() bind=core
    two shared "$round"
    for gbit in "${links[@]}"; do
        link "$gbit"
        enter=(ip netns exec "$near") bind=none # the name spaces are one machine after all: its ranks divide the cores
        two "tcp$gbit" "$round" --host 10.77.0.1,10.77.0.2 --mca plm_rsh_agent "$work/enter" --mca pml ob1 --mca btl tcp,self \
            --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24
        "$program" plan --profile "$work/one-$round.json" --ranks 2 --bandwidth "$(perl -e "print $gbit / 8")" --latency "$latency" \
            --json >"$work/plan$gbit-$round.json"
    done
    one "$first" "$work/again-$round.json"
done

title "what the second rank is worth"
# shellcheck disable=SC2016 # Perl has its own variables
perl -MJSON::PP -MList::Util=min,max,sum -e '
    my ($work, $result, $rounds, $bar, $batch, $steps, @links) = @ARGV;
    my %read;
    sub figures { $read{"@_"} //= do { local $/; open(my $f, "<:raw", "$work/$_[0]-$_[1].json$_[2]") or die "$_[0]: $!"; decode_json(<$f>) } }
    sub median { my @s = sort { $a <=> $b } @_; @s % 2 ? $s[$#s / 2] : ($s[@s / 2 - 1] + $s[@s / 2]) / 2 }
    sub over { my $code = shift; median(map { $code->($_) } 1 .. $rounds) }
    sub mean { sum(@_) / @_ }
    my $speed = sub { my $name = shift; sub { figures($name, $_[0])->{frames_per_s} } };
    my $one = sub { mean(map { $speed->($_)->($_[0]) } "one", "again") };
    my $one_ms = sub { mean(map { figures($_, $_[0])->{step}{mean} } "one", "again") };
    # Two strangers, if each waited for the other in every step.
    my $in_step_ms = sub {
        my ($a, $b) = map { figures($_, $_[0])->{step}{times_ms} } "apart", "other";
        mean(map { max($a->[$_], $b->[$_]) } 0 .. min($#$a, $#$b));
    };
    # The time in which any sum of the measured steps was under way, from the trace; milliseconds a step.
    sub summed_ms {
        my @spans = map { [$_->{ts}, $_->{ts} + $_->{dur}] } grep { ($_->{cat} // "") eq "sum" } @{figures(@_, ".trace")->{traceEvents}};
        my @train = sort { $a->{ts} <=> $b->{ts} } grep { ($_->{cat} // "") eq "train" } @{figures(@_, ".trace")->{traceEvents}};
        my ($from, $all) = ($train[-$steps]{ts}, 0);
        for (sort { $a->[0] <=> $b->[0] } @spans) {
            my $begin = max($_->[0], $from);
            next if $_->[1] <= $begin;
            $all += $_->[1] - $begin;
            $from = $_->[1];
        }
        $all / 1e3 / $steps;
    }
    my %all = (bar => $bar, rounds => $rounds, batch => $batch, steps => $steps, one_frames_per_s => over($one), one_step_ms => over($one_ms),
               apart_times => over(sub { ($speed->("apart")->($_[0]) + $speed->("other")->($_[0])) / $one->($_[0]) }),
               in_step_ms => over($in_step_ms), in_step_times => over(sub { 2 * $one_ms->($_[0]) / $in_step_ms->($_[0]) }));
    printf("%-8s %9s %7s %15s %8s %8s %8s %9s %8s %8s %13s %8s\n", "", "frames/s", "times", "rounds", "of limit", "step ms", "sums ms",
           "waited ms", "hidden", "carry ms", "predicted ms", "off by");
    printf("%-8s %9.0f %7s %15s %8s %8.1f\n", "one", $all{one_frames_per_s}, "", "", "", $all{one_step_ms});
    printf("%-8s %9s %6.3fx\n", "apart", "", $all{apart_times});
    printf("%-8s %9s %6.3fx %15s %8s %8.1f\n", "in step", "", $all{in_step_times}, "", "", $all{in_step_ms});
    for my $name ("shared", map { "tcp$_" } @links) {
        my $plan = $name =~ /^tcp(.*)/ ? "plan$1" : undef;
        my $told = sub { my $key = shift; over(sub { figures($name, $_[0])->{plan}{$key} }) };
        my @times = map { $speed->($name)->($_) / $one->($_) } 1 .. $rounds;
        my %row = (link => $name, frames_per_s => over($speed->($name)), times => median(@times), rounds => [map { 0 + sprintf("%.4f", $_) } @times],
                   step_ms => over(sub { figures($name, $_[0])->{step}{mean} }), sums_ms => over(sub { summed_ms($name, $_[0]) }),
                   waited_ms => $told->("sums_waited_ms"), carry_ms => $told->("carry_ms"), predicted_ms => undef, off => undef,
                   hidden => over(sub { max(0, 1 - figures($name, $_[0])->{plan}{sums_waited_ms} / summed_ms($name, $_[0])) }));
        $row{of_limit} = $row{times} / $all{in_step_times};
        if (defined $plan) {
            $row{predicted_ms} = over(sub { figures($plan, $_[0])->{ranks}[0]{step_ms} });
            $row{off} = over(sub { figures($plan, $_[0])->{ranks}[0]{step_ms} / figures($name, $_[0])->{step}{mean} - 1 });
        }
        push @{$all{two}}, \%row;
        printf("%-8s %9.0f %6.3fx %15s %6.1f %% %8.1f %8.1f %9.1f %6.1f %% %8.1f %13s %8s\n", $name, @row{qw(frames_per_s times)},
               sprintf("%.2f to %.2f", min(@times), max(@times)), 100 * $row{of_limit}, @row{qw(step_ms sums_ms waited_ms)}, 100 * $row{hidden},
               $row{carry_ms}, map { defined $row{off} ? sprintf($_->[0], $_->[1]) : "-" } ["%.1f", $row{predicted_ms}],
               ["%+.1f %%", 100 * ($row{off} // 0)]);
    }
    my $bad = grep { $_->{times} < $bar } @{$all{two}};
    printf("\nbar: %.2fx; %s\nall figures: %s\n", $bar, $bad ? "MISSED by $bad of " . @{$all{two}} : "held by all", $result);
    open(my $out, ">", $result) or die "$result: $!";
    print $out JSON::PP->new->canonical->pretty->encode(\%all);
' "$work" "$result" "$rounds" "$bar" "$batch" "$steps" "${links[@]}"
