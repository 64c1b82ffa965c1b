# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
#
# For scripts/voices/voices.sh and scripts/bench/voices.sh: how a base voice is trained, and the corpus, in $folder/corpus, in
# Coqui's layout with languages:
#
#     metadata_train.csv   audio_file|text|speaker_name|language
#     metadata_eval.csv    the last $held_out prompts by name, of those of 2 seconds or more, of each human: never trained on
#     left_out.tsv         prompts that are not used, and why
#     wavs/                recordings
#
# For the corpus, the caller sets `program` (myxtts), `folder`, `held_out`, `sentences`, and has tell.sh.

# The settings of every base voice.
base_flags=(--set data.balance=root --allow-rejects --set training.batch_frames=2000 --batch-size 24)

# Tells whether numbers belong to a file.
file_hash()
{
    sha256sum <"$1" | cut -d ' ' -f 1
}

# speaker  language  recordings  whose, and the licence of the recordings
humans=(
    'en-allison|en|en_US_f_Allison|Allison Smith|CC-BY-SA-3.0'
    'es-allison|es|es_MX_f_Allison|Allison Smith|CC-BY-SA-3.0'
    'fr-june|fr|fr_CA_f_June|June Wallack|CC-BY-SA-3.0'
    'it-carlo|it|it_IT_m_Carlo|Carlo Flora|CC-BY-3.0'
    'ru-ivrvoice|ru|ru_RU_f_IvrvoiceRU|Maxim Topal, ivrvoice.ru|CC-BY-3.0'
)

# Prompts that `myxtts check` doubts most: other words than the list has, letters and abbreviations that are read in another way,
# a letter that is another one's recording, or somebody else's voice. Chosen from its report; nobody listened to them.
doubtful=(
    en-allison:{astcc-followed-by-the-pound-key,dictate/record,digits/at,letters/at,minute,second,spy-iax}
    es-allison:{spy-iax,spy-iax2,spy-usbradio,vm-instructions,vm-invalid-password,vm-mismatch,vm-newuser,vm-nomore,vm-onefor,vm-opts}
    es-allison:vm-{record-prepend,review,tempgreeting2,tocallnum,toenternumber,toforward,tohearenv,torerecord,undelete}
    fr-june:{conf-muted,if-correct-press,letters/g,letters/j,letters/plus,please-try-call-later,second,to-extension,vm-mismatch,vm-tomakecall}
    it-carlo:{beep,conf-muted,confbridge-mute-out,digits/hundred,letters/f,letters/j,letters/s,please-try-call-later,spy-iax}
    it-carlo:vm-{no,sorry,tempgreetactive}
    ru-ivrvoice:letters/{a,v}
)

# prompts_read LANGUAGE RECORDINGS SPEAKER: "NAME<tab>TEXT" of each prompt that is speech, in the order of their names; the others
# go to left_out.tsv. A sign in brackets after its name ("dash [-]") is only an explanation.
prompts_read()
{
    zcat "/usr/share/doc/asterisk-core-sounds-$1/core-sounds-$1.txt.gz" |
        awk -v speaker="$3" -v from="$2/" -v doubtful=" ${doubtful[*]} " -v left="$folder/corpus/left_out.tsv" '
        function exists(path, line) { if ((getline line < path) < 0) return 0; close(path); return 1 }
        function drop(why) { print speaker "\t" name "\t" why "\t" text >> left }
        /^;/ || !/^[^: ]+:/ { next }
        {
            at = index($0, ":")
            name = substr($0, 1, at - 1)
            text = substr($0, at + 1)
            gsub(/\[[^[:alpha:]]*\]/, "", text)
            gsub(/[|\t\r]/, " ", text)
            gsub(/^( |"|“|”)+|( |"|“|”)+$/, "", text) # no brackets: awk may take the bytes of a letter for letters
            if (seen[name]++) drop("the list names it twice")
            else if (!exists(from name ".g722")) drop("there is no recording")
            else if (text == "") drop("there is no text")
            else if (text ~ /^[[<(].*[])>]$/) drop("a sound or silence, not speech")
            else if (text ~ /[a-z]+(-[a-z]+)+: /) drop("the text holds the name of a prompt")
            else if (index(doubtful, " " speaker ":" name " ")) drop("myxtts check doubts that text and recording belong together")
            else if (text ~ /[][<>()]/) drop("it is not clear whether the words in brackets are spoken")
            else print name "\t" text
        }' | LC_ALL=C sort
}

