#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Opens the page of a run in headless Chromium, in both languages, at the sizes of a phone and a desktop, in light and dark
# mode (scripts/browser.py). Checks that the console is empty, curves are drawn, sounds can be played, and nothing is
# requested from elsewhere (scripts/browser_check.js); and checks the live page while a run trains
# (scripts/browser_live_check.js), and the page of `myxtts serve` with the voice of that run (scripts/browser_serve_check.js).
# The screenshots in BUILD/browser are for people to look at.
#
#     scripts/test_browser.sh build

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
build="$(realpath "${1:?usage: scripts/test_browser.sh BUILD}")"
# shellcheck source=tests/support/tones.sh
. "$here/../tests/support/tones.sh"

folder="$(mktemp -d)"
trainer=
trap '[ -z "$trainer" ] || kill "$trainer"; rm -rf "$folder"' EXIT
cd "$folder"
tones corpus 40

# A folder and a text that would break a page that trusts them.
run="run <img src=x onerror=alert(1)> & 'quoted'"
sed -i '1s/$/ <script>document.title = 1<\/script>/' corpus/metadata.csv
"$build/myxtts" train --quiet --train-data corpus --output "$run" "${small[@]}" --steps 40 --eval-every 10 --backend cpu \
    --cpu-devices 2 --data-gpu 0 --model-gpu 1 >/dev/null
"$build/myxtts" report "$run" --output en.html >/dev/null
"$build/myxtts" report "$run" --language fa --output fa.html >/dev/null
cmp -s <(grep -c '' en.html) <(grep -c '' "$run/report.html") # training wrote it, too

python3 "$here/browser.py" "$build/browser" "$here/browser_check.js" "en=file://$folder/en.html" "fa=file://$folder/fa.html"

# The same page while a run trains: the dashboard, with a token, in both languages.
token=0123456789abcdef
for language in en fa; do
    grep -q '✔ httpd' "$build/parts.txt" || { printf 'live page: not checked, the build has no dashboard\n'; break; }
    "$build/myxtts" train --quiet --train-data corpus --output "live-$language" "${small[@]}" --steps 100000 --eval-every 50 \
        --epochs 1000000 --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1 --set "training.report=$language" \
        --dashboard 127.0.0.1:0 --dashboard-token "$token" >/dev/null 2>&1 &
    trainer=$!
    until grep -qs '"samples":\[{' "live-$language/run.json" && ls "live-$language"/samples/step-*/000.wav >/dev/null 2>&1; do
        kill -0 "$trainer"
        sleep 0.2
    done
    address="$(sed -n 's/.*dashboard: \(http:.*\/\)?token.*/\1/p' "live-$language/log.txt")"
    ended=0
    python3 "$here/browser.py" "$build/browser" "$here/browser_live_check.js" "live-$language=$address?token=$token" || ended=$?
    kill -TERM "$trainer"
    wait "$trainer" || [ $? -eq 4 ] # interrupted, but saved
    trainer=
    [ "$ended" -eq 0 ]
done

# The page of a server: its voice has the name of the run's folder.
if grep -q '✔ httpd' "$build/parts.txt"; then
    "$build/myxtts" serve "$run" --listen 127.0.0.1:0 --token "$token" >serve.log 2>&1 &
    trainer=$!
    until grep -q 'ready;' serve.log; do
        kill -0 "$trainer"
        sleep 0.2
    done
    address="$(sed -n 's|.*listening on \(http://.*/\)$|\1|p' serve.log)"
    ended=0
    python3 "$here/browser.py" "$build/browser" "$here/browser_serve_check.js" "serve-en=$address?lang=en&token=$token" \
        "serve-fa=$address?lang=fa&token=$token" || ended=$?
    kill -TERM "$trainer"
    wait "$trainer"
    trainer=
    [ "$ended" -eq 0 ]
fi
printf 'screenshots: %s\n' "$build/browser"
