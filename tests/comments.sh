#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Checks that the files, folders and functions that comments name exist, and fails with file:line for each that does not:
#
#   - a path from the root: src/FOLDER/FILE.c, tests/NAME.sh, docs/en (the folders of the root are known by name);
#   - a path from src/ or include/ on: ROOM/FILE.h, myxtts/FILE.h;
#   - a bare FILE.c or FILE.h: somewhere in the same room, or among the tests, benches … for a comment there. A file of
#     another room is named with its room;
#   - another path to a source, such as PART/FILE.c: from a folder of the same room on;
#   - a name mx_…: it must stand somewhere in the code.
#
# CONTRIBUTING.md, MODEL.md and src/ROOMS.md are read like comments; a bare FILE.c there may be anywhere in the tree.
#
# `*` and <name> stand for anything, a path with a word in capitals is a pattern for the reader and is not looked for.
#
# Before the real tree it checks one full of breaches, so that a check that finds nothing any more fails itself.

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# Prints the breaches of the tree in folder $1; fails if there are any.
check()
{
    (cd "$1" && perl -e '
        use strict;
        use warnings;
        my @top = grep { -d } qw(src include tests docs bench cmake scripts examples configs po);
        my %top = map { $_ => 1 } @top;
        my %room = map { s{^src/}{}r => 1 } grep { -d } glob "src/*";
        my @files = sort split /\n/, qx(find @top -type f; ls CMakeLists.txt Makefile CONTRIBUTING.md MODEL.md 2>/dev/null);
        my $source = qr/(?:h|c|cl|sh|cmake|js|css)/;
        my (%code, %inside, @comments, $bad);

        # The part of the tree that a file belongs to: a room of src/, the public headers, another folder of the root.
        sub own { my ($file) = @_; return $file =~ /[.]md$/ ? "" : $file =~ m{^(src/\w+|include/myxtts|\w+)/} ? $1 : "" }
        sub breach { print "$_[0]: $_[1]\n"; $bad = 1 }

        # Is there such a path? With * and <name> for anything.
        sub there { my ($path) = @_; $path =~ s/<\w+>/*/g; return $path =~ /[*]/ ? scalar(() = glob $path) : -e $path }

        # Takes the comments, line by line, and the words of the code. Strings are code: they may hold what looks like
        # a comment.
        sub split_c {
            my ($file, $text) = @_;
            my ($at, $line) = (0, 1);
            while ($text =~ m{/[*](.*?)[*]/|//([^\n]*)|"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27}gs) {
                my $comment = $1 // $2 // next;
                $line += substr($text, $at, $-[0] - $at) =~ tr/\n//;
                $at = $-[0];
                my $number = $line;
                push @comments, map { [$file, $number++, $_] } split /\n/, $comment, -1;
            }
            $text =~ s{("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27)|/[*].*?[*]/|//[^\n]*}{$1 // " "}gse;
            $code{$1} = 1 while $text =~ /(\w+)/g;
        }
        sub split_script {
            my ($file, $text) = @_;
            my $number = 0;
            for (split /\n/, $text) {
                my ($words, $comment) = /^(.*?)(?:(?:^|\s)#(\s.*))?$/;
                push @comments, [$file, $number, $comment] if $number++ >= 0 && defined $comment;
                $code{$1} = 1 while $words =~ /(\w+)/g;
            }
        }
        for my $file (@files) {
            (my $name = $file) =~ s{.*/}{};
            $inside{own($file)}{$name} = $inside{""}{$name} = 1;
            next if $file =~ /[.]md$/ && $file !~ m{^(?:CONTRIBUTING|MODEL|src/ROOMS)[.]md$};
            next if $file !~ /[.](?:$source|md)$|^(?:CMakeLists.txt|Makefile)$/;
            open my $in, "<", $file or die "$file: $!";
            my $text = do { local $/; <$in> };
            if ($file =~ /[.]md$/) {
                my $number = 1;
                push @comments, map { [$file, $number++, $_] } split /\n/, $text;
            } elsif ($file =~ /[.](?:h|c|cl|js|css)$/) {
                split_c($file, $text);
            } else {
                split_script($file, $text);
            }
        }

        for (@comments) {
            my ($file, $line, $text) = @$_;
            my ($own, $where) = (own($file), "$file:$line");
            (my $beside = $file) =~ s{/[^/]*$}{};
            while ($text =~ m{(?<![\w/.\$\}~<-])((?:[\w<>*.-]+/)+[\w<>*.-]*|[\w*-]+[.]$source\b)}g) {
                (my $path = $1) =~ s/[.,:;-]+$//;
                next if $path =~ m{(?:^|/|\b)[A-Z_]{2,}(?:\b|/|$)} || $path =~ m{^(?:<|[.])};
                my ($head) = $path =~ m{^([^/]+)/};
                if (!defined $head) {
                    next if $path =~ /[*]/ ? there("$beside/$path") || ($own eq "" && there("src/*/*/$path"))
                                           : $inside{$own}{$path};
                    breach($where, $own eq "" ? "there is no $path"
                                              : "there is no $path in $own/; name a file of another folder with its folder");
                } elsif ($top{$head}) {
                    breach($where, "there is no $path") if !there($path);
                } elsif ($head eq "myxtts" && $path =~ /[.]h$/) {
                    breach($where, "there is no include/$path") if !there("include/$path");
                } elsif ($room{$head}) {
                    breach($where, "there is no src/$path") if !there("src/$path") && !there("$own/$path");
                } elsif ($path =~ /[.]$source$/ && $path !~ m{^(?:sys|linux|CL)/}) {
                    breach($where, "there is no $own/$path") if !there("$own/$path") && !there("$own/*/$path");
                }
            }
            while ($text =~ /\b(mx_\w*[A-Za-z0-9])(?![\w*…<])/g) {
                breach($where, "there is no $1") if !$code{$1};
            }
        }
        exit($bad ? 1 : 0);
    ')
}

