#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Words of the user's own, with the program given as $1: a lexicon on its way from the corpus through checkpoints and
# voice files to speech, and how a text is shown to be read. Tokens are characters, so that libespeak-ng is not needed.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones tones 12
printf '# ours\n[en]\ntone = bell\n' >bell.txt
printf '[en]\ntone = horn\n' >horn.txt
printf '[en]\ntone = /tˈoʊn/\n' >sounds.txt
printf '[en]\n\ntone = ⌘\n' >broken.txt

# ---- refusals ----
refused 2 "broken.txt:3:8: '⌘' (U+2318) cannot be read in English" 'letters' check tones --tokens chars --lexicon broken.txt
refused 2 'broken.txt:3:8' 'letters' prepare tones --tokens chars --output x.pack --lexicon broken.txt
refused 2 'broken.txt:3:8' 'letters' train --train-data tones --output x "${small[@]}" --steps 1 --lexicon broken.txt
refused 1 'sounds.txt:2:8: sounds are given for a voice that reads characters' 'letters' \
    prepare tones --tokens chars --output x.pack --lexicon sounds.txt
refused 2 'missing.txt' '.' check tones --tokens chars --lexicon missing.txt

# ---- a packed corpus knows its lexicon ----
done_with check tones --tokens chars --lexicon bell.txt
done_with prepare tones --tokens chars --output bell.pack --lexicon bell.txt
done_with prepare tones --tokens chars --output bell.pack --lexicon bell.txt
check "the same lexicon: up to date" grep -q 'is up to date' stdout
cp bell.pack horn.pack
done_with prepare tones --tokens chars --output horn.pack --lexicon horn.txt
check "another one: made again, and says so" grep -q 'lexicon was [0-9a-f]\{16\} and is [0-9a-f]\{16\}' stderr
done_with prepare tones --tokens chars --output horn.pack
check "none: made again, and says so" grep -q 'it was made with a lexicon and there is none now' stderr
refused 2 'was not made with the lexicon' 'prepare --lexicon' \
    train --train-data bell.pack --output x "${small[@]}" --steps 1 --lexicon horn.txt

# ---- a run keeps it ----
done_with train --train-data tones --output run "${small[@]}" --steps 4 --lexicon bell.txt
done_with inspect run
check "inspect counts the words" grep -q '^  lexicon     1 word$' stdout
done_with train --resume run --steps 5
cp bell.txt kept.txt
cp horn.txt bell.txt
refused 2 'is not the one that the run began with' 'init-from' train --resume run --steps 6
mv bell.txt gone.txt
done_with train --resume run --steps 6
check "a lexicon that is gone: the words of the checkpoint" grep -q 'bell.txt is not there any more' stderr
mv kept.txt bell.txt

# ---- and says its words everywhere ----
show() {
    "$program" synth --show-phonemes "$@" 2>stderr | sed -n 's/^words *//p'
}
check "in a run" test "$(show --checkpoint run --text 'The tone.')" = 'The bell.'
done_with export run --precision fp32 --output bell.voice.safetensors
check "in a voice file" test "$(show --checkpoint bell.voice.safetensors --text 'The tone.')" = 'The bell.'
check "which does not name the file" test "$(grep -c bell.txt bell.voice.safetensors)" = 0
check "other words go first" test "$(show --checkpoint run --lexicon horn.txt --text 'The tone.')" = 'The horn.'
done_with export run --lexicon horn.txt --precision fp32 --output horn.voice.safetensors
check "and into a voice file" test "$(show --checkpoint horn.voice.safetensors --text 'The tone.')" = 'The horn.'
done_with synth --checkpoint run --text 'The tone number a.' --output a.wav
done_with synth --checkpoint run --lexicon horn.txt --text 'The tone number a.' --output b.wav
check "the sound is another one" test "$(cmp -s a.wav b.wav; echo $?)" = 1
done_with synth --checkpoint horn.voice.safetensors --text 'The tone number a.' --output c.wav
check "the same in the voice file" cmp b.wav c.wav
refused 1 'sounds.txt:2:8' 'letters' synth --checkpoint run --lexicon sounds.txt --text a --output x.wav
done_with train --train-data bell.pack --init-from horn.voice.safetensors --output again "${small[@]}" --steps 1
check "a packed corpus brings its words" test "$(show --checkpoint again --text 'The tone.')" = 'The bell.'

# ---- showing ----
refused 1 'contradicts' 'help' synth --show-phonemes --text a --output a.wav
refused 1 'contradicts' 'help' synth --show-phonemes --text a --play
refused 2 'nothing in the text' 'words' synth --show-phonemes --checkpoint run --text '...'
done_with synth --show-phonemes --checkpoint run --text 'Dr. Tone, 3.'
check "the text" grep -q '^text      Dr. Tone, 3.$' stdout
check "the words" grep -q '^words     doctor bell, three.$' stdout
check "the symbols" grep -q '^symbols   ' stdout
if "$program" synth --show-phonemes --text x >/dev/null 2>&1; then # with espeak-ng
    done_with synth --show-phonemes --language de --text 'Guten Tag.'
    check "a language without a voice" grep -q '^phonemes  .*tˈɑːk\.$' stdout
    printf '[fa]\nناسا = /nˈɑsɑ/\n' >fa.txt
    done_with synth --show-phonemes --lexicon fa.txt --text 'ناسا'
    check "sounds of a lexicon" grep -q '^phonemes  nˈɑsɑ$' stdout
fi

finish
