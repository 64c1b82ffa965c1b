#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Files with sound, from the outside ($1: the program): the name decides the format of what synth and vocode write, and a
# name that says nothing known is refused before anything is opened. The voice is the base voice of the source tree.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
base_voice "$here/../voices"

# begins FILE BYTES-AS-TEXT
begins() {
    [ "$(head -c "${#2}" "$1" | tr -d '\0')" = "$2" ]
}
mp3() {
    [ "$(od -An -tx1 -N1 "$1")" = ' ff' ]
}

done_with synth --text Hello. --output a.wav
check "wav" begins a.wav RIFF
done_with synth --text Hello. --output a.flac
check "flac" begins a.flac fLaC
done_with synth --text Hello. --output a.ogg
check "Opus in Ogg" begins a.ogg OggS
check "is Opus" grep -q OpusHead a.ogg
done_with synth --text Hello. --output A.MP3
check "mp3, in capitals, too" mp3 A.MP3
done_with synth --text Hello. --output plain
check "a name without an ending: WAV" cmp plain a.wav
# FLAC has the samples of the WAV, and says how many: bytes 21 … 25 of its header.
samples=$((($(stat -c %s a.wav) - 44) / 2))
# shellcheck disable=SC2016
check "the header of a file has its length" test "$(od -An -tu1 -j22 -N4 a.flac | awk '{ print (($1 * 256 + $2) * 256 + $3) * 256 + $4 }')" -eq "$samples"

refused 1 "its ending names no known format" 'end the name in .wav, .flac, .mp3, .opus' synth --text Hello. --output a.aac
check "nothing is written" test ! -e a.aac
refused 1 "'a.mp3' ends in .mp3, and '--format' says flac" "leave out '--format'" synth --text Hello. --output a.mp3 --format flac
refused 1 "'--format' is for sound that is written" "add '--output FILE'" synth --text Hello. --play --format flac

# Standard output and folders have no ending: WAV, or what --format says.
"$program" synth --quiet --text Hello. --output - --format opus >stream
check "a stream of Opus" grep -q OpusHead stream
"$program" synth --quiet --text Hello. --output - --format pcm >stream
check "samples alone" cmp stream <(tail -c +45 a.wav)
printf 'Hello.\nend|Good bye.\n' >lines.txt
done_with synth --text-file lines.txt --output-dir spoken --format mp3
check "a folder of MP3" mp3 spoken/001.mp3
check "by name" mp3 spoken/end.mp3
check "its list" grep -q $'^end.mp3\t' spoken/list.tsv

done_with vocode a.wav --output copy.flac
check "vocode, too" begins copy.flac fLaC
refused 1 "its ending names no known format" 'end the name in .wav' vocode a.wav --output copy.aac
finish
