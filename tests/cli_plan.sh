#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts plan, with the program given as $1: from a real profile, as table and as JSON, and every refusal.
# shellcheck disable=SC2016 # Perl has its own variables
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"

done_with profile --set training.part=acoustic --set model.width=16 --set model.heads=2 --set model.hidden=16 --set model.encoder_blocks=1 \
    --set model.decoder_blocks=1 --batch-size 2 --set training.batch_frames=0 --backend cpu --num-steps 4 --warmup-steps 1 --json one.json
# holds "what" FILE EXPRESSION: of perl, with the JSON of the file in $r
holds() {
    check "$1: $3" perl -MJSON::PP -e 'local $/; open(F, "<:raw", shift); my $r = decode_json(<F>);
        exit(eval(shift) ? 0 : 1)' "$2" "$3"
}
holds 'the profile tells what a plan needs' one.json 'my $p = $r->{plan}; $p->{ranks} == 1 && $p->{gradient_bytes} > 0 &&
    $p->{utterances} == 2 && $p->{update_ms} > 0 && $p->{backward_ms} >= 0 && $p->{bucket_bytes} > 0 && $p->{host_cores}'
holds 'the profile tells when each bucket is final' one.json 'my $b = $r->{plan}{buckets}; my $sum = 0; $sum += $_->{bytes} for @$b;
    $sum == $r->{plan}{gradient_bytes} && @$b > 1 && $b->[-1]{lead_ms} == 0 && !grep { $_->{lead_ms} < 0 } @$b'
holds 'the profile tells each step' one.json 'my $t = $r->{step}{times_ms}; my $sum = 0; $sum += $_ for @$t;
    @$t == 4 && abs($sum / 4 / $r->{step}{mean} - 1) < 1e-4'

net=(--bandwidth 1.25 --latency 30)
done_with plan --profile one.json "${net[@]}"
for words in 'One rank: ' 'Gradients: ' 'Batch: 2 utterances a step for each rank' 'limited by' \
    'Largest useful number of ranks: '; do
    check "the table has '$words'" grep -qF -- "$words" stdout
done
check 'six rows' test "$(grep -cE '^ +[0-9]+ +[0-9.]+ +[0-9.]+ %' stdout)" -eq 6

done_with plan --profile one.json "${net[@]}" --ranks 1,2,3,1024 --json
cp stdout plan.json
holds 'JSON' plan.json '$r->{format} eq "myxtts plan" && $r->{version} == 1 && $r->{network}{bandwidth} == 1.25e9'
holds 'JSON' plan.json 'join(" ", map { $_->{ranks} } @{$r->{ranks}}) eq "1 2 3 1024"'
holds 'JSON' plan.json 'abs($r->{ranks}[0]{efficiency} - 1) < 1e-6 && $r->{ranks}[0]{way} eq "none"'
holds 'JSON' plan.json '!grep { $_->{efficiency} > 1.000001 || $_->{step_ms} < $r->{ranks}[0]{step_ms} - 1e-6 } @{$r->{ranks}}'
holds 'JSON' plan.json '!grep { $_->{limit} !~ /^(compute|data|bandwidth|latency|carrying|stragglers|batch)$/ } @{$r->{ranks}}'
holds 'JSON' plan.json '$r->{largest_useful} >= 1 && $r->{profile}{utterances} == 2'
holds 'JSON' plan.json '$r->{profile}{carry_ns_per_byte} > 0 && $r->{profile}{buckets} == $r->{ranks}[1]{buckets} && $r->{ranks}[1]{carry_ms} >= 0'

done_with plan --profile one.json "${net[@]}" --global-batch 8 --ranks 4,64 --json
cp stdout shared.json
holds 'a shared batch' shared.json '$r->{global_batch} == 8 && $r->{ranks}[1]{limit} eq "batch"'
done_with plan --profile one.json --bandwidth 0.00001 --latency 0 --least-efficiency 0.9
check 'a slow network limits' grep -q 'bandwidth' stdout
done_with plan --help
check 'help explains a rank' grep -q 'A rank is one process' stdout

refused 1 "'--profile FILE' is missing" 'myxtts profile --json' plan "${net[@]}"
refused 1 "'--bandwidth' is missing" '1.25 GB/s' plan --profile one.json --latency 1
refused 1 "'--latency' is missing" 'TCP' plan --profile one.json --bandwidth 1
refused 1 "'--bandwidth' needs a number" '1.25' plan --profile one.json --bandwidth fast --latency 1
refused 1 "'--bandwidth' needs a number" '1.25' plan --profile one.json --bandwidth -1 --latency 1
refused 1 "'--ranks' needs numbers" 'ranks 1,2,8' plan --profile one.json "${net[@]}" --ranks 1,,2
refused 1 "'--ranks' needs numbers" 'ranks 1,2,8' plan --profile one.json "${net[@]}" --ranks 0
refused 1 "'--least-efficiency' needs" 'half' plan --profile one.json "${net[@]}" --least-efficiency 2
refused 2 'nowhere.json' '.' plan --profile nowhere.json "${net[@]}"
echo '{' >broken.json
refused 2 'broken.json is not JSON' 'myxtts profile' plan --profile broken.json "${net[@]}"
echo '{"format":"other"}' >other.json
refused 2 'other.json is not a profile' 'myxtts profile' plan --profile other.json "${net[@]}"
sed 's/"backward_ms"/"backwards"/' one.json >old.json
refused 2 "old.json has no number 'plan.backward_ms'" 'measure again' plan --profile old.json "${net[@]}"
sed 's/"update_ms": [0-9.e+-]*/"update_ms": 1e9/' one.json >odd.json
refused 1 'do not fit into' 'whole run' plan --profile odd.json "${net[@]}"
sed 's/"lead_ms": [0-9.e+-]*/"lead_ms": -1/' one.json >odd.json
refused 1 'before the end of a backward pass is impossible' 'whole run' plan --profile odd.json "${net[@]}"
sed 's/"lead_ms"/"leads"/' one.json >old.json
refused 2 "old.json has no number 'lead_ms'" 'measure again' plan --profile old.json "${net[@]}"
sed 's/"buckets": \[[^]]*\]/"buckets": []/' one.json >even.json
done_with plan --profile even.json "${net[@]}"

finish
