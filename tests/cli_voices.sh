#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installed voices, from the outside ($1: the program): where they are looked for, what names mean, and that whatever takes a
# checkpoint takes a name. The voices are hardly trained (support/tones.sh): what is tested is the way, not the sound.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core
export HOME=$folder/home XDG_DATA_HOME='' MYXTTS_VOICES=''
mkdir "$HOME"
# Outside its build folder the program does not see the voices of the source tree.
cp "$program" myxtts
built=$program
program=$folder/myxtts

# ---- nothing is installed ----
if [ ! -e /usr/share/myxtts/voices ]; then
    refused 2 'no voice is installed; searched: ' 'make voices' voices
    check "says where it looked" grep -qF "$HOME/.local/share/myxtts/voices (does not exist), /usr/share/myxtts/voices (does not exist)" stderr
    run voices --json
    check "JSON, too" test "$code" -eq 2
    check "which is an empty list" perl -MJSON::PP -0777 -ne '
        my $j = decode_json($_); exit !(@{$j->{voices}} == 0 && @{$j->{folders}} == 2 && !$j->{folders}[0]{there})' stdout
    refused 1 "no voice 'base' is installed" 'myxtts voices' synth --text 'A tone.' --output a.wav
    refused 2 "has the name 'ann'" 'no voice is installed' synth --voice ann --text 'A tone.' --output a.wav
    refused 2 "no installed voice of that name" 'no voice is installed' inspect ann
fi

# ---- two speakers, each of a language of its own ----
tones tones 12
{
    echo 'audio_file|text|speaker_name|language'
    awk -F'|' '{ print "wavs/" $1 ".wav|" $3 "|" $2 "|" ($2 == "low" ? "es" : "en") }' tones/metadata.csv
} >tones/metadata_train.csv
mv tones/metadata.csv metadata.csv
done_with train --quiet --train-data tones --output run "${small[@]}" --part both --steps 2 --epochs 1
mkdir -p voices more
done_with export run --output voices/base.voice.safetensors --precision bf16 --licence CC-BY-4.0 --attribution 'The makers of tones'
done_with export run --format vocoder --output voices/tin.safetensors --precision bf16
check "tells what it wrote" grep -q '^voices/tin.safetensors: tin, bf16, a vocoder alone, [0-9.]* MB$' stderr
export MYXTTS_VOICES=$folder/voices
done_with voices
check "name, size, speakers" grep -q '^base: [0-9.]* MB, 2 speakers, with a vocoder$' stdout
check "place" grep -q "^  file  *$folder/voices/base.voice.safetensors$" stdout
check "licence" grep -q '^  licence  *CC-BY-4.0$' stdout
check "attribution" grep -q '^  attribution  *The makers of tones$' stdout
check "an English speaker" grep -q '^  high  *English  *myxtts synth --voice high --text ' stdout
check "a Spanish one" grep -q '^  low  *Spanish  *myxtts synth --voice low --text .*días' stdout
check "a vocoder alone" grep -q "^tin: .* a vocoder alone, for '--vocoder tin'$" stdout
# What it says can be pasted.
sed -n 's/^  [a-z]*  *[A-Z][a-z]*  *\(myxtts synth .*\)/\1/p' stdout >pasted.sh
check "a command for each speaker" test "$(wc -l <pasted.sh)" -eq 2
check "they speak" env PATH="$folder:$PATH" bash -e pasted.sh
check "into files" test -s high.wav -a -s low.wav
done_with voices --json
check "JSON" perl -MJSON::PP -0777 -ne '
    my $j = decode_json($_); my ($v, $t) = @{$j->{voices}}; my ($h, $l) = @{$v->{speakers}};
    exit !(@{$j->{voices}} == 2 && $j->{folders}[0]{there} && $v->{name} eq "base" && $v->{licence} eq "CC-BY-4.0"
        && $v->{bytes} == -s $v->{file} && !$v->{hidden} && $h->{name} eq "high" && $h->{language} eq "en"
        && $l->{voice} eq "low" && $l->{language} eq "es" && $l->{sample} =~ /\w/ && $t->{vocoder_alone})' stdout

# ---- speaking ----
text=(--text 'The tone number a.')
done_with synth --checkpoint voices/base.voice.safetensors "${text[@]}" --output path.wav
done_with synth "${text[@]}" --output base.wav
check "without a name the base speaks" cmp path.wav base.wav
done_with synth --voice base "${text[@]}" --output base.wav
check "by name, too" cmp path.wav base.wav
done_with synth --checkpoint base "${text[@]}" --output base.wav
check "where a path is expected, too" cmp path.wav base.wav
done_with synth --checkpoint voices/base.voice.safetensors --speaker low --language es "${text[@]}" --output path.wav
for name in low base/low; do
    done_with synth --voice $name "${text[@]}" --output name.wav
    check "$name is the speaker with the language" cmp path.wav name.wav
