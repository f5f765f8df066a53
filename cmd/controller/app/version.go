package app

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"k8s.io/component-base/version"
)

// build is the version and commit of this binary.
type build struct {
	version, commit string
}

// readBuild returns what the Makefile stamps into component-base's version package or, if that is missing, what `go build` records.
func readBuild() build {
	if stamped := version.Get(); !strings.Contains(stamped.GitVersion, "$Format") {
		return newBuild(stamped.GitVersion, stamped.GitCommit, stamped.GitTreeState == "dirty")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return unstamped(info)
}

func unstamped(info *debug.BuildInfo) build {
	version, commit, dirty := "devel", "unknown", false
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.modified":
			dirty = setting.Value == "true"
		}
	}
	return newBuild(version, commit, dirty)
}

func newBuild(version, commit string, dirty bool) build {
	if dirty {
		commit += "-dirty"
	}
	return build{version: version, commit: commit}
}

func (b build) String() string {
	return fmt.Sprintf("%s (commit %s, %s, %s/%s)", b.version, b.commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// userAgent identifies the requests of the controller in audit logs.
func (b build) userAgent() string {
	return programName + "/" + b.version
}
