#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# mpirun -n N myxtts train, with the program given as $1: two and three ranks follow one, a rerun is the same bit for
# bit, each utterance is used once an epoch, another number of ranks goes on, what differs between ranks is refused, rank
# 0 alone writes, a signal to any rank ends all, saved.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/follows.sh
. "$here/support/follows.sh"
# shellcheck source=tests/support/mpi.sh
. "$here/support/mpi.sh"

short_tones tones 24
small+=("${short[@]}")
# With dropout and augmentation: neither may depend on who trains an utterance. 7 utterances a step divide by neither 2 nor 3.
common=(train --train-data tones "${small[@]}" --backend cpu --batch-size 7 --grad-accum 2 --steps 10 --save-every 4
    --eval-every 5 --set training.samples=1 --set training.report=off --tensorboard off --augment
    --set data.validation_fraction=0.1)

# ---- as many as you like ----
follows_terms=1
one_rank() {
    done_with "${common[@]}" --output "$@"
}
one_rank one
ranks_done 2 "${common[@]}" --output two
ranks_said 'two ranks' "2 ranks on 1 machine ("
ranks_said 'two ranks' "14 utterances a step on average over all ranks: '--batch-size' is that of all together"
check 'two ranks: one line of result' test "$(cat stdout)" = 'two: step 10 of 10'
check 'two ranks: rank 0 alone logs' test "$(grep -c 'ranks on 1 machine' two/log.txt)" -eq 1
check 'two ranks: rank 0 alone evaluates' test "$(grep -c 'validation loss' stderr)" -eq 2
follows one_rank one two
ranks_done 3 "${common[@]}" --output three
follows one_rank one three
ranks_done 3 "${common[@]}" --output again
identical 'a rerun is the same, bit for bit' three/metrics.jsonl again/metrics.jsonl
# Batches of equal counts, so that no step has batches of two epochs.
ranks_done 3 "${common[@]}" --set training.batch_frames=0 --output counted
# shellcheck disable=SC2016
check 'each utterance once an epoch' perl -MJSON::PP -e 'my %n; while (<>) { my $j = decode_json($_); $n{$j->{epoch}} += $j->{utterances}
    if exists $j->{loss} } exit(!(%n > 2 && $n{0} + $n{1} == 44 || die join(" ", %n)))' counted/metrics.jsonl

# ---- another number goes on ----
# From the checkpoint of one rank, of two and of three: all go the way that one went.
# goes_on FROM N: step 5 of a whole run is where N ranks go on
goes_on() {
    cp -r "$1" "$1-$2"
    rm -f "$1-$2"/checkpoints/{best,step-00000008,step-00000010}.safetensors
    if [ "$2" = 1 ]; then done_with train --resume "$1-$2"; else ranks_done "$2" train --resume "$1-$2"; fi
    check "$2 go on after $1: from step 5" grep -q "continuing after step 5 of 10" stderr
    check "$2 go on after $1: rank 0 alone makes the cache" test "$(grep -c "another program is preparing" stderr)" -eq 0
    follows one_rank one "$1-$2"
}
goes_on one 3
goes_on two 1
goes_on three 2

# ---- the batch of each rank ----
ranks_done 2 "${common[@]}" --output each --batch-size 3 --grad-accum 1 --batch-per-rank --steps 1
ranks_said 'a batch for each rank' '6 utterances a step on average over all ranks, as many for each'

# ---- fewer utterances than ranks ----
ranks_done 3 "${common[@]}" --output few --batch-size 2 --grad-accum 1 --steps 2
few_for_one() {
    done_with "${common[@]}" --batch-size 2 --grad-accum 1 --steps 2 --output "$@"
}
few_for_one few1
follows few_for_one few1 few # a rank may have nothing to do

# ---- with a vocoder ----
# The segments of a step are shared; those of a vocoder alone are the same ones for any number of ranks.
vocoder=(--set vocoder.segments=3 --set vocoder.segment_frames=16 --set vocoder.predicted_from=1 --steps 4)
ranks_done 2 "${common[@]}" --output voiced --set training.part=both "${vocoder[@]}"
check 'a vocoder: 6 segments a step' test "$(grep -c '"vocoder_frames":96,' voiced/metrics.jsonl)" -eq 4
ranks_done 2 "${common[@]}" --output voiced2 --set training.part=both "${vocoder[@]}"
check 'a vocoder: a rerun is the same, bit for bit' cmp voiced/checkpoints/step-00000004.safetensors \
    voiced2/checkpoints/step-00000004.safetensors
