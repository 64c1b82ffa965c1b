#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Migration, with the program given as $1: every name of the earlier program (tests/support/former_names.txt) has a row on
# the page about migration in both languages, and the program, given that name, does it or says what to do.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
docs=$(realpath "$here/../docs")
names=$here/support/former_names.txt
export LC_ALL=C.UTF-8

# First cells of tables, and lines that are lists of flags.
for language in en fa; do
    perl -Mutf8 -CSD -ne '
        print "$1\n" if /^\| ((?:[^|\\]|\\.)*)\|/;
        print if /^\x{200e}?(?:`--[a-z-]+`\s+\x{200e}?)+$/;' "$docs/$language/migration.md" >rows.$language
done
# has_row NAME: both pages name it, as code or inside of code, not as a part of a longer name.
has_row() {
    local language
    for language in en fa; do
        grep -qE -- "\`([^\`]*[^A-Za-z0-9_.-])?$1([^A-Za-z0-9_-][^\`]*)?\`" rows.$language || {
            echo "no row in docs/$language/migration.md"
            return 1
        }
    done
}
# of KIND: the names of this kind.
of() {
    awk -v kind="$1" '$1 == kind { print $2 }' "$names"
}
check "a name without a row is noticed" bash -c '! "$@"' - has_row --no-such-flag
check "a part of a name is no row" bash -c '! "$@"' - has_row --data
export -f has_row

check "there are many names" test "$(grep -c '^[a-z]' "$names")" -ge 200
while read -r kind name value; do
    case "$kind" in
    '#'* | '') continue ;;
    train | synth | profile | validate) check "a row of --$name" has_row "--$name" ;;
    command) check "a row of myxtts $name" has_row "myxtts $name" ;;
    *) check "a row of $name" has_row "${name//./\\.}" ;;
    esac
done <"$names"

# ---- flags: those of today, or a hint that says what to do ----
for command in train synth profile validate; do
    for name in $(of $command); do
        run "$command" "--$name"
        if grep -q "unknown option '--$name'" stderr; then
            check "myxtts $command --$name: $(sed -n 's/ *hint: //p' stderr)" \
                bash -c "grep -q 'hint: ' stderr && ! grep -qE 'did you mean|lists all options' stderr"
        fi
    done
done
# Flags that hints name exist.
"$program" reference markdown >options.md
awk -F'"' '/^    \{"[a-z_-]+"/ || /^     "/' "$here/../src/cli/legacy_flags.c" | grep -oE "'--[a-z-]+" | tr -d "'" | sort -u >named
check "hints name flags" test "$(wc -l <named)" -ge 15
while read -r flag; do
    check "$flag, which a hint names, exists" grep -qE "^\| .*\`${flag}[ \`]" options.md
done <named

# ---- commands and scripts: what the hint says runs ----
for name in $(of command) $(of script); do
    [ "$name" = train ] && continue
    for form in "$name" "${name##*/}" "$(basename "$name" .py)"; do
        run "$form" --data-gpu 0
        check "myxtts $form: exit code 1" test "$code" -eq 1
        line=$(sed -n "s/.*hint: .*'myxtts \([^']*\)'.*/\1/p" stderr | head -1)
        line=${line//FILE/file}
        # shellcheck disable=SC2086
        check "myxtts $form: the hint is 'myxtts $line'" bash -c 'test -n "$2" && "$@" >help.txt' - "$program" $line --help
    done
done
refused 1 "unknown command 'train_mane.py'" 'lists all commands' train_mane.py
refused 1 "unknown command 'train_main.txt'" 'lists all commands' train_main.txt

# ---- keys of settings ----
while read -r kind name value; do
    [ "$kind" = key ] || continue
    if [ -n "$value" ]; then
        done_with config --set "$name=$value"
    else
        run config --set "$name=1"
        check "$name is answered: $(cat stderr)" bash -c "grep -q 'cannot be' stderr && ! grep -q 'unknown key' stderr"
    fi
    printf '%s:\n  %s: %s\n' "${name%%.*}" "${name#*.}" "${value:-1}" >old.yaml
    run config --config old.yaml
    check "$name in a file" test "$code" -eq "$([ -n "$value" ] && echo 0 || echo 1)"
done <"$names"

finish
