#!/usr/bin/env bash
# A real node for the local cluster: containerd, runc and the kubelet, with containers that run. cluster.sh calls this;
# people say: make cluster-up NODE=real
#
# Everything of the node is in one folder, one bridge and one cgroup. Its processes are in process and mount namespaces
# of their own: with the first of them all others end, and every mount goes, so that a kill in the middle leaves little.
# The bridge is made first and removed last. It carries the folder's path as its alias, and so says what belongs to it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
node=real-node
# Tags of the image docker.io/local/web; what is not a number says how it misbehaves.
versions='1 2 3 crash unready dead'
# What a kubelet changes for the whole machine, below /proc/sys.
sysctls='vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes'
# Places that containerd, CNI and the kubelet use whatever their configuration says. In the node's own mounts they are ours.
fixed='/run/containerd /var/lib/cni /var/lib/kubelet /var/log/containers'

usage() {
	cat <<-'EOT'
	usage: node.sh COMMAND CLUSTER-FOLDER [FILE...]

	  check    say what is missing for a real node on this machine; exit code 0 if nothing is
	  claim    make the node's bridge, and its part of kwokctl's configuration: FOLDER/node/kwokctl.yaml
	  claimed  exit code 0 if there is such a bridge
	  start    start the node, if it is not running, and wait until pods can run on it
	  load     give the node the images in the FILEs, as docker save or hack/image make them
	  problem  print what keeps the node from being healthy, and nothing if it is
	  remove   end all its processes, and remove its cgroups, bridge and folder
	EOT
}

fail() {
	echo "node.sh: $*" >&2
	exit 1
}

# plugins: prints the folder of the CNI plugins; Debian's package has another than everybody else.
plugins() {
	local folder
	for folder in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
		if [ -x "$folder/bridge" ] && [ -x "$folder/host-local" ] && [ -x "$folder/loopback" ]; then
			echo "$folder"
			return
		fi
	done
	return 1
}

check() {
	local program missing=''
	[ "$(uname -s)" = Linux ] || fail "a real node needs Linux; without NODE=real the nodes are simulated"
	[ "$(id -u)" = 0 ] || fail "a real node needs root, for containers and their network; without NODE=real the nodes are simulated"
	for program in containerd ctr runc ip unshare flock; do
		type -P "$program" >/dev/null || missing+="${missing:+, }$program"
	done
	plugins >/dev/null || missing+="${missing:+, }the CNI plugins"
	[ -z "$missing" ] || fail "missing for a real node: $missing. This installs it (Debian, Ubuntu): make node-deps"
}

# bridge: prints the name of this node's bridge, if there is one.
bridge() {
	local link
	for link in /sys/class/net/podmanager*; do
		if [ "$(cat "$link/ifalias" 2>/dev/null)" = "$folder" ]; then
			basename "$link"
			return
		fi
	done
	return 1
}

claimed() { bridge >/dev/null; }

# pods, services: the first three numbers of the node's addresses, and of the cluster's Services.
pods() { echo "10.231.${1#podmanager}"; }
services() { echo "10.231.$((128 + ${1#podmanager}))"; }

# claim: takes the first number whose bridge and addresses nobody has.
claim() {
	local number link
	check
	[ "${#folder}" -le 78 ] || fail "$folder is too long for the path of a socket; give the cluster a shorter name"
	if ! claimed; then
		for number in {0..100} none; do
			[ "$number" != none ] || fail "no free addresses for a bridge below 10.231.0.0/16; ip route tells who has them"
			link=podmanager$number
			[ -z "$(ip -4 route show root "$(pods "$link").0/24" 2>/dev/null)" ] || continue
			if ip link add "$link" type bridge 2>/dev/null; then break; fi
		done
		ip link set "$link" alias "$folder"
	fi
	link=$(bridge) || fail "the bridge could not be made; ip link add podmanager0 type bridge says why"
	ip addr replace "$(pods "$link").1/24" dev "$link"
	ip addr replace "$(services "$link").1/32" dev "$link"
	ip link set "$link" up
	mkdir -p "$folder"
	render kwokctl.yaml "$folder/kwokctl.yaml"
}

