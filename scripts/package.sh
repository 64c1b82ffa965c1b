#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes the Debian package of a build (configured with MX_PACKAGE) and tries it: unpacked into a folder, the program must find
# all its libraries and run.
#
#     scripts/package.sh build/package

set -euo pipefail
cd "$1"

log=cpack.log
rm -f ./*.deb
if ! cpack >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
package="$(echo ./*.deb)"
root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
dpkg-deb -x "$package" "$root"
if ldd "$root/usr/bin/myxtts" | grep 'not found'; then
    printf 'package: libraries are missing\n' >&2
    exit 1
fi
"$root/usr/bin/myxtts" --version >/dev/null
"$root/usr/bin/myxtts" devices >/dev/null
printf '%s\n' "$(realpath "$package")"
dpkg-deb -f "$package" Version Architecture Maintainer Installed-Size Depends
