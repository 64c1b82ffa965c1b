#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Who speaks, and in which language: the same bytes from the program ($1), the C library, Python, both HTTP interfaces with
# the page's requests, and Wyoming, whether a speaker, a language or neither is named. The voice has a Spanish speaker and
# after him an English one, and is hardly trained.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/serve.sh
. "$here/support/serve.sh"
build=$(dirname "$program")
text='The tone number a. The tone number b.'

tones tones 12
{
    echo 'audio_file|text|speaker_name|language'
    awk -F'|' '{ print "wavs/" $1 ".wav|" $3 "|" $2 "|" ($2 == "low" ? "en" : "es") }' tones/metadata.csv | sort -t'|' -k4r
} >tones/metadata_train.csv
mv tones/metadata.csv metadata.csv
done_with train --quiet --train-data tones --output run "${small[@]}" --part both --steps 2 --epochs 1

samples() { tail -c +45 "$1"; }
done_with synth -c run --text "$text" --speaker high --language es -o spanish.wav
done_with synth -c run --text "$text" --speaker low --language en -o english.wav
done_with synth -c run --text "$text" --speaker low --language es -o mixed.wav
check "the speakers differ" bash -c '! cmp -s spanish.wav english.wav'
check "the languages differ" bash -c '! cmp -s mixed.wav english.wav'
samples spanish.wav >spanish.pcm
samples english.wav >english.pcm

# ---- the program ----
# says NAME PCM ARGUMENTS...
says() {
    local name=$1 wanted=$2
    shift 2
    done_with synth -c run --text "$text" "$@" -o said.wav
    check "synth: $name" cmp <(samples said.wav) "$wanted"
}
says "a speaker brings his language" spanish.pcm --speaker high
says "the other one, too" english.pcm --speaker low
says "a language brings a speaker" spanish.pcm --language es
says "the letters bring both" english.pcm
check "which is reported" grep -q "speaker 'low', who speaks the language of the text" stderr
says "both are given" english.pcm --speaker low --language en

# ---- the C library ----
if [ -x "$build/example_speak" ]; then
    "$build/example_speak" run "$text" high >c.pcm 2>/dev/null
    check "C: a speaker" cmp c.pcm spanish.pcm
    "$build/example_speak" run "$text" >c.pcm 2>/dev/null
    check "C: the letters" cmp c.pcm english.pcm
fi

# ---- Python ----
library=$(find "$build" -maxdepth 1 -name 'libmyxtts.so.*.*.*' | head -n 1)
python=python3
[ ! -x "$build/python/bin/python3" ] || python=$build/python/bin/python3
if [ -n "$library" ] && PYTHONPATH=$here/../python "$python" -c 'import cffi' 2>/dev/null; then
    # python FILE OPTIONS
    python_says() {
        MYXTTS_LIBRARY=$library PYTHONPATH=$here/../python PYTHONDONTWRITEBYTECODE=1 "$python" -c "
import myxtts
with myxtts.Voice('run') as voice: voice.save('py.wav', '$text'$2)"
        check "Python: $1 $2" cmp <(samples py.wav) "$1"
    }
    python_says spanish.pcm ", speaker='high'"
    python_says spanish.pcm ", language='es'"
    python_says english.pcm ""
fi

# ---- the servers ----
if command -v curl >/dev/null && ! "$program" serve run --listen 127.0.0.1:0 --token short 2>&1 </dev/null | grep -q 'built without'; then
    serve run --listen 127.0.0.1:0 --wyoming 127.0.0.1:0 || exit 1
    # asked PATH PCM JSON
    asked() {
        curl -s -o answer.wav "http://127.0.0.1:$http$1" -H 'Content-Type: application/json' -d "$3"
        check "$1: $3" cmp <(samples answer.wav) "$2"
    }
    asked /v1/audio/speech spanish.pcm "{\"input\":\"$text\",\"response_format\":\"wav\",\"voice\":\"high\"}"
    asked /v1/audio/speech spanish.pcm "{\"input\":\"$text\",\"response_format\":\"wav\",\"voice\":\"run/high\"}"
    asked /v1/audio/speech spanish.pcm "{\"input\":\"$text\",\"response_format\":\"wav\",\"language\":\"es\"}"
    asked /v1/audio/speech english.pcm "{\"input\":\"$text\",\"response_format\":\"wav\",\"voice\":\"alloy\"}"
    # As the page asks.
    asked /v1/audio/speech spanish.pcm "{\"model\":\"tts-1\",\"input\":\"$text\",\"response_format\":\"wav\",\"voice\":\"run\",\"speed\":1,\"speaker\":\"high\"}"
    asked / spanish.pcm "{\"text\":\"$text\",\"speaker\":\"high\"}"
    asked / spanish.pcm "{\"text\":\"$text\",\"language\":\"es\"}"
    asked / english.pcm "{\"text\":\"$text\"}"
    # wyoming PCM VOICE: the samples that its events bring.
    wyoming_says() {
        perl -MIO::Socket::INET -MJSON::PP -e '
            my ($port, $text, $voice) = @ARGV;
            my $s = IO::Socket::INET->new("127.0.0.1:$port") or die;
            my %data = (text => $text, $voice ? (voice => decode_json($voice)) : ());
            print $s encode_json({type => "synthesize", data => \%data}), "\n";
            while (my $line = <$s>) {
                my $event = decode_json($line);
                read($s, my $more, $event->{data_length} // 0);
                read($s, my $sound, $event->{payload_length} // 0);
                print $sound if $event->{type} eq "audio-chunk";
                last if $event->{type} =~ /^(audio-stop|error)$/;
            }' "$wyoming" "$text" "$2" >wyoming.pcm
        check "Wyoming: $2" cmp wyoming.pcm "$1"
    }
    wyoming_says spanish.pcm '{"name":"run","speaker":"high"}'
    wyoming_says spanish.pcm '{"name":"run/high"}'
    wyoming_says spanish.pcm '{"language":"es"}'
    wyoming_says english.pcm ''
    curl -s "http://127.0.0.1:$http/v1/audio/voices" >voices.json
    check "each speaker has a language" perl -MJSON::PP -0777 -ne '
        my %of = map { $_->{id} => "@{$_->{languages}}" } @{decode_json($_)->{voices}};
        exit !($of{"run/high"} eq "es" && $of{"run/low"} eq "en" && $of{run} =~ / /)' voices.json
    curl -s "http://127.0.0.1:$http/voices" >voices.json
    check "in Piper's list, too" perl -MJSON::PP -0777 -ne '
        my $of = decode_json($_)->{run}{speaker_languages}; exit !($of->{high} eq "es" && $of->{low} eq "en")' voices.json
    check "in Wyoming's, too" perl -MIO::Socket::INET -MJSON::PP -e '
        my $s = IO::Socket::INET->new("127.0.0.1:$ARGV[0]") or die;
        print $s qq({"type":"describe"}\n);
        my $event = decode_json(scalar <$s>);
        read($s, my $data, $event->{data_length} // 0);
        my $info = $data ? decode_json($data) : $event->{data};
        my %of = map { $_->{name} => "@{$_->{languages}}" } @{$info->{tts}[0]{voices}};
        exit !($of{"run/high"} eq "es" && $of{"run/low"} eq "en")' "$wyoming"
    served 0
fi

finish
