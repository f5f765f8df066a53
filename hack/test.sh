#!/usr/bin/env bash
# Runs make targets one after the other, all of them even if one fails, says how long each took, and ends with one line.
# A target that this machine cannot run is skipped, and the line says why.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
# An interrupt ends the script, not only one step.
trap 'exit 130' INT TERM
summary=''
failed=''
# obstacle TARGET: prints why this machine cannot run a target; nothing if it can.
obstacle() {
	local output
	case $1 in
	e2e-node) hack/cluster/node/node.sh check 2>&1 | sed 's/^node.sh: //' ;;
	vulncheck) output=$(hack/vulncheck.sh check 2>&1) || tail -1 <<<"$output" | sed 's/^vulncheck.sh: //' ;;
	esac
}

for target in "$@"; do
	echo "==> $target"
	why=$(obstacle "$target")
	if [ -n "$why" ]; then
		echo "<== $target skipped: $why"
		summary+="${summary:+, }$target skipped: $why"
		continue
	fi
	start=$SECONDS
	result=passed
	make "$target" || result=FAILED failed=1
	took="$((SECONDS - start)) s"
	echo "<== $target $result in $took"
	summary+="${summary:+, }$target $result ($took)"
done
echo "$([ -z "$failed" ] && echo PASS || echo FAIL) in $SECONDS s: $summary"
[ -z "$failed" ]
