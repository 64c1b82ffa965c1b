#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts serve, with the program given as $1: what it refuses, what it says, that its sound is that of 'myxtts synth', the
# token, a full queue, and how it ends. The protocols themselves have tests of their own.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/serve.sh
. "$here/support/serve.sh"

fixture voice run
text='The tone number a. The tone number b.'

# ---- refusals ----
refused 2 'none' '.' serve none
refused 1 'listen nowhere' 'wyoming' serve run --listen off
refused 1 'contradict' '--token-file FILE' serve run --token 0123456789abcdef --token-file token
refused 2 'missing' '.' serve run --token-file missing
refused 1 "'--company-ms'" 'milliseconds' serve run --company-ms soon
refused 1 '2000' '1000 milliseconds' serve run --company-ms 2000
refused 1 "'--batch'" '64' serve run --batch 65
refused 1 'workers' 'device' serve run --workers 2 --device cpu:0
refused 1 '0.0.0.0' 'token' serve run --listen 0.0.0.0:0
refused 1 '0.0.0.0' 'insecure' serve run --listen 127.0.0.1:0 --wyoming 0.0.0.0:0
refused 1 'token' '16' serve run --listen 127.0.0.1:0 --token short
mkdir empty
refused 2 'empty' '.' serve empty

# ---- speaking ----
# speak NAME [JSON]: the text as NAME.wav; $status is the status.
speak() {
    local name=$1 more=${2:-}
    shift 2
    status=$(curl -s -o "$name.wav" -w '%{http_code}' "http://127.0.0.1:$http/v1/audio/speech" -H 'Content-Type: application/json' \
        -d "{\"input\": \"$text\", \"response_format\": \"wav\"$more}" "$@")
}
# The samples of a WAV file, after its header of 44 bytes.
samples() { tail -c +45 "$1"; }

done_with synth --checkpoint run --text "$text" --output wanted.wav
serve run --listen 127.0.0.1:0 --wyoming 127.0.0.1:0 || exit 1
check "the voice is named" grep -q "voice 'run': en; 2 speakers; 22050 Hz" server
speak said ''
check "status $status" test "$status" = 200
check "the sound of synth" cmp <(samples wanted.wav) <(samples said.wav)
check "health" curl -sf "http://127.0.0.1:$http/health"
for i in 1 2 3 4 5 6 7 8; do speak "many$i" '' & done
for job in $(jobs -p); do [ "$job" = "$server" ] || wait "$job"; done
for i in 1 2 3 4 5 6 7 8; do check "in company, too: $i" cmp <(samples wanted.wav) <(samples "many$i.wav"); done
served 0
check "nine texts were spoken" grep -q 'spoke 9 texts (0 failed, 0 cancelled by their clients, 0 refused)' server

# ---- without batching; two voices; a folder of voice files ----
mkdir voices
done_with export run --precision fp32 --output voices/b.voice.safetensors --name 'Voice B'
done_with export run --precision fp32 --output voices/a.voice.safetensors --name 'Voice A'
serve run voices --listen 127.0.0.1:0 --batch 1 || exit 1
check "the first voice" grep -q "voice 'run'" server
check "voice files in the order of their names" test "$(grep -o "voice 'Voice-.'" server | tr -d '\n')" = "voice 'Voice-A'voice 'Voice-B'"
speak single ', "voice": "Voice-B"'
check "the same sound" cmp <(samples wanted.wav) <(samples single.wav)
speak unknown ', "voice": "nobody"'
check "an unknown voice has status $status" test "$status" = 400 -o "$status" = 404
served 0

# ---- the token ----
printf 'a-token-of-many-letters\n' >token
serve run --listen 127.0.0.1:0 --token-file token || exit 1
check "the token is never shown" bash -c '! grep -q a-token server'
speak without ''
check "without a token: status $status" test "$status" = 401
speak wrong '' -H 'Authorization: Bearer a-token-of-many-letterz'
check "with a wrong one: status $status" test "$status" = 401
speak right '' -H 'Authorization: Bearer a-token-of-many-letters'
check "with the right one: status $status" test "$status" = 200
check "and the right sound" cmp <(samples wanted.wav) <(samples right.wav)
served 0

# ---- a full queue, and the end ----
# A client that does not read holds the only place; its sound, most of it pauses, is longer than what the system and the server
# keep for it: 18 MB.
long=$(printf '<speak>' && for i in $(seq 1 40); do printf "The tone number a.<break time='10s'/>"; done && printf '</speak>')
serve run --listen 127.0.0.1:0 --queue 1 --drain-seconds 600 || exit 1
mkfifo held
printf '{"input": "%s", "ssml": true, "response_format": "pcm"}' "$long" >long.json
curl -sN "http://127.0.0.1:$http/v1/audio/speech" -H 'Content-Type: application/json' -d @long.json >held &
client=$!
exec 5<held
head -c 1000 <&5 >first.pcm
speak refused '' -D headers
check "the queue is full: status $status" test "$status" = 429
check "and says when to try again" grep -qi '^retry-after: [0-9]' headers
# SIGTERM: nobody new, but the text is spoken to its end.
kill -TERM "$server"
while ! grep -q 'finishing 1 text;' server; do sleep 0.1; done
check "the server is still there" kill -0 "$server"
cat <&5 >rest.pcm &
wait "$client"
check "the client got everything" test $? -eq 0
wait "$server"
check "the server ended with 0" test $? -eq 0
server=
wait
exec 5<&-
check "all of it was longer than what is kept" test "$(stat -c %s rest.pcm)" -gt 16000000
check "all of the text was spoken" grep -q 'spoke 1 texts (0 failed, 0 cancelled by their clients, 1 refused)' server

# A text that nobody reads is cut off when the time is over.
serve run --listen 127.0.0.1:0 --drain-seconds 0 || exit 1
curl -sN "http://127.0.0.1:$http/v1/audio/speech" -H 'Content-Type: application/json' -d @long.json >held &
client=$!
exec 5<held
head -c 1000 <&5 >first.pcm
served 0
check "it says so" grep -q 'after 0 seconds 1 text' server
exec 5<&-
wait "$client"
check "the client knows that the sound is not whole" test $? -ne 0

finish
