#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Limits of memory of myxtts train, with the program given as $1: what does not fit is refused, and the number in the hint is
# enough and no more than that; on one device and on two.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/modes.sh
. "$here/support/modes.sh"

# ---- memory limits ----
run train --help all
check "limits are in MiB" grep -q -- '--model-gpu-memory MiB' stdout
check "and nothing that is MiB is called MB" test "$(grep -c '\bMB\b' stdout)" -eq 0
tight=(--set data.num_workers=1 --model-gpu-memory $((9 * cores + 16)))
done_with "${short[@]}" --backend cpu "${tight[@]}" --output tuned
said 'tuned' 'auto-tune: a buffer of '
# A buffer that was given is not made smaller without a word: it is refused, with one that fits.
refused 3 'which has ' "'--buffer-size [0-9]*' fits" "${short[@]}" --backend cpu "${tight[@]}" \
    --buffer-size 1000 --output large
size=$(grep -o "'--buffer-size [0-9]*' fits" stderr | grep -o '[0-9]*')
done_with "${short[@]}" --backend cpu "${tight[@]}" --buffer-size "$size" --output fits
check "the buffer that fits is what runs" test "$(grep -c "\"prepared_limit\":$size," fits/metrics.jsonl)" -eq 3
refused 3 'which has ' '--batch-size [0-9]* --grad-accum [0-9]*. fits and also makes steps that average 16' "${base[@]}" \
    --batch-size 16 --backend cpu --output r1 "${tight[@]}"
fits=$(grep -o 'batch-size [0-9]* --grad-accum [0-9]*' stderr | head -1)
enough=$(grep -o -- '--model-gpu-memory [0-9]*. is enough' stderr | grep -o '[0-9]*')
check "a step of the same size: $fits" test "$(awk '{ print $2 * $4 }' <<<"$fits")" -eq 16
# shellcheck disable=SC2086 # two options with their values
done_with "${base[@]}" --backend cpu --output fitting --steps 1 "${tight[@]}" --$fits
done_with "${base[@]}" --batch-size 16 --backend cpu --output enough --steps 1 "${tight[@]}" --model-gpu-memory "$enough"
run "${base[@]}" --batch-size 16 --backend cpu --dry-run "${tight[@]}" --model-gpu-memory $((enough - 1))
check "a dry run that does not fit ends with 3, not $code" test "$code" -eq 3
check "a dry run tells that it does not fit" grep -q '^    does not fit$' stdout
check "and what is enough" grep -q -- "'--model-gpu-memory $enough' is enough" stderr
done_with "${base[@]}" --batch-size 16 --backend cpu --dry-run "${tight[@]}" --model-gpu-memory "$enough"
# On one device both limits together hold: so they do in the hint.
run "${base[@]}" --batch-size 16 --backend cpu --dry-run "${tight[@]}" --data-gpu-memory 3 --model-gpu-memory 20
check "one device, two limits" grep -q -- "'--model-gpu-memory $((enough - 3))' is enough" stderr
refused 3 'which has ' "--model-gpu-memory [0-9]*. is enough" "${base[@]}" --batch-size 16 --backend cpu --output r2 \
    --model-gpu-memory $((4 * cores + 2))
check "no batch that does not fit is offered" test "$(grep -c -- '--batch-size' stderr)" -eq 0
refused 3 'a limit of 1000000000 MiB is more than cpu:0 has' 'give .--model-gpu-memory. at most' "${base[@]}" \
    --backend cpu --output r3 --model-gpu-memory 1000000000

# ---- two devices ----
if two_cores; then
    refused 3 'a limit of 1000000000 MiB is more than cpu:0 has' 'give .--data-gpu-memory. at most' "${base[@]}" \
        "${pair[@]}" --output r4 --data-gpu-memory 1000000000
    refused 3 'of cpu:0 (GPU:0), which has ' '--data-gpu-memory [0-9]*. is enough' "${base[@]}" "${pair[@]}" \
        --batch-size 16 --output r5 --data-gpu-memory $((5 * ((cores + 1) / 2) + 2))
    check "a data device that is too small is no reason for a smaller model" test \
        "$(grep -c 'model-size\|gradient_checkpointing\|samples' stderr)" -eq 0
    enough=$(grep -o -- '--data-gpu-memory [0-9]*. is enough' stderr | grep -o '[0-9]*')
    done_with "${base[@]}" "${pair[@]}" --batch-size 16 --output r5 --steps 1 --data-gpu-memory "$enough"

    # Two limits on one memory. Each alone would be possible.
    all=$("$program" devices --json --set device.cpu_devices=2 2>/dev/null | perl -MJSON::PP -e 'local $/;
        my $r = decode_json(<>); print int($_->{memory_bytes} / 1048576) for grep { $_->{device} eq "cpu:0" } @{$r->{devices}}')
    refused 3 "limits of $((all * 6 / 10)) MiB for data and $((all * 6 / 10)) MiB for the model are " \
        'would fit, or any two that are at most' "${dry[@]}" "${pair[@]}" --data-gpu-memory $((all * 6 / 10)) \
        --model-gpu-memory $((all * 6 / 10))
    fits=$(grep -o -- "--data-gpu-memory [0-9]* --model-gpu-memory [0-9]*" stderr)
    # shellcheck disable=SC2086 # two options with their values
    done_with "${dry[@]}" "${pair[@]}" $fits
    done_with "${dry[@]}" "${pair[@]}" --data-gpu-memory $((all * 6 / 10))
    said 'one limit' '(what the other limit leaves of '
fi

finish
