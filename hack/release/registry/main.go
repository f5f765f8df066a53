// Command registry is the registry of the CNCF, github.com/distribution/distribution, for tests on 127.0.0.1. Its own
// command has the storage of three clouds in it, which takes minutes to compile; this one keeps images in a folder.
//
//	"$(hack/tool.sh registry)" serve CONFIG.yaml
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if err := registry.RootCmd.Execute(); err != nil {
		os.Exit(1) // the command has said why
	}
}
