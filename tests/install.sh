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

# The voices of the source tree, or a small one where it has none yet.
voices=$source/voices
if [ ! -e "$voices/base.voice.safetensors" ]; then
    # shellcheck source=tests/support/tones.sh
    . "$here/support/tones.sh"
    tones tones 6
    voices=$folder/voices
    mkdir "$voices"
    done_with train --quiet --train-data tones --output run "${small[@]}" --steps 1 --epochs 1
    done_with export run --output "$voices/base.voice.safetensors"
    echo 'whose they are' >"$voices/README.md"
    echo 'not a voice' >"$voices/other.txt"
fi

mkdir -p "$root$prefix/share/doc"
echo other >"$root$prefix/share/doc/other.txt"
find "$root" | sort >before

install_it() {
    INSTALL_VOICES=$voices DESTDIR=$root bash "$source/scripts/build/install.sh" "$1" "$build" $prefix
}
check "installs" install_it install
cp check.out said
check "tells the sizes of the voices" grep -q "^voice base.voice.safetensors: [0-9.]* MB$" said
at=$root$prefix
for file in bin/myxtts include/myxtts/ops/sound.h include/myxtts/pipeline.h include/myxtts/train.h include/myxtts/voice.h share/man/man1/myxtts.1 share/doc/myxtts/LICENSE share/doc/myxtts/README.fa.md \
    share/doc/myxtts/docs/en/index.md share/doc/myxtts/docs/fa/index.md share/doc/myxtts/configs/tiny.yaml \
    share/doc/myxtts/examples/two_devices.c share/doc/myxtts/examples/train_tiny.c share/doc/myxtts/examples/speak.c \
    share/doc/myxtts/python/myxtts/voice.py; do
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
# It finds its voices from where it is.
for file in "$voices"/*.safetensors "$voices/README.md"; do
    check "the voice ${file##*/} is installed" cmp "$file" "$at/share/myxtts/voices/${file##*/}"
done
check "nothing else of that folder is" test -z "$(find "$at/share/myxtts/voices" -type f ! -name '*.safetensors' ! -name README.md)"
check "the program lists it" sh -c "env -u MYXTTS_VOICES HOME=$folder XDG_DATA_HOME= '$at/bin/myxtts' voices | grep -q '^base: '"
check "and speaks with it" env -u MYXTTS_VOICES HOME="$folder" XDG_DATA_HOME= "$at/bin/myxtts" synth --text 'A tone.' --output spoken.wav
check "into a file" test -s spoken.wav
# The service names the program by the path that it will have, without DESTDIR.
unit=$at/lib/systemd/system/myxtts.service
check "the unit of systemd" grep -q "^ExecStart=$prefix/bin/myxtts serve " "$unit"
check "nothing is left to be replaced in it" bash -c "! grep '@[A-Z_]*@' '$unit'"
if command -v systemd-analyze >/dev/null; then
    sed "s|^ExecStart=[^ ]*|ExecStart=$at/bin/myxtts|; /^Documentation=/d" "$unit" >myxtts.service
    check "systemd accepts it" bash -c 'test -z "$(systemd-analyze verify ./myxtts.service 2>&1)"'
fi
check "settings are read" "$at/bin/myxtts" config --config "$at/share/doc/myxtts/configs/ljspeech.yaml"
# A program of one's own builds against what was installed, wherever that is.
if command -v cc >/dev/null && [ -e "$build/completion/myxtts" ]; then
    PKG_CONFIG_PATH=$(dirname "$(find "$at" -name myxtts.pc)")
    export PKG_CONFIG_PATH
    library=$(dirname "$PKG_CONFIG_PATH")
    map=$source/cmake/libmyxtts.map

    # ---- the shared library shows the public symbols, all of them and no others ----
    check "the shared library is installed" test -s "$library/libmyxtts.so"
    sed -n 's/^    \(mx_[a-z0-9_]*\);$/\1/p' "$map" | sort >symbols.map
    check "the list of symbols has many" test "$(wc -l <symbols.map)" -ge 100
    nm -D --defined-only "$library/libmyxtts.so" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | sort >symbols.shown
    check "the library shows the symbols of its list" diff symbols.map symbols.shown
    check "each has a version" bash -c '! nm -D --defined-only --with-symbol-versions "$1" | grep -v "@@MYXTTS_\|^[0-9a-f]* A MYXTTS_"' \
        - "$library/libmyxtts.so"
    check "its name has the version of the interface" bash -c 'readelf -d "$1" | grep -q "SONAME.*\[libmyxtts\.so\.[0-9]*\]"' - \
        "$library/libmyxtts.so"
    (cd "$at/include" && find myxtts -name '*.h') | sort | sed 's/.*/#include <&>/' >headers.c
    # shellcheck disable=SC2046
    check "the public headers compile together, without anything else" cc -std=c17 -Wall -Wextra -Werror -fsyntax-only headers.c \
        $(pkg-config --cflags myxtts)
    if command -v c++ >/dev/null; then
        # shellcheck disable=SC2046
        check "voice.h is C++, too" c++ -Wall -Wextra -Werror -fsyntax-only -x c++ <(echo '#include <myxtts/voice.h>
            int main() { struct mx_speaking how = MX_SPEAKING_DEFAULT; return how.size == 0 || mx_error_last() == 0; }') \
            $(pkg-config --cflags myxtts)
    fi
    if cc --version | grep -q 'Free Software Foundation'; then # gcc lists what is declared
        # shellcheck disable=SC2046
        cc -std=c17 -fsyntax-only -aux-info declared headers.c $(pkg-config --cflags myxtts)
        {
            sed -n 's|^/\* [^ ]*include/myxtts/[^ ]* \*/ extern .*[ *]\(mx_[a-z0-9_]*\) (.*|\1|p' declared
            sed -n 's/^extern const .*[ *]\(mx_[a-z0-9_]*\)\[\];$/\1/p' "$at"/include/myxtts/*.h "$at"/include/myxtts/*/*.h
        } | sort -u >symbols.declared
        check "the list of symbols is what the headers declare (cmake/libmyxtts.map)" diff symbols.declared symbols.map
    fi

    # ---- with the shared library, and with the static one ----
    for name in two_devices train_tiny speak; do
        # shellcheck disable=SC2046
        check "$name.c builds with pkg-config" cc "$at/share/doc/myxtts/examples/$name.c" -o $name -D_GNU_SOURCE \
            $(pkg-config --cflags --libs myxtts) -lm
        check "$name uses the shared library" bash -c 'readelf -d "$1" | grep -q "NEEDED.*libmyxtts\.so\."' - $name
        # shellcheck disable=SC2046
        check "$name.c builds with the static library" cc "$at/share/doc/myxtts/examples/$name.c" -o $name.static -D_GNU_SOURCE \
            $(pkg-config --cflags --libs myxtts-static)
        check "$name.static has it inside" bash -c '! readelf -d "$1" | grep -q "NEEDED.*libmyxtts"' - $name.static
        check "and the check of the processor" bash -c 'nm "$1" | grep -q " mx_processor_check$"' - $name.static
    done
    check "the shared library brings its own libraries: pkg-config names no other" test \
        "$(pkg-config --libs-only-l myxtts | tr -d ' ')" = -lmyxtts
    check "and its headers are the installed ones" sh -c "pkg-config --cflags myxtts | grep -q '$prefix'"
    if two_cores; then
        check "the example runs" env LD_LIBRARY_PATH="$library" ./two_devices
        check "so does the static one" ./two_devices.static
    fi
fi

check "installs once more over itself" install_it install
check "uninstalls" install_it uninstall
check "nothing is left behind" diff before <(find "$root" | sort)
check "a second time there is nothing to do" bash -c '! "$@"' - env DESTDIR="$root" bash "$source/scripts/build/install.sh" \
    uninstall "$build" $prefix
check "the prefix must be absolute" bash -c '! "$@"' - bash "$source/scripts/build/install.sh" install "$build" here

finish
