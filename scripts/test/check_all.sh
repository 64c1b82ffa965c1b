#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Everything that is too slow for .ci/run, step by step, in a day or so (`make check-all`):
#
#     scripts/test/check_all.sh BUILD [CHECK]
#
# CHECK, a regular expression, selects steps by name. Progress is shown, and the output of each step is in
# BUILD/check-all/STEP.log. A step that fails does not stop the others; at the end the exit code is 1 if one did.
#
# It can be stopped at any time and continues when it is started again: what has passed for a commit is not repeated, and
# what failed, or was skipped, is. Changes that are not committed are refused, except of the pages below.
#
# BUILD/check-all/state.tsv remembers the newest result of each step, a line each: step, commit, result (passed, failed,
# skipped), seconds, day, cores, and why it failed or was skipped. After every step scripts/test/tested.sh makes
# docs/en/tested.md and docs/fa/tested.md from it.

set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build="${1:?usage: scripts/test/check_all.sh BUILD [CHECK]}"
only="${2:-}"
folder="$build/check-all"
state="$folder/state.tsv"
# shellcheck source=scripts/test/check_steps.sh
. scripts/test/check_steps.sh
pages=(docs/en/tested.md docs/fa/tested.md)

mkdir -p "$folder"
touch "$state"
exec 9>"$folder/lock"
flock -n 9 || { printf 'check-all: another one is running in %s\n' "$folder" >&2; exit 1; }
if [[ -n $(git status --porcelain -- . "${pages[@]/#/:!}") ]]; then
    printf 'check-all: there are changes that are not committed; results are those of a commit\n' >&2
    printf "  hint: commit them, or put them away with 'git stash -u'\n" >&2
    exit 1
fi
commit="$(git log -1 --format=%h --abbrev=12 -- . "${pages[@]/#/:!}")"

# remember STEP RESULT SECONDS WHY
remember()
{
    awk -F '\t' -v step="$1" '$1 != step' "$state" >"$state.new"
    printf '%s\t%s\t%s\t%d\t%s\t%d\t%s\n' "$1" "$commit" "$2" "$3" "$(date -u +%F)" "$(nproc)" "$4" >>"$state.new"
    mv "$state.new" "$state"
    scripts/test/tested.sh "$state" "$commit"
}

# The last line of a log that says something, without the folders of this machine.
last_line()
{
    sed "s|$PWD/||g" "$1" | tr '\t\r' '  ' | grep -v '^ *$' | grep -vE '^make(\[[0-9]+\])?: ' | tail -n 1 | cut -c 1-160
}

child=
stop()
{
    [[ -z $child ]] || kill -TERM -- "-$child" 2>/dev/null
    printf '\ncheck-all: stopped; it continues when it is started again\n'
    exit 130
}
trap stop INT TERM

# step_run NAME COMMAND: false if it fails.
step_run()
{
    local name="$1" start=$SECONDS log="$folder/$1.log" code=0
    set -m # a process group of its own, so that all of it can be stopped
    bash -c "$2" </dev/null >"$log" 2>&1 9>&- &
    child=$!
    set +m
    while kill -0 "$child" 2>/dev/null; do
        if [[ -t 1 ]]; then printf '\r\033[K  %d min: %.60s' $(((SECONDS - start) / 60)) "$(last_line "$log")"; fi
        sleep 1
    done
    [[ ! -t 1 ]] || printf '\r\033[K'
    wait "$child" || code=$?
    child=
    case $code in
    0) remember "$name" passed $((SECONDS - start)) '' && printf '  passed, %d s\n' $((SECONDS - start)) ;;
    77) remember "$name" skipped $((SECONDS - start)) "$(last_line "$log")" && printf '  skipped: %s\n' "$(last_line "$log")" ;;
    *) remember "$name" failed $((SECONDS - start)) "$(last_line "$log")" && printf '  FAILED, %s: %s\n' "$log" "$(last_line "$log")" ;;
    esac
    [[ $code -eq 0 || $code -eq 77 ]]
}

failed=0 number=0 chosen=0
for name in "${check_steps[@]}"; do
    number=$((number + 1))
    [[ $name =~ $only ]] || continue
    chosen=$((chosen + 1))
    command="$(check_command "$name" "$build")"
    printf '%d of %d, %s: %s\n' "$number" "${#check_steps[@]}" "$name" "$command"
    if awk -F '\t' -v step="$name" -v commit="$commit" '$1 == step && $2 == commit && $3 == "passed" { found = 1 }
        END { exit !found }' "$state"; then
        printf '  passed already\n'
        continue
    fi
    step_run "$name" "$command" || failed=$((failed + 1))
done
if [[ $chosen -eq 0 ]]; then
    printf 'check-all: no step matches "%s"; there are: %s\n' "$only" "${check_steps[*]}" >&2
    exit 1
fi
scripts/test/tested.sh "$state" "$commit"
if [[ $failed -gt 0 ]]; then
    printf 'check-all: %d of %d failed; their output is in %s\n' "$failed" "$chosen" "$folder" >&2
    exit 1
fi
printf 'check-all: none of %d failed; the results are in %s\n' "$chosen" "${pages[0]}"
