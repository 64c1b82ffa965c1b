#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Measures `myxtts serve` beside Piper's own HTTP server and wyoming-piper, which speak the same voice, exported with
# `myxtts export --format piper`. All servers are there at once, on 127.0.0.1 only, and are measured in turns.
#
#     scripts/bench/serve.sh build
#
#   - first sound: milliseconds from the request for a sentence of ten words to its first sample. Bars: at most 120 ms, and
#     at most half of the peer's time. The first sound of 1,000 words must come as soon as that of ten (at most 1.2 times as
#     late).
#   - sentences per second of 32 clients at once, each with one sentence of ten words after the other. Bars: 2.5 times the
#     peer, and 1.8 times our own server with `--batch 1`, which speaks one piece at a time.
#   - first sound of "hi" while 32 clients listen to a text of 13 KB each. Bar: at most 150 ms.
#   - work before the first word: CPU milliseconds for texts of 64 KB that are made to be slow to read (bench/serve/first_word.c);
#     the slowest five are printed. Bar: at most 20 ms.
#
# A figure is the median over the rounds; a ratio is the median over the rounds of the ratio in each round. Numbers are in
# BUILD/bench/serve.json, in the form of the other benches; the ratio of a time is that of the peer divided by ours, so
# that more is better everywhere. A peer that cannot be installed or does not start is named and left out. With --strict
# a bar that does not hold makes the exit code 1. Environment variables, with defaults:
#
#     VOICE=…         a run, checkpoint or voice file; without it a voice of size tiny learns for MINUTES (3), once
#     ROUNDS=5
#     CLIENTS=32
#     REQUESTS=96     sentences of all clients together, in each round

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
. "$here/../tell.sh"

build="$(realpath "${1:?usage: scripts/bench/serve.sh BUILD [--strict]}")" strict="${2:-}"
program="$build/myxtts" python="$build/venv/bin/python" folder="$build/bench" result="$build/bench/serve.json"
client=(timeout 300 "$build/serve_client") rounds="${ROUNDS:-5}" clients="${CLIENTS:-32}" requests="${REQUESTS:-96}" minutes="${MINUTES:-3}"
sentence='The morning train was late, so we walked to town.'
work='' pids=()