# render TEMPLATE FILE: fills in what depends on the machine.
render() {
	local link
	link=$(bridge)
	sed -e "s|@FOLDER@|$folder|g" -e "s|@HOME@|$home|g" -e "s|@CNI@|$(plugins)|g" -e "s|@BRIDGE@|$link|g" \
		-e "s|@PODS@|$(pods "$link")|g" -e "s|@SERVICES@|$(services "$link")|g" "$here/config/$1" >"$2"
}

# kubeconfig: the kubelet has the rights of a node, not those of an administrator who owns the certificate.
kubeconfig() {
	cat <<-EOT
	apiVersion: v1
	kind: Config
	clusters: [{name: local, cluster: {server: "https://$api", certificate-authority: $home/pki/ca.crt}}]
	users:
	- name: node
	  user: {client-certificate: $home/pki/admin.crt, client-key: $home/pki/admin.key, as: "system:node:$node", as-groups: ["system:nodes"]}
	contexts: [{name: local, context: {cluster: local, user: node}}]
	current-context: local
	EOT
}

# hierarchies: prints the folders in which the node has a cgroup: one with v2, one for each controller with v1, both in between.
hierarchies() { awk '$3 ~ /^cgroup2?$/ {print $2}' /proc/mounts; }

# make_cgroups: a new cgroup of v1 has no processors and no memory until somebody gives it some.
make_cgroups() {
	local parent file
	for parent in $(hierarchies); do
		mkdir -p "$parent/$1"
		for file in cpuset.cpus cpuset.mems; do
			if [ -f "$parent/tasks" ] && [ -f "$parent/$file" ]; then
				cat "$parent/$file" >"$parent/$1/$file"
			fi
		done
	done
}

# configure: writes everything that the node's programs read.
configure() {
	mkdir -p "$folder/cni" "$folder/logs" "$folder/bin"
	render containerd.toml "$folder/containerd.toml"
	render cni.conflist "$folder/cni/podmanager.conflist"
	render kubelet.yaml "$folder/kubelet.yaml"
	: >"$folder/resolv.conf"
	(umask 077 && kubeconfig >"$folder/kubeconfig")
	# Only once: a second time it would be the kubelet's values.
	[ -f "$folder/sysctls" ] || (cd /proc/sys && grep -s '' $sysctls) >"$folder/sysctls"
	make_cgroups "$(bridge)"
}

# build: the supervisor, and the images that pods can run without a registry.
build() {
	local image packer
	packer=$("$root/hack/tool.sh" image)
	CGO_ENABLED=0 go -C "$root" build -trimpath -buildvcs=false -o "$folder/bin/" \
		./hack/node/supervisor ./hack/node/pause ./hack/node/web
	mkdir -p "$folder/images"
	"$packer" archive -program "$folder/bin/pause" -ref docker.io/local/pause:1 -out "$folder/images/pause.tar"
	for image in $versions; do
		"$packer" archive -program "$folder/bin/web" -ref "docker.io/local/web:$image" -env "VERSION=$image" \
			-env "MODE=$(mode "$image")" -out "$folder/images/web-$image.tar"
	done
}

# mode TAG: images with a number behave.
mode() { [[ $1 =~ ^[0-9]+$ ]] || echo "$1"; }

# processes: prints the first process of the node's namespaces, and the one that waits for it: `node.sh inside HOME`.
processes() {
	local found
	found=$(grep -lszxF -- "$home" /proc/[0-9]*/cmdline) || return 0
	for found in $(grep -lszxF inside $found); do
		# One that has ended, and waits to be collected, holds nothing any more.
		if ! grep -qs '^State:.*Z' "${found%cmdline}status"; then
			basename "${found%/cmdline}"
		fi
	done
}

