#!/usr/bin/env bash
# Runs the fuzz tests of pkg/, one after the other, and says how long each took and how many inputs it tried.
#
#   fuzz.sh -each TIME [PATTERN]   TIME for each fuzz test whose name matches the pattern
#   fuzz.sh -all TIME [PATTERN]    TIME for all of them together, without the time to compile
#
# An input that breaks a test goes into testdata/fuzz beside it: commit it with the fix, and go test tries it from then on. Inputs that
# reach new code are kept in Go's build cache, and further runs begin with them; go clean -fuzzcache forgets them.
#
# With FUZZ_SEED=N, Go's mutator gets this seed, coverage does not guide it, and nothing is kept: a run tries the same inputs
# as the run before, or fewer on a slower machine. If it fails, a change is the reason, not chance.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -lt 2 ] || { [ "$1" != -each ] && [ "$1" != -all ]; }; then
	echo "usage: $0 -each|-all TIME [PATTERN]" >&2
	exit 1
fi
share=$1 time=$2 pattern=${3:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cache=$(go env GOCACHE)/fuzz
# Our own code counts what an input reaches. go test -fuzz would have all libraries count, too, and compile them anew, which takes minutes.
flags=(-gcflags "$(go list -m)/...=-d=libfuzzer")
if [ -n "${FUZZ_SEED:-}" ]; then
	export GODEBUG="${GODEBUG:+$GODEBUG,}fuzzseed=$FUZZ_SEED"
	cache=$work/cache
	flags=()
fi

# seconds TIME: a time such as 90s, 2m or 1h as a number.
seconds() {
	case $1 in
	*h) echo $((${1%h} * 3600)) ;;
	*m) echo $((${1%m} * 60)) ;;
	*) echo "${1%s}" ;;
	esac
}

# program PACKAGE: the file of a package's tests. Its name has the whole path, because the last part may be that of two packages.
program() {
	echo "$work/${1//\//-}.test"
}

packages=$(grep -rl --include='*_test.go' '^func Fuzz' pkg | xargs -n 1 dirname | sort -u)
targets=()
for package in $packages; do
	go test -c ${flags[@]+"${flags[@]}"} -o "$(program "$package")" "./$package"
	for name in $("$(program "$package")" -test.list '^Fuzz'); do
		if [[ $name =~ $pattern ]]; then
			targets+=("$package $name")
		fi
	done
done
if [ ${#targets[@]} -eq 0 ]; then
	echo "fuzz.sh: there is no fuzz test whose name matches $pattern" >&2
	exit 1
fi
each=$(seconds "$time")000
if [ "$share" = -all ]; then
	each=$((each / ${#targets[@]}))
fi

failed=''
began=$SECONDS
for target in "${targets[@]}"; do
	read -r package name <<<"$target"
	start=$SECONDS
	log=$work/log
	# A program of go test runs in the folder of its package: that is where testdata is.
	if (cd "$package" && "$(program "$package")" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "${each}ms" \
		-test.parallel 2 -test.fuzzminimizetime 200x -test.fuzzcachedir "$cache/$package") >"$log" 2>&1; then
		result=ok
	elif grep -q '^ *context deadline exceeded$' "$log" && ! grep -qE 'Failing input|fuzzing process' "$log"; then
		result=ok # the time is up: up to Go 1.26 a race in the fuzzer makes that a failure now and then (golang/go#75804)
	else
		result=FAILED failed=1
		cat "$log"
	fi
	inputs=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
	printf '%-6s %-40s %4d s %9s inputs\n' "$result" "${package#pkg/} $name" "$((SECONDS - start))" "${inputs:-no}"
done
echo "${#targets[@]} fuzz tests in $((SECONDS - began)) s"
[ -z "$failed" ]
