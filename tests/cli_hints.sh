#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What people type, from the outside ($1: the program): values, settings and flags that are nearly right, flags of other
# commands, things given in the place of others. Each hint names what works. The voice is the base voice of the source tree.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/serve.sh
. "$here/support/serve.sh"
one_core
export HOME=$folder XDG_DATA_HOME=''
base_voice "$here/../voices"

# ---- nearly right ----
refused 1 'there is no model size "tinny"' "did you mean 'tiny'" train --train-data nowhere --model-size tinny --output run
refused 1 'there is no vocoder size "smal"' "did you mean 'small'" train --train-data nowhere --set vocoder.size=smal --output run
refused 1 "unknown option '--vocoder-size'" "write '--set vocoder.size=VALUE'" train --train-data nowhere --vocoder-size small
refused 1 'the section of the setting is missing' "did you mean 'training.batch_size=4'" config --set batch_size=4
refused 1 'the section of the setting is missing' "did you mean 'training.batch_size=4'" config --set batchsize=4
refused 1 'the section of the setting is missing' 'write section.key=value' config --set xyzzy=4
refused 1 "unknown option '--epochs'" "'--epochs' is an option of 'myxtts train'" serve base --epochs 3
refused 1 "unknown option '--train-data'" "'--train-data' is an option of 'myxtts profile'" prepare --train-data tones
refused 1 "unknown option '--port'" "write '--listen 127.0.0.1:PORT'" serve base --port 80

# ---- what people need first, and the rest under headings ----
for command in train profile synth serve; do
    done_with "$command" --help
    own=$(sed -n '/^What people need first:/,/^Options of all commands/p' stdout | grep -cE '^  (-., |    )--')
    check "$command --help has a few options, not $own" test "$own" -ge 5 -a "$own" -le 11
    check "and says where the others are" grep -qE "^'myxtts $command --help all' shows all [0-9]+ options" stdout
    all=$(sed -n 's/.*shows all \([0-9]*\) options.*/\1/p' stdout)
    done_with help "$command" all
    sed '/^Options of all commands/,$d' stdout >all
    check "$command --help all has them" test "$(grep -cE '^  (-., |    )--' all)" -eq "$all"
    check "each once" test -z "$(grep -oE '^  (-., |    )--[a-z-]+' all | sed 's/.*--//' | sort | uniq -d)"
    check "with headings" grep -q '^For experts:$' all
    # A name in the table of headings that is no option would be lost without a word.
    perl -0777 -ne 'my ($table) = /mx_headings_'"$command"'\[\] = \{(.*?)\n\};/s;
        while ($table =~ /\{[^,]+,\s*((?:"[^"]*"\s*)+)\}/g) { my $n = join("", $1 =~ /"([^"]*)"/g); print "$_\n" for split(" ", $n) }' \
        "$here/../src/cli/headings.c" | while read -r name; do grep -qE -- "--$name( |\$)" all || echo "$name"; done >lost
    check "$command: every name in the table is an option" test ! -s lost
done

# ---- something else in its place ----
tones tones 24
refused 2 "'tones/wavs/row-003.wav' is a single recording" 'name the folder' check tones/wavs/row-003.wav
refused 2 'is a single recording' 'name the folder' train --train-data tones/wavs/row-003.wav --output run
refused 1 'tones is no run' "'--train-data tones'" train --resume tones
mkdir empty
refused 2 "the folder 'empty' has neither voice files nor checkpoints" "NAME.voice.safetensors" serve empty

# ---- a voice that nobody named ----
mkdir -p away/bin
cp "$program" away/bin # outside its build folder it does not see the voices of the source tree
if [ ! -e /usr/share/myxtts/voices ]; then
    built=$program program=$folder/away/bin/myxtts
    MYXTTS_VOICES='' refused 1 "'myxtts serve' needs a voice, and none is installed" 'name a run folder' serve
    program=$built
else
    echo 'not tested: serve where no voice is installed, because one is'
fi
serve --wyoming 127.0.0.1:0 --listen off || exit 1
check "serve without a voice serves the installed ones" grep -q "^voice 'base': .*; 11 speakers" server
served 0
run serve --listen 127.0.0.1:0 --token short
if grep -q 'built without the HTTP server' stderr || ! command -v curl >/dev/null; then
    echo 'not tested: hints of the HTTP server, which this build lacks, or curl is missing'
else
    serve --listen 127.0.0.1:0 || exit 1
    curl -s "http://127.0.0.1:$http/nowhere" >stdout
    check "an unknown address lists those that there are" grep -qF 'GET /health, GET /metrics, POST /v1/audio/speech' stdout
    curl -s "http://127.0.0.1:$http/v1/audio/speech" -d '{"input": "Hello.", "voice": "nobody"}' >stdout
    check "an unknown voice lists the speakers" grep -qE 'voices: base; speakers: .*en-allison' stdout
    served 0
fi

# ---- the text as an operand ----
done_with synth Hello there. --output operand.wav
done_with synth --text 'Hello there.' --output option.wav
check "the same speech" cmp operand.wav option.wav
refused 1 "'--text' gives another one" 'give the text once' synth Hello --text there --output a.wav
refused 1 "'--output FILE' is missing" '--play' synth --text Hello
refused 1 'this voice never learned to speak German' 'it speaks English, Persian, .*, or .*--language en' \
    synth --text Hallo --language de --output a.wav

# ---- one word for the same thing ----
done_with prepare tones --tokens chars --output new.pack
check "no former name" not grep -q 'former name' stderr
done_with prepare tones --tokens chars --out old.pack
check "the former name works, and is named" grep -qF "'--out' is a former name, write '--output'" stderr
check "both wrote" test -s new.pack -a -s old.pack

# ---- a corpus that cannot be trained on ----
for file in $(find tones/wavs -name '*.wav' | sort | head -18); do echo damaged >"$file.new" && mv "$file.new" "$file"; done
run train --train-data tones --set data.tokens=chars --dry-run
check "a dry run with too many damaged files: $code" test "$code" -eq 2
check "is an error" grep -qE 'error: 18 of 24 rows are rejected' stderr
hint=$(sed -n "s/^  hint: '\\(myxtts check [^']*\\)'.*/\\1/p" stderr)
check "with a command that lists them" test -n "$hint"
PATH=$(dirname "$program"):$PATH bash -c "$hint" >stdout 2>&1
check "which does" grep -q 18 stdout
done_with train --train-data tones --set data.tokens=chars --dry-run --allow-rejects
finish
