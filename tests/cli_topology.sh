#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# How near two devices are, with the program given as $1: 'devices', 'validate', 'train' and the pages say the same of each
# path. The cards are those of tests/double, at buses 41 and 42; the machines around them are written here for hwloc.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/cuda.sh
. "$here/support/cuda.sh"
docs=$(realpath "$here/../docs")

# ---- machines ----
count=1
object() { # TYPE WORDS…: the beginning of an object
    count=$((count + 1))
    printf '<object type="%s" gp_index="%d" %s>' "$1" $((100 + count)) "${*:2}"
}
sets() {
    printf 'cpuset="%s" complete_cpuset="%s" nodeset="%s" complete_nodeset="%s"' "$1" "$1" "$1" "$1"
}
package() { # NUMBER MASK
    object Package "os_index=\"$1\" $(sets "$2")"
    object NUMANode "os_index=\"$1\" $(sets "$2") local_memory=\"1073741824\""
    printf '</object>'
    object PU "os_index=\"$1\" $(sets "$2")"
    printf '</object>'
}
host() { # BUSES
    object Bridge "bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[$1]\""
}
bridge() { # ADDRESS BUSES DEPTH
    object Bridge "bridge_type=\"1-1\" depth=\"$3\" bridge_pci=\"0000:[$2]\" pci_busid=\"0000:$1\"" \
        'pci_type="0604 [10b5:8747] [0000:0000] ca" pci_link_speed="0.000000"'
}
card() { # BUS
    object PCIDev "pci_busid=\"0000:$1:00.0\" pci_type=\"0302 [10de:1b38] [10de:11d9] a1\" pci_link_speed=\"0.000000\""
    printf '</object>'
}
end() { # HOW MANY
    for ((i = 0; i < $1; i++)); do printf '</object>'; done
}
machine() { # WORD: a machine in which it stands between the two cards
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">'
    object Machine "os_index=\"0\" $(sets 0x00000003) allowed_cpuset=\"0x00000003\" allowed_nodeset=\"0x00000003\""
    package 0 0x00000001
    case "$1" in
    PIX) host 3f-5f && bridge 3f:01.0 40-42 1 && bridge 40:00.0 41-41 2 && card 41 && end 1 && bridge 40:01.0 42-42 2 && card 42 && end 3 ;;
    PHB) host 40-5f && bridge 40:01.0 41-41 1 && card 41 && end 1 && bridge 40:02.0 42-42 1 && card 42 && end 2 ;;
    NODE) host 40-41 && bridge 40:01.0 41-41 1 && card 41 && end 2 && host 42-5f && card 42 && end 1 ;;
    SYS) host 40-41 && bridge 40:01.0 41-41 1 && card 41 && end 2 ;;
    esac
    end 1
    package 1 0x00000002
    if [ "$1" = SYS ]; then host 42-5f && card 42 && end 1; fi
    end 2
    printf '</topology>\n'
}

# ---- each path ----
machine PIX >PIX.xml
HWLOC_XMLFILE=$folder/PIX.xml run devices
if grep -qE '^ *cuda:0 .* \?' stdout; then
    echo "skipped: this program was built without hwloc"
    exit 77
fi
# shellcheck disable=SC2016
tone_corpus tones 4 '$count = 8000; $loud = 9000; $step = 0.04 + 0.002 * $row; $text = "low|The tone $letter."'
base=(--backend cuda --data-gpu 0 --model-gpu 1 "${small[@]}" --set model.width=16 --set model.hidden=16 --batch-size 1)
train=(train --train-data tones --set training.samples=0 --eval-every 0 --steps 1 "${base[@]}")
for word in PIX PHB NODE SYS; do
    machine $word >$word.xml
    export HWLOC_XMLFILE=$folder/$word.xml
    done_with devices
    check "devices: $word" grep -qE "^ *cuda:0 .*\b$word\b" stdout
    done_with "${train[@]}" --output "run-$word"
    case $word in
    NODE | SYS)
        check "$word: train warns" grep -qF "warning: Topology between GPU:0 and GPU:1: $word (" stderr
        check "$word: train says what is better" grep -qF "'myxtts devices' shows with PIX, PXB or PHB" stderr
        check "$word: the log of the run has it" grep -qF "Topology between GPU:0 and GPU:1: $word (" "run-$word/log.txt"
        ;;
    *)
        check "$word: train tells it" grep -qF -- "- Topology between GPU:0 and GPU:1: $word (" stderr
        check "$word: train does not warn" test "$(grep -c 'warning: Topology' stderr)" -eq 0
        ;;
    esac
    # Both ask one function; one good and one slow path are enough to see that.
    case $word in PIX | SYS) continue ;; esac
    said=$(grep -o 'Topology between GPU:0 and GPU:1: [A-Z]* ([^)]*)' stderr | head -1)
    done_with validate "${base[@]}" --json report.json
    check "$word: validate says the same" grep -qF "$said" report.json
    check "$word: validate judges the same" grep -q "\"topology_slow\":[[:space:]]*$([ $word = NODE ] && echo true || echo false)" report.json
done
unset HWLOC_XMLFILE

# ---- the pages ----
for language in en fa; do
    check "$language: NODE and SYS are slow, and only they" grep -qE '^\| `NODE`[^|]*`SYS` \|.*`PIX`[^|]*`PXB`[^|]*`PHB`' "$docs/$language/two-gpus.md"
    check "$language: PHB is good" test "$(grep -cE '^\| `PHB` \|' "$docs/$language/two-gpus.md")" -eq 1
    check "$language: troubleshooting says the same" grep -qE '`NODE`.*`SYS`.*`PIX`.*`PXB`.*`PHB`' "$docs/$language/troubleshooting.md"
done

finish
