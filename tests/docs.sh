#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The documentation, with the program given as $1: the pages that come from its tables are current; both languages have the
# same pages; every command in a block of code parses, flags named in the text exist, links lead somewhere; former names
# are answered as the pages say; completions complete. codespell reads the English pages where it is installed.
#
# How a command is checked: "myxtts … --help" parses all arguments before it shows the page, so wrong flags, choices and
# numbers are refused; each --set goes to "myxtts config", which knows all keys and their ranges.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck disable=SC2034
opencl=1
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
source=$(realpath "$here/..")
docs=$source/docs
export LC_ALL=C.UTF-8

# ---- pages from the tables ----
for language in en fa; do
    done_with reference markdown --language $language --output options.md
    check "docs/$language/options.md is current (make docs)" cmp options.md "$docs/$language/options.md"
done
done_with reference man --output myxtts.1
check "docs/myxtts.1 is current (make docs)" cmp myxtts.1 "$docs/myxtts.1"
if command -v man >/dev/null; then
    check "man understands the manual page" test -z "$(MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z myxtts.1 2>&1 >/dev/null)"
fi
refused 1 "no page of the kind 'pdf'" "markdown" reference pdf
refused 1 'say which page to write' 'man' reference
refused 1 'in English only' "leave '--language' out" reference man --language fa

# The last cell of a row says what it is about; only numbers of exit codes have other first cells.
check "every row of docs/fa/options.md is in Persian" perl -Mutf8 -CSD -ne '
    next unless /^\|/ && !/^\|---/;
    if (!/\|[^|]*\p{Arabic}[^|]*\|$/) { print; $bad = 1 } END { exit $bad }' "$docs/fa/options.md"
for name in $(grep -rhoE '"MYXTTS_[A-Z0-9_]+"' --exclude=reference.c "$source/src" | tr -d '"' | sort -u); do
    check "the environment variable $name is documented" grep -qE "^\| .*\b$name\b" "$docs/en/options.md"
done

# ---- both languages have the same pages ----
check "the same pages in both languages" diff <(cd "$docs/en" && ls) <(cd "$docs/fa" && ls)
for page in "$docs"/fa/*.md "$source/README.fa.md"; do
    check "${page##*/}: right to left" grep -q '<div dir="rtl">' "$page"
    check "${page##*/}: every block is closed" test "$(grep -c '^<div ' "$page")" -eq "$(grep -c '^</div>' "$page")"
done
# A code span between Persian words that begins with a dash would be shown with the dash at its other end, unless the
# invisible U+200E stands before it.
check "U+200E before code that begins with a dash" perl -Mutf8 -CSD -ne '
    $inside = !$inside if /^\s*```/;
    $rtl = 1 if /^<div dir="rtl">/;
    $rtl = 0 if m{^</div>};
    for my $span ($inside || !$rtl ? () : /(.?`[^`]+`)/g) {
        if ($span =~ /`-/ && $span !~ /^\x{200e}/) { print "$ARGV:$.: $span\n"; $bad = 1 }
    }
    if (eof) { close(ARGV); $inside = $rtl = 0 }
    END { exit $bad }' "$docs"/fa/*.md "$source/README.fa.md"
pages=("$source"/README.md "$source"/README.fa.md "$docs"/en/*.md "$docs"/fa/*.md)
check "there are pages" test "${#pages[@]}" -ge 20
for name in $(cd "$docs/en" && ls); do
    [ "$name" = index.md ] && continue
    for language in en fa; do
        check "$language/index.md leads to $name" grep -qF "($name)" "$docs/$language/index.md"
    done
done

# ---- commands in blocks of code ----

# commands_of WHAT PAGE...: prints FILE:LINE<tab>command for all lines of blocks that call WHAT (a regular expression):
# continued lines joined, comments, pipes and redirections cut off.
commands_of() {
    perl -Mutf8 -CSD -e '
        my $what = shift;
        my ($inside, $line, $start) = (0, "", 0);
        while (<>) {
            if (eof) { close(ARGV); $inside = 0; $line = ""; next } # the last line of a page is not in a block
            chomp;
            if (/^\s*```/) { $inside = !$inside; next }
            next unless $inside;
            $start = $. if $line eq "";
            $line .= $_;
            if ($line =~ s/\\$//) { next }
            my ($text, $out, $quote) = ($line, "", "");
            $line = "";
            while ($text =~ /\G(.)/gs) {
                my $c = $1;
                if ($quote ne "") { $quote = "" if $c eq $quote }
                elsif ($c eq "\x27" || $c eq "\"") { $quote = $c }
                elsif ($c =~ /[|>&;]/ || ($c eq "#" && $out =~ /(^|\s)$/)) { last }
                $out .= $c;
            }
            print "$ARGV:$start\t$out\n" if $out =~ /^\s*(?:[A-Z_]+=\S+\s+)*$what/;
        }' "$@"
}

