# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# Runs that compute the same in different ways, whose metrics part by rounding alone; after support/cli.sh.
#
# How far that may be is measured in the same test, as tests/support/rounding.h does it for one step: a program whose
# sums are rounded in another order computes what this one would with numbers that are a little different. A sum of k
# terms errs by a random walk of k roundings, two deviations of which are 2 √k 2⁻²⁴. So the run is made again from numbers
# that are moved by that much, up or down at random: how far its metrics are from those of the numbers as they were tells,
# step by step, what becomes of an error.
#
# Errors are made in each step. One that was made j steps ago has become what one of the beginning had in step j, and those
# of different steps are independent, so their squares add up. Each of two programs may err that far: twice of it is
# allowed, and the rounding of the value itself. One move may miss an edge that the other program fell over (a unit that
# is just off, two alignments that are equally good), so moves are made until one went as far; only when many did not, the
# runs differ. Edges are rare, something wrong is not: half of what is compared must have been compared sharply, with a
# bound of at most 1 % of the value. Counts, and what follows from them, are the same in both runs.
#
# A WAY is a function of the test: `WAY OUTPUT ARGUMENTS...` makes such a run on the CPU, with more arguments of `train`.
# Two variables say what the other run rounds otherwise:
#
# follows_terms   terms of the longest sum. Not set: all rows of a step, as for the gradient of a weight on another device.
#                 1: the passes are the same, bit for bit, and only the gradients of the parts of a batch are added up
#                 otherwise. Of their error a weight sees what the rate is of the weight, some hundredth; its own last
#                 place is more than that.
# follows_corpus  recordings whose features the other run computes itself, so that these are moved, too

follows_least=4 # moves
follows_most=32 # one of two or three goes over an edge that is as near as rounding
follows_far=100 # exit code: farther apart than moves have gone

# rounding RUN: by how much, of themselves, numbers are moved
rounding() {
    # shellcheck disable=SC2016
    perl -e 'my ($terms, $file) = @ARGV;
        open(my $f, "<", $file) or die "$file: $!";
        if ($terms eq "") { while (<$f>) { $terms = $1 if /"frames":(\d+)/ && $1 > $terms } }
        print 2 * sqrt($terms) * 2 ** -24' "${follows_terms:-}" "$1/metrics.jsonl"
}

# moved_weights FROM TO DRAW ROUNDING: the tensors of a checkpoint, without its metadata, which have a hash of them
moved_weights() {
    # shellcheck disable=SC2016
    perl -MJSON::PP -e '
        my ($from, $to, $draw, $share) = @ARGV;
        local $/;
        open(my $in, "<:raw", $from) or die "$from: $!";
        my $all = <$in>;
        my $bytes = unpack("Q<", $all);
        my $head = decode_json(substr($all, 8, $bytes));
        my $data = substr($all, 8 + $bytes);
        delete $head->{__metadata__};
        srand($draw);
        for my $name (sort keys %$head) {
            my ($at, $end) = @{$head->{$name}{data_offsets}};
            die "$name: $head->{$name}{dtype}\n" if $head->{$name}{dtype} ne "F32";
            my @values = unpack("f<*", substr($data, $at, $end - $at));
            $_ *= 1 + (rand() < 0.5 ? $share : -$share) for @values;
            substr($data, $at, $end - $at) = pack("f<*", @values);
        }
        my $text = encode_json($head);
        open(my $out, ">:raw", $to) or die "$to: $!";
        print $out pack("Q<", length($text)), $text, $data;' "$@"
}

