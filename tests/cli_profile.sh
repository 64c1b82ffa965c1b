#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts profile, with the program given as $1: the report, its JSON, the trace, the comparison of modes, a corpus that
# is given and one that is made up, and every refusal. Two CPU devices stand for two GPUs. No figure is judged by its
# height, only by how the figures fit together: a test must not depend on how fast the machine is.
# shellcheck disable=SC2016 # Perl has its own variables
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones tones 24
export TMPDIR=$folder/tmp
mkdir "$TMPDIR"
tiny=(--set training.part=acoustic --set model.width=16 --set model.heads=2 --set model.hidden=16 --set model.encoder_blocks=1
    --set model.decoder_blocks=1 --batch-size 2)
pair=(--backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1)

# said "what" WORDS, told "what" WORDS: on standard error, on standard output
said() {
    check "$1: says '$2'" grep -qF -- "$2" stderr
}
told() {
    check "$1: tells '$2'" grep -qF -- "$2" stdout
}
# holds "what" FILE EXPRESSION: of perl, with the JSON of the file in $r
holds() {
    check "$1: $3" perl -MJSON::PP -e 'local $/; open(F, "<:raw", shift); my $r = decode_json(<F>);
        sub tally { my $t = shift; $t->{least} <= $t->{mean} && $t->{mean} <= $t->{most} && $t->{deviation} >= 0 }
        exit(eval(shift) ? 0 : 1)' "$2" "$3"
}
# agrees "what" FILE: the figures of one report, printed on standard output and in the file, are the same ones.
agrees() {
    holds "$1" "$2" 'my $s = 0; $s += $_->{mean} for values %{$r->{stages}}; abs($s / $r->{total}{mean} - 1) < 1e-4'
    holds "$1" "$2" '!grep { my $u = $r->{utilisation}{$_}; $u->{mean} != $u->{whole} || $u->{most} > 1 ||
        abs($u->{whole} + $r->{idle}{$_} - 1) > 1e-4 } qw(data model)'
    holds "$1" "$2" '!grep { abs($_->{share} - ($_->{kind} eq "variation" ? $r->{step}{variation} : $_->{kind} eq "data device" ?
        $r->{utilisation}{data}{whole} : $r->{stages}{$_->{kind}}{share})) > 1e-4 } @{$r->{bottlenecks}}'
    check "$1: what is printed is what is written" perl -MJSON::PP -e 'local $/; open(F, "<:raw", "stdout"); my $t = <F>;
        open(F, "<:raw", shift); my $r = decode_json(<F>);
        sub near { my ($words, $value, $unit) = @_; $t =~ /$words\s+([0-9.]+)/ or die $words; abs($1 - $value) <= $unit or die $words }
        near("Variation", 100 * $r->{step}{variation}, 0.051);
        near("(?:Model GPU|\n  Busy):", 100 * $r->{utilisation}{model}{whole}, 0.051);
        near("Total", $r->{total}{mean}, 0.0051); near("Training", $r->{stages}{train}{mean}, 0.0051);
        near("Average", $r->{step}{mean}, 0.0051)' "$2"
}
nothing_left() {
    check "$1: the made-up corpus is gone" test -z "$(ls -A "$TMPDIR")"
}

# ---- recordings without texts ----
done_with profile --train-data tones/wavs --part vocoder --set vocoder.segments=2 --set vocoder.segment_frames=16 --backend cpu --num-steps 2 \
    --warmup-steps 1
told 'recordings without texts' 'STEP TIME:'

# ---- one device, a corpus that is made up ----
done_with profile "${tiny[@]}" --backend cpu --num-steps 6 --warmup-steps 2 --json one.json --trace one.trace
nothing_left 'one device'
said 'one device' "no '--train-data': making up a corpus of 16 recordings, which is removed at the end"
told 'one device' 'Single-Device Buffered Mode on cpu:0'
told 'one device' "Corpus: 16 made-up recordings, removed again; '--train-data DIR' measures yours"
told 'one device' '6 steps after 2 to warm up; batches of 2'
for words in 'TIMING BREAKDOWN' '  Data Load ' '  Preprocess ' '  Transfer       none: one device' '  Training ' \
    '  Total ' '  Gaps: the model device was idle' 'STEP TIME:' '  Average ' '  Range ' '  Variation ' '  Throughput ' \
    '  Overlap ' 'DEVICE UTILIZATION:' 'cpu:0 does everything' 'MEMORY:' '  device 0 (cpu:0): ' 'QUEUES' '  Loaded ' \
    '  Prepared ' 'all figures: one.json' 'trace: one.trace'; do
    told 'one device' "$words"
