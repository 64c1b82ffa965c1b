#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts export from the outside: the files that it writes, and what it does with bad input. (Whether other programs speak
# with them: `make test-onnx`.) $1: the program.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones tones 12
fixture voice run
fixture mute mute
done_with train --quiet --train-data tones --output vocoder --part vocoder --steps 1 --epochs 1 --batch-size 4
# shellcheck disable=SC2016
tone_corpus prices 12 '$count = 16000; $loud = 9000; $step = 0.05; $text = "De toon $letter kost 5 \$."'
done_with train --quiet --train-data prices --output dutch "${small[@]}" --part both --set data.language=nl --steps 1 --epochs 1

# ---- refusals ----
refused 1 'the run folder is missing' 'help' export --format piper --output voice
refused 1 "'--format FORMAT' is missing" 'help' export run --output voice
refused 1 "'--output' is missing" 'help' export run --format piper
refused 1 "'--format'" 'voice, vocoder, piper, sherpa' export run --format onnx --output voice
refused 2 'no vocoder' "--part" export mute --format piper --output voice
refused 2 'is a vocoder alone' "--part" export vocoder --format piper --output voice
refused 2 'nowhere' '.' export nowhere --format piper --output voice
refused 1 'never learned' 'inspect' export run --format piper --output voice --language fa
refused 1 'gibberish' '.' export run --format piper --output voice --language gibberish
refused 2 'none.txt' '.' export run --format sherpa --output voice --words none.txt
printf 'tone\n' >words.txt
refused 1 "'--words'" 'without' export run --format piper --output voice --words words.txt
refused 1 'reads characters' 'without' export run --format sherpa --output voice --words words.txt
refused 2 'mute' '.' export run --vocoder mute --format piper --output voice
refused 3 'cuda:7' '.' export run --format piper --output voice --device cuda:7
: >file
refused 2 'file' '.' export run --format piper --output file
refused 3 "'\$'" 'train the voice on text without it' export dutch --format piper --output voice
refused 3 "'\$'" 'train the voice on text without it' export dutch --format sherpa --output voice
if "$program" train --quiet --train-data tones --output phonemes "${small[@]}" --set data.tokens=phonemes --part both --steps 1 --epochs 1 \
    >stdout 2>stderr; then
    done_with export phonemes --format sherpa --output found
    check "words are found without a list" test "$(grep -c . found/lexicon.txt)" -gt 300
    check "and it warns of all others" grep -q "sherpa-onnx leaves out all others, so give your texts with '--words FILE'" stderr
    printf '!!!\n' >marks.txt
    refused 2 'no word that the voice can say' 'language of the voice' export phonemes --format sherpa --output none --words marks.txt
    check "no file without words" test -z "$(ls none)"
    done_with export phonemes --format sherpa --output lexicon --words words.txt
    check "tells how many words" grep -q '^lexicon/lexicon.txt: 1 word$' stderr
    check "the phonemes of a word" grep -q "^tone t " lexicon/lexicon.txt
else
    check "a build without espeak-ng trains no phonemes" grep -q 'espeak-ng' stderr
fi
check "a refusal writes nothing" test ! -e voice

# ---- Piper ----
done_with export run --format piper --output piper
check "tells what it wrote" grep -q '^piper/voice.onnx: English, 2 speakers, [0-9]* symbols, [0-9.]* MB$' stderr
check "two files" test "$(ls piper | tr '\n' ' ')" = 'voice.onnx voice.onnx.json '
check "the settings are JSON" perl -MJSON::PP -0777 -ne '
    my $c = decode_json($_);
    exit !($c->{audio}{sample_rate} == 22050 && $c->{num_speakers} == 2 && $c->{phoneme_type} eq "text"
        && $c->{espeak}{voice} eq "en-us" && $c->{hop_length} == 256
        && $c->{speaker_id_map}{high} + $c->{speaker_id_map}{low} == 1
        && $c->{phoneme_id_map}{"_"}[0] == 0 && $c->{phoneme_id_map}{"^"}[0] == 1 && $c->{phoneme_id_map}{"\$"}[0] == 2
        && $c->{phoneme_id_map}{t}[0] > 2 && $c->{phoneme_id_map}{T}[0] == $c->{phoneme_id_map}{t}[0]
        && $c->{num_symbols} > $c->{phoneme_id_map}{t}[0])' piper/voice.onnx.json
check "the graph names its operations" grep -qa ConvTranspose piper/voice.onnx
check "it has the vocoder's weights" grep -qa 'vocoder.block.0.depthwise.weight' piper/voice.onnx
check "and those of the short frames" grep -qa 'vocoder.burst.mel.weight' piper/voice.onnx
cp -r piper before
done_with export run --format piper --output piper
check "the same voice gives the same bytes" cmp piper/voice.onnx before/voice.onnx
done_with export run --vocoder vocoder --format piper --output other
check "another vocoder gives another graph" test "$(cksum <piper/voice.onnx)" != "$(cksum <other/voice.onnx)"
done_with export run --format piper --output short --rounds 1
check "rounds are part of the graph" test "$(stat -c %s short/voice.onnx)" -lt "$(stat -c %s piper/voice.onnx)"
done_with export run --format piper --output long --projections 1
check "projections are part of the graph" test "$(stat -c %s long/voice.onnx)" -gt "$(stat -c %s piper/voice.onnx)"
done_with export mute --vocoder vocoder --format piper --output joined
check "a voice with the vocoder of another run" test -s joined/voice.onnx

# ---- from a voice file ----
done_with export run --precision fp32 --output run.voice.safetensors
done_with export run.voice.safetensors --format piper --output again
check "a voice file gives the graph of its run" cmp again/voice.onnx piper/voice.onnx
check "and its settings" cmp again/voice.onnx.json piper/voice.onnx.json

# ---- sherpa-onnx ----
done_with export run --format sherpa --output sherpa
check "two files for a voice that reads characters" test "$(ls sherpa | tr '\n' ' ')" = 'tokens.txt voice.onnx '
check "the graph is the same" cmp sherpa/voice.onnx piper/voice.onnx
check "symbols: pad, begin, end, space" test "$(head -n 4 sherpa/tokens.txt)" = $'_ 0\n^ 1\n$ 2\n  3'
check "metadata" grep -qa 'add_blank' sherpa/voice.onnx
check "no temporary file is left" test -z "$(find . -name '*.tmp*')"

finish
