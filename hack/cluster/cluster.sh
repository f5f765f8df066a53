#!/usr/bin/env bash
# A real Kubernetes control plane on this machine, on loopback only: API server, etcd, controller manager, scheduler.
# KWOK simulates the nodes: pods are scheduled, become Ready and go away, but no container runs. stages.yaml says how a
# simulated pod changes, and which images fail. With NODE=real there is a real node, too: node.
# kwokctl does the work; this script gives it our programs and keeps it away from ~/.kube/config and ~/.kwok.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state=${PODMANAGER_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/podmanager}
node=$here/node/node.sh
components="etcd kube-apiserver kube-controller-manager kube-scheduler kwok-controller"
nodes=5
# patience is for how many seconds a start may take. It takes 4 on an idle machine, and a minute or more on one that has next to no CPU to give.
patience=180

usage() {
	cat <<-'EOF'
	usage: cluster.sh COMMAND [NAME]

	  up          start the cluster or repair it, and wait until pods can run; does nothing to a healthy cluster
	  down        stop the cluster and delete its data
	  status      tell whether the cluster is healthy; exit code 0 only if it is
	  kubeconfig  print the path of the kubeconfig file
	  audit-log   print the path of the audit log: one line of JSON for each request except for heartbeats
	  env         print shell code that points kubectl and kwokctl at the cluster: eval "$(cluster.sh env)"
	  bin         print the folder of kubectl and the control plane's programs; build missing programs first

	NAME is podmanager-demo unless given. Clusters of different names are independent of each other.
	With CAMPAIGN=1 the cluster is for make chaos and make bench: it has no limits on requests, and no controllers of
	ReplicaSets and Deployments (see campaign.yaml).
	With NODE=real the cluster also has a real node, on which containers run; its simulated nodes take only pods that
	tolerate kwok.x-k8s.io/node=fake. A real node needs Linux, root and the packages of make node-deps.
	With KUBERNETES=v1.35 or v1.35.4 up and bin take that version of Kubernetes: a folder of hack/cluster/kubernetes has to
	pin it. up replaces a cluster of another version.
	EOF
}

fail() {
	echo "cluster.sh: $*" >&2
	exit 1
}

# ctl ARGS...: runs kwokctl for this cluster. kwokctl takes the first kubectl on PATH, which must be ours.
ctl() {
	KWOK_WORKDIR=$state PATH=$bin:$PATH "$bin/kwokctl" --name "$name" "$@" >>"$log" 2>&1
}

kubectl() {
	"$bin/kubectl" --kubeconfig "$kubeconfig" --request-timeout 5s "$@" 2>>"$log"
}

# programs: sets bin, and builds missing programs.
programs() {
	bin=$("$here/build.sh")
}

# running_programs: sets bin to the programs that the cluster was made from, whatever KUBERNETES says now; without a cluster, as programs.
running_programs() {
	bin=$(readlink "$home/bin/kube-apiserver" || true)
	bin=${bin%/kube-apiserver}
	[ -x "$bin/kubectl" ] || programs
}

# exists: tells whether kwokctl knows the cluster, running or not.
exists() {
	[ -f "$home/kwok.yaml" ]
}

# pid COMPONENT: prints the pid of a component, if the process is running and is this component of this cluster. The pid file
# alone proves nothing: after a crash or a reboot, the pid may be unused, or that of a zombie or of another program.
pid() {
	local pid args
	pid=$(cat "$home/pids/$1.pid" 2>/dev/null) || return 1
	args=$({ tr '\0' ' ' <"/proc/$pid/cmdline" || ps -ww -p "$pid" -o args=; } 2>/dev/null) || return 1
	[[ $args == "$home/bin/$1 "* ]] && echo "$pid"
}

# problem: prints why the cluster is not healthy; nothing if it is healthy.
problem() {
	local component ready
	for component in $components; do
		if ! pid "$component" >/dev/null; then
			echo "$component is not running"
			return
		fi
	done
	if ! kubectl get --raw /readyz >/dev/null; then
		echo "the API server is not ready"
	elif ! kubectl get serviceaccount default --namespace default >/dev/null; then
		echo "the controller manager has not created the default service account"
	else
		ready=$(kubectl get nodes --selector type=kwok --no-headers | awk '$2 == "Ready" {n++} END {print n + 0}')
		if [ "$ready" -lt "$nodes" ]; then
			echo "$ready of $nodes nodes are ready"
		elif [ -d "$home/node" ]; then
			"$node" problem "$home"
		fi
	fi
}

healthy() {
	[ -z "$(problem)" ]
}

# await COMMAND: repeats a command until it succeeds, as long as a start may take.
await() {
	local deadline=$((SECONDS + patience))
	until "$@"; do
		if [ "$SECONDS" -ge "$deadline" ]; then
			return 1
		fi
		sleep 0.2
	done
}

# populate: creates the simulated nodes. Their names tell that they are no machines; they take more pods than a machine.
populate() {
	ctl scale node simulated-node --replicas "$nodes" --serial-length 1 --param .allocatable.pods=2000
}

# join: starts the real node. From then on, pods without a toleration run there.
join() {
	[ "${NODE:-}" != real ] || {
		"$node" start "$home" &&
			kubectl taint nodes --selector type=kwok --overwrite kwok.x-k8s.io/node=fake:NoSchedule >/dev/null
	}
}

