# What has to be there before the node can start: bridge, cgroups, configuration, programs and images. Part of node.sh.
# shellcheck shell=bash disable=SC2154 # its variables are those of node.sh

# claim: makes the bridge, and gives it the first addresses that are not in use.
claim() {
	local number
	check
	[ "${#folder}" -le 78 ] || fail "$folder is too long for the path of a socket; give the cluster a shorter name"
	claimed || ip link add "$link" type bridge || fail "the bridge $link could not be made; the line above says why"
	# The bridge gets a fixed MAC address. Otherwise it would take the lowest one of its ports, and when the pod with that port goes, all other pods
	# would send to an address that does not exist any more, until they ask again half a minute later.
	ip link set "$link" up alias "$folder" address "$(cat "/sys/class/net/$link/address")"
	if [ -z "$(number)" ]; then
		for number in {0..100} none; do
			[ "$number" != none ] || fail "no free addresses for a bridge below 10.231.0.0/16; ip route tells who has them"
			[ -n "$(ip -4 route show root "10.231.$number.0/24")" ] || break
		done
		ip addr add "10.231.$number.1/24" dev "$link"
	fi
	ip addr replace "$(services).1/32" dev "$link"
	mkdir -p "$folder"
	render kwokctl.yaml "$folder/kwokctl.yaml"
}

# render TEMPLATE FILE: fills in what depends on the machine.
render() {
	sed -e "s|@FOLDER@|$folder|g" -e "s|@HOME@|$home|g" -e "s|@CNI@|$(plugins)|g" -e "s|@BRIDGE@|$link|g" \
		-e "s|@PODS@|$(pods)|g" -e "s|@SERVICES@|$(services)|g" "$here/config/$1" >"$2"
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

# make_cgroups: a new cgroup of v1 has no processors and no memory until it is assigned some.
make_cgroups() {
	local parent file
	for parent in $(hierarchies); do
		mkdir -p "$parent/$link"
		for file in cpuset.cpus cpuset.mems; do
			if [ -f "$parent/tasks" ] && [ -f "$parent/$file" ]; then
				cat "$parent/$file" >"$parent/$link/$file"
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
	# Only once: the second time, the kubelet has already changed the values.
	# shellcheck disable=SC2086,SC2015 # one word each; some kernels lack one
	[ -f "$folder/sysctls" ] || (cd /proc/sys && grep -s '' $sysctls || true) >"$folder/sysctls"
	make_cgroups
}

# build: the supervisor, and the images that pods can run without a registry. A second node takes those of the first.
build() {
	local image packer
	[ "$folder" = "$first" ] || return 0
	packer=$("$root/hack/tool.sh" image)
	CGO_ENABLED=0 go -C "$root" build -trimpath -buildvcs=false -o "$folder/bin/" \
		./hack/cluster/node/supervisor ./hack/cluster/node/pause ./hack/cluster/node/web
	mkdir -p "$folder/images"
	"$packer" archive -program "$folder/bin/pause" -ref docker.io/local/pause:1 -out "$folder/images/pause.tar"
	for image in $versions; do
		"$packer" archive -program "$folder/bin/web" -ref "docker.io/local/web:$image" -env "VERSION=$image" \
			-env "MODE=$(mode "$image")" -out "$folder/images/web-$image.tar"
	done
}

# mode TAG: images with a number behave.
mode() { [[ $1 =~ ^[0-9]+$ ]] || echo "$1"; }
