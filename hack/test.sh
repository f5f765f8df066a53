#!/usr/bin/env bash
# Runs make targets one after the other, all of them even if one fails, says how long each took, and ends with one line.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
# An interrupt is for all of it, not for one step.
trap 'exit 130' INT TERM
summary=''
failed=''
for target in "$@"; do
	echo "==> $target"
	start=$SECONDS
	result=passed
	make "$target" || result=FAILED failed=1
	took="$((SECONDS - start)) s"
	echo "<== $target $result in $took"
	summary+="${summary:+, }$target $result ($took)"
done
echo "$([ -z "$failed" ] && echo PASS || echo FAIL) in $SECONDS s: $summary"
[ -z "$failed" ]
