#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts monitor: plain text, refusals, and on a terminal (of script(1)) the alternate screen, which whatever ends the
# program must leave again.

. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"
export LC_ALL=C.UTF-8
unset NO_COLOR

# steps FIRST LAST: lines of metrics of a run of 20 steps.
steps() {
    local i
    for ((i = $1; i <= $2; i++)); do
        printf '{"step":%d,"epoch":0,"loss":%d.5,"mel":0.5,"skipped":false,"step_ms":100.0,"frames_per_s":1234.0,' "$i" $((30 - i))
        printf '"data_busy":0.25,"model_busy":0.75,"data_wait":0.0,"loaded":1,"prepared":2,"arrived":3,"loaded_limit":4,'
        printf '"prepared_limit":5,"arrived_limit":3,"data_bytes":1048576,"model_bytes":2097152,'
        printf '"data_limit_bytes":4194304,"model_limit_bytes":8388608,"variation":0.0,"steps":20}\n'
    done
}

# ---- plain text ----

mkdir run
steps 1 12 >run/metrics.jsonl
printf '{"step":12,"evaluation":{"utterances":4,"loss":1.25,"mel_db":3.5}}\n{"step":13,"lo' >>run/metrics.jsonl
done_with monitor run --once
for words in 'step 12 of 20' ' 60 %' 'device 0 data' '1.00 MiB of 4.00 MiB' 'device 1 model' '75 %' 'prepared' '2/5' \
    '1,234 frames/s' '18.5000' 'step 12: loss 1.2500, spoken 3.50 dB' '█' '⠀'; do
    check "says '$words'" grep -qF -- "$words" stdout
done
check "no colours" test -z "$(grep $'\033' stdout)"
check "no wide lines" test -z "$(grep -E '.{101}' stdout)"
LC_ALL=C done_with monitor run --once
check "ASCII in an ASCII locale" test -z "$(grep -P '[^\x00-\x7F]' stdout)"
check "bars of ASCII" grep -qF '###' stdout
printf 'ss":7}\n' >>run/metrics.jsonl
done_with monitor run --once
check "a line that was not whole yet" grep -q 'step 13' stdout

# Without a terminal it follows the run to its end.
steps 1 20 >run/metrics.jsonl
done_with monitor run
check "the last step" grep -q '^step 20 of 20, loss 10.5000, 1,234 frames/s' stdout
check "the end" test "$(tail -n 1 stdout)" = done
mkdir empty
"$program" monitor empty --interval 0.1 >follow.out 2>follow.err </dev/null &
follower=$!
for _ in $(seq 200); do grep -q 'waiting for the first step' follow.out && break; sleep 0.05; done
steps 1 3 >>empty/metrics.jsonl
for _ in $(seq 200); do grep -q '^step 3 of 20' follow.out && break; sleep 0.05; done
steps 1 2 >empty/new && mv empty/new empty/metrics.jsonl # as a resumed run begins
for _ in $(seq 200); do grep -q '^step 2 of 20' follow.out && break; sleep 0.05; done
steps 3 20 >>empty/metrics.jsonl
wait "$follower"
check "a run that begins while it is watched: exit code" test $? -eq 0
check "waits, follows, starts over, ends" diff <(printf '%s\n' waiting 3 2 20 done) \
    <(sed 's/^step \([0-9]*\) .*/\1/; s/^waiting.*/waiting/' follow.out)
check "state of run.json" bash -c "printf '{\"state\":\"interrupted\",\"devices\":[]}' >empty/run.json &&
    '$program' monitor empty --once | grep -q interrupted"

# ---- refusals ----

refused 1 'the folder of the run is missing' 'myxtts monitor --help' monitor
refused 1 'takes at most 1 arguments' 'myxtts monitor --help' monitor run run
refused 1 "option '--interval' is '0'" 'from 0.1 to 3600' monitor run --interval 0
refused 1 "option '--interval' is 'soon'" 'from 0.1 to 3600' monitor run --interval soon
refused 1 'is not a folder' 'folder of a run' monitor run/metrics.jsonl
refused 2 'cannot look at the run nowhere' "'myxtts train --output' made" monitor nowhere
mkdir bare
refused 2 'bare has no metrics.jsonl' 'first step is waited for' monitor bare --once

# ---- on a terminal ----

enter=$'\033[?1049h'
leave=$'\033[?1049l'

# screen_awaited: returns when the screen was taken.
screen_awaited() {
    for _ in $(seq 200); do
        grep -qF "$enter" "$folder/terminal.out" && return
        sleep 0.05
    done
}

# end_awaited: until the terminal's state was told; script ends its command when there is nothing more to read
end_awaited() {
    for _ in $(seq 200); do
        if grep -q '^-*echo' terminal.out; then break; fi
        sleep 0.05
    done
}

# on_terminal KEYS COMMAND...: what the command writes to a terminal of 24 rows and 90 columns, and KEYS are pressed as
# soon as it has the screen. The shell is this one whatever $SHELL says: others end with a command that got Ctrl-C.
on_terminal() {
    local keys=$1
    shift
    : >terminal.out
    { [ -z "$keys" ] || { screen_awaited && printf '%s' "$keys"; } && end_awaited; } |
        SHELL=$BASH script -qefc "stty rows 24 cols 90; $*; echo code=\$?; stty -a | tr ' ;' '\n\n' | grep -x -e -*icanon -e -*echo" \
            /dev/null >terminal.out 2>&1
}

# restored "what": the screen was taken, was left after that, and keys echo again.
restored() {
    check "$1: takes the screen" grep -qF "$enter" terminal.out
    check "$1: leaves it" bash -c 'text=$(cat terminal.out); [[ ${text##*"$0"} == *"$1"* ]]' "$enter" "$leave"
    check "$1: the terminal is as it was" grep -qx $'icanon\r' terminal.out
    check "$1: keys echo" grep -qx $'echo\r' terminal.out
}

if ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    echo "not tested: the view on a terminal, because script(1) has none to give (is /dev/pts mounted?)"
    finish
    exit
fi
on_terminal q "TERM=xterm '$program' monitor run"
restored q
check "q: exit code 0" grep -q 'code=0' terminal.out
check "q: the view" grep -qF 'step 20 of 20' terminal.out
check "colours" grep -qF $'\033[32m' terminal.out
on_terminal q "NO_COLOR=1 TERM=xterm '$program' monitor run"
check "NO_COLOR" test -z "$(grep -F $'\033[32m' terminal.out)"
on_terminal $'\003' "TERM=xterm '$program' monitor run"
restored Ctrl-C
{ declare -p enter folder && declare -f screen_awaited && echo screen_awaited; } >awaited
for signal in TERM HUP SEGV; do
    on_terminal '' "bash -c '. ./awaited; kill -$signal \$(cat monitor.pid)' & bash -c 'echo \$\$ >monitor.pid; TERM=xterm exec $program monitor run'"
    restored "SIG$signal"
done
on_terminal '' "TERM=dumb '$program' monitor run"
check "a dumb terminal gets lines" grep -q '^step 20 of 20' terminal.out
check "and no screen" test -z "$(grep -F "$enter" terminal.out)"

finish
