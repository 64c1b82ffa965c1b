#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A voice as one file, from the outside ($1: the program): export writes it, and every command that takes a checkpoint
# takes it. The voice is hardly trained (support/tones.sh): what is tested is the way, not the sound.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones tones 12
fixture voice run
fixture mute mute
done_with train --quiet --train-data tones --output vocoder --part vocoder --steps 1 --epochs 1 --batch-size 4

# ---- refusals ----
refused 1 "'--format FORMAT' is missing" 'voice.safetensors' export run --output ann.safetensors
refused 1 'ends in .voice.safetensors' 'NAME.voice.safetensors' export run --format voice --output ann.safetensors
refused 1 'ends in .voice.safetensors' 'NAME' export run --format voice --output .voice.safetensors
refused 1 "'--format piper' writes a folder" "omit '--format'" export run --format piper --output ann.voice.safetensors
refused 1 "'--precision'" 'fp32, bf16' export run --output ann.voice.safetensors --precision fp16
refused 1 "'--rounds' is not for '--format voice'" 'synth' export run --output ann.voice.safetensors --rounds 3
refused 1 "'--seed' is not for '--format voice'" 'synth' export run --output ann.voice.safetensors --seed 0
refused 1 "'--language' is not for" 'synth' export run --output ann.voice.safetensors --language en
refused 1 "'--licence' is not for '--format piper'" 'without' export run --format piper --output p --licence x
refused 1 "'--precision' is not for '--format sherpa'" 'without' export run --format sherpa --output p --precision bf16
refused 1 "'--name' has a control character" 'line' export run --output ann.voice.safetensors --name $'a\nb'
refused 1 "'--attribution' has" 'UTF-8' export run --output ann.voice.safetensors --attribution $'\xff'
refused 2 'vocoder alone' '--part' export vocoder --output ann.voice.safetensors
refused 2 'mute' '.' export run --vocoder mute --output ann.voice.safetensors
refused 2 'nowhere' '.' export run --output nowhere/ann.voice.safetensors
mkdir taken.voice.safetensors
refused 2 'taken' '.' export run --output taken.voice.safetensors
check "a refusal writes nothing" test ! -e ann.voice.safetensors -a ! -e p -a ! -e nowhere

# ---- in fp32 it is the run, bit for bit ----
mkdir elsewhere # a voice needs nothing beside it
done_with export run --precision fp32 --output elsewhere/ann.voice.safetensors
check "tells what it wrote" grep -q \
    '^elsewhere/ann.voice.safetensors: ann, fp32, 2 speakers, with a vocoder, [0-9.]* MB$' stderr
check "without a warning" test "$(wc -l <stderr)" -eq 1
voice=elsewhere/ann.voice.safetensors
for speaker in high low; do
    done_with synth --checkpoint run --speaker "$speaker" --text 'The tone number a.' --output run.wav
    done_with synth --checkpoint "$voice" --speaker "$speaker" --text 'The tone number a.' --output voice.wav
    check "the speaker $speaker sounds like in the run" cmp run.wav voice.wav
    cp voice.wav "$speaker.wav"
done
check "speakers differ" test "$(cksum <high.wav)" != "$(cksum <low.wav)"
done_with synth --checkpoint run --speaker-wav tones/wavs/row-003.wav --text 'A tone.' --output run.wav
done_with synth --checkpoint "$voice" --speaker-wav tones/wavs/row-003.wav --text 'A tone.' --output voice.wav
check "it listens to recordings like the run" cmp run.wav voice.wav
refused 1 "no speaker 'nobody'" 'inspect' synth --checkpoint "$voice" --speaker nobody --text a --output a.wav
done_with synth --checkpoint run --vocoder griffin-lim --text 'A tone.' --output run.wav
done_with synth --checkpoint "$voice" --vocoder griffin-lim --text 'A tone.' --output voice.wav
check "with Griffin-Lim, too" cmp run.wav voice.wav
done_with eval --checkpoint run --data tones --held-out --json run.json
done_with eval --checkpoint "$voice" --data tones --held-out --json voice.json
numbers='s/"checkpoint":"[^"]*"//; s/"elapsed_seconds":[^,]*//'
check "an evaluation gives the same numbers" cmp <(tr -d '\n\t ' <run.json | sed "$numbers") \
    <(tr -d '\n\t ' <voice.json | sed "$numbers")
done_with export run --format piper --output piper-run
done_with export "$voice" --format piper --output piper-voice
check "so does an export for Piper" cmp piper-run/voice.onnx piper-voice/voice.onnx

