#!/usr/bin/env bash
# Checks our own code with gofmt and golangci-lint, and changes nothing. Generated code is not checked.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
golangci_lint=$(hack/tool.sh golangci-lint)

unformatted=$(find cmd hack pkg -name '*.go' -not -path 'pkg/generated/*' -print0 | xargs -0 gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'Not formatted; run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi

# .golangci.yml has the linters; golangci-lint leaves out generated code by itself.
"$golangci_lint" run
# Our programs with a module of their own. The settings are those of hack/tool.sh, so that both share what they compile.
export GOFLAGS='-mod=readonly -trimpath' GOWORK=off CGO_ENABLED=0
for module in hack/release/bundlecheck hack/release/image hack/tools/kstatus hack/release/registry; do
	(cd "$module" && "$golangci_lint" run)
done
echo "gofmt and golangci-lint have found nothing."
