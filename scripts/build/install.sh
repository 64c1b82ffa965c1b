#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installs a build under a prefix, and removes it again completely.
#
#     scripts/build/install.sh install build /usr/local
#     scripts/build/install.sh uninstall build /usr/local
#
# DESTDIR is honoured. PREFIX/share/myxtts/installed.txt lists the installed files and the folders that were created for
# them, so that uninstalling works without the build folder. Installing over an older version keeps the older entries in
# the list. Voices come from the folder voices/, or from the one that INSTALL_VOICES names.

set -euo pipefail

action="$1" build="$2" prefix="$3" root="${DESTDIR:-}"
[[ $prefix == /* ]] || { printf 'install: PREFIX must begin with /, but it is %s\n' "$prefix" >&2; exit 1; }
list="$root$prefix/share/myxtts/installed.txt"

case "$action" in
install)
    # A trial installation into an empty folder shows which folders are needed; those that do not exist yet will be ours.
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT
    DESTDIR="$work/trial" cmake --install "$build" --prefix "$prefix" >/dev/null
    mkdir -p "$work/trial$prefix/share/myxtts"
    find "$work/trial" -mindepth 1 \( -type d -printf '%P/\n' \) -o \( -type f -o -type l \) -printf '%P\n' >"$work/paths"
    while IFS= read -r path; do
        if [[ $path != */ || ! -d "$root/$path" ]]; then printf '/%s\n' "$path"; fi
    done <"$work/paths" >"$work/list"
    DESTDIR="$root" cmake --install "$build" --prefix "$prefix" >/dev/null
    mkdir -p "$(dirname "$list")"
    if [[ -e $list ]]; then cat "$list" >>"$work/list"; fi
    sort -u "$work/list" >"$list"
    while IFS= read -r voice; do
        printf 'voice %s: %s MB\n' "${voice##*/}" "$(stat -c %s "$voice" | awk '{ printf "%.1f", $1 / 1e6 }')"
    done < <(find "$root$prefix/share/myxtts/voices" -name '*.safetensors' 2>/dev/null | sort)
    printf 'installed under %s; uninstall with: make uninstall PREFIX=%s\n' "$root$prefix" "$prefix"
    ;;
uninstall)
    if [[ ! -e $list ]]; then
        printf 'uninstall: nothing is installed under %s (no %s)\n' "$root$prefix" "$list" >&2
        exit 1
    fi
    mapfile -t paths < <(sort -r "$list")
    rm -f "$list"
    for path in "${paths[@]}"; do
        if [[ $path != */ ]]; then rm -f "$root$path"; fi
    done
    # The innermost folders first. A folder that contains other files by now stays.
    for path in "${paths[@]}"; do
        if [[ $path == */ ]]; then rmdir --ignore-fail-on-non-empty "$root$path" 2>/dev/null || true; fi
    done
    printf 'uninstalled from %s\n' "$root$prefix"
    ;;
*)
    printf 'install: "%s" is neither install nor uninstall\n' "$action" >&2
    exit 1
    ;;
esac