# ---- bf16, name, licence ----
about=(--name 'Ann of the tones' --licence CC-BY-4.0 --attribution 'The makers of tones')
done_with export run --output small.voice.safetensors "${about[@]}"
check "bf16 is smaller" test "$(stat -c %s small.voice.safetensors)" -lt "$(($(stat -c %s "$voice") * 2 / 3))"
done_with export "$voice" --output again.voice.safetensors "${about[@]}"
check "a voice file can be exported again" cmp small.voice.safetensors again.voice.safetensors
done_with export small.voice.safetensors --output kept.voice.safetensors --precision bf16
check "it keeps what it says of itself" cmp small.voice.safetensors kept.voice.safetensors
done_with synth --checkpoint small.voice.safetensors --text 'The tone number a.' --output small.wav
done_with synth --checkpoint again.voice.safetensors --text 'The tone number a.' --output again.wav
check "the same voice speaks the same" cmp small.wav again.wav
check "rounding changes the samples" test "$(cksum <small.wav)" != "$(cksum <high.wav)"

# ---- without the part that listens ----
done_with export run --precision fp32 --output fixed.voice.safetensors --fixed-speakers
check "tells so" grep -q ': fixed, fp32, 2 fixed speakers, ' stderr
check "smaller" test "$(stat -c %s fixed.voice.safetensors)" -lt "$(stat -c %s "$voice")"
done_with synth --checkpoint fixed.voice.safetensors --speaker low --text 'The tone number a.' --output fixed.wav
check "its own speakers sound like in the run" cmp low.wav fixed.wav
done_with export fixed.voice.safetensors --precision fp32 --output refixed.voice.safetensors
check "it stays so" cmp fixed.voice.safetensors refixed.voice.safetensors
done_with export fixed.voice.safetensors --format piper --output piper-fixed
check "Piper needs no more" cmp piper-run/voice.onnx piper-fixed/voice.onnx
refused 2 'cannot listen to recordings' "without '--fixed-speakers'" synth --checkpoint fixed.voice.safetensors \
    --speaker-wav tones/wavs/row-003.wav --text 'A tone.' --output a.wav
done_with eval --checkpoint fixed.voice.safetensors --data tones --limit 4 --json fixed.json
check "an evaluation speaks with the voices that it keeps" test "$(grep -c '"outcome":.*"spoken"' fixed.json)" -eq 4
mkdir strangers
ln -s ../tones/wavs strangers/wavs
sed 's/|low|/|deep|/' tones/metadata.csv >strangers/metadata.csv
refused 2 "has no speaker 'deep'" 'it learned from 2 speakers' eval --checkpoint fixed.voice.safetensors --data strangers
done_with train --train-data tones --output deaf-2 --init-from fixed.voice.safetensors "${small[@]}" --steps 1 --epochs 1
check "training reinitialises that part" grep -q 'cannot listen to recordings: that part of the network is reinitialised' stderr
check "and has it then" grep -q '^speaker.conv1.weight ' <("$program" inspect deaf-2)
refused 1 "'--fixed-speakers' is not for '--format piper'" 'without' export run --format piper --output p --fixed-speakers
done_with inspect fixed.voice.safetensors
check "inspect says so" grep -q 'the voice of 2 of them and cannot imitate others$' stdout

# ---- a small file of one speaker does without that part by itself ----
mkdir alone
ln -s ../tones/wavs alone/wavs
awk -F'|' '{ print $1 "|" $NF }' tones/metadata.csv >alone/metadata.csv
done_with train --quiet --train-data alone --output alone-run "${small[@]}" --part both --steps 1 --epochs 1
done_with export alone-run --output alone.voice.safetensors
check "one speaker: says so" grep -q ': alone, bf16, 1 fixed speaker, ' stderr
check "one speaker: says how to keep it" grep -q "'--any-speaker' keeps it" stderr
done_with export alone-run --output any.voice.safetensors --precision bf16 --any-speaker
check "one speaker: kept" grep -q ': any, bf16, 1 speaker, ' stderr
done_with synth --checkpoint any.voice.safetensors --speaker-wav tones/wavs/row-003.wav --text 'A tone.' --output heard.wav
refused 2 'which a reference needs' "with '--any-speaker'" synth --checkpoint alone.voice.safetensors \
    --speaker-wav tones/wavs/row-003.wav --text 'A tone.' --output a.wav
done_with synth --checkpoint alone.voice.safetensors --text 'The tone number a.' --output alone.wav
done_with synth --checkpoint any.voice.safetensors --text 'The tone number a.' --output any.wav
check "one speaker: it speaks the same" cmp alone.wav any.wav
done_with eval --checkpoint alone.voice.safetensors --data tones --limit 4
done_with export alone-run --precision fp32 --output full.voice.safetensors
check "one speaker: fp32 has all of the run" grep -q ': full, fp32, 1 speaker, ' stderr
refused 1 'contradict each other' 'omit' export alone-run --output b.voice.safetensors --fixed-speakers --any-speaker
refused 1 "'--any-speaker' is not for '--format piper'" 'without' export run --format piper --output p --any-speaker

