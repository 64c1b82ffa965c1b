#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts validate --report, with the program given as $1: a page and a JSON file about one and two CPU devices, with
# MYXTTS_TEST_DEVICES=all also about an OpenCL device and two CUDA devices (the double), which take a minute of a core: nine
# checks, every operation within its bound, rates, steps of both modes; nothing that names the machine, its user or a
# path; names of files that say nothing, and files that cannot be written.
# shellcheck disable=SC2034
[ "${MYXTTS_TEST_DEVICES:-}" != all ] || opencl=1
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"

small=(validate --set training.part=acoustic --set model.width=32 --set model.heads=2 --set model.hidden=64 --set model.encoder_blocks=1
    --set model.decoder_blocks=1 --batch-size 4)
mkdir temporary
export TMPDIR=$folder/temporary HOME=$folder

# json EXPRESSION FILE: whether the Perl expression is true of the report $r; $c is the list of its checks.
json() {
    perl -MJSON::PP -e 'local $/; my $code = shift; open(F, "<:raw", shift); my $r = decode_json(<F>);
        my $c = $r->{checks}; my $true = eval $code; die $@ if $@; exit !$true' "$1" "$2"
}

# inside PAGE: the report in a page, as JSON
inside() {
    perl -MJSON::PP -e 'local $/; open(F, "<:raw", shift); my ($data) = <F> =~ /id="validation">(.*?)<\/script>/s or die;
        my $d = decode_json($data); $d->{words}{$_}{title} eq "" and die for qw(en fa); print encode_json($d->{report})' "$1"
}

# complete "what" DEVICES FILE: a report with this number of devices
complete() {
    check "$1: nine checks, none failed" json '$r->{passed} && $r->{total} == 9 && @$c == 9 && $r->{skipped} == 0
        && !grep { !exists $_->{seconds} } @$c' "$3"
    check "$1: the machine" json '$r->{machine}{cores} > 0 && $r->{machine}{memory_bytes} > 0 && $r->{machine}{system} =~ /Linux/
        && $r->{machine}{program} ne "" && @{$r->{machine}{devices}} == '"$2" "$3"
    check "$1: every operation on each device, in shapes that are named, within its bound" json \
        '@{$c->[6]{values}{devices}} == '"$2"' && !grep { @{$_->{operations}} < 40 || grep { $_->{fault} ne "" || $_->{share} > 1
            || $_->{cases} < 5 || @{$_->{shapes}} != $_->{cases} || grep { $_ eq "" } @{$_->{shapes}} } @{$_->{operations}} }
            @{$c->[6]{values}{devices}}' "$3"
    check "$1: copies from and to the host" json \
        '(grep { $_->{from} eq "host" && $_->{bandwidth_gb_s} > 0 } map { @{$_->{values}{directions}} } @$c[3, 7]) == '"$2" "$3"
    check "$1: steps of each mode" json '@{$c->[8]{values}{modes}} == '"$2"' && !grep { $_->{steps} != 20 || !($_->{step_ms} > 0)
        || !($_->{model_busy} > 0) } @{$c->[8]{values}{modes}}' "$3"
}

# private FILE: names nobody
private() {
    local word
    for word in "$folder" "$program" "$(hostname)" "$(id -un)" /tmp /usr; do
        check "$1 does not say '$word'" test "$(grep -cwF -- "$word" "$1")" -eq 0
    done
}

if two_cores; then
    done_with "${small[@]}" --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1 --report two.html
    check "says where the report is" grep -q '^The report is in two.html$' stdout
    check "says what agrees" grep -q '✅ [0-9]* operations on GPU:1 give the same results as the CPU in [0-9]* cases' stdout
    inside two.html >two.json
    complete 'two CPU devices' 2 two.json
    private two.json
    check "the page loads nothing" test "$(grep -cE '(src|href)="?https?:' two.html)" -eq 0
    check "one file, written as a whole" test "$(find . -name '*two.html*' | wc -l)" -eq 1
fi

done_with "${small[@]}" --backend cpu --report one.json --json -
check "standard output has the JSON alone" json '$r->{total} == 9' stdout
complete 'one CPU device' 1 one.json
private one.json

# Of messages, too: the driver that cannot be loaded has a path.
TMPDIR=$folder/temporary/none MYXTTS_CUDA_DRIVER=$folder/none.so run "${small[@]}" --backend cpu --report failed.json
check "exit code $code of a check that failed" test "$code" -eq 2
check "the report tells which" json '!$r->{passed} && $r->{exit_code} == 2 && $c->[2]{status} eq "fail"
    && $c->[8]{status} eq "skipped"' failed.json
check "a path is hidden" grep -qF '(path)' failed.json
private failed.json

refused 1 'does not say what to write' 'ends with .html' "${small[@]}" --report report.txt
refused 1 'does not say what to write' 'ends with .html' "${small[@]}" --report folder.html/report
mkdir folder.html
refused 1 'is not a file' 'name of a file' "${small[@]}" --report folder.html
refused 2 'cannot write nowhere/report.html' 'folder that exists' "${small[@]}" --report nowhere/report.html
check "nothing was begun" test "$(grep -c 'Checking' stdout)" -eq 0

if [ "${MYXTTS_TEST_DEVICES:-}" = all ]; then
    if "$program" devices 2>/dev/null | grep -q '^ *opencl:0'; then
        done_with "${small[@]}" --backend opencl --report opencl.json
        complete 'OpenCL' 1 opencl.json
        private opencl.json
    fi
    . "$here/support/cuda.sh"
    done_with "${small[@]}" --batch-size 1 --backend cuda --data-gpu 0 --model-gpu 1 --report cuda.html
    inside cuda.html >cuda.json
    complete 'two CUDA devices' 2 cuda.json
    check "the driver" json '$r->{machine}{devices}[1]{driver} =~ /^NVIDIA .*CUDA \d+\.\d, NVRTC \d+\.\d, compute capability \d+\.\d$/' \
        cuda.json
    private cuda.json
fi
check "no temporary file is left" test -z "$(ls -A temporary)"
finish
