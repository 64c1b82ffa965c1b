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
# rowless: of the names on standard input, those which not both pages name, as code or inside of code, not as a part of a
# longer name.
rowless() {
    perl -Mutf8 -CSD -e '
        my %rows = map { my $page = $_; open(my $in, "<", "rows.$_") or die; local $/; ($page, <$in>) } qw(en fa);
        while (my $name = <STDIN>) {
            chomp($name);
            for my $page (qw(en fa)) {
                next if $rows{$page} =~ /`(?:[^`\n]*[^A-Za-z0-9_.\n-])?\Q$name\E(?:[^A-Za-z0-9_\n-][^`\n]*)?`/;
                print "docs/$page/migration.md has no row of $name\n";
            }
        }'
}
# of KIND: the names of this kind.
of() {
    awk -v kind="$1" '$1 == kind { print $2 }' "$names"
}
check "a name without a row is noticed" test "$(rowless <<<--no-such-flag | wc -l)" -eq 2
check "a part of a name is no row" test "$(rowless <<<--data | wc -l)" -eq 2

check "there are many names" test "$(grep -c '^[a-z]' "$names")" -ge 200
while read -r kind name value; do
    case "$kind" in
    '#'* | '') continue ;;
    train | synth | profile | validate) echo "--$name" ;;
    command) echo "myxtts $name" ;;
    *) echo "$name" ;;
    esac
done <"$names" >wanted
rowless <wanted >missing
check "every name has a row: $(tr '\n' ' ' <missing)" test ! -s missing

# ---- flags: those of today, or a hint that says what to do ----
for command in train synth profile validate; do
    for name in $(of $command); do
        run "$command" "--$name"
        if grep -q "unknown option '--$name'" stderr; then
            said=$(<stderr)
            case "$said" in
            *'did you mean'* | *'lists all options'*) fail "myxtts $command --$name: $said" ;;
            *'hint: '*) pass ;;
            *) fail "myxtts $command --$name: $said" ;;
            esac
        fi
    done
done
# Flags that hints name exist.
"$program" reference markdown >options.md
awk -F'"' '/^    \{"[a-z_-]+"/ || /^     "/' "$here/../src/cli/options/legacy_flags.c" | grep -oE "'--[a-z-]+" | tr -d "'" | sort -u >named
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
        said=$(<stderr)
        case "$said" in
        *'unknown key'*) fail "$name is answered: $said" ;;
        *'cannot be'*) pass ;;
        *) fail "$name is answered: $said" ;;
        esac
    fi
    printf '%s:\n  %s: %s\n' "${name%%.*}" "${name#*.}" "${value:-1}" >old.yaml
    run config --config old.yaml
    check "$name in a file" test "$code" -eq "$([ -n "$value" ] && echo 0 || echo 1)"
done <"$names"

finish
