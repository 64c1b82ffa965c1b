#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Checks the shape of src/ and fails with file:line for each breach:
#
#   - a folder includes only itself, folders that stand before it in the flow, base/ and device/; base/ includes only
#     base/, device/ only base/ and device/; includes are written from src/ on: "base/log.h"; the
#     public headers (include/myxtts) as "myxtts/error.h", each counts for the folder that implements it;
#   - the vtable (device/backend.h) and the folders of the backends belong to device/ alone;
#   - no file is longer than 700 lines;
#   - no name of a backend is compared outside device/, and no code of a language anywhere: both have tables (struct
#     mx_backend_status, struct mx_language);
#   - only src/cli prints and exits: no printf, puts, perror, exit, abort … elsewhere, and the standard streams are named
#     only in base/log.c, whose default stream is stderr. base/processor.c ends programs before main(), where the processor
#     cannot run them, by _exit() alone.
#
# Before the real tree it checks one full of breaches, so that a check that finds nothing any more fails itself.

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# Prints the breaches of the tree that has src/ in folder $1; fails if there are any.
check()
{
    local tree="$1"
    (cd "$tree" && find src -name '*.[ch]' | sort | xargs awk '
        BEGIN {
            count = split("text corpus demo features pipeline model train dist checkpoint speech observe run cli", flow, " ")
            rank["base"] = 1
            rank["device"] = 2
            for (i = 1; i <= count; i++) rank[flow[i]] = i + 2
            home["error"] = "base"
            home["device"] = home["registry"] = home["budget"] = home["ops"] = "device"
            home["pipeline"] = "pipeline"
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
            own = path[2]
            if (!(own in rank)) breach("src/" own " has no place in the flow (see rank in tests/layering.sh)")
        }

        FNR == 701 { breach("file is longer than 700 lines") }

        !inside && /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($0, quoted, "\"")
            target = quoted[2]
            parts = split(target, piece, "/")
            other = piece[1]
            if (other == "myxtts" && parts == 2) { # a public header counts for the folder that implements it
                sub(/[.]h$/, "", piece[2])
                other = home[piece[2]]
            }
            if (target == "mx_isa_list.h") {
                if (FILENAME !~ /^src\/device\/cpu\//) breach(target " belongs to src/device/cpu")
            } else if (parts < 2 || !(other in rank)) {
                breach("\"" target "\" is not written from src/ on")
            } else if (rank[other] > rank[own]) {
                breach(own "/ must not include " other "/, which stands after it")
            } else if (own != "device" && (target == "device/backend.h" || (other == "device" && parts > 2))) {
                breach("\"" target "\" belongs to device/ alone; callers use myxtts/device.h")
            }
        }

        /str(n|case|ncase)?cmp[(].*"(cuda|opencl|cpu)"/ && own != "device" {
            breach("a backend is told by its name; ask its struct mx_backend_status")
        }
        /str(n|case|ncase)?cmp[(].*"(en|fa|es|fr|de|it|ru)"/ {
            breach("a language is told by its code; ask its struct mx_language")
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

# Plants breaches and innocent look-alikes and compares what check() says with what it must say.
check_the_check()
{
    local tree wanted found
    tree="$(mktemp -d)"
    trap 'rm -rf "$tree"' RETURN
    mkdir -p "$tree"/src/{base,device/cpu,model,train,cli,attic}
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
    wanted='src/attic/x.c:1: src/attic has no place in the flow (see rank in tests/layering.sh)
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
src/train/n.c:1: a backend is told by its name; ask its struct mx_backend_status
src/train/n.c:2: a language is told by its code; ask its struct mx_language
src/train/t.c:2: "t.h" is not written from src/ on
src/train/t.c:3: "device/cpu/kernels.h" belongs to device/ alone; callers use myxtts/device.h'
    if found="$(LC_ALL=C check "$tree")"; then
        echo "tests/layering.sh: a tree full of breaches passed"
        return 1
    fi
    if [[ $found != "$wanted" ]]; then
        echo "tests/layering.sh: planted breaches were not found as they should be (wanted <, found >):"
        diff <(echo "$wanted") <(echo "$found") || true
        return 1
    fi
}

check_the_check
check "$root"
