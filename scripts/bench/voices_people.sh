# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
#
# For voices.sh: the part clone. People with recordings, and what the voice says as each of them. The layout is that of
# voices_judge.py people.

references=3     # recordings that a clone listens to …
others=10        # … and those it is compared with
least_seconds=2  # of each
telephones=(     # name, language, Debian package, whose
    'es-co|es|asterisk-prompt-es-co|July E. Jiménez, telephone'
    'fr-armelle|fr|asterisk-prompt-fr-armelle|Armelle Desjardins, telephone'
    'it-menardi|it|asterisk-prompt-it-menardi-wav|Paola Dal Zot, telephone'
)

# long_ones MOST FILE…: up to MOST of those of least_seconds or more, in an order that is always the same and not that of their names
long_ones()
{
    local file most="$1"
    shift
    while ((most > 0)) && IFS= read -r file; do
        awk -v have="$(soxi -D "$file" 2>/dev/null || echo 0)" -v need="$least_seconds" 'BEGIN { exit !(have >= need) }' || continue
        printf '%s\n' "$file"
        most=$((most - 1))
    done < <(printf '%s\n' "$@" | LC_ALL=C sort | shuf --random-source=<(yes))
}

# person_make PEOPLE NAME WHAT HEARD SAME RATE FILE…: PEOPLE/NAME without its clone; fails if there are too few recordings
person_make()
{
    local to="$1/$2" what="$3" known="$4" same="$5" rate="$6" file kind number=0 chosen=()
    rm -rf "$to"
    mkdir -p "$to/reference" "$to/other" "$to/clone"
    shift 6
    mapfile -t chosen < <(long_ones $((references + others)) "$@")
    ((${#chosen[@]} > references)) || {
        printf 'bench-voices: continuing without %s: only %d recordings of %s seconds or more\n' "$(basename "$to")" "${#chosen[@]}" "$least_seconds"
        rm -rf "$to"
        return 1
    }
    for file in "${chosen[@]}"; do
        kind=other
        ((number >= references)) || kind=reference
        number=$((number + 1))
        sox "$file" -c 1 -b 16 "$to/$kind/$(printf '%02d' "$number").wav"
    done
    printf '{"what": "%s", "heard": %s, "same": [%s], "rate": %s}\n' "$what" "$known" "$same" "$rate" >"$to/person.json"
}

# texts LANGUAGE: the first CLONES held-out prompts of the language, as lines for synth
texts()
{
    awk -F'|' -v l="$1" -v most="$clones" '$4 == l && n++ < most { printf "%02d|%s\n", n, $2 }' "$corpus/metadata_eval.csv"
}

# clone VOICE PERSON_FOLDER LANGUAGE: PERSON_FOLDER/clone, and PERSON_FOLDER/network, which is what the network alone makes of it
clone()
{
    local file wanted=()
    for file in "$2"/reference/*.wav; do wanted+=(--speaker-wav "$file"); done
    texts "$3" >"$2/lines.txt"
    wanted=(--checkpoint "$1" "${wanted[@]}" --language "$3" --text-file "$2/lines.txt")
    run "$program" synth "${wanted[@]}" --output-dir "$2/clone"
    run "$program" synth "${wanted[@]}" --output-dir "$2/network" --likeness 0 --quiet
}

# telephone_fetch PACKAGE: its files in unheard/PACKAGE, all as WAV, since GSM does not say how long it is; fails if it cannot be had
telephone_fetch()
{
    local to="$folder/unheard/$1" file
    [[ -e $to/done ]] && return
    rm -rf "$to"
    mkdir -p "$to"
    if ! (cd "$to" && apt-get download "$1" && dpkg-deb -x ./*.deb .) >"$folder/unheard/$1.log" 2>&1; then
        printf 'bench-voices: continuing without %s, which could not be fetched: %s\n' "$1" "$(tail -n 1 "$folder/unheard/$1.log")"
        return 1
    fi
    while IFS= read -r file; do sox "$file" "${file%.gsm}.wav"; done < <(find "$to" -name '*.gsm')
    touch "$to/done"
}

# synthetic_make NAME: unheard/NAME/*.wav, prompts read by a synthetic voice
synthetic_make()
{
    local to="$folder/unheard/$1" name text
    mkdir -p "$to"
    while IFS='|' read -r name text; do
        [[ ! -e $to/$name.wav ]] || continue
        case $1 in
        en-kal16) flite -voice kal16 -t "$text" -o "$to/$name.wav" ;;
        en-espeak) espeak-ng -v en-gb+f4 -w "$to/$name.wav" "$text" ;;
        esac </dev/null
    done < <(awk -F'|' '$4 == "en" && length($2) > 30 && n++ < 24 { printf "%02d|%s\n", n, $2 }' "$corpus/metadata_train.csv")
}

# training_link FOLDER: FOLDER/training/SPEAKER, some recordings of each speaker that the voice was trained on
training_link()
{
    local speaker file files=()
    rm -rf "$1/training"
    while read -r speaker; do
        mkdir -p "$1/training/$speaker"
        mapfile -t files < <(awk -F'|' -v s="$speaker" '$3 == s { print $1 }' "$corpus/metadata_train.csv" | sed "s|^|$corpus/|")
        while read -r file; do ln -sf "$(realpath "$file")" "$1/training/$speaker/"; done < <(long_ones 5 "${files[@]}")
    done < <(tail -n +2 "$corpus/metadata_train.csv" | cut -d '|' -f 3 | sort -u)
}

clone_part()
{
    local to="$folder/cloning" row name language package whose files=()
    rm -rf "$to"
    training_link "$to"
    for row in "${telephones[@]}"; do
        IFS='|' read -r name language package whose <<<"$row"
        telephone_fetch "$package" || continue
        mapfile -t files < <(find "$folder/unheard/$package" -name '*.wav')
        if person_make "$to/people" "$name" "$whose" false '' 8000 "${files[@]}"; then clone "$voice" "$to/people/$name" "$language"; fi
    done
    for name in en-kal16 en-espeak; do
        synthetic_make "$name"
        if person_make "$to/people" "$name" 'synthetic' false '' 0 "$folder/unheard/$name"/*.wav; then clone "$voice" "$to/people/$name" en; fi
    done
    for name in en-allison it-carlo; do
        mapfile -t files < <(awk -F'|' -v s="$name" '$3 == s { print $1 }' "$corpus/metadata_eval.csv" | sed "s|^|$corpus/|")
        if person_make "$to/people" "$name" 'of the training' true "\"$name\"" 0 "${files[@]}"; then clone "$voice" "$to/people/$name" "${name%%-*}"; fi
    done
    "$python" "$judge" people "$to" "$folder/clone.part.json"
}
