#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts report and what training leaves for it, with the program given as $1, on a small corpus of tones: run.json,
# pictures, event files and the page of runs that ended, were interrupted or crashed, and every refusal. What the page holds
# is tested by test_page.c, how it looks by `make test-browser`.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

# fact RUN PERL: the expression, with run.json in $_, must be true
fact() {
    perl -0ne "exit(($2) ? 0 : 1)" "$1/run.json"
}

# event_files RUN: how many there are
event_files() {
    find "$1/tensorboard" -name 'events.out.tfevents.*' 2>/dev/null | wc -l
}

tones corpus 24
rm corpus/wavs/row-003.wav # one row that cannot be used

# ---- a run that ends ----
devices=(--backend cpu)
if two_cores; then devices+=(--cpu-devices 2 --data-gpu 0 --model-gpu 1); fi
done_with train --train-data corpus --output run "${small[@]}" --steps 8 --eval-every 4 "${devices[@]}"
check "the log says where the report is" grep -q 'report: run/report.html' "$folder/stderr"
check "it is there" grep -q '</html>' run/report.html
check "it is English" grep -q '<html lang="en" dir="ltr">' run/report.html
check "the run is done" fact run '/"state":"done"/ && /"step":8,"steps":8/'
check "the command that goes on" fact run '/"resume":"myxtts train --resume \S+\/run"/'
check "rows that were left out are counted" fact run '/"left_out":\{"missing-file":1\}/'
if two_cores; then
    check "both devices" fact run '/"role":"data","name":"cpu:0","logical":"GPU:0"/ && /"role":"model","name":"cpu:1","logical":"GPU:1"/'
fi
check "stages were measured" fact run '/"flow":\{"batches":8,/ && /"spans":\[\[/'
check "the texts of the samples" fact run '/"samples":\[\{"number":0,"id":"row-\d+","text":"The tone number .\."\}/'
for picture in target prediction difference alignment; do
    check "$picture.png at both evaluations" test -s "run/samples/step-00000004/$picture.png" -a -s "run/samples/step-00000008/$picture.png"
done
check "what the samples should sound like" test -s run/samples/recorded/000.wav
check "one event file" test "$(event_files run)" -eq 1
check "it begins as TensorBoard wants" grep -aq 'brain.Event:2' run/tensorboard/events.out.tfevents.*
for tag in loss/total validation/total training/learning_rate devices/model_busy memory/model_MiB mel/alignment spoken/000 config; do
    check "it has $tag" grep -aq "$tag" run/tensorboard/events.out.tfevents.*
done
check "the page has the sounds" grep -q 'data:audio/wav;base64,UklG' run/report.html
check "and the pictures" grep -q 'data:image/png;base64,iVBOR' run/report.html
check "and no address but its own names" test "$(grep -o 'https\?://[a-z.0-9/]*' run/report.html | sort -u)" = 'http://www.w3.org/2000/svg'
check "times are in the metrics" grep -q '"transfer":.*"transfer_hidden":.*"time":[0-9]*}' run/metrics.jsonl
check "no variation before there is one" test "$(grep -c '"variation":null,' run/metrics.jsonl)" -eq "$(grep -c '"variation":' run/metrics.jsonl)"

# ---- the command ----
done_with report run --language fa --output persian.html
check "it says where" grep -qx 'persian.html' "$folder/stdout"
check "it is Persian" grep -q '<html lang="fa" dir="rtl">' persian.html
LC_MESSAGES=C.UTF-8 LANGUAGE=fa "$program" report run --output asked.html >/dev/null
check "it obeys LANGUAGE" grep -q '<html lang="fa" dir="rtl">' asked.html
rm run/report.html
done_with report run/
check "the page is written again" test -s run/report.html
"$program" report run --output - >piped.html
check "to the standard output" cmp -s <(sed 's/"written":[0-9]*//g' piped.html) <(sed 's/"written":[0-9]*//g' run/report.html)

# ---- interrupted and resumed, without TensorBoard at first ----
"$program" train --train-data corpus --output stopped "${small[@]}" --epochs 100000 --save-every 5 --tensorboard off \
    >/dev/null 2>&1 &
training=$!
for _ in $(seq 1 3000); do
    [ "$(grep -c '"loss_z"' stopped/metrics.jsonl 2>/dev/null)" -ge 3 ] 2>/dev/null && break
    sleep 0.02
done
kill -INT "$training" && kill -TERM "$training" # launchers often send more than one: that must not lose the run
wait "$training"
check "interrupted" test $? -eq 4
check "no event files" test ! -e stopped/tensorboard
check "the report is there all the same" grep -q '</html>' stopped/report.html
check "it was interrupted" fact stopped '/"state":"interrupted"/'
check "without a failure" fact stopped '/"failure":null/'
steps=$(grep -c '"loss_z"' stopped/metrics.jsonl)
done_with train --resume stopped --steps $((steps + 2)) --tensorboard on
check "the second start is reported" fact stopped '/"state":"done"/ && /"first_step":'"$steps"'\b/'
check "with event files" test "$(event_files stopped)" -eq 1
done_with train --resume stopped --steps $((steps + 4))
check "one for each start" test "$(event_files stopped)" -eq 2

# ---- crashed ----
"$program" train --train-data corpus --output crashed "${small[@]}" --epochs 100000 >/dev/null 2>&1 &
training=$!
for _ in $(seq 1 3000); do
    [ "$(grep -c '"loss_z"' crashed/metrics.jsonl 2>/dev/null)" -ge 3 ] 2>/dev/null && break
    sleep 0.02
done
kill -KILL "$training"
wait "$training" 2>/dev/null
printf '{"step":99999,"lo' >>crashed/metrics.jsonl
check "it could not say so" fact crashed '/"state":"training"/'
done_with report crashed
check "the page of what is known" grep -q '"damaged":1' crashed/report.html
rm crashed/run.json
done_with report crashed
check "even from the metrics alone" grep -q '"run":null' crashed/report.html

# ---- ended by the clock, told in another language, and not told at all ----
done_with train --train-data corpus --output late "${small[@]}" --steps 50 --set training.report=fa \
    --max-minutes 0.0000001
check "the time limit" fact late '/"state":"time limit"/'
check "in Persian" grep -q '<html lang="fa"' late/report.html
done_with train --train-data corpus --output silent "${small[@]}" --steps 2 --set training.report=off --tensorboard off
check "no report where none is wanted" test ! -e silent/report.html
check "and no pictures then" test ! -e silent/samples/step-00000002/target.png

# ---- a folder that cannot be written to is no reason to stop ----
mkdir blocked
touch blocked/tensorboard blocked/myxtts.lock # a run that was begun there
done_with train --train-data corpus --output blocked "${small[@]}" --steps 2
check "a warning" grep -q "TensorBoard's file cannot be written" "$folder/stderr"
check "and the rest" grep -q '</html>' blocked/report.html

# ---- refusals ----
refused 1 'the run folder is missing' 'help' report
refused 2 'cannot find nowhere' 'myxtts train' report nowhere
refused 1 'is not a folder' 'myxtts train' report corpus/metadata.csv
refused 2 'corpus is not a run' 'myxtts train' report corpus
refused 1 'language' '.' report run --language de
refused 2 'nowhere' '.' report run --output nowhere/page.html
refused 1 'tensorboard' '.' train --train-data corpus --output r1 --tensorboard maybe
refused 1 'training.report' '.' train --train-data corpus --output r2 --set training.report=de
finish
