#!/usr/bin/env bash
# A real node for the local cluster: containerd, runc and the kubelet, with containers that run. cluster.sh calls this;
# users run: make cluster-up NODE=real
#
# Everything of a node is in one folder, one bridge and one cgroup. Its processes are in process and mount namespaces
# of their own: when the first process ends, so do all others, and all mounts go, so that a kill leaves little behind.
# The bridge is made first and removed last; its name, which is the cgroup's, too, comes from the folder's path.
#
# A cluster can have two nodes: real-node in the folder CLUSTER/node, and real-node-2 in CLUSTER/node-2, which a test
# starts. Each has a containerd of its own, because a kubelet ends all containers in a containerd that it does not know.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
# Tags of the image docker.io/local/web. A tag that is not a number says how the web server misbehaves.
versions='1 2 3 done crash crash-later unready dead'
# What a kubelet changes for the whole machine, below /proc/sys.
sysctls='vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes'
# Places that containerd, CNI and the kubelet use whatever their configuration says. In the node's own mounts they are ours.
fixed='/run/containerd /var/lib/cni /var/lib/kubelet /var/log/containers'

# shellcheck source=hack/cluster/node/prepare.sh
. "$here/prepare.sh"

usage() {
	cat <<-'EOT'
	usage: node.sh COMMAND NODE-FOLDER [FILE...]

	NODE-FOLDER is CLUSTER-FOLDER/node, or CLUSTER-FOLDER/node-2 for a second node, which only takes pods that tolerate
	real-node=second. The second node needs the first one.

	  check    say what is missing for a real node on this machine; exit code 0 if nothing is
	  claim    make the node's bridge, and its part of kwokctl's configuration: NODE-FOLDER/kwokctl.yaml
	  claimed  exit code 0 if there is such a bridge, and so perhaps a node
	  start    start the node, if it is not running, and wait until pods can run on it
	  load     give the node the images in the FILEs, as docker save or hack/release/image make them
	  problem  print what keeps the node from being healthy, and nothing if it is
	  remove   end all its processes, and remove its cgroups, bridge and folder
	EOT
}

fail() {
	echo "node.sh: $*" >&2
	exit 1
}

# plugins: prints the folder of the CNI plugins; Debian's package uses another folder than other distributions.
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
	permitted || fail "a real node needs more rights than this machine gives root: for namespaces, mounts, a bridge and cgroups"
}

# permitted: tries out what root may be denied inside a container. The bridge goes with the network namespace that it is made in.
permitted() {
	local parent try=podtry$$
	unshare --fork --pid --mount --mount-proc true 2>/dev/null || return
	unshare --net ip link add "$try" type bridge 2>/dev/null || return
	for parent in $(hierarchies); do
		mkdir "$parent/$try" 2>/dev/null || return
		rmdir "$parent/$try"
	done
}

claimed() { [ -d "/sys/class/net/$link" ]; }

# number: prints which of the networks is the bridge's. pods, services: the first three numbers of the addresses of pods
# and of Services.
number() { ip -4 -o addr show dev "$link" | sed -n 's|.* 10\.231\.\([0-9]*\)\.1/24 .*|\1|p'; }
pods() { echo "10.231.$(number)"; }
services() { echo "10.231.$((128 + $(number)))"; }

# processes: prints the first process of the node's namespaces, and the one that waits for it: `node.sh inside FOLDER`.
processes() {
	local found
	# grep fails even if it has found a process, if another process ends in the meantime.
	found=$(grep -lszxF -- "$folder" /proc/[0-9]*/cmdline || true)
	[ -n "$found" ] || return 0
	# shellcheck disable=SC2013,SC2086 # one word each
	for found in $(grep -lszxF inside $found); do
		# A zombie holds nothing any more.
		if ! grep -qs '^State:.*Z' "${found%cmdline}status"; then
			basename "${found%/cmdline}"
		fi
	done
}