# recordings_convert PROMPT WAV PROMPT WAV …: G.722 to WAV, as many at a time as there are cores. What is converted is whole:
# a recording gets its name when it is complete.
recordings_convert()
{
    (($# > 0)) || return 0
    printf '%d recordings to convert\n' $(($# / 2))
    # shellcheck disable=SC2016
    printf '%s\0' "$@" | xargs -0 -n 2 -P "$(nproc)" bash -c '
        ffmpeg -v error -threads 1 -f g722 -i "$1" -ar 22050 -y "$2.part.wav" </dev/null && mv "$2.part.wav" "$2"' -
}

# human_make SPEAKER LANGUAGE RECORDINGS
human_make()
{
    local speaker="$1" language="$2" from="/usr/share/asterisk/sounds/$3" to="$folder/corpus" name text file row
    local rows=() long=() missing=()
    mkdir -p "$to/wavs/$speaker"
    while IFS=$'\t' read -r name text; do
        file="wavs/$speaker/${name//\//_}.wav"
        [[ -e $to/$file ]] || missing+=("$from/$name.g722" "$to/$file")
        row="$file|$text|$speaker|$language"
        # 8,000 bytes of G.722 are a second.
        if (($(stat -c %s "$from/$name.g722") >= 16000)); then long+=("$row"); else rows+=("$row"); fi
    done < <(prompts_read "$language" "$from" "$speaker")
    ((${#long[@]} > held_out)) || {
        printf 'voices: there are only %d prompts of 2 seconds or more of %s\n' "${#long[@]}" "$speaker" >&2
        exit 2
    }
    recordings_convert "${missing[@]}"
    printf '%s\n' "${rows[@]}" "${long[@]:0:${#long[@]}-held_out}" >>"$to/metadata_train.csv.part"
    printf '%s\n' "${long[@]:${#long[@]}-held_out}" >>"$to/metadata_eval.csv.part"
}

# teacher_make LANGUAGE: three synthetic voices, named like the humans
teacher_make()
{
    local language="$1" to="$folder/corpus"
    run "$program" corpus demo "$folder/teacher-$language" --language "$language" --count $((3 * sentences)) --speakers 3
    ln -sfn "../../teacher-$language/wavs" "$to/wavs/teacher-$language"
    awk -F'|' -v l="$language" '{ print "wavs/teacher-" l "/" $1 ".wav|" $3 "|" l "-" $2 "|" l }' \
        "$folder/teacher-$language/metadata.csv" >>"$to/metadata_train.csv.part"
}

corpora_make()
{
    local human speaker language recordings kind
    mkdir -p "$folder/corpus"
    printf 'speaker\tprompt\treason\ttext\n' >"$folder/corpus/left_out.tsv"
    for kind in train eval; do printf 'audio_file|text|speaker_name|language\n' >"$folder/corpus/metadata_$kind.csv.part"; done
    for human in "${humans[@]}"; do
        IFS='|' read -r speaker language recordings _ <<<"$human"
        human_make "$speaker" "$language" "$recordings"
        printf '%s: %s prompts, %s left out\n' "$speaker" "$(grep -c "|$speaker|" "$folder/corpus/metadata_train.csv.part")" \
            "$(grep -c "^$speaker" "$folder/corpus/left_out.tsv")"
    done
    for language in en fa; do teacher_make "$language"; done
    for kind in train eval; do mv "$folder/corpus/metadata_$kind.csv.part" "$folder/corpus/metadata_$kind.csv"; done
}
