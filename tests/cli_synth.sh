#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts synth, with the program given as $1, with a voice that is hardly trained (support/tones.sh): what is tested is
# the way from text to file, not the sound.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones tones 12
fixture voice run

# ---- refusals ----
refused 1 "'--output FILE' is missing" 'help' synth --checkpoint run --text a
refused 2 'none' '.' synth --checkpoint none --text a --output a.wav
refused 1 'contradict' 'help' synth --checkpoint run --text a --text-file b --output a.wav
refused 1 'not a number' 'number' synth --checkpoint run --text a --output a.wav --speed fast
refused 1 'speed' '.' synth --checkpoint run --text a --output a.wav --speed 100
refused 1 "has no speaker 'nobody'" 'inspect' synth --checkpoint run --text a --output a.wav --speaker nobody
refused 1 "'--rounds'" '1 to 10000' synth --checkpoint run --text a --output a.wav --vocoder griffin-lim --rounds 0
refused 1 "'--rounds'" '10000' synth --checkpoint run --text a --output a.wav --rounds 10001
refused 1 "'--vocoder' is 'nowhere'" 'griffin-lim' synth --checkpoint run --text a --output a.wav --vocoder nowhere
refused 1 "'--projections'" '100' synth --checkpoint run --text a --output a.wav --projections 101
refused 2 'missing.txt' '.' synth --checkpoint run --text-file missing.txt --output a.wav
refused 2 'nothing in the text' 'words' synth --checkpoint run --text '...' --output a.wav
refused 2 'nothing in the text' 'words' synth --checkpoint run --text '...' --output -
refused 1 'not a number' 'number' synth --checkpoint run --text a --output a.wav --volume loud
refused 1 'volume' '.' synth --checkpoint run --text a --output a.wav --volume 5
refused 1 'pause' '.' synth --checkpoint run --text a --output a.wav --pauses -1
refused 1 'contradict' 'help' synth --checkpoint run --text a --play --output-dir out
refused 2 'line 1' '.' synth --checkpoint run --ssml --text '<speak>The tone' --output a.wav
check "a refusal writes nothing" test ! -e a.wav

