#!/usr/bin/env bash
# Checks our own code with gofmt and golangci-lint, and changes nothing. Generated code is not checked. `lint.sh changed` checks only packages with a
# file that differs from the branch main of the remote origin, or, without such a branch, from the last commit.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
golangci_lint=$(hack/tool.sh golangci-lint)

unformatted=$(find cmd hack pkg -name '*.go' -not -path 'pkg/generated/*' -print0 | xargs -0 gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'Not formatted; run make fmt:\n%s\n' "$unformatted" >&2
	exit 1
fi

# changed: prints the packages of the project with a change.
changed() {
	local base
	base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD)
	{
		git diff --name-only --diff-filter=d "$base"
		git ls-files --others --exclude-standard
	} | { grep -E '^(cmd|hack|pkg)/.*\.go$' || true; } | xargs -r -n 1 dirname | sort -u | while read -r folder; do
		# A folder in a nested module is not a package of the project.
		if go list -e -tags e2e -f '{{if .Module}}./{{end}}' "./$folder" 2>/dev/null | grep -q .; then echo "./$folder"; fi
	done
}

if [ "${1:-}" = changed ]; then
	packages=$(changed)
	if [ -n "$packages" ]; then
		# shellcheck disable=SC2086 # one word each
		"$golangci_lint" run $packages
	fi
	echo "gofmt and golangci-lint have found nothing in: ${packages:-no package has changed}" | tr '\n' ' '
	echo
	exit
fi

# .golangci.yml has the linters; golangci-lint leaves out generated code by itself.
"$golangci_lint" run
# Our programs with a module of their own. The settings are those of hack/tool.sh, so that both share what they compile.
export GOFLAGS='-mod=readonly -trimpath' GOWORK=off CGO_ENABLED=0
for module in hack/release/attest hack/release/bundlecheck hack/release/image hack/release/registry \
	hack/tools/autoscalers hack/tools/kstatus hack/tools/kustomize; do
	(cd "$module" && "$golangci_lint" run)
done
echo "gofmt and golangci-lint have found nothing."
