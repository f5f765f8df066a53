#!/usr/bin/env bash
# A tour of PodManager on a real API server: it prints each kubectl command and its real output, checks the result of each step,
# and fails at the first wrong one.
#
#   demo.sh [up|down]             a cluster of its own, which keeps running until `down`; with NODE=real it has a node that runs containers
#   demo.sh up|down KUBECONFIG    a cluster of the user, which is left as it was; `down` removes what a killed demo has left there
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cluster=$root/hack/cluster/cluster.sh
name=${CLUSTER:-podmanager-demo}
inherited=${KUBECONFIG:-} # not used by itself: the demo installs something there only if the user asks for it
export KUBECONFIG
KUBECONFIG=$("$cluster" kubeconfig "$name")
state=$(dirname "$KUBECONFIG")
controller=$state/$name-controller
flags=() # additional flags of the controller
space=podmanager-system # the namespace of the controller's ServiceAccount
plugin=$state/$name-plugin # the folder of kubectl pm
cd "$root"
# The images of the tour: three versions, and an image that does not exist. A real node needs images that it has.
example=artifacts/examples/image.yaml
images=(nginx:1.29 nginx:1.30 nginx:1.31)
missing=nginx:does-not-exist
nodes="its nodes are simulated: no container runs"
patience=30 # how many seconds each step may take
if [ "${NODE:-}" = real ]; then
	example=$state/$name-example.yaml # the example with an image that the node has
	images=(local/web:1 local/web:2 local/web:3)
	missing=127.0.0.1:1/does-not-exist
	nodes="pods run on real-node, the other nodes are simulated"
fi
watch= # the pid of a kubectl that watches

if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi

hint="The controller's log: $controller.log    To start over: make demo-down demo"

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

fail() {
	printf '\nThe demo stops here: %s\n' "$*" >&2
	echo "$hint" >&2
	exit 1
}

# show COMMAND...: prints a command, quoted for a shell, and its output.
show() {
	local word line=
	for word in "$@"; do
		[[ $word =~ ^[A-Za-z0-9_./:=,@-]+$ ]] || word="'$word'"
		line+="$word "
	done
	printf '%s$ %s%s\n' "$dim" "${line% }" "$plain"
	"$@" || fail "'$*' failed"
}

# observe WHAT COMMAND...: waits until the command succeeds.
observe() {
	local what=$1 deadline=$((SECONDS + patience))
	shift
	until ("$@") >/dev/null 2>&1; do # in a subshell: an interrupt is handled outside of it, where its messages are seen
		[ "$SECONDS" -lt "$deadline" ] || fail "waited $patience s for this: $what"
		sleep 0.1
	done
	printf '%s# seen: %s%s\n' "$dim" "$what" "$plain"
}

# follow WHAT COMMAND...: like observe, and prints how the PodManager changes meanwhile.
follow() {
	printf '%s$ kubectl get pm my-pod-manager --watch%s\n' "$dim" "$plain"
	kubectl get pm my-pod-manager --watch &
	watch=$!
	observe "$@"
	stop_watch
}

stop_watch() {
	if [ -n "$watch" ]; then
		kill "$watch" 2>/dev/null || true
		wait "$watch" 2>/dev/null || true
	fi
	watch=
}

# controller_pid: prints the pid of the controller if it runs. The pid file alone proves nothing.
controller_pid() {
	local pid
	pid=$(cat "$controller.pid" 2>/dev/null) && [[ $(ps -p "$pid" -o args= 2>/dev/null) == "$controller "* ]] && echo "$pid"
}

# stop_controller: stops the controller; fails, and names the process, if the controller does not end.
stop_controller() {
	local pid deadline=$((SECONDS + 60))
	if pid=$(controller_pid); then
		kill "$pid"
		while controller_pid >/dev/null; do
			if [ "$SECONDS" -ge "$deadline" ]; then
				echo "demo.sh: the controller does not end: process $pid, $controller" >&2
				return 1
			fi
			[ "$SECONDS" -lt $((deadline - 20)) ] || kill -9 "$pid" 2>/dev/null || true
			sleep 0.1
		done
	fi
	rm -f "$controller" "$controller.pid" "$controller.kubeconfig"
}