# ---- speaking ----
done_with synth --checkpoint run --text 'The tone number a.' --output one.wav
check "a WAV file" test "$(head -c 4 one.wav)" = RIFF
check "tells the real-time factor" grep -q 'one.wav: [0-9.]* s of speech in 1 piece; real-time factor [0-9.]* (network' stderr
check "and when the first sound came" grep -q '; first sound after [0-9.]* s$' stderr
done_with synth --checkpoint run/checkpoints/step-00000008.safetensors --text 'The tone number a.' --output two.wav
check "the same text and seed give the same file" cmp one.wav two.wav
done_with synth --checkpoint run --text 'The tone number a.' --output other.wav --speaker low
check "another speaker sounds different" test "$(cksum <one.wav)" != "$(cksum <other.wav)"
done_with synth --checkpoint run --text 'The tone number a.' --output file.wav --speaker-wav tones/wavs/row-003.wav
check "a short recording is reported" grep -q '^warning: there are 1.[0-9] s of the voice to sound like' stderr
check "and by how much the voice was moved towards it" grep -q '^moved towards the recordings: pitch by [+-][0-9.]* semitones, colour by [0-9.]* dB' stderr
done_with synth --checkpoint run --text 'The tone number a.' --output network.wav --likeness 0 --speaker-wav tones/wavs/row-003.wav
check "or that it was not" test -z "$(grep 'moved towards' stderr)"
refused 1 'likeness' '0 to 1' synth --checkpoint run --text a --output a.wav --likeness 2 --speaker-wav tones/wavs/row-003.wav
refused 1 'likeness' '.' synth --checkpoint run --text a --output a.wav --likeness much --speaker-wav tones/wavs/row-003.wav
refused 1 'needs recordings' 'speaker-wav' synth --checkpoint run --text a --output a.wav --likeness 0.5
done_with synth --checkpoint run --text 'The tone number a.' --output files.wav --speaker-wav tones/wavs/row-003.wav --speaker-wav tones/wavs/row-004.wav
check "a second recording counts" test "$(cksum <file.wav)" != "$(cksum <files.wav)"
check "and its seconds do" grep -q '^warning: there are [23].[0-9] s of the voice to sound like' stderr
printf 'The tone number a.\nThe tone number b.\n' >two.txt
done_with synth --checkpoint run --text-file two.txt --output-dir cloned --speaker-wav tones/wavs/row-003.wav
check "the recording is reported once" test "$(grep -c 's of the voice to sound like' stderr)" -eq 1
check "and speak with it" cmp cloned/001.wav file.wav
perl -e 'print pack("a4Va4a4VvvVVvva4V", "RIFF", 64036, "WAVE", "fmt ", 16, 1, 1, 16000, 32000, 2, 16, "data", 64000), "\0" x 64000' >still.wav
refused 2 "'still.wav': all samples are equal" 'louder' synth --checkpoint run --text a --output a.wav --speaker-wav tones/wavs/row-003.wav --speaker-wav still.wav
refused 2 'nowhere.wav' 'sound file' synth --checkpoint run --text a --output a.wav --speaker-wav nowhere.wav
refused 1 'contradict' 'help' synth --checkpoint run --text a --output a.wav --speaker low --speaker-wav still.wav
done_with synth --checkpoint run --text 'The tone number a.' --output fast.wav --speed 2
check "faster is shorter" test "$(stat -c %s fast.wav)" -lt "$(stat -c %s one.wav)"
done_with synth --checkpoint run --text 'The tone number a.' --output plain.wav --projections 2
check "projections change the sound" test "$(cksum <one.wav)" != "$(cksum <plain.wav)"
check "but not its length" test "$(stat -c %s plain.wav)" -eq "$(stat -c %s one.wav)"
done_with synth --checkpoint run --text 'The tone number a.' --output same.wav --rounds 8 --projections 0 --vocoder run
check "the defaults are those of the help: a voice speaks with its vocoder" cmp one.wav same.wav
done_with synth --checkpoint run --text 'The tone number a.' --output source.wav --rounds 0
check "rounds change the sound" test "$(cksum <one.wav)" != "$(cksum <source.wav)"
done_with synth --checkpoint run --text 'The tone number a.' --output griffin.wav --vocoder griffin-lim
check "so does another vocoder" test "$(cksum <one.wav)" != "$(cksum <griffin.wav)"
done_with synth --checkpoint run --text 'The tone number a.' --output same.wav --vocoder griffin-lim --rounds 48 --projections 4
check "Griffin-Lim has its own defaults" cmp griffin.wav same.wav
printf 'The tone number a.' >text.txt
done_with synth --checkpoint run --text-file text.txt --output three.wav
check "a file says the same" cmp one.wav three.wav
"$program" synth --checkpoint run --output - <text.txt >four.wav 2>stderr
check "standard input and output" cmp one.wav four.wav

# ---- streams: the sound leaves as it is made ----
"$program" synth --checkpoint run --output - <text.txt 2>stderr | cat >pipe.wav
check "in a pipe the lengths are unknown" test \
    "$(od -An -tx1 -j 4 -N 4 pipe.wav)$(od -An -tx1 -j 40 -N 4 pipe.wav)" = " ff ff ff ff ff ff ff ff"
