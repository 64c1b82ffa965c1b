#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Writes docs/en/tested.md and docs/fa/tested.md: the results of `make check-all` for one commit, from its state file
# (scripts/test/check_all.sh), and the machine. A step without a result for this commit is listed as not run.
#
#     scripts/test/tested.sh build/check-all/state.tsv COMMIT

set -euo pipefail
usage='usage: scripts/test/tested.sh STATE COMMIT'
state="$(realpath "${1:?$usage}")"
commit="${2:?$usage}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/test/check_steps.sh
. scripts/test/check_steps.sh

processor="$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
processor="${processor:-$(uname -m)}"
cores="$(nproc)"
memory="$(awk '/^MemTotal:/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo)"

# row STEP LANGUAGE
row()
{
    local result='' seconds='' day='' why='' time='–'
    IFS=$'\t' read -r result seconds day why < <(awk -F '\t' -v OFS='\t' -v step="$1" -v commit="$commit" \
        '$1 == step && $2 == commit { print $3, $4, $5, $7 }' "$state") || true
    [[ -z $seconds ]] || time="$((seconds / 60)):$(printf %02d $((seconds % 60)))"
    [[ -z $why ]] || why=": \`${why//[\`|]/ }\`"
    case "$2 ${result:-none}" in
    'en passed') result='passed' ;;
    'en failed') result="**failed**$why" ;;
    'en skipped') result="skipped$why" ;;
    'en none') result='not run' ;;
    'fa passed') result='درست' ;;
    'fa failed') result="**نادرست**$why" ;;
    'fa skipped') result="کنار گذاشته شد$why" ;;
    'fa none') result='اجرا نشده' ;;
    esac
    printf '| %s | %s | %s | %s |\n' "$(check_words "$1" "$2")" "$result" "$time" "${day:-–}"
}

# write PAGE: what comes in, as a whole or not at all
write()
{
    cat >"$1.new"
    mv "$1.new" "$1"
}

{
    cat <<PAGE
# What was tested

[فارسی](../fa/tested.md)

Every change passes the checks of \`.ci/run\`. This page has the results of those that take longer. \`make check-all\` runs them and writes this page. With \`CHECK=REGEX\` it runs some of them. If it was stopped it continues, and it does not repeat a step that has passed for the same commit.

- Commit: \`$commit\`
- Machine: $processor, $cores cores, $memory GiB of memory

| step | result | minutes | day |
|---|---|---|---|
PAGE
    for step in "${check_steps[@]}"; do row "$step" en; done
    cat <<'PAGE'

A step is *skipped* if the machine lacks what it needs, and the reason is given. A step that has passed may leave out parts for the same reason: its output in `build/check-all` says which.
PAGE
} | write docs/en/tested.md
{
    cat <<PAGE
<div dir="rtl">

# چه چیزی آزموده شده است

[English](../en/tested.md)

هر تغییر از آزمون‌های \`.ci/run\` می‌گذرد. این صفحه نتیجهٔ آزمون‌هایی را دارد که بیشتر طول می‌کشند. \`make check-all\` آن‌ها را اجرا می‌کند و این صفحه را می‌نویسد. با \`CHECK=REGEX\` تنها برخی اجرا می‌شوند. اگر میان راه نگه داشته شود ادامه می‌دهد، و مرحله‌ای را که برای همان کامیت درست بوده تکرار نمی‌کند.

- کامیت: \`$commit\`
- ماشین: $processor، $cores هسته، $memory گیبی‌بایت حافظه

| مرحله | نتیجه | دقیقه | روز |
|---|---|---|---|
PAGE
    for step in "${check_steps[@]}"; do row "$step" fa; done
    cat <<'PAGE'

مرحله‌ای *کنار گذاشته* می‌شود که ماشین چیزی را که لازم دارد نداشته باشد، و دلیلش نوشته می‌شود. مرحله‌ای که درست بوده هم شاید به همین دلیل بخش‌هایی را اجرا نکرده باشد: خروجی‌اش در `build/check-all` می‌گوید کدام‌ها.

</div>
PAGE
} | write docs/fa/tested.md