# start_controller: starts the controller with the rights of its own ServiceAccount, like the pod in a cluster.
start_controller() {
	local token server
	stop_controller
	go build -buildvcs=false -o "$controller" ./cmd/controller
	go build -buildvcs=false -o "$plugin/kubectl-pm" ./cmd/kubectl-podmanager
	token=$(kubectl create token podmanager-controller --namespace "$space" --duration 24h)
	server=$(kubectl config view --raw --minify --flatten -o jsonpath='{.clusters[0].cluster}')
	(
		umask 077
		cat >"$controller.kubeconfig" <<-EOF
		apiVersion: v1
		kind: Config
		clusters: [{name: demo, cluster: $server}]
		users: [{name: controller, user: {token: "$token"}}]
		contexts: [{name: demo, context: {cluster: demo, user: controller}}]
		current-context: demo
		EOF
	)
	set -m # a process group of its own, which Ctrl-C does not reach: the controller ends last
	"$controller" -kubeconfig "$controller.kubeconfig" -v 2 -leader-elect -leader-elect-resource-namespace "$space" \
		-metrics-bind-address 127.0.0.1:0 -health-probe-bind-address 127.0.0.1:0 ${flags[@]+"${flags[@]}"} >"$controller.log" 2>&1 </dev/null &
	echo $! >"$controller.pid"
	disown
	set +m
	observe "the controller's workers have started" grep -q 'Starting workers' "$controller.log"
}

pod_uid() { kubectl get pod "$1" -o jsonpath='{.metadata.uid}'; }
# is_replaced UID: there are three pods, and none has this UID.
is_replaced() {
	local uids
	uids=$(kubectl get pods --selector podmanager=my-pod-manager -o jsonpath='{.items[*].metadata.uid}')
	[ "$(wc -w <<<"$uids")" -eq 3 ] && [[ $uids != *"$1"* ]]
}
field_is() { [ "$(kubectl get pm my-pod-manager -o jsonpath="{$1}")" = "$2" ]; }
ready_says() { field_is ".status.conditions[?(@.type=='Ready')].reason" "$1"; }
available_at_least() { [ "$(kubectl get pm my-pod-manager -o jsonpath='{.status.availableReplicas}')" -ge "$1" ]; }
# runs_only IMAGE: five pods are running, all with this image.
runs_only() {
	[ "$(kubectl get pods --selector podmanager=my-pod-manager --field-selector status.phase=Running \
		-o jsonpath='{.items[*].spec.containers[0].image}')" = "$1 $1 $1 $1 $1" ]
}
is_rolled_out() { ready_says AllReplicasAvailable && runs_only "$1"; }
is_back_at() { field_is .status.availableReplicas 5 && runs_only "$1"; }
# revision_of IMAGE: prints the number of the newest revision with this image.
revision_of() { kubectl pm history my-pod-manager | awk -v image="$1" '$0 ~ image {print $1; exit}'; }
finalized() { kubectl get pm my-pod-manager -o jsonpath='{.metadata.finalizers}' | grep podmanager; }

no_pods() { [ -z "$(kubectl get pods --selector podmanager=my-pod-manager --no-headers 2>/dev/null)" ]; }

tour() {
	local uid
	say "1. Apply a PodManager: three pods of one image"
	show cat "$example"
	show kubectl apply -f "$example"
	show kubectl wait --for=condition=Ready --timeout="${patience}s" pm/my-pod-manager
	show kubectl get pm,pods
	field_is .status.readyReplicas 3 || fail "three pods should be ready"

	say "2. Delete a pod: it is replaced"
	uid=$(pod_uid my-pod-manager-1)
	show kubectl delete pod my-pod-manager-1
	observe "another pod has taken its place" is_replaced "$uid"
	show kubectl wait --for=condition=Ready --timeout="${patience}s" pm/my-pod-manager
	show kubectl get pods

	say "3. Scale it, like a Deployment"
	show kubectl scale pm/my-pod-manager --replicas=5
	observe "5 of 5 pods are available" field_is .status.availableReplicas 5
	show kubectl get pm -o wide

	say "4. Another image: the controller rolls it out, a few pods at a time (kubectl pm is the plugin that make plugin builds)"
	show kubectl pm set image my-pod-manager "app=${images[1]}" --cause "a newer version"
	show kubectl pm status my-pod-manager --timeout 120s
	observe "all 5 pods run it" is_rolled_out "${images[1]}"
	show kubectl pm get my-pod-manager

	say "5. An image that does not exist: the rollout is halted, and says why"
	show kubectl pm set image my-pod-manager "app=$missing" --cause "an image that does not exist"
	observe "the rollout is halted" ready_says RolloutHalted
	show kubectl pm get my-pod-manager
	show kubectl pm why my-pod-manager
	available_at_least 4 || fail "a bad image should not take away more than maxUnavailable pods"

	say "6. The same with failurePolicy Rollback: all pods return to the last good revision, the spec stays as it is"
	show kubectl patch pm my-pod-manager --type merge -p '{"spec":{"failurePolicy":{"onFailure":"Rollback","gracePeriodSeconds":3}}}'
	observe "it is rolled back" ready_says RolledBack
	observe "all 5 pods run the image from before" is_back_at "${images[1]}"
	show kubectl get pm my-pod-manager -o wide
	show kubectl pm history my-pod-manager
	field_is .spec.image "$missing" || fail "the spec should be as the user wrote it"

	say "7. A good image again: the controller rolls it out. Then undo: the template of an earlier revision returns to the spec"
	show kubectl pm set image my-pod-manager "app=${images[2]}" --cause "a good image again"
	follow "all 5 pods run it" is_rolled_out "${images[2]}"
	show kubectl pm status my-pod-manager --timeout 60s
	show kubectl pm undo my-pod-manager --to-revision "$(revision_of "${images[1]}")"
	follow "all 5 pods run the image from before" is_rolled_out "${images[1]}"

	say "8. The conditions and the events of the PodManager"
	show kubectl describe pm my-pod-manager
	kubectl get events --field-selector involvedObject.name=my-pod-manager | grep PodCreated >/dev/null || fail "there should be events"

	say "9. Delete the PodManager: its pods go first, two at a time (without maxTerminating, the garbage collector deletes them afterwards)"
	show kubectl patch pm my-pod-manager --type=merge -p '{"spec":{"scaleDown":{"maxTerminating":2}}}'
	observe "the PodManager has the controller's finalizer" finalized
	show kubectl delete pm my-pod-manager --timeout="${patience}s"
	no_pods || fail "no pod should be left"
	show kubectl get pods
}

