#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The HTTP server with a real voice and curl: every interface and format, the samples of `myxtts synth`, company, clients that
# leave, the token, and the end by a signal. What the server refuses, and times, are tested by test_http_*.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/serve.sh
. "$here/support/serve.sh"
if ! command -v curl >/dev/null; then
    printf 'skipped: curl is not installed\n'
    exit 77
fi
text='The tone number e. The tone number b.'

fixture voice run
if "$program" serve run --listen 127.0.0.1:0 --token short 2>&1 </dev/null | grep -q 'built without the HTTP server'; then
    printf 'skipped: built without libmicrohttpd\n'
    exit 77
fi
done_with synth -c run --text "$text" -o spoken.wav
tail -c +45 spoken.wav >spoken.pcm
serve run --listen 127.0.0.1:0 || exit 1

# ask PATH ARGUMENTS...: an answer in the file `answer`, its status in $status and its type in $type.
ask() {
    local path=$1
    shift
    read -r status type < <(curl --silent --show-error --max-time 120 -o answer -w '%{http_code} %{content_type}\n' "$@" \
        "http://127.0.0.1:$http$path")
}
# speak FIELDS: the text with these fields of JSON.
speak() { ask /v1/audio/speech -H 'Content-Type: application/json' -d "{\"input\":\"$text\"${1:+,$1}}"; }
samples() { tail -c +45 "$1"; }
# begins FILE BYTES: as printf writes them.
# shellcheck disable=SC2059
begins() { cmp -n "$(printf "$2" | wc -c)" "$1" <(printf "$2"); }
number() { curl --silent "http://127.0.0.1:$http/metrics" | sed -n "s/^myxtts_$1 //p"; }
# becomes NAME NUMBER: soon.
becomes() {
    local left=600
    while [ "$(number "$1")" != "$2" ] && [ $left -gt 0 ]; do
        sleep 0.1
        left=$((left - 1))
    done
    test "$(number "$1")" = "$2"
}

for path in / /health /metrics /v1/models /v1/models/tts-1 /v1/models/run /v1/audio/voices /voices /info; do
    ask $path
    check "GET $path" test "$status" = 200
done
ask /v1/audio/voices
check "the voice is there under both keys" test "$(grep -o '"id":"run","name":"[^"]*"' answer | wc -l)" -eq 2
ask /nothing
check "no such path" test "$status" = 404
check "an error in OpenAI's shape" grep -q '^{"error":{"message":".*","type":"invalid_request_error","param":null,"code":"unknown_url"}}$' answer

# The sound is that of synth, whoever asks and however.
speak '"response_format":"wav"'
check "wav" test "$status $type" = '200 audio/wav'
check "the samples of synth" cmp spoken.pcm <(samples answer)
speak '"response_format":"pcm","sample_rate":22050,"voice":{"id":"run"},"model":"tts-1"'
check "pcm" test "$status $type" = '200 audio/pcm;rate=22050'
check "the same samples" cmp spoken.pcm answer
ask /synthesize -d "{\"text\":\"$text\"}"
check "Piper" test "$status $type" = '200 audio/wav'
check "a file like that of synth" cmp spoken.wav answer
ask '/?stream=true' -H 'Content-Type: text/plain' --data-binary "$text"
check "Piper, streamed: the same samples" cmp spoken.pcm <(samples answer)
speak
check "mp3 is the usual format" test "$status $type" = '200 audio/mpeg'
check "mp3" begins answer '\xff'
speak '"response_format":"flac"'
check "flac" begins answer 'fLaC'
speak '"response_format":"opus"'
check "opus" begins answer 'OggS'
check "opus: its type" test "$type" = 'audio/ogg; codecs=opus'
speak '"response_format":"wav","stream_format":"sse"'
check "events" test "$status" = 200
sed -n 's/^data: {"type":"speech.audio.delta","audio":"\(.*\)"}$/\1/p' answer | while read -r part; do base64 -d <<<"$part"; done >joined
check "events: the same samples" cmp spoken.pcm <(samples joined)
check "events: the last one" grep -q '^data: {"type":"speech.audio.done","usage":{"input_tokens":[0-9]*,"output_tokens":[0-9]*,"total_tokens":[0-9]*}' answer
speak '"response_format":"aac"'
check "aac: what there is" grep -q 'it has wav, pcm, flac, opus and mp3' answer
speak '"voice":"nobody"'
check "an unknown voice: those there are" grep -q '"message":".*run' answer
check "an unknown voice: 400" test "$status" = 400

# Eight at once hear what one hears.
company=()
for ((i = 0; i < 8; i++)); do
    curl --silent -o "company-$i" -d "{\"input\":\"$text\",\"response_format\":\"wav\"}" "http://127.0.0.1:$http/v1/audio/speech" &
    company+=($!)
done
wait "${company[@]}"
for ((i = 0; i < 8; i++)); do check "in company, $i" cmp spoken.pcm <(samples "company-$i"); done

# Clients that leave: one that has heard something, and one that reads slowly and is killed.
long=$(for ((i = 0; i < 200; i++)); do printf '%s ' "$text"; done)
printf '{"input":"%s","response_format":"wav","speed":0.5}' "$long" >long.json
curl --silent -d @long.json "http://127.0.0.1:$http/v1/audio/speech" | head -c 100000 >left
check "something was heard" test "$(wc -c <left)" -eq 100000
curl --silent --limit-rate 20K -o left -d @long.json "http://127.0.0.1:$http/v1/audio/speech" &
slow=$!
check "it is being spoken to" becomes texts_active 1
kill -KILL $slow
wait $slow 2>/dev/null
check "both left, and their places are free" becomes texts_active 0
check "they are counted" becomes http_requests_abandoned_total 2

# A signal: what is being spoken is heard to its end.
begun=$(number texts_total)
curl --silent -o last -d "{\"input\":\"$text $text $text $text\",\"response_format\":\"wav\"}" "http://127.0.0.1:$http/v1/audio/speech" &
last=$!
check "the last text is begun" becomes texts_total $((begun + 1))
served 0
check "the last client hears the end" wait $last
check "all of it" test "$(wc -c <last)" -gt "$(wc -c <spoken.wav)"

# With a token: everything but the page and /health.
serve run --listen 127.0.0.1:0 --token 0123456789abcdef || exit 1
speak
check "without the token" test "$status" = 401
ask /v1/audio/speech -H 'Authorization: Bearer 0123456789abcdeg' -d "{\"input\":\"$text\"}"
check "with another one" test "$status" = 401
ask /v1/audio/speech -H 'Authorization: Bearer 0123456789abcdef' -d "{\"input\":\"$text\"}"
check "with the token" test "$status" = 200
ask /health
check "/health" test "$status" = 200
check "the token is not shown" sh -c '! grep -q 0123456789abcdef server'
served 0
finish
