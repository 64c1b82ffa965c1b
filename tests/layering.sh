#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Checks the shape of src/ and include/ and fails with file:line for each breach:
#
#   - a folder includes only itself, folders that stand before it in the flow, base/ and device/; base/ includes only
#     base/, device/ only base/ and device/; includes are written from src/ on: "base/log.h"; the
#     public headers (include/myxtts) as "myxtts/error.h", each counts for the folder that implements it, with the parts of
#     one in a folder of its name (myxtts/ops/sound.h); a public header includes public headers only;
#   - the vtable (device/backend.h) and the folders of the backends belong to device/ alone;
#   - no file is longer than 700 lines, and no folder has more than 35 files of its own;
#   - no name of a backend is compared outside device/, and no code of a language anywhere: both have tables (struct
#     mx_backend_status, struct mx_language);
#   - only src/cli prints and exits: no printf, puts, perror, exit, abort … elsewhere, and the standard streams are named
#     only in base/log.c, whose default stream is stderr. base/processor.c ends programs before main(), where the processor
#     cannot run them, by _exit() alone;
#   - a struct, union or enum tag is defined once: every tag of a header, and the tags mx_… of files;
#   - a prefix of functions belongs to one room. The prefix of a function that a header declares is the longest tag that
#     its name begins with (mx_job_folder_open: mx_job_folder), otherwise its first word (mx_text_…);
#   - src/ROOMS.md says of every room what belongs there, and names its main header.
#
# Before the real tree it checks one full of breaches, so that a check that finds nothing any more fails itself.

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# The room that implements each public header.
homes='error=base device=device registry=device budget=device ops=device pipeline=pipeline voice=speech train=run'