done
done_with synth --voice base --speaker low --language es "${text[@]}" --output name.wav
check "as options" cmp path.wav name.wav
done_with synth --language es "${text[@]}" --output name.wav
check "without a name, a speaker of the language speaks" cmp path.wav name.wav
check "and it is reported" grep -q "speaker 'low', who speaks the language of the text" stderr
done_with synth --checkpoint voices/base.voice.safetensors --speaker low --language en "${text[@]}" --output path.wav
done_with synth --voice low --language en "${text[@]}" --output name.wav
check "a language that is given counts" cmp path.wav name.wav
refused 2 "has the name 'nobody'" 'installed are: base, high, low; ' synth --voice nobody "${text[@]}" --output a.wav
refused 2 "'base' has no speaker 'nobody'" 'myxtts voices' synth --voice base/nobody "${text[@]}" --output a.wav
refused 2 "has the name 'nobody/low'" 'installed are: base' synth --voice nobody/low "${text[@]}" --output a.wav
refused 1 "contradict each other" 'one of the two' synth --voice low --checkpoint run "${text[@]}" --output a.wav
refused 1 "names a speaker, and so does '--speaker'" 'omit' synth --voice low --speaker high "${text[@]}" --output a.wav
refused 1 "and so does '--speaker-wav'" 'omit' synth --voice low --speaker-wav tones/wavs/row-001.wav "${text[@]}" --output a.wav
refused 1 'a vocoder alone' "'--vocoder'" synth --voice tin "${text[@]}" --output a.wav
refused 1 'which is a file or folder' "'--checkpoint run'" synth --voice run "${text[@]}" --output a.wav
check "nothing was spoken" test ! -e a.wav

# ---- whatever takes a checkpoint ----
done_with inspect base
check "inspect" grep -q '^  licence  *CC-BY-4.0$' stdout
done_with inspect base --json
check "with the languages of the speakers" perl -MJSON::PP -0777 -ne '
    exit !(join(" ", @{decode_json($_)->{speaker_languages}}) eq "en es")' stdout
done_with inspect tin
check "a vocoder alone has no speakers" bash -c '! grep -q speakers "$1"' - stdout
done_with eval --checkpoint base --data tones --held-out
done_with vocode --vocoder voices/base.voice.safetensors --output path.wav tones/wavs/row-001.wav
for name in base tin; do
    done_with vocode --vocoder $name --output name.wav tones/wavs/row-001.wav
    check "vocode with $name" cmp path.wav name.wav
done
done_with export base --output again.voice.safetensors --precision bf16
check "export" cmp voices/base.voice.safetensors again.voice.safetensors
done_with export tin --format vocoder --output tin.safetensors --precision bf16
check "export of a vocoder" cmp voices/tin.safetensors tin.safetensors
done_with export run --vocoder tin --precision fp32 --output other.voice.safetensors
done_with train --quiet --train-data tones --output from "${small[@]}" --init-from base --steps 1 --epochs 1
check "train --init-from" grep -q "weights from $folder/voices/base.voice.safetensors" from/log.txt
done_with train --quiet --train-data tones --output with "${small[@]}" --vocoder tin --part both --steps 1 --epochs 1
check "train --vocoder" grep -q "from $folder/voices/tin.safetensors; it is not trained" with/log.txt
mkdir base
refused 2 'there is no checkpoint in' 'run folder' inspect base
rmdir base
refused 2 "no installed voice of that name" 'installed are: base, tin; ' inspect nobody
refused 2 "no installed voice of that name" 'installed are: base, tin; ' train --train-data tones --output new --init-from nobody
refused 2 "'low' is a speaker of the installed voice 'base'" "'base' here" export low --output a.voice.safetensors
refused 1 "'--vocoder' is 'nobody', which does not exist" 'myxtts voices' vocode --vocoder nobody --output a.wav tones/wavs/row-001.wav
refused 2 "no installed voice of that name" 'installed are: base, tin; ' serve nobody --listen 127.0.0.1:0
refused 2 'config.yaml' '.' train --resume base

# ---- several voices ----
done_with export run --precision fp32 --output more/high.voice.safetensors --name again
done_with export run --precision fp32 --output more/low.voice.safetensors --name third
export MYXTTS_VOICES=$folder/voices:$folder/more
refused 1 "'high' means several installed voices" "'high/' (the file), 'base/high', 'high/high', 'low/high'" \
    synth --voice high "${text[@]}" --output a.wav
