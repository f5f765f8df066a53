// Supervisor keeps containerd and the kubelet of the real node running, as systemd does elsewhere, and lets pods reach the API server, which
// listens only on 127.0.0.1. node.sh starts it in its own process and mount namespaces: however it ends, the kernel then ends all containers and
// removes all mounts.
package main

import (
	"flag"
	"log"
	"strings"
)

func main() {
	folder := flag.String("folder", "", "the folder for the logs, and for the files NAME.hold, which keep a program from being restarted")
	kubelet := flag.String("kubelet", "", "the kubelet and its arguments, separated by spaces")
	containerd := flag.String("containerd", "", "containerd and its arguments, separated by spaces")
	api := flag.String("api", "", "the address of the API server")
	listen := flag.String("listen", "", "the addresses under which pods know the API server, separated by commas")
	flag.Parse()
	if *folder == "" || *kubelet == "" || *containerd == "" || *api == "" {
		log.Fatal("supervisor: -folder, -kubelet, -containerd and -api are required; hack/cluster/node/node.sh passes them")
	}
	for address := range strings.SplitSeq(*listen, ",") {
		if err := forward(address, *api); err != nil {
			log.Fatalf("supervisor: cannot forward %s to the API server: %v", address, err)
		}
	}
	go keep(*folder, "containerd", strings.Fields(*containerd))
	keep(*folder, "kubelet", strings.Fields(*kubelet))
}
