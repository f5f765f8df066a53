#!/usr/bin/env bash
# A real Kubernetes control plane on this machine, on loopback only: API server, etcd, controller manager, scheduler.
# KWOK simulates the nodes: pods are scheduled, become Ready and go away, but no container runs. stages.yaml says how a
# simulated pod changes, and which images fail. With NODE=real there is a real node, too: node.
# kwokctl does the work; this script gives it our programs and keeps it away from ~/.kube/config and ~/.kwok.
# A cluster may belong to a process, such as a test run: once that has ended, however it ended, `reap` takes the cluster down.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state=${PODMANAGER_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/podmanager}
node=$here/node/node.sh
components="etcd kube-apiserver kube-controller-manager kube-scheduler kwok-controller"
nodes=5
# patience is for how many seconds a start may take. It takes 4 on an idle machine, and a minute or more on one that has next to no CPU to give.
patience=180
# How many seconds a killed process may take to end, and how many folders of logs are kept.
last_breath=20
kept_logs=5

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
	  reap        take down the clusters whose owner has ended; NAME is not needed
	  logs        make a folder for the logs of a test run called NAME, and print its path; the newest 5 are kept

	NAME is podmanager-demo unless given. Clusters of different names are independent of each other.
	With CAMPAIGN=1 the cluster is for make chaos and make bench: it has no limits on requests, and no controllers of
	ReplicaSets and Deployments (see campaign.yaml).
	FEATURE_GATES=HPAScaleToZero=true turns on feature gates of API server, controller manager and scheduler.
	With OWNER=PID the cluster belongs to this process, and the first reap after its end takes the cluster down. Without
	it, the cluster stays until it is taken down.
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
# It runs in the background, so that this script notices a signal at once. The processes that kwokctl starts do not inherit the lock.
ctl() {
	# The components collect garbage less often: a machine has more memory to give than processors.
	KWOK_WORKDIR=$state PATH=$bin:$PATH GOGC=${GOGC:-400} "$bin/kwokctl" --name "$name" "$@" >>"$log" 2>&1 9>&- &
	ctl=$!
	wait "$ctl"
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

# exists: reports whether kwokctl knows the cluster, running or not.
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
			"$node" problem "$home/node"
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

# populate: creates the simulated nodes. Their names show that they are not machines, and they take more pods than a machine would.
populate() {
	ctl scale node simulated-node --replicas "$nodes" --serial-length 1 --param .allocatable.pods=2000
}

# join: starts the real node. From then on, pods without a toleration run there.
join() {
	[ "${NODE:-}" != real ] || {
		"$node" start "$home/node" 9>&- &&
			kubectl taint nodes --selector type=kwok --overwrite kwok.x-k8s.io/node=fake:NoSchedule >/dev/null
	}
}

# reserve: prints settings with ports that no other cluster has. kwokctl would take any ports on which no program listens at the moment. Such a port
# may belong to a component that was killed, and is about to start again.
reserve() {
	local port=32768 used option
	used=" $(awk '$1 ~ /Port:$/ {print $2}' "$state"/clusters/*/kwok.yaml 2>/dev/null | tr '\n' ' ' || true) "
	printf 'apiVersion: config.kwok.x-k8s.io/v1alpha1\nkind: KwokctlConfiguration\noptions:\n'
	for option in kubeApiserverPort etcdPort etcdPeerPort kubeControllerManagerPort kubeSchedulerPort kwokControllerPort; do
		((port -= 1))
		while [[ $used == *" $port "* ]] || (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do ((port -= 1)); done
		printf '  %s: %d\n' "$option" "$port"
	done
}

create() {
	echo "Creating cluster $name with $nodes simulated nodes" >&2
	: >"$log"
	mkdir -p "$home"
	reserve >"$home/ports.yaml"
	if [ "${NODE:-}" = real ]; then
		"$node" claim "$home/node" || return
		extra+=(--config "$home/node/kwokctl.yaml")
	fi
	ctl create cluster --config "$here/kwokctl.yaml" --config "$here/stages.yaml" --config "$home/ports.yaml" "${extra[@]}" \
		--kubeconfig "$kubeconfig" --timeout "${patience}s" \
		--etcd-binary "$bin/etcd" --kube-apiserver-binary "$bin/kube-apiserver" \
		--kube-controller-manager-binary "$bin/kube-controller-manager" \
		--kube-scheduler-binary "$bin/kube-scheduler" --kwok-controller-binary "$bin/kwok-by-uid" \
		--kube-audit-policy "$here/audit-policy.yaml" &&
		config >"$home/made-from.yaml" && await populate && join && await revived
}

# revived: succeeds if the cluster is healthy, and otherwise starts what has ended. The controller manager and the scheduler exit if the API
# server does not answer within 10 seconds, which happens on a busy machine. kwokctl starts components that have no pid file.
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

# processes: prints the pids of all processes of the cluster, also of those that an interrupted start has left without a pid file.
processes() {
	local file
	if [ ! -d /proc/self ]; then
		ps -axww -o pid= -o args= | awk -v prefix="$home/bin/" 'index($2, prefix) == 1 {print $1}'
		return
	fi
	for file in $(grep -lsF -- "$home/bin/" /proc/[0-9]*/cmdline || true); do
		if [[ $(tr '\0' ' ' 2>/dev/null <"$file") == "$home/bin/"* ]]; then
			basename "${file%/cmdline}"
		fi
	done
}

# remove: kills the components, and deletes their data. It names what does not end. Nothing interrupts it: it takes a second.
remove() {
	local pids place failed='' deadline=$((SECONDS + last_breath))
	trap '' INT TERM
	# A test that was killed may have left a second node. The first goes last: it has recorded the machine's own settings.
	for place in node-2 node; do
		"$node" remove "$home/$place" || failed="its real node could not be removed ($place)"
	done
	while pids=$(processes) && [ -n "$pids" ]; do
		if [ "$SECONDS" -ge "$deadline" ]; then
			ps -ww -o pid=,stat=,args= -p "${pids//$'\n'/,}" | cut -c 1-200 >&2 || true
			failed="these processes could not be stopped: ${pids//$'\n'/ }"
			break
		fi
		# shellcheck disable=SC2086 # one word each
		kill -9 $pids 2>/dev/null || true
		sleep 0.05
	done
	[ -z "$failed" ] || fail "cluster $name: $failed. Its data stays in $home; try again later: cluster.sh down $name"
	rm -rf "$home" "$kubeconfig"
}

# began PID: prints when a process began, in whatever unit; nothing if it has ended.
began() {
	if [ -d /proc/self ]; then
		sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" {print $20}'
	else
		ps -p "$1" -o lstart=
	fi
}

# own: records which process the cluster belongs to. The start time distinguishes the owner from a later process with the same pid.
own() {
	local time
	rm -f "$home/owner"
	if [ -n "${OWNER:-}" ]; then
		time=$(began "$OWNER")
		[ -n "$time" ] || fail "OWNER=$OWNER is not a running process"
		mkdir -p "$home"
		echo "$OWNER $time" >"$home/owner"
	fi
}

# is_orphan FILE: reports whether the owner that the file names has ended.
is_orphan() {
	local pid time
	read -r pid time <"$1" && [ "$(began "$pid")" != "$time" ]
}

# orphans: prints the names of the clusters whose owner has ended.
orphans() {
	local file
	for file in "$state"/clusters/*/owner; do
		if [ -f "$file" ] && is_orphan "$file"; then
			basename "$(dirname "$file")"
		fi
	done
}

reap() {
	local orphan failed=
	[ -n "$(orphans)" ] || return 0 # without waiting for the lock
	lock
	for orphan in $(orphans); do
		echo "Cluster $orphan is left over from a run that has ended (process $(cut -d ' ' -f 1 "$state/clusters/$orphan/owner"))" >&2
		"$here/cluster.sh" down "$orphan" >&2 || failed=1
	done
	[ -z "$failed" ]
}

# logs: makes a folder that has the owner's pid in its name, and removes the oldest folders that no living process has.
logs() {
	local folder=$state/logs/$name-$(date +%Y%m%d-%H%M%S)-${OWNER:-$PPID} old
	umask 077 # kubeconfigs
	mkdir -p "$folder"
	# shellcheck disable=SC2012 # the names are ours
	ls -1dt "$state"/logs/*/ | tail -n "+$((kept_logs + 1))" | while read -r old; do
		old=${old%/}
		kill -0 "${old##*-}" 2>/dev/null || rm -rf "$old"
	done
	echo "$folder"
}

# config: prints the configuration that kwokctl reads only when it creates a cluster.
config() {
	cat "$here/kwokctl.yaml" "$here/stages.yaml" "$here/audit-policy.yaml"
	if [ "${CAMPAIGN:-}" = 1 ]; then
		cat "$here/campaign.yaml"
	fi
	if [ -n "${FEATURE_GATES:-}" ]; then
		echo "# $FEATURE_GATES"
	fi
	if [ "${NODE:-}" = real ]; then
		cat "$here"/node/*.sh "$here"/node/config/*
	fi
}

# current: reports whether the cluster was made from the present programs and configuration.
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
	trap 'interrupted; exit 130' INT TERM
	umask 077 # keys and kubeconfig
	mkdir -p "$state"
	if exists && current && { healthy || repair; }; then
		own
		echo "Cluster $name is up"
		return
	fi
	if exists; then
		echo "Replacing cluster $name: it has another version or other settings, or cannot be repaired" >&2
		remove
	fi
	trap 'interrupted; discard; exit 130' INT TERM
	own
	if ! create; then
		tail -n 5 "$log" >&2
		fail "cluster $name did not start: $(problem). Look into $log and $home/logs, then run: cluster.sh down $name"
	fi
	echo "Cluster $name is up"
}

# interrupted: ends kwokctl, which may not have got the signal.
interrupted() {
	trap '' INT TERM
	kill "$ctl" 2>/dev/null && wait "$ctl" || true
}

# discard: takes away what there is of a cluster whose start was interrupted.
discard() {
	echo "Interrupted: cluster $name is taken down again" >&2
	remove
	rm -f "$log"
}

down() {
	# After a start that was killed there may be a part of a cluster, or a node without one.
	if [ ! -d "$home" ] && ! "$node" claimed "$home/node"; then
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
# What goes on running, such as the components, must not inherit file 9: it would hold the lock.
lock() {
	if [ -z "${CLUSTER_LOCKED:-}" ] && command -v flock >/dev/null; then
		mkdir -p "$state"
		exec 9>"$state/lock"
		flock 9
		export CLUSTER_LOCKED=1 # for the cluster.sh that reap calls
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
ctl= # the pid of kwokctl
extra=()
if [ "${CAMPAIGN:-}" = 1 ]; then
	extra=(--config "$here/campaign.yaml" --disable-qps-limits)
fi
if [ -n "${FEATURE_GATES:-}" ]; then
	extra+=(--kube-feature-gates "$FEATURE_GATES")
fi
export KUBECACHEDIR=$state/kubectl # not ~/.kube

case $command in
up | down | status | reap | logs) "$command" ;;
kubeconfig) echo "$kubeconfig" ;;
audit-log) echo "$home/logs/audit.log" ;;
env) environment ;;
bin) programs && echo "$bin" ;;
help | -h | --help) usage ;;
*) usage >&2 && exit 2 ;;
esac
