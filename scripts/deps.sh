#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installs the missing Debian packages of the named groups in scripts/packages.txt; with `build` also those of `speak`.
#
#     scripts/deps.sh build test
#
# It runs apt-get as root, or with sudo. With NO_INSTALL=1 it installs nothing: it prints the command to run and fails if a
# required package is missing. Package lists are fetched only if a package is unknown or an installation from old lists
# fails. Missing optional packages never fail the build: their part is left out and the build report says so. For a package
# of another architecture (libpng-dev:arm64), the script first adds that architecture to dpkg and says so.

set -euo pipefail

list="$(dirname "${BASH_SOURCE[0]}")/packages.txt"
required=() optional=()

die()
{
    printf 'deps: %s\n' "$*" >&2
    exit 1
}

# Fills `required` and `optional` with the packages of the groups given as arguments.
read_list()
{
    local group need package rest groups=" $* "
    [[ $groups != *' build '* ]] || groups+='speak '
    while read -r group need package rest; do
        case "$group" in '' | '#'*) continue ;; esac
        [[ $groups == *" $group "* ]] || continue
        case "$need" in
        required) required+=("$package") ;;
        optional) optional+=("$package") ;;
        *) die "$list: \"$need\" for $package is neither required nor optional" ;;
        esac
    done <"$list"
    ((${#required[@]} + ${#optional[@]} > 0)) || die "no group of $list is called: $*"
}

# Prints those of the arguments that are not installed.
missing()
{
    (($# > 0)) || return 0
    local -A there=()
    local state package architecture
    while read -r state package architecture; do
        [[ $state == ii || $state == hi ]] || continue
        there[$package:$architecture]=1
        [[ $architecture != all && $architecture != "$native" ]] || there[$package]=1
    done < <(dpkg-query -W -f='${db:Status-Abbrev} ${Package} ${Architecture}\n' "$@" 2>/dev/null || true)
    for package in "$@"; do
        [[ -n ${there[$package]:-} ]] || printf '%s\n' "$package"
    done
}

# Prints the architectures of the arguments (name:architecture) that dpkg does not know yet.
foreign()
{
    local package known
    known=" $native $(dpkg --print-foreign-architectures | xargs) "
    for package in "$@"; do
        [[ $package != *:* || $known == *" ${package##*:} "* ]] || printf '%s\n' "${package##*:}"
    done | sort -u
}

# Prints those of the arguments that apt could install now.
available()
{
    (($# > 0)) || return 0
    LC_ALL=C apt-cache policy "$@" 2>/dev/null |
        awk '/^[^ ]/ { sub(/:$/, ""); name = $0 } /^  Candidate:/ && $2 != "(none)" { print name }'
}

# Runs apt-get as root; its output is shown only when it fails.
apt()
{
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 </dev/null
}

install()
{
    apt install -y --no-install-recommends "$@"
}

# Installs the packages in `must`, and those in `may` that apt knows; from fresh lists if the ones at hand do not do.
install_all()
{
    local wanted=("${must[@]}" "${may[@]}") found
    mapfile -t found < <(available "${wanted[@]}")
    if ((${#found[@]} == ${#wanted[@]})) && install "${wanted[@]}"; then return 0; fi
    apt update || return 1
    mapfile -t found < <(available "${may[@]}")
    ((${#must[@]} + ${#found[@]} == 0)) || install "${must[@]}" "${found[@]}"
}

# Says which optional packages are still not there.
left_out()
{
    mapfile -t may < <(missing "${optional[@]}")
    ((${#may[@]} == 0)) || printf 'deps: building without these optional packages, which are not installed: %s\n' "${may[*]}"
}

main()
{
    (($# > 0)) || die "usage: scripts/deps.sh group…   (groups: $(awk '/^[a-z]/ { print $1 }' "$list" | uniq | xargs))"
    read_list "$@"

    if ! command -v dpkg-query >/dev/null; then
        printf 'deps: this is not a Debian system; install the counterparts of these Debian packages: %s\n' "${required[*]} ${optional[*]}" >&2
        return 0
    fi

    native="$(dpkg --print-architecture)"
    local must may architectures architecture
    mapfile -t must < <(missing "${required[@]}")
    mapfile -t may < <(missing "${optional[@]}")
    local all=("${must[@]}" "${may[@]}")
    ((${#all[@]} > 0)) || return 0

    local line="apt-get install -y --no-install-recommends" sudo=
    as_root=()
    if ((EUID != 0)); then
        as_root=(sudo)
        ! command -v sudo >/dev/null || sudo="sudo "
    fi
    line="$sudo$line"
    mapfile -t architectures < <(foreign "${all[@]}")
    for architecture in "${architectures[@]}"; do
        line="${sudo}dpkg --add-architecture $architecture && ${sudo}apt-get update && $line"
    done

    if [[ ${NO_INSTALL:-0} != 0 ]]; then
        ((${#must[@]} == 0)) || die "packages are missing; run"$'\n'"    $line ${all[*]}"
        printf 'deps: only optional packages are missing; to add them, run\n    %s\n' "$line ${all[*]}"
        return 0
    fi
    if ((EUID != 0)) && ! command -v sudo >/dev/null; then
        ((${#must[@]} == 0)) || die "packages are missing, and there is no sudo; run as root"$'\n'"    $line ${all[*]}"
        left_out
        return 0
    fi

    log="$(mktemp)"
    trap 'rm -f "$log"' EXIT
    for architecture in "${architectures[@]}"; do
        printf 'Adding the architecture %s to dpkg (to undo: dpkg --remove-architecture %s)\n' \
            "$architecture" "$architecture"
        "${as_root[@]}" dpkg --add-architecture "$architecture"
    done
    printf 'Installing %s\n' "${all[*]}"
    if ! install_all && ((${#must[@]} > 0)); then
        cat "$log" >&2
        die "installation failed; the command was"$'\n'"    $line ${must[*]}"
    fi
    left_out
}

main "$@"
