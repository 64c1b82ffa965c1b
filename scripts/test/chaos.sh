#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs trainings in which something goes wrong, round after round:
#
#     scripts/test/chaos.sh BUILD ROUNDS SEED [ROUND]
#
# Each round draws a configuration, a fault and a moment from SEED and its number, causes the fault, and then checks that the
# program ended in time and named the cause; that the run continues, with the last checkpoint and the metrics of an
# undisturbed run, bit for bit; and that no step, message or file is missing without a message. With ROUND, only that round
# is run, with the same choices and, as far as the machine allows, at the same moment. A round that fails prints how to
# repeat it and keeps its folder, BUILD/chaos/SEED-ROUND. Undisturbed runs are made once for each configuration and kept in
# BUILD/chaos/whole until the program or this script changes. CHAOS_SECONDS is the time limit of a round.
set -u

build=${1:?usage: scripts/test/chaos.sh BUILD ROUNDS SEED [ROUND]}
rounds=${2:?number of rounds}
seed=${3:?the seed, a number}
only=${4:-}
limit=${CHAOS_SECONDS:-120}
for number in "$rounds" "$seed" "${only:-1}" "$limit"; do
    if ! [[ $number =~ ^[0-9]{1,9}$ ]]; then
        echo "chaos: '$number' is not a number" >&2
        exit 1
    fi
done
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
program=$(realpath "$build/myxtts")
double=$(realpath "$build")/libcuda_double.so
# shellcheck source=tests/support/tones.sh
. "$here/../../tests/support/tones.sh"

unset LANGUAGE LC_ALL CUDA_VISIBLE_DEVICES MYXTTS_SUMS
export LC_MESSAGES=C
mkdir -p "$build/chaos/whole"
work=$(realpath "$build/chaos")
exec 9>"$work/lock"
if ! flock -n 9; then
    echo "chaos: another chaos run is using $work" >&2
    exit 1
fi
export MYXTTS_CACHE=$work/cache
export MYXTTS_CUDA_DRIVER=$double MYXTTS_CUDA_NVRTC=$double MYXTTS_CUDA_CUBLAS=$double MYXTTS_CUDA_NVML=$double
export MYXTTS_CUDA_NCCL=$double
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# ---- what there is to draw from ----
left_out=()
devices=(cpu-one)
if [ "$(nproc)" -ge 2 ]; then devices+=(cpu-two cpu-share); else left_out+=("two CPU devices: there is only one core"); fi
launcher=
case "$(ldd "$program")" in
*libmpich*) names="mpiexec.mpich mpiexec" ;;
*libmpi*) names="mpirun.openmpi mpirun" ;;
*) names= ;;
esac
for name in $names; do
    if [ -z "$launcher" ] && command -v "$name" >/dev/null; then launcher=$name; fi
done
if [ -n "$launcher" ]; then devices+=(cpu-ranks); else left_out+=("ranks: no MPI, or no MPI launcher"); fi
if [ -e "$double" ]; then
    devices+=(cuda-one cuda-two cuda-share)
    if [ -n "$launcher" ]; then devices+=(cuda-ranks); fi
else
    left_out+=("the mock CUDA driver: $double is not built")
fi
everywhere=(kill term hup read clock second)
if command -v prlimit >/dev/null; then everywhere+=(full full-stays); else left_out+=("a full disk: no prlimit"); fi
shim=$work/shim.so
if ! cc -std=c17 -O2 -fPIC -shared -o "$shim" "$here/chaos_shim.c" -ldl; then
    echo "chaos: scripts/test/chaos_shim.c cannot be compiled" >&2
    exit 1
fi

steps=24
common=("${small[@]}" --seed 3 --batch-size 2 --steps "$steps" --epochs 1000 --save-every 4 --eval-every 9
    --set training.samples=1 --set training.report=off --set training.early_stopping=0 --tensorboard off
    --set data.caching=false --set data.min_seconds=0.2 --set data.validation_fraction=0.1 --buffer-size 3 --prefetch-buffer-size 2)

# Corpora: the same tones as a folder and packed, and others that are taken for them. They are as short as can be, since the
# double of CUDA takes its time; one is longer, so that there is memory enough to speak a sample.
make_data() {
    # shellcheck disable=SC2016
    local tone='$count = $row == 4 ? 12000 : 4000 + 250 * ($row % 4); $loud = 9000;
        $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * $row;
        $text = ($row % 2 ? "low" : "high") . "|Tone $letter" . ($row == 4 ? ", which is long." : ".")'
    rm -rf "$work/data" "$work/others"
    tone_corpus "$work/data" 12 "$tone"
    tone_corpus "$work/others" 12 "\$row += 3; $tone; \$row -= 3"
    for name in data others; do
        "$program" prepare --quiet --min-seconds 0.2 --output "$work/$name.pack" --tokens chars "$work/$name" >/dev/null </dev/null || exit 1
    done
}

