#!/usr/bin/env bash
# Runs suites of end-to-end tests on one real API server, one suite after the other.
#
#   test-e2e.sh [SUITE...] [-- ARGS...]   suites are folders of hack/test; ARGS go to the tests, as in go test: -run Scale -v
#
# The suite separate has those tests of core that start clusters of their own, TestSeparate...; core runs the others.
#
# While a suite runs, the next one is compiled. NODE=real adds the real node that the suite node needs. KEEP=1 leaves the cluster running
# afterwards, and a cluster that runs is used as it is; TEST_CLUSTER gives it another name, for two runs at the same time.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
cluster=hack/cluster/cluster.sh
name=${TEST_CLUSTER:-podmanager-test}
# The tests mostly wait, so more of them can run at a time than there are processors.
parallel=${E2E_PARALLEL:-16}
suites=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	suites+=("$1")
	shift
done
[ $# -eq 0 ] || shift
# A compiled test expects go test's own flags with a prefix.
arguments=()
for argument in "$@"; do
	if [[ $argument =~ ^--?(run|skip|v|count|failfast|short|list|parallel|timeout|cpu)(=.*)?$ ]]; then
		argument=-test.${BASH_REMATCH[1]}${BASH_REMATCH[2]}
	fi
	arguments+=("$argument")
done
[ ${#suites[@]} -gt 0 ] || suites=(core plugin)

work=$(mktemp -d)
# Process groups: of the compiler, and of what this script waits for.
compiler='' child=''

# start COMMAND...: runs it in the background, in a process group of its own, so that all of it can be ended.
start() {
	set -m
	"$@" &
	set +m
}

# await COMMAND...: runs it, and hears signals meanwhile, which bash does not while a command runs in the foreground.
await() {
	local result=0
	start "$@"
	child=$!
	wait "$child" || result=$?
	child=''
	return "$result"
}

# stop: ends what was started, and says what is left on purpose.
stop() {
	local group
	trap '' INT TERM # a second Ctrl-C must not leave a cluster behind
	for group in $compiler $child; do
		kill -- "-$group" 2>/dev/null || true
		wait "$group" 2>/dev/null || true
	done
	rm -rf "$work"
	if [ "${KEEP:-}" = 1 ]; then
		echo "Cluster $name is left running. To stop it: $cluster down $name"
	else
		"$cluster" down "$name"
	fi
	"$cluster" reap # the separate clusters that tests have started
}

# folder SUITE: prints the folder of its tests.
folder() { if [ "$1" = separate ]; then echo core; else echo "$1"; fi; }

# selection SUITE: prints the flag that selects the suite's tests in its folder, unless the arguments select tests.
selection() {
	[[ " ${arguments[*]-} " != *" -test.run"* ]] || return 0
	case $1 in
	core) echo -test.skip=^TestSeparate ;;
	separate) echo -test.run=^TestSeparate ;;
	esac
}

# compile: builds our programs, and the test programs of all suites in the order in which they are needed. An incomplete program has another name.
compile() {
	local suite
	# As make image does, so that they are static, and the real node can run them in a container.
	CGO_ENABLED=${E2E_RACE:-0} go build ${E2E_RACE:+-race} -trimpath -buildvcs=false -ldflags '-s -w' -o "$work/bin/" ./cmd/... || return
	for suite in "${suites[@]}"; do
		go test -c -tags e2e ${E2E_RACE:+-race} -o "$work/$suite.new" "./hack/test/$(folder "$suite")" || return
		mv "$work/$suite.new" "$work/$suite.test"
	done
}

# compiled SUITE: waits until the test program of the suite is built, or the compiler has failed.
compiled() {
	until [ -x "$work/$1.test" ]; do
		kill -0 "$compiler" 2>/dev/null || [ -x "$work/$1.test" ] || return 1
		sleep 0.1
	done
}

# run SUITE: runs its tests in the suite's folder, as go test does, and ends with go test's line.
run() {
	local start=$SECONDS result=ok
	if ! compiled "$1"; then
		echo "FAIL	hack/test/$1	does not compile"
		return 1
	fi
	(cd "hack/test/$(folder "$1")" && exec "$work/$1.test" -test.v -test.parallel "$parallel" -test.timeout "${E2E_TIMEOUT:-40m}" $(selection "$1") \
		${arguments[@]+"${arguments[@]}"}) || result=FAIL
	printf '%s\thack/test/%s\t%ds\n' "$result" "$1" "$((SECONDS - start))"
	[ "$result" = ok ]
}

trap stop EXIT
trap 'exit 130' INT TERM
# Most processes here are short-lived. They collect garbage less often, because memory is cheaper than CPU time.
export GOGC=${GOGC:-400}
start compile
compiler=$!
"$cluster" reap || true # it says what it could not stop
# Unless it is to stay, the cluster belongs to this process, so that the next run finds it if this one is killed.
OWNER=$([ "${KEEP:-}" = 1 ] || echo $$) await "$cluster" up "$name"
export PODMANAGER_PROGRAMS=$work/bin
export TMPDIR=$work/tmp # what interrupted tests leave goes with it
mkdir "$TMPDIR"
eval "$("$cluster" env "$name")"
PODMANAGER_AUDIT_LOG=$("$cluster" audit-log "$name")
export PODMANAGER_AUDIT_LOG
export PODMANAGER_NODE=$KWOK_WORKDIR/clusters/$name/node # exists only with NODE=real

failed=''
for suite in "${suites[@]}"; do
	await run "$suite" || failed=1
done
[ -z "$failed" ]
