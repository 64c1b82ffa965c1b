#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# make install and make uninstall, for the build that the program $1 belongs to: everything is there, works from where it
# is, and goes away without a trace, while files of others stay.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
source=$(realpath "$here/..")
build=$(dirname "$program")
root=$folder/root
prefix=/opt/voice

mkdir -p "$root$prefix/share/doc"
echo other >"$root$prefix/share/doc/other.txt"
find "$root" | sort >before

install_it() {
    DESTDIR=$root bash "$source/scripts/install.sh" "$1" "$build" $prefix
}
check "installs" install_it install
at=$root$prefix
for file in bin/myxtts include/myxtts/pipeline.h include/myxtts/train.h share/man/man1/myxtts.1 share/doc/myxtts/LICENSE share/doc/myxtts/README.fa.md \
    share/doc/myxtts/docs/en/index.md share/doc/myxtts/docs/fa/index.md share/doc/myxtts/configs/tiny.yaml \
    share/doc/myxtts/examples/two_devices.c share/doc/myxtts/examples/train_tiny.c; do
    check "$file is installed" test -s "$at/$file"
done
check "recipes can be run" test -x "$at/share/doc/myxtts/examples/one_device.sh"
check "the library is installed" test -n "$(find "$at" -name libmyxtts.a)"
# Instrumented builds write no completions (cmake/Install.cmake).
if [ -e "$build/completion/myxtts" ]; then
    check "completion of bash" test -s "$at/share/bash-completion/completions/myxtts"
    check "completion of zsh" test -s "$at/share/zsh/site-functions/_myxtts"
fi
check "the program runs" "$at/bin/myxtts" --version
check "settings are read" "$at/bin/myxtts" config --config "$at/share/doc/myxtts/configs/ljspeech.yaml"
# A program of one's own builds against what was installed, wherever that is.
if command -v cc >/dev/null && [ -e "$build/completion/myxtts" ]; then
    PKG_CONFIG_PATH=$(dirname "$(find "$at" -name myxtts.pc)")
    export PKG_CONFIG_PATH
    for name in two_devices train_tiny; do
        # shellcheck disable=SC2046
        check "$name.c builds with pkg-config" cc "$at/share/doc/myxtts/examples/$name.c" -o $name -D_GNU_SOURCE \
            $(pkg-config --cflags --libs myxtts)
    done
    check "and its headers are the installed ones" sh -c "pkg-config --cflags myxtts | grep -q '$prefix'"
    [ "$(nproc)" -lt 2 ] || check "the example runs" ./two_devices
fi

check "installs once more over itself" install_it install
check "uninstalls" install_it uninstall
check "nothing is left behind" diff before <(find "$root" | sort)
check "a second time there is nothing to do" bash -c '! "$@"' - env DESTDIR="$root" bash "$source/scripts/install.sh" \
    uninstall "$build" $prefix
check "the prefix must be absolute" bash -c '! "$@"' - bash "$source/scripts/install.sh" install "$build" here

finish