done_with "${common[@]}" --output alone1 --set training.part=vocoder "${vocoder[@]}"
ranks_done 2 "${common[@]}" --output alone2 --set training.part=vocoder "${vocoder[@]}"
ranks_said 'a vocoder alone' '; 6 segments a step over all ranks'
# shellcheck disable=SC2016
check 'a vocoder alone: two ranks follow one' perl -MJSON::PP -e '
    my @runs = map { open(my $f, "<", "$_/metrics.jsonl"); [map { $_->{vocoder_loss} // () } map { decode_json($_) } <$f>] } @ARGV;
    @{$runs[0]} == 4 && @{$runs[1]} == 4 || die;
    abs($runs[0][$_] - $runs[1][$_]) < 1e-4 * $runs[0][$_] || die "@{$runs[0]} and @{$runs[1]}" for 0 .. 3' alone1 alone2

# ---- what differs ----
# differs "what" WORDS HINT: what two different command lines said
differs() {
    check "$1: exit code $code" test "$code" -eq 2
    ranks_said "$1" "error: rank 1 on $(hostname): $2 not the same as on rank 0"
    check "$1: hints '$3'" grep -q "^  hint: .*$3" stderr
    check "$1: one message" test "$(grep -c '^error: ' stderr)" -eq 1
    check "$1: nothing was trained" test ! -s no/metrics.jsonl
}
# both PROGRAM ARGUMENTS-OF-RANK-1...
both() {
    local other=$1
    shift
    "$launcher" -n 1 "$program" "${common[@]}" --output no : -n 1 "$other" "${common[@]}" --output no "$@" >stdout 2>stderr </dev/null
    code=$?
}
cp "$program" other
echo >>other
both ./other
differs 'another build' 'the program is' 'one build'
both "$program" --lr 2e-3
differs 'other settings' 'the settings are' 'the same command line'
short_tones others 23
both "$program" --train-data others
differs 'another corpus' 'the corpus is' 'the same corpus'

# ---- a failure of one rank, told once ----
both "$program" --train-data nowhere
check "no corpus: exit code $code" test "$code" -eq 2
ranks_said 'no corpus' "error: rank 1 on $(hostname): cannot find nowhere"
ranks 2 "${common[@]}" --output two
check "a folder with a run: exit code $code" test "$code" -eq 1
check 'a folder with a run: one message' test "$(grep -c '^error: ' stderr)" -eq 1

# ---- another launcher than the library's ----
unset PMIX_NAMESPACE
PMI_SIZE=2 PMI_RANK=1 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 run "${common[@]}" --output no
check "another launcher: exit code $code" test "$code" -eq 3
ranks_said 'another launcher' 'started 2 processes, but'

# ---- a signal to one of them ----
endless=("${common[@]}" --output signal --steps 100000 --epochs 100000 --eval-every 0)
# shellcheck disable=SC2016
"$launcher" -n 1 "$program" "${endless[@]}" : -n 1 bash -c '"$0" "$@"; echo $? >rank1' "$program" "${endless[@]}" >stdout 2>stderr </dev/null &
child=$!
for _ in $(seq 600); do
    if [ "$(wc -l 2>/dev/null <signal/metrics.jsonl)" -ge 3 ] 2>/dev/null; then break; fi
    sleep 0.05
done
# The newest of the two processes is not rank 0, as a rule; which one it is does not matter.
pkill -TERM -n -x -f "$program .*--output signal .*"
wait $child
code=$?
check "a signal: exit code $code" test "$code" -eq 4
ranks_said 'a signal' 'everything is saved'
check "a signal: rank 0 alone has an exit code, so that nobody ends it before its message" test "$(cat rank1)" = 0
check 'a signal: one message' test "$(grep -c '^error: ' stderr)" -eq 1
step=$(sed -n 's/^error: interrupted after step \([0-9]*\).*/\1/p' stderr)
check "a signal: step $step is there" test -f "$(printf 'signal/checkpoints/step-%08d.safetensors' "${step:-0}")"

# ---- auto-stop ----
# Rank 0 evaluates and decides; all end together. The rate is one with which nothing is gained.
tones usual 24
ranks_done 2 train --train-data usual "${small[@]}" --backend cpu --batch-size 7 --lr 1e-12 --auto-stop --eval-every 2 \
    --set training.warmup_steps=1 --set training.samples=0 --set training.report=off --tensorboard off \
    --set data.validation_fraction=0.1 --output learned
ranks_said 'auto-stop of two ranks' 'it has learned what it can from'
check 'auto-stop of two ranks: they end together' test "$(cat stdout)" = 'learned: step 12 of 12'

finish
