#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The Persian words, with the program given as $1: po/fa.po translates every text of the program and nothing else, each
# translation keeps what the text names, and help is Persian to the last line where the environment asks for it.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
source=$(realpath "$here/..")
po=$source/po/fa.po
export LC_ALL=C.UTF-8
unset LANGUAGE

# ---- the same texts on both sides ----
done_with reference po --output myxtts.pot
check "there are many texts" test "$(grep -c '^msgid "' myxtts.pot)" -ge 500
# complete FILE: every text of the program is translated in it. msgcmp names those that are not, and texts that the program
# does not have (any more) with a warning.
complete() {
    msgcmp "$1" myxtts.pot >said 2>&1 && ! grep . said
}
export -f complete
check "po/fa.po has every text of the program, and no other (make po)" complete "$po"
check "nothing is uncertain or obsolete" bash -c '! grep -nE "^#, .*fuzzy|^#~" "$1"' - "$po"
check "msgfmt takes it" msgfmt --check-format --check-domain -o /dev/null "$po"
# Checks that find nothing any more fail themselves.
sed '0,/^msgid "Exit codes"/s//msgid "Other codes"/' "$po" >renamed.po
sed 's/^msgstr "کدهای خروج"/msgstr ""/' "$po" >empty.po
cp "$po" more.po && printf '\nmsgid "not of the program"\nmsgstr "؟"\n' >>more.po
for wrong in renamed empty more; do
    check "the $wrong text is noticed" bash -c '! "$@"' - complete $wrong.po
done
check "make po changes nothing" bash -c 'cmp "$1" <(msgmerge --quiet --no-wrap "$1" myxtts.pot)' - "$po"