# inside: runs as the first process of the node's namespaces. Bash collects the processes that containerd leaves.
inside() {
	local place kubelet
	kubelet="$bin/kubelet --config $folder/kubelet.yaml --kubeconfig $folder/kubeconfig --root-dir $folder/kubelet"
	kubelet+=" --cert-dir $folder/kubelet/pki --hostname-override $node --node-ip $(pods).1 --node-labels type=real"
	[ "$folder" = "$first" ] || kubelet+=" --register-with-taints real-node=second:NoSchedule"
	umask 022 # users of containers must be able to enter their root
	for place in $fixed; do
		mkdir -p "$place" "$folder/fixed$place"
		mount --bind "$folder/fixed$place" "$place"
	done
	"$first/bin/supervisor" -folder "$folder" -api "$api" -listen "$(services).1:443,$(pods).1:${api##*:}" \
		-containerd "containerd --config $folder/containerd.toml" -kubelet "$kubelet" &
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
	rm -f "$folder"/*.hold # which a killed test may have left
	claim
	configure
	build
	setsid --fork unshare --fork --kill-child --pid --mount --mount-proc \
		"$here/node.sh" inside "$folder" >>"$folder/supervisor.log" 2>&1 </dev/null
	await "containerd" listens
	load "$first"/images/*.tar
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

# named PID...: prints each process with its command line.
named() {
	local pid
	for pid in "$@"; do
		echo "$pid ($(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | cut -c 1-200))"
	done
}

# members: prints the processes in the node's cgroups.
members() {
	local parent
	for parent in $(hierarchies); do
		find "$parent/$link" -name cgroup.procs -exec cat {} + 2>/dev/null || true
	done | sort -nu
}

# stop: with the first process of its namespace every other one ends, and with them the mounts.
stop() {
	local pids deadline=$((SECONDS + 60))
	while pids=$(processes) && [ -n "$pids" ]; do
		# shellcheck disable=SC2086 # one word each
		[ "$SECONDS" -lt "$deadline" ] || fail "these processes of the node do not end: $(named $pids)"
		# shellcheck disable=SC2086 # one word each
		kill -9 $pids 2>/dev/null || true
		sleep 0.05
	done
}

# cgroups_gone: removes the node's cgroups, from the leaves up. The kernel may need a moment after the last process.
cgroups_gone() {
	local parent
	for parent in $(hierarchies); do
		if [ -d "$parent/$link" ]; then
			find "$parent/$link" -depth -type d -exec rmdir {} + 2>/dev/null || true
			[ ! -d "$parent/$link" ] || return 1
		fi
	done
}

remove() {
	local place name value
	claimed || [ -d "$folder" ] || return 0 # there is no node
	stop
	if [ -f "$folder/sysctls" ]; then
		while IFS=: read -r name value; do
			echo "$value" >"/proc/sys/$name"
		done <"$folder/sysctls"
	fi
	# shellcheck disable=SC2046 # one word each
	(await "the cgroup $link to be empty" cgroups_gone) || fail "these processes are left in the cgroup $link: $(named $(members))"
	if grep -qF " $folder/" /proc/self/mounts; then
		fail "there are mounts below $folder; unmount them first: grep $folder /proc/self/mounts"
	fi
	rm -rf "$folder"
	if claimed; then
		ip link delete "$link"
	fi
	# Only if there is no other node: removing a folder also removes what is mounted on it in the mount namespaces of others.
	if ! compgen -G '/sys/class/net/podm*' >/dev/null; then
		for place in $fixed; do
			rmdir "$place" 2>/dev/null || true # if it is not empty, it is in use by another program
		done
	fi
}

command=${1:-}
folder=${2:-}
if [ "$command" != check ] && [[ $folder != */node && $folder != */node-2 ]]; then
	usage >&2
	exit 2
fi
home=${folder%/*}
first=$home/node # which has the programs and the images of both
node=real-${folder##*/}
link=podm$(cksum <<<"$folder" | cut -d ' ' -f 1)
bin=$(dirname "$(readlink "$home/bin/kube-apiserver" || true)")
api=$(sed -n "s|.*server: https://\(127[^ ]*\)\$|\1|p" "$home/kubeconfig.yaml" 2>/dev/null | head -n 1 || true)

case $command in
check | claim | claimed | start | load | problem | remove | inside) "$command" "${@:3}" ;;
*) usage >&2 && exit 2 ;;
esac