# ---- inspect ----
done_with inspect small.voice.safetensors
check "kind and size" grep -q '^small.voice.safetensors: [0-9.]* MB, a voice$' stdout
check "name" grep -q '^  voice  *Ann of the tones$' stdout
check "licence" grep -q '^  licence  *CC-BY-4.0$' stdout
check "attribution" grep -q '^  attribution  *The makers of tones$' stdout
check "precision" grep -q '^  precision  *bf16$' stdout
check "languages" grep -q 'languages en$' stdout
check "speakers" grep -q '^  speakers  *2: high, low$' stdout
check "their voices" grep -q 'the voice of 2 of them$' stdout
check "vocoder" grep -q '^  vocoder .* parameters' stdout
check "vectors are no weights" grep -q '^vector.1 .*F32' stdout
done_with inspect "$voice"
check "nothing is said that nobody said" test "$(grep -c ' not stated$' stdout)" -eq 2
check "precision of the other" grep -q '^  precision  *fp32$' stdout
done_with inspect small.voice.safetensors --json
check "JSON" perl -MJSON::PP -0777 -ne '
    my $j = decode_json($_);
    exit !(!$j->{checkpoint} && $j->{voice}{name} eq "Ann of the tones" && $j->{voice}{licence} eq "CC-BY-4.0"
        && $j->{voice}{precision} eq "bf16" && $j->{voice}{speakers_kept} == 2 && $j->{step} == 8
        && !exists $j->{epoch} && $j->{speakers}[1] eq "low")' stdout
done_with inspect small.voice.safetensors --config
check "settings" grep -q '^  tokens: chars' stdout
check "no path of this machine" test "$(grep -ac "$folder" small.voice.safetensors)" -eq 0

# ---- whatever takes a checkpoint ----
done_with vocode --vocoder run --output run.wav tones/wavs/row-001.wav
done_with vocode --vocoder "$voice" --output voice.wav tones/wavs/row-001.wav
check "its vocoder" cmp run.wav voice.wav
done_with synth --checkpoint mute --vocoder "$voice" --text 'A tone.' --output voice.wav
done_with train --quiet --train-data tones --output from-run --init-from run "${small[@]}" --steps 1 --epochs 1
done_with train --quiet --train-data tones --output from-voice --init-from small.voice.safetensors "${small[@]}" --steps 1 --epochs 1
check "a training begins with its weights" grep -q 'weights from small.voice.safetensors' from-voice/log.txt
done_with train --quiet --train-data tones --output with --vocoder "$voice" "${small[@]}" --part both --steps 1 --epochs 1
refused 1 'is a file, and a run continues from its folder' "'--init-from small.voice.safetensors'" \
    train --resume small.voice.safetensors
refused 1 'not a folder' 'train' report small.voice.safetensors

# ---- voices with less ----
done_with export mute --precision fp32 --output mute.voice.safetensors
check "no vocoder" grep -q 'no vocoder: Griffin-Lim speaks' stderr
done_with inspect mute.voice.safetensors
check "inspect says so" grep -q '^  vocoder  *none: Griffin-Lim' stdout
done_with synth --checkpoint mute.voice.safetensors --text 'A tone.' --output mute.wav
done_with export mute --vocoder vocoder --precision fp32 --output joined.voice.safetensors
check "or that of another run" grep -q 'with a vocoder' stderr
done_with synth --checkpoint mute --vocoder vocoder --text 'A tone.' --output run.wav
done_with synth --checkpoint joined.voice.safetensors --text 'A tone.' --output voice.wav
check "which then speaks" cmp run.wav voice.wav
rm mute/voices/001.wav
done_with export mute --precision fp32 --output mute.voice.safetensors
check "one recording is missing" grep -q "there is no recording of the speaker 'low': it gets no particular voice" stderr
refused 2 "no recording of 'low'" 'speaker-wav' synth --checkpoint mute.voice.safetensors --speaker low --text a --output a.wav
rm -r mute/voices
done_with export mute --precision fp32 --output mute.voice.safetensors
check "all recordings are missing" grep -q "no recording of 2 speakers, the first of them is 'high'" stderr
done_with synth --checkpoint mute.voice.safetensors --text 'A tone.' --output mute.wav
check "no temporary file is left" test -z "$(find . -name '*.tmp*')"

# ---- damage ----
head -c 20000 "$voice" >cut.voice.safetensors
refused 2 'cut.voice.safetensors' 'get it again' synth --checkpoint cut.voice.safetensors --text a --output a.wav
cp "$voice" flipped.voice.safetensors
printf 'x' | dd of=flipped.voice.safetensors bs=1 seek=$(($(stat -c %s "$voice") - 3000)) conv=notrunc 2>/dev/null
refused 2 'do not match its hash' 'export the voice again' synth --checkpoint flipped.voice.safetensors --text a --output a.wav
refused 2 'do not match its hash' 'export the voice again' inspect flipped.voice.safetensors
refused 2 'do not match its hash' 'export the voice again' train --train-data tones --output new --init-from flipped.voice.safetensors
check "nothing was spoken or trained" test ! -e a.wav -a ! -e new/checkpoints
done_with export "$voice" --precision fp32 --output flipped.voice.safetensors
done_with inspect flipped.voice.safetensors
check "an existing file is replaced; the name of the voice stays" grep -q "^  voice  *ann$" stdout

finish