create() {
	echo "Creating cluster $name with $nodes simulated nodes" >&2
	: >"$log"
	if [ "${NODE:-}" = real ]; then
		"$node" claim "$home" || return
		extra+=(--config "$home/node/kwokctl.yaml")
	fi
	ctl create cluster --config "$here/kwokctl.yaml" --config "$here/stages.yaml" "${extra[@]}" \
		--kubeconfig "$kubeconfig" --timeout "${patience}s" \
		--etcd-binary "$bin/etcd" --kube-apiserver-binary "$bin/kube-apiserver" \
		--kube-controller-manager-binary "$bin/kube-controller-manager" \
		--kube-scheduler-binary "$bin/kube-scheduler" --kwok-controller-binary "$bin/kwok-by-uid" \
		--kube-audit-policy "$here/audit-policy.yaml" &&
		config >"$home/made-from.yaml" && await populate && join && await revived
}

# revived: tells whether the cluster is healthy, and starts what has ended. The controller manager and the scheduler end if the API server is
# not there 10 seconds after their start, and on a busy machine it is not. kwokctl starts components that have no pid file.
revived() {
	local component ended=
	healthy && return
	for component in $components; do
		if ! pid "$component" >/dev/null; then
			rm -f "$home/pids/$component.pid"
			ended=$component
		fi
	done
	[ -z "$ended" ] || ctl start cluster --timeout "${patience}s"
	return 1
}

repair() {
	echo "Repairing cluster $name: $(problem)" >&2
	revived || true # it has started what had ended; the rest follows
	await populate && join && await revived
}

# remove: kills the components, and deletes their data.
remove() {
	local component pid left=
	"$node" remove "$home" || left=1 # it has said what
	for component in $components; do
		while pid=$(pid "$component"); do
			kill -9 "$pid" 2>/dev/null || true
			sleep 0.05
		done
	done
	[ -z "$left" ] || fail "the node of cluster $name is not gone; the lines above say why. To try again: cluster.sh down $name"
	rm -rf "$home" "$kubeconfig"
}

# config: prints the configuration that kwokctl reads only when it creates a cluster.
config() {
	cat "$here/kwokctl.yaml" "$here/stages.yaml" "$here/audit-policy.yaml"
	if [ "${CAMPAIGN:-}" = 1 ]; then
		cat "$here/campaign.yaml"
	fi
	if [ "${NODE:-}" = real ]; then
		cat "$here"/node/*.sh "$here"/node/config/*
	fi
}

# current: tells whether the cluster was made from the present programs and configuration.
current() {
	[ "$(readlink "$home/bin/kube-apiserver")" = "$bin/kube-apiserver" ] &&
		[ "$(config)" = "$(cat "$home/made-from.yaml" 2>/dev/null)" ]
}

up() {
	if [ "${NODE:-}" = real ]; then
		"$node" check
	fi
	programs
	lock
	umask 077 # keys and kubeconfig
	mkdir -p "$state"
	if exists && current && { healthy || repair; }; then
		echo "Cluster $name is up"
		return
	fi
	if exists; then
		echo "Replacing cluster $name: it has another version or other settings, or cannot be repaired" >&2
		remove
	fi
	if ! create; then
		tail -n 5 "$log" >&2
		fail "cluster $name did not start: $(problem). Look into $log and $home/logs, then run: cluster.sh down $name"
	fi
	echo "Cluster $name is up"
}

down() {
	# After an interrupted start there may be a node without a cluster.
	if ! exists && ! "$node" claimed "$home"; then
		echo "Cluster $name is not running"
		return
	fi
	lock
	remove
	rm -f "$log"
	echo "Cluster $name is gone"
}

status() {
	local problem
	if ! exists; then
		echo "Cluster $name does not exist"
		return 1
	fi
	running_programs
	problem=$(problem)
	if [ -n "$problem" ]; then
		echo "Cluster $name is broken: $problem. To repair it, run: cluster.sh up $name"
		return 1
	fi
	echo "Cluster $name is healthy"
}

environment() {
	running_programs
	printf 'export KUBECONFIG=%q KUBECACHEDIR=%q KWOK_WORKDIR=%q PATH=%q:"$PATH"\n' "$kubeconfig" "$KUBECACHEDIR" "$state" "$bin"
}

# lock: allows one change at a time, of all clusters, because two clusters that start at once would pick the same ports.
# -o keeps the lock from the processes that this script starts: they would hold it as long as they run.
lock() {
	if [ -z "${CLUSTER_LOCKED:-}" ] && command -v flock >/dev/null; then
		mkdir -p "$state"
		CLUSTER_LOCKED=1 exec flock -o "$state/lock" "$here/cluster.sh" "$command" "$name"
	fi
}

command=${1:-}
name=${2:-podmanager-demo}
if [ $# -gt 2 ] || ! [[ $name =~ ^[a-z0-9][a-z0-9-]{0,39}$ ]]; then
	usage >&2
	exit 2
fi
home=$state/clusters/$name
kubeconfig=$state/$name.kubeconfig
log=$state/$name.log
extra=()
if [ "${CAMPAIGN:-}" = 1 ]; then
	extra=(--config "$here/campaign.yaml" --disable-qps-limits)
fi
export KUBECACHEDIR=$state/kubectl # not ~/.kube

case $command in
up | down | status) "$command" ;;
kubeconfig) echo "$kubeconfig" ;;
audit-log) echo "$home/logs/audit.log" ;;
env) environment ;;
bin) programs && echo "$bin" ;;
help | -h | --help) usage ;;
*) usage >&2 && exit 2 ;;
esac