# Do the arguments of this command line parse? Says what is wrong.
parses() {
    local -a words=() settings=()
    eval "words=($1)" || return 1
    while [ "${words[0]##*/}" != myxtts ]; do words=("${words[@]:1}"); done # mpirun, variables
    words=("${words[@]:1}")
    "$program" "${words[@]}" --help >/dev/null || return 1
    local at
    for ((at = 0; at < ${#words[@]}; at++)); do
        case "${words[at]}" in
        --set) settings+=(--set "${words[at + 1]:-}") ;;
        --config) case "${words[at + 1]:-}" in configs/*) [ -e "$source/${words[at + 1]}" ] || return 1 ;; esac ;;
        esac
    done
    [ ${#settings[@]} -eq 0 ] || "$program" config "${settings[@]}" >/dev/null
}

count=0
declare -A good=() # commands that parse: most stand on a page of each language
while IFS=$'\t' read -r where line; do
    count=$((count + 1))
    if [ -n "${good[$line]:-}" ]; then
        pass
        continue
    fi
    before=$failed
    check "${where#"$source"/}: $line" parses "$line"
    if [ "$failed" -eq "$before" ]; then good[$line]=1; fi
done < <(commands_of '(?:mpirun\s.*?\s)?(?:build\/)?myxtts\s' "${pages[@]}")
targets=" $(sed -n 's/^\([A-Za-z0-9_-]*\):.*/\1/p' "$source/Makefile" | tr '\n' ' ')"
while IFS=$'\t' read -r where line; do
    words=()
    eval "words=($line)" # a text may have spaces
    for word in "${words[@]}"; do
        case "$word" in make | *=*) continue ;; esac
        case "$targets" in
        *" $word "*) pass ;;
        *) fail "${where#"$source"/}: make $word" ;;
        esac
    done
done < <(commands_of 'make(?:\s|$)' "${pages[@]}")
while IFS=$'\t' read -r where line; do
    script=$(grep -o 'examples/[a-z_]*\.sh' <<<"$line")
    check "${where#"$source"/}: $script" test -x "$source/$script"
done < <(commands_of 'examples\/' "${pages[@]}")
check "many commands were looked at ($count)" test "$count" -ge 150

# A check that finds nothing any more fails itself.
cat >wrong.md <<'WRONG'
```
myxtts train --no-such-flag
myxtts train \
    --set training.no_such_key=1
myxtts check a b | grep x
```
WRONG
bad=0
while IFS=$'\t' read -r where line; do
    if ! parses "$line" 2>/dev/null; then bad=$((bad + 1)); fi
done < <(commands_of 'myxtts\s' wrong.md)
check "three wrong commands are noticed, and $bad were" test "$bad" -eq 3

# ---- flags in the text ----
grep -o '^| .*`--[a-z-]*' "$docs/en/options.md" | grep -o -- '--[a-z-]*' | sort -u >flags
check "there are many flags" test "$(wc -l <flags)" -ge 60
for page in "${pages[@]}"; do
    # Flags of other programs stand in blocks of code; old ones in the pages about migration.
    case "$page" in */migration.md | */options.md) continue ;; esac
    awk '/^ *```/ { inside = !inside; next } !inside' "$page" | grep -o '`[^`]*`' | grep -o -- '--[a-z][a-z-]*' | sort -u >named
    check "${page#"$source"/}: only flags that exist" test -z "$(comm -13 flags named)"
done

# ---- settings in the text ----
grep -o '^| `[a-z]*\.[a-z0-9_]*`' "$docs/en/options.md" | grep -o '[a-z]*\.[a-z0-9_]*' | sort -u >settings
check "there are many settings" test "$(wc -l <settings)" -ge 60
sections=$(cut -d. -f1 settings | sort -u | paste -sd'|')
for page in "${pages[@]}"; do
    case "$page" in */migration.md | */options.md) continue ;; esac # they name the former ones, too
    awk '/^ *```/ { inside = !inside; next } !inside' "$page" | grep -o '`[^`]*`' | grep -oE "\\b($sections)\.[a-z0-9_]+" |
        grep -vE '\.(h|safetensors)$' | sort -u >named # headers of the C API and files have such names, too
    check "${page#"$source"/}: only settings that exist: $(comm -13 settings named | tr '\n' ' ')" \
        test -z "$(comm -13 settings named)"
done

# ---- links ----

