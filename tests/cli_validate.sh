#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts validate, with the program given as $1: all checks on two CPU devices and on one, in words and as JSON; devices
# that are not there or contradict each other, limits that are too small, and a folder that cannot be written to: each
# fails in the check that it belongs to, says what to do, and ends with its exit code. No time is looked at.
# shellcheck disable=SC2034
opencl=1
. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"
one_core

small=(validate --set training.part=acoustic --set model.width=32 --set model.heads=2 --set model.hidden=64 --set model.encoder_blocks=1
    --set model.decoder_blocks=1 --batch-size 4)
pair=(--backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1)
half=$(((cores + 1) / 2)) # cores of a device: each takes memory of its own
one=(--backend cpu --cpu-devices $((cores < 2 ? 1 : 2)))
mkdir temporary
export TMPDIR=$folder/temporary

# json EXPRESSION FILE: prints what the Perl expression finds in the report, as $r; $c is the list of its checks.
json() {
    perl -MJSON::PP -e 'local $/; my $code = shift; open(F, "<:raw", shift); my $r = decode_json(<F>);
        my $c = $r->{checks}; my @found = eval $code; die $@ if $@; print join(" ", @found), "\n"' "$@"
}

# holds "what" EXPRESSION FILE: the expression must be true of the report.
holds() {
    local found
    found=$(json "($2) ? 1 : 0" "$3" 2>&1)
    check "$1 ($2): $found" test "$found" = 1
}

# statuses "what" FILE WORDS...: of the six checks. Whether two devices overlap (a warning of check 5) depends on who else
# is at work on the machine, so it does not count.
statuses() {
    local what=$1 file=$2 found
    shift 2
    found=$(json 'map { $_->{number} == 5 && $_->{status} eq "warning" ? "pass" : $_->{status} } @$c' "$file")
    check "$what: $found" test "$found" = "$*"
}

# said "what" WORDS: on standard output
said() {
    check "$1: says '$2'" grep -qF -- "$2" stdout
}

# fails EXIT-CODE "words of the ❌" "words of its hint" ARGUMENTS...
fails() {
    local wanted=$1 words=$2 hint=$3
    shift 3
    run "$@"
    check "$*: exit code $code instead of $wanted" test "$code" -eq "$wanted"
    check "$*: one ❌ with '$words'" test "$(grep -c '^   ❌ ' stdout)" -eq 1 -a \
        "$(grep '^   ❌ ' stdout | grep -cF -- "$words")" -eq 1
    check "$*: hints '$hint'" grep -q "^      hint: .*$hint" stdout
    said "$*" '❌ 1 of 6 validation checks failed'
    check "$*: the error" grep -q '^error: 1 of 6 validation checks failed$' stderr
    check "$*: does not claim success" test "$(grep -c '🎉' stdout)" -eq 0
}

# What makes all six checks good, on any number of devices.
all_good() {
    holds "$1: passed" '$r->{passed} && $r->{exit_code} == 0 && $r->{failed} == 0 && $r->{total} == 6' "$2"
    holds "$1: numbered" 'join("", map { $_->{number} } @$c) eq "123456"' "$2"
    holds "$1: the limit refuses one byte more than is left" \
        '!grep { !($_->{refused_bytes} > 0 && $_->{refused_bytes} <= $_->{limit_bytes} + 1 && $_->{taken_bytes} > 0) }
            @{$c->[1]{values}{devices}}' "$2"
    holds "$1: the model is where it should be" '$c->[2]{values}{model_device_bytes} == $c->[2]{values}{planned_bytes}
        && $c->[2]{values}{data_device_bytes} == 0 && $c->[2]{values}{parameters} > 10000' "$2"
    holds "$1: copies each way, of five sizes" '@{$c->[3]{values}{directions}} == 2 && !grep {
        !($_->{bandwidth_gb_s} > 0 && $_->{latency_us} > 0 && @{$_->{sizes}} == 5) } @{$c->[3]{values}{directions}}' "$2"
    holds "$1: the pipeline ran" '$c->[4]{values}{batches} > 0 && $c->[4]{values}{in_order} && $c->[4]{values}{equal}
        && $c->[4]{values}{speed_up} > 0 && $c->[4]{values}{overlap} >= 0 && $c->[4]{values}{overlap} <= 1' "$2"
    # Of the shorter one: a share of the training alone would be small beside any speed-up if data takes little time.
    holds "$1: the overlap is a share of what could overlap" '!grep {
        my ($least) = sort { $a <=> $b } $_->{data_ms}, $_->{train_ms}; my $share = $_->{together_ms} / $least;
        abs($_->{overlap} - ($share < 1 ? $share : 1)) > 1e-6 } $c->[4]{values}' "$2"
    holds "$1: the step trained, and is the same on one device" '$c->[5]{values}{exact}
        && $c->[5]{values}{different} == 0 && $c->[5]{values}{moved} > 0.9 * $c->[5]{values}{weights}
        && $c->[5]{values}{loss} == $c->[5]{values}{reference_loss} && $c->[5]{values}{utterances} == 4' "$2"
}