# inside: steps that need running containers.
inside() {
	local address
	say "10. On a real node: another version in the same pod, at the same address"
	cat >"$example" <<-'EOF'
	apiVersion: apps.mycompany.com/v1
	kind: PodManager
	metadata: {name: my-pod-manager}
	spec:
	  replicas: 1
	  image: local/web:1
	  updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly, maxUnavailable: 1, maxSurge: 0}}
	EOF
	show cat "$example"
	show kubectl apply -f "$example"
	show kubectl wait --for=condition=Ready --timeout="${patience}s" pm/my-pod-manager
	address=$(kubectl get pod my-pod-manager-0 -o jsonpath='{.status.podIP}')
	show curl --silent --show-error --max-time 5 "http://$address:8080/version"
	show kubectl patch pm my-pod-manager --type merge -p '{"spec":{"image":"local/web:2"}}'
	observe "the pod answers with the new version" answers "$address" 2
	show kubectl get pods -o wide
	show curl --silent --show-error --max-time 5 "http://$address:8080/version"
}
answers() { [ "$(curl --silent --max-time 5 "http://$1:8080/version")" = "$2" ]; }

down() {
	local failed=
	stop_controller || failed=1
	"$cluster" down "$name"
	rm -rf "$controller.log" "$state/$name-example.yaml" "$plugin"
	[ -z "$failed" ]
}

up() {
	if [ -n "$inherited" ]; then
		echo "The demo uses a cluster of its own. To run it on the cluster of your KUBECONFIG: make demo KUBECONFIG=$inherited"
	fi
	if [ -f "$KUBECONFIG" ]; then
		trap 'stop_watch; say "Interrupted. The cluster, which was there before, and the controller go on running: make demo-down"; exit 130' INT TERM
	else
		trap 'trap "" INT TERM; stop_watch; say "Interrupted: the demo is taken down"; down; exit 130' INT TERM
	fi
	"$cluster" up "$name"
	PATH=$("$cluster" bin):$plugin:$PATH
	say "Install the CRD and the controller's permissions, and start the controller"
	show kubectl apply -f artifacts/crd.yaml
	show kubectl apply -f artifacts/rbac.yaml
	observe "the API server serves PodManagers" kubectl get podmanagers
	start_controller
	kubectl delete pm my-pod-manager --ignore-not-found --timeout="${patience}s" # from an earlier tour
	if [ "${NODE:-}" = real ]; then
		sed "s|image: .*|image: ${images[0]}|" artifacts/examples/image.yaml >"$example"
	fi
	tour
	if [ "${NODE:-}" = real ]; then
		inside
	fi
	say "Every step was seen. The cluster and the controller go on running; to try more:"
	cat <<-EOF
	  eval "\$(hack/cluster/cluster.sh env $name)"      # kubectl for this cluster ($nodes)
	  kubectl apply -f artifacts/examples/full.yaml     # a fuller PodManager
	  make plugin && export PATH="$root/.bin:\$PATH"    # kubectl pm
	  kubectl pm get -w                                 # watch it
	  tail -f $controller.log
	  make demo-down                                    # stop it all
	EOF
}

if [ $# -ge 2 ]; then
	# shellcheck source=hack/demo/given.sh
	. "$root/hack/demo/given.sh"
	use "$2"
fi
case ${1:-up} in
up | down) "${1:-up}" ;;
*) echo "usage: demo.sh [up|down] [KUBECONFIG]" >&2 && exit 2 ;;
esac
