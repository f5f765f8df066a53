#!/usr/bin/env bash
# Runs the unit tests and prints how much of each room (package) they cover, lowest first, and the total. Arguments go to `go test`.
# Rooms are the packages that our programs are built from, without generated code. A statement counts if the tests of any room reach it:
# the planner's rooms, for example, are also tested through pkg/plan and pkg/world.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
module=$(go list -m)
profile=.bin/cover.out
log=.bin/cover.log
mkdir -p .bin
rooms=$(go list -deps ./cmd/... | grep "^$module/" | grep -v "^$module/pkg/generated/" | paste -sd , -)
# Short simulations reach the same statements in a fraction of the time. The other settings are those of make unit.
if ! GOGC=${GOGC:-400} go test -short -vet=off -ldflags='-s -w' -timeout 30m -coverpkg "$rooms" -coverprofile "$profile" ./pkg/... ./cmd/... "$@" >"$log" 2>&1; then
	grep -vE '^ok |no test files|^\s.*coverage: 0.0%' "$log" >&2 || true
	echo "cover.sh: tests have failed, so there is no coverage to print; all output is in $log" >&2
	exit 1
fi

# A line of the profile: FILE:BLOCK STATEMENTS COUNT. Each test program has written a line for each block.
awk -v prefix="$module/" '
	NR == 1 || $1 ~ /\/zz_generated/ { next }
	{ size[$1] = $2; reached[$1] += $3 }
	END {
		for (block in size) {
			room = substr(block, length(prefix) + 1)
			sub(/\/[^\/]*$/, "", room)
			all[room] += size[block]; total += size[block]
			if (reached[block]) { hit[room] += size[block]; sum += size[block] }
		}
		for (room in all) printf "%6.1f %%  %6d statements  %s\n", 100 * hit[room] / all[room], all[room], room | "sort -n"
		close("sort -n")
		printf "%6.1f %%  %6d statements  in all\n", 100 * sum / total, total
	}' "$profile"
echo "Line by line: go tool cover -html $profile"
