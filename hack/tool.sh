#!/usr/bin/env bash
# Prints the path of a development tool in the version that hack/tools/go.mod pins, or of our own hack/kstatus and
# hack/image, after building it once into the cache:
#   "$(hack/tool.sh staticcheck)" ./...
# `go tool -modfile=hack/tools/go.mod` would be shorter, but go refuses it beside a vendor folder.
set -euo pipefail

hack=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PODMANAGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/podmanager}
name=${1:-}
module=$hack/tools
case $name in kstatus | image) module=$hack/$name ;; esac
# The nested module decides alone: neither the vendor folder nor a workspace of the user's may reach in.
export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0

# build PACKAGE PROGRAM: compiles under a name of this process's own, so that two runs at once do no harm.
build() {
	echo "Building $name, once, into $(dirname "$2")" >&2
	mkdir -p "$(dirname "$2")"
	if ! go -C "$module" build -trimpath -buildvcs=false -o "$2.$$" "$1" >&2; then
		echo "tool.sh: building $name failed; the lines above say why" >&2
		return 1
	fi
	mv "$2.$$" "$2"
}

# The key is what decides the outcome: all of the module's files (pinned versions, and sources if it has any) and the platform.
key=$(cat "$module"/* <(go -C "$module" env GOVERSION GOOS GOARCH) | sha256sum | cut -c1-12)
program=$cache/tools-$key/$name
if [ -z "$name" ] || [ ! -x "$program" ] || [ -d "$program" ]; then
	tools=$( (go -C "$hack/tools" list tool && go -C "$hack/kstatus" list -m && go -C "$hack/image" list -m) | sort)
	if ! package=$(grep -x ".*/$name" <<<"$tools") || [ -z "$name" ]; then
		printf "usage: hack/tool.sh NAME, where NAME is one of:\n%s\n" "$(sed "s:.*/::" <<<"$tools")" >&2
		exit 2
	fi
	build "$package" "$program"
fi
echo "$program"