done_with synth --voice high/ "${text[@]}" --output file.wav
done_with synth --checkpoint more/high.voice.safetensors "${text[@]}" --output path.wav
check "the file" cmp file.wav path.wav
done_with synth --voice low/low "${text[@]}" --output name.wav
done_with synth --checkpoint more/low.voice.safetensors --speaker low --language es "${text[@]}" --output path.wav
check "the speaker of a file" cmp name.wav path.wav
done_with voices
check "the list is exact then" test "$(grep -c -- '--voice \(base\|high\|low\)/\(high\|low\) ' stdout)" -eq 6
mkdir -p "$HOME/.local/share/myxtts/voices" data/myxtts/voices
cp more/low.voice.safetensors "$HOME/.local/share/myxtts/voices/base.voice.safetensors"
done_with voices
check "the first of a name counts" grep -q '^  hidden  *by the file of the same name' stdout
done_with inspect base
check "namely in the order of the folders" grep -q '^  licence  *CC-BY-4.0$' stdout
MYXTTS_VOICES='' done_with inspect base
check "then that of the user" grep -q '^  voice  *third$' stdout
cp more/high.voice.safetensors data/myxtts/voices/base.voice.safetensors
MYXTTS_VOICES='' XDG_DATA_HOME=$folder/data done_with inspect base
check "whose folder may be elsewhere" grep -q '^  voice  *again$' stdout
if [ -r /proc/self/exe ]; then
    mkdir -p opt/bin opt/share/myxtts/voices
    cp "$built" opt/bin/myxtts
    cp voices/base.voice.safetensors opt/share/myxtts/voices/installed.voice.safetensors
    program=$folder/opt/bin/myxtts
    done_with inspect installed
    check "that of an installed program" grep -q '^  licence  *CC-BY-4.0$' stdout
    mkdir -p tree/build/portable tree/voices
    touch tree/CMakeLists.txt tree/build/portable/CMakeCache.txt
    cp "$built" tree/build/portable/myxtts
    cp voices/base.voice.safetensors tree/voices/oak.voice.safetensors
    program=$folder/tree/build/portable/myxtts
    done_with inspect oak
    check "that of the source tree" grep -q '^  licence  *CC-BY-4.0$' stdout
    program=$folder/myxtts
else
    echo "SKIPPED: the voices beside a program are found through /proc/self/exe, and /proc is not mounted"
fi

# ---- make say ----
say=(env VOICE=low/low TEXT='The tone number a.' OUTPUT=said.wav bash "$here/../scripts/voices/say.sh")
check "a voice that is named is looked for by the program" "${say[@]}" check
"${say[@]}" speak "$(dirname "$built")" >stdout 2>stderr
check "make say speaks" cmp said.wav name.wav
check "and says where the sound is" test "$(tail -n 1 stdout)" = said.wav
VOICE=nobody TEXT=a OUTPUT=none.wav bash "$here/../scripts/voices/say.sh" speak "$(dirname "$built")" >stdout 2>stderr
check "or fails" test $? -eq 2
check "without a base voice it says so before anything is built" bash -c '
    mkdir -p bare/scripts/voices && cp "$1/tell.sh" bare/scripts && cp "$1/voices/say.sh" bare/scripts/voices &&
        ! VOICE="" bash bare/scripts/voices/say.sh check 2>said.txt &&
        grep -q "voices/base.voice.safetensors is missing" said.txt && grep -q "make voices" said.txt' - "$here/../scripts"

# ---- damage ----
head -c 3000 voices/base.voice.safetensors >more/cut.voice.safetensors
cp run/checkpoints/step-00000002.safetensors more/run.safetensors
done_with voices
check "a damaged file is named" grep -q "cannot be used: .*cut.voice.safetensors" stdout
check "so is one of another kind" grep -q "cannot be used: .*run.safetensors' is no voice file" stdout
refused 2 'cut.voice.safetensors' 'get it again' synth --voice cut "${text[@]}" --output a.wav

# ---- languages that a checkpoint does not know ----
mkdir foreign
done_with export run --precision fp32 --output foreign/set.voice.safetensors --speaker-language high=es --speaker-language low=English
MYXTTS_VOICES=$folder/foreign done_with voices
check "as given" grep -q '^  high  *Spanish ' stdout
check "by name, too" grep -q '^  low  *English ' stdout
refused 1 "no speaker 'nobody'" 'inspect' export run --output a.voice.safetensors --speaker-language nobody=en
refused 1 'never learned Italian' 'inspect' export run --output a.voice.safetensors --speaker-language low=it
refused 1 "has no '='" 'NAME=LANGUAGE' export run --output a.voice.safetensors --speaker-language low
refused 1 "'--speaker-language' is not for '--format piper'" 'voice files' export run --format piper --output p --speaker-language low=en
refused 1 "'--fixed-speakers' is not for '--format vocoder'" 'voice files' export run --format vocoder --output a.safetensors --fixed-speakers
refused 1 'ends in .safetensors, but not in .voice.safetensors' 'NAME.safetensors' export run --format vocoder --output a.voice.safetensors
fixture mute mute
refused 2 'has no vocoder' 'part' export mute --format vocoder --output a.safetensors

finish
