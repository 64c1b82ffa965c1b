# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # what support/cli.sh sets
#
# Corpora of tones for tests of commands, and a network for them: hardly trained, since what is tested is the way, not the
# sound. Tokens are characters, so that libespeak-ng is not needed.
#
# What several tests begin with, fixtures, is made once, in a folder that support/cli.sh names ($fixtures). ctest makes what a
# test needs before it starts (it looks for `tones …` and `fixture …` at the beginning of a line, see cmake/Checks.cmake);
# without ctest it is made on the way. Nobody changes what is there: a test gets a copy.
#
#   tones    24 tones, row-000 to row-023, and metadata.csv
#   voice    a run of 8 steps on the first 12 of them: acoustic network and vocoder
#   mute     a run of one step on them, without a vocoder
#   cutter   a run of 60 steps on the first 8 of them, without a vocoder: for cutting

# tone_corpus DIR ROWS PERL: tones at 16 kHz. PERL sets, for $row, how many samples there are ($count), radians from sample
# to sample ($step), the peak ($loud) and what follows the id in the manifest ($text).
tone_corpus() {
    mkdir -p "$1/wavs"
    perl -e '
        my ($dir, $rows, $code) = @ARGV;
        open(my $list, ">", "$dir/metadata.csv");
        for my $row (0 .. $rows - 1) {
            my $id = sprintf("row-%03d", $row);
            our ($count, $step, $loud, $text);
            my $letter = chr(97 + $row % 26);
            eval "$code; 1" or die $@;
            my $data = pack("s<*", map { int($loud * sin($_ * $step)) } 0 .. $count - 1);
            open(my $wav, ">:raw", "$dir/wavs/$id.wav");
            print $wav pack("a4Va4a4VvvVVvva4V", "RIFF", 36 + length($data), "WAVE", "fmt ", 16, 1, 1, 16000, 32000, 2,
                            16, "data", length($data)), $data;
            close($wav);
            print $list "$id|$text\n";
        }' "$1" "$2" "$3"
}

# Settings of the network.
# shellcheck disable=SC2034
small=(--set training.part=acoustic --set model.width=32 --set model.heads=2 --set model.hidden=64 --set model.encoder_blocks=1
    --set model.decoder_blocks=1 --set data.tokens=chars --batch-size 4)

# fixture_make NAME: in the current folder
fixture_make() {
    case $1 in
    tones) tones_make tones 24 ;;
    voice) tones tones 12 && "$program" train --train-data tones --output voice "${small[@]}" --steps 8 --part both ;;
    mute) tones tones 12 && "$program" train --train-data tones --output mute "${small[@]}" --steps 1 --epochs 1 ;;
    cutter)
        tones tones 8 && "$program" train --train-data tones --output cutter "${small[@]}" --steps 60 --epochs 1000 \
            --eval-every 0 --set training.samples=0
        ;;
    *) false ;;
    esac
}

# fixture_there NAME: makes it if it is not there, and only one process does.
fixture_there() {
    [ -e "$fixtures/$1" ] && return
    mkdir -p "$fixtures" || exit 1
    (
        flock 9
        [ -e "$fixtures/$1" ] && exit
        rm -rf "$fixtures/making-$1"
        mkdir "$fixtures/making-$1" && cd "$fixtures/making-$1" || exit 1
        fixture_make "$1" >made.out 2>&1 </dev/null && find "$1" -type f -exec chmod a-w {} + && mv "$1" ..
    ) 9>"$fixtures/$1.lock"
    if [ ! -e "$fixtures/$1" ]; then
        echo "the fixture '$1' cannot be made:"
        cat "$fixtures/making-$1/made.out"
        exit 1
    fi
}

# fixture NAME DIR: a copy of it as DIR, which must not be there
fixture() {
    fixture_there "$1"
    cp -r --preserve=timestamps --no-preserve=mode --reflink=auto "$fixtures/$1" "$2"
}

# tones_make DIR ROWS: tones of 1 to 2 s of the speakers "high" and "low", with texts that fit.
tones_make() {
    # shellcheck disable=SC2016
    tone_corpus "$1" "$2" '$count = 16000 + 2000 * ($row * 7 % 9); $loud = 9000;
        $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * ($row % 10);
        $text = ($row % 2 ? "low" : "high") . "|The tone number $letter."'
}

# tones DIR ROWS: the same, in a test from the fixture
tones() {
    if [ -z "${fixtures:-}" ] || [ "$2" -gt 24 ]; then
        tones_make "$@"
        return
    fi
    fixture_there tones
    mkdir -p "$1/wavs"
    local files=("$fixtures"/tones/wavs/row-*)
    cp --no-preserve=mode --reflink=auto "${files[@]:0:$2}" "$1/wavs"
    head -n "$2" "$fixtures/tones/metadata.csv" >"$1/metadata.csv"
}

# short_tones DIR ROWS: tones of a quarter of a second: two devices, or two processes, have as much to do with them. They need
# the settings of `short`.
short_tones() {
    # shellcheck disable=SC2016
    tone_corpus "$1" "$2" '$count = 4000 + 250 * ($row * 7 % 9); $loud = 9000; $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * ($row % 10);
        $text = ($row % 2 ? "low" : "high") . "|$letter tone"'
}
# shellcheck disable=SC2034
short=(--set data.min_seconds=0.2)

# long_tones FILE SAMPLES: 12 tones of 1.5 s, each followed by SAMPLES samples of faint noise, at 16 kHz
long_tones() {
    perl -e '
        my $data = "";
        my $seed = 1;
        for my $i (0 .. 11) {
            $data .= pack("s<*", map { int(9000 * sin($_ * 0.09)) } 0 .. 23999);
            $data .= pack("s<*", map { $seed = ($seed * 1103515245 + 12345) % 2147483648; $seed % 21 - 10 } 1 .. $ARGV[1]);
        }
        open(my $wav, ">:raw", $ARGV[0]);
        print $wav pack("a4Va4a4VvvVVvva4V", "RIFF", 36 + length($data), "WAVE", "fmt ", 16, 1, 1, 16000, 32000, 2, 16,
                        "data", length($data)), $data;' "$1" "$2"
}
