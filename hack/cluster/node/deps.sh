#!/usr/bin/env bash
# Installs the packages that a real node needs (make cluster-up NODE=real), on Debian and Ubuntu, as root. Nothing else in
# this project installs anything on a machine. It says what it does before it does it, and removes no package.
set -euo pipefail

fail() {
	echo "node-deps: $*" >&2
	exit 1
}

# need PACKAGE TEST...: wants the package unless the test succeeds. What others installed serves as well: Docker's
# containerd.io, for example, brings containerd and runc, and Debian's package would have to push it out.
need() {
	local package=$1
	shift
	"$@" >/dev/null 2>&1 || packages+=("$package")
}

# plugins: succeeds if the CNI plugins are in the folder of the distribution, or in another common one.
plugins() { [ -x /usr/lib/cni/bridge ] || [ -x /opt/cni/bin/bridge ] || [ -x /usr/libexec/cni/bridge ]; }

packages=()
need containerd command -v containerd
need runc command -v runc
need containernetworking-plugins plugins
need iproute2 command -v ip
need util-linux command -v unshare
if [ ${#packages[@]} -eq 0 ]; then
	echo "Everything that a real node needs is there"
	exit
fi
[ "$(uname -s)" = Linux ] || fail "a real node needs Linux"
command -v apt-get >/dev/null || fail "this machine has no apt-get; install these in its own way: ${packages[*]}"
[ "$(id -u)" = 0 ] || fail "run it as root; it installs: ${packages[*]}"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# run COMMAND...: prints it, and its output only if it fails.
run() {
	echo "$ $*"
	if ! DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 </dev/null; then
		cat "$log" >&2
		fail "'$*' failed; the lines above say why"
	fi
}

had=$(command -v containerd || true)
run apt-get update
run apt-get install --yes --no-install-recommends --no-remove "${packages[@]}"
echo "Installed: ${packages[*]}"
if [ -z "$had" ] && [ -d /run/systemd/system ]; then
	echo "The package has started a containerd of the system's own, which a real node does not use: systemctl disable --now containerd"
fi
