#!/usr/bin/env bash
# Fails when artifacts/chart is not sound, or installs something else than artifacts/*.yaml. hack/release/chart/compare.go says which differences
# are allowed. Changes no file.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
helm=$(hack/tool.sh helm)
kubectl=$(command -v kubectl || echo "$(hack/cluster/cluster.sh bin)/kubectl")
mkdir -p .bin
work=$(mktemp -d .bin/verify-chart.XXXXXX) # in the tree, because a kustomization names its bases by relative paths
trap 'rm -rf "$work"' EXIT

# The chart has no default image, so it gets the image name of the manifest. The tags have to agree without that.
repository=$(sed -n 's/^ *image: \(.*\):[^:]*$/\1/p' <(sed 's/ *#.*//' artifacts/deployment.yaml))

# render NAMESPACE ARGS...: prints what helm install podmanager would install.
render() {
	"$helm" template podmanager artifacts/chart --set "image.repository=$repository" --namespace "$@"
}

if refused=$("$helm" template podmanager artifacts/chart 2>&1) || [[ $refused != *"image.repository is not set"* ]]; then
	echo "Without image.repository the chart must refuse, and say what to set. It printed:" >&2
	echo "${refused:0:500}" >&2
	exit 1
fi
"$helm" lint --strict --quiet --set "image.repository=$repository" artifacts/chart
"$kubectl" kustomize artifacts >"$work/manifests.yaml"
render podmanager-system >"$work/chart.yaml"
go run ./hack/release/chart compare "$work/manifests.yaml" "$work/chart.yaml"

# The same for a controller of one namespace. The chart gets the namespace as a value; in the manifest, the kubelet fills it in.
cat >"$work/kustomization.yaml" <<-'END'
	apiVersion: kustomize.config.k8s.io/v1beta1
	kind: Kustomization
	namespace: team-a
	resources: [../../artifacts]
	components: [../../artifacts/namespaced]
END
"$kubectl" kustomize "$work" | sed 's/\$(POD_NAMESPACE)/team-a/' >"$work/manifests.yaml"
render team-a --set 'namespaces={team-a},crds.enabled=false,priorityClassName=' >"$work/chart.yaml"
go run ./hack/release/chart compare "$work/manifests.yaml" "$work/chart.yaml"

# with COMPONENT VALUES: compares the chart with these values, and the manifests with the component of artifacts/ that does the same.
with() {
	cat >"$work/kustomization.yaml" <<-END
		apiVersion: kustomize.config.k8s.io/v1beta1
		kind: Kustomization
		resources: [../../artifacts]
		components: [../../artifacts/$1]
	END
	"$kubectl" kustomize "$work" >"$work/manifests.yaml"
	render podmanager-system --set "$2" >"$work/chart.yaml"
	go run ./hack/release/chart compare "$work/manifests.yaml" "$work/chart.yaml"
}
with webhook webhook.enabled=true
with shards shards=16,replicaCount=3
echo "The chart and artifacts/*.yaml install the same."
