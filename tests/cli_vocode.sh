#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts vocode from the outside: the copy of a recording, and what it does with bad input. $1: the program.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

tones tones 1
recording=$(echo tones/wavs/*.wav)

# ---- refusals ----
refused 1 'name the recording to copy' 'help' vocode --output a.wav
refused 1 "'--output FILE' is missing" 'help' vocode "$recording"
refused 2 'none.wav' '.' vocode none.wav --output a.wav
printf 'this is no sound\n' >text.wav
refused 2 'text.wav' '.' vocode text.wav --output a.wav
: >empty.wav
refused 2 'empty.wav' '.' vocode empty.wav --output a.wav
refused 1 "'--rounds'" '1 to 10000' vocode "$recording" --output a.wav --rounds 0
refused 1 "'--rounds'" '10000' vocode "$recording" --output a.wav --rounds 10001
refused 1 "'--projections'" '0' vocode "$recording" --output a.wav --projections -1
refused 1 "'--projections'" '100' vocode "$recording" --output a.wav --projections 101
refused 1 "'--vocoder'" 'griffin-lim' vocode "$recording" --output a.wav --vocoder other
refused 3 'cuda:7' '.' vocode "$recording" --output a.wav --device cuda:7
refused 2 'no/such/folder/a.wav' '.' vocode "$recording" --output no/such/folder/a.wav
check "a refusal writes nothing" test ! -e a.wav
check "no temporary file is left" test -z "$(find . -name '*.tmp*')"

# ---- copies ----
done_with vocode "$recording" --output one.wav
check "a WAV file" test "$(head -c 4 one.wav)" = RIFF
check "tells rounds, projections and the real-time factor" grep -q '48 rounds and 4 projections; real-time factor [0-9.]*$' stderr
# Both have 16 bits after a header of 44 bytes, the recording 16,000 samples a second. Less than 256 samples are cut.
check "as long as the recording" perl -e 'my $lost = ((-s $ARGV[0]) - 44) / 16000 * 22050 - ((-s $ARGV[1]) - 44);
    exit !($lost >= -4 && $lost < 516)' "$recording" one.wav
done_with vocode "$recording" --vocoder griffin-lim --rounds 48 --projections 4 --seed 0 --output two.wav
check "the defaults are those of the help, and a second run gives the same file" cmp one.wav two.wav
"$program" vocode "$recording" --output - >three.wav 2>stderr
check "standard output" cmp one.wav three.wav
done_with vocode "$recording" --seed 1 --output other.wav
check "another seed gives other samples" test "$(cksum <one.wav)" != "$(cksum <other.wav)"
done_with vocode "$recording" --projections 0 --output plain.wav
check "so do projections" test "$(cksum <one.wav)" != "$(cksum <plain.wav)"
done_with vocode "$recording" --rounds 8 --output short.wav
check "and rounds" test "$(cksum <one.wav)" != "$(cksum <short.wav)"

# ---- with a vocoder ----
tones more 8
done_with train --part vocoder --train-data more --output run --steps 3 --set vocoder.segments=2
done_with vocode "$recording" --vocoder run --output first.wav
check "the usual rounds and projections of a vocoder" grep -q '8 rounds and 2 projections; real-time factor' stderr
check "as long as that of Griffin-Lim" test "$(stat -c %s first.wav)" -eq "$(stat -c %s one.wav)"
check "but another sound" test "$(cksum <one.wav)" != "$(cksum <first.wav)"
done_with vocode "$recording" --vocoder run/checkpoints/step-00000003.safetensors --output second.wav --rounds 8
check "a checkpoint instead of the run gives the same samples" cmp first.wav second.wav
done_with vocode "$recording" --vocoder run --output none.wav --rounds 0 --projections 0
check "rounds are not needed" test "$(cksum <first.wav)" != "$(cksum <none.wav)"
refused 2 'text.wav' '.' vocode "$recording" --vocoder text.wav --output a.wav
done_with inspect run
check "inspect shows the vocoder" grep -q '^  vocoder     small: [0-9]* parameters; width 128, 4 blocks of 384; updated 3 times$' stdout
refused 2 'is a vocoder alone' "'--vocoder'" synth --checkpoint run --text a --output a.wav

finish