# ---- each translation keeps what its text names ----
# Prints what is wrong with the translations of a catalogue.
faults_of() {
    msgcat --no-wrap "$1" | perl -Mutf8 -CSD -e '
        sub unquote { my $t = $_[0]; $t =~ s/\\n/\n/g; $t =~ s/\\(["\\])/$1/g; $t }
        local $/ = ""; # entry by entry
        while (<STDIN>) {
            my (%entry, $key);
            for (split /\n/) {
                if (/^(msg\w+) "(.*)"$/) { $key = $1; $entry{$key} = $2 }
                elsif (/^"(.*)"$/) { $entry{$key} .= $1 }
            }
            next if ($entry{msgid} // "") eq ""; # the head
            my ($context, $english, $persian) = map { unquote($entry{$_} // "") } qw(msgctxt msgid msgstr);
            my @faults;
            my $names = sub { join " ", sort { $a cmp $b } keys %{{map { $_ => 1 } $_[0] =~ /$_[1]/g}} };
            # Values to fill in; endings of English words ("{0s}") have no Persian.
            my $values = qr/(\{\d(?:\.\d)?\})/;
            push @faults, "other values" if $names->($english, $values) ne $names->($persian, $values);
            my $flags = qr/(?<![\w-])(--[a-z][a-z-]*)/;
            push @faults, "other flags" if $names->($english, $flags) ne $names->($persian, $flags);
            my $settings = qr/\b((?:device|pipeline|model|data|training)\.[a-z0-9_]+)\b/;
            push @faults, "other settings" if $names->($english, $settings) ne $names->($persian, $settings);
            push @faults, "other paragraphs" if ($english =~ tr/\n//) != ($persian =~ tr/\n//);
            push @faults, "no Persian" if $english =~ /[a-z]{2}/i && $persian !~ /\p{Arabic}/;
            push @faults, "an Arabic letter" if $persian =~ /[يكى]/;
            push @faults, "code that is not closed" if ($persian =~ tr/`//) % 2;
            my $bare = 0; # a dash that begins code or a word without U+200E before it
            while ($persian =~ /(\x{200e}?)`([^`]*)`/g) { $bare = 1 if $1 eq "" && $2 =~ /^-/ }
            (my $prose = $persian) =~ s/`[^`]*`//g;
            push @faults, "no U+200E before a dash" if $bare || $prose =~ /(?<![\w\x{200e}-])-[\w-]/;
            $prose =~ s/\{[^}]*\}//g;
            push @faults, "Latin digits" if $prose =~ /(?<![A-Za-z0-9_:.\/-])[0-9]/;
            push @faults, "a full stop" if $context eq "" && ($english =~ /\.$/) != ($persian =~ /\.$/);
            print "$_: $context $english\n" for @faults;
        }'
}
faults_of "$po" >faults
check "translations: $(head -c 2000 faults)" test ! -s faults
cat >faulty.po <<'FAULTY'
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

msgid "From {0} to {1}."
msgstr "از {0} تا {0}."

msgid "See '--help'."
msgstr "‎`--halp` را ببینید."

msgid "See '--help' too."
msgstr "`--help` را هم ببینید."

msgid "a word"
msgstr "word"

msgid "a work"
msgstr "كار"

msgid "a rest."
msgstr "بقیه"

msgid "5 rests"
msgstr "5 بقیه"
FAULTY
check "seven faults are noticed" test "$(faults_of faulty.po | wc -l)" -eq 7

# ---- words that say something else than they should ----
# In their order: compressed instead of packed, a limit that is a roof instead of the absence of flags, a translated name of a choice, a
# card's consumption instead of its load, migration of tribes, three calques, and a licence in Persian digits.
wrong='پروندهٔ فشرده|پیش‌فرض: متن|مصرف کارت|کوچ کردن|سقف سخت|بدون پیش‌دستی|احترام گذاشت|CC[- ]BY[-A-Z ]*[۰-۹]|ذخیرهی'
# misleading FILE...: the lines that have one of them
misleading() {
    perl -Mutf8 -CSDA -ne 'BEGIN { $words = qr/${\shift}/ } print "$ARGV: $_" if /$words/' "$wrong" "$@"
}
misleading "$po" "$source"/docs/fa/*.md "$source/README.fa.md" >misled
check "words: $(head -c 2000 misled)" test ! -s misled
printf 'پروانهٔ CC-BY-SA-۳٫۰\nسقف سخت\nپروندهٔ بسته‌بندی‌شده\n' >misleading.md
check "two of three lines mislead" test "$(misleading misleading.md | wc -l)" -eq 2

# ---- pages ----
for key in $(grep -rhoE "\b(say|row)\('[a-z_]+'[,)]" "$source"/src/observe/page/*.js | cut -d"'" -f2 | sort -u); do
    check "the word '$key' of the page is in the list" grep -qx "msgctxt \"page $key\"" myxtts.pot
done
for key in $(grep -rhoE "\bsay\('[a-z_]+'[,)]" "$source"/src/doctor/page*.js | cut -d"'" -f2 | sort -u | grep -vx comma); do
    check "the word '$key' of the doctor's page is in the list" grep -qx "msgctxt \"doctor $key\"" myxtts.pot
done
refused 1 'the list of texts is in English' "leave '--language' out" reference po --language fa

# ---- help ----
# persian ARGUMENTS…: what the program says where the environment asks for Persian.
persian() {
    LC_ALL='' LC_MESSAGES='' LANG=fa_IR.UTF-8 "$program" "$@"
}
# Lines that hold English words besides command lines, names of flags and what stands between `…`.
english_lines() {
    perl -Mutf8 -CSD -ne '
        chomp;
        $examples = 1 if /^نمونه‌ها:$/;
        next if /\p{Arabic}/ || ($examples && /^  \S/) || /^\s*$/;
        s/`[^`]*`//g;
        s/^ +(?:-\w, )?--[\w-]+( \S+)?//;
        print "$_\n" if /[A-Za-z]{2,} +[a-z]{2,} +[a-z]{2,}/;'
}
for command in '' $("$program" --help | awk '/^Commands:/ { on = 1; next } on && /^  [a-z]/ { print $1 } /^Options:/ { on = 0 }'); do
    [ "$command" = help ] && continue
    # shellcheck disable=SC2086
    persian $command --help all >help.txt
    english_lines <help.txt >lines
    check "myxtts $command --help: English lines: $(head -3 lines)" test ! -s lines
    check "myxtts $command --help has Persian titles" grep -qE '^(گزینه‌ها|آنچه در آغاز لازم است):$' help.txt
    # shellcheck disable=SC2086
    "$program" $command --help all >english.txt
    check "myxtts $command --help without it is English" bash -c '! grep -P "\p{Arabic}" english.txt'
    check "both pages have the same flags" diff <(grep -oE '^  (-., |    )--[a-z-]+' help.txt) <(grep -oE '^  (-., |    )--[a-z-]+' english.txt)
done
check "lines of English are noticed" test "$("$program" train --help all | english_lines | wc -l)" -ge 50
env LC_ALL=fa_IR.UTF-8 "$program" help train >help.txt
check "LC_ALL, and the command help" grep -qE '^(گزینه‌ها|آنچه در آغاز لازم است):$' help.txt
LC_ALL='' LC_MESSAGES='' LANG=en_US.UTF-8 LANGUAGE=fa "$program" train --help >help.txt
check "LANGUAGE" grep -qE '^(گزینه‌ها|آنچه در آغاز لازم است):$' help.txt

# ---- settings ----
persian config --output persian.yaml 2>messages
check "messages stay English" grep -q 'settings written to persian.yaml' messages
check "every comment of the settings is Persian" perl -Mutf8 -CSD -ne '
    if (/^ *#(.*)/ && $1 =~ /[a-z]{2,} [a-z]{2,} [a-z]{2,}/i && !/\p{Arabic}/) { print; $bad = 1 } END { exit $bad }' persian.yaml
"$program" config --output english.yaml 2>/dev/null
check "comments do not change settings" cmp <("$program" config --config persian.yaml) english.yaml
persian train --nonsense 2>messages
check "so do errors and their hints" bash -c "grep -q 'unknown option .--nonsense.' messages && grep -q 'lists all options' messages"

finish