# moved_corpus FROM TO DRAW ROUNDING: a corpus of 16-bit recordings, as numbers of 32 bits
moved_corpus() {
    mkdir -p "$2/wavs" && cp "$1/metadata.csv" "$2"
    # shellcheck disable=SC2016
    perl -e '
        my ($from, $to, $draw, $share) = @ARGV;
        local $/;
        srand($draw);
        for my $name (map { s/.*\///r } sort glob("$from/wavs/*.wav")) {
            open(my $in, "<:raw", "$from/wavs/$name") or die "$name: $!";
            my $all = <$in>;
            my $rate = unpack("V", substr($all, 24, 4));
            my $data = pack("f<*", map { $_ / 32768 * (1 + (rand() < 0.5 ? $share : -$share)) } unpack("s<*", substr($all, 44)));
            open(my $out, ">:raw", "$to/wavs/$name") or die "$name: $!";
            print $out pack("a4Va4a4VvvVVvva4V", "RIFF", 36 + length($data), "WAVE", "fmt ", 16, 3, 1, $rate, 4 * $rate, 4, 32,
                            "data", length($data)), $data;
        }' "$@"
}

# moved WAY N: makes the run WAY.N from moved numbers; N = 0: from those of the beginning, as they are.
moved() {
    local share=0 more=()
    if [ ! -e "$1.start" ]; then "$1" "$1.start" --lr 1e-25; fi # leaves the weights as they were
    if [ "$2" -gt 0 ]; then share=$(rounding "$1.0"); fi
    if [ -n "${follows_corpus:-}" ]; then
        check "$1: recordings, moved for the time $2" moved_corpus "$follows_corpus" "$1.corpus.$2" "$2" "$share"
        more=(--train-data "$1.corpus.$2")
    fi
    local last=("$1.start"/checkpoints/step-*.safetensors)
    check "$1: weights, moved for the time $2" moved_weights "${last[-1]}" "$1.safetensors" "$2" "$share"
    "$1" "$1.$2" --init-from "$1.safetensors" "${more[@]}"
}

# compare ROUNDING A B RUN MOVED...: fails with $follows_far if A and B are farther apart than RUN and the others allow.
compare() {
    # shellcheck disable=SC2016
    perl -MJSON::PP -e '
        my ($far_apart, $share, @runs) = @ARGV;
        my ($one, $two, $still, @moved) = map {
            open(my $f, "<:raw", "$_/metrics.jsonl") or die "$_: $!\n";
            my %steps;
            while (<$f>) { my $j = decode_json($_); $steps{$j->{step}} = $j if exists $j->{grad_norm} }
            \%steps
        } @runs;
        my @steps = sort { $a <=> $b } keys %$one;
        for my $run ($two, $still, @moved) {
            die "other steps\n" if join(" ", @steps) ne join(" ", sort { $a <=> $b } keys %$run) || @steps < 2;
        }
        for my $k (qw(epoch lr utterances left_out tokens frames skipped)) {
            for (@steps) { die "step $_: $k is $one->{$_}{$k} and $two->{$_}{$k}\n" if $one->{$_}{$k} != $two->{$_}{$k} }
        }
        my ($compared, $sharp, $most) = (0, 0, 0);
        for my $k (qw(loss mel prior duration pitch energy grad_norm)) {
            my $squares = 0;
            for my $s (@steps) {
                my ($x, $y, $far) = ($one->{$s}{$k}, $two->{$s}{$k}, 0);
                for (@moved) { my $now = abs($_->{$s}{$k} - $still->{$s}{$k}); $far = $now if $now > $far }
                my $bound = 2 * sqrt($squares += $far * $far) + $share * abs($x);
                if (!(abs($x - $y) <= $bound)) {
                    print "step $s: $k is $x and $y, moved numbers allow $bound\n";
                    exit($far_apart);
                }
                $compared++;
                $sharp += $bound <= 0.01 * abs($x);
                $most = abs($x - $y) / $bound if abs($x - $y) > $most * $bound;
            }
        }
        printf "%d comparisons, %d of them sharp, apart by up to %.2g of the bound\n", $compared, $sharp, $most;
        exit(2 * $sharp < $compared)' "$follows_far" "$@"
}

# follows WAY A B: the metrics of the runs A and B, made in that way or in another one that computes the same, are the same
# within rounding. Runs are made for it: what the last one said is to be looked at before.
follows() {
    local count result=$follows_far runs=()
    for ((count = 0; result == follows_far && count <= follows_most; count++)); do
        if [ ! -e "$1.$count" ]; then moved "$1" "$count"; fi
        runs+=("$1.$count")
        if [ "$count" -lt "$follows_least" ]; then continue; fi
        compare "$(rounding "$1.0")" "$2" "$3" "${runs[@]}" >follows.out 2>&1
        result=$?
    done
    echo "$3 beside $2, $((count - 1)) moves: $(tail -n 1 follows.out)"
    check "$3: the metrics of $2" test "$result" -eq 0
}