done
check "one device: a verdict" grep -qE 'NO MAJOR BOTTLENECKS DETECTED|BOTTLENECKS:' stdout
holds 'one device' one.json '$r->{format} eq "myxtts profile" && $r->{version} == 1'
holds 'one device' one.json '$r->{work}{synthetic} && $r->{work}{batch_size} == 2 && $r->{work}{utterances} == 16'
holds 'one device' one.json '$r->{steps} == 6 && $r->{warmup_steps} == 2 && $r->{batches} == 6'
holds 'one device' one.json '$r->{data_device} eq $r->{model_device} && $r->{overlap}'
holds 'one device' one.json '@{$r->{memory}} == 1 && $r->{memory}[0]{peak} <= $r->{memory}[0]{limit}'
holds 'one device' one.json '$r->{stages}{transfer}{count} == 0'
agrees 'one device' one.json
holds 'one device' one.json '$r->{stages}{train}{count} == 6 && $r->{step}{count} == 6 && $r->{total}{count} == 6'

# ---- without overlap: every stage of a batch lies within its step ----
done_with profile "${tiny[@]}" --backend cpu --num-steps 4 --warmup-steps 1 --set pipeline.overlap=false --json plain.json \
    --equal-lengths --seed 5
told 'no overlap' ', without overlap'
told 'no overlap' 'none: without overlap nothing is prepared ahead'
holds 'no overlap' plain.json '!$r->{overlap} && $r->{stage_overlap} == 0'
holds 'no overlap' plain.json '$r->{total}{mean} <= $r->{wall_ms} / $r->{steps} * 1.01'
holds 'equal lengths' plain.json '$r->{frames} % $r->{steps} == 0'

# ---- a corpus that is given ----
done_with profile --train-data tones "${small[@]}" --backend cpu --num-steps 3 --warmup-steps 1 --augment --json given.json
check "a given corpus: nothing is made up" test "$(grep -c 'made-up\|making up' stdout stderr | grep -c ':0$')" -eq 2
holds 'given' given.json '!$r->{work}{synthetic} && $r->{work}{augment} && $r->{work}{batch_size} == 4'
check "a given corpus stays" test -f tones/metadata.csv

# ---- two devices ----
if two_cores; then
    done_with profile "${tiny[@]}" "${pair[@]}" --num-steps 8 --warmup-steps 2 --auto-tune off --buffer-size 4 \
        --json two.json --trace two.trace
    nothing_left 'two devices'
    said 'two devices' '🚀 Intelligent GPU Pipeline: Multi-GPU Mode'
    told 'two devices' 'Multi-GPU Mode on cpu:0 (data) and cpu:1 (model)'
    for words in '  Data GPU: ' '  Model GPU: ' '  GPU:1 (cpu:1): ' '  Arrived ' 'of the transfer time is hidden behind'; do
        told 'two devices' "$words"
    done
    holds 'two devices' two.json '$r->{data_device} eq "cpu:0" && $r->{model_device} eq "cpu:1"'
    holds 'two devices' two.json '$r->{stages}{train}{count} == 8 && $r->{total}{count} == 8 && $r->{step}{count} == 8'
    holds 'two devices' two.json 'abs(eval { my $s = 0; $s += $_->{share} for values %{$r->{stages}}; $s } - 1) < 1e-4'
    holds 'two devices' two.json '!grep { !tally($_) } values %{$r->{stages}}, $r->{total}, $r->{step}, $r->{utilisation}{data},
        $r->{utilisation}{model}, map { $r->{levels}{$_} } qw(loaded prepared arrived)'
    holds 'two devices' two.json '!grep { $_ < 0 || $_ > 1 } $r->{idle}{data}, $r->{idle}{model},
        $r->{idle}{model_waits_for_data}, $r->{utilisation}{data}{whole}, $r->{utilisation}{model}{whole},
        $r->{transfer_overlap}, $r->{stage_overlap}'
    holds 'two devices' two.json '$r->{idle}{model_waits_for_data} <= $r->{idle}{model} + 1e-6'
    agrees 'two devices' two.json
    holds 'two devices' two.json '$r->{levels}{prepared}{most} <= $r->{levels}{prepared}{limit}'
    holds 'two devices' two.json 'abs($r->{steps_per_s} * $r->{wall_ms} / 1000 - 8) < 0.01'
    holds 'two devices' two.json '@{$r->{memory}} == 2 && $r->{memory}[1]{owners}{parameters} > 0'
    holds 'two devices' two.json '!grep { !defined $_->{kind} || !$_->{hidden} && $_->{remedy} eq "" } @{$r->{bottlenecks}}'
    # Every stage of every batch that was trained on, those of the warm-up as well.
    holds 'the trace' two.trace 'my %n; $n{$_->{cat}}{$_->{args}{batch}}++ for grep { $_->{ph} eq "X" } @{$r->{traceEvents}};
        !grep { my $s = $_; grep { !$n{$s}{$_} } 0 .. 9 } qw(load process transfer train)'

    # ---- all modes ----
    done_with profile "${tiny[@]}" --batch-size 1 "${pair[@]}" --num-steps 36 --warmup-steps 1 --compare --json modes.json --trace modes.trace
    nothing_left 'all modes'
    for words in 'MODES (9 rounds of 4 steps each' '| One device, unbuffered  |   1.00x |' '| One device, buffer 25 ' \
        '| One device, buffer 50 ' '| One device, buffer 100 ' '| Two devices, no overlap ' '| Two devices  ' '| Two devices, sharing ' \
        'STAGES ALONE' 'A step of two devices is' 'its compute limit'; do
        told 'all modes' "$words"
    done
    check "all modes: memory of a mode is no leak" test "$(grep -c 'grows' stderr)" -eq 0
    holds 'all modes' modes.json 'join(" ", map { $_->{buffer} } @{$r->{compare}{modes}}) eq "0 25 50 100 0 50 50"'
    holds 'all modes' modes.json 'join(" ", map { $_->{devices} } @{$r->{compare}{modes}}) eq "1 1 1 1 2 2 2"'
    told 'all modes' "Speed: by the first mode's step of the same round"
    # shellcheck disable=SC2016
    holds 'the speed of a mode is the median of its rounds' modes.json '!grep { my @first = @{$r->{compare}{modes}[0]{step_ms_rounds}};
        my @of = @{$_->{step_ms_rounds}}; my $median = (sort { $a <=> $b } map { $first[$_] / $of[$_] } 0 .. 8)[4];
        abs($_->{speed} / $median - 1) > 1e-4 } @{$r->{compare}{modes}}'
    holds 'all modes' modes.json '!grep { @{$_->{step_ms_rounds}} != 9 || $_->{speed} <= 0 } @{$r->{compare}{modes}}'
    holds 'all modes' modes.json 'my $s = $r->{compare}{stages}; !grep { $_ > $s->{$r->{compare}{largest}} } values %$s'
    holds 'all modes' modes.json '$r->{compare}{round_steps} == 4 && $r->{steps} == 4 && $r->{compare}{stages}{transfer} > 0'
    check "all modes: a trace" grep -q traceEvents modes.trace
