#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Finds the largest batch for each model size under the memory limits of some pairs of cards, as 'myxtts train --dry-run'
# plans it, and writes the table between the marks of docs/en/migration.md and docs/fa/migration.md.
#
#     scripts/batch_table.sh BUILD
#
# Planning needs no card: the devices are those of the mock driver in tests/double, set to the memory of the cards, and
# nothing is allocated. The corpus is one sentence read by flite, 2,000 times under different names.

set -euo pipefail

build=$(realpath "${1:?usage: scripts/batch_table.sh BUILD}")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
sizes=(tiny small normal base big)
# Memory of each of the two cards in GB, limit of the data device, limit of the model device, in MiB.
cards=('10 4096 8192' '16 6144 12288' '24 8192 16384' '24 10240 20480')

die()
{
    printf 'batch_table: %s\n' "$*" >&2
    exit 1
}

double=$build/libcuda_double.so
[ -e "$double" ] || die "no $double: build the tests first (make test)"
command -v flite >/dev/null || die "flite is not installed: scripts/deps.sh demo"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export MYXTTS_CUDA_DRIVER=$double MYXTTS_CUDA_NVRTC=$double MYXTTS_CUDA_CUBLAS=$double MYXTTS_CUDA_NVML=$double
export MYXTTS_CACHE=$folder/cache
unset CUDA_VISIBLE_DEVICES

corpus()
{
    local text='The old lighthouse keeper climbed the narrow stairs every evening, lit the great lamp above the harbour, and watched the fishing boats come slowly home along the quiet coast.' i
    mkdir -p "$folder/corpus/wavs"
    flite -voice slt -t "$text" -o "$folder/corpus/wavs/0.wav"
    for ((i = 1; i < 2000; i++)); do ln "$folder/corpus/wavs/0.wav" "$folder/corpus/wavs/$i.wav"; done
    for ((i = 0; i < 2000; i++)); do printf '%d|%s\n' "$i" "$text"; done >"$folder/corpus/metadata.csv"
    "$build/myxtts" --quiet prepare "$folder/corpus" --output "$folder/corpus.pack" >"$folder/report"
    "$build/myxtts" --quiet features "$folder/corpus/wavs/0.wav" --output "$folder/features" >"$folder/report"
    seconds=$(sed -n 's/.* \([0-9.]*\) s used.*/\1/p' "$folder/report")
    frames=$(sed -n 's/.* mel *\([0-9]*\) frames.*/\1/p' "$folder/report")
    if [ -z "$seconds" ] || [ -z "$frames" ]; then die "no length in: $(cat "$folder/report")"; fi
}

# largest GB DATA MODEL SIZE: the largest batch with which a dry run ends well.
largest()
{
    local words=(train --train-data "$folder/corpus.pack" --data-gpu 0 --model-gpu 1 --data-gpu-memory "$2" --model-gpu-memory "$3" --model-size "$4" --dry-run)
    local fits=0 most=1024 middle code
    while ((fits + 1 < most)); do
        middle=$(((fits + most) / 2)) code=0
        CUDA_DOUBLE_MEMORY_MIB=$(($1 * 1024)) "$build/myxtts" --quiet "${words[@]}" --batch-size $middle >"$folder/report" 2>&1 || code=$?
        case $code in
        0) fits=$middle ;;
        3) most=$middle ;; # it does not fit
        *) die "exit code $code of: myxtts ${words[*]} --batch-size $middle: $(tail -2 "$folder/report")" ;;
        esac
    done
    ((fits + 1 < 1024)) || die "more than $fits fit: look at larger batches"
    printf '%s' "$fits"
}

corpus
for card in "${cards[@]}"; do
    read -r memory data model <<<"$card"
    row="| $memory GB | \`--data-gpu-memory $data --model-gpu-memory $model\` |"
    for size in "${sizes[@]}"; do row+=" $(largest "$memory" "$data" "$model" "$size") |"; done
    printf '%s\n' "$row"
done >"$folder/rows"

for language in en fa; do
    page=$source/docs/$language/migration.md
    grep -q '^<!-- batch table -->$' "$page" || die "no mark '<!-- batch table -->' in $page"
    perl -Mutf8 -CSD -e '
        my ($page, $rows, $language, $seconds, $frames) = @ARGV;
        my $above = $language eq "fa" ? "بزرگ‌ترین دسته با ضبط‌های $seconds ثانیه‌ای ($frames فریم mel):" =~ tr/0-9./۰-۹٫/r
                                      : "The largest batch of recordings of $seconds s ($frames mel frames):";
        open(my $in, "<:utf8", $rows) or die; my $table = do { local $/; <$in> };
        if ($language eq "fa") {
            $table =~ s/ GB / گیگابایت /g;
            # Digits are Persian but in code, which needs U+200E before its dash.
            $table = join "", map { /^`/ ? "\x{200e}$_" : tr/0-9/۰-۹/r } split /(`[^`]*`)/, $table;
        }
        my $head = $language eq "fa" ? "| هر کارت | سقف‌ها |" : "| each card | limits |";
        $head .= " `$_` |" for qw(tiny small normal base big);
        open(my $old, "<:utf8", $page) or die; my $text = do { local $/; <$old> };
        $text =~ s/(<!-- batch table -->\n).*?(<!-- end -->)/$1\n$above\n\n$head\n|---|---|---|---|---|---|---|\n$table\n$2/s or die "no marks\n";
        open(my $out, ">:utf8", $page) or die; print $out $text;' "$page" "$folder/rows" "$language" "$seconds" "$frames"
done
cat "$folder/rows"
