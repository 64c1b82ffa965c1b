#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The table "The path of a recording" in CONTRIBUTING.md: each function that it names is defined in the room of its row and
# reached from the program's main, and one after an arrow is reached from the one before the arrow. A function or table
# reaches what its text names.
#
# Before the real table it checks one with a breach of each kind.

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Prints the breaches of the page $1; fails if there are any.
check()
{
    (cd "$root" && perl -e '
        use strict;
        use warnings;
        my (%names, %text, %place, $bad);

        # What stands at the beginning of a line and goes on until the next such line is one thing: a function, a table.
        for my $file (split /\n/, qx(find src -name "*.c" -o -path "src/*" -name "*.h")) {
            open(my $in, "<", $file) or die "$file: $!";
            my $source = do { local $/; <$in> };
            $source =~ s{/[*].*?[*]/}{}gs;
            for my $part (split /\n(?=[A-Za-z_])/, $source) {
                $part =~ /^(?:[^\n(=;]|\((?=\())*?\b(\w+)\s*(?:\[[^\n=]*)?(?:\(|=)/ or next;
                my $name = $1;
                next if $part !~ /[{]/;
                my $key = $name =~ /^mx_|^main$/ ? $name : "$file:$name";
                $text{$key} .= $part;
                $place{$key} //= $file;
                $names{$file}{$name} = $key;
            }
        }

        # Operations are made by a list (include/myxtts/ops.h); their structs of arguments are not.
        for my $file (glob "include/myxtts/ops/*.h") {
            open(my $in, "<", $file) or die "$file: $!";
            while (<$in>) {
                next if !/^struct (mx_\w+)_args\b/ || exists $text{$1};
                $text{$1} = "";
                $place{$1} = "src/device";
            }
        }

        # Everything that these reach.
        sub reached {
            my %seen = map { $_ => 1 } @_;
            my @open = @_;
            while (defined(my $key = pop @open)) {
                my $own = $names{$place{$key} // ""} // {};
                for my $word (($text{$key} // "") =~ /\b([a-z]\w+)\b/g) {
                    my $next = $own->{$word} // (exists $text{$word} ? $word : next);
                    push @open, $next if !$seen{$next}++;
                }
            }
            return \%seen;
        }

        sub breach { print "CONTRIBUTING.md: $_[0]\n"; $bad = 1 }
        my $main = reached("main");
        open(my $page, "<", shift) or die;
        my ($inside, $rows) = (0, 0);
        while (<$page>) {
            $inside = /^## The path of a recording/ if /^## /;
            $inside && /^\| (\w+) \| (.*?) \|/ && $1 ne "room" or next;
            my ($room, $cell) = ($1, $2);
            my @before;
            for my $part (split /(?=;)|\x{2192}|\xe2\x86\x92/, $cell) {
                @before = () if $part =~ /^;/;
                my @functions = $part =~ /`(mx_\w+)`/g;
                $rows += @functions;
                for my $name (@functions) {
                    my $file = $place{$name};
                    if (!defined $file) { breach("$name is not there"); next }
                    breach("$name is not in src/$room but in $file") if !@before && $file !~ m{^src/\Q$room\E/};
                    breach("$name is not reached by the program") if !$main->{$name};
                    breach("$name is not reached from $before[0]") if @before && !reached(@before)->{$name};
                }
                @before = @functions if @functions;
            }
        }
        breach("the table has $rows functions: is it still there?") if $rows < 30 && !$ENV{FEW};
        exit($bad ? 1 : 0);' "$1")
}

cat >"$folder/breaches.md" <<'EOF'
## The path of a recording
| room | function | what happens |
|---|---|---|
| run | `mx_job_run` | is there |
| corpus | `mx_job_run` | is elsewhere |
| corpus | `mx_dataset_lost` | is not there |
| speech | `mx_wav_write` → `mx_job_run` | does not lead there |
EOF
if FEW=1 check "$folder/breaches.md" >"$folder/found"; then
    echo "FAILED: breaches are not found"
    exit 1
fi
for words in 'mx_job_run is not in src/corpus' 'mx_dataset_lost is not there' 'mx_job_run is not reached from mx_wav_write'; do
    grep -q "$words" "$folder/found" || { echo "FAILED: does not find: $words"; cat "$folder/found"; exit 1; }
done
test "$(wc -l <"$folder/found")" -eq 3 || { echo 'FAILED: finds more than the breaches'; cat "$folder/found"; exit 1; }
check CONTRIBUTING.md