# ---- running ----
# arguments_of CONFIGURATION: flags of its devices and its corpus
arguments_of() {
    arguments=("${common[@]}" --train-data data)
    if [[ $1 == *+pack ]]; then arguments+=(--train-data data.pack); fi
    case $1 in
    cpu-one*) arguments+=(--backend cpu --cpu-devices $(($(nproc) < 2 ? 1 : 2)) --device cpu:0) ;;
    cpu-two*) arguments+=(--backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1) ;;
    cpu-share*) arguments+=(--backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1 --share-work on --shares 0:0.5) ;;
    cuda-one*) arguments+=(--device cuda:0) ;;
    cuda-two*) arguments+=(--backend cuda --data-gpu 0 --model-gpu 1) ;;
    cuda-share*) arguments+=(--backend cuda --data-gpu 0 --model-gpu 1 --share-work on --shares 0:0.5) ;;
    *-ranks*) arguments+=(--backend "${1%%-*}") ;;
    esac
}

# begin CONFIGURATION "VARIABLE=VALUE..." ARGUMENTS...: in the background, in this folder. Its number is in $child; its messages
# go through a pipe, since a limit of the size of files would stop a file. The variables are for one rank, the $victim-th.
begin() {
    local configuration=$1 settings=$2 rank
    local -a line=() own=()
    shift 2
    read -ra own <<<"$settings"
    own+=(LD_PRELOAD="$shim" CHAOS_WORLD="$PWD/world" CHAOS_DATA="$PWD/data")
    rm -f messages report stderr
    mkfifo messages
    cat messages >stderr &
    listener=$!
    if [[ $configuration == *-ranks* ]]; then
        for rank in 0 1; do
            if [ $rank = 1 ]; then line+=(:); fi
            if [ $rank = "$victim" ]; then line+=(-n 1 env "${own[@]}"); else line+=(-n 1 env "${own[@]: -3}"); fi
            line+=("$program" train "$@")
        done
        "$launcher" "${line[@]}" >stdout 2>messages </dev/null &
    else
        env "${own[@]}" CUDA_DOUBLE_REPORT="$PWD/report" "$program" train "$@" >stdout 2>messages </dev/null &
    fi
    child=$!
}

# descendants PROCESS: it and all that it started
descendants() {
    local each
    echo "$1"
    for each in $(pgrep -P "$1"); do descendants "$each"; done
}
# processes: those of the program, without the launcher
processes() {
    local each
    for each in $(descendants "$child"); do
        if [ "$(cat "/proc/$each/comm" 2>/dev/null)" = myxtts ]; then echo "$each"; fi
    done
}
alive() {
    kill -0 "$child" 2>/dev/null
}

# end: waits until it has ended; its exit code is in $code. One that does not end in time is ended, and that is wrong.
end() {
    local since=$SECONDS
    local -a list
    {
        while alive && [ $((SECONDS - since)) -lt "$limit" ]; do sleep 0.05; done
        if alive; then
            wrong "did not end within $limit s"
            mapfile -t list < <(descendants "$child")
            kill -KILL "${list[@]}"
        fi
        wait "$child"
        code=$?
    } 2>/dev/null # bash would tell who was killed
    wait "$listener"
    said+=$'\n'"exit code $code"$'\n'$(cat stdout stderr)
}

# reached STEP: whether its line is in the metrics
reached() {
    grep -q "^{\"step\":$1," run/metrics.jsonl 2>/dev/null
}
# moment: waits for the one that was drawn; false if the run has ended before
moment() {
    if [ "$at" -gt 0 ]; then
        while alive && ! reached "$at"; do sleep 0.01; done
    fi
    sleep "$delay"
    if alive && [ -n "$(processes)" ]; then return 0; fi
    late=', which had ended before'
    return 1
}

# ---- looking ----
wrong() {
    problems+=("$1")
}
# expect "what is wrong otherwise" COMMAND...
expect() {
    local what=$1
    shift
    if ! "$@" >/dev/null 2>&1; then wrong "$what"; fi
}
# told CODES WORDS: the exit code is one of these and the messages have the words, a regular expression; none: whatever they are
told() {
    if ! [[ " $1 " == *" $code "* ]]; then wrong "exit code $code instead of one of: $1"; fi
    if [ -n "$2" ] && ! grep -qE -- "$2" stderr stdout; then wrong "does not say: $2"; fi
}
# untimed FOLDER EVALUATIONS: what of the metrics does not depend on time; evaluations, too, if that is 1
untimed() {
    sed 's/,"step_ms".*//' "$1/metrics.jsonl" | if [ "$2" = 1 ]; then cat; else grep -v '"evaluation"'; fi
}
has_checkpoint() {
    compgen -G 'run/checkpoints/step-*.safetensors' >/dev/null
}

