#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts synth, with the program given as $1, with a voice that is hardly trained, on a corpus of tones made here: what
# is tested is the way from text to file, not the sound. Tokens are characters, so that libespeak-ng is not needed.
. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"

# corpus DIR ROWS: tones of 1 to 2 s at 16 kHz, of two speakers, with texts that fit.
corpus() {
    mkdir -p "$1/wavs"
    perl -e '
        my ($dir, $rows) = @ARGV;
        open(my $list, ">", "$dir/metadata.csv");
        for my $row (0 .. $rows - 1) {
            my $id = sprintf("row-%03d", $row);
            my $count = 16000 + 2000 * ($row * 7 % 9);
            my $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * ($row % 10);
            my $data = pack("s<*", map { int(9000 * sin($_ * $step)) } 0 .. $count - 1);
            open(my $wav, ">:raw", "$dir/wavs/$id.wav");
            print $wav pack("a4Va4a4VvvVVvva4V", "RIFF", 36 + length($data), "WAVE", "fmt ", 16, 1, 1, 16000, 32000, 2,
                            16, "data", length($data)), $data;
            close($wav);
            print $list "$id|", ($row % 2 ? "low" : "high"), "|The tone number ", chr(97 + $row % 26), ".\n";
        }' "$1" "$2"
}

corpus tones 12
done_with train --train-data tones --output run --set model.width=32 --set model.heads=2 --set model.hidden=64 \
    --set model.encoder_blocks=1 --set model.decoder_blocks=1 --set data.tokens=chars --batch-size 4 --steps 8

# ---- refusals ----
refused 1 "'--checkpoint RUN_OR_FILE' is missing" 'help' synth --text a --output a.wav
refused 1 "'--output FILE' is missing" 'help' synth --checkpoint run --text a
refused 2 'none' '.' synth --checkpoint none --text a --output a.wav
refused 1 'contradict' 'help' synth --checkpoint run --text a --text-file b --output a.wav
refused 1 'no number' 'number' synth --checkpoint run --text a --output a.wav --speed fast
refused 1 'speed' '.' synth --checkpoint run --text a --output a.wav --speed 100
refused 1 "knows no speaker 'nobody'" 'inspect' synth --checkpoint run --text a --output a.wav --speaker nobody
refused 2 'missing.txt' '.' synth --checkpoint run --text-file missing.txt --output a.wav
refused 2 'nothing of the text' 'words' synth --checkpoint run --text '...' --output a.wav
check "a refusal writes nothing" test ! -e a.wav

# ---- speaking ----
done_with synth --checkpoint run --text 'The tone number a.' --output one.wav
check "a WAV file" test "$(head -c 4 one.wav)" = RIFF
check "tells the real-time factor" grep -q 'real-time factor' stderr
done_with synth --checkpoint run/checkpoints/step-00000008.safetensors --text 'The tone number a.' --output two.wav
check "the same text and seed give the same file" cmp one.wav two.wav
done_with synth --checkpoint run --text 'The tone number a.' --output other.wav --speaker low
check "another speaker sounds different" test "$(cksum <one.wav)" != "$(cksum <other.wav)"
done_with synth --checkpoint run --text 'The tone number a.' --output file.wav --speaker-wav tones/wavs/row-003.wav
done_with synth --checkpoint run --text 'The tone number a.' --output fast.wav --speed 2
check "faster is shorter" test "$(stat -c %s fast.wav)" -lt "$(stat -c %s one.wav)"
printf 'The tone number a.' >text.txt
done_with synth --checkpoint run --text-file text.txt --output three.wav
check "a file says the same" cmp one.wav three.wav
"$program" synth --checkpoint run --output - <text.txt >four.wav 2>stderr
check "standard input and output" cmp one.wav four.wav

finish
