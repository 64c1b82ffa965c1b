#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts plan, with the program given as $1, from the profile of a run that trains its vocoder, too: the buckets of both
# networks make up the gradient.
# shellcheck disable=SC2016 # Perl has its own variables
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"

done_with profile --set model.width=16 --set model.heads=2 --set model.hidden=16 --set model.encoder_blocks=1 --set model.decoder_blocks=1 \
    --batch-size 2 --set training.batch_frames=0 --set vocoder.segments=1 --set vocoder.segment_frames=16 --backend cpu \
    --num-steps 2 --warmup-steps 1 --json both.json
check "the buckets of both networks make up the gradient" perl -MJSON::PP -e 'local $/; my $p = decode_json(<>)->{plan};
    my $sum = 0; $sum += $_->{bytes} for @{$p->{buckets}};
    exit($sum == $p->{gradient_bytes} && @{$p->{buckets}} > 1 && $p->{buckets}[-1]{lead_ms} == 0 ? 0 : 1)' both.json
done_with plan --profile both.json --bandwidth 1.25 --latency 30
check "plan accepts it" grep -q 'Largest useful number of ranks: ' stdout

finish
