#!/usr/bin/env bash
# Runs govulncheck over the project, and over our programs with a module of their own: fails when our code calls something with
# a known vulnerability. Arguments are packages of the project, if not all are meant; "check" only prints, in its last line, why no database is
# available.
# The database is the module golang.org/x/vulndb, so that the Go module proxy is the only host needed,
# and the copy in the module cache serves when there is no network at all.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${PODMANAGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/podmanager}
module=golang.org/x/vulndb

# database: prints the folder of the newest database. It runs outside any module, so that no go.mod or vendor folder matters.
database() {
	local version
	mkdir -p "$cache"
	cd "$cache"
	export GOFLAGS=-mod=mod GOWORK=off
	# The branch, not @latest: @latest also asks the proxy for the tags, and the module has none.
	if version=$(go list -m -f '{{.Version}}' "$module@master") &&
		go mod download "$module@$version"; then
		echo "$(go env GOMODCACHE)/$module@$version"
		return
	fi
	echo "vulncheck.sh: no newer database could be fetched (see above); looking for an older copy" >&2
	cached
}

# cached: pseudo-versions start with their date, so the last name is the newest.
cached() {
	local copies
	copies=("$(go env GOMODCACHE)/$module@"*/)
	if [ ! -d "${copies[${#copies[@]} - 1]}" ]; then
		echo "vulncheck.sh: the Go module proxy does not serve the database $module, and the module cache has no copy of it" >&2
		return 1
	fi
	echo "${copies[${#copies[@]} - 1]%/}"
}

# age FOLDER: the day in the pseudo-version v0.0.0-YYYYMMDDhhmmss-commit.
age() {
	sed -E 's/.*-([0-9]{4})([0-9]{2})([0-9]{2})[0-9]{6}-[0-9a-f]+$/\1-\2-\3/' <<<"$1"
}

database=$(database)
if [ "$*" = check ]; then
	exit
fi
govulncheck=$("$root/hack/tool.sh" govulncheck)
echo "Vulnerability database of $(age "$database"), $(find "$database/data/osv" -name '*.json' | wc -l | tr -d ' ') entries"
# check MODULE PACKAGES...: all modules are checked, even if one has findings.
check() {
	echo "Checking $1"
	(cd "$root/$1" && "$govulncheck" -db "file://$database/data/osv" "${@:2}") || result=$?
}

result=0
check . "${@:-./...}"
if [ $# -eq 0 ]; then
	# The nested modules alone decide the versions, as in hack/tool.sh.
	export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0
	for module in hack/release/attest hack/release/bundlecheck hack/release/image hack/release/registry hack/tools/kstatus hack/tools/kustomize; do
		check "$module" ./...
	done
fi
exit "$result"
