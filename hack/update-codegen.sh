#!/usr/bin/env bash
# Generates deepcopy, register, clientset, informers, listers, applyconfigurations, the CRD, parts of the chart, and a schema for Kustomize.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
module=github.com/mycompany/podmanager
boilerplate=$root/hack/boilerplate.go.txt
cd "$root"

# The generators are built from vendor/, so that their version is that of the libraries. -trimpath keeps the folder out of the
# programs, so that another folder needs no new compilation.
export GOFLAGS="${GOFLAGS:-} -trimpath"
# The generators are installed into our cache, not into the user's folder.
export GOBIN=${PODMANAGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/podmanager}/codegen
# shellcheck source=/dev/null
source "$root/vendor/k8s.io/code-generator/kube_codegen.sh"

kube::codegen::gen_helpers --boilerplate "$boilerplate" "$root/pkg/apis"
kube::codegen::gen_register --boilerplate "$boilerplate" "$root/pkg/apis"
kube::codegen::gen_client \
	--with-watch \
	--with-applyconfig \
	--output-dir "$root/pkg/generated" \
	--output-pkg "$module/pkg/generated" \
	--boilerplate "$boilerplate" \
	"$root/pkg/apis"

# generateEmbeddedObjectMeta: without it the API server silently drops the template's labels and annotations.
controller_gen=$("$root/hack/tool.sh" controller-gen)

# crd PATHS FILE ARGS...: writes a file from the CRD of the types in PATHS.
crd() {
	echo "Generating $2"
	"$controller_gen" crd:generateEmbeddedObjectMeta=true paths="$1" output:crd:stdout |
		go run ./hack/release/crd "${@:3}" >"$root/$2.new"
	mv "$root/$2.new" "$root/$2"
}

# Without the webhook nothing converts objects, so the CRD has only v1.
crd ./pkg/apis/podmanager/v1 artifacts/crd.yaml
crd ./pkg/apis/... artifacts/webhook/crd-patch.yaml -patch v1alpha1

echo "Generating artifacts/chart: CRD, alerts, dashboard and table of values"
go run ./hack/release/chart generate

schema=artifacts/integrations/kustomize/openapi.yaml
echo "Generating $schema"
# The nested module alone decides the versions, as in hack/tool.sh.
GOFLAGS='-mod=readonly -trimpath' GOWORK=off CGO_ENABLED=0 go -C hack/tools/kustomize run -buildvcs=false . >"$root/$schema.new"
mv "$root/$schema.new" "$root/$schema"
