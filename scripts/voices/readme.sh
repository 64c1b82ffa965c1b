# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
#
# For voices.sh: the page about the base voice, from the corpus and the run themselves.
#
# The caller sets `program` (myxtts), `folder`, `results` and `measured` (the table of scripts/bench/voices.sh, if there is one), and has
# corpora.sh.

# A value of the settings that the run was trained with: setting_of SECTION KEY.
setting_of()
{
    "$program" inspect "$results/base.voice.safetensors" --config |
        awk -v section="$1:" -v key="$2:" '/^[a-z]/ { inside = $1 == section } inside && $1 == key { print $2 }'
}

# "SPEAKER LANGUAGE RECORDINGS MINUTES" of each speaker. The WAV files have 44,100 bytes a second.
recordings_of()
{
    awk -F'|' 'NR > 1 { print $1 }' "$folder/corpus/metadata_train.csv" |
        (cd "$folder/corpus" && xargs -d '\n' stat -L -c '%n|%s') |
        awk -F'|' 'NR == FNR { bytes[$1] = $2; next }
            FNR > 1 { n[$3 " " $4]++; sum[$3 " " $4] += bytes[$1] }
            END { for (k in n) printf "%s %d %.1f\n", k, n[k], sum[k] / 44100 / 60 }' - "$folder/corpus/metadata_train.csv" | sort
}

# Whose voice it is, and under which licence.
whose_of()
{
    local human speaker recordings whose licence
    for human in "${humans[@]}"; do
        IFS='|' read -r speaker _ recordings whose licence <<<"$human"
        [[ $speaker != "$1" ]] || printf '%s, `%s` of asterisk-core-sounds | %s' "$whose" "$recordings" "$licence"
    done
    case "$1" in
    en-awb | en-rms | en-slt) printf 'synthetic: flite, voice `%s` | that of flite (BSD-like)' "${1#en-}" ;;
    fa-*) printf 'synthetic: espeak-ng, voice `fa+%s` | the program: GPL-3.0-or-later' "${1#fa-}" ;;
    esac
}

size_of()
{
    stat -c %s "$results/$1" | awk '{ printf "%.1f MB", $1 / 1e6 }'
}

# What scripts/bench/voices.sh measured, if it judged the file that is there.
quality_of()
{
    if [[ -e $measured && $(head -n 1 "$measured") == "<!-- $(file_hash "$results/base.voice.safetensors") -->" ]]; then
        tail -n +2 "$measured"
        printf '\nTexts that were kept out of training, by `make bench-voices` ([all figures, and clones](../SPEED.md#voices-make-bench-voices)): word errors by pocketsphinx (English only),\n'
        printf 'quality by DNSMOS (1 to 5), and the distance from the recordings: mean pitch, durations, mel.\n'
    else
        printf 'Not measured yet: `make bench-voices`, then `scripts/voices/voices.sh build readme`.\n'
    fi
}

readme_write()
{
    local speaker language count minutes step
    step="$("$program" inspect "$results/base.voice.safetensors" --json | awk -F'[:,]' '/"step"/ && !seen++ { print $2 + 0 }')"
    cat <<MD
# Voices

\`base.voice.safetensors\` ($(size_of base.voice.safetensors)) is a voice with several speakers and languages; \`vocoder.safetensors\`
($(size_of vocoder.safetensors)) is its vocoder alone. How to use them: [docs/en/voices.md](../docs/en/voices.md), [docs/fa/voices.md](../docs/fa/voices.md).

| speaker | language | recordings | minutes | whose | licence |
|---|---|---|---|---|---|
MD
    while read -r speaker language count minutes; do
        printf '| `%s` | %s | %s | %s | %s |\n' "$speaker" "$language" "$count" "$minutes" "$(whose_of "$speaker")"
    done < <(recordings_of)
    cat <<MD

The humans' recordings are Debian packages, asterisk-core-sounds-XX-g722, at 16 kHz. $(($(wc -l <"$folder/corpus/left_out.tsv") - 1)) prompts are not used because they are no speech or their
text is not clear, and $(($(wc -l <"$folder/corpus/metadata_eval.csv") - 1)) were kept out of training, to measure with.

## How well they speak

$(quality_of)

## Licence

Both files: CC-BY-SA 3.0, because recordings under that licence are among those that they were made from. Whoever passes them on keeps the licence
and names those above; \`myxtts voices\` shows both.

## How they were made

\`make voices\`: $step steps of batches of at most $(setting_of training batch_size) recordings and $(setting_of training batch_frames) frames, speakers balanced by
\`data.balance=$(setting_of data balance)\`; seed $(setting_of training seed). The weights are bf16. \`myxtts inspect base --config\` shows all settings.
MD
}