# Prints what is wrong with the links of pages.
links_of() {
    perl -Mutf8 -CSD -MFile::Basename -e '
        sub text { open(my $in, "<:utf8", $_[0]) or die; local $/; my $t = <$in>; $t =~ s/^ *```.*?^ *```//gms; $t }
        my %anchors;
        sub anchors {
            return %{$anchors{$_[0]}} if $anchors{$_[0]};
            my %names;
            for (text($_[0]) =~ /^#+ +(.*)$/gm) {
                my $name = lc $_;
                $name =~ s/[^\w\- ]//g;
                $name =~ s/ /-/g;
                $names{$name} = 1;
            }
            $anchors{$_[0]} = \%names;
            %names;
        }
        for my $file (@ARGV) {
            my $body = text($file);
            $body =~ s/`[^`\n]*`//g;
            while ($body =~ /\]\(([^)\s]+)\)/g) {
                my $target = $1;
                next if $target =~ m{^https?://};
                my ($path, $anchor) = $target =~ /^([^#]*)#?(.*)$/;
                my $there = $path eq "" ? $file : dirname($file) . "/" . $path;
                if (!-e $there) { print "$file: no $target\n"; next }
                next if $anchor eq "";
                my %names = anchors($there);
                print "$file: no heading $target\n" unless $names{$anchor};
            }
        }' "$@"
}
links_of "${pages[@]}" "$source/MODEL.md" "$source/CONTRIBUTING.md" "$source/SPEED.md" >links
check "links: $(tr '\n' ' ' <links)" test ! -s links
# shellcheck disable=SC2016
printf '[a](nowhere.md) [b](#no-heading)\n# A heading\n[c](#a-heading) `[d](code.md)`\n' >links.md
check "broken links are noticed" test "$(links_of links.md | wc -l)" -eq 2

# ---- former names ----
former() {
    awk -v table="$1" '$0 ~ table "\\[\\]" { on = 1 } /NULL, NULL/ { on = 0 } on' "$source/src/cli/options/legacy_flags.c" |
        grep -o '^    {"[a-z_-]*"' | tr -d ' {"'
}
check "there are former flags" test "$(former mx_legacy_train | wc -l)" -ge 30
for language in en fa; do
    migration=$(<"$docs/$language/migration.md")
    for name in $(former mx_legacy_train) $(former mx_legacy_synth); do
        case "$migration" in
        *"\`--$name\`"*) pass ;;
        *) fail "$language: --$name" ;;
        esac
    done
done
for name in $(former mx_legacy_commands); do
    for language in en fa; do
        check "$language: $name" grep -qF "\`myxtts $name\`" "$docs/$language/migration.md"
    done
    refused 1 "unknown command '$name'" "write 'myxtts" "$name"
done
refused 1 "unknown option '--checkpoint-dir'" "'--output DIR'" train --checkpoint-dir x
refused 1 "unknown option '--reference-audio" "'--speaker-wav FILE'" synth --reference-audio=x.wav

# ---- completion ----
done_with completion bash --output myxtts.bash
check "bash reads the completion" bash -n myxtts.bash
# completes WANTED WORDS…: the last word is completed to WANTED, and perhaps others.
completes() {
    bash -c '. ./myxtts.bash; wanted=$1; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _myxtts
        for word in "${COMPREPLY[@]}"; do [ "$word" != "$wanted" ] || exit 0; done; exit 1' - "$@"
}
check "commands" completes train myxtts tr
check "flags" completes --model-gpu myxtts train --mod
check "choices" completes opencl myxtts profile --backend o
check "flags of all commands" completes --log-level myxtts check --log-l
check "a choice before the command" completes debug myxtts --log-level d
check "a command after flags" completes validate myxtts --log-level debug va
check "files" completes myxtts.bash myxtts check myxtts.b
check "words" completes zsh myxtts completion z
check "the topic of help" completes synth myxtts help sy
check "numbers are not completed" bash -c '! "$@"' - completes x myxtts train --batch-size ''
for name in $("$program" --help | awk '/^Commands:/ { on = 1; next } on && /^  [a-z]/ { print $1 } /^Options:/ { on = 0 }'); do
    check "completes the command $name" completes "$name" myxtts "${name:0:2}"
done
done_with completion zsh --output _myxtts
check "the completion for zsh is one" grep -q '^#compdef myxtts$' _myxtts
if command -v zsh >/dev/null; then check "zsh reads the completion" zsh -n _myxtts; fi
refused 1 "no completion for the shell 'fish'" "'bash' and 'zsh'" completion fish
refused 1 'name the shell' 'myxtts completion bash' completion

# ---- spelling ----
if command -v codespell >/dev/null; then
    check "spelling" codespell "$source/README.md" "$docs/en" "$source/configs" "$source/examples"
fi

finish