# Plants breaches and innocent look-alikes and compares what check() says with what it must say.
check_the_check()
{
    local tree wanted found mark='#'
    tree="$(mktemp -d)"
    trap 'rm -rf "$tree"' RETURN
    mkdir -p "$tree"/{src/{base,device/cpu},include/myxtts,tests/support,docs/en,cmake}
    touch "$tree"/{include/myxtts/ops.h,src/base/log.h,tests/test_log.c,docs/en/index.md}
    cat >"$tree/src/device/cpu/a.c" <<'C'
/* Fine: base/log.h, a.c, cpu/a.c, cpu/other.c, other.c, myxtts/ops.h, src/base, tests/test_*.c, tests/test_<name>.c, n/2,
 * docs/en/index.md, mx_thing, mx_pasted_…, mx_pasted_*, ROOM/FILE.h, sys/stat.h, <build>/made.h, step-N/000.wav, GB/s.
 * Wrong: device/ops.h, log.h, cpu/b.c,
 * src/device/plan.c, mx_thin, docs/fa. */
const char *text = "/* base/none.h " /* base/some.h */; // b.c
int mx_thing(void);
C
    echo '/* a.c in the same room. */' >"$tree/src/device/cpu/other.c"
    cat >"$tree/tests/log.sh" <<SH
$mark!/usr/bin/env bash
$mark support/cli.sh is missing, test_log.c is there
count=4 $mark of a.c
echo '${mark}include "base/never.h"'
SH
    printf '# mx_made(file) is a function of this file, mx_lost() is none\nfunction(mx_made file)\n' >"$tree/cmake/Made.cmake"
    printf 'Read `a.c` and `none.c`, then mx_thing and `mx_think`, in `src/base`.\n' >"$tree/CONTRIBUTING.md"
    wanted='CONTRIBUTING.md:1: there is no none.c
CONTRIBUTING.md:1: there is no mx_think
cmake/Made.cmake:1: there is no mx_lost
src/device/cpu/a.c:3: there is no src/device/ops.h
src/device/cpu/a.c:3: there is no log.h in src/device/; name a file of another folder with its folder
src/device/cpu/a.c:3: there is no src/device/cpu/b.c
src/device/cpu/a.c:4: there is no src/device/plan.c
src/device/cpu/a.c:4: there is no docs/fa
src/device/cpu/a.c:4: there is no mx_thin
src/device/cpu/a.c:5: there is no src/base/some.h
src/device/cpu/a.c:5: there is no b.c in src/device/; name a file of another folder with its folder
tests/log.sh:2: there is no tests/support/cli.sh
tests/log.sh:3: there is no a.c in tests/; name a file of another folder with its folder'
    if found="$(LC_ALL=C check "$tree")"; then
        echo "tests/comments.sh: a tree full of breaches passed"
        return 1
    fi
    if [[ $found != "$wanted" ]]; then
        echo "tests/comments.sh: planted breaches were not found as they should be (wanted <, found >):"
        diff <(echo "$wanted") <(echo "$found") || true
        return 1
    fi
}

check_the_check
check "$root"
