# The demo on a cluster that the user has: what it installs there, and how that is removed. Part of demo.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # its variables are those of demo.sh

crd=podmanagers.apps.mycompany.com
space=podmanager-demo
mark=apps.mycompany.com/demo # a label of what the demo has installed
installed=                   # set as soon as something of ours may be on the cluster
# Small images, which run without root, on every platform, and need no account.
images=(registry.k8s.io/pause:3.8 registry.k8s.io/pause:3.9 registry.k8s.io/pause:3.10)
missing=registry.k8s.io/pause:does-not-exist
patience=180 # images are pulled
flags=(-namespace "$space")

# refuse WHY...: ends the demo before it has installed anything.
refuse() {
	printf 'demo.sh: %s\n' "$*" >&2
	rm -rf "$state"
	exit 1
}

# use KUBECONFIG: points kubectl at the cluster, by a copy of the kubeconfig that has our namespace in it. All files of the demo are in one folder.
use() {
	local given=$1
	[ -n "$given" ] || { echo "demo.sh: KUBECONFIG= is empty; without it, make demo starts a cluster of its own" >&2 && exit 1; }
	state=$(OWNER=$$ "$cluster" logs demo)
	controller=$state/controller plugin=$state/plugin example=$state/example.yaml
	hint="What it has installed is removed."
	export KUBECACHEDIR=$state/kubectl # not ~/.kube
	if ! command -v kubectl >/dev/null; then
		echo "There is no kubectl on PATH: ours is used, and built if it is not there"
		PATH=$PATH:$("$cluster" bin)
	fi
	PATH=$plugin:$PATH
	KUBECONFIG=$given kubectl config view --raw --minify --flatten >"$state/kubeconfig" || refuse "$given is not the kubeconfig of a cluster; kubectl says why"
	KUBECONFIG=$state/kubeconfig
	kubectl config set-context --current --namespace "$space" >/dev/null
	context=$(kubectl config current-context)
	server=$(kubectl config view -o jsonpath='{.clusters[0].cluster.server}')
	kubectl get --raw /version --request-timeout 20s >/dev/null || refuse "the cluster $context does not answer at $server; kubectl says why"
}

# marked KIND NAME: prints something if the object is the demo's; exists KIND NAME: if it is there at all.
marked() { kubectl get "$1" "$2" --ignore-not-found --output "jsonpath={.metadata.labels['${mark//./\\.}']}"; }
exists() { kubectl get "$1" "$2" --ignore-not-found --output name; }

# obstacles: prints what keeps the demo from this cluster, one line each.
obstacles() {
	local object verb resource found
	# shellcheck disable=SC2086 # a kind and a name
	for object in "crd $crd" "namespace $space"; do
		found=$(exists $object 2>/dev/null) || echo "you may not see whether there is a $object"
		if [ -n "$found" ] && [ -n "$(marked $object)" ]; then
			echo "the $object belongs to another demo. If that demo no longer runs, remove it with: make demo-down KUBECONFIG=..."
		elif [ -n "$found" ]; then
			echo "the $object is there already, and the demo would delete it at its end: take another cluster"
		fi
	done
	found=$(kubectl get deployments --all-namespaces --selector app.kubernetes.io/name=podmanager \
		--output 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}' 2>/dev/null) || true
	if [ -n "$found" ]; then
		echo "a controller is there already, and would serve the demo's PodManagers, too: take another cluster. Deployment ${found% }"
	fi
	while read -r verb resource; do
		# shellcheck disable=SC2086 # a resource may have a flag
		kubectl auth can-i "$verb" $resource --quiet 2>/dev/null || echo "you may not $verb $resource"
	done <<-EOF
	create customresourcedefinitions
	delete customresourcedefinitions
	create namespaces
	delete namespaces
	create serviceaccounts
	create serviceaccounts --subresource=token
	create roles.rbac.authorization.k8s.io
	create rolebindings.rbac.authorization.k8s.io
	create podmanagers.apps.mycompany.com
	list podmanagers.apps.mycompany.com
	delete pods
	EOF
}

# announce: says what will be installed where, and asks if there is a terminal.
announce() {
	local answer
	cat <<-EOF
	${bold}The demo runs on your cluster $context${plain} ($server) and installs there:
	  CRD          $crd
	  Namespace    $space, and in it:
	  ServiceAccount podmanager-controller, and two Roles and RoleBindings, with rights in this namespace only
	  PodManager   my-pod-manager, with up to seven pods of ${images[0]%:*}
	All of that is removed at the end, also if the demo fails or is interrupted. The controller runs on this machine.
	EOF
	if [ "${YES:-}" != 1 ] && [ -t 0 ] && [ -t 1 ]; then
		read -r -p "Go on? [y/N] " answer || true
		[[ $answer == [yY]* ]] || refuse "nothing was installed"
	fi
}

