# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# A small corpus for tests of commands that need a trained voice, and the network for it: hardly trained, since what is
# tested is the way, not the sound. Tokens are characters, so that libespeak-ng is not needed.

# tones DIR ROWS: tones of 1 to 2 s at 16 kHz, of the speakers "high" and "low", with texts that fit.
tones() {
    mkdir -p "$1/wavs"
    perl -e '
        my ($dir, $rows) = @ARGV;
        open(my $list, ">", "$dir/metadata.csv");
        for my $row (0 .. $rows - 1) {
            my $id = sprintf("row-%03d", $row);
            my $count = 16000 + 2000 * ($row * 7 % 9);
            my $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * ($row % 10);
            my $data = pack("s<*", map { int(9000 * sin($_ * $step)) } 0 .. $count - 1);
            open(my $wav, ">:raw", "$dir/wavs/$id.wav");
            print $wav pack("a4Va4a4VvvVVvva4V", "RIFF", 36 + length($data), "WAVE", "fmt ", 16, 1, 1, 16000, 32000, 2,
                            16, "data", length($data)), $data;
            close($wav);
            print $list "$id|", ($row % 2 ? "low" : "high"), "|The tone number ", chr(97 + $row % 26), ".\n";
        }' "$1" "$2"
}

# Settings of the network.
# shellcheck disable=SC2034
small=(--set model.width=32 --set model.heads=2 --set model.hidden=64 --set model.encoder_blocks=1
    --set model.decoder_blocks=1 --set data.tokens=chars --batch-size 4)
