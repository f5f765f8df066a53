#!/usr/bin/env bash
# Runs the end-to-end tests on a real API server of their own. Arguments go to `go test`. With NODE=real it runs the tests that
# need running containers.
# KEEP=1 leaves the cluster running afterwards; TEST_CLUSTER names another cluster, for two runs at the same time.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
name=${TEST_CLUSTER:-podmanager-test}
cluster=hack/cluster/cluster.sh
tests="./hack/e2e/... ./hack/e2e-plugin ./hack/e2e-chart ./hack/e2e-monitoring ./hack/e2e-conversion ./hack/e2e-webhook"
# The tests mostly wait, so more of them can run at a time than there are processors; on a real node they wait even more.
parallel=4
if [ "${NODE:-}" = real ]; then
	tests=./hack/e2e-node
	parallel=8
	name+=-node
	hack/node/node.sh check
fi

stop() {
	if [ "${KEEP:-}" = 1 ]; then
		echo "Cluster $name is left running. To stop it: $cluster down $name"
	else
		"$cluster" down "$name"
	fi
}

trap stop EXIT
trap 'exit 130' INT TERM
"$cluster" up "$name"
eval "$("$cluster" env "$name")"
PODMANAGER_AUDIT_LOG=$("$cluster" audit-log "$name")
export PODMANAGER_AUDIT_LOG
export PODMANAGER_NODE=$KWOK_WORKDIR/clusters/$name/node # exists only with NODE=real
# The packages share the cluster, one after the other.
# shellcheck disable=SC2086 # the packages are words
go test -tags e2e $tests -p 1 -count=1 -parallel "$parallel" -timeout "${E2E_TIMEOUT:-30m}" "$@"
