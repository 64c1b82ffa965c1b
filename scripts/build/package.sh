#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes the Debian package of a build (configured with MX_PACKAGE) and tries it out: unpacked into a folder, the program and
# the shared library must find all their libraries, and the program must run. A package for another architecture runs in qemu.
#
#     scripts/build/package.sh build/package [architecture]

set -euo pipefail
cd "$1"
native="$(dpkg --print-architecture)"
architecture="${2:-$native}"
runner=() loader=()
if [[ $architecture != "$native" ]]; then
    [[ $architecture == arm64 ]] || { printf 'package: a package for %s cannot be tried out here\n' "$architecture" >&2 && exit 1; }
    runner=(qemu-aarch64)
    loader=(qemu-aarch64 /lib/ld-linux-aarch64.so.1 --list)
fi

log=cpack.log
rm -f ./*.deb
if ! cpack >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
package="$(echo ./*.deb)"
root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
made="$(dpkg-deb -f "$package" Architecture)"
if [[ $made != "$architecture" ]]; then
    printf 'package: %s is for %s, not for %s\n' "$package" "$made" "$architecture" >&2
    exit 1
fi
dpkg-deb -x "$package" "$root"
program="$root/usr/bin/myxtts"
library="$(find "$root/usr/lib" -name 'libmyxtts.so.*' -type f)"
for file in "$program" "$library"; do
    if ! libraries="$("${loader[@]:-ldd}" "$file" 2>&1)" || grep 'not found' <<<"$libraries"; then
        printf '%s\n' "$libraries" >&2
        printf 'package: libraries of %s are missing\n' "${file#"$root"}" >&2
        exit 1
    fi
done
"${runner[@]}" "$program" --version
"${runner[@]}" "$program" devices >/dev/null
voices="$(find "$root/usr/share/myxtts/voices" -name '*.safetensors' -printf '%f: %s bytes\n' 2>/dev/null | sort || true)"
printf 'voices in the package: %s\n' "${voices:-none}"
if [[ -e $root/usr/share/myxtts/voices/base.voice.safetensors ]]; then
    HOME="$root" MYXTTS_VOICES="" XDG_DATA_HOME="" "${runner[@]}" "$program" inspect "$root/usr/share/myxtts/voices/base.voice.safetensors" >/dev/null
fi
printf '%s\n' "$(realpath "$package")"
dpkg-deb -f "$package" Version Architecture Maintainer Installed-Size Depends
