#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs make targets where nothing is installed: in a new Debian 12 root with git and make, and a clone of the last commit.
#
#     scripts/build/clean_root.sh FOLDER ARGUMENTS OF make…       scripts/build/clean_root.sh build/root say MARCH=x86-64-v3
#
# FOLDER/base is made by debootstrap, once; FOLDER/root, a copy of it in which make runs as root, is removed at the end. Its
# processes see themselves only, and no devices but the usual ones. After `say` the sound must be there. Needs root and
# debootstrap; without them it says so and ends with exit code 77.

set -euo pipefail
source="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
usage='usage: scripts/build/clean_root.sh FOLDER ARGUMENTS OF make…'
folder="${1:?$usage}"
shift
[[ $# -gt 0 ]] || { printf '%s\n' "$usage" >&2; exit 1; }

skip()
{
    printf 'clean-root: skipped: %s\n' "$1"
    exit 77
}
[[ $(id -u) -eq 0 ]] || skip 'making a Debian root needs root'
PATH="$PATH:/usr/sbin:/sbin"
command -v debootstrap >/dev/null || skip 'debootstrap is missing (apt-get install debootstrap)'
unshare --mount --pid --fork true 2>/dev/null || skip 'this user cannot have a mount namespace'

mkdir -p "$folder"
folder="$(realpath "$folder")"
root="$folder/root"
log="$folder/debootstrap.log"
if [[ ! -e $folder/base.done ]]; then
    printf 'making a Debian root\n'
    rm -rf --one-file-system "$folder/base"
    debootstrap --variant=minbase --include=ca-certificates,git,make bookworm "$folder/base" >"$log" 2>&1 || {
        tail -n 5 "$log" >&2
        exit 1
    }
    # How this machine reaches Debian: debootstrap has noted its mirror, but neither the updates nor a proxy.
    sources="$folder/base/etc/apt/sources.list"
    updates="$(sed -n 's/ bookworm / bookworm-updates /p' "$sources")"
    printf '%s\n' "$updates" >>"$sources"
    apt-config dump Acquire 2>/dev/null | grep -E '^Acquire::https?::[Pp]roxy' >"$folder/base/etc/apt/apt.conf.d/90proxy" || true
    touch "$folder/base.done"
fi

remove_root()
{
    rm -rf --one-file-system "$root"
}
trap remove_root EXIT
remove_root
cp -a --reflink=auto "$folder/base" "$root"
# The certificates and the names of this machine.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
git clone --quiet --no-hardlinks "file://$source" "$root/root/myxtts"
git -C "$root/root/myxtts" checkout --quiet --detach "$(git -C "$source" rev-parse HEAD)"

environment=(HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [[ -z ${!name:-} ]] || environment+=("$name=${!name}")
done
# shellcheck disable=SC2016
unshare --mount --pid --fork --kill-child --propagation private bash -c '
    set -e
    root="$1"
    shift
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for device in null zero full random urandom tty; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    for number in 0 1 2; do ln -s "fd/$number" "$root/dev/$(echo stdin stdout stderr | cut -d " " -f $((number + 1)))"; done
    exec chroot "$root" env -i "$@"
' - "$root" "${environment[@]}" make -C /root/myxtts "$@" </dev/null
if [[ " $* " == *' say '* ]]; then
    sound="$(find "$root/root/myxtts/build" -maxdepth 2 -name say.wav -size +20k)"
    [[ -n $sound ]] || { printf 'clean-root: there is no say.wav\n' >&2; exit 1; }
fi
