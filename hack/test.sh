#!/usr/bin/env bash
# Runs make targets, all of them even if one fails, and ends with a table of their times, the slowest tests, and one line.
#
#   test.sh TARGET... [-- TARGET...]   two rows, side by side: one for targets that mostly wait for a cluster, one for those that compute
#
# A target that this machine cannot run is skipped, and the table says why. The whole output of a target is in .bin/test/TARGET.log; what is
# printed are results, and of a target that failed the lines that say why. With STARVE=70 other processes take 70 % of each core meanwhile.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
logs=.bin/test
mkdir -p "$logs"
table=$logs/table
if [ -z "${TEST_TABLE:-}" ] || [ ! -f "$table" ]; then # with TEST_TABLE=both this run adds to the table of the previous run
	rm -f "$logs"/*
	date +%s >"$logs/began"
fi
rows=() # process groups
starver=''

# obstacle TARGET: prints why this machine cannot run a target; nothing if it can.
obstacle() {
	local output
	case $1 in
	e2e-node) hack/cluster/node/node.sh check 2>&1 | sed 's/^node.sh: //' ;;
	vulncheck) output=$(hack/vulncheck.sh check 2>&1) || tail -1 <<<"$output" | sed 's/^vulncheck.sh: //' ;;
	esac
}

# results: lets those lines of an output through that tell how it goes; the others are in the log.
results() {
	grep --line-buffered -E '^(ok|FAIL|\?|--- FAIL|panic:|make: \*\*\*|Building|Creating|Starting|Replacing)|built in [0-9]+ s|^ +[a-z-]+ +[0-9]+0 s, [0-9]+ packages' |
		grep --line-buffered -v 'no test files' || true
}

# reasons LOG: what each test that failed has printed, or the end of the output if no test failed. With -v a test prints before its result, and
# "=== NAME" says which test it is. Without it, the lines follow the result.
reasons() {
	local found
	found=$(awk '
		/^=== / { name = $3; next }
		/^ *--- / { name = $3; if (/FAIL/) { failed[name] = 1; printf "%s\n%s", $0, lines[name] } }
		/^ +[a-z0-9_]+_test\.go:[0-9]+: / { line = substr($0, 1, 600); if (failed[name]) print line; else lines[name] = lines[name] line "\n" }
		/^FAIL.|^panic: / { print }' "$1")
	if [ -n "$found" ]; then echo "$found"; else tail -n 30 "$1"; fi
}

# row NICENESS TARGET...: runs targets one after the other.
row() {
	local target why start result log niceness=$1
	for target in "${@:2}"; do
		log=$logs/$target.log
		why=$(obstacle "$target")
		if [ -n "$why" ]; then
			echo "<== $target skipped: $why"
			echo "$target skipped 0 $why" >>"$table"
			continue
		fi
		echo "==> $target"
		start=$SECONDS result=passed
		# The process that writes the log keeps running even if the row is ended: a target that stops its cluster then can still report that.
		nice -n "$niceness" make "$target" 2>&1 | (trap '' INT TERM && tee "$log" | results)
		if [ "${PIPESTATUS[0]}" != 0 ]; then
			result=FAILED
			reasons "$log"
		fi
		echo "<== $target $result in $((SECONDS - start)) s"
		echo "$target $result $((SECONDS - start))" >>"$table"
	done
}

# start NICENESS TARGET...: runs a row as a process group of its own, so that all of it can be ended.
start() {
	[ $# -gt 1 ] || return 0
	set -m
	row "$@" </dev/null &
	rows+=($!)
	set +m
}

# slowest: prints the ten slowest tests.
slowest() {
	local log
	for log in "$logs"/*.log; do
		awk -v target="$(basename "$log" .log)" '/^--- (PASS|FAIL): / { gsub(/[()s]/, "", $4); printf "%8.1f s  %-12s %s\n", $4, target, $3 }' "$log"
	done | sort -rn | head -n 10
}

summary() {
	local failed
	failed=$(grep -c ' FAILED ' "$table")
	printf '\n%-14s %-8s %8s\n' target result time
	awk '{ why = ""; for (i = 4; i <= NF; i++) why = why " " $i; printf "%-14s %-8s %6d s %s\n", $1, $2, $3, why }' "$table"
	printf '\nThe ten slowest tests:\n%s\n\n' "$(slowest)"
	echo "$([ "$failed" = 0 ] && echo PASS || echo FAIL) in $(($(date +%s) - $(<"$logs/began"))) s${STARVE:+ with STARVE=$STARVE}: $(wc -l <"$table") targets, $failed failed; the logs are in $logs"
	[ "$failed" = 0 ]
}

# stop: ends what still runs.
stop() {
	local group
	trap '' INT TERM
	for group in ${rows[@]+"${rows[@]}"} $starver; do
		kill -- "-$group" 2>/dev/null || true
	done
	wait
}
trap stop EXIT
trap 'exit 130' INT TERM

if [ -n "${STARVE:-}" ]; then
	go build -o .bin/starve ./hack/test/harness/starve || exit
	set -m
	.bin/starve -percent "$STARVE" &
	starver=$!
	set +m
fi
first=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	first+=("$1")
	shift
done
[ $# -eq 0 ] || shift
start 0 "${first[@]}"
# The row that waits for a cluster takes the longest, and on a fresh machine builds that cluster first. The other row therefore has a lower priority.
start 5 "$@"
for group in "${rows[@]}"; do
	wait "$group"
done
rows=()
summary
