#!/usr/bin/env bash
# Prints the path of a program, and builds it into the cache if it is not there: a development tool in the version that
# hack/tools/dev/go.mod pins, golangci-lint, helm, krew, updater, descheduler, prometheus or promtool, which have modules of their own, or one of
# our own programs:
#   "$(hack/tool.sh golangci-lint)" run
# `go tool -modfile=hack/tools/dev/go.mod` would be shorter, but go refuses it beside a vendor folder.
set -euo pipefail

hack=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PODMANAGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/podmanager}
name=${1:-}
module=$hack/tools/dev
pattern=tool
takes=
own="release/attest release/bundlecheck release/image release/registry tools/kstatus"
apart="golangci-lint helm krew updater descheduler"
for folder in $own; do
	if [ "${folder#*/}" = "$name" ]; then
		module=$hack/$folder
		pattern=.
	fi
done
if [[ " $apart " == *" $name "* ]]; then
	module=$hack/tools/$name
	takes=', which takes some minutes'
elif [ "$name" = prometheus ] || [ "$name" = promtool ]; then
	module=$hack/tools/prometheus
	takes=', which takes some minutes'
fi
# A module may say which build tags its programs want.
tags=
if [ -f "$module/tags" ]; then
	tags=$(<"$module/tags")
fi
# The nested module alone decides the versions: the vendor folder and a workspace of the user have no influence.
export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0

# build PACKAGE PROGRAM: compiles under a name of its own, so that two runs at once do no harm.
build() {
	echo "Building $name, once, into $(dirname "$2")$takes" >&2
	mkdir -p "$(dirname "$2")"
	if ! go -C "$module" build -trimpath -buildvcs=false -tags "$tags" -o "$2.$$" "$1" >&2; then
		echo "tool.sh: building $name failed; the lines above say why" >&2
		return 1
	fi
	mv "$2.$$" "$2"
}

# The key covers everything that decides the result: the files of the module (pinned versions, tags, and sources) and the platform.
key=$(cat "$module"/* <(go -C "$module" env GOVERSION GOOS GOARCH) | sha256sum | cut -c1-12)
program=$cache/tools-$key/$name
if [ -z "$name" ] || [ ! -x "$program" ] || [ -d "$program" ]; then
	# List the packages of this module only: the requirements of the others need not be downloaded.
	packages=$(go -C "$module" list "$pattern")
	if ! package=$(grep -x ".*/$name" <<<"$packages") || [ -z "$name" ]; then
		printf "usage: hack/tool.sh NAME, where NAME is one of:\n%s\n" \
			"$(printf '%s\n' "$packages" $apart prometheus promtool $own | sed 's:.*/::' | sort)" >&2
		exit 2
	fi
	build "$package" "$program"
fi
echo "$program"