# manifests: prints what is installed. The account is that of artifacts/rbac.yaml, with a Role for this namespace in place of a ClusterRole, and the
# Role for the Lease.
# The CRD's annotation is for artifacts/policy.yaml, which may be there without a CRD and guards it.
manifests() {
	cat <<-EOF
	apiVersion: v1
	kind: Namespace
	metadata: {name: $space, labels: {$mark: "true"}}
	---
	EOF
	kubectl label --local -f artifacts/crd.yaml "$mark=true" --output yaml |
		kubectl annotate --local -f - apps.mycompany.com/allow-deletion=true --output yaml
	awk '
		function flush() { if (text ~ /kind: (ServiceAccount|(Cluster)?Role(Binding)?)\nmetadata:\n  name: podmanager-controller(-lease)?\n/) print "---\n" text; text = "" }
		/^---/ { flush(); next }
		{ text = text $0 "\n" }
		END { flush() }' artifacts/rbac.yaml | sed "s/kind: ClusterRole/kind: Role/; s/podmanager-system/$space/"
}

up() {
	local problems
	problems=$(obstacles)
	[ -z "$problems" ] || refuse "the demo does not run on the cluster $context ($server):"$'\n'"$problems"
	announce
	trap clean_up EXIT
	trap 'exit 130' INT TERM
	installed=1
	say "Install the CRD and the controller's account, and start the controller"
	manifests >"$state/install.yaml"
	show kubectl create -f "$state/install.yaml"
	observe "the API server serves PodManagers" kubectl get podmanagers
	start_controller
	sed "s|image: .*|image: ${images[0]}|" artifacts/examples/image.yaml >"$example"
	tour
	say "Every step was seen. To keep a controller on this cluster: make deploy IMG=..."
}

# remove KIND NAME: deletes an object if it is the demo's, and waits for its end. It records what could not be deleted.
remove() {
	local found
	found=$(marked "$1" "$2") || found=perhaps
	[ -z "$found" ] || kubectl delete "$1" "$2" --ignore-not-found --timeout=120s || left+="  kubectl delete $1 $2"$'\n'
}

# clean_up: leaves the cluster as it was, and names what could not be removed. Ctrl-C ends what it waits for at that moment.
clean_up() {
	local code=$? left='' object
	trap : INT TERM
	trap - EXIT
	set +e
	stop_watch
	if [ -n "$installed" ]; then
		say "Remove everything from the cluster $context"
		if [ -n "$(exists crd "$crd" 2>/dev/null)" ] && ! kubectl delete pm --all --timeout=60s; then
			# The controller is not there to remove its finalizer.
			for object in $(kubectl get pm --output name); do
				kubectl patch "$object" --type merge -p '{"metadata":{"finalizers":null}}'
			done
		fi
		remove namespace "$space"
		remove crd "$crd"
	fi
	stop_controller || left+="  kill -9 $(controller_pid)"$'\n'
	rm -rf "$plugin" "$state"/{kubeconfig,kubectl,install.yaml,example.yaml}
	if [ "$code" = 0 ] || [ "$code" = 130 ] || [ ! -f "$controller.log" ]; then
		rm -rf "$state"
	else
		echo "The controller's log is kept: $controller.log" >&2
	fi
	if [ -n "$left" ]; then
		printf '\ndemo.sh: this could not be removed from %s (%s), please do it by hand:\n%s' "$context" "$server" "$left" >&2
		exit 1
	elif [ -n "$installed" ]; then
		echo "Nothing of the demo is left on the cluster $context."
	fi
	exit "$code"
}

# orphans: ends the controllers of demos that were killed. The name of a demo's folder ends with the pid of the demo.
orphans() {
	local folder
	for folder in "$(dirname "$state")"/demo-*; do
		if ! kill -0 "${folder##*-}" 2>/dev/null; then
			(controller=$folder/controller && stop_controller)
			rm -rf "$folder"
		fi
	done
}

# down: removes what a demo has left that was killed.
down() {
	local object
	trap clean_up EXIT
	trap 'exit 130' INT TERM
	# shellcheck disable=SC2086 # a kind and a name
	for object in "crd $crd" "namespace $space"; do
		if [ -n "$(exists $object)" ] && [ -z "$(marked $object)" ]; then
			fail "the $object is not the demo's, and stays"
		elif [ -n "$(exists $object)" ]; then
			installed=1
		fi
	done
	orphans
	[ -n "$installed" ] || echo "The demo has left nothing on the cluster $context"
}
