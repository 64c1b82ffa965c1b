#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Finds the largest batch for each model size under the memory limits of some pairs of cards, as 'myxtts train --dry-run'
# plans it, and writes the table between the marks of docs/en/migration.md and docs/fa/migration.md.
#
#     scripts/bench/batch_table.sh BUILD                      writes the table
#     scripts/bench/batch_table.sh --check BUILD [CELL ...]   compares cells of both pages with the plan and writes nothing
#
# A cell is ROW:SIZE, a row of the table from 1 on and a model size, as 4:tiny; without any, all are compared. A batch that
# is current fits, and one of one utterance more does not. The exit code is 1 if a cell is stale.
#
# Planning needs no card: the devices are those of the mock driver in tests/double, set to the memory of the cards, and
# nothing is allocated. The corpus is one sentence read by flite, 2,000 times under different names.

set -euo pipefail

usage='usage: scripts/bench/batch_table.sh [--check] BUILD [CELL ...]'
check=''
if [ "${1:-}" = --check ]; then
    check=1
    shift
fi
build=$(realpath "${1:?$usage}")
shift
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
sizes=(tiny small normal base big)
# Memory of each of the two cards in GB, limit of the data device, limit of the model device, in MiB.
cards=('10 4096 8192' '16 6144 12288' '24 8192 16384' '24 10240 20480')

die()
{
    printf 'batch_table: %s\n' "$*" >&2
    exit 2
}

if [ -z "$check" ] && [ $# -gt 0 ]; then die "$usage"; fi
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

# fits GB DATA MODEL SIZE BATCH: does a dry run end well?
fits()
{
    local words=(train --train-data "$folder/corpus.pack" --data-gpu 0 --model-gpu 1 --data-gpu-memory "$2" --model-gpu-memory "$3" --model-size "$4" --dry-run)
    local code=0
    CUDA_DOUBLE_MEMORY_MIB=$(($1 * 1024)) "$build/myxtts" --quiet "${words[@]}" --batch-size "$5" >"$folder/report" 2>&1 || code=$?
    case $code in
    0) return 0 ;;
    3) return 1 ;; # not enough memory
    *) die "exit code $code of: myxtts ${words[*]} --batch-size $5: $(tail -2 "$folder/report")" ;;
    esac
}

# largest GB DATA MODEL SIZE: the largest batch that fits.
largest()
{
    local fits=0 most=1024 middle
    while ((fits + 1 < most)); do
        middle=$(((fits + most) / 2))
        if fits "$@" $middle; then fits=$middle; else most=$middle; fi
    done
    ((fits + 1 < 1024)) || die "more than $fits fit: look at larger batches"
    printf '%s' "$fits"
}

# cell LANGUAGE ROW COLUMN: the number that a page has there, in digits of both.
cell()
{
    perl -Mutf8 -CSDA -ne '
        BEGIN { ($row, $column) = splice(@ARGV, 0, 2) }
        if (/^<!-- batch table -->$/ .. /^<!-- end -->$/) {
            next unless /^\|.*`-/ && ++$at == $row;
            my @cells = split /\s*\|\s*/;
            print $cells[2 + $column] =~ tr/۰-۹/0-9/r;
        }' "$2" "$3" "$source/docs/$1/migration.md"
}

# compare ROW:SIZE: both pages with the plan; says what is stale.
compare()
{
    local row=${1%%:*} size=${1#*:} column=0 at memory data model language number now=''
    for at in "${!sizes[@]}"; do if [ "${sizes[$at]}" = "$size" ]; then column=$((at + 1)); fi; done
    [[ $row =~ ^[1-9]$ && $row -le ${#cards[@]} && $column -gt 0 ]] || die "no cell $1: $usage"
    read -r memory data model <<<"${cards[row - 1]}"
    for language in en fa; do
        number=$(cell "$language" "$row" "$column")
        [[ $number =~ ^[0-9]+$ ]] || die "no number in row $row of docs/$language/migration.md under $size"
        if [ "$number" = "$now" ]; then continue; fi
        if [ -z "$now" ] && fits "$memory" "$data" "$model" "$size" "$number" &&
            ! fits "$memory" "$data" "$model" "$size" $((number + 1)); then
            now=$number
            printf '%s: %s\n' "$1" "$number"
            continue
        fi
        now=${now:-$(largest "$memory" "$data" "$model" "$size")}
        printf "stale: docs/%s/migration.md has %s in %s, and %s fit: run 'scripts/bench/batch_table.sh %s' and commit both pages\n" \
            "$language" "$number" "$1" "$now" "$build"
        stale=1
    done
}

if [ -n "$check" ]; then
    corpus
    if [ $# -eq 0 ]; then
        for row in "${!cards[@]}"; do for size in "${sizes[@]}"; do set -- "$@" "$((row + 1)):$size"; done; done
    fi
    stale=0
    for cell in "$@"; do compare "$cell"; done
    exit $stale
fi

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