# ---- one device ----
done_with "${small[@]}" "${one[@]}" --json -
cp stdout one.json
all_good 'one device' one.json
holds 'one device: mode' '$r->{mode} eq "Single-Device Buffered Mode"' one.json
holds 'one device: one limit' '@{$c->[1]{values}{devices}} == 1 && $c->[1]{values}{devices}[0]{role} eq "both"' one.json
holds 'one device: says what does not apply' 'grep { $_->{status} eq "note" && $_->{text} =~ /no topology/ }
    @{$c->[1]{lines}}' one.json
holds 'one device: copies from and to the host' '$c->[3]{values}{directions}[0]{from} eq "host"
    && $c->[3]{values}{directions}[1]{to} eq "host"' one.json
holds 'every backend is listed' 'join(" ", sort map { $_->{name} } @{$c->[0]{values}{backends}}) eq "cpu cuda opencl"' \
    one.json
holds 'what is missing has a reason and a remedy' '!grep { !$_->{available} && ($_->{reason} eq "" || $_->{hint} eq "") }
    @{$c->[0]{values}{backends}}' one.json
check "nothing but the JSON" test "$(head -c 1 one.json)" = '{'

# ---- what fails before any device is open, and where ----
fails 1 "Multi-GPU Mode needs a data and a model device: '--data-gpu 0' names one, '--model-gpu' names none" \
    'this would work: .myxtts validate ' "${small[@]}" --data-gpu 0 --json half.json
# The hint knows the devices that check 1 found.
listed=$(sed -n 's/^   ✅ \([a-z]*:[0-9]*\): .*/\1/p' stdout | sort -u | paste -sd ' ')
hinted=$(sed -n 's/^      hint: devices here: \([^;]*\);.*/\1/p' stdout | tr -d ',' | tr ' ' '\n' | sort | paste -sd ' ')
check "devices in the list ($listed) and in the hint ($hinted)" test "$listed" = "$hinted"
check "the others are not tried" test "$(grep -c 'not tried: check 2 did not pass' stdout)" -eq 4
statuses 'half' half.json pass fail skipped skipped skipped skipped
holds 'half: counts' '!$r->{passed} && $r->{failed} == 1 && $r->{skipped} == 4 && $r->{exit_code} == 1' half.json
fails 3 'Multi-GPU requires at least 2 GPUs: backend cpu has 1 device' 'devices here: cpu:0' "${small[@]}" \
    --backend cpu --data-gpu 0 --model-gpu 1
fails 1 '1024 CPU devices' 'core' "${small[@]}" --cpu-devices 1024
if json '1 / !grep { $_->{name} eq "cuda" && $_->{available} } @{$c->[0]{values}{backends}}' one.json >/dev/null 2>&1; then
    fails 3 'backend cuda was asked for and is not available' '.' "${small[@]}" --backend cuda --json cuda.json
    statuses 'cuda' cuda.json fail skipped skipped skipped skipped skipped
fi

# ---- one limit: the number in the hint is enough, and the one below it is not ----
fails 3 'which has ' '--model-gpu-memory [0-9]*. is enough' "${small[@]}" "${one[@]}" --model-gpu-memory $((4 * half + 3))
enough=$(grep -o -- '--model-gpu-memory [0-9]*. is enough' stdout | grep -o '[0-9]*')
done_with "${small[@]}" "${one[@]}" --model-gpu-memory "$enough"
fails 3 'which has ' "'--model-gpu-memory $enough' is enough" "${small[@]}" "${one[@]}" --model-gpu-memory $((enough - 1))
check "no limit is said to have what is needed" perl -e 'local $/; $_ = <STDIN>;
    exit(/would take (\S+ \S+) of .*, which has (\S+ \S+) left/ && $1 eq $2)' <stdout

# ---- wrong usage is no check ----
refused 1 'there is no model size "huge"' 'tiny, small' "${small[@]}" --model-size huge
refused 1 "option '--data-gpu'" 'from -1 to 9999' "${small[@]}" --data-gpu two
refused 1 'batch_size' '.' "${small[@]}" --batch-size -1
refused 2 'no-such-file.yaml' '.' "${small[@]}" --config no-such-file.yaml

# ---- files ----
TMPDIR=$folder/nowhere fails 2 'cannot make a folder for the corpus' 'TMPDIR' "${small[@]}" --backend cpu
run "${small[@]}" --backend cpu --data-gpu 0 --json nowhere/report.json
check "a report that cannot be written" test "$code" -eq 2

