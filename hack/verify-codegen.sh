#!/usr/bin/env bash
# Fails when the types, the generated code, the CRD, go.mod and vendor/ do not agree.
# It generates in a copy and compares, so that it never changes the tree that it checks.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# compare PATH...: shows the differences of each path.
compare() {
	local path failed=0
	for path in "$@"; do
		diff -Nru "$root/$path" "$copy/$path" || failed=1
	done
	return "$failed"
}

cd "$root"
cp -R go.mod go.sum pkg cmd hack artifacts vendor "$copy"
(cd "$copy" && ./hack/update-codegen.sh) >"$copy/generate.log" 2>&1 || {
	cat "$copy/generate.log"
	echo "hack/update-codegen.sh failed; its output is above." >&2
	exit 1
}
if ! compare pkg artifacts; then
	echo "Generated code or CRD is out of date (the diff is above). Run: make generate" >&2
	exit 1
fi

(cd "$copy" && go mod tidy && go mod vendor) >"$copy/vendor.log" 2>&1 || {
	cat "$copy/vendor.log"
	echo "go mod tidy or go mod vendor failed; the output is above." >&2
	exit 1
}
if ! compare go.mod go.sum vendor; then
	echo "go.mod, go.sum or vendor/ is out of date. Run: go mod tidy && go mod vendor" >&2
	exit 1
fi
echo "Generated code, CRD, go.mod and vendor/ agree with the types."