leave()
{
    [[ ${#pids[@]} -eq 0 ]] || kill "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}

free_port()
{
    perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0")->sockport'
}

# until_true PID COMMAND...: waits until the command succeeds; fails if the process ends or a minute is over.
until_true()
{
    local pid="$1" turn
    shift
    for ((turn = 0; turn < 300; turn++)); do
        kill -0 "$pid" 2>/dev/null || return 1
        if "$@" 2>/dev/null; then return 0; fi
        sleep 0.2
    done
    return 1
}

listens()
{
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# ours NAME OPTIONS...: starts our server on free ports and sets http and wyoming to them.
ours()
{
    local log="$work/$1.log"
    shift
    "$program" serve "$voice" --listen 127.0.0.1:0 --wyoming 127.0.0.1:0 --queue 64 --connections-per-address 64 "$@" >"$log" 2>&1 &
    pids+=($!)
    until_true $! grep -q 'ready;' "$log" || { cat "$log" >&2; exit 1; }
    http=$(sed -n 's|.*listening on http://.*:\([0-9]*\)/.*|\1|p' "$log")
    wyoming=$(sed -n 's|.*listening on tcp://.*:\([0-9]*\) .*|\1|p' "$log")
}

# peer NAME PORT COMMAND...: starts it; false if it does not listen.
peer()
{
    local name="$1" port="$2"
    shift 2
    "$@" >"$work/$name.log" 2>&1 &
    pids+=($!)
    until_true $! listens "$port"
}

# first NAME PROTOCOL PORT FILE [first]: adds the median milliseconds of ten requests to the figures.
first()
{
    local numbers
    numbers=$("${client[@]}" "$2" "$3" 1 10 "${@:4}")
    printf '%s %s\n' "$1" "${numbers%% *}" >>"$work/figures"
}

# many NAME PROTOCOL PORT: adds the sentences per second of all clients.
many()
{
    local numbers
    read -ra numbers <<<"$("${client[@]}" "$2" "$3" "$clients" "$requests" "$work/ten.txt")"
    printf '%s %s\n' "$1" "${numbers[2]}" >>"$work/figures"
}

# beside NAME PROTOCOL PORT: the same as first for a short text, while 32 clients are sent long ones.
beside()
{
    "${client[@]}" "$2" "$3" 32 32 "$work/long.txt" >"$work/long.out" 2>&1 &
    local others=$!
    sleep 2 # until all of them are spoken to
    first "$1" "$2" "$3" "$work/hi.txt"
    kill -0 "$others" || { printf 'bench_serve: the long texts ended before the short ones\n' >&2; exit 1; }
    kill "$others"
    wait "$others" 2>/dev/null || true
    sleep 1 # the server has noticed
}

for file in "$program" "$build/serve_client" "$build/first_word"; do
    [[ -x $file ]] || { echo "bench_serve: $file does not exist: make bench-serve builds it" >&2; exit 1; }
done
mkdir -p "$folder"
work=$(mktemp -d)
trap leave EXIT

voice="${VOICE:-$folder/serve/run}"
if [[ -z ${VOICE:-} && ! -e $voice/checkpoints ]]; then
    title "A voice of size tiny that learns for $minutes minutes (once; it is kept in $folder/serve)"
    run "$program" corpus demo "$folder/serve/corpus" --language en --count 300
    run "$program" train --train-data "$folder/serve/corpus" --output "$voice" --model-size tiny --max-minutes "$minutes" --epochs 100000 \
        --eval-every 0 --set training.samples=0
fi
"$program" export "$voice" --quiet --format piper --output "$work/piper"
printf '%s\n' "$sentence" >"$work/ten.txt"
for ((i = 0; i < 100; i++)); do printf '%s ' "$sentence"; done >"$work/thousand.txt"
for ((i = 0; i < 265; i++)); do printf '%s ' "$sentence"; done >"$work/long.txt" # 13 KB
printf 'hi' >"$work/hi.txt"

title "Servers"
ours ours
cases=("ours-http piper $http" "ours-wyoming wyoming $wyoming") # name, protocol, port
ours single --batch 1
cases+=("single-http piper $http" "single-wyoming wyoming $wyoming")
port=$(free_port)
if "$python" -c 'import piper.http_server' 2>/dev/null &&
    peer piper "$port" "$python" -m piper.http_server -m "$work/piper/voice.onnx" --host 127.0.0.1 --port "$port"; then
    cases+=("peer-http piper $port")
else
    printf "Piper's HTTP server could not be started and is left out\n"
fi
port=$(free_port)
if "$python" -c 'import wyoming_piper' 2>/dev/null &&
    peer wyoming-piper "$port" "$python" -m wyoming_piper --voice voice --data-dir "$work/piper" --uri "tcp://127.0.0.1:$port"; then
    cases+=("peer-wyoming wyoming $port")
else
    printf 'wyoming-piper could not be started and is left out\n'
fi
for case in "${cases[@]}"; do
    read -r name protocol port <<<"$case"
    read -ra numbers <<<"$("${client[@]}" "$protocol" "$port" 2 8 "$work/ten.txt")" # the first ones load libraries and pages
    printf '%-15s port %s, %.2f s of sound for the sentence\n' "$name" "$port" "$(perl -e "print ${numbers[3]} / 22050")"
done

printed=0
for ((round = 1; round <= rounds; round++)); do
    title "round $round of $rounds"
    for case in "${cases[@]}"; do
        read -r name protocol port <<<"$case"
        case $name in
        single-*) ;;
        *) first "first-$name" "$protocol" "$port" "$work/ten.txt" ;;
        esac
        if [[ $name == ours-* ]]; then # nobody listens to a thousand words: these clients leave after the first sample
            first "short-$name" "$protocol" "$port" "$work/ten.txt" first
            first "long-$name" "$protocol" "$port" "$work/thousand.txt" first
            beside "beside-$name" "$protocol" "$port"
        fi
        many "many-$name" "$protocol" "$port"
    done
    tail -n +$((printed + 1)) "$work/figures"
    printed=$(wc -l <"$work/figures")
done

title "Work before the first word, CPU milliseconds of the slowest texts of 64 KB"
"$build/first_word" "$voice" >"$work/first_word"
sort -nr "$work/first_word" | sed -n 1,5p
printf 'worst-text %s\n' "$(sort -nr "$work/first_word" | sed -n '1s/ .*//p')" >>"$work/figures"

title "myxtts serve beside Piper ($(nproc) cores, $clients clients)"
# shellcheck disable=SC2016 # Perl has its own variables
perl -MJSON::PP -e '
    my ($figures, $result, $strict) = @ARGV;
    my %all;
    open(my $in, "<", $figures) or die $!;
    while (<$in>) { my ($name, $value) = split; push @{$all{$name}}, $value }
    sub median { my @s = sort { $a <=> $b } @_; @s % 2 ? $s[$#s / 2] : ($s[@s / 2 - 1] + $s[@s / 2]) / 2 }
    # The median over the rounds of one divided by the other.
    sub ratio { my ($over, $under) = map { $all{$_} } @_; median(map { $over->[$_] / $under->[$_] } 0 .. $#$over) }
    my @rows;
    sub row {
        my ($words, $name, $unit, $peer, $other, $bar, $most) = @_;
        return if !$all{$name} || ($other && !$all{$other});
        my %row = (name => $words, value => median(@{$all{$name}}), unit => $unit, peer => $peer, bar => $bar, most => $most);
        if ($other) {
            $row{peer_value} = median(@{$all{$other}});
            $row{ratio} = $unit eq "ms" ? ratio($other, $name) : ratio($name, $other);
        }
        $row{$_} //= undef for "peer_value", "ratio";
        my $holds = defined $bar ? $row{ratio} >= $bar : defined $most ? $row{value} <= $most : undef;
        $row{holds} = defined $holds ? ($holds ? JSON::PP::true : JSON::PP::false) : undef;
        push @rows, \%row;
        printf "%-38s %8.1f %-4s %-15s %8s %7s  %-9s %s\n", $words, $row{value}, $unit, $peer // "",
            defined $row{peer_value} ? sprintf("%.1f", $row{peer_value}) : "", defined $row{ratio} ? sprintf("%.2fx", $row{ratio}) : "",
            defined $bar ? "at least ${bar}x" : defined $most ? "at most $most" : "", defined $holds ? $holds ? "held" : "missed" : "";
    }
    printf "%-38s %13s %-15s %8s %7s\n", "", "ours", "peer", "its", "ratio";
    for (["http", "HTTP", "Piper"], ["wyoming", "Wyoming", "wyoming-piper"]) {
        my ($way, $word, $peer) = @$_;
        row("first sound of 10 words, $word", "first-ours-$way", "ms", undef, undef, undef, 120);
        row("first sound of 10 words, $word", "first-ours-$way", "ms", $peer, "first-peer-$way", 2);
        row("first sound of 1,000 words, $word", "long-ours-$way", "ms", "10 words", "short-ours-$way", 0.83);
        row("\"hi\" beside 32 texts of 13 KB, $word", "beside-ours-$way", "ms", undef, undef, undef, 150);
        row("sentences per second, $word", "many-ours-$way", "1/s", $peer, "many-peer-$way", 2.5);
        row("sentences per second, $word", "many-ours-$way", "1/s", "--batch 1", "many-single-$way", 1.8);
    }
    row("CPU before the first word, worst text", "worst-text", "ms", undef, undef, undef, 20);
    open(my $out, ">", $result) or die "$result: $!";
    print $out JSON::PP->new->canonical->pretty->encode(\@rows);
    close($out) or die "$result: $!";
    my $missed = grep { defined $_->{holds} && !$_->{holds} } @rows;
    printf "\n%d bars held, %d missed; the numbers are in %s\n", scalar(grep { $_->{holds} } @rows), $missed, $result;
    exit($strict eq "--strict" && $missed > 0);
' "$work/figures" "$result" "$strict"
