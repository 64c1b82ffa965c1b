#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Opens the page of a run in headless Chromium, in both languages, at the sizes of a phone and a desktop, in light and dark
# mode (scripts/test/browser.py). Checks that the console is empty, curves are drawn, sounds can be played, and nothing is
# requested from elsewhere (scripts/test/browser_check.js); and checks the live page while a run trains
# (scripts/test/browser_live_check.js), the page of `myxtts serve` with the voice of that run (scripts/test/browser_serve_check.js), and
# the page of `myxtts check` of two spoiled corpora (scripts/test/browser_doctor_check.js), whose decisions the program must follow.
# The screenshots in BUILD/browser are for people to look at.
#
#     scripts/test/browser.sh build

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
build="$(realpath "${1:?usage: scripts/test/browser.sh BUILD}")"
# shellcheck source=tests/support/tones.sh
. "$here/../../tests/support/tones.sh"

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
# The page of the doctor, with the base voice as the judge.
for language in en fa; do
    "$build/myxtts" corpus demo --quiet "doctor-$language" --language "$language" --count 24 >/dev/null
    python3 "$here/spoil.py" "doctor-$language" >spoiled
    sed -i '6s/\([.?]\)/ <img src=x onerror=alert(1)> <\/script>\1/g' "doctor-$language/metadata.csv"
    "$build/myxtts" check --quiet "doctor-$language" --html "doctor-$language.html" --html-language "$language" >/dev/null
    rm -f "$build"/browser/decisions*.tsv
    python3 "$here/browser.py" "$build/browser" "$here/browser_doctor_check.js" "doctor-$language=file://$folder/doctor-$language.html"
    for _ in $(seq 50); do [ -s "$build/browser/decisions.tsv" ] && break; sleep 0.1; done
    mv "$build/browser/decisions.tsv" "doctor-$language/"
    # One row is dropped, one has another text, one is not suspect any more; prepare follows, too.
    "$build/myxtts" check --quiet "doctor-$language" --voice none --json >after.json
    python3 - "doctor-$language/decisions.tsv" after.json <<'CHECK'
import json, sys
lines = [line.split("\t") for line in open(sys.argv[1], encoding="utf-8").read().splitlines()[1:]]
after = json.load(open(sys.argv[2], encoding="utf-8"))
decided = {decision: name for name, decision, _, _ in lines}
suspects = {row["id"] for row in after["suspect_rows"]}
assert after["reasons"]["dropped"] == 1, after["reasons"]
assert decided["keep"] not in suspects and decided["drop"] not in suspects, suspects
assert {u["id"]: u["decision"] for u in after["utterances"]}[decided["fix"]] == "fix"
CHECK
    "$build/myxtts" prepare --quiet --allow-rejects "doctor-$language" --output "doctor-$language.pack" >/dev/null
    [ "$(awk -F'\t' '$4 == "dropped" { print $3 }' "doctor-$language.pack.rejects.tsv")" = \
        "$(awk -F'\t' '$2 == "drop" { print $1 }' "doctor-$language/decisions.tsv")" ]
done
printf 'screenshots: %s\n' "$build/browser"