fi

# ---- a signal ----
: >stderr # the child truncates it too late for whoever waits for its words
"$program" profile "${tiny[@]}" --backend cpu --num-steps 100000 >stdout 2>stderr </dev/null &
child=$!
for _ in $(seq 600); do
    if grep -q 'Intelligent GPU Pipeline' stderr; then break; fi
    sleep 0.05
done
kill -TERM $child
wait $child
code=$?
check "a signal: exit code $code" test "$code" -eq 4
said 'a signal' 'interrupted'
nothing_left 'a signal'

# ---- refusals ----
base=(profile "${tiny[@]}" --backend cpu --num-steps 2 --warmup-steps 1)
refused 1 "'--compare' compares one device with two" "name two: '--data-gpu 0 --model-gpu 1'" "${base[@]}" --compare \
    --num-steps 36
refused 1 '35 steps are too few to compare modes: 9 rounds take at least 4 each' "give '--num-steps 36' or more" \
    "${base[@]}" "${pair[@]}" --compare --num-steps 35
nothing_left 'too few steps'
refused 1 "option '--num-steps' is '1'" 'from 2 to' "${base[@]}" --num-steps 1
refused 1 "'--equal-lengths' cannot change the recordings of a given corpus" "leave '--train-data' out" "${base[@]}" \
    --train-data tones --equal-lengths
refused 1 "'--data-gpu 0' names one, '--model-gpu' names none" 'devices here' "${base[@]}" --data-gpu 0
if two_cores; then
    refused 1 'Multi-GPU Mode needs two different devices' 'this would work: .myxtts profile' "${base[@]}" --cpu-devices 2 \
        --data-gpu 1 --model-gpu 1
fi
refused 2 'cannot find nowhere' 'corpus folder' "${base[@]}" --train-data nowhere
refused 1 'num-steps' '.' "${base[@]}" --num-steps 0
refused 3 'which has ' 'batch-size' profile --train-data tones "${small[@]}" --backend cpu --batch-size 16 \
    --auto-tune off --model-gpu-memory $((9 * cores + 16))
nothing_left 'refusals'
run "${base[@]}" --json no/folder/f.json
check "a file that cannot be written: exit code $code" test "$code" -eq 2
TMPDIR=$folder/none refused 2 'cannot make a folder for the corpus' 'TMPDIR' "${base[@]}"

finish