if two_cores; then
    half=$(((cores + 1) / 2))
    # ---- two devices ----
    fails 1 "'--data-gpu 1' and '--model-gpu 1' are the same" 'devices here: ' "${small[@]}" --backend cpu \
        --cpu-devices 2 --data-gpu 1 --model-gpu 1
    done_with "${small[@]}" "${pair[@]}" --json two.json
    for words in 'Dual-GPU Pipeline Validation' '1. Checking prerequisites...' '✅ backend cpu works (2 devices detected)' \
        '2. Validating device placement configuration...' '✅ GPU indices valid: data_gpu=0 (cpu:0), model_gpu=1 (cpu:1)' \
        '✅ Set visible devices: cpu:0 is GPU:0 now, cpu:1 is GPU:1' '✅ Memory limit of GPU:0 enforced: ' \
        '✅ Memory limit of GPU:1 enforced: ' 'Topology between GPU:0 and GPU:1: ' \
        '3. Testing model creation on GPU:1...' '✅ Model created successfully on GPU:1' '; GPU:0 holds none of it' \
        '4. Testing data transfer between GPUs...' '✅ GPU:0 → GPU:1: contents equal in 5 sizes' \
        '✅ GPU:1 → GPU:0: contents equal in 5 sizes' '✅ Data transfer successful' '5. Simulating training pipeline...' \
        '✅ Order kept: ' '✅ Pipeline simulation successful' '6. Comparing a training step' \
        '✅ The same step on two devices and on one gives the same ' '🎉 All validation checks passed!'; do
        said 'two devices' "$words"
    done
    all_good 'two devices' two.json
    holds 'two devices: mode' '$r->{mode} eq "Multi-GPU Mode"' two.json
    holds 'two devices: roles' 'join(" ", map { "$_->{role} $_->{device} $_->{logical}" }
        @{$c->[1]{values}{devices}}) eq "data cpu:0 GPU:0 model cpu:1 GPU:1"' two.json
    holds 'two devices: how copies go' 'exists $c->[3]{values}{peer}' two.json
    holds 'two devices: the step is that of one device' '$c->[5]{values}{loss} > 0' two.json
    check "two devices: the loss is that of one device" test \
        "$(json '$c->[5]{values}{loss}' one.json)" = "$(json '$c->[5]{values}{loss}' two.json)"

    # The other way round, by name, and with the real size.
    done_with validate --cpu-devices 2 --data-device cpu:1 --model-device cpu:0 --batch-size 1 --json turned.json
    said 'turned' '✅ Set devices: cpu:1 is device 0 now, cpu:0 is device 1'
    said 'turned' '(tiny, '
    holds 'turned: the tiny model' '$c->[2]{values}{parameters} > 6e6 && $c->[5]{values}{utterances} == 1' turned.json

    # ---- devices that are not there ----
    fails 3 "Insufficient GPUs for Multi-GPU Mode: '--model-gpu 5' does not exist, cpu has 2 devices" \
        'this would work: .myxtts validate --set training.part=acoustic --set model.width=32 .* --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1' "${small[@]}" \
        --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 5
    done_with "${small[@]}" --backend cpu --data-gpu 0 --model-gpu 1 --allow-single --json fallback.json
    said 'fallback' '⚠️  One device instead of two: Multi-GPU requires at least 2 GPUs'
    said 'fallback' '🎉 All validation checks passed! (1 warning)'
    statuses 'fallback' fallback.json pass warning pass pass pass pass

    # ---- limits ----
    fails 3 'which has ' '--model-gpu-memory [0-9]*. is enough' "${small[@]}" "${pair[@]}" \
        --model-gpu-memory $((5 * half + 4)) --json tight.json
    enough=$(grep -o -- '--model-gpu-memory [0-9]*. is enough' stdout | grep -o '[0-9]*')
    statuses 'tight' tight.json pass pass fail pass pass skipped
    holds 'tight: the limit is that of the flag' \
        "\$c->[1]{values}{devices}[1]{limit_bytes} == $((5 * half + 4)) << 20" tight.json
    done_with "${small[@]}" "${pair[@]}" --model-gpu-memory "$enough"
    fails 3 'which has ' "'--model-gpu-memory $enough' is enough" "${small[@]}" "${pair[@]}" --model-gpu-memory $((enough - 1))
    fails 3 'which has ' '--data-gpu-memory [0-9]*. is enough' "${small[@]}" "${pair[@]}" --batch-size 32 \
        --data-gpu-memory $((5 * half + 4)) --json narrow.json
    enough=$(grep -o -- '--data-gpu-memory [0-9]*. is enough' stdout | grep -o '[0-9]*')
    done_with "${small[@]}" "${pair[@]}" --batch-size 32 --data-gpu-memory "$enough"
    fails 3 'which has ' "'--data-gpu-memory $enough' is enough" "${small[@]}" "${pair[@]}" --batch-size 32 \
        --data-gpu-memory $((enough - 1))
    statuses 'narrow' narrow.json pass pass pass pass pass fail
    fails 3 'a limit of 1000000000 MiB is more than cpu:1 has' 'give .--model-gpu-memory. at most' "${small[@]}" \
        "${pair[@]}" --model-gpu-memory 1000000000
fi

check "no temporary file is left" test -z "$(ls -A temporary)"
finish
