#!/usr/bin/env bash
# Runs the end-to-end tests on real API servers of their own. Arguments go to `go test`. With NODE=real it runs the tests that
# need running containers.
# KEEP=1 leaves the clusters running afterwards; TEST_CLUSTER names other clusters, for two runs at the same time.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
name=${TEST_CLUSTER:-podmanager-test}
cluster=hack/cluster/cluster.sh
arguments=("$@")
output=$(mktemp -d)
clusters=()
streams=() # the processes that test on them

stop() {
	local each
	# An interrupt reaches only this script: each stream is a process group of its own.
	for each in $(jobs -rp); do
		kill -- "-$each" || true
	done
	wait
	# Tests that were interrupted leave clusters which they had for themselves.
	for each in "$name-policies" "$name-restore"; do
		"$cluster" down "$each" | grep -v 'is not running' || true
	done
	for each in "${clusters[@]}"; do
		if [ "${KEEP:-}" = 1 ]; then
			echo "Cluster $each is left running. To stop it: $cluster down $each"
		else
			"$cluster" down "$each"
		fi
	done
	rm -rf "$output"
}

# run CLUSTER PARALLEL PACKAGE...: runs the tests of the packages on a cluster, one package after the other.
run() {
	local name=$1 parallel=$2
	shift 2
	"$cluster" up "$name"
	eval "$("$cluster" env "$name")"
	PODMANAGER_AUDIT_LOG=$("$cluster" audit-log "$name")
	export PODMANAGER_AUDIT_LOG
	export PODMANAGER_NODE=$KWOK_WORKDIR/clusters/$name/node # exists only with NODE=real
	go test -tags e2e "$@" -p 1 -count=1 -parallel "$parallel" -timeout "${E2E_TIMEOUT:-60m}" ${arguments[@]+"${arguments[@]}"}
}

# stream CLUSTER PARALLEL PACKAGE...: runs tests in the background. Only the first stream is seen while it runs, so that outputs do not mix.
stream() {
	clusters+=("$1")
	set -m
	if [ ${#streams[@]} = 0 ]; then
		{ run "$@" 2>&1 | tee "$output/$1"; } &
	else
		run "$@" >"$output/$1" 2>&1 &
	fi
	streams+=($!)
	set +m
}

trap stop EXIT
trap 'exit 130' INT TERM
# The tests mostly wait, so more of them can run at a time than there are processors; on a real node they wait even more.
if [ "${NODE:-}" = real ]; then
	hack/cluster/node/node.sh check
	stream "$name-node" 8 ./hack/test/node
else
	stream "$name" 4 ./hack/test/core/...
	stream "$name-2" 4 ./hack/test/plugin ./hack/test/chart ./hack/test/monitoring ./hack/test/conversion ./hack/test/webhook ./hack/test/shards
fi

failed=''
for i in "${!streams[@]}"; do
	wait "${streams[i]}" || failed=1
	if [ "$i" != 0 ]; then
		cat "$output/${clusters[i]}"
	fi
done
if [ -n "$failed" ]; then
	echo "What has failed, and the first line of each error (nothing if a cluster did not start):"
	awk '/^ *--- / { told = /FAIL/ } /^ *--- FAIL|^FAIL.|^panic: / || told && /^ +[a-z0-9_]+_test\.go:[0-9]+: / { print substr($0, 1, 400) }' "$output"/*
	exit 1
fi
