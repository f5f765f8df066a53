#!/usr/bin/env bash
# Checks our own code with gofmt, go vet and staticcheck; changes nothing. Generated code is its generators' business.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
staticcheck=$(hack/tool.sh staticcheck)

unformatted=$(find cmd hack pkg -name '*.go' -not -path 'pkg/generated/*' -print0 | xargs -0 gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'Not formatted; run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi

# The tag adds the end-to-end tests and takes nothing away.
packages=$(go list -tags e2e ./... | grep -v /pkg/generated/)
# Unquoted: one argument each.
go vet -tags e2e $packages
"$staticcheck" -tags e2e $packages
echo "gofmt, go vet and staticcheck are content."