# go_on CONFIGURATION: as the hints say: from the last checkpoint, or the same command again
go_on() {
    if has_checkpoint; then
        begin "$1" '' --resume run
    else
        arguments_of "$1"
        begin "$1" '' "${arguments[@]}" --output run
    fi
    end
    if [ "$code" -ne 0 ]; then wrong "does not go on: exit code $code"; fi
}

# whole FOLDER: nothing is missing in the run there. What recordings could not be read is said step by step.
whole() {
    local same=1 evaluated=1 last
    last=$(printf 'checkpoints/step-%08d.safetensors' $steps)
    if grep -q '"left_out":[1-9]' run/metrics.jsonl; then
        expect "utterances are left out, and the log does not say so" grep -qE 'WARN.*(cannot be read|left out|rejected)' run/log.txt
        same=0
    fi
    if grep -qE 'WARN.*(nothing was evaluated|the evaluation is incomplete)' run/log.txt; then evaluated=0; fi
    expect "steps of the metrics: $(grep -v '"evaluation"' run/metrics.jsonl | grep -o '^{"step":[0-9]*' | grep -o '[0-9]*$' | tr '\n' ' ')" \
        diff <(seq 1 $steps) <(grep -v '"evaluation"' run/metrics.jsonl | grep -o '^{"step":[0-9]*' | grep -o '[0-9]*$')
    for name in $(cd "$1" && find . -type f ! -name myxtts.lock ! -path './checkpoints/step-*' | sort); do
        if [ $evaluated = 0 ]; then case $name in ./samples/* | */best.safetensors) continue ;; esac fi
        if [[ $name =~ samples/step-0*([1-9][0-9]*)/0*([0-9]+) && $said =~ "step ${BASH_REMATCH[1]}: "("samples cannot be written"|"sample ${BASH_REMATCH[2]} is missing") ]]; then continue; fi
        expect "$name is missing" test -s "run/$name"
    done
    # A run that ended on the way has a checkpoint of that moment.
    for name in $(cd run && find . -type f | sort); do
        case $name in *.abandoned | ./samples/* | ./rejects.tsv | ./checkpoints/step-????????.safetensors) continue ;; esac
        expect "$name is left behind" test -e "$1/$name"
    done
    if [ $same = 1 ]; then
        expect "the last checkpoint is not that of the undisturbed run" cmp "$1/$last" "run/$last"
        if [ $evaluated = 1 ]; then
            expect "the best checkpoint is not that of the undisturbed run" cmp "$1/checkpoints/best.safetensors" run/checkpoints/best.safetensors
        fi
        expect "the metrics are not those of the undisturbed run" cmp <(untimed "$1" $evaluated) <(untimed run $evaluated)
    fi
    # A disk that was full to the end may have kept it from saying so; then a message did.
    if [ "${ended:-1}" -ne 0 ] || [[ $said != *'run.json cannot be written'* ]]; then
        expect "run.json does not say that it is finished" finished
    fi
    expect "config.yaml is not that of the undisturbed run" cmp "$1/config.yaml" run/config.yaml
    expect "the run cannot be inspected" "$program" inspect run
    expect "somebody still holds the run" flock -n run/myxtts.lock true
    if [ -e report ]; then expect "the double of CUDA was misused" grep -qx 'faults 0' report; fi
}

# fresh: begins in a new folder, always of the same name, since the path of the corpus is a setting that checkpoints keep
fresh() {
    rm -rf "$work/now"
    mkdir -p "$work/now/world"
    cp -a "$work/data" "$work/data.pack" "$work/now"
    cd "$work/now" || exit 1
}

# reference CONFIGURATION: makes the undisturbed run, unless it is there
reference() {
    local folder=$work/whole/$1 victim=none said=
    local -a problems=()
    if [ -e "$folder/done" ] && [ "$(cat "$folder/done")" = "$version" ]; then return; fi
    fresh
    arguments_of "$1"
    begin "$1" '' "${arguments[@]}" --output run
    end
    whole "$work/now/run"
    if [ "$code" -ne 0 ] || [ ${#problems[@]} -gt 0 ]; then
        printf 'chaos: the undisturbed run of %s failed: %s\n%s\n' "$1" "${problems[*]}" "$said" >&2
        exit 1
    fi
    cd "$work" || exit 1
    rm -rf "$folder"
    mv now "$folder"
    echo "$version" >"$folder/done"
}

# ---- a round ----
# The fault: each function does it at its moment, and leaves the run ended. What is said is looked at here.
interrupted='^error: (rank [0-9]+ on [^:]*: )?.*interrupted'
finished() {
    grep -q '"state":"done"' run/run.json
}
# strike SIGNAL: at the moment, one of its processes; that may end just then
strike() {
    local -a list=()
    if moment; then mapfile -t list < <(processes); fi
    if [ ${#list[@]} -gt 0 ]; then kill "-$1" "${list[victim % ${#list[@]}]}" 2>/dev/null; fi
}
fault_kill() {
    strike KILL
    end
    if [ "$code" -eq 0 ]; then
        late=', which had ended before'
    elif [[ $configuration == *-ranks* ]]; then
        told "$code" '^error: rank [0-9]+ on|exited on signal 9|PID [0-9]+ RUNNING AT'
    else
        told 137 ''
    fi
}
ended_by() { # SIGNAL CODE-OF-DEATH
    strike "$1"
    end
    case $code in
    0) late=', which had ended before' ;;
    # Before the program is ready for signals, or when all is done and saved.
    "$2") if [ "$at" -gt 0 ] && ! finished; then wrong "died of SIG$1 after step $at"; fi ;;
    *) if [[ $configuration == *-ranks* && $at -eq 0 ]]; then
        told "$code" "$interrupted|signal"
    else
        told 4 "$interrupted"
    fi ;;
    esac
}
fault_term() {
    ended_by TERM 143
}
fault_hup() {
    ended_by HUP 129
}
room() { # BYTES
    local each
    for each in $(processes); do prlimit --pid "$each" "--fsize=$1:" 2>/dev/null; done
}
# The double of NCCL has its memory in a file: ranks that just join each other there fail as well.
full_words='^error: .*(File too large|NCCL: joining the other ranks failed)'
fault_full() {
    if moment; then
        room 1000
        sleep "0.$((100 + variant % 900))"
        room unlimited
    fi
    end
    if [ "$code" -ne 0 ]; then told "2 3" "$full_words"; fi
}
fault_full-stays() {
    if moment; then room 1000; fi
    end
    # Whether the last checkpoint is there, as it must be then, is looked at as in every round.
    if [ "$code" -ne 0 ]; then told "2 3" "$full_words"; else late=', which had saved all before'; fi
}
fault_read() {
    if moment; then touch world/reads; fi
    end
    rm -f world/reads
    if [ "$code" -ne 0 ]; then told 2 '^error: '; fi
}
fault_clock() {
    if moment; then touch world/clock; fi
    end
    rm -f world/clock
    told 0 ''
}
fault_second() {
    local first=$child listener1=$listener
    if moment && [ -e run/myxtts.lock ]; then
        timeout "$limit" "$program" train --resume run >second.out 2>&1 </dev/null
        code=$?
        if grep -q 'nothing is left to do' second.out; then
            late=', which had ended before' # the first one had given the folder back, and only its process was still there
        elif alive; then
            said+=$'\n'"the second: exit code $code"$'\n'$(cat second.out)
            if [ $code -eq 0 ]; then wrong 'the second one was not refused'; fi
            expect 'the second one does not say why it is refused' grep -q '^error: ' second.out
        fi
    fi
    child=$first listener=$listener1
    end
    told 0 ''
}
lost() {
    end # it strikes by itself
    if [ "$code" -eq 0 ]; then late=', which had ended before'; else told 3 '^error: .*(device is lost|CUDA_ERROR_[A-Z_]*)'; fi
}
fault_lost-data() {
    lost
}
fault_lost-model() {
    lost
}
fault_cut() {
    if moment; then truncate -s $(($(stat -c %s data.pack) * (variant % 95) / 100)) data.pack; fi
    end
    cp -a "$work/data.pack" data.pack
    if [ "$code" -ne 0 ]; then told 2 '^error: .*data\.pack'; fi
}
fault_rewritten() {
    if moment; then cat "$work/others.pack" >data.pack; fi
    end
    cp -a "$work/data.pack" data.pack
    if [ "$code" -ne 0 ]; then told 2 '^error: .*data\.pack'; fi
}
fault_swapped() { # between two parts of a run
    fault_term
    cp -a "$work/others.pack" data.pack
    if has_checkpoint && [ "$code" -ne 0 ]; then
        cp -a run before
        begin "$configuration" '' --resume run
        end
        if [ "$code" -eq 0 ]; then wrong 'another corpus was taken without a word'; else told 2 '^error: '; fi
        expect 'a refused command changed the settings' cmp before/config.yaml run/config.yaml
        expect 'a refused command changed the checkpoints' diff -r before/checkpoints run/checkpoints
        expect 'a refused command changed the metrics' cmp before/metrics.jsonl run/metrics.jsonl
        rm -rf before
    fi
    cp -a "$work/data.pack" data.pack
}

# draw: everything that the round needs, before it begins
draw() {
    local -a faults=("${everywhere[@]}")
    RANDOM=$((0x$(printf '%s/%s' "$seed" "$1" | sha256sum | cut -c1-7)))
    configuration=${devices[RANDOM % ${#devices[@]}]}
    if ((RANDOM % 2)); then configuration+=+pack; fi
    case $configuration in *+pack) faults+=(cut rewritten swapped) ;; esac
    case $configuration in cuda-*) faults+=(lost-model) ;; esac
    case $configuration in cuda-two* | cuda-share*) faults+=(lost-data) ;; esac
    fault=${faults[RANDOM % ${#faults[@]}]}
    at=$((RANDOM % 4 ? 1 + RANDOM % (steps - 3) : 0)) # 0: while it starts
    delay=$((at ? RANDOM % 40 : RANDOM % 1200))
    delay=$((delay / 1000)).$(printf %03d $((delay % 1000)))
    victim=$((RANDOM % 2))
    variant=$RANDOM
}

round_make() {
    local folder=$work/$seed-$1 settings='' what
    draw "$1"
    reference "$configuration"
    fresh
    problems=() said='' late=''
    what="after step $at and $delay s"
    if [ "$at" -eq 0 ]; then what="$delay s after the start"; fi
    case $fault in
    lost-data) settings="CUDA_DOUBLE_FAIL_DEVICE=0 CUDA_DOUBLE_FAIL_RUN=$((1 + variant % 700))" ;;
    lost-model)
        settings="CUDA_DOUBLE_FAIL_RUN=$((1 + variant % 10000)) CUDA_DOUBLE_RUN_CODE=719"
        case $configuration in cuda-two* | cuda-share*) settings+=" CUDA_DOUBLE_FAIL_DEVICE=1" ;; esac
        ;;
    esac
    case $fault in lost-*) what=${settings#*FAIL_RUN=} what="at launch ${what%% *} of the device" ;; esac
    arguments_of "$configuration"
    begin "$configuration" "$settings" "${arguments[@]}" --output run
    "fault_$fault"
    local ended=$code
    if [ "$ended" -ne 0 ]; then go_on "$configuration"; fi
    whole "$work/whole/$configuration/run"
    made=$((made + 1))
    cd "$work" || exit 1
    if [ ${#problems[@]} -eq 0 ]; then
        printf 'round %d: %s, %s %s%s: exit code %d, run complete in the end\n' "$1" "$configuration" "$fault" "$what" "$late" "$ended"
        if [ -n "$late" ]; then missed=$((missed + 1)); fi
        return
    fi
    failed=$((failed + 1))
    rm -rf "$folder"
    mv now "$folder"
    printf '%s\n' "$said" >"$folder/said.txt"
    printf 'FAILED: round %d: %s, %s %s: exit code %d\n' "$1" "$configuration" "$fault" "$what" "$ended"
    printf '    %s\n' "${problems[@]}"
    printf '    repeat: make chaos CHAOS_SEED=%s CHAOS_ROUND=%s; folder: %s (said.txt has the messages)\n' "$seed" "$1" "$folder"
}

version=$(cat "$program" "$double" "${BASH_SOURCE[0]}" "$here/chaos_shim.c" "$here/../../tests/support/tones.sh" 2>/dev/null | sha256sum)
if [ "$(cat "$work/version" 2>/dev/null)" != "$version" ]; then
    make_data
    echo "$version" >"$work/version"
fi
for part in "${left_out[@]}"; do echo "left out: $part"; done
failed=0 missed=0 made=0
if [ -n "$only" ]; then
    round_make "$only"
    rounds=1
else
    for ((round = 1; round <= rounds; round++)); do round_make "$round"; done
fi
printf '%d rounds with seed %s: %d failed, %d had ended before the fault\n' "$made" "$seed" "$failed" "$missed"
if [ "$made" -ne "$rounds" ]; then echo "chaos: $rounds were asked for" >&2; fi # an error of bash ends a loop
[ "$failed" -eq 0 ] && [ "$made" -eq "$rounds" ]
