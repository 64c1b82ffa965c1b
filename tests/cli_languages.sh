#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Languages without a cleaner of their own, with the program given as $1: from recordings to speech in Spanish, French,
# Italian, Russian and German, in characters, and in phonemes where espeak-ng is there. Voices are hardly trained
# (support/tones.sh): what is tested is the way from text to tokens and back to sound.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

declare -A says=(
    [es]='¿Qué hora es? Son las 12:30, señor.'
    [fr]='Où est l’été ? Il coûte 3,5 €.'
    [it]='Perché no? È un po’ d’acqua.'
    [ru]='Привет, мир! Это «ёлка».'
    [de]='Äpfel & Öl: die Straße ist groß.'
)
for language in es fr it ru de; do
    text=${says[$language]}
    # shellcheck disable=SC2016
    MX_TEXT=$text tone_corpus "$language" 8 '$count = 40000 + 500 * $row; $step = 0.05 + 0.003 * $row; $loud = 9000;
        $text = "one|$ENV{MX_TEXT}"'
    done_with prepare "$language" --language "$language" --tokens chars --output "$language.pack"
    check "$language: all rows are good" grep -q '8: 8 good, 0 rejected' stdout
    done_with train --train-data "$language" --output "run-$language" "${small[@]}" --language "$language" --steps 2
    done_with inspect "run-$language"
    check "$language: the voice has its language" grep -qE "languages $language\$" stdout
    done_with synth --checkpoint "run-$language" --language "$language" --text "$text" --output "$language.wav"
    check "$language: a WAV file" test "$(head -c 4 "$language.wav")" = RIFF
    check "$language: the voice knows every symbol" test "$(grep -c 'never learned' stderr)" -eq 0
    # Its script is that of no other language of the voice, so nothing needs to be said.
    done_with synth --checkpoint "run-$language" --text "$text" --output auto.wav
    check "$language: the same without --language" cmp "$language.wav" auto.wav
    refused 1 "this voice never learned to speak Persian" "--language $language" \
        synth --checkpoint "run-$language" --text 'سلام' --output no.wav
done

# A symbol that the voice never heard is named.
done_with synth --checkpoint run-es --text 'Qué жora es.' --language es --output unknown.wav
check "the unknown letter is named" grep -qF "'ж' (U+0436)" stderr

# ---- phonemes, by a voice of espeak-ng that is not the one of English ----
"$program" prepare es --language es --output phonemes.pack >stdout 2>stderr
if grep -q 'built without espeak-ng' stderr; then
    check "phonemes need espeak-ng" grep -q 'use --tokens chars' stderr
else
    check "phonemes: all rows are good" grep -q '8: 8 good, 0 rejected' stdout
    done_with train --train-data phonemes.pack --output run-phonemes "${small[@]}" --set data.tokens=phonemes --steps 2
    done_with synth --checkpoint run-phonemes --text "${says[es]}" --output phonemes.wav
    check "phonemes: the voice knows every symbol" test "$(grep -c 'never learned' stderr)" -eq 0
    done_with prepare es --language en --output english.pack
    check "another language has other tokens" test "$(cksum <phonemes.pack)" != "$(cksum <english.pack)"
fi

# ---- a language that is not there ----
refused 1 "unknown language 'Spanisch'" 'did you mean Spanish? languages: en (English), fa (Persian), es,' \
    prepare es --language Spanisch --output no.pack
finish
