#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Speaks a sentence with each human speaker of the base voice, and a Persian one, and writes them to docs/samples: the WAV
# files that README.md links to. Each has the name of its speaker. They must not grow beyond 1 MB together, because they
# belong to the source tree. Their texts are in docs/samples/README.md, which this script writes, too.
#
#     scripts/voices/samples.sh build

set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
program="${1:?usage: scripts/voices/samples.sh BUILD}/myxtts"
out="$here/docs/samples" most=1000000
export MYXTTS_VOICES="$here/voices"

samples=(
    'en-allison|Every voice begins with a folder of recordings.'
    'es-allison|Cada voz empieza con una carpeta de grabaciones.'
    'fa-f2|هر صدا با پوشه‌ای از ضبط‌ها آغاز می‌شود.'
    'fr-june|Chaque voix commence par un dossier de sons.'
    'it-carlo|Ogni voce nasce da una cartella di registrazioni.'
    'ru-ivrvoice|Каждый голос начинается с папки записей.'
)

part="$(mktemp -d "$here/docs/samples.XXXXXX")"
trap 'rm -rf "$part"' EXIT
{
    printf '# Samples\n\nSpoken by the base voice, written by `make samples`. The recordings that it learned from, and so these files, have the licences in [voices/README.md](../../voices/README.md).\n\n'
    printf '| file | text |\n|---|---|\n'
} >"$part/README.md"
for sample in "${samples[@]}"; do
    speaker="${sample%%|*}" text="${sample#*|}"
    "$program" synth --quiet --voice "$speaker" --text "$text" --output "$part/$speaker.wav" >/dev/null
    printf '| [%s](%s.wav) | %s |\n' "$speaker" "$speaker" "$text" >>"$part/README.md"
done
bytes="$(cat "$part"/*.wav | wc -c)"
((bytes <= most)) || {
    printf 'samples: %d bytes in all, more than %d\n  hint: shorten the texts in %s\n' "$bytes" "$most" "$0" >&2
    exit 1
}
rm -rf "$out"
mv "$part" "$out"
chmod 755 "$out"
trap - EXIT
printf '%s: %d files, %d bytes\n' "$out" "${#samples[@]}" "$bytes"
