# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# Corpora of tones for tests of commands, and a network for them: hardly trained, since what is tested is the way, not the
# sound. Tokens are characters, so that libespeak-ng is not needed.

# tone_corpus DIR ROWS PERL: tones at 16 kHz. PERL sets, for $row, how many samples there are ($count), radians from sample
# to sample ($step), the peak ($loud) and what stands in the manifest behind the id ($text).
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

# tones DIR ROWS: tones of 1 to 2 s of the speakers "high" and "low", with texts that fit.
tones() {
    # shellcheck disable=SC2016
    tone_corpus "$1" "$2" '$count = 16000 + 2000 * ($row * 7 % 9); $loud = 9000;
        $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * ($row % 10);
        $text = ($row % 2 ? "low" : "high") . "|The tone number $letter."'
}

# long_tones FILE SAMPLES: 12 tones of 1.5 s, each followed by so many samples of faint noise, at 16 kHz
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

# Settings of the network.
# shellcheck disable=SC2034
small=(--set training.part=acoustic --set model.width=32 --set model.heads=2 --set model.hidden=64 --set model.encoder_blocks=1
    --set model.decoder_blocks=1 --set data.tokens=chars --batch-size 4)
