#!/usr/bin/env bash
# Builds the control plane from source, once, into a cache outside the clone, and prints the folder of the programs.
# Progress goes to stderr; the only line on stdout is the folder, so that scripts can capture it.
# kubernetes/go.mod pins the version of Kubernetes; KUBERNETES=v1.35 or v1.35.4 chooses one that a folder in kubernetes pins.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PODMANAGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/podmanager}

# choose: sets kubernetes, the version to build, and pin, the folder that pins it.
choose() {
	local asked=${KUBERNETES:+v${KUBERNETES#v}} known=''
	for pin in "$here"/kubernetes/ "$here"/kubernetes/*/; do
		kubernetes=$(awk '$1 == "k8s.io/kubernetes" && $2 != "=>" {print $2}' "$pin/go.mod")
		pin=${pin#"$here"/}
		case $kubernetes in
		"${asked:-$kubernetes}" | "$asked".*) return ;;
		esac
		known+=", $kubernetes"
	done
	echo "build.sh: there is no Kubernetes $KUBERNETES here; KUBERNETES can be one of ${known#, }" >&2
	exit 1
}
choose

# name, module folder, package
programs="
etcd etcd go.etcd.io/etcd/server/v3
kubectl $pin k8s.io/kubernetes/cmd/kubectl
kube-apiserver $pin k8s.io/kubernetes/cmd/kube-apiserver
kube-controller-manager $pin k8s.io/kubernetes/cmd/kube-controller-manager
kube-scheduler $pin k8s.io/kubernetes/cmd/kube-scheduler
kwok-by-uid kwok sigs.k8s.io/kwok/cmd/kwok
kwokctl kwok sigs.k8s.io/kwok/cmd/kwokctl
"

# Only a real node needs the kubelet, which takes half a minute to build.
if [ "${NODE:-}" = real ]; then
	programs+="kubelet $pin k8s.io/kubernetes/cmd/kubelet
"
fi

if ! command -v go >/dev/null; then
	echo "build.sh: go is not on PATH; install Go 1.26 or newer from https://go.dev/dl and try again" >&2
	exit 1
fi
# The nested modules alone decide the versions: a vendor folder and a workspace of the user have no influence.
export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0

# The key covers everything that decides the result: the pinned versions and the platform. What we change in KWOK shows in the name of the
# program.
key=$(cat "$here"/{etcd,"$pin",kwok}/go.mod "$here"/{etcd,"$pin",kwok}/go.sum <(go -C "$here/$pin" env GOVERSION GOOS GOARCH) | sha256sum | cut -c1-12)
bin=$cache/cluster-$key/bin
stamp="-X k8s.io/component-base/version.gitVersion=$kubernetes -X k8s.io/client-go/pkg/version.gitVersion=$kubernetes"
stamp+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$kubernetes")"

compiler='' # the pid of the running go build
scratch=''  # the folder of its log and its incomplete program

# cleanup: ends the compiler and removes its files if the build is interrupted.
cleanup() {
	if [ -n "$compiler" ]; then
		kill "$compiler" 2>/dev/null || true
	fi
	if [ -n "$scratch" ]; then
		rm -rf "$scratch"
	fi
}
trap cleanup EXIT

missing() {
	local name
	while read -r name _; do
		if [ -n "$name" ] && [ ! -x "$bin/$name" ]; then
			return 0
		fi
	done <<<"$programs"
	return 1
}

# build NAME MODULE PACKAGE: builds a program and renames it into $bin, so that $bin has no incomplete program.
build() {
	local name=$1 module=$2 package=$3 start=$SECONDS modfile=go.mod
	: >"$scratch/log"
	if [ "$name" = kwok-by-uid ]; then
		patch_kwok
		modfile=$scratch/go.mod
	fi
	go -C "$here/$module" build -v -modfile "$modfile" -trimpath -buildvcs=false -ldflags "-s -w $stamp" \
		-o "$scratch/$name" "$package" >"$scratch/log" 2>&1 &
	compiler=$!
	follow "$name"
	if ! wait "$compiler"; then
		compiler=''
		printf '\n' >&2
		tail -n 20 "$scratch/log" >&2
		echo "build.sh: building $name failed; the lines above say why. The programs that were built before are kept; run it again to go on." >&2
		return 1
	fi
	compiler=''
	mv "$scratch/$name" "$bin/$name"
	if [ -t 2 ]; then printf '\r' >&2; fi
	printf '  %-24s built in %d s%20s\n' "$name" $((SECONDS - start)) '' >&2
}

# patch_kwok: makes a module of our own, $scratch/go.mod, with a changed copy of KWOK. KWOK deletes and patches pods by name, so that a late
# request for a pod that is gone hits the new pod of the same name. A kubelet uses the UID, and so does our copy.
patch_kwok() {
	local folder=$scratch/kwok/pkg/kwok/controllers
	go -C "$here/kwok" mod download sigs.k8s.io/kwok
	cp -R "$(go -C "$here/kwok" list -m -f '{{.Dir}}' sigs.k8s.io/kwok)" "$scratch/kwok"
	chmod -R u+w "$scratch/kwok"
	mv "$folder/pod_controller.go" "$scratch/original"
	sed -e 's/Delete(ctx, pod\.Name, deleteOpt)/Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: deleteOpt.GracePeriodSeconds, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})/' \
		-e 's/patch\.Type, patch\.Data, metav1/patch.Type, patchByUID(patch.Data, string(pod.UID)), metav1/' "$scratch/original" >"$folder/pod_controller.go"
	if [ "$(diff "$scratch/original" "$folder/pod_controller.go" | grep -c '^>')" != 2 ]; then
		echo "build.sh: this version of KWOK deletes or patches pods in another way; patch_kwok has to be adapted" >&2
		return 1
	fi
	cp "$here/kwok/by_uid.go" "$folder"
	cp "$here/kwok/go.mod" "$here/kwok/go.sum" "$scratch"
	go mod edit -replace "sigs.k8s.io/kwok=$scratch/kwok" "$scratch/go.mod"
}

# follow NAME: reports progress until the compiler ends: on a terminal in one line, elsewhere with a line every ten seconds.
follow() {
	local name=$1 start=$SECONDS next=$SECONDS end='\n' every=10
	if [ -t 2 ]; then
		end='\r' every=1
	fi
	while kill -0 "$compiler" 2>/dev/null; do
		if [ "$SECONDS" -ge "$next" ]; then
			printf "  %-24s %4d s, %d packages compiled $end" "$name" $((SECONDS - start)) \
				"$(grep -vc '^go: ' "$scratch/log")" >&2
			next=$((SECONDS + every))
		fi
		sleep 0.5
	done
}

build_all() {
	local name module package
	echo "Building Kubernetes $kubernetes, etcd and KWOK from source into $bin" >&2
	echo "(once per version; about 8 minutes on 2 cores)" >&2
	mkdir -p "$bin"
	# In the same file system as $bin, for the rename.
	scratch=$(mktemp -d "$cache/cluster-$key/build.XXXXXX")
	while read -r name module package; do
		if [ -n "$name" ] && [ ! -x "$bin/$name" ]; then
			build "$name" "$module" "$package"
		fi
	done <<<"$programs"
}

# lock: one build at a time. -o keeps the lock from leaking into children. Without flock, two builds
# only cost time, since each has its own scratch folder.
lock() {
	mkdir -p "$cache"
	if [ -z "${BUILD_LOCKED:-}" ] && command -v flock >/dev/null; then
		export BUILD_LOCKED=1
		if ! flock -n "$cache/build.lock" true; then
			echo "Another build is running; waiting for it" >&2
		fi
		exec flock -o "$cache/build.lock" "$here/build.sh"
	fi
}

if missing; then
	lock
	build_all
fi
echo "$bin"
