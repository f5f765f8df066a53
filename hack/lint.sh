#!/usr/bin/env bash
# Checks our own code with gofmt and golangci-lint; changes nothing. Generated code is its generators' business.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
golangci_lint=$(hack/tool.sh golangci-lint)

unformatted=$(find cmd hack pkg -name '*.go' -not -path 'pkg/generated/*' -print0 | xargs -0 gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'Not formatted; run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi

# Of the module that kstatus is, too. What to look for is in .golangci.yml, generated code is left out by itself.
for module in . hack/kstatus; do
	(cd "$module" && "$golangci_lint" run)
done
echo "gofmt and golangci-lint are content."
