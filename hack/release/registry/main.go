// Command registry is the CNCF registry, github.com/distribution/distribution, for tests on 127.0.0.1. The original command includes the storage
// drivers of three clouds, which take minutes to compile. This one stores images in a folder.
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
		os.Exit(1) // the command has already printed the reason
	}
}