check "the sound is the same" cmp <(tail -c +45 one.wav) <(tail -c +45 pipe.wav)
check "and so is the rest of the header" cmp <(head -c 40 one.wav | tail -c +9) <(head -c 40 pipe.wav | tail -c +9)
printf 'before' >append.wav
"$program" synth --checkpoint run --output - <text.txt >>append.wav 2>stderr
check "what stands in a file stays, and the header follows it" cmp append.wav <(printf 'before' && cat pipe.wav)
printf 'before' >behind.wav
(cat >/dev/null && "$program" synth --checkpoint run --output - <text.txt 2>stderr) <>behind.wav >&0
check "after something else, the header is corrected" cmp behind.wav <(printf 'before' && cat one.wav)
for player in 'ffmpeg -loglevel error -f wav -i pipe: -f s16le pipe:' 'sox -V1 -t wav - -t s16 -'; do
    command -v "${player%% *}" >/dev/null || continue
    $player <pipe.wav >decoded 2>stderr
    check "${player%% *} reads the stream to its end" cmp <(tail -c +45 one.wav) decoded
done

# A long text in a pipe: the first sound is there while the rest is not even made. (It would take minutes.)
for _ in $(seq 1 4000); do printf 'The tone number a. '; done >long.txt
"$program" synth --checkpoint run --text-file long.txt --output - 2>/dev/null | head -c 60000 >first
check "a long text streams" test "$(stat -c %s first)" -eq 60000

# ---- how it is said ----
samples() { perl -e 'local $/; my @s = unpack("s<*", substr(<STDIN>, 44)); my $p = 0; for (@s) { $p = abs if abs > $p } print scalar(@s), " $p\n"' <"$1"; }
read -r count peak < <(samples one.wav)
done_with synth --checkpoint run --text 'The tone number a.' --output quiet.wav --volume 0.5
read -r quiet_count quiet_peak < <(samples quiet.wav)
check "half the volume: $peak, $quiet_peak" test $((quiet_peak * 2 - peak)) -ge -2 -a $((quiet_peak * 2 - peak)) -le 2
check "is as long" test "$quiet_count" -eq "$count"
done_with synth --checkpoint run --text 'The tone number a.' --output loud.wav --volume 4
read -r _ loud_peak < <(samples loud.wav)
check "four times the volume stays below full scale: $loud_peak" test "$loud_peak" -gt "$peak" -a "$loud_peak" -lt 32768
done_with synth --checkpoint run --text 'The tone. The tone.' --output usual.wav
done_with synth --checkpoint run --text 'The tone. The tone.' --output pauses.wav --pauses 3
done_with synth --checkpoint run --text 'The tone. The tone.' --output hasty.wav --pauses 0
check "pauses are longer and shorter" test "$(stat -c %s pauses.wav)" -gt "$(stat -c %s usual.wav)" -a \
    "$(stat -c %s hasty.wav)" -lt "$(stat -c %s usual.wav)"
done_with synth --checkpoint run --text 'The tone number a. <x>' --output plain.wav
done_with synth --checkpoint run --ssml --text '<speak>The tone number a.</speak>' --output ssml.wav
check "SSML without marks is text" cmp one.wav ssml.wav
done_with synth --checkpoint run --ssml --text '<speak>The <blink>tone</blink> number a.</speak>' --output skipped.wav
check "an unknown tag is named" grep -q 'blink' stderr
check "and its text spoken" cmp one.wav skipped.wav
done_with synth --checkpoint run --ssml --text '<speak>The tone.<break time="2s"/>The tone.</speak>' --output break.wav
check "a break of two seconds" test "$(stat -c %s break.wav)" -ge $((2 * 44100))

# ---- the loudspeaker: a private configuration of ALSA with a device that writes what it plays into a file ----
if "$program" synth --checkpoint run --text a --play 2>&1 | grep -q 'this build has no ALSA'; then
    refused 3 'this build has no ALSA' '-o - | aplay\|--output - | aplay' synth --checkpoint run --text a --play
