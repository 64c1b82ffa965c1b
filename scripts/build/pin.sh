#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Writes scripts/build/requirements/PURPOSE.txt: the version and the SHA-256 of every package from PyPI that a test or a bench
# installs (scripts/build/peers.sh, tests/python.sh), as PURPOSE.in asks for, with everything these need. pip then takes these
# files and no others (--require-hashes). Run it to move to newer versions, with the Python of Debian 12 (3.11, x86-64):
#
#     scripts/build/pin.sh [FOLDER]
#
# pip resolves all purposes at once, because they share an environment (except sherpa-1, which has a folder of its own),
# then each purpose within the versions found. Nothing is installed but pip itself, into FOLDER (default: a temporary
# folder); wheels whose metadata cannot be had otherwise are downloaded, some gigabytes.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/requirements"
folder="${1:-}"
if [[ -z $folder ]]; then
    folder="$(mktemp -d)"
    trap 'rm -rf "$folder"' EXIT
fi
python3 -c 'import platform, sys; sys.exit(sys.version_info[:2] != (3, 11) or platform.machine() != "x86_64")' || {
    printf 'pin: the files are for CPython 3.11 on x86-64; this is %s on %s\n' "$(python3 --version)" "$(uname -m)" >&2
    exit 1
}
unset PIP_FIND_LINKS PIP_EXTRA_INDEX_URL # what others must be able to download, too
[[ -x $folder/bin/python ]] || python3 -m venv "$folder"

# resolve REPORT ARGUMENTS…: what pip would install into an empty environment.
resolve()
{
    local report="$1"
    shift
    "$folder/bin/pip" install --quiet --disable-pip-version-check --dry-run --ignore-installed --report "$report" "$@"
}

# pins REPORT [hashes]: as lines of a requirements file.
pins()
{
    "$folder/bin/python" - "$@" <<'PYTHON'
import json, sys
lines = []
for item in json.load(open(sys.argv[1], encoding="utf-8"))["install"]:
    assert item["download_info"]["url"].startswith("https://"), item["download_info"]
    line = "%s==%s" % (item["metadata"]["name"], item["metadata"]["version"])
    if len(sys.argv) > 2:
        line += " \\\n    --hash=sha256:" + item["download_info"]["archive_info"]["hashes"]["sha256"]
    lines.append(line)
print("\n".join(sorted(lines, key=str.lower)))
PYTHON
}

shared=()
for file in *.in; do [[ $file == sherpa-1.in ]] || shared+=(--requirement "$file"); done
printf 'pin: resolving all of them\n'
resolve "$folder/all.json" "${shared[@]}"
pins "$folder/all.json" >"$folder/all.txt"
for file in *.in; do
    purpose="${file%.in}" within=(--constraint "$folder/all.txt")
    [[ $purpose != sherpa-1 ]] || within=()
    printf 'pin: %s\n' "$purpose"
    resolve "$folder/$purpose.json" --requirement "$file" "${within[@]}"
    {
        printf '# Written by scripts/build/pin.sh from %s, for CPython 3.11 on x86-64.\n' "$file"
        pins "$folder/$purpose.json" hashes
    } >"$folder/$purpose.txt"
    mv "$folder/$purpose.txt" "$purpose.txt"
done
