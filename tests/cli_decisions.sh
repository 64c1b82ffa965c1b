#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Decisions about rows, with the program given as $1: check, prepare and train drop and fix the same rows, a changed file
# of decisions is noticed like a changed manifest, and bad files are refused. Tokens are characters, so that libespeak-ng
# is not needed.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

header=$'id\tdecision\ttext\tnote'
# decide FILE LINE...
decide() {
    local file=$1
    shift
    printf '%s\n' "$header" "$@" >"$file"
}

tones corpus 20
sed -i 's/^row-007.*/row-007|low|/' corpus/metadata.csv # no text
check=(check corpus --tokens chars)
prepare=(prepare corpus --tokens chars --out)

# ---- check ----
done_with "${check[@]}"
check "before, one row is rejected" grep -q '20: 19 good, 1 rejected' stdout
decide corpus/decisions.tsv $'row-001\tdrop\t\tnoisy' $'row-002\tdrop' $'row-003\tdrop' $'row-007\tfix\tThe tone number h.' \
    $'row-004\tkeep\t\tsounds good' $'row-100\tdrop'
done_with "${check[@]}"
check "rows are dropped, and one is fixed" grep -q '20: 17 good, 3 rejected' stdout
check "dropped rows have their reason" grep -q '3  dropped  ' stdout
check "the log says how many" grep -q 'decisions: 3 rows dropped, 1 with another text, 1 kept as good' stderr
check "a row that is not there is named" grep -q "1 of 6 are about rows that the corpus does not have: 'row-100'$" stderr
check "they are listed" test "$(grep -c $'\tdropped\t.*as decided in .corpus/decisions.tsv' corpus/rejects.tsv)" -eq 3
decide other.tsv $'row-000\tdrop'
done_with "${check[@]}" --decisions other.tsv
check "another file instead" grep -q 'decisions: 1 rows dropped, 0 with' stderr
check "and what was fixed is broken again" grep -q '20: 18 good, 2 rejected' stdout
refused 2 'nowhere.tsv' '.' "${check[@]}" --decisions nowhere.tsv

# ---- too many faults ----
printf 'row-020|low|\n' >>corpus/metadata.csv
decide corpus/decisions.tsv $'row-001\tdrop' $'row-002\tdrop' $'row-003\tdrop'
run "${check[@]}"
check "two of twenty-one rows are too many" test "$code" -eq 2
check "dropped ones do not count" grep -q '2 of 21 rows are rejected' stderr
run "${prepare[@]}" many.pack
check "for prepare, too" test "$code" -eq 2
check "with the same numbers" grep -q '2 of 21 rows (9.5 %) are rejected' stderr
run train --train-data corpus --output many "${small[@]}" --steps 1
check "and for train" test "$code" -eq 2
check "with the same numbers, too" grep -q '2 of 21 rows are rejected' stderr
sed -i '$d' corpus/metadata.csv

# ---- bad files ----
decide corpus/decisions.tsv $'row-001\tdrop' $'row-002\tremove'
refused 2 "corpus/decisions.tsv:3: 'remove' is no decision" 'keep, drop or fix' "${prepare[@]}" x.pack
decide corpus/decisions.tsv $'row-001\tdrop' $'row-001\tkeep'
refused 2 "corpus/decisions.tsv:3: line 2 decides about 'row-001', too" 'one of the two' "${check[@]}"
decide corpus/decisions.tsv $'row-001\tfix'
refused 2 'fix needs a text' "'drop'" train --train-data corpus --output x "${small[@]}" --steps 1
check "nothing was made" test ! -e x.pack -a ! -e x

# ---- prepare ----
decide corpus/decisions.tsv $'row-001\tdrop' $'row-007\tfix\tThe tone number h.'
done_with "${prepare[@]}" corpus.pack
check "prepare drops and fixes" grep -q '20: 19 good, 1 rejected' stdout
check "decisions are reported once" test "$(grep -c '^decisions: ' stderr)" -eq 1
check "a dropped row is listed" grep -q $'row-001\tdropped' corpus.pack.rejects.tsv
printf 'row-002\tkeep\n' >>corpus/decisions.tsv
done_with "${prepare[@]}" corpus.pack
check "what is kept changes nothing" grep -q 'is up to date' stdout
cp corpus/decisions.tsv first.tsv
decide corpus/decisions.tsv $'row-001\tdrop' $'row-007\tfix\tAnother tone of h.'
done_with "${prepare[@]}" second.pack
cp corpus.pack changed.pack
done_with "${prepare[@]}" changed.pack
check "another text makes another file" grep -q 'was not up to date' stderr
check "the same as a new one" cmp changed.pack second.pack
done_with "${prepare[@]}" again.pack --decisions first.tsv
check "a named file gives what the other gave" cmp again.pack corpus.pack

# ---- train on a packed file: what it was made with must fit ----
packed=(train "${small[@]}" --steps 1 --output)
done_with "${packed[@]}" p1 --train-data corpus.pack --decisions first.tsv
refused 2 "row 'row-007' is not fixed" 'prepare' "${packed[@]}" p2 --train-data second.pack --decisions first.tsv
decide more.tsv $'row-005\tdrop'
refused 2 "row 'row-005' is not dropped" 'prepare' "${packed[@]}" p3 --train-data corpus.pack --decisions more.tsv

# ---- train on the folder, and go on ----
cp first.tsv corpus/decisions.tsv
done_with train --train-data corpus --output run "${small[@]}" --steps 2
check "train says it, too" grep -q 'decisions: 1 rows dropped, 1 with another text, 1 kept' stderr
check "the dropped row is in the list of the run" grep -q $'row-001\tdropped' run/rejects.tsv
printf 'row-003\tkeep\t\ta note\n' >>corpus/decisions.tsv
done_with train --resume run --steps 3
printf 'row-005\tdrop\n' >>corpus/decisions.tsv
refused 2 'the training data is not that of the run: rows, lengths' 'decisions' train --resume run --steps 4
sed -e 's/tone number h/tune number h/' first.tsv >corpus/decisions.tsv
refused 2 'the training data is not that of the run: texts' 'decisions' train --resume run --steps 4
done_with train --resume run --steps 4 --decisions first.tsv
rm corpus/decisions.tsv
done_with train --resume run --steps 5
check "the run keeps the name of its file" grep -q "decisions: .*first.tsv" run/config.yaml
done_with eval --checkpoint run --data corpus --held-out
check "rows that are held out are those of the run" grep -q 'decisions: 1 rows dropped, 1 with' stderr

# ---- sounds alone, by the ids of the manifest ----
decide corpus/decisions.tsv $'row-001\tdrop'
done_with train --part vocoder --set vocoder.segments=4 --set vocoder.segment_frames=16 --train-data corpus --output sounds \
    --steps 1
check "a vocoder does not hear the row either" grep -q 'decisions: 1 rows dropped' stderr

finish
