#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts train --dashboard: what is refused before training starts, that the run is served while it trains, and that the
# token is written down nowhere. HTTP itself is tested by test_dashboard.

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
unset MYXTTS_DASHBOARD_TOKEN
tones corpus 12
start=(train --train-data corpus --output run "${small[@]}" --device cpu:0 --epochs 1000000 --eval-every 0)

run "${start[@]}" --steps 1 --dashboard nonsense
if grep -q 'built without the dashboard' stderr; then
    check "without the part: exit code $code" test "$code" -eq 3
    check "without the part: a hint" grep -q 'hint: install libmicrohttpd-dev' stderr
    finish
    exit
fi

refused 1 "'nonsense' is not a valid address" 'ADDRESS:PORT' "${start[@]}" --dashboard nonsense
refused 1 'would show the run to everyone' "'--dashboard-token-file token.txt'" "${start[@]}" --dashboard 0.0.0.0:0
refused 1 'token is not valid' 'openssl rand' "${start[@]}" --dashboard --dashboard-token short
refused 1 "'--dashboard-token' is given without a dashboard" "'--dashboard ADDR:PORT'" "${start[@]}" \
    --dashboard-token 0123456789abcdef

# get PORT PATH: the answer.
get() {
    exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' "$2" >&3
    cat <&3
    exec 3<&- 3>&-
}

MYXTTS_DASHBOARD_TOKEN=0123456789abcdef "$program" "${start[@]}" --dashboard 127.0.0.1:0 >train.out 2>train.err </dev/null &
trainer=$!
trap 'kill -KILL "$trainer" 2>/dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 600); do [ -s run/metrics.jsonl ] && break; sleep 0.1; done
port=$(sed -n 's/^dashboard: http:..127.0.0.1:\([0-9]*\).?token=TOKEN$/\1/p' train.err)
check "says where it is" test -n "$port"
check "refuses who has no token" grep -q '^HTTP/1.1 401' <(get "$port" /metrics.jsonl)
check "serves the run" grep -q '^{"step":1,' <(get "$port" '/metrics.jsonl?token=0123456789abcdef')
check "serves its page" grep -q 'data-live' <(get "$port" '/?token=0123456789abcdef')
refused 2 'in use' "another port, '--dashboard 127.0.0.1:" "${start[@]}" --output other --dashboard "127.0.0.1:$port"
kill -TERM "$trainer"
wait "$trainer"
check "ends as ever" test $? -eq 4
check "the address is a setting" grep -q 'dashboard: .*127.0.0.1:0' run/config.yaml
check "the token is written down nowhere" test -z "$(grep -rl 0123456789abcdef run)"
finish