# inside: runs as the first process of the node's namespaces. Bash collects the processes that containerd leaves.
inside() {
	local place link
	umask 022 # users of containers must be able to enter their root
	for place in $fixed; do
		mkdir -p "$place" "$folder/fixed$place"
		mount --bind "$folder/fixed$place" "$place"
	done
	link=$(bridge)
	"$folder/bin/supervisor" -folder "$folder" -api "$api" -listen "$(services "$link").1:443,$(pods "$link").1:${api##*:}" \
		-containerd "containerd --config $folder/containerd.toml" \
		-kubelet "$bin/kubelet --config $folder/kubelet.yaml --kubeconfig $folder/kubeconfig --root-dir $folder/kubelet --cert-dir $folder/kubelet/pki --hostname-override $node --node-ip $(pods "$link").1 --node-labels type=real" &
	wait $!
}

# await WHAT COMMAND...: repeats it until it succeeds, for a minute at most.
await() {
	local what=$1 deadline=$((SECONDS + 60))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || fail "waited a minute for $what; the logs are in $folder"
		sleep 0.2
	done
}

ctr() { command ctr --address "$folder/containerd.sock" --namespace k8s.io "$@"; }
listens() { ctr version >/dev/null 2>&1; }
well() { [ -z "$(problem)" ]; }

# load FILE...: gives the node images, so that pods need no registry.
load() {
	local file
	for file in "$@"; do
		ctr images import "$file" >>"$folder/supervisor.log"
	done
}

start() {
	check
	if [ -n "$(processes)" ] && well; then return; fi
	echo "Starting the node $node" >&2
	stop
	claim
	configure
	build
	setsid --fork unshare --fork --kill-child --pid --mount --mount-proc \
		"$here/node.sh" inside "$home" >>"$folder/supervisor.log" 2>&1 </dev/null
	await "containerd" listens
	load "$folder"/images/*.tar
	await "the node to be ready" well
}

problem() {
	local ready
	if [ -z "$(processes)" ]; then
		echo "the node $node is not running"
		return
	fi
	ready=$(kubectl get node "$node" --no-headers 2>/dev/null | awk '{print $2}')
	[ "$ready" = Ready ] || echo "the node $node is ${ready:-not registered}"
}

kubectl() { "$bin/kubectl" --kubeconfig "$folder/kubeconfig" --request-timeout 5s "$@"; }

# stop: with the first process of its namespace every other one ends, and with them the mounts.
stop() {
	local pids
	while pids=$(processes) && [ -n "$pids" ]; do
		# shellcheck disable=SC2086 # one word each
		kill -9 $pids 2>/dev/null || true
		sleep 0.05
	done
}

# cgroups_gone: removes from the leaves up. The kernel may need a moment after the last process.
cgroups_gone() {
	local parent
	for parent in $(hierarchies); do
		if [ -d "$parent/$1" ]; then
			find "$parent/$1" -depth -type d -exec rmdir {} + 2>/dev/null || true
			[ ! -d "$parent/$1" ] || return 1
		fi
	done
}

remove() {
	local link place name value
	stop
	if link=$(bridge); then
		await "the cgroup $link to be empty" cgroups_gone "$link"
	fi
	if [ -f "$folder/sysctls" ]; then
		while IFS=: read -r name value; do
			echo "$value" >"/proc/sys/$name"
		done <"$folder/sysctls"
	fi
	if grep -qF " $folder/" /proc/self/mounts; then
		fail "there are mounts below $folder; unmount them first: grep $folder /proc/self/mounts"
	fi
	rm -rf "$folder"
	for place in $fixed; do
		rmdir "$place" 2>/dev/null || true # only those that nobody else uses
	done
	if [ -n "$link" ]; then
		ip link delete "$link"
	fi
}

command=${1:-}
home=${2:-}
if [ "$command" != check ] && [ ! "$home" ]; then
	usage >&2
	exit 2
fi
folder=$home/node
bin=$(dirname "$(readlink "$home/bin/kube-apiserver" || true)")
api=$(sed -n "s|.*server: https://\(127[^ ]*\)\$|\1|p" "$home/kubeconfig.yaml" 2>/dev/null | head -n 1 || true)

case $command in
check | claim | claimed | start | load | problem | remove | inside) "$command" "${@:3}" ;;
*) usage >&2 && exit 2 ;;
esac