# Prints the breaches of the tree that has src/ in folder $1; fails if there are any.
check()
{
    local tree="$1"
    (cd "$tree" && find src include -name '*.[ch]' | sort | xargs awk -v homes="$homes" '
        BEGIN {
            count = split("text corpus demo features pipeline model vocoder train dist checkpoint speech align cut export serve observe doctor transcribe run cli", flow, " ")
            rank["base"] = 1
            rank["device"] = 2
            for (i = 1; i <= count; i++) rank[flow[i]] = i + 2
            count = split(homes, pairs, "[ =]")
            for (i = 1; i < count; i += 2) home[pairs[i]] = pairs[i + 1]
            banned = "printf|vprintf|puts|putchar|putchar_unlocked|perror|psignal|exit|_exit|_Exit|quick_exit|abort"
        }

        function breach(text) {
            printf "%s:%d: %s\n", FILENAME, FNR, text
            bad = 1
        }

        # The line without comments and with empty string and character literals. `inside`: in a block comment.
        function code(line,    out, c, two, quote) {
            out = ""
            while (line != "") {
                c = substr(line, 1, 1)
                two = substr(line, 1, 2)
                if (inside) {
                    if (two == "*/") { inside = 0; line = substr(line, 3) } else line = substr(line, 2)
                } else if (two == "/*") { inside = 1; line = substr(line, 3)
                } else if (two == "//") { line = ""
                } else if (c == "\"" || c == "\x27") {
                    quote = c
                    line = substr(line, 2)
                    while (line != "" && substr(line, 1, 1) != quote)
                        line = substr(line, substr(line, 1, 1) == "\\" ? 3 : 2)
                    line = substr(line, 2)
                    out = out quote quote
                } else { out = out c; line = substr(line, 2) }
            }
            return out
        }

        # Is one of the names in `names` (a|b) called in `text`? Members and longer names do not count.
        function calls(text, names) {
            if (!match(text, "(^|[^A-Za-z0-9_.>])(" names ")[ \t]*[(]")) return ""
            text = substr(text, RSTART, RLENGTH - 1)
            gsub(/[^A-Za-z0-9_]/, "", text)
            return text
        }

        FNR == 1 {
            inside = 0
            split(FILENAME, path, "/")
            public = path[1] == "include"
            own = path[2]
            if (public) {
                sub(/[.]h$/, "", path[3])
                own = home[path[3]]
            } else if (!(own in rank)) breach("src/" own " has no place in the flow (see rank in tests/layering.sh)")
        }

        FNR == 701 { breach("file is longer than 700 lines") }

        !inside && /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($0, quoted, "\"")
            target = quoted[2]
            parts = split(target, piece, "/")
            other = piece[1]
            if (public && other != "myxtts") breach("a public header includes \"" target "\", which is not installed")
            if (other == "myxtts" && parts >= 2) { # a public header counts for the folder that implements it
                sub(/[.]h$/, "", piece[2])
                other = home[piece[2]]
            }
            if (target == "mx_isa_list.h") {
                if (FILENAME !~ /^src\/device\/cpu\//) breach(target " belongs to src/device/cpu")
            } else if (parts < 2 || !(other in rank)) {
                breach("\"" target "\" is not written from src/ on")
            } else if (rank[other] > rank[own]) {
                breach(own "/ must not include " other "/, which stands after it")
            } else if (own != "device" && (target == "device/backend.h" || (piece[1] == "device" && parts > 2))) {
                breach("\"" target "\" belongs to device/ alone; callers use myxtts/device.h")
            }
        }

        /str(n|case|ncase)?cmp[(].*"(cuda|opencl|cpu)"/ && own != "device" {
            breach("a backend is recognised by its name; ask its struct mx_backend_status")
        }
        /str(n|case|ncase)?cmp[(].*"(en|fa|es|fr|de|it|ru)"/ {
            breach("a language is recognised by its code; ask its struct mx_language")
        }

        own != "cli" {
            text = code($0)
            name = calls(text, banned)
            if (name != "" && !(name == "_exit" && FILENAME == "src/base/processor.c")) breach(name "() outside src/cli")
            if (FILENAME != "src/base/log.c" && match(text, /(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)/))
                breach("a standard stream is named outside src/cli and base/log.c")
        }

        END { exit bad }
    ')
}

# Prints tags and prefixes of functions that the tree in folder $1 defines twice; fails if there are any.
check_names()
{
    (cd "$1" && find src include -name '*.[ch]' | sort | xargs perl -e '
        use strict;
        use warnings;
        my %home = split /[ =]/, shift;
        my (%tags, %known, @functions, %owner, $bad);
        sub breach { print "$_[0]: $_[1]\n"; $bad = 1 }
        sub lines { my ($text) = @_; return "\n" x ($text =~ tr/\n//) }

        for my $file (@ARGV) {
            my ($room) = $file =~ m{^src/(\w+)/} ? $1 : $home{$file =~ s{^include/myxtts/(\w+).*}{$1}r};
            my $header = $file =~ /[.]h$/;
            breach("$file:1", "no room implements it (see homes in tests/layering.sh)") if !defined $room;
            open my $in, "<", $file or die "$file: $!";
            my $text = do { local $/; <$in> };
            # Without comments, literals and the preprocessor, but with the same lines.
            $text =~ s{/[*].*?[*]/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27}{" " . lines($&)}gse;
            $text =~ s{^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*}{lines($&)}gme;
            my ($depth, $line) = (0, 1);
            while ($text =~ /\n|[{}]|\b(struct|union|enum)\s+(\w+)\s*([{;])|\b(mx_\w+)\s*[(]/g) {
                my ($all, $kind, $tag, $then, $function) = ($&, $1, $2, $3, $4);
                if (defined $tag && $then eq "{") {
                    push @{$tags{$tag}}, ["$file:$line", $kind] if $header || ($depth == 0 && $tag =~ /^mx_/);
                    $known{$tag} = 1 if $header;
                } elsif (defined $tag) {
                    $known{$tag} = 1 if $header && $depth == 0;
                } elsif (defined $function) {
                    push @functions, [$function, $room, "$file:$line"] if $header && $depth == 0;
                }
                $depth += ($all =~ tr/{//) - ($all =~ tr/}//);
                $line += $all =~ tr/\n//;
            }
        }
        for my $tag (sort keys %tags) {
            my ($first, @others) = @{$tags{$tag}};
            breach($_->[0], "$_->[1] $tag is defined in $first->[0], too") for @others;
        }
        for (@functions) {
            my ($function, $room, $where) = @$_;
            my @words = split /_/, $function;
            my $prefix = "mx_$words[1]";
            for my $count (2 .. $#words) {
                my $start = join "_", @words[0 .. $count];
                $prefix = $start if $known{$start};
            }
            $owner{$prefix} //= [$room, $where];
            next if !defined $room || $owner{$prefix}[0] eq $room;
            breach($where, "$function(): the prefix $prefix belongs to $owner{$prefix}[0]/ ($owner{$prefix}[1])");
        }
        exit($bad ? 1 : 0);
    ' "$homes")
}

# Prints what is wrong with src/ROOMS.md of the tree in folder $1; fails if anything is.
check_rooms()
{
    (cd "$1" && perl -e '
        use strict;
        use warnings;
        my ($bad, %told);
        sub breach { print "src/ROOMS.md", (defined $_[0] ? ":$_[0]" : ""), ": $_[1]\n"; $bad = 1 }
        open my $in, "<", "src/ROOMS.md" or do { breach(undef, "is missing"); exit 1 };
        while (<$in>) {
            next if !/^[*]{2}`(\w+)\/`[*]{2}(.*)/;
            my ($room, $rest) = ($1, $2);
            breach($., "there is no src/$room") if !-d "src/$room";
            breach($., "$room/ has its second paragraph") if $told{$room}++;
            my ($head) = $rest =~ /^ [(](.*?)[)]:/ or breach($., "$room/ does not name its main header");
            while (($head // "") =~ /`([\w\/.]+)`/g) {
                breach($., "there is no $1") if !-e "src/$1" && !-e "include/$1";
            }
        }
        for (sort grep { -d } glob "src/*") {
            my $room = s{^src/}{}r;
            breach(undef, "$room/ has no paragraph that says what belongs there") if !$told{$room};
        }
        exit($bad ? 1 : 0);
    ')
}

# Prints the folders of the tree in folder $1 that are too full to be read as a list; fails if there are any.
check_folders()
{
    (cd "$1" && find src include -type f | sed 's|/[^/]*$||' | sort | uniq -c |
        awk '$1 > 35 { print $2 ": " $1 " files; more than 35 need subfolders"; bad = 1 } END { exit bad }')
}

# expect NAME TREE WANTED: check NAME must refuse the tree, in exactly these words.
expect()
{
    local found
    if found="$(LC_ALL=C "$1" "$2")"; then
        echo "tests/layering.sh: a tree full of breaches passed $1"
        return 1
    fi
    if [[ $found != "$3" ]]; then
        echo "tests/layering.sh: planted breaches were not found as they should be by $1 (wanted <, found >):"
        diff <(echo "$3") <(echo "$found") || true
        return 1
    fi
}

# Plants breaches and innocent look-alikes and compares what check() says with what it must say.
check_the_check()
{
    local tree wanted
    tree="$(mktemp -d)"
    trap 'rm -rf "$tree"' RETURN
    mkdir -p "$tree"/src/{base,device/cpu,model,train,cli,attic} "$tree/include/myxtts/ops"
    cat >"$tree/src/base/a.c" <<'C'
/* printf("in a comment"); exit(1);
 * abort(); */
#include "base/a.h"
#include "myxtts/device.h"
__attribute__((format(printf, 1, 2))) void f(void);
int g(void) { printf("x"); return 0; }
int h(void) { snprintf(b, 1, "exit(1)"); fprintf(stream, "\" abort()"); thing->exit(1); o.abort(); my_exit(2); return 0; }
int i(void) { fputs("x", stderr); exit (1); }
C
    printf '#include "base/a.h"\n#include "model/m.h"\n#include "device/backend.h"\n' >"$tree/src/device/d.c"
    printf '#include "mx_isa_list.h"\n#include "device/cpu/kernels.h"\n' >"$tree/src/device/cpu/k.c"
    printf '#include "train/t.h"\n#include "myxtts/device.h"\n#include "device/backend.h"\n' >"$tree/src/model/m.c"
    printf '#include "model/m.h"\n#include "t.h"\n#include "device/cpu/kernels.h"\n' >"$tree/src/train/t.c"
    printf '#include "model/m.h"\nint main(void) { printf("fine"); exit(0); }\n' >"$tree/src/cli/main.c"
    printf 'int a = strcmp(b, "cpu") == 0;\nint c = strcasecmp("fa", d);\nint e = strcmp(f, "cpus");\n' >"$tree/src/train/n.c"
    printf 'int a = strcmp(b, "cpu") == 0;\n' >"$tree/src/device/n.c"
    printf '#include "mx_isa_list.h"\n' >"$tree/src/attic/x.c"
    printf 'FILE *out = stderr;\n' >"$tree/src/base/log.c"
    printf 'void f(void) { _exit(3); }\nvoid g(void) { exit(3); }\n' >"$tree/src/base/processor.c"
    awk 'BEGIN { for (i = 0; i < 702; i++) print "" }' >"$tree/src/model/long.c"
    awk 'BEGIN { for (i = 0; i < 700; i++) print "" }' >"$tree/src/model/full.c"
    awk 'BEGIN { for (i = 0; i < 701; i++) print "" }' >"$tree/include/myxtts/ops/long.h"
    printf '#include "myxtts/error.h"\n#include "myxtts/pipeline.h"\n#include "base/a.h"\n' >"$tree/include/myxtts/ops.h"
    printf '#include "myxtts/ops/long.h"\n#include "myxtts/voice.h"\n' >"$tree/src/model/p.c"
    wanted='include/myxtts/ops.h:2: device/ must not include pipeline/, which stands after it
include/myxtts/ops.h:3: a public header includes "base/a.h", which is not installed
include/myxtts/ops/long.h:701: file is longer than 700 lines
src/attic/x.c:1: src/attic has no place in the flow (see rank in tests/layering.sh)
src/attic/x.c:1: mx_isa_list.h belongs to src/device/cpu
src/base/a.c:4: base/ must not include device/, which stands after it
src/base/a.c:6: printf() outside src/cli
src/base/a.c:8: exit() outside src/cli
src/base/a.c:8: a standard stream is named outside src/cli and base/log.c
src/base/processor.c:2: exit() outside src/cli
src/device/d.c:2: device/ must not include model/, which stands after it
src/model/long.c:701: file is longer than 700 lines
src/model/m.c:1: model/ must not include train/, which stands after it
src/model/m.c:3: "device/backend.h" belongs to device/ alone; callers use myxtts/device.h
src/model/p.c:2: model/ must not include speech/, which stands after it
src/train/n.c:1: a backend is recognised by its name; ask its struct mx_backend_status
src/train/n.c:2: a language is recognised by its code; ask its struct mx_language
src/train/t.c:2: "t.h" is not written from src/ on
src/train/t.c:3: "device/cpu/kernels.h" belongs to device/ alone; callers use myxtts/device.h'
    expect check "$tree" "$wanted"
}

check_the_names()
{
    local tree
    tree="$(mktemp -d)"
    trap 'rm -rf "$tree"' RETURN
    mkdir -p "$tree"/src/{text,corpus,run} "$tree/include/myxtts"
    cat >"$tree/src/text/text.h" <<'C'
struct mx_text;          /* struct mx_commented { */
struct mx_text_sink { int mx_member; struct mx_text_inner { int a; } inner; };
enum mx_tone { A };
int mx_text_read(void);
int mx_words_count(struct mx_text_sink *sink);
static inline int mx_text_twice(void) { return mx_manifest_open("{"); }
#define MX_TEXT_MACRO(x) mx_manifest_open(x) {
C
    cat >"$tree/src/text/text.c" <<'C'
struct mx_text { int a; };
struct local { int a; };
static int mx_manifest_hidden(void) { struct mx_inside { int a; }; return 0; }
C
    cat >"$tree/src/corpus/manifest.h" <<'C'
struct mx_text_sink *mx_manifest_sink(void);
struct mx_text_pack { int a; };
int mx_text_pack_open(void);  /* of mx_text_pack, which is ours */
int mx_text_open(void);
int mx_words_open(struct mx_text *text);
enum mx_tone { B };
C
    printf 'struct local { int a; };\nunion mx_text_inner { int a; };\nstruct mx_inside { int a; };\n' >"$tree/src/corpus/manifest.c"
    printf 'struct mx_train;\nint mx_train_step(struct mx_train *train);\n' >"$tree/include/myxtts/train.h"
    printf 'int mx_lost(void);\n' >"$tree/include/myxtts/lost.h"
    printf 'struct mx_train { int a; };\nint mx_train_internal(void);\n' >"$tree/src/run/train.h"
    expect check_names "$tree" 'include/myxtts/lost.h:1: no room implements it (see homes in tests/layering.sh)
src/text/text.h:2: struct mx_text_inner is defined in src/corpus/manifest.c:2, too
src/text/text.h:3: enum mx_tone is defined in src/corpus/manifest.h:6, too
src/text/text.h:4: mx_text_read(): the prefix mx_text belongs to corpus/ (src/corpus/manifest.h:4)
src/text/text.h:5: mx_words_count(): the prefix mx_words belongs to corpus/ (src/corpus/manifest.h:5)
src/text/text.h:6: mx_text_twice(): the prefix mx_text belongs to corpus/ (src/corpus/manifest.h:4)'
}

check_the_rooms()
{
    local tree
    tree="$(mktemp -d)"
    trap 'rm -rf "$tree"' RETURN
    mkdir -p "$tree"/src/{base,text,corpus,run} "$tree/include/myxtts"
    touch "$tree"/{src/base/log.h,include/myxtts/train.h}
    cat >"$tree/src/ROOMS.md" <<'MD'
`run/` in a sentence is no paragraph of run/.
**`base/`** (`base/log.h`; others: `myxtts/train.h`): what is needed (see `base/none.h`).
**`text/`** (`text/text.h`): texts
**`attic/`** (`base/log.h`): old things
**`base/`**: once more
MD
    expect check_rooms "$tree" 'src/ROOMS.md:3: there is no text/text.h
src/ROOMS.md:4: there is no src/attic
src/ROOMS.md:5: base/ has its second paragraph
src/ROOMS.md:5: base/ does not name its main header
src/ROOMS.md: corpus/ has no paragraph that says what belongs there
src/ROOMS.md: run/ has no paragraph that says what belongs there'
    rm "$tree/src/ROOMS.md"
    expect check_rooms "$tree" 'src/ROOMS.md: is missing'
}

check_the_folders()
{
    local tree
    tree="$(mktemp -d)"
    trap 'rm -rf "$tree"' RETURN
    mkdir -p "$tree"/{src/{base/net,text},include/myxtts}
    touch "$tree"/src/base/a{1..20}.c "$tree"/src/base/net/b{1..20}.c "$tree"/src/text/c{1..35}.c "$tree"/include/myxtts/d{1..36}.h
    expect check_folders "$tree" 'include/myxtts: 36 files; more than 35 need subfolders'
}

check_the_check
check_the_names
check_the_rooms
check_the_folders
failed=0
for name in check check_names check_rooms check_folders; do "$name" "$root" || failed=1; done
exit "$failed"