else
    export ALSA_CONFIG_PATH=$folder/asound.conf
    printf 'pcm.nothing { type null }\n' >asound.conf
    refused 3 "cannot open the sound device 'default'" '--output speech.wav' synth --checkpoint run --text a --play
    printf 'pcm.!default { type file slave.pcm { type null } file "%s/played" format "raw" }\n' "$folder" >asound.conf
    done_with synth --checkpoint run --text 'The tone number a.' --play
    check "what is heard is what the file has" cmp <(tail -c +45 one.wav) played
    check "the last line" grep -q '^[^ ]* *played: [0-9.]* s of speech\|played: [0-9.]* s of speech' stderr
    done_with synth --checkpoint run --text 'The tone number a.' --play --output both.wav
    check "heard and written" cmp one.wav both.wav
    rm -f played
    "$program" synth --checkpoint run --text-file long.txt --play --output never.wav >stdout 2>stderr &
    for _ in $(seq 1 3000); do
        [ "$(stat -c %s played 2>/dev/null || echo 0)" -gt 20000 ] && break
        sleep 0.02
    done
    kill -INT $!
    wait $!
    code=$?
    check "Ctrl-C: exit code $code" test "$code" -eq 4
    check "it says so" grep -q 'interrupted' stderr
    check "no file is left of it" test ! -e never.wav
    unset ALSA_CONFIG_PATH
fi

# ---- a voice without a vocoder ----
fixture mute silent
done_with synth --checkpoint silent --text 'The tone number a.' --output usual.wav
done_with synth --checkpoint silent --text 'The tone number a.' --output griffin.wav --vocoder griffin-lim
check "speaks by Griffin-Lim" cmp usual.wav griffin.wav
refused 2 'has no vocoder' "'--part vocoder'" synth --checkpoint run --text a --output a.wav --vocoder silent
done_with synth --checkpoint silent --text 'The tone number a.' --output borrowed.wav --vocoder run
check "and with the vocoder of another run" test "$(cksum <usual.wav)" != "$(cksum <borrowed.wav)"

# ---- a file for each line ----
refused 1 'contradict' 'help' synth --checkpoint run --text a --output a.wav --output-dir out
printf 'a|The tone number a.\nThe tone.\na|The tone number b.\n' >twice.txt
refused 2 'lines 1 and 3 of the text both become a.wav' 'name' synth --checkpoint run --text-file twice.txt --output-dir out
printf '\n \nname|\n' >blank.txt
refused 2 'no line that could be spoken' 'words' synth --checkpoint run --text-file blank.txt --output-dir out
check "a refusal makes no folder" test ! -e out

printf 'The tone number a.\n\nmy-tone|The tone number a.\r\n...\nTone | line\tand more.' >lines.txt
done_with synth --checkpoint run --text-file lines.txt --output-dir out/deep
check "three files and the list" test "$(ls out/deep | tr '\n' ' ')" = "001.wav 005.wav list.tsv my-tone.wav "
check "a line says what the same text says alone" cmp one.wav out/deep/001.wav
check "a name is not spoken, nor the end of a line" cmp one.wav out/deep/my-tone.wav
check "what is left out is counted" grep -q '3 files.* 1 blank line skipped, 1 with nothing to say' stderr
check "and named" grep -q 'line 4: nothing in it' stderr
cut -f 1,3 out/deep/list.tsv >list
printf 'file\ttext\n001.wav\tThe tone number a.\nmy-tone.wav\tThe tone number a.\n005.wav\tTone | line and more.\n' >wanted
check "the list has file and text" cmp list wanted
seconds=$(awk -F '\t' '$1 == "001.wav" { print $2 }' out/deep/list.tsv)
check "and seconds" perl -e 'exit(abs($ARGV[0] - (-s "one.wav") / 44100) > 0.01)' "$seconds"
done_with synth --checkpoint run --text 'my-tone|The tone number a.' --output-dir out/deep --speed 2
check "files that are there are replaced" cmp fast.wav out/deep/my-tone.wav
check "others stay" test -e out/deep/001.wav
printf 'x|The tone.\ny|\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85\n' >mixed.txt
refused 1 'line 2: ' 'English' synth --checkpoint run --text-file mixed.txt --output-dir mixed
check "what was spoken before is there" test -e mixed/x.wav

finish
